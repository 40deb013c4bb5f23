/* output.c - see output.h. Tests: tests/cli/transcripts. */
#include "cli/output.h"

#include "base/err.h"
#include <string.h>

shoal_status cli_output_check(const struct cli_context *cx, const char *path,
                              const char *const *inputs, size_t count, shoal_err *err)
{
    if (path == NULL || strcmp(path, "-") == 0)
        return SHOAL_OK;
    for (size_t i = 0; i < count; i++)
        if (inputs[i] != NULL && env_same(cx->env, inputs[i], path))
            return base_err(err, SHOAL_E_INVAL, "cannot write '%s': it is also an input", path);
    return SHOAL_OK;
}
