/* interrupt.c - see interrupt.h. Tests: tests/cli/test_sim_faults.py. */
#include "cli/interrupt.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

static const int signals[] = {SIGINT, SIGTERM};
enum { SIGNALS = sizeof signals / sizeof signals[0] };

static struct sigaction before[SIGNALS];
static atomic_bool flag;
static volatile sig_atomic_t came; /* which signal */

static void note(int number)
{
    came = number;
    atomic_store(&flag, true);
}

void cli_interrupt_start(void)
{
    struct sigaction mine = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND};

    came = 0;
    atomic_store(&flag, false);
    sigemptyset(&mine.sa_mask);
    for (int i = 0; i < SIGNALS; i++)
        if (sigaction(signals[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &mine, NULL);
}

void cli_interrupt_stop(void)
{
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &before[i], NULL);
}

const atomic_bool *cli_interrupt_flag(void)
{
    return &flag;
}

void cli_interrupt_raise(void)
{
    if (came != 0)
        raise(came);
}
