/* config.c - values of options from the configuration file, the environment and words (see config.h). Tests:
 * tests/unit/cli/test_config.c, test_parse.c. */
#include "cli/config.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/table.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- the file and the environment ---- */

enum { FILE_MAX = 1 << 20, KEY_MAX = 128 };

static const char *key_text(const char *prefix, const char *name, char separator, char *buf,
                            size_t size)
{
    char dot[2] = {prefix[0] == '\0' ? '\0' : separator, '\0'};

    snprintf(buf, size, "%s%s%s", prefix, dot, name);
    for (char *p = buf; *p != '\0'; p++)
        if (*p == ' ')
            *p = separator;
    return buf;
}

const char *cli_config_key(const char *prefix, const shoal_opt *row, char *buf, size_t size)
{
    return key_text(prefix, row->name, '.', buf, size);
}

static const char *variable_text(const char *prefix, const char *name, char *buf, size_t size)
{
    char key[KEY_MAX];

    snprintf(buf, size, "SHOAL_%s", key_text(prefix, name, '_', key, sizeof key));
    for (char *p = buf; *p != '\0'; p++)
        *p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
    return buf;
}

const char *cli_config_variable(const char *prefix, const shoal_opt *row, char *buf, size_t size)
{
    return variable_text(prefix, row->name, buf, size);
}

bool cli_config_common(const shoal_opt *row)
{
    return strcmp(row->name, "color") == 0 || strcmp(row->name, "ascii") == 0;
}

static void find_path(struct cli_config *config)
{
    const char *xdg = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    int n = 0;

    config->path[0] = '\0';
    if (xdg != NULL && xdg[0] == '/') /* the XDG rules: a relative one is ignored */
        n = snprintf(config->path, sizeof config->path, "%s/shoal/config", xdg);
    else if (home != NULL && home[0] == '/')
        n = snprintf(config->path, sizeof config->path, "%s/.config/shoal/config", home);
    if (n < 0 || (size_t)n >= sizeof config->path)
        config->path[0] = '\0';
}

static char *trim(char *s)
{
    char *end;

    while (*s == ' ' || *s == '\t')
        s++;
    end = s + strlen(s);
    while (end > s && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    *end = '\0';
    return s;
}

struct search {
    const char *key;
    const shoal_opt *row;
    size_t values_size;
    size_t best;
    char nearest[KEY_MAX];
};

static void offer(struct search *search, const char *key)
{
    size_t distance = base_edit_distance(search->key, key);

    if (distance < search->best && base_nearest(search->key, &key, 1) != NULL) {
        search->best = distance;
        snprintf(search->nearest, sizeof search->nearest, "%s", key);
    }
}

/* Whether the key is one of these rows', as it is called or was. */
static bool find_among(struct search *search, const char *prefix, const shoal_opt *rows,
                       size_t count, size_t values_size)
{
    char key[KEY_MAX];

    for (size_t i = 0; i < count; i++) {
        const char *was = cli_table_was(prefix, rows[i].name);
        if (prefix[0] == '\0' && !cli_config_common(&rows[i]))
            continue;
        if (strcmp(cli_config_key(prefix, &rows[i], key, sizeof key), search->key) == 0 ||
            (was != NULL &&
             strcmp(key_text(prefix, was, '.', key, sizeof key), search->key) == 0)) {
            search->row = &rows[i];
            search->values_size = values_size;
            return true;
        }
        if (strlen(search->key) < KEY_MAX)
            offer(search, cli_config_key(prefix, &rows[i], key, sizeof key));
    }
    return false;
}

static bool find_key(struct search *search)
{
    size_t count, row_count;
    const struct cli_command *const *commands = cli_table_commands(&count);
    bool found =
        find_among(search, "", cli_common_rows, cli_common_row_count, sizeof(struct cli_common));

    for (size_t c = 0; c < count && !found; c++) {
        const shoal_opt *rows = cli_command_opts(commands[c], &row_count);
        found = !commands[c]->no_config &&
                find_among(search, commands[c]->name, rows, row_count, commands[c]->values_size);
    }
    return found;
}

static shoal_status place_error(const struct cli_config *config, size_t line, shoal_err *err)
{
    base_err_where(err, "%s, line %zu", config->path, line);
    return SHOAL_E_FORMAT;
}

/* The key exists and the value suits it. */
static shoal_status check_line(const struct cli_config *config, const struct cli_config_line *line,
                               shoal_err *err)
{
    struct search search = {.key = line->key, .best = SIZE_MAX};
    shoal_err own = SHOAL_ERR_INIT;
    shoal_status st;
    void *scratch;

    if (!find_key(&search)) {
        base_err(err, SHOAL_E_FORMAT, "unknown key '%s'", line->key);
        if (search.nearest[0] != '\0')
            base_err_hint(err, "did you mean '%s'?", search.nearest);
        else
            base_err_hint(err, "'shoal config show' lists the keys");
        return place_error(config, line->line, err);
    }
    scratch = base_calloc(config->text.alloc, 1, search.values_size);
    if (scratch == NULL)
        return base_err_nomem(err, "checking the configuration");
    st = base_opt_set(search.row, line->value, scratch, &own);
    base_free(config->text.alloc, scratch);
    if (st == SHOAL_OK)
        return SHOAL_OK;
    base_err(err, SHOAL_E_FORMAT, "%s", own.message);
    if (own.hint[0] != '\0')
        base_err_hint(err, "%s", own.hint);
    return place_error(config, line->line, err);
}

static shoal_status add_line(struct cli_config *config, char *text, size_t number, shoal_err *err)
{
    char *equals = strchr(text, '=');
    struct cli_config_line *line;
    void *lines = config->lines;

    if (equals == NULL) {
        base_err(err, SHOAL_E_FORMAT, "expected 'key = value', found '%s'", text);
        return place_error(config, number, err);
    }
    if (base_reserve(config->text.alloc, &lines, &config->cap, config->count + 1, sizeof *line) !=
        0)
        return base_err_nomem(err, "reading the configuration");
    config->lines = lines;
    line = &config->lines[config->count];
    *equals = '\0';
    line->key = trim(text);
    line->value = trim(equals + 1);
    line->line = number;
    shoal_status st = check_line(config, line, err);
    if (st == SHOAL_OK)
        config->count++;
    return st;
}

static shoal_status read_lines(struct cli_config *config, shoal_err *err)
{
    char *text = config->text.data;

    if (config->text.size > 0 && memchr(text, '\0', config->text.size) != NULL)
        return base_err(err, SHOAL_E_FORMAT, "cannot read configuration '%s': it holds a zero byte",
                        config->path);
    if (text != NULL && strncmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3; /* a byte order mark */
    for (size_t number = 1; text != NULL && *text != '\0'; number++) {
        char *end = strchr(text, '\n');
        char *line;
        shoal_status st = SHOAL_OK;

        if (end != NULL)
            *end = '\0';
        line = trim(text);
        if (*line != '\0' && *line != '#')
            st = add_line(config, line, number, err);
        if (st != SHOAL_OK)
            return st;
        text = end == NULL ? NULL : end + 1;
    }
    return SHOAL_OK;
}

shoal_status cli_config_load(struct cli_config *config, shoal_env *env, shoal_err *err)
{
    shoal_err own = SHOAL_ERR_INIT;
    shoal_status st;

    memset(config, 0, sizeof *config);
    base_buf_init(&config->text, env_alloc(env), FILE_MAX);
    find_path(config);
    if (config->path[0] == '\0')
        return SHOAL_OK;
    st = env_read_whole(env, config->path, &config->text, &own);
    if (st == SHOAL_E_NOTFOUND)
        return SHOAL_OK;
    if (st != SHOAL_OK) {
        base_err(err, st == SHOAL_E_INVAL ? SHOAL_E_FORMAT : st, "%s", own.message);
        base_err_hint(err, "mend or remove the configuration file");
        return st == SHOAL_E_INVAL ? SHOAL_E_FORMAT : st;
    }
    config->found = true;
    return read_lines(config, err);
}

void cli_config_fini(struct cli_config *config)
{
    base_free(config->text.alloc, config->lines);
    base_buf_fini(&config->text);
}

/* A stronger source replaces a list, it does not add to it. */
static void clear_list(const shoal_opt *row, void *values)
{
    if (row->type == SHOAL_OPT_LIST)
        memset((char *)values + row->offset, 0, sizeof(shoal_opt_list));
}

static shoal_status apply_file(const struct cli_config *config, const char *prefix,
                               const shoal_opt *row, const char *name, void *values,
                               struct cli_origin *origin, shoal_err *err)
{
    char key[KEY_MAX];
    bool seen = false;

    key_text(prefix, name, '.', key, sizeof key);
    for (size_t i = 0; i < config->count; i++) {
        shoal_status st;
        if (strcmp(config->lines[i].key, key) != 0)
            continue;
        if (!seen)
            clear_list(row, values);
        seen = true;
        st = base_opt_set(row, config->lines[i].value, values, err);
        if (st != SHOAL_OK) { /* each line alone was right: too many for a list */
            place_error(config, config->lines[i].line, err);
            return st;
        }
        *origin = (struct cli_origin){CLI_ORIGIN_FILE, config->lines[i].line};
    }
    return SHOAL_OK;
}

static shoal_status apply_environment(const char *prefix, const shoal_opt *row, const char *called,
                                      void *values, struct cli_origin *origin, shoal_err *err)
{
    char name[KEY_MAX];
    const char *text = getenv(variable_text(prefix, called, name, sizeof name));
    shoal_err own = SHOAL_ERR_INIT;

    if (text == NULL || *text == '\0')
        return SHOAL_OK;
    clear_list(row, values);
    if (base_opt_set(row, text, values, &own) != SHOAL_OK) {
        base_err(err, SHOAL_E_FORMAT, "%s", own.message);
        base_err_where(err, "environment variable %s", name);
        if (own.hint[0] != '\0')
            base_err_hint(err, "%s", own.hint);
        return SHOAL_E_FORMAT;
    }
    *origin = (struct cli_origin){CLI_ORIGIN_ENVIRONMENT, 0};
    return SHOAL_OK;
}

/* The file's value, then the environment's, of an option by what it is called or was. */
static shoal_status apply_named(const struct cli_config *config, const char *prefix,
                                const shoal_opt *row, const char *name, void *values,
                                struct cli_origin *origin, shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    if (config != NULL)
        st = apply_file(config, prefix, row, name, values, origin, err);
    return st == SHOAL_OK ? apply_environment(prefix, row, name, values, origin, err) : st;
}

shoal_status cli_config_apply(const struct cli_config *config, const char *prefix,
                              const shoal_opt *rows, size_t count, void *values,
                              struct cli_origin *origins, shoal_err *err)
{
    base_opt_defaults(rows, count, values);
    for (size_t i = 0; i < count; i++) {
        struct cli_origin origin = {CLI_ORIGIN_DEFAULT, 0};
        const char *was = cli_table_was(prefix, rows[i].name);
        shoal_status st = SHOAL_OK;

        if (prefix[0] != '\0' || cli_config_common(&rows[i])) {
            if (was != NULL)
                st = apply_named(config, prefix, &rows[i], was, values, &origin, err);
            if (st == SHOAL_OK)
                st = apply_named(config, prefix, &rows[i], rows[i].name, values, &origin, err);
        }
        if (st != SHOAL_OK)
            return st;
        if (origins != NULL)
            origins[i] = origin;
    }
    return SHOAL_OK;
}

/* ---- words ---- */

enum { ROWS_MAX = 96 };

struct target {
    const shoal_opt *row;
    void *values;
};

/* Option `i` that the command takes; false past the end. */
static bool target_at(const struct cli_parse *parse, size_t i, struct target *out)
{
    bool common;

    out->row = cli_option_at(parse->command, i, &common);
    out->values = common ? (void *)parse->common : parse->values;
    return out->row != NULL;
}

static bool find_name(const struct cli_parse *parse, const char *name, size_t length,
                      struct target *out)
{
    for (size_t i = 0; target_at(parse, i, out); i++)
        if (strlen(out->row->name) == length && memcmp(out->row->name, name, length) == 0)
            return true;
    return false;
}

static bool find_letter(const struct cli_parse *parse, char letter, struct target *out)
{
    for (size_t i = 0; target_at(parse, i, out); i++)
        if (out->row->letter == letter)
            return true;
    return false;
}

/* The option that an old spelling, a word or a letter, stands for. */
static bool find_renamed(const struct cli_parse *parse, const char *was, size_t length,
                         struct target *out)
{
    const char *now =
        parse->command == NULL ? NULL : cli_table_renamed(parse->command->name, was, length);

    return now != NULL && find_name(parse, now, strlen(now), out);
}

static shoal_status unknown_option(const struct cli_parse *parse, const char *word, size_t length,
                                   shoal_err *err)
{
    const char *names[ROWS_MAX];
    char name[64];
    const char *nearest;
    size_t count = 0;
    struct target target;

    base_err(err, SHOAL_E_INVAL, "unknown option '%.*s'", (int)(length > 200 ? 200 : length), word);
    if (length < 3 || length - 2 >= sizeof name)
        return SHOAL_E_INVAL;
    memcpy(name, word + 2, length - 2);
    name[length - 2] = '\0';
    for (size_t i = 0; count < ROWS_MAX && target_at(parse, i, &target); i++)
        names[count++] = target.row->name;
    nearest = base_nearest(name, names, count);
    if (nearest != NULL)
        base_err_hint(err, "did you mean '--%s'?", nearest);
    return SHOAL_E_INVAL;
}

struct walk {
    const char *const *words;
    size_t count, at;
    const shoal_opt *seen[ROWS_MAX]; /* rows that were given */
    size_t seen_count;
};

/* The first time the command line gives a list it replaces what weaker sources gave. Anything else
 * with a value is given once: of two values one would be ignored. */
static shoal_status note_given(struct walk *walk, const struct target *target, shoal_err *err)
{
    const shoal_opt *row = target->row;

    for (size_t i = 0; i < walk->seen_count; i++) {
        if (walk->seen[i] != row || row->type == SHOAL_OPT_LIST || row->type == SHOAL_OPT_FLAG)
            continue;
        base_err(err, SHOAL_E_INVAL, "--%s was given twice", row->name);
        if (row->complete != NULL && strcmp(row->complete, "policy") == 0)
            base_err_hint(err, "separate policies with commas");
        return SHOAL_E_INVAL;
    }
    bool again = false;
    for (size_t i = 0; i < walk->seen_count; i++)
        again |= walk->seen[i] == row;
    if (again)
        return SHOAL_OK;
    shoal_assert(walk->seen_count < ROWS_MAX);
    walk->seen[walk->seen_count++] = row;
    if (row->type == SHOAL_OPT_LIST)
        ((shoal_opt_list *)(void *)((char *)target->values + row->offset))->count = 0;
    return SHOAL_OK;
}

static shoal_status take_value(struct walk *walk, const struct target *target, const char *shown,
                               const char *attached, shoal_err *err)
{
    const char *text = attached;

    if (text == NULL && target->row->type == SHOAL_OPT_FLAG)
        text = "true";
    if (text == NULL) {
        if (walk->at >= walk->count)
            return base_err(err, SHOAL_E_INVAL, "option '%s' needs a value (%s)", shown,
                            base_opt_meta(target->row));
        text = walk->words[walk->at++];
    }
    shoal_status st = note_given(walk, target, err);
    return st != SHOAL_OK ? st : base_opt_set(target->row, text, target->values, err);
}

static shoal_status take_long(struct cli_parse *parse, struct walk *walk, const char *word,
                              shoal_err *err)
{
    const char *equals = strchr(word, '=');
    size_t length = equals == NULL ? strlen(word) : (size_t)(equals - word);
    struct target target;
    char shown[64];

    if (!find_name(parse, word + 2, length - 2, &target) &&
        !(length > 3 && find_renamed(parse, word + 2, length - 2, &target)))
        return unknown_option(parse, word, length, err);
    snprintf(shown, sizeof shown, "--%s", target.row->name);
    return take_value(walk, &target, shown, equals == NULL ? NULL : equals + 1, err);
}

static shoal_status take_short(struct cli_parse *parse, struct walk *walk, const char *word,
                               shoal_err *err)
{
    for (const char *p = word + 1; *p != '\0'; p++) {
        char shown[3] = {'-', *p, '\0'};
        struct target target;
        bool flag;
        shoal_status st;

        if (!find_letter(parse, *p, &target) && !find_renamed(parse, p, 1, &target))
            return unknown_option(parse, shown, 2, err);
        flag = target.row->type == SHOAL_OPT_FLAG;
        st = take_value(walk, &target, shown, flag || p[1] == '\0' ? NULL : p + 1, err);
        if (st != SHOAL_OK || !flag)
            return st;
    }
    return SHOAL_OK;
}

shoal_status cli_parse_words(struct cli_parse *parse, const char *const *words, size_t count,
                             shoal_err *err)
{
    struct walk walk = {.words = words, .count = count};
    bool options = true;

    while (walk.at < count) {
        const char *word = words[walk.at];
        shoal_status st = SHOAL_OK;

        if (options && strcmp(word, "--") == 0) {
            options = false;
            walk.at++;
            continue;
        }
        if (!options || word[0] != '-' || word[1] == '\0') {
            if (parse->stop_at_arg)
                break;
            parse->args[parse->arg_count++] = word;
            walk.at++;
            continue;
        }
        walk.at++;
        st = word[1] == '-' ? take_long(parse, &walk, word, err)
                            : take_short(parse, &walk, word, err);
        if (st != SHOAL_OK)
            return st;
    }
    parse->used = walk.at;
    return SHOAL_OK;
}
