/* ctest: timeout=1200 */
/* Whole jobs in simulation: the visibility rules hold and every task counts once, whatever dies,
 * comes, goes, is slow or is lost on the way. See sim_cases.h for how to run one seed again. */
#include "sim_cases.h"

#include "counted.h"
#include <math.h>

/* ---- nothing goes wrong ---- */

static const char *quiet(struct cluster *c, uint64_t seed)
{
    c->workers = 1 + (uint32_t)(seed % 4);
    c->threads = 1 + (uint32_t)(seed % 2);
    c->staleness = (uint32_t)(seed % 3);
    c->inside = seed % 4 == 0;
    c->net.delay_mean_s = some_delay(seed);
    cluster_begin(c, seed);
    run(c, 10, "");
    if (train_master_stats(c->master).tasks_redone != 0)
        return "a task was redone";
    return all_counted(c, 10, 1);
}

static const char *scaled(struct cluster *c, uint64_t seed)
{
    c->scale_mean_s = 0.01;
    c->workers_max = 7;
    c->workers = 2;
    c->staleness = (uint32_t)(seed % 3);
    c->net.delay_mean_s = some_delay(seed);
    cluster_begin(c, seed);
    run(c, 40, "");
    if (train_master_stats(c->master).tasks_redone != 0 ||
        train_master_stats(c->master).workers_lost != 0)
        return "a task was redone or a worker lost";
    return all_counted(c, 40, 1);
}

static const char *moved(const struct cluster_count *n)
{
    return n->moves < 10 * n->seeds ? "moves" : NULL;
}

static const char *drained(struct cluster *c, uint64_t seed)
{
    c->drain_mean_s = 0.01;
    c->workers = 2 + (uint32_t)(seed % 4);
    c->scale_mean_s = seed % 2 ? 0.02 : 0;
    c->workers_max = 6;
    c->staleness = (uint32_t)(seed % 3);
    c->away = seed % 3 == 0 ? 2 : 0;
    c->away_mean_s = 0.01;
    c->net = bad_net(seed, 0.02);
    cluster_begin(c, seed);
    run(c, 25, "");
    return all_counted(c, 25, 1);
}

static const char *left(const struct cluster_count *n)
{
    return n->drains == 0 ? "drains" : n->leaves == 0 ? "leaving" : NULL;
}

/* ---- everything does ---- */

static const char *tortured(struct cluster *c, uint64_t seed)
{
    char more[100];
    uint32_t tasks = 1 + (uint32_t)(seed % 11 == 0) * 2;

    c->crash = 0.002;
    c->crash_left = 10;
    c->kill_mean_s = seed % 3 == 0 ? 0 : 0.02;
    c->kills_left = 10;
    c->scale_mean_s = seed % 2 == 0 ? 0.03 : 0;
    c->workers_max = 6;
    c->slow_mean_s = seed % 5 == 0 ? 0.02 : 0;
    c->lock_mean_s = seed % 4 == 1 ? 3e-3 : 0;
    c->threads = 1 + (uint32_t)(seed % 2);
    c->staleness = (uint32_t)(seed % 4);
    c->net = bad_net(seed, 0.05);
    cluster_begin(c, seed);
    snprintf(more, sizeof more, "tasks=%u\nahead=%u\ndense=%s\nfactors=%s\nfresh=%s\nblind=%s",
             tasks, 1 + (uint32_t)(seed % 13 < 4) * 2, seed % 6 == 1 ? "true" : "false",
             seed % 6 == 2 ? "true" : "false", seed % 8 == 3 ? "true" : "false",
             seed % 9 == 4 ? "true" : "false");
    run(c, 12, more);
    return all_counted(c, 12, tasks);
}

static const char *tortured_enough(const struct cluster_count *n)
{
    return n->crashes_folding == 0   ? "deaths in a fold"
           : n->crashes_midrow == 0  ? "deaths in a row"
           : n->again == 0           ? "tasks that find something locked"
           : n->retries == 0         ? "a driver that finds something locked"
           : n->redone == 0          ? "tasks run again"
           : n->moves == 0           ? "moves"
           : n->slows == 0           ? "slow hosts"
           : n->kills < n->seeds / 2 ? "kills"
                                     : NULL;
}

static const char *afar(struct cluster *c, uint64_t seed)
{
    char more[100];
    bool blind = seed % 3 == 1; /* and run ahead */

    c->workers = (uint32_t)(seed % 3);
    c->away = 1 + (uint32_t)(seed % 3);
    c->away_mean_s = 0.02;
    c->cut_mean_s = seed % 2 == 0 ? 0.5 : 0;
    c->slow_mean_s = seed % 3 == 0 ? 0.05 : 0;
    c->lock_mean_s = seed % 2 == 0 ? 3e-3 : 0;
    c->crash = 0.001;
    c->crash_left = 4;
    c->kill_mean_s = seed % 5 == 0 ? 0.05 : 0;
    c->kills_left = 5;
    c->scale_mean_s = seed % 4 == 1 ? 0.1 : 0;
    c->workers_max = 3;
    c->staleness = (uint32_t)(seed % 4);
    c->net = bad_net(seed, 0.02);
    if (blind) {
        c->workers = 2;
        c->crash = 0.004;
        c->crash_left = 20;
    }
    cluster_begin(c, seed);
    snprintf(more, sizeof more, "ahead=%u\ndense=%s\nfactors=%s\nfresh=%s\nblind=%s",
             blind ? 4 : 1 + (uint32_t)(seed % 7 == 0) * 2, seed % 5 == 1 ? "true" : "false",
             seed % 5 == 2 ? "true" : "false", seed % 5 == 3 ? "true" : "false",
             blind ? "true" : "false");
    run(c, 30, more);
    return all_counted(c, 30, 1);
}

static const char *afar_enough(const struct cluster_count *n)
{
    return n->far * 4 < n->tasks     ? "tasks on other machines"
           : n->crashes_far == 0     ? "deaths on other machines"
           : n->cuts == 0            ? "cuts"
           : n->long_cuts == 0       ? "long cuts"
           : n->slows == 0           ? "slow hosts"
           : n->retries == 0         ? "a driver that finds something locked"
           : n->moves == 0           ? "moves"
           : n->lost < n->seeds / 10 ? "lost workers"
                                     : NULL;
}

/* Somebody has shards locked now and then, and nothing else goes wrong. */
static const char *locked(struct cluster *c, uint64_t seed)
{
    c->workers = 1 + (uint32_t)(seed % 2);
    c->away = 2;
    c->away_mean_s = 1e-3;
    c->lock_mean_s = 1e-3;
    c->staleness = (uint32_t)(seed % 4);
    c->net.delay_mean_s = some_delay(seed);
    cluster_begin(c, seed);
    run(c, 20, seed % 3 == 0 ? "" : "blind=true\nahead=4");
    if (train_master_stats(c->master).tasks_redone != 0 ||
        train_master_stats(c->master).workers_lost != 0)
        return "a task was redone or a worker lost";
    return all_counted(c, 20, 1);
}

static const char *locked_enough(const struct cluster_count *n)
{
    return n->again == 0           ? "tasks that find something locked"
           : n->retries == 0       ? "a driver that finds something locked"
           : n->far < n->tasks / 4 ? "tasks on other machines"
                                   : NULL;
}

/* ---- sums to the last bit ---- */

static const char *const BULK[] = {"reals=true", "reals=true\ndense=true\nfactors=true\ntasks=2"};

struct sums {
    bool have;
    float sums[ROWS * WIDTH], wide[WIDE_ROWS * WIDE_WIDTH];
};

static void sums_take(struct cluster *c, struct sums *out)
{
    struct train_box *box = train_master_box(c->master);

    memcpy(out->sums, train_box_rows(box, 1), sizeof out->sums);
    memcpy(out->wide, train_box_rows(box, 2), sizeof out->wide);
    out->have = true;
}

/* What one worker with one thread makes of it, undisturbed. */
static const struct sums *sums_expected(int kind)
{
    static struct sums sums[2];
    struct cluster c = {.workers = 1};

    if (sums[kind].have)
        return &sums[kind];
    cluster_begin(&c, 1);
    run(&c, 20, BULK[kind]);
    sums_take(&c, &sums[kind]);
    cluster_free(&c);
    return &sums[kind];
}

static const char *bulk(struct cluster *c, uint64_t seed)
{
    int kind = seed % 2;
    const struct sums *expected = sums_expected(kind);
    struct sums sums;

    c->workers = 1 << seed % 3;
    c->threads = 1 + (uint32_t)(seed % 3);
    c->crash = seed % 4 == 3 ? 0.002 : 0;
    c->crash_left = 10;
    c->kill_mean_s = seed % 5 == 0 ? 0.03 : 0;
    c->kills_left = 5;
    c->scale_mean_s = seed % 3 == 0 ? 0.02 : 0;
    c->workers_max = 6;
    c->lock_mean_s = seed % 3 == 1 ? 3e-3 : 0;
    c->away = seed % 7 == 0 ? 2 : 0;
    c->away_mean_s = 0.01;
    c->net.delay_mean_s = some_delay(seed);
    cluster_begin(c, seed);
    run(c, 20, BULK[kind]);
    if (ended_well(c) != NULL)
        return ended_well(c);
    sums_take(c, &sums);
    if (memcmp(sums.sums, expected->sums, sizeof sums.sums) != 0 ||
        memcmp(sums.wide, expected->wide, sizeof sums.wide) != 0)
        return "other sums than on one worker";
    return sums.sums[0] > 0 && sums.sums[0] != floorf(sums.sums[0]) ? NULL : "no reals";
}

static const char *bulk_enough(const struct cluster_count *n)
{
    return n->moves == 0 ? "moves" : n->crashes == 0 ? "deaths" : n->far == 0 ? "far tasks" : NULL;
}

/* ---- what an application does wrong, and the end ---- */

static const char *failing(struct cluster *c, uint64_t seed)
{
    c->staleness = (uint32_t)(seed % 3);
    c->away = seed % 2 ? 2 : 0;
    c->away_mean_s = 0.01;
    c->kill_mean_s = seed % 3 ? 0 : 0.02;
    c->kills_left = 3;
    c->net = bad_net(seed, 0.02);
    cluster_begin(c, seed);
    run(c, 20, "fail=5");
    if (!c->over || c->status != SHOAL_E_INVAL)
        return sim_wrong("it ended with %s", c->over ? shoal_status_name(c->status) : "nothing");
    return strcmp(c->err.message, "executor 3 has had enough") == 0 ? NULL : c->err.message;
}

static const char *deaf(struct cluster *c, uint64_t seed)
{
    c->deaf = 0.2;
    c->kill_mean_s = seed % 2 ? 1 : 0;
    c->kills_left = 5;
    c->scale_mean_s = seed % 3 ? 0 : 0.02;
    c->workers_max = 6;
    c->staleness = (uint32_t)(seed % 3);
    c->net.delay_mean_s = some_delay(seed);
    cluster_begin(c, seed);
    run(c, 12, "");
    return all_counted(c, 12, 1);
}

static const char *deaf_enough(const struct cluster_count *n)
{
    return n->deaf == 0 ? "deaf workers" : NULL;
}

static const char *all_deaf(struct cluster *c, uint64_t seed)
{
    c->deaf = 1;
    cluster_begin(c, seed);
    run(c, 12, "");
    if (!c->over || c->status != SHOAL_E_IO)
        return sim_wrong("it ended with %s", c->over ? shoal_status_name(c->status) : "nothing");
    return NULL;
}

static const char *babbled(struct cluster *c, uint64_t seed)
{
    c->babble_mean_s = 0.01;
    c->away = seed % 3 == 0 ? 2 : 0;
    c->away_mean_s = 0.02;
    c->scale_mean_s = seed % 4 == 0 ? 0.02 : 0;
    c->workers_max = 5;
    c->workers = 3;
    c->staleness = (uint32_t)(seed % 3);
    c->net = bad_net(seed, 0.01);
    cluster_begin(c, seed);
    run(c, 20, "");
    return all_counted(c, 20, 1);
}

static const char *babbled_enough(const struct cluster_count *n)
{
    return n->babblers < 2 * n->seeds ? "babblers" : NULL;
}

static const char *twice(struct cluster *c, uint64_t seed)
{
    uint64_t hash[2] = {0};

    for (int i = 0; i < 2; i++) {
        bool log = c->log && i == 0;
        if (i == 1)
            cluster_free(c);
        *c = (struct cluster){.log = log,
                              .crash = 0.001,
                              .crash_left = 5,
                              .kill_mean_s = 0.02,
                              .kills_left = 5,
                              .workers = 4,
                              .threads = 2,
                              .staleness = 1,
                              .net = {1e-3, 0.05, 0.05, 0.02},
                              .away = 1,
                              .away_mean_s = 0.02};
        cluster_begin(c, seed);
        run(c, 15, "");
        if (all_counted(c, 15, 1) != NULL)
            return all_counted(c, 15, 1);
        hash[i] = env_sim_hash(c->env);
    }
    return hash[0] == hash[1] ? NULL : "two runs of one seed differ";
}

/* Somebody has a shard locked who does not come back for a minute, or never. */
static const char *stays_locked(struct cluster *c, uint64_t seed)
{
    bool for_good = seed % 2 == 0;

    c->workers = 1 + (uint32_t)(seed % 3);
    c->staleness = 1;
    c->task_mean_s = 0.1;
    c->net.delay_mean_s = some_delay(seed);
    cluster_begin(c, seed);
    cluster_run(c, &WITNESS, "clocks=20\nstaleness=1", 0.5);
    struct box_shard *shard = train_master_box(c->master)->shards[4].shard;
    while (shard->lock != 0 && !c->over)
        env_sim_run(c->env, env_now_ns(c->env) + 1000, cluster_over, c);
    shard->lock = CLUSTER_LOCKER + 1;
    env_sim_run(c->env, env_now_ns(c->env) + UINT64_C(60000000000), cluster_over, c);
    if (c->over)
        return "it did not wait";
    if (!for_good)
        box_unlock(shard);
    env_sim_run(c->env, env_now_ns(c->env) + UINT64_C(4000000000000), cluster_over, c);
    if (!for_good)
        return all_counted(c, 20, 1);
    char words[100];
    snprintf(words, sizeof words,
             "waited for shard 1 of table 'sums' for more than 3600 s; worker %d", CLUSTER_LOCKER);
    return !c->over                                ? "it waits for ever"
           : strstr(c->err.message, words) == NULL ? sim_wrong("%s", c->err.message)
                                                   : NULL;
}

static const struct sim_case CASES[] = {
    {"a_shard_that_stays_locked_is_waited_for_an_hour_and_named", 6, stays_locked, NULL},
    {"a_quiet_job_counts_every_task_once", 40, quiet, NULL},
    {"scaling_moves_executors_and_redoes_nothing", 50, scaled, moved},
    {"workers_that_leave_take_nothing_along", 60, drained, left},
    {"kills_crashes_and_a_bad_network_lose_nothing", 600, tortured, tortured_enough},
    {"workers_elsewhere_come_go_and_are_cut_off_and_nothing_is_lost", 250, afar, afar_enough},
    {"locked_shards_delay_tasks_and_cost_nothing_else", 60, locked, locked_enough},
    {"bulk_synchronous_sums_are_equal_bit_for_bit_whatever_happens", 100, bulk, bulk_enough},
    {"an_error_of_a_task_ends_the_job_with_its_text", 20, failing, NULL},
    {"workers_that_never_join_are_replaced", 30, deaf, deaf_enough},
    {"a_job_whose_workers_never_join_says_so", 2, all_deaf, NULL},
    {"nonsense_from_a_peer_harms_no_job", 60, babbled, babbled_enough},
    {"equal_seeds_give_equal_runs", 3, twice, NULL},
};

int main(int argc, char **argv)
{
    return sim_main(CASES, sizeof CASES / sizeof CASES[0], argc, argv);
}
