/* run_world.h - a world in which traces are simulated: a simulated env with files, a cluster, a
 * bound trace and the event log of the last run. Files that include it may include state.h. */
#ifndef TESTS_RUN_WORLD_H
#define TESTS_RUN_WORLD_H

#include "unit/sim/sim_world.h"

#include "base/rand.h"
#include "sim/run.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#define RUN_HEAD "#shoal-trace v1\nname,submit_s,gpus,duration_s\n"

/* A throughput table: models A and B make 10 steps/s alone, and 6 and 7 when they share a GPU. */
#define RUN_PAIRS                                                                           \
    "{\"v100\": {\"('A', 1)\": {\"null\": 10, \"('B', 1)\": [6, 7], \"('A', 1)\": [1, 1]}," \
    " \"('B', 1)\": {\"null\": 10, \"('A', 1)\": [7, 6], \"('B', 1)\": [1, 1]}}}"

/* Knobs under which gandiva pairs A with B. */
__attribute__((unused)) static const char *const run_world_pairing[] = {"gain=1.2"};

struct run_world {
    shoal_env *env;
    struct sched_cluster cluster;
    struct sim_trace *trace;
    struct base_buf log; /* JSON lines of the last run_world_run */
};

static inline void run_world_init(struct run_world *w, const char *spec)
{
    shoal_err err = SHOAL_ERR_INIT;

    w->env = world_new();
    w->trace = NULL;
    base_buf_init(&w->log, &base_alloc_libc, (size_t)1 << 30);
    if (sched_cluster_parse(&base_alloc_libc, spec, &w->cluster, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
}

static inline void run_world_bind(struct run_world *w, const char *profiles)
{
    shoal_err err = SHOAL_ERR_INIT;

    if (sim_trace_bind(w->env, w->trace, &w->cluster, profiles, &err) != SHOAL_OK)
        fail_msg("%s", err.message);
}

/* A trace in Shoal's CSV; `profiles` is a path in w->env or NULL. */
static inline void run_world_csv(struct run_world *w, const char *text, const char *profiles)
{
    world_put(w->env, "t.csv", text);
    w->trace = world_load(w->env, "t.csv", SIM_FORMAT_SHOAL);
    run_world_bind(w, profiles);
}

static inline void run_world_fini(struct run_world *w)
{
    sim_trace_free(w->trace);
    sched_cluster_fini(&w->cluster);
    base_buf_fini(&w->log);
    shoal_env_free(w->env);
}

static inline void run_world_add(struct sim_trace *trace, const char *name, double submit_s,
                                 uint32_t gpus, double duration_s)
{
    struct sim_job job = {.name = name,
                          .submit_s = submit_s,
                          .duration_s = duration_s,
                          .steps = NAN,
                          .weight = 1,
                          .deadline_s = INFINITY,
                          .gpus = gpus,
                          .model = SIM_NONE,
                          .app = SIM_NONE,
                          .score = NAN,
                          .group = SIM_NONE,
                          .work = SIM_WORK_DURATION,
                          .slo = NAN};

    assert_int_equal(sim_trace_add(trace, &job), SHOAL_OK);
}

/* `count` jobs of gangs up to `gpus_max`, of 10 s to some hours, arriving over `span_s`. Times are
 * whole quarters of a second, so that sums of them are exact. */
static inline void run_world_generate(struct run_world *w, uint64_t seed, size_t count,
                                      uint32_t gpus_max, double span_s)
{
    struct base_rand r;
    char name[32];

    base_rand_init(&r, seed, "run-world");
    assert_int_equal(sim_trace_new(&base_alloc_libc, &w->trace), SHOAL_OK);
    for (size_t i = 0; i < count; i++) {
        double submit = floor(base_rand_range(&r, 0, span_s) * 4) / 4;
        double duration = floor(10 * exp(base_rand_range(&r, 0, 6.5)) * 4) / 4;
        uint32_t gpus = 1u << base_rand_below(&r, 5);
        if (base_rand_below(&r, 4) == 0)
            gpus += (uint32_t)base_rand_below(&r, 3);
        snprintf(name, sizeof name, "job-%zu", i);
        run_world_add(w->trace, name, submit, gpus < gpus_max ? gpus : gpus_max, duration);
    }
    sim_trace_finish(w->trace);
    run_world_bind(w, NULL);
}

static inline shoal_status run_world_event(void *ctx, const char *line, size_t size, shoal_err *err)
{
    struct base_buf *log = ctx;

    (void)err;
    base_buf_append(log, line, size);
    return base_buf_status(log);
}

static inline struct sim_opts run_world_opts(const char *policy)
{
    struct sim_opts o;

    sim_opts_init(&o);
    o.policy = sched_policy_find(policy, NULL);
    assert_non_null(o.policy);
    return o;
}

/* Jobs a (600 steps of A) and b (1,200 of B), and options under which they share a v100. */
static inline struct sim_opts run_world_pair(struct run_world *w)
{
    world_put(w->env, "t.json", RUN_PAIRS);
    run_world_csv(w, "#shoal-trace v1\nname,submit_s,gpus,model,steps\na,0,1,A,600\nb,0,1,B,1200\n",
                  "t.json");
    struct sim_opts o = run_world_opts("gandiva");
    o.sets = run_world_pairing;
    o.set_count = 1;
    return o;
}

/* The run must work; the log is in w->log. */
static inline struct sim_result *run_world_run(struct run_world *w, const struct sim_opts *opts)
{
    struct sim_opts o = *opts;
    struct sim_result *result = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    base_buf_clear(&w->log);
    o.on_event = run_world_event;
    o.event_ctx = &w->log;
    shoal_status st = sim_run(w->env, w->trace, &w->cluster, &o, &result, &err);
    if (st != SHOAL_OK)
        fail_msg("%s: %s", shoal_status_name(st), err.message);
    assert_int_equal(err.code, SHOAL_OK);
    return result;
}

static inline struct sim_result *run_world_policy(struct run_world *w, const char *policy)
{
    struct sim_opts o = run_world_opts(policy);

    return run_world_run(w, &o);
}

/* --- reading the log --- */

struct run_event {
    double t;
    const char *type, *job, *places, *detail; /* NULL: not there; borrowed from json */
    int node;                                 /* -1: not there */
    double progress;
    json_t *json;
};

static inline bool run_event_is(const struct run_event *e, const char *type)
{
    return strcmp(e->type, type) == 0;
}

/* Parses the event at *at and moves on; false at the end. Free with run_event_fini. */
static inline bool run_event_next(const struct base_buf *log, size_t *at, struct run_event *out)
{
    if (*at >= log->size)
        return false;
    const char *line = log->data + *at;
    const char *end = memchr(line, '\n', log->size - *at);
    assert_non_null(end);
    json_t *json = json_loadb(line, (size_t)(end - line), 0, NULL);
    assert_non_null(json);
    *at += (size_t)(end - line) + 1;
    assert_int_equal(json_integer_value(json_object_get(json, "v")), 1);
    const json_t *node = json_object_get(json, "node");
    *out = (struct run_event){
        .t = json_number_value(json_object_get(json, "t")),
        .type = json_string_value(json_object_get(json, "type")),
        .job = json_string_value(json_object_get(json, "job")),
        .places = json_string_value(json_object_get(json, "places")),
        .detail = json_string_value(json_object_get(json, "detail")),
        .node = node != NULL ? (int)json_integer_value(node) : -1,
        .progress = json_number_value(json_object_get(json, "progress")),
        .json = json,
    };
    assert_non_null(out->type);
    return true;
}

static inline void run_event_fini(struct run_event *e)
{
    json_decref(e->json);
}

/* Index of the job named in the event. */
static inline size_t run_event_job(const struct run_world *w, const struct run_event *e)
{
    for (size_t i = 0; e->job != NULL && i < w->trace->job_count; i++)
        if (strcmp(w->trace->jobs[i].name, e->job) == 0)
            return i;
    fail_msg("no job '%s' in the trace", e->job != NULL ? e->job : "(none)");
    return 0;
}

/* Is the node among "n3:4,n4:2"? */
static inline bool run_event_on(const struct run_event *e, uint32_t node)
{
    char want[16];
    size_t length = (size_t)snprintf(want, sizeof want, "n%u:", node);

    for (const char *p = e->places; p != NULL && *p != '\0';) {
        if (strncmp(p, want, length) == 0)
            return true;
        p = strchr(p, ',');
        p = p != NULL ? p + 1 : NULL;
    }
    return false;
}

static inline size_t run_log_count(const struct base_buf *log, const char *type)
{
    struct run_event e;
    size_t count = 0;

    for (size_t at = 0; run_event_next(log, &at, &e); run_event_fini(&e))
        count += run_event_is(&e, type);
    return count;
}

static inline void run_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.17g is not within %g of %.17g", a, tolerance, b);
}

/* The same run twice gives the same bytes; w->log is the second. */
static inline void run_world_repeats(struct run_world *w, struct sim_opts *o)
{
    sim_result_free(run_world_run(w, o));
    struct base_buf first = w->log;
    base_buf_init(&w->log, &base_alloc_libc, (size_t)1 << 30);
    sim_result_free(run_world_run(w, o));
    assert_int_equal(first.size, w->log.size);
    assert_memory_equal(first.data, w->log.data, first.size);
    base_buf_fini(&first);
}

/* A run whose allocations fail, for torture_run: ctx is a struct run_world_torture. */
struct run_world_torture {
    struct run_world *w;
    struct sim_opts opts;
};

static inline shoal_status run_world_once(const struct base_alloc *alloc, void *ctx)
{
    struct run_world_torture *c = ctx;
    const struct base_alloc *own = c->w->env->alloc;
    struct sim_result *r = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    c->w->env->alloc = alloc;
    shoal_status st = sim_run(c->w->env, c->w->trace, &c->w->cluster, &c->opts, &r, &err);
    sim_result_free(r);
    c->w->env->alloc = own;
    if (st != SHOAL_OK && (err.code != st || err.message[0] == '\0'))
        return SHOAL_E_INTERNAL; /* a failure says what it is */
    return st;
}

#endif
