/* study_json.c - a study as one JSON object. Times are seconds, GPU time GPU-seconds.
 *
 * Tests: tests/cli/test_study.py. */
#include "cli/study_show.h"

#include "base/assert.h"
#include "base/event.h"
#include "cli/json.h"
#include "study/advice.h"
#include <inttypes.h>
#include <math.h>

enum { TEXT_MAX = 64 << 20 };

static const char *const wait_names[SIM_WAIT_COUNT + 1] = {[SIM_WAIT_FAIR_SHARE] = "fair_share",
                                                           [SIM_WAIT_LOCALITY] = "fragmentation",
                                                           [SIM_WAIT_CAPACITY] = "capacity",
                                                           [SIM_WAIT_OTHER] = "next_round",
                                                           [SIM_WAIT_COUNT] = "all"};

static void put_text(struct base_buf *out, const char *name, const char *text)
{
    base_buf_printf(out, ",\"%s\":", name);
    base_buf_json_string(out, text);
}

/* Least and most of all draws. */
static void put_range(struct base_buf *out, const char *name, struct study_range range)
{
    base_buf_printf(out, ",\"%s\":[", name);
    base_json_f64(out, range.least);
    base_buf_puts(out, ",");
    base_json_f64(out, range.most);
    base_buf_puts(out, "]");
}

static void put_delays(struct base_buf *out, const struct study_tally *t)
{
    base_buf_puts(out, ",\"delays\":{");
    for (uint32_t s = 0; s <= STUDY_SIZES; s++) {
        base_buf_printf(out, "%s\"%s\":{", s > 0 ? "," : "",
                        s == STUDY_ALL ? "all" : study_size_names[s]);
        for (uint32_t w = 0; w <= SIM_WAIT_COUNT; w++) {
            const struct study_delay *d = &t->delays[s][w];
            base_buf_printf(out, "%s\"%s\":{\"jobs\":%" PRIu64, w > 0 ? "," : "", wait_names[w],
                            d->jobs);
            cli_json_number(out, "total_s", d->total_s);
            cli_json_number(out, "p50_s", d->p50_s);
            cli_json_number(out, "p95_s", d->p95_s);
            cli_json_number(out, "p99_s", d->p99_s);
            base_buf_puts(out, "}");
        }
        base_buf_puts(out, "}");
    }
    base_buf_puts(out, "}");
}

static void put_servers(struct base_buf *out, const struct study_tally *t)
{
    base_buf_puts(out, ",\"sizes\":{");
    for (uint32_t s = 0; s < STUDY_SIZES; s++) {
        base_buf_printf(out, "%s\"%s\":{\"gpu_s_by_servers\":{", s > 0 ? "," : "",
                        study_size_names[s]);
        for (uint32_t b = 0; b < SIM_SERVERS_COUNT; b++) {
            base_buf_printf(out, "%s\"%s\":", b > 0 ? "," : "", sim_servers_name(b));
            base_json_f64(out, t->servers_gpu_s[s][b]);
        }
        base_buf_puts(out, "}");
        cli_json_number(out, "spread_gpu_s", t->spread_gpu_s[s]);
        cli_json_number(out, "beside_gpu_s", t->beside_gpu_s[s]);
        cli_json_number(out, "slow_gpu_s", t->slow_gpu_s[s]);
        base_buf_puts(out, "}");
    }
    base_buf_puts(out, "}");
}

static void put_run(struct base_buf *out, const struct study *s, enum study_run_id id)
{
    const struct study_run *r = &s->runs[id];
    const struct study_tally *t = &r->tally;
    const struct {
        const char *name;
        double value;
    } fields[] = {
        {"utilization", t->utilization},
        {"occupancy", t->occupancy},
        {"fragmentation_ratio", study_fragmentation_ratio(s, id)},
        {"saved_gpu_s", study_saved_gpu_s(s, id)},
        {"spared_gpu_s", study_spared_gpu_s(s, id)},
        {"avg_jct_s", t->avg_jct_s},
        {"p50_jct_s", t->p50_jct_s},
        {"p99_jct_s", t->p99_jct_s},
        {"held_gpu_s", t->held_gpu_s},
        {"slow_gpu_s", t->slow_all_gpu_s},
        {"work_recorded_gpu_s", r->books.recorded_gpu_s},
        {"work_useful_gpu_s", r->books.useful_gpu_s},
        {"work_lost_gpu_s", r->books.lost_gpu_s},
        {"work_saved_gpu_s", r->books.saved_gpu_s},
        {"trial_gpu_s", r->books.trial_gpu_s},
        {"trial_delay_s", t->trial_s},
        {"caught", (double)r->books.caught},
        {"cut", (double)r->books.cut},
        {"moves", (double)t->moves},
        {"restarts", (double)t->restarts},
        {"preempted", (double)t->preempted},
        {"cpu_s", t->cpu_s},
    };

    base_buf_puts(out, "{\"id\":");
    base_buf_json_string(out, study_guidelines[id].id);
    put_text(out, "name", study_guidelines[id].name);
    base_buf_printf(out, ",\"simulated\":%s", r->possible ? "true" : "false");
    if (!r->possible) {
        put_text(out, "why_not", r->why_not);
        base_buf_puts(out, "}");
        return;
    }
    put_text(out, "policy", r->policy);
    for (size_t i = 0; i < BASE_COUNT(fields); i++)
        cli_json_number(out, fields[i].name, fields[i].value);
    put_range(out, "saved_gpu_s_range", study_saved_range(s, id));
    put_range(out, "spared_gpu_s_range", study_spared_range(s, id));
    put_range(out, "fragmentation_ratio_range", study_ratio_range(s, id));
    put_delays(out, t);
    put_servers(out, t);
    base_buf_puts(out, "}");
}

static void put_failures(struct base_buf *out, const struct study *s)
{
    base_buf_printf(
        out, ",\"failures\":{\"source\":\"%s\",\"unsuccessful\":%" PRIu64 ",\"classes\":[",
        s->opts.failures == STUDY_FAILURES_NONE ? "none" : "model", s->unsuccessful[STUDY_ALL]);
    for (size_t c = 0; c < STUDY_CLASSES; c++) {
        const struct study_lost *l = &s->lost[c];
        base_buf_puts(out, c > 0 ? ",{\"name\":" : "{\"name\":");
        base_buf_json_string(out, study_classes[c].name);
        put_text(out, "cause", study_cause_name(study_classes[c].cause));
        base_buf_printf(out, ",\"retry\":%s", study_classes[c].retry ? "true" : "false");
        cli_json_number(out, "jobs", (double)l->jobs);
        cli_json_number(out, "passed", (double)l->passed);
        cli_json_number(out, "attempts", (double)l->attempts);
        cli_json_number(out, "lost_gpu_s", l->lost_gpu_s);
        base_buf_puts(out, "}");
    }
    base_buf_puts(out, "]}");
}

static void put_quotas(struct base_buf *out, const struct study *s)
{
    const char *between = "";

    base_buf_printf(out, ",\"quotas\":{\"source\":\"%s\",\"gpus\":{",
                    s->quotas.none    ? "none"
                    : s->quotas.given ? "given"
                                      : "share");
    for (uint32_t g = 0; g < s->quotas.count && !s->quotas.none; g++) {
        if (s->quotas.gpu_s[g] <= 0)
            continue;
        base_buf_puts(out, between);
        base_buf_json_string(out, sim_names_get(&s->trace->groups, g));
        base_buf_printf(out, ":%u", s->quotas.gpus[g]);
        between = ",";
    }
    base_buf_puts(out, "}}");
}

typedef void say_fn(const struct study *study, struct base_buf *out);

static void put_sentence(struct base_buf *out, const char *name, const struct study *s, say_fn *say)
{
    struct base_buf text;

    base_buf_init(&text, out->alloc, 4096);
    say(s, &text);
    if (base_buf_status(&text) == SHOAL_OK)
        put_text(out, name, text.data);
    else
        out->status = base_buf_status(&text);
    base_buf_fini(&text);
}

static void put_study(struct base_buf *out, const struct cli_study *shown)
{
    const struct study *s = shown->study;

    base_buf_printf(out,
                    "{\"v\":1,\"jobs\":%zu,\"too_large\":%" PRIu64 ",\"gpus\":%u,\"servers\":%u",
                    s->jobs.count, s->jobs.too_large, s->cluster->gpus, s->cluster->node_count);
    put_text(out, "cluster", shown->cluster);
    base_buf_printf(out,
                    ",\"cluster_chosen\":%s,\"seed\":%" PRIu64 ",\"input_hash\":\"%016" PRIx64 "\"",
                    shown->chosen ? "true" : "false", s->opts.seed, s->trace->input_hash);
    base_buf_printf(out, ",\"draws\":%u", s->more_count + 1);
    cli_json_number(out, "span_s", s->jobs.to_s - s->jobs.from_s);
    cli_json_number(out, "wall_s", s->wall_s);
    put_quotas(out, s);
    base_buf_printf(out, ",\"trial_pool\":{\"gpus\":%u,\"servers\":%u", s->pool.gpus,
                    s->pool.node_count);
    cli_json_number(out, "trial_s", s->opts.trial_s);
    cli_json_number(out, "wait_s", s->pool_wait_s);
    cli_json_number(out, "held_gpu_s", s->pool_gpu_s);
    base_buf_puts(out, "}");
    put_failures(out, s);
    put_range(out, "lost_gpu_s_range", study_lost_range(s));
    enum study_run_id first = study_first_step(s), second = study_second_step(s);
    base_buf_puts(out, ",\"first\":");
    if (first == STUDY_BASE)
        base_buf_puts(out, "null");
    else
        base_buf_json_string(out, study_guidelines[first].id);
    base_buf_puts(out, ",\"second\":");
    if (second == STUDY_BASE)
        base_buf_puts(out, "null");
    else
        base_buf_json_string(out, study_guidelines[second].id);
    base_buf_puts(out, ",\"findings\":{\"v\":1");
    put_sentence(out, "first", s, study_say_first);
    put_sentence(out, "waiting", s, study_say_waiting);
    put_sentence(out, "speed", s, study_say_speed);
    put_sentence(out, "failures", s, study_say_failures);
    put_sentence(out, "together", s, study_say_together);
    put_sentence(out, "luck", s, study_say_luck);
    base_buf_puts(out, "},\"luck\":{\"echoes\":");
    base_buf_printf(out, "%d", STUDY_ECHOES);
    cli_json_number(out, "wait_s", study_luck_s(s, STUDY_WAITS));
    cli_json_number(out, "fragmentation_s", study_luck_s(s, SIM_WAIT_LOCALITY));
    cli_json_number(out, "held_gpu_s", study_luck_gpu_s(s));
    base_buf_puts(out, "},\"runs\":[");
    for (enum study_run_id r = STUDY_BASE; r < STUDY_RUNS; r++) {
        base_buf_puts(out, r > STUDY_BASE ? "," : "");
        put_run(out, s, r);
    }
    base_buf_puts(out, "]}\n");
}

int cli_study_json(const struct cli_context *cx, const struct cli_study *shown)
{
    struct base_buf out;

    base_buf_init(&out, env_alloc(cx->env), TEXT_MAX);
    put_study(&out, shown);
    int rc = cli_print(cx, &out);
    base_buf_fini(&out);
    return rc;
}
