/* svm_save.c - rows as LIBSVM text, the inverse of svm.c. Tests: tests/unit/data/test_svm.c. */
#include "data/svm.h"

#include "base/err.h"
#include "data/format.h"

static void put_row(struct data_out *out, const struct num_csr *x, uint64_t row, double label,
                    uint32_t base)
{
    char *to = data_out_room(out, DATA_FORMAT_MAX);

    out->used = (size_t)(data_format_f64(to, label) - out->buf);
    for (uint64_t i = x->start[row]; i < x->start[row + 1]; i++) {
        to = data_out_room(out, (size_t)2 * DATA_FORMAT_MAX);
        *to++ = ' ';
        to = data_format_u64(to, (uint64_t)x->index[i] + base);
        *to++ = ':';
        to = data_format_f32(to, x->value != NULL ? x->value[i] : 1.0f);
        out->used = (size_t)(to - out->buf);
    }
    data_out_put(out, "\n", 1);
}

shoal_status data_svm_save(shoal_env *env, const char *path, const struct num_csr *x,
                           const double *label, enum data_svm_base base, shoal_err *err)
{
    if (base == DATA_SVM_FROM_EITHER)
        return base_err(err, SHOAL_E_INVAL, "indices must count from 0 or from 1 to be written");
    struct data_out *out = base_malloc(env_alloc(env), sizeof *out);
    if (out == NULL)
        return base_err_nomem(err, "writing data");
    out->err = err;
    out->used = 0;
    out->status = SHOAL_OK;
    shoal_status st = env_create(env, path, &out->file, err);
    if (st == SHOAL_OK) {
        for (uint64_t i = 0; i < x->rows && out->status == SHOAL_OK; i++)
            put_row(out, x, i, label[i], base == DATA_SVM_FROM_ONE);
        st = data_out_finish(out);
    }
    base_free(env_alloc(env), out);
    return st;
}
