/* test_row.c - lines of Shoal's own CSV: whatever a row holds, the reader gets it back. */
#include "property.h"
#include "sim_world.h"

#include "base/rand.h"
#include "sim/row.h"
#include <math.h>
#include <stdio.h>

/* Text with everything that needs care; never empty. */
static void random_text(struct base_rand *rand, char *text, size_t size, size_t number)
{
    static const char *const bits[] = {"a", ",", "\"", "#", " ", "\"\"", "x", "\xc3\xa9", "'", "="};
    size_t at = 0, pieces = 1 + (size_t)base_rand_below(rand, 6);

    for (size_t i = 0; i < pieces; i++)
        at += (size_t)snprintf(text + at, size - at, "%s", bits[base_rand_below(rand, 10)]);
    snprintf(text + at, size - at, "%zu", number);
}

static double random_number(struct base_rand *rand)
{
    switch (base_rand_below(rand, 4)) {
    case 0: return (double)base_rand_below(rand, 1000000);
    case 1: return base_rand_unit(rand);
    case 2: return base_rand_unit(rand) * 1e9;
    default: return (double)base_rand_below(rand, UINT64_C(1) << 39) + 1.0 / 3;
    }
}

enum { JOBS = 20, ALL = (1 << SIM_ROW_COUNT) - 1 };

struct sheet {
    struct sim_row rows[JOBS];
    char text[JOBS][3][64];
};

static void random_sheet(struct sheet *s, struct base_rand *rand)
{
    for (size_t i = 0; i < JOBS; i++) {
        struct sim_row *row = &s->rows[i];
        for (size_t t = 0; t < 3; t++)
            random_text(rand, s->text[i][t], sizeof s->text[i][t], i);
        *row = (struct sim_row){.name = s->text[i][0],
                                .submit_s = (double)i,
                                .duration_s = NAN,
                                .steps = NAN,
                                .weight = 1 + (double)base_rand_below(rand, 64) / 7,
                                .deadline_s = INFINITY,
                                .slo = NAN,
                                .score = NAN,
                                .gpus = 1 + (uint32_t)base_rand_below(rand, 100000)};
        if (base_rand_below(rand, 2) == 0)
            row->group = s->text[i][1];
        if (base_rand_below(rand, 3) == 0)
            row->kinds = "a100|v100";
        if (base_rand_below(rand, 3) == 0) {
            row->app = "sweep, one";
            row->score = random_number(rand) - 1e6;
        }
        if (base_rand_below(rand, 3) == 0)
            row->deadline_s = row->submit_s + random_number(rand);
        else if (base_rand_below(rand, 2) == 0)
            row->slo = (float)(0.5 + base_rand_unit(rand));
        switch (base_rand_below(rand, 3)) {
        case 0: row->duration_s = 1e-3 + random_number(rand); break;
        case 1:
            row->model = s->text[i][2];
            row->steps = 1e-3 + random_number(rand);
            break;
        default:
            row->model = s->text[i][2];
            row->batch = (uint32_t)base_rand_below(rand, 5000);
            row->adapt = sim_adapt_names[base_rand_below(rand, SIM_ADAPT_COUNT)];
        }
    }
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void assert_job(const struct sim_trace *trace, size_t i, const struct sim_row *row)
{
    const struct sim_job *job = &trace->jobs[i];

    assert_string_equal(job->name, row->name);
    assert_true(same(job->submit_s, row->submit_s));
    assert_true(same(job->duration_s, row->duration_s));
    assert_true(same(job->steps, row->steps));
    assert_true(same(job->weight, row->weight));
    assert_true(same(job->deadline_s, row->deadline_s));
    assert_true(same((double)job->slo, (double)row->slo));
    assert_int_equal(job->gpus, row->gpus);
    assert_int_equal(job->batch, row->batch);
    assert_string_equal(sim_names_get(&trace->groups, job->group),
                        row->group != NULL ? row->group : "default");
    if (row->model != NULL)
        assert_string_equal(sim_names_get(&trace->models, job->model), row->model);
    else
        assert_int_equal(job->model, SIM_NONE);
    assert_int_equal(job->want_kinds != 0, row->kinds != NULL);
    assert_true(same(job->score, row->score));
    assert_int_equal(job->app, row->app != NULL ? 0 : SIM_NONE);
    if (row->adapt != NULL)
        assert_string_equal(sim_adapt_names[job->adapt], row->adapt);
}

static void reader_gets_back_what_was_written(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)property_count(300); seed++) {
        struct base_rand rand;
        struct base_buf out;
        struct sheet s;
        memset(&s, 0, sizeof s);
        base_rand_init(&rand, seed, "rows");
        random_sheet(&s, &rand);
        base_buf_init(&out, &base_alloc_libc, 1 << 20);
        sim_row_header(ALL, &out);
        for (size_t i = 0; i < JOBS; i++)
            sim_row_format(&s.rows[i], ALL, &out);
        assert_int_equal(base_buf_status(&out), SHOAL_OK);
        shoal_env *env = world_new();
        world_put(env, "a.csv", out.data);
        struct sim_trace *trace = world_load(env, "a.csv", SIM_FORMAT_AUTO);
        assert_int_equal(trace->job_count, JOBS);
        for (size_t i = 0; i < JOBS; i++)
            assert_job(trace, i, &s.rows[i]);
        sim_trace_free(trace);
        base_buf_fini(&out);
        shoal_env_free(env);
    }
}

static size_t commas(const char *line, size_t length)
{
    size_t n = 0;

    for (size_t i = 0; i < length; i++)
        n += line[i] == ',';
    return n;
}

static void mask_chooses_the_columns_of_header_and_line_alike(void **state)
{
    const struct sim_row row = {.name = "a",
                                .submit_s = 1,
                                .gpus = 2,
                                .duration_s = 3.5,
                                .steps = NAN,
                                .weight = 1,
                                .deadline_s = INFINITY,
                                .slo = NAN,
                                .score = NAN};

    (void)state;
    for (uint32_t mask = 1; mask <= ALL; mask++) {
        struct base_buf out;
        base_buf_init(&out, &base_alloc_libc, 4096);
        sim_row_header(mask, &out);
        const char *header = strchr(out.data, '\n') + 1;
        size_t want = (size_t)__builtin_popcount(mask) - 1;
        assert_int_equal(commas(header, strlen(header)), want);
        size_t at = out.size;
        sim_row_format(&row, mask, &out);
        assert_int_equal(commas(out.data + at, out.size - at), want);
        assert_int_equal(out.data[out.size - 1], '\n');
        base_buf_fini(&out);
    }
}

static void what_is_not_stated_is_an_empty_field(void **state)
{
    const struct sim_row row = {.name = "a,b",
                                .submit_s = 0.1,
                                .gpus = 8,
                                .duration_s = 7200,
                                .steps = NAN,
                                .weight = NAN,
                                .deadline_s = INFINITY,
                                .slo = 1.2f,
                                .score = NAN};
    struct base_buf out;

    (void)state;
    base_buf_init(&out, &base_alloc_libc, 4096);
    sim_row_format(&row, ALL, &out);
    assert_string_equal(out.data, "\"a,b\",0.1,8,7200,,,,,,,1.2,,,,\n");
    base_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reader_gets_back_what_was_written),
        cmocka_unit_test(mask_chooses_the_columns_of_header_and_line_alike),
        cmocka_unit_test(what_is_not_stated_is_an_empty_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
