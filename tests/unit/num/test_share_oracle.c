/* Tests of share_oracle.c: what the lanes answer is the cheapest mix of two kinds, found here by
 * looking at all of them, and equal bit for bit whatever their number; their slope supports the
 * cost from below; rows that are settled stay so. */
#include "num/share_core.h"
#include "unit/num/share_world.h"

static struct world world; /* large */
static const uint32_t all_lanes[] = {1, 4, 8};
static uint8_t code[WORLD_JOBS_MAX + SHARE_BLOCK], plain[WORLD_JOBS_MAX + SHARE_BLOCK];
static bool opened[WORLD_JOBS_MAX + SHARE_BLOCK];
static uint32_t open_row[WORLD_JOBS_MAX + SHARE_BLOCK];

static double speed_of(const struct share_rows *rows, uint32_t kind, size_t row)
{
    return rows->a[kind * rows->stride + row];
}

static struct base_room room = {.alloc = &base_alloc_libc};

/* The world's jobs that can run somewhere. Each can reach speed 1; some just so, some are there
 * with one kind alone. */
static void make_rows(struct world *w, struct share_rows *out)
{
    struct base_rand *r = &w->rand;
    uint32_t kinds = w->p.kind_count;
    size_t count = 0;

    assert_int_equal(num_share_rows_reserve(&room, out, kinds, w->p.job_count), SHOAL_OK);
    for (size_t m = 0; m < w->p.job_count; m++) {
        const double *rate = w->rate + m * kinds;
        double top = 0, part = base_rand_range(r, 0.05, 1);
        size_t draw = base_rand_below(r, 5);
        for (uint32_t k = 0; k < kinds; k++)
            top = fmax(top, rate[k]);
        double at = draw == 0 ? top : draw == 1 ? rate[base_rand_below(r, kinds)] : part * top;
        if (at <= 0)
            continue;
        for (uint32_t k = 0; k < kinds; k++)
            out->a[k * out->stride + count] = rate[k] / at;
        out->g[count++] = w->gpus[m];
    }
    for (size_t i = count; i < out->count; i++) { /* as padding */
        out->g[i] = 0;
        for (uint32_t k = 0; k < kinds; k++)
            out->a[k * out->stride + i] = k == 0 ? 1e300 : 0;
    }
    out->count = count;
}

static void make_prices(struct world *w, double *out)
{
    for (uint32_t k = 0; k < w->p.kind_count; k++)
        out[k] = base_rand_below(&w->rand, 4) == 0 ? 0 : base_rand_range(&w->rand, 0, 1);
}

/* What an edge costs a row at speed t; INFINITY where it does not reach that. */
static double edge_cost(const struct share_rows *rows, size_t row, struct share_edge e,
                        const double *price, double t)
{
    double high = speed_of(rows, e.high, row), x_low, x_high;

    if (e.low == SHARE_ORIGIN)
        return high >= t ? price[e.high] * t / high : INFINITY;
    double low = speed_of(rows, e.low, row);
    if (low <= 0 || high <= 0 || (low < t) == (high < t))
        return INFINITY;
    share_mix(rows, row, e, t, &x_low, &x_high);
    return price[e.low] * x_low + price[e.high] * x_high;
}

static double least_cost(const struct share_rows *rows, size_t row, const struct share_edges *edges,
                         const double *price, double t)
{
    double least = INFINITY;

    for (uint32_t i = 0; i < rows->kinds * (rows->kinds + 1) / 2; i++)
        least = fmin(least, edge_cost(rows, row, edges->edge[i], price, t));
    return least;
}

static void claim_sums(const struct world *w, const struct share_answer *got,
                       const struct share_answer *want, double size, uint32_t lanes)
{
    WORLD_CLAIM(w, fabs(got->cost - want->cost) <= 1e-12 * size,
                "%u lanes: the cost is %.17g, should be %.17g", lanes, got->cost, want->cost);
    for (uint32_t k = 0; k < w->p.kind_count; k++)
        WORLD_CLAIM(w, fabs(got->use[k] - want->use[k]) <= 1e-12 * size,
                    "%u lanes: %.17g of kind %u, should be %.17g", lanes, got->use[k], k,
                    want->use[k]);
}

static void all_lanes_choose_the_cheapest_edge(void **state)
{
    struct share_rows rows = {0};

    (void)state;
    for (int i = 0; i < property_count(1000); i++) {
        double price[NUM_KINDS_MAX], size = 0;
        struct share_answer want = {0}, got;
        struct share_edges edges;
        world_make(&world, (uint64_t)i, 60);
        make_rows(&world, &rows);
        make_prices(&world, price);
        num_share_edges(rows.kinds, &edges);
        struct share_query query = {.price = price, .t = 1, .delta = 1};
        num_share_ask_find(1)(&rows, 0, share_padded(rows.count), &query, plain, NULL, NULL, &got);
        for (size_t m = 0; m < rows.count; m++) {
            struct share_edge e = edges.edge[plain[m]];
            double least = least_cost(&rows, m, &edges, price, 1), low, high;
            double cost = edge_cost(&rows, m, e, price, 1);
            WORLD_CLAIM(&world, fabs(cost - least) <= 1e-11,
                        "row %zu pays %.17g, the least is %.17g", m, cost, least);
            share_mix(&rows, m, e, 1, &low, &high);
            want.cost += rows.g[m] * cost;
            want.use[e.high] += rows.g[m] * high;
            if (e.low != SHARE_ORIGIN)
                want.use[e.low] += rows.g[m] * low;
            size += 100 * rows.g[m]; /* rounding grows as two speeds come close */
        }
        for (size_t l = 0; l < sizeof all_lanes / sizeof *all_lanes; l++) {
            num_share_ask_find(all_lanes[l])(&rows, 0, share_padded(rows.count), &query, code, NULL,
                                             NULL, &got);
            assert_memory_equal(code, plain, rows.count);
            claim_sums(&world, &got, &want, size, all_lanes[l]);
        }
    }
    base_room_fini(&room);
}

/* The certificate rests on this: cost is convex in t, and nowhere below its tangent. */
static void the_slope_supports_the_cost_from_below(void **state)
{
    struct share_rows rows = {0};

    (void)state;
    for (int i = 0; i < property_count(1000); i++) {
        double price[NUM_KINDS_MAX], size = 0;
        struct share_answer at, lower;
        uint32_t lanes = all_lanes[i % 3];
        world_make(&world, (uint64_t)i, 60);
        make_rows(&world, &rows);
        make_prices(&world, price);
        for (size_t m = 0; m < rows.count; m++)
            size += 100 * rows.g[m];
        struct share_query query = {.price = price, .t = 1, .delta = 1};
        num_share_ask_find(lanes)(&rows, 0, share_padded(rows.count), &query, NULL, NULL, NULL,
                                  &at);
        for (double t = 0.999999; t > 0.01; t *= 0.7) {
            query.t = t;
            num_share_ask_find(lanes)(&rows, 0, share_padded(rows.count), &query, NULL, NULL, NULL,
                                      &lower);
            double tangent = at.cost + at.slope * (t - 1);
            WORLD_CLAIM(&world, lower.cost >= tangent - 1e-12 * size,
                        "%u lanes: %.17g at speed %g, the tangent says %.17g", lanes, lower.cost, t,
                        tangent);
        }
    }
    base_room_fini(&room);
}

/* Settled rows, at prices and a speed moved as far as was said: none goes another way. Open ones
 * are marked, listed once and in order; the use of the others is linear in t. */
static void settled_rows_stay_as_they_are(void **state)
{
    struct share_rows rows = {0};
    size_t settled_count = 0, open_count = 0;

    (void)state;
    for (int i = 0; i < property_count(1000); i++) {
        double price[NUM_KINDS_MAX], moved[NUM_KINDS_MAX], use[NUM_KINDS_MAX] = {0}, size = 0;
        struct share_answer got, unused;
        struct share_edges edges;
        uint32_t lanes = all_lanes[i % 3];
        world_make(&world, (uint64_t)i, 60);
        make_rows(&world, &rows);
        make_prices(&world, price);
        num_share_edges(rows.kinds, &edges);
        double delta = base_rand_range(&world.rand, 0.001, 0.1);
        double t = 1 + (i % 2 == 0 ? delta : -delta) * base_rand_unit(&world.rand);
        for (uint32_t k = 0; k < rows.kinds; k++)
            moved[k] = price[k] * (1 + (base_rand_below(&world.rand, 2) == 0 ? delta : -delta));
        struct share_query query = {.price = price, .t = 1, .delta = delta};
        memset(opened, 0, sizeof opened);
        num_share_ask_find(lanes)(&rows, 0, share_padded(rows.count), &query, code, opened,
                                  open_row, &got);
        query = (struct share_query){.price = moved, .t = t, .delta = 1};
        num_share_ask_find(lanes)(&rows, 0, share_padded(rows.count), &query, plain, NULL, NULL,
                                  &unused);
        size_t next = 0;
        for (size_t m = 0; m < rows.count; m++) {
            bool listed = next < got.open && open_row[next] == m;
            WORLD_CLAIM(&world, listed == opened[m], "row %zu is %s", m,
                        listed ? "listed and not marked" : "marked and not listed");
            if (listed) {
                next++;
                open_count++;
                continue;
            }
            struct share_edge e = edges.edge[code[m]];
            double low, high;
            WORLD_CLAIM(&world, plain[m] == code[m], "row %zu is settled on %u and goes %u", m,
                        code[m], plain[m]);
            share_mix(&rows, m, e, t, &low, &high);
            use[e.high] += rows.g[m] * high;
            if (e.low != SHARE_ORIGIN)
                use[e.low] += rows.g[m] * low;
            size += 100 * rows.g[m];
            settled_count++;
        }
        for (uint32_t k = 0; k < rows.kinds; k++) {
            double linear = got.fixed0[k] + got.fixed1[k] * t;
            WORLD_CLAIM(&world, fabs(linear - use[k]) <= 1e-12 * size,
                        "settled rows use %.17g of kind %u, should be %.17g", linear, k, use[k]);
        }
        WORLD_CLAIM(&world, got.low <= t && t <= got.high, "speed %g is not in [%g, %g]", t,
                    got.low, got.high);
    }
    assert_true(settled_count > 1000 && open_count > 1000);
    base_room_fini(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_lanes_choose_the_cheapest_edge),
        cmocka_unit_test(the_slope_supports_the_cost_from_below),
        cmocka_unit_test(settled_rows_stay_as_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
