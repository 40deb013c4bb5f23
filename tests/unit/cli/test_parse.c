/* test_parse.c - the ways to write an option mean the same, and what is not an option is an
 * argument. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/assert.h"
#include "cli/config.h"
#include <string.h>

struct values {
    bool all, brief;
    const char *policy;
    uint64_t seed;
    shoal_opt_list set;
};

#define AT(member) offsetof(struct values, member)

static const shoal_opt rows[] = {
    {AT(all), SHOAL_OPT_FLAG, "all", .letter = 'a'},
    {AT(brief), SHOAL_OPT_FLAG, "brief", .letter = 'b'},
    {AT(policy), SHOAL_OPT_STR, "policy", 'p', .meta = "NAME"},
    {AT(seed), SHOAL_OPT_U64, "seed", 's', .meta = "N"},
    {AT(set), SHOAL_OPT_LIST, "set", .meta = "KEY=VALUE"},
};

static const struct cli_command command = {.name = "probe",
                                           .opts = rows,
                                           .opt_count = BASE_COUNT(rows),
                                           .values_size = sizeof(struct values),
                                           .json = true};

struct outcome {
    struct values values;
    struct cli_common common;
    const char *args[16];
    size_t arg_count;
    shoal_status status;
    shoal_err err;
};

static struct outcome parse(const char *const *words, size_t count)
{
    struct outcome o = {.err = SHOAL_ERR_INIT};
    struct cli_parse p = {
        .command = &command, .values = &o.values, .common = &o.common, .args = o.args};

    base_opt_defaults(rows, BASE_COUNT(rows), &o.values);
    o.status = cli_parse_words(&p, words, count, &o.err);
    o.arg_count = p.arg_count;
    return o;
}

#define PARSE(...) \
    parse((const char *const[]){__VA_ARGS__}, BASE_COUNT(((const char *const[]){__VA_ARGS__})))

static void every_way_to_write_a_value_means_the_same(void **state)
{
    const struct outcome ways[] = {PARSE("--policy=las", "--seed=7", "-a", "t.csv"),
                                   PARSE("--policy", "las", "--seed", "7", "--all", "t.csv"),
                                   PARSE("t.csv", "-p", "las", "-s", "7", "-a"),
                                   PARSE("-plas", "t.csv", "-as7"),
                                   PARSE("-as", "7", "-p", "las", "--", "t.csv"),
                                   PARSE("--all=true", "-plas", "-s7", "t.csv")};

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(ways); i++) {
        assert_int_equal(ways[i].status, SHOAL_OK);
        assert_string_equal(ways[i].values.policy, "las");
        assert_int_equal(ways[i].values.seed, 7);
        assert_true(ways[i].values.all);
        assert_false(ways[i].values.brief);
        assert_int_equal(ways[i].arg_count, 1);
        assert_string_equal(ways[i].args[0], "t.csv");
    }
}

static void after_two_dashes_everything_is_an_argument(void **state)
{
    struct outcome o = PARSE("-a", "--", "--brief", "-p", "--");

    (void)state;
    assert_int_equal(o.status, SHOAL_OK);
    assert_int_equal(o.arg_count, 3);
    assert_string_equal(o.args[0], "--brief");
    assert_string_equal(o.args[2], "--");
    assert_false(o.values.brief);
}

static void one_dash_is_an_argument(void **state)
{
    struct outcome o = PARSE("-", "-a");

    (void)state;
    assert_int_equal(o.status, SHOAL_OK);
    assert_int_equal(o.arg_count, 1);
    assert_string_equal(o.args[0], "-");
}

static void bundled_flags_all_count(void **state)
{
    struct outcome o = PARSE("-ab");

    (void)state;
    assert_true(o.values.all && o.values.brief);
}

static void a_flag_can_be_taken_back(void **state)
{
    struct outcome o = PARSE("--all", "--all=false");

    (void)state;
    assert_int_equal(o.status, SHOAL_OK);
    assert_false(o.values.all);
}

static void a_value_given_twice_is_refused(void **state)
{
    struct outcome o = PARSE("--seed=1", "--set", "a=1", "--seed=1");

    (void)state;
    assert_int_equal(o.status, SHOAL_E_INVAL);
    assert_string_equal(o.err.message, "--seed was given twice");
}

static void lists_collect(void **state)
{
    struct outcome o = PARSE("--seed=1", "--set", "a=1", "--set=b=2");

    (void)state;
    assert_int_equal(o.values.seed, 1);
    assert_int_equal(o.values.set.count, 2);
    assert_string_equal(o.values.set.items[1], "b=2");
}

static void a_list_on_the_command_line_replaces_the_weaker_one(void **state)
{
    struct values values;
    struct cli_common common = {0};
    const char *args[4];
    struct cli_parse p = {.command = &command, .values = &values, .common = &common, .args = args};
    const char *const words[] = {"--set", "b=2", "--set", "c=3"};

    (void)state;
    base_opt_defaults(rows, BASE_COUNT(rows), &values);
    values.set.items[values.set.count++] = "from=file";
    assert_int_equal(cli_parse_words(&p, words, 4, NULL), SHOAL_OK);
    assert_int_equal(values.set.count, 2);
    assert_string_equal(values.set.items[0], "b=2");
}

static void common_options_work_beside_the_commands_own(void **state)
{
    struct outcome o = PARSE("--json", "--color", "never", "-h", "-a");

    (void)state;
    assert_int_equal(o.status, SHOAL_OK);
    assert_true(o.common.json && o.common.help && o.values.all);
    assert_int_equal(o.common.color, 2);
}

static void refused(struct outcome o, const char *message, const char *hint)
{
    assert_int_equal(o.status, SHOAL_E_INVAL);
    assert_string_equal(o.err.message, message);
    assert_string_equal(o.err.hint, hint);
}

static void wrong_words_are_refused_with_the_nearest(void **state)
{
    (void)state;
    refused(PARSE("--polcy", "x"), "unknown option '--polcy'", "did you mean '--policy'?");
    refused(PARSE("--polcy=x"), "unknown option '--polcy'", "did you mean '--policy'?");
    refused(PARSE("--pol", "x"), "unknown option '--pol'", "did you mean '--policy'?");
    refused(PARSE("-ax"), "unknown option '-x'", "");
    refused(PARSE("--policy"), "option '--policy' needs a value (NAME)", "");
    refused(PARSE("-ap"), "option '-p' needs a value (NAME)", "");
    refused(PARSE("--seed", "many"), "bad value for 'seed': expected a whole number, found 'many'",
            "");
    refused(PARSE("---"), "unknown option '---'", "");
    refused(PARSE("--=x"), "unknown option '--'", "");
}

static void a_command_that_does_not_report_has_no_json(void **state)
{
    struct cli_command quiet = command;
    struct values values;
    struct cli_common common = {0};
    const char *args[2];
    const char *const words[] = {"--json"};
    struct cli_parse p = {.command = &quiet, .values = &values, .common = &common, .args = args};

    (void)state;
    quiet.json = false;
    assert_int_equal(cli_parse_words(&p, words, 1, NULL), SHOAL_E_INVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_to_write_a_value_means_the_same),
        cmocka_unit_test(after_two_dashes_everything_is_an_argument),
        cmocka_unit_test(one_dash_is_an_argument),
        cmocka_unit_test(bundled_flags_all_count),
        cmocka_unit_test(a_flag_can_be_taken_back),
        cmocka_unit_test(a_value_given_twice_is_refused),
        cmocka_unit_test(lists_collect),
        cmocka_unit_test(a_list_on_the_command_line_replaces_the_weaker_one),
        cmocka_unit_test(common_options_work_beside_the_commands_own),
        cmocka_unit_test(wrong_words_are_refused_with_the_nearest),
        cmocka_unit_test(a_command_that_does_not_report_has_no_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
