/* setup.c - a run before its first instant and after its last: options, knobs, memory. Tests:
 * tests/unit/sim/test_run.c. */
#include "sim/state.h"

#include "base/err.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STORY_MAX = 64 << 20 };

static const double ROUND_MIN_S = 1e-3, ROUND_MAX_S = 1e7;

/* ---- options ---- */

void sim_opts_init(struct sim_opts *opts)
{
    *opts = (struct sim_opts){
        .round_s = 60, .restart_s = 30, .node_repair_s = 7200, .seed = 1, .story_job = SIM_NONE};
}

/* A time that is known and not negative. */
static bool some_time(double seconds)
{
    return isfinite(seconds) && seconds >= 0;
}

shoal_status sim_opts_check(const struct sim_opts *o, const struct sim_trace *trace, shoal_err *err)
{
    if (!(o->round_s >= ROUND_MIN_S && o->round_s <= ROUND_MAX_S))
        return base_err(err, SHOAL_E_INVAL, "a round takes between %g and %g seconds, not %g",
                        ROUND_MIN_S, ROUND_MAX_S, o->round_s);
    if (o->react_s != 0 && !(o->react_s >= ROUND_MIN_S && o->react_s <= o->round_s))
        return base_err(
            err, SHOAL_E_INVAL,
            "a reaction takes between %g seconds and a round (%g), or 0 for none, not %g",
            ROUND_MIN_S, o->round_s, o->react_s);
    if (!some_time(o->restart_s) || !some_time(o->lease_s) || !some_time(o->checkpoint_s))
        return base_err(err, SHOAL_E_INVAL,
                        "restart, lease and checkpoint times are finite and not negative");
    if (!(o->interference >= 0 && o->interference < 1))
        return base_err(err, SHOAL_E_INVAL, "interference is a share below 1, not %g",
                        o->interference);
    if (!(o->report_noise >= 0 && o->report_noise < 1))
        return base_err(err, SHOAL_E_INVAL, "what jobs report is wrong by a share below 1, not %g",
                        o->report_noise);
    if (!(o->work_error >= 0))
        return base_err(err, SHOAL_E_INVAL, "the error of what is told of work is 0 or more");
    if (o->halving != 0 && !(o->halving >= 1.1 && o->halving <= 1e6))
        return base_err(err, SHOAL_E_INVAL,
                        "of a sweep 1 in 1.1 to 1e6 jobs goes on, or all (0), not 1 in %g",
                        o->halving);
    if (!some_time(o->node_mtbf_s) || !some_time(o->node_repair_s) ||
        (o->node_mtbf_s > 0 && !(o->node_repair_s > 0)))
        return base_err(
            err, SHOAL_E_INVAL,
            "nodes that fail need a finite time between failures and a repair time above 0");
    if (o->story_job != SIM_NONE && o->story_job >= trace->job_count)
        return base_err(err, SHOAL_E_INVAL, "the story of job %u is wanted, the trace has %zu",
                        o->story_job, trace->job_count);
    return SHOAL_OK;
}

/* ---- state ---- */

const char *sim_group_name(void *ctx, uint32_t group)
{
    const struct sim_state *s = ctx;

    return sim_names_get(&s->trace->groups, group);
}

/* Knobs go to the placement rules when they know the name, else to the policy. */
static shoal_status apply_sets(struct sim_state *s)
{
    const struct sched_policy *p = s->opts->policy;
    char what[80];

    snprintf(what, sizeof what, "policy '%s'", p->name);
    base_opt_defaults(sched_place_rows, sched_place_row_count, &s->place);
    base_opt_defaults(p->opts, p->opt_count, s->memory);
    for (size_t i = 0; i < s->opts->set_count; i++) {
        const char *set = s->opts->sets[i];
        char name[64];
        size_t length = strcspn(set, "=");
        snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), set);
        bool common = base_opt_find(sched_place_rows, sched_place_row_count, name) != NULL;
        shoal_status st =
            common ? base_opt_assign(sched_place_rows, sched_place_row_count, set, what, &s->place,
                                     s->err)
                   : base_opt_assign(p->opts, p->opt_count, set, what, s->memory, s->err);
        if (st != SHOAL_OK)
            return st;
    }
    struct sched_setting setting = {.cluster = s->cluster,
                                    .group_name = sim_group_name,
                                    .group_ctx = s,
                                    .group_count = s->trace->groups.map.count};
    return p->check != NULL ? p->check(s->memory, &setting, s->err) : SHOAL_OK;
}

static void label(struct sim_result *r, const struct sim_opts *opts)
{
    size_t size = sizeof r->policy;
    size_t at = (size_t)snprintf(r->policy, size, "%s", opts->policy->name);

    for (size_t i = 0; i < opts->set_count && at < size; i++)
        at += (size_t)snprintf(r->policy + at, size - at, ":%s", opts->sets[i]);
    if (at >= size) { /* at a whole character */
        size_t end = size - sizeof "...";
        while (end > 0 && ((unsigned char)r->policy[end] & 0xc0) == 0x80)
            end--;
        memcpy(r->policy + end, "...", sizeof "...");
    }
}

/* Begin of the round in which the first job comes. */
static double first_round_s(const struct sim_trace *trace, double round_s)
{
    double first_s = trace->job_count > 0 ? trace->jobs[0].submit_s : 0;
    double at = floor(first_s / round_s) * round_s;

    return at > first_s ? at - round_s : at; /* by a rounding */
}

/* Prices that change over time are set in a copy of the cluster. */
static void take_prices(struct sim_state *s)
{
    if (s->opts->prices == NULL)
        return;
    s->priced = *s->given;
    s->cluster = &s->priced;
    (void)sim_prices_set(s->opts->prices, first_round_s(s->trace, s->opts->round_s),
                         s->priced.kinds);
}

/* The largest gang of each kind under the placement rules. */
static shoal_status measure_gangs(struct sim_state *s)
{
    const struct sched_cluster *c = s->cluster;
    uint32_t *racks = base_calloc(s->alloc, c->rack_count, sizeof *racks);

    if (racks == NULL)
        return base_err_nomem(s->err, "setting up the simulation");
    bool one_rack = s->place.locality == SCHED_LOCALITY_RACK && s->place.relax_s == 0;
    for (uint32_t k = 0; k < c->kind_count; k++) {
        memset(racks, 0, c->rack_count * sizeof *racks);
        s->gang_max[k] = one_rack ? 0 : c->kinds[k].gpus;
        for (uint32_t n = 0; one_rack && n < c->node_count; n++) {
            if (c->nodes[n].kind != k)
                continue;
            racks[c->nodes[n].rack] += c->nodes[n].gpus;
            if (racks[c->nodes[n].rack] > s->gang_max[k])
                s->gang_max[k] = racks[c->nodes[n].rack];
        }
    }
    base_free(s->alloc, racks);
    return SHOAL_OK;
}

shoal_status sim_setup(struct sim_state *s)
{
    const struct sim_opts *o = s->opts;
    shoal_status st = SHOAL_E_NOMEM;

    take_prices(s);
    base_arena_init(&s->actives, s->alloc, 1 << 14);
    base_buf_init(&s->line, s->alloc, SIM_EVENT_MAX);
    base_heap_init(&s->node_events, s->alloc);
    s->result = base_calloc(s->alloc, 1, sizeof *s->result);
    if (s->result == NULL)
        goto nomem;
    s->result->alloc = s->alloc;
    s->memory = base_calloc(s->alloc, 1, o->policy->memory_size + 1);
    s->node_up = base_calloc(s->alloc, s->cluster->node_count, sizeof *s->node_up);
    s->node_span = base_calloc(s->alloc, s->cluster->node_count, sizeof *s->node_span);
    if (s->memory == NULL || s->node_up == NULL || s->node_span == NULL)
        goto nomem;
    s->result->trace = s->trace;
    s->result->cluster = s->given;
    base_buf_init(&s->result->story, s->alloc, STORY_MAX);
    base_buf_init(&s->result->why, s->alloc, STORY_MAX);
    s->result->story_job = o->story_job;
    s->origin_s = s->result->origin_s = first_round_s(s->trace, o->round_s);
    s->now_s = s->up_since_s = s->live_since_s = s->origin_s;
    s->gain_due_s = s->gain = -INFINITY;
    s->result->jobs = base_calloc(s->alloc, s->trace->job_count, sizeof *s->result->jobs);
    if (s->result->jobs == NULL)
        goto nomem;
    label(s->result, o);
    for (uint32_t n = 0; n < s->cluster->node_count; n++)
        s->node_up[n] = true;
    s->gpus_up = s->cluster->gpus;
    s->nodes_up = s->cluster->node_count;
    s->nodes_wanted = SIM_NONE;

    st = apply_sets(s);
    if (st == SHOAL_OK)
        st = measure_gangs(s);
    if (st != SHOAL_OK)
        return st;
    st = sched_plan_new(s->alloc, s->cluster, &s->place, &s->plan);
    if (st == SHOAL_OK)
        st = sim_shares_init(s);
    if (st == SHOAL_OK)
        st = sim_detail_init(s);
    if (st == SHOAL_OK)
        st = sim_adapt_init(s);
    if (st == SHOAL_OK)
        st = sim_tuner_init(s);
    if (st == SHOAL_OK && o->record)
        st = sim_recorder_new(s, &s->recorder);
    if (st == SHOAL_OK)
        st = sim_faults_init(s);
    if (st == SHOAL_OK)
        return st;
nomem:
    return base_err_nomem(s->err, "setting up the simulation");
}

static void free_active(struct sim_state *s, struct sim_active *a)
{
    base_free(s->alloc, a->far);
    sim_adapt_free(s->alloc, a->adapt);
}

void sim_teardown(struct sim_state *s)
{
    sim_tuner_fini(s);
    for (size_t i = 0; i < s->job_count; i++)
        free_active(s, sim_active_of(s->jobs[i]));
    for (struct sim_active *a = s->free_list; a != NULL; a = a->next_free)
        free_active(s, a);
    sim_adapt_fini(s);
    if (s->memory != NULL && s->opts->policy->fini != NULL)
        s->opts->policy->fini(s->memory, s->alloc);
    base_free(s->alloc, s->memory);
    base_free(s->alloc, s->jobs);
    base_free(s->alloc, s->running);
    base_free(s->alloc, s->news);
    base_free(s->alloc, s->ended);
    base_free(s->alloc, s->node_up);
    base_free(s->alloc, s->node_span);
    base_free(s->alloc, s->node_multi);
    base_heap_fini(&s->node_events);
    base_buf_fini(&s->line);
    base_arena_fini(&s->actives);
    sched_plan_free(s->plan);
    sim_recorder_free(s->recorder);
    sim_result_free(s->result);
}
