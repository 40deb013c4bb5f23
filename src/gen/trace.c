/* trace.c - seeded workloads; see trace.h.
 *
 * Durations of every shape are piecewise log-uniform: between two knots the logarithm is uniform.
 * That is exact for Gavel's and Pollux's published mixtures, closes the mean in a formula and makes a
 * cut at the top a cut of the uniform draw.
 *
 * Load. Tails are heavy: of three days of Philly's shape on 64 GPUs a few jobs make most of the work,
 * so a rate that is right on average gives traces of a third or of three times the load. We keep to
 * the traces that have it. For so many days, jobs are drawn until their work is within
 * GEN_TRACE_LOAD_ERROR of what the load asks for; when one job carries it beyond that, all are drawn
 * anew. Each job is as likely as before at any place of such a trace, but jobs larger than the whole
 * are in none. For so many jobs, the length of the trace follows from their work. Arrivals are those
 * of a Poisson process of which the number is known: independent over the length, by weight of hours.
 *
 * Gavel: 60 s x 10^U(1.5, 3) with probability 0.8, 60 s x 10^U(3, 4) with 0.2; scale factors
 * 1/2/4/8 with 0.70/0.10/0.15/0.05; Poisson arrivals. With a throughput table the job type is drawn
 * evenly from the rows of that size and steps = duration x its V100 rate.
 *
 * Pollux: applications, sizes and batches in the shares of its six published workloads (960 jobs),
 * hourly arrival weights from the same 8 hours, repeated. Plain durations: GPU-time log-uniform in
 * the class of the application, S 0.05-1, M 1-10, L 10-100, XL 100-1000 GPU-hours.
 *
 * Philly: fitted to the published list (82,247 jobs). Per GPU count (1, 2, 4, 8, 16 and more) the
 * knots are the list's own quantiles at 17 shares, so a generated list has the same quantiles there
 * up to sampling; in between log-linear. Mean duration per class against the list: +8 %, -5 %, -1
 * %, +1 %, 0 %. Sizes and virtual clusters in the list's shares (12 and 24 GPUs counted as 16 and
 * 32), arrivals by hour of day in its shares, weekdays not modelled. */
#include "gen/trace.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "base/watch.h"
#include "gen/gen.h"
#include "env/system.h"
#include "sim/reader.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const shape_names[] = {"gavel", "gavel-multi", "pollux", "philly", NULL};

/* --- piecewise log-uniform draws ---------------------------------------------------------------
 */

struct curve {
    const struct gen_trace_knot *knots; /* shares rise from 0 to 1, values rise */
    size_t count;
};

/* The value below which `share` of the draws lie. */
static double curve_at(const struct curve *c, double share)
{
    size_t i = 1;

    while (i + 1 < c->count && c->knots[i].share < share)
        i++;
    const struct gen_trace_knot *lo = &c->knots[i - 1], *hi = &c->knots[i];
    double t = fmin((share - lo->share) / (hi->share - lo->share), 1);
    return lo->value * pow(hi->value / lo->value, t);
}

/* The share of draws of at most `value`. */
static double curve_share(const struct curve *c, double value)
{
    size_t i = 1;

    if (!(value < c->knots[c->count - 1].value))
        return 1;
    if (value <= c->knots[0].value)
        return 0;
    while (c->knots[i].value < value)
        i++;
    const struct gen_trace_knot *lo = &c->knots[i - 1], *hi = &c->knots[i];
    return lo->share +
           (hi->share - lo->share) * log(value / lo->value) / log(hi->value / lo->value);
}

/* Mean of the draws within the first `cut` share. */
static double curve_mean(const struct curve *c, double cut)
{
    double sum = 0;

    for (size_t i = 1; i < c->count && c->knots[i - 1].share < cut; i++) {
        const struct gen_trace_knot *lo = &c->knots[i - 1], *hi = &c->knots[i];
        double share = fmin(cut, hi->share) - lo->share;
        double top = hi->share <= cut ? hi->value : curve_at(c, cut);
        double ratio = top / lo->value;
        sum += share * (ratio > 1 + 1e-9 ? (top - lo->value) / log(ratio) : lo->value);
    }
    return sum / cut;
}

/* --- the distributions -------------------------------------------------------------------------
 */

#define CURVE(knots)             \
    {                            \
        knots, BASE_COUNT(knots) \
    }

static const struct gen_trace_knot gavel_knots[] = {
    {0, 1897.3665961010276}, {0.8, 60e3}, {1, 600e3}}; /* 60 x 10^1.5, 10^3, 10^4 */
static const struct curve gavel_curve = CURVE(gavel_knots);
static const double gavel_scales[4] = {0.70, 0.10, 0.15, 0.05};

static const struct gen_trace_knot class_s[] = {{0, 180}, {1, 3600}};
static const struct gen_trace_knot class_m[] = {{0, 3600}, {1, 36e3}};
static const struct gen_trace_knot class_l[] = {{0, 36e3}, {1, 360e3}};
static const struct gen_trace_knot class_xl[] = {{0, 360e3}, {1, 3600e3}};

/* One line of the published workloads and how often it stands there. */
struct pollux_app {
    const char *name;
    uint32_t gpus, batch;
    double count;
    struct curve gpu_s;
};
static const struct pollux_app pollux_apps[] = {
    {"ncf", 1, 32768, 391, CURVE(class_s)},      {"cifar10", 6, 2048, 101, CURVE(class_s)},
    {"cifar10", 8, 2048, 83, CURVE(class_s)},    {"cifar10", 12, 4096, 99, CURVE(class_s)},
    {"cifar10", 16, 4096, 80, CURVE(class_s)},   {"deepspeech2", 6, 320, 25, CURVE(class_m)},
    {"deepspeech2", 8, 320, 29, CURVE(class_m)}, {"deepspeech2", 12, 640, 31, CURVE(class_m)},
    {"bert", 6, 384, 20, CURVE(class_m)},        {"bert", 8, 384, 12, CURVE(class_m)},
    {"bert", 12, 384, 13, CURVE(class_m)},       {"bert", 16, 384, 17, CURVE(class_m)},
    {"yolov3", 4, 64, 41, CURVE(class_l)},       {"imagenet", 24, 3200, 6, CURVE(class_xl)},
    {"imagenet", 32, 6400, 7, CURVE(class_xl)},  {"imagenet", 48, 6400, 5, CURVE(class_xl)},
};
enum { POLLUX_APPS = BASE_COUNT(pollux_apps) };
static const double pollux_hours[] = {110, 110, 62, 114, 140, 214, 116, 94};

static const struct gen_trace_knot philly_1[] = {
    {0, 1},        {0.02, 42},    {0.05, 52},     {0.1, 62},       {0.2, 76},       {0.3, 215},
    {0.4, 600},    {0.5, 1120},   {0.6, 1730},    {0.7, 2460},     {0.8, 3750},     {0.9, 8510},
    {0.95, 19100}, {0.98, 68300}, {0.99, 135000}, {0.995, 267000}, {0.999, 866000}, {1, 3260000}};
static const struct gen_trace_knot philly_2[] = {
    {0, 2},          {0.02, 7},        {0.05, 9},      {0.1, 11},      {0.2, 15},
    {0.3, 17},       {0.4, 19},        {0.5, 21},      {0.6, 25},      {0.7, 33},
    {0.8, 149},      {0.9, 72700},     {0.95, 197000}, {0.98, 344000}, {0.99, 523000},
    {0.995, 808000}, {0.999, 1470000}, {1, 2580000}};
static const struct gen_trace_knot philly_4[] = {
    {0, 3},           {0.02, 45},       {0.05, 75},     {0.1, 138},     {0.2, 405},
    {0.3, 1700},      {0.4, 7470},      {0.5, 17400},   {0.6, 36300},   {0.7, 78700},
    {0.8, 106000},    {0.9, 184000},    {0.95, 274000}, {0.98, 533000}, {0.99, 907000},
    {0.995, 1210000}, {0.999, 2450000}, {1, 2750000}};
static const struct gen_trace_knot philly_8[] = {
    {0, 1},           {0.02, 67},       {0.05, 125},    {0.1, 216},     {0.2, 785},
    {0.3, 4010},      {0.4, 12400},     {0.5, 23700},   {0.6, 65000},   {0.7, 141000},
    {0.8, 203000},    {0.9, 352000},    {0.95, 526000}, {0.98, 795000}, {0.99, 1060000},
    {0.995, 2000000}, {0.999, 2660000}, {1, 4630000}};
static const struct gen_trace_knot philly_16[] = {
    {0, 1},           {0.02, 4},        {0.05, 35},     {0.1, 72},      {0.2, 345},
    {0.3, 890},       {0.4, 3170},      {0.5, 21100},   {0.6, 53700},   {0.7, 73300},
    {0.8, 159000},    {0.9, 248000},    {0.95, 443000}, {0.98, 614000}, {0.99, 923000},
    {0.995, 1270000}, {0.999, 1610000}, {1, 1710000}};

struct philly_size {
    uint32_t gpus;
    double count;
    struct curve duration_s;
};
static const struct philly_size philly_sizes[] = {
    {1, 76627, CURVE(philly_1)}, {2, 1818, CURVE(philly_2)},  {4, 1870, CURVE(philly_4)},
    {8, 1643, CURVE(philly_8)},  {16, 206, CURVE(philly_16)}, {32, 74, CURVE(philly_16)},
    {64, 6, CURVE(philly_16)},   {128, 3, CURVE(philly_16)},
};
enum {
    PHILLY_SIZES = BASE_COUNT(philly_sizes),
    DEFAULT_GPUS = 64,
    CLASSES_MAX = 32,
    PIECE = 1 << 16,    /* bytes that go out at once */
    DRAWS_MAX = 2000000 /* of jobs, to find a trace of a load; the nearest is taken then */
};
static const double philly_hours[24] = {4367, 3374, 3835, 3780, 2400, 3950, 5732, 7159,
                                        3802, 3447, 3510, 2979, 2567, 2415, 2185, 2224,
                                        3021, 2289, 2744, 2496, 3483, 3142, 3885, 3461};
static const double philly_groups[] = {41226, 16091, 9953, 7423, 1934, 1511, 1435, 1137,
                                       723,   422,   374,  8,    4,    3,    3};

/* Every shape as classes of jobs: what is drawn, how often, and its curve. */
struct job_class {
    uint32_t gpus;
    double count;
    bool gpu_time; /* the curve is of GPU-seconds, not seconds */
    const struct curve *curve;
};

static size_t class_count(uint32_t shape)
{
    static const size_t counts[SHOAL_GEN_SHAPES] = {1, 4, POLLUX_APPS, PHILLY_SIZES};

    return counts[shape];
}

static struct job_class class_at(uint32_t shape, size_t i)
{
    if (shape == SHOAL_GEN_POLLUX)
        return (struct job_class){pollux_apps[i].gpus, pollux_apps[i].count, true,
                                  &pollux_apps[i].gpu_s};
    if (shape == SHOAL_GEN_PHILLY)
        return (struct job_class){philly_sizes[i].gpus, philly_sizes[i].count, false,
                                  &philly_sizes[i].duration_s};
    return (struct job_class){1u << i, gavel_scales[i], false, &gavel_curve};
}

/* --- setting up --------------------------------------------------------------------------------
 */

static double cut_of(const shoal_gen_trace_opts *o, const struct curve *c, double gpus)
{
    return o->duration_max_s > 0 ? curve_share(c, o->duration_max_s * gpus) : 1;
}

/* How often a size is drawn: not at all when it is too large. */
static double weight_of(const shoal_gen_trace_opts *o, uint32_t gpus, double count)
{
    return o->gpus_max > 0 && gpus > o->gpus_max ? 0 : count;
}

/* Mean GPU-hours of a job; 0 when duration_max_s leaves some class nothing to draw. */
static double mean_gpu_hours(const shoal_gen_trace_opts *o)
{
    double sum = 0, total = 0;

    for (size_t i = 0; i < class_count(o->shape); i++) {
        struct job_class c = class_at(o->shape, i);
        double weight = weight_of(o, c.gpus, c.count);
        double divide = c.gpu_time ? c.gpus : 1;
        double cut = cut_of(o, c.curve, divide);
        if (weight <= 0)
            continue;
        if (cut <= 0)
            return 0;
        sum += weight * curve_mean(c.curve, cut) / divide * c.gpus / 3600;
        total += weight;
    }
    return sum / total;
}

static const double DEFAULT_LOAD = 0.8;

static shoal_status set_rate(struct gen_trace *gen, shoal_err *err)
{
    shoal_gen_trace_opts *o = &gen->opts;
    double rate_h = o->rate_h;

    if (o->rate_h > 0 && o->load > 0)
        return base_err(err, SHOAL_E_INVAL, "cannot use both a rate and a load: give one");
    if (o->load > 0 && o->jobs > 0 && o->days > 0)
        return base_err(
            err, SHOAL_E_INVAL,
            "cannot use a load, jobs and days together: give --load with --days or with "
            "--jobs, or --jobs with --days");
    if (rate_h <= 0 && o->load <= 0 && !(o->jobs > 0 && o->days > 0))
        o->load = DEFAULT_LOAD;
    if (o->load > 0 && o->gpus == 0)
        o->gpus = DEFAULT_GPUS;
    if (o->load > 0 && o->gpus_max == 0) /* larger jobs could not run there and would be missing */
        o->gpus_max = o->gpus;
    gen->mean_gpu_h = mean_gpu_hours(o);
    if (!(gen->mean_gpu_h > 0)) {
        base_err(err, SHOAL_E_INVAL,
                 "cannot cut durations at %.15g s: the shape has longer jobs only",
                 o->duration_max_s);
        return SHOAL_E_INVAL;
    }
    if (rate_h <= 0 && o->load <= 0 && o->jobs > 0 && o->days > 0)
        rate_h = (double)o->jobs / (o->days * 24);
    if (rate_h <= 0)
        rate_h = o->load * (double)o->gpus / gen->mean_gpu_h;
    if (rate_h < 1e-4 || rate_h > 1e9)
        return base_err(err, SHOAL_E_INVAL,
                        "cannot generate %.3g jobs per hour: expected 0.0001 to 1e9", rate_h);
    if (o->jobs == 0 && o->days <= 0)
        o->jobs = 1000;
    gen->rate_s = rate_h / 3600;
    if (o->days > 0 && o->jobs == 0 && rate_h * 24 * o->days > SIM_JOBS_MAX)
        return base_err(err, SHOAL_E_INVAL, "cannot generate about %.3g jobs: at most %d",
                        rate_h * 24 * o->days, SIM_JOBS_MAX);
    return SHOAL_OK;
}

/* Lists the rows a job of each scale factor can be drawn from. */
static shoal_status list_rows(struct gen_trace *gen, shoal_err *err)
{
    const struct sim_throughput *tp = gen->throughput;

    if (gen->opts.shape != SHOAL_GEN_GAVEL && gen->opts.shape != SHOAL_GEN_GAVEL_MULTI)
        return base_err(err, SHOAL_E_INVAL, "cannot use a throughput table with shape '%s'",
                        shape_names[gen->opts.shape]);
    for (uint32_t s = 0; s < 4; s++) {
        for (uint32_t row = 0; row < tp->table.row_count; row++)
            if (tp->v100 >= 0 && tp->table.row_gpus[row] == 1u << s &&
                sched_table_rate(&tp->table, row, (uint32_t)tp->v100) > 0)
                gen->row_lists[s][gen->rows_of_size[s]++] = row;
        if (gen->rows_of_size[s] == 0 && (s == 0 || gen->opts.shape == SHOAL_GEN_GAVEL_MULTI) &&
            weight_of(&gen->opts, 1u << s, 1) > 0)
            return base_err(
                err, SHOAL_E_INVAL,
                "cannot generate jobs of %u GPU%s: the table has no v100 rates for them", 1u << s,
                s == 0 ? "" : "s");
    }
    return SHOAL_OK;
}

/* Whole seconds, at least 1: times do not hang on the last bit of the mathematics library. */
static double draw_seconds(struct gen_trace *gen, const struct curve *c, double gpus)
{
    double share = base_rand_unit(&gen->durations) * cut_of(&gen->opts, c, gpus);

    return fmax(round(curve_at(c, share) / gpus), 1);
}

/* The class of the next job, and its seconds. */
static size_t draw_class(struct gen_trace *gen, struct sim_row *row)
{
    double weights[CLASSES_MAX];
    size_t count = class_count(gen->opts.shape);

    for (size_t i = 0; i < count; i++) {
        struct job_class c = class_at(gen->opts.shape, i);
        weights[i] = weight_of(&gen->opts, c.gpus, c.count);
    }
    size_t pick = base_rand_weighted(&gen->sizes, weights, (uint32_t)count);
    struct job_class c = class_at(gen->opts.shape, pick);
    row->gpus = c.gpus;
    row->duration_s = draw_seconds(gen, c.curve, c.gpu_time ? c.gpus : 1);
    return pick;
}

/* The streams of all draws; of work that was drawn in vain `attempt` times, others. */
static void start_streams(struct gen_trace *gen, uint32_t attempt)
{
    static const char *const names[] = {"durations", "sizes"};
    struct base_rand *const of[] = {&gen->durations, &gen->sizes};
    uint64_t seed = gen->opts.seed;
    char name[48];

    base_rand_init(&gen->arrivals, seed, "gen.arrivals");
    base_rand_init(&gen->models, seed, "gen.models");
    base_rand_init(&gen->groups, seed, "gen.groups");
    for (size_t i = 0; i < BASE_COUNT(of); i++) {
        (void)snprintf(name, sizeof name, attempt == 0 ? "gen.%s" : "gen.%s/%u", names[i], attempt);
        base_rand_init(of[i], seed, name);
    }
}

/* The weights of the hours, which repeat; count 0: all are alike. */
static const double *hours_of(uint32_t shape, size_t *out_count)
{
    *out_count = shape == SHOAL_GEN_PHILLY   ? BASE_COUNT(philly_hours)
                 : shape == SHOAL_GEN_POLLUX ? BASE_COUNT(pollux_hours)
                                             : 0;
    return shape == SHOAL_GEN_PHILLY ? philly_hours : pollux_hours;
}

/* How busy an hour of the trace is; the mean over hours is 1. */
static double hour_weight(uint32_t shape, double hour)
{
    size_t count;
    const double *hours = hours_of(shape, &count);
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += hours[i];
    return hours[(size_t)fmod(hour, (double)count)] * (double)count / sum;
}

static double weighted_s(uint32_t shape, double length_s)
{
    size_t count;
    (void)hours_of(shape, &count);
    double period_s = count > 0 ? (double)count * 3600 : length_s;
    double sum = floor(length_s / period_s) * period_s, rest_s = length_s - sum;

    for (double hour = 0; hour * 3600 < rest_s; hour++)
        sum += hour_weight(shape, hour) * fmin(rest_s - hour * 3600, 3600);
    return sum;
}

static double draw_gpu_s(struct gen_trace *gen)
{
    struct sim_row row;

    (void)draw_class(gen, &row);
    return row.gpus * row.duration_s;
}

/* A number of jobs, and how far their work is from what was wanted. */
struct plan {
    double gpu_s, off;
    uint64_t jobs;
    uint32_t attempt;
};

static void consider(struct plan *best, uint32_t attempt, uint64_t jobs, double gpu_s,
                     double wanted_gpu_s)
{
    double off = fabs(gpu_s - wanted_gpu_s);

    if (jobs > 0 && off < best->off)
        *best = (struct plan){gpu_s, off, jobs, attempt};
}

/* As many jobs as make the load in the days there are. */
static struct plan plan_days(struct gen_trace *gen, double wanted_gpu_s)
{
    struct plan best = {.off = INFINITY};
    double near = GEN_TRACE_LOAD_ERROR * wanted_gpu_s;
    uint64_t draws = 0;

    for (uint32_t attempt = 0; best.off > near && draws < DRAWS_MAX; attempt++) {
        double gpu_s = 0;
        uint64_t jobs = 0;
        start_streams(gen, attempt);
        while (gpu_s < wanted_gpu_s - near && jobs < SIM_JOBS_MAX) {
            consider(&best, attempt, jobs, gpu_s, wanted_gpu_s);
            gpu_s += draw_gpu_s(gen);
            jobs++;
        }
        consider(&best, attempt, jobs, gpu_s, wanted_gpu_s);
        draws += jobs;
    }
    return best;
}

static struct plan plan_jobs(struct gen_trace *gen)
{
    struct plan all = {.jobs = gen->opts.jobs};

    start_streams(gen, 0);
    for (uint64_t i = 0; i < all.jobs; i++)
        all.gpu_s += draw_gpu_s(gen);
    return all;
}

/* Where a load is asked for: which jobs, and in what time. */
static void plan_load(struct gen_trace *gen)
{
    const shoal_gen_trace_opts *o = &gen->opts;
    double days_s = o->days * 86400;
    struct plan p =
        o->days > 0 ? plan_days(gen, o->load * (double)o->gpus * days_s) : plan_jobs(gen);

    gen->planned = p.jobs;
    gen->length_s = o->days > 0 ? days_s : p.gpu_s / (o->load * (double)o->gpus);
    gen->load = p.gpu_s / ((double)o->gpus * gen->length_s);
    gen->rate_s = (double)p.jobs / gen->length_s;
    gen->mean_gpu_h = p.gpu_s / 3600 / (double)p.jobs;
    gen->weighted_s = weighted_s(o->shape, gen->length_s);
    start_streams(gen, p.attempt);
}

shoal_status gen_trace_init(struct gen_trace *gen, const shoal_gen_trace_opts *opts,
                            const struct sim_throughput *throughput, shoal_err *err)
{
    memset(gen, 0, sizeof *gen);
    gen->opts = *opts;
    gen->throughput = throughput;
    if (opts->shape >= SHOAL_GEN_SHAPES || opts->jobs > SIM_JOBS_MAX)
        return base_err(err, SHOAL_E_INVAL, "cannot generate more than %d jobs", SIM_JOBS_MAX);
    shoal_status st = set_rate(gen, err);
    if (st == SHOAL_OK && throughput != NULL)
        st = list_rows(gen, err);
    if (st != SHOAL_OK)
        return st;
    start_streams(gen, 0);
    if (gen->opts.load > 0)
        plan_load(gen);
    return SHOAL_OK;
}

uint32_t gen_trace_columns(const struct gen_trace *gen)
{
    uint32_t mask = 1u << SIM_ROW_NAME | 1u << SIM_ROW_SUBMIT | 1u << SIM_ROW_GPUS;

    if (gen->throughput != NULL)
        return mask | 1u << SIM_ROW_MODEL | 1u << SIM_ROW_STEPS;
    if (gen->opts.shape == SHOAL_GEN_POLLUX && !gen->opts.durations)
        return mask | 1u << SIM_ROW_MODEL | 1u << SIM_ROW_BATCH;
    mask |= 1u << SIM_ROW_DURATION;
    if (gen->opts.shape == SHOAL_GEN_PHILLY)
        mask |= 1u << SIM_ROW_GROUP;
    return mask;
}

/* --- drawing -----------------------------------------------------------------------------------
 */

/* Moves on by so much weighted time. */
static void spend(struct gen_trace *gen, double need)
{
    size_t count;

    (void)hours_of(gen->opts.shape, &count);
    if (count == 0)
        gen->now_s += need;
    while (count > 0) {
        double hour = floor(gen->now_s / 3600), weight = hour_weight(gen->opts.shape, hour);
        double left = (hour + 1) * 3600 - gen->now_s;
        if (need <= left * weight) {
            gen->now_s += need / weight;
            return;
        }
        need -= left * weight;
        gen->now_s = (hour + 1) * 3600;
    }
}

/* Arrivals are Poisson with a rate that is constant within each hour: an amount of "weighted time"
 * is spent hour by hour. It is exponential; where the number of jobs is known, what lies between two
 * of so many that are anywhere in the rest. */
static void next_arrival(struct gen_trace *gen)
{
    double need;

    if (gen->length_s > 0) {
        double left = (double)(gen->planned - gen->made);
        double part = (1 - gen->spent) * -expm1(log(1 - base_rand_unit(&gen->arrivals)) / left);
        gen->spent += part;
        need = part * gen->weighted_s;
    } else {
        need = base_rand_exp(&gen->arrivals, 1 / gen->rate_s);
    }
    spend(gen, need);
    if (gen->length_s > 0) /* the last may be a rounding too late */
        gen->now_s = fmin(gen->now_s, nextafter(gen->length_s, 0));
}

/* The model of a Gavel job, evenly among the rows of its size, and as many steps as a V100 makes.
 */
static void draw_model(struct gen_trace *gen, size_t scale, struct sim_row *row)
{
    const struct sim_throughput *tp = gen->throughput;
    uint32_t pick = gen->row_lists[scale][base_rand_below(&gen->models, gen->rows_of_size[scale])];
    const char *key = tp->rows.entries[pick].key; /* "model\tgpus" */

    snprintf(gen->model, sizeof gen->model, "%.*s", (int)strcspn(key, "\t"), key);
    row->model = gen->model;
    row->steps =
        fmax(floor(row->duration_s * sched_table_rate(&tp->table, pick, (uint32_t)tp->v100)), 1);
    row->duration_s = NAN;
}

/* Everything but the time of submission. */
static void draw_job(struct gen_trace *gen, struct sim_row *row)
{
    unsigned long long number = gen->made;
    size_t pick = draw_class(gen, row);

    switch (gen->opts.shape) {
    case SHOAL_GEN_POLLUX:
        snprintf(gen->name, sizeof gen->name, "%s-%llu", pollux_apps[pick].name, number);
        row->model = pollux_apps[pick].name;
        row->batch = pollux_apps[pick].batch;
        break;
    case SHOAL_GEN_PHILLY:
        snprintf(gen->name, sizeof gen->name, "philly-%llu", number);
        snprintf(gen->group, sizeof gen->group, "vc%u",
                 1 + base_rand_weighted(&gen->groups, philly_groups, BASE_COUNT(philly_groups)));
        row->group = gen->group;
        break;
    default:
        snprintf(gen->name, sizeof gen->name, "gavel-%llu", number);
        if (gen->throughput != NULL)
            draw_model(gen, pick, row);
    }
}

bool gen_trace_next(struct gen_trace *gen, struct sim_row *out_row)
{
    const shoal_gen_trace_opts *o = &gen->opts;

    if ((o->jobs > 0 && gen->made >= o->jobs) || (gen->length_s > 0 && gen->made >= gen->planned))
        return false;
    next_arrival(gen);
    if (gen->now_s >= SIM_TIME_MAX || (o->days > 0 && gen->now_s >= o->days * 86400))
        return false;
    gen->made++;
    *out_row = (struct sim_row){
        .name = gen->name,
        .submit_s = floor(gen->now_s),
        .duration_s = NAN,
        .steps = NAN,
        .weight = NAN,
        .deadline_s = INFINITY,
        .slo = NAN,
        .score = NAN,
    };
    draw_job(gen, out_row);
    return true;
}

/* --- the call ----------------------------------------------------------------------------------
 */

#define AT(member) offsetof(shoal_gen_trace_opts, member)

static const shoal_opt rows[] = {
    {AT(shape), SHOAL_OPT_CHOICE, "shape", 0, "NAME", "philly", "whose workload to imitate",
     .choices = shape_names},
    {AT(jobs), SHOAL_OPT_U64, "jobs", 'n', "N", NULL,
     "stop after this many jobs; 1000 when --days is not given", .min = 1, .max = SIM_JOBS_MAX},
    {AT(days), SHOAL_OPT_F64, "days", 0, "D", NULL, "stop after this many days", .min = 0.001,
     .max = 100000},
    {AT(rate_h), SHOAL_OPT_F64, "rate", 0, "PER_HOUR", NULL, "jobs per hour on average",
     .min = 0.0001, .max = 1e9},
    {AT(load), SHOAL_OPT_F64, "load", 0, "L", NULL,
     "in place of a rate: GPU time of all jobs over that of --gpus; else 0.8", .min = 0.0001,
     .max = 1000},
    {AT(gpus), SHOAL_OPT_U64, "gpus", 0, "G", "64", "GPUs that --load is meant for", .min = 1,
     .max = 100000000},
    {AT(duration_max_s), SHOAL_OPT_DURATION, "duration-max", 0, "TIME", NULL,
     "draw no longer jobs than this", .min = 1, .max = 1e9},
    {AT(gpus_max), SHOAL_OPT_U64, "gpus-max", 0, "N", NULL,
     "draw no larger jobs than this; with a load, --gpus unless given", .min = 1,
     .max = SIM_JOB_GPUS_MAX},
    {AT(durations), SHOAL_OPT_FLAG, "durations",
     .help = "pollux: write durations, not model and batch"},
    {AT(profiles), SHOAL_OPT_STR, "profiles", 0, "PATH", NULL,
     "gavel: write models of this throughput table and steps", .complete = "file"},
    GEN_ROW_SEED,
    GEN_ROW_OUTPUT,
};
#undef AT

BASE_OPT_PUBLIC(gen_trace, rows)

/* The rates of a V100, by which steps are counted. */
static shoal_status load_v100(shoal_env *env, const char *path, struct sim_throughput **out,
                              shoal_err *err)
{
    struct sched_cluster cluster;
    shoal_status st = sched_cluster_parse(env_alloc(env), "1x8:v100", &cluster, err);

    if (st != SHOAL_OK)
        return st;
    st = sim_throughput_load(env, path, &cluster, out, err);
    sched_cluster_fini(&cluster);
    return st;
}

/* Says why a generator that ended made no job. */
static shoal_status made_none(const struct gen_trace *gen, shoal_err *err)
{
    char span[32];
    double end_s = gen->opts.days > 0 ? gen->opts.days * 86400 : SIM_TIME_MAX;

    base_err(err, SHOAL_E_IMPOSSIBLE,
             "no jobs were made: at %.3g jobs per hour none arrived within %s", gen->rate_s * 3600,
             base_format_duration(end_s, span, sizeof span));
    base_err_hint(err, "raise --days, --rate or --load, or give another --seed");
    return SHOAL_E_IMPOSSIBLE;
}

/* Rows go out as they are made: memory stays the same for a million jobs. */
static shoal_status put_jobs(struct gen_call *call, struct gen_trace *gen, shoal_watch *watch,
                             shoal_err *err)
{
    uint32_t columns = gen_trace_columns(gen);
    atomic_uint_fast64_t *done = base_watch_done(watch);
    double first_s = 0, last_s = 0;
    struct base_buf text;
    struct sim_row row;
    bool more = true;
    shoal_status st = gen_open(call, watch, "jobs", gen->opts.jobs, err);

    base_buf_init(&text, env_alloc(call->env), 2 * PIECE);
    sim_row_header(columns, &text);
    while (more && st == SHOAL_OK) {
        more = gen_trace_next(gen, &row);
        if (more) {
            sim_row_format(&row, columns, &text);
            first_s = gen->made == 1 ? row.submit_s : first_s;
            last_s = row.submit_s;
        }
        if (text.size < PIECE && more)
            continue;
        if (done != NULL)
            atomic_store_explicit(done, gen->made, memory_order_relaxed);
        if (base_watch_stopped(watch))
            st = base_err(err, SHOAL_E_CANCELLED, "interrupted");
        else if (base_buf_status(&text) != SHOAL_OK)
            st = base_err_nomem(err, "making a trace");
        else
            st = gen->made > 0 ? gen_put(call, text.data, text.size, err) : made_none(gen, err);
        base_buf_clear(&text);
    }
    base_buf_fini(&text);
    call->made.span_s = last_s - first_s;
    return gen_end(call, st, err);
}

/* A few large jobs may be all that a short trace has room for. */
static void warn_of_load(struct page_made *made, const struct gen_trace *gen)
{
    double wanted = gen->opts.load;

    if (gen->length_s > 0 && fabs(gen->load / wanted - 1) > GEN_TRACE_LOAD_ERROR * 1.001)
        page_made_note(
            made, SHOAL_NOTE_WARNING,
            "the load is %.3g, not %.3g: the jobs of this shape are too large to make it in so "
            "short a trace; raise --days or --gpus, or draw smaller ones (--duration-max, "
            "--gpus-max)",
            gen->load, wanted);
}

static shoal_status tell(struct gen_call *call, const struct gen_trace *gen,
                         const shoal_result **out_result, shoal_err *err)
{
    char span[32];

    call->made.jobs = (double)gen->made;
    call->made.rate_h = gen->rate_s * 3600;
    call->made.gpu_h = gen->mean_gpu_h;
    call->made.load = gen->length_s > 0 ? gen->load : (double)NAN;
    struct page_made *made = gen_made(call);
    warn_of_load(made, gen);
    if (gen_to_file(call->to))
        page_made_note(made, SHOAL_NOTE_HINT,
                       "%s in %s to %s, %.3g jobs/h, about %.3g GPU-hours each",
                       gen_count(made, call->made.jobs, "job"),
                       base_format_duration(call->made.span_s, span, sizeof span), call->to->output,
                       call->made.rate_h, call->made.gpu_h);
    return gen_finish(call, made, "trace info", "", out_result, err);
}

shoal_status shoal_gen_trace(shoal_env *env, const shoal_gen_trace_opts *given, shoal_watch *watch,
                             const shoal_result **out_result, shoal_err *err)
{
    shoal_gen_trace_opts opts;
    struct sim_throughput *throughput = NULL;
    struct gen_trace gen;
    struct gen_call call;

    shoal_status st = gen_take(rows, BASE_COUNT(rows), &opts, sizeof opts, given, out_result, err);
    if (st == SHOAL_OK)
        st = gen_begin(&call, env, "trace", &opts.to, err);
    if (st == SHOAL_OK && opts.profiles != NULL && gen_to_file(&opts.to) &&
        env_same_place(env, opts.profiles, opts.to.output))
        st = base_err(err, SHOAL_E_INVAL, "cannot write '%s': it is also an input", opts.to.output);
    if (st == SHOAL_OK && opts.profiles != NULL)
        st = load_v100(env, opts.profiles, &throughput, err);
    if (st == SHOAL_OK)
        st = gen_trace_init(&gen, &opts, throughput, err);
    if (st == SHOAL_OK)
        st = put_jobs(&call, &gen, watch, err);
    if (st == SHOAL_OK)
        st = tell(&call, &gen, out_result, err);
    sim_throughput_free(throughput);
    return st;
}
