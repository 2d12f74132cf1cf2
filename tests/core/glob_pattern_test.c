/* Which patterns are valid, and how they are compiled: docs/leases.md, Patterns. */
#include "support/check.h"

#include "core/glob_pattern.h"

/* A pattern's states as text: literals, and before each the loop at its state: '-' none,
 * '*' segment, '#' any, '@' any with the '/' that may be passed over; "~" at the end of one
 * whose last literal may be missing. */
static const char *read_states(const char *pattern)
{
    static unsigned char room[ARCP__GLOB_ROOM(64)];
    static char text[160];
    static const char loops[] = {'-', '*', '#', '?', '!', '!', '@'};
    arcp__glob_states states;
    arcp__glob_parse(arcp_span_cstr(pattern), room, &states);
    size_t size = 0;
    for (uint32_t i = 0; i <= states.last; i++) {
        if (states.loops[i] != ARCP__GLOB_LOOP_NONE) {
            text[size++] = loops[states.loops[i]];
        }
        if (i < states.last) {
            text[size++] = (char)states.literals[i];
        }
    }
    if (states.tail) {
        text[size++] = '~';
    }
    text[size] = '\0';
    return text;
}

typedef struct row {
    const char *name;
    const char *pattern;
    const char *states;
    size_t wildcards;
    const char *prefix;
} row;

static const row rows[] = {
    {"literals only", "/a.b?[c]{d}\\", "/a.b?[c]{d}\\", 0, "/a.b?[c]{d}\\"},
    {"a star", "*", "*", 1, ""},
    {"two stars", "**", "#", 1, ""},
    {"three stars are two", "***", "#", 1, ""},
    {"many stars are two", "a*******b", "a#b", 1, "a"},
    {"a star between literals", "/a/b*c", "/a/b*c", 1, "/a/b"},
    {"stars in several places", "*a*b*", "*a*b*", 3, ""},
    {"whole segments at the start", "**/a", "@/a", 1, ""},
    {"whole segments between", "/a/**/b", "/a/@/b", 1, "/a/"},
    {"whole segments, three stars", "/a/***/b", "/a/@/b", 1, "/a/"},
    {"a row of whole segments is one", "/a/**/**/**/b", "/a/@/b", 1, "/a/"},
    {"also at the start", "**/**/b", "@/b", 1, ""},
    {"not whole: a byte before", "/a**/b", "/a#/b", 1, "/a"},
    {"not whole: a byte behind", "/**b", "/#b", 1, "/"},
    {"whole, then a part", "/**/*b", "/@/*b", 2, "/"},
    {"a part, then whole", "/*b/**/c", "/*b/@/c", 2, "/"},
    {"a tail", "/a/**", "/a/#~", 1, "/a/"},
    {"a tail of three stars", "/a/***", "/a/#~", 1, "/a/"},
    {"a tail of several", "/a/**/**/**", "/a/#~", 1, "/a/"},
    {"a tail alone", "/**", "/#~", 1, "/"},
    {"a tail alone, twice", "/**/**", "/#~", 1, "/"},
    {"no tail: everything", "**/**", "#", 1, ""},
    {"no tail: no slash before", "a**", "a#", 1, "a"},
    {"a tail behind a star", "/a/*/**", "/a/*/#~", 2, "/a/"},
    {"a tail behind two", "/a**/**", "/a#/#~", 2, "/a"},
    {"whole segments at the very end", "/a/**/", "/a/@/", 1, "/a/"},
    {"a scheme's slashes are no segments", "s://**", "s://#", 1, "s://"},
    {"nor between", "s://**/b", "s://#/b", 1, "s://"},
    {"but behind the host they are", "s://h/**/b", "s://h/@/b", 1, "s://h/"},
    {"and so behind a wildcard for it", "s://**/**", "s://#/#~", 2, "s://"},
    {"a third slash is one", "s:///**", "s:///#~", 1, "s:///"},
    {"a colon alone changes nothing", "s:/**", "s:/#~", 1, "s:/"},
    {"two slashes alone change nothing", "s//**", "s//#~", 1, "s//"},
};

static void check_row(void **state)
{
    const row *r = *state;
    const arcp_span pattern = arcp_span_cstr(r->pattern);
    assert_string_equal(read_states(r->pattern), r->states);
    assert_int_equal(arcp__glob_wildcard_count(pattern), r->wildcards);
    check_span(arcp__glob_literal_prefix(pattern), r->prefix);
    assert_int_equal(arcp__glob_is_literal(pattern), r->wildcards == 0);
    assert_null(arcp__glob_pattern_fault(pattern));
}

static void a_pattern_has_at_least_one_byte(void **state)
{
    (void)state;
    assert_string_equal(arcp__glob_pattern_fault(ARCP_SPAN_LITERAL("")), "is empty");
    assert_null(arcp__glob_pattern_fault(ARCP_SPAN_LITERAL("a")));
}

static void a_pattern_has_no_nul(void **state)
{
    (void)state;
    assert_string_equal(arcp__glob_pattern_fault(arcp_span_make("a\0b", 3)), "contains a NUL byte");
}

static void a_pattern_is_utf8(void **state)
{
    (void)state;
    assert_string_equal(arcp__glob_pattern_fault(ARCP_SPAN_LITERAL("a\xff")), "is not UTF-8");
    assert_string_equal(arcp__glob_pattern_fault(ARCP_SPAN_LITERAL("\xc3")), "is not UTF-8");
    assert_null(arcp__glob_pattern_fault(ARCP_SPAN_LITERAL("\xc3\xa9*")));
}

static void the_longest_pattern_and_one_byte_more(void **state)
{
    (void)state;
    static char bytes[ARCP__GLOB_PATTERN_BYTES_MAX + 1];
    memset(bytes, '*', sizeof bytes);
    assert_null(arcp__glob_pattern_fault(arcp_span_make(bytes, sizeof bytes - 1)));
    assert_string_equal(arcp__glob_pattern_fault(arcp_span_make(bytes, sizeof bytes)),
                        "is too long");
}

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test(a_pattern_has_at_least_one_byte),
        cmocka_unit_test(a_pattern_has_no_nul),
        cmocka_unit_test(a_pattern_is_utf8),
        cmocka_unit_test(the_longest_pattern_and_one_byte_more),
    };
    const int failed = run_rows(rows, sizeof rows / sizeof rows[0], sizeof rows[0], check_row);
    return failed + cmocka_run_group_tests(others, NULL, NULL);
}
