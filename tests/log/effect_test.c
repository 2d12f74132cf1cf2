/* Effects: when they are handed out, and to which port. */
#include "support/check.h"

#include "log/log.h"

typedef struct rig {
    arcp__context context;
    arcp__log *log;
    arcp__port port;
} rig;

static void start(rig *r)
{
    *r = (rig){.context = {.now = {.mono_ns = 5}}, .port = {.user = r}};
    r->log = arcp__log_new(&r->context, &(arcp__log_options){.keeps_rows = true});
    assert_non_null(r->log);
}

static void stop(rig *r)
{
    arcp__log_free(r->log);
    for (size_t i = 0; i < r->context.pooled_count; i++) {
        arcp_buf_fini(&r->context.pooled[i]);
    }
}

static void send(rig *r, const char *text, bool durable)
{
    arcp_buf frame = arcp_buf_init();
    arcp_buf_append_cstr(&frame, text);
    arcp__port_send(r->log, &r->port, &frame, durable);
}

/* The text of the next effect, which lives until the next call; NULL: none. */
static const char *next(rig *r)
{
    static char text[64];
    arcp__effect effect;
    arcp__effect_recycle(r->log);
    if (!arcp__effect_next(r->log, &effect)) {
        return NULL;
    }
    assert_true(effect.text.size < sizeof text);
    memcpy(text, effect.text.data, effect.text.size);
    text[effect.text.size] = '\0';
    assert_ptr_equal(effect.link_user, r);
    return text;
}

static void commit(rig *r)
{
    const arcp_store_batch *batch = arcp__log_take(r->log);
    assert_non_null(batch);
    assert_int_equal(arcp__log_committed(r->log, batch->id, ARCP_OK), ARCP__COMMIT_DONE);
}

static void an_effect_waits_for_the_batch_that_was_open_when_it_was_queued(void **state)
{
    (void)state;
    rig r;
    start(&r);
    send(&r, "nothing to wait for", true);
    assert_string_equal(next(&r), "nothing to wait for");
    arcp__batch_touch(r.log);
    send(&r, "shows a change", true);
    send(&r, "shows none", false);
    assert_string_equal(next(&r), "shows none");
    assert_null(next(&r));
    commit(&r);
    assert_string_equal(next(&r), "shows a change");
    assert_null(next(&r));
    stop(&r);
}

static void a_port_counts_the_frames_that_wait_and_those_that_were_handed_out(void **state)
{
    (void)state;
    rig r;
    start(&r);
    send(&r, "12345", false);
    send(&r, "123", false);
    assert_int_equal(r.port.queued, 8);
    assert_int_equal(r.port.unsent, 0);
    assert_string_equal(next(&r), "12345");
    assert_int_equal(r.port.queued, 3);
    assert_int_equal(r.port.unsent, 5);
    assert_int_equal(r.port.last_sent_ns, 5);
    stop(&r);
}

static void nothing_is_sent_after_a_close(void **state)
{
    (void)state;
    rig r;
    start(&r);
    send(&r, "before", false);
    arcp__port_close(r.log, &r.port, 1000, "bye", false);
    send(&r, "behind", false);
    assert_string_equal(next(&r), "before");
    assert_string_equal(next(&r), "bye");
    assert_null(next(&r));
    assert_int_equal(r.port.queued, 0);
    stop(&r);
}

static void effects_of_a_closed_port_are_never_handed_out(void **state)
{
    (void)state;
    rig r;
    start(&r);
    arcp__batch_touch(r.log);
    send(&r, "ready", false);
    send(&r, "waiting", true);
    arcp__port_drop(r.log, &r.port);
    assert_null(r.port.waiting);
    assert_int_equal(r.port.queued, 0);
    send(&r, "of one that came later", false);
    commit(&r);
    assert_string_equal(next(&r), "of one that came later");
    assert_null(next(&r));
    stop(&r);
}

static bool is_a_kill(const arcp__effect *effect)
{
    return effect->kind == ARCP__EFFECT_KILL_AGENT;
}

static void effects_that_need_no_store_overtake_those_that_do(void **state)
{
    (void)state;
    rig r;
    arcp__effect effect;
    start(&r);
    arcp__batch_touch(r.log);
    send(&r, "waiting", true);
    arcp__effect_push(r.log, &r.port, &(arcp__effect){.kind = ARCP__EFFECT_KILL_AGENT}, NULL, true);
    assert_null(next(&r));
    arcp__effect_release(r.log, is_a_kill);
    assert_true(arcp__effect_next(r.log, &effect));
    assert_int_equal(effect.kind, ARCP__EFFECT_KILL_AGENT);
    assert_null(next(&r));
    commit(&r);
    assert_string_equal(next(&r), "waiting");
    stop(&r);
}

static void a_log_line_waits_for_nothing(void **state)
{
    (void)state;
    rig r;
    arcp__effect effect;
    start(&r);
    arcp__batch_touch(r.log);
    arcp__effect_log(r.log, ARCP__LOG_WARN, "line %d", 1);
    assert_true(arcp__effect_is_ready(r.log));
    assert_true(arcp__effect_next_line(r.log, &effect));
    assert_int_equal(effect.level, ARCP__LOG_WARN);
    assert_true(arcp_span_equal_cstr(effect.text, "line 1"));
    assert_false(arcp__effect_next_line(r.log, &effect));
    stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_effect_waits_for_the_batch_that_was_open_when_it_was_queued),
        cmocka_unit_test(a_port_counts_the_frames_that_wait_and_those_that_were_handed_out),
        cmocka_unit_test(nothing_is_sent_after_a_close),
        cmocka_unit_test(effects_of_a_closed_port_are_never_handed_out),
        cmocka_unit_test(effects_that_need_no_store_overtake_those_that_do),
        cmocka_unit_test(a_log_line_waits_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
