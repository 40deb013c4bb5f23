/* checkpoint_load.c - finding the newest checkpoint that is whole and of this job, and loading it. See
 * checkpoint.h; the format is told in checkpoint.c. */
#include "train/checkpoint_parts.h"

#include "base/err.h"
#include "shoal/version.h"
#include "store/facts.h"
#include <stdio.h>
#include <string.h>

/* ---- finding ---- */

/* A file that was read and verified, all of it. */
struct found {
    struct store_pack *pack; /* NULL: absent or damaged */
    struct store_facts *facts;
    uint64_t run, generation, base;
    const char *made_by; /* which Shoal; NULL: one before format 2, which did not say */
    struct entry *entry; /* as many as there are units; NULL: it is another job's */
};

static void found_close(struct train_shelf *s, struct found *f)
{
    store_facts_free(f->facts);
    store_pack_close(f->pack);
    base_free(env_alloc(s->env), f->entry);
    *f = (struct found){0};
}

static shoal_status damaged(const struct found *f, const char *what, shoal_err *err)
{
    return base_err(err, SHOAL_E_FORMAT, "cannot use '%s': its %s does not make sense",
                    store_pack_path(f->pack), what);
}

static bool is_of_other_shoal(const struct found *f)
{
    return f->made_by == NULL || strcmp(f->made_by, SHOAL_VERSION) != 0;
}

/* Says after an error that it is another version's, and what helps. */
static shoal_status other_version(const struct found *f, shoal_err *err)
{
    if (is_of_other_shoal(f))
        base_err_hint(err,
                      "it was made by %s%s, and this is shoal %s: start anew in another folder, or "
                      "resume with that one",
                      f->made_by != NULL ? "shoal " : "an earlier shoal",
                      f->made_by != NULL ? f->made_by : "", SHOAL_VERSION);
    else
        base_err_hint(err, "start anew in another folder, or resume with the version of the "
                           "application that made it");
    return SHOAL_E_INVAL;
}

/* The index, if it has as many units as this job. */
static shoal_status read_index(struct train_shelf *s, struct found *f, bool full, shoal_err *err)
{
    const struct store_section *index, *units;
    uint64_t size = 0;
    shoal_status st = store_pack_need(f->pack, "index", UINT64_MAX, &index, err);

    if (st == SHOAL_OK)
        st = store_pack_need(f->pack, "units", UINT64_MAX, &units, err);
    if (st != SHOAL_OK || index->size != s->units * sizeof *f->entry)
        return st;
    f->entry = base_calloc(env_alloc(s->env), s->units, sizeof *f->entry);
    if (f->entry == NULL)
        return base_err_nomem(err, "reading a checkpoint");
    st = store_pack_read(f->pack, index, 0, f->entry, (size_t)index->size, err);
    for (uint32_t i = 0; i < s->units && st == SHOAL_OK; i++) {
        if (f->entry[i].present > 1 || (full && f->entry[i].present == 0))
            return damaged(f, "index", err);
        if (f->entry[i].present == 0)
            continue; /* it is in the full one, and may be larger than all that is here */
        if (f->entry[i].size > units->size - size)
            return damaged(f, "index", err);
        size += f->entry[i].size;
    }
    return st == SHOAL_OK && size != units->size ? damaged(f, "index", err) : st;
}

static shoal_status find_file(struct train_shelf *s, uint32_t index, struct found *f,
                              shoal_err *err)
{
    uint64_t format = 0;
    shoal_status st = store_pack_open(s->env, s->path[index], CHECKPOINT_KIND, &f->pack, err);

    if (st == SHOAL_OK)
        st = store_pack_verify(f->pack, err);
    if (st == SHOAL_OK)
        st = store_facts_load(s->env, f->pack, &f->facts, err);
    if (st == SHOAL_OK)
        st = store_facts_u64(f->facts, "format", &format, err);
    if (st == SHOAL_OK && store_facts_text(f->facts, "shoal", &f->made_by, NULL) != SHOAL_OK)
        f->made_by = NULL;
    if (st == SHOAL_OK && format != CHECKPOINT_FORMAT) {
        base_err(err, SHOAL_E_INVAL, "cannot resume from '%s': it has format %llu, this reads %d",
                 s->path[index], (unsigned long long)format, CHECKPOINT_FORMAT);
        st = other_version(f, err);
    }
    if (st == SHOAL_OK)
        st = store_facts_u64(f->facts, "run", &f->run, err);
    if (st == SHOAL_OK)
        st = store_facts_u64(f->facts, "generation", &f->generation, err);
    if (st == SHOAL_OK)
        st = store_facts_u64(f->facts, "base", &f->base, err);
    if (st == SHOAL_OK && (index == DELTA ? f->base >= f->generation : f->base != f->generation))
        st = damaged(f, "generation", err);
    if (st == SHOAL_OK)
        st = read_index(s, f, index != DELTA, err);
    if (st != SHOAL_OK)
        found_close(s, f);
    return st;
}

/* Opens what is whole; says why the last that is not is none. Another version's is not passed over. */
static shoal_status find_all(struct train_shelf *s, const struct base_log *log,
                             struct found found[FILES], shoal_err *out_last, shoal_err *err)
{
    for (uint32_t i = 0; i < FILES; i++) {
        shoal_err why = SHOAL_ERR_INIT;
        shoal_status st = find_file(s, i, &found[i], &why);
        if (st != SHOAL_OK && st != SHOAL_E_NOTFOUND)
            *out_last = why;
        if (st == SHOAL_E_NOMEM || st == SHOAL_E_INVAL) {
            if (err != NULL)
                *err = why;
            return st;
        }
        if (st != SHOAL_OK && st != SHOAL_E_NOTFOUND && log != NULL)
            base_log(log, BASE_LOG_WARN, "passing over a damaged checkpoint: %s", why.message);
    }
    return SHOAL_OK;
}

static bool belongs(const struct found *delta, const struct found *full)
{
    return delta->pack != NULL && full->pack != NULL && delta->run == full->run &&
           delta->base == full->generation;
}

/* The newest: which full one, and whether the delta goes with it. */
static bool choose(const struct found found[FILES], uint32_t *out_full, bool *out_delta)
{
    uint64_t best = 0;

    for (uint32_t i = 0; i < FULLS; i++) {
        bool delta = belongs(&found[DELTA], &found[i]);
        uint64_t generation = delta ? found[DELTA].generation : found[i].generation;
        if (found[i].pack == NULL || generation < best)
            continue;
        best = generation;
        *out_full = i;
        *out_delta = delta;
    }
    return best > 0;
}

/* ---- is it this job's? ---- */

static shoal_status differs(const struct found *f, shoal_err *err, const char *what,
                            const char *then, const char *now)
{
    base_err(err, SHOAL_E_INVAL, "cannot resume from '%s': it was made with %s '%s', not '%s'",
             store_pack_path(f->pack), what, then, now);
    base_err_hint(err, "resume with the arguments the job was started with");
    return SHOAL_E_INVAL;
}

static shoal_status compare_text(const struct found *f, const char *key, const char *now,
                                 shoal_err *err)
{
    const char *then = NULL;
    shoal_status st = store_facts_text(f->facts, key, &then, err);

    if (st != SHOAL_OK || strcmp(then, now) == 0)
        return st;
    return differs(f, err, key, then, now);
}

/* A line of options at `a` has the name of the one at `b`. */
static bool is_same_option(const char *a, const char *b)
{
    size_t length = strcspn(a, "=");

    return length > 0 && length == strcspn(b, "=") && memcmp(a, b, length) == 0;
}

/* All of them, with their values, in the application's order: whatever the user wrote, and whatever the
 * defaults were then. */
static shoal_status compare_options(const struct train_shelf *s, const struct found *f,
                                    shoal_err *err)
{
    const char *then = NULL, *now = s->options.data;
    char name[64], before[120], after[120];
    shoal_status st = store_facts_text(f->facts, "options", &then, err);

    if (st != SHOAL_OK || strcmp(then, now) == 0)
        return st;
    for (size_t size; (size = strcspn(now, "\n")) > 0 && strncmp(then, now, size + 1) == 0;) {
        then += size + 1;
        now += size + 1;
    }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(*now != '\0' ? now : then, "="),
             *now != '\0' ? now : then);
    if (is_same_option(then, now)) {
        then += strcspn(then, "=") + 1;
        now += strcspn(now, "=") + 1;
        snprintf(before, sizeof before, "%.*s", (int)strcspn(then, "\n"), then);
        snprintf(after, sizeof after, "%.*s", (int)strcspn(now, "\n"), now);
        return differs(f, err, name, before, after);
    }
    base_err(err, SHOAL_E_INVAL, "cannot resume from '%s': '%s' has other options now ('%s')",
             store_pack_path(f->pack), s->job.app->name, name);
    return other_version(f, err);
}

static shoal_status compare_number(const struct found *f, const char *key, uint64_t now,
                                   shoal_err *err)
{
    uint64_t then = 0;
    char before[24], after[24];
    shoal_status st = store_facts_u64(f->facts, key, &then, err);

    if (st != SHOAL_OK || then == now)
        return st;
    snprintf(before, sizeof before, "%llu", (unsigned long long)then);
    snprintf(after, sizeof after, "%llu", (unsigned long long)now);
    return differs(f, err, key, before, after);
}

/* What the application keeps, and how. */
static shoal_status compare_version(const struct train_shelf *s, const struct found *f,
                                    shoal_err *err)
{
    const shoal_app *app = s->job.app;
    uint64_t version = 0, size = 0;
    shoal_status st = store_facts_u64(f->facts, "state_version", &version, err);

    if (st == SHOAL_OK)
        st = store_facts_u64(f->facts, "driver_size", &size, err);
    if (st != SHOAL_OK)
        return st;
    if (version != app->state_version)
        base_err(err, SHOAL_E_INVAL,
                 "cannot resume from '%s': '%s' keeps its state as version %u, there it is "
                 "version %llu",
                 store_pack_path(f->pack), app->name, app->state_version,
                 (unsigned long long)version);
    else if (size != app->driver_size)
        base_err(err, SHOAL_E_INVAL,
                 "cannot resume from '%s': '%s' kept %llu bytes, now it keeps %zu",
                 store_pack_path(f->pack), app->name, (unsigned long long)size, app->driver_size);
    else
        return SHOAL_OK;
    return other_version(f, err);
}

static shoal_status compare_layout(struct train_shelf *s, const struct found *f, shoal_err *err)
{
    const struct store_section *section;
    char *layout;
    shoal_status st = store_pack_need(f->pack, "layout", UINT64_MAX, &section, err);

    if (st != SHOAL_OK)
        return st;
    if (f->entry == NULL || section->size != s->layout.size)
        goto other;
    layout = base_malloc(env_alloc(s->env), s->layout.size);
    if (layout == NULL)
        return base_err_nomem(err, "reading a checkpoint");
    st = store_pack_read(f->pack, section, 0, layout, s->layout.size, err);
    bool same = st == SHOAL_OK && memcmp(layout, s->layout.data, s->layout.size) == 0;
    base_free(env_alloc(s->env), layout);
    if (st != SHOAL_OK || same)
        return st;
other:
    return base_err(err, SHOAL_E_INVAL,
                    "cannot resume from '%s': with these data the job has other tables",
                    store_pack_path(f->pack));
}

static shoal_status compare_data(struct train_shelf *s, const struct found *f, shoal_err *err)
{
    uint64_t sum = 0;
    const char *data = "";
    shoal_status st = store_facts_u64(f->facts, "data_sum", &sum, err);

    if (st == SHOAL_OK)
        st = store_facts_text(f->facts, "data", &data, err);
    if (st != SHOAL_OK)
        return st;
    s->data_sum = shelf_sum_data(s->box);
    s->has_sum = true;
    if (sum == s->data_sum)
        return SHOAL_OK;
    return base_err(err, SHOAL_E_INVAL,
                    "cannot resume from '%s': '%s' does not hold the data that '%s' had then",
                    store_pack_path(f->pack), s->job.data, data);
}

static shoal_status compare(struct train_shelf *s, const struct found *f, shoal_err *err)
{
    shoal_status st = compare_text(f, "app", s->job.app->name, err);

    if (st == SHOAL_OK)
        st = compare_version(s, f, err);
    if (st == SHOAL_OK)
        st = compare_options(s, f, err);
    if (st == SHOAL_OK)
        st = compare_number(f, "seed", s->job.seed, err);
    if (st == SHOAL_OK)
        st = compare_number(f, "staleness", s->job.staleness, err);
    if (st != SHOAL_OK)
        return st;
    st = compare_number(f, "executors", s->executors, err); /* plan made these: */
    if (st == SHOAL_OK)
        st = compare_layout(s, f, err);
    if (st == SHOAL_OK)
        st = compare_data(s, f, err);
    return st == SHOAL_E_INVAL && is_of_other_shoal(f) ? other_version(f, err) : st;
}

/* ---- loading ---- */

static shoal_status load_executor(struct train_shelf *s, const struct found *f, uint32_t e,
                                  const char *bytes, size_t size, shoal_err *err)
{
    size_t planned = 0, now = 0;
    shoal_status st;

    (void)train_box_state_read(s->box, e, &planned);
    st = train_box_put_executor(s->box, e, bytes, size, err);
    (void)train_box_state_read(s->box, e, &now);
    if (st != SHOAL_OK || now == planned)
        return st;
    base_err(err, SHOAL_E_INVAL,
             "cannot resume from '%s': executor %u had a state of %zu bytes, now it has %zu",
             store_pack_path(f->pack), e, now, planned);
    return other_version(f, err);
}

static shoal_status load_unit(struct train_shelf *s, const struct found *f, uint32_t unit,
                              const char *bytes, size_t size, shoal_err *err)
{
    if (unit < s->executors)
        return load_executor(s, f, unit, bytes, size, err);
    const struct shard_place *place = &s->shard[unit - s->executors];
    if (size != place->size)
        return base_err(err, SHOAL_E_FORMAT, "a shard of %zu bytes in the checkpoint; it has %llu",
                        size, (unsigned long long)place->size);
    memcpy(train_box_shard(s->box, place->table, place->shard, NULL, NULL), bytes, size);
    return SHOAL_OK;
}

/* Reads `size` bytes of a section from *at on into the buffer, which grows. */
static shoal_status read_next(struct store_pack *pack, const struct store_section *section,
                              uint64_t *at, uint64_t size, struct base_buf *buf, shoal_err *err)
{
    if (buf->cap <= size) {
        base_buf_fini(buf);
        buf->data = base_malloc(buf->alloc, (size_t)size + 1);
        if (buf->data == NULL)
            return base_err_nomem(err, "reading a checkpoint");
        buf->cap = (size_t)size + 1;
    }
    shoal_status st = store_pack_read(pack, section, *at, buf->data, (size_t)size, err);
    *at += size;
    return st;
}

/* The newest version of every unit; each file is read once, in order. */
static shoal_status load_units(struct train_shelf *s, const struct found *full,
                               const struct found *delta, shoal_err *err)
{
    const struct store_section *from[2] = {NULL, NULL};
    uint64_t at[2] = {0, 0};
    struct base_buf buf;
    shoal_status st = store_pack_need(full->pack, "units", UINT64_MAX, &from[0], err);

    base_buf_init(&buf, env_alloc(s->env), SIZE_MAX);
    if (st == SHOAL_OK && delta != NULL)
        st = store_pack_need(delta->pack, "units", UINT64_MAX, &from[1], err);
    for (uint32_t i = 0; i < s->units && st == SHOAL_OK; i++) {
        bool newer = delta != NULL && delta->entry[i].present != 0;
        const struct found *f = newer ? delta : full;
        if (newer)
            at[0] += full->entry[i].size;
        st = read_next(f->pack, from[newer], &at[newer], f->entry[i].size, &buf, err);
        if (st == SHOAL_OK && delta != NULL &&
            shelf_sum(buf.data, f->entry[i].size) != delta->entry[i].sum)
            st = damaged(f, "unit", err);
        if (st == SHOAL_OK)
            st = load_unit(s, f, i, buf.data, f->entry[i].size, err);
    }
    base_buf_fini(&buf);
    return st;
}

static shoal_status load_driver(const struct found *f, struct base_buf *out, shoal_err *err)
{
    const struct store_section *section;
    char piece[4096];
    shoal_status st = store_pack_need(f->pack, "driver", UINT64_MAX, &section, err);

    for (uint64_t at = 0; st == SHOAL_OK && at < section->size;) {
        size_t size =
            section->size - at < sizeof piece ? (size_t)(section->size - at) : sizeof piece;
        st = store_pack_read(f->pack, section, at, piece, size, err);
        if (st == SHOAL_OK)
            base_buf_append(out, piece, size);
        at += size;
    }
    if (st == SHOAL_OK && base_buf_status(out) != SHOAL_OK)
        st = base_err_nomem(err, "reading a checkpoint");
    return st;
}

/* What is written from here on follows what was loaded. */
static void follow(struct train_shelf *s, const struct found found[FILES], uint32_t slot)
{
    for (uint32_t i = 0; i < FILES; i++)
        if (found[i].pack != NULL && found[i].generation > s->generation)
            s->generation = found[i].generation;
    s->run = found[slot].run;
    s->has_run = true;
    s->has_full = true;
    s->slot = slot;
    s->full_generation = found[slot].generation;
    memcpy(s->full, found[slot].entry, s->units * sizeof *s->full);
    for (uint32_t e = 0; e < s->executors; e++)
        s->full_number[e] = UINT64_MAX;
}

shoal_status train_shelf_load(struct train_shelf *s, const struct base_log *log,
                              struct base_buf *out_driver, shoal_err *err)
{
    struct found found[FILES] = {0};
    uint32_t slot = 0;
    bool with_delta = false;
    shoal_err last = SHOAL_ERR_INIT;
    shoal_status st = find_all(s, log, found, &last, err);

    if (st == SHOAL_OK && !choose(found, &slot, &with_delta))
        st = last.code == SHOAL_OK
                 ? base_err(err, SHOAL_E_NOTFOUND, "there is no checkpoint: no '%s'", s->path[0])
                 : base_err(err, SHOAL_E_NOTFOUND, "no checkpoint is whole: %s", last.message);
    const struct found *newest = with_delta ? &found[DELTA] : &found[slot];
    if (st == SHOAL_OK)
        st = compare(s, newest, err);
    if (st == SHOAL_OK && found[slot].entry == NULL)
        st = damaged(&found[slot], "index", err);
    if (st == SHOAL_OK)
        st = load_units(s, &found[slot], with_delta ? newest : NULL, err);
    if (st == SHOAL_OK)
        st = load_driver(newest, out_driver, err);
    if (st == SHOAL_OK) {
        follow(s, found, slot);
        if (log != NULL)
            base_log(log, BASE_LOG_INFO, "resuming from '%s'", store_pack_path(newest->pack));
    }
    for (uint32_t i = 0; i < FILES; i++)
        found_close(s, &found[i]);
    return st;
}
