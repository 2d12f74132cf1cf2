/* In a long scenario the first, second, ... allocation fails, wherever it is made: the engine in
 * any of its inputs, effects, batches and commits, the store, a restart. An engine that has failed
 * closes its links, stores nothing more and is started again from the store. Nothing crashes or
 * leaks (sanitizers look), every promise of watch.h and disk.h holds, every job that was accepted
 * ends once, no agent is left, and clients that come back get everything. */
#include "engine/frames.h"
#include "engine/play.h"

#include "support/check.h"
#include "support/failing_alloc.h"

#include "base/alloc.h"

#define SUBMIT(id, more)                                                                           \
    FRAME(id, "job.submit",                                                                        \
          "{\"agent\":\"echo\",\"lease_request\":{\"tool.call\":[\"web.*\"],\"agent.delegate\":["  \
          "\"**\"],\"cost.budget\":[\"USD:5\"]}" more "}")
#define LOG_LINES 70 /* enough for every growing list to grow a few times */

static void look(play *p)
{
    play_recover(p);
    play_look(p);
}

/* A client that lost its connection resumes. */
static void ask(play *p, size_t slot, const char *frame)
{
    if (play_client(p, slot)->link == NULL) {
        play_client_returns(p, slot);
    }
    if (play_client(p, slot)->link != NULL) {
        rig_send(&p->rig, play_client(p, slot), frame);
    }
    look(p);
}

static void ask_about(play *p, size_t slot, const char *type, const char *id)
{
    char frame[256];
    const rig_agent *agent = rig_agent_last(&p->rig);
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"%s\",\"type\":\"%s\",\"payload\":{\"job_id\":\"%s\","
                   "\"history\":true}}",
                   id, type, agent == NULL ? "job_nothing" : agent->job_id);
    ask(p, slot, frame);
}

static void agent_writes(play *p, const char *line)
{
    rig_agent *agent = rig_agent_last(&p->rig);
    if (agent != NULL) {
        rig_agent_writes(&p->rig, agent, line);
    }
    look(p);
}

static void a_job_and_its_watchers(play *p)
{
    ask(p, 0, SUBMIT("1", ",\"idempotency_key\":\"k\""));
    agent_writes(p, "plain words");
    ask_about(p, 1, "job.subscribe", "2");
    agent_writes(p,
                 "{\"type\":\"job.event\",\"id\":\"1\",\"payload\":{\"kind\":\"metric\",\"body\":"
                 "{\"name\":\"cost.x\",\"value\":1,\"unit\":\"USD\"}}}");
    agent_writes(p, "{\"type\":\"job.event\",\"payload\":{\"kind\":\"tool_call\",\"body\":{"
                    "\"tool\":\"mail.send\",\"args\":{},\"call_id\":\"c\"}}}");
    rig_drop(&p->rig, play_client(p, 0));
    for (unsigned i = 0; i < LOG_LINES; i++) {
        agent_writes(p, "one more");
    }
    ask(p, 0, FRAME("3", "session.list_jobs", "{}"));
    ask(p, 0, FRAME("4", "session.ack", "{\"last_processed_seq\":3}"));
    ask(p, 0, FRAME("5", "job.submit", "{\"agent\":\"nobody\"}"));
}

static void a_delegation(play *p)
{
    agent_writes(p, "{\"type\":\"delegate\",\"id\":\"2\",\"payload\":{\"agent\":\"work\",\"wait\":"
                    "true,\"lease_request\":{\"cost.budget\":[\"USD:1\"]}}}");
    agent_writes(p, "{\"type\":\"result.chunk\",\"payload\":{\"data\":\"x\",\"encoding\":\"utf8\","
                    "\"more\":false}}");
    agent_writes(p, "{\"type\":\"job.result\",\"payload\":{\"summary\":\"s\"}}");
    rig_agent *child = rig_agent_last(&p->rig);
    if (child != NULL) {
        rig_agent_exits(&p->rig, child, false, 0);
    }
    look(p);
    ask(p, 1, SUBMIT("6", ",\"idempotency_key\":\"k\"")); /* the first job's, again */
}

static void ends_by_the_clock(play *p)
{
    ask(p, 0, SUBMIT("7", ",\"max_runtime_sec\":20"));
    ask(p, 0, SUBMIT("8", ""));
    ask_about(p, 0, "job.cancel", "9");
    rig_clock(&p->rig, 40 * ARCP_NS_PER_SEC);
    play_recover(p);
    play_agents_reap(p);
    look(p);
}

static void restart(play *p)
{
    ask(p, 0, SUBMIT("10", ""));
    agent_writes(p, "before");
    look(p);
    disk_crash(&p->disk);
    rig_restart(&p->rig);
    ask(p, 0, FRAME("11", "session.ping", "{}"));
    ask(p, 1, FRAME("12", "session.ping", "{}"));
    ask(p, 0, SUBMIT("13", ""));
    agent_writes(p, "after");
}

static void slow_and_stalled(play *p)
{
    rig_client *client = play_client(p, 0);
    ask(p, 0, SUBMIT("14", ""));
    client->slow = client->link != NULL;
    p->disk.is_held = true;
    for (unsigned i = 0; i < 8; i++) {
        agent_writes(p, "not sent to a client yet");
    }
    p->disk.is_held = false;
    rig_run(&p->rig);
    p->disk.refuses = true;
    agent_writes(p, "this fails");
    p->disk.refuses = false;
    rig_clock(&p->rig, ARCP_NS_PER_SEC);
    rig_drop(&p->rig, client);
    client->slow = false;
    look(p);
    ask(p, 0, FRAME("15", "session.ping", "{}"));
}

static void ends_well(play *p)
{
    agent_writes(p, "{\"type\":\"job.result\",\"payload\":{}}");
    rig_agent *agent = rig_agent_last(&p->rig);
    if (agent != NULL) {
        rig_agent_exits(&p->rig, agent, false, 0);
    }
    look(p);
}

static void submit_keyed(play *p, size_t slot, const char *id, const char *key)
{
    char frame[256];
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"%s\",\"type\":\"job.submit\",\"payload\":{"
                   "\"agent\":\"echo\",\"idempotency_key\":\"%s\"}}",
                   id, key);
    ask(p, slot, frame);
}

static void keep(play *p, uint64_t jobs, uint64_t keys)
{
    p->rig.settings.jobs_keep_terminal_max = jobs;
    p->rig.settings.jobs_idempotency_max = keys;
    p->rig.settings.jobs_idempotency_ttl_sec = 60;
    arcp__engine_set_settings(p->rig.engine, &p->rig.settings);
}

/* Jobs are removed; their keys are kept, used again, also after a restart, and become too many. */
static void forgotten_jobs_and_their_keys(play *p)
{
    static const char *const keys[] = {"f1", "f2", "f3", "f4"};
    static const char *const ids[] = {"20", "21", "22", "23"};
    keep(p, 1, 2);
    for (size_t i = 0; i < 4; i++) {
        submit_keyed(p, i % 2, ids[i], keys[i]);
        ends_well(p);
        rig_clock(&p->rig, 2 * ARCP_NS_PER_SEC);
    }
    submit_keyed(p, 0, "24", "f3");
    look(p);
    disk_crash(&p->disk);
    rig_restart(&p->rig);
    submit_keyed(p, 1, "25", "f2");
    rig_clock(&p->rig, 61 * ARCP_NS_PER_SEC);
    submit_keyed(p, 0, "26", "f3"); /* it has expired */
    ends_well(p);
    submit_keyed(p, 0, "27", "f3");
    keep(p, 1, 0);
    submit_keyed(p, 0, "28", "f5");
    ends_well(p);
    rig_clock(&p->rig, 61 * ARCP_NS_PER_SEC);
    keep(p, 100000, 1000000);
}

/* A client that has ended its input gets all pending frames. */
static void the_end_of_input(play *p)
{
    ask(p, 1, SUBMIT("30", ""));
    if (play_client(p, 1)->link != NULL) {
        p->is_over[1] = true;
        rig_input_over(&p->rig, play_client(p, 1));
    }
    agent_writes(p, "one more");
    ends_well(p);
}

static void (*const scenes[])(play *p) = {
    a_job_and_its_watchers,        a_delegation,     ends_by_the_clock, restart, slow_and_stalled,
    forgotten_jobs_and_their_keys, the_end_of_input,
};
#define SCENES (sizeof scenes / sizeof scenes[0])

/* Returns whether the n-th allocation of that scenario was reached. */
static bool run(size_t failing, size_t nth)
{
    const size_t before = failing_alloc_live();
    play *p = arcp__alloc(sizeof *p);
    assert_non_null(p);
    arcp_settings settings;
    arcp__settings_default(&settings);
    play_begin_calm(p, 1, &settings, "engine_alloc_test");
    (void)snprintf(p->watch.label, sizeof p->watch.label, "scene %zu, allocation %zu", failing,
                   nth);
    p->watch.again[0] = '\0';
    bool failed = false;
    for (size_t i = 0; i < SCENES; i++) {
        if (i == failing) {
            failing_alloc_arm(nth, FAILING_ALLOC_ONE);
        }
        scenes[i](p);
        if (i == failing) {
            failed = failing_alloc_disarm();
        }
        look(p);
    }
    for (size_t i = 0; i < 2; i++) {
        ask(p, i, FRAME("16", "session.ping", "{}"));
    }
    play_settle(p);
    play_end(p);
    arcp__free(p);
    if (failing_alloc_live() != before) {
        fail_msg("scene %zu, allocation %zu: %zu blocks are left", failing, nth,
                 failing_alloc_live() - before);
    }
    return failed;
}

static void an_input_that_runs_out_of_memory_harms_no_other_client(void **state)
{
    (void)state;
    const size_t stride = test_stride();
    size_t sum = 0;
    for (size_t i = 0; i < SCENES; i++) {
        size_t nth = 1 + i % stride; /* so that scenes that begin alike differ */
        while (run(i, nth)) {
            nth += stride;
            sum++;
            assert_true(nth < 10000);
        }
    }
    print_message("%zu allocations failed, one at a time\n", sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_input_that_runs_out_of_memory_harms_no_other_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
