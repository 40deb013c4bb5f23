/* config.c - the configuration file and the environment (see config.h). Tests:
 * tests/unit/cli/test_config.c. */
#include "cli/config.h"

#include "base/err.h"
#include "base/text.h"
#include "cli/table.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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

const char *cli_config_key(const char *prefix, const struct base_opt *row, char *buf, size_t size)
{
    return key_text(prefix, row->name, '.', buf, size);
}

const char *cli_config_variable(const char *prefix, const struct base_opt *row, char *buf,
                                size_t size)
{
    char key[KEY_MAX];

    snprintf(buf, size, "SHOAL_%s", key_text(prefix, row->name, '_', key, sizeof key));
    for (char *p = buf; *p != '\0'; p++)
        *p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
    return buf;
}

bool cli_config_common(const struct base_opt *row)
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

/* Calls fn for every key there is, until it returns true. */
static bool each_key(bool (*fn)(void *ctx, const char *key, const struct base_opt *row,
                                size_t values_size),
                     void *ctx)
{
    size_t count;
    const struct cli_command *const *commands = cli_table_commands(&count);
    char key[KEY_MAX];

    for (size_t i = 0; i < cli_common_row_count; i++)
        if (cli_config_common(&cli_common_rows[i]) &&
            fn(ctx, cli_config_key("", &cli_common_rows[i], key, sizeof key), &cli_common_rows[i],
               sizeof(struct cli_common)))
            return true;
    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; !commands[c]->no_config && i < commands[c]->opt_count; i++) {
            const struct base_opt *row = &commands[c]->opts[i];
            if (fn(ctx, cli_config_key(commands[c]->name, row, key, sizeof key), row,
                   commands[c]->values_size))
                return true;
        }
    return false;
}

struct search {
    const char *key;
    const struct base_opt *row;
    size_t values_size;
    size_t best;
    char nearest[KEY_MAX];
};

static bool match_key(void *ctx, const char *key, const struct base_opt *row, size_t values_size)
{
    struct search *search = ctx;
    const char *names[1] = {key};

    if (strcmp(key, search->key) == 0) {
        search->row = row;
        search->values_size = values_size;
        return true;
    }
    if (strlen(search->key) < KEY_MAX && base_nearest(search->key, names, 1) != NULL) {
        size_t distance = base_edit_distance(search->key, key);
        if (distance < search->best) {
            search->best = distance;
            snprintf(search->nearest, sizeof search->nearest, "%s", key);
        }
    }
    return false;
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

    if (!each_key(match_key, &search)) {
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
static void clear_list(const struct base_opt *row, void *values)
{
    if (row->type == BASE_OPT_LIST)
        memset((char *)values + row->offset, 0, sizeof(struct base_opt_list));
}

static shoal_status apply_file(const struct cli_config *config, const char *prefix,
                               const struct base_opt *row, void *values, struct cli_origin *origin,
                               shoal_err *err)
{
    char key[KEY_MAX];
    bool seen = false;

    cli_config_key(prefix, row, key, sizeof key);
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

static shoal_status apply_environment(const char *prefix, const struct base_opt *row, void *values,
                                      struct cli_origin *origin, shoal_err *err)
{
    char name[KEY_MAX];
    const char *text = getenv(cli_config_variable(prefix, row, name, sizeof name));
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

shoal_status cli_config_apply(const struct cli_config *config, const char *prefix,
                              const struct base_opt *rows, size_t count, void *values,
                              struct cli_origin *origins, shoal_err *err)
{
    base_opt_defaults(rows, count, values);
    for (size_t i = 0; i < count; i++) {
        struct cli_origin origin = {CLI_ORIGIN_DEFAULT, 0};
        shoal_status st = SHOAL_OK;

        if (prefix[0] != '\0' || cli_config_common(&rows[i])) {
            if (config != NULL)
                st = apply_file(config, prefix, &rows[i], values, &origin, err);
            if (st == SHOAL_OK)
                st = apply_environment(prefix, &rows[i], values, &origin, err);
        }
        if (st != SHOAL_OK)
            return st;
        if (origins != NULL)
            origins[i] = origin;
    }
    return SHOAL_OK;
}
