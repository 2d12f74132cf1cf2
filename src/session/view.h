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
    bool counts;
} arcp__view_jobs;

/* explain */
typedef struct arcp__view_explain {
    arcp_span agent;
    arcp_json_ref lease_request, lease_constraints;
} arcp__view_explain;

/* schedules */
typedef struct arcp__view_schedules {
    arcp_span cursor;
    uint64_t limit; /* 0: absent */
} arcp__view_schedules;

/* hooks, retry_notification, drop_notification */
typedef struct arcp__view_hooks {
    arcp_span cursor, id;
    uint64_t limit; /* 0: absent */
} arcp__view_hooks;

/* agents */
typedef struct arcp__view_agents {
    arcp_span cursor;
    uint64_t limit; /* 0: absent */
} arcp__view_agents;

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

/* job, events, stderr, end */
typedef struct arcp__view_job {
    arcp_span job_id;
    arcp_json_ref after, before; /* events: positions; stderr: the number of a line */
    arcp_json_ref kinds;         /* events: an array of strings */
    uint64_t limit;              /* events; 0: absent */
    uint64_t lines;              /* stderr; 0: absent */
    arcp_span reason;            /* end */
    arcp_json_ref grace_ms;      /* end */
} arcp__view_job;

/* watch, unwatch */
typedef struct arcp__view_watch {
    arcp_json_ref what; /* an array of strings */
    arcp_span principal;
} arcp__view_watch;

typedef struct arcp__view_payload {
    union {
        arcp__view_watch watch;
        arcp_span figures_range;
        arcp__view_explain explain;
        arcp__view_schedules schedules;
        arcp__view_hooks hooks;
        arcp__view_agents agents;
        arcp__view_sessions sessions;
        arcp__view_end_session end_session;
        arcp_span worker; /* drain, forget */
        arcp__view_audit_tail audit;
        arcp__view_jobs jobs;
        arcp__view_job job;
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
    arcp__sessions *sessions;
    arcp__session *session;
    arcp_buf frame;
    uint64_t owner_id;  /* the engine's owner answers under this number; 0: not the owner */
    arcp__read *read;   /* what it waits for; NULL: for the next turn */
    arcp_buf records;   /* that were read, each with a line feed; `is_read` once that is done */
    uint64_t read_from; /* position of the first of them */
    bool is_read;
    arcp_status read_status;
    unsigned step;  /* of the handler */
    arcp_buf out;   /* what was found so far */
    uint64_t shown; /* how many that is */
    uint64_t position;
    uint64_t left;            /* jobs: those behind the page that were counted so far */
    char last[ARCP__ID_SIZE]; /* jobs: the last one shown */
    char at[ARCP__ID_SIZE];   /* jobs: the last one looked at */
};

/* ---- page_key.c ---- */
void arcp__view_page_handle(arcp__sessions *sessions, arcp__view_call *call);

/* ---- view_wait.c ---- */
/* Has the request wait, if it does not yet, and be handled again in the next turn. NULL when out of
 * memory. */
arcp__view_wait *arcp__view_later(arcp__sessions *sessions, arcp__view_call *call);
/* The same, once these records of a stream were read; records that are not durable yet are waited
 * for. */
arcp__view_wait *arcp__view_read(arcp__sessions *sessions, arcp__view_call *call,
                                 const char *stream, uint64_t from, size_t count_max,
                                 size_t bytes_max);
/* The next of the records that were read. */
bool arcp__view_next_record(arcp_span *records, arcp_span *record);
/* The request was answered: NULL is accepted. */
void arcp__view_wait_free(arcp__view_wait *wait);
/* The oldest that can go on; NULL: none. */
arcp__view_wait *arcp__view_ready(const arcp__session *session);
/* Handles the requests that can go on in the next turn. */
void arcp__view_arm(arcp__sessions *sessions, arcp__session *session);

/* ---- view.c ---- */
/* Reads the request that waits once more. False when out of memory. */
bool arcp__view_call_again(arcp__sessions *sessions, arcp__view_wait *wait, arcp__view_call *call);

/* ---- view_find.c ---- */
/* Finds the job that the request names, by its id or a part of it, and which the session may look
 * at (`role`: the least for jobs of other principals). Refuses the request and returns NULL when
 * there is none. A look into another principal's job is audited once. */
arcp__job *arcp__view_find(arcp__sessions *sessions, const arcp__view_call *call, arcp_role role);

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

/* ---- view_listing.c: a page of rows ---- */

#define ARCP__VIEW_LIMIT_MAX 500u /* rows that a request may ask for */

typedef struct arcp__view_listing {
    arcp__sessions *sessions;
    const arcp__view_call *call;
    arcp_buf out;
    uint64_t limit, shown;
    size_t bytes_max;
    bool is_full; /* a row had no room */
} arcp__view_listing;

/* A page of at most `limit` rows (0: 100), and of the bytes that a frame may have. `rows` is their
 * name in the response. To be ended by arcp__view_listing_answer. */
arcp__view_listing arcp__view_listing_begin(arcp__sessions *sessions, const arcp__view_call *call,
                                            const char *rows, uint64_t limit);
/* Adds the row, unless the page is full: then false. Gives its buffer back to the context. */
bool arcp__view_listing_add(arcp__view_listing *listing, arcp_buf *row);
/* Sends the page. `last` is the cursor of its last row. */
void arcp__view_listing_answer(arcp__view_listing *listing, const char *last);

/* ---- view_row.c ---- */
/* Writes the members of a row. */
void arcp__view_write_members(arcp__sessions *sessions, arcp__job *job, arcp_json_writer *writer);

/* ---- handlers ---- */
void arcp__view_schedules_handle(arcp__sessions *sessions,
                                 arcp__view_call *call); /* view_schedules.c */
/* view_hooks.c */
void arcp__view_hooks_handle(arcp__sessions *sessions, arcp__view_call *call);
void arcp__view_retry_handle(arcp__sessions *sessions, arcp__view_call *call);
void arcp__view_drop_handle(arcp__sessions *sessions, arcp__view_call *call);
void arcp__view_jobs_handle(arcp__sessions *sessions, arcp__view_call *call);   /* view_jobs.c */
void arcp__view_agents_handle(arcp__sessions *sessions, arcp__view_call *call); /* view_agents.c */
/* view_sessions.c */
void arcp__view_sessions_handle(arcp__sessions *sessions, arcp__view_call *call);
void arcp__view_end_session_handle(arcp__sessions *sessions, arcp__view_call *call);
/* view_owner.c: what the engine's owner answers. */
void arcp__view_reload_handle(arcp__sessions *sessions, arcp__view_call *call);
/* workers, drain, forget */
void arcp__view_workers_handle(arcp__sessions *sessions, arcp__view_call *call);
void arcp__view_audit_handle(arcp__sessions *sessions, arcp__view_call *call);
extern const char *const arcp__view_audit_filters[ARCP__VIEW_AUDIT_FILTERS];
void arcp__view_job_handle(arcp__sessions *sessions, arcp__view_call *call);    /* view_job.c */
void arcp__view_events_handle(arcp__sessions *sessions, arcp__view_call *call); /* view_events.c */
void arcp__view_stderr_handle(arcp__sessions *sessions, arcp__view_call *call); /* view_stderr.c */
void arcp__view_end_handle(arcp__sessions *sessions, arcp__view_call *call);    /* view_end.c */
void arcp__view_explain_handle(arcp__sessions *sessions,
                               arcp__view_call *call); /* view_explain.c */
/* view_watch.c */
void arcp__view_watch_handle(arcp__sessions *sessions, arcp__view_call *call);
void arcp__view_unwatch_handle(arcp__sessions *sessions, arcp__view_call *call);
void arcp__view_figures_handle(arcp__sessions *sessions, arcp__view_call *call);

#endif
