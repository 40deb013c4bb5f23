/* corpus.h - documents as bags of words, borrowed.
 *
 * Document d holds the words word[start[d]] .. word[start[d + 1] - 1], ascending and each once, with
 * how often they occur, at least once each. start[0] need not be 0, so a range of documents is a
 * corpus too; a document may be empty. Its tokens are the sum of its counts. Immutable after it was
 * made; any thread. */
#ifndef NUM_CORPUS_H
#define NUM_CORPUS_H

#include <stdint.h>

struct num_corpus {
    uint64_t documents;
    uint32_t words;        /* of the vocabulary */
    const uint64_t *start; /* (documents + 1) */
    const uint32_t *word;  /* below words, ascending in a document */
    const uint32_t *count; /* from 1; NULL: every count is 1 */
};

#endif
