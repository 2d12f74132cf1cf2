/* A runtime that stops: what the last jobs said is sent before links are closed. */
#include "engine/disk.h"
#include "story/engine_rig.h"

#include "support/check.h"

#include "base/alloc.h"

#define FRAME(id, type, payload)                                                                   \
    "{\"arcp\":\"1.1\",\"id\":\"" id "\",\"type\":\"" type "\",\"payload\":" payload "}"
#define HELLO                                                                                      \
    FRAME("h", "session.hello",                                                                    \
          "{\"auth\":{\"scheme\":\"bearer\",\"token\":\"t-alice\"},\"capabilities\":{"             \
          "\"encodings\":[\"json\"],\"features\":[]}}")
#define LINE_BYTES 40000u
#define LINES      4u /* more than a link takes that is not read */

typedef struct scene {
    engine_rig rig;
    disk disk;
    rig_client *client;
    rig_agent *agent;
} scene;

/* A job that runs, for a client that is told so. */
static scene *begin(void)
{
    scene *self = arcp__alloc(sizeof(*self));
    assert_non_null(self);
    disk_init(&self->disk);
    rig_begin(&self->rig, NULL);
    self->rig.store = &self->disk.store;
    rig_open(&self->rig);
    self->client = rig_connect(&self->rig, "a1");
    rig_send(&self->rig, self->client, HELLO);
    rig_send(&self->rig, self->client, FRAME("s", "job.submit", "{\"agent\":\"echo\"}"));
    self->agent = rig_agent_last(&self->rig);
    assert_non_null(self->agent);
    return self;
}

static void end(scene *self)
{
    rig_stop(&self->rig);
    arcp__free(self);
}

static void shut_down(scene *self)
{
    arcp__engine_shutdown(self->rig.engine, self->rig.now);
    rig_run(&self->rig);
}

static void finish_job(scene *self)
{
    rig_agent_says(&self->rig, self->agent, "{\"type\":\"job.result\",\"payload\":{}}");
    rig_agent_exits(&self->rig, self->agent, false, 0);
}

/* Whether a frame with the word is among those that came, which are taken. */
static bool takes(scene *self, const char *word)
{
    bool found = false;
    for (char *frame = rig_read(&self->rig, self->client); frame != NULL;
         frame = rig_read(&self->rig, self->client)) {
        found = found || strstr(frame, word) != NULL;
        arcp__free(frame);
    }
    return found;
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
    assert_false(takes(self, "\"job.result\""));
    self->disk.is_held = false;
    rig_run(&self->rig);
    assert_true(takes(self, "\"job.result\""));
    assert_null(self->client->link);
    assert_int_equal(self->client->close_code, 1001);
    assert_true(arcp__engine_is_finished(self->rig.engine));
    end(self);
}

static void a_job_that_is_ended_when_the_grace_is_over_is_told_of(void **state)
{
    scene *self = begin();
    (void)state;
    shut_down(self);
    rig_clock(&self->rig, self->rig.settings.shutdown_grace_sec * ARCP_NS_PER_SEC);
    assert_true(takes(self, "\"job.error\""));
    assert_null(self->client->link);
    end(self);
}

/* The client reads nothing of what is too much for its link. */
static void say_too_much(scene *self)
{
    static char line[LINE_BYTES + 1];
    memset(line, 'x', LINE_BYTES);
    assert_false(takes(self, "nothing"));
    self->client->slow = true;
    for (unsigned at = 0; at < LINES; at++) {
        rig_agent_says(&self->rig, self->agent, line);
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
    assert_false(takes(self, "\"job.result\""));
    end(self);
}

static void who_reads_late_gets_it_all(void **state)
{
    scene *self = begin_unread();
    (void)state;
    rig_clock(&self->rig, 4 * ARCP_NS_PER_SEC);
    assert_true(takes(self, "\"job.result\""));
    assert_null(self->client->link);
    end(self);
}

static void asked_again_it_waits_for_nobody(void **state)
{
    scene *self = begin();
    (void)state;
    say_too_much(self);
    shut_down(self);
    assert_non_null(self->client->link);
    shut_down(self); /* the job is ended, and its agent told */
    assert_true(self->agent->killed);
    assert_non_null(self->client->link);
    shut_down(self); /* the link is closed */
    assert_null(self->client->link);
    rig_agent_exits(&self->rig, self->agent, true, 15);
    assert_true(arcp__engine_is_finished(self->rig.engine));
    end(self);
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
