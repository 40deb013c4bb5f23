/* fit.c - see fit.h: curves from runs, the models of all machine counts and of all but one, and how
 * far off those are at the one they have not seen. */
#include "advise/fit_parts.h"

#include "base/err.h"
#include <math.h>
#include <string.h>

enum { ARENA_BLOCK = 1 << 16, LEVELS = 6, LONG = 10 };

static const double WORST = 2.3;         /* of a logarithm: what never arrives counts as 10 times */
static const double UNKNOWN_AHEAD = 0.7; /* no curve is long enough to say */
static const double HALF = 0.5;          /* of the curves, to foresee the other half */
static const double FEATURES_WIN = 0.8;  /* errors of that form must be so much smaller */
static const double FLAT = 0.05; /* of all that a curve fell: its last fall, where it ends */
static const double TAIL = 0.05; /* of the odds, outside an interval on either side */
static const double PRIOR_COUNTS = 1, PRIOR_STEPS = 0.3, PRIOR_TIME = 0.1, PRIOR_AHEAD = 0.1;

const char *advise_verdict_name(enum advise_verdict verdict)
{
    static const char *const NAMES[] = {"good",    "no-curve", "diverged", "one-count",
                                        "too-far", "never",    "unreached"};

    return NAMES[verdict];
}

/* ---- curves ---- */

/* The losses lower than all before. False: no memory. */
static bool make_curve(struct base_arena *arena, const struct advise_run *run,
                       struct advise_curve *out)
{
    double *mem = base_arena_alloc(arena, 3 * run->count * sizeof *mem);
    double lowest = (double)INFINITY;
    size_t n = 0;

    if (mem == NULL)
        return false;
    double *iteration = mem, *loss = mem + run->count, *time_s = loss + run->count;
    for (size_t i = 0; i < run->count; i++) {
        const struct advise_point *p = &run->points[i];
        if (!(p->loss < lowest)) /* not measured, or not better */
            continue;
        lowest = loss[n] = p->loss;
        iteration[n] = p->iteration;
        time_s[n++] = p->time_s;
    }
    *out = (struct advise_curve){
        .run = run, .iteration = iteration, .loss = loss, .time_s = time_s, .count = n};
    return true;
}

static void add_count(uint32_t *counts, uint32_t *n, uint32_t machines)
{
    uint32_t at = 0;

    while (at < *n && counts[at] < machines)
        at++;
    if ((at < *n && counts[at] == machines) || *n == ADVISE_COUNTS_MAX)
        return;
    memmove(counts + at + 1, counts + at, (*n - at) * sizeof *counts);
    counts[at] = machines;
    ++*n;
}

/* Machine counts that cannot be advised because the algorithm diverged there or at fewer. */
static void find_diverged(const struct advise_runs *runs, uint32_t algorithm,
                          struct advise_algorithm *a)
{
    uint32_t most = a->counts > 0 ? a->machines[a->counts - 1] : 0;

    a->diverged_from = UINT32_MAX;
    for (size_t i = 0; i < runs->count; i++)
        if (runs->runs[i].algorithm == algorithm && runs->runs[i].diverged)
            add_count(a->diverged, &a->diverged_count, runs->runs[i].machines);
    for (uint32_t k = a->diverged_count; k-- > 0 && a->diverged[k] > most;)
        a->diverged_from = a->diverged[k];
}

/* Long enough, or flat at its end. */
static bool says_best(const struct advise_curve *c)
{
    size_t n = c->count;

    return n >= ADVISE_BEST_POINTS ||
           (n >= ADVISE_EVIDENCE_POINTS &&
            c->loss[n - 2] - c->loss[n - 1] <= FLAT * (c->loss[0] - c->loss[n - 1]));
}

static bool make_curves(struct base_arena *arena, const struct advise_runs *runs,
                        uint32_t algorithm, double size, struct advise_algorithm *a)
{
    size_t most = 0;

    a->lowest = (double)INFINITY;
    a->first = -(double)INFINITY;
    for (size_t i = 0; i < runs->count; i++)
        most += runs->runs[i].algorithm == algorithm;
    a->curves = base_arena_calloc(arena, most, sizeof *a->curves);
    if (a->curves == NULL)
        return false;
    for (size_t i = 0; i < runs->count; i++) {
        const struct advise_run *run = &runs->runs[i];
        struct advise_curve *c = &a->curves[a->curve_count];
        if (run->algorithm != algorithm || run->copy || run->diverged || run->size != size ||
            run->losses == 0)
            continue;
        if (!make_curve(arena, run, c))
            return false;
        a->lowest = fmin(a->lowest, c->loss[c->count - 1]);
        a->first = fmax(a->first, c->loss[0]);
        add_count(a->machines, &a->counts, run->machines);
        a->most_points = c->count > a->most_points ? c->count : a->most_points;
        a->says_best = a->says_best || says_best(c);
        a->curve_count++;
    }
    return true;
}

/* ---- the models ---- */

static shoal_status fit_model(const struct advise_fit *fit, uint32_t algorithm, uint32_t skip,
                              double ahead, double best, struct base_arena *arena,
                              struct advise_model *out)
{
    const struct advise_algorithm *a = &fit->algorithms[algorithm];
    shoal_status st = advise_time_fit(arena->alloc, fit->runs, algorithm, skip, &out->time);

    if (st == SHOAL_OK)
        st = advise_stretch_fit(a, skip, ahead, best, arena, out);
    if (st == SHOAL_OK)
        st = advise_few_fit(a, skip, ahead, best, arena, out);
    return st;
}

static double model_steps(const struct advise_model *m, enum advise_form form, uint32_t which,
                          double machines, double loss)
{
    return form == ADVISE_STRETCHED ? advise_stretch_steps(m, which, machines, loss)
                                    : advise_few_steps(m, which, machines, loss);
}

/* Errors of a model's logarithms of iterations on the later part of a curve: sum of squares, and
 * how many. */
static void add_errors(const struct advise_model *m, enum advise_form form,
                       const struct advise_curve *c, double from, double *sum, double *n)
{
    for (int k = 1; k <= LEVELS; k++) {
        double i = c->iteration[c->count - 1] * (from + (1 - from) * k / LEVELS);
        size_t at = c->count - 1;
        while (at > 0 && c->iteration[at] > i)
            at--;
        if (!(c->iteration[at] > 0) || c->count < 2)
            continue;
        double steps = model_steps(m, form, 0, c->run->machines, c->loss[at]);
        double e = isfinite(steps) && steps > 0 ? log(steps / c->iteration[at]) : WORST;
        e = fmin(fabs(e), WORST);
        *sum += e * e;
        ++*n;
    }
}

/* Both forms at the machine counts that parts have not seen. */
static void judge_forms(struct advise_algorithm *a)
{
    double sum[2] = {0}, n[2] = {0};

    for (uint32_t p = 0; p < a->part_count; p++)
        for (size_t i = 0; i < a->curve_count; i++)
            for (int form = 0; form < 2 && a->curves[i].run->machines == a->machines[p]; form++)
                add_errors(&a->part[p], (enum advise_form)form, &a->curves[i], HALF, &sum[form],
                           &n[form]);
    for (int form = 0; form < 2; form++)
        a->off_forms[form] = n[form] > 0 ? sqrt(sum[form] / n[form]) : (double)NAN;
}

/* How far off the parts are there, for each doubling of machines: inside the others, and outside.
 * A belief stands beside what few counts can say, as if it were PRIOR_COUNTS of them. */
static void judge_parts(const struct advise_fit *fit, struct advise_algorithm *a)
{
    double steps[2], time[2], n[2] = {PRIOR_COUNTS, PRIOR_COUNTS};

    for (int out = 0; out < 2; out++) {
        steps[out] = PRIOR_COUNTS * PRIOR_STEPS * PRIOR_STEPS;
        time[out] = PRIOR_COUNTS * PRIOR_TIME * PRIOR_TIME;
    }
    for (uint32_t p = 0; p < a->part_count; p++) {
        int out = p == 0 || p + 1 == a->counts;
        double way = advise_way(a->machines, a->counts, p, a->machines[p]);
        double sum = 0, m = 0;
        for (size_t i = 0; i < a->curve_count; i++)
            if (a->curves[i].run->machines == a->machines[p])
                add_errors(&a->part[p], a->model.form, &a->curves[i], HALF, &sum, &m);
        double is = advise_time_step_s(&a->model.time, a->machines[p], fit->size_curves);
        double was = advise_time_step_s(&a->part[p].time, a->machines[p], fit->size_curves);
        double e = is > 0 && was > 0 ? log(was / is) : WORST;
        steps[out] += m > 0 ? sum / m / way : 0;
        time[out] += e * e / way;
        n[out]++;
    }
    if (a->counts == 2 && a->part_count == 2) { /* nothing was inside: half of what it is outside */
        steps[0] = fmax(steps[0], 0.25 * steps[1] / n[1]);
        time[0] = fmax(time[0], 0.25 * time[1] / n[1]);
    }
    for (int out = 0; out < 2; out++) {
        a->off_steps[out] = sqrt(steps[out] / n[out]);
        a->off_time[out] = sqrt(time[out] / n[out]);
    }
}

/* How far off a fit of the first half of the curves is at their end. */
static shoal_status judge_ahead(const struct advise_fit *fit, uint32_t algorithm, double best,
                                double *out)
{
    const struct advise_algorithm *a = &fit->algorithms[algorithm];
    struct base_arena arena;
    struct advise_model *m;
    shoal_status st = SHOAL_E_NOMEM;

    base_arena_init(&arena, fit->arena.alloc, ARENA_BLOCK);
    m = base_arena_calloc(&arena, 1, sizeof *m);
    if (m != NULL)
        st = fit_model(fit, algorithm, 0, HALF, best, &arena, m);
    for (int form = 0; form < 2 && st == SHOAL_OK; form++) {
        double sum = 0, n = 0;
        for (size_t i = 0; i < a->curve_count; i++)
            add_errors(m, (enum advise_form)form, &a->curves[i], HALF, &sum, &n);
        out[form] = n > 0 && m->tail_count > 0 ? sqrt(sum / n) : (double)NAN;
    }
    base_arena_fini(&arena);
    return st;
}

static void choose_form(struct advise_algorithm *a, const double *ahead)
{
    double off[2];

    for (int form = 0; form < 2; form++) {
        double leave = isnan(a->off_forms[form]) ? 0 : a->off_forms[form];
        double on = isnan(ahead[form]) ? 0 : ahead[form];
        off[form] = sqrt(leave * leave + 0.25 * on * on);
    }
    a->model.form =
        off[ADVISE_FEATURES] < FEATURES_WIN * off[ADVISE_STRETCHED] && a->model.few_count > 0
            ? ADVISE_FEATURES
            : ADVISE_STRETCHED;
    a->off_ahead =
        isnan(ahead[a->model.form]) ? UNKNOWN_AHEAD : fmax(ahead[a->model.form], PRIOR_AHEAD);
    a->best = a->model.form == ADVISE_FEATURES ? a->model.few[0].best
              : a->model.tail_count > 0        ? a->model.tails[0].best
                                               : a->lowest;
    for (uint32_t p = 0; p < a->part_count; p++)
        a->part[p].form = a->model.form;
}

/* 5 % and 95 % of the estimates of the best loss. They are a grid: the truth may be anywhere up to
 * its next points. */
static void find_best_range(struct advise_algorithm *a)
{
    const struct advise_model *m = &a->model;
    bool few = m->form == ADVISE_FEATURES;
    uint32_t count = few ? m->few_count : m->tail_count;
    double badness[ADVISE_BESTS_MAX], odds[ADVISE_BESTS_MAX], best[ADVISE_BESTS_MAX];

    a->best_low = a->best_high = a->best;
    for (uint32_t k = 0; k < count; k++) {
        badness[k] = few ? m->few[k].badness : m->tails[k].badness;
        best[k] = few ? m->few[k].best : m->tails[k].best;
    }
    if (count > 0)
        advise_odds(badness, count, m->deep.count, odds);
    for (uint32_t k = 0; k < count; k++) {
        double below = 0, above = 0;
        for (uint32_t j = 0; j < count; j++) {
            below += best[j] <= best[k] ? odds[j] : 0;
            above += best[j] >= best[k] ? odds[j] : 0;
        }
        if (below >= TAIL && above >= TAIL) {
            a->best_low = fmin(a->best_low, best[k]);
            a->best_high = fmax(a->best_high, best[k]);
        }
    }
    if (count < 2) /* known, or none */
        return;
    double low = a->best_low, high = a->best_high, above = a->lowest, below = -(double)INFINITY;
    for (uint32_t k = 0; k < count; k++) {
        below = best[k] < low ? fmax(below, best[k]) : below;
        above = best[k] > high ? fmin(above, best[k]) : above;
    }
    a->best_low = isfinite(below) ? below : low;
    a->best_high = above;
}

static shoal_status fit_algorithm(struct advise_fit *fit, uint32_t algorithm,
                                  const struct advise_fit_opts *opts)
{
    struct advise_algorithm *a = &fit->algorithms[algorithm];
    double ahead[2] = {(double)NAN, (double)NAN};

    if (a->curve_count == 0) {
        a->verdict = a->diverged_count > 0 ? ADVISE_DIVERGED : ADVISE_NO_CURVE;
        return advise_time_fit(fit->arena.alloc, fit->runs, algorithm, 0, &a->model.time);
    }
    a->verdict = a->counts == 1 ? ADVISE_ONE_COUNT : ADVISE_GOOD;
    a->part_count = a->counts >= 2 ? a->counts : 0;
    if (a->part_count > ADVISE_PARTS_MAX)
        a->part_count = ADVISE_PARTS_MAX;
    a->part = base_arena_calloc(&fit->arena, a->part_count + 1, sizeof *a->part);
    if (a->part == NULL)
        return SHOAL_E_NOMEM;
    shoal_status st = fit_model(fit, algorithm, 0, 1, opts->best, &fit->arena, &a->model);
    for (uint32_t p = 0; p < a->part_count && st == SHOAL_OK; p++)
        st = fit_model(fit, algorithm, a->machines[p], 1, opts->best, &fit->arena, &a->part[p]);
    if (st == SHOAL_OK)
        st = judge_ahead(fit, algorithm, opts->best, ahead);
    if (st != SHOAL_OK)
        return st;
    a->time_counts = a->model.time.counts;
    judge_forms(a);
    choose_form(a, ahead);
    find_best_range(a);
    judge_parts(fit, a);
    return SHOAL_OK;
}

static void find_size(struct advise_fit *fit, const struct advise_fit_opts *opts)
{
    fit->size_curves = 0;
    fit->whole = true;
    for (size_t i = 0; i < fit->runs->count; i++) {
        const struct advise_run *run = &fit->runs->runs[i];
        fit->size_curves = fmax(fit->size_curves, run->size);
        for (size_t k = 0; k < run->count; k++)
            fit->whole = fit->whole && run->points[k].iteration == floor(run->points[k].iteration);
    }
    fit->size = isnan(opts->size) ? fit->size_curves : opts->size;
    fit->size_way = (double)INFINITY;
    fit->sizes = 1;
    for (size_t i = 0; i < fit->runs->count; i++) {
        double size = fit->runs->runs[i].size;
        fit->size_way = fmin(fit->size_way, fabs(log2(fit->size / size)));
        fit->sizes = size != fit->size_curves ? 2 : fit->sizes;
    }
}

/* The best loss of the problem, from the curve that went lowest: those that were cut short guess
 * the farthest. */
static void find_best(struct advise_fit *fit, double known)
{
    double lowest = (double)INFINITY;

    fit->best_by = UINT32_MAX;
    fit->best = fit->best_least;
    for (uint32_t i = 0; i < fit->algorithm_count; i++) {
        const struct advise_algorithm *a = &fit->algorithms[i];
        if (!a->says_best || !(a->lowest < lowest))
            continue;
        lowest = a->lowest;
        fit->best_by = i;
        fit->best = fmin(a->best, fit->lowest);
    }
    fit->best = isnan(known) ? fit->best : known;
}

/* The loss before the first iteration, which is one for all runs: where they do not say it, the
 * highest of where they would have begun, had they fallen in their first iterations as in the next
 * ones. They fell more: it is at least that. */
static double find_start(const struct advise_runs *runs, double size)
{
    double start = -(double)INFINITY;

    for (size_t i = 0; i < runs->count; i++) {
        const struct advise_run *run = &runs->runs[i];
        if (run->diverged || run->size != size || run->count == 0)
            continue;
        const struct advise_point *p = run->points;
        double from = p->loss; /* NAN where it was not measured: never the larger */
        if (run->count > 1 && p[1].loss < from)
            from += (from - p[1].loss) / (p[1].iteration - p->iteration) * p->iteration;
        start = isfinite(from) ? fmax(start, from) : start;
    }
    return start;
}

static shoal_status fit_all(struct advise_fit *fit, const struct advise_fit_opts *opts)
{
    const struct advise_runs *runs = fit->runs;
    shoal_status st = SHOAL_OK;

    fit->algorithm_count = runs->algorithm_count;
    fit->algorithms =
        base_arena_calloc(&fit->arena, runs->algorithm_count, sizeof *fit->algorithms);
    if (fit->algorithms == NULL)
        return SHOAL_E_NOMEM;
    find_size(fit, opts);
    double start = find_start(runs, fit->size_curves);
    fit->best_least = fit->lowest = (double)INFINITY;
    fit->first = -(double)INFINITY;
    for (uint32_t i = 0; i < fit->algorithm_count && st == SHOAL_OK; i++) {
        struct advise_algorithm *a = &fit->algorithms[i];
        a->name = runs->algorithms[i];
        a->start = start;
        if (!make_curves(&fit->arena, runs, i, fit->size_curves, a))
            return SHOAL_E_NOMEM;
        find_diverged(runs, i, a);
        st = fit_algorithm(fit, i, opts);
        if (a->curve_count == 0)
            continue;
        fit->best_least = fmin(fit->best_least, a->best);
        fit->lowest = fmin(fit->lowest, a->lowest);
        fit->first = fmax(fit->first, a->first);
    }
    find_best(fit, opts->best);
    return st;
}

/* The run that would help most: the one with the most losses goes on. Where it is long already,
 * more of the same says nothing. */
static void hint_longer(const struct advise_fit *fit, shoal_err *err)
{
    const struct advise_run *longest = NULL;

    for (size_t i = 0; i < fit->runs->count; i++) {
        const struct advise_run *r = &fit->runs->runs[i];
        if (!r->diverged && (longest == NULL || r->losses > longest->losses))
            longest = r;
    }
    if (longest == NULL || longest->losses >= LONG)
        base_err_hint(err, "losses that stay or go up and down show no convergence: smaller steps "
                           "may");
    else
        base_err_hint(err,
                      "the run that would help most: %.63s on %u machine%s, to some ten "
                      "iterations",
                      fit->runs->algorithms[longest->algorithm], longest->machines,
                      longest->machines == 1 ? "" : "s");
}

shoal_status advise_fit_enough(const struct advise_fit *fit, bool best, shoal_err *err)
{
    size_t points = 0;
    bool timed = false;

    for (size_t i = 0; i < fit->runs->count; i++) {
        const struct advise_run *r = &fit->runs->runs[i];
        timed = timed || (r->count > 0 && r->points[r->count - 1].time_s > 0);
    }
    for (uint32_t i = 0; i < fit->algorithm_count; i++)
        if (fit->algorithms[i].most_points > points)
            points = fit->algorithms[i].most_points;
    if (!timed) {
        base_err(err, SHOAL_E_IMPOSSIBLE,
                 "no time is above 0: nothing can be said about how long training takes");
        base_err_hint(err, "time_s is seconds since training began");
    } else if (fit->size_way > log2(ADVISE_BEYOND) + 1e-9) {
        base_err(err, SHOAL_E_IMPOSSIBLE,
                 "data of size %.6g is more than %d times larger or smaller than what was "
                 "measured: no advice is given that far",
                 fit->size, ADVISE_BEYOND);
        base_err_hint(err, "make a run over data of a size nearer to it");
    } else if (points < ADVISE_EVIDENCE_POINTS) {
        base_err(err, SHOAL_E_IMPOSSIBLE,
                 "too little was measured for advice: it needs a run with %d losses each lower "
                 "than all before, and no run has more than %zu",
                 ADVISE_EVIDENCE_POINTS, points);
        hint_longer(fit, err);
    } else if (best && fit->best_by == UINT32_MAX) {
        base_err(err, SHOAL_E_IMPOSSIBLE,
                 "too little was measured to say how low the loss can get, which this question "
                 "needs: it takes a run with %d losses each lower than all before, or with %d that "
                 "hardly fall any more; none has more than %zu (--target or --best would do "
                 "instead)",
                 ADVISE_BEST_POINTS, ADVISE_EVIDENCE_POINTS, points);
        hint_longer(fit, err);
    } else {
        return SHOAL_OK;
    }
    return SHOAL_E_IMPOSSIBLE;
}

shoal_status advise_fit_new(const struct base_alloc *alloc, const struct advise_runs *runs,
                            const struct advise_fit_opts *opts, struct advise_fit **out,
                            shoal_err *err)
{
    struct advise_fit *fit = base_calloc(alloc, 1, sizeof *fit);
    bool any = false;

    if (fit == NULL)
        return base_err_nomem(err, "fitting runs");
    base_arena_init(&fit->arena, alloc, ARENA_BLOCK);
    fit->runs = runs;
    shoal_status st = fit_all(fit, opts);
    for (uint32_t i = 0; st == SHOAL_OK && i < fit->algorithm_count; i++)
        any = any || fit->algorithms[i].curve_count > 0;
    if (st == SHOAL_E_NOMEM) {
        base_err_nomem(err, "fitting runs");
    } else if (st != SHOAL_OK) {
        base_err(err, st, "cannot fit these runs: %s", shoal_status_text(st));
    } else if (!any) {
        st = base_err(err, SHOAL_E_IMPOSSIBLE,
                      "too little was measured for advice: no run that converges says its loss");
        base_err_hint(err, "make runs of some ten iterations on two or more machine counts; --plan "
                           "says which");
    }
    if (st != SHOAL_OK) {
        advise_fit_free(fit);
        return st;
    }
    *out = fit;
    return SHOAL_OK;
}

void advise_fit_free(struct advise_fit *fit)
{
    if (fit == NULL)
        return;
    const struct base_alloc *alloc = fit->arena.alloc;
    base_arena_fini(&fit->arena);
    base_free(alloc, fit);
}
