/* What clients do: connect, disconnect, go silent, take over, send valid and invalid requests. */
#include "engine/play.h"

#include "support/check.h"

#include "base/alloc.h"

static const char *principal_of(size_t slot)
{
    return slot < PLAY_BOB ? "t-alice" : "t-bob";
}

rig_client *play_client(play *p, size_t slot)
{
    return rig_find(&p->rig, p->slots[slot]);
}

/* ---- hello and resume ---- */

static const char hello_head[] =
    "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{\"client\":{\"name\":"
    "\"play\",\"version\":\"1\"},\"auth\":{\"scheme\":\"bearer\",\"token\":\"%s\"},"
    "\"capabilities\":{\"encodings\":[\"json\"],\"features\":[\"heartbeat\",\"ack\",\"list_jobs\","
    "\"subscribe\",\"lease_expires_at\",\"cost.budget\"%s%s,\"agent_versions\",\"x-vendor.arcpd."
    "view\"]}";

static void say(play *p, size_t slot, const char *frame)
{
    rig_client *client = play_client(p, slot);
    play_trace(p, p->slots[slot], frame);
    if (client->link != NULL && !p->is_over[slot]) {
        watch_sent(&p->watch, &p->clients[slot], frame);
        rig_send(&p->rig, client, frame);
    }
}

static int start_hello(play *p, char *frame, size_t size, const char *token)
{
    /* A session without these gets only some kinds of events. */
    const char *more = p->data == NULL && play_one_in(p, 5) ? "" : ",\"progress\",\"result_chunk\"";
    return snprintf(frame, size, hello_head, token, more,
                    p->temper.provisions ? ",\"provisioned_credentials\"" : "");
}

static void say_hello(play *p, size_t slot, const char *token)
{
    char frame[1024];
    const int size = start_hello(p, frame, sizeof frame, token);
    (void)snprintf(frame + size, sizeof frame - (size_t)size, "}}");
    say(p, slot, frame);
}

static void say_resume(play *p, size_t slot)
{
    /* Mostly its own session, sometimes another client's. */
    const size_t from = play_one_in(p, 4) ? play_pick(p, PLAY_CLIENTS) : slot;
    const size_t which = p->away[from];
    if (which == WATCH_NONE) {
        say_hello(p, slot, principal_of(slot));
        return;
    }
    const watch_session *session = &p->watch.sessions[which];
    uint64_t last = session->last_seq;
    const unsigned choice = play_pick(p, 6);
    if (choice == 0 && last > 0) {
        last -= 1 + play_pick(p, 5) % last;
    }
    char frame[1024];
    const int size = start_hello(p, frame, sizeof frame, principal_of(slot));
    (void)snprintf(frame + size, sizeof frame - (size_t)size,
                   ",\"resume\":{\"session_id\":\"%s\",\"resume_token\":\"%s\","
                   "\"last_event_seq\":%llu}}}",
                   session->id, choice == 1 ? "rt_wrong" : session->token,
                   (unsigned long long)last);
    p->clients[slot].resuming = true;
    p->clients[slot].resume_from = last;
    say(p, slot, frame);
}

void play_client_returns(play *p, size_t slot)
{
    const size_t which = p->away[slot];
    (void)rig_connect(&p->rig, p->slots[slot]);
    p->is_over[slot] = false;
    p->clients[slot] = (watch_client){.session = WATCH_NONE, .is_bobs = slot >= PLAY_BOB};
    p->watches[slot] = (play_watch){0};
    if (which == WATCH_NONE) {
        say_hello(p, slot, principal_of(slot));
        play_look(p);
        return;
    }
    char frame[1024];
    const watch_session *session = &p->watch.sessions[which];
    const int size = start_hello(p, frame, sizeof frame, principal_of(slot));
    (void)snprintf(frame + size, sizeof frame - (size_t)size,
                   ",\"resume\":{\"session_id\":\"%s\",\"resume_token\":\"%s\","
                   "\"last_event_seq\":%llu}}}",
                   session->id, session->token, (unsigned long long)session->last_seq);
    p->clients[slot].resuming = true;
    p->clients[slot].resume_from = session->last_seq;
    say(p, slot, frame);
    play_look(p);
}

static void connect(play *p, size_t slot)
{
    (void)rig_connect(&p->rig, p->slots[slot]);
    p->is_over[slot] = false;
    p->clients[slot] = (watch_client){.session = WATCH_NONE, .is_bobs = slot >= PLAY_BOB};
    p->watches[slot] = (play_watch){0};
    play_client(p, slot)->slow = p->temper.slow && play_one_in(p, 3);
}

bool play_client_begins(play *p, size_t slot)
{
    rig_drop(&p->rig, play_client(p, slot));
    connect(p, slot);
    play_client(p, slot)->slow = false;
    say_hello(p, slot, principal_of(slot));
    play_look(p);
    return p->clients[slot].session != WATCH_NONE;
}

/* The peer disconnects unnoticed: its link stays, unread, and it returns on another one. */
static void go_silent(play *p, size_t slot)
{
    for (unsigned ghost = 0; ghost < RIG_CLIENTS_MAX - PLAY_CLIENTS; ghost++) {
        char name[8];
        (void)snprintf(name, sizeof name, "g%u", ghost);
        rig_client *other = rig_find(&p->rig, name);
        if (other->link != NULL) {
            continue;
        }
        /* The lost link keeps the old slot under its new name. */
        rig_client *old = play_client(p, slot);
        memcpy(other->name, old->name, sizeof other->name);
        memcpy(old->name, name, sizeof name);
        old->slow = true;
        p->is_over[slot] = false;
        p->clients[slot] = (watch_client){.session = WATCH_NONE, .is_bobs = slot >= PLAY_BOB};
        p->watches[slot] = (play_watch){0};
        p->silences++;
        return;
    }
}

/* ---- requests ---- */

static const char *some_job(play *p)
{
    const size_t count = p->watch.job_count;
    if (count == 0 || play_one_in(p, 12)) {
        return "job_nothing";
    }
    /* Prefers new ones. */
    const size_t back = play_pick(p, 8);
    return p->watch.jobs[back < count ? count - 1 - back : count - 1].id;
}

static const char *const leases[] = {
    "{}",
    "{\"tool.call\":[\"web.*\"],\"fs.read\":[\"/srv/**\"],\"agent.delegate\":[\"**\"]}",
    "{\"tool.call\":[\"web.*\"],\"agent.delegate\":[\"**\"],\"cost.budget\":[\"USD:2\"]}",
    "{\"agent.delegate\":[\"work\"],\"cost.budget\":[\"USD:0.5\",\"credits:3\"]}",
    "{\"fs.read\":[\"no/root\"]}",
    "7",
};
static const char *const agents[] = {"echo", "work", "work@2.0.0", "nobody", ""};

#define EXPIRES ",\"lease_constraints\":{\"expires_at\":\"2026-01-01T00:10:00Z\"}"

/* A submit that is always the same for its key: its response is always the same job's. */
static const char *submit_keyed(play *p, char *payload, size_t size)
{
    const unsigned key = play_pick(p, WATCH_KEYS);
    (void)snprintf(payload, size, "{\"agent\":\"echo\",\"idempotency_key\":\"same-%u\"}", key);
    (void)snprintf(p->mark, sizeof p->mark, "%c%u-", WATCH_KEY_MARK, key);
    return "job.submit";
}

static const char *submit(play *p, char *payload, size_t size)
{
    static const char *const ends[] = {
        "",      ",\"max_runtime_sec\":20",     ",\"max_runtime_sec\":0",
        EXPIRES, ",\"idempotency_key\":\"k1\"", ",\"idempotency_key\":\"k2\",\"input\":[1]"};
    if (p->temper.forgets && play_one_in(p, 2)) {
        return submit_keyed(p, payload, size);
    }
    (void)snprintf(payload, size, "{\"agent\":\"%s\",\"lease_request\":%s%s}",
                   agents[play_pick(p, 8) % 5], leases[play_pick(p, 8) % 6], ends[play_pick(p, 6)]);
    return "job.submit";
}

static const char *unsubscribe(play *p, size_t session, char *payload, size_t size)
{
    /* The session must be known: it may get the whole job again. */
    const char *job_id = session == WATCH_NONE ? "job_nothing" : some_job(p);
    (void)snprintf(payload, size, "{\"job_id\":\"%s\"}", job_id);
    if (session != WATCH_NONE) {
        watch_unsubscribe(&p->watch, session, job_id);
    }
    return "job.unsubscribe";
}

static const char *ask(play *p, size_t slot, char *payload, size_t size)
{
    const watch_client *client = &p->clients[slot];
    const uint64_t seen =
        client->session == WATCH_NONE ? 0 : p->watch.sessions[client->session].last_seq;
    switch (play_pick(p, 16)) {
    case 0:
    case 1:
    case 2:
    case 3:
        (void)snprintf(payload, size, "{\"job_id\":\"%s\",\"history\":%s,\"from_event_seq\":%u}",
                       some_job(p), play_one_in(p, 2) ? "true" : "false", play_pick(p, 4));
        return "job.subscribe";
    case 4:
        return unsubscribe(p, client->session, payload, size);
    case 5:
        (void)snprintf(payload, size, "{\"job_id\":\"%s\"}", some_job(p));
        return "job.cancel";
    case 6:
        (void)snprintf(payload, size, "{\"limit\":%u}", play_pick(p, 8));
        return "session.list_jobs";
    case 7:
        (void)snprintf(payload, size, "{\"last_processed_seq\":%llu}",
                       (unsigned long long)(seen == 0 ? 0 : seen - play_pick(p, 2)));
        return "session.ack";
    case 8:
        (void)snprintf(payload, size, "{\"nonce\":\"n\"}");
        return "session.ping";
    case 9:
        (void)snprintf(payload, size, "{\"ping_nonce\":\"n\"}");
        return "session.pong";
    case 10:
        (void)snprintf(payload, size, "{}");
        return play_one_in(p, 4) ? "session.close" : "x-vendor.unknown";
    default:
        return submit(p, payload, size);
    }
}

void play_client_subscribes(play *p, size_t slot, const char *job_id)
{
    char frame[256];
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"z%u\",\"type\":\"job.subscribe\",\"payload\":"
                   "{\"job_id\":\"%s\",\"history\":true}}",
                   p->next_id++, job_id);
    say(p, slot, frame);
    play_look(p);
}

static void request(play *p, size_t slot)
{
    char payload[512];
    char frame[1024];
    if (play_one_in(p, 24)) {
        play_literal(p, frame, sizeof frame);
        say(p, slot, frame);
        return;
    }
    /* The id of the last one makes it a duplicate, which executes nothing. */
    const bool again = play_one_in(p, 16) && p->next_id > 0;
    memcpy(p->mark, "m", 2);
    const char *type = ask(p, slot, payload, sizeof payload);
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"%s%u\",\"type\":\"%s\",\"payload\":%s}", p->mark,
                   p->next_id - (again ? 1 : 0), type, payload);
    p->next_id++;
    if (p->mark[0] != WATCH_KEY_MARK && play_one_in(p, 24)) {
        play_mutate(p, frame);
    }
    say(p, slot, frame);
}

static void read_some(play *p, size_t slot)
{
    rig_client *client = play_client(p, slot);
    for (unsigned left = 1 + play_pick(p, 20); left > 0; left--) {
        char *frame = rig_text_take(&client->frames);
        if (frame == NULL) {
            break;
        }
        /* Before its link takes the next one: that may be a newer welcome of another client. */
        watch_frame(&p->watch, &p->clients[slot], frame);
        rig_drained(&p->rig, client, frame);
        arcp__free(frame);
    }
}

void play_client_acts(play *p)
{
    const size_t slot = play_pick(p, PLAY_CLIENTS);
    rig_client *client = play_client(p, slot);
    if (client->link == NULL) {
        connect(p, slot);
        if (play_one_in(p, 10)) {
            rig_run(&p->rig);
            return;
        }
        if (play_pick(p, 3) != 0) {
            say_resume(p, slot);
        } else {
            say_hello(p, slot, play_one_in(p, 10) ? "wrong" : principal_of(slot));
        }
        return;
    }
    if (client->slow && !play_one_in(p, 3)) {
        read_some(p, slot);
        return;
    }
    if (play_one_in(p, 12)) {
        if (p->temper.silent && play_one_in(p, 2)) {
            go_silent(p, slot);
        } else if (p->temper.leaves && play_one_in(p, 2)) {
            play_trace(p, p->slots[slot], "(nothing more)");
            p->is_over[slot] = true;
            p->leaves++;
            rig_input_over(&p->rig, client);
        } else {
            rig_drop(&p->rig, client);
        }
        return;
    }
    if (!client->paused) {
        request(p, slot);
    }
}

/* ---- checks ---- */

static void clear(rig_client *client)
{
    for (char *frame = rig_take(client); frame != NULL; frame = rig_take(client)) {
        arcp__free(frame);
    }
}

void play_client_gets(play *p, const rig_client *client, arcp_span frame)
{
    for (size_t i = 0; i < PLAY_CLIENTS && !client->slow; i++) {
        if (play_client(p, i) == client) {
            char *text = arcp__copy_cstr(frame.data, frame.size);
            if (text == NULL) {
                text = arcp__copy_cstr(frame.data, frame.size);
            }
            assert_non_null(text);
            play_trace(p, p->slots[i], text);
            watch_frame(&p->watch, &p->clients[i], text);
            play_watch_gets(p, i, frame);
            arcp__free(text);
        }
    }
}

void play_clients_look(play *p)
{
    for (size_t i = 0; i < PLAY_CLIENTS; i++) {
        if (p->clients[i].session != WATCH_NONE) {
            p->away[i] = p->clients[i].session;
        }
        if (play_client(p, i)->link == NULL) {
            p->clients[i].session = WATCH_NONE;
            p->clients[i].resuming = false;
            p->watches[i] = (play_watch){0};
        }
        play_watch_begin(p, i);
    }
    /* Frames that waited for a slow peer are lost with its connection; those of the others were
     * checked when they were sent; those of a silent one are never read. */
    for (size_t i = 0; i < RIG_CLIENTS_MAX; i++) {
        rig_client *client = &p->rig.clients[i];
        if (client->link == NULL || !client->slow || client->name[0] == 'g') {
            clear(client);
        }
    }
}
