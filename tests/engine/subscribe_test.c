/* What a subscription waits for. */
#include "engine/scene.h"

#include "support/check.h"

#include "base/alloc.h"

/* What the client's next frame with the word has after the mark, up to a quotation mark. */
static void await_text(scene *s, const char *word, const char *mark, char out[40])
{
    char *frame = rig_read(&s->rig, s->client);
    while (frame != NULL && strstr(frame, word) == NULL) {
        arcp__free(frame);
        frame = rig_read(&s->rig, s->client);
    }
    assert_non_null(frame);
    const char *found = strstr(frame, mark);
    assert_non_null(found);
    assert_int_equal(sscanf(found + strlen(mark), "%39[^\"]", out), 1);
    arcp__free(frame);
}

/* A response waits for the commit that follows the audit line of its request, so that `kill -9`
 * between the two leaves no response without a line. This is so, too, when the session already
 * observes the job and nothing about it changes. */
static void no_subscription_is_answered_before_a_commit(void **state)
{
    (void)state;
    char request[160];
    char job[40];
    scene *s = scene_begin(NULL);
    engine_rig *rig = &s->rig;
    rig_send(rig, s->client, HELLO_WITH("\"subscribe\""));
    rig_send(rig, s->client, FRAME("s", "job.submit", "{\"agent\":\"echo\"}"));
    await_text(s, "job.accepted", "\"job_id\":\"", job);
    for (int again = 0; again < 3; again++) {
        (void)snprintf(request, sizeof request,
                       "{\"arcp\":\"1.1\",\"id\":\"subscribe-%d\",\"type\":\"job.subscribe\","
                       "\"payload\":{\"job_id\":\"%s\"}}",
                       again, job);
        rig->hold_store = true;
        rig_send(rig, s->client, request);
        assert_int_equal(scene_takes(s, "job.subscribed"), 0);
        rig->hold_store = false;
        rig_run(rig);
        assert_int_equal(scene_takes(s, "job.subscribed"), 1);
    }
    scene_end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_subscription_is_answered_before_a_commit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
