/* test_share.c - sharing policies: what jobs receive follows what the solver wanted for them.
 *
 * What a decision wanted is read from the plan (sched_plan_wanted); what jobs received is what the
 * world gave them. */
#include "unit/sched/rules.h"

#include "base/assert.h"
#include "sched/objective_parts.h"
#include "sched/share_parts.h"

enum { ROWS = 6 };

static struct world world; /* large */
static struct sched_table table;

/* Rows differ in which kind suits them; two of them keep `together` of their speed on one GPU. */
static void make_table(struct world *w, const uint32_t *gangs, double together)
{
    static const double speed[ROWS][3] = {{4, 2, 1}, {1, 2, 1}, {8, 1, 1},
                                          {2, 2, 2}, {3, 1, 2}, {1, 1, 0.5}};

    assert_int_equal(sched_table_init(&table, &base_alloc_libc, &w->cluster, gangs, ROWS),
                     SHOAL_OK);
    for (uint32_t k = 0; k < w->cluster.kind_count; k++)
        for (uint32_t r = 0; r < ROWS; r++) {
            assert_int_equal(sched_table_set(&table, &table.packed[k], r, speed[r][k]), SHOAL_OK);
            for (uint32_t q = 0; q < ROWS && together > 0; q++)
                assert_int_equal(
                    sched_table_set_pair(&table, &table.packed[k], r, q, speed[r][k] * together),
                    SHOAL_OK);
        }
}

static const uint32_t single[ROWS] = {1, 1, 1, 1, 1, 1};

static struct world_job *add_row(struct world *w, uint32_t row, double steps)
{
    uint32_t gpus = table.row_gpus[row], all = (1u << w->cluster.kind_count) - 1;

    return world_add(w, gpus, world_fitting(w, all, gpus), sched_model_table(&table, row, steps));
}

static struct world *open_world(const char *policy, uint64_t seed, const char *spec,
                                const uint32_t *gangs, double together)
{
    world_open(&world, sched_policy_find(policy, NULL), seed, spec);
    make_table(&world, gangs, together);
    return &world;
}

static void close_world(struct world *w)
{
    world_close(w);
    sched_table_fini(&table);
}

/* Seconds wanted and received, (ids, kinds). */
struct ledger {
    double wanted[64][SCHED_KINDS_MAX], received[64][SCHED_KINDS_MAX];
};

static void round_in(struct world *w, struct ledger *l)
{
    world_decide(w);
    rules_check(w);
    const float *want = sched_plan_wanted(w->plan);
    assert_non_null(want);
    for (size_t i = 0; i < w->job_count; i++)
        for (uint32_t k = 0; k < w->cluster.kind_count; k++)
            l->wanted[w->jobs[i]->id][k] +=
                (double)want[i * w->cluster.kind_count + k] * w->round_s;
    world_apply(w);
    for (size_t i = 0; i < w->job_count; i++)
        if (w->jobs[i]->alloc.place_count > 0)
            l->received[w->jobs[i]->id][w->jobs[i]->alloc.kind] += w->round_s;
    world_pass(w, w->round_s);
}

/* ---- received follows wanted ---- */

static void what_jobs_receive_follows_what_was_wanted(void **state)
{
    static const char *const policies[] = {"max-min", "ftf", "hierarchical"};
    static struct ledger l;

    (void)state;
    for (int seed = 1; seed <= property_count(20); seed++) {
        struct world *w =
            open_world(policies[seed % 3], (uint64_t)seed, "3x1:v100,4x1:p100,5x1:k80", single, 0);
        memset(&l, 0, sizeof l);
        if (seed % 2 == 0)
            world_set(w, "aware=false");
        world_begin(w);
        for (int i = 0; i < 20; i++)
            add_row(w, (uint32_t)base_rand_below(&w->rand, ROWS), 1e9)->job.weight =
                base_rand_range(&w->rand, 0.5, 2);
        for (int r = 0; r < 400; r++)
            round_in(w, &l);
        for (uint32_t i = 0; i < w->all_count; i++)
            for (uint32_t k = 0; k < 3; k++)
                /* of 400 rounds; ftf changes its mind as jobs get on, and old debts fade */
                WORLD_CLAIM(w,
                            fabs(l.wanted[i][k] - l.received[i][k]) <=
                                (strcmp(w->policy->name, "ftf") == 0 ? 16 : 10) * w->round_s,
                            "job %u: %g s of kind %u were wanted, %g received", i, l.wanted[i][k],
                            k, l.received[i][k]);
        close_world(w);
    }
}

/* Shares do not know that a gang needs its GPUs at the same time: a gang of all eight p100 and four
 * jobs that want one of them all the time cannot both be satisfied. Nobody loses much more than
 * others, and nothing idles. */
static void gangs_receive_most_of_what_was_wanted(void **state)
{
    static const uint32_t gangs[ROWS] = {1, 1, 2, 2, 4, 8};
    static struct ledger l;

    struct world *w = open_world("max-min", 1, "2x4:v100,2x4:p100,3x4:k80", gangs, 0);
    double gpu_s = 0;

    (void)state;
    memset(&l, 0, sizeof l);
    world_begin(w);
    for (uint32_t i = 0; i < 24; i++)
        add_row(w, i % ROWS, 1e9);
    for (int r = 0; r < 600; r++)
        round_in(w, &l);
    for (uint32_t i = 0; i < w->all_count; i++) {
        double wanted = 0, received = 0;
        for (uint32_t k = 0; k < 3; k++) {
            wanted += l.wanted[i][k];
            received += l.received[i][k];
        }
        gpu_s += received * w->all[i]->job.gpus;
        WORLD_CLAIM(w, received >= 0.6 * wanted, "job %u of %u GPUs: %g s wanted, %g received", i,
                    w->all[i]->job.gpus, wanted, received);
    }
    WORLD_CLAIM(w, gpu_s >= 0.97 * 600 * w->round_s * w->cluster.gpus, "GPUs idle");
    close_world(w);
}

/* ---- what is wanted ---- */

static void claim_possible(struct world *w, const float *want)
{
    uint32_t kinds = w->cluster.kind_count;
    double used[SCHED_KINDS_MAX] = {0}, live[SCHED_KINDS_MAX] = {0};

    for (uint32_t n = 0; n < w->cluster.node_count; n++)
        live[w->cluster.nodes[n].kind] += w->node_up[n] ? w->cluster.nodes[n].gpus : 0;
    for (size_t i = 0; i < w->job_count; i++) {
        double time = 0;
        for (uint32_t k = 0; k < kinds; k++) {
            double x = (double)want[i * kinds + k];
            time += x;
            used[k] += x * w->jobs[i]->gpus;
            WORLD_CLAIM(w, x >= 0 && (x == 0 || (w->jobs[i]->kinds >> k & 1) != 0),
                        "job %u: %g of kind %u is wanted", w->jobs[i]->id, x, k);
            WORLD_CLAIM(w, x == 0 || live[k] >= w->jobs[i]->gpus,
                        "job %u wants kind %u, too few of which are up", w->jobs[i]->id, k);
        }
        WORLD_CLAIM(w, time <= 1 + 1e-5, "job %u: %g of its time is given away", w->jobs[i]->id,
                    time);
    }
    for (uint32_t k = 0; k < kinds; k++) /* spreading is iterative: up to 1 % too much */
        WORLD_CLAIM(w, used[k] <= live[k] * 1.01 + 1e-6, "kind %u: %g of %g GPUs are wanted", k,
                    used[k], live[k]);
}

static void shares_are_possible_while_jobs_and_nodes_come_and_go(void **state)
{
    static const char *const policies[] = {"max-min",    "ftf",  "makespan",
                                           "throughput", "cost", "cost-slo"};
    static const uint32_t gangs[ROWS] = {1, 1, 2, 4, 3, 8};

    (void)state;
    for (int seed = 1; seed <= property_count(72); seed++) {
        struct world *w = open_world(policies[seed % 6], (uint64_t)seed,
                                     "3x4:v100:usd=3,2x4:p100,3x8:k80:usd=0.5", gangs, 0);
        if (seed / 6 % 2 == 0)
            world_set(w, "aware=false");
        world_begin(w);
        for (int r = 0; r < 40; r++) {
            for (uint64_t n = base_rand_below(&w->rand, 4); n > 0; n--)
                add_row(w, (uint32_t)base_rand_below(&w->rand, ROWS), 3000)->job.deadline_s =
                    w->now_s + base_rand_range(&w->rand, -10, 4000);
            uint32_t node = (uint32_t)base_rand_below(&w->rand, w->cluster.node_count);
            if (w->node_up[node])
                world_fail(w, node, r % 2 == 0);
            else
                world_repair(w, node);
            world_decide(w);
            rules_check(w);
            if (w->job_count > 0)
                claim_possible(w, sched_plan_wanted(w->plan));
            world_apply(w);
            world_pass(w, w->round_s);
        }
        close_world(w);
    }
}

static void prices_say_which_kind_is_scarce(void **state)
{
    struct world *w = open_world("max-min", 1, "1x1:v100,1x1:p100,60x1:k80", single, 0);

    (void)state;
    world_begin(w);
    for (int i = 0; i < 20; i++)
        add_row(w, 0, 1e6); /* four times as fast on the one v100 */
    world_decide(w);
    const double *price = sched_plan_prices(w->plan);
    assert_non_null(price);
    assert_true(price[0] > 0 && price[1] > 0 && price[0] > price[1]);
    assert_true(fabs(price[2]) < 1e-9); /* more than enough */
    close_world(w);
}

/* The longest job is at its top speed and sets the makespan: no GPU betters that, but the others
 * would gain from one. */
static void where_gpus_cannot_better_the_objective_prices_are_of_what_comes_next(void **state)
{
    struct world *w = open_world("makespan", 1, "1x1:v100,1x1:p100,60x1:k80", single, 0);
    bool next = false;

    (void)state;
    world_begin(w);
    add_row(w, 0, 1e9);
    for (int i = 0; i < 20; i++)
        add_row(w, 0, 1e6);
    world_decide(w);
    const double *price = sched_plan_prices(w->plan);
    assert_string_not_equal(sched_plan_price_unit(w->plan, &next),
                            sched_objectives[SCHED_OBJECTIVE_MAKESPAN].unit);
    assert_true(next && price[0] > 0);
    close_world(w);
}

/* A tolerance that no arithmetic keeps stands for numbers that are too much for the solver. */
static void shares_that_are_not_proven_are_told_when_they_are_solved_for(void **state)
{
    struct world *w = open_world("throughput", 1, "2x1:v100,4x1:p100,6x1:k80", single, 0);
    double gap = -1;

    (void)state;
    world_begin(w);
    for (uint32_t i = 0; i < 24; i++)
        add_row(w, i % ROWS, 1e6);
    world_decide(w);
    assert_false(sched_plan_unproven(w->plan, &gap));
    world_apply(w);
    world_pass(w, w->round_s);
    num_share_set_tolerance(((struct sched_share_memory *)w->memory)->kept->solver->first, -1);
    add_row(w, 0, 1e6);
    world_decide(w);
    assert_true(sched_plan_unproven(w->plan, &gap));
    assert_true(gap >= 0 && gap < 1e-6);
    world_apply(w);
    world_pass(w, w->round_s);
    world_decide(w); /* nothing changed: nothing is solved for */
    assert_false(sched_plan_unproven(w->plan, NULL));
    close_world(w);
}

static void agnostic_shares_are_spread_over_the_kinds_by_size(void **state)
{
    struct world *w = open_world("max-min", 1, "2x1:v100,4x1:p100,6x1:k80", single, 0);

    (void)state;
    world_set(w, "aware=false");
    world_begin(w);
    for (uint32_t i = 0; i < 24; i++)
        add_row(w, i % ROWS, 1e6);
    world_decide(w);
    const float *want = sched_plan_wanted(w->plan);
    for (size_t i = 0; i < w->job_count; i++) {
        assert_true(fabs((double)want[3 * i] - 2.0 / 24) < 1e-3);
        assert_true(fabs((double)want[3 * i + 1] - 4.0 / 24) < 1e-3);
        assert_true(fabs((double)want[3 * i + 2] - 6.0 / 24) < 1e-3);
    }
    close_world(w);
}

/* ---- turns ---- */

static uint32_t starts_of(const struct world *w)
{
    uint32_t starts = 0;

    for (uint32_t i = 0; i < w->all_count; i++)
        starts += w->all[i]->job.starts;
    return starts;
}

/* 6 jobs on 3 GPUs for 1000 rounds: 3000 rounds of a GPU to divide. */
static void turns_are_long_where_a_restart_is_dear(void **state)
{
    static const double restarts[] = {0, 30};
    uint32_t starts[2];

    (void)state;
    for (int n = 0; n < 2; n++) {
        struct world *w = open_world("max-min", 1, "3x1:k80", single, 0);
        w->restart_s = restarts[n];
        world_begin(w);
        for (uint32_t i = 0; i < 6; i++)
            add_row(w, 0, 1e9);
        for (int r = 0; r < 1000; r++)
            world_round(w);
        starts[n] = starts_of(w);
        for (uint32_t i = 0; i < 6; i++)
            assert_true(fabs(w->all[i]->job.run_s - 500 * w->round_s) < 40 * w->round_s);
        close_world(w);
    }
    assert_true(starts[0] > 2000);                  /* every round */
    assert_true(starts[1] * 30 < 0.05 * 3000 * 60); /* 5 % of the time at most */
}

/* ---- pairs ---- */

static double progress_after(const char *sharing, double together, size_t *out_pairs)
{
    struct world *w = open_world("max-min", 1, "2x1:v100,2x1:p100", single, together);
    double progress = 0;

    *out_pairs = 0;
    world_set(w, sharing);
    world_begin(w);
    for (uint32_t i = 0; i < 9; i++)
        add_row(w, i % ROWS, 1e9);
    for (int r = 0; r < 200; r++) {
        world_decide(w);
        rules_check(w);
        world_apply(w);
        for (size_t i = 0; i < w->job_count; i++)
            *out_pairs += w->jobs[i]->partner != SCHED_JOB_NONE;
        world_pass(w, w->round_s);
    }
    for (uint32_t i = 0; i < w->all_count; i++)
        progress += w->all[i]->job.progress / sched_table_rate(&table, w->all[i]->job.model.row, 0);
    close_world(w);
    return progress;
}

static void pairs_share_where_that_does_more_work_and_nowhere_else(void **state)
{
    size_t pairs;
    double alone, good, bad;

    (void)state;
    alone = progress_after("sharing=none", 0.9, &pairs);
    assert_int_equal(pairs, 0);
    good = progress_after("sharing=pairs", 0.9, &pairs);
    assert_true(pairs > 500); /* 8 of 9 jobs, most of 200 rounds */
    assert_true(good > 1.4 * alone);
    bad = progress_after("sharing=pairs", 0.45, &pairs);
    assert_int_equal(pairs, 0);
    assert_true(bad > 0.95 * alone);
}

static void a_pair_stays_together_and_restarts_rarely(void **state)
{
    struct world *w = open_world("max-min", 1, "1x1:v100,1x1:p100", single, 0.9);

    (void)state;
    world_set(w, "sharing=pairs");
    w->restart_s = 30;
    world_begin(w);
    for (uint32_t i = 0; i < 4; i++)
        add_row(w, 3, 1e9); /* as fast on every kind */
    for (int r = 0; r < 100; r++)
        world_round(w);
    assert_int_equal(world_running(w), 4);
    assert_true(starts_of(w) < 30);
    close_world(w);
}

/* ---- memory ---- */

static shoal_status decide_pairs(const struct base_alloc *alloc, void *ctx)
{
    struct world *w = ctx;
    const struct sched_policy *p = w->policy;
    struct sched_snapshot snap = w->snap;
    struct sched_plan *plan = NULL;
    void *memory = calloc(1, p->memory_size);

    snap.alloc = alloc;
    base_opt_defaults(p->opts, p->opt_count, memory);
    shoal_status st =
        base_opt_assign(p->opts, p->opt_count, "sharing=pairs", "policy", memory, NULL);
    if (st == SHOAL_OK)
        st = sched_plan_new(alloc, &w->cluster, &w->place, &plan);
    for (int n = 0; st == SHOAL_OK && n < 2; n++) {
        st = sched_plan_begin(plan, &snap);
        if (st == SHOAL_OK)
            st = p->decide(memory, &snap, plan);
    }
    sched_plan_free(plan);
    p->fini(memory, alloc);
    free(memory);
    return st;
}

static void refused_allocations_leave_nothing_behind(void **state)
{
    static const char *const policies[] = {"max-min", "ftf", "cost-slo", "hierarchical"};

    (void)state;
    for (int p = 0; p < 4; p++) {
        struct world *w = open_world(policies[p], 1, "2x2:v100,2x2:p100,2x2:k80", single, 0.8);
        world_begin(w);
        for (uint32_t i = 0; i < 40; i++)
            add_row(w, i % ROWS, 1e5)->job.group = i % 3;
        world_snapshot(w);
        torture_run(decide_pairs, w);
        close_world(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_jobs_receive_follows_what_was_wanted),
        cmocka_unit_test(gangs_receive_most_of_what_was_wanted),
        cmocka_unit_test(shares_are_possible_while_jobs_and_nodes_come_and_go),
        cmocka_unit_test(prices_say_which_kind_is_scarce),
        cmocka_unit_test(where_gpus_cannot_better_the_objective_prices_are_of_what_comes_next),
        cmocka_unit_test(shares_that_are_not_proven_are_told_when_they_are_solved_for),
        cmocka_unit_test(agnostic_shares_are_spread_over_the_kinds_by_size),
        cmocka_unit_test(turns_are_long_where_a_restart_is_dear),
        cmocka_unit_test(pairs_share_where_that_does_more_work_and_nowhere_else),
        cmocka_unit_test(a_pair_stays_together_and_restarts_rarely),
        cmocka_unit_test(refused_allocations_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
