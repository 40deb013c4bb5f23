/* docword.h - a UCI bag of words for benches of topic models, read without checks, and their clock. */
#ifndef BENCH_DOCWORD_H
#define BENCH_DOCWORD_H

#include "num/corpus.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static inline double clock_s(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline _Noreturn void die(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

/* Zeros, in large pages where the system gives them. */
static inline void *memory(size_t size)
{
    size_t huge = (size_t)2 << 20, whole = (size + huge) / huge * huge;
    void *p = aligned_alloc(huge, whole);

    if (p == NULL)
        die("out of memory");
    madvise(p, whole, MADV_HUGEPAGE);
    memset(p, 0, size);
    return p;
}

static inline uint64_t number(FILE *file)
{
    uint64_t n = 0;
    int c = getc_unlocked(file);

    while (c == ' ' || c == '\n' || c == '\r' || c == '\t')
        c = getc_unlocked(file);
    for (; c >= '0' && c <= '9'; c = getc_unlocked(file))
        n = n * 10 + (uint64_t)(c - '0');
    return n;
}

static inline struct num_corpus load(const char *path)
{
    FILE *file = fopen(path, "r");

    if (file == NULL)
        die("cannot open the corpus");
    uint32_t documents = (uint32_t)number(file), words = (uint32_t)number(file);
    uint64_t entries = number(file), last = 1;
    uint64_t *start = memory((documents + 2ULL) * sizeof *start);
    uint32_t *word = memory((entries + 1) * sizeof *word);
    uint32_t *count = memory((entries + 1) * sizeof *count);
    for (uint64_t e = 0; e < entries; e++) {
        uint64_t d = number(file);
        if (d < last || d > documents)
            die("documents are out of order or range");
        last = d;
        start[d]++;
        word[e] = (uint32_t)number(file) - 1;
        count[e] = (uint32_t)number(file);
    }
    fclose(file);
    for (uint32_t d = 0; d < documents; d++)
        start[d + 1] += start[d];
    return (struct num_corpus){documents, words, start, word, count};
}

#endif
