/* allox.c - which kind for which job, by a minimum-cost matching over the whole queue.
 *
 * A job that is the k-th from the end on its machine delays k jobs, itself included; so the sum of
 * completion times of a queue is the sum over jobs of position-from-the-end x processing time on
 * the machine's kind. AlloX finds the assignment of jobs to (kind, position) that minimises it, and
 * starts the jobs that are first on their machines. Machines of one kind are alike: kind j offers,
 * for each k, as many slots as it has free machines.
 *
 * AlloX is defined for single-GPU jobs. For gangs we let a machine be "one GPU" and charge a gang
 * of g its time x g, the GPU-time it takes from others; its start then needs g free GPUs of the
 * kind. Jobs are not preempted (they may move up to a faster kind left free), so only waiting jobs
 * are matched. When more wait than `window`, the longest-waiting ones are; the paper's alpha does the
 * same for fairness.
 *
 * Method: successive shortest augmenting paths (Hungarian algorithm with potentials), rows = jobs,
 * columns = (kind, k) with multiplicities folded into capacity by giving each machine group
 * min(machines, jobs) columns per k. Cost O(n^2 m) for n jobs and m columns, n at most `window`, in
 * rounds where a job waits and a GPU is free.
 *
 * Reference: Le et al., "AlloX: Compute Allocation in Hybrid Clusters", EuroSys 2020. */
#include "base/assert.h"
#include "sched/queue.h"

#include <math.h>

struct memory {
    uint64_t window;
};

/* Column c of the matching: the k-th position from the end on machines of a kind. */
struct slot {
    uint32_t kind;
    uint32_t position; /* from 1 */
};

struct matching {
    size_t rows, columns;
    const double *times; /* (rows, kinds): GPU-time of the job there */
    uint32_t kind_count;
    const struct slot *slots;
    double *u, *v, *least;
    uint32_t *row_of, *way; /* per column, 0 is the virtual one; rows from 1 */
    bool *used;
};

static double cost(const struct matching *m, size_t row, size_t column)
{
    const struct slot *s = &m->slots[column - 1];

    return m->times[(row - 1) * m->kind_count + s->kind] * s->position;
}

/* Adds row `i` to the matching along a shortest augmenting path. */
static void augment(struct matching *m, size_t i)
{
    size_t j0 = 0;

    m->row_of[0] = (uint32_t)i;
    for (size_t j = 0; j <= m->columns; j++) {
        m->least[j] = INFINITY;
        m->used[j] = false;
    }
    do {
        size_t i0 = m->row_of[j0], j1 = 0;
        double delta = INFINITY;
        m->used[j0] = true;
        for (size_t j = 1; j <= m->columns; j++) {
            if (m->used[j])
                continue;
            double reduced = cost(m, i0, j) - m->u[i0] - m->v[j];
            if (reduced < m->least[j]) {
                m->least[j] = reduced;
                m->way[j] = (uint32_t)j0;
            }
            if (m->least[j] < delta) {
                delta = m->least[j];
                j1 = j;
            }
        }
        for (size_t j = 0; j <= m->columns; j++) {
            if (m->used[j]) {
                m->u[m->row_of[j]] += delta;
                m->v[j] -= delta;
            } else {
                m->least[j] -= delta;
            }
        }
        j0 = j1;
    } while (m->row_of[j0] != 0);
    do {
        size_t j1 = m->way[j0];
        m->row_of[j0] = m->row_of[j1];
        j0 = j1;
    } while (j0 != 0);
}

static bool matching_init(struct matching *m, struct base_arena *arena)
{
    m->u = base_arena_calloc(arena, m->rows + 1, sizeof *m->u);
    m->v = base_arena_calloc(arena, m->columns + 1, sizeof *m->v);
    m->least = base_arena_calloc(arena, m->columns + 1, sizeof *m->least);
    m->row_of = base_arena_calloc(arena, m->columns + 1, sizeof *m->row_of);
    m->way = base_arena_calloc(arena, m->columns + 1, sizeof *m->way);
    m->used = base_arena_calloc(arena, m->columns + 1, sizeof *m->used);
    return m->u != NULL && m->v != NULL && m->least != NULL && m->row_of != NULL &&
           m->way != NULL && m->used != NULL;
}

/* GPU-time of each waiting job on each kind; a kind it cannot use costs more than any schedule
 * could. */
static double *processing_times(const struct sched_snapshot *snap, struct base_arena *arena,
                                const uint32_t *waiting, size_t count)
{
    uint32_t kinds = snap->cluster->kind_count;
    double *times = base_arena_alloc(arena, count * kinds * sizeof *times);

    for (size_t r = 0; times != NULL && r < count; r++) {
        const struct sched_job *j = snap->jobs[waiting[r]];
        for (uint32_t k = 0; k < kinds; k++) {
            double t = (j->kinds >> k & 1) != 0 ? sched_model_ideal_s(&j->model, snap->cluster, k,
                                                                      j->gpus, j->progress) *
                                                      j->gpus
                                                : 1e15;
            times[r * kinds + k] = t < 1e15 ? t : 1e15;
        }
    }
    return times;
}

/* GPUs of the kind that a queue can form on: the free ones. */
static size_t machines_of(const struct sched_plan *plan, uint32_t kind, size_t jobs)
{
    size_t free = sched_plan_free_gpus(plan, kind);

    return free < jobs ? free : jobs;
}

static struct slot *make_slots(const struct sched_snapshot *snap, struct sched_plan *plan,
                               size_t jobs, size_t *out_count)
{
    size_t room = 0, n = 0;

    for (uint32_t k = 0; k < snap->cluster->kind_count; k++) {
        size_t machines = machines_of(plan, k, jobs);
        room += machines > 0 ? machines * ((jobs + machines - 1) / machines) : 0;
    }
    struct slot *slots = base_arena_alloc(sched_plan_arena(plan), room * sizeof *slots);
    for (uint32_t k = 0; slots != NULL && k < snap->cluster->kind_count; k++) {
        size_t machines = machines_of(plan, k, jobs);
        for (uint32_t p = 1; machines > 0 && p <= (jobs + machines - 1) / machines; p++)
            for (size_t i = 0; i < machines; i++)
                slots[n++] = (struct slot){.kind = k, .position = p};
    }
    *out_count = n;
    return slots;
}

/* Starts matched jobs, the ones furthest from the end of their machine first, each on the kind it
 * was matched to. */
static shoal_status start_matched(struct sched_plan *plan, const struct matching *m,
                                  const uint32_t *waiting)
{
    struct base_arena *arena = sched_plan_arena(plan);
    struct sched_rank *order = base_arena_alloc(arena, 2 * m->rows * sizeof *order);
    uint32_t *kind_of = base_arena_alloc(arena, m->rows * sizeof *kind_of);

    if (order == NULL || kind_of == NULL)
        return SHOAL_E_NOMEM;
    for (size_t c = 1; c <= m->columns; c++) {
        if (m->row_of[c] == 0)
            continue;
        uint32_t r = m->row_of[c] - 1;
        kind_of[r] = m->slots[c - 1].kind;
        order[r] = (struct sched_rank){.key = -(double)m->slots[c - 1].position, .job = r};
    }
    sched_rank_sort(order, order + m->rows, m->rows);
    for (size_t i = 0; i < m->rows; i++)
        sched_plan_place(plan, waiting[order[i].job], (int)kind_of[order[i].job], SCHED_FIT_PACK);
    return SHOAL_OK;
}

static shoal_status match(const struct sched_snapshot *snap, struct sched_plan *plan,
                          const uint32_t *waiting, size_t count)
{
    struct base_arena *arena = sched_plan_arena(plan);
    struct matching m = {.rows = count, .kind_count = snap->cluster->kind_count};
    m.times = processing_times(snap, arena, waiting, count);
    m.slots = make_slots(snap, plan, count, &m.columns);
    if (m.times == NULL || m.slots == NULL || !matching_init(&m, arena))
        return SHOAL_E_NOMEM;
    for (size_t r = 1; r <= count; r++)
        augment(&m, r);
    return start_matched(plan, &m, waiting);
}

static shoal_status decide(void *memory, const struct sched_snapshot *snap, struct sched_plan *plan)
{
    const struct memory *mem = memory;
    struct base_arena *arena = sched_plan_arena(plan);
    uint32_t *waiting = base_arena_alloc(arena, snap->job_count * sizeof *waiting + 1);
    uint32_t *running = base_arena_alloc(arena, snap->job_count * sizeof *running + 1);
    size_t count = 0, running_count = 0;
    uint32_t free = 0;

    if (waiting == NULL || running == NULL)
        return SHOAL_E_NOMEM;
    sched_plan_wait_others(plan, SCHED_WHY_FAIR_SHARE, SCHED_JOB_NONE);
    for (uint32_t i = 0; i < snap->job_count; i++)
        if (sched_plan_keep(plan, i))
            running[running_count++] = i;
        else if (count < mem->window)
            waiting[count++] = i; /* snap->jobs is in order of arrival: the longest-waiting first */
    for (uint32_t k = 0; k < snap->cluster->kind_count; k++)
        free += sched_plan_free_gpus(plan, k);
    if (free == 0)
        return SHOAL_OK;
    shoal_status st = count > 0 ? match(snap, plan, waiting, count) : SHOAL_OK;
    if (st == SHOAL_OK)
        sched_plan_upgrade(plan, running, running_count, SCHED_FIT_PACK);
    return st != SHOAL_OK ? st : sched_plan_status(plan);
}

static const shoal_opt opts[] = {
    {offsetof(struct memory, window), SHOAL_OPT_U64, "window", 0, "N", "128",
     "match at most this many waiting jobs, the longest-waiting ones", .min = 1, .max = 4096},
};

const struct sched_policy sched_policy_allox = {
    .name = "allox",
    .summary = "matches waiting jobs to GPU kinds so that the sum of completion times is least",
    .optimises = "Average completion time on mixed hardware when durations are known: each job "
                 "goes to the kind where "
                 "it delays the others least.",
    .paper = "Le et al., AlloX, EuroSys 2020",
    .opts = opts,
    .opt_count = BASE_COUNT(opts),
    .memory_size = sizeof(struct memory),
    .preempts = false,
    .work_conserving = false,
    .starvation_free = false,
    .decide = decide,
    .settled = sched_policy_settled,
};
