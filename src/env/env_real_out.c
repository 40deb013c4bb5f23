/* env_real_out.c - files that are written, on this machine.
 *
 * Files are replaced whole: the bytes go to a new file in the same folder, are synced, and then
 * take the old one's name, so a reader sees the old bytes or the new ones and a failure leaves the
 * old; then the folder is synced, so that a crash does not take the name back. The new file is never
 * open to more users than the one it becomes, not even while it is empty. A process killed
 * before that leaves its new file behind; its name tells whose it was (sweep). Links are followed
 * first; devices and pipes are written in place; private files are not synced. SIGPIPE is held back on the writing thread only.
 * Tests: tests/unit/env/test_env_real.c. */
#include "env/env_real.h"

#include "base/assert.h"
#include "base/err.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { HELD_SIZE = 64 * 1024, LINKS_MAX = 40, TEMPORARY_TRIES = 100 };

/* A file before it takes its name: process, host, a number. */
#define TEMPORARY_NAME ".shoal-%ld-%08x-%llx"

struct real_out {
    struct env_out out; /* first */
    const struct base_alloc *alloc;
    int fd;
    bool is_private;
    bool in_place;         /* else into `temporary`, which becomes `target` */
    char target[PATH_MAX]; /* the path with its links followed */
    char temporary[PATH_MAX];
    size_t used;
    char held[HELD_SIZE]; /* small pieces are written together */
    char path[];          /* for messages */
};

/* --- bytes --- */

/* All of the bytes, or the errno of the failure. */
static int write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t put = write(fd, bytes, size < ENV_REAL_IO_MAX ? size : ENV_REAL_IO_MAX);
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
    if (readlink("/proc/self/ns/pid", space, sizeof space - 1) < 0)
        space[0] = '\0';
    (void)snprintf(text, sizeof text, "%s %s", machine.nodename, space);
    for (const char *c = text; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    return hash;
}

void env_real_swept_init(struct real_swept *swept)
{
    swept->host = host_hash();
    shoal_assert(pthread_mutex_init(&swept->lock, NULL) == 0);
}

void env_real_swept_fini(struct real_swept *swept)
{
    (void)pthread_mutex_destroy(&swept->lock);
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
static bool is_unswept(struct real_swept *swept, const struct stat *folder)
{
    const size_t max = sizeof swept->folder / sizeof swept->folder[0];
    bool found = false;
    shoal_assert(pthread_mutex_lock(&swept->lock) == 0);
    for (size_t i = 0; i < max && i < swept->count; i++)
        found |=
            swept->folder[i].device == folder->st_dev && swept->folder[i].inode == folder->st_ino;
    if (!found) {
        swept->folder[swept->count % max].device = folder->st_dev;
        swept->folder[swept->count++ % max].inode = folder->st_ino;
    }
    shoal_assert(pthread_mutex_unlock(&swept->lock) == 0);
    return !found;
}

/* Once for a folder, since a folder may be large. */
static void sweep_folder_of(shoal_env *env, const char *path)
{
    struct real_swept *swept = &((struct real_env *)env)->swept;
    char folder[PATH_MAX];
    struct stat info;
    if (stat(folder_of(path, folder), &info) != 0 || !is_unswept(swept, &info))
        return;
    DIR *names = opendir(folder);
    if (names == NULL)
        return;
    sweep(names, swept->host);
    (void)closedir(names);
}

/* --- names --- */

/* Creates a new file beside `path`, of this mode or, by the umask, a narrower one; its name goes to
 * `name`, which has room for PATH_MAX. */
static int create_beside(shoal_env *env, const char *path, mode_t mode, char *name, int *out_fd)
{
    const char *slash = strrchr(path, '/');
    int folder_length = slash == NULL ? 0 : (int)(slash - path + 1);
    uint64_t number = env_now_ns(env);
    sweep_folder_of(env, path);
    for (int i = 0; i < TEMPORARY_TRIES; i++) {
        int length =
            snprintf(name, PATH_MAX, "%.*s" TEMPORARY_NAME, folder_length, path, (long)getpid(),
                     ((struct real_env *)env)->swept.host, (unsigned long long)number++);
        if (length >= PATH_MAX)
            return ENAMETOOLONG;
        *out_fd = env_real_open(name, O_WRONLY | O_CREAT | O_EXCL, mode);
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
    int fd = env_real_open(folder_of(path, folder), O_RDONLY | O_DIRECTORY, 0);
    bool whole = fd < 0;
    if (whole)
        fd = env_real_open(path, O_RDONLY, 0);
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

/* --- outputs --- */

/* The descriptor 1 or 2 that already goes to this plain file, or -1: replacing it would lose what
 * goes there. */
static int open_already(const struct stat *info)
{
    struct stat other;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fstat(fd, &other) == 0 && env_real_is_one(info, &other))
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
        out->fd = env_real_open(out->path, O_WRONLY, 0);
        return out->fd < 0 ? errno : 0;
    }
    if (!is_new && open_already(&old) >= 0) {
        out->fd = dup_of(open_already(&old));
        return out->fd < 0 ? errno : 0;
    }
    if (!is_new && faccessat(AT_FDCWD, out->path, W_OK, AT_EACCESS) != 0)
        return errno;
    out->in_place = false;
    mode_t mode = out->is_private ? 0600 : is_new ? 0666 : old.st_mode & 07777;
    code = follow_links(out->path, out->target);
    if (code == 0)
        code = create_beside(out->out.env, out->target, mode & 0777, out->temporary, &out->fd);
    if (code == 0 && !is_new && !out->is_private)
        (void)fchmod(out->fd, mode); /* what the umask took */
    return code;
}

shoal_status env_real_out_create(shoal_env *env, const char *path, bool is_private,
                                 struct env_out **out_out, shoal_err *err)
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
    out->is_private = is_private;
    int code = open_output(out);
    if (code == 0) {
        *out_out = &out->out;
        return SHOAL_OK;
    }
    shoal_status st = env_real_fail(err, "write", path, code);
    base_free(env->alloc, out);
    return st;
}

static void out_free(struct real_out *out)
{
    if (out->is_private)
        explicit_bzero(out->held, sizeof out->held);
    base_free(out->alloc, out);
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

shoal_status env_real_out_append(struct env_out *base, const void *bytes, size_t size,
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
    return code == 0 ? SHOAL_OK : env_real_fail(err, "write", out->path, code);
}

shoal_status env_real_out_commit(struct env_out *base, shoal_err *err)
{
    struct real_out *out = (struct real_out *)base;
    int code = put_held(out);
    bool lasts = !out->in_place && !out->is_private;
    if (code == 0 && lasts && fsync(out->fd) != 0 && errno != EINVAL && errno != ENOTSUP)
        code = errno; /* EINVAL, ENOTSUP: a file system that cannot sync */
    if (close(out->fd) != 0 && code == 0 && errno != EINTR)
        code = errno;
    if (code == 0 && !out->in_place && rename(out->temporary, out->target) != 0)
        code = errno;
    if (code != 0 && !out->in_place)
        (void)unlink(out->temporary);
    if (code == 0 && lasts) /* the new file stays: the old one is gone */
        code = sync_folder_of(out->target);
    shoal_status st = code == 0 ? SHOAL_OK : env_real_fail(err, "write", out->path, code);
    out_free(out);
    return st;
}

void env_real_out_discard(struct env_out *base)
{
    struct real_out *out = (struct real_out *)base;
    (void)close(out->fd);
    if (!out->in_place)
        (void)unlink(out->temporary);
    out_free(out);
}
