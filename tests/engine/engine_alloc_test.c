/* Each input of a scenario loses its first, second, ... allocation: nothing crashes or leaks
 * (sanitizers look), what clients were shown keeps its promises, and every job that was
 * accepted ends. */
#include "engine/play.h"

#include "support/check.h"
#include "support/failing_alloc.h"

#include "base/alloc.h"

#define HELLO                                                                                      \
    "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{\"auth\":{\"scheme\":" \
    "\"bearer\",\"token\":\"t-alice\"},\"capabilities\":{\"encodings\":[\"json\"]}}}"
#define FRAME(id, type, payload)                                                                   \
    "{\"arcp\":\"1.1\",\"id\":\"" id "\",\"type\":\"" type "\",\"payload\":" payload "}"

static const struct {
    bool is_agent;
    const char *text;
} steps[] = {
    {false, HELLO},
    {false, FRAME("1", "job.submit",
                  "{\"agent\":\"echo\",\"idempotency_key\":\"k\",\"lease_request\":{\"agent."
                  "delegate\":[\"**\"],\"cost.budget\":[\"USD:5\"]}}")},
    {true, "plain words"},
    {true,
     "{\"type\":\"job.event\",\"id\":\"1\",\"payload\":{\"kind\":\"metric\",\"body\":{\"name\":"
     "\"cost.x\",\"value\":1,\"unit\":\"USD\"}}}"},
    {true, "{\"type\":\"delegate\",\"id\":\"2\",\"payload\":{\"agent\":\"work\",\"wait\":true}}"},
    {true, "{\"type\":\"result.chunk\",\"payload\":{\"data\":\"x\",\"encoding\":\"utf8\",\"more\":"
           "false}}"},
    {true, "{\"type\":\"job.result\",\"payload\":{\"summary\":\"s\"}}"},
    {false, FRAME("2", "session.list_jobs", "{}")},
    {false, FRAME("3", "session.ping", "{}")},
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))

static void step(play *self, size_t at)
{
    engine_rig *rig = &self->rig;
    rig_client *client = rig_find(rig, "a1");
    rig_agent *agent = rig_agent_last(rig);
    if (!steps[at].is_agent && client->link != NULL) {
        arcp__engine_receive(rig->engine, rig->now, client->link, arcp_span_cstr(steps[at].text));
    } else if (steps[at].is_agent && agent != NULL) {
        arcp__engine_agent_line(rig->engine, rig->now, agent->job, arcp_span_cstr(steps[at].text));
    }
}

/* Whether the n-th allocation of that step was reached. */
static bool run(size_t failing, size_t nth)
{
    play *self = arcp__alloc(sizeof(*self));
    assert_non_null(self);
    play_begin_seed(self, 1);
    (void)snprintf(self->watch.label, sizeof(self->watch.label), "step %zu, allocation %zu",
                   failing, nth);
    (void)rig_connect(&self->rig, "a1");
    bool failed = false;
    for (size_t at = 0; at < STEPS; at++) {
        if (at == failing) {
            failing_alloc_arm(nth, FAILING_ALLOC_ONE);
        }
        step(self, at);
        if (at == failing) {
            failed = failing_alloc_disarm();
        }
        rig_run(&self->rig);
        play_look(self);
    }
    play_settle(self);
    play_end(self);
    arcp__free(self);
    return failed;
}

static void an_input_that_runs_out_of_memory_harms_nobody_else(void **state)
{
    (void)state;
    for (size_t at = 0; at < STEPS; at++) {
        size_t nth = 1;
        while (run(at, nth)) {
            nth++;
            assert_true(nth < 1000);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_input_that_runs_out_of_memory_harms_nobody_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
