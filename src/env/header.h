/* header.h - the header of a file with named columns: which field each column is.
 *
 * One way for all: columns may stand in any order, capital letters and blanks around a name do not
 * count, a column that is there twice is an error. Owner thread only. Tests:
 * tests/unit/env/test_header.c. */
#ifndef ENV_HEADER_H
#define ENV_HEADER_H

#include "env/lines.h"

struct env_column {
    const char *name;
    bool required;
    int at; /* set by env_header_find: index of the field, or -1 */
};

/* A header line, cut into fields. */
struct env_header {
    const struct env_lines *lines; /* for messages; its current line is the header */
    struct env_field *fields;      /* names are trimmed in place */
    size_t field_count;
    bool strict; /* a column that is not known is an error; otherwise it is passed over */
};

/* Finds each column, at most ENV_FIELDS_MAX of them. SHOAL_E_FORMAT: one is there twice, is not
 * known, with the nearest name offered, or is required and missing; `at` says then what was found
 * before. */
SHOAL_MUST_USE shoal_status env_header_find(const struct env_header *header,
                                            struct env_column *columns, size_t count,
                                            shoal_err *err);

/* Without the blanks around it. */
void env_field_trim(struct env_field *field);
/* Is it this name, but for blanks around it and capital letters? */
bool env_is_name(const char *text, size_t length, const char *name);

#endif
