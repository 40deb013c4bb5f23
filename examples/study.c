/* study.c - what is wrong with a cluster, and what to do first: ./study small.csv */
#include <shoal/study.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    shoal_env *env = NULL;
    const shoal_result *result = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_study_opts opts;

    shoal_study_opts_init(&opts);
    opts.traces = (const char *const[]){argc > 1 ? argv[1] : "small.csv"};
    opts.trace_count = 1;
    if (shoal_env_real_new(&env, &err) == SHOAL_OK &&
        shoal_study_run(env, &opts, NULL, &result, &err) == SHOAL_OK)
        printf("%s\n%s", result->heading, result->verdict);
    else
        fprintf(stderr, "study: %s; %s\n", err.message, err.hint);
    shoal_result_free(result); /* before the env it was made from */
    shoal_env_free(env);
    return err.code == SHOAL_OK ? 0 : 1;
}
