/* cmd_gen.c - `shoal gen` and `shoal trace gen`: made-up data of any size.
 *
 * Data that goes to standard output is the output, so that there is no result to show then.
 * Tests: tests/cli/transcripts/gen.txt, gen_corpus.txt, trace.txt. */
#include "cli/cli.h"

#include "base/err.h"
#include "shoal/gen.h"
#include <string.h>

/* To where results go, unless there is a file. */
static shoal_status prepare(struct cli_context *cx, shoal_gen_to *to, shoal_err *err)
{
    cx->streams = strcmp(to->output, "-") == 0;
    to->put = cli_put_out;
    to->ctx = cx;
    if (cx->streams && cx->json)
        return base_err(err, SHOAL_E_INVAL,
                        "--json: standard output has the data already; add --output FILE");
    return SHOAL_OK;
}

/* What a kind differs in: its options and its function. */
#define MAKE(kind)                                                                         \
    static shoal_status kind(struct cli_call *call, shoal_err *err)                        \
    {                                                                                      \
        shoal_gen_##kind##_opts *opts = call->values;                                      \
        shoal_status st = prepare(call->cx, &opts->to, err);                               \
                                                                                           \
        return st != SHOAL_OK ? st                                                         \
                              : shoal_gen_##kind(call->cx->env, opts, cli_watch(call->cx), \
                                                 call->result, err);                       \
    }

MAKE(sparse)
MAKE(ratings)
MAKE(corpus)
MAKE(regression)
MAKE(prices)
MAKE(trace)

const struct cli_command cli_cmd_gen_sparse = {
    .name = "gen sparse",
    .usage = "[options]",
    .summary = "Generate synthetic sparse rows with labels, as LIBSVM text.",
    .description =
        "Columns are used by a power law, as words are; values are word counts times rarity, and "
        "each row has length 1. Labels come from a planted linear model through the logistic "
        "function (softmax with more than two classes), so that a linear model can learn them and "
        "none can be perfect.\n\n"
        "The same options and seed give the same bytes on every machine, whatever the number of "
        "threads. The text goes out as it is made: memory does not grow with the rows.",
    .example = "gen sparse --rows 100000 --columns 10000 --nonzeros 50 -o data.svm",
    .opts_of = shoal_gen_sparse_opt_rows,
    .values_size = sizeof(shoal_gen_sparse_opts),
    .json = true,
    .make = sparse,
};

const struct cli_command cli_cmd_gen_ratings = {
    .name = "gen ratings",
    .usage = "[options]",
    .summary = "Generate synthetic ratings with a planted low rank, as CSV.",
    .description =
        "A value is a mean, the biases of the user and of the item, a product of rank R, and "
        "noise; it is rounded to half stars. Few users are busy and few items popular, by power "
        "laws; no user rates an item twice. The rows come in order of users: user,item,rating.\n\n"
        "The same options and seed give the same bytes on every machine, whatever the number of "
        "threads. The text goes out as it is made: memory grows with users and items only.",
    .example = "gen ratings --users 69878 --items 10677 --ratings 10000054 -o r.csv",
    .opts_of = shoal_gen_ratings_opt_rows,
    .values_size = sizeof(shoal_gen_ratings_opts),
    .json = true,
    .make = ratings,
};

const struct cli_command cli_cmd_gen_corpus = {
    .name = "gen corpus",
    .usage = "[options]",
    .summary = "Generate synthetic documents with planted topics.",
    .description =
        "Each document draws a length, a few topics and their weights; each token comes from one "
        "of them, or from words that are everywhere. A topic draws its words by a power law among "
        "a twentieth of the vocabulary. Formats: UCI bag of words, text with a document a line, or "
        "Shoal's binary corpus.\n\n"
        "The same options and seed give the same bytes on every machine, whatever the number of "
        "threads. Documents go out as they are made: memory does not grow with them.",
    .example = "gen corpus --documents 10000 --topics 50 -o docword.made.txt",
    .opts_of = shoal_gen_corpus_opt_rows,
    .values_size = sizeof(shoal_gen_corpus_opts),
    .json = true,
    .make = corpus,
};

const struct cli_command cli_cmd_gen_regression = {
    .name = "gen regression",
    .usage = "[options]",
    .summary =
        "Generate synthetic rows whose columns are correlated and of which few explain the label.",
    .description =
        "Neighbouring columns are correlated, as vectors with their zeros; the label is a sum over "
        "a few columns, spread over all, plus noise. The output is LIBSVM text with numbers as "
        "labels.\n\n"
        "The same options and seed give the same bytes on every machine, whatever the number of "
        "threads. Rows go out as they are made: memory grows with the columns only.",
    .example = "gen regression --rows 20000 --columns 100000 --nonzeros 40 -o r.svm",
    .opts_of = shoal_gen_regression_opt_rows,
    .values_size = sizeof(shoal_gen_regression_opts),
    .json = true,
    .make = regression,
};

const struct cli_command cli_cmd_gen_prices = {
    .name = "gen prices",
    .usage = "[options]",
    .summary = "Generate a synthetic history of prices for 'shoal market'.",
    .description =
        "Spot prices wander around a third of the price on demand, each zone partly with its "
        "region, and never pass it. They are made up: use them to try things, not to decide "
        "them. 'shoal help market' and docs/market.md say how to get real ones. The output is "
        "Shoal's CSV of prices.",
    .example = "gen prices --days 120 --zone-count 3 -o prices.csv",
    .opts_of = shoal_gen_prices_opt_rows,
    .values_size = sizeof(shoal_gen_prices_opts),
    .json = true,
    .make = prices,
};

const struct cli_command cli_cmd_trace_gen = {
    .name = "trace gen",
    .usage = "[options]",
    .summary = "Generate a workload from published distributions.",
    .description =
        "Shapes: gavel (single GPUs, half an hour to a week, Poisson arrivals), gavel-multi (the "
        "same on "
        "1, 2, 4 and 8 GPUs), pollux (six applications with their sizes and batches, busy hours) "
        "and "
        "philly (sizes, durations, virtual clusters and hours of the day of the published "
        "list).\n\n"
        "The rate of arrivals follows from --rate, or --load and --gpus, or --jobs and --days. A "
        "load is the GPU time that all jobs ask for, over the time of --gpus GPUs in the length of "
        "the trace; it is met within 2 %, with --days or with --jobs, not with both. Jobs that are "
        "longer than the trace run on after the last submission. For gavel "
        "with --profiles it counts durations on a "
        "V100.\n\n"
        "The output is Shoal's own CSV. Jobs of the pollux shape name applications, so replaying "
        "them "
        "needs the published profiles, unless --durations is given.",
    .example = "trace gen --shape philly --days 1 --load 0.9 --gpus 64 -o day.csv",
    .opts_of = shoal_gen_trace_opt_rows,
    .values_size = sizeof(shoal_gen_trace_opts),
    .json = true,
    .make = trace,
};
