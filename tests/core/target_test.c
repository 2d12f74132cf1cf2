/* Canonical targets, rule by rule: docs/leases.md, Canonical targets. */
#include "support/check.h"

#include "core/target.h"

typedef struct row {
    const char *name;
    arcp__capability capability;
    const char *target;
    arcp_deny_reason reason;
    const char *canonical; /* NULL: the target itself, not copied */
} row;

#define PATH       ARCP__CAPABILITY_FS_READ
#define WRITE      ARCP__CAPABILITY_FS_WRITE
#define URL        ARCP__CAPABILITY_NET_FETCH
#define TOOL       ARCP__CAPABILITY_TOOL_CALL
#define AGENT      ARCP__CAPABILITY_AGENT_DELEGATE
#define MODEL      ARCP__CAPABILITY_MODEL_USE
#define OTHER      ARCP__CAPABILITY_VENDOR
#define FINE       ARCP_DENY_NONE
#define NO(reason) ARCP_DENY_##reason, NULL

static const row rows[] = {
    /* Paths. */
    {"a canonical path is not copied", PATH, "/data/a/b.txt", FINE, NULL},
    {"the root is a path", PATH, "/", FINE, NULL},
    {"repeated slashes are one", PATH, "//data///a", FINE, "/data/a"},
    {"a slash at the end goes", WRITE, "/data/a/", FINE, "/data/a"},
    {"dot segments go", PATH, "/data/./a/.", FINE, "/data/a"},
    {"dot-dot takes the segment before it", PATH, "/data/a/../b", FINE, "/data/b"},
    {"an absolute path stays at the root", PATH, "/../../etc", FINE, "/etc"},
    {"everything may be taken back to the root", PATH, "/a/b/../..", FINE, "/"},
    {"three dots are a name", PATH, "/a/.../b", FINE, NULL},
    {"a name may begin with dots", PATH, "/a/..b/.c", FINE, NULL},
    {"a name may end with dots", PATH, "/a/b../c.", FINE, NULL},
    {"bytes of a path are opaque", PATH, "/a/\n\\\x01\xff%2e%2e", FINE, NULL},
    {"a path is never a URL", PATH, "https://h/../x", FINE, "https:/x"},
    {"a relative path stays relative", PATH, "a/./b", FINE, "a/b"},
    {"a relative path may go up and down", PATH, "a/../b/c", FINE, "b/c"},
    {"a relative path does not climb", PATH, "../a", NO(ESCAPES_BASE)},
    {"a relative path does not climb on its way", PATH, "a/../../b/a", NO(ESCAPES_BASE)},
    {"a relative path is not the directory", PATH, "a/..", NO(BASE_ITSELF)},
    {"dot is the directory", PATH, ".", NO(BASE_ITSELF)},
    {"dot-dot climbs", WRITE, "..", NO(ESCAPES_BASE)},
    /* URLs: the scheme. */
    {"a canonical URL is not copied", URL, "https://h.example/a/b?c=d", FINE, NULL},
    {"the scheme is in lower case", URL, "HTTPS://h/", FINE, "https://h/"},
    {"a scheme may have digits, plus, minus and dots", URL, "a1+b-c.d://h", FINE, NULL},
    {"a scheme begins with a letter", URL, "1a://h/", NO(NOT_A_URL)},
    {"there is a scheme", URL, "//h/a", NO(NOT_A_URL)},
    {"a path is no URL", URL, "/a/b", NO(NOT_A_URL)},
    {"a name is no URL", URL, "host", NO(NOT_A_URL)},
    {"an underscore is not for schemes", URL, "a_b://h/", NO(NOT_A_URL)},
    {"files are not fetched", URL, "file:///etc/passwd", NO(SCHEME_NOT_FETCHABLE)},
    {"files are not fetched in capitals", URL, "FiLe://h/etc", NO(SCHEME_NOT_FETCHABLE)},
    {"a scheme may begin like file", URL, "files://h/etc", FINE, NULL},
    {"a URL needs both slashes", URL, "https:/h/", NO(SCHEME_NOT_FETCHABLE)},
    {"data is not fetched", URL, "data:,x", NO(SCHEME_NOT_FETCHABLE)},
    /* URLs: bytes. */
    {"a space is refused", URL, "https://h/a b", NO(BAD_BYTE)},
    {"a tab is refused", URL, "https://h/a\tb", NO(BAD_BYTE)},
    {"a newline at the end is refused", URL, "https://h/a\n", NO(BAD_BYTE)},
    {"a delete is refused", URL, "https://h/a\x7f", NO(BAD_BYTE)},
    {"bytes beyond ASCII are refused", URL, "https://h/\xc3\xa9", NO(BAD_BYTE)},
    {"a backslash is refused", URL, "https://h\\@evil/", NO(BAD_BYTE)},
    {"the lowest and highest bytes that are fine", URL, "https://h/!~", FINE, NULL},
    {"bytes are looked at before anything else", URL, "no url at all", NO(BAD_BYTE)},
    {"a bad byte counts in a fragment too", URL, "https://h/#a b", NO(BAD_BYTE)},
    /* URLs: the authority. */
    {"the host is in lower case", URL, "https://API.Example.COM/Path", FINE,
     "https://api.example.com/Path"},
    {"so it is for ftp", URL, "ftp://H.example/A", FINE, "ftp://h.example/A"},
    {"and for WebSockets", URL, "wss://H/A", FINE, "wss://h/A"},
    {"other schemes keep their host", URL, "s3://Bucket/Key", FINE, NULL},
    {"user names are refused", URL, "https://u@h/", NO(USERINFO)},
    {"passwords are refused", URL, "https://u:p@h/", NO(USERINFO)},
    {"a user name comes before a bad host", URL, "https://u@h%/", NO(USERINFO)},
    {"an at sign in the path is fine", URL, "https://h/@a", FINE, NULL},
    {"an at sign in the query is fine", URL, "https://h/?@a", FINE, NULL},
    {"there is a host", URL, "https:///a", NO(BAD_AUTHORITY)},
    {"a port alone is no host", URL, "https://:80/", NO(BAD_AUTHORITY)},
    {"escapes are not for hosts", URL, "https://h%41/", NO(BAD_AUTHORITY)},
    {"a second colon is refused", URL, "https://h:1:2/", NO(BAD_AUTHORITY)},
    {"underscore, minus and dot are for hosts", URL, "https://a_b-c.d/", FINE, NULL},
    {"a plus is not", URL, "https://a+b/", NO(BAD_AUTHORITY)},
    {"port 1", URL, "https://h:1/", FINE, NULL},
    {"port 0", URL, "https://h:0/", NO(BAD_AUTHORITY)},
    {"port 65535", URL, "https://h:65535/", FINE, NULL},
    {"port 65536", URL, "https://h:65536/", NO(BAD_AUTHORITY)},
    {"five digits", URL, "https://h:00443/", FINE, NULL},
    {"six digits", URL, "https://h:000443/", NO(BAD_AUTHORITY)},
    {"an empty port", URL, "https://h:/", NO(BAD_AUTHORITY)},
    {"a port is a number", URL, "https://h:8a/", NO(BAD_AUTHORITY)},
    {"default ports stay", URL, "https://h:443/", FINE, NULL},
    {"an IPv6 address", URL, "https://[2001:db8::1]:8443/", FINE, NULL},
    {"an IPv6 address in lower case", URL, "https://[2001:DB8::A]/", FINE,
     "https://[2001:db8::a]/"},
    {"an IPv6 address with an IPv4 tail", URL, "http://[::ffff:10.0.0.1]/", FINE, NULL},
    {"a zone is refused", URL, "https://[fe80::1%25eth0]/", NO(BAD_AUTHORITY)},
    {"a bracket that stays open", URL, "https://[::1/", NO(BAD_AUTHORITY)},
    {"a bracket inside", URL, "https://h[::1]/", NO(BAD_AUTHORITY)},
    {"nothing between brackets", URL, "https://[]/", NO(BAD_AUTHORITY)},
    {"no address between brackets", URL, "https://[1:2]/", NO(BAD_AUTHORITY)},
    {"something behind the brackets", URL, "https://[::1]x/", NO(BAD_AUTHORITY)},
    /* URLs: path, query, fragment. */
    {"an empty path becomes a slash", URL, "https://h", FINE, "https://h/"},
    {"also before a query", URL, "http://h?a", FINE, "http://h/?a"},
    {"also with a port", URL, "http://h:80", FINE, "http://h:80/"},
    {"not for other schemes", URL, "s3://h", FINE, NULL},
    {"not for WebSockets", URL, "ws://h", FINE, NULL},
    {"a fragment is dropped", URL, "https://h/a#b/../c", FINE, "https://h/a"},
    {"a fragment may come behind the host", URL, "https://h#a", FINE, "https://h/"},
    {"a malformed escape in a fragment is gone with it", URL, "https://h/a#%", FINE, "https://h/a"},
    {"dot segments are resolved", URL, "https://h/a/./b/../c", FINE, "https://h/a/c"},
    {"dot segments at the end leave a slash", URL, "https://h/a/b/..", FINE, "https://h/a/"},
    {"dot segments stay at the root", URL, "https://h/../../a", FINE, "https://h/a"},
    {"dots in a query are nothing", URL, "https://h/a?b=/../c", FINE, NULL},
    {"three dots are a segment", URL, "https://h/.../a", FINE, NULL},
    {"empty segments stay", URL, "https://h//a//", FINE, NULL},
    {"dot segments and empty ones", URL, "https://h//a/../b", NO(AMBIGUOUS_DOT_SEGMENT)},
    {"an empty segment behind the dots", URL, "https://h/a/..//b", NO(AMBIGUOUS_DOT_SEGMENT)},
    {"a slash at the end is no empty segment", URL, "https://h/a/../b/", FINE, "https://h/b/"},
    {"slashes in a query are no segments", URL, "https://h/a/../b?c=//", FINE, "https://h/b?c=//"},
    {"other schemes have no dot segments", URL, "s3://h/a/../b", NO(DOT_SEGMENT)},
    {"nor have WebSockets", URL, "wss://h/./b", NO(DOT_SEGMENT)},
    {"both rules: the first counts", URL, "s3://h//a/../b", NO(AMBIGUOUS_DOT_SEGMENT)},
    {"escapes stay as they are", URL, "https://h/%41%2f%2F?%20", FINE, NULL},
    {"a malformed escape", URL, "https://h/%4", NO(BAD_PERCENT)},
    {"a malformed escape in the query", URL, "https://h/?%zz", NO(BAD_PERCENT)},
    {"a percent sign alone", URL, "https://h/100%", NO(BAD_PERCENT)},
    {"escaped dots", URL, "https://h/%2e%2e/a", NO(ENCODED_DOT_SEGMENT)},
    {"one escaped dot", URL, "https://h/.%2E/a", NO(ENCODED_DOT_SEGMENT)},
    {"an escaped single dot", URL, "https://h/%2e", NO(ENCODED_DOT_SEGMENT)},
    {"escaped dots in a name are fine", URL, "https://h/a%2eb", FINE, NULL},
    {"three escaped dots are fine", URL, "https://h/%2e%2e%2e", FINE, NULL},
    {"dots escaped four times", URL, "https://h/%2525252e", NO(ENCODED_DOT_SEGMENT)},
    {"an escaped slash brings out dots", URL, "https://h/a%2f..", NO(ENCODED_DOT_SEGMENT)},
    {"so does an escaped backslash", URL, "https://h/..%5Ca", NO(ENCODED_DOT_SEGMENT)},
    {"a semicolon ends a component", URL, "https://h/..;a/b", NO(ENCODED_DOT_SEGMENT)},
    {"also an escaped one", URL, "https://h/..%3ba/b", NO(ENCODED_DOT_SEGMENT)},
    {"a semicolon behind a name is fine", URL, "https://h/a;../b", FINE, NULL},
    {"an escaped question mark ends a component", URL, "https://h/..%3f/x",
     NO(ENCODED_DOT_SEGMENT)},
    {"so does an escaped number sign", URL, "https://h/.%23/x", NO(ENCODED_DOT_SEGMENT)},
    {"and an escaped space", URL, "https://h/..%20/x", NO(ENCODED_DOT_SEGMENT)},
    {"and an escaped tab", URL, "https://h/..%09/x", NO(ENCODED_DOT_SEGMENT)},
    {"and an escaped delete", URL, "https://h/.%7f", NO(ENCODED_DOT_SEGMENT)},
    {"a tab among dots", URL, "https://h/.%0a./x", NO(ENCODED_DOT_SEGMENT)},
    {"spaces before dots", URL, "https://h/%20%09../x", NO(ENCODED_DOT_SEGMENT)},
    {"escaped twice", URL, "https://h/..%253f/x", NO(ENCODED_DOT_SEGMENT)},
    {"behind an escaped slash", URL, "https://h/a%2f..%3fb", NO(ENCODED_DOT_SEGMENT)},
    {"a question mark behind a name is fine", URL, "https://h/a%3f../b", FINE, NULL},
    {"a space in a name is fine", URL, "https://h/a%20..%20b%23", FINE, NULL},
    {"dots behind a question mark are fine", URL, "https://h/%3f../b", FINE, NULL},
    {"a space alone is fine", URL, "https://h/%20/b", FINE, NULL},
    {"escaped four times, nothing hidden", URL, "https://h/%25252541", FINE, NULL},
    {"escaped five times", URL, "https://h/%2525252541", NO(ENCODED_DOT_SEGMENT)},
    {"an escaped NUL", URL, "https://h/a%00b", NO(ENCODED_DOT_SEGMENT)},
    {"an overlong dot", URL, "https://h/%c0%ae%C0%AE/a", NO(ENCODED_DOT_SEGMENT)},
    {"an overlong slash, escaped twice", URL, "https://h/a%25c0%25afb", NO(ENCODED_DOT_SEGMENT)},
    {"the largest overlong form of two bytes", URL, "https://h/%c1%bf", NO(ENCODED_DOT_SEGMENT)},
    {"the smallest form of two bytes", URL, "https://h/%c2%80", FINE, NULL},
    {"the largest overlong form of three", URL, "https://h/%e0%9f%bf", NO(ENCODED_DOT_SEGMENT)},
    {"the smallest form of three", URL, "https://h/%e0%a0%80", FINE, NULL},
    {"the largest overlong form of four", URL, "https://h/%f0%8f%bf%bf", NO(ENCODED_DOT_SEGMENT)},
    {"the smallest form of four", URL, "https://h/%f0%90%80%80", FINE, NULL},
    {"Latin-1 is fine", URL, "https://h/caf%e9", FINE, NULL},
    {"also where it begins like UTF-8", URL, "https://h/%e0%41%80", FINE, NULL},
    {"an overlong dot in a query is fine", URL, "https://h/?%c0%ae", FINE, NULL},
    {"a NUL escaped twice", URL, "https://h/a%2500b", NO(ENCODED_DOT_SEGMENT)},
    {"a malformed escape comes before a hidden one", URL, "https://h/%2e/%", NO(BAD_PERCENT)},
    {"hidden dots come before ambiguous ones", URL, "https://h//../%2e", NO(ENCODED_DOT_SEGMENT)},
    {"escaped dots in a query are fine", URL, "https://h/?%2e%2e/", FINE, NULL},
    /* Names. */
    {"a tool's name is as it is", TOOL, "Web.Search:v2 (beta)", FINE, NULL},
    {"an agent's name is as it is", AGENT, "pdf-renderer@1.2.3", FINE, NULL},
    {"a model's name is as it is", MODEL, "openai//gpt-4o/", FINE, NULL},
    {"a name may be UTF-8", OTHER, "caf\xc3\xa9/\xf0\x9f\x8d\xb5", FINE, NULL},
    {"a name must be UTF-8", TOOL, "a\xff", NO(BAD_UTF8)},
    {"overlong forms are not", MODEL, "a\xc0\xaf", NO(BAD_UTF8)},
    {"surrogates are not", MODEL, "a\xed\xa0\x80", NO(BAD_UTF8)},
    {"bad UTF-8 comes before control bytes", TOOL, "\x01\xff", NO(BAD_UTF8)},
    {"control bytes are refused", TOOL, "a\x1f", NO(CONTROL_BYTE)},
    {"a delete is one", AGENT, "a\x7f", NO(CONTROL_BYTE)},
    {"a space is none", TOOL, "a b", FINE, NULL},
    {"a control byte comes before a dot segment", TOOL, "../\x01", NO(CONTROL_BYTE)},
    {"dot-dot between slashes is refused", TOOL, "mcp/../admin", NO(DOT_SEGMENT)},
    {"dot at the beginning is refused", OTHER, "./a", NO(DOT_SEGMENT)},
    {"dot-dot at the end is refused", AGENT, "a/..", NO(DOT_SEGMENT)},
    {"dots alone are refused", MODEL, "..", NO(DOT_SEGMENT)},
    {"dots between dots are fine", TOOL, "web..search", FINE, NULL},
    {"a name may begin with a dot", MODEL, ".a/..b", FINE, NULL},
    /* Capabilities. */
    {"amounts are no targets", ARCP__CAPABILITY_COST_BUDGET, "USD:1", NO(UNKNOWN_CAPABILITY)},
    {"there must be a capability", ARCP__CAPABILITY_UNKNOWN, "x", NO(UNKNOWN_CAPABILITY)},
    {"empty comes before the capability", ARCP__CAPABILITY_UNKNOWN, "", NO(EMPTY)},
    {"an empty path", PATH, "", NO(EMPTY)},
    {"an empty URL", URL, "", NO(EMPTY)},
    {"an empty name", TOOL, "", NO(EMPTY)},
};

static arcp_target_scratch scratch;

static arcp_deny_reason canonicalise(arcp__capability capability, arcp_span target,
                                     arcp_span *canonical)
{
    return arcp__target_canonicalise(capability, ARCP_SPAN_LITERAL("/job"), target, &scratch,
                                     canonical);
}

static void check_row(void **state)
{
    const row *r = *state;
    const arcp_span target = arcp_span_cstr(r->target);
    arcp_span canonical = ARCP_SPAN_LITERAL("untouched");
    const arcp_deny_reason reason = canonicalise(r->capability, target, &canonical);
    assert_string_equal(reason == FINE ? "" : arcp_deny_reason_name(reason),
                        r->reason == FINE ? "" : arcp_deny_reason_name(r->reason));
    if (reason != FINE) {
        check_span(canonical, "untouched");
    } else if (r->canonical == NULL) {
        check_span(canonical, r->target);
        assert_ptr_equal(canonical.data, r->target);
    } else {
        check_span(canonical, r->canonical);
    }
}

static void a_nul_is_refused_in_every_capability(void **state)
{
    (void)state;
    static const char *const texts[] = {"/a\0b", "https://h/\0", "a\0b"};
    static const size_t sizes[] = {4, 11, 3};
    for (arcp__capability i = 0; i < ARCP__CAPABILITY_COUNT; i++) {
        for (size_t k = 0; k < 3; k++) {
            arcp_span canonical;
            assert_int_equal(canonicalise(i, arcp_span_make(texts[k], sizes[k]), &canonical),
                             ARCP_DENY_NUL);
        }
    }
}

/* A target of so many bytes: a beginning and then letters. */
static arcp_span long_target(const char *beginning, size_t size)
{
    static char bytes[ARCP_TARGET_BYTES_MAX + 2];
    memset(bytes, 'x', sizeof bytes);
    memcpy(bytes, beginning, strlen(beginning));
    return arcp_span_make(bytes, size);
}

static void sixteen_kib_are_not_too_long_and_one_byte_more_is(void **state)
{
    (void)state;
    static const struct {
        arcp__capability capability;
        const char *beginning;
    } kinds[] = {{PATH, "/"}, {PATH, "//"}, {URL, "https://h/"}, {URL, "HTTPS://h/"}, {TOOL, "x"}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        arcp_span canonical;
        assert_int_equal(canonicalise(kinds[i].capability,
                                      long_target(kinds[i].beginning, ARCP_TARGET_BYTES_MAX),
                                      &canonical),
                         FINE);
        assert_int_equal(canonicalise(kinds[i].capability,
                                      long_target(kinds[i].beginning, ARCP_TARGET_BYTES_MAX + 1),
                                      &canonical),
                         ARCP_DENY_TOO_LONG);
    }
}

static void too_long_comes_before_the_capability_and_behind_a_nul(void **state)
{
    (void)state;
    arcp_span target = long_target("x", ARCP_TARGET_BYTES_MAX + 1);
    arcp_span canonical;
    assert_int_equal(canonicalise(ARCP__CAPABILITY_UNKNOWN, target, &canonical),
                     ARCP_DENY_TOO_LONG);
    target = long_target("a\\b", ARCP_TARGET_BYTES_MAX + 1);
    static char copy[ARCP_TARGET_BYTES_MAX + 1];
    memcpy(copy, target.data, target.size);
    copy[100] = '\0';
    assert_int_equal(canonicalise(URL, arcp_span_make(copy, target.size), &canonical),
                     ARCP_DENY_NUL);
}

static void a_url_that_only_fits_without_its_slash_is_too_long(void **state)
{
    (void)state;
    arcp_span canonical;
    assert_int_equal(
        canonicalise(URL, long_target("https://h", ARCP_TARGET_BYTES_MAX - 1), &canonical), FINE);
    assert_int_equal(canonical.size, ARCP_TARGET_BYTES_MAX);
    assert_int_equal(canonicalise(URL, long_target("https://h", ARCP_TARGET_BYTES_MAX), &canonical),
                     ARCP_DENY_TOO_LONG);
}

static void a_relative_path_needs_a_directory_to_be_below(void **state)
{
    (void)state;
    arcp_span canonical;
    const arcp_span none = ARCP_SPAN_LITERAL("");
    assert_int_equal(
        arcp__target_canonicalise(PATH, none, ARCP_SPAN_LITERAL("a/b"), &scratch, &canonical),
        ARCP_DENY_ESCAPES_BASE);
    assert_int_equal(
        arcp__target_canonicalise(PATH, none, ARCP_SPAN_LITERAL("/a/./b"), &scratch, &canonical),
        FINE);
    check_span(canonical, "/a/b");
}

/* The check of eight bytes at a time must find each byte, at each place. */
static void an_odd_byte_is_found_at_every_place(void **state)
{
    (void)state;
    for (size_t size = 13; size < 44; size++) {
        for (size_t i = 12; i < size; i++) {
            char bytes[64];
            arcp_span canonical;
            memset(bytes, 'x', sizeof bytes);
            const arcp_span target = arcp_span_make(bytes, size);

            bytes[0] = '/';
            bytes[i - 1] = '/';
            bytes[i] = '/';
            assert_int_equal(canonicalise(PATH, target, &canonical), FINE);
            assert_int_equal(canonical.size, size - (i + 1 == size ? 2 : 1));

            memset(bytes, 'x', sizeof bytes);
            bytes[i] = '\x7f';
            assert_int_equal(canonicalise(TOOL, target, &canonical), ARCP_DENY_CONTROL_BYTE);

            memcpy(bytes, "https://h/xxxxx", 15);
            bytes[i] = '\\';
            assert_int_equal(canonicalise(URL, target, &canonical), ARCP_DENY_BAD_BYTE);
            bytes[i] = '#';
            assert_int_equal(canonicalise(URL, target, &canonical), FINE);
            assert_int_equal(canonical.size, i);
            bytes[i] = '%';
            assert_int_equal(canonicalise(URL, target, &canonical), ARCP_DENY_BAD_PERCENT);

            /* A dot between slashes, or at the end. */
            memcpy(bytes, "https://h/xxxxx", 15);
            bytes[i - 1] = '/';
            bytes[i] = '.';
            bytes[i + 1] = '/';
            assert_int_equal(canonicalise(URL, target, &canonical), FINE);
            assert_true(canonical.size < size);
            memcpy(bytes, "xxxxxxxxx", 9);
            assert_int_equal(canonicalise(TOOL, target, &canonical), ARCP_DENY_DOT_SEGMENT);
        }
    }
}

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test(a_nul_is_refused_in_every_capability),
        cmocka_unit_test(sixteen_kib_are_not_too_long_and_one_byte_more_is),
        cmocka_unit_test(too_long_comes_before_the_capability_and_behind_a_nul),
        cmocka_unit_test(a_url_that_only_fits_without_its_slash_is_too_long),
        cmocka_unit_test(a_relative_path_needs_a_directory_to_be_below),
        cmocka_unit_test(an_odd_byte_is_found_at_every_place),
    };
    const int failed = run_rows(rows, sizeof rows / sizeof rows[0], sizeof rows[0], check_row);
    return failed + cmocka_run_group_tests(others, NULL, NULL);
}
