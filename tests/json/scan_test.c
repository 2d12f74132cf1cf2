/* What is JSON and what is not (RFC 8259), and where and why a text is refused. */
#include "support/check.h"

#include "support/slow_json.h"
#include "json/json.h"

static const arcp_json_limits limits = {64, 10000, 4194304};

#define TEXT(literal)                                                                              \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

typedef struct accept_row {
    const char *name;
    arcp_span text;
    arcp_json_type type;
    uint32_t nodes;
} accept_row;

static const accept_row accepted[] = {
    /* §2, §3: any value may be the text; white space is four characters */
    {"null", TEXT("null"), ARCP_JSON_NULL, 1},
    {"true", TEXT("true"), ARCP_JSON_TRUE, 1},
    {"false", TEXT("false"), ARCP_JSON_FALSE, 1},
    {"a number alone", TEXT("42"), ARCP_JSON_NUMBER, 1},
    {"a string alone", TEXT("\"x\""), ARCP_JSON_STRING, 1},
    {"an empty array", TEXT("[]"), ARCP_JSON_ARRAY, 1},
    {"an empty object", TEXT("{}"), ARCP_JSON_OBJECT, 1},
    {"all white space before and behind", TEXT(" \t\r\n0 \t\r\n"), ARCP_JSON_NUMBER, 1},
    {"white space in an empty array", TEXT("[ \t\r\n]"), ARCP_JSON_ARRAY, 1},
    {"white space in an empty object", TEXT("{ \t\r\n}"), ARCP_JSON_OBJECT, 1},
    {"white space between all tokens", TEXT(" { \"a\" : [ 1 , 2 ] , \"b\" : { } } "),
     ARCP_JSON_OBJECT, 7},
    /* §4: objects */
    {"an empty name", TEXT("{\"\":1}"), ARCP_JSON_OBJECT, 3},
    {"names that differ in case", TEXT("{\"a\":1,\"A\":2}"), ARCP_JSON_OBJECT, 5},
    {"names of which one begins the other", TEXT("{\"a\":1,\"aa\":2}"), ARCP_JSON_OBJECT, 5},
    {"long names that differ at the end", TEXT("{\"abcdefghij\":1,\"abcdefghik\":2}"),
     ARCP_JSON_OBJECT, 5},
    {"long names that differ at the beginning", TEXT("{\"abcdefghij\":1,\"bbcdefghij\":2}"),
     ARCP_JSON_OBJECT, 5},
    {"names that differ in their middle", TEXT("{\"abcde\":1,\"abXde\":2}"), ARCP_JSON_OBJECT, 5},
    {"the same name at two levels", TEXT("{\"a\":{\"a\":1}}"), ARCP_JSON_OBJECT, 5},
    {"the same name in two objects", TEXT("[{\"a\":1},{\"a\":1}]"), ARCP_JSON_ARRAY, 7},
    {"a value that equals a name", TEXT("{\"a\":\"b\",\"b\":\"a\"}"), ARCP_JSON_OBJECT, 5},
    {"names that look alike escaped", TEXT("{\"\\\\u0061\":1,\"a\":2}"), ARCP_JSON_OBJECT, 5},
    {"names that differ behind NUL", TEXT("{\"\\u0000a\":1,\"\\u0000b\":2}"), ARCP_JSON_OBJECT, 5},
    /* §5: arrays */
    {"elements of all types", TEXT("[null,true,false,0,\"\",[],{}]"), ARCP_JSON_ARRAY, 8},
    {"arrays in arrays", TEXT("[[[[]]],[]]"), ARCP_JSON_ARRAY, 5},
    {"equal elements", TEXT("[1,1]"), ARCP_JSON_ARRAY, 3},
    /* §6: numbers */
    {"zero", TEXT("0"), ARCP_JSON_NUMBER, 1},
    {"minus zero", TEXT("-0"), ARCP_JSON_NUMBER, 1},
    {"zero with a fraction", TEXT("0.0"), ARCP_JSON_NUMBER, 1},
    {"zero with an exponent", TEXT("0e5"), ARCP_JSON_NUMBER, 1},
    {"a negative number", TEXT("-1"), ARCP_JSON_NUMBER, 1},
    {"a fraction", TEXT("1.5"), ARCP_JSON_NUMBER, 1},
    {"many digits", TEXT("123456789012345678901234567890.123456789012345678901234567890"),
     ARCP_JSON_NUMBER, 1},
    {"an exponent", TEXT("1e5"), ARCP_JSON_NUMBER, 1},
    {"a capital E", TEXT("1E5"), ARCP_JSON_NUMBER, 1},
    {"a plus in the exponent", TEXT("1e+5"), ARCP_JSON_NUMBER, 1},
    {"a minus in the exponent", TEXT("1e-5"), ARCP_JSON_NUMBER, 1},
    {"zeros in front of an exponent", TEXT("1e0005"), ARCP_JSON_NUMBER, 1},
    {"all parts of a number", TEXT("-12.34E-56"), ARCP_JSON_NUMBER, 1},
    {"an exponent beyond any double", TEXT("1e999999999999"), ARCP_JSON_NUMBER, 1},
    /* §7: strings */
    {"an empty string", TEXT("\"\""), ARCP_JSON_STRING, 1},
    {"every short escape", TEXT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), ARCP_JSON_STRING, 1},
    {"an escaped NUL", TEXT("\"\\u0000\""), ARCP_JSON_STRING, 1},
    {"hexadecimal digits of both cases", TEXT("\"\\u00Fc\\uABcd\""), ARCP_JSON_STRING, 1},
    {"a surrogate pair", TEXT("\"\\ud83d\\ude00\""), ARCP_JSON_STRING, 1},
    {"the first and the last pair", TEXT("\"\\uD800\\uDC00\\uDBFF\\uDFFF\""), ARCP_JSON_STRING, 1},
    {"neighbours of the surrogates", TEXT("\"\\ud7ff\\ue000\""), ARCP_JSON_STRING, 1},
    {"noncharacters", TEXT("\"\\uffff\\ufffe\""), ARCP_JSON_STRING, 1},
    {"DEL", TEXT("\"\x7f\""), ARCP_JSON_STRING, 1},
    {"a slash as it is", TEXT("\"a/b\""), ARCP_JSON_STRING, 1},
    {"an apostrophe", TEXT("\"it's\""), ARCP_JSON_STRING, 1},
    {"the lowest character above the controls", TEXT("\" \""), ARCP_JSON_STRING, 1},
    {"brackets and commas in a string", TEXT("[\"]},:[{\"]"), ARCP_JSON_ARRAY, 2},
    {"a string that ends with an escaped quote", TEXT("\"\\\"\""), ARCP_JSON_STRING, 1},
    {"a string that ends with a backslash", TEXT("\"\\\\\""), ARCP_JSON_STRING, 1},
    /* §8.1: UTF-8 */
    {"two bytes", TEXT("\"\xc3\xbc\""), ARCP_JSON_STRING, 1},
    {"three bytes", TEXT("\"\xe2\x82\xac\""), ARCP_JSON_STRING, 1},
    {"four bytes", TEXT("\"\xf0\x9f\x98\x80\""), ARCP_JSON_STRING, 1},
    {"U+10FFFF", TEXT("\"\xf4\x8f\xbf\xbf\""), ARCP_JSON_STRING, 1},
    {"a byte order mark inside a string", TEXT("\"\xef\xbb\xbf\""), ARCP_JSON_STRING, 1},
    {"eight bytes and two more", TEXT("\"12345678\xc3\xbc\""), ARCP_JSON_STRING, 1},
    {"U+2028, which JavaScript minded once", TEXT("\"\xe2\x80\xa8\""), ARCP_JSON_STRING, 1},
    {"a name that is not ASCII", TEXT("{\"\xc3\xbc\":1}"), ARCP_JSON_OBJECT, 3},
};

static void texts_that_the_rfc_allows_are_accepted(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        const accept_row *row = &accepted[i];
        print_message("  %s\n", row->name);
        arcp_error err = {0};
        check_ok(arcp_json_scan(&json, row->text, &limits, &err), &err);
        assert_int_equal(arcp_json_type_of(&json, ARCP_JSON_ROOT), row->type);
        assert_int_equal(json.count, row->nodes);
        slow_json *model = slow_json_read(row->text, &limits);
        assert_non_null(model);
        slow_json_free(model);
    }
    arcp__json_fini(&json);
}

typedef struct refuse_row {
    const char *name;
    arcp_span text;
    size_t offset;
    const char *says; /* part of the message */
} refuse_row;

static const refuse_row refused[] = {
    /* no value, more than one value */
    {"nothing", TEXT(""), 0, "expected a value, found the end of the text"},
    {"white space only", TEXT(" \n"), 2, "found the end of the text"},
    {"two values", TEXT("1 2"), 2, "expected the end of the text after the value, found '2'"},
    {"a bracket too many", TEXT("[]]"), 2, "expected the end of the text"},
    {"a brace too many", TEXT("{}}"), 2, "expected the end of the text"},
    {"a comma behind the value", TEXT("1,"), 1, "expected the end of the text"},
    {"a NUL byte behind the value", TEXT("1\0"), 1, "found byte 0x00"},
    {"a comma alone", TEXT(","), 0, "expected a value"},
    {"a byte order mark", TEXT("\xef\xbb\xbf{}"), 0, "found byte 0xef"},
    {"a NUL byte", TEXT("\0"), 0, "found byte 0x00"},
    {"a form feed as white space", TEXT("\f1"), 0, "found byte 0x0c"},
    {"a vertical tab as white space", TEXT("\v1"), 0, "found byte 0x0b"},
    {"a no-break space",
     TEXT("\xc2\xa0"
          "1"),
     0, "found byte 0xc2"},
    {"a comment", TEXT("/* */1"), 0, "found '/'"},
    {"a line comment behind", TEXT("1 // one"), 2, "found '/'"},
    {"a hash comment", TEXT("# x\n1"), 0, "found '#'"},
    /* words */
    {"True", TEXT("True"), 0, "true, false or null"},
    {"tru", TEXT("tru"), 0, "expected a value"},
    {"nul", TEXT("[nul]"), 1, "expected a value"},
    {"truefalse", TEXT("truefalse"), 4, "expected the end of the text"},
    {"nulls", TEXT("nulls"), 4, "expected the end of the text"},
    {"undefined", TEXT("undefined"), 0, "expected a value"},
    {"NaN", TEXT("NaN"), 0, "expected a value"},
    {"Infinity", TEXT("Infinity"), 0, "expected a value"},
    {"minus Infinity", TEXT("-Infinity"), 1, "expected a digit after the minus sign, found 'I'"},
    {"a bare word", TEXT("{\"a\":yes}"), 5, "expected a value"},
    /* numbers */
    {"a leading zero", TEXT("01"), 0, "leading zero"},
    {"a leading zero behind a minus", TEXT("-01"), 1, "leading zero"},
    {"two zeros", TEXT("00"), 0, "leading zero"},
    {"a plus sign", TEXT("+1"), 0, "expected a value"},
    {"a minus alone", TEXT("-"), 1, "a digit after the minus sign, found the end"},
    {"two minuses", TEXT("--1"), 1, "a digit after the minus sign"},
    {"a point in front", TEXT(".5"), 0, "expected a value"},
    {"a point behind", TEXT("5."), 2, "a digit after the decimal point, found the end"},
    {"a point and an exponent", TEXT("5.e1"), 2, "a digit after the decimal point, found 'e'"},
    {"two points", TEXT("1.2.3"), 3, "expected the end of the text"},
    {"an exponent without digits", TEXT("1e"), 2, "a digit of the exponent, found the end"},
    {"a signed exponent without digits", TEXT("1e+"), 3, "a digit of the exponent"},
    {"an exponent with a point", TEXT("1e1.5"), 3, "expected the end of the text"},
    {"two exponents", TEXT("1e1e1"), 3, "expected the end of the text"},
    {"hexadecimal", TEXT("0x1F"), 1, "expected the end of the text"},
    {"an underscore", TEXT("1_000"), 1, "expected the end of the text"},
    {"a space inside", TEXT("1 000"), 2, "expected the end of the text"},
    {"a comma as a point", TEXT("[1,5"), 4, "a comma or ']' after an element"},
    {"a minus and a space", TEXT("- 1"), 1, "a digit after the minus sign"},
    {"a digit of another script", TEXT("\xd9\xa1"), 0, "expected a value"},
    /* arrays */
    {"an array that does not end", TEXT("["), 1, "expected a value, found the end"},
    {"an array that ends behind an element", TEXT("[1"), 2, "a comma or ']'"},
    {"an array that ends behind a comma", TEXT("[1,"), 3, "expected a value, found the end"},
    {"a comma behind the last element", TEXT("[1,]"), 3, "expected a value"},
    {"a comma before the first element", TEXT("[,1]"), 1, "expected a value"},
    {"two commas", TEXT("[1,,2]"), 3, "expected a value"},
    {"no comma between elements", TEXT("[1 2]"), 3, "a comma or ']' after an element, found '2'"},
    {"a colon between elements", TEXT("[1:2]"), 2, "a comma or ']'"},
    {"a brace at the end of an array", TEXT("[1}"), 2, "a comma or ']'"},
    {"a brace at the end of an empty array", TEXT("[}"), 1, "expected a value"},
    {"a closing bracket alone", TEXT("]"), 0, "expected a value"},
    {"semicolons", TEXT("[1;2]"), 2, "a comma or ']'"},
    /* objects */
    {"an object that does not end", TEXT("{"), 1, "a member's name in quotes, found the end"},
    {"a name and then nothing", TEXT("{\"a\""), 4, "a colon after a member's name"},
    {"a colon and then nothing", TEXT("{\"a\":"), 5, "expected a value, found the end"},
    {"an object that ends behind a value", TEXT("{\"a\":1"), 6, "a comma or '}'"},
    {"an object that ends behind a comma", TEXT("{\"a\":1,"), 7, "a member's name in quotes"},
    {"a comma behind the last member", TEXT("{\"a\":1,}"), 7,
     "a member's name in quotes, found '}'"},
    {"a comma before the first member", TEXT("{,\"a\":1}"), 1, "a member's name in quotes"},
    {"two commas between members", TEXT("{\"a\":1,,\"b\":2}"), 7, "a member's name in quotes"},
    {"no colon", TEXT("{\"a\" 1}"), 5, "a colon after a member's name, found '1'"},
    {"an equals sign", TEXT("{\"a\"=1}"), 4, "a colon after a member's name, found '='"},
    {"two colons", TEXT("{\"a\"::1}"), 5, "expected a value"},
    {"no value", TEXT("{\"a\":}"), 5, "expected a value"},
    {"a name alone", TEXT("{\"a\"}"), 4, "a colon"},
    {"a name without quotes", TEXT("{a:1}"), 1, "a member's name in quotes, found 'a'"},
    {"a name in apostrophes", TEXT("{'a':1}"), 1, "a member's name in quotes"},
    {"a number as a name", TEXT("{1:1}"), 1, "a member's name in quotes"},
    {"null as a name", TEXT("{null:1}"), 1, "a member's name in quotes"},
    {"an array as a name", TEXT("{[]:1}"), 1, "a member's name in quotes"},
    {"a bracket at the end of an object", TEXT("{\"a\":1]"), 6, "a comma or '}' after a member"},
    {"a bracket at the end of an empty object", TEXT("{]"), 1, "a member's name in quotes"},
    {"a closing brace alone", TEXT("}"), 0, "expected a value"},
    {"no comma between members", TEXT("{\"a\":1 \"b\":2}"), 7, "a comma or '}' after a member"},
    /* names that occur twice, RFC 8259 §4 as I-JSON (RFC 7493 §2.3) tightens it */
    {"a name twice", TEXT("{\"a\":1,\"a\":2}"), 7, "the name \"a\" occurs twice"},
    {"an empty name twice", TEXT("{\"\":1,\"\":2}"), 6, "the name \"\" occurs twice"},
    {"a name twice with the same value", TEXT("{\"a\":1,\"b\":1,\"a\":1}"), 13, "occurs twice"},
    {"a name twice deep inside", TEXT("[{\"x\":{\"a\":1,\"a\":2}}]"), 13, "occurs twice"},
    {"a name twice around an object", TEXT("{\"a\":{\"b\":[{}]},\"a\":0}"), 16, "occurs twice"},
    {"a name escaped the second time", TEXT("{\"a\":1,\"\\u0061\":2}"), 7, "occurs twice"},
    {"a name escaped the first time", TEXT("{\"\\u0061b\":1,\"ab\":2}"), 13, "occurs twice"},
    {"a name escaped in two ways", TEXT("{\"\\/\":1,\"\\u002F\":2}"), 8, "occurs twice"},
    {"a name as a pair and as it is", TEXT("{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}"), 18,
     "occurs twice"},
    {"a long name twice", TEXT("{\"abcdefghijklmnop\":1,\"abcdefghijklmnop\":2}"), 22,
     "occurs twice"},
    {"a name of four bytes twice", TEXT("{\"type\":1,\"type\":2}"), 10, "occurs twice"},
    {"a name of eight bytes twice", TEXT("{\"job_idxx\":1,\"job_idxx\":2}"), 14, "occurs twice"},
    /* strings */
    {"a string that does not end", TEXT("\"abc"), 4, "the closing quote of a string"},
    {"a quote alone", TEXT("\""), 1, "the closing quote of a string"},
    {"apostrophes", TEXT("'abc'"), 0, "expected a value"},
    {"an escaped closing quote", TEXT("\"abc\\\""), 6, "the closing quote of a string"},
    {"a backslash at the end", TEXT("\"abc\\"), 5, "the rest of an escape"},
    {"an escape JSON does not have", TEXT("\"\\x41\""), 2, "one of \"\\/bfnrtu after a backslash"},
    {"an escaped apostrophe", TEXT("\"\\'\""), 2, "one of"},
    {"a capital escape", TEXT("\"\\N\""), 2, "one of"},
    {"\\v", TEXT("\"\\v\""), 2, "one of"},
    {"\\0", TEXT("\"\\0\""), 2, "one of"},
    {"a backslash and a line feed", TEXT("\"\\\n\""), 2, "found byte 0x0a"},
    {"a backslash and NUL", TEXT("\"\\\0\""), 2, "found byte 0x00"},
    {"\\u without digits", TEXT("\"\\u\""), 1, "four hexadecimal digits"},
    {"\\u with three digits", TEXT("\"\\u123\""), 1, "four hexadecimal digits"},
    {"\\u with a letter too far", TEXT("\"\\u12g4\""), 1, "four hexadecimal digits"},
    {"\\u with a sign", TEXT("\"\\u+123\""), 1, "four hexadecimal digits"},
    {"\\u with braces", TEXT("\"\\u{41}\""), 1, "four hexadecimal digits"},
    {"\\U", TEXT("\"\\U0041\""), 2, "one of"},
    {"\\u at the end of the text", TEXT("\"\\u12"), 1, "four hexadecimal digits"},
    {"a high surrogate alone", TEXT("\"\\ud83d\""), 1, "half a surrogate pair"},
    {"a low surrogate alone", TEXT("\"\\ude00\""), 1, "half a surrogate pair"},
    {"a high surrogate and a character", TEXT("\"\\ud83dx\""), 1, "half a surrogate pair"},
    {"a high surrogate and another escape", TEXT("\"\\ud83d\\n\""), 1, "half a surrogate pair"},
    {"two high surrogates", TEXT("\"\\ud83d\\ud83d\""), 1, "half a surrogate pair"},
    {"a pair the wrong way round", TEXT("\"\\ude00\\ud83d\""), 1, "half a surrogate pair"},
    {"a high surrogate and half an escape", TEXT("\"\\ud83d\\ude0\""), 1, "half a surrogate pair"},
    {"the second pair broken", TEXT("\"\\ud83d\\ude00\\ud83d\""), 13, "half a surrogate pair"},
    {"a line feed in a string", TEXT("\"a\nb\""), 2, "a control character"},
    {"a tab in a string", TEXT("\"a\tb\""), 2, "a control character"},
    {"NUL in a string", TEXT("\"a\0b\""), 2, "a control character"},
    {"the last control character", TEXT("\"\x1f\""), 1, "a control character"},
    {"a control character in a name", TEXT("{\"a\x01\":1}"), 3, "a control character"},
    /* UTF-8 */
    {"a stray continuation byte", TEXT("\"\x80\""), 1, "not UTF-8"},
    {"0xff", TEXT("\"\xff\""), 1, "not UTF-8"},
    {"Latin-1", TEXT("\"f\xfcr\""), 2, "not UTF-8"},
    {"an overlong slash", TEXT("\"\xc0\xaf\""), 1, "not UTF-8"},
    {"an overlong NUL", TEXT("\"\xc0\x80\""), 1, "not UTF-8"},
    {"an overlong form of three bytes", TEXT("\"\xe0\x80\xaf\""), 1, "not UTF-8"},
    {"an encoded surrogate", TEXT("\"\xed\xa0\x80\""), 1, "not UTF-8"},
    {"an encoded pair", TEXT("\"\xed\xa0\xbd\xed\xb8\x80\""), 1, "not UTF-8"},
    {"past U+10FFFF", TEXT("\"\xf4\x90\x80\x80\""), 1, "not UTF-8"},
    {"five bytes", TEXT("\"\xf8\x88\x80\x80\x80\""), 1, "not UTF-8"},
    {"a character cut by the quote", TEXT("\"\xe2\x82\""), 1, "not UTF-8"},
    {"a character cut by the end", TEXT("\"\xf0\x9f\x98"), 1, "not UTF-8"},
    {"an error behind good characters", TEXT("\"\xc3\xbc\xe2\x82\xac\xff\""), 6, "not UTF-8"},
    {"a name that is not UTF-8", TEXT("{\"\xff\":1}"), 2, "not UTF-8"},
    {"UTF-16", TEXT("\xff\xfe{\0}\0"), 0, "found byte 0xff"},
    {"bytes outside a string", TEXT("[\xc3\xbc]"), 1, "found byte 0xc3"},
};

static void texts_that_the_rfc_does_not_allow_are_refused_with_place_and_reason(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const refuse_row *row = &refused[i];
        print_message("  %s\n", row->name);
        arcp_error err = {0};
        assert_int_equal(arcp_json_scan(&json, row->text, &limits, &err), ARCP_E_INVALID_REQUEST);
        if (err.offset != row->offset || strstr(err.message, row->says) == NULL) {
            fail_msg("at %zu: %s\nwant at %zu: %s", err.offset, err.message, row->offset,
                     row->says);
        }
        assert_int_equal(err.status, ARCP_E_INVALID_REQUEST);
        assert_int_equal(strncmp(err.message, "JSON: ", 6), 0);
        assert_int_equal(json.count, 0);
        assert_null(slow_json_read(row->text, &limits));
        /* The description is optional. */
        assert_int_equal(arcp_json_scan(&json, row->text, &limits, NULL), ARCP_E_INVALID_REQUEST);
    }
    arcp__json_fini(&json);
}

static void a_refused_text_never_names_bytes_of_another_line(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    arcp_error err = {0};
    const arcp_span text = ARCP_SPAN_LITERAL("{\"a\\nb\":1,\"a\\u000ab\":2}");
    assert_int_equal(arcp_json_scan(&json, text, &limits, &err), ARCP_E_INVALID_REQUEST);
    assert_null(strchr(err.message, '\n'));
    arcp__json_fini(&json);
}

static void an_index_is_usable_again_after_a_refusal(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    arcp_error err = {0};
    for (int round = 0; round < 3; round++) {
        assert_int_equal(arcp_json_scan(&json, ARCP_SPAN_LITERAL("[1,[2,{"), &limits, &err),
                         ARCP_E_INVALID_REQUEST);
        check_ok(arcp_json_scan(&json, ARCP_SPAN_LITERAL(" {\"a\":[1]}"), &limits, &err), &err);
        assert_int_equal(json.count, 4);
        assert_true(json.has_space);
        check_ok(arcp_json_scan(&json, ARCP_SPAN_LITERAL("{\"a\":\" \"}"), &limits, &err), &err);
        assert_false(json.has_space);
    }
    arcp__json_fini(&json);
    arcp__json_fini(&json);
}

static void nodes_have_the_positions_of_their_values(void **state)
{
    (void)state;
    static const struct {
        const char *raw;
        arcp_json_type type;
        uint32_t next;
    } want[] = {
        {"{\"a\": [1, \"x\\n\", {}], \"b\": null}", ARCP_JSON_OBJECT, 8},
        {"\"a\"", ARCP_JSON_STRING, 2},
        {"[1, \"x\\n\", {}]", ARCP_JSON_ARRAY, 6},
        {"1", ARCP_JSON_NUMBER, 4},
        {"\"x\\n\"", ARCP_JSON_STRING, 5},
        {"{}", ARCP_JSON_OBJECT, 6},
        {"\"b\"", ARCP_JSON_STRING, 7},
        {"null", ARCP_JSON_NULL, 8},
    };
    arcp_json json = ARCP__JSON_INIT;
    arcp_error err = {0};
    const arcp_span text = ARCP_SPAN_LITERAL("  {\"a\": [1, \"x\\n\", {}], \"b\": null} ");
    check_ok(arcp_json_scan(&json, text, &limits, &err), &err);
    assert_int_equal(json.count, sizeof want / sizeof *want);
    for (uint32_t i = 0; i < json.count; i++) {
        check_span(arcp_json_raw(&json, i), want[i].raw);
        assert_int_equal(json.nodes[i].type, want[i].type);
        assert_int_equal(json.nodes[i].next, want[i].next);
        assert_int_equal(json.nodes[i].flags, i == 4);
    }
    arcp__json_fini(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_that_the_rfc_allows_are_accepted),
        cmocka_unit_test(texts_that_the_rfc_does_not_allow_are_refused_with_place_and_reason),
        cmocka_unit_test(a_refused_text_never_names_bytes_of_another_line),
        cmocka_unit_test(an_index_is_usable_again_after_a_refusal),
        cmocka_unit_test(nodes_have_the_positions_of_their_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
