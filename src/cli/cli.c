/* cli.c - from argv to a command and back to an exit status. Tests: tests/unit/cli/test_main.c,
 * tests/cli. */
#include "cli/cli.h"

#include "base/assert.h"
#include "base/err.h"
#include "cli/config.h"
#include "cli/help.h"
#include "cli/report.h"
#include "cli/table.h"
#include "cli/term.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>

enum { HELP_MAX = 1 << 20 };

static const char *const color_choices[] = {"auto", "always", "never", NULL};

#define AT(member) offsetof(struct cli_common, member)

const shoal_opt cli_common_rows[] = {
    {AT(json), SHOAL_OPT_FLAG, "json", .help = "print JSON, errors too"},
    {AT(csv), SHOAL_OPT_FLAG, "csv", .help = "print the main table as CSV"},
    {AT(report), SHOAL_OPT_STR, "report", 0, "FILE", NULL,
     "write an HTML page with pictures; - to standard output", .complete = "file"},
    {AT(color), SHOAL_OPT_CHOICE, "color", 0, "WHEN", "auto", "use colour",
     .choices = color_choices},
    {AT(ascii), SHOAL_OPT_FLAG, "ascii", .help = "draw with ASCII characters only"},
    {AT(log), SHOAL_OPT_CHOICE, "log", 0, "LEVEL", "info", "how much to say on stderr",
     .choices = base_log_names},
    {AT(help), SHOAL_OPT_FLAG, "help", 'h', .help = "print this help"},
    {AT(version), SHOAL_OPT_FLAG, "version", .help = "print the version"},
};
const size_t cli_common_row_count = BASE_COUNT(cli_common_rows);

bool cli_common_has(const struct cli_command *command, const shoal_opt *row)
{
    if (row < cli_common_rows || row >= cli_common_rows + cli_common_row_count)
        return true; /* a command's own */
    if (command == NULL)
        return row->offset != AT(report);
    switch (row->offset) {
    case AT(json): return command->json;
    case AT(csv): return command->csv;
    case AT(report): return command->page;
    default: return true;
    }
}

const shoal_opt *cli_command_opts(const struct cli_command *command, size_t *out_count)
{
    if (command == NULL) {
        *out_count = 0;
        return NULL;
    }
    if (command->opts_of != NULL)
        return command->opts_of(out_count);
    *out_count = command->opt_count;
    return command->opts;
}

const shoal_opt *cli_option_at(const struct cli_command *command, size_t index, bool *out_common)
{
    size_t own;
    const shoal_opt *rows = cli_command_opts(command, &own);

    if (out_common != NULL)
        *out_common = index >= own;
    if (index < own)
        return rows + index; /* cppcheck-suppress returnDanglingLifetime */
    for (size_t i = 0; i < cli_common_row_count; i++)
        if (cli_common_has(command, &cli_common_rows[i]) && own++ == index)
            return &cli_common_rows[i];
    return NULL;
}

/* What is alive during one call of cli_main. */
struct session {
    struct cli_context cx;
    struct cli_common common;
    struct cli_config config;
    bool config_loaded;
    const char *const *lead; /* options before the command's name */
    size_t lead_count;
    const char **args; /* room for every word */
    void *values;
    int out_errno;
};

/* Errors about the words themselves are JSON when --json is among them. */
static bool asks_json(const char *const *words, size_t count)
{
    for (size_t i = 0; i < count && strcmp(words[i], "--") != 0; i++)
        if (strcmp(words[i], "--json") == 0)
            return true;
    return false;
}

/* The help of a command, or of a group of verbs, or of shoal. */
static int print_help(const struct cli_context *cx, const char *group, bool all)
{
    struct base_buf buf;
    int rc;

    base_buf_init(&buf, env_alloc(cx->env), HELP_MAX);
    if (cx->command != NULL)
        cli_help_command(cx->command, &buf);
    else if (group != NULL)
        cli_help_group(group, &buf);
    else if (all)
        cli_help_all(&buf);
    else
        cli_help_overview(&buf);
    rc = cli_print(cx, &buf);
    base_buf_fini(&buf);
    return rc;
}

static int print_version(struct cli_context *cx)
{
    return cli_cmd_version.run(cx, NULL, NULL, 0);
}

static int unknown_command(struct cli_context *cx, const char *word)
{
    char buf[32];
    const char *nearest = cli_table_nearest(NULL, word, buf, sizeof buf);
    shoal_err err = SHOAL_ERR_INIT;

    base_err(&err, SHOAL_E_INVAL, "unknown command '%s'", word);
    if (nearest != NULL)
        base_err_hint(&err, "did you mean '%s'?", nearest);
    return cli_usage_err(cx, &err);
}

/* A command with verbs was named without one, or with one it does not have. */
static int bad_verb(struct session *session, const char *const *words, size_t count)
{
    struct cli_context *cx = &session->cx;
    const char *group = words[0];
    const char *verb = count > 1 ? words[1] : NULL;
    const struct cli_command *command;
    char buf[32], verbs[200] = "";
    shoal_err err = SHOAL_ERR_INIT;
    size_t at = 0;

    cx->topic = group;
    if (session->common.help ||
        (verb != NULL && (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0)))
        return print_help(cx, group, false);
    while ((command = cli_table_verb(group, &at)) != NULL) {
        size_t used = strlen(verbs);
        snprintf(verbs + used, sizeof verbs - used, "%s%s", used == 0 ? "" : ", ",
                 cli_table_verb_name(command));
    }
    if (verb == NULL || verb[0] == '-')
        return cli_usage(cx, "a verb is missing, one of: %s", verbs);
    base_err(&err, SHOAL_E_INVAL, "unknown verb '%s', expected one of: %s", verb, verbs);
    if (cli_table_nearest(group, verb, buf, sizeof buf) != NULL)
        base_err_hint(&err, "did you mean '%s'?", buf);
    return cli_usage_err(cx, &err);
}

static int check_arg_count(const struct cli_context *cx, const char *const *args, size_t count)
{
    const struct cli_command *command = cx->command;

    if (count < command->arg_min)
        return cli_usage(cx, "an argument is missing: shoal %s %s", command->name, command->usage);
    if (count > command->arg_max)
        return command->arg_max == 0
                   ? cli_usage(cx, "unexpected argument '%s'", args[0])
                   : cli_usage(cx, "unexpected argument '%s', at most %zu can be given",
                               args[command->arg_max], command->arg_max);
    return 0;
}

/* Defaults, file and environment, for the common options and the command's. */
static int apply_weak_sources(struct session *session)
{
    struct cli_context *cx = &session->cx;
    const struct cli_command *command = cx->command;
    struct cli_parse lead = {
        .common = &session->common, .args = session->args, .stop_at_arg = true};
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st;
    size_t row_count;
    const shoal_opt *rows = cli_command_opts(command, &row_count);

    if (!command->no_config) {
        session->config_loaded = true;
        st = cli_config_load(&session->config, cx->env, &err);
        if (st != SHOAL_OK)
            return cli_fail(cx, st, &err);
        cx->config = &session->config;
    }
    st = cli_config_apply(cx->config, "", cli_common_rows, cli_common_row_count, &session->common,
                          NULL, &err);
    if (st != SHOAL_OK && !command->no_config)
        return cli_fail(cx, st, &err);
    /* what stands before the command's name is stronger; it was read before, so it is right */
    st = cli_parse_words(&lead, session->lead, session->lead_count, &err);
    shoal_assert(st == SHOAL_OK);
    if (command->no_config) {
        base_opt_defaults(rows, row_count, session->values);
        return 0;
    }
    st = cli_config_apply(cx->config, command->name, rows, row_count, session->values, NULL, &err);
    return st == SHOAL_OK ? 0 : cli_fail(cx, st, &err);
}

static int make_result(struct cli_context *cx, void *values, const char *const *args,
                       size_t arg_count)
{
    const struct cli_command *command = cx->command;
    const shoal_result *result = NULL;
    struct cli_call call = {cx, values, args, arg_count, &result, NULL, false};
    shoal_err err = SHOAL_ERR_INIT;

    if (command->opts_of != NULL)
        memcpy(values, &command->values_size, sizeof command->values_size);
    shoal_status st = command->make(&call, &err);
    if (st == SHOAL_OK && result == NULL)
        return 0;
    int rc = cli_finish(cx, st, result, values, args, arg_count, &err);
    if (rc == 0 && call.hint != NULL && cx->report == NULL && !cx->json && !cx->csv &&
        !cx->streams && cli_flush(cx))
        base_log(&cx->log, BASE_LOG_INFO, "%s", call.hint);
    return rc == 0 && call.unsure ? 1 : rc;
}

static int run_command(struct session *session, const char *const *words, size_t count)
{
    struct cli_context *cx = &session->cx;
    const struct cli_command *command = cx->command;
    struct cli_parse parse = {
        .command = command, .common = &session->common, .args = session->args};
    shoal_err err = SHOAL_ERR_INIT;
    int rc;

    session->values =
        base_calloc(env_alloc(cx->env), 1, command->values_size == 0 ? 1 : command->values_size);
    if (session->values == NULL)
        return cli_fail(cx, SHOAL_E_NOMEM, NULL);
    for (size_t i = 0; i < count && strcmp(words[i], "--") != 0; i++)
        if (strcmp(words[i], "--help") == 0 || strcmp(words[i], "-h") == 0)
            return print_help(cx, NULL, false); /* even where other words are wrong */
    rc = apply_weak_sources(session);
    if (rc != 0)
        return rc;
    parse.values = session->values;
    if (cli_parse_words(&parse, words, count, &err) != SHOAL_OK)
        return cli_usage_err(cx, &err);
    if (session->common.json && !command->json)
        return cli_usage(cx, "'shoal %s' has no --json", command->name);
    cx->json = session->common.json;
    if (session->common.help)
        return print_help(cx, NULL, false);
    if (session->common.version)
        return print_version(cx);
    rc = check_arg_count(cx, session->args, parse.arg_count);
    if (rc != 0)
        return rc;
    cli_term_apply(cx, &session->common);
    cx->log.level = (enum base_log_level)session->common.log;
    cx->csv = session->common.csv && command->csv;
    cx->report = session->common.report;
    if (cx->csv && cx->json)
        return cli_usage(cx, "--json and --csv exclude each other");
    shoal_status st =
        command->page ? cli_report_check(cx, session->values, session->args, parse.arg_count, &err)
                      : SHOAL_OK;
    if (st != SHOAL_OK)
        return cli_fail(cx, st, &err);
    return command->make != NULL
               ? make_result(cx, session->values, session->args, parse.arg_count)
               : command->run(cx, session->values, session->args, parse.arg_count);
}

static int dispatch(struct session *session, const char *const *words, size_t count)
{
    struct cli_context *cx = &session->cx;
    struct cli_parse parse = {
        .common = &session->common, .args = session->args, .stop_at_arg = true};
    shoal_err err = SHOAL_ERR_INIT;
    size_t used;
    bool group;

    base_opt_defaults(cli_common_rows, cli_common_row_count, &session->common);
    if (cli_parse_words(&parse, words, count, &err) != SHOAL_OK)
        return cli_usage_err(cx, &err);
    session->lead = words;
    session->lead_count = parse.used;
    words += parse.used;
    count -= parse.used;
    if (count == 0) {
        if (session->common.version)
            return print_version(cx);
        if (session->common.json && !session->common.help)
            return cli_usage(cx, "a command is missing");
        return print_help(cx, NULL, session->common.help);
    }
    cx->command = cli_table_find(words, count, &used, &group);
    if (cx->command == NULL)
        return group ? bad_verb(session, words, count) : unknown_command(cx, words[0]);
    cx->topic = cx->command->name;
    return run_command(session, words + used, count - used);
}

/* Results that did not arrive are a failure. A reader that left (closed pipe) knows it, so nothing
 * is said then. */
static int finish_output(const struct cli_context *cx, int rc)
{
    const char *space = cx->topic[0] == '\0' ? "" : " ";
    char reason[128];

    if (cli_flush(cx))
        return rc;
    int failed = *cx->out_errno;
    if (failed == EPIPE || cli_output_unread(cx->out))
        return rc == 0 ? 1 : rc;
    fprintf(cx->err, "shoal%s%s: cannot write to standard output%s%s\n", space, cx->topic,
            failed == 0 ? "" : ": ",
            failed == 0 ? "" : cli_output_reason(failed, reason, sizeof reason));
    return rc == 0 ? 1 : rc;
}

static void write_log(void *ctx, enum base_log_level level, const char *line)
{
    cli_term_talk(ctx, level == BASE_LOG_WARN ? "warning: " : "", line);
}

int cli_main(int argc, const char *const *argv, FILE *out, FILE *err)
{
    struct session session;
    size_t count = argc > 1 ? (size_t)argc - 1 : 0;
    shoal_err detail = SHOAL_ERR_INIT;
    shoal_status st;
    int rc;

    memset(&session, 0, sizeof session);
    session.cx.out = out;
    session.cx.out_errno = &session.out_errno;
    session.cx.err = err;
    session.cx.log = (struct base_log){.level = BASE_LOG_INFO, .write = write_log, .ctx = err};
    session.cx.topic = "";
    session.cx.json = count > 0 && asks_json(argv + 1, count);
    cli_term_init(&session.cx);
    st = shoal_env_real_new(&session.cx.env, &detail);
    if (st != SHOAL_OK)
        return finish_output(&session.cx, cli_fail(&session.cx, st, &detail));
    cli_screen_attach(&session.cx);
    session.args = base_calloc(env_alloc(session.cx.env), count + 1, sizeof *session.args);
    if (session.args == NULL)
        rc = cli_fail(&session.cx, SHOAL_E_NOMEM, NULL);
    else
        rc = dispatch(&session, argc > 1 ? argv + 1 : argv, count);
    rc = finish_output(&session.cx, rc);
    base_free(env_alloc(session.cx.env), session.values);
    base_free(env_alloc(session.cx.env), session.args);
    if (session.config_loaded)
        cli_config_fini(&session.config);
    shoal_env_free(session.cx.env);
    return rc;
}
