/* completion_bash.c - the completion script of bash; see cmd_completion.c. */
#include "cli/completion.h"

#include <string.h>

/* What completes a value is told by `kind`, and by `list` where it is words. */
static void put_kind(struct base_buf *out, const char *complete)
{
    if (complete != NULL && strchr(complete, ' ') != NULL)
        base_buf_printf(out, "kind=words list='%s'", complete);
    else
        base_buf_printf(out, "kind=%s", complete == NULL ? "none" : complete);
}

static void put_name(struct base_buf *out, const struct cli_command *command,
                     const struct base_opt *row)
{
    (void)command;
    base_buf_printf(out, " --%s", row->name);
}

static void put_value(struct base_buf *out, const struct cli_command *command,
                      const struct base_opt *row)
{
    (void)command;
    if (row->type == BASE_OPT_FLAG)
        return;
    base_buf_puts(out, "        ");
    if (row->letter != 0)
        base_buf_printf(out, "-%c|", row->letter);
    base_buf_printf(out, "--%s) ", row->name);
    if (row->type == BASE_OPT_CHOICE) {
        base_buf_puts(out, "kind=words list='");
        cli_completion_put_choices(out, row);
        base_buf_puts(out, "'");
    } else {
        put_kind(out, row->complete);
    }
    base_buf_puts(out, " ;;\n");
}

/* NULL: before a command. */
static void put_command(struct base_buf *out, const struct cli_command *command)
{
    base_buf_printf(out, "    '%s')\n        opts='", command == NULL ? "" : command->name);
    cli_completion_each_option(command, put_name, out);
    base_buf_puts(out, "'\n        ");
    if (command == NULL)
        base_buf_puts(out, "kind=command");
    else
        put_kind(out, command->arg_complete);
    base_buf_puts(out, "\n        case $prev in\n");
    cli_completion_each_option(command, put_value, out);
    base_buf_puts(out, "        esac ;;\n");
}

/* The cases of all commands, and of the groups, whose verbs are offered as the second word. */
static void put_command_cases(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);
    char group[CLI_COMPLETION_WORD_SIZE];

    put_command(out, NULL);
    for (size_t i = 0; i < count; i++) {
        if (cli_completion_begins_verbs(i)) {
            base_buf_printf(out, "    '%s') kind=words opts='--help' list='",
                            cli_completion_first_word(commands[i], group));
            cli_completion_put_verbs(out, group);
            base_buf_puts(out, "' ;;\n");
        }
        put_command(out, commands[i]);
    }
}

/* The pattern of a word that a verb follows. */
static void put_groups(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);
    char group[CLI_COMPLETION_WORD_SIZE];
    const char *bar = "";

    for (size_t i = 0; i < count; i++) {
        if (!cli_completion_begins_verbs(i))
            continue;
        base_buf_printf(out, "%s%s", bar, cli_completion_first_word(commands[i], group));
        bar = "|";
    }
}

static void put_key_cases(struct base_buf *out)
{
    cli_completion_put_policy_keys(out, "        ", ") printf '%s ' '", "' ;;\n");
}

static void put_values_of(struct base_buf *out, const struct base_opt *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].type != BASE_OPT_FLAG && rows[i].type != BASE_OPT_CHOICE)
            continue;
        base_buf_printf(out, "    %s) echo '", rows[i].name);
        cli_completion_put_choices(out, &rows[i]);
        base_buf_puts(out, "' ;;\n");
    }
}

static void put_value_cases(struct base_buf *out)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);

    put_values_of(out, sched_place_rows, sched_place_row_count);
    for (size_t i = 0; i < count; i++)
        put_values_of(out, policies[i]->opts, policies[i]->opt_count);
}

static void put_setting_cases(struct base_buf *out)
{
    cli_completion_put_app_settings(out, "        ", ") printf '%s ' '", "' ;;\n");
}

static void put_setting_value_cases(struct base_buf *out)
{
    const shoal_app *app;

    for (size_t i = 0; (app = app_at(i)) != NULL; i++) {
        for (size_t k = 0; k < app->opt_count; k++) {
            base_buf_printf(out, "    '%s %s') echo '", app->name, app->opts[k].name);
            cli_completion_put_setting_choices(out, &app->opts[k]);
            base_buf_puts(out, "' ;;\n");
        }
    }
}

static const struct cli_completion_hole holes[] = {
    {"KEY_CASES", put_key_cases},         {"VALUE_CASES", put_value_cases},
    {"SETTING_CASES", put_setting_cases}, {"SETTING_VALUE_CASES", put_setting_value_cases},
    {"COMMAND_CASES", put_command_cases}, {"GROUPS", put_groups},
};

/* _shoal_jobs: where the listings of jobs are, as in cli_jobs_dir. _shoal finds the command, its
 * verb, the policies and the application named, and the word before the cursor; readline splits at
 * '='. */
static const char script[] =
    "# bash completion for shoal, made by 'shoal completion bash'\n"
    "\n"
    "_shoal_keys() {\n"
    "    local policy\n"
    "    printf '%s ' '@PLACE_KEYS@'\n"
    "    for policy in ${1//,/ }; do\n"
    "        case $policy in\n"
    "@KEY_CASES@"
    "        esac\n"
    "    done\n"
    "}\n"
    "\n"
    "_shoal_values() {\n"
    "    case $1 in\n"
    "@VALUE_CASES@"
    "    esac\n"
    "}\n"
    "\n"
    "_shoal_settings() {\n"
    "    local app\n"
    "    for app in $1; do\n"
    "        case $app in\n"
    "@SETTING_CASES@"
    "        esac\n"
    "    done\n"
    "}\n"
    "\n"
    "_shoal_setting_values() {\n"
    "    case \"$1 $2\" in\n"
    "@SETTING_VALUE_CASES@"
    "    esac\n"
    "}\n"
    "\n"
    "_shoal_jobs() {\n"
    "    local job folder=$HOME/.local/state/shoal/jobs\n"
    "    [[ $XDG_RUNTIME_DIR == /* ]] && folder=$XDG_RUNTIME_DIR/shoal/jobs\n"
    "    for job in \"$folder\"/*.job; do\n"
    "        job=${job##*/}\n"
    "        [[ $job == '*.job' ]] || printf '%s ' \"${job%.job}\"\n"
    "    done\n"
    "}\n"
    "\n"
    "_shoal() {\n"
    "    local app= apps='@APPS@'\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local before=${COMP_WORDS[COMP_CWORD - 2]} cmd= verb= policies= opts= kind= list= key= i "
    "word\n"
    "    if [[ $cur == '=' ]]; then\n"
    "        cur= before=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    elif [[ $prev == '=' ]]; then\n"
    "        prev=$before before=${COMP_WORDS[COMP_CWORD - 3]}\n"
    "    fi\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        case $word in\n"
    "        -p|--policy)\n"
    "            [[ ${COMP_WORDS[i + 1]} == '=' ]] && policies+=,${COMP_WORDS[i + 2]}\n"
    "            policies+=,${COMP_WORDS[i + 1]} ;;\n"
    "        --color) [[ -z $cmd ]] && ((i++)) ;;\n"
    "        -*|=) ;;\n"
    "        *) if [[ -z $cmd ]]; then cmd=$word\n"
    "           elif [[ -z $verb ]]; then verb=$word; fi\n"
    "           [[ \" $apps \" == *\" $word \"* ]] && app=$word ;;\n"
    "        esac\n"
    "    done\n"
    "    local all='@POLICIES@' commands='@COMMANDS@'\n"
    "    case $cmd in\n"
    "    @GROUPS@) [[ -n $verb ]] && cmd=\"$cmd $verb\" ;;\n"
    "    esac\n"
    "    case $cmd in\n"
    "@COMMAND_CASES@"
    "    esac\n"
    "    [[ $kind == command ]] && list=$commands\n"
    "    if [[ $before == --set && $prev != --* ]]; then\n"
    "        list=$(_shoal_values \"$prev\")\n"
    "        [[ $cmd == train ]] && list=$(_shoal_setting_values \"$app\" \"$prev\")\n"
    "        COMPREPLY=($(compgen -W \"$list\" -- \"$cur\"))\n"
    "        return\n"
    "    fi\n"
    "    if [[ $cur == -* ]]; then\n"
    "        COMPREPLY=($(compgen -W \"$opts\" -- \"$cur\"))\n"
    "        return\n"
    "    fi\n"
    "    case $kind in\n"
    "    words|command) COMPREPLY=($(compgen -W \"$list\" -- \"$cur\")) ;;\n"
    "    policy)\n"
    "        word=\n"
    "        [[ $cur == *,* ]] && word=${cur%,*},\n"
    "        COMPREPLY=($(compgen -P \"$word\" -W \"$all\" -- \"${cur##*,}\")) ;;\n"
    "    knob)\n"
    "        compopt -o nospace\n"
    "        COMPREPLY=($(compgen -W \"$(_shoal_keys \"${policies:-$all}\")\" -- \"$cur\")) ;;\n"
    "    setting)\n"
    "        compopt -o nospace\n"
    "        COMPREPLY=($(compgen -W \"$(_shoal_settings \"${app:-$apps}\")\" -- \"$cur\")) ;;\n"
    "    app) COMPREPLY=($(compgen -W \"$apps\" -- \"$cur\")) ;;\n"
    "    job)\n"
    "        [[ -n $verb ]] ||\n"
    "            COMPREPLY=($(compgen -W \"last $(_shoal_jobs)\" -- \"$cur\")) ;;\n"
    "    data)\n"
    "        compopt -o filenames\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
    "        [[ -n $app ]] || COMPREPLY+=($(compgen -W \"$apps\" -- \"$cur\")) ;;\n"
    "    dir)\n"
    "        compopt -o filenames\n"
    "        mapfile -t COMPREPLY < <(compgen -d -- \"$cur\") ;;\n"
    "    file)\n"
    "        compopt -o filenames\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _shoal shoal\n";

void cli_completion_bash(struct base_buf *out)
{
    cli_completion_fill(out, script, holes, BASE_COUNT(holes));
}
