/* Requests: whose they are, whether they are well formed, and their way to a service and back.
 *
 * Each refusal here comes before a service knows of the request. Host and Origin are checked first,
 * so that a page in a browser learns nothing about the gateway. */
#include "gateway/gateway_parts.h"

#include <assert.h>
#include <stdio.h>

#include <arcp/secret.h>

#include "base/clock.h"

#define HEAD_BYTES_MAX 65536u
#define RELAY_PATH     "/arcp-relay"
#define AWAY           "the runtime is away: try again"
#define LINGER_MS      2000u
/* Connections of the listener, and of a sandbox; idle ones are closed for others. */
#define CONNECTIONS_MAX     16384u
#define JOB_CONNECTIONS_MAX 256u
#define PENDING_BYTES_MAX   ((size_t)64 * 1024 * 1024)

/* ---- refusing a request ---- */

static void refuse(arcp__gateway_site *site, arcp__web_exchange *exchange, int status,
                   const char *code, const char *message)
{
    const arcp__web_head *head = arcp__web_exchange_head(exchange);
    arcp_buf body = arcp_buf_init();
    arcp_buf headers = arcp_buf_init();
    arcp__gateway_refusal_write(arcp__gateway_form_of(head), status, code, arcp_span_cstr(message),
                                &body, &headers);
    if (status == 426) {
        arcp_buf_append_cstr(&headers, "Upgrade: HTTP/1.1\r\n");
    }
    arcp_buf_append_byte(&headers, '\0');
    const bool is_written = !body.failed && !headers.failed;
    const arcp__web_response response = {.status = is_written ? status : 503,
                                         .type = "application/json",
                                         .headers = is_written ? headers.data : NULL,
                                         .body = arcp_buf_span(&body),
                                         .ends = status == 421 || status == 413};
    arcp__gateway_count_call(site->gateway, true);
    arcp__web_exchange_respond(exchange, &response);
    arcp_buf_fini(&body);
    arcp_buf_fini(&headers);
}

/* ---- connections that a worker passes on (egress/egress_relay.h) ---- */

typedef enum relayed_from {
    NOT_RELAYED,
    OF_A_SANDBOX, /* of the job with a key of this digest; a key that is sent is not read */
    WITH_KEYS     /* each request has one */
} relayed_from;

/* The label of a connection. */
typedef struct relayed_label {
    unsigned char from; /* relayed_from */
    unsigned char digest[ARCP__GATEWAY_DIGEST_SIZE];
} relayed_label;
_Static_assert(sizeof(relayed_label) <= ARCP__WEB_LABEL_SIZE, "a label is too large");

static relayed_label *label_of(arcp__web_exchange *exchange)
{
    return (relayed_label *)arcp__web_exchange_label(exchange);
}

/* ---- what a request's head must be ---- */

/* The kind of gateway that a path belongs to. */
static arcp__gateway_kind kind_of(arcp_span path)
{
    return arcp_span_starts_with(path, ARCP_SPAN_LITERAL("/v1/")) ? ARCP__GATEWAY_LLM
                                                                  : ARCP__GATEWAY_MCP;
}

/* Claude Code asks this before its first call, without a key, of either gateway. */
static bool is_first_question(const arcp__web_head *head)
{
    return head->method == ARCP__WEB_HEAD && arcp_span_equal_cstr(arcp__web_head_path(head), "/");
}

/* Whether the Host header names the gateway, where the request has arrived. */
static bool is_for_us(const arcp__gateway_site *site, const relayed_label *label,
                      const arcp__web_head *head, arcp_span host)
{
    bool is_valid = false;
    arcp__authority name;
    if (site->job == NULL && label->from == WITH_KEYS) {
        return arcp__authority_parse(host, false, &name) && arcp__authority_is_loopback(&name);
    }
    if (site->job == NULL && label->from == NOT_RELAYED) {
        return arcp__web_names_allow_host(&site->gateway->names, host, &is_valid);
    }
    if (!arcp__authority_parse(host, false, &name) || (name.has_port && name.port != 80)) {
        return false;
    }
    const bool is_llm = strcmp(name.host, "llm.arcp") == 0;
    const arcp__gateway_kind of =
        site->job != NULL ? site->kind : kind_of(arcp__web_head_path(head));
    return (is_llm || strcmp(name.host, "mcp.arcp") == 0) &&
           (is_llm == (of == ARCP__GATEWAY_LLM) || (site->job == NULL && is_first_question(head)));
}

/* The secret of "Authorization: Bearer ..."; empty: another scheme. */
static arcp_span bearer(arcp_span value)
{
    const arcp_span scheme = ARCP_SPAN_LITERAL("Bearer ");
    arcp_span key = arcp_span_from(value, scheme.size);
    if (!arcp__web_equal(arcp_span_first(value, scheme.size), scheme)) {
        return arcp_span_make(NULL, 0);
    }
    while (key.size != 0 && key.data[0] == ' ') {
        key = arcp_span_from(key, 1);
    }
    return key;
}

/* The job of a request at the listener; NULL: *why says why there is none, or *is_early is set: the
 * job of the key has not started. */
static arcp__gateway_job *find_job(const arcp__gateway_site *site, const relayed_label *label,
                                   const arcp__web_head *head, const char **why, bool *is_early)
{
    arcp_span authorization = {NULL, 0};
    arcp_span plain = {NULL, 0};
    const size_t bearers = arcp__web_head_find(head, "Authorization", &authorization);
    const size_t plains = arcp__web_head_find(head, "x-api-key", &plain);
    const arcp_span token = bearer(authorization);
    *why = "the key is not that of a running job";
    if (label->from == OF_A_SANDBOX) {
        return arcp__gateway_find_digest(site->gateway, label->digest, is_early);
    }
    if (bearers > 1 || plains > 1) {
        *why = "a key header is repeated";
        return NULL;
    }
    if (bearers == 1 && token.size == 0) {
        *why = "the Authorization header has no bearer key";
        return NULL;
    }
    if (bearers == 0 && plains == 0) {
        *why = "there is no key: expected Authorization: Bearer or x-api-key";
        return NULL;
    }
    if (bearers == 1 && plains == 1 && !arcp_bytes_equal_constant_time(token, plain)) {
        *why = "Authorization and x-api-key have different keys";
        return NULL;
    }
    return arcp__gateway_find(site->gateway, bearers == 1 ? token : plain, is_early);
}

/* Whether a client wants another protocol on this connection. `h2c` is only an offer, which some
 * clients make with each request. */
static bool wants_upgrade(const arcp__web_head *head)
{
    arcp_span value = {NULL, 0};
    const size_t count = arcp__web_head_find(head, "Upgrade", &value);
    return count > 1 || (count == 1 && !arcp__web_equal(value, ARCP_SPAN_LITERAL("h2c")));
}

static bool is_encoded(const arcp__web_head *head)
{
    arcp_span value = {NULL, 0};
    const size_t count = arcp__web_head_find(head, "Content-Encoding", &value);
    return count > 1 || (count == 1 && !arcp__web_equal(value, ARCP_SPAN_LITERAL("identity")));
}

/* Checks all of a head but its key. False: the request was refused. */
static bool check_head(arcp__gateway_site *site, arcp__web_exchange *exchange)
{
    const arcp__web_head *head = arcp__web_exchange_head(exchange);
    const uint64_t most = site->gateway->limits.request_bytes;
    arcp_span value = {NULL, 0};
    (void)arcp__web_head_find(head, "Host", &value); /* there is exactly one (web/server.c) */
    if (!is_for_us(site, label_of(exchange), head, value)) {
        refuse(site, exchange, 421, "misdirected", "the Host header does not name this gateway");
    } else if (arcp__web_head_find(head, "Origin", &value) != 0) {
        refuse(site, exchange, 403, "origin", "pages of browsers have no access (Origin header)");
    } else if (wants_upgrade(head)) {
        refuse(site, exchange, 426, "upgrade", "this gateway speaks HTTP/1.1 only");
    } else if (is_encoded(head)) {
        refuse(site, exchange, 415, "content_encoding", "a request must not have Content-Encoding");
    } else if (head->framing == ARCP__WEB_BY_LENGTH && head->body_length > most) {
        refuse(site, exchange, 413, "request_bytes", "the request is larger than request_bytes");
    } else {
        return true;
    }
    return false;
}

/* ---- a call's life ---- */

static void call_free(arcp__gateway_call *call)
{
    arcp__gateway_job *job = call->job;
    arcp__gateway_job_parts *parts = arcp__gateway_parts(job);
    DL_DELETE(parts->calls, call);
    arcp__gateway_call_forget_body(call);
    arcp__free(call);
    arcp__gateway_job_leave(job);
}

/* The response is complete, or the client is gone: the exchange is not ours any more. */
static void part(arcp__gateway_call *call)
{
    *arcp__web_exchange_state(call->exchange) = NULL;
    call->exchange = NULL;
}

static arcp__gateway_call *call_new(arcp__gateway_job *job, arcp__gateway_kind kind,
                                    arcp__web_exchange *exchange)
{
    const arcp__web_head *head = arcp__web_exchange_head(exchange);
    const arcp_span path = arcp__web_head_path(head);
    arcp__gateway *gateway = job->gateway;
    arcp__gateway_call *call = arcp__alloc(sizeof *call + path.size);
    if (call == NULL) {
        return NULL;
    }
    char *copy = (char *)(call + 1);
    memcpy(copy, path.data, path.size);
    char ulid[ARCP__ULID_SIZE];
    arcp__ulid_next(&gateway->ids, arcp__clock_now().wall_ns / ARCP_NS_PER_MS, ulid);
    (void)snprintf(call->id, sizeof call->id, "call_%.*s", ARCP__ULID_SIZE, ulid);
    call->job = job;
    call->kind = kind;
    call->exchange = exchange;
    call->path = arcp_span_make(copy, path.size);
    call->form = arcp__gateway_form_of(head);
    DL_APPEND(arcp__gateway_parts(job)->calls, call);
    *arcp__web_exchange_state(exchange) = call;
    arcp__gateway_count_call(gateway, false);
    return call;
}

/* Passes a complete request to its service, which may free the call. */
static void request(arcp__gateway_call *call)
{
    arcp__gateway *gateway = call->job->gateway;
    call->is_requested = true;
    arcp__gateway_service_of(gateway, call->kind)->request(gateway->services[call->kind], call);
}

/* The first request of a worker's connection says how the others come. */
static void take_relay(arcp__gateway_site *site, arcp__web_exchange *exchange)
{
    const arcp__web_head *head = arcp__web_exchange_head(exchange);
    relayed_label *label = label_of(exchange);
    arcp_span key = {NULL, 0};
    const char *why = NULL;
    bool is_early = false;
    if (arcp__web_head_find(head, "Authorization", &key) == 0) {
        label->from = WITH_KEYS;
    } else if (find_job(site, label, head, &why, &is_early) != NULL) {
        label->from = OF_A_SANDBOX;
        if (!arcp__gateway_digest(bearer(key), label->digest)) {
            label->from = NOT_RELAYED;
        }
    }
    if (label->from != NOT_RELAYED) {
        arcp__web_exchange_respond(exchange, &(arcp__web_response){.status = 200});
    } else if (is_early) {
        refuse(site, exchange, 503, "job_not_started", "the job of the key has not started");
    } else {
        refuse(site, exchange, 401, "unauthenticated", why == NULL ? "out of memory" : why);
    }
}

static void begin(void *user, arcp__web_exchange *exchange)
{
    arcp__gateway_site *site = user;
    arcp__gateway *gateway = site->gateway;
    const arcp__web_head *head = arcp__web_exchange_head(exchange);
    const arcp_span path = arcp__web_head_path(head);
    const char *why = "the job has ended";
    bool is_closed = false;
    bool is_early = false;
    if (!check_head(site, exchange)) {
        return;
    }
    if (atomic_load(&gateway->is_leaving)) {
        refuse(site, exchange, 503, "runtime_away", AWAY);
        return;
    }
    if (is_first_question(head)) {
        arcp__web_exchange_respond(exchange, &(arcp__web_response){.status = 200});
        return;
    }
    const relayed_label *label = label_of(exchange);
    if (site->job == NULL && label->from == NOT_RELAYED && head->method == ARCP__WEB_OTHER_METHOD &&
        arcp_span_equal_cstr(path, RELAY_PATH)) {
        take_relay(site, exchange);
        return;
    }
    arcp__gateway_job *job =
        site->job == NULL ? find_job(site, label, head, &why, &is_early) : site->job;
    const arcp__gateway_kind kind = kind_of(path);
    if (is_early) {
        refuse(site, exchange, 503, "job_not_started", "the job of the key has not started");
    } else if (job == NULL) {
        refuse(site, exchange, 401, "unauthenticated", why);
    } else if (gateway->services[kind] == NULL || (site->job != NULL && site->kind != kind)) {
        refuse(site, exchange, 404, "not_found", "there is nothing at this path");
    } else if (!arcp__gateway_job_enter(job, &is_closed)) {
        if (is_closed) {
            refuse(site, exchange, 401, "unauthenticated", why);
        } else {
            refuse(site, exchange, 429, "too_many_calls", "the job has too many calls at once");
        }
    } else {
        arcp__gateway_call *call = call_new(job, kind, exchange);
        if (call == NULL) {
            arcp__gateway_job_leave(job);
            refuse(site, exchange, 503, "buffers", "out of memory");
        } else if (head->framing == ARCP__WEB_NO_BODY) {
            request(call);
        }
    }
}

/* Refuses a call whose body is not complete. */
static void refuse_body(arcp__gateway_call *call, int status, const char *code, const char *why)
{
    arcp__gateway_call_refuse(call, status, code, arcp_span_cstr(why));
    arcp__gateway_count_call(call->job->gateway, true);
    call_free(call);
}

static void body(void *user, arcp__web_exchange *exchange, arcp_span piece, bool is_last)
{
    arcp__gateway_call *call = *arcp__web_exchange_state(exchange);
    (void)user;
    if (call == NULL) {
        return; /* it was refused */
    }
    arcp__gateway *gateway = call->job->gateway;
    if (call->body.size + piece.size > gateway->limits.request_bytes) {
        refuse_body(call, 413, "request_bytes", "the request is larger than request_bytes");
        return;
    }
    if (!arcp__gateway_buffer_take(gateway, piece.size)) {
        refuse_body(call, 503, "buffers", "the requests of all jobs are too large right now");
        return;
    }
    call->buffered += piece.size;
    arcp_buf_append(&call->body, piece);
    if (call->body.failed) {
        refuse_body(call, 503, "buffers", "out of memory");
    } else if (is_last) {
        request(call);
    }
}

static void drained(void *user, arcp__web_exchange *exchange)
{
    const arcp__gateway_site *site = user;
    arcp__gateway_call *call = *arcp__web_exchange_state(exchange);
    if (call != NULL && call->is_requested) {
        arcp__gateway_service_of(site->gateway, call->kind)
            ->drained(site->gateway->services[call->kind], call);
    }
}

static void dropped(void *user, arcp__web_exchange *exchange)
{
    const arcp__gateway_site *site = user;
    arcp__gateway_call *call = *arcp__web_exchange_state(exchange);
    if (call == NULL) {
        return;
    }
    part(call);
    if (!call->is_requested) {
        call_free(call);
        return;
    }
    arcp__gateway_service_of(site->gateway, call->kind)
        ->dropped(site->gateway->services[call->kind], call);
}

void arcp__gateway_call_stop(arcp__gateway_call *call, arcp_status why)
{
    arcp__gateway *gateway = call->job->gateway;
    call->was_ended = true;
    if (call->is_requested) {
        arcp__gateway_service_of(gateway, call->kind)
            ->end(gateway->services[call->kind], call, why);
    } else {
        if (why == ARCP_E_IO) {
            refuse_body(call, 503, "runtime_away", AWAY);
        } else {
            refuse_body(call, why == ARCP_E_LEASE_EXPIRED ? 403 : 401,
                        why == ARCP_E_LEASE_EXPIRED ? "lease_expired" : "unauthenticated",
                        why == ARCP_E_LEASE_EXPIRED ? "the job's lease has expired"
                                                    : "the job has ended");
        }
    }
}

/* ---- for services ---- */

void arcp__gateway_call_respond(arcp__gateway_call *call, const arcp__web_response *response)
{
    arcp__web_exchange *exchange = call->exchange;
    if (exchange == NULL) {
        return;
    }
    if (!response->is_streamed) {
        part(call);
    }
    arcp__web_exchange_respond(exchange, response);
}

void arcp__gateway_call_write(arcp__gateway_call *call, arcp_span piece)
{
    if (call->exchange != NULL) {
        arcp__web_exchange_write(call->exchange, piece);
    }
}

void arcp__gateway_call_end(arcp__gateway_call *call)
{
    arcp__web_exchange *exchange = call->exchange;
    if (exchange != NULL) {
        part(call);
        arcp__web_exchange_end(exchange);
    }
}

void arcp__gateway_call_break(arcp__gateway_call *call)
{
    arcp__web_exchange *exchange = call->exchange;
    if (exchange != NULL) {
        part(call);
        arcp__web_exchange_fail(exchange, "the response cannot be completed");
    }
}

size_t arcp__gateway_call_unsent(const arcp__gateway_call *call)
{
    return call->exchange == NULL ? 0 : arcp__web_exchange_unsent(call->exchange);
}

void arcp__gateway_call_refuse(arcp__gateway_call *call, int status, const char *code,
                               arcp_span message)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf headers = arcp_buf_init();
    arcp__gateway_refusal_write(call->form, status, code, message, &text, &headers);
    arcp_buf_append_byte(&headers, '\0');
    const bool is_written = !text.failed && !headers.failed;
    const arcp__web_response response = {.status = is_written ? status : 503,
                                         .type = "application/json",
                                         .headers = is_written ? headers.data : NULL,
                                         .body = arcp_buf_span(&text)};
    arcp__gateway_call_respond(call, &response);
    arcp_buf_fini(&text);
    arcp_buf_fini(&headers);
}

void arcp__gateway_call_forget_body(arcp__gateway_call *call)
{
    arcp_buf_fini(&call->body);
    arcp__gateway_buffer_give(call->job->gateway, call->buffered);
    call->buffered = 0;
}

void arcp__gateway_call_done(arcp__gateway_call *call)
{
    assert(call->is_requested);
    arcp__gateway_call_break(call);
    call_free(call);
}

/* ---- servers ---- */

static const arcp__web_route route = {.methods = "GET, HEAD, POST, DELETE",
                                      .body_bytes_max = UINT64_MAX,
                                      .begin = begin,
                                      .body = body,
                                      .drained = drained,
                                      .dropped = dropped,
                                      .watches_peer = true};

static void on_site_freed(void *user)
{
    arcp__free(user);
}

static arcp_admission *admission_new(const arcp__gateway *gateway, uint32_t connections)
{
    arcp_admission_limits limits = arcp_admission_limits_init();
    arcp_admission *admission = NULL;
    limits.pending_per_address_max = limits.pending_max = limits.connections_max = connections;
    limits.pending_bytes_max = PENDING_BYTES_MAX;
    limits.pending_timeout_ms = gateway->limits.idle_timeout_ms;
    return arcp_admission_new(&limits, &admission, NULL) == ARCP_OK ? admission : NULL;
}

arcp_status arcp__gateway_site_open(arcp__gateway *gateway, const arcp__gateway_site *wanted,
                                    const arcp__authority *listen,
                                    const arcp__gateway_options *options, arcp__gateway_site **out,
                                    arcp_error *err)
{
    static const char *const any[] = {"*"};
    arcp__gateway_site *site = arcp__alloc(sizeof *site);
    arcp_admission *admission =
        admission_new(gateway, listen == NULL ? JOB_CONNECTIONS_MAX : CONNECTIONS_MAX);
    if (site == NULL || admission == NULL) {
        arcp_admission_unref(admission);
        arcp__free(site);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a gateway");
    }
    *site = *wanted;
    /* All hosts and origins reach `begin`, which refuses others in its own way. */
    const arcp__web_server_options server = {
        .listen = listen,
        .certificate_file = options == NULL ? NULL : options->certificate_file,
        .key_file = options == NULL ? NULL : options->key_file,
        .hosts = any,
        .host_count = 1,
        .origins = any,
        .origin_count = 1,
        .admission = admission,
        .head_bytes_max = HEAD_BYTES_MAX,
        .linger_ms = LINGER_MS,
        .routes = &route,
        .route_count = 1,
        .freed = on_site_freed,
        .user = site,
    };
    const arcp_status status = arcp__web_server_open(&gateway->loop, &server, &site->server, err);
    arcp_admission_unref(admission);
    if (status != ARCP_OK) {
        arcp__free(site);
        return status;
    }
    *out = site;
    return ARCP_OK;
}

void arcp__gateway_site_close(arcp__gateway_site **site)
{
    if (*site != NULL) {
        arcp__web_server_close((*site)->server);
        *site = NULL;
    }
}
