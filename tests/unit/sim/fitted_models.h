/* fitted_models.h - a fitted model as it was read, for tests of those who write and read them. */
#ifndef TESTS_FITTED_MODELS_H
#define TESTS_FITTED_MODELS_H

#include "sim/bind.h"
#include <string.h>

/* NULL: there is none of that name. */
static inline const struct sched_fitted *find_fitted(const struct sim_fitted *fitted,
                                                     const char *name)
{
    const struct base_map_entry *entry = base_map_find(&fitted->names, name, strlen(name));

    return entry != NULL ? &fitted->models[entry->value] : NULL;
}

#endif
