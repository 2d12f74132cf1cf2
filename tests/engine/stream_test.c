/* The newest records of a stream in memory when something is in the way. */
#include "engine/scene.h"

#include "support/check.h"
#include "support/failing_alloc.h"

static void say(scene *self, const char *frame)
{
    if (self->client->link != NULL) {
        rig_send(&self->rig, self->client, frame);
    }
}

/* A refusal of it is one record of its session, and fills what is kept of that in memory. */
static void ask_at_length(scene *self, char letter)
{
    char id[121] = {0};
    char frame[512];
    memset(id, letter, sizeof(id) - 1);
    (void)snprintf(frame, sizeof(frame), FRAME("%s", "job.submit", "{\"agent\":\"nobody\"}"), id);
    say(self, frame);
}

/* The n-th allocation for the second refusal fails, while the batch with the first is on its way to
 * the store; then the session goes. False when there was no n-th allocation. */
static bool lose_session(size_t nth)
{
    arcp_settings settings;
    arcp_settings_default(&settings);
    settings.session_resume_window_sec = 5;
    scene *self = scene_begin(&settings);
    say(self, HELLO_PLAIN);
    self->disk.is_held = true;
    ask_at_length(self, 'a');
    failing_alloc_arm(nth, FAILING_ALLOC_ONE);
    ask_at_length(self, 'b');
    bool failed = failing_alloc_disarm();
    rig_drop(&self->rig, self->client);
    rig_clock(&self->rig, 60 * ARCP_NS_PER_SEC);
    arcp__engine_stats stats;
    arcp__engine_get_stats(self->rig.engine, &stats);
    assert_int_equal(stats.sessions, 0);
    assert_true(stats.tail_bytes != 0); /* what the batch borrows */
    self->disk.is_held = false;
    rig_run(&self->rig);
    arcp__engine_get_stats(self->rig.engine, &stats);
    assert_int_equal(stats.store_queue_bytes, 0);
    assert_int_equal(stats.tail_bytes, 0);
    scene_end(self);
    return failed;
}

static void what_a_batch_borrows_stays_also_when_more_had_no_room(void **state)
{
    (void)state;
    size_t nth = 1;
    while (lose_session(nth)) {
        nth++;
    }
    assert_true(nth > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_batch_borrows_stays_also_when_more_had_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
