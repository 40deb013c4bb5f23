/* test_quota.c - quotas of groups: how they are written, and who is within. */
#include "world.h"

#include "base/assert.h"
#include "sched/quota.h"

static const char *const groups[] = {"vision", "speech", "a=b"};

static const char *name_of(void *ctx, uint32_t group)
{
    (void)ctx;
    return groups[group];
}

static shoal_status check_text(const char *text, shoal_err *err)
{
    struct sched_setting setting = {.group_name = name_of, .group_count = 3};

    *err = (shoal_err)SHOAL_ERR_INIT;
    return sched_quota_check(text, &setting, err);
}

static void quotas_that_make_sense_are_taken(void **state)
{
    static const char *const good[] = {NULL, "", "vision=64", "vision=64+speech=0",
                                       "vision=1,speech=2,a=b=3"};
    shoal_err err;

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(good); i++)
        assert_int_equal(check_text(good[i], &err), SHOAL_OK);
}

static void mistakes_are_named_with_what_to_write(void **state)
{
    static const struct {
        const char *text, *message, *hint;
    } bad[] = {
        {"vision", "found 'vision'", "quota=research=64"},
        {"vision=", "found 'vision='", "whole"},
        {"vision=1.5", "found 'vision=1.5'", "whole"},
        {"vision=-1", "found 'vision=-1'", "whole"},
        {"vision=nan", "found 'vision=nan'", "whole"},
        {"vision=0x10", "found 'vision=0x10'", "whole"},
        {"vision=1e3", "found 'vision=1e3'", "whole"},
        {"vision= 4", "found 'vision= 4'", "whole"},
        {"vision=5000000000", "found", "whole"},
        {"=4", "found '=4'", "whole"},
        {"vision=4+vision=5", "'vision' is there twice", NULL},
        {"visoin=4", "no job is in a group 'visoin'", "'vision'"},
        {"zzzzzzzzzz=4", "no job is in a group", "one is 'vision'"},
    };
    shoal_err err;

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(bad); i++) {
        if (check_text(bad[i].text, &err) != SHOAL_E_INVAL)
            fail_msg("'%s' was taken", bad[i].text);
        if (strstr(err.message, bad[i].message) == NULL)
            fail_msg("'%s': %s", bad[i].text, err.message);
        if (bad[i].hint != NULL && strstr(err.hint, bad[i].hint) == NULL)
            fail_msg("'%s': %s", bad[i].text, err.hint);
    }
}

static struct sched_job jobs[3];
static struct sched_job *list[3] = {&jobs[0], &jobs[1], &jobs[2]};

static struct sched_snapshot snapshot(const struct base_alloc *alloc)
{
    for (uint32_t i = 0; i < 3; i++)
        jobs[i].group = i;
    return (struct sched_snapshot){
        .jobs = list, .job_count = 3, .alloc = alloc, .group_name = name_of};
}

/* All groups of the snapshot are met. */
static shoal_status begin(struct sched_quota *q, const char *text,
                          const struct sched_snapshot *snap)
{
    shoal_status st = SHOAL_OK;

    sched_quota_begin(q, text, snap);
    for (size_t i = 0; st == SHOAL_OK && i < snap->job_count; i++)
        st = sched_quota_meet(q, text, snap, snap->jobs[i]->group);
    return st;
}

static void a_group_is_within_its_quota_as_long_as_all_it_holds_is(void **state)
{
    struct sched_snapshot snap = snapshot(&base_alloc_libc);
    struct sched_quota q = {0};

    (void)state;
    assert_int_equal(begin(&q, "vision=8+a=b=3", &snap), SHOAL_OK);
    assert_int_equal(sched_quota_of(&q, 0), 8);
    assert_int_equal(sched_quota_of(&q, 1), 0); /* not named */
    assert_int_equal(sched_quota_of(&q, 2), 3);
    assert_true(sched_quota_fits(&q, 0, 8) && !sched_quota_fits(&q, 0, 9));
    sched_quota_hold(&q, 0, 10); /* borrows */
    assert_false(sched_quota_fits(&q, 0, 1));
    sched_quota_release(&q, 0, 4);
    assert_true(sched_quota_fits(&q, 0, 2) && !sched_quota_fits(&q, 0, 3));
    assert_int_equal(begin(&q, "vision=8+a=b=3", &snap), SHOAL_OK);
    assert_int_equal(sched_quota_held(&q, 0), 0);
    sched_quota_fini(&q);
}

static void running_jobs_are_covered_in_order_up_to_the_quota(void **state)
{
    struct sched_snapshot snap = snapshot(&base_alloc_libc);
    struct sched_quota q = {0};

    (void)state;
    assert_int_equal(begin(&q, "vision=8", &snap), SHOAL_OK);
    assert_true(sched_quota_covers(&q, 0, 6));
    assert_false(sched_quota_covers(&q, 0, 4)); /* borrowed */
    assert_true(sched_quota_covers(&q, 0, 2));  /* a later one may still fit */
    assert_false(sched_quota_covers(&q, 0, 1));
    assert_false(sched_quota_covers(&q, 1, 1));
    sched_quota_fini(&q);
}

static void without_quotas_nothing_limits_anybody(void **state)
{
    struct sched_snapshot snap = snapshot(&base_alloc_libc);
    struct sched_quota q = {0};

    (void)state;
    jobs[2].group = UINT32_MAX; /* whatever it is, no room is made for it */
    assert_int_equal(begin(&q, NULL, &snap), SHOAL_OK);
    sched_quota_hold(&q, 0, 1000000);
    assert_true(sched_quota_fits(&q, 0, UINT32_MAX) && sched_quota_covers(&q, 2, UINT32_MAX));
    sched_quota_fini(&q);
}

static shoal_status begin_one(const struct base_alloc *alloc, void *ctx)
{
    struct sched_snapshot snap = snapshot(alloc);
    struct sched_quota q = {0};

    (void)ctx;
    shoal_status st = begin(&q, "vision=8", &snap);
    sched_quota_fini(&q);
    return st;
}

static void failed_allocations_end_in_a_clean_error(void **state)
{
    (void)state;
    torture_run(begin_one, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotas_that_make_sense_are_taken),
        cmocka_unit_test(mistakes_are_named_with_what_to_write),
        cmocka_unit_test(a_group_is_within_its_quota_as_long_as_all_it_holds_is),
        cmocka_unit_test(running_jobs_are_covered_in_order_up_to_the_quota),
        cmocka_unit_test(without_quotas_nothing_limits_anybody),
        cmocka_unit_test(failed_allocations_end_in_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
