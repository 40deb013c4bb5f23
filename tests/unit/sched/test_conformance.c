/* ctest: full timeout=600 */
/* test_conformance.c - the rules every policy is held to (src/sched/policy.h), by property, over
 * every row of the table: a new policy is covered by being added.
 *
 * Each seed is a random cluster, random jobs, random leases and random node failures; after every
 * decision the plan is checked against the snapshot it was made from. */
#include "unit/sched/rules.h"

#include "base/assert.h"

enum { SEEDS = 100, ROUNDS = 60 };

/* ---- determinism ---- */

static void claim_equal_plans(const struct world *w, const struct sched_plan *twin)
{
    for (size_t i = 0; i < w->job_count; i++) {
        const struct sched_grant *a = sched_plan_grant(w->plan, i);
        const struct sched_grant *b = sched_plan_grant(twin, i);
        WORLD_CLAIM(w, (a == NULL) == (b == NULL), "job %u: two plans from one state",
                    w->jobs[i]->id);
        if (a != NULL) {
            WORLD_CLAIM(w,
                        rules_same_places(&a->alloc, &b->alloc) && a->partner == b->partner &&
                            a->kept == b->kept,
                        "job %u: two placements from one state", w->jobs[i]->id);
            continue;
        }
        struct sched_why x = sched_plan_why(w->plan, i, true), y = sched_plan_why(twin, i, true);
        WORLD_CLAIM(w, memcmp(&x, &y, sizeof x) == 0, "job %u: two reasons from one state",
                    w->jobs[i]->id);
    }
}

/* A second memory of the policy that has seen the same snapshots. */
static void *twin_new(const struct world *w)
{
    void *twin = malloc(w->policy->memory_size + 1);

    memcpy(twin, w->memory, w->policy->memory_size + 1); /* the knobs: nothing was decided yet */
    return twin;
}

static void twin_free(const struct world *w, void *twin)
{
    if (twin != NULL && w->policy->fini != NULL)
        w->policy->fini(twin, &base_alloc_libc);
    free(twin);
}

/* Decides twice, the second time with the twin's memory, in a plan that was never used. */
static void decide_twice(struct world *w, void *twin)
{
    union sched_note(*notes)[2] = calloc(w->job_count + 1, sizeof *notes);
    struct sched_plan *plan = NULL;

    for (size_t i = 0; i < w->job_count; i++)
        memcpy(notes[i], w->jobs[i]->note, sizeof *notes);
    world_decide(w);
    union sched_note changed[2];
    for (size_t i = 0; i < w->job_count; i++) {
        memcpy(changed, w->jobs[i]->note, sizeof changed);
        memcpy(w->jobs[i]->note, notes[i], sizeof changed);
        memcpy(notes[i], changed, sizeof changed);
    }
    assert_int_equal(sched_plan_new(&base_alloc_libc, &w->cluster, &w->place, &plan), SHOAL_OK);
    assert_int_equal(sched_plan_begin(plan, &w->snap), SHOAL_OK);
    assert_int_equal(w->policy->decide(twin, &w->snap, plan), SHOAL_OK);
    claim_equal_plans(w, plan);
    if (w->policy->fini == NULL)
        WORLD_CLAIM(w, memcmp(twin, w->memory, w->policy->memory_size) == 0,
                    "two memories from one state");
    for (size_t i = 0; i < w->job_count; i++)
        WORLD_CLAIM(w, memcmp(notes[i], w->jobs[i]->note, sizeof *notes) == 0,
                    "job %u: two notes from one state", w->jobs[i]->id);
    sched_plan_free(plan);
    free(notes);
}

/* ---- random load ---- */

enum { ROWS = 15 };

/* A world, and a throughput table with what it was filled with. */
struct load {
    struct world w;
    void *twin; /* NULL: every decision is made once */
    struct sched_table table;
    double alone[SCHED_KINDS_MAX][ROWS];
    double pair[SCHED_KINDS_MAX][ROWS][ROWS];
    double gain;       /* least combined speed of a pair under this policy */
    uint64_t measured; /* of ten jobs, so many have rows of the table */
    bool adaptive;     /* a third of the jobs are */
    size_t pairs;      /* seen */
};

static struct load load; /* large */

/* Speeds of each row on each kind, alone and next to each other row; 0 where a pair cannot run. */
static void random_table(struct load *l)
{
    static const uint32_t gangs[ROWS] = {1, 1, 1, 1, 2, 2, 2, 4, 4, 4, 8, 8, 3, 6, 16};
    struct sched_table *t = &l->table;

    assert_int_equal(sched_table_init(t, &base_alloc_libc, &l->w.cluster, gangs, ROWS), SHOAL_OK);
    for (uint32_t k = 0; k < l->w.cluster.kind_count; k++)
        for (uint32_t r = 0; r < ROWS; r++) {
            double rate = base_rand_range(&l->w.rand, 0.5, 4);
            l->alone[k][r] = rate;
            assert_int_equal(sched_table_set(t, &t->packed[k], r, rate), SHOAL_OK);
            for (uint32_t s = 0; s < ROWS; s++) {
                bool can = base_rand_below(&l->w.rand, 5) != 0;
                double share = can ? base_rand_range(&l->w.rand, 0.3, 1) : 0;
                l->pair[k][r][s] = (double)(float)(rate * share);
                assert_int_equal(sched_table_set_pair(t, &t->packed[k], r, s, l->pair[k][r][s]),
                                 SHOAL_OK);
            }
        }
}

/* Adapts, in some way or other; what it has measured so far is none, some or all of its sizes. */
static struct world_job *random_adaptive(struct world *w, double seconds)
{
    uint32_t kinds, gpus = world_random_gang(w, &kinds);
    uint32_t most = gpus + (uint32_t)base_rand_below(&w->rand, 16);
    struct world_job *j = world_add_adaptive(w, gpus, most, kinds, seconds);
    struct sched_adapt *known = &j->adapt.known;

    if (known->batch_initial % gpus == 0 && base_rand_below(&w->rand, 2) == 0) {
        known->batch_max = known->batch_initial; /* its size is chosen, not its batch */
        known->local_min = 1;
    }
    known->grad_var = base_rand_exp(&w->rand, 10);
    for (uint32_t k = 0; k < w->cluster.kind_count; k++)
        if (j->adapt.kind[k].gpus_seen > 0)
            j->adapt.kind[k].gpus_seen = (uint32_t)base_rand_below(&w->rand, most + 1);
    return j;
}

static void random_arrival(struct load *l)
{
    struct world *w = &l->w;
    double seconds = w->round_s * base_rand_exp(&w->rand, 6) + 1;
    struct world_job *j;

    if (l->adaptive && base_rand_below(&w->rand, 3) == 0) {
        j = random_adaptive(w, seconds);
    } else if (base_rand_below(&w->rand, 10) < l->measured) {
        uint32_t row = (uint32_t)base_rand_below(&w->rand, ROWS), gpus = l->table.row_gpus[row];
        uint32_t kinds = world_fitting(w, (uint32_t)base_rand_u64(&w->rand), gpus);
        if (kinds == 0)
            return;
        j = world_add(w, gpus, kinds, sched_model_table(&l->table, row, 2 * seconds));
    } else {
        uint32_t kinds, gpus = world_random_gang(w, &kinds);
        j = world_add(w, gpus, kinds, sched_model_duration(seconds));
    }
    if (base_rand_below(&w->rand, 3) == 0)
        j->job.weight = base_rand_range(&w->rand, 0.1, 8);
}

/* Nodes fail and come back, now and then all at once; jobs are cancelled. */
static void random_events(struct world *w)
{
    bool noticed = base_rand_below(&w->rand, 2) != 0;
    bool all = base_rand_below(&w->rand, 40) == 0;

    for (uint32_t n = 0; n < w->cluster.node_count; n++) {
        if (w->node_up[n] && (all || base_rand_below(&w->rand, 60) == 0))
            world_fail(w, n, noticed);
        else if (!w->node_up[n] && base_rand_below(&w->rand, 6) == 0)
            world_repair(w, n);
    }
    if (w->job_count > 0 && base_rand_below(&w->rand, 8) == 0)
        world_end(w, base_rand_below(&w->rand, w->job_count), w->now_s);
}

/* A random cluster; world_set, then load_begin, come after it. */
static struct world *load_open(struct load *l, const struct sched_policy *policy, uint64_t seed)
{
    static const double leases[] = {0, 0, 30, 180};
    struct base_rand rand;
    char spec[200];

    base_rand_init(&rand, seed, "cluster");
    world_random_spec(&rand, spec, sizeof spec);
    world_open(&l->w, policy, seed, spec);
    l->w.lease_s = leases[base_rand_below(&rand, 4)];
    l->w.restart_s = base_rand_below(&rand, 2) != 0 ? 0 : 30;
    l->measured = 5;
    l->adaptive = seed % 2 == 0;
    return &l->w;
}

static void load_begin(struct load *l)
{
    const struct sched_policy *p = l->w.policy;
    const shoal_opt *gain = base_opt_find(p->opts, p->opt_count, "gain");

    l->gain = 1;
    if (gain != NULL)
        memcpy(&l->gain, (const char *)l->w.memory + gain->offset, sizeof l->gain);
    random_table(l);
    world_begin(&l->w);
    l->twin = NULL;
}

static void load_close(struct load *l)
{
    twin_free(&l->w, l->twin);
    world_close(&l->w);
    sched_table_fini(&l->table);
}

static void check_pairs(struct load *l)
{
    const struct world *w = &l->w;

    for (size_t i = 0; i < w->job_count; i++) {
        const struct sched_grant *g = sched_plan_grant(w->plan, i);
        if (g == NULL || g->partner == SCHED_JOB_NONE || g->partner < i)
            continue;
        const struct sched_job *a = w->jobs[i], *b = w->jobs[g->partner];
        uint32_t k = g->alloc.kind, ra = a->model.row, rb = b->model.row;
        WORLD_CLAIM(w, a->model.data == &l->table && b->model.data == &l->table,
                    "jobs %u and %u share, but nothing is known of them", a->id, b->id);
        double x = l->pair[k][ra][rb] / l->alone[k][ra], y = l->pair[k][rb][ra] / l->alone[k][rb];
        WORLD_CLAIM(w, a->gpus == b->gpus, "jobs %u and %u share and differ in size", a->id, b->id);
        WORLD_CLAIM(w, x > 0 && y > 0, "jobs %u and %u cannot run as a pair", a->id, b->id);
        WORLD_CLAIM(w, x + y > l->gain, "jobs %u and %u keep only %g together", a->id, b->id,
                    x + y);
        l->pairs++;
    }
}

static void load_run(struct load *l, int rounds, bool twice)
{
    struct world *w = &l->w;

    if (twice)
        l->twin = twin_new(w);
    for (int r = 0; r < rounds; r++) {
        uint64_t count = w->round == 0 ? 10 : w->job_count > 40 ? 0 : base_rand_below(&w->rand, 5);
        while (count-- > 0)
            random_arrival(l);
        random_events(w);
        if (twice)
            decide_twice(w, l->twin);
        else
            world_decide(w);
        rules_check(w);
        check_pairs(l);
        world_apply(w);
        world_pass(w, base_rand_range(&w->rand, 1, 2 * w->round_s));
    }
}

static void every_policy_keeps_the_rules_under_random_load(void **state)
{
    size_t count;
    const struct sched_policy *const *rows = sched_policies(&count);

    (void)state;
    for (size_t p = 0; p < count; p++)
        for (int seed = 1; seed <= property_count(SEEDS); seed++) {
            load_open(&load, rows[p], (uint64_t)seed);
            load_begin(&load);
            load_run(&load, ROUNDS, true);
            load_close(&load);
        }
}

static void every_policy_keeps_the_rules_under_every_placement_rule(void **state)
{
    static const char *const localities[] = {"locality=anywhere", "locality=rack",
                                             "locality=strict"};
    size_t count;
    const struct sched_policy *const *rows = sched_policies(&count);

    (void)state;
    for (size_t p = 0; p < count; p++)
        for (uint64_t seed = 1; seed <= (uint64_t)property_count(120); seed++) {
            struct world *w = load_open(&load, rows[p], seed);
            world_set(w, localities[seed % 3]);
            world_set(w, seed / 3 % 2 != 0 ? "exclusive=true" : "exclusive=false");
            world_set(w, seed / 6 % 2 != 0 ? "relax=2m" : "relax=0s");
            world_set(w, seed / 12 % 2 != 0 ? "upgrade=false" : "upgrade=true");
            load_begin(&load);
            load_run(&load, ROUNDS / 2, false);
            load_close(&load);
        }
}

/* The value number `n` worth trying for a knob: its ends or its choices. False when there are no
 * more. */
static bool knob_value(const shoal_opt *row, size_t n, char *text, size_t size)
{
    switch (row->type) {
    case SHOAL_OPT_FLAG:
        snprintf(text, size, "%s=%s", row->name, n == 0 ? "false" : "true");
        return n < 2;
    case SHOAL_OPT_CHOICE:
        for (size_t i = 0; i <= n; i++)
            if (row->choices[i] == NULL)
                return false;
        snprintf(text, size, "%s=%s", row->name, row->choices[n]);
        return true;
    case SHOAL_OPT_U64:
    case SHOAL_OPT_F64:
    case SHOAL_OPT_DURATION:
    case SHOAL_OPT_SIZE:
        snprintf(text, size, "%s=%.0f", row->name, n == 0 ? row->min : row->max);
        return n < 2 && (row->min != 0 || row->max != 0);
    case SHOAL_OPT_STR:
    case SHOAL_OPT_LIST: return false;
    }
    return false;
}

static void every_policy_keeps_the_rules_with_each_knob_at_its_ends(void **state)
{
    size_t count;
    const struct sched_policy *const *rows = sched_policies(&count);
    char text[128];

    (void)state;
    for (size_t p = 0; p < count; p++)
        for (size_t o = 0; o < rows[p]->opt_count; o++)
            for (size_t n = 0; knob_value(&rows[p]->opts[o], n, text, sizeof text); n++)
                for (int seed = 1; seed <= property_count(5); seed++) {
                    world_set(load_open(&load, rows[p], (uint64_t)seed), text);
                    load_begin(&load);
                    load_run(&load, ROUNDS, false);
                    load_close(&load);
                }
}

/* ---- ends ---- */

static void every_policy_survives_the_loss_of_all_nodes_and_finishes_after_they_return(void **state)
{
    size_t count;
    const struct sched_policy *const *rows = sched_policies(&count);

    (void)state;
    for (size_t p = 0; p < count; p++)
        for (int seed = 1; seed <= property_count(8); seed++) {
            struct world *w = load_open(&load, rows[p], (uint64_t)seed);
            load_begin(&load);
            load_run(&load, 10, false);
            for (uint32_t n = 0; n < w->cluster.node_count; n++)
                world_fail(w, n, seed % 2 == 0);
            world_decide(w);
            rules_check(w);
            world_apply(w);
            assert_int_equal(world_running(w), 0);
            for (uint32_t n = 0; n < w->cluster.node_count; n++)
                world_repair(w, n);
            for (int r = 0; r < 5000 && w->job_count > 0; r++) {
                world_decide(w);
                rules_check(w);
                world_apply(w);
                world_pass(w, w->round_s);
            }
            WORLD_CLAIM(w, w->job_count == 0, "%zu jobs never finish", w->job_count);
            load_close(&load);
        }
}

/* A job of a sweep waits for the others where no policy sees it, and comes back among later ones. */
static void every_policy_takes_back_a_job_that_was_away(void **state)
{
    size_t count;
    const struct sched_policy *const *rows = sched_policies(&count);

    (void)state;
    for (size_t p = 0; p < count; p++) {
        struct world *w = &load.w;
        world_open(w, rows[p], 1, "2x4:t4");
        world_begin(w);
        for (int i = 0; i < 5; i++)
            world_add_adaptive(w, 1, 8, 1, 20000);
        for (int r = 0; r < 6; r++) {
            struct world_job *away = world_job_of(w->jobs[1]);
            if (r % 3 == 1)
                world_end(w, 1, NAN);
            world_decide(w);
            rules_check(w);
            world_apply(w);
            world_pass(w, w->round_s);
            if (r % 3 != 1)
                continue;
            memmove(w->jobs + 2, w->jobs + 1, (w->job_count - 1) * sizeof *w->jobs);
            w->jobs[1] = &away->job;
            w->job_count++;
            assert_true(w->jobs[0]->id < away->job.id && away->job.id < w->jobs[2]->id);
        }
        assert_int_equal(w->job_count, 5);
        world_close(w);
    }
}

/* A gang that needs every GPU of a kind, in a stream of small jobs that would always fill it. */
static void a_large_gang_starts_in_an_endless_stream_where_that_is_promised(void **state)
{
    static const char *const specs[] = {"4x4:t4", "2x8:a100,2x4:t4", "1x4:v100,3x2:k80,1x8:p100"};
    size_t count;
    const struct sched_policy *const *rows = sched_policies(&count);

    (void)state;
    for (size_t p = 0; p < count; p++)
        for (int seed = 1; rows[p]->starvation_free && seed <= property_count(5); seed++) {
            struct world *w = &load.w;
            struct world_job *large = NULL;
            world_open(w, rows[p], (uint64_t)seed, specs[seed % 3]);
            w->lease_s = seed % 2 == 0 ? 0 : w->round_s;
            world_begin(w);
            for (int r = 0; r < 400 && (large == NULL || isnan(large->start_s)); r++) {
                uint32_t kind = (uint32_t)base_rand_below(&w->rand, w->cluster.kind_count);
                if (r == 4)
                    large = world_add(w, w->cluster.kinds[kind].gpus, 1u << kind,
                                      sched_model_duration(600));
                for (uint32_t gpus = 0; gpus < w->cluster.gpus && w->all_count < WORLD_JOBS_MAX;) {
                    struct world_job *j =
                        world_add_seconds(w, 1 + (uint32_t)base_rand_below(&w->rand, 2),
                                          w->round_s * (double)(1 + base_rand_below(&w->rand, 3)));
                    gpus += j->job.gpus;
                }
                WORLD_CLAIM(w, w->all_count < WORLD_JOBS_MAX, "the gang of %u never starts",
                            large != NULL ? large->job.gpus : 0);
                world_round(w);
            }
            WORLD_CLAIM(w, !isnan(large->start_s), "the gang of %u never starts", large->job.gpus);
            world_close(w);
        }
}

static void jobs_share_only_where_the_models_say_it_pays(void **state)
{
    size_t count;
    const struct sched_policy *const *rows = sched_policies(&count);

    (void)state;
    load.pairs = 0;
    for (size_t p = 0; p < count; p++)
        for (int seed = 1; seed <= property_count(5); seed++) {
            struct world *w = load_open(&load, rows[p], (uint64_t)seed);
            if (base_opt_find(rows[p]->opts, rows[p]->opt_count, "slice") != NULL)
                world_set(w, "slice=5m");
            if (base_opt_find(rows[p]->opts, rows[p]->opt_count, "sharing") != NULL)
                world_set(w, "sharing=pairs");
            if (seed % 3 == 0)
                world_set(w, "exclusive=true");
            load.measured = 10;
            load_begin(&load);
            load_run(&load, ROUNDS, true);
            load_close(&load);
        }
    assert_true(load.pairs > 1000); /* else nothing was tested */
}

/* ---- failing allocations ---- */

struct torture_case {
    struct world *w;
    uint64_t expected; /* fingerprint of the plan when nothing fails; 0: not known yet */
    uint64_t *out;
};

static uint64_t mix(uint64_t h, uint64_t x)
{
    return (h ^ x) * UINT64_C(0x100000001b3);
}

static uint64_t fingerprint(const struct world *w, const struct sched_plan *plan)
{
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < w->job_count; i++) {
        const struct sched_grant *g = sched_plan_grant(plan, i);
        h = mix(h, sched_plan_reason(plan, i));
        for (uint32_t p = 0; g != NULL && p < g->alloc.place_count; p++)
            h = mix(mix(h, g->alloc.places[p].node), g->alloc.places[p].gpus);
    }
    return h;
}

/* Two decisions in a new plan with a new memory, notes as they were. */
static shoal_status decide_with(const struct base_alloc *alloc, void *ctx)
{
    const struct torture_case *c = ctx;
    struct world *w = c->w;
    const struct sched_policy *p = w->policy;
    struct sched_plan *plan = NULL;
    struct sched_snapshot snap = w->snap;
    union sched_note(*notes)[2] = calloc(w->job_count, sizeof *notes);
    void *memory = calloc(1, p->memory_size + 1);

    snap.alloc = alloc;
    base_opt_defaults(p->opts, p->opt_count, memory);
    for (size_t i = 0; i < w->job_count; i++)
        memcpy(notes[i], w->jobs[i]->note, sizeof *notes);
    shoal_status st = sched_plan_new(alloc, &w->cluster, &w->place, &plan);
    for (int n = 0; st == SHOAL_OK && n < 2; n++) {
        st = sched_plan_begin(plan, &snap);
        if (st == SHOAL_OK)
            st = p->decide(memory, &snap, plan);
    }
    if (st == SHOAL_OK && c->out != NULL)
        *c->out = fingerprint(w, plan);
    else if (st == SHOAL_OK && fingerprint(w, plan) != c->expected)
        st = SHOAL_E_INTERNAL; /* a refused allocation changed the plan */
    sched_plan_free(plan);
    for (size_t i = 0; i < w->job_count; i++)
        memcpy(w->jobs[i]->note, notes[i], sizeof *notes);
    if (p->fini != NULL)
        p->fini(memory, alloc);
    free(memory);
    free(notes);
    return st;
}

static void failed_allocations_end_in_a_clean_error_and_never_in_another_plan(void **state)
{
    size_t count;
    const struct sched_policy *const *rows = sched_policies(&count);

    struct world *w = &load.w;

    (void)state;
    for (size_t p = 0; p < count; p++) {
        uint64_t expected = 0;
        world_open(w, rows[p], 1, "20x8:t4,20x8:a100,20x4:k80");
        world_begin(w);
        for (int i = 0; i < 2000; i++)
            world_add_seconds(w, 1 + (uint32_t)base_rand_below(&w->rand, 12),
                              base_rand_range(&w->rand, 60, 6000));
        world_round(w);
        world_snapshot(w);
        struct torture_case c = {.w = w, .out = &expected};
        assert_int_equal(decide_with(&base_alloc_libc, &c), SHOAL_OK);
        c = (struct torture_case){.w = w, .expected = expected};
        torture_run(decide_with, &c);
        world_close(w);
    }
}

/* ---- rows ---- */

static void every_row_says_what_it_is(void **state)
{
    size_t count;
    const struct sched_policy *const *rows = sched_policies(&count);

    (void)state;
    assert_true(count > 0);
    for (size_t p = 0; p < count; p++) {
        const struct sched_policy *row = rows[p];
        assert_ptr_equal(sched_policy_find(row->name, NULL), row);
        assert_true(strlen(row->summary) > 10);
        assert_true(strlen(row->optimises) > 20);
        assert_true(strlen(row->paper) > 5);
        assert_non_null(row->decide);
        for (size_t o = 0; o < row->opt_count; o++) {
            assert_null(base_opt_find(sched_place_rows, sched_place_row_count, row->opts[o].name));
            assert_true(row->opts[o].offset + base_opt_size(&row->opts[o]) <= row->memory_size);
        }
    }
}

static void an_unknown_policy_is_an_error_that_offers_the_nearest(void **state)
{
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_null(sched_policy_find("tirasias", &err));
    assert_int_equal(err.code, SHOAL_E_NOTFOUND);
    assert_non_null(strstr(err.message, "'tirasias'"));
    assert_non_null(strstr(err.hint, "'tiresias'"));
    assert_null(sched_policy_find("", &err));
    assert_null(sched_policy_find("x", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_says_what_it_is),
        cmocka_unit_test(an_unknown_policy_is_an_error_that_offers_the_nearest),
        cmocka_unit_test(every_policy_keeps_the_rules_under_random_load),
        cmocka_unit_test(every_policy_keeps_the_rules_under_every_placement_rule),
        cmocka_unit_test(every_policy_keeps_the_rules_with_each_knob_at_its_ends),
        cmocka_unit_test(
            every_policy_survives_the_loss_of_all_nodes_and_finishes_after_they_return),
        cmocka_unit_test(every_policy_takes_back_a_job_that_was_away),
        cmocka_unit_test(a_large_gang_starts_in_an_endless_stream_where_that_is_promised),
        cmocka_unit_test(jobs_share_only_where_the_models_say_it_pays),
        cmocka_unit_test(failed_allocations_end_in_a_clean_error_and_never_in_another_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
