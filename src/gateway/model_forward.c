/* The life of a call after it was admitted: hold, forward, pass on, settle. */
#include "gateway/model_counts.h"
#include "gateway/model_parts.h"

#include <inttypes.h>

#include "base/hex.h"
#include "base/random.h"
#include "core/authority.h"

#define UNSENT_MAX    ((size_t)256 << 10) /* of a response that its client has not read */
#define READ_ON_MS    30000               /* after the client went away, for the usage */
#define OPENAI_PREFIX 3                   /* "/v1", which OpenAI's URLs have already */

/* ---- the end of a call ---- */

static void stop_upstream(model_call *m)
{
    if (m->upstream != NULL) {
        arcp__gateway_client_ops(m->service->gateway)->cancel(m->upstream);
        m->upstream = NULL;
    }
}

/* Charges the answer; an error of the provider costs nothing. */
static void settle(model_call *m)
{
    const bool is_charged = m->stage == MODEL_UPSTREAM && !m->is_error && !m->counts_only;
    const bool has_failed = m->is_error || m->status == 0;
    arcp__model_count_outcome(m->service->counts, m->found[m->at].provider->name,
                              has_failed ? MODEL_FAILED : MODEL_ANSWERED);
    if (is_charged) {
        arcp__model_settle(m);
    } else {
        arcp__model_fail(m, NULL);
    }
}

/* The answer is complete, or cannot be. */
static void finish(model_call *m, bool is_complete)
{
    stop_upstream(m);
    if (is_complete && m->call->exchange != NULL) {
        arcp__model_pass_rest(m);
    }
    settle(m);
    if (is_complete) {
        arcp__gateway_call_end(m->call);
    } else if (m->status != 0) {
        arcp__gateway_call_break(m->call);
    }
    arcp__model_done(m);
}

/* ---- the next model ---- */

static void start(model_call *m);

/* Goes on to the next model of an alias. False: there is none, or the client does not wait. */
static bool go_on(model_call *m)
{
    if (m->at + 1 >= m->found_count || m->call->exchange == NULL) {
        return false;
    }
    arcp_error err = {0};
    stop_upstream(m);
    arcp__model_fail(m, m->status == 0 ? "unreachable" : NULL);
    m->stage = MODEL_ADMIT;
    m->status = 0;
    m->is_error = false;
    m->at++;
    if (m->found[m->at].provider != m->found[m->at - 1].provider && !arcp__model_read(m, &err)) {
        arcp__model_refuse_body(m, &err);
        arcp__model_done(m);
        return true;
    }
    start(m);
    return true;
}

/* ---- events of the provider's answer ---- */

static bool is_stream(const arcp__web_client_head *head)
{
    bool found = false;
    for (size_t i = 0; i < head->field_count; i++) {
        if (arcp__web_equal(head->fields[i].name, ARCP_SPAN_LITERAL("content-type"))) {
            const arcp_span type = ARCP_SPAN_LITERAL("text/event-stream");
            found = arcp__web_equal(arcp_span_first(head->fields[i].value, type.size), type);
        }
    }
    return found;
}

static bool may_go_on_after(unsigned status)
{
    return status == 429 || status == 500 || status == 502 || status == 503 || status == 529;
}

static void on_head(void *user, const arcp__web_client_head *head)
{
    model_call *m = user;
    m->status = head->status;
    m->is_error = head->status < 200 || head->status >= 300;
    arcp__model_count_first_byte(
        m->service->counts, arcp__gateway_now(m->service->gateway).mono_ns - m->sent_at.mono_ns);
    if (m->is_error && may_go_on_after(head->status) && go_on(m)) {
        return;
    }
    if (!m->is_error && !m->counts_only) {
        arcp__llm_tap_init(&m->tap, m->route, is_stream(head));
        if (m->found[m->at].provider->other_tokens_per_byte != 0) {
            m->tap.other_tokens_per_byte = m->found[m->at].provider->other_tokens_per_byte;
        }
        m->has_tap = true;
        m->filters = m->tap.is_stream && m->route == ARCP__LLM_ROUTE_CHAT && m->asked.streams &&
                     !m->asked.wants_usage;
    }
    if (m->call->exchange != NULL) {
        arcp__model_begin_response(m, head);
    }
}

static bool on_body(void *user, arcp_span piece)
{
    model_call *m = user;
    if (m->has_tap) {
        arcp__llm_tap_feed(&m->tap, piece);
    }
    m->answer_bytes += piece.size;
    if (m->answer_bytes > arcp__gateway_limits_of(m->service->gateway)->response_bytes) {
        finish(m, false);
        return true;
    }
    if (m->call->exchange != NULL) {
        arcp__model_pass(m, piece);
        m->is_paused = arcp__gateway_call_unsent(m->call) > UNSENT_MAX;
    }
    return !m->is_paused;
}

static void on_done(void *user, const arcp__web_client_end *end)
{
    model_call *m = user;
    m->upstream = NULL;
    if (end->outcome == ARCP__WEB_NOT_SENT) {
        if (!go_on(m)) {
            arcp__model_fail(m, "unreachable");
            arcp__model_count_outcome(m->service->counts, m->found[m->at].provider->name,
                                      MODEL_FAILED);
            arcp__gateway_call_refuse(m->call, 502, "provider_unreachable",
                                      arcp_span_cstr(end->problem));
            arcp__model_done(m);
        }
        return;
    }
    if (end->outcome == ARCP__WEB_LOST && m->status == 0) {
        arcp__gateway_call_refuse(m->call, 502, "provider_lost", arcp_span_cstr(end->problem));
    }
    finish(m, end->outcome == ARCP__WEB_DONE);
}

static const arcp__web_call_events events = {on_head, on_body, on_done};

/* ---- forwarding ---- */

static arcp_status send_upstream(model_call *m, arcp_error *err)
{
    const arcp__gateway_limits *limits = arcp__gateway_limits_of(m->service->gateway);
    const arcp__web_client_ops *ops = arcp__gateway_client_ops(m->service->gateway);
    const arcp__model_provider *provider = m->found[m->at].provider;
    arcp_buf url = arcp_buf_init();
    arcp_buf headers = arcp_buf_secret_init();
    arcp_buf_append(&url, provider->url);
    arcp_buf_append(
        &url, arcp_span_from(m->call->path,
                             provider->dialect == ARCP__LLM_DIALECT_OPENAI ? OPENAI_PREFIX : 0));
    arcp__model_request_headers(m, &headers);
    const arcp__web_client_request request = {.method = "POST",
                                              .url = arcp_buf_cstr(&url),
                                              .headers = arcp_buf_span(&headers),
                                              .body = arcp_buf_span(&m->body),
                                              .first_byte_ms = limits->first_byte_ms,
                                              .idle_ms = limits->idle_timeout_ms,
                                              .events = &events,
                                              .user = m};
    arcp_status status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    if (request.url != NULL && !headers.failed) {
        status = ops->send(arcp__gateway_client(m->service->gateway), &request, &m->upstream, err);
    }
    arcp_buf_fini(&url);
    arcp_buf_fini(&headers);
    return status;
}

static void refuse_and_end(model_call *m, int status, const char *code, const char *message)
{
    arcp__model_release(m);
    arcp__model_refuse(m, status, code, "%s", message);
    arcp__model_done(m);
}

/* Whether the provider has as many calls under way as it may have. */
static bool is_busy(const model_call *m)
{
    const arcp__model_provider *provider = m->found[m->at].provider;
    uint64_t count = 0;
    for (const model_call *other = m->service->calls; other != NULL; other = other->next) {
        count += other->stage == MODEL_UPSTREAM &&
                 arcp_span_equal(other->found[other->at].provider->name, provider->name);
    }
    return provider->calls_at_once != 0 && count >= provider->calls_at_once;
}

/* Whether a call waits that must be sent before this one. */
static bool waits_before(const model_call *m)
{
    for (const model_call *other = m->service->calls; other != NULL; other = other->next) {
        if (other != m && other->stage == MODEL_TURN && other->turn_ms <= m->turn_ms &&
            arcp_span_equal(other->found[other->at].provider->name,
                            m->found[m->at].provider->name)) {
            return true;
        }
    }
    return false;
}

/* The call may go: its hold is given, or it needs none. */
static void send_now(model_call *m)
{
    arcp_error err = {0};
    if (arcp_authority_is_expired(m->call->job->authority,
                                  arcp__gateway_now(m->service->gateway))) {
        refuse_and_end(m, 403, "lease_expired", "the job's lease has expired");
        return;
    }
    if (!arcp__model_write_body(m) ||
        !arcp__gateway_buffer_take(m->service->gateway, m->body.size)) {
        refuse_and_end(m, 503, "buffers", "the gateway has no memory for the call right now");
        return;
    }
    m->buffered += m->body.size;
    m->stage = MODEL_UPSTREAM;
    m->sent_at = arcp__gateway_now(m->service->gateway);
    if (m->call->job->makes_spans) {
        uint8_t bytes[ARCP__SPAN_ID_SIZE / 2];
        arcp__random(bytes, sizeof bytes);
        bytes[0] |= 1; /* it must not be zero */
        arcp__hex_format(bytes, sizeof bytes, m->span_id);
    }
    if (send_upstream(m, &err) != ARCP_OK) {
        m->stage = MODEL_LINE; /* nothing was sent */
        refuse_and_end(m, 502, "provider_unreachable", err.message);
    }
}

/* Sends the call, or has it wait until its provider has fewer. */
static void forward(model_call *m)
{
    m->turn_ms =
        arcp__model_now_ms(m->service) + arcp__gateway_limits_of(m->service->gateway)->hold_wait_ms;
    if (is_busy(m) || waits_before(m)) {
        m->stage = MODEL_TURN;
    } else {
        send_now(m);
    }
}

void arcp__model_stored(model_call *m)
{
    if (m->stage == MODEL_STORE) {
        forward(m);
    }
}

void arcp__model_turns(model_service *service)
{
    model_call *m = service->calls;
    while (m != NULL) {
        const bool is_late = m->stage == MODEL_TURN && arcp__model_now_ms(service) >= m->turn_ms;
        if (m->stage != MODEL_TURN || (is_busy(m) && !is_late)) {
            m = m->next;
            continue;
        }
        if (is_busy(m)) {
            refuse_and_end(m, 429, "provider_busy",
                           "the provider has as many calls under way as it may have; try again");
        } else {
            send_now(m);
        }
        m = service->calls; /* the call may be gone, and others with it */
    }
}

static void start(model_call *m)
{
    arcp_error err = {0};
    int status = 0;
    if (m->counts_only) {
        forward(m);
        return;
    }
    if (!arcp__model_bound(m, &status, &err)) {
        if (!go_on(m)) {
            refuse_and_end(m, status, "permission_denied", err.message);
        }
        return;
    }
    arcp__model_ask(m);
    arcp__model_serve(m->service);
}

void arcp__model_start(model_call *m)
{
    start(m);
}

void arcp__model_decided(model_call *m)
{
    const int size = (int)(m->hold.currency.size < 40 ? m->hold.currency.size : 40);
    const char *currency = m->hold.currency.size == 0 ? "" : m->hold.currency.data;
    if (m->hold.state == ARCP__LLM_HOLD_HELD) {
        m->is_held_counted = true;
        arcp__model_count_held(m->service->counts, &m->hold);
        if (!m->call->job->stores_holds || m->hold.demand_count == 0) {
            forward(m);
        } else if (!arcp__model_store_hold(m)) {
            refuse_and_end(m, 503, "buffers", "out of memory");
        } else {
            m->stage = MODEL_STORE;
        }
        return;
    }
    switch (m->hold.reason) {
    case ARCP__LLM_LINE_EXHAUSTED:
        arcp__gateway_job_deny(m->call->job, ARCP_E_BUDGET_EXHAUSTED,
                               ARCP_SPAN_LITERAL("model.use"), m->found[m->at].model,
                               m->hold.currency);
        arcp__model_refuse(
            m, 402, "budget_exhausted",
            "what remains of the budget of %.*s, the job's or one above it, does not "
            "pay for the input of this call and %" PRIu64 " tokens of output",
            size, currency, m->hold.limit_min);
        break;
    case ARCP__LLM_LINE_BUSY:
        arcp__model_refuse(m, 429, "budget_held",
                           "calls under way hold what this call needs%s%.*s; try again",
                           size == 0 ? "" : " of ", size, currency);
        break;
    case ARCP__LLM_LINE_NO_MEMORY:
        arcp__model_refuse(m, 503, "buffers", "out of memory");
        break;
    }
    arcp__model_release(m);
    arcp__model_done(m);
}

/* ---- the client, and the job ---- */

void arcp__model_drained(model_call *m)
{
    if (m->is_paused && m->upstream != NULL && arcp__gateway_call_unsent(m->call) <= UNSENT_MAX) {
        m->is_paused = false;
        arcp__gateway_client_ops(m->service->gateway)->resume(m->upstream);
    }
}

void arcp__model_dropped(model_call *m, uint64_t now_ms)
{
    if (m->stage != MODEL_UPSTREAM || m->is_error || m->counts_only) {
        stop_upstream(m);
        arcp__model_fail(m, "client_gone");
        arcp__model_done(m);
        return;
    }
    m->close_ms = now_ms + READ_ON_MS;
    if (m->is_paused) {
        m->is_paused = false;
        arcp__gateway_client_ops(m->service->gateway)->resume(m->upstream);
    }
    arcp__model_serve(m->service); /* sets the timer */
}

void arcp__model_close(model_call *m)
{
    finish(m, false);
}

/* All calls of the job are ended, one after the other. What this one gives back must not send
 * another one that waits. */
static void leave_line(const model_call *m)
{
    for (model_call *other = m->service->calls; other != NULL; other = other->next) {
        if (other->job == m->job && (other->stage == MODEL_LINE || other->stage == MODEL_STORE ||
                                     other->stage == MODEL_TURN)) {
            other->stage = MODEL_OVER;
            arcp__model_release(other);
        }
    }
}

void arcp__model_end(model_call *m, arcp_status why)
{
    const bool is_expired = why == ARCP_E_LEASE_EXPIRED;
    leave_line(m);
    stop_upstream(m);
    if (m->status == 0 && why == ARCP_E_IO) {
        arcp__model_refuse(m, 503, "runtime_away", "the runtime is away: try again");
    } else if (m->status == 0) {
        arcp__model_refuse(m, is_expired ? 403 : 401, is_expired ? "lease_expired" : "job_over",
                           "%s", is_expired ? "the job's lease has expired" : "the job has ended");
    }
    if (m->stage == MODEL_UPSTREAM) {
        finish(m, false);
    } else {
        arcp__model_release(m);
        arcp__model_done(m);
    }
}
