/* fit_stretch.c - the form "stretched": one curve for all machine counts, its iterations
 * multiplied.
 *
 * The deepest curve (the lowest loss of all runs) is the measure. Where another run passes a loss r
 * times later than the deepest one, r is known there; past its end log r goes on from the mean of
 * its last points with half the slope (over the logarithm of iterations) that they have: what one
 * would expect of the future is between none of the trend and all of it. Over machine counts log r
 * is linear in log m, also beyond the counts measured, with the slope of the nearest two. Before the
 * first point of a run that begins late r is as it is there; if the deepest one does, the tail below
 * is followed back from that point.
 *
 * Beyond the deepest curve's end log(loss - best) goes on as a0 - sum a_k term_k, a_k >= 0 and
 * every term rising in u, so it cannot rise; it is shifted to begin where the curve ends. For each
 * estimate of `best` (a grid below the lowest loss) the fit's badness is minus the mean logarithm
 * of the likelihood of the losses (of their logarithms, and the Jacobian of that). Tests:
 * tests/unit/advise/test_fit.c. */
#include "advise/fit_parts.h"

#include "num/least.h"
#include <math.h>

enum { TERMS = 4, COLUMNS = TERMS + 2, THIN = 48 };

static const double BEST_FIRST = 1e-5,
                    BEST_LAST = 2; /* below the lowest, in ranges of the losses */
static const double NOISE = 2e-3;  /* of log(loss - best): less is not believed */
static const double BEYOND = 1e3;  /* times the last iteration seen: all that is said */
/* Of the range of losses: finer differences to the best are noise, or else an estimate at the last
 * loss would always be likeliest. */
static const double GRAIN = 0.02;
static const double DRIFT_SHARE = 0.5, DRIFT_MAX = 1, DRIFT_WAY = 2;
static const double FIRST_SHARE = 1.0 / 64; /* of the first iteration: sooner nothing is passed */
static const double SLOPE_MAX = 2;          /* of log r over log m, where it is continued */

/* ---- curves ---- */

double advise_curve_at(const struct advise_curve *curve, double loss)
{
    size_t lo = 0, hi = curve->count;

    while (lo < hi) { /* the first point at or below */
        size_t mid = lo + (hi - lo) / 2;
        if (curve->loss[mid] <= loss)
            hi = mid;
        else
            lo = mid + 1;
    }
    if (lo == curve->count)
        return (double)INFINITY;
    if (lo == 0)
        return curve->iteration[0];
    double share = (curve->loss[lo - 1] - loss) / (curve->loss[lo - 1] - curve->loss[lo]);
    return curve->iteration[lo - 1] + share * (curve->iteration[lo] - curve->iteration[lo - 1]);
}

/* The first share of a curve. */
static struct advise_curve cut(const struct advise_curve *curve, double ahead)
{
    struct advise_curve c = *curve;

    if (ahead < 1)
        while (c.count > 0 && c.iteration[c.count - 1] > ahead * curve->iteration[curve->count - 1])
            c.count--;
    return c;
}

/* ---- the stretch ---- */

/* Iterations at which a curve passes a loss; before its first point it is taken to fall in a line
 * from `start`, the loss at iteration 0. Else a run on many machines that has not come down to the
 * first loss of one machine would be said to be where that one was after an iteration. */
static double passes(const struct advise_curve *curve, double start, double loss)
{
    if (curve->count == 0 || !(loss > curve->loss[0])) /* none: never */
        return advise_curve_at(curve, loss);
    double share = start > curve->loss[0] ? (start - loss) / (start - curve->loss[0]) : 0;
    return curve->iteration[0] * fmax(share, FIRST_SHARE);
}

static void tail_terms(double x, double *out)
{
    out[0] = x;
    out[1] = sqrt(x);
    out[2] = log1p(10 * x);
    out[3] = log1p(100 * x);
}

static double tail_at(const struct advise_tail *t, double u)
{
    double terms[TERMS], y = t->a[0];

    tail_terms(u / t->unit, terms);
    for (int k = 0; k < TERMS; k++)
        y -= t->a[1 + k] * terms[k];
    return y;
}

/* Where between lo, which is above it, and hi the tail falls to `want`. */
static double tail_falls_to(const struct advise_tail *t, double want, double lo, double hi)
{
    for (int k = 0; k < 60; k++) {
        double mid = 0.5 * (lo + hi);
        if (tail_at(t, mid) > want)
            lo = mid;
        else
            hi = mid;
    }
    return hi;
}

/* Where the tail, followed back from the first point of the deepest curve, was at `loss`. */
static double before(const struct advise_model *m, const struct advise_tail *t, double loss)
{
    double hi = m->deep.iteration[0], lo = FIRST_SHARE * hi;
    double want = log(loss - t->best) - log(m->deep.loss[0] - t->best) + tail_at(t, hi);

    if (!(tail_at(t, lo) > want))
        return lo;
    return tail_falls_to(t, want, lo, hi);
}

/* The same of the deepest curve: a line from the start is no shape for all that a late one hides. */
static double deep_passes(const struct advise_model *m, double loss)
{
    bool hidden = m->tail_count > 0 && m->deep.run->late && loss > m->deep.loss[0];

    return hidden ? before(m, &m->tails[0], loss) : passes(&m->deep, m->start, loss);
}

/* Where the deepest curve has the last loss of this one, r there and how it drifts: from the points
 * of the later half, weighted by iterations. False: the curves have no losses in common. */
static bool fit_run(const struct advise_curve *curve, const struct advise_model *m,
                    struct advise_stretched *out)
{
    double w = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, end = curve->iteration[curve->count - 1];

    *out = (struct advise_stretched){.curve = *curve};
    for (size_t k = 0; k < THIN; k++) {
        size_t i = curve->count > THIN ? k * (curve->count - 1) / (THIN - 1) : k;
        double own = i < curve->count ? curve->iteration[i] : 0;
        double at = own > 0 ? deep_passes(m, curve->loss[i]) : 0;
        if (!(own > 0 && at > 0 && isfinite(at)))
            continue;
        double weight = (own >= end / 2 ? 1 : 0.02) * own, x = log(at), y = log(own / at);
        out->u = fmax(out->u, at);
        w += weight;
        sx += weight * x;
        sy += weight * y;
        sxx += weight * x * x;
        sxy += weight * x * y;
    }
    if (!(w > 0))
        return false;
    double var = sxx - sx * sx / w;
    double slope = var > 1e-9 * w ? (sxy - sx * sy / w) / var : 0;
    out->drift = DRIFT_SHARE * fmin(fmax(slope, -DRIFT_MAX), DRIFT_MAX);
    out->log_r = sy / w + out->drift * (log(out->u) - sx / w);
    return true;
}

/* log r of a run where the deepest curve, or what continues it, is after u iterations at `loss`.
 * Before a run that begins late it is what it is at its first point. */
static double run_log_r(const struct advise_model *m, const struct advise_stretched *run, double u,
                        double loss)
{
    if (run->curve.run->late && loss > run->curve.loss[0]) {
        loss = run->curve.loss[0];
        u = deep_passes(m, loss);
    }
    double own = passes(&run->curve, m->start, loss);

    if (isfinite(own) && own > 0 && u > 0)
        return log(own / u);
    return run->log_r + run->drift * fmin(fmax(log(u / run->u), 0), DRIFT_WAY);
}

static double log_stretch(const struct advise_model *m, double machines, double u, double loss)
{
    double x[ADVISE_COUNTS_MAX], y[ADVISE_COUNTS_MAX], n = 0;
    uint32_t count = 0;

    for (size_t i = 0; i < m->run_count; i++) {
        const struct advise_stretched *run = &m->runs[i];
        double log_m = log(run->curve.run->machines), log_r = run_log_r(m, run, u, loss);
        if (count > 0 && x[count - 1] == log_m) {
            y[count - 1] = (y[count - 1] * n + log_r) / (n + 1);
            n++;
        } else if (count < ADVISE_COUNTS_MAX) {
            x[count] = log_m;
            y[count++] = log_r;
            n = 1;
        }
    }
    double at = log(machines);
    uint32_t k = 0;
    if (count < 2)
        return count == 1 ? y[0] : 0;
    while (k + 2 < count && at > x[k + 1])
        k++;
    double slope = (y[k + 1] - y[k]) / (x[k + 1] - x[k]);
    if (at < x[0] || at > x[count - 1])
        slope = fmin(fmax(slope, -SLOPE_MAX), SLOPE_MAX);
    return at > x[k + 1] ? y[k + 1] + slope * (at - x[k + 1]) : y[k] + slope * (at - x[k]);
}

/* ---- beyond the end ---- */

/* Points of the curve for the fit: half of them evenly in iterations, half evenly in losses'
 * order. */
static size_t thin(const struct advise_curve *deep, size_t *at)
{
    size_t n = 0, last = deep->count - 1;

    for (size_t k = 0; k < THIN; k++) {
        size_t i = deep->count <= THIN ? k : k * last / (THIN - 1);
        if (i < deep->count && (n == 0 || i > at[n - 1]))
            at[n++] = i;
    }
    return n;
}

static shoal_status fit_tail(const struct base_alloc *alloc, const struct advise_curve *deep,
                             double best, struct advise_tail *out)
{
    double a[THIN * COLUMNS], b[THIN], weight[THIN], x[COLUMNS] = {0}, rss = 0, weights = 0,
                                                     jacobian = 0;
    double grain = GRAIN * (deep->loss[0] - deep->loss[deep->count - 1]);
    struct advise_tail t = {.best = best, .unit = deep->iteration[deep->count - 1]};
    size_t at[THIN] = {0}, n = thin(deep, at);

    for (size_t k = 0; k < n; k++) {
        double terms[TERMS], u = deep->iteration[at[k]];
        tail_terms(u / t.unit, terms);
        a[k * COLUMNS] = 1;
        a[k * COLUMNS + 1] = -1;
        for (int j = 0; j < TERMS; j++)
            a[k * COLUMNS + 2 + (size_t)j] = -terms[j];
        b[k] = log(deep->loss[at[k]] - best);
        weight[k] = 0.1 + u / t.unit;
    }
    struct num_least problem = {n, COLUMNS, a, b, weight};
    shoal_status st = num_nnls(alloc, &problem, x, NULL);
    if (st != SHOAL_OK)
        return st;
    t.a[0] = x[0] - x[1];
    for (int j = 0; j < TERMS; j++)
        t.a[1 + j] = x[2 + j];
    for (size_t k = 0; k < n; k++) {
        double gap = deep->loss[at[k]] - best;
        double e = (tail_at(&t, deep->iteration[at[k]]) - b[k]) * gap / (gap + grain);
        rss += weight[k] * e * e;
        weights += weight[k];
        jacobian += weight[k] * log(gap + grain);
    }
    t.badness = 0.5 * log(rss / weights + NOISE * NOISE) + jacobian / weights;
    *out = t;
    return SHOAL_OK;
}

static shoal_status fit_tails(const struct base_alloc *alloc, const struct advise_curve *deep,
                              double best, struct advise_model *m)
{
    double lowest = deep->loss[deep->count - 1], range = deep->loss[0] - lowest;
    shoal_status st = SHOAL_OK;
    uint32_t want = isnan(best) ? ADVISE_BESTS_MAX : 1;

    m->tail_count = 0;
    if (deep->count < ADVISE_EVIDENCE_POINTS)
        return SHOAL_OK;
    for (uint32_t k = 0; k < want && st == SHOAL_OK; k++) {
        double share = (double)k / (ADVISE_BESTS_MAX - 1);
        double below = range * BEST_FIRST * pow(BEST_LAST / BEST_FIRST, share);
        double guess = isnan(best) ? lowest - below : fmin(best, lowest - range * 1e-9);
        struct advise_tail tail;
        if (!(guess < lowest))
            continue; /* lost in rounding */
        st = fit_tail(alloc, deep, guess, &tail);
        if (st != SHOAL_OK)
            break;
        uint32_t to = m->tail_count++;
        for (; to > 0 && m->tails[to - 1].badness > tail.badness; to--)
            m->tails[to] = m->tails[to - 1];
        m->tails[to] = tail;
    }
    return st;
}

/* Where the tail gets to `loss`; it begins at the end of the curve. */
static double beyond(const struct advise_model *m, const struct advise_tail *t, double loss)
{
    double end = m->deep.iteration[m->deep.count - 1], lo = end, hi = 2 * end;

    if (!(loss > t->best))
        return (double)INFINITY;
    double want =
        log(loss - t->best) - log(m->deep.loss[m->deep.count - 1] - t->best) + tail_at(t, end);
    while (tail_at(t, hi) > want) {
        lo = hi;
        hi *= 2;
        if (hi > BEYOND * end)
            return (double)INFINITY;
    }
    return tail_falls_to(t, want, lo, hi);
}

/* ---- all of it ---- */

double advise_stretch_steps(const struct advise_model *m, uint32_t tail, double machines,
                            double loss)
{
    double u = deep_passes(m, loss);

    if (!isfinite(u))
        u = m->tail_count > tail ? beyond(m, &m->tails[tail], loss) : (double)INFINITY;
    return isfinite(u) ? u * exp(log_stretch(m, machines, fmax(u, 1e-9), loss)) : u;
}

static void sort_runs(struct advise_model *m)
{
    for (size_t i = 1; i < m->run_count; i++)
        for (size_t k = i;
             k > 0 && m->runs[k - 1].curve.run->machines > m->runs[k].curve.run->machines; k--) {
            struct advise_stretched was = m->runs[k];
            m->runs[k] = m->runs[k - 1];
            m->runs[k - 1] = was;
        }
}

shoal_status advise_stretch_fit(const struct advise_algorithm *a, uint32_t skip, double ahead,
                                double best, struct base_arena *arena, struct advise_model *out)
{
    struct advise_curve deep = {.count = 0};

    out->run_count = 0;
    out->deep = deep;
    out->start = a->start;
    out->tail_count = 0;
    for (size_t i = 0; i < a->curve_count; i++) {
        struct advise_curve c = cut(&a->curves[i], ahead);
        if (c.run->machines != skip && c.count > 0 &&
            (deep.count == 0 || c.loss[c.count - 1] < deep.loss[deep.count - 1]))
            deep = c;
    }
    if (deep.count == 0)
        return SHOAL_OK;
    out->deep = deep;
    shoal_status st = fit_tails(arena->alloc, &deep, best, out);
    if (st != SHOAL_OK)
        return st;
    out->runs = base_arena_calloc(arena, a->curve_count, sizeof *out->runs);
    if (out->runs == NULL)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < a->curve_count; i++) {
        struct advise_curve c = cut(&a->curves[i], ahead);
        if (c.run->machines != skip && c.count > 0 && fit_run(&c, out, &out->runs[out->run_count]))
            out->run_count++;
    }
    sort_runs(out);
    return SHOAL_OK;
}
