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
    char settings[40];

    sim_disturb_words(c, seed);
    cluster_begin(c, seed);
    snprintf(settings, sizeof settings, "clocks=%llu", (unsigned long long)clocks);
    cluster_run(c, &TILES_APP, settings, 100000);
    return compare(c, clocks);
}

static const char *here(struct cluster *c, uint64_t seed)
{
    sim_disturb_here(c, seed);
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
    sim_disturb_there(c, seed);
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
