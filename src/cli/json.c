/* json.c - see json.h. */
#include "cli/json.h"

#include "base/event.h"

void cli_json_number(struct base_buf *out, const char *name, double value)
{
    base_buf_printf(out, ",\"%s\":", name);
    base_json_f64(out, value);
}

void cli_json_string(struct base_buf *out, const char *before, const char *value)
{
    base_buf_puts(out, before);
    if (value == NULL)
        base_buf_puts(out, "null");
    else
        base_buf_json_string(out, value);
}
