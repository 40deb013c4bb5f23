/* sim_show.c - the results of simulated policies as JSON lines, as a table, and as stories. */
#include "cli/sim_show.h"

#include "base/assert.h"
#include "base/event.h"
#include "base/text.h"
#include "cli/columns.h"
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { TEXT_MAX = 64 << 20 };

static void json_number(struct base_buf *out, const char *name, double value)
{
    base_buf_printf(out, ",\"%s\":", name);
    base_json_f64(out, value);
}

/* ,"name":{"t4":600}: the row of the story's job in a table of jobs and kinds. */
static void json_by_kind(const struct sim_result *r, const char *name, const float *table,
                         struct base_buf *out)
{
    double row[SCHED_KINDS_MAX];
    uint32_t kinds = r->cluster->kind_count;

    if (table == NULL)
        return;
    for (uint32_t k = 0; k < kinds; k++)
        row[k] = (double)table[(size_t)r->story_job * kinds + k];
    base_buf_printf(out, ",\"%s\":", name);
    sim_result_by_kind(r->cluster, row, out);
}

static void json_job(const struct sim_result *r, struct base_buf *out)
{
    if (r->story_job == SIM_NONE || r->received_s == NULL)
        return;
    base_buf_puts(out, ",\"job\":{\"name\":");
    base_buf_json_string(out, r->trace->jobs[r->story_job].name);
    json_by_kind(r, "received_s", r->received_s, out);
    json_by_kind(r, "wanted_s", r->wanted_s, out);
    base_buf_puts(out, "}");
}

static void json_result(const struct sim_result *r, uint64_t seed, struct base_buf *out)
{
    const struct sim_metrics *m = &r->metrics;
    const struct {
        const char *name;
        double value;
    } fields[] = {
        {"jobs", (double)m->jobs},
        {"avg_jct_s", m->avg_jct_s},
        {"p50_jct_s", m->p50_jct_s},
        {"p99_jct_s", m->p99_jct_s},
        {"makespan_s", m->makespan_s},
        {"avg_rho", m->avg_rho},
        {"worst_rho", m->worst_rho},
        {"unfair_share", m->unfair_share},
        {"utilization", m->utilization},
        {"cost_usd", m->cost_usd},
        {"rounds", (double)m->rounds},
        {"decision_ms_p50", m->decision_ms_p50},
        {"decision_ms_p99", m->decision_ms_p99},
        {"wall_s", m->wall_s},
        {"cpu_s", m->cpu_s},
        {"job_rounds", (double)m->job_rounds},
        {"finished", (double)m->finished},
        {"failed", (double)m->failed},
        {"rejected", (double)m->rejected},
        {"stopped", (double)m->stopped},
        {"avg_wait_s", m->avg_wait_s},
        {"restarts", (double)m->restarts},
        {"lost_gpu_s", m->lost_gpu_s},
        {"node_failures", (double)m->node_failures},
        {"job_failures", (double)m->job_failures},
        {"share_error", m->share_error},
        {"unproven", (double)m->unproven},
        {"solves", (double)m->solves},
        {"deadlines", (double)m->deadlines},
        {"missed", (double)m->missed},
        {"node_h", m->node_h},
        {"moves", (double)m->moves},
        {"preempted", (double)m->preempted},
        {"slow_gpu_s", m->slow_gpu_s},
        {"spread_gpu_s", m->spread_gpu_s},
    };

    base_buf_puts(out, "{\"v\":1,\"policy\":");
    base_buf_json_string(out, r->policy);
    for (size_t i = 0; i < BASE_COUNT(fields); i++)
        json_number(out, fields[i].name, fields[i].value);
    base_buf_printf(out, ",\"seed\":%" PRIu64, seed);
    base_buf_puts(out, ",\"worst_rho_job\":");
    if (m->worst_rho_job == SIM_NONE)
        base_buf_puts(out, "null");
    else
        base_buf_json_string(out, r->trace->jobs[m->worst_rho_job].name);
    base_buf_puts(out, ",\"wait_s\":{");
    for (uint32_t i = 1; i < SCHED_WHY_COUNT; i++) {
        base_buf_printf(out, "%s\"%s\":", i == 1 ? "" : ",",
                        sched_reason_name((enum sched_reason)i));
        base_json_f64(out, m->wait_by_reason_s[i]);
    }
    base_buf_puts(out, "}");
    json_job(r, out);
    if (r->why.size > 0) {
        base_buf_puts(out, ",\"why\":");
        base_buf_append(out, r->why.data, r->why.size);
    }
    if (r->story.size > 0) {
        base_buf_puts(out, ",\"story\":");
        base_buf_json_string(out, r->story.data);
    }
    base_buf_puts(out, "}\n");
}

int cli_sim_json(const struct cli_context *cx, const struct sim_result *const *results,
                 size_t count, uint64_t seed)
{
    struct base_buf out;

    base_buf_init(&out, env_alloc(cx->env), TEXT_MAX);
    for (size_t i = 0; i < count; i++)
        json_result(results[i], seed, &out);
    int rc = cli_print(cx, &out);
    base_buf_fini(&out);
    return rc;
}

/* One column of the table: how to show a metric, and which end is best. */
struct shown {
    const char *title;
    size_t offset; /* in struct sim_metrics, of a uint64_t for SHOW_COUNT, else of a double */
    enum { SHOW_TIME, SHOW_NUMBER, SHOW_PERCENT, SHOW_USD, SHOW_MS, SHOW_COUNT } how;
    int best; /* -1 least, 1 most, 0 neither */
};

static const struct shown shown[] = {
    {"AVG JCT", offsetof(struct sim_metrics, avg_jct_s), SHOW_TIME, -1},
    {"P50", offsetof(struct sim_metrics, p50_jct_s), SHOW_TIME, -1},
    {"P99", offsetof(struct sim_metrics, p99_jct_s), SHOW_TIME, -1},
    {"MAKESPAN", offsetof(struct sim_metrics, makespan_s), SHOW_TIME, -1},
    {"WAIT", offsetof(struct sim_metrics, avg_wait_s), SHOW_TIME, -1},
    {"RHO", offsetof(struct sim_metrics, avg_rho), SHOW_NUMBER, -1},
    {"WORST", offsetof(struct sim_metrics, worst_rho), SHOW_NUMBER, -1},
    {"UNFAIR", offsetof(struct sim_metrics, unfair_share), SHOW_PERCENT, -1},
    {"MISSED", offsetof(struct sim_metrics, missed), SHOW_COUNT, -1},
    {"BUSY", offsetof(struct sim_metrics, utilization), SHOW_PERCENT, 1},
    {"COST", offsetof(struct sim_metrics, cost_usd), SHOW_USD, -1},
    {"DECIDES", offsetof(struct sim_metrics, decision_ms_p50), SHOW_MS, 0},
};

static double metric(const struct sim_result *r, const struct shown *s)
{
    const void *at = (const char *)&r->metrics + s->offset;

    return s->how == SHOW_COUNT ? (double)*(const uint64_t *)at : *(const double *)at;
}

static const char *show(double value, const struct shown *s, char *buf, size_t size)
{
    char count[32];

    if (isnan(value)) {
        snprintf(buf, size, "-");
        return buf;
    }
    switch (s->how) {
    case SHOW_TIME: return base_format_duration(value, buf, size);
    case SHOW_NUMBER: snprintf(buf, size, value < 100 ? "%.2f" : "%.0f", value); break;
    case SHOW_PERCENT: snprintf(buf, size, "%.0f %%", 100 * value); break;
    case SHOW_USD:
        if (value < 9.995)
            snprintf(buf, size, "$%.2f", value);
        else
            snprintf(buf, size, "$%s",
                     base_format_count((uint64_t)(value + 0.5), count, sizeof count));
        break;
    case SHOW_MS:
        snprintf(buf, size, value < 0.1 ? "%.1f us" : "%.1f ms", value < 0.1 ? 1e3 * value : value);
        break;
    case SHOW_COUNT: return base_format_count((uint64_t)value, buf, size);
    }
    return buf;
}

/* Best when nobody shows better; bold only when it tells policies apart. */
static bool is_best(const struct sim_result *const *results, size_t count, size_t run,
                    const struct shown *s)
{
    char mine[48], other[48];
    bool differs = false;

    if (s->best == 0 || count < 2 || isnan(metric(results[run], s)))
        return false;
    show(metric(results[run], s), s, mine, sizeof mine);
    for (size_t i = 0; i < count; i++) {
        double d = (metric(results[i], s) - metric(results[run], s)) * s->best;
        if (strcmp(show(metric(results[i], s), s, other, sizeof other), mine) != 0) {
            differs = true;
            if (d > 0)
                return false;
        }
    }
    return differs;
}

/* The columns whose bit is set in `mask`. */
static void fill_table(struct cli_columns *table, const struct sim_result *const *results,
                       size_t count, uint32_t mask)
{
    char text[48];

    cli_columns_cell(table, CLI_DIM, "POLICY");
    for (size_t c = 0; c < BASE_COUNT(shown); c++)
        if ((mask >> c & 1) != 0)
            cli_columns_cell(table, CLI_DIM, "%s", shown[c].title);
    for (size_t i = 0; i < count; i++) {
        const struct sim_result *r = results[i];
        cli_columns_cell(table, CLI_PLAIN, "%s", r->policy);
        for (size_t c = 0; c < BASE_COUNT(shown); c++)
            if ((mask >> c & 1) != 0)
                cli_columns_cell(table,
                                 is_best(results, count, i, &shown[c]) ? CLI_BOLD : CLI_PLAIN, "%s",
                                 show(metric(r, &shown[c]), &shown[c], text, sizeof text));
    }
}

static uint32_t without(uint32_t mask, const char *title)
{
    for (size_t c = 0; c < BASE_COUNT(shown); c++)
        if (strcmp(shown[c].title, title) == 0)
            mask &= ~(1u << c);
    return mask;
}

int cli_sim_table(const struct cli_context *cx, const struct sim_result *const *results,
                  size_t count)
{
    static const char *const dispensable[] = {"DECIDES", "P50", "WAIT", "BUSY"};
    uint32_t mask = (1u << BASE_COUNT(shown)) - 1;
    uint64_t deadlines = 0;

    for (size_t i = 0; i < count; i++)
        deadlines += results[i]->metrics.deadlines;
    if (deadlines == 0)
        mask = without(mask, "MISSED");
    for (size_t dropped = 0;; dropped++) {
        struct cli_columns table;
        char letters[BASE_COUNT(shown) + 2] = "l";
        size_t columns = (size_t)__builtin_popcount(mask);
        memset(letters + 1, 'r', columns);
        letters[1 + columns] = '\0';
        cli_columns_init(&table, cx, letters);
        fill_table(&table, results, count, mask);
        bool fits = !cx->out_terminal || cli_columns_needs(&table) <= cx->width;
        int rc = 0;
        if (fits || dropped == BASE_COUNT(dispensable))
            rc = cli_columns_print(&table);
        cli_columns_fini(&table);
        if (fits || dropped == BASE_COUNT(dispensable))
            return rc;
        mask = without(mask, dispensable[dropped]);
    }
}

void cli_sim_story(const struct cli_context *cx, const struct sim_result *const *results,
                   size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct sim_result *r = results[i];
        if (count > 1) {
            cli_styled(cx, CLI_BOLD, r->policy);
            putc('\n', cx->out);
        }
        if (r->story.size > 0)
            (void)cli_put(cx, r->story.data, r->story.size);
        if (i + 1 < count)
            putc('\n', cx->out);
    }
}

void cli_sim_note_unproven(const struct cli_context *cx, const struct sim_result *const *results,
                           size_t count)
{
    char unproven[32], rounds[32];

    for (size_t i = 0; i < count; i++) {
        const struct sim_metrics *m = &results[i]->metrics;
        if (m->unproven > 0)
            base_log(&cx->log, BASE_LOG_WARN,
                     "%s: the decisions of %s of %s rounds are not proven optimal; "
                     "value and bound are up to %.2g apart",
                     results[i]->policy, base_format_count(m->unproven, unproven, sizeof unproven),
                     base_format_count(m->rounds, rounds, sizeof rounds), m->unproven_gap);
    }
}
