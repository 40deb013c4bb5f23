/* complete.c - matrix completion by regularised alternating least squares.
 *
 * Model. value_ij = mean + row_i + column_j + u_i . v_j, with u and v of `rank` numbers each. A fit
 * minimises the squared error over known entries plus lambda times the squares of the numbers of
 * each line (row or column) times its count of known entries, so that what a lambda means does not
 * depend on how many are known (Zhou and others, "Large-scale parallel collaborative filtering for
 * the Netflix prize", 2008). With one side fixed each line of the other is a least-squares problem
 * of rank + 1 unknowns: normal equations, and a Cholesky factor in place. A sweep, all rows then
 * all columns, costs O(known x rank^2).
 *
 * Choosing. The known entries are dealt into FOLDS parts. Each part in turn is hidden and predicted
 * by a fit to the others. For each rank fits go down the lambdas from strong to weak, each starting
 * from the one before: weak ones that start from random numbers get stuck with single lines far
 * off. A rank is left when a lambda brings no gain, and the search when two ranks bring less than
 * GAIN_MIN. The rank and lambda of least mean absolute error over all hidden entries are then
 * fitted to everything that is known, along the same path, from STARTS starts.
 *
 * Workspace: the known entries twice (by row, by column) and the numbers of FOLDS + 1 models.
 * Tests: tests/unit/num/test_complete.c. */
#include "num/complete.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/rand.h"
#include <math.h>
#include <string.h>

enum {
    WIDTH = NUM_COMPLETE_RANK_MAX + 1, /* numbers of a line: its own offset, then u or v */
    FOLDS = 5,
    SWEEPS_CHOOSE = 15, /* enough to tell good from bad */
    SWEEPS_FINAL = 1000,
    STARTS = 3, /* of the final fit; at most FOLDS + 1 */
    ARENA_BLOCK_SIZE = 1 << 16
};
static const double LAMBDAS[] = {0.1, 0.03, 0.01, 1e-3, 1e-6}; /* strong to weak */
enum { LAMBDA_COUNT = sizeof LAMBDAS / sizeof LAMBDAS[0] };
static const double SHAKE = 0.02;    /* of the columns' numbers, before each fit */
static const double GAIN_MIN = 0.02; /* relative, that a higher rank must bring */
/* A sweep that lowers the squared error by less is the last. */
static const double SETTLED_CHOOSE = 0.01, SETTLED_FINAL = 1e-4;

enum { ROWS, COLUMNS, SIDES };

struct entry {
    double value;
    uint32_t other; /* column of an entry by row, row of one by column */
    uint32_t fold;
};

/* Known entries of line i: entry[start[i]] .. entry[start[i + 1] - 1]. */
struct side {
    uint32_t count;
    uint32_t *start; /* (count + 1) */
    struct entry *entry;
};

/* A fit to all entries but those of one fold. */
struct model {
    uint32_t hidden; /* FOLDS: none */
    double mean;
    double *number[SIDES];    /* (lines, WIDTH) */
    double *line_mean[SIDES]; /* (lines) of what can be seen; NAN: nothing */
};

struct completion {
    struct side side[SIDES];
    struct model model[FOLDS + 1]; /* the last hides nothing */
    uint32_t known;
    struct base_rand rand;
    uint32_t sweeps;
};

/* ---- one least-squares problem ---- */

/* Solves a x = b for a symmetric positive definite a (lower half given, overwritten) of n rows. */
static void solve(double a[WIDTH][WIDTH], double *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            double s = a[i][j];
            for (uint32_t k = 0; k < j; k++)
                s -= a[i][k] * a[j][k];
            a[i][j] = i == j ? sqrt(fmax(s, 1e-12)) : s / a[j][j];
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < i; k++)
            b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
    for (uint32_t i = n; i-- > 0;) {
        for (uint32_t k = i + 1; k < n; k++)
            b[i] -= a[k][i] * b[k];
        b[i] /= a[i][i];
    }
}

/* The best numbers of one line, those of the other side fixed; 0 when it sees nothing. */
static void fit_line(const struct side *side, struct model *m, int s, uint32_t i, uint32_t rank,
                     double lambda)
{
    double a[WIDTH][WIDTH] = {{0}}, b[WIDTH] = {0};
    uint32_t n = rank + 1;

    for (uint32_t e = side->start[i]; e < side->start[i + 1]; e++) {
        const struct entry *entry = &side->entry[e];
        if (entry->fold == m->hidden)
            continue;
        const double *number = m->number[!s] + (size_t)entry->other * WIDTH;
        double y = entry->value - m->mean - number[0];
        b[0] += y;
        a[0][0] += 1;
        for (uint32_t p = 1; p < n; p++) {
            b[p] += y * number[p];
            a[p][0] += number[p];
            for (uint32_t q = 1; q <= p; q++)
                a[p][q] += number[p] * number[q];
        }
    }
    double count = a[0][0];
    if (count > 0) {
        for (uint32_t p = 0; p < n; p++)
            a[p][p] += lambda * count;
        solve(a, b, n);
    }
    memcpy(m->number[s] + (size_t)i * WIDTH, b, n * sizeof *b);
}

/* ---- a fit ---- */

static double predict(const struct model *m, uint32_t row, uint32_t column, uint32_t rank)
{
    const double *u = m->number[ROWS] + (size_t)row * WIDTH;
    const double *v = m->number[COLUMNS] + (size_t)column * WIDTH;
    double x = m->mean + u[0] + v[0];

    for (uint32_t p = 1; p <= rank; p++)
        x += u[p] * v[p];
    return x;
}

static double estimate(const struct model *m, uint32_t row, uint32_t column, uint32_t rank)
{
    double row_mean = m->line_mean[ROWS][row], column_mean = m->line_mean[COLUMNS][column];

    if (isnan(row_mean))
        return isnan(column_mean) ? m->mean : column_mean;
    if (isnan(column_mean))
        return row_mean;
    return fmin(fmax(predict(m, row, column, rank), 0), 1);
}

/* Over the entries that are hidden absolute errors of estimates, over the others squared ones of the fit. */
static double error_of(const struct completion *c, const struct model *m, uint32_t rank,
                       bool hidden)
{
    const struct side *rows = &c->side[ROWS];
    double sum = 0;

    for (uint32_t i = 0; i < rows->count; i++) {
        for (uint32_t e = rows->start[i]; e < rows->start[i + 1]; e++) {
            const struct entry *entry = &rows->entry[e];
            if ((entry->fold == m->hidden) != hidden)
                continue;
            double d = hidden ? estimate(m, i, entry->other, rank) - entry->value
                              : predict(m, i, entry->other, rank) - entry->value;
            sum += hidden ? fabs(d) : d * d;
        }
    }
    return sum;
}

static void fit(struct completion *c, struct model *m, uint32_t rank, double lambda, bool final)
{
    uint32_t sweeps_max = final ? SWEEPS_FINAL : SWEEPS_CHOOSE;
    double settled = final ? SETTLED_FINAL : SETTLED_CHOOSE;
    double last = INFINITY;

    for (uint32_t n = 0; n < sweeps_max; n++) {
        for (int s = ROWS; s < SIDES; s++)
            for (uint32_t i = 0; i < c->side[s].count; i++)
                fit_line(&c->side[s], m, s, i, rank, lambda);
        c->sweeps++;
        double error = error_of(c, m, rank, false);
        if (!(error < last * (1 - settled)) || error < 1e-12 * c->known)
            break;
        last = error;
    }
}

/* Goes on from the fit of the stronger lambda. Rows are fitted first, so it is the columns whose
 * numbers are shaken: what a strong lambda has pressed to nothing cannot grow again by itself. */
static void relax(struct completion *c, struct model *m, uint32_t rank, double lambda, bool final)
{
    for (uint32_t j = 0; j < c->side[COLUMNS].count; j++)
        for (uint32_t p = 1; p <= rank; p++)
            m->number[COLUMNS][(size_t)j * WIDTH + p] += base_rand_normal(&c->rand, 0, SHAKE);
    fit(c, m, rank, lambda, final);
}

/* No numbers yet, and the means. */
static void begin(const struct completion *c, struct model *m)
{
    double total = 0;
    uint32_t total_count = 0;

    for (int s = ROWS; s < SIDES; s++) {
        const struct side *side = &c->side[s];
        memset(m->number[s], 0, (size_t)side->count * WIDTH * sizeof *m->number[s]);
        for (uint32_t i = 0; i < side->count; i++) {
            double sum = 0;
            uint32_t count = 0;
            for (uint32_t e = side->start[i]; e < side->start[i + 1]; e++) {
                if (side->entry[e].fold != m->hidden) {
                    sum += side->entry[e].value;
                    count++;
                }
            }
            m->line_mean[s][i] = count > 0 ? sum / count : (double)NAN;
            total += sum;
            total_count += count;
        }
    }
    m->mean = total / total_count; /* both sides counted all */
}

/* ---- which fit ---- */

struct choice {
    uint32_t rank;
    int lambda;   /* which */
    double error; /* mean absolute, over hidden entries */
};

/* The best lambda for a rank. */
static struct choice descend(struct completion *c, uint32_t rank)
{
    struct choice best = {rank, 0, INFINITY};

    for (int fold = 0; fold < FOLDS; fold++)
        begin(c, &c->model[fold]);
    for (int l = 0; l < LAMBDA_COUNT && l <= best.lambda + 1; l++) {
        double sum = 0;
        for (int fold = 0; fold < FOLDS; fold++) {
            relax(c, &c->model[fold], rank, LAMBDAS[l], false);
            sum += error_of(c, &c->model[fold], rank, true);
        }
        if (sum / c->known < best.error) {
            best.error = sum / c->known;
            best.lambda = l;
        }
    }
    return best;
}

static struct choice choose(struct completion *c)
{
    struct choice best = {0, 0, INFINITY};

    for (uint32_t rank = 0; rank < WIDTH && rank <= best.rank + 2; rank++) {
        struct choice found = descend(c, rank);
        if (found.error < best.error * (1 - GAIN_MIN))
            best = found;
    }
    return best;
}

/* Too little is known to hide any of it: line means drawn to the mean, taken to be no better than
 * the mean. */
static struct choice no_choice(const struct completion *c)
{
    const struct model *all = &c->model[FOLDS];
    double sum = 0;

    for (uint32_t e = 0; e < c->known; e++)
        sum += fabs(c->side[ROWS].entry[e].value - all->mean);
    return (struct choice){0, 0, sum / c->known};
}

/* ---- the known entries ---- */

/* Deals the entries out to the folds: shuffled, then in turn. */
static void deal(struct completion *c, uint32_t *deck)
{
    for (uint32_t e = 0; e < c->known; e++)
        deck[e] = e;
    for (uint32_t e = c->known; e > 1; e--) {
        uint32_t other = (uint32_t)base_rand_below(&c->rand, e);
        uint32_t kept = deck[e - 1];
        deck[e - 1] = deck[other];
        deck[other] = kept;
    }
    for (uint32_t e = 0; e < c->known; e++)
        c->side[ROWS].entry[deck[e]].fold = e % FOLDS;
}

/* Entries by row are there; makes the same by column. */
static void transpose(const struct side *from, struct side *to)
{
    uint32_t known = from->start[from->count];

    for (uint32_t e = 0; e < known; e++)
        to->start[from->entry[e].other + 1]++;
    for (uint32_t j = 0; j < to->count; j++)
        to->start[j + 1] += to->start[j];
    for (uint32_t i = 0; i < from->count; i++) {
        for (uint32_t e = from->start[i]; e < from->start[i + 1]; e++) {
            struct entry entry = from->entry[e];
            uint32_t column = entry.other;
            entry.other = i;
            to->entry[to->start[column]++] = entry;
        }
    }
    for (uint32_t j = to->count; j > 0; j--) /* filling moved each start to the next one */
        to->start[j] = to->start[j - 1];
    to->start[0] = 0;
}

static bool reserve(struct completion *c, struct base_arena *arena, uint32_t rows, uint32_t columns)
{
    for (int s = ROWS; s < SIDES; s++) {
        struct side *side = &c->side[s];
        side->count = s == ROWS ? rows : columns;
        side->start = base_arena_calloc(arena, (size_t)side->count + 1, sizeof *side->start);
        side->entry = base_arena_calloc(arena, c->known, sizeof *side->entry);
        if (side->start == NULL || side->entry == NULL)
            return false;
        for (uint32_t fold = 0; fold <= FOLDS; fold++) {
            struct model *m = &c->model[fold];
            m->hidden = fold;
            m->number[s] =
                base_arena_alloc(arena, (size_t)side->count * WIDTH * sizeof *m->number[s]);
            m->line_mean[s] = base_arena_alloc(arena, side->count * sizeof *m->line_mean[s]);
            if (m->number[s] == NULL || m->line_mean[s] == NULL)
                return false;
        }
    }
    return true;
}

static shoal_status gather(struct completion *c, struct base_arena *arena, const double *value,
                           const bool *known)
{
    uint32_t *deck = base_arena_alloc(arena, c->known * sizeof *deck);
    struct side *rows = &c->side[ROWS];
    uint32_t columns = c->side[COLUMNS].count, count = 0;

    if (deck == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t i = 0; i < rows->count; i++) {
        for (uint32_t j = 0; j < columns; j++) {
            size_t at = (size_t)i * columns + j;
            if (known[at])
                rows->entry[count++] = (struct entry){.value = value[at], .other = j};
        }
        rows->start[i + 1] = count;
    }
    shoal_assert(count == c->known);
    deal(c, deck);
    transpose(rows, &c->side[COLUMNS]);
    return SHOAL_OK;
}

/* ---- the call ---- */

/* The fit to all that is known that comes closest to it, of STARTS: one may stop with single lines
 * far off. The folds' models are done and make room. */
static struct model *fit_all(struct completion *c, const struct choice *choice)
{
    struct model *best = NULL;
    double least = INFINITY;

    for (int start = 0; start < (choice->rank > 0 ? STARTS : 1); start++) {
        struct model *m = &c->model[FOLDS - start];
        m->hidden = FOLDS;
        begin(c, m);
        for (int l = 0; l <= choice->lambda; l++)
            relax(c, m, choice->rank, LAMBDAS[l], l == choice->lambda);
        double error = error_of(c, m, choice->rank, false);
        if (error < least) {
            least = error;
            best = m;
        }
    }
    return best;
}

static void complete(struct completion *c, const double *value, const bool *known,
                     double *out_value, struct num_complete_result *out)
{
    begin(c, &c->model[FOLDS]);
    struct choice choice = c->known >= NUM_COMPLETE_HIDE_MIN ? choose(c) : no_choice(c);
    const struct model *all = fit_all(c, &choice);
    shoal_assert(all != NULL);
    for (uint32_t i = 0; i < c->side[ROWS].count; i++) {
        for (uint32_t j = 0; j < c->side[COLUMNS].count; j++) {
            size_t at = (size_t)i * c->side[COLUMNS].count + j;
            out_value[at] = known[at] ? value[at] : estimate(all, i, j, choice.rank);
        }
    }
    *out = (struct num_complete_result){choice.rank, c->sweeps, choice.error};
}

shoal_status num_complete(const struct base_alloc *alloc, uint32_t rows, uint32_t columns,
                          const double *value, const bool *known, uint64_t seed, double *out_value,
                          struct num_complete_result *out)
{
    struct completion c = {.known = 0};
    struct base_arena arena;
    size_t size = (size_t)rows * columns;
    shoal_status st = SHOAL_E_NOMEM;

    if (rows == 0 || columns == 0 || rows > NUM_COMPLETE_SIDE_MAX ||
        columns > NUM_COMPLETE_SIDE_MAX)
        return SHOAL_E_INVAL;
    for (size_t at = 0; at < size; at++) {
        if (known[at] && !(value[at] >= 0 && value[at] <= 1))
            return SHOAL_E_INVAL;
        c.known += known[at];
    }
    if (c.known == 0) {
        for (size_t at = 0; at < size; at++)
            out_value[at] = 0.5;
        *out = (struct num_complete_result){0, 0, 0.5};
        return SHOAL_OK;
    }
    base_rand_init(&c.rand, seed, "num.complete");
    base_arena_init(&arena, alloc, ARENA_BLOCK_SIZE);
    if (reserve(&c, &arena, rows, columns))
        st = gather(&c, &arena, value, known);
    if (st == SHOAL_OK)
        complete(&c, value, known, out_value, out);
    base_arena_fini(&arena);
    return st;
}
