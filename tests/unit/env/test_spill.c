/* Tests of src/env/spill.c and memory_real.c: blocks in files, a full disk, what memory is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rand.h"
#include "env/spill.h"
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20, REFUSED = 77, PIECES = 12 };

struct fixture {
    shoal_env *env;
    char folder[64];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    (void)snprintf(f->folder, sizeof f->folder, "/tmp/shoal-test-XXXXXX");
    if (mkdtemp(f->folder) == NULL || shoal_env_real_new(&f->env, NULL) != SHOAL_OK)
        return -1;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    shoal_env_free(f->env);
    int left = rmdir(f->folder); /* files with names would keep it */
    free(f);
    return left;
}

static void must_start(struct fixture *f)
{
    assert_int_equal(env_spill_start(f->env, f->folder, NULL), SHOAL_OK);
}

/* Bytes of private memory, as RLIMIT_DATA counts it. */
static uint64_t data_bytes(void)
{
    char line[128];
    unsigned long long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status) != NULL)
        (void)sscanf(line, "VmData: %llu", &kib);
    (void)fclose(status);
    return kib * 1024;
}

static void large_blocks_are_not_private_memory(void **state)
{
    struct fixture *f = *state;
    must_start(f);
    uint64_t before = data_bytes();
    char *block = base_malloc(env_alloc(f->env), (size_t)64 * MIB);
    assert_non_null(block);
    memset(block, 7, (size_t)64 * MIB);
    assert_true(data_bytes() < before + 4 * MIB);
    base_free(env_alloc(f->env), block);
}

/* Blocks of all sizes, grown and shrunk from one kind to the other, keep what is in them. */
static void blocks_keep_their_bytes_as_they_grow_and_shrink(void **state)
{
    struct fixture *f = *state;
    unsigned char *piece[PIECES] = {NULL};
    size_t size[PIECES] = {0};
    struct base_rand r;

    piece[0] = base_malloc(env_alloc(f->env), 100); /* from before it spills */
    memset(piece[0], 0, 100);
    size[0] = 100;
    must_start(f);
    base_rand_init(&r, 1, "test.spill");
    for (int i = 0; i < 600; i++) {
        size_t p = base_rand_below(&r, PIECES);
        size_t most = base_rand_below(&r, 2) == 0 ? 5000 : 5 * MIB;
        size_t want = 1 + base_rand_below(&r, most);
        unsigned char *to = base_realloc(env_alloc(f->env), piece[p], want);
        assert_non_null(to);
        for (size_t k = 0; k < want && k < size[p]; k += 997)
            assert_int_equal(to[k], p);
        if (want > size[p])
            memset(to + size[p], (int)p, want - size[p]);
        piece[p] = to;
        size[p] = want;
    }
    for (size_t p = 0; p < PIECES; p++)
        base_free(env_alloc(f->env), piece[p]);
}

static void fresh_blocks_are_zero_and_aligned(void **state)
{
    struct fixture *f = *state;
    must_start(f);
    for (int i = 0; i < 3; i++) {
        unsigned char *block = base_calloc(env_alloc(f->env), 3, MIB);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % 64, 0);
        for (size_t k = 0; k < (size_t)3 * MIB; k++)
            assert_int_equal(block[k], 0);
        memset(block, 1, (size_t)3 * MIB);
        base_free(env_alloc(f->env), block);
    }
}

static void a_folder_that_is_not_there_is_refused_in_words(void **state)
{
    struct fixture *f = *state;
    shoal_err err = SHOAL_ERR_INIT;
    assert_int_equal(env_spill_start(f->env, "/nowhere/at/all", &err), SHOAL_E_NOTFOUND);
    assert_string_equal(err.message,
                        "cannot spill to '/nowhere/at/all': no such file or directory");
    assert_ptr_equal(env_alloc(f->env), &base_alloc_libc);
}

static void shared_memory_of_an_env_that_spills_is_a_file_that_others_can_open(void **state)
{
    struct fixture *f = *state;
    struct env_shared ours, theirs;
    must_start(f);
    assert_int_equal(env_shared_new(f->env, (size_t)1 << 36, &ours, NULL), SHOAL_OK);
    assert_true(ours.spilled);
    assert_true(env_shared_back(f->env, &ours, MIB, MIB));
    assert_true(env_shared_back(f->env, &ours, MIB, 2 * MIB)); /* again, and more */
    assert_int_equal(env_shared_open(f->env, ours.handle, ours.size, &theirs, NULL), SHOAL_OK);
    assert_true(theirs.spilled);
    memset(ours.base + MIB, 5, MIB);
    assert_int_equal(theirs.base[MIB + 17], 5);
    env_shared_drop(f->env, &ours, MIB, MIB);
    assert_int_equal(theirs.base[MIB + 17], 0);
    env_shared_close(f->env, &theirs);
    env_shared_close(f->env, &ours);
}

/* ---- a disk of 8 MiB ---- */

static int on_a_small_disk(struct fixture *f)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("shoal", f->folder, "tmpfs", 0, "size=8m") != 0)
        return REFUSED;
    shoal_err err = SHOAL_ERR_INIT;
    struct env_shared shared;
    if (env_spill_start(f->env, f->folder, &err) != SHOAL_OK || env_spill_explain(f->env, &err))
        return 1;
    char *block = base_malloc(env_alloc(f->env), (size_t)4 * MIB);
    if (block == NULL || base_realloc(env_alloc(f->env), block, (size_t)16 * MIB) != NULL)
        return 2;
    memset(block, 1, (size_t)4 * MIB); /* all of it was there before */
    if (!env_spill_explain(f->env, &err) || strstr(err.message, "no space left") == NULL)
        return 3;
    if (env_shared_new(f->env, (size_t)1 << 36, &shared, NULL) != SHOAL_OK ||
        env_shared_back(f->env, &shared, 0, (size_t)16 * MIB))
        return 4;
    base_free(env_alloc(f->env), block);
    if (!env_shared_back(f->env, &shared, 0, (size_t)4 * MIB))
        return 5; /* what was freed is there again */
    memset(shared.base, 1, (size_t)4 * MIB);
    return 0;
}

static void a_full_disk_is_an_allocation_that_fails_and_no_signal(void **state)
{
    struct fixture *f = *state;
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(on_a_small_disk(f));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == REFUSED) {
        print_message("skipped: this user may not mount a small disk\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- memory left ---- */

static void memory_left_follows_the_limit_of_the_process(void **state)
{
    struct fixture *f = *state;
    struct rlimit old, less;
    assert_int_equal(getrlimit(RLIMIT_DATA, &old), 0);
    less = old;
    less.rlim_cur = data_bytes() + (rlim_t)40 * MIB;
    uint64_t before = env_memory_left(f->env, true);
    assert_int_equal(setrlimit(RLIMIT_DATA, &less), 0);
    uint64_t left = env_memory_left(f->env, true), shared = env_memory_left(f->env, false);
    env_guard_start(f->env);
    void *much = base_malloc(env_alloc(f->env), (size_t)64 * MIB);
    void *some = base_malloc(env_alloc(f->env), (size_t)17 * MIB);
    assert_int_equal(setrlimit(RLIMIT_DATA, &old), 0);
    assert_true(before > (uint64_t)41 * MIB);
    assert_true(left <= (uint64_t)40 * MIB && left > (uint64_t)30 * MIB);
    assert_true(shared > (uint64_t)41 * MIB);
    assert_null(much);
    assert_non_null(some);
    base_free(env_alloc(f->env), some);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(large_blocks_are_not_private_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(blocks_keep_their_bytes_as_they_grow_and_shrink, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(fresh_blocks_are_zero_and_aligned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_folder_that_is_not_there_is_refused_in_words, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            shared_memory_of_an_env_that_spills_is_a_file_that_others_can_open, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_is_an_allocation_that_fails_and_no_signal,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_left_follows_the_limit_of_the_process, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
