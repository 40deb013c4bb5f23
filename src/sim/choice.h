/* choice.h - a policy with knobs, as people write it: "las:quantum=30m:locality=strict". */
#ifndef SIM_CHOICE_H
#define SIM_CHOICE_H

#include "sched/policy.h"

enum { SIM_SETS_MAX = 64 };

struct sim_choice {
    const struct sched_policy *policy;
    const char *sets[SIM_SETS_MAX]; /* "key=value", borrowed */
    size_t set_count;
};

/* Cuts `text` at its colons, in place; *out points into it. The knobs' names and values are checked
 * by sim_run. SHOAL_E_NOTFOUND for a policy that is not there. */
SHOAL_MUST_USE shoal_status sim_choice_parse(char *text, struct sim_choice *out, shoal_err *err);

#endif
