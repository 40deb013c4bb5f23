/* memory.c - see memory.h. Tests: tests/cli/test_train_spill.py. */
#include "cli/memory.h"

#include "base/err.h"
#include "cli/train_show.h"
#include "env/spill.h"
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes in memory for each 10 of a file, at least: an entry takes 8 and has some 25 in text at
 * most. Most data takes more: to be refused before hours are spent on reading, it must be sure. */
enum { TENTHS = 3 };

/* Of a plain file; what else there is must not be opened twice. */
static uint64_t size_of(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
}

/* ---- a disk that fails ---- */

static char last_words[1024]; /* made before: a signal handler may only write them */
static size_t last_size;
static atomic_flag telling = ATOMIC_FLAG_INIT;

static void tell(int number, siginfo_t *info, void *ctx)
{
    (void)ctx;
    if (info->si_code != BUS_ADRERR) { /* no page of a file: what it would be without us */
        (void)signal(number, SIG_DFL);
        (void)raise(number);
        return;
    }
    while (atomic_flag_test_and_set(&telling)) /* another thread tells, and ends us all */
        (void)pause();
    (void)!write(STDERR_FILENO, last_words, last_size);
    _exit(1);
}

void cli_memory_watch(const struct cli_context *cx, const char *folder)
{
    struct sigaction action = {.sa_sigaction = tell, .sa_flags = SA_SIGINFO};
    struct cli_context to = *cx;
    shoal_err err = SHOAL_ERR_INIT;

    to.err = fmemopen(last_words, sizeof last_words, "w");
    if (to.err == NULL)
        return;
    base_err(&err, SHOAL_E_IO, "cannot read or write memory spilled to '%.150s': I/O error",
             folder);
    base_err_hint(&err, "the system's log may say more");
    (void)cli_fail(&to, SHOAL_E_IO, &err);
    long size = ftell(to.err);
    (void)fclose(to.err);
    last_size = size > 0 ? (size_t)size : 0;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGBUS, &action, NULL);
}

/* ---- beginning and end ---- */

shoal_status cli_memory_start(const struct cli_context *cx, const char *spill, const char *data,
                              unsigned copies, shoal_err *err)
{
    char have[32], want[32];

    if (spill != NULL) {
        cli_memory_watch(cx, spill);
        return env_spill_start(cx->env, spill, err);
    }
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
