/* profile.h - folders of measured profiles, as published with Pollux and Sia.
 *
 * A folder has one subfolder per application: placements[-KIND].csv, scalability[-KIND].csv
 * (optional) and validation-BATCH.csv. Applications are read when a job first asks for them. The
 * profiles own what models point to and must outlive them; immutable once binding is over. Owner
 * thread while binding. */
#ifndef SIM_PROFILE_H
#define SIM_PROFILE_H

#include "base/arena.h"
#include "env/env.h"
#include "sched/model_profile.h"

struct sim_profiles;

/* `dir` is borrowed only for the call. */
SHOAL_MUST_USE shoal_status sim_profiles_open(shoal_env *env, const char *dir,
                                              const struct sched_cluster *cluster,
                                              struct sim_profiles **out, shoal_err *err);
void sim_profiles_free(struct sim_profiles *profiles);

/* The speed of training `app` with a total batch (0: the application's own), and the kinds of the
 * cluster on which `gpus` GPUs have a measured or interpolated speed; a mask of 0 means it can run
 * on none. An application the folder does not have, or one without a profile for any kind of the
 * cluster, is an error. */
SHOAL_MUST_USE shoal_status sim_profiles_bind(struct sim_profiles *profiles, const char *app,
                                              uint32_t gpus, uint32_t batch,
                                              struct sched_model *out_model, uint32_t *out_kinds,
                                              shoal_err *err);

#endif
