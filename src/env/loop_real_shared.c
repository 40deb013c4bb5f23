/* loop_real_shared.c - memory that processes of one machine share: a memfd, which has no name, is
 * seen by those who are given its descriptor, and goes with the last of them. Its size is sealed,
 * so that no process can pull pages from under the others. Of an env that spills it is a file of
 * the folder without a name, which cannot be sealed. Tests: tests/unit/env/test_loop_real_proc.c,
 * test_spill.c. */
#include "env/loop_real.h"

#include "base/assert.h"
#include "base/err.h"
#include "env/spill.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static shoal_status shared_failed(const char *verb, int code, shoal_err *err)
{
    char text[128];
    return base_err(err, env_real_status(code), "cannot %s shared memory: %s", verb,
                    env_real_reason(code, text, sizeof text));
}

/* Maps the descriptor, which becomes the mapping's on success. */
static shoal_status map(int fd, size_t size, const char *verb, struct env_shared *out,
                        shoal_err *err)
{
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (base == MAP_FAILED)
        return shared_failed(verb, errno, err);
    (void)madvise(base, size, MADV_HUGEPAGE); /* slower without */
    int seals = fcntl(fd, F_GET_SEALS);
    *out = (struct env_shared){.base = base,
                               .size = size,
                               .handle = fd,
                               .spilled = seals < 0 || (seals & F_SEAL_SHRINK) == 0};
    return SHOAL_OK;
}

static shoal_status spilled_new(const struct env_spill *spill, size_t size, struct env_shared *out,
                                shoal_err *err)
{
    int fd = env_spill_file(spill);
    if (fd < 0)
        return shared_failed("spill", errno, err);
    shoal_status st = SHOAL_OK;
    if (ftruncate(fd, (off_t)size) != 0)
        st = shared_failed("spill", errno, err);
    if (st == SHOAL_OK)
        st = map(fd, size, "spill", out, err);
    if (st != SHOAL_OK)
        loop_real_close(fd);
    return st;
}

shoal_status loop_real_shared_new(shoal_env *env, size_t size, struct env_shared *out,
                                  shoal_err *err)
{
    if (size > INT64_MAX)
        return base_err(err, SHOAL_E_LIMIT, "cannot make %zu bytes of shared memory", size);
    if (env->spill != NULL)
        return spilled_new(env->spill, size, out, err);
    int fd = memfd_create("shoal", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return shared_failed("make", errno, err);
    shoal_status st = SHOAL_OK;
    if (ftruncate(fd, (off_t)size) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        st = shared_failed("make", errno, err);
    if (st == SHOAL_OK)
        st = map(fd, size, "make", out, err);
    if (st != SHOAL_OK)
        loop_real_close(fd);
    return st;
}

shoal_status loop_real_shared_open(shoal_env *env, int64_t handle, size_t size,
                                   struct env_shared *out, shoal_err *err)
{
    (void)env;
    if (handle < 0 || handle > INT_MAX)
        return base_err(err, SHOAL_E_INVAL, "cannot open shared memory: no such handle");
    int fd = fcntl((int)handle, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return shared_failed("open", errno, err);
    struct stat info;
    shoal_status st = SHOAL_OK;
    if (fstat(fd, &info) != 0)
        st = shared_failed("open", errno, err);
    else if (!S_ISREG(info.st_mode) || (uint64_t)info.st_size < size)
        st = base_err(err, SHOAL_E_INVAL,
                      "cannot open shared memory: %zu bytes asked for, it has %lld", size,
                      S_ISREG(info.st_mode) ? (long long)info.st_size : 0);
    if (st == SHOAL_OK)
        st = map(fd, size, "open", out, err);
    if (st != SHOAL_OK)
        loop_real_close(fd);
    return st;
}

bool loop_real_shared_back(shoal_env *env, const struct env_shared *shared, size_t offset,
                           size_t size)
{
    return env_spill_back(env->spill, (int)shared->handle, offset, size) == 0;
}

/* The kernel zeroes the parts of pages at both ends. A file system that cannot keeps the pages, with
 * zeros in them. */
void loop_real_shared_drop(shoal_env *env, const struct env_shared *shared, size_t offset,
                           size_t size)
{
    (void)env;
    int rc = 0;
    do
        rc = fallocate((int)shared->handle, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                       (off_t)offset, (off_t)size);
    while (rc != 0 && errno == EINTR);
    if (rc != 0)
        memset(shared->base + offset, 0, size);
}

void loop_real_shared_close(shoal_env *env, struct env_shared *shared)
{
    (void)env;
    shoal_assert(munmap(shared->base, shared->size) == 0);
    loop_real_close((int)shared->handle);
}
