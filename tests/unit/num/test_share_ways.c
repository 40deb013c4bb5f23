/* Tests of the ways of share_oracle.c: what the lanes answer is what num_share_ways_choose says of each job, and
 * that is the best there is by the proof that the tests of sums rest on (share_proof.h). */
#include "num/share_core.h"
#include "unit/num/share_proof.h"

static struct base_room room = {.alloc = &base_alloc_libc};
static struct world world; /* large */
static double value[WORLD_JOBS_MAX * NUM_KINDS_MAX];

/* The world's jobs with values of any sign, and with floors for most: also at the speed of a kind,
 * at the top, and for sale. */
static void make_ways(struct world *w, struct share_ways *out)
{
    struct base_rand *r = &w->rand;
    uint32_t kinds = w->p.kind_count;

    assert_int_equal(num_share_ways_reserve(&room, out, kinds, w->p.job_count), SHOAL_OK);
    for (size_t m = 0; m < w->p.job_count; m++) {
        double part = base_rand_unit(r), top = proof_top(&w->p, m);
        size_t draw = base_rand_below(r, 6);
        for (uint32_t k = 0; k < kinds; k++) {
            value[m * kinds + k] = w->family == WORLD_TIES ? (double)base_rand_below(r, 3) - 1
                                                           : base_rand_range(r, -1, 1);
            out->value[k * out->stride + m] = value[m * kinds + k];
            out->speed[k * out->stride + m] = proof_rate(&w->p, m, k);
        }
        out->gpus[m] = w->gpus[m];
        out->floor[m] = draw == 0   ? 0
                        : draw == 1 ? top
                        : draw == 2 ? proof_rate(&w->p, m, (uint32_t)base_rand_below(r, kinds))
                                    : part * top;
        out->ransom[m] = base_rand_below(r, 3) == 0 ? base_rand_range(r, 0, 2) : INFINITY;
        if (out->floor[m] == 0)
            out->ransom[m] = INFINITY;
    }
}

static void make_prices(struct world *w, double *out)
{
    for (uint32_t k = 0; k < w->p.kind_count; k++)
        out[k] = base_rand_below(&w->rand, 4) == 0 ? 0 : base_rand_range(&w->rand, 0, 1);
}

static void the_chosen_way_is_the_best_there_is(void **state)
{
    struct share_ways ways = {0};

    (void)state;
    for (int i = 0; i < property_count(1000); i++) {
        double price[NUM_KINDS_MAX];
        world_make(&world, (uint64_t)i, 60);
        make_ways(&world, &ways);
        make_prices(&world, price);
        for (size_t m = 0; m < world.p.job_count; m++) {
            struct share_way way = num_share_ways_choose(&ways, m, price);
            double best = proof_gain(&world.p, m, value, ways.floor[m], price);
            best = fmax(best, -ways.ransom[m]);
            double size = fabs(best) + world.gpus[m] + 1;
            WORLD_CLAIM(&world, fabs(way.gain - best) <= 1e-12 * size || way.gain == best,
                        "job %zu gains %.17g, the most is %.17g", m, way.gain, best);
        }
    }
    base_room_fini(&room);
}

/* What the rows at `row` answer, added up the slow way. */
static void add_up(const struct share_ways *ways, size_t row, const struct share_way *way,
                   struct share_ways_answer *sums, double *size)
{
    const uint32_t kind[2] = {way->one, way->two};
    const double x[2] = {way->x_one, way->x_two};

    sums->value -= way->bought ? ways->ransom[row] : 0;
    *size += way->bought ? ways->ransom[row] : ways->gpus[row] + 1;
    for (int i = 0; i < 2; i++) {
        if (kind[i] == SHARE_ORIGIN)
            continue;
        sums->value += x[i] * ways->value[kind[i] * ways->stride + row];
        sums->use[kind[i]] += x[i] * ways->gpus[row];
    }
}

static void claim_sums(const struct world *w, const struct share_ways_answer *got,
                       const struct share_ways_answer *want, double size, uint32_t lanes)
{
    WORLD_CLAIM(w, fabs(got->value - want->value) <= 1e-12 * size,
                "%u lanes: the value is %.17g, should be %.17g", lanes, got->value, want->value);
    for (uint32_t k = 0; k < w->p.kind_count; k++)
        WORLD_CLAIM(w, fabs(got->use[k] - want->use[k]) <= 1e-12 * size,
                    "%u lanes: %.17g of kind %u, should be %.17g", lanes, got->use[k], k,
                    want->use[k]);
}

static const uint32_t all_lanes[] = {1, 4, 8};
static uint8_t code[WORLD_JOBS_MAX + SHARE_BLOCK];
static uint32_t open_row[WORLD_JOBS_MAX + SHARE_BLOCK];

static void all_lanes_choose_what_the_specification_does(void **state)
{
    struct share_ways ways = {0};

    (void)state;
    for (int i = 0; i < property_count(1000); i++) {
        double price[NUM_KINDS_MAX];
        struct share_ways_answer want = {0}, got;
        struct share_edges edges;
        double size = 0;
        world_make(&world, (uint64_t)i, 60);
        make_ways(&world, &ways);
        make_prices(&world, price);
        num_share_edges(world.p.kind_count, &edges);
        for (size_t m = 0; m < world.p.job_count; m++) {
            struct share_way way = num_share_ways_choose(&ways, m, price);
            if (!isinf(way.gain))
                want.gain += way.gain;
            add_up(&ways, m, &way, &want, &size);
        }
        for (size_t l = 0; l < sizeof all_lanes / sizeof *all_lanes; l++) {
            struct share_ways_query query = {.price = price};
            num_share_ways_find(all_lanes[l])(&ways, 0, share_padded(world.p.job_count), &query,
                                              code, NULL, &got);
            for (size_t m = 0; m < world.p.job_count; m++) {
                struct share_way way = num_share_ways_choose(&ways, m, price);
                struct share_way spelled = num_share_ways_spell(&ways, &edges, m, code[m]);
                double x[2] = {way.x_one, way.x_two};
                bool swapped = spelled.one == way.two && spelled.two == way.one;
                WORLD_CLAIM(&world, code[m] == way.code, "%u lanes: job %zu goes way %u, not %u",
                            all_lanes[l], m, code[m], way.code);
                WORLD_CLAIM(&world, swapped || (spelled.one == way.one && spelled.two == way.two),
                            "way %u of job %zu is on other kinds", code[m], m);
                WORLD_CLAIM(&world,
                            spelled.x_one == x[swapped && way.one != way.two] &&
                                spelled.bought == way.bought,
                            "way %u of job %zu takes %.17g, not %.17g", code[m], m, spelled.x_one,
                            x[swapped]);
            }
            claim_sums(&world, &got, &want, size, all_lanes[l]);
            WORLD_CLAIM(&world, isinf(got.gain) || fabs(got.gain - want.gain) <= 1e-12 * size,
                        "%u lanes gain %.17g, should gain %.17g", all_lanes[l], got.gain,
                        want.gain);
        }
    }
    base_room_fini(&room);
}

/* Settled rows, at prices moved as far as was said: none would rather go another way. Open ones are
 * listed once and in order, and the sums are those of the settled ones. */
static void settled_rows_stay_as_they_are(void **state)
{
    struct share_ways ways = {0};
    size_t settled_count = 0, open_count = 0;

    (void)state;
    for (int i = 0; i < property_count(1000); i++) {
        double price[NUM_KINDS_MAX], move[NUM_KINDS_MAX], moved[NUM_KINDS_MAX], size = 0;
        struct share_ways_answer want = {0}, got;
        uint32_t lanes = all_lanes[i % 3];
        world_make(&world, (uint64_t)i, 60);
        make_ways(&world, &ways);
        make_prices(&world, price);
        for (uint32_t k = 0; k < world.p.kind_count; k++) {
            move[k] = base_rand_range(&world.rand, 0, 0.1);
            moved[k] = price[k] + (base_rand_below(&world.rand, 2) == 0 ? move[k] : -move[k]);
        }
        struct share_ways_query query = {.price = price, .move = move};
        num_share_ways_find(lanes)(&ways, 0, share_padded(world.p.job_count), &query, code,
                                   open_row, &got);
        size_t next = 0;
        for (size_t m = 0; m < world.p.job_count; m++) {
            struct share_way here = num_share_ways_choose(&ways, m, price);
            WORLD_CLAIM(&world, code[m] == here.code, "job %zu goes way %u, not %u", m, code[m],
                        here.code);
            if (next < got.open && open_row[next] == m) {
                next++;
                open_count++;
                continue;
            }
            struct share_way there = num_share_ways_choose(&ways, m, moved);
            WORLD_CLAIM(&world, there.code == here.code, "job %zu is settled on %u and goes %u", m,
                        here.code, there.code);
            add_up(&ways, m, &here, &want, &size);
            settled_count++;
        }
        claim_sums(&world, &got, &want, size, lanes);
        for (; next < got.open; next++) /* padding */
            WORLD_CLAIM(&world, open_row[next] >= world.p.job_count, "row %u is listed again",
                        open_row[next]);
    }
    assert_true(settled_count > 1000 && open_count > 1000);
    base_room_fini(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_chosen_way_is_the_best_there_is),
        cmocka_unit_test(all_lanes_choose_what_the_specification_does),
        cmocka_unit_test(settled_rows_stay_as_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
