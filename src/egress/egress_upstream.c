#include <netdb.h>
#include <sys/socket.h>

#include <utlist.h>

#include "base/alloc.h"
#include "base/directory.h"
#include "egress/egress_parts.h"

#define OWN_ADDRESSES_MS 1000 /* how long the addresses of this host are taken for granted */

struct arcp__egress_lookup {
    uv_getaddrinfo_t request;
    arcp__egress_job *job;        /* a reference is held */
    arcp__egress_upstream *owner; /* NULL: it has given up */
};

/* ---- the end ---- */

static void run_task(arcp__task *task);

static void end_with(arcp__egress_upstream *upstream, arcp__egress_upstream_end end,
                     const char *why)
{
    upstream->end = end;
    upstream->why = why;
    upstream->state = ARCP__EGRESS_CONNECTING;
    upstream->count = upstream->tried = 0;
    arcp__task_post(upstream->job->egress->share, &upstream->task);
}

static void report(arcp__egress_upstream *upstream, arcp__egress_upstream_end end,
                   arcp__stream *stream, const char *why)
{
    upstream->state = ARCP__EGRESS_IDLE;
    upstream->done(upstream->user, end, stream, why);
}

/* ---- connecting ---- */

static void connect_next(arcp__egress_upstream *upstream);

static void on_connected(void *user, int result)
{
    arcp__egress_upstream *upstream = user;
    if (result == 0) {
        arcp__stream *stream = upstream->stream;
        upstream->stream = NULL;
        report(upstream, ARCP__EGRESS_CONNECTED, stream, NULL);
        return;
    }
    arcp__stream_close(&upstream->stream);
    upstream->why = uv_strerror(result);
    connect_next(upstream);
}

static void connect_next(arcp__egress_upstream *upstream)
{
    while (upstream->tried < upstream->count) {
        const arcp__egress_address *address = &upstream->addresses[upstream->tried++];
        const int result = upstream->job->egress->system.connect(
            upstream->job->egress->share, &address->any, on_connected, upstream, &upstream->stream);
        if (result == 0) {
            return;
        }
        upstream->why = uv_strerror(result);
    }
    report(upstream, upstream->end, NULL, upstream->why);
}

static void run_task(arcp__task *task)
{
    arcp__egress_upstream *upstream =
        (arcp__egress_upstream *)((char *)task - offsetof(arcp__egress_upstream, task));
    if (upstream->is_paired) {
        on_connected(upstream, 0);
    } else {
        connect_next(upstream);
    }
}

/* ---- gateways ---- */

/* Makes a connection whose other end the gateway serves. */
static void pair(arcp__egress_upstream *upstream, unsigned gateway)
{
    arcp__egress_job *job = upstream->job;
    arcp_error err = {0};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
        end_with(upstream, ARCP__EGRESS_UNREACHABLE, "the gateway cannot be reached");
        return;
    }
    if (arcp__fd_stream_new(job->egress->share, ends[0], &upstream->stream, &err) != ARCP_OK) {
        arcp__close(ends[0]);
        arcp__close(ends[1]);
        end_with(upstream, ARCP__EGRESS_UNREACHABLE, "out of memory");
        return;
    }
    upstream->is_paired = true;
    upstream->state = ARCP__EGRESS_CONNECTING;
    arcp__task_post(job->egress->share, &upstream->task);
    job->serve(job->serve_user, gateway, ends[1]);
}

/* ---- addresses ---- */

/* Brings the addresses of this host up to date. Without memory, or if the system refuses, none is
 * known: false. */
static bool read_own(arcp__egress *egress)
{
    const uint64_t now = uv_now(egress->loop);
    if (egress->own != NULL && now - egress->own_ms < OWN_ADDRESSES_MS) {
        return true;
    }
    arcp__free(egress->own);
    egress->own = NULL;
    egress->own_count = 0;
    egress->own_ms = now;
    return arcp__egress_own_addresses(&egress->own, &egress->own_count);
}

/* Whether models are called by the gateway at this port of this host. */
static bool is_model_port(const arcp__egress *egress, uint16_t port)
{
    char place[sizeof "localhost:65535"];
    (void)snprintf(place, sizeof place, "localhost:%u", (unsigned)port);
    for (size_t i = 0; i < egress->model_host_count; i++) {
        if (arcp_span_equal_cstr(egress->model_hosts[i], place)) {
            return true;
        }
    }
    return false;
}

/* Dials the addresses if each of them may be dialled. One that may not refuses them all: a name
 * that has public and private addresses is an attempt to have both. */
static void check_addresses(arcp__egress_upstream *upstream)
{
    arcp__egress *egress = upstream->job->egress;
    const bool is_model = is_model_port(egress, upstream->port);
    if ((is_model || !upstream->may_be_private) && !read_own(egress)) {
        end_with(upstream, ARCP__EGRESS_UNREACHABLE, "the addresses of this host are not known");
        return;
    }
    for (size_t i = 0; i < upstream->count; i++) {
        if (is_model &&
            arcp__egress_address_is_here(&upstream->addresses[i], egress->own, egress->own_count)) {
            end_with(upstream, ARCP__EGRESS_NOT_PUBLIC, ARCP__EGRESS_REASON_MODEL);
            return;
        }
        if (!upstream->may_be_private &&
            !arcp__egress_address_is_public(&upstream->addresses[i], egress->own,
                                            egress->own_count)) {
            end_with(upstream, ARCP__EGRESS_NOT_PUBLIC, "the address is not public");
            return;
        }
    }
    upstream->state = ARCP__EGRESS_CONNECTING;
    upstream->end = ARCP__EGRESS_UNREACHABLE;
    upstream->tried = 0;
    arcp__task_post(egress->share, &upstream->task);
}

static bool is_private_host(const arcp__egress *egress, arcp_span host)
{
    for (size_t i = 0; i < egress->private_host_count; i++) {
        if (arcp_span_equal_cstr(host, egress->private_hosts[i].text)) {
            return true;
        }
    }
    return false;
}

/* Copies what fits. An address of another family counts, too: it is refused when it is checked. */
static void take_addresses(arcp__egress_upstream *upstream, const struct addrinfo *list)
{
    upstream->count = 0;
    for (; list != NULL && upstream->count < ARCP__EGRESS_ADDRESSES_MAX; list = list->ai_next) {
        arcp__egress_address *address = &upstream->addresses[upstream->count];
        if (list->ai_addr == NULL || list->ai_addrlen > sizeof *address) {
            continue;
        }
        memset(address, 0, sizeof *address);
        memcpy(address, list->ai_addr, list->ai_addrlen);
        if (address->any.sa_family == AF_INET6) {
            address->v6.sin6_port = htons(upstream->port);
        } else {
            address->v4.sin_port = htons(upstream->port);
        }
        upstream->count++;
    }
}

/* ---- lookups ---- */

static void start_queued(arcp__egress_job *job);

static void on_found(uv_getaddrinfo_t *request, int result, struct addrinfo *list)
{
    arcp__egress_lookup *lookup =
        (arcp__egress_lookup *)((char *)request - offsetof(arcp__egress_lookup, request));
    arcp__egress_upstream *upstream = lookup->owner;
    arcp__egress_job *job = lookup->job;
    if (upstream != NULL) {
        upstream->lookup = NULL;
        take_addresses(upstream, result == 0 ? list : NULL);
        if (upstream->count == 0) {
            end_with(upstream, ARCP__EGRESS_NOT_FOUND,
                     result == 0 ? "the name has no address" : uv_strerror(result));
        } else {
            check_addresses(upstream);
        }
    }
    if (list != NULL) {
        job->egress->system.release(list);
    }
    arcp__free(lookup);
    job->lookup_count--;
    start_queued(job);
    arcp__egress_job_unref(job);
}

/* Asks for the name with a dot at its end, so that the search list of this host has no part in it.
 * A name of private_hosts is asked for as it is: it may be in /etc/hosts, which knows no such dot.
 */
static void look_up(arcp__egress_upstream *upstream)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP};
    arcp__egress *egress = upstream->job->egress;
    char name[sizeof upstream->host.text + 1];
    (void)snprintf(name, sizeof name, "%s%s", upstream->host.text,
                   upstream->may_be_private ? "" : ".");
    arcp__egress_lookup *lookup = arcp__alloc(sizeof *lookup);
    upstream->state = ARCP__EGRESS_LOOKING_UP;
    if (lookup == NULL) {
        end_with(upstream, ARCP__EGRESS_UNREACHABLE, "out of memory");
        return;
    }
    lookup->job = upstream->job;
    lookup->owner = upstream;
    const int result =
        egress->system.find(egress->loop, &lookup->request, on_found, name, NULL, &hints);
    if (result != 0) {
        arcp__free(lookup);
        end_with(upstream, ARCP__EGRESS_UNREACHABLE, uv_strerror(result));
        return;
    }
    upstream->lookup = lookup;
    upstream->job->lookup_count++;
    upstream->job->references++;
}

static void start_queued(arcp__egress_job *job)
{
    while (job->queue != NULL && job->lookup_count < ARCP__EGRESS_LOOKUPS_MAX) {
        arcp__egress_upstream *upstream = job->queue;
        DL_DELETE(job->queue, upstream);
        look_up(upstream);
    }
}

/* ---- for connections ---- */

void arcp__egress_upstream_begin(arcp__egress_upstream *upstream, arcp_span host, uint16_t port,
                                 bool names_host)
{
    arcp__egress_job *job = upstream->job;
    const bool is_private = is_private_host(job->egress, host);
    const unsigned gateway = arcp__egress_names_gateway(job->names, host);
    upstream->task.run = run_task;
    upstream->is_paired = false;
    upstream->port = port;
    upstream->count = 0;
    upstream->why = NULL;
    (void)snprintf(upstream->host.text, sizeof upstream->host.text, "%.*s", (int)host.size,
                   host.data);
    if (gateway != ARCP__EGRESS_GATEWAYS) {
        pair(upstream, gateway);
    } else if (arcp_span_equal_cstr(host, "localhost")) {
        upstream->may_be_private = names_host || is_private;
        upstream->addresses[0].v4 =
            (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
        upstream->addresses[0].v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        upstream->addresses[1].v6 = (struct sockaddr_in6){
            .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_loopback};
        upstream->count = 2;
        check_addresses(upstream);
    } else if (arcp__egress_address_parse(host, port, &upstream->addresses[0])) {
        upstream->may_be_private = names_host || is_private;
        upstream->count = 1;
        check_addresses(upstream);
    } else {
        /* What a name leads to is not up to the lease. */
        upstream->may_be_private = is_private;
        upstream->state = ARCP__EGRESS_QUEUED;
        DL_APPEND(job->queue, upstream);
        start_queued(job);
    }
}

void arcp__egress_upstream_skip(arcp__egress_upstream *upstream)
{
    if (upstream->state == ARCP__EGRESS_QUEUED || upstream->state == ARCP__EGRESS_LOOKING_UP) {
        arcp__egress_upstream_cancel(upstream);
        end_with(upstream, ARCP__EGRESS_NOT_FOUND, "the name was not found in time");
    } else if (upstream->state == ARCP__EGRESS_CONNECTING && upstream->stream != NULL) {
        arcp__stream_close(&upstream->stream);
        upstream->why = uv_strerror(UV_ETIMEDOUT);
        arcp__task_post(upstream->job->egress->share, &upstream->task);
    }
}

void arcp__egress_upstream_cancel(arcp__egress_upstream *upstream)
{
    if (upstream->state == ARCP__EGRESS_IDLE) {
        return;
    }
    if (upstream->state == ARCP__EGRESS_QUEUED) {
        DL_DELETE(upstream->job->queue, upstream);
    }
    if (upstream->lookup != NULL) {
        upstream->lookup->owner = NULL;
        (void)uv_cancel((uv_req_t *)&upstream->lookup->request); /* it may be running */
        upstream->lookup = NULL;
    }
    arcp__stream_close(&upstream->stream);
    arcp__task_cancel(upstream->job->egress->share, &upstream->task);
    upstream->state = ARCP__EGRESS_IDLE;
}
