/* gen.h - what all kinds of made-up data share: where it goes, blocks made side by side, the result.
 *
 *     st = gen_take(rows, count, &own, sizeof own, given, out_result, err);     own: the caller's options
 *     ...                                                                       a generator is made of them
 *     st = gen_begin(&call, env, "ratings", &own.to, err);
 *     if (st == SHOAL_OK)
 *         st = gen_open(&call, watch, "ratings", own.ratings, err);
 *     if (st == SHOAL_OK)
 *         st = gen_blocks(&call, &plan, &entries, err);                         or gen_put
 *     st = gen_end(&call, st, err);                                             commits, or leaves nothing
 *     if (st == SHOAL_OK)
 *         st = gen_finish(&call, gen_made(&call), "train mf", "", out_result, err);
 *
 * All draws are counted (a row or a user has a stream of its own) and all arithmetic is IEEE basic operations, so
 * bytes are the same on every machine. A generator is immutable after it was made. A call belongs to one thread.
 * Tests: tests/unit/gen. */
#ifndef GEN_GEN_H
#define GEN_GEN_H

#include "base/buf.h"
#include "base/opt.h"
#include "env/env.h"
#include "page/make.h"
#include "shoal/gen.h"
#include <math.h>

/* What was made, as the record of the result; NAN and NULL: says nothing here. */
struct gen_record {
    const char *kind, *output, *truth; /* the paths are set last */
    double bytes;
    double rows, columns, values; /* sparse, regression; rows of prices */
    double users, items, ratings;
    double documents, words, topics, tokens;
    double jobs, span_s, rate_h, gpu_h, load;
};

#define GEN_RECORD_NONE                    \
    ((struct gen_record){.bytes = NAN,     \
                         .rows = NAN,      \
                         .columns = NAN,   \
                         .values = NAN,    \
                         .users = NAN,     \
                         .items = NAN,     \
                         .ratings = NAN,   \
                         .documents = NAN, \
                         .words = NAN,     \
                         .topics = NAN,    \
                         .tokens = NAN,    \
                         .jobs = NAN,      \
                         .span_s = NAN,    \
                         .rate_h = NAN,    \
                         .gpu_h = NAN,     \
                         .load = NAN})

struct gen_call {
    shoal_env *env;
    const shoal_gen_to *to;
    shoal_watch *watch;
    uint32_t threads;     /* 0: one per CPU */
    struct env_out *file; /* NULL: text goes to `to->put` */
    struct gen_record made;
};

/* Options of the caller over the defaults; what an older caller does not know of keeps them. SHOAL_E_INVAL where
 * there is no place for a result. */
SHOAL_MUST_USE shoal_status gen_take(const shoal_opt *rows, size_t count, void *own, size_t size,
                                     const void *given, const shoal_result **out_result,
                                     shoal_err *err);
/* What was asked for; 0, which is not given: `usual`, or `most` where that is less. */
uint64_t gen_usual(uint64_t asked, uint64_t usual, uint64_t most);
/* Checks where data is to go. `kind` is constant text. */
SHOAL_MUST_USE shoal_status gen_begin(struct gen_call *call, shoal_env *env, const char *kind,
                                      const shoal_gen_to *to, shoal_err *err);
/* Creates the file, where it is to be one; `what` is counted up to `total`. */
SHOAL_MUST_USE shoal_status gen_open(struct gen_call *call, shoal_watch *watch, const char *what,
                                     uint64_t total, shoal_err *err);
/* Appends to what is made. */
SHOAL_MUST_USE shoal_status gen_put(struct gen_call *call, const void *text, size_t size,
                                    shoal_err *err);
/* Writes the file of to->truth, where there is one: `line` appends what is to be said of number `index`, false
 * behind the last. */
typedef bool (*gen_truth_fn)(const void *gen, uint64_t index, struct base_buf *out);
SHOAL_MUST_USE shoal_status gen_truth(struct gen_call *call, gen_truth_fn line, const void *gen,
                                      shoal_err *err);
/* Ends what was begun and came to `st`, which it returns where that is a failure. */
SHOAL_MUST_USE shoal_status gen_end(struct gen_call *call, shoal_status st, shoal_err *err);

bool gen_to_file(const shoal_gen_to *to);
/* A result of call->made; NULL when memory is short, which gen_finish tells. "1,000 rows" for its notes. */
struct page_made *gen_made(const struct gen_call *call);
const char *gen_count(struct page_made *made, double count, const char *what);
/* Notes of what went to a file, and what to do with it `next`: "train mf". */
void gen_say(const struct gen_call *call, struct page_made *made, const char *format, ...)
    SHOAL_PRINTF(3, 4);
SHOAL_MUST_USE shoal_status gen_finish(const struct gen_call *call, struct page_made *made,
                                       const char *next, const char *after,
                                       const shoal_result **out_result, shoal_err *err);

/* ---- blocks, made on several threads and delivered in order ---- */

struct gen_block {
    size_t size;    /* bytes of text */
    uint64_t units; /* for the watch */
    uint64_t entries;
};

struct gen_plan {
    const void *gen;
    uint64_t blocks;
    size_t text_max; /* bytes of the longest block; 0: no text */
    void *(*scratch_new)(const void *gen, const struct base_alloc *alloc); /* NULL: no memory */
    void (*scratch_free)(void *scratch, const struct base_alloc *alloc);
    /* Makes one block, on any thread; allocates nothing. */
    void (*make)(const void *gen, void *scratch, uint64_t block, char *text,
                 struct gen_block *made);
    /* Takes the text; NULL: gen_put does. */
    shoal_status (*put)(void *ctx, const char *text, size_t size, shoal_err *err);
    void *ctx;
};

/* *out_entries: of all blocks. */
SHOAL_MUST_USE shoal_status gen_blocks(struct gen_call *call, const struct gen_plan *plan,
                                       uint64_t *out_entries, shoal_err *err);

/* Blocks of `each` units, of which there are `units`. */
static inline uint64_t gen_block_count(uint64_t units, uint64_t each)
{
    return (units + each - 1) / each;
}

static inline uint64_t gen_block_end(uint64_t units, uint64_t each, uint64_t block)
{
    return (block + 1) * each < units ? (block + 1) * each : units;
}

/* Rows that options have in common; AT is of the struct. */
#define GEN_ROW_SEED                                                                    \
    {                                                                                   \
        AT(seed), SHOAL_OPT_U64, "seed", 's', "N", "1", .help = "same seed, same bytes" \
    }
#define GEN_ROW_THREADS                                                                          \
    {                                                                                            \
        AT(threads), SHOAL_OPT_U64, "threads", 't', "N", "0", "threads to use; 0: one per core", \
            .max = 1024                                                                          \
    }
#define GEN_ROW_OUTPUT                                                              \
    {                                                                               \
        AT(to.output), SHOAL_OPT_STR, "output", 'o', "FILE", "-", "where to write", \
            .complete = "file"                                                      \
    }

#endif
