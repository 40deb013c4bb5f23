/* protocol.c - errors as messages; see protocol.h. */
#include "train/protocol.h"

#include "base/err.h"
#include <stdio.h>

struct train_failed train_failed_of(uint32_t executor, shoal_status status, const shoal_err *why)
{
    struct train_failed failed = {.executor = executor, .code = status};

    snprintf(failed.message, sizeof failed.message, "%s", why->message);
    snprintf(failed.where, sizeof failed.where, "%s", why->where);
    snprintf(failed.hint, sizeof failed.hint, "%s", why->hint);
    return failed;
}

shoal_status train_failed_read(const struct train_failed *failed, shoal_err *out)
{
    shoal_status st = failed->code < 0 ? (shoal_status)failed->code : SHOAL_E_INTERNAL;

    base_err(out, st, "%.*s", (int)sizeof failed->message - 1, failed->message);
    base_err_where(out, "%.*s", (int)sizeof failed->where - 1, failed->where);
    base_err_hint(out, "%.*s", (int)sizeof failed->hint - 1, failed->hint);
    return st;
}
