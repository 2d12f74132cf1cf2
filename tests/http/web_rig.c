#include "http/web_rig.h"

#include "support/check.h"

#define GUARD_MS 60000u

const arcp__web_client_ops *rig_ops;

static void act(rig_call *call, rig_act what)
{
    web_rig *rig = call->rig;
    if (what == RIG_CANCELS) {
        rig->ops->cancel(call->call);
    } else if (what == RIG_CANCELS_OTHER) {
        rig->ops->cancel(call->other->call);
    } else if (what == RIG_SENDS) {
        rig_post(rig, rig->more);
    } else if (what == RIG_FREES) {
        rig->ops->free(rig->client);
        rig->is_freed = true;
    } else if (what == RIG_RESUMES) {
        rig->ops->pause(call->call);
        rig->ops->resume(call->call);
    }
}

static void on_head(void *user, const arcp__web_client_head *head)
{
    rig_call *call = user;
    assert_int_equal(0, call->ends);
    call->heads++;
    call->status = head->status;
    call->retry_after_sec = head->retry_after_sec;
    for (size_t i = 0; i < head->field_count; i++) {
        arcp_buf_append(&call->fields, head->fields[i].name);
        arcp_buf_append_cstr(&call->fields, ": ");
        arcp_buf_append(&call->fields, head->fields[i].value);
        arcp_buf_append_cstr(&call->fields, "\n");
    }
    act(call, call->at_head);
}

static bool on_body(void *user, arcp_span piece)
{
    rig_call *call = user;
    assert_int_equal(1, call->heads);
    assert_int_equal(0, call->ends);
    assert_int_not_equal(0, piece.size);
    call->pieces++;
    arcp_buf_append(&call->body, piece);
    act(call, call->at_body);
    return call->at_body != RIG_PAUSES;
}

static void on_done(void *user, const arcp__web_client_end *end)
{
    rig_call *call = user;
    call->ends++;
    call->end = *end;
    call->ended_ms = uv_now(&call->rig->loop);
    act(call, call->at_done);
}

static const arcp__web_call_events events = {on_head, on_body, on_done};

static void on_guard(uv_timer_t *guard)
{
    (void)guard;
    fail_msg("nothing happened for %u s", GUARD_MS / 1000);
}

void rig_start_with(web_rig *rig, const peer_answer *answers, size_t count,
                    const arcp__web_client_options *options)
{
    arcp__web_client_options own = *options;
    *rig = (web_rig){.ops = rig_ops != NULL ? rig_ops : &arcp__web_client_by_libcurl};
    assert_int_equal(0, uv_loop_init(&rig->loop));
    own.loop = &rig->loop;
    assert_int_equal(0, uv_timer_init(&rig->loop, &rig->guard));
    assert_int_equal(0, uv_timer_start(&rig->guard, on_guard, GUARD_MS, 0));
    http_peer_start(&rig->peer, &rig->loop, answers, count);
    (void)snprintf(rig->url, sizeof rig->url, "http://127.0.0.1:%u/v1/x?y=1", rig->peer.port);
    assert_int_equal(ARCP_OK, rig->ops->create(&own, &rig->client, NULL));
}

void rig_start(web_rig *rig, const peer_answer *answers, size_t count)
{
    const arcp__web_client_options options = {.keeps_connections = true};
    rig_start_with(rig, answers, count, &options);
}

void rig_stop(web_rig *rig)
{
    if (!rig->is_freed) {
        rig->ops->free(rig->client);
    }
    http_peer_close(&rig->peer);
    uv_close((uv_handle_t *)&rig->guard, NULL);
    assert_int_equal(0, uv_run(&rig->loop, UV_RUN_DEFAULT));
    assert_int_equal(0, rig->peer.open);
    assert_int_equal(0, uv_loop_close(&rig->loop));
    http_peer_forget(&rig->peer);
}

arcp__web_client_request rig_request(web_rig *rig, rig_call *call, arcp_span body)
{
    static const char headers[] = "Content-Type: application/json\0Authorization: Bearer k";
    call->rig = rig;
    return (arcp__web_client_request){.method = "POST",
                                      .url = rig->url,
                                      .headers = arcp_span_make(headers, sizeof headers),
                                      .body = body,
                                      .events = &events,
                                      .user = call};
}

void rig_send(web_rig *rig, rig_call *call, const arcp__web_client_request *request)
{
    assert_int_equal(ARCP_OK, rig->ops->send(rig->client, request, &call->call, NULL));
    assert_int_equal(0, call->heads + call->ends); /* events come later */
}

void rig_post(web_rig *rig, rig_call *call)
{
    const arcp__web_client_request request = rig_request(rig, call, ARCP_SPAN_LITERAL("{\"a\":1}"));
    rig_send(rig, call, &request);
}

void rig_until(web_rig *rig, const unsigned *value, unsigned wanted)
{
    while (*value < wanted) {
        (void)uv_run(&rig->loop, UV_RUN_ONCE);
    }
}

void rig_until_end(web_rig *rig, const rig_call *call)
{
    rig_until(rig, &call->ends, 1);
    assert_int_equal(1, call->ends);
}

void rig_until_closed(web_rig *rig)
{
    while (rig->peer.open != 0) {
        (void)uv_run(&rig->loop, UV_RUN_ONCE);
    }
}

void rig_call_fini(rig_call *call)
{
    arcp_buf_fini(&call->fields);
    arcp_buf_fini(&call->body);
}
