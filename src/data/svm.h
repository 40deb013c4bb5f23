/* svm.h - rows of a sparse matrix with a label each, as LIBSVM and SVMlight text.
 *
 * A line is "LABEL INDEX:VALUE INDEX:VALUE ... # comment"; blank lines, comments, CRLF, a byte
 * order mark and a last line without an end are fine. Labels are any finite numbers. Indices count
 * from 1 unless the options say otherwise, up to DATA_SVM_INDEX_MAX; a row whose indices do not
 * ascend is sorted, one index twice in a row is an error. "qid:N" is ignored and counted. Values
 * are the double nearest to the text, rounded to float; NaN, infinities and values that no float
 * holds are errors. Errors name file, line, column (a byte of the line, from 1) and what was
 * expected there.
 *
 * Text is read in blocks and parsed by several threads; the result does not depend on how many.
 * What is loaded takes 4 or 8 bytes an entry and 16 a row; the text itself is never held whole, so
 * a pipe will do. Data that does not fit in memory can be read block by block:
 *
 *     st = data_svm_open(env, path, &opts, &reader, err);
 *     while (st == SHOAL_OK && (st = data_svm_next(reader, &part, err)) == SHOAL_OK) {
 *         use(&part);                (its rows follow those of the last block)
 *         data_svm_fini(&part);
 *         data_svm_init(&part, alloc);
 *     }                              (SHOAL_END after the last)
 *
 * A loaded struct data_svm is immutable by convention: any thread may read it. A reader belongs to
 * one thread. Tests: tests/unit/data/test_svm*.c, tests/fuzz/fuzz_data_svm.c. */
#ifndef DATA_SVM_H
#define DATA_SVM_H

#include "env/env.h"
#include "num/csr.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DATA_SVM_INDEX_MAX 2147483647u /* the most columns, and the largest index from 1 */

enum data_svm_base {
    DATA_SVM_FROM_ONE, /* the first column is 1; index 0 is an error */
    DATA_SVM_FROM_ZERO,
    DATA_SVM_FROM_EITHER /* 0 when the file has an index 0, else 1; only data_svm_load */
};

struct data_svm_opts { /* all zero: the defaults */
    enum data_svm_base base;
    uint32_t columns; /* of a known model: entries past it are left out and counted; 0: as found */
    bool keep_ones;   /* x.value is never NULL */
    uint32_t threads; /* 0: one per CPU */
    atomic_uint_fast64_t *bytes_done; /* grows while reading, NULL: not wanted */
};

struct data_svm {
    const struct base_alloc *alloc;
    struct num_csr
        x;         /* its arrays are owned; x.value is NULL when all values are 1; start[0] is 0 */
    double *label; /* (x.rows) */
    uint64_t entries;  /* x.start[x.rows] */
    uint64_t sorted;   /* rows whose indices did not ascend in the file */
    uint64_t left_out; /* entries past opts.columns */
    uint64_t qids;     /* rows with a qid, which was ignored */
    size_t row_cap, label_cap, entry_cap, value_cap; /* of the arrays */
};

/* Empty, ready for data_svm_next. */
void data_svm_init(struct data_svm *svm, const struct base_alloc *alloc);
void data_svm_fini(struct data_svm *svm); /* zeroed is allowed */

/* The whole file; "-" is standard input. opts may be NULL. A file without rows is an error. On
 * success *out is the caller's, ended by data_svm_fini; on failure it is untouched. */
SHOAL_MUST_USE shoal_status data_svm_load(shoal_env *env, const char *path,
                                          const struct data_svm_opts *opts, struct data_svm *out,
                                          shoal_err *err);

struct data_svm_reader;

/* `path` and what opts points to are borrowed until closing. */
SHOAL_MUST_USE shoal_status data_svm_open(shoal_env *env, const char *path,
                                          const struct data_svm_opts *opts,
                                          struct data_svm_reader **out_reader, shoal_err *err);
/* Appends the rows of the next block (some MiB of text) to `svm`; x.columns grows as needed.
 * SHOAL_END: there was nothing left. On failure `svm` holds what it held, and the reader is only
 * good for closing. */
SHOAL_MUST_USE shoal_status data_svm_next(struct data_svm_reader *reader, struct data_svm *svm,
                                          shoal_err *err);
void data_svm_close(struct data_svm_reader *reader); /* NULL is allowed */

/* ---- columns by what is there ---- */

#define DATA_SVM_NO_COLUMN UINT32_MAX
#define DATA_SVM_FEW       4096u

/* Where there are more columns than entries, and than DATA_SVM_FEW, those that have an entry are numbered anew, in their
 * order: what is made by column then is no larger than what was read. *out_name (x.columns of them,
 * ascending) is what the file calls each, from 0, and the caller's; NULL: numbers are as they were.
 * On failure nothing has changed. */
SHOAL_MUST_USE shoal_status data_svm_compact(struct data_svm *svm, uint32_t **out_name,
                                             shoal_err *err);
/* The column that is called `column`, or DATA_SVM_NO_COLUMN. */
uint32_t data_svm_column(const uint32_t *name, uint32_t count, uint32_t column);
/* To the numbers of a model: entries of columns it does not have are left out and counted. */
void data_svm_renumber(struct data_svm *svm, const uint32_t *name, uint32_t count);

/* How many columns have an entry and one value in all rows (0 where a row has no entry): they say
 * nothing that an intercept does not. On failure *out is untouched. */
SHOAL_MUST_USE shoal_status data_svm_constant(const struct data_svm *svm, uint32_t *out,
                                              shoal_err *err);

/* ---- labels as classes ---- */

#define DATA_CLASS_NONE UINT32_MAX

struct data_classes {
    const struct base_alloc *alloc;
    double *label; /* (count), ascending: label[c] is what the file calls class c */
    uint32_t count;
};

/* The different labels of `rows` rows, in ascending order. SHOAL_E_LIMIT in words when there are
 * more than count_max: the labels are measurements, not classes. On failure *out is untouched. */
SHOAL_MUST_USE shoal_status data_classes_find(const struct base_alloc *alloc, const double *label,
                                              uint64_t rows, uint32_t count_max,
                                              struct data_classes *out, shoal_err *err);
void data_classes_fini(struct data_classes *classes);
/* The class that a file calls `label`, or DATA_CLASS_NONE. */
uint32_t data_classes_index(const struct data_classes *classes, double label);
/* out_class[i] is the class of label[i], or DATA_CLASS_NONE. */
void data_classes_map(const struct data_classes *classes, const double *label, uint64_t rows,
                      uint32_t *out_class);

#endif
