/* read.c - see read.h. */
#include "solve/read.h"

#include "base/err.h"
#include "base/text.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READ_CHUNK_SIZE = 65536 };

/* ---- steps ---- */

void solve_walk_place(const struct solve_text *text, size_t at, size_t *out_line,
                      size_t *out_column)
{
    const char *end = text->data + at, *begin = text->data;
    size_t line = 1;

    for (const char *p = begin; p < end; line++) {
        p = memchr(p, '\n', (size_t)(end - p));
        if (p == NULL)
            break;
        begin = ++p;
    }
    *out_line = line;
    *out_column = (size_t)(end - begin) + 1;
}

shoal_status solve_walk_bad(const struct solve_text *text, size_t at, const char *place,
                            const char *what, shoal_err *err)
{
    size_t line, column;

    solve_walk_place(text, at, &line, &column);
    base_err(err, SHOAL_E_FORMAT, "cannot read problem '%.90s', line %zu, column %zu%s: %s",
             text->path, line, column, place, what);
    base_err_where(err, "%.90s, line %zu, column %zu%s", text->path, line, column, place);
    return SHOAL_E_FORMAT;
}

static shoal_status bad(const struct solve_text *text, size_t at, const char *what, shoal_err *err)
{
    return solve_walk_bad(text, at, "", what, err);
}

static size_t skip_space(const struct solve_text *text, size_t at)
{
    while (at < text->size && (text->data[at] == ' ' || text->data[at] == '\n' ||
                               text->data[at] == '\r' || text->data[at] == '\t'))
        at++;
    return at;
}

/* The byte after the closing quote of the string that begins at `at`, or text->size + 1. */
static size_t skip_string(const struct solve_text *text, size_t at)
{
    for (at++; at < text->size; at++) {
        if (text->data[at] == '\\')
            at++;
        else if (text->data[at] == '"')
            return at + 1;
    }
    return text->size + 1;
}

/* A number or a word: all that is no space, comma or bracket. */
static size_t skip_word(const struct solve_text *text, size_t at)
{
    while (at < text->size && strchr(" \n\r\t,:{}[]\"", text->data[at]) == NULL)
        at++;
    return at;
}

static shoal_status skip_nested(const struct solve_text *text, size_t at, size_t *out_end,
                                shoal_err *err)
{
    char open[SOLVE_DEPTH_MAX];
    size_t depth = 0, begin = at;

    do {
        if (at >= text->size)
            return bad(text, begin, "the file ends before what is opened here is closed", err);
        char c = text->data[at];
        if (c == '{' || c == '[') {
            if (depth == SOLVE_DEPTH_MAX)
                return bad(text, at, "nested more than 16 deep, and no problem needs that", err);
            open[depth++] = c == '{' ? '}' : ']';
        } else if (c == '}' || c == ']') {
            if (depth == 0 || open[depth - 1] != c)
                return bad(text, at,
                           c == '}' ? "found '}' where a ']' is due"
                                    : "found ']' where a '}' is due",
                           err);
            depth--;
        } else if (c == '"') {
            size_t end = skip_string(text, at);
            if (end > text->size)
                return bad(text, at, "a string without its closing quote", err);
            at = end - 1;
        }
        at++;
    } while (depth > 0);
    *out_end = at;
    return SHOAL_OK;
}

static shoal_status skip_value(const struct solve_text *text, size_t at, size_t *out_end,
                               shoal_err *err)
{
    if (at >= text->size)
        return bad(text, at, "the file ends where a value is due", err);
    if (text->data[at] == '{' || text->data[at] == '[')
        return skip_nested(text, at, out_end, err);
    *out_end = text->data[at] == '"' ? skip_string(text, at) : skip_word(text, at);
    if (*out_end > text->size)
        return bad(text, at, "a string without its closing quote", err);
    return *out_end > at ? SHOAL_OK : bad(text, at, "expected a value", err);
}

shoal_status solve_walk_whole(const struct solve_text *text, struct solve_span *out_span,
                              shoal_err *err)
{
    size_t at = text->size >= 3 && memcmp(text->data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    size_t end;

    at = skip_space(text, at);
    shoal_status st = skip_value(text, at, &end, err);
    if (st != SHOAL_OK)
        return st;
    *out_span = (struct solve_span){at, end - at};
    end = skip_space(text, end);
    return end == text->size ? SHOAL_OK : bad(text, end, "expected the end of the file", err);
}

void solve_walk_begin(struct solve_walk *walk, const struct solve_text *text,
                      struct solve_span span)
{
    *walk = (struct solve_walk){
        .text = text, .at = span.at + 1, .close = text->data[span.at] == '{' ? '}' : ']'};
}

shoal_status solve_walk_next(struct solve_walk *walk, struct solve_span *out_key,
                             struct solve_span *out_value, shoal_err *err)
{
    const struct solve_text *text = walk->text;
    size_t at = skip_space(text, walk->at), end;
    bool object = walk->close == '}';

    if (at < text->size && text->data[at] == walk->close && !walk->begun)
        return SHOAL_END;
    if (walk->begun) {
        if (at < text->size && text->data[at] == walk->close)
            return SHOAL_END;
        if (at >= text->size || text->data[at] != ',')
            return bad(text, at, "expected a comma or the closing bracket", err);
        at = skip_space(text, at + 1);
    }
    walk->begun = true;
    if (object) {
        if (at >= text->size || text->data[at] != '"')
            return bad(text, at, "expected a name in double quotes", err);
        end = skip_string(text, at);
        if (end > text->size)
            return bad(text, at, "a string without its closing quote", err);
        *out_key = (struct solve_span){at, end - at};
        at = skip_space(text, end);
        if (at >= text->size || text->data[at] != ':')
            return bad(text, at, "expected a colon after the name", err);
        at = skip_space(text, at + 1);
    }
    shoal_status st = skip_value(text, at, &end, err);
    if (st != SHOAL_OK)
        return st;
    *out_value = (struct solve_span){at, end - at};
    walk->at = end;
    return SHOAL_OK;
}

/* ---- the text ---- */

/* No JSON text begins or goes on like this: a device or the wrong file, of which there may be no
 * end. */
static shoal_status check_chunk(const struct solve_text *text, size_t from, shoal_err *err)
{
    const char *zero = memchr(text->data + from, '\0', text->size - from);
    size_t at = text->size >= 3 && memcmp(text->data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    if (zero != NULL)
        return bad(text, (size_t)(zero - text->data),
                   "found a byte of value 0, so this is no JSON text", err);
    at += from == 0 ? strspn(text->data + at, " \t\r\n") : 0;
    if (from == 0 && at < text->size && text->data[at] != '{')
        return solve_walk_bad(text, at, "", "expected an object with \"kinds\" and \"jobs\"", err);
    return SHOAL_OK;
}

shoal_status solve_read_text(shoal_env *env, const char *path, struct base_buf *out, shoal_err *err)
{
    char chunk[READ_CHUNK_SIZE];
    struct env_file *file = NULL;
    size_t size = 0;
    shoal_status st = env_open(env, path, &file, err);

    if (st != SHOAL_OK)
        return st;
    do {
        size_t from = out->size;
        st = env_read(file, chunk, sizeof chunk, &size, err);
        if (st != SHOAL_OK)
            break;
        base_buf_append(out, chunk, size); /* also when empty, so that data is a string */
        st = base_buf_status(out);
        if (st == SHOAL_E_LIMIT)
            base_err(err, st, "cannot read problem '%s': larger than %zu bytes", path,
                     out->size_max);
        else if (st != SHOAL_OK)
            base_err_nomem(err, "reading a problem");
        else if (size > 0)
            st = check_chunk(&(struct solve_text){path, out->data, out->size}, from, err);
    } while (st == SHOAL_OK && size > 0);
    env_close(file);
    return st;
}

/* ---- parts ---- */

enum { FOUND_MAX = 48, NEAREST_MAX = 100000 };

void solve_read_at(struct solve_reading *rd, size_t at, const char *format, ...)
{
    va_list args;

    rd->at = at;
    va_start(args, format);
    vsnprintf(rd->place, sizeof rd->place, format, args);
    va_end(args);
}

void solve_read_at_job(struct solve_reading *rd, size_t job)
{
    struct solve_walk walk;
    struct solve_span key, value = rd->jobs;

    solve_walk_begin(&walk, &rd->text, rd->jobs);
    for (size_t i = 0; i <= job; i++)
        if (solve_walk_next(&walk, &key, &value, NULL) != SHOAL_OK)
            break;
    solve_read_at(rd, value.at, "jobs[%zu]", job);
}

shoal_status solve_read_many(const struct solve_reading *rd, size_t most, const char *what,
                             shoal_err *err)
{
    (void)solve_read_bad(rd, "", err, "more than %zu %s", most, what);
    if (err != NULL)
        err->code = SHOAL_E_LIMIT;
    return SHOAL_E_LIMIT;
}

shoal_status solve_read_bad(const struct solve_reading *rd, const char *below, shoal_err *err,
                            const char *format, ...)
{
    size_t line, column;
    char what[240];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    solve_walk_place(&rd->text, rd->at, &line, &column);
    base_err(err, SHOAL_E_FORMAT, "cannot read problem '%.90s', line %zu, at %.60s%.60s: %s",
             rd->text.path, line, rd->place, below, what);
    base_err_where(err, "%.90s, line %zu, at %.60s%.60s", rd->text.path, line, rd->place, below);
    return SHOAL_E_FORMAT;
}

/* A value as it may be shown: one line, cut. Returns buf. */
static const char *show(const json_t *value, char buf[FOUND_MAX + 4])
{
    char *text;

    if (json_is_object(value) || json_is_array(value)) {
        snprintf(buf, FOUND_MAX, "%s", json_is_object(value) ? "an object" : "a list");
        return buf;
    }
    if (json_is_number(value)) {
        snprintf(buf, FOUND_MAX, "%.12g", json_number_value(value));
        return buf;
    }
    text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    snprintf(buf, FOUND_MAX, "%s", text == NULL ? "something else" : text);
    if (text != NULL && strlen(text) >= FOUND_MAX)
        strcpy(buf + FOUND_MAX - 1, "...");
    free(text);
    return buf;
}

shoal_status solve_read_wrong(const struct solve_reading *rd, const char *below,
                              const char *expected, const json_t *found, shoal_err *err)
{
    char text[FOUND_MAX + 4];

    return solve_read_bad(rd, below, err, "expected %s, found %s", expected, show(found, text));
}

shoal_status solve_read_unknown(const struct solve_reading *rd, const char *field,
                                const char *const *names, size_t count, shoal_err *err)
{
    char list[150] = "";
    const char *near = base_nearest(field, names, count);

    solve_read_bad(rd, "", err, "unknown field '%.60s'", field);
    if (near != NULL) {
        base_err_hint(err, "did you mean '%s'?", near);
        return SHOAL_E_FORMAT;
    }
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    base_err_hint(err, "there are %s", list);
    return SHOAL_E_FORMAT;
}

shoal_status solve_read_unknown_kind(const struct solve_reading *rd, const char *below,
                                     const char *name, shoal_err *err)
{
    const struct base_map *kinds = &rd->p->kinds;
    const char *near = solve_read_nearest(kinds, name);
    char list[150] = "";

    for (size_t k = 0; k < kinds->count; k++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%.30s", k > 0 ? ", " : "",
                 kinds->entries[k].key);
    }
    solve_read_bad(rd, below, err, "no kind '%.60s' under \"kinds\"", name);
    if (near != NULL)
        base_err_hint(err, "did you mean '%.60s'?", near);
    else
        base_err_hint(err, "there are %s", list);
    return SHOAL_E_FORMAT;
}

const char *solve_read_nearest(const struct base_map *names, const char *word)
{
    const char *best = NULL;

    for (size_t i = 0; i < names->count && names->count <= NEAREST_MAX; i++) {
        const char *two[] = {best, names->entries[i].key};
        best = base_nearest(word, best == NULL ? two + 1 : two, best == NULL ? 1 : 2);
    }
    return best;
}

/* What jansson says of numbers that are none needs a word more. */
static void hint_number(const char *text, shoal_err *err)
{
    static const char *const none[] = {"NaN", "nan", "Infinity", "inf", "-'"};

    if (strstr(text, "overflow") != NULL)
        base_err_hint(err, "numbers must be finite");
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        char near[24];
        snprintf(near, sizeof near, "near '%s", none[i]);
        if (strstr(text, near) != NULL)
            base_err_hint(err, "JSON has no such number; leave the field out, or write 0 for a "
                               "rate where the job cannot run");
    }
}

shoal_status solve_read_json(const struct solve_reading *rd, struct solve_span span, json_t **out,
                             shoal_err *err)
{
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL | JSON_DECODE_ANY;
    json_error_t problem;
    char place[SOLVE_PLACE_MAX];

    if (span.size > SOLVE_ELEMENT_MAX)
        return solve_read_bad(rd, "", err, "larger than %d bytes", SOLVE_ELEMENT_MAX);
    json_t *json = json_loadb(rd->text.data + span.at, span.size, flags, &problem);
    if (json != NULL) {
        *out = json;
        return SHOAL_OK;
    }
    if (json_error_code(&problem) == json_error_out_of_memory)
        return base_err_nomem(err, "reading a problem");
    size_t at = span.at + (problem.position > 0 ? (size_t)problem.position : 0);
    snprintf(place, sizeof place, ", at %.80s", rd->place);
    bool zero = json_error_code(&problem) == json_error_null_character ||
                json_error_code(&problem) == json_error_null_byte_in_key;
    solve_walk_bad(&rd->text, at < rd->text.size ? at : rd->text.size, place,
                   zero ? "\\u0000 is in no name and no text here" : problem.text, err);
    if (err != NULL)
        hint_number(problem.text, err);
    return SHOAL_E_FORMAT;
}

shoal_status solve_read_key(const struct solve_reading *rd, struct solve_span span, char *out,
                            shoal_err *err)
{
    json_t *json = NULL;
    shoal_status st = solve_read_json(rd, span, &json, err);

    if (st != SHOAL_OK)
        return st;
    const char *key = json_string_value(json);
    if (key != NULL && solve_read_name_ok(key))
        strcpy(out, key);
    else
        st = solve_read_bad(rd, "", err,
                            "expected names of 1 to %d bytes without control characters",
                            SOLVE_NAME_MAX);
    json_decref(json);
    return st;
}

bool solve_read_name_ok(const char *name)
{
    size_t size = strlen(name);

    for (const unsigned char *c = (const unsigned char *)name; *c != '\0'; c++)
        if (*c < 0x20 || *c == 0x7f)
            return false;
    return size >= 1 && size <= SOLVE_NAME_MAX;
}

shoal_status solve_read_number(const struct solve_reading *rd, const char *below,
                               const struct solve_field *rule, const json_t *value, double *out,
                               shoal_err *err)
{
    double number = NAN;

    if (json_is_number(value))
        number = json_number_value(value);
    else if ((rule->also & SOLVE_DURATION) != 0 && json_is_string(value) &&
             !base_parse_duration(json_string_value(value), &number))
        number = NAN;
    bool good = (number >= rule->min && number <= rule->max) ||
                ((rule->also & SOLVE_ZERO) != 0 && number == 0);
    if (!good || ((rule->also & SOLVE_WHOLE) != 0 && number != floor(number)))
        return solve_read_wrong(rd, below, rule->expected, value, err);
    *out = number;
    return SHOAL_OK;
}
