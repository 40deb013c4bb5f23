/* event.h - what happened, as typed rows: rendered as one JSON object per line.
 *
 * An event is a time, a type ("job.started") and up to BASE_EVENT_FIELDS_MAX fields. Producers fill
 * a base_event on the stack and hand it to a sink; strings are borrowed for the call. JSON lines
 * carry "v":1 first and print numbers with the fewest digits that read back equal, so equal runs
 * give equal bytes. Owner thread of the sink. */
#ifndef BASE_EVENT_H
#define BASE_EVENT_H

#include "base/buf.h"
#include <stdint.h>

enum { BASE_EVENT_FIELDS_MAX = 12 };

enum base_field_type {
    BASE_FIELD_STR,
    BASE_FIELD_F64,
    BASE_FIELD_I64,
    BASE_FIELD_RAW /* JSON as it is */
};

struct base_field {
    const char *name;
    enum base_field_type type;
    union {
        const char *str;
        double f64;
        int64_t i64;
    } value;
};

struct base_event {
    double time_s;
    const char *type;
    uint32_t field_count;
    struct base_field fields[BASE_EVENT_FIELDS_MAX];
};

void base_event_init(struct base_event *event, double time_s, const char *type);
void base_event_str(struct base_event *event, const char *name, const char *value);
void base_event_f64(struct base_event *event, const char *name, double value);
void base_event_i64(struct base_event *event, const char *name, int64_t value);
void base_event_raw(struct base_event *event, const char *name, const char *json);

/* {"v":1,"t":60,"type":"job.started","job":"a",...}\n */
void base_event_json(const struct base_event *event, struct base_buf *out);

/* Shortest text that reads back as the same double; "null" for NaN and infinities. */
void base_json_f64(struct base_buf *out, double value);

#endif
