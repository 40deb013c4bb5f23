/* lda_coherence.c - top words of topics, and how often they share documents.
 *
 * Only words that some topic has at its top matter. Their documents are listed once; then, topic by
 * topic, each document gets a mask of the topic's top words in it, and pairs are counted from the
 * masks. Cost: the lists' lengths for every topic a word is on top of, and the pairs found. */
#include "num/lda_judge.h"

#include "base/assert.h"
#include "base/err.h"
#include <math.h>
#include <string.h>

void num_lda_top_words(const struct num_lda_model *model, uint32_t per_topic, uint32_t *out_word,
                       uint32_t *out_count)
{
    memset(out_word, 0xff, (size_t)model->topics * per_topic * sizeof *out_word);
    for (uint32_t w = 0; w < model->words; w++) {
        for (uint64_t e = model->start[w]; e < model->start[w + 1]; e++) {
            uint32_t *top = out_word + (size_t)model->topic[e] * per_topic, rank = per_topic;
            uint32_t *count = out_count + (size_t)model->topic[e] * per_topic;
            while (rank > 0 &&
                   (top[rank - 1] == (uint32_t)NUM_LDA_NONE || count[rank - 1] < model->count[e]))
                rank--;
            if (rank == per_topic)
                continue;
            memmove(top + rank + 1, top + rank, (per_topic - rank - 1) * sizeof *top);
            memmove(count + rank + 1, count + rank, (per_topic - rank - 1) * sizeof *count);
            top[rank] = w;
            count[rank] = model->count[e];
        }
    }
}

struct lists {
    uint64_t *start;    /* (words + 1); words on no top have none */
    uint32_t *document; /* documents with the word */
    uint64_t *mask;     /* (documents): 0 between topics */
    uint32_t *touched;  /* (documents) */
};

static void fini_lists(const struct base_alloc *alloc, struct lists *lists)
{
    base_free(alloc, lists->start);
    base_free(alloc, lists->document);
    base_free(alloc, lists->mask);
    base_free(alloc, lists->touched);
}

/* A word may have several entries in a document. `last` (words): the last document + 1 that had it;
 * the lists of word w end at start[w] while they are filled, at start[w + 1] when all are. */
static void fill_lists(const struct num_corpus *corpus, struct lists *lists, uint32_t *last,
                       bool count_only)
{
    memset(last, 0, corpus->words * sizeof *last);
    for (uint32_t d = 0; d < corpus->documents; d++) {
        for (uint64_t e = corpus->start[d]; e < corpus->start[d + 1]; e++) {
            uint32_t w = corpus->word[e];
            if (lists->start[w] == UINT64_MAX || last[w] == d + 1 ||
                (corpus->count != NULL && corpus->count[e] == 0))
                continue;
            last[w] = d + 1;
            if (!count_only)
                lists->document[lists->start[w]] = d;
            lists->start[w]++;
        }
    }
}

static shoal_status make_lists(const struct base_alloc *alloc, const struct num_corpus *corpus,
                               const uint32_t *word, size_t tops, struct lists *lists,
                               uint32_t *last, shoal_err *err)
{
    uint64_t sum = 0;

    memset(lists->start, 0xff, corpus->words * sizeof *lists->start);
    for (size_t i = 0; i < tops; i++)
        if (word[i] < corpus->words)
            lists->start[word[i]] = 0;
    fill_lists(corpus, lists, last, true);
    for (uint32_t w = 0; w < corpus->words; w++) {
        uint64_t count = lists->start[w];
        if (count == UINT64_MAX)
            continue;
        lists->start[w] = sum;
        sum += count;
    }
    lists->document = base_calloc(alloc, (size_t)sum + 1, sizeof *lists->document);
    if (lists->document == NULL)
        return base_err_nomem(err, "the coherence of topics");
    fill_lists(corpus, lists, last, false);
    sum = 0;
    for (uint32_t w = 0; w < corpus->words; w++) {
        uint64_t end = lists->start[w];
        lists->start[w] = sum;
        if (end != UINT64_MAX)
            sum = end;
    }
    lists->start[corpus->words] = sum;
    return SHOAL_OK;
}

struct tally {
    uint32_t with[NUM_LDA_TOP_MAX];
    uint32_t both[NUM_LDA_TOP_MAX][NUM_LDA_TOP_MAX]; /* [l][m], l < m */
};

static void tally_mask(struct tally *tally, uint64_t mask)
{
    for (; mask != 0; mask &= mask - 1) {
        uint32_t l = (uint32_t)__builtin_ctzll(mask);
        tally->with[l]++;
        for (uint64_t rest = mask & (mask - 1); rest != 0; rest &= rest - 1)
            tally->both[l][__builtin_ctzll(rest)]++;
    }
}

static void tally_topic(const struct num_corpus *corpus, struct lists *lists, const uint32_t *word,
                        uint32_t per_topic, struct tally *tally)
{
    uint32_t touched = 0;

    memset(tally, 0, sizeof *tally);
    for (uint32_t m = 0; m < per_topic; m++) {
        if (word[m] >= corpus->words)
            continue;
        for (uint64_t e = lists->start[word[m]]; e < lists->start[word[m] + 1]; e++) {
            uint32_t d = lists->document[e];
            if (lists->mask[d] == 0)
                lists->touched[touched++] = d;
            lists->mask[d] |= 1ULL << m;
        }
    }
    for (uint32_t i = 0; i < touched; i++) {
        tally_mask(tally, lists->mask[lists->touched[i]]);
        lists->mask[lists->touched[i]] = 0;
    }
}

static double npmi(double documents, double with_l, double with_m, double both)
{
    if (both == 0 || both == documents)
        return both == 0 ? -1 : 1;
    return log(both * documents / (with_l * with_m)) / log(documents / both);
}

static struct num_lda_coherence mean_of(const struct tally *tally, uint32_t per_topic,
                                        uint32_t documents)
{
    struct num_lda_coherence sum = {0, 0, 0};

    for (uint32_t l = 0; l < per_topic; l++) {
        for (uint32_t m = l + 1; m < per_topic; m++) {
            if (tally->with[l] == 0 || tally->with[m] == 0)
                continue;
            sum.umass += log((tally->both[l][m] + 1.0) / tally->with[l]);
            sum.npmi += npmi(documents, tally->with[l], tally->with[m], tally->both[l][m]);
            sum.pairs++;
        }
    }
    if (sum.pairs > 0) {
        sum.umass /= sum.pairs;
        sum.npmi /= sum.pairs;
    }
    return sum;
}

shoal_status num_lda_coherence(const struct base_alloc *alloc, const struct num_corpus *corpus,
                               const uint32_t *word, uint32_t topics, uint32_t per_topic,
                               struct num_lda_coherence *out, shoal_err *err)
{
    if (corpus->documents > UINT32_MAX)
        return base_err(err, SHOAL_E_LIMIT, "a corpus of more than %u documents", UINT32_MAX);
    struct tally *tally = base_calloc(alloc, 1, sizeof *tally);
    uint32_t *last = base_calloc(alloc, (size_t)corpus->words + 1, sizeof *last);
    struct lists lists = {
        .start = base_calloc(alloc, (size_t)corpus->words + 1, sizeof *lists.start),
        .mask = base_calloc(alloc, (size_t)corpus->documents + 1, sizeof *lists.mask),
        .touched = base_calloc(alloc, (size_t)corpus->documents + 1, sizeof *lists.touched)};
    shoal_status st = SHOAL_OK;

    shoal_assert(per_topic <= NUM_LDA_TOP_MAX);
    if (tally == NULL || last == NULL || lists.start == NULL || lists.mask == NULL ||
        lists.touched == NULL)
        st = base_err_nomem(err, "the coherence of topics");
    if (st == SHOAL_OK)
        st = make_lists(alloc, corpus, word, (size_t)topics * per_topic, &lists, last, err);
    for (uint32_t k = 0; k < topics && st == SHOAL_OK; k++) {
        const uint32_t *tops = word + (size_t)k * per_topic;
        tally_topic(corpus, &lists, tops, per_topic, tally);
        out[k] = mean_of(tally, per_topic, (uint32_t)corpus->documents);
    }
    fini_lists(alloc, &lists);
    base_free(alloc, last);
    base_free(alloc, tally);
    return st;
}
