/* Tests of src/env/gzip.c. */
#include "env_world.h"
#include "gzip_text.h"
#include "torture.h"

#include "base/rand.h"
#include "property.h"

/* What reading `path` as text gives, in pieces of at most `piece` bytes. */
static shoal_status read_text(shoal_env *env, const char *path, size_t piece, struct base_buf *out,
                              shoal_err *err)
{
    struct env_file *file = NULL;
    char buf[1 << 16];
    size_t got = 1;
    shoal_status st = env_open_text(env, path, &file, err);

    while (st == SHOAL_OK && got > 0) {
        st = env_read(file, buf, piece, &got, err);
        if (st == SHOAL_OK)
            base_buf_append(out, buf, got);
        if (base_buf_status(out) != SHOAL_OK)
            st = base_buf_status(out);
    }
    env_close(file);
    return st;
}

static void expect(shoal_env *env, const struct base_buf *stored, size_t piece, const char *text,
                   size_t size)
{
    shoal_err err = SHOAL_ERR_INIT;
    struct base_buf out;

    base_buf_init(&out, &base_alloc_libc, 1 << 28);
    assert_int_equal(env_sim_put(env, "f", stored->data, stored->size), SHOAL_OK);
    if (read_text(env, "f", piece, &out, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    assert_int_equal(out.size, size);
    if (size > 0)
        assert_memory_equal(out.data, text, size);
    base_buf_clear(&out);
    assert_int_equal(env_read_whole(env, "f", &out, NULL), SHOAL_OK);
    assert_int_equal(out.size, size);
    base_buf_fini(&out);
}

static void a_text_reads_the_same_packed_or_plain_in_pieces_of_any_size(void **state)
{
    struct base_rand r;

    (void)state;
    base_rand_init(&r, 3, "test.gzip");
    for (int round = 0; round < property_count(60); round++) {
        size_t size = (size_t)base_rand_below(&r, round % 5 == 0 ? 300000 : 40);
        struct base_buf text, stored;
        shoal_env *env = world_new();
        base_buf_init(&text, &base_alloc_libc, 1 << 20);
        base_buf_init(&stored, &base_alloc_libc, 1 << 20);
        base_buf_puts(&text, "");
        base_buf_puts(&stored, "");
        bool packed = base_rand_below(&r, 3) > 0;
        do { /* one member or several */
            size_t from = text.size;
            for (size_t i = base_rand_below(&r, size + 1) + 1; i > 0; i--)
                base_buf_printf(&text, "%c", "ab,\n\x1f"[base_rand_below(&r, 5)]);
            if (packed)
                gzip_text(text.data + from, text.size - from, &stored);
        } while (base_rand_below(&r, 3) == 0);
        if (packed)
            base_buf_append(&stored, "\0\0\0\0\0\0\0", base_rand_below(&r, 7));
        assert_int_equal(
            env_sim_set_fault(env, "env.read.short", base_rand_below(&r, 2) == 0 ? 0.5 : 0),
            SHOAL_OK);
        expect(env, packed ? &stored : &text, 1 + base_rand_below(&r, 5000), text.data, text.size);
        base_buf_fini(&text);
        base_buf_fini(&stored);
        shoal_env_free(env);
    }
}

static void refuses(const char *stored, size_t size, shoal_status expected, const char *message)
{
    shoal_env *env = world_new();
    shoal_err err = SHOAL_ERR_INIT;
    struct base_buf out;

    base_buf_init(&out, &base_alloc_libc, 1 << 30);
    assert_int_equal(env_sim_put(env, "f", stored, size), SHOAL_OK);
    assert_int_equal(read_text(env, "f", 65536, &out, &err), expected);
    if (strstr(err.message, message) == NULL)
        fail_msg("expected '%s' in '%s'", message, err.message);
    assert_string_not_equal(err.hint, "");
    base_buf_fini(&out);
    shoal_env_free(env);
}

static void a_damaged_file_is_an_error_and_not_a_short_text(void **state)
{
    struct base_buf stored;

    (void)state;
    base_buf_init(&stored, &base_alloc_libc, 1 << 20);
    gzip_text("name,gpus\na,1\n", 14, &stored);
    for (size_t cut = 2; cut < stored.size; cut++)
        refuses(stored.data, cut, SHOAL_E_FORMAT, "it ends in the middle");
    stored.data[stored.size - 6] ^= 1; /* of its check sum */
    refuses(stored.data, stored.size, SHOAL_E_FORMAT, "damaged");
    stored.data[stored.size - 6] ^= 1;
    base_buf_puts(&stored, "more");
    refuses(stored.data, stored.size, SHOAL_E_FORMAT, "other bytes follow");
    base_buf_fini(&stored);
}

static void what_unpacks_to_far_more_than_text_does_is_refused_early(void **state)
{
    enum { SIZE = 256 << 20, BLOCK = 1 << 20 };
    struct base_buf stored;
    char *blank = calloc(1, SIZE);

    (void)state;
    assert_non_null(blank);
    memset(blank, '\n', SIZE);
    base_buf_init(&stored, &base_alloc_libc, 1 << 20);
    gzip_text(blank, SIZE, &stored);
    free(blank);
    assert_true(stored.size < BLOCK);
    refuses(stored.data, stored.size, SHOAL_E_LIMIT, "times its size");
    base_buf_fini(&stored);
}

static shoal_status unpack(const struct base_alloc *alloc, void *ctx)
{
    shoal_env *env = ctx;
    const struct base_alloc *own = env->alloc;
    struct base_buf out;

    env->alloc = alloc;
    base_buf_init(&out, alloc, 1 << 20);
    shoal_status st = env_read_whole(env, "f", &out, NULL);
    base_buf_fini(&out);
    env->alloc = own;
    return st;
}

static void every_failed_allocation_ends_in_a_clean_error(void **state)
{
    shoal_env *env = world_new();
    struct base_buf stored;

    (void)state;
    base_buf_init(&stored, &base_alloc_libc, 1 << 20);
    gzip_text("name,gpus\na,1\n", 14, &stored);
    assert_int_equal(env_sim_put(env, "f", stored.data, stored.size), SHOAL_OK);
    torture_run(unpack, env);
    base_buf_fini(&stored);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_reads_the_same_packed_or_plain_in_pieces_of_any_size),
        cmocka_unit_test(a_damaged_file_is_an_error_and_not_a_short_text),
        cmocka_unit_test(what_unpacks_to_far_more_than_text_does_is_refused_early),
        cmocka_unit_test(every_failed_allocation_ends_in_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
