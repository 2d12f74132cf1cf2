/* Jobs of the gateway: what the runtime requests of them, and what is queued for the
 * runtime.
 *
 * A job belongs to both threads. The runtime queues it for the gateway's thread, which does what is
 * due (`handle`); that thread queues notes and puts the job into `noticed` for the runtime. The
 * gateway's thread frees it, once it is idle and released. */
#include "gateway/gateway_parts.h"
#include "gateway/gateway_program.h"

#include <assert.h>
#include <stdio.h>
#include <unistd.h>

#include <arcp/secret.h>

#include "base/clock.h"

#define TAKEN_MAX      64u /* jobs at a time, so that the runtime's loop is not held */
#define CALLS_HARD_MAX 16u /* times calls_per_job: more are refused, and do not wait in line */

/* ---- the runtime's thread: opening ---- */

/* Called with the lock held. */
static void queue(arcp__gateway_job_parts *parts)
{
    arcp__gateway *gateway = parts->job.gateway;
    if (!parts->is_queued) {
        parts->is_queued = true;
        LL_APPEND2(gateway->queued, parts, next_queued);
        (void)uv_async_send(&gateway->async);
    }
}

static void job_free(arcp__gateway_job_parts *parts)
{
    arcp__gateway_job *job = &parts->job;
    (void)pthread_mutex_lock(&job->gateway->lock);
    job->gateway->job_count--;
    (void)pthread_mutex_unlock(&job->gateway->lock);
    while (parts->notes != NULL) {
        arcp__gateway_note *note = parts->notes;
        DL_DELETE(parts->notes, note);
        arcp__free(note);
    }
    while (parts->stored != NULL) {
        arcp__gateway_stored *stored = parts->stored;
        LL_DELETE(parts->stored, stored);
        arcp__free(stored);
    }
    while (parts->arrivals != NULL) {
        arcp__gateway_arrival *arrival = parts->arrivals;
        LL_DELETE(parts->arrivals, arrival);
        (void)close(arrival->fd);
        arcp__free(arrival);
    }
    arcp__job_port_fini(&job->port);
    arcp_authority_unref(job->authority);
    arcp__free(job->id);
    arcp__free(job->tree_id);
    arcp__free(job->principal);
    arcp__free(job->agent);
    arcp__free(job->traceparent);
    arcp__free(parts);
}

static arcp__gateway_job_parts *job_new(arcp__gateway *gateway,
                                        const arcp__gateway_job_options *options)
{
    arcp__gateway_job_parts *parts = arcp__alloc(sizeof *parts);
    if (parts == NULL) {
        return NULL;
    }
    arcp__gateway_job *job = &parts->job;
    (void)pthread_mutex_lock(&gateway->lock);
    gateway->job_count++;
    (void)pthread_mutex_unlock(&gateway->lock);
    job->gateway = gateway;
    job->parts = parts;
    job->authority = arcp_authority_ref(options->authority);
    job->port.authority = job->authority;
    job->port.gates = gateway->gates;
    job->id = arcp__copy_cstr(options->job_id.data, options->job_id.size);
    const arcp_span tree = options->tree_id.size == 0 ? options->job_id : options->tree_id;
    job->tree_id = arcp__copy_cstr(tree.data, tree.size);
    job->principal = arcp__copy_cstr(options->principal.data, options->principal.size);
    job->agent = arcp__copy_cstr(options->agent.data, options->agent.size);
    job->traceparent = arcp__copy_cstr(options->traceparent.data, options->traceparent.size);
    job->is_confined = options->is_confined;
    job->makes_spans = options->makes_spans;
    job->has_purse = options->has_purse;
    job->stores_holds = options->stores_holds;
    parts->events = options->events;
    if (job->id == NULL || job->tree_id == NULL || job->principal == NULL || job->agent == NULL ||
        job->traceparent == NULL) {
        job_free(parts);
        return NULL;
    }
    return parts;
}

arcp_status arcp__gateway_open(arcp__gateway *gateway, const arcp__gateway_job_options *options,
                               arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS],
                               arcp__gateway_job **out, arcp_error *err)
{
    char key[ARCP__GATEWAY_KEY_MAX] = ARCP__GATEWAY_SANDBOX_KEY;
    arcp__gateway_job_parts *parts = job_new(gateway, options);
    bool is_made = parts != NULL;
    if (is_made) {
        (void)pthread_mutex_lock(&gateway->lock);
        is_made =
            arcp__gateway_keys_open(parts, options->digest, options->is_confined ? NULL : key);
        (void)pthread_mutex_unlock(&gateway->lock);
    }
    if (!is_made) {
        if (parts != NULL) {
            job_free(parts);
        }
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a job's gateway");
    }
    unsigned kinds = 0;
    for (unsigned i = 0; i < ARCP__GATEWAY_KINDS; i++) {
        kinds |= arcp__gateway_service_of(gateway, (arcp__gateway_kind)i) == NULL ? 0 : 1U << i;
    }
    arcp__gateway_set_endpoints(endpoints, kinds, options->is_confined ? NULL : gateway->url,
                                arcp_span_cstr(key));
    arcp_wipe(key, sizeof key);
    *out = &parts->job;
    return ARCP_OK;
}

void arcp__gateway_serve(arcp__gateway_job *job, arcp__gateway_kind kind, int fd)
{
    arcp__gateway_job_parts *parts = arcp__gateway_parts(job);
    arcp__gateway_arrival *arrival = arcp__alloc(sizeof *arrival);
    if (arrival == NULL) {
        (void)close(fd);
        return;
    }
    *arrival = (arcp__gateway_arrival){.kind = kind, .fd = fd};
    (void)pthread_mutex_lock(&job->gateway->lock);
    LL_APPEND(parts->arrivals, arrival);
    queue(parts);
    (void)pthread_mutex_unlock(&job->gateway->lock);
}

void arcp__gateway_hold_stored(arcp__gateway_job *job, arcp_span call_id)
{
    arcp__gateway_job_parts *parts = arcp__gateway_parts(job);
    arcp__gateway_stored *stored = arcp__alloc(sizeof *stored);
    if (stored == NULL) {
        return; /* the call waits until its client goes, or its job ends */
    }
    (void)snprintf(stored->call_id, sizeof stored->call_id, "%.*s", (int)call_id.size,
                   call_id.data);
    (void)pthread_mutex_lock(&job->gateway->lock);
    LL_APPEND(parts->stored, stored);
    queue(parts);
    (void)pthread_mutex_unlock(&job->gateway->lock);
}

void arcp__gateway_hold(arcp__gateway_job *job)
{
    (void)pthread_mutex_lock(&job->gateway->lock);
    arcp__gateway_parts(job)->holds++;
    (void)pthread_mutex_unlock(&job->gateway->lock);
}

void arcp__gateway_drop(arcp__gateway_job *job)
{
    arcp__gateway *gateway = job->gateway;
    (void)pthread_mutex_lock(&gateway->lock);
    arcp__gateway_parts(job)->holds--;
    queue(arcp__gateway_parts(job));
    (void)pthread_mutex_unlock(&gateway->lock);
}

/* ---- the runtime's thread: the end ---- */

void arcp__gateway_end_calls(arcp__gateway_job *job)
{
    arcp__gateway_job_parts *parts = arcp__gateway_parts(job);
    (void)pthread_mutex_lock(&job->gateway->lock);
    parts->ends_calls = true;
    queue(parts);
    (void)pthread_mutex_unlock(&job->gateway->lock);
}

/* Called with the lock held. */
static void close_job(arcp__gateway_job_parts *parts)
{
    if (!parts->is_closed) {
        parts->is_closed = true;
        arcp__job_port_end(&parts->job.port);
        arcp__gateway_keys_close(parts);
        queue(parts);
    }
}

void arcp__gateway_close(arcp__gateway_job *job)
{
    (void)pthread_mutex_lock(&job->gateway->lock);
    close_job(arcp__gateway_parts(job));
    (void)pthread_mutex_unlock(&job->gateway->lock);
}

static void deliver(const arcp__gateway_events *events, arcp__gateway_note *notes)
{
    while (notes != NULL) {
        arcp__gateway_note *note = notes;
        DL_DELETE(notes, note);
        if (note->is_denial) {
            events->denied(events->user, &note->denial);
        } else {
            events->message(events->user, &note->message);
        }
        arcp__free(note);
    }
}

/* Takes what is queued for the runtime. Called with the lock held. */
static arcp__gateway_note *take_notes(arcp__gateway_job_parts *parts)
{
    arcp__gateway *gateway = parts->job.gateway;
    arcp__gateway_note *notes = parts->notes;
    parts->notes = NULL;
    if (parts->is_noticed) {
        parts->is_noticed = false;
        DL_DELETE2(gateway->noticed, parts, previous_noticed, next_noticed);
    }
    return notes;
}

bool arcp__gateway_settle(arcp__gateway_job *job, uint32_t wait_ms,
                          const arcp__gateway_events *events)
{
    arcp__gateway *gateway = job->gateway;
    arcp__gateway_job_parts *parts = arcp__gateway_parts(job);
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += wait_ms / 1000;
    until.tv_nsec += (long)(wait_ms % 1000) * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    (void)pthread_mutex_lock(&gateway->lock);
    close_job(parts);
    int result = 0;
    /* A job without a call cannot get one any more, so nothing is left to wait for. */
    while (parts->call_count != 0 && result == 0) {
        result = pthread_cond_timedwait(&gateway->changed, &gateway->lock, &until);
    }
    const bool is_settled = parts->call_count == 0;
    arcp__gateway_note *notes = take_notes(parts);
    (void)pthread_mutex_unlock(&gateway->lock);
    deliver(events, notes);
    return is_settled;
}

void arcp__gateway_release(arcp__gateway_job *job)
{
    if (job == NULL) {
        return;
    }
    arcp__gateway_job_parts *parts = arcp__gateway_parts(job);
    (void)pthread_mutex_lock(&job->gateway->lock);
    close_job(parts);
    if (parts->is_noticed) {
        parts->is_noticed = false;
        DL_DELETE2(job->gateway->noticed, parts, previous_noticed, next_noticed);
    }
    parts->is_released = true;
    queue(parts);
    (void)pthread_mutex_unlock(&job->gateway->lock);
}

void arcp__gateway_take(arcp__gateway *gateway)
{
    if (gateway == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&gateway->lock);
    for (size_t i = 0; i < TAKEN_MAX && gateway->noticed != NULL; i++) {
        arcp__gateway_job_parts *parts = gateway->noticed;
        const arcp__gateway_events events = parts->events;
        arcp__gateway_note *notes = take_notes(parts);
        (void)pthread_mutex_unlock(&gateway->lock);
        deliver(&events, notes);
        (void)pthread_mutex_lock(&gateway->lock);
    }
    if (gateway->noticed != NULL) {
        (void)uv_async_send(gateway->wake);
    }
    (void)pthread_mutex_unlock(&gateway->lock);
}

/* ---- the gateway's thread: calls and the end ---- */

size_t arcp__gateway_job_calls(const arcp__gateway_job *job)
{
    size_t count = 0;
    const arcp__gateway_call *call = NULL;
    DL_FOREACH (arcp__gateway_parts(job)->calls, call) {
        count++;
    }
    return count;
}

bool arcp__gateway_job_enter(arcp__gateway_job *job, bool *is_closed)
{
    arcp__gateway_job_parts *parts = arcp__gateway_parts(job);
    const uint64_t most = (uint64_t)CALLS_HARD_MAX * job->gateway->limits.calls_per_job;
    (void)pthread_mutex_lock(&job->gateway->lock);
    *is_closed = parts->is_closed;
    const bool enters = !parts->is_closed && parts->call_count < most;
    parts->call_count += enters;
    (void)pthread_mutex_unlock(&job->gateway->lock);
    return enters;
}

void arcp__gateway_job_leave(arcp__gateway_job *job)
{
    arcp__gateway_job_parts *parts = arcp__gateway_parts(job);
    (void)pthread_mutex_lock(&job->gateway->lock);
    assert(parts->call_count != 0);
    if (--parts->call_count == 0 && parts->is_closed) {
        queue(parts);
        (void)pthread_cond_broadcast(&job->gateway->changed);
    }
    (void)pthread_mutex_unlock(&job->gateway->lock);
}

static void take_arrivals(arcp__gateway_job_parts *parts, arcp__gateway_arrival *arrivals,
                          bool is_closed)
{
    arcp__gateway *gateway = parts->job.gateway;
    while (arrivals != NULL) {
        arcp__gateway_arrival *arrival = arrivals;
        arcp__gateway_site **site = &parts->sites[arrival->kind];
        const arcp__gateway_site wanted = {
            .gateway = gateway, .job = &parts->job, .kind = arrival->kind};
        LL_DELETE(arrivals, arrival);
        const bool is_served =
            !is_closed && gateway->services[arrival->kind] != NULL &&
            (*site != NULL ||
             arcp__gateway_site_open(gateway, &wanted, NULL, NULL, site, NULL) == ARCP_OK);
        arcp_error ignored = {0};
        if (!is_served) {
            (void)close(arrival->fd);
        } else if (arcp__web_server_adopt((*site)->server, arrival->fd, &ignored) != ARCP_OK) {
            /* It was closed, which its client sees. */
        }
        arcp__free(arrival);
    }
}

/* Passes the ids of stored holds on to their calls, if these still wait. */
static void take_stored(arcp__gateway_job_parts *parts, arcp__gateway_stored *list, bool is_closed)
{
    while (list != NULL) {
        arcp__gateway_stored *stored = list;
        arcp__gateway_call *call = NULL;
        LL_DELETE(list, stored);
        DL_FOREACH (parts->calls, call) {
            if (strcmp(call->id, stored->call_id) == 0) {
                break;
            }
        }
        arcp__free(stored);
        const arcp__gateway_service *service =
            call == NULL ? NULL : arcp__gateway_service_of(parts->job.gateway, call->kind);
        if (!is_closed && service != NULL && call->is_requested && service->hold_stored != NULL) {
            service->hold_stored(parts->job.gateway->services[call->kind], call);
        }
    }
}

/* Ends each call; a service may end others of them with it. */
static void end_calls(arcp__gateway_job_parts *parts, arcp_status why)
{
    for (;;) {
        arcp__gateway_call *call = parts->calls;
        while (call != NULL && call->was_ended) {
            call = call->next;
        }
        if (call == NULL) {
            return;
        }
        arcp__gateway_call_stop(call, why);
    }
}

static void become_idle(arcp__gateway_job_parts *parts)
{
    arcp__gateway *gateway = parts->job.gateway;
    for (size_t i = 0; i < ARCP__GATEWAY_KINDS; i++) {
        const arcp__gateway_service *service = arcp__gateway_service_of(gateway, i);
        if (gateway->services[i] != NULL && service->job_over != NULL) {
            service->job_over(gateway->services[i], &parts->job);
        }
    }
    (void)pthread_mutex_lock(&gateway->lock);
    parts->is_idle = true;
    (void)pthread_mutex_unlock(&gateway->lock);
}

void arcp__gateway_job_handle(arcp__gateway_job_parts *parts)
{
    arcp__gateway *gateway = parts->job.gateway;
    (void)pthread_mutex_lock(&gateway->lock);
    const bool is_closed = parts->is_closed;
    const bool ends_calls = parts->ends_calls || is_closed;
    const bool is_released = parts->is_released;
    arcp__gateway_arrival *arrivals = parts->arrivals;
    parts->arrivals = NULL;
    arcp__gateway_stored *stored = parts->stored;
    parts->stored = NULL;
    parts->ends_calls = false;
    (void)pthread_mutex_unlock(&gateway->lock);
    take_arrivals(parts, arrivals, is_closed);
    take_stored(parts, stored, is_closed);
    if (ends_calls) {
        end_calls(parts, !is_closed                          ? ARCP_E_LEASE_EXPIRED
                         : atomic_load(&gateway->is_leaving) ? ARCP_E_IO
                                                             : ARCP_E_CLOSED);
    }
    if (is_closed && parts->calls == NULL && !parts->is_idle) {
        become_idle(parts);
    }
    (void)pthread_mutex_lock(&gateway->lock);
    const bool is_last = is_released && parts->is_idle && !parts->is_queued && parts->holds == 0;
    (void)pthread_mutex_unlock(&gateway->lock);
    if (is_last) {
        for (size_t i = 0; i < ARCP__GATEWAY_KINDS; i++) {
            arcp__gateway_site_close(&parts->sites[i]);
        }
        job_free(parts);
    }
}
