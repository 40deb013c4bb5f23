/* wire.c - messages between two processes over loopback, beside plain blocking sockets that carry
 * the same bytes: what reliability, checksums and the loop cost.
 *
 *   small   messages of 100 bytes, as many as go; the bound sends the same bytes in 64 KiB writes
 *   large   messages of 1 MiB; the same bound
 *   turn    one message of 16 bytes back and forth
 *
 * and the same in TLS, and over UCX where it is built in, beside the same plain bound.
 *
 * Medians over turns, alternating; cpu is seconds of both processes for the whole. Prints JSON
 * lines, as bench/run does. */
#include "base/assert.h"
#include "wire/peer.h"
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TURNS_MAX = 15, RAW_WRITE = 64 << 10 };
#define TCP "127.0.0.1:0"
#define TLS "tls://127.0.0.1:0"
#define UCX "ucx://127.0.0.1:0"

struct job {
    const char *name, *unit;
    size_t size;     /* of a message */
    uint64_t count;  /* of messages, or of turns */
    bool back;       /* each is sent back before the next */
    double per_unit; /* messages to the unit */
    const char *listen;
};

struct result {
    double wall_s, cpu_s;
};

static double now_s(void)
{
    struct timespec t;
    shoal_assert(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double cpu_s(int who)
{
    struct rusage usage;
    shoal_assert(getrusage(who, &usage) == 0);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* --- ours --- */

struct end {
    const struct job *job;
    struct env_loop *loop;
    struct wire_peer *peer;
    struct env_timer timer;
    uint64_t sent, got;
    char *bytes;
};

static void send_more(void *ctx)
{
    struct end *end = ctx;
    uint64_t until = end->sent + 2000;
    while (end->sent < end->job->count && end->sent < until) {
        if (wire_peer_send(end->peer, 1, end->bytes, end->job->size) != SHOAL_OK)
            break; /* full: the other side has to catch up */
        end->sent++;
    }
    if (end->sent < end->job->count)
        shoal_assert(env_timer_start(end->loop, &end->timer, end->sent < until ? 50000 : 0,
                                     send_more, end) == SHOAL_OK);
}

static void on_ready(void *ctx, struct wire_peer *peer)
{
    struct end *end = ctx;
    end->peer = peer;
    if (end->job->back)
        shoal_assert(wire_peer_send(peer, 1, end->bytes, end->job->size) == SHOAL_OK);
    else
        send_more(end);
}

static void on_reply(void *ctx, struct wire_peer *peer, uint16_t kind, const void *bytes,
                     size_t size)
{
    struct end *end = ctx;
    (void)kind;
    if (!end->job->back || ++end->got == end->job->count)
        env_loop_stop(end->loop);
    else
        shoal_assert(wire_peer_send(peer, 1, bytes, size) == SHOAL_OK);
}

static void on_message(void *ctx, struct wire_peer *peer, uint16_t kind, const void *bytes,
                       size_t size)
{
    struct end *end = ctx;
    (void)kind;
    if (end->job->back || ++end->got == end->job->count)
        shoal_assert(wire_peer_send(peer, 2, bytes, end->job->back ? size : 0) == SHOAL_OK);
}

static void on_closed(void *ctx, struct wire_peer *peer, const shoal_err *why)
{
    struct end *end = ctx;
    (void)peer;
    if (why->code != SHOAL_END)
        fprintf(stderr, "bench_wire: %s\n", why->message);
    env_loop_stop(end->loop);
}

static void on_accept(void *ctx, struct wire_peer *peer)
{
    static const struct wire_peer_ops OPS = {NULL, on_message, on_closed};
    wire_peer_set(peer, &OPS, ctx);
}

static void serve(const struct job *job, int address_fd)
{
    struct wire_key key = {.bytes = {7}};
    struct end end = {.job = job};
    struct wire_server *server = NULL;
    shoal_env *env = NULL;
    shoal_assert(shoal_env_real_new(&env, NULL) == SHOAL_OK);
    shoal_assert(env_loop_new(env, NULL, &end.loop, NULL) == SHOAL_OK);
    shoal_assert(wire_server_new(end.loop, job->listen, &key, NULL, on_accept, NULL, &end, &server,
                                 NULL) == SHOAL_OK);
    const char *address = wire_server_address(server);
    size_t size = strlen(address) + 1;
    shoal_assert(write(address_fd, address, size) == (ssize_t)size);
    shoal_assert(env_loop_run(end.loop, NULL) == SHOAL_OK);
    wire_server_free(server);
    env_loop_free(end.loop);
    shoal_env_free(env);
}

static struct result run_ours(const struct job *job)
{
    static const struct wire_peer_ops OPS = {on_ready, on_reply, on_closed};
    struct wire_key key = {.bytes = {7}};
    struct wire_opts opts = WIRE_OPTS_INIT;
    struct end end = {.job = job, .bytes = calloc(1, job->size)};
    shoal_env *env = NULL;
    int pipes[2];
    char address[128];
    shoal_assert(end.bytes != NULL && pipe(pipes) == 0);
    fflush(stdout);
    pid_t child = fork();
    shoal_assert(child >= 0);
    if (child == 0) {
        serve(job, pipes[1]);
        _exit(0);
    }
    shoal_assert(read(pipes[0], address, sizeof address) > 0);
    opts.queue_max = 16 << 20;
    shoal_assert(shoal_env_real_new(&env, NULL) == SHOAL_OK);
    shoal_assert(env_loop_new(env, NULL, &end.loop, NULL) == SHOAL_OK);
    double before = cpu_s(RUSAGE_SELF) + cpu_s(RUSAGE_CHILDREN), start = now_s();
    shoal_assert(wire_peer_connect(end.loop, address, &key, &opts, &OPS, &end, &end.peer, NULL) ==
                 SHOAL_OK);
    shoal_assert(env_loop_run(end.loop, NULL) == SHOAL_OK);
    double wall = now_s() - start;
    struct wire_count count = wire_peer_count(end.peer);
    if (count.again > 0)
        fprintf(stderr, "bench_wire: %llu frames sent again\n", (unsigned long long)count.again);
    wire_peer_close(end.peer);
    env_loop_free(end.loop);
    shoal_env_free(env);
    free(end.bytes);
    close(pipes[0]);
    close(pipes[1]);
    shoal_assert(waitpid(child, NULL, 0) == child);
    return (struct result){wall, cpu_s(RUSAGE_SELF) + cpu_s(RUSAGE_CHILDREN) - before};
}

/* --- the bound --- */

static void send_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t n = send(fd, bytes, size, 0);
        shoal_assert(n > 0);
        bytes += n;
        size -= (size_t)n;
    }
}

static void receive_all(int fd, char *bytes, uint64_t size, size_t buffer_size)
{
    while (size > 0) {
        ssize_t n = recv(fd, bytes, size < buffer_size ? (size_t)size : buffer_size, 0);
        shoal_assert(n > 0);
        size -= (uint64_t)n;
    }
}

static void raw_end(int fd, const struct job *job, bool first)
{
    static char buffer[1 << 20];
    const int on = 1;
    uint64_t total = job->count * job->size;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (job->back) {
        for (uint64_t i = 0; i < job->count; i++) {
            if (first)
                send_all(fd, buffer, job->size);
            receive_all(fd, buffer, job->size, sizeof buffer);
            if (!first)
                send_all(fd, buffer, job->size);
        }
    } else if (first) {
        for (uint64_t left = total; left > 0;) {
            size_t part = left < RAW_WRITE ? (size_t)left : RAW_WRITE;
            send_all(fd, buffer, part);
            left -= part;
        }
        receive_all(fd, buffer, 1, 1);
    } else {
        receive_all(fd, buffer, total, sizeof buffer);
        send_all(fd, buffer, 1);
    }
}

static struct result run_raw(const struct job *job)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
    shoal_assert(bind(listener, (struct sockaddr *)&address, size) == 0);
    shoal_assert(listen(listener, 1) == 0);
    shoal_assert(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    fflush(stdout);
    pid_t child = fork();
    shoal_assert(child >= 0);
    if (child == 0) {
        raw_end(accept(listener, NULL, NULL), job, false);
        _exit(0);
    }
    double before = cpu_s(RUSAGE_SELF) + cpu_s(RUSAGE_CHILDREN), start = now_s();
    shoal_assert(connect(fd, (struct sockaddr *)&address, size) == 0);
    raw_end(fd, job, true);
    double wall = now_s() - start;
    close(fd);
    close(listener);
    shoal_assert(waitpid(child, NULL, 0) == child);
    return (struct result){wall, cpu_s(RUSAGE_SELF) + cpu_s(RUSAGE_CHILDREN) - before};
}

/* --- report --- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

static void measure(const struct job *job, int turns)
{
    double wall[2][TURNS_MAX], cpu[2][TURNS_MAX];
    for (int i = 0; i < turns; i++) {
        struct result results[2] = {run_ours(job), run_raw(job)};
        for (int k = 0; k < 2; k++) {
            wall[k][i] = results[k].wall_s;
            cpu[k][i] = results[k].cpu_s;
        }
    }
    double units = (double)job->count / job->per_unit, rate[2], per_cpu[2];
    for (int k = 0; k < 2; k++) {
        rate[k] = units / median(wall[k], turns);
        per_cpu[k] = units / median(cpu[k], turns);
    }
    printf("{\"bench\":\"wire-%s\",\"ours\":%.4g,\"peer\":%.4g,\"ratio\":%.3f,\"unit\":\"%s\","
           "\"n\":%d,\"ours_per_cpu_s\":%.4g,\"peer_per_cpu_s\":%.4g}\n",
           job->name, rate[0], rate[1], rate[0] / rate[1], job->unit, turns, per_cpu[0],
           per_cpu[1]);
}

int main(int argc, char **argv)
{
    static const struct job JOBS[] = {
        {"small", "messages/s", 100, 4000000, false, 1, TCP},
        {"large", "GB/s", 1 << 20, 2000, false, 1e9 / (1 << 20), TCP},
        {"turn", "round trips/s", 16, 30000, true, 1, TCP},
        {"small-tls", "messages/s", 100, 4000000, false, 1, TLS},
        {"large-tls", "GB/s", 1 << 20, 2000, false, 1e9 / (1 << 20), TLS},
        {"turn-tls", "round trips/s", 16, 30000, true, 1, TLS},
#ifdef SHOAL_UCX
        {"small-ucx", "messages/s", 100, 4000000, false, 1, UCX},
        {"large-ucx", "GB/s", 1 << 20, 2000, false, 1e9 / (1 << 20), UCX},
        {"turn-ucx", "round trips/s", 16, 30000, true, 1, UCX},
#endif
    };
    int turns = argc > 1 ? atoi(argv[1]) : 5;
    if (turns < 1 || turns > TURNS_MAX) {
        fprintf(stderr, "Usage: bench_wire [TURNS, 1 to %d]\n", TURNS_MAX);
        return 2;
    }
    for (size_t i = 0; i < BASE_COUNT(JOBS); i++)
        if (argc < 3 || strcmp(argv[2], JOBS[i].name) == 0)
            measure(&JOBS[i], turns);
    return 0;
}
