/* log.c - formats a line and hands it to the sink, when its level is on. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

const char *const base_log_names[] = {
#define ROW(level, name) name,
    BASE_LOG_MAP(ROW)
#undef ROW
        NULL};

void base_log(const struct base_log *log, enum base_log_level level, const char *format, ...)
{
    char line[1024];
    va_list args;

    if (log->write == NULL || level > log->level)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    log->write(log->ctx, level, line);
}
