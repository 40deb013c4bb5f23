/* lda_topics.c - what a page shows of topics (lda_show.h), from the counts at the end of a job.
 *
 * Topics are alike as far as their top words are: the sum over words that both have among their first
 * LDA_TOP of sqrt(share in one x share in the other), 1 for equal topics (Bhattacharyya's coefficient,
 * without the tails). All pairs come from one list of (word, topic) sorted by word, so the cost is that of
 * the pairs that share a word, and a matrix of shown x shown.
 *
 * Coherence needs documents, which a job does not keep as such: they are read again, exactly as they
 * were for training, unless that is a pipe or too much to be worth it.
 * Tests: tests/cli/test_train_report.py. */
#include "app/lda_show.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/top.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t READ_AGAIN_MAX = 200 * 1000 * 1000; /* tokens */
static const float ALIKE_MIN = 0.02F;                     /* less than that is chance */

/* ---- the largest ---- */

struct sized {
    int64_t tokens;
    uint32_t topic;
};

static int larger_first(const void *a, const void *b)
{
    const struct sized *x = a, *y = b;

    if (x->tokens != y->tokens)
        return x->tokens > y->tokens ? -1 : 1;
    return (x->topic > y->topic) - (x->topic < y->topic);
}

static bool choose(struct lda_topics *t)
{
    struct sized *sized = base_calloc(t->alloc, t->all, sizeof *sized);
    uint64_t sum = 0;

    t->topic = base_calloc(t->alloc, LDA_SHOWN_MAX, sizeof *t->topic);
    t->place = base_calloc(t->alloc, t->all, sizeof *t->place);
    if (sized == NULL || t->topic == NULL || t->place == NULL) {
        base_free(t->alloc, sized);
        return false;
    }
    for (uint32_t k = 0; k < t->all; k++)
        sized[k] = (struct sized){t->counts.total[k], k};
    qsort(sized, t->all, sizeof *sized, larger_first);
    for (uint32_t i = 0; i < t->all; i++) {
        t->filled += sized[i].tokens > 0;
        t->half += 2 * sum < t->kept->tokens;
        sum += (uint64_t)sized[i].tokens;
        bool shown = i < LDA_SHOWN_MAX && sized[i].tokens > 0;
        t->place[sized[i].topic] = shown ? i : UINT32_MAX;
        if (shown)
            t->topic[t->shown++] = sized[i].topic;
    }
    base_free(t->alloc, sized);
    return true;
}

/* ---- their words ---- */

static void add_word(struct lda_topics *t, uint32_t place, uint32_t word, uint32_t count)
{
    uint32_t *top = t->word + (size_t)place * LDA_TOP, *used = t->used + (size_t)place * LDA_TOP;
    uint32_t rank = LDA_TOP;

    while (rank > 0 && used[rank - 1] < count)
        rank--;
    if (rank == LDA_TOP)
        return;
    memmove(top + rank + 1, top + rank, (LDA_TOP - rank - 1) * sizeof *top);
    memmove(used + rank + 1, used + rank, (LDA_TOP - rank - 1) * sizeof *used);
    top[rank] = word;
    used[rank] = count;
}

static bool find_words(struct lda_topics *t)
{
    size_t size = (size_t)LDA_TOP * (t->shown + 1);

    t->word = base_calloc(t->alloc, size, sizeof *t->word);
    t->used = base_calloc(t->alloc, size, sizeof *t->used);
    if (t->word == NULL || t->used == NULL)
        return false;
    memset(t->word, 0xff, size * sizeof *t->word);
    for (uint32_t w = 0; w < t->kept->words; w++)
        for (uint64_t e = t->counts.start[w]; e < t->counts.start[w + 1]; e++)
            if (t->place[t->counts.topic[e]] != UINT32_MAX)
                add_word(t, t->place[t->counts.topic[e]], w, t->counts.count[e]);
    return true;
}

/* ---- which are alike ---- */

static int by_word(const void *a, const void *b)
{
    const struct lda_use *x = a, *y = b;

    if (x->word != y->word)
        return x->word < y->word ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* The uses of topics' first `words` words, sorted. */
static void list_uses(struct lda_topics *t, uint32_t words)
{
    t->uses = 0;
    for (uint32_t i = 0; i < t->shown; i++)
        for (uint32_t r = 0;
             r < words && t->word[(size_t)i * LDA_TOP + r] != (uint32_t)NUM_LDA_NONE; r++) {
            size_t at = (size_t)i * LDA_TOP + r;
            double share = t->used[at] / (double)t->counts.total[t->topic[i]];
            t->by_word[t->uses++] = (struct lda_use){t->word[at], i, (float)share};
        }
    qsort(t->by_word, t->uses, sizeof *t->by_word, by_word);
}

static size_t end_of_word(const struct lda_topics *t, size_t first)
{
    size_t end = first + 1;

    while (end < t->uses && t->by_word[end].word == t->by_word[first].word)
        end++;
    return end;
}

static void fill_alike(const struct lda_topics *t, float *alike)
{
    for (size_t first = 0, end; first < t->uses; first = end) {
        end = end_of_word(t, first);
        for (size_t a = first; a < end; a++)
            for (size_t b = first; b < end; b++)
                if (a != b)
                    alike[(size_t)t->by_word[a].place * t->shown + t->by_word[b].place] +=
                        sqrtf(t->by_word[a].share * t->by_word[b].share);
    }
}

static void pick_near(const float *alike, uint32_t count, uint32_t near[LDA_NEAR])
{
    struct base_top top[LDA_NEAR];
    size_t found = 0;

    for (uint32_t j = 0; j < count; j++)
        if (alike[j] >= ALIKE_MIN)
            found = base_top_offer(top, found, LDA_NEAR, j, (double)alike[j]);
    for (uint32_t i = 0; i < LDA_NEAR; i++)
        near[i] = i < found ? (uint32_t)top[i].item : UINT32_MAX;
}

static bool find_near(struct lda_topics *t)
{
    size_t shown = t->shown;
    float *alike = base_calloc(t->alloc, shown * shown + 1, sizeof *alike);

    t->near = base_calloc(t->alloc, (shown + 1) * LDA_NEAR, sizeof *t->near);
    t->by_word = base_calloc(t->alloc, (shown + 1) * LDA_TOP, sizeof *t->by_word);
    bool good = alike != NULL && t->near != NULL && t->by_word != NULL;
    if (good) {
        list_uses(t, LDA_TOP);
        fill_alike(t, alike);
        for (size_t i = 0; i < shown; i++)
            pick_near(alike + i * shown, t->shown, t->near + i * LDA_NEAR);
    }
    base_free(t->alloc, alike);
    return good;
}

/* ---- words of several topics ---- */

size_t lda_topics_shared(struct lda_topics *t, uint32_t words, struct lda_shared *out, size_t max)
{
    struct base_top top[LDA_SHARED_MAX];
    size_t found = 0, kept = 0;

    shoal_assert(max <= LDA_SHARED_MAX);
    list_uses(t, words);
    for (size_t first = 0, end; first < t->uses; first = end) { /* by word */
        end = end_of_word(t, first);
        if (end - first < 2)
            continue;
        found++;
        kept = base_top_offer(top, kept, max, first, (double)(end - first));
    }
    for (size_t i = 0; i < kept; i++)
        out[i] = (struct lda_shared){t->by_word[top[i].item].word, (uint32_t)top[i].item,
                                     (uint32_t)top[i].value};
    return found;
}

/* ---- coherence ---- */

static shoal_status judge(struct lda_topics *t, const struct num_corpus *corpus, shoal_err *err)
{
    uint32_t *word = base_calloc(t->alloc, (size_t)t->shown + 1, LDA_COHERENT * sizeof *word);
    struct num_lda_coherence *of = base_calloc(t->alloc, (size_t)t->shown + 1, sizeof *of);
    shoal_status st = SHOAL_E_NOMEM;

    t->npmi = base_calloc(t->alloc, (size_t)t->shown + 1, sizeof *t->npmi);
    if (word != NULL && of != NULL && t->npmi != NULL) {
        for (uint32_t i = 0; i < t->shown; i++)
            memcpy(word + (size_t)i * LDA_COHERENT, t->word + (size_t)i * LDA_TOP,
                   LDA_COHERENT * sizeof *word);
        st = num_lda_coherence(t->alloc, corpus, word, t->shown, LDA_COHERENT, of, err);
        for (uint32_t i = 0; i < t->shown && st == SHOAL_OK; i++)
            t->npmi[i] = of[i].pairs > 0 ? of[i].npmi : (double)NAN;
    } else {
        base_err_nomem(err, "the coherence of topics");
    }
    base_free(t->alloc, word);
    base_free(t->alloc, of);
    return st;
}

/* Without the documents there is no coherence, and a page all the same. */
static shoal_status find_coherence(struct lda_topics *t, shoal_driver *driver, shoal_err *err)
{
    const char *path = shoal_driver_path(driver);
    struct data_corpus corpus = {0}, held = {0};
    shoal_status st = SHOAL_OK;

    t->no_npmi = t->kept->tokens > READ_AGAIN_MAX ? "the corpus is too large"
                 : !env_same(shoal_driver_env(driver), path, path)
                     ? "the corpus came through a pipe"
                     : NULL;
    if (t->no_npmi != NULL)
        return SHOAL_OK;
    t->no_npmi = "the corpus is not what it was";
    if (lda_load(driver, &corpus, &held, NULL) == SHOAL_OK && corpus.tokens == t->kept->tokens &&
        corpus.x.words == t->kept->words && corpus.x.documents <= UINT32_MAX)
        st = judge(t, &corpus.x, err);
    if (t->npmi != NULL)
        t->no_npmi = NULL;
    data_corpus_fini(&corpus);
    data_corpus_fini(&held);
    return st;
}

/* ---- all of it ---- */

void lda_topics_fini(struct lda_topics *t)
{
    base_free(t->alloc, (void *)t->name);
    base_free(t->alloc, t->topic);
    base_free(t->alloc, t->place);
    base_free(t->alloc, t->word);
    base_free(t->alloc, t->used);
    base_free(t->alloc, t->near);
    base_free(t->alloc, t->npmi);
    base_free(t->alloc, t->by_word);
}

shoal_status lda_topics_init(struct lda_topics *t, shoal_driver *driver, shoal_err *err)
{
    *t = (struct lda_topics){.alloc = env_alloc(shoal_driver_env(driver)),
                             .kept = (const void *)shoal_driver_rows_read(driver, LDA_KEPT)};
    shoal_status st = lda_model_now(driver, &t->counts, err);
    if (st != SHOAL_OK)
        return st;
    t->all = t->counts.topics;
    t->name = lda_names(t->alloc, t->kept);
    if ((t->name == NULL && t->kept->names_size > 0) || !choose(t) || !find_words(t) ||
        !find_near(t))
        return base_err_nomem(err, "finding what topics are about");
    return find_coherence(t, driver, err);
}
