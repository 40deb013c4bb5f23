/* counted.h - jobs of the counting application in simulation, and whether every task of them counted
 * once. */
#ifndef TESTS_COUNTED_H
#define TESTS_COUNTED_H

#include "counting_app.h"
#include "sim_cases.h"

/* Delays of all sizes, so that what happens at one time happens in either order. */
__attribute__((unused)) static double some_delay(uint64_t seed)
{
    static const double MEANS[] = {0, 1e-7, 1e-5, 1e-4, 1e-3};

    return MEANS[seed % 5];
}

__attribute__((unused)) static struct env_sim_net bad_net(uint64_t seed, double fault)
{
    struct env_sim_net net = {some_delay(seed), fault, fault, fault / 2};

    if (seed % 7 == 0)
        net.duplicate = net.reorder = net.drop = 0;
    return net;
}

/* The application must know the staleness to check it. */
__attribute__((unused)) static void run(struct cluster *c, uint64_t clocks, const char *more)
{
    char settings[200];

    snprintf(settings, sizeof settings, "clocks=%llu\nstaleness=%u\n%s", (unsigned long long)clocks,
             c->staleness, more);
    cluster_run(c, &WITNESS, settings, 100000);
}

__attribute__((unused)) static const char *ended_well(const struct cluster *c)
{
    if (sim_unwell(c) != NULL)
        return sim_unwell(c);
    return train_master_stats(c->master).violations > 0 ? "a violation" : NULL;
}

/* Every task of every executor took effect once. */
__attribute__((unused)) static const char *all_counted(struct cluster *c, uint64_t clocks,
                                                       uint64_t tasks)
{
    const struct witness_driver *d = shoal_driver_state(train_master_driver(c->master));
    struct train_box *box = train_master_box(c->master);
    const char *wrong = ended_well(c);
    double total = 0;

    if (wrong != NULL)
        return wrong;
    for (uint32_t e = 0; e < EXECUTORS; e++)
        if ((uint64_t)train_box_rows(box, 0)[e] != clocks * tasks)
            return sim_wrong("executor %u counted %g times", e, (double)train_box_rows(box, 0)[e]);
    for (uint32_t i = 0; i < ROWS * WIDTH; i++)
        total += (double)train_box_rows(box, 1)[i];
    for (uint32_t i = 0; i < WIDE_ROWS * WIDE_WIDTH; i++)
        total += (double)train_box_rows(box, 2)[i];
    if (total != (double)d->sum)
        return sim_wrong("%g in the tables, %llu told", total, (unsigned long long)d->sum);
    if (train_master_stats(c->master).tasks != EXECUTORS * clocks * tasks)
        return "not as many tasks as there were";
    return NULL;
}

#endif
