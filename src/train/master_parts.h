/* master_parts.h - what the files of the master share: master.c (tasks), deal.c (which goes to whom),
 * crew.c (executors between workers), hire.c (workers that come and go), away.c (workers on other
 * machines), stall.c (those that end nothing), driver.c (the application's hand), saver.c and saved.c
 * (checkpoints). */
#ifndef TRAIN_MASTER_PARTS_H
#define TRAIN_MASTER_PARTS_H

#include "base/assert.h"
#include "base/log.h"
#include "train/learnt.h"
#include "train/master.h"
#include "train/protocol.h"
#include "train/saver.h"
#include "train/spread.h"
#include "train/worker.h"

enum {
    AHEAD_MAX = 2,   /* tasks sent to an executor beyond those heard of; see box.h */
    ORDERS_MAX = 64, /* tasks in a message */
    KINDS = 16       /* of tasks, by fn, whose costs are told apart */
};

/* An executor. Numbers of its tasks: done <= sent <= dispatched. */
struct master_executor {
    uint32_t worker; /* TRAIN_NOBODY: nowhere */
    uint32_t target; /* where it shall be */
    uint32_t epoch;  /* of its stay at a worker */
    bool releasing;  /* the worker was asked to let it go */
    bool marked;     /* in the master's list of those to be pumped */
    bool waiting;    /* to be pumped again later: tables were locked */
    bool pausing;    /* has been released and has not run since */
    bool gated;      /* nothing is out, and no task's clock has come */
    bool listed;     /* in its worker's list, see deal.c */
    uint64_t dispatched, sent, done;
    uint64_t told;                 /* number of the last task of which its worker has spoken */
    uint64_t ended;                /* clocks it has ended */
    struct train_task_spec *queue; /* tasks done + 1 .. dispatched, at number % capacity */
    size_t capacity;
    double cost_ns;          /* of a task, smoothed; 0: not known */
    uint64_t waiting_ns;     /* since when its worker has had the first task that is out, or was
                             * asked to let it go; see stall.c */
    uint32_t waiting_rounds; /* tasks that each of its threads had then */
    uint64_t released_ns;    /* or since when it has had something to do, if later */
    uint64_t released_done;  /* `done` when it was released */
    struct master_executor *prev, *next; /* when listed */
};

/* The task of this number, of those in the queue. */
static inline struct train_task_spec *master_task(const struct master_executor *e, uint64_t number)
{
    shoal_assert(e->capacity > 0);
    return &e->queue[number % e->capacity];
}

enum crew_state { CREW_FREE, CREW_STARTING, CREW_UP, CREW_LEAVING };

/* A worker; its number is its index + 1 (the driver is 0). */
struct master_worker {
    struct train_master *master;
    uint32_t index;
    enum crew_state state;
    struct wire_peer *peer;      /* NULL: has not joined, or is lost */
    struct env_child *child;     /* NULL: from elsewhere, or inside */
    struct train_worker *inside; /* this process's own */
    bool home;                   /* shares the driver's memory */
    bool told_to_stop;
    uint32_t threads, executors;
    int64_t pid;
    char host[64];
    struct env_timer overdue; /* to join, or to leave */
    uint64_t busy_ns, busy_since_ns;
    double busy;
    struct master_away *away; /* NULL: of this machine */
    uint64_t out;             /* tasks it has: sent to it and not heard of */
    struct master_kind {
        uint64_t out;   /* of this kind */
        double cost_ns; /* of one there, smoothed; 0: not known */
    } kind[KINDS];
    struct master_executor *first, *last; /* that have a task for it, see deal.c */
    uint32_t listed;
    uint32_t order_count; /* of orders that wait for the next message */
    struct train_order order[ORDERS_MAX];
};

/* A peer that has not said what it is. */
struct master_guest {
    struct train_master *master;
    struct wire_peer *peer;
    struct master_guest *next;
};

/* The application's hand on the job. */
struct shoal_driver {
    struct train_master *master;
    void *options;               /* the application's struct */
    void *state;                 /* driver_size bytes */
    bool planned;                /* plan is over */
    bool staleness_open;         /* plan may set it */
    struct train_learnt *learnt; /* where `tell` and `show` tell; NULL: nobody listens */
    bool showing;                /* `show` runs */
    void *kept;                  /* by the application; NULL: nothing */
    void (*drop)(void *kept);
};

struct train_master {
    shoal_env *env;
    struct env_loop *loop;
    struct train_master_opts opts;
    char *path, *settings;
    struct wire_key key;
    struct wire_opts wire;
    struct shoal_driver driver;

    struct env_shared segment;
    struct train_box *box;
    struct wire_server *server;

    struct master_executor *executor;
    uint32_t executor_count;
    uint64_t closed; /* clocks that all executors have ended */
    struct master_hold {
        uint32_t out; /* tasks that hold it: sent and not heard of */
        bool afar;    /* one of them, then the only one, is on another machine */
        bool wanted;  /* some executor waits for it */
    } * hold;         /* (shards of all tables) */
    uint32_t *marked; /* executors to be pumped */
    uint32_t marked_count;
    struct master_worker **crew; /* by number - 1 */
    uint32_t crew_count;
    size_t crew_capacity;
    struct master_guest *guests;
    uint32_t wanted;        /* workers of this machine */
    uint32_t failed_starts; /* in a row */
    bool started;           /* executors have been handed out */
    bool dealt;             /* workers of this machine had no room, since the last look */
    bool finished;          /* the application has what it wants */
    bool cancelled, over;
    struct train_saver *saver; /* NULL: no checkpoints */
    struct env_timer gather, balance, settle, again;
    uint64_t turn_bytes, turn_over_ns; /* of rows for other machines; see away.c */
    struct train_place *place;         /* (executors) scratch of the balance */
    shoal_status status;
    shoal_err err;
    struct train_stats stats;
    char refusal[320]; /* whom it turned away last, and why; "": nobody */
    struct train_history history;
    struct train_trail trail;
    uint64_t made_ns, rate_ns, rate_units; /* units at rate_ns */
    uint64_t longest_ns[KINDS];            /* tasks by fn, see stall.c */
    uint64_t looked_ns;                    /* when crew_look last ran */
    uint32_t stalled_row;                  /* workers let go since a task ended */
};

/* master.c and driver.c. Anything after the first failure is not told. */
void master_fail(struct train_master *m, shoal_status status, const shoal_err *err);
/* Ends the job when nothing is left to do. */
void master_check_end(struct train_master *m);
void master_cancel(struct train_master *m); /* ends it when the tasks that are out are done */
/* Puts an executor on the list of those that may have tasks to send. */
void master_mark(struct train_master *m, uint32_t executor);
/* Where the shards of a table begin among those of all; of one beyond the last: how many there are. */
uint32_t master_first_shard(const struct train_master *m, uint32_t table);
/* Whether the task may have the shards that it holds, and that it has. */
bool master_hold_free(const struct train_master *m, const struct master_executor *e,
                      const struct train_task_spec *spec);
void master_hold_enter(struct train_master *m, const struct master_executor *e,
                       const struct train_task_spec *spec);
/* What was sent to the executor's worker and is not committed will be sent again, elsewhere. */
void master_unsend(struct train_master *m, uint32_t executor);
/* The task of this number that its worker has and of which nobody has heard; NULL: there is none. */
const struct train_task_spec *master_sent(const struct train_master *m, uint32_t executor,
                                          uint64_t number);
/* Starts the timer after which what found something locked is tried again. */
void master_again(struct train_master *m);
/* Hears of all that the executor has committed. */
void master_collect(struct train_master *m, uint32_t executor);
SHOAL_MUST_USE shoal_status master_queue(struct train_master *m, const shoal_dispatch *task,
                                         shoal_err *err);

/* deal.c */
void master_pump(struct train_master *m); /* sends what may be sent */
/* Books the executor's tasks after + 1 .. last: its worker has them, or has them no more. */
void deal_enter(struct train_master *m, const struct master_executor *e, uint64_t after,
                uint64_t last);
void deal_leave(struct train_master *m, const struct master_executor *e, uint64_t after,
                uint64_t last);
/* What a task of this fn takes at this worker. */
struct master_kind *deal_kind(struct master_worker *w, uint32_t fn);
/* Takes it off its worker's list, if it is there: before it is the worker's no more. */
void deal_drop(struct train_master *m, struct master_executor *e);
/* Whether its worker, of this machine, has nothing to do with it and knows that. */
bool deal_rests(const struct train_master *m, const struct master_executor *e);

/* hire.c */
SHOAL_MUST_USE shoal_status hire_start(struct train_master *m, shoal_err *err);
void hire_stop(struct train_master *m); /* tells all to go */
void hire_free(struct train_master *m);
bool hire_empty(const struct train_master *m);
void hire_lose(struct master_worker *w); /* it is of no more use: kills what is left of it */
/* Lets a worker from elsewhere go and tells it why: its executors go to others. */
void hire_dismiss(struct master_worker *w, shoal_status status, const shoal_err *why);
/* For whoever watches the job. */
void hire_turned_away(struct train_master *m, const char *whom, const shoal_err *why);
/* A leaving worker that has nothing left may go. */
void hire_check_leaving(struct master_worker *w);
/* It asked to leave itself: where it was a child, another one is wanted in its place, and is started
 * before it has gone, since it may be the only one. */
void hire_quit(struct master_worker *w);

/* crew.c */
void crew_spread(struct train_master *m); /* moves executors to where they should be */
void crew_ended(struct master_worker *w, const struct train_ended *ended); /* books a task's end */
/* Word about an executor that is at another worker by now is old. */
bool crew_current(const struct master_worker *w, uint32_t executor, uint32_t epoch);
/* Gives a task to a worker, with others in one message: the next one to it, or crew_flush. False: the
 * worker is of no more use. */
bool crew_order(struct master_worker *w, const struct train_order *order);
void crew_flush(struct train_master *m);
void crew_send(struct master_worker *w, uint16_t kind, const void *bytes, size_t size);
void crew_listen(struct master_worker *w); /* its messages are heard from here on */
/* Moves an executor that rests (deal_rests) to another worker of this machine, at once. */
void crew_move(struct train_master *m, uint32_t executor, uint32_t worker);
/* The executor is at no worker: what it committed is heard of, the rest will be sent again. */
void crew_let_go(struct train_master *m, uint32_t executor);
uint32_t crew_count_up(const struct train_master *m);
void crew_look(void *ctx); /* at the spread of work; starts its timer again */

/* stall.c */
void stall_look(struct train_master *m); /* lets those go that end nothing */
/* A task has ended there; before it is heard of. */
void stall_ended(struct master_worker *w, const struct train_ended *ended);
/* The executor's worker owes an answer from now on. */
void stall_begin(struct train_master *m, struct master_executor *e);

/* away.c: workers with a box of their own. Failures lose the worker. */
SHOAL_MUST_USE shoal_status away_new(struct master_worker *w);
void away_free(struct master_worker *w);
/* From here on, as the line takes it, and once; before it must move. */
void away_send_data(struct master_worker *w, uint32_t executor);
void away_adopt(struct master_worker *w, const struct train_unit *unit);
/* Sends the rows that a task with this spec must see. SHOAL_AGAIN: tables are locked. */
SHOAL_MUST_USE shoal_status away_refresh(struct master_worker *w,
                                         const struct train_task_spec *spec);
void away_commits(struct master_worker *w, const void *bytes, size_t size);
/* Whether a task may be sent while the one before it is still out. */
bool away_may_follow(const struct train_master *m, const struct train_task_spec *spec);
void away_retry(struct train_master *m); /* commits that found something locked, and data */

#endif
