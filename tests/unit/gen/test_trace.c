/* Tests of src/gen/trace.c and src/sim/info.c. */
#include "unit/sim/public_data.h"
#include "unit/sim/sim_world.h"

#include "property.h"
#include "gen/trace.h"
#include "sim/info.h"
#include "sim/reader.h"
#include <math.h>

/* The whole output as text. */
static void generate(const shoal_gen_trace_opts *opts, struct base_buf *out)
{
    struct gen_trace gen;
    struct sim_row row;
    shoal_err err = SHOAL_ERR_INIT;

    if (gen_trace_init(&gen, opts, NULL, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    base_buf_init(out, &base_alloc_libc, 1 << 30);
    sim_row_header(gen_trace_columns(&gen), out);
    while (gen_trace_next(&gen, &row))
        sim_row_format(&row, gen_trace_columns(&gen), out);
    assert_int_equal(base_buf_status(out), SHOAL_OK);
}

/* Generates, loads and describes; the caller frees *out_trace. */
static struct sim_info describe(const shoal_gen_trace_opts *opts, struct sim_trace **out_trace)
{
    shoal_env *env = world_new();
    struct base_buf text;
    struct sim_info info;

    generate(opts, &text);
    world_put(env, "g.csv", text.data);
    *out_trace = world_load(env, "g.csv", SIM_FORMAT_AUTO);
    assert_int_equal(sim_info(*out_trace, NULL, &info), SHOAL_OK);
    base_buf_fini(&text);
    shoal_env_free(env);
    return info;
}

static void the_same_seed_gives_the_same_bytes_and_another_seed_others(void **state)
{
    (void)state;
    for (uint32_t shape = 0; shape < SHOAL_GEN_SHAPES; shape++) {
        shoal_gen_trace_opts opts = {.shape = shape, .jobs = 500, .seed = 7};
        struct base_buf a, b, other;
        generate(&opts, &a);
        generate(&opts, &b);
        opts.seed = 8;
        generate(&opts, &other);
        assert_string_equal(a.data, b.data);
        assert_string_not_equal(a.data, other.data);
        base_buf_fini(&a);
        base_buf_fini(&b);
        base_buf_fini(&other);
    }
}

static void changing_the_rate_changes_no_duration(void **state)
{
    struct gen_trace a, b;
    struct sim_row x, y;
    shoal_gen_trace_opts opts = {.shape = SHOAL_GEN_PHILLY, .jobs = 200, .rate_h = 10, .seed = 3};

    (void)state;
    assert_int_equal(gen_trace_init(&a, &opts, NULL, NULL), SHOAL_OK);
    opts.rate_h = 1000;
    assert_int_equal(gen_trace_init(&b, &opts, NULL, NULL), SHOAL_OK);
    while (gen_trace_next(&a, &x)) {
        assert_true(gen_trace_next(&b, &y));
        assert_true(x.duration_s == y.duration_s && x.gpus == y.gpus);
        assert_string_equal(x.group, y.group);
    }
}

/* Within 4 standard errors: a run that fails by chance is one in 16,000, and seeds are fixed. */
static void near_share(uint64_t count, uint64_t total, double share)
{
    double error = 4 * sqrt(share * (1 - share) / (double)total);

    if (fabs((double)count / (double)total - share) > error)
        fail_msg("%llu of %llu is not a share of %g", (unsigned long long)count,
                 (unsigned long long)total, share);
}

static void gavel_draws_the_published_durations_and_scales(void **state)
{
    struct gen_trace gen;
    struct sim_row row;
    shoal_gen_trace_opts opts = {
        .shape = SHOAL_GEN_GAVEL_MULTI, .jobs = 100000, .rate_h = 5, .seed = 1};
    uint64_t by_scale[9] = {0}, below[4] = {0};

    (void)state;
    assert_int_equal(gen_trace_init(&gen, &opts, NULL, NULL), SHOAL_OK);
    while (gen_trace_next(&gen, &row)) {
        assert_true(row.duration_s >= 1897 && row.duration_s <= 600000);
        by_scale[row.gpus]++;
        below[0] += row.duration_s <= 60 * pow(10, 2.25); /* half of the short ones */
        below[1] += row.duration_s <= 60e3;
        below[2] += row.duration_s <= 60 * pow(10, 3.5);
    }
    near_share(by_scale[1], 100000, 0.70);
    near_share(by_scale[2], 100000, 0.10);
    near_share(by_scale[4], 100000, 0.15);
    near_share(by_scale[8], 100000, 0.05);
    near_share(below[0], 100000, 0.4);
    near_share(below[1], 100000, 0.8);
    near_share(below[2], 100000, 0.9);
    assert_true(fabs(gen.now_s / (100000 * 720.0) - 1) < 0.02); /* 5 jobs an hour */
}

/* At one job in two hours most gaps cross hours, so weights must be spent hour by hour. */
static void philly_arrivals_follow_the_hours_of_the_day(void **state)
{
    struct gen_trace gen;
    struct sim_row row;
    shoal_gen_trace_opts opts = {
        .shape = SHOAL_GEN_PHILLY, .jobs = 100000, .rate_h = 0.5, .seed = 1};
    uint64_t hours[24] = {0};

    (void)state;
    assert_int_equal(gen_trace_init(&gen, &opts, NULL, NULL), SHOAL_OK);
    while (gen_trace_next(&gen, &row))
        hours[(size_t)fmod(row.submit_s / 3600, 24)]++;
    near_share(hours[7], 100000, 7159.0 / 82247);
    near_share(hours[4], 100000, 2400.0 / 82247);
    near_share(hours[14], 100000, 2185.0 / 82247);
    assert_true(fabs(gen.now_s / (100000 * 7200.0) - 1) < 0.02);
}

static const shoal_gen_trace_opts loaded[] = {
    {.shape = SHOAL_GEN_GAVEL},
    {.shape = SHOAL_GEN_GAVEL_MULTI},
    {.shape = SHOAL_GEN_POLLUX, .durations = true},
    {.shape = SHOAL_GEN_PHILLY},
    {.shape = SHOAL_GEN_PHILLY, .duration_max_s = 86400, .gpus_max = 8},
    {.shape = SHOAL_GEN_POLLUX, .durations = true, .duration_max_s = 21600, .gpus_max = 16},
};

/* What is asked for by all jobs over what there is in `length_s`, and the part submitted in its
 * first half. */
static double load_of(const shoal_gen_trace_opts *opts, double length_s, double *out_early)
{
    struct gen_trace gen;
    struct sim_row row;
    shoal_err err = SHOAL_ERR_INIT;
    double gpu_s = 0, early = 0, last_s = 0;

    if (gen_trace_init(&gen, opts, NULL, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
    length_s = length_s > 0 ? length_s : gen.length_s;
    while (gen_trace_next(&gen, &row)) {
        assert_true(row.submit_s >= last_s && row.submit_s < length_s);
        last_s = row.submit_s;
        gpu_s += row.gpus * row.duration_s;
        early += row.submit_s < length_s / 2 ? row.gpus * row.duration_s : 0;
        assert_true(opts->duration_max_s == 0 || row.duration_s <= opts->duration_max_s);
        assert_true(opts->gpus_max == 0 || row.gpus <= opts->gpus_max);
        assert_true(row.gpus <= opts->gpus || opts->gpus_max > 0);
    }
    assert_int_equal(gen.made, gen.planned);
    assert_true(fabs(gen.load * (double)opts->gpus * length_s / gpu_s - 1) < 1e-9);
    *out_early += early / gpu_s;
    return gpu_s / ((double)opts->gpus * length_s);
}

/* Heavy tails and short traces included; the mean of many traces has no more work in one half than
 * in the other, but for the hours of the day. */
static void days_have_the_load_that_was_asked_for(void **state)
{
    static const double loads[] = {0.2, 0.9, 1.5}, days[] = {1, 3, 30};

    (void)state;
    for (size_t i = 0; i < sizeof loaded / sizeof loaded[0]; i++) {
        double early = 0, count = 0;
        for (int seed = 1; seed <= property_count(10); seed++)
            for (size_t n = 0; n < 9; n++) {
                shoal_gen_trace_opts opts = loaded[i];
                opts.load = loads[n % 3];
                opts.days = days[n / 3];
                opts.gpus = seed % 3 == 0 ? 16 : seed % 3 == 1 ? 640 : 64;
                opts.seed = (uint64_t)seed;
                double load = load_of(&opts, opts.days * 86400, &early);
                count++;
                if (fabs(load / opts.load - 1) > GEN_TRACE_LOAD_ERROR * 1.0001)
                    fail_msg("shape %zu, %g days, seed %d: load %g, not %g", i, opts.days, seed,
                             load, opts.load);
            }
        if (fabs(early / count - 0.5) > 0.1)
            fail_msg("shape %zu: %g of the work comes in the first half", i, early / count);
    }
}

/* Also where nobody asked for a load: what is not told is a load of 0.8. */
static void no_job_is_larger_than_the_gpus_of_a_load(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++)
        for (uint32_t gpus = 8; gpus <= 64; gpus *= 8) {
            struct sim_trace *trace = NULL;
            const shoal_gen_trace_opts opts = {.shape = SHOAL_GEN_PHILLY,
                                               .jobs = 3000,
                                               .gpus = gpus,
                                               .load = asked ? 0.5 : 0,
                                               .seed = 1};
            describe(&opts, &trace);
            for (size_t j = 0; j < trace->job_count; j++)
                assert_true(trace->jobs[j].gpus <= gpus);
            sim_trace_free(trace);
        }
}

static void jobs_take_as_long_as_makes_the_load(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof loaded / sizeof loaded[0]; i++)
        for (int seed = 1; seed <= property_count(5); seed++) {
            shoal_gen_trace_opts opts = loaded[i];
            double early = 0;
            opts.jobs = 300;
            opts.load = 0.7;
            opts.gpus = seed % 2 == 0 ? 512 : 24; /* some jobs are larger */
            opts.seed = (uint64_t)seed;
            double load = load_of(&opts, 0, &early);
            if (fabs(load / 0.7 - 1) > 1e-9)
                fail_msg("shape %zu, seed %d: load %g", i, seed, load);
        }
}

/* Traces of one day on 64 GPUs leave out what is larger than all of it, and little else. */
static void short_traces_keep_the_shape(void **state)
{
    uint64_t jobs = 0, single = 0, minutes = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        shoal_gen_trace_opts opts = {
            .shape = SHOAL_GEN_PHILLY, .load = 0.9, .gpus = 64, .days = 1, .seed = seed};
        struct gen_trace gen;
        struct sim_row row;
        assert_int_equal(gen_trace_init(&gen, &opts, NULL, NULL), SHOAL_OK);
        for (; gen_trace_next(&gen, &row); jobs++) {
            single += row.gpus == 1;
            minutes += row.duration_s <= 1120; /* the median of single GPUs */
        }
    }
    assert_true(fabs((double)single / (double)jobs - 76627.0 / 82247) < 0.02);
    assert_true(fabs((double)minutes / (double)jobs - 0.5) < 0.04);
}

/* One job of the shape is more than was asked for: the smallest that was drawn is all there is. */
static void a_load_too_small_for_the_shape_is_met_as_nearly_as_can_be(void **state)
{
    shoal_gen_trace_opts opts = {
        .shape = SHOAL_GEN_GAVEL, .load = 0.01, .gpus = 1, .days = 0.5, .seed = 1};
    struct gen_trace gen;
    struct sim_row row;

    (void)state;
    assert_int_equal(gen_trace_init(&gen, &opts, NULL, NULL), SHOAL_OK);
    assert_true(gen.planned == 1 && gen.load > 0.04 && gen.load < 0.045); /* 1,897 s */
    assert_true(gen_trace_next(&gen, &row) && !gen_trace_next(&gen, &row));
}

static void days_and_jobs_end_the_trace(void **state)
{
    struct sim_trace *trace;
    shoal_gen_trace_opts opts = {.shape = SHOAL_GEN_PHILLY, .days = 2, .rate_h = 50, .seed = 2};

    (void)state;
    struct sim_info info = describe(&opts, &trace);
    assert_true(info.jobs > 2200 && info.jobs < 2600); /* 2,400 +- 4 sqrt(2,400) */
    assert_true(trace->jobs[trace->job_count - 1].submit_s < 2 * 86400);
    sim_trace_free(trace);
    opts.jobs = 10;
    info = describe(&opts, &trace);
    assert_int_equal(info.jobs, 10);
    sim_trace_free(trace);
    opts = (shoal_gen_trace_opts){.shape = SHOAL_GEN_GAVEL, .jobs = 4800, .days = 10, .seed = 2};
    info = describe(&opts, &trace); /* 20 an hour */
    assert_true(info.jobs > 4500 && info.jobs <= 4800 && info.span_s > 9 * 86400);
    sim_trace_free(trace);
}

static void contradictions_are_refused(void **state)
{
    struct gen_trace gen;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_gen_trace_opts both = {.rate_h = 1, .load = 1};
    shoal_gen_trace_opts three = {.jobs = 10, .load = 1, .gpus = 64, .days = 1};
    shoal_gen_trace_opts many = {.jobs = (uint64_t)SIM_JOBS_MAX + 1};
    shoal_gen_trace_opts longer = {.days = 1e5, .rate_h = 1e6};
    shoal_gen_trace_opts cut = {.shape = SHOAL_GEN_GAVEL, .duration_max_s = 60};

    (void)state;
    assert_int_equal(gen_trace_init(&gen, &both, NULL, &err), SHOAL_E_INVAL);
    assert_int_equal(gen_trace_init(&gen, &three, NULL, &err), SHOAL_E_INVAL);
    assert_non_null(strstr(err.message, "give --load with --days or with --jobs"));
    assert_int_equal(gen_trace_init(&gen, &many, NULL, &err), SHOAL_E_INVAL);
    assert_int_equal(gen_trace_init(&gen, &longer, NULL, &err), SHOAL_E_INVAL);
    assert_int_equal(gen_trace_init(&gen, &cut, NULL, &err), SHOAL_E_INVAL);
    assert_non_null(strstr(err.message, "cannot cut durations at 60 s"));
}

static void gavel_with_a_table_writes_steps_at_the_v100_rate(void **state)
{
    shoal_env *env = world_new();
    struct sched_cluster c;
    struct sim_throughput *tp = NULL;
    struct gen_trace a, b;
    struct sim_row x, y;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    world_put(env, "t.json",
              "{\"v100\": {\"('a', 1)\": {\"null\": 10}, \"('b', 1)\": {\"null\": 0},"
              "\"('a', 2)\": {\"null\": 20}, \"('a', 4)\": {\"null\": 30}, \"('a', 8)\": "
              "{\"null\": 1}}}");
    assert_int_equal(sched_cluster_parse(&base_alloc_libc, "1x8:v100", &c, &err), SHOAL_OK);
    assert_int_equal(sim_throughput_load(env, "t.json", &c, &tp, &err), SHOAL_OK);
    shoal_gen_trace_opts opts = {.shape = SHOAL_GEN_GAVEL_MULTI, .jobs = 300, .seed = 4};
    assert_int_equal(gen_trace_init(&a, &opts, NULL, &err), SHOAL_OK);
    assert_int_equal(gen_trace_init(&b, &opts, tp, &err), SHOAL_OK);
    while (gen_trace_next(&a, &x)) {
        double rate = x.gpus == 1 ? 10 : x.gpus == 2 ? 20 : x.gpus == 4 ? 30 : 1;
        assert_true(gen_trace_next(&b, &y));
        assert_string_equal(y.model, "a");
        assert_true(y.steps == floor(x.duration_s * rate) && isnan(y.duration_s));
    }
    opts.shape = SHOAL_GEN_PHILLY;
    assert_int_equal(gen_trace_init(&b, &opts, tp, &err), SHOAL_E_INVAL);
    sim_throughput_free(tp);
    sched_cluster_fini(&c);
    shoal_env_free(env);
}

/* The fit: quantiles of a generated list of the same length against the published one. The list
 * repeats values (many jobs of about a minute), so quantiles are compared by logarithm. */
static void philly_shape_has_the_quantiles_of_the_published_list(void **state)
{
    struct public_data data;
    shoal_env *env = NULL;
    struct sim_info real, made;
    struct sim_trace *trace;

    (void)state;
    public_data_init(&data);
    const char *path = public_data_file(&data, "philly/philly_jobs.csv.xz", NULL);
    assert_int_equal(shoal_env_real_new(&env, NULL), SHOAL_OK);
    trace = world_load(env, path, SIM_FORMAT_AUTO);
    assert_int_equal(sim_info(trace, NULL, &real), SHOAL_OK);
    sim_trace_free(trace);
    shoal_gen_trace_opts opts = {.shape = SHOAL_GEN_PHILLY, .jobs = 82247, .days = 109, .seed = 1};
    made = describe(&opts, &trace);
    sim_trace_free(trace);
    for (size_t i = 0; i + 1 < SIM_INFO_QUANTILES; i++) {
        if (fabs(log(made.duration_s[i] / real.duration_s[i])) > 0.15)
            fail_msg("at %g: %g s made, %g s in the list", sim_info_shares[i], made.duration_s[i],
                     real.duration_s[i]);
        assert_true(made.gpus[i] == real.gpus[i]);
    }
    for (size_t i = 0; i < 4; i++)
        near_share(made.sizes[i], 82247, (double)real.sizes[i] / 82247);
    assert_true(fabs(made.gpu_h / real.gpu_h - 1) < 0.15);
    shoal_env_free(env);
    public_data_fini(&data);
}

static void info_counts_work_sizes_and_load(void **state)
{
    shoal_env *env = world_new();
    struct sched_cluster c;
    struct sim_info info;
    struct sim_info_count *counts;
    size_t count;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    world_put(env, "t.csv",
              "name,submit_s,gpus,duration_s,group\n"
              "a,100,1,3600,x\nb,200,4,7200,y\nc,300,8,10,y\nd,3700,9,36000,\n");
    struct sim_trace *trace = world_load(env, "t.csv", SIM_FORMAT_AUTO);
    assert_int_equal(sched_cluster_parse(&base_alloc_libc, "2x4:t4", &c, &err), SHOAL_OK);
    assert_int_equal(sim_info(trace, NULL, &info), SHOAL_OK);
    assert_true(info.jobs == 4 && info.timed == 4 && info.impossible == 0);
    assert_true(info.first_s == 100 && info.span_s == 3600 && isnan(info.load));
    assert_true(fabs(info.gpu_h - (1 + 8 + 80.0 / 3600 + 90)) < 1e-9);
    assert_true(info.duration_s[2] == 3600 && info.duration_s[6] == 36000);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(info.sizes[i], 1);
    assert_int_equal(sim_trace_bind(env, trace, &c, NULL, &err), SHOAL_OK);
    assert_int_equal(sim_info(trace, &c, &info), SHOAL_OK);
    assert_int_equal(info.impossible, 1); /* 9 GPUs */
    assert_true(fabs(info.load - (9 + 80.0 / 3600) / 8) < 1e-9);
    assert_int_equal(sim_info_counts(trace, false, &counts, &count), SHOAL_OK);
    assert_int_equal(count, 3);
    assert_int_equal(counts[0].jobs, 2);
    assert_string_equal(sim_names_get(&trace->groups, counts[0].name), "y");
    assert_string_equal(sim_names_get(&trace->groups, counts[1].name), "x");
    base_free(trace->alloc, counts);
    sim_trace_free(trace);
    sched_cluster_fini(&c);
    shoal_env_free(env);
}

static void a_trace_without_jobs_is_an_error_that_says_why_and_no_file(void **state)
{
    const shoal_result *result = NULL;
    shoal_env *env = world_new();
    shoal_err err = SHOAL_ERR_INIT;
    shoal_gen_trace_opts opts;

    (void)state;
    shoal_gen_trace_opts_init(&opts);
    opts.shape = SHOAL_GEN_GAVEL;
    opts.rate_h = 0.001;
    opts.days = 0.01;
    opts.to.output = "none.csv";
    assert_int_equal(shoal_gen_trace(env, &opts, NULL, &result, &err), SHOAL_E_IMPOSSIBLE);
    assert_string_equal(err.message,
                        "no jobs were made: at 0.001 jobs per hour none arrived within 14m24s");
    assert_null(env_sim_find(env, "none.csv"));
    shoal_env_free(env);
}

static void the_call_writes_the_jobs_and_says_how_many(void **state)
{
    const shoal_result *result = NULL;
    shoal_env *env = world_new();
    shoal_gen_trace_opts opts;
    struct base_buf text;

    (void)state;
    shoal_gen_trace_opts_init(&opts);
    opts.jobs = 3000;
    opts.to.output = "day.csv";
    assert_int_equal(shoal_gen_trace(env, &opts, NULL, &result, NULL), SHOAL_OK);
    assert_true(shoal_result_number(result, 0, "jobs") == 3000);
    assert_true(fabs(shoal_result_number(result, 0, "load") - 0.8) < 1e-9);
    generate(&opts, &text);
    const struct base_buf *file = env_sim_find(env, "day.csv");
    assert_int_equal(file->size, text.size);
    assert_memory_equal(file->data, text.data, text.size);
    assert_true(shoal_result_number(result, 0, "bytes") == (double)text.size);
    base_buf_fini(&text);
    shoal_result_free(result);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_gives_the_same_bytes_and_another_seed_others),
        cmocka_unit_test(changing_the_rate_changes_no_duration),
        cmocka_unit_test(gavel_draws_the_published_durations_and_scales),
        cmocka_unit_test(philly_arrivals_follow_the_hours_of_the_day),
        cmocka_unit_test(days_have_the_load_that_was_asked_for),
        cmocka_unit_test(no_job_is_larger_than_the_gpus_of_a_load),
        cmocka_unit_test(jobs_take_as_long_as_makes_the_load),
        cmocka_unit_test(short_traces_keep_the_shape),
        cmocka_unit_test(a_load_too_small_for_the_shape_is_met_as_nearly_as_can_be),
        cmocka_unit_test(days_and_jobs_end_the_trace),
        cmocka_unit_test(a_trace_without_jobs_is_an_error_that_says_why_and_no_file),
        cmocka_unit_test(the_call_writes_the_jobs_and_says_how_many),
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(gavel_with_a_table_writes_steps_at_the_v100_rate),
        cmocka_unit_test(philly_shape_has_the_quantiles_of_the_published_list),
        cmocka_unit_test(info_counts_work_sizes_and_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
