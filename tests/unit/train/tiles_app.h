/* tiles_app.h - a grid of tiles that is written by rows and by columns in turn, as topic models do it.
 *
 * Table "tiles" is held, a shard per tile; tiles differ in size and some are empty. In even clocks
 * executor e holds column e, in odd ones row e, if there is one, and writes all of it anew: every
 * number depends on what was there, on all other numbers of the strip and on the clock, so that a lost,
 * repeated or half-done task shows. The job is bulk synchronous, so the result is that of the plain
 * loop in tiles_reference. What a strip adds up to is counted in table "sums", by increments.
 *
 * With `clash` even executors hold columns and odd ones rows in the same clock, two tasks ahead, in no
 * order, and add 1: strips meet in one tile that is the first of neither. */
#ifndef TESTS_TILES_APP_H
#define TESTS_TILES_APP_H

#include "base/err.h"
#include "shoal/train.h"
#include <string.h>

enum {
    TILE_ROWS = 5, /* of tiles */
    TILE_COLUMNS = 4,
    TILES = TILE_ROWS * TILE_COLUMNS,
    TILERS = 6, /* one has neither row nor column */
    TILE_MAX = 4,
    TILES_SIZE = TILES * TILE_MAX,
    TILE_MOD = 4093
};

struct tiles_options {
    uint64_t clocks;
    bool clash;
};

struct tiles_driver {
    uint64_t done, clock;
    uint64_t turn[TILERS]; /* of a clash: the next */
};

#define AT(member) offsetof(struct tiles_options, member)
static const shoal_opt TILES_OPTS[] = {
    {AT(clocks), SHOAL_OPT_U64, "clocks", 0, NULL, "10", .help = "how many"},
    {AT(clash), SHOAL_OPT_FLAG, "clash", .help = "rows and columns at once"},
};
#undef AT

static void tiles_first(uint64_t *first)
{
    first[0] = 0;
    for (uint32_t t = 0; t < TILES; t++)
        first[t + 1] = first[t] + (t * 7 + t / TILE_COLUMNS) % TILE_MAX;
}

/* The tiles of a strip: how many, and which. */
struct tiles_strip {
    uint32_t shard, count, step;
};
static struct tiles_strip tiles_strip(uint32_t executor, uint64_t clock)
{
    if (clock % 2 == 0)
        return (struct tiles_strip){executor, executor < TILE_COLUMNS ? TILE_ROWS : 0,
                                    TILE_COLUMNS};
    return (struct tiles_strip){executor * TILE_COLUMNS, executor < TILE_ROWS ? TILE_COLUMNS : 0,
                                1};
}

static struct tiles_strip tiles_crossing(uint32_t executor, uint64_t turn)
{
    uint64_t strips = executor % 2 == 0 ? TILE_COLUMNS : TILE_ROWS;

    return tiles_strip((uint32_t)((executor / 2 + turn) % strips), executor);
}

static float tiles_next(float before, uint64_t sum, uint64_t clock, uint64_t place)
{
    return (float)(((uint64_t)before * 31 + sum + clock * 5 + place) % TILE_MOD);
}

static void tiles_reference(uint64_t clocks, float *tiles, float *sums)
{
    uint64_t first[TILES + 1];

    tiles_first(first);
    for (uint64_t i = 0; i < first[TILES]; i++)
        tiles[i] = (float)i;
    memset(sums, 0, TILERS * sizeof *sums);
    for (uint64_t c = 0; c < clocks; c++) {
        for (uint32_t e = 0; e < TILERS; e++) {
            struct tiles_strip s = tiles_strip(e, c);
            uint64_t sum = 0;
            for (uint32_t k = 0, t = s.shard; k < s.count; k++, t += s.step)
                for (uint64_t i = first[t]; i < first[t + 1]; i++)
                    sum += (uint64_t)tiles[i];
            for (uint32_t k = 0, t = s.shard; k < s.count; k++, t += s.step)
                for (uint64_t i = first[t]; i < first[t + 1]; i++)
                    tiles[i] = tiles_next(tiles[i], sum, c, i);
            sums[e] += (float)(sum % 16);
        }
    }
}

static void tiles_clash_reference(uint64_t clocks, float *tiles)
{
    uint64_t first[TILES + 1];

    tiles_first(first);
    for (uint64_t i = 0; i < first[TILES]; i++)
        tiles[i] = (float)i;
    for (uint64_t c = 0; c < clocks; c++)
        for (uint32_t e = 0; e < TILERS; e++) {
            struct tiles_strip s = tiles_crossing(e, c);
            for (uint32_t k = 0, t = s.shard; k < s.count; k++, t += s.step)
                for (uint64_t i = first[t]; i < first[t + 1]; i++)
                    tiles[i]++;
        }
}

static shoal_status tiles_plan(shoal_driver *driver, shoal_err *err)
{
    shoal_table_opts tiles = SHOAL_TABLE_OPTS_INIT, sums = SHOAL_TABLE_OPTS_INIT;
    uint64_t first[TILES + 1], count;
    shoal_status st = shoal_driver_executors(driver, TILERS, err);

    tiles_first(first);
    tiles.name = "tiles";
    tiles.rows = first[TILES];
    tiles.shards = TILES;
    tiles.shard_first = first;
    tiles.held = true;
    sums.name = "sums";
    sums.rows = TILERS;
    sums.shards = 2;
    if (st == SHOAL_OK)
        st = shoal_driver_table(driver, &tiles, err);
    if (st == SHOAL_OK)
        st = shoal_driver_table(driver, &sums, err);
    for (uint32_t s = 0; s < TILES && st == SHOAL_OK; s++) {
        float *rows = shoal_driver_shard(driver, 0, s, first, &count);
        for (uint64_t i = 0; i < count; i++)
            rows[i] = (float)(first[0] + i);
    }
    return st;
}

static shoal_status tiles_dispatch(shoal_driver *driver, uint32_t executor, uint64_t clock,
                                   struct tiles_strip s, shoal_err *err)
{
    shoal_dispatch task = {.struct_size = sizeof task,
                           .executor = executor,
                           .clock = clock,
                           .ends_clock = true,
                           .holds = s.count > 0,
                           .hold_shard = s.shard,
                           .hold_count = s.count,
                           .hold_step = s.step,
                           .hold_whole = true};

    return shoal_driver_dispatch(driver, &task, err);
}

static shoal_status tiles_clock(shoal_driver *driver, uint64_t clock, shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    for (uint32_t e = 0; e < TILERS && st == SHOAL_OK; e++)
        st = tiles_dispatch(driver, e, clock, tiles_strip(e, clock), err);
    return st;
}

static shoal_status tiles_turn(shoal_driver *driver, uint32_t e, shoal_err *err)
{
    const struct tiles_options *o = shoal_driver_options(driver);
    struct tiles_driver *d = shoal_driver_state(driver);
    uint64_t turn = d->turn[e];

    if (turn == o->clocks)
        return SHOAL_OK;
    d->turn[e]++;
    return tiles_dispatch(driver, e, turn, tiles_crossing(e, turn), err);
}

static shoal_status tiles_start(shoal_driver *driver, shoal_err *err)
{
    const struct tiles_options *o = shoal_driver_options(driver);
    shoal_status st = SHOAL_OK;

    if (!o->clash)
        return tiles_clock(driver, 0, err);
    for (uint32_t e = 0; e < 2 * TILERS && st == SHOAL_OK; e++)
        st = tiles_turn(driver, e % TILERS, err);
    return st;
}

static shoal_status tiles_done(shoal_driver *driver, const shoal_done *done, shoal_err *err)
{
    const struct tiles_options *o = shoal_driver_options(driver);
    struct tiles_driver *d = shoal_driver_state(driver);

    if (o->clash) {
        if (++d->done == o->clocks * TILERS)
            shoal_driver_finish(driver);
        return tiles_turn(driver, done->executor, err);
    }
    if (done->clock != d->clock)
        return base_err(err, SHOAL_E_INTERNAL, "clock %llu in clock %llu",
                        (unsigned long long)done->clock, (unsigned long long)d->clock);
    if (++d->done < TILERS)
        return SHOAL_OK;
    d->done = 0;
    if (++d->clock < o->clocks)
        return tiles_clock(driver, d->clock, err);
    shoal_driver_finish(driver);
    return SHOAL_OK;
}

static shoal_status tiles_clash(shoal_task *task)
{
    const float *before;
    uint64_t count;
    float *after;

    for (uint32_t k = 0; (after = shoal_task_held_at(task, k, &before, NULL, &count)) != NULL; k++)
        for (uint64_t i = 0; i < count; i++)
            after[i] = before[i] + 1;
    return SHOAL_OK;
}

static shoal_status tiles_run(shoal_task *task, shoal_err *err)
{
    const struct tiles_options *o = shoal_task_options(task);
    uint64_t clock = shoal_task_clock(task), first, count, sum = 0;
    uint32_t e = shoal_task_executor(task), tiles = tiles_strip(e, clock).count;
    const float *before;

    if (o->clash)
        return tiles_clash(task);
    if (shoal_task_held_at(task, tiles, &before, &first, &count) != NULL)
        return base_err(err, SHOAL_E_INTERNAL, "executor %u holds more than it asked for", e);
    for (uint32_t k = 0; k < tiles; k++) {
        if (shoal_task_held_at(task, k, &before, &first, &count) == NULL)
            return base_err(err, SHOAL_E_INTERNAL, "executor %u has not got its tiles", e);
        for (uint64_t i = 0; i < count; i++)
            sum += (uint64_t)before[i];
    }
    for (uint32_t k = 0; k < tiles; k++) {
        float *after = shoal_task_held_at(task, k, &before, &first, &count);
        for (uint64_t i = 0; i < count; i++)
            after[i] = tiles_next(before[i], sum, clock, first + i);
    }
    float add = (float)(sum % 16);
    shoal_task_add(task, 1, e, &add);
    return SHOAL_OK;
}

static const shoal_app TILES_APP = {.struct_size = sizeof TILES_APP,
                                    .name = "tiles",
                                    .objective = "nothing",
                                    .units = "tasks",
                                    .opts = TILES_OPTS,
                                    .opt_count = 2,
                                    .options_size = sizeof(struct tiles_options),
                                    .driver_size = sizeof(struct tiles_driver),
                                    .plan = tiles_plan,
                                    .start = tiles_start,
                                    .done = tiles_done,
                                    .run = tiles_run};

#endif
