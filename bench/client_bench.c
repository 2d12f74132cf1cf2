/* The cost of an event in the client: from the bytes of a frame to the item that the program gets,
 * without a transport. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client_job.h"
#include "client/client_session.h"
#include "harness.h"

typedef struct bed {
    arcp__client_session *session;
    arcp_time now;
    uint64_t seq;
    const char *body; /* of each event */
    char frame[1024];
} bed;

static void no_random(void *user, void *out, size_t size)
{
    memset(out, 1, size);
}

static void on_reply(void *user, arcp_client *client, const arcp_reply *reply)
{
}

static void hear(bed *b, const char *text)
{
    arcp__client_session_receive(b->session, b->now, arcp_span_cstr(text));
}

/* Takes all items, as a driver does. */
static void drain(bed *b)
{
    arcp_span frame = {NULL, 0};
    while (arcp__client_session_next_frame(b->session, &frame)) {
        bench_keep(frame.size);
    }
    arcp__client_item *item = arcp__client_session_next_item(b->session);
    while (item != NULL) {
        if (item->event.job != NULL) {
            arcp__client_job_hand_over(item->event.job, item);
        }
        arcp__client_item_free(item);
        item = arcp__client_session_next_item(b->session);
    }
    arcp__client_session_handed_over(b->session, b->now, b->session->last_seq);
}

/* A live session with one job. */
static void begin(bed *b)
{
    arcp_client_options options = arcp_client_options_init();
    arcp_submit_options submit = arcp_submit_options_init();
    options.url = ARCP_SPAN_LITERAL("ws://x");
    submit.agent = ARCP_SPAN_LITERAL("a");
    b->now = (arcp_time){1, 1};
    if (arcp__client_session_new(&options, no_random, NULL, &b->session, NULL) != ARCP_OK) {
        abort();
    }
    arcp__client_session_start(b->session, b->now);
    (void)arcp__client_session_take_action(b->session);
    arcp__client_session_connected(b->session, b->now);
    hear(b, "{\"type\":\"session.welcome\",\"session_id\":\"sess_01M7YFYK262ZJYKHC5DAMTBF75\","
            "\"payload\":{\"resume_token\":\"r\",\"capabilities\":{\"features\":[\"ack\"]}}}");
    if (arcp__client_session_request(
            b->session, b->now,
            &(const arcp__client_request_args){
                .kind = ARCP__CLIENT_REQUEST_SUBMIT, .submit = &submit, .on_reply = on_reply},
            NULL, NULL) != ARCP_OK) {
        abort();
    }
    drain(b);
    hear(b, "{\"type\":\"job.accepted\",\"payload\":{\"job_id\":"
            "\"job_01M7YFYK262ZJYKHC5DAMTBF75\",\"lease\":{}}}");
    drain(b);
}

static void receive_events(void *state, uint64_t iterations)
{
    bed *b = state;
    for (uint64_t i = 0; i < iterations; i++) {
        const int size = snprintf(
            b->frame, sizeof b->frame,
            "{\"arcp\":\"1.1\",\"id\":\"msg_01M7YFYK262ZJYKHC5DAMTBF75\",\"type\":\"job.event\","
            "\"session_id\":\"sess_01M7YFYK262ZJYKHC5DAMTBF75\",\"trace_id\":"
            "\"4bf92f3577b34da6a3ce929d0e0e4736\",\"job_id\":\"job_01M7YFYK262ZJYKHC5DAMTBF75\","
            "\"event_seq\":%llu,\"payload\":%s}",
            (unsigned long long)++b->seq, b->body);
        arcp__client_session_receive(b->session, b->now, arcp_span_make(b->frame, (size_t)size));
        drain(b);
    }
}

int main(int argc, char **argv)
{
    bed log = {.body = "{\"kind\":\"log\",\"ts\":\"2026-11-21T07:14:34.788Z\",\"body\":{\"level\":"
                       "\"info\",\"message\":\"reading the third of seven files\"}}"};
    begin(&log);
    const bench_case cases[] = {
        {.name = "log event, 350 bytes", .run = receive_events, .state = &log},
    };
    const int exit_status = bench_main(argc, argv, "client session", cases, 1);
    arcp__client_session_free(log.session);
    return exit_status;
}
