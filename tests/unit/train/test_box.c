/* Tests of src/train/box.c: plans, views, memory, and segments that make no sense. */
#include "property.h"
#include "torture.h"

#include "base/rand.h"
#include "train/box_parts.h"
#include <string.h>

enum { SEGMENT = 4 << 20 };

struct place {
    shoal_env *env;
    struct env_shared segment;
};

static int open_place(void **state)
{
    static struct place place;

    *state = &place;
    if (shoal_env_sim_new(1, &place.env, NULL) != SHOAL_OK)
        return -1;
    return env_shared_new(place.env, SEGMENT, &place.segment, NULL) == SHOAL_OK ? 0 : -1;
}

static int clean_place(void **state)
{
    struct place *place = *state;

    env_shared_drop(place->env, &place->segment, 0, SEGMENT);
    return 0;
}

static int close_place(void **state)
{
    struct place *place = *state;

    env_shared_close(place->env, &place->segment);
    shoal_env_free(place->env);
    return 0;
}

static shoal_status add_table(struct train_box *box, const char *name, uint64_t rows,
                              uint32_t width, uint32_t shards, bool held)
{
    shoal_table_opts opts = SHOAL_TABLE_OPTS_INIT;

    opts.name = name;
    opts.rows = rows;
    opts.width = width;
    opts.shards = shards;
    opts.held = held;
    return train_box_table(box, &opts, NULL);
}

static struct train_box *plan(const struct place *place)
{
    struct train_box *box = NULL;

    assert_int_equal(train_box_new(place->env, &place->segment, NULL, &box, NULL), SHOAL_OK);
    assert_int_equal(train_box_executors(box, 5, NULL), SHOAL_OK);
    assert_int_equal(add_table(box, "a", 1000, 3, 7, false), SHOAL_OK);
    assert_int_equal(add_table(box, "b", 10, 100, 0, true), SHOAL_OK);
    for (uint32_t e = 0; e < 5; e++) {
        memset(train_box_data(box, e, 100), (int)e + 1, 100);
        memset(train_box_state(box, e, 40), (int)e + 11, 40);
    }
    return box;
}

static void what_was_planned_is_what_other_processes_see(void **state)
{
    const struct place *place = *state;
    struct train_box *box = plan(place), *other = NULL;
    uint64_t first, count, rows = 0;
    size_t size;

    train_box_rows(box, 0)[2999] = 7;
    train_box_shard(box, 1, 0, NULL, NULL)[0] = 8;
    assert_int_equal(train_box_open(place->env, &place->segment, 1, NULL, &other, NULL),
                     SHOAL_E_FORMAT); /* not sealed */
    assert_int_equal(train_box_seal(box, NULL), SHOAL_OK);
    assert_int_equal(train_box_open(place->env, &place->segment, 1, NULL, &other, NULL), SHOAL_OK);
    assert_int_equal(train_box_executor_count(other), 5);
    assert_int_equal(train_box_table_count(other), 2);
    struct train_table_info info = train_box_table_info(other, 0);
    assert_string_equal(info.name, "a");
    assert_true(info.rows == 1000 && info.width == 3 && info.shards == 7 && !info.held);
    assert_true(train_box_table_info(other, 1).held);
    assert_true(train_box_rows(other, 0)[2999] == 7);
    assert_null(train_box_rows(other, 1));
    assert_true(train_box_shard(other, 1, 0, NULL, NULL)[0] == 8);
    for (uint32_t s = 0; s < info.shards; s++) {
        const float *shard = train_box_shard(other, 0, s, &first, &count);
        assert_true(first == rows && shard == train_box_rows(other, 0) + 3 * first);
        rows += count;
    }
    assert_true(rows == info.rows);
    for (uint32_t e = 0; e < 5; e++) {
        const unsigned char *data = train_box_data_read(other, e, &size);
        assert_true(size == 100 && data[99] == e + 1 && (uintptr_t)data % 64 == 0);
        const unsigned char *mine = train_box_state_read(other, e, &size);
        assert_true(size == 40 && mine[39] == e + 11);
        assert_int_equal(train_box_committed(other, e), 0);
    }
    assert_int_equal(train_box_memory(other), train_box_memory(box));
    train_box_free(other);
    train_box_free(box);
    train_box_free(NULL);
}

static void plans_that_cannot_be_are_refused(void **state)
{
    const struct place *place = *state;
    struct train_box *box = NULL;
    struct env_shared tiny = {.base = place->segment.base, .size = 100};

    assert_int_equal(train_box_new(place->env, &tiny, NULL, &box, NULL), SHOAL_E_INVAL);
    assert_int_equal(train_box_new(place->env, &place->segment, NULL, &box, NULL), SHOAL_OK);
    assert_int_equal(train_box_seal(box, NULL), SHOAL_E_INVAL); /* no executors */
    assert_null(train_box_data(box, 0, 10));
    assert_int_equal(train_box_executors(box, 0, NULL), SHOAL_E_INVAL);
    assert_int_equal(train_box_executors(box, UINT32_MAX, NULL), SHOAL_E_INVAL);
    assert_int_equal(train_box_executors(box, 2, NULL), SHOAL_OK);
    assert_int_equal(train_box_executors(box, 2, NULL), SHOAL_E_INVAL);
    assert_null(train_box_data(box, 2, 10));
    assert_null(train_box_data(box, 0, SEGMENT));
    assert_null(train_box_state(box, 0, SIZE_MAX / 2));
    assert_int_equal(add_table(box, NULL, 1, 1, 1, false), SHOAL_E_INVAL);
    assert_int_equal(add_table(box, "a name of more than thirty-one characters", 1, 1, 1, false),
                     SHOAL_E_INVAL);
    assert_int_equal(add_table(box, "a", 0, 1, 1, false), SHOAL_E_INVAL);
    assert_int_equal(add_table(box, "a", 1, 0, 1, false), SHOAL_E_INVAL);
    assert_int_equal(add_table(box, "a", UINT64_MAX, 7, 1, false), SHOAL_E_NOMEM);
    assert_int_equal(add_table(box, "a", SEGMENT / 16, 1, 1, true), SHOAL_OK);
    assert_int_equal(add_table(box, "a", SEGMENT / 16, 1, 1, true), SHOAL_E_NOMEM);
    for (uint32_t t = 1; t < SHOAL_TABLES_MAX; t++)
        assert_int_equal(add_table(box, "a", 3, 1, 9, false), SHOAL_OK);
    assert_int_equal(add_table(box, "a", 1, 1, 1, false), SHOAL_E_LIMIT);
    assert_int_equal(train_box_table_info(box, 1).shards, 3);
    assert_int_equal(train_box_seal(box, NULL), SHOAL_OK);
    assert_int_equal(train_box_seal(box, NULL), SHOAL_E_INVAL);
    assert_int_equal(add_table(box, "a", 1, 1, 1, false), SHOAL_E_INVAL);
    assert_null(train_box_data(box, 0, 10));
    train_box_free(box);
}

static void shards_cover_all_rows_whatever_count_is_asked_for(void **state)
{
    const struct place *place = *state;

    for (uint64_t rows = 1; rows < 40; rows++)
        for (uint32_t asked = 0; asked < 45; asked += 3) {
            struct train_box *box = NULL;
            uint64_t next = 0, first, count;
            assert_int_equal(train_box_new(place->env, &place->segment, NULL, &box, NULL),
                             SHOAL_OK);
            assert_int_equal(add_table(box, "a", rows, 2, asked, false), SHOAL_OK);
            uint32_t shards = train_box_table_info(box, 0).shards;
            assert_true(shards >= 1 && shards <= (asked > 0 ? asked : 1));
            for (uint32_t s = 0; s < shards; s++) {
                assert_non_null(train_box_shard(box, 0, s, &first, &count));
                assert_true(first == next && count >= 1);
                next += count;
            }
            assert_true(next == rows);
            assert_null(train_box_shard(box, 0, shards, &first, &count));
            train_box_free(box);
        }
}

static void clocks_close_in_one_direction(void **state)
{
    struct train_box *box = plan(*state);

    assert_int_equal(train_box_closed(box), 0);
    train_box_close(box, 5);
    train_box_close(box, 3);
    assert_int_equal(train_box_closed(box), 5);
    train_box_free(box);
}

static void outboxes_grow_and_give_their_old_memory_back(void **state)
{
    const struct place *place = *state;
    struct train_box *box = plan(place);
    struct train_desk *desk = NULL;
    struct train_task_spec spec = {.number = 1};
    shoal_task *task;
    float x[3] = {1, 1, 1};

    assert_int_equal(train_box_seal(box, NULL), SHOAL_OK);
    assert_int_equal(train_desk_new(box, &desk), SHOAL_OK);
    size_t before = train_box_memory(box);
    assert_int_equal(train_task_begin(desk, 1, NULL, &spec, &task, NULL), SHOAL_OK);
    for (uint64_t i = 0; i < 50000; i++)
        shoal_task_add(task, 0, i % 2, x); /* 800,000 bytes in one list */
    assert_int_equal(train_task_commit(task, NULL), SHOAL_OK);
    size_t grown = train_box_memory(box) - before;
    assert_true(grown >= 800000 && grown < 1200000);
    train_box_close(box, 1); /* the job is bulk synchronous */
    assert_int_equal(train_box_fold(box), SHOAL_OK);
    assert_true(train_box_rows(box, 0)[0] == 25000);
    train_desk_free(desk);
    train_box_free(box);
}

/* Whatever another process wrote into the head and the shards: a view opens and does no harm, or it
 * is refused. Sanitizers watch. */
static void damaged_segments_are_refused_or_do_no_harm(void **state)
{
    const struct place *place = *state;
    static char copy[SEGMENT];
    struct base_rand r;

    base_rand_init(&r, 1, "damage");
    struct train_box *box = plan(place);
    assert_int_equal(train_box_seal(box, NULL), SHOAL_OK);
    uint64_t shards_at = box->head->shards_at, executors_at = box->head->executors_at;
    size_t used = train_box_memory(box), shards = box->shard_count * sizeof(struct box_shard);
    train_box_free(box);
    memcpy(copy, place->segment.base, used);
    for (int i = 0; i < property_count(3000); i++) {
        static const uint64_t values[] = {0, 1, 2, 63, 64, UINT32_MAX, UINT64_MAX, SEGMENT - 8};
        uint64_t at = 0, value = values[base_rand_below(&r, 8)];
        struct train_box *view = NULL;
        switch (base_rand_below(&r, 3)) {
        case 0: at = base_rand_below(&r, sizeof(struct box_head)); break;
        case 1: at = shards_at + base_rand_below(&r, shards); break;
        default: at = executors_at + base_rand_below(&r, 3 * sizeof(struct box_executor));
        }
        memcpy(place->segment.base + at / 4 * 4, &value, base_rand_below(&r, 2) == 0 ? 4 : 8);
        shoal_status st = train_box_open(place->env, &place->segment, 1, NULL, &view, NULL);
        if (st == SHOAL_OK) {
            size_t size;
            for (uint32_t e = 0; e < train_box_executor_count(view); e++) {
                struct train_commit c;
                (void)train_box_data_read(view, e, &size);
                (void)train_box_state_read(view, e, &size);
                (void)train_box_commit_find(view, e, train_box_committed(view, e), &c);
            }
            (void)train_box_settled(view);
            train_box_repair(view, 3);
            for (uint32_t t = 0; t < train_box_table_count(view); t++)
                assert_non_null(train_box_shard(view, t, 0, NULL, NULL));
        } else {
            assert_int_equal(st, SHOAL_E_FORMAT);
        }
        train_box_free(view);
        memcpy(place->segment.base, copy, used);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_was_planned_is_what_other_processes_see, clean_place),
        cmocka_unit_test_setup(plans_that_cannot_be_are_refused, clean_place),
        cmocka_unit_test_setup(shards_cover_all_rows_whatever_count_is_asked_for, clean_place),
        cmocka_unit_test_setup(clocks_close_in_one_direction, clean_place),
        cmocka_unit_test_setup(outboxes_grow_and_give_their_old_memory_back, clean_place),
        cmocka_unit_test_setup(damaged_segments_are_refused_or_do_no_harm, clean_place),
    };
    return cmocka_run_group_tests(tests, open_place, close_place);
}
