/* learnt.c - see learnt.h. What applications give is copied whole, since their tables go with the job. */
#include "train/learnt.h"

#include "base/err.h"
#include "page/record.h"
#include <stddef.h>
#include <string.h>

void train_learnt_init(struct train_learnt *l, const struct base_alloc *alloc, bool shown)
{
    *l = (struct train_learnt){.made = page_made_new(alloc), .shown = shown};
}

void train_learnt_fini(struct train_learnt *l)
{
    page_made_free(l->made);
    l->made = NULL;
}

/* ---- lines and settings ---- */

/* An array of the result's, twice as large: what it was stays with the result. False: memory is short. */
static bool grow(struct page_made *made, void *array, size_t *cap, size_t count, size_t size)
{
    void *old, *new;

    if (count < *cap)
        return true;
    memcpy(&old, array, sizeof old);
    new = page_made_alloc(made, 2 * *cap + 16, size);
    if (new == NULL)
        return false;
    if (count > 0)
        memcpy(new, old, count * size);
    *cap = 2 * *cap + 16;
    memcpy(array, &new, sizeof new);
    return true;
}

static const char *copy_text(struct page_made *made, const char *text)
{
    return text == NULL ? NULL : page_made_text(made, "%s", text);
}

void train_learnt_say(struct train_learnt *l, const char *line)
{
    if (grow(l->made, &l->said, &l->said_cap, l->said_count, sizeof *l->said))
        l->said[l->said_count++] = copy_text(l->made, line);
}

void train_learnt_set(struct train_learnt *l, const char *key, const char *value)
{
    if (grow(l->made, &l->settings, &l->setting_cap, l->setting_count, sizeof *l->settings))
        l->settings[l->setting_count++] =
            (struct train_setting){copy_text(l->made, key), copy_text(l->made, value)};
}

const char *train_learnt_setting(const struct train_learnt *l, const char *key)
{
    for (size_t i = l->setting_count; i-- > 0;)
        if (strcmp(l->settings[i].key, key) == 0)
            return l->settings[i].value;
    return NULL;
}

/* ---- lists ---- */

static const void *copy_array(struct page_made *made, const void *from, size_t count, size_t size)
{
    void *to = from == NULL ? NULL : page_made_alloc(made, count, size);

    if (to != NULL && count > 0)
        memcpy(to, from, count * size);
    return to;
}

static const char *const *copy_texts(struct page_made *made, const char *const *from, size_t count)
{
    const char **to = from == NULL ? NULL : page_made_alloc(made, count, sizeof *to);

    for (size_t i = 0; to != NULL && i < count; i++)
        to[i] = copy_text(made, from[i]);
    return (const char *const *)to;
}

/* What a member of a record points at. */
static void copy_member(struct page_made *made, const shoal_field *field, void *record)
{
    void *at = (char *)record + field->offset;

    if (field->type == SHOAL_FIELD_TEXT || field->type == SHOAL_FIELD_JSON) {
        const char **text = at;
        *text = copy_text(made, *text);
    } else if (field->type == SHOAL_FIELD_NUMBERS || field->type == SHOAL_FIELD_MAP) {
        shoal_numbers *numbers = at;
        numbers->values = copy_array(made, numbers->values, numbers->count, sizeof(double));
        numbers->names = copy_texts(made, numbers->names, numbers->count);
    } else if (field->type == SHOAL_FIELD_TEXTS) {
        shoal_texts *texts = at;
        texts->items = copy_texts(made, texts->items, texts->count);
    }
}

static shoal_status check_schema(const struct train_learnt *l, const shoal_schema *schema,
                                 shoal_err *err)
{
    if (schema == NULL || schema->name == NULL || schema->title == NULL ||
        schema->field_count == 0 || schema->fields == NULL)
        return base_err(err, SHOAL_E_INVAL, "records have a schema with a name and a title");
    for (size_t i = 0; i < schema->field_count; i++)
        if (schema->fields[i].type > SHOAL_FIELD_JSON ||
            schema->fields[i].type == SHOAL_FIELD_RECORD ||
            schema->fields[i].type == SHOAL_FIELD_RECORDS ||
            schema->fields[i].type == SHOAL_FIELD_KEYED)
            return base_err(err, SHOAL_E_INVAL, "records of '%s' have no records in them",
                            schema->name);
    for (size_t i = 0; i < l->list_count; i++)
        if (strcmp(l->list[i].schema->name, schema->name) == 0)
            return base_err(err, SHOAL_E_INVAL, "two lists are called '%s'", schema->name);
    if (l->list_count == TRAIN_LISTS_MAX)
        return base_err(err, SHOAL_E_LIMIT, "more than %d lists", TRAIN_LISTS_MAX);
    return SHOAL_OK;
}

shoal_status train_learnt_list(struct train_learnt *l, const shoal_schema *schema,
                               const shoal_records *records, shoal_err *err)
{
    max_align_t scratch[PAGE_RECORD_BYTES / sizeof(max_align_t)];
    shoal_status st = check_schema(l, schema, err);
    char *all;

    if (st == SHOAL_OK && records->fill != NULL && records->stride > sizeof scratch)
        st = base_err(err, SHOAL_E_INVAL, "a record of '%s' has more than %zu bytes", schema->name,
                      sizeof scratch);
    if (st != SHOAL_OK)
        return st;
    all = page_made_alloc(l->made, records->count, records->stride);
    if (all == NULL)
        return base_err_nomem(err, "keeping what was learnt");
    for (size_t i = 0; i < records->count; i++) {
        char *record = all + i * records->stride;
        memcpy(record, page_record(records, i, scratch), records->stride);
        for (size_t f = 0; f < schema->field_count; f++)
            copy_member(l->made, &schema->fields[f], record);
    }
    l->list[l->list_count++] = (struct train_list){schema,
                                                   {.first = all,
                                                    .stride = records->stride,
                                                    .count = records->count,
                                                    .hidden = records->hidden}};
    return SHOAL_OK;
}

/* ---- pictures ---- */

static shoal_status check_picture(const struct train_learnt *l, const shoal_picture *p,
                                  shoal_err *err)
{
    static const char GOOD[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

    if (p == NULL || p->name == NULL || p->title == NULL || p->type > SHOAL_PICTURE_LANES ||
        p->name[0] == '\0' || p->name[strspn(p->name, GOOD)] != '\0')
        return base_err(err, SHOAL_E_INVAL, "a picture has a title, and a name of a-z, 0-9 and -");
    for (size_t i = 0; l->made != NULL && i < l->made->result.picture_count; i++)
        if (strcmp(l->made->pictures[i].name, p->name) == 0)
            return base_err(err, SHOAL_E_INVAL, "two pictures are called '%s'", p->name);
    for (size_t i = 0; i < p->rect_count; i++)
        if (p->rects[i].lane >= p->labels.count)
            return base_err(err, SHOAL_E_INVAL, "picture '%s' has no lane %u", p->name,
                            p->rects[i].lane);
    if (l->made != NULL && l->made->result.picture_count == TRAIN_PICTURES_MAX)
        return base_err(err, SHOAL_E_LIMIT, "more than %d pictures", TRAIN_PICTURES_MAX);
    return SHOAL_OK;
}

static void copy_axis(struct page_made *made, shoal_axis *axis)
{
    axis->title = copy_text(made, axis->title);
}

static void copy_series(struct page_made *made, shoal_series *s)
{
    s->name = copy_text(made, s->name);
    s->x = copy_array(made, s->x, s->count, sizeof *s->x);
    s->y = copy_array(made, s->y, s->count, sizeof *s->y);
    s->low = copy_array(made, s->low, s->count, sizeof *s->low);
    s->high = copy_array(made, s->high, s->count, sizeof *s->high);
    s->texts = copy_texts(made, s->texts, s->count);
}

static void copy_parts(struct page_made *made, shoal_picture *p)
{
    shoal_series *series =
        (void *)(uintptr_t)copy_array(made, p->series, p->series_count, sizeof *series);
    shoal_rect *rects = (void *)(uintptr_t)copy_array(made, p->rects, p->rect_count, sizeof *rects);
    shoal_mark *marks = (void *)(uintptr_t)copy_array(made, p->marks, p->mark_count, sizeof *marks);

    for (size_t i = 0; series != NULL && i < p->series_count; i++)
        copy_series(made, &series[i]);
    for (size_t i = 0; rects != NULL && i < p->rect_count; i++)
        rects[i].text = copy_text(made, rects[i].text);
    for (size_t i = 0; marks != NULL && i < p->mark_count; i++)
        marks[i].text = copy_text(made, marks[i].text);
    p->series = series;
    p->rects = rects;
    p->marks = marks;
    p->heights = copy_array(made, p->heights, p->labels.count, sizeof *p->heights);
    p->labels.items = copy_texts(made, p->labels.items, p->labels.count);
}

shoal_status train_learnt_picture(struct train_learnt *l, const shoal_picture *picture,
                                  shoal_err *err)
{
    shoal_status st = check_picture(l, picture, err);
    shoal_picture *p;

    if (st != SHOAL_OK)
        return st;
    p = page_picture(l->made, picture->type, "", "", NULL, 0);
    if (p == NULL)
        return base_err_nomem(err, "keeping what was learnt");
    *p = *picture;
    p->name = copy_text(l->made, p->name);
    p->title = copy_text(l->made, p->title);
    p->note = copy_text(l->made, p->note);
    p->after = l->list_count == 0 ? "" : l->list[l->list_count - 1].schema->name;
    copy_axis(l->made, &p->x);
    copy_axis(l->made, &p->y);
    copy_parts(l->made, p);
    return l->made->status == SHOAL_OK ? SHOAL_OK : base_err_nomem(err, "keeping what was learnt");
}
