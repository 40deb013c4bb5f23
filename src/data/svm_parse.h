/* svm_parse.h - one piece of LIBSVM text into arrays. Used by svm.c, a piece per thread. */
#ifndef DATA_SVM_PARSE_H
#define DATA_SVM_PARSE_H

#include "data/svm.h"

enum data_svm_bad {
    DATA_SVM_GOOD,
    DATA_SVM_LABEL,       /* no number where the label should be */
    DATA_SVM_LABELS,      /* a comma after it: several labels */
    DATA_SVM_PAIR,        /* no INDEX:VALUE */
    DATA_SVM_INDEX,       /* an index that is too large */
    DATA_SVM_INDEX_ZERO,  /* index 0 where they count from 1 */
    DATA_SVM_INDEX_TWICE, /* in one row */
    DATA_SVM_VALUE,       /* no number after the colon */
    DATA_SVM_VALUE_LARGE  /* a number that no float holds */
};

struct data_svm_part {
    /* in: whole lines, the last byte is a newline */
    const char *text, *end;
    uint32_t base;    /* 1 or 0: subtracted from indices */
    uint32_t columns; /* entries past it are left out */
    /* out: arrays with room for data_svm_part_rows and _entries of the text's size */
    double *label;
    uint32_t *length; /* entries of each row */
    uint32_t *index;
    float *value;
    size_t rows, entries;
    uint64_t lines, sorted, left_out, qids;
    uint32_t columns_seen; /* largest index + 1, after subtraction */
    bool zero_seen;        /* an index 0 was stored */
    bool ones;             /* every value is 1 */
    /* out: the first mistake; `lines` counts the lines before it then */
    enum data_svm_bad bad;
    const char *bad_line, *bad_at;
};

/* The most rows and entries that `size` bytes can hold: "1\n" and " 1:1". */
static inline size_t data_svm_part_rows(size_t size)
{
    return size / 2 + 1;
}
static inline size_t data_svm_part_entries(size_t size)
{
    return size / 4 + 1;
}

/* Any thread; allocates nothing. */
void data_svm_parse(struct data_svm_part *part);

#endif
