/* table.h - text files line by line or in blocks of lines, and the tables in them: the one reader of CSV and TSV.
 *
 * Lines: one buffer holds the longest line and a block, so input of any size is read in bounded
 * memory. A line ends with LF or CRLF; the last may end without. A byte order mark is skipped and a
 * file compressed with gzip is unpacked (env_open_text). An over-long line, a NUL byte and what is
 * compressed otherwise are errors with the line number.
 *
 * Blocks are for parsers that run over much text: some of whole lines at a time, each ended by a newline (one is added
 * to a last line without), so that a parser may run from token to token and needs to look for the newline alone. A
 * line longer than a block makes the buffer grow, up to ENV_BLOCK_LINE_MAX.
 *
 * Tables: rows of cells with commas between them, which may stand in quotes ("say ""hi"""), or with
 * tabs; a header says which column is which, in any order, whatever the capitals, blanks and quotes
 * around a name. The first failure sticks: from then on there are no more rows and every value is 0,
 * so that a reader is straight-line code and looks once, at the end:
 *
 *     static const struct env_column columns[] = {[NAME] = {"name", true}, [GPUS] = {"gpus", true}};
 *     struct env_table t;
 *     if (env_table_open(env, "trace", path, &t, err) == SHOAL_OK &&
 *         env_table_header(&t, NULL, columns, COLUMNS, 0))
 *         while (env_table_next(&t)) {
 *             uint64_t gpus = env_table_whole(&t, env_table_cell(&t, GPUS), 1, 8, "GPUs");
 *             if (t.status == SHOAL_OK)
 *                 add(env_table_cell(&t, NAME), gpus);
 *         }
 *     return env_table_close(&t);
 *
 * Owner thread only. Tests: tests/unit/env/test_lines.c, test_table.c; fuzzer: fuzz_table.c. */
#ifndef ENV_TABLE_H
#define ENV_TABLE_H

#include "env/env.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    ENV_LINE_MAX = 1 << 20,  /* bytes of a line without its end */
    ENV_CELLS_MAX = 1 << 16, /* of a row */
    ENV_COLUMNS_MAX = 24,    /* that a format knows by name */
    ENV_SHOWN_MAX = 48,      /* bytes of a text as messages show it */
    ENV_IGNORED_MAX = 256
};

/* --- lines ----------------------------------------------------------------------------------- */

struct env_lines {
    const struct base_alloc *alloc;
    struct env_file *file;
    const char *what; /* "trace": what messages call it */
    const char *path; /* borrowed */
    char *buf;
    size_t cap;
    size_t start, end; /* unread bytes */
    bool eof, begun;
    size_t block; /* bytes to read before a block is handed out; 0: read by lines, with a hash */
    atomic_uint_fast64_t *bytes_done; /* grows with what is read, in blocks; NULL: not wanted */
    const char *packed; /* what it is when it is not plain text, NULL when it may be */
    const char *unpack; /* the command that makes text of it */
    uint64_t line; /* number of the current line, from 1; lines in the blocks before this one */
    uint64_t hash; /* FNV-1a of all text read so far */
};

/* `what` and `path` are borrowed until closing. On failure *lines is closed. */
SHOAL_MUST_USE shoal_status env_lines_open(shoal_env *env, const char *what, const char *path,
                                           struct env_lines *lines, shoal_err *err);
void env_lines_close(struct env_lines *lines); /* closing twice is allowed */

/* The next line, without its end, valid until the next call. SHOAL_END after the last. The bytes may
 * be changed in place. */
SHOAL_MUST_USE shoal_status env_lines_next(struct env_lines *lines, char **out_text,
                                           size_t *out_length, shoal_err *err);

/* The first unread bytes, some 4 KB unless the input ends before: enough to tell one format from
 * another. Blanks and empty lines before them are passed over, nothing else. */
SHOAL_MUST_USE shoal_status env_lines_head(struct env_lines *lines, const char **out_bytes,
                                           size_t *out_size, shoal_err *err);
/* The next bytes as they come, for input that is not lines; valid until the next call. SHOAL_END
 * after the last. `line` is the caller's to count. */
SHOAL_MUST_USE shoal_status env_lines_block(struct env_lines *lines, const char **out_bytes,
                                            size_t *out_size, shoal_err *err);

/* "cannot read trace 'a.csv', line 41, column 3: expected ..."; the column is left out when 0.
 * Returns SHOAL_E_FORMAT. */
shoal_status env_lines_bad(const struct env_lines *lines, uint32_t column, shoal_err *err,
                           const char *format, ...) SHOAL_PRINTF(4, 5);

#define ENV_BLOCK_LINE_MAX ((size_t)1 << 30) /* bytes: some 50 million entries in one row */

/* The same file in blocks. On failure *lines is closed. */
SHOAL_MUST_USE shoal_status env_blocks_open(shoal_env *env, const char *what, const char *path,
                                            size_t block, atomic_uint_fast64_t *bytes_done,
                                            struct env_lines *lines, shoal_err *err);
/* The next lines, valid until the next call; never empty. SHOAL_END after the last. The caller adds
 * to `line` what it has consumed. */
SHOAL_MUST_USE shoal_status env_blocks_next(struct env_lines *lines, const char **out_text,
                                            size_t *out_size, shoal_err *err);
/* As env_lines_bad, of a line that is counted from 1 in the file. */
shoal_status env_blocks_bad(const struct env_lines *lines, uint64_t line, uint64_t column,
                            shoal_err *err, const char *format, ...) SHOAL_PRINTF(5, 6);

/* A text as messages show it: cut at 40 bytes, control characters as '?'. */
const char *env_lines_show(const char *text, size_t length, char buf[ENV_SHOWN_MAX]);

/* --- tables ---------------------------------------------------------------------------------- */

/* A piece of text; of a row, valid until the next one. */
struct env_cell {
    const char *text; /* not NUL-terminated */
    size_t length;    /* 0: nothing is said */
    uint32_t column;  /* from 1, for messages; 0: of none */
};

struct env_column {
    const char *name;
    bool required;
};

struct env_table {
    struct env_lines in;
    struct env_cell *cells; /* of the current row */
    size_t count, cap;
    size_t width;      /* cells of each row, as the header has; 0: any number */
    char separator;    /* ',' unless set otherwise: '\t' */
    bool trim;         /* blanks around cells do not count; around numbers they never do */
    const char *magic; /* that the next line may be; NULL: none */
    const struct env_column *columns;
    int at[ENV_COLUMNS_MAX]; /* which cell each is; -1: there is none */
    char ignored[ENV_IGNORED_MAX];
    shoal_status status; /* SHOAL_OK, or the first failure */
    shoal_err *err;      /* where it is told */
};

/* `what`, `path` and `err` are borrowed until closing. What it returns is the status, too. */
shoal_status env_table_open(shoal_env *env, const char *what, const char *path,
                            struct env_table *table, shoal_err *err);
shoal_status env_table_close(struct env_table *table); /* in any case; returns the status */

/* Takes the header. `magic`, where it is not NULL, may stand in a line above it and then goes on with
 * " v1". Unknown columns are noted in `ignored`, unless `foreign` says that the format has more than is
 * read of it. False: there is no line, or a failure (a column is there twice, or a required one
 * missing). `columns` must outlive the table; at most ENV_COLUMNS_MAX. */
bool env_table_header(struct env_table *table, const char *magic, const struct env_column *columns,
                      size_t count, bool foreign);
/* The next row: lines that are blank, and those of commas that begin with '#', are skipped. */
bool env_table_next(struct env_table *table);
/* Cuts any text as a row. It is changed in place. */
bool env_table_cut(struct env_table *table, char *text, size_t length);

/* Does a file that begins so have a header with all of these columns ("name,time")? */
bool env_table_has(const char *head, size_t size, const char *names);
/* "'wieght' of 'a.csv' (did you mean 'weight'?)": adds what this table ignored to what others did, for
 * a note in these words. */
#define ENV_TABLE_IGNORED "unknown columns are ignored: %s"
void env_table_note(const struct env_table *table, char note[ENV_IGNORED_MAX]);

/* The cell of a column; an empty one where the table has no such column. */
struct env_cell env_table_cell(const struct env_table *table, size_t column);
struct env_cell env_cell_of(const char *text);
struct env_cell env_cell_trim(struct env_cell cell);
bool env_cell_is(struct env_cell cell, const char *word);   /* in any case of letters */
bool env_cell_same(struct env_cell cell, const char *text); /* exactly */

/* Values. `what` is what was expected: "GPUs"; the range is added to it. `max` may be INFINITY. */
double env_table_number(struct env_table *table, struct env_cell cell, double min, double max,
                        const char *what);
/* Above 0. */
double env_table_positive(struct env_table *table, struct env_cell cell, double max,
                          const char *what);
/* Also written 8.0 or 1e3. */
uint64_t env_table_whole(struct env_table *table, struct env_cell cell, uint64_t min, uint64_t max,
                         const char *what);

/* Failures in the current row: in words as env_lines_bad, "expected WHAT, found 'x'", and the caller's
 * own. Nothing is told where there was one before. */
void env_table_bad(struct env_table *table, uint32_t column, const char *format, ...)
    SHOAL_PRINTF(3, 4);
void env_table_expected(struct env_table *table, struct env_cell cell, const char *what);
void env_table_hint(struct env_table *table, const char *format, ...) SHOAL_PRINTF(2, 3);
void env_table_nomem(struct env_table *table, const char *doing);

#endif
