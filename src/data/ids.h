/* ids.h - names as small numbers: the users and items of a file become 0, 1, 2, ... in the order in
 * which they first appear, and find their way back.
 *
 * A name is any bytes but control characters, at most DATA_ID_SIZE_MAX of them. Whole numbers as
 * people write them ("42", not "042") are kept as numbers: 8 bytes each and no text; others cost
 * their length and 10 bytes more. Both have about 6 bytes of hash table. Adding: owner thread;
 * finding: any thread while nobody adds. */
#ifndef DATA_IDS_H
#define DATA_IDS_H

#include "base/alloc.h"
#include "shoal/status.h"
#include <stdint.h>

#define DATA_ID_NONE UINT32_MAX
enum { DATA_ID_SIZE_MAX = 4096 };

struct data_ids {
    const struct base_alloc *alloc;
    uint64_t *word; /* (count) the number, or 2^63 + where in `text` */
    uint32_t count;
    size_t word_cap;
    char *text; /* length (2 bytes, little end first) and bytes of each name that is no number */
    size_t text_size, text_cap;
    uint32_t *slot; /* 0: empty, else index + 1; linear probing, at most 3/4 full */
    size_t slot_count;
};

void data_ids_init(struct data_ids *ids, const struct base_alloc *alloc);
void data_ids_fini(struct data_ids *ids); /* zeroed is allowed */

/* Its number, given out now when it is new. SHOAL_E_LIMIT past 2^32 - 2 names, SHOAL_E_NOMEM;
 * nothing has changed then. */
SHOAL_MUST_USE shoal_status data_ids_add(struct data_ids *ids, const char *name, size_t size,
                                         uint32_t *out_index);
/* The same for the name that is `number` in decimal, below 10^18: without its text. */
SHOAL_MUST_USE shoal_status data_ids_add_number(struct data_ids *ids, uint64_t number,
                                                uint32_t *out_index);
uint32_t data_ids_find_number(const struct data_ids *ids, uint64_t number);
/* Its number, or DATA_ID_NONE. */
uint32_t data_ids_find(const struct data_ids *ids, const char *name, size_t size);

/* The name of `index`, not NUL-terminated; in `buf` or in `ids`. */
enum { DATA_ID_BUF = 24 };
const char *data_ids_name(const struct data_ids *ids, uint32_t index, char buf[DATA_ID_BUF],
                          size_t *out_size);

#endif
