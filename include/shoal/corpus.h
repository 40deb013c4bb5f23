/* corpus.h - documents as bags of words: made into a binary corpus, and described.
 *
 * What is read, recognised by content: UCI bag of words, MatrixMarket, LDA-C, plain text and the binary corpus;
 * docs/data.md has the rules. It is read block by block: memory grows with the vocabulary, not with the documents.
 * As `shoal corpus info news.corpus`:
 *
 *     if (shoal_corpus_info(env, "news.corpus", NULL, NULL, &result, &err) == SHOAL_OK)
 *         printf("%.0f documents\n", shoal_result_number(result, 0, "documents"));
 *     shoal_result_free(result); */
#ifndef SHOAL_CORPUS_H
#define SHOAL_CORPUS_H

#include "shoal/env.h"
#include "shoal/opt.h"
#include "shoal/result.h"
#include "shoal/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What each member means, its range and its default say the rows: `shoal corpus build --help`, `corpus info`. */
typedef struct shoal_corpus_opts {
    size_t struct_size; /* set by shoal_corpus_opts_init; lets the struct grow */
    const char *vocab;
    uint32_t format;
    uint64_t threads;
    uint64_t top; /* info: so many of the most frequent words */
    const char *stop_words;
    uint64_t min_count, min_length; /* build, as what follows */
    double max_share;
} shoal_corpus_opts;

/* The options of each as rows; their offsets are those of shoal_corpus_opts. Any thread. */
SHOAL_API const shoal_opt *shoal_corpus_build_opt_rows(size_t *out_count);
SHOAL_API const shoal_opt *shoal_corpus_info_opt_rows(size_t *out_count);
/* What its results have: one field after the other, with unit and meaning. Any thread. */
SHOAL_API const shoal_schema *shoal_corpus_info_schema(void);
SHOAL_API void shoal_corpus_opts_init(shoal_corpus_opts *opts);

/* Makes the binary corpus `out` of the file `in` ("-" is standard input), all or nothing. opts may be NULL: the
 * defaults. On success *out_result is the caller's, freed by shoal_result_free before `env`: one record of what is
 * in it. SHOAL_E_CANCELLED after the watch (NULL is allowed) was stopped. */
SHOAL_API SHOAL_MUST_USE shoal_status
shoal_corpus_build(shoal_env *env, const char *in, const char *out, const shoal_corpus_opts *opts,
                   shoal_watch *watch, const shoal_result **out_result, shoal_err *err);

/* One record of what is in the file: documents, words, lengths, and a list of the most frequent words. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_corpus_info(shoal_env *env, const char *path,
                                                        const shoal_corpus_opts *opts,
                                                        shoal_watch *watch,
                                                        const shoal_result **out_result,
                                                        shoal_err *err);

#ifdef __cplusplus
}
#endif
#endif
