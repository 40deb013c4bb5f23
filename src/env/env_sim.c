/* env_sim.c - a deterministic world in one thread.
 *
 * The clock starts at 0 and moves only by env_sim_advance; wall and CPU time follow it. Files live
 * in memory under their exact path; "-" is one file, read as standard input and appended to as
 * standard output. A path with files below it is a folder. Contents are shared by reference, so
 * replacing a file leaves its open readers the old bytes. A committed file is synced; what was put by
 * env_write_run_file, or committed while env.sync fails, is as it was before once env_sim_power_cut took
 * the power.
 *
 * Fault points: env.open, env.read, env.write, env.commit and env.sync fail with SHOAL_E_IO; env.read.short
 * returns fewer bytes than asked for. Each point draws from its own stream of the seed, only while
 * its probability is set, so arming one point never moves another's faults.
 *
 * The world's own memory comes from the allocator it was made with; open files come from
 * env->alloc, as in the real one. Tests: tests/unit/env/test_env_sim.c. */
#include "base/assert.h"
#include "base/err.h"
#include "base/map.h"
#include "env/env.h"
#include "env/loop_sim.h"
#include <stdlib.h>
#include <string.h>

struct content {
    size_t ref_count;
    struct base_buf bytes;
};

/* A name on the disk: what it has, and what it would have after a power cut. */
struct slot {
    struct content *now, *synced; /* NULL: no file */
};

struct fault_point {
    double probability;
    struct base_rand stream;
};

struct sim_env {
    shoal_env env; /* first */
    const struct base_alloc *alloc;
    uint64_t now_ns;
    struct base_map file_index; /* path -> index in files */
    struct slot *files;
    size_t file_cap;
    struct base_map fault_index; /* point -> index in faults */
    struct fault_point *faults;
    size_t fault_cap;
    struct base_rand short_sizes;
    struct loop_sim *loops;   /* its processes; NULL until the first */
    struct base_rand secrets; /* env_random */
};

struct sim_file {
    struct env_file file; /* first */
    const struct base_alloc *alloc;
    struct content *content;
    size_t offset;
    char path[]; /* for messages */
};

struct sim_out {
    struct env_out out; /* first */
    const struct base_alloc *alloc;
    struct base_buf bytes;
    bool run_file; /* which is not synced */
    char path[];
};

static const struct env_ops SIM_OPS;

static struct sim_env *sim_of(shoal_env *env)
{
    shoal_assert(env->ops == &SIM_OPS);
    return (struct sim_env *)env;
}

/* --- clock --- */

static uint64_t sim_now_ns(shoal_env *env)
{
    return sim_of(env)->now_ns;
}

static double sim_now_s(shoal_env *env)
{
    return (double)sim_of(env)->now_ns * 1e-9;
}

static uint32_t sim_cpu_count(shoal_env *env)
{
    (void)env;
    return 1;
}

void env_sim_advance(shoal_env *env, uint64_t ns)
{
    sim_of(env)->now_ns += ns;
}

struct loop_sim **env_sim_loops(const shoal_env *env, const struct base_alloc **out_alloc)
{
    shoal_assert(env->ops == &SIM_OPS);
    struct sim_env *sim = (struct sim_env *)env;
    *out_alloc = sim->alloc;
    return &sim->loops;
}

/* --- faults --- */

static bool sim_fault(shoal_env *env, const char *point)
{
    struct sim_env *sim = sim_of(env);
    const struct base_map_entry *entry = base_map_find(&sim->fault_index, point, strlen(point));
    if (entry == NULL)
        return false;
    struct fault_point *fault = &sim->faults[entry->value];
    return fault->probability > 0 && base_rand_unit(&fault->stream) < fault->probability;
}

shoal_status env_sim_set_fault(shoal_env *env, const char *point, double probability)
{
    struct sim_env *sim = sim_of(env);
    if (!(probability >= 0 && probability <= 1))
        return SHOAL_E_INVAL;
    const struct base_map_entry *old = base_map_find(&sim->fault_index, point, strlen(point));
    if (old != NULL) {
        sim->faults[old->value].probability = probability;
        return SHOAL_OK;
    }
    size_t index = sim->fault_index.count;
    void *faults = sim->faults;
    if (base_reserve(sim->alloc, &faults, &sim->fault_cap, index + 1, sizeof *sim->faults) != 0)
        return SHOAL_E_NOMEM;
    sim->faults = faults;
    sim->faults[index].probability = probability;
    env_rand(env, point, &sim->faults[index].stream);
    return base_map_add(&sim->fault_index, point, strlen(point), index, NULL);
}

/* --- files --- */

static void content_unref(const struct base_alloc *alloc, struct content *content)
{
    if (content == NULL || --content->ref_count > 0)
        return;
    base_buf_fini(&content->bytes);
    base_free(alloc, content);
}

static struct content *content_new(const struct base_alloc *alloc, const void *bytes, size_t size)
{
    struct content *content = base_calloc(alloc, 1, sizeof *content);
    if (content == NULL)
        return NULL;
    content->ref_count = 1;
    base_buf_init(&content->bytes, alloc, SIZE_MAX);
    base_buf_append(&content->bytes, bytes, size);
    if (base_buf_status(&content->bytes) == SHOAL_OK)
        return content;
    content_unref(alloc, content);
    return NULL;
}

static struct content **find_file(struct sim_env *sim, const char *path)
{
    const struct base_map_entry *entry = base_map_find(&sim->file_index, path, strlen(path));
    return entry == NULL || sim->files[entry->value].now == NULL ? NULL
                                                                 : &sim->files[entry->value].now;
}

static void set_content(const struct base_alloc *alloc, struct content **at,
                        struct content *content)
{
    if (content != NULL)
        content->ref_count++;
    content_unref(alloc, *at);
    *at = content;
}

static shoal_status add_slot(struct sim_env *sim, const char *path, size_t index)
{
    void *files = sim->files;

    if (base_reserve(sim->alloc, &files, &sim->file_cap, index + 1, sizeof(struct slot)) != 0)
        return SHOAL_E_NOMEM;
    sim->files = files;
    sim->files[index] = (struct slot){0};
    return base_map_add(&sim->file_index, path, strlen(path), index, NULL);
}

static shoal_status put_file(struct sim_env *sim, const char *path, const void *bytes, size_t size,
                             bool synced)
{
    const struct base_map_entry *entry = base_map_find(&sim->file_index, path, strlen(path));
    size_t index = entry != NULL ? entry->value : sim->file_index.count;
    struct content *content = content_new(sim->alloc, bytes, size);
    shoal_status st = content == NULL ? SHOAL_E_NOMEM
                      : entry != NULL ? SHOAL_OK
                                      : add_slot(sim, path, index);

    if (st == SHOAL_OK) {
        set_content(sim->alloc, &sim->files[index].now, content);
        if (synced)
            set_content(sim->alloc, &sim->files[index].synced, content);
    }
    content_unref(sim->alloc, content);
    return st;
}

shoal_status env_sim_put(shoal_env *env, const char *path, const void *bytes, size_t size)
{
    return put_file(sim_of(env), path, bytes, size, true);
}

void env_sim_power_cut(shoal_env *env)
{
    struct sim_env *sim = sim_of(env);

    for (size_t i = 0; i < sim->file_index.count; i++)
        set_content(sim->alloc, &sim->files[i].now, sim->files[i].synced);
}

const struct base_buf *env_sim_find(shoal_env *env, const char *path)
{
    struct content **file = find_file(sim_of(env), path);
    return file == NULL ? NULL : &(*file)->bytes;
}

/* What follows "path/" in `name`, or NULL when `name` is not below the folder. "." is the folder of
 * plain names. */
static const char *name_below(const char *path, const char *name)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (length == 1 && path[0] == '.')
        return name[0] == '/' ? NULL : name;
    if (length == 1 && path[0] == '/')
        return name[0] == '/' ? name + 1 : NULL;
    return strncmp(name, path, length) == 0 && name[length] == '/' ? name + length + 1 : NULL;
}

static bool is_folder(const struct sim_env *sim, const char *path)
{
    for (size_t i = 0; i < sim->file_index.count; i++) {
        if (sim->files[i].now != NULL && name_below(path, sim->file_index.entries[i].key) != NULL)
            return true;
    }
    return false;
}

static shoal_status fail_missing(struct sim_env *sim, const char *verb, const char *path,
                                 shoal_err *err)
{
    if (is_folder(sim, path))
        return base_err(err, SHOAL_E_FORMAT, "cannot %s '%s': it is a directory", verb, path);
    return base_err(err, SHOAL_E_NOTFOUND, "cannot %s '%s': no such file or directory", verb, path);
}

static shoal_status fail_fault(const char *verb, const char *path, const char *point,
                               shoal_err *err)
{
    return base_err(err, SHOAL_E_IO, "cannot %s '%s': simulated fault %s", verb, path, point);
}

static shoal_status sim_open(shoal_env *env, const char *path, struct env_file **out_file,
                             shoal_err *err)
{
    struct sim_env *sim = sim_of(env);
    if (sim_fault(env, "env.open"))
        return fail_fault("open", path, "env.open", err);
    struct content **found = find_file(sim, path);
    if (found == NULL)
        return fail_missing(sim, "open", path, err);
    size_t path_size = strlen(path) + 1;
    struct sim_file *file = base_malloc(env->alloc, sizeof *file + path_size);
    if (file == NULL)
        return base_err_nomem(err, "opening a file");
    file->file.env = env;
    file->alloc = env->alloc;
    file->content = *found;
    file->offset = 0;
    memcpy(file->path, path, path_size);
    file->content->ref_count++;
    *out_file = &file->file;
    return SHOAL_OK;
}

static shoal_status sim_read_at(struct env_file *base, uint64_t offset, void *buf, size_t size,
                                size_t *out_size, shoal_err *err)
{
    struct sim_file *file = (struct sim_file *)base;
    struct sim_env *sim = sim_of(base->env);
    if (sim_fault(base->env, "env.read"))
        return fail_fault("read", file->path, "env.read", err);
    const struct base_buf *bytes = &file->content->bytes;
    size_t left = offset < bytes->size ? bytes->size - (size_t)offset : 0;
    if (size > left)
        size = left;
    if (size > 1 && sim_fault(base->env, "env.read.short"))
        size = 1 + (size_t)base_rand_below(&sim->short_sizes, size - 1);
    if (size > 0)
        memcpy(buf, bytes->data + offset, size);
    *out_size = size;
    return SHOAL_OK;
}

static shoal_status sim_read(struct env_file *base, void *buf, size_t size, size_t *out_size,
                             shoal_err *err)
{
    struct sim_file *file = (struct sim_file *)base;
    shoal_status st = sim_read_at(base, file->offset, buf, size, out_size, err);
    if (st == SHOAL_OK)
        file->offset += *out_size;
    return st;
}

static shoal_status sim_size(struct env_file *base, uint64_t *out_size, shoal_err *err)
{
    const struct sim_file *file = (const struct sim_file *)base;
    if (strcmp(file->path, "-") == 0)
        return base_err(err, SHOAL_E_FORMAT, "cannot read '-': it is not a plain file");
    *out_size = file->content->bytes.size;
    return SHOAL_OK;
}

static void sim_close(struct env_file *base)
{
    struct sim_file *file = (struct sim_file *)base;
    content_unref(sim_of(base->env)->alloc, file->content);
    base_free(file->alloc, file);
}

static shoal_status append_to_output(struct sim_env *sim, const void *bytes, size_t size)
{
    struct content **out = find_file(sim, "-");
    if (out == NULL)
        return env_sim_put(&sim->env, "-", bytes, size);
    struct base_buf *buf = &(*out)->bytes;
    base_buf_append(buf, bytes, size);
    shoal_status st = base_buf_status(buf);
    buf->status = SHOAL_OK; /* nothing was appended; the file is as it was */
    return st;
}

/* Nobody else is in this world: every file is private. A file asked to be so is a run file. */
static shoal_status sim_create(shoal_env *env, const char *path, bool is_private,
                               struct env_out **out_out, shoal_err *err)
{
    if (strcmp(path, "-") != 0 && is_folder(sim_of(env), path))
        return base_err(err, SHOAL_E_FORMAT, "cannot write '%s': it is a directory", path);
    size_t path_size = strlen(path) + 1;
    struct sim_out *out = base_malloc(env->alloc, sizeof *out + path_size);
    if (out == NULL)
        return base_err_nomem(err, "writing a file");
    out->out.env = env;
    out->alloc = env->alloc;
    out->run_file = is_private;
    base_buf_init(&out->bytes, env->alloc, SIZE_MAX);
    memcpy(out->path, path, path_size);
    *out_out = &out->out;
    return SHOAL_OK;
}

static shoal_status sim_append(struct env_out *base, const void *bytes, size_t size, shoal_err *err)
{
    struct sim_out *out = (struct sim_out *)base;
    if (sim_fault(base->env, "env.write"))
        return fail_fault("write", out->path, "env.write", err);
    shoal_status st;
    if (strcmp(out->path, "-") == 0) {
        st = append_to_output(sim_of(base->env), bytes, size);
    } else {
        base_buf_append(&out->bytes, bytes, size);
        st = base_buf_status(&out->bytes);
    }
    return st == SHOAL_OK ? st : base_err_nomem(err, "writing a file");
}

static void sim_discard(struct env_out *base)
{
    struct sim_out *out = (struct sim_out *)base;
    base_buf_fini(&out->bytes);
    base_free(out->alloc, out);
}

static shoal_status sim_commit(struct env_out *base, shoal_err *err)
{
    struct sim_out *out = (struct sim_out *)base;
    shoal_status st = SHOAL_OK;
    if (sim_fault(base->env, "env.commit"))
        st = fail_fault("write", out->path, "env.commit", err);
    else if (strcmp(out->path, "-") != 0) {
        bool fails = !out->run_file && sim_fault(base->env, "env.sync");
        if (put_file(sim_of(base->env), out->path, out->bytes.data, out->bytes.size,
                     !out->run_file && !fails) != SHOAL_OK)
            st = base_err_nomem(err, "writing a file");
        else if (fails)
            st = fail_fault("write", out->path, "env.sync", err);
    }
    sim_discard(base);
    return st;
}

static bool sim_same(shoal_env *env, const char *a, const char *b)
{
    return strcmp(a, "-") != 0 && strcmp(a, b) == 0 && find_file(sim_of(env), a) != NULL;
}

/* --- folders --- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The first part of every path below the folder, once each, in `seen`. */
static shoal_status collect_names(const struct sim_env *sim, const char *path,
                                  struct base_map *seen)
{
    for (size_t i = 0; i < sim->file_index.count; i++) {
        const char *name = name_below(path, sim->file_index.entries[i].key);
        if (name == NULL || strcmp(name, "-") == 0 || sim->files[i].now == NULL)
            continue;
        size_t length = strcspn(name, "/");
        shoal_status st = length == 0 ? SHOAL_OK : base_map_add(seen, name, length, 0, NULL);
        if (st != SHOAL_OK && st != SHOAL_E_EXISTS)
            return st;
    }
    return SHOAL_OK;
}

static shoal_status append_sorted(const struct base_alloc *alloc, const struct base_map *seen,
                                  struct base_buf *out)
{
    const char **sorted = base_calloc(alloc, seen->count, sizeof *sorted);
    if (sorted == NULL)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < seen->count; i++)
        sorted[i] = seen->entries[i].key;
    if (seen->count > 1)
        qsort(sorted, seen->count, sizeof *sorted, compare_names);
    size_t size_before = out->size;
    for (size_t i = 0; i < seen->count; i++)
        base_buf_append(out, sorted[i], strlen(sorted[i]) + 1);
    base_free(alloc, sorted);
    if (base_buf_status(out) != SHOAL_OK)
        out->size = size_before;
    return base_buf_status(out);
}

static shoal_status sim_list(shoal_env *env, const char *path, struct base_buf *out_names,
                             shoal_err *err)
{
    struct sim_env *sim = sim_of(env);
    if (!is_folder(sim, path))
        return base_err(err, SHOAL_E_NOTFOUND, "cannot list '%s': no such directory", path);
    struct base_map seen;
    base_map_init(&seen, env->alloc);
    shoal_status st = collect_names(sim, path, &seen);
    if (st == SHOAL_OK)
        st = append_sorted(env->alloc, &seen, out_names);
    base_map_fini(&seen);
    if (st == SHOAL_E_LIMIT)
        return base_err(err, st, "cannot list '%s': too many names", path);
    return st == SHOAL_OK ? st : base_err_nomem(err, "listing a folder");
}

static shoal_status sim_random(shoal_env *env, void *bytes, size_t size, shoal_err *err)
{
    (void)err;
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)bytes)[i] = (unsigned char)base_rand_u64(&sim_of(env)->secrets);
    return SHOAL_OK;
}

static shoal_status sim_parallel(shoal_env *env, size_t count, uint32_t thread_max,
                                 void (*fn)(void *ctx, size_t index), void *ctx, shoal_err *err)
{
    (void)env;
    (void)thread_max;
    (void)err;
    for (size_t i = 0; i < count; i++)
        fn(ctx, i);
    return SHOAL_OK;
}

static void sim_free(shoal_env *env)
{
    struct sim_env *sim = sim_of(env);
    loop_sim_free(sim->loops);
    for (size_t i = 0; i < sim->file_index.count; i++) {
        content_unref(sim->alloc, sim->files[i].now);
        content_unref(sim->alloc, sim->files[i].synced);
    }
    base_free(sim->alloc, sim->files);
    base_free(sim->alloc, sim->faults);
    base_map_fini(&sim->file_index);
    base_map_fini(&sim->fault_index);
    base_free(sim->alloc, sim);
}

static const struct env_ops SIM_OPS = {
    .now_ns = sim_now_ns,
    .wall_s = sim_now_s,
    .cpu_s = sim_now_s,
    .cpu_count = sim_cpu_count,
    .open = sim_open,
    .read = sim_read,
    .read_at = sim_read_at,
    .size = sim_size,
    .close = sim_close,
    .create = sim_create,
    .append = sim_append,
    .commit = sim_commit,
    .discard = sim_discard,
    .same = sim_same,
    .list = sim_list,
    .random = sim_random,
    .parallel = sim_parallel,
    .free = sim_free,
    .loops = &env_loop_ops_sim,
};

shoal_status env_sim_new(const struct base_alloc *alloc, uint64_t seed, shoal_env **out_env,
                         shoal_err *err)
{
    struct sim_env *sim = base_calloc(alloc, 1, sizeof *sim);
    if (sim == NULL)
        return base_err_nomem(err, "starting a simulated world");
    sim->env = (shoal_env){.ops = &SIM_OPS, .alloc = alloc, .seed = seed};
    sim->alloc = alloc;
    base_map_init(&sim->file_index, alloc);
    base_map_init(&sim->fault_index, alloc);
    env_rand(&sim->env, "env.read.short.size", &sim->short_sizes);
    env_rand(&sim->env, "env.random", &sim->secrets);
    *out_env = &sim->env;
    return SHOAL_OK;
}

shoal_status shoal_env_sim_new(uint64_t seed, shoal_env **out_env, shoal_err *err)
{
    return env_sim_new(&base_alloc_libc, seed, out_env, err);
}
