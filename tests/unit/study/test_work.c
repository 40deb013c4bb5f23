/* test_work.c - the books of changed work: GPU time is conserved, and guidelines do what they
 * say. */
#include "study_world.h"

#include "base/assert.h"
#include "study/work.h"

static struct study_fate *draw(const struct world *w, uint64_t seed)
{
    struct study_fate *fates = calloc(w->jobs.count + 1, sizeof *fates);

    assert_non_null(fates);
    study_failures_draw(&w->jobs, SHOAL_STUDY_FAILURES_MODEL, seed, fates);
    return fates;
}

/* As if the pool had room for everybody at once. */
static double *ends_of_trials(const struct world *w, const struct study_fate *fates, double trial_s)
{
    double *ends = calloc(w->jobs.count + 1, sizeof *ends);

    assert_non_null(ends);
    for (size_t i = 0; i < w->jobs.count; i++)
        ends[i] = study_trial_has(&w->jobs.jobs[i])
                      ? w->jobs.jobs[i].submit_s + study_trial_runs_s(&fates[i], trial_s)
                      : NAN;
    return ends;
}

static void assert_close(double a, double b)
{
    if (fabs(a - b) > 1e-9 * fmax(fabs(a), fabs(b)))
        fail_msg("%.17g is not %.17g", a, b);
}

static void gpu_time_is_useful_lost_or_saved(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(30); seed++) {
        struct base_rand rand;
        struct world w;
        base_rand_init(&rand, seed, "trials");
        double trial_s = exp(base_rand_range(&rand, log(1), log(1e5))), useful = NAN, parts_s = 0;
        world_random(&w, seed, 1 + (size_t)base_rand_below(&rand, 500), "8x8:gpu");
        struct study_fate *fates = draw(&w, seed);
        double *ends = ends_of_trials(&w, fates, trial_s);
        for (uint32_t changes = 0; changes < 4; changes++) {
            struct study_work work;
            assert_int_equal(
                study_work_init(&work, &base_alloc_libc, &w.jobs, fates, changes, trial_s, ends),
                SHOAL_OK);
            const struct study_books *b = &work.books;
            assert_close(b->recorded_gpu_s, w.jobs.gpu_s);
            assert_close(b->recorded_gpu_s, b->useful_gpu_s + b->lost_gpu_s + b->saved_gpu_s);
            assert_true(b->saved_gpu_s >= 0 && b->lost_gpu_s >= -1e-6);
            if (changes == 0) {
                useful = b->useful_gpu_s;
                assert_true(b->saved_gpu_s == 0 && b->cut == 0);
            }
            assert_close(b->useful_gpu_s, useful); /* no guideline costs useful work */
            if ((changes & STUDY_TRIALS) == 0)
                assert_true(b->trial_gpu_s == 0 && b->caught == 0);
            parts_s = 0; /* what is run is what the books say is left */
            for (size_t i = 0; i < work.count; i++)
                parts_s += work.parts[i].run_s * w.jobs.jobs[work.parts[i].job].gpus;
            assert_close(parts_s, b->useful_gpu_s + b->lost_gpu_s);
            assert_int_equal(work.count + b->caught, w.jobs.count);
            study_work_fini(&work);
        }
        free(fates);
        free(ends);
        world_end(&w);
    }
}

/* Each part against the rule, job by job. */
static void guidelines_cut_who_they_should(void **state)
{
    const double trial_s = 900;

    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(10); seed++) {
        struct world w;
        struct study_work work;
        world_random(&w, seed, 400, "8x8:gpu");
        struct study_fate *fates = draw(&w, seed);
        double *ends = ends_of_trials(&w, fates, trial_s);
        assert_int_equal(study_work_init(&work, &base_alloc_libc, &w.jobs, fates,
                                         STUDY_RETRY_ONLY | STUDY_TRIALS, trial_s, ends),
                         SHOAL_OK);
        double *run_s = calloc(w.jobs.count, sizeof *run_s);
        for (size_t i = 0; i < work.count; i++) {
            const struct study_part *p = &work.parts[i];
            const struct study_job *job = &w.jobs.jobs[p->job];
            assert_true(run_s[p->job] == 0 && p->run_s > 0);
            run_s[p->job] = p->run_s;
            assert_true(p->submit_s == (job->gpus >= 2 ? ends[p->job] : job->submit_s));
            if (i > 0)
                assert_true(work.parts[i - 1].submit_s <= p->submit_s);
        }
        for (size_t i = 0; i < w.jobs.count; i++) {
            const struct study_fate *f = &fates[i];
            bool back = f->fail_class != STUDY_PASSED && !study_classes[f->fail_class].retry;
            bool caught = back && w.jobs.jobs[i].gpus >= 2 && f->first_s <= trial_s;
            double wanted = caught ? 0 : back ? f->first_s : w.jobs.jobs[i].run_s;
            assert_true(run_s[i] == wanted);
        }
        free(run_s);
        free(fates);
        free(ends);
        study_work_fini(&work);
        world_end(&w);
    }
}

static void trials_are_short_and_of_gangs_only(void **state)
{
    struct world w;
    struct study_work trials;
    double spent = 0;

    (void)state;
    world_random(&w, 11, 500, "8x8:gpu");
    struct study_fate *fates = draw(&w, 1);
    assert_int_equal(study_work_init_trials(&trials, &base_alloc_libc, &w.jobs, fates, 600),
                     SHOAL_OK);
    assert_int_equal(trials.count, w.jobs.count - w.jobs.sizes[0]);
    for (size_t i = 0; i < trials.count; i++) {
        assert_true(w.jobs.jobs[trials.parts[i].job].gpus >= 2);
        assert_true(trials.parts[i].run_s > 0 && trials.parts[i].run_s <= 600);
        spent += trials.parts[i].run_s;
    }
    assert_close(spent, trials.books.trial_gpu_s);
    study_work_fini(&trials);
    free(fates);
    world_end(&w);
}

static void a_trace_of_the_work_has_its_parts_in_order(void **state)
{
    struct world w;
    struct study_work work;
    struct sim_trace *trace = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    world_random(&w, 12, 300, "8x8:gpu");
    struct study_fate *fates = draw(&w, 1);
    double *ends = ends_of_trials(&w, fates, 600);
    assert_int_equal(
        study_work_init(&work, &base_alloc_libc, &w.jobs, fates, STUDY_TRIALS, 600, ends),
        SHOAL_OK);
    assert_int_equal(study_work_trace(w.env, &work, &w.jobs, 0, &w.cluster, &trace, &err),
                     SHOAL_OK);
    assert_int_equal(trace->job_count, work.count);
    for (size_t i = 0; i < work.count; i++) {
        const struct study_job *job = &w.jobs.jobs[work.parts[i].job];
        assert_string_equal(trace->jobs[i].name, job->name);
        assert_true(trace->jobs[i].submit_s == work.parts[i].submit_s);
        assert_true(trace->jobs[i].duration_s == work.parts[i].run_s);
        assert_int_equal(trace->jobs[i].gpus, job->gpus);
        assert_int_equal(trace->jobs[i].group, job->group);
        assert_true(trace->jobs[i].kinds != 0);
    }
    sim_trace_free(trace);
    study_work_fini(&work);
    free(fates);
    free(ends);
    world_end(&w);
}

struct torture {
    struct world w;
    struct study_fate *fates;
    double *ends;
};

static shoal_status build(const struct base_alloc *alloc, void *ctx)
{
    struct torture *t = ctx;
    const struct base_alloc *own = t->w.env->alloc;
    struct study_work work, trials;
    struct sim_trace *trace = NULL;
    shoal_status st =
        study_work_init(&work, alloc, &t->w.jobs, t->fates, STUDY_TRIALS, 600, t->ends);

    if (st != SHOAL_OK)
        return st;
    st = study_work_init_trials(&trials, alloc, &t->w.jobs, t->fates, 600);
    if (st == SHOAL_OK)
        study_work_fini(&trials);
    t->w.env->alloc = alloc;
    if (st == SHOAL_OK)
        st = study_work_trace(t->w.env, &work, &t->w.jobs, 0, &t->w.cluster, &trace, NULL);
    sim_trace_free(trace);
    t->w.env->alloc = own;
    study_work_fini(&work);
    return st;
}

static void short_memory_ends_cleanly(void **state)
{
    struct torture t;

    (void)state;
    world_random(&t.w, 13, 40, "8x8:gpu");
    t.fates = draw(&t.w, 1);
    t.ends = ends_of_trials(&t.w, t.fates, 600);
    torture_run(build, &t);
    free(t.fates);
    free(t.ends);
    world_end(&t.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpu_time_is_useful_lost_or_saved),
        cmocka_unit_test(guidelines_cut_who_they_should),
        cmocka_unit_test(trials_are_short_and_of_gangs_only),
        cmocka_unit_test(a_trace_of_the_work_has_its_parts_in_order),
        cmocka_unit_test(short_memory_ends_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
