/* What the log and the audit log say of a job: when it starts, when it ends, and with which fields.
 */
#include "engine/scene.h"

#include "support/check.h"

#define HELLO                                                                                      \
    "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{\"auth\":{\"scheme\":" \
    "\"bearer\",\"token\":\"t-alice\"},\"capabilities\":{\"features\":[\"cost.budget\"]}}}"
#define SUBMIT                                                                                     \
    "{\"arcp\":\"1.1\",\"id\":\"1\",\"type\":\"job.submit\",\"trace_id\":"                         \
    "\"4bf92f3577b34da6a3ce929d0e0e4736\",\"payload\":{\"agent\":\"work\"}}"

static char started[1024], ended[1024];

static void keep(engine_rig *rig, arcp__log_level level, arcp_span text)
{
    if (level == ARCP__LOG_INFO && arcp_span_equal_cstr(text, "job started")) {
        memcpy(started, rig->last_fields, sizeof(started));
    } else if (level == ARCP__LOG_INFO && arcp_span_equal_cstr(text, "job ended")) {
        memcpy(ended, rig->last_fields, sizeof(ended));
    }
}

static scene *begin(void)
{
    scene *self = scene_begin(NULL);
    started[0] = ended[0] = '\0';
    self->rig.logged = keep;
    rig_send(&self->rig, self->client, HELLO);
    rig_send(&self->rig, self->client, SUBMIT);
    return self;
}

static void finish(scene *self)
{
    for (char *frame = rig_take(self->client); frame != NULL; frame = rig_take(self->client)) {
        arcp_free(frame);
    }
    scene_end(self);
}

static void check_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("want %s in %s", part, text);
    }
}

static void a_start_and_an_end_are_a_line_each_with_fields(void **state)
{
    (void)state;
    scene *self = begin();
    rig_agent *agent = rig_agent_last(&self->rig);
    char want[256];
    (void)snprintf(want, sizeof(want),
                   "{\"job_id\":\"%s\",\"agent\":\"work@1.0.0\",\"principal\":\"alice\","
                   "\"session_id\":\"sess_",
                   agent->job_id);
    check_has(started, want);
    check_has(started, "\"trace_id\":\"4bf92f3577b34da6a3ce929d0e0e4736\"}");
    assert_string_equal(ended, "");
    rig_clock(&self->rig, 1500 * ARCP_NS_PER_MS);
    rig_agent_exits(&self->rig, agent, false, 0);
    check_has(ended, want);
    check_has(ended, ",\"status\":\"success\",\"duration_ms\":1500}");
    check_has(self->rig.last_audit, "\"event\":\"end\",\"decision\":\"success\"");
    check_has(self->rig.last_audit, "\"duration_ms\":\"1500\"}");
    finish(self);
}

static void an_end_names_its_code_and_what_the_agent_spent(void **state)
{
    (void)state;
    scene *self = begin();
    rig_agent *agent = rig_agent_last(&self->rig);
    static const char *const spends[] = {"0.25,\"unit\":\"USD\"", "1,\"unit\":\"credits\"",
                                         "0.05,\"unit\":\"USD\""};
    for (size_t at = 0; at < 3; at++) {
        char line[256];
        (void)snprintf(line, sizeof(line),
                       "{\"type\":\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{"
                       "\"name\":\"cost.x\",\"value\":%s}}}",
                       spends[at]);
        rig_agent_says(&self->rig, agent, line);
    }
    rig_agent_exits(&self->rig, agent, true, 9);
    check_has(ended, "\"status\":\"error\",\"code\":\"INTERNAL_ERROR\",\"duration_ms\":0,"
                     "\"cost\":{\"USD\":\"0.3\",\"credits\":\"1\"}}");
    check_has(self->rig.last_audit, "\"code\":\"INTERNAL_ERROR\"");
    check_has(self->rig.last_audit, "\"cost\":\"{\\\"USD\\\":\\\"0.3\\\",");
    finish(self);
}

/* An agent names as many currencies as it likes; the line has eight of them. */
static void costs_in_the_line_are_bounded(void **state)
{
    (void)state;
    scene *self = begin();
    rig_agent *agent = rig_agent_last(&self->rig);
    for (int at = 1; at <= 9; at++) {
        char line[256];
        (void)snprintf(line, sizeof(line),
                       "{\"type\":\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{"
                       "\"name\":\"cost.x\",\"value\":1,\"unit\":\"c%d\"}}}",
                       at);
        rig_agent_says(&self->rig, agent, line);
    }
    rig_agent_exits(&self->rig, agent, false, 0);
    check_has(ended, "\"c8\":\"1\"}}");
    assert_null(strstr(ended, "\"c9\""));
    finish(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_and_an_end_are_a_line_each_with_fields),
        cmocka_unit_test(an_end_names_its_code_and_what_the_agent_spent),
        cmocka_unit_test(costs_in_the_line_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
