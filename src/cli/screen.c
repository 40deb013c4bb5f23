/* screen.c - see screen.h. */
#include "cli/screen.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 2048, GAP_MAX = 4 }; /* unchanged cells that are cheaper written than jumped */

void cli_screen_init(struct cli_screen *s, const struct base_alloc *alloc)
{
    *s = (struct cli_screen){.alloc = alloc, .status = SHOAL_OK};
}

void cli_screen_fini(struct cli_screen *s)
{
    base_free(s->alloc, s->now);
    base_free(s->alloc, s->shown);
    s->now = s->shown = NULL;
}

void cli_screen_begin(struct cli_screen *s, unsigned columns, unsigned rows)
{
    if (columns != s->columns || rows != s->rows || s->now == NULL) {
        size_t count = (size_t)columns * rows + 1;
        cli_screen_fini(s);
        s->now = base_calloc(s->alloc, count, sizeof *s->now);
        s->shown = base_calloc(s->alloc, count, sizeof *s->shown);
        s->columns = columns;
        s->rows = rows;
        cli_screen_forget(s);
        if (s->now == NULL || s->shown == NULL)
            s->status = SHOAL_E_NOMEM;
    }
    if (s->status == SHOAL_OK)
        memset(s->now, 0, (size_t)columns * rows * sizeof *s->now);
}

/* Bytes of the character at `text`; one byte where it is not UTF-8. */
static size_t character(const char *text)
{
    unsigned char c = (unsigned char)*text;
    size_t size = c < 0x80             ? 1
                  : (c & 0xe0) == 0xc0 ? 2
                  : (c & 0xf0) == 0xe0 ? 3
                  : (c & 0xf8) == 0xf0 ? 4
                                       : 1;

    for (size_t i = 1; i < size; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return 1;
    return size;
}

unsigned cli_screen_put(struct cli_screen *s, unsigned row, unsigned column,
                        enum page_text_style style, const char *text)
{
    while (*text != 0) {
        size_t size = character(text);
        if (s->status == SHOAL_OK && row < s->rows && column < s->columns) {
            struct cli_screen_cell *cell = &s->now[(size_t)row * s->columns + column];
            unsigned char c = (unsigned char)*text;
            memset(cell, 0, sizeof *cell);
            cell->style = (unsigned char)style;
            if (c < 0x20 || c == 0x7f || (size == 1 && c >= 0x80))
                cell->text[0] = '?';
            else if (c != ' ')
                memcpy(cell->text, text, size);
        }
        text += size;
        column++;
    }
    return column;
}

unsigned cli_screen_printf(struct cli_screen *s, unsigned row, unsigned column,
                           enum page_text_style style, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return cli_screen_put(s, row, column, style, text);
}

void cli_screen_forget(struct cli_screen *s)
{
    s->shown_columns = s->shown_rows = 0;
}

static bool same(const struct cli_screen_cell *a, const struct cli_screen_cell *b, bool color)
{
    return strcmp(a->text, b->text) == 0 && (!color || a->style == b->style);
}

static void put_cell(struct cli_screen *s, const struct cli_screen_cell *cell, unsigned char *style,
                     struct base_buf *out)
{
    if (s->color && cell->style != *style) {
        base_buf_puts(out, cell->style == PAGE_BOLD  ? "\033[0;1m"
                           : cell->style == PAGE_DIM ? "\033[0;2m"
                                                     : "\033[0m");
        *style = cell->style;
    }
    base_buf_puts(out, cell->text[0] != 0 ? cell->text : " ");
}

void cli_screen_update(struct cli_screen *s, struct base_buf *out)
{
    size_t at_row = SIZE_MAX, at_column = 0;
    unsigned char style = PAGE_PLAIN;

    if (s->status != SHOAL_OK)
        return;
    if (s->shown_columns != s->columns || s->shown_rows != s->rows) {
        base_buf_puts(out, "\033[0m\033[2J");
        memset(s->shown, 0, (size_t)s->columns * s->rows * sizeof *s->shown);
    }
    for (size_t row = 0; row < s->rows; row++) {
        const struct cli_screen_cell *now = &s->now[row * s->columns];
        const struct cli_screen_cell *shown = &s->shown[row * s->columns];
        for (size_t column = 0; column < s->columns; column++) {
            if (same(&now[column], &shown[column], s->color))
                continue;
            if (at_row != row || at_column > column || column - at_column > GAP_MAX)
                base_buf_printf(out, "\033[%zu;%zuH", row + 1, (at_column = column) + 1);
            for (; at_column <= column; at_column++)
                put_cell(s, &now[at_column], &style, out);
            at_row = row;
        }
    }
    if (style != PAGE_PLAIN)
        base_buf_puts(out, "\033[0m");
    memcpy(s->shown, s->now, (size_t)s->columns * s->rows * sizeof *s->shown);
    s->shown_columns = s->columns;
    s->shown_rows = s->rows;
}

void cli_screen_plain(const struct cli_screen *s, struct base_buf *out)
{
    size_t lines = 0; /* owed: empty ones are written only when another follows */

    for (size_t row = 0; s->status == SHOAL_OK && row < s->rows; row++, lines++) {
        const struct cli_screen_cell *cell = &s->now[row * s->columns];
        size_t used = s->columns;
        while (used > 0 && cell[used - 1].text[0] == 0)
            used--;
        if (used == 0)
            continue;
        for (; lines > 0 && row > 0; lines--)
            base_buf_puts(out, "\n");
        lines = 0;
        for (size_t column = 0; column < used; column++)
            base_buf_puts(out, cell[column].text[0] != 0 ? cell[column].text : " ");
    }
    base_buf_puts(out, "\n");
}
