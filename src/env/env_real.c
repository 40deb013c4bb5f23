/* env_real.c - this machine: clock, processors, files that are read, folders, threads. What is
 * written is in env_real_out.c. The process's signal handlers, umask and locale are left alone.
 * Tests: tests/unit/env/test_env_real.c. */
#include "env/env_real.h"

#include "base/assert.h"
#include "base/err.h"
#include "env/loop_real.h"
#include "env/spill.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 1024 };

struct real_file {
    struct env_file file; /* first */
    const struct base_alloc *alloc;
    int fd;
    char path[]; /* for messages */
};

/* --- errors in words --- */

shoal_status env_real_status(int code)
{
    switch (code) {
    case ENOMEM: return SHOAL_E_NOMEM;
    case ENOENT:
    case ENOTDIR: return SHOAL_E_NOTFOUND;
    case EACCES:
    case EPERM:
    case EROFS: return SHOAL_E_DENIED;
    case EISDIR: /* the call is right, what lies there is not */
    case ENAMETOOLONG:
    case ELOOP: return SHOAL_E_FORMAT;
    case EINVAL: return SHOAL_E_INVAL;
    case EFBIG:
    case EMFILE:
    case ENFILE: return SHOAL_E_LIMIT;
    default: return SHOAL_E_IO;
    }
}

const char *env_real_reason(int code, char *text, size_t size)
{
    if (code == EISDIR)
        return "it is a directory";
    if (code == EPIPE)
        return "the reader has closed it";
    char scratch[128];
    (void)snprintf(text, size, "%s", strerror_r(code, scratch, sizeof scratch));
    if (text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z')
        text[0] = (char)(text[0] - 'A' + 'a');
    return text;
}

shoal_status env_real_fail(shoal_err *err, const char *verb, const char *path, int code)
{
    char text[128];
    const char *reason = env_real_reason(code, text, sizeof text);
    if (strcmp(path, "-") == 0) {
        const char *name = strcmp(verb, "write") == 0 ? "to standard output" : "standard input";
        return base_err(err, env_real_status(code), "cannot %s %s: %s", verb, name, reason);
    }
    return base_err(err, env_real_status(code), "cannot %s '%s': %s", verb, path, reason);
}

/* --- clock and processors --- */

static double clock_s(clockid_t clock)
{
    struct timespec t;
    shoal_assert(clock_gettime(clock, &t) == 0);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t real_now_ns(shoal_env *env)
{
    (void)env;
    struct timespec t;
    shoal_assert(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double real_wall_s(shoal_env *env)
{
    (void)env;
    return clock_s(CLOCK_REALTIME);
}

static double real_cpu_s(shoal_env *env)
{
    (void)env;
    return clock_s(CLOCK_THREAD_CPUTIME_ID);
}

static uint32_t real_cpu_count(shoal_env *env)
{
    (void)env;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (uint32_t)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN); /* more processors than the set can hold */
    return online > 0 ? (uint32_t)online : 1;
}

/* --- reading --- */

int env_real_open(const char *path, int flags, mode_t mode)
{
    int fd = -1;
    do
        fd = open(path, flags | O_CLOEXEC | O_NOCTTY, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static shoal_status real_open(shoal_env *env, const char *path, struct env_file **out_file,
                              shoal_err *err)
{
    size_t path_size = strlen(path) + 1;
    struct real_file *file = base_malloc(env->alloc, sizeof *file + path_size);
    if (file == NULL)
        return base_err_nomem(err, "opening a file");
    file->file.env = env;
    file->alloc = env->alloc;
    memcpy(file->path, path, path_size);

    bool is_stdin = strcmp(path, "-") == 0;
    file->fd = is_stdin ? STDIN_FILENO : env_real_open(path, O_RDONLY, 0);
    int code = errno;
    struct stat info;
    if (file->fd >= 0) {
        if (fstat(file->fd, &info) != 0)
            code = errno;
        else if (S_ISDIR(info.st_mode))
            code = EISDIR;
        else {
            *out_file = &file->file;
            return SHOAL_OK;
        }
        if (!is_stdin)
            (void)close(file->fd);
    }
    base_free(env->alloc, file);
    return env_real_fail(err, "open", path, code);
}

static shoal_status real_read(struct env_file *base, void *buf, size_t size, size_t *out_size,
                              shoal_err *err)
{
    struct real_file *file = (struct real_file *)base;
    if (size > ENV_REAL_IO_MAX)
        size = ENV_REAL_IO_MAX;
    for (;;) {
        ssize_t got = read(file->fd, buf, size);
        if (got >= 0) {
            *out_size = (size_t)got;
            return SHOAL_OK;
        }
        if (errno != EINTR)
            return env_real_fail(err, "read", file->path, errno);
    }
}

static shoal_status real_read_at(struct env_file *base, uint64_t offset, void *buf, size_t size,
                                 size_t *out_size, shoal_err *err)
{
    struct real_file *file = (struct real_file *)base;
    if (offset > INT64_MAX - ENV_REAL_IO_MAX)
        return env_real_fail(err, "read", file->path, EFBIG);
    if (size > ENV_REAL_IO_MAX)
        size = ENV_REAL_IO_MAX;
    for (;;) {
        ssize_t got = pread(file->fd, buf, size, (off_t)offset);
        if (got >= 0) {
            *out_size = (size_t)got;
            return SHOAL_OK;
        }
        if (errno != EINTR)
            return env_real_fail(err, "read", file->path, errno);
    }
}

static shoal_status real_size(struct env_file *base, uint64_t *out_size, shoal_err *err)
{
    struct real_file *file = (struct real_file *)base;
    struct stat info;
    if (fstat(file->fd, &info) != 0)
        return env_real_fail(err, "read", file->path, errno);
    if (!S_ISREG(info.st_mode))
        return base_err(err, SHOAL_E_FORMAT, "cannot read '%s': it is not a plain file",
                        file->path);
    *out_size = (uint64_t)info.st_size;
    return SHOAL_OK;
}

static bool real_is_private(struct env_file *base)
{
    struct real_file *file = (struct real_file *)base;
    struct stat info;
    return fstat(file->fd, &info) != 0 || !S_ISREG(info.st_mode) ||
           (info.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

static void real_close(struct env_file *base)
{
    struct real_file *file = (struct real_file *)base;
    if (file->fd != STDIN_FILENO)
        (void)close(file->fd);
    base_free(file->alloc, file);
}

/* --- folders --- */

static bool real_same(shoal_env *env, const char *a, const char *b)
{
    struct stat first, second;
    (void)env;
    int failed = strcmp(a, "-") == 0 ? fstat(STDIN_FILENO, &first) : stat(a, &first);
    return failed == 0 && stat(b, &second) == 0 && S_ISREG(first.st_mode) &&
           env_real_is_one(&first, &second);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* All names but "." and "..", each ended by NUL, into `names`; their number into *count. 0 or an
 * errno. */
static int collect_names(DIR *folder, struct base_buf *names, size_t *count)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (entry == NULL)
            return errno;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        base_buf_append(names, entry->d_name, strlen(entry->d_name) + 1);
        ++*count;
    }
}

/* Appends `count` names to `out` in byte order. */
static shoal_status append_sorted(shoal_env *env, const struct base_buf *names, size_t count,
                                  struct base_buf *out)
{
    const char **sorted = base_calloc(env->alloc, count, sizeof *sorted);
    if (sorted == NULL)
        return SHOAL_E_NOMEM;
    const char *name = names->data;
    for (size_t i = 0; i < count; i++) {
        sorted[i] = name;
        name += strlen(name) + 1;
    }
    if (count > 1)
        qsort(sorted, count, sizeof *sorted, compare_names);
    size_t size_before = out->size;
    for (size_t i = 0; i < count; i++)
        base_buf_append(out, sorted[i], strlen(sorted[i]) + 1);
    base_free(env->alloc, sorted);
    if (base_buf_status(out) != SHOAL_OK)
        out->size = size_before;
    return base_buf_status(out);
}

static shoal_status real_list(shoal_env *env, const char *path, struct base_buf *out_names,
                              shoal_err *err)
{
    DIR *folder = opendir(path);
    if (folder == NULL)
        return env_real_fail(err, "list", path, errno);
    struct base_buf names;
    base_buf_init(&names, env->alloc, out_names->size_max);
    size_t count = 0;
    int code = collect_names(folder, &names, &count);
    (void)closedir(folder);
    shoal_status st = base_buf_status(&names);
    if (code == 0 && st == SHOAL_OK)
        st = append_sorted(env, &names, count, out_names);
    base_buf_fini(&names);
    if (code != 0)
        return env_real_fail(err, "list", path, code);
    if (st == SHOAL_E_LIMIT)
        return base_err(err, st, "cannot list '%s': too many names", path);
    return st == SHOAL_OK ? st : base_err_nomem(err, "listing a folder");
}

static shoal_status real_random(shoal_env *env, void *bytes, size_t size, shoal_err *err)
{
    (void)env;
    size_t done = 0;
    while (done < size) {
        ssize_t got = getrandom((char *)bytes + done, size - done, 0);
        if (got >= 0) {
            done += (size_t)got;
            continue;
        }
        char text[128];
        if (errno != EINTR)
            return base_err(err, SHOAL_E_IO, "cannot draw random bytes: %s",
                            env_real_reason(errno, text, sizeof text));
    }
    return SHOAL_OK;
}

/* --- threads --- */

struct parallel_work {
    void (*fn)(void *ctx, size_t index);
    void *ctx;
    size_t count;
    atomic_size_t next;
};

static void *parallel_worker(void *arg)
{
    struct parallel_work *work = arg;
    for (;;) {
        size_t index = atomic_fetch_add_explicit(&work->next, 1, memory_order_relaxed);
        if (index >= work->count)
            return NULL;
        work->fn(work->ctx, index);
    }
}

/* The calling thread is one of the workers, so refused threads cost speed and nothing else. */
static shoal_status real_parallel(shoal_env *env, size_t count, uint32_t thread_max,
                                  void (*fn)(void *ctx, size_t index), void *ctx, shoal_err *err)
{
    uint32_t threads = real_cpu_count(env);
    if (thread_max != 0 && thread_max < threads)
        threads = thread_max;
    if (threads > THREADS_MAX)
        threads = THREADS_MAX;
    if (threads > count)
        threads = (uint32_t)count;
    struct parallel_work work = {.fn = fn, .ctx = ctx, .count = count};
    atomic_init(&work.next, 0);

    pthread_t *others = NULL;
    uint32_t started = 0;
    if (threads > 1) {
        others = base_calloc(env->alloc, threads - 1, sizeof *others);
        if (others == NULL)
            return base_err_nomem(err, "starting threads");
        while (started < threads - 1 &&
               pthread_create(&others[started], NULL, parallel_worker, &work) == 0)
            started++;
    }
    (void)parallel_worker(&work);
    for (uint32_t i = 0; i < started; i++)
        shoal_assert(pthread_join(others[i], NULL) == 0);
    base_free(env->alloc, others);
    return SHOAL_OK;
}

static void real_free(shoal_env *env)
{
    env_spill_free(env->spill);
    env_real_swept_fini(&((struct real_env *)env)->swept);
    base_free(&base_alloc_libc, env);
}

static const struct env_ops REAL_OPS = {
    .now_ns = real_now_ns,
    .wall_s = real_wall_s,
    .cpu_s = real_cpu_s,
    .cpu_count = real_cpu_count,
    .memory_left = memory_real_left,
    .open = real_open,
    .read = real_read,
    .read_at = real_read_at,
    .size = real_size,
    .is_private = real_is_private,
    .close = real_close,
    .create = env_real_out_create,
    .append = env_real_out_append,
    .commit = env_real_out_commit,
    .discard = env_real_out_discard,
    .same = real_same,
    .list = real_list,
    .random = real_random,
    .parallel = real_parallel,
    .free = real_free,
    .loops = &env_loop_ops_real,
};

shoal_status shoal_env_real_new(shoal_env **out_env, shoal_err *err)
{
    struct real_env *real = base_calloc(&base_alloc_libc, 1, sizeof *real);
    if (real == NULL)
        return base_err_nomem(err, "starting");
    real->env = (shoal_env){.ops = &REAL_OPS, .alloc = &base_alloc_libc, .seed = 1};
    env_real_swept_init(&real->swept);
    *out_env = &real->env;
    return SHOAL_OK;
}
