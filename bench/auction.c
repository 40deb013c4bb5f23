/* auction.c - how long one auction takes, with every payment.
 *
 * One JSON line per result: `ours` is CPU milliseconds of one auction, the median of `n`; the bound
 * is for 1,000 bidders and 1,000 GPUs. More GPUs are worth more, less than in proportion. The price
 * method is run on the same auctions: `prices_lose` is how much less welfare it finds, relative, and
 * `prices_gap` its own bound on that.
 *
 *   bench_auction
 *
 * BENCH_REPEATS bounds the number of runs. */
#include "base/rand.h"
#include "sched/auction.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { REPEATS_MAX = 21 };
static const double BOUND_MS = 100;

struct shape {
    const char *sizes;
    uint32_t bidders, kinds, gpus; /* of all kinds */
    uint32_t most;                 /* of one bid */
    bool powers;                   /* sizes are powers of two */
    bool bound;
};

static const struct shape shapes[] = {
    {"one size each, 1 to 8", 1000, 1, 1000, 8, true, true},
    {"powers of two to 512", 1000, 1, 1000, 512, true, true},
    {"all to 64", 1000, 1, 1000, 64, false, true},
    {"powers of two to 64", 1000, 4, 1000, 64, true, true},
    {"powers of two to 64", 10000, 4, 10000, 64, true, false},
};

static void must(shoal_status st, const char *what)
{
    if (st == SHOAL_OK)
        return;
    fprintf(stderr, "auction: %s: %s\n", what, shoal_status_name(st));
    exit(1);
}

static double cpu_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static size_t repeats(void)
{
    const char *text = getenv("BENCH_REPEATS");
    int n = text != NULL ? atoi(text) : 9;

    return n < 1 ? 1 : n > REPEATS_MAX ? REPEATS_MAX : (size_t)n;
}

/* Options of one bidder. */
static uint32_t draw_table(const struct shape *s, struct base_rand *rand, uint32_t bidder,
                           struct sched_auction_option *out)
{
    double power = base_rand_range(rand, 0.5, 1);
    uint32_t count = 0;

    for (uint32_t k = 0; k < s->kinds; k++) {
        double speed = base_rand_range(rand, 0.5, 2);
        uint32_t only = s->most == 8 ? 1u << bidder % 4 : 0;
        for (uint32_t g = only > 0 ? only : 1; g <= s->most; g = s->powers ? 2 * g : g + 1) {
            out[count++] = (struct sched_auction_option){k, g, speed * pow(g, power)};
            if (only > 0)
                break;
        }
    }
    return count;
}

static void draw(const struct shape *s, struct sched_auction_problem *p,
                 struct sched_auction_bid *bids, struct sched_auction_option *options)
{
    struct base_rand rand;

    base_rand_init(&rand, 1, "auction");
    *p = (struct sched_auction_problem){
        .kind_count = s->kinds, .bids = bids, .bid_count = s->bidders};
    for (uint32_t k = 0; k < s->kinds; k++)
        p->capacity[k] = s->gpus / s->kinds;
    for (uint32_t b = 0; b < s->bidders; b++) {
        bids[b] = (struct sched_auction_bid){.options = options, .nothing = 0.2};
        bids[b].option_count = draw_table(s, &rand, b, options);
        options += bids[b].option_count;
    }
}

/* The median time; the last result goes to *out. */
static double measure(struct sched_auctioneer *a, const struct sched_auction_problem *p, size_t n,
                      struct sched_auction_result *out)
{
    double t[REPEATS_MAX];

    for (size_t i = 0; i < n; i++) {
        double began = cpu_s();
        must(sched_auction_run(a, p, out), "run");
        t[i] = cpu_s() - began;
    }
    qsort(t, n, sizeof *t, ascending);
    return t[n / 2];
}

static void run(const struct shape *s, struct sched_auctioneer *a)
{
    struct sched_auction_problem p;
    struct sched_auction_result exact, priced;
    struct sched_auction_bid *bids = calloc(s->bidders, sizeof *bids);
    struct sched_auction_option *options =
        calloc((size_t)s->bidders * s->kinds * s->most, sizeof *options);

    if (bids == NULL || options == NULL)
        must(SHOAL_E_NOMEM, "draw");
    draw(s, &p, bids, options);
    size_t n = repeats();
    double ours = measure(a, &p, n, &exact), welfare = exact.welfare, gap = exact.gap;
    p.by_prices = true;
    double by_prices = measure(a, &p, n, &priced);
    printf("{\"bench\":\"auction\",\"what\":\"%u bidders, %u GPUs of %u kind%s, %s\",\"ours\":%.4g,"
           "\"unit\":\"CPU ms\",",
           s->bidders, s->gpus, s->kinds, s->kinds == 1 ? "" : "s", s->sizes, 1e3 * ours);
    if (s->bound)
        printf("\"bound\":\"at most %g ms\",\"holds\":%s,", BOUND_MS,
               1e3 * ours <= BOUND_MS ? "true" : "false");
    printf("\"n\":%zu,\"exact\":%s,\"prices_ms\":%.4g,\"prices_lose\":%.2g,\"prices_gap\":%.2g,"
           "\"data\":\"%u bidders x %u GPUs\"}\n",
           n, gap == 0 ? "true" : "false", 1e3 * by_prices, fmax(1 - priced.welfare / welfare, 0),
           priced.gap / priced.welfare, s->bidders, s->gpus);
    fflush(stdout);
    free(bids);
    free(options);
}

int main(void)
{
    struct sched_auctioneer *a;

    must(sched_auction_new(&base_alloc_libc, &a), "new");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        run(&shapes[i], a);
    sched_auction_free(a);
    return 0;
}
