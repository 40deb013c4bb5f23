/* version.h - which Shoal this is. Any thread. */
#ifndef SHOAL_VERSION_H
#define SHOAL_VERSION_H

#include "shoal/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SHOAL_VERSION_MAJOR 0
#define SHOAL_VERSION_MINOR 1
#define SHOAL_VERSION_PATCH 0
#define SHOAL_VERSION       "0.1.0"

/* The version of the library that is loaded, which may be newer than the header's. */
SHOAL_API const char *shoal_version(void);

#ifdef __cplusplus
}
#endif
#endif
