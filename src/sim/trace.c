/* trace.c - traces as values: building, sorting, loading through the readers of readers.h.
 *
 * Loading costs one hash of the name per job and no allocation per line: names go to an arena, jobs
 * to one array. While loading, trace->names maps each name to where it was read (file << 40 |
 * line). */
#include "sim/trace.h"

#include "base/assert.h"
#include "base/err.h"
#include "sim/bind.h"
#include "sim/reader.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const sim_format_names[] = {
    "auto",
#define SIM_FORMAT_NAME(id, name) #name,
    SIM_READER_MAP(SIM_FORMAT_NAME)
#undef SIM_FORMAT_NAME
        NULL,
};

const char *const sim_adapt_names[SIM_ADAPT_COUNT] = {"batch", "size", "none"};

static const struct sim_reader *const readers[SIM_FORMAT_COUNT] = {
    NULL,
#define SIM_READER_POINTER(id, name) &sim_reader_##name,
    SIM_READER_MAP(SIM_READER_POINTER)
#undef SIM_READER_POINTER
};

/* --- names -------------------------------------------------------------------------------------
 */

shoal_status sim_names_add(struct sim_names *names, const char *name, size_t length,
                           uint32_t *out_index)
{
    struct base_map_entry *entry = NULL;

    if (names->map.count >= SIM_NONE - 1)
        return SHOAL_E_LIMIT;
    shoal_status st = base_map_add(&names->map, name, length, names->map.count, &entry);
    if (st != SHOAL_OK && st != SHOAL_E_EXISTS)
        return st;
    *out_index = (uint32_t)entry->value;
    return SHOAL_OK;
}

const char *sim_names_get(const struct sim_names *names, uint32_t index)
{
    shoal_assert(index < names->map.count);
    return names->map.entries[index].key;
}

/* --- building ----------------------------------------------------------------------------------
 */

shoal_status sim_trace_new(const struct base_alloc *alloc, struct sim_trace **out_trace)
{
    struct sim_trace *trace = base_calloc(alloc, 1, sizeof *trace);

    if (trace == NULL)
        return SHOAL_E_NOMEM;
    trace->alloc = alloc;
    trace->format = "";
    base_arena_init(&trace->arena, alloc, 16 * 1024);
    base_map_init(&trace->models.map, alloc);
    base_map_init(&trace->groups.map, alloc);
    base_map_init(&trace->apps.map, alloc);
    base_map_init(&trace->kinds.map, alloc);
    base_map_init(&trace->names, alloc);
    *out_trace = trace;
    return SHOAL_OK;
}

void sim_trace_free(struct sim_trace *trace)
{
    if (trace == NULL)
        return;
    sim_tables_free(trace->tables);
    base_map_fini(&trace->names);
    base_map_fini(&trace->kinds.map);
    base_map_fini(&trace->groups.map);
    base_map_fini(&trace->apps.map);
    base_map_fini(&trace->models.map);
    base_free(trace->alloc, trace->jobs);
    base_arena_fini(&trace->arena);
    base_free(trace->alloc, trace);
}

/* What every reader and generator promises; the other half of the pair is in the fuzzers. */
static void check_job(const struct sim_trace *trace, const struct sim_job *job)
{
    shoal_assert(isfinite(job->submit_s));
    shoal_assert(job->gpus >= 1 && job->gpus <= SIM_JOB_GPUS_MAX);
    shoal_assert(job->weight > 0 && !(job->deadline_s < job->submit_s));
    shoal_assert(job->work == SIM_WORK_DURATION ? job->duration_s > 0 : isnan(job->duration_s));
    shoal_assert(job->work == SIM_WORK_STEPS ? job->steps > 0 : isnan(job->steps));
    shoal_assert(job->work == SIM_WORK_DURATION || job->model < trace->models.map.count);
}

shoal_status sim_trace_add_at(struct sim_trace *trace, const struct sim_job *job, uint64_t where,
                              uint64_t *out_first)
{
    size_t length = strlen(job->name);
    struct base_map_entry *entry = NULL;
    uint32_t group = job->group;

    check_job(trace, job);
    if (trace->job_count >= SIM_JOBS_MAX)
        return SHOAL_E_LIMIT;
    if (base_reserve(trace->alloc, (void **)&trace->jobs, &trace->job_cap, trace->job_count + 1,
                     sizeof *trace->jobs) != 0)
        return SHOAL_E_NOMEM;
    if (group == SIM_NONE) {
        shoal_status st = sim_names_add(&trace->groups, "default", 7, &group);
        if (st != SHOAL_OK)
            return st;
    }
    char *name = base_arena_strndup(&trace->arena, job->name, length);
    if (name == NULL)
        return SHOAL_E_NOMEM;
    shoal_status st = base_map_add(&trace->names, name, length, where, &entry);
    if (st == SHOAL_E_EXISTS)
        *out_first = entry->value;
    if (st != SHOAL_OK)
        return st;
    struct sim_job *slot = &trace->jobs[trace->job_count++];
    *slot = *job;
    slot->name = name;
    slot->group = group;
    return SHOAL_OK;
}

shoal_status sim_trace_add(struct sim_trace *trace, const struct sim_job *job)
{
    uint64_t first;

    return sim_trace_add_at(trace, job, 0, &first);
}

/* While sorting, `kinds` (not yet bound) holds the order in the file, which makes the order total.
 */
static int by_submission(const void *pa, const void *pb)
{
    const struct sim_job *a = pa, *b = pb;

    if (a->submit_s != b->submit_s)
        return a->submit_s < b->submit_s ? -1 : 1;
    return a->kinds < b->kinds ? -1 : a->kinds > b->kinds;
}

void sim_trace_finish(struct sim_trace *trace)
{
    bool sorted = true;

    for (size_t i = 1; i < trace->job_count && sorted; i++)
        sorted = trace->jobs[i - 1].submit_s <= trace->jobs[i].submit_s;
    if (!sorted) {
        for (size_t i = 0; i < trace->job_count; i++)
            trace->jobs[i].kinds = (uint32_t)i;
        qsort(trace->jobs, trace->job_count, sizeof *trace->jobs, by_submission);
        for (size_t i = 0; i < trace->job_count; i++)
            trace->jobs[i].kinds = 0;
    }
    base_map_fini(&trace->names);
    base_map_init(&trace->names, trace->alloc);
}

/* --- loading -----------------------------------------------------------------------------------
 */

/* The file's name without folder and ending. */
static const char *stem_of(const char *path, size_t *out_length)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(base, '.');

    *out_length = dot != NULL && dot > base ? (size_t)(dot - base) : strlen(base);
    if (*out_length > 40)
        *out_length = 40;
    return base;
}

/* Names made up by readers stay unique over several files: "stem:", or "stem#2:" for a stem seen
 * before. */
static void set_prefix(struct sim_read *rd, const char *const *paths, size_t path_count)
{
    size_t length, seen = 0;
    const char *stem = stem_of(paths[rd->file], &length);

    rd->prefix[0] = '\0';
    if (path_count < 2)
        return;
    for (size_t i = 0; i < rd->file; i++) {
        size_t other_length;
        const char *other = stem_of(paths[i], &other_length);
        seen += other_length == length && memcmp(other, stem, length) == 0;
    }
    if (seen > 0)
        snprintf(rd->prefix, sizeof rd->prefix, "%.*s#%zu:", (int)length, stem, seen + 1);
    else
        snprintf(rd->prefix, sizeof rd->prefix, "%.*s:", (int)length, stem);
}

static shoal_status no_jobs(const struct sim_read *rd, shoal_err *err)
{
    const char *path = rd->lines.path;

    if (rd->trace->skipped > 0)
        return base_err(err, SHOAL_E_FORMAT,
                        "cannot read trace '%s': no jobs in it, %llu line%s left out", path,
                        (unsigned long long)rd->trace->skipped,
                        rd->trace->skipped == 1 ? " was" : "s were");
    base_err(err, SHOAL_E_FORMAT, "cannot read trace '%s': no jobs in it", path);
    return SHOAL_E_FORMAT;
}

/* Words with commas between, none of which begins like a number. */
static bool is_header(const char *line, size_t length)
{
    size_t commas = 0;
    bool start = true;

    for (size_t i = 0; i < length; i++) {
        if (start && line[i] != ' ' && line[i] != '"' && !isalpha((unsigned char)line[i]) &&
            line[i] != '_')
            return false;
        commas += line[i] == ',';
        start = line[i] == ',' || (start && (line[i] == ' ' || line[i] == '"'));
    }
    return commas > 0;
}

static void hint_formats(const char *line, size_t length, shoal_err *err)
{
    char names[120] = "";

    if (memchr(line, ',', length) == NULL && memchr(line, ';', length) != NULL) {
        base_err_hint(err, "columns are separated by commas, not semicolons");
        return;
    }
    if (memchr(line, ',', length) == NULL && memchr(line, '\t', length) != NULL) {
        base_err_hint(err, "columns are separated by commas, not tabs (those of --format gavel "
                           "are: 7 or 10, without a header)");
        return;
    }
    if (is_header(line, length)) {
        base_err_hint(err, "Shoal's columns are name,submit_s,gpus and duration_s, or model with "
                           "steps or batch; also group,weight,deadline_s,slo,kinds");
        return;
    }
    for (size_t i = 1; i < SIM_FORMAT_COUNT; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i > 1 ? ", " : "", sim_format_names[i]);
    }
    base_err_hint(err, "name the format with --format: %s", names);
}

static shoal_status choose_reader(struct sim_read *rd, enum sim_format format,
                                  const struct sim_reader **out_reader, shoal_err *err)
{
    const char *line;
    size_t length;
    shoal_status st = env_lines_peek(&rd->lines, &line, &length, err);

    if (st == SHOAL_END)
        return no_jobs(rd, err);
    if (st != SHOAL_OK)
        return st;
    *out_reader = readers[format];
    for (size_t i = 1; i < SIM_FORMAT_COUNT && *out_reader == NULL; i++)
        if (readers[i]->detect(line, length))
            *out_reader = readers[i];
    if (*out_reader != NULL)
        return SHOAL_OK;
    char shown[ENV_SHOWN_MAX];
    rd->lines.line++;
    env_lines_bad(&rd->lines, 0, err, "expected a trace in a known format, found '%s'",
                  env_lines_show(line, length, shown));
    hint_formats(line, length, err);
    return SHOAL_E_FORMAT;
}

static uint64_t mix_hash(uint64_t hash, uint64_t more)
{
    return (hash ^ more) * 0x9e3779b97f4a7c15u;
}

static shoal_status load_file(shoal_env *env, struct sim_read *rd, enum sim_format format,
                              const struct sim_reader **out_reader, shoal_err *err)
{
    size_t before = rd->trace->job_count;
    shoal_status st = env_lines_open(env, "trace", rd->paths[rd->file], &rd->lines, err);

    if (st != SHOAL_OK)
        return st;
    st = choose_reader(rd, format, out_reader, err);
    if (st == SHOAL_OK)
        st = (*out_reader)->read(rd, err);
    if (st == SHOAL_OK && rd->trace->job_count == before)
        st = no_jobs(rd, err);
    rd->trace->input_hash = mix_hash(rd->trace->input_hash, rd->lines.hash);
    env_lines_close(&rd->lines);
    return st;
}

/* Jobs with dates, marked by kinds == 1 while loading, are counted from the earliest of them. */
static void settle_dates(struct sim_trace *trace)
{
    double first = INFINITY;

    for (size_t i = 0; i < trace->job_count; i++)
        if (trace->jobs[i].kinds == 1)
            first = fmin(first, trace->jobs[i].submit_s);
    for (size_t i = 0; i < trace->job_count; i++) {
        if (trace->jobs[i].kinds == 1)
            trace->jobs[i].submit_s -= first;
        trace->jobs[i].kinds = 0;
    }
}

static shoal_status load_all(shoal_env *env, struct sim_read *rd, size_t path_count,
                             enum sim_format format, shoal_err *err)
{
    struct sim_trace *trace = rd->trace;
    bool dates = false;

    for (rd->file = 0; rd->file < path_count; rd->file++) {
        const struct sim_reader *reader = NULL;
        size_t before = trace->job_count;
        set_prefix(rd, rd->paths, path_count);
        rd->comment = 0;
        shoal_status st = load_file(env, rd, format, &reader, err);
        if (st != SHOAL_OK)
            return st;
        trace->format =
            rd->file == 0 || strcmp(trace->format, reader->name) == 0 ? reader->name : "mixed";
        dates |= reader->dates;
        for (size_t i = before; reader->dates && i < trace->job_count; i++)
            trace->jobs[i].kinds = 1;
    }
    if (dates)
        settle_dates(trace);
    sim_trace_finish(trace);
    return SHOAL_OK;
}

shoal_status sim_trace_load(shoal_env *env, const char *const *paths, size_t path_count,
                            enum sim_format format, struct sim_trace **out_trace, shoal_err *err)
{
    struct sim_trace *trace = NULL;
    size_t inputs = 0;

    if (path_count == 0 || format >= SIM_FORMAT_COUNT)
        return base_err(err, SHOAL_E_INVAL, "cannot read a trace: no file given");
    for (size_t i = 0; i < path_count; i++)
        inputs += strcmp(paths[i], "-") == 0;
    if (inputs > 1)
        return base_err(err, SHOAL_E_INVAL,
                        "cannot read traces: standard input ('-') is given more than once");

    const struct base_alloc *alloc = env_alloc(env);
    struct sim_read *rd = base_calloc(alloc, 1, sizeof *rd);
    shoal_status st = rd != NULL ? sim_trace_new(alloc, &trace) : SHOAL_E_NOMEM;
    if (st == SHOAL_OK) {
        rd->trace = trace;
        rd->paths = paths;
        st = load_all(env, rd, path_count, format, err);
    } else {
        base_err_nomem(err, "loading a trace");
    }
    base_free(alloc, rd);
    if (st == SHOAL_OK)
        *out_trace = trace;
    else
        sim_trace_free(trace);
    return st;
}
