/* Tests of src/cli/report.c. */
#include "torture.h"

#include "cli/report.h"
#include <stddef.h>
#include <string.h>

struct values {
    const char *name;
    bool loud;
    double wait_s;
    shoal_opt_list sets;
};

#define AT(member) offsetof(struct values, member)

static const shoal_opt rows[] = {
    {AT(name), SHOAL_OPT_STR, "name", .fallback = "x"},
    {AT(loud), SHOAL_OPT_FLAG, .name = "loud"},
    {AT(wait_s), SHOAL_OPT_DURATION, "wait", .fallback = "60s"},
    {AT(sets), SHOAL_OPT_LIST, .name = "set"},
};
static const struct cli_command command = {
    .name = "try", .opts = rows, .opt_count = 4, .values_size = sizeof(struct values)};

static void repeats_as(const struct values *v, const char *const *args, size_t count,
                       const char *line)
{
    struct base_buf out;

    base_buf_init(&out, &base_alloc_libc, 1 << 16);
    cli_repeat_command(&command, v, args, count, &out);
    assert_int_equal(base_buf_status(&out), SHOAL_OK);
    assert_string_equal(out.data, line);
    base_buf_fini(&out);
}

static void only_what_differs_from_the_defaults_is_written(void **state)
{
    static const char *const args[] = {"a.csv", "-"};
    struct values v = {0};

    (void)state;
    base_opt_defaults(rows, 4, &v);
    repeats_as(&v, args, 2, "shoal try a.csv -");
    v.loud = true;
    v.wait_s = 90;
    v.sets = (shoal_opt_list){.items = {"a=1", "b=2"}, .count = 2};
    repeats_as(&v, args, 1, "shoal try a.csv --loud --wait 90s --set a=1 --set b=2");
}

static void words_are_quoted_so_that_a_shell_reads_them_back(void **state)
{
    static const char *const args[] = {"my trace.csv", "it's", "", "$(rm)"};
    struct values v = {0};

    (void)state;
    base_opt_defaults(rows, 4, &v);
    repeats_as(&v, args, 4, "shoal try 'my trace.csv' 'it'\\''s' '' '$(rm)'");
}

/* As the command line is read: `--name=-x`, and "--" ends the options. */
static void what_begins_with_a_dash_is_not_an_option(void **state)
{
    static const char *const args[] = {"a.csv", "-odd.csv"};
    struct values v = {0};

    (void)state;
    base_opt_defaults(rows, 4, &v);
    v.name = "-y z";
    v.loud = true;
    v.sets = (shoal_opt_list){.items = {"-a=1", "b=-2"}, .count = 2};
    repeats_as(&v, args, 1, "shoal try a.csv --name='-y z' --loud --set=-a=1 --set b=-2");
    repeats_as(&v, args, 2,
               "shoal try --name='-y z' --loud --set=-a=1 --set b=-2 -- a.csv -odd.csv");
}

static shoal_status scenario(const struct base_alloc *alloc, void *ctx)
{
    struct base_buf out;

    (void)ctx;
    base_buf_init(&out, alloc, 1 << 16);
    struct values v = {.name = "y", .wait_s = 1};
    cli_repeat_command(&command, &v, NULL, 0, &out);
    shoal_status st = base_buf_status(&out);
    base_buf_fini(&out);
    return st;
}

static void failed_allocations_end_in_a_clean_error(void **state)
{
    (void)state;
    torture_run(scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_differs_from_the_defaults_is_written),
        cmocka_unit_test(words_are_quoted_so_that_a_shell_reads_them_back),
        cmocka_unit_test(what_begins_with_a_dash_is_not_an_option),
        cmocka_unit_test(failed_allocations_end_in_a_clean_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
