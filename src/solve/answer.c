/* answer.c - what the public solver says of an answer: shares, speeds and flags of the caller's
 * rows, whatever was solved for, and whether it all holds. Tests: tests/unit/solve/test_api.c. */
#include "solve/call.h"

#include "base/map.h"
#include <math.h>
#include <string.h>

/* A speed this close to the fastest is the fastest. */
static const double TOP_SLACK = 1e-9;
/* What rounding may leave between value and bound, or of time and GPUs that are not there, before
 * an answer no longer counts as proven. */
static const double PROOF_SLACK = 1e-6;

/* Shares of rows: the mean over the jobs a row stands for. */
static const double *row_shares(struct solve_call *c, const double *x)
{
    size_t kinds = c->p.kind_count;
    double *out;

    if (c->row == NULL)
        return x;
    out = solve_call_array(c, c->p.job_count * kinds, sizeof *out);
    for (size_t i = 0; out != NULL && i < c->job_count; i++)
        for (size_t k = 0; k < kinds; k++)
            out[c->row[i] * kinds + k] += x[i * kinds + k] / solve_call_count(c, c->row[i]);
    return out;
}

/* Pairs of jobs as pairs of rows, those of the same rows and kind added up. */
static shoal_status row_pairs(struct solve_call *c, const struct sched_objective_result *from,
                              shoal_solve_result *r)
{
    shoal_solve_pair_share *pairs = solve_call_array(c, from->pair_count, sizeof *pairs);
    struct base_map seen;
    shoal_status st = SHOAL_OK;

    if (pairs == NULL)
        return SHOAL_E_NOMEM;
    r->pairs = pairs;
    base_map_init(&seen, env_alloc(c->s->env));
    for (size_t i = 0; i < from->pair_count; i++) {
        const struct sched_pair_share *pair = &from->pairs[i];
        uint32_t a = (uint32_t)solve_call_row(c, pair->job),
                 b = (uint32_t)solve_call_row(c, pair->with);
        uint32_t key[3] = {a < b ? a : b, a < b ? b : a, pair->kind};
        struct base_map_entry *entry;
        st = base_map_add(&seen, (const char *)key, sizeof key, r->pair_count, &entry);
        if (st == SHOAL_OK)
            pairs[r->pair_count++] = (shoal_solve_pair_share){key[0], key[1], key[2], pair->share};
        else if (st == SHOAL_E_EXISTS)
            pairs[entry->value].share += pair->share;
        else
            break;
        st = SHOAL_OK;
    }
    base_map_fini(&seen);
    return st;
}

/* Speed of `job` while `with` shares its GPUs. */
static double pair_rate(const struct solve_call *c, uint32_t kind, uint32_t job, uint32_t with)
{
    size_t classes = c->in.class_count;

    return (double)
        c->in.pair[(kind * classes + c->in.class_of[job]) * classes + c->in.class_of[with]];
}

static const double *row_speeds(struct solve_call *c, const struct sched_objective_result *from,
                                const double *shares)
{
    size_t kinds = c->p.kind_count;
    double *out = solve_call_array(c, c->p.job_count, sizeof *out);

    if (out == NULL)
        return NULL;
    for (size_t i = 0; i < c->p.job_count; i++)
        for (size_t k = 0; k < kinds; k++)
            out[i] += c->p.rates[i * kinds + k] * shares[i * kinds + k];
    for (size_t i = 0; i < from->pair_count; i++) {
        const struct sched_pair_share *pair = &from->pairs[i];
        size_t a = solve_call_row(c, pair->job), b = solve_call_row(c, pair->with);
        out[a] +=
            pair_rate(c, pair->kind, pair->job, pair->with) * pair->share / solve_call_count(c, a);
        out[b] +=
            pair_rate(c, pair->kind, pair->with, pair->job) * pair->share / solve_call_count(c, b);
    }
    return out;
}

/* Whether a row misses its deadline whatever the others do. */
static bool is_hopeless(const struct solve_call *c, size_t row, double fastest)
{
    double deadline_s = c->p.deadline_s[row];

    return deadline_s < (double)INFINITY &&
           (!(deadline_s > 0) || c->p.left == NULL || c->p.left[row] > fastest * deadline_s);
}

/* (rows) the fastest that a job can be beside another; 0: it cannot. */
static const double *fastest_beside(struct solve_call *c)
{
    double *out = solve_call_array(c, c->p.job_count, sizeof *out);
    size_t kinds = c->p.kind_count;

    for (size_t i = 0; out != NULL && i < c->p.pair_count; i++) {
        const shoal_solve_pair *pair = &c->p.pairs[i];
        if (pair->rate > 0 && pair->with_rate > 0 && c->p.capacity[pair->kind] > 0 &&
            c->p.rates[pair->job * kinds + pair->kind] > 0 &&
            c->p.rates[pair->with * kinds + pair->kind] > 0) {
            out[pair->job] = fmax(out[pair->job], pair->rate);
            out[pair->with] = fmax(out[pair->with], pair->with_rate);
        }
    }
    return out;
}

static const unsigned char *row_flags(struct solve_call *c,
                                      const struct sched_objective_result *from,
                                      const double *speeds)
{
    unsigned char *flags = solve_call_array(c, c->p.job_count, 1);
    const double *beside = fastest_beside(c);

    if (flags == NULL || beside == NULL)
        return NULL;
    for (size_t i = 0; i < c->p.job_count; i++) {
        double fastest = 0;
        for (uint32_t k = 0; k < c->p.kind_count; k++) {
            double rate = c->p.capacity[k] > 0 ? c->p.rates[i * c->p.kind_count + k] : 0;
            fastest = rate > fastest ? rate : fastest;
        }
        if (fastest == 0)
            flags[i] |= SHOAL_SOLVE_NOWHERE;
        else if (speeds[i] >= fmax(fastest, beside[i]) * (1 - TOP_SLACK))
            flags[i] |= SHOAL_SOLVE_TOP_SPEED;
        if (from->given_up != NULL && is_hopeless(c, i, fastest))
            flags[i] |= SHOAL_SOLVE_HOPELESS;
    }
    for (size_t i = 0; i < c->job_count; i++) {
        unsigned char *flag = &flags[solve_call_row(c, i)];
        if (from->slope != NULL && from->slope[i] > 0 && (*flag & SHOAL_SOLVE_NOWHERE) == 0)
            *flag |= SHOAL_SOLVE_HOLDS_BACK;
        if (from->given_up != NULL && from->given_up[i])
            *flag |= SHOAL_SOLVE_GIVEN_UP;
    }
    for (size_t i = 0; i < c->p.job_count; i++)
        if ((flags[i] & SHOAL_SOLVE_GIVEN_UP) == 0)
            flags[i] &= (unsigned char)~SHOAL_SOLVE_HOPELESS;
    return flags;
}

/* By how much the shares use more time or GPUs than there are, relative; the solver's word is not
 * taken for it. `used` (kinds) becomes what they use. NAN when a share is none. */
static double excess_of(const struct solve_call *c, const struct sched_objective_result *from,
                        double *time, double *used)
{
    size_t kinds = c->p.kind_count;
    double worst = 0;

    memset(used, 0, kinds * sizeof *used);
    for (size_t i = 0; i < c->job_count; i++) {
        double gpus = c->in.problem.gpus[i] * (c->row == NULL ? solve_call_count(c, i) : 1);
        for (size_t k = 0; k < kinds; k++) {
            double share = from->x[i * kinds + k];
            if (!(share >= 0))
                worst = -share > worst || isnan(share) ? -share : worst;
            time[i] += share;
            used[k] += share * gpus;
        }
    }
    for (size_t i = 0; i < from->pair_count; i++) {
        const struct sched_pair_share *pair = &from->pairs[i];
        time[pair->job] += pair->share;
        time[pair->with] += pair->share;
        used[pair->kind] += pair->share * c->in.problem.gpus[pair->job];
    }
    for (size_t i = 0; i < c->job_count; i++)
        worst = time[i] - 1 > worst || isnan(time[i]) ? time[i] - 1 : worst;
    for (size_t k = 0; k < kinds; k++) {
        double over = used[k] - c->p.capacity[k];
        over = over > 0 && c->p.capacity[k] > 0 ? over / c->p.capacity[k] : over;
        worst = over > worst || isnan(over) ? over : worst;
    }
    return worst;
}

shoal_status solve_answer_fill(struct solve_call *c, enum sched_objective objective,
                               const struct sched_objective_result *from, shoal_solve_result *out)
{
    double *numbers = solve_call_array(c, 2 * (size_t)c->p.kind_count, sizeof *numbers);
    double *time = solve_call_array(c, c->job_count, sizeof *time);
    shoal_solve_result r = {.struct_size = out->struct_size,
                            .level = from->reached,
                            .bound = from->bound,
                            .gap = sched_objective_gap(from),
                            .passes = from->passes,
                            .unit = sched_objectives[objective].unit,
                            .priced = from->priced,
                            .priced_unit = from->priced_unit,
                            .believed = from->level,
                            .prices = numbers};

    if (numbers == NULL || time == NULL || row_pairs(c, from, &r) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    memcpy(numbers, from->price, c->p.kind_count * sizeof *numbers);
    r.used = numbers + c->p.kind_count;
    double excess = excess_of(c, from, time, numbers + c->p.kind_count);
    r.exact = from->exact && r.gap <= PROOF_SLACK && excess <= PROOF_SLACK;
    r.shares = row_shares(c, from->x);
    r.speeds = r.shares != NULL ? row_speeds(c, from, r.shares) : NULL;
    r.flags = r.speeds != NULL ? row_flags(c, from, r.speeds) : NULL;
    if (r.flags == NULL)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < c->p.job_count; i++)
        r.given_up_count += (r.flags[i] & SHOAL_SOLVE_GIVEN_UP) != 0;
    memcpy(out, &r, out->struct_size < sizeof r ? out->struct_size : sizeof r);
    return SHOAL_OK;
}
