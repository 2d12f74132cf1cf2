#include "engine/play.h"

#include "support/check.h"

#include "base/alloc.h"

/* Two clients of one principal can take over each other's sessions. */
static const char *const names[PLAY_CLIENTS] = {"a1", "a2", "a3", "b1", "b2"};

static const char *principal_of(size_t client)
{
    return client < 3 ? "t-alice" : "t-bob";
}

unsigned play_pick(play *self, unsigned below)
{
    if (self->data == NULL) {
        self->random = self->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (unsigned)(self->random >> 33) % below;
    }
    return self->at < self->size ? self->data[self->at++] % below : 0;
}

static void begin(play *self)
{
    memset(self, 0, sizeof(*self));
    watch_init(&self->watch);
    arcp_settings settings;
    arcp_settings_default(&settings);
    rig_start(&self->rig, &settings);
    for (size_t at = 0; at < PLAY_CLIENTS; at++) {
        (void)rig_find(&self->rig, names[at]);
        self->clients[at].session = WATCH_NONE;
        self->away[at] = WATCH_NONE;
    }
}

void play_begin_seed(play *self, uint64_t seed)
{
    begin(self);
    self->random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    (void)snprintf(self->watch.label, sizeof(self->watch.label), "seed %llu",
                   (unsigned long long)seed);
}

void play_begin_bytes(play *self, const uint8_t *data, size_t size)
{
    begin(self);
    self->data = data;
    self->size = size;
    (void)snprintf(self->watch.label, sizeof(self->watch.label), "input of %zu bytes", size);
}

void play_end(play *self)
{
    rig_stop(&self->rig);
    watch_fini(&self->watch);
}

static rig_client *client_at(play *self, size_t at)
{
    return rig_find(&self->rig, names[at]);
}

static void trace(const char *what, const char *text)
{
    if (getenv("ARCP_SIMULATION_TRACE") != NULL) {
        print_message("%s %s\n", what, text);
    }
}

void play_look(play *self)
{
    for (size_t at = 0; at < PLAY_CLIENTS; at++) {
        rig_client *client = client_at(self, at);
        for (char *frame = rig_take(client); frame != NULL; frame = rig_take(client)) {
            trace(names[at], frame);
            watch_frame(&self->watch, &self->clients[at], frame);
            arcp__free(frame);
        }
        if (self->clients[at].session != WATCH_NONE) {
            self->away[at] = self->clients[at].session;
        }
        if (client->link == NULL) {
            self->clients[at].session = WATCH_NONE;
            self->clients[at].resuming = false;
        }
    }
    for (size_t at = 0; at < self->rig.agent_count; at++) {
        rig_agent *agent = &self->rig.agents[at];
        for (char *line = rig_agent_take(agent); line != NULL; line = rig_agent_take(agent)) {
            trace(agent->job_id, line);
            arcp__free(line);
        }
    }
}

/* ---- clients ---- */

static const char hello_head[] =
    "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{\"client\":{\"name\":"
    "\"play\",\"version\":\"1\"},\"auth\":{\"scheme\":\"bearer\",\"token\":\"%s\"},"
    "\"capabilities\":{\"encodings\":[\"json\"],\"features\":[\"heartbeat\",\"ack\",\"list_jobs\","
    "\"subscribe\",\"lease_expires_at\",\"cost.budget\",\"progress\",\"result_chunk\","
    "\"agent_versions\"]}";

static void say_hello(play *self, size_t at, const char *token)
{
    char frame[1024];
    int size = snprintf(frame, sizeof(frame), hello_head, token);
    (void)snprintf(frame + size, sizeof(frame) - (size_t)size, "}}");
    rig_send(&self->rig, client_at(self, at), frame);
}

static void say_resume(play *self, size_t at)
{
    /* Mostly its own session, sometimes one that somebody else has. */
    size_t from = play_pick(self, 4) == 0 ? play_pick(self, PLAY_CLIENTS) : at;
    size_t which = self->away[from];
    if (which == WATCH_NONE) {
        say_hello(self, at, principal_of(at));
        return;
    }
    const watch_session *session = &self->watch.sessions[which];
    uint64_t last = session->seen;
    unsigned choice = play_pick(self, 6);
    if (choice == 0 && last > 0) {
        last -= 1 + play_pick(self, 5) % last;
    }
    char frame[1024];
    int size = snprintf(frame, sizeof(frame), hello_head, principal_of(at));
    (void)snprintf(frame + size, sizeof(frame) - (size_t)size,
                   ",\"resume\":{\"session_id\":\"%s\",\"resume_token\":\"%s\","
                   "\"last_event_seq\":%llu}}}",
                   session->id, choice == 1 ? "rt_wrong" : session->token,
                   (unsigned long long)last);
    self->clients[at].resuming = true;
    self->clients[at].resume_from = last;
    rig_send(&self->rig, client_at(self, at), frame);
}

static const char *some_job(play *self)
{
    size_t count = self->watch.job_count;
    if (count == 0 || play_pick(self, 12) == 0) {
        return "job_nothing";
    }
    /* New ones are more interesting. */
    size_t back = play_pick(self, 8);
    return self->watch.jobs[back < count ? count - 1 - back : count - 1].id;
}

static const char *const leases[] = {
    "{}",
    "{\"tool.call\":[\"web.*\"],\"fs.read\":[\"/srv/**\"],\"agent.delegate\":[\"**\"]}",
    "{\"agent.delegate\":[\"**\"],\"cost.budget\":[\"USD:5\"]}",
    "{\"cost.budget\":[\"USD:0.5\",\"credits:3\"]}",
    "{\"fs.read\":[\"no/root\"]}",
    "7",
};
static const char *const agents[] = {"echo", "work", "work@2.0.0", "nobody", ""};

#define EXPIRES ",\"lease_constraints\":{\"expires_at\":\"2026-01-01T00:10:00Z\"}"

static void submit(play *self, char *payload, size_t size)
{
    static const char *const ends[] = {
        "",      ",\"max_runtime_sec\":20",     ",\"max_runtime_sec\":0",
        EXPIRES, ",\"idempotency_key\":\"k1\"", ",\"idempotency_key\":\"k2\",\"input\":[1]"};
    (void)snprintf(payload, size, "{\"agent\":\"%s\",\"lease_request\":%s%s}",
                   agents[play_pick(self, 8) % 5], leases[play_pick(self, 6)],
                   ends[play_pick(self, 6)]);
}

static const char *unsubscribe(play *self, size_t session, char *payload, size_t size)
{
    const char *job_id = some_job(self);
    (void)snprintf(payload, size, "{\"job_id\":\"%s\"}", job_id);
    if (session != WATCH_NONE) {
        watch_unsubscribe(&self->watch, session, job_id);
    }
    return "job.unsubscribe";
}

static const char *request(play *self, size_t at, char *payload, size_t size)
{
    const watch_client *client = &self->clients[at];
    uint64_t seen = client->session == WATCH_NONE ? 0 : self->watch.sessions[client->session].seen;
    switch (play_pick(self, 16)) {
    case 0:
    case 1:
    case 2:
    case 3:
        (void)snprintf(payload, size, "{\"job_id\":\"%s\",\"history\":%s,\"from_event_seq\":%u}",
                       some_job(self), play_pick(self, 2) ? "true" : "false", play_pick(self, 4));
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
        return play_pick(self, 4) == 0 ? "session.close" : "x-vendor.unknown";
    default:
        submit(self, payload, size);
        return "job.submit";
    }
}

/* Damages a frame at a few places. */
static void mutate(play *self, char *text)
{
    static const char replacements[] = "\"{}[]:,0-9eE\\\x01\x7f\xc3 tn";
    size_t length = strlen(text);
    for (unsigned times = 1 + play_pick(self, 4); times > 0 && length > 0; times--) {
        size_t where = (play_pick(self, 256) * 256u + play_pick(self, 256)) % length;
        text[where] = replacements[play_pick(self, sizeof(replacements) - 1)];
    }
}

/* A piece of the input, taken as it is; its length is a byte. */
static void literal(play *self, char *text, size_t size)
{
    size_t length = play_pick(self, 256) % size;
    for (size_t at = 0; at < length; at++) {
        text[at] = (char)(play_pick(self, 255) + 1);
    }
    text[length] = '\0';
}

static void client_acts(play *self)
{
    size_t at = play_pick(self, PLAY_CLIENTS);
    rig_client *client = client_at(self, at);
    if (client->link == NULL) {
        (void)rig_connect(&self->rig, names[at]);
        self->clients[at] = (watch_client){.session = WATCH_NONE, .is_bobs = at >= 3};
        if (play_pick(self, 10) == 0) {
            return;
        }
        if (play_pick(self, 3) != 0) {
            say_resume(self, at);
        } else {
            say_hello(self, at, play_pick(self, 10) == 0 ? "wrong" : principal_of(at));
        }
        return;
    }
    if (play_pick(self, 12) == 0) {
        rig_drop(&self->rig, client);
        return;
    }
    char payload[512];
    char frame[1024];
    if (play_pick(self, 24) == 0) {
        literal(self, frame, sizeof(frame));
    } else {
        const char *type = request(self, at, payload, sizeof(payload));
        (void)snprintf(frame, sizeof(frame),
                       "{\"arcp\":\"1.1\",\"id\":\"m%u\",\"type\":\"%s\",\"payload\":%s}",
                       self->next_id - (play_pick(self, 16) == 0 && self->next_id > 0 ? 1 : 0),
                       type, payload);
        self->next_id++;
        if (play_pick(self, 24) == 0) {
            mutate(self, frame);
        }
    }
    trace("sends", names[at]);
    trace(">", frame);
    rig_send(&self->rig, client, frame);
}

/* ---- agents ---- */

/* clang-format off: one line each */
static const char *const lines[] = {
    "plain words",
    "{\"type\":\"job.event\",\"payload\":{\"kind\":\"log\",\"body\":{\"level\":\"info\","
    "\"message\":\"hi\"}}}",
    "{\"type\":\"job.event\",\"id\":\"1\",\"payload\":{\"kind\":\"progress\",\"body\":{\"current\":"
    "1,\"total\":2}}}",
    "{\"type\":\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{\"name\":\"cost.x\","
    "\"value\":0.3,\"unit\":\"USD\"}}}",
    "{\"type\":\"job.event\",\"payload\":{\"kind\":\"tool_call\",\"body\":{\"tool\":\"web.get\","
    "\"args\":{},\"call_id\":\"c\"}}}",
    "{\"type\":\"authorize\",\"id\":\"2\",\"payload\":{\"capability\":\"fs.read\",\"target\":\"/"
    "srv/a\"}}",
    "{\"type\":\"delegate\",\"id\":\"3\",\"payload\":{\"agent\":\"work\",\"input\":1}}",
    "{\"type\":\"delegate\",\"id\":\"4\",\"payload\":{\"agent\":\"echo\",\"lease_request\":{\"cost."
    "budget\":[\"USD:0.1\"]},\"wait\":true}}",
    "{\"type\":\"result.chunk\",\"id\":\"5\",\"payload\":{\"data\":\"x\",\"encoding\":\"utf8\","
    "\"more\":true}}",
    "{\"type\":\"result.chunk\",\"payload\":{\"data\":\"AAEC\",\"encoding\":\"base64\",\"more\":"
    "false}}",
    "{\"type\":\"job.result\",\"payload\":{\"result\":{\"ok\":true}}}",
    "{\"type\":\"job.result\",\"payload\":{\"summary\":\"s\"}}",
    "{\"type\":\"job.error\",\"payload\":{\"code\":\"INTERNAL_ERROR\",\"message\":\"no\"}}",
    "{\"type\":\"job.event\",\"payload\":{\"kind\":\"status\",\"body\":{\"phase\":\"half\"}}}",
};
/* clang-format on */
#define LINES (sizeof(lines) / sizeof(lines[0]))

static void agent_acts(play *self)
{
    size_t count = self->rig.agent_count;
    if (count == 0) {
        client_acts(self);
        return;
    }
    size_t back = play_pick(self, 10);
    rig_agent *agent = &self->rig.agents[back < count ? count - 1 - back : count - 1];
    unsigned choice = play_pick(self, 24);
    char text[1024];
    trace("acts", agent->job_id);
    if (choice == 0) {
        rig_agent_exits(&self->rig, agent, play_pick(self, 2) == 0, (int)play_pick(self, 3));
    } else if (choice == 1) {
        literal(self, text, sizeof(text));
        rig_agent_says(&self->rig, agent, text);
    } else if (choice == 2) {
        (void)snprintf(text, sizeof(text), "%s", lines[play_pick(self, LINES)]);
        mutate(self, text);
        rig_agent_says(&self->rig, agent, text);
    } else {
        rig_agent_says(&self->rig, agent, lines[play_pick(self, LINES)]);
    }
}

/* ---- the rest of the world ---- */

/* A killed agent ends; so does one that is asked to, sometimes. */
static void reap_agents(play *self)
{
    for (size_t at = 0; at < self->rig.agent_count; at++) {
        rig_agent *agent = &self->rig.agents[at];
        if (agent->killed && !agent->forgotten) {
            rig_agent_exits(&self->rig, agent, true, 9);
        }
    }
}

static void clock_step(play *self)
{
    static const unsigned seconds[] = {0, 1, 5, 11, 31, 61, 301, 601};
    unsigned forward = seconds[play_pick(self, 8)];
    if (self->waited_sec + forward < UINT64_C(20) * 3600) { /* ended jobs are kept a day */
        self->waited_sec += forward;
        rig_clock(&self->rig, (int64_t)forward * ARCP_NS_PER_SEC + play_pick(self, 3));
    }
}

bool play_step(play *self)
{
    if (self->data != NULL && self->at >= self->size) {
        return false;
    }
    self->watch.step++;
    if (getenv("ARCP_SIMULATION_TRACE") != NULL) {
        print_message("step %u\n", self->watch.step);
    }
    unsigned choice = play_pick(self, 64);
    if (choice < 28) {
        client_acts(self);
    } else if (choice < 56) {
        agent_acts(self);
    } else if (choice < 60) {
        clock_step(self);
    } else if (choice < 62) {
        self->rig.fail_store = !self->rig.fail_store && play_pick(self, 2) == 0;
        rig_clock(&self->rig, ARCP_NS_PER_SEC);
    } else if (choice == 62 && play_pick(self, 2) == 0) {
        self->rig.fail_store = false;
        play_look(self);
        rig_restart(&self->rig);
    } else {
        reap_agents(self);
    }
    play_look(self);
    return self->rig.agent_count + 16 < RIG_AGENTS_MAX &&
           self->watch.session_count + 8 < WATCH_SESSIONS_MAX &&
           self->watch.job_count + 16 < WATCH_JOBS_MAX;
}

/* A fresh session of the job's principal asks for all of it. */
static void check_job(play *self, size_t observer, const watch_job *job)
{
    char frame[256];
    (void)snprintf(frame, sizeof(frame),
                   "{\"arcp\":\"1.1\",\"id\":\"z%u\",\"type\":\"job.subscribe\",\"payload\":"
                   "{\"job_id\":\"%s\",\"history\":true}}",
                   self->next_id++, job->id);
    rig_send(&self->rig, client_at(self, observer), frame);
    play_look(self);
    size_t session = self->clients[observer].session;
    if (session == WATCH_NONE || !watch_saw_end(&self->watch, session, job->id)) {
        watch_fail(&self->watch, "the job was accepted and has no end", job->id);
    }
}

void play_settle(play *self)
{
    self->rig.fail_store = false;
    rig_clock(&self->rig, 120 * ARCP_NS_PER_SEC);
    play_look(self);
    for (size_t at = 0; at < self->rig.agent_count; at++) {
        rig_agent_exits(&self->rig, &self->rig.agents[at], false, 0);
        play_look(self);
    }
    static const size_t observers[] = {0, 3};
    size_t job_count = self->watch.job_count;
    for (size_t at = 0; at < 2; at++) {
        size_t observer = observers[at];
        rig_drop(&self->rig, client_at(self, observer));
        (void)rig_connect(&self->rig, names[observer]);
        self->clients[observer] = (watch_client){.session = WATCH_NONE, .is_bobs = observer >= 3};
        say_hello(self, observer, principal_of(observer));
        play_look(self);
    }
    for (size_t at = 0; at < job_count; at++) {
        const watch_job *job = &self->watch.jobs[at];
        check_job(self, job->is_bobs ? 3 : 0, job);
    }
}
