/* memory.c - see memory.h. Tests: tests/cli/test_train_spill.py. */
#include "cli/memory.h"

#include "base/err.h"
#include "cli/train_show.h"
#include "env/spill.h"
#include <sys/stat.h>

/* Bytes in memory for each 10 of a file, at least: an entry takes 8 and has some 25 in text at
 * most. Most data takes more: to be refused before hours are spent on reading, it must be sure. */
enum { TENTHS = 3 };

/* Of a plain file; what else there is must not be opened twice. */
static uint64_t size_of(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
}

shoal_status cli_memory_start(const struct cli_context *cx, const char *spill, const char *data,
                              unsigned copies, shoal_err *err)
{
    char have[32], want[32];

    if (spill != NULL)
        return env_spill_start(cx->env, spill, err);
    env_guard_start(cx->env);
    uint64_t need = size_of(data) / 10 * TENTHS * copies;
    uint64_t left = env_memory_left(cx->env, true);
    if (need <= left)
        return SHOAL_OK;
    base_err(err, SHOAL_E_NOMEM, "'%s' does not fit in memory: it takes %s or more, %s are left",
             data, cli_train_bytes((double)need, want, sizeof want),
             cli_train_bytes((double)left, have, sizeof have));
    base_err_hint(err, "--spill DIR keeps it in files of a folder");
    return SHOAL_E_NOMEM;
}

void cli_memory_explain(const struct cli_context *cx, const char *spill, shoal_status status,
                        shoal_err *err)
{
    char room[32];

    if (status != SHOAL_E_NOMEM || err->hint[0] != 0)
        return;
    if (spill == NULL)
        base_err_hint(err, "--spill DIR keeps data in files of a folder");
    else if (env_spill_explain(cx->env, err))
        base_err_hint(err, "free some there or name a folder on another disk");
    else
        base_err_hint(err, "'%s' has %s left", spill,
                      cli_train_bytes((double)env_spill_room(cx->env), room, sizeof room));
}
