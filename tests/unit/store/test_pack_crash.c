/* Tests of src/store/pack.c on real files: writers that are killed, and disks that
 * are full. A child writes packs of rising generations over one file; whoever looks at it, whenever
 * the child died, finds a whole pack, and no older than the last one it was told of.
 *
 * ctest: fast disturb timeout=300 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rand.h"
#include "property.h"
#include "store/pack.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PART_COUNT = 4, PART_SIZE = 200000 };

struct fixture {
    shoal_env *env;
    char folder[64];
    char path[100];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    (void)snprintf(f->folder, sizeof f->folder, "/tmp/shoal-test-XXXXXX");
    if (mkdtemp(f->folder) == NULL || shoal_env_real_new(&f->env, NULL) != SHOAL_OK)
        return -1;
    (void)snprintf(f->path, sizeof f->path, "%s/pack", f->folder);
    *state = f;
    return 0;
}

enum removal { KEEP, REMOVE_PARTS, REMOVE_ALL };

/* How many files have not taken their name; removes them, or everything. */
static int left_over(struct fixture *f, enum removal removal)
{
    struct base_buf names;
    int count = 0;
    base_buf_init(&names, &base_alloc_libc, 1 << 20);
    assert_int_equal(env_list(f->env, f->folder, &names, NULL), SHOAL_OK);
    for (size_t at = 0; at < names.size; at += strlen(names.data + at) + 1) {
        const char *name = names.data + at;
        char path[400];
        bool is_pack = strcmp(name, "pack") == 0;
        if (!is_pack)
            assert_memory_equal(name, ".shoal-", 7);
        count += !is_pack;
        (void)snprintf(path, sizeof path, "%s/%s", f->folder, name);
        if (removal == REMOVE_ALL || (removal == REMOVE_PARTS && !is_pack))
            assert_int_equal(unlink(path), 0);
    }
    base_buf_fini(&names);
    return count;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    (void)left_over(f, REMOVE_ALL);
    int rc = rmdir(f->folder);
    shoal_env_free(f->env);
    free(f);
    return rc;
}

/* ---- packs of a generation ---- */

static size_t part_size(uint64_t generation, int part)
{
    return (size_t)((generation * 7919 + (uint64_t)part * 104729) % PART_SIZE);
}

static void fill_part(uint64_t generation, int part, unsigned char *bytes)
{
    struct base_rand r;
    base_rand_init(&r, generation, part % 2 == 0 ? "even" : "odd");
    for (size_t i = 0; i < part_size(generation, part); i++)
        bytes[i] = (unsigned char)base_rand_u64(&r);
}

/* No assertions: it runs in children too. */
static shoal_status write_generation(shoal_env *env, const char *path, uint64_t generation,
                                     shoal_err *err)
{
    static unsigned char bytes[PART_SIZE];
    struct store_pack_out *out = NULL;
    shoal_status st = store_pack_create(env, path, "checkpoint", &out, err);
    if (st != SHOAL_OK)
        return st;
    (void)store_pack_section(out, "generation", &generation, sizeof generation);
    for (int part = 0; part < PART_COUNT; part++) {
        char name[20];
        (void)snprintf(name, sizeof name, "part-%d", part);
        fill_part(generation, part, bytes);
        (void)store_pack_section(out, name, bytes, part_size(generation, part));
    }
    return store_pack_commit(out, err);
}

static bool part_is_right(struct store_pack *pack, uint64_t generation, int part)
{
    static unsigned char bytes[PART_SIZE], expected[PART_SIZE];
    const struct store_section *section = NULL;
    size_t size = part_size(generation, part);
    char name[20];
    (void)snprintf(name, sizeof name, "part-%d", part);
    fill_part(generation, part, expected);
    return store_pack_need(pack, name, size, &section, NULL) == SHOAL_OK &&
           store_pack_read(pack, section, 0, bytes, size, NULL) == SHOAL_OK &&
           memcmp(bytes, expected, size) == 0;
}

/* The generation in the file, 0 when it is not a whole pack of one. */
static uint64_t read_generation(shoal_env *env, const char *path, shoal_err *err)
{
    struct store_pack *pack = NULL;
    const struct store_section *section = NULL;
    uint64_t generation = 0;
    shoal_status st = store_pack_open(env, path, "checkpoint", &pack, err);
    if (st == SHOAL_OK)
        st = store_pack_need(pack, "generation", sizeof generation, &section, err);
    if (st == SHOAL_OK)
        st = store_pack_read(pack, section, 0, &generation, sizeof generation, err);
    bool right = st == SHOAL_OK;
    for (int part = 0; right && part < PART_COUNT; part++)
        right = part_is_right(pack, generation, part);
    store_pack_close(pack);
    return right ? generation : 0;
}

static uint64_t must_read_generation(struct fixture *f)
{
    shoal_err err = SHOAL_ERR_INIT;
    uint64_t generation = read_generation(f->env, f->path, &err);
    if (generation == 0)
        fail_msg("not a whole pack: %s", err.message);
    return generation;
}

static void must_write_generation(struct fixture *f, uint64_t generation)
{
    shoal_err err = SHOAL_ERR_INIT;
    if (write_generation(f->env, f->path, generation, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
}

/* ---- a writer that may be killed ---- */

struct writer {
    pid_t pid;
    int told; /* each generation comes here once it was committed */
};

/* Writes generation `first`, `first` + 1, ... until it is killed. */
static struct writer start_writer(struct fixture *f, uint64_t first)
{
    struct writer writer;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    writer.pid = fork();
    assert_true(writer.pid >= 0);
    if (writer.pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves no writer behind */
        for (uint64_t generation = first;; generation++) {
            if (write_generation(f->env, f->path, generation, NULL) != SHOAL_OK ||
                write(ends[1], &generation, sizeof generation) != sizeof generation)
                _exit(1);
        }
    }
    (void)close(ends[1]);
    writer.told = ends[0];
    return writer;
}

/* Kills it and returns the last generation that it told of. */
static uint64_t kill_writer(struct writer *writer, uint64_t last)
{
    int status = 0;
    uint64_t told = 0;
    assert_int_equal(kill(writer->pid, SIGKILL), 0);
    assert_int_equal(waitpid(writer->pid, &status, 0), writer->pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    while (read(writer->told, &told, sizeof told) == sizeof told)
        last = told;
    (void)close(writer->told);
    return last;
}

/* Until it writes a file that has not taken its name yet, then a moment longer. */
static void wait_for_part(struct fixture *f, struct base_rand *r)
{
    while (left_over(f, KEEP) == 0)
        usleep(50);
    usleep((useconds_t)base_rand_below(r, 500));
}

/* Until somebody dies while writing, and a pack was written: on a slow disk that takes more kills. */
static void a_killed_writer_leaves_a_whole_pack_and_nothing_told_is_lost(void **state)
{
    struct fixture *f = *state;
    struct base_rand r;
    base_rand_init(&r, 1, "test.pack.kill");
    uint64_t last = 1;
    int half_written = 0, kills = property_count(60);
    must_write_generation(f, last);
    for (int i = 0; i < kills || half_written == 0 || last == 1; i++) {
        struct writer writer = start_writer(f, last + 1);
        while (i % 4 == 0 && must_read_generation(f) == last) /* some get further than others */
            usleep(500);
        wait_for_part(f, &r);
        uint64_t told = kill_writer(&writer, last);
        uint64_t found = must_read_generation(f);
        assert_true(found == told || found == told + 1);
        last = found;
        half_written += left_over(f, REMOVE_PARTS);
    }
    must_write_generation(f, last + 1);
    assert_int_equal(must_read_generation(f), last + 1);
}

static void a_reader_beside_a_writer_always_sees_a_whole_pack(void **state)
{
    struct fixture *f = *state;
    uint64_t seen = 1;
    must_write_generation(f, seen);
    struct writer writer = start_writer(f, seen + 1);
    int reads = property_count(150);
    for (int i = 0; i < reads; i++) {
        uint64_t found = must_read_generation(f);
        assert_true(found >= seen);
        seen = found;
    }
    uint64_t told = kill_writer(&writer, 1);
    assert_true(must_read_generation(f) >= told);
}

/* ---- no room ---- */

/* Files may grow to `size` bytes; returns the old limit. */
static struct rlimit limit_file_size(rlim_t size)
{
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    struct rlimit limit = {size, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    return old;
}

static void a_limit_on_file_size_at_any_byte_leaves_the_old_pack(void **state)
{
    struct fixture *f = *state;
    struct stat info;
    struct base_rand r;
    base_rand_init(&r, 1, "test.pack.limit");
    must_write_generation(f, 2);
    assert_int_equal(stat(f->path, &info), 0);
    off_t size = info.st_size;
    must_write_generation(f, 1);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 60; i++) {
        rlim_t room = (rlim_t)base_rand_below(&r, (uint64_t)size);
        if (i < 4)
            room = i < 2 ? (rlim_t)i : (rlim_t)(size - i + 1); /* also all but the last byte */
        shoal_err err = SHOAL_ERR_INIT;
        struct rlimit old = limit_file_size(room);
        shoal_status st = write_generation(f->env, f->path, 2, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(st, SHOAL_E_LIMIT);
        assert_non_null(strstr(err.message, "file too large"));
        assert_int_equal(must_read_generation(f), 1);
        assert_int_equal(left_over(f, REMOVE_PARTS), 0);
    }
    struct rlimit old = limit_file_size((rlim_t)size);
    shoal_status st = write_generation(f->env, f->path, 2, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    (void)signal(SIGXFSZ, handler);
    assert_int_equal(st, SHOAL_OK);
    assert_int_equal(must_read_generation(f), 2);
}

enum { DISK_OK, DISK_NONE, DISK_WRONG };

/* Fills the disk up to `free_size` bytes. */
static bool fill_disk(const char *path, size_t free_size)
{
    static char bytes[4096];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    off_t size = 0;
    ssize_t put = 0;
    while ((put = write(fd, bytes, sizeof bytes)) > 0)
        size += put;
    bool cut = fd >= 0 && size >= (off_t)free_size && ftruncate(fd, size - (off_t)free_size) == 0;
    return close(fd) == 0 && cut;
}

/* On a full disk of 2 MiB: the old pack stays, and with room again the new one is written. */
static int use_full_disk(shoal_env *env, const char *folder)
{
    char path[200], filler[200];
    (void)snprintf(path, sizeof path, "%s/pack", folder);
    (void)snprintf(filler, sizeof filler, "%s/filler", folder);
    if (write_generation(env, path, 1, NULL) != SHOAL_OK)
        return DISK_WRONG;
    size_t needed = 0;
    for (int part = 0; part < PART_COUNT; part++)
        needed += part_size(2, part);
    for (size_t room = 0; room < needed; room += 16384) {
        shoal_err err = SHOAL_ERR_INIT;
        if (!fill_disk(filler, room) || write_generation(env, path, 2, &err) != SHOAL_E_IO ||
            strstr(err.message, "no space left") == NULL || read_generation(env, path, NULL) != 1)
            return DISK_WRONG;
    }
    if (unlink(filler) != 0 || write_generation(env, path, 2, NULL) != SHOAL_OK)
        return DISK_WRONG;
    struct base_buf names; /* no attempt left anything */
    base_buf_init(&names, &base_alloc_libc, 1000);
    bool alone = env_list(env, folder, &names, NULL) == SHOAL_OK && names.size == sizeof "pack";
    base_buf_fini(&names);
    return alone && read_generation(env, path, NULL) == 2 ? DISK_OK : DISK_WRONG;
}

/* The disk is mounted in a name space of the child's own and goes with it. */
static void a_full_disk_leaves_the_old_pack(void **state)
{
    struct fixture *f = *state;
    if (geteuid() != 0) {
        print_message("skipped: a small disk can be mounted by root only\n");
        skip();
    }
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("shoal", f->folder, "tmpfs", 0, "size=2m") != 0)
            _exit(DISK_NONE);
        _exit(use_full_disk(f->env, f->folder));
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == DISK_NONE) {
        print_message("skipped: this root may not mount a small disk\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), DISK_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_killed_writer_leaves_a_whole_pack_and_nothing_told_is_lost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reader_beside_a_writer_always_sees_a_whole_pack, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_limit_on_file_size_at_any_byte_leaves_the_old_pack,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_the_old_pack, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
