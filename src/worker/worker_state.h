/* The state of a worker's core. Private to src/worker. */
#ifndef ARCP_WORKER_WORKER_STATE_H
#define ARCP_WORKER_WORKER_STATE_H

#include <arcp/time.h>

#include "base/hash.h"
#include "worker/worker_answers.h"
#include "worker/worker_core.h"
#include "worker/worker_stream.h"

/* Pings that can be without an answer: one is sent every 5 s, and a link that is silent for 15 s is
 * closed. */
#define ARCP__WORKER_PINGS 4u

typedef enum arcp__worker_link_state {
    ARCP__WORKER_LINK_AWAY,
    ARCP__WORKER_LINK_GREETING, /* hello is due or sent */
    ARCP__WORKER_LINK_READY     /* LINKED */
} arcp__worker_link_state;

typedef enum arcp__worker_job_state {
    ARCP__WORKER_JOB_STARTING,
    ARCP__WORKER_JOB_RUNNING,
    ARCP__WORKER_JOB_EXITED,
    ARCP__WORKER_JOB_REFUSED
} arcp__worker_job_state;

/* A store whose jobs the worker has, or had; its runtime. */
typedef struct arcp__worker_store {
    struct arcp__worker_store *prev, *next;
    char id[ARCP__WORKER_ID_MAX + 1];
    int64_t contact_ns; /* when what it has answered last was sent */
    int64_t keep_ns;
} arcp__worker_store;

struct arcp__worker_job {
    UT_hash_handle hh; /* by id */
    char id[ARCP__WORKER_ID_MAX + 1];
    arcp__worker_store *store;
    void *program; /* NULL: it could not be started */
    arcp__worker_job_state state;
    arcp__worker_end why;  /* of a kill; ARCP__WORKER_END_ITSELF: there was none */
    bool is_killed;        /* at once: it ends for certain */
    bool is_forgotten;     /* freed when its program has ended */
    bool is_awaited;       /* hello has named it, and welcome has not yet */
    bool is_paused, reads; /* as the runtime wishes; whether the program is read */
    int64_t deadline_ns;   /* ARCP_TIME_NEVER: none */
    uint64_t pid;
    uint64_t at, stored;
    arcp__worker_answers answers; /* items that are kept and have an answer without a position */
    arcp__worker_stream streams[3];
    arcp_buf log;
    uint64_t log_dropped;
    arcp__worker_refusal refusal;
    arcp__worker_exited exited;
    arcp_buf tail; /* of standard error; a refused job: the message */
    arcp_buf step, failure;
    struct {
        bool started, got, exited;
    } due;       /* to be sent on this link */
    bool speaks; /* it is in the list of those with messages */
    arcp__worker_job *previous_speaking, *next_speaking;
};

/* The indexes of its streams. */
enum { ARCP__WORKER_STREAM_ITEMS, ARCP__WORKER_STREAM_OUTPUT, ARCP__WORKER_STREAM_ERRORS };

struct arcp__worker_core {
    arcp__worker_hello hello;
    arcp__worker_programs programs;
    arcp__worker_link_state link;
    bool hello_is_due, is_draining, has_failed;
    int64_t drains_ns;  /* since when it drains */
    uint64_t pong;      /* to be sent; 0: none */
    uint64_t last_ping; /* its number */
    bool ping_is_due, usage_is_due;
    int64_t usage_ns;                     /* when usage was due last */
    int64_t pings_ns[ARCP__WORKER_PINGS]; /* when the last ones were sent, by number modulo
                                             ARCP__WORKER_PINGS */
    int64_t heard_ns;                     /* the last message */
    arcp__worker_store *stores;           /* owned */
    arcp__worker_store *store;            /* of the runtime on the link; NULL: not known yet */
    size_t unkept_bytes_max, unkept_total_max;
    size_t unkept_bytes;        /* of all jobs */
    bool is_full;               /* they exceed unkept_total_max */
    arcp__worker_job *jobs;     /* by id; owned */
    arcp__worker_job *speaking; /* the next one to speak is first */
    arcp_buf rows;              /* of hello */
    arcp__worker_job *refused;  /* what `next` has sent, to be freed at its next call */
    size_t log_sent;            /* bytes of the log of `log_job` to be removed then */
    arcp__worker_job *log_job;
};

/* ---- worker_core.c ---- */
/* It takes no new jobs from now on. */
void arcp__worker_begin_drain(arcp__worker_core *core, int64_t now_ns);
/* Out of memory. */
static inline void arcp__worker_fail(arcp__worker_core *core)
{
    core->has_failed = true;
}

/* Whether the runtime on the link is that of the job. */
bool arcp__worker_is_ours(const arcp__worker_core *core, const arcp__worker_job *job);
/* Puts the job behind the others that have messages, if it has one. */
void arcp__worker_let_speak(arcp__worker_core *core, arcp__worker_job *job);
void arcp__worker_silence(arcp__worker_core *core, arcp__worker_job *job);
/* Of all its streams. */
size_t arcp__worker_kept_bytes(const arcp__worker_job *job);
/* Tells programs whether they are read, when that has changed. */
void arcp__worker_update_reading(arcp__worker_core *core, arcp__worker_job *job);
void arcp__worker_update_all_reading(arcp__worker_core *core);
/* To be called after the streams of a job have changed; they took `before` bytes. */
void arcp__worker_streams_changed(arcp__worker_core *core, arcp__worker_job *job, size_t before);
void arcp__worker_free_job(arcp__worker_core *core, arcp__worker_job *job);
void arcp__worker_kill_job(arcp__worker_core *core, arcp__worker_job *job, arcp__worker_end why,
                           bool at_once);
/* The runtime awaits nothing of the job any more. */
void arcp__worker_forget_job(arcp__worker_core *core, arcp__worker_job *job);
/* Its program is forgotten already, or there was none. */
void arcp__worker_refuse_job(arcp__worker_core *core, arcp__worker_job *job,
                             arcp__worker_refusal why, arcp_span message);
/* What was sent as the ping `number` has been answered. */
void arcp__worker_note_contact(arcp__worker_core *core, uint64_t number);

/* ---- worker_send.c ---- */
/* Ends the loan of the last message. */
void arcp__worker_end_message(arcp__worker_core *core);

#endif
