/* cmd_corpus.c - `shoal corpus build|info`: documents as a binary corpus, and what is in one.
 * Tests: tests/cli/transcripts/corpus.txt. */
#include "cli/cli.h"

#include "shoal/corpus.h"

static shoal_status build(struct cli_call *call, shoal_err *err)
{
    return shoal_corpus_build(call->cx->env, call->args[0], call->args[1], call->values,
                              cli_watch(call->cx), call->result, err);
}

static shoal_status info(struct cli_call *call, shoal_err *err)
{
    return shoal_corpus_info(call->cx->env, call->args[0], call->values, cli_watch(call->cx),
                             call->result, err);
}

const struct cli_command cli_cmd_corpus_build = {
    .name = "corpus build",
    .usage = "[options] IN OUT",
    .summary = "Make a binary corpus of text or bags of words.",
    .description =
        "Reads UCI bag of words (docword.X.txt; names from vocab.X.txt beside it), MatrixMarket, "
        "LDA-C, plain text with a document a line, or a binary corpus; the format is recognised by "
        "content. "
        "'-' is standard input.\n\n"
        "Text is cut into words of letters, digits and apostrophes in lower case. A document "
        "without words is kept as empty. The result is a fraction of the size, is read several "
        "times as fast and in ranges of documents, and every byte of it is under a checksum.\n\n"
        "The file takes its name when it is whole. With --min-count or --max-share a file is read "
        "twice; memory grows with the vocabulary only.",
    .example = "corpus build docword.news.txt news.corpus --min-count 5",
    .opts_of = shoal_corpus_build_opt_rows,
    .values_size = sizeof(shoal_corpus_opts),
    .arg_min = 2,
    .arg_max = 2,
    .arg_complete = "file",
    .json = true,
    .make = build,
};

const struct cli_command cli_cmd_corpus_info = {
    .name = "corpus info",
    .usage = "[options] FILE",
    .summary = "Describe a corpus: documents, words, lengths, most frequent words.",
    .description =
        "Reads what 'shoal corpus build' reads, text with the same words left out as by default. "
        "Memory grows with the vocabulary only.",
    .example = "corpus info news.corpus --top 20",
    .opts_of = shoal_corpus_info_opt_rows,
    .schema_of = shoal_corpus_info_schema,
    .values_size = sizeof(shoal_corpus_opts),
    .arg_min = 1,
    .arg_max = 1,
    .arg_complete = "file",
    .json = true,
    .make = info,
};
