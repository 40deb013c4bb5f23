/* Tests of src/gen/sparse.c, ratings.c and run.c. */
#include "unit/gen/gen_world.h"

#include "base/rand.h"
#include "property.h"
#include "torture.h"
#include <math.h>

static void write_sparse(shoal_env *env, const shoal_gen_sparse_opts *given, uint32_t threads,
                         struct gathered *out)
{
    shoal_gen_sparse_opts opts = *given;

    opts.struct_size = sizeof opts;
    opts.threads = threads;
    opts.to = gather_to(out);
    MAKE(sparse, env, &opts);
}

/* Written and read. */
static void load_sparse(shoal_env *env, const shoal_gen_sparse_opts *given, uint32_t threads,
                        struct data_svm *out)
{
    struct data_svm_opts opts = {.columns = (uint32_t)given->columns, .keep_ones = true};
    struct gathered g;

    write_sparse(env, given, threads, &g);
    assert_int_equal(env_sim_put(env, "g", g.text.data, g.text.size), SHOAL_OK);
    assert_int_equal(data_svm_load(env, "g", &opts, out, NULL), SHOAL_OK);
    base_buf_fini(&g.text);
}

static void write_ratings(shoal_env *env, const shoal_gen_ratings_opts *given, uint32_t threads,
                          struct gathered *out)
{
    shoal_gen_ratings_opts opts = *given;

    opts.struct_size = sizeof opts;
    opts.threads = threads;
    opts.to = gather_to(out);
    MAKE(ratings, env, &opts);
}

/* Written and read, with users and items as they were numbered. */
static struct num_rating *load_ratings(shoal_env *env, const shoal_gen_ratings_opts *given,
                                       uint32_t threads)
{
    struct num_rating *out = malloc((size_t)given->ratings * sizeof *out);
    struct data_ratings loaded;
    struct gathered g;

    write_ratings(env, given, threads, &g);
    assert_int_equal(env_sim_put(env, "g", g.text.data, g.text.size), SHOAL_OK);
    assert_int_equal(data_ratings_load(env, "g", NULL, &loaded, NULL), SHOAL_OK);
    assert_int_equal(loaded.replaced, 0); /* no pair comes twice */
    assert_true(loaded.count == given->ratings && loaded.header);
    for (uint64_t k = 0; k < given->ratings; k++) {
        out[k] = loaded.rating[k];
        out[k].user = (uint32_t)loaded.user_ids.word[loaded.rating[k].user] - 1;
        out[k].item = (uint32_t)loaded.item_ids.word[loaded.rating[k].item] - 1;
        assert_true(out[k].user < given->users && out[k].item < given->items);
    }
    data_ratings_fini(&loaded);
    base_buf_fini(&g.text);
    return out;
}

/* ---- sparse ---- */

static const shoal_gen_sparse_opts shapes[] = {
    {.rows = 3000, .columns = 1000, .nonzeros = 20, .classes = 2, .signal = 4, .seed = 1},
    {.rows = 100,
     .columns = 30,
     .nonzeros = 25,
     .classes = 3,
     .signal = 2,
     .noise = 0.2,
     .seed = 2},
    {.rows = 5000, .columns = 7, .nonzeros = 2, .classes = 0, .signal = 1, .noise = 1, .seed = 3},
    {.rows = 500,
     .columns = 123,
     .nonzeros = 14,
     .classes = 2,
     .signal = 4,
     .ones = true,
     .seed = 4},
    {.rows = 1, .columns = 1, .nonzeros = 1, .classes = 2, .seed = 5},
    {.rows = 50, .columns = 20000, .nonzeros = 700, .classes = 40, .signal = 4, .seed = 6},
    {.rows = 20, .columns = 2000000000, .nonzeros = 30, .classes = 2, .signal = 4, .seed = 7},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void every_shape_reads_back_with_its_size_whatever_the_threads(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        struct data_svm one, three;
        load_sparse(env, &shapes[i], 1, &one);
        load_sparse(env, &shapes[i], 3, &three);
        assert_true(one.x.rows == shapes[i].rows && one.x.columns == shapes[i].columns);
        assert_same_svm(&one, &three);
        assert_int_equal(one.sorted, 0);
        data_svm_fini(&one);
        data_svm_fini(&three);
    }
    shoal_env_free(env);
}

static void bytes_do_not_depend_on_threads_and_are_those_of_every_machine(void **state)
{
    shoal_gen_sparse_opts sparse = shapes[0];
    shoal_gen_ratings_opts ratings;
    shoal_env *env = NULL;
    struct gathered one, four;

    (void)state;
    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    sparse.rows = 20000;
    write_sparse(env, &sparse, 1, &one);
    write_sparse(env, &sparse, 4, &four);
    assert_same_gathered(&one, &four, 0xea2ac154c94a272eu);
    shoal_gen_ratings_opts_init(&ratings);
    ratings.ratings = 200000;
    write_ratings(env, &ratings, 1, &one);
    write_ratings(env, &ratings, 4, &four);
    assert_same_gathered(&one, &four, 0x29fd84e27a535245u);
    shoal_env_free(env);
}

static void rows_have_the_asked_size_and_length_one(void **state)
{
    shoal_env *env = world_new();
    struct data_svm svm;
    shoal_gen_sparse_opts opts = shapes[0];

    (void)state;
    opts.rows = 20000;
    load_sparse(env, &opts, 1, &svm);
    /* uniform on 1 .. 39: mean 20, deviation 11.3, so the mean of 20,000 is within 0.4 (five) */
    assert_true(fabs((double)svm.entries / 20000 - 20) < 0.4);
    for (uint64_t i = 0; i < svm.x.rows; i++) {
        double sum = 0;
        for (uint64_t k = svm.x.start[i]; k < svm.x.start[i + 1]; k++) {
            sum += (double)svm.x.value[k] * (double)svm.x.value[k];
            assert_true(svm.x.index[k] < opts.columns);
            assert_true(k == svm.x.start[i] || svm.x.index[k] > svm.x.index[k - 1]);
        }
        assert_true(fabs(sum - 1) < 1e-3);
    }
    data_svm_fini(&svm);
    shoal_env_free(env);
}

/* The best linear fit is not needed: already the mean row of each class tells them apart. */
static double nearest_mean_accuracy(const struct data_svm *svm, uint32_t classes)
{
    struct data_classes found;
    uint32_t *class = malloc((size_t)svm->x.rows * sizeof *class);
    assert_int_equal(
        data_classes_find(&base_alloc_libc, svm->label, svm->x.rows, classes, &found, NULL),
        SHOAL_OK);
    data_classes_map(&found, svm->label, svm->x.rows, class);
    double *mean = calloc((size_t)found.count * svm->x.columns, sizeof *mean);
    double *rows = calloc(found.count, sizeof *rows);
    uint64_t half = svm->x.rows / 2, good = 0;

    for (uint64_t i = 0; i < half; i++) {
        rows[class[i]]++;
        for (uint64_t k = svm->x.start[i]; k < svm->x.start[i + 1]; k++)
            mean[(size_t) class[i] * svm -> x.columns + svm->x.index[k]] += (double)svm->x.value[k];
    }
    for (uint64_t i = half; i < svm->x.rows; i++) {
        uint32_t best = 0;
        double most = -INFINITY;
        for (uint32_t c = 0; c < found.count; c++) {
            double sum = 0;
            for (uint64_t k = svm->x.start[i]; k < svm->x.start[i + 1]; k++)
                sum += mean[(size_t)c * svm->x.columns + svm->x.index[k]] *
                       (double)svm->x.value[k] / (rows[c] + 1);
            best = sum > most ? c : best;
            most = sum > most ? sum : most;
        }
        good += best == class[i];
    }
    free(class);
    free(mean);
    free(rows);
    data_classes_fini(&found);
    return (double)good / (double)(svm->x.rows - half);
}

static void labels_can_be_learnt_by_a_linear_rule_and_not_without_signal(void **state)
{
    shoal_env *env = world_new();
    struct data_svm svm;
    shoal_gen_sparse_opts opts = {
        .rows = 10000, .columns = 200, .nonzeros = 20, .classes = 2, .signal = 6, .seed = 1};

    (void)state;
    load_sparse(env, &opts, 1, &svm);
    assert_true(nearest_mean_accuracy(&svm, 2) > 0.75);
    data_svm_fini(&svm);
    opts.classes = 5;
    load_sparse(env, &opts, 1, &svm);
    assert_true(nearest_mean_accuracy(&svm, 5) > 0.5);
    data_svm_fini(&svm);
    opts.noise = 1; /* a fifth of them by chance, 5000 rows: deviation 0.006 */
    load_sparse(env, &opts, 1, &svm);
    assert_true(fabs(nearest_mean_accuracy(&svm, 5) - 0.2) < 0.03);
    data_svm_fini(&svm);
    shoal_env_free(env);
}

static void sparse_options_out_of_range_are_refused_in_words(void **state)
{
    static const struct {
        shoal_gen_sparse_opts opts;
        const char *message;
    } rows[] = {
        {{.rows = 0, .columns = 5, .nonzeros = 1, .classes = 2}, "rows: expected 1 to 2^48"},
        {{.rows = 1, .columns = 5, .nonzeros = 6, .classes = 2},
         "nonzeros: expected 1 to the number of columns, 5, found 6"},
        {{.rows = 1, .columns = 5, .nonzeros = 1, .classes = 1},
         "classes: expected 0 or 2 to 16777216"},
        {{.rows = 1, .columns = 5, .nonzeros = 1, .classes = 2, .noise = 1.5},
         "noise: expected a share of labels, 0 to 1, or with numbers as labels a deviation up to "
         "1e6"},
        {{.rows = 1, .columns = 5, .nonzeros = 1, .classes = 2, .signal = -1},
         "signal: expected 0 to 1e6"},
    };
    shoal_env *env = world_new();

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const shoal_result *result = NULL;
        shoal_gen_sparse_opts opts = rows[i].opts;
        shoal_err err = SHOAL_ERR_INIT;
        struct gathered g;
        opts.struct_size = sizeof opts;
        opts.to = gather_to(&g);
        assert_int_equal(shoal_gen_sparse(env, &opts, NULL, &result, &err), SHOAL_E_INVAL);
        assert_string_equal(err.message, rows[i].message);
        assert_null(result);
        assert_int_equal(g.pieces, 0);
    }
    shoal_env_free(env);
}

/* ---- ratings ---- */

static const shoal_gen_ratings_opts rating_shapes[] = {
    {.users = 1000, .items = 500, .ratings = 20000, .rank = 8, .noise = 0.75, .seed = 1},
    {.users = 30, .items = 20, .ratings = 600, .rank = 3, .noise = 0.1, .seed = 2}, /* all pairs */
    {.users = 500,
     .items = 9,
     .ratings = 4000,
     .rank = 0,
     .noise = 2,
     .unrounded = true,
     .seed = 3},
    {.users = 100,
     .items = 1000,
     .ratings = 7,
     .rank = 20,
     .noise = 0,
     .unrounded = true,
     .seed = 4},
    {.users = 1, .items = 1, .ratings = 1, .seed = 5},
    {.users = 3,
     .items = 200000,
     .ratings = 300000,
     .rank = 1,
     .noise = 100,
     .unrounded = true,
     .seed = 6},
};
enum { RATING_SHAPES = sizeof rating_shapes / sizeof *rating_shapes };

static void ratings_are_those_asked_for_and_no_pair_comes_twice(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    for (int i = 0; i < RATING_SHAPES; i++) {
        struct num_rating *one = load_ratings(env, &rating_shapes[i], 1);
        struct num_rating *three = load_ratings(env, &rating_shapes[i], 3);
        assert_memory_equal(one, three, (size_t)rating_shapes[i].ratings * sizeof *one);
        free(one);
        free(three);
    }
    shoal_env_free(env);
}

static void stars_are_halves_and_noise_is_what_was_asked(void **state)
{
    shoal_env *env = world_new();
    shoal_gen_ratings_opts o = {
        .users = 400, .items = 300, .ratings = 60000, .rank = 4, .seed = 9, .unrounded = true};
    double sum = 0, squares = 0;

    (void)state;
    struct num_rating *clean = load_ratings(env, &o, 1);
    o.noise = 0.75;
    struct num_rating *noisy = load_ratings(env, &o, 1);
    o.unrounded = false;
    struct num_rating *stars = load_ratings(env, &o, 1);
    for (uint64_t i = 0; i < o.ratings; i++) {
        double noise = (double)noisy[i].value - (double)clean[i].value;
        assert_true(noisy[i].item == clean[i].item && stars[i].item == clean[i].item);
        sum += noise;
        squares += noise * noise;
        assert_true(stars[i].value >= 0.5f && stars[i].value <= 5);
        assert_true(stars[i].value * 2 == floorf(stars[i].value * 2));
        assert_true(fabsf(noisy[i].value) > 5 || noisy[i].value < 0.5f ||
                    fabsf(noisy[i].value - stars[i].value) <= 0.2501f);
    }
    double count = (double)o.ratings;
    assert_true(fabs(sum / count) < 0.02);
    assert_true(fabs(sqrt(squares / count) - 0.75) < 0.01);
    free(clean);
    free(noisy);
    free(stars);
    shoal_env_free(env);
}

static void some_users_are_busy_and_some_items_popular(void **state)
{
    shoal_env *env = world_new();
    enum { USERS = 2000, ITEMS = 1000, RATINGS = 100000 };
    shoal_gen_ratings_opts o = {
        .users = USERS, .items = ITEMS, .ratings = RATINGS, .rank = 1, .seed = 1};
    static int users[USERS], items[ITEMS];
    int user_most = 0, user_least = RATINGS, item_most = 0;

    (void)state;
    struct num_rating *r = load_ratings(env, &o, 1);
    for (int i = 0; i < RATINGS; i++) {
        users[r[i].user]++;
        items[r[i].item]++;
    }
    for (int u = 0; u < USERS; u++) {
        user_most = users[u] > user_most ? users[u] : user_most;
        user_least = users[u] < user_least ? users[u] : user_least;
    }
    for (int i = 0; i < ITEMS; i++)
        item_most = items[i] > item_most ? items[i] : item_most;
    assert_true(user_least >= 1 && user_most > 20 * user_least);
    assert_true(item_most > 10 * RATINGS / ITEMS);
    free(r);
    shoal_env_free(env);
}

static void rating_options_out_of_range_are_refused_in_words(void **state)
{
    const shoal_result *result = NULL;
    shoal_env *env = world_new();
    shoal_gen_ratings_opts opts;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    shoal_gen_ratings_opts_init(&opts);
    opts.to.output = "r.csv";
    opts.ratings = 500001;
    assert_int_equal(shoal_gen_ratings(env, &opts, NULL, &result, &err), SHOAL_E_INVAL);
    assert_string_equal(err.message,
                        "ratings: expected 1 to users times items, 500000, found 500001");
    opts.ratings = 1;
    opts.noise = NAN;
    assert_int_equal(shoal_gen_ratings(env, &opts, NULL, &result, &err), SHOAL_E_INVAL);
    assert_string_equal(err.message, "noise: expected 0 to 100");
    assert_null(env_sim_find(env, "r.csv"));
    shoal_env_free(env);
}

/* ---- both ---- */

static void a_full_disk_or_a_wish_to_stop_ends_the_work_and_leaves_no_file(void **state)
{
    const shoal_result *result = NULL;
    shoal_env *env = world_new();
    shoal_watch *watch = shoal_watch_new();
    shoal_gen_sparse_opts opts = shapes[0];
    struct gathered g;

    (void)state;
    opts.struct_size = sizeof opts;
    opts.rows = 20000;
    opts.threads = 1;
    opts.to = gather_to(&g);
    g.fail_at = 2;
    assert_int_equal(shoal_gen_sparse(env, &opts, watch, &result, NULL), SHOAL_E_IO);
    assert_int_equal(g.pieces, 2);
    assert_in_range(shoal_watch_look(watch).done, 1, 19999);
    assert_string_equal(shoal_watch_look(watch).what, "rows");
    shoal_watch_stop(watch);
    opts.to.output = "a.svm";
    assert_int_equal(shoal_gen_sparse(env, &opts, watch, &result, NULL), SHOAL_E_CANCELLED);
    assert_null(env_sim_find(env, "a.svm"));
    assert_null(result);
    base_buf_fini(&g.text);
    shoal_watch_free(watch);
    shoal_env_free(env);
}

static void the_result_says_what_was_made_and_where(void **state)
{
    const shoal_result *result = NULL;
    shoal_env *env = world_new();
    shoal_gen_ratings_opts opts;

    (void)state;
    shoal_gen_ratings_opts_init(&opts);
    opts.to.output = "r.csv";
    assert_int_equal(shoal_gen_ratings(env, &opts, NULL, &result, NULL), SHOAL_OK);
    assert_string_equal(shoal_result_text(result, 0, "output"), "r.csv");
    assert_true(shoal_result_number(result, 0, "ratings") == 20000);
    assert_true(isnan(shoal_result_number(result, 0, "jobs")));
    assert_non_null(env_sim_find(env, "r.csv"));
    assert_string_equal(result->notes[result->note_count - 1].text, "next: shoal train mf r.csv");
    shoal_result_free(result);
    shoal_env_free(env);
}

static shoal_status make_both(const struct base_alloc *alloc, void *ctx)
{
    shoal_env *env = ctx;
    const struct base_alloc *before = env->alloc;
    const shoal_result *result = NULL;
    shoal_gen_sparse_opts sparse = {.struct_size = sizeof sparse,
                                    .rows = 10,
                                    .columns = 20,
                                    .nonzeros = 3,
                                    .classes = 3,
                                    .signal = 1,
                                    .threads = 2};
    shoal_gen_ratings_opts ratings = {
        .struct_size = sizeof ratings, .users = 5, .items = 5, .ratings = 9, .rank = 2};
    struct gathered g;

    sparse.to = ratings.to = gather_to(&g);
    env->alloc = alloc;
    shoal_status st = shoal_gen_sparse(env, &sparse, NULL, &result, NULL);
    shoal_result_free(result);
    result = NULL;
    if (st == SHOAL_OK)
        st = shoal_gen_ratings(env, &ratings, NULL, &result, NULL);
    shoal_result_free(result);
    env->alloc = before;
    base_buf_fini(&g.text);
    return st;
}

static void every_failed_allocation_leaves_a_clean_error(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    torture_run(make_both, env);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_reads_back_with_its_size_whatever_the_threads),
        cmocka_unit_test(bytes_do_not_depend_on_threads_and_are_those_of_every_machine),
        cmocka_unit_test(rows_have_the_asked_size_and_length_one),
        cmocka_unit_test(labels_can_be_learnt_by_a_linear_rule_and_not_without_signal),
        cmocka_unit_test(sparse_options_out_of_range_are_refused_in_words),
        cmocka_unit_test(ratings_are_those_asked_for_and_no_pair_comes_twice),
        cmocka_unit_test(stars_are_halves_and_noise_is_what_was_asked),
        cmocka_unit_test(some_users_are_busy_and_some_items_popular),
        cmocka_unit_test(rating_options_out_of_range_are_refused_in_words),
        cmocka_unit_test(a_full_disk_or_a_wish_to_stop_ends_the_work_and_leaves_no_file),
        cmocka_unit_test(the_result_says_what_was_made_and_where),
        cmocka_unit_test(every_failed_allocation_leaves_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
