/* test_plan.c - the books of a decision against a slow, obvious reference: an array of free GPUs
 * per node, searched from end to end. */
#include "unit/sched/world.h"

#include "base/assert.h"

static struct world world; /* large */

/* ---- the reference ---- */

struct reference {
    const struct world *w;
    uint32_t free[WORLD_NODES_MAX];
    uint32_t span[WORLD_NODES_MAX]; /* spanning jobs */
    const struct sched_alloc *grants[WORLD_JOBS_MAX];
    uint32_t partner[WORLD_JOBS_MAX]; /* index or SCHED_JOB_NONE */
};

static void reference_init(struct reference *r, const struct world *w)
{
    r->w = w;
    for (uint32_t n = 0; n < w->cluster.node_count; n++) {
        r->free[n] = w->node_up[n] ? w->cluster.nodes[n].gpus : 0;
        r->span[n] = 0;
    }
    for (size_t i = 0; i < w->job_count; i++) {
        r->grants[i] = NULL;
        r->partner[i] = SCHED_JOB_NONE;
    }
}

static uint32_t reference_free(const struct reference *r, uint32_t kind)
{
    uint32_t free = 0;

    for (uint32_t n = 0; n < r->w->cluster.node_count; n++)
        if (r->w->cluster.nodes[n].kind == kind)
            free += r->free[n];
    return free;
}

enum { ANY_RACK = UINT32_MAX };

/* May a gang that spans nodes use this one? */
static bool usable(const struct reference *r, uint32_t node, uint32_t kind, uint32_t rack)
{
    const struct sched_node *n = &r->w->cluster.nodes[node];

    return n->kind == kind && (rack == ANY_RACK || n->rack == rack) &&
           !(r->w->place.exclusive && r->span[node] > 0);
}

/* Fewest usable nodes that hold `gpus`: the largest first. 0: not enough. */
static uint32_t fewest(const struct reference *r, const uint32_t *sizes, uint32_t kind,
                       uint32_t rack, uint32_t gpus)
{
    bool used[WORLD_NODES_MAX] = {false};

    for (uint32_t count = 1;; count++) {
        uint32_t best = WORLD_NODES_MAX;
        for (uint32_t n = 0; n < r->w->cluster.node_count; n++)
            if (!used[n] && sizes[n] > 0 && usable(r, n, kind, rack) &&
                (best == WORLD_NODES_MAX || sizes[n] > sizes[best]))
                best = n;
        if (best == WORLD_NODES_MAX)
            return 0;
        if (sizes[best] >= gpus)
            return count;
        used[best] = true;
        gpus -= sizes[best];
    }
}

static uint32_t fewest_on_empty_cluster(const struct reference *r, uint32_t kind, uint32_t gpus)
{
    struct reference empty = {.w = r->w};
    uint32_t sizes[WORLD_NODES_MAX];

    for (uint32_t n = 0; n < r->w->cluster.node_count; n++)
        sizes[n] = r->w->cluster.nodes[n].gpus;
    return fewest(&empty, sizes, kind, ANY_RACK, gpus);
}

/* How many nodes a gang should be given on this kind under the rules, and in which rack where that
 * matters: the first that needs the fewest. 0: it does not fit. */
static uint32_t nodes_needed(const struct reference *r, uint32_t kind, uint32_t gpus,
                             uint32_t *out_rack)
{
    uint32_t level = r->w->place.locality, best = 0;

    *out_rack = ANY_RACK;
    for (uint32_t n = 0; n < r->w->cluster.node_count; n++)
        if (r->w->cluster.nodes[n].kind == kind && r->free[n] >= gpus)
            return 1; /* one node is as close as can be, and never spans */
    for (uint32_t rack = 0; level == SCHED_LOCALITY_RACK && rack < r->w->cluster.rack_count;
         rack++) {
        uint32_t count = fewest(r, r->free, kind, rack, gpus);
        if (count > 0 && (best == 0 || count < best)) {
            best = count;
            *out_rack = rack;
        }
    }
    if (level != SCHED_LOCALITY_RACK)
        best = fewest(r, r->free, kind, ANY_RACK, gpus);
    if (level == SCHED_LOCALITY_STRICT && best > fewest_on_empty_cluster(r, kind, gpus))
        return 0;
    return best;
}

/* The node a piece of `gpus` should come from: the tightest that holds it under PACK, else the one
 * with the most free; ties by index. */
static uint32_t expected_node(const uint32_t *free, const struct world *w, uint32_t kind,
                              uint32_t gpus, enum sched_fit fit)
{
    uint32_t tight = WORLD_NODES_MAX, empty = WORLD_NODES_MAX;

    for (uint32_t n = 0; n < w->cluster.node_count; n++) {
        if (w->cluster.nodes[n].kind != kind || free[n] == 0)
            continue;
        if (free[n] >= gpus && (tight == WORLD_NODES_MAX || free[n] < free[tight]))
            tight = n;
        if (empty == WORLD_NODES_MAX || free[n] > free[empty])
            empty = n;
    }
    return fit == SCHED_FIT_PACK && tight != WORLD_NODES_MAX ? tight : empty;
}

/* Where nothing restricts it, the places are determined. */
static void check_exact_places(const struct reference *r, const struct sched_alloc *a,
                               enum sched_fit fit)
{
    uint32_t free[WORLD_NODES_MAX], left = a->gpus;

    memcpy(free, r->free, sizeof free);
    for (uint32_t p = 0; p < a->place_count; p++) {
        uint32_t node = expected_node(free, r->w, a->kind, left, fit);
        assert_int_equal(a->places[p].node, node);
        assert_int_equal(a->places[p].gpus, free[node] < left ? free[node] : left);
        left -= a->places[p].gpus;
        free[node] -= a->places[p].gpus;
    }
    assert_int_equal(left, 0);
}

static void reference_take(struct reference *r, size_t job, const struct sched_alloc *a)
{
    for (uint32_t p = 0; p < a->place_count; p++) {
        assert_true(r->free[a->places[p].node] >= a->places[p].gpus);
        r->free[a->places[p].node] -= a->places[p].gpus;
        r->span[a->places[p].node] += a->place_count > 1;
    }
    r->grants[job] = a;
}

/* ---- each operation against the reference ---- */

static void try_place(struct reference *r, struct sched_plan *plan, size_t job, int kind,
                      enum sched_fit fit)
{
    const struct sched_job *j = r->w->jobs[job];
    uint32_t count = 0, on = 0, most_free = 0, elsewhere = 0, rack = ANY_RACK;

    for (uint32_t i = 0; i < j->kind_count; i++)
        if (reference_free(r, j->kind_rank[i]) > elsewhere)
            elsewhere = reference_free(r, j->kind_rank[i]);
    for (uint32_t i = 0; i < j->kind_count && count == 0; i++) {
        on = j->kind_rank[i];
        if (kind == SCHED_KIND_BEST || (int)on == kind) {
            count = nodes_needed(r, on, j->gpus, &rack);
            most_free = most_free > reference_free(r, on) ? most_free : reference_free(r, on);
        }
    }
    bool held = r->grants[job] != NULL;
    bool placed = sched_plan_place(plan, job, kind, fit);
    WORLD_CLAIM(r->w, placed == (count > 0 && !held), "job %u: placed %d, %u nodes expected", j->id,
                placed, count);
    if (!placed) {
        enum sched_reason reason = most_free >= j->gpus   ? SCHED_WHY_LOCALITY
                                   : elsewhere >= j->gpus ? SCHED_WHY_FAIR_SHARE
                                   : most_free > 0        ? SCHED_WHY_GANG
                                                          : SCHED_WHY_CAPACITY;
        assert_int_equal(sched_plan_reason(plan, job), held ? SCHED_WHY_NONE : reason);
        return;
    }
    const struct sched_grant *g = sched_plan_grant(plan, job);
    assert_false(g->kept);
    assert_int_equal(g->alloc.kind, on);
    assert_int_equal(g->alloc.place_count, count);
    if (count == 1 || (r->w->place.locality != SCHED_LOCALITY_RACK && !r->w->place.exclusive))
        check_exact_places(r, &g->alloc, fit);
    for (uint32_t p = 0; count > 1 && p < count; p++)
        assert_true(usable(r, g->alloc.places[p].node, on, rack));
    reference_take(r, job, &g->alloc);
}

static bool partner_was_kept(const struct reference *r, const struct sched_plan *plan, uint32_t id)
{
    for (size_t i = 0; i < r->w->job_count; i++)
        if (r->w->jobs[i]->id == id && r->grants[i] != NULL)
            return sched_plan_grant(plan, i)->kept;
    return false;
}

static void try_keep(struct reference *r, struct sched_plan *plan, size_t job)
{
    const struct sched_alloc *a = &r->w->jobs[job]->alloc;
    bool can = a->place_count > 0 && r->grants[job] == NULL &&
               !partner_was_kept(r, plan, r->w->jobs[job]->partner);

    for (uint32_t p = 0; p < a->place_count; p++) {
        uint32_t node = a->places[p].node;
        if (r->free[node] < a->places[p].gpus ||
            (r->w->place.exclusive && a->place_count > 1 && r->span[node] > 0))
            can = false;
    }
    assert_int_equal(sched_plan_keep(plan, job), can);
    if (can) {
        assert_true(sched_plan_grant(plan, job)->kept);
        reference_take(r, job, a);
    }
}

static void try_share(struct reference *r, struct sched_plan *plan, size_t job, size_t with)
{
    const struct sched_job *j = r->w->jobs[job];
    const struct sched_alloc *host = r->grants[with];
    bool can = host != NULL && r->grants[job] == NULL && r->partner[with] == SCHED_JOB_NONE &&
               host->gpus == j->gpus && (j->kinds >> host->kind & 1) != 0 &&
               !(r->w->place.exclusive && host->place_count > 1);

    assert_int_equal(sched_plan_share(plan, job, with), can);
    if (!can)
        return;
    const struct sched_grant *g = sched_plan_grant(plan, job);
    assert_int_equal(g->partner, with);
    assert_int_equal(sched_plan_grant(plan, with)->partner, job);
    assert_int_equal(g->alloc.place_count, host->place_count);
    assert_memory_equal(g->alloc.places, host->places, host->place_count * sizeof *host->places);
    r->grants[job] = &g->alloc;
    r->partner[job] = (uint32_t)with;
    r->partner[with] = (uint32_t)job;
}

static void try_place_as(struct reference *r, struct sched_plan *plan, size_t job, uint32_t kind,
                         uint32_t gpus, enum sched_fit fit)
{
    const struct sched_job *j = r->w->jobs[job];
    uint32_t rack, count = nodes_needed(r, kind, gpus, &rack);
    bool can = count > 0 && (j->kinds >> kind & 1) != 0 && r->grants[job] == NULL;

    if (j->adapt == NULL)
        return;
    assert_int_equal(sched_plan_place_as(plan, job, kind, gpus, fit), can);
    if (!can)
        return;
    const struct sched_grant *g = sched_plan_grant(plan, job);
    assert_true(g->adapted && !g->kept && g->alloc.kind == kind && g->alloc.gpus == gpus);
    assert_int_equal(g->alloc.place_count, count);
    reference_take(r, job, &g->alloc);
}

/* On one or two nodes, whatever is free there. */
static void try_place_at(struct reference *r, struct sched_plan *plan, size_t job,
                         struct base_rand *rand)
{
    const struct sched_job *j = r->w->jobs[job];
    uint32_t node = (uint32_t)base_rand_below(rand, r->w->cluster.node_count), next = node + 1;
    struct sched_place places[2] = {{node, 1 + (uint32_t)base_rand_below(rand, 4)}, {next, 1}};
    uint16_t kind = r->w->cluster.nodes[node].kind;
    bool two = next < r->w->cluster.node_count && r->w->cluster.nodes[next].kind == kind;
    struct sched_alloc a = {places, two ? 2 : 1, places[0].gpus + two, kind};
    bool can = r->grants[job] == NULL && (j->kinds >> kind & 1) != 0;

    if (j->adapt == NULL)
        return;
    for (uint32_t p = 0; p < a.place_count; p++)
        can = can && r->free[places[p].node] >= places[p].gpus &&
              !(two && r->w->place.exclusive && r->span[places[p].node] > 0);
    const struct sched_node *nodes = r->w->cluster.nodes;
    if (two && r->w->place.locality == SCHED_LOCALITY_RACK)
        can = can && nodes[node].rack == nodes[next].rack;
    if (two && r->w->place.locality == SCHED_LOCALITY_STRICT)
        can = can && fewest_on_empty_cluster(r, kind, a.gpus) >= 2;
    assert_int_equal(sched_plan_place_at(plan, job, &a), can);
    if (!can)
        return;
    const struct sched_grant *g = sched_plan_grant(plan, job);
    assert_true(g->adapted && g->alloc.gpus == a.gpus && g->alloc.place_count == a.place_count);
    assert_memory_equal(g->alloc.places, places, a.place_count * sizeof *places);
    reference_take(r, job, &g->alloc);
}

static void check_books(const struct reference *r, const struct sched_plan *plan)
{
    for (uint32_t k = 0; k < r->w->cluster.kind_count; k++)
        assert_int_equal(sched_plan_free_gpus(plan, k), reference_free(r, k));
    for (size_t i = 0; i < r->w->job_count; i++)
        assert_int_equal(sched_plan_has(plan, i), r->grants[i] != NULL);
}

static void random_rules(struct world *w, uint64_t seed)
{
    static const char *const localities[] = {"locality=anywhere", "locality=rack",
                                             "locality=strict"};

    world_set(w, localities[seed % 3]);
    world_set(w, seed / 3 % 2 != 0 ? "exclusive=true" : "exclusive=false");
}

static void random_jobs(struct world *w, uint64_t count)
{
    while (count-- > 0) {
        uint32_t kinds, gpus = world_random_gang(w, &kinds);
        if (base_rand_below(&w->rand, 3) == 0)
            world_add_adaptive(w, gpus, 2 * gpus, kinds, 600);
        else
            world_add(w, gpus, kinds, sched_model_duration(600));
    }
}

static void every_call_agrees_with_a_naive_search(void **state)
{
    static struct reference r;

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(300); seed++) {
        struct world *w = &world;
        struct base_rand rand;
        char spec[200];
        base_rand_init(&rand, seed, "cluster");
        world_random_spec(&rand, spec, sizeof spec);
        world_open(w, NULL, seed, spec);
        random_rules(w, seed);
        world_begin(w);
        for (int round = 0; round < 6; round++) {
            random_jobs(w, 8);
            for (uint32_t n = 0; n < w->cluster.node_count; n++)
                if (base_rand_below(&w->rand, 8) == 0)
                    w->node_up[n] ? world_fail(w, n, false) : world_repair(w, n);
            struct sched_plan *plan = world_plan(w);
            reference_init(&r, w);
            for (int call = 0; call < 60; call++) {
                size_t job = base_rand_below(&w->rand, w->job_count);
                size_t other = base_rand_below(&w->rand, w->job_count);
                enum sched_fit fit =
                    base_rand_below(&w->rand, 2) != 0 ? SCHED_FIT_PACK : SCHED_FIT_MOST_FREE;
                int kind = (int)base_rand_below(&w->rand, w->cluster.kind_count + 1) - 1;
                uint32_t on = (uint32_t)base_rand_below(&w->rand, w->cluster.kind_count);
                uint32_t gpus = 1 + (uint32_t)base_rand_below(&w->rand, 2 * w->jobs[job]->gpus);
                switch (base_rand_below(&w->rand, 6)) {
                case 0: try_share(&r, plan, job, other); break;
                case 1: try_keep(&r, plan, job); break;
                case 2: try_place_as(&r, plan, job, on, gpus, fit); break;
                case 3: try_place_at(&r, plan, job, &w->rand); break;
                default: try_place(&r, plan, job, kind, fit); break;
                }
                check_books(&r, plan);
            }
            world_apply(w);
            world_pass(w, w->round_s);
            if (w->job_count > 30)
                world_end(w, base_rand_below(&w->rand, w->job_count), w->now_s);
        }
        world_close(w);
    }
}

/* ---- rules by example ---- */

static void waiting_lowers_the_locality_asked_for_level_by_level(void **state)
{
    static const struct {
        const char *spec;
        double waited_s;
        bool fits;
    } cases[] = {
        /* one GPU is left on each node; a gang of 2 wants one node, then one rack, then anything */
        {"4x4:t4:rack=a", 0, false},
        {"4x4:t4:rack=a", 59, false},
        {"4x4:t4:rack=a", 60, true},
        {"4x4:t4:rack=a", 1e6, true},
        {"2x4:t4:rack=a,2x4:t4:rack=b", 60, true},
        {"1x4:t4:rack=a,1x4:t4:rack=b", 60, false},
        {"1x4:t4:rack=a,1x4:t4:rack=b", 119, false},
        {"1x4:t4:rack=a,1x4:t4:rack=b", 120, true},
    };

    (void)state;
    for (size_t c = 0; c < BASE_COUNT(cases); c++) {
        struct world *w = &world;
        world_open(w, NULL, 1, cases[c].spec);
        world_set(w, "locality=strict");
        world_set(w, "relax=60s");
        world_begin(w);
        for (uint32_t n = 0; n < w->cluster.node_count; n++)
            world_add_seconds(w, 3, 600);
        world_add_seconds(w, 2, 600);
        w->now_s = cases[c].waited_s;
        struct sched_plan *plan = world_plan(w);
        for (uint32_t n = 0; n < w->cluster.node_count; n++)
            assert_true(sched_plan_place(plan, n, SCHED_KIND_BEST, SCHED_FIT_PACK));
        assert_int_equal(
            sched_plan_place(plan, w->cluster.node_count, SCHED_KIND_BEST, SCHED_FIT_PACK),
            cases[c].fits);
        world_close(w);
    }
}

static void a_later_keep_or_place_clears_the_reason(void **state)
{
    struct world *w = &world;

    (void)state;
    world_open(w, NULL, 1, "1x4:t4");
    world_begin(w);
    world_add_seconds(w, 4, 600);
    world_add_seconds(w, 2, 600);
    struct sched_plan *plan = world_plan(w);
    sched_plan_wait_others(plan, SCHED_WHY_FAIR_SHARE, SCHED_JOB_NONE);
    assert_int_equal(sched_plan_reason(plan, 0), SCHED_WHY_FAIR_SHARE);
    sched_plan_wait(plan, 0, (struct sched_why){.reason = SCHED_WHY_PRICE, .kind = UINT16_MAX});
    assert_int_equal(sched_plan_why(plan, 0, false).reason, SCHED_WHY_PRICE);
    assert_true(sched_plan_place(plan, 0, SCHED_KIND_BEST, SCHED_FIT_PACK));
    assert_int_equal(sched_plan_reason(plan, 0), SCHED_WHY_NONE);
    assert_false(sched_plan_place(plan, 1, 0, SCHED_FIT_PACK));
    struct sched_why why = sched_plan_why(plan, 1, true);
    assert_int_equal(why.reason, SCHED_WHY_CAPACITY);
    assert_int_equal(why.blocker_count, 1);
    assert_int_equal(why.blockers[0].job, 0);
    assert_int_equal(why.blockers[0].gpus, 4);
    world_close(w);
}

/* ---- upgrades ---- */

enum { ROWS = 4 };

/* Row r is a gang of r + 1; kind k runs it at speed[k]. */
static void make_table(struct sched_table *t, const struct world *w, const double *speed)
{
    uint32_t gangs[ROWS] = {1, 2, 3, 4};

    assert_int_equal(sched_table_init(t, &base_alloc_libc, &w->cluster, gangs, ROWS), SHOAL_OK);
    for (uint32_t k = 0; k < w->cluster.kind_count; k++)
        for (uint32_t r = 0; r < ROWS; r++)
            assert_int_equal(sched_table_set(t, &t->packed[k], r, speed[k]), SHOAL_OK);
}

/* Sequential and by counts: what upgrading should do where gangs may lie anywhere. */
static void check_upgrade(struct world *w, const double *speed, const bool *had_grant,
                          bool for_less)
{
    const struct sched_kind *kinds = w->cluster.kinds;
    uint32_t free[SCHED_KINDS_MAX];

    for (uint32_t k = 0; k < w->cluster.kind_count; k++)
        free[k] = w->cluster.kinds[k].gpus;
    for (size_t i = 0; i < w->job_count; i++)
        if (had_grant[i])
            free[w->jobs[i]->alloc.kind] -= w->jobs[i]->gpus;
    for (size_t i = 0; i < w->job_count; i++) {
        const struct sched_job *j = w->jobs[i];
        const struct sched_grant *g = sched_plan_grant(w->plan, i);
        uint32_t to = j->alloc.kind;
        assert_int_equal(g != NULL, had_grant[i]);
        if (g == NULL)
            continue;
        for (uint32_t n = 0; n < j->kind_count && to == j->alloc.kind; n++) {
            uint32_t k = j->kind_rank[n];
            double left = j->model.work - j->progress;
            if (speed[k] > speed[j->alloc.kind] && free[k] >= j->gpus &&
                j->lease_until_s <= w->now_s &&
                left / speed[j->alloc.kind] - left / speed[k] > 2 * w->restart_s &&
                (!for_less || kinds[k].usd_gpu_h / speed[k] <=
                                  kinds[j->alloc.kind].usd_gpu_h / speed[j->alloc.kind]))
                to = k;
        }
        assert_int_equal(g->alloc.kind, to);
        assert_int_equal(g->kept, to == j->alloc.kind);
        free[j->alloc.kind] += j->gpus;
        free[to] -= j->gpus;
    }
    for (uint32_t k = 0; k < w->cluster.kind_count; k++)
        assert_int_equal(sched_plan_free_gpus(w->plan, k), free[k]);
}

static void upgrade_moves_to_a_faster_kind_only_where_that_saves_twice_the_restart(void **state)
{
    static const double speed[] = {1, 2, 5};

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(200); seed++) {
        struct world *w = &world;
        struct sched_table table;
        uint32_t all[WORLD_JOBS_MAX];
        bool had[WORLD_JOBS_MAX];
        world_open(w, NULL, seed, "4x4:k80:usd=0.9,2x4:p100:usd=2.5,1x4:v100:usd=3");
        make_table(&table, w, speed);
        world_begin(w);
        w->restart_s = base_rand_range(&w->rand, 0, 400);
        for (uint32_t i = 0; i < 20; i++) {
            uint32_t row = (uint32_t)base_rand_below(&w->rand, ROWS);
            struct world_job *j =
                world_add(w, row + 1, 1 + (uint32_t)base_rand_below(&w->rand, 7),
                          sched_model_table(&table, row, base_rand_range(&w->rand, 1, 2000)));
            j->job.progress = base_rand_range(&w->rand, 0, j->job.model.work);
            all[i] = i;
        }
        world_plan(w);
        for (size_t i = 0; i < w->job_count; i++)
            sched_plan_place(w->plan, i, (int)base_rand_below(&w->rand, 3), SCHED_FIT_PACK);
        world_apply(w);
        world_plan(w);
        for (size_t i = 0; i < w->job_count; i++) {
            had[i] = base_rand_below(&w->rand, 4) != 0 && sched_plan_keep(w->plan, i);
            if (base_rand_below(&w->rand, 4) == 0)
                w->jobs[i]->lease_until_s = w->now_s + 1;
        }
        if (seed % 2 == 0)
            sched_plan_upgrade_for_less(w->plan);
        size_t moved = sched_plan_upgrade(w->plan, all, w->job_count, SCHED_FIT_PACK), seen = 0;
        check_upgrade(w, speed, had, seed % 2 == 0);
        for (size_t i = 0; i < w->job_count; i++)
            seen += had[i] && !sched_plan_grant(w->plan, i)->kept;
        assert_int_equal(moved, seen);
        world_close(w);
        sched_table_fini(&table);
    }
}

/* Room on both faster kinds, but never on one node: every attempt is undone. */
static void an_upgrade_that_finds_no_close_places_leaves_everything_as_it_was(void **state)
{
    static const double speed[] = {5, 2, 1};
    struct world *w = &world;
    struct sched_table table;
    uint32_t all[WORLD_JOBS_MAX];
    enum { SINGLES = 8, PAIRS = 120 };

    (void)state;
    world_open(w, NULL, 1, "4x2:v100,4x2:p100,30x8:k80");
    world_set(w, "locality=strict");
    make_table(&table, w, speed);
    world_begin(w);
    for (uint32_t i = 0; i < SINGLES + PAIRS; i++) {
        world_add(w, i < SINGLES ? 1 : 2, i < SINGLES ? 3 : 7,
                  sched_model_table(&table, i < SINGLES ? 0 : 1, 1e6));
        all[i] = i;
    }
    world_plan(w);
    for (size_t i = 0; i < w->job_count; i++)
        assert_true(
            sched_plan_place(w->plan, i, i < SINGLES ? (int)i % 2 : 2, SCHED_FIT_MOST_FREE));
    world_apply(w);
    world_plan(w);
    for (size_t i = 0; i < SINGLES + PAIRS; i++)
        assert_true(sched_plan_keep(w->plan, i));
    assert_int_equal(
        sched_plan_upgrade(w->plan, all + SINGLES, w->job_count - SINGLES, SCHED_FIT_PACK), 0);
    for (size_t i = 0; i < w->job_count; i++) {
        const struct sched_grant *g = sched_plan_grant(w->plan, i);
        assert_true(g->kept);
        assert_memory_equal(g->alloc.places, w->jobs[i]->alloc.places,
                            g->alloc.place_count * sizeof *g->alloc.places);
    }
    assert_int_equal(sched_plan_free_gpus(w->plan, 0), 4);
    assert_int_equal(sched_plan_free_gpus(w->plan, 1), 4);
    assert_int_equal(sched_plan_free_gpus(w->plan, 2), 0);
    world_close(w);
    sched_table_fini(&table);
}

/* ---- shares and prices ---- */

static void shares_and_prices_are_those_of_this_decision(void **state)
{
    struct world *w = &world;
    double prices[3] = {0.5, 0, 2};

    (void)state;
    world_open(w, NULL, 1, "1x4:t4,1x4:v100,1x4:a100");
    world_begin(w);
    for (uint32_t i = 0; i < 5; i++)
        world_add_seconds(w, 1, 600);
    world_snapshot(w);
    assert_int_equal(sched_plan_begin(w->plan, &w->snap), SHOAL_OK);
    assert_null(sched_plan_wanted(w->plan));
    assert_null(sched_plan_prices(w->plan));

    float *want = sched_plan_want(w->plan);
    assert_non_null(want);
    for (size_t i = 0; i < 15; i++)
        assert_true(want[i] == 0);
    want[14] = 0.25f;
    sched_plan_set_prices(w->plan, prices, "units", true);
    prices[0] = 7; /* they were copied */
    assert_true(sched_plan_place(w->plan, 0, SCHED_KIND_BEST, SCHED_FIT_PACK));
    assert_ptr_equal(sched_plan_want(w->plan), want);
    assert_ptr_equal(sched_plan_wanted(w->plan), want);
    assert_true(want[14] == 0.25f);
    assert_true(sched_plan_prices(w->plan)[0] == 0.5 && sched_plan_prices(w->plan)[2] == 2);
    bool next;
    assert_string_equal(sched_plan_price_unit(w->plan, &next), "units");
    assert_true(next);

    assert_int_equal(sched_plan_begin(w->plan, &w->snap), SHOAL_OK);
    assert_null(sched_plan_wanted(w->plan));
    assert_null(sched_plan_prices(w->plan));
    want = sched_plan_want(w->plan);
    for (size_t i = 0; i < 15; i++)
        assert_true(want[i] == 0);
    world_close(w);
}

static void a_decision_that_is_not_proven_says_so_once(void **state)
{
    struct world *w = &world;
    double gap = -1;

    (void)state;
    world_open(w, NULL, 1, "1x4:t4");
    world_begin(w);
    world_snapshot(w);
    assert_int_equal(sched_plan_begin(w->plan, &w->snap), SHOAL_OK);
    assert_false(sched_plan_unproven(w->plan, &gap));
    assert_true(gap == -1);
    sched_plan_set_unproven(w->plan, 0.125);
    assert_true(sched_plan_unproven(w->plan, &gap));
    assert_true(gap == 0.125);
    assert_true(sched_plan_unproven(w->plan, NULL));
    assert_int_equal(sched_plan_begin(w->plan, &w->snap), SHOAL_OK);
    assert_false(sched_plan_unproven(w->plan, &gap));
    world_close(w);
}

static void a_decision_that_solved_says_so_once(void **state)
{
    struct world *w = &world;

    (void)state;
    world_open(w, NULL, 1, "1x4:t4");
    world_begin(w);
    world_snapshot(w);
    assert_int_equal(sched_plan_begin(w->plan, &w->snap), SHOAL_OK);
    assert_false(sched_plan_solved(w->plan));
    sched_plan_set_solved(w->plan);
    assert_true(sched_plan_solved(w->plan));
    assert_int_equal(sched_plan_begin(w->plan, &w->snap), SHOAL_OK);
    assert_false(sched_plan_solved(w->plan));
    world_close(w);
}

/* ---- memory ---- */

static shoal_status want_shares(const struct base_alloc *alloc, void *ctx)
{
    struct world *w = ctx;
    struct sched_plan *plan = NULL;
    shoal_status st = sched_plan_new(alloc, &w->cluster, &w->place, &plan);

    if (st == SHOAL_OK)
        st = sched_plan_begin(plan, &w->snap);
    if (st == SHOAL_OK) {
        bool got = sched_plan_want(plan) != NULL;
        st = sched_plan_status(plan);
        if (got != (st == SHOAL_OK))
            st = SHOAL_E_INTERNAL;
    }
    sched_plan_free(plan);
    return st;
}

static void shares_refused_for_want_of_memory_are_reported(void **state)
{
    struct world *w = &world;

    (void)state;
    world_open(w, NULL, 1, "63x64:t4,1x1:v100");
    for (uint32_t i = 0; i < 4000; i++) /* 32 kB of shares: more than the first block */
        world_add_seconds(w, 1, 600);
    world_snapshot(w);
    torture_run(want_shares, w);
    world_close(w);
}

static shoal_status place_many(const struct base_alloc *alloc, void *ctx)
{
    struct world *w = ctx;
    struct sched_plan *plan = NULL;
    shoal_status st = sched_plan_new(alloc, &w->cluster, &w->place, &plan);
    size_t placed = 0;

    if (st == SHOAL_OK)
        st = sched_plan_begin(plan, &w->snap);
    for (size_t i = 0; st == SHOAL_OK && i < w->job_count; i++)
        placed += sched_plan_place(plan, i, SCHED_KIND_BEST, SCHED_FIT_PACK);
    if (st == SHOAL_OK && placed < w->job_count) {
        uint32_t free = sched_plan_free_gpus(plan, 0), used = 0;
        st = sched_plan_status(plan);
        for (size_t i = 0; i < w->job_count; i++)
            used += sched_plan_has(plan, i) ? w->jobs[i]->gpus : 0;
        if (st == SHOAL_OK || free + used != w->cluster.gpus)
            st = SHOAL_E_INTERNAL;
    }
    sched_plan_free(plan);
    return st;
}

static void a_place_refused_for_want_of_memory_is_reported_and_leaves_the_books_right(void **state)
{
    struct world *w = &world;

    (void)state;
    world_open(w, NULL, 1, "64x64:t4");
    for (uint32_t i = 0; i < 4095; i++) /* 16 bytes of places each: just past the first block */
        world_add_seconds(w, 1, 600);
    world_snapshot(w);
    torture_run(place_many, w);
    world_add_seconds(w, 1, 600);
    world_snapshot(w);
    torture_run(place_many, w);
    world_close(w);
}

/* ---- taking back, and given places ---- */

static void a_job_that_was_kept_can_be_put_elsewhere_and_its_gpus_are_free(void **state)
{
    struct world *w = &world;
    struct sched_place at[2] = {{.node = 0, .gpus = 2}, {.node = 1, .gpus = 2}};
    struct sched_alloc spread = {.places = at, .place_count = 2, .gpus = 4};
    struct sched_alloc second = {.places = &at[1], .place_count = 1, .gpus = 2};

    (void)state;
    world_open(w, NULL, 1, "2x4:t4");
    world_begin(w);
    struct world_job *runs = world_add_adaptive(w, 2, 8, 1, 600);
    world_add_seconds(w, 4, 600);
    runs->places[0] = at[0];
    runs->job.alloc = (struct sched_alloc){.places = runs->places, .place_count = 1, .gpus = 2};
    struct sched_plan *plan = world_plan(w);
    assert_false(sched_plan_drop(plan, 0)); /* was not kept */
    assert_true(sched_plan_keep(plan, 0));
    assert_int_equal(sched_plan_free_gpus(plan, 0), 6);
    assert_false(sched_plan_put(plan, 0, &second)); /* has its places */
    assert_true(sched_plan_drop(plan, 0) && !sched_plan_drop(plan, 0));
    assert_int_equal(sched_plan_free_gpus(plan, 0), 8);
    assert_true(sched_plan_put(plan, 0, &second));
    const struct sched_grant *g = sched_plan_grant(plan, 0);
    assert_true(!g->kept && !g->adapted && g->alloc.places[0].node == 1);
    assert_false(sched_plan_drop(plan, 0)); /* was put, not kept */
    assert_true(sched_plan_allows(plan, 1, &spread) && sched_plan_put(plan, 1, &spread));
    assert_int_equal(sched_plan_free_gpus(plan, 0), 2);
    world_close(w);
}

static void rules_of_placement_hold_for_given_places_too(void **state)
{
    struct world *w = &world;
    struct sched_place at[2] = {{.node = 0, .gpus = 2}, {.node = 1, .gpus = 2}};
    struct sched_alloc spread = {.places = at, .place_count = 2, .gpus = 4};

    (void)state;
    for (int strict = 0; strict < 2; strict++) {
        world_open(w, NULL, 1, "2x4:t4");
        world_set(w, strict ? "locality=strict" : "exclusive=true");
        world_begin(w);
        world_add_seconds(w, 4, 600);
        world_add_seconds(w, 4, 600);
        struct sched_plan *plan = world_plan(w);
        assert_int_equal(sched_plan_allows(plan, 0, &spread), !strict);
        assert_int_equal(sched_plan_put(plan, 0, &spread), !strict);
        assert_false(
            sched_plan_allows(plan, 1, &spread)); /* a second that spans, or too far apart */
        assert_false(sched_plan_put(plan, 1, &spread));
        world_close(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_agrees_with_a_naive_search),
        cmocka_unit_test(waiting_lowers_the_locality_asked_for_level_by_level),
        cmocka_unit_test(a_later_keep_or_place_clears_the_reason),
        cmocka_unit_test(upgrade_moves_to_a_faster_kind_only_where_that_saves_twice_the_restart),
        cmocka_unit_test(an_upgrade_that_finds_no_close_places_leaves_everything_as_it_was),
        cmocka_unit_test(shares_and_prices_are_those_of_this_decision),
        cmocka_unit_test(a_decision_that_is_not_proven_says_so_once),
        cmocka_unit_test(a_decision_that_solved_says_so_once),
        cmocka_unit_test(shares_refused_for_want_of_memory_are_reported),
        cmocka_unit_test(a_place_refused_for_want_of_memory_is_reported_and_leaves_the_books_right),
        cmocka_unit_test(a_job_that_was_kept_can_be_put_elsewhere_and_its_gpus_are_free),
        cmocka_unit_test(rules_of_placement_hold_for_given_places_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
