/* Tests of a box away and the tables that its tasks do not read: nothing has to be sent for them, and
 * nothing is lost. */
#include "torture.h"

#include "train/box.h"
#include <string.h>

enum { ROWS = 20, WIDTH = 3, SEGMENT = 16 << 20 };

struct pair {
    shoal_env *env;
    struct env_shared segment[2];
    struct train_box *home, *away;
    struct train_desk *desk;
    struct base_buf bytes;
    uint64_t version;
};

static int pair_new(void **state)
{
    static struct pair p;
    struct train_box_opts opts = {.staleness = 1};
    shoal_table_opts table = SHOAL_TABLE_OPTS_INIT;

    memset(&p, 0, sizeof p);
    base_buf_init(&p.bytes, &base_alloc_libc, 1 << 20);
    assert_int_equal(shoal_env_sim_new(1, &p.env, NULL), SHOAL_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(env_shared_new(p.env, SEGMENT, &p.segment[i], NULL), SHOAL_OK);
    assert_int_equal(train_box_new(p.env, &p.segment[0], &opts, &p.home, NULL), SHOAL_OK);
    assert_int_equal(train_box_executors(p.home, 1, NULL), SHOAL_OK);
    table.name = "t";
    table.rows = ROWS;
    table.width = WIDTH;
    table.shards = 1;
    assert_int_equal(train_box_table(p.home, &table, NULL), SHOAL_OK);
    assert_int_equal(train_box_seal(p.home, NULL), SHOAL_OK);
    train_box_pack_layout(p.home, &p.bytes);
    assert_int_equal(train_box_new_from_layout(p.env, &p.segment[1], 1, p.bytes.data, p.bytes.size,
                                               &opts, &p.away, NULL),
                     SHOAL_OK);
    assert_int_equal(train_desk_new(p.away, &p.desk), SHOAL_OK);
    *state = &p;
    return 0;
}

static int pair_free(void **state)
{
    struct pair *p = *state;

    train_desk_free(p->desk);
    train_box_free(p->home);
    train_box_free(p->away);
    for (int i = 0; i < 2; i++)
        env_shared_close(p->env, &p->segment[i]);
    base_buf_fini(&p->bytes);
    shoal_env_free(p->env);
    return 0;
}

static shoal_status begin(struct pair *p, uint64_t number, uint32_t unread, shoal_task **out)
{
    struct train_task_spec spec = {.number = number, .unread = unread};

    return train_task_begin(p->desk, 1, NULL, &spec, out, NULL);
}

/* A task away that adds 1 to row 0; its commit is in p->bytes. */
static void run(struct pair *p, uint64_t number, uint32_t unread)
{
    static const float ONE[WIDTH] = {1, 1, 1};
    shoal_task *task;

    assert_int_equal(begin(p, number, unread, &task), SHOAL_OK);
    shoal_task_add(task, 0, 0, ONE);
    assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
    base_buf_clear(&p->bytes);
    train_box_pack_commit(p->away, 0, &p->bytes);
}

static void import(struct pair *p, uint64_t number)
{
    assert_int_equal(train_box_import(p->home, 0, p->bytes.data, p->bytes.size, NULL), SHOAL_OK);
    train_box_accepted(p->away, 0, number);
}

static void send_rows(struct pair *p)
{
    base_buf_clear(&p->bytes);
    p->version = train_box_pack_rows(p->home, 0, 0, p->version, &p->bytes);
    assert_int_equal(train_box_put_rows(p->away, p->bytes.data, p->bytes.size, NULL), SHOAL_OK);
}

static void tasks_go_on_without_any_rows(void **state)
{
    struct pair *p = *state;

    for (uint64_t number = 1; number <= 50; number++) {
        run(p, number, 1);
        import(p, number);
    }
    assert_true(train_box_rows(p->away, 0)[0] == 0);
    assert_true(train_box_rows(p->home, 0)[0] == 50);
}

static void two_commits_may_be_on_their_way_and_no_more(void **state)
{
    struct pair *p = *state;
    struct base_buf first;
    shoal_task *task;

    run(p, 1, 1);
    first = p->bytes;
    base_buf_init(&p->bytes, &base_alloc_libc, 1 << 20);
    run(p, 2, 1);
    assert_int_equal(begin(p, 3, 1, &task), SHOAL_AGAIN);
    assert_int_equal(train_box_import(p->home, 0, first.data, first.size, NULL), SHOAL_OK);
    train_box_accepted(p->away, 0, 1);
    assert_int_equal(begin(p, 3, 1, &task), SHOAL_OK);
    train_task_abort(task);
    import(p, 2);
    base_buf_fini(&first);
}

static void a_task_that_reads_has_all_of_them_after_rows_have_come(void **state)
{
    struct pair *p = *state;
    uint64_t number = 0;

    send_rows(p);
    for (int round = 1; round <= 20; round++) {
        run(p, ++number, 1);
        import(p, number);
        send_rows(p);
        assert_true(train_box_rows(p->away, 0)[0] == (float)number);
        run(p, ++number, 0); /* not here before home has it */
        assert_true(train_box_rows(p->away, 0)[0] == (float)(number - 1));
        import(p, number);
    }
    send_rows(p);
    assert_true(train_box_rows(p->away, 0)[0] == (float)number);
    assert_true(train_box_rows(p->home, 0)[0] == (float)number);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tasks_go_on_without_any_rows, pair_new, pair_free),
        cmocka_unit_test_setup_teardown(two_commits_may_be_on_their_way_and_no_more, pair_new,
                                        pair_free),
        cmocka_unit_test_setup_teardown(a_task_that_reads_has_all_of_them_after_rows_have_come,
                                        pair_new, pair_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
