/* reader.h - what a trace format is, and the helpers its reader is made of.
 *
 * A format is a reader in a file trace_<name>.c and a row in readers.h. `read` is called once per file
 * with rd->table open at its first line; it adds a job per line with sim_read_add. Failures stick in the
 * table (env/table.h), after which the whole trace is thrown away. A reader of "name,submit,gpus,seconds"
 * lines without a header:
 *
 *     static void read(struct sim_read *rd)
 *     {
 *         for (rd->table.width = 4; env_table_next(&rd->table);) {
 *             const struct env_cell *c = rd->table.cells;
 *             struct sim_job job = sim_read_job();
 *             sim_read_submit(rd, c[1], &job);
 *             job.gpus = (uint32_t)env_table_whole(&rd->table, c[2], 1, SIM_JOB_GPUS_MAX, "GPUs");
 *             job.duration_s = sim_read_seconds(rd, c[3], false);
 *             sim_read_add(rd, c[0], NULL, &job);
 *         }
 *     }
 *
 * Owner thread only. */
#ifndef SIM_READER_H
#define SIM_READER_H

#include "env/table.h"
#include "sim/trace.h"

#define SIM_TIME_MAX   1e12 /* seconds; also the bound of durations and deadlines */
#define SIM_STEPS_MAX  1e18
#define SIM_WEIGHT_MAX 1e6

struct sim_read {
    struct sim_trace *trace;
    struct env_table table;
    const char *const *paths; /* of all files, for messages */
    char prefix[64];          /* of generated names: "" or "stem:" when several files are read */
    size_t file;              /* index of the file */
    char clock;               /* how it tells times: 's' seconds, 'd' dates; 0: no job yet */
};

struct sim_reader {
    const char *name;
    const char *header; /* columns by which it is recognised: "time,application"; NULL: see below */
    bool (*detect)(const char *line, size_t length); /* a first line that is no such header */
    void (*read)(struct sim_read *rd);
};

/* Seconds of 0 (where `zero` allows it) or more, below SIM_TIME_MAX. */
double sim_read_seconds(struct sim_read *rd, struct env_cell cell, bool zero);
/* The same or a date, which is seconds since 1970; all times of a file are one or the other. */
double sim_read_time(struct sim_read *rd, struct env_cell cell);
/* The index of a name in `names`, added when new; empty or over-long is an error. */
uint32_t sim_read_name(struct sim_read *rd, struct env_cell cell, const char *what,
                       struct sim_names *names);
/* The mask of kinds named in "a|b"; an empty cell is 0. */
uint64_t sim_read_kinds(struct sim_read *rd, struct env_cell cell);

/* A job with every optional value at "not stated". */
struct sim_job sim_read_job(void);
/* Adds the job under the name in the cell, or "<word>-<line>" where `word` is not NULL. A name seen
 * before is an error that says where. Nothing after a failure. */
void sim_read_add(struct sim_read *rd, struct env_cell cell, const char *word, struct sim_job *job);

/* sim_trace_add, remembering where the job was read; on SHOAL_E_EXISTS *out_first is where it was
 * first. */
SHOAL_MUST_USE shoal_status sim_trace_add_at(struct sim_trace *trace, const struct sim_job *job,
                                             uint64_t where, uint64_t *out_first);

#define SIM_READER_ROW(id, name) extern const struct sim_reader sim_reader_##name;
SIM_READER_MAP(SIM_READER_ROW)
#undef SIM_READER_ROW

#endif
