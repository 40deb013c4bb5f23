/* save.c - see save.h. What is written is checked first, by the same rules as what is read. */
#include "advise/save.h"

#include "base/err.h"
#include "base/event.h"
#include <math.h>
#include <string.h>

/* ---- a fit as tables ---- */

enum { LEVELS = 32 };

static const double STEPS_MIN = 1e-6;

/* Counts to keep: all when they fit, else evenly over their logarithms. */
static uint32_t pick_counts(const struct advise_choice *choice, uint32_t algorithm, uint32_t *out)
{
    uint32_t n = 0, good = 0, kept = 0;

    for (uint32_t i = 0; i < choice->count; i++)
        good += choice->candidates[i].algorithm == algorithm &&
                choice->candidates[i].p.verdict == ADVISE_GOOD;
    for (uint32_t i = 0; i < choice->count; i++) {
        const struct advise_candidate *c = &choice->candidates[i];
        if (c->algorithm != algorithm || c->p.verdict != ADVISE_GOOD)
            continue;
        n++;
        bool wanted = good <= SCHED_FITTED_MACHINES_MAX || kept == 0 || n == good ||
                      (c->machines >= 1.1 * out[kept - 1] && kept + 1 < SCHED_FITTED_MACHINES_MAX);
        if (wanted && kept < SCHED_FITTED_MACHINES_MAX)
            out[kept++] = c->machines;
    }
    return kept;
}

shoal_status advise_tables_make(const struct advise_fit *fit, const struct advise_choice *choice,
                                uint32_t algorithm, double target, struct base_arena *arena,
                                struct sched_fitted *out)
{
    const struct advise_algorithm *a = &fit->algorithms[algorithm];
    uint32_t *machines = base_arena_calloc(arena, SCHED_FITTED_MACHINES_MAX, sizeof *machines);

    if (machines == NULL)
        return SHOAL_E_NOMEM;
    uint32_t count = a->curve_count > 0 ? pick_counts(choice, algorithm, machines) : 0;
    double best = fmin(a->best, target - 1e-9 * fabs(target) - 1e-300);
    if (count == 0 || !(a->first > target) || !(target > best))
        return SHOAL_E_IMPOSSIBLE;
    double *step_s = base_arena_calloc(arena, count, sizeof *step_s);
    double *level = base_arena_calloc(arena, LEVELS + 1, sizeof *level);
    double *steps = base_arena_calloc(arena, (size_t)count * LEVELS, sizeof *steps);
    if (step_s == NULL || level == NULL || steps == NULL)
        return SHOAL_E_NOMEM;
    double goal = log((a->first - best) / (target - best));
    for (int k = 0; k <= LEVELS; k++)
        level[k] = goal * k / LEVELS;
    for (uint32_t i = 0; i < count; i++) {
        double before = 0;
        step_s[i] = advise_step_s(fit, algorithm, machines[i]);
        for (int k = 1; k <= LEVELS; k++) {
            double loss = k == LEVELS ? target : best + (a->first - best) * exp(-level[k]);
            double at = fmax(advise_steps(fit, algorithm, machines[i], loss), before);
            steps[(size_t)i * LEVELS + (size_t)k - 1] = fmax(at - before, STEPS_MIN);
            before = at;
        }
    }
    *out = (struct sched_fitted){.machine_count = count,
                                 .level_count = LEVELS,
                                 .machines = machines,
                                 .step_s = step_s,
                                 .level = level,
                                 .steps = steps};
    return SHOAL_OK;
}

/* ---- the file ---- */

enum { FILE_MAX = 64 * 1024 * 1024 };

/* The bytes of one character of UTF-8 (no control, no surrogate, not longer than needed); 0: none.
 */
static size_t character(const unsigned char *s)
{
    if (s[0] >= 0x20 && s[0] < 0x7f)
        return 1;
    if (s[0] >= 0xc2 && s[0] <= 0xdf && (s[1] & 0xc0) == 0x80)
        return s[0] == 0xc2 && s[1] < 0xa0 ? 0 : 2;
    if ((s[0] & 0xf0) == 0xe0 && (s[1] & 0xc0) == 0x80 && (s[2] & 0xc0) == 0x80)
        return (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ? 0 : 3;
    if (s[0] >= 0xf0 && s[0] <= 0xf4 && (s[1] & 0xc0) == 0x80 && (s[2] & 0xc0) == 0x80 &&
        (s[3] & 0xc0) == 0x80)
        return (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f) ? 0 : 4;
    return 0;
}

static bool name_is_sound(const char *name)
{
    size_t length = name != NULL ? strlen(name) : 0;

    for (size_t at = 0; at < length;) {
        size_t size = character((const unsigned char *)name + at);
        if (size == 0)
            return false;
        at += size;
    }
    return length > 0 && length <= ADVISE_SAVE_NAME_MAX;
}

static shoal_status check(const struct advise_saved *models, size_t count, shoal_err *err)
{
    if (count == 0 || count > ADVISE_SAVE_MODELS_MAX)
        return base_err(err, SHOAL_E_INVAL, "cannot save %zu fitted models: 1 to %d fit in a file",
                        count, ADVISE_SAVE_MODELS_MAX);
    for (size_t i = 0; i < count; i++) {
        if (!name_is_sound(models[i].name))
            return base_err(err, SHOAL_E_INVAL,
                            "cannot save fitted model %zu: its name must be 1 to %d bytes of UTF-8 "
                            "without control characters",
                            i + 1, ADVISE_SAVE_NAME_MAX);
        if (!sched_fitted_valid(&models[i].tables))
            return base_err(err, SHOAL_E_INVAL,
                            "cannot save fitted model '%.80s': a number of its tables is out of "
                            "range",
                            models[i].name);
        for (size_t k = 0; k < i; k++)
            if (strcmp(models[i].name, models[k].name) == 0)
                return base_err(err, SHOAL_E_INVAL, "cannot save two fitted models named '%.80s'",
                                models[i].name);
    }
    return SHOAL_OK;
}

static void put_numbers(struct base_buf *out, const double *numbers, size_t count)
{
    base_buf_puts(out, "[");
    for (size_t i = 0; i < count; i++) {
        base_buf_puts(out, i > 0 ? "," : "");
        base_json_f64(out, numbers[i]);
    }
    base_buf_puts(out, "]");
}

static void put_model(struct base_buf *out, const struct advise_saved *model)
{
    const struct sched_fitted *f = &model->tables;

    base_buf_puts(out, "{\"name\":");
    base_buf_json_string(out, model->name);
    base_buf_puts(out, ",\"machines\":[");
    for (uint32_t i = 0; i < f->machine_count; i++)
        base_buf_printf(out, "%s%u", i > 0 ? "," : "", f->machines[i]);
    base_buf_puts(out, "],\n \"step_s\":");
    put_numbers(out, f->step_s, f->machine_count);
    base_buf_puts(out, ",\n \"level\":");
    put_numbers(out, f->level, (size_t)f->level_count + 1);
    base_buf_puts(out, ",\n \"steps\":[");
    for (uint32_t i = 0; i < f->machine_count; i++) {
        base_buf_puts(out, i > 0 ? ",\n  " : "\n  ");
        put_numbers(out, f->steps + (size_t)i * f->level_count, f->level_count);
    }
    base_buf_puts(out, "]}");
}

shoal_status advise_save_format(const struct advise_saved *models, size_t count,
                                struct base_buf *out, shoal_err *err)
{
    shoal_status st = check(models, count, err);

    if (st != SHOAL_OK)
        return st;
    base_buf_puts(out, "{\"v\":1,\"shoal\":\"fitted model\",\"models\":[\n");
    for (size_t i = 0; i < count; i++) {
        base_buf_puts(out, i > 0 ? ",\n" : "");
        put_model(out, &models[i]);
    }
    base_buf_puts(out, "\n]}\n");
    st = base_buf_status(out);
    if (st == SHOAL_E_NOMEM)
        return base_err_nomem(err, "saving fitted models");
    return st == SHOAL_OK ? st
                          : base_err(err, st, "cannot save %zu fitted models: too large", count);
}

shoal_status advise_save(shoal_env *env, const char *path, const struct advise_saved *models,
                         size_t count, shoal_err *err)
{
    struct base_buf text;

    base_buf_init(&text, env_alloc(env), FILE_MAX);
    shoal_status st = advise_save_format(models, count, &text, err);
    if (st == SHOAL_OK)
        st = env_write_whole(env, path, text.data, text.size, err);
    base_buf_fini(&text);
    return st;
}
