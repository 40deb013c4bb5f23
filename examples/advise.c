/* advise.c - which algorithm on how many machines, from short runs: ./advise runs.csv */
#include <shoal/advise.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    shoal_env *env = NULL;
    const shoal_result *result = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_advise_opts opts;

    shoal_advise_opts_init(&opts);
    opts.runs = (const char *const[]){argc > 1 ? argv[1] : "runs.csv"};
    opts.run_count = 1;
    opts.within = "2%";
    opts.price = 0.40;
    if (shoal_env_real_new(&env, &err) == SHOAL_OK &&
        shoal_advise_run(env, &opts, NULL, &result, &err) == SHOAL_OK)
        printf("%s\n%s", result->heading, result->verdict);
    else
        fprintf(stderr, "advise: %s; %s\n", err.message, err.hint);
    shoal_result_free(result); /* before the env it was made from */
    shoal_env_free(env);
    return err.code == SHOAL_OK ? 0 : 1;
}
