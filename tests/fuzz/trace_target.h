/* trace_target.h - any bytes as a trace of one format: refused with words, or loaded as promised.
 *
 * What loads must be sorted, positive and finite, keep its names apart, and survive being written
 * and read again. */
#ifndef FUZZ_TRACE_TARGET_H
#define FUZZ_TRACE_TARGET_H

#include "base/assert.h"
#include "sim/trace.h"
#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void trace_target_check_job(const struct sim_trace *trace, const struct sim_job *job)
{
    shoal_assert(job->submit_s >= 0 && job->submit_s < 1e12);
    shoal_assert(job->gpus >= 1 && job->gpus <= SIM_JOB_GPUS_MAX);
    shoal_assert(job->weight > 0 && isfinite(job->weight));
    shoal_assert(job->deadline_s >= job->submit_s);
    shoal_assert(isnan(job->slo) || job->slo > 0);
    shoal_assert(job->group < trace->groups.map.count);
    shoal_assert(job->name[0] != '\0' && strlen(job->name) <= SIM_NAME_MAX);
    shoal_assert(trace->kinds.map.count >= SIM_TRACE_KINDS_MAX ||
                 job->want_kinds >> trace->kinds.map.count == 0);
    switch ((enum sim_work)job->work) {
    case SIM_WORK_DURATION: shoal_assert(job->duration_s > 0 && isfinite(job->duration_s)); break;
    case SIM_WORK_STEPS:
        shoal_assert(job->steps > 0 && isfinite(job->steps));
        shoal_assert(job->model < trace->models.map.count);
        break;
    case SIM_WORK_PROFILE: shoal_assert(job->model < trace->models.map.count); break;
    }
}

static inline void trace_target_check_again(shoal_env *env, const struct sim_trace *trace)
{
    const char *path = "again.csv";
    struct sim_trace *again = NULL;
    struct base_buf text;

    base_buf_init(&text, &base_alloc_libc, 1 << 28);
    sim_trace_format(trace, &text);
    shoal_assert(base_buf_status(&text) == SHOAL_OK);
    shoal_assert(env_sim_put(env, path, text.data, text.size) == SHOAL_OK);
    shoal_assert(sim_trace_load(env, &path, 1, SIM_FORMAT_SHOAL, &again, NULL) == SHOAL_OK);
    shoal_assert(again->job_count == trace->job_count);
    for (size_t i = 0; i < trace->job_count; i++) {
        shoal_assert(strcmp(again->jobs[i].name, trace->jobs[i].name) == 0);
        shoal_assert(again->jobs[i].submit_s == trace->jobs[i].submit_s);
        shoal_assert(again->jobs[i].work == trace->jobs[i].work);
    }
    sim_trace_free(again);
    base_buf_fini(&text);
}

static inline int trace_target(const uint8_t *data, size_t size, enum sim_format format)
{
    const char *path = "f";
    struct sim_trace *trace = NULL;
    shoal_env *env = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    shoal_assert(env_sim_put(env, path, data, size) == SHOAL_OK);
    shoal_status st = sim_trace_load(env, &path, 1, format, &trace, &err);
    if (st == SHOAL_OK) {
        shoal_assert(trace->job_count > 0);
        for (size_t i = 0; i < trace->job_count; i++) {
            trace_target_check_job(trace, &trace->jobs[i]);
            shoal_assert(i == 0 || trace->jobs[i - 1].submit_s <= trace->jobs[i].submit_s);
        }
        trace_target_check_again(env, trace);
    } else {
        shoal_assert(trace == NULL && err.code == st && err.message[0] != '\0');
    }
    sim_trace_free(trace);
    shoal_env_free(env);
    return 0;
}

#endif
