/* Each setting by its row of settings.def: its default, both ends of its range and one beyond. */
#include "context/settings.h"

#include <inttypes.h>
#include <stdio.h>

#include "support/check.h"

static const struct {
    const char *group, *key;
    uint64_t initial, minimum, maximum;
    size_t offset;
} numbers[] = {
#define ARCP_SETTING_NUMBER(group, key, initial, minimum, maximum, text)                           \
    {#group, #key, initial, minimum, maximum, offsetof(arcp_settings, group##_##key)},
#define ARCP_SETTING_CHOICE(group, key, initial, words, text)
#include <arcp/settings.def>
#undef ARCP_SETTING_NUMBER
#undef ARCP_SETTING_CHOICE
};

static const struct {
    const char *group, *key, *initial, *words;
    size_t offset;
} choices[] = {
#define ARCP_SETTING_NUMBER(group, key, initial, minimum, maximum, text)
#define ARCP_SETTING_CHOICE(group, key, initial, words, text)                                      \
    {#group, #key, initial, words, offsetof(arcp_settings, group##_##key)},
#include <arcp/settings.def>
#undef ARCP_SETTING_NUMBER
#undef ARCP_SETTING_CHOICE
};

static arcp_status set(arcp_settings *settings, const char *group, const char *key,
                       const char *value, arcp_error *err)
{
    *err = (arcp_error){0};
    return arcp__settings_set(settings, arcp_span_cstr(group), arcp_span_cstr(key),
                              arcp_span_cstr(value), err);
}

static void check_number(size_t row, uint64_t value, bool is_taken)
{
    arcp_settings settings;
    arcp_error err = {0};
    char text[32];
    uint64_t now = 0;
    arcp__settings_default(&settings);
    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    const arcp_status status = set(&settings, numbers[row].group, numbers[row].key, text, &err);
    memcpy(&now, (char *)&settings + numbers[row].offset, sizeof now);
    if (status != (is_taken ? ARCP_OK : ARCP_E_USAGE) ||
        now != (is_taken ? value : numbers[row].initial)) {
        fail_msg("%s.%s: %s: %s, is %" PRIu64, numbers[row].group, numbers[row].key, text,
                 err.message, now);
    }
}

static void a_number_is_accepted_up_to_both_ends_of_its_range(void **state)
{
    for (size_t row = 0; row < sizeof numbers / sizeof numbers[0]; row++) {
        check_number(row, numbers[row].minimum, true);
        check_number(row, numbers[row].initial, true);
        check_number(row, numbers[row].maximum, true);
        if (numbers[row].minimum != 0) {
            check_number(row, numbers[row].minimum - 1, false);
        }
        if (numbers[row].maximum != UINT64_MAX) {
            check_number(row, numbers[row].maximum + 1, false);
        }
    }
}

static void a_choice_is_one_of_its_words(void **state)
{
    for (size_t row = 0; row < sizeof choices / sizeof choices[0]; row++) {
        arcp_settings settings;
        arcp_error err = {0};
        uint32_t index = 0;
        for (const char *rest = choices[row].words; rest != NULL; index++) {
            char word[64] = "";
            uint32_t now = UINT32_MAX;
            (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(rest, "|"), rest);
            arcp__settings_default(&settings);
            check_ok(set(&settings, choices[row].group, choices[row].key, word, &err), &err);
            memcpy(&now, (char *)&settings + choices[row].offset, sizeof now);
            assert_int_equal(now, index);
            rest = strchr(rest, '|') == NULL ? NULL : strchr(rest, '|') + 1;
        }
        assert_true(index > 1);
        assert_int_equal(set(&settings, choices[row].group, choices[row].key, "", &err),
                         ARCP_E_USAGE);
        assert_int_equal(
            set(&settings, choices[row].group, choices[row].key, choices[row].words, &err),
            ARCP_E_USAGE);
        assert_non_null(strstr(err.message, "must be one of "));
        assert_non_null(strstr(err.message, choices[row].words));
    }
}

static void unknown_settings_and_invalid_numbers_are_refused(void **state)
{
    static const struct {
        const char *group, *key, *value;
        arcp_status status;
        const char *says;
    } rows[] = {
        {"limits", "json_depht", "8", ARCP_E_NOT_FOUND, "there is no setting limits.json_depht"},
        {"jobs", "json_depth", "8", ARCP_E_NOT_FOUND, "there is no setting jobs.json_depth"},
        {"limits", "json_depth", "", ARCP_E_USAGE, "limits.json_depth is \"\", must be a whole"},
        {"limits", "json_depth", "-8", ARCP_E_USAGE, "number from 4 to 512"},
        {"limits", "json_depth", "8 ", ARCP_E_USAGE, "limits.json_depth is \"8 \""},
        {"limits", "json_depth", "0x8", ARCP_E_USAGE, "limits.json_depth is \"0x8\""},
        {"limits", "json_depth", "18446744073709551624", ARCP_E_USAGE, "must be"}, /* 2^64 + 8 */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp_settings settings;
        arcp_error err = {0};
        arcp__settings_default(&settings);
        assert_int_equal(set(&settings, rows[i].group, rows[i].key, rows[i].value, &err),
                         rows[i].status);
        assert_non_null(strstr(err.message, rows[i].says));
        assert_int_equal(settings.limits_json_depth, 64);
    }
}

static void set_again(void *user, const char *group, const char *key, const char *value,
                      const char *text)
{
    arcp_error err = {0};
    check_ok(set(user, group, key, value, &err), &err);
    assert_true(text[0] != '\0');
}

static void listed_settings_can_be_set_again_unchanged(void **state)
{
    arcp_settings settings;
    arcp_settings again;
    arcp_error err = {0};
    memset(&settings, 0, sizeof settings);
    memset(&again, 0, sizeof again);
    arcp__settings_default(&settings);
    arcp__settings_default(&again);
    check_ok(set(&settings, "limits", "json_depth", "7", &err), &err);
    check_ok(set(&settings, "lease", "on_expiry", "deny", &err), &err);
    arcp__settings_each(&settings, set_again, &again);
    assert_memory_equal(&again, &settings, sizeof settings);
}

static void the_content_of_a_store_in_memory_is_bounded(void **state)
{
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.limits_replay_bytes = 67108864 - 1;
    settings.jobs_keep_terminal_bytes = 268435456 - 1;
    settings.limits_principal_bytes = 1073741824 - 1;
    const arcp_settings lower = settings;
    arcp_settings_fit_memory(&settings);
    assert_int_equal(settings.limits_replay_bytes, lower.limits_replay_bytes);
    assert_int_equal(settings.jobs_keep_terminal_bytes, lower.jobs_keep_terminal_bytes);
    assert_int_equal(settings.limits_principal_bytes, lower.limits_principal_bytes);
    settings.limits_replay_bytes = 67108864 + 1;
    settings.jobs_keep_terminal_bytes = 268435456 + 1;
    settings.limits_principal_bytes = 0; /* no limit */
    arcp_settings_fit_memory(&settings);
    assert_int_equal(settings.limits_replay_bytes, 67108864);
    assert_int_equal(settings.jobs_keep_terminal_bytes, 268435456);
    assert_int_equal(settings.limits_principal_bytes, 1073741824);
}

/* ---- the object of programs ---- */

static void a_program_sets_and_reads_by_name(void **state)
{
    (void)state;
    arcp_error err = {0};
    char value[ARCP_SETTING_VALUE_MAX] = "untouched";
    arcp_settings *settings = arcp_settings_new();
    assert_non_null(settings);
    check_ok(arcp_settings_get(settings, "limits.json_depth", value, &err), &err);
    assert_string_equal(value, "64");
    check_ok(arcp_settings_set(settings, "limits.json_depth", "7", &err), &err);
    check_ok(arcp_settings_set(settings, "lease.on_expiry", "deny", &err), &err);
    arcp_settings *copy = arcp_settings_copy(settings);
    assert_non_null(copy);
    check_ok(arcp_settings_set(settings, "limits.json_depth", "8", &err), &err);
    arcp_settings_free(settings);
    check_ok(arcp_settings_get(copy, "limits.json_depth", value, &err), &err);
    assert_string_equal(value, "7");
    check_ok(arcp_settings_get(copy, "lease.on_expiry", value, &err), &err);
    assert_string_equal(value, "deny");
    static const char *const wrong[] = {
        "", ".", "limits", "limits.", ".json_depth", "limits.json_depth.", "json_depth"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(arcp_settings_set(copy, wrong[i], "9", &err), ARCP_E_NOT_FOUND);
        assert_int_equal(arcp_settings_get(copy, wrong[i], value, &err), ARCP_E_NOT_FOUND);
    }
    assert_string_equal(value, "deny");
    arcp_settings_free(copy);
    arcp_settings_free(NULL);
}

static void set_by_name(void *user, const char *name, const char *value, const char *text)
{
    arcp_error err = {0};
    check_ok(arcp_settings_set(user, name, value, &err), &err);
    assert_true(text[0] != '\0');
}

static void settings_listed_by_name_can_be_set_again(void **state)
{
    (void)state;
    arcp_error err = {0};
    arcp_settings *settings = arcp_settings_new();
    arcp_settings *again = arcp_settings_new();
    assert_true(settings != NULL && again != NULL);
    check_ok(arcp_settings_set(settings, "limits.json_depth", "7", &err), &err);
    check_ok(arcp_settings_set(settings, "audit.grants", "true", &err), &err);
    arcp_settings_each(settings, set_by_name, again);
    assert_int_equal(again->limits_json_depth, 7);
    assert_int_equal(again->audit_grants, ARCP__CHOICE_TRUE);
    arcp_settings_free(settings);
    arcp_settings_free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_is_accepted_up_to_both_ends_of_its_range),
        cmocka_unit_test(a_choice_is_one_of_its_words),
        cmocka_unit_test(unknown_settings_and_invalid_numbers_are_refused),
        cmocka_unit_test(listed_settings_can_be_set_again_unchanged),
        cmocka_unit_test(the_content_of_a_store_in_memory_is_bounded),
        cmocka_unit_test(a_program_sets_and_reads_by_name),
        cmocka_unit_test(settings_listed_by_name_can_be_set_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
