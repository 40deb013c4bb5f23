/* memory_real.h - memory left to this process, for env_real.c. */
#ifndef ENV_MEMORY_REAL_H
#define ENV_MEMORY_REAL_H

#include "env/env.h"

uint64_t memory_real_left(shoal_env *env, bool own);

#endif
