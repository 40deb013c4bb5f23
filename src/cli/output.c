/* output.c - see output.h. Tests: tests/cli/transcripts. */
#include "cli/output.h"

#include "base/err.h"
#include <ctype.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };

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

/* The folder that a file is in, or would be made in, and its name there (PATH_MAX bytes). Links are
 * followed, as they are when it is written. */
static bool find_place(const char *path, struct stat *folder, char *name)
{
    char at[PATH_MAX], link[PATH_MAX];

    if (snprintf(at, sizeof at, "%s", path) >= PATH_MAX)
        return false;
    for (int i = 0; i < LINKS_MAX; i++) {
        const char *slash = strrchr(at, '/');
        size_t head = slash != NULL ? (size_t)(slash - at) + 1 : 0;
        ssize_t size = readlink(at, link, sizeof link - 1);
        if (size < 0) {
            memcpy(name, at + head, strlen(at + head) + 1);
            at[head] = 0;
            return stat(head > 0 ? at : ".", folder) == 0;
        }
        head = link[0] == '/' ? 0 : head;
        if (head + (size_t)size >= sizeof at)
            return false;
        memcpy(at + head, link, (size_t)size);
        at[head + (size_t)size] = 0;
    }
    return false;
}

bool cli_output_same(const struct cli_context *cx, const char *a, const char *b)
{
    struct stat folder[2];
    char name[2][PATH_MAX];

    if (strcmp(a, b) == 0 || env_same(cx->env, a, b))
        return true;
    return find_place(a, &folder[0], name[0]) && find_place(b, &folder[1], name[1]) &&
           folder[0].st_dev == folder[1].st_dev && folder[0].st_ino == folder[1].st_ino &&
           strcmp(name[0], name[1]) == 0;
}

bool cli_output_in(const char *path, const char *folder)
{
    struct stat place, other;
    char name[PATH_MAX];

    return stat(folder, &other) == 0 && find_place(path, &place, name) &&
           place.st_dev == other.st_dev && place.st_ino == other.st_ino;
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
