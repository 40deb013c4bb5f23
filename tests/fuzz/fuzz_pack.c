/* Any bytes as a pack, as they are and with the checksums of its ends made right: refused with words,
 * or sections that lie in the file and can be asked for. Then the same bytes as the facts of one. */
#include "../unit/store/pack_seal.h"
#include "base/assert.h"
#include "store/facts.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_status(shoal_status st, const shoal_err *err)
{
    shoal_assert(st == SHOAL_OK ||
                 (st == SHOAL_E_FORMAT && err->code == st && err->message[0] != '\0'));
}

static void check_facts(shoal_env *env, struct store_pack *pack)
{
    struct store_facts *facts = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = store_facts_load(env, pack, &facts, &err);
    check_status(st, &err);
    static const char *const keys[] = {"app", "rank", "seed", "bias"}; /* of the corpus */
    for (size_t i = 0; st == SHOAL_OK && i < BASE_COUNT(keys); i++) {
        const char *text = NULL;
        uint64_t whole = 0;
        shoal_status asked = store_facts_text(facts, keys[i], &text, &err);
        shoal_assert(asked == SHOAL_E_NOTFOUND || (asked == SHOAL_OK) == (text != NULL));
        if (asked != SHOAL_E_NOTFOUND)
            check_status(asked, &err);
        if (asked != SHOAL_E_NOTFOUND)
            check_status(store_facts_u64(facts, keys[i], &whole, &err), &err);
    }
    store_facts_free(facts);
}

static void check_sections(struct store_pack *pack, size_t file_size)
{
    uint64_t end = PACK_END_SIZE;
    shoal_err err = SHOAL_ERR_INIT;
    for (size_t i = 0; i < store_pack_count(pack); i++) {
        const struct store_section *section = store_pack_at(pack, i);
        unsigned char byte = 0;
        shoal_assert(section->offset == end && section->size <= file_size - end);
        shoal_assert(store_pack_find(pack, section->name) == section);
        end = section->offset + pack_padded(section->size);
        if (section->size > 0)
            check_status(store_pack_read(pack, section, section->size - 1, &byte, 1, &err), &err);
    }
    shoal_assert(end <= file_size);
    check_status(store_pack_verify(pack, &err), &err);
}

static void open_bytes(const uint8_t *data, size_t size)
{
    shoal_env *env = NULL;
    struct store_pack *pack = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    shoal_assert(env_sim_put(env, "p", data, size) == SHOAL_OK);
    shoal_status st = store_pack_open(env, "p", NULL, &pack, &err);
    check_status(st, &err);
    if (st == SHOAL_OK) {
        check_sections(pack, size);
        check_facts(env, pack);
    }
    store_pack_close(pack);
    shoal_env_free(env);
}

static void open_sealed(const uint8_t *data, size_t size)
{
    unsigned char *sealed = malloc(size + 1);
    shoal_assert(sealed != NULL);
    if (size > 0)
        memcpy(sealed, data, size);
    pack_seal(sealed, size);
    open_bytes(sealed, size);
    free(sealed);
}

static void read_as_facts(const uint8_t *data, size_t size)
{
    shoal_env *env = NULL;
    struct store_pack_out *out = NULL;
    struct store_pack *pack = NULL;
    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    shoal_assert(store_pack_create(env, "p", "model", &out, NULL) == SHOAL_OK);
    shoal_assert(store_pack_section(out, STORE_FACTS_SECTION, data, size) == SHOAL_OK);
    shoal_assert(store_pack_commit(out, NULL) == SHOAL_OK);
    shoal_assert(store_pack_open(env, "p", "model", &pack, NULL) == SHOAL_OK);
    check_facts(env, pack);
    store_pack_close(pack);
    shoal_env_free(env);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    open_bytes(data, size);
    open_sealed(data, size);
    read_as_facts(data, size);
    return 0;
}
