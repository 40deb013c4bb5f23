/* run.c - see gen.h: where made-up data goes, and what is said of it.
 *
 * Rounds of blocks: some for each thread are made side by side, then put out in order. A slot owns the buffer and
 * the scratch memory of one block in flight. Tests: tests/unit/gen/test_rows.c. */
#include "gen/gen.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/text.h"
#include "base/watch.h"
#include "env/system.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SLOTS_PER_THREAD = 4, SLOTS_MAX = 256, TRUTH_MAX = 1 << 20, SENTENCE_MAX = 200 };

/* ---- options ---- */

shoal_status gen_take(const shoal_opt *rows, size_t count, void *own, size_t size,
                      const void *given, const shoal_result **out_result, shoal_err *err)
{
    size_t given_size = 0;

    memset(own, 0, size);
    memcpy(own, &size, sizeof size); /* struct_size, the first member */
    base_opt_defaults(rows, count, own);
    if (given != NULL)
        memcpy(&given_size, given, sizeof given_size);
    if (given_size >= sizeof given_size)
        memcpy(own, given, given_size < size ? given_size : size);
    if (out_result == NULL)
        return base_err(err, SHOAL_E_INVAL, "making data needs a place for its result");
    return SHOAL_OK;
}

uint64_t gen_usual(uint64_t asked, uint64_t usual, uint64_t most)
{
    return asked > 0 ? asked : usual < most ? usual : most;
}

/* ---- where it goes ---- */

bool gen_to_file(const shoal_gen_to *to)
{
    return to->output != NULL && strcmp(to->output, "-") != 0;
}

shoal_status gen_begin(struct gen_call *call, shoal_env *env, const char *kind,
                       const shoal_gen_to *to, shoal_err *err)
{
    *call = (struct gen_call){.env = env, .to = to, .made = GEN_RECORD_NONE};
    call->made.kind = kind;
    if (!gen_to_file(to) && to->put == NULL)
        return base_err(err, SHOAL_E_INVAL, "data needs an output: a file, or a function");
    /* Both files in one place would leave the later one. */
    if (to->truth != NULL && gen_to_file(to) && env_same_place(env, to->truth, to->output))
        return base_err(err, SHOAL_E_INVAL, "--truth and --output are the same file, '%s'",
                        to->truth);
    return SHOAL_OK;
}

shoal_status gen_open(struct gen_call *call, shoal_watch *watch, const char *what, uint64_t total,
                      shoal_err *err)
{
    call->watch = watch;
    base_watch_begin(watch, what, total);
    call->made.bytes = 0;
    return gen_to_file(call->to) ? env_create(call->env, call->to->output, &call->file, err)
                                 : SHOAL_OK;
}

shoal_status gen_put(struct gen_call *call, const void *text, size_t size, shoal_err *err)
{
    call->made.bytes += (double)size;
    if (call->file != NULL)
        return env_append(call->file, text, size, err);
    if (call->to->put(call->to->ctx, text, size))
        return SHOAL_OK;
    return base_err(err, SHOAL_E_IO, "cannot write the data");
}

shoal_status gen_truth(struct gen_call *call, gen_truth_fn line, const void *gen, shoal_err *err)
{
    struct env_out *file = NULL;
    struct base_buf text;

    if (call->to->truth == NULL)
        return SHOAL_OK;
    shoal_status st = env_create(call->env, call->to->truth, &file, err);
    if (st != SHOAL_OK)
        return st;
    base_buf_init(&text, env_alloc(call->env), TRUTH_MAX);
    for (uint64_t i = 0; st == SHOAL_OK && line(gen, i, &text); i++) {
        if (base_buf_status(&text) != SHOAL_OK)
            st = base_err_nomem(err, "writing what was planted");
        else if (text.size > 0)
            st = env_append(file, text.data, text.size, err);
        base_buf_clear(&text);
    }
    base_buf_fini(&text);
    if (st == SHOAL_OK)
        return env_commit(file, err);
    env_discard(file);
    return st;
}

shoal_status gen_end(struct gen_call *call, shoal_status st, shoal_err *err)
{
    if (call->file == NULL)
        return st;
    if (st == SHOAL_OK)
        st = env_commit(call->file, err);
    else
        env_discard(call->file);
    call->file = NULL;
    return st;
}

/* ---- the result ---- */

#define AT(member) offsetof(struct gen_record, member)
#define NUMBER(member, unit, help)                                    \
    {                                                                 \
        AT(member), SHOAL_FIELD_F64, unit, 0, 0, #member, NULL, help, \
            .flags = SHOAL_FIELD_OPTIONAL                             \
    }

static const shoal_field fields[] = {
    {AT(kind), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "kind", .help = "what was made"},
    {AT(output), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "output", .help = "where it went"},
    {AT(truth), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "truth",
     .help = "where what was planted went", .flags = SHOAL_FIELD_OPTIONAL},
    NUMBER(bytes, SHOAL_UNIT_BYTES, "size of the output"),
    NUMBER(rows, SHOAL_UNIT_COUNT, "rows"),
    NUMBER(columns, SHOAL_UNIT_COUNT, "columns (features)"),
    NUMBER(values, SHOAL_UNIT_COUNT, "values that are not 0"),
    NUMBER(users, SHOAL_UNIT_COUNT, "users"),
    NUMBER(items, SHOAL_UNIT_COUNT, "items"),
    NUMBER(ratings, SHOAL_UNIT_COUNT, "ratings"),
    NUMBER(documents, SHOAL_UNIT_COUNT, "documents"),
    NUMBER(words, SHOAL_UNIT_COUNT, "words of the vocabulary"),
    NUMBER(topics, SHOAL_UNIT_COUNT, "topics that were planted"),
    NUMBER(tokens, SHOAL_UNIT_COUNT, "tokens of all documents"),
    NUMBER(jobs, SHOAL_UNIT_COUNT, "jobs"),
    NUMBER(span_s, SHOAL_UNIT_SECONDS, "time from the first submission to the last"),
    NUMBER(rate_h, SHOAL_UNIT_NONE, "submissions in an hour, on average"),
    NUMBER(gpu_h, SHOAL_UNIT_NONE, "GPU-hours of a job, on average"),
    NUMBER(load, SHOAL_UNIT_NONE,
           "GPU time of all jobs over that of the GPUs, where a load was asked for"),
};
#undef AT

static const shoal_schema schema = {"gen", NULL, "What was made up", fields, BASE_COUNT(fields)};

const shoal_schema *shoal_gen_schema(void)
{
    return &schema;
}

struct page_made *gen_made(const struct gen_call *call)
{
    struct page_made *made = page_made_new(env_alloc(call->env));
    struct gen_record *record = page_made_alloc(made, 1, sizeof *record);

    if (record == NULL)
        return made;
    *record = call->made;
    record->output = page_made_text(made, "%s", call->to->output);
    if (call->to->truth != NULL)
        record->truth = page_made_text(made, "%s", call->to->truth);
    made->result.schema = &schema;
    made->result.records = (shoal_records){.first = record, .stride = sizeof *record, .count = 1};
    return made;
}

const char *gen_count(struct page_made *made, double count, const char *what)
{
    char number[32];

    return page_made_text(made, "%s %s%s",
                          base_format_count((uint64_t)count, number, sizeof number), what,
                          count == 1 ? "" : "s");
}

void gen_say(const struct gen_call *call, struct page_made *made, const char *format, ...)
{
    char what[SENTENCE_MAX];
    va_list args;

    if (!gen_to_file(call->to))
        return;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    page_made_note(made, SHOAL_NOTE_HINT, "%s, %.1f MB: %s", what, call->made.bytes * 1e-6,
                   call->to->output);
}

shoal_status gen_finish(const struct gen_call *call, struct page_made *made, const char *next,
                        const char *after, const shoal_result **out_result, shoal_err *err)
{
    if (gen_to_file(call->to))
        page_made_note(made, SHOAL_NOTE_HINT, "next: shoal %s %s%s", next, call->to->output, after);
    return page_made_finish(made, out_result, err);
}

/* ---- blocks ---- */

struct slot {
    void *scratch;
    char *text;
    struct gen_block made;
};

struct work {
    const struct gen_plan *plan;
    shoal_watch *watch;
    struct slot *slot;
    size_t slots;
    uint64_t block; /* the first of this round */
};

static void make_one(void *ctx, size_t index)
{
    struct work *w = ctx;
    struct slot *slot = &w->slot[index];

    slot->made = (struct gen_block){0};
    if (base_watch_stopped(w->watch))
        return;
    w->plan->make(w->plan->gen, slot->scratch, w->block + index, slot->text, &slot->made);
    if (w->watch != NULL)
        atomic_fetch_add_explicit(base_watch_done(w->watch), slot->made.units,
                                  memory_order_relaxed);
}

static shoal_status make_round(struct gen_call *call, struct work *w, uint64_t *entries,
                               shoal_err *err)
{
    uint64_t left = w->plan->blocks - w->block;
    size_t count = left < w->slots ? (size_t)left : w->slots;
    shoal_status st = env_parallel(call->env, count, call->threads, make_one, w, err);

    if (st == SHOAL_OK && base_watch_stopped(w->watch))
        st = base_err(err, SHOAL_E_CANCELLED, "interrupted");
    for (size_t i = 0; i < count && st == SHOAL_OK; i++) {
        const struct slot *slot = &w->slot[i];
        *entries += slot->made.entries;
        if (slot->made.size > 0)
            st = w->plan->put != NULL ? w->plan->put(w->plan->ctx, slot->text, slot->made.size, err)
                                      : gen_put(call, slot->text, slot->made.size, err);
    }
    w->block += count;
    return st;
}

static bool make_slots(struct work *w, const struct base_alloc *alloc)
{
    w->slot = base_calloc(alloc, w->slots, sizeof *w->slot);
    for (size_t i = 0; w->slot != NULL && i < w->slots; i++) {
        struct slot *slot = &w->slot[i];
        slot->scratch = w->plan->scratch_new(w->plan->gen, alloc);
        slot->text = w->plan->text_max > 0 ? base_malloc(alloc, w->plan->text_max) : NULL;
        if (slot->scratch == NULL || (w->plan->text_max > 0 && slot->text == NULL))
            return false;
    }
    return w->slot != NULL;
}

static void free_slots(struct work *w, const struct base_alloc *alloc)
{
    for (size_t i = 0; w->slot != NULL && i < w->slots; i++) {
        if (w->slot[i].scratch != NULL)
            w->plan->scratch_free(w->slot[i].scratch, alloc);
        base_free(alloc, w->slot[i].text);
    }
    base_free(alloc, w->slot);
}

shoal_status gen_blocks(struct gen_call *call, const struct gen_plan *plan, uint64_t *out_entries,
                        shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(call->env);
    struct work w = {.plan = plan, .watch = call->watch};
    uint32_t threads = call->threads != 0 ? call->threads : env_cpu_count(call->env);

    *out_entries = 0;
    w.slots = threads == 1 ? 1 : (size_t)threads * SLOTS_PER_THREAD;
    if (w.slots > SLOTS_MAX)
        w.slots = SLOTS_MAX;
    if (w.slots > plan->blocks)
        w.slots = (size_t)plan->blocks;
    shoal_status st = make_slots(&w, alloc) ? SHOAL_OK : base_err_nomem(err, "making data");
    while (st == SHOAL_OK && w.block < plan->blocks)
        st = make_round(call, &w, out_entries, err);
    free_slots(&w, alloc);
    return st;
}
