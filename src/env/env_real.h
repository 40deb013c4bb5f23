/* env_real.h - what the files of the real env share: its state, errors in words, opening. Private to
 * src/env. Any thread. */
#ifndef ENV_ENV_REAL_H
#define ENV_ENV_REAL_H

#include "env/env.h"
#include <pthread.h>
#include <sys/stat.h>

enum { ENV_REAL_IO_MAX = 1 << 30, ENV_REAL_SWEPT_MAX = 8 };

/* The folders in which the left-overs of killed writers were looked for last. */
struct real_swept {
    uint32_t host; /* a hash of where process numbers are ours */
    pthread_mutex_t lock;
    struct {
        dev_t device;
        ino_t inode;
    } folder[ENV_REAL_SWEPT_MAX]; /* under the lock */
    size_t count;
};

struct real_env {
    shoal_env env; /* first */
    struct real_swept swept;
};

/* --- env_real.c --- */
shoal_status env_real_status(int code); /* of an errno */
/* The system's text in our style: lower case. Returns `text` or a constant. */
const char *env_real_reason(int code, char *text, size_t size);
/* "cannot VERB 'path': reason" */
shoal_status env_real_fail(shoal_err *err, const char *verb, const char *path, int code);
int env_real_open(const char *path, int flags, mode_t mode); /* retried when interrupted */

static inline bool env_real_is_one(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* --- env_real_out.c --- */
void env_real_swept_init(struct real_swept *swept);
void env_real_swept_fini(struct real_swept *swept);
shoal_status env_real_out_create(shoal_env *env, const char *path, bool is_private,
                                 struct env_out **out_out, shoal_err *err);
shoal_status env_real_out_append(struct env_out *base, const void *bytes, size_t size,
                                 shoal_err *err);
shoal_status env_real_out_commit(struct env_out *base, shoal_err *err);
void env_real_out_discard(struct env_out *base);

/* --- memory_real.c --- */
uint64_t memory_real_left(shoal_env *env, bool own);

#endif
