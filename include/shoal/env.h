/* env.h - the outside world as a parameter: clock, files, random streams, memory and fault points.
 *
 * Library code reaches the machine only through a shoal_env. The real one is the machine; the
 * simulated one has a virtual clock, files in memory and faults drawn from a seed, so that a
 * failure can be replayed. An env must outlive everything made from it. Owner thread only, except
 * where a function says otherwise. */
#ifndef SHOAL_ENV_H
#define SHOAL_ENV_H

#include "shoal/status.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shoal_env shoal_env;

/* On success *out_env is the caller's, freed by shoal_env_free. On failure it is untouched. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_env_real_new(shoal_env **out_env, shoal_err *err);

/* A deterministic world: the clock starts at 0 and moves only when told, files live in memory. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_env_sim_new(uint64_t seed, shoal_env **out_env,
                                                        shoal_err *err);

/* NULL is allowed. */
SHOAL_API void shoal_env_free(shoal_env *env);

#ifdef __cplusplus
}
#endif
#endif
