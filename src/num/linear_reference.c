/* linear_reference.c - linear models solved slowly and plainly, for tests of the fast ways.
 *
 * Smooth losses: proximal gradient steps with momentum, halved while the model of a step lies below
 * what it got, the momentum dropped when the objective rises (FISTA with restarts). Hinge: dual
 * coordinate ascent in cyclic order, each step exact. Everything is in doubles and dense in w. */
#include "num/linear.h"

#include "base/arena.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { ARENA_BLOCK_SIZE = 1 << 16 };

static double entry(const struct num_csr *x, uint64_t e)
{
    return x->value != NULL ? (double)x->value[e] : 1;
}

static double margin(const struct num_linear *p, const double *w, uint64_t row, uint32_t lane)
{
    double z = 0;

    for (uint64_t e = p->x.start[row]; e < p->x.start[row + 1]; e++)
        z += entry(&p->x, e) * w[(size_t)p->x.index[e] * p->lanes + lane];
    return z;
}

static double log_one_plus_exp(double t)
{
    return t > 0 ? t + log1p(exp(-t)) : log1p(exp(t));
}

/* Loss of lane `lane` and its derivative by that margin; of softmax lane 0 carries the loss. */
static double lose(const struct num_linear *p, const double *w, uint64_t row, uint32_t lane,
                   double *out_slope)
{
    double z = margin(p, w, row, lane), y = p->label[row] == lane ? 1 : -1, m = y * z;

    if (p->loss == NUM_LINEAR_SOFTMAX) {
        double sum = 0, top = -INFINITY;
        for (uint32_t k = 0; k < p->lanes; k++)
            top = fmax(top, margin(p, w, row, k));
        for (uint32_t k = 0; k < p->lanes; k++)
            sum += exp(margin(p, w, row, k) - top);
        *out_slope = exp(z - top) / sum - (p->label[row] == lane);
        return lane == 0 ? log(sum) + top - margin(p, w, row, p->label[row]) : 0;
    }
    if (p->loss == NUM_LINEAR_LOGISTIC) {
        *out_slope = -y / (1 + exp(m));
        return log_one_plus_exp(-m);
    }
    double h = fmax(0, 1 - m);
    if (p->loss == NUM_LINEAR_HINGE) {
        *out_slope = h > 0 ? -y : 0;
        return h;
    }
    *out_slope = -2 * y * h;
    return h * h;
}

/* cost x loss; its gradient into g where that is not NULL. */
static double loss_at(const struct num_linear *p, const double *w, double *g)
{
    double total = 0, slope;

    if (g != NULL)
        memset(g, 0, (size_t)p->x.columns * p->lanes * sizeof *g);
    for (uint64_t row = 0; row < p->x.rows; row++) {
        for (uint32_t k = 0; k < p->lanes; k++) {
            total += (double)p->cost * lose(p, w, row, k, &slope);
            for (uint64_t e = p->x.start[row]; g != NULL && e < p->x.start[row + 1]; e++)
                g[(size_t)p->x.index[e] * p->lanes + k] +=
                    (double)p->cost * slope * entry(&p->x, e);
        }
    }
    return total;
}

static double penalty_at(enum num_linear_penalty penalty, const double *w, size_t size)
{
    double total = 0;

    for (size_t i = 0; i < size; i++)
        total += penalty == NUM_LINEAR_ABSOLUTE ? fabs(w[i]) : 0.5 * w[i] * w[i];
    return total;
}

double num_linear_objective_reference(const struct num_linear *p, enum num_linear_penalty penalty,
                                      const double *w)
{
    return loss_at(p, w, NULL) + penalty_at(penalty, w, (size_t)p->x.columns * p->lanes);
}

/* The minimum over one weight of penalty + (w - at)^2 / (2 step). */
static double draw_in(enum num_linear_penalty penalty, double at, double step)
{
    if (penalty == NUM_LINEAR_SQUARES)
        return at / (1 + step);
    return at > step ? at - step : at < -step ? at + step : 0;
}

struct descent {
    size_t size;
    double *w, *ahead, *next, *g;
    double step, momentum;
};

/* One step from `ahead`, short enough that the loss stays below its model. */
static void descend(const struct num_linear *p, enum num_linear_penalty penalty, struct descent *d)
{
    double loss = loss_at(p, d->ahead, d->g);

    for (;; d->step /= 2) {
        double model = loss;
        for (size_t i = 0; i < d->size; i++) {
            d->next[i] = draw_in(penalty, d->ahead[i] - d->step * d->g[i], d->step);
            double by = d->next[i] - d->ahead[i];
            model += by * d->g[i] + by * by / (2 * d->step);
        }
        if (loss_at(p, d->next, NULL) <= model + 1e-12 * fabs(model) || d->step < 1e-12)
            return;
    }
}

static void solve_smooth(const struct num_linear *p, enum num_linear_penalty penalty,
                         uint32_t rounds, struct descent *d)
{
    double best = num_linear_objective_reference(p, penalty, d->w);

    for (uint32_t n = 0; n < rounds; n++) {
        descend(p, penalty, d);
        double now = num_linear_objective_reference(p, penalty, d->next);
        double t = (1 + sqrt(1 + 4 * d->momentum * d->momentum)) / 2;
        if (now > best) { /* gone too far: again from the best, without momentum */
            if (d->momentum == 1)
                return;
            d->momentum = 1;
            memcpy(d->ahead, d->w, d->size * sizeof *d->w);
            continue;
        }
        for (size_t i = 0; i < d->size; i++) {
            d->ahead[i] = d->next[i] + (d->momentum - 1) / t * (d->next[i] - d->w[i]);
            d->w[i] = d->next[i];
        }
        d->momentum = t;
        d->step *= 1.1;
        best = now;
    }
}

static void solve_hinge(const struct num_linear *p, uint32_t rounds, double *w, double *alpha)
{
    bool moved = true;

    for (uint32_t n = 0; n < rounds && moved; n++) {
        moved = false;
        for (uint64_t row = 0; row < p->x.rows; row++) {
            double norm = 0;
            for (uint64_t e = p->x.start[row]; e < p->x.start[row + 1]; e++)
                norm += entry(&p->x, e) * entry(&p->x, e);
            for (uint32_t k = 0; k < p->lanes && norm > 0; k++) {
                double y = p->label[row] == k ? 1 : -1, *a = &alpha[row * p->lanes + k];
                double next = *a + (1 - y * margin(p, w, row, k)) / norm;
                next = fmin(fmax(next, 0), (double)p->cost);
                moved = moved || next != *a;
                for (uint64_t e = p->x.start[row]; e < p->x.start[row + 1]; e++)
                    w[(size_t)p->x.index[e] * p->lanes + k] += y * (next - *a) * entry(&p->x, e);
                *a = next;
            }
        }
    }
}

shoal_status num_linear_solve_reference(const struct base_alloc *alloc, const struct num_linear *p,
                                        enum num_linear_penalty penalty, uint32_t rounds,
                                        double *out_w, double *out_objective)
{
    size_t size = (size_t)p->x.columns * p->lanes;
    struct descent d = {.size = size, .step = 1, .momentum = 1};
    struct base_arena arena;
    shoal_status st = SHOAL_E_NOMEM;

    if (p->lanes == 0 || (p->loss == NUM_LINEAR_HINGE && penalty != NUM_LINEAR_SQUARES))
        return SHOAL_E_INVAL;
    base_arena_init(&arena, alloc, ARENA_BLOCK_SIZE);
    d.w = base_arena_calloc(&arena, size + 1, sizeof *d.w);
    d.ahead = base_arena_calloc(&arena, size + 1, sizeof *d.w);
    d.next = base_arena_calloc(&arena, size + 1, sizeof *d.w);
    d.g = base_arena_calloc(&arena, size + 1, sizeof *d.w);
    double *alpha = base_arena_calloc(&arena, p->x.rows * p->lanes + 1, sizeof *alpha);
    if (d.w != NULL && d.ahead != NULL && d.next != NULL && d.g != NULL && alpha != NULL) {
        if (p->loss == NUM_LINEAR_HINGE)
            solve_hinge(p, rounds, d.w, alpha);
        else
            solve_smooth(p, penalty, rounds, &d);
        memcpy(out_w, d.w, size * sizeof *out_w);
        *out_objective = num_linear_objective_reference(p, penalty, d.w);
        st = SHOAL_OK;
    }
    base_arena_fini(&arena);
    return st;
}
