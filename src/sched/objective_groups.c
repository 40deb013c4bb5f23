/* objective_groups.c - jobs into groups, and what groups get back to jobs.
 *
 * Groups. Jobs of one class whose target (need, floor or weight, whatever the objective asks of
 * them) is the same. Where that makes more than GROUPS_FIRST groups, classes are cut into runs of
 * similar targets; the caller then gives the group the mean. Any answer for jobs is one for such
 * groups, so bounds stay proven, but not the other way round: a group may be given slow columns
 * that are enough on the average and not for its largest job. Groups in which that happened are
 * split there, as long as there is room, and the caller solves again.
 *
 * Handing out. A group is given time: so much on each of its columns, at that column's speed. Its
 * jobs want speeds in proportion to their targets, and each has only so much time of its own. Lay
 * the group's time on a line, fastest first, and idle time at the end. That k jobs with the largest
 * targets can have no more than the first k jobs' time of the line gives one ratio of speed to
 * target for each k; the smallest is what they all get, the others share the rest of the line in
 * the same way. Inside such a block jobs take their part from the line in turn, largest first: the
 * stretch, as long as the job's time, whose work is just what it is due (as preemptive schedules
 * for machines of different speeds are made: Gonzalez and Sahni, 1978). It exists because no k of
 * them are due more than the line's fastest part gives. Few columns a job, and nothing is lost.
 *
 * Columns of two groups: the parts of both sides are laid end to end on two lines of equal length
 * and cut where either ends a part. A group with itself: one line, folded in the middle. A job
 * meets itself there only if its part is more than half of the line; so those columns are divided
 * first, in proportion to targets, nobody more than half and nobody more than its time.
 *
 * Cost: O(jobs log jobs + groups^2 kinds + pairs). Tests: test_objective_pairs.c. */
#include "sched/objective_parts.h"

#include "base/assert.h"
#include "sched/queue.h"

#include <math.h>
#include <string.h>

enum { GROUPS_FIRST = NUM_PAIRS_GROUPS_MAX / 2 };

/* Targets closer than SAME are equal; a part of time below SLIVER is rounding; a job with this much
 * less than it wanted has fallen short. */
static const double SAME = 1e-9, SLIVER = 1e-12, SHORT = 1e-6;

/* ---- groups ---- */

/* Runnable jobs by (class, target); returns how many. */
static uint32_t sort_jobs(struct sched_objective_solver *s, const struct sched_objective_work *w,
                          struct sched_objective_groups *g)
{
    size_t jobs = w->p.job_count;
    uint32_t at[NUM_PAIRS_GROUPS_MAX + 1] = {0};
    uint32_t count = 0;
    struct sched_rank *ranks = base_arena_alloc(&s->arena, 2 * jobs * sizeof *ranks);
    g->member = base_arena_alloc(&s->arena, jobs * sizeof *g->member);
    if (ranks == NULL || g->member == NULL)
        return 0;
    for (uint32_t m = 0; m < jobs; m++) {
        if (w->fastest[m] > 0)
            ranks[count++] = (struct sched_rank){.key = g->target[m], .job = m};
    }
    sched_rank_sort(ranks, ranks + jobs, count);
    for (uint32_t i = 0; i < count; i++)
        at[w->in->class_of[ranks[i].job] + 1]++;
    for (uint32_t c = 0; c < w->in->class_count; c++)
        at[c + 1] += at[c];
    for (uint32_t i = 0; i < count; i++)
        g->member[at[w->in->class_of[ranks[i].job]]++] = ranks[i].job;
    return count;
}

/* Whether the job at position i begins a new run of equal targets in its class. */
static bool begins_run(const struct sched_objective_work *w, const struct sched_objective_groups *g,
                       uint32_t i)
{
    if (i == 0)
        return true;
    uint32_t a = g->member[i - 1], b = g->member[i];
    return w->in->class_of[a] != w->in->class_of[b] || g->target[b] > g->target[a] * (1 + SAME);
}

/* Cuts the sorted members into groups: every run its own while that is at most GROUPS_FIRST, or no
 * more than there are classes; else each class so many as its part of the runs. */
static void cut(const struct sched_objective_work *w, struct sched_objective_groups *g,
                uint32_t count)
{
    uint32_t runs[NUM_PAIRS_GROUPS_MAX] = {0};
    uint32_t run_count = 0, class_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t c = w->in->class_of[g->member[i]];
        if (!begins_run(w, g, i))
            continue;
        class_count += runs[c] == 0;
        runs[c]++;
        run_count++;
    }
    uint32_t spare = class_count < GROUPS_FIRST ? GROUPS_FIRST - class_count : 0;
    uint32_t run = 0, last_class = UINT32_MAX, last_bucket = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t c = w->in->class_of[g->member[i]];
        if (!begins_run(w, g, i))
            continue;
        run = c == last_class ? run + 1 : 0;
        uint64_t buckets = runs[c];
        if (run_count > GROUPS_FIRST && run_count > class_count)
            buckets = 1 + (uint64_t)spare * (runs[c] - 1) / (run_count - class_count);
        uint32_t bucket = (uint32_t)(run * buckets / runs[c]);
        if (c != last_class || bucket != last_bucket)
            g->start[g->count++] = i;
        last_class = c;
        last_bucket = bucket;
    }
    g->start[g->count] = count;
}

/* Speeds of groups as the policy believes them; divided by usd_h where that is not NULL. A pair on
 * kinds that are believed faster keeps its speed relative to running alone. */
static void group_speeds(const struct sched_objective_work *w,
                         const struct sched_objective_groups *g, double *rate, float *pair)
{
    uint32_t kinds = w->p.kind_count, classes = w->in->class_count;
    for (uint32_t k = 0; k < kinds; k++) {
        double usd = g->usd_h == NULL ? 1 : g->usd_h[k];
        for (uint32_t i = 0; i < g->count; i++) {
            size_t a = g->member[g->start[i]];
            double alone = w->in->problem.rate[a * kinds + k];
            double believed = w->p.capacity[k] > 0 ? w->p.rate[a * kinds + k] : 0;
            rate[(size_t)i * kinds + k] = believed / usd;
            for (uint32_t j = 0; j < g->count; j++) {
                size_t b = g->member[g->start[j]];
                size_t from =
                    ((size_t)k * classes + w->in->class_of[a]) * classes + w->in->class_of[b];
                bool possible =
                    believed > 0 && w->p.rate[b * kinds + k] > 0 && w->p.gpus[a] == w->p.gpus[b];
                pair[((size_t)k * g->count + i) * g->count + j] =
                    possible ? (float)(w->in->pair[from] / alone * believed / usd) : 0;
            }
        }
    }
}

double *sched_objective_groups_mean(struct sched_objective_solver *s,
                                    const struct sched_objective_groups *g, const double *of)
{
    double *mean = sched_objective_array(s, g->count);
    for (uint32_t i = 0; mean != NULL && i < g->count; i++) {
        for (uint32_t j = g->start[i]; j < g->start[i + 1]; j++)
            mean[i] += of[g->member[j]];
        mean[i] /= g->start[i + 1] - g->start[i];
    }
    return mean;
}

void sched_objective_groups_fastest(const struct sched_objective_groups *g, double *out)
{
    size_t kinds = g->p.kind_count, n = g->count;
    for (size_t i = 0; i < n; i++) {
        double best = 0;
        for (size_t k = 0; k < kinds; k++) {
            best = fmax(best, g->p.rate[i * kinds + k]);
            for (size_t j = 0; j < n; j++)
                best = fmax(best, (double)g->p.pair[(k * n + i) * n + j]);
        }
        for (uint32_t j = g->start[i]; j < g->start[i + 1]; j++)
            out[g->member[j]] = best;
    }
}

/* The problem of the groups as they are cut. */
static shoal_status build(struct sched_objective_solver *s, const struct sched_objective_work *w,
                          struct sched_objective_groups *g)
{
    size_t kinds = w->p.kind_count, n = g->count;
    double *rate = sched_objective_array(s, n * kinds);
    float *pair = base_arena_alloc(&s->arena, kinds * n * n * sizeof *pair);
    double *gpus = sched_objective_array(s, n), *size = sched_objective_array(s, n);
    g->need = sched_objective_array(s, n);
    g->floor = sched_objective_array(s, n);
    g->value = sched_objective_groups_mean(s, g, g->job_value);
    if (rate == NULL || pair == NULL || gpus == NULL || size == NULL || g->need == NULL ||
        g->floor == NULL || g->value == NULL)
        return SHOAL_E_NOMEM;
    group_speeds(w, g, rate, pair);
    g->mixed = false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = g->member[g->start[i]], last = g->member[g->start[i + 1] - 1];
        gpus[i] = w->p.gpus[first];
        size[i] = g->start[i + 1] - g->start[i];
        g->mixed = g->mixed || g->target[last] > g->target[first] * (1 + size[i] * SAME);
    }
    g->p = (struct num_pairs_problem){.kind_count = w->p.kind_count,
                                      .group_count = g->count,
                                      .rate = rate,
                                      .pair = pair,
                                      .gpus = gpus,
                                      .count = size,
                                      .need = g->need};
    memcpy(g->p.capacity, w->p.capacity, sizeof g->p.capacity);
    return SHOAL_OK;
}

shoal_status sched_objective_groups_make(struct sched_objective_solver *s,
                                         const struct sched_objective_work *w, const double *target,
                                         const double *usd_h, struct sched_objective_groups *g)
{
    *g = (struct sched_objective_groups){.target = target, .usd_h = usd_h};
    uint32_t count = sort_jobs(s, w, g);
    g->start = base_arena_alloc(&s->arena, (NUM_PAIRS_GROUPS_MAX + 1) * sizeof *g->start);
    g->part = sched_objective_array(s, w->p.job_count);
    g->job_value = sched_objective_array(s, w->p.job_count);
    if (count == 0 || g->start == NULL || g->part == NULL || g->job_value == NULL)
        return SHOAL_E_NOMEM;
    for (size_t m = 0; m < w->p.job_count; m++) {
        if (w->fastest[m] > 0)
            g->job_value[m] = sched_objective_weight(w, m) / w->fastest[m];
    }
    cut(w, g, count);
    return build(s, w, g);
}

/* Where to cut a group: before the first job that fell short, or in the middle; 0: nobody did, or
 * all are alike. */
static uint32_t short_at(const struct sched_objective_groups *g, uint32_t group,
                         const double *speed, const double *wanted, double scale)
{
    uint32_t from = g->start[group], end = g->start[group + 1];
    if (!(g->target[g->member[end - 1]] > g->target[g->member[from]] * (1 + SAME)))
        return 0;
    for (uint32_t i = from; i < end; i++) {
        uint32_t m = g->member[i];
        if (speed[m] < wanted[m] * scale * (1 - SHORT))
            return i > from ? i : from + (end - from) / 2;
    }
    return 0;
}

shoal_status sched_objective_groups_split(struct sched_objective_solver *s,
                                          const struct sched_objective_work *w,
                                          struct sched_objective_groups *g, const double *speed,
                                          const double *wanted, double scale)
{
    uint32_t at[NUM_PAIRS_GROUPS_MAX + 1], count = 0, spare = NUM_PAIRS_GROUPS_MAX - g->count;
    for (uint32_t i = 0; i < g->count; i++) {
        uint32_t cut_at = short_at(g, i, speed, wanted, scale);
        at[count++] = g->start[i];
        if (cut_at > 0 && spare > 0) {
            at[count++] = cut_at;
            spare--;
        }
    }
    if (count == g->count)
        return SHOAL_END;
    at[count] = g->start[g->count];
    memcpy(g->start, at, (count + 1) * sizeof *at);
    g->count = count;
    return build(s, w, g);
}

/* ---- handing out ---- */

enum { NO_PIECE = UINT32_MAX };

/* A job's part of a column. */
struct piece {
    double amount;
    uint32_t job, next;
};

/* A stretch of the line of a group's time: its side of a column, or idle. */
struct stretch {
    double length, speed;
    uint32_t column; /* UINT32_MAX: idle */
    bool second;     /* the group is the column's `with` */
};

/* What is needed besides the result while handing out. */
struct table {
    const struct num_pairs_column *columns;
    uint32_t column_count;
    struct piece *pieces;
    uint32_t piece_count, piece_room;
    uint32_t *head[2];     /* (columns) first piece of the group and of `with` */
    struct stretch *line;  /* (columns + 1) of the group at hand */
    struct stretch *block; /* (columns + 1) its part for the block at hand */
    double *got;           /* (jobs) speed from columns of its group with itself */
};

static double pair_speed(const struct sched_objective_groups *g, uint32_t kind, uint32_t a,
                         uint32_t b)
{
    return (double)g->p.pair[((size_t)kind * g->count + a) * g->count + b];
}

static void give_pair(const struct sched_objective_groups *g, const struct num_pairs_column *col,
                      uint32_t a, uint32_t b, double share, struct sched_objective_shares *out)
{
    if (share <= SLIVER || a == b)
        return;
    out->pairs[out->pair_count++] =
        (struct sched_pair_share){.job = a, .with = b, .kind = col->kind, .share = share};
    out->speed[a] += share * pair_speed(g, col->kind, col->group, col->with);
    out->speed[b] += share * pair_speed(g, col->kind, col->with, col->group);
}

/* Parts of the time a group shares with itself: in proportion to targets, at most `cap`. Targets
 * rise along a group, so those that are capped are at its end. */
static void divide(struct sched_objective_groups *g, uint32_t group, double cap)
{
    uint32_t from = g->start[group], open = g->start[group + 1];
    double sum = 0, left = 1;
    for (uint32_t i = from; i < open; i++)
        sum += g->target[g->member[i]];
    while (open > from && g->target[g->member[open - 1]] / sum * left > cap) {
        open--;
        g->part[g->member[open]] = cap;
        left = left > cap ? left - cap : 0;
        sum -= g->target[g->member[open]];
    }
    for (uint32_t i = from; i < open; i++)
        g->part[g->member[i]] = g->target[g->member[i]] / sum * left;
}

/* Position on the line of a group's parts, each `scale` long for the whole group. */
struct position {
    uint32_t at, end;
    double left; /* of the part at `at` */
};

static void move_on(const struct sched_objective_groups *g, double scale, struct position *p)
{
    p->at++;
    p->left = p->at < p->end ? scale * g->part[g->member[p->at]] : 0;
}

/* A column of a group with itself: 2 y long, folded. */
static void fold(const struct sched_objective_groups *g, const struct num_pairs_column *col,
                 struct sched_objective_shares *out)
{
    double scale = 2 * col->y, half = col->y;
    struct position a = {.at = g->start[col->group], .end = g->start[col->group + 1]};
    a.left = scale * g->part[g->member[a.at]];
    struct position b = a;
    double skip = half;
    while (b.at < b.end && b.left <= skip) {
        skip -= b.left;
        move_on(g, scale, &b);
    }
    b.left -= skip;
    while (a.at < a.end && b.at < b.end && half > SLIVER) {
        double step = fmin(half, fmin(a.left, b.left));
        give_pair(g, col, g->member[a.at], g->member[b.at], step, out);
        half -= step;
        a.left -= step;
        b.left -= step;
        if (a.left <= SLIVER)
            move_on(g, scale, &a);
        if (b.left <= SLIVER)
            move_on(g, scale, &b);
    }
}

/* All columns of a group with itself. Afterwards part holds the time that each job spends there. */
static void share_with_itself(struct sched_objective_groups *g, uint32_t group, struct table *t,
                              struct sched_objective_shares *out)
{
    double time = 0;
    for (uint32_t i = 0; i < t->column_count; i++) {
        if (t->columns[i].group == group && t->columns[i].with == group)
            time += 2 * t->columns[i].y;
    }
    for (uint32_t i = g->start[group]; i < g->start[group + 1]; i++)
        g->part[g->member[i]] = 0;
    if (time == 0)
        return;
    divide(g, group, time > 2 ? 1 / time : 0.5);
    for (uint32_t i = 0; i < t->column_count; i++) {
        if (t->columns[i].group == group && t->columns[i].with == group)
            fold(g, &t->columns[i], out);
    }
    for (uint32_t i = g->start[group]; i < g->start[group + 1]; i++) {
        uint32_t m = g->member[i];
        g->part[m] *= time;
        t->got[m] = out->speed[m];
    }
}

/* The group's other columns on a line, fastest first, then idle time so that the jobs' time is just
 * as long. Returns the number of stretches. */
static uint32_t lay_line(const struct sched_objective_groups *g, uint32_t group, struct table *t)
{
    uint32_t count = 0;
    double idle = 0;
    for (uint32_t i = g->start[group]; i < g->start[group + 1]; i++)
        idle += 1 - g->part[g->member[i]];
    for (uint32_t i = 0; i < t->column_count; i++) {
        const struct num_pairs_column *col = &t->columns[i];
        bool second = col->with == group;
        if ((col->group != group && !second) || col->group == col->with)
            continue;
        double speed = g->p.rate[(size_t)group * g->p.kind_count + col->kind];
        if (col->with != NUM_PAIRS_ALONE)
            speed = pair_speed(g, col->kind, group, second ? col->group : col->with);
        uint32_t at = count++;
        for (; at > 0 && t->line[at - 1].speed < speed; at--)
            t->line[at] = t->line[at - 1];
        t->line[at] = (struct stretch){col->y, speed, i, second};
        idle -= col->y;
    }
    t->line[count++] = (struct stretch){fmax(idle, 0), 0, UINT32_MAX, false};
    return count;
}

static void give(const struct sched_objective_work *w, struct table *t, const struct stretch *from,
                 uint32_t job, double amount, struct sched_objective_shares *out)
{
    if (from->column == UINT32_MAX || amount <= SLIVER)
        return;
    const struct num_pairs_column *col = &t->columns[from->column];
    if (col->with == NUM_PAIRS_ALONE) {
        out->x[(size_t)job * w->p.kind_count + col->kind] += amount;
        out->speed[job] += amount * from->speed;
        return;
    }
    shoal_assert(t->piece_count < t->piece_room);
    uint32_t *head = &t->head[from->second][from->column];
    t->pieces[t->piece_count] = (struct piece){amount, job, *head};
    *head = t->piece_count++;
}

/* Takes from the block the stretch of length `time` that does the work `due`, or the nearest to it.
 * Work falls as the stretch moves along; within a stretch of one speed it does not matter what is
 * taken, so only lengths are kept. */
static void take(const struct sched_objective_work *w, struct table *t, uint32_t count,
                 uint32_t job, double time, double due, struct sched_objective_shares *out)
{
    uint32_t low = 0, high = 0;
    double work = 0, room = time, skipped = 0, used = 0;
    while (high < count && t->block[high].length <= room) {
        room -= t->block[high].length;
        work += t->block[high].length * t->block[high].speed;
        high++;
    }
    used = high < count ? room : 0; /* of the stretch at `high` */
    work += high < count ? room * t->block[high].speed : 0;
    while (high < count && work > due) {
        double loss = t->block[low].speed - t->block[high].speed;
        double step = fmin(t->block[low].length - skipped, t->block[high].length - used);
        bool enough = loss * step >= work - due;
        if (enough)
            step = (work - due) / loss;
        work -= loss * step;
        skipped += step;
        used += step;
        if (enough)
            break;
        if (used >= t->block[high].length) {
            high++;
            used = 0;
        }
        if (skipped >= t->block[low].length) {
            low++;
            skipped = 0;
        }
    }
    for (uint32_t i = low; i < count && i <= high; i++) {
        double end = i == high ? used : t->block[i].length;
        double amount = i == low ? end - skipped : end;
        give(w, t, &t->block[i], job, amount, out);
        t->block[i].length -= amount > 0 ? amount : 0;
    }
}

/* The first `time` of the line, cut off. */
static void cut_block(struct table *t, uint32_t count, double time)
{
    for (uint32_t i = 0; i < count; i++) {
        double length = fmin(t->line[i].length, time);
        t->block[i] = t->line[i];
        t->block[i].length = length;
        t->line[i].length -= length;
        time -= length;
    }
}

/* How many of the jobs before `end` (largest targets last) make the next block: those whose ratio
 * of speed to target, over the first part of the line, is smallest. */
static uint32_t block_size(const struct sched_objective_groups *g, const struct table *t,
                           uint32_t from, uint32_t end, double *out_ratio)
{
    uint32_t best = end - from, stretch = 0;
    double time = 0, work = 0, laid = 0, target = 0, got = 0, least = INFINITY;
    for (uint32_t i = end; i-- > from;) {
        uint32_t m = g->member[i];
        time += 1 - g->part[m];
        target += g->target[m];
        got += t->got[m];
        while (t->line[stretch].column != UINT32_MAX && laid + t->line[stretch].length <= time) {
            laid += t->line[stretch].length;
            work += t->line[stretch].length * t->line[stretch].speed;
            stretch++;
        }
        double ratio = (work + (time - laid) * t->line[stretch].speed + got) / target;
        if (ratio <= least * (1 + SAME)) {
            least = fmin(ratio, least);
            best = end - i;
        }
    }
    *out_ratio = least;
    return best;
}

/* A group's columns with others and alone. */
static void share_with_others(const struct sched_objective_work *w,
                              struct sched_objective_groups *g, uint32_t group, struct table *t,
                              struct sched_objective_shares *out)
{
    uint32_t from = g->start[group], end = g->start[group + 1];
    uint32_t count = lay_line(g, group, t);
    while (end > from) {
        double ratio = 0, time = 0;
        uint32_t size = block_size(g, t, from, end, &ratio);
        for (uint32_t i = end - size; i < end; i++)
            time += 1 - g->part[g->member[i]];
        cut_block(t, count, time);
        for (uint32_t i = end; i-- > end - size;) {
            uint32_t m = g->member[i];
            take(w, t, count, m, 1 - g->part[m], ratio * g->target[m] - t->got[m], out);
        }
        end -= size;
    }
}

/* The pieces of both sides of a column, cut into pairs. */
static void match(const struct sched_objective_groups *g, const struct table *t, uint32_t column,
                  struct sched_objective_shares *out)
{
    uint32_t a = t->head[0][column], b = t->head[1][column];
    double left_a = a == NO_PIECE ? 0 : t->pieces[a].amount;
    double left_b = b == NO_PIECE ? 0 : t->pieces[b].amount;
    while (a != NO_PIECE && b != NO_PIECE) {
        double step = fmin(left_a, left_b);
        give_pair(g, &t->columns[column], t->pieces[a].job, t->pieces[b].job, step, out);
        left_a -= step;
        left_b -= step;
        if (left_a <= SLIVER) {
            a = t->pieces[a].next;
            left_a = a == NO_PIECE ? 0 : t->pieces[a].amount;
        }
        if (left_b <= SLIVER) {
            b = t->pieces[b].next;
            left_b = b == NO_PIECE ? 0 : t->pieces[b].amount;
        }
    }
}

/* Memory for the table and the result. A job has at most one piece of a side of a column; a column
 * makes at most as many pairs as it has pieces. */
static shoal_status make_room(struct sched_objective_solver *s,
                              const struct sched_objective_work *w,
                              const struct sched_objective_groups *g, struct table *t,
                              struct sched_objective_shares *out)
{
    size_t room = 1, line = t->column_count + 1;
    for (uint32_t i = 0; i < t->column_count; i++) {
        const struct num_pairs_column *col = &t->columns[i];
        if (col->with != NUM_PAIRS_ALONE)
            room += g->start[col->group + 1] - g->start[col->group] + g->start[col->with + 1] -
                    g->start[col->with];
    }
    if (room >= UINT32_MAX)
        return SHOAL_E_NOMEM;
    t->piece_room = (uint32_t)room;
    t->pieces = base_arena_alloc(&s->arena, room * sizeof *t->pieces);
    t->line = base_arena_alloc(&s->arena, line * sizeof *t->line);
    t->block = base_arena_alloc(&s->arena, line * sizeof *t->block);
    t->got = sched_objective_array(s, w->p.job_count);
    for (int side = 0; side < 2; side++) {
        t->head[side] = base_arena_alloc(&s->arena, line * sizeof *t->head[side]);
        if (t->head[side] == NULL)
            return SHOAL_E_NOMEM;
        memset(t->head[side], 0xff, line * sizeof *t->head[side]);
    }
    out->x = sched_objective_array(s, w->p.job_count * w->p.kind_count);
    out->speed = sched_objective_array(s, w->p.job_count);
    out->pairs = base_arena_alloc(&s->arena, room * sizeof *out->pairs);
    bool enough = t->pieces != NULL && t->line != NULL && t->block != NULL && t->got != NULL &&
                  out->x != NULL && out->speed != NULL && out->pairs != NULL;
    return enough ? SHOAL_OK : SHOAL_E_NOMEM;
}

shoal_status sched_objective_groups_hand_out(struct sched_objective_solver *s,
                                             const struct sched_objective_work *w,
                                             struct sched_objective_groups *g,
                                             const struct num_pairs_result *from,
                                             struct sched_objective_shares *out)
{
    struct table t = {.columns = from->columns, .column_count = from->column_count};
    *out = (struct sched_objective_shares){0};
    shoal_status st = make_room(s, w, g, &t, out);
    if (st != SHOAL_OK)
        return st;
    for (uint32_t i = 0; i < g->count; i++) {
        share_with_itself(g, i, &t, out);
        share_with_others(w, g, i, &t, out);
    }
    for (uint32_t i = 0; i < t.column_count; i++) {
        if (t.columns[i].with != NUM_PAIRS_ALONE && t.columns[i].with != t.columns[i].group)
            match(g, &t, i, out);
    }
    return SHOAL_OK;
}
