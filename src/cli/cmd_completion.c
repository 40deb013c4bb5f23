/* cmd_completion.c - `shoal completion SHELL`: a completion script made from the rows.
 *
 * The scripts hold everything they offer (commands, verbs, options, choices, policies, knobs,
 * applications, settings), and find jobs by the names of their files, so that a key press starts no
 * process. Each shell has a template, src/cli/templates/completion.*.in:
 *
 * - @EACH_POLICY@ to its @END@ stands there once for each policy. What the other `lists` go over may depend on the
 *   one that they stand in: the options of a command, the knobs of a policy. @IF_LETTER@ is there or not.
 * - Other marks are `holes`: @NAME@ of the innermost policy, application, command or option, @OWNER@ of the one
 *   around an option. A mark alone on its line takes the line's end with it.
 *
 * What completes a value is a word of its row, with what each shell does then in `actions`:
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
#include "cli/templates.h"
#include "sched/plan.h"
#include <string.h>

enum { TEXT_MAX = 4 << 20, WORD_SIZE = 64, MARK_SIZE = 40 };
enum shell_id { BASH, ZSH, FISH, SHELLS };

static const struct shell {
    const char *name, *script;
    const char *before, *after; /* around words that may be given */
    const char *none;           /* nothing is known of a value */
    const char *quote;          /* a quote inside single quotes */
    const char *special;        /* gets a backslash there */
    const char *help_special;   /* and in the help of options */
} shells[SHELLS] = {
    {"bash", cli_template_bash, "kind=words list='", "'", "kind=none", "", "", ""},
    {"zsh", cli_template_zsh, "(", ")", " ", "'\\''", "", "[]:\\"},
    {"fish", cli_template_fish, " -x -a '", "'", " -x", "\\'", "\\", "\\"},
};

static const struct {
    const char *complete, *action[SHELLS];
} actions[] = {
    {"file", {"kind=file", "_files", " -r -F"}},
    {"dir", {"kind=dir", "_files -/", " -x -a '(__fish_complete_directories)'"}},
    {"policy",
     {"kind=policy", "_sequence -s , _shoal_policies",
      " -x -a '(__fish_complete_list , __shoal_policies)'"}},
    {"knob", {"kind=knob", "_shoal_keys", " -x -a '(__shoal_keys)'"}},
    {"setting", {"kind=setting", "_shoal_settings", " -x -a '(__shoal_settings)'"}},
    {"job", {"kind=job", "_shoal_jobs", " -x -a '(__shoal_jobs)'"}},
    {"command", {"kind=command", "_shoal_commands", " -x -a '@EACH_WORD@@SPACE@@WORD@@END@'"}},
    {"app", {"kind=app", "_shoal_apps", " -x -a '@EACH_APP@@SPACE@@NAME@@END@'"}},
    {"data",
     {"kind=data", "1:application:_shoal_apps' '2:data:_files",
      " -F -a '@EACH_APP@@SPACE@@NAME@@END@'"}},
};

/* Where in the lists we are. */
struct place {
    enum shell_id shell;
    const char *name, *owner, *summary;
    const struct cli_command *command; /* NULL: before one */
    size_t index;                      /* of it, among all */
    const shoal_opt
        *rows; /* of a policy or an application; outside them, knobs that all policies have */
    size_t row_count;
    const shoal_opt *row;
};

struct walk {
    struct base_buf *out;
    const char *body, *end;
    bool (*keep)(const struct place *place); /* NULL: all */
};

static void fill(struct base_buf *out, const struct place *place, const char *text,
                 const char *end);

static void visit(const struct walk *walk, const struct place *place)
{
    if (walk->keep == NULL || walk->keep(place))
        fill(walk->out, place, walk->body, walk->end);
}

/* ---- lists ---- */

static void each_command(const struct walk *walk, struct place place)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);

    for (size_t i = 0; i < count; i++) {
        place.index = i;
        place.command = commands[i];
        place.name = place.owner = commands[i]->name;
        place.summary = commands[i]->summary;
        visit(walk, &place);
    }
}

static void each_policy(const struct walk *walk, struct place place)
{
    size_t count;
    const struct sched_policy *const *policies = sched_policies(&count);

    for (size_t i = 0; i < count; i++) {
        place.name = place.owner = policies[i]->name;
        place.summary = policies[i]->summary;
        place.rows = policies[i]->opts;
        place.row_count = policies[i]->opt_count;
        visit(walk, &place);
    }
}

static void each_app(const struct walk *walk, struct place place)
{
    const shoal_app *app;

    for (size_t i = 0; (app = app_at(i)) != NULL; i++) {
        place.name = place.owner = app->name;
        place.summary = app->summary;
        place.rows = app->opts;
        place.row_count = app->opt_count;
        visit(walk, &place);
    }
}

static void visit_row(const struct walk *walk, struct place place, const shoal_opt *row)
{
    place.row = row;
    place.name = row->name;
    visit(walk, &place);
}

static void each_setting(const struct walk *walk, struct place place)
{
    for (size_t i = 0; i < place.row_count; i++)
        visit_row(walk, place, &place.rows[i]);
}

static void each_option(const struct walk *walk, struct place place)
{
    const shoal_opt *row;

    for (size_t i = 0; (row = cli_option_at(place.command, i, NULL)) != NULL; i++)
        visit_row(walk, place, row);
}

static const char *first_word(const struct cli_command *command, char word[WORD_SIZE])
{
    (void)snprintf(word, WORD_SIZE, "%.*s", (int)strcspn(command->name, " "), command->name);
    return word;
}

static void each_verb(const struct walk *walk, struct place place)
{
    char group[WORD_SIZE];

    first_word(place.command, group);
    for (size_t at = 0; (place.command = cli_table_verb(group, &at)) != NULL;)
        visit(walk, &place);
}

static void once(const struct walk *walk, struct place place)
{
    visit(walk, &place);
}

/* The first command of its group, or one without verbs. */
static bool begins_group(const struct place *place)
{
    size_t count, length = strcspn(place->command->name, " ");
    const struct cli_command *const *commands = cli_table_commands(&count);

    for (size_t i = 0; i < place->index; i++)
        if (strncmp(commands[i]->name, place->command->name, length + 1) == 0)
            return false;
    return true;
}

static bool begins_verbs(const struct place *place)
{
    return begins_group(place) && cli_table_verb_name(place->command) != NULL;
}

static bool has_rows(const struct place *place)
{
    return place->row_count > 0;
}

static bool has_letter(const struct place *place)
{
    return place->row->letter != 0;
}

static bool has_value(const struct place *place)
{
    return place->row->type != SHOAL_OPT_FLAG;
}

static bool is_listed(const struct place *place)
{
    return place->row->type == SHOAL_OPT_FLAG || place->row->type == SHOAL_OPT_CHOICE;
}

static const struct list {
    const char *name;
    void (*each)(const struct walk *walk, struct place place);
    bool (*keep)(const struct place *place);
} lists[] = {
    {"EACH_COMMAND", each_command, NULL},
    {"EACH_WORD", each_command, begins_group}, /* the first ones of commands */
    {"EACH_GROUP", each_command, begins_verbs},
    {"EACH_VERB", each_verb, NULL},
    {"EACH_OPTION", each_option, NULL},
    {"EACH_VALUED", each_option, has_value},
    {"EACH_POLICY", each_policy, NULL},
    {"EACH_TUNED_POLICY", each_policy, has_rows},
    {"EACH_APP", each_app, NULL},
    {"EACH_SETTING", each_setting, NULL},
    {"EACH_LISTED", each_setting, is_listed}, /* settings with known values */
    {"IF_BEGINS_VERBS", once, begins_verbs},
    {"IF_LETTER", once, has_letter},
    {"IF_VALUE", once, has_value},
};

/* ---- holes ---- */

/* Goes before a word that does not begin its list, which is one that does not follow a space, a quote or a
 * parenthesis. */
static void put_between(struct base_buf *out, const char *between)
{
    if (out->size > 0 && strchr(" '(", out->data[out->size - 1]) == NULL)
        base_buf_puts(out, between);
}

static void put_space(struct base_buf *out, const struct place *place)
{
    (void)place;
    put_between(out, " ");
}

static void put_bar(struct base_buf *out, const struct place *place)
{
    (void)place;
    put_between(out, "|");
}

static void put_name(struct base_buf *out, const struct place *place)
{
    base_buf_puts(out, place->name);
}

static void put_owner(struct base_buf *out, const struct place *place)
{
    base_buf_puts(out, place->owner);
}

static void put_word(struct base_buf *out, const struct place *place)
{
    char word[WORD_SIZE];

    base_buf_puts(out, first_word(place->command, word));
}

static void put_verb(struct base_buf *out, const struct place *place)
{
    base_buf_puts(out, cli_table_verb_name(place->command));
}

/* Text inside single quotes. */
static void put_quoted(struct base_buf *out, const struct place *place, const char *text,
                       const char *special)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            base_buf_puts(out, shells[place->shell].quote);
            continue;
        }
        base_buf_puts(out, strchr(special, *text) != NULL ? "\\" : "");
        base_buf_append(out, text, 1);
    }
}

static void put_summary(struct base_buf *out, const struct place *place)
{
    put_quoted(out, place, place->summary, shells[place->shell].special);
}

static void put_help(struct base_buf *out, const struct place *place)
{
    put_quoted(out, place, place->row->help, shells[place->shell].help_special);
}

static void put_letter(struct base_buf *out, const struct place *place)
{
    base_buf_printf(out, "%c", place->row->letter);
}

static void put_meta(struct base_buf *out, const struct place *place)
{
    base_buf_puts(out, base_opt_meta(place->row));
}

/* What a row may be given; nothing where that is no list. */
static void put_choices(struct base_buf *out, const struct place *place)
{
    static const char *const flag[] = {"true", "false", NULL};
    const shoal_opt *row = place->row;
    const char *const *choices = row->type == SHOAL_OPT_FLAG     ? flag
                                 : row->type == SHOAL_OPT_CHOICE ? row->choices
                                                                 : NULL;

    for (size_t i = 0; choices != NULL && choices[i] != NULL; i++) {
        put_between(out, " ");
        base_buf_puts(out, choices[i]);
    }
}

static void put_completion(struct base_buf *out, const struct place *place, const char *complete)
{
    const struct shell *shell = &shells[place->shell];

    for (size_t i = 0; complete != NULL && i < BASE_COUNT(actions); i++) {
        const char *action = actions[i].action[place->shell];
        if (strcmp(actions[i].complete, complete) == 0) {
            fill(out, place, action, action + strlen(action));
            return;
        }
    }
    if (complete == NULL)
        base_buf_puts(out, shell->none);
    else
        base_buf_printf(out, "%s%s%s", shell->before, complete, shell->after);
}

static void put_value(struct base_buf *out, const struct place *place)
{
    if (place->row->type != SHOAL_OPT_CHOICE) {
        put_completion(out, place, place->row->complete);
        return;
    }
    base_buf_puts(out, shells[place->shell].before);
    put_choices(out, place);
    base_buf_puts(out, shells[place->shell].after);
}

static void put_argument(struct base_buf *out, const struct place *place)
{
    put_completion(out, place, place->command->arg_complete);
}

/* An option that may come again is written otherwise. */
static void zsh_put_head(struct base_buf *out, const struct place *place)
{
    const shoal_opt *row = place->row;
    const char *many = row->type == SHOAL_OPT_LIST ? "*" : "";
    const char *equals = row->type == SHOAL_OPT_FLAG ? "" : "=";

    if (row->letter != 0 && many[0] == '\0')
        base_buf_printf(out, "'(-%c --%s)'{-%c,--%s%s}", row->letter, row->name, row->letter,
                        row->name, equals);
    else if (row->letter != 0)
        base_buf_printf(out, "'*'{-%c,--%s%s}", row->letter, row->name, equals);
    else
        base_buf_printf(out, "'%s--%s%s'", many, row->name, equals);
}

static bool completes(const struct place *place, const char *what)
{
    return place->command->arg_complete != NULL && strcmp(place->command->arg_complete, what) == 0;
}

static void zsh_put_arguments(struct base_buf *out, const struct place *place)
{
    if (place->command->arg_max == 0)
        return;
    base_buf_printf(out, " \\\n            '%s",
                    completes(place, "data")  ? ""
                    : completes(place, "job") ? "1:argument:"
                                              : "*:argument:");
    put_argument(out, place);
    base_buf_puts(out, "'");
}

/* Jobs and applications are first arguments: nothing plain but the command goes before them. */
static void fish_put_arguments(struct base_buf *out, const struct place *place)
{
    bool data = completes(place, "data");
    if (place->command->arg_complete == NULL)
        return;
    base_buf_printf(out, "complete -c shoal -n '__shoal_%s %s'",
                    data || completes(place, "job") ? "group" : "at", place->name);
    if (completes(place, "file"))
        base_buf_puts(out, " -F");
    else
        put_argument(out, place);
    base_buf_puts(out, "\n");
    if (data)
        base_buf_printf(out, "complete -c shoal -n '__shoal_at %s' -F\n", place->name);
}

/* Where the command's own word goes, and the word: the first, or a verb after it. */
static void fish_put_place(struct base_buf *out, const struct place *place)
{
    const char *verb = cli_table_verb_name(place->command);
    char word[WORD_SIZE];

    first_word(place->command, word);
    if (verb == NULL)
        base_buf_printf(out, "__shoal_at' -a %s", word);
    else
        base_buf_printf(out, "__shoal_group %s' -a %s", word, verb);
}

static const struct hole {
    const char *name;
    void (*put)(struct base_buf *out, const struct place *place);
} holes[] = {
    {"SPACE", put_space},
    {"BAR", put_bar},
    {"NAME", put_name},
    {"OWNER", put_owner},
    {"WORD", put_word},
    {"VERB", put_verb},
    {"SUMMARY", put_summary},
    {"HELP", put_help},
    {"LETTER", put_letter},
    {"META", put_meta},
    {"CHOICES", put_choices},
    {"VALUE", put_value},
    {"ARGUMENT", put_argument},
    {"ZSH_HEAD", zsh_put_head},
    {"ZSH_ARGUMENTS", zsh_put_arguments},
    {"FISH_ARGUMENTS", fish_put_arguments},
    {"FISH_PLACE", fish_put_place},
};

/* ---- texts ---- */

/* Finds the next mark from `at` on and copies its name; false where none is. *out_next is behind it, and behind the
 * end of the line that it has to itself. An '@' of the shell's own is no mark. */
static bool find_mark(const char *from, const char *end, const char **out_at, const char **out_next,
                      char name[MARK_SIZE])
{
    for (const char *at = from; (at = memchr(at, '@', (size_t)(end - at))) != NULL; at++) {
        size_t length = strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
        if (length == 0 || length >= MARK_SIZE || at[1 + length] != '@')
            continue;
        (void)snprintf(name, MARK_SIZE, "%.*s", (int)length, at + 1);
        *out_at = at;
        *out_next = at + length + 2;
        if (at[-1] == '\n' && **out_next == '\n') /* no text begins with a mark */
            *out_next += 1;
        return true;
    }
    return false;
}

/* The @END@ that belongs to a list whose body begins at `body`; *out_next is behind it. */
static const char *find_end(const char *body, const char *end, const char **out_next)
{
    char name[MARK_SIZE];
    const char *at = body, *next = body;

    for (size_t open = 1; open > 0;) {
        bool found = find_mark(next, end, &at, &next, name);
        shoal_assert(found);
        if (strcmp(name, "END") == 0)
            open--;
        else
            open += strncmp(name, "EACH_", 5) == 0 || strncmp(name, "IF_", 3) == 0;
    }
    *out_next = next;
    return at;
}

static const struct list *find_list(const char *name)
{
    for (size_t i = 0; i < BASE_COUNT(lists); i++)
        if (strcmp(lists[i].name, name) == 0)
            return &lists[i];
    return NULL;
}

static const struct hole *find_hole(const char *name)
{
    for (size_t i = 0; i < BASE_COUNT(holes); i++)
        if (strcmp(holes[i].name, name) == 0)
            return &holes[i];
    return NULL;
}

/* Every mark must have a row. */
static void fill(struct base_buf *out, const struct place *place, const char *text, const char *end)
{
    char name[MARK_SIZE];
    const char *at, *next;

    for (; find_mark(text, end, &at, &next, name); text = next) {
        base_buf_append(out, text, (size_t)(at - text));
        const struct list *list = find_list(name);
        const struct hole *hole = find_hole(name);
        if (list != NULL) {
            struct walk walk = {.out = out, .body = next, .keep = list->keep};
            walk.end = find_end(next, end, &next);
            list->each(&walk, *place);
        } else {
            shoal_assert(hole != NULL);
            hole->put(out, place);
        }
    }
    base_buf_append(out, text, (size_t)(end - text));
}

/* ---- the command ---- */

static int run(struct cli_context *cx, const void *values, const char *const *args,
               size_t arg_count)
{
    struct place place = {.rows = sched_place_rows, .row_count = sched_place_row_count};
    struct base_buf buf;
    int rc;

    (void)values, (void)arg_count;
    for (place.shell = 0; place.shell < SHELLS; place.shell++) {
        const struct shell *shell = &shells[place.shell];
        if (strcmp(shell->name, args[0]) != 0)
            continue;
        base_buf_init(&buf, env_alloc(cx->env), TEXT_MAX);
        fill(&buf, &place, shell->script, shell->script + strlen(shell->script));
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
