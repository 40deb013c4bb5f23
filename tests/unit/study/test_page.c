/* test_page.c - the page of a study: well formed, closed to the world, says what must be said. */
#include "study_world.h"

#include "study/page.h"
#include "unit/sim/report_page.h"

static char *page_for(struct world *w, const struct study_opts *opts,
                      const struct study_page_opts *page)
{
    struct study *study = NULL;
    struct base_buf out;
    shoal_err err = SHOAL_ERR_INIT;

    if (study_make(w->env, w->trace, &w->cluster, opts, &study, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    base_buf_init(&out, &base_alloc_libc, BUFFER_MAX);
    assert_int_equal(study_page(study, page, &out, &err), SHOAL_OK);
    study_free(study);
    return out.data;
}

static void a_page_is_well_formed_and_says_what_is_modelled(void **state)
{
    static const struct study_page_opts opts = {
        .command = "shoal study 'a<b>.csv'", .cluster = "8x8:gpu,8x2:gpu", .cluster_chosen = true};
    static const char *const words[] = {"What would each guideline save?",
                                        "Why do jobs wait?",
                                        "What does spreading jobs out cost?",
                                        "What do failures cost?",
                                        "What is measured and what is modelled",
                                        "To repeat this",
                                        "the trace says nothing of either",
                                        "a model: the trace does not say how its jobs ended",
                                        "arXiv 1901.05758",
                                        "smaller differences are luck",
                                        "chosen, as none was given",
                                        "a&lt;b&gt;.csv",
                                        "all together",
                                        "quotas assumed by share of GPU time, as none were given",
                                        "until the next decision (next round)",
                                        "hardly moves while a cluster keeps up",
                                        "all runs are made 3 times",
                                        "Ranges are over 3 draws",
                                        "in no column of waiting",
                                        "Input hash"};
    struct study_opts study;
    struct world w;

    (void)state;
    world_random(&w, 3, 400, "8x8:gpu,8x2:gpu");
    study_opts_init(&study);
    char *page = page_for(&w, &study, &opts);
    assert_well_formed(page);
    assert_closed_world(page);
    assert_true(strlen(page) < PAGE_MAX);
    for (size_t i = 0; i < BASE_COUNT(words); i++)
        if (strstr(page, words[i]) == NULL)
            fail_msg("the page does not say '%s'", words[i]);
    assert_null(strstr(page, "nan"));
    free(page);
    world_end(&w);
}

static void names_from_the_trace_are_escaped(void **state)
{
    static const struct study_page_opts opts = {.command = "c", .cluster = "s"};
    struct study_opts study;
    struct world w;

    (void)state;
    world_make(&w, "name,submit_s,gpus,duration_s\na,0,2,100\n<script>x&\"'</script>,0,999,10\n",
               "4x8:gpu");
    study_opts_init(&study);
    study.failures = STUDY_FAILURES_NONE;
    char *page = page_for(&w, &study, &opts);
    assert_well_formed(page);
    assert_closed_world(page);
    assert_null(strstr(page, "<script"));
    assert_non_null(strstr(page, "&lt;script&gt;"));
    assert_non_null(strstr(page, "(999 GPUs)"));
    assert_non_null(strstr(page, "Failures are left out"));
    free(page);
    world_end(&w);
}

static void odd_traces_have_pages(void **state)
{
    static const struct study_page_opts opts = {.command = "c", .cluster = "s"};
    static const char *const traces[] = {
        "name,submit_s,gpus,duration_s\nonly,0,1,10\n",
        "name,submit_s,gpus,duration_s\na,7,8,50\nb,7,8,50\nc,7,1,50\nd,7,2,50\ne,7,16,50\n",
    };

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(traces); i++) {
        struct study_opts study;
        struct world w;
        world_make(&w, traces[i], "1x8:gpu,4x2:gpu");
        study_opts_init(&study);
        char *page = page_for(&w, &study, &opts);
        assert_well_formed(page);
        assert_null(strstr(page, "nan"));
        assert_null(strstr(page, "inf"
                                 "\xc3\x97"));
        free(page);
        world_end(&w);
    }
}

static shoal_status write_page(const struct base_alloc *alloc, void *ctx)
{
    static const struct study_page_opts opts = {.command = "c", .cluster = "s"};
    struct base_buf out;

    base_buf_init(&out, alloc, BUFFER_MAX);
    shoal_status st = study_page(ctx, &opts, &out, NULL);
    base_buf_fini(&out);
    return st;
}

static void short_memory_ends_cleanly(void **state)
{
    struct study_opts opts;
    struct study *study = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    struct world w;

    (void)state;
    world_random(&w, 3, 50, "8x8:gpu,8x2:gpu");
    study_opts_init(&opts);
    assert_int_equal(study_make(w.env, w.trace, &w.cluster, &opts, &study, &err), SHOAL_OK);
    torture_run(write_page, study);
    study_free(study);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_is_well_formed_and_says_what_is_modelled),
        cmocka_unit_test(names_from_the_trace_are_escaped),
        cmocka_unit_test(odd_traces_have_pages),
        cmocka_unit_test(short_memory_ends_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
