/* choice.c - reads "policy:key=value:key=value". */
#include "sim/choice.h"

#include "base/err.h"
#include <string.h>

shoal_status sim_choice_parse(char *text, struct sim_choice *out, shoal_err *err)
{
    struct sim_choice choice = {0};
    char *rest = strchr(text, ':');

    if (rest != NULL)
        *rest++ = '\0';
    choice.policy = sched_policy_find(text, err);
    if (choice.policy == NULL)
        return SHOAL_E_NOTFOUND;
    while (rest != NULL) {
        if (choice.set_count == SIM_SETS_MAX)
            return base_err(err, SHOAL_E_INVAL, "more than %d knobs for policy '%s'", SIM_SETS_MAX,
                            text);
        choice.sets[choice.set_count++] = rest;
        rest = strchr(rest, ':');
        if (rest != NULL)
            *rest++ = '\0';
    }
    *out = choice;
    return SHOAL_OK;
}
