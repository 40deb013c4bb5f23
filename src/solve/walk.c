/* walk.c - see walk.h. Tests: tests/unit/solve/test_walk.c. */
#include "solve/walk.h"

#include "base/err.h"
#include <string.h>

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
