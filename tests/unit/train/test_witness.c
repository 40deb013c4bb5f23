/* Tests of src/train/witness.c: it is silent on a box that is as it should be, and finds each rule
 * broken by hand. */
#include "torture.h"

#include "train/box_parts.h"
#include "train/witness.h"
#include <string.h>

enum { MADE = 3, SEGMENT = 8 << 20 };

struct world {
    shoal_env *env;
    struct env_shared segment;
    struct train_box *box;
    struct train_desk *desk;
};

static void begin(struct world *w, uint32_t staleness)
{
    struct train_box_opts opts = {.staleness = staleness};
    shoal_table_opts table = SHOAL_TABLE_OPTS_INIT;

    assert_int_equal(shoal_env_sim_new(1, &w->env, NULL), SHOAL_OK);
    assert_int_equal(env_shared_new(w->env, SEGMENT, &w->segment, NULL), SHOAL_OK);
    assert_int_equal(train_box_new(w->env, &w->segment, &opts, &w->box, NULL), SHOAL_OK);
    assert_int_equal(train_box_executors(w->box, MADE, NULL), SHOAL_OK);
    table.name = "t";
    table.rows = 4;
    table.shards = 2;
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

static struct train_task_spec spec_of(uint32_t executor, uint64_t clock)
{
    return (struct train_task_spec){
        .executor = executor, .number = clock + 1, .clock = clock, .ends_clock = true};
}

/* A task of each executor ends `clock`. */
static void run_clock(struct world *w, uint64_t clock)
{
    float one = 1;

    for (uint32_t e = 0; e < MADE; e++) {
        struct train_task_spec spec = spec_of(e, clock);
        shoal_task *task;
        assert_int_equal(train_task_begin(w->desk, 1, NULL, &spec, &task, NULL), SHOAL_OK);
        shoal_task_add(task, 0, e, &one);
        assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
    }
    train_box_close(w->box, clock + 1);
    assert_int_equal(train_box_fold(w->box), SHOAL_OK);
}

static shoal_status look(struct world *w, uint32_t executor, uint64_t clock, shoal_err *err)
{
    struct train_witness witness = {.all = true};
    struct train_task_spec spec = spec_of(executor, clock);
    uint32_t checked = 0;
    shoal_status st = train_witness_look(&witness, w->box, &spec, &checked, err);

    if (st == SHOAL_OK)
        assert_int_equal(checked, MADE);
    return st;
}

static void nothing_is_found_where_all_is_well(void **state)
{
    (void)state;
    for (uint32_t staleness = 0; staleness < 3; staleness++) {
        struct world w;
        begin(&w, staleness);
        for (uint64_t clock = 0; clock < 5; clock++) {
            for (uint32_t e = 0; e < MADE; e++)
                assert_int_equal(look(&w, e, clock, NULL), SHOAL_OK);
            run_clock(&w, clock);
        }
        end(&w);
    }
}

/* Shard 0 has rows 0 and 1: of executors 0 and 1. */
static void an_increment_that_must_be_seen_and_is_not_is_found(void **state)
{
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    for (uint32_t staleness = 0; staleness < 3; staleness++) {
        struct world w;
        begin(&w, staleness);
        for (uint64_t clock = 0; clock < 4; clock++)
            run_clock(&w, clock);
        w.box->shards[0].folded[1] = 3; /* of 4 */
        assert_int_equal(look(&w, 0, 4, &err), staleness == 0 ? SHOAL_E_INTERNAL : SHOAL_OK);
        assert_int_equal(look(&w, 0, 4 + staleness, &err), SHOAL_E_INTERNAL);
        assert_non_null(strstr(err.message, "executor 1 made increments that it must see"));
        /* its own at once */
        assert_int_equal(look(&w, 1, 4, &err), SHOAL_E_INTERNAL);
        end(&w);
    }
}

static void an_increment_of_an_open_clock_is_found(void **state)
{
    struct world w;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    begin(&w, 0);
    run_clock(&w, 0);
    run_clock(&w, 1); /* folded, though for a task of clock 1 that is too early */
    assert_int_equal(look(&w, 2, 1, &err), SHOAL_E_INTERNAL);
    assert_non_null(strstr(err.message, "must not see yet"));
    end(&w);
}

static void a_task_whose_gate_is_not_open_is_found(void **state)
{
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    for (uint32_t staleness = 0; staleness < 3; staleness++) {
        struct world w;
        begin(&w, staleness);
        assert_int_equal(look(&w, 0, staleness, &err), SHOAL_OK);
        assert_int_equal(look(&w, 0, staleness + 1, &err), SHOAL_E_INTERNAL);
        run_clock(&w, 0);
        assert_int_equal(look(&w, 0, staleness + 1, &err), SHOAL_OK);
        assert_int_equal(look(&w, 0, staleness + 2, &err), SHOAL_E_INTERNAL);
        assert_non_null(strstr(err.message, "has not ended the clocks"));
        w.box->executors[2].commit[1].ends_clock = false;
        assert_int_equal(look(&w, 0, staleness + 1, &err), SHOAL_E_INTERNAL);
        end(&w);
    }
}

static void one_task_in_many_is_looked_at(void **state)
{
    struct world w;
    struct train_witness witness = {0};
    struct train_task_spec spec = spec_of(0, 0);
    uint32_t checked = 0, looks = 0;

    (void)state;
    begin(&w, 1);
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(train_witness_look(&witness, w.box, &spec, &checked, NULL), SHOAL_OK);
        looks += checked > 0;
    }
    assert_in_range(looks, 10, 100);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_found_where_all_is_well),
        cmocka_unit_test(an_increment_that_must_be_seen_and_is_not_is_found),
        cmocka_unit_test(an_increment_of_an_open_clock_is_found),
        cmocka_unit_test(a_task_whose_gate_is_not_open_is_found),
        cmocka_unit_test(one_task_in_many_is_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
