/* system.c - see system.h. */
#include "env/system.h"

#include "base/err.h"
#include "base/text.h"
#include "env/env_real.h"
#include "env/spill.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert((int)ENV_PATH_SIZE == PATH_MAX, "paths");

enum { LINKS_MAX = 40 };

/* ---- places ---- */

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

bool env_same_place(shoal_env *env, const char *a, const char *b)
{
    struct stat folder[2];
    char name[2][PATH_MAX];

    if (strcmp(a, b) == 0 || env_same(env, a, b))
        return true;
    return find_place(a, &folder[0], name[0]) && find_place(b, &folder[1], name[1]) &&
           folder[0].st_dev == folder[1].st_dev && folder[0].st_ino == folder[1].st_ino &&
           strcmp(name[0], name[1]) == 0;
}

bool env_in_folder(const char *path, const char *folder)
{
    struct stat place, other;
    char name[PATH_MAX];

    return stat(folder, &other) == 0 && find_place(path, &place, name) &&
           place.st_dev == other.st_dev && place.st_ino == other.st_ino;
}

bool env_is_pipe(const char *path)
{
    struct stat now;

    return stat(path, &now) == 0 && S_ISFIFO(now.st_mode);
}

double env_file_bytes(const char *path)
{
    struct stat now;

    return stat(path, &now) == 0 && S_ISREG(now.st_mode) ? (double)now.st_size : (double)NAN;
}

const char *env_full_path(const char *path, char out[ENV_PATH_SIZE])
{
    return realpath(path, out) != NULL ? out : path;
}

/* ---- the folder for what runs ---- */

/* Makes `path` and its parents. */
static int make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int rc = mkdir(path, 0700);
        *slash = '/';
        if (rc != 0 && errno != EEXIST)
            return -1;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : -1;
}

shoal_status env_run_folder(const char *name, char *out, size_t size, shoal_err *err)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *home = getenv("HOME");
    char path[512], why[128];
    struct stat found;
    int length;

    if (runtime != NULL && runtime[0] == '/')
        length = snprintf(path, sizeof path, "%s/shoal/%s", runtime, name);
    else if (home != NULL && home[0] == '/')
        length = snprintf(path, sizeof path, "%s/.local/state/shoal/%s", home, name);
    else
        return base_err(err, SHOAL_E_NOTFOUND, "no folder for %s: HOME is not set", name);
    if (length < 0 || (size_t)length >= sizeof path || (size_t)length >= size)
        return base_err(err, SHOAL_E_LIMIT, "the path of the folder for %s is too long", name);
    if (make_folders(path) != 0 || stat(path, &found) != 0)
        return base_err(err, SHOAL_E_IO, "cannot make folder '%s': %s", path,
                        env_real_reason(errno, why, sizeof why));
    if (found.st_uid != geteuid() || (found.st_mode & 077) != 0) {
        base_err(err, SHOAL_E_DENIED, "folder '%s' holds keys and others may enter it", path);
        base_err_hint(err, "make it yours alone: chmod 700 '%s'", path);
        return SHOAL_E_DENIED;
    }
    memcpy(out, path, (size_t)length + 1);
    return SHOAL_OK;
}

/* ---- locks ---- */

/* A file that was removed while we waited for it is no lock any more. */
static int take_lock(const char *path)
{
    struct stat ours, named;

    for (int i = 0; i < 100; i++) {
        int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_CREAT, 0600);
        if (fd < 0)
            return -1;
        if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
            int code = errno;
            close(fd);
            errno = code;
            return -1;
        }
        if (fstat(fd, &ours) == 0 && stat(path, &named) == 0 && ours.st_ino == named.st_ino &&
            ours.st_dev == named.st_dev)
            return fd;
        close(fd);
    }
    return -1;
}

int env_lock_take(const char *path, bool waits, shoal_err *err)
{
    char why[128];
    int lock = take_lock(path);

    for (int i = 0; waits && i < 5 && lock < 0 && errno == EWOULDBLOCK; i++) {
        usleep(10000); /* somebody who looks has a lock for a moment, too */
        lock = take_lock(path);
    }
    if (lock < 0)
        (void)!base_err(err, errno == EWOULDBLOCK ? SHOAL_E_EXISTS : SHOAL_E_IO,
                        "cannot write '%s': %s", path, env_real_reason(errno, why, sizeof why));
    return lock;
}

double env_lock_since(const char *path)
{
    struct stat found;

    return stat(path, &found) == 0
               ? (double)found.st_mtim.tv_sec + 1e-9 * (double)found.st_mtim.tv_nsec
               : (double)NAN;
}

void env_lock_stamp(int lock)
{
    (void)futimens(lock, NULL);
}

void env_lock_drop(int lock, const char *path, const char *with)
{
    if (lock < 0)
        return;
    (void)unlink(with);
    (void)unlink(path);
    close(lock);
}

/* What a writer that was killed has left. Nobody else writes there: it is locked. */
static void remove_temporary(int folder)
{
    static const char START[] = ".shoal-";
    int fd = dup(folder);
    DIR *names = fd >= 0 ? fdopendir(fd) : NULL;

    if (names == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(names)) != NULL;)
        if (strncmp(entry->d_name, START, sizeof START - 1) == 0)
            (void)unlinkat(folder, entry->d_name, 0);
    closedir(names);
}

shoal_status env_folder_take(const char *path, const char *what, bool must, int *out_folder,
                             shoal_err *err)
{
    char why[128];
    int fd = -1;

    if (must || mkdir(path, 0777) == 0 || errno == EEXIST)
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && must && errno == ENOENT)
        return base_err(err, SHOAL_E_NOTFOUND, "there are no %s: no folder '%s'", what, path);
    if (fd < 0 || faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) != 0) {
        base_err(err, SHOAL_E_IO, "cannot keep %s in '%s': %s", what, path,
                 env_real_reason(errno, why, sizeof why));
        env_folder_drop(fd);
        return SHOAL_E_IO;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(fd);
        return base_err(err, SHOAL_E_EXISTS, "a job that runs keeps its %s in '%s'", what, path);
    }
    remove_temporary(fd);
    *out_folder = fd;
    return SHOAL_OK;
}

bool env_folder_has(int folder, const char *name)
{
    return faccessat(folder, name, F_OK, 0) == 0;
}

void env_folder_remove(int folder, const char *name)
{
    (void)unlinkat(folder, name, 0);
}

void env_folder_drop(int folder)
{
    if (folder >= 0)
        close(folder);
}

/* ---- programs ---- */

static double seconds_of(int who)
{
    struct rusage used;

    if (getrusage(who, &used) != 0)
        return 0;
    return (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

double env_cpu_all_s(void)
{
    return seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN);
}

int64_t env_pid(void)
{
    return getpid();
}

static bool may_run(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

shoal_status env_program_find(const char *word, char out[ENV_PATH_SIZE], shoal_err *err)
{
    const char *at = strchr(word, '/') == NULL ? getenv("PATH") : NULL;

    if (strchr(word, '/') != NULL && strlen(word) < ENV_PATH_SIZE && may_run(word)) {
        memcpy(out, word, strlen(word) + 1);
        return SHOAL_OK;
    }
    while (at != NULL && *word != '\0') {
        size_t size = strcspn(at, ":"); /* an empty one is the working directory */
        int length = snprintf(out, ENV_PATH_SIZE, "%.*s/%s", size > 0 ? (int)size : 1,
                              size > 0 ? at : ".", word);
        if (length > 0 && length < ENV_PATH_SIZE && may_run(out))
            return SHOAL_OK;
        at = at[size] == ':' ? at + size + 1 : NULL;
    }
    return base_err(err, SHOAL_E_NOTFOUND, "cannot find the program '%.200s'", word);
}

/* ---- memory ---- */

/* Bytes in memory for each 10 of a file, at least: an entry takes 8 and has some 25 in text at
 * most. Most data takes more: to be refused before hours are spent on reading, it must be sure. */
enum { TENTHS = 3 };
static const uint64_t ADDRESSES = (uint64_t)1 << 45; /* of a process there are 2^47 */

shoal_status env_memory_start(shoal_env *env, const char *spill, const char *data, unsigned copies,
                              shoal_err *err)
{
    char have[32], want[32];

    if (spill != NULL)
        return env_spill_start(env, spill, err);
    env_guard_start(env);
    double bytes = env_file_bytes(data);
    uint64_t need = isnan(bytes) ? 0 : (uint64_t)bytes / 10 * TENTHS * copies;
    uint64_t left = env_memory_left(env, true);
    if (need <= left)
        return SHOAL_OK;
    base_err(err, SHOAL_E_NOMEM, "'%s' does not fit in memory: it takes %s or more, %s are left",
             data, base_format_bytes((double)need, want, sizeof want),
             base_format_bytes((double)left, have, sizeof have));
    base_err_hint(err, "--spill DIR keeps it in files of a folder");
    return SHOAL_E_NOMEM;
}

void env_memory_explain(shoal_env *env, const char *spill, shoal_status status, shoal_err *err)
{
    char room[32];

    if (status != SHOAL_E_NOMEM || err == NULL || err->hint[0] != 0)
        return;
    if (spill == NULL)
        base_err_hint(err, "--spill DIR keeps data in files of a folder");
    else if (env_spill_explain(env, err))
        base_err_hint(err, "free some there or name a folder on another disk");
    else
        base_err_hint(err, "'%s' has %s left", spill,
                      base_format_bytes((double)env_spill_room(env), room, sizeof room));
}

size_t env_memory_space(shoal_env *env, size_t least)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
    size_t most = pages > 0 && size > 0 ? 4 * (size_t)pages * (size_t)size : 0;
    uint64_t room = env_spill_room(env);

    most = most > least ? most : least;
    room = room < ADDRESSES ? room : ADDRESSES;
    return room > most ? (size_t)room : most;
}
