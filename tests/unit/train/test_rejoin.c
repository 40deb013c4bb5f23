/* ctest: timeout=600 */
/* Workers elsewhere whose line is cut join again by themselves, and every task counts once. In
 * simulation; see sim_cases.h for how to run one seed again. */
#include "counted.h"

/* Workers come once, or hardly ever: what a cut takes away must come back by itself. */
static const char *partitioned(struct cluster *c, uint64_t seed)
{
    c->workers = (uint32_t)(seed % 2);
    c->away = 1 + (uint32_t)(seed % 3);
    c->away_mean_s = c->away == 1 ? 1e9 : 100;
    c->retry_ms = 3600 * 1000;
    c->cut_mean_s = 3;
    c->task_mean_s = 1;
    c->staleness = (uint32_t)(seed % 4);
    c->slow_mean_s = seed % 5 == 0 ? 20 : 0;
    c->net = bad_net(seed, seed % 2 ? 0.02 : 0);
    cluster_begin(c, seed);
    run(c, 30, seed % 3 == 0 ? "blind=true\nahead=4" : "");
    return all_counted(c, 30, 1);
}

static const char *came_back(const struct cluster_count *n)
{
    return n->rejoins < n->seeds ? "workers that joined again"
           : n->redone == 0      ? "tasks run again"
           : n->far == 0         ? "tasks elsewhere"
                                 : NULL;
}

static const char *bulk(struct cluster *c, uint64_t seed)
{
    static float expected[ROWS * WIDTH];
    const float *sums;

    if (seed == 1 || c->log) { /* what one worker makes of it, undisturbed */
        struct cluster quiet = {.workers = 1};
        cluster_begin(&quiet, 1);
        run(&quiet, 30, "reals=true");
        memcpy(expected, train_box_rows(train_master_box(quiet.master), 1), sizeof expected);
        cluster_free(&quiet);
    }
    c->away = 2;
    c->away_mean_s = 100;
    c->retry_ms = 3600 * 1000;
    c->cut_mean_s = 3;
    c->task_mean_s = 1;
    c->net = bad_net(seed, 0.01);
    cluster_begin(c, seed);
    run(c, 30, "reals=true");
    if (ended_well(c) != NULL)
        return ended_well(c);
    sums = train_box_rows(train_master_box(c->master), 1);
    return memcmp(sums, expected, sizeof expected) == 0 ? NULL : "other sums than on one worker";
}

/* Cut off from the driver for this long, in the middle of a job that only it works for. */
static void cut_for(struct cluster *c, uint64_t seed, double seconds)
{
    c->away = 1;
    c->away_mean_s = 1e9;
    c->retry_ms = 30000;
    c->task_mean_s = 1;
    cluster_begin(c, seed);
    cluster_run(c, &WITNESS, "clocks=10", 20);
    env_sim_cut(c->env, "home", CLUSTER_HOST[0], true);
    env_sim_run(c->env, env_now_ns(c->env) + (uint64_t)(1e9 * seconds), cluster_over, c);
    env_sim_cut(c->env, "home", CLUSTER_HOST[0], false);
    env_sim_run(c->env, env_now_ns(c->env) + UINT64_C(1000000000000), cluster_over, c);
}

/* Its line is dead after 10 s, and for 30 s more it tries. */
static const char *within(struct cluster *c, uint64_t seed)
{
    cut_for(c, seed, 25);
    return c->count.rejoins != 1 ? "it did not join again once" : all_counted(c, 10, 1);
}

static const char *beyond(struct cluster *c, uint64_t seed)
{
    cut_for(c, seed, 60);
    return c->over                 ? "nobody was there to end it"
           : c->process_count != 0 ? "it tries for ever"
           : strstr(c->last_err.message, "tried again for 30 s") == NULL ? c->last_err.message
                                                                         : NULL;
}

/* Asked to leave while there is nobody to leave. */
static const char *leaves(struct cluster *c, uint64_t seed)
{
    c->away = 1;
    c->away_mean_s = 1e9;
    c->retry_ms = 30000;
    c->task_mean_s = 1;
    cluster_begin(c, seed);
    cluster_run(c, &WITNESS, "clocks=10", 20);
    env_sim_cut(c->env, "home", CLUSTER_HOST[0], true);
    env_sim_run(c->env, env_now_ns(c->env) + UINT64_C(15000000000), cluster_over, c);
    if (c->process_count != 1 || c->count.rejoins != 1)
        return "it is not trying";
    train_joiner_leave(c->process[0]->worker);
    env_sim_run(c->env, env_now_ns(c->env) + UINT64_C(1000000), cluster_over, c);
    return c->process_count != 0          ? "it did not leave"
           : c->last_err.code != SHOAL_OK ? "not well"
                                          : NULL;
}

static const struct sim_case CASES[] = {
    {"workers_that_are_cut_off_come_back_and_every_task_counts_once", 80, partitioned, came_back},
    {"bulk_synchronous_sums_are_equal_bit_for_bit_after_cuts", 20, bulk, came_back},
    {"a_cut_within_the_time_is_mended", 5, within, NULL},
    {"a_cut_beyond_the_time_ends_with_words", 5, beyond, NULL},
    {"one_that_tries_again_leaves_at_once", 3, leaves, NULL},
};

int main(int argc, char **argv)
{
    return sim_main(CASES, sizeof CASES / sizeof CASES[0], argc, argv);
}
