/* effects.c - what follows from the runs of a study: differences to the base line, which of them are
 * luck, and how far they vary between draws. Tests: tests/unit/study/test_advice.c, test_run.c. */
#include "study/study.h"

#include <math.h>

double study_waited_s(const struct study *study, enum study_run_id run, uint32_t why)
{
    return study->runs[run].possible ? study->runs[run].tally.delays[STUDY_ALL][why].total_s : NAN;
}

static double ratio_of(double base, double now)
{
    return now > 0 ? base / now : base > 0 ? INFINITY : 1;
}

double study_fragmentation_ratio(const struct study *study, enum study_run_id run)
{
    double base = study_waited_s(study, STUDY_BASE, SIM_WAIT_LOCALITY);
    double now = study_waited_s(study, run, SIM_WAIT_LOCALITY);

    return isnan(now) ? NAN : ratio_of(base, now);
}

double study_luck_s(const struct study *study, uint32_t why)
{
    double least = study_waited_s(study, STUDY_BASE, why), most = least;

    for (size_t i = 0; i < STUDY_ECHOES; i++) {
        double waited = study->echoes[i].tally.delays[STUDY_ALL][why].total_s;
        least = fmin(least, waited);
        most = fmax(most, waited);
    }
    return most - least;
}

double study_luck_gpu_s(const struct study *study)
{
    double least = study->runs[STUDY_BASE].tally.held_gpu_s, most = least;

    for (size_t i = 0; i < STUDY_ECHOES; i++) {
        least = fmin(least, study->echoes[i].tally.held_gpu_s);
        most = fmax(most, study->echoes[i].tally.held_gpu_s);
    }
    return most - least;
}

static double saved_of(const struct study_run *runs, enum study_run_id run, double pool_gpu_s)
{
    bool trials = (study_guidelines[run].changes & STUDY_TRIALS) != 0;

    return runs[STUDY_BASE].tally.held_gpu_s - runs[run].tally.held_gpu_s -
           (trials ? pool_gpu_s : 0);
}

double study_saved_gpu_s(const struct study *study, enum study_run_id run)
{
    return study->runs[run].possible ? saved_of(study->runs, run, study->pool_gpu_s) : NAN;
}

/* ---- over the draws ---- */

static void widen(struct study_range *range, double value)
{
    range->least = fmin(range->least, value);
    range->most = fmax(range->most, value);
}

typedef double (*draw_fn)(const struct study_run *runs, enum study_run_id run, double pool_gpu_s);

static struct study_range range_of(const struct study *study, enum study_run_id run, double first,
                                   draw_fn of)
{
    struct study_range range = {first, first};

    for (uint32_t d = 0; d < study->more_count && study->runs[run].possible; d++)
        widen(&range, of(study->more[d].runs, run, study->more[d].pool_gpu_s));
    return range;
}

struct study_range study_saved_range(const struct study *study, enum study_run_id run)
{
    return range_of(study, run, study_saved_gpu_s(study, run), saved_of);
}

static double less_of(const struct study_run *runs, enum study_run_id run, uint32_t why)
{
    return runs[STUDY_BASE].tally.delays[STUDY_ALL][why].total_s -
           runs[run].tally.delays[STUDY_ALL][why].total_s;
}

struct study_range study_less_waiting(const struct study *study, enum study_run_id run,
                                      uint32_t why)
{
    double first = study->runs[run].possible ? less_of(study->runs, run, why) : NAN;
    struct study_range range = {first, first};

    for (uint32_t d = 0; d < study->more_count && study->runs[run].possible; d++)
        widen(&range, less_of(study->more[d].runs, run, why));
    return range;
}

struct study_range study_ratio_range(const struct study *study, enum study_run_id run)
{
    double first = study_fragmentation_ratio(study, run);
    struct study_range range = {first, first};

    for (uint32_t d = 0; d < study->more_count && !isnan(first); d++) {
        const struct study_run *runs = study->more[d].runs;
        widen(&range, ratio_of(runs[STUDY_BASE].tally.delays[STUDY_ALL][SIM_WAIT_LOCALITY].total_s,
                               runs[run].tally.delays[STUDY_ALL][SIM_WAIT_LOCALITY].total_s));
    }
    return range;
}

struct study_range study_lost_range(const struct study *study)
{
    double first = study->runs[STUDY_BASE].books.lost_gpu_s;
    struct study_range range = {first, first};

    for (uint32_t d = 0; d < study->more_count; d++)
        widen(&range, study->more[d].runs[STUDY_BASE].books.lost_gpu_s);
    return range;
}

bool study_is_unsure(struct study_range range)
{
    return range.least < 0 && range.most > 0;
}

/* ---- work not run, and luck ---- */

static double spared_of(const struct study_run *runs, enum study_run_id run, double pool_gpu_s)
{
    bool trials = (study_guidelines[run].changes & STUDY_TRIALS) != 0;

    return runs[run].books.saved_gpu_s - (trials ? pool_gpu_s : 0);
}

double study_spared_gpu_s(const struct study *study, enum study_run_id run)
{
    return study->runs[run].possible ? spared_of(study->runs, run, study->pool_gpu_s) : NAN;
}

struct study_range study_spared_range(const struct study *study, enum study_run_id run)
{
    return range_of(study, run, study_spared_gpu_s(study, run), spared_of);
}

bool study_waited_is_luck(const struct study *study, enum study_run_id run, uint32_t why)
{
    double more = study_waited_s(study, run, why) - study_waited_s(study, STUDY_BASE, why);

    return more != 0 && (fabs(more) <= study_luck_s(study, why) ||
                         study_is_unsure(study_less_waiting(study, run, why)));
}

bool study_saved_is_luck(const struct study *study, enum study_run_id run)
{
    double saved = study_saved_gpu_s(study, run);

    return saved != 0 && (fabs(saved) <= study_luck_gpu_s(study) ||
                          study_is_unsure(study_saved_range(study, run)));
}
