/* list.h - what can be named: scheduling policies, strategies of buying, applications; and their knobs.
 *
 *     if (shoal_policy_list(&result, &err) == SHOAL_OK)
 *         shoal_result_json(result, put, ctx, &err);
 *     shoal_result_free(result);
 *
 * Results are the caller's, freed by shoal_result_free. Any thread. */
#ifndef SHOAL_LIST_H
#define SHOAL_LIST_H

#include "shoal/result.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One record with a list of all, in the order of their tables. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_policy_list(const shoal_result **out_result,
                                                        shoal_err *err);
SHOAL_API SHOAL_MUST_USE shoal_status shoal_strategy_list(const shoal_result **out_result,
                                                          shoal_err *err);
SHOAL_API SHOAL_MUST_USE shoal_status shoal_app_list(const shoal_result **out_result,
                                                     shoal_err *err);

/* One record of what it is, with a list of its knobs. SHOAL_E_NOTFOUND offers the nearest name. An application may
 * be the path of a shared object. */
SHOAL_API SHOAL_MUST_USE shoal_status shoal_policy_show(const char *name,
                                                        const shoal_result **out_result,
                                                        shoal_err *err);
SHOAL_API SHOAL_MUST_USE shoal_status shoal_app_show(const char *app,
                                                     const shoal_result **out_result,
                                                     shoal_err *err);

#ifdef __cplusplus
}
#endif
#endif
