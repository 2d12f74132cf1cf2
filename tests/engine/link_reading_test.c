/* A link that does not read its responses is not read either: their memory is limited, however many
 * requests are pipelined, and counts from the moment that they are made. */
#include "base/alloc.h"
#include "engine/frames.h"
#include "engine/state.h"
#include "session/session_state.h"
#include "story/engine_rig.h"
#include "support/check.h"

#define PAUSE_BYTES 1048576u /* above this a link is not read, below half of it it is again */
#define REQUESTS    4000u

static engine_rig rig;

static rig_client *begin(void)
{
    rig_start(&rig, NULL);
    rig_client *client = rig_connect(&rig, "a");
    rig_send(&rig, client, HELLO_WITH("\"list_jobs\""));
    arcp__free(rig_take(client));
    return client;
}

/* The requests, as one read brings them, of which the engine takes some. */
static unsigned pipeline(rig_client *client, const char *type, const char *payload)
{
    unsigned taken = 0;
    for (unsigned i = 0; i < REQUESTS; i++) {
        static char frame[16384];
        (void)snprintf(frame, sizeof frame, FRAME("r%u", "%s", "%s"), i, type, payload);
        taken += client->paused ? 0 : 1;
        rig_receive(&rig, client, frame);
    }
    return taken;
}

/* Takes all frames; returns how many have the word. */
static unsigned take(rig_client *client, const char *word)
{
    unsigned found = 0;
    for (char *frame = rig_take(client); frame != NULL; frame = rig_take(client)) {
        found += strstr(frame, word) != NULL ? 1 : 0;
        arcp__free(frame);
    }
    return found;
}

static const char *long_nonce(void)
{
    static char payload[420];
    (void)snprintf(payload, sizeof payload, "{\"nonce\":\"%0400d\"}", 0);
    return payload;
}

/* Reads from its transport until that is empty. */
static unsigned read_all(rig_client *client, const char *word)
{
    unsigned found = 0;
    for (char *frame = rig_read(&rig, client); frame != NULL; frame = rig_read(&rig, client)) {
        found += strstr(frame, word) != NULL ? 1 : 0;
        arcp__free(frame);
    }
    return found;
}

static void answers_count_when_they_are_made(void **state)
{
    (void)state;
    rig_client *client = begin();
    client->slow = true;
    const unsigned taken = pipeline(client, "session.ping", long_nonce());
    assert_in_range(taken, 2, REQUESTS - 1);
    /* Not one byte was handed out yet. */
    assert_int_equal(client->unsent, 0);
    assert_in_range(client->link->port.queued, PAUSE_BYTES + 1, PAUSE_BYTES + 2048);
    rig_run(&rig);
    assert_int_equal(client->link->port.queued, 0);
    assert_in_range(client->unsent, PAUSE_BYTES + 1, PAUSE_BYTES + 2048);
    assert_int_equal(read_all(client, "session.pong"), REQUESTS);
    assert_int_equal(client->unsent, 0);
    rig_stop(&rig);
}

static void a_client_that_reads_is_read_again_at_half_the_limit(void **state)
{
    (void)state;
    rig_client *client = begin();
    client->slow = true;
    (void)pipeline(client, "session.ping", long_nonce());
    rig_run(&rig);
    arcp__engine_drained(rig.engine, rig.now, client->link, PAUSE_BYTES / 2 + 1);
    rig_run(&rig);
    assert_true(client->paused);
    rig_text_clear(&client->waiting);
    arcp__engine_drained(rig.engine, rig.now, client->link, PAUSE_BYTES / 2);
    rig_run(&rig);
    assert_false(client->paused);
    rig_stop(&rig);
}

/* Submits whose rows have about 13 KB, until the link is not read any more. */
static unsigned submit_until_paused(rig_client *client)
{
    static char submit[13000];
    (void)snprintf(submit, sizeof submit,
                   "{\"agent\":\"echo\",\"lease_request\":{\"fs.read\":[\"/%04000d\",\"/%04001d\","
                   "\"/%04002d\"]}}",
                   0, 0, 0);
    const unsigned taken = pipeline(client, "job.submit", submit);
    rig_text_clear(&client->waiting);
    rig_run(&rig);
    return taken;
}

static void answers_that_wait_for_the_store_count(void **state)
{
    (void)state;
    rig_client *client = begin();
    rig.hold_store = true;
    const unsigned taken = submit_until_paused(client);
    assert_in_range(taken, 2, 100);
    assert_int_equal(client->unsent, 0);
    assert_in_range(client->link->port.queued, PAUSE_BYTES + 1, PAUSE_BYTES + 13000);
    rig.hold_store = false;
    rig_run(&rig);
    assert_false(client->paused);
    assert_int_equal(take(client, "\"job.accepted\""), taken);
    rig_stop(&rig);
}

static void links_of_a_principal_with_a_64th_of_the_stores_queue_are_not_read(void **state)
{
    (void)state;
    rig_client *client = begin();
    rig_client *second = rig_connect(&rig, "a2");
    rig_send(&rig, second, HELLO_OF("alice", ""));
    rig_client *bob = rig_connect(&rig, "bob");
    rig_send(&rig, bob, HELLO_OF("bob", ""));
    rig_run(&rig);
    rig.hold_store = true;
    const uint64_t part = rig.settings.limits_store_queue_bytes / 64;
    const unsigned taken = submit_until_paused(client);
    /* The one that exceeds the part is the last. */
    const arcp__principal *alice = client->link->session->principal;
    const size_t queued = arcp__queued_bytes(rig.engine->log, &alice->queued);
    assert_true(client->paused);
    assert_in_range(queued, part + 1, part + queued / taken);
    assert_in_range(queued - queued / taken, 1, part);
    assert_false(arcp__engine_takes_frames(rig.engine, second->link));
    assert_true(arcp__engine_takes_frames(rig.engine, bob->link));
    rig_send(&rig, bob, FRAME("p", "session.ping", "{\"nonce\":\"n\"}"));
    assert_int_equal(take(bob, "session.pong"), 1);
    rig.hold_store = false;
    rig_run(&rig);
    assert_false(client->paused);
    assert_true(arcp__engine_takes_frames(rig.engine, second->link));
    assert_int_equal(take(client, "\"job.accepted\""), taken);
    rig_stop(&rig);
}

static void a_principal_that_is_alone_may_fill_the_stores_queue(void **state)
{
    (void)state;
    rig_client *client = begin();
    rig.hold_store = true;
    const unsigned taken = submit_until_paused(client);
    const arcp__principal *alice = client->link->session->principal;
    /* What stops it are its responses, which wait for the store. */
    assert_in_range(client->link->port.queued, PAUSE_BYTES + 1, PAUSE_BYTES + 13000);
    assert_in_range(arcp__queued_bytes(rig.engine->log, &alice->queued),
                    rig.settings.limits_store_queue_bytes / 64 + 1, UINT64_MAX);
    rig.hold_store = false;
    rig_run(&rig);
    assert_int_equal(take(client, "\"job.accepted\""), taken);
    rig_stop(&rig);
}

static void refusals_count_although_they_are_records(void **state)
{
    (void)state;
    rig_client *client = begin();
    client->slow = true;
    /* The transport has as many records as it accepts; the rest is in the store. */
    unsigned taken = 0;
    while (!client->paused && taken < REQUESTS * 4) {
        char frame[256];
        (void)snprintf(frame, sizeof frame, FRAME("r%u", "job.submit", "{\"agent\":\"none\"}"),
                       taken++);
        rig_send(&rig, client, frame);
    }
    assert_true(client->paused);
    assert_in_range(client->link->session->refusal_bytes + client->unsent, PAUSE_BYTES + 1,
                    PAUSE_BYTES + 2048);
    assert_int_equal(read_all(client, "AGENT_NOT_AVAILABLE"), taken);
    assert_false(client->paused);
    assert_int_equal(client->link->session->refusal_bytes, 0);
    rig_stop(&rig);
}

static void no_other_link_is_delayed(void **state)
{
    (void)state;
    rig_client *client = begin();
    client->slow = true;
    (void)pipeline(client, "session.ping", long_nonce());
    rig_client *bob = rig_connect(&rig, "bob");
    rig_send(&rig, bob, HELLO_OF("bob", ""));
    rig_send(&rig, bob, FRAME("p", "session.ping", "{\"nonce\":\"n\"}"));
    assert_int_equal(take(bob, "session.pong"), 1);
    assert_true(client->paused);
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_count_when_they_are_made),
        cmocka_unit_test(a_client_that_reads_is_read_again_at_half_the_limit),
        cmocka_unit_test(answers_that_wait_for_the_store_count),
        cmocka_unit_test(links_of_a_principal_with_a_64th_of_the_stores_queue_are_not_read),
        cmocka_unit_test(a_principal_that_is_alone_may_fill_the_stores_queue),
        cmocka_unit_test(refusals_count_although_they_are_records),
        cmocka_unit_test(no_other_link_is_delayed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
