/* lasso_tell.c - what was learnt, in words, for the end of a job: which penalty, how many columns, how
 * well they did on rows that were held out, and the largest coefficients.
 * Tests: tests/cli/test_train_lasso.py. */
#include "app/lasso.h"

#include "base/err.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOLD = 8, LINE = 120 };

static int larger_first(const void *a, const void *b)
{
    const struct lasso_entry *x = a, *y = b;
    float one = fabsf(x->value), two = fabsf(y->value);

    if (one != two)
        return one > two ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

static void tell_chosen(shoal_driver *driver, uint32_t chosen, uint64_t count, double mean,
                        double error)
{
    const struct lasso_options *o = shoal_driver_options(driver);
    const struct lasso_driver *d = shoal_driver_state(driver);
    char line[LINE];

    snprintf(line, sizeof line, "lambda %.4g, %u of %u: %llu of %u columns", d->of[chosen].lambda,
             chosen + 1, d->lambdas, (unsigned long long)count, d->all_columns);
    shoal_driver_say(driver, line);
    if (d->constant > 0) {
        snprintf(line, sizeof line, "%u of %u columns never vary%s", d->constant, d->all_columns,
                 o->intercept ? ": the intercept has them" : "");
        shoal_driver_say(driver, line);
    }
    if (d->folds > 0) {
        snprintf(line, sizeof line, "held-out loss %.6g, standard error %.2g, %u folds", mean,
                 error, d->folds);
        shoal_driver_say(driver, line);
    }
}

/* The largest coefficients, by the numbers that the data has for columns. */
static void tell_columns(shoal_driver *driver, const struct lasso_entry *entry, uint64_t count)
{
    const struct lasso_options *o = shoal_driver_options(driver);
    char line[LINE];

    for (uint64_t i = 0; i < count && i < TOLD; i++) {
        snprintf(line, sizeof line, "column %-8u %12.6g",
                 entry[i].column + (o->index == DATA_SVM_FROM_ZERO ? 0u : 1u),
                 (double)entry[i].value);
        shoal_driver_say(driver, line);
    }
}

/* What options that were left open came to. */
static void tell_settings(shoal_driver *driver)
{
    const struct lasso_options *o = shoal_driver_options(driver);
    const struct lasso_driver *d = shoal_driver_state(driver);
    const struct lasso_data *data = (const void *)shoal_driver_rows_read(driver, LASSO_DATA);
    double last = d->of[d->lambdas - 1].lambda;
    char text[32];

    snprintf(text, sizeof text, "%.6g", last);
    if (o->lambda <= 0)
        shoal_driver_setting(driver, "lambda", text);
    snprintf(text, sizeof text, "%.6g", last / d->first);
    if (o->ratio <= 0 || o->lambda > 0)
        shoal_driver_setting(driver, "ratio", text);
    snprintf(text, sizeof text, "%u", d->lambdas);
    if (d->lambdas < o->lambdas)
        shoal_driver_setting(driver, "lambdas", text);
    snprintf(text, sizeof text, "%u", data->groups);
    if (o->groups == 0)
        shoal_driver_setting(driver, "groups", text);
    if (o->gram == LASSO_GRAM_AUTO)
        shoal_driver_setting(driver, "gram", data->gram_parts > 0 ? "yes" : "no");
    if (o->folds == 0)
        shoal_driver_setting(driver, "folds", "none");
}

shoal_status lasso_tell(shoal_driver *driver, shoal_err *err)
{
    static const size_t MAX = LASSO_LAMBDAS_MAX;
    const struct lasso_driver *d = shoal_driver_state(driver);
    const struct lasso_options *o = shoal_driver_options(driver);
    const struct lasso_entry *path = (const void *)shoal_driver_rows_read(driver, LASSO_PATH);
    const struct base_alloc *alloc = env_alloc(shoal_driver_env(driver));
    double *held = base_calloc(alloc, 2 * MAX, sizeof *held);
    struct lasso_entry *entry;
    shoal_status st = SHOAL_OK;

    if (held == NULL)
        return base_err_nomem(err, "telling coefficients");
    tell_settings(driver);
    lasso_folds(d, d->lambdas, held, held + MAX);
    uint32_t chosen = lasso_choose(d, d->lambdas, (enum lasso_pick)o->pick, held, held + MAX);
    uint64_t from = chosen > 0 ? d->of[chosen - 1].end : 0, count = d->of[chosen].end - from;
    entry = base_calloc(alloc, count + 1, sizeof *entry);
    if (entry != NULL) {
        for (uint64_t i = 0; i < count; i++)
            entry[i] = path[from + i];
        qsort(entry, count, sizeof *entry, larger_first);
        tell_chosen(driver, chosen, count, held[chosen], held[MAX + chosen]);
        tell_columns(driver, entry, count);
    } else {
        st = base_err_nomem(err, "telling coefficients");
    }
    base_free(alloc, held);
    base_free(alloc, entry);
    return st;
}
