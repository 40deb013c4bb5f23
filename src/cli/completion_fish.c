/* completion_fish.c - the completion script of fish; see cmd_completion.c. */
#include "cli/completion.h"

#include <string.h>

/* How `complete` is told what completes a value; @NAME@ as in the script. */
static const struct {
    const char *complete, *words;
} values[] = {
    {"file", " -r -F"},
    {"dir", " -x -a '(__fish_complete_directories)'"},
    {"policy", " -x -a '(__fish_complete_list , __shoal_policies)'"},
    {"knob", " -x -a '(__shoal_keys)'"},
    {"setting", " -x -a '(__shoal_settings)'"},
    {"job", " -x -a '(__shoal_jobs)'"},
    {"command", " -x -a '@COMMANDS@'"},
    {"app", " -x -a '@APPS@'"},
    {"data", " -F -a '@APPS@'"},
};

static void put_value(struct base_buf *out, const char *complete)
{
    for (size_t i = 0; i < BASE_COUNT(values); i++) {
        if (strcmp(values[i].complete, complete) == 0) {
            cli_completion_fill(out, values[i].words, NULL, 0);
            return;
        }
    }
    base_buf_printf(out, " -x -a '%s'", complete);
}

static void put_described(struct base_buf *out, const char *text)
{
    base_buf_puts(out, " -d ");
    cli_completion_put_quoted(out, text, "\\'", "\\");
    base_buf_puts(out, "\n");
}

static void put_option(struct base_buf *out, const struct cli_command *command,
                       const struct base_opt *row)
{
    base_buf_printf(out, "complete -c shoal -n '__shoal_at%s%s'", command == NULL ? "" : " ",
                    command == NULL ? "" : command->name);
    if (row->letter != 0)
        base_buf_printf(out, " -s %c", row->letter);
    base_buf_printf(out, " -l %s", row->name);
    if (row->type == BASE_OPT_CHOICE) {
        base_buf_puts(out, " -x -a '");
        cli_completion_put_choices(out, row);
        base_buf_puts(out, "'");
    } else if (row->type != BASE_OPT_FLAG && row->complete == NULL) {
        base_buf_puts(out, " -x");
    } else if (row->type != BASE_OPT_FLAG) {
        put_value(out, row->complete);
    }
    put_described(out, row->help);
}

/* Jobs and applications are first arguments: nothing plain but the command goes before them. */
static void put_arguments(struct base_buf *out, const struct cli_command *command)
{
    const char *complete = command->arg_complete;
    if (complete == NULL)
        return;
    bool first = strcmp(complete, "job") == 0 || strcmp(complete, "data") == 0;
    base_buf_printf(out, "complete -c shoal -n '__shoal_%s %s'", first ? "group" : "at",
                    command->name);
    if (strcmp(complete, "file") == 0)
        base_buf_puts(out, " -F");
    else
        put_value(out, complete);
    base_buf_puts(out, "\n");
    if (strcmp(complete, "data") == 0)
        base_buf_printf(out, "complete -c shoal -n '__shoal_at %s' -F\n", command->name);
}

/* The command's own word: the first, or a verb after it. */
static void put_word(struct base_buf *out, const struct cli_command *command, bool begins_verbs)
{
    const char *verb = cli_table_verb_name(command);
    char word[CLI_COMPLETION_WORD_SIZE];

    cli_completion_first_word(command, word);
    if (verb == NULL)
        base_buf_printf(out, "complete -c shoal -n '__shoal_at' -a %s", word);
    else
        base_buf_printf(out, "complete -c shoal -n '__shoal_group %s' -a %s", word, verb);
    put_described(out, command->summary);
    if (begins_verbs)
        base_buf_printf(out, "complete -c shoal -n '__shoal_at' -a %s\n", word);
}

static void put_options(struct base_buf *out)
{
    cli_completion_each_option(NULL, put_option, out);
}

static void put_commands(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);

    for (size_t i = 0; i < count; i++) {
        put_word(out, commands[i], cli_completion_begins_verbs(i));
        put_arguments(out, commands[i]);
        cli_completion_each_option(commands[i], put_option, out);
    }
}

static void put_policy_keys(struct base_buf *out)
{
    cli_completion_put_policy_keys(out, "    string match -q '*",
                                   "*' -- $line; and printf '%s\\n' ", "\n");
}

static void put_app_settings(struct base_buf *out)
{
    cli_completion_put_app_settings(out, "    contains ", " $words; and printf '%s\\n' ", "\n");
}

static const struct cli_completion_hole holes[] = {
    {"POLICY_KEYS", put_policy_keys},
    {"APP_SETTINGS", put_app_settings},
    {"OPTION_LINES", put_options},
    {"COMMAND_LINES", put_commands},
};

static const char script[] =
    "# fish completion for shoal, made by 'shoal completion fish'\n"
    "\n"
    "function __shoal_at\n"
    "    set -l words (commandline -opc)\n"
    "    set -e words[1]\n"
    "    set -l plain (string match -v -- '-*' $words)\n"
    "    if test (count $argv) -eq 0\n"
    "        test (count $plain) -eq 0\n"
    "        return\n"
    "    end\n"
    "    for i in (seq (count $argv))\n"
    "        test \"$plain[$i]\" = \"$argv[$i]\"; or return 1\n"
    "    end\n"
    "end\n"
    "\n"
    "function __shoal_group\n"
    "    set -l words (commandline -opc)\n"
    "    set -e words[1]\n"
    "    set -l plain (string match -v -- '-*' $words)\n"
    "    test (count $plain) -eq 1; and test \"$plain[1]\" = $argv[1]\n"
    "end\n"
    "\n"
    "function __shoal_policies\n"
    "    printf '%s\\n' @POLICIES@\n"
    "end\n"
    "\n"
    "function __shoal_keys\n"
    "    set -l line (commandline -opc | string join ' ')\n"
    "    string match -qr -- ' (-p|--policy)' $line; or set line '@POLICIES@'\n"
    "    printf '%s\\n' @PLACE_KEYS@\n"
    "@POLICY_KEYS@"
    "    true\n"
    "end\n"
    "\n"
    "function __shoal_jobs\n"
    "    set -l folder ~/.local/state/shoal/jobs\n"
    "    string match -q '/*' -- \"$XDG_RUNTIME_DIR\"; and set folder "
    "$XDG_RUNTIME_DIR/shoal/jobs\n"
    "    echo last\n"
    "    for job in $folder/*.job\n"
    "        string replace -r '.*/(.*)\\.job$' '$1' -- $job\n"
    "    end\n"
    "end\n"
    "\n"
    "function __shoal_settings\n"
    "    set -l words (commandline -opc)\n"
    "@APP_SETTINGS@"
    "    true\n"
    "end\n"
    "\n"
    "complete -c shoal -f\n"
    "@OPTION_LINES@"
    "@COMMAND_LINES@";

void cli_completion_fish(struct base_buf *out)
{
    cli_completion_fill(out, script, holes, BASE_COUNT(holes));
}
