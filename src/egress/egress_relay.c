/* One connection:
 *
 *   LOOKUP ──> CONNECT ──> GREET ── 200 ──> PASS ── both have ended ──> closed
 *      └──────────┴──────────┴───────────────┴── no response ──> REFUSE ──> closed
 *
 * REFUSE waits for the first byte of the request, answers it, and reads on until the client closes,
 * so that the answer is not lost with a reset. */
#include "egress/egress_relay.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <arcp/secret.h>
#include <utlist.h>

#include "base/alloc.h"
#include "base/directory.h"
#include "egress/egress_side.h"
#include "web/names.h"

#define HEAD_BYTES_MAX  4096u /* of the response to the relay's own request */
#define CONNECT_MS      10000u
#define REFUSE_MS       2000u
#define CONNECTIONS_MAX 1024u /* whose requests have keys */
#define OF_JOB_MAX      256u  /* from the sandbox of one job */
#define LISTEN_BACKLOG  128
#define REFUSAL                                                                                    \
    "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"code\":\"runtime_away\","      \
    "\"message\":\"the runtime is away: try again\"}}"

typedef struct arrival {
    struct arrival *next;
    arcp__relay_job *job; /* a reference */
    int fd;
} arrival;

typedef enum relay_state { LOOKUP, CONNECT, GREET, PASS, REFUSE } relay_state;

typedef struct relayed {
    struct relayed *prev, *next;
    arcp__relay *relay;
    arcp__relay_job *job; /* a reference; NULL: requests have keys */
    relay_state state;
    arcp__egress_side client, server;
    uv_getaddrinfo_t lookup;
    uv_timer_t timer;
    arcp__task task;
    bool is_asked; /* the client has sent something since the server did */
    bool is_refused;
    bool is_looking_up, is_timer_open, is_over;
} relayed;

struct arcp__relay {
    arcp__loop_share *share;
    arcp_buf url;
    arcp__authority target; /* of `url` */
    arcp__tls_context *tls; /* NULL: not needed */
    relayed *connections;
    size_t count; /* of those whose requests have keys */
    uv_tcp_t listener;
    uv_async_t async;
    bool listens, is_over;
    char own_url[64];
    unsigned open_handles;

    pthread_mutex_t lock; /* of what follows */
    size_t references;    /* of the owner, and of jobs */
    arrival *arrivals;
    bool is_closed;
};

struct arcp__relay_job {
    arcp__relay *relay; /* a reference */
    size_t references;  /* under the relay's lock */
    size_t count;       /* of its connections; of the loop's thread */
    arcp_secret *key;
};

/* ---- references ---- */

static void unref(arcp__relay *relay)
{
    (void)pthread_mutex_lock(&relay->lock);
    const bool is_last = --relay->references == 0;
    (void)pthread_mutex_unlock(&relay->lock);
    if (is_last) {
        (void)pthread_mutex_destroy(&relay->lock);
        arcp__free(relay);
    }
}

arcp__relay_job *arcp__relay_job_new(arcp__relay *relay, arcp_span key)
{
    arcp__relay_job *job = arcp__alloc(sizeof *job);
    arcp_secret *secret = arcp_secret_new(key);
    if (job == NULL || secret == NULL) {
        arcp__free(job);
        arcp_secret_free(secret);
        return NULL;
    }
    *job = (arcp__relay_job){.relay = relay, .references = 1, .key = secret};
    (void)pthread_mutex_lock(&relay->lock);
    relay->references++;
    (void)pthread_mutex_unlock(&relay->lock);
    return job;
}

void arcp__relay_job_hold(void *held)
{
    arcp__relay_job *job = held;
    (void)pthread_mutex_lock(&job->relay->lock);
    job->references++;
    (void)pthread_mutex_unlock(&job->relay->lock);
}

void arcp__relay_job_drop(void *held)
{
    arcp__relay_job *job = held;
    if (job == NULL) {
        return;
    }
    arcp__relay *relay = job->relay;
    (void)pthread_mutex_lock(&relay->lock);
    const bool is_last = --job->references == 0;
    (void)pthread_mutex_unlock(&relay->lock);
    if (is_last) {
        arcp_secret_free(job->key);
        arcp__free(job);
        unref(relay);
    }
}

void arcp__relay_job_serve(void *served, unsigned gateway, int fd)
{
    arcp__relay_job *job = served;
    arcp__relay *relay = job->relay;
    arrival *added = arcp__alloc(sizeof *added);
    (void)gateway; /* the Host of each request says it */
    if (added != NULL) {
        arcp__relay_job_hold(job);
        *added = (arrival){.job = job, .fd = fd};
        (void)pthread_mutex_lock(&relay->lock);
        const bool is_closed = relay->is_closed;
        if (!is_closed) {
            LL_APPEND(relay->arrivals, added);
            (void)uv_async_send(&relay->async);
        }
        (void)pthread_mutex_unlock(&relay->lock);
        if (!is_closed) {
            return;
        }
        arcp__relay_job_drop(job);
        arcp__free(added);
    }
    arcp__close(fd);
}

/* ---- the end of a connection ---- */

/* Jobs do not take each other's connections. */
static size_t *count_of(arcp__relay *relay, arcp__relay_job *job)
{
    return job == NULL ? &relay->count : &job->count;
}

static void free_if_idle(relayed *c)
{
    if (c->is_over && !c->is_looking_up && !c->is_timer_open) {
        arcp__relay *relay = c->relay;
        DL_DELETE(relay->connections, c);
        --*count_of(relay, c->job);
        arcp__relay_job_drop(c->job);
        arcp__free(c);
        unref(relay);
    }
}

static void on_timer_closed(uv_handle_t *timer)
{
    relayed *c = timer->data;
    c->is_timer_open = false;
    free_if_idle(c);
}

static void end(relayed *c)
{
    if (c->is_over) {
        return;
    }
    c->is_over = true;
    arcp__task_cancel(c->relay->share, &c->task);
    arcp__egress_side_close(&c->client);
    arcp__egress_side_close(&c->server);
    if (c->is_looking_up) {
        (void)uv_cancel((uv_req_t *)&c->lookup);
    }
    uv_close((uv_handle_t *)&c->timer, on_timer_closed);
}

static void changed(void *user)
{
    relayed *c = user;
    arcp__task_post(c->relay->share, &c->task);
}

static void on_timer(uv_timer_t *timer);

/* The runtime is away: the request, if it comes soon, is answered with that. */
static void refuse(relayed *c)
{
    c->state = REFUSE;
    arcp__egress_side_close(&c->server);
    (void)uv_timer_start(&c->timer, on_timer, CONNECT_MS, 0);
    changed(c);
}

static void on_timer(uv_timer_t *timer)
{
    relayed *c = timer->data;
    if (c->state == REFUSE) {
        end(c);
    } else {
        refuse(c);
    }
}

/* ---- its steps ---- */

static void greet(relayed *c)
{
    const arcp__authority *target = &c->relay->target;
    char host[ARCP__HOST_MAX + 16];
    arcp_buf *out = &c->server.out;
    arcp__authority_format(target, host, sizeof host);
    out->secret = true;
    arcp_buf_append_format(out, "POST " ARCP__RELAY_PATH " HTTP/1.1\r\nHost: %s\r\n", host);
    if (c->job != NULL) {
        arcp_buf_append_cstr(out, "Authorization: Bearer ");
        arcp_buf_append(out, arcp_secret_reveal(c->job->key));
        arcp_buf_append_cstr(out, "\r\n");
    }
    arcp_buf_append_cstr(out, "\r\n");
    c->state = GREET;
}

static void on_connected(void *user, int result)
{
    relayed *c = user;
    arcp__stream *stream = c->server.stream;
    if (result != 0) {
        refuse(c);
        return;
    }
    c->server.stream = NULL;
    if (c->relay->tls != NULL) {
        arcp__stream *lower = stream;
        if (arcp__tls_stream_new(c->relay->share, c->relay->tls, c->relay->target.host, lower,
                                 &stream, NULL) != ARCP_OK) {
            arcp__stream_close(&lower);
            refuse(c);
            return;
        }
    }
    arcp__egress_side_open(&c->server, stream);
    greet(c);
    changed(c);
}

static void on_found(uv_getaddrinfo_t *request, int result, struct addrinfo *found)
{
    relayed *c = request->data;
    const bool is_late = c->is_over || c->state != LOOKUP;
    c->is_looking_up = false;
    if (!is_late && result == 0 && found != NULL &&
        arcp__tcp_stream_connect(c->relay->share, found->ai_addr, on_connected, c,
                                 &c->server.stream) == 0) {
        c->state = CONNECT;
    } else if (!is_late) {
        refuse(c);
    }
    uv_freeaddrinfo(found);
    free_if_idle(c);
}

static void look_up(relayed *c)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    const arcp__authority *target = &c->relay->target;
    char port[8];
    if (c->relay->url.size == 0) {
        refuse(c);
        return;
    }
    (void)snprintf(port, sizeof port, "%u",
                   (unsigned)(target->has_port        ? target->port
                              : c->relay->tls != NULL ? 443
                                                      : 80));
    c->lookup.data = c;
    c->is_looking_up =
        uv_getaddrinfo(c->timer.loop, &c->lookup, on_found, target->host, port, &hints) == 0;
    if (!c->is_looking_up) {
        refuse(c);
    }
}

/* Reads the response to the relay's own request, which has no body. */
static void take_greeting(relayed *c)
{
    static const char well[] = "HTTP/1.1 200 ";
    arcp_buf *in = &c->server.in;
    const char *blank = in->size < 4 ? NULL : memmem(in->data, in->size, "\r\n\r\n", 4);
    if (blank == NULL) {
        if (c->server.has_ended || in->size > HEAD_BYTES_MAX) {
            refuse(c);
        }
        return;
    }
    if (strncmp(in->data, well, sizeof well - 1) != 0) {
        refuse(c); /* the runtime has begun, and does not have its jobs yet */
        return;
    }
    arcp_buf_consume(in, (size_t)(blank - in->data) + 4);
    (void)uv_timer_stop(&c->timer);
    c->state = PASS;
}

/* All that has come at once. False: nothing, or the other side has no room. */
static bool move(arcp__egress_side *from, arcp__egress_side *to)
{
    bool has_moved = false;
    if (from->in.size > 0 && (to->is_broken || to->out.size + to->busy == 0)) {
        const arcp_buf spare = to->out;
        to->out = from->in;
        from->in = spare;
        arcp_buf_clear(&from->in);
        has_moved = true;
    }
    if (from->has_ended && from->in.size == 0 && !to->finishes) {
        to->finishes = true;
    }
    return has_moved;
}

static void pass(relayed *c)
{
    const bool has_answer = c->server.in.size != 0;
    if (move(&c->client, &c->server)) {
        c->is_asked = true;
    }
    if (c->server.has_ended && !has_answer && c->is_asked && !c->client.is_broken) {
        refuse(c);
        return;
    }
    if (has_answer) {
        c->is_asked = false;
        (void)move(&c->server, &c->client);
    }
    if (c->server.has_ended && c->server.in.size == 0) {
        c->client.finishes = true;
    }
    if (c->client.is_broken || c->client.has_ended ||
        (c->server.has_ended && c->server.in.size == 0 && c->client.is_finished)) {
        end(c); /* a client that has closed its half wants nothing more */
    }
}

static void answer_refusal(relayed *c)
{
    arcp__egress_side *client = &c->client;
    const bool has_asked = c->is_asked || client->in.size != 0;
    arcp_buf_clear(&client->in);
    if (has_asked && !c->is_refused) {
        c->is_refused = true;
        arcp_buf_append_format(&client->out,
                               "HTTP/1.1 503 Service Unavailable\r\n"
                               "content-type: application/json\r\ncontent-length: %zu\r\n"
                               "retry-after: 1\r\nx-should-retry: true\r\n"
                               "x-arcp-code: runtime_away\r\nconnection: close\r\n\r\n" REFUSAL,
                               sizeof REFUSAL - 1);
        client->finishes = true;
        (void)uv_timer_start(&c->timer, on_timer, REFUSE_MS, 0);
    }
    if (client->has_ended || client->is_broken) {
        end(c);
    }
}

static void on_task(arcp__task *task)
{
    relayed *c = (relayed *)((char *)task - offsetof(relayed, task));
    if (c->state == GREET) {
        take_greeting(c);
    }
    if (c->state == PASS) {
        pass(c);
    } else if (c->state == REFUSE) {
        answer_refusal(c);
    } else if (c->client.has_ended) {
        end(c);
    }
    if (c->is_over) {
        return;
    }
    bool has_moved = arcp__egress_side_flush(&c->client);
    if (c->server.stream != NULL && c->state != CONNECT) {
        has_moved = arcp__egress_side_flush(&c->server) || has_moved;
        arcp__egress_side_read(&c->server);
    }
    arcp__egress_side_read(&c->client);
    if (has_moved) {
        changed(c);
    }
}

/* ---- its begin ---- */

/* Takes over the stream. `job`: a reference. */
static void begin(arcp__relay *relay, arcp__stream *stream, arcp__relay_job *job)
{
    size_t *count = count_of(relay, job);
    const size_t most = job == NULL ? CONNECTIONS_MAX : OF_JOB_MAX;
    relayed *c = *count >= most ? NULL : arcp__alloc(sizeof *c);
    if (c == NULL) {
        arcp__stream_close(&stream);
        arcp__relay_job_drop(job);
        return;
    }
    c->relay = relay;
    c->job = job;
    c->task.run = on_task;
    c->client.share = c->server.share = relay->share;
    c->client.changed = c->server.changed = changed;
    c->client.user = c->server.user = c;
    DL_APPEND(relay->connections, c);
    ++*count;
    (void)pthread_mutex_lock(&relay->lock);
    relay->references++;
    (void)pthread_mutex_unlock(&relay->lock);
    (void)uv_timer_init(arcp__loop_share_loop(relay->share), &c->timer);
    c->timer.data = c;
    c->is_timer_open = true;
    (void)uv_timer_start(&c->timer, on_timer, CONNECT_MS, 0);
    arcp__egress_side_open(&c->client, stream);
    look_up(c);
}

static void on_async(uv_async_t *async)
{
    arcp__relay *relay = async->data;
    (void)pthread_mutex_lock(&relay->lock);
    arrival *arrivals = relay->arrivals;
    relay->arrivals = NULL;
    (void)pthread_mutex_unlock(&relay->lock);
    while (arrivals != NULL) {
        arrival *taken = arrivals;
        arcp__stream *stream = NULL;
        LL_DELETE(arrivals, taken);
        if (!relay->is_over &&
            arcp__fd_stream_new(relay->share, taken->fd, &stream, NULL) == ARCP_OK) {
            begin(relay, stream, taken->job);
        } else {
            arcp__close(taken->fd);
            arcp__relay_job_drop(taken->job);
        }
        arcp__free(taken);
    }
}

static void on_connection(uv_stream_t *listener, int status)
{
    arcp__relay *relay = listener->data;
    struct sockaddr_storage peer;
    arcp__stream *stream = NULL;
    if (status == 0 && arcp__tcp_stream_accept(relay->share, listener, &peer, &stream) == 0) {
        begin(relay, stream, NULL);
    }
}

arcp_status arcp__relay_listen(arcp__relay *relay, const char **url, arcp_error *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int size = sizeof address;
    *url = relay->own_url;
    if (relay->listens) {
        return ARCP_OK;
    }
    int result = uv_tcp_bind(&relay->listener, (const struct sockaddr *)&address, 0);
    if (result == 0) {
        result = uv_listen((uv_stream_t *)&relay->listener, LISTEN_BACKLOG, on_connection);
    }
    if (result == 0) {
        result = uv_tcp_getsockname(&relay->listener, (struct sockaddr *)&address, &size);
    }
    if (result != 0) {
        return arcp_error_set(err, ARCP_E_IO, "cannot listen for calls of agents: %s",
                              uv_strerror(result));
    }
    relay->listens = true;
    (void)snprintf(relay->own_url, sizeof relay->own_url, "http://127.0.0.1:%u",
                   (unsigned)ntohs(address.sin_port));
    return ARCP_OK;
}

/* ---- the relay ---- */

/* Connections that are on their way to the old target do not have its name and its TLS any more. */
static void refuse_unconnected(const arcp__relay *relay)
{
    for (relayed *c = relay->connections; c != NULL; c = c->next) {
        if (!c->is_over && (c->state == LOOKUP || c->state == CONNECT)) {
            refuse(c);
        }
    }
}

arcp_status arcp__relay_set_target(arcp__relay *relay, arcp_span url, const char *ca_file,
                                   arcp_error *err)
{
    const arcp_span plain = ARCP_SPAN_LITERAL("http://");
    const arcp_span secure = ARCP_SPAN_LITERAL("https://");
    const bool has_tls = arcp_span_starts_with(url, secure);
    arcp__authority target = {.has_port = false};
    arcp__tls_context *tls = NULL;
    if (arcp_span_equal(arcp_buf_span(&relay->url), url)) {
        return ARCP_OK;
    }
    if (url.size != 0 &&
        ((!has_tls && !arcp_span_starts_with(url, plain)) ||
         !arcp__authority_parse(arcp_span_from(url, has_tls ? secure.size : plain.size), false,
                                &target) ||
         (!has_tls && !arcp__authority_is_loopback(&target)))) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "the URL of the gateways is not https, nor of this machine");
    }
    if (has_tls) {
        const arcp_status status = arcp__tls_context_new_client(ca_file, &tls, err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    refuse_unconnected(relay);
    arcp__tls_context_free(relay->tls);
    relay->tls = tls;
    relay->target = target;
    arcp_buf_clear(&relay->url);
    arcp_buf_append(&relay->url, url);
    return relay->url.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

arcp__relay *arcp__relay_new(arcp__loop_share *share)
{
    arcp__relay *relay = arcp__alloc(sizeof *relay);
    uv_loop_t *loop = arcp__loop_share_loop(share);
    if (relay == NULL || uv_async_init(loop, &relay->async, on_async) != 0) {
        arcp__free(relay);
        return NULL;
    }
    (void)uv_tcp_init(loop, &relay->listener);
    relay->async.data = relay->listener.data = relay;
    uv_unref((uv_handle_t *)&relay->async);
    relay->share = arcp__loop_share_ref(share);
    relay->url = arcp_buf_init();
    relay->references = 1;
    relay->open_handles = 2;
    (void)pthread_mutex_init(&relay->lock, NULL);
    return relay;
}

static void on_closed(uv_handle_t *handle)
{
    arcp__relay *relay = handle->data;
    if (--relay->open_handles == 0) {
        unref(relay);
    }
}

void arcp__relay_free(arcp__relay *relay)
{
    if (relay == NULL) {
        return;
    }
    relay->is_over = true;
    (void)pthread_mutex_lock(&relay->lock);
    relay->is_closed = true;
    (void)pthread_mutex_unlock(&relay->lock);
    on_async(&relay->async);
    for (relayed *c = relay->connections, *next = NULL; c != NULL; c = next) {
        next = c->next;
        end(c);
    }
    arcp_buf_fini(&relay->url);
    arcp__tls_context_free(relay->tls);
    relay->tls = NULL;
    arcp__loop_share_unref(relay->share);
    uv_close((uv_handle_t *)&relay->listener, on_closed);
    uv_close((uv_handle_t *)&relay->async, on_closed);
}
