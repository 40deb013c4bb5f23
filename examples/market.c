/* market.c - 20 days of work that can move, bought in time: ./market prices.csv */
#include <shoal/market.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    shoal_env *env = NULL;
    const shoal_result *result = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_market_opts opts;

    shoal_market_opts_init(&opts);
    opts.prices = (const char *const[]){argc > 1 ? argv[1] : "prices.csv"};
    opts.price_count = 1;
    opts.work = "20d";
    opts.deadline = "25d";
    if (shoal_env_real_new(&env, &err) == SHOAL_OK &&
        shoal_market_run(env, &opts, NULL, &result, &err) == SHOAL_OK)
        printf("%s\n%s", result->heading, result->verdict);
    else
        fprintf(stderr, "market: %s; %s\n", err.message, err.hint);
    shoal_result_free(result); /* before the env it was made from */
    shoal_env_free(env);
    return err.code == SHOAL_OK ? 0 : 1;
}
