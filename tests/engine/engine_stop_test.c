/* A runtime that stops: what the last jobs said is sent before links are closed. */
#include "engine/scene.h"

#include "support/check.h"

#define LINE_BYTES 40000u
#define LINES      4u /* more than a link takes that is not read */

/* A job that runs, for a client that is told so. */
static scene *begin(void)
{
    scene *self = scene_begin(NULL);
    rig_send(&self->rig, self->client, HELLO_PLAIN);
    rig_send(&self->rig, self->client, FRAME("s", "job.submit", "{\"agent\":\"echo\"}"));
    assert_non_null(rig_agent_last(&self->rig));
    return self;
}

/* Of the one job. */
static rig_agent *agent_of(scene *self)
{
    return &self->rig.agents[0];
}

static void shut_down(scene *self)
{
    arcp__engine_shutdown(self->rig.engine, self->rig.now);
    rig_run(&self->rig);
}

static void finish_job(scene *self)
{
    rig_agent_says(&self->rig, agent_of(self), "{\"type\":\"job.result\",\"payload\":{}}");
    rig_agent_exits(&self->rig, agent_of(self), false, 0);
}

static void the_end_of_the_last_job_comes_before_the_link_is_closed(void **state)
{
    scene *self = begin();
    (void)state;
    shut_down(self);
    assert_non_null(self->client->link);
    self->disk.is_held = true;
    finish_job(self);
    assert_non_null(self->client->link); /* its end is not durable yet, and shown to nobody */
    assert_false(scene_takes(self, "\"job.result\""));
    self->disk.is_held = false;
    rig_run(&self->rig);
    assert_true(scene_takes(self, "\"job.result\""));
    assert_null(self->client->link);
    assert_int_equal(self->client->close_code, 1001);
    assert_true(arcp__engine_is_finished(self->rig.engine));
    scene_end(self);
}

static void a_job_that_is_ended_when_the_grace_is_over_is_told_of(void **state)
{
    scene *self = begin();
    (void)state;
    shut_down(self);
    rig_clock(&self->rig, self->rig.settings.shutdown_grace_sec * ARCP_NS_PER_SEC);
    assert_true(scene_takes(self, "\"job.error\""));
    assert_null(self->client->link);
    scene_end(self);
}

/* The client reads nothing of what is too much for its link. */
static void say_too_much(scene *self)
{
    static char line[LINE_BYTES + 1];
    memset(line, 'x', LINE_BYTES);
    assert_false(scene_takes(self, "nothing"));
    self->client->slow = true;
    for (unsigned at = 0; at < LINES; at++) {
        rig_agent_says(&self->rig, agent_of(self), line);
    }
}

/* All jobs are over, and the client has not read all. */
static scene *begin_unread(void)
{
    scene *self = begin();
    say_too_much(self);
    shut_down(self);
    finish_job(self);
    return self;
}

static void who_does_not_read_is_waited_for_five_seconds(void **state)
{
    scene *self = begin_unread();
    (void)state;
    rig_clock(&self->rig, 5 * ARCP_NS_PER_SEC - 1);
    assert_non_null(self->client->link);
    rig_clock(&self->rig, 1);
    assert_null(self->client->link);
    assert_false(scene_takes(self, "\"job.result\""));
    scene_end(self);
}

static void who_reads_late_gets_it_all(void **state)
{
    scene *self = begin_unread();
    (void)state;
    rig_clock(&self->rig, 4 * ARCP_NS_PER_SEC);
    assert_true(scene_takes(self, "\"job.result\""));
    assert_null(self->client->link);
    scene_end(self);
}

static void asked_again_it_waits_for_nobody(void **state)
{
    scene *self = begin();
    (void)state;
    say_too_much(self);
    shut_down(self);
    assert_non_null(self->client->link);
    shut_down(self); /* the job is ended, and its agent told */
    assert_true(agent_of(self)->killed);
    assert_non_null(self->client->link);
    shut_down(self); /* the link is closed */
    assert_null(self->client->link);
    rig_agent_exits(&self->rig, agent_of(self), true, 15);
    assert_true(arcp__engine_is_finished(self->rig.engine));
    scene_end(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_the_last_job_comes_before_the_link_is_closed),
        cmocka_unit_test(a_job_that_is_ended_when_the_grace_is_over_is_told_of),
        cmocka_unit_test(who_does_not_read_is_waited_for_five_seconds),
        cmocka_unit_test(who_reads_late_gets_it_all),
        cmocka_unit_test(asked_again_it_waits_for_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
