/* ctest: timeout=1200 */
/* Whole jobs in simulation whose tasks hold blocks of a model in turn: the blocks and the states of
 * executors are those of a plain loop, whatever dies, moves or is far away. */
#include "sim_cases.h"

#include "rotation_app.h"

static const char *compare(struct cluster *c, uint64_t clocks)
{
    static float blocks[TURNERS * TURN_BLOCK];
    uint64_t mix[TURNERS], first, count;
    size_t size;

    if (sim_unwell(c) != NULL)
        return sim_unwell(c);
    struct train_box *box = train_master_box(c->master);
    rotation_reference(clocks, blocks, mix);
    for (uint32_t s = 0; s < TURNERS; s++) {
        const float *rows = train_box_shard(box, 0, s, &first, &count);
        if (memcmp(rows, blocks + s * TURN_BLOCK, TURN_BLOCK * sizeof *rows) != 0)
            return sim_wrong("block %u is not what it should be", s);
    }
    for (uint32_t e = 0; e < TURNERS; e++) {
        const struct rotation_state *state = train_box_state_read(box, e, &size);
        if (state->tasks != clocks || state->mix != mix[e])
            return sim_wrong("executor %u is not as it should be", e);
        if (train_box_rows(box, 1)[e] != (float)clocks)
            return sim_wrong("executor %u counted %g times", e, (double)train_box_rows(box, 1)[e]);
    }
    return NULL;
}

static const char *turn(struct cluster *c, uint64_t seed, uint64_t clocks)
{
    char settings[40];

    c->staleness = (uint32_t)(seed % 4);
    sim_disturb_words(c, seed);
    cluster_begin(c, seed);
    snprintf(settings, sizeof settings, "clocks=%llu", (unsigned long long)clocks);
    cluster_run(c, &ROTATION, settings, 100000);
    return compare(c, clocks);
}

static const char *here(struct cluster *c, uint64_t seed)
{
    sim_disturb_here(c, seed);
    return turn(c, seed, 15);
}

static const char *here_enough(const struct cluster_count *n)
{
    return n->crashes_holding == 0 ? "deaths of those who hold a shard"
           : n->again == 0         ? "tasks that find something locked"
           : n->moves == 0         ? "moves"
                                   : NULL;
}

static const char *there(struct cluster *c, uint64_t seed)
{
    sim_disturb_there(c, seed);
    return turn(c, seed, 25);
}

static const char *there_enough(const struct cluster_count *n)
{
    return n->far * 4 < n->tasks     ? "tasks on other machines"
           : n->crashes_holding == 0 ? "deaths of those who hold a shard"
           : n->crashes_far == 0     ? "deaths on other machines"
           : n->retries == 0         ? "a driver that finds something locked"
           : n->cuts == 0            ? "cuts"
                                     : NULL;
}

/* Tasks that hold the same shard, in no order that the application would see to. */
static const char *clash(struct cluster *c, uint64_t seed)
{
    sim_disturb_clash(c, seed);
    cluster_begin(c, seed);
    cluster_run(c, &ROTATION, "clocks=15\nclash=true", 100000);
    if (sim_unwell(c) != NULL)
        return sim_unwell(c);
    for (uint32_t s = 0; s < 2; s++) {
        const float *rows = train_box_shard(train_master_box(c->master), 0, s, NULL, NULL);
        for (uint32_t i = 0; i < TURN_BLOCK; i++) {
            float expected = (float)(s * TURN_BLOCK + i + TURNERS * (8 - s));
            if (rows[i] != expected)
                return sim_wrong("%g in place of %g: tasks are lost", (double)rows[i],
                                 (double)expected);
        }
    }
    return NULL;
}

static const struct sim_case CASES[] = {
    {"tasks_that_want_one_shard_have_it_one_after_the_other", 60, clash, NULL},
    {"blocks_go_round_and_nothing_of_them_is_lost_whoever_dies", 200, here, here_enough},
    {"blocks_go_round_over_machines_and_nothing_of_them_is_lost", 200, there, there_enough},
};

int main(int argc, char **argv)
{
    return sim_main(CASES, sizeof CASES / sizeof CASES[0], argc, argv);
}
