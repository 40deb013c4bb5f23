/* pollux_known.c - tables of goodput (see pollux_known.h). */
#include "sched/pollux_known.h"

#include "base/assert.h"
#include <math.h>

static size_t size_of(const struct sched_pollux_table *t)
{
    return 2 * (size_t)t->kinds * (t->most + 1);
}

static void forget(struct sched_pollux_table *t)
{
    for (size_t i = 0; i < size_of(t); i++)
        t->goodput[i] = NAN;
}

static void drop_gone(struct sched_pollux_known *known, const struct sched_snapshot *snap)
{
    size_t count = 0, i = 0;

    for (size_t t = 0; t < known->count; t++) {
        while (i < snap->job_count && snap->jobs[i]->id < known->tables[t].id)
            i++;
        if (i < snap->job_count && snap->jobs[i]->id == known->tables[t].id)
            known->tables[count++] = known->tables[t];
        else
            base_free(snap->alloc, known->tables[t].goodput);
    }
    known->count = count;
}

static shoal_status add(struct sched_pollux_known *known, const struct sched_snapshot *snap,
                        const struct sched_job *j)
{
    const struct sched_cluster *c = snap->cluster;
    struct sched_pollux_table t = {
        .id = j->id, .kinds = c->kind_count, .version = j->adapt->version};

    for (uint32_t k = 0; k < c->kind_count; k++)
        if (c->kinds[k].gpus > t.most)
            t.most = c->kinds[k].gpus;
    if (t.most > j->adapt->gpus_max)
        t.most = j->adapt->gpus_max;
    t.goodput = base_calloc(snap->alloc, size_of(&t), sizeof *t.goodput);
    if (t.goodput == NULL)
        return SHOAL_E_NOMEM;
    forget(&t);
    size_t at = known->count++;
    for (; at > 0 && known->tables[at - 1].id > t.id; at--)
        known->tables[at] = known->tables[at - 1];
    known->tables[at] = t;
    return SHOAL_OK;
}

/* The first with this id or a higher one. */
static size_t place_of(const struct sched_pollux_known *known, uint32_t id)
{
    size_t lo = 0, hi = known->count;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (known->tables[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

shoal_status sched_pollux_known_update(struct sched_pollux_known *known,
                                       const struct sched_snapshot *snap)
{
    shoal_status st = SHOAL_OK;

    drop_gone(known, snap);
    if (base_reserve(snap->alloc, (void **)&known->tables, &known->cap, snap->job_count + 1,
                     sizeof *known->tables) != 0)
        return SHOAL_E_NOMEM;
    for (size_t i = 0; i < snap->job_count && st == SHOAL_OK; i++) {
        const struct sched_job *j = snap->jobs[i];
        size_t at = place_of(known, j->id);
        if (j->adapt != NULL && (at == known->count || known->tables[at].id != j->id))
            st = add(known, snap, j);
    }
    return st;
}

void sched_pollux_known_fini(struct sched_pollux_known *known, const struct base_alloc *alloc)
{
    for (size_t i = 0; i < known->count; i++)
        base_free(alloc, known->tables[i].goodput);
    base_free(alloc, known->tables);
}

struct sched_pollux_table *sched_pollux_known_of(const struct sched_pollux_known *known,
                                                 const struct sched_job *job)
{
    size_t lo = place_of(known, job->id);

    shoal_assert(lo < known->count && known->tables[lo].id == job->id);
    return &known->tables[lo];
}

double sched_pollux_goodput(struct sched_pollux_table *t, const struct sched_adapt *adapt,
                            uint32_t kind, bool spans, uint32_t gpus)
{
    if (t->version != adapt->version) {
        forget(t);
        t->version = adapt->version;
    }
    float *at = &t->goodput[(2 * (size_t)kind + spans) * (t->most + 1) + gpus];
    if (isnan(*at))
        *at = (float)sched_adapt_choose(adapt, t->kinds, kind, spans ? 2 : 1, gpus).goodput;
    return (double)*at;
}
