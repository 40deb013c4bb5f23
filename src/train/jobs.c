/* jobs.c - the public face of the jobs that run here (shoal/jobs.h): what they answer, as records.
 * Tests: tests/cli/test_train.py, tests/unit/train/test_predict.c. */
#include "shoal/jobs.h"

#include "base/err.h"
#include "page/make.h"
#include "train/listing.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_MAX = 4 << 20 };

_Static_assert((int)SHOAL_JOB_KEY_SIZE == 2 * WIRE_KEY_SIZE + 1, "keys as text");

struct row {
    const char *name, *app, *state, *data, *address, *status;
    uint64_t pid;
    double workers, progress, value, clocks, saved_s;
};

#define AT(member) offsetof(struct row, member)

static const shoal_field fields[] = {
    {AT(pid), SHOAL_FIELD_U64, SHOAL_UNIT_NONE, 0, 0, "pid", .help = "process of its driver"},
    {AT(name), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "name", "JOB", .help = "its name"},
    {AT(app), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "app", "APP", .help = "its application"},
    {AT(state), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "state", "STATE",
     .help = "running, loading while it reads its data, or silent when it does not answer"},
    {AT(workers), SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 0, 1, NULL, "WORKERS",
     .help = "workers that are up"},
    {AT(progress), SHOAL_FIELD_F64, SHOAL_UNIT_SHARE, 0, 1, NULL, "DONE",
     .help = "share of the work that is done"},
    {AT(value), SHOAL_FIELD_F64, SHOAL_UNIT_VALUE, 0, 1, NULL, "OBJECTIVE",
     .help = "the objective now"},
    {AT(clocks), SHOAL_FIELD_F64, SHOAL_UNIT_COUNT, 0, 1, NULL, "CLOCKS",
     .help = "clocks that all executors have ended"},
    {AT(saved_s), SHOAL_FIELD_F64, SHOAL_UNIT_SECONDS, 0, 1, NULL, "SAVED AGO",
     .help = "age of its last checkpoint", .flags = SHOAL_FIELD_SPARSE},
    {AT(address), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 0, "address",
     .help = "where workers and onlookers connect; null while it reads its data"},
    {AT(status), SHOAL_FIELD_JSON, SHOAL_UNIT_NONE, 0, 0, "status",
     .help = "what it says of itself; null when it does not answer"},
    {AT(data), SHOAL_FIELD_TEXT, SHOAL_UNIT_NONE, 0, 1, "data", "DATA",
     .help = "what it is "
             "trained on",
     .flags = SHOAL_FIELD_CUT},
};
static const shoal_schema job_schema = {.name = "job",
                                        .title = "Jobs",
                                        .help = "a training job that runs on this machine",
                                        .fields = fields,
                                        .field_count = sizeof fields / sizeof fields[0]};

struct all {
    shoal_records jobs;
};
static const shoal_field all_fields[] = {
    {offsetof(struct all, jobs), SHOAL_FIELD_RECORDS, SHOAL_UNIT_NONE, 0, 1, "jobs",
     .help = "newest first", .of = &job_schema},
};
static const shoal_schema all_schema = {
    .name = "jobs", .help = "the jobs that run here", .fields = all_fields, .field_count = 1};

const shoal_schema *shoal_jobs_schema(void)
{
    return &all_schema;
}

static void fill_row(struct page_made *made, const struct train_listing *job,
                     const struct train_job_answer *answer, struct row *out)
{
    const json_t *status = answer->status;

    *out = (struct row){
        .name = page_made_text(made, "%s", job->name),
        .app = page_made_text(made, "%s", job->app),
        .state = train_jobs_state(job, answer),
        .data = page_made_text(made, "%s", job->data),
        .address = train_jobs_loading(job) ? NULL : page_made_text(made, "%s", job->address),
        .status = status != NULL ? page_made_text(made, "%s", answer->text.data) : NULL,
        .pid = (uint64_t)job->pid,
        .workers = train_jobs_number(status, "workers"),
        .progress = train_jobs_number(status, "progress"),
        .value = train_jobs_number(status, "value"),
        .clocks = train_jobs_number(status, "clocks"),
        .saved_s = floor(fmax(train_jobs_number(status, "checkpoint_age_s"), 0))};
    if (isnan(train_jobs_number(status, "checkpoint_age_s")))
        out->saved_s = (double)NAN;
}

static shoal_status make_result(shoal_env *env, const struct train_listing *jobs,
                                const struct train_job_answer *answers, size_t count,
                                const shoal_result **out_result, shoal_err *err)
{
    struct page_made *made = page_made_new(env_alloc(env));
    struct all *all = page_made_alloc(made, 1, sizeof *all);
    struct row *rows = page_made_alloc(made, count, sizeof *rows);

    if (all == NULL || rows == NULL)
        return page_made_finish(made, out_result, err);
    for (size_t i = 0; i < count; i++) {
        fill_row(made, &jobs[i], &answers[i], &rows[i]);
        if (answers[i].status == NULL && !train_jobs_loading(&jobs[i]))
            page_made_note(made, SHOAL_NOTE_WARNING, "%s", answers[i].err.message);
    }
    if (count == 0)
        page_made_note(made, SHOAL_NOTE_INFO, "no job runs here; start one: shoal train APP DATA");
    all->jobs = (shoal_records){.first = rows, .stride = sizeof *rows, .count = count};
    made->result.title = page_made_text(made, "%zu training job%s", count, count == 1 ? "" : "s");
    made->result.schema = &all_schema;
    made->result.records = (shoal_records){.first = all, .stride = sizeof *all, .count = 1};
    return page_made_finish(made, out_result, err);
}

shoal_status shoal_jobs(shoal_env *env, const char *job, const shoal_result **out_result,
                        shoal_err *err)
{
    struct train_job_answer *answers = NULL;
    struct train_listing *jobs = NULL;
    size_t count = 1;
    shoal_status st;

    if (env == NULL || out_result == NULL)
        return base_err(err, SHOAL_E_INVAL, "a look at jobs needs a place for its result");
    if (job == NULL) {
        st = train_jobs_all(env, &jobs, &count, err);
    } else {
        jobs = base_calloc(env_alloc(env), 1, sizeof *jobs);
        st = jobs != NULL ? train_jobs_find(env, job, jobs, err)
                          : base_err_nomem(err, "looking at jobs");
    }
    if (st == SHOAL_OK)
        st = train_jobs_ask_all(env, jobs, count, &answers, err);
    if (st == SHOAL_OK)
        st = make_result(env, jobs, answers, count, out_result, err);
    train_jobs_answers_free(env, answers, count);
    base_free(env_alloc(env), jobs);
    return st;
}

/* ---- a hand on one ---- */

static void fill_field(struct page_made *made, const char *key, json_t *value, shoal_field *field,
                       void *at)
{
    char *text;

    field->name = page_made_text(made, "%s", key);
    if (json_is_number(value) || json_is_null(value)) {
        field->type = SHOAL_FIELD_F64;
        *(double *)at = json_is_null(value) ? (double)NAN : json_number_value(value);
    } else if (json_is_string(value)) {
        field->type = SHOAL_FIELD_TEXT;
        *(const char **)at = page_made_text(made, "%s", json_string_value(value));
    } else if (json_is_boolean(value)) {
        field->type = SHOAL_FIELD_BOOL;
        *(bool *)at = json_is_true(value);
    } else {
        field->type = SHOAL_FIELD_JSON;
        text = json_dumps(value, JSON_COMPACT);
        *(const char **)at = text != NULL ? page_made_text(made, "%s", text) : NULL;
        free(text);
    }
}

/* An answer of a job, whatever is in it, as a record. */
static void fill_answer(struct page_made *made, json_t *answer)
{
    size_t count = json_object_size(answer), at = 0;
    shoal_schema *schema = page_made_alloc(made, 1, sizeof *schema);
    shoal_field *field = page_made_alloc(made, count, sizeof *field);
    double *values = page_made_alloc(made, count, sizeof *values);
    const char *key;
    json_t *value;

    if (schema == NULL || field == NULL || values == NULL)
        return;
    json_object_foreach(answer, key, value)
    {
        if (strcmp(key, "v") == 0)
            continue;
        field[at].offset = at * sizeof *values;
        fill_field(made, key, value, &field[at], &values[at]);
        at++;
    }
    *schema = (shoal_schema){
        .name = "status", .help = "what a job says of itself", .fields = field, .field_count = at};
    made->result.schema = schema;
    made->result.records =
        (shoal_records){.first = values, .stride = count * sizeof *values, .count = 1};
}
_Static_assert(sizeof(double) >= sizeof(char *), "a pointer fits where a number does");

/* Of a status: this worker was told to leave before. */
static bool leaves_already(const json_t *status, uint32_t worker)
{
    const json_t *crew = json_object_get(status, "crew"), *one;
    size_t i;

    json_array_foreach(crew, i, one)
    {
        const char *state = json_string_value(json_object_get(one, "state"));
        if (train_jobs_number(one, "worker") == (double)worker && state != NULL)
            return strcmp(state, "leaving") == 0;
    }
    return false;
}

static void say_told(struct page_made *made, const char *name, const char *verb, uint32_t n,
                     const json_t *before)
{
    double had = train_jobs_number(before, "wanted");

    if (strcmp(verb, "drain") == 0)
        page_made_say(made, "worker %u of %s %s", n, name,
                      leaves_already(before, n) ? "is ended" : "leaves when its tasks are done");
    else if (had == (double)n)
        page_made_say(made, "%s has %u worker%s already", name, n, n == 1 ? "" : "s");
    else
        page_made_say(made, "scaled %s %.0f -> %u", name, had, n);
    page_made_say(made, "    watch: shoal top %s\n", name);
}

static shoal_status tell(shoal_env *env, const char *word, const char *verb, uint32_t n,
                         const shoal_result **out_result, shoal_err *err)
{
    shoal_err own = SHOAL_ERR_INIT, *why = err != NULL ? err : &own;
    json_t *before = NULL, *answer = NULL;
    struct train_listing job;
    struct base_buf text;
    char line[64];

    if (env == NULL || word == NULL || out_result == NULL)
        return base_err(err, SHOAL_E_INVAL, "a job's name and a place for the result are missing");
    shoal_status st = train_jobs_find(env, word, &job, why);
    if (st != SHOAL_OK)
        return st;
    base_buf_init(&text, env_alloc(env), ANSWER_MAX);
    before = train_jobs_ask(env, &job, "status", &text, why);
    snprintf(line, sizeof line, "%s %u", verb, n);
    if (before != NULL)
        answer = train_jobs_ask(env, &job, line, &text, why);
    if (answer != NULL) {
        struct page_made *made = page_made_new(env_alloc(env));
        fill_answer(made, answer);
        say_told(made, job.name, verb, n, before);
        st = page_made_finish(made, out_result, err);
    } else {
        st = why->code;
    }
    json_decref(before);
    json_decref(answer);
    base_buf_fini(&text);
    wire_key_wipe(&job.key);
    return st;
}

shoal_status shoal_jobs_scale(shoal_env *env, const char *job, uint32_t workers,
                              const shoal_result **out_result, shoal_err *err)
{
    return tell(env, job, "scale", workers, out_result, err);
}

shoal_status shoal_jobs_drain(shoal_env *env, const char *job, uint32_t worker,
                              const shoal_result **out_result, shoal_err *err)
{
    return tell(env, job, "drain", worker, out_result, err);
}

shoal_status shoal_jobs_key(shoal_env *env, const char *word, char out[SHOAL_JOB_KEY_SIZE],
                            shoal_err *err)
{
    struct train_listing job;
    struct wire_key key;

    if (env == NULL || word == NULL || out == NULL)
        return base_err(err, SHOAL_E_INVAL, "a job's name and a place for the key are missing");
    shoal_status st = train_jobs_find(env, word, &job, err);
    if (st == SHOAL_OK && train_jobs_loading(&job)) {
        st = base_err(err, SHOAL_E_IO, "job '%s' still reads its data", job.name);
        base_err_hint(err, "ask again in a moment");
    }
    if (st == SHOAL_OK && wire_key_joining(&job.key, &key)) {
        wire_key_format(&key, out);
        wire_key_wipe(&key);
    } else if (st == SHOAL_OK) {
        st = base_err_nomem(err, "deriving a key");
    }
    wire_key_wipe(&job.key);
    return st;
}
