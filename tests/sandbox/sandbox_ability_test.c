/* What a host can do, as text, and the levels that follow. */
#include "support/check.h"

#include "sandbox/sandbox_rig.h"

static void abilities_survive_their_text(void **state)
{
    (void)state;
    const arcp__sandbox_abilities has = rig_abilities();
    arcp__sandbox_abilities read = {{0}};
    arcp_buf text = arcp_buf_init();
    arcp_error err = {0};
    arcp__sandbox_abilities_encode(&has, &text);
    check_ok(arcp__sandbox_abilities_decode(arcp_buf_span(&text), &read, &err), &err);
    assert_memory_equal(&has, &read, sizeof has);
    arcp_buf_fini(&text);
}

static arcp_status decode(const char *text, arcp__sandbox_abilities *out)
{
    arcp_error err = {0};
    const arcp_status status = arcp__sandbox_abilities_decode(arcp_span_cstr(text), out, &err);
    assert_int_equal(err.status, status);
    return status;
}

static void what_is_missing_is_not_there(void **state)
{
    (void)state;
    arcp__sandbox_abilities read = rig_abilities();
    assert_int_equal(decode("{\"landlock\":4,\"of_another_release\":[1]}", &read), ARCP_OK);
    assert_int_equal(read.values[ARCP__SANDBOX_ABILITY_LANDLOCK], 4);
    assert_int_equal(read.values[ARCP__SANDBOX_ABILITY_USERNS], 0);
}

static void text_that_is_wrong_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "[]",
                                        "{\"userns\":2}",
                                        "{\"userns\":true}",
                                        "{\"userns\":-1}",
                                        "{\"landlock\":4294967296}",
                                        "{\"landlock\":\"7\"}",
                                        "{\"userns\":1,\"userns\":1}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        arcp__sandbox_abilities read = {{0}};
        assert_int_equal(decode(texts[i], &read), ARCP_E_INVALID_REQUEST);
        assert_int_equal(read.values[ARCP__SANDBOX_ABILITY_USERNS], 0);
    }
    arcp__sandbox_abilities read = {{0}};
    assert_int_equal(decode("{\"userns\":1,\"landlock\":4294967295}", &read), ARCP_OK);
}

static void names_take_abilities_away(void **state)
{
    (void)state;
    arcp__sandbox_abilities has = rig_abilities();
    assert_true(arcp__sandbox_abilities_remove(&has, NULL));
    assert_true(arcp__sandbox_abilities_remove(&has, ""));
    assert_int_equal(has.values[ARCP__SANDBOX_ABILITY_NOTIFY], 1);
    assert_true(arcp__sandbox_abilities_remove(&has, "notify,landlock"));
    assert_int_equal(has.values[ARCP__SANDBOX_ABILITY_NOTIFY], 0);
    assert_int_equal(has.values[ARCP__SANDBOX_ABILITY_LANDLOCK], 0);
    assert_int_equal(has.values[ARCP__SANDBOX_ABILITY_USERNS], 1);
}

static void a_name_that_is_unknown_takes_nothing_away(void **state)
{
    (void)state;
    static const char *const names[] = {"usernss", "userns,", "userns,,notify",
                                        ",",       " userns", "userns, notify"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        arcp__sandbox_abilities has = rig_abilities();
        if (arcp__sandbox_abilities_remove(&has, names[i])) {
            fail_msg("\"%s\" is accepted", names[i]);
        }
        const arcp__sandbox_abilities all = rig_abilities();
        assert_memory_equal(&has, &all, sizeof has);
    }
}

static const struct {
    const char *without;
    uint32_t landlock;
    arcp__sandbox_level level;
    bool has_broker;
} levels[] = {
    {"", 1, ARCP__SANDBOX_LEVEL_FULL, true},
    {"", 0, ARCP__SANDBOX_LEVEL_NONE, true},
    {"seccomp", 7, ARCP__SANDBOX_LEVEL_NONE, true},
    {"userns", 3, ARCP__SANDBOX_LEVEL_LANDLOCK, true},
    {"userns", 2, ARCP__SANDBOX_LEVEL_NONE, true},
    {"mount", 7, ARCP__SANDBOX_LEVEL_LANDLOCK, true},
    {"netns", 7, ARCP__SANDBOX_LEVEL_LANDLOCK, true},
    {"notify", 7, ARCP__SANDBOX_LEVEL_FULL, false},
    {"vm_read", 7, ARCP__SANDBOX_LEVEL_FULL, false},
    {"broker", 7, ARCP__SANDBOX_LEVEL_FULL, false},
    {"proc,pidfd_getfd,pid_max,egress", 7, ARCP__SANDBOX_LEVEL_FULL, true},
};

static void the_level_follows_from_the_abilities(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        arcp__sandbox_abilities has = rig_abilities();
        assert_true(arcp__sandbox_abilities_remove(&has, levels[i].without));
        has.values[ARCP__SANDBOX_ABILITY_LANDLOCK] = levels[i].landlock;
        if (arcp__sandbox_level_of(&has) != levels[i].level ||
            arcp__sandbox_has_broker(&has) != levels[i].has_broker) {
            fail_msg("row %zu: level %s", i,
                     arcp__sandbox_level_name(arcp__sandbox_level_of(&has)));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(abilities_survive_their_text),
        cmocka_unit_test(what_is_missing_is_not_there),
        cmocka_unit_test(text_that_is_wrong_is_refused),
        cmocka_unit_test(names_take_abilities_away),
        cmocka_unit_test(a_name_that_is_unknown_takes_nothing_away),
        cmocka_unit_test(the_level_follows_from_the_abilities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
