/* What is served at which path, and with which headers. */
#include "support/check.h"

#include "dashboard/dashboard.h"
#include "dashboard/files.h"

static arcp__dashboard *make(const char *path, const char *socket_path)
{
    arcp__dashboard *dashboard = NULL;
    arcp_error error = {0};
    check_ok(arcp__dashboard_new(path, socket_path, &dashboard, &error), &error);
    return dashboard;
}

/* A copy that ends with NUL; the caller frees it. */
static char *copy_of(const char *data, size_t size)
{
    char *text = malloc(size + 1);
    assert_non_null(text);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

typedef struct reply {
    bool is_found;
    arcp_page page;
    arcp_buf headers;
} reply;

static reply ask(arcp__dashboard *dashboard, arcp_page_request request)
{
    reply r = {.headers = arcp_buf_init()};
    r.page.headers = &r.headers;
    request.host = ARCP_SPAN_LITERAL("localhost:7777");
    r.is_found = arcp__dashboard_page(dashboard, &request, &r.page);
    r.page.headers = NULL;
    return r;
}

static reply get(arcp__dashboard *dashboard, const char *path)
{
    return ask(dashboard, (arcp_page_request){.path = arcp_span_cstr(path)});
}

static bool has(reply *r, const char *text)
{
    return strstr(arcp_buf_cstr(&r->headers), text) != NULL;
}

static char *file_path(const char *name)
{
    static char path[128];
    (void)snprintf(path, sizeof path, "/ui/%s/%s", arcp__dashboard_hash, name);
    return path;
}

static void the_page_names_its_files_and_its_socket(void **state)
{
    (void)state;
    arcp__dashboard *dashboard = make("/ui/", "/some/socket");
    reply r = get(dashboard, "/ui/");
    assert_true(r.is_found);
    assert_int_equal(r.page.status, 200);
    assert_string_equal(r.page.type, "text/html; charset=utf-8");
    char *text = copy_of(r.page.body.data, r.page.body.size);
    assert_non_null(strstr(text, "content=\"/some/socket\""));
    assert_non_null(strstr(text, arcp__dashboard_hash));
    assert_null(strchr(text, '@'));
    free(text);
    assert_true(has(&r, "Cache-Control: no-cache\r\n"));
    arcp_buf_fini(&r.headers);
    arcp__dashboard_free(dashboard);
}

static void every_file_is_served_whole_and_compressed(void **state)
{
    (void)state;
    arcp__dashboard *dashboard = make("/ui/", "/arcp");
    assert_true(arcp__dashboard_file_count > 10);
    assert_string_equal(arcp__dashboard_files[0].name, "index.html");
    size_t bytes = 0;
    for (size_t i = 0; i < arcp__dashboard_file_count; i++) {
        const arcp__dashboard_file *file = &arcp__dashboard_files[i];
        bytes += (size_t)(file->end - file->data);
        if (i == 0) {
            continue;
        }
        reply plain = get(dashboard, file_path(file->name));
        assert_int_equal(plain.page.status, 200);
        assert_string_equal(plain.page.type, file->type);
        assert_int_equal(plain.page.body.size, file->end - file->data);
        assert_false(has(&plain, "Content-Encoding"));
        assert_true(has(&plain, "immutable"));
        reply packed =
            ask(dashboard, (arcp_page_request){.path = arcp_span_cstr(file_path(file->name)),
                                               .accept_encoding = ARCP_SPAN_LITERAL("br, gzip")});
        assert_true(has(&packed, "Content-Encoding: gzip\r\n"));
        assert_true(has(&packed, "Vary: Accept-Encoding\r\n"));
        assert_memory_equal(packed.page.body.data, "\x1f\x8b", 2);
        arcp_buf_fini(&plain.headers);
        arcp_buf_fini(&packed.headers);
    }
    assert_true(bytes <= (size_t)150 * 1024);
    arcp__dashboard_free(dashboard);
}

static void other_paths_lead_to_the_page_or_nowhere(void **state)
{
    static const struct {
        const char *path;
        int status; /* 0: not found */
    } rows[] = {{"/", 302},         {"/ui", 302}, {"/ui/", 200},
                {"/ui//", 0},       {"/ui/x", 0}, {"/ui/index.html", 0},
                {"/ui/main.js", 0}, {"/UI/", 0},  {"/metrics", 0},
                {"/ui/../ui/", 0},  {"", 0},      {"/ui/0000000000000000/main.js", 0}};
    (void)state;
    arcp__dashboard *dashboard = make("/ui/", "/arcp");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        reply r = get(dashboard, rows[i].path);
        if (r.is_found != (rows[i].status != 0) || r.page.status != rows[i].status) {
            fail_msg("%s: %d", rows[i].path, r.page.status);
        }
        assert_true(r.page.status != 302 || has(&r, "Location: /ui/\r\n"));
        arcp_buf_fini(&r.headers);
    }
    /* The page itself is not one of the files below the hash. */
    reply r = get(dashboard, file_path("index.html"));
    assert_false(r.is_found);
    arcp_buf_fini(&r.headers);
    arcp__dashboard_free(dashboard);
}

static void a_page_that_the_browser_has_is_not_sent_again(void **state)
{
    (void)state;
    arcp__dashboard *dashboard = make("/ui/", "/arcp");
    char etag[64];
    (void)snprintf(etag, sizeof etag, "\"x\", \"%s-/arcp\"", arcp__dashboard_hash);
    reply r = ask(dashboard, (arcp_page_request){.path = ARCP_SPAN_LITERAL("/ui/"),
                                                 .if_none_match = arcp_span_cstr(etag)});
    assert_int_equal(r.page.status, 304);
    assert_int_equal(r.page.body.size, 0);
    arcp_buf_fini(&r.headers);
    r = ask(dashboard, (arcp_page_request){.path = ARCP_SPAN_LITERAL("/ui/"),
                                           .if_none_match = ARCP_SPAN_LITERAL("\"other\"")});
    assert_int_equal(r.page.status, 200);
    arcp_buf_fini(&r.headers);
    arcp__dashboard_free(dashboard);
}

static void every_answer_has_the_policy_for_browsers(void **state)
{
    static const char *const lines[] = {
        "Content-Security-Policy: default-src 'none'; script-src 'self'; ",
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; ",
        "require-trusted-types-for 'script'; trusted-types 'none'\r\n",
        "X-Frame-Options: DENY\r\n",
        "X-Content-Type-Options: nosniff\r\n",
        "Referrer-Policy: no-referrer\r\n",
        "Cross-Origin-Opener-Policy: same-origin\r\n",
        "Cross-Origin-Resource-Policy: same-origin\r\n"};
    const char *const paths[] = {"/", "/ui/", file_path("main.js")};
    (void)state;
    arcp__dashboard *dashboard = make("/ui/", "/arcp");
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        for (unsigned encrypted = 0; encrypted < 2; encrypted++) {
            reply r = ask(dashboard, (arcp_page_request){.path = arcp_span_cstr(paths[i]),
                                                         .is_encrypted = encrypted == 1});
            for (size_t line = 0; line < sizeof lines / sizeof lines[0]; line++) {
                assert_true(has(&r, lines[line]));
            }
            assert_true(has(&r, encrypted == 1 ? "connect-src 'self' wss://localhost:7777;"
                                               : "connect-src 'self' ws://localhost:7777;"));
            assert_false(has(&r, "unsafe"));
            assert_false(has(&r, "Set-Cookie"));
            arcp_buf_fini(&r.headers);
        }
    }
    arcp__dashboard_free(dashboard);
}

static void a_path_has_a_form_that_needs_no_escapes(void **state)
{
    static const struct {
        const char *path;
        bool is_path;
    } rows[] = {{"/ui/", true},   {"/a/b-1/", true}, {"/", false},     {"", false},
                {"/ui", false},   {"ui/", false},    {"//", false},    {"/a//b/", false},
                {"/a b/", false}, {"/%41/", false},  {"/a.b/", false}, {"/\xc3\xa4/", false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__dashboard *dashboard = NULL;
        arcp_error error = {0};
        assert_int_equal(arcp__dashboard_is_path(rows[i].path), rows[i].is_path);
        assert_int_equal(arcp__dashboard_new(rows[i].path, "/arcp", &dashboard, &error),
                         rows[i].is_path ? ARCP_OK : ARCP_E_USAGE);
        arcp__dashboard_free(dashboard);
    }
}

/* The policy forbids inline scripts and styles, and markup from texts. The browser enforces that;
 * here a file that would need it is found at once. */
static void no_file_has_code_that_the_policy_forbids(void **state)
{
    static const char *const forbidden[] = {"innerHTML",    "outerHTML",      "insertAdjacentHTML",
                                            "eval(",        "new Function",   "document.write",
                                            " style=\"",    "onclick=",       "javascript:",
                                            "localStorage", "document.cookie"};
    (void)state;
    for (size_t i = 0; i < arcp__dashboard_file_count; i++) {
        const arcp__dashboard_file *file = &arcp__dashboard_files[i];
        char *text = copy_of(file->data, (size_t)(file->end - file->data));
        for (size_t k = 0; k < sizeof forbidden / sizeof forbidden[0]; k++) {
            if (strstr(text, forbidden[k]) != NULL) {
                fail_msg("%s has %s", file->name, forbidden[k]);
            }
        }
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_names_its_files_and_its_socket),
        cmocka_unit_test(every_file_is_served_whole_and_compressed),
        cmocka_unit_test(other_paths_lead_to_the_page_or_nowhere),
        cmocka_unit_test(a_page_that_the_browser_has_is_not_sent_again),
        cmocka_unit_test(every_answer_has_the_policy_for_browsers),
        cmocka_unit_test(a_path_has_a_form_that_needs_no_escapes),
        cmocka_unit_test(no_file_has_code_that_the_policy_forbids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
