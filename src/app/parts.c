/* parts.c - see parts.h. Tests: those of the applications, tests/unit/app. */
#include "app/parts.h"

#include "base/err.h"
#include <string.h>

shoal_status app_parts_put(shoal_model *model, const struct app_part *parts, size_t count,
                           shoal_err *err)
{
    shoal_status st = SHOAL_OK;

    for (size_t i = 0; i < count && st == SHOAL_OK; i++)
        st = shoal_model_put(model, parts[i].name, parts[i].data, parts[i].count * parts[i].size,
                             err);
    return st;
}

shoal_status app_parts_get(const shoal_model *model, const struct app_part *parts, size_t count,
                           shoal_err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct app_part *part = &parts[i];
        size_t found = 0;
        shoal_status st = shoal_model_get(model, part->name, part->at, &found, err);
        if (st != SHOAL_OK)
            return st;
        if (found % part->size != 0 || found / part->size != part->count)
            return base_err(err, SHOAL_E_FORMAT,
                            "part '%s' of the model has %zu bytes; expected %zu", part->name, found,
                            (size_t)part->count * part->size);
    }
    return SHOAL_OK;
}

shoal_status app_parts_shape(const shoal_model *model, void *out, size_t size, shoal_err *err)
{
    const void *bytes = NULL;
    shoal_status st =
        app_parts_get(model, &(struct app_part){"shape", 1, size, .at = &bytes}, 1, err);

    if (st == SHOAL_OK && bytes != NULL)
        memcpy(out, bytes, size);
    return st;
}

shoal_status app_parts_names(const shoal_model *model, const char *name, uint32_t count,
                             bool optional, struct data_ids *ids, shoal_err *err)
{
    const void *bytes;
    size_t size;
    uint32_t index;
    shoal_status st = shoal_model_get(model, name, &bytes, &size, err);

    if (st != SHOAL_OK || (optional && size == 0))
        return st;
    for (const char *at = bytes, *end = at + size; at < end;) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        if (line == NULL || line - at > DATA_ID_SIZE_MAX)
            break;
        if (data_ids_add(ids, at, (size_t)(line - at), &index) != SHOAL_OK)
            return base_err_nomem(err, "reading a model");
        at = line + 1;
    }
    if (ids->count != count)
        return base_err(err, SHOAL_E_FORMAT, "part '%s' of the model has %u names; expected %u",
                        name, ids->count, count);
    return SHOAL_OK;
}

shoal_status app_parts_table(shoal_driver *driver, const char *name, uint64_t rows, uint32_t width,
                             shoal_err *err)
{
    shoal_table_opts table = SHOAL_TABLE_OPTS_INIT;

    table.name = name;
    table.rows = rows;
    table.width = width;
    return shoal_driver_table(driver, &table, err);
}
