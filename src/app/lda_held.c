/* lda_held.c - documents that are left out of training and judge it, where `holdout` asks for it.
 *
 * Planning draws them by the job's seed among those that have two tokens and more (others have nothing
 * to foretell), takes them out of the corpus and keeps them for the driver. At each evaluation the
 * driver counts the model and completes them (num/lda_judge.h): the perplexity that `shoal eval` gives
 * for the same documents and the model as it is then. A document costs some milliseconds at a thousand
 * topics, as much as a hundred thousand tokens of an iteration; so they are no more than one for
 * TOKENS_EACH of the corpus, but for the first LEAST, and LDA_HELD_MAX. What is not held out is trained
 * on. Tests: tests/unit/app/test_lda_held.c. */
#include "app/lda.h"

#include "base/err.h"
#include "base/rand.h"
#include <math.h>
#include <string.h>

enum { TOKENS_EACH = 1 << 15, LEAST = 32 };

/* ---- when planning ---- */

static bool is_fit(const struct num_corpus *x, uint64_t document)
{
    uint64_t tokens = 0;

    for (uint64_t e = x->start[document]; e < x->start[document + 1]; e++)
        tokens += x->count[e];
    return tokens >= 2;
}

static uint64_t count_fit(const struct num_corpus *x)
{
    uint64_t fit = 0;

    for (uint64_t d = 0; d < x->documents; d++)
        fit += is_fit(x, d);
    return fit;
}

/* Arrays of a corpus that its owner changes. */
static void *own(const void *array)
{
    return (void *)(uintptr_t)array;
}

/* A document's entries from `from` on become the last of `to`, whose arrays have room. */
static void append(struct data_corpus *to, const uint32_t *word, const uint32_t *count,
                   uint64_t entries)
{
    memmove((uint32_t *)own(to->x.word) + to->entries, word, entries * sizeof *word);
    memmove((uint32_t *)own(to->x.count) + to->entries, count, entries * sizeof *count);
    for (uint64_t i = 0; i < entries; i++)
        to->tokens += to->x.count[to->entries + i];
    to->entries += entries;
    ((uint64_t *)own(to->x.start))[++to->x.documents] = to->entries;
}

static shoal_status reserve(struct data_corpus *held, uint64_t documents, uint64_t entries,
                            shoal_err *err)
{
    held->x.start = base_calloc(held->alloc, documents + 1, sizeof *held->x.start);
    held->x.word = base_calloc(held->alloc, entries + 1, sizeof *held->x.word);
    held->x.count = base_calloc(held->alloc, entries + 1, sizeof *held->x.count);
    return held->x.start != NULL && held->x.word != NULL && held->x.count != NULL
               ? SHOAL_OK
               : base_err_nomem(err, "holding documents out");
}

/* Documents that are drawn, by one bit each, and how many entries they have. */
struct drawn {
    uint64_t documents, entries;
    uint8_t *bit;
};

static bool is_drawn(const struct drawn *drawn, uint64_t document)
{
    return (drawn->bit[document / 8] >> document % 8 & 1) != 0;
}

/* Each of the documents that are fit is as likely as any other. */
static void draw(const struct num_corpus *x, uint64_t fit, uint64_t wanted, uint64_t seed,
                 struct drawn *out)
{
    struct base_rand rand;

    base_rand_init(&rand, seed, "held out");
    for (uint64_t d = 0; d < x->documents && wanted > 0; d++) {
        if (!is_fit(x, d))
            continue;
        if (base_rand_below(&rand, fit--) >= wanted)
            continue;
        wanted--;
        out->bit[d / 8] |= (uint8_t)(1 << d % 8);
        out->documents++;
        out->entries += x->start[d + 1] - x->start[d];
    }
}

/* Both keep the order of documents. */
static void part(struct data_corpus *corpus, const struct drawn *drawn, struct data_corpus *held)
{
    uint64_t documents = corpus->x.documents, from = 0;

    corpus->x.documents = corpus->entries = corpus->tokens = 0;
    for (uint64_t d = 0; d < documents; d++) {
        uint64_t to = corpus->x.start[d + 1];
        append(is_drawn(drawn, d) ? held : corpus, corpus->x.word + from, corpus->x.count + from,
               to - from);
        from = to;
    }
}

static uint64_t count_wanted(double share, uint64_t fit, uint64_t tokens)
{
    uint64_t wanted = (uint64_t)llround(share * (double)fit), most = tokens / TOKENS_EACH;

    most = most < LEAST ? LEAST : most > LDA_HELD_MAX ? LDA_HELD_MAX : most;
    return wanted < 1 ? 1 : wanted > most ? most : wanted;
}

shoal_status lda_held_take(const struct lda_options *options, uint64_t seed,
                           struct data_corpus *corpus, struct data_corpus *held, shoal_err *err)
{
    uint64_t fit = count_fit(&corpus->x);
    uint64_t wanted = count_wanted(options->holdout, fit, corpus->tokens);
    struct drawn drawn = {.bit = base_calloc(corpus->alloc, corpus->x.documents / 8 + 1, 1)};
    shoal_status st = SHOAL_OK;

    if (drawn.bit == NULL)
        return base_err_nomem(err, "holding documents out");
    if (fit <= wanted)
        st = base_err(err, SHOAL_E_INVAL,
                      "holdout: of %llu documents with two words and more none would be left",
                      (unsigned long long)fit);
    *held = (struct data_corpus){.alloc = corpus->alloc, .x.words = corpus->x.words};
    if (st == SHOAL_OK) {
        draw(&corpus->x, fit, wanted, seed, &drawn);
        st = reserve(held, drawn.documents, drawn.entries, err);
    }
    if (st == SHOAL_OK)
        part(corpus, &drawn, held);
    base_free(corpus->alloc, drawn.bit);
    return st;
}

/* ---- at an evaluation ---- */

shoal_status lda_held_judge(shoal_driver *driver, shoal_err *err)
{
    const struct lda_kept *kept = (const void *)shoal_driver_rows_read(driver, LDA_KEPT);
    struct num_corpus held = lda_kept_held(kept);
    struct num_lda_model model = {0};
    struct num_lda_held sum = {0};
    struct num_lda_judge *judge = NULL;
    shoal_status st = lda_model_now(driver, &model, err);

    if (st == SHOAL_OK)
        st = num_lda_judge_new(env_alloc(shoal_driver_env(driver)), &model, &judge, err);
    if (st == SHOAL_OK)
        st = num_lda_complete(judge, &held, 0, (uint32_t)held.documents, &sum, err);
    num_lda_judge_free(judge);
    if (st == SHOAL_OK)
        shoal_driver_report_held_out(driver, num_lda_perplexity(&sum));
    return st;
}
