/* Tests of src/data/gen_regression.c. */
#include "unit/data/data_world.h"

#include "data/gen.h"
#include "torture.h"
#include <math.h>

struct gathered {
    struct base_buf text;
    uint64_t pieces;
};

static shoal_status gather(void *ctx, const char *text, size_t size, shoal_err *err)
{
    struct gathered *g = ctx;

    (void)err;
    g->pieces++;
    base_buf_append(&g->text, text, size);
    return base_buf_status(&g->text);
}

static void gathered_init(struct gathered *g)
{
    *g = (struct gathered){0};
    base_buf_init(&g->text, &base_alloc_libc, SIZE_MAX / 2);
}

static uint64_t hash(const char *text, size_t size)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < size; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    return h;
}

static struct data_gen_regression *new_gen(const struct data_gen_regression_opts *opts)
{
    struct data_gen_regression *gen = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    if (data_gen_regression_new(&base_alloc_libc, opts, &gen, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    return gen;
}

static void write_rows(shoal_env *env, const struct data_gen_regression *gen, uint32_t threads,
                       struct gathered *out)
{
    struct data_sink sink = {gather, out};
    struct data_gen_run run = {.threads = threads};
    uint64_t entries = 0;

    gathered_init(out);
    assert_int_equal(data_gen_regression_write(env, gen, &run, &sink, &entries, NULL), SHOAL_OK);
}

static const struct data_gen_regression_opts shapes[] = {
    DATA_GEN_REGRESSION_OPTS,
    {.rows = 3, .columns = 1, .density = 1, .truly = 1},
    {.rows = 300, .columns = 40, .density = 1, .correlation = 0.9, .truly = 40, .block = 7},
    {.rows = 500, .columns = 3000, .density = 0.001, .correlation = 0.999, .truly = 0, .noise = 2},
    {.rows = 500, .columns = 3000, .density = 0.3, .correlation = 0, .truly = 5, .block = 1},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void text_and_memory_hold_the_same_rows(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        struct data_gen_regression *gen = new_gen(&shapes[i]);
        struct data_svm filled, loaded;
        struct gathered g;
        assert_int_equal(data_gen_regression_fill(env, gen, NULL, &filled, NULL), SHOAL_OK);
        write_rows(env, gen, 3, &g);
        assert_int_equal(env_sim_put(env, "a", g.text.data, g.text.size), SHOAL_OK);
        struct data_svm_opts opts = {.columns = shapes[i].columns, .keep_ones = true};
        assert_int_equal(data_svm_load(env, "a", &opts, &loaded, NULL), SHOAL_OK);
        assert_same_svm(&filled, &loaded);
        assert_int_equal(loaded.sorted, 0);
        base_buf_fini(&g.text);
        data_svm_fini(&filled);
        data_svm_fini(&loaded);
        data_gen_regression_free(gen);
    }
    shoal_env_free(env);
}

static void bytes_do_not_depend_on_threads_and_are_those_of_every_machine(void **state)
{
    static const uint64_t golden = 0x24b4a1ad7461de64u;
    struct data_gen_regression_opts opts = DATA_GEN_REGRESSION_OPTS;
    shoal_env *env = NULL;
    struct gathered one, four;

    (void)state;
    opts.rows = 10000;
    struct data_gen_regression *gen = new_gen(&opts);
    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    write_rows(env, gen, 1, &one);
    write_rows(env, gen, 4, &four);
    assert_int_equal(one.text.size, four.text.size);
    assert_memory_equal(one.text.data, four.text.data, one.text.size);
    assert_true(four.pieces > 4);
    assert_int_equal(hash(one.text.data, one.text.size), golden);
    base_buf_fini(&one.text);
    base_buf_fini(&four.text);
    data_gen_regression_free(gen);
    shoal_env_free(env);
}

/* Columns as vectors with their zeros. */
static float *columns_of(const struct data_svm *svm)
{
    float *dense = calloc((size_t)svm->x.rows * svm->x.columns, sizeof *dense);

    for (uint64_t r = 0; r < svm->x.rows; r++)
        for (uint64_t i = svm->x.start[r]; i < svm->x.start[r + 1]; i++)
            dense[svm->x.index[i] * svm->x.rows + r] = svm->x.value[i];
    return dense;
}

static double correlation(const float *a, const float *b, uint64_t rows)
{
    double ab = 0, aa = 0, bb = 0;

    for (uint64_t r = 0; r < rows; r++) {
        ab += (double)(a[r] * b[r]);
        aa += (double)(a[r] * a[r]);
        bb += (double)(b[r] * b[r]);
    }
    return ab / sqrt(aa * bb);
}

static void columns_have_the_asked_density_and_correlation(void **state)
{
    const struct data_gen_regression_opts asked[] = {
        {.rows = 4000, .columns = 60, .density = 1, .correlation = 0.8, .block = 20},
        {.rows = 20000, .columns = 60, .density = 0.1, .correlation = 0.5, .block = 20},
        {.rows = 20000, .columns = 60, .density = 0.1, .correlation = 0},
    };
    shoal_env *env = world_new();

    (void)state;
    for (int i = 0; i < 3; i++) {
        const struct data_gen_regression_opts *o = &asked[i];
        struct data_gen_regression *gen = new_gen(o);
        struct data_svm svm;
        double near = 0, apart = 0;
        assert_int_equal(data_gen_regression_fill(env, gen, NULL, &svm, NULL), SHOAL_OK);
        double density = (double)svm.entries / (double)(o->rows * o->columns);
        assert_true(fabs(density - o->density) < 0.02 * o->density);
        float *dense = columns_of(&svm);
        for (uint32_t c = 0; c < 19; c++)
            near += correlation(dense + c * o->rows, dense + (c + 1) * o->rows, o->rows) / 19;
        for (uint32_t c = 19; c < 59 && o->block > 0; c += 20)
            apart += correlation(dense + c * o->rows, dense + (c + 1) * o->rows, o->rows) / 2;
        /* Each has a deviation of about 1 / sqrt(rows x density), some 0.02. */
        assert_true(fabs(near - o->correlation) < 0.03);
        assert_true(fabs(apart) < 0.07);
        free(dense);
        data_svm_fini(&svm);
        data_gen_regression_free(gen);
    }
    shoal_env_free(env);
}

static void labels_are_the_planted_sum_plus_noise(void **state)
{
    struct data_gen_regression_opts opts = DATA_GEN_REGRESSION_OPTS;
    shoal_env *env = world_new();
    struct data_svm svm;
    double rest = 0, explained = 0;
    uint32_t truly = 0;

    (void)state;
    opts.rows = 5000;
    struct data_gen_regression *gen = new_gen(&opts);
    const float *coefficient = data_gen_regression_coefficients(gen);
    for (uint32_t c = 0; c < opts.columns; c++)
        truly += coefficient[c] != 0;
    assert_int_equal(truly, opts.truly);
    assert_int_equal(data_gen_regression_fill(env, gen, NULL, &svm, NULL), SHOAL_OK);
    for (uint64_t r = 0; r < svm.x.rows; r++) {
        double sum = 0;
        for (uint64_t i = svm.x.start[r]; i < svm.x.start[r + 1]; i++)
            sum += (double)(coefficient[svm.x.index[i]] * svm.x.value[i]);
        rest += (svm.label[r] - sum) * (svm.label[r] - sum);
        explained += sum * sum;
    }
    assert_true(fabs(sqrt(rest / (double)opts.rows) - opts.noise) < 0.03 * opts.noise);
    assert_true(fabs(sqrt(explained / (double)opts.rows) - 1) < 0.1);
    data_svm_fini(&svm);
    data_gen_regression_free(gen);
    shoal_env_free(env);
}

static void the_truth_lists_the_coefficients(void **state)
{
    struct data_gen_regression_opts opts = DATA_GEN_REGRESSION_OPTS;
    struct data_gen_regression *gen = new_gen(&opts);
    struct gathered g;
    struct data_sink sink = {gather, &g};

    (void)state;
    gathered_init(&g);
    assert_int_equal(data_gen_regression_truth(gen, &sink, NULL), SHOAL_OK);
    assert_int_equal(g.pieces, opts.truly);
    unsigned column = 0;
    double value = 0;
    assert_int_equal(sscanf(g.text.data, "%u %lf", &column, &value), 2);
    assert_true(fabs(value - (double)data_gen_regression_coefficients(gen)[column - 1]) < 1e-4);
    base_buf_fini(&g.text);
    data_gen_regression_free(gen);
}

static void options_out_of_range_are_refused_in_words(void **state)
{
    const struct data_gen_regression_opts good = DATA_GEN_REGRESSION_OPTS;
    struct data_gen_regression_opts bad[6];
    struct data_gen_regression *gen = NULL;

    (void)state;
    for (int i = 0; i < 6; i++)
        bad[i] = good;
    bad[0].rows = 0;
    bad[1].columns = 0;
    bad[2].density = 0;
    bad[3].correlation = 1;
    bad[4].truly = good.columns + 1;
    bad[5].noise = (double)NAN;
    for (int i = 0; i < 6; i++) {
        shoal_err err = SHOAL_ERR_INIT;
        assert_int_equal(data_gen_regression_new(&base_alloc_libc, &bad[i], &gen, &err),
                         SHOAL_E_INVAL);
        assert_true(err.message[0] != '\0');
    }
}

static shoal_status make_all(const struct base_alloc *alloc, void *ctx)
{
    struct data_gen_regression_opts opts = DATA_GEN_REGRESSION_OPTS;
    shoal_env *env = ctx;
    const struct base_alloc *before = env->alloc;
    struct data_gen_regression *gen = NULL;
    struct data_svm svm = {0};
    struct gathered g;
    struct data_sink sink = {gather, &g};
    uint64_t entries = 0;

    opts.rows = 4;
    gathered_init(&g);
    env->alloc = alloc;
    shoal_status st = data_gen_regression_new(alloc, &opts, &gen, NULL);
    if (st == SHOAL_OK)
        st = data_gen_regression_fill(env, gen, NULL, &svm, NULL);
    if (st == SHOAL_OK)
        st = data_gen_regression_write(env, gen, NULL, &sink, &entries, NULL);
    data_svm_fini(&svm);
    data_gen_regression_free(gen);
    env->alloc = before;
    base_buf_fini(&g.text);
    return st;
}

static void every_failed_allocation_leaves_a_clean_error(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    torture_run(make_all, env);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_and_memory_hold_the_same_rows),
        cmocka_unit_test(bytes_do_not_depend_on_threads_and_are_those_of_every_machine),
        cmocka_unit_test(columns_have_the_asked_density_and_correlation),
        cmocka_unit_test(labels_are_the_planted_sum_plus_noise),
        cmocka_unit_test(the_truth_lists_the_coefficients),
        cmocka_unit_test(options_out_of_range_are_refused_in_words),
        cmocka_unit_test(every_failed_allocation_leaves_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
