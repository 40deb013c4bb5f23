/* gen_world.h - what a generator writes, gathered, for tests of src/gen. */
#ifndef TESTS_GEN_WORLD_H
#define TESTS_GEN_WORLD_H

#include "unit/data/data_world.h"

#include "base/buf.h"
#include "base/watch.h"
#include "shoal/gen.h"

struct gathered {
    struct base_buf text;
    uint64_t pieces, fail_at;
};

static inline bool gather(void *ctx, const char *text, size_t size)
{
    struct gathered *g = ctx;

    if (++g->pieces == g->fail_at)
        return false;
    base_buf_append(&g->text, text, size);
    return base_buf_status(&g->text) == SHOAL_OK;
}

/* To memory. */
static inline shoal_gen_to gather_to(struct gathered *g)
{
    *g = (struct gathered){0};
    base_buf_init(&g->text, &base_alloc_libc, SIZE_MAX / 2);
    return (shoal_gen_to){.output = "-", .put = gather, .ctx = g};
}

static inline uint64_t hash_of(const struct gathered *g)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < g->text.size; i++)
        h = (h ^ (unsigned char)g->text.data[i]) * 0x100000001b3u;
    return h;
}

/* The same data of one thread and of four, in pieces. Frees both. */
static inline void assert_same_gathered(struct gathered *one, struct gathered *four,
                                        uint64_t golden)
{
    assert_int_equal(one->text.size, four->text.size);
    assert_memory_equal(one->text.data, four->text.data, one->text.size);
    assert_true(four->pieces > 1);
    assert_int_equal(hash_of(one), golden);
    base_buf_fini(&one->text);
    base_buf_fini(&four->text);
}

#define MAKE(kind, env, opts)                                             \
    do {                                                                  \
        const shoal_result *made_ = NULL;                                 \
        shoal_err err_ = SHOAL_ERR_INIT;                                  \
        if (shoal_gen_##kind(env, opts, NULL, &made_, &err_) != SHOAL_OK) \
            fail_msg("%s", err_.message);                                 \
        shoal_result_free(made_);                                         \
    } while (false)

#endif
