/* The sockets of one sandbox, and what all its connections share. */
#include <assert.h>
#include <unistd.h>

#include <utlist.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "egress/egress_parts.h"

#define LISTEN_BACKLOG 128
#define NAMES_PORT     53

struct arcp__egress_listener {
    arcp__egress_listener *prev;
    arcp__egress_listener *next;
    arcp__egress_job *job;
    uv_tcp_t handle;
    uv_tcp_t rejected;      /* accepts a connection for which there is no memory, and closes */
    size_t references;      /* the handle, and `rejected` while in use */
    bool is_rejecting;      /* `rejected` is in use */
    bool is_client_waiting; /* for `rejected` to be free again */
};

/* ---- the end ---- */

static void listener_unref(arcp__egress_listener *listener)
{
    arcp__egress_job *job = listener->job;
    if (--listener->references == 0) {
        arcp__free(listener);
        arcp__egress_job_unref(job);
    }
}

static void on_listener_closed(uv_handle_t *handle)
{
    listener_unref(handle->data);
}

void arcp__egress_close(arcp__egress_job *job)
{
    if (job == NULL || job->is_closed) {
        return;
    }
    job->is_closed = true;
    while (job->listeners != NULL) {
        arcp__egress_listener *listener = job->listeners;
        DL_DELETE(job->listeners, listener);
        uv_close((uv_handle_t *)&listener->handle, on_listener_closed);
    }
    while (job->name_servers != NULL) {
        arcp__egress_name_server_close(job->name_servers);
    }
    while (job->connections != NULL) {
        arcp__egress_connection_close(job->connections);
    }
    arcp__tls_ca_free(job->ca);
    job->ca = NULL;
    arcp__tls_sessions_free(job->sessions);
    job->sessions = NULL;
    DL_DELETE(job->egress->jobs, job);
    arcp__egress_job_unref(job);
}

/* ---- accepting ---- */

static void on_connection(uv_stream_t *handle, int result);

static void on_rejected(uv_handle_t *handle)
{
    arcp__egress_listener *listener = handle->data;
    listener->is_rejecting = false;
    if (listener->is_client_waiting && !listener->job->is_closed) {
        on_connection((uv_stream_t *)&listener->handle, 0);
    }
    listener_unref(listener);
}

static void on_connection(uv_stream_t *handle, int result)
{
    arcp__egress_listener *listener = handle->data;
    struct sockaddr_storage peer = {0};
    arcp__stream *stream = NULL;
    listener->is_client_waiting = listener->is_rejecting;
    if (result < 0 || listener->is_rejecting) {
        return; /* the client has disconnected, or must wait */
    }
    result = arcp__tcp_stream_accept(listener->job->egress->share, handle, &peer, &stream);
    if (result == 0) {
        arcp__egress_connection_open(listener->job, stream);
    } else if (result == UV_ENOMEM) {
        /* As in web/server.c: libuv accepts no further connection before this one. */
        uv_tcp_init(handle->loop, &listener->rejected); /* cannot fail */
        listener->rejected.data = listener;
        listener->is_rejecting = true;
        listener->references++;
        (void)uv_accept(handle, (uv_stream_t *)&listener->rejected);
        uv_close((uv_handle_t *)&listener->rejected, on_rejected);
    }
}

/* ---- the beginning ---- */

static arcp_status open_listener(arcp__egress_job *job, int fd, arcp_error *err)
{
    arcp__egress_listener *listener = arcp__alloc(sizeof *listener);
    if (listener == NULL) {
        close(fd);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a socket of a sandbox");
    }
    (void)uv_tcp_init(job->egress->loop, &listener->handle); /* creates no socket */
    listener->handle.data = listener;
    listener->job = job;
    listener->references = 1;
    job->references++;
    int result = uv_tcp_open(&listener->handle, fd);
    if (result != 0) {
        close(fd);
    } else {
        result = uv_listen((uv_stream_t *)&listener->handle, LISTEN_BACKLOG, on_connection);
    }
    if (result != 0) {
        uv_close((uv_handle_t *)&listener->handle, on_listener_closed);
        return arcp_error_set(err, ARCP_E_IO, "cannot serve a socket of a sandbox: %s",
                              uv_strerror(result));
    }
    DL_APPEND(job->listeners, listener);
    return ARCP_OK;
}

/* Serves a socket, which is owned from now on. */
static arcp_status open_socket(arcp__egress_job *job, int fd, arcp_error *err)
{
    int type = 0;
    int is_listening = 0;
    int family = 0;
    socklen_t size = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 &&
        (family == AF_INET || family == AF_INET6)) {
        if (type == SOCK_STREAM && is_listening != 0) {
            return open_listener(job, fd, err);
        }
        if (type == SOCK_DGRAM) {
            return arcp__egress_name_server_open(job, fd, err);
        }
    }
    close(fd);
    return arcp_error_set(err, ARCP_E_USAGE,
                          "descriptor %d is neither a listening TCP socket nor a UDP socket", fd);
}

/* What clients send for a proxy with a user and a password (RFC 7617). */
static arcp_status set_credential(arcp__egress_job *job, const char *secret, arcp_error *err)
{
    arcp_buf pair = arcp_buf_secret_init();
    arcp_buf text = arcp_buf_secret_init();
    arcp_buf_append_format(&pair, "arcp:%s", secret);
    arcp__base64_encode(arcp_buf_span(&pair), ARCP__BASE64_STANDARD, &text);
    job->credential = pair.failed || text.failed ? NULL : arcp_secret_new(arcp_buf_span(&text));
    arcp_buf_fini(&pair);
    arcp_buf_fini(&text);
    return job->credential != NULL ? ARCP_OK
                                   : arcp_error_set(err, ARCP_E_NO_MEMORY,
                                                    "out of memory for the network of a sandbox");
}

static arcp_status job_new(arcp__egress *egress, const arcp__egress_job_options *options,
                           arcp__egress_job **out, arcp_error *err)
{
    arcp__egress_job *job = arcp__alloc(sizeof *job);
    if (job == NULL) {
        arcp__tls_ca_free(options->ca);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for the network of a sandbox");
    }
    job->ca = options->ca;
    job->opens_whole_hosts = options->ca != NULL && options->opens_whole_hosts;
    job->egress = egress;
    job->references = 1;
    job->authority = arcp_authority_ref(options->authority);
    job->denied = options->denied;
    job->allowed = options->allowed;
    job->user = options->user;
    job->serve = options->serve;
    job->serve_user = options->serve_user;
    egress->references++;
    DL_APPEND(egress->jobs, job);
    arcp_status status = arcp__egress_policy_new(options->authority, &job->policy, err);
    if (status == ARCP_OK) {
        arcp__egress_policy_set_models(job->policy, egress->model_hosts, egress->model_host_count);
        status = arcp__egress_names_new(arcp_authority_lease(options->authority), &job->names, err);
    }
    if (status == ARCP_OK) {
        arcp__egress_names_set_gateways(job->names, options->gateways);
    }
    if (status == ARCP_OK && options->proxy_secret != NULL) {
        status = set_credential(job, options->proxy_secret, err);
    }
    if (status != ARCP_OK) {
        arcp__egress_close(job);
        return status;
    }
    *out = job;
    return ARCP_OK;
}

arcp_status arcp__egress_open(arcp__egress *egress, const arcp__egress_job_options *options,
                              arcp__egress_job **out, arcp_error *err)
{
    arcp__egress_job *job = NULL;
    arcp_status status = job_new(egress, options, &job, err);
    assert(status != ARCP_OK || job != NULL);
    for (size_t i = 0; i < options->socket_count; i++) {
        if (status == ARCP_OK && i >= ARCP__EGRESS_LISTENERS_MAX) {
            status = arcp_error_set(err, ARCP_E_USAGE, "a sandbox has more than %d sockets",
                                    ARCP__EGRESS_LISTENERS_MAX);
        }
        if (status == ARCP_OK) {
            status = open_socket(job, options->sockets[i], err);
        } else {
            close(options->sockets[i]);
        }
    }
    if (status != ARCP_OK) {
        arcp__egress_close(job);
        return status;
    }
    *out = job;
    return ARCP_OK;
}
