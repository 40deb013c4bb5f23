/* mutate.c - see mutate.h. */
#include "mutate.h"

#include "base/assert.h"
#include "base/rand.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_MAX_BYTES = 1 << 16, STEPS_MAX = 6, PIECE_MAX = 64 };

struct input {
    struct base_rand rand;
    uint8_t *data;
    size_t size;
};

static size_t below(struct input *in, size_t count)
{
    return count > 0 ? (size_t)base_rand_below(&in->rand, count) : 0;
}

/* Puts `bytes` in the place of `gone` bytes at `at`. */
static void replace(struct input *in, size_t at, size_t gone, const void *bytes, size_t size)
{
    size_t rest = in->size - at - gone, all = at + size + rest;
    uint8_t *data = malloc(all > 0 ? all : 1); /* sanitizers see reads past the end */

    shoal_assert(data != NULL);
    memcpy(data, in->data, at);
    memcpy(data + at, bytes, size);
    memcpy(data + at + size, in->data + at + gone, rest);
    free(in->data);
    in->data = data;
    in->size = all;
}

static void flip(struct input *in)
{
    if (in->size > 0)
        in->data[below(in, in->size)] ^= (uint8_t)(1u << below(in, 8));
}

static void cut_out(struct input *in)
{
    size_t at = below(in, in->size + 1), gone = below(in, in->size - at + 1);

    gone = base_rand_below(&in->rand, 4) == 0 ? gone : gone % PIECE_MAX;
    replace(in, at, gone, "", 0);
}

/* A piece of this seed or another, once or many times. */
static void put_in(struct input *in, const struct mutate_seed *from)
{
    size_t first = below(in, from->size + 1), size = below(in, from->size - first + 1);
    size_t times = base_rand_below(&in->rand, 8) == 0 ? 1 + below(in, 200) : 1;

    size = size < PIECE_MAX ? size : PIECE_MAX;
    for (; times > 0 && in->size + size < SIZE_MAX_BYTES; times--)
        replace(in, below(in, in->size + 1), 0, from->data + first, size);
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* A number of the text becomes another. */
static void change_number(struct input *in)
{
    static const char *const NUMBERS[] = {"0",
                                          "-1",
                                          "1",
                                          "2147483647",
                                          "2147483648",
                                          "4294967295",
                                          "4294967296",
                                          "1000000000",
                                          "18446744073709551615",
                                          "9223372036854775808",
                                          "1e9",
                                          "1e308",
                                          "1e-308",
                                          "1e999",
                                          "nan",
                                          "inf",
                                          "0.5",
                                          "16777216",
                                          "4194304",
                                          "65536",
                                          "1000000",
                                          "00000000001",
                                          "0x10",
                                          "99999999999999999999999999",
                                          ""};
    const char *number = NUMBERS[below(in, sizeof NUMBERS / sizeof NUMBERS[0])];
    size_t at = below(in, in->size), end;

    while (at < in->size && !is_digit(in->data[at]))
        at++;
    for (end = at; end < in->size && is_digit(in->data[end]);)
        end++;
    replace(in, at, end - at, number, strlen(number));
}

/* A word of binary becomes another. */
static void change_word(struct input *in)
{
    static const uint64_t WORDS[] = {
        0,        1,        UINT32_MAX,        INT32_MAX,          UINT64_MAX, INT64_MAX,
        1u << 20, 1u << 30, UINT64_C(1) << 40, 0x7ff0000000000000, 0x7fc00000, 255};
    uint64_t word = WORDS[below(in, sizeof WORDS / sizeof WORDS[0])];
    size_t size = (size_t)1 << below(in, 4), at = below(in, in->size);

    if (base_rand_below(&in->rand, 2) == 0)
        at = at / size * size;
    if (at + size <= in->size)
        memcpy(in->data + at, &word, size);
}

static void change_byte(struct input *in)
{
    static const char BYTES[] = "\0\n\r\t \",:;#{}[]-+.%\xff\x80";

    if (in->size > 0)
        in->data[below(in, in->size)] = (uint8_t)BYTES[below(in, sizeof BYTES)];
}

static void change(struct input *in, const struct mutate_seed *other)
{
    switch (base_rand_below(&in->rand, 8)) {
    case 0: flip(in); break;
    case 1: cut_out(in); break;
    case 2: put_in(in, other); break;
    case 3: change_word(in); break;
    case 4: change_byte(in); break;
    default: change_number(in); break;
    }
}

uint8_t *mutate(const struct mutate_seed *seeds, size_t count, uint64_t number, size_t *out_size)
{
    struct input in = {.data = malloc(1)};

    shoal_assert(in.data != NULL);
    base_rand_init(&in.rand, number, "hostile");
    const struct mutate_seed *seed = &seeds[below(&in, count)];
    replace(&in, 0, 0, seed->data, seed->size);
    for (size_t steps = 1 + below(&in, STEPS_MAX); steps > 0; steps--)
        change(&in, &seeds[below(&in, count)]);
    *out_size = in.size;
    return in.data;
}
