/* test_table.c - the rows of commands are sound: names, help, options that do not clash, working
 * examples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/config.h"
#include "cli/table.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void every_command_is_found_by_its_own_words(void **state)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);

    (void)state;
    assert_true(count >= 7);
    for (size_t i = 0; i < count; i++) {
        char name[64];
        const char *words[2];
        size_t used, given = 1;
        bool group;
        snprintf(name, sizeof name, "%s", commands[i]->name);
        words[0] = name;
        words[1] = strchr(name, ' ');
        if (words[1] != NULL) {
            name[strcspn(name, " ")] = '\0';
            words[1]++;
            given = 2;
        }
        assert_ptr_equal(cli_table_find(words, given, &used, &group), commands[i]);
        assert_int_equal(used, given);
        if (given == 2) {
            assert_null(cli_table_find(words, 1, &used, &group));
            assert_true(group);
        }
    }
}

static void unknown_words_are_neither_commands_nor_groups(void **state)
{
    const char *const words[] = {"polic", "list"};
    size_t used;
    bool group = true;
    char buf[32];

    (void)state;
    assert_null(cli_table_find(words, 2, &used, &group));
    assert_false(group);
    assert_null(cli_table_find(words, 0, &used, &group));
    assert_string_equal(cli_table_nearest(NULL, "polic", buf, sizeof buf), "policy");
    assert_string_equal(cli_table_nearest("policy", "shw", buf, sizeof buf), "show");
    assert_null(cli_table_nearest(NULL, "qqqqqqqqqqqq", buf, sizeof buf));
}

static void check_row(const struct cli_command *command, const shoal_opt *row)
{
    if (row->help == NULL || row->help[0] == '\0' || row->help[strlen(row->help) - 1] == '.')
        fail_msg("%s --%s: help is missing or ends with a full stop", command->name, row->name);
    if ((row->meta == NULL) != (row->type == SHOAL_OPT_FLAG))
        fail_msg("%s --%s: flags have no meta word, all others have one", command->name, row->name);
    if (row->offset + base_opt_size(row) > command->values_size)
        fail_msg("%s --%s: lies outside the struct of values", command->name, row->name);
    for (const char *p = row->name; *p != '\0'; p++)
        if (!islower((unsigned char)*p) && !isdigit((unsigned char)*p) && *p != '-')
            fail_msg("%s --%s: names are lower case words", command->name, row->name);
    for (size_t i = 0; i < cli_common_row_count; i++)
        if (cli_common_has(command, &cli_common_rows[i]) &&
            (strcmp(row->name, cli_common_rows[i].name) == 0 ||
             (row->letter != 0 && row->letter == cli_common_rows[i].letter)))
            fail_msg("%s --%s: clashes with a common option", command->name, row->name);
}

static void every_row_is_complete_and_clashes_with_none(void **state)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        const struct cli_command *c = commands[i];
        assert_int_equal((c->run != NULL) + (c->make != NULL), 1);
        assert_non_null(c->usage);
        assert_true(c->arg_min <= c->arg_max);
        if (c->summary[strlen(c->summary) - 1] != '.' || !isupper((unsigned char)c->summary[0]))
            fail_msg("%s: the summary is not a sentence", c->name);
        size_t row_count;
        const shoal_opt *rows = cli_command_opts(c, &row_count);
        for (size_t a = 0; a < row_count; a++) {
            check_row(c, &rows[a]);
            for (size_t b = 0; b < a; b++)
                if (strcmp(rows[a].name, rows[b].name) == 0 ||
                    (rows[a].letter != 0 && rows[a].letter == rows[b].letter))
                    fail_msg("%s: --%s and --%s clash", c->name, rows[a].name, rows[b].name);
        }
    }
}

/* The example begins with the command's name and its words are taken by its rows. */
static void every_example_is_a_line_the_parser_takes(void **state)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        const struct cli_command *c = commands[i];
        char line[300];
        const char *words[32], *args[32];
        size_t used = 0;
        struct cli_common common = {0};
        struct cli_parse parse = {.command = c, .common = &common, .args = args};
        shoal_err err = SHOAL_ERR_INIT;

        assert_non_null(c->example);
        assert_memory_equal(c->example, c->name, strlen(c->name));
        snprintf(line, sizeof line, "%s", c->example + strlen(c->name));
        line[strcspn(line, ">|")] = '\0';
        for (char *word = strtok(line, " "); word != NULL && used < 32; word = strtok(NULL, " "))
            words[used++] = word;
        parse.values = calloc(1, c->values_size + 1);
        if (cli_parse_words(&parse, words, used, &err) != SHOAL_OK)
            fail_msg("example of %s: %s", c->name, err.message);
        free(parse.values);
        assert_in_range(parse.arg_count, c->arg_min, c->arg_max);
    }
}

/* "How many" of what a command makes, uses or shows: the one letter of several words. */
static const char HOW_MANY = 'n';

/* Whose rows are still to be gone over. */
static bool is_later(const struct cli_command *command)
{
    static const char *const names[] = {"advise", "market", "join", "study", "train"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], command->name) == 0)
            return true;
    return false;
}

/* The same word takes the same kind of value everywhere, and a letter is the same word. */
static void check_meaning(const struct cli_command *one, const shoal_opt *a,
                          const struct cli_command *other, const shoal_opt *b)
{
    bool word = strcmp(a->name, b->name) == 0;
    bool letter = a->letter != 0 && a->letter == b->letter && a->letter != HOW_MANY;

    if (word && (a->type != b->type || (a->meta != NULL && strcmp(a->meta, b->meta) != 0)))
        fail_msg("--%s has two meanings: %s of %s, %s of %s", a->name, a->meta, one->name, b->meta,
                 other->name);
    if (letter && !word)
        fail_msg("-%c has two meanings: --%s of %s, --%s of %s", a->letter, a->name, one->name,
                 b->name, other->name);
}

static void letters_and_words_mean_the_same_in_every_command(void **state)
{
    size_t count, of_one, of_other;
    const struct cli_command *const *commands = cli_table_commands(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        const shoal_opt *one = cli_command_opts(commands[i], &of_one);
        for (size_t k = 0; k < i; k++) {
            const shoal_opt *other = cli_command_opts(commands[k], &of_other);
            if (is_later(commands[i]) || is_later(commands[k]))
                continue;
            for (size_t a = 0; a < of_one; a++)
                for (size_t b = 0; b < of_other; b++)
                    check_meaning(commands[i], &one[a], commands[k], &other[b]);
        }
        for (size_t a = 0; a < of_one; a++) {
            const char *now =
                cli_table_renamed(commands[i]->name, one[a].name, strlen(one[a].name));
            if (!is_later(commands[i]) && now != NULL)
                fail_msg("%s --%s is an old spelling of --%s", commands[i]->name, one[a].name, now);
        }
    }
}

/* As words, letters, keys of a file and variables, each beside the option as it is called now. */
static void old_spellings_are_taken(void **state)
{
    static const char *const lines[][3] = {{"--checkpoint", "5m", "--checkpoint-every=5m"},
                                           {"--checkpoint=5m", "-s1", "--checkpoint-every=5m"}};
    size_t used;
    bool group;
    const char *const sim = "sim";
    const struct cli_command *command = cli_table_find(&sim, 1, &used, &group);

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct cli_common common = {0};
        const char *args[4];
        shoal_err err = SHOAL_ERR_INIT;
        struct cli_parse old = {.command = command, .common = &common, .args = args};
        struct cli_parse both = old;

        old.values = calloc(1, command->values_size);
        both.values = calloc(1, command->values_size);
        assert_int_equal(cli_parse_words(&old, lines[i], 2, &err), SHOAL_OK);
        assert_int_equal(cli_parse_words(&both, lines[i], 3, &err), SHOAL_E_INVAL);
        assert_non_null(strstr(err.message, "--checkpoint-every was given twice"));
        free(old.values);
        free(both.values);
    }
    assert_string_equal(cli_table_was("sim", "checkpoint-every"), "checkpoint");
    assert_null(cli_table_was("sim", "checkpoint"));
    assert_string_equal(cli_table_renamed("solve", "j", 1), "show");
    assert_null(cli_table_was("advise", "target"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_is_found_by_its_own_words),
        cmocka_unit_test(unknown_words_are_neither_commands_nor_groups),
        cmocka_unit_test(every_row_is_complete_and_clashes_with_none),
        cmocka_unit_test(letters_and_words_mean_the_same_in_every_command),
        cmocka_unit_test(old_spellings_are_taken),
        cmocka_unit_test(every_example_is_a_line_the_parser_takes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
