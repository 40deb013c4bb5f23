/* lda_show.c - topics to browse, as lists: the topics by size with their words, the corpus, and the words that several
 * topics have.
 *
 * A job may have a million topics: the largest LDA_SHOWN_MAX at most are listed, of which a page shows as many as
 * fit. Tests: tests/cli/test_train_report.py. */
#include "app/lda_show.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum {
    WORDS = 12, /* of a topic */
    SHARED = LDA_SHARED_MAX,
    SHARED_IN = 12, /* topics of each that are named */
    TEXT_MAX = 1 << 16,
    DRAWN_TOPICS = 12,
    DRAWN_WORDS = 6
};

/* ---- what lists have ---- */

struct topic {
    uint32_t topic;
    double share, npmi;
    uint64_t tokens;
    shoal_texts words;
    shoal_numbers counts;
    const char *text, *like;
};

#define AT(member) offsetof(struct topic, member)
static const shoal_field topic_fields[] = {
    {AT(topic), SHOAL_FIELD_U32, SHOAL_UNIT_NONE, 0, 1, "topic", "TOPIC", .help = "its number"},
    {AT(share), SHOAL_FIELD_F64, SHOAL_UNIT_PERCENT, 1, 1, "share", "SHARE",
     .help = "of all tokens"},
    {AT(text), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, NULL, "MOST FREQUENT WORDS",
     .help = "by falling frequency"},
    {AT(npmi), SHOAL_FIELD_F64, SHOAL_UNIT_NONE, 0, 1, "npmi", "NPMI",
     .help = "coherence: how much its first ten words share documents, -1 to 1",
     .flags = SHOAL_FIELD_SPARSE},
    {AT(tokens), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 1, "tokens", "TOKENS", .help = "it has"},
    {AT(like), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "like", "LIKE",
     .help = "topics whose words are most alike", .flags = SHOAL_FIELD_SPARSE},
    {AT(words), SHOAL_FIELD_TEXTS, SHOAL_UNIT_NONE, 0, 0, "words", .help = "the most frequent"},
    {AT(counts), SHOAL_FIELD_NUMBERS, SHOAL_UNIT_COUNT, 0, 0, "counts",
     .help = "how often the topic has each"},
};
#undef AT
static const shoal_schema topic_schema = {"topics", "Topics", "A topic", topic_fields,
                                          BASE_COUNT(topic_fields)};

struct corpus {
    uint64_t documents, tokens, vocabulary;
    uint32_t topics, listed, half, empty;
    double per_word, beta;
    const char *alpha, *coherence;
};

#define AT(member) offsetof(struct corpus, member)
static const shoal_field corpus_fields[] = {
    {AT(documents), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 1, "documents", "Documents",
     .help = "that were trained on"},
    {AT(tokens), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 1, "tokens", "Tokens",
     .help = "words of them, each as often as it occurs"},
    {AT(vocabulary), SHOAL_FIELD_U64, SHOAL_UNIT_COUNT, 0, 1, "vocabulary", "Vocabulary",
     .help = "different words"},
    {AT(per_word), SHOAL_FIELD_F64, SHOAL_UNIT_NONE, 0, 1, "topics_per_word", "Topics a word",
     .help = "in how many topics a word is, on average"},
    {AT(topics), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 1, "topics", "Topics", .help = "in all"},
    {AT(listed), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 1, "listed", "Listed",
     .help = "the largest, which are listed"},
    {AT(half), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 1, "half", "Topics with half of all tokens",
     .help = "the fewest topics that have half of all tokens"},
    {AT(empty), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 1, "empty", "Topics without a token",
     .help = "topics that have none"},
    {AT(coherence), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "coherence", "Coherence (NPMI)",
     .help = "NPMI, mean of the topics listed"},
    {AT(alpha), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "alpha", "Prior alpha",
     .help = "of each topic in a document"},
    {AT(beta), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, "beta", "Prior beta",
     .help = "of each word in a topic, as it came out"},
};
#undef AT
static const shoal_schema corpus_schema = {"corpus", "Corpus and model", "The corpus",
                                           corpus_fields, BASE_COUNT(corpus_fields)};

struct shared {
    const char *word, *topics;
    uint32_t count;
};

#define AT(member) offsetof(struct shared, member)
static const shoal_field shared_fields[] = {
    {AT(word), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "word", "WORD",
     .help = "among the first words of several topics"},
    {AT(count), SHOAL_FIELD_U32, SHOAL_UNIT_COUNT, 0, 1, "count", "TOPICS",
     .help = "that have it among their first"},
    {AT(topics), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "topics", "WHICH, THE LARGEST FIRST",
     .help = "their numbers"},
};
#undef AT
static const shoal_schema shared_schema = {"shared_words", "Words of several topics", "A word",
                                           shared_fields, BASE_COUNT(shared_fields)};

/* ---- topics ---- */

struct sheet {
    shoal_driver *driver;
    struct lda_topics *t;
    struct base_arena arena;
    struct base_buf text; /* scratch */
};

/* What the scratch has, for as long as the sheet; NULL: no memory, or nothing. */
static const char *keep(struct sheet *s)
{
    char *copy = base_buf_status(&s->text) == SHOAL_OK && s->text.size > 0
                     ? base_arena_calloc(&s->arena, 1, s->text.size + 1)
                     : NULL;

    if (copy != NULL)
        memcpy(copy, s->text.data, s->text.size);
    base_buf_clear(&s->text);
    return copy;
}

static const char *word_of(struct sheet *s, uint32_t word)
{
    if (s->t->name == NULL)
        base_buf_printf(&s->text, "%u", word + 1);
    else
        base_buf_append(&s->text, s->t->name[word], strcspn(s->t->name[word], "\n"));
    return keep(s);
}

static const char *like_of(struct sheet *s, uint32_t place)
{
    const uint32_t *near = s->t->near + (size_t)place * LDA_NEAR;

    for (uint32_t i = 0; i < LDA_NEAR; i++)
        if (near[i] < s->t->shown)
            base_buf_printf(&s->text, "%s%u", s->text.size > 0 ? " " : "",
                            s->t->topic[near[i]] + 1);
    return keep(s);
}

static bool fill_topic(struct sheet *s, uint32_t place, struct topic *out)
{
    const struct lda_topics *t = s->t;
    const uint32_t *word = t->word + (size_t)place * LDA_TOP;
    const uint32_t *used = t->used + (size_t)place * LDA_TOP;
    const char **words = base_arena_calloc(&s->arena, WORDS, sizeof *words);
    double *counts = base_arena_calloc(&s->arena, WORDS, sizeof *counts);
    size_t count = 0;

    if (words == NULL || counts == NULL)
        return false;
    out->topic = t->topic[place] + 1;
    out->tokens = (uint64_t)t->counts.total[t->topic[place]];
    out->share = (double)out->tokens / (double)t->kept->tokens;
    out->npmi = t->npmi != NULL ? t->npmi[place] : (double)NAN;
    while (count < WORDS && word[count] != (uint32_t)NUM_LDA_NONE) {
        words[count] = word_of(s, word[count]);
        counts[count] = used[count];
        if (words[count] == NULL)
            return false;
        count++;
    }
    for (size_t i = 0; i < count; i++)
        base_buf_printf(&s->text, "%s%s", i > 0 ? " " : "", words[i]);
    out->text = keep(s);
    out->like = like_of(s, place);
    out->words = (shoal_texts){words, count};
    out->counts = (shoal_numbers){.values = counts, .count = count};
    return out->text != NULL;
}

/* Of the largest topics: how much of each its first words are. */
static shoal_status draw_words(struct sheet *s, const struct topic *rows, uint32_t count,
                               shoal_err *err)
{
    static const char *const NAMES[DRAWN_WORDS] = {"first word", "second", "third",
                                                   "fourth",     "fifth",  "sixth"};
    shoal_series series[DRAWN_WORDS];
    float share[DRAWN_WORDS][DRAWN_TOPICS];
    const char *word[DRAWN_WORDS][DRAWN_TOPICS], *label[DRAWN_TOPICS];
    char name[DRAWN_TOPICS][24];
    shoal_picture picture = {.type = SHOAL_PICTURE_BARS,
                             .name = "words",
                             .title = "First words of topics",
                             .note = "shares of the topic's tokens, of the largest topics",
                             .y = {.unit = SHOAL_UNIT_SHARE},
                             .series = series,
                             .series_count = DRAWN_WORDS,
                             .labels = {label, count < DRAWN_TOPICS ? count : DRAWN_TOPICS}};

    for (uint32_t w = 0; w < DRAWN_WORDS; w++)
        series[w] = (shoal_series){.name = NAMES[w],
                                   .y = share[w],
                                   .count = picture.labels.count,
                                   .colour = w,
                                   .texts = word[w]};
    for (size_t i = 0; i < picture.labels.count; i++) {
        snprintf(name[i], sizeof name[i], "topic %u", rows[i].topic);
        label[i] = name[i];
        for (uint32_t w = 0; w < DRAWN_WORDS; w++) {
            bool known = w < rows[i].words.count;
            share[w][i] = known ? (float)(rows[i].counts.values[w] / (double)rows[i].tokens) : NAN;
            word[w][i] = known ? rows[i].words.items[w] : "";
        }
    }
    return shoal_driver_picture(s->driver, &picture, err);
}

static shoal_status list_topics(struct sheet *s, shoal_err *err)
{
    struct topic *rows = base_arena_calloc(&s->arena, (size_t)s->t->shown + 1, sizeof *rows);

    for (uint32_t i = 0; i < s->t->shown; i++)
        if (rows == NULL || !fill_topic(s, i, &rows[i]))
            return base_err_nomem(err, "listing topics");
    shoal_records all = {.first = rows, .stride = sizeof *rows, .count = s->t->shown};
    shoal_status st = shoal_driver_records(s->driver, &topic_schema, &all, err);
    return st == SHOAL_OK && s->t->shown > 0 ? draw_words(s, rows, s->t->shown, err) : st;
}

/* ---- the corpus ---- */

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

static shoal_status list_corpus(struct sheet *s, shoal_err *err)
{
    const struct lda_options *o = shoal_driver_options(s->driver);
    const struct lda_topics *t = s->t;
    char alpha[32] = "optimised", coherence[80];
    struct corpus row = {.documents = t->kept->documents,
                         .tokens = t->kept->tokens,
                         .vocabulary = t->kept->words,
                         .topics = t->all,
                         .listed = t->shown,
                         .half = t->half,
                         .empty = t->all - t->filled,
                         .per_word =
                             (double)t->counts.start[t->kept->words] / fmax(1, t->kept->words),
                         .beta = t->counts.beta,
                         .alpha = alpha,
                         .coherence = coherence};
    shoal_records all = {.first = &row, .stride = sizeof row, .count = 1};

    if (o->optimise == 0)
        snprintf(alpha, sizeof alpha, "%.3g", lda_alpha(o, t->all));
    if (t->npmi == NULL)
        snprintf(coherence, sizeof coherence, "not known: %s", t->no_npmi);
    else if (isnan(mean_npmi(t)))
        snprintf(coherence, sizeof coherence, "not known");
    else
        snprintf(coherence, sizeof coherence, "%.3f", mean_npmi(t));
    return shoal_driver_records(s->driver, &corpus_schema, &all, err);
}

/* ---- words of several topics ---- */

static shoal_status list_shared(struct sheet *s, shoal_err *err)
{
    struct lda_shared found[SHARED];
    struct shared rows[SHARED];
    size_t all = lda_topics_shared(s->t, WORDS, found, SHARED);
    size_t count = all < SHARED ? all : SHARED;

    for (size_t i = 0; i < count; i++) {
        uint32_t named = found[i].count < SHARED_IN ? found[i].count : SHARED_IN;
        rows[i] = (struct shared){.word = word_of(s, found[i].word), .count = found[i].count};
        for (uint32_t n = 0; n < named; n++)
            base_buf_printf(&s->text, "%s%u", n > 0 ? " " : "",
                            s->t->topic[s->t->by_word[found[i].first + n].place] + 1);
        if (named < found[i].count)
            base_buf_printf(&s->text, " and %u more", found[i].count - named);
        rows[i].topics = keep(s);
        if (rows[i].word == NULL || rows[i].topics == NULL)
            return base_err_nomem(err, "listing words");
    }
    shoal_records records = {.first = rows, .stride = sizeof *rows, .count = count};
    return count == 0 ? SHOAL_OK : shoal_driver_records(s->driver, &shared_schema, &records, err);
}

/* ---- all of it ---- */

shoal_status app_lda_show(shoal_driver *driver, shoal_err *err)
{
    struct lda_topics topics;
    struct sheet s = {.driver = driver, .t = &topics};
    shoal_status st = lda_topics_init(&topics, driver, err);

    base_arena_init(&s.arena, topics.alloc, 1 << 14);
    base_buf_init(&s.text, topics.alloc, TEXT_MAX);
    if (st == SHOAL_OK)
        st = list_topics(&s, err);
    if (st == SHOAL_OK)
        st = list_corpus(&s, err);
    if (st == SHOAL_OK)
        st = list_shared(&s, err);
    base_buf_fini(&s.text);
    base_arena_fini(&s.arena);
    lda_topics_fini(&topics);
    return st;
}
