/* Tests of src/sim/api.c: policies with knobs, as people write them. */
#include "unit/sim/sim_world.h"

#include "base/err.h"
#include "sim/compare.h"
#include <stdio.h>
#include <string.h>

static void every_policy_is_found_by_its_name(void **state)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        struct sim_choice c;
        char text[64];
        snprintf(text, sizeof text, "%s", policies[i]->name);
        assert_int_equal(sim_choice_parse(text, &c, NULL), SHOAL_OK);
        assert_ptr_equal(c.policy, policies[i]);
        assert_int_equal(c.set_count, 0);
    }
}

static void knobs_are_what_stands_between_colons(void **state)
{
    struct sim_choice c;
    char text[1024] = "las:quantum=30m:locality=strict", whole[1024];

    (void)state;
    assert_int_equal(sim_choice_parse(text, &c, NULL), SHOAL_OK);
    assert_string_equal(c.policy->name, "las");
    assert_int_equal(c.set_count, 2);
    assert_string_equal(c.sets[0], "quantum=30m");
    assert_string_equal(c.sets[1], "locality=strict");

    /* what was cut, joined again, is what was written; empty knobs are kept for sim_run to refuse */
    for (size_t knobs = 0; knobs <= SIM_SETS_MAX; knobs++) {
        size_t at = (size_t)snprintf(text, sizeof text, "fifo");
        for (size_t i = 0; i < knobs; i++)
            at += (size_t)snprintf(text + at, sizeof text - at, i % 5 == 4 ? ":" : ":k%zu=v", i);
        memcpy(whole, text, sizeof whole);
        assert_int_equal(sim_choice_parse(text, &c, NULL), SHOAL_OK);
        assert_int_equal(c.set_count, knobs);
        char again[1024];
        at = (size_t)snprintf(again, sizeof again, "%s", c.policy->name);
        for (size_t i = 0; i < knobs; i++)
            at += (size_t)snprintf(again + at, sizeof again - at, ":%s", c.sets[i]);
        assert_string_equal(again, whole);
    }
}

static void what_is_no_policy_is_refused_and_changes_nothing(void **state)
{
    static const char *const wrong[] = {"polux", "", ":quantum=1", "LAS", "las quantum=1"};
    struct sim_choice c = {.set_count = 77};
    shoal_err err = SHOAL_ERR_INIT;
    char text[1024];

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "%s", wrong[i]);
        assert_int_equal(sim_choice_parse(text, &c, &err), SHOAL_E_NOTFOUND);
        assert_int_equal(err.code, SHOAL_E_NOTFOUND);
        assert_int_equal(sim_choice_parse(text, &c, NULL), SHOAL_E_NOTFOUND);
    }
    size_t at = (size_t)snprintf(text, sizeof text, "fifo");
    for (size_t i = 0; i <= SIM_SETS_MAX; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, ":a=1");
    assert_int_equal(sim_choice_parse(text, &c, &err), SHOAL_E_INVAL);
    assert_int_equal(err.code, SHOAL_E_INVAL);
    assert_int_equal(c.set_count, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_is_found_by_its_name),
        cmocka_unit_test(knobs_are_what_stands_between_colons),
        cmocka_unit_test(what_is_no_policy_is_refused_and_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
