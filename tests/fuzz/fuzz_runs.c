/* Any bytes as runs: refused with words, or runs that are right in themselves; a few of them are fitted
 * and asked, and no answer is out of order: intervals hold their middle, loss never costs less time. */
#include "advise/choose.h"
#include "base/assert.h"
#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FITTED_RUNS = 24, FITTED_POINTS = 2000 };

static void check_runs(const struct advise_runs *runs)
{
    size_t points = 0;

    shoal_assert(runs->algorithm_count >= 1 && runs->algorithm_count <= ADVISE_ALGORITHMS_MAX);
    for (size_t i = 0; i < runs->count; i++) {
        const struct advise_run *r = &runs->runs[i];
        shoal_assert(r->algorithm < runs->algorithm_count && r->machines >= 1 && r->size > 0);
        shoal_assert(r->count >= 1);
        points += r->count;
        for (size_t k = 1; k < r->count; k++)
            shoal_assert(r->points[k].iteration > r->points[k - 1].iteration &&
                         r->points[k].time_s >= r->points[k - 1].time_s);
    }
    shoal_assert(points == runs->point_count);
}

static void check_choice(const struct advise_fit *fit, const struct advise_choice *ch)
{
    for (uint32_t i = 0; i < ch->count; i++) {
        const struct advise_candidate *c = &ch->candidates[i];
        if (c->p.verdict != ADVISE_GOOD)
            continue;
        shoal_assert(c->low_s <= c->seconds && c->seconds <= c->high_s && c->low_s >= 0);
        shoal_assert(c->near_fastest >= 0 && c->near_fastest <= 1 + 1e-9);
        shoal_assert(advise_step_s(fit, c->algorithm, c->machines) >= 0);
    }
    shoal_assert(ch->fastest < ch->count && ch->cheapest < ch->count);
}

static void ask(const struct advise_runs *runs)
{
    static const uint32_t MACHINES[] = {1, 2, 3, 8, 64};
    struct advise_fit_opts opts = {(double)NAN, (double)NAN};
    struct advise_fit *fit = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = advise_fit_new(&base_alloc_libc, runs, &opts, &fit, &err);

    if (st != SHOAL_OK) {
        shoal_assert(err.code == st && err.message[0] != '\0');
        return;
    }
    for (int turn = 0; turn < 3; turn++) {
        double way = turn * 0.4;
        struct advise_question q = {.target = fit->lowest + way * (fit->first - fit->lowest),
                                    .deadline_s = turn == 2 ? 100 : (double)INFINITY,
                                    .machines = MACHINES,
                                    .machine_count = 5,
                                    .seed = 1};
        struct advise_choice ch = {.count = 0};
        struct advise_next next;
        st = advise_choose(&base_alloc_libc, fit, &q, &ch, &err);
        if (st == SHOAL_OK)
            check_choice(fit, &ch);
        else
            shoal_assert(err.code == st && err.message[0] != '\0');
        if (advise_next(fit, &q, &ch, turn == 1, &next))
            shoal_assert(next.to > next.from && next.algorithm < fit->algorithm_count);
        advise_choice_fini(&ch);
    }
    advise_fit_free(fit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct advise_runs runs;
    shoal_env *env = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    shoal_assert(env_sim_put(env, "runs", data, size) == SHOAL_OK);
    advise_runs_init(&runs, env_alloc(env));
    shoal_status st = advise_runs_read(&runs, env, "runs", &err);
    if (st == SHOAL_OK)
        st = advise_runs_finish(&runs, &err);
    if (st == SHOAL_OK) {
        check_runs(&runs);
        if (runs.count <= FITTED_RUNS && runs.point_count <= FITTED_POINTS)
            ask(&runs);
    } else {
        shoal_assert(err.code == st && err.message[0] != '\0');
    }
    advise_runs_fini(&runs);
    shoal_env_free(env);
    return 0;
}
