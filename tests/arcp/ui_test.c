/* `arcp ui` with a real arcpd: whose link it prints, and what the code in it is worth. */
#include "arcp/fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct link_of {
    char address[256];
    char code[256];
} link_of;

/* Runs `arcp ui` and takes its link apart. */
static link_of make_link(const fixture *f, const char *const *words)
{
    process p;
    link_of out;
    fixture_run(f, &p, 0, words);
    arcp_buf_append_byte(&p.out, '\0');
    assert_int_equal(sscanf(p.out.data, "%255[^#]#code=%255s", out.address, out.code), 2);
    assert_non_null(strstr(p.err.data, "within 60 s"));
    process_fini(&p);
    return out;
}

static int begin(void **state)
{
    static fixture f;
    arcpd_run_begin(&f);
    *state = &f;
    return 0;
}

static void start(fixture *f, const char *yaml)
{
    arcpd_run_configure(f, yaml);
    arcpd_run_start(f, 0, WORDS("--store", "memory:"));
}

/* The principal and role of a session, as its own row says. */
static void check_code_signs_in_once(const fixture *f, const char *code, bool sees_sessions)
{
    process p;
    fixture_run(f, &p, sees_sessions ? 0 : 4,
                WORDS("--url", f->url, "--token", code, "sessions", "-o", "json"));
    process_fini(&p);
    fixture_run(f, &p, 3, WORDS("--url", f->url, "--token", code, "ping"));
    process_fini(&p);
}

static void the_link_is_that_of_the_named_runtime_and_its_code_signs_in_once(void **state)
{
    fixture *f = *state;
    char address[64];
    start(f, "tokens: [{token: ta, principal: alice}]\n");
    const link_of link = make_link(f, WORDS("--url", f->url, "--token", "ta", "ui"));
    snprintf(address, sizeof address, "http://127.0.0.1:%u/", f->port);
    assert_string_equal(link.address, address);
    check_code_signs_in_once(f, link.code, false);
}

static void
without_a_named_runtime_the_local_operator_gets_the_link_of_the_local_arcpd(void **state)
{
    fixture *f = *state;
    char address[64];
    start(f, "tokens: [{token: ta, principal: alice}]\ndashboard: {path: /board/}\n");
    const link_of link = make_link(f, WORDS("ui"));
    snprintf(address, sizeof address, "http://127.0.0.1:%u/board/", f->port);
    assert_string_equal(link.address, address);
    check_code_signs_in_once(f, link.code, true);
}

static void an_arcpd_without_dashboard_says_so(void **state)
{
    fixture *f = *state;
    process p;
    char path[128];
    start(f, "tokens: [{token: ta, principal: alice}]\n");
    snprintf(path, sizeof path, "%s/state/arcp/page", f->directory);
    assert_int_equal(access(path, R_OK), 0);
    assert_int_equal(arcpd_run_stop(f, SIGKILL, 128 + SIGKILL), 128 + SIGKILL);
    start(f, "tokens: [{token: ta, principal: alice}]\ndashboard: {enabled: false}\n");
    assert_int_not_equal(access(path, R_OK), 0); /* the file of the killed one is gone */
    fixture_run(f, &p, 1, WORDS("ui"));
    assert_non_null(strstr(p.err.data, "this arcpd serves no dashboard"));
    process_fini(&p);
}

static void the_address_is_removed_when_arcpd_ends(void **state)
{
    fixture *f = *state;
    char path[128];
    start(f, "tokens: [{token: ta, principal: alice}]\n");
    snprintf(path, sizeof path, "%s/state/arcp/page", f->directory);
    assert_int_equal(access(path, R_OK), 0);
    assert_int_equal(arcpd_run_stop(f, SIGTERM, 0), 0);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void the_link_is_a_member_in_json(void **state)
{
    fixture *f = *state;
    process p;
    start(f, "tokens: [{token: ta, principal: alice}]\n");
    fixture_run(f, &p, 0, WORDS("--url", f->url, "--token", "ta", "ui", "--json"));
    arcp_buf_append_byte(&p.out, '\0');
    assert_int_equal(strncmp(p.out.data, "{\"url\":\"http://127.0.0.1:", 25), 0);
    assert_non_null(strstr(p.out.data, "\",\"valid_sec\":60}\n"));
    process_fini(&p);
}

static void a_runtime_that_is_no_listener_is_refused(void **state)
{
    fixture *f = *state;
    process p;
    char url[256];
    start(f, "tokens: [{token: ta, principal: alice}]\n");
    snprintf(url, sizeof url, "stdio:%s/bin/arcpd --stdio --store memory:", ARCP_BINARY_DIR);
    fixture_run(f, &p, 2, WORDS("--url", url, "ui"));
    assert_non_null(strstr(p.err.data, "has no dashboard"));
    process_fini(&p);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, fixture_end)
    const struct CMUnitTest tests[] = {
        TEST(the_link_is_that_of_the_named_runtime_and_its_code_signs_in_once),
        TEST(without_a_named_runtime_the_local_operator_gets_the_link_of_the_local_arcpd),
        TEST(an_arcpd_without_dashboard_says_so),
        TEST(the_address_is_removed_when_arcpd_ends),
        TEST(the_link_is_a_member_in_json),
        TEST(a_runtime_that_is_no_listener_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
