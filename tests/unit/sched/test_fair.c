/* test_fair.c - the floor that keeps a job within rho of its fair share: what it promises, and what a
 * job that reports nonsense can do to others. */
#include "unit/sched/world.h"

#include "sched/fair.h"

enum { JOBS = 12 };
static struct world world; /* large */

static struct sched_snapshot look(const struct world *w)
{
    return (struct sched_snapshot){.cluster = &w->cluster,
                                   .node_up = w->node_up,
                                   .jobs = w->jobs,
                                   .job_count = w->job_count,
                                   .now_s = w->now_s,
                                   .round_s = w->round_s,
                                   .restart_s = w->restart_s};
}

static struct sched_fair_floor floor_of(const struct sched_fair *fair,
                                        const struct sched_snapshot *s, const struct sched_job *job,
                                        double rho)
{
    struct sched_fair_alone alone = sched_fair_alone(s, job);

    return sched_fair_floor(fair, s, job, &alone, rho, 0);
}

static struct world_job *add_random(struct world *w)
{
    uint32_t kinds, gpus = world_random_gang(w, &kinds);
    double seconds = exp(base_rand_range(&w->rand, 3, 9));
    struct world_job *j;

    if (base_rand_below(&w->rand, 3) == 0) {
        j = world_add(w, gpus, kinds, sched_model_duration(seconds));
    } else {
        j = world_add_adaptive(w, gpus, gpus * 2, kinds, seconds);
        j->job.batch = 128 * (uint32_t)base_rand_below(&w->rand, 20);
        j->job.work_error = base_rand_below(&w->rand, 2) ? base_rand_range(&w->rand, 0, 1) : 0;
    }
    j->job.weight = base_rand_below(&w->rand, 2) ? 1 : exp(base_rand_range(&w->rand, -2, 2));
    return j;
}

/* ---- the guarantee ---- */

/* The seconds by which a job must end, looked for second by second: the last T that keeps rho when
 * everybody stays. */
static double slow_deadline(double ready, double whole, double n_before, double age, double n,
                            double most, double rho)
{
    double last = 0;

    for (int second = 1; second < 100000; second++) {
        double t = second;
        double mean = t <= age ? n_before : (n_before * age + n * (t - age)) / t;
        if (t <= rho * (ready + whole * fmax(mean, most)))
            last = t;
    }
    return last;
}

static void the_deadline_is_the_last_instant_that_keeps_rho(void **state)
{
    struct world *w = &world;

    (void)state;
    for (int seed = 0; seed < property_count(60); seed++) {
        struct sched_fair fair = {0};
        world_open(w, NULL, (uint64_t)seed, "4x4:v100");
        w->restart_s = 30;
        double work = base_rand_range(&w->rand, 100, 2000), rho = base_rand_range(&w->rand, 1, 2);
        uint32_t gpus = 1u << base_rand_below(&w->rand, 5);
        world_add_seconds(w, gpus, work);
        uint64_t before = 1 + base_rand_below(&w->rand, JOBS),
                 after = base_rand_below(&w->rand, JOBS);
        for (uint64_t i = 1; i < before; i++)
            world_add_seconds(w, 1, 1e6);
        struct sched_snapshot s = look(w);
        sched_fair_begin(&fair, &s);
        w->now_s = 60 * (double)(1 + base_rand_below(&w->rand, 5)); /* those before leave here */
        s = look(w);
        sched_fair_begin(&fair, &s);
        while (w->job_count > 1 && before > after + 1)
            world_end(w, w->job_count - 1, w->now_s), before--;
        for (uint64_t i = w->job_count; i < after + 1; i++)
            world_add_seconds(w, 1, 1e6);
        uint64_t n_before = (uint64_t)(fair.integral / w->now_s + 0.5), n = w->job_count;
        s = look(w);
        sched_fair_begin(&fair, &s);
        struct sched_fair_floor f = floor_of(&fair, &s, w->jobs[0], rho);
        double expected = slow_deadline(30, work * gpus / 16, (double)n_before, w->now_s, (double)n,
                                        16.0 / gpus, rho);
        if (expected < w->now_s) /* past, in one way or the other */
            assert_true(isinf(f.need_rate) || f.deadline_s <= expected + 1);
        else
            assert_true(fabs(f.deadline_s - expected) <= 1.001);
        world_close(w);
    }
}

/* Whatever comes and goes, a job that has had 1 / rho of its share so far, and nothing more, needs no
 * more than that from then on, and so ends within rho. Its gang takes the whole cluster: it can use
 * any share. */
static void who_has_had_its_share_needs_no_more_and_keeps_rho(void **state)
{
    struct world *w = &world;

    (void)state;
    for (int seed = 0; seed < property_count(200); seed++) {
        struct sched_fair fair = {0};
        world_open(w, NULL, (uint64_t)seed, "4x4:v100");
        w->round_s = 1; /* the share changes at decisions only */
        double rho = base_rand_range(&w->rand, 1, 1.5), n_seconds = 0;
        struct world_job *j = world_add_seconds(w, 16, base_rand_range(&w->rand, 50, 500));
        j->job.weight = base_rand_range(&w->rand, 0.5, 2);
        while (j->job.progress < j->job.model.work) {
            struct sched_snapshot s = look(w);
            sched_fair_begin(&fair, &s);
            struct sched_fair_floor f = floor_of(&fair, &s, &j->job, rho);
            /* a round of grace: who ends or comes in it is counted by the half */
            assert_true(f.urgency <= 1 / rho * (1 + 4 / (f.deadline_s - w->now_s)));
            double dt =
                fmin(w->round_s, (j->job.model.work - j->job.progress) / f.share_rate * rho);
            j->job.progress += f.share_rate / rho * dt;
            n_seconds += fair.weights / j->job.weight * dt;
            w->now_s += dt;
            if (base_rand_below(&w->rand, 30) == 0 && w->job_count < JOBS)
                world_add_seconds(w, 1, 1e6)->job.weight = base_rand_range(&w->rand, 0.1, 3);
            if (base_rand_below(&w->rand, 40) == 0 && w->job_count > 1)
                world_end(w, 1 + base_rand_below(&w->rand, w->job_count - 1), w->now_s);
            if (dt < w->round_s)
                break;
        }
        double n = n_seconds / w->now_s;
        assert_true(w->now_s <= rho * j->job.model.work * n * (1 + 1e-9));
        world_close(w);
    }
}

static void shares_of_all_jobs_are_had_at_the_same_time(void **state)
{
    struct world *w = &world;

    (void)state;
    for (int seed = 0; seed < property_count(300); seed++) {
        static const char *const specs[] = {"1x4:v100", "3x8:v100", "6x4:k80,3x8:p100,2x8:v100"};
        struct sched_fair fair = {0};
        double sum = 0, gpus = 0;
        world_open(w, NULL, (uint64_t)seed, specs[seed % 3]);
        for (uint64_t i = 0, n = 1 + base_rand_below(&w->rand, JOBS); i < n; i++)
            add_random(w);
        struct sched_snapshot s = look(w);
        sched_fair_begin(&fair, &s);
        for (size_t i = 0; i < w->job_count; i++) {
            const struct sched_job *job = w->jobs[i];
            struct sched_fair_alone alone = sched_fair_alone(&s, job);
            struct sched_fair_floor f = sched_fair_floor(&fair, &s, job, &alone, 1.1, 0);
            assert_true(alone.rate > 0);
            sum += f.share_rate / alone.rate; /* part of the cluster's time */
            gpus += sched_fair_gpus(&fair, &s, job) - 1;
            assert_true(f.floor_rate <= f.share_rate && f.floor_rate <= f.need_rate);
            assert_true(f.share_rate <= alone.rate / alone.most * (1 + 1e-12));
        }
        assert_true(sum <= 1 + 1e-9);
        assert_true(gpus <= w->cluster.gpus);
        world_close(w);
    }
}

/* ---- liars and broken reporters ---- */

static const double nonsense[] = {NAN, INFINITY, -INFINITY, 0, -1, 1e300, -1e300, 1e-300, 1e12};

static double any_nonsense(struct base_rand *rand)
{
    return nonsense[base_rand_below(rand, sizeof nonsense / sizeof *nonsense)];
}

/* Anything it reports; what its user asked for, and its weight, is not its own to say. */
static void report_nonsense(struct base_rand *rand, struct world_job *j)
{
    struct world_adapt *a = &j->adapt;

    j->job.work_told = any_nonsense(rand);
    j->job.work_error = any_nonsense(rand);
    j->job.progress = fabs(any_nonsense(rand));
    a->known.grad_sqr = any_nonsense(rand);
    a->known.grad_var = any_nonsense(rand);
    for (uint32_t k = 0; k < a->kind_count; k++)
        if (base_rand_below(rand, 2) == 0)
            a->kind[k].speed.grad_each_s = exp(base_rand_range(rand, -18, 18));
    a->known.version++;
}

static void a_liar_takes_from_others_no_more_than_its_weight(void **state)
{
    struct world *w = &world;

    (void)state;
    for (int seed = 0; seed < property_count(300); seed++) {
        struct sched_fair_floor without[JOBS], honest[JOBS], lied[JOBS];
        struct sched_fair fair = {0}, alone = {0};
        world_open(w, NULL, (uint64_t)seed, "3x4:k80,2x8:v100");
        uint64_t n = 1 + base_rand_below(&w->rand, JOBS - 2);
        for (uint64_t i = 0; i < n; i++)
            add_random(w);
        struct sched_snapshot s = look(w);
        sched_fair_begin(&alone, &s);
        for (uint64_t i = 0; i < n; i++)
            without[i] = floor_of(&alone, &s, w->jobs[i], 1.1);
        struct world_job *liar = world_add_adaptive(w, 4, 8, 3, 1000);
        liar->job.weight = exp(base_rand_range(&w->rand, -1, 1));
        s = look(w);
        sched_fair_begin(&fair, &s);
        fair = (struct sched_fair){.weights = alone.weights + liar->job.weight};
        for (uint64_t i = 0; i < n; i++)
            honest[i] = floor_of(&fair, &s, w->jobs[i], 1.1);
        report_nonsense(&w->rand, liar);
        for (uint64_t i = 0; i < n; i++)
            lied[i] = floor_of(&fair, &s, w->jobs[i], 1.1);
        for (uint64_t i = 0; i < n; i++) {
            double kept = alone.weights / fair.weights;
            assert_memory_equal(&honest[i], &lied[i], sizeof *lied);
            assert_true(lied[i].share_rate >= without[i].share_rate * kept * (1 - 1e-12));
            assert_true(lied[i].deadline_s >= without[i].deadline_s - 1e-6);
        }
        struct sched_fair_floor its = floor_of(&fair, &s, &liar->job, 1.1);
        assert_false(isnan(its.urgency) || isnan(its.need_rate) || isnan(its.floor_rate) ||
                     isnan(its.deadline_s));
        assert_true(its.floor_rate <= its.share_rate);
        assert_true(sched_fair_gpus(&fair, &s, &liar->job) - 1 <=
                    liar->job.weight / fair.weights * w->cluster.gpus);
        world_close(w);
    }
}

/* ---- what is not known ---- */

static void a_job_of_which_nothing_is_known_is_urgent(void **state)
{
    struct world *w = &world;
    struct sched_fair fair = {0};

    (void)state;
    world_open(w, NULL, 1, "2x4:v100");
    struct world_job *j = world_add_adaptive(w, 4, 8, 1, 1000);
    j->adapt.kind[0].gpus_seen = 0;
    struct sched_snapshot s = look(w);
    sched_fair_begin(&fair, &s);
    struct sched_fair_floor f = floor_of(&fair, &s, &j->job, 1.1);
    assert_true(isinf(f.urgency) && f.floor_rate == 0);
    world_close(w);
}

static void a_job_of_unknown_or_wrongly_told_work_has_to_keep_up(void **state)
{
    struct world *w = &world;
    static const double told[] = {NAN, 0, 10, -5};

    (void)state;
    for (size_t t = 0; t < sizeof told / sizeof *told; t++) {
        struct sched_fair fair = {0};
        world_open(w, NULL, 1, "2x4:v100");
        struct world_job *j = world_add_adaptive(w, 8, 8, 1, 1e6);
        world_add_adaptive(w, 8, 8, 1, 1e6);
        j->job.work_told = told[t];
        struct sched_snapshot s = look(w);
        sched_fair_begin(&fair, &s);
        double share = floor_of(&fair, &s, &j->job, 1).share_rate;
        w->now_s = 6000;
        s = look(w);
        sched_fair_begin(&fair, &s);
        j->job.progress = 6000 * share;
        double even = floor_of(&fair, &s, &j->job, 1).urgency;
        j->job.progress = 5000 * share;
        double behind = floor_of(&fair, &s, &j->job, 1).urgency;
        j->job.progress = 9000 * share;
        double ahead = floor_of(&fair, &s, &j->job, 1).urgency;
        assert_true(fabs(even - 1) < 1e-6 && isinf(behind) && ahead < 0.05);
        world_close(w);
    }
}

static void uncertain_work_makes_a_job_that_is_behind_due_sooner(void **state)
{
    struct world *w = &world;
    struct sched_fair fair = {0};

    (void)state;
    world_open(w, NULL, 1, "2x4:v100");
    struct world_job *j = world_add_adaptive(w, 8, 8, 1, 1e5);
    struct sched_snapshot s = look(w);
    sched_fair_begin(&fair, &s);
    w->now_s = 600;
    s = look(w);
    sched_fair_begin(&fair, &s);
    double sure = floor_of(&fair, &s, &j->job, 1.2).urgency;
    j->job.work_error = 0.5;
    assert_true(floor_of(&fair, &s, &j->job, 1.2).urgency > sure);
    world_close(w);
}

/* ---- speeds ---- */

static void speed_is_that_of_the_batch_asked_for_whatever_is_chosen_later(void **state)
{
    struct world *w = &world;
    struct sched_fair fair = {0};

    (void)state;
    world_open(w, NULL, 1, "2x8:v100");
    struct world_job *j = world_add_adaptive(w, 7, 16, 1, 1000);
    j->job.batch = 1000; /* which seven do not divide */
    struct sched_snapshot s = look(w);
    sched_fair_begin(&fair, &s);
    const struct shoal_goodput_speed *speed = &j->adapt.kind[0].speed;
    double expected = 1000 / shoal_goodput_step_s(speed, 1, 7, 143, 1) / 128;
    double got = sched_fair_speed(&s, &j->job, 0, 7);
    assert_true(fabs(got / expected - 1) < 1e-9);
    j->job.model.batch = 4096;
    j->adapt.known.grad_var = 1e6;
    assert_true(sched_fair_speed(&s, &j->job, 0, 7) == got);
    assert_true(sched_fair_speed(&s, &j->job, 0, 8) > got);
    assert_true(sched_fair_speed(&s, &j->job, 0, 17) == 0);
    world_close(w);
}

static void a_rigid_job_has_the_speed_of_its_gang_alone(void **state)
{
    struct world *w = &world;
    struct sched_fair fair = {0};

    (void)state;
    world_open(w, NULL, 1, "2x8:v100");
    struct world_job *j = world_add_seconds(w, 4, 100);
    struct sched_snapshot s = look(w);
    sched_fair_begin(&fair, &s);
    assert_true(sched_fair_speed(&s, &j->job, 0, 4) == 1);
    assert_true(sched_fair_speed(&s, &j->job, 0, 8) == 0);
    struct sched_fair_alone alone = sched_fair_alone(&s, &j->job);
    assert_true(alone.rate == 4 && alone.most == 4);
    world_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_deadline_is_the_last_instant_that_keeps_rho),
        cmocka_unit_test(who_has_had_its_share_needs_no_more_and_keeps_rho),
        cmocka_unit_test(shares_of_all_jobs_are_had_at_the_same_time),
        cmocka_unit_test(a_liar_takes_from_others_no_more_than_its_weight),
        cmocka_unit_test(a_job_of_which_nothing_is_known_is_urgent),
        cmocka_unit_test(a_job_of_unknown_or_wrongly_told_work_has_to_keep_up),
        cmocka_unit_test(uncertain_work_makes_a_job_that_is_behind_due_sooner),
        cmocka_unit_test(speed_is_that_of_the_batch_asked_for_whatever_is_chosen_later),
        cmocka_unit_test(a_rigid_job_has_the_speed_of_its_gang_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
