/* why.c - names and sentences for the reasons a job waits. */
#include "sched/why.h"

const char *sched_reason_name(enum sched_reason reason)
{
    switch (reason) {
#define ROW(id, name) \
    case id: return name;
        SCHED_REASON_MAP(ROW)
#undef ROW
    case SCHED_WHY_COUNT: break;
    }
    return "none";
}

static void blockers_text(const struct sched_why *why,
                          const char *(*name_of)(void *ctx, uint32_t job), void *ctx,
                          struct base_buf *out)
{
    for (uint32_t i = 0; i < why->blocker_count; i++)
        base_buf_printf(out, "%s %s holds %u", i == 0 ? ";" : ",",
                        name_of(ctx, why->blockers[i].job), why->blockers[i].gpus);
}

void sched_why_text(const struct sched_why *why, const char *kind,
                    const char *(*name_of)(void *ctx, uint32_t job), void *ctx,
                    struct base_buf *out)
{
    const char *what = kind != NULL ? kind : why->want == 1 ? "GPU" : "GPUs";

    if (why->behind != UINT32_MAX) {
        base_buf_printf(out, "comes after %s, which does not fit yet", name_of(ctx, why->behind));
        return;
    }
    switch ((enum sched_reason)why->reason) {
    case SCHED_WHY_NEXT_ROUND:
        base_buf_puts(out, "arrived between two rounds; the next one looks at it");
        return;
    case SCHED_WHY_IMPOSSIBLE:
        base_buf_printf(out, "asks for %u %s at once, more than this cluster has", why->want, what);
        return;
    case SCHED_WHY_GANG:
        base_buf_printf(out, "asks for %u %s at once, %u free", why->want, what, why->free);
        break;
    case SCHED_WHY_LOCALITY:
        base_buf_printf(out, "asks for %u %s; %u free, but not where its placement rules allow",
                        why->want, what, why->free);
        break;
    case SCHED_WHY_FAIR_SHARE:
        base_buf_printf(out, "asks for %u %s; jobs that come before it under this policy hold them",
                        why->want, what);
        break;
    case SCHED_WHY_QUEUE:
        base_buf_printf(out, "asks for %u %s; jobs that came before it hold them", why->want, what);
        break;
    case SCHED_WHY_CAPACITY:
        base_buf_printf(out, "asks for %u %s; %u free", why->want, what, why->free);
        break;
    case SCHED_WHY_DEADLINE_SLACK:
        base_buf_printf(out, "asks for %u %s; its deadline leaves time to wait", why->want, what);
        break;
    case SCHED_WHY_PRICE:
        base_buf_printf(out, "asks for %u %s; %s price is better spent on other jobs", why->want,
                        what, why->want == 1 ? "its" : "their");
        break;
    case SCHED_WHY_LIMIT:
        base_buf_printf(out, "asks for %u %s, beyond a limit that is set", why->want, what);
        return;
    case SCHED_WHY_HELD: base_buf_puts(out, "held back by its owner"); return;
    case SCHED_WHY_DEPENDENCY: base_buf_puts(out, "waits for the end of another job"); return;
    case SCHED_WHY_NONE:
    case SCHED_WHY_COUNT: base_buf_puts(out, "no reason was given"); return;
    }
    blockers_text(why, name_of, ctx, out);
    if (why->cleaned)
        base_buf_puts(out, "; its bids contradicted each other and were put right");
}
