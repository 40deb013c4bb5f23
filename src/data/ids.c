/* ids.c - see ids.h. Open addressing over the words; a number hashes by its word, a text by its
 * bytes. Tests: tests/unit/data/test_ids.c. */
#include "data/ids.h"

#include "base/assert.h"
#include "data/format.h"
#include <stdbool.h>
#include <string.h>

#define TEXT ((uint64_t)1 << 63)
enum { SLOTS_MIN = 64 };

void data_ids_init(struct data_ids *ids, const struct base_alloc *alloc)
{
    *ids = (struct data_ids){.alloc = alloc};
}

void data_ids_fini(struct data_ids *ids)
{
    if (ids->alloc == NULL)
        return;
    base_free(ids->alloc, ids->word);
    base_free(ids->alloc, ids->text);
    base_free(ids->alloc, ids->slot);
    *ids = (struct data_ids){0};
}

/* A whole number of at most 18 digits as people write it. */
static bool as_number(const char *name, size_t size, uint64_t *out)
{
    uint64_t n = 0;

    if (size == 0 || size > 18 || (name[0] == '0' && size > 1))
        return false;
    for (size_t i = 0; i < size; i++) {
        if (!data_number_digit(name[i]))
            return false;
        n = n * 10 + (uint64_t)(name[i] - '0');
    }
    *out = n;
    return true;
}

static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    x ^= x >> 32;
    return x;
}

static uint64_t hash_text(const char *name, size_t size)
{
    uint64_t h = TEXT ^ size, piece = 0;

    for (; size >= 8; size -= 8, name += 8) {
        memcpy(&piece, name, 8);
        h = mix(h ^ piece) * 0x9E3779B97F4A7C15u;
    }
    piece = 0;
    memcpy(&piece, name, size);
    return mix(h ^ piece);
}

static const char *text_of(const struct data_ids *ids, uint64_t word, size_t *out_size)
{
    const unsigned char *at = (const unsigned char *)ids->text + (word & ~TEXT);

    *out_size = (size_t)at[0] | (size_t)at[1] << 8;
    return (const char *)at + 2;
}

/* The slot of a name, or the empty one where it belongs. */
static uint32_t *find_number(const struct data_ids *ids, uint64_t n)
{
    size_t mask = ids->slot_count - 1, at = (size_t)mix(n) & mask;

    while (ids->slot[at] != 0 && ids->word[ids->slot[at] - 1] != n)
        at = (at + 1) & mask;
    return &ids->slot[at];
}

static uint32_t *find_text(const struct data_ids *ids, const char *name, size_t size)
{
    size_t mask = ids->slot_count - 1, at = (size_t)hash_text(name, size) & mask;

    for (; ids->slot[at] != 0; at = (at + 1) & mask) {
        uint64_t word = ids->word[ids->slot[at] - 1];
        size_t have = 0;
        const char *text = (word & TEXT) != 0 ? text_of(ids, word, &have) : NULL;
        if (text != NULL && have == size && memcmp(text, name, size) == 0)
            break;
    }
    return &ids->slot[at];
}

static shoal_status grow(struct data_ids *ids)
{
    size_t slots = ids->slot_count > 0 ? ids->slot_count * 2 : SLOTS_MIN;
    uint32_t *slot = base_calloc(ids->alloc, slots, sizeof *slot);

    if (slot == NULL)
        return SHOAL_E_NOMEM;
    base_free(ids->alloc, ids->slot);
    ids->slot = slot;
    ids->slot_count = slots;
    for (uint32_t i = 0; i < ids->count; i++) {
        uint64_t word = ids->word[i];
        size_t size = 0;
        const char *text = (word & TEXT) != 0 ? text_of(ids, word, &size) : NULL;
        *(text != NULL ? find_text(ids, text, size) : find_number(ids, word)) = i + 1;
    }
    return SHOAL_OK;
}

static shoal_status keep_text(struct data_ids *ids, const char *name, size_t size,
                              uint64_t *out_word)
{
    void *data = ids->text;

    if (base_reserve(ids->alloc, &data, &ids->text_cap, ids->text_size + size + 2, 1) != 0)
        return SHOAL_E_NOMEM;
    ids->text = data;
    *out_word = TEXT | ids->text_size;
    ids->text[ids->text_size] = (char)(size & 0xFF);
    ids->text[ids->text_size + 1] = (char)(size >> 8);
    memcpy(ids->text + ids->text_size + 2, name, size);
    return SHOAL_OK;
}

/* A new word at an empty slot. */
static shoal_status add_word(struct data_ids *ids, uint64_t word, uint32_t *slot,
                             uint32_t *out_index)
{
    void *data = ids->word;

    if (ids->count == DATA_ID_NONE - 1)
        return SHOAL_E_LIMIT;
    if (base_reserve(ids->alloc, &data, &ids->word_cap, (size_t)ids->count + 1, sizeof word) != 0)
        return SHOAL_E_NOMEM;
    ids->word = data;
    ids->word[ids->count] = word;
    *out_index = ids->count++;
    *slot = ids->count;
    return SHOAL_OK;
}

static bool is_full(const struct data_ids *ids)
{
    return ((size_t)ids->count + 1) * 4 > ids->slot_count * 3;
}

shoal_status data_ids_add_number(struct data_ids *ids, uint64_t number, uint32_t *out_index)
{
    shoal_status st = is_full(ids) ? grow(ids) : SHOAL_OK;
    if (st != SHOAL_OK)
        return st;
    uint32_t *slot = find_number(ids, number);
    if (*slot == 0)
        return add_word(ids, number, slot, out_index);
    *out_index = *slot - 1;
    return SHOAL_OK;
}

shoal_status data_ids_add(struct data_ids *ids, const char *name, size_t size, uint32_t *out_index)
{
    uint64_t word = 0;

    shoal_assert(size <= DATA_ID_SIZE_MAX);
    if (as_number(name, size, &word))
        return data_ids_add_number(ids, word, out_index);
    shoal_status st = is_full(ids) ? grow(ids) : SHOAL_OK;
    if (st != SHOAL_OK)
        return st;
    uint32_t *slot = find_text(ids, name, size);
    if (*slot != 0) {
        *out_index = *slot - 1;
        return SHOAL_OK;
    }
    st = keep_text(ids, name, size, &word);
    if (st == SHOAL_OK)
        st = add_word(ids, word, slot, out_index);
    if (st == SHOAL_OK)
        ids->text_size += size + 2;
    return st;
}

uint32_t data_ids_find_number(const struct data_ids *ids, uint64_t number)
{
    return ids->count == 0 ? DATA_ID_NONE : *find_number(ids, number) - 1; /* empty: 0 - 1 */
}

uint32_t data_ids_find(const struct data_ids *ids, const char *name, size_t size)
{
    uint64_t n = 0;

    if (ids->count == 0 || size > DATA_ID_SIZE_MAX)
        return DATA_ID_NONE;
    if (as_number(name, size, &n))
        return data_ids_find_number(ids, n);
    return *find_text(ids, name, size) - 1;
}

const char *data_ids_name(const struct data_ids *ids, uint32_t index, char buf[DATA_ID_BUF],
                          size_t *out_size)
{
    shoal_assert(index < ids->count);
    uint64_t word = ids->word[index];
    if ((word & TEXT) != 0)
        return text_of(ids, word, out_size);
    *out_size = (size_t)(data_format_u64(buf, word) - buf);
    return buf;
}
