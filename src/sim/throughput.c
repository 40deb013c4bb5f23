/* throughput.c - see throughput.h. Two passes over the parsed JSON: the first finds all rows, the
 * second fills the sheets of the kinds the cluster has. Types of other kinds are checked and left
 * out. */
#include "sim/throughput.h"

#include "base/err.h"
#include "base/text.h"
#include "sim/trace.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SPREAD "_unconsolidated"

struct loading {
    struct sim_throughput *tp;
    const struct sched_cluster *cluster;
    const char *path;
    uint32_t gpus[SCHED_TABLE_ROWS_MAX]; /* of each row */
    bool known[SCHED_KINDS_MAX];         /* kinds with a packed sheet */
};

static shoal_status bad(const struct loading *ld, shoal_err *err, const char *where,
                        const char *expected)
{
    base_err(err, SHOAL_E_FORMAT, "cannot read throughput table '%s': at \"%.120s\": expected %s",
             ld->path, where, expected);
    base_err_where(err, "%s", ld->path);
    return SHOAL_E_FORMAT;
}

/* "('model', 4)" as "model\t4" in `key`, the model alone being its first *out_model bytes. */
static bool parse_row_key(const char *text, char *key, size_t key_size, size_t *out_model,
                          uint32_t *out_gpus)
{
    size_t length = strlen(text);
    uint64_t gpus;

    if (length < 7 || text[0] != '(' || (text[1] != '\'' && text[1] != '"') ||
        text[length - 1] != ')')
        return false;
    const char *model = text + 2;
    const char *comma = strrchr(text, ',');
    if (comma == NULL || comma <= model || comma[-1] != text[1] || comma[1] != ' ')
        return false;
    *out_model = (size_t)(comma - 1 - model);
    const char *digits = comma + 2;
    if (*out_model == 0 || *out_model > SIM_NAME_MAX ||
        !base_parse_u64(digits, (size_t)(text + length - 1 - digits), &gpus) || gpus < 1 ||
        gpus > SIM_JOB_GPUS_MAX)
        return false;
    *out_gpus = (uint32_t)gpus;
    int n = snprintf(key, key_size, "%.*s\t%u", (int)*out_model, model, *out_gpus);
    return n > 0 && (size_t)n < key_size;
}

enum { KEY_SIZE = SIM_NAME_MAX + 16 };

static shoal_status add_row(struct loading *ld, const char *text, shoal_err *err)
{
    struct sim_throughput *tp = ld->tp;
    char key[KEY_SIZE];
    size_t model;
    uint32_t gpus;
    uint64_t row = tp->rows.count;

    if (!parse_row_key(text, key, sizeof key, &model, &gpus))
        return bad(ld, err, text, "a row such as ('ResNet-18 (batch size 32)', 1)");
    if (base_map_find(&tp->rows, key, strlen(key)) != NULL)
        return SHOAL_OK;
    if (row == SCHED_TABLE_ROWS_MAX) {
        bad(ld, err, text, "at most 1024 different rows");
        return SHOAL_E_FORMAT;
    }
    ld->gpus[row] = gpus;
    shoal_status st = base_map_add(&tp->rows, key, strlen(key), row, NULL);
    if (st == SHOAL_OK)
        st = base_map_add(&tp->models, key, model, tp->models.count, NULL);
    return st == SHOAL_OK || st == SHOAL_E_EXISTS
               ? SHOAL_OK
               : base_err_nomem(err, "reading a throughput table");
}

static shoal_status find_rows(struct loading *ld, json_t *root, shoal_err *err)
{
    const char *type, *row;
    json_t *rows, *rates;

    json_object_foreach(root, type, rows)
    {
        if (!json_is_object(rows))
            return bad(ld, err, type, "an object of rows");
        json_object_foreach(rows, row, rates)
        {
            if (!json_is_object(rates))
                return bad(ld, err, row, "an object of rates");
            shoal_status st = add_row(ld, row, err);
            if (st != SHOAL_OK)
                return st;
        }
    }
    return ld->tp->rows.count > 0 ? SHOAL_OK : bad(ld, err, "", "at least one row");
}

static bool rate_of(const json_t *value, double *out)
{
    *out = json_number_value(value);
    return json_is_number(value) && *out >= 0 && *out <= 1e12;
}

static shoal_status fill_row(struct loading *ld, struct sched_table_sheet *sheet, const char *name,
                             json_t *rates, shoal_err *err)
{
    struct sched_table *table = &ld->tp->table;
    char key[KEY_SIZE];
    size_t model;
    uint32_t gpus, row;
    const char *other;
    json_t *value;
    double mine, theirs;

    if (!parse_row_key(name, key, sizeof key, &model, &gpus))
        return bad(ld, err, name, "a row");
    row = (uint32_t)base_map_find(&ld->tp->rows, key, strlen(key))->value;
    json_object_foreach(rates, other, value)
    {
        shoal_status st;
        if (strcmp(other, "null") == 0) {
            if (!rate_of(value, &mine))
                return bad(ld, err, name, "steps per second of 0 or more under \"null\"");
            st = sched_table_set(table, sheet, row, mine);
        } else {
            if (!json_is_array(value) || json_array_size(value) != 2 ||
                !rate_of(json_array_get(value, 0), &mine) ||
                !rate_of(json_array_get(value, 1), &theirs))
                return bad(ld, err, other, "two rates of 0 or more, of this row and the other");
            if (!parse_row_key(other, key, sizeof key, &model, &gpus))
                return bad(ld, err, other, "\"null\" or a row");
            struct base_map_entry *entry = base_map_find(&ld->tp->rows, key, strlen(key));
            if (entry == NULL)
                return bad(ld, err, other, "a row that has rates of its own");
            st = sched_table_set_pair(table, sheet, row, (uint32_t)entry->value, mine);
        }
        if (st != SHOAL_OK)
            return base_err_nomem(err, "reading a throughput table");
    }
    return SHOAL_OK;
}

/* The sheet a type fills, or NULL when the cluster has no such kind. */
static struct sched_table_sheet *sheet_of(struct loading *ld, const char *type)
{
    size_t length = strlen(type);
    size_t tail = strlen(SPREAD);
    bool spread = length > tail && strcasecmp(type + length - tail, SPREAD) == 0;
    char kind[SCHED_KIND_NAME_MAX];

    if (spread)
        length -= tail;
    if (length >= sizeof kind)
        return NULL;
    memcpy(kind, type, length);
    kind[length] = '\0';
    int index = sched_cluster_kind(ld->cluster, kind);
    if (index < 0)
        return NULL;
    ld->known[index] |= !spread;
    return spread ? &ld->tp->table.spread[index] : &ld->tp->table.packed[index];
}

static shoal_status no_kind(const struct loading *ld, json_t *root, shoal_err *err)
{
    char types[160] = "";
    size_t used = 0;
    const char *type;
    json_t *rows;

    json_object_foreach(root, type, rows)
    {
        if (strstr(type, SPREAD) != NULL)
            continue;
        int n = snprintf(types + used, sizeof types - used, "%s%.24s", used > 0 ? ", " : "", type);
        used += n > 0 ? (size_t)n : 0;
        if (used >= sizeof types)
            break;
    }
    base_err(err, SHOAL_E_INVAL,
             "cannot use throughput table '%s': it knows none of the cluster's GPU kinds",
             ld->path);
    base_err_hint(err, "it knows %s", types);
    return SHOAL_E_INVAL;
}

static shoal_status fill_sheets(struct loading *ld, json_t *root, shoal_err *err)
{
    const char *type, *row;
    json_t *rows, *rates;
    bool any = false;

    json_object_foreach(root, type, rows)
    {
        struct sched_table_sheet *sheet = sheet_of(ld, type);
        if (sheet == NULL)
            continue;
        json_object_foreach(rows, row, rates)
        {
            shoal_status st = fill_row(ld, sheet, row, rates, err);
            if (st != SHOAL_OK)
                return st;
        }
    }
    for (uint32_t k = 0; k < ld->cluster->kind_count; k++)
        any |= ld->known[k];
    return any ? SHOAL_OK : no_kind(ld, root, err);
}

static shoal_status parse(struct loading *ld, const struct base_buf *text, shoal_err *err)
{
    json_error_t problem;
    json_t *root = json_loadb(text->data, text->size, JSON_REJECT_DUPLICATES, &problem);
    shoal_status st;

    if (root == NULL) {
        base_err(err, SHOAL_E_FORMAT,
                 "cannot read throughput table '%s', line %d, column %d: %.150s", ld->path,
                 problem.line, problem.column, problem.text);
        base_err_where(err, "%s, line %d, column %d", ld->path, problem.line, problem.column);
        return SHOAL_E_FORMAT;
    }
    st = json_is_object(root) ? find_rows(ld, root, err)
                              : bad(ld, err, "", "an object of GPU types");
    if (st == SHOAL_OK) {
        st = sched_table_init(&ld->tp->table, ld->tp->alloc, ld->cluster, ld->gpus,
                              (uint32_t)ld->tp->rows.count);
        if (st != SHOAL_OK)
            base_err_nomem(err, "reading a throughput table");
    }
    if (st == SHOAL_OK)
        st = fill_sheets(ld, root, err);
    json_decref(root);
    return st;
}

void sim_throughput_free(struct sim_throughput *tp)
{
    if (tp == NULL)
        return;
    if (tp->table.alloc != NULL)
        sched_table_fini(&tp->table);
    base_map_fini(&tp->rows);
    base_map_fini(&tp->models);
    base_free(tp->alloc, tp);
}

shoal_status sim_throughput_load(shoal_env *env, const char *path,
                                 const struct sched_cluster *cluster, struct sim_throughput **out,
                                 shoal_err *err)
{
    const struct base_alloc *alloc = env_alloc(env);
    struct loading *ld = base_calloc(alloc, 1, sizeof *ld);
    struct sim_throughput *tp = base_calloc(alloc, 1, sizeof *tp);
    struct base_buf text;
    shoal_status st;

    base_buf_init(&text, alloc, SIM_THROUGHPUT_SIZE_MAX);
    if (ld == NULL || tp == NULL) {
        st = base_err_nomem(err, "reading a throughput table");
        base_free(alloc, tp);
        tp = NULL;
        goto done;
    }
    tp->alloc = alloc;
    tp->v100 = sched_cluster_kind(cluster, "v100");
    base_map_init(&tp->rows, alloc);
    base_map_init(&tp->models, alloc);
    ld->tp = tp;
    ld->cluster = cluster;
    ld->path = path;
    st = env_read_whole(env, path, &text, err);
    if (st == SHOAL_OK && text.size == 0)
        st = base_err(err, SHOAL_E_FORMAT, "cannot read throughput table '%s': empty file", path);
    if (st == SHOAL_OK)
        st = parse(ld, &text, err);
    if (st == SHOAL_OK) {
        *out = tp;
        tp = NULL;
    }
done:
    sim_throughput_free(tp);
    base_buf_fini(&text);
    base_free(alloc, ld);
    return st;
}

int sim_throughput_row(const struct sim_throughput *tp, const char *model, uint32_t gpus)
{
    char key[KEY_SIZE];
    int n = snprintf(key, sizeof key, "%.*s\t%u", SIM_NAME_MAX, model, gpus);
    struct base_map_entry *entry = base_map_find(&tp->rows, key, (size_t)n);

    return entry != NULL ? (int)entry->value : -1;
}
