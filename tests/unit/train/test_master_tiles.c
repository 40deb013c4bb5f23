/* ctest: timeout=1200 */
/* Whole jobs in simulation whose tasks hold many shards at once: rows and columns of a grid of tiles
 * are written anew in turn, and all of it is as a plain loop leaves it, whatever dies, moves or is
 * far away. */
#include "sim_cases.h"

#include "tiles_app.h"

static const char *compare(struct cluster *c, uint64_t clocks)
{
    float tiles[TILES_SIZE], sums[TILERS];
    uint64_t first, count;

    if (!c->over)
        return "it did not end";
    if (c->status != SHOAL_OK)
        return c->err.message;
    struct train_box *box = train_master_box(c->master);
    tiles_reference(clocks, tiles, sums);
    for (uint32_t s = 0; s < TILES; s++) {
        const float *rows = train_box_shard(box, 0, s, &first, &count);
        for (uint64_t i = 0; i < count; i++)
            if (rows[i] != tiles[first + i])
                return sim_wrong("tile %u has %g in place of %g", s, (double)rows[i],
                                 (double)tiles[first + i]);
    }
    for (uint32_t e = 0; e < TILERS; e++)
        if (train_box_rows(box, 1)[e] != sums[e])
            return sim_wrong("executor %u counted %g", e, (double)train_box_rows(box, 1)[e]);
    return NULL;
}

static const char *strips(struct cluster *c, uint64_t seed, uint64_t clocks)
{
    static const double MEANS[] = {0, 1e-7, 1e-5, 1e-4, 1e-3};
    char settings[40];

    c->threads = 1 + (uint32_t)(seed % 2);
    c->lock_mean_s = seed % 3 == 1 ? 2e-3 : 0;
    c->net.delay_mean_s = MEANS[seed % 5];
    if (seed % 3 != 0)
        c->net.duplicate = c->net.reorder = c->net.drop = 0.02;
    cluster_begin(c, seed);
    snprintf(settings, sizeof settings, "clocks=%llu", (unsigned long long)clocks);
    cluster_run(c, &TILES_APP, settings, 100000);
    return compare(c, clocks);
}

static const char *here(struct cluster *c, uint64_t seed)
{
    c->crash = seed % 4 == 0 ? 0 : 0.003;
    c->crash_left = 10;
    c->kill_mean_s = seed % 3 == 0 ? 0.02 : 0;
    c->kills_left = 5;
    c->scale_mean_s = seed % 2 == 0 ? 0.03 : 0;
    c->workers_max = 5;
    return strips(c, seed, 15);
}

static const char *here_enough(const struct cluster_count *n)
{
    return n->crashes_holding == 0 ? "deaths of those who hold a shard"
           : n->moves == 0         ? "moves"
                                   : NULL;
}

static const char *there(struct cluster *c, uint64_t seed)
{
    c->workers = (uint32_t)(seed % 3);
    c->away = 1 + (uint32_t)(seed % 3);
    c->away_mean_s = 0.02;
    c->cut_mean_s = seed % 3 == 0 ? 0.5 : 0;
    c->slow_mean_s = seed % 5 == 0 ? 0.05 : 0;
    c->crash = 0.003;
    c->crash_left = 8;
    c->kill_mean_s = seed % 4 == 0 ? 0.05 : 0;
    c->kills_left = 5;
    return strips(c, seed, 25);
}

static const char *there_enough(const struct cluster_count *n)
{
    return n->far * 4 < n->tasks     ? "tasks on other machines"
           : n->crashes_holding == 0 ? "deaths of those who hold a shard"
           : n->crashes_far == 0     ? "deaths on other machines"
           : n->cuts == 0            ? "cuts"
                                     : NULL;
}

static const struct sim_case CASES[] = {
    {"rows_and_columns_are_written_anew_and_nothing_is_lost_whoever_dies", 200, here, here_enough},
    {"strips_of_tiles_go_over_machines_and_nothing_is_lost", 200, there, there_enough},
};

int main(int argc, char **argv)
{
    return sim_main(CASES, sizeof CASES / sizeof CASES[0], argc, argv);
}
