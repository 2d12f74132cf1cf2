/* Where there are several principals, the jobs of one pause above a 64th of the store's queue, and
 * continue at half of that: both to the byte. tests/story/engine_pressure_test.c has the rest. */
#include "engine/frames.h"
#include "engine/state.h"
#include "story/engine_rig.h"
#include "support/check.h"

#define PLENTY     67108864u
#define LINE_BYTES 1000u
#define PART       64u /* src/job/job.c: of the store's queue, for one of several principals */
#define LINES      5u

static engine_rig rig;

/* Two jobs of alice, one of bob, and a store that gets only what a test submits. */
typedef struct two_principals {
    rig_agent *first, *second; /* alice's */
} two_principals;

static rig_agent *submit(const char *name, const char *hello)
{
    rig_client *client = rig_connect(&rig, name);
    rig_send(&rig, client, hello);
    rig_send(&rig, client, FRAME("s", "job.submit", "{\"agent\":\"echo\"}"));
    rig_agent *agent = rig_agent_last(&rig);
    assert_non_null(agent);
    return agent;
}

static two_principals start_two_principals(uint64_t store_queue_bytes)
{
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.limits_unsent_bytes = PLENTY;
    settings.limits_store_queue_bytes = store_queue_bytes;
    rig_start(&rig, &settings);
    const two_principals two = {.first = submit("a", HELLO_PLAIN),
                                .second = submit("a2", HELLO_PLAIN)};
    (void)submit("b", HELLO_OF("bob", ""));
    rig.hold_store = true;
    return two;
}

/* An event of about a kilobyte. */
static void write_line(rig_agent *agent)
{
    char line[LINE_BYTES + 1];
    memset(line, 'x', LINE_BYTES);
    line[LINE_BYTES] = '\0';
    rig_agent_writes(&rig, agent, line);
}

static void write_lines(rig_agent *agent, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        write_line(agent);
    }
}

static void stop_two_principals(void)
{
    rig.hold_store = false;
    rig_run(&rig);
    rig_stop(&rig);
}

/* Bytes of alice's records that are not durable. */
static size_t queued(const rig_agent *agent)
{
    return arcp__queued_bytes(rig.engine->log, &agent->job->principal->queued);
}

/* Submits what was recorded so far; poll completes it. */
static void submit_batch(void)
{
    arcp_error error = {0};
    const arcp_store_batch *batch = arcp__engine_take_batch(rig.engine);
    assert_non_null(batch);
    check_ok(rig.store->ops->submit(rig.store, batch, &error), &error);
    rig.batches_under_way++;
}

static void complete_batch(void)
{
    (void)rig.store->ops->poll(rig.store);
    assert_int_equal(rig.batches_under_way, 0);
    rig_run(&rig);
}

static void a_job_is_paused_by_the_first_byte_beyond_the_part_of_its_principal(void **state)
{
    (void)state;
    two_principals two = start_two_principals(PLENTY);
    write_lines(two.first, LINES);
    const size_t bytes = queued(two.first);
    stop_two_principals();

    two = start_two_principals((uint64_t)PART * bytes);
    write_lines(two.first, LINES);
    assert_int_equal(queued(two.first), bytes);
    assert_false(two.first->paused);
    stop_two_principals();

    two = start_two_principals((uint64_t)PART * bytes - 1);
    write_lines(two.first, LINES - 1);
    assert_false(two.first->paused);
    write_line(two.first);
    assert_int_equal(queued(two.first), bytes);
    assert_true(two.first->paused);
    assert_false(two.second->paused); /* it has recorded nothing yet */
    stop_two_principals();
}

static void a_paused_job_continues_at_half_of_the_part_of_its_principal(void **state)
{
    (void)state;
    two_principals two = start_two_principals(PLENTY);
    write_line(two.second);
    const size_t remaining = queued(two.first);
    stop_two_principals();

    for (unsigned above = 0; above < 2; above++) {
        two = start_two_principals((uint64_t)2 * PART * remaining - above);
        write_lines(two.first, LINES);
        submit_batch();
        write_line(two.second);
        assert_true(two.first->paused);
        assert_true(two.second->paused);
        complete_batch();
        assert_int_equal(queued(two.first), remaining);
        assert_int_equal(two.first->paused, above != 0);
        assert_int_equal(two.second->paused, above != 0);
        submit_batch();
        complete_batch();
        assert_int_equal(queued(two.first), 0);
        assert_false(two.first->paused);
        assert_false(two.second->paused);
        stop_two_principals();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_paused_by_the_first_byte_beyond_the_part_of_its_principal),
        cmocka_unit_test(a_paused_job_continues_at_half_of_the_part_of_its_principal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
