/* cluster_load.c - see cluster_load.h. */
#include "sim/cluster_load.h"

#include "base/assert.h"
#include "base/err.h"
#include "env/table.h"
#include <ctype.h>
#include <string.h>

enum { FILE_MAX = 64 << 20, GROUPS_MAX = 256 };

/* ---- the node list of Alibaba's trace ---- */

/* Nodes alike, counted. */
struct nodes {
    char model[SCHED_KIND_NAME_MAX];
    uint32_t gpus, count;
};

struct node_list {
    struct nodes groups[GROUPS_MAX];
    size_t count;
};

static void count_node(struct env_table *t, struct env_cell gpu, struct env_cell model,
                       struct node_list *list)
{
    struct nodes *groups = list->groups;
    size_t g = 0;
    uint32_t gpus = (uint32_t)env_table_whole(t, gpu, 0, SCHED_NODE_GPUS_MAX, "GPUs of a node");

    if (gpus == 0)
        return;
    if (model.length == 0 || model.length >= SCHED_KIND_NAME_MAX)
        env_table_expected(t, model, "the name of a kind, at most 31 bytes");
    for (size_t i = 0; i < model.length; i++)
        if (!isalnum((unsigned char)model.text[i]) && strchr("_-.", model.text[i]) == NULL)
            env_table_expected(t, model, "a kind of letters, digits, _ - and .");
    while (g < list->count && (groups[g].gpus != gpus || !env_cell_same(model, groups[g].model)))
        g++;
    if (g == GROUPS_MAX)
        env_table_bad(t, 0, "expected at most %d different nodes", GROUPS_MAX);
    if (t->status != SHOAL_OK)
        return;
    if (g == list->count) {
        groups[g] = (struct nodes){.gpus = gpus};
        memcpy(groups[g].model, model.text, model.length);
        list->count++;
    }
    groups[g].count++;
}

/* As a spec, groups in order of first appearance. Nodes without GPUs are left out. */
shoal_status sim_cluster_from_openb(shoal_env *env, const char *path, struct base_buf *out,
                                    shoal_err *err)
{
    enum { GPUS, MODEL };
    static const struct env_column columns[] = {[GPUS] = {"gpu", true}, [MODEL] = {"model", true}};
    const struct base_alloc *alloc = env_alloc(env);
    struct node_list *list = base_calloc(alloc, 1, sizeof *list);
    struct env_table t;

    if (list == NULL)
        return base_err_nomem(err, "reading a node list");
    shoal_status st = env_table_open(env, "node list", path, &t, err);
    if (st == SHOAL_OK) {
        env_table_header(&t, NULL, columns, BASE_COUNT(columns), true);
        while (env_table_next(&t))
            count_node(&t, env_table_cell(&t, GPUS), env_table_cell(&t, MODEL), list);
        st = env_table_close(&t);
    }
    if (st == SHOAL_OK && list->count == 0)
        st = base_err(err, SHOAL_E_FORMAT, "cannot read node list '%s': no nodes with GPUs in it",
                      path);
    for (size_t g = 0; st == SHOAL_OK && g < list->count; g++)
        base_buf_printf(out, "%s%ux%u:%s", g > 0 ? "," : "", list->groups[g].count,
                        list->groups[g].gpus, list->groups[g].model);
    base_free(alloc, list);
    return st == SHOAL_OK ? base_buf_status(out) : st;
}

/* ---- specs ---- */

/* With a colon it is one whatever files there are; without, when there is no such file. */
bool sim_cluster_is_spec(shoal_env *env, const char *text)
{
    struct env_file *file = NULL;

    if (text[0] == '\0')
        return true;
    if (!isdigit((unsigned char)text[0]) || strchr(text, '/') != NULL)
        return false;
    if (strchr(text, ':') != NULL)
        return true;
    shoal_status st = env_open(env, text, &file, NULL);
    env_close(file);
    return st == SHOAL_E_NOTFOUND;
}

/* Past a byte order mark. */
static char *skip_mark(char *text)
{
    return strncmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text;
}

/* Reads the file into `spec`, turning a node list into groups. */
static shoal_status read_spec(shoal_env *env, const char *path, struct base_buf *spec,
                              shoal_err *err)
{
    shoal_status st = env_read_whole(env, path, spec, err);

    if (st != SHOAL_OK)
        return st;
    const char *text = skip_mark(spec->data);
    if (env_table_has(text, strlen(text), "sn,cpu_milli")) {
        base_buf_clear(spec);
        return sim_cluster_from_openb(env, path, spec, err);
    }
    if (*text == '\0' || memchr(spec->data, '\0', spec->size) != NULL) {
        base_err(err, SHOAL_E_FORMAT, "cannot read cluster '%s': expected groups such as 6x4:t4",
                 path);
        return SHOAL_E_FORMAT;
    }
    return SHOAL_OK;
}

/* The number of the first line that is wrong by itself, or 0. `text` is cut into lines. */
static size_t find_bad_line(shoal_env *env, char *text)
{
    size_t number = 0;

    while (text != NULL) {
        char *end = strchr(text, '\n');
        struct sched_cluster line;
        if (end != NULL)
            *end = '\0';
        number++;
        size_t blank = strspn(text, ", \t\r");
        if (text[blank] != '\0' && text[blank] != '#') {
            shoal_status st = sched_cluster_parse(env_alloc(env), text, &line, NULL);
            if (st == SHOAL_E_FORMAT)
                return number;
            if (st == SHOAL_OK)
                sched_cluster_fini(&line);
        }
        text = end != NULL ? end + 1 : NULL;
    }
    return 0;
}

static shoal_status parse_file(shoal_env *env, const char *path, struct base_buf *spec,
                               struct sched_cluster *out, shoal_err *err)
{
    shoal_err own = SHOAL_ERR_INIT;
    char *text = skip_mark(spec->data);
    shoal_status st = sched_cluster_parse(env_alloc(env), text, out, &own);
    if (st == SHOAL_OK)
        return SHOAL_OK;
    size_t line = st == SHOAL_E_FORMAT ? find_bad_line(env, text) : 0;
    if (line > 0) {
        base_err(err, st, "cluster file '%s', line %zu: %s", path, line, own.message);
        base_err_where(err, "%s, line %zu", path, line);
    } else {
        base_err(err, st, "cluster file '%s': %s", path, own.message);
    }
    if (own.hint[0] != '\0')
        base_err_hint(err, "%s", own.hint);
    return st;
}

shoal_status sim_cluster_load(shoal_env *env, const char *text, struct sched_cluster *out,
                              shoal_err *err)
{
    struct base_buf spec;

    if (sim_cluster_is_spec(env, text))
        return sched_cluster_parse(env_alloc(env), text, out, err);
    base_buf_init(&spec, env_alloc(env), FILE_MAX);
    shoal_status st = read_spec(env, text, &spec, err);
    if (st == SHOAL_OK)
        st = parse_file(env, text, &spec, out, err);
    else if (st == SHOAL_E_NOTFOUND)
        base_err_hint(err, "write a spec such as 6x4:t4,2x8:a100, or name a file");
    base_buf_fini(&spec);
    return st;
}

shoal_status sim_cluster_given(shoal_env *env, const char *text, struct sched_cluster *out,
                               shoal_err *err)
{
    shoal_status st = sim_cluster_load(env, text, out, err);

    if ((st != SHOAL_E_FORMAT && st != SHOAL_E_LIMIT) || !sim_cluster_is_spec(env, text))
        return st;
    if (err != NULL)
        err->code = SHOAL_E_INVAL;
    return SHOAL_E_INVAL;
}
