/* Connections take turns: a client that pipelines requests delays the others by a bounded number of
 * frames, and a client that does not read its responses is not read. */
#include "runtime/runtime_rig.h"

#include "support/check.h"

#include "base/turn_share.h"

#define FLOOD      3000u
#define FLOODS_MAX 4u
#define ROUNDS     10u
/* Turns of the loop between sending a ping and receiving its pong, over the memory transport. */
#define TURNS_OF_A_ROUND 4u
#define PAUSE_BYTES      1048576u /* src/session/link.c */

typedef struct peer {
    arcp_connection *connection; /* the client's end */
    arcp_connection *served;
    unsigned pongs;
} peer;

static runtime_rig rig;
static peer floods[FLOODS_MAX], bob;
static unsigned flood_pongs;  /* of all, since bob's last */
static unsigned most_between; /* two pongs of bob's */

static void say(const peer *to, const char *text)
{
    assert_int_equal(to->connection->ops->send(to->connection, arcp_span_cstr(text)), ARCP_OK);
}

static void send_ping(const peer *to)
{
    say(to, "{\"arcp\":\"1.1\",\"id\":\"p\",\"type\":\"session.ping\",\"payload\":{}}");
}

static bool is_pong(arcp_span frame)
{
    return memmem(frame.data, frame.size, "\"session.pong\"", 14) != NULL;
}

static void on_flood_message(void *user, arcp_connection *connection, arcp_span frame)
{
    peer *p = user;
    (void)connection;
    p->pongs += is_pong(frame) ? 1 : 0;
    flood_pongs += is_pong(frame) ? 1 : 0;
}

static void on_bob_message(void *user, arcp_connection *connection, arcp_span frame)
{
    (void)user;
    (void)connection;
    if (!is_pong(frame)) {
        return;
    }
    most_between = flood_pongs > most_between ? flood_pongs : most_between;
    flood_pongs = 0;
    if (++bob.pongs < ROUNDS) {
        send_ping(&bob);
    }
}

static void join(peer *p, const char *token, void (*message)(void *, arcp_connection *, arcp_span))
{
    char hello[300];
    arcp_error error = {0};
    *p = (peer){0};
    check_ok(arcp_memory_pair(&rig.loop, NULL, &p->connection, &p->served, &error), &error);
    arcp_connection_callbacks callbacks = {.message = message, .user = p};
    p->connection->ops->set_callbacks(p->connection, &callbacks);
    assert_int_equal(arcp_runtime_serve(rig.runtime, p->served, NULL, NULL), ARCP_OK);
    (void)snprintf(hello, sizeof hello,
                   "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{"
                   "\"auth\":{\"scheme\":\"bearer\",\"token\":\"%s\"}}}",
                   token);
    say(p, hello);
}

static void leave(peer *p)
{
    p->connection->ops->free(p->connection);
}

static bool has_all(void *user)
{
    const unsigned *count = user;
    unsigned pongs = 0;
    for (unsigned i = 0; i < *count; i++) {
        pongs += floods[i].pongs;
    }
    return bob.pongs == ROUNDS && pongs == *count * FLOOD;
}

/* So many clients send FLOOD pings each at once; bob sends one at a time. */
static void flood_with(unsigned count)
{
    runtime_rig_start(&rig, NULL);
    flood_pongs = most_between = 0;
    for (unsigned i = 0; i < count; i++) {
        join(&floods[i], "alice", on_flood_message);
    }
    join(&bob, "bob", on_bob_message);
    for (unsigned i = 0; i < count; i++) {
        for (unsigned sent = 0; sent < FLOOD; sent++) {
            send_ping(&floods[i]);
        }
    }
    send_ping(&bob);
    runtime_rig_until(&rig, has_all, &count); /* no response is lost */
    for (unsigned i = 0; i < count; i++) {
        leave(&floods[i]);
    }
    leave(&bob);
    runtime_rig_stop(&rig);
}

static void a_pipelining_client_delays_others_by_a_bounded_number_of_frames(void **state)
{
    (void)state;
    flood_with(1);
    assert_in_range(most_between, 1, TURNS_OF_A_ROUND * arcp__turn_of_links.taker_frames);
}

static void several_pipelining_clients_share_one_turn(void **state)
{
    (void)state;
    flood_with(FLOODS_MAX);
    assert_in_range(most_between, 1, TURNS_OF_A_ROUND * arcp__turn_of_links.frames);
}

static size_t unsent_of(const peer *of)
{
    return of->served->ops->unsent(of->served);
}

static bool is_at_its_limit(void *user)
{
    return unsent_of(user) >= PAUSE_BYTES;
}

static void a_client_that_does_not_read_is_sent_no_more_than_its_limit(void **state)
{
    (void)state;
    unsigned one = 1;
    runtime_rig_start(&rig, NULL);
    join(&floods[0], "alice", on_flood_message);
    join(&bob, "bob", on_bob_message);
    floods[0].connection->ops->pause(floods[0].connection);
    for (unsigned sent = 0; sent < FLOOD; sent++) {
        char ping[700];
        (void)snprintf(ping, sizeof ping,
                       "{\"arcp\":\"1.1\",\"id\":\"p\",\"type\":\"session.ping\",\"payload\":{"
                       "\"nonce\":\"%0600d\"}}",
                       0);
        say(&floods[0], ping);
    }
    send_ping(&bob);
    while (bob.pongs < ROUNDS) {
        (void)uv_run(&rig.loop, UV_RUN_ONCE);
    }
    runtime_rig_until(&rig, is_at_its_limit, &floods[0]);
    /* By now all requests could have been read. */
    for (unsigned turn = 0; turn < FLOOD / arcp__turn_of_links.taker_frames * 2; turn++) {
        (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
    }
    assert_in_range(unsent_of(&floods[0]), PAUSE_BYTES, PAUSE_BYTES + 4096);
    floods[0].connection->ops->resume(floods[0].connection);
    runtime_rig_until(&rig, has_all, &one);
    leave(&floods[0]);
    leave(&bob);
    runtime_rig_stop(&rig);
}

/* ---- agents on the loop ---- */

#define EVENTS       10000u
#define FEW_EVENTS   100u
#define EVENTS_IN_GO 32u /* src/runtime/agent_inbox.c */

static struct {
    unsigned much, few;       /* events that came */
    unsigned much_before_few; /* events of the busy agent before the other agent has finished */
    bool is_over;
} heard;

static void say_events(arcp_agent_call *call, const char *text, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(arcp_agent_log(call, "info", text, NULL), ARCP_OK);
    }
    arcp_agent_succeed(call, ARCP_SPAN_LITERAL("1"));
}

static void say_much(arcp_agent_call *call, void *user)
{
    (void)user;
    say_events(call, "much", EVENTS);
}

static void say_few(arcp_agent_call *call, void *user)
{
    (void)user;
    say_events(call, "few", FEW_EVENTS);
}

static void on_event(void *user, arcp_connection *connection, arcp_span frame)
{
    (void)user;
    (void)connection;
    if (memmem(frame.data, frame.size, "\"message\":\"much\"", 16) != NULL) {
        heard.much++;
        flood_pongs++; /* since bob's last pong */
        heard.is_over = heard.much == EVENTS;
    } else if (memmem(frame.data, frame.size, "\"message\":\"few\"", 15) != NULL) {
        heard.few++;
        heard.much_before_few = heard.much;
    }
}

static bool has_heard_all(void *user)
{
    (void)user;
    return heard.is_over && bob.pongs == ROUNDS;
}

static void submit(const peer *to, const char *agent)
{
    char text[160];
    (void)snprintf(text, sizeof text,
                   "{\"arcp\":\"1.1\",\"id\":\"%s\",\"type\":\"job.submit\",\"payload\":{"
                   "\"agent\":\"%s\"}}",
                   agent, agent);
    say(to, text);
}

static void a_busy_agent_delays_others_by_a_bounded_number_of_events(void **state)
{
    (void)state;
    runtime_rig_start(&rig, NULL);
    runtime_rig_add(&rig, "much", ARCP_AGENT_NON_BLOCKING, say_much, NULL);
    runtime_rig_add(&rig, "few", ARCP_AGENT_NON_BLOCKING, say_few, NULL);
    memset(&heard, 0, sizeof heard);
    flood_pongs = most_between = 0;
    join(&floods[0], "alice", on_event);
    join(&bob, "bob", on_bob_message);
    submit(&floods[0], "much");
    submit(&floods[0], "few");
    send_ping(&bob);
    runtime_rig_until(&rig, has_heard_all, NULL);
    const unsigned in_a_turn = arcp__turn_of_agents.taker_frames + EVENTS_IN_GO;
    assert_in_range(most_between, 1, TURNS_OF_A_ROUND * in_a_turn);
    /* The other agent does not wait for all events of the busy one. */
    assert_int_equal(heard.few, FEW_EVENTS);
    assert_in_range(heard.much_before_few, 0, 3 * in_a_turn);
    leave(&floods[0]);
    leave(&bob);
    runtime_rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipelining_client_delays_others_by_a_bounded_number_of_frames),
        cmocka_unit_test(several_pipelining_clients_share_one_turn),
        cmocka_unit_test(a_client_that_does_not_read_is_sent_no_more_than_its_limit),
        cmocka_unit_test(a_busy_agent_delays_others_by_a_bounded_number_of_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
