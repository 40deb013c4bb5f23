/* gen.c - seeded workloads; see gen.h.
 *
 * Durations of every shape are piecewise log-uniform: between two knots the logarithm is uniform.
 * That is exact for Gavel's and Pollux's published mixtures, closes the mean in a formula (needed
 * for --load) and makes a cut at the top a cut of the uniform draw.
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
#include "sim/gen.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "sim/reader.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const sim_gen_shape_names[] = {"gavel", "gavel-multi", "pollux", "philly", NULL};

/* --- piecewise log-uniform draws ---------------------------------------------------------------
 */

struct curve {
    const struct sim_gen_knot *knots; /* shares rise from 0 to 1, values rise */
    size_t count;
};

/* The value below which `share` of the draws lie. */
static double curve_at(const struct curve *c, double share)
{
    size_t i = 1;

    while (i + 1 < c->count && c->knots[i].share < share)
        i++;
    const struct sim_gen_knot *lo = &c->knots[i - 1], *hi = &c->knots[i];
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
    const struct sim_gen_knot *lo = &c->knots[i - 1], *hi = &c->knots[i];
    return lo->share +
           (hi->share - lo->share) * log(value / lo->value) / log(hi->value / lo->value);
}

/* Mean of the draws within the first `cut` share. */
static double curve_mean(const struct curve *c, double cut)
{
    double sum = 0;

    for (size_t i = 1; i < c->count && c->knots[i - 1].share < cut; i++) {
        const struct sim_gen_knot *lo = &c->knots[i - 1], *hi = &c->knots[i];
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

static const struct sim_gen_knot gavel_knots[] = {
    {0, 1897.3665961010276}, {0.8, 60e3}, {1, 600e3}}; /* 60 x 10^1.5, 10^3, 10^4 */
static const struct curve gavel_curve = CURVE(gavel_knots);
static const double gavel_scales[4] = {0.70, 0.10, 0.15, 0.05};

static const struct sim_gen_knot class_s[] = {{0, 180}, {1, 3600}};
static const struct sim_gen_knot class_m[] = {{0, 3600}, {1, 36e3}};
static const struct sim_gen_knot class_l[] = {{0, 36e3}, {1, 360e3}};
static const struct sim_gen_knot class_xl[] = {{0, 360e3}, {1, 3600e3}};

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

static const struct sim_gen_knot philly_1[] = {
    {0, 1},        {0.02, 42},    {0.05, 52},     {0.1, 62},       {0.2, 76},       {0.3, 215},
    {0.4, 600},    {0.5, 1120},   {0.6, 1730},    {0.7, 2460},     {0.8, 3750},     {0.9, 8510},
    {0.95, 19100}, {0.98, 68300}, {0.99, 135000}, {0.995, 267000}, {0.999, 866000}, {1, 3260000}};
static const struct sim_gen_knot philly_2[] = {
    {0, 2},          {0.02, 7},        {0.05, 9},      {0.1, 11},      {0.2, 15},
    {0.3, 17},       {0.4, 19},        {0.5, 21},      {0.6, 25},      {0.7, 33},
    {0.8, 149},      {0.9, 72700},     {0.95, 197000}, {0.98, 344000}, {0.99, 523000},
    {0.995, 808000}, {0.999, 1470000}, {1, 2580000}};
static const struct sim_gen_knot philly_4[] = {
    {0, 3},           {0.02, 45},       {0.05, 75},     {0.1, 138},     {0.2, 405},
    {0.3, 1700},      {0.4, 7470},      {0.5, 17400},   {0.6, 36300},   {0.7, 78700},
    {0.8, 106000},    {0.9, 184000},    {0.95, 274000}, {0.98, 533000}, {0.99, 907000},
    {0.995, 1210000}, {0.999, 2450000}, {1, 2750000}};
static const struct sim_gen_knot philly_8[] = {
    {0, 1},           {0.02, 67},       {0.05, 125},    {0.1, 216},     {0.2, 785},
    {0.3, 4010},      {0.4, 12400},     {0.5, 23700},   {0.6, 65000},   {0.7, 141000},
    {0.8, 203000},    {0.9, 352000},    {0.95, 526000}, {0.98, 795000}, {0.99, 1060000},
    {0.995, 2000000}, {0.999, 2660000}, {1, 4630000}};
static const struct sim_gen_knot philly_16[] = {
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
enum { PHILLY_SIZES = BASE_COUNT(philly_sizes), CLASSES_MAX = 32 };
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

static size_t class_count(enum sim_gen_shape shape)
{
    static const size_t counts[SIM_GEN_SHAPE_COUNT] = {1, 4, POLLUX_APPS, PHILLY_SIZES};

    return counts[shape];
}

static struct job_class class_at(enum sim_gen_shape shape, size_t i)
{
    if (shape == SIM_GEN_POLLUX)
        return (struct job_class){pollux_apps[i].gpus, pollux_apps[i].count, true,
                                  &pollux_apps[i].gpu_s};
    if (shape == SIM_GEN_PHILLY)
        return (struct job_class){philly_sizes[i].gpus, philly_sizes[i].count, false,
                                  &philly_sizes[i].duration_s};
    return (struct job_class){1u << i, gavel_scales[i], false, &gavel_curve};
}

/* --- setting up --------------------------------------------------------------------------------
 */

static double cut_of(const struct sim_gen_opts *o, const struct curve *c, double gpus)
{
    return o->duration_max_s > 0 ? curve_share(c, o->duration_max_s * gpus) : 1;
}

/* How often a size is drawn: not at all when it is too large. */
static double weight_of(const struct sim_gen_opts *o, uint32_t gpus, double count)
{
    return o->gpus_max > 0 && gpus > o->gpus_max ? 0 : count;
}

/* Mean GPU-hours of a job; 0 when duration_max_s leaves some class nothing to draw. */
static double mean_gpu_hours(const struct sim_gen_opts *o)
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

static shoal_status set_rate(struct sim_gen *gen, shoal_err *err)
{
    struct sim_gen_opts *o = &gen->opts;
    double rate_h = o->rate_h;

    if (o->rate_h > 0 && o->load > 0)
        return base_err(err, SHOAL_E_INVAL, "cannot use both a rate and a load: give one");
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
        rate_h = (o->load > 0 ? o->load : 0.8) * (o->gpus > 0 ? o->gpus : 64) / gen->mean_gpu_h;
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
static shoal_status list_rows(struct sim_gen *gen, shoal_err *err)
{
    const struct sim_throughput *tp = gen->opts.throughput;

    if (gen->opts.shape != SIM_GEN_GAVEL && gen->opts.shape != SIM_GEN_GAVEL_MULTI)
        return base_err(err, SHOAL_E_INVAL, "cannot use a throughput table with shape '%s'",
                        sim_gen_shape_names[gen->opts.shape]);
    for (uint32_t s = 0; s < 4; s++) {
        for (uint32_t row = 0; row < tp->table.row_count; row++)
            if (tp->v100 >= 0 && tp->table.row_gpus[row] == 1u << s &&
                sched_table_rate(&tp->table, row, (uint32_t)tp->v100) > 0)
                gen->row_lists[s][gen->rows_of_size[s]++] = row;
        if (gen->rows_of_size[s] == 0 && (s == 0 || gen->opts.shape == SIM_GEN_GAVEL_MULTI) &&
            weight_of(&gen->opts, 1u << s, 1) > 0)
            return base_err(
                err, SHOAL_E_INVAL,
                "cannot generate jobs of %u GPU%s: the table has no v100 rates for them", 1u << s,
                s == 0 ? "" : "s");
    }
    return SHOAL_OK;
}

shoal_status sim_gen_init(struct sim_gen *gen, const struct sim_gen_opts *opts, shoal_err *err)
{
    memset(gen, 0, sizeof *gen);
    gen->opts = *opts;
    if (opts->shape >= SIM_GEN_SHAPE_COUNT || opts->jobs > SIM_JOBS_MAX)
        return base_err(err, SHOAL_E_INVAL, "cannot generate more than %d jobs", SIM_JOBS_MAX);
    shoal_status st = set_rate(gen, err);
    if (st == SHOAL_OK && opts->throughput != NULL)
        st = list_rows(gen, err);
    base_rand_init(&gen->arrivals, opts->seed, "gen.arrivals");
    base_rand_init(&gen->durations, opts->seed, "gen.durations");
    base_rand_init(&gen->sizes, opts->seed, "gen.sizes");
    base_rand_init(&gen->models, opts->seed, "gen.models");
    base_rand_init(&gen->groups, opts->seed, "gen.groups");
    return st;
}

shoal_status sim_gen_none(const struct sim_gen *gen, shoal_err *err)
{
    char span[32];
    double end_s = gen->opts.days > 0 ? gen->opts.days * 86400 : SIM_TIME_MAX;

    base_err(err, SHOAL_E_IMPOSSIBLE,
             "no jobs were made: at %.3g jobs per hour none arrived within %s", gen->rate_s * 3600,
             base_format_duration(end_s, span, sizeof span));
    base_err_hint(err, "raise --days, --rate or --load, or give another --seed");
    return SHOAL_E_IMPOSSIBLE;
}

uint32_t sim_gen_columns(const struct sim_gen *gen)
{
    uint32_t mask = 1u << SIM_ROW_NAME | 1u << SIM_ROW_SUBMIT | 1u << SIM_ROW_GPUS;

    if (gen->opts.throughput != NULL)
        return mask | 1u << SIM_ROW_MODEL | 1u << SIM_ROW_STEPS;
    if (gen->opts.shape == SIM_GEN_POLLUX && !gen->opts.durations)
        return mask | 1u << SIM_ROW_MODEL | 1u << SIM_ROW_BATCH;
    mask |= 1u << SIM_ROW_DURATION;
    if (gen->opts.shape == SIM_GEN_PHILLY)
        mask |= 1u << SIM_ROW_GROUP;
    return mask;
}

/* --- drawing -----------------------------------------------------------------------------------
 */

/* Arrivals are Poisson with a rate that is constant within each hour: an exponential amount of
 * "weighted time" is spent hour by hour. Weights have mean 1. */
static void next_arrival(struct sim_gen *gen, const double *hours, size_t hour_count)
{
    double need = base_rand_exp(&gen->arrivals, 1 / gen->rate_s);
    double sum = 0;

    if (hour_count == 0) {
        gen->now_s += need;
        return;
    }
    for (size_t i = 0; i < hour_count; i++)
        sum += hours[i];
    for (;;) {
        double hour = floor(gen->now_s / 3600);
        double weight = hours[(size_t)fmod(hour, (double)hour_count)] * (double)hour_count / sum;
        double left = (hour + 1) * 3600 - gen->now_s;
        if (need <= left * weight) {
            gen->now_s += need / weight;
            return;
        }
        need -= left * weight;
        gen->now_s = (hour + 1) * 3600;
    }
}

/* Whole seconds, at least 1: times do not hang on the last bit of the mathematics library. */
static double draw_seconds(struct sim_gen *gen, const struct curve *c, double gpus)
{
    double share = base_rand_unit(&gen->durations) * cut_of(&gen->opts, c, gpus);

    return fmax(round(curve_at(c, share) / gpus), 1);
}

/* The class of the next job, and its seconds. */
static size_t draw_class(struct sim_gen *gen, struct sim_row *row)
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

/* The model of a Gavel job, evenly among the rows of its size, and as many steps as a V100 makes.
 */
static void draw_model(struct sim_gen *gen, size_t scale, struct sim_row *row)
{
    const struct sim_throughput *tp = gen->opts.throughput;
    uint32_t pick = gen->row_lists[scale][base_rand_below(&gen->models, gen->rows_of_size[scale])];
    const char *key = tp->rows.entries[pick].key; /* "model\tgpus" */

    snprintf(gen->model, sizeof gen->model, "%.*s", (int)strcspn(key, "\t"), key);
    row->model = gen->model;
    row->steps =
        fmax(floor(row->duration_s * sched_table_rate(&tp->table, pick, (uint32_t)tp->v100)), 1);
    row->duration_s = NAN;
}

/* Everything but the time of submission. */
static void draw_job(struct sim_gen *gen, struct sim_row *row)
{
    unsigned long long number = gen->made;
    size_t pick = draw_class(gen, row);

    switch (gen->opts.shape) {
    case SIM_GEN_POLLUX:
        snprintf(gen->name, sizeof gen->name, "%s-%llu", pollux_apps[pick].name, number);
        row->model = pollux_apps[pick].name;
        row->batch = pollux_apps[pick].batch;
        break;
    case SIM_GEN_PHILLY:
        snprintf(gen->name, sizeof gen->name, "philly-%llu", number);
        snprintf(gen->group, sizeof gen->group, "vc%u",
                 1 + base_rand_weighted(&gen->groups, philly_groups, BASE_COUNT(philly_groups)));
        row->group = gen->group;
        break;
    default:
        snprintf(gen->name, sizeof gen->name, "gavel-%llu", number);
        if (gen->opts.throughput != NULL)
            draw_model(gen, pick, row);
    }
}

bool sim_gen_next(struct sim_gen *gen, struct sim_row *out_row)
{
    const struct sim_gen_opts *o = &gen->opts;

    if (o->jobs > 0 && gen->made >= o->jobs)
        return false;
    if (o->shape == SIM_GEN_PHILLY)
        next_arrival(gen, philly_hours, 24);
    else if (o->shape == SIM_GEN_POLLUX)
        next_arrival(gen, pollux_hours, BASE_COUNT(pollux_hours));
    else
        next_arrival(gen, NULL, 0);
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
