/* learn_app.c - what the jobs of one application share (see learn.h).
 *
 * For each kind and key (nodes, GPUs, batch a pass) the claims of the last jobs that measured it are
 * kept, one of each job. What counts is their median, so with three jobs or more one alone decides
 * nothing. Where a single job has measured a size, its steps count for no more than LONE_SLOW passes:
 * what it says may keep others from growing fast, not from trying. The speed is fitted to the medians
 * when somebody asks and one of them moved.
 *
 * Cost: a claim O(keys), a fit some 0.09 ms. Memory is fixed, about 18 KiB a kind. */
#include "sched/learn_parts.h"

#include "base/assert.h"
#include <stdlib.h>
#include <string.h>

static const double LONE_SLOW = 4;

struct sched_learn_app {
    const struct base_alloc *alloc;
    uint32_t kind_count;
    uint64_t version, age;
    uint32_t ratio_count, ratio_next;
    double ratios[LEARN_JOBS_MAX];
    struct learn_app_kind kinds[];
};

shoal_status sched_learn_app_new(const struct base_alloc *alloc, uint32_t kind_count,
                                 struct sched_learn_app **out)
{
    struct sched_learn_app *app =
        base_calloc(alloc, 1, sizeof *app + kind_count * sizeof *app->kinds);

    if (app == NULL)
        return SHOAL_E_NOMEM;
    app->alloc = alloc;
    app->kind_count = kind_count;
    *out = app;
    return SHOAL_OK;
}

void sched_learn_app_free(struct sched_learn_app *app)
{
    if (app != NULL)
        base_free(app->alloc, app);
}

/* ---- rows by key ---- */

static const struct learn_key *row(const struct learn_key *first, size_t stride, uint32_t i)
{
    return (const struct learn_key *)(const void *)((const char *)first + i * stride);
}

uint32_t learn_find(const struct learn_key *first, size_t stride, uint32_t count,
                    const struct learn_key *key)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct learn_key *k = row(first, stride, i);
        if (k->local == key->local && learn_same_shape(k, key))
            return i;
    }
    return count;
}

bool learn_has_shape(const struct learn_key *first, size_t stride, uint32_t count,
                     const struct learn_key *key)
{
    for (uint32_t i = 0; i < count; i++)
        if (learn_same_shape(row(first, stride, i), key))
            return true;
    return false;
}

uint32_t learn_victim(const struct learn_key *first, size_t stride, uint32_t count)
{
    uint32_t victim = 0, most = 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct learn_key *k = row(first, stride, i);
        uint32_t same = 0;
        for (uint32_t j = 0; j < count; j++)
            same += learn_same_shape(k, row(first, stride, j));
        if (same > most || (same == most && k->age < row(first, stride, victim)->age)) {
            most = same;
            victim = i;
        }
    }
    return victim;
}

/* ---- medians ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double learn_median(double *values, uint32_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

void learn_app_begin_ratio(struct sched_learn_app *app, double ratio)
{
    app->ratios[app->ratio_next] = ratio;
    app->ratio_next = (app->ratio_next + 1) % LEARN_JOBS_MAX;
    app->ratio_count += app->ratio_count < LEARN_JOBS_MAX;
    app->version++;
}

double learn_app_ratio(const struct sched_learn_app *app)
{
    double values[LEARN_JOBS_MAX];

    if (app->ratio_count == 0)
        return NAN;
    memcpy(values, app->ratios, sizeof values);
    return learn_median(values, app->ratio_count);
}

/* ---- claims ---- */

static struct learn_shared *shared_of(struct learn_app_kind *k, const struct learn_key *key,
                                      uint64_t age)
{
    uint32_t i = learn_find(&k->keys[0].key, sizeof *k->keys, k->count, key);

    if (i == k->count) {
        if (k->count < LEARN_KEYS_MAX)
            k->count++;
        else
            i = learn_victim(&k->keys[0].key, sizeof *k->keys, k->count);
        k->keys[i] = (struct learn_shared){.key = *key};
    }
    k->keys[i].key.age = age;
    return &k->keys[i];
}

static void put_claim(struct learn_shared *s, struct learn_claim claim)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->claims[i].job == claim.job) {
            s->claims[i] = claim;
            return;
        }
    s->claims[s->next] = claim;
    s->next = (s->next + 1) % LEARN_JOBS_MAX;
    s->count += s->count < LEARN_JOBS_MAX;
}

void learn_app_claim(struct sched_learn_app *app, uint32_t kind, const struct learn_key *key,
                     struct learn_claim claim)
{
    struct learn_app_kind *k = &app->kinds[kind];
    bool new_shape = !learn_has_shape(&k->keys[0].key, sizeof *k->keys, k->count, key);
    struct learn_shared *s = shared_of(k, key, ++app->age);
    double pass[LEARN_JOBS_MAX] = {0}, step[LEARN_JOBS_MAX] = {0};

    put_claim(s, claim);
    for (uint32_t i = 0; i < s->count; i++)
        pass[i] = s->claims[i].pass_s, step[i] = s->claims[i].step_s;
    double pass_s = learn_median(pass, s->count), step_s = learn_median(step, s->count);
    if (!learn_moved(s->pass_s, pass_s) && !learn_moved(s->step_s, step_s))
        return;
    s->pass_s = pass_s;
    s->step_s = step_s;
    if (key->gpus > k->gpus_seen)
        k->gpus_seen = key->gpus;
    k->news++;
    if (!new_shape && LEARN_FIT_SHARE * (k->news - k->fit_news) <= k->count)
        return;
    k->changed = true;
    app->version++;
}

/* The one number of GPUs above two of all samples inside a node, or across; 0: none, or several. */
static uint32_t one_number(const struct shoal_goodput_sample *samples, uint32_t count, bool across)
{
    uint32_t number = 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct shoal_goodput_sample *s = &samples[i];
        if (s->replicas == 1 || (s->machines > 1) != across)
            continue;
        if (s->replicas == 2 || (number != 0 && number != s->replicas))
            return 0;
        number = s->replicas;
    }
    return number;
}

static void divide(uint32_t number, double *first, double *each)
{
    double all = *first + *each * (number - 2);

    *first = all / (1 + LEARN_EACH * (number - 2));
    *each = LEARN_EACH * *first;
}

void learn_divide(const struct shoal_goodput_sample *samples, uint32_t count,
                  struct shoal_goodput_speed *speed)
{
    uint32_t inside = one_number(samples, count, false), across = one_number(samples, count, true);
    double farther = speed->node_s / speed->local_s;
    bool spanned = false;

    for (uint32_t i = 0; i < count; i++)
        spanned |= samples[i].machines > 1;
    if (inside > 0)
        divide(inside, &speed->local_s, &speed->local_each_s);
    if (across > 0)
        divide(across, &speed->node_s, &speed->node_each_s);
    if (inside > 0 && !spanned) { /* across was made of inside */
        speed->node_s = farther * speed->local_s;
        speed->node_each_s = farther * speed->local_each_s;
    }
}

/* Has a job other than this one measured that many GPUs on that many nodes? */
static bool backed(const struct learn_app_kind *k, const struct learn_key *shape, uint32_t job)
{
    for (uint32_t i = 0; i < k->count; i++)
        for (uint32_t c = 0; c < k->keys[i].count && learn_same_shape(&k->keys[i].key, shape); c++)
            if (k->keys[i].claims[c].job != job)
                return true;
    return false;
}

double learn_app_step_s(const struct learn_app_kind *k, uint32_t i)
{
    const struct learn_shared *s = &k->keys[i];
    double most = LONE_SLOW * s->pass_s;

    return s->step_s > most && !backed(k, &s->key, s->claims[0].job) ? most : s->step_s;
}

const struct learn_app_kind *learn_app_kind(struct sched_learn_app *app, uint32_t kind)
{
    struct learn_app_kind *k = &app->kinds[kind];
    struct shoal_goodput_sample samples[LEARN_KEYS_MAX] = {{0}};

    if (!k->changed)
        return k;
    for (uint32_t i = 0; i < k->count; i++)
        samples[i] = (struct shoal_goodput_sample){k->keys[i].key.nodes, k->keys[i].key.gpus,
                                                   k->keys[i].key.local, k->keys[i].pass_s,
                                                   learn_app_step_s(k, i)};
    shoal_status st = shoal_goodput_fit(samples, k->count, &k->speed, NULL);
    shoal_assert(st == SHOAL_OK); /* claims were judged */
    learn_divide(samples, k->count, &k->speed);
    k->changed = false;
    k->fit_news = k->news;
    return k;
}

uint64_t learn_app_version(const struct sched_learn_app *app)
{
    return app->version;
}
