/* cluster_load.c - see cluster_load.h. */
#include "sim/cluster_load.h"

#include "base/err.h"
#include "sim/trace_alibaba.h"
#include <ctype.h>
#include <string.h>

enum { FILE_MAX = 64 << 20 };

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
    if (strncmp(text, "sn,cpu_milli,", 13) == 0) {
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
