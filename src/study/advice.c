/* advice.c - what follows from the runs of a study: differences to the base line, which of them are luck, which
 * guideline to begin with, and the findings in words.
 *
 * Differences under one in a hundred are called none. A finding that the base line does not have is said,
 * too: "no job waited" is an answer. What may be luck is never advised. Tests: tests/unit/study/test_advice.c,
 * test_run.c. */
#include "study/study.h"

#include "base/text.h"
#include "page/show.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double SAME = 0.01, WORTH_WAIT = 0.9, WORTH_GPU = 1e-3, NEARLY = 0.9, ASKED_FOR = 3;
static const double CAUSE = 0.05; /* of all waiting: what is less is no cause to act on */

/* ---- differences to the base line ---- */

double study_waited_s(const struct study *study, enum study_run_id run, uint32_t why)
{
    return study->runs[run].possible ? study->runs[run].tally.delays[STUDY_ALL][why].total_s : NAN;
}

/* GPU time held, beside the reasons to wait. */
enum { HELD = STUDY_WAITS + 1 };

static double amount_of(const struct study_run *run, uint32_t what)
{
    return what == HELD ? run->tally.held_gpu_s : run->tally.delays[STUDY_ALL][what].total_s;
}

static double luck_of(const struct study *study, uint32_t what)
{
    double least = amount_of(&study->runs[STUDY_BASE], what), most = least;

    for (size_t i = 0; i < STUDY_ECHOES; i++) {
        least = fmin(least, amount_of(&study->echoes[i], what));
        most = fmax(most, amount_of(&study->echoes[i], what));
    }
    return most - least;
}

double study_luck_s(const struct study *study, uint32_t why)
{
    return luck_of(study, why);
}

double study_luck_gpu_s(const struct study *study)
{
    return luck_of(study, HELD);
}

/* A run beside the base line, in one draw. */
struct pair {
    const struct study_run *base, *run;
    double pool_gpu_s; /* held for its trials */
    uint32_t what;
};

typedef double (*figure_fn)(const struct pair *p);

static double figure_in(const struct study *study, uint32_t draw, enum study_run_id run,
                        uint32_t what, figure_fn of)
{
    const struct study_draw *more = draw > 0 ? &study->more[draw - 1] : NULL;
    const struct study_run *runs = more != NULL ? more->runs : study->runs;
    bool trials = (study_guidelines[run].changes & STUDY_TRIALS) != 0;
    double pool_gpu_s = more != NULL ? more->pool_gpu_s : study->pool_gpu_s;
    struct pair p = {&runs[STUDY_BASE], &runs[run], trials ? pool_gpu_s : 0, what};

    return study->runs[run].possible ? of(&p) : NAN;
}

static struct study_range range_of(const struct study *study, enum study_run_id run, uint32_t what,
                                   figure_fn of)
{
    double first = figure_in(study, 0, run, what, of);
    struct study_range range = {first, first};

    for (uint32_t d = 1; d <= study->more_count; d++) {
        double value = figure_in(study, d, run, what, of);
        range.least = fmin(range.least, value);
        range.most = fmax(range.most, value);
    }
    return range;
}

/* What is less than in the base line; of GPU time, with what is held for trials. */
static double less_of(const struct pair *p)
{
    return amount_of(p->base, p->what) - amount_of(p->run, p->what) -
           (p->what == HELD ? p->pool_gpu_s : 0);
}

static double spared_of(const struct pair *p)
{
    return p->run->books.saved_gpu_s - p->pool_gpu_s;
}

static double ratio_of(const struct pair *p)
{
    double base = amount_of(p->base, p->what), now = amount_of(p->run, p->what);

    return now > 0 ? base / now : base > 0 ? INFINITY : 1;
}

static double lost_of(const struct pair *p)
{
    return p->run->books.lost_gpu_s;
}

double study_fragmentation_ratio(const struct study *study, enum study_run_id run)
{
    return figure_in(study, 0, run, SIM_WAIT_LOCALITY, ratio_of);
}

struct study_range study_ratio_range(const struct study *study, enum study_run_id run)
{
    return range_of(study, run, SIM_WAIT_LOCALITY, ratio_of);
}

double study_saved_gpu_s(const struct study *study, enum study_run_id run)
{
    return figure_in(study, 0, run, HELD, less_of);
}

struct study_range study_saved_range(const struct study *study, enum study_run_id run)
{
    return range_of(study, run, HELD, less_of);
}

double study_spared_gpu_s(const struct study *study, enum study_run_id run)
{
    return figure_in(study, 0, run, HELD, spared_of);
}

struct study_range study_spared_range(const struct study *study, enum study_run_id run)
{
    return range_of(study, run, HELD, spared_of);
}

struct study_range study_lost_range(const struct study *study)
{
    return range_of(study, STUDY_BASE, HELD, lost_of);
}

/* Draws do not even agree on its sign. */
static bool is_unsure(struct study_range range)
{
    return range.least < 0 && range.most > 0;
}

bool study_waited_is_luck(const struct study *study, enum study_run_id run, uint32_t why)
{
    double more = study_waited_s(study, run, why) - study_waited_s(study, STUDY_BASE, why);

    return more != 0 && (fabs(more) <= study_luck_s(study, why) ||
                         is_unsure(range_of(study, run, why, less_of)));
}

bool study_saved_is_luck(const struct study *study, enum study_run_id run)
{
    double saved = study_saved_gpu_s(study, run);

    return saved != 0 &&
           (fabs(saved) <= study_luck_gpu_s(study) || is_unsure(study_saved_range(study, run)));
}

const char *study_hours(double seconds, char *buf, size_t size)
{
    double hours = seconds / 3600, whole = fabs(hours);
    char count[32];

    if (isnan(hours))
        snprintf(buf, size, "-");
    else if (whole >= 99.95)
        snprintf(buf, size, "%s%s", hours < 0 ? "-" : "",
                 base_format_count((uint64_t)(whole + 0.5), count, sizeof count));
    else
        snprintf(buf, size, whole >= 9.995 ? "%.1f" : whole > 0 ? "%.2f" : "%.0f", hours);
    return buf;
}

/* ---- money ---- */

double study_usd_gpu_h(const struct study *study)
{
    const struct sched_cluster *c = study->cluster;
    double usd = 0;

    if (c == NULL)
        return NAN;
    for (uint32_t k = 0; k < c->kind_count; k++)
        usd += c->kinds[k].usd_gpu_h < 0 ? NAN : c->kinds[k].usd_gpu_h * c->kinds[k].gpus;
    return usd > 0 ? usd / c->gpus : NAN;
}

double study_usd(const struct study *study, double gpu_s)
{
    return gpu_s / 3600 * study_usd_gpu_h(study);
}

double study_wasted_gpu_s(const struct study *study)
{
    const struct study_run *base = &study->runs[STUDY_BASE];

    return base->books.lost_gpu_s + base->tally.slow_all_gpu_s;
}

/* ---- which ---- */

const char *study_quota_words(const struct study *study)
{
    return study->quotas.none || study->quotas.given
               ? ""
               : "quotas assumed by share of GPU time, as none were given (--quotas)";
}

/* Of the jobs of a size, those that waited for places close together. */
static double met_share(const struct study *study, uint32_t size)
{
    return (double)study->runs[STUDY_BASE].tally.delays[size][SIM_WAIT_LOCALITY].jobs /
           (double)study->jobs.sizes[size];
}

uint32_t study_worst_size(const struct study *study)
{
    uint32_t worst = STUDY_SIZES;

    for (uint64_t least = STUDY_FEW; worst == STUDY_SIZES; least = 1) {
        double most = 0;
        for (uint32_t s = 0; s < STUDY_SIZES; s++)
            if (study->jobs.sizes[s] >= least && met_share(study, s) > most) {
                most = met_share(study, s);
                worst = s;
            }
        if (least == 1)
            break;
    }
    return worst;
}

/* The size whose jobs wait for it most hours together. */
static uint32_t longest_size(const struct study *study, enum study_run_id run)
{
    const struct study_tally *t = &study->runs[run].tally;
    uint32_t longest = 0;

    for (uint32_t s = 1; s < STUDY_SIZES; s++)
        if (t->delays[s][SIM_WAIT_LOCALITY].total_s > t->delays[longest][SIM_WAIT_LOCALITY].total_s)
            longest = s;
    return longest;
}

/* Within a hundredth of the utilisation of the base line, or above. */
static bool as_useful(const struct study *study, enum study_run_id run)
{
    return study->runs[run].possible && study->runs[run].tally.utilization >=
                                            (1 - SAME) * study->runs[STUDY_BASE].tally.utilization;
}

/* Costs nobody: neither use nor waiting, that for trials and in them included. */
static bool is_free(const struct study *study, enum study_run_id run)
{
    double base = study_waited_s(study, STUDY_BASE, STUDY_WAITS);

    return as_useful(study, run) &&
           study_waited_s(study, run, STUDY_WAITS) + study->runs[run].tally.trial_s <=
               base + fmax(SAME * base, study_luck_s(study, STUDY_WAITS));
}

/* Less waiting for locality than this is an effect. */
static double worth_wait_s(const struct study *study)
{
    double base = study_waited_s(study, STUDY_BASE, SIM_WAIT_LOCALITY);

    return fmin(WORTH_WAIT * base, base - study_luck_s(study, SIM_WAIT_LOCALITY));
}

/* GPU time that a guideline saves by more than luck and in every draw. 0: less than is worth a word. */
static double sure_gpu_s(const struct study *study, enum study_run_id run)
{
    double saved = study_saved_gpu_s(study, run);

    return !study_saved_is_luck(study, run) &&
                   saved > WORTH_GPU * study->runs[STUDY_BASE].tally.held_gpu_s
               ? saved
               : 0;
}

static bool about_work(enum study_run_id run)
{
    return study_guidelines[run].changes != 0;
}

/* The one that saves most GPU time, of those for which bit about_work of `sorts` is set; of those that save
 * nearly as much, the one with the least waiting. */
static enum study_run_id best_saver(const struct study *study, uint32_t sorts)
{
    enum study_run_id best = STUDY_BASE;
    double most = 0;

    for (uint32_t pass = 0; pass < 2; pass++)
        for (enum study_run_id r = STUDY_BASE + 1; r < STUDY_TOGETHER; r++) {
            if ((sorts >> about_work(r) & 1) == 0 || !is_free(study, r))
                continue;
            double saved = sure_gpu_s(study, r);
            if (pass == 0 ? saved > most
                          : saved > NEARLY * most && study_waited_s(study, r, STUDY_WAITS) <
                                                         study_waited_s(study, best, STUDY_WAITS))
                best = r;
            most = fmax(most, saved);
        }
    return best;
}

/* A run's waiting for locality is enough of its waiting to be a cause. */
static bool is_cause(const struct study *study, enum study_run_id run)
{
    return study_waited_s(study, run, SIM_WAIT_LOCALITY) >=
           CAUSE * study_waited_s(study, run, STUDY_WAITS);
}

/* Jobs wait less for locality in every draw, and by more than luck in the first. */
static bool cuts_waiting(const struct study *study, enum study_run_id run)
{
    return is_cause(study, STUDY_BASE) &&
           study_waited_s(study, run, SIM_WAIT_LOCALITY) < worth_wait_s(study) &&
           range_of(study, run, SIM_WAIT_LOCALITY, less_of).least > 0;
}

/* The one with the least waiting for locality, where that is an effect. */
static enum study_run_id best_placer(const struct study *study)
{
    enum study_run_id best = STUDY_BASE;
    double least = INFINITY;

    for (enum study_run_id r = STUDY_BASE + 1; r < STUDY_TOGETHER; r++)
        if (is_free(study, r) && cuts_waiting(study, r) &&
            study_waited_s(study, r, SIM_WAIT_LOCALITY) < least) {
            least = study_waited_s(study, r, SIM_WAIT_LOCALITY);
            best = r;
        }
    return best;
}

/* GPU time first: hours of waiting may be few, whatever share of them goes. */
enum study_run_id study_first_step(const struct study *study)
{
    enum study_run_id saver = best_saver(study, 3);

    return saver != STUDY_BASE ? saver : best_placer(study);
}

enum study_run_id study_second_step(const struct study *study)
{
    enum study_run_id first = study_first_step(study);

    return first == STUDY_BASE ? STUDY_BASE : best_saver(study, about_work(first) ? 1 : 2);
}

/* ---- sentences ---- */

static const char *share_text(double share, char *buf, size_t size)
{
    if (share > 0 && share < 0.0005)
        return "under 0.1 %";
    snprintf(buf, size, share < 0.0995 && share > 0 ? "%.1f %%" : "%.0f %%", 100 * share);
    return buf;
}

/* Parts of a sentence, which live as long as the block that they stand in. */
#define HOURS(seconds) study_hours(seconds, (char[48]){""}, 48)
#define SHARE(share)   share_text(share, (char[32]){""}, 32)
#define MONEY(usd)     page_unit_text(SHOAL_UNIT_USD, usd, (char[48]){""}, 48)
#define COUNT(count)   base_format_count(count, (char[32]){""}, 32)
#define TIME(seconds)  base_format_duration(seconds, (char[48]){""}, 48)

/* " (506 to 640 in 3 draws)", where they differ as they are written. */
static void put_range(struct base_buf *out, const struct study *study, struct study_range range)
{
    const char *least = HOURS(range.least), *most = HOURS(range.most);

    if (study->more_count > 0 && strcmp(least, most) != 0)
        base_buf_printf(out, " (%s to %s in %u draws)", least, most, study->more_count + 1);
}

/* " (3.9 to 5.1 in 3 draws)", " (at least 3.9 times less in 3 draws)" */
static void put_times_range(struct base_buf *out, const struct study *study,
                            struct study_range range)
{
    if (study->more_count == 0 || !(range.least < range.most))
        return;
    base_buf_printf(out, " (%s%.*f", isinf(range.most) ? "at least " : "", range.least < 9.95,
                    range.least);
    if (isinf(range.most))
        base_buf_puts(out, " times less");
    else
        base_buf_printf(out, " to %.*f", range.most < 9.95, range.most);
    base_buf_printf(out, " in %u draws)", study->more_count + 1);
}

/* The size that fragmentation meets most often, and that with most hours where it is another. Tails of few
 * jobs are not told. */
static void put_worst(const struct study *study, uint32_t worst, struct base_buf *out)
{
    const struct study_tally *t = &study->runs[STUDY_BASE].tally;
    const struct study_delay *row = &t->delays[worst][SIM_WAIT_LOCALITY];
    uint32_t longest = longest_size(study, STUDY_BASE);

    base_buf_printf(out,
                    " Fragmentation meets jobs of %s GPU%s most often: %s of them (%s), for %s "
                    "hours together",
                    study_size_names[worst], worst == 0 ? "" : "s", SHARE(met_share(study, worst)),
                    COUNT(row->jobs), HOURS(row->total_s));
    if (row->jobs >= STUDY_FEW)
        base_buf_printf(out, ", half of those it met for %s or more, one in twenty for %s or more",
                        TIME(row->p50_s), TIME(row->p95_s));
    if (longest != worst)
        base_buf_printf(out, "; most hours, %s, are of jobs of %s GPU%s",
                        HOURS(t->delays[longest][SIM_WAIT_LOCALITY].total_s),
                        study_size_names[longest], longest == 0 ? "" : "s");
    base_buf_puts(out, ".");
}

void study_say_waiting(const struct study *study, struct base_buf *out)
{
    const struct study_delay *all = study->runs[STUDY_BASE].tally.delays[STUDY_ALL];
    double total = all[STUDY_WAITS].total_s, quota = all[SIM_WAIT_FAIR_SHARE].total_s;
    double capacity = all[SIM_WAIT_CAPACITY].total_s;
    uint32_t worst = study_worst_size(study);

    if (!(total > 0)) {
        base_buf_puts(out, "No job waited.");
        return;
    }
    base_buf_printf(out,
                    "Jobs waited %s hours in all: %s of it while enough GPUs were free but "
                    "scattered (fragmentation), %s because their group had used its%s quota and "
                    "others had not (fair share), %s because too few were free at all (capacity), "
                    "%s until the next decision (next round).",
                    HOURS(total), SHARE(all[SIM_WAIT_LOCALITY].total_s / total),
                    SHARE(quota / total), *study_quota_words(study) != '\0' ? " assumed" : "",
                    SHARE(capacity / total), SHARE(all[SIM_WAIT_OTHER].total_s / total));
    if (quota + capacity > total / 2)
        base_buf_printf(out,
                        " Most of it is for lack of %s; placement helps there only by ending jobs "
                        "sooner.",
                        quota > capacity ? "quota" : "GPUs");
    if (worst != STUDY_SIZES)
        put_worst(study, worst, out);
}

static double sum4(const double *values)
{
    return values[0] + values[1] + values[2] + values[3];
}

void study_say_speed(const struct study *study, struct base_buf *out)
{
    const struct study_tally *t = &study->runs[STUDY_BASE].tally;

    if (!(t->slow_all_gpu_s > 0))
        base_buf_puts(out,
                      "No job was slowed down by where it ran: none was on more servers than it "
                      "needs or beside another job of several GPUs.");
    else
        base_buf_printf(out,
                        "By the model, jobs lost %s GPU-hours of speed (%s of the GPU time held) "
                        "to where they ran: %s of GPU time was on more servers than needed, %s "
                        "beside another job of several GPUs.",
                        HOURS(t->slow_all_gpu_s), SHARE(t->slow_all_gpu_s / t->held_gpu_s),
                        SHARE(sum4(t->spread_gpu_s) / t->held_gpu_s),
                        SHARE(sum4(t->beside_gpu_s) / t->held_gpu_s));
}

static uint32_t most_of(const struct study *study, bool jobs)
{
    uint32_t most = 0;

    for (uint32_t c = 1; c < STUDY_CLASSES; c++)
        if (jobs ? study->lost[c].jobs > study->lost[most].jobs
                 : study->lost[c].lost_gpu_s > study->lost[most].lost_gpu_s)
            most = c;
    return most;
}

void study_say_failures(const struct study *study, struct base_buf *out)
{
    const struct study_books *b = &study->runs[STUDY_BASE].books;
    uint64_t unsuccessful = study->unsuccessful[STUDY_ALL];

    if (study->opts.failures == SHOAL_STUDY_FAILURES_NONE) {
        base_buf_puts(out, "Failures are left out of this study");
        if (study->few)
            base_buf_printf(out,
                            ": %zu job%s too few for a model of how often they come, which needs "
                            "%d",
                            study->jobs.count, study->jobs.count == 1 ? " is" : "s are", STUDY_FEW);
        base_buf_puts(out, ".");
        return;
    }
    if (!(b->lost_gpu_s > 0)) {
        base_buf_puts(out, "By the model, no job failed.");
        return;
    }
    base_buf_printf(out, "By the model, %s of the jobs (%s) ended unsuccessful, and %s GPU-hours",
                    SHARE((double)unsuccessful / (double)study->jobs.count), COUNT(unsuccessful),
                    HOURS(b->lost_gpu_s));
    put_range(out, study, study_lost_range(study));
    base_buf_printf(out,
                    ", %s of the time recorded, went to attempts that failed; most jobs failed of "
                    "%s, most GPU time was lost to %s.",
                    SHARE(b->lost_gpu_s / b->recorded_gpu_s),
                    study_classes[most_of(study, true)].name,
                    study_classes[most_of(study, false)].name);
}

/* " (506 to 640 in 3 draws)"; of money, and then the GPU-hours with it. */
static void put_saved(const struct study *study, enum study_run_id run, struct base_buf *out)
{
    struct study_range range = study_saved_range(study, run);
    double saved = study_saved_gpu_s(study, run), usd = study_usd(study, saved);

    if (isnan(usd)) {
        base_buf_printf(out, "%s GPU-hours", HOURS(saved));
        put_range(out, study, range);
    } else {
        base_buf_printf(out, "%s (%s GPU-hours", MONEY(usd), HOURS(saved));
        if (study->more_count > 0 && range.least < range.most)
            base_buf_printf(out, "; %s to %s in %u draws", MONEY(study_usd(study, range.least)),
                            MONEY(study_usd(study, range.most)), study->more_count + 1);
        base_buf_puts(out, ")");
    }
    base_buf_puts(out, " are saved");
}

static void put_effect(const struct study *study, enum study_run_id run, struct base_buf *out)
{
    double base = study_waited_s(study, STUDY_BASE, SIM_WAIT_LOCALITY);
    double now = study_waited_s(study, run, SIM_WAIT_LOCALITY);
    double all_base = study_waited_s(study, STUDY_BASE, STUDY_WAITS);
    double all_now = study_waited_s(study, run, STUDY_WAITS) + study->runs[run].tally.trial_s;
    const char *between = "";

    if (sure_gpu_s(study, run) > 0) {
        put_saved(study, run, out);
        between = "; ";
    }
    if (cuts_waiting(study, run)) {
        base_buf_printf(out, "%sfragmentation waiting falls from %s to %s hours", between,
                        HOURS(base), HOURS(now));
        between = "; ";
    }
    if (all_base - all_now > study_luck_s(study, STUDY_WAITS) && all_now < WORTH_WAIT * all_base &&
        range_of(study, run, STUDY_WAITS, less_of).least > 0)
        base_buf_printf(out, "%sall waiting falls from %s to %s hours", between, HOURS(all_base),
                        HOURS(all_now));
    if (is_cause(study, run) && now - base > study_luck_s(study, SIM_WAIT_LOCALITY) &&
        WORTH_WAIT * now > base)
        base_buf_printf(out, "; but fragmentation waiting grows from %s to %s hours", HOURS(base),
                        HOURS(now));
}

/* "migrate to defragment (what an operator does): what comes of it." */
static void put_step(const struct study *study, enum study_run_id run, struct base_buf *out)
{
    base_buf_printf(out, "%s (%s): ", study_guidelines[run].name, study_guidelines[run].doing);
    put_effect(study, run, out);
    base_buf_puts(out, ".");
}

void study_say_first(const struct study *study, struct base_buf *out)
{
    enum study_run_id first = study_first_step(study);

    if (first == STUDY_BASE) {
        base_buf_puts(out,
                      "No guideline is worth beginning with on this trace: none cuts "
                      "fragmentation waiting by a tenth or saves a thousandth of the GPU time, "
                      "by more than luck and in every draw, without costing use or waiting.");
    } else {
        base_buf_puts(out, "Do first: ");
        put_step(study, first, out);
    }
    if (study->few)
        base_buf_printf(out,
                        " This is a study of %zu job%s: differences are of single jobs, and "
                        "failures are left out.",
                        study->jobs.count, page_plural(study->jobs.count));
}

void study_say_second(const struct study *study, struct base_buf *out)
{
    enum study_run_id second = study_second_step(study);

    if (second == STUDY_BASE)
        base_buf_puts(out, "Nothing further is worth it by more than luck.");
    else
        put_step(study, second, out);
}

void study_say_unsure(const struct study *study, struct base_buf *out)
{
    double worth_s = WORTH_GPU * study->runs[STUDY_BASE].tally.held_gpu_s;
    const char *between = "Not sure: ";

    for (enum study_run_id r = STUDY_BASE + 1; r < STUDY_TOGETHER; r++) {
        struct study_range range = study_saved_range(study, r);
        if (!is_unsure(range) || fmax(-range.least, range.most) <= worth_s)
            continue;
        base_buf_printf(out, "%s%s", between, study_guidelines[r].name);
        between = ", ";
    }
    if (between[0] == ',')
        base_buf_puts(out, "; whether GPU time is saved differs from draw to draw.");
}

void study_say_lost(const struct study *study, struct base_buf *out)
{
    const struct study_run *base = &study->runs[STUDY_BASE];
    double lost = base->books.lost_gpu_s, slow = base->tally.slow_all_gpu_s;
    double held = base->tally.held_gpu_s, wasted = study_wasted_gpu_s(study);
    double usd = study_usd(study, wasted);

    if (!(wasted > 0)) {
        base_buf_puts(out, "No GPU time is lost to attempts that fail or to slow places.");
        return;
    }
    if (isnan(usd))
        base_buf_printf(out,
                        "%s GPU-hours are lost, by the model: %s of the GPU time that jobs hold, ",
                        HOURS(wasted), SHARE(wasted / held));
    else
        base_buf_printf(out,
                        "%s is lost, by the model: %s of the GPU time that jobs hold (%s hours), ",
                        MONEY(usd), SHARE(wasted / held), HOURS(wasted));
    if (lost > 0 && slow > 0)
        base_buf_printf(out, "%s to attempts that fail, %s to slow places.", SHARE(lost / held),
                        SHARE(slow / held));
    else
        base_buf_printf(out, "all to %s.", lost > 0 ? "attempts that fail" : "slow places");
}

void study_say_luck(const struct study *study, struct base_buf *out)
{
    bool modelled = study->opts.failures != SHOAL_STUDY_FAILURES_NONE;

    base_buf_printf(out,
                    "The base line again with every submission up to a round later differs by up "
                    "to %s hours of waiting, %s of it for fragmentation, and %s GPU-hours held: "
                    "smaller differences are luck of placement.",
                    HOURS(study_luck_s(study, STUDY_WAITS)),
                    HOURS(study_luck_s(study, SIM_WAIT_LOCALITY)), HOURS(study_luck_gpu_s(study)));
    if (study->more_count > 0)
        base_buf_printf(
            out,
            " Ranges are over %u draws: in each, submissions come up to a round later%s "
            "in their own way.",
            study->more_count + 1, modelled ? " and other jobs fail," : ",");
    else if (modelled)
        base_buf_puts(out,
                      " Failures are one draw, which this does not cover: --draws makes more.");
}

/* ---- all together ---- */

static void put_use(const struct study *study, struct base_buf *out)
{
    base_buf_printf(out, "useful work takes %.1f %% of the GPUs' time, %.1f %% before.",
                    100 * study->runs[STUDY_TOGETHER].tally.utilization,
                    100 * study->runs[STUDY_BASE].tally.utilization);
}

/* Why the waiting did not fall as much as asked for: what is left of it, and who is in the way. */
static void put_why_not(const struct study *study, double left_s, struct base_buf *out)
{
    const struct study_tally *t = &study->runs[STUDY_TOGETHER].tally;
    uint32_t most = longest_size(study, STUDY_TOGETHER);

    if (left_s > 0)
        base_buf_printf(out, " Why not more: %s of what is left is of jobs of %s GPU%s",
                        SHARE(t->delays[most][SIM_WAIT_LOCALITY].total_s / left_s),
                        study_size_names[most], most == 0 ? "" : "s");
    const char *between = left_s > 0 ? "; taken alone, " : " Taken alone, ";
    for (enum study_run_id r = STUDY_BASE + 1; r < STUDY_TOGETHER; r++)
        if (study->runs[r].possible && study_fragmentation_ratio(study, r) < 1 - SAME) {
            base_buf_printf(out, "%s'%s' makes it worse (%s hours)", between,
                            study_guidelines[r].name,
                            HOURS(study_waited_s(study, r, SIM_WAIT_LOCALITY)));
            between = ", ";
        }
    base_buf_puts(out, left_s > 0 || between[0] == ',' ? "." : "");
}

void study_say_together(const struct study *study, struct base_buf *out)
{
    double ratio = study_fragmentation_ratio(study, STUDY_TOGETHER);
    double base = study_waited_s(study, STUDY_BASE, SIM_WAIT_LOCALITY);
    double left = study_waited_s(study, STUDY_TOGETHER, SIM_WAIT_LOCALITY);
    bool useful = as_useful(study, STUDY_TOGETHER);

    if (!(base > 0) && !(left > 0)) {
        base_buf_puts(out,
                      "Nobody waits because of fragmentation, with the guidelines or without; ");
        put_use(study, out);
        return;
    }
    base_buf_puts(out, "All guidelines together ");
    if (left <= 0)
        base_buf_puts(out, "end fragmentation waiting");
    else if (ratio > 1 + SAME)
        base_buf_printf(out, "cut fragmentation waiting %.*f times", ratio < 9.95, ratio);
    else
        base_buf_puts(out, ratio < 1 - SAME ? "raise fragmentation waiting"
                                            : "leave fragmentation waiting as it is");
    if (left <= 0 || ratio > 1 + SAME)
        put_times_range(out, study, study_ratio_range(study, STUDY_TOGETHER));
    base_buf_printf(out, ", from %s to %s hours%s%s; ", HOURS(base), HOURS(left),
                    is_unsure(range_of(study, STUDY_TOGETHER, SIM_WAIT_LOCALITY, less_of))
                        ? ", which is not sure, as draws differ in its sign"
                        : "",
                    useful ? ", at equal utilisation or better" : ", but at lower utilisation");
    put_use(study, out);
    if (!useful || !(ratio >= ASKED_FOR))
        put_why_not(study, left, out);
}
