/* checkpoint.c - see checkpoint.h.
 *
 * Sections of a file: "facts" (which job, which run of it, generation, the generation of the full one
 * it is relative to, and what made it: the versions of Shoal and of the application's state, the size of
 * the driver's, all options with their values, so that a default of another version is none of ours), "layout" of the box, "driver", "index" (sum, size and presence of every unit,
 * executors first, then the shards of all tables), "units" (the bytes of those present, in order).
 * Generations go up with every file written; the newest valid one is what a job resumes from. Files
 * that belong together have the same run, a number drawn when the job began. */
#include "train/checkpoint_parts.h"

#include "base/err.h"
#include "env/system.h"
#include "shoal/version.h"
#include "store/facts.h"
#include "train/options.h"
#include <string.h>

static const char *const NAMES[] = {"full-0.pack", "full-1.pack", "delta.pack", NULL};

const char *train_shelf_file(uint32_t index)
{
    return index < FILES ? NAMES[index] : NULL;
}

/* ---- life ---- */

shoal_status train_shelf_take(const char *dir, bool resume, int *out_folder, shoal_err *err)
{
    int folder = -1;
    shoal_status st = env_folder_take(dir, "checkpoints", resume, &folder, err);

    if (st == SHOAL_E_NOTFOUND)
        return base_err(err, st, "there is no checkpoint: no folder '%s'", dir);
    for (uint32_t i = 0; st == SHOAL_OK && resume; i++) {
        if (train_shelf_file(i) == NULL) {
            env_folder_drop(folder);
            return base_err(err, SHOAL_E_NOTFOUND, "there is no checkpoint: no '%s/%s'", dir,
                            train_shelf_file(0));
        }
        if (env_folder_has(folder, train_shelf_file(i)))
            break;
    }
    if (st == SHOAL_OK)
        *out_folder = folder;
    return st;
}

void train_shelf_empty(int folder)
{
    for (uint32_t i = 0; train_shelf_file(i) != NULL; i++)
        env_folder_remove(folder, train_shelf_file(i));
}

static shoal_status list_shards(struct train_shelf *s)
{
    uint32_t tables = train_box_table_count(s->box), at = 0;

    for (uint32_t t = 0; t < tables; t++)
        s->shards += train_box_table_info(s->box, t).shards;
    s->shard = base_calloc(env_alloc(s->env), s->shards + 1, sizeof *s->shard);
    if (s->shard == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t t = 0; t < tables; t++) {
        struct train_table_info info = train_box_table_info(s->box, t);
        for (uint32_t i = 0; i < info.shards; i++) {
            uint64_t rows = 0;
            (void)train_box_shard(s->box, t, i, NULL, &rows);
            s->shard[at++] = (struct shard_place){t, i, rows * info.width * sizeof(float)};
        }
    }
    return SHOAL_OK;
}

static shoal_status make_arrays(struct train_shelf *s)
{
    const struct base_alloc *alloc = env_alloc(s->env);

    s->executors = train_box_executor_count(s->box);
    s->units = s->executors + s->shards;
    s->full = base_calloc(alloc, s->units, sizeof *s->full);
    s->entry = base_calloc(alloc, s->units, sizeof *s->entry);
    s->bytes = base_calloc(alloc, s->units, sizeof *s->bytes);
    s->full_number = base_calloc(alloc, s->executors, sizeof *s->full_number);
    s->number = base_calloc(alloc, s->executors, sizeof *s->number);
    if (s->full == NULL || s->entry == NULL || s->bytes == NULL || s->full_number == NULL ||
        s->number == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t i = 0; i < s->units; i++)
        base_buf_init(&s->bytes[i], alloc, SIZE_MAX);
    return SHOAL_OK;
}

static shoal_status make_paths(struct train_shelf *s, const char *dir)
{
    struct base_buf path;
    shoal_status st = SHOAL_OK;

    base_buf_init(&path, env_alloc(s->env), 1 << 16);
    for (uint32_t i = 0; i < FILES && st == SHOAL_OK; i++) {
        base_buf_clear(&path);
        base_buf_printf(&path, "%s/%s", dir, NAMES[i]);
        st = base_buf_status(&path);
        if (st == SHOAL_OK)
            s->path[i] = base_strdup(env_alloc(s->env), path.data);
        if (s->path[i] == NULL)
            st = SHOAL_E_NOMEM;
    }
    base_buf_fini(&path);
    return st;
}

shoal_status train_shelf_new(shoal_env *env, const char *dir, struct train_box *box,
                             const struct train_shelf_job *job, struct train_shelf **out_shelf,
                             shoal_err *err)
{
    struct train_shelf *s = base_calloc(env_alloc(env), 1, sizeof *s);
    shoal_status st;

    if (s == NULL)
        return base_err_nomem(err, "preparing checkpoints");
    s->env = env;
    s->box = box;
    s->job = *job;
    base_buf_init(&s->layout, env_alloc(env), SIZE_MAX);
    base_buf_init(&s->options, env_alloc(env), SIZE_MAX);
    train_box_pack_layout(box, &s->layout);
    st = base_buf_status(&s->layout);
    if (st == SHOAL_OK)
        st = train_options_all(env_alloc(env), job->app, job->settings, &s->options, NULL);
    if (st == SHOAL_OK)
        st = make_paths(s, dir);
    if (st == SHOAL_OK)
        st = list_shards(s);
    if (st == SHOAL_OK)
        st = make_arrays(s);
    if (st == SHOAL_OK)
        *out_shelf = s;
    else
        train_shelf_free(s);
    return st == SHOAL_OK ? st : base_err_nomem(err, "preparing checkpoints");
}

static void forget(struct train_shelf *s)
{
    for (uint32_t i = 0; s->bytes != NULL && i < s->units; i++) {
        base_buf_fini(&s->bytes[i]);
        base_buf_init(&s->bytes[i], env_alloc(s->env), SIZE_MAX);
    }
    s->gathered = 0;
}

void train_shelf_free(struct train_shelf *s)
{
    if (s == NULL)
        return;
    const struct base_alloc *alloc = env_alloc(s->env);
    forget(s);
    for (uint32_t i = 0; i < FILES; i++)
        base_free(alloc, s->path[i]);
    base_buf_fini(&s->layout);
    base_buf_fini(&s->options);
    base_free(alloc, s->shard);
    base_free(alloc, s->full);
    base_free(alloc, s->entry);
    base_free(alloc, s->bytes);
    base_free(alloc, s->full_number);
    base_free(alloc, s->number);
    base_free(alloc, s);
}

shoal_status train_shelf_need_empty(const struct train_shelf *s, shoal_err *err)
{
    for (uint32_t i = 0; i < FILES; i++) {
        struct env_file *file = NULL;
        shoal_status st = env_open(s->env, s->path[i], &file, err);
        env_close(file);
        if (st == SHOAL_E_NOTFOUND)
            continue;
        if (st != SHOAL_OK)
            return st;
        base_err(err, SHOAL_E_EXISTS, "there is a checkpoint already: '%s'", s->path[i]);
        base_err_hint(err, "go on from it with --resume, or remove it, or choose another folder");
        return SHOAL_E_EXISTS;
    }
    return SHOAL_OK;
}

/* ---- gathering ---- */

uint64_t shelf_sum_data(const struct train_box *box)
{
    uint64_t sum = 0;

    for (uint32_t e = 0; e < train_box_executor_count(box); e++) {
        size_t size = 0;
        const void *data = train_box_data_read(box, e, &size);
        sum = XXH3_64bits_withSeed(data != NULL ? data : "", size, sum ^ size);
    }
    return sum;
}

static const void *rows_of(const struct train_shelf *s, uint32_t unit)
{
    const struct shard_place *place = &s->shard[unit - s->executors];

    return train_box_shard(s->box, place->table, place->shard, NULL, NULL);
}

static bool as_in_full(const struct train_shelf *s, uint32_t unit)
{
    const struct entry *now = &s->entry[unit], *full = &s->full[unit];

    return s->has_full && now->sum == full->sum && now->size == full->size;
}

/* Fills the unit's entry; keeps a copy of its bytes if `all` or they differ. */
static shoal_status gather_executor(struct train_shelf *s, uint32_t e, bool all)
{
    struct base_buf *bytes = &s->bytes[e];

    s->number[e] = train_box_committed(s->box, e);
    s->entry[e] = s->full[e];
    if (!all && s->has_full && s->number[e] == s->full_number[e])
        return SHOAL_OK;
    train_box_pack_executor(s->box, e, bytes);
    if (base_buf_status(bytes) != SHOAL_OK)
        return base_buf_status(bytes);
    s->entry[e].size = bytes->size;
    s->entry[e].sum = shelf_sum(bytes->data, bytes->size);
    if (all || !as_in_full(s, e))
        return SHOAL_OK;
    base_buf_fini(bytes);
    base_buf_init(bytes, env_alloc(s->env), SIZE_MAX);
    return SHOAL_OK;
}

static shoal_status gather_shard(struct train_shelf *s, uint32_t unit, bool all)
{
    const void *rows = rows_of(s, unit);
    uint64_t size = s->shard[unit - s->executors].size;

    s->entry[unit].size = size;
    s->entry[unit].sum = shelf_sum(rows, size);
    if (all || !as_in_full(s, unit))
        base_buf_append(&s->bytes[unit], rows, size);
    return base_buf_status(&s->bytes[unit]);
}

/* The units that differ, or all that are not there yet. */
static shoal_status gather_units(struct train_shelf *s, bool all)
{
    shoal_status st = SHOAL_OK;

    for (uint32_t i = 0; i < s->units && st == SHOAL_OK; i++) {
        if (s->bytes[i].size > 0)
            continue;
        st = i < s->executors ? gather_executor(s, i, all) : gather_shard(s, i, all);
        s->entry[i].present = all || s->bytes[i].size > 0; /* a shard may have no rows */
        s->gathered += s->bytes[i].size;
    }
    return st;
}

shoal_status train_shelf_gather(struct train_shelf *s, shoal_err *err)
{
    uint64_t total = 0;
    shoal_status st;

    forget(s);
    st = gather_units(s, !s->has_full);
    for (uint32_t i = 0; i < s->units; i++)
        total += s->entry[i].size;
    s->whole = !s->has_full || s->gathered > total / 2;
    if (st == SHOAL_OK && s->whole)
        st = gather_units(s, true);
    if (st == SHOAL_OK)
        return SHOAL_OK;
    forget(s);
    return base_err_nomem(err, "taking a checkpoint");
}

uint64_t train_shelf_gathered(const struct train_shelf *s)
{
    return s->gathered;
}

/* ---- writing ---- */

/* A failure is told at commit, as with all sections. */
static void put_facts(const struct train_shelf *s, struct store_pack_out *out)
{
    struct store_facts *facts = NULL;
    shoal_err why = SHOAL_ERR_INIT;

    if (store_facts_new(s->env, &facts, &why) != SHOAL_OK) {
        (void)store_pack_fail(out, &why);
        return;
    }
    store_facts_set_u64(facts, "format", CHECKPOINT_FORMAT);
    store_facts_set_text(facts, "app", s->job.app->name);
    store_facts_set_text(facts, "shoal", SHOAL_VERSION);
    store_facts_set_u64(facts, "state_version", s->job.app->state_version);
    store_facts_set_u64(facts, "driver_size", s->job.app->driver_size);
    store_facts_set_text(facts, "options", s->options.data);
    store_facts_set_text(facts, "data", s->job.data);
    store_facts_set_u64(facts, "seed", s->job.seed);
    store_facts_set_u64(facts, "staleness", s->job.staleness);
    store_facts_set_u64(facts, "executors", s->executors);
    store_facts_set_u64(facts, "data_sum", s->data_sum);
    store_facts_set_u64(facts, "run", s->run);
    store_facts_set_u64(facts, "generation", s->generation);
    store_facts_set_u64(facts, "base", s->whole ? s->generation : s->full_generation);
    (void)store_facts_save(facts, out);
    store_facts_free(facts);
}

static void put_units(struct train_shelf *s, struct store_pack_out *out)
{
    (void)store_pack_section(out, "index", s->entry, s->units * sizeof *s->entry);
    (void)store_pack_begin(out, "units");
    for (uint32_t i = 0; i < s->units; i++) {
        if (s->bytes[i].size == 0)
            continue;
        if (store_pack_append(out, s->bytes[i].data, s->bytes[i].size) != SHOAL_OK)
            return;                  /* told at commit */
        base_buf_fini(&s->bytes[i]); /* a checkpoint may be large */
        base_buf_init(&s->bytes[i], env_alloc(s->env), SIZE_MAX);
    }
    (void)store_pack_end(out);
}

/* The numbers that are made when they are first needed. */
static shoal_status make_numbers(struct train_shelf *s, shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    if (!s->has_run)
        st = env_random(s->env, &s->run, sizeof s->run, err);
    s->has_run = st == SHOAL_OK;
    if (!s->has_sum)
        s->data_sum = shelf_sum_data(s->box);
    s->has_sum = true;
    return st;
}

static shoal_status write_file(struct train_shelf *s, const char *path, const void *driver,
                               size_t driver_size, uint64_t *out_size, shoal_err *err)
{
    struct store_pack_out *out = NULL;
    shoal_status st = store_pack_create(s->env, path, CHECKPOINT_KIND, &out, err);

    if (st != SHOAL_OK)
        return st;
    put_facts(s, out);
    (void)store_pack_section(out, "layout", s->layout.data, s->layout.size);
    (void)store_pack_section(out, "driver", driver, driver_size);
    put_units(s, out);
    *out_size = store_pack_written(out);
    return store_pack_commit(out, err);
}

shoal_status train_shelf_write(struct train_shelf *s, const void *driver, size_t driver_size,
                               uint64_t *out_size, shoal_err *err)
{
    uint32_t slot = s->has_full ? s->slot ^ 1 : 0;
    uint64_t size = 0;
    shoal_status st = make_numbers(s, err);

    s->generation++;
    if (st == SHOAL_OK)
        st = write_file(s, s->path[s->whole ? slot : DELTA], driver, driver_size, &size, err);
    forget(s);
    if (st != SHOAL_OK)
        return st;
    *out_size = size;
    if (!s->whole)
        return SHOAL_OK;
    s->has_full = true;
    s->slot = slot;
    s->full_generation = s->generation;
    memcpy(s->full, s->entry, s->units * sizeof *s->full);
    memcpy(s->full_number, s->number, s->executors * sizeof *s->full_number);
    return SHOAL_OK;
}
