/* folder.h - all files below a path, in order of names, and whether one of them would be written over. Owner
 * thread only. */
#ifndef ENV_FOLDER_H
#define ENV_FOLDER_H

#include "env/env.h"

enum { ENV_FOLDER_DEPTH_MAX = 16, ENV_FOLDER_FILES_MAX = 100000 };

/* Calls `fn` with the path of each file: with `path` itself (inside false) when it is no folder, or
 * "-"; else with every file below it (inside true). Names that begin with a dot are left out. Stops
 * at the first status that is not SHOAL_OK and returns it. Deeper folders and more files than above
 * are errors. */
SHOAL_MUST_USE shoal_status env_folder_each(shoal_env *env, const char *path,
                                            shoal_status (*fn)(void *ctx, const char *path,
                                                               bool inside, shoal_err *err),
                                            void *ctx, shoal_err *err);

/* SHOAL_E_INVAL in words when `path` is one of `inputs` or a file below one, under whatever name: it is not to
 * be written. NULL paths are skipped, and "-" is no file. */
SHOAL_MUST_USE shoal_status env_folder_spares(shoal_env *env, const char *path,
                                              const char *const *inputs, size_t count,
                                              shoal_err *err);

#endif
