/* completion_zsh.c - the completion script of zsh; see cmd_completion.c. */
#include "cli/completion.h"

#include <string.h>

static void put_action(struct base_buf *out, const char *complete)
{
    static const struct {
        const char *complete, *action;
    } actions[] = {
        {"file", "_files"},
        {"dir", "_files -/"},
        {"policy", "_sequence -s , _shoal_policies"},
        {"knob", "_shoal_keys"},
        {"command", "_shoal_commands"},
        {"app", "_shoal_apps"},
        {"job", "_shoal_jobs"},
        {"setting", "_shoal_settings"},
    };

    for (size_t i = 0; complete != NULL && i < BASE_COUNT(actions); i++) {
        if (strcmp(actions[i].complete, complete) == 0) {
            base_buf_puts(out, actions[i].action);
            return;
        }
    }
    base_buf_printf(out, complete == NULL ? " " : "(%s)", complete);
}

static void put_option(struct base_buf *out, const struct cli_command *command,
                       const struct base_opt *row)
{
    const char *many = row->type == BASE_OPT_LIST ? "*" : "";
    const char *equals = row->type == BASE_OPT_FLAG ? "" : "=";

    (void)command;
    base_buf_puts(out, " \\\n            ");
    if (row->letter != 0 && many[0] == '\0')
        base_buf_printf(out, "'(-%c --%s)'{-%c,--%s%s}", row->letter, row->name, row->letter,
                        row->name, equals);
    else if (row->letter != 0)
        base_buf_printf(out, "'*'{-%c,--%s%s}", row->letter, row->name, equals);
    else
        base_buf_printf(out, "'%s--%s%s'", many, row->name, equals);
    base_buf_puts(out, "'['");
    cli_completion_put_quoted(out, row->help, "'\\''", "[]:\\");
    base_buf_puts(out, "']'");
    if (row->type == BASE_OPT_FLAG)
        return;
    base_buf_printf(out, "':%s:", row->meta == NULL ? "VALUE" : row->meta);
    if (row->type == BASE_OPT_CHOICE) {
        base_buf_puts(out, "(");
        cli_completion_put_choices(out, row);
        base_buf_puts(out, ")");
    } else {
        put_action(out, row->complete);
    }
    base_buf_puts(out, "'");
}

static void put_arguments(struct base_buf *out, const char *complete)
{
    if (complete != NULL && strcmp(complete, "data") == 0) {
        base_buf_puts(out, " \\\n            '1:application:_shoal_apps' '2:data:_files'");
        return;
    }
    bool first = complete != NULL && strcmp(complete, "job") == 0;
    base_buf_printf(out, " \\\n            '%s:argument:", first ? "1" : "*");
    put_action(out, complete);
    base_buf_puts(out, "'");
}

static void put_options(struct base_buf *out)
{
    cli_completion_each_option(NULL, put_option, out);
}

static void put_command_cases(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);

    for (size_t i = 0; i < count; i++) {
        base_buf_printf(out, "    '%s')\n        _arguments -s", commands[i]->name);
        cli_completion_each_option(commands[i], put_option, out);
        if (commands[i]->arg_max > 0)
            put_arguments(out, commands[i]->arg_complete);
        base_buf_puts(out, " ;;\n");
    }
}

/* The cases of the words that a verb follows. */
static void put_group_cases(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);
    char group[CLI_COMPLETION_WORD_SIZE];

    for (size_t i = 0; i < count; i++) {
        if (!cli_completion_begins_verbs(i))
            continue;
        base_buf_printf(out, "    %s)\n        if (( CURRENT == 2 )); then\n            compadd ",
                        cli_completion_first_word(commands[i], group));
        cli_completion_put_verbs(out, group);
        base_buf_puts(out, "\n            return\n        fi\n        name=\"$name $words[2]\"\n"
                           "        shift words\n        (( CURRENT-- )) ;;\n");
    }
}

/* "name:what it does" for _describe. */
static void put_described(struct base_buf *out, const char *name, const char *text)
{
    char item[300];

    snprintf(item, sizeof item, "%s:%s", name, text);
    base_buf_puts(out, " ");
    cli_completion_put_quoted(out, item, "'\\''", "");
}

static void put_described_policies(struct base_buf *out)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);

    for (size_t i = 0; i < count; i++)
        put_described(out, policies[i]->name, policies[i]->summary);
}

static void put_described_commands(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);
    char word[CLI_COMPLETION_WORD_SIZE];

    for (size_t i = 0; i < count; i++)
        if (cli_completion_begins_group(i))
            put_described(out, cli_completion_first_word(commands[i], word), commands[i]->summary);
}

static void put_described_apps(struct base_buf *out)
{
    const shoal_app *app;

    for (size_t i = 0; (app = app_at(i)) != NULL; i++)
        put_described(out, app->name, app->summary);
}

static void put_policy_keys(struct base_buf *out)
{
    cli_completion_put_policy_keys(out, "    [[ $line == *", "* ]] && keys+=( ", " )\n");
}

static void put_app_settings(struct base_buf *out)
{
    cli_completion_put_app_settings(out, "    (( $words[(I)", "] )) && keys+=( ", " )\n");
}

static const struct cli_completion_hole holes[] = {
    {"DESCRIBED_POLICIES", put_described_policies},
    {"DESCRIBED_COMMANDS", put_described_commands},
    {"DESCRIBED_APPS", put_described_apps},
    {"POLICY_KEYS", put_policy_keys},
    {"APP_SETTINGS", put_app_settings},
    {"OPTIONS", put_options},
    {"GROUP_CASES", put_group_cases},
    {"COMMAND_CASES", put_command_cases},
};

static const char script[] =
    "#compdef shoal\n"
    "# zsh completion for shoal, made by 'shoal completion zsh'\n"
    "\n"
    "_shoal_policies() {\n"
    "    local -a all=(@DESCRIBED_POLICIES@ )\n"
    "    _describe policy all\n"
    "}\n"
    "\n"
    "_shoal_commands() {\n"
    "    local -a all=(@DESCRIBED_COMMANDS@ )\n"
    "    _describe command all\n"
    "}\n"
    "\n"
    "_shoal_keys() {\n"
    "    local line=\"$words\"\n"
    "    local -a keys=( @PLACE_KEYS@ )\n"
    "    [[ $line == *' -p'* || $line == *' --policy'* ]] || line='@POLICIES@'\n"
    "@POLICY_KEYS@"
    "    compadd -S '' -a keys\n"
    "}\n"
    "\n"
    "_shoal_jobs() {\n"
    "    local folder=$HOME/.local/state/shoal/jobs\n"
    "    [[ $XDG_RUNTIME_DIR == /* ]] && folder=$XDG_RUNTIME_DIR/shoal/jobs\n"
    "    local -a jobs=( last $folder/*.job(N:t:r) )\n"
    "    compadd -a jobs\n"
    "}\n"
    "\n"
    "_shoal_apps() {\n"
    "    local -a all=(@DESCRIBED_APPS@ )\n"
    "    _describe application all\n"
    "    _files -g '*.so'\n"
    "}\n"
    "\n"
    "_shoal_settings() {\n"
    "    local -a keys=()\n"
    "@APP_SETTINGS@"
    "    compadd -S '' -a keys\n"
    "}\n"
    "\n"
    "_shoal() {\n"
    "    local curcontext=$curcontext state line name\n"
    "    _arguments -s -C@OPTIONS@ \\\n"
    "            '(-)1:command:_shoal_commands' '(-)*:: :->rest'\n"
    "    [[ $state == rest ]] || return\n"
    "    name=$words[1]\n"
    "    case $name in\n"
    "@GROUP_CASES@"
    "    esac\n"
    "    case $name in\n"
    "@COMMAND_CASES@"
    "    esac\n"
    "}\n"
    "\n"
    "_shoal \"$@\"\n";

void cli_completion_zsh(struct base_buf *out)
{
    cli_completion_fill(out, script, holes, BASE_COUNT(holes));
}
