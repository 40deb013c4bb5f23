/* env.h - the world as the rest of the library sees it (see shoal/env.h for the public part).
 *
 * Implementations: env_real.c (this machine) and env_sim.c (virtual clock, files in memory, faults
 * by seed). Each fills a struct env_ops; nothing else in the library calls the operating system. */
#ifndef ENV_ENV_H
#define ENV_ENV_H

#include "base/alloc.h"
#include "base/buf.h"
#include "base/rand.h"
#include "base/watch.h"
#include "shoal/env.h"
#include <stdbool.h>

/* An open input; owner thread only. Implementations put more behind it; env_open sets what is here. */
struct env_file {
    shoal_env *env;
    struct env_gzip *gzip; /* what unpacks it; NULL: it is read as it is */
    const char *path;      /* of one that is unpacked, borrowed */
    unsigned char head[2]; /* bytes that opening looked at and env_read hands out first */
    uint8_t head_size;
};

/* An output being written, not yet under its name; owner thread only. */
struct env_out {
    shoal_env *env;
};

struct env_ops {
    uint64_t (*now_ns)(shoal_env *env);                /* monotonic; any thread */
    double (*wall_s)(shoal_env *env);                  /* seconds since 1970 UTC */
    double (*cpu_s)(shoal_env *env);                   /* CPU seconds of the calling thread */
    uint32_t (*cpu_count)(shoal_env *env);             /* at least 1 */
    uint64_t (*memory_left)(shoal_env *env, bool own); /* NULL: no end of it */
    shoal_status (*open)(shoal_env *env, const char *path, struct env_file **out_file,
                         shoal_err *err);
    shoal_status (*read)(struct env_file *file, void *buf, size_t size, size_t *out_size,
                         shoal_err *err);
    /* as read, at an offset; the place of `read` does not move */
    shoal_status (*read_at)(struct env_file *file, uint64_t offset, void *buf, size_t size,
                            size_t *out_size, shoal_err *err);
    shoal_status (*size)(struct env_file *file, uint64_t *out_size, shoal_err *err);
    bool (*is_private)(struct env_file *file); /* NULL: all are */
    void (*close)(struct env_file *file);
    shoal_status (*create)(shoal_env *env, const char *path, bool is_private, struct env_out **out,
                           shoal_err *err);
    shoal_status (*append)(struct env_out *out, const void *bytes, size_t size, shoal_err *err);
    shoal_status (*commit)(struct env_out *out, shoal_err *err);
    void (*discard)(struct env_out *out);
    bool (*same)(shoal_env *env, const char *a, const char *b);
    shoal_status (*list)(shoal_env *env, const char *path, struct base_buf *out_names,
                         shoal_err *err);
    shoal_status (*random)(shoal_env *env, void *bytes, size_t size, shoal_err *err);
    shoal_status (*parallel)(shoal_env *env, size_t count, uint32_t thread_max,
                             void (*fn)(void *ctx, size_t index), void *ctx, shoal_err *err);
    void (*free)(shoal_env *env);
    const struct env_loop_ops *loops; /* events, connections, processes: see loop.h */
};

struct env_spill;

struct shoal_env {
    const struct env_ops *ops;
    const struct base_alloc *alloc; /* where all memory comes from; tests replace it */
    uint64_t seed;
    struct env_spill *spill; /* see spill.h; NULL: memory is memory */
    const atomic_bool *stop; /* of the watch; NULL: there is none */
};

static inline const struct base_alloc *env_alloc(const shoal_env *env)
{
    return env->alloc;
}

/* From here on files are read no further once the watch is stopped: SHOAL_E_CANCELLED. NULL: they are. So work
 * that reads for hours ends in time, whoever reads for it. */
void env_watch(shoal_env *env, const shoal_watch *watch);

uint64_t env_now_ns(shoal_env *env);
double env_wall_s(shoal_env *env);
double env_cpu_s(shoal_env *env);
uint32_t env_cpu_count(shoal_env *env);
/* Bytes that this process can still take, for itself (`own`) or shared with others, before the
 * system would refuse or kill it; UINT64_MAX: no limit is known. A guess: others take memory,
 * too. */
uint64_t env_memory_left(shoal_env *env, bool own);
/* From here on the env's allocator refuses a block of at least ENV_GUARD_MIN bytes that is more
 * than what is left (env_shared_back does so always): short memory is an error to tell and not the end
 * of some process. Before threads use it. An env with an allocator of its own (a test's, one that
 * spills) keeps that. */
#define ENV_GUARD_MIN ((size_t)1 << 24)
void env_guard_start(shoal_env *env);

/* Opens for reading; "-" is standard input. A directory, a missing file or a refused one is an
 * error in words. */
SHOAL_MUST_USE shoal_status env_open(shoal_env *env, const char *path, struct env_file **out_file,
                                     shoal_err *err);
/* The same for text: what is compressed with gzip is unpacked as it is read, with bounded memory and
 * a bounded amount for its size. `path` is borrowed until closing; env_size and env_read_at see the
 * file as it is stored. */
SHOAL_MUST_USE shoal_status env_open_text(shoal_env *env, const char *path,
                                          struct env_file **out_file, shoal_err *err);
/* Up to `size` bytes; *out_size 0 means the end. Interrupted calls are retried. */
SHOAL_MUST_USE shoal_status env_read(struct env_file *file, void *buf, size_t size,
                                     size_t *out_size, shoal_err *err);
/* The size of a plain file, now; what has none (a pipe, a device) is SHOAL_E_FORMAT. */
SHOAL_MUST_USE shoal_status env_size(struct env_file *file, uint64_t *out_size, shoal_err *err);
/* Whether a plain file is its owner's alone, to read and to write; of what is none, always. */
bool env_is_private(struct env_file *file);
/* `size` bytes from `offset` on, of a plain file; *out_size is less only where the file ends. Where
 * env_read goes on is as before. */
SHOAL_MUST_USE shoal_status env_read_at(struct env_file *file, uint64_t offset, void *buf,
                                        size_t size, size_t *out_size, shoal_err *err);
void env_close(struct env_file *file); /* NULL is allowed */
/* The whole file, a text, appended to `out` (whose size_max bounds it); unpacked where it is compressed
 * with gzip. */
SHOAL_MUST_USE shoal_status env_read_whole(shoal_env *env, const char *path, struct base_buf *out,
                                           shoal_err *err);

/* gzip.c to env.c. */
SHOAL_MUST_USE shoal_status env_gzip_read(struct env_file *file, void *buf, size_t size,
                                          size_t *out_size, shoal_err *err);
void env_gzip_free(struct env_gzip *gzip);

/* Replaces `path` with the bytes, all or nothing: on failure the old file is as it was, but for a
 * disk that fails to make the new name last, where it may be either after a crash. "-" is standard
 * output. A new file gets the mode of the umask, another one keeps its own. */
SHOAL_MUST_USE shoal_status env_write_whole(shoal_env *env, const char *path, const void *bytes,
                                            size_t size, shoal_err *err);
/* The same for what only running processes need, such as the key of a job: readable by its owner
 * alone, whatever the umask and the old file's mode, and not synced, so a crash may lose it. */
SHOAL_MUST_USE shoal_status env_write_run_file(shoal_env *env, const char *path, const void *bytes,
                                               size_t size, shoal_err *err);

/* The same in pieces: a file takes its name at commit, whole, and discard leaves the old one as it
 * was. Links are followed. Devices, pipes and standard output ("-", or a file that it already goes
 * to) are written in place, as the bytes come. commit and discard both end `out`. */
SHOAL_MUST_USE shoal_status env_create(shoal_env *env, const char *path, struct env_out **out,
                                       shoal_err *err);
SHOAL_MUST_USE shoal_status env_append(struct env_out *out, const void *bytes, size_t size,
                                       shoal_err *err);
SHOAL_MUST_USE shoal_status env_commit(struct env_out *out, shoal_err *err);
void env_discard(struct env_out *out); /* NULL is allowed */

/* True when both paths are one plain file, whatever their names; "-" for `a` is standard input. */
bool env_same(shoal_env *env, const char *a, const char *b);

/* Names in a directory, sorted, each ended by NUL, appended to `out_names`. */
SHOAL_MUST_USE shoal_status env_list(shoal_env *env, const char *path, struct base_buf *out_names,
                                     shoal_err *err);

/* Bytes that nobody can foresee, for keys and nonces: the system's in the real world; drawn from
 * the seed in the simulated one. */
SHOAL_MUST_USE shoal_status env_random(shoal_env *env, void *bytes, size_t size, shoal_err *err);

/* The random stream `name` of this env's seed. */
void env_rand(const shoal_env *env, const char *name, struct base_rand *out);

/* Calls fn(ctx, 0..count-1), each once, on at most thread_max threads (0: one per CPU), and waits
 * for all. The simulated env calls them in order on this thread. */
SHOAL_MUST_USE shoal_status env_parallel(shoal_env *env, size_t count, uint32_t thread_max,
                                         void (*fn)(void *ctx, size_t index), void *ctx,
                                         shoal_err *err);

/* As shoal_env_sim_new, with all of the world's own memory from `alloc`, which must outlive it. */
SHOAL_MUST_USE shoal_status env_sim_new(const struct base_alloc *alloc, uint64_t seed,
                                        shoal_env **out_env, shoal_err *err);

/* Simulated env only: put a file, move the clock, and make a fault point fire with a probability.
 */
SHOAL_MUST_USE shoal_status env_sim_put(shoal_env *env, const char *path, const void *bytes,
                                        size_t size);
const struct base_buf *env_sim_find(shoal_env *env, const char *path); /* NULL when absent */
/* Files become what they were when they were last synced, as on a machine that loses its power. */
void env_sim_power_cut(shoal_env *env);
void env_sim_advance(shoal_env *env, uint64_t ns);
SHOAL_MUST_USE shoal_status env_sim_set_fault(shoal_env *env, const char *point,
                                              double probability);

#endif
