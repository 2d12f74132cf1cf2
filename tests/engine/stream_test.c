/* The newest records of a stream in memory while a batch still borrows them. */
#include "engine/scene.h"

#include "support/check.h"

/* A batch with a session's refusal is on its way to the store when the session ends. */
static void bytes_that_a_batch_borrows_outlive_their_session(void **state)
{
    (void)state;
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.session_resume_window_sec = 5;
    scene *s = scene_begin(&settings);
    rig_send(&s->rig, s->client, HELLO_PLAIN);
    s->disk.is_held = true;
    rig_send(&s->rig, s->client, FRAME("a", "job.submit", "{\"agent\":\"nobody\"}"));
    rig_drop(&s->rig, s->client);
    rig_clock(&s->rig, 60 * ARCP_NS_PER_SEC);
    arcp__engine_stats stats;
    arcp__engine_get_stats(s->rig.engine, &stats);
    assert_int_equal(stats.sessions, 0);
    assert_true(stats.tail_bytes != 0); /* what the batch borrows */
    s->disk.is_held = false;
    rig_run(&s->rig);
    arcp__engine_get_stats(s->rig.engine, &stats);
    assert_int_equal(stats.store_queue_bytes, 0);
    assert_int_equal(stats.tail_bytes, 0);
    scene_end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_that_a_batch_borrows_outlive_their_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
