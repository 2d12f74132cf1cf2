/* What an agent says has numbers: each has its effect once, and the engine says what its host need
 * not keep (src/job/job_number.c). */
#include "support/check.h"

#include "base/alloc.h"
#include "engine/scene.h"

#define EVENT                                                                                      \
    "{\"type\":\"job.event\",\"payload\":{\"kind\":\"thought\",\"body\":{\"text\":\"t\"}}}"
#define PROGRESS                                                                                   \
    "{\"type\":\"job.event\",\"id\":\"p\",\"payload\":{\"kind\":\"progress\",\"body\":{"           \
    "\"current\":1}}}"
#define AUTHORIZE                                                                                  \
    "{\"type\":\"authorize\",\"id\":\"a\",\"payload\":{\"capability\":\"fs.read\",\"target\":\"/"  \
    "x\"}}"

static scene *s;
static rig_agent *agent;

static int set_up(void **state)
{
    (void)state;
    s = scene_begin(NULL);
    rig_send(&s->rig, s->client, HELLO_WITH("\"progress\",\"result_chunk\""));
    rig_send(&s->rig, s->client, FRAME("s", "job.submit", "{\"agent\":\"echo\"}"));
    agent = rig_agent_last(&s->rig);
    assert_non_null(agent);
    arcp__free(rig_agent_take(agent)); /* job.start */
    (void)scene_takes(s, "");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scene_end(s);
    return 0;
}

static void says(uint64_t item, const char *line)
{
    arcp__engine_agent_line(s->rig.engine, s->rig.now, agent->job, item, arcp_span_cstr(line));
    rig_run(&s->rig);
}

/* How many lines the agent got. */
static unsigned replies(void)
{
    unsigned count = 0;
    for (char *line = NULL; (line = rig_agent_take(agent)) != NULL; arcp__free(line)) {
        count++;
    }
    return count;
}

static arcp__job_kept kept(void)
{
    static arcp__job_kept out;
    arcp__engine_get_kept(s->rig.engine, agent->job, &out);
    return out;
}

static void an_item_has_its_effect_once(void **state)
{
    (void)state;
    says(1, EVENT);
    says(2, EVENT);
    assert_int_equal(scene_takes(s, "thought"), 2);
    says(1, EVENT);
    says(2, EVENT);
    assert_int_equal(scene_takes(s, "thought"), 0);
    says(3, EVENT);
    assert_int_equal(scene_takes(s, "thought"), 1);
}

static void an_item_that_leaves_a_gap_has_no_effect(void **state)
{
    (void)state;
    says(2, EVENT);
    assert_int_equal(scene_takes(s, "thought"), 0);
    says(1, EVENT);
    says(2, EVENT);
    assert_int_equal(scene_takes(s, "thought"), 2);
}

static void lines_without_numbers_are_all_taken(void **state)
{
    (void)state;
    says(0, EVENT);
    says(0, EVENT);
    assert_int_equal(scene_takes(s, "thought"), 2);
    assert_null(agent->job->live->numbers);
    assert_int_equal(kept().items, 0);
}

static void a_reply_is_sent_once_and_a_decision_of_the_gate_again(void **state)
{
    (void)state;
    says(1, PROGRESS);
    says(2, AUTHORIZE);
    assert_int_equal(replies(), 2);
    says(1, PROGRESS);
    assert_int_equal(replies(), 0);
    says(2, AUTHORIZE);
    assert_int_equal(replies(), 1);
}

static arcp__effect last_line;

static void note_line(void *user, const arcp__effect *effect)
{
    (void)user;
    if (effect->kind == ARCP__EFFECT_AGENT_LINE) {
        last_line = *effect;
    }
}

static void a_reply_names_the_item_that_it_answers(void **state)
{
    (void)state;
    s->rig.on_effect = note_line;
    says(1, EVENT);
    says(2, AUTHORIZE);
    assert_int_equal(last_line.id, 2);
    says(3, PROGRESS);
    assert_int_equal(last_line.id, 3);
    says(0, PROGRESS);
    assert_int_equal(last_line.id, 0);
}

static void items_of_every_kind_share_the_numbers(void **state)
{
    (void)state;
    arcp__engine *engine = s->rig.engine;
    const arcp__denial denial = {.layer = ARCP__DENIAL_BROKER,
                                 .code = ARCP_E_PERMISSION_DENIED,
                                 .capability = ARCP_SPAN_LITERAL("fs.read"),
                                 .target = ARCP_SPAN_LITERAL("/x"),
                                 .count = 1};
    for (unsigned round = 0; round < 2; round++) {
        arcp__engine_agent_denied(engine, s->rig.now, agent->job, 1, &denial);
        arcp__engine_agent_noted(engine, s->rig.now, agent->job, 2);
        arcp__engine_agent_log(engine, s->rig.now, agent->job, 3, "warn",
                               ARCP_SPAN_LITERAL("a text"));
        rig_run(&s->rig);
        assert_int_equal(scene_takes(s, "\"job.event\""), round == 0 ? 2 : 0);
    }
    assert_int_equal(kept().items, 3);
    arcp__engine_agent_line_too_long(engine, s->rig.now, agent->job, 3);
    rig_run(&s->rig);
    assert_int_equal(scene_takes(s, "job.error"), 0);
    arcp__engine_agent_line_too_long(engine, s->rig.now, agent->job, 4);
    rig_run(&s->rig);
    assert_int_equal(scene_takes(s, "job.error"), 1);
}

/* ---- what the host need not keep ---- */

static void an_item_is_kept_until_its_effect_is_durable(void **state)
{
    (void)state;
    s->disk.is_held = true;
    says(1, EVENT);
    assert_int_equal(kept().items, 0);
    assert_true(disk_write(&s->disk));
    assert_int_equal(kept().items, 0);
    says(2, EVENT); /* in the next batch */
    assert_true(disk_report(&s->disk));
    rig_run(&s->rig);
    assert_int_equal(kept().items, 1);
    assert_int_equal(kept().stored, 1);
    while (disk_write(&s->disk) || disk_report(&s->disk)) {
        rig_run(&s->rig);
    }
    assert_int_equal(kept().items, 2);
    assert_int_equal(kept().stored, 2);
}

static void an_item_without_an_effect_need_not_be_kept(void **state)
{
    (void)state;
    says(1, EVENT);
    says(2, "{\"type\":\"unknown\"}");
    says(3, "");
    assert_int_equal(kept().items, 3);
    assert_int_equal(kept().stored, 1);
}

static void a_store_that_is_never_idle_is_no_obstacle(void **state)
{
    (void)state;
    s->disk.is_held = true;
    for (uint64_t item = 1; item <= 20; item++) {
        says(item, EVENT);
        (void)disk_write(&s->disk);
        if (item > 2) {
            (void)disk_report(&s->disk);
        }
        assert_true(kept().items < item);
        assert_true(kept().items + 6 > item);
    }
}

/* ---- plain programs ---- */

static void writes(uint64_t end, const char *text)
{
    arcp__engine_agent_output(s->rig.engine, s->rig.now, agent->job, end, arcp_span_cstr(text));
    rig_run(&s->rig);
}

static void a_byte_of_output_is_taken_once(void **state)
{
    (void)state;
    writes(3, "abc");
    writes(3, "abc");
    writes(5, "bcde"); /* from the second byte on */
    writes(9, "gh");   /* f is missing */
    writes(5, "de");
    writes(6, "f");
    assert_int_equal(kept().bytes, 0); /* they are in no record yet */
    rig_agent_exits(&s->rig, agent, false, 0);
    assert_int_equal(scene_takes(s, "\"abcdef\""), 1);
}

static void output_is_kept_until_a_durable_record_has_it(void **state)
{
    (void)state;
    static char text[65545];
    memset(text, 'x', sizeof text - 1);
    writes(sizeof text - 1, text);
    assert_in_range(kept().bytes, 65536, sizeof text - 5);
}

static void a_line_of_standard_error_is_taken_once(void **state)
{
    (void)state;
    const uint64_t numbers[] = {1, 1, 2, 4, 3, 2};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        arcp__engine_agent_error_line(s->rig.engine, s->rig.now, agent->job, numbers[i],
                                      ARCP_SPAN_LITERAL("a line"), true);
        rig_run(&s->rig);
    }
    assert_int_equal(scene_takes(s, "a line"), 3);
    assert_int_equal(kept().errors, 3);
    assert_int_equal(agent->job->facts.error_lines, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_item_has_its_effect_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_item_that_leaves_a_gap_has_no_effect, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lines_without_numbers_are_all_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reply_is_sent_once_and_a_decision_of_the_gate_again,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reply_names_the_item_that_it_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(items_of_every_kind_share_the_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_item_is_kept_until_its_effect_is_durable, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_item_without_an_effect_need_not_be_kept, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_store_that_is_never_idle_is_no_obstacle, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_byte_of_output_is_taken_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(output_is_kept_until_a_durable_record_has_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_line_of_standard_error_is_taken_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
