/* ctest: timeout=1200 */
/* Whole jobs in simulation whose tasks hold many shards at once: rows and columns of a grid of tiles
 * are written anew in turn, and all of it is as a plain loop leaves it, whatever dies, moves or is
 * far away. */
#include "sim_cases.h"

#include "tiles_app.h"

static const char *compare_tiles(struct cluster *c, const float *tiles)
{
    uint64_t first, count;

    if (sim_unwell(c) != NULL)
        return sim_unwell(c);
    struct train_box *box = train_master_box(c->master);
    for (uint32_t s = 0; s < TILES; s++) {
        const float *rows = train_box_shard(box, 0, s, &first, &count);
        for (uint64_t i = 0; i < count; i++)
            if (rows[i] != tiles[first + i])
                return sim_wrong("tile %u has %g in place of %g", s, (double)rows[i],
                                 (double)tiles[first + i]);
    }
    return NULL;
}

static const char *compare(struct cluster *c, uint64_t clocks)
{
    float tiles[TILES_SIZE], sums[TILERS];

    tiles_reference(clocks, tiles, sums);
    const char *wrong = compare_tiles(c, tiles);
    if (wrong != NULL)
        return wrong;
    struct train_box *box = train_master_box(c->master);
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

/* Tasks whose strips cross, in no order that the application would see to. */
static const char *clash(struct cluster *c, uint64_t seed)
{
    float tiles[TILES_SIZE];

    sim_disturb_clash(c, seed);
    cluster_begin(c, seed);
    cluster_run(c, &TILES_APP, "clocks=15\nclash=true", 100000);
    tiles_clash_reference(15, tiles);
    return compare_tiles(c, tiles);
}

static const char *clash_enough(const struct cluster_count *n)
{
    return n->far == 0          ? "tasks on other machines"
           : n->far == n->tasks ? "tasks on this machine"
           : n->again == 0      ? "tasks that find something locked"
                                : NULL;
}

static const struct sim_case CASES[] = {
    {"strips_that_cross_are_held_one_after_the_other", 60, clash, clash_enough},
    {"rows_and_columns_are_written_anew_and_nothing_is_lost_whoever_dies", 200, here, here_enough},
    {"strips_of_tiles_go_over_machines_and_nothing_is_lost", 200, there, there_enough},
};

int main(int argc, char **argv)
{
    return sim_main(CASES, sizeof CASES / sizeof CASES[0], argc, argv);
}
