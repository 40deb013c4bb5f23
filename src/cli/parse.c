/* parse.c - see parse.h. Tests: tests/unit/cli/test_parse.c. */
#include "cli/parse.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include <string.h>

enum { ROWS_MAX = 96 };

struct target {
    const struct base_opt *row;
    void *values;
};

/* Row i of the command's rows followed by the common ones it takes; false past the end. */
static bool target_at(const struct cli_parse *parse, size_t i, struct target *out)
{
    size_t own = parse->command == NULL ? 0 : parse->command->opt_count;

    if (i < own) {
        *out = (struct target){&parse->command->opts[i], parse->values};
        return true;
    }
    if (i - own < cli_common_row_count) {
        *out = (struct target){&cli_common_rows[i - own], parse->common};
        return true;
    }
    return false;
}

static bool find_name(const struct cli_parse *parse, const char *name, size_t length,
                      struct target *out)
{
    for (size_t i = 0; target_at(parse, i, out); i++)
        if (cli_common_has(parse->command, out->row) && strlen(out->row->name) == length &&
            memcmp(out->row->name, name, length) == 0)
            return true;
    return false;
}

static bool find_letter(const struct cli_parse *parse, char letter, struct target *out)
{
    for (size_t i = 0; target_at(parse, i, out); i++)
        if (cli_common_has(parse->command, out->row) && out->row->letter == letter)
            return true;
    return false;
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
        if (cli_common_has(parse->command, target.row))
            names[count++] = target.row->name;
    nearest = base_nearest(name, names, count);
    if (nearest != NULL)
        base_err_hint(err, "did you mean '--%s'?", nearest);
    return SHOAL_E_INVAL;
}

struct walk {
    const char *const *words;
    size_t count, at;
    const struct base_opt *seen[ROWS_MAX]; /* rows that were given */
    size_t seen_count;
};

/* The first time the command line gives a list it replaces what weaker sources gave. Anything else
 * with a value is given once: of two values one would be ignored. */
static shoal_status note_given(struct walk *walk, const struct target *target, shoal_err *err)
{
    const struct base_opt *row = target->row;

    for (size_t i = 0; i < walk->seen_count; i++) {
        if (walk->seen[i] != row || row->type == BASE_OPT_LIST || row->type == BASE_OPT_FLAG)
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
    if (row->type == BASE_OPT_LIST)
        ((struct base_opt_list *)(void *)((char *)target->values + row->offset))->count = 0;
    return SHOAL_OK;
}

static shoal_status take_value(struct walk *walk, const struct target *target, const char *shown,
                               const char *attached, shoal_err *err)
{
    const char *text = attached;

    if (text == NULL && target->row->type == BASE_OPT_FLAG)
        text = "true";
    if (text == NULL) {
        if (walk->at >= walk->count)
            return base_err(err, SHOAL_E_INVAL, "option '%s' needs a value (%s)", shown,
                            target->row->meta == NULL ? "VALUE" : target->row->meta);
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

    if (!find_name(parse, word + 2, length - 2, &target))
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

        if (!find_letter(parse, *p, &target))
            return unknown_option(parse, shown, 2, err);
        flag = target.row->type == BASE_OPT_FLAG;
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
