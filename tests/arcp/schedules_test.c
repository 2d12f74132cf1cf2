/* `arcp schedules` with a real arcpd. */
#include "arcp/fixture.h"

#include <stdlib.h>

static void a_principal_lists_its_own_schedules(void **state)
{
    process p;
    fixture_run(*state, &p, 0, WORDS("schedules", "--token", "t-one"));
    assert_int_equal(strncmp(p.out.data, "NAME ", 5), 0);
    assert_non_null(strstr(p.out.data, "\nyearly "));
    assert_non_null(strstr(p.out.data, "-01-01T00:00:00Z "));
    assert_null(strstr(p.out.data, "theirs"));
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("schedules", "--token", "t-three"));
    check_output(&p, "");
    check_errors(&p, "no schedules\n");
    process_fini(&p);
}

static void a_role_lists_all_in_each_format(void **state)
{
    process p;
    fixture_run(*state, &p, 0, WORDS("schedules", "--token", "t-vera", "-o", "name"));
    check_output(&p, "theirs\nyearly\n");
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("schedules", "--token", "t-vera", "--json"));
    static const char first[] =
        "{\"name\":\"theirs\",\"agent\":\"wait\",\"principal\":\"two\",\"next_due\":\"";
    assert_int_equal(strncmp(p.out.data, first, strlen(first)), 0);
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("schedules", "--token", "t-vera", "-o", "yaml"));
    assert_int_equal(strncmp(p.out.data, "- name: \"theirs\"\n", 17), 0);
    process_fini(&p);
    fixture_run(*state, &p, 2, WORDS("schedules", "--token", "t-vera", "-o", "xml"));
    process_fini(&p);
}

static int begin(void **state)
{
    static const char agent[] = "wait=sh " ARCP_SOURCE_DIR "/tests/arcp/agents/wait.sh";
    static fixture f;
    arcpd_run_begin(&f);
    arcpd_run_configure(&f,
                        "tokens:\n"
                        "  - {token: t-one, principal: one}\n"
                        "  - {token: t-three, principal: three}\n"
                        "  - {token: t-vera, principal: vera, role: viewer}\n"
                        "schedules:\n"
                        "  - {name: yearly, cron: \"0 0 1 1 *\", agent: wait, principal: one}\n"
                        "  - {name: theirs, cron: \"0 0 1 1 *\", agent: wait, principal: two}\n");
    arcpd_run_start(&f, 0, WORDS("--store", "memory:", "--agent", agent));
    assert_int_equal(setenv("ARCP_URL", f.url, 1), 0);
    *state = &f;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_principal_lists_its_own_schedules),
        cmocka_unit_test(a_role_lists_all_in_each_format),
    };
    return cmocka_run_group_tests(tests, begin, fixture_end);
}
