/* spill.h - memory in files of a folder, for data that is larger than the machine's memory.
 *
 * After env_spill_start every block of at least ENV_SPILL_MIN bytes that comes from the env's
 * allocator, and the shared memory of env_shared_new, lies in files of the folder: mapped, without
 * a name, gone with the process. The system writes their pages out and reads them in as it needs
 * room, so what a process holds for itself stays small. Space on the disk is taken when a block is
 * made or grows, never by writing to it, so a full disk is an allocation that fails and no signal.
 * Smaller blocks, and all there were before, are the C library's.
 *
 * Any thread allocates; the rest is the owner thread's. Real env only. Tests:
 * tests/unit/env/test_spill.c. */
#ifndef ENV_SPILL_H
#define ENV_SPILL_H

#include "env/env.h"
#include "env/loop.h"

#define ENV_SPILL_MIN ((size_t)1 << 20)

/* Once for an env, before threads use it; lasts until the env is freed, and no block may outlive
 * that. The folder must exist. */
SHOAL_MUST_USE shoal_status env_spill_start(shoal_env *env, const char *folder, shoal_err *err);
/* Bytes the disk of the folder has left for this user; 0: it does not say, or nothing spills. */
uint64_t env_spill_room(shoal_env *env);
/* Puts why the folder did not take the last block it refused into `err`, in place of what is there.
 * False: it took all there was, or nothing spills. */
bool env_spill_explain(shoal_env *env, shoal_err *err);

/* ---- for env ---- */
void env_spill_free(struct env_spill *spill); /* NULL is allowed */
/* A file without a name in the folder, of size 0: its descriptor, or -1 and errno. */
int env_spill_file(const struct env_spill *spill);
/* Space on the disk for a range of a file, which grows to hold it. 0 or an errno. `spill` remembers
 * a refusal; NULL is allowed. */
int env_spill_back(struct env_spill *spill, int fd, uint64_t offset, uint64_t size);

#endif
