/* lda.h - what the files of the application `lda` share: lda.c (the driver's decisions), lda_plan.c
 * (a corpus to executors and tables), lda_from.c (topics that begin as in a model), lda_held.c
 * (documents that are not trained on), lda_task.c (the tasks), lda_prior.c (priors that suit the
 * corpus), lda_counts.c (the model that a job is at), lda_model.c (models written and read),
 * lda_score.c (models at work), lda_tell.c (topics in words), lda_topics.c and
 * lda_show.c (topics on a page).
 *
 * num/lda.h cuts the corpus into ranges of documents and of words, small enough for a cache. An
 * executor has some of the ranges of both sides, next to each other. Shard (I, J) of the table of
 * records, I * executors + J, holds the tokens that the document ranges of executor I and the word
 * ranges of executor J have in common; a task of words holds a column of shards, one of documents a
 * row, and writes them anew. Counts of words and documents are nowhere: they are made from records.
 *
 * Private to src/app and its tests. */
#ifndef APP_LDA_H
#define APP_LDA_H

#include "data/corpus.h"
#include "num/lda.h"
#include "num/lda_judge.h"
#include "shoal/train.h"

enum { LDA_EXECUTORS_MAX = 128, LDA_TOPICS = 100 /* when nobody says how many */ };

struct lda_options {
    uint64_t topics; /* 0, unset: those of the model in `from`, else LDA_TOPICS */
    uint64_t iterations, evaluate, optimise, executors;
    double alpha, beta; /* alpha 0: see lda_alpha */
    double holdout;
    uint32_t format; /* enum data_corpus_format */
    const char *vocab, *stop_words, *from;
    uint64_t min_count, min_length;
    double max_share;
};
/* The prior of each topic in a document, at first. */
double lda_alpha(const struct lda_options *options, uint32_t topics);

enum lda_fn {
    LDA_START,          /* first topics, by documents */
    LDA_WORDS,          /* one pass over words */
    LDA_DOCUMENTS,      /* one over documents */
    LDA_PRIORS,         /* no pass, but how often documents have how many tokens of a topic */
    LDA_PRIORS_WORDS,   /* and words */
    LDA_JUDGE_WORDS,    /* no pass, but the likelihood; its part of the words */
    LDA_JUDGE_DOCUMENTS /* and of the documents */
};

/* A task of a column of shards; others are of rows. */
static inline bool lda_is_of_words(enum lda_fn fn)
{
    return fn == LDA_WORDS || fn == LDA_PRIORS_WORDS || fn == LDA_JUDGE_WORDS;
}

enum {
    LDA_RECORD,  /* held: records of all tokens, by shard */
    LDA_COUNT,   /* (topics, 2): tokens of a topic, in LDA_UNITs and what is left */
    LDA_INVERSE, /* num_lda_inverse of them, made by the driver between two clocks */
    LDA_KEPT,    /* bytes of struct lda_kept: for `save`, no task reads it */
    /* Only where priors are optimised: */
    LDA_PRIOR, /* num_lda_prior's value, keep and, as its bits, other (3, stride); beta, the last */
    LDA_HISTOGRAM, /* (topics + 1, bins): documents by tokens of a topic; of all, the last */
    LDA_PAIRS      /* (1, pair_bins): pairs of word and topic by tokens */
};

/* Floats are exact up to 2^24, and a topic may have more tokens: so a count is kept in two of them. The
 * driver brings the second below LDA_UNIT after each clock; in between all executors may add to it. */
enum { LDA_UNIT = 4096 };
static inline void lda_count_put(float *row, int64_t count)
{
    int64_t units = count / LDA_UNIT;

    row[0] = (float)units;
    row[1] = (float)(count - units * LDA_UNIT);
}

/* Tokens that a strip has in one shard: `tokens` from `at` on, of the hold-th shard of its task. */
struct lda_piece {
    uint32_t hold, at, tokens;
};

/* A strip, in an executor's data; places are in bytes from its start. */
struct lda_strip {
    uint32_t index, tokens, first, segments, pieces, unused;
    uint64_t start_at, order_at, piece_at; /* order_at 0: without an order */
};

/* An executor's data begins with this; then the strips of words and of documents. */
struct lda_data {
    uint64_t seed;
    uint32_t topics, executors, strip_max, segment_max, pieces_max, wide;
    uint32_t bins, pair_bins; /* of histograms */
    uint32_t strips[2], unused;
    uint64_t strips_at[2];
};

/* What a strip is, in the task that holds it. */
struct lda_view {
    struct num_lda_strip strip;
    const struct num_lda_tile *tile;
    uint32_t tiles;
};

struct lda_result {
    double likelihood;
    uint64_t tokens;
};

struct lda_driver {
    uint32_t topics, executors, fn, ended, bins, pair_bins, unused;
    uint32_t resembles; /* of the corpus, see there */
    uint64_t tokens, words;
    uint64_t clock, iterations; /* iterations that have ended */
    double part[LDA_EXECUTORS_MAX], likelihood;
    double past;      /* the value of the last evaluation before the last tenth of all iterations */
    uint64_t past_at; /* its iteration; 0: there was none */
};

/* Depends on the data only. */
uint32_t lda_executors(const struct lda_options *options, uint32_t topics, uint64_t tokens);
shoal_status lda_plan(shoal_driver *driver, shoal_err *err);
/* The model of `from`: at the beginning of planning, for how many topics there are, and at its end, for
 * how they begin. */
shoal_status lda_from_open(shoal_driver *driver, shoal_model **out_model, struct num_lda_model *out,
                           struct data_ids *names, shoal_err *err);
shoal_status lda_from(shoal_driver *driver, const struct num_lda_model *model,
                      const struct data_ids *names, const struct data_corpus *corpus,
                      const uint32_t *slot_word, shoal_err *err);
shoal_status lda_run(shoal_task *task, shoal_err *err);

/* ---- lda_prior.c: priors that differ by topic, where `optimise` asks for them ---- */
enum { LDA_OPTIMISED_MAX = 1 << 16 }; /* topics */
/* Makes and fills the tables when planning. */
shoal_status lda_prior_init(shoal_driver *driver, const struct lda_data *shape, shoal_err *err);
/* In a task: the priors to sample with. */
struct num_lda_prior lda_prior_of(const shoal_task *task, uint32_t topics);
float lda_prior_beta(const shoal_task *task, uint32_t topics);
/* The prior of each word in a topic, now. */
double lda_beta(shoal_driver *driver);
/* Bytes of work memory of lda_prior_count, which adds the documents or words of a strip to a histogram
 * there, zeroed first, and of lda_prior_add, which makes it an increment. */
size_t lda_prior_work(uint32_t topics, const struct lda_data *data);
void lda_prior_count(uint32_t topics, const struct lda_data *data, const struct lda_view *view,
                     void *memory);
void lda_prior_add(shoal_task *task, uint32_t topics, const struct lda_data *data, void *memory);
/* Between two clocks, after one that counted: steps towards the priors of largest likelihood, those of
 * topics in documents and that of words, where c (topics) is the tokens of each topic. */
shoal_status lda_prior_step(shoal_driver *driver, shoal_err *err);
shoal_status lda_prior_step_words(shoal_driver *driver, const int64_t *c, shoal_err *err);

shoal_status lda_save(shoal_driver *driver, shoal_model *model, shoal_err *err);
shoal_status lda_score(shoal_score *score, shoal_err *err);
shoal_status lda_tell(shoal_driver *driver, shoal_err *err);
shoal_status app_lda_show(shoal_driver *driver, shoal_err *err); /* lda_show.c */

/* The model that the job is at after the last clock, a word's topics ascending. Counted from the records
 * of all tokens when it is asked for first; its arrays are the driver's, until it is dropped or asked
 * for after another clock. */
shoal_status lda_model_now(shoal_driver *driver, struct num_lda_model *out, shoal_err *err);
void lda_model_drop(shoal_driver *driver);

/* ---- lda_held.c: documents that are not trained on, where `holdout` asks for them ---- */
enum { LDA_HELD_MAX = 512 };
/* The documents to train on and, with `holdout`, those that are held out: the same at each call. Both
 * are all 0 at first, and the caller's to end, also after a failure. In lda_plan.c. */
shoal_status lda_load(shoal_driver *driver, struct data_corpus *corpus, struct data_corpus *held,
                      shoal_err *err);
/* Moves them from the corpus to `held`, which the caller ends by data_corpus_fini, also after a
 * failure; the corpus is then only good for ending. */
shoal_status lda_held_take(const struct lda_options *options, uint64_t seed,
                           struct data_corpus *corpus, struct data_corpus *held, shoal_err *err);
/* Between two clocks: reports their perplexity. */
shoal_status lda_held_judge(shoal_driver *driver, shoal_err *err);

/* What is in a model: arrays are borrowed from it, names (none: words are numbers) are added to an
 * empty `names`. */
shoal_status lda_model_load(const shoal_model *model, struct num_lda_model *out,
                            struct data_ids *names, shoal_err *err);

/* The strip as num/lda.h has it. */
struct num_lda_strip lda_strip_of(const struct lda_data *data, enum num_lda_side side,
                                  uint32_t index);
const struct lda_piece *lda_pieces_of(const struct lda_data *data, enum num_lda_side side,
                                      uint32_t index, uint32_t *out_count);

/* In the table LDA_KEPT, followed by the documents held out (start, uint64_t, one more than documents;
 * words and counts, uint32_t), slot_word (uint32_t by slot) and the names of words, a line each (none:
 * they have none). */
struct lda_kept {
    uint64_t documents, tokens, names_size; /* documents and tokens: trained on */
    uint64_t held_documents, held_entries;
    uint32_t words, unused;
};
static inline struct num_corpus lda_kept_held(const struct lda_kept *kept)
{
    const uint64_t *start = (const uint64_t *)(const void *)(kept + 1);
    const uint32_t *word = (const uint32_t *)(const void *)(start + kept->held_documents + 1);

    return (struct num_corpus){kept->held_documents, kept->words, start, word,
                               word + kept->held_entries};
}
static inline const uint32_t *lda_kept_slots(const struct lda_kept *kept)
{
    return lda_kept_held(kept).count + kept->held_entries;
}
static inline const char *lda_kept_names(const struct lda_kept *kept)
{
    return (const char *)(lda_kept_slots(kept) + kept->words);
}

/* Where the name of each word is, up to the end of its line; the caller's to free. NULL: there is no
 * memory, or there are no names. */
const char **lda_names(const struct base_alloc *alloc, const struct lda_kept *kept);

#endif
