/* Tests of src/env/env_real.c: what only a real machine does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "env/env.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

/* The calls below stand before the C library's. They fail with these codes, where one is not 0, and
 * note what a power cut would leave and which modes others could see. */
static struct {
    int file_sync, folder_sync, rename; /* codes */
    ino_t synced;                       /* the last file that was synced, */
    off_t synced_size;                  /* and how much of it was there */
    int renames, torn;                  /* names given, and those to a file not all on the disk */
    bool name_lasts;                    /* its folder was synced since */
    mode_t seen;                        /* all bits that any file had on the way */
} disk;

static int fail_with(int code)
{
    errno = code;
    return -1;
}

int fsync(int fd)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return -1;
    bool is_folder = S_ISDIR(info.st_mode);
    int code = is_folder ? disk.folder_sync : disk.file_sync;
    if (code != 0)
        return fail_with(code);
    if (is_folder) {
        disk.name_lasts = true;
    } else {
        disk.seen |= info.st_mode & 07777;
        disk.synced = info.st_ino;
        disk.synced_size = info.st_size;
    }
    return (int)syscall(SYS_fsync, fd);
}

int fchmod(int fd, mode_t mode)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return -1;
    disk.seen |= info.st_mode & 07777;
    return (int)syscall(SYS_fchmod, fd, mode);
}

int rename(const char *from, const char *to)
{
    struct stat info;
    if (stat(from, &info) != 0)
        return -1;
    if (disk.rename != 0)
        return fail_with(disk.rename);
    disk.seen |= info.st_mode & 07777;
    disk.renames++;
    disk.torn += disk.synced != info.st_ino || disk.synced_size != info.st_size;
    disk.name_lasts = false;
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

struct fixture {
    shoal_env *env;
    char folder[64];
    char path[400];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    memset(&disk, 0, sizeof disk);
    (void)snprintf(f->folder, sizeof f->folder, "/tmp/shoal-test-XXXXXX");
    if (mkdtemp(f->folder) == NULL || shoal_env_real_new(&f->env, NULL) != SHOAL_OK)
        return -1;
    *state = f;
    return 0;
}

static char *path_of(struct fixture *f, const char *name)
{
    (void)snprintf(f->path, sizeof f->path, "%s/%s", f->folder, name);
    return f->path;
}

/* Names in the folder; the caller frees them with base_buf_fini. */
static struct base_buf list(struct fixture *f)
{
    struct base_buf names;
    base_buf_init(&names, &base_alloc_libc, 1 << 16);
    assert_int_equal(env_list(f->env, f->folder, &names, NULL), SHOAL_OK);
    return names;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    (void)chmod(f->folder, 0700);
    struct base_buf names = list(f);
    for (size_t at = 0; at < names.size; at += strlen(names.data + at) + 1)
        (void)remove(path_of(f, names.data + at));
    base_buf_fini(&names);
    int rc = rmdir(f->folder);
    shoal_env_free(f->env);
    free(f);
    return rc;
}

static void assert_content(struct fixture *f, const char *name, const char *expected)
{
    struct base_buf buf;
    base_buf_init(&buf, &base_alloc_libc, 1 << 20);
    assert_int_equal(env_read_whole(f->env, path_of(f, name), &buf, NULL), SHOAL_OK);
    assert_string_equal(buf.data, expected);
    base_buf_fini(&buf);
}

static void assert_only_file(struct fixture *f, const char *name)
{
    struct base_buf names = list(f);
    assert_int_equal(names.size, strlen(name) + 1);
    assert_string_equal(names.data, name);
    base_buf_fini(&names);
}

static void replacing_leaves_no_temporary_file_and_keeps_the_mode(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(env_write_whole(f->env, path_of(f, "f"), "old", 3, NULL), SHOAL_OK);
    struct stat info;
    assert_int_equal(stat(f->path, &info), 0);
    mode_t mask = umask(0);
    (void)umask(mask);
    assert_int_equal(info.st_mode & 0777, 0666 & ~mask);
    assert_int_equal(chmod(f->path, 0640), 0);
    assert_int_equal(env_write_whole(f->env, f->path, "newer", 5, NULL), SHOAL_OK);
    assert_int_equal(stat(f->path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_content(f, "f", "newer");
    assert_only_file(f, "f");
}

static void a_link_stays_a_link_and_its_target_is_replaced(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(env_write_whole(f->env, path_of(f, "target"), "old", 3, NULL), SHOAL_OK);
    assert_int_equal(symlink("target", path_of(f, "link")), 0);
    assert_int_equal(env_write_whole(f->env, f->path, "new", 3, NULL), SHOAL_OK);
    struct stat info;
    assert_int_equal(lstat(path_of(f, "link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_content(f, "target", "new");
}

static void impossible_targets_are_errors_in_words(void **state)
{
    struct fixture *f = *state;
    char long_name[300];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    char text[1000];
    shoal_err err = SHOAL_ERR_INIT;

    assert_int_equal(env_write_whole(f->env, path_of(f, "no/such/f"), "x", 1, &err),
                     SHOAL_E_NOTFOUND);
    (void)snprintf(text, sizeof text, "cannot write '%s': no such file or directory", f->path);
    assert_string_equal(err.message, text);

    assert_int_equal(env_write_whole(f->env, path_of(f, long_name), "x", 1, &err), SHOAL_E_FORMAT);
    assert_non_null(strstr(err.message, "name too long"));

    assert_int_equal(env_write_whole(f->env, path_of(f, "f"), "x", 1, NULL), SHOAL_OK);
    assert_int_equal(env_write_whole(f->env, path_of(f, "f/below"), "x", 1, &err),
                     SHOAL_E_NOTFOUND);
    assert_non_null(strstr(err.message, "not a directory"));
    assert_int_equal(env_write_whole(f->env, "", "x", 1, &err), SHOAL_E_NOTFOUND);
    assert_int_equal(env_write_whole(f->env, "/proc/no-such-file", "x", 1, NULL), SHOAL_E_NOTFOUND);
    assert_only_file(f, "f");
}

/* Root may write anywhere, so there the limit on file size has to do. */
static void a_refused_write_leaves_the_old_file(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(env_write_whole(f->env, path_of(f, "f"), "old", 3, NULL), SHOAL_OK);
    shoal_err err = SHOAL_ERR_INIT;
    if (geteuid() != 0) {
        assert_int_equal(chmod(f->folder, 0500), 0);
        assert_int_equal(env_write_whole(f->env, f->path, "new", 3, &err), SHOAL_E_DENIED);
        assert_non_null(strstr(err.message, "permission denied"));
        assert_int_equal(chmod(f->folder, 0700), 0);
        assert_int_equal(chmod(f->path, 0400), 0);
        assert_int_equal(env_write_whole(f->env, f->path, "new", 3, &err), SHOAL_E_DENIED);
        assert_int_equal(chmod(f->path, 0600), 0);
    }
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 4096;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    static char large[100000];
    shoal_status st = env_write_whole(f->env, f->path, large, sizeof large, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    (void)signal(SIGXFSZ, handler);
    assert_int_equal(st, SHOAL_E_LIMIT); /* written in part, then refused */
    assert_non_null(strstr(err.message, "file too large"));
    assert_content(f, "f", "old");
    assert_only_file(f, "f");
}

static void devices_and_pipes_are_written_in_place(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(env_write_whole(f->env, "/dev/null", "x", 1, NULL), SHOAL_OK);
    struct stat info;
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    assert_int_equal(mkfifo(path_of(f, "pipe"), 0600), 0);
    int reader = open(f->path, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    assert_int_equal(env_write_whole(f->env, f->path, "hello", 5, NULL), SHOAL_OK);
    char text[10] = "";
    assert_int_equal(read(reader, text, sizeof text), 5);
    assert_string_equal(text, "hello");
    (void)close(reader);
}

/* A private node with the numbers of /dev/full, where this user may make one. */
static void a_device_stays_a_device(void **state)
{
    struct fixture *f = *state;
    if (mknod(path_of(f, "full"), S_IFCHR | 0600, makedev(1, 7)) != 0)
        skip();
    int fd = open(f->path, O_WRONLY);
    if (fd < 0)
        skip(); /* a folder where devices do not work */
    (void)close(fd);
    shoal_err err = SHOAL_ERR_INIT;
    struct env_out *out = NULL;
    assert_int_equal(env_create(f->env, f->path, &out, &err), SHOAL_OK);
    assert_int_equal(env_append(out, "x", 1, &err), SHOAL_OK);
    assert_int_equal(env_commit(out, &err), SHOAL_E_IO);
    assert_non_null(strstr(err.message, "no space left"));
    struct stat info;
    assert_int_equal(lstat(f->path, &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    assert_only_file(f, "full");
}

static void a_stream_takes_its_name_at_commit_and_discard_leaves_no_trace(void **state)
{
    struct fixture *f = *state;
    static char piece[50000];
    memset(piece, 'p', sizeof piece);
    assert_int_equal(env_write_whole(f->env, path_of(f, "f"), "old", 3, NULL), SHOAL_OK);
    for (int keep = 0; keep < 2; keep++) {
        struct env_out *out = NULL;
        assert_int_equal(env_create(f->env, path_of(f, "f"), &out, NULL), SHOAL_OK);
        for (int i = 0; i < 5; i++)
            assert_int_equal(env_append(out, piece, sizeof piece, NULL), SHOAL_OK);
        assert_int_equal(env_append(out, "end", 3, NULL), SHOAL_OK);
        assert_content(f, "f", "old");
        if (keep)
            assert_int_equal(env_commit(out, NULL), SHOAL_OK);
        else
            env_discard(out);
        assert_only_file(f, "f");
    }
    struct stat info;
    assert_int_equal(stat(path_of(f, "f"), &info), 0);
    assert_int_equal(info.st_size, 5 * (off_t)sizeof piece + 3);
    env_discard(NULL);
}

static void a_link_to_nothing_gets_its_target_made(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(symlink("b", path_of(f, "a")), 0);
    assert_int_equal(symlink("c", path_of(f, "b")), 0);
    assert_int_equal(env_write_whole(f->env, path_of(f, "a"), "new", 3, NULL), SHOAL_OK);
    struct stat info;
    assert_int_equal(lstat(path_of(f, "a"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(lstat(path_of(f, "c"), &info), 0);
    assert_true(S_ISREG(info.st_mode));
    assert_content(f, "b", "new");
}

static void one_file_is_recognised_under_all_its_names(void **state)
{
    struct fixture *f = *state;
    char first[500], other[500];
    (void)snprintf(first, sizeof first, "%s/f", f->folder);
    (void)snprintf(other, sizeof other, "%s/g", f->folder);
    assert_false(env_same(f->env, first, first)); /* nothing there */
    assert_int_equal(env_write_whole(f->env, first, "x", 1, NULL), SHOAL_OK);
    assert_true(env_same(f->env, first, first));
    assert_int_equal(link(first, other), 0);
    assert_true(env_same(f->env, first, other));
    assert_int_equal(remove(other), 0);
    assert_int_equal(symlink("f", other), 0);
    assert_true(env_same(f->env, first, other));
    assert_int_equal(remove(other), 0);
    assert_int_equal(env_write_whole(f->env, other, "x", 1, NULL), SHOAL_OK);
    assert_false(env_same(f->env, first, other));
    assert_false(env_same(f->env, "/dev/null", "/dev/null"));
}

/* Standard output goes to the file: both its own bytes and the stream's arrive. */
static void a_file_that_is_standard_output_is_not_replaced(void **state)
{
    struct fixture *f = *state;
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(path_of(f, "f"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        (void)dup2(fd, STDOUT_FILENO);
        bool good = env_write_whole(f->env, "/dev/stdout", "one ", 4, NULL) == SHOAL_OK;
        good = good && write(STDOUT_FILENO, "two", 3) == 3;
        _exit(good ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_content(f, "f", "one two");
}

static atomic_int signals_seen;

static void count_signal(int number)
{
    (void)number;
    atomic_fetch_add(&signals_seen, 1);
}

/* In a child whose standard output nobody reads: an error in words, no signal, and none left
 * pending. */
static void a_closed_reader_of_standard_output_is_an_error(void **state)
{
    struct fixture *f = *state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    (void)close(ends[0]);
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)signal(SIGPIPE, count_signal);
        shoal_err err = SHOAL_ERR_INIT;
        int wrong = env_write_whole(f->env, "-", "x", 1, &err) != SHOAL_E_IO;
        wrong |=
            strcmp(err.message, "cannot write to standard output: the reader has closed it") != 0
                ? 2
                : 0;
        sigset_t pending;
        (void)sigpending(&pending);
        wrong |= sigismember(&pending, SIGPIPE) == 1 ? 4 : 0;
        wrong |= atomic_load(&signals_seen) != 0 ? 8 : 0;
        _exit(wrong);
    }
    (void)close(ends[1]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void standard_input_is_read_whole(void **state)
{
    struct fixture *f = *state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "from a pipe", 11), 11);
    (void)close(ends[1]);
    int saved = dup(STDIN_FILENO);
    assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
    struct base_buf buf;
    base_buf_init(&buf, &base_alloc_libc, 1000);
    shoal_status st = env_read_whole(f->env, "-", &buf, NULL);
    if (saved >= 0) {
        (void)dup2(saved, STDIN_FILENO);
        (void)close(saved);
    }
    (void)close(ends[0]);
    assert_int_equal(st, SHOAL_OK);
    assert_string_equal(buf.data, "from a pipe");
    base_buf_fini(&buf);
}

/* A writer in small pieces, interrupted by signals all the time: every byte arrives once. */
struct feeder {
    int fd;
    pthread_t reader;
    atomic_int done;
};

static void *feed(void *arg)
{
    struct feeder *feeder = arg;
    for (int i = 0; i < 2000; i++) {
        char byte = (char)('a' + i % 26);
        if (write(feeder->fd, &byte, 1) != 1)
            break;
        (void)pthread_kill(feeder->reader, SIGUSR1);
    }
    (void)close(feeder->fd);
    atomic_store(&feeder->done, 1);
    return NULL;
}

static void interrupted_reads_lose_nothing(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(mkfifo(path_of(f, "pipe"), 0600), 0);
    int keep = open(f->path, O_RDWR); /* so that neither side's open waits */
    assert_true(keep >= 0);
    struct feeder feeder = {.fd = open(f->path, O_WRONLY), .reader = pthread_self()};
    assert_true(feeder.fd >= 0);
    struct env_file *file = NULL;
    assert_int_equal(env_open(f->env, f->path, &file, NULL), SHOAL_OK);
    (void)close(keep);

    struct sigaction action = {.sa_handler = count_signal}; /* no SA_RESTART */
    struct sigaction old;
    assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, feed, &feeder), 0);
    char bytes[4000];
    size_t size = 0, got = 0;
    do {
        assert_int_equal(env_read(file, bytes + size, sizeof bytes - size, &got, NULL), SHOAL_OK);
        size += got;
    } while (got > 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)sigaction(SIGUSR1, &old, NULL);
    env_close(file);
    assert_int_equal(size, 2000);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(bytes[i], 'a' + (int)(i % 26));
}

struct gauge {
    atomic_int now, peak, calls;
};

static void measure(void *ctx, size_t index)
{
    struct gauge *gauge = ctx;
    (void)index;
    int now = atomic_fetch_add(&gauge->now, 1) + 1;
    int peak = atomic_load(&gauge->peak);
    while (now > peak && !atomic_compare_exchange_weak(&gauge->peak, &peak, now))
        continue;
    (void)sched_yield();
    atomic_fetch_sub(&gauge->now, 1);
    atomic_fetch_add(&gauge->calls, 1);
}

static void no_more_threads_run_than_allowed_and_all_are_joined(void **state)
{
    struct fixture *f = *state;
    for (uint32_t threads = 1; threads < 5; threads++) {
        struct gauge gauge = {0};
        assert_int_equal(env_parallel(f->env, 5000, threads, measure, &gauge, NULL), SHOAL_OK);
        assert_int_equal(atomic_load(&gauge.now), 0);
        assert_int_equal(atomic_load(&gauge.calls), 5000);
        assert_true(atomic_load(&gauge.peak) <= (int)threads);
        assert_true(atomic_load(&gauge.peak) <= (int)env_cpu_count(f->env));
    }
}

static void open_files_are_closed_again(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(env_write_whole(f->env, path_of(f, "f"), "x", 1, NULL), SHOAL_OK);
    int before = dup(STDERR_FILENO);
    (void)close(before);
    for (int i = 0; i < 50; i++) {
        struct env_file *file = NULL;
        assert_int_equal(env_open(f->env, path_of(f, "f"), &file, NULL), SHOAL_OK);
        env_close(file);
        assert_int_equal(env_open(f->env, f->folder, &file, NULL), SHOAL_E_FORMAT);
        assert_int_equal(env_write_whole(f->env, path_of(f, "no/f"), "x", 1, NULL),
                         SHOAL_E_NOTFOUND);
        assert_int_equal(env_write_whole(f->env, path_of(f, "f"), "x", 1, NULL), SHOAL_OK);
    }
    int after = dup(STDERR_FILENO);
    (void)close(after);
    assert_int_equal(after, before);
}

static void a_folder_that_fails_to_sync_is_an_error_unless_it_cannot(void **state)
{
    struct fixture *f = *state;
    shoal_err err = SHOAL_ERR_INIT;
    disk.folder_sync = EIO;
    shoal_status failed = env_write_whole(f->env, path_of(f, "f"), "x", 1, &err);
    disk.folder_sync = EINVAL;
    shoal_status cannot = env_write_whole(f->env, path_of(f, "f"), "y", 1, NULL);
    disk.folder_sync = 0;
    assert_int_equal(failed, SHOAL_E_IO);
    assert_non_null(strstr(err.message, "input/output error"));
    assert_int_equal(cannot, SHOAL_OK);
}

/* The old name is given to bytes that are on the disk, and the commit returns when the name is, too. */
static void a_power_cut_leaves_the_old_bytes_or_the_new_ones(void **state)
{
    struct fixture *f = *state;
    static char bytes[200000]; /* more than is held back, and less */
    const size_t sizes[] = {0, 1, 1000, 65536, 65537, sizeof bytes};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(env_write_whole(f->env, path_of(f, "f"), bytes, sizes[i], NULL), SHOAL_OK);
        assert_int_equal(disk.renames, i + 1);
        assert_int_equal(disk.torn, 0);
        assert_true(disk.name_lasts);
    }
}

static void a_commit_that_fails_leaves_the_old_file_alone(void **state)
{
    struct fixture *f = *state;
    int *const steps[] = {&disk.file_sync, &disk.rename};
    for (size_t i = 0; i < 2; i++) {
        for (int is_new = 0; is_new < 2; is_new++) {
            const char *name = is_new ? "new" : "f";
            shoal_err err = SHOAL_ERR_INIT;
            assert_int_equal(env_write_whole(f->env, path_of(f, "f"), "old", 3, NULL), SHOAL_OK);
            *steps[i] = EIO;
            shoal_status st = env_write_whole(f->env, path_of(f, name), "newer", 5, &err);
            *steps[i] = 0;
            assert_int_equal(st, SHOAL_E_IO);
            assert_non_null(strstr(err.message, "input/output error"));
            assert_content(f, "f", "old");
            assert_only_file(f, "f");
        }
    }
}

/* Whoever looks while a file is written sees no more of it than whoever looks later. */
static void a_file_is_never_open_to_more_than_when_it_is_done(void **state)
{
    struct fixture *f = *state;
    const mode_t masks[] = {0, 022, 077};
    for (size_t i = 0; i < 3; i++) {
        for (int mode = 0; mode <= 0777; mode++) {
            if ((mode & 0600) != 0600 && mode != 0) /* 0: a new file */
                continue;
            struct stat info;
            mode_t old_mask = umask(masks[i]);
            (void)unlink(path_of(f, "f"));
            if (mode != 0) {
                (void)close(open(f->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
                assert_int_equal(chmod(f->path, (mode_t)mode), 0);
            }
            for (int is_private = 0; is_private < 2; is_private++) {
                mode_t want = is_private ? 0600 : mode == 0 ? 0666 & ~masks[i] : (mode_t)mode;
                disk.seen = 0;
                disk.synced = 0;
                shoal_status st = (is_private ? env_write_run_file : env_write_whole)(
                    f->env, f->path, "secret", 6, NULL);
                assert_int_equal(st, SHOAL_OK);
                assert_int_equal(stat(f->path, &info), 0);
                assert_int_equal(info.st_mode & 07777, want);
                assert_int_equal(disk.seen & ~want, 0);
                assert_true((disk.synced == info.st_ino) == !is_private);
            }
            (void)umask(old_mask);
        }
    }
}

static bool is_there(struct fixture *f, const char *name)
{
    return access(path_of(f, name), F_OK) == 0;
}

/* The name of the one new file in the folder. */
static void name_of_new_file(struct fixture *f, char *out, size_t size)
{
    struct base_buf names = list(f);
    out[0] = '\0';
    for (size_t at = 0; at < names.size; at += strlen(names.data + at) + 1)
        if (strncmp(names.data + at, ".shoal-", 7) == 0)
            (void)snprintf(out, size, "%s", names.data + at);
    base_buf_fini(&names);
    assert_true(out[0] != '\0');
}

static void the_next_writer_removes_what_a_killed_one_left_and_nothing_else(void **state)
{
    struct fixture *f = *state;
    struct env_out *out = NULL;
    shoal_env *next = NULL;
    char dead[100], alive[100], far[100], odd[120];
    pid_t child = fork();
    if (child == 0) {
        /* as if killed: its file is there and has no name yet */
        _exit(env_create(f->env, path_of(f, "f"), &out, NULL) == SHOAL_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    name_of_new_file(f, dead, sizeof dead);
    (void)snprintf(far, sizeof far, ".shoal-%ld-00000001-1f", (long)child); /* of another host */
    (void)snprintf(odd, sizeof odd, "%s.txt", dead);
    (void)snprintf(alive, sizeof alive, ".shoal-%ld%s", (long)getpid(), strchr(dead + 7, '-'));
    const char *const others[] = {far, odd, alive, ".shoal-x", "shoal"};
    for (size_t i = 0; i < 5; i++)
        (void)close(open(path_of(f, others[i]), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    assert_int_equal(shoal_env_real_new(&next, NULL), SHOAL_OK);
    assert_int_equal(env_write_whole(next, path_of(f, "g"), "x", 1, NULL), SHOAL_OK);
    shoal_env_free(next);
    assert_false(is_there(f, dead));
    for (size_t i = 0; i < 5; i++)
        assert_true(is_there(f, others[i]));
}

static void the_clock_of_a_real_machine_is_later_than_2020(void **state)
{
    struct fixture *f = *state;
    assert_true(env_wall_s(f->env) > 1.6e9);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(replacing_leaves_no_temporary_file_and_keeps_the_mode),
        CASE(a_link_stays_a_link_and_its_target_is_replaced),
        CASE(impossible_targets_are_errors_in_words),
        CASE(a_refused_write_leaves_the_old_file),
        CASE(devices_and_pipes_are_written_in_place),
        CASE(a_device_stays_a_device),
        CASE(a_stream_takes_its_name_at_commit_and_discard_leaves_no_trace),
        CASE(a_link_to_nothing_gets_its_target_made),
        CASE(one_file_is_recognised_under_all_its_names),
        CASE(a_file_that_is_standard_output_is_not_replaced),
        CASE(a_closed_reader_of_standard_output_is_an_error),
        CASE(standard_input_is_read_whole),
        CASE(interrupted_reads_lose_nothing),
        CASE(no_more_threads_run_than_allowed_and_all_are_joined),
        CASE(open_files_are_closed_again),
        CASE(a_folder_that_fails_to_sync_is_an_error_unless_it_cannot),
        CASE(a_power_cut_leaves_the_old_bytes_or_the_new_ones),
        CASE(a_commit_that_fails_leaves_the_old_file_alone),
        CASE(a_file_is_never_open_to_more_than_when_it_is_done),
        CASE(the_next_writer_removes_what_a_killed_one_left_and_nothing_else),
        CASE(the_clock_of_a_real_machine_is_later_than_2020),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
