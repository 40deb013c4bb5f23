/* json.h - members of JSON objects that commands print. Any thread, on the caller's buffer, in
 * which the first failure stays. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include "base/buf.h"

/* ,"name":value; null where it is not finite. The comma comes with it: it is never the first. */
void cli_json_number(struct base_buf *out, const char *name, double value);

#endif
