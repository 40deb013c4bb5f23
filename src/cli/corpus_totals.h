/* corpus_totals.h - what the `shoal corpus` commands share: sums over the blocks of a corpus. */
#ifndef CLI_CORPUS_TOTALS_H
#define CLI_CORPUS_TOTALS_H

#include "cli/cli.h"
#include "data/corpus.h"

struct cli_corpus_totals {
    uint64_t documents, entries, tokens, empty, sorted, repeated, left_out;
};

void cli_corpus_add(struct cli_corpus_totals *t, const struct data_corpus *part);
/* As members of a JSON object, without its braces. */
void cli_corpus_put(struct base_buf *out, const struct cli_corpus_totals *t, uint32_t words);

/* Text that was read as such, though it may be meant as something else. */
void cli_corpus_tell_doubt(const struct cli_context *cx, enum data_corpus_format resembles);

/* The size of a plain file, or 0; what else there is must not be opened twice. */
uint64_t cli_corpus_size(const char *path);

#endif
