/* runs.h - measured runs: how long so many machines took for so many iterations, and how good the
 * model was then.
 *
 * From Shoal's own CSV (docs/advise.md) and from what `shoal train --json` prints; several files
 * are read as one set. What is read is right in itself: in a run iterations rise, times do not
 * fall. The rest is judged, not refused:
 *   - a row equal to the one before it, and a run equal in all its numbers to another of the same
 *     algorithm, machines and size, add nothing: they are counted and left out;
 *   - a run diverged when a loss is not finite, or when of six losses or more all of the later half
 *     are above the first and still rising: its times count, its losses do not, and its machine
 *     count is never advised.
 * Losses of any sign are taken as they are; lower is better.
 *
 * Owner thread only. Tests: tests/unit/advise/test_runs.c, tests/fuzz/fuzz_runs.c. */
#ifndef ADVISE_RUNS_H
#define ADVISE_RUNS_H

#include "base/arena.h"
#include "env/table.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    ADVISE_ALGORITHMS_MAX = 16,
    ADVISE_RUNS_MAX = 4096,
    ADVISE_POINTS_MAX = 2000000, /* of all runs */
    ADVISE_MACHINES_MAX = 100000,
    ADVISE_NAME_MAX = 63 /* bytes of an algorithm's or a run's name */
};

struct advise_point {
    double iteration, time_s; /* done so far, and since the start of training */
    double loss;              /* NAN: not measured here */
};

struct advise_run {
    uint32_t algorithm, machines;
    double size;       /* of the data, in a unit that all runs share; 1 when not stated */
    const char *label; /* "" when it has none */
    struct advise_point *points;
    size_t count, cap;
    size_t losses; /* finite ones */
    bool diverged;
    bool late; /* its losses do not begin at its start: what is above the first was passed before */
    bool copy; /* equal to an earlier run: counts for nothing */
};

/* How `shoal train` ran an algorithm, as its last run said it. */
struct advise_source {
    const char *app;      /* NULL: that is not known */
    const char *settings; /* of the application, "key=value" lines */
    uint32_t threads;     /* of each worker; 0: not known, or not the same in all runs */
};

struct advise_runs {
    const struct base_alloc *alloc;
    struct base_arena names;
    const char *algorithms[ADVISE_ALGORITHMS_MAX];
    struct advise_source sources[ADVISE_ALGORITHMS_MAX]; /* of each of them */
    uint32_t algorithm_count;
    struct advise_run *runs; /* in the order of the files */
    size_t count, cap;
    size_t point_count;
    size_t copies;      /* runs that are copies */
    size_t same_rows;   /* rows equal to the one before */
    size_t resumed;     /* runs of `shoal train` whose times begin where they went on */
    uint64_t hash;      /* of all bytes read, for reports */
    bool sizes_missing; /* some runs state a size and some do not */
    bool sized, unsized;
    char ignored[ENV_IGNORED_MAX]; /* columns that were not known, for a note; "": none */
};

void advise_runs_init(struct advise_runs *runs, const struct base_alloc *alloc);
void advise_runs_fini(struct advise_runs *runs); /* twice is allowed */

/* Adds the runs of a file; "-" is standard input. On failure `runs` may hold a part of them and is
 * only good for fini. */
SHOAL_MUST_USE shoal_status advise_runs_read(struct advise_runs *runs, shoal_env *env,
                                             const char *path, shoal_err *err);
/* After the last file: finds copies and what diverged. SHOAL_E_FORMAT when there is no run. */
SHOAL_MUST_USE shoal_status advise_runs_finish(struct advise_runs *runs, shoal_err *err);

/* ---- for readers ---- */

/* The run of that name, made when it is new; NULL: too many (err says so) or no memory. */
struct advise_run *advise_runs_find(struct advise_runs *runs, const char *algorithm,
                                    uint32_t machines, double size, const char *label,
                                    shoal_err *err);
/* Why a point cannot follow those of its run, in words, or NULL when it may. */
const char *advise_runs_order(const struct advise_run *run, const struct advise_point *point);
/* The point is in order. SHOAL_E_LIMIT, SHOAL_E_NOMEM. */
SHOAL_MUST_USE shoal_status advise_runs_add(struct advise_runs *runs, struct advise_run *run,
                                            const struct advise_point *point, shoal_err *err);

#endif
