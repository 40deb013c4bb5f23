/* test_top_show.c - the pictures of `shoal top` from answers of jobs, whole, poor and absurd. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/top_show.h"
#include <stdio.h>
#include <string.h>

static const char STATUS[] =
    "{\"v\":1,\"value\":0.0762,\"progress\":0.42,\"units\":44800000,\"clocks\":1224,\"tasks\":3592,"
    "\"tasks_redone\":2,\"moves\":16,\"max_pause_ms\":6.92,\"workers\":2,\"workers_lost\":1,"
    "\"executors\":16,\"refused\":0,\"staleness\":[90,10],\"app\":\"kmeans\",\"objective\":\"mean "
    "squared distance\",\"unit\":\"points\",\"staleness_bound\":1,\"wanted\":2,"
    "\"units_per_s\":19800000,\"uptime_s\":130.4,\"history\":[8,7,6,5,4,3,2,1],"
    "\"tables\":[{\"name\":\"centres\",\"rows\":20,\"width\":2,\"shards\":1,\"held\":false,"
    "\"bytes\":160}],\"crew\":[{\"worker\":1,\"state\":\"up\",\"threads\":2,\"executors\":9,"
    "\"pid\":19792,\"busy\":0.65,\"away\":false,\"host\":\"vm\"},{\"worker\":3,\"state\":"
    "\"leaving\",\"threads\":1,\"executors\":7,\"pid\":19809,\"busy\":1.7,\"away\":true,\"host\":"
    "\"far\"}]}";

static struct train_listing job = {
    .name = "long", .app = "kmeans", .address = "127.0.0.1:1", .data = "points.csv", .pid = 7};

static struct base_buf out;

static const char *picture(const struct cli_top_look *look, const char *status, unsigned columns,
                           unsigned rows)
{
    struct cli_screen screen;
    json_t *answer = status != NULL ? json_loads(status, 0, NULL) : NULL;

    base_buf_fini(&out);
    base_buf_init(&out, &base_alloc_libc, 1 << 20);
    cli_screen_init(&screen, &base_alloc_libc);
    cli_screen_begin(&screen, columns, rows > 0 ? rows : cli_top_job_rows(answer));
    cli_top_job(&screen, look, &job, answer, "does not answer");
    cli_screen_plain(&screen, &out);
    assert_int_equal(base_buf_status(&out), SHOAL_OK);
    cli_screen_fini(&screen);
    json_decref(answer);
    return out.data;
}

static void a_snapshot_has_everything_and_no_bars(void **state)
{
    struct cli_top_look look = {.plain = true, .clock = ""};

    (void)state;
    assert_string_equal(picture(&look, STATUS, 600, 0),
                        " long  kmeans on points.csv  up 2m10s\n"
                        " objective  mean squared distance 0.0762\n"
                        " done       42 %  about 3m01s left\n"
                        " rate       19.8 M points/s   clock 1,224   3,592 tasks, 2 run again\n"
                        " staleness  0: 90 %   1: 10 %   bound 1\n"
                        " workers    2 up, 2 wanted here, 3 threads, 16 executors, 1 lost\n"
                        " moves      16, longest pause 6.9 ms\n"
                        " tables     centres 20 x 2, 1 shard, 160 B\n"
                        "\n"
                        "   WORKER  STATE    HOST            PID  THREADS  EXECUTORS   BUSY\n"
                        "        1  up       vm            19792        2          9   65 %\n"
                        "        3  leaving  far (joined)  19809        1          7  100 %\n");
}

static void checkpoints_are_counted_where_there_are_some(void **state)
{
    struct cli_top_look look = {.plain = true, .clock = ""};
    char status[sizeof STATUS + 200];

    (void)state;
    snprintf(status, sizeof status,
             "{\"checkpoints\":12,\"checkpoint_bytes\":5200000,\"checkpoint_age_s\":34.7,"
             "\"checkpoints_failed\":1,%s",
             STATUS + 1);
    assert_non_null(strstr(picture(&look, status, 600, 0),
                           " tables     centres 20 x 2, 1 shard, 160 B\n"
                           " saved      12 checkpoints, the last 34s ago, 5.2 MB, 1 failed\n"
                           "\n"
                           "   WORKER "));
    assert_non_null(strstr(out.data, "far (joined)"));
    assert_null(strstr(picture(&look, STATUS, 600, 0), "saved"));
}

static void a_worker_that_is_starting_has_no_pid(void **state)
{
    struct cli_top_look look = {.plain = true, .clock = ""};

    (void)state;
    assert_non_null(strstr(picture(&look,
                                   "{\"crew\":[{\"worker\":1,\"state\":\"starting\",\"threads\":0,"
                                   "\"executors\":0,\"busy\":0,\"pid\":null,\"host\":\"\"}]}",
                                   600, 0),
                           "   WORKER  STATE     HOST  PID  THREADS  EXECUTORS  BUSY\n"
                           "        1  starting                   0          0   0 %\n"));
}

static void a_terminal_gets_bars_a_history_and_keys(void **state)
{
    struct cli_top_look look = {.clock = "12:40:07", .note = "scaled to 3", .many = true};

    (void)state;
    assert_string_equal(
        picture(&look, STATUS, 80, 14),
        " long  kmeans on points.csv                          up 2m10s  12:40:07  ● live\n"
        " objective  mean squared distance 0.0762  █▇▆▅▄▃▂▁\n"
        " done       42 %  ████████▍             about 3m01s left\n"
        " rate       19.8 M points/s   clock 1,224   3,592 tasks, 2 run again\n"
        " staleness  0: 90 %   1: 10 %   bound 1\n"
        " workers    2 up, 2 wanted here, 3 threads, 16 executors, 1 lost\n"
        " moves      16, longest pause 6.9 ms\n"
        " tables     centres 20 x 2, 1 shard, 160 B\n"
        "\n"
        "   WORKER  STATE    HOST            PID  THREADS  EXECUTORS   BUSY\n"
        "        1  up       vm            19792        2          9   65 %  ██████▌\n"
        "        3  leaving  far (joined)  19809        1          7  100 %  ██████████\n"
        "\n"
        " q quit   + - workers   esc all jobs                                scaled to 3\n");
}

static void ascii_means_ascii(void **state)
{
    struct cli_top_look look = {.ascii = true, .clock = "12:40:07"};

    (void)state;
    strcpy(job.data, "a-very-long-name-of-a-file-of-points-that-does-not-fit-on-a-narrow-terminal");
    for (unsigned columns = 20; columns < 130; columns += 7)
        for (const char *p = picture(&look, STATUS, columns, 24); *p != 0; p++)
            assert_true(*p == '\n' || (*p >= ' ' && *p < 127));
    assert_non_null(strstr(picture(&look, STATUS, 80, 24), "..."));
    strcpy(job.data, "points.csv");
}

static void a_job_that_does_not_answer_is_shown_as_such(void **state)
{
    struct cli_top_look look = {.plain = true, .clock = ""};

    (void)state;
    assert_string_equal(picture(&look, NULL, 80, 0),
                        " long  kmeans on points.csv  does not answer\n");
    look.plain = false;
    look.clock = "12:40:07";
    assert_non_null(strstr(picture(&look, NULL, 80, 24), "● does not answer"));
}

static void answers_of_other_versions_and_of_madmen_do_no_harm(void **state)
{
    static const char *const ANSWERS[] = {
        "{}",
        "{\"v\":2,\"progress\":\"half\",\"value\":[],\"crew\":{},\"tables\":7,\"history\":null}",
        "{\"progress\":-7,\"units_per_s\":-1e300,\"clocks\":-5,\"tasks\":1e300,\"uptime_s\":1e18}",
        "{\"crew\":[1,null,{\"worker\":-1,\"busy\":-1e9,\"host\":\"\\u001b[2J\\n\"},[]]}",
        "{\"tables\":[{},{\"name\":\"\\u0007\",\"rows\":1e30,\"bytes\":1e30,\"shards\":null}]}",
        "{\"staleness\":[1e300,-1,\"x\",0,3],\"history\":[null,1,\"a\",2e300,-2e300]}",
    };
    struct cli_top_look look = {.clock = "12:40:07", .note = "note"};

    (void)state;
    for (size_t i = 0; i < sizeof ANSWERS / sizeof ANSWERS[0]; i++)
        for (unsigned columns = 1; columns < 130; columns += 9)
            for (unsigned rows = 1; rows < 30; rows += 3)
                for (int plain = 0; plain < 2; plain++) {
                    look.plain = plain != 0;
                    assert_null(strchr(picture(&look, ANSWERS[i], columns, rows), '\033'));
                }
}

static void of_many_workers_those_that_fit_are_shown_and_the_rest_counted(void **state)
{
    struct cli_top_look look = {.clock = "12:40:07"};
    char status[8192] = "{\"crew\":[";

    (void)state;
    for (int i = 1; i <= 40; i++) {
        size_t used = strlen(status);
        snprintf(status + used, sizeof status - used,
                 "%s{\"worker\":%d,\"state\":\"up\",\"threads\":1}", i > 1 ? "," : "", i);
    }
    strcat(status, "]}");
    const char *text = picture(&look, status, 80, 24);
    assert_non_null(strstr(text, "\n       12  up"));
    assert_non_null(strstr(text, "… 28 more\n q quit"));
    assert_null(strstr(text, "\n       13  up"));
}

static void all_jobs_have_a_row_each_and_the_chosen_one_a_mark(void **state)
{
    struct train_listing jobs[30];
    struct train_job_answer answers[30];
    struct cli_top_look look = {.clock = "12:40:07", .selected = 1};
    struct cli_screen screen;

    (void)state;
    memset(answers, 0, sizeof answers);
    for (int i = 0; i < 30; i++) {
        jobs[i] = job;
        snprintf(jobs[i].name, sizeof jobs[i].name, "job-%d", i);
    }
    strcpy(jobs[2].address, "-");
    answers[1].status = json_loads(STATUS, 0, NULL);
    cli_screen_init(&screen, &base_alloc_libc);
    cli_screen_begin(&screen, 90, 8);
    cli_top_all(&screen, &look, jobs, answers, 3);
    base_buf_fini(&out);
    base_buf_init(&out, &base_alloc_libc, 1 << 20);
    cli_screen_plain(&screen, &out);
    assert_string_equal(
        out.data,
        " 3 jobs                                                                          "
        "12:40:07\n"
        "\n"
        "   JOB    APP     STATE    WORKERS  DONE  OBJECTIVE             RATE  DATA\n"
        "   job-0  kmeans  silent         -     -          -                -  points.csv\n"
        " ▸ job-1  kmeans  running        2  42 %     0.0762  19.8 M points/s  points.csv\n"
        "   job-2  kmeans  loading        -     -          -                -  points.csv\n"
        "\n"
        " q quit   up down choose   enter open\n");
    for (look.selected = 0; look.selected < 30; look.selected++) {
        cli_screen_begin(&screen, 90, 8);
        cli_top_all(&screen, &look, jobs, answers, 30);
        base_buf_clear(&out);
        cli_screen_plain(&screen, &out);
        assert_non_null(strstr(out.data, "▸"));
    }
    json_decref(answers[1].status);
    cli_screen_fini(&screen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_snapshot_has_everything_and_no_bars),
        cmocka_unit_test(checkpoints_are_counted_where_there_are_some),
        cmocka_unit_test(a_worker_that_is_starting_has_no_pid),
        cmocka_unit_test(a_terminal_gets_bars_a_history_and_keys),
        cmocka_unit_test(ascii_means_ascii),
        cmocka_unit_test(a_job_that_does_not_answer_is_shown_as_such),
        cmocka_unit_test(answers_of_other_versions_and_of_madmen_do_no_harm),
        cmocka_unit_test(of_many_workers_those_that_fit_are_shown_and_the_rest_counted),
        cmocka_unit_test(all_jobs_have_a_row_each_and_the_chosen_one_a_mark),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);

    base_buf_fini(&out);
    return rc;
}
