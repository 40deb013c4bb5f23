/* Any bytes as a section of a checkpoint that is otherwise good and whose sums are right: the job
 * does not resume and says why, or it does. The first byte says which section; its highest bit
 * that the job resumes, and a replay insists: seeds that have come to be refused at the first check
 * guard nothing. */
#include "base/assert.h"
#include "store/pack.h"
#include "train/master.h"
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { GOOD = 0x80, SHARDS = 5 };

static const char *const SECTIONS[] = {"driver", "index", "units", "layout", "facts"};
static const char PATH[] = "d/full-0.pack";
static const uint64_t UNEVEN[SHARDS + 1] = {0, 1, 3, 3, 4, 6};
static bool fuzzing; /* what the highest bit says may be anything */

/* libFuzzer calls it, a replay does not. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    fuzzing = true;
    return 0;
}

/* ---- a job that has queued some tasks and runs none ---- */

static shoal_status plan(shoal_driver *driver, shoal_err *err)
{
    shoal_table_opts sums = {
        .struct_size = sizeof sums, .name = "sums", .rows = 4, .width = 2, .shards = 2};
    shoal_table_opts held = {.struct_size = sizeof held,
                             .name = "held",
                             .rows = 6,
                             .width = 1,
                             .shards = SHARDS,
                             .held = true,
                             .shard_first = UNEVEN};
    shoal_status st = shoal_driver_executors(driver, 2, err);

    shoal_assert(shoal_driver_executor_state(driver, 1, 24) != NULL);
    if (st == SHOAL_OK)
        st = shoal_driver_table(driver, &sums, err);
    return st == SHOAL_OK ? shoal_driver_table(driver, &held, err) : st;
}

static shoal_status start(shoal_driver *driver, shoal_err *err)
{
    shoal_dispatch task = {.struct_size = sizeof task,
                           .holds = true,
                           .hold_table = 1,
                           .hold_shard = 1,
                           .hold_count = 2,
                           .hold_step = 3,
                           .hold_whole = true,
                           .arg = "x",
                           .arg_size = 1};
    shoal_status st = shoal_driver_dispatch(driver, &task, err);

    task = (shoal_dispatch){
        .struct_size = sizeof(shoal_dispatch), .executor = 1, .clock = 3, .ends_clock = true};
    return st == SHOAL_OK ? shoal_driver_dispatch(driver, &task, err) : st;
}

static shoal_status never(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    (void)driver;
    (void)done;
    (void)err;
    return SHOAL_E_INTERNAL;
}

static const shoal_app APP = {.struct_size = sizeof APP,
                              .name = "none",
                              .options_size = 8,
                              .driver_size = 16,
                              .plan = plan,
                              .start = start,
                              .done = never};

static void ended(void *ctx, shoal_status status, const shoal_err *err)
{
    (void)ctx;
    (void)status;
    (void)err;
}

static shoal_status begin(shoal_env *env, bool resume, struct env_loop **out_loop,
                          struct train_master **out_master, shoal_err *err)
{
    struct wire_opts wire = WIRE_OPTS_INIT;
    struct wire_key key = {.bytes = {0}};
    struct train_master_opts opts = {.app = &APP,
                                     .path = "",
                                     .settings = "",
                                     .threads = 1,
                                     .staleness = 4,
                                     .address = "home:0",
                                     .key = &key,
                                     .wire = &wire,
                                     .segment_size = 1 << 20,
                                     .checkpoint = {"d", 1, resume, NULL},
                                     .ended = ended};

    shoal_assert(env_loop_new(env, "home", out_loop, NULL) == SHOAL_OK);
    return train_master_new(*out_loop, &opts, out_master, err);
}

/* Writes a good checkpoint. */
static void save(shoal_env *env)
{
    struct env_loop *loop;
    struct train_master *master = NULL;

    shoal_assert(begin(env, false, &loop, &master, NULL) == SHOAL_OK);
    env_sim_run(env, 100 * 1000 * 1000, NULL, NULL);
    train_master_free(master);
    env_loop_free(loop);
    shoal_assert(env_sim_find(env, PATH) != NULL);
}

static void replace(shoal_env *env, const char *name, const uint8_t *data, size_t size)
{
    struct store_pack *pack;
    struct store_pack_out *out;
    unsigned char bytes[4096];

    shoal_assert(store_pack_open(env, PATH, NULL, &pack, NULL) == SHOAL_OK);
    shoal_assert(store_pack_create(env, PATH, store_pack_kind(pack), &out, NULL) == SHOAL_OK);
    for (size_t i = 0; i < store_pack_count(pack); i++) {
        const struct store_section *section = store_pack_at(pack, i);
        if (strcmp(section->name, name) == 0) {
            store_pack_section(out, name, data, size);
            continue;
        }
        shoal_assert(section->size <= sizeof bytes &&
                     store_pack_read(pack, section, 0, bytes, (size_t)section->size, NULL) ==
                         SHOAL_OK);
        store_pack_section(out, section->name, bytes, (size_t)section->size);
    }
    shoal_assert(store_pack_commit(out, NULL) == SHOAL_OK);
    store_pack_close(pack);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    shoal_env *env;
    struct env_loop *loop;
    struct train_master *master = NULL;
    shoal_err err = SHOAL_ERR_INIT;

    if (size == 0)
        return 0;
    shoal_assert(shoal_env_sim_new(1, &env, NULL) == SHOAL_OK);
    save(env);
    replace(env, SECTIONS[(data[0] & (GOOD - 1)) % (sizeof SECTIONS / sizeof SECTIONS[0])],
            data + 1, size - 1);
    shoal_status st = begin(env, true, &loop, &master, &err);
    shoal_assert(st == SHOAL_OK || fuzzing || (data[0] & GOOD) == 0);
    shoal_assert(st == SHOAL_OK || (err.code == st && err.message[0] != '\0'));
    if (st == SHOAL_OK)
        env_sim_run(env, 200 * 1000 * 1000, NULL, NULL); /* and is saved again */
    train_master_free(master);
    env_loop_free(loop);
    shoal_env_free(env);
    return 0;
}
