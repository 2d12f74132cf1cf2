/* A gateway for models with a job, and providers that are played: each request to one is recorded,
 * and gets the next of the test's answers. */
#ifndef ARCP_TESTS_MODEL_FIXTURE_H
#define ARCP_TESTS_MODEL_FIXTURE_H

#include <pthread.h>
#include <stdatomic.h>

#include "gateway/gateway_job.h"
#include "gateway/model_config.h"
#include "transport/raw_peer.h"

typedef struct provider_answer {
    unsigned status;    /* 0: the connection breaks, or is never made */
    const char *fields; /* NULL: application/json; "sse": a stream; else lines of a head */
    const char *body;   /* in pieces of one byte if `is_slow` */
    bool not_sent;      /* the provider cannot be reached */
    bool breaks;        /* after the body, or before the head */
    bool waits;         /* until the test says so (f->may_answer), after the head */
    bool is_slow;
} provider_answer;

#define PEERS        4
#define REQUESTS_MAX 16

typedef struct model_fixture {
    test_loop test;
    uv_async_t wake;
    arcp__gateway *gateway;
    arcp__job_gates gates;
    arcp_authority *authority;
    arcp__gateway_job *job;
    arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS];
    arcp__model_config *config;
    arcp_budget *budget; /* the job's; NULL: none */
    raw_peer peers[PEERS];
    char url[80];
    arcp_buf seen; /* what was delivered: one line for each message and denial */
    /* The providers; of both threads. */
    pthread_mutex_t mutex;
    const provider_answer *answers;
    size_t answer_count, request_count;
    arcp_buf requests[REQUESTS_MAX]; /* URL, a line for each header, an empty line, the body */
    atomic_bool may_answer;
    bool stores_holds; /* of jobs that are opened from now on */
    char held_id[40];  /* the call whose hold is to be stored */
    atomic_size_t cancelled;
} model_fixture;

/* The lease is JSON; `options` has further members of the configuration (aliases, exchange), or is
 * NULL. */
void model_fixture_open(model_fixture *f, const char *lease, const provider_answer *answers,
                        size_t count, const arcp__model_options *options);
void model_fixture_close(model_fixture *f);

/* The hold of the call that asked last is stored. */
void model_fixture_store_hold(model_fixture *f, arcp__gateway_job *job);

/* Opens one more job with the same authority; the caller releases it. It makes spans if the
 * traceparent is complete. */
arcp__gateway_job *model_fixture_open_job(model_fixture *f, const char *id, const char *tree,
                                          const char *traceparent,
                                          arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS]);
/* Sends a POST with the key of such a job. */
void model_fixture_post_as(model_fixture *f, const arcp__gateway_endpoint *endpoint, size_t peer,
                           const char *path, const char *body);

/* Sends a POST by one of the peers. */
void model_fixture_post(model_fixture *f, size_t peer, const char *path, const char *headers,
                        const char *body);
void model_fixture_get(model_fixture *f, const char *path, const char *headers);
/* Waits for the status and for a text of the response. */
void model_fixture_expect(model_fixture *f, size_t peer, const char *status, const char *text);
/* Whether the text was received. */
bool model_fixture_has(const model_fixture *f, size_t peer, const char *text);
/* What a provider received. */
void model_fixture_check_sent(model_fixture *f, size_t request, const char *text);
void model_fixture_check_not_sent(model_fixture *f, size_t request, const char *text);
size_t model_fixture_requests(model_fixture *f);
/* Waits until a text was delivered. */
void model_fixture_expect_seen(model_fixture *f, const char *text);
void model_fixture_check_budget(model_fixture *f, const char *spent, const char *remaining);
/* Waits until as many requests have reached the providers. */
void model_fixture_await_requests(model_fixture *f, size_t count);

#endif
