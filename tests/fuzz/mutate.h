/* mutate.h - inputs made from good ones: what hostile or broken files look like. Same seeds and number, same
 * input, on every machine. */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

struct mutate_seed {
    uint8_t *data;
    size_t size;
};

/* Some changes to one of the seeds: bytes flipped, cut out, repeated or taken from another seed; numbers in text
 * made huge, negative, or of another form; words in binary made huge. The result is the caller's to free. */
uint8_t *mutate(const struct mutate_seed *seeds, size_t count, uint64_t number, size_t *out_size);

#endif
