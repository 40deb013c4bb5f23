/* reader.h - what a trace format is, and the helpers its reader is made of.
 *
 * A format is one file trace_<name>.c and one row in readers.h. `read` is called once per file with
 * the input open at its first line; it adds a job per line with sim_read_add and returns SHOAL_OK
 * at the end of the input, or the error of the first bad line, after which the whole trace is
 * thrown away. A minimal reader of "name,submit,gpus,seconds" lines:
 *
 *     static shoal_status read(struct sim_read *rd, shoal_err *err)
 *     {
 *         shoal_status st;
 *         while ((st = sim_read_next(rd, ',', err)) == SHOAL_OK) {
 *             struct sim_job job = sim_read_job();
 *             if ((st = sim_read_count(rd, 4, err)) != SHOAL_OK || ...)
 *                 return st;
 *             st = sim_read_add(rd, &rd->fields[0], NULL, &job, err);
 *             ...
 *         }
 *         return st == SHOAL_END ? SHOAL_OK : st;
 *     }
 *
 * Owner thread only. */
#ifndef SIM_READER_H
#define SIM_READER_H

#include "env/header.h"
#include "sim/trace.h"

#define SIM_TIME_MAX   1e12 /* seconds; also the bound of durations and deadlines */
#define SIM_STEPS_MAX  1e18
#define SIM_WEIGHT_MAX 1e6

struct sim_read {
    struct sim_trace *trace;
    struct env_lines lines;
    const char *const *paths; /* of all files, for messages */
    char prefix[64];          /* of generated names: "" or "stem:" when several files are read */
    size_t file;              /* index of the file */
    char comment;             /* lines that start with it are skipped; 0: none */
    struct env_field fields[ENV_FIELDS_MAX];
    size_t field_count;
};

struct sim_reader {
    const char *name;
    bool dates; /* submit_s is read as seconds since 1970 and made relative to the earliest job */
    /* Does the first line that is not blank look like this format? */
    bool (*detect)(const char *line, size_t length);
    shoal_status (*read)(struct sim_read *rd, shoal_err *err);
};

/* The next line that is neither blank nor a comment, cut into rd->fields. SHOAL_END after the last.
 */
SHOAL_MUST_USE shoal_status sim_read_next(struct sim_read *rd, char separator, shoal_err *err);
/* The line has exactly `count` fields. */
SHOAL_MUST_USE shoal_status sim_read_count(struct sim_read *rd, size_t count, shoal_err *err);

/* Lines of one width below a header with the names of columns. */
struct sim_table {
    struct env_column *columns;
    size_t count;
    bool strict; /* a column that is not known is an error (env/header.h) */
    /* For each line: columns[c].at is its field in rd->fields. */
    shoal_status (*row)(struct sim_read *rd, const struct env_column *columns, void *ctx,
                        shoal_err *err);
    void *ctx;
};
/* Reads from the header to the end of the input. */
SHOAL_MUST_USE shoal_status sim_read_table(struct sim_read *rd, const struct sim_table *table,
                                           shoal_err *err);

/* Numbers of a field. The range is what the format allows; values outside name it. */
SHOAL_MUST_USE shoal_status sim_read_seconds(struct sim_read *rd, const struct env_field *field,
                                             bool zero, double *out, shoal_err *err);
SHOAL_MUST_USE shoal_status sim_read_number(struct sim_read *rd, const struct env_field *field,
                                            double max, const char *what, double *out,
                                            shoal_err *err); /* above 0 */
SHOAL_MUST_USE shoal_status sim_read_whole(struct sim_read *rd, const struct env_field *field,
                                           uint32_t min, uint32_t max, const char *what,
                                           uint32_t *out, shoal_err *err);
/* "expected WHAT, found 'x'" at the field. */
shoal_status sim_read_expected(struct sim_read *rd, const struct env_field *field, const char *what,
                               shoal_err *err);
/* The index of a name in `names`, added when new; empty or over-long is an error. */
SHOAL_MUST_USE shoal_status sim_read_name(struct sim_read *rd, const struct env_field *field,
                                          const char *what, struct sim_names *names, uint32_t *out,
                                          shoal_err *err);
/* The mask of kinds named in "a|b"; an empty field is 0. */
SHOAL_MUST_USE shoal_status sim_read_kinds(struct sim_read *rd, const struct env_field *field,
                                           uint64_t *out, shoal_err *err);

/* A job with every optional value at "not stated". */
struct sim_job sim_read_job(void);
/* Adds the job under the name in `field`, or "<word>-<line>" when field is NULL. A name seen before
 * is an error that says where. */
SHOAL_MUST_USE shoal_status sim_read_add(struct sim_read *rd, const struct env_field *field,
                                         const char *word, struct sim_job *job, shoal_err *err);

/* sim_trace_add, remembering where the job was read; on SHOAL_E_EXISTS *out_first is where it was
 * first. */
SHOAL_MUST_USE shoal_status sim_trace_add_at(struct sim_trace *trace, const struct sim_job *job,
                                             uint64_t where, uint64_t *out_first);

bool sim_read_is(const struct env_field *field, const char *text);
/* Does `line` start with `text`? */
bool sim_read_starts(const char *line, size_t length, const char *text);

#define SIM_READER_ROW(id, name) extern const struct sim_reader sim_reader_##name;
SIM_READER_MAP(SIM_READER_ROW)
#undef SIM_READER_ROW

#endif
