/* solve.c - how long the price solver takes to share a cluster, and against CLP.
 *
 * One JSON line per result: `ours` is CPU seconds of one solve, the median of `n`; with more than
 * one thread, elapsed seconds. `peer` is CLP's CPU seconds for the same problem, solved in turns in
 * this process by the better of its dual and primal simplex, loading not counted (`against` "CLP",
 * ratio: times faster), or the bound that was set (`against` "bound", ratio: part of it). Every
 * answer is checked: shares feasible, needs met, gap closed; where CLP is at hand, levels and sums
 * equal its to 1e-8, and the needs of ftf, makespan and cost-slo fit, by CLP, while 1e-4 more does
 * not. A check that fails ends the program with 1.
 *
 *   bench_solve [--table JSON] [--no-clp] [--deep] [MODE...]
 *
 *   --table JSON   Gavel's throughput table, unpacked; else one of the same shape is drawn
 *   --no-clp       do not run CLP
 *   --deep         also check 10,000 jobs of ftf, makespan and cost-slo with CLP (minutes)
 *   MODE           level objectives fill pairs growth kinds; default all
 *
 * BENCH_REPEATS bounds the number of runs. */
#include "bench/solve_peer.h"

#include "base/assert.h"
#include <time.h>

enum { REPEATS_MAX = 101, ENTITIES = 100, PAIR_JOBS = 2048 };

static struct table table;
static bool use_clp, deep;

static void must(shoal_status st, const char *what)
{
    if (st == SHOAL_OK)
        return;
    fprintf(stderr, "solve: %s: %s\n", what, shoal_status_name(st));
    exit(1);
}

static double clock_s(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static size_t repeats(size_t usual)
{
    const char *text = getenv("BENCH_REPEATS");
    size_t most = text != NULL && atoi(text) > 0 ? (size_t)atoi(text) : usual;

    return most < usual ? most : usual;
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Seconds of several runs. */
struct sample {
    double s[REPEATS_MAX];
    size_t n;
    clockid_t clock;
    double began;
};

static void start(struct sample *t)
{
    t->began = clock_s(t->clock);
}

static void stop(struct sample *t)
{
    t->s[t->n++] = clock_s(t->clock) - t->began;
}

/* The value below which a part of the runs lie; sorts them. */
static double quantile(struct sample *t, double part)
{
    qsort(t->s, t->n, sizeof *t->s, ascending);
    return t->s[(size_t)(part * (double)(t->n - 1) + 0.5)];
}

/* What a row says besides the times. */
struct row {
    const char *what;
    const struct problem *q;
    uint32_t threads;
    double bound_s; /* that was set; 0: none */
    double clp_s;   /* 0: CLP did not run */
    size_t clp_n;
    double gap;   /* relative */
    double cpu_s; /* of all threads; 0: as `ours` */
    uint32_t passes;
};

static const char *rates_name(enum rates rates)
{
    return rates == RATES_OWN        ? "one row per job"
           : rates == RATES_WEIGHTED ? "one row per job, weights, half the GPUs"
           : table.measured          ? "Gavel's table"
                                     : "drawn table";
}

static void print_row(const struct row *r, struct sample *t)
{
    double ours = quantile(t, 0.5), peer = r->clp_s > 0 ? r->clp_s : r->bound_s;

    printf("{\"bench\":\"solve\",\"what\":\"%s\",\"jobs\":%zu,\"kinds\":%u,\"threads\":%u,"
           "\"rates\":\"%s\",\"ours\":%.6g,",
           r->what, r->q->p.job_count, r->q->p.kind_count, r->threads, rates_name(r->q->rates),
           ours);
    if (peer > 0)
        printf("\"peer\":%.6g,\"ratio\":%.4g,\"against\":\"%s\",", peer,
               r->clp_s > 0 ? peer / ours : ours / peer, r->clp_s > 0 ? "CLP" : "bound");
    if (r->cpu_s > 0)
        printf("\"cpu_s\":%.6g,", r->cpu_s);
    if (r->clp_n > 0)
        printf("\"peer_n\":%zu,", r->clp_n);
    if (r->bound_s > 0)
        printf("\"bound\":%.6g,\"within\":%s,", r->bound_s, ours <= r->bound_s ? "true" : "false");
    printf("\"unit\":\"%s\",\"n\":%zu,\"least\":%.6g,\"p90\":%.6g,\"gap\":%.2g,\"passes\":%u}\n",
           r->threads > 1 ? "s" : "cpu_s", t->n, t->s[0], quantile(t, 0.9), r->gap, r->passes);
    fflush(stdout);
}

/* ---- checks ---- */

/* The shares exist and give every job what is asked (NULL: nothing). */
static void check_shares(const struct problem *q, const struct num_share_result *r,
                         const double *asked)
{
    double used[NUM_KINDS_MAX] = {0};
    uint32_t kinds = q->p.kind_count;

    for (size_t m = 0; m < q->p.job_count; m++) {
        double time = 0, speed = 0;
        for (uint32_t j = 0; j < kinds; j++) {
            double x = r->x[m * kinds + j];
            check(x >= 0, "a share below 0", x, 0);
            time += x;
            speed += x * q->rate[m * kinds + j];
            used[j] += x * q->gpus[m];
        }
        check(time <= 1 + 1e-9, "more than all of a job's time", time, 1);
        check(asked == NULL || speed >= asked[m] * (1 - 1e-9), "a job below what it needs", speed,
              asked == NULL ? 0 : asked[m]);
    }
    for (uint32_t j = 0; j < kinds; j++)
        check(used[j] <= q->p.capacity[j] * (1 + 1e-9), "more GPUs than there are", used[j],
              q->p.capacity[j]);
}

/* The gap, which must be closed, on a problem in which GPUs are scarce. */
static double check_gap(const struct num_share_result *r)
{
    double gap = fabs(r->bound - r->level) / fabs(r->level), most = 0;

    for (uint32_t j = 0; j < NUM_KINDS_MAX; j++)
        most = fmax(most, r->price[j]);
    check(most > 0, "GPUs are not scarce: the problem is too easy", most, r->level);
    check(r->exact, "not exact", r->level, r->bound);
    check(gap <= 1.001e-9, "level and bound apart", r->level, r->bound);
    return gap;
}

static double check_level(const struct problem *q, const double *need,
                          const struct num_share_result *r)
{
    double *asked = take(q->p.job_count, sizeof *asked);

    for (size_t m = 0; m < q->p.job_count; m++)
        asked[m] = r->level * need[m];
    check_shares(q, r, asked);
    free(asked);
    return check_gap(r);
}

static bool check_with_clp(const struct problem *q)
{
    return use_clp && (deep || q->p.job_count <= 1000);
}

/* ---- modes ---- */

static shoal_status run_on_threads(void *ctx, size_t count, void (*fn)(void *arg, size_t index),
                                   void *arg)
{
    return env_parallel(ctx, count, 2, fn, arg, NULL);
}

/* Cold solves, in turns with CLP where clp_n is not 0. */
static void level_cold(const char *what, const struct problem *q, size_t n, size_t clp_n,
                       double bound_s)
{
    struct sample t = {.clock = CLOCK_PROCESS_CPUTIME_ID};
    struct row row = {.what = what, .q = q, .threads = 1, .bound_s = bound_s};
    struct sample clp[2] = {{.n = 0}, {.n = 0}}; /* by method */
    struct num_share *s;
    struct num_share_result r;

    must(num_share_new(&base_alloc_libc, NULL, &s), "new");
    for (size_t i = 0; i < n || i < clp_n; i++) {
        num_share_cold(s);
        start(&t);
        must(num_share_level(s, &q->p, q->need, &r), "level");
        stop(&t);
        row.gap = check_level(q, q->need, &r);
        row.passes = r.passes;
        if (use_clp && i < clp_n) { /* both once, then the better one */
            int method = i < 2 ? (int)i : clp[0].s[0] > clp[1].s[0];
            clp[method].s[clp[method].n++] = peer_time(q, q->need, r.level, method);
            struct sample *best = &clp[clp_n > 1 && clp[0].s[0] > clp[1].s[0]];
            if (i + 1 == clp_n) {
                row.clp_n = best->n;
                row.clp_s = quantile(best, 0.5);
            }
        }
    }
    print_row(&row, &t);
    num_share_free(s);
}

/* Each time 1 % of the jobs are replaced by others. */
static void level_warm(const char *what, struct problem *q, size_t n, double bound_s)
{
    struct sample t = {.clock = CLOCK_PROCESS_CPUTIME_ID};
    struct row row = {.what = what, .q = q, .threads = 1, .bound_s = bound_s};
    struct num_share *s, *cold;
    struct num_share_result r;

    must(num_share_new(&base_alloc_libc, NULL, &s), "new");
    must(num_share_new(&base_alloc_libc, NULL, &cold), "new");
    must(num_share_level(s, &q->p, q->need, &r), "level");
    for (size_t i = 0; i < n; i++) {
        for (size_t c = 0; c < (q->p.job_count + 99) / 100; c++)
            problem_draw(q, &table, base_rand_below(&q->rand, q->p.job_count));
        start(&t);
        must(num_share_level(s, &q->p, q->need, &r), "level");
        stop(&t);
        row.gap = fmax(row.gap, check_level(q, q->need, &r));
        row.passes = r.passes;
        double level = r.level;
        if (i % 10 == 0) {
            num_share_cold(cold);
            must(num_share_level(cold, &q->p, q->need, &r), "level");
            check(fabs(r.level - level) <= 2e-9 * level, "warm and cold differ", level, r.level);
        }
    }
    print_row(&row, &t);
    num_share_free(s);
    num_share_free(cold);
}

/* What the policy and `shoal solve` run: the common level, then water filling for who can go on.
 * Cold, or each time with 1 % of the jobs replaced. */
static void filled(const char *what, struct problem *q, bool warm, size_t n, double bound_s)
{
    struct sample t = {.clock = CLOCK_PROCESS_CPUTIME_ID};
    struct row row = {.what = what, .q = q, .threads = 1, .bound_s = bound_s};
    struct num_tree_node root = {NUM_TREE_NONE, 1, false};
    struct num_tree flat = {&root, 1, NULL, q->weight};
    double *unit = take(q->p.job_count, sizeof *unit);
    struct num_share *s;
    struct num_share_result r;

    must(num_share_new(&base_alloc_libc, NULL, &s), "new");
    for (size_t i = 0; i <= n; i++) { /* the first one is not counted: there is nothing warm yet */
        for (size_t c = 0; warm && c < (q->p.job_count + 99) / 100; c++)
            problem_draw(q, &table, base_rand_below(&q->rand, q->p.job_count));
        for (size_t m = 0; m < q->p.job_count; m++)
            unit[m] = q->need[m] / q->weight[m];
        if (!warm)
            num_share_cold(s);
        start(&t);
        must(num_share_fill(s, &q->p, unit, &flat, &r), "fill");
        if (i > 0)
            stop(&t);
        check_shares(q, &r, NULL);
        check(r.exact, "not exact", r.level, r.bound);
    }
    row.passes = r.passes;
    print_row(&row, &t);
    num_share_free(s);
    free(unit);
}

static void mode_level(void)
{
    static const size_t sizes[] = {1000, 10000};

    for (size_t i = 0; i < BASE_COUNT(sizes); i++) {
        for (int rates = RATES_TABLE; rates <= RATES_WEIGHTED; rates++) {
            struct problem q;
            bool large = sizes[i] == 10000; /* the size bounds were set for */
            problem_init(&q, &table, sizes[i], TABLE_KINDS, (enum rates)rates, 1);
            /* One solve by CLP's slower method, the rest by its faster one. */
            size_t clp_n = large && rates == RATES_WEIGHTED ? 2 : 6;
            level_cold("max-min, cold", &q, repeats(31), repeats(clp_n), large ? 5e-3 : 0);
            level_warm("max-min, warm", &q, repeats(101), large ? 1e-3 : 0);
            filled("max-min with water filling, cold", &q, false, repeats(31), large ? 5e-3 : 0);
            filled("max-min with water filling, warm", &q, true, repeats(101), large ? 1e-3 : 0);
            problem_fini(&q);
        }
    }
}

static void measure_ftf(struct problem *q, double bound_s)
{
    struct sample t = {.clock = CLOCK_PROCESS_CPUTIME_ID};
    struct row row = {.what = "ftf, cold", .q = q, .threads = 1, .bound_s = bound_s};
    double *asked = take(q->p.job_count, sizeof *asked);
    struct num_share *s;
    struct num_share_result r;

    must(num_share_new(&base_alloc_libc, NULL, &s), "new");
    for (size_t n = repeats(15); n > 0; n--) {
        num_share_cold(s);
        start(&t);
        must(num_share_curve(s, &q->p, 1e-6, 1e6, problem_need, q, &r), "curve");
        stop(&t);
    }
    row.gap = check_gap(&r);
    row.passes = r.passes;
    problem_need(q, r.level, asked);
    check_shares(q, &r, asked);
    if (check_with_clp(q)) {
        double better = r.level * (1 - 1e-4);
        peer_check_needs(q, asked, INFINITY, "the needs do not fit at theta, by CLP");
        problem_need(q, better, asked);
        peer_check_over(q, asked, "a better theta fits, by CLP");
    }
    print_row(&row, &t);
    num_share_free(s);
    free(asked);
}

static void measure_makespan(struct problem *q, double bound_s)
{
    struct sample t = {.clock = CLOCK_PROCESS_CPUTIME_ID};
    struct row row = {.what = "makespan, cold", .q = q, .threads = 1, .bound_s = bound_s};
    struct num_share *s;
    struct num_share_result r;

    must(num_share_new(&base_alloc_libc, NULL, &s), "new");
    for (size_t n = repeats(15); n > 0; n--) {
        num_share_cold(s);
        start(&t);
        must(num_share_level(s, &q->p, q->left, &r), "level");
        stop(&t);
    }
    row.gap = check_level(q, q->left, &r);
    row.passes = r.passes;
    if (check_with_clp(q)) {
        double *asked = take(q->p.job_count, sizeof *asked);
        for (size_t m = 0; m < q->p.job_count; m++)
            asked[m] = r.level * q->left[m];
        peer_check_needs(q, asked, 1e-4, "the jobs cannot all end in time, by CLP");
        free(asked);
    }
    print_row(&row, &t);
    num_share_free(s);
}

/* Deadlines that can be kept together, then the cheapest shares that keep them. */
static void measure_cost_slo(struct problem *q, double bound_s)
{
    struct sample t = {.clock = CLOCK_PROCESS_CPUTIME_ID};
    struct row row = {.what = "cost-slo, cold", .q = q, .threads = 1, .bound_s = bound_s};
    double *asked = take(q->p.job_count, sizeof *asked);
    bool *kept = take(q->p.job_count, sizeof *kept);
    size_t given_up = 0;
    struct num_share *s;
    struct num_share_result r;

    must(num_share_new(&base_alloc_libc, NULL, &s), "new");
    for (size_t n = repeats(15); n > 0; n--) {
        num_share_cold(s);
        start(&t);
        must(num_share_keep(s, &q->p, q->floor, q->stake, kept), "keep");
        for (size_t m = 0; m < q->p.job_count; m++)
            asked[m] = kept[m] ? q->floor[m] : 0;
        must(num_share_sum(s, &q->p, q->value, asked, &r), "sum");
        stop(&t);
    }
    row.gap = check_gap(&r);
    row.passes = r.passes;
    check_shares(q, &r, asked);
    for (size_t m = 0; m < q->p.job_count; m++)
        given_up += !kept[m];
    check(given_up > 0, "all deadlines were kept: the problem is too easy", 0, 0);
    if (check_with_clp(q)) {
        peer_check_needs(q, asked, INFINITY, "the kept deadlines do not fit, by CLP");
        peer_check_sum(q, asked, r.level);
        peer_check_kept(q, kept);
    }
    print_row(&row, &t);
    num_share_free(s);
    free(asked);
    free(kept);
}

static void mode_objectives(void)
{
    static const size_t sizes[] = {1000, 10000};

    for (size_t i = 0; i < BASE_COUNT(sizes); i++) {
        for (int rates = RATES_TABLE; rates <= RATES_OWN; rates++) {
            struct problem q;
            double bound_s = sizes[i] == 10000 ? 20e-3 : 0;
            problem_init(&q, &table, sizes[i], TABLE_KINDS, (enum rates)rates, 1);
            measure_ftf(&q, bound_s);
            measure_makespan(&q, bound_s);
            measure_cost_slo(&q, bound_s);
            problem_fini(&q);
        }
    }
}

/* Water filling through ENTITIES entities; every second one is a queue where `queues`. */
static void measure_fill(struct problem *q, bool queues, double bound_s)
{
    struct sample t = {.clock = CLOCK_PROCESS_CPUTIME_ID};
    struct row row = {.what = queues ? "hierarchical, half of 100 entities are queues, cold"
                                     : "hierarchical, 100 entities, cold",
                      .q = q,
                      .threads = 1,
                      .bound_s = bound_s};
    struct num_tree_node nodes[ENTITIES + 1] = {{NUM_TREE_NONE, 1, false}};
    uint32_t *job_node = take(q->p.job_count, sizeof *job_node);
    double *unit = take(q->p.job_count, sizeof *unit);
    struct num_tree tree = {nodes, ENTITIES + 1, job_node, q->weight};
    struct num_share *s;
    struct num_share_result r;

    for (uint32_t e = 1; e <= ENTITIES; e++)
        nodes[e] = (struct num_tree_node){0, 1 + e % 3, queues && e % 2 == 0};
    for (size_t m = 0; m < q->p.job_count; m++) {
        job_node[m] = 1 + (uint32_t)base_rand_below(&q->rand, ENTITIES);
        unit[m] = q->need[m] / q->weight[m];
    }
    must(num_share_new(&base_alloc_libc, NULL, &s), "new");
    for (size_t n = repeats(11); n > 0; n--) {
        num_share_cold(s);
        start(&t);
        must(num_share_fill(s, &q->p, unit, &tree, &r), "fill");
        stop(&t);
    }
    check_shares(q, &r, NULL);
    check(r.exact, "not exact", r.level, r.bound);
    row.passes = r.passes;
    print_row(&row, &t);
    num_share_free(s);
    free(job_node);
    free(unit);
}

static void mode_fill(void)
{
    for (int rates = RATES_TABLE; rates <= RATES_OWN; rates++) {
        struct problem q;
        problem_init(&q, &table, 10000, TABLE_KINDS, (enum rates)rates, 1);
        measure_fill(&q, false, 50e-3);
        measure_fill(&q, true, 50e-3);
        problem_fini(&q);
    }
}

/* Space sharing: jobs gathered by row of the table, each group with one need. */
static void mode_pairs(void)
{
    struct sample t = {.clock = CLOCK_PROCESS_CPUTIME_ID}, clp = {.n = 0};
    struct problem q;
    struct row row = {.what = "pairs, 83 groups, cold", .q = &q, .threads = 1, .bound_s = 50e-3};
    double count[TABLE_ROWS_MAX] = {0}, gpus[TABLE_ROWS_MAX], need[TABLE_ROWS_MAX];
    double rate[TABLE_ROWS_MAX * TABLE_KINDS];
    struct num_pairs_problem p = {.kind_count = TABLE_KINDS,
                                  .group_count = table.rows,
                                  .rate = rate,
                                  .pair = table.pair,
                                  .gpus = gpus,
                                  .count = count,
                                  .need = need};
    struct num_pairs_result r;

    problem_init(&q, &table, PAIR_JOBS, TABLE_KINDS, RATES_TABLE, 1);
    for (uint32_t k = 0; k < TABLE_KINDS; k++)
        p.capacity[k] = q.p.capacity[k];
    for (size_t m = 0; m < PAIR_JOBS; m++)
        count[q.row[m]]++;
    for (uint32_t g = 0; g < table.rows; g++) {
        double reference = 0;
        for (uint32_t k = 0; k < TABLE_KINDS; k++) {
            rate[g * TABLE_KINDS + k] = table.rate[g][k];
            reference += table.rate[g][k] / TABLE_KINDS;
        }
        gpus[g] = table.gpus[g];
        need[g] = reference / gpus[g];
        count[g] = fmax(count[g], 1);
    }
    for (size_t n = repeats(11), i = 0; i < n; i++) {
        struct num_pairs *s;
        must(num_pairs_new(&base_alloc_libc, &s), "new");
        start(&t);
        must(num_pairs_solve(s, &p, &r), "pairs");
        stop(&t);
        check(r.exact, "not exact", r.level, r.bound);
        row.gap = fabs(r.bound - r.total) / r.total;
        if (use_clp && clp.n < 5)
            clp.s[clp.n++] = peer_pairs(&p, r.level);
        num_pairs_free(s);
    }
    if (clp.n > 0) {
        row.clp_n = clp.n;
        row.clp_s = quantile(&clp, 0.5);
    }
    print_row(&row, &t);
    problem_fini(&q);
}

/* Cold max-min solves on one thread and on two. */
static void measure_growth(shoal_env *env, const struct problem *q, size_t n, double bound_s)
{
    struct num_team team = {2, run_on_threads, env};

    for (uint32_t threads = 1; threads <= 2; threads++) {
        struct sample t = {.clock = threads > 1 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID};
        struct sample cpu = {.clock = CLOCK_PROCESS_CPUTIME_ID};
        struct row row = {
            .what = "growth: max-min, cold", .q = q, .threads = threads, .bound_s = bound_s};
        struct num_share *s;
        struct num_share_result r;
        must(num_share_new(&base_alloc_libc, threads > 1 ? &team : NULL, &s), "new");
        for (size_t i = 0; i < n; i++) {
            num_share_cold(s);
            start(&t);
            start(&cpu);
            must(num_share_level(s, &q->p, q->need, &r), "level");
            stop(&t);
            stop(&cpu);
        }
        row.gap = check_level(q, q->need, &r);
        row.passes = r.passes;
        row.cpu_s = threads > 1 ? quantile(&cpu, 0.5) : 0;
        print_row(&row, &t);
        num_share_free(s);
    }
}

static void mode_growth(void)
{
    static const struct {
        size_t jobs, n;
        double bound_s;
    } sizes[] = {{1000, 31, 0}, {10000, 31, 0}, {100000, 11, 60e-3}, {1000000, 5, 0.6}};
    shoal_env *env = NULL;

    must(shoal_env_real_new(&env, NULL), "env");
    for (size_t i = 0; i < BASE_COUNT(sizes); i++) {
        for (int rates = RATES_TABLE; rates <= RATES_OWN; rates++) {
            struct problem q;
            problem_init(&q, &table, sizes[i].jobs, TABLE_KINDS, (enum rates)rates, 1);
            measure_growth(env, &q, repeats(sizes[i].n), sizes[i].bound_s);
            problem_fini(&q);
        }
    }
    shoal_env_free(env);
}

static void mode_kinds(void)
{
    static const uint32_t kinds[] = {2, 3, 4, 6, 8, 12, 16};

    for (size_t i = 0; i < BASE_COUNT(kinds); i++) {
        struct problem q;
        problem_init(&q, &table, 10000, kinds[i], RATES_OWN, 1);
        level_cold("kinds: max-min, cold", &q, repeats(15), 0, 0);
        level_warm("kinds: max-min, warm", &q, repeats(31), 0);
        problem_fini(&q);
    }
}

/* ---- main ---- */

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {{"level", mode_level}, {"objectives", mode_objectives}, {"fill", mode_fill},
             {"pairs", mode_pairs}, {"growth", mode_growth},         {"kinds", mode_kinds}};

static bool run_mode(const char *name)
{
    for (size_t i = 0; i < BASE_COUNT(modes); i++) {
        if (strcmp(modes[i].name, name) != 0)
            continue;
        modes[i].run();
        return true;
    }
    fprintf(stderr, "solve: unknown mode '%s'\n", name);
    return false;
}

int main(int argc, char **argv)
{
    int at = 1;
    bool done = true;

    use_clp = peer_found; /* SHOAL_HAVE_CLP */
    for (; at < argc && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--no-clp") == 0) {
            use_clp = false;
        } else if (strcmp(argv[at], "--deep") == 0) {
            deep = true;
        } else if (strcmp(argv[at], "--table") == 0 && at + 1 < argc) {
            if (!table_load(&table, argv[++at]))
                return 1;
        } else {
            fprintf(stderr, "usage: bench_solve [--table JSON] [--no-clp] [--deep] [MODE...]\n");
            return 2;
        }
    }
    if (table.rows == 0)
        table_draw(&table);
    if (!use_clp)
        fprintf(stderr, "solve: without CLP: results stand against the bounds alone\n");
    if (at == argc)
        for (size_t i = 0; i < BASE_COUNT(modes); i++)
            modes[i].run();
    for (; at < argc && done; at++)
        done = run_mode(argv[at]);
    free(table.pair);
    return done ? 0 : 2;
}
