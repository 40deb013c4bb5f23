/* corpus_merge.c - the words of a document in order, each once, with its count.
 *
 * Bare words: insertion sort while there are few, else least digit first with 8 bits a pass, as many
 * passes as the largest word needs. Words with counts come in order in most files; the rest is sorted
 * by a heap, in place, whose cost is bounded whatever the file. Tests: test_corpus.c. */
#include "data/corpus_parts.h"
#include <string.h>

enum { INSERTION_MAX = 40, DIGITS = 256 };

/* ---- words ---- */

static void insertion_sort(uint32_t *word, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        uint32_t x = word[i];
        size_t at = i;
        for (; at > 0 && word[at - 1] > x; at--)
            word[at] = word[at - 1];
        word[at] = x;
    }
}

static void radix_pass(const uint32_t *from, uint32_t *to, size_t count, unsigned shift)
{
    size_t at[DIGITS] = {0}, sum = 0;

    for (size_t i = 0; i < count; i++)
        at[from[i] >> shift & (DIGITS - 1)]++;
    for (size_t d = 0; d < DIGITS; d++) {
        size_t size = at[d];
        at[d] = sum;
        sum += size;
    }
    for (size_t i = 0; i < count; i++)
        to[at[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

static void sort_words(uint32_t *word, size_t count, uint32_t *spare)
{
    uint32_t all = 0, *from = word, *to = spare;

    if (count <= INSERTION_MAX) {
        insertion_sort(word, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        all |= word[i];
    for (unsigned shift = 0; shift < 32 && all >> shift != 0; shift += 8) {
        radix_pass(from, to, count, shift);
        uint32_t *other = from;
        from = to;
        to = other;
    }
    if (from != word)
        memcpy(word, from, count * sizeof *word);
}

size_t corpus_merge_words(uint32_t *word, uint32_t *count, size_t tokens, uint32_t *spare)
{
    size_t left = 0;

    sort_words(word, tokens, spare);
    for (size_t i = 0; i < tokens; left++) {
        size_t from = i;
        uint32_t w = word[i];
        while (i < tokens && word[i] == w)
            i++;
        word[left] = w;
        count[left] = (uint32_t)(i - from);
    }
    return left;
}

/* ---- words with counts ---- */

struct pairs {
    uint32_t *word, *count;
};

static void swap(const struct pairs *p, size_t a, size_t b)
{
    uint32_t word = p->word[a], count = p->count[a];

    p->word[a] = p->word[b];
    p->count[a] = p->count[b];
    p->word[b] = word;
    p->count[b] = count;
}

static void sift(const struct pairs *p, size_t at, size_t size)
{
    for (size_t child = 2 * at + 1; child < size; child = 2 * at + 1) {
        if (child + 1 < size && p->word[child] < p->word[child + 1])
            child++;
        if (p->word[at] >= p->word[child])
            return;
        swap(p, at, child);
        at = child;
    }
}

size_t corpus_merge_pairs(uint32_t *word, uint32_t *count, size_t entries)
{
    struct pairs p = {word, count};
    size_t left = 0;

    for (size_t at = entries / 2; at-- > 0;)
        sift(&p, at, entries);
    for (size_t size = entries; size > 1;) {
        swap(&p, 0, --size);
        sift(&p, 0, size);
    }
    for (size_t i = 0; i < entries; left++) {
        uint64_t sum = 0;
        uint32_t w = word[i];
        for (; i < entries && word[i] == w; i++)
            sum += count[i];
        if (sum > UINT32_MAX)
            return SIZE_MAX;
        word[left] = w;
        count[left] = (uint32_t)sum;
    }
    return left;
}
