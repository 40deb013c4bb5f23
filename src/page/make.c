/* make.c - see make.h. */
#include "page/make.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/event.h"
#include "base/opt.h"
#include "page/field.h"
#include "page/show.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 1 << 20, ARENA_BLOCK = 1 << 14 };

struct page_made *page_made_new(const struct base_alloc *alloc)
{
    struct page_made *made = base_calloc(alloc, 1, sizeof *made);

    if (made == NULL)
        return NULL;
    made->result.struct_size = sizeof made->result;
    base_arena_init(&made->arena, alloc, ARENA_BLOCK);
    base_buf_init(&made->heading, alloc, WORDS_MAX);
    base_buf_init(&made->verdict, alloc, WORDS_MAX);
    return made;
}

void page_made_free(struct page_made *made)
{
    if (made == NULL)
        return;
    const struct base_alloc *alloc = made->arena.alloc;
    if (made->release != NULL)
        made->release(made->owned);
    base_free(alloc, made->notes);
    base_free(alloc, made->pictures);
    base_buf_fini(&made->heading);
    base_buf_fini(&made->verdict);
    base_arena_fini(&made->arena);
    base_free(alloc, made);
}

void shoal_result_free(const shoal_result *result)
{
    page_made_free((struct page_made *)(uintptr_t)result);
}

void page_made_own(struct page_made *made, void (*release)(void *owned), void *owned)
{
    if (made == NULL) {
        release(owned);
        return;
    }
    made->release = release;
    made->owned = owned;
}

void *page_made_alloc(struct page_made *made, size_t count, size_t size)
{
    void *memory =
        made == NULL ? NULL : base_arena_calloc(&made->arena, count > 0 ? count : 1, size);

    if (memory == NULL && made != NULL)
        made->status = SHOAL_E_NOMEM;
    return memory;
}

static const char *format_text(struct page_made *made, const char *format, va_list args)
{
    va_list again;
    char *text;
    int size;

    va_copy(again, args);
    size = vsnprintf(NULL, 0, format, again);
    va_end(again);
    text = size < 0 ? NULL : page_made_alloc(made, (size_t)size + 1, 1);
    if (text == NULL)
        return "";
    (void)vsnprintf(text, (size_t)size + 1, format, args);
    return text;
}

const char *page_made_text(struct page_made *made, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *text = format_text(made, format, args);
    va_end(args);
    return text;
}

void page_made_head(struct page_made *made, const char *format, ...)
{
    va_list args;

    if (made == NULL)
        return;
    va_start(args, format);
    base_buf_puts(&made->heading, format_text(made, format, args));
    va_end(args);
}

void page_made_say(struct page_made *made, const char *format, ...)
{
    va_list args;

    if (made == NULL)
        return;
    va_start(args, format);
    base_buf_puts(&made->verdict, format_text(made, format, args));
    va_end(args);
}

void page_made_note(struct page_made *made, shoal_note_level level, const char *format, ...)
{
    void *notes;
    va_list args;

    if (made == NULL)
        return;
    notes = made->notes;
    if (base_reserve(made->arena.alloc, &notes, &made->note_cap, made->result.note_count + 1,
                     sizeof *made->notes) != 0) {
        made->status = SHOAL_E_NOMEM;
        return;
    }
    made->notes = notes;
    va_start(args, format);
    made->notes[made->result.note_count++] =
        (shoal_note){.level = level, .text = format_text(made, format, args)};
    va_end(args);
}

const char *page_made_value(struct page_made *made, shoal_unit unit, double value)
{
    char text[48];

    return page_made_text(made, "%s", page_unit_text(unit, value, text, sizeof text));
}

const char *page_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- pictures ---- */

shoal_picture *page_picture(struct page_made *made, shoal_picture_type type, const char *name,
                            const char *title, const char *note, size_t series)
{
    shoal_series *room = page_made_alloc(made, series, sizeof *room);

    if (room == NULL)
        return NULL;
    void *pictures = made->pictures;
    if (base_reserve(made->arena.alloc, &pictures, &made->picture_cap,
                     made->result.picture_count + 1, sizeof *made->pictures) != 0) {
        made->status = SHOAL_E_NOMEM;
        return NULL;
    }
    made->pictures = pictures;
    shoal_picture *picture = &made->pictures[made->result.picture_count++];
    *picture =
        (shoal_picture){.type = type, .name = name, .title = title, .note = note, .series = room};
    return picture;
}

shoal_series *page_series(struct page_made *made, shoal_picture *picture, const char *name,
                          uint32_t colour, size_t points)
{
    float *x = points == 0 ? NULL : page_made_alloc(made, points, sizeof *x);
    float *y = points == 0 ? NULL : page_made_alloc(made, points, sizeof *y);
    shoal_series *series = (shoal_series *)(uintptr_t)&picture->series[picture->series_count];

    if (points > 0 && (x == NULL || y == NULL))
        return NULL;
    *series = (shoal_series){.name = name, .x = x, .y = y, .colour = colour};
    picture->series_count++;
    return series;
}

void page_point(shoal_series *series, double x, double y)
{
    ((float *)(uintptr_t)series->x)[series->count] = (float)x;
    ((float *)(uintptr_t)series->y)[series->count++] = (float)y;
}

float *page_values(struct page_made *made, shoal_picture *picture, const char *name,
                   uint32_t colour, size_t count)
{
    shoal_series *series = page_series(made, picture, name, colour, count);

    if (series == NULL)
        return NULL;
    series->x = NULL;
    series->count = count;
    return (float *)(uintptr_t)series->y;
}

/* ---- finishing ---- */

shoal_status page_made_finish(struct page_made *made, const shoal_result **out_result,
                              shoal_err *err)
{
    shoal_status st = made == NULL ? SHOAL_E_NOMEM : made->status;

    if (st == SHOAL_OK)
        st = base_buf_status(&made->heading);
    if (st == SHOAL_OK)
        st = base_buf_status(&made->verdict);
    if (st != SHOAL_OK) {
        page_made_free(made);
        return base_err_nomem(err, "making a result");
    }
    made->result.heading = made->heading.data;
    made->result.verdict = made->verdict.data;
    made->result.notes = made->notes;
    made->result.pictures = made->pictures;
    *out_result = &made->result;
    return SHOAL_OK;
}

/* ---- option rows ---- */

struct option {
    const char *key, *type, *fallback, *help;
    bool common;
    const char *min, *max; /* as JSON; NULL: any value */
    shoal_texts choices;
    const char *shown, *shown_fallback; /* "rounds=1..20", "[10]" */
};

#define ROW struct option
static const shoal_field option_fields[] = {
    COLUMN(shown, "  KEY=VALUE", NONE, 0, 1, NULL),
    COLUMN(shown_fallback, "DEFAULT", NONE, 0, 1, NULL),
    DATA(key, NONE, 0, "its name"),
    DATA(type, NONE, 0, "type of its value"),
    DATA_NAMED(fallback, "default", NONE, 0, "its default"),
    FIELD(help, "MEANING", NONE, 0, 1, "what it means", WRAPPED),
    DATA(common, NONE, 0, "others have it, too"),
    DATA_AS(JSON, min, "min", NONE, 0, "its least value", OPTIONAL),
    DATA_AS(JSON, max, "max", NONE, 0, "its largest; null: none", OPTIONAL),
    DATA(choices, NONE, 0, "its values", OPTIONAL),
};
#undef ROW

const shoal_schema page_option_schema = SCHEMA_OF("option", NULL, "An option.", option_fields);

static bool is_open(const shoal_opt *row)
{
    return isinf(row->max) || (row->type != SHOAL_OPT_F64 && row->max >= 0x1p64);
}

/* As people write it: 1000000, 1e15, 1e-9. */
static const char *bound_text(double bound, char *buf, size_t size)
{
    (void)snprintf(buf, size, "%g", bound);
    if (fabs(bound) < 1e7 || strtod(buf, NULL) != bound)
        (void)snprintf(buf, size, "%.15g", bound);
    char *e = strchr(buf, 'e');
    if (e == NULL)
        return buf;
    char *digits = e + 2 + strspn(e + 2, "0");
    e += e[1] == '-' ? 2 : 1;
    memmove(e, digits, strlen(digits) + 1);
    return buf;
}

static const char *json_number(struct page_made *made, double value)
{
    struct base_buf text;

    base_buf_init(&text, &base_alloc_libc, 64);
    base_json_f64(&text, value);
    const char *copy = page_made_text(made, "%s", text.data == NULL ? "null" : text.data);
    base_buf_fini(&text);
    return copy;
}

/* What stands for its value: "1..20", "a|b", "BOOL", "TIME". */
static const char *value_text(struct page_made *made, const shoal_opt *row)
{
    char low[32], high[32];
    const char *text = "";

    if (row->min != 0 || row->max != 0)
        return page_made_text(made, "%s..%s", bound_text(row->min, low, sizeof low),
                              is_open(row) ? "" : bound_text(row->max, high, sizeof high));
    if (row->type == SHOAL_OPT_FLAG)
        return "BOOL";
    if (row->type != SHOAL_OPT_CHOICE)
        return row->meta != NULL ? row->meta : "VALUE";
    for (size_t i = 0; row->choices[i] != NULL; i++)
        text = page_made_text(made, "%s%s%s", text, i > 0 ? "|" : "", row->choices[i]);
    return text;
}

shoal_records page_made_options(struct page_made *made, const shoal_opt *rows, size_t count,
                                bool common)
{
    struct option *options = page_made_alloc(made, count, sizeof *options);

    for (size_t i = 0; i < count && options != NULL; i++) {
        const shoal_opt *row = &rows[i];
        const char *fallback = base_opt_fallback(row);
        bool bounded = row->min != 0 || row->max != 0;
        size_t choices = 0;
        while (row->type == SHOAL_OPT_CHOICE && row->choices[choices] != NULL)
            choices++;
        options[i] = (struct option){
            .key = page_made_text(made, "%s", row->name),
            .type = base_opt_type_name(row),
            .fallback = fallback != NULL ? page_made_text(made, "%s", fallback) : NULL,
            .help = page_made_text(made, "%s", row->help),
            .common = common,
            .min = bounded ? json_number(made, row->min) : NULL,
            .max = !bounded       ? NULL
                   : is_open(row) ? "null"
                                  : json_number(made, row->max),
            .choices = {choices > 0 ? row->choices : NULL, choices},
            .shown = page_made_text(made, "  %s=%s", row->name, value_text(made, row)),
            .shown_fallback = page_made_text(made, "[%s]", fallback != NULL ? fallback : ""),
        };
    }
    return (shoal_records){
        .first = options, .stride = sizeof *options, .count = options != NULL ? count : 0};
}
