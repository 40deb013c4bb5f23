/* avail_trace.c - see avail_trace.h; docs/formats.md describes both formats.
 *
 * Levels of JSON go straight to their place. Lines of a CSV are kept with the number of their trace
 * and sorted when all files are read. */
#include "market/avail_trace.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/text.h"
#include "env/folder.h"
#include "market/json.h"
#include "market/reader.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "#shoal-availability"

enum { TIME, ZONE, KIND, COUNT, COLUMNS };

struct row {
    double at_s;
    size_t order;
    uint32_t trace, count;
};

struct loading {
    shoal_env *env;
    struct market_traces *traces;
    struct env_table in;
    struct row *rows;
    size_t row_count, row_cap;
};

static shoal_status no_memory(shoal_err *err)
{
    return base_err_nomem(err, "loading availability");
}

/* ---- names ---- */

static char *keep(struct market_traces *traces, struct env_cell text)
{
    return base_arena_strndup(&traces->arena, text.text, text.length);
}

/* Small letters, and "v100:1" as "v100_1". */
static char *keep_kind(struct market_traces *traces, struct env_cell text)
{
    char *kind = keep(traces, text);

    for (char *c = kind; c != NULL && *c != '\0'; c++) {
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c + 32);
        else if (*c == ':')
            *c = '_';
    }
    return kind;
}

static shoal_status add_trace(struct loading *ld, struct env_cell folder, struct env_cell zone,
                              struct env_cell kind, struct market_trace **out, shoal_err *err)
{
    struct market_traces *t = ld->traces;
    void *traces = t->traces;

    if (t->trace_count == MARKET_TRACES_MAX)
        return env_lines_bad(&ld->in.in, 0, err, "expected at most %d traces", MARKET_TRACES_MAX);
    if (base_reserve(t->alloc, &traces, &t->trace_cap, t->trace_count + 1, sizeof *t->traces) != 0)
        return no_memory(err);
    t->traces = traces;
    struct market_trace *trace = &t->traces[t->trace_count];
    *trace = (struct market_trace){.folder = keep(t, folder),
                                   .zone = keep(t, zone),
                                   .kind = keep_kind(t, kind),
                                   .first = t->level_count};
    if (trace->folder == NULL || trace->zone == NULL || trace->kind == NULL)
        return no_memory(err);
    t->trace_count++;
    *out = trace;
    return SHOAL_OK;
}

static shoal_status add_level(struct loading *ld, double at_s, uint32_t count, shoal_err *err)
{
    struct market_traces *t = ld->traces;
    void *levels = t->levels;

    if (t->level_count == MARKET_TICKS_MAX)
        return base_err(err, SHOAL_E_LIMIT, "cannot read availability: more than %d changes in all",
                        MARKET_TICKS_MAX);
    if (base_reserve(t->alloc, &levels, &t->level_cap, t->level_count + 1, sizeof *t->levels) != 0)
        return no_memory(err);
    t->levels = levels;
    t->levels[t->level_count++] = (struct market_level){at_s, count};
    return SHOAL_OK;
}

/* ---- JSON of ticks ---- */

/* "a/b/us-west-2a_v100_1.json": folder "a/b", zone "us-west-2a", kind "v100_1". */
static shoal_status begin_ticks(struct loading *ld, struct market_trace **out, shoal_err *err)
{
    const char *path = ld->in.in.path, *slash = strrchr(path, '/');
    const char *stem = slash != NULL ? slash + 1 : path;
    size_t size = strlen(stem);

    if (size > 5 && strcmp(stem + size - 5, ".json") == 0)
        size -= 5;
    const char *mark = memchr(stem, '_', size);
    size_t zone = mark != NULL ? (size_t)(mark - stem) : size;
    struct env_cell folder = {path, slash != NULL ? (size_t)(slash - path) : 0, 0};
    struct env_cell kind = {stem + zone + (mark != NULL), size - zone - (mark != NULL), 0};
    return add_trace(ld, folder, (struct env_cell){stem, zone, 0}, kind, out, err);
}

static shoal_status tick_count(struct loading *ld, const struct market_json *json,
                               enum market_json_token token, uint32_t *out, shoal_err *err)
{
    char shown[ENV_SHOWN_MAX];
    double value = -1;

    if (token == MARKET_JSON_NUMBER && !json->cut &&
        base_parse_f64(json->text, json->size, &value) && value >= 0 && value <= 1e9 &&
        value == floor(value)) {
        *out = (uint32_t)value;
        return SHOAL_OK;
    }
    return env_lines_bad(&ld->in.in, 0, err,
                         "expected \"data\" of whole numbers from 0 to 1e9, found '%s'",
                         token >= MARKET_JSON_STRING ? env_lines_show(json->text, json->size, shown)
                                                     : "a list or an object");
}

/* After "data": [ ... ], levels in ticks. */
static shoal_status read_ticks(struct loading *ld, struct market_json *json, size_t *out_count,
                               shoal_err *err)
{
    enum market_json_token token;
    shoal_status st = market_json_next(json, &token, err);
    uint32_t count = 0, last = 0;
    size_t ticks = 0;

    if (st == SHOAL_OK && token != MARKET_JSON_ARRAY)
        return env_lines_bad(&ld->in.in, 0, err, "expected a list as \"data\"");
    while (st == SHOAL_OK) {
        st = market_json_next(json, &token, err);
        if (st != SHOAL_OK || token == MARKET_JSON_ARRAY_END)
            break;
        st = tick_count(ld, json, token, &count, err);
        if (st == SHOAL_OK && (ticks == 0 || count != last))
            st = add_level(ld, (double)ticks, count, err);
        last = count;
        if (++ticks > MARKET_TICKS_MAX)
            return env_lines_bad(&ld->in.in, 0, err, "expected at most %d ticks", MARKET_TICKS_MAX);
    }
    *out_count = ticks;
    return st;
}

/* After "metadata": the object's "gap_seconds". */
static shoal_status read_metadata(struct loading *ld, struct market_json *json, double *out_gap_s,
                                  shoal_err *err)
{
    enum market_json_token token;
    shoal_status st = market_json_next(json, &token, err);

    if (st != SHOAL_OK || token != MARKET_JSON_OBJECT)
        return st != SHOAL_OK ? st : market_json_skip(json, token, err);
    for (;;) {
        st = market_json_next(json, &token, err);
        if (st != SHOAL_OK || token == MARKET_JSON_OBJECT_END)
            return st;
        bool gap = strcmp(json->text, "gap_seconds") == 0;
        st = market_json_next(json, &token, err);
        if (st == SHOAL_OK && gap) {
            if (token != MARKET_JSON_NUMBER || json->cut ||
                !base_parse_f64(json->text, json->size, out_gap_s) || !(*out_gap_s >= 1) ||
                *out_gap_s > 1e7)
                return env_lines_bad(&ld->in.in, 0, err, "expected \"gap_seconds\" from 1 to 1e7");
        } else if (st == SHOAL_OK) {
            st = market_json_skip(json, token, err);
        }
        if (st != SHOAL_OK)
            return st;
    }
}

static shoal_status read_members(struct loading *ld, struct market_json *json, double *gap_s,
                                 size_t *ticks, shoal_err *err)
{
    enum market_json_token token;
    shoal_status st = market_json_next(json, &token, err);

    if (st == SHOAL_OK && token != MARKET_JSON_OBJECT)
        return env_lines_bad(&ld->in.in, 0, err, "expected {\"metadata\": .., \"data\": [..]}");
    while (st == SHOAL_OK) {
        st = market_json_next(json, &token, err);
        if (st != SHOAL_OK || token == MARKET_JSON_OBJECT_END)
            break;
        if (strcmp(json->text, "metadata") == 0) {
            st = read_metadata(ld, json, gap_s, err);
        } else if (strcmp(json->text, "data") == 0 && *ticks == 0) {
            st = read_ticks(ld, json, ticks, err);
        } else if ((st = market_json_next(json, &token, err)) == SHOAL_OK) {
            st = market_json_skip(json, token, err);
        }
    }
    if (st == SHOAL_OK && (st = market_json_next(json, &token, err)) == SHOAL_OK)
        return env_lines_bad(&ld->in.in, 0, err, "expected nothing after the last '}'");
    return st == SHOAL_END ? SHOAL_OK : st;
}

static shoal_status read_json(struct loading *ld, shoal_err *err)
{
    struct market_traces *t = ld->traces;
    struct market_json json;
    struct market_trace *trace = NULL;
    double gap_s = 0;
    size_t ticks = 0;
    shoal_status st = begin_ticks(ld, &trace, err);

    if (st != SHOAL_OK)
        return st;
    market_json_init(&json, &ld->in.in);
    st = read_members(ld, &json, &gap_s, &ticks, err);
    if (st != SHOAL_OK)
        return st;
    if (gap_s == 0 || ticks == 0)
        return env_lines_bad(&ld->in.in, 0, err, "expected \"gap_seconds\" and some \"data\"");
    shoal_assert(trace != NULL);
    trace->ticks = true;
    trace->gap_s = gap_s;
    trace->count = t->level_count - trace->first;
    trace->end_s = (double)ticks * gap_s;
    for (size_t i = trace->first; i < t->level_count; i++)
        t->levels[i].at_s *= gap_s;
    return SHOAL_OK;
}

/* ---- CSV ---- */

static uint32_t find_trace(struct loading *ld, struct env_cell zone, struct env_cell kind)
{
    struct market_traces *t = ld->traces;
    struct env_cell none = {"", 0, 0};
    struct base_map_entry *entry = NULL;
    struct market_trace *trace = NULL;
    char key[2 * MARKET_NAME_MAX + 1];

    zone.column = kind.column = 0;
    if (zone.length == 0 || zone.length > MARKET_NAME_MAX)
        env_table_expected(&ld->in, zone, "a zone of 1 to 127 bytes");
    if (kind.length == 0 || kind.length > MARKET_NAME_MAX)
        env_table_expected(&ld->in, kind, "a kind of 1 to 127 bytes");
    if (ld->in.status != SHOAL_OK)
        return 0;
    memcpy(key, zone.text, zone.length);
    key[zone.length] = '\0';
    for (size_t i = 0; i < kind.length; i++) {
        char c = kind.text[i];
        key[zone.length + 1 + i] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c == ':' ? '_' : c;
    }
    shoal_status st =
        base_map_add(&t->csv, key, zone.length + 1 + kind.length, t->trace_count, &entry);
    if (st == SHOAL_OK)
        ld->in.status = add_trace(ld, none, zone, kind, &trace, ld->in.err);
    else if (st != SHOAL_E_EXISTS)
        env_table_nomem(&ld->in, "loading availability");
    return entry != NULL ? (uint32_t)entry->value : 0;
}

static void read_row(struct loading *ld)
{
    struct env_table *t = &ld->in;
    struct row row = {.order = ld->row_count};
    void *rows = ld->rows;

    row.at_s = market_read_time(t, env_table_cell(t, TIME));
    row.count = (uint32_t)env_table_whole(t, env_table_cell(t, COUNT), 0, 1000000000, "a count");
    row.trace = find_trace(ld, env_table_cell(t, ZONE), env_table_cell(t, KIND));
    if (ld->row_count == MARKET_TICKS_MAX)
        env_table_bad(t, 0, "expected at most %d lines", MARKET_TICKS_MAX);
    if (t->status == SHOAL_OK && base_reserve(ld->traces->alloc, &rows, &ld->row_cap,
                                              ld->row_count + 1, sizeof *ld->rows) != 0)
        env_table_nomem(t, "loading availability");
    if (t->status != SHOAL_OK)
        return;
    ld->rows = rows;
    ld->rows[ld->row_count++] = row;
}

static void read_csv(struct loading *ld)
{
    static const struct env_column columns[COLUMNS] = {[TIME] = {"time", true},
                                                       [ZONE] = {"zone", true},
                                                       [KIND] = {"kind", true},
                                                       [COUNT] = {"count", true}};

    env_table_header(&ld->in, MAGIC, columns, COLUMNS, false);
    while (env_table_next(&ld->in))
        read_row(ld);
}

static int by_trace(const void *pa, const void *pb)
{
    const struct row *a = pa, *b = pb;

    if (a->trace != b->trace)
        return a->trace < b->trace ? -1 : 1;
    if (a->at_s != b->at_s)
        return a->at_s < b->at_s ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* The lines of all CSV files as levels. Of one instant the line read last holds. */
static shoal_status settle_rows(struct loading *ld, shoal_err *err)
{
    struct market_traces *t = ld->traces;

    if (ld->row_count > 0)
        qsort(ld->rows, ld->row_count, sizeof *ld->rows, by_trace);
    for (size_t i = 0; i < ld->row_count; i++) {
        const struct row *row = &ld->rows[i], *next = i + 1 < ld->row_count ? row + 1 : NULL;
        struct market_trace *trace = &t->traces[row->trace];
        if (i == 0 || row[-1].trace != row->trace)
            trace->first = t->level_count;
        trace->end_s = row->at_s;
        if (next != NULL && next->trace == row->trace && next->at_s == row->at_s)
            continue;
        trace->count = t->level_count - trace->first;
        if (trace->count == 0 || t->levels[t->level_count - 1].count != row->count) {
            shoal_status st = add_level(ld, row->at_s, row->count, err);
            if (st != SHOAL_OK)
                return st;
        }
        trace->count = t->level_count - trace->first;
    }
    return SHOAL_OK;
}

/* ---- files ---- */

static shoal_status load_file(void *ctx, const char *path, bool inside, shoal_err *err)
{
    struct loading *ld = ctx;
    struct env_table *t = &ld->in;
    const char *head = NULL;
    size_t size = 0;

    if (env_table_open(ld->env, "availability", path, t, err) != SHOAL_OK)
        return t->status;
    t->status = env_lines_head(&t->in, &head, &size, err);
    if (t->status == SHOAL_OK) {
        bool packed = t->in.packed != NULL; /* its first line says what it is */
        bool json = !packed && size > 0 && *head == '{' &&
                    memmem(head, size, "\"gap_seconds\"", 13) != NULL;
        bool csv = packed ? !inside
                          : market_starts(head, size, MAGIC) ||
                                env_table_has(head, size, "zone,kind,count");
        ld->traces->files += json || csv;
        if (json)
            t->status = read_json(ld, err);
        else if (csv)
            read_csv(ld);
        else if (!inside)
            t->status = base_err(err, SHOAL_E_FORMAT,
                                 "cannot read availability '%s': expected '" MAGIC
                                 " v1', or JSON with \"gap_seconds\" near its beginning",
                                 path);
        else
            ld->traces->skipped++;
    }
    env_table_note(t, ld->traces->ignored);
    return env_table_close(t);
}

void market_traces_fini(struct market_traces *traces)
{
    base_map_fini(&traces->csv);
    base_free(traces->alloc, traces->traces);
    base_free(traces->alloc, traces->levels);
    base_arena_fini(&traces->arena);
    *traces = (struct market_traces){.alloc = traces->alloc};
}

shoal_status market_traces_load(shoal_env *env, const char *path, struct market_traces *out,
                                shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
    struct loading *ld = base_calloc(alloc, 1, sizeof *ld);

    *out = (struct market_traces){.alloc = alloc};
    base_arena_init(&out->arena, alloc, 0);
    base_map_init(&out->csv, alloc);
    if (ld == NULL)
        return no_memory(err);
    ld->env = env;
    ld->traces = out;
    shoal_status st = env_folder_each(env, path, load_file, ld, err);
    if (st == SHOAL_OK)
        st = settle_rows(ld, err);
    if (st == SHOAL_OK && out->trace_count == 0)
        st = base_err(err, SHOAL_E_FORMAT, "cannot read availability '%s': no traces in it", path);
    base_free(alloc, ld->rows);
    base_free(alloc, ld);
    if (st != SHOAL_OK)
        market_traces_fini(out);
    return st;
}
