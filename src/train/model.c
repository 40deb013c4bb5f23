/* model.c - see model.h. Parts are read whole when they are asked for first, and kept. */
#include "train/model.h"

#include "base/err.h"
#include "shoal/version.h"
#include "store/facts.h"
#include "store/pack.h"
#include "train/options.h"
#include <string.h>

struct part {
    struct part *next;
    const struct store_section *section;
    max_align_t bytes[];
};

struct shoal_model {
    shoal_env *env;
    struct store_pack_out *out; /* being written, or */
    struct store_pack *pack;    /* being read */
    struct store_facts *facts;
    const char *app, *settings;
    struct part *parts; /* read so far; grows behind a const model */
};

shoal_status train_model_create(shoal_env *env, const char *path, const char *app,
                                const char *settings, shoal_model **out_model, shoal_err *err)
{
    shoal_model *model = base_calloc(env_alloc(env), 1, sizeof *model);
    shoal_status st;

    if (model == NULL)
        return base_err_nomem(err, "writing a model");
    model->env = env;
    st = store_facts_new(env, &model->facts, err);
    if (st == SHOAL_OK)
        st = store_pack_create(env, path, "model", &model->out, err);
    if (st != SHOAL_OK) {
        shoal_model_free(model);
        return st;
    }
    store_facts_set_text(model->facts, "app", app);
    store_facts_set_text(model->facts, "settings", settings);
    store_facts_set_text(model->facts, "shoal", SHOAL_VERSION);
    store_facts_save(model->facts, model->out); /* a failure is told at commit */
    *out_model = model;
    return SHOAL_OK;
}

shoal_status train_model_commit(shoal_model *model, shoal_err *err)
{
    shoal_status st = store_pack_commit(model->out, err);

    model->out = NULL;
    shoal_model_free(model);
    return st;
}

shoal_status shoal_model_put(shoal_model *model, const char *part, const void *bytes, size_t size,
                             shoal_err *err)
{
    if (model->out == NULL)
        return base_err(err, SHOAL_E_INVAL, "a model that is read cannot be written");
    shoal_status st = store_pack_section(model->out, part, bytes, size);
    if (st != SHOAL_OK && err != NULL)
        *err = *store_pack_why(model->out);
    return st;
}

shoal_status shoal_model_open(shoal_env *env, const char *path, shoal_model **out_model,
                              shoal_err *err)
{
    shoal_model *model = base_calloc(env_alloc(env), 1, sizeof *model);
    shoal_status st;

    if (model == NULL)
        return base_err_nomem(err, "reading a model");
    model->env = env;
    st = store_pack_open(env, path, "model", &model->pack, err);
    if (st == SHOAL_OK)
        st = store_facts_load(env, model->pack, &model->facts, err);
    if (st == SHOAL_OK)
        st = store_facts_text(model->facts, "app", &model->app, err);
    if (st == SHOAL_OK)
        st = store_facts_text(model->facts, "settings", &model->settings, err);
    if (st != SHOAL_OK) {
        shoal_model_free(model);
        return st;
    }
    *out_model = model;
    return SHOAL_OK;
}

static shoal_status read_part(shoal_model *model, const struct store_section *section,
                              struct part **out_part, shoal_err *err)
{
    struct part *part;
    shoal_status st;

    if (section->size > SIZE_MAX - sizeof *part)
        return base_err(err, SHOAL_E_LIMIT, "part '%s' of the model is too large", section->name);
    part = base_malloc(env_alloc(model->env), sizeof *part + (size_t)section->size);
    if (part == NULL)
        return base_err_nomem(err, "reading a model");
    st = store_pack_read(model->pack, section, 0, part->bytes, (size_t)section->size, err);
    if (st != SHOAL_OK) {
        base_free(env_alloc(model->env), part);
        return st;
    }
    part->section = section;
    part->next = model->parts;
    model->parts = part;
    *out_part = part;
    return SHOAL_OK;
}

shoal_status shoal_model_get(const shoal_model *model, const char *name, const void **out_bytes,
                             size_t *out_size, shoal_err *err)
{
    const struct store_section *section;
    struct part *part = model->parts;
    shoal_status st = SHOAL_OK;

    if (model->pack == NULL)
        return base_err(err, SHOAL_E_INVAL, "a model that is written cannot be read");
    section = store_pack_find(model->pack, name);
    if (section == NULL)
        return base_err(err, SHOAL_E_NOTFOUND, "model '%s' has no part '%s'",
                        store_pack_path(model->pack), name);
    while (part != NULL && part->section != section)
        part = part->next;
    if (part == NULL)
        st = read_part((shoal_model *)model, section, &part, err);
    if (st != SHOAL_OK)
        return st;
    *out_bytes = part->bytes;
    *out_size = (size_t)section->size;
    return SHOAL_OK;
}

const char *shoal_model_app(const shoal_model *model)
{
    return model->app;
}

const char *train_model_settings(const shoal_model *model)
{
    return model->settings;
}

void shoal_model_free(shoal_model *model)
{
    if (model == NULL)
        return;
    while (model->parts != NULL) {
        struct part *next = model->parts->next;
        base_free(env_alloc(model->env), model->parts);
        model->parts = next;
    }
    store_pack_discard(model->out);
    store_facts_free(model->facts);
    store_pack_close(model->pack);
    base_free(env_alloc(model->env), model);
}

/* ---- a model at work ---- */

struct shoal_score {
    shoal_env *env;
    const shoal_model *model;
    void *options;
    const struct train_score_opts *opts;
};

shoal_env *shoal_score_env(shoal_score *score)
{
    return score->env;
}

const shoal_model *shoal_score_model(const shoal_score *score)
{
    return score->model;
}

const void *shoal_score_options(const shoal_score *score)
{
    return score->options;
}

const char *shoal_score_path(const shoal_score *score)
{
    return score->opts->path;
}

bool shoal_score_wants_lines(const shoal_score *score)
{
    return score->opts->wants_lines;
}

shoal_status shoal_score_line(shoal_score *score, const char *line, shoal_err *err)
{
    return score->opts->wants_lines ? score->opts->line(score->opts->ctx, line, err) : SHOAL_OK;
}

shoal_status shoal_score_count(shoal_score *score, uint64_t done, uint64_t total, shoal_err *err)
{
    const struct train_score_opts *o = score->opts;

    return o->count != NULL ? o->count(o->ctx, done, total, err) : SHOAL_OK;
}

void shoal_score_metric(shoal_score *score, const char *name, double value)
{
    score->opts->metric(score->opts->ctx, name, value);
}

/* A model that the application cannot read may be another version's. */
static void say_version(const shoal_model *model, shoal_err *err)
{
    const char *made_by = NULL;

    if (store_facts_text(model->facts, "shoal", &made_by, NULL) != SHOAL_OK)
        base_err_hint(err,
                      "an earlier shoal made it, this is shoal %s: use that one, or train again",
                      SHOAL_VERSION);
    else if (strcmp(made_by, SHOAL_VERSION) != 0)
        base_err_hint(err, "shoal %s made it, this is shoal %s: use that one, or train again",
                      made_by, SHOAL_VERSION);
}

shoal_status train_score(shoal_env *env, const shoal_app *app, const shoal_model *model,
                         const struct train_score_opts *opts, shoal_err *err)
{
    struct shoal_score score = {env, model, NULL, opts};
    shoal_status st;

    if (app->score == NULL)
        return base_err(err, SHOAL_E_INVAL, "application '%s' cannot predict", app->name);
    st = train_options_new(env_alloc(env), app, model->settings, &score.options, err);
    if (st == SHOAL_OK)
        st = app->score(&score, err);
    if (st == SHOAL_E_FORMAT && err != NULL && err->hint[0] == '\0' && err->where[0] == '\0')
        say_version(model, err); /* else a line of the data is at fault */
    train_options_free(env_alloc(env), score.options);
    return st;
}
