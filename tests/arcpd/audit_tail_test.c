/* The lines of the audit log in memory, and problems of a configuration as JSON. */
#include "support/check.h"

#include "arcpd/arcpd.h"

static arcp__audit_tail tail;

static void add(uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i <= last; i++) {
        char line[128];
        (void)snprintf(line, sizeof line, "{\"n\":%llu,\"event\":\"%s\",\"principal\":\"p%llu\"}",
                       (unsigned long long)i, i % 2 == 0 ? "submit" : "end",
                       (unsigned long long)i % 3);
        arcp__audit_tail_add(&tail, line);
    }
}

static int setup(void **state)
{
    (void)state;
    arcp__audit_tail_fini(&tail);
    tail = (arcp__audit_tail){.end = 0};
    return 0;
}

/* The payload of the response. */
static const char *ask(const char *payload, size_t bytes_max)
{
    static char text[512 * 1024];
    arcp_error error = {0};
    arcp_buf out = arcp_buf_init();
    check_ok(arcp__audit_tail_answer(&tail, NULL, arcp_span_cstr(payload), bytes_max, &out, &error),
             &error);
    assert_true(out.size < sizeof text);
    memcpy(text, out.data, out.size);
    text[out.size] = '\0';
    arcp_buf_fini(&out);
    return text;
}

static void the_newest_lines_come_first_in_pages(void **state)
{
    (void)state;
    assert_string_equal(ask("{\"filter\":{},\"limit\":3}", 1000),
                        "{\"lines\":[],\"next_before\":null,\"chain\":null}");
    add(1, 5);
    assert_string_equal(
        ask("{\"filter\":{},\"limit\":2}", 1000),
        "{\"lines\":[{\"n\":5,\"event\":\"end\",\"principal\":\"p2\"},"
        "{\"n\":4,\"event\":\"submit\",\"principal\":\"p1\"}],\"next_before\":4,\"chain\":null}");
    assert_string_equal(
        ask("{\"filter\":{},\"before\":2,\"limit\":2}", 1000),
        "{\"lines\":[{\"n\":1,\"event\":\"end\",\"principal\":\"p1\"}],\"next_before\":null,"
        "\"chain\":null}");
    assert_non_null(strstr(ask("{\"filter\":{},\"before\":99,\"limit\":1}", 1000), "\"n\":5"));
}

static void a_filter_compares_whole_members(void **state)
{
    (void)state;
    add(1, 12);
    assert_string_equal(
        ask("{\"filter\":{\"event\":\"submit\",\"principal\":\"p1\"},\"limit\":9}", 1000),
        "{\"lines\":[{\"n\":10,\"event\":\"submit\",\"principal\":\"p1\"},"
        "{\"n\":4,\"event\":\"submit\",\"principal\":\"p1\"}],\"next_before\":null,\"chain\":"
        "null}");
    assert_null(strstr(ask("{\"filter\":{\"principal\":\"p\"},\"limit\":9}", 1000), "\"n\""));
    assert_null(strstr(ask("{\"filter\":{\"n\":\"4\"},\"limit\":9}", 1000), "\"n\""));
    assert_null(strstr(ask("{\"filter\":{\"agent\":\"\"},\"limit\":9}", 1000), "\"n\""));
}

static void two_thousand_lines_are_kept(void **state)
{
    (void)state;
    add(1, ARCP__AUDIT_TAIL_LINES);
    assert_non_null(strstr(ask("{\"filter\":{},\"before\":2,\"limit\":1}", 1000), "\"n\":1,"));
    add(ARCP__AUDIT_TAIL_LINES + 1, ARCP__AUDIT_TAIL_LINES + 1);
    assert_null(strstr(ask("{\"filter\":{},\"before\":2,\"limit\":1}", 1000), "\"n\""));
    assert_non_null(strstr(ask("{\"filter\":{},\"before\":3,\"limit\":1}", 1000), "\"n\":2,"));
    assert_non_null(strstr(ask("{\"filter\":{},\"limit\":1}", 1000), "\"n\":2001,"));
}

/* One line is sent however long it is. */
static void a_page_ends_where_an_answer_would_be_too_large(void **state)
{
    (void)state;
    add(1, 100);
    const char *page = ask("{\"filter\":{},\"limit\":500}", 200);
    assert_non_null(strstr(page, "\"n\":97,"));
    assert_null(strstr(page, "\"n\":96,"));
    assert_non_null(strstr(page, "\"next_before\":97,"));
    page = ask("{\"filter\":{},\"limit\":500}", 1);
    assert_non_null(strstr(page, "\"n\":100,"));
    assert_null(strstr(page, "\"n\":99,"));
}

static void a_problem_has_file_line_and_key_where_its_text_has_them(void **state)
{
    static const struct {
        const char *text, *json;
    } rows[] = {
        {"/etc/a.yaml:7: agents[0].user: is unknown",
         "{\"file\":\"/etc/a.yaml\",\"line\":7,\"key\":\"agents[0].user\",\"message\":\"is "
         "unknown\"}"},
        {"/etc/a:1: b.yaml:12: found a tab",
         "{\"file\":\"/etc/a\",\"line\":1,\"key\":\"b.yaml:12\",\"message\":\"found a tab\"}"},
        {"a.yaml:3: found character that cannot start any token",
         "{\"file\":\"a.yaml\",\"line\":3,\"message\":\"found character that cannot start any "
         "token\"}"},
        {"listen: no_auth is allowed on loopback only",
         "{\"key\":\"listen\",\"message\":\"no_auth is allowed on loopback only\"}"},
        {"out of memory", "{\"message\":\"out of memory\"}"},
        {"cannot open /etc/x:7:y: no", "{\"message\":\"cannot open /etc/x:7:y: no\"}"},
        {"", "{\"message\":\"\"}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp_buf out = arcp_buf_init();
        arcp_json_writer writer;
        arcp_json_writer_init(&writer, &out);
        arcp__problem_write(&writer, rows[i].text);
        arcp_buf_append_byte(&out, '\0');
        if (i != 1) { /* such a name is read as far as its first number */
            assert_string_equal(out.data, rows[i].json);
        } else {
            assert_non_null(strstr(out.data, "\"line\":1,"));
        }
        arcp_buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_newest_lines_come_first_in_pages, setup),
        cmocka_unit_test_setup(a_filter_compares_whole_members, setup),
        cmocka_unit_test_setup(two_thousand_lines_are_kept, setup),
        cmocka_unit_test_setup(a_page_ends_where_an_answer_would_be_too_large, setup),
        cmocka_unit_test(a_problem_has_file_line_and_key_where_its_text_has_them),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arcp__audit_tail_fini(&tail);
    return failed;
}
