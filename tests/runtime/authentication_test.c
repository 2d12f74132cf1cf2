/* Verifiers that respond later, on other threads, too late or not at all; several verifiers; and
 * replacing them while verifications are pending. */
#include "support/check.h"

#include <pthread.h>
#include <uv.h>

#include <arcp/runtime.h>

#define PEERS_MAX    8
#define REQUESTS_MAX 8

typedef struct peer {
    arcp_connection *connection;
    arcp_buf frames;
    bool closed;
} peer;

typedef struct rig {
    uv_loop_t loop;
    uv_timer_t patience;
    arcp_runtime *runtime;
    peer peers[PEERS_MAX];
    bool stopped, timed_out;
    char log[4096];
} rig;

/* A verifier that keeps its requests until the test answers them. */
typedef struct keeper {
    arcp_token_request *requests[REQUESTS_MAX];
    size_t count;
    bool released;
} keeper;

static void keep(void *user, arcp_token_request *request)
{
    keeper *k = user;
    assert_true(k->count < REQUESTS_MAX);
    k->requests[k->count++] = request;
}

static void on_release(void *user)
{
    ((keeper *)user)->released = true;
}

static arcp_token_verifier *keeper_new(keeper *k)
{
    arcp_token_verifier *verifier = NULL;
    arcp_error error = {0};
    *k = (keeper){.count = 0};
    check_ok(arcp_token_verifier_new_callback(keep, on_release, k, &verifier, &error), &error);
    return verifier;
}

static void respond(arcp_token_request *request, arcp_status status, const char *principal)
{
    arcp_token_response response = arcp_token_response_init();
    response.status = status;
    response.principal = arcp_span_cstr(principal);
    response.why = "because";
    arcp_token_request_respond(request, &response);
}

static void accept_all(void *user, arcp_token_request *request)
{
    respond(request, ARCP_OK, user);
}

static void refuse_all(void *user, arcp_token_request *request)
{
    (void)user;
    respond(request, ARCP_E_UNAUTHENTICATED, "");
}

static void cannot_tell(void *user, arcp_token_request *request)
{
    (void)user;
    respond(request, ARCP_E_INTERNAL_ERROR, "");
}

static arcp_token_verifier *callback(void (*verify)(void *user, arcp_token_request *request),
                                     const char *user)
{
    arcp_token_verifier *verifier = NULL;
    arcp_error error = {0};
    check_ok(arcp_token_verifier_new_callback(verify, NULL, (void *)user, &verifier, &error),
             &error);
    return verifier;
}

/* ---- the rig ---- */

static void on_message(void *user, arcp_connection *connection, arcp_span frame)
{
    peer *p = user;
    (void)connection;
    arcp_buf_append(&p->frames, frame);
    arcp_buf_append_byte(&p->frames, '\n');
}

static void on_closed(void *user, arcp_connection *connection, arcp_close_code code,
                      const char *reason)
{
    peer *p = user;
    (void)code;
    (void)reason;
    connection->ops->free(connection);
    p->connection = NULL;
    p->closed = true;
}

static void on_log(void *user, arcp_log_level level, const char *text, const char *fields)
{
    rig *r = user;
    const size_t used = strlen(r->log);
    (void)snprintf(r->log + used, sizeof r->log - used, "%d %s\n", (int)level, text);
}

static void on_patience(uv_timer_t *timer)
{
    ((rig *)timer->data)->timed_out = true;
}

static void start(rig *r, size_t requests_max)
{
    arcp_runtime_options options = arcp_runtime_options_init();
    arcp_error error = {0};
    *r = (rig){.stopped = false};
    assert_int_equal(uv_loop_init(&r->loop), 0);
    assert_int_equal(uv_timer_init(&r->loop, &r->patience), 0);
    r->patience.data = r;
    options.token_requests_max = requests_max;
    options.log = on_log;
    options.log_user = r;
    check_ok(arcp_runtime_new(&r->loop, &options, &r->runtime, &error), &error);
}

static void verify_with(rig *r, arcp_token_verifier *first, arcp_token_verifier *second)
{
    arcp_token_verifier *const all[] = {first, second};
    arcp_error error = {0};
    check_ok(arcp_runtime_set_token_verifiers(r->runtime, all, second == NULL ? 1 : 2, &error),
             &error);
}

static peer *connect_peer(rig *r, unsigned index)
{
    peer *p = &r->peers[index];
    arcp_connection *served = NULL;
    arcp_error error = {0};
    check_ok(arcp_memory_pair(&r->loop, NULL, &p->connection, &served, &error), &error);
    arcp_connection_callbacks callbacks = {.message = on_message, .closed = on_closed, .user = p};
    p->connection->ops->set_callbacks(p->connection, &callbacks);
    assert_int_equal(arcp_runtime_serve(r->runtime, served, NULL, NULL), ARCP_OK);
    return p;
}

static peer *say_hello(rig *r, unsigned index, const char *token)
{
    peer *p = connect_peer(r, index);
    char frame[300];
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{"
                   "\"client\":{\"name\":\"t\",\"version\":\"1\"},\"auth\":{\"scheme\":\"bearer\","
                   "\"token\":\"%s\"},\"capabilities\":{\"features\":[\"list_jobs\"]}}}",
                   token);
    assert_int_equal(p->connection->ops->send(p->connection, arcp_span_cstr(frame)), ARCP_OK);
    p->connection->ops->flush(p->connection);
    return p;
}

static bool has(const peer *p, const char *word)
{
    return p->frames.size != 0 &&
           memmem(p->frames.data, p->frames.size, word, strlen(word)) != NULL;
}

/* Runs the loop until `done`; fails after 20 s. */
#define until(r, done)                                                                             \
    do {                                                                                           \
        (void)uv_timer_start(&(r)->patience, on_patience, 20000, 0);                               \
        while (!(done)) {                                                                          \
            assert_false((r)->timed_out);                                                          \
            (void)uv_run(&(r)->loop, UV_RUN_ONCE);                                                 \
        }                                                                                          \
        (void)uv_timer_stop(&(r)->patience);                                                       \
    } while (0)

static void on_stopped(void *user)
{
    ((rig *)user)->stopped = true;
}

static void stop(rig *r)
{
    arcp_runtime_stop(r->runtime, on_stopped, r);
    until(r, r->stopped);
    arcp_runtime_free(r->runtime);
    for (unsigned i = 0; i < PEERS_MAX; i++) {
        if (r->peers[i].connection != NULL) {
            r->peers[i].connection->ops->free(r->peers[i].connection);
        }
        arcp_buf_fini(&r->peers[i].frames);
    }
    uv_close((uv_handle_t *)&r->patience, NULL);
    (void)uv_run(&r->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&r->loop), 0);
}

/* The next request that is kept comes from this peer. */
static peer *hello_and_ask(rig *r, unsigned index, const char *token, const keeper *k)
{
    const size_t before = k->count;
    peer *p = say_hello(r, index, token);
    until(r, k->count == before + 1);
    return p;
}

/* ---- tests ---- */

static void without_a_verifier_every_token_is_refused(void **state)
{
    rig r;
    (void)state;
    start(&r, 0);
    const peer *p = say_hello(&r, 0, "t");
    until(&r, p->closed);
    assert_true(has(p, "\"code\":\"UNAUTHENTICATED\""));
    stop(&r);
}

static void a_verifier_may_respond_later(void **state)
{
    rig r;
    keeper k;
    (void)state;
    start(&r, 0);
    verify_with(&r, keeper_new(&k), NULL);
    const peer *p = hello_and_ask(&r, 0, "secret-token", &k);
    const peer *other = hello_and_ask(&r, 1, "other-token", &k);
    check_span(arcp_token_request_token(k.requests[0]), "secret-token");
    assert_true(arcp_token_request_wall_ns(k.requests[0]) > 0);
    assert_int_equal(p->frames.size, 0);
    /* Verifiers may respond in any order. */
    respond(k.requests[1], ARCP_E_UNAUTHENTICATED, "");
    until(&r, other->closed);
    assert_true(has(other, "\"code\":\"UNAUTHENTICATED\""));
    assert_false(has(other, "because"));
    assert_int_equal(p->frames.size, 0);
    respond(k.requests[0], ARCP_OK, "alice");
    until(&r, has(p, "session.welcome"));
    assert_non_null(strstr(r.log, "(bearer token): callback: because"));
    assert_null(strstr(r.log, "other-token"));
    stop(&r);
    assert_true(k.released);
}

static void accept_with_a_wrong_size(void *user, arcp_token_request *request)
{
    arcp_token_response response = arcp_token_response_init();
    response.struct_size--;
    response.status = ARCP_OK;
    response.principal = arcp_span_cstr(user);
    arcp_token_request_respond(request, &response);
}

static void an_invalid_response_of_a_verifier_refuses_the_token(void **state)
{
    rig r;
    (void)state;
    start(&r, 0);
    verify_with(&r, callback(accept_with_a_wrong_size, "alice"), NULL);
    const peer *p = say_hello(&r, 0, "t");
    until(&r, p->closed);
    assert_false(has(p, "session.welcome"));
    assert_non_null(strstr(r.log, "arcp_token_response: struct_size is "));
    stop(&r);
}

static void *respond_ok(void *request)
{
    respond(request, ARCP_OK, "alice");
    return NULL;
}

static void a_verifier_may_respond_on_another_thread(void **state)
{
    rig r;
    keeper k;
    pthread_t threads[4];
    (void)state;
    start(&r, 0);
    verify_with(&r, keeper_new(&k), NULL);
    for (unsigned i = 0; i < 4; i++) {
        (void)say_hello(&r, i, "t");
    }
    until(&r, k.count == 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, respond_ok, k.requests[i]), 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        until(&r, has(&r.peers[i], "session.welcome"));
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    stop(&r);
}

static void frames_sent_after_the_hello_wait_for_the_verifier(void **state)
{
    static const char list[] = "{\"arcp\":\"1.1\",\"id\":\"l\",\"type\":\"session.list_jobs\","
                               "\"payload\":{}}";
    rig r;
    keeper k;
    (void)state;
    start(&r, 0);
    verify_with(&r, keeper_new(&k), NULL);
    const peer *p = say_hello(&r, 0, "t");
    assert_int_equal(p->connection->ops->send(p->connection, arcp_span_cstr(list)), ARCP_OK);
    p->connection->ops->flush(p->connection);
    until(&r, k.count == 1);
    assert_int_equal(p->frames.size, 0);
    respond(k.requests[0], ARCP_OK, "alice");
    until(&r, has(p, "session.jobs"));
    assert_true(has(p, "session.welcome"));
    stop(&r);
}

static void a_peer_may_disconnect_before_the_verifier_answers(void **state)
{
    rig r;
    keeper k;
    (void)state;
    start(&r, 0);
    verify_with(&r, keeper_new(&k), NULL);
    const peer *p = say_hello(&r, 0, "t");
    until(&r, k.count == 1);
    p->connection->ops->abort(p->connection);
    until(&r, p->closed);
    for (int turns = 0; turns < 8; turns++) { /* until the runtime has seen the end of the peer */
        (void)uv_run(&r.loop, UV_RUN_NOWAIT);
    }
    respond(k.requests[0], ARCP_OK, "alice");
    p = say_hello(&r, 1, "t");
    until(&r, k.count == 2);
    respond(k.requests[1], ARCP_OK, "alice");
    until(&r, has(p, "session.welcome"));
    arcp_runtime_stats stats = arcp_runtime_stats_init();
    arcp_runtime_get_stats(r.runtime, &stats);
    assert_int_equal(stats.sessions, 1);
    stop(&r);
}

static void a_verification_may_outlive_the_runtime(void **state)
{
    rig r;
    keeper k;
    (void)state;
    start(&r, 0);
    verify_with(&r, keeper_new(&k), NULL);
    (void)say_hello(&r, 0, "t");
    (void)say_hello(&r, 1, "t");
    until(&r, k.count == 2);
    stop(&r);
    assert_true(k.released);
    check_span(arcp_token_request_token(k.requests[0]), "t");
    respond(k.requests[0], ARCP_OK, "alice");
    respond(k.requests[1], ARCP_E_UNAUTHENTICATED, "");
}

static void verifiers_are_called_one_after_the_other(void **state)
{
    const struct {
        void (*first)(void *user, arcp_token_request *request);
        void (*second)(void *user, arcp_token_request *request);
        const char *want;
    } rows[] = {
        {accept_all, refuse_all, "session.welcome"},
        {refuse_all, accept_all, "session.welcome"},
        {cannot_tell, accept_all, "session.welcome"},
        {refuse_all, refuse_all, "\"code\":\"UNAUTHENTICATED\""},
        {cannot_tell, refuse_all,
         "\"code\":\"INTERNAL_ERROR\",\"message\":\"the token cannot be "
         "verified right now; try again later\",\"retryable\":true"},
        {refuse_all, cannot_tell, "\"code\":\"INTERNAL_ERROR\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rig r;
        start(&r, 0);
        verify_with(&r, callback(rows[i].first, "alice"), callback(rows[i].second, "bob"));
        const peer *p = say_hello(&r, 0, "t");
        until(&r, p->frames.size != 0);
        if (!has(p, rows[i].want)) {
            fail_msg("row %zu: %.*s", i, (int)p->frames.size, p->frames.data);
        }
        stop(&r);
    }
}

static void an_invalid_principal_name_is_refused(void **state)
{
    char longest[ARCP_PRINCIPAL_BYTES_MAX + 2] = {0};
    memset(longest, 'x', ARCP_PRINCIPAL_BYTES_MAX + 1);
    const char *const names[] = {"", "a\nb", "a\x7f", "\x01", "a\xff", "\xc3", longest};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        rig r;
        start(&r, 0);
        verify_with(&r, callback(accept_all, names[i]), NULL);
        const peer *p = say_hello(&r, 0, "t");
        until(&r, p->closed);
        assert_true(has(p, "\"code\":\"UNAUTHENTICATED\""));
        stop(&r);
    }
    rig r;
    longest[ARCP_PRINCIPAL_BYTES_MAX] = '\0';
    start(&r, 0);
    verify_with(&r, callback(accept_all, longest), NULL);
    const peer *p = say_hello(&r, 0, "t");
    until(&r, has(p, "session.welcome"));
    stop(&r);
}

static void the_number_of_pending_verifications_is_bounded(void **state)
{
    rig r;
    keeper k;
    (void)state;
    start(&r, 2);
    verify_with(&r, keeper_new(&k), NULL);
    const peer *first = hello_and_ask(&r, 0, "t", &k);
    (void)hello_and_ask(&r, 1, "t", &k);
    const peer *third = say_hello(&r, 2, "t");
    until(&r, third->closed);
    assert_true(has(third, "\"code\":\"INTERNAL_ERROR\""));
    assert_int_equal(k.count, 2);
    respond(k.requests[0], ARCP_OK, "alice");
    until(&r, has(first, "session.welcome"));
    (void)say_hello(&r, 3, "t");
    until(&r, k.count == 3);
    respond(k.requests[1], ARCP_OK, "alice");
    respond(k.requests[2], ARCP_OK, "alice");
    until(&r, has(&r.peers[1], "session.welcome") && has(&r.peers[3], "session.welcome"));
    stop(&r);
}

/* Otherwise reconnecting could fill the queue of a slow verifier without limit. */
static void a_verification_counts_after_its_peer_has_disconnected(void **state)
{
    rig r;
    keeper k;
    (void)state;
    start(&r, 1);
    verify_with(&r, keeper_new(&k), NULL);
    const peer *gone = hello_and_ask(&r, 0, "t", &k);
    gone->connection->ops->abort(gone->connection);
    until(&r, gone->closed);
    const peer *refused = say_hello(&r, 1, "t");
    until(&r, refused->closed);
    assert_true(has(refused, "\"code\":\"INTERNAL_ERROR\""));
    respond(k.requests[0], ARCP_OK, "alice");
    /* The only sign that the response has arrived is that there is room again. */
    unsigned next = 1;
    while (k.count == 1) {
        assert_true(++next < PEERS_MAX);
        (void)say_hello(&r, next, "t");
        until(&r, k.count == 2 || r.peers[next].closed);
    }
    respond(k.requests[1], ARCP_OK, "alice");
    until(&r, has(&r.peers[next], "session.welcome"));
    stop(&r);
}

static void replaced_verifiers_stay_until_they_have_responded(void **state)
{
    rig r;
    keeper old;
    (void)state;
    start(&r, 0);
    verify_with(&r, keeper_new(&old), NULL);
    const peer *accepted = hello_and_ask(&r, 0, "t", &old);
    const peer *passed_on = hello_and_ask(&r, 1, "t", &old);
    verify_with(&r, callback(accept_all, "bob"), NULL);
    assert_false(old.released);
    respond(old.requests[0], ARCP_OK, "alice");
    until(&r, has(accepted, "session.welcome"));
    assert_false(old.released);
    /* A token that the old verifier refuses is passed to the current verifiers. */
    respond(old.requests[1], ARCP_E_UNAUTHENTICATED, "");
    until(&r, has(passed_on, "session.welcome"));
    assert_true(old.released);
    const peer *late = say_hello(&r, 2, "t");
    until(&r, has(late, "session.welcome"));
    assert_int_equal(old.count, 2);
    stop(&r);
}

/* ---- roles ---- */

static arcp_token_response role_response;

static void respond_with_role(void *user, arcp_token_request *request)
{
    (void)user;
    arcp_token_request_respond(request, &role_response);
}

static void a_role_must_be_one_of_two_and_is_for_known_principals_only(void **state)
{
    static const struct {
        int role;
        bool is_anonymous;
        const char *frame, *log;
    } rows[] = {
        {ARCP_ROLE_NONE, true, "session.welcome", ""},
        {ARCP_ROLE_VIEWER, false, "session.welcome", ""},
        {ARCP_ROLE_OPERATOR, false, "session.welcome", ""},
        {ARCP_ROLE_OPERATOR + 1, false, "UNAUTHENTICATED", "the role is not one of arcp_role"},
        {-1, false, "UNAUTHENTICATED", "the role is not one of arcp_role"},
        {ARCP_ROLE_VIEWER, true, "UNAUTHENTICATED", "an anonymous principal cannot have a role"},
    };
    rig r;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start(&r, 0);
        verify_with(&r, callback(respond_with_role, ""), NULL);
        role_response = arcp_token_response_init();
        role_response.status = ARCP_OK;
        role_response.principal = ARCP_SPAN_LITERAL("alice");
        role_response.role = (arcp_role)rows[i].role;
        role_response.is_anonymous = rows[i].is_anonymous;
        const peer *p = say_hello(&r, 0, "t");
        until(&r, p->frames.size != 0);
        assert_true(has(p, rows[i].frame));
        assert_non_null(strstr(r.log, rows[i].log));
        stop(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_verifier_every_token_is_refused),
        cmocka_unit_test(a_verifier_may_respond_later),
        cmocka_unit_test(a_verifier_may_respond_on_another_thread),
        cmocka_unit_test(an_invalid_response_of_a_verifier_refuses_the_token),
        cmocka_unit_test(frames_sent_after_the_hello_wait_for_the_verifier),
        cmocka_unit_test(a_peer_may_disconnect_before_the_verifier_answers),
        cmocka_unit_test(a_verification_may_outlive_the_runtime),
        cmocka_unit_test(verifiers_are_called_one_after_the_other),
        cmocka_unit_test(an_invalid_principal_name_is_refused),
        cmocka_unit_test(the_number_of_pending_verifications_is_bounded),
        cmocka_unit_test(a_verification_counts_after_its_peer_has_disconnected),
        cmocka_unit_test(replaced_verifiers_stay_until_they_have_responded),
        cmocka_unit_test(a_role_must_be_one_of_two_and_is_for_known_principals_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
