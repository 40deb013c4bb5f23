/* adapt.c - jobs that adapt: they choose their batch, measure themselves, and report.
 *
 * The truth is the job's model; what is known of it is what sched/learn.c makes of reports. At each
 * start, each epoch and each decision a job takes the batch with the highest goodput by what is known,
 * as Pollux's agents do, and reports what it then measures.
 *
 * Jobs of one application share what they know: a sweep explores once. Under a policy that says
 * `alone` each starts from nothing, as in the papers. With several kinds the first job of an
 * application runs for a moment on one GPU of each before its first start, as in Sia (BOOT_S each,
 * which it waits for); without that nobody would learn that another kind is faster.
 *
 * Jobs with a fitted model measure nothing: what is known of them is the tables, at the level they are
 * at, and their batch is that of the runs the tables come from.
 *
 * Reports may be wrong. With report_noise each time and statistic is off by up to that share, at
 * random, independently. Every report_bad-th job reports nonsense of all sorts (spoil). What is
 * refused is told once for each job and reason. With work_error what is told of a job's work is the
 * truth times a log-normal error, the same for the job under every policy. */
#include "sim/state.h"

#include "base/assert.h"
#include "sched/model_fitted.h"
#include <math.h>

static const double BOOT_S = 20;

struct sim_adapt {
    struct sched_learn_job *learn;
    uint32_t starts; /* of the job at its last report */
    uint32_t told;   /* bit mask of the refusals told */
    bool fitted;     /* `known` counts, and not `learn` */
    struct sched_adapt known;
    struct sched_adapt_kind kind[SCHED_KINDS_MAX];
};

/* ---- what is reported ---- */

static double noisy(struct sim_state *s, double value)
{
    double noise = s->opts->how.report_noise;

    return noise > 0 ? value * (1 + noise * base_rand_range(&s->report_rand, -1, 1)) : value;
}

/* Nonsense of all sorts, plausible lies among them. */
static void spoil(struct base_rand *rand, struct sched_report *r)
{
    static const double odd[] = {0, -1, NAN, INFINITY, -INFINITY, 1e-300, 1e300};
    double value = odd[base_rand_below(rand, BASE_COUNT(odd))];
    double lie = exp(base_rand_range(rand, -5, 5));

    switch (base_rand_below(rand, 12)) {
    case 0: r->pass_s = value; break;
    case 1: r->step_s = value; break;
    case 2: r->grad_sqr = value; break;
    case 3: r->grad_var = value; break;
    case 4: r->steps = value; break;
    case 5: r->gpus = (uint32_t)base_rand_below(rand, 2) * UINT32_MAX; break;
    case 6: r->nodes = r->gpus + 1; break;
    case 7: r->local = (uint32_t)base_rand_below(rand, 2) * UINT32_MAX; break;
    case 8: r->pass_s *= 1e6; break;
    case 9: r->pass_s *= lie, r->step_s *= lie; break;
    case 10: r->step_s *= lie; break;
    default: r->grad_var *= lie * lie; break;
    }
}

static bool reports_nonsense(const struct sim_state *s, const struct sim_active *a)
{
    uint64_t every = s->opts->how.report_bad;

    return every > 0 && a->job.id % every == every - 1;
}

/* What it would measure on these places, as it reports it. `held`: that it really runs there. */
static void report(struct sim_state *s, struct sim_active *a, const struct sched_alloc *al,
                   bool held)
{
    const struct sched_model *m = &a->job.model;
    struct sched_batch batch = m->ops->choose_batch(m, al);
    struct sched_observed seen;

    if (!m->ops->observe(m, al, batch, a->job.progress, &seen))
        return;
    struct sched_report r = {
        .kind = al->kind,
        .nodes = al->place_count,
        .gpus = al->gpus,
        .local = batch.local,
        .passes = batch.passes,
        .pass_s = noisy(s, fmax(seen.pass_s, 1e-6)),
        .step_s = noisy(s, fmax(seen.step_s, 1e-6)),
        .grad_sqr = noisy(s, seen.grad_sqr),
        .grad_var = noisy(s, seen.grad_var),
        .steps = a->job.progress,
        .seen_rate = a->job.attained_gpu_s > 0 ? a->job.progress / a->job.attained_gpu_s : 0};
    if (reports_nonsense(s, a))
        spoil(&s->spoil_rand, &r);
    (void)sched_learn_report(a->adapt->learn, &r, held ? al : NULL);
}

/* One GPU of each kind that is not known, with a few batches. */
static void boot(struct sim_state *s, struct sim_active *a)
{
    const struct sched_adapt *known = sched_learn_known(a->adapt->learn);
    uint32_t batch = a->job.model.batch, done = 0;

    for (uint32_t n = 0; n < s->cluster->node_count; n++) {
        uint32_t k = s->cluster->nodes[n].kind;
        struct sched_place place = {n, 1};
        struct sched_alloc al = {&place, 1, 1, (uint16_t)k};
        if (known->kind[k].local_max == 0 || known->kind[k].gpus_seen > 0 || (done >> k & 1) != 0)
            continue;
        for (uint32_t times = 1; times <= 4; times *= 2) {
            a->job.model.batch = times * known->batch_initial;
            report(s, a, &al, false);
        }
        a->boot_s += BOOT_S;
        done |= 1u << k;
    }
    a->job.model.batch = batch;
}

/* ---- life ---- */

shoal_status sim_adapt_init(struct sim_state *s)
{
    base_rand_init(&s->report_rand, s->opts->how.seed, "reports");
    base_rand_init(&s->spoil_rand, s->opts->how.seed, "reports.bad");
    s->apps = base_calloc(s->alloc, s->trace->models.map.count + 1, sizeof *s->apps);
    return s->apps == NULL ? SHOAL_E_NOMEM : SHOAL_OK;
}

void sim_adapt_fini(struct sim_state *s)
{
    for (size_t m = 0; s->apps != NULL && m < s->trace->models.map.count; m++)
        sched_learn_app_free(s->apps[m]);
    base_free(s->alloc, s->apps);
}

static bool make_block(struct sim_state *s, struct sim_active *a)
{
    if (a->adapt == NULL)
        a->adapt = base_calloc(s->alloc, 1, sizeof *a->adapt);
    return a->adapt != NULL;
}

static shoal_status make_room(struct sim_state *s, struct sim_active *a,
                              struct sched_learn_app **app)
{
    shoal_status st = SHOAL_OK;

    if (!make_block(s, a))
        return SHOAL_E_NOMEM;
    a->adapt->fitted = false;
    if (a->adapt->learn == NULL)
        st = sched_learn_job_new(s->alloc, s->cluster->kind_count, &a->adapt->learn);
    if (st == SHOAL_OK && app != NULL && *app == NULL)
        st = sched_learn_app_new(s->alloc, s->cluster->kind_count, app);
    return st;
}

/* Brings what is known of a fitted job to the level it is at. */
static void know_fitted(const struct sim_state *s, struct sim_active *a)
{
    const struct sched_fitted *f = sched_model_fitted_of(&a->job.model);

    sched_adapt_fitted(f, sched_fitted_level(f, a->job.progress), s->cluster->kind_count,
                       a->adapt->kind, &a->adapt->known);
    a->job.adapt = &a->adapt->known;
}

static shoal_status join_fitted(struct sim_state *s, struct sim_active *a)
{
    if (!make_block(s, a))
        return SHOAL_E_NOMEM;
    a->adapt->fitted = true;
    know_fitted(s, a);
    return SHOAL_OK;
}

shoal_status sim_adapt_join(struct sim_state *s, struct sim_active *a)
{
    const struct sched_model *m = &a->job.model;
    uint32_t model = s->trace->jobs[a->job.id].model;
    struct sched_learn_app **app =
        s->opts->policy->alone || model == SIM_NONE ? NULL : &s->apps[model];
    struct sched_limits limits;
    uint8_t how = s->trace->jobs[a->job.id].adapt;

    a->job.adapt = NULL;
    if (sched_model_fitted_of(m) != NULL && how != SIM_ADAPT_NONE)
        return join_fitted(s, a);
    if (m->ops->limits == NULL || how == SIM_ADAPT_NONE)
        return SHOAL_OK;
    m->ops->limits(m, &limits);
    if (how == SIM_ADAPT_SIZE)
        limits.batch_max = limits.batch_initial = m->batch > 0 ? m->batch : limits.batch_initial;
    if (limits.batch_max < limits.local_min)
        return SHOAL_OK; /* its batch is smaller than any that was measured: it stays as it is */
    shoal_status st = make_room(s, a, app);
    if (st != SHOAL_OK)
        return st;
    a->adapt->starts = a->adapt->told = 0;
    sched_learn_job_begin(a->adapt->learn, app != NULL ? *app : NULL, a->job.id, &limits,
                          a->job.gpus);
    if (s->cluster->kind_count > 1 && !s->opts->policy->alone)
        boot(s, a);
    a->job.adapt = sched_learn_known(a->adapt->learn);
    return SHOAL_OK;
}

void sim_adapt_free(const struct base_alloc *alloc, struct sim_adapt *adapt)
{
    if (adapt == NULL)
        return;
    sched_learn_job_free(adapt->learn);
    base_free(alloc, adapt);
}

void sim_adapt_tell_work(const struct sim_state *s, struct sched_job *job)
{
    double error = s->opts->how.work_error;
    struct base_rand rand;

    job->work_told = job->model.work;
    job->work_error = error;
    if (isinf(error))
        job->work_told = NAN;
    if (!(error > 0) || isinf(error))
        return;
    base_rand_init(&rand, s->opts->how.seed + job->id * UINT64_C(0x9e3779b97f4a7c15), "work");
    job->work_told *= exp(base_rand_normal(&rand, 0, error));
}

const struct sched_tally *sim_adapt_tally(const struct sim_active *a)
{
    return a->job.adapt != NULL && !a->adapt->fitted ? sched_learn_tally(a->adapt->learn) : NULL;
}

/* ---- while it runs ---- */

static void choose_batch(struct sim_state *s, struct sim_active *a)
{
    const struct sched_alloc *al = &a->job.alloc;
    const struct sched_adapt *known = sched_learn_known(a->adapt->learn);
    uint32_t least = known->local_min * al->gpus;

    a->job.model.batch = known->batch_initial > least ? known->batch_initial : least;
    if (sched_adapt_seen(known, s->cluster->kind_count) == 0)
        return;
    struct shoal_goodput_choice c =
        sched_adapt_choose(known, s->cluster->kind_count, al->kind, al->place_count, al->gpus);
    if (c.goodput > 0)
        a->job.model.batch = c.local * c.passes * al->gpus;
}

void sim_adapt_refresh(struct sim_state *s, struct sim_active *a)
{
    if (a->adapt->fitted)
        return; /* it has one batch, and nothing to report */
    if (a->adapt->starts != a->job.starts)
        sched_learn_job_restarted(a->adapt->learn);
    a->adapt->starts = a->job.starts;
    choose_batch(s, a);
    report(s, a, &a->job.alloc, true);
}

static shoal_status tell_refusals(struct sim_state *s, struct sim_active *a)
{
    const struct sched_tally *tally = sched_learn_tally(a->adapt->learn);
    shoal_status st = SHOAL_OK;

    for (uint32_t i = 0; i < SCHED_REFUSED_COUNT && st == SHOAL_OK; i++) {
        if (tally->refused[i] == 0 || (a->adapt->told >> i & 1) != 0)
            continue;
        a->adapt->told |= 1u << i;
        st = sim_journal_job(s, s->now_s, "job.report_refused", a,
                             sched_refusal_text((enum sched_refusal)i));
    }
    return st;
}

shoal_status sim_adapt_settle(struct sim_state *s)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < s->job_count && st == SHOAL_OK; i++) {
        struct sim_active *a = sim_active_of(s->jobs[i]);
        if (a->job.adapt == NULL)
            continue;
        if (a->adapt->fitted) {
            know_fitted(s, a);
            continue;
        }
        if (a->adapted && sim_running(a))
            sim_refresh_rate(s, a); /* it may take another batch, by what it knows now */
        a->job.adapt = sched_learn_known(a->adapt->learn);
        st = tell_refusals(s, a);
    }
    return st;
}
