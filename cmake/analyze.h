/* analyze.h - what clang's analyzer cannot see across files: the error helpers return their code.
 *
 * Included before every source by tools/analyze, except the file that defines them. */
#ifndef CMAKE_ANALYZE_H
#define CMAKE_ANALYZE_H

#include "base/err.h"

#define base_err(err, code, ...)  ((void)(base_err)((err), (code), __VA_ARGS__), (code))
#define base_err_nomem(err, what) ((void)(base_err_nomem)((err), (what)), SHOAL_E_NOMEM)

#endif
