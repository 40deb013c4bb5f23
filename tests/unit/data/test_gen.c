/* Tests of src/data/gen_sparse.c, gen_ratings.c and gen_run.c. */
#include "unit/data/data_world.h"

#include "base/rand.h"
#include "data/gen.h"
#include "property.h"
#include "torture.h"
#include <math.h>

struct gathered {
    struct base_buf text;
    uint64_t pieces, fail_at;
};

static shoal_status gather(void *ctx, const char *text, size_t size, shoal_err *err)
{
    struct gathered *g = ctx;

    (void)err;
    if (++g->pieces == g->fail_at)
        return SHOAL_E_IO;
    base_buf_append(&g->text, text, size);
    return base_buf_status(&g->text);
}

static uint64_t hash(const char *text, size_t size)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < size; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    return h;
}

static void write_sparse(shoal_env *env, const struct data_gen_sparse_opts *opts, uint32_t threads,
                         struct gathered *out)
{
    struct data_gen_sparse *gen = NULL;
    struct data_sink sink = {gather, out};
    struct data_gen_run run = {.threads = threads};
    uint64_t entries = 0;

    *out = (struct gathered){0};
    base_buf_init(&out->text, &base_alloc_libc, SIZE_MAX / 2);
    assert_int_equal(data_gen_sparse_new(&base_alloc_libc, opts, &gen, NULL), SHOAL_OK);
    assert_int_equal(data_gen_sparse_write(env, gen, &run, &sink, &entries, NULL), SHOAL_OK);
    data_gen_sparse_free(gen);
}

static void fill_sparse(shoal_env *env, const struct data_gen_sparse_opts *opts, uint32_t threads,
                        struct data_svm *out)
{
    struct data_gen_sparse *gen = NULL;
    struct data_gen_run run = {.threads = threads};

    assert_int_equal(data_gen_sparse_new(&base_alloc_libc, opts, &gen, NULL), SHOAL_OK);
    assert_int_equal(data_gen_sparse_fill(env, gen, &run, out, NULL), SHOAL_OK);
    data_gen_sparse_free(gen);
}

static void write_ratings(shoal_env *env, const struct data_gen_ratings_opts *opts,
                          uint32_t threads, struct gathered *out)
{
    struct data_gen_ratings *gen = NULL;
    struct data_sink sink = {gather, out};
    struct data_gen_run run = {.threads = threads};

    *out = (struct gathered){0};
    base_buf_init(&out->text, &base_alloc_libc, SIZE_MAX / 2);
    assert_int_equal(data_gen_ratings_new(&base_alloc_libc, opts, &gen, NULL), SHOAL_OK);
    assert_int_equal(data_gen_ratings_write(env, gen, &run, &sink, NULL), SHOAL_OK);
    data_gen_ratings_free(gen);
}

static struct num_rating *fill_ratings(shoal_env *env, const struct data_gen_ratings_opts *opts,
                                       uint32_t threads)
{
    struct data_gen_ratings *gen = NULL;
    struct data_gen_run run = {.threads = threads};
    struct num_rating *out = malloc((size_t)opts->ratings * sizeof *out);

    assert_int_equal(data_gen_ratings_new(&base_alloc_libc, opts, &gen, NULL), SHOAL_OK);
    assert_int_equal(data_gen_ratings_fill(env, gen, &run, out, NULL), SHOAL_OK);
    data_gen_ratings_free(gen);
    return out;
}

/* ---- sparse ---- */

static const struct data_gen_sparse_opts shapes[] = {
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

static void text_that_is_read_equals_memory_that_is_filled(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        struct data_svm_opts opts = {.columns = shapes[i].columns};
        struct data_svm filled, loaded;
        struct gathered g;
        write_sparse(env, &shapes[i], 1 + (uint32_t)i % 3, &g);
        assert_int_equal(env_sim_put(env, "g", g.text.data, g.text.size), SHOAL_OK);
        assert_int_equal(data_svm_load(env, "g", &opts, &loaded, NULL), SHOAL_OK);
        fill_sparse(env, &shapes[i], 1, &filled);
        if (loaded.x.value == NULL && filled.x.value != NULL) /* a few values, all of them 1 */
            assert_true(filled.entries < 5);
        else
            assert_same_svm(&filled, &loaded);
        assert_int_equal(loaded.sorted, 0);
        data_svm_fini(&filled);
        data_svm_fini(&loaded);
        base_buf_fini(&g.text);
    }
    shoal_env_free(env);
}

static void bytes_do_not_depend_on_threads_and_are_those_of_every_machine(void **state)
{
    static const uint64_t sparse_hash = 0xea2ac154c94a272eu, ratings_hash = 0x29fd84e27a535245u;
    struct data_gen_ratings_opts ratings = DATA_GEN_RATINGS_OPTS;
    shoal_env *env = NULL;
    struct gathered one, four;

    (void)state;
    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    struct data_gen_sparse_opts sparse = shapes[0];
    sparse.rows = 20000;
    write_sparse(env, &sparse, 1, &one);
    write_sparse(env, &sparse, 4, &four);
    assert_int_equal(one.text.size, four.text.size);
    assert_memory_equal(one.text.data, four.text.data, one.text.size);
    assert_true(four.pieces > 1);
    assert_int_equal(hash(one.text.data, one.text.size), sparse_hash);
    base_buf_fini(&one.text);
    base_buf_fini(&four.text);
    ratings.ratings = 200000;
    write_ratings(env, &ratings, 1, &one);
    write_ratings(env, &ratings, 4, &four);
    assert_int_equal(one.text.size, four.text.size);
    assert_memory_equal(one.text.data, four.text.data, one.text.size);
    assert_true(four.pieces > 1);
    assert_int_equal(hash(one.text.data, one.text.size), ratings_hash);
    base_buf_fini(&one.text);
    base_buf_fini(&four.text);
    shoal_env_free(env);
}

static void rows_have_the_asked_size_and_length_one(void **state)
{
    shoal_env *env = world_new();
    struct data_svm svm;
    struct data_gen_sparse_opts opts = shapes[0];

    (void)state;
    opts.rows = 20000;
    fill_sparse(env, &opts, 1, &svm);
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
    struct data_gen_sparse_opts opts = {
        .rows = 10000, .columns = 200, .nonzeros = 20, .classes = 2, .signal = 6, .seed = 1};

    (void)state;
    fill_sparse(env, &opts, 1, &svm);
    assert_true(nearest_mean_accuracy(&svm, 2) > 0.75);
    data_svm_fini(&svm);
    opts.classes = 5;
    fill_sparse(env, &opts, 1, &svm);
    assert_true(nearest_mean_accuracy(&svm, 5) > 0.5);
    data_svm_fini(&svm);
    opts.noise = 1; /* a fifth of them by chance, 5000 rows: deviation 0.006 */
    fill_sparse(env, &opts, 1, &svm);
    assert_true(fabs(nearest_mean_accuracy(&svm, 5) - 0.2) < 0.03);
    data_svm_fini(&svm);
    shoal_env_free(env);
}

static void sparse_options_out_of_range_are_refused_in_words(void **state)
{
    static const struct {
        struct data_gen_sparse_opts opts;
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

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct data_gen_sparse *gen = NULL;
        shoal_err err = SHOAL_ERR_INIT;
        assert_int_equal(data_gen_sparse_new(&base_alloc_libc, &rows[i].opts, &gen, &err),
                         SHOAL_E_INVAL);
        assert_string_equal(err.message, rows[i].message);
        assert_null(gen);
    }
}

/* ---- ratings ---- */

static const struct data_gen_ratings_opts rating_shapes[] = {
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

static void ratings_read_back_are_those_filled_and_no_pair_comes_twice(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    for (int i = 0; i < RATING_SHAPES; i++) {
        const struct data_gen_ratings_opts *o = &rating_shapes[i];
        struct num_rating *filled = fill_ratings(env, o, 1);
        struct data_ratings loaded;
        struct gathered g;
        write_ratings(env, o, 1 + (uint32_t)i % 3, &g);
        assert_int_equal(env_sim_put(env, "g", g.text.data, g.text.size), SHOAL_OK);
        assert_int_equal(data_ratings_load(env, "g", NULL, &loaded, NULL), SHOAL_OK);
        assert_int_equal(loaded.replaced, 0);
        assert_true(loaded.count == o->ratings && loaded.header);
        for (uint64_t k = 0; k < o->ratings; k++) {
            assert_true(filled[k].user < o->users && filled[k].item < o->items);
            assert_true(loaded.rating[k].value == filled[k].value);
            assert_int_equal(loaded.user_ids.word[loaded.rating[k].user], filled[k].user + 1);
            assert_int_equal(loaded.item_ids.word[loaded.rating[k].item], filled[k].item + 1);
        }
        data_ratings_fini(&loaded);
        base_buf_fini(&g.text);
        free(filled);
    }
    shoal_env_free(env);
}

static void stars_are_halves_and_noise_is_what_was_asked(void **state)
{
    shoal_env *env = world_new();
    struct data_gen_ratings_opts o = {
        .users = 400, .items = 300, .ratings = 60000, .rank = 4, .seed = 9, .unrounded = true};
    double sum = 0, squares = 0;

    (void)state;
    struct num_rating *clean = fill_ratings(env, &o, 1);
    o.noise = 0.75;
    struct num_rating *noisy = fill_ratings(env, &o, 1);
    o.unrounded = false;
    struct num_rating *stars = fill_ratings(env, &o, 1);
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
    struct data_gen_ratings_opts o = {
        .users = USERS, .items = ITEMS, .ratings = RATINGS, .rank = 1, .seed = 1};
    static int users[USERS], items[ITEMS];
    int user_most = 0, user_least = RATINGS, item_most = 0;

    (void)state;
    struct num_rating *r = fill_ratings(env, &o, 1);
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
    struct data_gen_ratings_opts opts = DATA_GEN_RATINGS_OPTS;
    struct data_gen_ratings *gen = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    opts.ratings = 500001;
    assert_int_equal(data_gen_ratings_new(&base_alloc_libc, &opts, &gen, &err), SHOAL_E_INVAL);
    assert_string_equal(err.message,
                        "ratings: expected 1 to users times items, 500000, found 500001");
    opts.ratings = 1;
    opts.noise = NAN;
    assert_int_equal(data_gen_ratings_new(&base_alloc_libc, &opts, &gen, &err), SHOAL_E_INVAL);
    assert_string_equal(err.message, "noise: expected 0 to 100");
}

/* ---- both ---- */

static void a_full_disk_or_a_wish_to_stop_ends_the_work(void **state)
{
    shoal_env *env = world_new();
    struct data_gen_sparse_opts opts = shapes[0];
    struct data_gen_sparse *gen = NULL;
    struct gathered g = {.fail_at = 2};
    struct data_sink sink = {gather, &g};
    atomic_bool stop = false;
    atomic_uint_fast64_t done = 0;
    struct data_gen_run run = {.threads = 1, .stop = &stop, .done = &done};
    uint64_t entries = 7;

    (void)state;
    opts.rows = 20000;
    base_buf_init(&g.text, &base_alloc_libc, SIZE_MAX / 2);
    assert_int_equal(data_gen_sparse_new(&base_alloc_libc, &opts, &gen, NULL), SHOAL_OK);
    assert_int_equal(data_gen_sparse_write(env, gen, &run, &sink, &entries, NULL), SHOAL_E_IO);
    assert_int_equal(g.pieces, 2);
    assert_true(atomic_load(&done) > 0 && atomic_load(&done) < 20000);
    atomic_store(&stop, true);
    assert_int_equal(data_gen_sparse_write(env, gen, &run, &sink, &entries, NULL),
                     SHOAL_E_CANCELLED);
    assert_int_equal(entries, 7);
    base_buf_fini(&g.text);
    data_gen_sparse_free(gen);
    shoal_env_free(env);
}

static shoal_status make_both(const struct base_alloc *alloc, void *ctx)
{
    shoal_env *env = ctx;
    const struct base_alloc *before = env->alloc;
    struct data_gen_sparse_opts sparse = {
        .rows = 10, .columns = 20, .nonzeros = 3, .classes = 3, .signal = 1, .seed = 1};
    struct data_gen_ratings_opts ratings = {.users = 5, .items = 5, .ratings = 9, .rank = 2};
    struct data_gen_sparse *gs = NULL;
    struct data_gen_ratings *gr = NULL;
    struct data_gen_run run = {.threads = 2};
    struct data_svm svm = {0};
    struct num_rating out[9];

    env->alloc = alloc;
    shoal_status st = data_gen_sparse_new(alloc, &sparse, &gs, NULL);
    if (st == SHOAL_OK)
        st = data_gen_sparse_fill(env, gs, &run, &svm, NULL);
    if (st == SHOAL_OK)
        st = data_gen_ratings_new(alloc, &ratings, &gr, NULL);
    if (st == SHOAL_OK)
        st = data_gen_ratings_fill(env, gr, &run, out, NULL);
    data_svm_fini(&svm);
    data_gen_sparse_free(gs);
    data_gen_ratings_free(gr);
    env->alloc = before;
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
        cmocka_unit_test(text_that_is_read_equals_memory_that_is_filled),
        cmocka_unit_test(bytes_do_not_depend_on_threads_and_are_those_of_every_machine),
        cmocka_unit_test(rows_have_the_asked_size_and_length_one),
        cmocka_unit_test(labels_can_be_learnt_by_a_linear_rule_and_not_without_signal),
        cmocka_unit_test(sparse_options_out_of_range_are_refused_in_words),
        cmocka_unit_test(ratings_read_back_are_those_filled_and_no_pair_comes_twice),
        cmocka_unit_test(stars_are_halves_and_noise_is_what_was_asked),
        cmocka_unit_test(some_users_are_busy_and_some_items_popular),
        cmocka_unit_test(rating_options_out_of_range_are_refused_in_words),
        cmocka_unit_test(a_full_disk_or_a_wish_to_stop_ends_the_work),
        cmocka_unit_test(every_failed_allocation_leaves_a_clean_error),
    };
    return cmocka_run_group_tests_name("data/gen", tests, NULL, NULL);
}
