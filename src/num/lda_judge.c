/* lda_judge.c - folding documents in, top words of topics and how often they share documents, and
 * priors of largest likelihood.
 *
 * Folding in. A round of folding in looks at all topics, but most are alike: with v_k = (n_k + alpha_k) g_k and
 * g_k = 1 / (c_k + words beta),
 *     Z_w = beta A + sum over the topics of w of c_wk v_k,   A = sum_k v_k,
 *     n_k = v_k (x + sum over seen w of c_wk t_w / Z_w),     x = beta sum over seen w of t_w / Z_w,
 * where t_w is how often w was seen. Topics that no word of the document has (the *others*) follow
 * n_k = (n_k + alpha_k) g_k x, with the same x for all. After rounds with x_1 .. x_t their v_k is
 *     alpha_k (g_k + x_t g_k^2 + x_t x_{t-1} g_k^3 + ..),
 * so their part of A is a sum over powers j of S_j = sum over the others of alpha_k g_k^j: the sum over
 * all topics, made once for the model, less that over the document's own. A round costs the entries
 * of the document's words, not K, and is exact. Powers are of g_k / max g, so that none overflows.
 *
 * Coherence. Only words that some topic has at its top matter. Their documents are listed once; then, topic by
 * topic, each document gets a mask of the topic's top words in it, and pairs are counted from the
 * masks. Cost: the lists' lengths for every topic a word is on top of, and the pairs found.
 *
 * Priors. Documents with counts c_dk are drawn from a Dirichlet-multinomial; its likelihood rises with
 *     alpha_k <- alpha_k sum_d (psi(alpha_k + c_dk) - psi(alpha_k))
 *                      / sum_d (psi(sum alpha + n_d) - psi(sum alpha)),
 * which needs no more than how many documents have which count. beta is the same with words in the
 * place of topics and topics in that of documents, and one value for all words.
 * T. Minka, "Estimating a Dirichlet distribution" (2000), eq. 55. */
#include "num/lda_judge.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/room.h"
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

struct share {
    double share;
    uint32_t topic;
};

struct num_lda_judge {
    struct base_alloc alloc;
    struct base_room room; /* of the arrays */
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
    struct share *shares; /* (topics), to sort them */
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
    judge->room.alloc = &judge->alloc;
    BASE_ROOM(&judge->room, judge->inverse, topics);
    BASE_ROOM(&judge->room, judge->place, topics);
    BASE_ROOM(&judge->room, judge->own, topics);
    BASE_ROOM(&judge->room, judge->n, topics);
    BASE_ROOM(&judge->room, judge->v, topics);
    BASE_ROOM(&judge->room, judge->gain, topics);
    BASE_ROOM(&judge->room, judge->shares, topics);
    if (base_room_status(&judge->room) != SHOAL_OK) {
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
    base_room_fini(&judge->room);
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

    BASE_ROOM(&judge->room, judge->term, (size_t)judge->terms + 1);
    BASE_ROOM(&judge->room, judge->pair, (size_t)(first + count));
    if (base_room_status(&judge->room) != SHOAL_OK)
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

static int by_share(const void *a, const void *b)
{
    const struct share *x = a, *y = b;

    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    return x->topic < y->topic ? -1 : x->topic > y->topic;
}

/* own and n become topics and shares, sorted. */
static void sort_shares(struct num_lda_judge *judge, double seen)
{
    struct share *shares = judge->shares;

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
    sort_shares(judge, seen);
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

/* ---- topics ---- */

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
    struct base_room room;
    uint64_t *start;    /* (words + 1); words on no top have none */
    uint32_t *document; /* documents with the word */
    uint64_t *mask;     /* (documents): 0 between topics */
    uint32_t *touched;  /* (documents) */
    uint32_t *last;     /* (words) the last document + 1 that had it, while lists are filled */
};

/* A word may have several entries in a document. The lists of word w end at start[w] while they are
 * filled, at start[w + 1] when all are. */
static void fill_lists(const struct num_corpus *corpus, struct lists *lists, bool count_only)
{
    uint32_t *last = lists->last;

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

static shoal_status make_lists(const struct num_corpus *corpus, const uint32_t *word, size_t tops,
                               struct lists *lists, shoal_err *err)
{
    uint64_t sum = 0;

    memset(lists->start, 0xff, corpus->words * sizeof *lists->start);
    for (size_t i = 0; i < tops; i++)
        if (word[i] < corpus->words)
            lists->start[word[i]] = 0;
    fill_lists(corpus, lists, true);
    for (uint32_t w = 0; w < corpus->words; w++) {
        uint64_t count = lists->start[w];
        if (count == UINT64_MAX)
            continue;
        lists->start[w] = sum;
        sum += count;
    }
    BASE_ROOM(&lists->room, lists->document, (size_t)sum + 1);
    if (base_room_status(&lists->room) != SHOAL_OK)
        return base_err_nomem(err, "the coherence of topics");
    fill_lists(corpus, lists, false);
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
    struct lists lists = {.room = {.alloc = alloc}};
    struct tally *tally = NULL;

    shoal_assert(per_topic <= NUM_LDA_TOP_MAX);
    BASE_ROOM(&lists.room, tally, 1);
    BASE_ROOM(&lists.room, lists.last, (size_t)corpus->words + 1);
    BASE_ROOM(&lists.room, lists.start, (size_t)corpus->words + 1);
    BASE_ROOM_ZERO(&lists.room, lists.mask, (size_t)corpus->documents + 1);
    BASE_ROOM(&lists.room, lists.touched, (size_t)corpus->documents + 1);
    shoal_status st = base_room_status(&lists.room);
    if (st != SHOAL_OK)
        st = base_err_nomem(err, "the coherence of topics");
    else
        st = make_lists(corpus, word, (size_t)topics * per_topic, &lists, err);
    for (uint32_t k = 0; k < topics && st == SHOAL_OK; k++) {
        const uint32_t *tops = word + (size_t)k * per_topic;
        tally_topic(corpus, &lists, tops, per_topic, tally);
        out[k] = mean_of(tally, per_topic, (uint32_t)corpus->documents);
    }
    base_room_fini(&lists.room);
    return st;
}

/* ---- priors ---- */

enum { PLAIN = 16 /* counts below have a bin each */, PARTS = 8 /* of an octave above */ };

uint32_t num_lda_bin(uint32_t count)
{
    if (count < PLAIN)
        return count;
    uint32_t octave = 31 - (uint32_t)__builtin_clz(count); /* 4 and more */
    return PLAIN + (octave - 4) * PARTS + ((count >> (octave - 3)) & (PARTS - 1));
}

uint32_t num_lda_bins(uint32_t count_max)
{
    return num_lda_bin(count_max) + 1;
}

/* The middle of a bin's counts. */
static double middle(uint32_t bin)
{
    if (bin < PLAIN)
        return bin;
    uint32_t octave = 4 + (bin - PLAIN) / PARTS, part = (bin - PLAIN) % PARTS;
    double width = ldexp(1, (int)octave - 3);
    return (PARTS + part) * width + (width - 1) / 2;
}

/* psi(x), x > 0: up to 6 by psi(x) = psi(x + 1) - 1 / x, then the asymptotic series, whose first term
 * left out is below 2e-10. */
static double digamma(double x)
{
    double sum = 0;

    while (x < 6) {
        sum -= 1 / x;
        x += 1;
    }
    double y = 1 / (x * x);
    return sum + log(x) - 0.5 / x -
           y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y / 132))));
}

/* psi(prior + count) - psi(prior); below a bin each exactly, so that tiny priors lose nothing. */
static double rise(double prior, uint32_t bin)
{
    double sum = 0;

    if (bin >= PLAIN)
        return digamma(prior + middle(bin)) - digamma(prior);
    for (uint32_t c = 0; c < bin; c++)
        sum += 1 / (prior + c);
    return sum;
}

double num_lda_step_alpha(uint32_t topics, uint32_t bins, const uint64_t *of_topic,
                          const uint64_t *lengths, double *alpha)
{
    double sum = 0, below = 0, change = 0;

    for (uint32_t k = 0; k < topics; k++)
        sum += alpha[k];
    for (uint32_t b = 1; b < bins; b++)
        if (lengths[b] != 0)
            below += (double)lengths[b] * rise(sum, b);
    if (below <= 0)
        return 0;
    for (uint32_t k = 0; k < topics; k++) {
        double above = 0, before = alpha[k];
        for (uint32_t b = 1; b < bins; b++)
            if (of_topic[(size_t)k * bins + b] != 0)
                above += (double)of_topic[(size_t)k * bins + b] * rise(before, b);
        alpha[k] = fmax(NUM_LDA_ALPHA_MIN, before * above / below);
        change = fmax(change, fabs(alpha[k] - before) / before);
    }
    return change;
}

double num_lda_step_beta(uint32_t words, uint32_t bins, const uint64_t *pairs, uint32_t topics,
                         const int64_t *total, double *beta)
{
    double before = *beta, sum = before * words, above = 0, below = 0;

    for (uint32_t b = 1; b < bins; b++)
        if (pairs[b] != 0)
            above += (double)pairs[b] * rise(before, b);
    for (uint32_t k = 0; k < topics; k++)
        if (total[k] > 0)
            below += digamma(sum + (double)total[k]) - digamma(sum);
    if (below <= 0 || above <= 0)
        return 0;
    *beta = fmax(NUM_LDA_ALPHA_MIN, before * above / (words * below));
    return fabs(*beta - before) / before;
}
