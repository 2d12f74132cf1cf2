#include "client/fake_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The job of an idempotency key. */
struct fake_job {
    char key[128];
    char id[64];
};

void fake_runtime_init(fake_runtime *runtime)
{
    *runtime = (fake_runtime){.random = 2463534242u, .json = ARCP__JSON_INIT};
}

void fake_runtime_fini(fake_runtime *runtime)
{
    for (size_t i = 0; i < runtime->seq; i++) {
        free(runtime->log[i]);
    }
    free(runtime->log);
    free(runtime->jobs);
    arcp__json_fini(&runtime->json);
    arcp_buf_fini(&runtime->ids);
    if (runtime->connection != NULL) {
        abort(); /* the client's loop ended without closing the connection */
    }
}

arcp_client_options fake_runtime_options(fake_runtime *runtime)
{
    arcp_client_options options = arcp_client_options_init();
    options.dial = fake_runtime_dial;
    options.dial_user = runtime;
    options.token = ARCP_SPAN_LITERAL("t1");
    options.backoff_first_ms = 1;
    options.backoff_max_ms = 2;
    return options;
}

/* ---- sending ---- */

static unsigned next_random(fake_runtime *runtime, unsigned below)
{
    runtime->random ^= runtime->random << 13;
    runtime->random ^= runtime->random >> 7;
    runtime->random ^= runtime->random << 17;
    return (unsigned)(runtime->random % below);
}

static void send_now(fake_runtime *runtime, const char *frame)
{
    arcp_connection *connection = runtime->connection;
    if (connection == NULL) {
        return;
    }
    if (connection->ops->send(connection, arcp_span_cstr(frame)) != ARCP_OK) {
        return;
    }
    connection->ops->flush(connection);
    const bool may_cut =
        runtime->cut_every != 0 &&
        (runtime->cuts_max == 0 || atomic_load(&runtime->cuts) < runtime->cuts_max);
    if (may_cut && runtime->sends_left-- == 0) {
        const unsigned cuts = atomic_fetch_add(&runtime->cuts, 1);
        runtime->sends_left = next_random(runtime, runtime->cut_every);
        /* A cut loses the frames in transit, which are all of this turn. Every third one does,
         * because otherwise nothing would progress. */
        if (cuts % 3 == 0) {
            arcp_memory_cut(connection);
        } else {
            connection->ops->close(connection, ARCP_CLOSE_GOING_AWAY, "as told");
        }
        runtime->connection = NULL; /* the `closed` callback follows, and releases it */
    }
}

#define REPLY_ROOM 2048

/* Responds to the current frame. */
static void reply(fake_runtime *runtime, const char *type, arcp_span id, const char *members)
{
    char frame[REPLY_ROOM];
    snprintf(frame, sizeof frame,
             "{\"arcp\":\"1.1\",\"id\":\"%.*s\",\"type\":\"%s\",\"session_id\":\"sess_1\","
             "\"payload\":{\"request_id\":\"%.*s\"%s}}",
             (int)id.size, id.data, type, (int)id.size, id.data, members);
    send_now(runtime, frame);
}

/* Sends a numbered frame and keeps it for a resume. */
static void say(fake_runtime *runtime, const char *type, const char *job, const char *payload)
{
    const size_t size = strlen(payload) + 256;
    char *frame = malloc(size);
    if (runtime->seq == runtime->log_capacity) {
        runtime->log_capacity = runtime->log_capacity * 2 + 64;
        runtime->log = realloc(runtime->log, runtime->log_capacity * sizeof(char *));
    }
    if (frame == NULL || runtime->log == NULL) {
        abort();
    }
    snprintf(frame, size,
             "{\"arcp\":\"1.1\",\"id\":\"e\",\"type\":\"%s\",\"session_id\":\"sess_1\","
             "\"job_id\":\"%s\",\"event_seq\":%llu,\"payload\":%s}",
             type, job, (unsigned long long)runtime->seq + 1, payload);
    runtime->log[runtime->seq++] = frame;
    send_now(runtime, frame);
}

/* ---- reading ---- */

static arcp_span text_at(fake_runtime *runtime, arcp_json_ref object, const char *name)
{
    const arcp_json_ref ref = arcp_json_member(&runtime->json, object, arcp_span_cstr(name));
    return arcp_json_string(&runtime->json, ref, &runtime->ids);
}

static void welcome(fake_runtime *runtime, arcp_span id, arcp_json_ref payload)
{
    const arcp_json_ref resume =
        arcp_json_member(&runtime->json, payload, ARCP_SPAN_LITERAL("resume"));
    char members[REPLY_ROOM / 2];
    uint64_t last = UINT64_MAX;
    atomic_fetch_add(&runtime->hellos, 1);
    if (runtime->mute) {
        return;
    }
    if (runtime->refuses_hello || (atomic_load(&runtime->forgets) && resume != ARCP_JSON_ABSENT)) {
        snprintf(members, sizeof members, ",\"code\":\"%s\",\"message\":\"no\",\"retryable\":false",
                 runtime->refuses_hello ? "UNAUTHENTICATED" : "RESUME_WINDOW_EXPIRED");
        reply(runtime, "session.error", id, members);
        return;
    }
    if (arcp_json_u64(&runtime->json,
                      arcp_json_member(&runtime->json, resume, ARCP_SPAN_LITERAL("last_event_seq")),
                      &last)) {
        atomic_fetch_add(&runtime->resumes, 1);
    }
    snprintf(members, sizeof members,
             ",\"session_id\":\"sess_1\",\"runtime\":{\"name\":\"fake\",\"version\":\"1\"},"
             "\"resume_token\":\"rt_%u\",\"resume_window_sec\":600,\"heartbeat_interval_sec\":30,"
             "\"capabilities\":{\"encodings\":[\"json\"],\"features\":[\"heartbeat\",\"ack\","
             "\"list_jobs\",\"subscribe\",\"lease_expires_at\",\"cost.budget\",\"model.use\","
             "\"provisioned_credentials\",\"progress\",\"result_chunk\",\"agent_versions\","
             "\"x-vendor.arcpd.accepted_again\",\"x-vendor.arcpd.view\","
             "\"x-vendor.arcpd.operate\"],"
             "\"agents\":[{\"name\":\"echo\",\"versions\":[\"1.0.0\",\"2.0.0\"],"
             "\"default\":\"2.0.0\",\"x-vendor.arcpd.unconfined\":true},\"bare\"]}",
             ++runtime->token);
    reply(runtime, "session.welcome", id, members);
    for (uint64_t seq = last; last != UINT64_MAX && seq < runtime->seq; seq++) {
        send_now(runtime, runtime->log[seq]);
    }
}

/* ---- agents ---- */

static void run_count(fake_runtime *runtime, const char *job, uint64_t count)
{
    char payload[128];
    for (uint64_t i = 0; i < count; i++) {
        snprintf(payload, sizeof payload,
                 "{\"kind\":\"log\",\"ts\":\"2026-01-01T00:00:00.000Z\",\"body\":{\"n\":%llu}}",
                 (unsigned long long)i);
        say(runtime, "job.event", job, payload);
    }
    snprintf(payload, sizeof payload, "{\"final_status\":\"success\",\"result\":%llu}",
             (unsigned long long)count);
    say(runtime, "job.result", job, payload);
}

static void run_stream(fake_runtime *runtime, const char *job, uint64_t count)
{
    char data[1001];
    char payload[1300];
    for (uint64_t i = 0; i < count; i++) {
        memset(data, 'a' + (int)(i % 26), 1000);
        data[1000] = '\0';
        snprintf(payload, sizeof payload,
                 "{\"kind\":\"result_chunk\",\"body\":{\"result_id\":\"res_1\",\"chunk_seq\":%llu,"
                 "\"data\":\"%s\",\"encoding\":\"utf8\",\"more\":%s}}",
                 (unsigned long long)i, data, i + 1 == count ? "false" : "true");
        say(runtime, "job.event", job, payload);
    }
    snprintf(payload, sizeof payload,
             "{\"final_status\":\"success\",\"result_id\":\"res_1\",\"result_size\":%llu}",
             (unsigned long long)count * 1000);
    say(runtime, "job.result", job, payload);
}

static void run_echo(fake_runtime *runtime, const char *job, arcp_span input)
{
    char payload[1024];
    say(runtime, "job.event", job,
        "{\"kind\":\"log\",\"ts\":\"2026-01-01T00:00:00.000Z\","
        "\"body\":{\"level\":\"info\",\"message\":\"hi\"}}");
    snprintf(payload, sizeof payload, "{\"final_status\":\"success\",\"result\":%.*s}",
             (int)input.size, input.data);
    say(runtime, "job.result", job, payload);
}

static void run_parent(fake_runtime *runtime, const char *job)
{
    char child[80];
    char frame[512];
    snprintf(child, sizeof child, "%s_child", job);
    snprintf(frame, sizeof frame,
             "{\"arcp\":\"1.1\",\"id\":\"c\",\"type\":\"job.accepted\",\"session_id\":\"sess_1\","
             "\"payload\":{\"job_id\":\"%s\",\"agent\":\"child@1\",\"lease\":{},"
             "\"parent_job_id\":\"%s\",\"delegate_id\":\"d1\"}}",
             child, job);
    send_now(runtime, frame);
    run_echo(runtime, child, ARCP_SPAN_LITERAL("1"));
    run_echo(runtime, job, ARCP_SPAN_LITERAL("2"));
}

static void run_agent(fake_runtime *runtime, arcp_span agent, const char *job,
                      arcp_json_ref payload)
{
    const arcp_json_ref input =
        arcp_json_member(&runtime->json, payload, ARCP_SPAN_LITERAL("input"));
    uint64_t count = 0;
    (void)arcp_json_u64(&runtime->json,
                        arcp_json_member(&runtime->json, input, ARCP_SPAN_LITERAL("n")), &count);
    if (arcp_span_equal_cstr(agent, "count")) {
        run_count(runtime, job, count);
    } else if (arcp_span_equal_cstr(agent, "stream")) {
        run_stream(runtime, job, count);
    } else if (arcp_span_equal_cstr(agent, "parent")) {
        run_parent(runtime, job);
    } else if (arcp_span_equal_cstr(agent, "wait")) {
        snprintf(runtime->waiting, sizeof runtime->waiting, "%s", job);
    } else if (arcp_span_equal_cstr(agent, "fail")) {
        say(runtime, "job.error", job,
            "{\"final_status\":\"timed_out\",\"code\":\"TIMEOUT\",\"message\":\"too long\","
            "\"retryable\":true}");
    } else {
        run_echo(runtime, job, arcp_json_raw(&runtime->json, input));
    }
}

/* ---- requests ---- */

static void submit(fake_runtime *runtime, arcp_span id, arcp_json_ref payload)
{
    const arcp_span agent = text_at(runtime, payload, "agent");
    const arcp_span key = text_at(runtime, payload, "idempotency_key");
    char members[REPLY_ROOM / 2];
    atomic_fetch_add(&runtime->submits, 1);
    snprintf(runtime->last_key, sizeof runtime->last_key, "%.*s", (int)key.size,
             key.size ? key.data : "");
    if (arcp_span_equal_cstr(agent, "silent")) {
        return;
    }
    if (arcp_span_equal_cstr(agent, "hangup")) {
        arcp_memory_cut(runtime->connection);
        runtime->connection = NULL;
        return;
    }
    if (arcp_span_equal_cstr(agent, "refuse")) {
        reply(runtime, "job.error", id,
              ",\"code\":\"AGENT_NOT_AVAILABLE\",\"message\":\"no such agent\","
              "\"retryable\":false,\"final_status\":\"error\",\"details\":{\"agent\":\"refuse\"}");
        return;
    }
    if (arcp_span_equal_cstr(agent, "flaky") && runtime->flaky++ == 0) {
        reply(runtime, "job.error", id,
              ",\"code\":\"INTERNAL_ERROR\",\"message\":\"busy\",\"retryable\":true,"
              "\"final_status\":\"error\"");
        return;
    }
    const bool is_late = arcp_span_equal_cstr(agent, "late");
    if ((is_late || arcp_span_equal_cstr(agent, "soon")) && runtime->flaky++ == 0) {
        reply(runtime, "job.error", id,
              is_late ? ",\"code\":\"INTERNAL_ERROR\",\"message\":\"busy\",\"retryable\":true,"
                        "\"final_status\":\"error\",\"details\":{\"retry_after_ms\":3600000}"
                      : ",\"code\":\"INTERNAL_ERROR\",\"message\":\"busy\",\"retryable\":true,"
                        "\"final_status\":\"error\",\"details\":{\"retry_after_ms\":1}");
        return;
    }
    struct fake_job *job = NULL;
    for (unsigned i = 0; i < runtime->job_count; i++) {
        if (key.size != 0 && arcp_span_equal_cstr(key, runtime->jobs[i].key)) {
            job = &runtime->jobs[i];
        }
    }
    const bool is_new = job == NULL;
    if (is_new) {
        runtime->jobs = realloc(runtime->jobs, (runtime->job_count + 1) * sizeof runtime->jobs[0]);
        if (runtime->jobs == NULL) {
            abort();
        }
        job = &runtime->jobs[runtime->job_count++];
        snprintf(job->id, sizeof job->id, "job_%u", runtime->job_count);
        snprintf(job->key, sizeof job->key, "%s", runtime->last_key);
    }
    const char *extra =
        arcp_span_equal_cstr(agent, "rich")
            ? ",\"budget\":{\"USD\":5.0},\"credentials\":[{\"id\":\"c1\",\"scheme\":\"bearer\","
              "\"value\":\"sk-1\",\"endpoint\":\"https://g\"},{\"id\":\"c2\",\"scheme\":\"basic\","
              "\"value\":\"x\"}]"
            : "";
    snprintf(members, sizeof members,
             ",\"job_id\":\"%s\",\"agent\":\"%.*s@1.0.0\",\"lease\":{\"cost.budget\":"
             "[\"USD:5.00\"]},\"accepted_at\":\"2026-01-01T00:00:00.000Z\"%s",
             job->id, (int)agent.size, agent.data, extra);
    char job_id[64];
    memcpy(job_id, job->id, sizeof job_id);
    reply(runtime, "job.accepted", id, members);
    if (is_new) {
        run_agent(runtime, agent, job_id, payload);
    }
}

static void cancel(fake_runtime *runtime, arcp_span id, arcp_json_ref payload)
{
    const arcp_span job = text_at(runtime, payload, "job_id");
    char members[256];
    char job_id[64];
    atomic_fetch_add(&runtime->cancels, 1);
    if (!arcp_span_equal_cstr(job, runtime->waiting)) {
        snprintf(members, sizeof members,
                 ",\"code\":\"JOB_NOT_FOUND\",\"message\":\"no such job\",\"retryable\":false,"
                 "\"final_status\":\"error\",\"details\":{\"job_id\":\"%.*s\"}",
                 (int)job.size, job.data);
        reply(runtime, "job.error", id, members);
        return;
    }
    snprintf(job_id, sizeof job_id, "%.*s", (int)job.size, job.data);
    snprintf(members, sizeof members, ",\"job_id\":\"%s\"", job_id);
    reply(runtime, "job.cancelled", id, members);
    say(runtime, "job.error", job_id,
        "{\"final_status\":\"cancelled\",\"code\":\"CANCELLED\",\"message\":\"as asked\","
        "\"retryable\":false}");
}

static void subscribe(fake_runtime *runtime, arcp_span id, arcp_json_ref payload)
{
    const arcp_span job = text_at(runtime, payload, "job_id");
    char members[256];
    char job_id[64];
    snprintf(job_id, sizeof job_id, "%.*s", (int)job.size, job.data);
    snprintf(members, sizeof members,
             ",\"job_id\":\"%s\",\"current_status\":\"running\",\"agent\":\"echo@1\",\"lease\":{},"
             "\"subscribed_from\":0,\"replayed\":false",
             job_id);
    reply(runtime, "job.subscribed", id, members);
    run_echo(runtime, job_id, ARCP_SPAN_LITERAL("\"seen\""));
}

static void pong(fake_runtime *runtime, arcp_span id, arcp_json_ref payload)
{
    const arcp_span nonce = text_at(runtime, payload, "nonce");
    char members[256];
    snprintf(members, sizeof members, ",\"ping_nonce\":\"%.*s\"", (int)nonce.size, nonce.data);
    reply(runtime, "session.pong", id, members);
}

static void on_message(void *user, arcp_connection *connection, arcp_span frame)
{
    fake_runtime *runtime = user;
    const arcp_json_limits limits = arcp_json_limits_init();
    if (connection != runtime->connection ||
        arcp_json_scan(&runtime->json, frame, &limits, NULL) != ARCP_OK) {
        return;
    }
    arcp_buf_clear(&runtime->ids);
    (void)arcp_buf_reserve(&runtime->ids, 4096);
    const arcp_span type = text_at(runtime, ARCP_JSON_ROOT, "type");
    const arcp_span id = text_at(runtime, ARCP_JSON_ROOT, "id");
    const arcp_json_ref payload =
        arcp_json_member(&runtime->json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
    uint64_t seq = 0;
    if (arcp_span_equal_cstr(type, "session.hello")) {
        welcome(runtime, id, payload);
    } else if (arcp_span_equal_cstr(type, "job.submit")) {
        submit(runtime, id, payload);
    } else if (arcp_span_equal_cstr(type, "job.cancel")) {
        cancel(runtime, id, payload);
    } else if (arcp_span_equal_cstr(type, "job.subscribe")) {
        subscribe(runtime, id, payload);
    } else if (arcp_span_equal_cstr(type, "job.unsubscribe")) {
        atomic_fetch_add(&runtime->unsubscribes, 1);
    } else if (arcp_span_equal_cstr(type, "session.ping")) {
        pong(runtime, id, payload);
    } else if (arcp_span_equal_cstr(type, "session.list_jobs")) {
        reply(runtime, "session.jobs", id,
              ",\"jobs\":[{\"job_id\":\"job_1\",\"agent\":\"echo@1\",\"status\":\"running\","
              "\"created_at\":\"2026-01-01T00:00:00Z\",\"last_event_seq\":3}],"
              "\"next_cursor\":null");
    } else if (arcp_span_equal_cstr(type, "session.ack")) {
        atomic_fetch_add(&runtime->acks, 1);
        if (arcp_json_u64(
                &runtime->json,
                arcp_json_member(&runtime->json, payload, ARCP_SPAN_LITERAL("last_processed_seq")),
                &seq)) {
            atomic_store(&runtime->acked, seq);
        }
    } else if (arcp_span_equal_cstr(type, "x-vendor.arcpd.watch")) {
        reply(runtime, "x-vendor.arcpd.watch.answer", id, ",\"what\":[\"jobs\"]");
        send_now(runtime, "{\"arcp\":\"1.1\",\"id\":\"r\",\"type\":\"x-vendor.arcpd.changed\","
                          "\"session_id\":\"sess_1\",\"payload\":{\"jobs\":[{\"n\":1}]}}");
    } else if (arcp_span_equal_cstr(type, "x-vendor.arcpd.unwatch")) {
        reply(runtime, "x-vendor.arcpd.unwatch.answer", id, ",\"what\":[]");
    } else if (arcp_span_equal_cstr(type, "session.close")) {
        atomic_fetch_add(&runtime->closes, 1);
        reply(runtime, "session.closed", id, "");
    }
}

static void on_drained(void *user, arcp_connection *connection, size_t written, size_t unsent)
{
}

static void on_closed(void *user, arcp_connection *connection, arcp_close_code code,
                      const char *reason)
{
    fake_runtime *runtime = user;
    if (runtime->connection == connection) {
        runtime->connection = NULL;
    }
    connection->ops->free(connection);
}

arcp_connection *fake_runtime_dial(void *user, struct uv_loop_s *loop, arcp_error *err)
{
    fake_runtime *runtime = user;
    arcp_connection *mine = NULL;
    arcp_connection *theirs = NULL;
    const unsigned dials = atomic_fetch_add(&runtime->dials, 1);
    if (dials == 0) {
        runtime->sends_left = runtime->cut_every;
    }
    if (dials < runtime->refuse_dials) {
        (void)arcp_error_set(err, ARCP_E_IO, "connection refused");
        return NULL;
    }
    if (arcp_memory_pair(loop, NULL, &mine, &theirs, err) != ARCP_OK) {
        return NULL;
    }
    const arcp_connection_callbacks callbacks = {
        .message = on_message, .drained = on_drained, .closed = on_closed, .user = runtime};
    mine->ops->set_callbacks(mine, &callbacks);
    runtime->connection = mine;
    return theirs;
}
