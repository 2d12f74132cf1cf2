/* `schedules:` in the configuration: what is accepted, and what is refused with which line and key.
 */
#include "arcpd/arcpd.h"
#include "arcpd/config.h"
#include "support/check.h"

static arcp_status read_text(const char *text, arcp__config *config, arcp_error *err)
{
    arcp__config_init(config);
    return arcp__config_read_text(config, "f.yaml", arcp_span_cstr(text), err);
}

static void schedules_are_read_and_printed(void **state)
{
    arcp__config config;
    arcp_error error = {0};
    arcp_buf out = arcp_buf_init();
    (void)state;
    check_ok(read_text("schedules:\n"
                       "  - name: nightly\n"
                       "    cron: 30 2 * * *\n"
                       "    zone: Europe/Berlin\n"
                       "    agent: survey@1.0\n"
                       "    input: {n: 3}\n"
                       "    lease: {fs.read: [/srv/**]}\n"
                       "    principal: ops\n"
                       "    overlap: queue\n"
                       "    catch_up: all\n"
                       "  - {name: often, every_sec: 900, agent: a, principal: p}\n",
                       &config, &error),
             &error);
    assert_int_equal(config.schedule_count, 2);
    assert_string_equal(config.schedules[0].input, "{\"n\":3}");
    assert_int_equal(config.schedules[0].overlap, 1);
    assert_int_equal(config.schedules[0].catch_up, 2);
    assert_int_equal(config.schedules[1].every_sec, 900);
    arcp__config_print(&config, &out);
    arcp_buf_append_byte(&out, '\0');
    assert_non_null(strstr(out.data, "cron: \"30 2 * * *\""));
    assert_non_null(strstr(out.data, "zone: \"Europe/Berlin\""));
    assert_non_null(strstr(out.data, "{\"fs.read\":[\"/srv/**\"]}"));
    arcp_buf_fini(&out);
    arcp__config_fini(&config);
}

#define ENTRY(more) "schedules:\n  - name: n\n    agent: a\n    principal: p\n    " more "\n"

static void a_bad_schedule_is_refused_with_line_and_key(void **state)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {ENTRY("cron: 30 25 * * *"), "f.yaml:5: schedules[0].cron: hour \"25\": must be 0 to 23"},
        {ENTRY("cron: 0 0 30 2 *"), "f.yaml:5: schedules[0].cron: no date matches it"},
        {ENTRY("zone: Europe/Berln"),
         "f.yaml:5: schedules[0].zone: \"Europe/Berln\": must be a name of the time zone database"},
        {ENTRY("zone: ../../../etc/passwd"), "f.yaml:5: schedules[0].zone: "},
        {ENTRY("zone: /etc/localtime"), "f.yaml:5: schedules[0].zone: "},
        {ENTRY("zone: zone.tab"), "f.yaml:5: schedules[0].zone: "},
        {ENTRY("zone: \"\""), "f.yaml:5: schedules[0].zone: "},
        {ENTRY("overlap: wait"), "f.yaml:5: schedules[0].overlap: must be skip, queue or cancel"},
        {ENTRY("catch_up: some"), "f.yaml:5: schedules[0].catch_up: must be none, last or all"},
        {ENTRY("every_sec: 31622401"), "f.yaml:5: schedules[0].every_sec: "},
        {ENTRY("lease: {fs.read: 5}"), "f.yaml:5: schedules[0].lease"},
        {ENTRY("catch_up: all"), "f.yaml:2: schedules[0]: needs cron or every_sec, and not both"},
        {ENTRY("cron: \"@daily\"\n    every_sec: 5"),
         "f.yaml:2: schedules[0]: needs cron or every_sec, and not both"},
        {ENTRY("every_sec: 5\n    zone: Europe/Berlin"),
         "f.yaml:2: schedules[0]: every_sec has no zone"},
        {"schedules:\n  - {cron: \"@daily\", agent: a, principal: p}\n",
         "f.yaml:2: schedules[0]: needs name, agent and principal"},
        {"schedules:\n  - {name: n, cron: \"@daily\", principal: p}\n",
         "f.yaml:2: schedules[0]: needs name, agent and principal"},
        {"schedules:\n  - {name: n, cron: \"@daily\", agent: a}\n",
         "f.yaml:2: schedules[0]: needs name, agent and principal"},
        {"schedules:\n  - {name: n/m, cron: \"@daily\", agent: a, principal: p}\n",
         "f.yaml:2: schedules[0].name: must consist of letters, digits, - _ and ."},
        {"schedules:\n  - {name: n, cron: \"@daily\", agent: A B, principal: p}\n",
         "f.yaml:2: schedules[0].agent: "},
        {"schedules:\n  - {name: n, cron: \"@daily\", agent: a, principal: p}\n"
         "  - {name: n, cron: \"@daily\", agent: a, principal: p}\n",
         "f.yaml:3: schedules[1]: an entry above has the same name"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__config config;
        arcp_error error = {0};
        assert_int_equal(read_text(rows[i].text, &config, &error), ARCP_E_USAGE);
        if (strncmp(error.message, rows[i].message, strlen(rows[i].message)) != 0) {
            fail_msg("%s\n%s", rows[i].text, error.message);
        }
        arcp__config_fini(&config);
    }
}

static void a_name_has_up_to_64_characters(void **state)
{
    (void)state;
    for (int size = 64; size <= 65; size++) {
        char text[256];
        arcp__config config;
        (void)snprintf(text, sizeof text,
                       "schedules:\n  - {name: %0*d, every_sec: 1, agent: a, principal: p}\n", size,
                       7);
        assert_int_equal(read_text(text, &config, NULL), size == 64 ? ARCP_OK : ARCP_E_USAGE);
        arcp__config_fini(&config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_are_read_and_printed),
        cmocka_unit_test(a_bad_schedule_is_refused_with_line_and_key),
        cmocka_unit_test(a_name_has_up_to_64_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
