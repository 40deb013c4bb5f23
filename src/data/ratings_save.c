/* ratings_save.c - ratings as CSV, the inverse of ratings.c. Tests:
 * tests/unit/data/test_ratings.c. */
#include "data/ratings.h"

#include "base/assert.h"
#include "base/err.h"
#include "data/format.h"

/* Quoted where the reader would take it for something else: commas, quotes, blanks at the ends. */
static void put_name(struct data_out *out, const struct data_ids *ids, uint32_t index)
{
    char buf[DATA_ID_BUF];
    size_t size = 0;
    const char *name = data_ids_name(ids, index, buf, &size);
    bool quoted = memchr(name, ',', size) != NULL || memchr(name, '"', size) != NULL ||
                  name[0] == ' ' || name[size - 1] == ' ';

    if (!quoted) {
        data_out_put(out, name, size);
        return;
    }
    data_out_put(out, "\"", 1);
    for (size_t i = 0; i < size; i++)
        data_out_put(out, name[i] == '"' ? "\"\"" : name + i, name[i] == '"' ? 2 : 1);
    data_out_put(out, "\"", 1);
}

static void put_rating(struct data_out *out, const struct data_ratings *ratings,
                       const struct num_rating *r)
{
    put_name(out, &ratings->user_ids, r->user);
    data_out_put(out, ",", 1);
    put_name(out, &ratings->item_ids, r->item);
    char *to = data_out_room(out, DATA_FORMAT_MAX + 2);
    if (ratings->valued) {
        *to++ = ',';
        to = data_format_f32(to, r->value);
    }
    *to++ = '\n';
    out->used = (size_t)(to - out->buf);
}

shoal_status data_ratings_save(shoal_env *env, const char *path, const struct data_ratings *ratings,
                               shoal_err *err)
{
    static const char valued[] = "user,item,rating\n", unvalued[] = "user,item\n";
    struct data_out *out = base_malloc(env_alloc(env), sizeof *out);

    if (out == NULL)
        return base_err_nomem(err, "writing ratings");
    out->err = err;
    out->used = 0;
    out->status = SHOAL_OK;
    shoal_status st = env_create(env, path, &out->file, err);
    if (st == SHOAL_OK) {
        data_out_put(out, ratings->valued ? valued : unvalued,
                     (ratings->valued ? sizeof valued : sizeof unvalued) - 1);
        for (uint64_t i = 0; i < ratings->count && out->status == SHOAL_OK; i++)
            put_rating(out, ratings, &ratings->rating[i]);
        st = data_out_finish(out);
    }
    base_free(env_alloc(env), out);
    return st;
}
