/* show.h - results as text: a cell, a table on a terminal, a table of a document.
 *
 * Whatever is drawn here is drawn from the fields of a schema (shoal/result.h). JSON and CSV are there too,
 * as shoal_result_json and shoal_result_csv. Any thread; nothing is kept. Tests: tests/unit/page/test_show.c,
 * test_result.c. */
#ifndef PAGE_SHOW_H
#define PAGE_SHOW_H

#include "page/columns.h"

enum { PAGE_CELL_TEXT = 1024, PAGE_BEST_TEXT = 64 };

/* A column of a table: a field, or one number of a field that has many. */
struct page_column {
    const shoal_field *field;
    size_t index;      /* of the number, in a field that has many */
    const char *title; /* borrowed */
    bool shown;
    double most; /* the largest number in it; NAN: none */
    char best
        [PAGE_BEST_TEXT]; /* the text of its best cells, where that tells records apart; or "" */
};

struct page_table {
    const shoal_schema *schema;
    const shoal_records *records;
    struct page_column columns[PAGE_COLUMNS_MAX];
    size_t count;
};

/* Those fields that are shown, less those nobody knows anything of. */
void page_table_init(struct page_table *table, const shoal_schema *schema,
                     const shoal_records *records);
bool page_column_is_text(const struct page_column *column);
double page_column_number(const struct page_column *column, const void *record);
const char *page_column_text(const struct page_column *column, const void *record, char *buf,
                             size_t size);

/* The field of `record` for people: "2h05m", "54 %", "-" where it is not known. Returns buf. */
const char *page_cell_text(const shoal_field *field, const void *record, char *buf, size_t size);

/* A number of this unit for people. Returns buf. */
const char *page_unit_text(shoal_unit unit, double value, char *buf, size_t size);

/* A table of all records under the titles of those fields that are shown. Where a terminal is too narrow,
 * columns that matter least are left out; the best of a column is bold. */
SHOAL_MUST_USE shoal_status page_table(const struct page_screen *screen, const shoal_schema *schema,
                                       const shoal_records *records);

/* Heading, tables and verdict of a result. Notes are the caller's to tell. */
SHOAL_MUST_USE shoal_status page_show(const struct page_screen *screen, const shoal_result *result);

/* What pages are made from: page.html with page.css and page.js in it (tools/embed.c). */
extern const char page_template[];

/* What the fields of a result mean, as Markdown under a heading. */
void page_document(const char *heading, const shoal_schema *schema, struct base_buf *out);

#endif
