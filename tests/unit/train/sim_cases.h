/* sim_cases.h - tests that run one thing under many seeds, each of which can be run again alone.
 *
 * A program is a table of cases; a case is a claim and a function of the seed that returns what is
 * wrong, or NULL. SHOAL_SIM_SCALE (else SHOAL_TEST_SCALE) multiplies how many seeds each tries.
 * PROGRAM --seed N [--case NAME] runs that one seed with a log of its events; a failure says how. */
#ifndef TESTS_SIM_CASES_H
#define TESTS_SIM_CASES_H

#include "cluster.h"
#include "torture.h"
#include <signal.h>
#include <unistd.h>

struct sim_case {
    const char *name;
    uint64_t seeds;
    /* `c` is zero but for `log`; it is added up and freed by the caller. */
    const char *(*run)(struct cluster *c, uint64_t seed);
    /* After all seeds: what has to have occurred. */
    const char *(*covered)(const struct cluster_count *count);
};

static struct {
    const char *program;
    const struct sim_case *now;
    uint64_t seed;      /* that is running; 0: none */
    uint64_t only_seed; /* 0: all */
    char wrong[300];
} sim_cases;

__attribute__((format(printf, 1, 2), unused)) static const char *sim_wrong(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(sim_cases.wrong, sizeof sim_cases.wrong, format, list);
    va_end(list);
    return sim_cases.wrong;
}

/* How the job failed to end as it should; NULL: it ended well. */
__attribute__((unused)) static const char *sim_unwell(const struct cluster *c)
{
    return !c->over ? "it did not end" : c->status != SHOAL_OK ? c->err.message : NULL;
}

/* What happens to a job on one machine, by the seed: deaths anywhere, kills, other numbers of workers. */
__attribute__((unused)) static void sim_disturb_here(struct cluster *c, uint64_t seed)
{
    c->crash = seed % 4 == 0 ? 0 : 0.003;
    c->crash_left = 10;
    c->kill_mean_s = seed % 3 == 0 ? 0.02 : 0;
    c->kills_left = 5;
    c->scale_mean_s = seed % 2 == 0 ? 0.03 : 0;
    c->workers_max = 5;
}

/* And with workers on other machines. */
__attribute__((unused)) static void sim_disturb_there(struct cluster *c, uint64_t seed)
{
    c->workers = (uint32_t)(seed % 3);
    c->away = 1 + (uint32_t)(seed % 3);
    c->away_mean_s = 0.02;
    c->cut_mean_s = seed % 3 == 0 ? 0.5 : 0;
    c->slow_mean_s = seed % 5 == 0 ? 0.05 : 0;
    c->crash = 0.003;
    c->crash_left = 8;
    c->kill_mean_s = seed % 4 == 0 ? 0.05 : 0;
    c->kills_left = 5;
}

/* Workers here and on other machines that come at once, with any staleness: for tasks that want the
 * same shards at the same time. */
__attribute__((unused)) static void sim_disturb_clash(struct cluster *c, uint64_t seed)
{
    c->away = (uint32_t)(seed % 3);
    c->away_mean_s = 0.005;
    c->workers = 1 + (uint32_t)(seed % 2);
    c->crash = seed % 4 == 0 ? 0.003 : 0;
    c->crash_left = 5;
    c->kill_mean_s = seed % 5 == 0 ? 0.02 : 0;
    c->kills_left = 5;
    c->scale_mean_s = seed % 4 == 1 ? 0.02 : 0;
    c->workers_max = 4;
    c->staleness = (uint32_t)(seed % 4);
    c->lock_mean_s = seed % 2 ? 1e-3 : 0;
    c->net.delay_mean_s = 1e-4;
}

/* Threads, locks of others and a network that delays, repeats, reorders and drops. */
__attribute__((unused)) static void sim_disturb_words(struct cluster *c, uint64_t seed)
{
    static const double MEANS[] = {0, 1e-7, 1e-5, 1e-4, 1e-3};

    c->threads = 1 + (uint32_t)(seed % 2);
    c->lock_mean_s = seed % 3 == 1 ? 2e-3 : 0;
    c->net.delay_mean_s = MEANS[seed % 5];
    if (seed % 3 != 0)
        c->net.duplicate = c->net.reorder = c->net.drop = 0.02;
}

static void sim_tell(void)
{
    if (sim_cases.seed != 0 && sim_cases.only_seed == 0)
        fprintf(stderr, "seed %llu failed; to see it again: %s --seed %llu --case %s\n",
                (unsigned long long)sim_cases.seed, sim_cases.program,
                (unsigned long long)sim_cases.seed, sim_cases.now->name);
    sim_cases.seed = 0;
}

static void sim_died(int signal_number)
{
    sim_tell();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static uint64_t sim_seeds(uint64_t seeds)
{
    const char *scale = getenv("SHOAL_SIM_SCALE");
    int factor;

    if (scale == NULL)
        scale = getenv("SHOAL_TEST_SCALE");
    factor = scale == NULL ? 1 : atoi(scale);
    return factor > 1 ? seeds * (uint64_t)factor : seeds;
}

static void sim_show(const struct cluster_count *n)
{
#define SIM_SHOW(field) \
    if (n->field > 0)   \
    print_message(", %s %llu", #field, (unsigned long long)n->field)
    print_message("%llu seeds", (unsigned long long)n->seeds);
    SIM_SHOW(tasks);
    SIM_SHOW(far);
    SIM_SHOW(redone);
    SIM_SHOW(moves);
    SIM_SHOW(lost);
    SIM_SHOW(checked);
    SIM_SHOW(kills);
    SIM_SHOW(crashes);
    SIM_SHOW(crashes_far);
    SIM_SHOW(crashes_folding);
    SIM_SHOW(crashes_midrow);
    SIM_SHOW(crashes_holding);
    SIM_SHOW(again);
    SIM_SHOW(retries);
    SIM_SHOW(cuts);
    SIM_SHOW(long_cuts);
    SIM_SHOW(slows);
    SIM_SHOW(drains);
    SIM_SHOW(leaves);
    SIM_SHOW(deaf);
    SIM_SHOW(babblers);
    SIM_SHOW(scales);
    SIM_SHOW(locks);
    SIM_SHOW(stalled);
    SIM_SHOW(rejoins);
    print_message("\n");
#undef SIM_SHOW
}

static void sim_run_case(void **state)
{
    const struct sim_case *k = *state;
    uint64_t first = sim_cases.only_seed > 0 ? sim_cases.only_seed : 1;
    uint64_t last = sim_cases.only_seed > 0 ? sim_cases.only_seed : sim_seeds(k->seeds);
    struct cluster_count sum = {0};
    const char *wrong = NULL;

    sim_cases.now = k;
    for (uint64_t seed = first; seed <= last; seed++) {
        struct cluster c = {.log = sim_cases.only_seed > 0};
        sim_cases.seed = seed;
        wrong = k->run(&c, seed);
        if (wrong != NULL)
            fail_msg("%s", wrong);
        cluster_add(&sum, &c.count);
        cluster_free(&c);
    }
    sim_cases.seed = 0;
    sim_show(&sum);
    if (k->covered != NULL && sim_cases.only_seed == 0)
        wrong = k->covered(&sum);
    if (wrong != NULL)
        fail_msg("nothing to be seen of %s", wrong);
}

static int sim_after(void **state)
{
    (void)state;
    sim_tell();
    return 0;
}

__attribute__((unused)) static int sim_main(const struct sim_case *cases, size_t count, int argc,
                                            char **argv)
{
    struct CMUnitTest tests[32] = {{0}};
    size_t chosen = 0;
    const char *name = NULL;

    sim_cases.program = argv[0];
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0)
            sim_cases.only_seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--case") == 0)
            name = argv[i + 1];
    }
    for (size_t i = 0; i < count; i++)
        if (name == NULL || strcmp(name, cases[i].name) == 0)
            tests[chosen++] = (struct CMUnitTest){cases[i].name, sim_run_case, NULL, sim_after,
                                                  (void *)&cases[i]};
    if (chosen == 0) {
        fprintf(stderr, "no such case\n");
        return 2;
    }
    signal(SIGABRT, sim_died);
    return _cmocka_run_group_tests("simulation", tests, chosen, NULL, NULL);
}

#endif
