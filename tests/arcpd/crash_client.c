/* The clients of the crash test. Every event that a client received must be replayed under the same
 * event_seq, byte for byte, and no number may be missing. */
#include "arcpd/crash_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t crash_random(crash_fixture *f, uint64_t limit)
{
    f->random += 0x9E3779B97F4A7C15u;
    uint64_t z = f->random;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (z ^ (z >> 31)) % limit;
}

void crash_client_begin(crash_fixture *f, unsigned number)
{
    crash_client *client = &f->clients[number];
    *client = (crash_client){.number = number,
                             .token = number < 6 ? "t-alice" : "t-bob",
                             .acks = number % 2 == 1,
                             .wire = {.fd = -1, .ended = true}};
}

void crash_client_end(crash_client *client)
{
    wire_close(&client->wire);
    free(client->digests);
}

_Noreturn static void wrong(const crash_fixture *f, const crash_client *client, const char *what,
                            arcp_span frame)
{
    daemon_fail("life %u, client %u (%s) after %llu: %s: %.*s", f->life, client->number,
                client->session.id, (unsigned long long)client->last_seq, what,
                (int)arcp_span_first(frame, 600).size, frame.data);
}

/* ---- connecting ---- */

void crash_client_connect(crash_fixture *f, crash_client *client, bool from_oldest)
{
    static const char hello[] =
        "{\"arcp\":\"1.1\",\"id\":\"hello\",\"type\":\"session.hello\",\"payload\":{\"client\":"
        "{\"name\":\"crash\",\"version\":\"1\"},\"auth\":{\"scheme\":\"bearer\",\"token\":\"%s\"},"
        "\"capabilities\":{\"features\":" WIRE_FEATURES "}%s}}";
    char resume[256] = "";
    wire_close(&client->wire);
    client->is_open = false;
    if (!wire_try(&client->wire, f->daemon.port)) {
        daemon_fail("life %u: client %u cannot connect", f->life, client->number);
    }
    client->last_seq = 0;
    if (client->session.id[0] != '\0') {
        const uint64_t above = client->seen_count - client->acked_seq;
        client->last_seq = client->seen_count;
        if (from_oldest) {
            client->last_seq = client->acked_seq;
        } else if (crash_random(f, 2) == 0) {
            client->last_seq -= crash_random(f, (above < 2000 ? above : 2000) + 1);
        }
        (void)snprintf(resume, sizeof resume,
                       ",\"resume\":{\"session_id\":\"%s\",\"resume_token\":\"%s\","
                       "\"last_event_seq\":%llu}",
                       client->session.id, client->session.token,
                       (unsigned long long)client->last_seq);
        f->resumes++;
    }
    wire_send(&client->wire, hello, client->token, resume);
}

static void take_welcome(crash_fixture *f, crash_client *client, arcp_span frame)
{
    const arcp_span id = wire_text(frame, "session_id");
    const arcp_span token = wire_text(frame, "resume_token");
    if (client->session.id[0] != '\0' && !arcp_span_equal_cstr(id, client->session.id)) {
        wrong(f, client, "another session", frame);
    }
    (void)snprintf(client->session.id, sizeof client->session.id, "%.*s", (int)id.size, id.data);
    (void)snprintf(client->session.token, sizeof client->session.token, "%.*s", (int)token.size,
                   token.data);
    client->is_open = true;
}

/* ---- frames without a number ---- */

static crash_job *job_of(crash_fixture *f, arcp_span id)
{
    crash_job *job = NULL;
    if (id.size == 0 || id.size >= sizeof job->id) {
        return NULL;
    }
    HASH_FIND(hh, f->jobs, id.data, id.size, job);
    if (job == NULL) {
        job = calloc(1, sizeof *job);
        if (job == NULL) {
            daemon_fail("out of memory");
        }
        memcpy(job->id, id.data, id.size);
        job->life = f->life;
        HASH_ADD_KEYPTR(hh, f->jobs, job->id, id.size, job);
    }
    return job;
}

static void take_accepted(crash_fixture *f, crash_client *client, arcp_span frame)
{
    crash_job *job = job_of(f, wire_text(frame, "job_id"));
    const arcp_span request = wire_text(frame, "request_id");
    const arcp_span when = wire_text(frame, "accepted_at");
    uint64_t number = 0;
    job->observes[client->number] = true;
    if (request.size == 0) {
        return; /* sent again after a resume */
    }
    if (!arcp_span_starts_with(request, ARCP_SPAN_LITERAL("key-")) ||
        !wire_number(arcp_span_from(request, 4), &number) || number >= f->key_count) {
        wrong(f, client, "an answer to nothing", frame);
    }
    crash_key *key = &f->keys[number];
    if (key->job == NULL) {
        key->job = job;
        job->life = key->life;
        job->waits = strcmp(key->end, "wait") == 0;
        if (job->waits && job->end != CRASH_RUNS && job->end != CRASH_LOST) {
            wrong(f, client, "a job that could not end by itself has", frame);
        }
        (void)snprintf(key->accepted_at, sizeof key->accepted_at, "%.*s", (int)when.size,
                       when.data);
    } else if (key->job != job || !arcp_span_equal_cstr(when, key->accepted_at)) {
        wrong(f, client, "another job for the same key", frame);
    }
}

static void take_answer(crash_fixture *f, crash_client *client, arcp_span frame)
{
    if (wire_is(frame, "session.welcome")) {
        take_welcome(f, client, frame);
    } else if (wire_is(frame, "job.accepted")) {
        take_accepted(f, client, frame);
    } else if (wire_is(frame, "job.subscribed")) {
        job_of(f, wire_text(frame, "job_id"))->observes[client->number] = true;
        f->subscribed++;
    } else if (wire_is(frame, "job.cancelled")) {
        job_of(f, wire_text(frame, "job_id"))->waits = false;
    } else if (wire_is(frame, "session.error") || wire_is(frame, "session.closed")) {
        wrong(f, client, "refused", frame);
    }
}

/* ---- frames with one ---- */

/* The stored part of a frame: the same bytes for every observer. */
static uint64_t record_digest(arcp_span frame)
{
    const char *id = memmem(frame.data, frame.size, ",\"id\":", 6);
    return id == NULL ? 0 : wire_digest(arcp_span_from(frame, (size_t)(id - frame.data)));
}

static void take_end(crash_fixture *f, crash_client *client, crash_job *job, arcp_span frame)
{
    const uint64_t seq = wire_seq(frame);
    const uint64_t digest = record_digest(frame);
    crash_end end = CRASH_RESULT;
    if (wire_is(frame, "job.error")) {
        const bool is_lost = arcp_span_equal_cstr(wire_text(frame, "code"), "INTERNAL_ERROR") &&
                             memmem(frame.data, frame.size, "\"retryable\":true", 16) != NULL;
        end = is_lost ? CRASH_LOST : CRASH_ERROR;
    }
    if (job->end_seq[client->number] != 0 && job->end_seq[client->number] != seq) {
        wrong(f, client, "a second end of the job", frame);
    }
    if (job->end != CRASH_RUNS && (job->end != end || job->end_digest != digest)) {
        wrong(f, client, "another end of the job than was seen before", frame);
    }
    if (job->waits && end != CRASH_LOST) {
        wrong(f, client, "a job that could not end by itself", frame);
    }
    if (job->waits && job->life == f->life) {
        wrong(f, client, "an end while the job could go on", frame);
    }
    job->end = end;
    job->end_digest = digest;
    job->end_seq[client->number] = seq;
}

/* The agent numbers its events: none may be missing, none may come twice. */
static void take_message(crash_fixture *f, crash_client *client, crash_job *job, arcp_span frame)
{
    uint64_t number = 0;
    const arcp_span message = wire_text(frame, "message");
    if (!arcp_span_equal_cstr(wire_text(frame, "kind"), "log")) {
        return;
    }
    if (!wire_number(message, &number) || number != job->messages[client->number]++) {
        wrong(f, client, "not what the agent said next", frame);
    }
}

static void remember(crash_fixture *f, crash_client *client, uint64_t seq, uint64_t digest)
{
    if (seq > client->digest_capacity) {
        const size_t capacity = client->digest_capacity * 2 + 65536;
        client->digests = realloc(client->digests, capacity * sizeof *client->digests);
        if (client->digests == NULL) {
            daemon_fail("out of memory");
        }
        memset(client->digests + client->digest_capacity, 0,
               (capacity - client->digest_capacity) * sizeof *client->digests);
        client->digest_capacity = capacity;
    }
    client->digests[seq - 1] = digest;
    client->seen_count = seq;
    f->frames++;
}

static void take_record(crash_fixture *f, crash_client *client, uint64_t seq, arcp_span frame)
{
    const uint64_t digest = wire_digest(frame);
    if (seq != client->last_seq + 1) {
        wrong(f, client, "a gap or a duplicate", frame);
    }
    client->last_seq = seq;
    if (seq <= client->seen_count) {
        f->again++;
        if (client->digests[seq - 1] != digest) {
            wrong(f, client, "not the bytes that were seen before", frame);
        }
        return;
    }
    remember(f, client, seq, digest);
    if (wire_text(frame, "request_id").size != 0) {
        if (!wire_is(frame, "job.error") ||
            !arcp_span_starts_with(wire_text(frame, "request_id"), ARCP_SPAN_LITERAL("cancel"))) {
            wrong(f, client, "a request was refused", frame);
        }
        return;
    }
    crash_job *job = job_of(f, wire_text(frame, "job_id"));
    if (job == NULL) {
        wrong(f, client, "a record of no job", frame);
    }
    if (job->end_seq[client->number] != 0) {
        wrong(f, client, "something after the end of the job", frame);
    }
    if (wire_is(frame, "job.result") || wire_is(frame, "job.error")) {
        take_end(f, client, job, frame);
    } else {
        take_message(f, client, job, frame);
    }
}

void crash_client_take(crash_fixture *f, crash_client *client)
{
    arcp_span frame;
    while (wire_next(&client->wire, &frame)) {
        const uint64_t seq = wire_seq(frame);
        if (seq != 0) {
            take_record(f, client, seq, frame);
        } else {
            take_answer(f, client, frame);
        }
    }
}

bool crash_client_awaits_end(const crash_fixture *f, const crash_client *client)
{
    for (const crash_job *job = f->jobs; job != NULL; job = job->hh.next) {
        if (job->observes[client->number] && job->end_seq[client->number] == 0) {
            return true;
        }
    }
    return false;
}

/* ---- requests ---- */

void crash_client_ask_again(crash_fixture *f, crash_client *client, size_t number)
{
    const crash_key *key = &f->keys[number];
    wire_send(
        &client->wire,
        "{\"arcp\":\"1.1\",\"id\":\"key-%zu-%llx\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
        "\"load\",\"idempotency_key\":\"key-%zu\",\"input\":{\"events\":%u,\"bytes\":%u,"
        "\"pause_us\":%u,\"end\":\"%s\"}}}",
        number, (unsigned long long)crash_random(f, UINT64_MAX), number, key->events, key->bytes,
        key->pause_us, key->end);
}

static void submit(crash_fixture *f, crash_client *client)
{
    static const char *const ends[] = {"result", "result", "result", "error", "exit", "wait"};
    if (f->key_count == f->key_capacity) {
        f->key_capacity = f->key_capacity * 2 + 1024;
        f->keys = realloc(f->keys, f->key_capacity * sizeof *f->keys);
        if (f->keys == NULL) {
            daemon_fail("out of memory");
        }
    }
    const bool is_long = crash_random(f, 12) == 0;
    f->keys[f->key_count] = (crash_key){.client = client->number,
                                        .life = f->life,
                                        .events = (unsigned)crash_random(f, is_long ? 3000 : 60),
                                        .bytes = (unsigned)crash_random(f, is_long ? 100 : 1000),
                                        .pause_us = crash_random(f, 3) == 0 ? 3000 : 0,
                                        .end = ends[crash_random(f, sizeof ends / sizeof ends[0])]};
    crash_client_ask_again(f, client, f->key_count++);
}

/* A random key, if it is of the same principal and has a job; else NULL. */
static const crash_key *pick(crash_fixture *f, const crash_client *client, size_t *number)
{
    if (f->key_count == 0) {
        return NULL;
    }
    *number = f->key_count - 1 - crash_random(f, f->key_count < 60 ? f->key_count : 60);
    const crash_key *key = &f->keys[*number];
    return key->job != NULL && f->clients[key->client].token == client->token ? key : NULL;
}

void crash_client_act(crash_fixture *f, crash_client *client)
{
    size_t number = 0;
    const uint64_t dice = crash_random(f, 20);
    if (!client->is_open || client->wire.ended) {
        return;
    }
    if (dice < 10) {
        submit(f, client);
        return;
    }
    const crash_key *key = pick(f, client, &number);
    if (dice < 13 && key != NULL) {
        wire_send(&client->wire,
                  "{\"arcp\":\"1.1\",\"id\":\"subscribe-%zu-%llu\",\"type\":\"job.subscribe\","
                  "\"payload\":{\"job_id\":\"%s\",\"history\":true}}",
                  number, (unsigned long long)crash_random(f, UINT64_MAX), key->job->id);
    } else if (dice < 15 && key != NULL) {
        crash_client_ask_again(f, client, number);
    } else if (dice < 16 && key != NULL && key->client == client->number) {
        key->job->waits = false; /* from now on it may end as cancelled */
        wire_send(&client->wire,
                  "{\"arcp\":\"1.1\",\"id\":\"cancel-%llu\",\"type\":\"job.cancel\",\"payload\":"
                  "{\"job_id\":\"%s\"}}",
                  (unsigned long long)crash_random(f, UINT64_MAX), key->job->id);
    } else if (dice < 18 && client->acks && client->last_seq > client->acked_seq) {
        client->acked_seq = client->last_seq;
        wire_send(&client->wire,
                  "{\"arcp\":\"1.1\",\"id\":\"ack-%llu\",\"type\":\"session.ack\",\"payload\":"
                  "{\"last_processed_seq\":%llu}}",
                  (unsigned long long)crash_random(f, UINT64_MAX),
                  (unsigned long long)client->acked_seq);
    } else if (dice == 19) {
        crash_client_connect(f, client, false);
    }
}
