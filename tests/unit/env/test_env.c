/* Tests of src/env/env.c: what holds in both worlds. */
#include "torture.h"

#include "env/env.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct world {
    shoal_env *env;
    char folder[64]; /* where files may be made */
    bool real;
};

static int set_up_real(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    world->real = true;
    (void)snprintf(world->folder, sizeof world->folder, "/tmp/shoal-test-XXXXXX");
    if (mkdtemp(world->folder) == NULL || shoal_env_real_new(&world->env, NULL) != SHOAL_OK)
        return -1;
    *state = world;
    return 0;
}

static int set_up_sim(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    (void)snprintf(world->folder, sizeof world->folder, "/data");
    if (shoal_env_sim_new(1, &world->env, NULL) != SHOAL_OK)
        return -1;
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    if (world->real) {
        struct base_buf names;
        base_buf_init(&names, &base_alloc_libc, 1 << 20);
        if (env_list(world->env, world->folder, &names, NULL) != SHOAL_OK)
            return -1;
        for (size_t at = 0; at < names.size; at += strlen(names.data + at) + 1) {
            char path[400];
            (void)snprintf(path, sizeof path, "%s/%s", world->folder, names.data + at);
            (void)remove(path);
        }
        base_buf_fini(&names);
        if (rmdir(world->folder) != 0)
            return -1;
    }
    shoal_env_free(world->env);
    free(world);
    return 0;
}

static const char *path_of(const struct world *world, const char *name)
{
    static char path[400];
    (void)snprintf(path, sizeof path, "%s/%s", world->folder, name);
    return path;
}

static void written_bytes_read_back_equal(void **state)
{
    struct world *world = *state;
    static const size_t sizes[] = {0, 1, 100, 65535, 65536, 65537, 1000000};
    struct base_rand r;
    base_rand_init(&r, 1, "test.env");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *bytes = malloc(sizes[i] + 1);
        for (size_t k = 0; k < sizes[i]; k++)
            bytes[k] = (char)base_rand_below(&r, 256);
        shoal_err err = SHOAL_ERR_INIT;
        const char *path = path_of(world, "bytes");
        assert_int_equal(env_write_whole(world->env, path, bytes, sizes[i], &err), SHOAL_OK);
        struct base_buf buf;
        base_buf_init(&buf, env_alloc(world->env), 1 << 20);
        base_buf_puts(&buf, "before");
        assert_int_equal(env_read_whole(world->env, path, &buf, &err), SHOAL_OK);
        assert_int_equal(buf.size, 6 + sizes[i]);
        assert_memory_equal(buf.data, "before", 6);
        assert_memory_equal(buf.data + 6, bytes, sizes[i]);
        base_buf_fini(&buf);
        free(bytes);
    }
}

static void a_file_over_the_limit_is_refused_and_the_buffer_is_as_before(void **state)
{
    struct world *world = *state;
    const char *path = path_of(world, "large");
    static char bytes[200000]; /* read in several pieces */
    assert_int_equal(env_write_whole(world->env, path, bytes, sizeof bytes, NULL), SHOAL_OK);
    struct base_buf buf;
    base_buf_init(&buf, &base_alloc_libc, 100000);
    base_buf_puts(&buf, "before");
    shoal_err err = SHOAL_ERR_INIT;
    assert_int_equal(env_read_whole(world->env, path, &buf, &err), SHOAL_E_LIMIT);
    assert_non_null(strstr(err.message, "larger than 100000 bytes"));
    assert_string_equal(buf.data, "before");
    assert_int_equal(buf.size, 6);
    base_buf_fini(&buf);
}

static void missing_files_and_folders_are_errors_in_words(void **state)
{
    struct world *world = *state;
    assert_int_equal(env_write_whole(world->env, path_of(world, "f"), "x", 1, NULL), SHOAL_OK);
    struct env_file *file = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    const char *path = path_of(world, "missing");
    assert_int_equal(env_open(world->env, path, &file, &err), SHOAL_E_NOTFOUND);
    assert_null(file);
    char expected[500];
    (void)snprintf(expected, sizeof expected, "cannot open '%s': no such file or directory", path);
    assert_string_equal(err.message, expected);

    assert_int_equal(env_open(world->env, world->folder, &file, &err), SHOAL_E_FORMAT);
    (void)snprintf(expected, sizeof expected, "cannot open '%s': it is a directory", world->folder);
    assert_string_equal(err.message, expected);
    assert_int_equal(env_open(world->env, path, &file, NULL), SHOAL_E_NOTFOUND);

    assert_int_equal(env_write_whole(world->env, world->folder, "x", 1, &err), SHOAL_E_FORMAT);
    assert_non_null(strstr(err.message, "it is a directory"));
    struct base_buf names;
    base_buf_init(&names, &base_alloc_libc, 1000);
    assert_int_equal(env_list(world->env, path, &names, &err), SHOAL_E_NOTFOUND);
    assert_int_equal(names.size, 0);
    base_buf_fini(&names);
    env_close(NULL);
}

static void names_are_listed_in_byte_order(void **state)
{
    struct world *world = *state;
    static const char *const names[] = {"b", "a", "B", "aa", "a.csv", "z", "10", "9"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_int_equal(env_write_whole(world->env, path_of(world, names[i]), "", 0, NULL),
                         SHOAL_OK);
    struct base_buf out;
    base_buf_init(&out, &base_alloc_libc, 1000);
    assert_int_equal(env_list(world->env, world->folder, &out, NULL), SHOAL_OK);
    static const char expected[] = "10\0009\0B\0a\0a.csv\0aa\0b\0z";
    assert_int_equal(out.size, sizeof expected);
    assert_memory_equal(out.data, expected, sizeof expected);
    base_buf_fini(&out);

    base_buf_init(&out, &base_alloc_libc, 5);
    shoal_err err = SHOAL_ERR_INIT;
    assert_int_equal(env_list(world->env, world->folder, &out, &err), SHOAL_E_LIMIT);
    assert_int_equal(out.size, 0);
    base_buf_fini(&out);
}

static void an_open_reader_keeps_the_old_bytes_when_the_file_is_replaced(void **state)
{
    struct world *world = *state;
    const char *path = path_of(world, "f");
    assert_int_equal(env_write_whole(world->env, path, "old", 3, NULL), SHOAL_OK);
    struct env_file *file = NULL;
    assert_int_equal(env_open(world->env, path, &file, NULL), SHOAL_OK);
    assert_int_equal(env_write_whole(world->env, path, "newer", 5, NULL), SHOAL_OK);
    char text[10] = "";
    size_t size = 0;
    assert_int_equal(env_read(file, text, sizeof text - 1, &size, NULL), SHOAL_OK);
    assert_int_equal(size, 3);
    assert_string_equal(text, "old");
    assert_int_equal(env_read(file, text, sizeof text - 1, &size, NULL), SHOAL_OK);
    assert_int_equal(size, 0);
    env_close(file);
}

static void reading_at_an_offset_gives_what_is_there_and_moves_nothing(void **state)
{
    struct world *world = *state;
    const char *path = path_of(world, "f");
    assert_int_equal(env_write_whole(world->env, path, "0123456789", 10, NULL), SHOAL_OK);
    struct env_file *file = NULL;
    assert_int_equal(env_open(world->env, path, &file, NULL), SHOAL_OK);
    uint64_t file_size = 0;
    assert_int_equal(env_size(file, &file_size, NULL), SHOAL_OK);
    assert_int_equal(file_size, 10);
    static const struct {
        uint64_t offset;
        size_t size;
        const char *text;
    } reads[] = {{7, 3, "789"}, {0, 2, "01"},     {8, 9, "89"},
                 {10, 5, ""},   {1 << 30, 5, ""}, {5, 0, ""}};
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
        char text[20] = "";
        size_t size = 99;
        assert_int_equal(env_read_at(file, reads[i].offset, text, reads[i].size, &size, NULL),
                         SHOAL_OK);
        assert_int_equal(size, strlen(reads[i].text));
        assert_string_equal(text, reads[i].text);
    }
    char first[20] = "";
    size_t size = 0;
    assert_int_equal(env_read(file, first, 3, &size, NULL), SHOAL_OK);
    assert_string_equal(first, "012");
    env_close(file);
}

static void streams_depend_on_seed_and_name_alone(void **state)
{
    struct world *world = *state;
    world->env->seed = 7;
    struct base_rand a, b;
    env_rand(world->env, "arrivals", &a);
    base_rand_init(&b, 7, "arrivals");
    assert_memory_equal(&a, &b, sizeof a);
}

enum { CALLS_MAX = 1000 };

static void count_call(void *ctx, size_t index)
{
    int *calls = ctx;
    calls[index]++; /* each index has its own place, so threads do not meet */
}

static void parallel_calls_each_index_once(void **state)
{
    struct world *world = *state;
    static const size_t counts[] = {0, 1, 2, 3, 10, CALLS_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (uint32_t threads = 0; threads < 6; threads++) {
            int calls[CALLS_MAX + 1] = {0};
            assert_int_equal(env_parallel(world->env, counts[i], threads, count_call, calls, NULL),
                             SHOAL_OK);
            for (size_t k = 0; k <= CALLS_MAX; k++)
                assert_int_equal(calls[k], k < counts[i] ? 1 : 0);
        }
    }
}

static void the_clock_does_not_run_backwards(void **state)
{
    struct world *world = *state;
    uint64_t before = env_now_ns(world->env);
    double cpu_before = env_cpu_s(world->env);
    for (int i = 0; i < 1000; i++) {
        uint64_t now = env_now_ns(world->env);
        assert_true(now >= before);
        before = now;
    }
    assert_true(env_cpu_s(world->env) >= cpu_before);
    assert_true(env_cpu_count(world->env) >= 1);
}

struct torture_ctx {
    struct world *world;
    char path[400];
};

static shoal_status use_files(const struct base_alloc *alloc, void *ctx)
{
    struct torture_ctx *t = ctx;
    shoal_env *env = t->world->env;
    const struct base_alloc *own = env->alloc;
    env->alloc = alloc;
    struct base_buf buf;
    base_buf_init(&buf, alloc, 1 << 20);
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = env_read_whole(env, t->path, &buf, &err);
    if (st == SHOAL_OK)
        st = env_list(env, t->world->folder, &buf, &err);
    int calls[CALLS_MAX] = {0};
    if (st == SHOAL_OK)
        st = env_parallel(env, CALLS_MAX, 0, count_call, calls, &err);
    if (st != SHOAL_OK && err.code != st)
        st = SHOAL_E_INTERNAL; /* a failure says why */
    base_buf_fini(&buf);
    env->alloc = own;
    return st;
}

static void every_failed_allocation_is_clean(void **state)
{
    struct torture_ctx t = {.world = *state};
    char bytes[5000] = {1};
    (void)snprintf(t.path, sizeof t.path, "%s", path_of(t.world, "f"));
    assert_int_equal(env_write_whole(t.world->env, t.path, bytes, sizeof bytes, NULL), SHOAL_OK);
    for (int i = 0; i < 20; i++) {
        char name[20];
        (void)snprintf(name, sizeof name, "file-%d", i);
        assert_int_equal(env_write_whole(t.world->env, path_of(t.world, name), "", 0, NULL),
                         SHOAL_OK);
    }
    torture_run(use_files, &t);
}

#define IN_BOTH_WORLDS(test)                              \
    {"real: " #test, test, set_up_real, tear_down, NULL}, \
    {                                                     \
        "sim: " #test, test, set_up_sim, tear_down, NULL  \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_BOTH_WORLDS(written_bytes_read_back_equal),
        IN_BOTH_WORLDS(a_file_over_the_limit_is_refused_and_the_buffer_is_as_before),
        IN_BOTH_WORLDS(missing_files_and_folders_are_errors_in_words),
        IN_BOTH_WORLDS(names_are_listed_in_byte_order),
        IN_BOTH_WORLDS(an_open_reader_keeps_the_old_bytes_when_the_file_is_replaced),
        IN_BOTH_WORLDS(reading_at_an_offset_gives_what_is_there_and_moves_nothing),
        IN_BOTH_WORLDS(streams_depend_on_seed_and_name_alone),
        IN_BOTH_WORLDS(parallel_calls_each_index_once),
        IN_BOTH_WORLDS(the_clock_does_not_run_backwards),
        IN_BOTH_WORLDS(every_failed_allocation_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
