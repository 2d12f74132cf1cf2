/* A small runtime in memory for tests of the client: it responds, numbers its frames, keeps them
 * for a resume, and fails as configured. It runs on the loop of the client; its settings must be
 * made before the client connects.
 *
 * The name of the agent says what its jobs do:
 *   echo         one log event, then its input as the result
 *   count        input {"n": N}: N log events {"n": 0...}, then N as the result
 *   stream       input {"n": N}: N chunks of 1000 bytes, then result_id and size
 *   wait         nothing until it is cancelled
 *   fail         it ends with TIMEOUT
 *   silent       the submit gets no response
 *   hangup       the connection is cut instead of a response
 *   refuse       the submit is refused with AGENT_NOT_AVAILABLE and details
 *   flaky        the first submit is refused as INTERNAL_ERROR, later ones echo
 *   soon, late   likewise, with a retry_after_ms of 1 ms, of an hour
 *   parent       begins a child job (agent "child") that logs once and ends, then ends
 *   rich         as echo, with two credentials and a budget
 *
 * A watch is answered, and followed by one report of a changed job. */
#ifndef ARCP_TESTS_CLIENT_FAKE_RUNTIME_H
#define ARCP_TESTS_CLIENT_FAKE_RUNTIME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <arcp/client.h>
#include <arcp/sys/transport.h>

#include "json/json.h"

typedef struct fake_runtime {
    /* settings */
    unsigned cut_every; /* cuts the connection after 1 to this many frames; 0: never */
    unsigned cuts_max;  /* 0: no limit */
    bool mute;          /* sends no responses */
    bool refuses_hello;
    atomic_bool forgets;   /* refuses a resume with RESUME_WINDOW_EXPIRED */
    unsigned refuse_dials; /* this many dials fail */

    /* results */
    atomic_uint dials, hellos, resumes, submits, acks, cuts, cancels, unsubscribes, closes;
    atomic_ullong acked;
    char last_key[128];

    /* internal */
    arcp_connection *connection;
    uint64_t random;
    unsigned sends_left;
    uint64_t seq;
    char **log; /* every numbered frame, by event_seq - 1 */
    size_t log_capacity;
    struct fake_job *jobs;
    unsigned job_count;
    unsigned token;
    unsigned flaky;
    char waiting[64]; /* id of the job of the agent `wait` */
    arcp_json json;
    arcp_buf ids;
} fake_runtime;

void fake_runtime_init(fake_runtime *runtime);
void fake_runtime_fini(fake_runtime *runtime); /* after the client is freed */

/* For arcp_client_options.dial; `user` is the fake_runtime. */
arcp_connection *fake_runtime_dial(void *user, struct uv_loop_s *loop, arcp_error *err);

/* Client options that connect to it. */
arcp_client_options fake_runtime_options(fake_runtime *runtime);

#endif
