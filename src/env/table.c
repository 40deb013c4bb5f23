/* table.c - tables in text files; see table.h. A row costs no allocation once there is room for its
 * cells, which are slices of the line. */
#include "env/table.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LIST_SIZE = 150 }; /* leaves room for more words in a hint */

shoal_status env_table_open(shoal_env *env, const char *what, const char *path,
                            struct env_table *table, shoal_err *err)
{
    *table = (struct env_table){.separator = ',', .err = err};
    table->status = env_lines_open(env, what, path, &table->in, err);
    return table->status;
}

shoal_status env_table_close(struct env_table *table)
{
    base_free(table->in.alloc, table->cells);
    table->cells = NULL;
    env_lines_close(&table->in);
    return table->status;
}

/* --- failures -------------------------------------------------------------------------------- */

void env_table_bad(struct env_table *table, uint32_t column, const char *format, ...)
{
    char text[256];
    va_list ap;

    if (table->status != SHOAL_OK)
        return;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    table->status = env_lines_bad(&table->in, column, table->err, "%s", text);
    if (table->ignored[0] != '\0') /* perhaps what is wanted stands there */
        base_err_hint(table->err, ENV_TABLE_IGNORED, table->ignored);
}

void env_table_expected(struct env_table *table, struct env_cell cell, const char *what)
{
    char shown[ENV_SHOWN_MAX];

    if (cell.length == 0)
        env_table_bad(table, cell.column, "expected %s, found nothing", what);
    else
        env_table_bad(table, cell.column, "expected %s, found '%s'", what,
                      env_lines_show(cell.text, cell.length, shown));
}

void env_table_hint(struct env_table *table, const char *format, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    base_err_hint(table->err, "%s", text);
}

void env_table_nomem(struct env_table *table, const char *doing)
{
    if (table->status == SHOAL_OK)
        table->status = base_err_nomem(table->err, doing);
}

/* --- cells ----------------------------------------------------------------------------------- */

struct env_cell env_cell_of(const char *text)
{
    return (struct env_cell){text, strlen(text), 0};
}

struct env_cell env_cell_trim(struct env_cell cell)
{
    for (; cell.length > 0 && cell.text[0] == ' '; cell.length--)
        cell.text++;
    while (cell.length > 0 && cell.text[cell.length - 1] == ' ')
        cell.length--;
    return cell;
}

bool env_cell_is(struct env_cell cell, const char *word)
{
    return strlen(word) == cell.length && strncasecmp(cell.text, word, cell.length) == 0;
}

bool env_cell_same(struct env_cell cell, const char *text)
{
    return strlen(text) == cell.length && memcmp(cell.text, text, cell.length) == 0;
}

struct env_cell env_table_cell(const struct env_table *table, size_t column)
{
    shoal_dassert(column < ENV_COLUMNS_MAX);
    if (table->at[column] < 0)
        return (struct env_cell){"", 0, 0};
    return table->cells[table->at[column]];
}

/* A quoted cell from the opening quote at text[at]: unescapes in place, returns where the closing
 * quote was, or `length` when it is missing. */
static size_t unquote(char *text, size_t length, size_t at, struct env_cell *cell)
{
    size_t to = at;

    cell->text = text + at;
    for (size_t i = at + 1; i < length; i++) {
        if (text[i] == '"') {
            if (i + 1 >= length || text[i + 1] != '"') {
                cell->length = to - at;
                return i;
            }
            i++;
        }
        text[to++] = text[i];
    }
    return length;
}

/* The cell that begins at text[at], and where it ends. `plain`: the whole row has no control character. */
static bool cut_one(struct env_table *table, char *text, size_t length, size_t at, bool plain,
                    size_t *out_stop)
{
    struct env_cell *cell = &table->cells[table->count++];
    char separator = table->separator;

    cell->column = (uint32_t)table->count;
    if (table->trim)
        while (at < length && text[at] == ' ')
            at++;
    if (separator == ',' && at < length && text[at] == '"') {
        size_t stop = unquote(text, length, at, cell);
        if (stop == length) {
            env_table_bad(table, cell->column, "expected a closing quote in the same line");
            return false;
        }
        for (stop++; table->trim && stop < length && text[stop] == ' ';)
            stop++;
        if (stop < length && text[stop] != separator) {
            env_table_bad(table, cell->column, "expected a comma after the closing quote");
            return false;
        }
        *out_stop = stop;
    } else {
        char *hit = at < length ? memchr(text + at, separator, length - at) : NULL;
        *out_stop = hit != NULL ? (size_t)(hit - text) : length;
        *cell = (struct env_cell){text + at, *out_stop - at, cell->column};
        if (table->trim)
            *cell = env_cell_trim(*cell);
    }
    if (!plain && base_has_control(cell->text, cell->length)) {
        env_table_bad(table, cell->column, "expected text, found a control character");
        return false;
    }
    return true;
}

static bool reserve_cell(struct env_table *table)
{
    void *cells = table->cells;

    if (table->count == ENV_CELLS_MAX) {
        env_table_bad(table, ENV_CELLS_MAX + 1, "expected at most %d fields", ENV_CELLS_MAX);
        return false;
    }
    if (base_reserve(table->in.alloc, &cells, &table->cap, table->count + 1,
                     sizeof *table->cells) != 0) {
        env_table_nomem(table, "reading a table");
        return false;
    }
    table->cells = cells;
    return true;
}

bool env_table_cut(struct env_table *table, char *text, size_t length)
{
    size_t at = 0, stop = 0;
    bool plain = !base_has_control(text, length); /* not where tabs are between cells */

    table->count = 0;
    do {
        if ((table->count == table->cap || table->count == ENV_CELLS_MAX) && !reserve_cell(table))
            return false;
        if (!cut_one(table, text, length, at, plain, &stop))
            return false;
        at = stop + 1;
    } while (stop < length);
    return true;
}

/* Of commas only: with tabs, a line may begin with any cell. */
static bool is_skipped(const struct env_table *table, const char *text, size_t length)
{
    size_t blank = 0;

    if (table->separator != ',')
        return length == 0;
    if (length > 0 && text[0] == '#')
        return true;
    while (blank < length && (text[blank] == ' ' || text[blank] == '\t'))
        blank++;
    return blank == length || (table->trim && text[blank] == '#');
}

/* The first line, which may say what the table is. */
static void check_magic(struct env_table *table, const char *text, size_t length)
{
    char expected[64];
    size_t size = table->magic != NULL ? strlen(table->magic) : 0;

    if (size > 0 && length >= size && memcmp(text, table->magic, size) == 0 &&
        !env_cell_same((struct env_cell){text + size, length - size, 0}, " v1")) {
        snprintf(expected, sizeof expected, "'%s v1'", table->magic);
        env_table_expected(table, (struct env_cell){text, length, 0}, expected);
    }
    table->magic = NULL;
}

bool env_table_next(struct env_table *table)
{
    char *text = NULL;
    size_t length = 0;

    if (table->status != SHOAL_OK)
        return false;
    do {
        shoal_status st = env_lines_next(&table->in, &text, &length, table->err);
        if (st != SHOAL_OK) {
            table->status = st == SHOAL_END ? SHOAL_OK : st;
            return false;
        }
        if (table->magic != NULL && length > 0)
            check_magic(table, text, length);
    } while (table->status == SHOAL_OK && is_skipped(table, text, length));
    if (table->status != SHOAL_OK || !env_table_cut(table, text, length))
        return false;
    if (table->width > 0 && table->count != table->width)
        env_table_bad(table, 0, "expected %zu fields, found %zu", table->width, table->count);
    return table->status == SHOAL_OK;
}

/* --- headers --------------------------------------------------------------------------------- */

bool env_table_has(const char *head, size_t size, const char *names)
{
    const char *lf = memchr(head, '\n', size), *end = lf != NULL ? lf : head + size;

    for (; end > head && (end[-1] == '\r' || end[-1] == ' ');)
        end--;
    for (size_t length = 0; *names != '\0'; names += length + (names[length] == ',')) {
        bool found = false;
        length = strcspn(names, ",");
        for (const char *at = head; at < end && !found;) {
            const char *comma = memchr(at, ',', (size_t)(end - at));
            const char *stop = comma != NULL ? comma : end;
            struct env_cell cell = env_cell_trim((struct env_cell){at, (size_t)(stop - at), 0});
            if (cell.length > 2 && cell.text[0] == '"')
                cell = env_cell_trim((struct env_cell){cell.text + 1, cell.length - 2, 0});
            found = cell.length == length && strncasecmp(cell.text, names, length) == 0;
            at = stop + 1;
        }
        if (!found)
            return false;
    }
    return true;
}

/* "a, b, c": the required columns; whole names only, "..." for those left out. */
static const char *list_required(const struct env_column *columns, size_t count,
                                 char list[LIST_SIZE])
{
    static const char more[] = ", ...";
    size_t used = 0;

    list[0] = '\0';
    for (size_t c = 0; c < count; c++) {
        if (!columns[c].required)
            continue;
        if (used + strlen(columns[c].name) + 2 + sizeof more > LIST_SIZE) {
            memcpy(list + used, more, sizeof more);
            break;
        }
        used += (size_t)snprintf(list + used, LIST_SIZE - used, "%s%s", used > 0 ? ", " : "",
                                 columns[c].name);
    }
    return list;
}

/* The column that a cell of the header may be meant for; NULL: none is like it. */
static const char *meant(const struct env_table *table, size_t count, const char *shown)
{
    const char *names[ENV_COLUMNS_MAX];
    size_t free = 0;

    for (size_t c = 0; c < count; c++)
        if (table->at[c] < 0)
            names[free++] = table->columns[c].name;
    return base_nearest(shown, names, free);
}

/* What the header has besides, in words; as many as there is room for. */
static void note_ignored(struct env_table *table, size_t count, const bool *known)
{
    char shown[ENV_SHOWN_MAX], near[ENV_SHOWN_MAX] = "";
    char *out = table->ignored;
    size_t used = 0, more = 0, size = ENV_IGNORED_MAX / 2;

    for (size_t f = 0; f < table->count; f++) {
        if (known[f])
            continue;
        env_lines_show(table->cells[f].text, table->cells[f].length, shown);
        const char *name = meant(table, count, shown);
        if (name != NULL && near[0] == '\0')
            snprintf(near, sizeof near, "%s", name);
        if (used + strlen(shown) + 5 < size)
            used +=
                (size_t)snprintf(out + used, size - used, "%s'%s'", used > 0 ? ", " : "", shown);
        else
            more++;
    }
    if (used == 0)
        return;
    if (more > 0)
        used += (size_t)snprintf(out + used, ENV_IGNORED_MAX - used, " and %zu more", more);
    used += (size_t)snprintf(out + used, ENV_IGNORED_MAX - used, " of '%.60s'", table->in.path);
    if (near[0] != '\0')
        snprintf(out + used, ENV_IGNORED_MAX - used, " (did you mean '%s'?)", near);
}

static void missing(struct env_table *table, size_t count, size_t column, const bool *known)
{
    char list[LIST_SIZE], shown[ENV_SHOWN_MAX];
    const char *name = table->columns[column].name;

    env_table_bad(table, 0, "expected a header with a column '%s'", name);
    list_required(table->columns, count, list);
    for (size_t f = 0; f < table->count; f++) {
        env_lines_show(table->cells[f].text, table->cells[f].length, shown);
        if (!known[f] && base_nearest(shown, &name, 1) != NULL) {
            env_table_hint(table, "is its '%s' meant? a header must have %s", shown, list);
            return;
        }
    }
    env_table_hint(table, "a header must have %s", list);
}

static void find_columns(struct env_table *table, size_t count, bool foreign)
{
    bool *known = base_calloc(table->in.alloc, table->count, sizeof *known);

    if (known == NULL)
        env_table_nomem(table, "reading a table");
    for (size_t f = 0; f < table->count && table->status == SHOAL_OK; f++) {
        struct env_cell *cell = &table->cells[f];
        size_t c = 0;
        *cell = env_cell_trim(*cell);
        while (c < count && !env_cell_is(*cell, table->columns[c].name))
            c++;
        known[f] = c < count;
        if (c < count && table->at[c] >= 0)
            env_table_bad(table, cell->column, "column '%s' is there twice",
                          table->columns[c].name);
        else if (c < count)
            table->at[c] = (int)f;
    }
    for (size_t c = 0; c < count && table->status == SHOAL_OK; c++)
        if (table->columns[c].required && table->at[c] < 0)
            missing(table, count, c, known);
    if (table->status == SHOAL_OK && !foreign)
        note_ignored(table, count, known);
    base_free(table->in.alloc, known);
}

bool env_table_header(struct env_table *table, const char *magic, const struct env_column *columns,
                      size_t count, bool foreign)
{
    shoal_assert(count <= ENV_COLUMNS_MAX);
    table->columns = columns;
    for (size_t c = 0; c < ENV_COLUMNS_MAX; c++)
        table->at[c] = -1;
    table->magic = magic;
    if (!env_table_next(table))
        return false;
    table->width = table->count;
    find_columns(table, count, foreign);
    return table->status == SHOAL_OK;
}

void env_table_note(const struct env_table *table, char note[ENV_IGNORED_MAX])
{
    static const char more[] = ", and of other files";
    size_t used = strlen(note);

    if (table->ignored[0] == '\0')
        return;
    if (used == 0)
        memcpy(note, table->ignored, ENV_IGNORED_MAX);
    else if (strstr(note, more) == NULL && used + sizeof more <= ENV_IGNORED_MAX)
        memcpy(note + used, more, sizeof more);
}

/* --- values ---------------------------------------------------------------------------------- */

static bool parse(struct env_cell cell, double *out)
{
    cell = env_cell_trim(cell);
    return base_parse_f64(cell.text, cell.length, out);
}

double env_table_number(struct env_table *table, struct env_cell cell, double min, double max,
                        const char *what)
{
    char expected[120];
    double value;

    if (parse(cell, &value) && value >= min && value <= max)
        return value + 0.0; /* -0 becomes 0 */
    if (isinf(max))
        snprintf(expected, sizeof expected, "%s of %g or more", what, min);
    else
        snprintf(expected, sizeof expected, "%s from %g to %g", what, min, max);
    env_table_expected(table, cell, expected);
    return 0;
}

double env_table_positive(struct env_table *table, struct env_cell cell, double max,
                          const char *what)
{
    char expected[120];
    double value;

    if (parse(cell, &value) && value > 0 && value <= max)
        return value;
    if (isinf(max))
        snprintf(expected, sizeof expected, "%s above 0", what);
    else
        snprintf(expected, sizeof expected, "%s above 0 and at most %g", what, max);
    env_table_expected(table, cell, expected);
    return 0;
}

uint64_t env_table_whole(struct env_table *table, struct env_cell cell, uint64_t min, uint64_t max,
                         const char *what)
{
    char expected[120];
    double number;
    uint64_t value;

    bool good = base_parse_u64(cell.text, cell.length, &value);
    if (!good && parse(cell, &number) && number >= 0 && number < 0x1p53 &&
        number == floor(number)) {
        value = (uint64_t)number;
        good = true;
    }
    if (good && value >= min && value <= max)
        return value;
    snprintf(expected, sizeof expected, "%s, a whole number from %llu to %llu", what,
             (unsigned long long)min, (unsigned long long)max);
    env_table_expected(table, cell, expected);
    return 0;
}
