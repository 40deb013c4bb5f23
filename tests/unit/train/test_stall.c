/* ctest: timeout=600 */
/* Joined workers that take work and end none of it are let go, honest ones with long tasks are not, and
 * every task counts once whatever they say when it is too late. In simulation; see sim_cases.h for how
 * to run one seed again. */
#include "counted.h"

#include "fake_worker.h"

static const double SECOND_NS = 1e9;

static bool is_far(const struct cluster_process *p)
{
    return p->slot == 0;
}

/* What the fake worker was told when it was turned away; "": it was not. */
static const char *told(const struct fake *f)
{
    const struct word *word = fake_find(f, TRAIN_REFUSED, UINT32_MAX);

    return word != NULL ? ((const struct train_failed *)(const void *)word->bytes)->message : "";
}

/* A job of one worker here, whose first tasks have not begun: all is in the hands of a fake one. */
static void hoard(struct cluster *c, struct fake *f, uint64_t seed, uint32_t threads)
{
    struct train_join join = {.threads = threads, .host = "fake"};

    c->workers = 1;
    c->staleness = 1;
    c->stall_ms = 60000;
    cluster_begin(c, seed);
    cluster_run(c, &WITNESS, "clocks=6\nstaleness=1", 1e-9);
    fake_come(f, c, &join, true);
}

static const char *many_threads(struct cluster *c, uint64_t seed)
{
    struct fake f;

    hoard(c, &f, seed, seed % 2 == 0 ? UINT32_MAX : 4097);
    go_on(c, 1);
    bool refused = strstr(told(&f), "threads; at most 4096 are taken") != NULL &&
                   fake_find(&f, TRAIN_SETUP, UINT32_MAX) == NULL;
    fake_free(&f);
    go_on(c, 10);
    return !refused                                     ? "it was not refused with words"
           : train_master_stats(c->master).refused != 1 ? "nobody was told that it was refused"
           : strstr(train_master_refusal(c->master), "threads") == NULL ? "nor why"
                                                                        : all_counted(c, 6, 1);
}

static const char *hoarded(struct cluster *c, uint64_t seed)
{
    struct fake f;

    hoard(c, &f, seed, 4096);
    go_on(c, 50);
    bool waited = !c->over && told(&f)[0] == 0;
    go_on(c, 20);
    struct train_stats s = train_master_stats(c->master);
    c->count.stalled = s.workers_stalled;
    bool said = strstr(told(&f), "finished no task") != NULL &&
                strstr(train_master_refusal(c->master), "finished no task") != NULL;
    fake_free(&f);
    return !waited                                         ? "the job did not wait for it"
           : !said                                         ? "it was let go without a word"
           : s.workers_stalled != 1 || s.workers_lost != 1 ? "it was not let go once"
                                                           : all_counted(c, 6, 1);
}

/* What it says to executors that it had is not heard, and costs it its connection. */
static const char *hoarded_late(struct cluster *c, uint64_t seed)
{
    unsigned char bytes[sizeof(struct train_ended) + 104] = {0};
    struct fake f;

    hoard(c, &f, seed, 4096);
    c->task_s = NULL;
    go_on(c, 65);
    const struct word *adopted = fake_find(&f, TRAIN_ADOPT, UINT32_MAX);
    if (adopted == NULL || told(&f)[0] == 0)
        return "it had nothing, or was not let go";
    struct train_ended ended = {
        .executor = adopted->bytes[0], .epoch = adopted->bytes[1], .number = 1, .size = 104};
    struct train_unit unit = {adopted->bytes[0], adopted->bytes[1]};
    memcpy(bytes, &ended, sizeof ended);
    fake_say(&f, seed % 2 == 0 ? TRAIN_COMMIT : TRAIN_RELEASED,
             seed % 2 == 0 ? (const void *)bytes : &unit,
             seed % 2 == 0 ? sizeof bytes : sizeof unit);
    go_on(c, 10);
    bool closed = f.closed || c->over;
    fake_free(&f);
    return !closed ? "it is still heard" : all_counted(c, 6, 1);
}

/* ---- late answers of true workers ---- */

static double about_a_second(struct cluster *c, const struct cluster_process *p,
                             const struct train_task_spec *spec)
{
    (void)spec;
    return base_rand_exp(&c->rand, is_far(p) ? 1 : 1e-3);
}

/* Tasks elsewhere take about as long as they may, so that answers and the end of patience cross. */
static const char *crossing(struct cluster *c, uint64_t seed)
{
    c->workers = 1 + (uint32_t)(seed % 2);
    c->away = 1 + (uint32_t)(seed % 3);
    c->away_mean_s = 0.05;
    c->staleness = (uint32_t)(seed % 4);
    c->stall_ms = 1000;
    c->task_s = about_a_second;
    c->net = bad_net(seed, seed % 2 ? 0.02 : 0);
    cluster_begin(c, seed);
    run(c, 12, seed % 3 == 0 ? "blind=true\nahead=4" : "");
    return all_counted(c, 12, 1);
}

static const char *crossed(const struct cluster_count *n)
{
    return n->stalled < n->seeds ? "workers that are let go"
           : n->far < n->seeds   ? "tasks that ended elsewhere in time"
           : n->redone == 0      ? "tasks run again"
                                 : NULL;
}

/* ---- one task that hangs, in a worker that ends others ---- */

static double one_hangs(struct cluster *c, const struct cluster_process *p,
                        const struct train_task_spec *spec)
{
    return is_far(p) && spec->executor == c->process_id % EXECUTORS ? 1e9
                                                                    : base_rand_exp(&c->rand, 1e-3);
}

static const char *sitting(struct cluster *c, uint64_t seed)
{
    c->workers = 1;
    c->away = 1;
    c->away_mean_s = 0.01;
    c->staleness = (uint32_t)(seed % 3);
    c->stall_ms = 1000;
    c->task_s = one_hangs;
    c->net.delay_mean_s = 1e-4;
    cluster_begin(c, seed);
    run(c, 20, "");
    return all_counted(c, 20, 1);
}

static const char *sat(const struct cluster_count *n)
{
    return n->stalled == 0 ? "a worker that is let go" : n->far == 0 ? "far tasks" : NULL;
}

/* ---- honest ones ---- */

/* All take minutes, those elsewhere up to five times as long; nobody is let go after a second. */
static double minutes(struct cluster *c, const struct cluster_process *p,
                      const struct train_task_spec *spec)
{
    double slower = is_far(p) ? 1 + 4 * base_rand_unit(&c->rand) : 1;

    (void)spec;
    return 100 * slower * (0.8 + 0.4 * base_rand_unit(&c->rand));
}

static const char *honest(struct cluster *c, uint64_t seed)
{
    c->workers = 1 + (uint32_t)(seed % 2);
    c->threads = 1 + (uint32_t)(seed % 2);
    c->away = 1 + (uint32_t)(seed % 2);
    c->away_mean_s = 0.05;
    c->staleness = (uint32_t)(seed % 3);
    c->stall_ms = 1000;
    c->task_s = minutes;
    c->net.delay_mean_s = some_delay(seed);
    cluster_begin(c, seed);
    run(c, 6, "");
    struct train_stats s = train_master_stats(c->master);
    if (s.workers_stalled != 0 || s.tasks_redone != 0)
        return sim_wrong("%u let go, %llu tasks run again", s.workers_stalled,
                         (unsigned long long)s.tasks_redone);
    return all_counted(c, 6, 1);
}

static const char *was_far(const struct cluster_count *n)
{
    return n->far < n->tasks / 10 ? "tasks elsewhere" : NULL;
}

/* Without workers here nobody tells what a task takes: the limit grows until one ends. */
static const char *alone(struct cluster *c, uint64_t seed)
{
    c->away = 1 + (uint32_t)(seed % 3);
    c->away_mean_s = 0.05;
    c->staleness = (uint32_t)(seed % 3);
    c->stall_ms = 1000;
    c->task_s = minutes;
    c->net.delay_mean_s = some_delay(seed);
    cluster_begin(c, seed);
    run(c, 4, "");
    return all_counted(c, 4, 1);
}

/* ---- a driver that is in a hook for long ---- */

static struct cluster *hooked;

static shoal_status absent_done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    env_sim_advance(hooked->env, (uint64_t)(1.5 * SECOND_NS)); /* more than the workers may take */
    return witness_done(driver, done, err);
}

static double half_a_second(struct cluster *c, const struct cluster_process *p,
                            const struct train_task_spec *spec)
{
    (void)c;
    (void)spec;
    return is_far(p) ? 0.5 : 1e-3;
}

static const char *absent(struct cluster *c, uint64_t seed)
{
    shoal_app app = WITNESS;
    char settings[64];

    app.done = absent_done;
    hooked = c;
    c->workers = 1;
    c->away = 1 + (uint32_t)(seed % 2);
    c->away_mean_s = 0.05;
    c->staleness = (uint32_t)(seed % 3);
    c->stall_ms = 1000;
    c->task_s = half_a_second;
    cluster_begin(c, seed);
    snprintf(settings, sizeof settings, "clocks=6\nstaleness=%u", c->staleness);
    cluster_run(c, &app, settings, 1e5);
    if (train_master_stats(c->master).workers_stalled != 0)
        return "a worker was let go for the driver's absence";
    return all_counted(c, 6, 1);
}

/* ---- executors that are asked back ---- */

static double first_is_long(struct cluster *c, const struct cluster_process *p,
                            const struct train_task_spec *spec)
{
    (void)c;
    (void)p;
    return spec->executor == 0 && spec->number == 1 ? 30 : 1e-3;
}

/* While one task is long here, the others rest; a fake worker is given some of those, has no task, and
 * does not let them go when they are asked back. */
static const char *kept_back(struct cluster *c, uint64_t seed)
{
    struct fake f;

    c->workers = 1;
    c->threads = 2;
    c->stall_ms = 1000;
    c->task_s = first_is_long;
    cluster_begin(c, seed);
    cluster_run(c, &WITNESS, "clocks=6", 5);
    fake_come(&f, c, &(struct train_join){.threads = 4, .host = "fake"}, true);
    go_on(c, 1);
    bool rested = fake_find(&f, TRAIN_ADOPT, UINT32_MAX) != NULL &&
                  fake_find(&f, TRAIN_TASK, UINT32_MAX) == NULL;
    bool scaled = train_master_scale(c->master, 4, NULL) == SHOAL_OK;
    go_on(c, 5);
    bool asked = fake_find(&f, TRAIN_RELEASE, UINT32_MAX) != NULL, over = c->over;
    bool gone = strstr(told(&f), "finished no task") != NULL;
    fake_free(&f);
    go_on(c, 1000);
    return !rested || !scaled || !asked || over ? "nothing was asked back from one that rests"
           : !gone                              ? "it was not let go"
                                                : all_counted(c, 6, 1);
}

/* ---- what is still on the line ---- */

static shoal_status large_plan(shoal_driver *driver, shoal_err *err)
{
    shoal_status st = witness_plan(driver, err);

    for (uint32_t e = 0; e < EXECUTORS && st == SHOAL_OK; e++)
        if (shoal_driver_block(driver, e, 2 << 20) == NULL)
            st = base_err_nomem(err, "planning");
    return st;
}

static bool has_far_executors(const struct cluster *c)
{
    struct train_worker_info info;
    bool found = false;

    for (uint32_t i = 0; train_master_worker(c->master, i, &info) == SHOAL_OK; i++)
        found = found || (info.away && info.executors > 0);
    return found;
}

/* Megabytes are sent before the first task, and for longer than it may take nothing arrives. */
static const char *on_the_line(struct cluster *c, uint64_t seed)
{
    shoal_app app = WITNESS;

    app.plan = large_plan;
    c->workers = 1;
    c->away = 1;
    c->away_mean_s = 1e9;
    c->stall_ms = 3000;
    c->task_mean_s = 0.1;
    c->net.delay_mean_s = 1e-4;
    cluster_begin(c, seed);
    cluster_run(c, &app, "clocks=6", 1e-6);
    while (!c->over && !has_far_executors(c))
        go_on(c, 1e-6);
    env_sim_cut(c->env, "home", CLUSTER_HOST[0], true);
    go_on(c, 7);
    env_sim_cut(c->env, "home", CLUSTER_HOST[0], false);
    go_on(c, 1000);
    if (train_master_stats(c->master).workers_stalled != 0)
        return "it was let go for what had not arrived";
    return all_counted(c, 6, 1);
}

static const struct sim_case CASES[] = {
    {"a_worker_that_keeps_what_is_asked_back_is_let_go", 5, kept_back, NULL},
    {"nobody_is_let_go_for_what_is_still_on_the_line", 5, on_the_line, NULL},
    {"a_worker_that_claims_too_many_threads_is_refused_with_words", 2, many_threads, NULL},
    {"a_worker_that_runs_nothing_is_let_go_and_the_job_ends", 10, hoarded, NULL},
    {"what_is_said_after_that_is_not_heard", 4, hoarded_late, NULL},
    {"answers_that_come_too_late_are_not_applied_twice", 60, crossing, crossed},
    {"a_worker_that_sits_on_one_task_is_let_go", 10, sitting, sat},
    {"honest_workers_with_long_tasks_stay", 20, honest, was_far},
    {"tasks_of_any_length_end_without_workers_here", 20, alone, NULL},
    {"nobody_is_let_go_for_the_driver_s_absence", 6, absent, was_far},
};

int main(int argc, char **argv)
{
    return sim_main(CASES, sizeof CASES / sizeof CASES[0], argc, argv);
}
