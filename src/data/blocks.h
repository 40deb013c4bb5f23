/* blocks.h - a text file in blocks of whole lines, with bounded memory, and errors that say where.
 *
 * Every block ends with a newline (one is added to a last line without) and holds no NUL byte, so a
 * parser may run from token to token and needs to look for the newline alone. A byte order mark at
 * the start is skipped; compressed files and UTF-16 are told apart and refused in words. A line
 * longer than a block makes the buffer grow, up to DATA_LINE_MAX. Owner thread only. */
#ifndef DATA_BLOCKS_H
#define DATA_BLOCKS_H

#include "env/env.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DATA_LINE_MAX ((size_t)1 << 30) /* bytes: some 50 million entries in one row */

struct data_blocks {
    const struct base_alloc *alloc;
    struct env_file *file;
    const char *what, *path; /* "data", "ratings"; borrowed */
    atomic_uint_fast64_t *bytes_done;
    char *buf;
    size_t block; /* bytes to read before a block is handed out */
    size_t cap;
    size_t begin, used; /* text not yet handed out: buf[begin .. used) */
    bool eof, started;
    uint64_t line; /* lines in the blocks before the current one */
};

/* `what` and `path` are borrowed until closing. On failure *blocks is closed. */
SHOAL_MUST_USE shoal_status data_blocks_open(shoal_env *env, const char *what, const char *path,
                                             size_t block, atomic_uint_fast64_t *bytes_done,
                                             struct data_blocks *blocks, shoal_err *err);
void data_blocks_close(struct data_blocks *blocks); /* twice is allowed */

/* The next lines, valid until the next call; never empty. SHOAL_END after the last. The caller adds
 * to `line` what it has consumed. */
SHOAL_MUST_USE shoal_status data_blocks_next(struct data_blocks *blocks, const char **out_text,
                                             size_t *out_size, shoal_err *err);

/* "cannot read data 'a.svm', line 41, column 3: expected ..."; column 0 is left out. `line` is
 * counted from 1 in the file. Returns SHOAL_E_FORMAT. */
shoal_status data_blocks_bad(const struct data_blocks *blocks, uint64_t line, uint64_t column,
                             shoal_err *err, const char *format, ...) SHOAL_PRINTF(5, 6);

#endif
