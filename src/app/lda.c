/* lda.c - `shoal train lda CORPUS`: topics of documents, by Metropolis-Hastings with delayed counts.
 *
 * A job is bulk synchronous. The first clock gives every token a topic; an iteration is a clock over
 * words and one over documents (num/lda.h); now and then two clocks judge. Inside a clock no task
 * touches what another one does, so the result is the same bit for bit for any number of workers.
 * Between clocks the driver makes the numbers that all tasks of the next one read from the counts of
 * topics, and sees to it that they are those of all tokens, no more and no less.
 *
 * The value reported is minus the log of the probability of words and topics together, per token: the
 * likelihood that samplers of topics are compared by, with its sign turned. With `holdout` the
 * perplexity of documents that are not trained on goes with it.
 *
 * Tests: tests/unit/app/test_lda.c, tests/cli/test_train_lda.py. */
#include "app/lda.h"

#include "base/err.h"
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#define AT(member) offsetof(struct lda_options, member)

static const shoal_opt OPTS[] = {
    {AT(topics), SHOAL_OPT_U64, "topics", 0, NULL, NULL,
     "how many [100, or as many as the model in from has]", .min = 2, .max = 1e6},
    {AT(iterations), SHOAL_OPT_U64, "iterations", 0, NULL, "100", "passes over all tokens",
     .min = 1, .max = 1e6},
    {AT(alpha), SHOAL_OPT_F64, "alpha", 0, NULL, "0",
     "prior of each topic in a document; 0: 50 / topics", .max = 1e6},
    {AT(beta), SHOAL_OPT_F64, "beta", 0, NULL, "0.01", "prior of each word in a topic", .min = 1e-6,
     .max = 1e6},
    {AT(evaluate), SHOAL_OPT_U64, "evaluate", 0, NULL, "10",
     "iterations between two values; 0: only the last", .max = 1e6},
    {AT(holdout), SHOAL_OPT_F64, "holdout", 0, NULL, "0",
     "share of documents not to train on but to judge by, 512 documents at most", .max = 0.5},
    {AT(optimise), SHOAL_OPT_U64, "optimise", 0, NULL, "0",
     "iterations between two steps towards priors that suit the corpus; 0: they stay", .max = 1e6},
    {AT(from), SHOAL_OPT_STR, "from",
     .help = "model whose topics to begin with, to go on with more documents"},
    {AT(executors), SHOAL_OPT_U64, "executors", 0, NULL, "0",
     "parts of documents and of words, as many as can work at once; 0: by the data, up to 128",
     .max = LDA_EXECUTORS_MAX},
    {AT(format), SHOAL_OPT_CHOICE, "format", 0, NULL, "auto", "of the corpus",
     .choices = data_corpus_format_names},
    {AT(vocab), SHOAL_OPT_STR, "vocab",
     .help = "file with the names of words, one a line; of text: the words to keep"},
    {AT(stop_words), SHOAL_OPT_STR, "stop_words",
     .help = "words to leave out: 'english', 'none' or a file of them; english for text"},
    {AT(min_count), SHOAL_OPT_U64, "min_count", 0, NULL, "0",
     "leave out words that occur less often in all", .max = 1e15},
    {AT(max_share), SHOAL_OPT_F64, "max_share", 0, NULL, "1",
     "leave out words in more than this share of documents", .min = 1e-9, .max = 1},
    {AT(min_length), SHOAL_OPT_U64, "min_length", 0, NULL, "2", "of a word of text, in characters",
     .min = 1, .max = 255},
};

double lda_alpha(const struct lda_options *options, uint32_t topics)
{
    return options->alpha > 0 ? options->alpha : 50.0 / topics;
}

/* ---- between two clocks ---- */

/* c_k from the table, brought into order there. SHOAL_E_INTERNAL: they are not those of all tokens. */
static shoal_status take_counts(shoal_driver *driver, int64_t *c, shoal_err *err)
{
    const struct lda_driver *d = shoal_driver_state(driver);
    float *count = shoal_driver_rows(driver, LDA_COUNT);
    int64_t sum = 0;

    for (uint32_t k = 0; k < d->topics; k++, count += 2) {
        c[k] = (int64_t)count[0] * LDA_UNIT + (int64_t)count[1];
        if (c[k] < 0)
            return base_err(err, SHOAL_E_INTERNAL, "topic %" PRIu32 " has %" PRId64 " tokens", k,
                            c[k]);
        lda_count_put(count, c[k]);
        sum += c[k];
    }
    if (sum != (int64_t)d->tokens)
        return base_err(err, SHOAL_E_INTERNAL,
                        "topics have %" PRId64 " tokens in all; the corpus has %" PRIu64, sum,
                        d->tokens);
    return SHOAL_OK;
}

/* After a pass, or a clock that counted words for their prior. */
static shoal_status count_topics(shoal_driver *driver, shoal_err *err)
{
    struct lda_driver *d = shoal_driver_state(driver);
    const struct base_alloc *alloc = env_alloc(shoal_driver_env(driver));
    int64_t *c = base_calloc(alloc, d->topics, sizeof *c);

    if (c == NULL)
        return base_err_nomem(err, "counting topics");
    shoal_status st = take_counts(driver, c, err);
    if (st == SHOAL_OK && d->fn == LDA_PRIORS_WORDS)
        st = lda_prior_step_words(driver, c, err);
    if (st == SHOAL_OK) {
        double beta_sum = lda_beta(driver) * (double)d->words;
        num_lda_inverse(d->topics, c, beta_sum, shoal_driver_rows(driver, LDA_INVERSE));
        d->likelihood = num_lda_likelihood_topics(d->topics, c, beta_sum);
    }
    base_free(alloc, c);
    return st;
}

/* ---- clocks ---- */

static shoal_status dispatch(shoal_driver *driver, shoal_err *err)
{
    struct lda_driver *d = shoal_driver_state(driver);
    bool column = lda_is_of_words(d->fn);
    shoal_status st = SHOAL_OK;

    for (uint32_t e = 0; e < d->executors && st == SHOAL_OK; e++) {
        shoal_dispatch task = {.struct_size = sizeof task,
                               .executor = e,
                               .fn = d->fn,
                               .clock = d->clock,
                               .ends_clock = true,
                               .holds = true,
                               .hold_table = LDA_RECORD,
                               .hold_shard = column ? e : e * d->executors,
                               .hold_count = d->executors,
                               .hold_step = column ? d->executors : 1,
                               .hold_whole = d->fn <= LDA_DOCUMENTS,
                               .unread = 1U << LDA_COUNT | 1U << LDA_KEPT | 1U << LDA_HISTOGRAM |
                                         1U << LDA_PAIRS};
        st = shoal_driver_dispatch(driver, &task, err);
    }
    return st;
}

static bool is_judged(const struct lda_options *o, uint64_t iterations)
{
    return iterations == o->iterations || (o->evaluate > 0 && iterations % o->evaluate == 0);
}

static enum lda_fn next_fn(const struct lda_driver *d, const struct lda_options *o)
{
    switch ((enum lda_fn)d->fn) {
    case LDA_WORDS: return LDA_DOCUMENTS;
    case LDA_DOCUMENTS:
        if (o->optimise > 0 && d->iterations % o->optimise == 0)
            return LDA_PRIORS;
        return is_judged(o, d->iterations) ? LDA_JUDGE_WORDS : LDA_WORDS;
    case LDA_PRIORS: return LDA_PRIORS_WORDS;
    case LDA_PRIORS_WORDS: return is_judged(o, d->iterations) ? LDA_JUDGE_WORDS : LDA_WORDS;
    case LDA_JUDGE_WORDS: return LDA_JUDGE_DOCUMENTS;
    case LDA_START:
    case LDA_JUDGE_DOCUMENTS: break;
    }
    return LDA_WORDS;
}

/* A sampler goes on to move when it has converged. It is called converged when the last tenth of its
 * iterations lowered the value by less than 0.1 %, and cut short when by more than 1 %. */
static shoal_stop stops(const struct lda_driver *d, uint64_t iterations, double value)
{
    static const double CONVERGED = 0.001, CUT_SHORT = 0.01;
    double tenth = (double)iterations / 10 / (double)(iterations - d->past_at);
    double fall = (d->past - value) / fabs(d->past) * tenth;

    if (d->past_at == 0)
        return SHOAL_STOP_SCHEDULE;
    return fall < CONVERGED   ? SHOAL_STOP_TOLERANCE
           : fall > CUT_SHORT ? SHOAL_STOP_LIMIT
                              : SHOAL_STOP_SCHEDULE;
}

/* The model of the last evaluation is kept for who saves it. */
static shoal_status report(shoal_driver *driver, shoal_err *err)
{
    const struct lda_options *o = shoal_driver_options(driver);
    struct lda_driver *d = shoal_driver_state(driver);
    double value = -d->likelihood / (double)d->tokens;
    shoal_status st = o->holdout > 0 ? lda_held_judge(driver, err) : SHOAL_OK;

    shoal_driver_report(driver, value, (double)d->iterations / (double)o->iterations, 0);
    if (d->iterations == o->iterations) {
        shoal_driver_stopped(driver, stops(d, o->iterations, value), NAN);
        shoal_driver_finish(driver);
        return st;
    }
    if (10 * d->iterations <= 9 * o->iterations) {
        d->past = value;
        d->past_at = d->iterations;
    }
    lda_model_drop(driver);
    return st;
}

static shoal_status close_clock(shoal_driver *driver, shoal_err *err)
{
    const struct lda_options *o = shoal_driver_options(driver);
    struct lda_driver *d = shoal_driver_state(driver);
    shoal_status st = d->fn <= LDA_DOCUMENTS || d->fn == LDA_PRIORS_WORDS
                          ? count_topics(driver, err)
                      : d->fn == LDA_PRIORS ? lda_prior_step(driver, err)
                                            : SHOAL_OK;

    if (st != SHOAL_OK)
        return st;
    d->iterations += d->fn == LDA_DOCUMENTS;
    shoal_driver_iterations(driver, d->iterations);
    for (uint32_t e = 0; e < d->executors; e++)
        d->likelihood += d->part[e];
    memset(d->part, 0, sizeof d->part);
    if (d->fn == LDA_JUDGE_DOCUMENTS) {
        st = report(driver, err);
        if (st != SHOAL_OK || d->iterations == o->iterations)
            return st;
    }
    d->fn = next_fn(d, o);
    d->clock++;
    return dispatch(driver, err);
}

static shoal_status done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    const struct lda_options *o = shoal_driver_options(driver);
    struct lda_driver *d = shoal_driver_state(driver);
    struct lda_result result;

    if (done->result_size != sizeof result)
        return base_err(err, SHOAL_E_INTERNAL, "a task's result of %zu bytes", done->result_size);
    if (d->ended + 1 == d->executors && shoal_driver_fresh(driver) == SHOAL_AGAIN)
        return SHOAL_AGAIN;
    memcpy(&result, done->result, sizeof result);
    d->part[done->executor] = result.likelihood;
    if (done->fn == LDA_WORDS || done->fn == LDA_DOCUMENTS) {
        double half = done->fn == LDA_DOCUMENTS ? 0.5 : 0;
        shoal_driver_report(driver, NAN, ((double)d->iterations + half) / (double)o->iterations,
                            (result.tokens + (done->fn == LDA_WORDS)) / 2);
    }
    if (++d->ended < d->executors)
        return SHOAL_OK;
    d->ended = 0;
    return close_clock(driver, err);
}

static shoal_status start(shoal_driver *driver, shoal_err *err)
{
    return dispatch(driver, err);
}

extern const shoal_app app_lda;
const shoal_app app_lda = {.struct_size = sizeof app_lda,
                           .name = "lda",
                           .summary = "topics of documents (latent Dirichlet allocation)",
                           .data =
                               "UCI bag of words, text (a document a line) or 'shoal corpus build'",
                           .objective = "nll",
                           .units = "tokens",
                           .opts = OPTS,
                           .opt_count = sizeof OPTS / sizeof OPTS[0],
                           .options_size = sizeof(struct lda_options),
                           .driver_size = sizeof(struct lda_driver),
                           .plan = lda_plan,
                           .start = start,
                           .done = done,
                           .run = lda_run,
                           .save = lda_save,
                           .score = lda_score,
                           .tell = lda_tell,
                           .show = app_lda_show,
                           .held_out = "perplexity"};
