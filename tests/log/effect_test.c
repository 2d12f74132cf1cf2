/* Effects: when they are handed out, and to which port. */
#include "support/check.h"

#include "log/log.h"

typedef struct rig {
    arcp__context context;
    arcp__log *log;
    arcp__port port;
} rig;

static void start(rig *self)
{
    *self = (rig){.context = {.now = {.mono_ns = 5}}, .port = {.user = self}};
    self->log = arcp__log_new(&self->context, &(arcp__log_options){.keeps_rows = true});
    assert_non_null(self->log);
}

static void stop(rig *self)
{
    arcp__log_free(self->log);
    for (size_t i = 0; i < self->context.pooled_count; i++) {
        arcp_buf_fini(&self->context.pooled[i]);
    }
}

static void send(rig *self, const char *text, bool durable)
{
    arcp_buf frame = arcp_buf_init();
    arcp_buf_append_cstr(&frame, text);
    arcp__port_send(self->log, &self->port, &frame, durable);
}

/* The text of the next effect, which lives until the next call; NULL: none. */
static const char *next(rig *self)
{
    static char text[64];
    arcp__effect effect;
    arcp__effect_recycle(self->log);
    if (!arcp__effect_next(self->log, &effect)) {
        return NULL;
    }
    assert_true(effect.text.size < sizeof text);
    memcpy(text, effect.text.data, effect.text.size);
    text[effect.text.size] = '\0';
    assert_ptr_equal(effect.link_user, self);
    return text;
}

static void commit(rig *self)
{
    const arcp_store_batch *batch = arcp__log_take(self->log);
    assert_non_null(batch);
    assert_int_equal(arcp__log_committed(self->log, batch->id, ARCP_OK), ARCP__COMMIT_DONE);
}

static void an_effect_waits_for_the_batch_that_was_open_when_it_was_queued(void **state)
{
    (void)state;
    rig self;
    start(&self);
    send(&self, "nothing to wait for", true);
    assert_string_equal(next(&self), "nothing to wait for");
    arcp__batch_touch(self.log);
    send(&self, "shows a change", true);
    send(&self, "shows none", false);
    assert_string_equal(next(&self), "shows none");
    assert_null(next(&self));
    commit(&self);
    assert_string_equal(next(&self), "shows a change");
    assert_null(next(&self));
    stop(&self);
}

static void a_port_counts_the_frames_that_wait_and_those_that_were_handed_out(void **state)
{
    (void)state;
    rig self;
    start(&self);
    send(&self, "12345", false);
    send(&self, "123", false);
    assert_int_equal(self.port.queued, 8);
    assert_int_equal(self.port.unsent, 0);
    assert_string_equal(next(&self), "12345");
    assert_int_equal(self.port.queued, 3);
    assert_int_equal(self.port.unsent, 5);
    assert_int_equal(self.port.last_sent_ns, 5);
    stop(&self);
}

static void nothing_is_sent_after_a_close(void **state)
{
    (void)state;
    rig self;
    start(&self);
    send(&self, "before", false);
    arcp__port_close(self.log, &self.port, 1000, "bye", false);
    send(&self, "behind", false);
    assert_string_equal(next(&self), "before");
    assert_string_equal(next(&self), "bye");
    assert_null(next(&self));
    assert_int_equal(self.port.queued, 0);
    stop(&self);
}

static void effects_of_a_closed_port_are_never_handed_out(void **state)
{
    (void)state;
    rig self;
    start(&self);
    arcp__batch_touch(self.log);
    send(&self, "ready", false);
    send(&self, "waiting", true);
    arcp__port_drop(self.log, &self.port);
    assert_null(self.port.waiting);
    assert_int_equal(self.port.queued, 0);
    send(&self, "of one that came later", false);
    commit(&self);
    assert_string_equal(next(&self), "of one that came later");
    assert_null(next(&self));
    stop(&self);
}

static bool is_a_kill(const arcp__effect *effect)
{
    return effect->kind == ARCP__EFFECT_KILL_AGENT;
}

static void effects_that_need_no_store_overtake_those_that_do(void **state)
{
    (void)state;
    rig self;
    arcp__effect effect;
    start(&self);
    arcp__batch_touch(self.log);
    send(&self, "waiting", true);
    arcp__effect_push(self.log, &self.port, &(arcp__effect){.kind = ARCP__EFFECT_KILL_AGENT}, NULL,
                      true);
    assert_null(next(&self));
    arcp__effect_release(self.log, is_a_kill);
    assert_true(arcp__effect_next(self.log, &effect));
    assert_int_equal(effect.kind, ARCP__EFFECT_KILL_AGENT);
    assert_null(next(&self));
    commit(&self);
    assert_string_equal(next(&self), "waiting");
    stop(&self);
}

static void a_log_line_waits_for_nothing(void **state)
{
    (void)state;
    rig self;
    arcp__effect effect;
    start(&self);
    arcp__batch_touch(self.log);
    arcp__effect_log(self.log, ARCP__LOG_WARN, "line %d", 1);
    assert_true(arcp__effect_is_ready(self.log));
    assert_true(arcp__effect_next_line(self.log, &effect));
    assert_int_equal(effect.level, ARCP__LOG_WARN);
    assert_true(arcp_span_equal_cstr(effect.text, "line 1"));
    assert_false(arcp__effect_next_line(self.log, &effect));
    stop(&self);
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
