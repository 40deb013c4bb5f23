/* protocol.h - what driver, workers and onlookers say to each other, over wire peers.
 *
 * A worker joins and is set up; it adopts executors, runs their tasks and tells of their ends, until
 * it is told to release them. Word of an end is only a hint: the truth is in the box. Messages are
 * these structs as they lie in memory (little-endian machines of one WIRE_VERSION), followed by the
 * bytes they name; every size is checked by the reader.
 * Tests: tests/unit/train/test_master_words.c. */
#ifndef TRAIN_PROTOCOL_H
#define TRAIN_PROTOCOL_H

#include "train/box.h"

enum train_message {
    /* from a worker */
    TRAIN_JOIN = 1, /* struct train_join */
    TRAIN_ENDED,    /* struct train_ended, as many as there are: tasks that have committed */
    TRAIN_COMMIT,   /* from another machine: struct train_ended and the commit's bytes, padded to 8;
                     * and the next, in order */
    TRAIN_RELEASED, /* struct train_unit: the executor runs here no more */
    TRAIN_FAILED,   /* struct train_failed: the application's task returned an error; or, of an
                     * executor that is not there, the worker is of no use */
    TRAIN_LEAVE,    /* nothing: the worker asks to be drained */
    /* from the driver */
    TRAIN_SETUP = 16, /* struct train_setup and its text */
    TRAIN_ADOPT,      /* struct train_unit; for another machine with the executor's bytes */
    TRAIN_TASK,       /* struct train_order, as many as there are; the rows that they may read have
                       * come before */
    TRAIN_RELEASE,    /* struct train_unit */
    TRAIN_DATA,       /* struct train_piece and bytes */
    TRAIN_ROWS,       /* rows of tables as train_box_pack_rows wrote them */
    TRAIN_ACCEPTED,   /* struct train_accepted, as many as there are: in the driver's box */
    TRAIN_STOP,       /* nothing: all is done, go */
    TRAIN_FACTORS,    /* instead of rows, as train_box_pack_factors wrote them */
    TRAIN_REFUSED,    /* struct train_failed: it is not taken in */
    /* from an onlooker, and the answer */
    TRAIN_ASK = 32, /* a line of text: "status", "scale 4", "drain 3" */
    TRAIN_ANSWER    /* a JSON object */
};

struct train_join {
    int64_t pid;
    uint32_t threads;
    uint32_t slot; /* which child of the driver's this is; 0: none */
    char host[64];
};

struct train_setup {
    uint64_t seed, segment_size;
    uint32_t worker, staleness;
    uint32_t home;        /* shares the driver's memory, as descriptor 3 */
    uint32_t text_size;   /* application, then "key=value" lines */
    uint32_t layout_size; /* for other machines */
    uint32_t patience_ms; /* for those, too: with a driver that is silent; 0: their own */
};

struct train_unit {
    uint32_t executor, epoch;
};

struct train_order {
    uint32_t epoch, pad;
    uint64_t closed; /* clocks, for boxes elsewhere */
    struct train_task_spec spec;
};

struct train_ended {
    uint32_t executor, epoch;
    uint64_t number;
    uint64_t begun_ns; /* on the worker's clock */
    uint64_t run_ns;   /* of the task, from tables being made fresh to its commit */
    uint64_t wait_ns;  /* of threads before it, with nothing to do or for what was locked */
    uint32_t stale;    /* clocks its reads were behind */
    uint32_t checked;  /* executors that the witness looked at */
    uint32_t size;     /* of the commit's bytes that follow; 0 in TRAIN_ENDED */
    uint32_t fn;       /* which of the application's tasks it was */
};

struct train_accepted {
    struct train_unit unit;
    uint64_t number;
};

struct train_piece {
    uint32_t executor, pad;
    uint64_t offset, total;
};

struct train_failed {
    uint32_t executor;
    int32_t code;
    uint32_t violations; /* the task broke a rule of visibility */
    char message[400], where[200], hint[200];
};

struct train_failed train_failed_of(uint32_t executor, shoal_status status, const shoal_err *why);
/* The status, which is an error whatever the bytes are. */
shoal_status train_failed_read(const struct train_failed *failed, shoal_err *out);

#endif
