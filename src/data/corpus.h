/* corpus.h - documents as bags of words: read, chosen from, and kept in a file of their own.
 *
 * What is read, recognised by content: UCI bag of words (three numbers, then lines "DOCUMENT WORD
 * COUNT" from 1, documents in order), MatrixMarket (the same with another header), LDA-C ("N WORD:COUNT
 * ..." a line, words from 0), plain text (a document a line, words as words.h cuts them) and the
 * binary corpus that this writes. Tables (CSV, LIBSVM) are refused unless they are said to be text. The
 * rules for what is odd in them are in docs/data.md. Errors name file, line and, where it helps, column,
 * and leave nothing half-loaded.
 *
 * Words are numbers from 0 in the order of the vocabulary file, or of first appearance in text; a
 * corpus without names calls word w by the number w + 1, and where some of its words are left out
 * the others keep that number as their name. In a document words ascend, each once, with their
 * counts. Text is read in blocks that several threads take apart; the result does not depend on how
 * many. What is loaded takes 8 bytes an entry (a word of a document) and 8 a document. Larger
 * corpora are read block by block, whatever the format:
 *
 *     st = data_corpus_open(env, path, &opts, &reader, err);
 *     while (st == SHOAL_OK && (st = data_corpus_next(reader, &part, err)) == SHOAL_OK) {
 *         use(&part.x);              (its documents follow those of the last block)
 *         data_corpus_clear(&part);
 *     }                              (SHOAL_END after the last)
 *
 * A loaded corpus is immutable by convention: any thread may read it. Readers and writers belong to
 * one thread. Tests: tests/unit/data/test_corpus*.c; fuzzers: tests/fuzz/fuzz_data_corpus*.c. */
#ifndef DATA_CORPUS_H
#define DATA_CORPUS_H

#include "data/ids.h"
#include "env/env.h"
#include "num/corpus.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DATA_CORPUS_WORDS_MAX     2147483647u
#define DATA_CORPUS_DOCUMENTS_MAX ((uint64_t)1 << 40)
/* Documents without words, and words that no document has, cost memory and no bytes of a file: there
 * may be as many of either as this, and 16 for each entry. */
#define DATA_CORPUS_UNUSED_MAX ((uint64_t)1 << 22)
#define DATA_CORPUS_PER_ENTRY  16
#define DATA_CORPUS_FEW_WORDS  4096u

enum data_corpus_format {
    DATA_CORPUS_AUTO,
    DATA_CORPUS_UCI,
    DATA_CORPUS_MM,
    DATA_CORPUS_LDAC,
    DATA_CORPUS_TEXT,
    DATA_CORPUS_BINARY
};
extern const char *const data_corpus_format_names[]; /* "auto" "uci" ..., NULL at the end */

struct data_corpus_opts { /* all zero: the defaults */
    enum data_corpus_format format;
    const char *vocab; /* the file of names, one a line; NULL: for docword.X it is vocab.X
                                     when that exists. For text: the only words to keep */
    const struct data_ids *known; /* the vocabulary of a model: other words are left out */
    uint32_t words;               /* the same for a model without names; 0: as found. Then the words
                                     of the corpus must be numbers, or called by numbers */
    const char *stop_words;       /* "english", "none" or a file; NULL: "english" for text without a
                                     vocabulary, else "none" */
    uint64_t min_count;           /* leave out words that occur less often in all */
    double max_share;             /* leave out words in more than this share of documents; 0: 1 */
    uint32_t min_length;          /* of a word of text, in characters; 0: 2 */
    bool compact;                 /* data_corpus_load: where there are more words than entries (and
                                     than DATA_CORPUS_FEW_WORDS), leave out those that no document has */
    uint64_t from, to;            /* documents [from, to) only; to 0: all */
    uint32_t threads;             /* 0: one per CPU */
    const atomic_bool *stop;      /* set: give up with SHOAL_E_CANCELLED; NULL: never */
    atomic_uint_fast64_t *bytes_done; /* grows while reading, NULL: not wanted */
};

struct data_corpus {
    const struct base_alloc *alloc;
    struct num_corpus x;   /* its arrays are owned; start[0] is 0; count is never NULL */
    struct data_ids names; /* of words, x.words of them; count 0: they have none */
    uint64_t entries;      /* x.start[x.documents] */
    uint64_t tokens;       /* sum of counts */
    uint64_t empty;        /* documents without a word, kept as they are */
    uint64_t sorted;       /* documents whose words did not ascend in the file */
    uint64_t repeated;     /* entries whose word was in the document already: counts were added */
    uint64_t left_out;     /* tokens of words that are not in the vocabulary or were not chosen */
    enum data_corpus_format resembles; /* of text that begins much like another format: that one.
                                          data_corpus_load sets it; else DATA_CORPUS_AUTO */
    size_t start_cap, word_cap, count_cap; /* of the arrays */
};

/* Empty, ready for data_corpus_next. */
void data_corpus_init(struct data_corpus *corpus, const struct base_alloc *alloc);
void data_corpus_clear(struct data_corpus *corpus); /* no documents, memory kept */
void data_corpus_fini(struct data_corpus *corpus);  /* zeroed is allowed */

/* The whole corpus; "-" is standard input (not for binary). opts may be NULL. One without documents
 * or without words is an error. On success *out is the caller's, ended by data_corpus_fini; on
 * failure it is untouched. */
SHOAL_MUST_USE shoal_status data_corpus_load(shoal_env *env, const char *path,
                                             const struct data_corpus_opts *opts,
                                             struct data_corpus *out, shoal_err *err);

/* The name of a word, or its number where there are no names; not NUL-terminated. */
const char *data_corpus_name(const struct data_ids *names, uint32_t word, char buf[DATA_ID_BUF],
                             size_t *out_size);

/* Whether words have no names, or those that words without names keep when others are left out:
 * numbers that ascend. */
bool data_corpus_numbered(const struct data_ids *names);
/* The number of a word, from 1, where they are. */
uint32_t data_corpus_number(const struct data_ids *names, uint32_t word);

/* ---- block by block ---- */

struct data_corpus_reader;

/* `path` and what opts points to are borrowed until closing. With min_count or max_share all is read
 * twice, first here to count, so it must be a file. */
SHOAL_MUST_USE shoal_status data_corpus_open(shoal_env *env, const char *path,
                                             const struct data_corpus_opts *opts,
                                             struct data_corpus_reader **out_reader,
                                             shoal_err *err);
/* Appends the documents of the next block to `corpus`, whose names stay empty; x.words grows as
 * needed. SHOAL_END: there was nothing left. On failure `corpus` holds what it held, and the reader
 * is only good for closing. */
SHOAL_MUST_USE shoal_status data_corpus_next(struct data_corpus_reader *reader,
                                             struct data_corpus *corpus, shoal_err *err);
/* After the end: how many words there are in all, and their names (count 0: none), which are the
 * caller's. On failure *out_names is untouched. */
SHOAL_MUST_USE shoal_status data_corpus_names(struct data_corpus_reader *reader,
                                              uint32_t *out_words, struct data_ids *out_names,
                                              shoal_err *err);
/* After the end, of all that was given out: SHOAL_E_FORMAT in words when there are no documents or no
 * words. */
SHOAL_MUST_USE shoal_status data_corpus_check(const struct data_corpus_reader *reader,
                                              uint64_t documents, uint32_t words, uint64_t left_out,
                                              shoal_err *err);
enum data_corpus_format data_corpus_format_of(const struct data_corpus_reader *reader);
enum data_corpus_format data_corpus_resembles(const struct data_corpus_reader *reader);
void data_corpus_close(struct data_corpus_reader *reader); /* NULL is allowed */

/* ---- how often words occur ---- */

struct data_tally {
    const struct base_alloc *alloc;
    uint64_t *tokens, *documents; /* (words): of each word, and documents that hold it */
    uint32_t words;
    uint64_t document_count;
    size_t tokens_cap, documents_cap;
};

void data_tally_init(struct data_tally *tally, const struct base_alloc *alloc);
void data_tally_fini(struct data_tally *tally); /* zeroed is allowed */
/* Counts the documents of `x` besides those before; words grow as needed. SHOAL_E_NOMEM. */
SHOAL_MUST_USE shoal_status data_tally_add(struct data_tally *tally, const struct num_corpus *x);

/* ---- the binary corpus: a pack (store/pack.h) that is read by ranges of documents ---- */

struct data_corpus_writer;

/* Replaces `path`, all or nothing, by what is appended; data_corpus_load gives an equal corpus. */
SHOAL_MUST_USE shoal_status data_corpus_create(shoal_env *env, const char *path,
                                               struct data_corpus_writer **out_writer,
                                               shoal_err *err);
SHOAL_MUST_USE shoal_status data_corpus_append(struct data_corpus_writer *writer,
                                               const struct num_corpus *x, shoal_err *err);
/* Ends `writer` in any case. The names are of `words` words, or none at all (NULL or count 0). */
SHOAL_MUST_USE shoal_status data_corpus_commit(struct data_corpus_writer *writer, uint32_t words,
                                               const struct data_ids *names, shoal_err *err);
void data_corpus_discard(struct data_corpus_writer *writer); /* NULL is allowed */
/* Bytes of whole chunks so far. */
uint64_t data_corpus_written(const struct data_corpus_writer *writer);

/* ---- as UCI text ---- */

/* The vocabulary that is read with a bag of words when it is there and no other is named: vocab.X for
 * docword.X, else "". */
void data_corpus_vocab_beside(const char *path, char *buf, size_t size);

#endif
