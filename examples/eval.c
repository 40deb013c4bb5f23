/* eval.c - how well a model says what is known of the data: ./eval model.shoal data.svm */
#include <shoal/predict.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    const char *model = argc > 1 ? argv[1] : "model.shoal", *data = argc > 2 ? argv[2] : "data.svm";
    shoal_env *env = NULL;
    const shoal_result *result = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    if (shoal_env_real_new(&env, &err) == SHOAL_OK &&
        shoal_eval(env, model, data, NULL, NULL, &result, &err) == SHOAL_OK)
        printf("%s", result->verdict);
    else
        fprintf(stderr, "eval: %s; %s\n", err.message, err.hint);
    shoal_result_free(result); /* before the env it was made from */
    shoal_env_free(env);
    return err.code == SHOAL_OK ? 0 : 1;
}
