/* study_show.c - a study in fifteen lines.
 *
 * Tests: tests/cli/test_study.py. */
#include "cli/study_show.h"

#include "base/assert.h"
#include "base/text.h"
#include "cli/columns.h"
#include "study/advice.h"
#include <math.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16 };

static const struct {
    enum sim_wait why;
    const char *name;
} reasons[] = {{SIM_WAIT_LOCALITY, "fragmentation"},
               {SIM_WAIT_FAIR_SHARE, "fair share"},
               {SIM_WAIT_CAPACITY, "capacity"},
               {SIM_WAIT_OTHER, "next round"}};

static void put_heading(const struct study *s, struct base_buf *out)
{
    char jobs[32], gpus[32], span[48];

    base_buf_printf(
        out, "%s job%s over %s on %s GPU%s of %u server%s; %.0f %% of GPU time is useful",
        base_format_count(s->jobs.count, jobs, sizeof jobs), s->jobs.count == 1 ? "" : "s",
        base_format_duration(s->jobs.to_s - s->jobs.from_s, span, sizeof span),
        base_format_count(s->cluster->gpus, gpus, sizeof gpus), s->cluster->gpus == 1 ? "" : "s",
        s->cluster->node_count, s->cluster->node_count == 1 ? "" : "s",
        100 * s->runs[STUDY_BASE].tally.utilization);
    if (*study_quota_words(s) != '\0')
        base_buf_printf(out, "; %s", study_quota_words(s));
}

typedef void say_fn(const struct study *study, struct base_buf *out);

/* Words, wrapped where there is a terminal. */
static int print_words(const struct cli_context *cx, const struct study *s, say_fn *say)
{
    struct base_buf out;
    struct cli_columns table;

    base_buf_init(&out, env_alloc(cx->env), TEXT_MAX);
    say(s, &out);
    if (base_buf_status(&out) != SHOAL_OK) {
        base_buf_fini(&out);
        return cli_fail(cx, SHOAL_E_NOMEM, NULL);
    }
    cli_columns_init(&table, cx, "w");
    cli_columns_cell(&table, CLI_PLAIN, "%s", out.data);
    int rc = cli_columns_print(&table);
    cli_columns_fini(&table);
    base_buf_fini(&out);
    return rc;
}

/* A row per reason, a column per size that has jobs. */
static int print_delays(const struct cli_context *cx, const struct study *s)
{
    const struct study_tally *t = &s->runs[STUDY_BASE].tally;
    double all = t->delays[STUDY_ALL][STUDY_WAITS].total_s;
    struct cli_columns table;
    char text[48];

    cli_columns_init(&table, cx, "lrrrrrr");
    cli_columns_cell(&table, CLI_DIM, "WAITING, HOURS");
    for (uint32_t i = 0; i < STUDY_SIZES; i++)
        cli_columns_cell(&table, CLI_DIM, "%s GPU%s", study_size_names[i], i == 0 ? "" : "s");
    cli_columns_cell(&table, CLI_DIM, "ALL");
    cli_columns_cell(&table, CLI_DIM, "SHARE");
    for (size_t r = 0; r < BASE_COUNT(reasons); r++) {
        double sum = t->delays[STUDY_ALL][reasons[r].why].total_s;
        cli_columns_cell(&table, CLI_PLAIN, "%s", reasons[r].name);
        for (uint32_t i = 0; i <= STUDY_SIZES; i++)
            cli_columns_cell(&table, CLI_PLAIN, "%s",
                             study_hours(t->delays[i][reasons[r].why].total_s, text, sizeof text));
        double percent = all > 0 ? 100 * sum / all : 0;
        cli_columns_cell(&table, CLI_PLAIN, percent > 0 && percent < 9.95 ? "%.1f %%" : "%.0f %%",
                         percent);
    }
    int rc = cli_columns_print(&table);
    cli_columns_fini(&table);
    return rc;
}

enum { NAME, FRAGMENTATION, FAIR_SHARE, WAITING, SAVED, RANGE, USEFUL, JCT, MOVES, COLUMNS };

/* Hours of waiting, with ~ where the difference to the base line may be luck. */
static const char *waited(const struct study *s, enum study_run_id id, uint32_t why, char *text,
                          size_t size)
{
    char hours[48];

    snprintf(text, size, "%s%s", study_waited_is_luck(s, id, why) ? "~" : "",
             study_hours(study_waited_s(s, id, why), hours, sizeof hours));
    return text;
}

/* "506 to 640": GPU-hours saved, of all draws. */
static const char *range_of(const struct study *s, enum study_run_id id, char *text, size_t size)
{
    struct study_range range = study_saved_range(s, id);
    char least[48], most[48];

    study_hours(range.least, least, sizeof least);
    study_hours(range.most, most, sizeof most);
    snprintf(text, size, "%s%s%s%s", study_saved_is_luck(s, id) ? "~" : "", least,
             strcmp(least, most) == 0 ? "" : " to ", strcmp(least, most) == 0 ? "" : most);
    return text;
}

static const char *cell(const struct study *s, enum study_run_id id, int column, char *text,
                        size_t size)
{
    const struct study_run *r = &s->runs[id];
    char hours[48];

    if (column != NAME &&
        (!r->possible || ((column == SAVED || column == RANGE) && id == STUDY_BASE)))
        return "-";
    switch (column) {
    case FRAGMENTATION: return waited(s, id, SIM_WAIT_LOCALITY, text, size);
    case FAIR_SHARE: return waited(s, id, SIM_WAIT_FAIR_SHARE, text, size);
    case WAITING: return waited(s, id, STUDY_WAITS, text, size);
    case SAVED:
        snprintf(text, size, "%s%s", study_saved_is_luck(s, id) ? "~" : "",
                 study_hours(study_saved_gpu_s(s, id), hours, sizeof hours));
        return text;
    case RANGE: return range_of(s, id, text, size);
    case USEFUL: snprintf(text, size, "%.1f %%", 100 * r->tally.utilization); return text;
    case JCT:
        return isfinite(r->tally.avg_jct_s) ? base_format_duration(r->tally.avg_jct_s, text, size)
                                            : "-";
    case MOVES: return base_format_count(r->tally.moves, text, size);
    default: return study_guidelines[id].name;
    }
}

/* A row per guideline; a terminal that is too narrow gets fewer columns, the range of what is saved
 * rather than the figure of the first draw. */
static int print_guidelines(const struct cli_context *cx, const struct study *s)
{
    static const char *const titles[COLUMNS] = {"GUIDELINE",   "FRAGMENTATION", "FAIR SHARE",
                                                "ALL WAITING", "GPU H SAVED",   "GPU H SAVED",
                                                "USEFUL",      "AVG JCT",       "MOVES"};
    static const uint32_t every = (1u << COLUMNS) - 1;
    uint32_t none = s->more_count == 0 ? 1u << RANGE : 0; /* there is no range to show */
    uint32_t figure = s->more_count > 0 ? 1u << SAVED : 0;
    const uint32_t masks[] = {
        every & ~none, every & ~(none | 1u << JCT | 1u << MOVES),
        every & ~(none | 1u << JCT | 1u << MOVES | 1u << FAIR_SHARE),
        every & ~(none | figure | 1u << JCT | 1u << MOVES | 1u << FAIR_SHARE),
        every & ~(none | figure | 1u << JCT | 1u << MOVES | 1u << FAIR_SHARE | 1u << USEFUL)};
    char draws[48];

    snprintf(draws, sizeof draws, "SAVED, %u DRAWS", s->more_count + 1);
    for (size_t m = 0;; m++) {
        struct cli_columns table;
        char aligns[COLUMNS + 1] = "lrrrrrrrr", text[128];
        aligns[__builtin_popcount(masks[m])] = '\0';
        cli_columns_init(&table, cx, aligns);
        for (int c = 0; c < COLUMNS; c++)
            if ((masks[m] >> c & 1) != 0)
                cli_columns_cell(&table, CLI_DIM, "%s",
                                 c == RANGE && (masks[m] >> SAVED & 1) != 0 ? draws : titles[c]);
        for (enum study_run_id r = STUDY_BASE; r < STUDY_RUNS; r++)
            for (int c = 0; c < COLUMNS; c++)
                if ((masks[m] >> c & 1) != 0)
                    cli_columns_cell(&table, CLI_PLAIN, "%s", cell(s, r, c, text, sizeof text));
        bool fits = m + 1 == BASE_COUNT(masks) || !cx->out_terminal ||
                    cli_columns_needs(&table) <= cx->width;
        int rc = fits ? cli_columns_print(&table) : 0;
        cli_columns_fini(&table);
        if (fits)
            return rc;
    }
}

int cli_study_table(const struct cli_context *cx, const struct cli_study *shown)
{
    int rc = print_words(cx, shown->study, put_heading);

    if (rc == 0)
        rc = print_delays(cx, shown->study);
    if (rc == 0)
        rc = print_guidelines(cx, shown->study);
    return rc == 0 ? print_words(cx, shown->study, study_say_first) : rc;
}
