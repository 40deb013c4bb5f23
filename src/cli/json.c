/* json.c - see json.h. */
#include "cli/json.h"

#include "base/event.h"

void cli_json_number(struct base_buf *out, const char *name, double value)
{
    base_buf_printf(out, ",\"%s\":", name);
    base_json_f64(out, value);
}
