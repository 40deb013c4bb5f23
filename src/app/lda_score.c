/* lda_score.c - models of `lda` at work: topics of documents that were not trained on, and how well
 * words are foretold.
 *
 * A line of `shoal predict` is a document's topics by falling share, "TOPIC:SHARE ...", those that its
 * words have and that come to a hundredth at least, but one in any case, and at the end "other:SHARE"
 * for all the rest, so that shares add up to 1; "-" for a document without a known word. `shoal eval`
 * judges by document completion (num/lda_judge.h) and by how often the top words of topics occur
 * together.
 * Tests: tests/cli/test_train_lda.py, tests/cli/transcripts/lda_words.txt. */
#include "app/lda.h"

#include "base/err.h"
#include "base/text.h"
#include <math.h>

enum { TOP_WORDS = 10, UNITS = 10000 };
static const double SHARE_MIN = 0.01;

struct judged {
    shoal_score *score;
    const struct base_alloc *alloc;
    struct num_lda_model model;
    struct num_lda_judge *judge;
    struct data_corpus corpus;
};

/* ---- lines ---- */

static void put_shares(const struct num_lda_mixture *mix, bool known, struct base_buf *line)
{
    long rest = UNITS; /* of what is written, so that it adds up */

    for (uint32_t i = 0; known && i < mix->count && (i == 0 || mix->share[i] >= SHARE_MIN); i++) {
        long units = lround(mix->share[i] * UNITS);
        base_buf_printf(line, "%s%u:%.4f", i > 0 ? " " : "", mix->topic[i] + 1,
                        (double)units / UNITS);
        rest -= units;
    }
    if (known && rest > 0)
        base_buf_printf(line, "%sother:%.4f", line->size > 0 ? " " : "", (double)rest / UNITS);
    base_buf_puts(line, known ? "" : "-");
}

static shoal_status put_line(struct judged *j, uint64_t document, struct base_buf *line,
                             shoal_err *err)
{
    const struct num_corpus *x = &j->corpus.x;
    uint64_t from = x->start[document], entries = x->start[document + 1] - from;
    struct num_lda_mixture mix = {0};
    shoal_status st = SHOAL_OK;

    if (entries > 0)
        st = num_lda_fold(j->judge, x->word + from, x->count + from, entries, &mix, err);
    if (st != SHOAL_OK)
        return st;
    base_buf_clear(line);
    put_shares(&mix, entries > 0, line);
    if (base_buf_status(line) != SHOAL_OK)
        return base_err_nomem(err, "telling topics");
    return shoal_score_line(j->score, line->data, err);
}

static shoal_status put_lines(struct judged *j, shoal_err *err)
{
    const struct num_corpus *x = &j->corpus.x;
    struct base_buf line;
    uint64_t unknown = 0;
    shoal_status st = SHOAL_OK;

    base_buf_init(&line, j->alloc, 1 << 16);
    for (uint64_t d = 0; d < x->documents && st == SHOAL_OK; d++) {
        st = put_line(j, d, &line, err);
        if (st == SHOAL_OK)
            st = shoal_score_count(j->score, d + 1, x->documents, err);
        unknown += x->start[d + 1] == x->start[d];
    }
    base_buf_fini(&line);
    shoal_score_metric(j->score, "documents", (double)x->documents);
    shoal_score_metric(j->score, "unknown_documents", (double)unknown);
    return st;
}

/* ---- metrics ---- */

/* Means over topics of whose top words two at least are in the documents. */
static shoal_status judge_topics(struct judged *j, const struct num_corpus *corpus, shoal_err *err)
{
    uint32_t topics = j->model.topics, known = 0;
    uint32_t *word = base_calloc(j->alloc, topics, TOP_WORDS * sizeof *word);
    uint32_t *count = base_calloc(j->alloc, topics, TOP_WORDS * sizeof *count);
    struct num_lda_coherence *of = base_calloc(j->alloc, topics, sizeof *of), sum = {0};
    shoal_status st = word != NULL && count != NULL && of != NULL
                          ? SHOAL_OK
                          : base_err_nomem(err, "judging topics");

    if (st == SHOAL_OK) {
        num_lda_top_words(&j->model, TOP_WORDS, word, count);
        st = num_lda_coherence(j->alloc, corpus, word, topics, TOP_WORDS, of, err);
    }
    for (uint32_t k = 0; k < topics && st == SHOAL_OK; k++) {
        known += of[k].pairs > 0;
        sum.umass += of[k].umass;
        sum.npmi += of[k].npmi;
    }
    base_free(j->alloc, word);
    base_free(j->alloc, count);
    base_free(j->alloc, of);
    if (st != SHOAL_OK)
        return st;
    shoal_score_metric(j->score, "npmi", known > 0 ? sum.npmi / known : (double)NAN);
    shoal_score_metric(j->score, "umass", known > 0 ? sum.umass / known : (double)NAN);
    return SHOAL_OK;
}

static shoal_status put_metrics(struct judged *j, shoal_err *err)
{
    const struct num_corpus *x = &j->corpus.x;
    struct num_lda_held held = {0};
    uint32_t all = (uint32_t)x->documents;
    shoal_status st = SHOAL_OK;

    for (uint32_t d = 0; d < all && st == SHOAL_OK; d++) {
        st = num_lda_complete(j->judge, x, d, d + 1, &held, err);
        if (st == SHOAL_OK)
            st = shoal_score_count(j->score, d + 1, all, err);
    }
    if (st != SHOAL_OK)
        return st;
    shoal_score_metric(j->score, "perplexity",
                       held.scored > 0 ? num_lda_perplexity(&held) : (double)NAN);
    shoal_score_metric(j->score, "scored", (double)held.scored);
    shoal_score_metric(j->score, "documents", (double)x->documents);
    shoal_score_metric(j->score, "unknown", (double)j->corpus.left_out);
    return judge_topics(j, x, err);
}

/* ---- both ---- */

/* Text is cut into words as it was for training; words that the model has not seen are left out. */
static shoal_status load_documents(struct judged *j, const struct data_ids *names, shoal_err *err)
{
    const struct lda_options *o = shoal_score_options(j->score);
    struct data_corpus_opts opts = {.format = (enum data_corpus_format)o->format,
                                    .min_length = (uint32_t)o->min_length,
                                    .known = names->count > 0 ? names : NULL,
                                    .words = names->count > 0 ? 0 : j->model.words};
    shoal_status st = data_corpus_load(shoal_score_env(j->score), shoal_score_path(j->score), &opts,
                                       &j->corpus, err);

    if (st == SHOAL_OK && j->corpus.x.documents > UINT32_MAX)
        return base_err(err, SHOAL_E_LIMIT, "'%s' has more than %u documents",
                        shoal_score_path(j->score), UINT32_MAX);
    return st;
}

shoal_status lda_score(shoal_score *score, shoal_err *err)
{
    struct judged j = {.score = score, .alloc = env_alloc(shoal_score_env(score))};
    struct data_ids names;

    data_ids_init(&names, j.alloc);
    shoal_status st = lda_model_load(shoal_score_model(score), &j.model, &names, err);
    if (st == SHOAL_OK)
        st = load_documents(&j, &names, err);
    if (st == SHOAL_OK)
        st = num_lda_judge_new(j.alloc, &j.model, &j.judge, err);
    if (st == SHOAL_OK)
        st = shoal_score_wants_lines(score) ? put_lines(&j, err) : put_metrics(&j, err);
    num_lda_judge_free(j.judge);
    data_corpus_fini(&j.corpus);
    data_ids_fini(&names);
    return st;
}
