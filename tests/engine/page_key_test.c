/* The keys of browsers: when they end, and what a restart keeps of them. */
#include "support/check.h"

#include "story/engine_rig.h"

#define FRAME(id, type, payload)                                                                   \
    "{\"arcp\":\"1.1\",\"id\":\"" id "\",\"type\":\"" type "\",\"payload\":" payload "}"
#define MINUTE (60 * ARCP_NS_PER_SEC)
#define HOUR   (60 * MINUTE)

static engine_rig rig;

/* Says hello with a bearer token; returns the last frame that came. */
static const char *hello(const char *name, const char *token)
{
    static char last[4096];
    char frame[600];
    rig_client *client = rig_connect(&rig, name);
    (void)snprintf(frame, sizeof frame,
                   FRAME("h", "session.hello",
                         "{\"auth\":{\"scheme\":\"bearer\",\"token\":\"%s\"},\"capabilities\":{"
                         "\"encodings\":[\"json\"],\"features\":[\"x-vendor.arcpd.view\","
                         "\"x-vendor.arcpd.page_key\"]}}"),
                   token);
    rig_send(&rig, client, frame);
    assert_non_null(client->frames);
    (void)snprintf(last, sizeof last, "%s", client->newest->text);
    if (client->link != NULL) {
        rig_send(&rig, client, FRAME("b", "session.bye", "{}"));
    }
    rig_text_clear(&client->frames);
    return last;
}

static bool signs_in(const char *key)
{
    return strstr(hello("x", key), "session.welcome") != NULL;
}

/* The key that a session of the token gets. */
static void get_key(char key[128])
{
    const char *member = strstr(hello("a", "t-alice"), "\"page_key\":\"");
    assert_non_null(member);
    assert_int_equal(sscanf(member, "\"page_key\":\"%127[^\"]", key), 1);
}

static void a_restored_key_opens_nothing_before_its_token_was_checked(void **state)
{
    char key[128];
    (void)state;
    rig_start(&rig, NULL);
    get_key(key);
    rig.keeps_keys_unchecked = true;
    rig_restart(&rig);
    assert_false(signs_in(key));
    rig.keeps_keys_unchecked = false;
    rig_check_page_keys(&rig, true);
    assert_true(signs_in(key));
    rig_stop(&rig);
}

static void a_key_ends_with_its_token_also_for_later_restarts(void **state)
{
    char key[128];
    (void)state;
    rig_start(&rig, NULL);
    get_key(key);
    rig_check_page_keys(&rig, false);
    rig_run(&rig);
    assert_false(signs_in(key));
    rig_restart(&rig);
    assert_false(signs_in(key));
    rig_stop(&rig);
}

static void a_key_of_an_unknown_origin_ends_with_the_process(void **state)
{
    char key[128];
    (void)state;
    rig_start(&rig, NULL);
    rig.has_unknown_origin = true;
    get_key(key);
    assert_true(signs_in(key));
    rig_restart(&rig);
    assert_false(signs_in(key));
    rig.has_unknown_origin = false;
    rig_stop(&rig);
}

static void a_key_lives_as_long_as_its_token_and_12_hours_at_most(void **state)
{
    static const struct {
        int64_t token_ns, lives_ns;
    } rows[] = {{10 * MINUTE, 10 * MINUTE}, {0, 12 * HOUR}, {13 * HOUR, 12 * HOUR}};
    (void)state;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        char key[128];
        rig_start(&rig, NULL);
        rig.token_expires_wall_ns =
            rows[row].token_ns == 0 ? 0 : rig.now.wall_ns + rows[row].token_ns;
        get_key(key);
        int64_t left_ns = rows[row].lives_ns - 1;
        for (; left_ns > HOUR - 1; left_ns -= HOUR - 1) {
            rig_clock(&rig, HOUR - 1);
            assert_true(signs_in(key));
        }
        rig_clock(&rig, left_ns);
        assert_true(signs_in(key));
        rig_clock(&rig, 1);
        assert_false(signs_in(key));
        rig_stop(&rig);
    }
    rig.token_expires_wall_ns = 0;
}

static void a_page_that_stays_open_uses_its_key_also_for_a_restart(void **state)
{
    char key[128];
    (void)state;
    rig_start(&rig, NULL);
    rig.settings.session_heartbeat_interval_sec = 0;
    get_key(key);
    rig_client *page = rig_connect(&rig, "p");
    char frame[400];
    (void)snprintf(frame, sizeof frame,
                   FRAME("h", "session.hello",
                         "{\"auth\":{\"scheme\":\"bearer\",\"token\":\"%s\"},\"capabilities\":{"
                         "\"encodings\":[\"json\"],\"features\":[\"x-vendor.arcpd.view\"]}}"),
                   key);
    rig_send(&rig, page, frame);
    for (int i = 0; i < 4; i++) {
        rig_clock(&rig, 30 * MINUTE);
        rig_send(&rig, page, FRAME("p", "session.pong", "{\"nonce\":\"n\"}"));
    }
    assert_non_null(page->link);
    rig_clock(&rig, 50 * MINUTE);
    rig_restart(&rig);
    assert_true(signs_in(key)); /* 2 h 50 min after it was made */
    rig_clock(&rig, HOUR);
    assert_false(signs_in(key));
    rig_stop(&rig);
}

static void of_101_keys_the_one_that_was_not_used_for_longest_ends(void **state)
{
    char keys[101][128];
    (void)state;
    rig_start(&rig, NULL);
    for (int i = 0; i < 100; i++) {
        get_key(keys[i]);
        rig_clock(&rig, 1);
    }
    assert_true(signs_in(keys[0])); /* so that the second one waits for longest */
    rig_clock(&rig, 1);
    get_key(keys[100]);
    for (int i = 0; i < 101; i++) {
        assert_int_equal(signs_in(keys[i]), i != 1);
    }
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restored_key_opens_nothing_before_its_token_was_checked),
        cmocka_unit_test(a_key_ends_with_its_token_also_for_later_restarts),
        cmocka_unit_test(a_key_of_an_unknown_origin_ends_with_the_process),
        cmocka_unit_test(a_key_lives_as_long_as_its_token_and_12_hours_at_most),
        cmocka_unit_test(a_page_that_stays_open_uses_its_key_also_for_a_restart),
        cmocka_unit_test(of_101_keys_the_one_that_was_not_used_for_longest_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
