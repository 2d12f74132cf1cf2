/* A runtime that stops: the last records of jobs are sent before links are closed. */
#include "engine/scene.h"

#include "support/check.h"

#define LINE_BYTES 40000u
#define LINES      4u /* more than a link accepts while its peer does not read */

/* A running job of a client that was sent its start. */
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
    rig_agent_writes(&self->rig, agent_of(self), "{\"type\":\"job.result\",\"payload\":{}}");
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
    assert_non_null(self->client->link); /* its end is not durable yet, so it is not sent */
    assert_false(scene_takes(self, "\"job.result\""));
    self->disk.is_held = false;
    rig_run(&self->rig);
    assert_true(scene_takes(self, "\"job.result\""));
    assert_null(self->client->link);
    assert_int_equal(self->client->close_code, 1001);
    assert_true(arcp__engine_is_finished(self->rig.engine));
    scene_end(self);
}

static void the_end_of_a_job_after_the_grace_is_sent(void **state)
{
    scene *self = begin();
    (void)state;
    shut_down(self);
    rig_clock(&self->rig, self->rig.settings.shutdown_grace_sec * ARCP_NS_PER_SEC);
    assert_true(scene_takes(self, "\"job.error\""));
    assert_null(self->client->link);
    scene_end(self);
}

/* The client does not read, and there is more than its link accepts. */
static void say_too_much(scene *self)
{
    static char line[LINE_BYTES + 1];
    memset(line, 'x', LINE_BYTES);
    assert_false(scene_takes(self, "nothing"));
    self->client->slow = true;
    for (unsigned i = 0; i < LINES; i++) {
        rig_agent_writes(&self->rig, agent_of(self), line);
    }
}

/* All jobs have ended, and the client has not read everything. */
static scene *begin_unread(void)
{
    scene *self = begin();
    say_too_much(self);
    shut_down(self);
    finish_job(self);
    return self;
}

static void a_client_that_does_not_read_is_waited_for_five_seconds(void **state)
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

static void a_client_that_reads_late_gets_everything(void **state)
{
    scene *self = begin_unread();
    (void)state;
    rig_clock(&self->rig, 4 * ARCP_NS_PER_SEC);
    assert_true(scene_takes(self, "\"job.result\""));
    assert_null(self->client->link);
    scene_end(self);
}

static void a_second_stop_waits_for_no_client(void **state)
{
    scene *self = begin();
    (void)state;
    say_too_much(self);
    shut_down(self);
    assert_non_null(self->client->link);
    shut_down(self); /* the job is ended, and its agent cancelled */
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
        cmocka_unit_test(the_end_of_a_job_after_the_grace_is_sent),
        cmocka_unit_test(a_client_that_does_not_read_is_waited_for_five_seconds),
        cmocka_unit_test(a_client_that_reads_late_gets_everything),
        cmocka_unit_test(a_second_stop_waits_for_no_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
