#include "runtime/runtime_rig.h"

#include <time.h>
#include <unistd.h>

#include "support/check.h"
#include "support/remove_tree.h"

static void let_in(void *user, arcp_token_request *request)
{
    arcp_token_response response = arcp_token_response_init();
    (void)user;
    response.status = ARCP_OK;
    response.principal = arcp_token_request_token(request);
    arcp_token_request_respond(request, &response);
}

static void on_message(void *user, arcp_connection *connection, arcp_span frame)
{
    runtime_rig *rig = user;
    (void)connection;
    arcp_buf_append(&rig->frames, frame);
    arcp_buf_append_byte(&rig->frames, '\n');
    const char *accepted = memmem(frame.data, frame.size, "\"job.accepted\"", 14);
    const char *id = memmem(frame.data, frame.size, "\"job_id\":\"", 10);
    if (accepted != NULL && id != NULL &&
        memmem(frame.data, frame.size, "parent_job_id", 13) == NULL) {
        (void)snprintf(rig->job_id, sizeof rig->job_id, "%.*s", 30, id + 10);
    }
}

static void on_drained(void *user, arcp_connection *connection, size_t written, size_t unsent)
{
    (void)user;
    (void)connection;
    (void)written;
    (void)unsent;
}

static void on_closed(void *user, arcp_connection *connection, arcp_close_code code,
                      const char *reason)
{
    runtime_rig *rig = user;
    (void)code;
    (void)reason;
    connection->ops->free(connection);
    rig->client = NULL;
    rig->closed = true;
}

static void connect_client(runtime_rig *rig)
{
    arcp_connection *served = NULL;
    arcp_error error = {0};
    check_ok(arcp_memory_pair(&rig->loop, NULL, &rig->client, &served, &error), &error);
    arcp_connection_callbacks callbacks = {
        .message = on_message, .drained = on_drained, .closed = on_closed, .user = rig};
    rig->client->ops->set_callbacks(rig->client, &callbacks);
    assert_int_equal(arcp_runtime_serve(rig->runtime, served, NULL, NULL), ARCP_OK);
}

void runtime_rig_begin(runtime_rig *rig)
{
    *rig = (runtime_rig){.next_id = 1};
    (void)snprintf(rig->directory, sizeof rig->directory, "/tmp/arcp-test-XXXXXX");
    assert_non_null(mkdtemp(rig->directory));
    assert_int_equal(uv_loop_init(&rig->loop), 0);
}

void runtime_rig_start(runtime_rig *rig, const arcp_settings *settings)
{
    arcp_runtime_options options = arcp_runtime_options_init();
    options.settings = settings;
    runtime_rig_begin(rig);
    runtime_rig_open(rig, &options);
}

void runtime_rig_open(runtime_rig *rig, arcp_runtime_options *options)
{
    arcp_error error = {0};
    arcp_token_verifier *verifier = NULL;
    options->work_directory = rig->directory;
    check_ok(arcp_runtime_new(&rig->loop, options, &rig->runtime, &error), &error);
    check_ok(arcp_token_verifier_new_callback(let_in, NULL, NULL, &verifier, &error), &error);
    check_ok(arcp_runtime_set_token_verifiers(rig->runtime, &verifier, 1, &error), &error);
    connect_client(rig);
    runtime_rig_send(rig, "session.hello",
                     "{\"client\":{\"name\":\"rig\",\"version\":\"1\"},\"auth\":{\"scheme\":"
                     "\"bearer\",\"token\":\"alice\"},\"capabilities\":{\"features\":[\"progress\","
                     "\"result_chunk\",\"cost.budget\",\"list_jobs\",\"model.use\","
                     "\"lease_expires_at\",\"provisioned_credentials\"]}}");
    (void)runtime_rig_wait(rig, "session.welcome");
}

static void on_stopped(void *user)
{
    runtime_rig *rig = user;
    rig->stopped = true;
}

static bool has_stopped(void *user)
{
    return ((runtime_rig *)user)->stopped;
}

void runtime_rig_stop(runtime_rig *rig)
{
    arcp_runtime_stop(rig->runtime, on_stopped, rig);
    runtime_rig_until(rig, has_stopped, rig);
    arcp_runtime_free(rig->runtime);
    if (rig->client != NULL) {
        rig->client->ops->free(rig->client);
    }
    (void)uv_run(&rig->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&rig->loop), 0);
    arcp_buf_fini(&rig->frames);
    (void)remove_tree(rig->directory);
}

void runtime_rig_send(runtime_rig *rig, const char *type, const char *payload)
{
    arcp_buf frame = arcp_buf_init();
    arcp_buf_append_format(&frame,
                           "{\"arcp\":\"1.1\",\"id\":\"m%u\",\"type\":\"%s\",\"payload\":%s}",
                           rig->next_id++, type, payload);
    assert_int_equal(rig->client->ops->send(rig->client, arcp_buf_span(&frame)), ARCP_OK);
    rig->client->ops->flush(rig->client);
    arcp_buf_fini(&frame);
}

void runtime_rig_submit(runtime_rig *rig, const char *agent, const char *more)
{
    char payload[1024];
    (void)snprintf(payload, sizeof payload, "{\"agent\":\"%s\"%s}", agent, more);
    runtime_rig_send(rig, "job.submit", payload);
}

const char *runtime_rig_expires_in(unsigned seconds)
{
    static char members[128];
    char text[40];
    struct timespec now;
    struct tm at;
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    now.tv_sec += seconds;
    assert_non_null(gmtime_r(&now.tv_sec, &at));
    assert_true(strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &at) > 0);
    (void)snprintf(members, sizeof members, ",\"lease_constraints\":{\"expires_at\":\"%s\"}", text);
    return members;
}

void runtime_rig_cancel(runtime_rig *rig)
{
    char payload[128];
    (void)snprintf(payload, sizeof payload, "{\"job_id\":\"%s\"}", rig->job_id);
    runtime_rig_send(rig, "job.cancel", payload);
}

static void on_deadline(uv_timer_t *timer)
{
    runtime_rig *rig = timer->data;
    rig->timed_out = true;
}

static void on_look(uv_timer_t *timer)
{
    (void)timer;
}

void runtime_rig_until(runtime_rig *rig, bool (*done)(void *user), void *user)
{
    uv_timer_t deadline, look;
    (void)uv_timer_init(&rig->loop, &deadline);
    deadline.data = rig;
    rig->timed_out = false;
    (void)uv_timer_start(&deadline, on_deadline, 20000, 0);
    /* The condition may become true before the loop begins to wait, so check it again soon. */
    (void)uv_timer_init(&rig->loop, &look);
    (void)uv_timer_start(&look, on_look, 5, 5);
    while (!done(user) && !rig->timed_out) {
        (void)uv_run(&rig->loop, UV_RUN_ONCE);
    }
    uv_close((uv_handle_t *)&deadline, NULL);
    uv_close((uv_handle_t *)&look, NULL);
    (void)uv_run(&rig->loop, UV_RUN_NOWAIT);
    if (rig->timed_out) {
        fail_msg("nothing happened for 20 s; so far:\n%.*s", (int)rig->frames.size,
                 rig->frames.size ? rig->frames.data : "");
    }
}

arcp_span runtime_rig_frames(const runtime_rig *rig)
{
    return arcp_span_from(arcp_buf_span(&rig->frames), rig->taken);
}

/* The first line that contains the word; empty: none. A search in all lines at once would be slow:
 * under ThreadSanitizer memmem looks at each byte that it was given. */
static arcp_span line_with(arcp_span lines, const char *word)
{
    while (lines.size != 0) {
        const char *end = memchr(lines.data, '\n', lines.size);
        const arcp_span line = arcp_span_first(lines, (size_t)(end - lines.data));
        if (memmem(line.data, line.size, word, strlen(word)) != NULL) {
            return line;
        }
        lines = arcp_span_from(lines, line.size + 1);
    }
    return arcp_span_make(NULL, 0);
}

bool runtime_rig_has(const runtime_rig *rig, const char *word)
{
    return line_with(runtime_rig_frames(rig), word).size != 0;
}

typedef struct word_wait {
    const runtime_rig *rig;
    const char *word;
    size_t searched; /* bytes without the word; frames may have many megabytes */
} word_wait;

static bool has_word(void *user)
{
    word_wait *wait = user;
    const arcp_span frames = runtime_rig_frames(wait->rig);
    const arcp_span line = line_with(arcp_span_from(frames, wait->searched), wait->word);
    wait->searched = line.size == 0 ? frames.size : (size_t)(line.data - frames.data);
    return line.size != 0;
}

const char *runtime_rig_wait(runtime_rig *rig, const char *word)
{
    static char found[65536];
    word_wait wait = {rig, word, 0};
    runtime_rig_until(rig, has_word, &wait);
    const arcp_span frames = arcp_span_from(runtime_rig_frames(rig), wait.searched);
    const arcp_span line = line_with(frames, word);
    (void)snprintf(found, sizeof found, "%.*s", (int)line.size, line.data);
    rig->taken += wait.searched + line.size + 1;
    if (rig->taken >= rig->frames.size / 2) { /* rarely, because it moves the rest */
        arcp_buf_consume(&rig->frames, rig->taken);
        rig->taken = 0;
    }
    return found;
}

void runtime_rig_add(runtime_rig *rig, const char *name, arcp_agent_kind kind,
                     void (*run)(arcp_agent_call *call, void *user), void *user)
{
    arcp_agent agent = arcp_agent_init();
    arcp_error error = {0};
    agent.name = name;
    agent.kind = kind;
    agent.run = run;
    agent.user = user;
    check_ok(arcp_runtime_register(rig->runtime, &agent, &error), &error);
}

void runtime_rig_register_sh(runtime_rig *rig, const char *name, const char *script,
                             const arcp_process_agent *more)
{
    const char *const command[] = {"/bin/sh", "-c", script, NULL};
    arcp_process_agent agent = arcp_process_agent_init();
    arcp_error error = {0};
    if (more != NULL) {
        agent = *more;
    }
    agent.name = name;
    agent.command = command;
    check_ok(arcp_runtime_register_process(rig->runtime, &agent, &error), &error);
}
