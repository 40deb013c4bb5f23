/* page_table.c - the guidelines side by side: what each saves, and what it costs. */
#include "study/page_parts.h"

#include "base/assert.h"
#include "base/text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum format { HOURS, SHARE, DURATION, COUNT };

static double value_of(const struct study *study, enum study_run_id id, size_t column)
{
    const struct study_run *r = &study->runs[id];

    switch (column) {
    case 0: return study_waited_s(study, id, SIM_WAIT_LOCALITY);
    case 1: return study_waited_s(study, id, SIM_WAIT_FAIR_SHARE);
    case 2: return study_waited_s(study, id, SIM_WAIT_CAPACITY);
    case 3: return study_waited_s(study, id, STUDY_WAITS);
    case 4: return id == STUDY_BASE ? NAN : study_saved_gpu_s(study, id);
    case 5: return id == STUDY_BASE ? NAN : study_spared_gpu_s(study, id);
    case 6: return r->tally.utilization;
    case 7: return r->tally.avg_jct_s;
    case 8: return (double)r->tally.moves;
    default: return (double)r->tally.restarts;
    }
}

static const struct column {
    const char *head, *meaning;
    enum format format;
    int best; /* -1 least, 1 most, 0 neither */
} columns[] = {
    {"fragmentation", "waiting while enough GPUs were free but scattered", HOURS, -1},
    {"fair share", "waiting because the group had used its quota and others had not", HOURS, -1},
    {"capacity", "waiting because too few GPUs were free", HOURS, -1},
    {"all waiting", "of all jobs together, for any reason", HOURS, -1},
    {"GPU time saved", "held less than as it is, trials counted", HOURS, 1},
    {"of it not run", "work that is not run at all, less trials; the rest is speed", HOURS, 1},
    {"useful", "GPU time of work that passes over all GPU time", SHARE, 1},
    {"avg completion", "of jobs that pass, from submission to end, trials counted", DURATION, -1},
    {"moves", "running jobs moved to other servers", COUNT, 0},
    {"restarts", "starts of a job after its first, moves included", COUNT, 0},
};

static const char *show(const struct column *c, double value, char *buf, size_t size)
{
    if (!isfinite(value))
        return page_number(value, buf, size);
    switch (c->format) {
    case HOURS: return study_page_h(value, buf, size);
    case SHARE: snprintf(buf, size, "%.1f\xc2\xa0%%", 100 * value); return buf;
    case DURATION: return page_duration(value, buf, size);
    case COUNT: break;
    }
    return base_format_count((uint64_t)value, buf, size);
}

/* Nobody is as good, as it is shown. */
static bool is_best(const struct study *study, enum study_run_id id, size_t column)
{
    double mine = value_of(study, id, column) * columns[column].best;
    char text[2][64];

    if (columns[column].best == 0 || isnan(mine))
        return false;
    show(&columns[column], value_of(study, id, column), text[0], sizeof text[0]);
    for (enum study_run_id r = STUDY_BASE; r < STUDY_RUNS; r++) {
        double value = value_of(study, r, column);
        if (r == id || !study->runs[r].possible || isnan(value))
            continue;
        if (value * columns[column].best > mine ||
            strcmp(show(&columns[column], value, text[1], sizeof text[1]), text[0]) == 0)
            return false;
    }
    return true;
}

/* The difference to the base line is no more than that between the base line and its echoes. */
static bool is_luck(const struct study *study, enum study_run_id id, size_t column)
{
    static const uint32_t whys[] = {SIM_WAIT_LOCALITY, SIM_WAIT_FAIR_SHARE, SIM_WAIT_CAPACITY,
                                    STUDY_WAITS};

    if (id == STUDY_BASE || column > BASE_COUNT(whys))
        return false;
    if (column == BASE_COUNT(whys))
        return study_saved_is_luck(study, id);
    return study_waited_is_luck(study, id, whys[column]);
}

enum { SAVED = 4, SPARED = 5 }; /* the columns that draws have a range of */

/* "506 to 640 h", under the figure of the first draw. */
static void write_range(const struct study *study, struct study_range range, struct base_buf *out)
{
    char least[64], most[64];

    if (study->more_count == 0 || !(range.least < range.most))
        return;
    base_buf_printf(out, "<span class=\"range\">%s to %s</span>",
                    study_page_hours(range.least, least, sizeof least),
                    study_page_h(range.most, most, sizeof most));
}

static void write_run(const struct study *study, enum study_run_id id, struct base_buf *out)
{
    char text[64];

    base_buf_printf(out, "<tr><th scope=\"row\" title=\"%s\">%s</th>", study_guidelines[id].doing,
                    study_guidelines[id].name);
    for (size_t c = 0; c < BASE_COUNT(columns); c++) {
        double value = value_of(study, id, c);
        if (!study->runs[id].possible) {
            base_buf_printf(out, "<td class=\"r no\" data-l=\"%s\">\xe2\x80\x93</td>",
                            columns[c].head);
            continue;
        }
        bool luck = is_luck(study, id, c);
        base_buf_printf(out, "<td class=\"r%s\" data-l=\"%s\">%s%s",
                        luck                    ? " no"
                        : is_best(study, id, c) ? " best"
                                                : "",
                        columns[c].head, luck ? "~" : "",
                        show(&columns[c], value, text, sizeof text));
        if (c == SAVED)
            write_range(study, study_saved_range(study, id), out);
        if (c == SPARED)
            write_range(study, study_spared_range(study, id), out);
        base_buf_puts(out, "</td>");
    }
    base_buf_puts(out, "</tr>\n");
}

static void write_notes(const struct study *study, struct base_buf *out)
{
    const struct study_books *all = &study->runs[STUDY_TOGETHER].books;
    char text[3][64];

    for (enum study_run_id r = STUDY_BASE; r < STUDY_RUNS; r++)
        if (!study->runs[r].possible)
            base_buf_printf(out, "<p class=\"dim small\">Not simulated: %s, as %s.</p>\n",
                            study_guidelines[r].name, study->runs[r].why_not);
    if (all->caught + all->cut > 0)
        base_buf_printf(
            out,
            "<p>With all guidelines, %s job%s of several GPUs that fail early never take their "
            "gang, "
            "and %s job%s whose error comes back stop after their first attempt: %s of GPU time is "
            "not run at all",
            base_format_count(all->caught, text[0], sizeof text[0]), all->caught == 1 ? "" : "s",
            base_format_count(all->cut, text[1], sizeof text[1]), all->cut == 1 ? "" : "s",
            study_page_h(all->saved_gpu_s, text[2], sizeof text[2]));
    if (all->caught + all->cut > 0 && study->pool.gpus > 0)
        base_buf_printf(
            out,
            ", for %s spent in trials; the others start %s later on average, trial and "
            "its queue included",
            study_page_h(study->pool_gpu_s, text[0], sizeof text[0]),
            page_duration(study->runs[STUDY_TRIAL].tally.trial_s /
                              fmax(1, (double)(study->jobs.count - study->jobs.sizes[0] -
                                               study->runs[STUDY_TRIAL].books.caught)),
                          text[1], sizeof text[1]));
    if (all->caught + all->cut > 0)
        base_buf_puts(out, ".</p>\n");
    if (study->pool.gpus > 0)
        base_buf_printf(out,
                        "<p class=\"dim small\">Trials waited %s for their pool, which is in the "
                        "completion times and in no column of waiting.</p>\n",
                        study_page_h(study->pool_wait_s, text[0], sizeof text[0]));
    base_buf_puts(
        out, "<p class=\"dim small\">Useful GPU time hardly moves while a cluster keeps up with "
             "its jobs, by construction: the work that passes, the GPUs and the span are the "
             "same in every row. It shows work that is put off beyond the span; what a "
             "guideline frees is in the columns on waiting and GPU time saved.</p>\n<p "
             "class=\"dim small\">");
    study_say_luck(study, out);
    base_buf_puts(out, "</p>\n");
}

void study_page_guidelines(const struct study *study, struct base_buf *out)
{
    page_panel_open(
        out, "guidelines", "What would each guideline save?",
        "each simulated alone, then all together; figures of the first draw, below GPU time saved "
        "the least and the most of all; the best of each column in bold; ~ may be luck");
    base_buf_puts(out, "<table class=\"cmp\"><thead><tr><th scope=\"col\">Guideline</th>");
    for (size_t c = 0; c < BASE_COUNT(columns); c++)
        base_buf_printf(out, "<th scope=\"col\" class=\"r\" title=\"%s\">%s</th>",
                        columns[c].meaning, columns[c].head);
    base_buf_puts(out, "</tr></thead><tbody>\n");
    for (enum study_run_id r = STUDY_BASE; r < STUDY_RUNS; r++)
        write_run(study, r, out);
    base_buf_puts(out, "</tbody></table>\n");
    write_notes(study, out);
    page_panel_close(out);
}
