/* corpus_parts.h - what the files of the corpus reader share. Private to src/data/corpus*.c.
 *
 * A block of text is cut at line ends into pieces; parsers take one piece each, side by side, into
 * arrays that have room for the most its bytes can hold, so that nothing is allocated while threads
 * run. Chunks of the binary corpus are pieces, too. */
#ifndef DATA_CORPUS_PARTS_H
#define DATA_CORPUS_PARTS_H

#include "env/table.h"
#include "data/corpus.h"
#include "store/pack.h"

enum { CORPUS_PIECE = 1 << 20, CORPUS_PIECES_PER_THREAD = 2, CORPUS_PIECES_MAX = 256 };

enum corpus_bad {
    CORPUS_GOOD,
    CORPUS_BAD_NUMBERS,  /* no DOCUMENT WORD COUNT */
    CORPUS_BAD_DOCUMENT, /* 0, or more than the header says */
    CORPUS_BAD_ORDER,    /* documents do not come in order */
    CORPUS_BAD_WORD,     /* beyond the vocabulary */
    CORPUS_BAD_COUNT,    /* 0, or more than 32 bits hold; MatrixMarket: not whole */
    CORPUS_BAD_SUM,      /* the same word again, together too often */
    CORPUS_BAD_PAIR,     /* no WORD:COUNT */
    CORPUS_BAD_PAIRS,    /* not as many as the line says */
    CORPUS_BAD_UTF8,
    CORPUS_BAD_BYTES /* of a chunk: not what a writer writes */
};

struct corpus_part {
    /* in */
    const char *text, *end;
    const struct data_corpus_reader *reader;
    /* arrays: document_max and entry_max of them */
    uint64_t *id;     /* uci: the number of each document, from 0 */
    uint32_t *length; /* entries of each document; text: its words, at first */
    uint32_t *word;   /* text: at first as they come, DATA_ID_NONE for one that is new */
    uint32_t *count;
    uint32_t *spare; /* text: for sorting */
    char *fresh;     /* text: length (1 byte) and bytes of each new word */
    size_t text_max; /* bytes that the arrays are for */
    /* out */
    size_t documents, entries, fresh_size;
    uint64_t lines;                                     /* whole ones before the mistake, or all */
    uint64_t sorted, repeated, left_out, tokens, zeros; /* zeros: mm, entries of count 0 */
    uint32_t words_seen;                                /* the largest word + 1 */
    enum corpus_bad bad;
    const char *bad_at, *bad_line;
    const char *first_line; /* uci: the first with an entry, and the lines before it */
    uint64_t first_lines;
};

struct data_corpus_reader {
    shoal_env *env;
    const struct base_alloc *alloc;
    const char *path;
    struct data_corpus_opts opts;
    enum data_corpus_format format, resembles;
    struct env_lines blocks;
    const char *text; /* the first block, read to recognise the format; NULL once used */
    size_t text_size;
    struct corpus_part *part; /* (part_count) */
    size_t part_count, part_used;
    /* words */
    struct data_ids names; /* those of the file, or found so far; text: stop words first */
    uint32_t stop_count;   /* text: names before this are stop words */
    uint32_t words;        /* of the file: from its header, its names, or found so far */
    bool words_fixed;      /* a larger word is a mistake (uci, mm, binary) or left out (text) */
    uint32_t *map; /* (map_count) the number given out, or DATA_ID_NONE; NULL: as they are */
    uint32_t map_count, map_words;
    uint64_t left_out; /* not yet told */
    /* uci, mm */
    uint64_t documents; /* the header's */
    uint64_t header_entries, header_lines;
    uint64_t entries_seen; /* lda-c, too */
    uint64_t document;     /* the number of the one being read, documents before it are out */
    bool begun;            /* ... and it has words already: in `carry` between blocks */
    struct data_corpus carry;
    /* binary */
    struct store_pack *pack;
    const struct store_section *section;
    uint64_t *chunk; /* (chunk_count, 3) offset, size, documents */
    size_t chunk_count, chunk_at;
    char *bytes;
    size_t bytes_cap;
    /* [from, to) */
    uint64_t given; /* documents seen so far, with those left out */
};

/* Arrays for `size` bytes of text. */
struct corpus_room {
    size_t documents, entries;
    bool ids, spare; /* uci, text */
};
SHOAL_MUST_USE shoal_status data_corpus_part_room(const struct base_alloc *alloc,
                                                  struct corpus_part *part, size_t size,
                                                  const struct corpus_room *room, shoal_err *err);
void data_corpus_part_mistake(struct corpus_part *part, enum corpus_bad bad, const char *at,
                              const char *line);

/* Documents at the end of `corpus`, which has room: entries, then the document, or both. */
SHOAL_MUST_USE bool data_corpus_make_room(struct data_corpus *corpus, size_t documents,
                                          size_t entries);
void data_corpus_put_entries(struct data_corpus *corpus, uint64_t at, const uint32_t *word,
                             const uint32_t *count, size_t entries);
void data_corpus_put_document(struct data_corpus *corpus, size_t entries);
void data_corpus_put(struct data_corpus *corpus, const uint32_t *word, const uint32_t *count,
                     size_t entries);

/* Sorts entries by word and adds up the counts of equal ones, of at most `count`. Returns how many
 * are left, or SIZE_MAX when a sum is more than 32 bits hold. */
size_t data_corpus_merge_pairs(uint32_t *word, uint32_t *count, size_t entries);
/* The same for bare words, into words and counts; spare has room for as many. */
size_t data_corpus_merge_words(uint32_t *word, uint32_t *count, size_t tokens, uint32_t *spare);

/* Parsers of one piece. */
void data_corpus_parse_triples(struct corpus_part *part);
void data_corpus_parse_ldac(struct corpus_part *part);
void data_corpus_parse_text(struct corpus_part *part);
void data_corpus_fold_text(struct corpus_part *part); /* after new words got their numbers */
void data_corpus_parse_chunk(struct corpus_part *part);

/* Whether the block begins like the format. */
bool data_corpus_looks_uci(const char *text, size_t size);
bool data_corpus_looks_mm(const char *text, size_t size);
bool data_corpus_looks_ldac(const char *text, size_t size);
/* What text may be meant for: a bag of words with a mistake on top, or DATA_CORPUS_AUTO. */
enum data_corpus_format data_corpus_looks_like(const char *text, size_t size);
/* Names the kind of table, in words, if the text is one; NULL: it is not. */
const char *data_corpus_looks_table(const char *text, size_t size);
/* More documents or words than so many entries make likely. */
bool data_corpus_too_many(uint64_t count, uint64_t entries);
/* The three numbers on top, in three lines (uci) or one (mm), after `lines` lines; reader->text moves
 * past them. */
SHOAL_MUST_USE shoal_status data_corpus_triples_header(struct data_corpus_reader *reader,
                                                       uint64_t lines, shoal_err *err);
SHOAL_MUST_USE shoal_status data_corpus_mm_header(struct data_corpus_reader *reader,
                                                  shoal_err *err);
/* Lines are DOCUMENT WORD COUNT, from 1. */
static inline bool corpus_has_triples(enum data_corpus_format format)
{
    return format == DATA_CORPUS_UCI || format == DATA_CORPUS_MM;
}

/* The names of a vocabulary file, one a line. */
SHOAL_MUST_USE shoal_status data_corpus_load_names(shoal_env *env, const char *path,
                                                   struct data_ids *names, shoal_err *err);

/* Binary: opening, and the next chunks as parts. */
SHOAL_MUST_USE shoal_status data_corpus_pack_open(struct data_corpus_reader *reader,
                                                  shoal_err *err);
SHOAL_MUST_USE shoal_status data_corpus_pack_next(struct data_corpus_reader *reader,
                                                  shoal_err *err);

/* Opens without a first reading: min_count and max_share do nothing yet. */
SHOAL_MUST_USE shoal_status data_corpus_open_once(shoal_env *env, const char *path,
                                                  const struct data_corpus_opts *opts,
                                                  struct data_corpus_reader **out_reader,
                                                  shoal_err *err);
/* Names, stop words and the words of a model: what is known before the first document. */
SHOAL_MUST_USE shoal_status data_corpus_start_vocabulary(struct data_corpus_reader *reader,
                                                         shoal_err *err);

/* What becomes of words: at[w] or, DATA_ID_NONE and from `count` on, nothing. */
struct corpus_map {
    const uint32_t *at;
    uint32_t count;
};

/* Which of the words given out so far are kept by min_count and max_share; *out_map is the caller's
 * to free. */
SHOAL_MUST_USE shoal_status data_corpus_choose(const struct data_corpus_reader *reader,
                                               const struct data_tally *tally, uint32_t **out_map,
                                               uint32_t *out_words, shoal_err *err);
/* reader->map, followed by `map` of `count` words to `words`. */
SHOAL_MUST_USE shoal_status data_corpus_compose(struct data_corpus_reader *reader,
                                                const uint32_t *map, uint32_t count, uint32_t words,
                                                shoal_err *err);
/* Documents from `first` on by a map, in place. */
void data_corpus_apply(const struct corpus_map *map, struct data_corpus *corpus, uint64_t first);

/* ---- bytes of the binary corpus (corpus_pack.c) ---- */

enum { CORPUS_CHUNK_HEAD = 32, CORPUS_DOCUMENT_BYTES_MAX = 5, CORPUS_ENTRY_BYTES_MAX = 10 };

/* A chunk of documents at `to`; returns its size. The caller has made room for CORPUS_CHUNK_HEAD,
 * _DOCUMENT_BYTES_MAX each and _ENTRY_BYTES_MAX each. */
size_t data_corpus_encode(const struct num_corpus *x, char *to);
SHOAL_MUST_USE shoal_status data_corpus_append_chunk(struct data_corpus_writer *writer,
                                                     const char *chunk, size_t size,
                                                     shoal_err *err);

#endif
