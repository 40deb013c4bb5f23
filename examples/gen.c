/* gen.c - ratings to try `shoal train mf` on: ./gen ratings.csv */
#include <shoal/gen.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    shoal_env *env = NULL;
    const shoal_result *result = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_gen_ratings_opts opts;

    shoal_gen_ratings_opts_init(&opts);
    opts.users = 300;
    opts.to.output = argc > 1 ? argv[1] : "ratings.csv";
    if (shoal_env_real_new(&env, &err) == SHOAL_OK &&
        shoal_gen_ratings(env, &opts, NULL, &result, &err) == SHOAL_OK)
        printf("%.0f ratings\n", shoal_result_number(result, 0, "ratings"));
    else
        fprintf(stderr, "gen: %s; %s\n", err.message, err.hint);
    shoal_result_free(result); /* before the env it was made from */
    shoal_env_free(env);
    return err.code == SHOAL_OK ? 0 : 1;
}
