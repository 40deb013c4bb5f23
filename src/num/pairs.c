/* pairs.c - column generation over pairs of groups.
 *
 * The master (num_lp) starts with every group alone on every kind, t, and the pairs that the last
 * call ended with. Its duals price all pairs worth pricing: p per GPU of a kind, tau per job-time
 * of a group, sigma per speed of a group. A pair (a, b) on a kind is worth
 *
 *     (value_a + sigma_a) speed_ab + (value_b + sigma_b) speed_ba - p z - tau_a - tau_b;
 *
 * the same formula holds for a = b, where two jobs of one group run together. The best few per
 * group are added and the master goes on, until none is worth anything. While the master cannot
 * keep the floors its duals are the proof of that, and columns are priced against the proof (value
 * = 0): one that breaks it is added, and if there is none, the floors cannot be kept at all.
 *
 * Pairs that do not beat running in turns are never candidates: with f_a = speed_ab / rate_a and
 * f_b likewise, f_a + f_b <= 1, a alone for f_a and b alone for f_b does the same in less.
 *
 * Rows are dimensionless (capacities in units of themselves, time in jobs of the group, speed in
 * top speeds of the group), so that one tolerance suits all. A group that neither needs nor is
 * promised anything has no speed row. Kinds without GPUs stay out of the master; their price is
 * worked out from the others at the end.
 *
 * The bound comes from the duals alone: sigma is raised until t earns nothing, then tau until
 * no column does; the rest is weak duality. It is right whatever the master did, so it also tells
 * when rounding has won. Tests: tests/unit/num/test_pairs.c. */
#include "num/pairs.h"

#include "base/room.h"
#include "num/lp.h"
#include <math.h>
#include <string.h>

enum {
    ROUNDS_MAX = 2000, /* of solving and pricing; some dozens are usual */
    NO_ROW = UINT32_MAX
};

static const double WORTH_TOLERANCE = 1e-11; /* of what a column earns */
static const double GAP_TOLERANCE = 1e-9;    /* between total and bound, of the total */
static const double NOISE = 1e-14;           /* of the terms of the bound */
static const double ROW_TOLERANCE = 1e-9; /* how far over a row, in its unit, a solution may be */
static const double DUST = 1e-13; /* of the jobs of a group: less is rounding, not a share */

/* A pair worth pricing. */
struct candidate {
    double first, second; /* speeds of `group` and of `with` */
    uint16_t group, with, kind;
    bool added;
};

struct num_pairs {
    const struct base_alloc *alloc;
    struct base_room room; /* of its arrays */
    struct num_lp *lp;

    /* the problem at hand */
    bool has_level;
    uint32_t rows, speed_row[NUM_PAIRS_GROUPS_MAX];
    double kind_unit[NUM_KINDS_MAX];
    double top[NUM_PAIRS_GROUPS_MAX]; /* unit of speed: the fastest kind */
    double b[NUM_KINDS_MAX + 2 * NUM_PAIRS_GROUPS_MAX];
    double column[NUM_KINDS_MAX + 2 * NUM_PAIRS_GROUPS_MAX];

    /* prices: per GPU, per job-time, per speed; earn = value + sigma */
    double p[NUM_KINDS_MAX], tau[NUM_PAIRS_GROUPS_MAX], sigma[NUM_PAIRS_GROUPS_MAX];
    double earn[NUM_PAIRS_GROUPS_MAX];

    struct candidate *candidates;
    size_t candidate_count;
    struct num_pairs_column *columns; /* one per column of the master but t, in order */
    size_t column_count;
    struct num_pairs_column *result;

    /* pairs of the last call */
    struct num_pairs_column *kept;
    size_t kept_count;
    uint32_t kept_groups, kept_kinds;
};

shoal_status num_pairs_new(const struct base_alloc *alloc, struct num_pairs **out)
{
    struct num_pairs *s = base_calloc(alloc, 1, sizeof *s);
    if (s == NULL)
        return SHOAL_E_NOMEM;
    s->alloc = s->room.alloc = alloc;
    *out = s;
    return SHOAL_OK;
}

void num_pairs_free(struct num_pairs *s)
{
    if (s == NULL)
        return;
    num_lp_free(s->lp);
    base_room_fini(&s->room);
    base_free(s->alloc, s);
}

/* ---- the problem ---- */

static double speed_of(const struct num_pairs_problem *p, uint32_t kind, uint32_t a, uint32_t b)
{
    size_t n = p->group_count;
    return (double)p->pair[((size_t)kind * n + a) * n + b];
}

static double rate_of(const struct num_pairs_problem *p, uint32_t group, uint32_t kind)
{
    return p->rate[(size_t)group * p->kind_count + kind];
}

static bool not_negative(double v)
{
    return v >= 0 && isfinite(v);
}

static shoal_status check(const struct num_pairs_problem *p)
{
    uint32_t n = p->group_count, k = p->kind_count;
    if (k == 0 || k > NUM_KINDS_MAX)
        return SHOAL_E_INVAL;
    if (n > NUM_PAIRS_GROUPS_MAX)
        return SHOAL_E_LIMIT;
    bool fine = true;
    for (uint32_t j = 0; j < k; j++)
        fine = fine && not_negative(p->capacity[j]);
    for (uint32_t g = 0; g < n; g++) {
        fine = fine && not_negative(p->gpus[g]) && p->gpus[g] > 0;
        fine = fine && not_negative(p->count[g]) && p->count[g] > 0;
        fine = fine && not_negative(p->need[g]);
        fine = fine && (p->floor == NULL || not_negative(p->floor[g]));
        fine = fine && (p->value == NULL || not_negative(p->value[g]));
        for (uint32_t j = 0; j < k; j++)
            fine = fine && not_negative(rate_of(p, g, j));
    }
    for (size_t i = 0; p->pair != NULL && fine && i < (size_t)k * n * n; i++)
        fine = p->pair[i] >= 0 && isfinite(p->pair[i]);
    return fine ? SHOAL_OK : SHOAL_E_INVAL;
}

static double floor_of(const struct num_pairs_problem *p, uint32_t group)
{
    return p->floor == NULL ? 0 : p->floor[group];
}

static double value_of(const struct num_pairs_problem *p, uint32_t group)
{
    return p->value == NULL ? 0 : p->value[group];
}

/* Chooses rows, units and right-hand sides. */
static void lay_out(struct num_pairs *s, const struct num_pairs_problem *p)
{
    uint32_t n = p->group_count, k = p->kind_count;
    s->has_level = false;
    s->rows = k + n;
    for (uint32_t j = 0; j < k; j++) {
        s->kind_unit[j] = p->capacity[j] > 0 ? p->capacity[j] : 1;
        s->b[j] = p->capacity[j] > 0 ? 1 : 0;
    }
    for (uint32_t g = 0; g < n; g++) {
        s->top[g] = 0;
        for (uint32_t j = 0; j < k; j++)
            s->top[g] = fmax(s->top[g], rate_of(p, g, j));
        if (s->top[g] == 0)
            s->top[g] = 1;
        s->b[k + g] = 1;
        s->speed_row[g] = NO_ROW;
        if (p->need[g] > 0 || floor_of(p, g) > 0) {
            s->b[s->rows] = -floor_of(p, g) / s->top[g];
            s->speed_row[g] = s->rows++;
        }
        s->has_level = s->has_level || p->need[g] > 0;
    }
}

static bool may_pair(const struct num_pairs_problem *p, uint32_t kind, uint32_t a, uint32_t b)
{
    double alone_a = rate_of(p, a, kind), alone_b = rate_of(p, b, kind);
    double a_b = speed_of(p, kind, a, b), b_a = speed_of(p, kind, b, a);
    if (p->gpus[a] != p->gpus[b] || (a == b && p->count[a] < 2))
        return false;
    return alone_a > 0 && alone_b > 0 && a_b > 0 && b_a > 0 && a_b / alone_a + b_a / alone_b > 1;
}

static shoal_status find_candidates(struct num_pairs *s, const struct num_pairs_problem *p)
{
    s->candidate_count = 0;
    if (p->pair == NULL)
        return SHOAL_OK;
    for (uint32_t j = 0; j < p->kind_count; j++) {
        for (uint32_t a = 0; a < p->group_count; a++) {
            BASE_ROOM(&s->room, s->candidates, s->candidate_count + p->group_count);
            if (base_room_status(&s->room) != SHOAL_OK)
                return SHOAL_E_NOMEM;
            for (uint32_t b = a; b < p->group_count; b++) {
                if (!may_pair(p, j, a, b))
                    continue;
                s->candidates[s->candidate_count++] =
                    (struct candidate){speed_of(p, j, a, b), speed_of(p, j, b, a), (uint16_t)a,
                                       (uint16_t)b,          (uint16_t)j,          false};
            }
        }
    }
    return SHOAL_OK;
}

/* ---- columns of the master ---- */

/* out (rows) += y x the column; returns what y of it are worth. */
static double spread(const struct num_pairs *s, const struct num_pairs_problem *p,
                     const struct num_pairs_column *c, double y, double *out)
{
    const uint32_t group[2] = {c->group, c->with};
    bool alone = c->with == NUM_PAIRS_ALONE;
    double worth = 0;
    out[c->kind] += y * p->gpus[c->group] / s->kind_unit[c->kind];
    for (int side = 0; side < (alone ? 1 : 2); side++) {
        uint32_t g = group[side], row = s->speed_row[g];
        double speed = alone ? rate_of(p, g, c->kind) : speed_of(p, c->kind, g, group[1 - side]);
        out[p->kind_count + g] += y / p->count[g];
        if (row != NO_ROW)
            out[row] -= y * speed / (s->top[g] * p->count[g]);
        worth += y * speed * value_of(p, g);
    }
    return worth;
}

static shoal_status add_column(struct num_pairs *s, const struct num_pairs_problem *p,
                               const struct num_pairs_column *c)
{
    uint32_t index;
    BASE_ROOM(&s->room, s->columns, s->column_count + 1);
    if (base_room_status(&s->room) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    memset(s->column, 0, s->rows * sizeof *s->column);
    double worth = spread(s, p, c, 1, s->column);
    shoal_status st = num_lp_add(s->lp, worth, s->column, &index);
    if (st == SHOAL_OK)
        s->columns[s->column_count++] = *c;
    return st;
}

static shoal_status add_candidate(struct num_pairs *s, const struct num_pairs_problem *p, size_t i)
{
    struct candidate *c = &s->candidates[i];
    const struct num_pairs_column column = {c->group, c->with, c->kind, 0};
    if (c->added)
        return SHOAL_OK;
    c->added = true;
    return add_column(s, p, &column);
}

static size_t find_candidate(const struct num_pairs *s, const struct num_pairs_column *c)
{
    size_t low = 0, high = s->candidate_count;
    uint64_t want = (uint64_t)c->kind << 32 | c->group << 16 | c->with;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct candidate *m = &s->candidates[mid];
        uint64_t key = (uint64_t)m->kind << 32 | (uint64_t)m->group << 16 | m->with;
        if (key < want)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == s->candidate_count)
        return low;
    const struct candidate *m = &s->candidates[low];
    bool same = m->kind == c->kind && m->group == c->group && m->with == c->with;
    return same ? low : s->candidate_count;
}

static shoal_status add_level(struct num_pairs *s, const struct num_pairs_problem *p)
{
    uint32_t index;
    memset(s->column, 0, s->rows * sizeof *s->column);
    for (uint32_t g = 0; g < p->group_count; g++) {
        if (s->speed_row[g] != NO_ROW)
            s->column[s->speed_row[g]] = p->need[g] / s->top[g];
    }
    return num_lp_add(s->lp, 1, s->column, &index);
}

/* The master with every group alone, and the pairs of the last call. */
static shoal_status start_master(struct num_pairs *s, const struct num_pairs_problem *p)
{
    shoal_status st = num_lp_ready(s->alloc, s->rows, s->b, NULL, &s->lp);
    s->column_count = 0;
    if (st == SHOAL_OK && s->has_level)
        st = add_level(s, p);
    for (uint32_t g = 0; g < p->group_count; g++) {
        for (uint32_t j = 0; j < p->kind_count && st == SHOAL_OK; j++) {
            const struct num_pairs_column alone = {g, NUM_PAIRS_ALONE, j, 0};
            if (p->capacity[j] > 0 && rate_of(p, g, j) > 0)
                st = add_column(s, p, &alone);
        }
    }
    bool same = s->kept_groups == p->group_count && s->kept_kinds == p->kind_count;
    for (size_t i = 0; same && i < s->kept_count && st == SHOAL_OK; i++) {
        size_t at = find_candidate(s, &s->kept[i]);
        if (at < s->candidate_count)
            st = add_candidate(s, p, at);
    }
    return st;
}

/* ---- prices ---- */

/* Reads the duals; `value_factor` 0 prices against a proof of infeasibility. Kinds without GPUs
 * cost too much for anyone. */
static void read_prices(struct num_pairs *s, const struct num_pairs_problem *p, double value_factor)
{
    const double *dual = num_lp_dual(s->lp);
    for (uint32_t j = 0; j < p->kind_count; j++)
        s->p[j] = p->capacity[j] > 0 ? dual[j] / s->kind_unit[j] : INFINITY;
    for (uint32_t g = 0; g < p->group_count; g++) {
        uint32_t row = s->speed_row[g];
        s->tau[g] = dual[p->kind_count + g] / p->count[g];
        s->sigma[g] = row == NO_ROW ? 0 : dual[row] / (s->top[g] * p->count[g]);
        s->earn[g] = value_factor * value_of(p, g) + s->sigma[g];
    }
}

/* Adds, for each group, the pair worth most for what it costs; out_added: how many. */
static shoal_status add_best(struct num_pairs *s, const struct num_pairs_problem *p,
                             size_t *out_added)
{
    double best[NUM_PAIRS_GROUPS_MAX];
    size_t which[NUM_PAIRS_GROUPS_MAX], before = s->column_count;
    shoal_status st = SHOAL_OK;
    for (uint32_t g = 0; g < p->group_count; g++) {
        best[g] = WORTH_TOLERANCE;
        which[g] = SIZE_MAX;
    }
    for (size_t i = 0; i < s->candidate_count; i++) {
        const struct candidate *c = &s->candidates[i];
        double gain = s->earn[c->group] * c->first + s->earn[c->with] * c->second;
        double cost = s->p[c->kind] * p->gpus[c->group] + s->tau[c->group] + s->tau[c->with];
        double worth = gain - cost;
        if (worth <= WORTH_TOLERANCE * gain)
            continue;
        worth /= gain;
        if (worth > best[c->group]) {
            best[c->group] = worth;
            which[c->group] = i;
        }
        if (worth > best[c->with]) {
            best[c->with] = worth;
            which[c->with] = i;
        }
    }
    for (uint32_t g = 0; g < p->group_count && st == SHOAL_OK; g++) {
        if (which[g] != SIZE_MAX)
            st = add_candidate(s, p, which[g]);
    }
    *out_added = s->column_count - before;
    return st;
}

/* ---- result ---- */

/* What a pair earns beyond the time it takes. */
static double margin(const struct num_pairs *s, const struct candidate *c)
{
    return s->earn[c->group] * c->first + s->earn[c->with] * c->second - s->tau[c->group] -
           s->tau[c->with];
}

/* The least price that keeps everyone off a kind without GPUs: what the first one would add. */
static void price_empty_kinds(struct num_pairs *s, const struct num_pairs_problem *p)
{
    for (uint32_t j = 0; j < p->kind_count; j++) {
        if (p->capacity[j] > 0)
            continue;
        s->p[j] = 0;
        for (uint32_t g = 0; g < p->group_count; g++)
            s->p[j] = fmax(s->p[j], (s->earn[g] * rate_of(p, g, j) - s->tau[g]) / p->gpus[g]);
    }
    for (size_t i = 0; i < s->candidate_count; i++) {
        const struct candidate *c = &s->candidates[i];
        if (p->capacity[c->kind] == 0)
            s->p[c->kind] = fmax(s->p[c->kind], margin(s, c) / p->gpus[c->group]);
    }
}

/* Makes the prices feasible for the dual and returns what they prove; out_size: of the terms
 * that it is made from. */
static double prove_bound(struct num_pairs *s, const struct num_pairs_problem *p, double *out_size)
{
    double earned = 0, bound = 0, size = 0, raise[NUM_PAIRS_GROUPS_MAX] = {0};
    for (uint32_t g = 0; g < p->group_count; g++)
        earned += s->sigma[g] * p->count[g] * p->need[g];
    for (uint32_t g = 0; g < p->group_count; g++) {
        if (s->has_level && earned > 0 && earned < 1)
            s->sigma[g] /= earned;
        s->earn[g] = value_of(p, g) + s->sigma[g];
    }
    price_empty_kinds(s, p);
    for (uint32_t g = 0; g < p->group_count; g++) {
        for (uint32_t j = 0; j < p->kind_count; j++) {
            double worth = s->earn[g] * rate_of(p, g, j) - s->p[j] * p->gpus[g] - s->tau[g];
            raise[g] = fmax(raise[g], worth);
        }
    }
    for (size_t i = 0; i < s->candidate_count; i++) {
        const struct candidate *c = &s->candidates[i];
        double worth = margin(s, c) - s->p[c->kind] * p->gpus[c->group];
        if (worth > raise[c->group])
            raise[c->group] = worth;
    }
    for (uint32_t j = 0; j < p->kind_count; j++) {
        bound += s->p[j] * p->capacity[j];
        size = fmax(size, s->p[j] * p->capacity[j]);
    }
    for (uint32_t g = 0; g < p->group_count; g++) {
        double time = (s->tau[g] + raise[g]) * p->count[g];
        double promised = s->sigma[g] * p->count[g] * floor_of(p, g);
        bound += time - promised;
        size = fmax(fmax(size, s->earn[g] * s->top[g] * p->count[g]), fmax(time, promised));
    }
    *out_size = size;
    return s->has_level && !(earned > 0) ? INFINITY : bound;
}

static uint32_t lp_index(const struct num_pairs *s, size_t column)
{
    return (uint32_t)column + (s->has_level ? 1 : 0);
}

/* Whether the master's solution keeps all rows. It does unless the master got stuck. */
static bool rows_kept(struct num_pairs *s, const struct num_pairs_problem *p, double level)
{
    double *over = s->column; /* use of each row, less what there is */
    for (uint32_t i = 0; i < s->rows; i++)
        over[i] = -s->b[i];
    for (uint32_t g = 0; g < p->group_count; g++) {
        if (s->speed_row[g] != NO_ROW)
            over[s->speed_row[g]] += level * p->need[g] / s->top[g];
    }
    for (size_t i = 0; i < s->column_count; i++) {
        double y = num_lp_value(s->lp, lp_index(s, i));
        if (y > 0)
            (void)spread(s, p, &s->columns[i], y, over);
    }
    for (uint32_t i = 0; i < s->rows; i++) {
        if (!(over[i] <= ROW_TOLERANCE))
            return false;
    }
    return true;
}

/* Collects columns in use, and remembers the pairs among them for the next call. */
static shoal_status collect(struct num_pairs *s, const struct num_pairs_problem *p,
                            struct num_pairs_result *out)
{
    BASE_ROOM(&s->room, s->result, s->column_count);
    BASE_ROOM(&s->room, s->kept, s->column_count);
    if (base_room_status(&s->room) != SHOAL_OK)
        return SHOAL_E_NOMEM;
    out->columns = s->result;
    out->column_count = 0;
    s->kept_count = 0;
    s->kept_groups = p->group_count;
    s->kept_kinds = p->kind_count;
    for (size_t i = 0; i < s->column_count; i++) {
        struct num_pairs_column c = s->columns[i];
        c.y = num_lp_value(s->lp, lp_index(s, i));
        if (c.y <= DUST * p->count[c.group])
            continue;
        s->result[out->column_count++] = c;
        if (c.with != NUM_PAIRS_ALONE)
            s->kept[s->kept_count++] = c;
    }
    return SHOAL_OK;
}

static shoal_status finish(struct num_pairs *s, const struct num_pairs_problem *p, bool optimal,
                           struct num_pairs_result *out)
{
    struct num_pairs_result r;
    double size;
    memset(&r, 0, sizeof r);
    r.level = s->has_level ? num_lp_value(s->lp, 0) : 0;
    r.total = num_lp_objective(s->lp);
    if (!rows_kept(s, p, r.level))
        return SHOAL_E_INTERNAL;
    read_prices(s, p, 1);
    r.bound = prove_bound(s, p, &size);
    memcpy(r.price, s->p, p->kind_count * sizeof *r.price);
    r.speed_price = s->sigma;
    r.exact = optimal && r.bound - r.total <= fmax(GAP_TOLERANCE * r.total, NOISE * size);
    shoal_status st = collect(s, p, &r);
    if (st == SHOAL_OK)
        *out = r;
    return st;
}

shoal_status num_pairs_solve(struct num_pairs *s, const struct num_pairs_problem *p,
                             struct num_pairs_result *out)
{
    shoal_status st = check(p);
    if (st != SHOAL_OK)
        return st;
    lay_out(s, p);
    st = find_candidates(s, p);
    if (st == SHOAL_OK)
        st = start_master(s, p);
    enum num_lp_outcome outcome = NUM_LP_STUCK;
    size_t added = 1;
    for (int round = 0; round < ROUNDS_MAX && added > 0 && st == SHOAL_OK; round++) {
        st = num_lp_solve(s->lp, 0, &outcome);
        if (st != SHOAL_OK || (outcome != NUM_LP_OPTIMAL && outcome != NUM_LP_INFEASIBLE))
            break;
        read_prices(s, p, outcome == NUM_LP_OPTIMAL ? 1 : 0);
        st = add_best(s, p, &added);
    }
    if (st != SHOAL_OK)
        return st;
    if (outcome == NUM_LP_INFEASIBLE)
        return added == 0 ? SHOAL_E_IMPOSSIBLE : SHOAL_E_INTERNAL;
    return finish(s, p, outcome == NUM_LP_OPTIMAL && added == 0, out);
}
