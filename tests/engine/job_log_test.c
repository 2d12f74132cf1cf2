/* The lines of a job in the log and the audit log: when it starts, when it ends, and their
 * fields. */
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
        memcpy(started, rig->last_fields, sizeof started);
    } else if (level == ARCP__LOG_INFO && arcp_span_equal_cstr(text, "job ended")) {
        memcpy(ended, rig->last_fields, sizeof ended);
    }
}

static scene *begin(void)
{
    scene *s = scene_begin(NULL);
    started[0] = ended[0] = '\0';
    s->rig.logged = keep;
    rig_send(&s->rig, s->client, HELLO);
    rig_send(&s->rig, s->client, SUBMIT);
    return s;
}

static void finish(scene *s)
{
    for (char *frame = rig_take(s->client); frame != NULL; frame = rig_take(s->client)) {
        arcp_free(frame);
    }
    scene_end(s);
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
    scene *s = begin();
    rig_agent *agent = rig_agent_last(&s->rig);
    char want[256];
    (void)snprintf(want, sizeof want,
                   "{\"job_id\":\"%s\",\"agent\":\"work@1.0.0\",\"principal\":\"alice\","
                   "\"session_id\":\"sess_",
                   agent->job_id);
    check_has(started, want);
    check_has(started, "\"trace_id\":\"4bf92f3577b34da6a3ce929d0e0e4736\"}");
    assert_string_equal(ended, "");
    rig_clock(&s->rig, 1500 * ARCP_NS_PER_MS);
    rig_agent_exits(&s->rig, agent, false, 0);
    check_has(ended, want);
    check_has(ended, ",\"status\":\"success\",\"duration_ms\":1500}");
    check_has(s->rig.last_audit, "\"event\":\"end\",\"decision\":\"success\"");
    check_has(s->rig.last_audit, "\"duration_ms\":\"1500\"}");
    finish(s);
}

static void an_end_names_its_code_and_what_the_agent_spent(void **state)
{
    (void)state;
    scene *s = begin();
    rig_agent *agent = rig_agent_last(&s->rig);
    static const char *const spends[] = {"0.25,\"unit\":\"USD\"", "1,\"unit\":\"credits\"",
                                         "0.05,\"unit\":\"USD\""};
    for (size_t i = 0; i < 3; i++) {
        char line[256];
        (void)snprintf(line, sizeof line,
                       "{\"type\":\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{"
                       "\"name\":\"cost.x\",\"value\":%s}}}",
                       spends[i]);
        rig_agent_writes(&s->rig, agent, line);
    }
    rig_agent_exits(&s->rig, agent, true, 9);
    check_has(ended, "\"status\":\"error\",\"code\":\"INTERNAL_ERROR\",\"duration_ms\":0,"
                     "\"cost\":{\"USD\":\"0.3\",\"credits\":\"1\"}}");
    check_has(s->rig.last_audit, "\"code\":\"INTERNAL_ERROR\"");
    check_has(s->rig.last_audit, "\"cost\":\"{\\\"USD\\\":\\\"0.3\\\",");
    finish(s);
}

/* An agent names as many currencies as it likes; the line has eight of them. */
static void costs_in_the_line_are_bounded(void **state)
{
    (void)state;
    scene *s = begin();
    rig_agent *agent = rig_agent_last(&s->rig);
    for (int i = 1; i <= 9; i++) {
        char line[256];
        (void)snprintf(line, sizeof line,
                       "{\"type\":\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{"
                       "\"name\":\"cost.x\",\"value\":1,\"unit\":\"c%d\"}}}",
                       i);
        rig_agent_writes(&s->rig, agent, line);
    }
    rig_agent_exits(&s->rig, agent, false, 0);
    check_has(ended, "\"c8\":\"1\"}}");
    assert_null(strstr(ended, "\"c9\""));
    finish(s);
}

static void spend_one(scene *s, rig_agent *agent, const char *unit)
{
    char line[512];
    (void)snprintf(line, sizeof line,
                   "{\"type\":\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{"
                   "\"name\":\"cost.x\",\"value\":1,\"unit\":\"%s\"}}}",
                   unit);
    rig_agent_writes(&s->rig, agent, line);
}

static void a_currency_in_the_line_has_at_most_64_bytes(void **state)
{
    (void)state;
    scene *s = begin();
    rig_agent *agent = rig_agent_last(&s->rig);
    char name[66] = "";
    memset(name, 'x', 65);
    spend_one(s, agent, name);
    name[64] = '\0';
    spend_one(s, agent, name);
    spend_one(s, agent, "a\\u0000b");
    rig_agent_exits(&s->rig, agent, false, 0);
    char want[128];
    (void)snprintf(want, sizeof want, "\"cost\":{\"%s\":\"1\"}}", name);
    check_has(ended, want);
    finish(s);
}

/* The audit line has it as text, of which it takes 1024 bytes. */
static void costs_in_the_audit_line_are_whole_json(void **state)
{
    (void)state;
    scene *s = begin();
    rig_agent *agent = rig_agent_last(&s->rig);
    for (int i = 1; i <= 8; i++) {
        char name[160] = "";
        for (int j = 0; j < 62; j++) {
            strcat(name, "\\\"");
        }
        (void)snprintf(name + strlen(name), 4, "c%d", i);
        spend_one(s, agent, name);
    }
    rig_agent_exits(&s->rig, agent, false, 0);
    arcp_json line = ARCP__JSON_INIT;
    arcp_json costs = ARCP__JSON_INIT;
    arcp_buf text = arcp_buf_init();
    const arcp_json_limits limits = {8, 100, 65536};
    arcp_error err = {0};
    check_ok(arcp_json_scan(&line, arcp_span_cstr(s->rig.last_audit), &limits, &err), &err);
    const arcp_span cost = arcp_json_string(
        &line, arcp_json_member(&line, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("cost")), &text);
    check_ok(arcp_json_scan(&costs, cost, &limits, &err), &err);
    assert_non_null(memmem(cost.data, cost.size, "c7\":\"1\"}", 8));
    assert_true(cost.size <= 1024);
    arcp__json_fini(&costs);
    arcp__json_fini(&line);
    arcp_buf_fini(&text);
    finish(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_and_an_end_are_a_line_each_with_fields),
        cmocka_unit_test(an_end_names_its_code_and_what_the_agent_spent),
        cmocka_unit_test(costs_in_the_line_are_bounded),
        cmocka_unit_test(a_currency_in_the_line_has_at_most_64_bytes),
        cmocka_unit_test(costs_in_the_audit_line_are_whole_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
