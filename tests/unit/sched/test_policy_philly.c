/* test_policy_philly.c - quotas, levels of locality, and the guidelines of the Philly study. */
#include "unit/sched/rules.h"

#include "base/assert.h"

static struct world world; /* large */
static const char *const names[] = {"vision", "speech", "text"};

/* Knobs after NULL-ended list; groups have names. */
static struct world *open_philly(const char *spec, const char *const *sets)
{
    struct world *w = &world;

    world_open(w, sched_policy_find("philly", NULL), 1, spec);
    w->groups = names;
    for (; sets != NULL && *sets != NULL; sets++)
        world_set(w, *sets);
    world_begin(w);
    return w;
}

static struct world_job *add(struct world *w, uint32_t group, uint32_t gpus, double seconds)
{
    struct world_job *j = world_add_seconds(w, gpus, seconds);

    j->job.group = group;
    return j;
}

static void rounds(struct world *w, int count)
{
    while (count-- > 0) {
        world_decide(w);
        rules_check(w);
        world_apply(w);
        world_pass(w, w->round_s);
    }
}

static bool runs(const struct world_job *j)
{
    return j->job.alloc.place_count > 0;
}

static enum sched_reason reason_of(const struct world *w, const struct world_job *j)
{
    for (size_t i = 0; i < w->job_count; i++)
        if (w->jobs[i] == &j->job)
            return sched_plan_reason(w->plan, i);
    return SCHED_WHY_NONE;
}

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- order and locality ---- */

static void a_job_that_finds_no_place_does_not_hold_up_those_behind_it(void **state)
{
    struct world *w = open_philly("2x4:t4", NULL);
    struct world_job *first = add(w, 0, 6, 1e4), *large = add(w, 0, 4, 1e4),
                     *small = add(w, 0, 1, 1e4);

    (void)state;
    rounds(w, 1);
    assert_true(runs(first) && !runs(large) && runs(small));
    assert_int_equal(reason_of(w, large), SCHED_WHY_CAPACITY);
    world_close(w);
}

static void close_places_are_asked_for_first_then_a_rack_then_any(void **state)
{
    struct world *w = open_philly("2x4:t4:rack=a,2x4:t4:rack=b", SETS("backoff=10m"));

    (void)state;
    for (int n = 0; n < 4; n++) /* two GPUs are left on three nodes, one on the last */
        add(w, 0, n < 3 ? 2 : 3, 1e6);
    rounds(w, 1);
    for (size_t n = 0; n < 4; n++) /* packed: spread them by hand */
        world_job_of(w->jobs[n])->places[0].node = (uint32_t)n;
    struct world_job *four = add(w, 0, 4, 1e6), *six = add(w, 0, 6, 1e6);
    rounds(w, 10);
    assert_true(!runs(four) && !runs(six));
    assert_int_equal(reason_of(w, four), SCHED_WHY_LOCALITY);
    assert_int_equal(reason_of(w, six), SCHED_WHY_LOCALITY);
    rounds(w, 1); /* 10 minutes have passed: one rack */
    assert_true(runs(four) && four->job.alloc.place_count == 2);
    assert_int_equal(w->cluster.nodes[four->places[0].node].rack,
                     w->cluster.nodes[four->places[1].node].rack);
    world_end(w, 4, w->now_s); /* the four go again */
    rounds(w, 9);
    assert_false(runs(six)); /* no rack has six */
    rounds(w, 1);
    assert_true(runs(six) && six->job.alloc.place_count >= 3);
    world_close(w);
}

static void without_backoff_nobody_is_ever_scattered(void **state)
{
    struct world *w = open_philly("2x4:t4", SETS("backoff=0s"));

    (void)state;
    add(w, 0, 3, 1e6);
    add(w, 0, 3, 1e6);
    struct world_job *two = add(w, 0, 2, 100);
    rounds(w, 500);
    assert_false(runs(two));
    assert_int_equal(reason_of(w, two), SCHED_WHY_LOCALITY);
    world_close(w);
}

static void patience_grows_with_the_run_time_that_was_told(void **state)
{
    struct world *w = open_philly("2x4:t4", SETS("backoff=10m", "patience=0.5"));

    (void)state;
    add(w, 0, 3, 1e6);
    add(w, 0, 3, 1e6);
    rounds(w, 1);
    struct world_job *longer = add(w, 0, 2, 7200);
    rounds(w, 60); /* the last decision is after 59 minutes; half its time is 60 */
    assert_false(runs(longer));
    rounds(w, 1);
    assert_true(runs(longer));
    world_end(w, 2, w->now_s);
    struct world_job *brief = add(w, 0, 2, 600); /* half its time is less than the back-off */
    rounds(w, 11);
    assert_true(runs(brief));
    world_close(w);
}

/* ---- quotas ---- */

static void over_its_quota_a_group_borrows_only_what_is_idle(void **state)
{
    struct world *w = open_philly("2x4:t4", SETS("quota=vision=4+speech=4"));
    struct world_job *own = add(w, 0, 4, 1e6), *more = add(w, 0, 4, 1e6), *over = add(w, 0, 1, 1e6);

    (void)state;
    rounds(w, 1);
    assert_true(runs(own) && runs(more) && !runs(over));
    assert_int_equal(reason_of(w, over), SCHED_WHY_CAPACITY); /* its group has all there is */
    world_close(w);
}

/* Quotas keep GPUs from a job only where those who have them by right lack none themselves, and the
 * same GPUs are counted once. */
static void where_every_group_lacks_gpus_quotas_are_not_to_blame(void **state)
{
    struct world *w = open_philly("2x4:t4", SETS("quota=vision=4+speech=4"));
    struct world_job *a = add(w, 0, 4, 1e6), *b = add(w, 1, 4, 1e6);
    struct world_job *three = add(w, 0, 3, 1e6), *two = add(w, 0, 2, 1e6);

    (void)state;
    rounds(w, 1);
    assert_true(runs(a) && runs(b) && !runs(three) && !runs(two));
    assert_int_equal(reason_of(w, three), SCHED_WHY_FAIR_SHARE); /* of the four of speech */
    assert_int_equal(reason_of(w, two), SCHED_WHY_CAPACITY);     /* one is left of them */
    struct world_job *other = add(w, 1, 1, 1e6);
    rounds(w, 1);
    assert_false(runs(three) || runs(two) || runs(other));
    assert_int_equal(reason_of(w, three), SCHED_WHY_CAPACITY);
    assert_int_equal(reason_of(w, two), SCHED_WHY_CAPACITY);
    assert_int_equal(reason_of(w, other), SCHED_WHY_CAPACITY);
    world_close(w);
}

static void a_job_within_its_quota_gets_back_what_was_borrowed(void **state)
{
    struct world *w = open_philly("2x4:t4", SETS("quota=vision=4+speech=4"));
    struct world_job *own = add(w, 0, 4, 1e6), *more = add(w, 0, 3, 1e6), *last = add(w, 0, 1, 1e6);

    (void)state;
    rounds(w, 1);
    assert_true(runs(own) && runs(more) && runs(last));
    struct world_job *one = add(w, 1, 1, 1e6);
    rounds(w, 1);
    assert_true(runs(one) && runs(own) && runs(more) && !runs(last)); /* the latest, and no more */
    struct world_job *three = add(w, 1, 3, 1e6);
    rounds(w, 1);
    assert_true(runs(three) && runs(own) && !runs(more));
    assert_int_equal(reason_of(w, more), SCHED_WHY_FAIR_SHARE);
    world_close(w);
}

static void borrowed_gpus_stay_while_the_cluster_is_not_full(void **state)
{
    struct world *w =
        open_philly("2x4:t4", SETS("quota=vision=4+speech=4", "full=1", "backoff=0s"));
    struct world_job *own = add(w, 0, 3, 1e6), *more = add(w, 0, 3, 1e6);

    (void)state;
    rounds(w, 1);
    struct world_job *two = add(w, 1, 2, 1e6); /* two are free, one on each node */
    rounds(w, 3);
    assert_true(runs(own) && runs(more) && !runs(two));
    assert_int_equal(reason_of(w, two), SCHED_WHY_LOCALITY);
    world_close(w);
}

static void leases_hold_against_quotas(void **state)
{
    struct world *w = open_philly("1x4:t4", SETS("quota=vision=0+speech=4"));
    struct world_job *borrows = add(w, 0, 4, 1e6);

    (void)state;
    w->lease_s = 300;
    rounds(w, 1);
    struct world_job *owns = add(w, 1, 4, 1e6);
    rounds(w, 4);
    assert_true(runs(borrows) && !runs(owns));
    assert_int_equal(reason_of(w, owns), SCHED_WHY_CAPACITY);
    rounds(w, 1);
    assert_true(!runs(borrows) && runs(owns));
    world_close(w);
}

static void without_borrowing_a_group_stays_within_its_quota_but_for_a_job_larger_than_that(
    void **state)
{
    struct world *w = open_philly("2x4:t4", SETS("quota=vision=2+speech=2+text=0", "borrow=false"));
    struct world_job *a = add(w, 0, 1, 300), *b = add(w, 0, 2, 300), *big = add(w, 1, 4, 300);

    (void)state;
    rounds(w, 1);
    assert_true(runs(a) && !runs(b) && runs(big));
    assert_int_equal(reason_of(w, b), SCHED_WHY_FAIR_SHARE);
    for (int r = 0; r < 60 && w->job_count > 0; r++)
        rounds(w, 1);
    assert_int_equal(w->job_count, 0);
    world_close(w);
}

/* Every group asks for more than there is: what each holds is never beyond its quota while another
 * has a job that its quota covers and that would fit in what is borrowed. */
static void nobody_borrows_for_long_what_the_quota_of_another_covers(void **state)
{
    (void)state;
    for (int seed = 1; seed <= property_count(50); seed++) {
        struct world *w = &world;
        world_open(w, sched_policy_find("philly", NULL), (uint64_t)seed, "4x4:t4");
        w->groups = names;
        world_set(w, "quota=vision=8+speech=4+text=4");
        world_begin(w);
        for (int r = 0; r < 80; r++) {
            uint32_t held[3] = {0};
            for (int i = 0; i < 3; i++)
                add(w, (uint32_t)base_rand_below(&w->rand, 3), 1,
                    60 + base_rand_exp(&w->rand, 900));
            world_decide(w);
            rules_check(w);
            world_apply(w);
            for (size_t i = 0; i < w->job_count; i++)
                held[w->jobs[i]->group] += w->jobs[i]->alloc.gpus;
            for (size_t i = 0; i < w->job_count; i++) {
                static const uint32_t quota[] = {8, 4, 4};
                const struct sched_job *j = w->jobs[i];
                WORLD_CLAIM(w, j->alloc.place_count > 0 || held[j->group] >= quota[j->group],
                            "job %u is within its quota and waits", j->id);
            }
            world_pass(w, w->round_s);
        }
        world_close(w);
    }
}

/* ---- any load ---- */

static void random_failures(struct world *w)
{
    for (uint32_t n = 0; n < w->cluster.node_count; n++) {
        if (w->node_up[n] && base_rand_below(&w->rand, 50) == 0)
            world_fail(w, n, base_rand_below(&w->rand, 2) != 0);
        else if (!w->node_up[n] && base_rand_below(&w->rand, 6) == 0)
            world_repair(w, n);
    }
}

/* Quotas, moves, preemption, leases, racks and node failures at once. */
static void the_rules_hold_with_quotas_and_every_guideline(void **state)
{
    static const char *const quotas[] = {"quota=vision=6+speech=3", "quota=vision=2+text=20",
                                         "quota=speech=0", "full=0.5"};
    uint64_t preempted = 0, moved = 0;

    (void)state;
    for (int seed = 1; seed <= property_count(200); seed++) {
        struct world *w = &world;
        struct base_rand rand;
        char spec[200];
        base_rand_init(&rand, (uint64_t)seed, "cluster");
        world_random_spec(&rand, spec, sizeof spec);
        world_open(w, sched_policy_find("philly", NULL), (uint64_t)seed, spec);
        w->groups = names;
        w->lease_s = seed % 5 == 0 ? 180 : 0;
        w->restart_s = seed % 2 == 0 ? 30 : 0;
        world_set(w, quotas[seed % 4]);
        world_set(w, seed % 3 != 0 ? "migrate=true" : "migrate=false");
        world_set(w, seed / 2 % 2 != 0 ? "dedicated=true" : "dedicated=false");
        world_set(w, seed / 3 % 2 != 0 ? "patience=0.5" : "patience=0");
        world_set(w, seed / 5 % 2 != 0 ? "borrow=false" : "borrow=true");
        world_set(w, seed % 7 == 0 ? "exclusive=true" : "exclusive=false");
        world_set(w, seed % 11 == 0 ? "locality=rack" : "locality=anywhere");
        world_begin(w);
        for (int r = 0; r < 60; r++) {
            for (uint64_t n = base_rand_below(&w->rand, 5); n > 0 && w->job_count < 40; n--) {
                uint32_t kinds, gpus = world_random_gang(w, &kinds);
                struct world_job *j =
                    world_add(w, gpus, kinds,
                              sched_model_duration(w->round_s * base_rand_exp(&w->rand, 8) + 1));
                j->job.group = (uint32_t)base_rand_below(&w->rand, 3);
                if (base_rand_below(&w->rand, 4) == 0)
                    j->job.work_told = NAN;
            }
            random_failures(w);
            world_decide(w);
            rules_check(w);
            for (size_t i = 0; i < w->job_count; i++) {
                const struct sched_grant *g = sched_plan_grant(w->plan, i);
                bool held =
                    w->jobs[i]->alloc.place_count > 0 && world_nodes_up(w, &w->jobs[i]->alloc);
                preempted += held && g == NULL;
                moved += held && g != NULL && !g->kept;
            }
            world_apply(w);
            world_pass(w, base_rand_range(&w->rand, 1, 2 * w->round_s));
        }
        world_close(w);
    }
    assert_true(preempted > 100 && moved > 100); /* else nothing was tested */
}

/* ---- guidelines ---- */

static void scattered_holes_become_one_by_moving_the_fewest_gpus(void **state)
{
    struct world *w = open_philly("3x4:t4", SETS("migrate=true", "backoff=10h"));
    static const uint32_t on[] = {0, 0, 0, 1, 1, 2};
    struct world_job *ones[6];

    (void)state;
    for (int i = 0; i < 6; i++)
        ones[i] = add(w, 0, 1, 1e6);
    rounds(w, 1);
    for (int i = 0; i < 6; i++)
        ones[i]->places[0].node = on[i];
    struct world_job *gang = add(w, 0, 4, 1e6);
    rounds(w, 1);
    assert_true(runs(gang) && gang->job.alloc.place_count == 1 && gang->places[0].node == 2);
    for (int i = 0; i < 6; i++)
        assert_int_equal(ones[i]->job.starts, i == 5 ? 2 : 1);
    world_close(w);
}

static void a_scattered_job_is_brought_together_once_there_is_room(void **state)
{
    struct world *w = open_philly("2x4:t4", SETS("migrate=true"));

    (void)state;
    w->restart_s = 30;
    add(w, 0, 3, 3000);
    add(w, 0, 3, 1e6);
    rounds(w, 1);
    struct world_job *two = add(w, 0, 2, 1e6);
    rounds(w, 3);
    assert_true(runs(two) &&
                two->job.alloc.place_count == 2); /* waits for a restart's worth only */
    rounds(w, 60);
    assert_int_equal(two->job.alloc.place_count, 1);
    assert_int_equal(two->job.starts, 2);
    world_close(w);
}

static void jobs_of_several_gpus_keep_apart_where_they_can(void **state)
{
    struct world *w = open_philly("2x8:p100,1x2:p100", SETS("dedicated=true"));
    struct world_job *a = add(w, 0, 4, 1e6), *b = add(w, 0, 4, 1e6), *one = add(w, 0, 1, 1e6);

    (void)state;
    rounds(w, 1);
    assert_true(a->places[0].node != b->places[0].node);
    assert_int_equal(one->places[0].node, 2);
    world_close(w);
}

/* However the load: no job starts or moves more often than it may within any hour. */
static void no_job_is_moved_more_often_than_it_may(void **state)
{
    static uint32_t before[WORLD_JOBS_MAX];
    static double moved_s[WORLD_JOBS_MAX][2]; /* of the last two moves */
    uint64_t moves = 0;

    (void)state;
    for (int seed = 1; seed <= property_count(20); seed++) {
        struct world *w = &world;
        world_open(w, sched_policy_find("philly", NULL), (uint64_t)seed, "6x8:p100,8x2:p100");
        world_set(w, "migrate=true");
        world_set(w, "moves=2");
        world_set(w, seed % 2 != 0 ? "dedicated=true" : "backoff=1m");
        world_begin(w);
        memset(before, 0, sizeof before);
        for (size_t i = 0; i < WORLD_JOBS_MAX; i++)
            moved_s[i][0] = moved_s[i][1] = -INFINITY;
        for (int r = 0; r < 300; r++) {
            static const uint32_t sizes[] = {1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 16};
            for (uint64_t n = base_rand_below(&w->rand, 3); n > 0 && w->job_count < 60; n--)
                add(w, 0, sizes[base_rand_below(&w->rand, BASE_COUNT(sizes))],
                    base_rand_exp(&w->rand, 3000) + 60);
            for (size_t i = 0; i < w->job_count; i++)
                before[w->jobs[i]->id] = w->jobs[i]->alloc.place_count > 0;
            world_decide(w);
            rules_check(w);
            for (size_t i = 0; i < w->job_count; i++) {
                const struct sched_grant *g = sched_plan_grant(w->plan, i);
                uint32_t id = w->jobs[i]->id;
                if (!before[id])
                    continue;
                WORLD_CLAIM(w, g != NULL, "job %u was stopped without quotas", id);
                if (g->kept)
                    continue;
                WORLD_CLAIM(w, w->now_s - moved_s[id][0] >= 3600,
                            "job %u is moved the third time in an hour", id);
                moved_s[id][0] = moved_s[id][1];
                moved_s[id][1] = w->now_s;
                moves++;
            }
            world_apply(w);
            world_pass(w, w->round_s);
        }
        for (int r = 0; r < 3000 && w->job_count > 0; r++) /* nobody else comes: all end */
            rounds(w, 1);
        WORLD_CLAIM(w, w->job_count == 0, "%zu jobs never end", w->job_count);
        world_close(w);
    }
    assert_true(moves > 100); /* else nothing was tested */
}

/* Migration is worth it: the same load waits less for close places. */
static void with_moves_jobs_wait_less_for_close_places(void **state)
{
    double waited[2] = {0};

    (void)state;
    for (int migrate = 0; migrate < 2; migrate++)
        for (uint64_t seed = 1; seed <= 10; seed++) {
            struct world *w = &world;
            world_open(w, sched_policy_find("philly", NULL), seed, "6x8:p100,8x2:p100");
            world_set(w, migrate ? "migrate=true" : "migrate=false");
            world_begin(w);
            for (int r = 0; r < 400; r++) {
                static const uint32_t sizes[] = {1, 1, 1, 1, 1, 1, 2, 4, 8};
                if (base_rand_below(&w->rand, 3) == 0)
                    add(w, 0, sizes[base_rand_below(&w->rand, BASE_COUNT(sizes))],
                        base_rand_exp(&w->rand, 4000) + 60);
                world_decide(w);
                for (size_t i = 0; i < w->job_count; i++)
                    if (sched_plan_reason(w->plan, i) == SCHED_WHY_LOCALITY)
                        waited[migrate] += w->round_s;
                world_apply(w);
                world_pass(w, w->round_s);
            }
            world_close(w);
        }
    assert_true(waited[0] > 0 && waited[1] < waited[0] / 3);
}

static void quotas_are_checked_before_anything_runs(void **state)
{
    const struct sched_policy *p = sched_policy_find("philly", NULL);
    struct sched_setting setting = {.group_name = world_group_name, .group_count = 3};
    struct world *w = open_philly("1x4:t4", SETS("quota=vison=3"));
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    setting.group_ctx = w;
    assert_int_equal(p->check(w->memory, &setting, &err), SHOAL_E_INVAL);
    assert_non_null(strstr(err.hint, "'vision'"));
    world_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_finds_no_place_does_not_hold_up_those_behind_it),
        cmocka_unit_test(close_places_are_asked_for_first_then_a_rack_then_any),
        cmocka_unit_test(without_backoff_nobody_is_ever_scattered),
        cmocka_unit_test(patience_grows_with_the_run_time_that_was_told),
        cmocka_unit_test(over_its_quota_a_group_borrows_only_what_is_idle),
        cmocka_unit_test(where_every_group_lacks_gpus_quotas_are_not_to_blame),
        cmocka_unit_test(a_job_within_its_quota_gets_back_what_was_borrowed),
        cmocka_unit_test(borrowed_gpus_stay_while_the_cluster_is_not_full),
        cmocka_unit_test(leases_hold_against_quotas),
        cmocka_unit_test(
            without_borrowing_a_group_stays_within_its_quota_but_for_a_job_larger_than_that),
        cmocka_unit_test(nobody_borrows_for_long_what_the_quota_of_another_covers),
        cmocka_unit_test(the_rules_hold_with_quotas_and_every_guideline),
        cmocka_unit_test(scattered_holes_become_one_by_moving_the_fewest_gpus),
        cmocka_unit_test(a_scattered_job_is_brought_together_once_there_is_room),
        cmocka_unit_test(jobs_of_several_gpus_keep_apart_where_they_can),
        cmocka_unit_test(no_job_is_moved_more_often_than_it_may),
        cmocka_unit_test(with_moves_jobs_wait_less_for_close_places),
        cmocka_unit_test(quotas_are_checked_before_anything_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
