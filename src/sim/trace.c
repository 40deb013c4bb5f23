/* trace.c - traces as values: building, sorting, loading through the readers of readers.h.
 *
 * Loading costs one hash of the name per job and no allocation per line: names go to an arena, jobs
 * to one array. While loading, trace->names maps each name to where it was read (file << 40 |
 * line). */
#include "sim/trace.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
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

/* ---- names ---- */

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

/* ---- building ---- */

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

/* ---- what readers are made of ---- */

struct sim_job sim_read_job(void)
{
    return (struct sim_job){
        .name = "",
        .duration_s = NAN,
        .steps = NAN,
        .weight = 1,
        .deadline_s = INFINITY,
        .gpus = 1,
        .model = SIM_NONE,
        .group = SIM_NONE,
        .app = SIM_NONE,
        .slo = NAN,
        .score = NAN,
    };
}

/* Offers the plain number for the ways people write times. */
static void hint_seconds(struct env_table *t, struct env_cell cell)
{
    char text[32];
    double seconds;

    if (cell.length >= sizeof text)
        return;
    memcpy(text, cell.text, cell.length);
    text[cell.length] = '\0';
    if (base_parse_duration(text, &seconds) && seconds >= 0 && seconds < SIM_TIME_MAX)
        env_table_hint(t, "write %.15g", seconds);
}

double sim_read_seconds(struct sim_read *rd, struct env_cell cell, bool zero)
{
    struct env_cell trimmed = env_cell_trim(cell);
    double value;

    if (!base_parse_f64(trimmed.text, trimmed.length, &value)) {
        bool first = rd->table.status == SHOAL_OK;
        env_table_expected(&rd->table, cell, "seconds");
        if (first)
            hint_seconds(&rd->table, cell);
    } else if (!(value < SIM_TIME_MAX)) {
        env_table_expected(&rd->table, cell, "seconds below 1e12");
    } else if (value < 0 || (value == 0 && !zero)) {
        env_table_expected(&rd->table, cell, zero ? "seconds of 0 or more" : "seconds above 0");
    } else {
        return value + 0.0; /* -0 becomes 0 */
    }
    return 0;
}

double sim_read_time(struct sim_read *rd, struct env_cell cell)
{
    struct env_cell trimmed = env_cell_trim(cell);
    double value = 0;
    bool date = base_parse_utc(trimmed.text, trimmed.length, &value);
    char clock = date ? 'd' : 's';

    if (!date)
        value = sim_read_seconds(rd, cell, true);
    if (rd->clock != 0 && rd->clock != clock)
        env_table_expected(&rd->table, cell, date ? "seconds, as before" : "a date, as before");
    rd->clock = clock;
    return value;
}

static bool name_fits(struct sim_read *rd, struct env_cell cell, const char *what)
{
    if (cell.length == 0)
        env_table_expected(&rd->table, cell, what);
    else if (cell.length > SIM_NAME_MAX)
        env_table_bad(&rd->table, cell.column, "expected %s of at most %d bytes", what,
                      SIM_NAME_MAX);
    return rd->table.status == SHOAL_OK;
}

uint32_t sim_read_name(struct sim_read *rd, struct env_cell cell, const char *what,
                       struct sim_names *names)
{
    uint32_t index = SIM_NONE;

    if (name_fits(rd, cell, what) &&
        sim_names_add(names, cell.text, cell.length, &index) != SHOAL_OK)
        env_table_nomem(&rd->table, "loading a trace");
    return index;
}

uint64_t sim_read_kinds(struct sim_read *rd, struct env_cell cell)
{
    uint64_t mask = 0;

    for (size_t at = 0; at < cell.length && rd->table.status == SHOAL_OK;) {
        const char *bar = memchr(cell.text + at, '|', cell.length - at);
        size_t stop = bar != NULL ? (size_t)(bar - cell.text) : cell.length;
        struct env_cell part = {cell.text + at, stop - at, cell.column};
        uint32_t index = sim_read_name(rd, part, "the name of a kind", &rd->trace->kinds);
        if (index >= SIM_TRACE_KINDS_MAX)
            env_table_bad(&rd->table, cell.column, "expected at most %d different kinds in a trace",
                          SIM_TRACE_KINDS_MAX);
        else
            mask |= UINT64_C(1) << index;
        if (stop + 1 == cell.length) /* "a|" */
            env_table_expected(&rd->table, cell, "kinds such as 'v100|t4'");
        at = stop + 1;
    }
    return mask;
}

enum { LINE_BITS = 40 };
static const uint64_t LINE_MASK = (UINT64_C(1) << LINE_BITS) - 1;

void sim_read_add(struct sim_read *rd, struct env_cell cell, const char *word, struct sim_job *job)
{
    struct env_table *t = &rd->table;
    char name[SIM_NAME_MAX + 1], shown[ENV_SHOWN_MAX];
    uint64_t first = 0, line = t->in.line & LINE_MASK;

    if (t->status != SHOAL_OK || (word == NULL && !name_fits(rd, cell, "a job name")))
        return;
    if (word != NULL) {
        snprintf(name, sizeof name, "%s%s-%llu", rd->prefix, word, (unsigned long long)line);
    } else {
        memcpy(name, cell.text, cell.length);
        name[cell.length] = '\0';
    }
    job->name = name;
    job->kinds = rd->clock == 'd';
    shoal_status st =
        sim_trace_add_at(rd->trace, job, (uint64_t)rd->file << LINE_BITS | line, &first);
    if (st == SHOAL_E_NOMEM) {
        env_table_nomem(t, "loading a trace");
    } else if (st == SHOAL_E_LIMIT) {
        env_table_bad(t, 0, "expected at most %d jobs", SIM_JOBS_MAX);
        t->status = SHOAL_E_LIMIT;
        if (t->err != NULL)
            t->err->code = SHOAL_E_LIMIT;
    } else if (st != SHOAL_OK) {
        env_table_bad(t, word == NULL ? cell.column : 0,
                      "expected a name of its own, but job '%s' is already in '%s', line %llu",
                      env_lines_show(name, strlen(name), shown), rd->paths[first >> LINE_BITS],
                      (unsigned long long)(first & LINE_MASK));
    }
}

/* ---- loading ---- */

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
    const char *path = rd->table.in.path;

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

static bool looks_like(const struct sim_reader *reader, const char *head, size_t size)
{
    const char *lf = memchr(head, '\n', size);

    if (reader->header != NULL && env_table_has(head, size, reader->header))
        return true;
    return reader->detect != NULL && reader->detect(head, lf != NULL ? (size_t)(lf - head) : size);
}

/* NULL: none fits, or there is nothing to read. */
static const struct sim_reader *choose_reader(struct sim_read *rd, enum sim_format format)
{
    struct env_table *t = &rd->table;
    const char *head = NULL;
    char shown[ENV_SHOWN_MAX];
    size_t size = 0;

    t->status = env_lines_head(&t->in, &head, &size, t->err);
    if (t->status != SHOAL_OK)
        return NULL;
    const char *lf = memchr(head, '\n', size);
    size_t length = lf != NULL ? (size_t)(lf - head) : size;
    if (t->in.packed != NULL || memchr(head, '\0', length) != NULL)
        return readers[SIM_FORMAT_SHOAL]; /* which says what is wrong with the line */
    if (size == 0)
        t->status = no_jobs(rd, t->err);
    if (size == 0 || readers[format] != NULL)
        return readers[format];
    for (size_t i = 1; i < SIM_FORMAT_COUNT; i++)
        if (looks_like(readers[i], head, size))
            return readers[i];
    length -= length > 0 && head[length - 1] == '\r';
    t->in.line++;
    env_table_bad(t, 0, "expected a trace in a known format, found '%s'",
                  env_lines_show(head, length, shown));
    hint_formats(head, length, t->err);
    return NULL;
}

static uint64_t mix_hash(uint64_t hash, uint64_t more)
{
    return (hash ^ more) * 0x9e3779b97f4a7c15u;
}

static shoal_status load_file(shoal_env *env, struct sim_read *rd, enum sim_format format,
                              shoal_err *err)
{
    struct sim_trace *trace = rd->trace;
    struct env_table *t = &rd->table;
    size_t before = trace->job_count;

    if (env_table_open(env, "trace", rd->paths[rd->file], t, err) != SHOAL_OK)
        return t->status;
    const struct sim_reader *reader = choose_reader(rd, format);
    if (t->status == SHOAL_OK) {
        rd->clock = 0;
        reader->read(rd);
        trace->format =
            rd->file == 0 || strcmp(trace->format, reader->name) == 0 ? reader->name : "mixed";
    }
    if (t->status == SHOAL_OK && trace->job_count == before)
        t->status = no_jobs(rd, err);
    env_table_note(t, trace->ignored);
    trace->input_hash = mix_hash(trace->input_hash, t->in.hash);
    return env_table_close(t);
}

/* Jobs with dates, marked by kinds == 1 while loading, are counted from the earliest of them. */
static void settle_dates(struct sim_trace *trace)
{
    double first = INFINITY;

    for (size_t i = 0; i < trace->job_count; i++)
        if (trace->jobs[i].kinds == 1)
            first = fmin(first, trace->jobs[i].submit_s);
    for (size_t i = 0; i < trace->job_count; i++) {
        struct sim_job *job = &trace->jobs[i];
        if (job->kinds == 1) {
            job->submit_s -= first;
            job->deadline_s -= first;
        }
        job->kinds = 0;
    }
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
    } else {
        base_err_nomem(err, "loading a trace");
    }
    for (; st == SHOAL_OK && rd->file < path_count; rd->file++) {
        set_prefix(rd, rd->paths, path_count);
        st = load_file(env, rd, format, err);
    }
    if (st == SHOAL_OK) {
        settle_dates(trace);
        sim_trace_finish(trace);
    }
    base_free(alloc, rd);
    if (st == SHOAL_OK)
        *out_trace = trace;
    else
        sim_trace_free(trace);
    return st;
}
