/* test_main.c - the whole command in process: 10,000 command lines made of real and broken words
 * end in 0, 1 or 2, and whatever fails says so in the promised form. Test of cli.c, fail.c and
 * cmd_help.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/assert.h"
#include "base/rand.h"
#include "cli/table.h"
#include "property.h"
#include "unit/cli/world.h"
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <unistd.h>

enum { WORDS_MAX = 1024 };

struct vocabulary {
    const char *words[WORDS_MAX];
    char texts[WORDS_MAX][64];
    size_t count;
};

static void add_word(struct vocabulary *v, const char *format, const char *word)
{
    assert_true(v->count < WORDS_MAX);
    snprintf(v->texts[v->count], sizeof v->texts[0], format, word);
    v->words[v->count] = v->texts[v->count];
    v->count++;
}

/* Words of commands, their options, values that fit some of them, and rubbish. */
static void fill_vocabulary(struct vocabulary *v)
{
    static const char *const others[] = {"-",       "--",          "---",    "",
                                         "-h",      "-p",          "-plas",  "-pq",
                                         "las",     "fifo",        "polux",  "60s",
                                         "-1",      "1e400",       "0",      "99999999999999999999",
                                         "a=b",     "=",           "bash",   "zsh",
                                         "fish",    "nowhere.csv", "4x4:t4", "\xff\xfe",
                                         "--=",     "--help",      "x=y=z",  "\033[2J",
                                         "%s%n%s",  "tcsh",        "-xyz",   "--no-such",
                                         "--json",  "auto",        "always", "sometimes",
                                         "--json=", "-\xc3\xa9",   "list",   "all"};
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);

    for (size_t i = 0; i < BASE_COUNT(others); i++)
        add_word(v, "%s", others[i]);
    for (size_t i = 0; i < cli_common_row_count; i++) {
        add_word(v, "--%s", cli_common_rows[i].name);
        add_word(v, "--%s=1", cli_common_rows[i].name);
    }
    for (size_t c = 0; c < count; c++) {
        char name[64];
        snprintf(name, sizeof name, "%s", commands[c]->name);
        name[strcspn(name, " ")] = '\0';
        add_word(v, "%s", name);
        if (cli_table_verb_name(commands[c]) != NULL)
            add_word(v, "%s", cli_table_verb_name(commands[c]));
        size_t row_count;
        const shoal_opt *rows = cli_command_opts(commands[c], &row_count);
        for (size_t i = 0; i < row_count; i++) {
            /* options that write files stay out; values are small, so no line means long work */
            if (strcmp(rows[i].name, "output") == 0 || strcmp(rows[i].name, "report") == 0 ||
                strcmp(rows[i].name, "events") == 0)
                continue;
            add_word(v, "--%s", rows[i].name);
            add_word(v, "--%sx", rows[i].name);
            add_word(v, "--%s=3", rows[i].name);
        }
    }
}

static void show_words(const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        print_error("'%s' ", words[i]);
    print_error("\n");
}

static void check_outcome(struct world *w, int rc, int round)
{
    if (rc < 0 || rc > 2)
        fail_msg("line %d: exit status %d", round, rc);
    if (rc == 0)
        return;
    if (w->out_size > 0 && w->out[0] == '{') { /* failed under --json */
        json_t *root = json_loads(w->out, JSON_DISABLE_EOF_CHECK, NULL);
        assert_non_null(root);
        assert_string_not_equal(
            json_string_value(json_object_get(json_object_get(root, "error"), "message")), "");
        json_decref(root);
        return;
    }
    if (strncmp(w->err, "shoal", 5) != 0)
        fail_msg("line %d: exit status %d without a message: '%s'", round, rc, w->err);
    if (rc == 2 && strstr(w->err, "--help'\n") == NULL)
        fail_msg("line %d: a usage error that does not point at help: '%s'", round, w->err);
    for (const char *p = w->err; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 && *p != '\n')
            fail_msg("line %d: a control character reaches the terminal", round);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info, (void)kind, (void)place;
    return remove(path);
}

/* In a folder of their own: some make files. */
static void random_command_lines_never_crash_and_always_explain(void **state)
{
    struct world *w = *state;
    char folder[] = "/tmp/shoal-test-XXXXXX";
    int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct vocabulary *v = calloc(1, sizeof *v);
    struct base_rand r;
    int count = property_count(10000);
    FILE *empty = freopen("/dev/null", "r", stdin); /* '-' is standard input */

    assert_non_null(empty);
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    fill_vocabulary(v);
    base_rand_init(&r, 1, "test.cli.words");
    for (int i = 0; i < count; i++) {
        const char *words[12] = {NULL};
        size_t given = base_rand_below(&r, 9);
        size_t commands;
        const struct cli_command *const *table = cli_table_commands(&commands);
        char name[64];

        for (size_t k = 0; k < given; k++)
            words[k] = v->words[base_rand_below(&r, v->count)];
        if (base_rand_below(&r, 4) != 0) { /* mostly a real command, then anything */
            snprintf(name, sizeof name, "%s", table[base_rand_below(&r, commands)]->name);
            words[0] = name;
            given = given < 2 ? 2 : given;
            words[1] = words[1] == NULL ? "" : words[1];
            if (strchr(name, ' ') != NULL) {
                words[1] = strchr(name, ' ') + 1;
                name[strcspn(name, " ")] = '\0';
            }
        }
        int rc = world_run(w, words);
        if (rc < 0 || rc > 2)
            show_words(words, given);
        check_outcome(w, rc, i);
    }
    assert_int_equal(fchdir(here), 0);
    (void)close(here);
    assert_int_equal(nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    free(v);
}

static void shoal_alone_fits_on_one_screen(void **state)
{
    struct world *w = *state;
    const char *const none[] = {NULL};
    int lines = 0;

    assert_int_equal(world_run(w, none), 0);
    for (const char *p = w->out; *p != '\0'; p++)
        lines += *p == '\n';
    assert_in_range(lines, 6, 24);
    assert_string_equal(w->err, "");
}

static void every_help_fits_80_columns_and_ends_with_where_to_look(void **state)
{
    struct world *w = *state;
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);

    for (size_t i = 0; i < count; i++) {
        char name[64], *verb;
        size_t column = 0;
        snprintf(name, sizeof name, "%s", commands[i]->name);
        verb = strchr(name, ' ');
        if (verb != NULL)
            *verb++ = '\0';
        assert_int_equal(
            verb == NULL ? WORLD_RUN(w, name, "--help") : WORLD_RUN(w, name, verb, "--help"), 0);
        for (const char *p = w->out; *p != '\0'; p++) {
            column = *p == '\n' ? 0 : column + 1;
            if (column > 80)
                fail_msg("help of '%s' is wider than 80 columns", commands[i]->name);
        }
        assert_non_null(strstr(w->out, "See also: shoal-"));
        size_t row_count;
        const shoal_opt *rows = cli_command_opts(commands[i], &row_count);
        for (size_t k = 0; k < row_count; k++) {
            char option[64];
            snprintf(option, sizeof option, "--%s", rows[k].name);
            assert_non_null(strstr(w->out, option));
        }
    }
}

/* Writing to a full device is a failure, however much was written before. */
static void output_that_cannot_be_written_is_a_failure(void **state)
{
    static const char *const argv[] = {"shoal", "policy", "list"};
    FILE *full = fopen("/dev/full", "w");
    char *text = NULL;
    size_t size = 0;
    FILE *err = open_memstream(&text, &size);

    (void)state;
    assert_non_null(full);
    assert_int_equal(cli_main(3, argv, full, err), 1);
    fclose(err);
    fclose(full);
    assert_non_null(strstr(text, "cannot write to standard output: no space left"));
    free(text);
}

static void a_command_line_without_even_a_name_is_shoal_alone(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    static const char *const argv[] = {NULL};

    (void)state;
    assert_int_equal(cli_main(0, argv, out, stderr), 0);
    fclose(out);
    assert_non_null(strstr(text, "shoal help"));
    free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_open, world_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(random_command_lines_never_crash_and_always_explain),
        TEST(shoal_alone_fits_on_one_screen),
        TEST(every_help_fits_80_columns_and_ends_with_where_to_look),
        TEST(output_that_cannot_be_written_is_a_failure),
        TEST(a_command_line_without_even_a_name_is_shoal_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
