/* A small runtime in memory for tests of the client: it answers, numbers, keeps what it said
 * for a resume, and fails in the ways that it is told to. It lives on the client's loop; its
 * settings are made before the client connects.
 *
 * What a job does is its agent's name:
 *   echo         one log event, then its input as the result
 *   count        input {"n": N}: N log events {"n": 0...}, then N as the result
 *   stream       input {"n": N}: N chunks of 1000 bytes, then result_id and size
 *   wait         nothing until it is cancelled
 *   fail         it ends with TIMEOUT
 *   silent       the submit is never answered
 *   hangup       the submit is answered by cutting the connection
 *   refuse       the submit is refused with AGENT_NOT_AVAILABLE and details
 *   flaky        the first submit is refused as INTERNAL_ERROR, later ones echo
 *   soon, late   likewise, with a retry_after_ms of 1 ms, of an hour
 *   parent       begins a child job (agent "child") that logs once and ends, then ends
 *   rich         as echo, with two credentials and a budget */
#ifndef ARCP_TESTS_CLIENT_FAKE_RUNTIME_H
#define ARCP_TESTS_CLIENT_FAKE_RUNTIME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <arcp/client.h>
#include <arcp/sys/transport.h>

typedef struct fake_runtime {
    /* to be set */
    unsigned cut_every; /* cuts the connection after 1 to so many frames; 0: never */
    unsigned cuts_max;  /* 0: no bound */
    bool mute;          /* answers nothing at all */
    bool refuses_hello;
    atomic_bool forgets;   /* answers a resume with RESUME_WINDOW_EXPIRED */
    unsigned refuse_dials; /* so many dials fail */

    /* to be looked at */
    atomic_uint dials, hellos, resumes, submits, acks, cuts, cancels, unsubscribes, closes;
    atomic_ullong acked;
    char last_key[128];

    /* its own */
    arcp_connection *connection;
    uint64_t random;
    unsigned sends_left;
    uint64_t seq;
    char **log; /* every sequenced frame, by number - 1 */
    size_t log_capacity;
    struct fake_job *jobs;
    unsigned job_count;
    unsigned token;
    unsigned flaky;
    char waiting[64]; /* the job of the agent wait */
    arcp_json json;
    arcp_buf ids;
} fake_runtime;

void fake_runtime_init(fake_runtime *runtime);
void fake_runtime_fini(fake_runtime *runtime); /* after the client is freed */

/* For arcp_client_options.dial; `user` is the fake_runtime. */
arcp_connection *fake_runtime_dial(void *user, struct uv_loop_s *loop, arcp_error *err);

/* Options that lead to it. */
arcp_client_options fake_runtime_options(fake_runtime *runtime);

#endif
