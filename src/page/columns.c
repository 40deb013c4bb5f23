/* columns.c - see columns.h. */
#include "page/columns.h"

#include "base/assert.h"
#include "base/err.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 64 << 20, GAP = 2, CUT_MIN = 8, WRAP_MIN = 20 };

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

size_t page_columns_fit(const char *text, size_t width, size_t *out_columns)
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

size_t page_columns_width(const char *text)
{
    size_t width = 0;

    while (*text != '\0') {
        uint32_t point;
        text += decode(text, &point);
        width += point_width(point);
    }
    return width;
}

void page_columns_init(struct page_columns *table, const struct page_screen *screen,
                       const char *aligns)
{
    memset(table, 0, sizeof *table);
    table->screen = screen;
    table->aligns = aligns;
    table->column_count = strlen(aligns);
    shoal_assert(table->column_count > 0 && table->column_count <= PAGE_COLUMNS_MAX);
    base_buf_init(&table->text, screen->alloc, TEXT_MAX);
}

void page_columns_fini(struct page_columns *table)
{
    base_free(table->screen->alloc, table->cells);
    base_buf_fini(&table->text);
}

/* A cell is one line and cannot drive the terminal. */
static void clean(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

void page_columns_cell(struct page_columns *table, enum page_text_style style, const char *format,
                       ...)
{
    char text[1024];
    void *cells = table->cells;
    struct page_cell *cell;
    va_list args;

    if (table->status != SHOAL_OK)
        return;
    if (base_reserve(table->screen->alloc, &cells, &table->cap, table->count + 1, sizeof *cell) !=
        0) {
        table->status = SHOAL_E_NOMEM;
        return;
    }
    table->cells = cells;
    cell = &table->cells[table->count++];
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    clean(text);
    *cell = (struct page_cell){table->text.size, page_columns_width(text), style};
    base_buf_append(&table->text, text, strlen(text) + 1);
    table->status = base_buf_status(&table->text);
}

static bool put(const struct page_screen *screen, const char *text)
{
    return screen->put(screen->ctx, text, strlen(text));
}

static bool style_begin(const struct page_screen *screen, enum page_text_style style)
{
    if (!screen->color || style == PAGE_PLAIN)
        return true;
    return put(screen, style == PAGE_BOLD ? "\033[1m" : "\033[2m");
}

static bool style_end(const struct page_screen *screen, enum page_text_style style)
{
    return !screen->color || style == PAGE_PLAIN || put(screen, "\033[0m");
}

bool page_styled(const struct page_screen *screen, enum page_text_style style, const char *text)
{
    return style_begin(screen, style) && put(screen, text) && style_end(screen, style);
}

static bool pad(const struct page_screen *screen, size_t columns)
{
    static const char spaces[] = "                                ";

    for (; columns >= sizeof spaces; columns -= sizeof spaces - 1)
        if (!screen->put(screen->ctx, spaces, sizeof spaces - 1))
            return false;
    return columns == 0 || screen->put(screen->ctx, spaces, columns);
}

/* Widths by content, and what a row takes with them. */
static size_t measure_content(const struct page_columns *table, size_t *widths)
{
    size_t total = GAP * (table->column_count - 1);

    memset(widths, 0, PAGE_COLUMNS_MAX * sizeof *widths);
    for (size_t i = 0; i < table->count; i++) {
        size_t column = i % table->column_count;
        if (table->cells[i].width > widths[column])
            widths[column] = table->cells[i].width;
    }
    for (size_t c = 0; c < table->column_count; c++)
        total += widths[c];
    return total;
}

size_t page_columns_needs(const struct page_columns *table)
{
    size_t widths[PAGE_COLUMNS_MAX];

    return measure_content(table, widths);
}

/* On a terminal the columns marked 'x' and 'w' give up what does not fit. */
static void measure(const struct page_columns *table, size_t *widths)
{
    size_t total = measure_content(table, widths);

    for (size_t c = table->column_count;
         table->screen->terminal && c-- > 0 && total > table->screen->width;) {
        size_t least = table->aligns[c] == 'w' ? WRAP_MIN : CUT_MIN;
        size_t excess = total - table->screen->width;
        size_t spare = widths[c] > least ? widths[c] - least : 0;
        if (table->aligns[c] != 'x' && table->aligns[c] != 'w')
            continue;
        widths[c] -= excess < spare ? excess : spare;
        total -= excess < spare ? excess : spare;
    }
}

/* Bytes up to the next space where a line may end: none does before a per cent sign. */
static size_t word_length(const char *text)
{
    size_t length = strcspn(text, " ");

    while (text[length] == ' ' && text[length + 1] == '%')
        length += 1 + strcspn(text + length + 1, " ");
    return length;
}

/* Words in lines of at most `width` columns, those after the first behind `indent` spaces. */
static bool put_wrapped(const struct page_screen *screen, const char *text, size_t indent,
                        size_t width)
{
    size_t column = 0;
    bool fine = true;

    while (*text != '\0' && fine) {
        size_t length = word_length(text);
        size_t columns = page_columns_width(text) - page_columns_width(text + length);
        if (column > 0 && column + 1 + columns > width) {
            fine = put(screen, "\n") && pad(screen, indent);
            column = 0;
        } else if (column > 0) {
            fine = put(screen, " ");
            column++;
        }
        fine = fine && screen->put(screen->ctx, text, length);
        column += columns;
        text += length;
        text += strspn(text, " ");
    }
    return fine;
}

/* A line that fits is put as it is; one that does not goes on behind the spaces that it begins with. */
static bool put_line(const struct page_screen *screen, const char *line, size_t length)
{
    char text[4096];
    size_t lead = strspn(line, " ");

    if (!screen->terminal || length >= sizeof text)
        return screen->put(screen->ctx, line, length);
    memcpy(text, line, length);
    text[length] = '\0';
    if (page_columns_width(text) <= screen->width || lead + WRAP_MIN > screen->width)
        return put(screen, text);
    return pad(screen, lead) && put_wrapped(screen, text + lead, lead, screen->width - lead);
}

bool page_lines(const struct page_screen *screen, const char *text)
{
    bool fine = true;

    while (*text != '\0' && fine) {
        size_t length = strcspn(text, "\n");
        fine = (length == 0 || put_line(screen, text, length)) && put(screen, "\n");
        text += length + (text[length] == '\n');
    }
    return fine;
}

/* Cell i. Spaces are owed in *pending until something follows them, so that no line ends with one.
 */
static bool put_cell(const struct page_columns *table, size_t i, const size_t *widths,
                     size_t *pending)
{
    const struct page_screen *screen = table->screen;
    const struct page_cell *cell = &table->cells[i];
    const char *text = table->text.data + cell->at;
    const char *ellipsis = screen->ascii ? "..." : "\xe2\x80\xa6";
    size_t column = i % table->column_count, width = widths[column], indent = 0;
    size_t used = cell->width, keep = strlen(text);
    bool wrap = used > width && table->aligns[column] == 'w', fine = true;

    for (size_t c = 0; c < column; c++)
        indent += widths[c] + GAP;
    if (used > width && !wrap) {
        keep = page_columns_fit(text, width - page_columns_width(ellipsis), &used);
        used += page_columns_width(ellipsis);
    }
    if (table->aligns[column] == 'r')
        *pending += width - used;
    if (*text != '\0') {
        fine = pad(screen, *pending) && style_begin(screen, cell->style);
        *pending = 0;
        if (wrap)
            fine = fine && put_wrapped(screen, text, indent, width);
        else
            fine = fine && screen->put(screen->ctx, text, keep);
        if (text[keep] != '\0')
            fine = fine && put(screen, ellipsis);
        fine = fine && style_end(screen, cell->style);
    }
    if (table->aligns[column] != 'r' && !wrap)
        *pending += width - used;
    return fine;
}

shoal_status page_columns_put(struct page_columns *table)
{
    size_t widths[PAGE_COLUMNS_MAX], pending = 0;

    while (table->status == SHOAL_OK && table->count % table->column_count != 0)
        page_columns_cell(table, PAGE_PLAIN, "%s", "");
    if (table->status != SHOAL_OK)
        return table->status;
    measure(table, widths);
    for (size_t i = 0; i < table->count; i++) {
        size_t column = i % table->column_count;
        pending = column == 0 ? 0 : pending + GAP;
        if (!put_cell(table, i, widths, &pending))
            return SHOAL_E_IO;
        if (column + 1 == table->column_count && !put(table->screen, "\n"))
            return SHOAL_E_IO;
    }
    return SHOAL_OK;
}
