/* What clients say: the members of each message, read once into a struct.
 *
 * The structs borrow from the frame and the context's scratch buffer. A frame that has to wait (a
 * hello while its token is verified, a submit that has not its turn) is kept as its bytes, and read
 * again by arcp__message_read. */
#ifndef ARCP_SESSION_MESSAGE_H
#define ARCP_SESSION_MESSAGE_H

#include "context/context.h"

/* What is asked to be resumed. */
typedef struct arcp__resume_request {
    arcp_span token;      /* data == NULL: absent */
    arcp_span session_id; /* empty: absent */
    uint64_t last_event_seq;
} arcp__resume_request;

/* session.hello, session.resume */
typedef struct arcp__hello {
    arcp_span client_name, client_version;           /* in client{} */
    arcp_span flat_client_name, flat_client_version; /* beside it */
    arcp_json_ref auth_scheme;
    arcp_span token;
    arcp_json_ref encodings, features; /* arrays of strings */
    arcp_json_ref resume;
    arcp__resume_request resumed; /* in resume{} */
    arcp_span older_token;        /* its `token` */
    arcp__resume_request flat_resumed;
} arcp__hello;

typedef struct arcp__list_jobs {
    arcp_json_ref statuses; /* an array of strings */
    arcp_span agent, created_after, created_before, cursor;
    uint64_t limit; /* 0: absent */
} arcp__list_jobs;

typedef struct arcp__submit {
    arcp_span agent;
    arcp_json_ref input, lease_request, lease_constraints;
    arcp_span idempotency_key;
    arcp_json_ref max_runtime_sec; /* a whole number of 1 or more */
} arcp__submit;

/* job.cancel, job.subscribe, job.unsubscribe */
typedef struct arcp__job_request {
    arcp_span job_id;
    arcp_span reason;        /* cancel */
    uint64_t from_event_seq; /* subscribe: 0 for all */
    bool history;            /* subscribe */
} arcp__job_request;

typedef struct arcp__message {
    arcp__envelope envelope;
    union {
        arcp__hello hello;
        arcp_json_ref nonce;         /* session.ping: any value */
        uint64_t last_processed_seq; /* session.ack */
        arcp__list_jobs list_jobs;
        arcp__submit submit;
        arcp__job_request job;
    };
} arcp__message;

/* Reads the payload, where the frame is in context->json and the envelope is read.
 * ARCP_E_INVALID_REQUEST: the first member that is not right, by its path; all that are right are
 * read also then. */
arcp_status arcp__message_read_payload(arcp__context *context, arcp__message *message,
                                       arcp_error *err);

/* Reads a frame that was read before. False when memory ran out. */
ARCP_MUST_CHECK bool arcp__message_read(arcp__context *context, arcp_span frame,
                                        arcp__message *out);

#endif
