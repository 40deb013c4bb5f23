/* memory_real.c - how much memory this process can still have: the least of what the machine has
 * left, swap included, what its control groups leave it (both versions, all levels) and the limits
 * on its own data and address space. Files kept in memory count as free: the system drops them.
 * Tests: tests/unit/env/test_spill.c. */
#include "env/env_real.h"

#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TEXT_MAX = 16384 };

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool read_text(const char *path, char text[TEXT_MAX])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, TEXT_MAX - 1) : -1;

    if (fd >= 0)
        (void)close(fd);
    text[size > 0 ? size : 0] = '\0';
    return size > 0;
}

/* The number after a word at the start of a line; 0: there is none. */
static uint64_t number_of(const char *text, const char *word)
{
    size_t length = strlen(word);

    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, word, length) == 0 && (line[length] == ':' || line[length] == ' '))
            return strtoull(line + length + 1, NULL, 10);
    }
    return 0;
}

static uint64_t machine_left(void)
{
    char text[TEXT_MAX];
    uint64_t kib = 0;

    if (read_text("/proc/meminfo", text))
        kib = number_of(text, "MemAvailable") + number_of(text, "SwapFree");
    return kib > 0 ? kib * 1024 : UINT64_MAX;
}

/* ---- control groups ---- */

struct version {
    const char *root, *limit, *used, *files[2];
};
static const struct version ONE = {"/sys/fs/cgroup/memory",
                                   "memory.limit_in_bytes",
                                   "memory.usage_in_bytes",
                                   {"total_inactive_file", "total_active_file"}};
static const struct version TWO = {
    "/sys/fs/cgroup", "memory.max", "memory.current", {"inactive_file", "active_file"}};

static bool group_text(const struct version *v, const char *group, const char *name,
                       char text[TEXT_MAX])
{
    char path[PATH_MAX];

    return snprintf(path, sizeof path, "%s%s/%s", v->root, group, name) < (int)sizeof path &&
           read_text(path, text);
}

static uint64_t group_left(const struct version *v, const char *group)
{
    char text[TEXT_MAX];

    if (!group_text(v, group, v->limit, text) || text[0] < '0' || text[0] > '9')
        return UINT64_MAX; /* "max" */
    uint64_t limit = strtoull(text, NULL, 10), used = 0, files = 0;
    if (limit >= INT64_MAX / 2)
        return UINT64_MAX;
    if (group_text(v, group, v->used, text))
        used = strtoull(text, NULL, 10);
    if (group_text(v, group, "memory.stat", text))
        files = number_of(text, v->files[0]) + number_of(text, v->files[1]);
    used = used > files ? used - files : 0;
    return limit > used ? limit - used : 0;
}

/* A group and all above it. */
static uint64_t groups_left(const struct version *v, char *group)
{
    uint64_t left = UINT64_MAX;

    for (;;) {
        left = least(left, group_left(v, group));
        char *slash = strrchr(group, '/');
        if (slash == NULL)
            return left;
        *slash = '\0';
    }
}

static uint64_t all_groups_left(void)
{
    char text[TEXT_MAX], *line = text;
    uint64_t left = UINT64_MAX;

    if (!read_text("/proc/self/cgroup", text))
        return left;
    while (line != NULL && *line != '\0') {
        char *next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        char *names = strchr(line, ':'), *group = names != NULL ? strchr(names + 1, ':') : NULL;
        if (group != NULL && strncmp(names, "::", 2) == 0)
            left = least(left, groups_left(&TWO, group + 1));
        else if (group != NULL && strstr(names, "memory") != NULL &&
                 strstr(names, "memory") < group)
            left = least(left, groups_left(&ONE, group + 1));
        line = next;
    }
    return left;
}

/* ---- this process ---- */

static uint64_t under_limit(const struct rlimit *most, const char *status, const char *word)
{
    if (most->rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    uint64_t used = number_of(status, word) * 1024;
    return most->rlim_cur > used ? most->rlim_cur - used : 0;
}

static uint64_t process_left(void)
{
    struct rlimit data = {RLIM_INFINITY, RLIM_INFINITY}, addresses = data;
    char status[TEXT_MAX] = "";

    (void)getrlimit(RLIMIT_DATA, &data);
    (void)getrlimit(RLIMIT_AS, &addresses);
    (void)read_text("/proc/self/status", status);
    return least(under_limit(&data, status, "VmData"), under_limit(&addresses, status, "VmSize"));
}

uint64_t memory_real_left(shoal_env *env, bool own)
{
    (void)env;
    return least(own ? process_left() : UINT64_MAX, least(machine_left(), all_groups_left()));
}

/* ---- guard ---- */

static void *guard_fn(void *ctx, void *p, size_t size)
{
    (void)ctx;
    if (size >= ENV_GUARD_MIN) {
        size_t had = p != NULL ? malloc_usable_size(p) : 0;
        if (size > had && size - had > memory_real_left(NULL, true))
            return NULL;
    }
    return base_alloc_libc.fn(base_alloc_libc.ctx, p, size);
}

static const struct base_alloc GUARD = {guard_fn, NULL};

void env_guard_start(shoal_env *env)
{
    if (env->alloc == &base_alloc_libc)
        env->alloc = &GUARD;
}
