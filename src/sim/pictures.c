/* pictures.c - what a page shows of a comparison beside the figures: the cluster and the jobs over time, how
 * completion times and fairness are distributed, where the waiting came from (see compare.h).
 *
 * A line has at most POINTS_MAX points whatever the length of the run, and the lines of a picture have
 * POINTS_ALL together. Tests: tests/unit/sim/test_pictures.c. */
#include "sim/compare.h"

#include "base/assert.h"
#include "page/field.h"
#include "page/show.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_MAX = 240, POINTS_ALL = 1500, QUANTILES = 120 };

/* ---- over time ---- */

static double mean_between(const struct sim_series *s, const float *values, double from_s,
                           double to_s)
{
    size_t from = (size_t)fmax(0, floor(from_s / s->step_s + 1e-9));
    size_t to = (size_t)fmax(0, ceil(to_s / s->step_s - 1e-9));
    double sum = 0;

    if (from >= s->count)
        return NAN;
    to = to <= from ? from + 1 : to > s->count ? s->count : to;
    for (size_t i = from; i < to; i++)
        sum += (double)values[i];
    return sum / (double)(to - from);
}

/* The next of so many lines of a picture: means of the recorded values, times `scale`; NULL: there are none. */
static void add_steps(const struct sim_pictures *p, shoal_picture *picture, size_t lines,
                      const char *name, size_t colour, const struct sim_series *s,
                      const float *values, double scale)
{
    double end_s = fmin(p->span_s, s->step_s * (double)s->count);
    size_t points = POINTS_ALL / lines < POINTS_MAX ? POINTS_ALL / lines : POINTS_MAX;
    points = values == NULL ? 0 : s->count < points ? s->count : points;
    shoal_series *line =
        page_series(p->made, picture, name, (uint32_t)(colour % SHOAL_GREY), points + 1);

    if (line == NULL)
        return;
    for (size_t i = 0; i < points; i++) {
        double from = end_s * (double)i / (double)points;
        double mean = mean_between(s, values, from, end_s * (double)(i + 1) / (double)points);
        if (!isfinite(mean))
            break;
        page_point(line, from, mean * scale);
    }
    if (line->count > 0)
        page_point(line, end_s, (double)line->y[line->count - 1]);
}

/* Steps over time. */
static shoal_picture *add_picture(const struct sim_pictures *p, const char *name, const char *title,
                                  const char *note, size_t series)
{
    shoal_picture *picture = page_picture(p->made, SHOAL_PICTURE_STEPS, name, title, note, series);

    if (picture != NULL)
        picture->x = (shoal_axis){.title = "time", .unit = SHOAL_UNIT_SECONDS};
    return picture;
}

/* "Prices under max-min", or "Prices" where there is one policy. */
static const char *name_under(const struct sim_pictures *p, const char *what, size_t index)
{
    return p->c->count == 1
               ? what
               : page_made_text(p->made, "%s under %s", what, p->c->results[index]->policy);
}

shoal_picture *sim_picture_of_cluster(const struct sim_pictures *p, size_t index, const char *name,
                                      size_t series, const char *note)
{
    const struct sim_metrics *m = &p->c->results[index]->metrics;

    return add_picture(p, page_made_text(p->made, "%s-%zu", name, index + 1),
                       name_under(p, "Who holds what", index),
                       page_made_text(p->made, "%s busy%s, the last job ends after %s; %s",
                                      page_made_value(p->made, SHOAL_UNIT_SHARE, m->utilization),
                                      m->use_to_end ? "" : " while jobs come in",
                                      page_made_value(p->made, SHOAL_UNIT_SECONDS, m->makespan_s),
                                      note),
                       series);
}

void sim_picture_of_use(const struct sim_pictures *p, size_t index)
{
    const struct sim_series *s = &p->c->results[index]->series;
    const struct sched_cluster *cluster = &p->c->sim->cluster;

    if (!(s->step_s > 0) || s->count == 0)
        return;
    shoal_picture *picture = sim_picture_of_cluster(p, index, "use", cluster->kind_count,
                                                    "share of the GPUs of a kind that jobs hold");
    if (picture == NULL)
        return;
    picture->y = (shoal_axis){.title = "GPUs held", .unit = SHOAL_UNIT_SHARE};
    for (uint32_t k = 0; k < cluster->kind_count; k++)
        add_steps(p, picture, cluster->kind_count, p->kinds[k], k, s, s->busy[k],
                  1.0 / fmax(1, cluster->kinds[k].gpus));
}

static bool is_recorded(const struct sim_series *s)
{
    return s->step_s > 0 && s->count > 0 && s->waiting != NULL && s->running != NULL;
}

static void draw_jobs(const struct sim_pictures *p, bool running)
{
    bool any = false;

    for (size_t i = 0; i < p->c->count; i++)
        any |= is_recorded(&p->c->results[i]->series);
    shoal_picture *picture = any ? add_picture(p, running ? "running" : "queue",
                                               running ? "Jobs running" : "Jobs waiting",
                                               running ? "jobs that hold GPUs, over time"
                                                       : "length of the queue, over time",
                                               p->c->count)
                                 : NULL;
    if (picture == NULL)
        return;
    picture->y = (shoal_axis){.title = "jobs", .unit = SHOAL_UNIT_COUNT};
    for (size_t i = 0; i < p->c->count; i++) {
        const struct sim_series *s = &p->c->results[i]->series;
        add_steps(p, picture, p->c->count, p->policies[i], i, s,
                  !is_recorded(s) ? NULL
                  : running       ? s->running
                                  : s->waiting,
                  1);
    }
}

/* ---- distributions ---- */

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* Completion times, or rho, of the jobs that finished, rising; returns how many. */
static size_t collect(const struct sim_result *r, bool fairness, float *values)
{
    size_t count = 0;

    for (size_t i = 0; i < r->trace->job_count; i++) {
        double value =
            fairness ? (double)r->jobs[i].rho : r->jobs[i].finish_s - r->trace->jobs[i].submit_s;
        if (r->jobs[i].outcome == SIM_FINISHED && isfinite(value) && value >= 0)
            values[count++] = (float)value;
    }
    qsort(values, count, sizeof *values, compare_floats);
    return count;
}

/* The share of jobs at or below a value. A job of no length must not stretch the axis without end. */
static void add_distribution(const struct sim_pictures *p, shoal_picture *picture, size_t index,
                             const float *values, size_t count, bool fairness)
{
    size_t points = count < QUANTILES ? count : QUANTILES;
    shoal_series *line = page_series(p->made, picture, p->policies[index],
                                     (uint32_t)(index % SHOAL_GREY), points + 1);

    if (line == NULL || count == 0)
        return;
    float least = values[count - 1] / (fairness ? 1e4F : 1e6F);
    for (size_t i = 0; i <= points; i++) {
        size_t rank = (i * count + points - 1) / points;
        page_point(line, (double)fmaxf(values[rank > 0 ? rank - 1 : 0], fmaxf(least, 1e-6F)),
                   (double)i / (double)points);
    }
}

static void draw_distribution(const struct sim_pictures *p, bool fairness)
{
    static const shoal_mark fair = {1, "worse off"};
    shoal_picture *picture =
        add_picture(p, fairness ? "rho" : "jct",
                    fairness ? "Finish-time fairness" : "Share of jobs done within a time",
                    fairness ? "rho: completion time over that of an equal share of the cluster"
                             : "from submission to the end",
                    p->c->count);
    float *values =
        base_calloc(p->made->arena.alloc, p->c->sim->trace->job_count + 1, sizeof *values);

    if (values == NULL)
        p->made->status = SHOAL_E_NOMEM;
    for (size_t i = 0; picture != NULL && values != NULL && i < p->c->count; i++)
        add_distribution(p, picture, i, values, collect(p->c->results[i], fairness, values),
                         fairness);
    base_free(p->made->arena.alloc, values);
    if (picture == NULL)
        return;
    picture->x = (shoal_axis){.title = fairness ? "rho" : "completion time",
                              .unit = fairness ? SHOAL_UNIT_NONE : SHOAL_UNIT_SECONDS,
                              .log = true};
    picture->y = (shoal_axis){.title = "share of jobs", .unit = SHOAL_UNIT_SHARE};
    picture->marks = fairness ? &fair : NULL;
    picture->mark_count = fairness ? 1 : 0;
}

/* ---- where the waiting came from ---- */

static const struct reason {
    enum sched_reason reason;
    uint32_t colour; /* the seventh for all that are rare */
    const char *name, *meaning;
} reasons[] = {
    {SCHED_WHY_CAPACITY, 1, "capacity", "of the GPUs it can use, none was free"},
    {SCHED_WHY_GANG, 4, "gang", "some were free, fewer than it asks for at once"},
    {SCHED_WHY_LOCALITY, 3, "locality",
     "enough were free, but not where its placement rules allow"},
    {SCHED_WHY_FAIR_SHARE, 0, "fair share",
     "jobs that come before it under the policy hold the GPUs or wait for them"},
    {SCHED_WHY_QUEUE, 5, "queue", "jobs that came before it hold the GPUs or wait for them"},
    {SCHED_WHY_NEXT_ROUND, 2, "next round",
     "decisions are made once per round; the next one looks at it"},
    {SCHED_WHY_LIMIT, SHOAL_GREY, "limit", "a limit was reached"},
    {SCHED_WHY_DEADLINE_SLACK, SHOAL_GREY, "deadline slack", "its deadline leaves time"},
    {SCHED_WHY_PRICE, SHOAL_GREY, "price", "the price of the GPUs is better spent on other jobs"},
    {SCHED_WHY_HELD, SHOAL_GREY, "held", "held back by its owner"},
    {SCHED_WHY_DEPENDENCY, SHOAL_GREY, "dependency", "waits for another job"},
    {SCHED_WHY_IMPOSSIBLE, SHOAL_GREY, "impossible", "asks for more at once than this cluster has"},
    {SCHED_WHY_NONE, SHOAL_GREY, "not stated", "the policy gave no reason"},
};

/* Seconds of waiting per job for this reason. */
static double reason_s(const struct sim_result *r, const struct reason *reason)
{
    double sum = r->metrics.wait_by_reason_s[reason->reason];
    uint64_t jobs = r->metrics.jobs - r->metrics.rejected;

    return jobs == 0 || !isfinite(sum) || sum < 0 ? 0 : sum / (double)jobs;
}

static void draw_waiting(const struct sim_pictures *p)
{
    const struct sim_compare *c = p->c;
    const struct reason *seen[BASE_COUNT(reasons)];
    size_t count = 0;

    for (size_t r = 0; r < BASE_COUNT(reasons); r++) {
        double sum = 0;
        for (size_t i = 0; i < c->count; i++)
            sum += reason_s(c->results[i], &reasons[r]);
        if (sum > 0)
            seen[count++] = &reasons[r];
    }
    shoal_picture *picture =
        count == 0 ? NULL
                   : page_picture(p->made, SHOAL_PICTURE_BARS, "why", "Where the waiting came from",
                                  "mean time without GPUs per job, by reason", count);
    if (picture == NULL)
        return;
    picture->y = (shoal_axis){.title = "per job", .unit = SHOAL_UNIT_SECONDS};
    picture->labels = (shoal_texts){.items = p->policies, .count = c->count};
    for (size_t r = 0; r < count; r++) {
        float *y = page_values(p->made, picture, seen[r]->name, seen[r]->colour, c->count);
        for (size_t i = 0; y != NULL && i < c->count; i++)
            y[i] = (float)reason_s(c->results[i], seen[r]);
        picture->note =
            page_made_text(p->made, "%s; %s: %s", picture->note, seen[r]->name, seen[r]->meaning);
    }
}

/* ---- prices and shares ----
 *
 * Policies that solve for shares: what one more GPU of a kind would be worth over time, and what
 * jobs were promised against what they got (see compare.h).
 *
 * Prices have the unit of the policy's objective, which differs from policy to policy, or of what it looks at
 * next while GPUs cannot better that. So a picture shows them against their mean over all GPUs and all the time
 * in that unit with live jobs: 1 is the average GPU. Of shares, finished jobs count. What a job received of a
 * kind beyond its promise does not make up for another kind: promised time that was received is the smaller of
 * the two, kind by kind, and the rest is missing. */

enum { POLICIES_MAX = 6, JOBS_MAX = 8 };

/* ---- prices ---- */

/* Prices below 0, and without end, are none. */
static double clean(float price)
{
    return isnan(price) ? (double)NAN : isinf(price) ? 0 : fmax(0, (double)price);
}

/* Of all GPUs over the time that such prices held; 0: none had one. */
static double mean_of(const struct sim_pictures *p, const struct sim_series *s, float *const *of,
                      double held_s)
{
    double sum = 0, gpus = 0;

    for (uint32_t k = 0; k < p->kind_count; k++) {
        double of_kind = 0;
        for (size_t i = 0; of[k] != NULL && i < s->count; i++)
            of_kind += clean(of[k][i]);
        sum += isfinite(of_kind) ? of_kind * p->c->sim->cluster.kinds[k].gpus : 0;
        gpus += p->c->sim->cluster.kinds[k].gpus;
    }
    double mean = held_s > 0 ? sum / fmax(1, gpus) * s->step_s / held_s : 0;
    return mean > 0 && isfinite(mean) ? mean : 0;
}

static const char *unit_of(const char *unit)
{
    return unit != NULL ? unit : "";
}

static void draw_prices(const struct sim_pictures *p, size_t index)
{
    const struct sim_series *s = &p->c->results[index]->series;
    double own = mean_of(p, s, s->price, s->price_s), next = mean_of(p, s, s->next, s->next_s);
    double held_s = s->price_s + s->next_s;

    if (own == 0 && next == 0) {
        page_made_say(p->made, "Under %s one more GPU would not have bettered anything.\n",
                      p->c->results[index]->policy);
        return;
    }
    shoal_picture *picture = add_picture(
        p, page_made_text(p->made, "prices-%zu", index + 1), name_under(p, "Prices", index),
        page_made_text(p->made,
                       "what one more GPU of a kind would be worth; 1 is the mean of all, %.3g %s",
                       own > 0 ? own : next, unit_of(own > 0 ? s->price_unit : s->next_unit)),
        p->kind_count);
    if (picture == NULL)
        return;
    picture->y = (shoal_axis){.title = "price", .unit = SHOAL_UNIT_NONE};
    if (own > 0 && next > 0)
        picture->note = page_made_text(
            p->made, "%s; %s of the time GPUs cannot better that, and it is %.3g %s", picture->note,
            page_made_value(p->made, SHOAL_UNIT_SHARE, s->next_s / held_s), next,
            unit_of(s->next_unit));
    for (uint32_t k = 0; k < p->kind_count; k++) {
        float *price = page_made_alloc(p->made, s->count, sizeof *price);
        double sum = 0;
        for (size_t i = 0; price != NULL && i < s->count; i++) {
            double now = own > 0 ? clean(s->price[k][i]) / own : 0;
            now += next > 0 && s->next[k] != NULL ? clean(s->next[k][i]) / next : 0;
            price[i] = (float)now;
            sum += isfinite(now) ? now : 0;
        }
        const char *mean = page_made_value(p->made, SHOAL_UNIT_NONE, sum * s->step_s / held_s);
        add_steps(p, picture, p->kind_count,
                  page_made_text(p->made, "%s, %s on average", p->kinds[k], mean), k, s, price, 1);
    }
}

/* ---- shares ---- */

struct promise {
    const char *who, *kind;
    double wanted_s, received_s, missing_s;
};

#define ROW struct promise
static const shoal_field promise_fields[] = {
    FIELD(who, "JOB", NONE, 0, 1, "the job; all of them: GPU time of all jobs that finished"),
    FIELD(kind, "KIND", NONE, 0, 1, "the kind of GPU; of a job the one on which most is missing"),
    FIELD(wanted_s, "PROMISED", SECONDS, 0, 1, "time on that kind that the policy meant"),
    FIELD(received_s, "RECEIVED", SECONDS, 0, 1, "time on that kind that was held"),
    FIELD(missing_s, "MISSING", SECONDS, -1, 1,
          "promised time that was not received, on all kinds"),
};
#undef ROW
const shoal_schema sim_promise_schema =
    SCHEMA_OF("promises", "Promised and received", "What one job was promised", promise_fields);

static double seconds_of(const float *table, size_t at)
{
    return isfinite(table[at]) ? fmax(0, (double)table[at]) : 0;
}

static bool has_shares(const struct sim_result *r)
{
    return r->wanted_s != NULL && r->received_s != NULL;
}

/* Keeps the jobs with most missing, the largest first. */
static void keep_row(struct promise *rows, size_t *count, const struct promise *row)
{
    size_t at = *count;

    if (!(row->missing_s > 0) || (at == JOBS_MAX && row->missing_s <= rows[at - 1].missing_s))
        return;
    at = at < JOBS_MAX ? (*count)++ : at - 1;
    for (; at > 0 && rows[at - 1].missing_s < row->missing_s; at--)
        rows[at] = rows[at - 1];
    rows[at] = *row;
}

/* For each kind all jobs, then the jobs with most missing. *out_kept_all_s is GPU time received of that
 * promised, on whatever kind. */
static shoal_records make_list(const struct sim_pictures *p, const struct sim_result *r,
                               double *out_kept_all_s)
{
    uint32_t kind_count = p->kind_count;
    struct promise *all = page_made_alloc(p->made, kind_count + JOBS_MAX, sizeof *all);
    size_t count = 0;

    *out_kept_all_s = 0;
    if (all == NULL)
        return (shoal_records){0};
    for (uint32_t k = 0; k < kind_count; k++)
        all[k] = (struct promise){.who = "all of them", .kind = p->kinds[k]};
    for (size_t job = 0; job < r->trace->job_count; job++) {
        double wanted_s = 0, received_s = 0, most_s = 0, gpus = r->trace->jobs[job].gpus;
        struct promise row = {.who = r->trace->jobs[job].name};
        if (r->jobs[job].outcome != SIM_FINISHED)
            continue;
        for (uint32_t k = 0; k < kind_count; k++) {
            double wanted = seconds_of(r->wanted_s, job * kind_count + k);
            double received = seconds_of(r->received_s, job * kind_count + k);
            all[k].wanted_s += wanted * gpus;
            all[k].received_s += received * gpus;
            all[k].missing_s += fmax(0, wanted - received) * gpus;
            wanted_s += wanted;
            received_s += received;
            row.missing_s += fmax(0, wanted - received);
            if (wanted - received > most_s) {
                most_s = wanted - received;
                row = (struct promise){row.who, p->kinds[k], wanted, received, row.missing_s};
            }
        }
        *out_kept_all_s += fmin(wanted_s, received_s) * gpus;
        keep_row(all + kind_count, &count, &row);
    }
    for (size_t i = kind_count; i < kind_count + count; i++)
        all[i].who = page_made_text(p->made, "%s", all[i].who);
    return page_records(all, kind_count + count);
}

/* "Jobs received 97 % of the GPU time they were promised, 94 % on the kind that was promised; the
 * largest gap is x on v100: 3h12m of 4h00m." */
static void say_shares(const struct sim_pictures *p, size_t index, const struct promise *all,
                       size_t count, double kept_all_s)
{
    double wanted_s = 0, missing_s = 0, error = p->c->results[index]->metrics.share_error;
    struct page_made *made = p->made;

    for (uint32_t k = 0; k < p->kind_count; k++) {
        wanted_s += all[k].wanted_s;
        missing_s += all[k].missing_s;
    }
    if (!(wanted_s > 0)) {
        page_made_say(p->made, "Under %s no finished job was promised any time.\n",
                      p->c->results[index]->policy);
        return;
    }
    const char *text = page_made_value(made, SHOAL_UNIT_SHARE, kept_all_s / wanted_s);
    const char *same = page_made_value(made, SHOAL_UNIT_SHARE, 1 - missing_s / wanted_s);
    page_made_say(made, "Under %s jobs received %s of the GPU time they were promised",
                  p->c->results[index]->policy, kept_all_s >= wanted_s * 0.9995 ? "all" : text);
    if (strcmp(text, same) != 0)
        page_made_say(made, ", %s on the kind that was promised", same);
    if (count > p->kind_count && all[p->kind_count].missing_s >= 1) {
        const struct promise *worst = &all[p->kind_count];
        page_made_say(made, "; the largest gap is %s on %s: %s of %s", worst->who, worst->kind,
                      page_made_value(made, SHOAL_UNIT_SECONDS, worst->received_s),
                      page_made_value(made, SHOAL_UNIT_SECONDS, worst->wanted_s));
    }
    if (isfinite(error))
        page_made_say(made, "; the share error is %s",
                      page_made_value(made, SHOAL_UNIT_SHARE, error));
    page_made_say(made, ".\n");
}

/* Two bars, cut into kinds: GPU time promised and received. */
static void add_bars(const struct sim_pictures *p, shoal_picture *bars, const struct promise *all,
                     const char **labels, size_t index)
{
    size_t at = bars->labels.count;

    labels[at] = name_under(p, "promised", index);
    labels[at + 1] = name_under(p, "received", index);
    bars->labels = (shoal_texts){.items = labels, .count = at + 2};
    for (uint32_t k = 0; k < p->kind_count; k++) {
        shoal_series *part = (shoal_series *)(uintptr_t)&bars->series[k];
        float *y = part->y != NULL ? (float *)(uintptr_t)part->y
                                   : page_values(p->made, bars, p->kinds[k], k % SHOAL_GREY,
                                                 2 * (size_t)POLICIES_MAX);
        if (y == NULL)
            return;
        y[at] = (float)all[k].wanted_s;
        y[at + 1] = (float)all[k].received_s;
        part->count = at + 2;
    }
}

/* ---- all of it ---- */

static bool has_prices(const struct sim_pictures *p, const struct sim_result *r)
{
    for (uint32_t k = 0; k < p->kind_count; k++)
        if (r->series.price[k] == NULL)
            return false;
    return r->series.step_s > 0 && r->series.count > 0;
}

/* The bars are made once it is known that there are any. */
static void draw_shares(const struct sim_pictures *p, const bool *shown)
{
    const char **labels = page_made_alloc(p->made, 2 * (size_t)POLICIES_MAX, sizeof *labels);
    shoal_picture *bars = NULL;

    for (size_t i = 0; labels != NULL && i < p->c->count; i++) {
        double kept_all_s;
        if (!shown[i] || !has_shares(p->c->results[i]))
            continue;
        p->promises[i] = make_list(p, p->c->results[i], &kept_all_s);
        const struct promise *all = p->promises[i].first;
        if (all == NULL)
            return;
        say_shares(p, i, all, p->promises[i].count, kept_all_s);
        if (bars == NULL)
            bars =
                page_picture(p->made, SHOAL_PICTURE_BARS, "shares", "Shares promised and received",
                             "GPU time of all jobs, by kind", p->kind_count);
        if (bars == NULL)
            return;
        add_bars(p, bars, all, labels, i);
        bars->y = (shoal_axis){.title = "GPU-hours", .unit = SHOAL_UNIT_HOURS};
    }
}

static void draw_promises(const struct sim_pictures *p)
{
    bool shown[SIM_RUNS_MAX] = {false};
    size_t count = 0, left = 0;

    for (size_t i = 0; i < p->c->count; i++) {
        const struct sim_result *r = p->c->results[i];
        if (!has_prices(p, r) && !has_shares(r))
            continue;
        shown[i] = count < POLICIES_MAX;
        left += !shown[i];
        count += shown[i];
        if (shown[i] && has_prices(p, r))
            draw_prices(p, i);
    }
    draw_shares(p, shown);
    if (left > 0)
        page_info(
            p->made,
            "prices and shares of %zu more %s are left out; a report on fewer policies has them",
            left, left == 1 ? "policy" : "policies");
}

/* ---- all ---- */

/* When the last job or record of any result ends, so that all results share one time axis. */
static double find_span(const struct sim_compare *c)
{
    double span = 0, recorded = 0;

    for (size_t i = 0; i < c->count; i++) {
        const struct sim_result *r = c->results[i];
        if (isfinite(r->metrics.makespan_s))
            span = fmax(span, r->metrics.makespan_s);
        for (size_t job = 0; job < r->trace->job_count; job++)
            if (isfinite(r->jobs[job].finish_s))
                span = fmax(span, r->jobs[job].finish_s - r->origin_s);
        recorded = fmax(recorded, r->series.step_s * (double)r->series.count);
    }
    span = span > 0 ? span : recorded;
    return span > 0 && isfinite(span) ? span : 1;
}

void sim_pictures_draw(struct page_made *made, const struct sim_compare *c,
                       const char *const *kinds, shoal_records *promises)
{
    const char **policies = page_made_alloc(made, c->count, sizeof *policies);
    struct sim_pictures p = {.made = made,
                             .c = c,
                             .span_s = find_span(c),
                             .policies = policies,
                             .kinds = kinds,
                             .kind_count = c->sim->cluster.kind_count,
                             .promises = promises};

    if (policies == NULL)
        return;
    for (size_t i = 0; i < c->count; i++)
        policies[i] = page_made_text(made, "%s", c->results[i]->policy);
    sim_lanes_draw(&p);
    draw_jobs(&p, false);
    draw_jobs(&p, true);
    draw_distribution(&p, false);
    draw_distribution(&p, true);
    draw_waiting(&p);
    draw_promises(&p);
}
