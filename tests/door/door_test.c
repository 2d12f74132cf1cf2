/* Links on their way from the door to a shard, both engines without a runtime. */
#include "support/check.h"

#include "door/door.h"

#define SEC_NS INT64_C(1000000000)

typedef struct rig {
    arcp__engine *door, *shard;
    arcp_time now;
    arcp__link *link; /* at the door */
    uint64_t auth_id;
    char token[64];  /* that the door asked about */
    char log[65536]; /* texts and fields of LOG effects */
} rig;

static void draw(void *user, void *out, size_t size)
{
    static uint64_t last = 1;
    unsigned char *bytes = out;
    (void)user;
    for (size_t i = 0; i < size; i++) {
        last = last * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        bytes[i] = (unsigned char)(last >> 56);
    }
}

static void start(rig *r)
{
    arcp_error error = {0};
    *r = (rig){.now = {.wall_ns = INT64_C(1800000000) * SEC_NS, .mono_ns = SEC_NS}};
    arcp__engine_options options = {
        .runtime_name = "r", .runtime_version = "1", .random = draw, .now = r->now};
    arcp__settings_default(&options.settings);
    options.settings.limits_hello_timeout_sec = 10;
    check_ok(arcp__door_new(&options, &r->door, &error), &error);
    options.is_one_of_many = true;
    check_ok(arcp__engine_new(&options, &r->shard, &error), &error);
    arcp__engine_restore_done(r->shard, r->now);
}

static void stop(rig *r)
{
    arcp__engine_free(r->door);
    arcp__engine_free(r->shard);
}

static void append_log(rig *r, arcp_span text)
{
    const size_t used = strlen(r->log);
    (void)snprintf(r->log + used, sizeof r->log - used, "%.*s\n", (int)text.size,
                   text.size == 0 ? "" : text.data);
}

/* Commits what there is, and takes the effects; returns the kind of the last one for a link, or -1.
 */
static int run(rig *r, arcp__engine *engine)
{
    arcp__effect effect;
    int last = -1;
    arcp__engine_tick(engine, r->now);
    for (const arcp_store_batch *batch = arcp__engine_take_batch(engine); batch != NULL;
         batch = arcp__engine_take_batch(engine)) {
        arcp__engine_committed(engine, r->now, batch->id, ARCP_OK);
    }
    while (arcp__engine_next_effect(engine, r->now, &effect)) {
        if (effect.kind == ARCP__EFFECT_AUTHENTICATE) {
            r->auth_id = effect.id;
            (void)snprintf(r->token, sizeof r->token, "%.*s", (int)effect.text.size,
                           effect.text.data);
        } else if (effect.kind == ARCP__EFFECT_LOG) {
            append_log(r, effect.text);
            append_log(r, effect.fields);
            continue;
        }
        last = (int)effect.kind;
    }
    return last;
}

static void say_hello(rig *r, const char *token)
{
    char frame[400];
    const arcp__link_options options = {.user = r, .is_local = true, .peer = "here:1"};
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{"
                   "\"client\":{\"name\":\"t\",\"version\":\"1\"},"
                   "\"auth\":{\"scheme\":\"bearer\",\"token\":\"%s\"}}}",
                   token);
    r->link = arcp__engine_connect(r->door, r->now, &options);
    assert_non_null(r->link);
    assert_true(arcp__engine_receive(r->door, r->now, r->link, arcp_span_cstr(frame)));
    assert_int_equal(run(r, r->door), ARCP__EFFECT_AUTHENTICATE);
}

static void hand_over(rig *r, arcp__handover *out)
{
    assert_true(arcp__engine_hand_over(r->door, r->now, r->auth_id, out));
    assert_ptr_equal(out->link, r->link);
    assert_ptr_equal(out->user, r);
}

static arcp__link *pass(rig *r, const arcp__handover *what)
{
    const arcp__authentication by = {.principal = ARCP_SPAN_LITERAL("alice")};
    arcp__link *fresh = NULL;
    (void)arcp__door_pass(r->door, r->shard, r->now, what, &by, &fresh);
    assert_non_null(fresh);
    return fresh;
}

static bool contains(arcp_span text, const char *word)
{
    return memmem(text.data, text.size, word, strlen(word)) != NULL;
}

static void the_token_goes_no_further_than_the_door(void **state)
{
    static const char *const tokens[] = {"secret", "\\u0073ecret", ""};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        rig r;
        arcp__handover what;
        start(&r);
        say_hello(&r, tokens[i]);
        assert_string_equal(r.token, i == 2 ? "" : "secret");
        hand_over(&r, &what);
        assert_false(contains(what.hello, "ecret"));
        arcp__link *fresh = pass(&r, &what);
        (void)run(&r, r.shard);
        arcp__engine_stats figures;
        arcp__engine_get_stats(r.shard, &figures);
        assert_int_equal(figures.sessions_connected, 1);
        arcp__engine_disconnect(r.shard, r.now, fresh);
        stop(&r);
    }
}

static void the_audit_log_says_that_a_token_was_verified(void **state)
{
    rig r;
    arcp__handover what;
    (void)state;
    start(&r);
    say_hello(&r, "secret");
    hand_over(&r, &what);
    arcp__link *fresh = pass(&r, &what);
    (void)run(&r, r.shard);
    assert_non_null(strstr(r.log, "\"rule\":\"token\""));
    assert_non_null(strstr(r.log, "\"principal\":\"alice\""));
    assert_null(strstr(r.log, "secret"));
    arcp__engine_disconnect(r.shard, r.now, fresh);
    stop(&r);
}

static void the_shard_gets_what_is_left_of_the_time_for_a_hello(void **state)
{
    rig r;
    arcp__handover what;
    (void)state;
    start(&r);
    say_hello(&r, "secret");
    r.now.mono_ns += 4 * SEC_NS;
    r.now.wall_ns += 4 * SEC_NS;
    hand_over(&r, &what);
    assert_int_equal(what.options.waited_ms, 4000);
    assert_true(what.options.is_local);
    assert_string_equal(what.options.peer, "here:1");
    arcp__engine_disconnect(r.door, r.now, what.link);
    stop(&r);
}

static void the_frame_behind_the_hello_goes_with_it(void **state)
{
    rig r;
    arcp__handover what;
    (void)state;
    start(&r);
    say_hello(&r, "secret");
    const arcp_span frame = ARCP_SPAN_LITERAL("{\"arcp\":\"1.1\",\"id\":\"l\",\"type\":"
                                              "\"session.list_jobs\",\"payload\":{}}");
    assert_false(arcp__engine_receive(r.door, r.now, r.link, frame)); /* it takes no more */
    arcp__engine_input_over(r.door, r.now, r.link);
    hand_over(&r, &what);
    assert_true(what.has_next_frame);
    assert_true(arcp_span_equal(what.next_frame, frame));
    assert_true(what.input_is_over);
    arcp__link *fresh = pass(&r, &what);
    int last = -1;
    for (unsigned i = 0; i < 4 && last != ARCP__EFFECT_CLOSE; i++) {
        arcp__engine_drained(r.shard, r.now, fresh, 0);
        last = run(&r, r.shard);
    }
    assert_int_equal(last, ARCP__EFFECT_CLOSE); /* after all responses */
    arcp__engine_disconnect(r.shard, r.now, fresh);
    stop(&r);
}

static void a_link_that_was_closed_leaves_the_door_no_more(void **state)
{
    rig r;
    arcp__handover what;
    (void)state;
    start(&r);
    say_hello(&r, "secret");
    r.now.mono_ns += 11 * SEC_NS; /* too late */
    assert_int_equal(run(&r, r.door), ARCP__EFFECT_CLOSE);
    assert_false(arcp__engine_hand_over(r.door, r.now, r.auth_id, &what));
    arcp__engine_disconnect(r.door, r.now, r.link);
    assert_false(arcp__engine_hand_over(r.door, r.now, r.auth_id, &what));
    stop(&r);
}

static void after_too_many_wrong_codes_the_door_asks_no_shard(void **state)
{
    rig r;
    (void)state;
    start(&r);
    const arcp__authentication wrong = {.status = ARCP_E_UNAUTHENTICATED, .page = ARCP__PAGE_CODE};
    for (unsigned i = 0; i < 10; i++) {
        say_hello(&r, "page_code_wrong");
        arcp__engine_authenticated(r.door, r.now, r.auth_id, &wrong);
        assert_int_equal(run(&r, r.door), ARCP__EFFECT_CLOSE);
        arcp__engine_disconnect(r.door, r.now, r.link);
    }
    const arcp__link_options options = {.user = &r};
    arcp__link *link = arcp__engine_connect(r.door, r.now, &options);
    (void)arcp__engine_receive(
        r.door, r.now, link,
        ARCP_SPAN_LITERAL("{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{"
                          "\"client\":{\"name\":\"t\",\"version\":\"1\"},\"auth\":{\"scheme\":"
                          "\"bearer\",\"token\":\"page_code_right\"}}}"));
    r.token[0] = '\0';
    assert_int_equal(run(&r, r.door), ARCP__EFFECT_CLOSE);
    assert_string_equal(r.token, "");
    arcp__engine_disconnect(r.door, r.now, link);
    stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_token_goes_no_further_than_the_door),
        cmocka_unit_test(the_audit_log_says_that_a_token_was_verified),
        cmocka_unit_test(the_shard_gets_what_is_left_of_the_time_for_a_hello),
        cmocka_unit_test(the_frame_behind_the_hello_goes_with_it),
        cmocka_unit_test(a_link_that_was_closed_leaves_the_door_no_more),
        cmocka_unit_test(after_too_many_wrong_codes_the_door_asks_no_shard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
