/* loop_sim_link.h - links between simulated processes: their two ends and the pipes between. See
 * loop_sim_link.c for how they work. Private to src/env. */
#ifndef ENV_LOOP_SIM_LINK_H
#define ENV_LOOP_SIM_LINK_H

#include "env/loop_sim.h"

enum { SIM_ADDRESS_SIZE = 136 };

enum sim_chunk_kind { SIM_CHUNK_BYTES, SIM_CHUNK_OPENED, SIM_CHUNK_CLOSED };

enum sim_reason { SIM_PEER_CLOSED, SIM_REFUSED, SIM_TIMED_OUT };

struct sim_chunk { /* its bytes follow */
    struct sim_chunk *next;
    uint64_t due_ns;
    size_t size;
    uint32_t class_; /* SIM_CHUNK_CLASSES: too large for the free lists */
    enum sim_chunk_kind kind;
};

struct sim_pipe {
    struct sim_link *link;
    uint32_t side; /* of the end it leads to */
    struct env_timer event, drained;
    struct sim_chunk *head, **end;
    uint64_t due_ns;                 /* of the last chunk */
    bool held;                       /* the head was due and could not pass */
    struct sim_chunk opened, closed; /* need no memory when it is time to say so */
    enum sim_reason reason;
};

struct sim_link {
    struct loop_sim *sim;
    struct loop_list in_sim;
    struct sim_conn *ends[2]; /* 0 connects, 1 accepts */
    struct sim_pipe pipes[2];
    uint32_t hosts[2];
    uint32_t port, own_port; /* of the listener, of the connecting side */
    uint32_t stray_count;
    bool accepted;     /* end 1 was there */
    bool connect_held; /* by a cut */
    struct env_timer connect, timeout;
};

struct sim_conn {
    struct env_conn conn; /* first */
    struct loop_list in_loop;
    struct sim_link *link; /* NULL: it has ended */
    uint32_t side;
    bool last_call; /* inside `closed` */
    const struct env_conn_ops *ops;
    void *ctx;
    size_t queued, limit;
    char address[SIM_ADDRESS_SIZE]; /* of the other side */
};

static inline struct sim_loop *loop_sim_owner(const struct sim_conn *conn)
{
    return (struct sim_loop *)conn->conn.loop;
}

/* A link from nowhere to a port of a host; its ends come with loop_sim_link_join. */
struct sim_link *loop_sim_link_new(struct loop_sim *sim, uint32_t host, uint32_t port);
void loop_sim_link_free_when_unused(struct sim_link *link);
bool loop_sim_link_is_cut(const struct sim_link *link);
/* The process gets that end. NULL when memory is short. */
struct sim_conn *loop_sim_link_join(struct sim_link *link, uint32_t side, struct sim_loop *loop,
                                    const char *other_host, uint32_t other_port);
/* The end leaves: what was on its way to it is dropped, the other end will hear of it. */
void loop_sim_link_leave(struct sim_conn *conn);
void loop_sim_link_opened(struct sim_link *link);  /* the accepting end is there: tell the other */
void loop_sim_link_refused(struct sim_link *link); /* nobody is there: tell the connecting end */
/* Leaves, makes the last call and frees the end. */
void loop_sim_conn_finish(struct sim_conn *conn, enum sim_reason reason);

#endif
