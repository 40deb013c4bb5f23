/* train.c - a linear model on two worker processes: ./train data.svm model.shoal */
#include <math.h>
#include <shoal/job.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    shoal_env *env = NULL;
    shoal_job *job = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_job_opts opts;

    shoal_job_opts_init(&opts);
    opts.workers = 2;
    opts.model = argc > 2 ? argv[2] : "model.shoal";
    if (shoal_env_real_new(&env, &err) == SHOAL_OK &&
        shoal_job_start(env, "logreg", argc > 1 ? argv[1] : "data.svm", &opts, NULL, &job, &err) ==
            SHOAL_OK &&
        shoal_job_wait(job, INFINITY, &err) == SHOAL_OK)
        printf("objective %.6g\n", shoal_result_number(shoal_job_result(job), 0, "value"));
    else
        fprintf(stderr, "train: %s; %s\n", err.message, err.hint);
    shoal_job_free(job); /* before the env it was made from */
    shoal_env_free(env);
    return err.code == SHOAL_OK ? 0 : 1;
}
