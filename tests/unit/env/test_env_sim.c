/* Tests of src/env/env_sim.c: the clock, faults by seed, and the world's own memory. */
#include "torture.h"

#include "env/env.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static shoal_env *new_env(uint64_t seed)
{
    shoal_env *env = NULL;
    assert_int_equal(shoal_env_sim_new(seed, &env, NULL), SHOAL_OK);
    return env;
}

static void the_clock_moves_only_when_told(void **state)
{
    (void)state;
    shoal_env *env = new_env(1);
    assert_int_equal(env_now_ns(env), 0);
    assert_true(env_wall_s(env) == 0);
    env_sim_advance(env, 1500000000);
    assert_int_equal(env_now_ns(env), 1500000000);
    assert_true(env_wall_s(env) == 1.5);
    assert_true(env_cpu_s(env) == 1.5);
    env_sim_advance(env, 0);
    assert_int_equal(env_now_ns(env), 1500000000);
    shoal_env_free(env);
}

static shoal_env *new_env_with_file(uint64_t seed)
{
    shoal_env *env = new_env(seed);
    assert_int_equal(env_sim_put(env, "f", "x", 1), SHOAL_OK);
    return env;
}

/* Does what the fault point is about, and whether it failed. */
static bool fires(shoal_env *env, const char *point)
{
    struct env_file *file = NULL;
    struct env_out *out = NULL;
    if (strcmp(point, "env.commit") == 0) {
        assert_int_equal(env_create(env, "g", &out, NULL), SHOAL_OK);
        return env_commit(out, NULL) != SHOAL_OK;
    }
    bool failed = env_open(env, "f", &file, NULL) != SHOAL_OK;
    env_close(file);
    return failed;
}

static void faults_are_off_until_set(void **state)
{
    (void)state;
    shoal_env *env = new_env_with_file(1);
    for (int i = 0; i < 1000; i++)
        assert_false(fires(env, "env.open"));
    assert_int_equal(env_sim_set_fault(env, "env.open", 1.0), SHOAL_OK);
    for (int i = 0; i < 1000; i++)
        assert_true(fires(env, "env.open"));
    assert_int_equal(env_sim_set_fault(env, "env.open", 0.0), SHOAL_OK);
    assert_false(fires(env, "env.open"));
    assert_int_equal(env_sim_set_fault(env, "x", -0.1), SHOAL_E_INVAL);
    assert_int_equal(env_sim_set_fault(env, "x", 1.1), SHOAL_E_INVAL);
    assert_int_equal(env_sim_set_fault(env, "x", (double)NAN), SHOAL_E_INVAL);
    shoal_env_free(env);
}

enum { DRAWS = 2000 };

static void draw(shoal_env *env, const char *point, const char *other, bool *out)
{
    for (int i = 0; i < DRAWS; i++) {
        if (other != NULL)
            (void)fires(env, other);
        out[i] = fires(env, point);
    }
}

static void faults_repeat_with_the_seed_and_do_not_shift_each_other(void **state)
{
    (void)state;
    bool alone[DRAWS], together[DRAWS], other_seed[DRAWS], other_point[DRAWS];
    shoal_env *env = new_env_with_file(5);
    assert_int_equal(env_sim_set_fault(env, "env.open", 0.3), SHOAL_OK);
    assert_int_equal(env_sim_set_fault(env, "env.commit", 0.3), SHOAL_OK);
    draw(env, "env.open", NULL, alone);
    draw(env, "env.commit", NULL, other_point);
    shoal_env_free(env);

    env = new_env_with_file(5);
    assert_int_equal(env_sim_set_fault(env, "env.commit", 0.5), SHOAL_OK);
    assert_int_equal(env_sim_set_fault(env, "env.open", 0.3), SHOAL_OK);
    draw(env, "env.open", "env.commit", together);
    shoal_env_free(env);

    env = new_env_with_file(6);
    assert_int_equal(env_sim_set_fault(env, "env.open", 0.3), SHOAL_OK);
    draw(env, "env.open", NULL, other_seed);
    shoal_env_free(env);

    assert_memory_equal(alone, together, sizeof alone);
    assert_memory_not_equal(alone, other_seed, sizeof alone);
    assert_memory_not_equal(alone, other_point, sizeof alone);
    int fired = 0;
    for (int i = 0; i < DRAWS; i++)
        fired += alone[i];
    assert_in_range(fired, 480, 720); /* mean 600, sigma 20 */
}

static void a_failed_write_leaves_the_old_file(void **state)
{
    (void)state;
    shoal_env *env = new_env(1);
    assert_int_equal(env_write_whole(env, "report", "old", 3, NULL), SHOAL_OK);
    assert_int_equal(env_sim_set_fault(env, "env.write", 1.0), SHOAL_OK);
    shoal_err err = SHOAL_ERR_INIT;
    assert_int_equal(env_write_whole(env, "report", "new", 3, &err), SHOAL_E_IO);
    assert_string_equal(err.message, "cannot write 'report': simulated fault env.write");
    assert_int_equal(env_write_whole(env, "other", "new", 3, &err), SHOAL_E_IO);
    assert_string_equal(env_sim_find(env, "report")->data, "old");
    assert_null(env_sim_find(env, "other"));
    shoal_env_free(env);
}

static void a_stream_is_seen_whole_or_not_at_all(void **state)
{
    (void)state;
    shoal_env *env = new_env(1);
    assert_int_equal(env_write_whole(env, "f", "old", 3, NULL), SHOAL_OK);
    for (int round = 0; round < 3; round++) {
        struct env_out *out = NULL;
        assert_int_equal(env_create(env, "f", &out, NULL), SHOAL_OK);
        assert_int_equal(env_append(out, "ne", 2, NULL), SHOAL_OK);
        assert_int_equal(env_append(out, "w", 1, NULL), SHOAL_OK);
        assert_string_equal(env_sim_find(env, "f")->data, "old");
        assert_int_equal(env_sim_set_fault(env, "env.commit", round == 1), SHOAL_OK);
        if (round == 0)
            env_discard(out);
        else
            assert_int_equal(env_commit(out, NULL), round == 1 ? SHOAL_E_IO : SHOAL_OK);
    }
    assert_string_equal(env_sim_find(env, "f")->data, "new");
    assert_true(env_same(env, "f", "f"));
    assert_false(env_same(env, "g", "g"));
    shoal_env_free(env);
}

static const char *bytes_of(shoal_env *env, const char *path)
{
    const struct base_buf *bytes = env_sim_find(env, path);

    return bytes != NULL ? bytes->data : "none";
}

static void a_power_cut_takes_what_was_not_synced(void **state)
{
    struct base_buf names;
    struct env_out *out = NULL;
    shoal_env *env = new_env(1);
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(env_write_whole(env, "kept", "old", 3, NULL), SHOAL_OK);
    assert_int_equal(env_write_whole(env, "kept", "new", 3, NULL), SHOAL_OK);
    assert_int_equal(env_write_run_file(env, "dir/run", "key", 3, NULL), SHOAL_OK);
    assert_int_equal(env_create(env, "half", &out, NULL), SHOAL_OK);
    assert_int_equal(env_append(out, "half", 4, NULL), SHOAL_OK);
    assert_int_equal(env_write_whole(env, "disk", "old", 3, NULL), SHOAL_OK);
    assert_int_equal(env_sim_set_fault(env, "env.sync", 1), SHOAL_OK);
    assert_int_equal(env_write_whole(env, "disk", "new", 3, &err), SHOAL_E_IO);
    assert_string_equal(err.message, "cannot write 'disk': simulated fault env.sync");
    assert_string_equal(bytes_of(env, "disk"), "new"); /* until then */
    assert_string_equal(bytes_of(env, "dir/run"), "key");

    env_sim_power_cut(env);
    assert_string_equal(bytes_of(env, "kept"), "new");
    assert_string_equal(bytes_of(env, "disk"), "old");
    assert_string_equal(bytes_of(env, "dir/run"), "none");
    assert_string_equal(bytes_of(env, "half"), "none");
    env_discard(out);
    base_buf_init(&names, &base_alloc_libc, 100);
    assert_int_equal(env_list(env, "dir", &names, &err), SHOAL_E_NOTFOUND);
    assert_int_equal(env_list(env, ".", &names, &err), SHOAL_OK);
    assert_memory_equal(names.data, "disk\0kept\0", names.size);
    base_buf_fini(&names);
    assert_int_equal(env_write_run_file(env, "dir/run", "more", 4, NULL), SHOAL_OK);
    assert_string_equal(bytes_of(env, "dir/run"), "more");
    shoal_env_free(env);
}

static void open_and_read_faults_are_errors_and_leave_the_buffer(void **state)
{
    (void)state;
    static const char *const points[] = {"env.open", "env.read"};
    for (size_t i = 0; i < 2; i++) {
        shoal_env *env = new_env(1);
        assert_int_equal(env_sim_put(env, "f", "text", 4), SHOAL_OK);
        assert_int_equal(env_sim_set_fault(env, points[i], 1.0), SHOAL_OK);
        struct base_buf buf;
        base_buf_init(&buf, &base_alloc_libc, 100);
        base_buf_puts(&buf, "x");
        shoal_err err = SHOAL_ERR_INIT;
        assert_int_equal(env_read_whole(env, "f", &buf, &err), SHOAL_E_IO);
        assert_non_null(strstr(err.message, points[i]));
        assert_string_equal(buf.data, "x");
        base_buf_fini(&buf);
        shoal_env_free(env);
    }
}

static void short_reads_still_give_every_byte_once(void **state)
{
    (void)state;
    char bytes[3000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7 % 251);
    for (uint64_t seed = 0; seed < 20; seed++) {
        shoal_env *env = new_env(seed);
        assert_int_equal(env_sim_put(env, "f", bytes, sizeof bytes), SHOAL_OK);
        assert_int_equal(env_sim_set_fault(env, "env.read.short", 0.8), SHOAL_OK);
        struct env_file *file = NULL;
        assert_int_equal(env_open(env, "f", &file, NULL), SHOAL_OK);
        char back[4000];
        size_t size = 0, got = 0;
        int reads = 0;
        do {
            assert_int_equal(env_read(file, back + size, sizeof back - size, &got, NULL), SHOAL_OK);
            size += got;
            reads++;
        } while (got > 0);
        env_close(file);
        assert_int_equal(size, sizeof bytes);
        assert_memory_equal(back, bytes, sizeof bytes);
        assert_true(reads >= 2);
        shoal_env_free(env);
    }
}

static void standard_output_is_appended_to(void **state)
{
    (void)state;
    shoal_env *env = new_env(1);
    assert_int_equal(env_write_whole(env, "-", "one ", 4, NULL), SHOAL_OK);
    assert_int_equal(env_write_whole(env, "-", "two", 3, NULL), SHOAL_OK);
    assert_string_equal(env_sim_find(env, "-")->data, "one two");
    shoal_env_free(env);
}

static void folders_are_what_paths_say(void **state)
{
    (void)state;
    shoal_env *env = new_env(1);
    static const char *const paths[] = {"b/x", "a", "b/c/d", "b/c/e", "bb/y", "/srv/z"};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(env_sim_put(env, paths[i], "", 0), SHOAL_OK);
    static const struct {
        const char *path, *names;
        size_t size;
    } lists[] = {{".", "a\0b\0bb", 7}, {"b", "c\0x", 4}, {"b/", "c\0x", 4},
                 {"b/c", "d\0e", 4},   {"/", "srv", 4},  {"/srv", "z", 2}};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct base_buf out;
        base_buf_init(&out, &base_alloc_libc, 100);
        assert_int_equal(env_list(env, lists[i].path, &out, NULL), SHOAL_OK);
        assert_int_equal(out.size, lists[i].size);
        assert_memory_equal(out.data, lists[i].names, out.size);
        base_buf_fini(&out);
    }
    shoal_env_free(env);
}

static void open_readers_survive_many_replacements(void **state)
{
    (void)state;
    struct base_alloc_track track;
    base_alloc_track_init(&track, &base_alloc_libc);
    shoal_env *env = NULL;
    assert_int_equal(env_sim_new(&track.alloc, 1, &env, NULL), SHOAL_OK);
    struct env_file *files[10] = {NULL};
    for (int i = 0; i < 10; i++) {
        char text[16];
        int size = snprintf(text, sizeof text, "v%d", i);
        assert_int_equal(env_sim_put(env, "f", text, (size_t)size), SHOAL_OK);
        assert_int_equal(env_open(env, "f", &files[i], NULL), SHOAL_OK);
    }
    for (int i = 9; i >= 0; i--) {
        char text[16] = "", expected[16];
        size_t size = 0;
        (void)snprintf(expected, sizeof expected, "v%d", i);
        assert_int_equal(env_read(files[i], text, sizeof text - 1, &size, NULL), SHOAL_OK);
        assert_string_equal(text, expected);
        env_close(files[i]);
    }
    shoal_env_free(env);
    assert_int_equal(track.live_count, 0);
}

static shoal_status build_a_world(const struct base_alloc *alloc, void *ctx)
{
    (void)ctx;
    shoal_env *env = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = env_sim_new(alloc, 1, &env, &err);
    if (st != SHOAL_OK)
        return st;
    struct base_buf buf;
    base_buf_init(&buf, alloc, 1 << 20);
    for (int i = 0; i < 30 && st == SHOAL_OK; i++) {
        char name[40];
        (void)snprintf(name, sizeof name, "folder-%d/file-%d", i % 3, i % 20);
        st = env_write_whole(env, name, "some content", 12, &err);
        if (st == SHOAL_OK)
            st = env_write_whole(env, "-", name, strlen(name), &err);
        if (st == SHOAL_OK)
            st = env_sim_set_fault(env, name, 0.5);
        if (st == SHOAL_OK)
            st = env_read_whole(env, name, &buf, &err);
        if (st == SHOAL_OK)
            st = env_list(env, "folder-0", &buf, &err);
    }
    base_buf_fini(&buf);
    shoal_env_free(env);
    return st;
}

static void every_failed_allocation_is_clean(void **state)
{
    (void)state;
    torture_run(build_a_world, NULL);
}

/* The old content of a file survives a replacement for which there was no memory. */
static void a_write_without_memory_leaves_the_old_file(void **state)
{
    (void)state;
    struct base_alloc_track track;
    base_alloc_track_init(&track, &base_alloc_libc);
    shoal_env *env = NULL;
    assert_int_equal(env_sim_new(&track.alloc, 1, &env, NULL), SHOAL_OK);
    char large[5000] = {0};
    assert_int_equal(env_write_whole(env, "f", "old", 3, NULL), SHOAL_OK);
    assert_int_equal(env_write_whole(env, "-", "old", 3, NULL), SHOAL_OK);
    track.fail_at = track.calls + 1;
    track.fail_after = 1;
    assert_int_equal(env_write_whole(env, "f", large, sizeof large, NULL), SHOAL_E_NOMEM);
    assert_int_equal(env_write_whole(env, "-", large, sizeof large, NULL), SHOAL_E_NOMEM);
    assert_int_equal(env_write_whole(env, "new", "x", 1, NULL), SHOAL_E_NOMEM);
    track.fail_at = 0;
    assert_string_equal(env_sim_find(env, "f")->data, "old");
    assert_string_equal(env_sim_find(env, "-")->data, "old");
    assert_null(env_sim_find(env, "new"));
    assert_int_equal(env_write_whole(env, "-", " on", 3, NULL), SHOAL_OK);
    assert_string_equal(env_sim_find(env, "-")->data, "old on");
    shoal_env_free(env);
    assert_int_equal(track.live_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_moves_only_when_told),
        cmocka_unit_test(faults_are_off_until_set),
        cmocka_unit_test(faults_repeat_with_the_seed_and_do_not_shift_each_other),
        cmocka_unit_test(a_failed_write_leaves_the_old_file),
        cmocka_unit_test(a_stream_is_seen_whole_or_not_at_all),
        cmocka_unit_test(a_power_cut_takes_what_was_not_synced),
        cmocka_unit_test(open_and_read_faults_are_errors_and_leave_the_buffer),
        cmocka_unit_test(short_reads_still_give_every_byte_once),
        cmocka_unit_test(standard_output_is_appended_to),
        cmocka_unit_test(folders_are_what_paths_say),
        cmocka_unit_test(open_readers_survive_many_replacements),
        cmocka_unit_test(every_failed_allocation_is_clean),
        cmocka_unit_test(a_write_without_memory_leaves_the_old_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
