/* advise_json.c - see advise_show.h: for programs. */
#include "cli/advise_show.h"

#include "base/event.h"
#include "cli/json.h"
#include <inttypes.h>
#include <math.h>

enum { TEXT_MAX = 16 << 20 };

static void put_name(struct base_buf *out, const struct cli_advised *s, uint32_t algorithm)
{
    base_buf_puts(out, "{\"algorithm\":");
    base_buf_json_string(out, s->fit->algorithms[algorithm].name);
}

static void put_candidate(struct base_buf *out, const struct cli_advised *s,
                          const struct advise_candidate *c)
{
    put_name(out, s, c->algorithm);
    base_buf_printf(out, ",\"machines\":%u,\"verdict\":\"%s\",\"measured\":%s", c->machines,
                    advise_verdict_name(c->p.verdict), c->p.measured ? "true" : "false");
    cli_json_number(out, "seconds", c->seconds);
    cli_json_number(out, "low_s", c->low_s);
    cli_json_number(out, "high_s", c->high_s);
    if (isfinite(c->at_most_s))
        cli_json_number(out, "at_most_s", c->at_most_s);
    cli_json_number(out, "iterations", c->p.steps);
    cli_json_number(out, "iteration_s", c->p.step_s);
    cli_json_number(out, "cost", c->cost);
    cli_json_number(out, "low_cost", c->low_cost);
    cli_json_number(out, "high_cost", c->high_cost);
    bool asked = !isnan(s->question->target); /* by a deadline alone all end at it */
    cli_json_number(out, "near_fastest", asked ? c->near_fastest : (double)NAN);
    cli_json_number(out, "near_cheapest", asked ? c->near_cheapest : (double)NAN);
    if (isfinite(s->question->deadline_s)) {
        cli_json_number(out, "in_time", asked ? c->in_time : (double)NAN);
        cli_json_number(out, "loss", c->loss);
        cli_json_number(out, "low_loss", c->low_loss);
        cli_json_number(out, "high_loss", c->high_loss);
    }
    base_buf_puts(out, "}");
}

static void put_index(struct base_buf *out, const struct cli_advised *s, const char *name,
                      uint32_t index)
{
    base_buf_printf(out, ",\"%s\":", name);
    if (index == UINT32_MAX)
        base_buf_puts(out, "null");
    else
        put_candidate(out, s, &s->choice->candidates[index]);
}

static void put_path(struct base_buf *out, const struct cli_advised *s, const char *name,
                     const struct advise_path *path)
{
    base_buf_printf(out, ",\"%s\":", name);
    if (path->leg_count < 2) {
        base_buf_puts(out, "null");
        return;
    }
    base_buf_puts(out, "{\"legs\":[");
    for (uint32_t i = 0; i < path->leg_count; i++) {
        const struct advise_leg *leg = &path->legs[i];
        const struct advise_candidate *c = &s->choice->candidates[leg->candidate];
        base_buf_puts(out, i > 0 ? "," : "");
        put_name(out, s, c->algorithm);
        base_buf_printf(out, ",\"machines\":%u", c->machines);
        cli_json_number(out, "from_loss", leg->from_loss);
        cli_json_number(out, "to_loss", leg->to_loss);
        cli_json_number(out, "seconds", leg->seconds);
        cli_json_number(out, "cost", leg->cost);
        base_buf_puts(out, "}");
    }
    base_buf_puts(out, "]");
    cli_json_number(out, "seconds", path->seconds);
    cli_json_number(out, "low_s", path->low_s);
    cli_json_number(out, "high_s", path->high_s);
    cli_json_number(out, "cost", path->cost);
    cli_json_number(out, "gain", path->gain);
    base_buf_puts(out, "}");
}

static void put_next(struct base_buf *out, const struct cli_advised *s, const char *name, bool has,
                     const struct advise_next *next)
{
    base_buf_printf(out, ",\"%s\":", name);
    if (!has) {
        base_buf_puts(out, "null");
        return;
    }
    put_name(out, s, next->algorithm);
    base_buf_printf(out, ",\"machines\":%u", next->machines);
    cli_json_number(out, "from_iteration", next->from);
    cli_json_number(out, "to_iteration", next->to);
    cli_json_number(out, "seconds", next->seconds);
    cli_json_number(out, "machine_s", next->cost);
    cli_json_number(out, "chance", next->chance);
    base_buf_puts(out, "}");
}

static void put_algorithm(struct base_buf *out, const struct cli_advised *s, uint32_t index)
{
    const struct advise_algorithm *a = &s->fit->algorithms[index];

    put_name(out, s, index);
    base_buf_printf(out, ",\"verdict\":\"%s\",\"form\":\"%s\",\"machines\":[",
                    advise_verdict_name(a->verdict),
                    a->model.form == ADVISE_FEATURES ? "features" : "stretched");
    for (uint32_t k = 0; k < a->counts; k++)
        base_buf_printf(out, "%s%u", k > 0 ? "," : "", a->machines[k]);
    base_buf_puts(out, "],\"diverged\":[");
    for (uint32_t k = 0; k < a->diverged_count; k++)
        base_buf_printf(out, "%s%u", k > 0 ? "," : "", a->diverged[k]);
    base_buf_puts(out, "]");
    cli_json_number(out, "lowest", a->curve_count > 0 ? a->lowest : (double)NAN);
    cli_json_number(out, "best", a->curve_count > 0 ? a->best : (double)NAN);
    base_buf_puts(out, ",\"theta\":[");
    for (int k = 0; k < 4; k++) {
        base_buf_puts(out, k > 0 ? "," : "");
        base_json_f64(out, a->model.time.theta[k]);
    }
    base_buf_puts(out, "]");
    cli_json_number(out, "off_inside", a->off_steps[0]);
    cli_json_number(out, "off_outside", a->off_steps[1]);
    cli_json_number(out, "off_ahead", a->off_ahead);
    base_buf_puts(out, "}");
}

static void put_answer(struct base_buf *out, const struct cli_advised *s)
{
    const struct advise_choice *ch = s->choice;
    bool to_loss = !isnan(s->question->target);

    put_index(out, s, "fastest", to_loss ? ch->fastest : UINT32_MAX);
    put_index(out, s, "cheapest", to_loss ? ch->cheapest : UINT32_MAX);
    put_index(out, s, "by_deadline", ch->by_deadline);
    put_path(out, s, "fastest_path", &ch->fast);
    put_path(out, s, "cheapest_path", &ch->cheap);
    put_next(out, s, "next_fastest", s->has_next_fast, &s->next_fast);
    put_next(out, s, "next_cheapest", s->has_next_cheap, &s->next_cheap);
}

int cli_advise_json(const struct cli_context *cx, const struct cli_advised *s)
{
    struct base_buf out;
    int rc;

    base_buf_init(&out, env_alloc(cx->env), TEXT_MAX);
    base_buf_puts(&out, "{\"v\":1");
    cli_json_number(&out, "target", s->question->target);
    cli_json_number(&out, "deadline_s", s->question->deadline_s);
    cli_json_number(&out, "size", s->fit->size);
    base_buf_printf(&out, ",\"cost_unit\":\"%s\"",
                    s->question->usd_h > 0 ? "usd" : "machine-hours");
    cli_json_number(&out, "lowest", s->fit->lowest);
    cli_json_number(&out, "best",
                    s->fit->best_by == UINT32_MAX && !s->best_given ? (double)NAN : s->fit->best);
    base_buf_printf(&out, ",\"runs\":%zu,\"copies\":%zu,\"same_rows\":%zu", s->runs->count,
                    s->runs->copies, s->runs->same_rows);
    put_answer(&out, s);
    base_buf_puts(&out, ",\"candidates\":[");
    for (uint32_t i = 0; i < s->choice->count; i++) {
        base_buf_puts(&out, i > 0 ? "," : "");
        put_candidate(&out, s, &s->choice->candidates[i]);
    }
    base_buf_puts(&out, "],\"algorithms\":[");
    for (uint32_t i = 0; i < s->fit->algorithm_count; i++) {
        base_buf_puts(&out, i > 0 ? "," : "");
        put_algorithm(&out, s, i);
    }
    base_buf_puts(&out, "]}\n");
    rc = cli_print(cx, &out);
    base_buf_fini(&out);
    return rc;
}
