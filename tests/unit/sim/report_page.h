/* report_page.h - a small strict reader of pages. Include torture.h or cmocka first. */
#ifndef TESTS_REPORT_PAGE_H
#define TESTS_REPORT_PAGE_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_MAX = 1000 * 1000, BUFFER_MAX = 8 * 1000 * 1000 };

static inline size_t count_of(const char *page, const char *what)
{
    size_t n = 0;
    for (const char *p = page; (p = strstr(p, what)) != NULL; p += strlen(what))
        n++;
    return n;
}

/* ---- a small strict reader of the page ---- */

static inline bool in_list(const char *const *list, const char *word, size_t length)
{
    for (; *list != NULL; list++)
        if (strlen(*list) == length && memcmp(*list, word, length) == 0)
            return true;
    return false;
}

static const char *const tags[] = {
    "html", "head",   "meta", "link",    "title",   "style", "body", "div",   "span",  "main",
    "h1",   "h2",     "h3",   "section", "p",       "b",     "i",    "table", "thead", "tbody",
    "tr",   "th",     "td",   "ul",      "li",      "dl",    "dt",   "dd",    "svg",   "path",
    "rect", "circle", "text", "details", "summary", "wbr",   NULL};
static const char *const void_tags[] = {"meta", "link", "wbr", NULL};
static const char *const attributes[] = {"lang",
                                         "charset",
                                         "http-equiv",
                                         "content",
                                         "name",
                                         "rel",
                                         "href",
                                         "class",
                                         "id",
                                         "scope",
                                         "title",
                                         "data-l",
                                         "style",
                                         "width",
                                         "height",
                                         "viewBox",
                                         "fill",
                                         "stroke-width",
                                         "opacity",
                                         "d",
                                         "x",
                                         "y",
                                         "dx",
                                         "cx",
                                         "cy",
                                         "r",
                                         "role",
                                         "aria-label",
                                         "aria-hidden",
                                         "aria-labelledby",
                                         "preserveAspectRatio",
                                         NULL};

struct reader {
    const char *at;
    const char *open[64]; /* names of open elements */
    size_t size[64], depth;
};

static inline void read_attributes(struct reader *r, bool *out_closed)
{
    for (;;) {
        while (*r->at == ' ' || *r->at == '\n')
            r->at++;
        *out_closed = r->at[0] == '/' && r->at[1] == '>';
        if (*r->at == '>' || *out_closed) {
            r->at += *out_closed ? 2 : 1;
            return;
        }
        size_t length = strcspn(r->at, "=\" <>/\n");
        if (!in_list(attributes, r->at, length))
            fail_msg("unexpected attribute: %.40s", r->at);
        r->at += length;
        assert_true(r->at[0] == '=' && r->at[1] == '"');
        r->at += 2 + strcspn(r->at + 2, "\"<>");
        if (*r->at != '"')
            fail_msg("unescaped character in an attribute: %.40s", r->at);
        r->at++;
    }
}

static inline void read_tag(struct reader *r)
{
    bool end = r->at[1] == '/', closed;
    const char *name = r->at + (end ? 2 : 1);
    size_t length = strcspn(name, " />\n");
    if (!in_list(tags, name, length))
        fail_msg("unexpected element: %.40s", r->at);
    r->at = name + length;
    if (end) {
        assert_int_equal(*r->at, '>');
        r->at++;
        if (r->depth == 0 || r->size[r->depth - 1] != length ||
            memcmp(r->open[r->depth - 1], name, length) != 0)
            fail_msg("element closed that was not open: %.40s", name);
        r->depth--;
        return;
    }
    read_attributes(r, &closed);
    if (closed || in_list(void_tags, name, length))
        return;
    assert_true(r->depth < 64);
    r->open[r->depth] = name;
    r->size[r->depth++] = length;
    if (length == 5 && memcmp(name, "style", 5) == 0)
        r->at = strstr(r->at, "</style>");
}

static inline void assert_well_formed(const char *page)
{
    static const char doctype[] = "<!doctype html>\n";
    assert_memory_equal(page, doctype, sizeof doctype - 1);
    struct reader r = {.at = page + sizeof doctype - 1};
    while (*r.at != 0) {
        if (*r.at == '<')
            read_tag(&r);
        else if (*r.at == '&' && strncmp(r.at, "&lt;", 4) != 0 && strncmp(r.at, "&gt;", 4) != 0 &&
                 strncmp(r.at, "&amp;", 5) != 0 && strncmp(r.at, "&quot;", 6) != 0 &&
                 strncmp(r.at, "&#39;", 5) != 0)
            fail_msg("unescaped ampersand: %.40s", r.at);
        else if (*r.at == '>')
            fail_msg("unescaped '>' before: %.40s", r.at);
        else
            r.at++;
    }
    assert_int_equal(r.depth, 0);
    assert_null(strstr(page, "nan"));
    assert_null(strstr(page, "inf\""));
    assert_null(strstr(page, "inf "));
}

static inline void assert_closed_world(const char *page)
{
    size_t allowed = count_of(page, "http-equiv") + count_of(page, "http://www.w3.org/2000/svg");
    assert_int_equal(count_of(page, "http"), allowed);
    assert_null(strstr(page, "url("));
    assert_null(strstr(page, "@import"));
    assert_null(strstr(page, "src="));
    assert_non_null(
        strstr(page, "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\""));
}

#endif
