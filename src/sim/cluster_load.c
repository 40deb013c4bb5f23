/* cluster_load.c - see cluster_load.h. */
#include "sim/cluster_load.h"

#include "base/err.h"
#include "sim/trace_alibaba.h"
#include <ctype.h>
#include <string.h>

enum { FILE_MAX = 64 << 20 };

static bool is_spec(const char *text)
{
    return isdigit((unsigned char)text[0]) && strchr(text, ':') != NULL &&
           strchr(text, '/') == NULL;
}

/* Reads the file into `spec`, turning a node list into groups. */
static shoal_status read_spec(shoal_env *env, const char *path, struct base_buf *spec,
                              shoal_err *err)
{
    shoal_status st = env_read_whole(env, path, spec, err);

    if (st != SHOAL_OK)
        return st;
    if (spec->size >= 13 && memcmp(spec->data, "sn,cpu_milli,", 13) == 0) {
        base_buf_clear(spec);
        return sim_cluster_from_openb(env, path, spec, err);
    }
    if (spec->size == 0 || memchr(spec->data, '\0', spec->size) != NULL) {
        base_err(err, SHOAL_E_FORMAT, "cannot read cluster '%s': expected groups such as 6x4:t4",
                 path);
        return SHOAL_E_FORMAT;
    }
    return SHOAL_OK;
}

shoal_status sim_cluster_load(shoal_env *env, const char *text, struct sched_cluster *out,
                              shoal_err *err)
{
    struct base_buf spec;

    if (is_spec(text))
        return sched_cluster_parse(env_alloc(env), text, out, err);
    base_buf_init(&spec, env_alloc(env), FILE_MAX);
    shoal_status st = read_spec(env, text, &spec, err);
    if (st == SHOAL_OK)
        st = sched_cluster_parse(env_alloc(env), spec.data, out, err);
    if (st == SHOAL_E_NOTFOUND)
        base_err_hint(err, "write a spec such as 6x4:t4,2x8:a100, or name a file");
    base_buf_fini(&spec);
    return st;
}
