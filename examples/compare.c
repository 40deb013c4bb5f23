/* compare.c - replay one trace under several policies: ./compare small.csv fifo,las,srtf */
#include <shoal/sim.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    shoal_env *env = NULL;
    shoal_sim *sim = NULL;
    const shoal_result *r = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_sim_opts opts;

    shoal_sim_opts_init(&opts);
    opts.traces = (const char *const[]){argc > 1 ? argv[1] : "small.csv"};
    opts.trace_count = 1;
    opts.cluster = "2x4:v100";
    if (shoal_env_real_new(&env, &err) != SHOAL_OK ||
        shoal_sim_new(env, &opts, &sim, &err) != SHOAL_OK ||
        shoal_sim_run(sim, argc > 2 ? argv[2] : NULL, NULL, &r, &err) != SHOAL_OK)
        fprintf(stderr, "compare: %s; %s\n", err.message, err.hint);
    for (size_t i = 0; r != NULL && i < r->records.count; i++)
        printf("%-10s mean %6.0f s, last %6.0f s\n", shoal_result_text(r, i, "policy"),
               shoal_result_number(r, i, "avg_jct_s"), shoal_result_number(r, i, "makespan_s"));
    shoal_result_free(r);
    shoal_sim_free(sim); /* before the env it was made from */
    shoal_env_free(env);
    return err.code == SHOAL_OK ? 0 : 1;
}
