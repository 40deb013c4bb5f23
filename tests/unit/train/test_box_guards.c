/* What a box must not do, one case each: guards of src/train/task.c, fold*.c and carry.c that jobs
 * seldom come to. */
#include "torture.h"

#include "train/box_parts.h"
#include <string.h>

enum { SEGMENT = 8 << 20, OTHER = 9 };

struct world {
    shoal_env *env;
    struct env_shared segment;
    struct train_box *box;
    struct train_desk *desk;
    uint32_t deaths; /* dies at this look; 0: not at all */
};

static bool dies(void *ctx)
{
    struct world *w = ctx;

    return w->deaths > 0 && --w->deaths == 0;
}

static void begin(struct world *w, uint32_t staleness)
{
    struct train_box_opts opts = {.staleness = staleness, .crash = dies, .crash_ctx = w};
    shoal_table_opts table = SHOAL_TABLE_OPTS_INIT;

    memset(w, 0, sizeof *w);
    assert_int_equal(shoal_env_sim_new(1, &w->env, NULL), SHOAL_OK);
    assert_int_equal(env_shared_new(w->env, SEGMENT, &w->segment, NULL), SHOAL_OK);
    assert_int_equal(train_box_new(w->env, &w->segment, &opts, &w->box, NULL), SHOAL_OK);
    assert_int_equal(train_box_executors(w->box, 1, NULL), SHOAL_OK);
    assert_non_null(train_box_state(w->box, 0, 8));
    table.name = "t";
    table.rows = 2;
    table.shards = 1;
    assert_int_equal(train_box_table(w->box, &table, NULL), SHOAL_OK);
    assert_int_equal(train_box_seal(w->box, NULL), SHOAL_OK);
    assert_int_equal(train_desk_new(w->box, &w->desk), SHOAL_OK);
}

static void end(struct world *w)
{
    train_desk_free(w->desk);
    train_box_free(w->box);
    env_shared_close(w->env, &w->segment);
    shoal_env_free(w->env);
}

static shoal_status run(struct world *w, uint64_t number)
{
    struct train_task_spec spec = {.number = number};
    shoal_task *task;
    float one = 1;
    shoal_status st = train_task_begin(w->desk, 1, NULL, &spec, &task, NULL);

    if (st != SHOAL_OK)
        return st;
    shoal_task_add(task, 0, 0, &one);
    return train_task_commit(task, NULL);
}

/* Task 1 is committed and not folded, for another has the shard; task 2 dies after it has numbered its
 * outbox. It is run again in that one, while the other still has the shard. */
static void the_outbox_of_a_dead_task_is_free_at_once(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 1);
    struct box_shard *shard = w.box->shards[0].shard;
    struct train_task_spec spec = {.number = 1};
    shoal_task *task;
    float one = 1;
    assert_int_equal(train_task_begin(w.desk, 1, NULL, &spec, &task, NULL), SHOAL_OK);
    shoal_task_add(task, 0, 0, &one);
    shard->lock = OTHER;
    assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
    spec.number = 2;
    struct shoal_task raw = {.desk = NULL};
    assert_int_equal(box_task_begin(w.box, &raw, &spec, true, NULL), SHOAL_OK);
    shoal_task_add(&raw, 0, 0, &one);
    w.deaths = 3; /* begin of the commit, the record, the outbox's number */
    assert_int_equal(box_task_commit(&raw, NULL), SHOAL_E_CANCELLED);
    assert_int_equal(train_box_committed(w.box, 0), 1);
    train_box_repair(w.box, 0);
    assert_int_equal(box_task_begin(w.box, &raw, &spec, true, NULL), SHOAL_OK);
    shoal_task_add(&raw, 0, 0, &one);
    assert_int_equal(box_task_commit(&raw, NULL), SHOAL_OK);
    shard->lock = 0;
    assert_int_equal(train_box_fold(w.box), SHOAL_OK);
    assert_true(train_box_rows(w.box, 0)[0] == 2);
    end(&w);
}

static void an_executor_does_not_go_back(void **state)
{
    struct world w, away;
    struct base_buf old, now, layout;
    struct train_box *copy;

    (void)state;
    begin(&w, 1);
    begin(&away, 1); /* for its memory */
    base_buf_init(&old, &base_alloc_libc, 1 << 16);
    base_buf_init(&now, &base_alloc_libc, 1 << 16);
    base_buf_init(&layout, &base_alloc_libc, 1 << 16);
    train_box_pack_layout(w.box, &layout);
    env_shared_drop(away.env, &away.segment, 0, SEGMENT);
    assert_int_equal(train_box_new_from_layout(away.env, &away.segment, 1, layout.data, layout.size,
                                               NULL, &copy, NULL),
                     SHOAL_OK);
    assert_int_equal(run(&w, 1), SHOAL_OK);
    train_box_pack_executor(w.box, 0, &old);
    assert_int_equal(run(&w, 2), SHOAL_OK);
    train_box_pack_executor(w.box, 0, &now);
    assert_int_equal(train_box_put_executor(copy, 0, now.data, now.size, NULL), SHOAL_OK);
    assert_int_equal(train_box_put_executor(copy, 0, old.data, old.size, NULL), SHOAL_E_INVAL);
    assert_int_equal(train_box_committed(copy, 0), 2);
    train_box_free(copy);
    base_buf_fini(&old);
    base_buf_fini(&now);
    base_buf_fini(&layout);
    end(&away);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_outbox_of_a_dead_task_is_free_at_once),
        cmocka_unit_test(an_executor_does_not_go_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
