/* opt.c - reading and writing option rows (see opt.h). Tests: tests/unit/base/test_opt.c. */
#include "base/opt.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/event.h"
#include "base/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAMES_MAX = 128 };

static void *value_at(const shoal_opt *row, void *values)
{
    return (char *)values + row->offset;
}

static bool has_range(const shoal_opt *row)
{
    return row->min != 0 || row->max != 0;
}

/* "%g" with the unit of the type. */
static const char *bound_text(const shoal_opt *row, double bound, char *buf, size_t size)
{
    const char *unit = row->type == SHOAL_OPT_DURATION ? "s"
                       : row->type == SHOAL_OPT_SIZE   ? " bytes"
                                                       : "";

    snprintf(buf, size, "%.15g%s", bound, unit);
    return buf;
}

static shoal_status check_range(const shoal_opt *row, const char *text, double value,
                                shoal_err *err)
{
    char lo[64], hi[64];

    if (!has_range(row) || (value >= row->min && value <= row->max))
        return SHOAL_OK;
    bound_text(row, row->min, lo, sizeof lo);
    bound_text(row, row->max, hi, sizeof hi);
    if (isinf(row->max) || (row->type != SHOAL_OPT_F64 && row->max >= 0x1p64))
        return base_err(err, SHOAL_E_INVAL, "bad value for '%s': expected at least %s, found '%s'",
                        row->name, lo, text);
    return base_err(err, SHOAL_E_INVAL, "bad value for '%s': expected %s to %s, found '%s'",
                    row->name, lo, hi, text);
}

static shoal_status bad_value(const shoal_opt *row, const char *expected, const char *text,
                              shoal_err *err)
{
    return base_err(err, SHOAL_E_INVAL, "bad value for '%s': expected %s, found '%s'", row->name,
                    expected, text);
}

static shoal_status set_flag(const shoal_opt *row, const char *text, void *at, shoal_err *err)
{
    bool value;

    if (!base_parse_bool(text, &value))
        return bad_value(row, "true or false", text, err);
    memcpy(at, &value, sizeof value);
    return SHOAL_OK;
}

static shoal_status set_u64(const shoal_opt *row, const char *text, void *at, shoal_err *err)
{
    uint64_t value;
    shoal_status st;

    if (row->type == SHOAL_OPT_SIZE ? !base_parse_size(text, &value)
                                    : !base_parse_u64(text, strlen(text), &value))
        return bad_value(
            row, row->type == SHOAL_OPT_SIZE ? "a size such as 512M or 4G" : "a whole number", text,
            err);
    st = check_range(row, text, (double)value, err);
    if (st == SHOAL_OK)
        memcpy(at, &value, sizeof value);
    return st;
}

static shoal_status set_f64(const shoal_opt *row, const char *text, void *at, shoal_err *err)
{
    double value;
    shoal_status st;

    if (row->type == SHOAL_OPT_DURATION ? !base_parse_duration(text, &value)
                                        : !base_parse_f64(text, strlen(text), &value))
        return bad_value(row,
                         row->type == SHOAL_OPT_DURATION ? "a duration such as 90s, 5m or 2h30m"
                                                         : "a number",
                         text, err);
    st = check_range(row, text, value, err);
    if (st == SHOAL_OK)
        memcpy(at, &value, sizeof value);
    return st;
}

static size_t choice_count(const shoal_opt *row)
{
    size_t count = 0;

    while (row->choices[count] != NULL)
        count++;
    return count;
}

/* Appends "a, b or c" to out; cut at the end of out. */
static void join_names(const char *const *names, size_t count, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < count && used < size; i++) {
        const char *before = i == 0 ? "" : i + 1 == count ? " or " : ", ";
        int n = snprintf(out + used, size - used, "%s%s", before, names[i]);
        if (n < 0)
            return;
        used += (size_t)n;
    }
}

static shoal_status set_choice(const shoal_opt *row, const char *text, void *at, shoal_err *err)
{
    size_t count = choice_count(row);
    char names[200];
    const char *nearest;

    for (uint32_t i = 0; i < count; i++)
        if (strcmp(row->choices[i], text) == 0) {
            memcpy(at, &i, sizeof i);
            return SHOAL_OK;
        }
    join_names(row->choices, count, names, sizeof names);
    bad_value(row, names, text, err);
    nearest = base_nearest(text, row->choices, count);
    if (nearest != NULL)
        base_err_hint(err, "did you mean '%s'?", nearest);
    return SHOAL_E_INVAL;
}

static shoal_status add_item(const shoal_opt *row, const char *text, shoal_opt_list *list,
                             shoal_err *err)
{
    if (list->count >= SHOAL_OPT_LIST_MAX)
        return base_err(err, SHOAL_E_LIMIT, "'%s' is given more than %d times", row->name,
                        (int)SHOAL_OPT_LIST_MAX);
    list->items[list->count++] = text;
    return SHOAL_OK;
}

shoal_status base_opt_set(const shoal_opt *row, const char *text, void *values, shoal_err *err)
{
    void *at = value_at(row, values);

    switch (row->type) {
    case SHOAL_OPT_FLAG: return set_flag(row, text, at, err);
    case SHOAL_OPT_U64:
    case SHOAL_OPT_SIZE: return set_u64(row, text, at, err);
    case SHOAL_OPT_F64:
    case SHOAL_OPT_DURATION: return set_f64(row, text, at, err);
    case SHOAL_OPT_STR: memcpy(at, &text, sizeof text); return SHOAL_OK;
    case SHOAL_OPT_CHOICE: return set_choice(row, text, at, err);
    case SHOAL_OPT_LIST: return add_item(row, text, at, err);
    }
    return base_err(err, SHOAL_E_INTERNAL, "option '%s' has no type", row->name);
}

shoal_status base_opt_check(const shoal_opt *rows, size_t count, const void *values, shoal_err *err)
{
    for (size_t i = 0; i < count; i++) {
        const shoal_opt *row = &rows[i];
        const void *at = (const char *)values + row->offset;
        bool whole = row->type == SHOAL_OPT_U64 || row->type == SHOAL_OPT_SIZE;
        bool real = row->type == SHOAL_OPT_F64 || row->type == SHOAL_OPT_DURATION;
        struct base_buf text;
        if (!whole && !real)
            continue;
        base_buf_init(&text, &base_alloc_libc, 1 << 8);
        base_opt_format(row, values, &text);
        shoal_status st =
            check_range(row, base_buf_status(&text) == SHOAL_OK ? text.data : "",
                        whole ? (double)*(const uint64_t *)at : *(const double *)at, err);
        base_buf_fini(&text);
        if (st != SHOAL_OK)
            return st;
    }
    return SHOAL_OK;
}

size_t base_opt_size(const shoal_opt *row)
{
    switch (row->type) {
    case SHOAL_OPT_FLAG: return sizeof(bool);
    case SHOAL_OPT_U64:
    case SHOAL_OPT_SIZE: return sizeof(uint64_t);
    case SHOAL_OPT_F64:
    case SHOAL_OPT_DURATION: return sizeof(double);
    case SHOAL_OPT_STR: return sizeof(const char *);
    case SHOAL_OPT_CHOICE: return sizeof(uint32_t);
    case SHOAL_OPT_LIST: return sizeof(shoal_opt_list);
    }
    return 0;
}

void base_opt_defaults(const shoal_opt *rows, size_t count, void *values)
{
    for (size_t i = 0; i < count; i++) {
        memset(value_at(&rows[i], values), 0, base_opt_size(&rows[i]));
        if (rows[i].fallback != NULL) {
            shoal_status st = base_opt_set(&rows[i], rows[i].fallback, values, NULL);
            shoal_assert(st == SHOAL_OK);
        }
    }
}

void base_opt_take(const shoal_opt *rows, size_t count, const void *given, void *opts, size_t size)
{
    size_t known = 0;

    memset(opts, 0, size);
    memcpy(opts, &size, sizeof size);
    base_opt_defaults(rows, count, opts);
    if (given != NULL)
        memcpy(&known, given, sizeof known);
    if (known >= sizeof known)
        memcpy(opts, given, known < size ? known : size);
}

const shoal_opt *base_opt_find(const shoal_opt *rows, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

const char *base_opt_meta(const shoal_opt *row)
{
    return row->type == SHOAL_OPT_FLAG ? NULL : row->meta == NULL ? "VALUE" : row->meta;
}

const char *base_opt_fallback(const shoal_opt *row)
{
    return row->fallback == NULL && row->type == SHOAL_OPT_FLAG ? "false" : row->fallback;
}

const char *base_opt_type_name(const shoal_opt *row)
{
    static const char *const names[] = {
        [SHOAL_OPT_FLAG] = "flag",         [SHOAL_OPT_U64] = "integer", [SHOAL_OPT_F64] = "number",
        [SHOAL_OPT_DURATION] = "duration", [SHOAL_OPT_SIZE] = "size",   [SHOAL_OPT_STR] = "string",
        [SHOAL_OPT_CHOICE] = "choice",     [SHOAL_OPT_LIST] = "list"};

    return names[row->type];
}

const char *base_opt_nearest(const shoal_opt *rows, size_t count, const char *name)
{
    const char *names[NAMES_MAX] = {NULL};
    size_t used = count < NAMES_MAX ? count : NAMES_MAX;

    for (size_t i = 0; i < used; i++)
        names[i] = rows[i].name;
    return base_nearest(name, names, used);
}

static shoal_status unknown_key(const shoal_opt *rows, size_t count, const char *key,
                                const char *what, shoal_err *err)
{
    const char *nearest = base_opt_nearest(rows, count, key);
    const char *names[NAMES_MAX] = {NULL};
    char list[150];

    base_err(err, SHOAL_E_INVAL, "%s has no option '%s'", what, key);
    if (nearest != NULL) {
        base_err_hint(err, "did you mean '%s'?", nearest);
    } else if (count > 0) {
        size_t used = count < NAMES_MAX ? count : NAMES_MAX;
        for (size_t i = 0; i < used; i++)
            names[i] = rows[i].name;
        join_names(names, used, list, sizeof list);
        base_err_hint(err, "it has %s", list);
    }
    return SHOAL_E_INVAL;
}

shoal_status base_opt_assign(const shoal_opt *rows, size_t count, const char *assignment,
                             const char *what, void *values, shoal_err *err)
{
    const char *equals = strchr(assignment, '=');
    const shoal_opt *row;
    char key[64];
    size_t length;

    if (equals == NULL || equals == assignment)
        return base_err(err, SHOAL_E_INVAL, "cannot read '%s' for %s: expected key=value",
                        assignment, what);
    length = (size_t)(equals - assignment);
    if (length >= sizeof key)
        length = sizeof key - 1; /* longer than any row's name: unknown, and cut in the message */
    memcpy(key, assignment, length);
    key[length] = '\0';
    row = base_opt_find(rows, count, key);
    if (row == NULL)
        return unknown_key(rows, count, key, what, err);
    return base_opt_set(row, equals + 1, values, err);
}

static void format_size(uint64_t bytes, struct base_buf *out)
{
    static const char units[] = "\0KMGT";
    size_t unit = 0;

    while (bytes != 0 && bytes % 1024 == 0 && unit + 2 < sizeof units) {
        bytes /= 1024;
        unit++;
    }
    base_buf_printf(out, "%" PRIu64, bytes);
    if (unit > 0)
        base_buf_append(out, &units[unit], 1);
}

static void format_f64(const shoal_opt *row, double value, struct base_buf *out)
{
    size_t before = out->size;

    base_json_f64(out, value);
    /* a duration with an exponent reads back as plain seconds */
    if (row->type == SHOAL_OPT_DURATION && out->size > before &&
        strchr(out->data + before, 'e') == NULL)
        base_buf_puts(out, "s");
}

static void format_list(const shoal_opt_list *list, struct base_buf *out)
{
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            base_buf_puts(out, ",");
        base_buf_puts(out, list->items[i]);
    }
}

void base_opt_format(const shoal_opt *row, const void *values, struct base_buf *out)
{
    const void *at = (const char *)values + row->offset;

    switch (row->type) {
    case SHOAL_OPT_FLAG: base_buf_puts(out, *(const bool *)at ? "true" : "false"); break;
    case SHOAL_OPT_U64: base_buf_printf(out, "%" PRIu64, *(const uint64_t *)at); break;
    case SHOAL_OPT_SIZE: format_size(*(const uint64_t *)at, out); break;
    case SHOAL_OPT_F64:
    case SHOAL_OPT_DURATION: format_f64(row, *(const double *)at, out); break;
    case SHOAL_OPT_STR:
        if (*(const char *const *)at != NULL)
            base_buf_puts(out, *(const char *const *)at);
        break;
    case SHOAL_OPT_CHOICE:
        shoal_assert(*(const uint32_t *)at < choice_count(row));
        base_buf_puts(out, row->choices[*(const uint32_t *)at]);
        break;
    case SHOAL_OPT_LIST: format_list(at, out); break;
    }
}
