/* parts.h - what applications share: parts of models, names in them, plain tables. Owner thread only. */
#ifndef APP_PARTS_H
#define APP_PARTS_H

#include "data/ids.h"
#include "shoal/train.h"

/* An array in a model. */
struct app_part {
    const char *name;
    uint64_t count;
    size_t size;      /* of one */
    const void *data; /* to write */
    const void **at;  /* where to say where it lies, when it is read; lent by the model */
};

SHOAL_MUST_USE shoal_status app_parts_put(shoal_model *model, const struct app_part *parts,
                                          size_t count, shoal_err *err);
/* SHOAL_E_FORMAT where one has another size. */
SHOAL_MUST_USE shoal_status app_parts_get(const shoal_model *model, const struct app_part *parts,
                                          size_t count, shoal_err *err);
/* One of one thing, copied to *out. */
SHOAL_MUST_USE shoal_status app_parts_shape(const shoal_model *model, void *out, size_t size,
                                            shoal_err *err);

/* Adds the names of part `name`, each with a newline behind it: `count` of them, or none where that is `optional`. */
SHOAL_MUST_USE shoal_status app_parts_names(const shoal_model *model, const char *name,
                                            uint32_t count, bool optional, struct data_ids *ids,
                                            shoal_err *err);

SHOAL_MUST_USE shoal_status app_parts_table(shoal_driver *driver, const char *name, uint64_t rows,
                                            uint32_t width, shoal_err *err);

#endif
