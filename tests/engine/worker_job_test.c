/* Jobs on a worker: they go on when the engine starts again, and end when their worker is lost
 * (src/job/job_worker.c). */
#include "support/check.h"

#include "base/alloc.h"
#include "engine/confiner.h"
#include "engine/scene.h"
#include "engine/state.h"
#include "engine/upstream.h"

#define EVENT                                                                                      \
    "{\"type\":\"job.event\",\"payload\":{\"kind\":\"thought\",\"body\":{\"text\":\"t\"}}}"
#define PROGRESS                                                                                   \
    "{\"type\":\"job.event\",\"id\":\"p\",\"payload\":{\"kind\":\"progress\",\"body\":{"           \
    "\"current\":1}}}"
#define METRIC                                                                                     \
    "{\"type\":\"job.event\",\"id\":\"m\",\"payload\":{\"kind\":\"metric\",\"body\":{\"name\":"    \
    "\"cost.x\","                                                                                  \
    "\"value\":1,\"unit\":\"USD\"}}}"
#define RESULT "{\"type\":\"job.result\",\"payload\":{\"result\":1}}"
#define CHUNK(text, more)                                                                          \
    "{\"type\":\"result.chunk\",\"payload\":{\"data\":\"" text                                     \
    "\",\"encoding\":\"utf8\",\"more\":" more "}}"
#define DELEGATE(id)                                                                               \
    "{\"type\":\"delegate\",\"id\":\"" id "\",\"payload\":{\"delegate_id\":\"" id                  \
    "\",\"agent\":\"work\",\"wait\":true,\"lease_request\":{}}}"
#define LEASE                                                                                      \
    "{\"agent\":\"echo\",\"lease_request\":{\"cost.budget\":[\"USD:10\"],\"agent.delegate\":["     \
    "\"work\"]}}"

#define KEEP_SEC 300

static scene *s;
static char host; /* what a worker's jobs belong to */

static void prepare(void *user, arcp__engine_options *options)
{
    (void)user;
    options->worker_keep_sec = KEEP_SEC;
}

static bool joins(const char *instance)
{
    return arcp__engine_worker_joins(s->rig.engine, s->rig.now, ARCP_SPAN_LITERAL("w"),
                                     arcp_span_cstr(instance));
}

static void ready(void)
{
    arcp__engine_worker_ready(s->rig.engine, s->rig.now, ARCP_SPAN_LITERAL("w"));
    rig_run(&s->rig);
}

static void begin_session(const char *features)
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
    assert_true(joins("i1"));
    ready();
    begin_session(features);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    begin();
    return open_with("\"progress\",\"cost.budget\",\"result_chunk\",\"subscribe\"");
}

static int set_up_without_chunks(void **state)
{
    (void)state;
    begin();
    return open_with("");
}

/* Agents are in sandboxes, and a lease that has expired only denies. */
static int set_up_confined(void **state)
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

static upstream issuer;

static int set_up_with_credentials(void **state)
{
    (void)state;
    begin();
    issuer = (upstream){.issuing = UPSTREAM_WELL};
    upstream_attach(&issuer, &s->rig);
    return open_with("\"provisioned_credentials\"");
}

static int tear_down(void **state)
{
    (void)state;
    scene_end(s);
    return 0;
}

/* Submits a job; its id is valid until the next call. */
static const char *submit(const char *payload)
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

static void says(rig_agent *agent, uint64_t item, const char *line)
{
    arcp__engine_agent_line(s->rig.engine, s->rig.now, agent->job, item, arcp_span_cstr(line));
    rig_run(&s->rig);
}

/* The lines that the agent got, on one line each. */
static const char *lines_of(rig_agent *agent)
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
static void restart(void)
{
    disk_crash(&s->disk);
    rig_restart(&s->rig);
}

/* The worker names the job. `agent` is set when it goes on. */
static arcp__claim_answer claim(const char *id, const arcp__worker_claim *like, rig_agent **agent)
{
    arcp__worker_claim row =
        like == NULL ? (arcp__worker_claim){.items_first = 1, .errors_first = 1} : *like;
    arcp__job *job = NULL;
    row.job = arcp_span_cstr(id);
    const arcp__claim_answer answer = arcp__engine_worker_claims(
        s->rig.engine, s->rig.now, ARCP_SPAN_LITERAL("w"), &row, &host, &job);
    if (answer != ARCP__CLAIM_FORGET) {
        *agent = &s->rig.agents[s->rig.agent_count++];
        **agent = (rig_agent){.job = job};
        (void)snprintf((*agent)->job_id, sizeof(*agent)->job_id, "%s", id);
    }
    return answer;
}

/* The same worker comes back with the job, of which the store has all that the worker knows. */
static rig_agent *come_back(const char *id, uint64_t items_first)
{
    rig_agent *agent = NULL;
    const arcp__worker_claim row = {.items_first = items_first, .errors_first = 1};
    assert_true(joins("i1"));
    assert_int_equal(claim(id, &row, &agent), ARCP__CLAIM_GO_ON);
    ready();
    return agent;
}

static const arcp__job *job_of(const char *id)
{
    return arcp__job_find(&s->rig.engine->jobs, arcp_span_cstr(id));
}

/* ---- a restart ---- */

static void a_job_goes_on_after_a_restart(void **state)
{
    (void)state;
    const char *id = submit("{\"agent\":\"echo\"}");
    says(rig_agent_last(&s->rig), 1, EVENT);
    says(rig_agent_last(&s->rig), 2, EVENT);
    restart();
    assert_int_equal(job_of(id)->status, ARCP_JOB_RUNNING);
    rig_agent *agent = come_back(id, 1);
    const uint64_t records = agent->job->stream->next;
    says(agent, 1, EVENT); /* the worker has not heard that they are stored */
    says(agent, 2, EVENT);
    assert_int_equal(agent->job->stream->next, records);
    says(agent, 3, EVENT);
    assert_int_equal(agent->job->stream->next, records + 1);
    says(agent, 4, RESULT);
    assert_int_equal(job_of(id)->status, ARCP_JOB_SUCCESS);
}

static void a_job_whose_agent_ends_with_the_runtime_ends_at_the_restart(void **state)
{
    (void)state;
    s->rig.worker = NULL;
    rig_reload(&s->rig);
    const char *id = submit("{\"agent\":\"echo\"}");
    says(rig_agent_last(&s->rig), 0, EVENT);
    restart();
    assert_int_equal(job_of(id)->status, ARCP_JOB_ERROR);
}

static void what_was_spent_is_exact_after_a_restart(void **state)
{
    (void)state;
    const char *id = submit(LEASE);
    says(rig_agent_last(&s->rig), 1, METRIC);
    says(rig_agent_last(&s->rig), 2, METRIC);
    restart();
    rig_agent *agent = come_back(id, 1);
    says(agent, 2, METRIC);
    says(agent, 3, METRIC);
    char amount[ARCP_DECIMAL_TEXT_MAX];
    (void)arcp_decimal_format(arcp_budget_spent(agent->job->budget, 0), amount);
    assert_string_equal(amount, "3");
}

static void an_event_that_was_not_durable_has_its_effect_when_it_comes_again(void **state)
{
    (void)state;
    const char *id = submit("{\"agent\":\"echo\"}");
    says(rig_agent_last(&s->rig), 1, EVENT);
    s->disk.is_held = true;
    says(rig_agent_last(&s->rig), 2, EVENT);
    restart();
    rig_agent *agent = come_back(id, 1);
    const uint64_t records = agent->job->stream->next;
    says(agent, 1, EVENT);
    assert_int_equal(agent->job->stream->next, records);
    says(agent, 2, EVENT);
    assert_int_equal(agent->job->stream->next, records + 1);
}

static void items_that_the_worker_may_have_forgotten_are_behind(void **state)
{
    (void)state;
    const char *id = submit("{\"agent\":\"echo\"}");
    says(rig_agent_last(&s->rig), 1, EVENT);
    says(rig_agent_last(&s->rig), 2, "{\"type\":\"unknown\"}"); /* changes nothing */
    restart();
    rig_agent *agent = come_back(id, 3);
    const uint64_t records = agent->job->stream->next;
    says(agent, 3, EVENT);
    assert_int_equal(agent->job->stream->next, records + 1);
}

static void a_reply_is_sent_again_unless_the_worker_has_it(void **state)
{
    (void)state;
    const char *id = submit("{\"agent\":\"echo\"}");
    says(rig_agent_last(&s->rig), 1, PROGRESS);
    says(rig_agent_last(&s->rig), 2, PROGRESS);
    restart();
    rig_agent *agent = NULL;
    const arcp__worker_claim row = {.items_first = 3, .errors_first = 1, .at = 1};
    assert_true(joins("i1"));
    assert_int_equal(claim(id, &row, &agent), ARCP__CLAIM_GO_ON);
    ready();
    assert_string_equal(lines_of(agent), "{\"type\":\"reply\",\"re\":\"p\",\"payload\":{}}\n");
    assert_string_equal(lines_of(agent), "");
    arcp__engine_agent_got(s->rig.engine, s->rig.now, agent->job, 2);
    says(agent, 3, PROGRESS); /* trims what the worker has */
    (void)lines_of(agent);
    restart();
    agent = come_back(id, 1);
    assert_string_equal(lines_of(agent), "{\"type\":\"reply\",\"re\":\"p\",\"payload\":{}}\n");
}

static void a_cancel_is_sent_again_and_its_grace_goes_on(void **state)
{
    (void)state;
    char frame[256];
    const char *id = submit("{\"agent\":\"echo\"}");
    (void)snprintf(frame, sizeof frame,
                   FRAME("c", "job.cancel", "{\"job_id\":\"%s\",\"reason\":\"enough\"}"), id);
    rig_send(&s->rig, s->client, frame);
    restart();
    assert_true(job_of(id)->cancelling);
    rig_agent *agent = come_back(id, 1);
    assert_true(agent->cancelled);
    assert_non_null(strstr(lines_of(agent), "\"job.cancel\""));
    rig_clock(&s->rig, (int64_t)s->rig.settings.jobs_cancel_grace_ms * ARCP_NS_PER_MS);
    assert_true(agent->killed);
    assert_int_equal(job_of(id)->status, ARCP_JOB_CANCELLED);
}

static void a_deadline_counts_from_the_acceptance(void **state)
{
    (void)state;
    const char *id = submit("{\"agent\":\"echo\",\"max_runtime_sec\":100}");
    rig_clock(&s->rig, 60 * ARCP_NS_PER_SEC);
    restart();
    (void)come_back(id, 1);
    rig_clock(&s->rig, 38 * ARCP_NS_PER_SEC);
    assert_int_equal(job_of(id)->status, ARCP_JOB_RUNNING);
    rig_clock(&s->rig, 2 * ARCP_NS_PER_SEC);
    assert_int_equal(job_of(id)->status, ARCP_JOB_TIMED_OUT);
}

static void chunks_of_a_result_go_on_at_the_next_number(void **state)
{
    (void)state;
    const char *id = submit("{\"agent\":\"echo\"}");
    says(rig_agent_last(&s->rig), 1, CHUNK("abc", "true"));
    restart();
    rig_agent *agent = come_back(id, 1);
    says(agent, 2, CHUNK("de", "false"));
    says(agent, 3, "{\"type\":\"job.result\",\"payload\":{}}");
    assert_int_equal(job_of(id)->status, ARCP_JOB_SUCCESS);
    arcp_span record;
    assert_true(
        arcp__stream_find_record(job_of(id)->stream, job_of(id)->stream->next - 1, &record));
    assert_non_null(memmem(record.data, record.size, "\"result_size\":5", 15));
    assert_true(
        arcp__stream_find_record(job_of(id)->stream, job_of(id)->stream->next - 2, &record));
    assert_non_null(memmem(record.data, record.size, "\"chunk_seq\":1", 13));
}

static void pieces_of_a_result_without_chunks_are_in_the_store(void **state)
{
    (void)state;
    const char *id = submit("{\"agent\":\"echo\"}");
    says(rig_agent_last(&s->rig), 1, CHUNK("abc", "true"));
    restart();
    rig_agent *agent = come_back(id, 1);
    says(agent, 2, CHUNK("de", "false"));
    says(agent, 3, "{\"type\":\"job.result\",\"payload\":{}}");
    arcp_span record;
    assert_true(
        arcp__stream_find_record(job_of(id)->stream, job_of(id)->stream->next - 1, &record));
    assert_non_null(memmem(record.data, record.size, "\"result\":\"abcde\"", 16));
}

/* ---- plain programs ---- */

static void writes(const rig_agent *agent, uint64_t end, arcp_span bytes)
{
    arcp__engine_agent_output(s->rig.engine, s->rig.now, agent->job, end, bytes);
    rig_run(&s->rig);
}

static bool last_record_has(const char *id, const char *part)
{
    arcp__stream *stream = job_of(id)->stream;
    arcp_span record;
    assert_true(arcp__stream_find_record(stream, stream->next - 1, &record));
    return memmem(record.data, record.size, part, strlen(part)) != NULL;
}

static void output_that_is_in_no_record_comes_again_after_a_restart(void **state)
{
    (void)state;
    const char *id = submit("{\"agent\":\"echo\"}");
    writes(rig_agent_last(&s->rig), 3, ARCP_SPAN_LITERAL("abc"));
    restart();
    rig_agent *agent = come_back(id, 1);
    writes(agent, 5, ARCP_SPAN_LITERAL("abcde"));
    rig_agent_exits(&s->rig, agent, false, 0);
    assert_int_equal(job_of(id)->status, ARCP_JOB_SUCCESS);
    assert_true(last_record_has(id, "\"result\":\"abcde\""));
}

static void output_goes_on_after_its_last_durable_record(void **state)
{
    static char text[70000];
    static arcp__job_kept kept;
    (void)state;
    memset(text, 'x', sizeof text);
    const char *id = submit("{\"agent\":\"echo\"}");
    rig_agent *agent = rig_agent_last(&s->rig);
    writes(agent, sizeof text - 10, arcp_span_make(text, sizeof text - 10));
    arcp__engine_get_kept(s->rig.engine, agent->job, &kept);
    assert_in_range(kept.bytes, 1, sizeof text - 11);
    restart();
    const arcp__worker_claim row = {.items_first = 1, .errors_first = 1, .bytes_first = kept.bytes};
    assert_true(joins("i1"));
    assert_int_equal(claim(id, &row, &agent), ARCP__CLAIM_GO_ON);
    ready();
    writes(agent, sizeof text, arcp_span_make(text, sizeof text - kept.bytes));
    rig_agent_exits(&s->rig, agent, false, 0);
    assert_int_equal(job_of(id)->status, ARCP_JOB_SUCCESS);
    assert_true(last_record_has(id, "\"result_size\":70000"));
}

static void a_line_of_standard_error_is_taken_once_over_a_restart(void **state)
{
    (void)state;
    const char *id = submit("{\"agent\":\"echo\"}");
    const rig_agent *agent = rig_agent_last(&s->rig);
    for (uint64_t number = 1; number <= 3; number++) {
        arcp__engine_agent_error_line(s->rig.engine, s->rig.now, agent->job, number,
                                      ARCP_SPAN_LITERAL("a line"), true);
        rig_run(&s->rig);
        if (number == 2) {
            restart();
            agent = come_back(id, 1);
            const uint64_t records = agent->job->stream->next;
            arcp__engine_agent_error_line(s->rig.engine, s->rig.now, agent->job, 2,
                                          ARCP_SPAN_LITERAL("a line"), true);
            rig_run(&s->rig);
            assert_int_equal(agent->job->stream->next, records);
        }
    }
    assert_true(last_record_has(id, "a line"));
}

/* ---- sandboxes and credentials ---- */

static void a_used_up_budget_is_revoked_again_after_a_restart(void **state)
{
    (void)state;
    const char *id = submit("{\"agent\":\"echo\",\"lease_request\":{\"cost.budget\":[\"USD:2\"]}}");
    says(rig_agent_last(&s->rig), 1, METRIC);
    restart();
    rig_agent *agent = come_back(id, 2);
    assert_int_equal(agent->revokes, 0);
    says(agent, 2, METRIC);
    assert_int_equal(agent->revokes, 1);
    restart();
    agent = come_back(id, 3);
    assert_int_equal(agent->revokes, 1);
    assert_int_equal(agent->revoked, ARCP_E_BUDGET_EXHAUSTED);
}

static void a_lease_that_expires_while_its_worker_is_away_is_revoked_when_it_comes(void **state)
{
    (void)state;
    const char *id = submit(
        "{\"agent\":\"echo\",\"lease_constraints\":{\"expires_at\":\"2026-01-01T00:01:00Z\"}}");
    restart();
    const rig_agent *agent = come_back(id, 1);
    rig_clock(&s->rig, 58 * ARCP_NS_PER_SEC);
    assert_int_equal(agent->revokes, 0);
    arcp__engine_worker_away(s->rig.engine, s->rig.now, ARCP_SPAN_LITERAL("w"));
    rig_clock(&s->rig, 2 * ARCP_NS_PER_SEC);
    agent = come_back(id, 1);
    assert_int_equal(agent->revokes, 1);
    assert_int_equal(agent->revoked, ARCP_E_LEASE_EXPIRED);
}

static void a_job_with_a_credential_ends_at_a_restart(void **state)
{
    (void)state;
    rig_agent *agent = NULL;
    const char *id = submit("{\"agent\":\"echo\"}");
    assert_int_equal(issuer.key_count, 1);
    restart();
    assert_int_equal(job_of(id)->status, ARCP_JOB_ERROR);
    assert_true(last_record_has(id, "\"details\":{\"reason\":\"credential_revoked\"}"));
    assert_true(last_record_has(id, "\"retryable\":true"));
    assert_int_equal(upstream_live_count(&issuer), 0);
    assert_true(joins("i1"));
    assert_int_equal(claim(id, NULL, &agent), ARCP__CLAIM_FORGET);
    ready();
    assert_int_equal(s->rig.engine->jobs.live_agents, 0);
    assert_false(issuer.leaked);
}

/* ---- delegation ---- */

static void a_parent_waits_on_for_its_child(void **state)
{
    (void)state;
    char parent[64];
    (void)snprintf(parent, sizeof parent, "%s", submit(LEASE));
    rig_agent *parent_agent = rig_agent_last(&s->rig);
    says(parent_agent, 1, DELEGATE("d1"));
    const rig_agent *child_agent = rig_agent_last(&s->rig);
    assert_ptr_not_equal(child_agent, parent_agent);
    char child[64];
    (void)snprintf(child, sizeof child, "%s", child_agent->job_id);
    restart();
    rig_agent *agents[2] = {NULL};
    assert_true(joins("i1"));
    assert_int_equal(claim(parent, NULL, &agents[0]), ARCP__CLAIM_GO_ON);
    assert_int_equal(claim(child, NULL, &agents[1]), ARCP__CLAIM_GO_ON);
    ready();
    says(agents[0], 1, DELEGATE("d1")); /* it was acted upon */
    assert_int_equal(job_of(parent)->live_children, 1);
    says(agents[0], 2, DELEGATE("d1")); /* the name is taken */
    assert_non_null(strstr(lines_of(agents[0]), "names another child"));
    says(agents[1], 1, RESULT);
    assert_non_null(strstr(lines_of(agents[0]), "\"re\":\"d1\""));
    assert_int_equal(job_of(child)->status, ARCP_JOB_SUCCESS);
}

/* The child's agent has no worker, and ends with the runtime. */
static void a_parent_has_the_reply_of_a_child_that_ends_at_the_restart(void **state)
{
    (void)state;
    char parent[64];
    (void)snprintf(parent, sizeof parent, "%s", submit(LEASE));
    rig_agent *agent = rig_agent_last(&s->rig);
    s->rig.worker = NULL;
    rig_reload(&s->rig);
    says(agent, 1, DELEGATE("d1"));
    restart();
    agent = come_back(parent, 2);
    const char *lines = lines_of(agent);
    assert_non_null(strstr(lines, "\"re\":\"d1\""));
    assert_non_null(strstr(lines, "\"code\":\"INTERNAL_ERROR\""));
    assert_int_equal(job_of(parent)->status, ARCP_JOB_RUNNING);
}

static void a_parent_waits_on_for_its_queued_child(void **state)
{
    (void)state;
    char parent[64];
    char first[64];
    s->rig.max_jobs = 1;
    rig_reload(&s->rig);
    (void)snprintf(parent, sizeof parent, "%s", submit(LEASE));
    rig_agent *agents[2] = {rig_agent_last(&s->rig)};
    (void)snprintf(first, sizeof first, "%s", submit("{\"agent\":\"work\"}"));
    says(agents[0], 1, DELEGATE("d1"));
    restart();
    assert_true(joins("i1"));
    assert_int_equal(claim(parent, NULL, &agents[0]), ARCP__CLAIM_GO_ON);
    assert_int_equal(claim(first, NULL, &agents[1]), ARCP__CLAIM_GO_ON);
    ready();
    rig_agent_exits(&s->rig, agents[1], false, 0); /* gives the child its place */
    rig_agent *child = rig_agent_last(&s->rig);
    assert_string_equal(child->agent, "work@1.0.0");
    says(child, 1, RESULT);
    assert_non_null(strstr(lines_of(agents[0]), "\"re\":\"d1\""));
}

/* ---- rows of the release before ---- */

static void what_an_earlier_release_has_stored_as_spent_is_read_and_deleted(void **state)
{
    (void)state;
    s->rig.worker = NULL;
    rig_reload(&s->rig);
    const char *id = submit(LEASE);
    char key[64];
    arcp_error err = {0};
    (void)snprintf(key, sizeof key, "%s/spent", id);
    const arcp_store_op op = {.kind = ARCP_STORE_PUT,
                              .table = ARCP_STORE_JOBS,
                              .key = arcp_span_cstr(key),
                              .value = ARCP_SPAN_LITERAL("{\"spent\":{\"USD\":\"4\"}}")};
    const arcp_store_batch batch = {.id = 1, .ops = &op, .count = 1};
    check_ok(s->disk.inner->ops->submit(s->disk.inner, &batch, &err), &err);
    while (s->disk.inner->ops->poll(s->disk.inner)) {
    }
    restart();
    char amount[ARCP_DECIMAL_TEXT_MAX];
    (void)arcp_decimal_format(arcp_budget_spent(job_of(id)->budget, 0), amount);
    assert_string_equal(amount, "4");
    assert_true(disk_find(&s->disk, arcp_span_cstr(key))->is_gone);
}

/* ---- starts ---- */

/* Those of the engine are swept when its owner starts again. */
static void a_job_on_a_worker_has_its_directory_where_that_is_kept(void **state)
{
    char cwd[100];
    (void)state;
    assert_int_equal(
        arcp__engine_set_worker_directory(s->rig.engine, ARCP_SPAN_LITERAL("/jobs"), NULL),
        ARCP_OK);
    (void)snprintf(cwd, sizeof cwd, "/jobs/%s", submit("{\"agent\":\"echo\"}"));
    const rig_agent *agent = rig_agent_last(&s->rig);
    assert_string_equal(agent->job->live->cwd, cwd);
    assert_true(agent->job->live->owns_cwd);
}

static void a_job_starts_when_its_worker_comes(void **state)
{
    (void)state;
    arcp__engine_worker_away(s->rig.engine, s->rig.now, ARCP_SPAN_LITERAL("w"));
    (void)submit("{\"agent\":\"echo\"}");
    assert_null(rig_agent_last(&s->rig));
    assert_true(joins("i1"));
    ready();
    assert_non_null(rig_agent_last(&s->rig));
}

/* A job that was submitted while the worker is away. */
static const arcp__job *waiting_job(void)
{
    arcp__engine_worker_away(s->rig.engine, s->rig.now, ARCP_SPAN_LITERAL("w"));
    (void)submit("{\"agent\":\"echo\"}");
    const arcp__job *job = s->rig.engine->jobs.all;
    assert_non_null(job);
    assert_int_equal(job->status, ARCP_JOB_PENDING);
    return job;
}

static void a_job_that_waits_for_its_worker_ends_with_its_cancel(void **state)
{
    (void)state;
    char frame[256];
    const arcp__job *job = waiting_job();
    (void)snprintf(frame, sizeof frame, FRAME("c", "job.cancel", "{\"job_id\":\"%s\"}"), job->id);
    rig_send(&s->rig, s->client, frame);
    assert_int_equal(job->status, ARCP_JOB_CANCELLED);
    assert_int_equal(s->rig.engine->jobs.live_agents, 0);
    assert_true(joins("i1"));
    ready();
    assert_null(rig_agent_last(&s->rig));
}

static void a_job_waits_for_its_worker_as_long_as_in_a_queue(void **state)
{
    (void)state;
    const int64_t queue_ns = (int64_t)s->rig.settings.jobs_queue_sec * ARCP_NS_PER_SEC;
    char id[64];
    (void)snprintf(id, sizeof id, "%s", waiting_job()->id);
    rig_clock(&s->rig, queue_ns / 2 - ARCP_NS_PER_SEC);
    restart(); /* takes a second */
    rig_clock(&s->rig, queue_ns / 2 - 1);
    assert_int_equal(job_of(id)->status, ARCP_JOB_PENDING);
    rig_clock(&s->rig, 1);
    assert_int_equal(job_of(id)->status, ARCP_JOB_TIMED_OUT);
    assert_true(last_record_has(id, "\"limit\":\"jobs.queue_sec\""));
    assert_int_equal(s->rig.engine->jobs.live_agents, 0);
}

static void a_job_that_its_worker_has_waits_no_more(void **state)
{
    (void)state;
    const arcp__job *job = waiting_job();
    assert_true(joins("i1"));
    ready();
    rig_clock(&s->rig, (int64_t)s->rig.settings.jobs_queue_sec * ARCP_NS_PER_SEC);
    assert_int_equal(job->status, ARCP_JOB_RUNNING);
}

static void a_job_that_never_reached_its_worker_is_started_after_a_restart(void **state)
{
    (void)state;
    s->rig.hold_start = true;
    const char *id = submit("{\"agent\":\"echo\",\"input\":{\"a\":1}}");
    restart();
    assert_null(rig_agent_last(&s->rig));
    assert_true(joins("i1"));
    ready();
    rig_agent *agent = rig_agent_last(&s->rig);
    assert_non_null(agent);
    assert_string_equal(agent->job_id, id);
    assert_non_null(strstr(lines_of(agent), "\"input\":{\"a\":1}"));
}

static void a_job_that_has_run_is_never_started_again(void **state)
{
    (void)state;
    const char *id = submit("{\"agent\":\"echo\"}");
    restart();
    assert_true(joins("i1"));
    ready();
    assert_null(rig_agent_last(&s->rig));
    assert_int_equal(job_of(id)->status, ARCP_JOB_ERROR);
}

/* ---- what a worker claims ---- */

static void a_job_that_has_ended_is_forgotten(void **state)
{
    (void)state;
    rig_agent *agent = NULL;
    const char *id = submit("{\"agent\":\"echo\"}");
    says(rig_agent_last(&s->rig), 1, RESULT);
    restart();
    assert_true(joins("i1"));
    assert_int_equal(claim(id, NULL, &agent), ARCP__CLAIM_FORGET);
    assert_int_equal(claim("job_of_nobody", NULL, &agent), ARCP__CLAIM_FORGET);
}

static void a_worker_that_knows_more_than_the_store_ends_the_job(void **state)
{
    static const arcp__worker_claim claims[] = {
        {.items_first = 1, .errors_first = 1, .stored = 2},
        {.items_first = 1, .errors_first = 1, .at = 1},
        {.items_first = 1, .errors_first = 1, .bytes_first = 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        rig_agent *agent = NULL;
        const char *id = submit("{\"agent\":\"echo\"}");
        says(rig_agent_last(&s->rig), 1, EVENT);
        restart();
        assert_true(joins("i1"));
        assert_int_equal(claim(id, &claims[i], &agent), ARCP__CLAIM_END);
        ready();
        assert_int_equal(job_of(id)->status, ARCP_JOB_ERROR);
        rig_agent_exits(&s->rig, agent, true, 9);
        assert_true(agent->forgotten);
        begin_session("");
    }
}

static void a_worker_forgets_a_job_when_its_end_is_durable(void **state)
{
    (void)state;
    (void)submit("{\"agent\":\"echo\"}");
    rig_agent *agent = rig_agent_last(&s->rig);
    s->disk.is_held = true;
    rig_agent_exits(&s->rig, agent, false, 0);
    assert_false(agent->forgotten);
    while (disk_write(&s->disk) || disk_report(&s->disk)) {
    }
    rig_run(&s->rig);
    assert_true(agent->forgotten);
}

static void another_life_under_a_name_in_use_is_refused(void **state)
{
    (void)state;
    assert_false(joins("i2"));
    assert_false(joins(""));
    assert_true(joins("i1"));
}

/* ---- a worker that is away ---- */

static bool has_ended(const char *id)
{
    return arcp__job_has_ended(job_of(id));
}

static void jobs_of_a_worker_that_stays_away_are_lost(void **state)
{
    (void)state;
    const char *id = submit("{\"agent\":\"echo\"}");
    (void)scene_takes(s, "");
    arcp__engine_worker_away(s->rig.engine, s->rig.now, ARCP_SPAN_LITERAL("w"));
    rig_clock(&s->rig, 5 * ARCP_NS_PER_SEC - 1);
    assert_int_equal(scene_takes(s, "worker_away"), 0);
    rig_clock(&s->rig, 1);
    assert_int_equal(scene_takes(s, "worker_away"), 1);
    rig_clock(&s->rig, (KEEP_SEC + 5) * ARCP_NS_PER_SEC - 1);
    assert_false(has_ended(id));
    rig_clock(&s->rig, 1);
    assert_true(has_ended(id));
    assert_int_equal(scene_takes(s, "worker_lost"), 1);
}

static void a_worker_that_comes_back_in_time_has_its_jobs(void **state)
{
    (void)state;
    const char *id = submit("{\"agent\":\"echo\"}");
    arcp__engine_worker_away(s->rig.engine, s->rig.now, ARCP_SPAN_LITERAL("w"));
    rig_clock(&s->rig, 100 * ARCP_NS_PER_SEC);
    (void)scene_takes(s, "");
    rig_agent *agent = come_back(id, 1);
    assert_int_equal(scene_takes(s, "\"phase\":\"running\""), 1);
    rig_clock(&s->rig, INT64_C(2) * KEEP_SEC * ARCP_NS_PER_SEC);
    assert_false(has_ended(id));
    says(agent, 1, RESULT);
    assert_true(has_ended(id));
}

static void jobs_of_a_dead_worker_are_lost_at_once(void **state)
{
    (void)state;
    const char *id = submit("{\"agent\":\"echo\"}");
    restart();
    arcp__engine_worker_lost(s->rig.engine, s->rig.now, ARCP_SPAN_LITERAL("w"),
                             ARCP_SPAN_LITERAL("i1"));
    rig_run(&s->rig);
    assert_false(has_ended(id));
    arcp__engine_worker_lost(s->rig.engine, s->rig.now, ARCP_SPAN_LITERAL("w"),
                             ARCP_SPAN_LITERAL("i2"));
    rig_run(&s->rig);
    assert_true(has_ended(id));
    assert_int_equal(s->rig.engine->jobs.live_agents, 0);
    assert_null(s->rig.engine->jobs.workers);
}

/* ---- a worker that ends the program ---- */

/* With status 0 and without a result, as of a program that has heard of the cancel. */
static void is_ended(rig_agent *agent, arcp__agent_ended_by ended_by)
{
    const arcp__agent_exit end = {.ended_by = ended_by};
    arcp__engine_agent_exited(s->rig.engine, s->rig.now, agent->job, &end);
    rig_run(&s->rig);
}

static void a_job_whose_worker_is_stopped_has_no_result(void **state)
{
    (void)state;
    const char *id = submit("{\"agent\":\"echo\"}");
    is_ended(rig_agent_last(&s->rig), ARCP__AGENT_ENDED_BY_STOP);
    assert_int_equal(job_of(id)->status, ARCP_JOB_ERROR);
    assert_int_equal(scene_takes(s, "\"retryable\":true,\"details\":{\"reason\":"
                                    "\"worker_stopped\"}"),
                     1);
}

static void a_job_that_was_alone_for_too_long_says_so(void **state)
{
    (void)state;
    const char *id = submit("{\"agent\":\"echo\"}");
    is_ended(rig_agent_last(&s->rig), ARCP__AGENT_ENDED_BY_ABSENCE);
    assert_int_equal(job_of(id)->status, ARCP_JOB_ERROR);
    assert_int_equal(scene_takes(s, "\"reason\":\"worker_alone\""), 1);
}

static void a_job_that_is_cancelled_ends_so_although_its_worker_is_stopped(void **state)
{
    (void)state;
    char frame[256];
    const char *id = submit("{\"agent\":\"echo\"}");
    rig_agent *agent = rig_agent_last(&s->rig);
    (void)snprintf(frame, sizeof frame, FRAME("c", "job.cancel", "{\"job_id\":\"%s\"}"), id);
    rig_send(&s->rig, s->client, frame);
    is_ended(agent, ARCP__AGENT_ENDED_BY_STOP);
    assert_int_equal(job_of(id)->status, ARCP_JOB_CANCELLED);
    assert_int_equal(scene_takes(s, "worker_stopped"), 0);
}

static void a_cancel_while_the_worker_is_away_is_sent_when_it_comes(void **state)
{
    (void)state;
    char frame[256];
    const char *id = submit("{\"agent\":\"echo\"}");
    rig_agent *agent = rig_agent_last(&s->rig);
    arcp__engine_worker_away(s->rig.engine, s->rig.now, ARCP_SPAN_LITERAL("w"));
    (void)snprintf(frame, sizeof frame, FRAME("c", "job.cancel", "{\"job_id\":\"%s\"}"), id);
    rig_send(&s->rig, s->client, frame);
    assert_false(agent->cancelled);
    agent = come_back(id, 1);
    assert_true(agent->cancelled);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_goes_on_after_a_restart),
        TEST(a_job_whose_agent_ends_with_the_runtime_ends_at_the_restart),
        TEST(what_was_spent_is_exact_after_a_restart),
        TEST(an_event_that_was_not_durable_has_its_effect_when_it_comes_again),
        TEST(items_that_the_worker_may_have_forgotten_are_behind),
        TEST(a_reply_is_sent_again_unless_the_worker_has_it),
        TEST(a_cancel_is_sent_again_and_its_grace_goes_on),
        TEST(a_deadline_counts_from_the_acceptance),
        TEST(chunks_of_a_result_go_on_at_the_next_number),
        cmocka_unit_test_setup_teardown(pieces_of_a_result_without_chunks_are_in_the_store,
                                        set_up_without_chunks, tear_down),
        TEST(output_that_is_in_no_record_comes_again_after_a_restart),
        TEST(output_goes_on_after_its_last_durable_record),
        TEST(a_line_of_standard_error_is_taken_once_over_a_restart),
        cmocka_unit_test_setup_teardown(a_used_up_budget_is_revoked_again_after_a_restart,
                                        set_up_confined, tear_down),
        cmocka_unit_test_setup_teardown(
            a_lease_that_expires_while_its_worker_is_away_is_revoked_when_it_comes, set_up_confined,
            tear_down),
        cmocka_unit_test_setup_teardown(a_job_with_a_credential_ends_at_a_restart,
                                        set_up_with_credentials, tear_down),
        TEST(a_parent_waits_on_for_its_child),
        TEST(a_parent_has_the_reply_of_a_child_that_ends_at_the_restart),
        TEST(a_parent_waits_on_for_its_queued_child),
        TEST(a_job_on_a_worker_has_its_directory_where_that_is_kept),
        TEST(what_an_earlier_release_has_stored_as_spent_is_read_and_deleted),
        TEST(a_job_starts_when_its_worker_comes),
        TEST(a_job_that_waits_for_its_worker_ends_with_its_cancel),
        TEST(a_job_waits_for_its_worker_as_long_as_in_a_queue),
        TEST(a_job_that_its_worker_has_waits_no_more),
        TEST(a_job_that_never_reached_its_worker_is_started_after_a_restart),
        TEST(a_job_that_has_run_is_never_started_again),
        TEST(a_job_that_has_ended_is_forgotten),
        TEST(a_worker_that_knows_more_than_the_store_ends_the_job),
        TEST(a_worker_forgets_a_job_when_its_end_is_durable),
        TEST(another_life_under_a_name_in_use_is_refused),
        TEST(jobs_of_a_worker_that_stays_away_are_lost),
        TEST(a_worker_that_comes_back_in_time_has_its_jobs),
        TEST(jobs_of_a_dead_worker_are_lost_at_once),
        TEST(a_cancel_while_the_worker_is_away_is_sent_when_it_comes),
        TEST(a_job_whose_worker_is_stopped_has_no_result),
        TEST(a_job_that_was_alone_for_too_long_says_so),
        TEST(a_job_that_is_cancelled_ends_so_although_its_worker_is_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
