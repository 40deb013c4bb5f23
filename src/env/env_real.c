/* env_real.c - this machine.
 *
 * Files are replaced whole: the bytes go to a new file in the same folder, are synced, and then
 * take the old one's name, so a reader sees the old bytes or the new ones and a failure leaves the
 * old; then the folder is synced, so that a crash does not take the name back. A process killed
 * before that leaves its new file behind; its name tells whose it was (sweep). Links are followed
 * first; devices and pipes are written in place. The process's signal handlers, umask and locale
 * are left alone: SIGPIPE is held back on the writing thread only. Tests:
 * tests/unit/env/test_env_real.c. */
#include "base/assert.h"
#include "base/err.h"
#include "env/env.h"
#include "env/loop_real.h"
#include "env/memory_real.h"
#include "env/spill.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum {
    IO_SIZE_MAX = 1 << 30,
    HELD_SIZE = 64 * 1024,
    LINKS_MAX = 40,
    SWEPT_MAX = 8,
    TEMPORARY_TRIES = 100,
    THREADS_MAX = 1024
};

/* A file before it takes its name: process, host, a number. */
#define TEMPORARY_NAME ".shoal-%ld-%08x-%llx"

struct folder {
    dev_t device;
    ino_t inode;
};

struct real_env {
    shoal_env env; /* first */
    uint32_t host; /* a hash of where process numbers are ours */
    pthread_mutex_t lock;
    struct folder swept[SWEPT_MAX]; /* under the lock: the folders swept last */
    size_t swept_count;
};

struct real_file {
    struct env_file file; /* first */
    const struct base_alloc *alloc;
    int fd;
    char path[]; /* for messages */
};

struct real_out {
    struct env_out out; /* first */
    const struct base_alloc *alloc;
    int fd;
    bool in_place;         /* else into `temporary`, which becomes `target` */
    char target[PATH_MAX]; /* the path with its links followed */
    char temporary[PATH_MAX];
    size_t used;
    char held[HELD_SIZE]; /* small pieces are written together */
    char path[];          /* for messages */
};

/* --- errors in words --- */

static shoal_status status_of_errno(int code)
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

/* The system's text in our style: lower case. Returns `text` or a constant. */
static const char *errno_text(int code, char *text, size_t size)
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

shoal_status env_real_status(int code)
{
    return status_of_errno(code);
}

const char *env_real_reason(int code, char *text, size_t size)
{
    return errno_text(code, text, size);
}

/* "cannot VERB 'path': reason" */
static shoal_status fail(shoal_err *err, const char *verb, const char *path, int code)
{
    char text[128];
    const char *reason = errno_text(code, text, sizeof text);
    if (strcmp(path, "-") == 0) {
        const char *name = strcmp(verb, "write") == 0 ? "standard output" : "standard input";
        return base_err(err, status_of_errno(code), "cannot %s %s: %s", verb, name, reason);
    }
    return base_err(err, status_of_errno(code), "cannot %s '%s': %s", verb, path, reason);
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

static int open_retrying(const char *path, int flags, mode_t mode)
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
    file->fd = is_stdin ? STDIN_FILENO : open_retrying(path, O_RDONLY, 0);
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
    return fail(err, "open", path, code);
}

static shoal_status real_read(struct env_file *base, void *buf, size_t size, size_t *out_size,
                              shoal_err *err)
{
    struct real_file *file = (struct real_file *)base;
    if (size > IO_SIZE_MAX)
        size = IO_SIZE_MAX;
    for (;;) {
        ssize_t got = read(file->fd, buf, size);
        if (got >= 0) {
            *out_size = (size_t)got;
            return SHOAL_OK;
        }
        if (errno != EINTR)
            return fail(err, "read", file->path, errno);
    }
}

static shoal_status real_read_at(struct env_file *base, uint64_t offset, void *buf, size_t size,
                                 size_t *out_size, shoal_err *err)
{
    struct real_file *file = (struct real_file *)base;
    if (offset > INT64_MAX - IO_SIZE_MAX)
        return fail(err, "read", file->path, EFBIG);
    if (size > IO_SIZE_MAX)
        size = IO_SIZE_MAX;
    for (;;) {
        ssize_t got = pread(file->fd, buf, size, (off_t)offset);
        if (got >= 0) {
            *out_size = (size_t)got;
            return SHOAL_OK;
        }
        if (errno != EINTR)
            return fail(err, "read", file->path, errno);
    }
}

static shoal_status real_size(struct env_file *base, uint64_t *out_size, shoal_err *err)
{
    struct real_file *file = (struct real_file *)base;
    struct stat info;
    if (fstat(file->fd, &info) != 0)
        return fail(err, "read", file->path, errno);
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

/* --- writing --- */

/* All of the bytes, or the errno of the failure. */
static int write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t put = write(fd, bytes, size < IO_SIZE_MAX ? size : IO_SIZE_MAX);
        if (put < 0) {
            if (errno == EINTR)
                continue;
            return errno;
        }
        bytes += put;
        size -= (size_t)put;
    }
    return 0;
}

/* write_all without dying of SIGPIPE: the signal is blocked on this thread and, if our write raised
 * it, taken back before it is unblocked. */
static int write_all_quietly(int fd, const char *bytes, size_t size)
{
    sigset_t pipe_set, pending, old;
    (void)sigemptyset(&pipe_set);
    (void)sigaddset(&pipe_set, SIGPIPE);
    (void)sigemptyset(&pending);
    (void)sigpending(&pending);
    bool was_pending = sigismember(&pending, SIGPIPE) == 1;
    (void)pthread_sigmask(SIG_BLOCK, &pipe_set, &old);
    int code = write_all(fd, bytes, size);
    if (code == EPIPE && !was_pending) {
        const struct timespec no_wait = {0, 0};
        while (sigtimedwait(&pipe_set, NULL, &no_wait) < 0 && errno == EINTR)
            continue;
    }
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return code;
}

/* The folder of a file, to be opened; room for PATH_MAX. */
static const char *folder_of(const char *path, char *folder)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        (void)snprintf(folder, PATH_MAX, ".");
    else
        (void)snprintf(folder, PATH_MAX, "%.*s", (int)(slash - path + 1), path);
    return folder;
}

/* --- what killed writers left --- */

/* Process numbers mean something on one machine, in one name space: a hash of both. */
static uint32_t host_hash(void)
{
    struct utsname machine = {.nodename = ""};
    char text[sizeof machine.nodename + 64] = "", space[64] = "";
    uint32_t hash = 2166136261u;
    (void)uname(&machine);
    (void)readlink("/proc/self/ns/pid", space, sizeof space - 1);
    (void)snprintf(text, sizeof text, "%s %s", machine.nodename, space);
    for (const char *c = text; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    return hash;
}

/* The process that made this new file, on this host; 0: no such name, or another host's. */
static pid_t maker_of(const char *name, uint32_t host)
{
    long pid = 0;
    unsigned made_on = 0;
    unsigned long long number = 0;
    char again[NAME_MAX + 1];
    if (sscanf(name, ".shoal-%ld-%x-%llx", &pid, &made_on, &number) != 3 || made_on != host ||
        pid <= 0 || pid > INT_MAX)
        return 0;
    (void)snprintf(again, sizeof again, TEMPORARY_NAME, pid, made_on, number);
    return strcmp(name, again) == 0 ? (pid_t)pid : 0;
}

/* Removes new files of this user's whose makers are dead. */
static void sweep(DIR *names, uint32_t host)
{
    struct stat info;
    for (const struct dirent *entry; (entry = readdir(names)) != NULL;) {
        pid_t maker = maker_of(entry->d_name, host);
        if (maker == 0 || kill(maker, 0) == 0 || errno != ESRCH)
            continue;
        if (fstatat(dirfd(names), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(info.st_mode) && info.st_uid == geteuid())
            (void)unlinkat(dirfd(names), entry->d_name, 0);
    }
}

/* Whether this env has not swept the folder lately; it has then. */
static bool is_unswept(struct real_env *env, const struct stat *folder)
{
    bool found = false;
    shoal_assert(pthread_mutex_lock(&env->lock) == 0);
    for (size_t i = 0; i < SWEPT_MAX && i < env->swept_count; i++)
        found |= env->swept[i].device == folder->st_dev && env->swept[i].inode == folder->st_ino;
    if (!found)
        env->swept[env->swept_count++ % SWEPT_MAX] =
            (struct folder){folder->st_dev, folder->st_ino};
    shoal_assert(pthread_mutex_unlock(&env->lock) == 0);
    return !found;
}

/* Once for a folder, since a folder may be large. */
static void sweep_folder_of(shoal_env *env, const char *path)
{
    struct real_env *real = (struct real_env *)env;
    char folder[PATH_MAX];
    struct stat info;
    if (stat(folder_of(path, folder), &info) != 0 || !is_unswept(real, &info))
        return;
    DIR *names = opendir(folder);
    if (names == NULL)
        return;
    sweep(names, real->host);
    (void)closedir(names);
}

/* Creates a new file beside `path`; its name goes to `name`, which has room for PATH_MAX. */
static int create_beside(shoal_env *env, const char *path, char *name, int *out_fd)
{
    const char *slash = strrchr(path, '/');
    int folder_length = slash == NULL ? 0 : (int)(slash - path + 1);
    uint64_t number = env_now_ns(env);
    sweep_folder_of(env, path);
    for (int i = 0; i < TEMPORARY_TRIES; i++) {
        int length =
            snprintf(name, PATH_MAX, "%.*s" TEMPORARY_NAME, folder_length, path, (long)getpid(),
                     ((struct real_env *)env)->host, (unsigned long long)number++);
        if (length >= PATH_MAX)
            return ENAMETOOLONG;
        *out_fd = open_retrying(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (*out_fd >= 0)
            return 0;
        if (errno != EEXIST)
            return errno;
    }
    return EEXIST;
}

/* Makes the name of `path` last: its folder is synced, or all of its disk where the folder cannot
 * be read. 0 or an errno; a file system that cannot sync has done what it can. */
static int sync_folder_of(const char *path)
{
    char folder[PATH_MAX];
    int fd = open_retrying(folder_of(path, folder), O_RDONLY | O_DIRECTORY, 0);
    bool whole = fd < 0;
    if (whole)
        fd = open_retrying(path, O_RDONLY, 0);
    if (fd < 0)
        return errno;
    int code = (whole ? syncfs(fd) : fsync(fd)) == 0 ? 0 : errno;
    (void)close(fd);
    return code == EINVAL || code == ENOTSUP ? 0 : code;
}

/* Where the links of `path` end, which need not exist. 0 or an errno. */
static int follow_links(const char *path, char *target)
{
    char link[PATH_MAX], next[PATH_MAX];
    int length = snprintf(target, PATH_MAX, "%s", path);
    for (int i = 0; length < PATH_MAX && i < LINKS_MAX; i++) {
        ssize_t size = readlink(target, link, sizeof link - 1);
        if (size < 0)
            return 0;
        link[size] = '\0';
        const char *slash = link[0] == '/' ? NULL : strrchr(target, '/');
        length = snprintf(next, sizeof next, "%.*s%s",
                          slash == NULL ? 0 : (int)(slash - target + 1), target, link);
        if (length < PATH_MAX)
            memcpy(target, next, (size_t)length + 1);
    }
    return length < PATH_MAX ? ELOOP : ENAMETOOLONG;
}

static bool is_one(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The descriptor 1 or 2 that already goes to this plain file, or -1: replacing it would lose what
 * goes there. */
static int open_already(const struct stat *info)
{
    struct stat other;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fstat(fd, &other) == 0 && is_one(info, &other))
            return fd;
    }
    return -1;
}

static int dup_of(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

/* Opens what the bytes go to. 0 or an errno. */
static int open_output(struct real_out *out)
{
    struct stat old;
    int code = 0;
    out->in_place = true;
    if (strcmp(out->path, "-") == 0) {
        out->fd = dup_of(STDOUT_FILENO);
        return out->fd < 0 ? errno : 0;
    }
    if (out->path[0] == '\0')
        return ENOENT;
    bool is_new = stat(out->path, &old) != 0;
    if (is_new && errno != ENOENT)
        return errno;
    if (!is_new && S_ISDIR(old.st_mode))
        return EISDIR;
    if (!is_new && !S_ISREG(old.st_mode)) {
        out->fd = open_retrying(out->path, O_WRONLY, 0);
        return out->fd < 0 ? errno : 0;
    }
    if (!is_new && open_already(&old) >= 0) {
        out->fd = dup_of(open_already(&old));
        return out->fd < 0 ? errno : 0;
    }
    if (!is_new && faccessat(AT_FDCWD, out->path, W_OK, AT_EACCESS) != 0)
        return errno;
    out->in_place = false;
    code = follow_links(out->path, out->target);
    if (code == 0)
        code = create_beside(out->out.env, out->target, out->temporary, &out->fd);
    if (code == 0 && !is_new)
        (void)fchmod(out->fd, old.st_mode & 07777);
    return code;
}

static shoal_status real_create(shoal_env *env, const char *path, struct env_out **out_out,
                                shoal_err *err)
{
    size_t path_size = strlen(path) + 1;
    struct real_out *out = base_malloc(env->alloc, sizeof *out + path_size);
    if (out == NULL)
        return base_err_nomem(err, "writing a file");
    out->out.env = env;
    out->alloc = env->alloc;
    out->fd = -1;
    out->used = 0;
    memcpy(out->path, path, path_size);
    int code = open_output(out);
    if (code == 0) {
        *out_out = &out->out;
        return SHOAL_OK;
    }
    shoal_status st = fail(err, "write", path, code);
    base_free(env->alloc, out);
    return st;
}

static int put(struct real_out *out, const char *bytes, size_t size)
{
    return out->in_place ? write_all_quietly(out->fd, bytes, size)
                         : write_all(out->fd, bytes, size);
}

static int put_held(struct real_out *out)
{
    size_t size = out->used;
    out->used = 0;
    return size == 0 ? 0 : put(out, out->held, size);
}

static shoal_status real_append(struct env_out *base, const void *bytes, size_t size,
                                shoal_err *err)
{
    struct real_out *out = (struct real_out *)base;
    int code = 0;
    if (size > sizeof out->held - out->used)
        code = put_held(out);
    if (code == 0 && size > sizeof out->held) {
        code = put(out, bytes, size);
    } else if (code == 0 && size > 0) {
        memcpy(out->held + out->used, bytes, size);
        out->used += size;
    }
    return code == 0 ? SHOAL_OK : fail(err, "write", out->path, code);
}

static shoal_status real_commit(struct env_out *base, shoal_err *err)
{
    struct real_out *out = (struct real_out *)base;
    int code = put_held(out);
    if (code == 0 && !out->in_place && fsync(out->fd) != 0 && errno != EINVAL && errno != ENOTSUP)
        code = errno; /* EINVAL, ENOTSUP: a file system that cannot sync */
    if (close(out->fd) != 0 && code == 0 && errno != EINTR)
        code = errno;
    if (code == 0 && !out->in_place && rename(out->temporary, out->target) != 0)
        code = errno;
    if (code != 0 && !out->in_place)
        (void)unlink(out->temporary);
    if (code == 0 && !out->in_place) /* the new file stays: the old one is gone */
        code = sync_folder_of(out->target);
    shoal_status st = code == 0 ? SHOAL_OK : fail(err, "write", out->path, code);
    base_free(out->alloc, out);
    return st;
}

static void real_discard(struct env_out *base)
{
    struct real_out *out = (struct real_out *)base;
    (void)close(out->fd);
    if (!out->in_place)
        (void)unlink(out->temporary);
    base_free(out->alloc, out);
}

static bool real_same(shoal_env *env, const char *a, const char *b)
{
    struct stat first, second;
    (void)env;
    int failed = strcmp(a, "-") == 0 ? fstat(STDIN_FILENO, &first) : stat(a, &first);
    return failed == 0 && stat(b, &second) == 0 && S_ISREG(first.st_mode) &&
           is_one(&first, &second);
}

/* --- folders --- */

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
        return fail(err, "list", path, errno);
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
        return fail(err, "list", path, code);
    if (st == SHOAL_E_LIMIT)
        return base_err(err, st, "cannot list '%s': too many names", path);
    return st == SHOAL_OK ? st : base_err_nomem(err, "listing a folder");
}

static bool real_fault(shoal_env *env, const char *point)
{
    (void)env;
    (void)point;
    return false;
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
                            errno_text(errno, text, sizeof text));
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
    (void)pthread_mutex_destroy(&((struct real_env *)env)->lock);
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
    .create = real_create,
    .append = real_append,
    .commit = real_commit,
    .discard = real_discard,
    .same = real_same,
    .list = real_list,
    .fault = real_fault,
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
    real->host = host_hash();
    shoal_assert(pthread_mutex_init(&real->lock, NULL) == 0);
    *out_env = &real->env;
    return SHOAL_OK;
}
