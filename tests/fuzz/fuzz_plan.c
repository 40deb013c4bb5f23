/* Fuzz target: any bytes as the data of a job. It is refused in words, or planned, and then the job has its
 * memory: none takes more than 1 GiB for a file as small as these. The first byte says which job. */
#include "app/app.h"
#include "base/assert.h"
#include "train/master.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const size_t MEMORY_MAX = (size_t)1 << 30;

static const struct {
    const char *app, *settings;
} JOBS[] = {{"logreg", ""},
            {"logreg", "penalty=l1\n"},
            {"logreg", "algorithm=sdca\nbias=true\n"},
            {"logreg", "loss=softmax\nindex=zero\n"},
            {"logreg", "algorithm=sgd\nloss=softmax\n"},
            {"lasso", ""},
            {"lasso", "folds=2\nscale=true\nloss=logistic\n"},
            {"lda", ""},
            {"lda", "min_count=2\nholdout=0.3\n"},
            {"mf", ""},
            {"mf", "algorithm=implicit\n"}};

static void ended(void *ctx, shoal_status status, const shoal_err *err)
{
    (void)ctx;
    (void)status;
    (void)err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_opts wire = WIRE_OPTS_INIT;
    struct wire_key key = {.bytes = {0}};
    struct env_loop *loop = NULL;
    struct train_master *master = NULL;
    shoal_env *env = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    if (size == 0)
        return 0;
    size_t job = data[0] % (sizeof JOBS / sizeof JOBS[0]);
    struct train_master_opts opts = {.app = app_find(JOBS[job].app),
                                     .path = "f",
                                     .settings = JOBS[job].settings,
                                     .threads = 1,
                                     .staleness = SHOAL_STALENESS_PLANNED,
                                     .address = "home:0",
                                     .key = &key,
                                     .wire = &wire,
                                     .segment_size = MEMORY_MAX,
                                     .ended = ended};

    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    shoal_assert(env_sim_put(env, "f", data + 1, size - 1) == SHOAL_OK);
    shoal_assert(env_loop_new(env, "home", &loop, NULL) == SHOAL_OK);
    shoal_status st = train_master_new(loop, &opts, &master, &err);
    shoal_assert(st == SHOAL_OK || (err.code == st && err.message[0] != '\0'));
    shoal_assert(st != SHOAL_E_NOMEM);
    train_master_free(master);
    env_loop_free(loop);
    shoal_env_free(env);
    return 0;
}
