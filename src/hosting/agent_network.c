/* The egress thread, and what is handed over to it and back.
 *
 * A sandbox belongs to the owner's thread until it is closed, and to the egress thread after
 * that: the egress thread frees it. Both queue sandboxes for each other under one lock, which is
 * held for no call of another part.
 *
 * Sandboxes that were opened with the same options share an arcp__egress, their "terms". These are
 * freed on the egress thread with the last sandbox, once newer ones have replaced them. */
#include "hosting/agent_network.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include <arcp/secret.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/directory.h"
#include "base/hash.h"
#include "base/thread.h"

#define END_SEC_MAX      2
#define TAKEN_MAX        64    /* sandboxes at a time, so that the loop is not held */
#define TARGET_BYTES_MAX 4096u /* of a denial; an event has no more, either */
#define REASON_BYTES_MAX 128u

typedef struct terms {
    struct terms *next;
    struct terms *previous_served, *next_served; /* with an egress; of the egress thread */
    size_t references; /* of the network and of sandboxes; under the lock */
    arcp__arena arena; /* of `options` */
    arcp__egress_options options;
    arcp__egress *egress; /* of the egress thread; NULL: no sandbox was opened yet */
} terms;

/* One that waits to be taken. */
typedef struct waiting_denial {
    struct waiting_denial *next;
    arcp_status code;
    uint64_t count;
    arcp_span target, reason; /* in `bytes` */
    char bytes[];
} waiting_denial;

/* What waits to be taken of one sandbox. */
typedef struct news {
    waiting_denial *denials;
    size_t count;
    uint64_t others; /* denials beyond ARCP__AGENT_NETWORK_DENIALS_MAX, or without memory */
    bool has_failed;
    char failure[256];
} news;

struct arcp__agent_network_job {
    arcp__agent_network *network;
    terms *terms;              /* a reference */
    arcp_authority *authority; /* a reference */
    int *sockets;              /* owned, until they are served */
    size_t socket_count;
    arcp__tls_ca *ca;          /* the same; NULL: TLS stays closed */
    arcp_secret *proxy_secret; /* owned, or NULL */
    void *gateway;             /* held, or NULL */
    const arcp__network_gateway *gateway_ops;
    unsigned gateways;
    arcp__agent_network_events events; /* of the owner's thread */
    arcp__egress_job *egress;          /* of the egress thread */
    bool was_opened;                   /* of the egress thread */

    /* Under the lock. */
    arcp__agent_network_job *next_queued;
    arcp__agent_network_job *previous_noticed, *next_noticed;
    bool is_queued, is_noticed, is_closed;
    news news;
};

struct arcp__agent_network {
    uv_loop_t loop;             /* of the egress thread */
    uv_async_t async;           /* of that loop */
    uv_prepare_t prepare;       /* of that loop: publishes `counts` */
    terms *served;              /* of the egress thread */
    arcp__egress_counts before; /* of the egress thread: of terms that were freed */
    pthread_t thread;
    terms *current; /* of the owner's thread: for the next sandbox; NULL: none yet */

    pthread_mutex_t lock;
    pthread_cond_t ended;
    size_t references;               /* of both threads */
    uv_async_t *wake;                /* of the owner; NULL: it is being freed */
    arcp__agent_network_job *queued; /* to be opened or closed */
    terms *dropped;                  /* to be freed */
    arcp__agent_network_job *noticed;
    arcp__egress_counts counts;
    bool is_over, has_ended;
};

static void unref(arcp__agent_network *network)
{
    (void)pthread_mutex_lock(&network->lock);
    const bool is_last = --network->references == 0;
    (void)pthread_mutex_unlock(&network->lock);
    if (is_last) {
        (void)pthread_cond_destroy(&network->ended);
        (void)pthread_mutex_destroy(&network->lock);
        arcp__free(network);
    }
}

static void close_sockets(const int *sockets, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        arcp__close(sockets[i]);
    }
}

static void news_fini(news *found)
{
    while (found->denials != NULL) {
        waiting_denial *denial = found->denials;
        LL_DELETE(found->denials, denial);
        arcp__free(denial);
    }
}

/* ---- the egress thread ---- */

/* Makes the counts of the turn that ends here visible to the other thread. */
static void on_prepare(uv_prepare_t *prepare)
{
    arcp__agent_network *network = prepare->data;
    arcp__egress_counts counts = network->before;
    const terms *each = NULL;
    DL_FOREACH2(network->served, each, next_served)
    {
        const arcp__egress_counts of_one = arcp__egress_count(each->egress);
        arcp__egress_counts_add(&counts, &of_one);
    }
    (void)pthread_mutex_lock(&network->lock);
    network->counts = counts;
    (void)pthread_mutex_unlock(&network->lock);
}

static void terms_free(arcp__agent_network *network, terms *from)
{
    if (from->egress != NULL) {
        arcp__egress_counts counts = arcp__egress_count(from->egress);
        counts.connections = 0; /* they end now */
        arcp__egress_counts_add(&network->before, &counts);
        DL_DELETE2(network->served, from, previous_served, next_served);
    }
    arcp__egress_free(from->egress);
    arcp__arena_fini(&from->arena);
    arcp__free(from);
}

/* Called with the lock held. */
static void notice(arcp__agent_network_job *job)
{
    arcp__agent_network *network = job->network;
    if (job->is_closed || job->is_noticed) {
        return;
    }
    if (network->noticed == NULL && network->wake != NULL) {
        (void)uv_async_send(network->wake);
    }
    job->is_noticed = true;
    DL_APPEND2(network->noticed, job, previous_noticed, next_noticed);
}

static waiting_denial *denial_new(const arcp__egress_denial *denial, arcp_span target,
                                  bool is_expired)
{
    arcp_span reason = arcp_span_first(arcp_span_cstr(denial->reason), REASON_BYTES_MAX);
    if (denial->code == ARCP__EGRESS_NO_PATTERN) {
        reason = arcp_span_cstr(arcp_deny_reason_name(ARCP_DENY_NO_MATCH));
    }
    waiting_denial *made = arcp__alloc(sizeof *made + target.size + reason.size);
    if (made == NULL) {
        return NULL;
    }
    /* As the gate: an expiry comes before everything else. */
    made->code = is_expired ? ARCP_E_LEASE_EXPIRED : ARCP_E_PERMISSION_DENIED;
    made->target = arcp_span_make(made->bytes, target.size);
    made->reason = arcp_span_make(made->bytes + target.size, reason.size);
    memcpy(made->bytes, target.data, target.size);
    memcpy(made->bytes + target.size, reason.data, reason.size);
    return made;
}

static void on_denied(void *user, const arcp__egress_denial *denial)
{
    arcp__agent_network_job *job = user;
    news *waiting = &job->news;
    const arcp_span target = arcp_span_first(denial->target, TARGET_BYTES_MAX);
    const bool is_expired = arcp_authority_is_expired(job->authority, arcp__clock_now());
    waiting_denial *known = NULL;
    (void)pthread_mutex_lock(&job->network->lock);
    LL_FOREACH (waiting->denials, known) {
        if (arcp_span_equal(known->target, target)) {
            break;
        }
    }
    if (known == NULL && target.size != 0 && waiting->count < ARCP__AGENT_NETWORK_DENIALS_MAX) {
        known = denial_new(denial, target, is_expired);
        if (known != NULL) {
            LL_APPEND(waiting->denials, known);
            waiting->count++;
        }
    }
    if (known != NULL) {
        known->count++;
    } else {
        waiting->others++;
    }
    notice(job);
    (void)pthread_mutex_unlock(&job->network->lock);
}

static void serve_gateway(void *user, unsigned gateway, int fd)
{
    const arcp__agent_network_job *job = user;
    job->gateway_ops->serve(job->gateway, gateway, fd);
}

/* Serves the sockets of a sandbox. */
static void serve(arcp__agent_network_job *job)
{
    arcp_error err = {0};
    terms *by = job->terms;
    const arcp__egress_job_options options = {
        .authority = job->authority,
        .sockets = job->sockets,
        .socket_count = job->socket_count,
        .proxy_secret =
            job->proxy_secret == NULL ? NULL : arcp_secret_reveal(job->proxy_secret).data,
        .denied = on_denied,
        .user = job,
        .gateways = job->gateways,
        .serve = serve_gateway,
        .serve_user = job,
        .ca = job->ca};
    arcp_status status = ARCP_OK;
    if (by->egress == NULL) {
        status = arcp__egress_new(&job->network->loop, &by->options, &by->egress, &err);
        if (status == ARCP_OK) {
            DL_APPEND2(job->network->served, by, previous_served, next_served);
        }
    }
    job->was_opened = true;
    if (status == ARCP_OK) {
        job->ca = NULL;
        status = arcp__egress_open(by->egress, &options, &job->egress, &err);
    } else {
        close_sockets(job->sockets, job->socket_count);
    }
    if (status != ARCP_OK) {
        (void)pthread_mutex_lock(&job->network->lock);
        job->news.has_failed = true;
        (void)snprintf(job->news.failure, sizeof job->news.failure, "%s", err.message);
        notice(job);
        (void)pthread_mutex_unlock(&job->network->lock);
    }
}

static void job_free(arcp__agent_network_job *job)
{
    arcp__agent_network *network = job->network;
    (void)pthread_mutex_lock(&network->lock);
    const bool is_last = --job->terms->references == 0;
    (void)pthread_mutex_unlock(&network->lock);
    if (is_last) {
        terms_free(network, job->terms);
    }
    arcp_authority_unref(job->authority);
    arcp__tls_ca_free(job->ca);
    news_fini(&job->news);
    arcp_secret_free(job->proxy_secret);
    if (job->gateway != NULL) {
        job->gateway_ops->drop(job->gateway);
    }
    arcp__free(job->sockets);
    arcp__free(job);
}

/* Opens or closes a sandbox that was queued. */
static void handle(arcp__agent_network_job *job, bool is_closed)
{
    if (!is_closed) {
        serve(job);
        return;
    }
    if (!job->was_opened) {
        close_sockets(job->sockets, job->socket_count);
    }
    arcp__egress_close(job->egress);
    job_free(job);
}

static void on_async(uv_async_t *async)
{
    arcp__agent_network *network = async->data;
    (void)pthread_mutex_lock(&network->lock);
    while (network->queued != NULL) {
        arcp__agent_network_job *job = network->queued;
        const bool is_closed = job->is_closed;
        LL_DELETE2(network->queued, job, next_queued);
        job->is_queued = false;
        (void)pthread_mutex_unlock(&network->lock);
        handle(job, is_closed);
        (void)pthread_mutex_lock(&network->lock);
    }
    terms *dropped = network->dropped;
    const bool is_over = network->is_over;
    network->dropped = NULL;
    (void)pthread_mutex_unlock(&network->lock);
    while (dropped != NULL) {
        terms *from = dropped;
        LL_DELETE(dropped, from);
        terms_free(network, from);
    }
    if (is_over && !uv_is_closing((uv_handle_t *)async)) {
        uv_close((uv_handle_t *)async, NULL);
        uv_close((uv_handle_t *)&network->prepare, NULL);
    }
}

/* The loop ends when everything is closed and the last lookup has ended. */
static void *run(void *user)
{
    arcp__agent_network *network = user;
    (void)uv_run(&network->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&network->loop);
    (void)pthread_mutex_lock(&network->lock);
    network->has_ended = true;
    (void)pthread_cond_signal(&network->ended);
    (void)pthread_mutex_unlock(&network->lock);
    unref(network);
    return NULL;
}

/* ---- the owner's thread ---- */

arcp_status arcp__agent_network_new(uv_async_t *wake, arcp__agent_network **out, arcp_error *err)
{
    arcp__agent_network *network = arcp__alloc(sizeof *network);
    pthread_condattr_t attributes;
    if (network == NULL || uv_loop_init(&network->loop) != 0) {
        arcp__free(network);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for the network of agents");
    }
    (void)pthread_mutex_init(&network->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&network->ended, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    network->wake = wake;
    network->references = 2;
    network->async.data = network;
    network->prepare.data = network;
    (void)uv_prepare_init(&network->loop, &network->prepare); /* these three cannot fail */
    (void)uv_prepare_start(&network->prepare, on_prepare);
    uv_unref((uv_handle_t *)&network->prepare);
    const int result = uv_async_init(&network->loop, &network->async, on_async);
    const int error =
        result != 0 ? -result : arcp__thread_start(&network->thread, "arcp-egress", run, network);
    if (error != 0) {
        if (result == 0) {
            uv_close((uv_handle_t *)&network->async, NULL);
        }
        uv_close((uv_handle_t *)&network->prepare, NULL);
        (void)uv_run(&network->loop, UV_RUN_DEFAULT);
        (void)uv_loop_close(&network->loop);
        network->references = 1;
        unref(network);
        return arcp_error_set(err, ARCP_E_IO,
                              "cannot create a thread for the network of agents: %s",
                              strerror(error));
    }
    *out = network;
    return ARCP_OK;
}

/* Replaces the terms of the next sandbox. */
static void set_current(arcp__agent_network *network, terms *next)
{
    terms *before = network->current;
    network->current = next;
    if (before == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&network->lock);
    if (--before->references == 0) {
        LL_APPEND(network->dropped, before);
        (void)uv_async_send(&network->async);
    }
    (void)pthread_mutex_unlock(&network->lock);
}

void arcp__agent_network_free(arcp__agent_network *network)
{
    struct timespec until;
    if (network == NULL) {
        return;
    }
    set_current(network, NULL);
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += END_SEC_MAX;
    (void)pthread_mutex_lock(&network->lock);
    network->is_over = true;
    network->wake = NULL;
    (void)uv_async_send(&network->async);
    int result = 0;
    while (!network->has_ended && result != ETIMEDOUT) {
        result = pthread_cond_timedwait(&network->ended, &network->lock, &until);
    }
    const bool has_ended = network->has_ended;
    (void)pthread_mutex_unlock(&network->lock);
    if (has_ended) {
        (void)pthread_join(network->thread, NULL);
    } else {
        (void)pthread_detach(network->thread);
    }
    unref(network);
}

/* NULL when out of memory. */
static terms *terms_new(const arcp__egress_options *options)
{
    terms *made = arcp__alloc(sizeof *made);
    if (made != NULL && !arcp__egress_options_copy(&made->arena, options, &made->options)) {
        arcp__arena_fini(&made->arena);
        arcp__free(made);
        return NULL;
    }
    if (made != NULL) {
        made->references = 1;
    }
    return made;
}

/* Called with the lock held. */
static void queue(arcp__agent_network_job *job)
{
    arcp__agent_network *network = job->network;
    if (!job->is_queued) {
        job->is_queued = true;
        LL_APPEND2(network->queued, job, next_queued);
        (void)uv_async_send(&network->async);
    }
}

arcp_status arcp__agent_network_open(arcp__agent_network *network,
                                     const arcp__agent_network_options *options,
                                     arcp__agent_network_job **out, arcp_error *err)
{
    arcp__agent_network_job *job = arcp__alloc(sizeof *job);
    int *sockets = arcp__alloc_array(options->socket_count + 1, sizeof *sockets);
    terms *by = network->current;
    if (by == NULL || !arcp__egress_options_equal(&by->options, &options->egress)) {
        by = terms_new(&options->egress);
    }
    arcp_secret *secret = options->proxy_secret == NULL
                              ? NULL
                              : arcp_secret_new(arcp_span_cstr(options->proxy_secret));
    if (job == NULL || sockets == NULL || by == NULL ||
        (options->proxy_secret != NULL && secret == NULL)) {
        if (by != NULL && by != network->current) {
            terms_free(network, by); /* it has no egress */
        }
        arcp_secret_free(secret);
        arcp__free(sockets);
        arcp__free(job);
        arcp__tls_ca_free(options->ca);
        close_sockets(options->sockets, options->socket_count);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (by != network->current) {
        set_current(network, by);
    }
    memcpy(sockets, options->sockets, options->socket_count * sizeof *sockets);
    job->network = network;
    job->terms = by;
    job->authority = arcp_authority_ref(options->authority);
    job->sockets = sockets;
    job->socket_count = options->socket_count;
    job->ca = options->ca;
    job->proxy_secret = secret;
    job->events = options->events;
    job->gateway = options->gateway;
    job->gateway_ops = options->gateway_ops;
    job->gateways = options->gateway == NULL ? 0 : options->gateways;
    if (job->gateway != NULL) {
        job->gateway_ops->hold(job->gateway);
    }
    (void)pthread_mutex_lock(&network->lock);
    by->references++;
    queue(job);
    (void)pthread_mutex_unlock(&network->lock);
    *out = job;
    return ARCP_OK;
}

void arcp__agent_network_close(arcp__agent_network_job *job)
{
    if (job == NULL) {
        return;
    }
    arcp__agent_network *network = job->network;
    (void)pthread_mutex_lock(&network->lock);
    if (job->is_noticed) {
        DL_DELETE2(network->noticed, job, previous_noticed, next_noticed);
    }
    job->is_closed = true;
    queue(job);
    (void)pthread_mutex_unlock(&network->lock);
}

/* Calls the events of one sandbox. */
static void deliver(const arcp__agent_network_events *events, const news *found)
{
    arcp__network_denial denial = {.code = ARCP_E_PERMISSION_DENIED};
    for (const waiting_denial *each = found->denials; each != NULL; each = each->next) {
        denial.code = each->code;
        denial.target = each->target;
        denial.reason = each->reason;
        denial.count = each->count;
        events->denied(events->user, &denial);
    }
    if (found->others != 0) {
        denial.code = ARCP_E_PERMISSION_DENIED;
        denial.target = denial.reason = arcp_span_make(NULL, 0);
        denial.count = found->others;
        events->denied(events->user, &denial);
    }
    if (found->has_failed) {
        events->failed(events->user, found->failure);
    }
}

void arcp__agent_network_count(arcp__agent_network *network, arcp__egress_counts *counts)
{
    if (network != NULL) {
        (void)pthread_mutex_lock(&network->lock);
        arcp__egress_counts_add(counts, &network->counts);
        (void)pthread_mutex_unlock(&network->lock);
    }
}

void arcp__agent_network_take(arcp__agent_network *network)
{
    if (network == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&network->lock);
    for (size_t i = 0; i < TAKEN_MAX && network->noticed != NULL; i++) {
        arcp__agent_network_job *job = network->noticed;
        const arcp__agent_network_events events = job->events;
        news found = job->news;
        DL_DELETE2(network->noticed, job, previous_noticed, next_noticed);
        job->is_noticed = false;
        job->news = (news){.denials = NULL};
        (void)pthread_mutex_unlock(&network->lock);
        deliver(&events, &found);
        news_fini(&found);
        (void)pthread_mutex_lock(&network->lock);
    }
    if (network->noticed != NULL) {
        (void)uv_async_send(network->wake);
    }
    (void)pthread_mutex_unlock(&network->lock);
}
