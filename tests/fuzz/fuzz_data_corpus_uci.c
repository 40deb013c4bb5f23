/* Fuzz target: any bytes as UCI bag of words, MatrixMarket or LDA-C, with a vocabulary after a NUL byte. What loads
 * must be a proper corpus, must not depend on the number of pieces it was parsed in, and must survive
 * saving; a model of its words must know them. */
#include "corpus_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size > 0 ? memchr(data, '\0', size) : NULL;
    struct data_corpus_opts opts = {.format = DATA_CORPUS_UCI};
    shoal_env *env = NULL;

    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    size_t text = nul != NULL ? (size_t)(nul - data) : size;
    shoal_assert(env_sim_put(env, "f", data, text) == SHOAL_OK);
    if (nul != NULL) {
        shoal_assert(env_sim_put(env, "v", nul + 1, size - text - 1) == SHOAL_OK);
        opts.vocab = "v";
    }
    check_loads(env, &opts);
    opts.format = DATA_CORPUS_MM;
    check_loads(env, &opts);
    opts.format = DATA_CORPUS_LDAC;
    check_loads(env, &opts);
    opts.format = DATA_CORPUS_AUTO;
    opts.min_count = 2;
    opts.max_share = 0.9;
    check_loads(env, &opts);
    check_model_reads(env, &opts);
    shoal_env_free(env);
    return 0;
}
