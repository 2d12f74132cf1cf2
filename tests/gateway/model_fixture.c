#include "gateway/model_fixture.h"

#include "base/clock.h"
#include "core/amount.h"
#include "gateway/model_service.h"
#include "web/client.h"

#define PATIENCE_MS 60000u

static model_fixture *fixture; /* of the test that runs */

/* ---- the providers: of the gateway's thread ---- */

struct arcp__web_call {
    uv_timer_t timer;
    const arcp__web_call_events *events;
    void *user;
    const provider_answer *answer;
    size_t at; /* bytes of the body that were passed on */
    bool has_head, is_paused, is_over;
};

struct arcp__web_client {
    uv_loop_t *loop;
};

static arcp_status client_create(const arcp__web_client_options *options, arcp__web_client **out,
                                 arcp_error *err)
{
    (void)err;
    arcp__web_client *client = calloc(1, sizeof *client);
    assert_non_null(client);
    client->loop = options->loop;
    *out = client;
    return ARCP_OK;
}

static void client_free(arcp__web_client *client)
{
    free(client);
}

static void free_call(uv_handle_t *handle)
{
    free(handle->data);
}

static void end_call(arcp__web_call *call)
{
    if (!call->is_over) {
        call->is_over = true;
        uv_close((uv_handle_t *)&call->timer, free_call);
    }
}

static void pass_head(arcp__web_call *call)
{
    const char *fields = call->answer->fields;
    arcp__web_field list[4] = {{ARCP_SPAN_LITERAL("Content-Type"),
                                fields != NULL && strcmp(fields, "sse") == 0
                                    ? ARCP_SPAN_LITERAL("text/event-stream; charset=utf-8")
                                    : ARCP_SPAN_LITERAL("application/json")},
                               {ARCP_SPAN_LITERAL("x-request-id"), ARCP_SPAN_LITERAL("req-1")},
                               {ARCP_SPAN_LITERAL("retry-after"), ARCP_SPAN_LITERAL("7")},
                               {ARCP_SPAN_LITERAL("set-cookie"), ARCP_SPAN_LITERAL("secret=1")}};
    const arcp__web_client_head head = {
        .status = call->answer->status, .fields = list, .field_count = 4};
    call->has_head = true;
    call->events->head(call->user, &head);
}

/* One step of the answer. A call may be cancelled by any event. */
static void on_step(uv_timer_t *timer)
{
    arcp__web_call *call = timer->data;
    const provider_answer *answer = call->answer;
    if (call->is_over || call->is_paused) {
        return;
    }
    if (answer->status != 0 && !call->has_head) {
        pass_head(call);
        return;
    }
    if (answer->waits && !atomic_load(&fixture->may_answer)) {
        return;
    }
    const size_t size = answer->body == NULL ? 0 : strlen(answer->body);
    if (call->at < size) {
        const size_t piece = answer->is_slow ? 1 : size - call->at;
        const char *data = answer->body + call->at;
        call->at += piece;
        call->is_paused = !call->events->body(call->user, arcp_span_make(data, piece));
        return;
    }
    const arcp__web_client_end end = {.outcome = answer->not_sent ? ARCP__WEB_NOT_SENT
                                                 : answer->breaks ? ARCP__WEB_LOST
                                                                  : ARCP__WEB_DONE,
                                      .problem = "cannot be reached"};
    const arcp__web_call_events *events = call->events;
    void *user = call->user;
    end_call(call);
    events->done(user, &end);
}

static void record(const arcp__web_client_request *request)
{
    pthread_mutex_lock(&fixture->mutex);
    assert_true(fixture->request_count < fixture->answer_count);
    arcp_buf *out = &fixture->requests[fixture->request_count++];
    arcp_buf_append_format(out, "%s\n", request->url);
    for (size_t i = 0; i < request->headers.size; i++) {
        const char byte = request->headers.data[i];
        arcp_buf_append_byte(out, byte == '\0' ? '\n' : byte);
    }
    arcp_buf_append_byte(out, '\n');
    arcp_buf_append(out, request->body);
    pthread_mutex_unlock(&fixture->mutex);
    (void)uv_async_send(&fixture->wake);
}

static arcp_status client_send(arcp__web_client *client, const arcp__web_client_request *request,
                               arcp__web_call **out, arcp_error *err)
{
    (void)err;
    arcp__web_call *call = calloc(1, sizeof *call);
    assert_non_null(call);
    record(request);
    call->events = request->events;
    call->user = request->user;
    call->answer = &fixture->answers[fixture->request_count - 1];
    assert_int_equal(uv_timer_init(client->loop, &call->timer), 0);
    call->timer.data = call;
    assert_int_equal(uv_timer_start(&call->timer, on_step, 1, 1), 0);
    *out = call;
    return ARCP_OK;
}

static void client_pause(arcp__web_call *call)
{
    call->is_paused = true;
}

static void client_resume(arcp__web_call *call)
{
    call->is_paused = false;
}

static void client_cancel(arcp__web_call *call)
{
    atomic_fetch_add(&fixture->cancelled, 1);
    end_call(call);
}

static const arcp__web_client_ops client_ops = {.create = client_create,
                                                .free = client_free,
                                                .send = client_send,
                                                .pause = client_pause,
                                                .resume = client_resume,
                                                .cancel = client_cancel};

/* ---- the runtime's side ---- */

static void on_wake(uv_async_t *async)
{
    model_fixture *f = async->data;
    arcp__gateway_take(f->gateway);
}

static void on_message(void *user, const arcp__job_message *message)
{
    model_fixture *f = user;
    arcp_buf_append(&f->seen,
                    message->kind_text.size == 0 ? ARCP_SPAN_LITERAL("log") : message->kind_text);
    arcp_buf_append_byte(&f->seen, ' ');
    arcp_buf_append(&f->seen, message->body);
    arcp_buf_append_format(&f->seen, " reports %zu\n", message->report_count);
    if (message->hold_id.size != 0) {
        arcp_buf_append_format(&f->seen, "hold %.*s\n", (int)message->held.size,
                               message->held.size == 0 ? "" : message->held.data);
    }
    if (message->held.size != 0) {
        (void)snprintf(f->held_id, sizeof f->held_id, "%.*s", (int)message->hold_id.size,
                       message->hold_id.data);
    }
    if (message->call != NULL) {
        const arcp__job_call *call = message->call;
        arcp_buf_append_format(&f->seen, "span %s %.*s %.*s [%.*s] %.*s\n", call->name,
                               (int)call->target.size, call->target.data, (int)call->server.size,
                               call->server.data, (int)call->error.size,
                               call->error.size == 0 ? "" : call->error.data,
                               (int)call->span_id.size, call->span_id.data);
    }
}

static void on_denied(void *user, const arcp__gateway_denial *denial)
{
    model_fixture *f = user;
    arcp_buf_append_format(&f->seen, "denied %.*s %.*s %.*s\n", (int)denial->capability.size,
                           denial->capability.data, (int)denial->target.size, denial->target.data,
                           (int)denial->reason.size, denial->reason.data);
}

/* ---- the configuration ---- */

static const char prices[] =
    "{\"small\":{\"mode\":\"chat\",\"max_input_tokens\":100000,\"max_output_tokens\":4000,"
    "\"input_cost_per_token\":1e-06,\"output_cost_per_token\":1e-05},"
    "\"other\":{\"mode\":\"chat\",\"max_input_tokens\":100000,\"max_output_tokens\":4000,"
    "\"input_cost_per_token\":2e-06,\"output_cost_per_token\":2e-05},"
    "\"wide\":{\"mode\":\"chat\",\"max_input_tokens\":100000,\"max_output_tokens\":64000,"
    "\"input_cost_per_token\":1e-06,\"output_cost_per_token\":1e-05},"
    "\"vector\":{\"mode\":\"embedding\",\"max_input_tokens\":8000,"
    "\"input_cost_per_token\":1e-06},"
    "\"zero\":{\"mode\":\"chat\",\"max_input_tokens\":100000,"
    "\"input_cost_per_token\":0,\"output_cost_per_token\":0},"
    "\"claude-x\":{\"mode\":\"chat\",\"max_input_tokens\":200000,\"max_output_tokens\":4000,"
    "\"input_cost_per_token\":1e-06,\"output_cost_per_token\":1e-05}}";

static arcp__model_config *make_config(const arcp__model_options *more)
{
    static const char *const open_models[] = {"small", "other", "vector", "zero",
                                              "new-*", "wide",  NULL};
    static const char *const claude_models[] = {"claude-*", NULL};
    static const char *const local_models[] = {"llama*", NULL};
    static const char *const aliases[] = {"tier-fast=small", "tier-best=other,small", NULL};
    static arcp__model_provider_options providers[] = {{.name = "open",
                                                        .dialect = ARCP__LLM_DIALECT_OPENAI,
                                                        .url = "https://open.example/v1",
                                                        .models = open_models,
                                                        .model_count = 6},
                                                       {.name = "claude",
                                                        .dialect = ARCP__LLM_DIALECT_ANTHROPIC,
                                                        .url = "https://claude.example",
                                                        .models = claude_models,
                                                        .model_count = 1},
                                                       {.name = "local",
                                                        .dialect = ARCP__LLM_DIALECT_OPENAI,
                                                        .url = "http://127.0.0.1:1/v1",
                                                        .models = local_models,
                                                        .model_count = 1,
                                                        .is_free = true,
                                                        .removes_tools = true,
                                                        .calls_at_once = 1}};
    static const char *const keys[] = {"sk-open", "sk-claude", NULL};
    arcp__model_config *config = NULL;
    arcp_error err = {0};
    arcp__model_options options = {.max_output_tokens = 32768, .min_output_tokens = 256};
    if (more != NULL) {
        options = *more;
    }
    options.providers = providers;
    options.provider_count = 3;
    options.aliases = aliases;
    options.alias_count = 2;
    check_ok(arcp__model_config_new(&options, arcp_span_cstr(prices), keys, &config, &err), &err);
    return config;
}

/* ---- the fixture ---- */

static void open_job(model_fixture *f, const char *text)
{
    arcp_error err = {0};
    arcp_lease *lease = NULL;
    check_ok(arcp_lease_parse(arcp_span_cstr(text), arcp_span_make(NULL, 0), NULL, &lease, &err),
             &err);
    arcp_authority_options authority = arcp_authority_options_init();
    authority.now = arcp__clock_now();
    check_ok(arcp_authority_new(lease, &authority, &f->authority, &err), &err);
    arcp_lease_unref(lease);
    f->budget = arcp_authority_budget(f->authority);
    f->job = model_fixture_open_job(f, "job_1", "", "00-1-2-00", f->endpoints);
}

arcp__gateway_job *model_fixture_open_job(model_fixture *f, const char *id, const char *tree,
                                          const char *traceparent,
                                          arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS])
{
    arcp_error err = {0};
    arcp__gateway_job *job = NULL;
    const arcp__gateway_job_options options = {.authority = f->authority,
                                               .job_id = arcp_span_cstr(id),
                                               .tree_id = arcp_span_cstr(tree),
                                               .principal = ARCP_SPAN_LITERAL("alice"),
                                               .agent = ARCP_SPAN_LITERAL("a"),
                                               .traceparent = arcp_span_cstr(traceparent),
                                               .makes_spans = strlen(traceparent) == 55,
                                               .stores_holds = f->stores_holds,
                                               .events = {on_message, on_denied, f}};
    check_ok(arcp__gateway_open(f->gateway, &options, endpoints, &job, &err), &err);
    return job;
}

void model_fixture_open(model_fixture *f, const char *lease, const provider_answer *answers,
                        size_t count, const arcp__model_options *options)
{
    arcp_error err = {0};
    memset(f, 0, sizeof *f);
    fixture = f;
    f->answers = answers;
    f->answer_count = count;
    assert_int_equal(pthread_mutex_init(&f->mutex, NULL), 0);
    test_loop_init(&f->test);
    assert_int_equal(uv_async_init(&f->test.loop, &f->wake, on_wake), 0);
    f->wake.data = f;
    f->config = make_config(options);
    const arcp__gateway_options gateway = {
        .wake = &f->wake,
        .listen = "127.0.0.1:0",
        .limits = {.request_bytes = 1000000,
                   .buffer_bytes = 4000000,
                   .response_bytes = 100000,
                   .calls_per_job = 2,
                   .first_byte_ms = PATIENCE_MS,
                   .idle_timeout_ms = PATIENCE_MS,
                   .hold_wait_ms = 300},
        .gates = &f->gates,
        .client = &client_ops,
        .providers = {[ARCP__GATEWAY_LLM] = {&arcp__model_service, f->config}}};
    check_ok(arcp__gateway_new(&gateway, &f->gateway, &err), &err);
    open_job(f, lease);
    snprintf(f->url, sizeof f->url, "http://%s", arcp__gateway_address(f->gateway));
    for (size_t i = 0; i < PEERS; i++) {
        raw_peer_connect(&f->peers[i], &f->test, f->url);
    }
}

void model_fixture_close(model_fixture *f)
{
    atomic_store(&f->may_answer, true);
    arcp__gateway_release(f->job);
    arcp__gateway_free(f->gateway);
    arcp__model_config_unref(f->config);
    /* Whatever happened, nothing is held any more. */
    for (size_t i = 0; f->budget != NULL && i < arcp_budget_count(f->budget); i++) {
        arcp_decimal sum = ARCP_DECIMAL_ZERO;
        assert_true(arcp_decimal_add(arcp_budget_spent(f->budget, i),
                                     arcp_budget_remaining(f->budget, i), &sum));
        assert_int_equal(arcp_decimal_compare(sum, arcp_budget_initial(f->budget, i)), 0);
    }
    arcp_authority_unref(f->authority);
    for (size_t i = 0; i < PEERS; i++) {
        raw_peer_fini(&f->peers[i]);
    }
    for (size_t i = 0; i < REQUESTS_MAX; i++) {
        arcp_buf_fini(&f->requests[i]);
    }
    arcp_buf_fini(&f->seen);
    uv_close((uv_handle_t *)&f->wake, NULL);
    test_loop_fini(&f->test);
    (void)pthread_mutex_destroy(&f->mutex);
}

static void send_with_key(model_fixture *f, const char *key, size_t peer, const char *method,
                          const char *path, const char *headers, const char *body)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_format(&text, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n%s",
                           method, path, arcp__gateway_address(f->gateway), key, headers);
    if (body != NULL) {
        arcp_buf_append_format(&text, "Content-Length: %zu\r\n", strlen(body));
    }
    arcp_buf_append_cstr(&text, "\r\n");
    arcp_buf_append_cstr(&text, body == NULL ? "" : body);
    raw_peer_forget(&f->peers[peer]);
    raw_peer_send(&f->peers[peer], arcp_buf_span(&text));
    arcp_buf_fini(&text);
}

void model_fixture_store_hold(model_fixture *f, arcp__gateway_job *job)
{
    arcp__gateway_hold_stored(job, arcp_span_cstr(f->held_id));
}

void model_fixture_post(model_fixture *f, size_t peer, const char *path, const char *headers,
                        const char *body)
{
    send_with_key(f, f->endpoints[ARCP__GATEWAY_LLM].key, peer, "POST", path, headers, body);
}

void model_fixture_post_as(model_fixture *f, const arcp__gateway_endpoint *endpoint, size_t peer,
                           const char *path, const char *body)
{
    send_with_key(f, endpoint->key, peer, "POST", path, "", body);
}

void model_fixture_get(model_fixture *f, const char *path, const char *headers)
{
    send_with_key(f, f->endpoints[ARCP__GATEWAY_LLM].key, 0, "GET", path, headers, NULL);
}

void model_fixture_expect(model_fixture *f, size_t peer, const char *status, const char *text)
{
    const arcp_buf *received = &f->peers[peer].received;
    raw_peer_expect(&f->peers[peer], "\r\n\r\n");
    if (memmem(received->data, received->size, status, strlen(status)) != received->data + 9) {
        fail_msg("expected %s, got: %.*s", status, (int)received->size, received->data);
    }
    raw_peer_expect(&f->peers[peer], text);
}

bool model_fixture_has(const model_fixture *f, size_t peer, const char *text)
{
    const arcp_buf *received = &f->peers[peer].received;
    return received->size != 0 &&
           memmem(received->data, received->size, text, strlen(text)) != NULL;
}

static bool was_sent(model_fixture *f, size_t request, const char *text)
{
    pthread_mutex_lock(&f->mutex);
    assert_true(request < f->request_count);
    const arcp_buf *sent = &f->requests[request];
    const bool found = memmem(sent->data, sent->size, text, strlen(text)) != NULL;
    pthread_mutex_unlock(&f->mutex);
    return found;
}

void model_fixture_check_sent(model_fixture *f, size_t request, const char *text)
{
    if (!was_sent(f, request, text)) {
        fail_msg("not sent: %s", text);
    }
}

void model_fixture_check_not_sent(model_fixture *f, size_t request, const char *text)
{
    if (was_sent(f, request, text)) {
        fail_msg("sent: %s", text);
    }
}

size_t model_fixture_requests(model_fixture *f)
{
    pthread_mutex_lock(&f->mutex);
    const size_t count = f->request_count;
    pthread_mutex_unlock(&f->mutex);
    return count;
}

void model_fixture_await_requests(model_fixture *f, size_t count)
{
    run_until(&f->test, model_fixture_requests(f) >= count);
}

void model_fixture_expect_seen(model_fixture *f, const char *text)
{
    run_until(&f->test,
              f->seen.size != 0 && memmem(f->seen.data, f->seen.size, text, strlen(text)) != NULL);
}

void model_fixture_check_budget(model_fixture *f, const char *spent, const char *remaining)
{
    check_amount(arcp_budget_spent(f->budget, 0), spent);
    check_amount(arcp_budget_remaining(f->budget, 0), remaining);
}
