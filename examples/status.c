/* status.c - what libshoal's functions can answer, and what helps after each answer.
 *
 * Shows the two things every program needs: an env, which must outlive all that is made from it,
 * and the status with its optional detail. Prints one line per status. */
#include <shoal/env.h>
#include <shoal/status.h>
#include <shoal/version.h>
#include <stdint.h>
#include <stdio.h>

#define NAME(name, value, action, text) name,
static const shoal_status all[] = {SHOAL_STATUS_MAP(NAME)};
#undef NAME

int main(void)
{
    shoal_err err = SHOAL_ERR_INIT;
    shoal_env *env = NULL;
    const uint64_t seed = 1;

    shoal_status status = shoal_env_sim_new(seed, &env, &err);
    if (status != SHOAL_OK) {
        fprintf(stderr, "status: %s: %s\n", shoal_status_text(status), err.message);
        return 1;
    }
    printf("shoal %s\n", shoal_version());
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        printf("%-20s %-28s %s\n", shoal_status_name(all[i]), shoal_status_text(all[i]),
               shoal_action_text(shoal_status_action(all[i])));
    shoal_env_free(env);
    return 0;
}
