/* cmd_completion.c - `shoal completion SHELL`: a completion script made from the rows.
 *
 * The scripts hold everything they offer (commands, verbs, options, choices, policies, knobs,
 * applications, settings), and find jobs by the names of their files, so that a key press starts no
 * process. One writer per shell over the same walk of the table. What
 * completes a value is a word of its row:
 *
 * - file, dir: names on disk;
 * - policy: policies, with commas between;
 * - knob: KEY= of --set, of the policies named on the line, and then its values;
 * - command: a command;
 * - app: an application; data: one, then files;
 * - setting: KEY= of --set, of the application named on the line, and then its values;
 * - job: `last` and the jobs that run here, as the first argument;
 * - several words with spaces between them: those words.
 *
 * Tests: tests/cli/test_completion.py. */
#include "cli/cli.h"

#include "app/app.h"
#include "base/assert.h"
#include "cli/table.h"
#include "sched/plan.h"
#include <string.h>

enum { TEXT_MAX = 4 << 20 };

/* Appends text inside single quotes; `quote` is how the shell writes one there, `special` gets a
 * backslash. */
static void put_quoted(struct base_buf *out, const char *text, const char *quote,
                       const char *special)
{
    base_buf_puts(out, "'");
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            base_buf_puts(out, quote);
            continue;
        }
        if (strchr(special, *text) != NULL)
            base_buf_puts(out, "\\");
        base_buf_append(out, text, 1);
    }
    base_buf_puts(out, "'");
}

static void put_first_word(struct base_buf *out, const char *name)
{
    base_buf_append(out, name, strcspn(name, " "));
}

/* True for the first command of its group, and for a command without verbs. */
static bool begins_group(size_t index)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);
    size_t length = strcspn(commands[index]->name, " ");

    for (size_t i = 0; i < index; i++)
        if (strncmp(commands[i]->name, commands[index]->name, length + 1) == 0)
            return false;
    return true;
}

static void put_first_words(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);

    for (size_t i = 0; i < count; i++) {
        if (!begins_group(i))
            continue;
        base_buf_puts(out, i == 0 ? "" : " ");
        put_first_word(out, commands[i]->name);
    }
}

static void put_verbs(struct base_buf *out, const char *group)
{
    const struct cli_command *command;
    size_t at = 0;
    bool first = true;

    while ((command = cli_table_verb(group, &at)) != NULL) {
        base_buf_printf(out, "%s%s", first ? "" : " ", cli_table_verb_name(command));
        first = false;
    }
}

static void put_policies(struct base_buf *out)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);

    for (size_t i = 0; i < count; i++)
        base_buf_printf(out, "%s%s", i == 0 ? "" : " ", policies[i]->name);
}

static void put_choices(struct base_buf *out, const struct base_opt *row)
{
    if (row->type == BASE_OPT_FLAG)
        base_buf_puts(out, "true false");
    for (size_t i = 0; row->type == BASE_OPT_CHOICE && row->choices[i] != NULL; i++)
        base_buf_printf(out, "%s%s", i == 0 ? "" : " ", row->choices[i]);
}

static void put_keys(struct base_buf *out, const struct base_opt *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        base_buf_printf(out, "%s%s=", i == 0 ? "" : " ", rows[i].name);
}

static void put_apps(struct base_buf *out)
{
    const shoal_app *app;

    for (size_t i = 0; (app = app_at(i)) != NULL; i++)
        base_buf_printf(out, "%s%s", i == 0 ? "" : " ", app->name);
}

static void put_settings(struct base_buf *out, const shoal_app *app)
{
    for (size_t i = 0; i < app->opt_count; i++)
        base_buf_printf(out, "%s%s=", i == 0 ? "" : " ", app->opts[i].name);
}

/* The words that a setting takes; none for those that take any. */
static void put_setting_words(struct base_buf *out, const shoal_opt *row)
{
    if (row->type == SHOAL_OPT_FLAG)
        base_buf_puts(out, "true false");
    for (size_t i = 0; row->type == SHOAL_OPT_CHOICE && row->choices[i] != NULL; i++)
        base_buf_printf(out, "%s%s", i == 0 ? "" : " ", row->choices[i]);
}

/* Calls fn for the command's options, then the common ones. */
static void each_option(const struct cli_command *command,
                        void (*fn)(struct base_buf *out, const struct cli_command *command,
                                   const struct base_opt *row),
                        struct base_buf *out)
{
    for (size_t i = 0; command != NULL && i < command->opt_count; i++)
        fn(out, command, &command->opts[i]);
    for (size_t i = 0; i < cli_common_row_count; i++)
        if (cli_common_has(command, &cli_common_rows[i]))
            fn(out, command, &cli_common_rows[i]);
}

/* ---- bash ---- */

static void bash_name(struct base_buf *out, const struct cli_command *command,
                      const struct base_opt *row)
{
    (void)command;
    base_buf_printf(out, " --%s", row->name);
}

static void bash_value(struct base_buf *out, const struct cli_command *command,
                       const struct base_opt *row)
{
    (void)command;
    if (row->type == BASE_OPT_FLAG)
        return;
    base_buf_puts(out, "        ");
    if (row->letter != 0)
        base_buf_printf(out, "-%c|", row->letter);
    base_buf_printf(out, "--%s) kind=", row->name);
    if (row->type == BASE_OPT_CHOICE) {
        base_buf_puts(out, "words list='");
        put_choices(out, row);
        base_buf_puts(out, "' ;;\n");
    } else if (row->complete != NULL && strchr(row->complete, ' ') != NULL) {
        base_buf_printf(out, "words list='%s' ;;\n", row->complete);
    } else {
        base_buf_printf(out, "%s ;;\n", row->complete == NULL ? "none" : row->complete);
    }
}

static void bash_command(struct base_buf *out, const struct cli_command *command)
{
    const char *args = command->arg_complete;

    base_buf_printf(out, "    '%s')\n        opts='", command->name);
    each_option(command, bash_name, out);
    base_buf_puts(out, "'\n");
    if (args == NULL)
        base_buf_puts(out, "        kind=none\n");
    else if (strchr(args, ' ') != NULL)
        base_buf_printf(out, "        kind=words list='%s'\n", args);
    else
        base_buf_printf(out, "        kind=%s\n", args);
    base_buf_puts(out, "        case $prev in\n");
    each_option(command, bash_value, out);
    base_buf_puts(out, "        esac ;;\n");
}

static void bash_keys(struct base_buf *out)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);

    base_buf_puts(out, "_shoal_keys() {\n    local policy\n    printf '%s ' '");
    put_keys(out, sched_place_rows, sched_place_row_count);
    base_buf_puts(out, "'\n    for policy in ${1//,/ }; do\n        case $policy in\n");
    for (size_t i = 0; i < count; i++) {
        base_buf_printf(out, "        %s) printf '%%s ' '", policies[i]->name);
        put_keys(out, policies[i]->opts, policies[i]->opt_count);
        base_buf_puts(out, "' ;;\n");
    }
    base_buf_puts(out, "        esac\n    done\n}\n\n");
}

static void bash_key_values(struct base_buf *out, const struct base_opt *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].type != BASE_OPT_FLAG && rows[i].type != BASE_OPT_CHOICE)
            continue;
        base_buf_printf(out, "    %s) echo '", rows[i].name);
        put_choices(out, &rows[i]);
        base_buf_puts(out, "' ;;\n");
    }
}

static void bash_values(struct base_buf *out)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);

    base_buf_puts(out, "_shoal_values() {\n    case $1 in\n");
    bash_key_values(out, sched_place_rows, sched_place_row_count);
    for (size_t i = 0; i < count; i++)
        bash_key_values(out, policies[i]->opts, policies[i]->opt_count);
    base_buf_puts(out, "    esac\n}\n\n");
}

/* Where the listings of jobs are, as in cli_jobs_dir. */
static const char bash_jobs[] = "_shoal_jobs() {\n"
                                "    local job folder=$HOME/.local/state/shoal/jobs\n"
                                "    [[ $XDG_RUNTIME_DIR == /* ]] && "
                                "folder=$XDG_RUNTIME_DIR/shoal/jobs\n"
                                "    for job in \"$folder\"/*.job; do\n"
                                "        job=${job##*/}\n"
                                "        [[ $job == '*.job' ]] || printf '%s ' \"${job%.job}\"\n"
                                "    done\n"
                                "}\n\n";

static void bash_settings(struct base_buf *out)
{
    const shoal_app *app;

    base_buf_puts(out, "_shoal_settings() {\n    local app\n    for app in $1; do\n"
                       "        case $app in\n");
    for (size_t i = 0; (app = app_at(i)) != NULL; i++) {
        base_buf_printf(out, "        %s) printf '%%s ' '", app->name);
        put_settings(out, app);
        base_buf_puts(out, "' ;;\n");
    }
    base_buf_puts(out, "        esac\n    done\n}\n\n"
                       "_shoal_setting_values() {\n    case \"$1 $2\" in\n");
    for (size_t i = 0; (app = app_at(i)) != NULL; i++) {
        for (size_t k = 0; k < app->opt_count; k++) {
            base_buf_printf(out, "    '%s %s') echo '", app->name, app->opts[k].name);
            put_setting_words(out, &app->opts[k]);
            base_buf_puts(out, "' ;;\n");
        }
    }
    base_buf_puts(out, "    esac\n}\n\n");
}

/* Finds the command, its verb, the policies and the application named, and the word before the
 * cursor; readline splits at '='. */
static const char bash_head[] =
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
    "    done\n";

static const char bash_tail[] =
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

/* The cases of a group: its verbs, offered as the second word. */
static void bash_group(struct base_buf *out, const char *name)
{
    base_buf_puts(out, "    '");
    put_first_word(out, name);
    base_buf_puts(out, "') kind=words opts='--help' list='");
    {
        char group[64];
        snprintf(group, sizeof group, "%.*s", (int)strcspn(name, " "), name);
        put_verbs(out, group);
    }
    base_buf_puts(out, "' ;;\n");
}

static void fill_bash(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);

    base_buf_puts(out, "# bash completion for shoal, made by 'shoal completion bash'\n\n");
    bash_keys(out);
    bash_values(out);
    bash_settings(out);
    base_buf_puts(out, bash_jobs);
    base_buf_puts(out, "_shoal() {\n    local app= apps='");
    put_apps(out);
    base_buf_puts(out, "'\n");
    base_buf_puts(out, bash_head);
    base_buf_puts(out, "    local all='");
    put_policies(out);
    base_buf_puts(out, "' commands='");
    put_first_words(out);
    base_buf_puts(out, "'\n    case $cmd in\n    ");
    for (size_t i = 0, first = 1; i < count; i++) {
        if (!begins_group(i) || cli_table_verb_name(commands[i]) == NULL)
            continue;
        base_buf_puts(out, first ? "" : "|");
        put_first_word(out, commands[i]->name);
        first = 0;
    }
    base_buf_puts(out, ") [[ -n $verb ]] && cmd=\"$cmd $verb\" ;;\n    esac\n    case $cmd in\n"
                       "    '') kind=words list=$commands opts='");
    each_option(NULL, bash_name, out);
    base_buf_puts(out, "'\n        case $prev in\n");
    each_option(NULL, bash_value, out);
    base_buf_puts(out, "        esac ;;\n");
    for (size_t i = 0; i < count; i++) {
        if (begins_group(i) && cli_table_verb_name(commands[i]) != NULL)
            bash_group(out, commands[i]->name);
        bash_command(out, commands[i]);
    }
    base_buf_puts(out, "    esac\n    [[ $kind == command ]] && list=$commands\n");
    base_buf_puts(out, bash_tail);
}

/* ---- zsh ---- */

static void zsh_action(struct base_buf *out, const char *complete)
{
    if (complete == NULL)
        base_buf_puts(out, " ");
    else if (strcmp(complete, "file") == 0)
        base_buf_puts(out, "_files");
    else if (strcmp(complete, "dir") == 0)
        base_buf_puts(out, "_files -/");
    else if (strcmp(complete, "policy") == 0)
        base_buf_puts(out, "_sequence -s , _shoal_policies");
    else if (strcmp(complete, "knob") == 0)
        base_buf_puts(out, "_shoal_keys");
    else if (strcmp(complete, "command") == 0)
        base_buf_puts(out, "_shoal_commands");
    else if (strcmp(complete, "app") == 0)
        base_buf_puts(out, "_shoal_apps");
    else if (strcmp(complete, "job") == 0)
        base_buf_puts(out, "_shoal_jobs");
    else if (strcmp(complete, "setting") == 0)
        base_buf_puts(out, "_shoal_settings");
    else
        base_buf_printf(out, "(%s)", complete);
}

static void zsh_option(struct base_buf *out, const struct cli_command *command,
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
    put_quoted(out, row->help, "'\\''", "[]:\\");
    base_buf_puts(out, "']'");
    if (row->type == BASE_OPT_FLAG)
        return;
    base_buf_printf(out, "':%s:", row->meta == NULL ? "VALUE" : row->meta);
    if (row->type == BASE_OPT_CHOICE) {
        base_buf_puts(out, "(");
        put_choices(out, row);
        base_buf_puts(out, ")");
    } else {
        zsh_action(out, row->complete);
    }
    base_buf_puts(out, "'");
}

static void zsh_arguments(struct base_buf *out, const char *complete)
{
    if (complete != NULL && strcmp(complete, "data") == 0) {
        base_buf_puts(out, " \\\n            '1:application:_shoal_apps' '2:data:_files'");
        return;
    }
    bool first = complete != NULL && strcmp(complete, "job") == 0;
    base_buf_printf(out, " \\\n            '%s:argument:", first ? "1" : "*");
    zsh_action(out, complete);
    base_buf_puts(out, "'");
}

static void zsh_command(struct base_buf *out, const struct cli_command *command)
{
    base_buf_printf(out, "    '%s')\n        _arguments -s", command->name);
    each_option(command, zsh_option, out);
    if (command->arg_max > 0)
        zsh_arguments(out, command->arg_complete);
    base_buf_puts(out, " ;;\n");
}

/* "name:what it does" items for _describe. */
static void zsh_describe(struct base_buf *out, const char *name, const char *text)
{
    char item[300];

    snprintf(item, sizeof item, "%s:%s", name, text);
    base_buf_puts(out, " ");
    put_quoted(out, item, "'\\''", "");
}

/* Jobs, applications and what they are set. */
static void zsh_training(struct base_buf *out)
{
    const shoal_app *app;

    base_buf_puts(out, "_shoal_jobs() {\n    local folder=$HOME/.local/state/shoal/jobs\n"
                       "    [[ $XDG_RUNTIME_DIR == /* ]] && folder=$XDG_RUNTIME_DIR/shoal/jobs\n"
                       "    local -a jobs=( last $folder/*.job(N:t:r) )\n"
                       "    compadd -a jobs\n}\n\n_shoal_apps() {\n    local -a all=(");
    for (size_t i = 0; (app = app_at(i)) != NULL; i++)
        zsh_describe(out, app->name, app->summary);
    base_buf_puts(out, " )\n    _describe application all\n    _files -g '*.so'\n}\n\n"
                       "_shoal_settings() {\n    local -a keys=()\n");
    for (size_t i = 0; (app = app_at(i)) != NULL; i++) {
        base_buf_printf(out, "    (( $words[(I)%s] )) && keys+=( ", app->name);
        put_settings(out, app);
        base_buf_puts(out, " )\n");
    }
    base_buf_puts(out, "    compadd -S '' -a keys\n}\n\n");
}

static void zsh_functions(struct base_buf *out)
{
    size_t count, command_count;
    const struct sched_policy *const *policies = sched_policies(&count);
    const struct cli_command *const *commands = cli_table_commands(&command_count);

    base_buf_puts(out, "_shoal_policies() {\n    local -a all=(");
    for (size_t i = 0; i < count; i++)
        zsh_describe(out, policies[i]->name, policies[i]->summary);
    base_buf_puts(out,
                  " )\n    _describe policy all\n}\n\n_shoal_commands() {\n    local -a all=(");
    for (size_t i = 0; i < command_count; i++) {
        char word[64];
        if (!begins_group(i))
            continue;
        snprintf(word, sizeof word, "%.*s", (int)strcspn(commands[i]->name, " "),
                 commands[i]->name);
        zsh_describe(out, word, commands[i]->summary);
    }
    base_buf_puts(out, " )\n    _describe command all\n}\n\n_shoal_keys() {\n    local -a keys=( ");
    put_keys(out, sched_place_rows, sched_place_row_count);
    for (size_t i = 0; i < count; i++) {
        base_buf_printf(out, " )\n    [[ \"$words\" == *%s* ]] && keys+=( ", policies[i]->name);
        put_keys(out, policies[i]->opts, policies[i]->opt_count);
    }
    base_buf_puts(out, " )\n    compadd -S '' -a keys\n}\n\n");
    zsh_training(out);
}

static void fill_zsh(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);

    base_buf_puts(out,
                  "#compdef shoal\n# zsh completion for shoal, made by 'shoal completion zsh'\n\n");
    zsh_functions(out);
    base_buf_puts(
        out, "_shoal() {\n    local name=$words[2]\n"
             "    if (( CURRENT == 2 )); then\n        _shoal_commands\n        return\n    fi\n"
             "    case $name in\n");
    for (size_t i = 0; i < count; i++) {
        char group[64];
        if (!begins_group(i) || cli_table_verb_name(commands[i]) == NULL)
            continue;
        snprintf(group, sizeof group, "%.*s", (int)strcspn(commands[i]->name, " "),
                 commands[i]->name);
        base_buf_printf(out, "    %s)\n        if (( CURRENT == 3 )); then\n            compadd ",
                        group);
        put_verbs(out, group);
        base_buf_puts(out, "\n            return\n        fi\n        name=\"$name $words[3]\"\n"
                           "        shift words\n        (( CURRENT-- )) ;;\n");
    }
    base_buf_puts(out, "    esac\n    shift words\n    (( CURRENT-- ))\n    case $name in\n");
    for (size_t i = 0; i < count; i++)
        zsh_command(out, commands[i]);
    base_buf_puts(out, "    esac\n}\n\n_shoal \"$@\"\n");
}

/* ---- fish ---- */

static void fish_complete_words(struct base_buf *out, const struct base_opt *row)
{
    const char *complete = row->complete;

    if (row->type == BASE_OPT_CHOICE) {
        base_buf_puts(out, " -x -a '");
        put_choices(out, row);
        base_buf_puts(out, "'");
    } else if (complete == NULL) {
        base_buf_puts(out, " -x");
    } else if (strcmp(complete, "file") == 0) {
        base_buf_puts(out, " -r -F");
    } else if (strcmp(complete, "dir") == 0) {
        base_buf_puts(out, " -x -a '(__fish_complete_directories)'");
    } else if (strcmp(complete, "policy") == 0) {
        base_buf_puts(out, " -x -a '");
        put_policies(out);
        base_buf_puts(out, "'");
    } else if (strcmp(complete, "knob") == 0) {
        base_buf_puts(out, " -x -a '(__shoal_keys)'");
    } else if (strcmp(complete, "setting") == 0) {
        base_buf_puts(out, " -x -a '(__shoal_settings)'");
    } else if (strcmp(complete, "job") == 0) {
        base_buf_puts(out, " -x -a '(__shoal_jobs)'");
    } else if (strcmp(complete, "app") == 0 || strcmp(complete, "data") == 0) {
        base_buf_puts(out, complete[0] == 'a' ? " -x -a '" : " -F -a '");
        put_apps(out);
        base_buf_puts(out, "'");
    } else {
        base_buf_printf(out, " -x -a '%s'", complete);
    }
}

static void fish_option(struct base_buf *out, const struct cli_command *command,
                        const struct base_opt *row)
{
    base_buf_puts(out, "complete -c shoal");
    if (command != NULL)
        base_buf_printf(out, " -n '__shoal_at %s'", command->name);
    else
        base_buf_puts(out, " -n '__shoal_at'");
    if (row->letter != 0)
        base_buf_printf(out, " -s %c", row->letter);
    base_buf_printf(out, " -l %s", row->name);
    if (row->type != BASE_OPT_FLAG)
        fish_complete_words(out, row);
    base_buf_puts(out, " -d ");
    put_quoted(out, row->help, "\\'", "\\");
    base_buf_puts(out, "\n");
}

static void fish_arguments(struct base_buf *out, const struct cli_command *command)
{
    struct base_opt row = {.type = BASE_OPT_STR, .complete = command->arg_complete};

    if (command->arg_complete == NULL)
        return;
    base_buf_printf(out, "complete -c shoal -n '__shoal_at %s'", command->name);
    if (strcmp(command->arg_complete, "command") == 0) {
        base_buf_puts(out, " -x -a '");
        put_first_words(out);
        base_buf_puts(out, "'");
    } else if (strcmp(command->arg_complete, "file") == 0) {
        base_buf_puts(out, " -F");
    } else {
        fish_complete_words(out, &row);
    }
    base_buf_puts(out, "\n");
}

static const char fish_head[] = "# fish completion for shoal, made by 'shoal completion fish'\n\n"
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
                                "end\n\n"
                                "function __shoal_group\n"
                                "    set -l words (commandline -opc)\n"
                                "    set -e words[1]\n"
                                "    set -l plain (string match -v -- '-*' $words)\n"
                                "    test (count $plain) -eq 1; and test \"$plain[1]\" = $argv[1]\n"
                                "end\n\n";

static void fish_keys(struct base_buf *out)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);

    base_buf_puts(out,
                  "function __shoal_keys\n    set -l line (commandline -opc | string join ' ')\n"
                  "    printf '%s\\n' ");
    put_keys(out, sched_place_rows, sched_place_row_count);
    base_buf_puts(out, "\n");
    for (size_t i = 0; i < count; i++) {
        if (policies[i]->opt_count == 0)
            continue;
        base_buf_printf(out, "    string match -q '*%s*' -- $line; and printf '%%s\\n' ",
                        policies[i]->name);
        put_keys(out, policies[i]->opts, policies[i]->opt_count);
        base_buf_puts(out, "\n");
    }
    base_buf_puts(out, "    true\nend\n\n");
}

static void fish_training(struct base_buf *out)
{
    const shoal_app *app;

    base_buf_puts(out, "function __shoal_jobs\n    set -l folder ~/.local/state/shoal/jobs\n"
                       "    string match -q '/*' -- \"$XDG_RUNTIME_DIR\"; and set folder "
                       "$XDG_RUNTIME_DIR/shoal/jobs\n    echo last\n"
                       "    for job in $folder/*.job\n"
                       "        string replace -r '.*/(.*)\\.job$' '$1' -- $job\n    end\nend\n\n"
                       "function __shoal_settings\n    set -l words (commandline -opc)\n");
    for (size_t i = 0; (app = app_at(i)) != NULL; i++) {
        base_buf_printf(out, "    contains %s $words; and printf '%%s\\n' ", app->name);
        put_settings(out, app);
        base_buf_puts(out, "\n");
    }
    base_buf_puts(out, "    true\nend\n\n");
}

static void fill_fish(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);

    base_buf_puts(out, fish_head);
    fish_keys(out);
    fish_training(out);
    base_buf_puts(out, "complete -c shoal -f\n");
    each_option(NULL, fish_option, out);
    for (size_t i = 0; i < count; i++) {
        const char *verb = cli_table_verb_name(commands[i]);
        base_buf_puts(out, "complete -c shoal -n '__shoal_");
        if (verb == NULL) {
            base_buf_printf(out, "at' -a %s", commands[i]->name);
        } else {
            base_buf_puts(out, "group ");
            put_first_word(out, commands[i]->name);
            base_buf_printf(out, "' -a %s", verb);
        }
        base_buf_puts(out, " -d ");
        put_quoted(out, commands[i]->summary, "\\'", "\\");
        base_buf_puts(out, "\n");
        if (verb != NULL && begins_group(i)) {
            base_buf_puts(out, "complete -c shoal -n '__shoal_at' -a ");
            put_first_word(out, commands[i]->name);
            base_buf_puts(out, "\n");
        }
        fish_arguments(out, commands[i]);
        each_option(commands[i], fish_option, out);
    }
}

/* ---- the command ---- */

static const struct {
    const char *name;
    void (*fill)(struct base_buf *out);
} shells[] = {{"bash", fill_bash}, {"zsh", fill_zsh}, {"fish", fill_fish}};

static int run(struct cli_context *cx, const void *values, const char *const *args,
               size_t arg_count)
{
    struct base_buf buf;
    int rc;

    (void)values, (void)arg_count;
    for (size_t i = 0; i < BASE_COUNT(shells); i++) {
        if (strcmp(shells[i].name, args[0]) != 0)
            continue;
        base_buf_init(&buf, env_alloc(cx->env), TEXT_MAX);
        shells[i].fill(&buf);
        rc = cli_print(cx, &buf);
        base_buf_fini(&buf);
        return rc;
    }
    return cli_usage(cx, "no completion for shell '%s', only for bash, zsh and fish", args[0]);
}

const struct cli_command cli_cmd_completion = {
    .name = "completion",
    .usage = "[options] SHELL",
    .summary = "Print a completion script for bash, zsh or fish.",
    .description = "Load it in bash with: eval \"$(shoal completion bash)\". For zsh write it to a "
                   "file _shoal in a "
                   "folder of $fpath, for fish to ~/.config/fish/completions/shoal.fish.",
    .example = "completion bash > shoal.bash",
    .arg_min = 1,
    .arg_max = 1,
    .arg_complete = "bash zsh fish",
    .no_config = true,
    .run = run,
};
