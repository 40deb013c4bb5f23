/* Tests of src/sched/auction*.c. */
#include "property.h"
#include "torture.h"

#include "base/rand.h"
#include "sched/auction.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BIDS_MAX = 400, TABLE_MAX = 24 };

static const double EXACT = 1e-9; /* sums of some hundred logarithms */

struct world {
    struct base_rand rand;
    struct sched_auction_problem p;
    struct sched_auction_bid bids[BIDS_MAX];
    struct sched_auction_option options[BIDS_MAX][TABLE_MAX];
    struct sched_auctioneer *auctioneer;
};

static struct world world; /* large */

static struct world *world_open(uint64_t seed)
{
    struct world *w = &world;

    memset(w, 0, sizeof *w);
    base_rand_init(&w->rand, seed, "auction");
    w->p.bids = w->bids;
    assert_int_equal(sched_auction_new(&base_alloc_libc, &w->auctioneer), SHOAL_OK);
    return w;
}

static void world_close(struct world *w)
{
    sched_auction_free(w->auctioneer);
}

static uint32_t below(struct world *w, uint32_t n)
{
    return (uint32_t)base_rand_below(&w->rand, n);
}

static struct sched_auction_result hold(struct world *w)
{
    struct sched_auction_result r;

    assert_int_equal(sched_auction_run(w->auctioneer, &w->p, &r), SHOAL_OK);
    return r;
}

/* ---- tables ---- */

static void add_option(struct world *w, uint32_t bidder, uint32_t kind, uint32_t gpus, double value)
{
    struct sched_auction_bid *b = &w->bids[bidder];

    assert_true(b->option_count < TABLE_MAX);
    w->options[bidder][b->option_count++] = (struct sched_auction_option){kind, gpus, value};
    b->options = w->options[bidder];
}

/* Nonsense, now and then. */
static double nonsense(struct world *w, double value)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY, -1, 0, -0.0};

    return below(w, 8) == 0 ? bad[below(w, 6)] : value;
}

/* Any bundle at any price: nothing rises, nothing is concave, some cannot be had or said. */
static void add_wild_bidder(struct world *w)
{
    uint32_t b = w->p.bid_count++, count = below(w, 6);

    w->bids[b] =
        (struct sched_auction_bid){.options = w->options[b],
                                   .gang = 1 + below(w, 2) * below(w, 3),
                                   .nothing = nonsense(w, base_rand_range(&w->rand, 0.01, 1))};
    for (uint32_t i = 0; i < count; i++)
        add_option(w, b, below(w, w->p.kind_count + (below(w, 8) == 0)),
                   below(w, 8) == 0 ? 0 : 1 + below(w, 8),
                   nonsense(w, base_rand_range(&w->rand, 0.01, 4)));
}

static void some_capacity(struct world *w, uint32_t kinds, uint32_t most)
{
    w->p.kind_count = kinds;
    for (uint32_t k = 0; k < kinds; k++)
        w->p.capacity[k] = below(w, most + 1);
}

/* Worth of so many gangs of a kind: proportional to GPUs up to a power of at most 1. */
struct taste {
    double speed[SCHED_KINDS_MAX], power, nothing;
    uint32_t gang, most; /* gangs it could use */
};

static struct taste some_taste(struct world *w, uint32_t gang, double power)
{
    struct taste t = {.power = power, .gang = gang, .most = 1 + below(w, 8)};

    for (uint32_t k = 0; k < w->p.kind_count; k++)
        t.speed[k] = base_rand_range(&w->rand, 0.2, 3);
    return t;
}

static double worth(const struct taste *t, uint32_t kind, uint32_t gpus)
{
    return t->speed[kind] * pow(gpus, t->power);
}

static void say_truth(struct world *w, uint32_t b, const struct taste *t)
{
    w->bids[b] = (struct sched_auction_bid){
        .options = w->options[b], .gang = t->gang, .nothing = t->nothing};
    for (uint32_t k = 0; k < w->p.kind_count; k++)
        for (uint32_t n = 1; n <= t->most; n++)
            if (n * t->gang <= w->p.capacity[k])
                add_option(w, b, k, n * t->gang, worth(t, k, n * t->gang));
}

/* ---- the slow obvious auction ---- */

/* The worth of a bundle by the rules for tables: 0 where it cannot be had. */
static double cleaned(const struct world *w, uint32_t b, uint32_t option)
{
    const struct sched_auction_bid *bid = &w->bids[b];
    const struct sched_auction_option *o = &bid->options[option];

    if (o->kind >= w->p.kind_count || o->gpus == 0 || o->gpus > w->p.capacity[o->kind] ||
        o->gpus % (bid->gang > 0 ? bid->gang : 1) != 0 || !isfinite(o->value) || o->value <= 0)
        return 0;
    double least = o->value;
    for (uint32_t i = 0; i < bid->option_count; i++) {
        const struct sched_auction_option *other = &bid->options[i];
        if (other->kind == o->kind && other->gpus == o->gpus && isfinite(other->value) &&
            other->value > 0)
            least = fmin(least, other->value);
    }
    return least;
}

static double nothing_of(const struct world *w, uint32_t b)
{
    double best = 0, nothing = w->bids[b].nothing;

    for (uint32_t i = 0; i < w->bids[b].option_count; i++)
        if (isfinite(w->bids[b].options[i].value) && cleaned(w, b, i) > 0)
            best = fmax(best, w->bids[b].options[i].value);
    return isfinite(nothing) && nothing > 0 ? nothing : 1e-9 * best;
}

/* Largest sum of log(worth / nothing) of the bidders from `b` on, but `without`. */
static double brute(const struct world *w, uint32_t b, uint32_t without, uint32_t *left)
{
    if (b == w->p.bid_count)
        return 0;
    double best = brute(w, b + 1, without, left);
    for (uint32_t i = 0; b != without && i < w->bids[b].option_count; i++) {
        const struct sched_auction_option *o = &w->bids[b].options[i];
        double value = cleaned(w, b, i);
        if (value <= nothing_of(w, b) || o->gpus > left[o->kind])
            continue;
        left[o->kind] -= o->gpus;
        best = fmax(best, log(value / nothing_of(w, b)) + brute(w, b + 1, without, left));
        left[o->kind] += o->gpus;
    }
    return best;
}

static double brute_without(const struct world *w, uint32_t without)
{
    uint32_t left[SCHED_KINDS_MAX];

    memcpy(left, w->p.capacity, sizeof left);
    return brute(w, 0, without, left);
}

static double gain_of(const struct world *w, const struct sched_auction_result *r, uint32_t b)
{
    uint32_t option = r->awards[b].option;

    return option == SCHED_AUCTION_NONE ? 0 : log(cleaned(w, b, option) / nothing_of(w, b));
}

/* What was awarded fits and adds up to what is said; payments are in (0, 1]. */
static void check_awards(const struct world *w, const struct sched_auction_result *r)
{
    uint32_t left[SCHED_KINDS_MAX];
    double sum = 0;

    memcpy(left, w->p.capacity, sizeof left);
    for (uint32_t b = 0; b < w->p.bid_count; b++) {
        const struct sched_auction_award *a = &r->awards[b];
        assert_true(a->paid > 0 && a->paid <= 1);
        if (a->option == SCHED_AUCTION_NONE) {
            assert_true(a->paid == 1);
            continue;
        }
        const struct sched_auction_option *o = &w->bids[b].options[a->option];
        assert_true(cleaned(w, b, a->option) > 0 && o->gpus <= left[o->kind]);
        left[o->kind] -= o->gpus;
        sum += gain_of(w, r, b);
    }
    assert_memory_equal(left, r->left, w->p.kind_count * sizeof *left);
    assert_true(fabs(sum - r->welfare) <= EXACT * (1 + sum));
}

static void small_auctions_equal_brute_force_with_every_payment(void **state)
{
    (void)state;
    for (int seed = 1; seed <= property_count(5000); seed++) {
        struct world *w = world_open((uint64_t)seed);
        some_capacity(w, 1 + below(w, 3), 9);
        for (uint32_t n = below(w, 7); n > 0; n--)
            add_wild_bidder(w);
        struct sched_auction_result r = hold(w);
        check_awards(w, &r);
        assert_true(r.gap == 0);
        assert_true(fabs(r.welfare - brute_without(w, BIDS_MAX)) <= EXACT);
        for (uint32_t b = 0; b < w->p.bid_count; b++) {
            double others = r.welfare - gain_of(w, &r, b);
            if (r.awards[b].option != SCHED_AUCTION_NONE)
                assert_true(fabs(log(r.awards[b].paid) - (others - brute_without(w, b))) <= EXACT);
        }
        world_close(w);
    }
}

/* Amounts in whole fours, and fewer bidders than GPUs: states are merged and cut, answers stay. */
static void counts_that_are_merged_change_nothing(void **state)
{
    (void)state;
    for (int seed = 1; seed <= property_count(500); seed++) {
        struct world *w = world_open((uint64_t)seed);
        w->p.kind_count = 2;
        w->p.capacity[0] = 4 * below(w, 6) + below(w, 4);
        w->p.capacity[1] = 100;
        for (uint32_t n = 1 + below(w, 5); n > 0; n--) {
            uint32_t b = w->p.bid_count++;
            w->bids[b] = (struct sched_auction_bid){.nothing = 0.1};
            for (uint32_t i = 0; i < 3; i++)
                add_option(w, b, below(w, 2), 4 * (1 + below(w, 4)),
                           base_rand_range(&w->rand, 0.05, 2));
        }
        struct sched_auction_result r = hold(w);
        check_awards(w, &r);
        assert_true(fabs(r.welfare - brute_without(w, BIDS_MAX)) <= EXACT);
        world_close(w);
    }
}

static void by_prices_what_is_awarded_fits_and_lies_within_the_gap(void **state)
{
    double worst = 0;

    (void)state;
    for (int seed = 1; seed <= property_count(300); seed++) {
        struct world *w = world_open((uint64_t)seed);
        some_capacity(w, 1 + below(w, 3), 40);
        for (uint32_t n = 40 + below(w, 200); n > 0; n--) {
            struct taste t = some_taste(w, 1, 0.5);
            t.nothing = 0.1;
            say_truth(w, w->p.bid_count++, &t);
        }
        double exact = hold(w).welfare;
        w->p.by_prices = true;
        struct sched_auction_result r = hold(w);
        check_awards(w, &r);
        assert_true(r.welfare <= exact + 1e-6 && exact <= r.welfare + r.gap + 1e-6);
        worst = fmax(worst, exact > 0 ? (exact - r.welfare) / exact : 0);
        world_close(w);
    }
    assert_true(worst <= 0.02);
}

/* ---- what a bidder ends with ---- */

static double ends_with(const struct world *w, const struct sched_auction_result *r, uint32_t b,
                        const struct taste *t)
{
    const struct sched_auction_award *a = &r->awards[b];

    if (a->option == SCHED_AUCTION_NONE)
        return t->nothing;
    const struct sched_auction_option *o = &w->bids[b].options[a->option];
    return a->paid * worth(t, o->kind, o->gpus) + (1 - a->paid) * t->nothing;
}

/* Another table: values wrong by a little or by a lot, options left out, gangs it does not need, or
 * nothing said to be worth more or less than it is. */
static void misreport(struct world *w, uint32_t b)
{
    struct sched_auction_bid *bid = &w->bids[b];
    double wrong = below(w, 2) != 0 ? 0.1 : 3, all = exp(base_rand_range(&w->rand, -wrong, wrong));
    double bent = below(w, 3) == 0 ? base_rand_range(&w->rand, -1, 1) : 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < bid->option_count; i++) {
        struct sched_auction_option o = w->options[b][i];
        o.value *= all * pow(o.gpus, bent);
        if (below(w, 2) == 0)
            o.value *= exp(base_rand_range(&w->rand, -wrong, wrong));
        if (below(w, 4) != 0)
            w->options[b][count++] = o;
    }
    bid->option_count = count;
    if (below(w, 2) == 0)
        bid->nothing *= exp(base_rand_range(&w->rand, -wrong, wrong));
}

struct lies {
    double most_gained; /* beyond the bound, relative to the truth */
    int told;
};

/* Some bidders and one that lies, again and again. */
static void lie(struct world *w, double power, double nothing, uint32_t bidders, int times,
                struct lies *out)
{
    struct taste tastes[BIDS_MAX];

    for (uint32_t b = 0; b < bidders; b++) {
        tastes[b] = some_taste(w, 1u << below(w, 3), power);
        tastes[b].nothing = nothing * base_rand_range(&w->rand, 0.5, 1);
        say_truth(w, b, &tastes[b]);
    }
    w->p.bid_count = bidders;
    struct sched_auction_result r = hold(w);
    uint32_t liar = below(w, bidders);
    double honest = ends_with(w, &r, liar, &tastes[liar]);
    double held = r.awards[liar].option == SCHED_AUCTION_NONE ? 1 : r.awards[liar].paid;
    for (int n = 0; n < times; n++, out->told++) {
        say_truth(w, liar, &tastes[liar]);
        misreport(w, liar);
        r = hold(w);
        double got = ends_with(w, &r, liar, &tastes[liar]);
        double share = r.awards[liar].option == SCHED_AUCTION_NONE ? 1 : r.awards[liar].paid;
        double bound = fmax(held - share, 0) * tastes[liar].nothing;
        if (w->p.by_prices)
            out->most_gained = fmax(out->most_gained, (got - honest - bound) / fmax(honest, 1e-6));
        else if (got > honest + bound + 1e-7 * (1 + honest))
            fail_msg("a lie gains %g over %g, the bound is %g", got - honest, honest, bound);
    }
}

static void a_lie_gains_nothing_where_nothing_is_worth_nothing(void **state)
{
    static const double powers[] = {1, 0.7, 0.3, 1.3};
    struct lies lies = {0};

    (void)state;
    for (int seed = 1; seed <= property_count(600); seed++) {
        struct world *w = world_open((uint64_t)seed);
        some_capacity(w, 1 + below(w, 3), 24);
        lie(w, powers[seed % 4], 0, 2 + below(w, 6), 10, &lies);
        world_close(w);
    }
    assert_true(lies.told >= 6000);
}

static void a_lie_gains_less_than_nothing_is_worth(void **state)
{
    struct lies lies = {0};

    (void)state;
    for (int seed = 1; seed <= property_count(600); seed++) {
        struct world *w = world_open((uint64_t)seed);
        some_capacity(w, 1 + below(w, 3), 24);
        lie(w, 0.8, 1, 2 + below(w, 6), 10, &lies);
        world_close(w);
    }
}

/* Where nobody is large, prices leave little to gain beyond the bound of exact auctions. */
static void by_prices_a_lie_gains_little_among_many(void **state)
{
    struct lies lies = {0};

    (void)state;
    for (int seed = 1; seed <= property_count(100); seed++) {
        struct world *w = world_open((uint64_t)seed);
        w->p.by_prices = true;
        w->p.kind_count = 2;
        w->p.capacity[0] = w->p.capacity[1] = 150;
        lie(w, 0.8, 1, 200, 10, &lies);
        world_close(w);
    }
    assert_true(lies.told >= 1000);
    assert_true(lies.most_gained <= 0.03); /* 0.012 was the most */
}

/* Proportional values and gangs of one: n gangs won are worth (n - 1) / e at least in the end. */
static void a_winner_keeps_a_gang_less_than_what_it_won_over_e(void **state)
{
    int winners = 0;

    (void)state;
    for (int seed = 1; seed <= property_count(1000); seed++) {
        struct world *w = world_open((uint64_t)seed);
        w->p.kind_count = 1;
        w->p.capacity[0] = 1 + below(w, 24);
        for (uint32_t n = 1 + below(w, 10); n > 0; n--) {
            struct taste t = some_taste(w, 1, 1);
            t.most = 24;
            say_truth(w, w->p.bid_count++, &t);
        }
        struct sched_auction_result r = hold(w);
        for (uint32_t b = 0; b < w->p.bid_count; b++) {
            if (r.awards[b].option == SCHED_AUCTION_NONE)
                continue;
            double won = w->bids[b].options[r.awards[b].option].gpus;
            assert_true(r.awards[b].paid * won >= (won - 1) / exp(1) - EXACT);
            winners++;
        }
        world_close(w);
    }
    assert_true(winners > 1000);
}

static void who_is_in_nobodys_way_pays_nothing(void **state)
{
    struct world *w = world_open(1);

    (void)state;
    w->p.kind_count = 1;
    w->p.capacity[0] = 8;
    for (uint32_t b = 0; b < 2; b++) {
        w->bids[b].nothing = 1;
        add_option(w, b, 0, 4, 2);
    }
    w->p.bid_count = 2;
    struct sched_auction_result r = hold(w);
    for (uint32_t b = 0; b < 2; b++)
        assert_true(r.awards[b].option == 0 && r.awards[b].paid == 1);
    assert_int_equal(r.left[0], 0);
    world_close(w);
}

/* Two want the only GPU. The winner holds it for as long as it is worth to the other. */
static void who_is_in_anothers_way_pays_what_that_one_loses(void **state)
{
    struct world *w = world_open(1);

    (void)state;
    w->p.kind_count = 1;
    w->p.capacity[0] = 1;
    w->bids[0].nothing = w->bids[1].nothing = 1;
    add_option(w, 0, 0, 1, 4);
    add_option(w, 1, 0, 1, 3);
    w->p.bid_count = 2;
    struct sched_auction_result r = hold(w);
    assert_true(r.awards[0].option == 0 && r.awards[1].option == SCHED_AUCTION_NONE);
    assert_true(fabs(r.awards[0].paid - 1.0 / 3) <= EXACT && r.awards[1].paid == 1);
    world_close(w);
}

static void tables_that_contradict_themselves_are_cleaned_and_noted(void **state)
{
    struct world *w = world_open(1);

    (void)state;
    w->p.kind_count = 1;
    w->p.capacity[0] = 100;
    for (uint32_t b = 0; b < 5; b++)
        w->bids[b] = (struct sched_auction_bid){.gang = 2, .nothing = 1};
    add_option(w, 0, 0, 2, NAN);
    add_option(w, 0, 0, 4, 2);
    add_option(w, 1, 0, 3, 9); /* not whole gangs */
    add_option(w, 1, 0, 4, 2);
    add_option(w, 1, 0, 200, 9);
    add_option(w, 1, 7, 2, 9);
    add_option(w, 2, 0, 2, 9); /* two values: the smaller holds, and is less than that of 4 */
    add_option(w, 2, 0, 4, 2);
    add_option(w, 2, 0, 2, 1.5);
    add_option(w, 3, 0, 8, 2); /* more for less */
    add_option(w, 3, 0, 4, 3);
    add_option(w, 4, 0, 2, 1.5); /* nothing wrong */
    add_option(w, 4, 0, 4, 2);
    w->p.bid_count = 5;
    struct sched_auction_result r = hold(w);
    static const uint32_t notes[] = {SCHED_AUCTION_NOT_POSITIVE, SCHED_AUCTION_NO_BUNDLE,
                                     SCHED_AUCTION_TWICE, SCHED_AUCTION_LESS, 0};
    for (uint32_t b = 0; b < 5; b++) {
        assert_int_equal(r.awards[b].notes, notes[b]);
        assert_int_equal(r.awards[b].option, 1);
    }
    world_close(w);
}

/* Whatever somebody says, what the others lose by it lasts only as long as it may hold what it took:
 * loss x share of the lease is at most 1/e, in logarithms of their values. */
static void a_boaster_takes_little_from_the_others(void **state)
{
    (void)state;
    for (int seed = 1; seed <= property_count(500); seed++) {
        struct world *w = world_open((uint64_t)seed);
        some_capacity(w, 1 + below(w, 2), 24);
        for (uint32_t n = 1 + below(w, 6); n > 0; n--) {
            struct taste t = some_taste(w, 1, 0.7);
            t.nothing = 0.1;
            say_truth(w, w->p.bid_count++, &t);
        }
        double without = hold(w).welfare;
        uint32_t boaster = w->p.bid_count++;
        w->bids[boaster] = (struct sched_auction_bid){.nothing = 1e-9};
        for (uint32_t k = 0; k < w->p.kind_count; k++)
            add_option(w, boaster, k, w->p.capacity[k], 1e9);
        struct sched_auction_result r = hold(w);
        double lost = without - (r.welfare - gain_of(w, &r, boaster));
        assert_true(lost * r.awards[boaster].paid <= exp(-1) + EXACT);
        world_close(w);
    }
}

static void the_same_auction_twice_ends_the_same_whatever_came_between(void **state)
{
    (void)state;
    for (int seed = 1; seed <= property_count(100); seed++) {
        struct world *w = world_open((uint64_t)seed);
        some_capacity(w, 1 + below(w, 3), 20);
        for (uint32_t n = 1 + below(w, 30); n > 0; n--)
            add_wild_bidder(w);
        for (int way = 0; way < 2; way++) {
            struct sched_auction_award before[BIDS_MAX];
            struct sched_auction_problem all = w->p;
            w->p.by_prices = way == 1;
            struct sched_auction_result r = hold(w);
            memcpy(before, r.awards, w->p.bid_count * sizeof *before);
            w->p.bid_count /= 2;
            w->p.by_prices = way == 0;
            (void)hold(w);
            w->p = all;
            w->p.by_prices = way == 1;
            r = hold(w);
            assert_memory_equal(before, r.awards, w->p.bid_count * sizeof *before);
        }
        world_close(w);
    }
}

static shoal_status torture_auction(const struct base_alloc *alloc, void *ctx)
{
    const struct world *w = ctx;
    struct sched_auctioneer *a = NULL;
    struct sched_auction_result r;

    shoal_status st = sched_auction_new(alloc, &a);
    if (st == SHOAL_OK)
        st = sched_auction_run(a, &w->p, &r);
    sched_auction_free(a);
    return st;
}

static void refused_memory_ends_in_a_clean_error(void **state)
{
    struct world *w = world_open(1);

    (void)state;
    some_capacity(w, 2, 20);
    for (uint32_t n = 40; n > 0; n--)
        add_wild_bidder(w);
    torture_run(torture_auction, w);
    w->p.by_prices = true;
    torture_run(torture_auction, w);
    world_close(w);
}

static void an_auction_needs_kinds(void **state)
{
    struct world *w = world_open(1);
    struct sched_auction_result r;

    (void)state;
    assert_int_equal(sched_auction_run(w->auctioneer, &w->p, &r), SHOAL_E_INVAL);
    w->p.kind_count = SCHED_KINDS_MAX + 1;
    assert_int_equal(sched_auction_run(w->auctioneer, &w->p, &r), SHOAL_E_INVAL);
    w->p.kind_count = 1; /* nobody bids for nothing */
    assert_int_equal(sched_auction_run(w->auctioneer, &w->p, &r), SHOAL_OK);
    assert_true(r.welfare == 0 && r.gap == 0);
    sched_auction_free(NULL);
    world_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_auctions_equal_brute_force_with_every_payment),
        cmocka_unit_test(counts_that_are_merged_change_nothing),
        cmocka_unit_test(by_prices_what_is_awarded_fits_and_lies_within_the_gap),
        cmocka_unit_test(a_lie_gains_nothing_where_nothing_is_worth_nothing),
        cmocka_unit_test(a_lie_gains_less_than_nothing_is_worth),
        cmocka_unit_test(by_prices_a_lie_gains_little_among_many),
        cmocka_unit_test(a_winner_keeps_a_gang_less_than_what_it_won_over_e),
        cmocka_unit_test(who_is_in_nobodys_way_pays_nothing),
        cmocka_unit_test(who_is_in_anothers_way_pays_what_that_one_loses),
        cmocka_unit_test(tables_that_contradict_themselves_are_cleaned_and_noted),
        cmocka_unit_test(a_boaster_takes_little_from_the_others),
        cmocka_unit_test(the_same_auction_twice_ends_the_same_whatever_came_between),
        cmocka_unit_test(refused_memory_ends_in_a_clean_error),
        cmocka_unit_test(an_auction_needs_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
