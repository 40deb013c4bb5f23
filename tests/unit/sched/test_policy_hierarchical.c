/* test_policy_hierarchical.c - fair between groups by weight, then inside each. */
#include "unit/sched/sharing.h"

static struct world_job *add_to(struct world *w, uint32_t group)
{
    struct world_job *j = sharing_add(w, (double[]){1}, 1e9);

    j->job.group = group;
    return j;
}

static struct world *open_groups(const char *spec, const char *knob, const char *const *names)
{
    struct world *w = sharing_open("hierarchical", spec, knob);

    w->groups = names;
    return w;
}

/* GPU-seconds of the jobs from..to-1, as a part of all that was handed out. */
static double part_of(const struct world *w, uint32_t from, uint32_t to)
{
    double part = 0, all = 0;

    for (uint32_t i = 0; i < w->all_count; i++) {
        all += w->all[i]->job.run_s;
        part += i >= from && i < to ? w->all[i]->job.run_s : 0;
    }
    return part / all;
}

static void run(struct world *w)
{
    for (int r = 0; r < 500; r++)
        world_round(w);
}

static void a_group_gets_its_part_however_many_jobs_it_has(void **state)
{
    struct world *w = open_groups("4x1:k80", NULL, NULL);

    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        add_to(w, 7);
    for (uint32_t i = 0; i < 12; i++)
        add_to(w, 8);
    run(w);
    assert_true(fabs(part_of(w, 0, 4) - 0.5) < 0.01);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(fabs(part_of(w, i, i + 1) - 0.125) < 0.01);
    sharing_close(w);
}

static void weights_are_by_name(void **state)
{
    static const char *const names[] = {"research", "web"};
    struct world *w = open_groups("4x1:k80", "weights=research=3,nobody=9", names);

    (void)state;
    for (uint32_t i = 0; i < 8; i++)
        add_to(w, i / 4);
    run(w);
    assert_true(fabs(part_of(w, 0, 4) - 0.75) < 0.01);
    sharing_close(w);
}

static void what_a_group_cannot_use_goes_to_the_others(void **state)
{
    static const char *const names[] = {"a", "b"};
    struct world *w = open_groups("4x1:k80", "weights=a=100", names);

    (void)state;
    add_to(w, 0);
    for (uint32_t i = 0; i < 6; i++)
        add_to(w, 1);
    run(w);
    assert_true(fabs(part_of(w, 0, 1) - 0.25) < 0.01); /* one of four GPUs is all it can hold */
    sharing_close(w);
}

/* org/x and org/y share what org gets, and org's own jobs are a third entity in it. */
static void groups_nest_by_their_names(void **state)
{
    static const char *const names[] = {"org/x", "org/y", "org", "lone"};
    struct world *w = open_groups("6x1:k80", "weights=org=2+org/x=3", names);

    (void)state;
    for (uint32_t i = 0; i < 24; i++)
        add_to(w, i / 6);
    run(w);
    assert_true(fabs(part_of(w, 18, 24) - 1.0 / 3) < 0.01);
    assert_true(fabs(part_of(w, 0, 6) - 2.0 / 3 * 3 / 5) < 0.01);
    assert_true(fabs(part_of(w, 6, 12) - 2.0 / 3 / 5) < 0.01);
    assert_true(fabs(part_of(w, 12, 18) - 2.0 / 3 / 5) < 0.01);
    sharing_close(w);
}

static void inside_fifo_serves_the_oldest_of_each_group(void **state)
{
    struct world *w = open_groups("2x1:k80", "inside=fifo", NULL);

    (void)state;
    for (uint32_t i = 0; i < 6; i++)
        add_to(w, i % 2);
    run(w);
    for (uint32_t i = 0; i < 2; i++)
        assert_true(fabs(part_of(w, i, i + 1) - 0.5) < 0.01);
    sharing_close(w);
}

static void weights_that_are_no_weights_are_refused(void **state)
{
    static const char *const bad[] = {"a",     "a=",     "=2",       "a=0",   "a=-1", "a=nan",
                                      "a=inf", "a=1e10", "a=1,,b=2", "a=1 b", "a= 1", "a=1,b"};
    const struct sched_setting anywhere = {0};
    static const char *const good[] = {"",      "a=1",      "a=1,b=2", "a=1+b=2",
                                       "a=b=3", "a/b=0.5,", "a=1e9"};
    const struct sched_policy *p = sched_policy_find("hierarchical", NULL);
    char assignment[64];
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(bad) + BASE_COUNT(good); i++) {
        bool fine = i >= BASE_COUNT(bad);
        void *memory = calloc(1, p->memory_size);
        base_opt_defaults(p->opts, p->opt_count, memory);
        snprintf(assignment, sizeof assignment, "weights=%s",
                 fine ? good[i - BASE_COUNT(bad)] : bad[i]);
        assert_int_equal(base_opt_assign(p->opts, p->opt_count, assignment, "p", memory, &err),
                         SHOAL_OK);
        shoal_status st = p->check(memory, &anywhere, &err);
        if (fine != (st == SHOAL_OK))
            fail_msg("'%s': %s", assignment, shoal_status_name(st));
        if (!fine)
            assert_non_null(strstr(err.message, "NAME=WEIGHT"));
        free(memory);
    }
}

static const char *name_of(void *ctx, uint32_t group)
{
    const char *const *names = ctx;

    return names[group];
}

/* What `weights` are said to be in a setting with these groups; "" when they are fine. */
static const char *verdict(const char *weights, const char *const *names, size_t count)
{
    static char text[1000];
    const struct sched_policy *p = sched_policy_find("hierarchical", NULL);
    const struct sched_setting setting = {
        .group_name = name_of, .group_ctx = (void *)(uintptr_t)names, .group_count = count};
    void *memory = calloc(1, p->memory_size);
    char assignment[64];
    shoal_err err = SHOAL_ERR_INIT;

    base_opt_defaults(p->opts, p->opt_count, memory);
    snprintf(assignment, sizeof assignment, "weights=%s", weights);
    assert_int_equal(base_opt_assign(p->opts, p->opt_count, assignment, "p", memory, &err),
                     SHOAL_OK);
    text[0] = '\0';
    if (p->check(memory, &setting, &err) != SHOAL_OK)
        snprintf(text, sizeof text, "%s; %s", err.message, err.hint);
    free(memory);
    return text;
}

static void weights_are_of_groups_that_jobs_are_in_each_once(void **state)
{
    static const char *const names[] = {"web", "research/vision", "research/nlp"};
    static const char *const one[] = {"default"};

    (void)state;
    assert_string_equal(verdict("web=2,research=3,research/nlp=1", names, 3), "");
    assert_string_equal(verdict("", names, 3), "");
    assert_non_null(strstr(verdict("web=1,web=2", names, 3), "'web' is there twice"));
    assert_non_null(strstr(verdict("web=1+research=2+web=1", names, 3), "'web' is there twice"));
    assert_non_null(strstr(verdict("web=1,reserch=2", names, 3),
                           "no job is in a group 'reserch'; did you mean 'research'?"));
    assert_non_null(strstr(verdict("research/vison=2", names, 3), "mean 'research/vision'?"));
    assert_non_null(strstr(verdict("web/x=2", names, 3), "no job is in a group 'web/x'"));
    assert_non_null(strstr(verdict("resear=2", names, 3), "no job is in a group 'resear'"));
    assert_non_null(strstr(verdict("zebra=2", names, 3), "'zebra'; one is 'web'"));
    assert_non_null(strstr(verdict("zebra=2", one, 1), "'zebra'; all jobs are in 'default'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_gets_its_part_however_many_jobs_it_has),
        cmocka_unit_test(weights_are_by_name),
        cmocka_unit_test(what_a_group_cannot_use_goes_to_the_others),
        cmocka_unit_test(groups_nest_by_their_names),
        cmocka_unit_test(inside_fifo_serves_the_oldest_of_each_group),
        cmocka_unit_test(weights_that_are_no_weights_are_refused),
        cmocka_unit_test(weights_are_of_groups_that_jobs_are_in_each_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
