/* market.c - what strategies of buying pay on a price history, beside the bound of hindsight.
 *
 * One job that needs `--days` less the slack on the first kind, from `--from` on, with its
 * deadline after `--days`; every strategy pays for it under the same availability, drawn by each
 * seed. One JSON line for each strategy and seed, and one for the bound: US dollars, times over
 * the bound, over the plan of hindsight and under static; deadlines missed; interruptions, moves,
 * seconds of CPU.
 *
 *   bench_market --kinds p3.2xlarge=1 [--from 2025-03-01] [--days 365] [--slack 0.15] [--seeds 3]
 *       [--first-seed 1] [--avail FOLDER] [--strategies shoal,static] [--set shoal.memory=3d]...
 *       [--gb 10] [--step 900] [--startup 180] [--notice 120] [--jobs 1] [--instances 1]
 *       [--limit N] [--zone PREFIX] [--no-demand] [--no-bound] [--statics]
 *       [--starts 1] [--apart 1] PRICES...
 *
 * Offers on demand count once for each region. Zones of catalogues that go by other names than the
 * history's (use1-az4) are left out. --statics adds a line with the dearest and the cheapest of
 * keeping one spot offer from start to end; --slack 0 or less: no deadline. --jobs N runs a fleet
 * of N such jobs that start a day apart, with at most --limit instances in a region. --starts N
 * does all of it N times, from dates --apart days from each other: short jobs begin at many
 * times. */
#include "base/alloc.h"
#include "env/env.h"
#include "market/bound.h"
#include "market/strategy.h"
#include "prices_text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SETS_MAX = 16, PATHS_MAX = 8, KNOBS_MAX = 1024 };

struct args {
    const char *kinds, *from, *avail, *strategies, *zone, *sets[SETS_MAX], *paths[PATHS_MAX];
    double days, slack, gb, step_s, up_h, down_h, apart;
    size_t set_count, path_count, jobs, seeds, first_seed, limit, instances, starts;
    bool no_demand, no_bound, statics;
    struct market_costs costs;
};

static _Noreturn void give_up(const char *what, const char *detail)
{
    fprintf(stderr, "bench_market: %s %s\n", what, detail);
    exit(2);
}

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void parse_rest(struct args *a, const char *name, const char *value)
{
    struct {
        const char *name;
        double *to;
    } numbers[] = {{"--days", &a->days},
                   {"--slack", &a->slack},
                   {"--gb", &a->gb},
                   {"--step", &a->step_s},
                   {"--startup", &a->costs.startup_s},
                   {"--notice", &a->costs.notice_s},
                   {"--checkpoint", &a->costs.checkpoint_s},
                   {"--every", &a->costs.checkpoint_every_s},
                   {"--up-hours", &a->up_h},
                   {"--down-hours", &a->down_h},
                   {"--apart", &a->apart}};
    struct {
        const char *name;
        size_t *to;
    } counts[] = {
        {"--jobs", &a->jobs},   {"--seeds", &a->seeds},         {"--first-seed", &a->first_seed},
        {"--limit", &a->limit}, {"--instances", &a->instances}, {"--starts", &a->starts}};

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(name, numbers[i].name) == 0) {
            *numbers[i].to = strtod(value, NULL);
            return;
        }
    }
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (strcmp(name, counts[i].name) == 0) {
            *counts[i].to = strtoul(value, NULL, 10);
            return;
        }
    }
    give_up("unknown option", name);
}

static bool parse_flag(struct args *a, const char *name)
{
    struct {
        const char *name;
        bool *to;
    } flags[] = {
        {"--no-demand", &a->no_demand}, {"--no-bound", &a->no_bound}, {"--statics", &a->statics}};

    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (strcmp(name, flags[i].name) == 0) {
            *flags[i].to = true;
            return true;
        }
    }
    return false;
}

static void parse(int argc, char **argv, struct args *a)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (strncmp(name, "--", 2) != 0) {
            if (a->path_count == PATHS_MAX)
                give_up("too many paths:", name);
            a->paths[a->path_count++] = name;
            continue;
        }
        if (parse_flag(a, name))
            continue;
        i++;
        if (strcmp(name, "--kinds") == 0)
            a->kinds = value;
        else if (strcmp(name, "--from") == 0)
            a->from = value;
        else if (strcmp(name, "--avail") == 0)
            a->avail = value;
        else if (strcmp(name, "--zone") == 0)
            a->zone = value;
        else if (strcmp(name, "--strategies") == 0)
            a->strategies = value;
        else if (strcmp(name, "--set") == 0 && a->set_count < SETS_MAX)
            a->sets[a->set_count++] = value;
        else
            parse_rest(a, name, value);
    }
    if (a->kinds == NULL || a->path_count == 0)
        give_up("needs --kinds and", "price histories");
}

static double day(const char *text)
{
    struct tm tm = {0};

    if (strptime(text, "%Y-%m-%d", &tm) == NULL)
        give_up("not a date:", text);
    return (double)timegm(&tm);
}

/* Speeds by kind from "a=1,b=4"; returns the first. */
static double speeds(const struct args *a, const struct market_prices *p, double *speed)
{
    char text[1024];
    char *save = NULL;
    double first = 0;

    snprintf(text, sizeof text, "%s", a->kinds);
    for (char *one = strtok_r(text, ",", &save); one != NULL; one = strtok_r(NULL, ",", &save)) {
        char *eq = strchr(one, '=');
        double value = eq == NULL ? 1 : strtod(eq + 1, NULL);
        if (eq != NULL)
            *eq = '\0';
        uint32_t kind = market_names_find(&p->kinds, one);
        if (kind == MARKET_NONE)
            give_up("no prices of kind", one);
        speed[kind] = value;
        first = first == 0 ? value : first;
    }
    return first;
}

static size_t allow(const struct args *a, const struct market_prices *p, const double *speed,
                    bool *allowed, size_t *demand)
{
    size_t count = 0;

    *demand = 0;
    for (uint32_t o = 0; o < p->offer_count; o++) {
        const struct market_offer *of = &p->offers[o];
        const char *zone = market_names_get(&p->zones, of->zone);
        bool ok = speed[of->kind] > 0 &&
                  (a->zone == NULL || strncmp(zone, a->zone, strlen(a->zone)) == 0 ||
                   of->how == MARKET_ON_DEMAND);
        if (of->how == MARKET_SPOT)
            ok = ok && !market_zone_is_id(zone);
        else
            ok = ok && !a->no_demand;
        for (uint32_t k = 0; k < o && ok && of->how == MARKET_ON_DEMAND; k++)
            ok = !(allowed[k] && p->offers[k].how == MARKET_ON_DEMAND &&
                   p->offers[k].region == of->region && p->offers[k].kind == of->kind);
        allowed[o] = ok;
        count += ok;
        *demand += ok && of->how == MARKET_ON_DEMAND;
    }
    return count;
}

static void knobs_of(const struct args *a, const struct market_strategy *s, void *knobs)
{
    shoal_err err = SHOAL_ERR_INIT;
    size_t length = strlen(s->name);

    if (s->knobs_size > KNOBS_MAX)
        give_up("knobs too large of", s->name);
    base_opt_defaults(s->opts, s->opt_count, knobs);
    for (size_t i = 0; i < a->set_count; i++) {
        if (strncmp(a->sets[i], s->name, length) != 0 || a->sets[i][length] != '.')
            continue;
        if (base_opt_assign(s->opts, s->opt_count, a->sets[i] + length + 1, s->name, knobs, &err) !=
            SHOAL_OK)
            give_up("bad --set:", err.message);
    }
}

struct bench {
    const struct args *a;
    const struct market_prices *prices;
    const struct market_avail *avail;
    struct market_job *jobs;
    const bool *allowed;
    struct market_limit *limits;
    size_t limit_count;
};

static struct market_result replay(const struct bench *b, const struct market_strategy *s,
                                   double *took)
{
    _Alignas(16) char knobs[KNOBS_MAX];
    struct market_result result;
    shoal_err err = SHOAL_ERR_INIT;

    knobs_of(b->a, s, knobs);
    struct market_replay_opts opts = {.strategy = s,
                                      .knobs = knobs,
                                      .step_s = b->a->step_s,
                                      .limits = b->limits,
                                      .limit_count = b->limit_count};
    const struct market_world world = {b->prices, b->avail, &b->a->costs, b->allowed};
    *took = cpu_s();
    if (market_replay(&base_alloc_libc, &world, b->jobs, b->a->jobs, &opts, &result, &err) !=
        SHOAL_OK)
        give_up(s->name, err.message);
    *took = cpu_s() - *took;
    return result;
}

static void show(const struct args *a, const char *name, size_t seed, const struct market_result *r,
                 double bound, double plan, double fixed, double took)
{
    double spot = 0, demand = 0, starting = 0, idle = 0;
    bool guarded = false;

    for (size_t i = 0; i < r->job_count; i++) {
        spot += r->jobs[i].spot_s / 3600;
        demand += r->jobs[i].on_demand_s / 3600;
        starting += r->jobs[i].starting_s / 3600;
        idle += r->jobs[i].idle_s / 3600;
        guarded = guarded || r->jobs[i].guarded;
    }
    printf("{\"bench\":\"market\",\"kinds\":\"%s\",\"from\":\"%s\",\"days\":%g,\"slack\":%g,"
           "\"seed\":%zu,\"strategy\":\"%s\",\"usd\":%.2f,",
           a->kinds, a->from, a->days, a->slack, seed, name, r->usd);
    if (!a->no_bound)
        printf("\"over_bound\":%.4f,\"over_plan\":%.4f,", r->usd / bound, r->usd / plan);
    printf("\"under_static\":%.3f,\"missed\":%u,\"unfinished\":%u,\"interruptions\":%u,"
           "\"moves\":%u,\"spot_h\":%.0f,\"demand_h\":%.0f,\"starting_h\":%.0f,\"idle_h\":%.0f,"
           "\"guarded\":%s,\"decisions\":%llu,\"cpu_s\":%.3f}\n",
           fixed / r->usd, r->missed, r->unfinished, r->interruptions, r->moves, spot, demand,
           starting, idle, guarded ? "true" : "false", (unsigned long long)r->decisions, took);
    fflush(stdout);
}

static double bound_of(const struct bench *b, size_t seed, double *plan)
{
    const struct market_world world = {b->prices, b->avail, &b->a->costs, b->allowed};
    double usd = 0, took = cpu_s(), lambda = 0;
    uint32_t moves = 0;
    shoal_err err = SHOAL_ERR_INIT;

    *plan = 0;
    for (size_t i = 0; i < b->a->jobs; i++) {
        struct market_bound bound;
        if (market_bound(&base_alloc_libc, &world, &b->jobs[i], &(struct market_bound_opts){0},
                         &bound, &err) != SHOAL_OK)
            give_up("bound:", err.message);
        usd += bound.usd;
        *plan += bound.plan_usd;
        moves += bound.plan_moves;
        lambda = bound.usd_step;
        market_bound_fini(&bound);
    }
    printf("{\"bench\":\"market\",\"kinds\":\"%s\",\"from\":\"%s\",\"days\":%g,\"slack\":%g,"
           "\"seed\":%zu,\"strategy\":\"bound\",\"usd\":%.2f,\"plan\":%.2f,\"plan_over\":%.4f,"
           "\"moves\":%u,\"lambda_h\":%.4f,\"cpu_s\":%.3f}\n",
           b->a->kinds, b->a->from, b->a->days, b->a->slack, seed, usd, *plan, *plan / usd, moves,
           lambda * 3600, cpu_s() - took);
    fflush(stdout);
    return usd;
}

/* The dearest and the cheapest of keeping one offer from start to end, of those that get done. */
static void show_statics(const struct bench *b, size_t seed)
{
    size_t offers = b->prices->offer_count, done = 0;
    bool *only = calloc(offers + 1, sizeof *only);
    struct bench one = *b;
    double low = INFINITY, high = 0, took;
    uint32_t low_at = 0, high_at = 0;
    char low_text[256], high_text[256];

    if (only == NULL)
        give_up("out of", "memory");
    one.allowed = only;
    for (uint32_t o = 0; o < offers; o++) {
        if (!b->allowed[o] || b->prices->offers[o].how != MARKET_SPOT)
            continue;
        only[o] = true;
        struct market_result r = replay(&one, market_strategy_find("static", NULL), &took);
        only[o] = false;
        if (r.unfinished == 0) {
            done++;
            low_at = r.usd < low ? o : low_at;
            high_at = r.usd > high ? o : high_at;
            low = fmin(low, r.usd);
            high = fmax(high, r.usd);
        }
        market_result_fini(&r);
    }
    printf("{\"bench\":\"market\",\"kinds\":\"%s\",\"from\":\"%s\",\"days\":%g,\"slack\":%g,"
           "\"seed\":%zu,\"strategy\":\"statics\",\"offers\":%zu,\"worst\":%.2f,\"best\":%.2f,"
           "\"worst_offer\":\"%s\",\"best_offer\":\"%s\"}\n",
           b->a->kinds, b->a->from, b->a->days, b->a->slack, seed, done, high, low,
           prices_text_of(b->prices, high_at, high_text, sizeof high_text),
           prices_text_of(b->prices, low_at, low_text, sizeof low_text));
    free(only);
}

static void one_seed(const struct bench *b, size_t seed)
{
    double plan = NAN, bound = b->a->no_bound ? NAN : bound_of(b, seed, &plan), took;
    shoal_err err = SHOAL_ERR_INIT;
    char names[256];
    char *save = NULL;
    struct market_result fixed = replay(b, market_strategy_find("static", NULL), &took);

    if (b->a->statics)
        show_statics(b, seed);

    snprintf(names, sizeof names, "%s", b->a->strategies);
    for (char *n = strtok_r(names, ",", &save); n != NULL; n = strtok_r(NULL, ",", &save)) {
        const struct market_strategy *s = market_strategy_find(n, &err);
        if (s == NULL)
            give_up(err.message, err.hint);
        struct market_result r = replay(b, s, &took);
        show(b->a, s->name, seed, &r, bound, plan, fixed.usd, took);
        market_result_fini(&r);
    }
    market_result_fini(&fixed);
}

/* At most so many instances in each region. */
static void limit_regions(const struct args *a, struct bench *b)
{
    size_t regions = b->prices->regions.map.count;

    b->limits = calloc(regions + 1, sizeof *b->limits);
    for (uint32_t r = 0; a->limit > 0 && b->limits != NULL && r < regions; r++)
        b->limits[b->limit_count++] =
            (struct market_limit){MARKET_NONE, r, MARKET_NONE, MARKET_NONE, (uint32_t)a->limit};
}

static struct market_avail *availability(shoal_env *env, const struct args *a,
                                         const struct market_prices *p, size_t seed)
{
    struct market_avail *avail = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    shoal_status st = SHOAL_OK;

    if (a->avail != NULL)
        st = market_avail_cut(env, p, a->avail, seed, &avail, &err);
    else if (a->up_h > 0)
        st = market_avail_draw(p, a->up_h * 3600, a->down_h * 3600, 1000, seed, &avail, &err);
    if (st != SHOAL_OK)
        give_up("availability:", err.message);
    return avail;
}

static void make_jobs(const struct args *a, const double *speed, double first, double from_s,
                      struct market_job *jobs)
{
    for (size_t i = 0; i < a->jobs; i++) {
        double start = from_s + 86400.0 * (double)i;
        jobs[i] =
            (struct market_job){.name = "job",
                                .work = first * a->days * 86400 / (1 + fmax(0, a->slack)),
                                .start_s = start,
                                .deadline_s = a->slack > 0 ? start + a->days * 86400 : INFINITY,
                                .budget_usd = INFINITY,
                                .instances = (uint32_t)a->instances,
                                .speed = speed,
                                .checkpoint_gb = a->gb};
    }
}

int main(int argc, char **argv)
{
    struct args a = {.from = "2025-03-01",
                     .strategies = "shoal,uniform,periodic,static",
                     .days = 365,
                     .slack = 0.15,
                     .gb = 10,
                     .step_s = MARKET_STEP_S,
                     .down_h = 1,
                     .jobs = 1,
                     .instances = 1,
                     .starts = 1,
                     .apart = 1,
                     .seeds = 3,
                     .first_seed = 1,
                     .costs = MARKET_COSTS_INIT};
    shoal_env *env = NULL;
    struct market_prices *prices = NULL;
    shoal_err err = SHOAL_ERR_INIT;
    struct market_load_opts load = {0};

    parse(argc, argv, &a);
    if (shoal_env_real_new(&env, &err) != SHOAL_OK ||
        market_prices_load(env, a.paths, a.path_count, &load, &prices, &err) != SHOAL_OK)
        give_up(err.message, err.where);
    double *speed = calloc(prices->kinds.map.count + 1, sizeof *speed);
    bool *allowed = calloc(prices->offer_count + 1, sizeof *allowed);
    struct market_job *jobs = calloc(a.jobs + 1, sizeof *jobs);
    if (speed == NULL || allowed == NULL || jobs == NULL)
        give_up("out of", "memory");
    double first = speeds(&a, prices, speed);
    size_t demand, count = allow(&a, prices, speed, allowed, &demand);
    fprintf(stderr, "%zu offers, %zu of them on demand; read in %.2f s\n", count, demand, cpu_s());
    struct bench b = {.a = &a, .prices = prices, .jobs = jobs, .allowed = allowed};
    limit_regions(&a, &b);
    for (size_t seed = a.first_seed; seed < a.first_seed + a.seeds; seed++) {
        struct market_avail *avail = availability(env, &a, prices, seed);
        b.avail = avail;
        for (size_t i = 0; i < a.starts; i++) {
            make_jobs(&a, speed, first, day(a.from) + 86400.0 * a.apart * (double)i, jobs);
            one_seed(&b, seed);
        }
        market_avail_free(avail);
    }
    free(b.limits);
    free(speed);
    free(allowed);
    free(jobs);
    market_prices_free(prices);
    shoal_env_free(env);
    return 0;
}
