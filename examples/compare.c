/* compare.c - replay one trace under several scheduling policies and print what each does to
 * waiting.
 *
 * Usage: compare TRACE POLICY... The trace and the cluster are read once; each policy then runs on
 * them in virtual time. */
#include <shoal/env.h>
#include <shoal/sim.h>
#include <stdio.h>

static int fail(const shoal_err *err)
{
    fprintf(stderr, "compare: %s\n", err->message);
    if (err->where[0] != '\0')
        fprintf(stderr, "compare: at %s\n", err->where);
    if (err->hint[0] != '\0')
        fprintf(stderr, "compare: %s\n", err->hint);
    return 1;
}

/* The name of the job that waited longest in the last run. */
static const char *longest_wait(const shoal_sim *sim)
{
    shoal_sim_job job = SHOAL_SIM_JOB_INIT;
    const char *name = "-";
    double wait_s = 0;

    for (size_t i = 0; i < shoal_sim_job_count(sim); i++) {
        if (shoal_sim_job_get(sim, i, &job, NULL) != SHOAL_OK)
            break;
        if (job.wait_s > wait_s) {
            wait_s = job.wait_s;
            name = job.name;
        }
    }
    return name;
}

int main(int argc, char **argv)
{
    shoal_env *env = NULL;
    shoal_sim *sim = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_sim_opts opts = SHOAL_SIM_OPTS_INIT;
    int rc = 0;

    if (argc < 3) {
        fprintf(stderr, "usage: compare TRACE POLICY...\n");
        return 2;
    }
    const char *traces[] = {argv[1]};
    opts.traces = traces;
    opts.trace_count = 1;
    opts.cluster = "2x4:v100";
    if (shoal_env_real_new(&env, &err) != SHOAL_OK ||
        shoal_sim_new(env, &opts, &sim, &err) != SHOAL_OK)
        rc = fail(&err);

    for (int i = 2; i < argc && rc == 0; i++) {
        shoal_sim_result result = SHOAL_SIM_RESULT_INIT;
        if (shoal_sim_run(sim, argv[i], &result, &err) != SHOAL_OK)
            rc = fail(&err);
        else
            printf("%-10s average completion %6.0f s, makespan %6.0f s, waits longest: %s\n",
                   argv[i], result.avg_jct_s, result.makespan_s, longest_wait(sim));
    }
    shoal_sim_free(sim); /* before the env it was made from */
    shoal_env_free(env);
    return rc;
}
