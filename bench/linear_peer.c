/* linear_peer.c - LIBLINEAR on a data set, and the objective of anybody's weights.
 *
 *     bench_linear_peer DATA       commands on standard input, a JSON line for each on standard output
 *
 *     shape                   LIBLINEAR's version, and rows, columns, entries and classes of the data
 *     train SOLVER SHARE      LIBLINEAR's train() with SHARE of its own tolerance for that solver: CPU and
 *                             wall seconds of the call alone, and the objective of what it found
 *     model SOLVER FILE       the objective of a model of `shoal train logreg`, whose only lane speaks for
 *                             the first of two classes
 *     weights SOLVER FILE     that of doubles, (columns, lanes), where a lane speaks for the class of
 *                             its number in ascending order, and the only one for the second of two
 *
 * SOLVER is LIBLINEAR's number, which also says what loss and penalty are meant. All cost 1 and
 * have no bias. Weights are judged by one function here, in doubles: penalty + sum of losses, with
 * more than two classes the sum over each against the rest. Data is read once, by Shoal's reader,
 * so that both sides see the same numbers and runs of either side can alternate. */
#include "app/logreg.h"

#include "base/assert.h"
#include "base/err.h"
#include "data/svm.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef SHOAL_HAVE_LIBLINEAR

int main(void)
{
    fprintf(stderr, "bench_linear_peer: built without LIBLINEAR (tools/install-deps bench)\n");
    return 77;
}

#else
#include <linear.h>

enum { CLASSES_MAX = 1 << 20 };

static shoal_env *env;
static struct data_svm data;
static struct data_classes classes;
static struct problem problem;
static struct feature_node *nodes; /* of all rows */

static double seconds(clockid_t clock)
{
    struct timespec t;

    shoal_assert(clock_gettime(clock, &t) == 0);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "bench_linear_peer: %s\n", what);
    exit(1);
}

static void *room(size_t count, size_t size)
{
    void *at = calloc(count + 1, size);

    if (at == NULL)
        die("out of memory");
    return at;
}

/* LIBLINEAR's form of the data: lists of (index from 1, value) that end with -1. */
static void load(const char *path)
{
    shoal_err err = SHOAL_ERR_INIT;

    if (shoal_env_real_new(&env, &err) != SHOAL_OK ||
        data_svm_load(env, path, &(struct data_svm_opts){.keep_ones = true}, &data, &err) !=
            SHOAL_OK ||
        data_classes_find(env_alloc(env), data.label, data.x.rows, CLASSES_MAX, &classes, &err) !=
            SHOAL_OK)
        die(err.message);
    struct feature_node *node = nodes = room(data.entries + data.x.rows, sizeof *nodes);
    problem = (struct problem){.l = (int)data.x.rows,
                               .n = (int)data.x.columns,
                               .y = data.label,
                               .x = room(data.x.rows, sizeof *problem.x),
                               .bias = -1};
    for (uint64_t r = 0; r < data.x.rows; r++) {
        problem.x[r] = node;
        for (uint64_t i = data.x.start[r]; i < data.x.start[r + 1]; i++)
            *node++ = (struct feature_node){(int)data.x.index[i] + 1, (double)data.x.value[i]};
        (node++)->index = -1;
    }
}

static double loss_of(int solver, double margin)
{
    if (solver == L2R_LR || solver == L2R_LR_DUAL || solver == L1R_LR)
        return margin > 0 ? log1p(exp(-margin)) : -margin + log1p(exp(margin));
    double below = margin < 1 ? 1 - margin : 0;
    return solver == L2R_L1LOSS_SVC_DUAL ? below : below * below;
}

/* w: (columns, lanes); a lane's margin speaks for its label and against all others. */
static double objective(int solver, const double *w, uint32_t columns, uint32_t lanes,
                        const double *label)
{
    double *margin = room(lanes, sizeof *margin), penalty = 0, loss = 0;

    for (size_t i = 0; i < (size_t)columns * lanes; i++)
        penalty += solver == L1R_LR ? fabs(w[i]) : 0.5 * w[i] * w[i];
    for (uint64_t r = 0; r < data.x.rows; r++) {
        memset(margin, 0, lanes * sizeof *margin);
        for (uint64_t i = data.x.start[r]; i < data.x.start[r + 1]; i++) {
            const double *row = w + (size_t)data.x.index[i] * lanes;
            for (uint32_t k = 0; k < lanes && data.x.index[i] < columns; k++)
                margin[k] += row[k] * (double)data.x.value[i];
        }
        for (uint32_t k = 0; k < lanes; k++)
            loss += loss_of(solver, data.label[r] == label[k] ? margin[k] : -margin[k]);
    }
    free(margin);
    return penalty + loss;
}

static void quiet(const char *text)
{
    (void)text;
}

static void train_peer(int solver, double share)
{
    bool dual =
        solver == L2R_L2LOSS_SVC_DUAL || solver == L2R_L1LOSS_SVC_DUAL || solver == L2R_LR_DUAL;
    struct parameter parameter = {
        .solver_type = solver, .eps = share * (dual ? 0.1 : 0.01), .C = 1, .p = 0.1};

#if LIBLINEAR_VERSION >= 240
    parameter.regularize_bias = 1; /* 0 would leave the last column without a penalty */
#endif
    srand(1);                      /* it draws from there */
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
    struct model *model = train(&problem, &parameter);

    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    wall = seconds(CLOCK_MONOTONIC) - wall;
    uint32_t lanes = model->nr_class == 2 ? 1 : (uint32_t)model->nr_class;
    double *label = room((size_t)model->nr_class, sizeof *label);
    for (int k = 0; k < model->nr_class; k++)
        label[k] = model->label[k];
    printf("{\"cpu_s\":%.6f,\"wall_s\":%.6f,\"objective\":%.12g}\n", cpu, wall,
           objective(solver, model->w, (uint32_t)model->nr_feature, lanes, label));
    free(label);
    free_and_destroy_model(&model);
}

/* The classes' labels by lane; the only lane of two classes speaks for `one`. */
static const double *labels(uint32_t lanes, uint32_t one)
{
    return lanes == 1 && classes.count == 2 ? &classes.label[one] : classes.label;
}

static void judge_model(int solver, const char *path)
{
    shoal_err err = SHOAL_ERR_INIT;
    const struct logreg_shape *shape = NULL;
    const float *weights = NULL;
    shoal_model *model = NULL;
    size_t size = 0;

    if (shoal_model_open(env, path, &model, &err) != SHOAL_OK ||
        shoal_model_get(model, "shape", (const void **)&shape, &size, &err) != SHOAL_OK ||
        size != sizeof *shape || shape->bias != 0 ||
        shoal_model_get(model, "weights", (const void **)&weights, &size, &err) != SHOAL_OK)
        die(err.message);
    size_t count = (size_t)shape->columns * shape->lanes;
    double *w = room(count, sizeof *w);
    shoal_assert(size == count * sizeof *weights);
    for (size_t i = 0; i < count; i++)
        w[i] = (double)weights[i];
    printf("{\"objective\":%.12g}\n",
           objective(solver, w, shape->columns, shape->lanes, labels(shape->lanes, 0)));
    free(w);
    shoal_model_free(model);
}

static void judge_weights(int solver, const char *path)
{
    uint32_t lanes = classes.count == 2 ? 1 : classes.count;
    size_t count = (size_t)data.x.columns * lanes;
    double *w = room(count, sizeof *w);
    FILE *file = fopen(path, "rb");

    if (file == NULL || fread(w, sizeof *w, count, file) != count)
        die("cannot read the weights");
    fclose(file);
    printf("{\"objective\":%.12g}\n",
           objective(solver, w, (uint32_t)data.x.columns, lanes, labels(lanes, 1)));
    free(w);
}

int main(int argc, char **argv)
{
    char line[5000], word[16], path[4096];
    int solver;

    if (argc != 2)
        return fprintf(stderr, "usage: bench_linear_peer DATA\n"), 2;
    set_print_string_function(quiet);
    load(argv[1]);
    while (fgets(line, sizeof line, stdin) != NULL) {
        int words = sscanf(line, "%15s %d %4095[^\n]", word, &solver, path);
        if (words == 1 && strcmp(word, "shape") == 0)
            printf("{\"version\":\"%d.%02d\",\"rows\":%llu,\"columns\":%llu,\"entries\":%llu,"
                   "\"classes\":%u}\n",
                   liblinear_version / 100, liblinear_version % 100,
                   (unsigned long long)data.x.rows, (unsigned long long)data.x.columns,
                   (unsigned long long)data.entries, classes.count);
        else if (words == 3 && strcmp(word, "train") == 0)
            train_peer(solver, strtod(path, NULL));
        else if (words == 3 && strcmp(word, "model") == 0)
            judge_model(solver, path);
        else if (words == 3 && strcmp(word, "weights") == 0)
            judge_weights(solver, path);
        else
            die("a command makes no sense");
        fflush(stdout);
    }
    return 0;
}
#endif
