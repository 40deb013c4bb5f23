/* Tests of src/data/ratings.c. */
#include "unit/data/data_world.h"

#include "base/rand.h"
#include "property.h"
#include "torture.h"

static void load_text(const char *text, const struct data_ratings_opts *opts,
                      struct data_ratings *out)
{
    shoal_env *env = world_new();
    shoal_err err = SHOAL_ERR_INIT;

    world_put(env, "r", text);
    if (data_ratings_load(env, "r", opts, out, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    shoal_env_free(env);
}

static void expect_bad(const char *text, const struct data_ratings_opts *opts, const char *message)
{
    shoal_env *env = world_new();
    shoal_err err = SHOAL_ERR_INIT;
    struct data_ratings out, before;

    memset(&out, 0x5a, sizeof out);
    memset(&before, 0x5a, sizeof before);
    world_put(env, "r", text);
    assert_int_equal(data_ratings_load(env, "r", opts, &out, &err), SHOAL_E_FORMAT);
    assert_string_equal(err.message, message);
    assert_memory_equal(&out, &before, sizeof out);
    shoal_env_free(env);
}

static void expect_name(const struct data_ids *ids, uint32_t index, const char *name)
{
    char buf[DATA_ID_BUF];
    size_t size = 0;
    const char *found = data_ids_name(ids, index, buf, &size);

    assert_int_equal(size, strlen(name));
    assert_memory_equal(found, name, size);
}

static void every_separator_and_a_header_give_the_same_ratings(void **state)
{
    static const char *const texts[] = {
        "userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n1,1029,3,1260759179\n7,31,4,9\n",
        "1,31,2.5,1260759144\n1,1029,3.0,1260759179\n7,31,4,9",
        "1\t31\t2.5\t881250949\r\n1\t1029\t3\t0\r\n7\t31\t4\t1\r\n",
        "1::31::2.5::978300760\n1::1029::3::9\n7::31::4::8\n",
        "1 31 2.5\n1  1029   3\n\n  7 31 4 \n",
        "user item rating\n1 31 2.5\n1 1029 3\n7 31 4\n",
        "\"user\",\"item\",\"rating\"\n\"1\",\"31\",\"2.5\"\n1, 1029 ,3\n7,31,4\n",
    };
    struct data_ratings first;

    (void)state;
    load_text(texts[0], NULL, &first);
    assert_int_equal(first.count, 3);
    assert_int_equal(first.users, 2);
    assert_int_equal(first.items, 2);
    assert_true(first.header && first.valued);
    assert_true(first.rating[2].user == 1 && first.rating[2].item == 0 &&
                first.rating[2].value == 4.0f);
    expect_name(&first.user_ids, 1, "7");
    expect_name(&first.item_ids, 1, "1029");
    for (size_t i = 1; i < sizeof texts / sizeof *texts; i++) {
        struct data_ratings other;
        load_text(texts[i], NULL, &other);
        assert_same_ratings(&first, &other);
        data_ratings_fini(&other);
    }
    data_ratings_fini(&first);
}

static void names_are_any_text(void **state)
{
    struct data_ratings r;

    (void)state;
    load_text("anna,\"the \"\"big\"\" one, 2nd\",5\n007,x y,1\n7,x y,2\n\xc3\xa9,31,3\n", NULL, &r);
    assert_int_equal(r.users, 4);
    assert_int_equal(r.items, 3);
    expect_name(&r.user_ids, 0, "anna");
    expect_name(&r.item_ids, 0, "the \"big\" one, 2nd");
    expect_name(&r.user_ids, 1, "007");
    expect_name(&r.user_ids, 2, "7");
    expect_name(&r.item_ids, 1, "x y");
    data_ratings_fini(&r);
}

static void lines_without_a_value_are_ones(void **state)
{
    struct data_ratings r;

    (void)state;
    load_text("user,item\na,x\na,y\nb,x\n", NULL, &r);
    assert_int_equal(r.count, 3);
    assert_false(r.valued);
    assert_true(r.header && r.rating[1].value == 1.0f);
    data_ratings_fini(&r);
    load_text("a,x\na,y\n", NULL, &r);
    assert_int_equal(r.count, 2);
    assert_false(r.header);
    data_ratings_fini(&r);
}

static void the_last_value_wins_at_the_place_of_the_first(void **state)
{
    static const char *const texts[] = {
        "a,x,1\na,y,2\na,x,3\nb,x,4\na,x,5\n", /* users apart */
        "a,x,1\na,y,2\na,x,3\na,x,5\nb,x,4\n", /* users together */
    };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct data_ratings r;
        load_text(texts[i], NULL, &r);
        assert_int_equal(r.count, 3);
        assert_int_equal(r.replaced, 2);
        assert_true(r.rating[0].item == 0 && r.rating[0].value == 5.0f);
        assert_true(r.rating[1].item == 1 && r.rating[1].value == 2.0f);
        assert_true(r.rating[2].user == 1 && r.rating[2].value == 4.0f);
        data_ratings_fini(&r);
        load_text(texts[i], &(struct data_ratings_opts){.keep_repeated = true}, &r);
        assert_int_equal(r.count, 5);
        assert_int_equal(r.replaced, 0);
        data_ratings_fini(&r);
    }
}

static void known_names_keep_their_numbers_and_others_have_none(void **state)
{
    struct data_ratings model, test;

    (void)state;
    load_text("1,31,2\n2,b,3\n", NULL, &model);
    struct data_ratings_opts opts = {.users = &model.user_ids, .items = &model.item_ids};
    load_text("2,31,1\n3,31,1\n2,c,4\n1,b,5\n3,31,2\n2,31,9\n", &opts, &test);
    assert_int_equal(test.count, 5);
    assert_int_equal(test.replaced, 1);
    assert_int_equal(test.unknown, 3);
    assert_true(test.users == 2 && test.items == 2);
    assert_true(test.rating[0].user == 1 && test.rating[0].item == 0 &&
                test.rating[0].value == 9.0f);
    assert_true(test.rating[1].user == DATA_ID_NONE && test.rating[1].item == 0);
    assert_true(test.rating[2].user == 1 && test.rating[2].item == DATA_ID_NONE);
    assert_true(test.rating[3].user == 0 && test.rating[3].item == 1);
    data_ratings_fini(&test);
    data_ratings_fini(&model);
}

static void headers_and_separators_can_be_told(void **state)
{
    struct data_ratings r;

    (void)state;
    load_text("1,2,3\n4,5,6\n", &(struct data_ratings_opts){.header = DATA_HEADER_YES}, &r);
    assert_int_equal(r.count, 1);
    data_ratings_fini(&r);
    load_text("user,thing\nx,y\n", &(struct data_ratings_opts){.header = DATA_HEADER_NO}, &r);
    assert_int_equal(r.count, 2);
    data_ratings_fini(&r);
    load_text("u,i\tx y\t3\n", NULL, &r);
    expect_name(&r.user_ids, 0, "u,i");
    data_ratings_fini(&r);
    load_text("a\tb,c,3\n", &(struct data_ratings_opts){.separator = DATA_SEPARATOR_SPACE}, &r);
    expect_name(&r.item_ids, 0, "b,c,3");
    data_ratings_fini(&r);
}

static void mistakes_are_told_with_line_column_and_what_was_expected(void **state)
{
    (void)state;
    expect_bad("", NULL, "cannot read ratings 'r': no ratings in it");
    expect_bad("userId,movieId,rating\n", NULL, "cannot read ratings 'r': no ratings in it");
    expect_bad("1,2,3\n4,5,x\n", NULL,
               "cannot read ratings 'r', line 2, column 3: expected a finite number, found 'x'");
    expect_bad("1,2,x\n", NULL,
               "cannot read ratings 'r', line 1, column 3: expected a finite number, found 'x'");
    expect_bad("a,b,nan\n", NULL,
               "cannot read ratings 'r', line 1, column 3: expected a finite number, found 'nan'");
    expect_bad("1,2,3\n4,5,inf\n", NULL,
               "cannot read ratings 'r', line 2, column 3: expected a finite number, found 'inf'");
    expect_bad("1,2,3\n4,5,1e39\n", NULL,
               "cannot read ratings 'r', line 2, column 3: expected a value that a float can "
               "hold, found '1e39'");
    expect_bad("1,2,3\n4,5\n", NULL,
               "cannot read ratings 'r', line 2, column 3: expected a value, as in the first "
               "line, found nothing");
    expect_bad("1,2,3\n4,5,\n", NULL,
               "cannot read ratings 'r', line 2, column 3: expected a finite number, found "
               "nothing");
    expect_bad("1,2\n4,5,6\n", NULL,
               "cannot read ratings 'r', line 2, column 3: expected 2 columns, as in the first "
               "line");
    expect_bad("1,2,3\n4\n", NULL,
               "cannot read ratings 'r', line 2, column 2: expected an item, found nothing");
    expect_bad("1,2,3\n,2,3\n", NULL,
               "cannot read ratings 'r', line 2, column 1: expected a user, found nothing");
    expect_bad("1,2,3\n1,,3\n", NULL,
               "cannot read ratings 'r', line 2, column 2: expected an item, found nothing");
    expect_bad("1,2,3\n\"a,2,3\n", NULL,
               "cannot read ratings 'r', line 2, column 1: expected a closing quote and then a "
               "comma, found '\"a,2,3'");
    expect_bad("1,2,3\n\x01,2,3\n", NULL,
               "cannot read ratings 'r', line 2, column 1: expected a name without control "
               "characters, found '?'");
    expect_bad("%%MatrixMarket matrix coordinate real general\n3 3 1\n", NULL,
               "cannot read ratings 'r', line 1: expected a line USER, ITEM, VALUE, found "
               "'%%MatrixMarket'");
    expect_bad("1\t2\t3\n\t2\t3\n", NULL,
               "cannot read ratings 'r', line 2, column 1: expected a user, found nothing");
}

static void names_of_any_length_have_a_limit_that_is_told(void **state)
{
    char *text = malloc(6000);

    (void)state;
    memset(text, 'n', 6000);
    memcpy(text + 5000, ",x,1\n", 6);
    expect_bad(text, NULL,
               "cannot read ratings 'r', line 1, column 1: expected a name of at most 4096 bytes, "
               "found 'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn...'");
    free(text);
}

/* ---- properties ---- */

/* Text of random ratings: few or many users, names of all kinds, now and then a repetition. */
static char *draw_text(struct base_rand *r, int lines)
{
    static const char *const names[] = {"%llu", "u%llu", "\"q,%llu\"", "\" s%llu \"", "0%llu"};
    char *text = malloc((size_t)lines * 80 + 100), *to = text;
    uint64_t users = 1 + base_rand_below(r, 50), items = 1 + base_rand_below(r, 50);
    bool valued = base_rand_below(r, 4) != 0, mixed = base_rand_below(r, 2) == 0;

    for (int i = 0; i < lines; i++) {
        for (int k = 0; k < 2; k++) {
            const char *form = names[mixed ? base_rand_below(r, 5) : 0];
            unsigned long long n = base_rand_below(r, k == 0 ? users : items);
            char name[40];
            snprintf(name, sizeof name, form, n);
            to += sprintf(to, "%s%s", k == 0 ? "" : ",", name);
        }
        if (valued)
            to += sprintf(to, ",%.*g", 1 + (int)base_rand_below(r, 9), base_rand_normal(r, 0, 10));
        *to++ = '\n';
    }
    *to = '\0';
    return text;
}

static void what_was_written_is_loaded_equal(void **state)
{
    shoal_env *env = world_new();
    struct base_rand r;

    (void)state;
    base_rand_init(&r, 2, "test.ratings");
    for (int round = 0; round < property_count(100); round++) {
        struct data_ratings a, b;
        char *text = draw_text(&r, 1 + (int)base_rand_below(&r, 300));
        load_text(text, &(struct data_ratings_opts){.header = DATA_HEADER_NO}, &a);
        assert_int_equal(data_text_ratings(env, "s", &a), SHOAL_OK);
        assert_int_equal(data_ratings_load(env, "s", NULL, &b, NULL), SHOAL_OK);
        assert_true(b.header && b.replaced == 0);
        assert_same_ratings(&a, &b);
        data_ratings_fini(&a);
        data_ratings_fini(&b);
        free(text);
    }
    shoal_env_free(env);
}

/* The slow obvious way to drop repetitions. */
static void repetitions_are_dropped_as_by_comparing_all_pairs(void **state)
{
    struct base_rand r;

    (void)state;
    base_rand_init(&r, 3, "test.ratings.repeat");
    for (int round = 0; round < property_count(50); round++) {
        struct data_ratings all, once;
        char *text = draw_text(&r, 1 + (int)base_rand_below(&r, 400));
        struct data_ratings_opts keep = {.header = DATA_HEADER_NO, .keep_repeated = true};
        load_text(text, &keep, &all);
        keep.keep_repeated = false;
        load_text(text, &keep, &once);
        uint64_t kept = 0;
        for (uint64_t i = 0; i < all.count; i++) {
            uint64_t k = 0;
            while (k < kept && (all.rating[k].user != all.rating[i].user ||
                                all.rating[k].item != all.rating[i].item))
                k++;
            all.rating[k] = all.rating[i];
            kept += k == kept;
        }
        assert_true(once.count == kept && once.replaced == all.count - kept);
        assert_memory_equal(once.rating, all.rating, (size_t)kept * sizeof *all.rating);
        data_ratings_fini(&all);
        data_ratings_fini(&once);
        free(text);
    }
}

/* More ratings than one batch of ratings.c holds, users not together. */
static void repetitions_far_apart_are_found(void **state)
{
    shoal_env *env = world_new();
    enum { USERS = 3000, EACH = 100 };
    char *text = malloc((size_t)USERS * EACH * 16), *to = text;
    struct data_ratings r;

    (void)state;
    for (int item = 0; item < EACH; item++)
        for (int user = 0; user < USERS; user++)
            to += sprintf(to, "%d,%d,%d\n", user, item == EACH - 1 ? 0 : item, item);
    assert_int_equal(env_sim_put(env, "r", text, (size_t)(to - text)), SHOAL_OK);
    assert_int_equal(data_ratings_load(env, "r", NULL, &r, NULL), SHOAL_OK);
    assert_int_equal(r.replaced, USERS);
    assert_int_equal(r.count, USERS * (EACH - 1));
    for (int user = 0; user < USERS; user++)
        assert_true(r.rating[user].value == (float)(EACH - 1));
    data_ratings_fini(&r);
    free(text);
    shoal_env_free(env);
}

/* ---- torture ---- */

static shoal_status load(const struct base_alloc *alloc, void *ctx)
{
    shoal_env *env = ctx;
    const struct base_alloc *before = env->alloc;
    struct data_ratings r = {0};

    env->alloc = alloc;
    shoal_status st = data_ratings_load(env, "r", NULL, &r, NULL);
    if (st == SHOAL_OK && r.count != 4)
        st = SHOAL_E_INTERNAL;
    data_ratings_fini(&r);
    env->alloc = before;
    return st;
}

static void every_failed_allocation_leaves_a_clean_error(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    world_put(env, "r", "1,2,3\nanna,2,3\n1,z,1\nanna,2,4\n1,\"q\"\"\",0\n");
    torture_run(load, env);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_separator_and_a_header_give_the_same_ratings),
        cmocka_unit_test(names_are_any_text),
        cmocka_unit_test(lines_without_a_value_are_ones),
        cmocka_unit_test(the_last_value_wins_at_the_place_of_the_first),
        cmocka_unit_test(known_names_keep_their_numbers_and_others_have_none),
        cmocka_unit_test(headers_and_separators_can_be_told),
        cmocka_unit_test(mistakes_are_told_with_line_column_and_what_was_expected),
        cmocka_unit_test(names_of_any_length_have_a_limit_that_is_told),
        cmocka_unit_test(what_was_written_is_loaded_equal),
        cmocka_unit_test(repetitions_are_dropped_as_by_comparing_all_pairs),
        cmocka_unit_test(repetitions_far_apart_are_found),
        cmocka_unit_test(every_failed_allocation_leaves_a_clean_error),
    };
    return cmocka_run_group_tests_name("data/ratings", tests, NULL, NULL);
}
