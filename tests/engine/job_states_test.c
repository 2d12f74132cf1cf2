/* What each input does to a job in each of its states: how it ends, once, and what its agent is
 * sent. The states and their names are those of job/job.h. */
#include "base/alloc.h"
#include "engine/frames.h"
#include "story/engine_rig.h"
#include "support/check.h"

#define RESULT "{\"type\":\"job.result\",\"payload\":{\"result\":42}}"
#define ERROR_LINE                                                                                 \
    "{\"type\":\"job.error\",\"payload\":{\"code\":\"TIMEOUT\",\"message\":\"too slow\"}}"

typedef enum job_state {
    STARTING,
    RUNNING,
    STOPPING_START,
    STOPPING,
    WINDING_DOWN,
    ENDED
} job_state;
typedef enum input {
    STARTED,
    NOT_STARTED,
    SAYS_RESULT,
    SAYS_ERROR,
    EXITS,
    DIES,
    CANCEL,
    RUNTIME_OVER,
    GRACE_OVER
} input;

static engine_rig rig;
static rig_client *client;
static rig_agent *agent;
static char job_id[64];

static void start_job(job_state state)
{
    rig_start(&rig, NULL);
    rig.hold_start = true;
    client = rig_connect(&rig, "a");
    rig_send(&rig, client, HELLO_PLAIN);
    rig_send(&rig, client,
             FRAME("1", "job.submit", "{\"agent\":\"echo\",\"max_runtime_sec\":1000}"));
    agent = rig_agent_last(&rig);
    assert_non_null(agent);
    memcpy(job_id, agent->job_id, sizeof job_id);
    if (state != STARTING && state != STOPPING_START) {
        rig_agent_started(&rig, agent);
    }
}

static void cancel(void)
{
    char frame[256];
    (void)snprintf(frame, sizeof frame, FRAME("c", "job.cancel", "{\"job_id\":\"%s\"}"), job_id);
    rig_send(&rig, client, frame);
}

/* The report of the start, whatever has happened since. */
static void report_start(arcp_status status)
{
    if (!agent->forgotten) {
        arcp__engine_agent_started(rig.engine, rig.now, agent->job, status,
                                   ARCP_SPAN_LITERAL("no such file"));
        rig_run(&rig);
    }
}

static void bring_to(job_state state)
{
    start_job(state);
    switch (state) {
    case STARTING:
    case RUNNING:
        break;
    case STOPPING_START:
    case STOPPING:
        cancel();
        break;
    case WINDING_DOWN:
        rig_agent_writes(&rig, agent, RESULT);
        break;
    case ENDED:
        rig_agent_writes(&rig, agent, RESULT);
        rig_agent_exits(&rig, agent, false, 0);
        break;
    }
}

static void put_in(input what)
{
    switch (what) {
    case STARTED:
        report_start(ARCP_OK);
        break;
    case NOT_STARTED:
        report_start(ARCP_E_IO);
        break;
    case SAYS_RESULT:
        rig_agent_writes(&rig, agent, RESULT);
        break;
    case SAYS_ERROR:
        rig_agent_writes(&rig, agent, ERROR_LINE);
        break;
    case EXITS:
        rig_agent_exits(&rig, agent, false, 0);
        break;
    case DIES:
        rig_agent_exits(&rig, agent, false, 3);
        break;
    case CANCEL:
        cancel();
        break;
    case RUNTIME_OVER:
        rig_clock(&rig, 1001 * ARCP_NS_PER_SEC);
        break;
    case GRACE_OVER:
        rig_clock(&rig, 60 * ARCP_NS_PER_SEC);
        break;
    }
}

/* The terminal record that the client got: its final_status, or "" when there is none; whether it
 * has the agent's text. */
static bool read_end(char out[32])
{
    unsigned ends = 0;
    bool has_result = false;
    out[0] = '\0';
    for (char *frame = rig_take(client); frame != NULL; frame = rig_take(client)) {
        /* A cancel that comes too late is refused, with an error of its own. */
        const char *status =
            strstr(frame, "JOB_NOT_FOUND") == NULL ? strstr(frame, "\"final_status\":\"") : NULL;
        if (status != NULL) {
            ends++;
            (void)sscanf(status + strlen("\"final_status\":\""), "%31[a-z_]", out);
        }
        has_result = has_result || strstr(frame, "\"result\":42") != NULL;
        arcp__free(frame);
    }
    assert_true(ends <= 1);
    return has_result;
}

typedef struct row {
    const char *end;   /* final_status of the record that the client got; "": the job continues */
    unsigned cancels;  /* how often the agent was cancelled */
    unsigned kills;    /* and killed */
    unsigned releases; /* its host was sent FORGET_AGENT */
} row;

static const struct {
    const char *name;
    job_state state;
    input what;
    row want;
} rows[] = {
    {"starting, started", STARTING, STARTED, {"", 0, 0, 0}},
    {"starting, not started", STARTING, NOT_STARTED, {"error", 0, 0, 1}},
    /* Output shows that an agent runs: the report of the start may come later, or never. */
    {"starting, result", STARTING, SAYS_RESULT, {"success", 0, 0, 0}},
    {"starting, error", STARTING, SAYS_ERROR, {"timed_out", 0, 0, 0}},
    {"starting, exit 0", STARTING, EXITS, {"success", 0, 0, 1}},
    {"starting, exit 3", STARTING, DIES, {"error", 0, 0, 1}},
    {"starting, cancel", STARTING, CANCEL, {"", 1, 0, 0}},
    {"starting, max_runtime_sec", STARTING, RUNTIME_OVER, {"timed_out", 1, 1, 0}},
    {"running, started", RUNNING, STARTED, {"", 0, 0, 0}},
    {"running, not started", RUNNING, NOT_STARTED, {"", 0, 0, 0}},
    {"running, result", RUNNING, SAYS_RESULT, {"success", 0, 0, 0}},
    {"running, error", RUNNING, SAYS_ERROR, {"timed_out", 0, 0, 0}},
    {"running, exit 0", RUNNING, EXITS, {"success", 0, 0, 1}},
    {"running, exit 3", RUNNING, DIES, {"error", 0, 0, 1}},
    {"running, cancel", RUNNING, CANCEL, {"", 1, 0, 0}},
    {"running, max_runtime_sec", RUNNING, RUNTIME_OVER, {"timed_out", 1, 1, 0}},
    {"stopping at the start, started", STOPPING_START, STARTED, {"", 1, 0, 0}},
    {"stopping at the start, not started", STOPPING_START, NOT_STARTED, {"cancelled", 1, 0, 1}},
    {"stopping at the start, result", STOPPING_START, SAYS_RESULT, {"cancelled", 1, 0, 0}},
    {"stopping at the start, exit 0", STOPPING_START, EXITS, {"cancelled", 1, 0, 1}},
    {"stopping at the start, grace", STOPPING_START, GRACE_OVER, {"cancelled", 1, 1, 0}},
    {"stopping, started", STOPPING, STARTED, {"", 1, 0, 0}},
    {"stopping, not started", STOPPING, NOT_STARTED, {"", 1, 0, 0}},
    {"stopping, result", STOPPING, SAYS_RESULT, {"cancelled", 1, 0, 0}},
    {"stopping, error", STOPPING, SAYS_ERROR, {"cancelled", 1, 0, 0}},
    {"stopping, exit 0", STOPPING, EXITS, {"cancelled", 1, 0, 1}},
    {"stopping, exit 3", STOPPING, DIES, {"cancelled", 1, 0, 1}},
    {"stopping, cancel", STOPPING, CANCEL, {"", 1, 0, 0}},
    {"stopping, grace", STOPPING, GRACE_OVER, {"cancelled", 1, 1, 0}},
    {"winding down, started", WINDING_DOWN, STARTED, {"success", 0, 0, 0}},
    {"winding down, not started", WINDING_DOWN, NOT_STARTED, {"success", 0, 0, 0}},
    {"winding down, result", WINDING_DOWN, SAYS_RESULT, {"success", 0, 0, 0}},
    {"winding down, exit 0", WINDING_DOWN, EXITS, {"success", 0, 0, 1}},
    {"winding down, exit 3", WINDING_DOWN, DIES, {"success", 0, 0, 1}},
    {"winding down, cancel", WINDING_DOWN, CANCEL, {"success", 0, 0, 0}},
    {"winding down, grace", WINDING_DOWN, GRACE_OVER, {"success", 0, 1, 0}},
    {"ended, cancel", ENDED, CANCEL, {"success", 0, 0, 1}},
    {"ended, max_runtime_sec", ENDED, RUNTIME_OVER, {"success", 0, 0, 1}},
};

static void each_input_in_each_state(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char end[32];
        const row *want = &rows[i].want;
        bring_to(rows[i].state);
        put_in(rows[i].what);
        const bool has_result = read_end(end);
        const bool wants_result =
            rows[i].state >= WINDING_DOWN ||
            (rows[i].what == SAYS_RESULT && strcmp(want->end, "success") == 0);
        if (strcmp(end, want->end) != 0 || has_result != wants_result ||
            agent->cancels != want->cancels || agent->kills != want->kills ||
            agent->forgets != want->releases) {
            fail_msg("%s: end \"%s\"%s, cancelled %u times, killed %u, released %u", rows[i].name,
                     end, has_result ? " with its result" : "", agent->cancels, agent->kills,
                     agent->forgets);
        }
        /* Nothing is left of a job when its agent was released, too. */
        rig_agent_exits(&rig, agent, false, 0);
        arcp__engine_stats stats;
        arcp__engine_get_stats(rig.engine, &stats);
        assert_int_equal(stats.jobs_running, 0);
        assert_int_equal(agent->forgets, 1);
        rig_stop(&rig);
    }
}

static void a_job_that_could_not_be_made_leaves_nothing(void **state)
{
    arcp_settings settings;
    arcp__engine_stats stats;
    (void)state;
    arcp__settings_default(&settings);
    settings.jobs_idempotency_max = 0;
    rig_start(&rig, &settings);
    client = rig_connect(&rig, "a");
    rig_send(&rig, client, HELLO_PLAIN);
    rig_send(&rig, client,
             FRAME("1", "job.submit", "{\"agent\":\"echo\",\"idempotency_key\":\"k\"}"));
    assert_null(rig_agent_last(&rig));
    arcp__engine_get_stats(rig.engine, &stats);
    assert_int_equal(stats.jobs_running, 0);
    assert_int_equal(stats.jobs_kept, 0);
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_input_in_each_state),
        cmocka_unit_test(a_job_that_could_not_be_made_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
