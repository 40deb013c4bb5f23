/* Any bytes as what comes from another machine: a commit, rows, factors, an executor, a layout.
 * The first byte says which; the rest is aligned as messages are. Refused, or taken; a box that
 * refuses is as it was, and one that takes still folds. A capital letter says that they are taken,
 * and a replay insists: seeds that have come to be refused at the first check guard nothing. */
#include "base/assert.h"
#include "train/box.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEGMENT = 1 << 20, EXECUTORS = 3, TABLES = 3, ROWS = 7, WIDTH = 8, SHARDS = 6 };

static const uint64_t UNEVEN[SHARDS + 1] = {0, 1, 3, 3, 4, 6, ROWS};
static bool fuzzing; /* what a capital letter says may be anything */

/* libFuzzer calls it, a replay does not. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    fuzzing = true;
    return 0;
}

static void table(struct train_box *box, const char *name, bool held, const uint64_t *firsts)
{
    shoal_table_opts opts = SHOAL_TABLE_OPTS_INIT;

    opts.name = name;
    opts.rows = ROWS;
    opts.width = WIDTH;
    opts.shards = firsts != NULL ? SHARDS : 2;
    opts.held = held;
    opts.shard_first = firsts;
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
    table(box, "sums", false, NULL);
    table(box, "held", true, NULL);
    table(box, "uneven", true, UNEVEN);
    shoal_assert(train_box_seal(box, NULL) == SHOAL_OK);
    return box;
}

static void check(shoal_status st, const shoal_err *err)
{
    shoal_assert(st == SHOAL_OK || st == SHOAL_E_FORMAT || st == SHOAL_E_INVAL ||
                 st == SHOAL_E_NOMEM);
    shoal_assert(st == SHOAL_OK || (err->code == st && err->message[0] != '\0'));
}

static bool is_zero(struct train_box *box)
{
    uint64_t rows = 0;

    for (uint32_t t = 0; t < TABLES; t++)
        for (uint32_t s = 0; s < train_box_table_info(box, t).shards; s++) {
            const float *x = train_box_shard(box, t, s, NULL, &rows);
            for (uint64_t i = 0; i < rows * WIDTH; i++)
                if (x[i] != 0)
                    return false;
        }
    return true;
}

static shoal_status take_commit(struct train_box *home, const uint8_t *data, size_t size)
{
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = train_box_import(home, 0, data, size, &err);

    check(st, &err);
    uint64_t committed = train_box_committed(home, 0);
    shoal_assert(st == SHOAL_OK ? committed == 1 : committed == 0 && is_zero(home));
    if (st == SHOAL_OK) { /* again: nothing happens */
        shoal_assert(train_box_import(home, 0, data, size, NULL) == SHOAL_OK);
        shoal_assert(train_box_committed(home, 0) == 1 && train_box_settled(home));
    }
    return st;
}

/* A box that has all rows as they are at home. */
static struct train_box *away_new(shoal_env *env, const struct env_shared *segment,
                                  struct train_box *home)
{
    struct base_buf bytes;
    struct train_box *away = NULL;

    base_buf_init(&bytes, env_alloc(env), 1 << 16);
    train_box_pack_layout(home, &bytes);
    shoal_assert(train_box_new_from_layout(env, segment, 1, bytes.data, bytes.size, NULL, &away,
                                           NULL) == SHOAL_OK);
    for (uint32_t t = 0; t < TABLES; t++)
        for (uint32_t s = 0; s < train_box_table_info(home, t).shards; s++) {
            base_buf_clear(&bytes);
            shoal_assert(train_box_pack_rows(home, t, s, 0, &bytes) > 0);
            shoal_assert(train_box_put_rows(away, bytes.data, bytes.size, NULL) == SHOAL_OK);
        }
    base_buf_fini(&bytes);
    return away;
}

static shoal_status take_at_away(shoal_env *env, const struct env_shared *segment,
                                 struct train_box *home, const uint8_t *data, size_t size,
                                 char what)
{
    struct train_box *away = away_new(env, segment, home);
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = SHOAL_AGAIN;

    if (what == 'r')
        st = train_box_put_rows(away, data, size, &err);
    else if (what == 'f')
        for (uint32_t next = 0; st == SHOAL_AGAIN;)
            st = train_box_put_factors(away, data, size, &next, &err);
    else
        st = train_box_put_executor(away, 0, data, size, &err);
    check(st, &err);
    shoal_assert(train_box_fold(away) == SHOAL_OK);
    train_box_free(away);
    return st;
}

static shoal_status take_layout(shoal_env *env, const struct env_shared *segment,
                                const uint8_t *data, size_t size)
{
    struct train_box *box = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = train_box_new_from_layout(env, segment, 1, data, size, NULL, &box, &err);

    shoal_assert(st == SHOAL_OK || (st < 0 && err.message[0] != '\0' && box == NULL));
    train_box_free(box);
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct env_shared home_segment, segment;
    shoal_env *env = NULL;
    shoal_status st;

    if (size == 0)
        return 0;
    uint8_t *bytes = malloc(size);
    shoal_assert(bytes != NULL);
    memcpy(bytes, data + 1, size - 1);
    char what = (char)(data[0] | 0x20);
    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    shoal_assert(env_shared_new(env, SEGMENT, &home_segment, NULL) == SHOAL_OK);
    shoal_assert(env_shared_new(env, SEGMENT, &segment, NULL) == SHOAL_OK);
    struct train_box *home = home_new(env, &home_segment, what != 'f');
    switch (what) {
    case 'c': st = take_commit(home, bytes, size - 1); break;
    case 'r':
    case 'f':
    case 'e': st = take_at_away(env, &segment, home, bytes, size - 1, what); break;
    default: st = take_layout(env, &segment, bytes, size - 1);
    }
    shoal_assert(st == SHOAL_OK || fuzzing || (data[0] & 0x20) != 0);
    free(bytes);
    train_box_free(home);
    env_shared_close(env, &segment);
    env_shared_close(env, &home_segment);
    shoal_env_free(env);
    return 0;
}
