/* test_run.c - whole studies of small traces: their runs, what follows from them, and traces that
 * are hardly any. */
#include "study_world.h"

#include "study/study.h"

static struct study *make(struct world *w, const shoal_study_opts *opts)
{
    struct study *study = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    if (study_make(w->env, w->trace, &w->cluster, opts, NULL, &study, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    return study;
}

static void assert_near(double a, double b, double part)
{
    if (!(fabs(a - b) <= part * fmax(1, fmax(fabs(a), fabs(b)))))
        fail_msg("%.12g is not %.12g", a, b);
}

/* Sums of one run over sizes, reasons and servers; floats per job make them equal to 1e-5 only. */
static void check_tally(const struct study *s, const struct study_run *run)
{
    const struct study_tally *t = &run->tally;
    double held = 0;

    for (uint32_t w = 0; w <= SIM_WAIT_COUNT; w++) {
        double sizes = 0;
        uint64_t jobs = 0;
        for (uint32_t i = 0; i < STUDY_SIZES; i++) {
            sizes += t->delays[i][w].total_s;
            jobs += t->delays[i][w].jobs;
        }
        assert_near(sizes, t->delays[STUDY_ALL][w].total_s, 1e-5);
        assert_int_equal(jobs, t->delays[STUDY_ALL][w].jobs);
    }
    for (uint32_t i = 0; i <= STUDY_SIZES; i++) {
        double reasons = 0;
        for (uint32_t w = 0; w < SIM_WAIT_COUNT; w++) {
            const struct study_delay *d = &t->delays[i][w];
            reasons += d->total_s;
            if (d->jobs > 0)
                assert_true(d->p50_s > 0 && d->p50_s <= d->p95_s && d->p95_s <= d->p99_s);
        }
        assert_near(reasons, t->delays[i][STUDY_WAITS].total_s, 1e-5);
    }
    for (uint32_t i = 0; i < STUDY_SIZES; i++) {
        for (uint32_t b = 0; b < SIM_SERVERS_COUNT; b++)
            held += t->servers_gpu_s[i][b];
        for (size_t p = 1; p < STUDY_POINTS && s->jobs.sizes[i] > 0; p++)
            assert_true(t->waits_s[i][p - 1] <= t->waits_s[i][p]);
        assert_true(t->spread_gpu_s[i] >= 0 && t->beside_gpu_s[i] >= 0 && t->slow_gpu_s[i] >= 0);
    }
    assert_near(held, t->held_gpu_s, 1e-5);
    assert_int_equal(t->rejected, 0);
    assert_true(t->utilization >= 0 && t->utilization <= t->occupancy + 1e-6);
    assert_true(t->occupancy <= 1 + 1e-6);
    /* What is held is the work that is left, what speed costs, and starts. */
    assert_true(t->held_gpu_s >=
                (run->books.useful_gpu_s + run->books.lost_gpu_s) * (1 - 1e-5) - 1);
}

static void every_run_adds_up(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(4); seed++) {
        struct world w;
        shoal_study_opts opts;
        world_random(&w, seed, 300, "6x8:gpu:rack=a,6x8:gpu:rack=b,8x2:gpu:rack=c");
        shoal_study_opts_init(&opts);
        opts.seed = seed;
        struct study *s = make(&w, &opts);
        for (size_t r = 0; r < STUDY_RUNS; r++) {
            assert_true(s->runs[r].possible);
            check_tally(s, &s->runs[r]);
            assert_near(s->runs[r].books.recorded_gpu_s, s->jobs.gpu_s, 1e-9);
            assert_near(s->runs[r].books.useful_gpu_s, s->runs[STUDY_BASE].books.useful_gpu_s,
                        1e-9);
        }
        for (size_t e = 0; e < STUDY_ECHOES; e++)
            check_tally(s, &s->echoes[e]);
        assert_true(study_luck_s(s, STUDY_WAITS) >= 0 && study_luck_gpu_s(s) >= 0);
        assert_true(study_saved_gpu_s(s, STUDY_BASE) == 0);
        assert_true(s->runs[STUDY_RETRY].books.saved_gpu_s > 0);
        assert_int_equal(s->pool.gpus + s->rest.gpus, s->cluster->gpus);
        for (size_t i = 0; i < s->jobs.count; i++) /* a trial takes its time */
            assert_true(s->jobs.jobs[i].gpus == 1
                            ? isnan(s->trial_end_s[i])
                            : s->trial_end_s[i] >=
                                  s->jobs.jobs[i].submit_s + study_trial_runs_s(&s->fates[i], 300));
        study_free(s);
        world_end(&w);
    }
}

static void the_same_options_give_the_same_study(void **state)
{
    struct world a, b;
    shoal_study_opts opts;

    (void)state;
    world_random(&a, 5, 200, "8x8:gpu,8x2:gpu");
    world_random(&b, 5, 200, "8x8:gpu,8x2:gpu");
    shoal_study_opts_init(&opts);
    struct study *s = make(&a, &opts), *t = make(&b, &opts);
    for (size_t r = 0; r < STUDY_RUNS; r++) {
        s->runs[r].tally.cpu_s = t->runs[r].tally.cpu_s = 0;
        assert_memory_equal(&s->runs[r].books, &t->runs[r].books, sizeof s->runs[r].books);
        assert_string_equal(s->runs[r].policy, t->runs[r].policy);
        assert_true(s->runs[r].tally.held_gpu_s == t->runs[r].tally.held_gpu_s);
        assert_true(study_waited_s(s, (enum study_run_id)r, STUDY_WAITS) ==
                    study_waited_s(t, (enum study_run_id)r, STUDY_WAITS));
    }
    study_free(s);
    study_free(t);
    world_end(&a);
    world_end(&b);
}

/* Every draw adds up, is another, and changes nothing of those before it; ranges hold them all. */
static void draws_are_added_to_each_other(void **state)
{
    struct world w;
    shoal_study_opts opts;

    (void)state;
    world_random(&w, 11, 300, "6x8:gpu:rack=a,6x8:gpu:rack=b,8x2:gpu:rack=c");
    shoal_study_opts_init(&opts);
    opts.draws = 1;
    assert_int_equal(study_run_count(&opts), STUDY_RUNS + STUDY_ECHOES);
    struct study *one = make(&w, &opts);
    opts.draws = 4;
    assert_int_equal(study_run_count(&opts), 4 * STUDY_RUNS);
    struct study *four = make(&w, &opts);
    assert_int_equal(one->more_count, 0);
    assert_int_equal(four->more_count, 3);
    for (enum study_run_id r = STUDY_BASE; r < STUDY_RUNS; r++) {
        struct study_range saved = study_saved_range(four, r);
        assert_true(one->runs[r].tally.held_gpu_s == four->runs[r].tally.held_gpu_s);
        assert_true(saved.least <= study_saved_gpu_s(one, r) &&
                    saved.most >= study_saved_gpu_s(one, r));
        assert_true(study_saved_range(one, r).least == study_saved_range(one, r).most);
        for (uint32_t d = 0; d < four->more_count; d++) {
            const struct study_draw *draw = &four->more[d];
            const struct study_run *run = &draw->runs[r];
            bool trials = r == STUDY_TRIAL || r == STUDY_TOGETHER;
            check_tally(four, run);
            assert_near(run->books.recorded_gpu_s, four->jobs.gpu_s, 1e-9);
            double less = draw->runs[STUDY_BASE].tally.held_gpu_s - run->tally.held_gpu_s -
                          (trials ? draw->pool_gpu_s : 0);
            assert_true(less >= saved.least && less <= saved.most);
        }
    }
    for (size_t e = 0; e < STUDY_ECHOES; e++) /* the base lines of draws are the echoes */
        assert_true(one->echoes[e].tally.held_gpu_s == four->echoes[e].tally.held_gpu_s);
    assert_true(four->more[0].runs[STUDY_BASE].books.lost_gpu_s !=
                four->runs[STUDY_BASE].books.lost_gpu_s);
    study_free(one);
    study_free(four);
    world_end(&w);
}

static void guidelines_that_cannot_be_simulated_say_why(void **state)
{
    struct world w;
    shoal_study_opts opts;

    (void)state;
    world_make(&w, "name,submit_s,gpus,duration_s\na,0,1,100\nb,10,1,200\n", "2x2:gpu");
    shoal_study_opts_init(&opts);
    opts.failures = SHOAL_STUDY_FAILURES_NONE;
    struct study *s = make(&w, &opts);
    assert_false(s->runs[STUDY_TRIAL].possible || s->runs[STUDY_RETRY].possible);
    assert_non_null(strstr(s->runs[STUDY_TRIAL].why_not, "more than one GPU"));
    assert_non_null(strstr(s->runs[STUDY_RETRY].why_not, "left out"));
    assert_true(isnan(study_saved_gpu_s(s, STUDY_TRIAL)));
    assert_true(isnan(study_fragmentation_ratio(s, STUDY_RETRY)));
    assert_true(s->runs[STUDY_TOGETHER].possible);
    study_free(s);
    world_end(&w);

    world_make(&w, "name,submit_s,gpus,duration_s\na,0,8,100\n", "1x8:gpu");
    shoal_study_opts_init(&opts);
    s = make(&w, &opts);
    assert_false(s->runs[STUDY_TRIAL].possible);
    assert_non_null(strstr(s->runs[STUDY_TRIAL].why_not, "too small"));
    study_free(s);
    world_end(&w);
}

/* The draw for one of few jobs would be most of the result. */
static void failures_of_few_jobs_are_left_out(void **state)
{
    shoal_study_opts opts;

    (void)state;
    shoal_study_opts_init(&opts);
    for (size_t jobs = STUDY_FEW - 1; jobs <= STUDY_FEW; jobs++) {
        struct world w;
        world_random(&w, 6, jobs, "8x8:gpu,8x2:gpu");
        struct study *s = make(&w, &opts);
        assert_true(s->few == (jobs < STUDY_FEW));
        assert_true(s->runs[STUDY_RETRY].possible == (jobs >= STUDY_FEW));
        if (s->few)
            assert_true(s->runs[STUDY_BASE].books.lost_gpu_s == 0 &&
                        s->unsuccessful[STUDY_ALL] == 0);
        study_free(s);
        world_end(&w);
    }
}

/* On far too few GPUs jobs wait for capacity, whatever quotas were assumed; without quotas nobody
 * waits for a share. */
static void too_few_gpus_are_not_a_matter_of_quotas(void **state)
{
    shoal_study_opts opts;
    struct world w;

    (void)state;
    world_random(&w, 8, 300, "4x8:gpu");
    shoal_study_opts_init(&opts);
    struct study *s = make(&w, &opts);
    assert_false(s->quotas.none);
    assert_true(study_waited_s(s, STUDY_BASE, SIM_WAIT_CAPACITY) >
                0.9 * study_waited_s(s, STUDY_BASE, STUDY_WAITS));
    study_free(s);
    opts.quotas = "none";
    s = make(&w, &opts);
    assert_true(study_waited_s(s, STUDY_BASE, SIM_WAIT_FAIR_SHARE) == 0);
    study_free(s);
    world_end(&w);
}

/* One job; all at one instant; jobs of no time to speak of; a job too large among others. */
static void small_and_odd_traces_are_studied(void **state)
{
    static const char *const traces[] = {
        "name,submit_s,gpus,duration_s\nonly,100,4,1000\n",
        "name,submit_s,gpus,duration_s\na,7,8,50\nb,7,8,50\nc,7,1,50\nd,7,2,50\ne,7,16,50\n",
        "name,submit_s,gpus,duration_s\na,0,1,1e-6\nb,0,3,1e-6\n",
        "name,submit_s,gpus,duration_s\na,0,1,10\nbig,0,999,10\n",
    };

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(traces); i++) {
        struct world w;
        shoal_study_opts opts;
        struct base_buf text;
        world_make(&w, traces[i], "4x8:gpu,4x2:gpu");
        shoal_study_opts_init(&opts);
        struct study *s = make(&w, &opts);
        for (size_t r = 0; r < STUDY_RUNS; r++)
            if (s->runs[r].possible)
                check_tally(s, &s->runs[r]);
        base_buf_init(&text, &base_alloc_libc, 1 << 16);
        study_say_waiting(s, &text);
        study_say_speed(s, &text);
        study_say_failures(s, &text);
        study_say_first(s, &text);
        study_say_together(s, &text);
        study_say_luck(s, &text);
        assert_int_equal(base_buf_status(&text), SHOAL_OK);
        assert_null(strstr(text.data, "nan"));
        assert_null(strstr(text.data, "inf "));
        base_buf_fini(&text);
        study_free(s);
        world_end(&w);
    }
}

static void mistakes_in_options_are_told(void **state)
{
    struct world w;
    shoal_study_opts opts;
    struct study *s = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    world_random(&w, 1, 20, "8x8:gpu");
    shoal_study_opts_init(&opts);
    opts.trial_s = 0;
    assert_int_equal(study_make(w.env, w.trace, &w.cluster, &opts, NULL, &s, &err), SHOAL_E_INVAL);
    shoal_study_opts_init(&opts);
    opts.draws = 0;
    assert_int_equal(study_make(w.env, w.trace, &w.cluster, &opts, NULL, &s, &err), SHOAL_E_INVAL);
    assert_non_null(strstr(err.message, "1 to 100 times"));
    shoal_study_opts_init(&opts);
    opts.sets = (shoal_opt_list){{"no-such-knob=1"}, 1};
    assert_int_not_equal(study_make(w.env, w.trace, &w.cluster, &opts, NULL, &s, &err), SHOAL_OK);
    assert_non_null(strstr(err.message, "no-such-knob"));
    shoal_study_opts_init(&opts);
    opts.quotas = "nobody=3";
    assert_int_equal(study_make(w.env, w.trace, &w.cluster, &opts, NULL, &s, &err), SHOAL_E_INVAL);
    assert_null(s);
    world_end(&w);
}

static shoal_status make_small(const struct base_alloc *alloc, void *ctx)
{
    struct world *w = ctx;
    const struct base_alloc *own = w->env->alloc;
    struct sched_cluster cluster = w->cluster;
    shoal_study_opts opts;
    struct study *s = NULL;

    shoal_study_opts_init(&opts);
    w->env->alloc = alloc;
    cluster.alloc = alloc; /* what is split off it is counted, too */
    shoal_status st = study_make(w->env, w->trace, &cluster, &opts, NULL, &s, NULL);
    study_free(s);
    w->env->alloc = own;
    return st;
}

static void short_memory_ends_cleanly(void **state)
{
    struct world w;

    (void)state;
    world_make(&w,
               "name,submit_s,gpus,duration_s,group\na,0,8,900,x\nb,0,2,80,y\nc,60,1,90,y\n"
               "d,60,4,600,x\n",
               "2x8:gpu,4x2:gpu");
    torture_run_sampled(make_small, &w, 30);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_run_adds_up),
        cmocka_unit_test(the_same_options_give_the_same_study),
        cmocka_unit_test(draws_are_added_to_each_other),
        cmocka_unit_test(guidelines_that_cannot_be_simulated_say_why),
        cmocka_unit_test(failures_of_few_jobs_are_left_out),
        cmocka_unit_test(too_few_gpus_are_not_a_matter_of_quotas),
        cmocka_unit_test(small_and_odd_traces_are_studied),
        cmocka_unit_test(mistakes_in_options_are_told),
        cmocka_unit_test(short_memory_ends_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
