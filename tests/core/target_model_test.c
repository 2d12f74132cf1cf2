/* Canonical targets against the model, and against the machine that the subset search asks
 * (target_shape.h): over all short strings, and over random ones with nested escapes. */
#include "support/check.h"

#include <arpa/inet.h>

#include "core/strings.h"
#include "core/target.h"
#include "core/target_model.h"
#include "core/target_shape.h"
#include "core/target_url.h"

static arcp__capability capability_of(arcp__target_kind kind)
{
    return kind == ARCP__TARGET_PATH   ? ARCP__CAPABILITY_FS_READ
           : kind == ARCP__TARGET_URL  ? ARCP__CAPABILITY_NET_FETCH
           : kind == ARCP__TARGET_TOOL ? ARCP__CAPABILITY_TOOL_CALL
                                       : ARCP__CAPABILITY_MODEL_USE;
}

static arcp__shape run_shape(arcp__target_kind kind, arcp__shape shape, arcp_span text)
{
    for (size_t i = 0; i < text.size && shape != ARCP__SHAPE_DEAD; i++) {
        shape = arcp__shape_step(kind, shape, (unsigned char)text.data[i]);
    }
    return shape;
}

static bool is_canonical_shape(arcp__target_kind kind, arcp_span text)
{
    return arcp__shape_is_target(kind, run_shape(kind, ARCP__SHAPE_START, text));
}

static void check_target(arcp__target_kind kind, arcp_span target)
{
    static arcp_target_scratch scratch;
    static arcp_target_scratch again;
    arcp_buf want = arcp_buf_init();
    const arcp_deny_reason want_reason = model_canonicalise(kind, true, target, &want);
    arcp_span canonical = ARCP_SPAN_LITERAL("");
    const arcp_deny_reason reason = arcp__target_canonicalise(
        capability_of(kind), ARCP_SPAN_LITERAL("/job"), target, &scratch, &canonical);
    if (reason != want_reason || !arcp_span_equal(canonical, arcp_buf_span(&want))) {
        fail_msg("\"%.*s\": %s \"%.*s\", want %s \"%.*s\"", (int)target.size, target.data,
                 arcp_deny_reason_name(reason), (int)canonical.size, canonical.data,
                 arcp_deny_reason_name(want_reason), (int)want.size, want.data);
    }
    const bool is_same = reason == ARCP_DENY_NONE && arcp_span_equal(canonical, target);
    if (is_same != is_canonical_shape(kind, target)) {
        fail_msg("\"%.*s\": the shape says %d", (int)target.size, target.data, !is_same);
    }
    if (reason == ARCP_DENY_NONE) {
        /* What is canonical already is not copied, and stays as it is. */
        assert_true((canonical.data == target.data) == is_same);
        arcp_span twice = ARCP_SPAN_LITERAL("");
        assert_int_equal(arcp__target_canonicalise(capability_of(kind), ARCP_SPAN_LITERAL("/job"),
                                                   canonical, &again, &twice),
                         ARCP_DENY_NONE);
        assert_ptr_equal(twice.data, canonical.data);
        assert_int_equal(twice.size, canonical.size);
    }
    arcp_buf_fini(&want);
}

/* All strings made of a beginning and up to `size` bytes of an alphabet. */
static void check_all(arcp__target_kind kind, const char *beginning, const char *alphabet,
                      size_t size)
{
    char text[64];
    const size_t begin = strlen(beginning);
    memcpy(text, beginning, begin);
    all_strings strings;
    all_strings_begin(&strings, alphabet, size);
    do {
        memcpy(text + begin, strings.text, strings.size);
        check_target(kind, arcp_span_make(text, begin + strings.size));
    } while (all_strings_next(&strings));
}

static void all_short_paths_agree_with_the_model(void **state)
{
    (void)state;
    check_all(ARCP__TARGET_PATH, "", "/.a\xff", 7);
    check_all(ARCP__TARGET_PATH, "/abcdef/g", "/.a", 6);
    check_all(ARCP__TARGET_PATH, "/abcdefghijklmn", "/.a", 6);
}

static void all_short_names_agree_with_the_model(void **state)
{
    (void)state;
    check_all(ARCP__TARGET_NAME, "", "/.a\x1f\x7f", 6);
    check_all(ARCP__TARGET_TOOL, "abcdef/", "/.a\x80", 5);
    check_all(ARCP__TARGET_NAME, "abcdefghijklmn", "/.a", 5);
    check_all(ARCP__TARGET_NAME, "",
              "\x41\x80\x8f\x90\x9f\xa0\xbf\xc1\xc2\xdf\xe0\xed\xef\xf0\xf4\xf5", 4);
}

static void all_short_schemes_agree_with_the_model(void **state)
{
    (void)state;
    check_all(ARCP__TARGET_URL, "", "htps:/3", 6);
    check_all(ARCP__TARGET_URL, "fil", "e:/Fx", 6);
    check_all(ARCP__TARGET_URL, "ht", "tTp:/s", 7);
    static const char *const schemes[] = {"http", "https", "ws",   "wss",  "ftp",   "file",
                                          "FILE", "s3",    "HtTp", "a+b",  "-a",    "1a",
                                          "fil",  "files", "wsss", "ftps", "httpx", ""};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        check_all(ARCP__TARGET_URL, schemes[i], ":/hH?", 6);
    }
}

static void all_short_authorities_agree_with_the_model(void **state)
{
    (void)state;
    check_all(ARCP__TARGET_URL, "http://", "aA.:06[]@%", 4);
    check_all(ARCP__TARGET_URL, "s3://", "aA_:0/?#", 5);
    check_all(ARCP__TARGET_URL, "http://h:", "0156/", 6);
    check_all(ARCP__TARGET_URL, "ws://h:6553", "456/", 4);
    check_all(ARCP__TARGET_URL, "http://[", ":1aF.]", 6);
    check_all(ARCP__TARGET_URL, "x://[::", "12.:]", 7);
    check_all(ARCP__TARGET_URL, "http://[1:2:3:4:5:6", ":17.]/", 5);
}

static void all_short_url_paths_agree_with_the_model(void **state)
{
    (void)state;
    check_all(ARCP__TARGET_URL, "http://h", "/.?#;a", 6);
    check_all(ARCP__TARGET_URL, "s3://h", "/.?#a", 6);
    check_all(ARCP__TARGET_URL, "http://h/", "/.%2eE5", 5);
    check_all(ARCP__TARGET_URL, "http://h/%2", "eEf5/;.", 5);
    check_all(ARCP__TARGET_URL, "http://h/abcdef", "/.%\\ $", 5);
    check_all(ARCP__TARGET_URL, "http://h/%e0", "%89afAF", 4);
    check_all(ARCP__TARGET_URL, "http://h/%25f0", "%2589a", 5);
    check_all(ARCP__TARGET_URL, "http://h/%", "cC01ef/", 3);
    check_all(ARCP__TARGET_URL, "http://h?", "%/2g", 5);
}

/* A segment that is dots, slashes or something harmless after it has been decoded a number of
 * times: each round of encoding hits each byte or not. */
static void make_escaped(uint64_t *random, char *out, size_t capacity)
{
    static const char plain[] = "..././\\;aa%2e5\xe0\x80\x9f\xa0\xf0\x8f\x90\xc0\xc3\xa9";
    char now[4096];
    size_t size = random_below(random, 5);
    for (size_t i = 0; i < size; i++) {
        now[i] = plain[random_below(random, sizeof plain - 1)];
        if (random_below(random, 40) == 0) {
            now[i] = '\0';
        }
    }
    const size_t rounds = random_below(random, 7);
    const size_t rate = 1 + random_below(random, 3);
    for (size_t round = 0; round < rounds; round++) {
        char next[4096];
        size_t to = 0;
        for (size_t i = 0; i < size && to + 4 < capacity && to + 4 < sizeof next; i++) {
            if (random_below(random, rate) == 0) {
                const char *digits =
                    random_below(random, 2) == 0 ? "0123456789abcdef" : "0123456789ABCDEF";
                next[to++] = '%';
                next[to++] = digits[(unsigned char)now[i] / 16];
                next[to++] = digits[(unsigned char)now[i] % 16];
            } else {
                next[to++] = now[i];
            }
        }
        memcpy(now, next, to);
        size = to;
    }
    for (size_t i = 0; i < size; i++) {
        out[i] = now[i] <= '\0' || now[i] == '\\' ? 'n' : now[i];
    }
    out[size] = '\0';
}

static void random_nested_escapes_agree_with_the_model(void **state)
{
    (void)state;
    uint64_t random = 1;
    size_t hidden = 0;
    for (int i = 0; i < 60000; i++) {
        char first[300];
        char second[300];
        char url[700];
        make_escaped(&random, first, sizeof first);
        make_escaped(&random, second, sizeof second);
        const int size = snprintf(url, sizeof url, "http://h/%s/%s", first, second);
        const arcp_span target = arcp_span_make(url, (size_t)size);
        check_target(ARCP__TARGET_URL, target);
        arcp_buf ignored = arcp_buf_init();
        hidden += model_canonicalise(ARCP__TARGET_URL, true, target, &ignored) ==
                  ARCP_DENY_ENCODED_DOT_SEGMENT;
        arcp_buf_fini(&ignored);
    }
    assert_in_range(hidden, 10000, 50000);
}

static bool reads_as_ipv6(arcp_span text)
{
    uint32_t address = ARCP__IPV6_START;
    for (size_t i = 0; i < text.size; i++) {
        if (!arcp__ipv6_feed(&address, (unsigned char)text.data[i])) {
            return false;
        }
    }
    return arcp__ipv6_may_end(address);
}

static void check_ipv6(arcp_span text)
{
    char copy[64] = {0};
    memcpy(copy, text.data, text.size);
    struct in6_addr parsed;
    const bool want = inet_pton(AF_INET6, copy, &parsed) == 1;
    if (reads_as_ipv6(text) != want) {
        fail_msg("\"%s\" %s an IPv6 address", copy, want ? "is" : "is not");
    }
}

static void ipv6_addresses_are_those_that_the_system_accepts(void **state)
{
    (void)state;
    all_strings strings;
    all_strings_begin(&strings, ":1f.", 8);
    do {
        check_ipv6(all_strings_span(&strings));
    } while (all_strings_next(&strings));
    /* Longer ones, put together from likely pieces. */
    static const char *const pieces[] = {":",     "::",      "1",    "12",  "ffff",   "0",
                                         "00",    "255",     "256",  "1.2", ".3",     "abcd",
                                         "12345", "1:2:3:4", "5:6:", "01",  "1.2.3.4"};
    uint64_t random = 2;
    size_t good = 0;
    for (int i = 0; i < 400000; i++) {
        char text[64] = "";
        size_t size = 0;
        const size_t count = 1 + random_below(&random, 9);
        for (size_t k = 0; k < count; k++) {
            const char *piece = pieces[random_below(&random, sizeof pieces / sizeof pieces[0])];
            if (size + strlen(piece) < 46) {
                memcpy(text + size, piece, strlen(piece) + 1);
                size += strlen(piece);
            }
        }
        check_ipv6(arcp_span_cstr(text));
        good += reads_as_ipv6(arcp_span_cstr(text));
    }
    assert_true(good > 1000);
}

enum { STATES_MAX = 1500 };

/* Collects the distinct states that short strings after a beginning lead to. */
static size_t collect_states(arcp__target_kind kind, const char *beginning, const char *alphabet,
                             size_t size, arcp__shape *states, size_t count)
{
    const arcp__shape first = run_shape(kind, ARCP__SHAPE_START, arcp_span_cstr(beginning));
    all_strings strings;
    all_strings_begin(&strings, alphabet, size);
    do {
        const arcp__shape shape = run_shape(kind, first, all_strings_span(&strings));
        bool is_known = shape == ARCP__SHAPE_DEAD || shape == ARCP__SHAPE_START;
        for (size_t i = 0; i < count; i++) {
            is_known = is_known || states[i] == shape;
        }
        if (!is_known && count < STATES_MAX) {
            states[count++] = shape;
        }
    } while (all_strings_next(&strings));
    return count;
}

/* Every continuation that completes a target from `b` must complete one from `a`. */
static void check_covers(arcp__target_kind kind, arcp__shape a, arcp__shape b,
                         const char *const *endings)
{
    for (; *endings != NULL; endings++) {
        const arcp_span ending = arcp_span_cstr(*endings);
        if (arcp__shape_is_target(kind, run_shape(kind, b, ending)) &&
            !arcp__shape_is_target(kind, run_shape(kind, a, ending))) {
            fail_msg("%llx does not cover %llx: %s", (unsigned long long)a, (unsigned long long)b,
                     *endings);
        }
    }
}

/* Where states are collected. */
static const struct {
    arcp__target_kind kind;
    const char *beginning;
    const char *alphabet;
    size_t size;
} cover_rows[] = {
    {ARCP__TARGET_PATH, "", "/.a", 5},
    {ARCP__TARGET_NAME, "", "/.a\xc3\xa9", 4},
    {ARCP__TARGET_URL, "", "htps:/", 5},
    {ARCP__TARGET_URL, "http://", "a:/[", 3},
    {ARCP__TARGET_URL, "x://", "aA:/?[", 3},
    {ARCP__TARGET_URL, "x://h:", "0167", 4},
    {ARCP__TARGET_URL, "x://[", ":12a.", 5},
    {ARCP__TARGET_URL, "x://[1:2:3", ":02f.", 5},
    {ARCP__TARGET_URL, "x://[1:2:3::", ":02f.", 5},
    {ARCP__TARGET_URL, "x://h/", "/.%25e?", 4},
};

/* The bytes that may follow. */
static const char *const cover_endings[] = {"",
                                            "a",
                                            "/",
                                            "/a",
                                            ".",
                                            "./",
                                            "..",
                                            "/../",
                                            "e",
                                            "e/",
                                            "2e",
                                            "2e2e",
                                            "%2e",
                                            "%2f..",
                                            "5%2e",
                                            "252e",
                                            "2F.",
                                            "2F../",
                                            ";",
                                            "?",
                                            "?%",
                                            "?a%41",
                                            "41",
                                            "1",
                                            "2e;x",
                                            "0",
                                            "00",
                                            "5/",
                                            "65535",
                                            ":1/",
                                            ":0/",
                                            ":",
                                            "1:",
                                            "]",
                                            "]/",
                                            "::1]",
                                            ":1]",
                                            ":1]/",
                                            "1.2.3.4]",
                                            ".2.3.4]/",
                                            "5.1.1.1]",
                                            "1:2]",
                                            "://h/",
                                            "p://h/",
                                            "tp://h",
                                            "s://h",
                                            "s://h/",
                                            "://H/",
                                            "://h?",
                                            "//h/",
                                            "/h/",
                                            "h/",
                                            "ttps://h/",
                                            "tps://h/",
                                            "[::1]/",
                                            "ps://h/",
                                            ".2.3]",
                                            "25%32%65",
                                            "%25",
                                            "\xa9",
                                            "\xc3\xa9",
                                            "\x80",
                                            "2%65",
                                            "A",
                                            "B/",
                                            "a/b",
                                            "./a",
                                            "../a",
                                            "a]",
                                            "a:1]/",
                                            "ile://h/",
                                            "le://h/",
                                            "::]",
                                            "2::]",
                                            "1:2:3:4:5:6]",
                                            "1:2:3:4:5:6:7]",
                                            "1:2:3:4:5:6:7:8]",
                                            ":2:3:4:5:6:7:8]",
                                            "::2:3:4:5:6:7]",
                                            "f]",
                                            "ff]",
                                            "fff]",
                                            "ffff]",
                                            "55.1.1.1]",
                                            "5.255.0.1]",
                                            ":f:f:f:f:f:f]",
                                            ":f:f:f:f:f]",
                                            ":f:f:f:f]",
                                            ":1.1.1.1]",
                                            ":f:f:f:1.1.1.1]",
                                            "5]",
                                            "25]",
                                            "255]",
                                            "1.1.1]",
                                            ".1.1]",
                                            ".0]",
                                            "5.0]",
                                            "e://h/",
                                            "%252e",
                                            "32%65",
                                            "5c..",
                                            "c..",
                                            NULL};

static void a_state_that_covers_another_allows_all_that_it_allows(void **state)
{
    (void)state;
    arcp__shape *states = calloc(STATES_MAX, sizeof *states);
    assert_non_null(states);
    for (size_t row = 0; row < sizeof cover_rows / sizeof cover_rows[0]; row++) {
        const arcp__target_kind kind = cover_rows[row].kind;
        const size_t count =
            collect_states(kind, cover_rows[row].beginning, cover_rows[row].alphabet,
                           cover_rows[row].size, states, 0);
        size_t covers = 0;
        for (size_t a = 0; a < count; a++) {
            for (size_t b = 0; b < count; b++) {
                if (arcp__shape_covers(kind, states[a], states[b])) {
                    check_covers(kind, states[a], states[b], cover_endings);
                    covers++;
                }
            }
        }
        assert_true(covers > count); /* each covers itself, and some cover others */
    }
    free(states);
}

static void the_widest_state_allows_all_that_other_bytes_would(void **state)
{
    (void)state;
    static const char *const endings[] = {"",    "/", "/a", "2e",    "e/",   "%2e",  "41", ".",
                                          "./a", ";", "?",  "%2f..", "2F..", "/../", NULL};
    static const char *const beginnings[] = {
        "/",       "/a",      "/.",       "/..",        "/a/",    "x://h/",   "x://h/a",
        "x://h/.", "x://h/%", "x://h/%2", "x://h/%252", "x://h?", "x://h?%4", NULL};
    for (arcp__target_kind kind = ARCP__TARGET_PATH; kind <= ARCP__TARGET_NAME; kind++) {
        for (size_t i = 0; beginnings[i] != NULL; i++) {
            const arcp__shape before =
                run_shape(kind, ARCP__SHAPE_START, arcp_span_cstr(beginnings[i]));
            const arcp__shape widest = arcp__shape_step(kind, before, 'x');
            if (!arcp__shape_is_widest(kind, widest)) {
                continue;
            }
            /* A character of several bytes is replaced as a whole: see glob_search.c. */
            for (int byte = 1; byte < 0x80; byte++) {
                const arcp__shape shape = arcp__shape_step(kind, before, (unsigned char)byte);
                if (byte != '/' && byte != '?' && shape != ARCP__SHAPE_DEAD) {
                    check_covers(kind, widest, shape, endings);
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_short_paths_agree_with_the_model),
        cmocka_unit_test(all_short_names_agree_with_the_model),
        cmocka_unit_test(all_short_schemes_agree_with_the_model),
        cmocka_unit_test(all_short_authorities_agree_with_the_model),
        cmocka_unit_test(all_short_url_paths_agree_with_the_model),
        cmocka_unit_test(random_nested_escapes_agree_with_the_model),
        cmocka_unit_test(ipv6_addresses_are_those_that_the_system_accepts),
        cmocka_unit_test(a_state_that_covers_another_allows_all_that_it_allows),
        cmocka_unit_test(the_widest_state_allows_all_that_other_bytes_would),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
