/* test_advice.c - the sentences and the first step, from figures made by hand. */
#include "property.h"
#include "torture.h"

#include "base/rand.h"
#include "study/study.h"
#include <math.h>
#include <string.h>

enum { HOUR = 3600 };

/* All runs alike: 1,000 GPU-hours held of which 500 useful, 100 h of waiting, 40 h for locality. */
static void plain(struct study *s)
{
    *s =
        (struct study){.jobs = {.count = 100, .sizes = {10, 25, 40, 25}}, .quotas = {.none = true}};
    for (size_t r = 0; r < STUDY_RUNS + STUDY_ECHOES; r++) {
        struct study_run *run = r < STUDY_RUNS ? &s->runs[r] : &s->echoes[r - STUDY_RUNS];
        struct study_delay *all = run->tally.delays[STUDY_ALL];
        run->possible = true;
        run->books = (struct study_books){1000.0 * HOUR, 500.0 * HOUR, 500.0 * HOUR, 0, 0, 0, 0};
        run->tally.held_gpu_s = 1000.0 * HOUR;
        run->tally.utilization = 0.5;
        all[STUDY_WAITS].total_s = 100.0 * HOUR;
        all[SIM_WAIT_LOCALITY] = run->tally.delays[2][SIM_WAIT_LOCALITY] =
            (struct study_delay){10, 40.0 * HOUR, 600, 1200, 1300};
        all[SIM_WAIT_FAIR_SHARE].total_s = 50.0 * HOUR;
        all[SIM_WAIT_CAPACITY].total_s = 10.0 * HOUR;
    }
}

static void set_wait(struct study *s, enum study_run_id r, double locality_h, double all_h)
{
    s->runs[r].tally.delays[STUDY_ALL][SIM_WAIT_LOCALITY].total_s = locality_h * HOUR;
    s->runs[r].tally.delays[2][SIM_WAIT_LOCALITY].total_s = locality_h * HOUR;
    s->runs[r].tally.delays[STUDY_ALL][STUDY_WAITS].total_s = all_h * HOUR;
}

typedef void say_fn(const struct study *study, struct base_buf *out);

static void assert_says(const struct study *s, say_fn *say, const char *words)
{
    struct base_buf text;

    base_buf_init(&text, &base_alloc_libc, 1 << 16);
    say(s, &text);
    if (strstr(text.data, words) == NULL)
        fail_msg("expected '%s' in '%s'", words, text.data);
    assert_true(text.data[text.size - 1] == '.');
    base_buf_fini(&text);
}

static void assert_says_not(const struct study *s, say_fn *say, const char *words)
{
    struct base_buf text;

    base_buf_init(&text, &base_alloc_libc, 1 << 16);
    say(s, &text);
    if (strstr(text.data, words) != NULL)
        fail_msg("did not expect '%s' in '%s'", words, text.data);
    base_buf_fini(&text);
}

static void assert_says_nothing(const struct study *s, say_fn *say)
{
    struct base_buf text;

    base_buf_init(&text, &base_alloc_libc, 1 << 16);
    say(s, &text);
    assert_int_equal(text.size, 0);
    base_buf_fini(&text);
}

static void hours_are_written_with_their_digits(void **state)
{
    static const struct {
        double hours;
        const char *text;
    } rows[] = {{0, "0"},          {0.1234, "0.12"},  {9.99, "9.99"},
                {12.34, "12.3"},   {99.94, "99.9"},   {99.96, "100"},
                {12345, "12,345"}, {-5000, "-5,000"}, {NAN, "-"}};
    char text[48];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(study_hours(rows[i].hours * HOUR, text, sizeof text), rows[i].text);
}

static void the_first_step_cuts_fragmentation_and_costs_nothing(void **state)
{
    static struct study s;

    (void)state;
    plain(&s);
    assert_int_equal(study_first_step(&s), STUDY_BASE);
    assert_says(&s, study_say_first, "No guideline is worth beginning with");
    set_wait(&s, STUDY_MIGRATE, 10, 70);
    set_wait(&s, STUDY_DEDICATED, 5, 65);
    assert_int_equal(study_first_step(&s), STUDY_DEDICATED);
    s.runs[STUDY_DEDICATED].tally.utilization = 0.4; /* paid for by use */
    assert_int_equal(study_first_step(&s), STUDY_MIGRATE);
    assert_says(&s, study_say_first, "falls from 40.0 to 10.0 hours");
    set_wait(&s, STUDY_MIGRATE, 10, 170); /* paid for by other waiting */
    assert_int_equal(study_first_step(&s), STUDY_BASE);
    set_wait(&s, STUDY_MIGRATE, 10, 70);
    s.runs[STUDY_MIGRATE].possible = false;
    assert_int_equal(study_first_step(&s), STUDY_BASE);
}

static void gpu_time_comes_before_waiting_and_near_ties_go_to_less_waiting(void **state)
{
    static struct study s;

    (void)state;
    plain(&s);
    set_wait(&s, STUDY_MIGRATE, 4, 60); /* waits least, saves nothing */
    s.runs[STUDY_LOCALITY].tally.held_gpu_s = 800.0 * HOUR;
    assert_int_equal(study_first_step(&s), STUDY_LOCALITY);
    s.runs[STUDY_MIGRATE].tally.held_gpu_s = 810.0 * HOUR; /* saves 190 of 200: nearly as much */
    assert_int_equal(study_first_step(&s), STUDY_MIGRATE);
    s.runs[STUDY_MIGRATE].tally.held_gpu_s = 830.0 * HOUR;
    assert_int_equal(study_first_step(&s), STUDY_LOCALITY);
}

static void luck_is_no_reason(void **state)
{
    static struct study s;

    (void)state;
    plain(&s);
    set_wait(&s, STUDY_MIGRATE, 10, 70);
    s.echoes[1].tally.delays[STUDY_ALL][SIM_WAIT_LOCALITY].total_s = 5.0 * HOUR;
    assert_int_equal(study_first_step(&s), STUDY_BASE);
    s.runs[STUDY_RETRY].tally.held_gpu_s = 900.0 * HOUR;
    assert_int_equal(study_first_step(&s), STUDY_RETRY);
    assert_false(study_saved_is_luck(&s, STUDY_RETRY));
    s.echoes[0].tally.held_gpu_s = 1100.0 * HOUR;
    assert_int_equal(study_first_step(&s), STUDY_BASE);
    assert_true(study_saved_is_luck(&s, STUDY_RETRY));
    s.runs[STUDY_RETRY].books.saved_gpu_s = 90.0 * HOUR; /* what is held in all counts */
    assert_int_equal(study_first_step(&s), STUDY_BASE);
    assert_says(&s, study_say_luck, "Failures are one draw");
    assert_says(&s, study_say_luck, "100 GPU-hours held");
}

/* A second draw, like the first but for what the caller changes. */
static void draw_again(struct study *s, struct study_draw *more)
{
    *more = (struct study_draw){0};
    memcpy(more->runs, s->runs, sizeof more->runs);
    s->more = more;
    s->more_count = 1;
}

static void figures_that_vary_between_draws_are_told_as_ranges(void **state)
{
    static struct study s;
    static struct study_draw more;

    (void)state;
    plain(&s);
    set_wait(&s, STUDY_MIGRATE, 4, 60);
    s.runs[STUDY_MIGRATE].tally.held_gpu_s = 800.0 * HOUR;
    draw_again(&s, &more);
    assert_says(&s, study_say_first, "200 GPU-hours are saved"); /* the same twice is no range */
    more.runs[STUDY_MIGRATE].tally.held_gpu_s = 750.0 * HOUR;
    assert_says(&s, study_say_first, "200 GPU-hours (200 to 250 in 2 draws) are saved");
    assert_says(&s, study_say_luck, "Ranges are over 2 draws");
    assert_true(study_saved_range(&s, STUDY_MIGRATE).most == 250.0 * HOUR);
    more.runs[STUDY_BASE].books.lost_gpu_s = 450.0 * HOUR;
    assert_says(&s, study_say_failures, "500 GPU-hours (450 to 500 in 2 draws), 50 %");
    set_wait(&s, STUDY_TOGETHER, 10, 50);
    assert_says(&s, study_say_together, "4.0 times (1.0 to 4.0 in 2 draws), from 40.0 to 10.0");
    more.runs[STUDY_TOGETHER].tally.delays[STUDY_ALL][SIM_WAIT_LOCALITY].total_s = 50.0 * HOUR;
    assert_says(&s, study_say_together, "not sure");
}

static void what_changes_its_sign_between_draws_is_not_sure(void **state)
{
    static struct study s;
    static struct study_draw more;

    (void)state;
    plain(&s);
    s.runs[STUDY_RETRY].tally.held_gpu_s = 900.0 * HOUR;
    draw_again(&s, &more);
    assert_int_equal(study_first_step(&s), STUDY_RETRY);
    assert_false(study_saved_is_luck(&s, STUDY_RETRY));
    more.runs[STUDY_RETRY].tally.held_gpu_s = 1040.0 * HOUR; /* there it costs */
    assert_true(study_saved_is_luck(&s, STUDY_RETRY));
    assert_int_equal(study_first_step(&s), STUDY_BASE);
    assert_says(&s, study_say_first, "in every draw");
    assert_says(&s, study_say_unsure, "Not sure: retry only what can succeed; whether GPU time");
    s.runs[STUDY_RETRY].tally.held_gpu_s = 1000.5 * HOUR; /* too little for a word */
    more.runs[STUDY_RETRY].tally.held_gpu_s = 999.5 * HOUR;
    assert_says_nothing(&s, study_say_unsure);
    plain(&s);
    set_wait(&s, STUDY_MIGRATE, 10, 70);
    draw_again(&s, &more);
    assert_int_equal(study_first_step(&s), STUDY_MIGRATE);
    more.runs[STUDY_MIGRATE].tally.delays[STUDY_ALL][SIM_WAIT_LOCALITY].total_s = 41.0 * HOUR;
    assert_int_equal(study_first_step(&s), STUDY_BASE);
    assert_true(study_waited_is_luck(&s, STUDY_MIGRATE, SIM_WAIT_LOCALITY));
}

static void the_second_step_is_another(void **state)
{
    static struct study s;

    (void)state;
    plain(&s);
    set_wait(&s, STUDY_MIGRATE, 4, 60);
    s.runs[STUDY_MIGRATE].tally.held_gpu_s = 800.0 * HOUR;
    s.runs[STUDY_RETRY].tally.held_gpu_s = 900.0 * HOUR;
    assert_int_equal(study_first_step(&s), STUDY_MIGRATE);
    s.runs[STUDY_LOCALITY].tally.held_gpu_s = 500.0 * HOUR; /* overlaps with the first */
    assert_int_equal(study_second_step(&s), STUDY_RETRY);
    assert_says(&s, study_say_second, "100 GPU-hours are saved");
    assert_says_not(&s, study_say_first, "retry"); /* one remedy is said first */
}

/* Where jobs wait for other things, that they are scattered is no cause to act on, and no word. */
static void a_twentieth_of_the_waiting_is_a_cause_and_less_is_none(void **state)
{
    static struct study s;

    (void)state;
    plain(&s);
    for (size_t r = 0; r < STUDY_RUNS; r++)
        set_wait(&s, (enum study_run_id)r, 0.5, 100);
    for (size_t e = 0; e < STUDY_ECHOES; e++)
        s.echoes[e].tally = s.runs[STUDY_BASE].tally;
    set_wait(&s, STUDY_MIGRATE, 0.1, 99.6);
    assert_int_equal(study_first_step(&s), STUDY_BASE);
    s.runs[STUDY_LOCALITY].tally.held_gpu_s = 800.0 * HOUR;
    set_wait(&s, STUDY_LOCALITY, 2, 99);
    assert_int_equal(study_first_step(&s), STUDY_LOCALITY);
    assert_says_not(&s, study_say_first, "fragmentation");
    for (size_t e = 0; e < STUDY_ECHOES; e++)
        s.echoes[e].tally.delays[STUDY_ALL][SIM_WAIT_LOCALITY].total_s = 5.0 * HOUR;
    set_wait(&s, STUDY_BASE, 5, 100);
    s.runs[STUDY_LOCALITY].tally.held_gpu_s = 1000.0 * HOUR;
    assert_int_equal(study_first_step(&s), STUDY_MIGRATE);
}

static void what_is_lost_is_told_in_money_where_there_are_prices(void **state)
{
    static struct study s;
    struct sched_cluster cluster = {.kind_count = 2, .gpus = 4};

    (void)state;
    plain(&s);
    s.runs[STUDY_BASE].tally.slow_all_gpu_s = 100.0 * HOUR;
    assert_says(&s, study_say_lost,
                "600 GPU-hours are lost, by the model: 60 % of the GPU time that jobs hold, 50 % "
                "to attempts that fail, 10 % to slow places");
    cluster.kinds[0] = (struct sched_kind){.usd_gpu_h = 4, .gpus = 3};
    cluster.kinds[1] = (struct sched_kind){.usd_gpu_h = 0, .gpus = 1};
    s.cluster = &cluster;
    assert_says(&s, study_say_lost, "$1,800 is lost, by the model: 60 % of");
    s.runs[STUDY_RETRY].tally.held_gpu_s = 900.0 * HOUR;
    assert_says(&s, study_say_first, "$300 (100 GPU-hours) are saved");
    cluster.kinds[1].usd_gpu_h = -1;
    assert_true(isnan(study_usd_gpu_h(&s)));
    s.runs[STUDY_BASE].tally.slow_all_gpu_s = 0;
    assert_says(&s, study_say_lost, "all to attempts that fail");
    s.runs[STUDY_BASE].books.lost_gpu_s = 0;
    assert_says(&s, study_say_lost, "No GPU time is lost");
}

static void together_says_how_much_or_why_not(void **state)
{
    static struct study s;

    (void)state;
    plain(&s);
    set_wait(&s, STUDY_TOGETHER, 10, 50);
    assert_true(study_fragmentation_ratio(&s, STUDY_TOGETHER) == 4);
    assert_says(&s, study_say_together, "4.0 times, from 40.0 to 10.0 hours, at equal utilisation");
    set_wait(&s, STUDY_TOGETHER, 20, 50);
    set_wait(&s, STUDY_LOCALITY, 80, 150);
    assert_says(&s, study_say_together, "of what is left is of jobs of 5-8 GPUs");
    assert_says(&s, study_say_together, "'wait longer for locality' makes it worse (80.0 hours)");
    s.runs[STUDY_TOGETHER].tally.utilization = 0.4;
    assert_says(&s, study_say_together, "but at lower utilisation");
    set_wait(&s, STUDY_TOGETHER, 0, 50);
    assert_true(isinf(study_fragmentation_ratio(&s, STUDY_TOGETHER)));
    assert_says(&s, study_say_together, "end fragmentation waiting");
    set_wait(&s, STUDY_BASE, 0, 50);
    assert_true(study_fragmentation_ratio(&s, STUDY_TOGETHER) == 1);
    assert_says(&s, study_say_together, "Nobody waits because of fragmentation");
}

static void findings_name_the_worst(void **state)
{
    static struct study s;

    (void)state;
    plain(&s);
    assert_int_equal(study_worst_size(&s), 2);
    assert_says(&s, study_say_waiting, "40 % of it while enough GPUs were free");
    assert_says(&s, study_say_waiting,
                "jobs of 5-8 GPUs most often: 25 % of them (10), for 40.0 hours");
    assert_says_not(&s, study_say_waiting, "one in twenty"); /* of ten */
    assert_says(&s, study_say_speed, "No job was slowed down");
    s.unsuccessful[STUDY_ALL] = 17;
    s.lost[3] = (struct study_lost){.jobs = 15, .lost_gpu_s = 1};
    s.lost[8] = (struct study_lost){.jobs = 2, .lost_gpu_s = 100};
    assert_says(&s, study_say_failures, "17 % of the jobs (17)");
    assert_says(&s, study_say_failures, study_classes[3].name);
    assert_says(&s, study_say_failures, study_classes[8].name);
    s.opts.failures = SHOAL_STUDY_FAILURES_NONE;
    assert_says(&s, study_say_failures, "left out");
}

static void the_shares_of_waiting_are_whole(void **state)
{
    static struct study s;

    (void)state;
    plain(&s);
    s.runs[STUDY_BASE].tally.delays[STUDY_ALL][SIM_WAIT_OTHER].total_s = 0.5 * HOUR;
    assert_says(&s, study_say_waiting, "0.5 % until the next decision (next round)");
    assert_says(&s, study_say_waiting, "had used its quota");
    s.quotas.none = false; /* by share: nobody gave them */
    assert_says(&s, study_say_waiting, "had used its assumed quota");
    assert_non_null(strstr(study_quota_words(&s), "--quotas"));
    s.quotas.given = true;
    assert_string_equal(study_quota_words(&s), "");
}

static void how_often_and_how_long_are_told_apart(void **state)
{
    static struct study s;
    struct study_delay(*delays)[SIM_WAIT_COUNT + 1] = s.runs[STUDY_BASE].tally.delays;

    (void)state;
    plain(&s);
    s.jobs.sizes[1] = 1000;
    delays[1][SIM_WAIT_LOCALITY] = (struct study_delay){100, 90.0 * HOUR, 600, 1200, 1300};
    assert_int_equal(study_worst_size(&s), 2); /* 25 % of few against 10 % of many */
    assert_says(&s, study_say_waiting, "most hours, 90.0, are of jobs of 2-4 GPUs");
    s.jobs.sizes[3] = 2;
    delays[3][SIM_WAIT_LOCALITY] = (struct study_delay){2, 1.0 * HOUR, 600, 1200, 1300};
    assert_int_equal(study_worst_size(&s), 2); /* all of two jobs are no share */
    delays[2][SIM_WAIT_LOCALITY].jobs = 30;
    assert_says(&s, study_say_waiting, "one in twenty for");
}

static void what_gets_worse_is_said_with_what_gets_better(void **state)
{
    static struct study s;

    (void)state;
    plain(&s);
    set_wait(&s, STUDY_LOCALITY, 80, 100);
    s.runs[STUDY_LOCALITY].tally.held_gpu_s = 800.0 * HOUR;
    assert_int_equal(study_first_step(&s), STUDY_LOCALITY);
    assert_says(&s, study_say_first, "but fragmentation waiting grows from 40.0 to 80.0 hours");
    s.echoes[0].tally.delays[STUDY_ALL][SIM_WAIT_LOCALITY].total_s = 90.0 * HOUR; /* luck */
    assert_says_not(&s, study_say_first, "grows");
    assert_true(study_waited_is_luck(&s, STUDY_LOCALITY, SIM_WAIT_LOCALITY));
    assert_false(study_waited_is_luck(&s, STUDY_BASE, SIM_WAIT_LOCALITY));
}

static void few_jobs_are_called_few(void **state)
{
    static struct study s;

    (void)state;
    plain(&s);
    assert_says_not(&s, study_say_first, "single jobs");
    s.few = true;
    s.jobs.count = 3;
    s.opts.failures = SHOAL_STUDY_FAILURES_NONE;
    assert_says(&s, study_say_first, "a study of 3 jobs: differences are of single jobs");
    assert_says(&s, study_say_failures, "3 jobs are too few");
    assert_says_not(&s, study_say_luck, "one draw");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hours_are_written_with_their_digits),
        cmocka_unit_test(the_first_step_cuts_fragmentation_and_costs_nothing),
        cmocka_unit_test(gpu_time_comes_before_waiting_and_near_ties_go_to_less_waiting),
        cmocka_unit_test(luck_is_no_reason),
        cmocka_unit_test(figures_that_vary_between_draws_are_told_as_ranges),
        cmocka_unit_test(what_changes_its_sign_between_draws_is_not_sure),
        cmocka_unit_test(the_second_step_is_another),
        cmocka_unit_test(a_twentieth_of_the_waiting_is_a_cause_and_less_is_none),
        cmocka_unit_test(what_is_lost_is_told_in_money_where_there_are_prices),
        cmocka_unit_test(together_says_how_much_or_why_not),
        cmocka_unit_test(findings_name_the_worst),
        cmocka_unit_test(the_shares_of_waiting_are_whole),
        cmocka_unit_test(how_often_and_how_long_are_told_apart),
        cmocka_unit_test(what_gets_worse_is_said_with_what_gets_better),
        cmocka_unit_test(few_jobs_are_called_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
