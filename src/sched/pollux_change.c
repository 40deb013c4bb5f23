/* pollux_change.c - one matrix of the genetic search: repaired, and mutated (see pollux_search.c).
 * Tests: tests/unit/sched/test_pollux_search.c. */
#include "sched/pollux_parts.h"

#include <string.h>

/* ---- rows ---- */

static bool is_gang(const struct sched_pollux_job *j)
{
    return j->least == j->most && j->least > 1;
}

static void count_rows(struct pollux_work *w, uint8_t *cells)
{
    for (uint32_t j = 0; j < w->jobs; j++) {
        const uint8_t *r = pollux_row(w, cells, j);
        uint32_t gpus = 0, nodes = 0;
        for (size_t n = 0; n < w->stride; n++) {
            gpus += r[n];
            nodes += r[n] != 0;
        }
        w->row_gpus[j] = gpus;
        w->row_nodes[j] = nodes;
    }
}

static void count_used(struct pollux_work *w, uint8_t *cells)
{
    memset(w->used, 0, w->nodes * sizeof *w->used);
    for (uint32_t j = 0; j < w->jobs; j++) {
        const uint8_t *r = pollux_row(w, cells, j);
        if (w->row_gpus[j] != 0)
            for (uint32_t n = 0; n < w->nodes; n++)
                w->used[n] += r[n];
    }
}

/* ---- repair ---- */

/* The kind of a GPU of the row, drawn at random, stays. */
static void one_kind(struct pollux_work *w, uint32_t j, uint8_t *r)
{
    const struct sched_node *nodes = w->p->cluster->nodes;
    uint32_t pick = pollux_below(w->s, w->row_gpus[j]), n = 0;

    while (pick >= r[n])
        pick -= r[n++];
    for (uint32_t m = 0; m < w->nodes; m++)
        if (r[m] != 0 && nodes[m].kind != nodes[n].kind) {
            w->row_gpus[j] -= r[m];
            w->row_nodes[j]--;
            r[m] = 0;
        }
}

static void cut_to_most(struct pollux_work *w, uint32_t j, uint8_t *r)
{
    uint32_t most = w->p->jobs[j].most, count = 0;

    for (uint32_t n = 0; n < w->nodes; n++)
        if (r[n] != 0)
            w->order[count++] = n;
    while (w->row_gpus[j] > most) {
        uint32_t at = pollux_below(w->s, count), n = w->order[at];
        uint32_t over = w->row_gpus[j] - most, cut = r[n] < over ? r[n] : over;
        r[n] = (uint8_t)(r[n] - cut);
        w->row_gpus[j] -= cut;
        w->row_nodes[j] -= r[n] == 0;
        w->order[at] = w->order[--count];
    }
}

/* On each node only the first job that spans nodes stays. */
static void avoid_interference(struct pollux_work *w, uint8_t *cells)
{
    for (uint32_t n = 0; n < w->nodes; n++)
        w->used[n] = w->p->spanned[n];
    for (uint32_t j = 0; j < w->jobs; j++) {
        uint8_t *r = pollux_row(w, cells, j);
        if (w->row_nodes[j] < 2)
            continue;
        for (uint32_t n = 0; n < w->nodes; n++) {
            if (r[n] == 0)
                continue;
            if (w->used[n]++ == 0)
                continue;
            w->row_gpus[j] -= r[n];
            w->row_nodes[j]--;
            r[n] = 0;
        }
    }
}

static void keep_within_room(struct pollux_work *w, uint8_t *cells)
{
    memset(w->used, 0, w->nodes * sizeof *w->used);
    for (uint32_t j = 0; j < w->jobs; j++) {
        uint8_t *r = pollux_row(w, cells, j);
        if (w->row_gpus[j] == 0)
            continue;
        for (uint32_t n = 0; n < w->nodes; n++) {
            uint32_t left = w->p->room[n] - w->used[n];
            if (r[n] > left) {
                w->row_gpus[j] -= r[n] - left;
                w->row_nodes[j] -= left == 0;
                r[n] = (uint8_t)left;
            }
            w->used[n] += r[n];
        }
        if (w->row_gpus[j] >= w->p->jobs[j].least)
            continue;
        for (uint32_t n = 0; n < w->nodes; n++)
            w->used[n] -= r[n];
        memset(r, 0, w->stride);
        w->row_gpus[j] = w->row_nodes[j] = 0;
    }
}

void pollux_repair(struct pollux_work *w, uint8_t *cells)
{
    bool kinds = w->p->cluster->kind_count > 1;

    count_rows(w, cells);
    for (uint32_t j = 0; kinds && j < w->jobs; j++)
        if (w->row_nodes[j] > 1)
            one_kind(w, j, pollux_row(w, cells, j));
    if (w->p->avoid)
        avoid_interference(w, cells);
    for (uint32_t j = 0; j < w->jobs; j++)
        if (w->row_gpus[j] > w->p->jobs[j].most)
            cut_to_most(w, j, pollux_row(w, cells, j));
    keep_within_room(w, cells);
}

/* ---- mutation ---- */

static void reset_and_empty(struct pollux_work *w, uint8_t *cells)
{
    for (uint32_t j = 0; j < w->jobs; j++) {
        uint8_t *r = pollux_row(w, cells, j);
        if (pollux_chance(w->s, POLLUX_TENTH))
            memcpy(r, pollux_row(w, w->now, j), w->stride);
        if (!pollux_chance(w->s, POLLUX_TENTH))
            continue;
        bool whole = is_gang(&w->p->jobs[j]);
        bool empty = whole && pollux_chance(w->s, POLLUX_TENTH);
        for (uint32_t n = 0; n < w->nodes; n++)
            if (r[n] != 0 && (whole ? empty : pollux_chance(w->s, POLLUX_TENTH)))
                r[n] = 0;
    }
}

static void raise_cell(struct pollux_work *w, uint8_t *cells, uint32_t j, uint32_t n)
{
    uint8_t *r = pollux_row(w, cells, j);

    if (!is_gang(&w->p->jobs[j]) && r[n] < w->p->room[n])
        r[n] = (uint8_t)(r[n] + pollux_below(w->s, w->p->room[n] - r[n] + 1u));
}

static void raise_some(struct pollux_work *w, uint8_t *cells, uint32_t n)
{
    uint32_t there = 0;

    for (uint32_t j = 0; j < w->jobs; j++)
        there += pollux_row(w, cells, j)[n] != 0;
    for (uint32_t j = 0; there > 0 && j < w->jobs; j++)
        if (pollux_row(w, cells, j)[n] != 0 && pollux_chance(w->s, 65536 / there))
            raise_cell(w, cells, j, n);
    for (double j = 0;; j++) { /* each with probability 1 / jobs: on to the next that is */
        if (w->jobs > 1)
            j += floor(log(1 - base_rand_unit(&w->s->rand)) / w->raise_each);
        if (!(j < w->jobs))
            break;
        raise_cell(w, cells, (uint32_t)j, n);
    }
}

/* `gpus` of a node for a gang: others that are no gangs give way, the last ones first. */
static uint32_t make_room(struct pollux_work *w, uint8_t *cells, uint32_t n, uint32_t gpus)
{
    for (uint32_t j = w->jobs; j-- > 0 && w->used[n] + gpus > w->p->room[n];) {
        uint8_t *r = pollux_row(w, cells, j);
        if (r[n] == 0 || is_gang(&w->p->jobs[j]))
            continue;
        uint32_t over = w->used[n] + gpus - w->p->room[n], cut = r[n] < over ? r[n] : over;
        r[n] = (uint8_t)(r[n] - cut);
        w->used[n] -= cut;
    }
    uint32_t left = w->p->room[n] - w->used[n];
    return gpus < left ? gpus : left;
}

/* On one node that can hold it, else on several. */
static void put_gang(struct pollux_work *w, uint8_t *cells, uint32_t j)
{
    const struct sched_node *nodes = w->p->cluster->nodes;
    uint32_t least = w->p->jobs[j].least, want = least, kind = 0, largest = 0;

    for (uint32_t n = 0; n < w->nodes; n++) {
        w->order[n] = n;
        largest = w->p->room[n] > largest ? w->p->room[n] : largest;
    }
    for (uint32_t left = w->nodes; left > 0 && want > 0; left--) {
        uint32_t at = pollux_below(w->s, left), n = w->order[at];
        w->order[at] = w->order[left - 1];
        if (want == least)
            kind = nodes[n].kind;
        if (w->p->room[n] == 0 || nodes[n].kind != kind ||
            (least <= largest && w->p->room[n] < least))
            continue;
        uint32_t got = make_room(w, cells, n, want < w->p->room[n] ? want : w->p->room[n]);
        if (least <= largest && got < least)
            continue;
        pollux_row(w, cells, j)[n] = (uint8_t)got;
        w->used[n] += got;
        want -= got;
    }
}

void pollux_mutate(struct pollux_work *w, uint8_t *cells)
{
    reset_and_empty(w, cells);
    count_rows(w, cells);
    count_used(w, cells);
    for (uint32_t n = 0; n < w->nodes; n++)
        if (w->used[n] < w->p->room[n])
            raise_some(w, cells, n);
    for (uint32_t j = 0; j < w->jobs; j++)
        if (is_gang(&w->p->jobs[j]) && w->row_gpus[j] == 0 && pollux_chance(w->s, POLLUX_TENTH)) {
            pollux_repair(w, cells);
            count_used(w, cells);
            put_gang(w, cells, j);
        }
}
