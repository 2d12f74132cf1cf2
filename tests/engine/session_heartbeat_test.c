/* When pings are sent and when a peer is lost, to the nanosecond: sessions whose intervals end
 * close to each other are pinged together, none later than promised. */
#include "story/engine_rig.h"
#include "support/check.h"

#include "base/alloc.h"

#define INTERVAL_NS (128 * ARCP_NS_PER_SEC)
#define INSTANT_NS  ARCP_NS_PER_SEC /* 128 of them in an interval */

static const char hello[] =
    "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{\"auth\":{\"scheme\":"
    "\"bearer\",\"token\":\"t-alice\"},\"capabilities\":{\"features\":[\"heartbeat\"]}}}";
static const char pong[] =
    "{\"arcp\":\"1.1\",\"id\":\"p\",\"type\":\"session.pong\",\"payload\":{\"ping_nonce\":\"n\"}}";

/* The offset within an instant at which a session begins. */
static const int64_t phases_ns[] = {0, 1, INSTANT_NS / 3, INSTANT_NS - 1};
#define PHASE_COUNT (sizeof phases_ns / sizeof phases_ns[0])

/* The engine this long after the beginning of an instant. */
static void begin(engine_rig *rig, int64_t phase_ns)
{
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.session_heartbeat_interval_sec = INTERVAL_NS / ARCP_NS_PER_SEC;
    rig_start(rig, &settings);
    rig_clock(rig, INSTANT_NS - rig->now.mono_ns % INSTANT_NS + phase_ns);
}

static bool took(rig_client *client, const char *word)
{
    char *frame = rig_take(client);
    const bool is_there = frame != NULL;
    if (is_there && strstr(frame, word) == NULL) {
        fail_msg("want %s in %s", word, frame);
    }
    arcp__free(frame);
    return is_there;
}

static rig_client *say_hello(engine_rig *rig, const char *name)
{
    rig_client *client = rig_connect(rig, name);
    rig_send(rig, client, hello);
    assert_true(took(client, "session.welcome"));
    return client;
}

/* Advances to the engine's next deadline, and no further. */
static void wake(engine_rig *rig)
{
    rig_clock(rig, arcp__engine_deadline(rig->engine) - rig->now.mono_ns);
}

/* [arcp:6.4-1] */
static void intervals_that_end_in_one_instant_bring_one_wake_up(void **state)
{
    static engine_rig rig;
    (void)state;
    begin(&rig, 0);
    const int64_t instant_ns = rig.now.mono_ns;
    char name[8];
    for (int i = 0; i < RIG_CLIENTS_MAX - 1; i++) {
        (void)snprintf(name, sizeof name, "c%d", i);
        (void)say_hello(&rig, name);
        rig_clock(&rig, INSTANT_NS / RIG_CLIENTS_MAX);
    }
    rig_clock(&rig, instant_ns + INSTANT_NS - rig.now.mono_ns);
    const rig_client *next = say_hello(&rig, "next"); /* of the next instant */
    rig_clock(&rig, instant_ns + INTERVAL_NS - 1 - rig.now.mono_ns);
    for (int i = 0; i < RIG_CLIENTS_MAX; i++) {
        assert_null(rig.clients[i].frames);
    }
    wake(&rig);
    assert_int_equal(rig.now.mono_ns, instant_ns + INTERVAL_NS);
    for (int i = 0; i < RIG_CLIENTS_MAX; i++) {
        if (&rig.clients[i] != next) {
            assert_true(took(&rig.clients[i], "session.ping"));
        }
    }
    assert_null(next->frames);
    wake(&rig);
    assert_int_equal(rig.now.mono_ns, instant_ns + INTERVAL_NS + INSTANT_NS);
    for (int i = 0; i < RIG_CLIENTS_MAX; i++) {
        assert_int_equal(took(&rig.clients[i], "session.ping"), &rig.clients[i] == next);
    }
    rig_stop(&rig);
}

/* [arcp:6.4-1] */
static void a_ping_is_never_later_than_an_interval_nor_an_instant_earlier(void **state)
{
    static engine_rig rig;
    (void)state;
    for (size_t phase = 0; phase < PHASE_COUNT; phase++) {
        begin(&rig, phases_ns[phase]);
        rig_client *client = say_hello(&rig, "a");
        for (int round = 0; round < 20; round++) {
            rig_clock(&rig, INTERVAL_NS - INSTANT_NS);
            assert_null(client->frames);
            rig_clock(&rig, INSTANT_NS);
            assert_true(took(client, "session.ping"));
            assert_null(client->frames);
            rig_send(&rig, client, pong);
            /* Any other frame restarts the interval, whenever it arrives. */
            rig_clock(&rig, round * (INSTANT_NS / 7));
            rig_send(&rig, client,
                     "{\"arcp\":\"1.1\",\"id\":\"1\",\"type\":\"session.ping\",\"payload\":{}}");
            assert_true(took(client, "session.pong"));
        }
        rig_stop(&rig);
    }
}

/* The pong to the previous ping came after it, so the interval without a received frame ends after
 * the one without a sent frame: that is no second ping. */
static void a_late_peer_is_pinged_once_in_an_interval(void **state)
{
    static engine_rig rig;
    static const int64_t delays_ns[] = {0, 1, INSTANT_NS, INTERVAL_NS / 2,
                                        INTERVAL_NS - INSTANT_NS};
    (void)state;
    for (size_t i = 0; i < sizeof delays_ns / sizeof delays_ns[0]; i++) {
        begin(&rig, INSTANT_NS / 2);
        rig_client *client = say_hello(&rig, "a");
        rig_clock(&rig, INTERVAL_NS - INSTANT_NS / 2); /* onto an instant */
        assert_true(took(client, "session.ping"));
        for (int round = 0; round < 10; round++) {
            rig_clock(&rig, delays_ns[i]);
            assert_null(client->frames);
            rig_send(&rig, client, pong);
            rig_clock(&rig, INTERVAL_NS - delays_ns[i] - 1);
            assert_null(client->frames);
            rig_clock(&rig, 1);
            assert_true(took(client, "session.ping"));
            assert_null(client->frames);
        }
        rig_stop(&rig);
    }
}

/* [arcp:6.4-4] [arcp:EG-12] */
static void a_silent_peer_is_lost_after_two_intervals_and_not_before(void **state)
{
    static engine_rig rig;
    (void)state;
    for (size_t phase = 0; phase < PHASE_COUNT; phase++) {
        begin(&rig, 0);
        rig_client *client = say_hello(&rig, "a");
        rig_clock(&rig, phases_ns[phase]);
        rig_send(&rig, client, pong);
        rig_clock(&rig, 2 * INTERVAL_NS - 1);
        while (client->frames != NULL) {
            assert_true(took(client, "session.ping"));
        }
        assert_int_equal(client->close_code, 0);
        rig_clock(&rig, 1);
        assert_true(took(client, "HEARTBEAT_LOST"));
        assert_int_equal(client->close_code, 1001);
        rig_stop(&rig);
    }
}

/* A frame just before the end counts, and the two intervals start again with it. */
static void a_frame_just_before_the_end_saves_the_peer(void **state)
{
    static engine_rig rig;
    (void)state;
    begin(&rig, INSTANT_NS / 2);
    rig_client *client = say_hello(&rig, "a");
    for (int round = 0; round < 5; round++) {
        rig_clock(&rig, 2 * INTERVAL_NS - 1);
        rig_send(&rig, client, pong);
        assert_int_equal(client->close_code, 0);
    }
    rig_clock(&rig, 2 * INTERVAL_NS);
    assert_int_equal(client->close_code, 1001);
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_that_end_in_one_instant_bring_one_wake_up),
        cmocka_unit_test(a_ping_is_never_later_than_an_interval_nor_an_instant_earlier),
        cmocka_unit_test(a_late_peer_is_pinged_once_in_an_interval),
        cmocka_unit_test(a_silent_peer_is_lost_after_two_intervals_and_not_before),
        cmocka_unit_test(a_frame_just_before_the_end_saves_the_peer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
