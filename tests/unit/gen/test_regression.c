/* Tests of src/gen/regression.c. */
#include "unit/gen/gen_world.h"

#include "torture.h"
#include <math.h>

static shoal_gen_regression_opts defaults(void)
{
    shoal_gen_regression_opts opts;

    shoal_gen_regression_opts_init(&opts);
    return opts;
}

static void write_rows(shoal_env *env, const shoal_gen_regression_opts *given, uint32_t threads,
                       struct gathered *out)
{
    shoal_gen_regression_opts opts = *given;
    const char *truth = given->to.truth;

    opts.struct_size = sizeof opts;
    opts.threads = threads;
    opts.to = gather_to(out);
    opts.to.truth = truth;
    MAKE(regression, env, &opts);
}

/* Written and read. */
static void load_rows(shoal_env *env, const shoal_gen_regression_opts *given, uint32_t threads,
                      struct data_svm *out)
{
    struct data_svm_opts opts = {.columns = (uint32_t)given->columns, .keep_ones = true};
    struct gathered g;

    write_rows(env, given, threads, &g);
    assert_int_equal(env_sim_put(env, "a", g.text.data, g.text.size), SHOAL_OK);
    assert_int_equal(data_svm_load(env, "a", &opts, out, NULL), SHOAL_OK);
    base_buf_fini(&g.text);
}

/* The coefficients of the file of the truth, and how many there are. */
static float *read_truth(shoal_env *env, uint64_t columns, uint64_t *out_count)
{
    float *coefficient = calloc((size_t)columns, sizeof *coefficient);
    struct base_buf text;

    base_buf_init(&text, &base_alloc_libc, 1 << 24);
    assert_int_equal(env_read_whole(env, "truth", &text, NULL), SHOAL_OK);
    *out_count = 0;
    for (char *line = text.data; *line != '\0'; line = strchr(line, '\n') + 1) {
        unsigned column = 0;
        float value = 0;
        assert_int_equal(sscanf(line, "%u %f", &column, &value), 2);
        assert_in_range(column, 1, columns);
        coefficient[column - 1] = value;
        ++*out_count;
    }
    base_buf_fini(&text);
    return coefficient;
}

static const shoal_gen_regression_opts shapes[] = {
    {.rows = 1000, .columns = 1000, .density = 0.05, .correlation = 0.5, .noise = 0.5, .seed = 1},
    {.rows = 3, .columns = 1, .dense = true},
    {.rows = 300, .columns = 40, .density = 1, .correlation = 0.9, .truly = "40", .block = 7},
    {.rows = 500, .columns = 3000, .nonzeros = 1, .correlation = 0.999, .truly = "0", .noise = 2},
    {.rows = 500, .columns = 3000, .density = 0.3, .correlation = 0, .truly = "5", .block = 1},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void every_shape_reads_back_with_its_size_whatever_the_threads(void **state)
{
    shoal_env *env = world_new();

    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        struct data_svm one, three;
        load_rows(env, &shapes[i], 1, &one);
        load_rows(env, &shapes[i], 3, &three);
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
    shoal_gen_regression_opts opts = defaults();
    shoal_env *env = NULL;
    struct gathered one, four;

    (void)state;
    opts.rows = 10000;
    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    write_rows(env, &opts, 1, &one);
    write_rows(env, &opts, 4, &four);
    assert_same_gathered(&one, &four, 0x24b4a1ad7461de64u);
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
    const shoal_gen_regression_opts asked[] = {
        {.rows = 4000, .columns = 60, .density = 1, .correlation = 0.8, .block = 20},
        {.rows = 20000, .columns = 60, .density = 0.1, .correlation = 0.5, .block = 20},
        {.rows = 20000, .columns = 60, .density = 0.1, .correlation = 0},
    };
    shoal_env *env = world_new();

    (void)state;
    for (int i = 0; i < 3; i++) {
        const shoal_gen_regression_opts *o = &asked[i];
        struct data_svm svm;
        double near = 0, apart = 0;
        load_rows(env, o, 1, &svm);
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
    }
    shoal_env_free(env);
}

static void labels_are_the_planted_sum_plus_noise(void **state)
{
    shoal_gen_regression_opts opts = defaults();
    shoal_env *env = world_new();
    struct data_svm svm;
    double rest = 0, explained = 0;
    uint64_t truly = 0;

    (void)state;
    opts.rows = 5000;
    opts.truly = "17";
    opts.to.truth = "truth";
    load_rows(env, &opts, 1, &svm);
    float *coefficient = read_truth(env, opts.columns, &truly);
    assert_int_equal(truly, 17);
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
    free(coefficient);
    shoal_env_free(env);
}

static void options_out_of_range_or_that_contradict_are_refused_in_words(void **state)
{
    enum { BAD = 9 };
    shoal_gen_regression_opts bad[BAD];
    const shoal_result *result = NULL;
    shoal_env *env = world_new();

    (void)state;
    for (int i = 0; i < BAD; i++) {
        bad[i] = defaults();
        bad[i].to.output = "a";
    }
    bad[0].rows = 0;
    bad[1].columns = 0;
    bad[2].density = -1;
    bad[3].correlation = 1;
    bad[4].truly = "1001";
    bad[5].noise = (double)NAN;
    bad[6].truly = "some";
    bad[7].dense = true;
    bad[7].nonzeros = 3;
    bad[8].nonzeros = 1001;
    for (int i = 0; i < BAD; i++) {
        shoal_err err = SHOAL_ERR_INIT;
        assert_int_equal(shoal_gen_regression(env, &bad[i], NULL, &result, &err), SHOAL_E_INVAL);
        assert_true(err.message[0] != '\0');
    }
    assert_null(env_sim_find(env, "a"));
    shoal_env_free(env);
}

static shoal_status make_all(const struct base_alloc *alloc, void *ctx)
{
    shoal_gen_regression_opts opts = defaults();
    shoal_env *env = ctx;
    const struct base_alloc *before = env->alloc;
    const shoal_result *result = NULL;
    struct gathered g;

    opts.rows = 4;
    opts.to = gather_to(&g);
    opts.to.truth = "truth";
    env->alloc = alloc;
    shoal_status st = shoal_gen_regression(env, &opts, NULL, &result, NULL);
    shoal_result_free(result);
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
        cmocka_unit_test(every_shape_reads_back_with_its_size_whatever_the_threads),
        cmocka_unit_test(bytes_do_not_depend_on_threads_and_are_those_of_every_machine),
        cmocka_unit_test(columns_have_the_asked_density_and_correlation),
        cmocka_unit_test(labels_are_the_planted_sum_plus_noise),
        cmocka_unit_test(options_out_of_range_or_that_contradict_are_refused_in_words),
        cmocka_unit_test(every_failed_allocation_leaves_a_clean_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
