/* Tests of src/train/box.c, fold*.c and task.c with real processes and SIGKILL at any instruction.
 * ctest: fast disturb timeout=300 */
#include "property.h"
#include "torture.h"

#include "base/rand.h"
#include "train/box.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SEGMENT = 64 << 20,
    EXECUTORS = 12,
    CHILDREN = 3,
    KILLS = 200,
    ROWS = 500,
    WIDTH = 67, /* whole vectors and a rest */
    HELD_ROWS = 40,
    HELD_SHARDS = 4
};

struct job {
    shoal_env *env;
    struct env_shared segment;
    struct train_box *box;
    uint32_t staleness;
    _Atomic uint32_t *stop; /* in memory of its own that children share */
    pid_t child[CHILDREN];
};

/* What the task (executor, number) does, to the box or (task NULL) to plain sums. */
static void act(uint32_t e, uint64_t number, shoal_task *task, double *sum, double *held)
{
    struct base_rand r;
    float x[WIDTH];

    base_rand_init(&r, number * EXECUTORS + e, "act");
    uint64_t adds = 20 + base_rand_below(&r, 100);
    for (uint64_t i = 0; i < adds; i++) {
        uint64_t row = base_rand_below(&r, ROWS);
        for (uint32_t k = 0; k < WIDTH; k++)
            x[k] = (float)((row + k + number) % 3);
        if (task != NULL)
            shoal_task_add(task, 0, row, x);
        for (uint32_t k = 0; task == NULL && k < WIDTH; k++)
            sum[row * WIDTH + k] += (double)x[k];
    }
    if (number % 8 == 0) {
        float *all = task != NULL ? shoal_task_add_all(task, 0) : NULL;
        for (uint32_t i = 0; i < ROWS * WIDTH; i++) {
            if (all != NULL)
                all[i] = 1;
            else if (task == NULL)
                sum[i] += 1;
        }
    }
    if (task != NULL) {
        uint64_t count = 0;
        float *mine = shoal_task_held(task, NULL, &count);
        for (uint64_t i = 0; mine != NULL && i < count; i++)
            mine[i] += 1;
        shoal_task_result(task, &number, sizeof number);
        *(uint64_t *)shoal_task_new_state(task, true) += number;
    } else if (e < HELD_SHARDS) {
        for (uint64_t i = 0; i < HELD_ROWS / HELD_SHARDS; i++)
            held[e * (HELD_ROWS / HELD_SHARDS) + i] += 1;
    }
}

/* Runs the executors of worker `index` + 1 until told to stop. Never returns. */
static void child_run(const struct job *job, uint32_t index)
{
    struct train_box *box = NULL;
    struct train_desk *desk = NULL;

    if (train_box_open(job->env, &job->segment, index + 1, NULL, &box, NULL) != SHOAL_OK ||
        train_desk_new(box, &desk) != SHOAL_OK)
        _exit(3);
    while (atomic_load(job->stop) == 0)
        for (uint32_t e = index; e < EXECUTORS; e += CHILDREN) {
            uint64_t number = train_box_committed(box, e) + 1;
            struct train_task_spec spec = {.executor = e,
                                           .number = number,
                                           .clock = number,
                                           .holds = e < HELD_SHARDS,
                                           .hold_table = 1,
                                           .hold_shard = e < HELD_SHARDS ? e : 0};
            shoal_task *task = NULL;
            shoal_status st = train_task_begin(desk, 1, NULL, &spec, &task, NULL);
            if (st == SHOAL_AGAIN)
                continue;
            if (st != SHOAL_OK)
                _exit(4);
            act(e, number, task, NULL, NULL);
            if (train_task_commit(task, NULL) != SHOAL_OK)
                _exit(5);
        }
    _exit(0);
}

static void child_start(struct job *job, uint32_t index)
{
    job->child[index] = fork();
    assert_true(job->child[index] >= 0);
    if (job->child[index] == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves nobody behind */
        child_run(job, index);
    }
}

static void job_begin(struct job *job)
{
    struct train_box_opts opts = {.staleness = 1};
    shoal_table_opts sums = SHOAL_TABLE_OPTS_INIT, held = SHOAL_TABLE_OPTS_INIT;

    assert_int_equal(shoal_env_real_new(&job->env, NULL), SHOAL_OK);
    assert_int_equal(env_shared_new(job->env, SEGMENT + 4096, &job->segment, NULL), SHOAL_OK);
    job->stop = (_Atomic uint32_t *)(void *)(job->segment.base + SEGMENT);
    job->segment.size = SEGMENT;
    assert_int_equal(train_box_new(job->env, &job->segment, &opts, &job->box, NULL), SHOAL_OK);
    assert_int_equal(train_box_executors(job->box, EXECUTORS, NULL), SHOAL_OK);
    for (uint32_t e = 0; e < EXECUTORS; e++)
        assert_non_null(train_box_state(job->box, e, 8));
    sums.name = "sums";
    sums.rows = ROWS;
    sums.width = WIDTH;
    sums.shards = 3;
    held.name = "held";
    held.rows = HELD_ROWS;
    held.shards = HELD_SHARDS;
    held.held = true;
    assert_int_equal(train_box_table(job->box, &sums, NULL), SHOAL_OK);
    assert_int_equal(train_box_table(job->box, &held, NULL), SHOAL_OK);
    assert_int_equal(train_box_seal(job->box, NULL), SHOAL_OK);
}

static void check_sums(struct job *job)
{
    double *sum = calloc(ROWS * WIDTH, sizeof *sum), *held = calloc(HELD_ROWS, sizeof *held);
    uint64_t tasks = 0;

    for (uint32_t e = 0; e < EXECUTORS; e++) {
        uint64_t last = train_box_committed(job->box, e), number = 0, state = 0;
        struct train_commit c;
        size_t size;
        for (uint64_t n = 1; n <= last; n++) {
            act(e, n, NULL, sum, held);
            state += n;
        }
        tasks += last;
        assert_true(last == 0 || train_box_commit_find(job->box, e, last, &c));
        memcpy(&number, c.result, sizeof number);
        assert_true(last == 0 || number == last);
        assert_true(*(const uint64_t *)train_box_state_read(job->box, e, &size) == state);
    }
    const float *rows = train_box_rows(job->box, 0);
    for (uint32_t i = 0; i < ROWS * WIDTH; i++)
        assert_true((double)rows[i] == sum[i]);
    for (uint32_t s = 0; s < HELD_SHARDS; s++) {
        uint64_t first, count;
        const float *mine = train_box_shard(job->box, 1, s, &first, &count);
        for (uint64_t i = 0; i < count; i++)
            assert_true((double)mine[i] == held[first + i]);
    }
    print_message("%llu tasks\n", (unsigned long long)tasks);
    assert_true(tasks > KILLS);
    free(sum);
    free(held);
}

static uint64_t committed_by(const struct job *job, uint32_t child)
{
    uint64_t sum = 0;
    for (uint32_t e = child; e < EXECUTORS; e += CHILDREN)
        sum += train_box_committed(job->box, e);
    return sum;
}

/* So that it is killed at work, however slow the machine is. */
static void wait_for_tasks(const struct job *job, uint32_t child, uint64_t count)
{
    uint64_t until = committed_by(job, child) + count;

    while (committed_by(job, child) < until)
        usleep(20);
}

static void sums_are_exact_when_processes_are_killed_at_any_moment(void **state)
{
    struct job job = {0};
    struct base_rand r;

    (void)state;
    base_rand_init(&r, 1, "kills");
    job_begin(&job);
    for (uint32_t i = 0; i < CHILDREN; i++)
        child_start(&job, i);
    for (int kills = 0; kills < property_count(KILLS); kills++) {
        uint32_t victim = (uint32_t)base_rand_below(&r, CHILDREN);
        int status;
        wait_for_tasks(&job, victim, base_rand_below(&r, 20));
        assert_int_equal(kill(job.child[victim], SIGKILL), 0);
        assert_true(waitpid(job.child[victim], &status, 0) == job.child[victim]);
        assert_true(WIFSIGNALED(status));
        train_box_repair(job.box, victim + 1);
        child_start(&job, victim);
    }
    atomic_store(job.stop, 1);
    for (uint32_t i = 0; i < CHILDREN; i++) {
        int status;
        assert_true(waitpid(job.child[i], &status, 0) == job.child[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(train_box_fold(job.box), SHOAL_OK);
    assert_true(train_box_settled(job.box));
    check_sums(&job);
    train_box_free(job.box);
    job.segment.size = SEGMENT + 4096;
    env_shared_close(job.env, &job.segment);
    shoal_env_free(job.env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_exact_when_processes_are_killed_at_any_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
