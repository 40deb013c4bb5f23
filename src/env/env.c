/* env.c - what both worlds share: dispatch, random streams and reading a file whole. Tests:
 * tests/unit/env/test_env.c. */
#include "env/env.h"

#include "base/err.h"
#include <string.h>

enum { READ_CHUNK_SIZE = 64 * 1024 };

void shoal_env_free(shoal_env *env)
{
    if (env != NULL)
        env->ops->free(env);
}

uint64_t env_now_ns(shoal_env *env)
{
    return env->ops->now_ns(env);
}

double env_wall_s(shoal_env *env)
{
    return env->ops->wall_s(env);
}

double env_cpu_s(shoal_env *env)
{
    return env->ops->cpu_s(env);
}

uint32_t env_cpu_count(shoal_env *env)
{
    return env->ops->cpu_count(env);
}

uint64_t env_memory_left(shoal_env *env, bool own)
{
    return env->ops->memory_left != NULL ? env->ops->memory_left(env, own) : UINT64_MAX;
}

shoal_status env_open(shoal_env *env, const char *path, struct env_file **out_file, shoal_err *err)
{
    shoal_status st = env->ops->open(env, path, out_file, err);
    if (st == SHOAL_OK)
        **out_file = (struct env_file){.env = env};
    return st;
}

void env_watch(shoal_env *env, const shoal_watch *watch)
{
    env->stop = watch != NULL ? base_watch_flag(watch) : NULL;
}

static shoal_status check_stop(const shoal_env *env, shoal_err *err)
{
    if (env->stop == NULL || !atomic_load_explicit(env->stop, memory_order_relaxed))
        return SHOAL_OK;
    return base_err(err, SHOAL_E_CANCELLED, "interrupted");
}

shoal_status env_read(struct env_file *file, void *buf, size_t size, size_t *out_size,
                      shoal_err *err)
{
    shoal_status st = check_stop(file->env, err);

    if (st != SHOAL_OK)
        return st;
    if (file->gzip != NULL)
        return env_gzip_read(file, buf, size, out_size, err);
    if (file->head_size == 0 || size == 0)
        return file->env->ops->read(file, buf, size, out_size, err);
    *out_size = size < file->head_size ? size : file->head_size;
    memcpy(buf, file->head, *out_size);
    file->head_size = (uint8_t)(file->head_size - *out_size);
    memmove(file->head, file->head + *out_size, file->head_size);
    return SHOAL_OK;
}

shoal_status env_size(struct env_file *file, uint64_t *out_size, shoal_err *err)
{
    return file->env->ops->size(file, out_size, err);
}

shoal_status env_read_at(struct env_file *file, uint64_t offset, void *buf, size_t size,
                         size_t *out_size, shoal_err *err)
{
    size_t done = 0;
    shoal_status st = check_stop(file->env, err);
    if (st != SHOAL_OK)
        return st;
    while (done < size) {
        size_t got = 0;
        st = file->env->ops->read_at(file, offset + done, (char *)buf + done, size - done, &got,
                                     err);
        if (st != SHOAL_OK)
            return st;
        if (got == 0)
            break;
        done += got;
    }
    *out_size = done;
    return SHOAL_OK;
}

void env_close(struct env_file *file)
{
    if (file == NULL)
        return;
    if (file->gzip != NULL)
        env_gzip_free(file->gzip);
    file->env->ops->close(file);
}

static shoal_status append_all(struct env_file *file, const char *path, struct base_buf *out,
                               shoal_err *err)
{
    char chunk[READ_CHUNK_SIZE];
    for (;;) {
        size_t size = 0;
        shoal_status st = env_read(file, chunk, sizeof chunk, &size, err);
        if (st != SHOAL_OK)
            return st;
        base_buf_append(out, chunk, size); /* also when empty, so that data is a string */
        st = base_buf_status(out);
        if (st == SHOAL_E_LIMIT)
            return base_err(err, st, "cannot read '%s': larger than %zu bytes", path,
                            out->size_max);
        if (st != SHOAL_OK)
            return base_err_nomem(err, "reading a file");
        if (size == 0)
            return SHOAL_OK;
    }
}

bool env_is_private(struct env_file *file)
{
    return file->env->ops->is_private == NULL || file->env->ops->is_private(file);
}

shoal_status env_read_whole(shoal_env *env, const char *path, struct base_buf *out, shoal_err *err)
{
    struct env_file *file = NULL;
    shoal_status st = env_open_text(env, path, &file, err);
    if (st != SHOAL_OK)
        return st;
    size_t size_before = out->size;
    st = append_all(file, path, out, err);
    if (st != SHOAL_OK && out->data != NULL) {
        out->size = size_before;
        out->data[size_before] = '\0';
    }
    env_close(file);
    return st;
}

static shoal_status write_file(shoal_env *env, const char *path, bool is_private, const void *bytes,
                               size_t size, shoal_err *err)
{
    struct env_out *out = NULL;
    shoal_status st = env->ops->create(env, path, is_private, &out, err);
    if (st != SHOAL_OK)
        return st;
    st = env_append(out, bytes, size, err);
    if (st == SHOAL_OK)
        return env_commit(out, err);
    env_discard(out);
    return st;
}

shoal_status env_write_whole(shoal_env *env, const char *path, const void *bytes, size_t size,
                             shoal_err *err)
{
    return write_file(env, path, false, bytes, size, err);
}

shoal_status env_write_run_file(shoal_env *env, const char *path, const void *bytes, size_t size,
                                shoal_err *err)
{
    return write_file(env, path, true, bytes, size, err);
}

shoal_status env_create(shoal_env *env, const char *path, struct env_out **out, shoal_err *err)
{
    return env->ops->create(env, path, false, out, err);
}

shoal_status env_append(struct env_out *out, const void *bytes, size_t size, shoal_err *err)
{
    return out->env->ops->append(out, bytes, size, err);
}

shoal_status env_commit(struct env_out *out, shoal_err *err)
{
    return out->env->ops->commit(out, err);
}

void env_discard(struct env_out *out)
{
    if (out != NULL)
        out->env->ops->discard(out);
}

bool env_same(shoal_env *env, const char *a, const char *b)
{
    return env->ops->same(env, a, b);
}

shoal_status env_list(shoal_env *env, const char *path, struct base_buf *out_names, shoal_err *err)
{
    return env->ops->list(env, path, out_names, err);
}

shoal_status env_random(shoal_env *env, void *bytes, size_t size, shoal_err *err)
{
    return env->ops->random(env, bytes, size, err);
}

void env_rand(const shoal_env *env, const char *name, struct base_rand *out)
{
    base_rand_init(out, env->seed, name);
}

shoal_status env_parallel(shoal_env *env, size_t count, uint32_t thread_max,
                          void (*fn)(void *ctx, size_t index), void *ctx, shoal_err *err)
{
    return env->ops->parallel(env, count, thread_max, fn, ctx, err);
}
