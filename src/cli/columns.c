/* columns.c - see columns.h. Tests: tests/unit/cli/test_columns.c. */
#include "cli/columns.h"

#include "base/assert.h"
#include <stdarg.h>
#include <string.h>

enum { TEXT_MAX = 64 << 20, COLUMNS_MAX = 32, GAP = 2, CUT_MIN = 8, WRAP_MIN = 20 };

/* One code point; returns the bytes it took, at least 1. Bytes that are not UTF-8 give U+FFFD. */
static size_t decode(const char *text, uint32_t *out_point)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t extra = p[0] >= 0xf0 && p[0] < 0xf5   ? 3
                   : p[0] >= 0xe0 && p[0] < 0xf0 ? 2
                                                 : p[0] >= 0xc2 && p[0] < 0xe0;
    uint32_t point = p[0];

    *out_point = 0xfffd;
    if (p[0] < 0x80) {
        *out_point = p[0];
        return 1;
    }
    if (extra == 0)
        return 1;
    point &= 0x3fU >> extra;
    for (size_t i = 1; i <= extra; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 1;
        point = point << 6 | (p[i] & 0x3fU);
    }
    *out_point = point;
    return extra + 1;
}

struct range {
    uint32_t first, last;
};

static bool in_ranges(uint32_t point, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    return false;
}

/* The ranges that matter for names and labels: combining marks take no column, East Asian and emoji
 * take two. */
static size_t point_width(uint32_t point)
{
    static const struct range none[] = {
        {0x300, 0x36f}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}};
    static const struct range wide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},  {0x3041, 0xa4cf},
                                        {0xac00, 0xd7a3},   {0xf900, 0xfaff},  {0xfe30, 0xfe4f},
                                        {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f},
                                        {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

    if (point < 0x300)
        return 1;
    if (in_ranges(point, none, BASE_COUNT(none)))
        return 0;
    return in_ranges(point, wide, BASE_COUNT(wide)) ? 2 : 1;
}

size_t cli_columns_fit(const char *text, size_t width, size_t *out_columns)
{
    size_t at = 0, used = 0;

    while (text[at] != '\0') {
        uint32_t point;
        size_t bytes = decode(text + at, &point);
        size_t columns = point_width(point);
        if (used + columns > width)
            break;
        used += columns;
        at += bytes;
    }
    *out_columns = used;
    return at;
}

size_t cli_columns_width(const char *text)
{
    size_t width = 0;

    while (*text != '\0') {
        uint32_t point;
        text += decode(text, &point);
        width += point_width(point);
    }
    return width;
}

void cli_columns_init(struct cli_columns *table, const struct cli_context *cx, const char *aligns)
{
    memset(table, 0, sizeof *table);
    table->cx = cx;
    table->aligns = aligns;
    table->column_count = strlen(aligns);
    shoal_assert(table->column_count > 0 && table->column_count <= COLUMNS_MAX);
    base_buf_init(&table->text, env_alloc(cx->env), TEXT_MAX);
}

void cli_columns_fini(struct cli_columns *table)
{
    base_free(env_alloc(table->cx->env), table->cells);
    base_buf_fini(&table->text);
}

/* A cell is one line and cannot drive the terminal. */
static void clean(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

void cli_columns_cell(struct cli_columns *table, enum cli_style style, const char *format, ...)
{
    char text[1024];
    void *cells = table->cells;
    struct cli_cell *cell;
    va_list args;

    if (table->status != SHOAL_OK)
        return;
    if (base_reserve(env_alloc(table->cx->env), &cells, &table->cap, table->count + 1,
                     sizeof *cell) != 0) {
        table->status = SHOAL_E_NOMEM;
        return;
    }
    table->cells = cells;
    cell = &table->cells[table->count++];
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    clean(text);
    *cell = (struct cli_cell){table->text.size, cli_columns_width(text), style};
    base_buf_append(&table->text, text, strlen(text) + 1);
    table->status = base_buf_status(&table->text);
}

static void style_begin(const struct cli_context *cx, enum cli_style style)
{
    if (cx->color && style != CLI_PLAIN)
        fputs(style == CLI_BOLD ? "\033[1m" : "\033[2m", cx->out);
}

static void style_end(const struct cli_context *cx, enum cli_style style)
{
    if (cx->color && style != CLI_PLAIN)
        fputs("\033[0m", cx->out);
}

void cli_styled(const struct cli_context *cx, enum cli_style style, const char *text)
{
    style_begin(cx, style);
    fputs(text, cx->out);
    style_end(cx, style);
}

static void pad(FILE *out, size_t columns)
{
    for (size_t i = 0; i < columns; i++)
        putc(' ', out);
}

/* Widths by content, and what a row takes with them. */
static size_t measure_content(const struct cli_columns *table, size_t *widths)
{
    size_t total = GAP * (table->column_count - 1);

    memset(widths, 0, COLUMNS_MAX * sizeof *widths);
    for (size_t i = 0; i < table->count; i++) {
        size_t column = i % table->column_count;
        if (table->cells[i].width > widths[column])
            widths[column] = table->cells[i].width;
    }
    for (size_t c = 0; c < table->column_count; c++)
        total += widths[c];
    return total;
}

size_t cli_columns_needs(const struct cli_columns *table)
{
    size_t widths[COLUMNS_MAX];

    return measure_content(table, widths);
}

/* On a terminal the columns marked 'x' and 'w' give up what does not fit. */
static void measure(const struct cli_columns *table, size_t *widths)
{
    size_t total = measure_content(table, widths);

    for (size_t c = table->column_count;
         table->cx->out_terminal && c-- > 0 && total > table->cx->width;) {
        size_t least = table->aligns[c] == 'w' ? WRAP_MIN : CUT_MIN;
        size_t excess = total - table->cx->width;
        size_t spare = widths[c] > least ? widths[c] - least : 0;
        if (table->aligns[c] != 'x' && table->aligns[c] != 'w')
            continue;
        widths[c] -= excess < spare ? excess : spare;
        total -= excess < spare ? excess : spare;
    }
}

/* Words in lines of at most `width` columns, those after the first behind `indent` spaces. */
static void print_wrapped(const struct cli_context *cx, const char *text, size_t indent,
                          size_t width)
{
    size_t column = 0;

    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        size_t columns = cli_columns_width(text) - cli_columns_width(text + length);
        if (column > 0 && column + 1 + columns > width) {
            putc('\n', cx->out);
            pad(cx->out, indent);
            column = 0;
        } else if (column > 0) {
            putc(' ', cx->out);
            column++;
        }
        fwrite(text, 1, length, cx->out);
        column += columns;
        text += length;
        text += strspn(text, " ");
    }
}

/* Cell i. Spaces are owed in *pending until something follows them, so that no line ends with one.
 */
static void print_cell(const struct cli_columns *table, size_t i, const size_t *widths,
                       size_t *pending)
{
    const struct cli_context *cx = table->cx;
    const struct cli_cell *cell = &table->cells[i];
    const char *text = table->text.data + cell->at;
    const char *ellipsis = cx->ascii ? "..." : "\xe2\x80\xa6";
    size_t column = i % table->column_count, width = widths[column], indent = 0;
    size_t used = cell->width, keep = strlen(text);
    bool wrap = used > width && table->aligns[column] == 'w';

    for (size_t c = 0; c < column; c++)
        indent += widths[c] + GAP;
    if (used > width && !wrap) {
        keep = cli_columns_fit(text, width - cli_columns_width(ellipsis), &used);
        used += cli_columns_width(ellipsis);
    }
    if (table->aligns[column] == 'r')
        *pending += width - used;
    if (*text != '\0') {
        pad(cx->out, *pending);
        *pending = 0;
        style_begin(cx, cell->style);
        if (wrap)
            print_wrapped(cx, text, indent, width);
        else
            fwrite(text, 1, keep, cx->out);
        if (text[keep] != '\0')
            fputs(ellipsis, cx->out);
        style_end(cx, cell->style);
    }
    if (table->aligns[column] != 'r' && !wrap)
        *pending += width - used;
}

int cli_columns_print(struct cli_columns *table)
{
    size_t widths[COLUMNS_MAX], pending = 0;

    while (table->status == SHOAL_OK && table->count % table->column_count != 0)
        cli_columns_cell(table, CLI_PLAIN, "%s", "");
    if (table->status != SHOAL_OK)
        return cli_fail(table->cx, table->status, NULL);
    measure(table, widths);
    for (size_t i = 0; i < table->count; i++) {
        size_t column = i % table->column_count;
        pending = column == 0 ? 0 : pending + GAP;
        print_cell(table, i, widths, &pending);
        if (column + 1 == table->column_count)
            (void)cli_put(table->cx, "\n", 1);
    }
    return 0;
}
