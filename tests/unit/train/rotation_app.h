/* rotation_app.h - blocks of a model that go round the executors, as factorisation does it.
 *
 * Table "blocks" is held, a shard per executor. In clock c executor e holds block (e + c) mod
 * EXECUTORS and changes every number of it in a way that depends on what was there, on the
 * executor's data and state, and on the clock, so that a lost, repeated or exchanged task shows. The
 * driver dispatches a task when the last one of its executor and the last holder of its block have
 * ended, so the result is that of the plain loop in rotation_reference, whatever the staleness. The
 * same numbers are counted in table "turns", by increments. */
#ifndef TESTS_ROTATION_APP_H
#define TESTS_ROTATION_APP_H

#include "base/err.h"
#include "shoal/train.h"
#include <stdlib.h>
#include <string.h>

enum {
    TURNERS = 6,
    TURN_ROWS = 4, /* of a block */
    TURN_WIDTH = 5,
    TURN_BLOCK = TURN_ROWS * TURN_WIDTH,
    TURN_DATA = 3000,
    TURN_MOD = 65521
};

struct rotation_options {
    uint64_t clocks;
    bool clash; /* all want blocks 0 and 1 in each clock, in no order, two tasks ahead, and add 1 */
};

struct rotation_driver {
    uint64_t issued[TURNERS], done[TURNERS], ended;
};

struct rotation_state {
    uint64_t tasks, mix;
};

#define AT(member) offsetof(struct rotation_options, member)
static const shoal_opt ROTATION_OPTS[] = {
    {AT(clocks), SHOAL_OPT_U64, "clocks", 0, NULL, "10", .help = "how many"},
    {AT(clash), SHOAL_OPT_FLAG, "clash", .help = "all want one block"},
};
#undef AT

static unsigned char rotation_byte(uint32_t executor, size_t at)
{
    return (unsigned char)(executor * 37 + at * 11 + (at >> 7));
}

/* One task, on plain memory. */
static void rotation_turn(uint64_t executor, uint64_t clock, uint64_t data, uint64_t *mix,
                          float *block)
{
    for (uint64_t i = 0; i < TURN_BLOCK; i++) {
        uint64_t x = ((uint64_t)block[i] * 31 + executor * 7 + clock + data + *mix + i) % TURN_MOD;
        block[i] = (float)x;
        *mix = (*mix * 17 + x) % TURN_MOD;
    }
}

static uint64_t rotation_data(const unsigned char *bytes, size_t size)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < size; i++)
        sum = (sum * 13 + bytes[i]) % TURN_MOD;
    return sum;
}

static void rotation_reference(uint64_t clocks, float *blocks, uint64_t *mix)
{
    unsigned char data[TURN_DATA];

    for (int i = 0; i < TURNERS * TURN_BLOCK; i++)
        blocks[i] = (float)i;
    memset(mix, 0, TURNERS * sizeof *mix);
    for (uint64_t c = 0; c < clocks; c++)
        for (uint32_t e = 0; e < TURNERS; e++) {
            for (size_t i = 0; i < TURN_DATA; i++)
                data[i] = rotation_byte(e, i);
            rotation_turn(e, c, rotation_data(data, TURN_DATA), &mix[e],
                          blocks + (e + c) % TURNERS * TURN_BLOCK);
        }
}

static shoal_status rotation_plan(shoal_driver *driver, shoal_err *err)
{
    shoal_table_opts blocks = SHOAL_TABLE_OPTS_INIT, turns = SHOAL_TABLE_OPTS_INIT;
    shoal_status st = shoal_driver_executors(driver, TURNERS, err);

    blocks.name = "blocks";
    blocks.rows = TURNERS * TURN_ROWS;
    blocks.width = TURN_WIDTH;
    blocks.shards = TURNERS;
    blocks.held = true;
    turns.name = "turns";
    turns.rows = TURNERS;
    turns.shards = 2;
    for (uint32_t e = 0; e < TURNERS && st == SHOAL_OK; e++) {
        unsigned char *data = shoal_driver_block(driver, e, TURN_DATA);
        if (data == NULL ||
            shoal_driver_executor_state(driver, e, sizeof(struct rotation_state)) == NULL)
            return base_err_nomem(err, "planning");
        for (size_t i = 0; i < TURN_DATA; i++)
            data[i] = rotation_byte(e, i);
    }
    if (st == SHOAL_OK)
        st = shoal_driver_table(driver, &blocks, err);
    if (st == SHOAL_OK)
        st = shoal_driver_table(driver, &turns, err);
    for (uint32_t s = 0; s < TURNERS && st == SHOAL_OK; s++) {
        uint64_t first, count;
        float *rows = shoal_driver_shard(driver, 0, s, &first, &count);
        for (uint64_t i = 0; i < count * TURN_WIDTH; i++)
            rows[i] = (float)(first * TURN_WIDTH + i);
    }
    return st;
}

static uint64_t rotation_clock(const struct rotation_options *o, uint64_t turn)
{
    return o->clash ? turn / 2 : turn;
}

/* Dispatches the executor's next task if its block is free. */
static shoal_status rotation_next(shoal_driver *driver, uint32_t e, shoal_err *err)
{
    const struct rotation_options *o = shoal_driver_options(driver);
    struct rotation_driver *d = shoal_driver_state(driver);
    uint64_t clock = d->issued[e];

    if (clock == o->clocks || d->done[e] + o->clash < clock ||
        (!o->clash && d->done[(e + 1) % TURNERS] < clock))
        return SHOAL_OK;
    shoal_dispatch task = {.struct_size = sizeof task,
                           .executor = e,
                           .clock = rotation_clock(o, clock),
                           .ends_clock = !o->clash || clock % 2 == 1 || clock + 1 == o->clocks,
                           .holds = true,
                           .hold_shard = (uint32_t)(o->clash ? clock % 2 : (e + clock) % TURNERS),
                           .arg = &clock,
                           .arg_size = sizeof clock};
    d->issued[e]++;
    return shoal_driver_dispatch(driver, &task, err);
}

static shoal_status rotation_start(shoal_driver *driver, shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    for (uint32_t e = 0; e < 2 * TURNERS && st == SHOAL_OK; e++)
        st = rotation_next(driver, e % TURNERS, err); /* the second time for those who run ahead */
    return st;
}

static shoal_status rotation_done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    const struct rotation_options *o = shoal_driver_options(driver);
    struct rotation_driver *d = shoal_driver_state(driver);
    uint32_t e = done->executor;

    if (done->clock != rotation_clock(o, d->done[e]))
        return base_err(err, SHOAL_E_INTERNAL, "executor %u: clock %llu after %llu", e,
                        (unsigned long long)done->clock, (unsigned long long)d->done[e]);
    d->done[e]++;
    if (d->done[e] == o->clocks && ++d->ended == TURNERS)
        shoal_driver_finish(driver);
    shoal_status st = rotation_next(driver, e, err);
    return st == SHOAL_OK ? rotation_next(driver, (e + TURNERS - 1) % TURNERS, err) : st;
}

static shoal_status rotation_clash(shoal_task *task)
{
    uint64_t first, count;
    float *block = shoal_task_held(task, &first, &count);

    for (uint64_t i = 0; i < count * TURN_WIDTH; i++)
        block[i]++;
    return SHOAL_OK;
}

static shoal_status rotation_run(shoal_task *task, shoal_err *err)
{
    const struct rotation_options *o = shoal_task_options(task);
    size_t size, data_size;
    const unsigned char *data = shoal_task_data(task, &data_size);
    struct rotation_state *now = shoal_task_new_state(task, true);
    const void *arg = shoal_task_arg(task, &size);
    uint64_t first, count, clock = shoal_task_clock(task), told;
    uint32_t e = shoal_task_executor(task);
    float *block = shoal_task_held(task, &first, &count), one = 1;

    if (o->clash)
        return rotation_clash(task);
    memcpy(&told, arg, sizeof told);
    if (size != sizeof told || told != clock || now->tasks != clock || data_size != TURN_DATA ||
        count != TURN_ROWS || first != (e + clock) % TURNERS * TURN_ROWS)
        return base_err(err, SHOAL_E_INTERNAL, "executor %u at clock %llu: not its task", e,
                        (unsigned long long)clock);
    now->tasks++;
    rotation_turn(e, clock, rotation_data(data, data_size), &now->mix, block);
    shoal_task_add(task, 1, e, &one);
    return SHOAL_OK;
}

static const shoal_app ROTATION = {.struct_size = sizeof ROTATION,
                                   .name = "rotation",
                                   .objective = "nothing",
                                   .units = "tasks",
                                   .opts = ROTATION_OPTS,
                                   .opt_count = 2,
                                   .options_size = sizeof(struct rotation_options),
                                   .driver_size = sizeof(struct rotation_driver),
                                   .plan = rotation_plan,
                                   .start = rotation_start,
                                   .done = rotation_done,
                                   .run = rotation_run};

#endif
