/* page_parts.h - what the files of the page share: the page being written, its colours, its
 * sections.
 *
 * Private to src/market/page*.c. Everything that comes from data passes through page_name or
 * base_buf_html on its way into the page. All writers append to page->out, whose first failure
 * sticks; functions that need scratch memory return a status. Owner thread only. */
#ifndef MARKET_PAGE_PARTS_H
#define MARKET_PAGE_PARTS_H

#include "market/page.h"
#include "page/page.h"

enum {
    MARKET_PAGE_PLACES = 6, /* offers that have a colour of their own */
    MARKET_PAGE_BINS = 239, /* of time in charts: one less than points of a line */
    MARKET_PAGE_PLACE_CHARS = 60
};

struct market_page {
    struct base_buf *out;
    const struct market_story *story;
    uint32_t
        places[MARKET_PAGE_PLACES]; /* offers, the most used first: of the lead, then of others */
    size_t place_count;
    double place_s[MARKET_PAGE_PLACES]; /* time on them, of all runs */
    bool others;                        /* somebody was elsewhere */
    double span_s;
};

/* The colour of an offer: 0 to MARKET_PAGE_PLACES - 1, or grey. */
unsigned market_page_colour(const struct market_page *page, uint32_t offer);
/* "us-east-1b p3.2xlarge spot", escaped. */
void market_page_place(struct base_buf *out, const struct market_page *page, uint32_t offer);
/* Ticks with dates, for the time of the page. */
void market_page_dates(const struct market_page *page, struct page_axis *axis);
/* "5" becomes "$5". */
void market_page_dollars(struct page_axis *axis);
double market_page_x(const struct market_page *page, double at_s); /* 0 to 1 */
void market_page_strategy(struct base_buf *out, const struct market_run *run);

/* Adds `usd` spent evenly from one time to another to bins of the page's time. */
void market_page_spend(const struct market_page *page, double *bins, double from_s, double to_s,
                       double usd);

/* Sections. page_text.c */
void market_page_words(const struct market_page *page);
void market_page_table(const struct market_page *page);
void market_page_repeat(const struct market_page *page);
/* page_prices.c */
SHOAL_MUST_USE shoal_status market_page_prices(const struct market_page *page);
/* page_time.c */
void market_page_places(const struct market_page *page);
SHOAL_MUST_USE shoal_status market_page_cost(const struct market_page *page);
void market_page_moves(const struct market_page *page);
void market_page_jobs(const struct market_page *page);

#endif
