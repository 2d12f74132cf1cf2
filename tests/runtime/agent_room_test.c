/* Agents on the loop's thread that put more messages than there is room for: they are refused, and
 * notified when there is room. */
#include "runtime/runtime_rig.h"

#include <pthread.h>

#include <sched.h>

#include "support/check.h"

#define WAITING_BYTES_MAX 4194304u /* src/runtime/agent_inbox.c */
#define LINE_BYTES        65536u
#define LINES             600u /* 39 MB: many times WAITING_BYTES_MAX */

/* An agent that puts LINES long lines, each when there is room for it. */
typedef struct talker {
    char *line;
    unsigned said;
    unsigned said_at_first; /* before the first refusal */
    unsigned refused;
    unsigned notified; /* notifications that there is room, or that the job has ended */
    bool is_over;
    arcp_agent_call *call;
    char why[ARCP_ERROR_MESSAGE_MAX]; /* of the last refusal */
} talker;

static talker t;

static void go_on(arcp_agent_call *call)
{
    while (t.said < LINES) {
        arcp_error error = {0};
        const arcp_status status = arcp_agent_log(call, "info", t.line, &error);
        if (status == ARCP_E_LIMIT) {
            t.said_at_first = t.refused == 0 ? t.said : t.said_at_first;
            t.refused++;
            (void)snprintf(t.why, sizeof t.why, "%s", error.message);
            return;
        }
        if (status == ARCP_E_CLOSED) {
            t.is_over = true;
            arcp_agent_fail(call, ARCP_E_CANCELLED, "over", arcp_span_make(NULL, 0));
            return;
        }
        assert_int_equal(status, ARCP_OK);
        t.said++;
    }
    arcp_agent_succeed(call, ARCP_SPAN_LITERAL("1"));
}

static void run(arcp_agent_call *call, void *user)
{
    (void)user;
    t.call = call;
    go_on(call);
}

static void notified_of_room(arcp_agent_call *call, void *user)
{
    (void)user;
    t.notified++;
    assert_int_equal(t.notified, t.refused); /* once for each refusal, and only then */
    go_on(call);
}

static void add_agent(runtime_rig *rig, void (*begin)(arcp_agent_call *call, void *user),
                      void (*drained)(arcp_agent_call *call, void *user))
{
    arcp_agent agent = arcp_agent_init();
    arcp_error error = {0};
    agent.name = "talker";
    agent.kind = ARCP_AGENT_NON_BLOCKING;
    agent.run = begin;
    agent.drained = drained;
    check_ok(arcp_runtime_register(rig->runtime, &agent, &error), &error);
}

static int set_up(void **state)
{
    (void)state;
    t = (talker){.line = malloc(LINE_BYTES + 1)};
    assert_non_null(t.line);
    memset(t.line, 'x', LINE_BYTES);
    t.line[LINE_BYTES] = '\0';
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(t.line);
    return 0;
}

static void an_agent_that_was_refused_is_notified_when_there_is_room(void **state)
{
    static runtime_rig rig;
    (void)state;
    runtime_rig_start(&rig, NULL);
    add_agent(&rig, run, notified_of_room);
    runtime_rig_submit(&rig, "talker", "");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_int_equal(t.said, LINES);
    /* With the overhead of each line, this many are just over the limit. */
    assert_int_equal(t.said_at_first, WAITING_BYTES_MAX / LINE_BYTES);
    assert_true(t.refused >= 2);
    assert_int_equal(t.notified, t.refused);
    assert_string_equal(t.why,
                        "too many events of callback agents wait for the runtime; send again "
                        "when drained is called");
    runtime_rig_stop(&rig);
}

static void give_up(arcp_agent_call *call, void *user)
{
    arcp_status status = ARCP_OK;
    (void)user;
    while (status == ARCP_OK) {
        status = arcp_agent_log(call, "info", t.line, NULL);
    }
    assert_int_equal(status, ARCP_E_LIMIT);
    arcp_agent_fail(call, ARCP_E_INTERNAL_ERROR, "too slow", arcp_span_make(NULL, 0));
}

static void must_not_be_told(arcp_agent_call *call, void *user)
{
    (void)call;
    (void)user;
    fail_msg("an agent that has ended its job was told of room");
}

static void an_agent_that_gives_up_when_it_is_refused_is_not_notified(void **state)
{
    static runtime_rig rig;
    (void)state;
    runtime_rig_start(&rig, NULL);
    add_agent(&rig, give_up, must_not_be_told);
    runtime_rig_submit(&rig, "talker", "");
    assert_non_null(strstr(runtime_rig_wait(&rig, "\"job.error\""), "too slow"));
    runtime_rig_send(&rig, "session.ping", "{}"); /* runs a few further turns of the loop */
    (void)runtime_rig_wait(&rig, "\"session.pong\"");
    runtime_rig_stop(&rig);
}

/* ---- an agent with a thread of its own ---- */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t thread;
    unsigned notified, refused;
} own = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *talk(void *user)
{
    arcp_agent_call *call = user;
    for (unsigned said = 0; said < LINES;) {
        arcp_error error = {0};
        const arcp_status status = arcp_agent_log(call, "info", t.line, &error);
        if (status == ARCP_OK) {
            said++;
            continue;
        }
        assert_int_equal(status, ARCP_E_LIMIT);
        assert_int_equal(pthread_mutex_lock(&own.mutex), 0);
        own.refused++;
        while (own.notified < own.refused) {
            assert_int_equal(pthread_cond_wait(&own.changed, &own.mutex), 0);
        }
        assert_int_equal(pthread_mutex_unlock(&own.mutex), 0);
    }
    arcp_agent_succeed(call, ARCP_SPAN_LITERAL("1"));
    return NULL;
}

static void start_to_talk(arcp_agent_call *call, void *user)
{
    (void)user;
    assert_int_equal(pthread_create(&own.thread, NULL, talk, call), 0);
}

static void tell_thread(arcp_agent_call *call, void *user)
{
    (void)call;
    (void)user;
    assert_int_equal(pthread_mutex_lock(&own.mutex), 0);
    own.notified++;
    assert_int_equal(pthread_cond_signal(&own.changed), 0);
    assert_int_equal(pthread_mutex_unlock(&own.mutex), 0);
}

static void an_agent_on_a_thread_of_its_own_is_notified_after_each_refusal(void **state)
{
    static runtime_rig rig;
    (void)state;
    own.notified = own.refused = 0;
    runtime_rig_start(&rig, NULL);
    add_agent(&rig, start_to_talk, tell_thread);
    runtime_rig_submit(&rig, "talker", "");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_int_equal(pthread_join(own.thread, NULL), 0);
    assert_int_equal(own.notified, own.refused);
    runtime_rig_stop(&rig);
}

/* ---- other handles, and clients that do not read ---- */

static unsigned said_before, most_said; /* until the last turn of the loop; in a turn */

static void on_turn(uv_check_t *turn)
{
    (void)turn;
    most_said = t.said - said_before > most_said ? t.said - said_before : most_said;
    said_before = t.said;
}

static void other_handles_are_served_while_an_agent_sends_all_that_it_can(void **state)
{
    static runtime_rig rig;
    uv_check_t turn;
    (void)state;
    said_before = most_said = 0;
    runtime_rig_start(&rig, NULL);
    assert_int_equal(uv_check_init(&rig.loop, &turn), 0);
    assert_int_equal(uv_check_start(&turn, on_turn), 0);
    add_agent(&rig, run, notified_of_room);
    runtime_rig_submit(&rig, "talker", "");
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    /* It may write the lines that fit when it starts, and when it is notified. */
    assert_in_range(most_said, WAITING_BYTES_MAX / LINE_BYTES,
                    2 * (WAITING_BYTES_MAX / LINE_BYTES + 1));
    uv_close((uv_handle_t *)&turn, NULL);
    runtime_rig_stop(&rig);
}

/* Starts the agent for a client that reads nothing, until the agent is paused for that reason. */
static bool is_held_back(void *user)
{
    const runtime_rig *rig = user;
    arcp_buf text = arcp_buf_init();
    assert_int_equal(arcp_runtime_write_metrics(rig->runtime, &text), ARCP_OK);
    arcp_buf_append_byte(&text, '\0');
    const bool held = strstr(text.data, "\narcp_agent_pauses_total 1\n") != NULL;
    arcp_buf_fini(&text);
    return held && t.refused == t.notified + 1;
}

static void talk_to_nobody(runtime_rig *rig)
{
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.limits_unsent_bytes = 65536;
    settings.jobs_cancel_grace_ms = 0;
    runtime_rig_start(rig, &settings);
    add_agent(rig, run, notified_of_room);
    runtime_rig_submit(rig, "talker", "");
    (void)runtime_rig_wait(rig, "\"job.accepted\"");
    rig->client->ops->pause(rig->client);
    runtime_rig_until(rig, is_held_back, rig);
    assert_true(t.said < LINES);
    arcp_error error = {0};
    assert_int_equal(arcp_agent_log(t.call, "info", "x", &error), ARCP_E_LIMIT);
    assert_string_equal(error.message,
                        "the job is paused, because its owner does not read or the store's queue "
                        "is full; send again when drained is called");
}

static void an_agent_whose_client_did_not_read_is_notified_when_it_does(void **state)
{
    static runtime_rig rig;
    (void)state;
    talk_to_nobody(&rig);
    rig.client->ops->resume(rig.client);
    (void)runtime_rig_wait(&rig, "\"job.result\"");
    assert_int_equal(t.said, LINES);
    assert_int_equal(t.notified, t.refused);
    runtime_rig_stop(&rig);
}

static bool knows_that_it_is_over(void *user)
{
    (void)user;
    return t.is_over;
}

static void an_agent_that_was_refused_is_notified_when_its_job_has_ended(void **state)
{
    static runtime_rig rig;
    (void)state;
    talk_to_nobody(&rig);
    runtime_rig_cancel(&rig);
    runtime_rig_until(&rig, knows_that_it_is_over, NULL);
    rig.client->ops->resume(rig.client);
    (void)runtime_rig_wait(&rig, "\"job.error\"");
    runtime_rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_agent_that_was_refused_is_notified_when_there_is_room,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_agent_that_gives_up_when_it_is_refused_is_not_notified,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            an_agent_on_a_thread_of_its_own_is_notified_after_each_refusal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            other_handles_are_served_while_an_agent_sends_all_that_it_can, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_agent_whose_client_did_not_read_is_notified_when_it_does,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            an_agent_that_was_refused_is_notified_when_its_job_has_ended, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
