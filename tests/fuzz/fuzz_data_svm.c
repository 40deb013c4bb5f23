/* Fuzz target: any bytes as LIBSVM text. What loads must be a proper matrix, must not depend on the
 * number of pieces it was parsed in, and must survive saving. */
#include "base/assert.h"
#include "../data_text.h"
#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_matrix(const struct data_svm *svm)
{
    const struct num_csr *x = &svm->x;

    shoal_assert(x->rows > 0 && x->start[0] == 0 && x->start[x->rows] == svm->entries);
    for (uint64_t i = 0; i < x->rows; i++) {
        shoal_assert(isfinite(svm->label[i]) && x->start[i] <= x->start[i + 1]);
        for (uint64_t k = x->start[i]; k < x->start[i + 1]; k++) {
            shoal_assert(x->index[k] < x->columns);
            shoal_assert(k == x->start[i] || x->index[k - 1] < x->index[k]);
            shoal_assert(x->value == NULL || isfinite(x->value[k]));
        }
    }
}

static void check_same(const struct data_svm *a, const struct data_svm *b)
{
    size_t entries = (size_t)a->entries, rows = (size_t)a->x.rows;

    shoal_assert(a->x.rows == b->x.rows && a->entries == b->entries);
    shoal_assert(a->x.columns == b->x.columns);
    shoal_assert(memcmp(a->x.start, b->x.start, (rows + 1) * sizeof *a->x.start) == 0);
    shoal_assert(memcmp(a->label, b->label, rows * sizeof *a->label) == 0);
    shoal_assert((a->x.value == NULL) == (b->x.value == NULL));
    if (entries == 0)
        return;
    shoal_assert(memcmp(a->x.index, b->x.index, entries * sizeof *a->x.index) == 0);
    if (a->x.value != NULL)
        shoal_assert(memcmp(a->x.value, b->x.value, entries * sizeof *a->x.value) == 0);
}

static void check_saved(shoal_env *env, const struct data_svm *svm)
{
    struct data_svm back = {0};
    struct data_svm_opts opts = {.columns = svm->x.columns};

    shoal_assert(data_text_svm(env, "s", &svm->x, svm->label, DATA_SVM_FROM_ONE) == SHOAL_OK);
    shoal_assert(data_svm_load(env, "s", &opts, &back, NULL) == SHOAL_OK);
    check_same(svm, &back);
    data_svm_fini(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct data_svm svm = {0}, pieces = {0};
    shoal_env *env = NULL;
    shoal_err err = SHOAL_ERR_INIT, other = SHOAL_ERR_INIT;
    struct data_svm_opts opts = {.threads = 1};

    if (size > 0)
        opts.base = (enum data_svm_base)(data[0] % 3);
    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    shoal_assert(env_sim_put(env, "f", data, size) == SHOAL_OK);
    shoal_status st = data_svm_load(env, "f", &opts, &svm, &err);
    opts.threads = 4;
    shoal_assert(data_svm_load(env, "f", &opts, &pieces, &other) == st);
    if (st == SHOAL_OK) {
        check_matrix(&svm);
        check_same(&svm, &pieces);
        check_saved(env, &svm);
    } else {
        shoal_assert(svm.alloc == NULL && err.code == st && err.message[0] != '\0');
        shoal_assert(strcmp(err.message, other.message) == 0);
    }
    data_svm_fini(&svm);
    data_svm_fini(&pieces);
    shoal_env_free(env);
    return 0;
}
