/* Peer profiles: how answers differ for clients that need the form of their own runtime
 * (docs/protocol.md, Peer profiles). A profile is a row of a table; code asks for its traits. */
#ifndef ARCP_SESSION_PEER_PROFILE_H
#define ARCP_SESSION_PEER_PROFILE_H

#include <stdbool.h>

#include <arcp/span.h>

typedef enum arcp__refusal_form {
    ARCP__REFUSE_JOB_ERROR,     /* the default */
    ARCP__REFUSE_SESSION_ERROR, /* session.error with request_id; the session goes on */
    /* So only while the session's client waits for nothing else, all of which it gives up at any
     * session.error: a submit, a job's end. */
    ARCP__REFUSE_LONE_SESSION_ERROR,
    ARCP__REFUSE_QUERY_SESSION_ERROR /* the same, for subscribe and list only */
} arcp__refusal_form;

typedef struct arcp__peer_profile {
    const char *name;
    const char *client_glob; /* over hello.client.name; NULL: only by configuration */
    arcp__refusal_form refusals;
    bool mirrors_output;                /* job.result has `output` beside `result` */
    bool stops_as_result;               /* cancelled and timed_out are a job.result */
    bool repeats_end;                   /* a repeated submit is answered with the job's end too */
    bool hides_children;                /* no job.accepted for delegated jobs */
    bool budget_as_text;                /* {"USD": "USD:5"} */
    bool omits_lease;                   /* no lease in job.accepted */
    bool refuses_without_job_id;        /* a refused submit has no envelope job_id */
    bool names_refused_job;             /* refusals have a job_id in the payload */
    bool refuses_subscribe_with_job_id; /* a refused subscribe has the job's in the envelope */
    bool accepts_refused_submits;    /* job.error follows job.accepted: the client drops others */
    bool refuses_hello_as_job_error; /* before the welcome there is no session.error */
} arcp__peer_profile;

/* NULL for a name that is not in the table. */
const arcp__peer_profile *arcp__peer_profile_named(arcp_span name);

/* All names with ", " between them, for messages. */
const char *arcp__peer_profile_names(void);

/* The draft's own form. */
const arcp__peer_profile *arcp__peer_profile_draft(void);

#endif
