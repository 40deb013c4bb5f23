/* torture.h - does every failed allocation end in a clean error?
 *
 * A scenario is a function that makes something from the allocator it is given, uses it, and frees
 * all of it, also when it stops half way. torture_run calls it again and again: first with no
 * failure, when it must return SHOAL_OK; then with allocation 1 refused, then 2, 3, ... until a run
 * asks for fewer than that; and all of it once more with that allocation and every later one
 * refused, as when memory has really run out. Each run must return SHOAL_E_NOMEM, or SHOAL_OK where
 * the code did without, and leave nothing allocated. The failure message names the allocation to
 * break on.
 *
 *     static shoal_status fill_a_map(const struct base_alloc *alloc, void *ctx)
 *     {
 *         struct base_map map;
 *         base_map_init(&map, alloc);
 *         shoal_status st = base_map_add(&map, "a", 1, 1, NULL);
 *         base_map_fini(&map);
 *         return st;
 *     }
 *     ...
 *     torture_run(fill_a_map, NULL);
 *
 * Scenarios over an env make one with env_sim_new(alloc, ...), or keep a finished one in `ctx` and
 * set its `alloc` for the call (memory of the world itself then stays out of the count). A scenario
 * must not assert, or what it holds leaks past a failure; it returns SHOAL_E_INTERNAL when
 * something is wrong, which torture_run reports. It must not write to `ctx` what a later run reads.
 *
 * Cost: one run per allocation of the scenario and mode. For long scenarios torture_run_sampled
 * refuses each of the first `dense` allocations and then steps by 1/16 of the position. */
#ifndef TESTS_TORTURE_H
#define TESTS_TORTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "shoal/status.h"

typedef shoal_status torture_scenario(const struct base_alloc *alloc, void *ctx);

/* One run; returns how many allocations were refused. */
static inline uint64_t torture_once(torture_scenario *scenario, void *ctx, uint64_t fail_at,
                                    int fail_after)
{
    struct base_alloc_track track;
    base_alloc_track_init(&track, &base_alloc_libc);
    track.fail_at = fail_at;
    track.fail_after = fail_after;
    shoal_status st = scenario(&track.alloc, ctx);
    const char *mode = fail_after ? "and all later ones" : "alone";
    unsigned long long at = (unsigned long long)fail_at;
    if (track.live_count != 0)
        fail_msg("allocation %llu refused %s: %zu blocks (%zu bytes) are left behind", at, mode,
                 track.live_count, track.live_bytes);
    if (st != SHOAL_OK && (st != SHOAL_E_NOMEM || track.failed == 0))
        fail_msg("allocation %llu refused %s (%llu refused in all): returned %s", at, mode,
                 (unsigned long long)track.failed, shoal_status_name(st));
    return track.failed;
}

static inline void torture_run_sampled(torture_scenario *scenario, void *ctx, uint64_t dense)
{
    assert_int_equal(torture_once(scenario, ctx, 0, 0), 0);
    for (int fail_after = 0; fail_after <= 1; fail_after++) {
        uint64_t at = 1;
        while (torture_once(scenario, ctx, at, fail_after) > 0)
            at += at < dense ? 1 : 1 + at / 16;
    }
}

static inline void torture_run(torture_scenario *scenario, void *ctx)
{
    torture_run_sampled(scenario, ctx, UINT64_MAX);
}

#endif
