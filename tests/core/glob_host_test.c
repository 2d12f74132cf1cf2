/* Hosts against patterns: what a pattern reaches is what the model matches of some URL with that
 * host. */
#include "support/check.h"

#include "core/glob_model.h"
#include "core/glob_pattern.h"
#include "core/target_model.h"
#include "core/url_pattern.h"

/* Every so many of the patterns: a number that no list's length divides. */
enum { STEP = 59 };

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Parts of patterns, in all combinations. */
static const char *const schemes[] = {"http", "ws", "ssh", "s*", "*", "**", "*s", "file", "S", "1"};
static const char *const separators[] = {"://", ":**", "**", ":/*/"};
static const char *const hosts[] = {"h", "x.h", "*", "**", "*.h", "x*", "[::1]", "h*h", "H"};
static const char *const ports[] = {"",       ":80",    ":*",     ":**",    ":0",
                                    ":99999", ":65535", ":65536", ":00080", ":8*0",
                                    ":",      "*99999", "*80",    "**80",   ":*6553*"};
static const char *const rests[] = {"", "/", "/**", "/x", "?q", "*", "**", "/../y", "/**/z"};

/* Parts of URLs: enough to match whatever such a pattern can match with one of these hosts. */
static const char *const url_schemes[] = {"http", "ws", "ssh", "s", "ss", "sh", "filex"};
static const char *const url_hosts[] = {"h", "x.h", "hh", "[::1]", "y", "xh"};
static const char *const url_ports[] = {"",      ":80",   ":1",     ":65535", ":00080", ":800",
                                        ":8000", ":9999", ":19999", ":65530", ":6553",  ":16553"};
static const char *const url_rests[] = {
    "",       "/",         "?q",        "/x",       "/x?q",    "/z",   "/80/x",    "/80?q",
    "/80",    "/x/80/z",   "/99999",    "/99999/x", "/:99999", "/x:0", "/x:99999", "/x:65536",
    "/x:0/x", "/:99999/x", "/:65536/x", "/:0/x",    "/:/x",    "/:"};

static size_t begin_text(char *text, size_t size, const char *a, const char *b, const char *c,
                         const char *d, const char *e)
{
    const int written = snprintf(text, size, "%s%s%s%s%s", a, b, c, d, e);
    assert_true(written > 0 && (size_t)written < size);
    return (size_t)written;
}

typedef struct url_list {
    char text[2000][64];
    size_t count;
} url_list;

/* The canonical URLs of each host. */
static url_list urls[COUNT(url_hosts)];

static void make_urls(void)
{
    for (size_t host = 0; host < COUNT(url_hosts); host++) {
        url_list *list = &urls[host];
        for (size_t i = 0; i < COUNT(url_schemes) * COUNT(url_ports) * COUNT(url_rests); i++) {
            char *text = list->text[list->count];
            const size_t size =
                begin_text(text, sizeof list->text[0], url_schemes[i % COUNT(url_schemes)], "://",
                           url_hosts[host], url_ports[i / COUNT(url_schemes) % COUNT(url_ports)],
                           url_rests[i / COUNT(url_schemes) / COUNT(url_ports)]);
            if (model_is_canonical(ARCP__TARGET_URL, arcp_span_make(text, size))) {
                list->count++;
                assert_true(list->count < COUNT(list->text));
            }
        }
    }
}

static bool model_accepts(arcp_span pattern, arcp_span url)
{
    return model_matches(ARCP__TARGET_URL, pattern, url) &&
           model_is_canonical(ARCP__TARGET_URL, url);
}

/* Whether two stars may take the host and a slash, so that a later part of the pattern is found in
 * the path. */
static bool model_finds_in_path(arcp_span pattern, const char *host)
{
    for (size_t i = 0; i < COUNT(url_schemes) * pattern.size; i++) {
        const arcp_span rest = arcp_span_from(pattern, i / COUNT(url_schemes));
        char url[128];
        int size =
            snprintf(url, sizeof url - 64, "%s://%s/x", url_schemes[i % COUNT(url_schemes)], host);
        for (size_t j = 0; j < rest.size; j++) {
            url[size] = rest.data[j];
            size += rest.data[j] == '*' ? 0 : 1;
        }
        if (model_accepts(pattern, arcp_span_make(url, (size_t)size))) {
            return true;
        }
    }
    return false;
}

static bool model_reaches(arcp_span pattern, size_t host)
{
    const size_t literal = strcspn(pattern.data, "*"); /* a NUL follows the pattern */
    for (size_t i = 0; i < urls[host].count; i++) {
        if (strncmp(urls[host].text[i], pattern.data, literal) == 0 &&
            model_matches(ARCP__TARGET_URL, pattern, arcp_span_cstr(urls[host].text[i]))) {
            return true;
        }
    }
    return model_finds_in_path(pattern, url_hosts[host]);
}

static void hosts_are_reached_as_by_the_model(void **state)
{
    (void)state;
    size_t counts[2] = {0};
    const size_t all =
        COUNT(schemes) * COUNT(separators) * COUNT(hosts) * COUNT(ports) * COUNT(rests);
    for (size_t i = 0; i < all; i += STEP * test_stride()) {
        size_t at = i;
        const char *const scheme = schemes[at % COUNT(schemes)];
        at /= COUNT(schemes);
        const char *const separator = separators[at % COUNT(separators)];
        at /= COUNT(separators);
        const char *const host = hosts[at % COUNT(hosts)];
        at /= COUNT(hosts);
        char text[64];
        const arcp_span pattern =
            arcp_span_make(text, begin_text(text, sizeof text, scheme, separator, host,
                                            ports[at % COUNT(ports)], rests[at / COUNT(ports)]));
        /* Such patterns match no canonical URL at all. */
        const bool is_dead = strstr(text, "/../") != NULL;
        for (size_t j = 0; j < COUNT(url_hosts); j++) {
            const bool reaches = arcp__glob_reaches_host(pattern, arcp_span_cstr(url_hosts[j]));
            const bool wanted = model_reaches(pattern, j);
            counts[wanted]++;
            const arcp__url_parts parts = arcp__url_take_apart(pattern);
            if (wanted && !arcp__url_may_have_host(&parts, arcp_span_cstr(url_hosts[j]))) {
                fail_msg("\"%s\" cannot have \"%s\"", text, url_hosts[j]);
            }
            if (reaches != wanted && !(is_dead && reaches)) {
                fail_msg("\"%s\" and \"%s\": %d", text, url_hosts[j], reaches);
            }
        }
    }
    assert_true(counts[0] > 1000 / test_stride() && counts[1] > 1000 / test_stride());
}

static void ports_are_those_from_1_to_65535(void **state)
{
    (void)state;
    static const struct {
        const char *port;
        bool is_reached;
    } cases[] = {{":0", false},      {":1", true},       {":00000", false},  {":00001", true},
                 {":65535", true},   {":65536", false},  {":65545", false},  {":65635", false},
                 {":66535", false},  {":70000", false},  {":99999", false},  {":59999", true},
                 {":64999", true},   {":65499", true},   {":65529", true},   {":000001", false},
                 {":123456", false}, {":", false},       {":8x", false},     {":*99999", false},
                 {":*9999", true},   {":7*9999", false}, {":7*999", true},   {":*0", true},
                 {":0*", true},      {":0*0", true},     {":0*0000", false}, {":0*0*000", false},
                 {":*65535*", true}, {":*65536*", false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[64];
        const size_t size = begin_text(text, sizeof text, "http://h", cases[i].port, "/x", "", "");
        if (arcp__glob_reaches_host(arcp_span_make(text, size), ARCP_SPAN_LITERAL("h")) !=
            cases[i].is_reached) {
            fail_msg("%s", text);
        }
    }
}

static void a_pattern_of_the_largest_size_is_read(void **state)
{
    (void)state;
    static char text[ARCP__GLOB_PATTERN_BYTES_MAX + 1];
    static const char *const beginnings[] = {"http://h/", "**", "*a", "http://*", "http://h:*1"};
    for (size_t i = 0; i < COUNT(beginnings); i++) {
        memset(text, 'a', sizeof text);
        memcpy(text, beginnings[i], strlen(beginnings[i]));
        const bool reaches = arcp__glob_reaches_host(
            arcp_span_make(text, ARCP__GLOB_PATTERN_BYTES_MAX), ARCP_SPAN_LITERAL("h"));
        assert_int_equal(reaches, i < 2);
        assert_false(
            arcp__glob_reaches_host(arcp_span_make(text, sizeof text), ARCP_SPAN_LITERAL("h")));
    }
    assert_false(arcp__glob_reaches_host(arcp_span_make(NULL, 0), ARCP_SPAN_LITERAL("h")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_reached_as_by_the_model),
        cmocka_unit_test(ports_are_those_from_1_to_65535),
        cmocka_unit_test(a_pattern_of_the_largest_size_is_read),
    };
    make_urls();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
