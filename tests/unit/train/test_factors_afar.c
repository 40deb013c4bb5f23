/* ctest: timeout=600 */
/* Jobs of outer products on workers elsewhere, in simulation: every copy is as home's table bit for
 * bit, whatever moves, dies or is cut off, and nobody is sent what he made himself. */
#include "sim_cases.h"

enum { EXECUTORS = 6, ROWS = 60, WIDTH = 80, SHARDS = 3, PRESENT = 3, BATCH = 2, CLOCKS = 20 };
enum { ADD, LOOK };

struct outer_options {
    uint64_t ahead; /* clocks of the blind that are dispatched at once */
    bool blind;     /* every third executor reads nothing and says so */
    bool looks;     /* a clock may end with a task that adds nothing */
};

struct outer_driver {
    uint64_t issued[EXECUTORS];
    uint64_t ended;
};

#define OUTER_OPT(word, kind, value, text)                                                \
    {                                                                                     \
        offsetof(struct outer_options, word), kind, #word, 0, NULL, value, .help = (text) \
    }
static const shoal_opt OUTER_OPTS[] = {
    OUTER_OPT(ahead, SHOAL_OPT_U64, "1", "clocks dispatched at once"),
    OUTER_OPT(blind, SHOAL_OPT_FLAG, NULL, "some do not read"),
    OUTER_OPT(looks, SHOAL_OPT_FLAG, NULL, "some tasks only look"),
};

static shoal_status outer_plan(shoal_driver *driver, shoal_err *err)
{
    shoal_table_opts table = SHOAL_TABLE_OPTS_INIT;
    shoal_status st = shoal_driver_executors(driver, EXECUTORS, err);

    table.name = "w";
    table.rows = ROWS;
    table.width = WIDTH;
    table.shards = SHARDS;
    return st == SHOAL_OK ? shoal_driver_table(driver, &table, err) : st;
}

static shoal_status outer_next(shoal_driver *driver, uint32_t executor, shoal_err *err)
{
    const struct outer_options *o = shoal_driver_options(driver);
    struct outer_driver *d = shoal_driver_state(driver);
    bool looks = o->looks && (executor + d->issued[executor]) % 3 == 0;
    shoal_dispatch task = {.struct_size = sizeof task,
                           .executor = executor,
                           .fn = ADD,
                           .clock = d->issued[executor]++,
                           .ends_clock = !looks,
                           .unread = o->blind && executor % 3 == 1};
    shoal_status st = shoal_driver_dispatch(driver, &task, err);

    task.fn = LOOK;
    task.ends_clock = true;
    return st == SHOAL_OK && looks ? shoal_driver_dispatch(driver, &task, err) : st;
}

static shoal_status outer_start(shoal_driver *driver, shoal_err *err)
{
    const struct outer_options *o = shoal_driver_options(driver);
    shoal_status st = SHOAL_OK;

    for (uint32_t e = 0; e < EXECUTORS; e++)
        for (uint64_t i = 0; i < o->ahead && st == SHOAL_OK; i++)
            st = outer_next(driver, e, err);
    return st;
}

static shoal_status outer_done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    struct outer_driver *d = shoal_driver_state(driver);

    if (!done->result_size)
        return base_err(err, SHOAL_E_INTERNAL, "a task without a result");
    if (*(const char *)done->result == 0)
        return SHOAL_OK; /* the clock has another task */
    if (d->issued[done->executor] < CLOCKS)
        return outer_next(driver, done->executor, err);
    if (done->clock + 1 == CLOCKS && ++d->ended == EXECUTORS)
        shoal_driver_finish(driver);
    return SHOAL_OK;
}

/* What is added depends on what is read, so that a copy that differs makes all differ. */
static shoal_status outer_run(shoal_task *task, shoal_err *err)
{
    const struct outer_options *o = shoal_task_options(task);
    uint32_t executor = shoal_task_executor(task);
    bool blind = o->blind && executor % 3 == 1;
    bool looks = o->looks && (executor + shoal_task_clock(task)) % 3 == 0;
    const float *rows = shoal_task_rows(task, 0);
    float u[ROWS], value[PRESENT];
    uint32_t index[PRESENT];
    char ends = shoal_task_fn(task) == LOOK || !looks;

    (void)err;
    shoal_task_result(task, &ends, 1);
    for (int b = 0; b < BATCH && shoal_task_fn(task) == ADD; b++) {
        for (uint32_t i = 0; i < ROWS; i++)
            u[i] = (float)(shoal_task_random(task) % 1000) / 777 +
                   (blind ? 0 : rows[i * WIDTH + shoal_task_random(task) % WIDTH] / 300);
        for (uint32_t i = 0; i < PRESENT; i++) {
            index[i] = (uint32_t)(shoal_task_random(task) % WIDTH);
            value[i] = 1.0F / (float)(1 + i);
        }
        shoal_task_add_factor(task, 0, u, index, value, PRESENT);
    }
    return SHOAL_OK;
}

static const shoal_app OUTER = {.struct_size = sizeof OUTER,
                                .name = "outer",
                                .objective = "nothing",
                                .units = "tasks",
                                .opts = OUTER_OPTS,
                                .opt_count = sizeof OUTER_OPTS / sizeof OUTER_OPTS[0],
                                .options_size = sizeof(struct outer_options),
                                .driver_size = sizeof(struct outer_driver),
                                .plan = outer_plan,
                                .start = outer_start,
                                .done = outer_done,
                                .run = outer_run};

static const char *const KINDS[] = {"", "looks=true", "blind=true\nahead=3",
                                    "blind=true\nahead=3\nlooks=true"};

/* What one worker here makes of it, undisturbed. */
static const float *expected(int kind)
{
    static float table[4][ROWS * WIDTH];
    static bool have[4];
    struct cluster c = {.workers = 1};

    if (have[kind])
        return table[kind];
    cluster_begin(&c, 1);
    cluster_run(&c, &OUTER, KINDS[kind], 100000);
    memcpy(table[kind], train_box_rows(train_master_box(c.master), 0), sizeof table[kind]);
    have[kind] = c.over && c.status == SHOAL_OK;
    cluster_free(&c);
    return table[kind];
}

static const char *as_expected(struct cluster *c, int kind)
{
    if (sim_unwell(c) != NULL)
        return sim_unwell(c);
    return memcmp(train_box_rows(train_master_box(c->master), 0), expected(kind),
                  ROWS * WIDTH * sizeof(float)) == 0
               ? NULL
               : "another table than on one worker";
}

static const char *disturbed(struct cluster *c, uint64_t seed)
{
    static const double DELAYS[] = {0, 1e-7, 1e-5, 1e-4, 1e-3};
    int kind = seed % 4;

    c->workers = (uint32_t)(seed % 3);
    c->away = 1 + (uint32_t)(seed % 4);
    c->away_mean_s = 0.01;
    c->drain_mean_s = seed % 5 == 1 ? 0.02 : 0;
    c->scale_mean_s = seed % 3 == 1 ? 0.02 : 0;
    c->workers_max = 3;
    c->kill_mean_s = seed % 5 == 0 ? 0.05 : 0;
    c->kills_left = 5;
    c->crash = seed % 7 == 0 ? 0.002 : 0;
    c->crash_left = 5;
    c->cut_mean_s = seed % 11 == 0 ? 0.5 : 0;
    c->slow_mean_s = seed % 6 == 0 ? 0.05 : 0;
    c->lock_mean_s = seed % 3 == 2 ? 3e-3 : 0;
    c->net = (struct env_sim_net){DELAYS[seed % 5], 0.01, 0.01, seed % 2 ? 0.005 : 0};
    cluster_begin(c, seed);
    cluster_run(c, &OUTER, KINDS[kind], 100000);
    if (c->kill_mean_s + c->crash + c->cut_mean_s + c->slow_mean_s + c->drain_mean_s == 0 &&
        train_master_stats(c->master).workers_lost > 0)
        return "a worker was lost, and nothing had happened to it";
    return as_expected(c, kind);
}

static const char *disturbed_enough(const struct cluster_count *n)
{
    return n->far * 4 < n->tasks ? "tasks on other machines"
           : n->moves == 0       ? "moves"
           : n->lost == 0        ? "lost workers"
           : n->cuts == 0        ? "cuts"
                                 : NULL;
}

/* Rows go whole once to each; after that a worker of P is sent the factors of the other P - 1. */
static const char *quiet(struct cluster *c, uint64_t seed)
{
    const double fold = BATCH * (8 + 4 * ROWS + 8 * PRESENT), table = 4.0 * ROWS * WIDTH;
    const double head = 16 + 16 * SHARDS + 24 * EXECUTORS, rows_head = 64.0 * SHARDS;

    c->away = 3;
    c->away_mean_s = 1e-4;
    c->task_noise = 0.1;
    c->net.delay_mean_s = seed % 2 ? 1e-5 : 0;
    cluster_begin(c, seed);
    cluster_run(c, &OUTER, "", 100000);
    const char *wrong = as_expected(c, 0);
    if (wrong != NULL)
        return wrong;
    struct train_stats s = train_master_stats(c->master);
    double most = c->away * (table + rows_head) + CLOCKS * c->away * head +
                  CLOCKS * (c->away - 1) * EXECUTORS * fold;
    if (s.workers_lost > 0)
        return "a worker was lost";
    return (double)s.row_bytes <= most + (double)s.moves * fold
               ? NULL /* an executor that moves has its last factors sent once more */
               : sim_wrong("%llu bytes of rows, where %.0f are enough",
                           (unsigned long long)s.row_bytes, most);
}

static const struct sim_case CASES[] = {
    {"workers_elsewhere_have_homes_table_bit_for_bit_whatever_happens", 300, disturbed,
     disturbed_enough},
    {"a_worker_is_not_sent_its_own_factors", 20, quiet, NULL},
};

int main(int argc, char **argv)
{
    return sim_main(CASES, sizeof CASES / sizeof CASES[0], argc, argv);
}
