/* Checks every frame that clients of an engine get, and fails the test at the first one that breaks
 * what the protocol promises them:
 *   - each frame is one JSON object with a type and a non-empty session_id;
 *   - event_seq of a session goes up by one, without a gap, also over a resume, and a number
 *     that is sent again carries the same message;
 *   - a session gets the end of a job once, and nothing of the job after it, except that it is no
 *     longer kept, when it repeats the job's key;
 *   - the response to a submit with a known key is that of the key's job;
 *   - the responses to the submits of one connection are sent in their order, whatever frames they
 *     are, also when they are sent on another connection;
 *   - error codes are the draft's fifteen.
 * docs/protocol.md, Envelope, Sessions, Jobs. */
#ifndef ARCP_TESTS_ENGINE_WATCH_H
#define ARCP_TESTS_ENGINE_WATCH_H

#include <arcp/buf.h>

#include "json/json.h"

#define WATCH_SESSIONS_MAX 256
#define WATCH_JOBS_MAX     512
#define WATCH_ID_SIZE      64

/* What one session received of one job. */
typedef struct watch_end {
    struct watch_end *next;
    char job_id[WATCH_ID_SIZE];
    uint64_t seq;   /* of the terminal message */
    bool is_exempt; /* the client unsubscribed: it may get all of it again */
} watch_end;

typedef struct watch_session {
    char id[WATCH_ID_SIZE];
    char token[128];
    const void *holder; /* the client that has it; others may still read what they got before */
    bool is_bobs;
    uint64_t last_seq; /* the last event_seq that its client got on the present link */
    uint64_t highest;  /* ever */
    uint64_t *hashes;  /* of what each event_seq carried; [0] is number 1 */
    size_t hash_capacity;
    watch_end *ends;
} watch_session;

#define WATCH_KEYS     3   /* idempotency keys that stand for the same submit for ever */
#define WATCH_KEY_MARK 'K' /* an id that begins with it ends with the number of the key */

typedef struct watch_job {
    char id[WATCH_ID_SIZE];
    bool is_bobs; /* the second principal's */
} watch_job;

#define WATCH_REQUESTS_MAX 1024 /* the last ones */

typedef struct watch_request {
    char id[WATCH_ID_SIZE];
    uint64_t number;     /* of all that all clients sent, from 1 on */
    uint64_t connection; /* that it was sent on */
    size_t session;      /* of that; WATCH_NONE: not known yet */
    bool is_submit, is_answered;
} watch_request;

typedef struct watch {
    char label[64];  /* the beginning of a failure's message, e.g. the seed */
    char again[128]; /* its end: how to repeat it */
    unsigned step;
    watch_session sessions[WATCH_SESSIONS_MAX];
    size_t session_count;
    watch_job jobs[WATCH_JOBS_MAX];
    size_t job_count;
    watch_request requests[WATCH_REQUESTS_MAX];
    uint64_t request_count, connection_count;
    char keyed[2][WATCH_KEYS][WATCH_ID_SIZE]; /* the job of each principal's key; "" for none yet */
    bool keys_stay; /* none expires, and none is removed for another reason */
    arcp_json json;
    arcp_buf scratch;
    size_t frames, events, ends, replays, lost, answers; /* statistics */
} watch;

#define WATCH_NONE SIZE_MAX

/* What a client is about to receive: `session` (WATCH_NONE before the welcome), and after a request
 * to resume, its session and number. */
typedef struct watch_client {
    size_t session;
    bool is_bobs; /* see watch_job */
    bool resuming;
    uint64_t resume_from;
    uint64_t connection; /* its number; 0: nothing was sent yet */
} watch_client;

void watch_init(watch *w);
void watch_fini(watch *w);

/* One frame for `client`. A welcome sets client->session. */
void watch_frame(watch *w, watch_client *client, const char *frame);

/* A client sends this frame. */
void watch_sent(watch *w, watch_client *client, const char *frame);

/* The client of `session` asks to unsubscribe from the job. */
void watch_unsubscribe(watch *w, size_t session, const char *job_id);

/* How often `session` received the end of `job_id`: 0 or 1. */
bool watch_saw_end(const watch *w, size_t session, const char *job_id);

/* Fails with label and step in front. */
void watch_fail(const watch *w, const char *what, const char *frame);

#endif
