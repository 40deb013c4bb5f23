/* Tests of src/gen/draw.c and draw.h. */
#include "unit/data/data_world.h"

#include "gen/draw.h"
#include <math.h>

static void powers_and_logarithms_are_close(void **state)
{
    (void)state;
    for (double x = -60; x < 60; x += 0.037)
        assert_true(fabs(gen_draw_exp2(x) / exp2(x) - 1) < 1e-9);
    for (double x = 1; x < 1e12; x *= 1.37)
        assert_true(fabs(gen_draw_log2(x) - log2(x)) < 1e-12 * (1 + log2(x)));
}

/* Mean, deviation and the share within one deviation, 200,000 draws: tolerances are five errors and
 * the known difference from the normal distribution. */
static void normals_are_nearly_normal(void **state)
{
    enum { COUNT = 200000 };
    struct gen_draw draw = gen_draw_of(1, 2);

    (void)state;
    for (int rough = 0; rough < 2; rough++) {
        double sum = 0, squares = 0;
        int within = 0;
        for (int i = 0; i < COUNT; i++) {
            double x = rough ? gen_draw_rough_normal(gen_draw_u64(&draw)) : gen_draw_normal(&draw);
            sum += x;
            squares += x * x;
            within += fabs(x) < 1;
        }
        assert_true(fabs(sum / COUNT) < 0.012);
        assert_true(fabs(squares / COUNT - 1) < 0.016);
        assert_true(fabs((double)within / COUNT - 0.6827) < 0.02);
    }
}

static void ranks_follow_the_power_law(void **state)
{
    enum { COUNT = 1000, DRAWS = 1000000 };
    static int times[COUNT];
    struct gen_zipf *zipf = malloc(sizeof *zipf);
    struct gen_draw draw = gen_draw_of(3, 4);
    const double shift = 30;

    (void)state;
    gen_zipf_init(zipf, COUNT, shift);
    for (int i = 0; i < DRAWS; i++)
        times[gen_zipf_rank(zipf, gen_draw_u64(&draw))]++;
    for (int rank = 0; rank < COUNT; rank += 37) {
        double expected = DRAWS * log((rank + 1 + shift) / (rank + shift)) / log(1 + COUNT / shift);
        /* five deviations and the straight pieces of the table */
        assert_true(fabs(times[rank] - expected) < 5 * sqrt(expected) + 0.02 * expected);
    }
    assert_int_equal(gen_zipf_rank(zipf, UINT64_MAX), COUNT - 1);
    assert_int_equal(gen_zipf_rank(zipf, 0), 0);
    free(zipf);
}

static void scattering_is_one_to_one(void **state)
{
    const uint32_t counts[] = {1, 2, 3, 7, 10, 100, 4096, 10677, 99991};

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        bool *seen = calloc(counts[i], sizeof *seen);
        struct gen_scatter s;
        gen_scatter_init(&s, counts[i], 0x123456789abcdef0u + i);
        for (uint32_t rank = 0; rank < counts[i]; rank++) {
            uint32_t at = gen_scatter_at(&s, rank);
            assert_true(at < counts[i] && !seen[at]);
            seen[at] = true;
        }
        free(seen);
    }
    struct gen_scatter s;
    gen_scatter_init(&s, 2147483647, UINT64_MAX);
    for (uint32_t rank = 2147483646; rank > 2147483000; rank--)
        assert_true(gen_scatter_at(&s, rank) == (rank * s.factor + s.offset) % 2147483647);
}

static void ranks_of_a_set_are_different_even_when_all_are_taken(void **state)
{
    struct gen_rank_set set;
    struct gen_zipf *zipf = malloc(sizeof *zipf);
    struct gen_draw draw = gen_draw_of(5, 6);

    (void)state;
    gen_zipf_init(zipf, 100, 2);
    assert_int_equal(gen_rank_set_init(&set, &base_alloc_libc, 100), 0);
    set.round = UINT32_MAX - 2;
    for (int round = 0; round < 5; round++) {
        bool seen[100] = {0};
        gen_rank_set_clear(&set);
        for (int i = 0; i < 100; i++) {
            uint64_t bits;
            uint32_t rank = gen_rank_set_draw(&set, zipf, &draw, &bits);
            assert_true(rank < 100 && !seen[rank]);
            seen[rank] = true;
        }
    }
    base_free(&base_alloc_libc, set.slot);
    free(zipf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(powers_and_logarithms_are_close),
        cmocka_unit_test(normals_are_nearly_normal),
        cmocka_unit_test(ranks_follow_the_power_law),
        cmocka_unit_test(scattering_is_one_to_one),
        cmocka_unit_test(ranks_of_a_set_are_different_even_when_all_are_taken),
    };
    return cmocka_run_group_tests_name("data/gen_draw", tests, NULL, NULL);
}
