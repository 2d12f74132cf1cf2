#include "gateway/gateway_fixture.h"

#include <unistd.h>

#include "base/clock.h"

/* ---- the service: of the gateway's thread ---- */

static gateway_fixture *fixture; /* of the test that runs */

typedef struct held {
    uv_timer_t poll;
    arcp__gateway_call *call;
    size_t pieces;
    bool is_stubborn, is_large;
} held;

/* Counts, and wakes the test. */
static void note(atomic_size_t *count)
{
    atomic_fetch_add(count, 1);
    (void)uv_async_send(&fixture->wake);
}

static bool ends_with(const arcp__gateway_call *call, const char *word)
{
    return arcp_span_ends_with(call->path, arcp_span_cstr(word));
}

static void on_polled_closed(uv_handle_t *handle)
{
    free(handle->data);
}

/* Says what the call has cost. */
static void settle(held *state)
{
    arcp__gateway_call *call = state->call;
    const arcp__job_message message = {.kind = ARCP_EVENT_METRIC,
                                       .kind_text = ARCP_SPAN_LITERAL("metric"),
                                       .body = ARCP_SPAN_LITERAL("{\"name\":\"cost\"}")};
    arcp__gateway_job_message(call->job, &message);
    uv_close((uv_handle_t *)&state->poll, on_polled_closed);
    call->state = NULL;
    arcp__gateway_call_done(call);
}

static void on_poll(uv_timer_t *timer)
{
    held *state = timer->data;
    if (state->call->was_ended && atomic_load(&fixture->may_end)) {
        uv_timer_stop(timer);
        settle(state);
    }
}

static void hold(arcp__gateway_call *call)
{
    held *state = calloc(1, sizeof *state);
    assert_non_null(state);
    state->call = call;
    state->is_stubborn = ends_with(call, "/stubborn");
    call->state = state;
    uv_timer_init(arcp__gateway_loop(call->job->gateway), &state->poll);
    state->poll.data = state;
    if (state->is_stubborn) {
        uv_timer_start(&state->poll, on_poll, 1, 1);
    }
    note(&fixture->held);
}

static void respond(arcp__gateway_call *call, arcp_span body)
{
    const arcp__web_response response = {.status = 200, .body = body};
    arcp__gateway_call_respond(call, &response);
    arcp__gateway_call_done(call);
}

static void stream(arcp__gateway_call *call)
{
    const arcp__web_response response = {.status = 200, .is_streamed = true};
    hold(call);
    arcp__gateway_call_respond(call, &response);
    if (ends_with(call, "/large")) {
        const size_t size = (size_t)32 * 1024 * 1024;
        char *text = calloc(1, size);
        assert_non_null(text);
        ((held *)call->state)->is_large = true;
        arcp__gateway_call_write(call, arcp_span_make(text, size));
        free(text);
    }
}

static void deny(arcp__gateway_call *call)
{
    arcp_error err = {0};
    arcp_buf details = arcp_buf_init();
    if (arcp__gateway_job_authorize(call->job, ARCP_SPAN_LITERAL("tool.call"),
                                    arcp_buf_span(&call->body), &details, &err)) {
        respond(call, ARCP_SPAN_LITERAL("granted"));
    } else {
        arcp__gateway_call_refuse(call, 403, "permission_denied", arcp_span_cstr(err.message));
        arcp__gateway_call_done(call);
    }
    arcp_buf_fini(&details);
}

static void service_request(void *service, arcp__gateway_call *call)
{
    assert_ptr_equal(service, fixture);
    if (ends_with(call, "/echo") || ends_with(call, "/s/echo")) {
        respond(call, arcp_buf_span(&call->body));
    } else if (ends_with(call, "/hold") || ends_with(call, "/stubborn")) {
        hold(call);
    } else if (ends_with(call, "/stream") || ends_with(call, "/large")) {
        stream(call);
    } else if (ends_with(call, "/deny")) {
        deny(call);
    } else {
        arcp__gateway_call_refuse(call, 404, "not_found",
                                  ARCP_SPAN_LITERAL("there is nothing at this path"));
        arcp__gateway_call_done(call);
    }
}

static void service_drained(void *service, arcp__gateway_call *call)
{
    (void)service;
    held *state = call->state;
    if (state->is_large) {
        return;
    }
    if (state->pieces++ < 3) {
        arcp__gateway_call_write(call, ARCP_SPAN_LITERAL("piece"));
        return;
    }
    arcp__gateway_call_end(call);
    settle(state);
}

static void service_dropped(void *service, arcp__gateway_call *call)
{
    (void)service;
    assert_null(call->exchange);
    note(&fixture->dropped);
    settle(call->state);
}

static void service_end(void *service, arcp__gateway_call *call, arcp_status why)
{
    (void)service;
    held *state = call->state;
    note(&fixture->ended);
    if (!state->is_stubborn) {
        arcp__gateway_call_refuse(call, why == ARCP_E_LEASE_EXPIRED ? 403 : 401,
                                  why == ARCP_E_LEASE_EXPIRED ? "lease_expired" : "unauthenticated",
                                  ARCP_SPAN_LITERAL("the call was ended"));
        settle(state);
    }
}

static void service_job_over(void *service, arcp__gateway_job *job)
{
    (void)service;
    assert_int_equal(arcp__gateway_job_calls(job), 0);
    note(&fixture->over);
}

static void ref(void *configuration)
{
    atomic_fetch_add((atomic_size_t *)configuration, 1);
}

static void unref(void *configuration)
{
    atomic_fetch_sub((atomic_size_t *)configuration, 1);
}

static arcp_status service_open(arcp__gateway *gateway, void *configuration, void **out,
                                arcp_error *err)
{
    (void)gateway;
    if (configuration == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "there is no configuration");
    }
    *out = fixture;
    return ARCP_OK;
}

static void service_configure(void *service, void *configuration)
{
    (void)service;
    (void)configuration;
    note(&fixture->configured);
}

static void service_close(void *service)
{
    (void)service;
}

const arcp__gateway_service fixture_service = {
    .ref = ref,
    .unref = unref,
    .open = service_open,
    .configure = service_configure,
    .close = service_close,
    .request = service_request,
    .drained = service_drained,
    .dropped = service_dropped,
    .end = service_end,
    .job_over = service_job_over,
};

/* ---- the runtime's side ---- */

static atomic_size_t references; /* of the configuration */

static void on_wake(uv_async_t *async)
{
    gateway_fixture *f = async->data;
    arcp__gateway_take(f->gateway);
}

static void on_message(void *user, const arcp__job_message *message)
{
    gateway_fixture *f = user;
    f->delivered++;
    arcp_buf_append_format(&f->seen, "%.*s %.*s\n", (int)message->kind_text.size,
                           message->kind_text.data, (int)message->body.size, message->body.data);
    if (message->call != NULL) {
        const arcp__job_call *call = message->call;
        assert_true(call->start_wall_ns > 0 && call->end_wall_ns >= call->start_wall_ns);
        assert_int_equal(call->span_id.size, 16);
        arcp_buf_append_format(&f->seen, "span %s %.*s %.*s [%.*s]\n", call->name,
                               (int)call->target.size, call->target.data, (int)call->server.size,
                               call->server.data, (int)call->error.size,
                               call->error.size == 0 ? "" : call->error.data);
    }
}

static void on_denied(void *user, const arcp__gateway_denial *denial)
{
    gateway_fixture *f = user;
    f->delivered++;
    arcp_buf_append_format(&f->seen, "denied %.*s %.*s %.*s\n", (int)denial->capability.size,
                           denial->capability.data, (int)denial->target.size, denial->target.data,
                           (int)denial->reason.size, denial->reason.data);
}

arcp__gateway_job *gateway_fixture_open_job(gateway_fixture *f, bool is_confined,
                                            arcp__gateway_endpoint *endpoints)
{
    arcp__gateway_job *job = NULL;
    arcp_error err = {0};
    char id[16];
    snprintf(id, sizeof id, "job_%zu", ++f->jobs);
    const arcp__gateway_job_options options = {.authority = f->authority,
                                               .job_id = arcp_span_cstr(id),
                                               .principal = ARCP_SPAN_LITERAL("alice"),
                                               .agent = ARCP_SPAN_LITERAL("a"),
                                               .traceparent = ARCP_SPAN_LITERAL("00-1-2-00"),
                                               .makes_spans = f->makes_spans,
                                               .is_confined = is_confined,
                                               .events = f->events};
    check_ok(arcp__gateway_open(f->gateway, &options, endpoints, &job, &err), &err);
    return job;
}

arcp__gateway_options gateway_fixture_options(gateway_fixture *f)
{
    return (arcp__gateway_options){
        .wake = &f->wake,
        .listen = "127.0.0.1:0",
        .limits = {.request_bytes = 100,
                   .buffer_bytes = 150,
                   .response_bytes = 1000,
                   .calls_per_job = 1,
                   .first_byte_ms = PATIENCE_MS,
                   .idle_timeout_ms = PATIENCE_MS,
                   .hold_wait_ms = PATIENCE_MS},
        .gates = &f->gates,
        .providers = {{&fixture_service, &references}, {&fixture_service, &references}},
    };
}

void gateway_fixture_init(gateway_fixture *f, const char *granted)
{
    arcp_error err = {0};
    arcp_lease *lease = NULL;
    memset(f, 0, sizeof *f);
    fixture = f;
    test_loop_init(&f->test);
    assert_int_equal(uv_async_init(&f->test.loop, &f->wake, on_wake), 0);
    f->wake.data = f;
    f->events = (arcp__gateway_events){on_message, on_denied, f};
    check_ok(arcp_lease_parse(arcp_span_cstr(granted), arcp_span_make(NULL, 0), NULL, &lease, &err),
             &err);
    arcp_authority_options authority = arcp_authority_options_init();
    authority.now = arcp__clock_now();
    check_ok(arcp_authority_new(lease, &authority, &f->authority, &err), &err);
    arcp_lease_unref(lease);
}

void gateway_fixture_start(gateway_fixture *f, const arcp__gateway_options *options)
{
    arcp_error err = {0};
    check_ok(arcp__gateway_new(options, &f->gateway, &err), &err);
    f->job = gateway_fixture_open_job(f, false, f->endpoints);
    snprintf(f->url, sizeof f->url, "http://%s", arcp__gateway_address(f->gateway));
    raw_peer_connect(&f->peer, &f->test, f->url);
}

void gateway_fixture_open(gateway_fixture *f, const arcp__gateway_limits *limits)
{
    gateway_fixture_init(f, "{\"tool.call\":[\"web.*\"]}");
    arcp__gateway_options options = gateway_fixture_options(f);
    if (limits != NULL) {
        options.limits = *limits;
    }
    gateway_fixture_start(f, &options);
}

void gateway_fixture_close(gateway_fixture *f)
{
    atomic_store(&f->may_end, true);
    arcp__gateway_release(f->job);
    arcp__gateway_free(f->gateway);
    assert_int_equal(atomic_load(&references), 0);
    arcp_authority_unref(f->authority);
    raw_peer_fini(&f->peer);
    arcp_buf_fini(&f->seen);
    uv_close((uv_handle_t *)&f->wake, NULL);
    test_loop_fini(&f->test);
}

void gateway_fixture_reconnect(gateway_fixture *f)
{
    raw_peer_fini(&f->peer);
    raw_peer_connect(&f->peer, &f->test, f->url);
}

void gateway_fixture_send_raw(gateway_fixture *f, const char *text)
{
    raw_peer_forget(&f->peer);
    raw_peer_send_text(&f->peer, text);
}

void gateway_fixture_send(gateway_fixture *f, const char *line, const char *headers,
                          const char *body)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_format(
        &text,
        "%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n%sContent-Length: %zu\r\n\r\n%s",
        line, arcp__gateway_address(f->gateway), f->endpoints[ARCP__GATEWAY_MCP].key, headers,
        strlen(body), body);
    arcp_buf_append_byte(&text, '\0');
    assert_false(text.failed);
    gateway_fixture_send_raw(f, text.data);
    arcp_buf_fini(&text);
}
