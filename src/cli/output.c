/* output.c - see output.h. Tests: tests/cli/transcripts. */
#include "cli/output.h"

#include "base/err.h"
#include <ctype.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

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

const char *cli_output_reason(int code, char *buf, size_t size)
{
    snprintf(buf, size, "%s", strerror(code));
    if (islower((unsigned char)buf[1]))
        buf[0] = (char)tolower((unsigned char)buf[0]);
    return buf;
}

bool cli_output_unread(FILE *out)
{
    struct pollfd end = {.fd = fileno(out), .events = POLLOUT};

    return end.fd >= 0 && poll(&end, 1, 0) == 1 && (end.revents & POLLERR) != 0;
}
