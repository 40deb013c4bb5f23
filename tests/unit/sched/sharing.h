/* sharing.h - a world of jobs whose speed on each kind is given, for tests of sharing policies. */
#ifndef TESTS_UNIT_SCHED_SHARING_H
#define TESTS_UNIT_SCHED_SHARING_H

#include "unit/sched/world.h"

#include "base/assert.h"

enum { SHARING_ROWS = 128 };

static struct world sharing_world; /* large */
static struct sched_table sharing_table;
static uint32_t sharing_rows; /* in use: one per job */

/* Single-GPU jobs; `knob` may be NULL. */
static inline struct world *sharing_open(const char *policy, const char *spec, const char *knob)
{
    uint32_t gangs[SHARING_ROWS];

    for (uint32_t i = 0; i < SHARING_ROWS; i++)
        gangs[i] = 1;
    world_open(&sharing_world, sched_policy_find(policy, NULL), 1, spec);
    if (knob != NULL)
        world_set(&sharing_world, knob);
    world_begin(&sharing_world);
    assert_int_equal(sched_table_init(&sharing_table, &base_alloc_libc, &sharing_world.cluster,
                                      gangs, SHARING_ROWS),
                     SHOAL_OK);
    sharing_rows = 0;
    return &sharing_world;
}

/* A job of `steps` steps, speed (kinds) steps/s. */
static inline struct world_job *sharing_add(struct world *w, const double *speed, double steps)
{
    uint32_t row = sharing_rows++, kinds = 0;

    assert_true(row < SHARING_ROWS);
    for (uint32_t k = 0; k < w->cluster.kind_count; k++) {
        assert_int_equal(sched_table_set(&sharing_table, &sharing_table.packed[k], row, speed[k]),
                         SHOAL_OK);
        kinds |= (uint32_t)(speed[k] > 0) << k;
    }
    return world_add(w, 1, kinds, sched_model_table(&sharing_table, row, steps));
}

/* Rounds until all jobs ended, `most` at most. */
static inline void sharing_run(struct world *w, int most)
{
    for (int r = 0; r < most && w->job_count > 0; r++)
        world_round(w);
    assert_int_equal(w->job_count, 0);
}

static inline void sharing_close(struct world *w)
{
    world_close(w);
    sched_table_fini(&sharing_table);
}

/* Jobs that arrive together and are alike but for their length: all end as if they had 1/n. */
static inline void sharing_nobody_ends_later_than_on_a_share(const char *policy)
{
    struct world *w = sharing_open(policy, "2x1:v100,4x1:k80", NULL);

    for (int i = 0; i < 12; i++)
        sharing_add(w, (double[]){i % 3 + 1, 1}, 10000 + 4000 * i);
    sharing_run(w, 5000);
    for (uint32_t i = 0; i < w->all_count; i++) {
        double speed = i % 3 + 1.0, alone_s = w->all[i]->job.model.work / ((2 * speed + 4) / 12);
        assert_true(w->all[i]->end_s <= alone_s + 3 * w->round_s);
    }
    sharing_close(w);
}

/* A job of 6000 s that could not run for 48,000, when a fifth of the cluster would have ended it in
 * 30,000: it has fallen behind everybody else, and runs all the time but for `spare_s`. */
static inline void sharing_who_fell_behind_goes_first(const char *policy, double spare_s)
{
    struct world *w = sharing_open(policy, "1x1:v100,2x1:k80", NULL);
    struct world_job *late = sharing_add(w, (double[]){1, 0}, 6000);

    for (int i = 0; i < 4; i++)
        sharing_add(w, (double[]){1, 1}, 100000);
    world_fail(w, 0, true);
    for (int r = 0; r < 800; r++)
        world_round(w);
    assert_true(late->job.run_s == 0);
    world_repair(w, 0);
    double back_s = w->now_s;
    for (int r = 0; r < 200 && isnan(late->end_s); r++)
        world_round(w);
    assert_true(late->end_s - back_s <= 6000 + spare_s + 3 * w->round_s);
    sharing_close(w);
}

#endif
