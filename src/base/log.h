/* log.h - talk for people, by level: what a command says besides its results.
 *
 * The library does not log; commands and daemons do, through a base_log they own. Levels follow
 * volume: an error or warning is rare, info is a few lines per command, debug a few lines per step
 * of it, never one per job. A level that is off costs a comparison. The sink gets one line at a
 * time, without its end. Owner thread of the sink. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "shoal/status.h"

/* level, name */
#define BASE_LOG_MAP(X)        \
    X(BASE_LOG_ERROR, "error") \
    X(BASE_LOG_WARN, "warn")   \
    X(BASE_LOG_INFO, "info")   \
    X(BASE_LOG_DEBUG, "debug")

enum base_log_level {
#define BASE_LOG_ROW(level, name) level,
    BASE_LOG_MAP(BASE_LOG_ROW)
#undef BASE_LOG_ROW
};
extern const char *const base_log_names[]; /* NULL-terminated, by level */

struct base_log {
    enum base_log_level level; /* lines above it are dropped */
    void (*write)(void *ctx, enum base_log_level level, const char *line);
    void *ctx;
};

/* One line; longer than 1 KiB is cut. A log without a sink drops everything. */
void base_log(const struct base_log *log, enum base_log_level level, const char *format, ...)
    SHOAL_PRINTF(3, 4);

#endif
