/* What clients do: connect, disconnect, go silent, take over, send valid and invalid requests. */
#include "engine/play.h"

#include "support/check.h"

#include "base/alloc.h"

static const char *principal_of(size_t slot)
{
    return slot < PLAY_BOB ? "t-alice" : "t-bob";
}

rig_client *play_client(play *self, size_t slot)
{
    return rig_find(&self->rig, self->slots[slot]);
}

/* ---- hello and resume ---- */

static const char hello_head[] =
    "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{\"client\":{\"name\":"
    "\"play\",\"version\":\"1\"},\"auth\":{\"scheme\":\"bearer\",\"token\":\"%s\"},"
    "\"capabilities\":{\"encodings\":[\"json\"],\"features\":[\"heartbeat\",\"ack\",\"list_jobs\","
    "\"subscribe\",\"lease_expires_at\",\"cost.budget\"%s%s,\"agent_versions\"]}";

static void say(play *self, size_t slot, const char *frame)
{
    rig_client *client = play_client(self, slot);
    play_trace(self, self->slots[slot], frame);
    if (client->link != NULL && !self->is_over[slot]) {
        watch_sent(&self->watch, &self->clients[slot], frame);
        rig_send(&self->rig, client, frame);
    }
}

static int start_hello(play *self, char *frame, size_t size, const char *token)
{
    /* A session without these gets only some kinds of events. */
    const char *more =
        self->data == NULL && play_one_in(self, 5) ? "" : ",\"progress\",\"result_chunk\"";
    return snprintf(frame, size, hello_head, token, more,
                    self->temper.provisions ? ",\"provisioned_credentials\"" : "");
}

static void say_hello(play *self, size_t slot, const char *token)
{
    char frame[1024];
    int size = start_hello(self, frame, sizeof frame, token);
    (void)snprintf(frame + size, sizeof frame - (size_t)size, "}}");
    say(self, slot, frame);
}

static void say_resume(play *self, size_t slot)
{
    /* Mostly its own session, sometimes another client's. */
    size_t from = play_one_in(self, 4) ? play_pick(self, PLAY_CLIENTS) : slot;
    size_t which = self->away[from];
    if (which == WATCH_NONE) {
        say_hello(self, slot, principal_of(slot));
        return;
    }
    const watch_session *session = &self->watch.sessions[which];
    uint64_t last = session->last_seq;
    unsigned choice = play_pick(self, 6);
    if (choice == 0 && last > 0) {
        last -= 1 + play_pick(self, 5) % last;
    }
    char frame[1024];
    int size = start_hello(self, frame, sizeof frame, principal_of(slot));
    (void)snprintf(frame + size, sizeof frame - (size_t)size,
                   ",\"resume\":{\"session_id\":\"%s\",\"resume_token\":\"%s\","
                   "\"last_event_seq\":%llu}}}",
                   session->id, choice == 1 ? "rt_wrong" : session->token,
                   (unsigned long long)last);
    self->clients[slot].resuming = true;
    self->clients[slot].resume_from = last;
    say(self, slot, frame);
}

void play_client_returns(play *self, size_t slot)
{
    size_t which = self->away[slot];
    (void)rig_connect(&self->rig, self->slots[slot]);
    self->is_over[slot] = false;
    self->clients[slot] = (watch_client){.session = WATCH_NONE, .is_bobs = slot >= PLAY_BOB};
    if (which == WATCH_NONE) {
        say_hello(self, slot, principal_of(slot));
        play_look(self);
        return;
    }
    char frame[1024];
    const watch_session *session = &self->watch.sessions[which];
    int size = start_hello(self, frame, sizeof frame, principal_of(slot));
    (void)snprintf(frame + size, sizeof frame - (size_t)size,
                   ",\"resume\":{\"session_id\":\"%s\",\"resume_token\":\"%s\","
                   "\"last_event_seq\":%llu}}}",
                   session->id, session->token, (unsigned long long)session->last_seq);
    self->clients[slot].resuming = true;
    self->clients[slot].resume_from = session->last_seq;
    say(self, slot, frame);
    play_look(self);
}

static void connect(play *self, size_t slot)
{
    (void)rig_connect(&self->rig, self->slots[slot]);
    self->is_over[slot] = false;
    self->clients[slot] = (watch_client){.session = WATCH_NONE, .is_bobs = slot >= PLAY_BOB};
    play_client(self, slot)->slow = self->temper.slow && play_one_in(self, 3);
}

bool play_client_begins(play *self, size_t slot)
{
    rig_drop(&self->rig, play_client(self, slot));
    connect(self, slot);
    play_client(self, slot)->slow = false;
    say_hello(self, slot, principal_of(slot));
    play_look(self);
    return self->clients[slot].session != WATCH_NONE;
}

/* The peer disconnects unnoticed: its link stays, unread, and it returns on another one. */
static void go_silent(play *self, size_t slot)
{
    for (unsigned ghost = 0; ghost < RIG_CLIENTS_MAX - PLAY_CLIENTS; ghost++) {
        char name[8];
        (void)snprintf(name, sizeof name, "g%u", ghost);
        rig_client *other = rig_find(&self->rig, name);
        if (other->link != NULL) {
            continue;
        }
        /* The lost link keeps the old slot under its new name. */
        rig_client *old = play_client(self, slot);
        memcpy(other->name, old->name, sizeof other->name);
        memcpy(old->name, name, sizeof name);
        old->slow = true;
        self->is_over[slot] = false;
        self->clients[slot] = (watch_client){.session = WATCH_NONE, .is_bobs = slot >= PLAY_BOB};
        self->silences++;
        return;
    }
}

/* ---- requests ---- */

static const char *some_job(play *self)
{
    size_t count = self->watch.job_count;
    if (count == 0 || play_one_in(self, 12)) {
        return "job_nothing";
    }
    /* Prefers new ones. */
    size_t back = play_pick(self, 8);
    return self->watch.jobs[back < count ? count - 1 - back : count - 1].id;
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
static const char *submit_keyed(play *self, char *payload, size_t size)
{
    unsigned key = play_pick(self, WATCH_KEYS);
    (void)snprintf(payload, size, "{\"agent\":\"echo\",\"idempotency_key\":\"same-%u\"}", key);
    (void)snprintf(self->mark, sizeof self->mark, "%c%u-", WATCH_KEY_MARK, key);
    return "job.submit";
}

static const char *submit(play *self, char *payload, size_t size)
{
    static const char *const ends[] = {
        "",      ",\"max_runtime_sec\":20",     ",\"max_runtime_sec\":0",
        EXPIRES, ",\"idempotency_key\":\"k1\"", ",\"idempotency_key\":\"k2\",\"input\":[1]"};
    if (self->temper.forgets && play_one_in(self, 2)) {
        return submit_keyed(self, payload, size);
    }
    (void)snprintf(payload, size, "{\"agent\":\"%s\",\"lease_request\":%s%s}",
                   agents[play_pick(self, 8) % 5], leases[play_pick(self, 8) % 6],
                   ends[play_pick(self, 6)]);
    return "job.submit";
}

static const char *unsubscribe(play *self, size_t session, char *payload, size_t size)
{
    /* The session must be known: it may get the whole job again. */
    const char *job_id = session == WATCH_NONE ? "job_nothing" : some_job(self);
    (void)snprintf(payload, size, "{\"job_id\":\"%s\"}", job_id);
    if (session != WATCH_NONE) {
        watch_unsubscribe(&self->watch, session, job_id);
    }
    return "job.unsubscribe";
}

static const char *ask(play *self, size_t slot, char *payload, size_t size)
{
    const watch_client *client = &self->clients[slot];
    uint64_t seen =
        client->session == WATCH_NONE ? 0 : self->watch.sessions[client->session].last_seq;
    switch (play_pick(self, 16)) {
    case 0:
    case 1:
    case 2:
    case 3:
        (void)snprintf(payload, size, "{\"job_id\":\"%s\",\"history\":%s,\"from_event_seq\":%u}",
                       some_job(self), play_one_in(self, 2) ? "true" : "false", play_pick(self, 4));
        return "job.subscribe";
    case 4:
        return unsubscribe(self, client->session, payload, size);
    case 5:
        (void)snprintf(payload, size, "{\"job_id\":\"%s\"}", some_job(self));
        return "job.cancel";
    case 6:
        (void)snprintf(payload, size, "{\"limit\":%u}", play_pick(self, 8));
        return "session.list_jobs";
    case 7:
        (void)snprintf(payload, size, "{\"last_processed_seq\":%llu}",
                       (unsigned long long)(seen == 0 ? 0 : seen - play_pick(self, 2)));
        return "session.ack";
    case 8:
        (void)snprintf(payload, size, "{\"nonce\":\"n\"}");
        return "session.ping";
    case 9:
        (void)snprintf(payload, size, "{\"ping_nonce\":\"n\"}");
        return "session.pong";
    case 10:
        (void)snprintf(payload, size, "{}");
        return play_one_in(self, 4) ? "session.close" : "x-vendor.unknown";
    default:
        return submit(self, payload, size);
    }
}

void play_client_subscribes(play *self, size_t slot, const char *job_id)
{
    char frame[256];
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"z%u\",\"type\":\"job.subscribe\",\"payload\":"
                   "{\"job_id\":\"%s\",\"history\":true}}",
                   self->next_id++, job_id);
    say(self, slot, frame);
    play_look(self);
}

static void request(play *self, size_t slot)
{
    char payload[512];
    char frame[1024];
    if (play_one_in(self, 24)) {
        play_literal(self, frame, sizeof frame);
        say(self, slot, frame);
        return;
    }
    /* The id of the last one makes it a duplicate, which executes nothing. */
    bool again = play_one_in(self, 16) && self->next_id > 0;
    memcpy(self->mark, "m", 2);
    const char *type = ask(self, slot, payload, sizeof payload);
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"%s%u\",\"type\":\"%s\",\"payload\":%s}", self->mark,
                   self->next_id - (again ? 1 : 0), type, payload);
    self->next_id++;
    if (self->mark[0] != WATCH_KEY_MARK && play_one_in(self, 24)) {
        play_mutate(self, frame);
    }
    say(self, slot, frame);
}

static void read_some(play *self, size_t slot)
{
    rig_client *client = play_client(self, slot);
    for (unsigned left = 1 + play_pick(self, 20); left > 0; left--) {
        char *frame = rig_text_take(&client->frames);
        if (frame == NULL) {
            break;
        }
        /* Before its link takes the next one: that may be a newer welcome of another client. */
        watch_frame(&self->watch, &self->clients[slot], frame);
        rig_drained(&self->rig, client, frame);
        arcp__free(frame);
    }
}

void play_client_acts(play *self)
{
    size_t slot = play_pick(self, PLAY_CLIENTS);
    rig_client *client = play_client(self, slot);
    if (client->link == NULL) {
        connect(self, slot);
        if (play_one_in(self, 10)) {
            rig_run(&self->rig);
            return;
        }
        if (play_pick(self, 3) != 0) {
            say_resume(self, slot);
        } else {
            say_hello(self, slot, play_one_in(self, 10) ? "wrong" : principal_of(slot));
        }
        return;
    }
    if (client->slow && !play_one_in(self, 3)) {
        read_some(self, slot);
        return;
    }
    if (play_one_in(self, 12)) {
        if (self->temper.silent && play_one_in(self, 2)) {
            go_silent(self, slot);
        } else if (self->temper.leaves && play_one_in(self, 2)) {
            play_trace(self, self->slots[slot], "(nothing more)");
            self->is_over[slot] = true;
            self->leaves++;
            rig_input_over(&self->rig, client);
        } else {
            rig_drop(&self->rig, client);
        }
        return;
    }
    if (!client->paused) {
        request(self, slot);
    }
}

/* ---- checks ---- */

static void clear(rig_client *client)
{
    for (char *frame = rig_take(client); frame != NULL; frame = rig_take(client)) {
        arcp__free(frame);
    }
}

void play_client_gets(play *self, const rig_client *client, arcp_span frame)
{
    for (size_t i = 0; i < PLAY_CLIENTS && !client->slow; i++) {
        if (play_client(self, i) == client) {
            char *text = arcp__copy_cstr(frame.data, frame.size);
            if (text == NULL) {
                text = arcp__copy_cstr(frame.data, frame.size);
            }
            assert_non_null(text);
            play_trace(self, self->slots[i], text);
            watch_frame(&self->watch, &self->clients[i], text);
            arcp__free(text);
        }
    }
}

void play_clients_look(play *self)
{
    for (size_t i = 0; i < PLAY_CLIENTS; i++) {
        if (self->clients[i].session != WATCH_NONE) {
            self->away[i] = self->clients[i].session;
        }
        if (play_client(self, i)->link == NULL) {
            self->clients[i].session = WATCH_NONE;
            self->clients[i].resuming = false;
        }
    }
    /* Frames that waited for a slow peer are lost with its connection; those of the others were
     * checked when they were sent; those of a silent one are never read. */
    for (size_t i = 0; i < RIG_CLIENTS_MAX; i++) {
        rig_client *client = &self->rig.clients[i];
        if (client->link == NULL || !client->slow || client->name[0] == 'g') {
            clear(client);
        }
    }
}
