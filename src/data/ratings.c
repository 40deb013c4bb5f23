/* ratings.c - reading ratings. One pass over the text; a line is cut at its separator, names become
 * numbers as they appear. Tests: tests/unit/data/test_ratings.c. */
#include "data/ratings.h"

#include "base/assert.h"
#include "base/err.h"
#include "data/blocks.h"
#include "data/number.h"
#include "env/table.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 1 << 20, FIELDS = 3 };
enum { USER, ITEM, VALUE };

struct field {
    const char *text;
    size_t size;
};

struct reading {
    const struct data_ratings_opts *opts;
    struct data_blocks blocks;
    struct data_ratings *ratings;
    enum data_separator separator;
    uint32_t columns; /* 2 or 3, 0: no line of data yet */
    bool any_line;    /* the first line with something in it was seen */
    bool grouped;     /* the ratings of every user so far stand together */
    uint32_t last_index;
    uint64_t last_number; /* the name of user last_index, NO_NUMBER when it is no number */
    char unquoted[FIELDS][DATA_ID_SIZE_MAX + 1];
};

static shoal_status bad(const struct reading *rd, uint32_t column, const char *expected,
                        const struct field *field, shoal_err *err)
{
    char shown[ENV_SHOWN_MAX];

    if (field == NULL || field->size == 0)
        return data_blocks_bad(&rd->blocks, rd->blocks.line + 1, column, err,
                               "expected %s, found nothing", expected);
    return data_blocks_bad(&rd->blocks, rd->blocks.line + 1, column, err, "expected %s, found '%s'",
                           expected, env_lines_show(field->text, field->size, shown));
}

/* ---- fields ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void trim(struct field *f)
{
    for (; f->size > 0 && is_blank(f->text[0]); f->size--)
        f->text++;
    while (f->size > 0 && is_blank(f->text[f->size - 1]))
        f->size--;
}

/* Where the field that begins at `s` ends: at its separator or the end of the line. */
static const char *field_end(enum data_separator separator, const char *s)
{
    switch (separator) {
    case DATA_SEPARATOR_COMMA:
        while (*s != ',' && *s != '\n')
            s++;
        break;
    case DATA_SEPARATOR_TAB:
        while (*s != '\t' && *s != '\n')
            s++;
        break;
    case DATA_SEPARATOR_COLONS:
        while (*s != '\n' && (s[0] != ':' || s[1] != ':'))
            s++;
        break;
    case DATA_SEPARATOR_SPACE:
    case DATA_SEPARATOR_AUTO:
        while (!is_blank(*s) && *s != '\n')
            s++;
        break;
    }
    return s;
}

/* Behind the separator at `s`, or NULL at the end of the line. */
static const char *skip_separator(enum data_separator separator, const char *s)
{
    if (separator == DATA_SEPARATOR_SPACE) {
        while (is_blank(*s))
            s++;
        return *s == '\n' ? NULL : s;
    }
    if (*s == '\n')
        return NULL;
    return s + (separator == DATA_SEPARATOR_COLONS ? 2 : 1);
}

/* A field in quotes from the quote at `s`: returns where it ends, blanks included, or NULL. */
static const char *unquote(struct reading *rd, uint32_t column, const char *s, struct field *out)
{
    char *to = rd->unquoted[column];
    size_t size = 0;

    for (s++;; s++) {
        if (*s == '\n' || size == DATA_ID_SIZE_MAX)
            return NULL;
        if (*s == '"' && *++s != '"')
            break;
        to[size++] = *s;
    }
    to[size] = '\n'; /* so that a number in it ends */
    *out = (struct field){to, size};
    while (is_blank(*s))
        s++;
    return *s == ',' || *s == '\n' ? s : NULL;
}

/* Up to three fields of the line at `s`. */
static shoal_status split(struct reading *rd, const char *s, struct field *fields,
                          uint32_t *out_count, shoal_err *err)
{
    uint32_t count = 0;

    while (rd->separator == DATA_SEPARATOR_SPACE && is_blank(*s))
        s++;
    while (s != NULL && count < FIELDS) {
        struct field *f = &fields[count];
        const char *from = s;
        if (rd->separator == DATA_SEPARATOR_COMMA)
            while (is_blank(*from))
                from++;
        if (rd->separator == DATA_SEPARATOR_COMMA && *from == '"') {
            s = unquote(rd, count, from, f);
            if (s == NULL)
                return bad(rd, count + 1, "a closing quote and then a comma",
                           &(struct field){from, strcspn(from, "\r\n")}, err);
        } else {
            s = field_end(rd->separator, from);
            *f = (struct field){from, (size_t)(s - from)};
            trim(f);
        }
        count++;
        s = skip_separator(rd->separator, s);
    }
    *out_count = count;
    return SHOAL_OK;
}

static bool parse_number(const struct field *f, double *out)
{
    const char *end = f->size > 0 ? data_number_parse(f->text, out) : NULL;

    return end == f->text + f->size && f->size > 0;
}

/* ---- the first line ---- */

static enum data_separator find_separator(const char *line)
{
    size_t size = strcspn(line, "\n");

    if (memchr(line, '\t', size) != NULL)
        return DATA_SEPARATOR_TAB;
    if (memchr(line, ',', size) != NULL)
        return DATA_SEPARATOR_COMMA;
    if (memmem(line, size, "::", 2) != NULL)
        return DATA_SEPARATOR_COLONS;
    return DATA_SEPARATOR_SPACE;
}

static bool is_whole(const struct field *f)
{
    for (size_t i = 0; i < f->size; i++)
        if (!data_number_digit(f->text[i]))
            return false;
    return f->size > 0;
}

/* Words where numbers are expected; with two columns only a word that begins with "user" tells. */
static bool is_header(const struct field *fields, uint32_t count)
{
    double number = 0;

    if (count < 2 || is_whole(&fields[USER]) || is_whole(&fields[ITEM]))
        return false;
    if (count == 2)
        return fields[USER].size >= 4 && strncasecmp(fields[USER].text, "user", 4) == 0;
    bool nan = fields[VALUE].size == 3 && strncasecmp(fields[VALUE].text, "nan", 3) == 0;
    return fields[VALUE].size > 0 && !nan && !parse_number(&fields[VALUE], &number);
}

/* Finds the separator and whether the line is a header. */
static shoal_status look_at_first(struct reading *rd, const char *line, shoal_err *err)
{
    struct field fields[FIELDS];
    uint32_t count = 0;

    if (strncmp(line, "%%MatrixMarket", 14) == 0)
        return bad(rd, 0, "a line USER, ITEM, VALUE", &(struct field){line, 14}, err);
    rd->separator = rd->opts->separator;
    if (rd->separator == DATA_SEPARATOR_AUTO)
        rd->separator = find_separator(line);
    shoal_status st = split(rd, line, fields, &count, err);
    if (st != SHOAL_OK)
        return st;
    rd->ratings->header = rd->opts->header == DATA_HEADER_YES ||
                          (rd->opts->header == DATA_HEADER_AUTO && is_header(fields, count));
    rd->any_line = true;
    return SHOAL_OK;
}

/* ---- lines of data ---- */

static shoal_status check_name(const struct reading *rd, uint32_t column, const struct field *f,
                               shoal_err *err)
{
    const char *what = column == USER ? "a user" : "an item";

    if (f->size == 0)
        return bad(rd, column + 1, what, NULL, err);
    if (f->size > DATA_ID_SIZE_MAX)
        return bad(rd, column + 1, "a name of at most 4096 bytes", f, err);
    for (size_t i = 0; i < f->size; i++)
        if ((unsigned char)f->text[i] < 0x20 || f->text[i] == 0x7f)
            return bad(rd, column + 1, "a name without control characters", f, err);
    return SHOAL_OK;
}

static shoal_status number_name(const struct reading *rd, uint32_t column, const struct field *f,
                                uint32_t *out, shoal_err *err)
{
    const struct data_ids *known = column == USER ? rd->opts->users : rd->opts->items;
    struct data_ids *ids = column == USER ? &rd->ratings->user_ids : &rd->ratings->item_ids;

    shoal_status st = check_name(rd, column, f, err);
    if (st != SHOAL_OK)
        return st;
    if (known != NULL) {
        *out = data_ids_find(known, f->text, f->size);
        return SHOAL_OK;
    }
    st = data_ids_add(ids, f->text, f->size, out);
    if (st == SHOAL_E_LIMIT)
        return base_err(err, st, "cannot read ratings '%s': more than 4294967294 %s",
                        rd->blocks.path, column == USER ? "users" : "items");
    return st == SHOAL_OK ? st : base_err_nomem(err, "reading ratings");
}

#define NO_NUMBER UINT64_MAX

/* Remembers the user of this line; `before` users were known before it. */
static void note_user(struct reading *rd, uint32_t index, uint32_t before, uint64_t number)
{
    if (index != rd->last_index && rd->ratings->user_ids.count == before)
        rd->grouped = false;
    rd->last_index = index;
    rd->last_number = number; /* most files have a user's ratings together: not looked up again */
}

static shoal_status number_user(struct reading *rd, const struct field *f, uint32_t *out,
                                shoal_err *err)
{
    uint32_t before = rd->ratings->user_ids.count;
    shoal_status st = number_name(rd, USER, f, out, err);

    if (st == SHOAL_OK)
        note_user(rd, *out, before, NO_NUMBER);
    return st;
}

static shoal_status parse_value(const struct reading *rd, const struct field *f, float *out,
                                shoal_err *err)
{
    double value = 0;

    if (!parse_number(f, &value))
        return bad(rd, VALUE + 1, "a finite number", f, err);
    *out = (float)value;
    if (fabsf(*out) > FLT_MAX)
        return bad(rd, VALUE + 1, "a value that a float can hold", f, err);
    return SHOAL_OK;
}

static shoal_status check_columns(struct reading *rd, uint32_t count, shoal_err *err)
{
    if (count < 2)
        return bad(rd, 2, "an item", NULL, err);
    if (rd->columns == 0) {
        rd->columns = count;
        rd->ratings->valued = count == FIELDS;
    }
    if (count < rd->columns)
        return bad(rd, VALUE + 1, "a value, as in the first line", NULL, err);
    if (count > rd->columns)
        return data_blocks_bad(&rd->blocks, rd->blocks.line + 1, VALUE + 1, err,
                               "expected 2 columns, as in the first line");
    return SHOAL_OK;
}

static shoal_status add_rating(struct reading *rd, const struct num_rating *rating, shoal_err *err)
{
    struct data_ratings *ratings = rd->ratings;
    void *data = ratings->rating;

    if (base_reserve(ratings->alloc, &data, &ratings->cap, (size_t)ratings->count + 1,
                     sizeof *rating) != 0)
        return base_err_nomem(err, "reading ratings");
    ratings->rating = data;
    ratings->rating[ratings->count++] = *rating;
    ratings->unknown += rating->user == DATA_ID_NONE || rating->item == DATA_ID_NONE;
    return SHOAL_OK;
}

static shoal_status add_line(struct reading *rd, const char *line, shoal_err *err)
{
    struct num_rating rating = {.value = 1.0f};
    struct field fields[FIELDS];
    uint32_t count = 0;

    shoal_status st = split(rd, line, fields, &count, err);
    if (st == SHOAL_OK)
        st = check_columns(rd, count, err);
    if (st == SHOAL_OK && rd->columns == FIELDS)
        st = parse_value(rd, &fields[VALUE], &rating.value, err);
    if (st == SHOAL_OK)
        st = number_user(rd, &fields[USER], &rating.user, err);
    if (st == SHOAL_OK)
        st = number_name(rd, ITEM, &fields[ITEM], &rating.item, err);
    return st == SHOAL_OK ? add_rating(rd, &rating, err) : st;
}

/* ---- the usual line: NUMBER,NUMBER,VALUE ---- */

/* A whole number as data_ids keeps it, and the separator behind it; NULL when it is anything
 * else. */
static const char *quick_name(const char *s, char separator, uint64_t *out)
{
    const char *first = s;
    uint64_t n = 0;

    while (data_number_digit(*s))
        n = n * 10 + (uint64_t)(*s++ - '0');
    *out = n;
    ptrdiff_t digits = s - first;
    bool good = digits > 0 && digits <= 18 && (*first != '0' || digits == 1) && *s == separator;
    return good ? s + 1 : NULL;
}

static shoal_status quick_number(const struct data_ids *known, struct data_ids *ids, uint64_t name,
                                 uint32_t *out)
{
    if (known == NULL)
        return data_ids_add_number(ids, name, out);
    *out = data_ids_find_number(known, name);
    return SHOAL_OK;
}

/* The line at `s` into *out; false leaves it to add_line, which also knows what may be wrong. */
static bool quick_line(struct reading *rd, const char *s, struct num_rating *out)
{
    char separator = rd->separator == DATA_SEPARATOR_COMMA ? ',' : '\t';
    uint64_t user = 0, item = 0;
    double value = 0;
    struct data_ratings *ratings = rd->ratings;

    s = quick_name(s, separator, &user);
    if (s != NULL)
        s = quick_name(s, separator, &item);
    if (s != NULL)
        s = data_number_parse(s, &value);
    if (s == NULL || (*s != separator && *s != '\n' && (*s != '\r' || s[1] != '\n')) ||
        fabs(value) > FLT_MAX)
        return false;
    out->value = (float)value;
    if (rd->last_number == user && rd->last_index != DATA_ID_NONE) {
        out->user = rd->last_index;
    } else {
        uint32_t before = ratings->user_ids.count;
        if (quick_number(rd->opts->users, &ratings->user_ids, user, &out->user) != SHOAL_OK)
            return false;
        note_user(rd, out->user, before, user);
    }
    return quick_number(rd->opts->items, &ratings->item_ids, item, &out->item) == SHOAL_OK;
}

static shoal_status read_line(struct reading *rd, const char *line, shoal_err *err)
{
    struct num_rating rating;

    if (rd->columns == FIELDS &&
        (rd->separator == DATA_SEPARATOR_COMMA || rd->separator == DATA_SEPARATOR_TAB) &&
        quick_line(rd, line, &rating))
        return add_rating(rd, &rating, err);
    return add_line(rd, line, err);
}

static shoal_status read_block(struct reading *rd, const char *text, size_t size, shoal_err *err)
{
    const char *end = text + size;
    shoal_status st = SHOAL_OK;

    for (; text < end && st == SHOAL_OK; rd->blocks.line++) {
        const char *line = text;
        while (is_blank(*text))
            text++;
        if (*text != '\n') {
            bool first = !rd->any_line;
            /* a leading tab means an empty first field, other blanks mean nothing */
            line = *line == '\t' ? line : text;
            if (first)
                st = look_at_first(rd, line, err);
            if (st == SHOAL_OK && !(first && rd->ratings->header))
                st = read_line(rd, line, err);
            if (st != SHOAL_OK)
                return st;
            text = memchr(text, '\n', (size_t)(end - text));
        }
        text++;
    }
    return st;
}

/* ---- the same pair twice ----
 *
 * Finding the same user and item twice among any number of ratings.
 *
 * Where a user's ratings stand together, one array with a place per item tells: where the item was
 * last seen and of whom, which counts when that was the same user. So ratings are read in their
 * order, also where they lie on a disk. Where they do not stand together, users are taken in
 * batches of about an eighth of the ratings, whose places are first collected by user. Nothing is
 * ever reset. A repetition is marked by a NaN, which no file can hold, and squeezed out at the end.
 * Cost: at most nine passes. Workspace: 16 bytes an item, 12 a user, 1 a rating. */

enum { BATCHES = 8, BATCH_MIN = 1 << 16 };

struct sighting {
    uint64_t place; /* + 1; 0: none */
    uint32_t user;
};

struct work {
    const struct base_alloc *alloc;
    struct data_ratings *ratings;
    struct sighting *seen; /* (items) the last one */
    uint64_t *start;       /* (users + 1) while collecting */
    uint64_t *places;      /* of the batch, by user */
};

static bool is_known(const struct num_rating *r)
{
    return r->user != DATA_ID_NONE && r->item != DATA_ID_NONE;
}

static void look_at(struct work *w, uint64_t place)
{
    struct num_rating *rating = &w->ratings->rating[place];
    struct sighting *seen = &w->seen[rating->item];

    if (seen->place != 0 && seen->user == rating->user) {
        w->ratings->rating[seen->place - 1].value = rating->value;
        rating->value = NAN;
        w->ratings->replaced++;
    } else {
        *seen = (struct sighting){place + 1, rating->user};
    }
}

/* Collects the places of users [from, to) in `places`, where user u has start[u] - start[from]. */
static void collect(struct work *w, uint32_t from, uint32_t to)
{
    const struct data_ratings *ratings = w->ratings;
    uint64_t first = w->start[from];

    for (uint64_t i = 0; i < ratings->count; i++) {
        const struct num_rating *r = &ratings->rating[i];
        if (is_known(r) && r->user >= from && r->user < to)
            w->places[w->start[r->user]++ - first] = i;
    }
}

/* start[u] is where the ratings of user u begin when sorted by user; returns the most of one
 * user. */
static uint64_t count_users(struct work *w)
{
    const struct data_ratings *ratings = w->ratings;
    uint64_t sum = 0, most = 0;

    for (uint64_t i = 0; i < ratings->count; i++)
        if (is_known(&ratings->rating[i]))
            w->start[ratings->rating[i].user]++;
    for (uint32_t u = 0; u <= ratings->users; u++) {
        uint64_t count = w->start[u];
        w->start[u] = sum;
        sum += count;
        most = count > most ? count : most;
    }
    return most;
}

static shoal_status by_batches(struct work *w)
{
    uint32_t users = w->ratings->users;

    w->start = base_calloc(w->alloc, (size_t)users + 1, sizeof *w->start);
    if (w->start == NULL)
        return SHOAL_E_NOMEM;
    uint64_t most = count_users(w), batch = w->ratings->count / BATCHES + BATCH_MIN;
    batch = most > batch ? most : batch;
    w->places = base_malloc(w->alloc, (size_t)batch * sizeof *w->places);
    if (w->places == NULL)
        return SHOAL_E_NOMEM;
    for (uint32_t from = 0, to = 0; from < users; from = to) {
        uint64_t first = w->start[from];
        while (to < users && w->start[to + 1] - first <= batch)
            to++;
        uint64_t count = w->start[to] - first;
        shoal_assert(to > from);
        collect(w, from, to);
        for (uint64_t i = 0; i < count; i++)
            look_at(w, w->places[i]);
    }
    return SHOAL_OK;
}

static void squeeze(struct data_ratings *ratings)
{
    uint64_t kept = 0;

    for (uint64_t i = 0; i < ratings->count; i++)
        if (!isnan(ratings->rating[i].value))
            ratings->rating[kept++] = ratings->rating[i];
    ratings->count = kept;
}

/* Leaves each user and item once: the last value, at the place of the first. `grouped` says that the ratings of
 * every user stand together. Ratings with a DATA_ID_NONE are left alone. */
static shoal_status drop_repeated(struct data_ratings *ratings, bool grouped, shoal_err *err)
{
    struct work w = {.alloc = ratings->alloc, .ratings = ratings};
    shoal_status st = SHOAL_OK;

    w.seen = base_calloc(w.alloc, (size_t)ratings->items + 1, sizeof *w.seen);
    if (w.seen == NULL) {
        st = SHOAL_E_NOMEM;
    } else if (grouped) {
        for (uint64_t i = 0; i < ratings->count; i++)
            if (is_known(&ratings->rating[i]))
                look_at(&w, i);
    } else {
        st = by_batches(&w);
    }
    base_free(w.alloc, w.seen);
    base_free(w.alloc, w.start);
    base_free(w.alloc, w.places);
    if (st != SHOAL_OK)
        return base_err_nomem(err, "looking for repeated ratings");
    if (ratings->replaced > 0)
        squeeze(ratings);
    return SHOAL_OK;
}

/* ---- the whole file ---- */

static shoal_status read_all(struct reading *rd, shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    while (st == SHOAL_OK) {
        const char *text = NULL;
        size_t size = 0;
        st = data_blocks_next(&rd->blocks, &text, &size, err);
        if (st == SHOAL_OK)
            st = read_block(rd, text, size, err);
    }
    if (st != SHOAL_END)
        return st;
    struct data_ratings *ratings = rd->ratings;
    if (ratings->count == 0)
        return base_err(err, SHOAL_E_FORMAT, "cannot read ratings '%s': no ratings in it",
                        rd->blocks.path);
    bool known = rd->opts->users != NULL;
    ratings->users = known ? rd->opts->users->count : ratings->user_ids.count;
    ratings->items = known ? rd->opts->items->count : ratings->item_ids.count;
    if (rd->opts->keep_repeated)
        return SHOAL_OK;
    return drop_repeated(ratings, rd->grouped && !known, err);
}

static void shrink(struct data_ratings *ratings)
{
    size_t count = (size_t)ratings->count;
    void *less = base_realloc(ratings->alloc, ratings->rating, count * sizeof *ratings->rating);

    if (less == NULL)
        return;
    ratings->rating = less;
    ratings->cap = count;
}

shoal_status data_ratings_load(shoal_env *env, const char *path,
                               const struct data_ratings_opts *opts, struct data_ratings *out,
                               shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
    struct data_ratings_opts defaults = {0};
    struct data_ratings ratings = {.alloc = alloc};
    struct reading *rd = NULL;

    opts = opts != NULL ? opts : &defaults;
    if ((opts->users == NULL) != (opts->items == NULL))
        return base_err(err, SHOAL_E_INVAL, "known users and known items come together");
    rd = base_malloc(alloc, sizeof *rd);
    if (rd == NULL)
        return base_err_nomem(err, "reading ratings");
    memset(rd, 0, offsetof(struct reading, unquoted));
    data_ids_init(&ratings.user_ids, alloc);
    data_ids_init(&ratings.item_ids, alloc);
    rd->opts = opts;
    rd->ratings = &ratings;
    rd->grouped = true;
    rd->last_index = DATA_ID_NONE;
    rd->last_number = NO_NUMBER;
    shoal_status st =
        data_blocks_open(env, "ratings", path, BLOCK, opts->bytes_done, &rd->blocks, err);
    if (st == SHOAL_OK) {
        st = read_all(rd, err);
        data_blocks_close(&rd->blocks);
    }
    base_free(alloc, rd);
    if (st == SHOAL_OK) {
        shrink(&ratings);
        *out = ratings;
        ratings = (struct data_ratings){0};
    }
    data_ratings_fini(&ratings);
    return st;
}

void data_ratings_fini(struct data_ratings *ratings)
{
    if (ratings->alloc == NULL)
        return;
    base_free(ratings->alloc, ratings->rating);
    data_ids_fini(&ratings->user_ids);
    data_ids_fini(&ratings->item_ids);
    *ratings = (struct data_ratings){0};
}
