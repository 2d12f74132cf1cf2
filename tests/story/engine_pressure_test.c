/* Backpressure pauses an agent only for a full store queue or for its connected owner that does not
 * read: never for a subscriber, for an owner that is disconnected, or for a client that does not
 * acknowledge. docs/protocol.md, Sessions; §6.5. */
#include "story/engine_rig.h"
#include "support/check.h"

#include "base/alloc.h"

#define LIMIT      65536u /* of unsent bytes, and of the store's queue */
#define PLENTY     67108864u
#define LINE_BYTES 1000u

static engine_rig rig;

static void start(uint64_t unsent_bytes, uint64_t store_queue_bytes)
{
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.limits_unsent_bytes = unsent_bytes;
    settings.limits_store_queue_bytes = store_queue_bytes;
    settings.session_ack_lag_events = 1000000;
    rig_start(&rig, &settings);
}

static void forget_frames(rig_client *client)
{
    for (char *frame = rig_take(client); frame != NULL; frame = rig_take(client)) {
        arcp__free(frame);
    }
}

static rig_client *hello_as(const char *name, const char *principal)
{
    char frame[400];
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{"
                   "\"auth\":{\"scheme\":\"bearer\",\"token\":\"t-%s\"},\"capabilities\":{"
                   "\"features\":[\"ack\",\"subscribe\",\"progress\",\"result_chunk\","
                   "\"cost.budget\"]}}}",
                   principal);
    rig_client *client = rig_connect(&rig, name);
    rig_send(&rig, client, frame);
    return client;
}

static rig_client *hello(const char *name)
{
    return hello_as(name, "alice");
}

static rig_agent *submit(rig_client *client)
{
    rig_send(&rig, client,
             "{\"arcp\":\"1.1\",\"id\":\"s\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
             "\"echo\"}}");
    rig_agent *agent = rig_agent_last(&rig);
    assert_non_null(agent);
    return agent;
}

static void subscribe(rig_client *client, const rig_agent *agent)
{
    char frame[300];
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"b\",\"type\":\"job.subscribe\",\"payload\":{"
                   "\"job_id\":\"%s\",\"history\":true}}",
                   agent->job_id);
    rig_send(&rig, client, frame);
}

/* An event of about a kilobyte. */
static void write_line(rig_agent *agent)
{
    char line[LINE_BYTES + 1];
    memset(line, 'x', LINE_BYTES);
    line[LINE_BYTES] = '\0';
    rig_agent_writes(&rig, agent, line);
}

static unsigned write_until_paused(rig_agent *agent)
{
    unsigned written = 0;
    while (!agent->paused && written < 1000) {
        write_line(agent);
        written++;
    }
    return written;
}

static void write_lines(rig_agent *agent, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        write_line(agent);
    }
}

/* The transport still has this many unsent bytes. */
static void drain_to(rig_client *client, size_t unsent)
{
    client->unsent = unsent;
    arcp__engine_drained(rig.engine, rig.now, client->link, unsent);
    rig_run(&rig);
}

static void an_owner_that_reads_slowly_pauses_only_its_own_agent(void **state)
{
    (void)state;
    start(LIMIT, PLENTY);
    rig_client *slow = hello("slow");
    rig_agent *held = submit(slow);
    rig_client *fast = hello("fast");
    rig_agent *free_agent = submit(fast);
    slow->slow = true;
    drain_to(slow, 0);
    const unsigned written = write_until_paused(held);
    assert_true(held->paused);
    assert_true(written > 45 && written < 66); /* LIMIT / (LINE_BYTES and its envelope) */
    /* Another session and its agent are not affected. */
    write_lines(free_agent, 300);
    assert_false(free_agent->paused);
    /* The agent continues when half of the limit is reached. */
    drain_to(slow, LIMIT / 2 + 1);
    assert_true(held->paused);
    drain_to(slow, LIMIT / 2);
    assert_false(held->paused);
    rig_stop(&rig);
}

static void an_owner_that_reads_never_pauses_its_agent(void **state)
{
    (void)state;
    start(LIMIT, PLENTY);
    rig_client *client = hello("a");
    rig_agent *agent = submit(client);
    for (unsigned round = 0; round < 50; round++) {
        write_lines(agent, 20); /* a megabyte in all, none of it acknowledged */
        assert_false(agent->paused);
        forget_frames(client);
    }
    rig_stop(&rig);
}

static void a_slow_subscriber_pauses_no_agent(void **state)
{
    arcp__engine_stats stats = {0};
    (void)state;
    start(LIMIT, PLENTY);
    rig_client *owner = hello("owner");
    rig_agent *agent = submit(owner);
    rig_client *slow = hello("slow");
    subscribe(slow, agent);
    forget_frames(slow);
    slow->slow = true;
    for (unsigned round = 0; round < 200; round++) {
        write_lines(agent, 10);
        assert_false(agent->paused);
        forget_frames(owner);
    }
    /* It was sent a bounded part; the rest waits in the store. */
    assert_true(slow->unsent < 300000);
    arcp__engine_get_stats(rig.engine, &stats);
    assert_true(stats.tail_bytes < 4000000);
    /* When it reads again it gets everything, in order. */
    slow->slow = false;
    drain_to(slow, 0);
    unsigned seq = 1; /* `running`, which it has read already */
    for (char *frame = rig_take(slow); frame != NULL; frame = rig_take(slow)) {
        char want[32];
        (void)snprintf(want, sizeof want, "\"event_seq\":%u,", ++seq);
        assert_non_null(strstr(frame, want));
        arcp__free(frame);
    }
    assert_int_equal(seq, 2001);
    rig_stop(&rig);
}

static void a_disconnected_owner_pauses_no_agent(void **state)
{
    (void)state;
    start(LIMIT, PLENTY);
    rig_client *client = hello("a");
    rig_agent *agent = submit(client);
    rig_drop(&rig, client);
    write_lines(agent, 500);
    assert_false(agent->paused);
    /* When an owner disconnects, its paused agent continues. */
    client = hello("b");
    agent = submit(client);
    client->slow = true;
    (void)write_until_paused(agent);
    assert_true(agent->paused);
    rig_drop(&rig, client);
    assert_false(agent->paused);
    rig_stop(&rig);
}

static void one_principal_fills_a_sixty_fourth_of_the_store_queue(void **state)
{
    (void)state;
    start(PLENTY, UINT64_C(64) * LIMIT);
    rig_client *alice = hello("a");
    rig_agent *first = submit(alice);
    rig_agent *second = submit(hello("a, again"));
    rig_client *bob = hello_as("b", "bob");
    rig_agent *other = submit(bob);
    forget_frames(alice);
    rig.hold_store = true;
    const unsigned sent = write_until_paused(first);
    assert_true(sent > 45 && sent < 66); /* LIMIT / (LINE_BYTES and its envelope) */
    /* Events that are not durable are not sent. */
    assert_null(alice->frames);
    /* Her second job records one event more; jobs of other principals are not affected. */
    assert_int_equal(write_until_paused(second), 1);
    write_line(other);
    assert_false(other->paused);
    rig.hold_store = false;
    rig_run(&rig);
    assert_false(first->paused);
    assert_false(second->paused);
    assert_non_null(alice->frames);
    rig_stop(&rig);
}

static size_t store_queue_bytes(void)
{
    arcp__engine_stats stats = {0};
    arcp__engine_get_stats(rig.engine, &stats);
    return stats.store_queue_bytes;
}

static void a_principal_that_is_alone_may_fill_the_store_queue(void **state)
{
    (void)state;
    start(PLENTY, LIMIT);
    rig_agent *first = submit(hello("a"));
    const rig_agent *second = submit(hello("a, again"));
    rig.hold_store = true;
    size_t before = 0;
    while (!first->paused && before <= LIMIT) {
        before = store_queue_bytes();
        write_line(first);
    }
    assert_true(before <= LIMIT);
    assert_true(store_queue_bytes() > LIMIT);
    assert_true(second->paused);
    rig.hold_store = false;
    rig_run(&rig);
    assert_false(first->paused);
    assert_false(second->paused);
    rig_stop(&rig);
}

static void a_principal_that_is_no_longer_alone_is_held_to_its_part(void **state)
{
    (void)state;
    start(PLENTY, LIMIT);
    rig_agent *agent = submit(hello("a"));
    rig.hold_store = true;
    write_lines(agent, 10); /* ten times its part */
    assert_false(agent->paused);
    rig.hold_store = false;
    rig_run(&rig);
    (void)submit(hello_as("b", "bob"));
    rig.hold_store = true;
    assert_int_equal(write_until_paused(agent), 1);
    rig.hold_store = false;
    rig_run(&rig);
    rig_stop(&rig);
}

static void a_full_store_queue_pauses_all_agents(void **state)
{
    (void)state;
    start(PLENTY, LIMIT);
    rig_agent *agents[15];
    const rig_agent *idle = submit(hello_as("idle", "idle"));
    for (unsigned i = 0; i < 15; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "p%u", i);
        agents[i] = submit(hello_as(name, name));
    }
    rig.hold_store = true;
    unsigned sent = 0;
    /* One line each is more than a principal's part. */
    char line[LIMIT / 14 + 1];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    while (sent < 15 && !idle->paused) {
        rig_agent_writes(&rig, agents[sent], line);
        assert_true(agents[sent]->paused);
        sent++;
    }
    assert_true(idle->paused);
    assert_true(sent >= 13);
    rig.hold_store = false;
    rig_run(&rig);
    assert_false(idle->paused);
    rig_stop(&rig);
}

static void closing_the_session_resumes_its_agent(void **state)
{
    (void)state;
    start(LIMIT, PLENTY);
    rig_client *client = hello("a");
    rig_agent *agent = submit(client);
    client->slow = true;
    (void)write_until_paused(agent);
    assert_true(agent->paused);
    rig_send(&rig, client,
             "{\"arcp\":\"1.1\",\"id\":\"b\",\"type\":\"session.bye\",\"payload\":{}}");
    assert_false(agent->paused);
    rig_agent_writes(&rig, agent, "{\"type\":\"job.result\",\"payload\":{\"result\":1}}");
    rig_agent_exits(&rig, agent, false, 0);
    assert_true(agent->forgotten);
    rig_stop(&rig);
}

static void a_job_submitted_while_the_owner_is_behind_starts_paused(void **state)
{
    (void)state;
    start(LIMIT, PLENTY);
    rig_client *client = hello("a");
    rig_agent *first = submit(client);
    client->slow = true;
    (void)write_until_paused(first);
    rig_send(&rig, client,
             "{\"arcp\":\"1.1\",\"id\":\"s2\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
             "\"echo\",\"max_runtime_sec\":5}}");
    const rig_agent *second = rig_agent_last(&rig);
    assert_ptr_not_equal(first, second);
    assert_true(second->paused); /* before its first line */
    /* When the job has ended, its agent is read again, so that it can exit. */
    rig_clock(&rig, 6 * ARCP_NS_PER_SEC);
    assert_false(second->paused);
    assert_true(first->paused);
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_owner_that_reads_slowly_pauses_only_its_own_agent),
        cmocka_unit_test(an_owner_that_reads_never_pauses_its_agent),
        cmocka_unit_test(a_slow_subscriber_pauses_no_agent),
        cmocka_unit_test(a_disconnected_owner_pauses_no_agent),
        cmocka_unit_test(one_principal_fills_a_sixty_fourth_of_the_store_queue),
        cmocka_unit_test(a_principal_that_is_alone_may_fill_the_store_queue),
        cmocka_unit_test(a_principal_that_is_no_longer_alone_is_held_to_its_part),
        cmocka_unit_test(a_full_store_queue_pauses_all_agents),
        cmocka_unit_test(closing_the_session_resumes_its_agent),
        cmocka_unit_test(a_job_submitted_while_the_owner_is_behind_starts_paused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
