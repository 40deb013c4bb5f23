/* learn.c - what one job reports, judged, averaged and fitted (see learn.h).
 *
 * Judging. Counts must be possible and about the places the job holds, its steps must not shrink,
 * times must lie between a microsecond and a day, a pass may be longer than its step only as far as
 * both may be measured badly. A pass of m examples takes a + b m with a, b >= 0, so each pass measured
 * (m_i, t_i) bounds all others:
 *
 *     max t_i min(1, m / m_i)  <=  pass(m)  <=  min t_i max(1, m / m_i);
 *
 * times FAR from that, or from the mean of their key, are refused. FAR_MAX of them in a row are a
 * change: what was measured on that kind is then forgotten and the last one begins anew.
 *
 * Averaging. A key's mean is over its last MEMORY reports; one report moves it by no more than if it
 * were half or twice the mean. With reports off by a share s at random, n of them leave about
 * s / sqrt(3 n). Gradients are not averaged: they change as training goes on, jobs average them over
 * steps, and an average over reports lags by more than their noise costs.
 *
 * Fitting. The application's fit is the job's as long as it explains all it measured itself, within
 * TRUST and twice the scatter of its reports. Otherwise the job has a fit of its own: its own
 * measurements, and for sizes it never ran on a few of the others', by their ratio to its own and cut
 * to what its own passes allow (see above); where even that does not explain its own, theirs only where
 * it measured nothing: synchronisation inside a node, or across. That is made anew when one in
 * LEARN_FIT_SHARE of its own measurements moved or it ran on a new size, or a quarter of the others' did.
 *
 * Cost: a report O(keys) without a fit; fits some 0.09 ms each, none where nothing moved. */
#include "sched/learn_parts.h"

#include "base/assert.h"

enum {
    MEMORY = 100,
    FAR_MAX = 8,      /* in a row */
    BROKEN = 8,       /* refusals without a report that was believed */
    EACH_SHAPE = 4,   /* of the others' keys in a fit of one's own */
    SAMPLES_MAX = 96, /* of such a fit */
};
static const double TIME_LEAST_S = 1e-6, TIME_MOST_S = 86400;
static const double PASS_OVER = 4, FAR = 8, PULL = 2;
static const double TRUST = 0.1, GRADIENT_MOVED = 0.01;
static const double RATIO_MOST = 1e8; /* of variance to square norm: as good as all noise */

struct own {
    struct learn_key key;
    uint32_t count;
    double pass_s, step_s;
    double told_pass_s, told_step_s; /* when they were last news */
};

struct job_kind {
    uint32_t count, gpus_seen;
    uint32_t far;   /* in a row */
    bool changed;   /* enough since its own fit to make it anew */
    uint32_t fresh; /* keys that did since then, a key as often as it did */
    uint32_t fit_shared;
    uint64_t fit_news; /* of the application then */
    struct shoal_goodput_speed speed;
    struct own keys[LEARN_KEYS_MAX];
};

struct sched_learn_job {
    const struct base_alloc *alloc;
    uint32_t kind_count;
    struct job_kind *kinds;

    struct sched_learn_app *app;
    uint32_t id, asked;
    struct sched_limits limits;
    struct sched_tally tally;
    double steps, seen_rate;
    uint64_t believed;

    struct learn_key last_key;
    uint32_t last_kind;
    double last_pass_s;
    double scatter; /* mean share by which two reports in a row of one key differ */
    bool scattered; /* there were such */

    uint64_t age, news; /* news: counts changes of its own measurements */
    uint64_t settled_news, settled_app;
    bool settled, standing_in;
    bool graded; /* it has reported a gradient of its own */
    struct sched_adapt known;
    struct sched_adapt_kind known_kind[SCHED_KINDS_MAX];
};

/* ---- life ---- */

shoal_status sched_learn_job_new(const struct base_alloc *alloc, uint32_t kind_count,
                                 struct sched_learn_job **out)
{
    struct sched_learn_job *job = base_calloc(alloc, 1, sizeof *job);
    struct job_kind *kinds = base_calloc(alloc, kind_count, sizeof *kinds);

    if (job == NULL || kinds == NULL) {
        base_free(alloc, job);
        base_free(alloc, kinds);
        return SHOAL_E_NOMEM;
    }
    job->alloc = alloc;
    job->kind_count = kind_count;
    job->kinds = kinds;
    *out = job;
    return SHOAL_OK;
}

void sched_learn_job_free(struct sched_learn_job *job)
{
    if (job == NULL)
        return;
    base_free(job->alloc, job->kinds);
    base_free(job->alloc, job);
}

void sched_learn_job_begin(struct sched_learn_job *job, struct sched_learn_app *app, uint32_t id,
                           const struct sched_limits *limits, uint32_t gpus)
{
    *job = (struct sched_learn_job){.alloc = job->alloc,
                                    .kind_count = job->kind_count,
                                    .kinds = job->kinds,
                                    .app = app,
                                    .id = id,
                                    .asked = gpus,
                                    .limits = *limits};
    for (uint32_t k = 0; k < job->kind_count; k++) {
        job->kinds[k] = (struct job_kind){.count = 0};
        job->known_kind[k].local_max = limits->local_max[k];
        job->known_kind[k].gpus_max = limits->kind_gpus_max[k];
    }
    job->known = (struct sched_adapt){.gpus_max = limits->gpus_max,
                                      .batch_initial = limits->batch_initial,
                                      .batch_max = limits->batch_max,
                                      .local_min = limits->local_min,
                                      .grad_sqr = 1,
                                      .kind = job->known_kind};
}

void sched_learn_job_restarted(struct sched_learn_job *job)
{
    job->steps = 0;
}

/* ---- judging ---- */

static bool possible_counts(const struct sched_learn_job *job, const struct sched_report *r)
{
    return r->kind < job->kind_count && r->nodes >= 1 && r->gpus >= r->nodes &&
           r->gpus <= job->limits.gpus_max && r->local >= 1 && r->passes >= 1 &&
           r->local <= job->limits.local_max[r->kind];
}

/* What the passes measured on this kind say about one of `local` examples; `gpus` 0: those of all
 * sizes. False: nothing. */
static bool pass_bounds(const struct job_kind *k, uint32_t gpus, double local, double *out_least,
                        double *out_most)
{
    double least = 0, most = INFINITY;

    for (uint32_t i = 0; i < k->count; i++) {
        const struct own *o = &k->keys[i];
        if (gpus != 0 && o->key.gpus != gpus)
            continue;
        least = fmax(least, o->pass_s * fmin(1, local / o->key.local));
        most = fmin(most, o->pass_s * fmax(1, local / o->key.local));
    }
    *out_least = least;
    *out_most = most;
    return least > 0;
}

static struct own *own_of(struct job_kind *k, const struct learn_key *key)
{
    uint32_t i = learn_find(&k->keys[0].key, sizeof *k->keys, k->count, key);

    return i < k->count ? &k->keys[i] : NULL;
}

static bool far_off(const struct sched_report *r, struct job_kind *k, const struct learn_key *key)
{
    const struct own *o = own_of(k, key);
    double least, most;

    if (o != NULL)
        return r->pass_s * FAR < o->pass_s || r->pass_s > FAR * o->pass_s ||
               r->step_s * FAR < o->step_s || r->step_s > FAR * o->step_s;
    return pass_bounds(k, 0, r->local, &least, &most) &&
           (r->pass_s * FAR < least || r->pass_s > FAR * most);
}

static bool steps_shrink(struct sched_learn_job *job, double steps)
{
    bool sound = isfinite(steps) && steps >= 0;
    bool shrank = !sound || steps < job->steps;

    if (sound)
        job->steps = steps; /* what shrank is where it counts from now on */
    return shrank;
}

static enum sched_refusal judge(struct sched_learn_job *job, const struct sched_report *r,
                                const struct sched_alloc *held, const struct learn_key *key)
{
    if (!possible_counts(job, r))
        return SCHED_REFUSED_COUNTS;
    if (held != NULL &&
        (held->kind != r->kind || held->gpus != r->gpus || held->place_count != r->nodes))
        return SCHED_REFUSED_PLACES;
    if (steps_shrink(job, r->steps))
        return SCHED_REFUSED_STEPS;
    if (!(r->pass_s > 0 && r->step_s > 0) || isinf(r->pass_s) || isinf(r->step_s))
        return SCHED_REFUSED_TIMES;
    if (r->pass_s > PASS_OVER * r->step_s)
        return SCHED_REFUSED_PASS;
    if (r->pass_s < TIME_LEAST_S || r->step_s > TIME_MOST_S || r->pass_s > TIME_MOST_S)
        return SCHED_REFUSED_FAR;
    struct job_kind *k = &job->kinds[r->kind];
    if (!far_off(r, k, key)) {
        k->far = 0;
        return SCHED_REFUSED_NOT;
    }
    if (++k->far < FAR_MAX)
        return SCHED_REFUSED_FAR;
    k->far = k->count = k->gpus_seen = 0; /* it has changed */
    return SCHED_REFUSED_NOT;
}

/* ---- averaging ---- */

static void learn_scatter(struct sched_learn_job *job, const struct sched_report *r,
                          const struct learn_key *key)
{
    if (job->last_pass_s > 0 && job->last_kind == r->kind && job->last_key.local == key->local &&
        learn_same_shape(&job->last_key, key)) {
        double differs = fmin(fabs(r->pass_s / job->last_pass_s - 1), 1);
        job->scatter += (differs - job->scatter) * (job->scattered ? 0.1 : 1);
        job->scattered = true;
    }
    job->last_kind = r->kind;
    job->last_key = *key;
    job->last_pass_s = r->pass_s;
}

static double averaged(double mean, double value, uint32_t count)
{
    double pulled = fmin(fmax(value, mean / PULL), mean * PULL);

    return mean + (pulled - mean) / count;
}

/* The means of a key as far as they count for others: its passes on several GPUs are no faster than
 * on one, within the slack, and several GPUs not slower than one. */
static struct learn_claim claim_of(const struct sched_learn_job *job, const struct job_kind *k,
                                   const struct own *o)
{
    struct learn_claim c = {job->id, o->pass_s, o->step_s};
    double least, most;

    if (o->key.gpus > 1 && pass_bounds(k, 1, o->key.local, &least, &most) &&
        c.pass_s < (1 - LEARN_SLACK) * least) {
        c.step_s *= (1 - LEARN_SLACK) * least / c.pass_s;
        c.pass_s = (1 - LEARN_SLACK) * least;
    }
    c.step_s = fmin(c.step_s, o->key.gpus * c.pass_s / (1 - LEARN_SLACK));
    return c;
}

static void take_times(struct sched_learn_job *job, const struct sched_report *r,
                       const struct learn_key *key)
{
    struct job_kind *k = &job->kinds[r->kind];
    struct own *o = own_of(k, key);
    bool new_shape = !learn_has_shape(&k->keys[0].key, sizeof *k->keys, k->count, key);

    if (o == NULL) {
        uint32_t i = k->count < LEARN_KEYS_MAX
                         ? k->count++
                         : learn_victim(&k->keys[0].key, sizeof *k->keys, k->count);
        o = &k->keys[i];
        *o = (struct own){.key = *key, .count = 1, .pass_s = r->pass_s, .step_s = r->step_s};
    } else {
        o->count += o->count < MEMORY;
        o->pass_s = averaged(o->pass_s, r->pass_s, o->count);
        o->step_s = averaged(o->step_s, r->step_s, o->count);
    }
    o->key.age = ++job->age;
    if (key->gpus > k->gpus_seen)
        k->gpus_seen = key->gpus;
    if (!learn_moved(o->told_pass_s, o->pass_s) && !learn_moved(o->told_step_s, o->step_s))
        return;
    o->told_pass_s = o->pass_s;
    o->told_step_s = o->step_s;
    k->changed |= new_shape || LEARN_FIT_SHARE * ++k->fresh > k->count;
    job->news++;
    if (job->app != NULL)
        learn_app_claim(job->app, r->kind, key, claim_of(job, k, o));
}

static bool sound_gradient(const struct sched_report *r)
{
    return isfinite(r->grad_sqr) && isfinite(r->grad_var) && r->grad_sqr >= 0 && r->grad_var >= 0 &&
           r->grad_sqr + r->grad_var > 0;
}

/* Gradients change as training goes on: the last report counts, as the job has averaged it. */
static void take_gradient(struct sched_learn_job *job, double sqr, double var)
{
    struct sched_adapt *known = &job->known;
    double before = known->grad_var / known->grad_sqr;

    sqr = fmax(sqr, var / RATIO_MOST);
    if (job->graded && fabs(var / sqr - before) <= GRADIENT_MOVED * before)
        return; /* not worth a new decision */
    if (!job->graded && job->app != NULL)
        learn_app_begin_ratio(job->app, var / sqr);
    job->graded = true;
    known->grad_sqr = sqr;
    known->grad_var = var;
    known->version++;
}

enum sched_refusal sched_learn_report(struct sched_learn_job *job, const struct sched_report *r,
                                      const struct sched_alloc *held)
{
    struct learn_key key = {.nodes = r->nodes, .gpus = r->gpus, .local = r->local};
    enum sched_refusal refusal = judge(job, r, held, &key);

    job->tally.reports++;
    job->seen_rate = r->seen_rate;
    if (refusal == SCHED_REFUSED_NOT) {
        learn_scatter(job, r, &key);
        take_times(job, r, &key);
        if (sound_gradient(r))
            take_gradient(job, r->grad_sqr, r->grad_var);
        else if (job->limits.batch_max > job->limits.batch_initial)
            refusal = SCHED_REFUSED_GRADIENT;
        job->believed++;
    }
    if (refusal != SCHED_REFUSED_NOT)
        job->tally.refused[refusal]++;
    return refusal;
}

/* ---- fitting ---- */

static bool near(double measured, double predicted, double within)
{
    return fabs(predicted - measured) <= within * measured;
}

/* Does this speed explain what the job measured itself? */
static bool explains(const struct sched_learn_job *job, const struct job_kind *k,
                     const struct shoal_goodput_speed *speed)
{
    for (uint32_t i = 0; i < k->count; i++) {
        const struct own *o = &k->keys[i];
        double within = TRUST + 2 * job->scatter / sqrt(o->count);
        double pass = speed->grad_s + speed->grad_each_s * o->key.local;
        double step = shoal_goodput_step_s(speed, o->key.nodes, o->key.gpus, o->key.local, 1);
        if (!near(o->pass_s, pass, within) || !near(o->step_s, step, within))
            return false;
    }
    return true;
}

/* How much longer the job's passes take than the others': the median over what it measured. */
static double slower_by(const struct job_kind *k, const struct shoal_goodput_speed *others)
{
    double ratios[LEARN_KEYS_MAX];

    for (uint32_t i = 0; i < k->count; i++)
        ratios[i] =
            k->keys[i].pass_s / (others->grad_s + others->grad_each_s * k->keys[i].key.local);
    return learn_median(ratios, k->count);
}

/* One of the others' keys at the job's own level, cut to what its own passes allow. */
static struct shoal_goodput_sample as_own(const struct job_kind *k,
                                          const struct learn_app_kind *shared, uint32_t i,
                                          double slower)
{
    const struct learn_shared *s = &shared->keys[i];
    double least = 0, most = 0, pass = slower * s->pass_s;

    if (pass_bounds(k, 0, s->key.local, &least, &most))
        pass = fmin(fmax(pass, (1 - LEARN_SLACK) * least), most / (1 - LEARN_SLACK));
    return (struct shoal_goodput_sample){s->key.nodes, s->key.gpus, s->key.local, pass,
                                         learn_app_step_s(shared, i) * pass / s->pass_s};
}

/* The others' keys of sizes the job never ran on, the first few of each. */
static uint32_t add_shared(const struct job_kind *k, const struct learn_app_kind *shared,
                           struct shoal_goodput_sample *samples, uint32_t count)
{
    uint32_t own = count;
    double slower = slower_by(k, &shared->speed);

    for (uint32_t i = 0; i < shared->count && count < SAMPLES_MAX; i++) {
        const struct learn_shared *s = &shared->keys[i];
        uint32_t same = 0;
        for (uint32_t j = own; j < count; j++)
            same += samples[j].machines == s->key.nodes && samples[j].replicas == s->key.gpus;
        if (same < EACH_SHAPE &&
            !learn_has_shape(&k->keys[0].key, sizeof *k->keys, k->count, &s->key))
            samples[count++] = as_own(k, shared, i, slower);
    }
    return count;
}

/* A job that shares with nobody goes by the fit as it is, as in Pollux. */
static struct shoal_goodput_speed fitted(const struct shoal_goodput_sample *samples, uint32_t count,
                                         bool shares)
{
    struct shoal_goodput_speed speed = {0};
    shoal_status st = shoal_goodput_fit(samples, count, &speed, NULL);

    shoal_assert(st == SHOAL_OK); /* samples were judged */
    if (shares)
        learn_divide(samples, count, &speed);
    return speed;
}

/* The job's own fit, where others contradict it: theirs stays where it has measured nothing. */
static struct shoal_goodput_speed borrowed(const struct job_kind *k,
                                           const struct shoal_goodput_sample *own,
                                           const struct shoal_goodput_speed *others)
{
    struct shoal_goodput_speed s = fitted(own, k->count, true);
    bool sizes = false, inside = false, across = false;

    for (uint32_t i = 0; i < k->count; i++) {
        sizes |= own[i].local != own[0].local;
        across |= own[i].machines > 1;
        inside |= own[i].machines == 1 && own[i].replicas > 1;
    }
    if (!sizes) {
        double slower = slower_by(k, others);
        s.grad_s = slower * others->grad_s, s.grad_each_s = slower * others->grad_each_s;
    }
    if (!inside)
        s.local_s = others->local_s, s.local_each_s = others->local_each_s;
    if (!across)
        s.node_s = others->node_s, s.node_each_s = others->node_each_s;
    if (!inside && !across)
        s.overlap = others->overlap;
    return s;
}

static void fit_own(const struct sched_learn_job *job, struct job_kind *k,
                    const struct learn_app_kind *shared)
{
    struct shoal_goodput_sample samples[SAMPLES_MAX] = {{0}};
    uint32_t count = 0;

    for (; count < k->count; count++) {
        const struct own *o = &k->keys[count];
        samples[count] = (struct shoal_goodput_sample){o->key.nodes, o->key.gpus, o->key.local,
                                                       o->pass_s, o->step_s};
    }
    if (shared != NULL && shared->count > 0)
        count = add_shared(k, shared, samples, count);
    k->speed = fitted(samples, count, shared != NULL);
    if (count > k->count && !explains(job, k, &k->speed))
        k->speed = borrowed(k, samples, &k->speed);
    k->changed = false;
    k->fresh = 0;
    k->fit_shared = count - k->count;
    k->fit_news = shared != NULL ? shared->news : 0;
}

static const struct shoal_goodput_speed *speed_of(const struct sched_learn_job *job,
                                                  struct job_kind *k,
                                                  const struct learn_app_kind *shared)
{
    bool others = shared != NULL && shared->count > 0;

    if (k->count == 0)
        return others ? &shared->speed : NULL;
    if (others && explains(job, k, &shared->speed))
        return &shared->speed;
    if (k->changed || (others && 4 * (shared->news - k->fit_news) > k->fit_shared))
        fit_own(job, k, shared);
    return &k->speed;
}

static bool same_speed(const struct shoal_goodput_speed *a, const struct shoal_goodput_speed *b)
{
    return a->grad_s == b->grad_s && a->grad_each_s == b->grad_each_s && a->node_s == b->node_s &&
           a->node_each_s == b->node_each_s && a->local_s == b->local_s &&
           a->local_each_s == b->local_each_s && a->overlap == b->overlap;
}

static void settle_kind(struct sched_learn_job *job, uint32_t kind)
{
    struct job_kind *k = &job->kinds[kind];
    struct sched_adapt_kind *known = &job->known_kind[kind];
    const struct learn_app_kind *shared = job->app != NULL ? learn_app_kind(job->app, kind) : NULL;
    const struct shoal_goodput_speed *speed = speed_of(job, k, shared);
    uint32_t seen = k->gpus_seen;

    if (speed == NULL)
        return;
    if (shared != NULL && shared->gpus_seen > seen)
        seen = shared->gpus_seen;
    if (seen == known->gpus_seen && same_speed(speed, &known->speed))
        return;
    known->speed = *speed;
    known->gpus_seen = seen;
    job->known.version++;
}

/* Until it has reported its own: what jobs of its application began with. */
static void borrow_gradient(struct sched_learn_job *job)
{
    double ratio = learn_app_ratio(job->app);

    if (isnan(ratio) || ratio == job->known.grad_var)
        return;
    job->known.grad_var = ratio;
    job->known.version++;
}

/* A job whose reports are all refused, of an application nobody knows: it has what it asked for, as
 * if that were as fast as so many times one, and no more. */
static void stand_in(struct sched_learn_job *job)
{
    uint32_t gpus = job->asked < job->limits.gpus_max ? job->asked : job->limits.gpus_max;
    double rate = isfinite(job->seen_rate) && job->seen_rate > 0 ? job->seen_rate : 1;
    struct shoal_goodput_speed linear = {
        1e-8, 1 / (rate * job->limits.batch_initial), 1e-8, 1e-8, 1e-8, 1e-8, 1};

    if (job->standing_in)
        return;
    job->standing_in = true;
    for (uint32_t k = 0; k < job->kind_count; k++) {
        job->known_kind[k].gpus_seen = job->limits.local_max[k] > 0 ? gpus : 0;
        job->known_kind[k].speed = linear;
    }
    job->known.gpus_max = gpus;
    job->known.version++;
}

static void end_stand_in(struct sched_learn_job *job)
{
    job->standing_in = false;
    job->known.gpus_max = job->limits.gpus_max;
    job->known.version++;
    for (uint32_t k = 0; k < job->kind_count; k++)
        job->known_kind[k].gpus_seen = 0;
}

const struct sched_adapt *sched_learn_known(struct sched_learn_job *job)
{
    uint64_t app = job->app != NULL ? learn_app_version(job->app) : 0;

    if (job->believed == 0 && app == 0) {
        if (job->tally.reports >= BROKEN)
            stand_in(job);
        return &job->known;
    }
    if (job->settled && job->settled_news == job->news && job->settled_app == app)
        return &job->known;
    if (job->standing_in)
        end_stand_in(job);
    for (uint32_t k = 0; k < job->kind_count; k++)
        settle_kind(job, k);
    if (job->app != NULL && !job->graded)
        borrow_gradient(job);
    job->settled = true;
    job->settled_news = job->news;
    job->settled_app = app;
    return &job->known;
}

/* ---- reading ---- */

const struct sched_tally *sched_learn_tally(const struct sched_learn_job *job)
{
    return &job->tally;
}
