/* Tests of src/num/lp.c. An optimum is proven by its certificate: y feasible, duals feasible, equal
 * objectives; so random programs of any size need no second solver. Small ones are also compared
 * with the best of all vertices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rand.h"
#include "num/lp.h"
#include "property.h"
#include "torture.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 160, COLUMNS_MAX = 400 };

/* Certificates hold to this, relative to the terms they are made of and to the unit of the row or
 * column (a sum of terms that are all 0 but for rounding has no size of its own). */
static const double TOLERANCE = 1e-10;

struct program {
    uint32_t rows, columns;
    double b[ROWS_MAX];
    bool equal[ROWS_MAX];
    double cost[COLUMNS_MAX];
    double a[COLUMNS_MAX][ROWS_MAX];
    double row_unit[ROWS_MAX],
        column_unit[COLUMNS_MAX]; /* a / (row_unit x column_unit) is about 1 */
};

static struct program program, other;

static struct num_lp *new_lp(const struct program *p)
{
    struct num_lp *lp = NULL;
    assert_int_equal(num_lp_new(&base_alloc_libc, p->rows, p->b, p->equal, &lp), SHOAL_OK);
    return lp;
}

static void add_columns(struct num_lp *lp, const struct program *p, uint32_t from, uint32_t to)
{
    for (uint32_t j = from; j < to; j++) {
        uint32_t index;
        assert_int_equal(num_lp_add(lp, p->cost[j], p->a[j], &index), SHOAL_OK);
        assert_int_equal(index, j);
    }
}

static enum num_lp_outcome solve(struct num_lp *lp)
{
    enum num_lp_outcome outcome;
    assert_int_equal(num_lp_solve(lp, 0, &outcome), SHOAL_OK);
    return outcome;
}

static enum num_lp_outcome solve_program(const struct program *p, double *out_objective)
{
    struct num_lp *lp = new_lp(p);
    add_columns(lp, p, 0, p->columns);
    enum num_lp_outcome outcome = solve(lp);
    *out_objective = num_lp_objective(lp);
    num_lp_free(lp);
    return outcome;
}

/* Fails unless the solution of `lp` over the first `columns` columns is proven optimal by itself:
 * rows kept, duals not negative, no column worth more than its price, both objectives equal. */
static void check_optimal(const struct num_lp *lp, const struct program *p, uint32_t columns)
{
    const double *dual = num_lp_dual(lp);
    double priced = 0, priced_size = 0, earned = 0, earned_size = 0;
    for (uint32_t i = 0; i < p->rows; i++) {
        double sum = 0, size = fabs(p->b[i]) + p->row_unit[i];
        for (uint32_t j = 0; j < columns; j++) {
            double term = p->a[j][i] * num_lp_value(lp, j);
            sum += term;
            size += fabs(term);
        }
        if (sum - p->b[i] > TOLERANCE * size || (p->equal[i] && p->b[i] - sum > TOLERANCE * size))
            fail_msg("row %u: %.17g against %.17g", i, sum, p->b[i]);
        assert_true(p->equal[i] || dual[i] >= 0);
        priced += dual[i] * p->b[i];
        priced_size += fabs(dual[i] * p->b[i]);
    }
    for (uint32_t j = 0; j < columns; j++) {
        double price = 0, size = fabs(p->cost[j]) + p->column_unit[j];
        double value = num_lp_value(lp, j);
        assert_true(value >= 0);
        for (uint32_t i = 0; i < p->rows; i++) {
            price += dual[i] * p->a[j][i];
            size += fabs(dual[i] * p->a[j][i]);
        }
        if (p->cost[j] - price > TOLERANCE * size)
            fail_msg("column %u of %u: cost %.17g above price %.17g", j, columns, p->cost[j],
                     price);
        earned += p->cost[j] * value;
        earned_size += fabs(p->cost[j] * value);
    }
    double scale = fmax(1, fmax(priced_size, earned_size));
    if (fabs(priced - earned) > TOLERANCE * scale)
        fail_msg("objective %.17g, bound %.17g", earned, priced);
    assert_true(fabs(num_lp_objective(lp) - earned) <= TOLERANCE * scale);
}

/* ---- random programs ---- */

static double grid(struct base_rand *r, int span)
{
    return (double)((int)base_rand_below(r, (uint64_t)(2 * span + 1)) - span);
}

enum flavour { ANY, TIES, WIDE };

/* Feasible and bounded: b = A point (+ slack), and the costs lie under A'dual + something not
 * positive, so that a certificate exists. ANY: plain numbers. TIES: small integers, many zeros, b
 * mostly tight. WIDE: rows and columns scaled over six orders of magnitude each. */
static void random_program(struct program *p, struct base_rand *r, enum flavour flavour,
                           uint32_t rows, uint32_t columns, double equations)
{
    p->rows = rows;
    p->columns = columns;
    static double point[COLUMNS_MAX];
    double dual[ROWS_MAX];
    for (uint32_t i = 0; i < rows; i++) {
        p->equal[i] = base_rand_unit(r) < equations;
        p->b[i] = 0;
        dual[i] = base_rand_unit(r) < 0.4 ? 0
                  : flavour == TIES       ? (double)base_rand_below(r, 4)
                                          : base_rand_unit(r);
        if (p->equal[i] && base_rand_below(r, 2) == 0)
            dual[i] = -dual[i];
        p->row_unit[i] = flavour == WIDE ? pow(10, base_rand_range(r, -3, 3)) : 1;
    }
    double density = base_rand_range(r, 0.1, 1);
    for (uint32_t j = 0; j < columns; j++) {
        double scale = flavour == WIDE ? pow(10, base_rand_range(r, -3, 3)) : 1;
        point[j] = base_rand_unit(r) < 0.6 ? 0
                   : flavour == TIES       ? (double)base_rand_below(r, 3)
                                           : base_rand_unit(r);
        p->column_unit[j] = scale;
        point[j] /= scale;
        p->cost[j] = 0;
        for (uint32_t i = 0; i < rows; i++) {
            double v = flavour == TIES ? grid(r, 2) : base_rand_range(r, -1, 2);
            v = base_rand_unit(r) < density ? v : 0;
            p->a[j][i] = v * scale * p->row_unit[i];
            p->b[i] += p->a[j][i] * point[j];
            p->cost[j] += v * scale * dual[i];
        }
        if (base_rand_below(r, 2) == 0)
            p->cost[j] -= scale * (flavour == TIES ? 1 : base_rand_unit(r));
    }
    for (uint32_t i = 0; i < rows; i++) {
        if (!p->equal[i] && base_rand_below(r, 2) == 0)
            p->b[i] += p->row_unit[i] * (flavour == TIES ? 1 : base_rand_unit(r));
    }
}

static void programs_are_solved_with_proof(enum flavour flavour, const char *name, int count,
                                           uint32_t rows_max)
{
    struct base_rand r;
    base_rand_init(&r, 1, name);
    for (int n = 0; n < property_count(count); n++) {
        uint32_t rows = 1 + (uint32_t)base_rand_below(&r, rows_max);
        uint32_t columns = 1 + (uint32_t)base_rand_below(&r, 3 * rows < 300 ? 3 * rows : 300);
        double equations = base_rand_below(&r, 2) == 0 ? 0 : base_rand_unit(&r) / 2;
        random_program(&program, &r, flavour, rows, columns, equations);
        struct num_lp *lp = new_lp(&program);
        add_columns(lp, &program, 0, columns);
        enum num_lp_outcome outcome = solve(lp);
        if (outcome != NUM_LP_OPTIMAL)
            fail_msg("%s %d (%u x %u): outcome %d", name, n, rows, columns, (int)outcome);
        check_optimal(lp, &program, columns);
        num_lp_free(lp);
    }
}

static void random_programs_are_solved_with_proof(void **state)
{
    (void)state;
    programs_are_solved_with_proof(ANY, "any", 400, 60);
}

static void programs_full_of_ties_are_solved_with_proof(void **state)
{
    (void)state;
    programs_are_solved_with_proof(TIES, "ties", 400, 60);
}

static void programs_over_twelve_orders_of_magnitude_are_solved_with_proof(void **state)
{
    (void)state;
    programs_are_solved_with_proof(WIDE, "wide", 400, 40);
}

static void programs_of_many_rows_are_solved_with_proof(void **state)
{
    (void)state;
    programs_are_solved_with_proof(ANY, "many any", 20, ROWS_MAX);
    programs_are_solved_with_proof(TIES, "many ties", 20, ROWS_MAX);
}

/* Copies of columns with changes down to 1e-8, and the same for rows: bases are all but
 * singular. */
static void programs_with_nearly_equal_columns_are_solved_with_proof(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "near");
    for (int n = 0; n < property_count(300); n++) {
        struct program *p = &program;
        uint32_t rows = 2 + (uint32_t)base_rand_below(&r, 30), columns = 3 * rows;
        random_program(p, &r, n % 2 == 0 ? ANY : TIES, rows, columns, 0);
        for (uint32_t j = columns / 3; j < columns; j++) {
            uint32_t from = (uint32_t)base_rand_below(&r, columns / 3);
            double change = pow(10, base_rand_range(&r, -8, -4));
            for (uint32_t i = 0; i < rows; i++)
                p->a[j][i] = p->a[from][i] + change * (base_rand_unit(&r) - 0.5);
            p->cost[j] = p->cost[from] + change * (base_rand_unit(&r) - 0.5);
        }
        for (uint32_t i = rows / 2; i < rows; i++) {
            uint32_t from = (uint32_t)base_rand_below(&r, rows / 2);
            double change = pow(10, base_rand_range(&r, -8, -4));
            for (uint32_t j = 0; j < columns; j++)
                p->a[j][i] = p->a[j][from] + change * (base_rand_unit(&r) - 0.5);
        }
        for (uint32_t i = 0; i < rows; i++) {
            p->b[i] = base_rand_below(&r, 3) == 0 ? 0 : 1;
            for (uint32_t j = 0; i == 0 && j < columns; j++)
                p->a[j][i] = 1; /* bounds all columns */
        }
        p->b[0] = 1;
        struct num_lp *lp = new_lp(p);
        add_columns(lp, p, 0, columns);
        assert_int_equal(solve(lp), NUM_LP_OPTIMAL);
        check_optimal(lp, p, columns);
        num_lp_free(lp);
    }
}

/* ---- against all vertices ---- */

/* Solves the square system in place; false: singular. */
static bool gauss(uint32_t n, double (*a)[8], double *b)
{
    for (uint32_t c = 0; c < n; c++) {
        uint32_t best = c;
        for (uint32_t i = c; i < n; i++)
            best = fabs(a[i][c]) > fabs(a[best][c]) ? i : best;
        if (fabs(a[best][c]) < 1e-9)
            return false;
        for (uint32_t k = 0; k < n; k++) {
            double t = a[c][k];
            a[c][k] = a[best][k];
            a[best][k] = t;
        }
        double t = b[c];
        b[c] = b[best];
        b[best] = t;
        for (uint32_t i = 0; i < n; i++) {
            if (i == c)
                continue;
            double f = a[i][c] / a[c][c];
            for (uint32_t k = c; k < n; k++)
                a[i][k] -= f * a[c][k];
            b[i] -= f * b[c];
        }
    }
    for (uint32_t i = 0; i < n; i++)
        b[i] /= a[i][i];
    return true;
}

/* The best vertex of a program over columns and slacks; -INFINITY: there is none. With y >= 0 every
 * feasible program has one; whether it is bounded the caller must know. */
static double best_vertex(const struct program *p)
{
    uint32_t variables = p->columns + p->rows;
    double best = -INFINITY;
    for (uint32_t set = 0; set < 1u << variables; set++) {
        if ((uint32_t)__builtin_popcount(set) != p->rows)
            continue;
        double a[8][8], x[8], value = 0;
        uint32_t pick[8], n = 0;
        for (uint32_t v = 0; v < variables; v++) {
            if (set >> v & 1)
                pick[n++] = v;
        }
        for (uint32_t i = 0; i < n; i++) {
            x[i] = p->b[i];
            for (uint32_t k = 0; k < n; k++)
                a[i][k] = pick[k] < p->columns ? p->a[pick[k]][i] : pick[k] - p->columns == i;
        }
        if (!gauss(n, a, x))
            continue;
        bool feasible = true;
        for (uint32_t k = 0; k < n; k++) {
            bool fixed = pick[k] >= p->columns && p->equal[pick[k] - p->columns];
            feasible = feasible && x[k] >= -1e-9 && (!fixed || x[k] <= 1e-9);
            value += pick[k] < p->columns ? p->cost[pick[k]] * x[k] : 0;
        }
        if (feasible)
            best = fmax(best, value);
    }
    return best;
}

/* Small integers, so that infeasible ones and ties are common; the last row bounds all columns. */
static void small_programs_equal_the_best_of_all_vertices(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "vertices");
    int infeasible = 0, count = property_count(1500);
    for (int n = 0; n < count; n++) {
        struct program *p = &program;
        p->rows = 1 + (uint32_t)base_rand_below(&r, 4);
        p->columns = 1 + (uint32_t)base_rand_below(&r, 5);
        for (uint32_t i = 0; i < p->rows; i++) {
            p->equal[i] = i + 1 < p->rows && base_rand_below(&r, 4) == 0;
            p->b[i] = i + 1 < p->rows ? grid(&r, 4) : 5;
        }
        for (uint32_t j = 0; j < p->columns; j++) {
            p->cost[j] = grid(&r, 5);
            for (uint32_t i = 0; i < p->rows; i++)
                p->a[j][i] = i + 1 < p->rows ? grid(&r, 3) : 1;
        }
        double objective, want = best_vertex(p);
        enum num_lp_outcome outcome = solve_program(p, &objective);
        if (want == -INFINITY) {
            infeasible++;
            assert_int_equal(outcome, NUM_LP_INFEASIBLE);
            continue;
        }
        assert_int_equal(outcome, NUM_LP_OPTIMAL);
        if (fabs(objective - want) > 1e-9 * (1 + fabs(want)))
            fail_msg("program %d: %.17g, best vertex %.17g", n, objective, want);
    }
    assert_true(infeasible > count / 50 && infeasible < count - count / 50);
}

/* ---- growing ---- */

static void columns_added_between_solves_give_what_all_at_once_gives(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "growing");
    for (int n = 0; n < property_count(100); n++) {
        uint32_t rows = 1 + (uint32_t)base_rand_below(&r, n % 10 == 0 ? 80 : 20);
        uint32_t columns = 1 + (uint32_t)base_rand_below(&r, 4 * rows);
        enum flavour flavour = n % 3 == 0 ? TIES : n % 3 == 1 ? WIDE : ANY;
        random_program(&program, &r, flavour, rows, columns, n % 2 == 0 ? 0 : 0.3);
        struct num_lp *lp = new_lp(&program);
        enum num_lp_outcome outcome = NUM_LP_STUCK;
        for (uint32_t from = 0; from < columns;) {
            uint32_t to = from + 1 + (uint32_t)base_rand_below(&r, 5);
            to = to < columns ? to : columns;
            add_columns(lp, &program, from, to);
            outcome = solve(lp);
            assert_true(outcome != NUM_LP_STUCK);
            if (outcome == NUM_LP_OPTIMAL)
                check_optimal(lp, &program, to);
            from = to;
        }
        assert_int_equal(outcome, NUM_LP_OPTIMAL);
        num_lp_free(lp);
    }
}

static void a_reset_program_behaves_like_a_new_one(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "reset");
    struct num_lp *lp = NULL;
    uint32_t rows = 12;
    for (int n = 0; n < property_count(60); n++) {
        random_program(&program, &r, n % 2 == 0 ? WIDE : TIES, rows, 30, 0);
        if (lp == NULL)
            lp = new_lp(&program);
        else
            num_lp_reset(lp, program.b);
        assert_int_equal(num_lp_column_count(lp), 0);
        add_columns(lp, &program, 0, 30);
        assert_int_equal(solve(lp), NUM_LP_OPTIMAL);
        check_optimal(lp, &program, 30);
        double objective;
        assert_int_equal(solve_program(&program, &objective), NUM_LP_OPTIMAL);
        assert_true(objective == num_lp_objective(lp));
    }
    num_lp_free(lp);
}

static void solving_again_after_a_reset_allocates_nothing(void **state)
{
    (void)state;
    struct base_rand r;
    struct base_alloc_track track;
    base_rand_init(&r, 1, "steady");
    base_alloc_track_init(&track, &base_alloc_libc);
    random_program(&program, &r, ANY, 10, 40, 0);
    struct num_lp *lp = NULL;
    assert_int_equal(num_lp_new(&track.alloc, 10, program.b, NULL, &lp), SHOAL_OK);
    memset(program.equal, 0, sizeof program.equal);
    uint64_t calls = 0;
    for (int n = 0; n < 4; n++) {
        calls = n == 1 ? track.calls : calls;
        num_lp_reset(lp, program.b);
        add_columns(lp, &program, 0, 40);
        assert_int_equal(solve(lp), NUM_LP_OPTIMAL);
    }
    assert_int_equal(track.calls, calls);
    num_lp_free(lp);
    assert_int_equal(track.live_count, 0);
}

/* ---- known programs ---- */

static void load(struct program *p, uint32_t rows, uint32_t columns, const double *b,
                 const bool *equal, const double *cost, const double *a)
{
    p->rows = rows;
    p->columns = columns;
    for (uint32_t i = 0; i < rows; i++) {
        p->b[i] = b[i];
        p->equal[i] = equal != NULL && equal[i];
    }
    for (uint32_t j = 0; j < columns; j++) {
        p->cost[j] = cost[j];
        for (uint32_t i = 0; i < rows; i++)
            p->a[j][i] = a[i * columns + j];
    }
}

static void beales_cycle_is_left(void **state)
{
    (void)state;
    const double a[] = {0.25, -60, -0.04, 9, 0.5, -90, -0.02, 3, 0, 0, 1, 0};
    load(&program, 3, 4, (double[]){0, 0, 1}, NULL, (double[]){0.75, -150, 0.02, -6}, a);
    double objective;
    assert_int_equal(solve_program(&program, &objective), NUM_LP_OPTIMAL);
    assert_true(fabs(objective - 0.05) < 1e-12);
}

/* Klee and Minty's cube: the best corner is the last one that the plain rule visits. */
static void klee_mintys_cube_ends_at_its_best_corner(void **state)
{
    (void)state;
    enum { N = 8 };
    double a[N * N] = {0}, b[N], cost[N];
    for (uint32_t i = 0; i < N; i++) {
        for (uint32_t j = 0; j < i; j++)
            a[i * N + j] = pow(2, i - j + 1);
        a[i * N + i] = 1;
        b[i] = pow(5, i + 1);
        cost[i] = pow(2, N - 1 - i);
    }
    load(&program, N, N, b, NULL, cost, a);
    double objective;
    assert_int_equal(solve_program(&program, &objective), NUM_LP_OPTIMAL);
    assert_true(fabs(objective - pow(5, N)) <= 1e-10 * pow(5, N));
}

static void repeated_equations_change_nothing(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "redundant");
    for (int n = 0; n < property_count(100); n++) {
        uint32_t rows = 1 + (uint32_t)base_rand_below(&r, 12), columns = 3 * rows;
        random_program(&program, &r, n % 2 == 0 ? TIES : ANY, rows, columns, 0.7);
        memcpy(&other, &program, sizeof other);
        for (uint32_t i = 0; i < rows; i++) {
            if (!program.equal[i])
                continue;
            uint32_t k = other.rows++; /* twice row i, or row i and the first */
            double first = i > 0 && program.equal[0] ? 1 : 0;
            other.equal[k] = true;
            other.b[k] = 2 * program.b[i] + first * program.b[0];
            for (uint32_t j = 0; j < columns; j++)
                other.a[j][k] = 2 * program.a[j][i] + first * program.a[j][0];
        }
        double objective, again;
        assert_int_equal(solve_program(&program, &objective), NUM_LP_OPTIMAL);
        assert_int_equal(solve_program(&other, &again), NUM_LP_OPTIMAL);
        assert_true(fabs(again - objective) <= 1e-9 * (1 + fabs(objective)));
    }
}

/* Row 2 repeats row 1 with another right-hand side, too far away for any column. */
static void contradictions_are_infeasible_and_their_duals_prove_it(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "contradiction");
    for (int n = 0; n < property_count(100); n++) {
        struct program *p = &program;
        uint32_t rows = 2 + (uint32_t)base_rand_below(&r, 20), columns = 2 * rows;
        random_program(p, &r, n % 2 == 0 ? TIES : WIDE, rows, columns, 0.4);
        bool equation = base_rand_below(&r, 2) == 0;
        p->equal[0] = p->equal[1] = equation;
        double size = fabs(p->b[0]);
        for (uint32_t j = 0; j < columns; j++) {
            p->a[j][1] = equation ? p->a[j][0] : -p->a[j][0];
            size = fmax(size, fabs(p->a[j][0]));
        }
        p->b[1] = equation ? p->b[0] + 1 + size : -p->b[0] - 1 - size;
        struct num_lp *lp = new_lp(p);
        add_columns(lp, p, 0, columns);
        assert_int_equal(solve(lp), NUM_LP_INFEASIBLE);
        /* a combination of rows that no y >= 0 keeps */
        const double *dual = num_lp_dual(lp);
        double right = 0, right_size = 0;
        for (uint32_t i = 0; i < rows; i++) {
            assert_true(p->equal[i] || dual[i] >= 0);
            right += dual[i] * p->b[i];
            right_size += fabs(dual[i] * p->b[i]);
        }
        assert_true(right < -1e-9 * right_size);
        for (uint32_t j = 0; j < columns; j++) {
            double left = 0, left_size = p->column_unit[j];
            for (uint32_t i = 0; i < rows; i++) {
                left += dual[i] * p->a[j][i];
                left_size += fabs(dual[i] * p->a[j][i]);
            }
            assert_true(left >= -TOLERANCE * left_size);
        }
        num_lp_free(lp);
    }
}

static void a_column_that_nothing_holds_makes_it_unbounded(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "unbounded");
    for (int n = 0; n < property_count(100); n++) {
        uint32_t rows = 1 + (uint32_t)base_rand_below(&r, 20), columns = 1 + 2 * rows;
        random_program(&program, &r, n % 2 == 0 ? TIES : ANY, rows, columns, 0);
        uint32_t free_column = (uint32_t)base_rand_below(&r, columns);
        for (uint32_t i = 0; i < rows; i++)
            program.a[free_column][i] = -base_rand_unit(&r);
        program.cost[free_column] = 1;
        double objective;
        assert_int_equal(solve_program(&program, &objective), NUM_LP_UNBOUNDED);
    }
}

static void an_infeasible_program_is_mended_by_a_later_column(void **state)
{
    (void)state;
    /* y0 - y1 <= -1, y0 <= 4: infeasible until y1 is there */
    struct num_lp *lp = NULL;
    uint32_t index;
    const double b[] = {-1, 4};
    assert_int_equal(num_lp_new(&base_alloc_libc, 2, b, NULL, &lp), SHOAL_OK);
    assert_int_equal(solve(lp), NUM_LP_INFEASIBLE);
    assert_int_equal(num_lp_add(lp, 3, (const double[]){1, 1}, &index), SHOAL_OK);
    assert_int_equal(solve(lp), NUM_LP_INFEASIBLE);
    assert_int_equal(num_lp_add(lp, -1, (const double[]){-1, 0}, &index), SHOAL_OK);
    assert_int_equal(solve(lp), NUM_LP_OPTIMAL);
    assert_true(num_lp_value(lp, 0) == 4 && num_lp_value(lp, 1) == 5);
    assert_true(num_lp_objective(lp) == 7);
    assert_true(num_lp_dual(lp)[0] == 1 && num_lp_dual(lp)[1] == 2);
    num_lp_free(lp);
}

static void a_program_without_columns_is_worth_nothing(void **state)
{
    (void)state;
    struct num_lp *lp = NULL;
    const double b[] = {1, 0};
    assert_int_equal(num_lp_new(&base_alloc_libc, 2, b, NULL, &lp), SHOAL_OK);
    assert_int_equal(solve(lp), NUM_LP_OPTIMAL);
    assert_true(num_lp_objective(lp) == 0 && num_lp_dual(lp)[0] == 0);
    num_lp_free(lp);
}

static void pivots_that_run_out_are_reported_and_the_next_solve_goes_on(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "stuck");
    random_program(&program, &r, ANY, 40, 120, 0);
    struct num_lp *lp = new_lp(&program);
    add_columns(lp, &program, 0, 120);
    enum num_lp_outcome outcome = NUM_LP_STUCK;
    int solves = 0;
    for (; outcome == NUM_LP_STUCK && solves < 1000; solves++) {
        uint64_t before = num_lp_pivots(lp);
        assert_int_equal(num_lp_solve(lp, 1, &outcome), SHOAL_OK);
        assert_true(num_lp_pivots(lp) <= before + 1);
    }
    assert_int_equal(outcome, NUM_LP_OPTIMAL);
    assert_true(solves > 2);
    check_optimal(lp, &program, 120);
    num_lp_free(lp);
}

static void numbers_that_are_none_and_sizes_out_of_range_are_refused(void **state)
{
    (void)state;
    struct num_lp *lp = NULL;
    const double b[] = {1, NAN}, fine[] = {1, 1};
    uint32_t index = 7;
    assert_int_equal(num_lp_new(&base_alloc_libc, 2, b, NULL, &lp), SHOAL_E_INVAL);
    assert_int_equal(num_lp_new(&base_alloc_libc, 0, b, NULL, &lp), SHOAL_E_INVAL);
    assert_int_equal(num_lp_new(&base_alloc_libc, NUM_LP_ROWS_MAX + 1, b, NULL, &lp),
                     SHOAL_E_LIMIT);
    assert_null(lp);
    assert_int_equal(num_lp_new(&base_alloc_libc, 2, fine, NULL, &lp), SHOAL_OK);
    assert_int_equal(num_lp_add(lp, 1, b, &index), SHOAL_E_INVAL);
    assert_int_equal(num_lp_add(lp, INFINITY, fine, &index), SHOAL_E_INVAL);
    assert_int_equal(num_lp_add(lp, 1, (const double[]){-INFINITY, 0}, &index), SHOAL_E_INVAL);
    assert_int_equal(num_lp_column_count(lp), 0);
    assert_int_equal(index, 7);
    num_lp_free(lp);
    num_lp_free(NULL);
}

static shoal_status build_and_solve(const struct base_alloc *alloc, void *ctx)
{
    const struct program *p = ctx;
    struct num_lp *lp = NULL;
    shoal_status st = num_lp_new(alloc, p->rows, p->b, p->equal, &lp);
    for (uint32_t j = 0, index; st == SHOAL_OK && j < p->columns; j++) {
        st = num_lp_add(lp, p->cost[j], p->a[j], &index);
        if (st == SHOAL_E_NOMEM && num_lp_add(lp, p->cost[j], p->a[j], &index) == SHOAL_OK)
            st = index == j ? SHOAL_OK : SHOAL_E_INTERNAL; /* it may be tried again */
    }
    enum num_lp_outcome outcome;
    if (st == SHOAL_OK)
        st = num_lp_solve(lp, 0, &outcome);
    if (st == SHOAL_OK && outcome != NUM_LP_OPTIMAL)
        st = SHOAL_E_INTERNAL;
    num_lp_free(lp);
    return st;
}

static void every_failed_allocation_ends_in_a_clean_error(void **state)
{
    (void)state;
    struct base_rand r;
    base_rand_init(&r, 1, "torture");
    random_program(&program, &r, ANY, 6, 100, 0.2);
    torture_run(build_and_solve, &program);
    random_program(&program, &r, ANY, 60, 100, 0.2);
    torture_run(build_and_solve, &program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_are_solved_with_proof),
        cmocka_unit_test(programs_full_of_ties_are_solved_with_proof),
        cmocka_unit_test(programs_over_twelve_orders_of_magnitude_are_solved_with_proof),
        cmocka_unit_test(programs_of_many_rows_are_solved_with_proof),
        cmocka_unit_test(programs_with_nearly_equal_columns_are_solved_with_proof),
        cmocka_unit_test(small_programs_equal_the_best_of_all_vertices),
        cmocka_unit_test(columns_added_between_solves_give_what_all_at_once_gives),
        cmocka_unit_test(a_reset_program_behaves_like_a_new_one),
        cmocka_unit_test(solving_again_after_a_reset_allocates_nothing),
        cmocka_unit_test(beales_cycle_is_left),
        cmocka_unit_test(klee_mintys_cube_ends_at_its_best_corner),
        cmocka_unit_test(repeated_equations_change_nothing),
        cmocka_unit_test(contradictions_are_infeasible_and_their_duals_prove_it),
        cmocka_unit_test(a_column_that_nothing_holds_makes_it_unbounded),
        cmocka_unit_test(an_infeasible_program_is_mended_by_a_later_column),
        cmocka_unit_test(a_program_without_columns_is_worth_nothing),
        cmocka_unit_test(pivots_that_run_out_are_reported_and_the_next_solve_goes_on),
        cmocka_unit_test(numbers_that_are_none_and_sizes_out_of_range_are_refused),
        cmocka_unit_test(every_failed_allocation_ends_in_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
