/* predict.c - a line for each row of the data: ./predict model.shoal data.svm said.txt */
#include <shoal/predict.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    shoal_env *env = NULL;
    const shoal_result *result = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_predict_opts opts;

    shoal_predict_opts_init(&opts);
    opts.output = argc > 3 ? argv[3] : "said.txt";
    if (shoal_env_real_new(&env, &err) == SHOAL_OK &&
        shoal_predict(env, argc > 1 ? argv[1] : "model.shoal", argc > 2 ? argv[2] : "data.svm",
                      &opts, NULL, &result, &err) == SHOAL_OK)
        printf("%.0f rows\n", shoal_result_number(result, 0, "rows"));
    else
        fprintf(stderr, "predict: %s; %s\n", err.message, err.hint);
    shoal_result_free(result); /* before the env it was made from */
    shoal_env_free(env);
    return err.code == SHOAL_OK ? 0 : 1;
}
