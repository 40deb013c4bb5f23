/* public_data.h - published traces for tests: $SHOAL_DATA/sched, unpacked into a temporary folder.
 * Where they are missing, the test skips with a reason. */
#ifndef TESTS_PUBLIC_DATA_H
#define TESTS_PUBLIC_DATA_H

#include "torture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct public_data {
    char dir[64];
    char path[512]; /* of the last file asked for */
};

static inline void public_data_init(struct public_data *data)
{
    strcpy(data->dir, "/tmp/shoal-test-XXXXXX");
    assert_non_null(mkdtemp(data->dir));
}

static inline void public_data_fini(struct public_data *data)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", data->dir);
    assert_int_equal(system(command), 0);
}

/* The path of a file below $SHOAL_DATA/sched, or of `member` of the archive `name`; "x.xz" is
 * unpacked. Skips the test when it is not there. */
static inline const char *public_data_file(struct public_data *data, const char *name,
                                           const char *member)
{
    const char *root = getenv("SHOAL_DATA");
    char source[400], command[1400];
    size_t length = strlen(name);

    snprintf(source, sizeof source, "%s/sched/%s", root != NULL ? root : "../shared/data", name);
    if (access(source, R_OK) != 0) {
        print_message("skipped: no public data at '%s'\n", source);
        public_data_fini(data);
        skip();
    }
    if (member != NULL) {
        snprintf(command, sizeof command, "tar -xJf '%s' -C '%s' '%s'", source, data->dir, member);
        snprintf(data->path, sizeof data->path, "%s/%s", data->dir, member);
    } else if (length > 3 && strcmp(name + length - 3, ".xz") == 0) {
        const char *slash = strrchr(name, '/');
        const char *base = slash != NULL ? slash + 1 : name;
        snprintf(data->path, sizeof data->path, "%s/%.*s", data->dir, (int)(strlen(base) - 3),
                 base);
        snprintf(command, sizeof command, "xz -dc '%s' > '%s'", source, data->path);
    } else {
        snprintf(data->path, sizeof data->path, "%s", source);
        return data->path;
    }
    if (system(command) != 0) {
        print_message("skipped: cannot unpack '%s' (xz and tar are needed)\n", source);
        public_data_fini(data);
        skip();
    }
    return data->path;
}

#endif
