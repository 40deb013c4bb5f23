/* solve_json.c - a solved problem as one JSON object, written as it is made.
 *
 * Tests: tests/cli/transcripts/solve.txt, tests/cli/test_solve.py. */
#include "base/event.h"
#include "cli/solve_show.h"
#include <math.h>

enum { FLUSH_BYTES = 1 << 16, TEXT_MAX = 64 << 20 };

struct sink {
    const struct cli_context *cx;
    struct base_buf buf;
};

/* Writes out what there is, so that millions of jobs need no memory. */
static void drain(struct sink *sink, size_t above)
{
    if (sink->buf.size <= above || base_buf_status(&sink->buf) != SHOAL_OK)
        return;
    (void)cli_put(sink->cx, sink->buf.data, sink->buf.size);
    base_buf_clear(&sink->buf);
}

/* Members go after others: the comma comes with them. */
static void put_number(struct sink *sink, const char *name, double value)
{
    base_buf_printf(&sink->buf, ",\"%s\":", name);
    base_json_f64(&sink->buf, value);
}

static void put_bool(struct sink *sink, const char *name, bool value)
{
    base_buf_printf(&sink->buf, ",\"%s\":%s", name, value ? "true" : "false");
}

static void put_kinds(struct sink *sink, const struct cli_solved *s)
{
    const struct solve_problem *p = s->problem;

    base_buf_puts(&sink->buf, ",\"kinds\":[");
    for (uint32_t k = 0; k < p->kind_count; k++) {
        double part = cli_solve_worth(s, k);
        base_buf_puts(&sink->buf, k > 0 ? ",{\"name\":" : "{\"name\":");
        base_buf_json_string(&sink->buf, solve_problem_kind(p, k));
        put_number(sink, "gpus", p->capacity[k]);
        put_number(sink, "used", s->result->used[k]);
        put_number(sink, "price", isnan(part) ? NAN : s->result->prices[k]);
        put_number(sink, "price_percent", 100 * part);
        put_bool(sink, "used_up", cli_solve_used_up(s, k));
        base_buf_puts(&sink->buf, "}");
    }
    base_buf_puts(&sink->buf, "]");
}

static void put_job(struct sink *sink, const struct cli_solved *s, size_t i)
{
    const struct solve_problem *p = s->problem;
    const shoal_solve_result *r = s->result;
    double best = s->fastest[i];

    base_buf_puts(&sink->buf, i > 0 ? ",{\"name\":" : "{\"name\":");
    base_buf_json_string(&sink->buf, solve_problem_job(p, i));
    put_number(sink, "gpus", p->gpus[i]);
    put_number(sink, "count", p->count[i]);
    base_buf_puts(&sink->buf, ",\"shares\":[");
    for (uint32_t k = 0; k < p->kind_count; k++) {
        base_buf_puts(&sink->buf, k > 0 ? "," : "");
        base_json_f64(&sink->buf, r->shares[i * p->kind_count + k]);
    }
    base_buf_puts(&sink->buf, "]");
    put_number(sink, "speed", r->speeds[i]);
    put_number(sink, "of_fastest", best > 0 ? r->speeds[i] / best : NAN);
    put_bool(sink, "holds_back", (r->flags[i] & SHOAL_SOLVE_HOLDS_BACK) != 0);
    put_bool(sink, "top_speed", (r->flags[i] & SHOAL_SOLVE_TOP_SPEED) != 0);
    put_bool(sink, "runs_nowhere", (r->flags[i] & SHOAL_SOLVE_NOWHERE) != 0);
    if (s->objective == SCHED_OBJECTIVE_COST_SLO && isfinite(p->deadline_s[i]))
        put_bool(sink, "deadline_kept", cli_solve_keeps(s, i));
    if (p->entity != NULL) {
        base_buf_puts(&sink->buf, ",\"entity\":");
        base_buf_json_string(&sink->buf, solve_problem_entity(p, p->entity[i]));
    }
    base_buf_puts(&sink->buf, "}");
    drain(sink, FLUSH_BYTES);
}

static void put_pairs(struct sink *sink, const struct cli_solved *s)
{
    const struct solve_problem *p = s->problem;

    base_buf_puts(&sink->buf, ",\"pairs\":[");
    for (size_t i = 0; i < s->result->pair_count; i++) {
        const shoal_solve_pair_share *pair = &s->result->pairs[i];
        base_buf_puts(&sink->buf, i > 0 ? ",{\"jobs\":[" : "{\"jobs\":[");
        base_buf_json_string(&sink->buf, solve_problem_job(p, pair->job));
        base_buf_puts(&sink->buf, ",");
        base_buf_json_string(&sink->buf, solve_problem_job(p, pair->with));
        base_buf_puts(&sink->buf, "],\"kind\":");
        base_buf_json_string(&sink->buf, solve_problem_kind(p, pair->kind));
        put_number(sink, "share", pair->share);
        base_buf_puts(&sink->buf, "}");
        drain(sink, FLUSH_BYTES);
    }
    base_buf_puts(&sink->buf, "]");
}

/* All jobs with a flag, by name. */
static void put_flagged(struct sink *sink, const struct cli_solved *s, const char *name,
                        unsigned flag)
{
    bool first = true;

    base_buf_printf(&sink->buf, ",\"%s\":[", name);
    for (size_t i = 0; i < s->problem->job_count; i++) {
        if ((s->result->flags[i] & flag) == 0)
            continue;
        base_buf_puts(&sink->buf, first ? "" : ",");
        base_buf_json_string(&sink->buf, solve_problem_job(s->problem, i));
        first = false;
        drain(sink, FLUSH_BYTES);
    }
    base_buf_puts(&sink->buf, "]");
}

int cli_solve_json(const struct cli_context *cx, const struct cli_solved *s)
{
    const struct solve_problem *p = s->problem;
    const shoal_solve_result *r = s->result;
    struct sink sink = {.cx = cx};

    base_buf_init(&sink.buf, env_alloc(cx->env), TEXT_MAX);
    base_buf_printf(&sink.buf, "{\"v\":1,\"objective\":\"%s\"",
                    sched_objectives[s->objective].name);
    put_bool(&sink, "aware", !s->agnostic);
    put_bool(&sink, "sharing", s->sharing);
    put_number(&sink, "level", r->level);
    base_buf_puts(&sink.buf, ",\"unit\":");
    base_buf_json_string(&sink.buf, r->unit);
    put_number(&sink, "believed", r->believed);
    put_number(&sink, "bound", r->bound);
    put_number(&sink, "gap", r->gap);
    put_bool(&sink, "exact", r->exact != 0);
    put_number(&sink, "priced", r->priced);
    base_buf_puts(&sink.buf, ",\"priced_unit\":");
    base_buf_json_string(&sink.buf, r->priced_unit);
    base_buf_printf(&sink.buf, ",\"passes\":%u,\"threads\":%u,\"repeat\":%llu", r->passes,
                    s->threads, (unsigned long long)s->repeat);
    put_number(&sink, "time_s", s->first_s);
    put_number(&sink, "time_again_s", s->again_s);
    if (cli_solve_counts_money(s->objective)) {
        put_number(&sink, "usd_h", cli_solve_usd_h(s));
    }
    put_kinds(&sink, s);
    base_buf_puts(&sink.buf, ",\"jobs\":[");
    for (size_t i = 0; i < p->job_count; i++)
        put_job(&sink, s, i);
    base_buf_puts(&sink.buf, "]");
    if (s->sharing)
        put_pairs(&sink, s);
    put_flagged(&sink, s, "run_nowhere", SHOAL_SOLVE_NOWHERE);
    put_flagged(&sink, s, "deadlines_given_up", SHOAL_SOLVE_GIVEN_UP);
    put_flagged(&sink, s, "deadlines_hopeless", SHOAL_SOLVE_HOPELESS);
    base_buf_puts(&sink.buf, "}\n");
    drain(&sink, 0);
    int rc =
        base_buf_status(&sink.buf) == SHOAL_OK ? 0 : cli_fail(cx, base_buf_status(&sink.buf), NULL);
    base_buf_fini(&sink.buf);
    return rc;
}
