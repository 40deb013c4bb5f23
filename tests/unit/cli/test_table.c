/* test_table.c - the rows of commands are sound: names, help, options that do not clash, working
 * examples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/assert.h"
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

/* One meaning, written in the way of each command's own world. */
static const struct {
    const char *word, *one, *other, *why;
} worlds[] = {
    {"deadline", "market", "advise",
     "when the work is to be done: prices have dates, and a deadline there may be one"},
    {"budget", "market", "advise",
     "what may be spent: US dollars, but machine-seconds where machines have no price"},
};

static bool is_of_two_worlds(const char *word, const char *one, const char *other)
{
    for (size_t i = 0; i < BASE_COUNT(worlds); i++)
        if (strcmp(worlds[i].word, word) == 0 &&
            ((strcmp(worlds[i].one, one) == 0 && strcmp(worlds[i].other, other) == 0) ||
             (strcmp(worlds[i].one, other) == 0 && strcmp(worlds[i].other, one) == 0)))
            return true;
    return false;
}

/* The same word takes the same kind of value everywhere, and a letter is the same word; a word that
 * has a letter has it everywhere. Returns how many were let go as of two worlds. */
static size_t check_meaning(const struct cli_command *one, const shoal_opt *a,
                            const struct cli_command *other, const shoal_opt *b)
{
    bool word = strcmp(a->name, b->name) == 0;
    bool letter = a->letter != 0 && a->letter == b->letter && a->letter != HOW_MANY;

    if (letter && !word)
        fail_msg("-%c has two meanings: --%s of %s, --%s of %s", a->letter, a->name, one->name,
                 b->name, other->name);
    if (!word)
        return 0;
    if (a->letter != b->letter)
        fail_msg("--%s is -%c of %s, -%c of %s", a->name, a->letter != 0 ? a->letter : '?',
                 one->name, b->letter != 0 ? b->letter : '?', other->name);
    if (a->type == b->type && (a->meta == NULL || strcmp(a->meta, b->meta) == 0))
        return 0;
    if (!is_of_two_worlds(a->name, one->name, other->name))
        fail_msg("--%s has two meanings: %s of %s, %s of %s", a->name, a->meta, one->name, b->meta,
                 other->name);
    return 1;
}

static void letters_and_words_mean_the_same_in_every_command(void **state)
{
    size_t count, of_one, of_other, let_go = 0;
    const struct cli_command *const *commands = cli_table_commands(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        const shoal_opt *one = cli_command_opts(commands[i], &of_one);
        for (size_t k = 0; k < i; k++) {
            const shoal_opt *other = cli_command_opts(commands[k], &of_other);
            for (size_t a = 0; a < of_one; a++)
                for (size_t b = 0; b < of_other; b++)
                    let_go += check_meaning(commands[i], &one[a], commands[k], &other[b]);
        }
        for (size_t a = 0; a < of_one; a++) {
            const char *now =
                cli_table_renamed(commands[i]->name, one[a].name, strlen(one[a].name));
            if (now != NULL)
                fail_msg("%s --%s is an old spelling of --%s", commands[i]->name, one[a].name, now);
        }
    }
    assert_int_equal(let_go, BASE_COUNT(worlds));
}

static const struct cli_command *command_called(const char *name)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);

    for (size_t i = 0; i < count; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    fail_msg("no command %s", name);
    return NULL;
}

static shoal_status parse(const struct cli_command *command, const char *const *words, size_t count,
                          void *values, shoal_err *err)
{
    struct cli_common common = {0};
    const char *args[4];
    struct cli_parse with = {.command = command, .common = &common, .args = args, .values = values};

    return cli_parse_words(&with, words, count, err);
}

/* As words and letters, each beside the option as it is called now: the same row, so that both
 * together are one option given twice. */
static void old_spellings_are_taken(void **state)
{
    static const struct {
        const char *command, *old, *value, *now;
    } rows[] = {
        {"sim", "--checkpoint", "5m", "checkpoint-every"},
        {"advise", "-d", "30m", "deadline"},
        {"advise", "--start", "2m", "startup"},
        {"advise", "-t", "0.3", "target"},
        {"join", "-k", "key", "key-file"},
        {"join", "--key", "key", "key-file"},
        {"market", "-j", "fleet.csv", "fleet"},
        {"market", "--jobs", "fleet.csv", "fleet"},
        {"market", "-w", "5d", "work"},
        {"train", "--out", "model", "output"},
    };

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        const struct cli_command *command = command_called(rows[i].command);
        void *values = calloc(1, command->values_size);
        char now[64];
        shoal_err err = SHOAL_ERR_INIT;
        snprintf(now, sizeof now, "--%s", rows[i].now);
        const char *const words[] = {rows[i].old, rows[i].value, now, rows[i].value};
        if (parse(command, words, 2, values, &err) != SHOAL_OK)
            fail_msg("%s %s: %s", rows[i].command, rows[i].old, err.message);
        assert_int_equal(parse(command, words, 4, values, &err), SHOAL_E_INVAL);
        snprintf(now, sizeof now, "--%s was given twice", rows[i].now);
        assert_non_null(strstr(err.message, now));
        free(values);
    }
}

/* A list and a flag may be given twice: what they hold tells that the old spelling is theirs. */
static void old_spellings_of_lists_and_flags_are_taken(void **state)
{
    static const char *const words[] = {"--rate", "EUR=1.08", "-m"};
    const struct cli_command *market = command_called("market");
    size_t count;
    const shoal_opt *rows = cli_command_opts(market, &count);
    char *values = calloc(1, market->values_size);
    bool list = false, flag = false;

    (void)state;
    base_opt_defaults(rows, count, values);
    assert_int_equal(parse(market, words, 3, values, NULL), SHOAL_OK);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].name, "exchange") == 0)
            list = ((shoal_opt_list *)(void *)(values + rows[i].offset))->count == 1;
        if (strcmp(rows[i].name, "moves") == 0)
            flag = *(bool *)(void *)(values + rows[i].offset);
    }
    assert_true(list && flag);
    free(values);
}

/* Each stands for an option that is there, and every word of them is a key of the file too. */
static void old_spellings_stand_for_options_that_are_there(void **state)
{
    (void)state;
    assert_string_equal(cli_table_was("sim", "checkpoint-every"), "checkpoint");
    assert_string_equal(cli_table_was("market", "fleet"), "jobs");
    assert_string_equal(cli_table_was("train", "output"), "out");
    assert_string_equal(cli_table_was("join", "key-file"), "key");
    assert_null(cli_table_was("sim", "checkpoint"));
    assert_null(cli_table_was("advise", "target")); /* only its letter went */
    assert_string_equal(cli_table_renamed("solve", "j", 1), "show");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_is_found_by_its_own_words),
        cmocka_unit_test(unknown_words_are_neither_commands_nor_groups),
        cmocka_unit_test(every_row_is_complete_and_clashes_with_none),
        cmocka_unit_test(letters_and_words_mean_the_same_in_every_command),
        cmocka_unit_test(old_spellings_are_taken),
        cmocka_unit_test(old_spellings_of_lists_and_flags_are_taken),
        cmocka_unit_test(old_spellings_stand_for_options_that_are_there),
        cmocka_unit_test(every_example_is_a_line_the_parser_takes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
