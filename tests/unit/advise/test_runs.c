/* Reading runs: what is refused, in which words, and what is judged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "advise/runs.h"
#include "torture.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define HEAD "#shoal-runs v1\nalgorithm,machines,size,run,iteration,time_s,loss\n"

static shoal_status read_text(const char *text, struct advise_runs *runs, shoal_err *err)
{
    shoal_env *env = NULL;

    assert_int_equal(shoal_env_sim_new(1, &env, NULL), SHOAL_OK);
    assert_int_equal(env_sim_put(env, "runs", text, strlen(text)), SHOAL_OK);
    advise_runs_init(runs, &base_alloc_libc);
    shoal_status st = advise_runs_read(runs, env, "runs", err);
    if (st == SHOAL_OK)
        st = advise_runs_finish(runs, err);
    shoal_env_free(env);
    return st;
}

static void refuses(const char *text, const char *words)
{
    struct advise_runs runs;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = read_text(text, &runs, &err);

    if (st != SHOAL_E_FORMAT || strstr(err.message, words) == NULL)
        fail_msg("%s: status %d, '%s' lacks '%s'", text, (int)st, err.message, words);
    advise_runs_fini(&runs);
}

static void rows_of_one_name_are_one_run(void **state)
{
    struct advise_runs runs;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(read_text(HEAD "a,1,10,,0,0,1\nb,2,10,x,0,0,1\na,1,10,,1,0.5,0.9\n"
                                    "a,1,10,y,1,0.5,\n",
                               &runs, &err),
                     SHOAL_OK);
    assert_int_equal(runs.count, 3);
    assert_int_equal(runs.algorithm_count, 2);
    assert_int_equal(runs.runs[0].count, 2);
    assert_int_equal(runs.runs[0].losses, 2);
    assert_true(isnan(runs.runs[2].points[0].loss));
    advise_runs_fini(&runs);
}

static void mistakes_are_told_with_their_place(void **state)
{
    (void)state;
    refuses("", "header");
    refuses("#shoal-runs v2\nalgorithm\n", "#shoal-runs v1");
    refuses("algorithm,machines,iteration,time_s\na,1,1,1\n", "with a column 'loss'");
    refuses("algorithm,machine,iteration,time_s,loss\n", "with a column 'machines'");
    refuses("algorithm,machines,iteration,time_s,loss,loss\n", "twice");
    refuses(HEAD "a,0,1,,1,1,1\n", "line 3");
    refuses(HEAD "a,1.5,1,,1,1,1\n", "whole number");
    refuses(HEAD "a,1,-1,,1,1,1\n", "a size from 1e-09");
    refuses(HEAD "a,1,1,,1,1,low\n", "a loss");
    refuses(HEAD "a,1,1,,1,1h,1\n", "seconds");
    refuses(HEAD "a,1,1,,1,1\n", "7 fields");
    refuses(HEAD "a,1,1,,1,5,1\na,1,1,,2,4,0.9\n", "time goes backwards");
    refuses(HEAD "a,1,1,,2,5,1\na,1,1,,1,6,0.9\n", "iterations go backwards");
    refuses(HEAD "a,1,1,,2,5,1\na,1,1,,2,5,0.9\n", "a second time");
    refuses("{\"app\":\"mf\",\"workers\":2}", "no 'curve'");
    refuses("{\"app\":\"mf\",\"workers\":0,\"curve\":[[1,1,1]]}", "workers");
    refuses("{\"workers\":1,\"curve\":[[1,1,1]]}", "'algorithm'");
    refuses("{\"app\":\"mf\",\"workers\":2,\"curve\":[[1,1]]}", "not [iteration");
    refuses("{\"app\":\"mf\",\"workers\":2,\"curve\":[[1,1,1]]} x", "object 2");
    refuses("{\"app\":\"a\\u001b[2J\",\"workers\":2,\"curve\":[[1,1,1]]}", "control character");
    refuses("{\"error\":{\"code\":\"X\"}}", "failed");
    refuses("{\"app\":\"mf\",\"workers\":2,\"curve\":[],\"error\":{\"code\":\"X\"}}", "no 'curve'");
}

static void five_equal_runs_count_as_one(void **state)
{
    struct advise_runs runs;
    shoal_err err = SHOAL_ERR_INIT;
    char text[2000] = HEAD;

    (void)state;
    for (const char *label = "abcde"; *label != 0; label++)
        for (int i = 1; i <= 3; i++)
            snprintf(text + strlen(text), 60, "x,4,1,%c,%d,%d,%d\n", *label, i, 2 * i, 9 - i);
    strcat(text, "x,4,1,e,3,6,6\n"); /* a row twice */
    assert_int_equal(read_text(text, &runs, &err), SHOAL_OK);
    assert_int_equal(runs.count, 5);
    assert_int_equal(runs.copies, 4);
    assert_int_equal(runs.same_rows, 1);
    assert_false(runs.runs[0].copy);
    advise_runs_fini(&runs);
}

/* Losses of one run. */
static bool diverges(const char *losses)
{
    struct advise_runs runs;
    shoal_err err = SHOAL_ERR_INIT;
    char text[2000] = HEAD, words[500];

    snprintf(words, sizeof words, "%s", losses);
    int i = 0;
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " "), i++)
        snprintf(text + strlen(text), 60, "x,4,1,,%d,%d,%s\n", i, i, word);
    assert_int_equal(read_text(text, &runs, &err), SHOAL_OK);
    bool is = runs.runs[0].diverged;
    advise_runs_fini(&runs);
    return is;
}

static void what_rises_or_is_no_number_diverged(void **state)
{
    (void)state;
    assert_true(diverges("1 0.9 nan"));
    assert_true(diverges("1 inf 0.5"));
    assert_true(diverges("1 2 4 8 16 32 64"));
    assert_true(diverges("1 1e300"));
    assert_false(diverges("3 2 1 0.5 0.4 0.3"));
    assert_false(diverges("-3 -4 -5 -6 -7 -8"));
    assert_false(diverges("1 1.2 0.9 1.3 0.8 1.1 0.7 1.05")); /* noise around a fall */
    assert_false(diverges("1 1.5"));                          /* too few to say */
}

static void runs_whose_losses_do_not_begin_at_their_start_are_late(void **state)
{
    static const bool LATE[] = {false, false, false, true, true, true, false};
    struct advise_runs runs;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(read_text(HEAD "a,1,1,0,0,0,5\na,1,1,0,1,1,4\n"
                                    "a,1,1,1,1,1,5\na,1,1,1,1.5,2,4\n"
                                    /* each tenth iteration is judged */
                                    "a,1,1,2,10,1,5\na,1,1,2,20,2,4\n"
                                    "a,1,1,3,20,1,5\na,1,1,3,21,2,4\n"
                                    /* times are known from the start, losses are not */
                                    "a,1,1,4,0,0,\na,1,1,4,20,1,5\na,1,1,4,25,2,4\n"
                                    "a,1,1,5,20,1,5\n"
                                    "a,1,1,6,20,1,\na,1,1,6,21,2,\n",
                               &runs, &err),
                     SHOAL_OK);
    assert_int_equal(runs.count, sizeof LATE / sizeof *LATE);
    for (size_t i = 0; i < runs.count; i++)
        assert_int_equal(runs.runs[i].late, LATE[i]);
    advise_runs_fini(&runs);
}

static void json_of_a_training_run_is_read(void **state)
{
    struct advise_runs runs;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(
        read_text("{\"algorithm\":\"mf-als\",\"app\":\"mf\",\"name\":\"n\",\"machines\":4,"
                  "\"workers\":2,\"size\":7,\"curve\":[[1,0.5,3,9],[2,1,null,9],[4,2,1.5,9]]}\n"
                  "{\"app\":\"mf\",\"name\":\"n\",\"workers\":2,\"size\":null,\"curve\":[[1,1,1]]}"
                  "{\"app\":\"mf\",\"name\":\"n\",\"workers\":2,\"curve\":[[1,1,2]]}"
                  /* it ended, and its model could not be written */
                  "{\"app\":\"mf\",\"name\":\"m\",\"workers\":2,\"curve\":[[1,1,2],[2,2,1]],"
                  "\"error\":{\"code\":\"X\"}}",
                  &runs, &err),
        SHOAL_OK);
    assert_int_equal(runs.count, 4);
    assert_int_equal(runs.runs[3].count, 2);
    assert_string_equal(runs.algorithms[0], "mf-als");
    assert_int_equal(runs.runs[0].machines, 4);
    assert_true(runs.runs[0].size == 7 && runs.runs[1].size == 1);
    assert_int_equal(runs.runs[0].count, 3);
    assert_int_equal(runs.runs[0].losses, 2);
    assert_string_equal(runs.runs[2].label, "n #3");
    assert_true(runs.sizes_missing);
    assert_null(runs.sources[0].app);
    advise_runs_fini(&runs);
}

static void times_before_a_run_was_resumed_are_completed(void **state)
{
    struct advise_runs runs;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(
        read_text(/* resumed after 26 clocks, half a second each */
                  "{\"app\":\"a\",\"workers\":1,\"curve\":[[28,1,5],[30,2,4],[32,3,3]]}"
                  /* from the start: looks that are ever farther apart, and a slow first clock */
                  "{\"app\":\"a\",\"workers\":2,\"curve\":[[1,1,5],[2,1.5,4],[4,2.5,3]]}"
                  "{\"app\":\"a\",\"workers\":3,\"curve\":[[8,4,5],[10,5,4],[12,6,3]]}"
                  /* times that do not pass, clocks that are next to each other, one point */
                  "{\"app\":\"a\",\"workers\":4,\"curve\":[[8,0,5],[10,0,4]]}"
                  "{\"app\":\"a\",\"workers\":5,\"curve\":[[999999999999998,0,5],[999999999999999,"
                  "1e15,4]]}"
                  "{\"app\":\"a\",\"workers\":6,\"curve\":[[8,1,5]]}"
                  /* what a job says of itself counts: ever slower clocks, and one soon resumed */
                  "{\"app\":\"a\",\"workers\":7,\"resumed\":false,\"curve\":[[28,1,5],[30,2,4]]}"
                  "{\"app\":\"a\",\"workers\":8,\"resumed\":true,\"curve\":[[3,0.5,5],[5,1.5,4]]}"
                  "{\"app\":\"a\",\"workers\":9,\"resumed\":true,\"curve\":[[3,0.5,5]]}",
                  &runs, &err),
        SHOAL_OK);
    assert_int_equal(runs.resumed, 2);
    assert_true(runs.runs[6].points[0].time_s == 1 && runs.runs[7].points[0].time_s == 1.5);
    for (int k = 0; k < 3; k++)
        assert_true(runs.runs[0].points[k].time_s == 14 + k);
    assert_true(runs.runs[1].points[0].time_s == 1 && runs.runs[2].points[0].time_s == 4);
    assert_true(runs.runs[3].points[1].time_s == 0 && runs.runs[4].points[0].time_s == 0);
    advise_runs_fini(&runs);
}

static void how_training_ran_is_kept_where_it_can_be_given_again(void **state)
{
    struct advise_runs runs;
    shoal_err err = SHOAL_ERR_INIT;

    (void)state;
    assert_int_equal(
        read_text("{\"algorithm\":\"a\",\"app\":\"mf\",\"machines\":4,\"threads\":2,"
                  "\"options\":{\"rank\":\"8\",\"algorithm\":\"als\"},\"curve\":[[1,1,1]]}\n"
                  "{\"algorithm\":\"a\",\"app\":\"mf\",\"machines\":2,\"threads\":2,"
                  "\"options\":{\"rank\":\"9\"},\"curve\":[[1,1,1]]}\n"
                  "{\"algorithm\":\"b\",\"app\":\"mf\",\"machines\":2,\"threads\":2,"
                  "\"options\":{},\"curve\":[[1,1,1]]}\n"
                  "{\"algorithm\":\"b\",\"app\":\"mf\",\"machines\":1,\"threads\":4,"
                  "\"options\":{},\"curve\":[[1,1,1]]}\n"
                  "{\"algorithm\":\"c\",\"app\":\"mf\",\"machines\":1,"
                  "\"options\":{\"x\":\"1\\ny=2\"},\"curve\":[[1,1,1]]}\n",
                  &runs, &err),
        SHOAL_OK);
    assert_string_equal(runs.sources[0].app, "mf");
    assert_string_equal(runs.sources[0].settings, "rank=9\n"); /* the last run's */
    assert_int_equal(runs.sources[0].threads, 2);
    assert_string_equal(runs.sources[1].settings, "");
    assert_int_equal(runs.sources[1].threads, 0); /* not the same in all */
    assert_null(runs.sources[2].app);             /* a line within a line */
    advise_runs_fini(&runs);
}

static shoal_status read_both(const struct base_alloc *alloc, void *ctx)
{
    shoal_env *env = ctx;
    struct advise_runs runs;
    const struct base_alloc *was = env->alloc;

    env->alloc = alloc;
    advise_runs_init(&runs, alloc);
    shoal_status st = advise_runs_read(&runs, env, "a.csv", NULL);
    if (st == SHOAL_OK)
        st = advise_runs_finish(&runs, NULL);
    advise_runs_fini(&runs);
    env->alloc = was;
    return st;
}

static void short_memory_is_an_error(void **state)
{
    static const char TEXT[] = HEAD "a,1,10,,0,0,1\nb,2,10,x,0,0,1\na,1,10,,1,0.5,0.9\n";
    shoal_env *env = NULL;

    (void)state;
    assert_int_equal(shoal_env_sim_new(1, &env, NULL), SHOAL_OK);
    assert_int_equal(env_sim_put(env, "a.csv", TEXT, sizeof TEXT - 1), SHOAL_OK);
    torture_run(read_both, env);
    shoal_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_one_name_are_one_run),
        cmocka_unit_test(mistakes_are_told_with_their_place),
        cmocka_unit_test(five_equal_runs_count_as_one),
        cmocka_unit_test(what_rises_or_is_no_number_diverged),
        cmocka_unit_test(runs_whose_losses_do_not_begin_at_their_start_are_late),
        cmocka_unit_test(json_of_a_training_run_is_read),
        cmocka_unit_test(times_before_a_run_was_resumed_are_completed),
        cmocka_unit_test(how_training_ran_is_kept_where_it_can_be_given_again),
        cmocka_unit_test(short_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
