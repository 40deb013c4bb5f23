/* Fuzz target: any parts as a model of an application, with sums that are right. It is refused in words,
 * or predicts and is judged, for data that has columns, words or users it does not know, too. An input is
 * the application's name and a newline, then parts: a name, a blank, the size in decimal, a newline, and
 * so many bytes. */
#include "app/app.h"
#include "base/assert.h"
#include "train/model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Up to the byte `end`, which is passed over, as a string. */
static void take_text(const uint8_t **at, const uint8_t *stop, char end, char *out, size_t max)
{
    const uint8_t *found = *at < stop ? memchr(*at, end, (size_t)(stop - *at)) : NULL;
    size_t size = found != NULL ? (size_t)(found - *at) : (size_t)(stop - *at), kept = size;

    kept = kept < max - 1 ? kept : max - 1;
    memcpy(out, *at, kept);
    out[kept] = '\0';
    *at += size + (found != NULL);
}

/* False: a part's name is none, or there twice. */
static bool put_parts(shoal_model *model, const uint8_t *at, const uint8_t *stop)
{
    bool good = true;

    while (at < stop) {
        char name[32], size[24];
        take_text(&at, stop, ' ', name, sizeof name);
        take_text(&at, stop, '\n', size, sizeof size);
        size_t bytes = strtoull(size, NULL, 10), left = (size_t)(stop - at);
        bytes = bytes < left ? bytes : left;
        good &= shoal_model_put(model, name, at, bytes, NULL) == SHOAL_OK;
        at += bytes;
    }
    return good;
}

static shoal_status put_line(void *ctx, const char *line, shoal_err *err)
{
    (void)ctx;
    (void)err;
    return line != NULL ? SHOAL_OK : SHOAL_E_INTERNAL;
}

static void put_metric(void *ctx, const char *name, double value)
{
    (void)ctx;
    (void)value;
    shoal_assert(name[0] != '\0');
}

static void use(shoal_env *env, const shoal_app *app, const char *path)
{
    shoal_model *model = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    struct train_score_opts opts = {.path = path, .line = put_line, .metric = put_metric};

    if (shoal_model_open(env, "m", &model, &err) != SHOAL_OK)
        return;
    for (int lines = 0; lines < 2; lines++) {
        opts.wants_lines = lines > 0;
        shoal_status st = train_score(env, app, model, &opts, &err);
        shoal_assert(st == SHOAL_OK || (err.code == st && err.message[0] != '\0'));
    }
    shoal_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char ROWS[] = "1 1:1 2:0.5\n-1 3:2 2000000000:1\n";
    static const char RATINGS[] = "a,x,3\nb,y,1\nq,z,2\n";
    static const char WORDS[] = "ant bee cat\ndog fox\n", NUMBERS[] = "2 0:1 3:2\n1 900000:1\n";
    const uint8_t *stop = data + size;
    shoal_model *model = NULL;
    shoal_env *env = NULL;
    char name[32];

    if (size == 0)
        return 0;
    take_text(&data, stop, '\n', name, sizeof name);
    const shoal_app *app = app_find(name);
    if (app == NULL)
        return 0;
    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    bool rows = strcmp(name, "logreg") == 0 || strcmp(name, "lasso") == 0;
    const char *first = rows ? ROWS : strcmp(name, "mf") == 0 ? RATINGS : WORDS;
    shoal_assert(env_sim_put(env, "d", first, strlen(first)) == SHOAL_OK &&
                 env_sim_put(env, "n", NUMBERS, strlen(NUMBERS)) == SHOAL_OK);
    shoal_assert(train_model_create(env, "m", name, "", &model, NULL) == SHOAL_OK);
    bool good = put_parts(model, data, stop);
    if (train_model_commit(model, NULL) == SHOAL_OK && good) {
        use(env, app, "d");
        use(env, app, "n");
    }
    shoal_env_free(env);
    return 0;
}
