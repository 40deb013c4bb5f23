/* Any bytes as what comes from another machine: a commit, rows, factors, an executor, a layout.
 * The first byte says which; the rest is aligned as messages are. Refused, or taken; a box that refuses is as it was, and one that takes still
 * folds. */
#include "base/assert.h"
#include "train/box.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEGMENT = 1 << 20, EXECUTORS = 3, ROWS = 7, WIDTH = 5 };

static void table(struct train_box *box, const char *name, bool held)
{
    shoal_table_opts opts = SHOAL_TABLE_OPTS_INIT;

    opts.name = name;
    opts.rows = ROWS;
    opts.width = WIDTH;
    opts.shards = 2;
    opts.held = held;
    shoal_assert(train_box_table(box, &opts, NULL) == SHOAL_OK);
}

static struct train_box *home_new(shoal_env *env, const struct env_shared *segment,
                                  uint32_t staleness)
{
    struct train_box_opts opts = {.staleness = staleness};
    struct train_box *box = NULL;

    shoal_assert(train_box_new(env, segment, &opts, &box, NULL) == SHOAL_OK);
    shoal_assert(train_box_executors(box, EXECUTORS, NULL) == SHOAL_OK);
    for (uint32_t e = 0; e < EXECUTORS; e++)
        shoal_assert(train_box_state(box, e, 8) != NULL);
    table(box, "sums", false);
    table(box, "held", true);
    shoal_assert(train_box_seal(box, NULL) == SHOAL_OK);
    return box;
}

static void check(shoal_status st, const shoal_err *err)
{
    shoal_assert(st == SHOAL_OK || st == SHOAL_E_FORMAT || st == SHOAL_E_INVAL ||
                 st == SHOAL_E_NOMEM);
    shoal_assert(st == SHOAL_OK || (err->code == st && err->message[0] != '\0'));
}

static void take_commit(struct train_box *home, const uint8_t *data, size_t size)
{
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = train_box_import(home, 0, data, size, &err);

    check(st, &err);
    uint64_t committed = train_box_committed(home, 0);
    shoal_assert(st == SHOAL_OK ? committed == 1 : committed == 0);
    for (uint32_t i = 0; st != SHOAL_OK && i < ROWS * WIDTH; i++)
        shoal_assert(train_box_rows(home, 0)[i] == 0);
    if (st == SHOAL_OK) { /* again: nothing happens */
        shoal_assert(train_box_import(home, 0, data, size, NULL) == SHOAL_OK);
        shoal_assert(train_box_committed(home, 0) == 1 && train_box_settled(home));
    }
}

static void take_at_away(shoal_env *env, const struct env_shared *segment, struct train_box *home,
                         const uint8_t *data, size_t size, char what)
{
    struct base_buf layout;
    struct train_box *away = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    base_buf_init(&layout, env_alloc(env), 1 << 16);
    train_box_pack_layout(home, &layout);
    shoal_assert(train_box_new_from_layout(env, segment, 1, layout.data, layout.size, NULL, &away,
                                           NULL) == SHOAL_OK);
    if (what == 'r')
        check(train_box_put_rows(away, data, size, &err), &err);
    else if (what == 'f')
        check(train_box_put_factors(away, data, size, &err), &err);
    else
        check(train_box_put_executor(away, 0, data, size, &err), &err);
    shoal_assert(train_box_fold(away) == SHOAL_OK);
    base_buf_fini(&layout);
    train_box_free(away);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct env_shared home_segment, segment;
    struct train_box *box = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_env *env = NULL;

    if (size == 0)
        return 0;
    uint8_t *bytes = malloc(size);
    shoal_assert(bytes != NULL);
    memcpy(bytes, data + 1, size - 1);
    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    shoal_assert(env_shared_new(env, SEGMENT, &home_segment, NULL) == SHOAL_OK);
    shoal_assert(env_shared_new(env, SEGMENT, &segment, NULL) == SHOAL_OK);
    struct train_box *home = home_new(env, &home_segment, data[0] != 'f');
    switch (data[0]) {
    case 'c': take_commit(home, bytes, size - 1); break;
    case 'r':
    case 'f':
    case 'e': take_at_away(env, &segment, home, bytes, size - 1, (char)data[0]); break;
    default: {
        shoal_status st =
            train_box_new_from_layout(env, &segment, 1, bytes, size - 1, NULL, &box, &err);
        shoal_assert(st == SHOAL_OK || (st < 0 && err.message[0] != '\0' && box == NULL));
    }
    }
    free(bytes);
    train_box_free(box);
    train_box_free(home);
    env_shared_close(env, &segment);
    env_shared_close(env, &home_segment);
    shoal_env_free(env);
    return 0;
}
