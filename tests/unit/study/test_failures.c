/* test_failures.c - the failure model: how many, when, and that the time of a job stays its
 * time. */
#include "study_world.h"

#include "base/assert.h"
#include "study/work.h"
#include <stdio.h>

static struct study_fate *draw(const struct world *w, uint32_t how, uint64_t seed)
{
    struct study_fate *fates = calloc(w->jobs.count + 1, sizeof *fates);

    assert_non_null(fates);
    study_failures_draw(&w->jobs, how, seed, fates);
    return fates;
}

static void rows_of_the_table_make_sense(void **state)
{
    double sum[STUDY_SIZES] = {0};

    (void)state;
    for (size_t c = 0; c < STUDY_CLASSES; c++) {
        const struct study_class *row = &study_classes[c];
        assert_non_null(row->name);
        assert_true(row->median_s > 0 && row->p90_s > row->median_s && row->attempts >= 1);
        assert_true(row->retry ? row->passes > 0 && row->passes < 1 : row->passes == 0);
        for (size_t s = 0; s < STUDY_SIZES; s++) {
            assert_true(row->share[s] > 0);
            assert_true(s == 0 || row->share[s] >= row->share[s - 1]); /* larger jobs fail more */
            sum[s] += row->share[s] * (1 - row->passes);
        }
    }
    assert_true(sum[0] > 0.15 &&
                sum[0] < 0.18); /* most jobs of the study have one GPU: about 17 % */
    assert_true(sum[3] < 0.5);
}

static void the_time_of_a_job_is_cut_and_not_changed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(20); seed++) {
        struct world w;
        world_random(&w, seed, 300, "8x8:gpu");
        struct study_fate *fates = draw(&w, SHOAL_STUDY_FAILURES_MODEL, seed);
        for (size_t i = 0; i < w.jobs.count; i++) {
            const struct study_fate *f = &fates[i];
            double run = w.jobs.jobs[i].run_s;
            assert_in_range(f->attempts, 1, STUDY_ATTEMPTS_MAX);
            assert_true(f->first_s > 0 && f->first_s <= run);
            assert_true(f->useful_s >= 0 && f->useful_s <= run);
            assert_true((f->useful_s > 0) == f->passes);
            if (f->attempts == 1)
                assert_true(f->first_s == run);
            if (f->fail_class == STUDY_PASSED) {
                assert_true(f->useful_s == run && f->attempts == 1);
                continue;
            }
            assert_true(f->fail_class < STUDY_CLASSES);
            if (f->passes)
                assert_true(f->attempts > 1 && study_classes[f->fail_class].retry &&
                            f->useful_s < run);
            if (!study_classes[f->fail_class].retry) /* it comes back after the same time */
                assert_true(fabs(f->first_s * f->attempts - run) <= 1e-9 * run);
        }
        free(fates);
        world_end(&w);
    }
}

static void without_failures_every_job_passes(void **state)
{
    struct world w;

    (void)state;
    world_random(&w, 1, 200, "8x8:gpu");
    struct study_fate *fates = draw(&w, SHOAL_STUDY_FAILURES_NONE, 1);
    for (size_t i = 0; i < w.jobs.count; i++)
        assert_true(fates[i].passes && fates[i].fail_class == STUDY_PASSED &&
                    fates[i].useful_s == w.jobs.jobs[i].run_s);
    free(fates);
    world_end(&w);
}

static void shares_of_jobs_are_those_of_the_rows(void **state)
{
    enum { JOBS = 40000 };
    double met[STUDY_SIZES][STUDY_CLASSES] = {0};
    struct world w;

    (void)state;
    world_random(&w, 3, JOBS, "8x8:gpu");
    struct study_fate *fates = draw(&w, SHOAL_STUDY_FAILURES_MODEL, 9);
    for (size_t i = 0; i < w.jobs.count; i++)
        if (fates[i].fail_class != STUDY_PASSED)
            met[study_size_of(w.jobs.jobs[i].gpus)][fates[i].fail_class]++;
    for (size_t s = 0; s < STUDY_SIZES; s++)
        for (size_t c = 0; c < STUDY_CLASSES; c++) {
            double wanted = study_classes[c].share[s] * (double)w.jobs.sizes[s];
            /* Five standard deviations of a count: one test in a million would fail by chance. */
            if (fabs(met[s][c] - wanted) > 5 * sqrt(wanted) + 1)
                fail_msg("%s, size %s: %.0f jobs, wanted %.0f", study_classes[c].name,
                         study_size_names[s], met[s][c], wanted);
        }
    free(fates);
    world_end(&w);
}

/* Mean of the logarithm of the time of jobs that met a class. */
static double mean_log_s(const struct world *w, const struct study_fate *fates, uint32_t fail_class)
{
    double sum = 0, n = 0;

    for (size_t i = 0; i < w->jobs.count; i++)
        if (fates[i].fail_class == fail_class) {
            sum += log(w->jobs.jobs[i].run_s);
            n++;
        }
    return sum / n;
}

static void early_classes_are_found_in_short_jobs_and_late_ones_in_long(void **state)
{
    struct world w;
    uint32_t early = 0, late = 0;

    (void)state;
    for (uint32_t c = 0; c < STUDY_CLASSES; c++) {
        early = study_classes[c].p90_s < study_classes[early].p90_s ? c : early;
        late = study_classes[c].p90_s > study_classes[late].p90_s ? c : late;
    }
    world_random(&w, 4, 20000, "8x8:gpu");
    struct study_fate *fates = draw(&w, SHOAL_STUDY_FAILURES_MODEL, 1);
    double all = mean_log_s(&w, fates, STUDY_PASSED);
    assert_true(mean_log_s(&w, fates, early) < all - 1);
    assert_true(mean_log_s(&w, fates, late) > all + 1);
    free(fates);
    world_end(&w);
}

static void a_job_draws_by_its_name_and_the_seed(void **state)
{
    struct world w;
    size_t differ = 0;

    (void)state;
    world_random(&w, 5, 2000, "8x8:gpu");
    struct study_fate *a = draw(&w, SHOAL_STUDY_FAILURES_MODEL, 1);
    struct study_fate *b = draw(&w, SHOAL_STUDY_FAILURES_MODEL, 1);
    struct study_fate *c = draw(&w, SHOAL_STUDY_FAILURES_MODEL, 2);
    for (size_t i = 0; i < w.jobs.count; i++) {
        assert_int_equal(a[i].fail_class, b[i].fail_class);
        assert_true(a[i].first_s == b[i].first_s && a[i].useful_s == b[i].useful_s);
        differ += a[i].fail_class != c[i].fail_class;
    }
    assert_true(differ > 200); /* two draws of about 20 % differ in about a third */
    free(a);
    free(b);
    free(c);
    world_end(&w);
}

/* Jobs of one length: every class has its share all the same, and one job alone is no special
 * case. */
static void equal_times_and_single_jobs_are_drawn_too(void **state)
{
    struct base_buf text;
    struct world w;
    size_t failed = 0;

    (void)state;
    base_buf_init(&text, &base_alloc_libc, 1 << 20);
    base_buf_puts(&text, "name,submit_s,gpus,duration_s\n");
    for (size_t i = 0; i < 10000; i++)
        base_buf_printf(&text, "j%zu,0,1,3600\n", i);
    world_make(&w, text.data, "8x8:gpu");
    struct study_fate *fates = draw(&w, SHOAL_STUDY_FAILURES_MODEL, 1);
    for (size_t i = 0; i < w.jobs.count; i++)
        failed += !fates[i].passes;
    assert_in_range(failed, 1400, 1900);
    free(fates);
    world_end(&w);
    base_buf_fini(&text);

    failed = 0;
    world_make(&w, "name,submit_s,gpus,duration_s\nonly,0,1,1e-3\n", "1x1:gpu");
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        fates = draw(&w, SHOAL_STUDY_FAILURES_MODEL, seed);
        failed += !fates[0].passes;
        free(fates);
    }
    assert_in_range(failed, 110, 230);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_the_table_make_sense),
        cmocka_unit_test(the_time_of_a_job_is_cut_and_not_changed),
        cmocka_unit_test(without_failures_every_job_passes),
        cmocka_unit_test(shares_of_jobs_are_those_of_the_rows),
        cmocka_unit_test(early_classes_are_found_in_short_jobs_and_late_ones_in_long),
        cmocka_unit_test(a_job_draws_by_its_name_and_the_seed),
        cmocka_unit_test(equal_times_and_single_jobs_are_drawn_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
