/* words.h - words of UTF-8 text, in lower case: the tokeniser of corpora.
 *
 * A word is letters, digits and combining marks, with apostrophes inside it ("don't"; the typographic
 * one becomes the plain one), and has at least one letter: numbers are no words. Letters are those of
 * Latin (with its extensions), Greek, Cyrillic, Armenian, Hebrew, Arabic and every script above
 * U+0900 but for its punctuation and symbols; capitals of Latin, Greek, Cyrillic and Armenian become
 * small, and so does the final sigma. Scripts written without spaces are not cut into words. Words
 * of more than DATA_WORD_SIZE_MAX bytes are left out. Any thread. Tests:
 * tests/unit/data/test_corpus_words.c, fuzzer: tests/fuzz/fuzz_data_corpus_text.c. */
#ifndef DATA_WORDS_H
#define DATA_WORDS_H

#include "data/ids.h"
#include "env/env.h"
#include <stddef.h>
#include <stdint.h>

enum { DATA_WORD_SIZE_MAX = 255, DATA_WORD_ROOM = DATA_WORD_SIZE_MAX + 9 };

struct data_word {
    char text[DATA_WORD_ROOM]; /* lower case, not ended by NUL */
    uint32_t size;             /* bytes; 0: there was no further word */
    uint32_t letters;          /* characters, marks not counted */
    const char *bad;           /* the byte that is not UTF-8, or NULL; there is no word then */
};

/* The first word from `s` on, which ends before `end`. Returns where to go on. */
const char *data_words_next(const char *s, const char *end, struct data_word *out);

/* Adds the built-in list of common English words ("english"), none ("none"), or all words of a text
 * file to `ids`. */
SHOAL_MUST_USE shoal_status data_words_stop(shoal_env *env, const char *which, struct data_ids *ids,
                                            shoal_err *err);

/* One code point of UTF-8 at `s`, which ends before `end`; returns its size in bytes, 0 when it is
 * none (overlong forms, surrogates and values past U+10FFFF are none). */
size_t data_words_decode(const char *s, const char *end, uint32_t *out_point);

/* Where `text` stops being UTF-8 without control characters (C0, DEL, C1), as names of words are, or
 * NULL. */
const char *data_words_not_name(const char *text, const char *end);

#endif
