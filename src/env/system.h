/* system.h - what only the real machine has: places of files, folders of jobs and their locks, programs.
 *
 * Real env only: in a simulated one nothing calls these. Any thread. Tests: tests/cli/test_train*.py,
 * tests/cli/test_limits.py, tests/cli/transcripts. */
#ifndef ENV_SYSTEM_H
#define ENV_SYSTEM_H

#include "env/env.h"

enum { ENV_PATH_SIZE = 4096 };

/* Whether two files are one, or would be once they are written; and whether a file is in a folder, or
 * would be made there. Links are followed, as they are when a file is written. */
bool env_same_place(shoal_env *env, const char *a, const char *b);
bool env_in_folder(const char *path, const char *folder);
bool env_is_pipe(const char *path);
/* Bytes of a plain file; NAN: it is none, and must not be opened twice. */
double env_file_bytes(const char *path);
/* The same file from any working directory; `path` itself where that is not known. Returns out. */
const char *env_full_path(const char *path, char out[ENV_PATH_SIZE]);

/* The folder of this user alone for what runs, made when it is missing: $XDG_RUNTIME_DIR/shoal/NAME, else
 * $HOME/.local/state/shoal/NAME. SHOAL_E_DENIED when others may enter it. */
SHOAL_MUST_USE shoal_status env_run_folder(const char *name, char *out, size_t size,
                                           shoal_err *err);

/* A file that is locked for as long as its descriptor is open, whatever becomes of the process. -1: somebody has
 * it (SHOAL_E_EXISTS), also after a moment if it `waits`, or it cannot be made. */
int env_lock_take(const char *path, bool waits, shoal_err *err);
/* When it was taken last by env_lock_stamp, seconds since 1970; NAN: it is not there. */
double env_lock_since(const char *path);
void env_lock_stamp(int lock);
/* Removes the file, and `with`, which lives as long; -1 is allowed. */
void env_lock_drop(int lock, const char *path, const char *with);

/* A folder to oneself, for `what` ("checkpoints"): made where it is missing (unless it `must` be there),
 * writable, locked. SHOAL_E_EXISTS: another has it. What a killed writer of files has left there is removed. */
SHOAL_MUST_USE shoal_status env_folder_take(const char *path, const char *what, bool must,
                                            int *out_folder, shoal_err *err);
bool env_folder_has(int folder, const char *name);
void env_folder_remove(int folder, const char *name);
void env_folder_drop(int folder); /* -1 is allowed */

/* Seconds that this process and its ended children have computed. */
double env_cpu_all_s(void);
int64_t env_pid(void); /* of this process */
/* Resolves a command name: `word` itself where it has a slash, else its first match in $PATH.
 * SHOAL_E_NOTFOUND: there is none that may be run. */
SHOAL_MUST_USE shoal_status env_program_find(const char *word, char out[ENV_PATH_SIZE],
                                             shoal_err *err);

/* ---- memory for data ---- */

/* Data in memory, or in files of the folder `spill` (NULL: none); once for an env. What surely does not fit is
 * refused before hours are spent on reading: `data` is a file that is read into `copies` copies. */
SHOAL_MUST_USE shoal_status env_memory_start(shoal_env *env, const char *spill, const char *data,
                                             unsigned copies, shoal_err *err);
/* What helps, where memory was short. */
void env_memory_explain(shoal_env *env, const char *spill, shoal_status status, shoal_err *err);
/* Address space for shared memory: it may be backed by swap, so several times the memory there is, and as
 * much as the disk that it spills to has left; at least `least`. */
size_t env_memory_space(shoal_env *env, size_t least);

#endif
