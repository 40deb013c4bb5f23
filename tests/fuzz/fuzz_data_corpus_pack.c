/* Fuzz target: any bytes as a binary corpus; and, because checksums keep most mistakes from being
 * seen, as the sections of one whose checksums are right: 6 numbers of a byte for the head, then for
 * each of `chunks` and `vocabulary` its size in a byte and its bytes, then the documents. */
#include "corpus_target.h"
#include "store/pack.h"

struct bytes {
    const uint8_t *at, *end;
};

static uint64_t take(struct bytes *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

/* Numbers of a byte become those of eight, so that small changes stay small. */
static size_t take_numbers(struct bytes *in, uint64_t *out, size_t count)
{
    size_t made = 0;

    while (made < count && in->at < in->end)
        out[made++] = take(in);
    return made;
}

static void forge(shoal_env *env, struct bytes in)
{
    struct store_pack_out *out = NULL;
    uint64_t head[6] = {0}, chunks[64] = {0}, facts[4] = {0};
    char documents[4096];
    size_t size = 0;

    (void)take_numbers(&in, head, 6);
    head[1] = head[1] < 200 ? head[1] : UINT64_MAX - head[1];
    size_t chunk_count = take_numbers(&in, chunks, (size_t)take(&in) % 64);
    size_t names = (size_t)take(&in);
    names = names < (size_t)(in.end - in.at) ? names : (size_t)(in.end - in.at);
    const uint8_t *name_bytes = in.at;
    in.at += names;
    while (in.at < in.end && size + sizeof facts + 64 < sizeof documents) {
        (void)take_numbers(&in, facts, 4);
        memcpy(documents + size, facts, sizeof facts);
        size += sizeof facts;
        for (uint64_t n = take(&in) % 32; n > 0 && in.at < in.end; n--)
            documents[size++] = (char)take(&in);
    }
    shoal_assert(store_pack_create(env, "f", "corpus", &out, NULL) == SHOAL_OK);
    store_pack_section(out, "documents", documents, size);
    store_pack_section(out, "chunks", chunks, chunk_count * sizeof *chunks);
    store_pack_section(out, "vocabulary", name_bytes, names);
    store_pack_section(out, "head", head, sizeof head);
    shoal_assert(store_pack_commit(out, NULL) == SHOAL_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct data_corpus_opts opts = {.format = DATA_CORPUS_BINARY};
    shoal_env *env = NULL;

    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    shoal_assert(env_sim_put(env, "f", data, size) == SHOAL_OK);
    check_loads(env, &opts);
    forge(env, (struct bytes){data, data + size});
    check_loads(env, &opts);
    shoal_env_free(env);
    return 0;
}
