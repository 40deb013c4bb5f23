/* learn_parts.h - private to learn.c (one job) and learn_app.c (what jobs share). */
#ifndef SCHED_LEARN_PARTS_H
#define SCHED_LEARN_PARTS_H

#include "sched/learn.h"
#include <math.h>

enum {
    LEARN_KEYS_MAX = 64, /* of one kind, for one job or one application */
    LEARN_JOBS_MAX = 9,  /* whose claims about one key are kept, the last ones */
    LEARN_FIT_SHARE = 8  /* a fit is made anew when more than one in so many keys is news */
};

/* A figure is news, and fits are made anew, when it moved by this share. */
static const double LEARN_MOVED = 0.02;
/* Lines through what was measured may be off by this share before they bound what others claim. */
static const double LEARN_SLACK = 0.2;

/* Where several numbers were measured it is mostly between 0 and 0.2. */
static const double LEARN_EACH = 0.04;

/* What was measured is known by this; first in rows of such. */
struct learn_key {
    uint32_t nodes, gpus, local;
    uint64_t age; /* of its last report, counted in reports */
};

struct learn_claim {
    uint32_t job;
    double pass_s, step_s;
};

struct learn_shared {
    struct learn_key key;
    uint32_t count, next;
    double pass_s, step_s; /* medians over jobs, when last fitted or told */
    struct learn_claim claims[LEARN_JOBS_MAX];
};

struct learn_app_kind {
    uint32_t count, gpus_seen;
    bool changed;            /* since the fit */
    uint64_t news, fit_news; /* counts changes; when fitted */
    struct shoal_goodput_speed speed;
    struct learn_shared keys[LEARN_KEYS_MAX];
};

/* The row of this key; `count` when there is none. */
uint32_t learn_find(const struct learn_key *first, size_t stride, uint32_t count,
                    const struct learn_key *key);
bool learn_has_shape(const struct learn_key *first, size_t stride, uint32_t count,
                     const struct learn_key *key);
/* The row to give up: the oldest of the (nodes, GPUs) that has the most, so that sizes stay known. */
uint32_t learn_victim(const struct learn_key *first, size_t stride, uint32_t count);

static inline bool learn_same_shape(const struct learn_key *a, const struct learn_key *b)
{
    return a->nodes == b->nodes && a->gpus == b->gpus;
}

static inline bool learn_moved(double from, double to)
{
    return fabs(to - from) > LEARN_MOVED * from;
}

/* Of at least one value; they are sorted. */
double learn_median(double *values, uint32_t count);

/* learn_app.c: a fit for jobs that share. Where samples of one way to synchronise (inside a node, or
 * across) have one number of GPUs above two, nothing tells what two take from what each beyond adds: the
 * fit then has it that more cost nothing. Here each adds LEARN_EACH of what two take; what was measured
 * is explained as before. */
void learn_divide(const struct shoal_goodput_sample *samples, uint32_t count,
                  struct shoal_goodput_speed *speed);
/* learn_app.c: a job's means for a key. */
void learn_app_claim(struct sched_learn_app *app, uint32_t kind, const struct learn_key *key,
                     struct learn_claim claim);
/* The ratio of variance to square norm that a job began with, and the median of those; NAN: none. */
void learn_app_begin_ratio(struct sched_learn_app *app, double ratio);
double learn_app_ratio(const struct sched_learn_app *app);
/* Fitted to what is known now. */
const struct learn_app_kind *learn_app_kind(struct sched_learn_app *app, uint32_t kind);
/* A step of its i-th key, as far as one job alone is believed. */
double learn_app_step_s(const struct learn_app_kind *kind, uint32_t i);
/* Counts all that changes. */
uint64_t learn_app_version(const struct sched_learn_app *app);

#endif
