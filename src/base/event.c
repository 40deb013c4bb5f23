/* event.c - events as JSON lines. Tests: tests/unit/base/test_event.c. */
#include "base/event.h"

#include "base/assert.h"
#include "base/decimal.h"
#include "base/text.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { NUMBER_TEXT_MAX = 40 };

void base_event_init(struct base_event *event, double time_s, const char *type)
{
    event->time_s = time_s;
    event->type = type;
    event->field_count = 0;
}

static struct base_field *add_field(struct base_event *event, const char *name,
                                    enum base_field_type type)
{
    shoal_assert(event->field_count < BASE_EVENT_FIELDS_MAX);
    struct base_field *field = &event->fields[event->field_count++];
    field->name = name;
    field->type = type;
    return field;
}

void base_event_str(struct base_event *event, const char *name, const char *value)
{
    add_field(event, name, BASE_FIELD_STR)->value.str = value;
}

void base_event_f64(struct base_event *event, const char *name, double value)
{
    add_field(event, name, BASE_FIELD_F64)->value.f64 = value;
}

void base_event_i64(struct base_event *event, const char *name, int64_t value)
{
    add_field(event, name, BASE_FIELD_I64)->value.i64 = value;
}

void base_event_raw(struct base_event *event, const char *name, const char *json)
{
    add_field(event, name, BASE_FIELD_RAW)->value.str = json;
}

/* Writes the digits of n before `end` and returns where they start. */
static char *digits_before(char *end, uint64_t n)
{
    do {
        *--end = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    return end;
}

static void put_i64(struct base_buf *out, int64_t value)
{
    char text[NUMBER_TEXT_MAX];
    char *end = text + sizeof text;
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char *start = digits_before(end, magnitude);
    if (value < 0)
        *--start = '-';
    base_buf_append(out, start, (size_t)(end - start));
}

/* Writes `d` plainly or, when that takes many zeros, with an exponent; returns the end. `to` has
 * room for NUMBER_TEXT_MAX. A value of 2^53 or more always gets an exponent, so no reader takes it
 * for an integer. */
static char *put_decimal(char *to, struct base_decimal d)
{
    char text[24];
    char *text_end = text + sizeof text;
    const char *digits = digits_before(text_end, d.digits);
    int count = (int)(text_end - digits);
    int point = count + d.exponent; /* digits before the point */

    if (point > 0 && point < count) {
        memcpy(to, digits, (size_t)point);
        to += point;
        *to++ = '.';
        memcpy(to, digits + point, (size_t)(count - point));
        return to + (count - point);
    }
    if (point <= 0 && point > -6) {
        *to++ = '0';
        *to++ = '.';
        for (; point < 0; point++)
            *to++ = '0';
        memcpy(to, digits, (size_t)count);
        return to + count;
    }
    *to++ = digits[0];
    if (count > 1) {
        *to++ = '.';
        memcpy(to, digits + 1, (size_t)(count - 1));
        to += count - 1;
    }
    *to++ = 'e';
    int exponent = point - 1;
    if (exponent < 0)
        *to++ = '-';
    const char *e = digits_before(text_end, (uint64_t)(exponent < 0 ? -exponent : exponent));
    memcpy(to, e, (size_t)(text_end - e));
    return to + (text_end - e);
}

void base_json_f64(struct base_buf *out, double value)
{
    if (!isfinite(value)) {
        base_buf_append(out, "null", 4);
        return;
    }
    if (fabs(value) < 0x1p53 && value == (double)(int64_t)value) {
        if (value == 0 && signbit(value))
            base_buf_append(out, "-0.0", 4); /* a plain -0 is the integer 0 to some readers */
        else
            put_i64(out, (int64_t)value);
        return;
    }
    char text[NUMBER_TEXT_MAX];
    char *to = text;
    if (value < 0)
        *to++ = '-';
    to = put_decimal(to, base_decimal_shortest(fabs(value)));
    base_buf_append(out, text, (size_t)(to - text));
}

static void put_field_json(const struct base_field *field, struct base_buf *out)
{
    switch (field->type) {
    case BASE_FIELD_F64: base_json_f64(out, field->value.f64); return;
    case BASE_FIELD_I64: put_i64(out, field->value.i64); return;
    case BASE_FIELD_STR:
        if (field->value.str == NULL)
            base_buf_append(out, "null", 4);
        else
            base_buf_json_string(out, field->value.str);
        return;
    case BASE_FIELD_RAW:
        base_buf_puts(out, field->value.str == NULL ? "null" : field->value.str);
        return;
    }
}

void base_event_json(const struct base_event *event, struct base_buf *out)
{
    base_buf_puts(out, "{\"v\":1,\"t\":");
    base_json_f64(out, event->time_s);
    base_buf_puts(out, ",\"type\":");
    base_buf_json_string(out, event->type);
    for (uint32_t i = 0; i < event->field_count; i++) {
        const struct base_field *field = &event->fields[i];
        base_buf_append(out, ",", 1);
        base_buf_json_string(out, field->name);
        base_buf_append(out, ":", 1);
        put_field_json(field, out);
    }
    base_buf_append(out, "}\n", 2);
}
