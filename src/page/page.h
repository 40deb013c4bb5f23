/* page.h - the parts of a self-contained HTML page: head and style sheet, panels, tables, numbers, names
 * from data, and a kit of charts in inline SVG.
 *
 * A page is one file that asks for nothing from anywhere: no script, no font, no picture. Its policy
 * says so to the browser. It reads on a wide screen, on a phone, in the dark and on paper. All writers
 * append to a buffer whose first failure sticks; none allocates anything else. Everything that comes
 * from data passes through page_name or base_buf_html on its way into a page; titles, notes and ids
 * that functions take are the caller's own words and written as they are, HTML included.
 *
 * The order of a page: page_head_open, the title's text, page_head_close, page_top, sections, page_end.
 * Any thread, one for each buffer. Tests: tests/unit/page. */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PAGE_TICKS_MAX = 16,
    PAGE_POINTS_MAX = 240, /* of one line in a chart */
    PAGE_TABLE_ROWS = 20,  /* of a "show as table" */
    PAGE_WIDTH = 1000,     /* user units of a plot, stretched to the width there is */
    PAGE_COLOURS = 7,      /* that tell kinds apart, the last one grey */
    PAGE_NAME_CHARS = 40,  /* longest name shown; longer ones end in an ellipsis */
    PAGE_AXIS_PX = 26      /* below a plot, for the labels of its x axis */
};

/* ---- numbers and names: num.c ---- */

/* "43 s", "4.2 min", "1.2 h", "3.4 d", with no-break spaces; "–" when not finite. All return buf.
 */
const char *page_duration(double seconds, char *buf, size_t size);
/* Two digits below 10, whole numbers with separators above: "0.87", "4.1", "1,240". */
const char *page_number(double value, char *buf, size_t size);
/* So many significant digits, and all of whole numbers: for values that are compared. */
const char *page_value(double value, int digits, char *buf, size_t size);

/* A name from data, escaped, cut after `chars` characters with an ellipsis. Never splits a
 * character; bytes that are not UTF-8 and control characters become U+FFFD. */
void page_name(struct base_buf *out, const char *name, size_t chars);
/* The same of at most `size` bytes. */
void page_name_of(struct base_buf *out, const char *name, size_t size, size_t chars);
/* Characters the name takes on the page when cut after `chars`. */
size_t page_name_chars(const char *name, size_t chars);

/* ---- axes: axis.c ---- */

struct page_tick {
    double at;     /* 0..1 */
    bool optional; /* left out where the page is narrow */
    char label[24];
};

struct page_axis {
    struct page_tick ticks[PAGE_TICKS_MAX];
    size_t count;
};

void page_axis_time(struct page_axis *axis, double span_s);
/* Plain numbers on a logarithmic axis from lo to hi, 0 < lo < hi: 0.5 1 2 5 10. */
void page_axis_log(struct page_axis *axis, double lo, double hi);
/* 0 to a round number at or above `max`, which is returned. */
double page_axis_count(struct page_axis *axis, double max);
/* Round numbers around *lo to *hi, of any sign, which become the ends of the axis. */
void page_axis_range(struct page_axis *axis, double *lo, double *hi);

/* ---- charts: svg.c ---- */

/* One line: points in fractions of the plot, x not falling, y upwards. `style` picks colour and
 * dashes. */
struct page_line {
    const char *name;
    size_t style;
    bool kind; /* `style` is a kind of GPU, and the colour its own, as in pictures of the cluster */
    size_t count;
    bool steps; /* y holds until the next x */
    float x[PAGE_POINTS_MAX], y[PAGE_POINTS_MAX];
};

/* An area between two lines, behind them. */
struct page_band {
    size_t count;
    const float *x, *low, *high; /* fractions, as of a line */
};

struct page_chart {
    int height; /* of the plot, without axis labels */
    struct page_axis x, y;
    const struct page_line *lines;
    size_t line_count;
    double mark; /* a vertical line at this x; negative: none. The part right of it is tinted */
    const char *mark_text;        /* said beside it */
    bool mark_plain;              /* nothing is tinted, and the text is at the top of the line */
    bool end_names;               /* names stand at the right ends of lines, those that have room */
    const struct page_band *band; /* NULL: none */
    /* Writes more behind the lines, in user units: PAGE_WIDTH wide, `height` high. NULL: nothing. */
    void (*behind)(void *ctx, struct base_buf *out);
    void *ctx;
};

/* The drawing; the caller has written the opening `<svg ...>` up to its aria-label by
 * page_svg_open. */
void page_svg_open(struct base_buf *out, int height); /* leaves the attribute aria-label open */
void page_svg_label_done(struct base_buf *out);       /* closes it and the tag */
void page_svg_close(struct base_buf *out);
void page_svg_chart(struct base_buf *out, const struct page_chart *chart);
void page_svg_x_labels(struct base_buf *out, const struct page_axis *axis, int y);
/* The style of the index-th of many lines: none of them grey. */
size_t page_style_of(size_t index);

/* ---- frames: frame.c ---- */

/* The piece of a line that stands before its name in a legend. */
void page_legend_key(struct base_buf *out, size_t style);
/* The shapes that repeat the colours: circle, square, diamond, triangle, hexagon, ring, bars. */
extern const char *const page_shapes[PAGE_COLOURS];
/* The colour of a kind of GPU. */
unsigned page_kind_colour(uint32_t kind);

/* Up to `<title>`; then from there to `<body>`. `more`: rules after those of page_style; NULL: none. */
void page_head_open(struct base_buf *out);
void page_head_close(struct base_buf *out, const char *more);
/* The bar at the top, which says what page this is, and `<main>`. */
void page_top(struct base_buf *out, const char *what);
void page_end(struct base_buf *out);

/* `note` may be NULL. The heading has the id "h-ID". */
void page_panel_open(struct base_buf *out, const char *id, const char *title, const char *note);
void page_panel_close(struct base_buf *out);
/* `<details>` around a table: open, then rows by the caller from `<tr>` on, close. */
void page_details_open(struct base_buf *out);
void page_details_close(struct base_buf *out);
/* A term of a `<dl class="facts">`; what it is comes in between. */
void page_fact_open(struct base_buf *out, const char *name);
void page_fact_close(struct base_buf *out);
/* A number in large print, in a `<dl class="tiles">`; `note` may be NULL. Both are HTML. */
void page_tile(struct base_buf *out, const char *name, const char *value, const char *note);

/* ---- style.c ---- */

extern const char page_style[];      /* the tokens of the visual language, and layout */
extern const char page_style_more[]; /* what pages of trained models have besides */

#endif
