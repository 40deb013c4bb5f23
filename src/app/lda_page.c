/* lda_page.c - topics to browse, as sections of the job's page: an overview, an index by size, a card for
 * each topic with its top words, and the words that several topics have.
 *
 * The page has a limit of bytes, and a job may have a million topics: the largest LDA_SHOWN_MAX at most
 * have a card, with fewer words where there are many, and half as many again until the page fits. What
 * is left out is said. Words come from data and are escaped by page_name_of.
 * Tests: tests/cli/test_train_report.py. */
#include "app/lda_page.h"

#include "base/err.h"
#include "base/text.h"
#include "page/page.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    FEW_TOPICS = 400, /* up to so many have cards with all their words */
    WORDS_FEW = 12,
    WORDS_MANY = 8,
    ROWS = 30,      /* of the index; other topics are links */
    ROW_WORDS = 6,  /* of a row */
    SHARED = 120,   /* words in the index of words */
    SHARED_IN = 12, /* topics of each that are named */
    WORD_CHARS = 32
};

struct sheet {
    struct lda_topics *t;
    struct base_buf *out;
    uint32_t shown; /* topics that have a card here */
    uint32_t words; /* of a card */
};

static double share_of(const struct lda_topics *t, uint32_t place)
{
    return (double)t->counts.total[t->topic[place]] / (double)t->kept->tokens;
}

/* Two digits, of which topics have few to differ by. Returns buf. */
static const char *share_text(const struct lda_topics *t, uint32_t place, char *buf, size_t size)
{
    double percent = 100 * share_of(t, place);

    snprintf(buf, size, percent < 0.995 ? "%.2g\xc2\xa0%%" : "%.1f\xc2\xa0%%", percent);
    return buf;
}

static void put_word(const struct sheet *s, uint32_t word)
{
    if (s->t->name == NULL)
        base_buf_printf(s->out, "%u", word + 1);
    else
        page_name_of(s->out, s->t->name[word], strcspn(s->t->name[word], "\n"), WORD_CHARS);
}

/* Of a topic that has a card. */
static void put_link(const struct sheet *s, uint32_t place)
{
    uint32_t number = s->t->topic[place] + 1;

    base_buf_printf(s->out, "<a href=\"#t%u\">%u</a> ", number, number);
}

static void put_first_words(const struct sheet *s, uint32_t place, uint32_t count)
{
    const uint32_t *word = s->t->word + (size_t)place * LDA_TOP;

    for (uint32_t r = 0; r < count && word[r] != (uint32_t)NUM_LDA_NONE; r++) {
        base_buf_puts(s->out, r > 0 ? " " : "");
        put_word(s, word[r]);
    }
}

/* ---- overview ---- */

/* Of topics that have one; NAN: none has. */
static double mean_npmi(const struct lda_topics *t)
{
    double sum = 0;
    uint32_t known = 0;

    for (uint32_t i = 0; i < t->shown && t->npmi != NULL; i++)
        if (!isnan(t->npmi[i])) {
            sum += t->npmi[i];
            known++;
        }
    return known > 0 ? sum / known : (double)NAN;
}

static const char *npmi_text(double npmi, int digits, char *out, size_t size)
{
    snprintf(out, size, isnan(npmi) ? "\xe2\x80\x93" : "%.*f", digits, npmi);
    return out;
}

static void put_words(const struct sheet *s)
{
    const struct lda_topics *t = s->t;
    char text[64];

    if (s->shown == 0)
        return;
    base_buf_puts(s->out, "<p>The largest topic, ");
    put_link(s, 0);
    base_buf_printf(s->out, "has %s of all tokens: <b>", share_text(t, 0, text, sizeof text));
    put_first_words(s, 0, ROW_WORDS);
    base_buf_printf(s->out, "</b>. Half of all tokens %s in ", t->half == 1 ? "is" : "are");
    base_buf_printf(s->out, "%s topic%s. ", base_format_count(t->half, text, sizeof text),
                    t->half == 1 ? "" : "s");
    if (t->filled < t->all)
        base_buf_printf(s->out, "%s topics have no token. ",
                        base_format_count(t->all - t->filled, text, sizeof text));
    base_buf_puts(s->out, "</p>\n");
}

static void put_overview(const struct sheet *s, const struct lda_options *o)
{
    const struct lda_topics *t = s->t;
    char text[64], note[96];

    page_panel_open(s->out, "topics", "Topics", NULL);
    base_buf_puts(s->out, "<div class=\"words\">");
    put_words(s);
    base_buf_puts(s->out, "</div><dl class=\"tiles sub\">\n");
    page_tile(s->out, "Topics", base_format_count(t->all, text, sizeof text), NULL);
    page_tile(s->out, "Tokens", base_format_count(t->kept->tokens, text, sizeof text), NULL);
    page_tile(s->out, "Documents", base_format_count(t->kept->documents, text, sizeof text), NULL);
    snprintf(note, sizeof note, "%.3g topics a word",
             (double)t->counts.start[t->kept->words] / fmax(1, t->kept->words));
    page_tile(s->out, "Vocabulary", base_format_count(t->kept->words, text, sizeof text), note);
    if (t->npmi != NULL) {
        page_tile(s->out, "Coherence", npmi_text(mean_npmi(t), 3, text, sizeof text),
                  t->shown < t->filled ? "NPMI, mean of topics shown" : "NPMI, mean of topics");
    } else {
        snprintf(note, sizeof note, "no NPMI: %s", t->no_npmi);
        page_tile(s->out, "Coherence", "not known", note);
    }
    snprintf(note, sizeof note, "beta %.3g", t->counts.beta);
    snprintf(text, sizeof text, "%.3g", lda_alpha(o, t->all));
    if (o->optimise > 0)
        snprintf(text, sizeof text, "optimised");
    page_tile(s->out, "Prior alpha", text, note);
    base_buf_puts(s->out, "</dl>\n");
}

/* ---- the index ---- */

static void put_row(const struct sheet *s, uint32_t place)
{
    const struct lda_topics *t = s->t;
    char text[64];

    base_buf_puts(s->out, "<tr><td class=\"r\">");
    put_link(s, place);
    base_buf_printf(s->out,
                    "</td><td class=\"r\">%s</td><td class=\"bars hide\"><span class=\"bar\"><i "
                    "style=\"width:%.1f%%\"></i></span></td>",
                    share_text(t, place, text, sizeof text),
                    100 * share_of(t, place) / share_of(t, 0));
    if (t->npmi != NULL)
        base_buf_printf(s->out, "<td class=\"r\">%s</td>",
                        npmi_text(t->npmi[place], 2, text, sizeof text));
    base_buf_puts(s->out, "<td class=\"w\">");
    put_first_words(s, place, ROW_WORDS);
    base_buf_puts(s->out, "</td></tr>\n");
}

static void put_index(const struct sheet *s)
{
    struct base_buf *out = s->out;
    uint32_t rows = s->shown < ROWS ? s->shown : ROWS;

    base_buf_puts(out, "<table class=\"wordy\"><thead><tr><th scope=\"col\" class=\"r\">Topic</th>"
                       "<th scope=\"col\" class=\"r\">share</th><th scope=\"col\" class=\"hide\">"
                       "of tokens</th>");
    if (s->t->npmi != NULL)
        base_buf_puts(out, "<th scope=\"col\" class=\"r\">NPMI</th>");
    base_buf_puts(out, "<th scope=\"col\">most frequent words</th></tr></thead><tbody>\n");
    for (uint32_t i = 0; i < rows; i++)
        put_row(s, i);
    base_buf_puts(out, "</tbody></table>\n");
    if (s->shown > rows) {
        base_buf_puts(out, "<p class=\"links sub\"><span class=\"dim\">and, by falling share: "
                           "</span>");
        for (uint32_t i = rows; i < s->shown; i++)
            put_link(s, i);
        base_buf_puts(out, "</p>\n");
    }
    page_panel_close(out);
}

/* ---- cards ---- */

static void put_near(const struct sheet *s, uint32_t place)
{
    const uint32_t *near = s->t->near + (size_t)place * LDA_NEAR;
    bool any = false;

    for (uint32_t i = 0; i < LDA_NEAR; i++) {
        if (near[i] >= s->shown)
            continue;
        base_buf_puts(s->out, any ? "" : "<p>like ");
        put_link(s, near[i]);
        any = true;
    }
    if (any)
        base_buf_puts(s->out, "</p>");
}

static void put_card(const struct sheet *s, uint32_t place)
{
    const struct lda_topics *t = s->t;
    const uint32_t *word = t->word + (size_t)place * LDA_TOP;
    const uint32_t *used = t->used + (size_t)place * LDA_TOP;
    uint32_t topic = t->topic[place];
    char text[64];

    base_buf_printf(s->out, "<article class=\"topic\" id=\"t%u\"><h3>Topic %u<span>%s</span></h3>",
                    topic + 1, topic + 1, share_text(t, place, text, sizeof text));
    base_buf_printf(s->out, "<p>%s tokens",
                    base_format_count((uint64_t)t->counts.total[topic], text, sizeof text));
    if (t->npmi != NULL)
        base_buf_printf(s->out, ", NPMI %s", npmi_text(t->npmi[place], 2, text, sizeof text));
    base_buf_puts(s->out, "</p><ol>");
    for (uint32_t r = 0; r < s->words && word[r] != (uint32_t)NUM_LDA_NONE; r++) {
        base_buf_puts(s->out, "<li><span>");
        put_word(s, word[r]);
        base_buf_printf(s->out, "</span><i style=\"width:%.0f%%\"></i></li>",
                        100.0 * used[r] / used[0]);
    }
    base_buf_puts(s->out, "</ol>");
    put_near(s, place);
    base_buf_puts(s->out, "</article>\n");
}

static void put_cards(const struct sheet *s)
{
    char note[200], shown[32], all[32];

    snprintf(note, sizeof note,
             "%s%s of %s, by falling share; bars compare a word with the topic's first%s",
             s->shown < s->t->filled ? "the largest " : "all ",
             s->shown < s->t->filled ? base_format_count(s->shown, shown, sizeof shown) : "",
             base_format_count(s->t->filled, all, sizeof all),
             s->t->npmi != NULL ? "; NPMI: how much its first ten share documents, -1 to 1" : "");
    page_panel_open(s->out, "words", "Words of topics", note);
    base_buf_puts(s->out, "<div class=\"topics\">\n");
    for (uint32_t i = 0; i < s->shown; i++)
        put_card(s, i);
    base_buf_puts(s->out, "</div>\n");
    page_panel_close(s->out);
}

/* ---- words of several topics ---- */

static void put_shared_row(const struct sheet *s, const struct lda_shared *shared)
{
    uint32_t named = 0;

    base_buf_puts(s->out, "<tr><td class=\"name\">");
    put_word(s, shared->word);
    base_buf_printf(s->out, "</td><td class=\"r\">%u</td><td class=\"w links\">", shared->count);
    for (uint32_t i = 0; i < shared->count && named < SHARED_IN; i++) {
        const struct lda_use *use = &s->t->by_word[shared->first + i];
        if (use->place >= s->shown)
            continue;
        put_link(s, use->place);
        named++;
    }
    if (named < shared->count)
        base_buf_printf(s->out, "<span class=\"dim\">and %u more</span>", shared->count - named);
    base_buf_puts(s->out, "</td></tr>\n");
}

static void put_shared(const struct sheet *s)
{
    struct lda_shared shared[SHARED];
    size_t found = lda_topics_shared(s->t, s->words, shared, SHARED);
    size_t count = found < SHARED ? found : SHARED;
    char note[128], text[32];

    if (count == 0)
        return;
    snprintf(note, sizeof note, "among the first words of more than one topic");
    if (found > count)
        snprintf(note, sizeof note, "the %zu of %s that most topics have", count,
                 base_format_count(found, text, sizeof text));
    page_panel_open(s->out, "shared", "Words of several topics", note);
    base_buf_puts(s->out, "<table class=\"wordy tight\"><thead><tr><th scope=\"col\">Word</th><th "
                          "scope=\"col\" class=\"r\">topics</th><th scope=\"col\">which, the "
                          "largest first</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < count; i++)
        put_shared_row(s, &shared[i]);
    base_buf_puts(s->out, "</tbody></table>\n");
    page_panel_close(s->out);
}

/* ---- all of it ---- */

static void write_sections(const struct sheet *s, const struct lda_options *o)
{
    put_overview(s, o);
    put_index(s);
    put_cards(s);
    put_shared(s);
}

/* As many topics as fit. */
static shoal_status put_page(struct lda_topics *t, shoal_driver *driver, shoal_err *err)
{
    struct base_buf out;
    shoal_status st = SHOAL_E_LIMIT;

    base_buf_init(&out, t->alloc, SHOAL_PAGE_MAX);
    for (uint32_t shown = t->shown; st == SHOAL_E_LIMIT; shown /= 2) {
        struct sheet s = {t, &out, shown, shown <= FEW_TOPICS ? WORDS_FEW : WORDS_MANY};
        base_buf_clear(&out);
        write_sections(&s, shoal_driver_options(driver));
        st = base_buf_status(&out);
        if (st == SHOAL_OK)
            st = shoal_driver_page(driver, out.data, out.size);
        if (shown == 0)
            break;
    }
    base_buf_fini(&out);
    return st == SHOAL_OK ? st : base_err(err, st, "cannot write the topics into a page");
}

shoal_status lda_page(shoal_driver *driver, shoal_err *err)
{
    struct lda_topics topics;
    shoal_status st = lda_topics_init(&topics, driver, err);

    if (st == SHOAL_OK)
        st = put_page(&topics, driver, err);
    lda_topics_fini(&topics);
    return st;
}
