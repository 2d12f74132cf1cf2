#include "engine/worker_job_rig.h"

#include "support/check.h"

#include "base/alloc.h"
#include "engine/confiner.h"

scene *s;
static char host; /* what a worker's jobs belong to */

static void prepare(void *user, arcp__engine_options *options)
{
    (void)user;
    options->worker_keep_sec = KEEP_SEC;
}

arcp__worker_life worker_rig_life;

arcp__worker_life worker_rig_life_of(const char *instance)
{
    return (arcp__worker_life){ARCP_SPAN_LITERAL("w"), arcp_span_cstr(instance)};
}

bool worker_rig_joins(const char *instance)
{
    const arcp__worker_intro intro = {.life = worker_rig_life_of(instance)};
    const bool has_joined = arcp__engine_worker_joins(s->rig.engine, s->rig.now, &intro);
    worker_rig_life = has_joined ? intro.life : worker_rig_life;
    return has_joined;
}

void worker_rig_ready(void)
{
    arcp__engine_worker_ready(s->rig.engine, s->rig.now, worker_rig_life);
    rig_run(&s->rig);
}

void worker_rig_begin_session(const char *features)
{
    char frame[512];
    s->client = rig_connect(&s->rig, "a1");
    (void)snprintf(
        frame, sizeof frame,
        FRAME("h", "session.hello",
              "{\"auth\":{\"scheme\":\"bearer\",\"token\":\"t-alice\"},\"capabilities\":{"
              "\"encodings\":[\"json\"],\"features\":[%s]}}"),
        features);
    rig_send(&s->rig, s->client, frame);
}

/* The rig is begun, not open. */
static void begin(void)
{
    s = arcp__alloc(sizeof *s);
    assert_non_null(s);
    disk_init(&s->disk);
    rig_begin(&s->rig, NULL);
    s->rig.store = &s->disk.store;
    s->rig.worker = "w";
    s->rig.prepare = prepare;
}

static int open_with(const char *features)
{
    rig_open(&s->rig);
    assert_true(worker_rig_joins("i1"));
    worker_rig_ready();
    worker_rig_begin_session(features);
    return 0;
}

int worker_rig_set_up(void **state)
{
    (void)state;
    begin();
    return open_with("\"progress\",\"cost.budget\",\"result_chunk\",\"subscribe\"");
}

int worker_rig_set_up_without_chunks(void **state)
{
    (void)state;
    begin();
    return open_with("");
}

/* Agents are in sandboxes, and a lease that has expired only denies. */
int worker_rig_set_up_confined(void **state)
{
    static confiner sandbox;
    (void)state;
    begin();
    sandbox = (confiner){0};
    confiner_confines(&sandbox);
    confiner_attach(&sandbox, &s->rig);
    s->rig.settings.lease_on_expiry = ARCP__ON_EXPIRY_DENY;
    return open_with("\"cost.budget\",\"lease_expires_at\"");
}

upstream issuer;

int worker_rig_set_up_with_credentials(void **state)
{
    (void)state;
    begin();
    issuer = (upstream){.issuing = UPSTREAM_WELL};
    upstream_attach(&issuer, &s->rig);
    s->rig.settings.credentials_usage_sec = USAGE_SEC;
    return open_with("\"provisioned_credentials\"");
}

int worker_rig_tear_down(void **state)
{
    (void)state;
    scene_end(s);
    return 0;
}

/* Submits a job; its id is valid until the next call. */
const char *worker_rig_submit(const char *payload)
{
    static char id[64];
    char frame[512];
    static unsigned requests;
    (void)snprintf(frame, sizeof frame, FRAME("s%u", "job.submit", "%s"), requests++, payload);
    rig_send(&s->rig, s->client, frame);
    const rig_agent *agent = rig_agent_last(&s->rig);
    (void)snprintf(id, sizeof id, "%s", agent == NULL ? "" : agent->job_id);
    return id;
}

void worker_rig_says(rig_agent *agent, uint64_t item, const char *line)
{
    arcp__engine_agent_line(s->rig.engine, s->rig.now, agent->job, item, arcp_span_cstr(line));
    rig_run(&s->rig);
}

/* The lines that the agent got, on one line each. */
const char *worker_rig_lines_of(rig_agent *agent)
{
    static char text[4096];
    size_t size = 0;
    text[0] = '\0';
    for (char *line = NULL; (line = rig_agent_take(agent)) != NULL; arcp__free(line)) {
        size += (size_t)snprintf(text + size, sizeof text - size, "%s\n", line);
    }
    return text;
}

/* The engine is killed, and starts again from what is on the disk. */
void worker_rig_restart(void)
{
    disk_crash(&s->disk);
    rig_restart(&s->rig);
}

/* The worker names the job. `agent` is set when it goes on. */
arcp__claim_answer worker_rig_claim(const char *id, const arcp__worker_claim *like,
                                    rig_agent **agent)
{
    arcp__worker_claim row =
        like == NULL ? (arcp__worker_claim){.items_first = 1, .errors_first = 1} : *like;
    arcp__job *job = NULL;
    row.job = arcp_span_cstr(id);
    const arcp__claim_answer answer =
        arcp__engine_worker_claims(s->rig.engine, s->rig.now, worker_rig_life, &row, &host, &job);
    if (answer != ARCP__CLAIM_FORGET) {
        *agent = &s->rig.agents[s->rig.agent_count++];
        **agent = (rig_agent){.job = job};
        (void)snprintf((*agent)->job_id, sizeof(*agent)->job_id, "%s", id);
    }
    return answer;
}

/* The same worker comes back with the job, of which the store has all that the worker knows. */
rig_agent *worker_rig_come_back(const char *id, uint64_t items_first)
{
    rig_agent *agent = NULL;
    const arcp__worker_claim row = {.items_first = items_first, .errors_first = 1};
    assert_true(worker_rig_joins("i1"));
    assert_int_equal(worker_rig_claim(id, &row, &agent), ARCP__CLAIM_GO_ON);
    worker_rig_ready();
    return agent;
}

const arcp__job *worker_rig_job_of(const char *id)
{
    return arcp__job_find(&s->rig.engine->jobs, arcp_span_cstr(id));
}

bool worker_rig_last_record_has(const char *id, const char *part)
{
    arcp__stream *stream = worker_rig_job_of(id)->stream;
    arcp_span record;
    assert_true(arcp__stream_find_record(stream, stream->next - 1, &record));
    return memmem(record.data, record.size, part, strlen(part)) != NULL;
}
