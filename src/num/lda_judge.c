/* lda_judge.c - folding documents in, and its sums.
 *
 * A round of folding in looks at all topics, but most are alike: with v_k = (n_k + alpha_k) g_k and
 * g_k = 1 / (c_k + words beta),
 *     Z_w = beta A + sum over the topics of w of c_wk v_k,   A = sum_k v_k,
 *     n_k = v_k (x + sum over seen w of c_wk t_w / Z_w),     x = beta sum over seen w of t_w / Z_w,
 * where t_w is how often w was seen. Topics that no word of the document has (the *others*) follow
 * n_k = (n_k + alpha_k) g_k x, with the same x for all. After rounds with x_1 .. x_t their v_k is
 *     alpha_k (g_k + x_t g_k^2 + x_t x_{t-1} g_k^3 + ..),
 * so their part of A is a sum over powers j of S_j = sum over the others of alpha_k g_k^j: the sum over
 * all topics, made once for the model, less that over the document's own. A round costs the entries
 * of the document's words, not K, and is exact. Powers are of g_k / max g, so that none overflows. */
#include "num/lda_judge.h"

#include "base/assert.h"
#include "base/err.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POWERS = NUM_LDA_ROUNDS + 2 };

struct pair {
    uint32_t place; /* in the document's own topics */
    float count;
};

struct term {
    uint64_t first, end; /* pairs */
    uint32_t seen, scored;
};

struct num_lda_judge {
    struct base_alloc alloc;
    struct num_lda_model model;
    double alpha_sum, top; /* top: largest g */
    double *inverse;       /* (topics): g / top */
    double all[POWERS];    /* [j]: sum over all topics of alpha inverse^j */
    uint32_t *place;       /* (topics): in own, or NUM_LDA_NONE; so between documents */
    uint32_t *own;         /* (topics) numbers of the document's own topics */
    double *n, *v, *gain;  /* (topics), by place */
    uint32_t owns, terms;
    struct term *term;
    struct pair *pair;
    size_t term_room, pair_room;
    double x[NUM_LDA_ROUNDS + 1], others[POWERS];
};

/* ---- a judge ---- */

static void sum_powers(struct num_lda_judge *judge)
{
    const struct num_lda_model *model = &judge->model;
    double beta_sum = model->beta * model->words;

    for (uint32_t k = 0; k < model->topics; k++)
        judge->top = fmax(judge->top, 1 / ((double)model->total[k] + beta_sum));
    for (uint32_t k = 0; k < model->topics; k++) {
        double g = 1 / ((double)model->total[k] + beta_sum) / judge->top, power = model->alpha[k];
        judge->inverse[k] = g;
        judge->alpha_sum += model->alpha[k];
        judge->place[k] = (uint32_t)NUM_LDA_NONE;
        for (uint32_t j = 0; j < POWERS; j++, power *= g)
            judge->all[j] += power;
    }
}

shoal_status num_lda_judge_new(const struct base_alloc *alloc, const struct num_lda_model *model,
                               struct num_lda_judge **out_judge, shoal_err *err)
{
    struct num_lda_judge *judge = base_calloc(alloc, 1, sizeof *judge);
    size_t topics = model->topics;

    if (judge == NULL)
        return base_err_nomem(err, "judging a topic model");
    judge->alloc = *alloc;
    judge->model = *model;
    judge->inverse = base_calloc(alloc, topics, sizeof *judge->inverse);
    judge->place = base_calloc(alloc, topics, sizeof *judge->place);
    judge->own = base_calloc(alloc, topics, sizeof *judge->own);
    judge->n = base_calloc(alloc, topics, sizeof *judge->n);
    judge->v = base_calloc(alloc, topics, sizeof *judge->v);
    judge->gain = base_calloc(alloc, topics, sizeof *judge->gain);
    if (judge->inverse == NULL || judge->place == NULL || judge->own == NULL || judge->n == NULL ||
        judge->v == NULL || judge->gain == NULL) {
        num_lda_judge_free(judge);
        return base_err_nomem(err, "judging a topic model");
    }
    sum_powers(judge);
    *out_judge = judge;
    return SHOAL_OK;
}

void num_lda_judge_free(struct num_lda_judge *judge)
{
    if (judge == NULL)
        return;
    struct base_alloc alloc = judge->alloc;
    base_free(&alloc, judge->inverse);
    base_free(&alloc, judge->place);
    base_free(&alloc, judge->own);
    base_free(&alloc, judge->n);
    base_free(&alloc, judge->v);
    base_free(&alloc, judge->gain);
    base_free(&alloc, judge->term);
    base_free(&alloc, judge->pair);
    base_free(&alloc, judge);
}

/* ---- a document ---- */

static void clear_document(struct num_lda_judge *judge)
{
    for (uint32_t i = 0; i < judge->owns; i++)
        judge->place[judge->own[i]] = (uint32_t)NUM_LDA_NONE;
    judge->owns = judge->terms = 0;
}

static uint32_t place_of(struct num_lda_judge *judge, uint32_t topic)
{
    if (judge->place[topic] == (uint32_t)NUM_LDA_NONE) {
        judge->place[topic] = judge->owns;
        judge->own[judge->owns++] = topic;
    }
    return judge->place[topic];
}

static int add_term(struct num_lda_judge *judge, uint32_t word, uint32_t seen, uint32_t scored)
{
    const struct num_lda_model *model = &judge->model;
    uint64_t first = judge->terms > 0 ? judge->term[judge->terms - 1].end : 0, at = first;
    uint64_t from = model->start[word], count = model->start[word + 1] - from;

    if (base_reserve(&judge->alloc, (void **)&judge->term, &judge->term_room,
                     (size_t)judge->terms + 1, sizeof *judge->term) != 0 ||
        base_reserve(&judge->alloc, (void **)&judge->pair, &judge->pair_room,
                     (size_t)(first + count), sizeof *judge->pair) != 0)
        return -1;
    for (uint64_t e = from; e < from + count; e++)
        judge->pair[at++] = (struct pair){place_of(judge, model->topic[e]), (float)model->count[e]};
    judge->term[judge->terms++] = (struct term){first, at, seen, scored};
    return 0;
}

/* S_j of the topics that are not the document's own. */
static void sum_others(struct num_lda_judge *judge)
{
    memcpy(judge->others, judge->all, sizeof judge->others);
    for (uint32_t i = 0; i < judge->owns; i++) {
        double g = judge->inverse[judge->own[i]], power = judge->model.alpha[judge->own[i]];
        for (uint32_t j = 0; j < POWERS; j++, power *= g)
            judge->others[j] -= power;
    }
    for (uint32_t j = 0; j < POWERS; j++)
        if (judge->others[j] < 0 || judge->owns == judge->model.topics)
            judge->others[j] = 0;
}

/* A / top after `rounds` rounds. */
static double sum_v(const struct num_lda_judge *judge, uint32_t rounds)
{
    double sum = judge->others[1], product = 1;

    for (uint32_t t = rounds; t > 0; t--) {
        product *= judge->x[t];
        sum += product * judge->others[rounds - t + 2];
    }
    for (uint32_t i = 0; i < judge->owns; i++)
        sum += judge->v[i];
    return sum;
}

static void weigh(struct num_lda_judge *judge)
{
    for (uint32_t i = 0; i < judge->owns; i++)
        judge->v[i] =
            (judge->n[i] + judge->model.alpha[judge->own[i]]) * judge->inverse[judge->own[i]];
}

static double sum_pairs(const struct num_lda_judge *judge, const struct term *term)
{
    double sum = 0;

    for (uint64_t e = term->first; e < term->end; e++)
        sum += (double)judge->pair[e].count * judge->v[judge->pair[e].place];
    return sum;
}

static void fold_round(struct num_lda_judge *judge, uint32_t round)
{
    double smooth = judge->model.beta * sum_v(judge, round - 1), x = 0;

    memset(judge->gain, 0, judge->owns * sizeof *judge->gain);
    for (uint32_t i = 0; i < judge->terms; i++) {
        const struct term *term = &judge->term[i];
        if (term->seen == 0)
            continue;
        double share = term->seen / (smooth + sum_pairs(judge, term));
        x += share;
        for (uint64_t e = term->first; e < term->end; e++)
            judge->gain[judge->pair[e].place] += share * (double)judge->pair[e].count;
    }
    x *= judge->model.beta;
    judge->x[round] = x;
    for (uint32_t i = 0; i < judge->owns; i++)
        judge->n[i] = judge->v[i] * (x + judge->gain[i]);
    weigh(judge);
}

/* The document's terms are there; n and v are made. */
static void fold(struct num_lda_judge *judge)
{
    sum_others(judge);
    memset(judge->n, 0, judge->owns * sizeof *judge->n);
    weigh(judge);
    for (uint32_t round = 1; round <= NUM_LDA_ROUNDS; round++)
        fold_round(judge, round);
}

struct share {
    double share;
    uint32_t topic;
};

static int by_share(const void *a, const void *b)
{
    const struct share *x = a, *y = b;

    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    return x->topic < y->topic ? -1 : x->topic > y->topic;
}

/* own and n become topics and shares, sorted. */
static int sort_shares(struct num_lda_judge *judge, double seen)
{
    struct share *shares = base_calloc(&judge->alloc, judge->owns, sizeof *shares);

    if (shares == NULL && judge->owns > 0)
        return -1;
    for (uint32_t i = 0; i < judge->owns; i++) {
        uint32_t k = judge->own[i];
        shares[i] =
            (struct share){(judge->n[i] + judge->model.alpha[k]) / (seen + judge->alpha_sum), k};
    }
    if (judge->owns > 1)
        qsort(shares, judge->owns, sizeof *shares, by_share);
    for (uint32_t i = 0; i < judge->owns; i++) {
        judge->own[i] = shares[i].topic;
        judge->n[i] = shares[i].share;
    }
    base_free(&judge->alloc, shares);
    return 0;
}

shoal_status num_lda_fold(struct num_lda_judge *judge, const uint32_t *word, const uint32_t *times,
                          uint64_t entries, struct num_lda_mixture *out_mixture, shoal_err *err)
{
    double seen = 0;

    clear_document(judge);
    for (uint64_t e = 0; e < entries; e++) {
        if (word[e] >= judge->model.words)
            continue;
        uint32_t count = times != NULL ? times[e] : 1;
        if (add_term(judge, word[e], count, 0) != 0)
            return base_err_nomem(err, "folding a document in");
        seen += count;
    }
    fold(judge);
    if (sort_shares(judge, seen) != 0)
        return base_err_nomem(err, "folding a document in");
    *out_mixture = (struct num_lda_mixture){judge->owns, judge->own, judge->n};
    return SHOAL_OK;
}

/* ---- completion ---- */

/* Adds the document's terms; out_seen: its seen tokens. */
static int split(struct num_lda_judge *judge, const struct num_corpus *corpus, uint32_t document,
                 uint64_t *out_seen)
{
    uint64_t at = 0;

    *out_seen = 0;
    for (uint64_t e = corpus->start[document]; e < corpus->start[document + 1]; e++) {
        uint32_t count = corpus->count != NULL ? corpus->count[e] : 1;
        uint32_t scored = (uint32_t)((count + at % 2) / 2);
        at += count;
        if (corpus->word[e] >= judge->model.words)
            continue;
        *out_seen += count - scored;
        if (add_term(judge, corpus->word[e], count - scored, scored) != 0)
            return -1;
    }
    return 0;
}

static void score(struct num_lda_judge *judge, uint64_t seen, struct num_lda_held *held)
{
    double smooth = judge->model.beta * sum_v(judge, NUM_LDA_ROUNDS);
    double scale = judge->top / ((double)seen + judge->alpha_sum);

    for (uint32_t i = 0; i < judge->terms; i++) {
        const struct term *term = &judge->term[i];
        if (term->scored == 0)
            continue;
        held->log_sum += term->scored * log((smooth + sum_pairs(judge, term)) * scale);
        held->scored += term->scored;
    }
}

shoal_status num_lda_complete(struct num_lda_judge *judge, const struct num_corpus *corpus,
                              uint32_t first, uint32_t last, struct num_lda_held *held,
                              shoal_err *err)
{
    struct num_lda_held sum = *held;

    shoal_assert(last <= corpus->documents);
    for (uint32_t d = first; d < last; d++) {
        uint64_t seen;
        if (corpus->start[d] == corpus->start[d + 1])
            continue; /* nothing to see or to score */
        clear_document(judge);
        if (split(judge, corpus, d, &seen) != 0)
            return base_err_nomem(err, "folding a document in");
        fold(judge);
        score(judge, seen, &sum);
    }
    *held = sum;
    return SHOAL_OK;
}

double num_lda_perplexity(const struct num_lda_held *held)
{
    return held->scored > 0 ? exp(-held->log_sum / (double)held->scored) : 1;
}
