/* test_why.c - reasons as names and sentences. */
#include "torture.h"

#include "base/assert.h"
#include "sched/why.h"
#include <stdio.h>
#include <string.h>

static const char *name_of(void *ctx, uint32_t job)
{
    static char name[32];

    (void)ctx;
    snprintf(name, sizeof name, "job-%u", job);
    return name;
}

static void says(struct sched_why why, const char *kind, const char *expected)
{
    struct base_buf buf;

    base_buf_init(&buf, &base_alloc_libc, 4096);
    sched_why_text(&why, kind, name_of, NULL, &buf);
    assert_int_equal(base_buf_status(&buf), SHOAL_OK);
    assert_string_equal(buf.data, expected);
    base_buf_fini(&buf);
}

static void every_reason_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int a = 0; a < SCHED_WHY_COUNT; a++) {
        const char *name = sched_reason_name((enum sched_reason)a);
        assert_true(strlen(name) > 0);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz_"), strlen(name));
        for (int b = 0; b < a; b++)
            assert_string_not_equal(name, sched_reason_name((enum sched_reason)b));
    }
    assert_string_equal(sched_reason_name(SCHED_WHY_COUNT), "none");
}

static void every_reason_gives_a_sentence(void **state)
{
    (void)state;
    for (uint8_t reason = SCHED_WHY_NEXT_ROUND; reason < SCHED_WHY_COUNT; reason++) {
        struct sched_why why = {
            .reason = reason, .kind = UINT16_MAX, .want = 8, .behind = UINT32_MAX};
        struct base_buf buf;
        base_buf_init(&buf, &base_alloc_libc, 4096);
        sched_why_text(&why, NULL, name_of, NULL, &buf);
        assert_non_null(strchr(buf.data, ' ')); /* words, not the bare name */
        assert_null(strchr(buf.data, '_'));
        assert_null(strchr(buf.data, '\n'));
        base_buf_fini(&buf);
    }
}

static void sentences_name_what_is_wanted_what_is_free_and_who_holds_it(void **state)
{
    (void)state;
    says((struct sched_why){.reason = SCHED_WHY_GANG,
                            .want = 8,
                            .free = 3,
                            .behind = UINT32_MAX,
                            .blocker_count = 2,
                            .blockers = {{7, 8}, {9, 2}}},
         "a100", "asks for 8 a100 at once, 3 free; job-7 holds 8, job-9 holds 2");
    says(
        (struct sched_why){
            .reason = SCHED_WHY_LOCALITY, .want = 4, .free = 6, .behind = UINT32_MAX},
        "t4", "asks for 4 t4; 6 free, but not where its placement rules allow");
    says((struct sched_why){.reason = SCHED_WHY_CAPACITY, .want = 1, .behind = UINT32_MAX}, NULL,
         "asks for 1 GPU; 0 free");
    says((struct sched_why){.reason = SCHED_WHY_QUEUE, .want = 2, .behind = UINT32_MAX}, "t4",
         "asks for 2 t4; jobs that came before it hold them");
    says((struct sched_why){.reason = SCHED_WHY_CAPACITY, .want = 2, .behind = UINT32_MAX}, NULL,
         "asks for 2 GPUs; 0 free");
    says((struct sched_why){.reason = SCHED_WHY_DEADLINE_SLACK,
                            .want = 4,
                            .behind = UINT32_MAX,
                            .blocker_count = 1,
                            .blockers = {{7, 4}}},
         NULL, "asks for 4 GPUs; its deadline leaves time to wait; job-7 holds 4");
    says((struct sched_why){.reason = SCHED_WHY_PRICE, .want = 4, .behind = UINT32_MAX}, "v100",
         "asks for 4 v100; their price is better spent on other jobs");
    says((struct sched_why){.reason = SCHED_WHY_IMPOSSIBLE,
                            .want = 99,
                            .behind = UINT32_MAX,
                            .blocker_count = 1,
                            .blockers = {{1, 1}}},
         "t4", "asks for 99 t4 at once, more than this cluster has");
}

static void bids_that_were_put_right_are_told(void **state)
{
    (void)state;
    says((struct sched_why){.reason = SCHED_WHY_FAIR_SHARE,
                            .kind = UINT16_MAX,
                            .want = 4,
                            .behind = UINT32_MAX,
                            .cleaned = 1},
         NULL,
         "asks for 4 GPUs; jobs that come before it under this policy hold them; its bids "
         "contradicted "
         "each other and were put right");
}

static void a_job_behind_another_names_it_and_not_the_holders(void **state)
{
    (void)state;
    says((struct sched_why){.reason = SCHED_WHY_CAPACITY,
                            .want = 1,
                            .free = 3,
                            .behind = 5,
                            .blocker_count = 1,
                            .blockers = {{1, 1}}},
         "t4", "comes after job-5, which does not fit yet");
}

static shoal_status text_once(const struct base_alloc *alloc, void *ctx)
{
    struct base_buf buf;

    base_buf_init(&buf, alloc, 4096);
    sched_why_text(ctx, "a100", name_of, NULL, &buf);
    shoal_status st = base_buf_status(&buf);
    base_buf_fini(&buf);
    return st;
}

static void failed_allocations_stick_in_the_buffer(void **state)
{
    struct sched_why why = {.reason = SCHED_WHY_GANG,
                            .want = 8,
                            .behind = UINT32_MAX,
                            .blocker_count = 3,
                            .blockers = {{1, 1}, {2, 2}, {3, 3}}};

    (void)state;
    torture_run(text_once, &why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reason_has_a_name_of_its_own),
        cmocka_unit_test(every_reason_gives_a_sentence),
        cmocka_unit_test(sentences_name_what_is_wanted_what_is_free_and_who_holds_it),
        cmocka_unit_test(bids_that_were_put_right_are_told),
        cmocka_unit_test(a_job_behind_another_names_it_and_not_the_holders),
        cmocka_unit_test(failed_allocations_stick_in_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
