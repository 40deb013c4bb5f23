/* journal.c - what happened, as events: all of them to the log when one is wanted, those of one job
 * to its story.
 *
 * Events come in order of time within a stretch; equal runs give equal bytes. The story is for
 * people: one line per event, with the reason whenever waiting changes its reason. */
#include "sim/state.h"

#include "base/err.h"
#include "base/text.h"
#include <math.h>
#include <string.h>

static const char *job_name(void *ctx, uint32_t job)
{
    const struct sim_trace *trace = ctx;

    return trace->jobs[job].name;
}

/* "n3:4,n4:2" */
static void format_places(const struct sched_alloc *a, struct base_buf *out)
{
    for (uint32_t i = 0; i < a->place_count; i++)
        base_buf_printf(out, "%s%u:%u", i == 0 ? "n" : ",n", a->places[i].node, a->places[i].gpus);
}

static shoal_status emit(struct sim_state *s, const struct base_event *e)
{
    base_buf_clear(&s->line);
    base_event_json(e, &s->line);
    shoal_status st = base_buf_status(&s->line);
    if (st != SHOAL_OK)
        return base_err(s->err, st, "cannot write an event: %s", shoal_status_text(st));
    return s->opts->on_event(s->opts->event_ctx, s->line.data, s->line.size, s->err);
}

static void story_time(struct sim_state *s, double time_s)
{
    char text[32];

    base_buf_printf(&s->result->story, "%10s  ",
                    base_format_duration(time_s - s->origin_s, text, sizeof text));
}

static void story_places(struct sim_state *s, const struct sim_active *a)
{
    const struct sched_alloc *al = &a->job.alloc;

    base_buf_printf(&s->result->story, "%u %s on %u node%s (", al->gpus,
                    s->cluster->kinds[al->kind].name, al->place_count,
                    al->place_count == 1 ? "" : "s");
    format_places(al, &s->result->story);
    base_buf_puts(&s->result->story, ")");
    if (a->job.partner != SCHED_JOB_NONE)
        base_buf_printf(&s->result->story, ", shared with %s", s->trace->jobs[a->job.partner].name);
}

static void story_waited(struct sim_state *s, const struct sim_active *a, double time_s)
{
    char text[32];

    base_buf_printf(&s->result->story, " after waiting %s",
                    base_format_duration(time_s - a->job.wait_since_s, text, sizeof text));
}

static void story_job(struct sim_state *s, double time_s, const char *type,
                      const struct sim_active *a, const char *detail)
{
    struct base_buf *out = &s->result->story;
    double done = a->job.model.work > 0 ? 100 * a->job.progress / sim_whole_work(s, a) : 0;

    if (sim_adapt_tally(a) != NULL)
        s->story_reports = *sim_adapt_tally(a);
    story_time(s, time_s);
    if (strcmp(type, "job.arrived") == 0) {
        base_buf_printf(out, "arrived, asks for %u GPU%s", a->job.gpus,
                        a->job.gpus == 1 ? "" : "s");
    } else if (strcmp(type, "job.rejected") == 0) {
        base_buf_printf(out, "rejected: no kind it accepts has %u GPU%s at once here", a->job.gpus,
                        a->job.gpus == 1 ? "" : "s");
    } else if (strcmp(type, "job.started") == 0) {
        base_buf_puts(out, a->job.starts > 1 ? "resumed on " : "started on ");
        story_places(s, a);
        story_waited(s, a, time_s);
    } else if (strcmp(type, "job.moved") == 0) {
        base_buf_puts(out, "moved to ");
        story_places(s, a);
    } else if (strcmp(type, "job.preempted") == 0) {
        base_buf_printf(out, "gave up its GPUs at %.0f %%", done);
    } else if (strcmp(type, "job.finished") == 0) {
        base_buf_puts(out, "finished");
    } else if (strcmp(type, "job.parked") == 0) {
        base_buf_printf(out, "waits at %.0f %% for the others of its sweep", done);
    } else if (strcmp(type, "job.promoted") == 0) {
        base_buf_printf(out, "is among the best of its sweep and goes on to %.0f %%",
                        100 * a->job.model.work / sim_whole_work(s, a));
    } else if (strcmp(type, "job.pruned") == 0) {
        base_buf_printf(out, "stopped at %.0f %%, as others of its sweep go on", done);
    } else if (strcmp(type, "job.report_refused") == 0) {
        base_buf_printf(out, "a report was refused: %s", detail);
    } else if (strcmp(type, "job.failed") == 0) {
        base_buf_printf(out, "failed at %.0f %%: %s", done, detail);
    } else {
        base_buf_printf(out, "stopped: %s, back to %.0f %%", detail, done);
    }
    base_buf_puts(out, "\n");
}

/* Of a job that ended: the time it held each kind, and the time it was promised. The texts live in
 * the two buffers. */
static void event_shares(const struct sim_state *s, const struct sim_active *a,
                         struct base_event *e, struct base_buf *received, struct base_buf *wanted)
{
    uint32_t kinds = s->cluster->kind_count;

    sim_result_by_kind(s->cluster, a->shares + 2 * kinds, received);
    if (base_buf_status(received) == SHOAL_OK)
        base_event_raw(e, "received_s", received->data);
    if (!s->promises)
        return;
    sim_result_by_kind(s->cluster, a->shares + kinds, wanted);
    if (base_buf_status(wanted) == SHOAL_OK)
        base_event_raw(e, "wanted_s", wanted->data);
}

shoal_status sim_journal_job(struct sim_state *s, double time_s, const char *type,
                             const struct sim_active *a, const char *detail)
{
    if (a->job.id == s->opts->story_job)
        story_job(s, time_s, type, a, detail);
    if (s->opts->on_event == NULL)
        return SHOAL_OK;

    struct base_event e;
    struct base_buf places, received, wanted;
    base_event_init(&e, time_s, type);
    base_event_str(&e, "job", s->trace->jobs[a->job.id].name);
    base_event_i64(&e, "gpus", a->job.gpus);
    base_buf_init(&places, s->alloc, SIM_EVENT_MAX / 2);
    base_buf_init(&received, s->alloc, SIM_EVENT_MAX / 8);
    base_buf_init(&wanted, s->alloc, SIM_EVENT_MAX / 8);
    if (sim_running(a)) {
        format_places(&a->job.alloc, &places);
        if (base_buf_status(&places) == SHOAL_OK)
            base_event_str(&e, "places", places.data);
        base_event_str(&e, "kind", s->cluster->kinds[a->job.alloc.kind].name);
        if (a->job.alloc.gpus != a->job.gpus)
            base_event_i64(&e, "held", a->job.alloc.gpus);
    }
    if (a->job.model.work > 0)
        base_event_f64(&e, "progress", a->job.progress / sim_whole_work(s, a));
    if (detail != NULL)
        base_event_str(&e, "detail", detail);
    if (a->shares != NULL && !isnan(a->end_s))
        event_shares(s, a, &e, &received, &wanted);
    bool ok = base_buf_status(&places) == SHOAL_OK && base_buf_status(&received) == SHOAL_OK &&
              base_buf_status(&wanted) == SHOAL_OK;
    shoal_status st = ok ? emit(s, &e) : base_err_nomem(s->err, "writing an event");
    base_buf_fini(&places);
    base_buf_fini(&received);
    base_buf_fini(&wanted);
    return st;
}

shoal_status sim_journal_node(struct sim_state *s, double time_s, const char *type, uint32_t node)
{
    if (s->opts->on_event == NULL)
        return SHOAL_OK;

    struct base_event e;
    base_event_init(&e, time_s, type);
    base_event_i64(&e, "node", node);
    base_event_str(&e, "kind", s->cluster->kinds[s->cluster->nodes[node].kind].name);
    return emit(s, &e);
}

/* The sentence and the blockers of a wait, the latter as JSON: [{"job":"a","gpus":4}]. */
static void why_parts(const struct sim_state *s, const struct sched_why *why, struct base_buf *text,
                      struct base_buf *blockers)
{
    sched_why_text(why, why->kind == UINT16_MAX ? NULL : s->cluster->kinds[why->kind].name,
                   job_name, (void *)s->trace, text);
    base_buf_puts(blockers, "[");
    for (uint32_t i = 0; i < why->blocker_count; i++) {
        base_buf_puts(blockers, i == 0 ? "{\"job\":" : ",{\"job\":");
        base_buf_json_string(blockers, s->trace->jobs[why->blockers[i].job].name);
        base_buf_printf(blockers, ",\"gpus\":%u}", why->blockers[i].gpus);
    }
    base_buf_puts(blockers, "]");
}

shoal_status sim_journal_waiting(struct sim_state *s, size_t index)
{
    if (s->opts->on_event == NULL)
        return SHOAL_OK;

    struct sched_why why = sched_plan_why(s->plan, index, true);
    struct base_buf text, blockers;
    struct base_event e;
    shoal_status st = SHOAL_E_NOMEM;
    base_buf_init(&text, s->alloc, SIM_EVENT_MAX / 8);
    base_buf_init(&blockers, s->alloc, SIM_EVENT_MAX / 8);
    why_parts(s, &why, &text, &blockers);
    if (base_buf_status(&text) == SHOAL_OK && base_buf_status(&blockers) == SHOAL_OK) {
        base_event_init(&e, s->now_s, "job.waiting");
        base_event_str(&e, "job", s->trace->jobs[s->jobs[index]->id].name);
        base_event_str(&e, "reason", sched_reason_name((enum sched_reason)why.reason));
        base_event_str(&e, "text", text.data);
        base_event_raw(&e, "blockers", blockers.data);
        st = emit(s, &e);
    } else {
        st = base_err_nomem(s->err, "writing an event");
    }
    base_buf_fini(&text);
    base_buf_fini(&blockers);
    return st;
}

/* One more entry of result->why; the array is closed at the end of the story. */
static void why_entry(struct sim_state *s, const struct sched_why *why, const char *text,
                      const char *blockers)
{
    struct base_buf *out = &s->result->why;

    if (s->why_count == SIM_WHY_MAX)
        return;
    base_buf_puts(out, s->why_count++ == 0 ? "[{\"t\":" : ",{\"t\":");
    base_json_f64(out, s->now_s);
    base_buf_puts(out, ",\"reason\":");
    base_buf_json_string(out, sched_reason_name((enum sched_reason)why->reason));
    base_buf_puts(out, ",\"text\":");
    base_buf_json_string(out, text);
    base_buf_printf(out, ",\"blockers\":%s}", blockers);
}

void sim_journal_why(struct sim_state *s, size_t index)
{
    struct sched_why why = sched_plan_why(s->plan, index, true);
    struct base_buf text, blockers;

    if (why.reason == SCHED_WHY_NONE)
        s->story_reasons = 0;
    if (why.reason == SCHED_WHY_NONE || (s->story_reasons >> why.reason & 1) != 0)
        return; /* each reason once per wait: they alternate */
    s->story_reasons |= 1u << why.reason;
    base_buf_init(&text, s->alloc, SIM_EVENT_MAX / 8);
    base_buf_init(&blockers, s->alloc, SIM_EVENT_MAX / 8);
    why_parts(s, &why, &text, &blockers);
    if (base_buf_status(&text) == SHOAL_OK && base_buf_status(&blockers) == SHOAL_OK) {
        story_time(s, s->now_s);
        base_buf_printf(&s->result->story, "waits (%s): %s\n",
                        sched_reason_name((enum sched_reason)why.reason), text.data);
        why_entry(s, &why, text.data, blockers.data);
    } else {
        s->result->story.status = SHOAL_E_NOMEM; /* read once at the end */
    }
    base_buf_fini(&text);
    base_buf_fini(&blockers);
}

/* "promised 4h00m on v100, got 3h10m; 1h00m on p100, got 1h20m" */
static void story_shares(struct sim_state *s)
{
    const struct sim_result *r = s->result;
    uint32_t kinds = s->cluster->kind_count;
    bool any = false;
    char a[32], b[32];

    for (uint32_t k = 0; k < kinds && r->wanted_s != NULL; k++) {
        size_t at = (size_t)s->opts->story_job * kinds + k;
        if (r->wanted_s[at] < 1 && r->received_s[at] < 1)
            continue;
        base_buf_printf(&s->result->story, "%s%s on %s, got %s", any ? "; " : "promised ",
                        base_format_duration((double)r->wanted_s[at], a, sizeof a),
                        s->cluster->kinds[k].name,
                        base_format_duration((double)r->received_s[at], b, sizeof b));
        any = true;
    }
    if (any)
        base_buf_puts(&s->result->story, "\n");
}

/* "3 of 40 reports refused: step times that are not above 0 (2), gradients that ... (1)" */
static void story_reports(struct sim_state *s)
{
    const struct sched_tally *tally = &s->story_reports;
    uint64_t refused = sched_tally_refused(tally);
    struct base_buf *out = &s->result->story;
    const char *before = ": ";

    if (refused == 0)
        return;
    base_buf_printf(out, "%llu of %llu reports refused", (unsigned long long)refused,
                    (unsigned long long)tally->reports);
    for (int i = 0; i < SCHED_REFUSED_COUNT; i++) {
        if (tally->refused[i] == 0)
            continue;
        base_buf_printf(out, "%s%s (%llu)", before, sched_refusal_text((enum sched_refusal)i),
                        (unsigned long long)tally->refused[i]);
        before = ", ";
    }
    base_buf_puts(out, "\n");
}

void sim_journal_story_end(struct sim_state *s)
{
    uint32_t index = s->opts->story_job;

    if (index == SIM_NONE)
        return;
    const struct sim_job_result *r = &s->result->jobs[index];
    const struct sim_job *t = &s->trace->jobs[index];
    struct base_buf *out = &s->result->story;
    char a[32], b[32], c[32];

    base_buf_puts(&s->result->why, s->why_count == 0 ? "[]" : "]");
    if (r->outcome == SIM_REJECTED)
        return;
    base_buf_printf(out, "%s took %s: %s waiting", t->name,
                    base_format_duration(r->finish_s - t->submit_s, a, sizeof a),
                    base_format_duration((double)r->wait_s, b, sizeof b));
    if (r->locality_wait_s > 0)
        base_buf_printf(out, " (%s of it for GPUs close together)",
                        base_format_duration((double)r->locality_wait_s, c, sizeof c));
    base_buf_printf(out, ", %u start%s, %.2f GPU-hours", r->starts, r->starts == 1 ? "" : "s",
                    (double)r->gpu_s / 3600);
    if (!isnan(s->story_usd))
        base_buf_printf(out, ", $%.2f", s->story_usd);
    if (!isnan((double)r->rho))
        base_buf_printf(out, ", rho %.2f", (double)r->rho);
    base_buf_puts(out, "\n");
    story_reports(s);
    story_shares(s);
}
