/* What --fetch means: the pattern of net.fetch, or why there is none. */
#include "support/check.h"

#include "arcp/run.h"

typedef struct row {
    const char *given;
    const char *pattern; /* NULL: refused */
    const char *error;
} row;

static const row rows[] = {
    /* a host is all of it, by https */
    {"example.com", "https://example.com/**", NULL},
    {"example.com:8443", "https://example.com:8443/**", NULL},
    {"Example.COM", "https://example.com/**", NULL},
    {"[::1]:8443", "https://[::1]:8443/**", NULL},
    {"*.example.com", "https://*.example.com/**", NULL},
    {"*.Example.com", "https://*.example.com/**", NULL},

    /* a URL without a path is all of the host, by its scheme */
    {"https://example.com", "https://example.com/**", NULL},
    {"http://localhost:8080", "http://localhost:8080/**", NULL},
    {"ssh://git.example.com", "ssh://git.example.com/**", NULL},
    {"HTTP://H", "http://h/**", NULL},
    {"https://**", "https://**", NULL},

    /* with a path it is that URL or pattern */
    {"https://example.com/", "https://example.com/", NULL},
    {"http://h/a/b?c=d", "http://h/a/b?c=d", NULL},
    {"http://h/a#part", "http://h/a", NULL},
    {"http://H:8080/X*", "http://h:8080/X*", NULL},
    {"example.com/v1/**", "https://example.com/v1/**", NULL},
    {"http://h/a/../b", "http://h/b", NULL},

    /* what grants nothing is a mistake */
    {"", NULL, "--fetch needs a URL or the name of a host"},
    {"a b", NULL, "--fetch a b: the URL contains a byte that URLs cannot contain"},
    {"b\xc3\xbc"
     "cher.de",
     NULL,
     "--fetch b\xc3\xbc"
     "cher.de: the URL contains a byte that URLs cannot contain"},
    {"you@example.com", NULL, "--fetch you@example.com: the URL contains user information"},
    {"example.com:http", NULL, "--fetch example.com:http: the URL's host or port is malformed"},
    {"example.com:65536", NULL, "--fetch example.com:65536: the URL's host or port is malformed"},
    {"example.com.", NULL, "--fetch example.com.: the name of the host must not end with a dot"},
    {"https://", NULL, "--fetch https://: the URL's host or port is malformed"},
    {"/etc/passwd", NULL, "--fetch /etc/passwd: the URL's host or port is malformed"},
    {"file:///etc/passwd", NULL,
     "--fetch file:///etc/passwd: URLs of this scheme cannot be fetched"},
    {"a*b c", NULL, "--fetch a*b c: no URL matches it (expected HOST, HOST:PORT or a URL)"},
    {"\xff*", NULL, "--fetch ?* is not UTF-8"},
};

static void a_value_of_fetch_is_a_pattern(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__arena arena = {0};
        arcp_error err = {0};
        print_message("  %s\n", rows[i].given);
        const char *pattern = arcp__run_fetch_pattern(&arena, rows[i].given, &err);
        if (rows[i].pattern != NULL) {
            assert_non_null(pattern);
            assert_string_equal(pattern, rows[i].pattern);
        } else {
            assert_null(pattern);
            assert_int_equal(err.status, ARCP_E_USAGE);
            assert_string_equal(err.message, rows[i].error);
        }
        arcp__arena_fini(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_of_fetch_is_a_pattern),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
