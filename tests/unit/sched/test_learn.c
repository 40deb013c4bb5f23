/* Tests of src/sched/learn.c: what jobs report, and what is made of it. */
#include "unit/sched/learn_world.h"

#include "sched/learn_parts.h"

/* ---- judging ---- */

struct odd {
    struct sched_report report;
    enum sched_refusal refusal;
};

static size_t odd_reports(struct odd *out)
{
    static const double no_times[] = {0, -1, NAN, INFINITY, -INFINITY};
    size_t n = 0;

#define ODD(why, field, value)                  \
    do {                                        \
        out[n].report = honest(0, 4, 64);       \
        out[n].report.field = (value);          \
        out[n++].refusal = SCHED_REFUSED_##why; \
    } while (0)
    ODD(COUNTS, gpus, 0);
    ODD(COUNTS, nodes, 0);
    ODD(COUNTS, nodes, 5);
    ODD(COUNTS, gpus, GPUS_MAX + 1);
    ODD(COUNTS, local, 0);
    ODD(COUNTS, local, 513);
    ODD(COUNTS, passes, 0);
    ODD(COUNTS, kind, KINDS);
    for (size_t i = 0; i < BASE_COUNT(no_times); i++) {
        ODD(TIMES, pass_s, no_times[i]);
        ODD(TIMES, step_s, no_times[i]);
    }
    ODD(STEPS, steps, 999);
    ODD(STEPS, steps, NAN);
    ODD(STEPS, steps, -1);
    ODD(STEPS, steps, INFINITY);
    ODD(PASS, pass_s, 10);
    ODD(FAR, pass_s, 1e-9);
    ODD(FAR, step_s, 1e6);
    ODD(FAR, pass_s, 0.01); /* the job said about 0.18 before */
    ODD(GRADIENT, grad_sqr, NAN);
    ODD(GRADIENT, grad_var, NAN);
    ODD(GRADIENT, grad_sqr, -1);
    ODD(GRADIENT, grad_var, -1);
    ODD(GRADIENT, grad_sqr, INFINITY);
#undef ODD
    return n;
}

static void each_sort_of_nonsense_is_refused_with_its_reason_and_changes_nothing(void **state)
{
    struct odd odds[64];
    size_t count = odd_reports(odds);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        struct sched_learn_job *job = new_job(NULL, 0);
        assert_int_equal(tell(job, honest(0, 4, 64)), SCHED_REFUSED_NOT);
        struct sched_adapt before = *sched_learn_known(job);
        struct sched_adapt_kind kinds[KINDS];
        memcpy(kinds, before.kind, sizeof kinds);
        enum sched_refusal refusal = tell(job, odds[i].report);
        if (refusal != odds[i].refusal)
            fail_msg("odd report %zu: %s, not %s", i, sched_refusal_text(refusal),
                     sched_refusal_text(odds[i].refusal));
        const struct sched_adapt *after = sched_learn_known(job);
        assert_memory_equal(after, &before, sizeof before);
        assert_memory_equal(after->kind, kinds, sizeof kinds);
        const struct sched_tally *tally = sched_learn_tally(job);
        assert_int_equal(tally->reports, 2);
        assert_int_equal(sched_tally_refused(tally), 1);
        assert_int_equal(tally->refused[odds[i].refusal], 1);
        sched_learn_job_free(job);
    }
}

static void a_report_about_places_the_job_does_not_hold_is_refused(void **state)
{
    struct sched_place places[2] = {{0, 4}, {1, 4}};
    struct sched_alloc held = {places, 1, 4, 0};
    struct sched_learn_job *job = new_job(NULL, 0);
    struct sched_report r = honest(0, 8, 64);

    (void)state;
    assert_int_equal(sched_learn_report(job, &r, &held), SCHED_REFUSED_PLACES);
    held = (struct sched_alloc){places, 2, 8, 1};
    assert_int_equal(sched_learn_report(job, &r, &held), SCHED_REFUSED_PLACES);
    held.kind = 0;
    assert_int_equal(sched_learn_report(job, &r, &held), SCHED_REFUSED_NOT);
    sched_learn_job_free(job);
}

static void a_gradient_that_is_refused_leaves_the_times_standing(void **state)
{
    struct sched_learn_job *job = new_job(NULL, 0);
    struct sched_report r = honest(0, 1, 64);

    (void)state;
    r.grad_var = NAN;
    assert_int_equal(tell(job, r), SCHED_REFUSED_GRADIENT);
    const struct sched_adapt *known = sched_learn_known(job);
    assert_int_equal(known->kind[0].gpus_seen, 1);
    assert_true(known->grad_sqr == 1 && known->grad_var == 0);
    sched_learn_job_free(job);
}

static void a_job_of_fixed_batch_needs_no_gradient(void **state)
{
    struct sched_limits fixed = limits;
    struct sched_learn_job *job = new_job(NULL, 0);
    struct sched_report r = honest(0, 1, 64);

    (void)state;
    fixed.batch_max = fixed.batch_initial;
    sched_learn_job_begin(job, NULL, 0, &fixed, 4);
    r.grad_sqr = r.grad_var = NAN;
    assert_int_equal(tell(job, r), SCHED_REFUSED_NOT);
    sched_learn_job_free(job);
}

static void a_wild_step_count_costs_two_reports_and_a_restart_none(void **state)
{
    struct sched_learn_job *job = new_job(NULL, 0);
    struct sched_report r = honest(0, 1, 64);

    (void)state;
    r.steps = 1e300;
    assert_int_equal(tell(job, r), SCHED_REFUSED_NOT);
    r.steps = 10;
    assert_int_equal(tell(job, r), SCHED_REFUSED_STEPS);
    r.steps = 11;
    assert_int_equal(tell(job, r), SCHED_REFUSED_NOT);
    sched_learn_job_restarted(job);
    r.steps = 5;
    assert_int_equal(tell(job, r), SCHED_REFUSED_NOT);
    sched_learn_job_free(job);
}

static void a_lasting_change_is_learnt_after_eight_reports(void **state)
{
    struct sched_learn_job *job = new_job(NULL, 0);
    struct sched_report r = honest(0, 1, 128);

    (void)state;
    for (int i = 0; i < 50; i++)
        assert_int_equal(tell(job, r), SCHED_REFUSED_NOT);
    double before = goodput(job, 0, 1);
    r.pass_s *= 20;
    r.step_s *= 20;
    for (int i = 0; i < 7; i++)
        assert_int_equal(tell(job, r), SCHED_REFUSED_FAR);
    assert_true(goodput(job, 0, 1) == before);
    assert_int_equal(tell(job, r), SCHED_REFUSED_NOT);
    assert_true(share_off(goodput(job, 0, 1), before / 20) < 1e-3);
    sched_learn_job_free(job);
}

/* ---- averaging ---- */

static void exact_reports_that_repeat_change_nothing(void **state)
{
    struct sched_learn_app *app = new_app();
    struct sched_learn_job *job = new_job(app, 0);

    (void)state;
    tour(job, NULL, 0, 16);
    uint64_t version = sched_learn_known(job)->version;
    for (int i = 0; i < 20; i++)
        tour(job, NULL, 0, 16);
    assert_int_equal(sched_learn_known(job)->version, version);
    sched_learn_job_free(job);
    sched_learn_app_free(app);
}

/* A pass that is known by one key is predicted as that key's mean. */
static double known_pass(struct sched_learn_job *job, double local)
{
    const struct shoal_goodput_speed *s = &sched_learn_known(job)->kind[0].speed;

    return s->grad_s + s->grad_each_s * local;
}

static void a_key_is_worth_the_mean_of_its_reports(void **state)
{
    struct base_rand r;
    double sum = 0;

    (void)state;
    base_rand_init(&r, 3, "mean");
    struct sched_learn_job *job = new_job(NULL, 0);
    for (int n = 1; n <= 100; n++) {
        struct sched_report report = honest(0, 1, 128);
        add_noise(&r, 0.2, &report);
        report.step_s = report.pass_s;
        sum += report.pass_s;
        (void)tell(job, report);
        assert_true(share_off(known_pass(job, 128), sum / n) < 0.021); /* news are 2 % and more */
    }
    sched_learn_job_free(job);
}

static void one_wild_report_moves_a_key_no_more_than_half_or_double_would(void **state)
{
    struct sched_learn_job *job = new_job(NULL, 0);
    struct sched_report r = honest(0, 1, 128);

    (void)state;
    for (int i = 0; i < 9; i++)
        (void)tell(job, r);
    double before = known_pass(job, 128);
    r.pass_s *= 7;
    r.step_s *= 7;
    assert_int_equal(tell(job, r), SCHED_REFUSED_NOT);
    assert_true(share_off(known_pass(job, 128), 1.1 * before) < 1e-3);
    sched_learn_job_free(job);
}

/* The median and the worst over many of how far goodput is off, after `tours` of 16 sizes. */
static void noise_case(double noise, int tours, bool shares, double *out_median, double *out_worst)
{
    double off[400];
    int count = 0, cases = 50;

    for (int c = 0; c < cases; c++) {
        struct base_rand r;
        base_rand_init(&r, (uint64_t)c, "noise");
        struct sched_learn_app *app = shares ? new_app() : NULL;
        struct sched_learn_job *job = new_job(app, 0);
        for (int i = 0; i < tours; i++)
            tour(job, &r, noise, 8);
        for (uint32_t g = 1; g <= 16; g *= 2)
            off[count++] = share_off(goodput(job, 0, g), true_goodput(0, g));
        sched_learn_job_free(job);
        sched_learn_app_free(app);
    }
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && off[j] < off[j - 1]; j--) {
            double t = off[j];
            off[j] = off[j - 1], off[j - 1] = t;
        }
    *out_median = off[count / 2];
    *out_worst = off[count - 1];
}

static void noise_of_a_fifth_is_averaged_away(void **state)
{
    static const struct {
        double noise;
        int tours;
        bool shares;
        double median, worst;
    } rows[] = {
        /* 8 GPUs are all it measured across nodes: that 16 add nothing is what Pollux expects */
        {0, 1, false, 0.001, 0.08},  {0.2, 1, false, 0.05, 0.25}, {0.2, 10, false, 0.02, 0.15},
        {0.5, 10, false, 0.06, 0.4}, {0, 1, true, 0.001, 0.02},   {0.2, 1, true, 0.05, 0.25},
        {0.2, 10, true, 0.02, 0.1},  {0.5, 10, true, 0.06, 0.2}};
    double median, worst;

    (void)state;
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        noise_case(rows[i].noise, rows[i].tours, rows[i].shares, &median, &worst);
        print_message("%s, noise %.1f, %d reports: median %.2f %%, worst %.2f %%\n",
                      rows[i].shares ? "shares" : "alone", rows[i].noise, 16 * rows[i].tours,
                      100 * median, 100 * worst);
        assert_true(median <= rows[i].median && worst <= rows[i].worst);
    }
}

/* ---- one number of GPUs ---- */

/* What is measured inside a node and across: so many numbers of GPUs, the first `least`. */
static uint32_t draw_samples(struct base_rand *r, const uint32_t numbers[2],
                             const uint32_t least[2], struct shoal_goodput_sample *out)
{
    uint32_t count = 0;

    out[count++] = (struct shoal_goodput_sample){1, 1, 32, 1, 1};
    for (uint32_t across = 0; across < 2; across++)
        for (uint32_t n = 0; n < numbers[across]; n++)
            for (uint32_t again = 1 + (uint32_t)base_rand_below(r, 3); again > 0; again--)
                out[count++] = (struct shoal_goodput_sample){1 + across, least[across] + n,
                                                             (double)(16 * again), 1, 1};
    return count;
}

static void what_was_measured_takes_as_long_however_it_is_divided(void **state)
{
    struct base_rand r;

    (void)state;
    base_rand_init(&r, 1, "divide");
    for (int c = 0; c < property_count(500); c++) {
        struct shoal_goodput_sample samples[40];
        struct shoal_goodput_speed was = {0.05, 0.002, 0, 0, 0, 0, base_rand_range(&r, 1, 10)};
        uint32_t numbers[2], least[2];
        for (int way = 0; way < 2; way++) {
            numbers[way] = (uint32_t)base_rand_below(&r, 4);
            least[way] = 2 + (uint32_t)base_rand_below(&r, 7);
        }
        was.local_s = exp(base_rand_range(&r, log(1e-8), 3));
        was.local_each_s = was.local_s * base_rand_range(&r, 0, 1);
        was.node_s = 1.1 * was.local_s, was.node_each_s = 1.1 * was.local_each_s;
        if (numbers[1] > 0) { /* else it is made of what is inside */
            was.node_s = exp(base_rand_range(&r, log(1e-8), 3));
            was.node_each_s = was.node_s * base_rand_range(&r, 0, 1);
        }
        uint32_t count = draw_samples(&r, numbers, least, samples);
        struct shoal_goodput_speed now = was;
        learn_divide(samples, count, &now);
        for (uint32_t i = 0; i < count; i++) {
            const struct shoal_goodput_sample *s = &samples[i];
            double a = shoal_goodput_step_s(&was, s->machines, s->replicas, s->local, 1);
            double b = shoal_goodput_step_s(&now, s->machines, s->replicas, s->local, 1);
            assert_true(fabs(a - b) <= 1e-12 * a);
        }
        bool inside = numbers[0] == 1 && least[0] > 2, across = numbers[1] == 1 && least[1] > 2;
        if (inside)
            assert_true(now.local_each_s == LEARN_EACH * now.local_s);
        else
            assert_true(now.local_s == was.local_s && now.local_each_s == was.local_each_s);
        if (across)
            assert_true(now.node_each_s == LEARN_EACH * now.node_s);
        else if (inside && numbers[1] == 0)
            assert_true(fabs(now.node_s / now.local_s - 1.1) < 1e-12 &&
                        fabs(now.node_each_s / now.local_each_s - 1.1) < 1e-12);
        else
            assert_true(now.node_s == was.node_s && now.node_each_s == was.node_each_s);
    }
}

/* ---- anything at all ---- */

static double any_double(struct base_rand *r)
{
    static const double odd[] = {0,      -0.0,     -1,    NAN, INFINITY, -INFINITY,
                                 1e-320, 1.7e+308, -1e-9, 1,   1e-6,     86400};

    return base_rand_below(r, 3) == 0 ? odd[base_rand_below(r, BASE_COUNT(odd))]
                                      : exp(base_rand_range(r, -20, 20));
}

static uint32_t any_count(struct base_rand *r, uint32_t most)
{
    switch (base_rand_below(r, 12)) {
    case 0: return 0;
    case 1: return UINT32_MAX;
    case 2: return (uint32_t)base_rand_u64(r);
    default: return 1 + (uint32_t)base_rand_below(r, most);
    }
}

static struct sched_report any_report(struct base_rand *r)
{
    struct sched_report report;

    if (base_rand_below(r, 2) == 0) {
        report =
            honest((uint32_t)base_rand_below(r, KINDS), 1 + (uint32_t)base_rand_below(r, GPUS_MAX),
                   1 + (uint32_t)base_rand_below(r, 256));
        report.pass_s *= exp(base_rand_range(r, -6, 6));
        report.step_s *= exp(base_rand_range(r, -6, 6));
        return report;
    }
    return (struct sched_report){.kind = any_count(r, KINDS) - 1,
                                 .nodes = any_count(r, 2),
                                 .gpus = any_count(r, GPUS_MAX),
                                 .local = any_count(r, 300),
                                 .passes = any_count(r, 3),
                                 .pass_s = any_double(r),
                                 .step_s = any_double(r),
                                 .grad_sqr = any_double(r),
                                 .grad_var = any_double(r),
                                 .steps = base_rand_below(r, 2) == 0 ? 1000 : any_double(r),
                                 .seen_rate = any_double(r)};
}

static void check_sound(struct sched_learn_job *job, int c)
{
    const struct sched_adapt *known = sched_learn_known(job);

    assert_true(isfinite(known->grad_sqr) && isfinite(known->grad_var));
    assert_true(known->grad_sqr > 0 && known->grad_var >= 0);
    for (uint32_t k = 0; k < KINDS; k++) {
        const double *speed = &known->kind[k].speed.grad_s;
        for (int i = 0; i < 7 && known->kind[k].gpus_seen > 0; i++)
            assert_true(isfinite(speed[i]) && speed[i] > 0);
        double one = goodput(job, k, 1);
        for (uint32_t g = 1; g <= known->gpus_max; g = g * 2 + (g == 4)) {
            double many = goodput(job, k, g);
            if (!(isfinite(many) && many >= 0 && many <= g * one * (1 + 1e-12)))
                fail_msg("case %d: goodput %g on %u GPUs of kind %u, %g on one", c, many, g, k,
                         one);
        }
    }
}

static void any_reports_leave_what_is_known_finite_and_at_most_linear(void **state)
{
    (void)state;
    for (int c = 0; c < property_count(40); c++) {
        struct base_rand r;
        struct sched_learn_app *app = c % 3 == 0 ? NULL : new_app();
        struct sched_learn_job *jobs[3];
        base_rand_init(&r, (uint64_t)c, "any");
        for (uint32_t i = 0; i < 3; i++)
            jobs[i] = new_job(app, i);
        uint64_t versions[3] = {0};
        for (int i = 0; i < 300; i++) {
            uint32_t who = (uint32_t)base_rand_below(&r, 3);
            (void)tell(jobs[who], any_report(&r));
            if (i % 20 == 0)
                check_sound(jobs[who], c);
            assert_true(sched_learn_known(jobs[who])->version >= versions[who]);
            versions[who] = sched_learn_known(jobs[who])->version;
        }
        for (uint32_t i = 0; i < 3; i++) {
            check_sound(jobs[i], c);
            assert_true(sched_tally_refused(sched_learn_tally(jobs[i])) <=
                        sched_learn_tally(jobs[i])->reports);
            sched_learn_job_free(jobs[i]);
        }
        sched_learn_app_free(app);
    }
}

static void equal_reports_give_equal_knowledge(void **state)
{
    struct base_rand r[2];
    struct sched_learn_job *jobs[2] = {new_job(NULL, 0), new_job(NULL, 0)};

    (void)state;
    for (int j = 0; j < 2; j++) {
        base_rand_init(&r[j], 5, "same");
        for (int i = 0; i < 300; i++)
            (void)tell(jobs[j], any_report(&r[j]));
    }
    const struct sched_adapt *a = sched_learn_known(jobs[0]), *b = sched_learn_known(jobs[1]);
    assert_memory_equal(a->kind, b->kind, KINDS * sizeof *a->kind);
    assert_int_equal(a->version, b->version);
    sched_learn_job_free(jobs[0]);
    sched_learn_job_free(jobs[1]);
}

/* ---- jobs nobody knows ---- */

static void a_job_whose_reports_are_all_refused_has_what_it_asked_for(void **state)
{
    struct sched_learn_job *job = new_job(NULL, 0);
    struct sched_report r = honest(0, 4, 64);

    (void)state;
    r.step_s = -1;
    r.seen_rate = 0.5;
    for (int i = 0; i < 7; i++)
        (void)tell(job, r);
    assert_int_equal(sched_adapt_seen(sched_learn_known(job), KINDS), 0);
    (void)tell(job, r);
    const struct sched_adapt *known = sched_learn_known(job);
    assert_int_equal(known->gpus_max, 4);
    assert_int_equal(sched_adapt_seen(known, KINDS), 4);
    assert_true(share_off(goodput(job, 0, 4), 4 * 0.5) < 1e-3); /* as fast as it was seen to be */
    assert_true(goodput(job, 0, 5) == 0);
    (void)tell(job, honest(0, 4, 64)); /* it has come to its senses */
    known = sched_learn_known(job);
    assert_int_equal(known->gpus_max, GPUS_MAX);
    assert_true(share_off(known_pass(job, 64), honest(0, 4, 64).pass_s) < 0.01);
    sched_learn_job_free(job);
}

static void thousands_of_shapes_leave_every_size_known(void **state)
{
    struct sched_learn_job *job = new_job(NULL, 0);

    (void)state;
    tour(job, NULL, 0, GPUS_MAX);
    for (uint32_t local = 1; local <= 512; local++)
        (void)tell(job, honest(0, 2, local));
    for (uint32_t g = 1; g <= GPUS_MAX; g *= 2)
        assert_true(share_off(goodput(job, 0, g), true_goodput(0, g)) < 0.03);
    sched_learn_job_free(job);
}

static shoal_status make_both(const struct base_alloc *alloc, void *ctx)
{
    struct sched_learn_app *app = NULL;
    struct sched_learn_job *job = NULL;

    (void)ctx;
    shoal_status st = sched_learn_app_new(alloc, KINDS, &app);
    if (st == SHOAL_OK)
        st = sched_learn_job_new(alloc, KINDS, &job);
    sched_learn_job_free(job);
    sched_learn_app_free(app);
    return st;
}

static void memory_that_runs_out_is_an_error(void **state)
{
    (void)state;
    torture_run(make_both, NULL);
}

int main(void)
{
#define CASE(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        CASE(each_sort_of_nonsense_is_refused_with_its_reason_and_changes_nothing),
        CASE(a_report_about_places_the_job_does_not_hold_is_refused),
        CASE(a_gradient_that_is_refused_leaves_the_times_standing),
        CASE(a_job_of_fixed_batch_needs_no_gradient),
        CASE(a_wild_step_count_costs_two_reports_and_a_restart_none),
        CASE(a_lasting_change_is_learnt_after_eight_reports),
        CASE(exact_reports_that_repeat_change_nothing),
        CASE(a_key_is_worth_the_mean_of_its_reports),
        CASE(one_wild_report_moves_a_key_no_more_than_half_or_double_would),
        CASE(noise_of_a_fifth_is_averaged_away),
        CASE(what_was_measured_takes_as_long_however_it_is_divided),
        CASE(any_reports_leave_what_is_known_finite_and_at_most_linear),
        CASE(equal_reports_give_equal_knowledge),
        CASE(a_job_whose_reports_are_all_refused_has_what_it_asked_for),
        CASE(thousands_of_shapes_leave_every_size_known),
        CASE(memory_that_runs_out_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
