/* The requests x-vendor.arcpd.* (docs/protocol.md, The view): looking at jobs, and what operators
 * may do. Private to src/session.
 *
 * A request is a row of the table in view.c: the feature and the role that it needs, the members of
 * its payload, and its handler, which ends with arcp__view_answer or arcp__view_refuse. The
 * response is neither numbered nor kept for a resume or for a duplicate.
 *
 * A request that cannot be answered in this turn waits (view_wait.c): its frame is kept, and its
 * handler is called again, with `wait`, until it has answered. What waits is dropped when the
 * session loses its link. */
#ifndef ARCP_SESSION_VIEW_H
#define ARCP_SESSION_VIEW_H

#include "session/job_filter.h"
#include "session/session_state.h"

#define ARCP__VIEW_PREFIX "x-vendor.arcpd."

/* Jobs that a request looks at in one turn. */
#define ARCP__VIEW_JOBS_A_TURN 100000u

/* A session's requests per second; more are refused. */
#define ARCP__VIEW_REQUESTS_PER_SEC 20u

/* jobs */
typedef struct arcp__view_jobs {
    arcp__job_filter_texts filter;
    arcp_span order, cursor;
    uint64_t limit; /* 0: absent */
} arcp__view_jobs;

/* sessions */
typedef struct arcp__view_sessions {
    arcp_span principal, cursor;
    uint64_t limit; /* 0: absent */
} arcp__view_sessions;

/* end_session */
typedef struct arcp__view_end_session {
    arcp_span session_id, principal;
} arcp__view_end_session;

/* audit */
#define ARCP__VIEW_AUDIT_FILTERS 6u
typedef struct arcp__view_audit_tail {
    arcp_span filter[ARCP__VIEW_AUDIT_FILTERS]; /* in the order of arcp__view_audit_filters */
    uint64_t before, limit;                     /* 0: absent */
} arcp__view_audit_tail;

typedef struct arcp__view_payload {
    union {
        arcp__view_sessions sessions;
        arcp__view_end_session end_session;
        arcp__view_audit_tail audit;
        arcp__view_jobs jobs;
    };
} arcp__view_payload;

typedef struct arcp__view_call arcp__view_call;

typedef struct arcp__view_row {
    const char *name; /* behind the prefix */
    arcp_feature feature;
    arcp_role role; /* the least that it needs */
    arcp__members members;
    void (*handle)(arcp__sessions *sessions, arcp__view_call *call);
} arcp__view_row;

struct arcp__view_call {
    arcp__session *session;
    const arcp__view_row *row;
    arcp_span id;    /* of the request */
    arcp_span frame; /* as it came; the payload borrows from it */
    arcp__view_payload in;
    arcp__view_wait *wait; /* NULL: it has just come */
};

/* A request that has no response yet. */
struct arcp__view_wait {
    arcp__view_wait *prev, *next; /* of its session, oldest first */
    arcp__session *session;
    arcp_buf frame;
    arcp_buf out;             /* what was found so far */
    uint64_t shown;           /* jobs in it */
    char last[ARCP__ID_SIZE]; /* of the last job shown */
    char at[ARCP__ID_SIZE];   /* of the last job looked at */
    uint64_t owner_id;        /* the engine's owner answers under this number; 0: not the owner */
};

/* ---- page_key.c ---- */
void arcp__view_page_handle(arcp__sessions *sessions, arcp__view_call *call);

/* ---- view_wait.c ---- */
/* Has the request wait and be handled again in the next turn. NULL when out of memory. */
arcp__view_wait *arcp__view_wait_new(arcp__sessions *sessions, arcp__view_call *call);
void arcp__view_wait_free(arcp__view_wait *wait);
/* Handles the requests that wait again in the next turn. */
void arcp__view_arm(arcp__sessions *sessions, arcp__session *session);

/* ---- view.c ---- */
/* Reads the request that waits once more. False when out of memory. */
bool arcp__view_call_again(arcp__sessions *sessions, arcp__view_wait *wait, arcp__view_call *call);

/* ---- view_answer.c ---- */
/* Sends the response NAME.answer with this payload, an object. */
void arcp__view_answer(arcp__sessions *sessions, const arcp__view_call *call,
                       const arcp_buf *payload);
/* `details` is a JSON object or empty. */
void arcp__view_refuse(arcp__sessions *sessions, const arcp__view_call *call,
                       const arcp_error *error, arcp_span details);
/* Writes the audit line of an act of a role, or of one that was denied for lack of it. `job` may be
 * NULL. */
void arcp__view_audit(arcp__sessions *sessions, const arcp__view_call *call, const arcp__job *job,
                      arcp_span target, arcp_status code, const char *reason);

/* ---- view_row.c ---- */
/* Appends the job as an object. */
void arcp__view_write_job(arcp__sessions *sessions, const arcp__job *job, arcp_buf *out);

/* ---- handlers ---- */
void arcp__view_jobs_handle(arcp__sessions *sessions, arcp__view_call *call); /* view_jobs.c */
/* view_sessions.c */
void arcp__view_sessions_handle(arcp__sessions *sessions, arcp__view_call *call);
void arcp__view_end_session_handle(arcp__sessions *sessions, arcp__view_call *call);
/* view_owner.c: what the engine's owner answers. */
void arcp__view_reload_handle(arcp__sessions *sessions, arcp__view_call *call);
void arcp__view_audit_handle(arcp__sessions *sessions, arcp__view_call *call);
extern const char *const arcp__view_audit_filters[ARCP__VIEW_AUDIT_FILTERS];

#endif
