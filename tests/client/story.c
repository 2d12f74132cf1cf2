#include "client/story.h"

#include <stdarg.h>

#include "client/client_job.h"
#include "client/client_session.h"

/* xorshift: the same ids in every run. */
static void seeded_random(void *user, void *out, size_t size)
{
    story *s = user;
    uint8_t *bytes = out;
    for (size_t i = 0; i < size; i++) {
        s->random ^= s->random << 13;
        s->random ^= s->random >> 7;
        s->random ^= s->random << 17;
        bytes[i] = (uint8_t)s->random;
    }
}

void story_new(story *s, arcp_client_options options)
{
    arcp_error err = {0};
    *s = (story){
        .random = 88172645463325252u,
        .now = {.wall_ns = 1767225600 * ARCP_NS_PER_SEC, .mono_ns = 1000 * ARCP_NS_PER_SEC}};
    options.url = ARCP_SPAN_LITERAL("ws://127.0.0.1:1/arcp");
    if (arcp_span_equal_cstr(options.token, "-")) {
        options.token = arcp_span_make(NULL, 0);
    } else if (options.token.size == 0) {
        options.token = ARCP_SPAN_LITERAL("t1");
    }
    check_ok(arcp__client_session_new(&options, seeded_random, s, &s->session, &err), &err);
}

void story_hello(story *s, arcp_client_options options)
{
    story_new(s, options);
    story_start(s);
    story_connect(s);
}

void story_live(story *s, arcp_client_options options)
{
    story_hello(s, options);
    story_receive(s, WELCOME);
    story_check_log(s, "dial\nconnected\n");
}

void story_live_plain(story *s, arcp_client_options options)
{
    story_hello(s, options);
    story_receive(s, "{'arcp':'1.1','id':'w1','type':'session.welcome','session_id':'sess_1',"
                     "'payload':{'resume_token':'rt_1','resume_window_sec':600,'capabilities':{"
                     "'features':['list_jobs','subscribe','agent_versions']}}}");
    story_check_log(s, "dial\nconnected\n");
}

void story_live_job(story *s)
{
    story_live(s, DEFAULTS);
    story_submit(s, "a", "echo");
    story_receive(s, JOB_1_ACCEPTED);
    story_check_log(s, "reply a ok job_1\n");
}

void story_end(story *s)
{
    for (size_t i = 0; i < s->job_count; i++) {
        arcp__client_job_drop_handle(s->jobs[i]);
    }
    arcp_job_page_free(s->page);
    arcp__client_session_free(s->session);
    for (size_t i = 0; i < s->sent_count; i++) {
        free(s->sent[i]);
    }
    arcp_buf_fini(&s->log);
}

/* ---- the log ---- */

static void log_failure(story *s, const arcp_error *failure)
{
    if (failure != NULL) {
        arcp_buf_append_format(&s->log, " %s",
                               failure->code[0] != '\0' ? failure->code
                                                        : arcp_status_name(failure->status));
    }
}

static void log_event(story *s, arcp_client_event *event)
{
    static const char *const words[] = {
        [ARCP_CLIENT_CONNECTED] = "connected",   [ARCP_CLIENT_DISCONNECTED] = "disconnected",
        [ARCP_CLIENT_RESUMED] = "resumed",       [ARCP_CLIENT_CLOSED] = "closed",
        [ARCP_CLIENT_JOB_ADDED] = "added",       [ARCP_CLIENT_JOB_EVENT] = "event",
        [ARCP_CLIENT_JOB_ENDED] = "ended",       [ARCP_CLIENT_NOTICE] = "notice",
        [ARCP_CLIENT_JOBS_CHANGED] = "changed",  [ARCP_CLIENT_FIGURES] = "figures",
        [ARCP_CLIENT_WATCH_ENDED] = "unwatched",
    };
    arcp_buf_append_cstr(&s->log, words[event->type]);
    if (event->job != NULL) {
        arcp_buf_append_byte(&s->log, ' ');
        arcp_buf_append(&s->log, event->job->id);
    }
    assert_true(event->job != NULL ||
                (event->type != ARCP_CLIENT_JOB_EVENT && event->type != ARCP_CLIENT_JOB_ENDED));
    if (event->type == ARCP_CLIENT_JOB_EVENT) {
        arcp_buf_append_format(&s->log, " %llu ", (unsigned long long)event->event_seq);
        arcp_buf_append(&s->log, event->kind_text);
        arcp_buf_append_byte(&s->log, ' ');
        arcp_buf_append(&s->log, event->body);
    } else if (event->type == ARCP_CLIENT_JOBS_CHANGED || event->type == ARCP_CLIENT_FIGURES) {
        arcp_buf_append_byte(&s->log, ' ');
        arcp_buf_append(&s->log, event->body);
        check_span(arcp_client_event_payload(event), event->body.data);
    } else if (event->type == ARCP_CLIENT_JOB_ENDED && event->job != NULL) {
        arcp_buf_append_format(&s->log, " %llu %s", (unsigned long long)event->event_seq,
                               arcp_job_status_name(event->job->outcome.final_status));
    }
    log_failure(s, event->error);
    arcp_buf_append_byte(&s->log, '\n');
}

static void on_reply(void *user, arcp_client *client, const arcp_reply *reply)
{
    (void)user;
    (void)client;
    (void)reply;
}

arcp_reply_fn story_on_reply(void)
{
    return on_reply;
}

static void log_reply(story *s, arcp__client_item *item)
{
    arcp_buf_append_format(&s->log, "reply %s", (const char *)item->reply_user);
    if (item->reply.error != NULL) {
        log_failure(s, item->reply.error);
    } else {
        arcp_buf_append_cstr(&s->log, " ok");
    }
    if (item->reply.job != NULL) {
        arcp_buf_append_byte(&s->log, ' ');
        arcp_buf_append(&s->log, item->reply.job->id);
        assert_true(s->job_count < STORY_JOBS_MAX);
        s->jobs[s->job_count++] = item->reply.job;
        item->reply.job = NULL;
    }
    if (item->reply.page != NULL) {
        arcp_job_page_free(s->page);
        s->page = item->reply.page;
        item->reply.page = NULL;
    }
    arcp_buf_append_byte(&s->log, '\n');
}

static void take_frames(story *s)
{
    arcp_span frame = {NULL, 0};
    while (arcp__client_session_next_frame(s->session, &frame)) {
        assert_true(s->sent_count < STORY_SENT_MAX);
        char *copy = malloc(frame.size + 1);
        assert_non_null(copy);
        memcpy(copy, frame.data, frame.size);
        copy[frame.size] = '\0';
        s->sent[s->sent_count++] = copy;
    }
}

void story_drain(story *s)
{
    take_frames(s);
    arcp__client_item *item = arcp__client_session_next_item(s->session);
    while (item != NULL) {
        if (item->is_reply) {
            log_reply(s, item);
        } else {
            if (item->event.job != NULL) {
                arcp__client_job_hand_over(item->event.job, item);
            }
            log_event(s, &item->event);
            if (item->event.job != NULL) {
                arcp__client_session_reap(item->event.job);
            }
        }
        arcp__client_item_free(item);
        item = arcp__client_session_next_item(s->session);
    }
    if (!s->keeps_unread) {
        arcp__client_session_handed_over(s->session, s->now, s->session->last_seq);
    }
    static const char *const actions[] = {"", "dial\n", "close\n", "abort\n"};
    arcp_buf_append_cstr(&s->log, actions[arcp__client_session_take_action(s->session)]);
    take_frames(s);
}

/* ---- reading frames ---- */

static void member_at(const char *frame, const char *path, arcp_buf *out)
{
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = arcp_json_limits_init();
    arcp_error err = {0};
    check_ok(arcp_json_scan(&json, arcp_span_cstr(frame), &limits, &err), &err);
    arcp_json_ref ref = ARCP_JSON_ROOT;
    while (*path != '\0') {
        const size_t size = strcspn(path, "/");
        ref = arcp_json_member(&json, ref, arcp_span_make(path, size));
        path += size + (path[size] == '/');
    }
    arcp_buf_append(out, arcp_json_raw(&json, ref));
    arcp__json_fini(&json);
}

void story_check_member(const char *frame, const char *path, const char *json)
{
    arcp_buf got = arcp_buf_init();
    assert_non_null(frame);
    member_at(frame, path, &got);
    if (!arcp_span_equal_cstr(arcp_buf_span(&got), json)) {
        fail_msg("%s is %.*s, want %s, in %s", path, (int)got.size, got.size ? got.data : "", json,
                 frame);
    }
    arcp_buf_fini(&got);
}

static bool is_type(const char *frame, const char *type)
{
    arcp_buf got = arcp_buf_init();
    member_at(frame, "type", &got);
    const bool same = got.size == strlen(type) + 2 && memcmp(got.data + 1, type, strlen(type)) == 0;
    arcp_buf_fini(&got);
    return same;
}

const char *story_sent_nth(const story *s, const char *type, size_t nth)
{
    for (size_t i = 0; i < s->sent_count; i++) {
        if (is_type(s->sent[i], type) && --nth == 0) {
            return s->sent[i];
        }
    }
    return NULL;
}

size_t story_sent_count(const story *s, const char *type)
{
    size_t count = 0;
    for (size_t i = 0; i < s->sent_count; i++) {
        count += is_type(s->sent[i], type);
    }
    return count;
}

const char *story_sent(const story *s, const char *type)
{
    return story_sent_nth(s, type, story_sent_count(s, type));
}

/* ---- inputs ---- */

/* Appends what $(TYPE), $(TYPE N) or %(TYPE) at `text` stands for; returns what follows. */
static const char *append_reference(story *s, const char *text, arcp_buf *out)
{
    const char *member = *text == '$' ? "id" : "trace_id";
    const char *end = strchr(text, ')');
    assert_non_null(end);
    char type[64] = "";
    unsigned nth = 0;
    const size_t size = strcspn(text + 2, " )");
    assert_true(size < sizeof type);
    memcpy(type, text + 2, size);
    if (text[2 + size] == ' ') {
        nth = (unsigned)strtoul(text + 2 + size, NULL, 10);
    }
    const char *frame = nth == 0 ? story_sent(s, type) : story_sent_nth(s, type, nth);
    if (frame == NULL) {
        fail_msg("no %s was sent", type);
    }
    arcp_buf value = arcp_buf_init();
    member_at(frame, member, &value);
    arcp_buf_append(out, arcp_span_make(value.data + 1, value.size - 2));
    arcp_buf_fini(&value);
    return end + 1;
}

void story_receive(story *s, const char *frame)
{
    arcp_buf text =
        arcp_buf_secret_init(); /* wiped, so that session_secrets_test does not find it */
    while (*frame != '\0') {
        if ((*frame == '$' || *frame == '%') && frame[1] == '(') {
            frame = append_reference(s, frame, &text);
        } else {
            arcp_buf_append_byte(&text, *frame == '\'' ? '"' : *frame);
            frame++;
        }
    }
    arcp__client_session_receive(s->session, s->now, arcp_buf_span(&text));
    arcp_buf_fini(&text);
    story_drain(s);
}

void story_receive_format(story *s, const char *format, ...)
{
    char frame[2048];
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(frame, sizeof frame, format, arguments);
    va_end(arguments);
    assert_in_range(size, 0, sizeof frame - 1);
    story_receive(s, frame);
}

const char *story_id_too_long(void)
{
    static char id[258];
    memset(id, 'x', sizeof id - 1);
    return id;
}

void story_start(story *s)
{
    arcp__client_session_start(s->session, s->now);
    story_drain(s);
}

void story_connect(story *s)
{
    arcp__client_session_connected(s->session, s->now);
    story_drain(s);
}

void story_drop(story *s)
{
    story_drop_for(s, ARCP_E_IO);
}

void story_drop_for(story *s, arcp_status status)
{
    arcp_error why = {0};
    (void)arcp_error_set(&why, status, "connection lost");
    arcp__client_session_disconnected(s->session, s->now, &why);
    story_drain(s);
}

void story_wait(story *s, int64_t ms)
{
    s->now.mono_ns += ms * ARCP_NS_PER_MS;
    s->now.wall_ns += ms * ARCP_NS_PER_MS;
    arcp__client_session_tick(s->session, s->now);
    story_drain(s);
}

void story_wait_deadline(story *s)
{
    const int64_t due = arcp__client_session_deadline(s->session);
    assert_true(due != ARCP_TIME_NEVER);
    const int64_t ahead = due > s->now.mono_ns ? due - s->now.mono_ns : 0;
    s->now.mono_ns += ahead;
    s->now.wall_ns += ahead;
    arcp__client_session_tick(s->session, s->now);
    story_drain(s);
}

void story_reconnect(story *s)
{
    story_drop(s);
    story_wait_deadline(s);
    story_connect(s);
}

arcp_status story_submit_with(story *s, const char *name, const arcp_submit_options *options,
                              arcp_error *err)
{
    const arcp_status status = arcp__client_session_request(
        s->session, s->now,
        &(const arcp__client_request_args){.kind = ARCP__CLIENT_REQUEST_SUBMIT,
                                           .submit = options,
                                           .on_reply = on_reply,
                                           .user = (void *)name},
        NULL, err);
    story_drain(s);
    return status;
}

void story_submit(story *s, const char *name, const char *agent)
{
    arcp_submit_options options = arcp_submit_options_init();
    arcp_error err = {0};
    options.agent = arcp_span_cstr(agent);
    check_ok(story_submit_with(s, name, &options, &err), &err);
}

void story_subscribe(story *s, const char *name, const char *job_id, bool history)
{
    arcp_subscribe_options options = arcp_subscribe_options_init();
    arcp_error err = {0};
    options.job_id = arcp_span_cstr(job_id);
    options.history = history;
    check_ok(arcp__client_session_request(
                 s->session, s->now,
                 &(const arcp__client_request_args){.kind = ARCP__CLIENT_REQUEST_SUBSCRIBE,
                                                    .subscribe = &options,
                                                    .on_reply = on_reply,
                                                    .user = (void *)name},
                 NULL, &err),
             &err);
    story_drain(s);
}

void story_cancel(story *s, const char *name, const char *job_id)
{
    arcp_error err = {0};
    check_ok(arcp__client_session_request(
                 s->session, s->now,
                 &(const arcp__client_request_args){.kind = ARCP__CLIENT_REQUEST_CANCEL,
                                                    .job_id = arcp_span_cstr(job_id),
                                                    .on_reply = on_reply,
                                                    .user = (void *)name},
                 NULL, &err),
             &err);
    story_drain(s);
}

void story_list(story *s, const char *name)
{
    arcp_list_options options = arcp_list_options_init();
    arcp_error err = {0};
    check_ok(arcp__client_session_request(
                 s->session, s->now,
                 &(const arcp__client_request_args){.kind = ARCP__CLIENT_REQUEST_LIST,
                                                    .list = &options,
                                                    .on_reply = on_reply,
                                                    .user = (void *)name},
                 NULL, &err),
             &err);
    story_drain(s);
}

void story_ping(story *s, const char *name)
{
    arcp_error err = {0};
    check_ok(arcp__client_session_request(
                 s->session, s->now,
                 &(const arcp__client_request_args){
                     .kind = ARCP__CLIENT_REQUEST_PING, .on_reply = on_reply, .user = (void *)name},
                 NULL, &err),
             &err);
    story_drain(s);
}

void story_check_log(story *s, const char *text)
{
    if (!arcp_span_equal_cstr(arcp_buf_span(&s->log), text)) {
        fail_msg("the log is\n%.*swant\n%s", (int)s->log.size, s->log.size ? s->log.data : "",
                 text);
    }
    arcp_buf_clear(&s->log);
}
