/* frame.c - what is around the pictures: head, top bar, panels, tables, legends. */
#include "page/page.h"

#include "shoal/version.h"

static const char fish[] = "<svg width=\"30\" height=\"22\" viewBox=\"0 0 30 22\" "
                           "fill=\"currentColor\" aria-hidden=\"true\">"
                           "<path d=\"M28 7.2C25.6 3.9 20.4 3.6 17 7l-3.4-2.6.9 2.9-.9 2.9L17 "
                           "7.6c3.4 3.2 8.6 2.9 11-.4z\"/>"
                           "<path opacity=\".72\" d=\"M16 3.2C14.2.8 10.4.6 7.9 3L5.4 1.1l.7 "
                           "2.2-.7 2.2 2.5-1.9c2.5 2.3 6.3 2.1 8.1-.4z\"/>"
                           "<path opacity=\".5\" d=\"M20 15.7c-2.2-3-7-3.2-10.1-.2L6.8 13.1l.8 "
                           "2.7-.8 2.7 3.1-2.4c3.1 2.9 7.9 2.7 "
                           "10.1-.4z\"/></svg>";

const char *const page_shapes[PAGE_COLOURS] = {
    "<circle cx=\"6\" cy=\"6\" r=\"5\"/>",
    "<path d=\"M1.5 1.5h9v9h-9z\"/>",
    "<path d=\"M6 .5 11.5 6 6 11.5.5 6z\"/>",
    "<path d=\"M6 1 11.5 11H.5z\"/>",
    "<path d=\"M3.3 1h5.4L11.5 6 8.7 11H3.3L.5 6z\"/>",
    "<circle cx=\"6\" cy=\"6\" r=\"4\" fill=\"none\" stroke-width=\"2.5\"/>",
    "<path d=\"M1 2.5h10v2.5H1zM1 7h10v2.5H1z\"/>",
};

/* The last colour, grey, is for what has no other. */
unsigned page_kind_colour(uint32_t kind)
{
    return kind % (PAGE_COLOURS - 1);
}

void page_legend_key(struct base_buf *out, size_t style)
{
    base_buf_printf(out,
                    "<svg width=\"28\" height=\"8\" aria-hidden=\"true\"><path class=\"l "
                    "s%zu d%zu\" d=\"M0 4H28\"/></svg>",
                    style % PAGE_COLOURS, (style + style / PAGE_COLOURS) % PAGE_COLOURS);
}

/* ---- from end to end ---- */

void page_head_open(struct base_buf *out)
{
    base_buf_puts(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'; img-src data:\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<meta name=\"generator\" content=\"shoal " SHOAL_VERSION "\">\n"
        "<link rel=\"icon\" href=\"data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' "
        "viewBox='0 0 16 16'%3E%3Cpath fill='%230b6b7a' d='M15 8C13 4.5 8.5 4 5.5 7.5L1.5 4.5l1 "
        "3.5-1 "
        "3.5 4-3C8.5 12 13 11.5 15 8z'/%3E%3C/svg%3E\">\n<title>");
}

void page_head_close(struct base_buf *out, const char *more)
{
    base_buf_puts(out, " \xc2\xb7 Shoal</title>\n<style>");
    base_buf_puts(out, page_style);
    if (more != NULL)
        base_buf_puts(out, more);
    base_buf_puts(out, "</style></head>\n<body>\n");
}

void page_top(struct base_buf *out, const char *what)
{
    base_buf_printf(out,
                    "<div class=\"top\"><div class=\"brand\">%s<span>Shoal</span></div><span "
                    "class=\"dim small\">%s</span></div>\n<main>\n",
                    fish, what);
}

void page_end(struct base_buf *out)
{
    base_buf_puts(out, "</main>\n</body></html>\n");
}

/* ---- sections ---- */

void page_panel_open(struct base_buf *out, const char *id, const char *title, const char *note)
{
    base_buf_printf(out,
                    "<section class=\"panel\" aria-labelledby=\"h-%s\"><div class=\"head\"><h2 "
                    "id=\"h-%s\">%s</h2>",
                    id, id, title);
    if (note != NULL)
        base_buf_printf(out, "<span class=\"dim small\">%s</span>", note);
    base_buf_puts(out, "</div>\n");
}

void page_panel_close(struct base_buf *out)
{
    base_buf_puts(out, "</section>\n");
}

void page_details_open(struct base_buf *out)
{
    base_buf_puts(out, "<details><summary>Show as table</summary><div class=\"scroll\"><table>");
}

void page_details_close(struct base_buf *out)
{
    base_buf_puts(out, "</table></div></details>\n");
}

void page_fact_open(struct base_buf *out, const char *name)
{
    base_buf_printf(out, "<div><dt>%s</dt><dd>", name);
}

void page_fact_close(struct base_buf *out)
{
    base_buf_puts(out, "</dd></div>\n");
}

void page_tile(struct base_buf *out, const char *name, const char *value, const char *note)
{
    base_buf_printf(out, "<div><dt>%s</dt><dd>%s", name, value);
    if (note != NULL)
        base_buf_printf(out, "<span class=\"dim small\">%s</span>", note);
    base_buf_puts(out, "</dd></div>\n");
}
