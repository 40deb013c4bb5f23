/* Any bytes as a file of quotas: refused in words, or a quota for groups that are there. */
#include "base/assert.h"
#include "study/load.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char jobs_csv[] = "name,submit_s,gpus,duration_s,group\n"
                               "a,0,1,10,x\nb,0,2,20,y\nc,5,4,30,z\nd,9,1,40,a=b\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = "t.csv";
    shoal_env *env = NULL;
    struct sim_trace *trace = NULL;
    struct sched_cluster cluster;
    struct study_jobs jobs;
    struct study_quotas quotas;
    shoal_err err = SHOAL_ERR_INIT;

    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    shoal_assert(env_sim_put(env, path, jobs_csv, strlen(jobs_csv)) == SHOAL_OK);
    shoal_assert(env_sim_put(env, "q.txt", data, size) == SHOAL_OK);
    shoal_assert(sim_trace_load(env, &path, 1, SIM_FORMAT_AUTO, &trace, &err) == SHOAL_OK);
    shoal_assert(sched_cluster_parse(env_alloc(env), "4x8:gpu", &cluster, &err) == SHOAL_OK);
    shoal_assert(sim_trace_bind(env, trace, &cluster, NULL, &err) == SHOAL_OK);
    shoal_assert(study_jobs_init(&jobs, env_alloc(env), trace, &cluster, &err) == SHOAL_OK);
    if (study_quotas_init(&quotas, env, "q.txt", trace, &jobs, cluster.gpus, &err) == SHOAL_OK) {
        uint64_t sum = 0;
        for (size_t g = 0; g < quotas.count; g++)
            sum += quotas.gpus[g];
        shoal_assert(sum > 0 && sum == quotas.sum && quotas.given && quotas.knob.size > 0);
        study_quotas_fini(&quotas);
    } else {
        shoal_assert(err.message[0] != '\0');
    }
    study_jobs_fini(&jobs);
    sched_cluster_fini(&cluster);
    sim_trace_free(trace);
    shoal_env_free(env);
    return 0;
}
