/* test_config.c - default, file, environment, command line: the later is the stronger, and `config
 * show` tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/config.h"
#include "cli/table.h"
#include "unit/cli/world.h"
#include <jansson.h>

/* The entry of `key` in `config show --json`; the caller drops *root. */
static json_t *shown(struct world *w, const char *key, json_t **root)
{
    size_t i;
    json_t *option;

    assert_int_equal(WORLD_RUN(w, "config", "show", "--json"), 0);
    *root = json_loads(w->out, 0, NULL);
    assert_non_null(*root);
    json_array_foreach(json_object_get(*root, "options"), i, option)
    {
        if (strcmp(json_string_value(json_object_get(option, "key")), key) == 0)
            return option;
    }
    fail_msg("no key '%s'", key);
    return NULL;
}

static void check_shown(struct world *w, const char *key, const char *value, const char *from)
{
    json_t *root;
    json_t *option = shown(w, key, &root);

    assert_string_equal(json_string_value(json_object_get(option, "value")), value);
    assert_string_equal(json_string_value(json_object_get(option, "from")), from);
    json_decref(root);
}

static void each_source_is_stronger_than_the_one_before(void **state)
{
    struct world *w = *state;

    unsetenv("SHOAL_SIM_ROUND");
    check_shown(w, "sim.round", "60s", "default");
    world_configure(w, "# rounds\n\n  sim.round = 2m  \n");
    check_shown(w, "sim.round", "120s", "file");
    setenv("SHOAL_SIM_ROUND", "5m", 1);
    check_shown(w, "sim.round", "300s", "environment");
    unsetenv("SHOAL_SIM_ROUND");
    check_shown(w, "sim.round", "120s", "file");
}

static void a_byte_order_mark_is_no_part_of_the_first_key(void **state)
{
    struct world *w = *state;

    world_configure(w, "\xef\xbb\xbfsim.round = 2m\n");
    check_shown(w, "sim.round", "120s", "file");
}

static void the_command_line_is_the_strongest(void **state)
{
    struct world *w = *state;

    world_configure(w, "policy.list.names = true\n");
    assert_int_equal(WORLD_RUN(w, "policy", "list"), 0);
    assert_null(strstr(w->out, "SUMMARY"));
    assert_int_equal(WORLD_RUN(w, "policy", "list", "--names=false"), 0);
    assert_non_null(strstr(w->out, "SUMMARY"));
    setenv("SHOAL_POLICY_LIST_NAMES", "false", 1);
    assert_int_equal(WORLD_RUN(w, "policy", "list"), 0);
    assert_non_null(strstr(w->out, "SUMMARY"));
    unsetenv("SHOAL_POLICY_LIST_NAMES");
}

static void a_stronger_source_replaces_a_list(void **state)
{
    struct world *w = *state;

    world_configure(w, "sim.set = a=1\nsim.set = b=2\n");
    check_shown(w, "sim.set", "a=1,b=2", "file");
    setenv("SHOAL_SIM_SET", "c=3", 1);
    check_shown(w, "sim.set", "c=3", "environment");
    unsetenv("SHOAL_SIM_SET");
}

static void common_options_have_keys_of_their_own(void **state)
{
    struct world *w = *state;

    world_configure(w, "color = always\n");
    assert_int_equal(WORLD_RUN(w, "policy", "list"), 0);
    assert_non_null(strstr(w->out, "\033["));
    assert_int_equal(WORLD_RUN(w, "--color=auto", "policy", "list"), 0);
    assert_null(strstr(w->out, "\033["));
    assert_int_equal(WORLD_RUN(w, "policy", "list", "--color", "never"), 0);
    assert_null(strstr(w->out, "\033["));
}

static void refused(struct world *w, const char *text, const char *expected)
{
    world_configure(w, text);
    assert_int_equal(WORLD_RUN(w, "policy", "list"), 1);
    if (strstr(w->err, expected) == NULL)
        fail_msg("expected '%s' in '%s'", expected, w->err);
    assert_string_equal(w->out, "");
}

static void a_bad_line_is_an_error_with_file_and_line_whatever_the_command(void **state)
{
    struct world *w = *state;

    refused(w, "\nsim.round = soon\n", "/shoal/config, line 2: bad value for 'round'");
    refused(w, "sim.ruond = 60s\n", "line 1: unknown key 'sim.ruond'; did you mean 'sim.round'?");
    refused(w, "# c\n\nqqqqqqqqqqqqq = 1\n",
            "line 3: unknown key 'qqqqqqqqqqqqq'; 'shoal config show' lists");
    refused(w, "sim.round 60s\n", "line 1: expected 'key = value', found 'sim.round 60s'");
    refused(w, "= 60s\n", "unknown key ''");
    refused(w, "color = blue\n", "expected auto, always or never, found 'blue'");
    refused(w, "help.man = true\n", "unknown key 'help.man'");
}

static void a_bad_line_under_json_is_one_json_object(void **state)
{
    struct world *w = *state;
    json_t *root, *error;

    world_configure(w, "sim.ruond = 60s\n");
    assert_int_equal(WORLD_RUN(w, "policy", "list", "--json"), 1);
    root = json_loads(w->out, 0, NULL);
    error = json_object_get(root, "error");
    assert_string_equal(json_string_value(json_object_get(error, "code")), "SHOAL_E_FORMAT");
    assert_non_null(strstr(json_string_value(json_object_get(error, "where")), "config, line 1"));
    assert_string_equal(json_string_value(json_object_get(error, "hint")),
                        "did you mean 'sim.round'?");
    assert_string_equal(json_string_value(json_object_get(error, "action")), "fix the call");
    json_decref(root);
}

static void help_and_doctor_work_with_a_broken_file(void **state)
{
    struct world *w = *state;

    world_configure(w, "nonsense\n");
    assert_int_equal(WORLD_RUN(w, "help"), 0);
    assert_int_equal(WORLD_RUN(w, "policy", "list", "--help"), 0);
    assert_int_equal(WORLD_RUN(w, "doctor"), 0);
    assert_non_null(strstr(w->out, "the configuration file is wrong"));
    assert_int_equal(WORLD_RUN(w, "config", "show"), 1);
}

static void a_bad_variable_is_named(void **state)
{
    struct world *w = *state;

    setenv("SHOAL_POLICY_LIST_NAMES", "perhaps", 1);
    assert_int_equal(WORLD_RUN(w, "policy", "list"), 1);
    assert_non_null(
        strstr(w->err, "environment variable SHOAL_POLICY_LIST_NAMES: bad value for 'names'"));
    setenv("SHOAL_POLICY_LIST_NAMES", "", 1); /* empty is unset */
    assert_int_equal(WORLD_RUN(w, "policy", "list"), 0);
    unsetenv("SHOAL_POLICY_LIST_NAMES");
}

static void every_option_has_its_own_key_and_variable(void **state)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);
    char a[128], b[128];

    (void)state;
    for (size_t i = 0; i < count; i++) {
        size_t mine_count;
        const shoal_opt *mine = cli_command_opts(commands[i], &mine_count);
        for (size_t k = 0; k < mine_count; k++)
            for (size_t j = 0; j < count; j++) {
                size_t other_count;
                const shoal_opt *other = cli_command_opts(commands[j], &other_count);
                for (size_t l = 0; l < other_count; l++) {
                    if (i == j && k == l)
                        continue;
                    cli_config_variable(commands[i]->name, &mine[k], a, sizeof a);
                    cli_config_variable(commands[j]->name, &other[l], b, sizeof b);
                    assert_string_not_equal(a, b);
                }
            }
    }
}

static void a_missing_file_or_home_is_no_error(void **state)
{
    struct world *w = *state;

    assert_int_equal(WORLD_RUN(w, "policy", "list"), 0);
    setenv("XDG_CONFIG_HOME", "relative", 1);
    setenv("HOME", "", 1);
    assert_int_equal(WORLD_RUN(w, "config", "show"), 0);
    setenv("XDG_CONFIG_HOME", w->folder, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_open, world_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_source_is_stronger_than_the_one_before),
        TEST(a_byte_order_mark_is_no_part_of_the_first_key),
        TEST(the_command_line_is_the_strongest),
        TEST(a_stronger_source_replaces_a_list),
        TEST(common_options_have_keys_of_their_own),
        TEST(a_bad_line_is_an_error_with_file_and_line_whatever_the_command),
        TEST(a_bad_line_under_json_is_one_json_object),
        TEST(help_and_doctor_work_with_a_broken_file),
        TEST(a_bad_variable_is_named),
        TEST(every_option_has_its_own_key_and_variable),
        TEST(a_missing_file_or_home_is_no_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
