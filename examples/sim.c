/* sim.c - what a trace would have been like on a cluster: ./sim small.csv */
#include <shoal/sim.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    shoal_env *env = NULL;
    shoal_sim *sim = NULL;
    const shoal_result *result = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_sim_opts opts;

    shoal_sim_opts_init(&opts);
    opts.traces = (const char *const[]){argc > 1 ? argv[1] : "small.csv"};
    opts.trace_count = 1;
    opts.cluster = "2x4:v100";
    if (shoal_env_real_new(&env, &err) == SHOAL_OK &&
        shoal_sim_new(env, &opts, &sim, &err) == SHOAL_OK &&
        shoal_sim_run(sim, "srtf", NULL, &result, &err) == SHOAL_OK)
        printf("%.0f jobs, completed after %.0f s on average\n",
               shoal_result_number(result, 0, "jobs"), shoal_result_number(result, 0, "avg_jct_s"));
    else
        fprintf(stderr, "sim: %s; %s\n", err.message, err.hint);
    shoal_result_free(result);
    shoal_sim_free(sim); /* before the env it was made from */
    shoal_env_free(env);
    return err.code == SHOAL_OK ? 0 : 1;
}
