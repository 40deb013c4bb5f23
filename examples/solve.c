/* solve.c - who should get which GPUs for how much of the time: ./solve problem.json */
#include <shoal/solve.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    shoal_env *env = NULL;
    const shoal_result *result = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_solve_opts opts;

    shoal_solve_opts_init(&opts);
    opts.problem = argc > 1 ? argv[1] : "problem.json";
    if (shoal_env_real_new(&env, &err) == SHOAL_OK &&
        shoal_solve_run(env, &opts, NULL, &result, &err) == SHOAL_OK)
        printf("%s: %.4g %s\n", shoal_result_text(result, 0, "objective"),
               shoal_result_number(result, 0, "level"), shoal_result_text(result, 0, "unit"));
    else
        fprintf(stderr, "solve: %s; %s\n", err.message, err.hint);
    shoal_result_free(result); /* before the env it was made from */
    shoal_env_free(env);
    return err.code == SHOAL_OK ? 0 : 1;
}
