/* facts.h - keys and values that describe what else is in a pack: app, options, shapes.
 *
 * One flat JSON object in the section "facts": strings and whole numbers, in the order they were
 * set; reals and booleans of other versions are passed over. A u64 over the range of JSON integers is
 * kept as a string. Owner thread only. The values are jansson's, which has an
 * allocator of its own. Tests: tests/unit/store/test_facts.c. */
#ifndef STORE_FACTS_H
#define STORE_FACTS_H

#include "store/pack.h"

#define STORE_FACTS_SECTION "facts"
enum { STORE_FACTS_SIZE_MAX = 1 << 24 }; /* bytes of the section */

struct store_facts;

SHOAL_MUST_USE shoal_status store_facts_new(shoal_env *env, struct store_facts **out_facts,
                                            shoal_err *err);
void store_facts_free(struct store_facts *facts); /* NULL is allowed */

/* Adds, or replaces in its place. Keys and text are UTF-8 without NUL. The first failure sticks and
 * store_facts_save says what it was. */
void store_facts_set_text(struct store_facts *facts, const char *key, const char *value);
void store_facts_set_u64(struct store_facts *facts, const char *key, uint64_t value);

/* Writes the section. As with all sections a failure sticks to `out` and commit reports it. */
shoal_status store_facts_save(const struct store_facts *facts, struct store_pack_out *out);
/* *out_facts is the caller's and does not need the pack any more. */
SHOAL_MUST_USE shoal_status store_facts_load(shoal_env *env, struct store_pack *pack,
                                             struct store_facts **out_facts, shoal_err *err);

/* One key. Missing is SHOAL_E_NOTFOUND, another type or a number out of range SHOAL_E_FORMAT; the
 * message names the file and the key, and *out is as it was. */
SHOAL_MUST_USE shoal_status store_facts_text(const struct store_facts *facts, const char *key,
                                             const char **out, shoal_err *err); /* borrowed */
SHOAL_MUST_USE shoal_status store_facts_u64(const struct store_facts *facts, const char *key,
                                            uint64_t *out, shoal_err *err);

#endif
