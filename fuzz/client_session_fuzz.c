/* A whole client session: the input is a script of lines.
 *
 *   +        the transport is up          -        it is gone
 *   tN       N times 10 ms pass           x        the program closes
 *   s l p    submit, list, ping           c b      cancel, subscribe to job_1
 *   r R      stop and begin reading
 *   anything else is a frame from the runtime, in which $N stands for the id of the
 *   N-th last frame that was sent (0 to 9)
 *
 * It must hold that events are delivered in order and once, a request gets at most one response,
 * nothing follows a job's end, everything sent is a JSON object, and no memory is left when the
 * session is freed. */
#include "entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client_job.h"
#include "client/client_session.h"
#include "lines.h"
#include "json/json.h"

#define IDS          10
#define REQUESTS_MAX 256
#define MSG_ID_SIZE  30

typedef struct fixture {
    arcp__client_session *session;
    arcp_time now;
    uint64_t random;
    uint64_t last_seq;
    char ids[IDS][MSG_ID_SIZE]; /* of the last frames, newest first */
    bool replied[REQUESTS_MAX];
    size_t requests;
    arcp_json json;
} fixture;

static void seeded(void *user, void *out, size_t size)
{
    fixture *f = user;
    uint8_t *bytes = out;
    for (size_t i = 0; i < size; i++) {
        f->random = f->random * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (uint8_t)(f->random >> 56);
    }
}

static void on_reply(void *user, arcp_client *client, const arcp_reply *reply)
{
    (void)user;
    (void)client;
    (void)reply;
}

static void check_frame(fixture *f, arcp_span frame)
{
    const arcp_json_limits limits = arcp_json_limits_init();
    require(arcp_json_scan(&f->json, frame, &limits, NULL) == ARCP_OK);
    require(arcp_json_is(&f->json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT));
    require(frame.size == 0 || memchr(frame.data, '\n', frame.size) == NULL);
    arcp_buf scratch = arcp_buf_init();
    const arcp_span id = arcp_json_string(
        &f->json, arcp_json_member(&f->json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("id")), &scratch);
    if (id.size == MSG_ID_SIZE) {
        memmove(f->ids[1], f->ids[0], sizeof f->ids - MSG_ID_SIZE);
        memcpy(f->ids[0], id.data, MSG_ID_SIZE);
    }
    arcp_buf_fini(&scratch);
}

static void check_item(fixture *f, arcp__client_item *item)
{
    if (item->is_reply) {
        bool *replied = item->reply_user;
        require(!*replied);
        *replied = true;
        require((item->reply.error != NULL) == (item->reply.status != ARCP_OK));
        return;
    }
    if (item->event.event_seq != 0 && item->event.job->held == NULL) {
        require(item->event.event_seq <= f->session->last_seq);
    }
    if (item->event.job != NULL) {
        require(!item->event.job->over);
        arcp__client_job_hand_over(item->event.job, item);
        const arcp_span payload = arcp_client_event_payload(&item->event);
        require(payload.data[payload.size] == '\0');
        require(arcp_client_event_body(&item->event) != NULL);
        arcp__client_session_reap(item->event.job);
    }
}

static void drain(fixture *f)
{
    arcp_span frame = {NULL, 0};
    while (arcp__client_session_next_frame(f->session, &frame)) {
        check_frame(f, frame);
    }
    arcp__client_item *item = arcp__client_session_next_item(f->session);
    while (item != NULL) {
        check_item(f, item);
        arcp__client_item_free(item);
        item = arcp__client_session_next_item(f->session);
    }
    const uint64_t last = f->session->last_seq;
    require(last >= f->last_seq);
    f->last_seq = last;
    arcp__client_session_handed_over(f->session, f->now, last);
    const arcp__client_session_action ignored = arcp__client_session_take_action(f->session);
    (void)ignored;
    require(arcp__client_session_deadline(f->session) >= 0);
}

/* A frame with the ids inserted. */
static void on_frame(fixture *f, const char *line, size_t size)
{
    arcp_buf frame = arcp_buf_init();
    for (size_t i = 0; i < size; i++) {
        if (line[i] == '$' && i + 1 < size && line[i + 1] >= '0' && line[i + 1] <= '9') {
            arcp_buf_append(&frame, arcp_span_make(f->ids[line[i + 1] - '0'], MSG_ID_SIZE));
            i++;
        } else {
            arcp_buf_append_byte(&frame, line[i]);
        }
    }
    arcp__client_session_receive(f->session, f->now, arcp_buf_span(&frame));
    arcp_buf_fini(&frame);
}

static void ask(fixture *f, char what)
{
    if (f->requests == REQUESTS_MAX) {
        return;
    }
    bool *replied = &f->replied[f->requests++];
    const arcp_span job = ARCP_SPAN_LITERAL("job_1");
    arcp_status status = ARCP_OK;
    if (what == 's') {
        arcp_submit_options options = arcp_submit_options_init();
        options.agent = ARCP_SPAN_LITERAL("echo");
        status = arcp__client_session_request(
            f->session, f->now,
            &(const arcp__client_request_args){.kind = ARCP__CLIENT_REQUEST_SUBMIT,
                                               .submit = &options,
                                               .on_reply = on_reply,
                                               .user = replied},
            NULL, NULL);
    } else if (what == 'l') {
        arcp_list_options options = arcp_list_options_init();
        status = arcp__client_session_request(
            f->session, f->now,
            &(const arcp__client_request_args){.kind = ARCP__CLIENT_REQUEST_LIST,
                                               .list = &options,
                                               .on_reply = on_reply,
                                               .user = replied},
            NULL, NULL);
    } else if (what == 'b') {
        arcp_subscribe_options options = arcp_subscribe_options_init();
        options.job_id = job;
        status = arcp__client_session_request(
            f->session, f->now,
            &(const arcp__client_request_args){.kind = ARCP__CLIENT_REQUEST_SUBSCRIBE,
                                               .subscribe = &options,
                                               .on_reply = on_reply,
                                               .user = replied},
            NULL, NULL);
    } else if (what == 'c') {
        status = arcp__client_session_request(
            f->session, f->now,
            &(const arcp__client_request_args){.kind = ARCP__CLIENT_REQUEST_CANCEL,
                                               .job_id = job,
                                               .on_reply = on_reply,
                                               .user = replied},
            NULL, NULL);
    } else {
        status = arcp__client_session_request(
            f->session, f->now,
            &(const arcp__client_request_args){
                .kind = ARCP__CLIENT_REQUEST_PING, .on_reply = on_reply, .user = replied},
            NULL, NULL);
    }
    (void)status;
}

static void play_line(fixture *f, const char *line, size_t size)
{
    const char what = size == 0 ? '\0' : line[0];
    arcp_error lost = {0};
    if (what == '+' && size == 1) {
        arcp__client_session_connected(f->session, f->now);
    } else if (what == '-' && size == 1) {
        (void)arcp_error_set(&lost, ARCP_E_IO, "lost");
        arcp__client_session_disconnected(f->session, f->now, &lost);
    } else if (what == 't' && size <= 6) {
        char digits[8] = "";
        memcpy(digits, line + 1, size - 1);
        const long steps = strtol(digits, NULL, 10); /* the monotonic clock never goes back */
        const int64_t ns = steps <= 0 ? 0 : steps * 10 * ARCP_NS_PER_MS;
        f->now.mono_ns += ns;
        f->now.wall_ns += ns;
        arcp__client_session_tick(f->session, f->now);
    } else if (what == 'x' && size == 1) {
        arcp__client_session_close(f->session, f->now);
    } else if ((what == 'r' || what == 'R') && size == 1) {
        arcp__client_session_set_reading(f->session, f->now, what == 'R');
    } else if (size == 1 && what != '\0' && strchr("slpcb", what) != NULL) {
        ask(f, what);
    } else {
        on_frame(f, line, size);
    }
    drain(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fixture f = {.now = {.wall_ns = 1767225600 * ARCP_NS_PER_SEC, .mono_ns = ARCP_NS_PER_SEC},
                 .json = ARCP__JSON_INIT};
    arcp_client_options options = arcp_client_options_init();
    options.url = ARCP_SPAN_LITERAL("ws://x");
    options.token = ARCP_SPAN_LITERAL("t");
    require(arcp__client_session_new(&options, seeded, &f, &f.session, NULL) == ARCP_OK);
    arcp__client_session_start(f.session, f.now);
    drain(&f);
    arcp_span rest = arcp_span_make((const char *)data, size);
    while (rest.size != 0) {
        const arcp_span line = take_line(&rest);
        play_line(&f, line.data, line.size);
    }
    arcp__client_session_free(f.session);
    arcp__json_fini(&f.json);
    return 0;
}
