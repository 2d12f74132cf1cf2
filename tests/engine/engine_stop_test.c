/* A runtime that stops: the last records of jobs are sent before links are closed. */
#include "engine/scene.h"

#include "support/check.h"

#define LINE_BYTES 40000u
#define LINES      4u /* more than a link accepts while its peer does not read */

/* A running job; its client was sent its start. */
static scene *begin(void)
{
    scene *s = scene_begin(NULL);
    rig_send(&s->rig, s->client, HELLO_PLAIN);
    rig_send(&s->rig, s->client, FRAME("s", "job.submit", "{\"agent\":\"echo\"}"));
    assert_non_null(rig_agent_last(&s->rig));
    return s;
}

/* Of the one job. */
static rig_agent *agent_of(scene *s)
{
    return &s->rig.agents[0];
}

static void shut_down(scene *s)
{
    arcp__engine_shutdown(s->rig.engine, s->rig.now, false);
    rig_run(&s->rig);
}

static void finish_job(scene *s)
{
    rig_agent_writes(&s->rig, agent_of(s), "{\"type\":\"job.result\",\"payload\":{}}");
    rig_agent_exits(&s->rig, agent_of(s), false, 0);
}

static void the_end_of_the_last_job_comes_before_the_link_is_closed(void **state)
{
    scene *s = begin();
    (void)state;
    shut_down(s);
    assert_non_null(s->client->link);
    s->disk.is_held = true;
    finish_job(s);
    assert_non_null(s->client->link); /* its end is not durable yet, so it is not sent */
    assert_false(scene_takes(s, "\"job.result\""));
    s->disk.is_held = false;
    rig_run(&s->rig);
    assert_true(scene_takes(s, "\"job.result\""));
    assert_null(s->client->link);
    assert_int_equal(s->client->close_code, 1001);
    assert_true(arcp__engine_is_finished(s->rig.engine));
    scene_end(s);
}

static void the_end_of_a_job_after_the_grace_is_sent(void **state)
{
    scene *s = begin();
    (void)state;
    shut_down(s);
    rig_clock(&s->rig, s->rig.settings.shutdown_grace_sec * ARCP_NS_PER_SEC);
    assert_true(scene_takes(s, "\"job.error\""));
    assert_null(s->client->link);
    scene_end(s);
}

/* The client does not read, and there is more than its link accepts. */
static void say_too_much(scene *s)
{
    static char line[LINE_BYTES + 1];
    memset(line, 'x', LINE_BYTES);
    assert_false(scene_takes(s, "nothing"));
    s->client->slow = true;
    for (unsigned i = 0; i < LINES; i++) {
        rig_agent_writes(&s->rig, agent_of(s), line);
    }
}

/* All jobs have ended, and the client has not read everything. */
static scene *begin_unread(void)
{
    scene *s = begin();
    say_too_much(s);
    shut_down(s);
    finish_job(s);
    return s;
}

static void a_client_that_does_not_read_is_waited_for_five_seconds(void **state)
{
    scene *s = begin_unread();
    (void)state;
    rig_clock(&s->rig, 5 * ARCP_NS_PER_SEC - 1);
    assert_non_null(s->client->link);
    rig_clock(&s->rig, 1);
    assert_null(s->client->link);
    assert_false(scene_takes(s, "\"job.result\""));
    scene_end(s);
}

static void a_client_that_reads_late_gets_everything(void **state)
{
    scene *s = begin_unread();
    (void)state;
    rig_clock(&s->rig, 4 * ARCP_NS_PER_SEC);
    assert_true(scene_takes(s, "\"job.result\""));
    assert_null(s->client->link);
    scene_end(s);
}

static void a_second_stop_waits_for_no_client(void **state)
{
    scene *s = begin();
    (void)state;
    say_too_much(s);
    shut_down(s);
    assert_non_null(s->client->link);
    shut_down(s); /* the job is ended, and its agent cancelled */
    assert_true(agent_of(s)->killed);
    assert_non_null(s->client->link);
    shut_down(s); /* the link is closed */
    assert_null(s->client->link);
    rig_agent_exits(&s->rig, agent_of(s), true, 15);
    assert_true(arcp__engine_is_finished(s->rig.engine));
    scene_end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_the_last_job_comes_before_the_link_is_closed),
        cmocka_unit_test(the_end_of_a_job_after_the_grace_is_sent),
        cmocka_unit_test(a_client_that_does_not_read_is_waited_for_five_seconds),
        cmocka_unit_test(a_client_that_reads_late_gets_everything),
        cmocka_unit_test(a_second_stop_waits_for_no_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
