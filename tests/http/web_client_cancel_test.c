/* Pausing, resuming and cancelling calls of the HTTP client, also from inside their events. */
#include "http/web_rig.h"

#include "support/check.h"
#include "support/failing_alloc.h"

#define OK_HEAD  "HTTP/1.1 200 OK\r\n"
#define BIG_SIZE 16000000u

static const peer_answer kept = {OK_HEAD "Content-Length: 2\r\n\r\nhi", 0, false, false,
                                 PEER_KEEPS};
static const peer_answer stalls = {NULL, 0, false, false, PEER_STALLS};
static const peer_answer part = {OK_HEAD "Content-Length: 9\r\n\r\nhi", 0, false, false,
                                 PEER_STALLS};

/* A response with more body than sockets hold. The caller frees *out. */
static peer_answer make_big(char **out)
{
    static const char head[] = OK_HEAD "Content-Length: 16000000\r\n\r\n";
    char *text = malloc(sizeof head - 1 + BIG_SIZE);
    assert_non_null(text);
    memcpy(text, head, sizeof head - 1);
    for (size_t i = 0; i < BIG_SIZE; i++) {
        text[sizeof head - 1 + i] = (char)('a' + i * 7 % 26);
    }
    *out = text;
    return (peer_answer){text, sizeof head - 1 + BIG_SIZE, false, false, PEER_KEEPS};
}

static void turn_loop(web_rig *rig, unsigned turns)
{
    for (unsigned i = 0; i < turns; i++) {
        (void)uv_run(&rig->loop, UV_RUN_NOWAIT);
    }
}

/* ---- pausing ---- */

static void a_paused_call_gets_no_piece_and_slows_the_peer(void **state)
{
    char *text = NULL;
    const peer_answer big = make_big(&text);
    web_rig rig;
    rig_call call = {.at_body = RIG_PAUSES};
    (void)state;
    rig_start(&rig, &big, 1);
    rig_post(&rig, &call);
    rig_until(&rig, &call.pieces, 1);
    turn_loop(&rig, 1000);
    assert_int_equal(1, call.pieces);
    assert_int_equal(0, call.ends);
    while (call.ends == 0) {
        const unsigned before = call.pieces;
        rig.ops->resume(call.call);
        assert_int_equal(before, call.pieces); /* events come later */
        while (call.pieces == before && call.ends == 0) {
            (void)uv_run(&rig.loop, UV_RUN_ONCE);
        }
        assert_true(call.pieces <= before + 1);
    }
    assert_int_equal(ARCP__WEB_DONE, call.end.outcome);
    assert_int_equal(BIG_SIZE, call.body.size);
    assert_memory_equal(big.bytes + big.size - BIG_SIZE, call.body.data, BIG_SIZE);
    rig_stop(&rig);
    rig_call_fini(&call);
    free(text);
}

static void a_call_may_be_paused_before_its_head(void **state)
{
    web_rig rig;
    rig_call call = {.ends = 0};
    (void)state;
    rig_start(&rig, &kept, 1);
    rig_post(&rig, &call);
    rig.ops->pause(call.call);
    rig_until(&rig, &call.heads, 1);
    turn_loop(&rig, 100);
    assert_int_equal(0, call.pieces);
    rig.ops->resume(call.call);
    rig_until_end(&rig, &call);
    assert_int_equal(2, call.body.size);
    rig_stop(&rig);
    rig_call_fini(&call);
}

static void pausing_and_resuming_in_one_event_changes_nothing(void **state)
{
    char *text = NULL;
    const peer_answer big = make_big(&text);
    web_rig rig;
    rig_call call = {.at_head = RIG_RESUMES, .at_body = RIG_RESUMES};
    (void)state;
    rig_start(&rig, &big, 1);
    rig_post(&rig, &call);
    rig_until_end(&rig, &call);
    assert_int_equal(BIG_SIZE, call.body.size);
    rig_stop(&rig);
    rig_call_fini(&call);
    free(text);
}

/* ---- cancelling ---- */

static void assert_silent_and_closed(web_rig *rig, rig_call *call)
{
    const unsigned before = call->heads + call->pieces;
    rig_until_closed(rig);
    turn_loop(rig, 20);
    assert_int_equal(before, call->heads + call->pieces);
    assert_int_equal(0, call->ends);
    rig_stop(rig);
    rig_call_fini(call);
}

static void cancelled_before_it_is_sent(void **state)
{
    web_rig rig;
    rig_call call = {.ends = 0};
    (void)state;
    rig_start(&rig, &kept, 1);
    rig_post(&rig, &call);
    rig.ops->cancel(call.call);
    turn_loop(&rig, 20);
    assert_int_equal(0, rig.peer.requests);
    assert_silent_and_closed(&rig, &call);
}

static void cancelled_while_it_uploads(void **state)
{
    char *text = NULL;
    const peer_answer big = make_big(&text);
    const arcp_span body = {big.bytes, big.size};
    web_rig rig;
    rig_call call = {.ends = 0};
    (void)state;
    rig_start(&rig, &stalls, 1);
    const arcp__web_client_request request = rig_request(&rig, &call, body);
    rig_send(&rig, &call, &request);
    rig_until(&rig, &rig.peer.requests, 1);
    rig.ops->cancel(call.call);
    assert_true(rig.peer.received.size < big.size);
    free(text); /* the body is not needed any more */
    assert_silent_and_closed(&rig, &call);
}

static void cancelled_while_it_waits_for_the_head(void **state)
{
    web_rig rig;
    rig_call call = {.ends = 0};
    (void)state;
    rig_start(&rig, &stalls, 1);
    rig_post(&rig, &call);
    rig_until(&rig, &rig.peer.requests, 1);
    turn_loop(&rig, 20);
    rig.ops->cancel(call.call);
    assert_silent_and_closed(&rig, &call);
}

static void cancelled_between_two_pieces(void **state)
{
    web_rig rig;
    rig_call call = {.ends = 0};
    (void)state;
    rig_start(&rig, &part, 1);
    rig_post(&rig, &call);
    rig_until(&rig, &call.pieces, 1);
    rig.ops->cancel(call.call);
    assert_silent_and_closed(&rig, &call);
}

static void cancelled_while_paused(void **state)
{
    char *text = NULL;
    const peer_answer big = make_big(&text);
    (void)state;
    for (unsigned resumed = 0; resumed < 2; resumed++) {
        web_rig rig;
        rig_call call = {.at_body = RIG_PAUSES};
        rig_start(&rig, &big, 1);
        rig_post(&rig, &call);
        rig_until(&rig, &call.pieces, 1);
        turn_loop(&rig, 20);
        if (resumed != 0) {
            rig.ops->resume(call.call); /* has not had its effect yet */
        }
        rig.ops->cancel(call.call);
        assert_silent_and_closed(&rig, &call);
    }
    free(text);
}

typedef struct in_event {
    const char *name;
    rig_act at_head, at_body, at_done;
    unsigned heads, pieces, ends;
} in_event;

static const in_event in_events[] = {
    {"cancelled at the head", RIG_CANCELS, RIG_NOTHING, RIG_NOTHING, 1, 0, 0},
    {"cancelled at a piece", RIG_NOTHING, RIG_CANCELS, RIG_NOTHING, 1, 1, 0},
    {"cancelled at the end", RIG_NOTHING, RIG_NOTHING, RIG_CANCELS, 1, 1, 1},
    {"freed at the head", RIG_FREES, RIG_NOTHING, RIG_NOTHING, 1, 0, 0},
    {"freed at a piece", RIG_NOTHING, RIG_FREES, RIG_NOTHING, 1, 1, 0},
    {"freed at the end", RIG_NOTHING, RIG_NOTHING, RIG_FREES, 1, 1, 1},
};

static void an_event_may_end_its_call(void **state)
{
    const in_event *row = *state;
    web_rig rig;
    rig_call call = {.at_head = row->at_head, .at_body = row->at_body, .at_done = row->at_done};
    rig_start(&rig, &kept, 1);
    rig_post(&rig, &call);
    rig_until(&rig, &call.heads, 1);
    turn_loop(&rig, 100);
    assert_int_equal(row->heads, call.heads);
    assert_int_equal(row->pieces, call.pieces);
    assert_int_equal(row->ends, call.ends);
    rig_stop(&rig);
    rig_call_fini(&call);
}

static void the_time_limit_s_event_may_free_the_client(void **state)
{
    web_rig rig;
    rig_call call = {.at_done = RIG_FREES};
    (void)state;
    rig_start(&rig, &stalls, 1);
    arcp__web_client_request request = rig_request(&rig, &call, arcp_span_make(NULL, 0));
    request.total_ms = 20;
    rig_send(&rig, &call, &request);
    rig_until_end(&rig, &call);
    assert_true(call.end.timed_out);
    rig_stop(&rig);
}

static void an_event_may_cancel_another_call(void **state)
{
    const rig_act places[3][3] = {{RIG_CANCELS_OTHER, RIG_NOTHING, RIG_NOTHING},
                                  {RIG_NOTHING, RIG_CANCELS_OTHER, RIG_NOTHING},
                                  {RIG_NOTHING, RIG_NOTHING, RIG_CANCELS_OTHER}};
    const peer_answer answers[] = {stalls, kept};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        web_rig rig;
        rig_call other = {.ends = 0};
        rig_call call = {.at_head = places[i][0],
                         .at_body = places[i][1],
                         .at_done = places[i][2],
                         .other = &other};
        rig_start(&rig, answers, 2);
        rig_post(&rig, &other);
        rig_until(&rig, &rig.peer.requests, 1);
        rig_post(&rig, &call);
        rig_until_end(&rig, &call);
        turn_loop(&rig, 20);
        assert_int_equal(0, other.heads + other.ends);
        assert_int_equal(1, rig.peer.open); /* the other's connection is closed */
        rig_stop(&rig);
        rig_call_fini(&call);
    }
}

static void an_event_may_send_another_call(void **state)
{
    const rig_act places[3][3] = {{RIG_SENDS, RIG_NOTHING, RIG_NOTHING},
                                  {RIG_NOTHING, RIG_SENDS, RIG_NOTHING},
                                  {RIG_NOTHING, RIG_NOTHING, RIG_SENDS}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        web_rig rig;
        rig_call more = {.ends = 0};
        rig_call call = {.at_head = places[i][0], .at_body = places[i][1], .at_done = places[i][2]};
        rig_start(&rig, &kept, 1);
        rig.more = &more;
        rig_post(&rig, &call);
        rig_until_end(&rig, &call);
        rig_until_end(&rig, &more);
        assert_int_equal(ARCP__WEB_DONE, more.end.outcome);
        assert_int_equal(2, rig.peer.requests);
        rig_stop(&rig);
        rig_call_fini(&call);
        rig_call_fini(&more);
    }
}

static void freeing_the_client_ends_all_calls_without_events(void **state)
{
    enum { CALLS = 20 };
    web_rig rig;
    rig_call calls[CALLS] = {{.ends = 0}};
    (void)state;
    rig_start(&rig, &part, 1);
    for (size_t i = 0; i < CALLS; i++) {
        rig_post(&rig, &calls[i]);
        turn_loop(&rig, (unsigned)i); /* each in another state */
    }
    rig.ops->free(rig.client);
    rig.is_freed = true;
    unsigned before = 0;
    unsigned after = 0;
    for (size_t i = 0; i < CALLS; i++) {
        before += calls[i].heads + calls[i].pieces + calls[i].ends;
    }
    turn_loop(&rig, 100);
    for (size_t i = 0; i < CALLS; i++) {
        after += calls[i].heads + calls[i].pieces + calls[i].ends;
        rig_call_fini(&calls[i]);
    }
    assert_int_equal(before, after);
    rig_stop(&rig);
}

/* ---- memory ---- */

static void a_call_without_memory_is_not_sent(void **state)
{
    web_rig rig;
    rig_call call = {.ends = 0};
    (void)state;
    rig_start(&rig, &kept, 1);
    const arcp__web_client_request request = rig_request(&rig, &call, arcp_span_make(NULL, 0));
    failing_alloc_arm(1, FAILING_ALLOC_ONE);
    assert_int_equal(ARCP_E_NO_MEMORY, rig.ops->send(rig.client, &request, &call.call, NULL));
    assert_true(failing_alloc_disarm());
    rig_stop(&rig);
    assert_int_equal(0, rig.peer.connections);
}

static arcp_status create_client(void *user, arcp_error *err)
{
    uv_loop_t *loop = user;
    arcp__web_client *client = NULL;
    const arcp__web_client_options options = {
        .loop = loop, .ca_file = "/ca.pem", .user_agent = "arcpd"};
    const arcp_status status = arcp__web_client_by_libcurl.create(&options, &client, err);
    arcp__web_client_by_libcurl.free(status == ARCP_OK ? client : NULL);
    (void)uv_run(loop, UV_RUN_DEFAULT);
    return status;
}

static void a_client_without_memory_is_not_created(void **state)
{
    uv_loop_t loop;
    (void)state;
    assert_int_equal(0, uv_loop_init(&loop));
    assert_int_equal(3, failing_alloc_sweep(create_client, &loop));
    assert_int_equal(0, uv_loop_close(&loop));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_paused_call_gets_no_piece_and_slows_the_peer),
        cmocka_unit_test(a_call_may_be_paused_before_its_head),
        cmocka_unit_test(pausing_and_resuming_in_one_event_changes_nothing),
        cmocka_unit_test(cancelled_before_it_is_sent),
        cmocka_unit_test(cancelled_while_it_uploads),
        cmocka_unit_test(cancelled_while_it_waits_for_the_head),
        cmocka_unit_test(cancelled_between_two_pieces),
        cmocka_unit_test(cancelled_while_paused),
        cmocka_unit_test(the_time_limit_s_event_may_free_the_client),
        cmocka_unit_test(an_event_may_cancel_another_call),
        cmocka_unit_test(an_event_may_send_another_call),
        cmocka_unit_test(freeing_the_client_ends_all_calls_without_events),
        cmocka_unit_test(a_call_without_memory_is_not_sent),
        cmocka_unit_test(a_client_without_memory_is_not_created),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows(in_events, sizeof in_events / sizeof *in_events, sizeof *in_events,
                    an_event_may_end_its_call);
}
