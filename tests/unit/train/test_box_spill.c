/* Tests of a box whose segment is a file (src/train/box.c, src/env/spill.c): tasks on a disk that is
 * full fail and leave the box as it was, and go on when there is room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "env/spill.h"
#include "train/box.h"
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REFUSED = 77, ROWS = 1 << 20, WIDTH = 4 };

static struct train_box *plan(shoal_env *env, const struct env_shared *segment)
{
    shoal_table_opts table = SHOAL_TABLE_OPTS_INIT;
    struct train_box *box = NULL;

    table.name = "sums";
    table.rows = ROWS;
    table.width = WIDTH;
    if (train_box_new(env, segment, NULL, &box, NULL) != SHOAL_OK ||
        train_box_executors(box, 1, NULL) != SHOAL_OK ||
        train_box_table(box, &table, NULL) != SHOAL_OK || train_box_seal(box, NULL) != SHOAL_OK)
        return NULL;
    return box;
}

/* Increments of as many rows as wanted, in an outbox that grows. */
static shoal_status run_task(struct train_desk *desk, uint64_t number, uint64_t rows)
{
    struct train_task_spec spec = {.number = number, .clock = number - 1, .ends_clock = true};
    const float one[WIDTH] = {1, 1, 1, 1};
    shoal_task *task = NULL;
    shoal_status st = train_task_begin(desk, 1, NULL, &spec, &task, NULL);

    if (st != SHOAL_OK)
        return st;
    for (uint64_t row = 0; row < rows; row++)
        shoal_task_add(task, 0, row, one);
    return train_task_commit(task, NULL);
}

/* Takes what the disk has left. */
static void fill(const char *path)
{
    static const char bytes[65536];
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (write(fd, bytes, sizeof bytes) > 0)
        continue;
    (void)close(fd);
}

static int on_a_small_disk(const char *folder)
{
    struct env_shared segment;
    struct train_desk *desk = NULL;
    shoal_env *env = NULL;
    char filler[200];

    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("shoal", folder, "tmpfs", 0, "size=96m") != 0)
        return REFUSED;
    (void)snprintf(filler, sizeof filler, "%s/filler", folder);
    if (shoal_env_real_new(&env, NULL) != SHOAL_OK ||
        env_spill_start(env, folder, NULL) != SHOAL_OK ||
        env_shared_new(env, (size_t)1 << 36, &segment, NULL) != SHOAL_OK)
        return 1;
    struct train_box *box = plan(env, &segment);
    if (box == NULL || train_desk_new(box, &desk) != SHOAL_OK || run_task(desk, 1, 100) != SHOAL_OK)
        return 2;
    train_box_close(box, 1);
    fill(filler);
    if (run_task(desk, 2, ROWS) != SHOAL_E_NOMEM || train_box_committed(box, 0) != 1)
        return 3;
    if (unlink(filler) != 0 || run_task(desk, 2, ROWS) != SHOAL_OK)
        return 4;
    train_box_close(box, 2);
    if (train_box_fold(box) != SHOAL_OK)
        return 5;
    const float *sums = train_box_rows(box, 0);
    return sums[0] == 2 && sums[99 * WIDTH] == 2 && sums[(size_t)(ROWS - 1) * WIDTH] == 1 ? 0 : 6;
}

static void a_task_on_a_full_disk_fails_and_runs_again_when_there_is_room(void **state)
{
    char folder[] = "/tmp/shoal-test-XXXXXX";
    int status = 0;

    (void)state;
    assert_non_null(mkdtemp(folder));
    pid_t child = fork();
    if (child == 0)
        _exit(on_a_small_disk(folder));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(rmdir(folder), 0);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == REFUSED) {
        print_message("skipped: this user may not mount a small disk\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_on_a_full_disk_fails_and_runs_again_when_there_is_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
