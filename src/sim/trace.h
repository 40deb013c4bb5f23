/* trace.h - a workload: jobs as a trace tells them, before and after they are bound to a cluster.
 *
 * Readers (trace_*.c) turn each supported format into the same jobs; binding (bind.c) gives each
 * job a speed model for the kinds of a cluster. A trace is loaded whole or not at all, immutable
 * afterwards, and may then be shared by any number of threads. It owns every string and table its
 * jobs point to. */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include "base/arena.h"
#include "base/map.h"
#include "env/table.h"
#include "sched/model.h"
#include "sim/readers.h"

enum {
    SIM_JOBS_MAX = 20000000,
    SIM_JOB_GPUS_MAX = 100000,
    SIM_TRACE_KINDS_MAX = 64, /* kinds a trace may name: bits of want_kinds */
    SIM_NAME_MAX = 255,       /* bytes of a job, model, group or kind name */
    SIM_NONE = UINT32_MAX
};

#define SIM_RUN_MAX 1e9 /* seconds a job may take on its fastest kind, about 30 years */

/* How the trace states the work of a job. */
enum sim_work {
    SIM_WORK_DURATION, /* duration_s at `gpus` GPUs, whatever the kind */
    SIM_WORK_STEPS,    /* `steps` of model `model`: speed from a throughput table (Gavel) */
    SIM_WORK_PROFILE   /* train `model` to its end with total batch `batch` (Pollux, Sia; fitted) */
};

/* What may be chosen for a job that trains a profile; the others are rigid. */
enum sim_adapt_how {
    SIM_ADAPT_BATCH, /* its GPUs and its batch */
    SIM_ADAPT_SIZE,  /* its GPUs; it keeps its batch */
    SIM_ADAPT_NONE,  /* nothing: it runs on `gpus` GPUs */
    SIM_ADAPT_COUNT
};
extern const char *const sim_adapt_names[SIM_ADAPT_COUNT]; /* batch size none */

struct sim_job {
    const char *name;    /* unique in the trace */
    double submit_s;     /* 0 or more; jobs are sorted by (submit_s, order in the file) */
    double duration_s;   /* NAN unless SIM_WORK_DURATION */
    double steps;        /* NAN unless SIM_WORK_STEPS */
    double weight;       /* 1 unless the trace says */
    double deadline_s;   /* absolute; INFINITY: none */
    uint32_t gpus;       /* gang size, 1 or more */
    uint32_t batch;      /* total batch; 0: not stated */
    uint32_t model;      /* index into trace->models, or SIM_NONE */
    uint32_t group;      /* index into trace->groups; a job without one is in "default" */
    uint32_t app;        /* the sweep it is part of, index into trace->apps, or SIM_NONE */
    uint8_t work;        /* enum sim_work */
    uint8_t adapt;       /* enum sim_adapt_how */
    float slo;           /* deadline as a multiple of its duration, settled by binding; NAN: none */
    double score;        /* how good its model gets, by which a tuner stops it; NAN: not known */
    uint64_t want_kinds; /* mask of trace->kinds it accepts; 0: any */

    /* Set by sim_trace_bind. */
    uint32_t kinds; /* mask of cluster kinds it can use with its gang; 0: it can never run here */
    struct sched_model speed;
};

struct sim_names { /* distinct strings, index = order of first appearance */
    struct base_map map;
};

struct sim_trace {
    const struct base_alloc *alloc;
    struct base_arena arena;
    struct sim_job *jobs;
    size_t job_count, job_cap;
    struct sim_names models, groups, kinds, apps;
    struct base_map names;         /* job name -> where it was read; freed after loading */
    struct sim_tables *tables;     /* throughput tables and profiles, made by binding */
    uint64_t skipped;              /* lines left out by a stated rule, such as jobs without GPUs */
    uint64_t input_hash;           /* of all bytes read, for reports */
    const char *format;            /* name of the reader, "mixed" for several */
    char ignored[ENV_IGNORED_MAX]; /* columns that were not known, for a note; "": none */
};

/* SIM_FORMAT_AUTO, then one per row of readers.h: SIM_FORMAT_SHOAL, SIM_FORMAT_GAVEL, ... */
enum sim_format {
    SIM_FORMAT_AUTO,
#define SIM_FORMAT_ROW(id, name) SIM_FORMAT_##id,
    SIM_READER_MAP(SIM_FORMAT_ROW)
#undef SIM_FORMAT_ROW
        SIM_FORMAT_COUNT
};
/* NULL-terminated: auto shoal gavel pollux philly alibaba */
extern const char *const sim_format_names[];

/* Reads all paths into one trace ("-" is standard input; at most one). Bad input: *out is
 * untouched, err says file, line, column and what was expected. */
SHOAL_MUST_USE shoal_status sim_trace_load(shoal_env *env, const char *const *paths,
                                           size_t path_count, enum sim_format format,
                                           struct sim_trace **out_trace, shoal_err *err);
void sim_trace_free(struct sim_trace *trace);

/* Gives every job its speed on this cluster. `profiles` is a throughput table or fitted models (.json),
 * a folder of Pollux or Sia profiles, or NULL when no job needs one. A job that fits no kind keeps kinds == 0;
 * that is not an error. A model or size the profiles do not know is one. May be called once. */
SHOAL_MUST_USE shoal_status sim_trace_bind(shoal_env *env, struct sim_trace *trace,
                                           const struct sched_cluster *cluster,
                                           const char *profiles, shoal_err *err);

/* The trace in Shoal's own CSV, appended to `out`. */
void sim_trace_format(const struct sim_trace *trace, struct base_buf *out);

/* Building blocks for readers and generators. */
SHOAL_MUST_USE shoal_status sim_trace_new(const struct base_alloc *alloc,
                                          struct sim_trace **out_trace);
/* Index of `name` in `names`, added when new. */
SHOAL_MUST_USE shoal_status sim_names_add(struct sim_names *names, const char *name, size_t length,
                                          uint32_t *out_index);
const char *sim_names_get(const struct sim_names *names, uint32_t index);
/* Adds a copy of `job` (the name too). SHOAL_E_EXISTS for a name seen before. */
SHOAL_MUST_USE shoal_status sim_trace_add(struct sim_trace *trace, const struct sim_job *job);
/* Sorts by submission and drops what only loading needed. */
void sim_trace_finish(struct sim_trace *trace);

#endif
