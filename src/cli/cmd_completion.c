/* cmd_completion.c - `shoal completion SHELL`: a completion script made from the rows.
 *
 * The scripts hold everything they offer (commands, verbs, options, choices, policies, knobs,
 * applications, settings), and find jobs by the names of their files, so that a key press starts no
 * process. One text per shell, with holes that the same tables fill: where a
 * text says @NAME@, the row NAME of its shell writes; @COMMANDS@ (first words), @POLICIES@, @APPS@ and @PLACE_KEYS@
 * (knobs that all policies have) are the same in all.
 * What completes a value is a word of its row:
 *
 * - file, dir: names on disk;
 * - policy: policies, with commas between;
 * - knob: KEY= of --set, of the policies named on the line, and in bash then its values;
 * - command: a command;
 * - app: an application; data: one, then files;
 * - setting: KEY= of --set, of the application named on the line, and in bash then its values;
 * - job: `last` and the jobs that run here, as the first argument;
 * - several words with spaces between them: those words.
 *
 * Tests: tests/cli/test_completion.py. */
#include "app/app.h"
#include "base/assert.h"
#include "cli/table.h"
#include "sched/plan.h"
#include <string.h>

enum { TEXT_MAX = 4 << 20, WORD_SIZE = 64 };

struct hole {
    const char *name;
    void (*fill)(struct base_buf *out);
};

/* --- the table of commands --- */

/* The first word of a command; `word` has room for WORD_SIZE. */
static const char *first_word(const struct cli_command *command, char *word)
{
    (void)snprintf(word, WORD_SIZE, "%.*s", (int)strcspn(command->name, " "), command->name);
    return word;
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

/* True for the first command of a group with verbs. */
static bool begins_verbs(size_t index)
{
    size_t count;

    return begins_group(index) && cli_table_verb_name(cli_table_commands(&count)[index]) != NULL;
}

/* Calls fn for the command's options, then the common ones; NULL: those before a command. */
static void each_option(const struct cli_command *command,
                        void (*fn)(struct base_buf *out, const struct cli_command *command,
                                   const shoal_opt *row),
                        struct base_buf *out)
{
    size_t row_count;
    const shoal_opt *rows = cli_command_opts(command, &row_count);

    for (size_t i = 0; i < row_count; i++)
        fn(out, command, &rows[i]);
    for (size_t i = 0; i < cli_common_row_count; i++)
        if (cli_common_has(command, &cli_common_rows[i]))
            fn(out, command, &cli_common_rows[i]);
}

/* --- lists of words --- */

/* A space goes before a word that does not begin its list, which is one that does not follow a space, a quote or
 * a parenthesis. */
static void put_word(struct base_buf *out, const char *word, const char *end)
{
    bool begins = out->size == 0 || strchr(" '(", out->data[out->size - 1]) != NULL;

    base_buf_printf(out, "%s%s%s", begins ? "" : " ", word, end);
}

/* What a row may be given; nothing where that is no list. */
static void put_choices(struct base_buf *out, const shoal_opt *row)
{
    static const char *const flag[] = {"true", "false", NULL};
    const char *const *choices = row->type == SHOAL_OPT_FLAG     ? flag
                                 : row->type == SHOAL_OPT_CHOICE ? row->choices
                                                                 : NULL;

    for (size_t i = 0; choices != NULL && choices[i] != NULL; i++)
        put_word(out, choices[i], "");
}

static void put_commands(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);
    char word[WORD_SIZE];

    for (size_t i = 0; i < count; i++)
        if (begins_group(i))
            put_word(out, first_word(commands[i], word), "");
}

static void put_policies(struct base_buf *out)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);

    for (size_t i = 0; i < count; i++)
        put_word(out, policies[i]->name, "");
}

static void put_apps(struct base_buf *out)
{
    const shoal_app *app;

    for (size_t i = 0; (app = app_at(i)) != NULL; i++)
        put_word(out, app->name, "");
}

static void put_verbs(struct base_buf *out, const char *group)
{
    const struct cli_command *command;

    for (size_t at = 0; (command = cli_table_verb(group, &at)) != NULL;)
        put_word(out, cli_table_verb_name(command), "");
}

static void put_keys(struct base_buf *out, const shoal_opt *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_word(out, rows[i].name, "=");
}

/* Of each policy that has knobs, or application: `before`, its name, `between`, KEY= of its rows, `after`. */
static void put_policy_keys(struct base_buf *out, const char *before, const char *between,
                            const char *after)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);

    for (size_t i = 0; i < count; i++) {
        if (policies[i]->opt_count == 0)
            continue;
        base_buf_printf(out, "%s%s%s", before, policies[i]->name, between);
        put_keys(out, policies[i]->opts, policies[i]->opt_count);
        base_buf_puts(out, after);
    }
}

static void put_app_settings(struct base_buf *out, const char *before, const char *between,
                             const char *after)
{
    const shoal_app *app;

    for (size_t i = 0; (app = app_at(i)) != NULL; i++) {
        base_buf_printf(out, "%s%s%s", before, app->name, between);
        put_keys(out, app->opts, app->opt_count);
        base_buf_puts(out, after);
    }
}

static void put_place_keys(struct base_buf *out)
{
    put_keys(out, sched_place_rows, sched_place_row_count);
}

/* --- texts --- */

/* Text inside single quotes; `quote` is how the shell writes one there, `special` gets a backslash. */
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

static const struct hole *find_hole(const struct hole *holes, size_t count, const char *name,
                                    size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(holes[i].name) == length && memcmp(holes[i].name, name, length) == 0)
            return &holes[i];
    return NULL;
}

/* Writes a text; every hole in it must have a row, here or among those of all. */
static void fill(struct base_buf *out, const char *text, const struct hole *holes,
                 size_t hole_count)
{
    static const struct hole common[] = {
        {"COMMANDS", put_commands},
        {"POLICIES", put_policies},
        {"APPS", put_apps},
        {"PLACE_KEYS", put_place_keys},
    };

    for (const char *at = text; *at != '\0';) {
        size_t plain = strcspn(at, "@");
        base_buf_append(out, at, plain);
        at += plain;
        if (*at == '\0')
            break;
        size_t length = strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
        if (at[1 + length] != '@') { /* the shell's own */
            base_buf_append(out, at++, 1);
            continue;
        }
        const struct hole *hole = find_hole(holes, hole_count, at + 1, length);
        if (hole == NULL)
            hole = find_hole(common, BASE_COUNT(common), at + 1, length);
        shoal_assert(hole != NULL);
        hole->fill(out);
        at += length + 2;
    }
}

/* ---- bash ---- */

/* What completes a value is told by `kind`, and by `list` where it is words. */
static void bash_put_kind(struct base_buf *out, const char *complete)
{
    if (complete != NULL && strchr(complete, ' ') != NULL)
        base_buf_printf(out, "kind=words list='%s'", complete);
    else
        base_buf_printf(out, "kind=%s", complete == NULL ? "none" : complete);
}

static void bash_put_name(struct base_buf *out, const struct cli_command *command,
                          const shoal_opt *row)
{
    (void)command;
    base_buf_printf(out, " --%s", row->name);
}

static void bash_put_value(struct base_buf *out, const struct cli_command *command,
                           const shoal_opt *row)
{
    (void)command;
    if (row->type == SHOAL_OPT_FLAG)
        return;
    base_buf_puts(out, "        ");
    if (row->letter != 0)
        base_buf_printf(out, "-%c|", row->letter);
    base_buf_printf(out, "--%s) ", row->name);
    if (row->type == SHOAL_OPT_CHOICE) {
        base_buf_puts(out, "kind=words list='");
        put_choices(out, row);
        base_buf_puts(out, "'");
    } else {
        bash_put_kind(out, row->complete);
    }
    base_buf_puts(out, " ;;\n");
}

/* NULL: before a command. */
static void bash_put_command(struct base_buf *out, const struct cli_command *command)
{
    base_buf_printf(out, "    '%s')\n        opts='", command == NULL ? "" : command->name);
    each_option(command, bash_put_name, out);
    base_buf_puts(out, "'\n        ");
    if (command == NULL)
        base_buf_puts(out, "kind=command");
    else
        bash_put_kind(out, command->arg_complete);
    base_buf_puts(out, "\n        case $prev in\n");
    each_option(command, bash_put_value, out);
    base_buf_puts(out, "        esac ;;\n");
}

/* The cases of all commands, and of the groups, whose verbs are offered as the second word. */
static void bash_put_command_cases(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);
    char group[WORD_SIZE];

    bash_put_command(out, NULL);
    for (size_t i = 0; i < count; i++) {
        if (begins_verbs(i)) {
            base_buf_printf(out, "    '%s') kind=words opts='--help' list='",
                            first_word(commands[i], group));
            put_verbs(out, group);
            base_buf_puts(out, "' ;;\n");
        }
        bash_put_command(out, commands[i]);
    }
}

/* The pattern of a word that a verb follows. */
static void bash_put_groups(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);
    char group[WORD_SIZE];
    const char *bar = "";

    for (size_t i = 0; i < count; i++) {
        if (!begins_verbs(i))
            continue;
        base_buf_printf(out, "%s%s", bar, first_word(commands[i], group));
        bar = "|";
    }
}

static void bash_put_key_cases(struct base_buf *out)
{
    put_policy_keys(out, "        ", ") printf '%s ' '", "' ;;\n");
}

static void bash_put_values_of(struct base_buf *out, const shoal_opt *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].type != SHOAL_OPT_FLAG && rows[i].type != SHOAL_OPT_CHOICE)
            continue;
        base_buf_printf(out, "    %s) echo '", rows[i].name);
        put_choices(out, &rows[i]);
        base_buf_puts(out, "' ;;\n");
    }
}

static void bash_put_value_cases(struct base_buf *out)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);

    bash_put_values_of(out, sched_place_rows, sched_place_row_count);
    for (size_t i = 0; i < count; i++)
        bash_put_values_of(out, policies[i]->opts, policies[i]->opt_count);
}

static void bash_put_setting_cases(struct base_buf *out)
{
    put_app_settings(out, "        ", ") printf '%s ' '", "' ;;\n");
}

static void bash_put_setting_value_cases(struct base_buf *out)
{
    const shoal_app *app;

    for (size_t i = 0; (app = app_at(i)) != NULL; i++) {
        for (size_t k = 0; k < app->opt_count; k++) {
            base_buf_printf(out, "    '%s %s') echo '", app->name, app->opts[k].name);
            put_choices(out, &app->opts[k]);
            base_buf_puts(out, "' ;;\n");
        }
    }
}

static const struct hole bash_holes[] = {
    {"KEY_CASES", bash_put_key_cases},
    {"VALUE_CASES", bash_put_value_cases},
    {"SETTING_CASES", bash_put_setting_cases},
    {"SETTING_VALUE_CASES", bash_put_setting_value_cases},
    {"COMMAND_CASES", bash_put_command_cases},
    {"GROUPS", bash_put_groups},
};

/* _shoal_jobs: where the listings of jobs are, as in env_run_folder. _shoal finds the command, its
 * verb, the policies and the application named, and the word before the cursor; readline splits at
 * '='. */
static const char bash_script[] =
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

/* ---- zsh ---- */

static void zsh_put_action(struct base_buf *out, const char *complete)
{
    static const struct {
        const char *complete, *action;
    } zsh_actions[] = {
        {"file", "_files"},
        {"dir", "_files -/"},
        {"policy", "_sequence -s , _shoal_policies"},
        {"knob", "_shoal_keys"},
        {"command", "_shoal_commands"},
        {"app", "_shoal_apps"},
        {"job", "_shoal_jobs"},
        {"setting", "_shoal_settings"},
    };

    for (size_t i = 0; complete != NULL && i < BASE_COUNT(zsh_actions); i++) {
        if (strcmp(zsh_actions[i].complete, complete) == 0) {
            base_buf_puts(out, zsh_actions[i].action);
            return;
        }
    }
    base_buf_printf(out, complete == NULL ? " " : "(%s)", complete);
}

static void zsh_put_option(struct base_buf *out, const struct cli_command *command,
                           const shoal_opt *row)
{
    const char *many = row->type == SHOAL_OPT_LIST ? "*" : "";
    const char *equals = row->type == SHOAL_OPT_FLAG ? "" : "=";

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
    if (row->type == SHOAL_OPT_FLAG)
        return;
    base_buf_printf(out, "':%s:", base_opt_meta(row));
    if (row->type == SHOAL_OPT_CHOICE) {
        base_buf_puts(out, "(");
        put_choices(out, row);
        base_buf_puts(out, ")");
    } else {
        zsh_put_action(out, row->complete);
    }
    base_buf_puts(out, "'");
}

static void zsh_put_arguments(struct base_buf *out, const char *complete)
{
    if (complete != NULL && strcmp(complete, "data") == 0) {
        base_buf_puts(out, " \\\n            '1:application:_shoal_apps' '2:data:_files'");
        return;
    }
    bool first = complete != NULL && strcmp(complete, "job") == 0;
    base_buf_printf(out, " \\\n            '%s:argument:", first ? "1" : "*");
    zsh_put_action(out, complete);
    base_buf_puts(out, "'");
}

static void zsh_put_options(struct base_buf *out)
{
    each_option(NULL, zsh_put_option, out);
}

static void zsh_put_command_cases(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);

    for (size_t i = 0; i < count; i++) {
        base_buf_printf(out, "    '%s')\n        _arguments -s", commands[i]->name);
        each_option(commands[i], zsh_put_option, out);
        if (commands[i]->arg_max > 0)
            zsh_put_arguments(out, commands[i]->arg_complete);
        base_buf_puts(out, " ;;\n");
    }
}

/* The cases of the words that a verb follows. */
static void zsh_put_group_cases(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);
    char group[WORD_SIZE];

    for (size_t i = 0; i < count; i++) {
        if (!begins_verbs(i))
            continue;
        base_buf_printf(out, "    %s)\n        if (( CURRENT == 2 )); then\n            compadd ",
                        first_word(commands[i], group));
        put_verbs(out, group);
        base_buf_puts(out, "\n            return\n        fi\n        name=\"$name $words[2]\"\n"
                           "        shift words\n        (( CURRENT-- )) ;;\n");
    }
}

/* "name:what it does" for _describe. */
static void zsh_put_described(struct base_buf *out, const char *name, const char *text)
{
    char item[300];

    snprintf(item, sizeof item, "%s:%s", name, text);
    base_buf_puts(out, " ");
    put_quoted(out, item, "'\\''", "");
}

static void zsh_put_described_policies(struct base_buf *out)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);

    for (size_t i = 0; i < count; i++)
        zsh_put_described(out, policies[i]->name, policies[i]->summary);
}

static void zsh_put_described_commands(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);
    char word[WORD_SIZE];

    for (size_t i = 0; i < count; i++)
        if (begins_group(i))
            zsh_put_described(out, first_word(commands[i], word), commands[i]->summary);
}

static void zsh_put_described_apps(struct base_buf *out)
{
    const shoal_app *app;

    for (size_t i = 0; (app = app_at(i)) != NULL; i++)
        zsh_put_described(out, app->name, app->summary);
}

static void zsh_put_policy_keys(struct base_buf *out)
{
    put_policy_keys(out, "    [[ $line == *", "* ]] && keys+=( ", " )\n");
}

static void zsh_put_app_settings(struct base_buf *out)
{
    put_app_settings(out, "    (( $words[(I)", "] )) && keys+=( ", " )\n");
}

static const struct hole zsh_holes[] = {
    {"DESCRIBED_POLICIES", zsh_put_described_policies},
    {"DESCRIBED_COMMANDS", zsh_put_described_commands},
    {"DESCRIBED_APPS", zsh_put_described_apps},
    {"POLICY_KEYS", zsh_put_policy_keys},
    {"APP_SETTINGS", zsh_put_app_settings},
    {"OPTIONS", zsh_put_options},
    {"GROUP_CASES", zsh_put_group_cases},
    {"COMMAND_CASES", zsh_put_command_cases},
};

static const char zsh_script[] =
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

/* ---- fish ---- */

/* How `complete` is told what completes a value; @NAME@ as in the fish_script. */
static const struct {
    const char *complete, *words;
} fish_values[] = {
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

static void fish_put_value(struct base_buf *out, const char *complete)
{
    for (size_t i = 0; i < BASE_COUNT(fish_values); i++) {
        if (strcmp(fish_values[i].complete, complete) == 0) {
            fill(out, fish_values[i].words, NULL, 0);
            return;
        }
    }
    base_buf_printf(out, " -x -a '%s'", complete);
}

static void fish_put_described(struct base_buf *out, const char *text)
{
    base_buf_puts(out, " -d ");
    put_quoted(out, text, "\\'", "\\");
    base_buf_puts(out, "\n");
}

static void fish_put_option(struct base_buf *out, const struct cli_command *command,
                            const shoal_opt *row)
{
    base_buf_printf(out, "complete -c shoal -n '__shoal_at%s%s'", command == NULL ? "" : " ",
                    command == NULL ? "" : command->name);
    if (row->letter != 0)
        base_buf_printf(out, " -s %c", row->letter);
    base_buf_printf(out, " -l %s", row->name);
    if (row->type == SHOAL_OPT_CHOICE) {
        base_buf_puts(out, " -x -a '");
        put_choices(out, row);
        base_buf_puts(out, "'");
    } else if (row->type != SHOAL_OPT_FLAG && row->complete == NULL) {
        base_buf_puts(out, " -x");
    } else if (row->type != SHOAL_OPT_FLAG) {
        fish_put_value(out, row->complete);
    }
    fish_put_described(out, row->help);
}

/* Jobs and applications are first arguments: nothing plain but the command goes before them. */
static void fish_put_arguments(struct base_buf *out, const struct cli_command *command)
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
        fish_put_value(out, complete);
    base_buf_puts(out, "\n");
    if (strcmp(complete, "data") == 0)
        base_buf_printf(out, "complete -c shoal -n '__shoal_at %s' -F\n", command->name);
}

/* The command's own word: the first, or a verb after it. */
static void fish_put_word(struct base_buf *out, const struct cli_command *command,
                          bool begins_verbs)
{
    const char *verb = cli_table_verb_name(command);
    char word[WORD_SIZE];

    first_word(command, word);
    if (verb == NULL)
        base_buf_printf(out, "complete -c shoal -n '__shoal_at' -a %s", word);
    else
        base_buf_printf(out, "complete -c shoal -n '__shoal_group %s' -a %s", word, verb);
    fish_put_described(out, command->summary);
    if (begins_verbs)
        base_buf_printf(out, "complete -c shoal -n '__shoal_at' -a %s\n", word);
}

static void fish_put_options(struct base_buf *out)
{
    each_option(NULL, fish_put_option, out);
}

static void fish_put_commands(struct base_buf *out)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);

    for (size_t i = 0; i < count; i++) {
        fish_put_word(out, commands[i], begins_verbs(i));
        fish_put_arguments(out, commands[i]);
        each_option(commands[i], fish_put_option, out);
    }
}

static void fish_put_policy_keys(struct base_buf *out)
{
    put_policy_keys(out, "    string match -q '*", "*' -- $line; and printf '%s\\n' ", "\n");
}

static void fish_put_app_settings(struct base_buf *out)
{
    put_app_settings(out, "    contains ", " $words; and printf '%s\\n' ", "\n");
}

static const struct hole fish_holes[] = {
    {"POLICY_KEYS", fish_put_policy_keys},
    {"APP_SETTINGS", fish_put_app_settings},
    {"OPTION_LINES", fish_put_options},
    {"COMMAND_LINES", fish_put_commands},
};

static const char fish_script[] =
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

/* ---- the command ---- */

static const struct {
    const char *name, *script;
    const struct hole *holes;
    size_t hole_count;
} shells[] = {{"bash", bash_script, bash_holes, BASE_COUNT(bash_holes)},
              {"zsh", zsh_script, zsh_holes, BASE_COUNT(zsh_holes)},
              {"fish", fish_script, fish_holes, BASE_COUNT(fish_holes)}};

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
        fill(&buf, shells[i].script, shells[i].holes, shells[i].hole_count);
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
