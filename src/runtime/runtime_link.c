/* Connections that the runtime serves, and its listeners. */
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/options.h"
#include "runtime/runtime_state.h"
#include "runtime/runtime_worker.h"

/* One write per link and turn. The engine gets the number of bytes that the kernel did not accept;
 * it continues when there is room. */
void arcp__runtime_links_flush(arcp_runtime *runtime)
{
    while (runtime->touched != NULL) {
        arcp__runtime_link *link = runtime->touched;
        link->is_touched = false;
        DL_DELETE2(runtime->touched, link, previous_touched, next_touched);
        if (link->link != NULL) {
            link->connection->ops->flush(link->connection);
            arcp__engine_drained(link->shard->engine, arcp__input_now(link->shard), link->link,
                                 link->connection->ops->unsent(link->connection));
        }
    }
}

/* ---- reading links ----
 *
 * A link is not read while the engine refuses its frames, nor for the rest of a turn of the loop in
 * which it has used its share (it rests). Bytes that were already read stay unparsed in its
 * connection. */

static void end_rest(arcp__runtime_link *link)
{
    link->is_resting = false;
    link->runtime->resting_count--;
    DL_DELETE2(link->runtime->resting, link, previous_resting, next_resting);
}

void arcp__runtime_links_next_turn(arcp_runtime *runtime)
{
    arcp__turn_next(&runtime->turn);
    for (size_t left = runtime->resting_count; left != 0 && runtime->resting != NULL; left--) {
        arcp__runtime_link *link = runtime->resting;
        end_rest(link);
        arcp__runtime_link_resume(link);
    }
}

static void on_message(void *user, arcp_connection *connection, arcp_span frame)
{
    arcp__runtime_link *link = user;
    arcp_runtime *runtime = link->runtime;
    arcp__shard *shard = link->shard;
    const arcp_time now = arcp__input_now(shard);
    link->is_refused = !arcp__engine_receive(shard->engine, now, link->link, frame);
    /* A single frame may take as long as a whole share. */
    const arcp_time done = arcp__clock_now();
    if (arcp__engine_frame_took(shard->engine, done, link->link, done.mono_ns - now.mono_ns)) {
        for (arcp__runtime_link *other = runtime->links; other != NULL; other = other->next) {
            if (other->shard == shard && other->link != NULL && !other->is_refused &&
                !arcp__engine_takes_frames(shard->engine, other->link)) {
                other->is_refused = true;
                other->connection->ops->pause(other->connection);
            }
        }
    }
    if (!arcp__turn_take(&runtime->turn, &link->share, frame.size, now.mono_ns, done.mono_ns) &&
        !link->is_resting) {
        link->is_resting = true;
        runtime->resting_count++;
        DL_APPEND2(runtime->resting, link, previous_resting, next_resting);
    }
    if (link->is_refused || link->is_resting) {
        connection->ops->pause(connection);
    }
    if (shard->store != NULL) {
        (void)arcp__shard_feed_store(shard);
    }
}

static void on_drained(void *user, arcp_connection *connection, size_t written, size_t unsent)
{
    (void)connection;
    (void)written;
    const arcp__runtime_link *link = user;
    if (link->link != NULL) {
        arcp__engine_drained(link->shard->engine, arcp__input_now(link->shard), link->link, unsent);
    }
}

static void on_input_over(void *user, arcp_connection *connection)
{
    (void)connection;
    const arcp__runtime_link *link = user;
    arcp__engine_input_over(link->shard->engine, arcp__input_now(link->shard), link->link);
    if (link->input_over != NULL) {
        link->input_over(link->user);
    }
}

static void link_free(arcp__runtime_link *link)
{
    arcp_runtime *runtime = link->runtime;
    if (link->is_touched) {
        DL_DELETE2(runtime->touched, link, previous_touched, next_touched);
    }
    if (link->is_resting) {
        end_rest(link);
    }
    DL_DELETE2(runtime->links, link, previous, next);
    link->connection->ops->free(link->connection);
    arcp__free(link);
}

static void on_closed(void *user, arcp_connection *connection, arcp_close_code code,
                      const char *reason)
{
    arcp__runtime_link *link = user;
    arcp_runtime *runtime = link->runtime;
    arcp_connection_info info = arcp_connection_info_init();
    connection->ops->info(connection, &info);
    /* Operators look for clients that were disconnected because of a frame that they sent. Before
     * the welcome a peer is not authenticated, and could fill the log. */
    const bool is_refusal = code == ARCP_CLOSE_TOO_BIG || code == ARCP_CLOSE_PROTOCOL_ERROR ||
                            code == ARCP_CLOSE_UNSUPPORTED || code == ARCP_CLOSE_BAD_DATA;
    arcp__runtime_log(runtime, NULL,
                      is_refusal && link->is_welcome && !info.closed_by_peer ? ARCP_LOG_WARN
                                                                             : ARCP_LOG_DEBUG,
                      "connection from %s closed: %d %s", info.peer, (int)code, reason);
    if (code == ARCP_CLOSE_TRY_AGAIN && !link->is_welcome && !info.closed_by_peer) {
        const arcp__refusal refusal = {.peer = info.peer, .rule = "pending", .code = (int)code};
        arcp__runtime_refused(runtime, &refusal, "closed to make room while it was pending");
    }
    arcp__engine_disconnect(link->shard->engine, arcp__input_now(link->shard), link->link);
    link->link = NULL;
    void (*closed)(void *) = link->closed;
    void *owner = link->user;
    link_free(link);
    if (closed != NULL) {
        closed(owner);
    }
}

static arcp_status serve(arcp_runtime *runtime, arcp_connection *connection,
                         const arcp_serve_options *wanted, arcp_error *err)
{
    arcp__runtime_link *link = arcp__alloc(sizeof *link);
    if (link == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a connection");
    }
    arcp_connection_info info = arcp_connection_info_init();
    connection->ops->info(connection, &info);
    arcp__link_options options = {.user = link,
                                  .is_local = info.local,
                                  .is_encrypted = info.encrypted,
                                  .peer = info.peer,
                                  .waited_ms = info.waited_ms,
                                  .principal = arcp_span_cstr(wanted->principal),
                                  .role = wanted->role};
    link->runtime = runtime;
    link->shard = wanted->principal == NULL || wanted->principal[0] == '\0'
                      ? arcp__front_of(runtime)
                      : arcp__shard_of_principal(runtime, options.principal);
    link->connection = connection;
    link->input_over = wanted->input_over;
    link->closed = wanted->closed;
    link->user = wanted->user;
    link->link = arcp__engine_connect(link->shard->engine, arcp__input_now(link->shard), &options);
    if (link->link == NULL) {
        arcp__free(link);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a connection");
    }
    DL_APPEND2(runtime->links, link, previous, next);
    arcp_connection_callbacks callbacks = {.message = on_message,
                                           .drained = on_drained,
                                           .input_over = on_input_over,
                                           .closed = on_closed,
                                           .user = link};
    connection->ops->set_callbacks(connection, &callbacks);
    return ARCP_OK;
}

arcp_status arcp_runtime_serve(arcp_runtime *runtime, arcp_connection *connection,
                               const arcp_serve_options *given, arcp_error *err)
{
    arcp_serve_options options = arcp_serve_options_init();
    arcp_status status =
        arcp__vtable_check(connection->ops, ARCP__END_OF(arcp_connection_ops, free),
                           sizeof(arcp_connection_ops), "arcp_connection_ops", err);
    if (status != ARCP_OK) {
        return status;
    }
    status = arcp__options_take(&options, given, sizeof options, "arcp_serve_options", err);
    if (status == ARCP_OK) {
        status = serve(runtime, connection, &options, err);
    }
    if (status != ARCP_OK) {
        connection->ops->free(connection);
    }
    return status;
}

/* ---- listeners ---- */

static void on_accepted(void *user, arcp_connection *connection)
{
    const arcp_serve_options options = arcp_serve_options_init();
    if (serve(user, connection, &options, NULL) != ARCP_OK) {
        connection->ops->free(connection);
    }
}

arcp_status arcp__runtime_bound_connections(arcp_runtime *runtime, const arcp_settings *settings,
                                            arcp_error *err)
{
    arcp_admission_limits limits = arcp_admission_limits_init();
    struct rlimit files = {0};
    limits.pending_per_address_max = (uint32_t)settings->limits_pending_per_address;
    limits.pending_max = (uint32_t)settings->limits_pending;
    limits.pending_bytes_max = (size_t)settings->limits_pending_bytes;
    limits.pending_timeout_ms = (uint32_t)settings->limits_hello_timeout_sec * 1000;
    limits.connections_max = UINT32_MAX;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY) {
        /* The reserved descriptors are for agents' pipes, the store and the logs. */
        const uint64_t reserved = settings->limits_reserved_files == 0
                                      ? files.rlim_cur / 2
                                      : settings->limits_reserved_files;
        const uint64_t left = files.rlim_cur > reserved ? files.rlim_cur - reserved : 1;
        limits.connections_max = left < UINT32_MAX ? (uint32_t)left : UINT32_MAX;
    }
    if (runtime->admission == NULL) {
        return arcp_admission_new(&limits, &runtime->admission, err);
    }
    return arcp_admission_set_limits(runtime->admission, &limits, err);
}

static void on_refused(void *user, const char *peer, int status, const char *why)
{
    const arcp__refusal refusal = {.peer = peer,
                                   .rule = status == 0 ? "handshake" : "HTTP",
                                   .code = status,
                                   .is_audited = status == 403};
    arcp__runtime_refused(user, &refusal, why);
}

arcp_status arcp_runtime_listen(arcp_runtime *runtime, const char *url,
                                const arcp_listen_options *given, const char **url_out,
                                arcp_error *err)
{
    arcp__runtime_listener *listener = arcp__alloc(sizeof *listener);
    if (listener == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    const arcp_listener_callbacks callbacks = {
        .accepted = on_accepted, .refused = on_refused, .user = runtime};
    arcp_listen_options options = arcp_listen_options_init();
    arcp_status status =
        arcp__options_take(&options, given, sizeof options, "arcp_listen_options", err);
    if (status == ARCP_OK) {
        options.admission = options.admission == NULL ? runtime->admission : options.admission;
        status = arcp_listen_websocket(runtime->loop, url, &options, &callbacks,
                                       &listener->listener, err);
    }
    if (status != ARCP_OK) {
        arcp__free(listener);
        return status;
    }
    LL_APPEND(runtime->listeners, listener);
    if (url_out != NULL) {
        *url_out = listener->listener->ops->url(listener->listener);
    }
    return ARCP_OK;
}

arcp_status arcp_runtime_reload_tls(arcp_runtime *runtime, arcp_error *err)
{
    arcp_status result = ARCP_OK;
    for (arcp__runtime_listener *listener = runtime->listeners; listener != NULL;
         listener = listener->next) {
        const arcp_status status = listener->listener->ops->reload(listener->listener, err);
        result = result == ARCP_OK ? status : result;
    }
    return result;
}

static void listeners_close(arcp_runtime *runtime)
{
    while (runtime->listeners != NULL) {
        arcp__runtime_listener *listener = runtime->listeners;
        runtime->listeners = listener->next;
        listener->listener->ops->close(listener->listener);
        arcp__free(listener);
    }
}

static void stop(arcp_runtime *runtime, void (*stopped)(void *user), void *user, bool keeps_jobs)
{
    listeners_close(runtime);
    if (!runtime->is_stopping) {
        runtime->is_stopping = true;
        runtime->stopped = stopped;
        runtime->stopped_user = user;
    }
    for (arcp__shard *shard = runtime->shards; shard != arcp__engines_end(runtime); shard++) {
        arcp__engine_shutdown(shard->engine, arcp__input_now(shard), keeps_jobs);
    }
    (void)uv_async_send(&runtime->wake);
}

void arcp_runtime_stop(arcp_runtime *runtime, void (*stopped)(void *user), void *user)
{
    stop(runtime, stopped, user, false);
}

void arcp__runtime_stop_keeping_jobs(arcp_runtime *runtime, void (*stopped)(void *user), void *user)
{
    stop(runtime, stopped, user, true);
}

void arcp__runtime_links_free(arcp_runtime *runtime)
{
    listeners_close(runtime);
    while (runtime->links != NULL) {
        arcp__runtime_link *link = runtime->links;
        if (link->link != NULL) {
            arcp__engine_disconnect(link->shard->engine, arcp__clock_now(), link->link);
        }
        link_free(link);
    }
}
