/* loop_real_child.c - child processes.
 *
 * A child gets its input as a file without a name on descriptor 0, the shared memory on 3, standard
 * output and error as they are, and nothing else. Between fork and exec it only makes system calls,
 * because other threads may have held any lock. If exec fails, the errno comes back through a pipe
 * that a successful exec closes, so a program that is not there is an error of env_child_start.
 *
 * The kernel kills the child when the thread that started it ends (PR_SET_PDEATHSIG): start
 * children from a thread that stays, which a loop's is. The end of a child is an event on its
 * pidfd; kernels before 5.3 have none, and a thread waits there. A dead child stays unreaped until
 * then, so its pid cannot become another's. Tests: tests/unit/env/test_loop_real_proc.c. */
#include "env/loop_real.h"

#include "base/assert.h"
#include "base/err.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHARED_FD = 3, LOW_FDS = 4, STATUS_LOST = 255 };

struct real_child {
    struct env_child child; /* first */
    struct loop_list in_loop;
    struct real_source source; /* its pidfd; -1: `waiter` waits, or it is reaped */
    struct real_post post;     /* of the waiter */
    pthread_t waiter;
    bool has_waiter, reaped;
    pid_t pid;
    void (*exited)(void *ctx, int status);
    void *ctx;
};

static struct real_loop *loop_of(const struct real_child *child)
{
    return (struct real_loop *)child->child.loop;
}

/* --- the end --- */

static int reap(struct real_child *child)
{
    int status = 0;
    pid_t rc = 0;
    do
        rc = waitpid(child->pid, &status, 0);
    while (rc < 0 && errno == EINTR);
    child->reaped = true;
    if (rc < 0)
        return STATUS_LOST; /* someone else reaped it */
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void unwatch(struct real_child *child)
{
    if (child->source.fd >= 0) {
        loop_real_unwatch(loop_of(child), &child->source);
        loop_real_close(child->source.fd);
    }
    child->source.fd = -1;
    if (child->has_waiter)
        shoal_assert(pthread_join(child->waiter, NULL) == 0);
    child->has_waiter = false;
}

static void child_exited(struct real_child *child)
{
    unwatch(child);
    int status = reap(child);
    child->exited(child->ctx, status);
}

static void pidfd_ready(struct real_source *source, uint32_t events)
{
    (void)events;
    child_exited(LOOP_OF(struct real_child, source, source));
}

static void waiter_told(struct real_post *post)
{
    child_exited(LOOP_OF(struct real_child, post, post));
}

static void *waiter_main(void *arg)
{
    struct real_child *child = arg;
    siginfo_t info;
    while (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
        ;
    child->post.fn = waiter_told;
    loop_real_post(loop_of(child), &child->post);
    return NULL;
}

int64_t loop_real_child_pid(const struct env_child *child)
{
    return ((const struct real_child *)child)->pid;
}

void loop_real_child_kill(struct env_child *base)
{
    struct real_child *child = (struct real_child *)base;
    if (!child->reaped)
        (void)kill(child->pid, SIGKILL); /* ours until it is reaped */
}

static bool is_mine(struct real_post *post, void *ctx)
{
    return post == &((struct real_child *)ctx)->post;
}

void loop_real_child_free(struct loop_list *node)
{
    struct real_child *child = LOOP_OF(struct real_child, in_loop, node);
    struct real_loop *loop = loop_of(child);
    loop_list_remove(node);
    loop_real_child_kill(&child->child);
    unwatch(child);
    loop_real_unpost(loop, is_mine, child);
    if (!child->reaped)
        (void)reap(child);
    base_free(loop->alloc, child);
}

void loop_real_child_close(struct env_child *child)
{
    loop_real_child_free(&((struct real_child *)child)->in_loop);
}

/* --- the start --- */

struct start {
    const char *path;
    char *const *argv;
    int input_fd, shared_fd, report_fd; /* -1: none */
    pid_t parent;
    sigset_t mask;
};

/* In the child, with other threads' locks in any state: system calls only. */
_Noreturn static void child_main(const struct start *start)
{
    int input = fcntl(start->input_fd, F_DUPFD_CLOEXEC, LOW_FDS);
    int report = fcntl(start->report_fd, F_DUPFD_CLOEXEC, LOW_FDS);
    int shared = start->shared_fd < 0 ? -1 : fcntl(start->shared_fd, F_DUPFD_CLOEXEC, LOW_FDS);
    bool ready = input >= 0 && report >= 0 && (shared >= 0 || start->shared_fd < 0) &&
                 prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
    if (ready && getppid() != start->parent)
        _exit(128 + SIGKILL); /* it died before we asked to die with it */
    ready = ready && dup2(input, STDIN_FILENO) >= 0;
    if (ready && shared >= 0)
        ready = dup2(shared, SHARED_FD) >= 0;
    if (ready) {
        /* What others left open without the flag; older kernels than 5.11 pass it on. */
        (void)syscall(SYS_close_range, shared >= 0 ? LOW_FDS : SHARED_FD, UINT_MAX,
                      1u << 2 /* CLOSE_RANGE_CLOEXEC */);
        (void)sigprocmask(SIG_SETMASK, &start->mask, NULL);
        (void)execvp(start->path, start->argv);
    }
    int code = errno;
    ssize_t written = write(report >= 0 ? report : start->report_fd, &code, sizeof code);
    _exit(written == sizeof code ? 127 : 126);
}

/* A descriptor that reads as the input, or -1 and errno. */
static int input_open(const struct env_spawn *spawn)
{
    if (spawn->input_size == 0)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    int fd = memfd_create("input", MFD_CLOEXEC);
    for (size_t done = 0; fd >= 0 && done < spawn->input_size;) {
        ssize_t n =
            pwrite(fd, (const char *)spawn->input + done, spawn->input_size - done, (off_t)done);
        if (n > 0) {
            done += (size_t)n;
        } else if (errno != EINTR) {
            loop_real_close(fd);
            return -1;
        }
    }
    return fd;
}

/* 0 when the child runs its program now, else why not. */
static int report_read(int fd)
{
    int code = 0;
    ssize_t n = 0;
    do
        n = read(fd, &code, sizeof code);
    while (n < 0 && errno == EINTR);
    return n == sizeof code ? code : 0;
}

/* Forks with all signals blocked, so that no handler of ours runs in the child. */
static pid_t fork_quietly(struct start *start)
{
    sigset_t all;
    (void)sigfillset(&all);
    shoal_assert(pthread_sigmask(SIG_SETMASK, &all, &start->mask) == 0);
    start->parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        child_main(start);
    int code = errno;
    shoal_assert(pthread_sigmask(SIG_SETMASK, &start->mask, NULL) == 0);
    errno = code;
    return pid;
}

/* 0 and the pid, or an errno and nothing is left. */
static int spawn_process(struct start *start, const struct env_spawn *spawn, pid_t *out_pid)
{
    int report[2] = {-1, -1}, code = 0;
    start->shared_fd = spawn->shared < 0 ? -1 : (int)spawn->shared;
    start->input_fd = input_open(spawn);
    if (start->input_fd < 0 || pipe2(report, O_CLOEXEC) != 0) {
        code = errno;
        loop_real_close(start->input_fd);
        return code;
    }
    start->report_fd = report[1];
    pid_t pid = fork_quietly(start);
    code = pid < 0 ? errno : 0;
    loop_real_close(start->input_fd);
    loop_real_close(report[1]);
    if (pid >= 0)
        code = report_read(report[0]);
    loop_real_close(report[0]);
    if (pid >= 0 && code != 0)
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    *out_pid = pid;
    return code;
}

/* Hears of the end of the child one way or the other. */
static int child_watch(struct real_child *child)
{
    child->source = (struct real_source){.fd = (int)syscall(SYS_pidfd_open, child->pid, 0),
                                         .ready = pidfd_ready};
    if (child->source.fd >= 0) {
        (void)fcntl(child->source.fd, F_SETFD, FD_CLOEXEC);
        if (loop_real_watch(loop_of(child), &child->source, EPOLLIN) == 0)
            return 0;
        int code = errno;
        loop_real_close(child->source.fd);
        child->source.fd = -1;
        return code;
    }
    int code = pthread_create(&child->waiter, NULL, waiter_main, child);
    child->has_waiter = code == 0;
    return code;
}

static shoal_status child_failed(const char *name, int code, shoal_err *err)
{
    char text[128];
    return base_err(err, env_real_status(code), "cannot start '%s': %s", name,
                    env_real_reason(code, text, sizeof text));
}

/* The arguments, with this program's path where argv[0] is left out; one block of memory. */
static char **argv_copy(struct real_loop *loop, const struct env_spawn *spawn)
{
    size_t count = 1;
    while (spawn->argv[count] != NULL)
        count++;
    char **argv = base_calloc(loop->alloc, 1, (count + 1) * sizeof *argv + PATH_MAX);
    if (argv == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        argv[i] = (char *)spawn->argv[i]; /* exec does not change them */
    if (argv[0] == NULL) {
        argv[0] = (char *)(argv + count + 1);
        if (readlink("/proc/self/exe", argv[0], PATH_MAX - 1) < 0)
            argv[0][0] = '\0';
    }
    return argv;
}

shoal_status loop_real_child_start(struct env_loop *base, const struct env_spawn *spawn,
                                   void (*exited)(void *ctx, int status), void *ctx,
                                   struct env_child **out_child, shoal_err *err)
{
    struct real_loop *loop = (struct real_loop *)base;
    if (spawn->shared > INT_MAX)
        return base_err(err, SHOAL_E_INVAL, "cannot start a child: no such shared memory");
    struct real_child *child = base_calloc(loop->alloc, 1, sizeof *child);
    char **argv = argv_copy(loop, spawn);
    if (child == NULL || argv == NULL) {
        base_free(loop->alloc, child);
        base_free(loop->alloc, argv);
        return base_err_nomem(err, "starting a child");
    }
    struct start start = {.path = spawn->argv[0] != NULL ? spawn->argv[0] : "/proc/self/exe",
                          .argv = argv};
    int code = spawn_process(&start, spawn, &child->pid);
    shoal_status st = code == 0 ? SHOAL_OK : child_failed(argv[0], code, err);
    base_free(loop->alloc, argv);
    if (st != SHOAL_OK) {
        base_free(loop->alloc, child);
        return st;
    }
    child->child.loop = base;
    child->exited = exited;
    child->ctx = ctx;
    loop_list_add(&loop->children, &child->in_loop);
    code = child_watch(child);
    if (code != 0) {
        loop_real_child_free(&child->in_loop);
        return child_failed(start.path, code, err);
    }
    *out_child = &child->child;
    return SHOAL_OK;
}
