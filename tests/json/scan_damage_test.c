/* Every way to damage one byte of a rich text gets the verdict of a second, independent scanner,
 * and no truncated text is accepted. */
#include "support/check.h"

#include "support/slow_json.h"
#include "json/json.h"

static const arcp_json_limits limits = {64, 10000, 4194304};

/* All kinds of tokens, escapes, characters of every length, white space, levels. */
static const char rich[] =
    "{\"arcp\":\"1.1\", \"id\":\"01JV3N6W2K8Z5Q4T7R9Y1M0BXC\",\n"
    " \"n\":[0,-0.5,12.25e+3,1E-7,9007199254740993],\t\"t\":true,\"f\":false,\"z\":null,\r\n"
    " \"e\":\"q\\\"b\\\\s\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\",\"\\u006bey\":[[],{}],"
    "\"u\":\"\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80 and plain text behind it\","
    "\"o\":{\"a\":1,\"b\":{\"a\":[{\"a\":1},{\"a\":2}]},\"ab\":\"\"}}";

#define RICH_SIZE (sizeof rich - 1)

/* Scans a copy that ends where its memory ends, so that a sanitizer or valgrind detects any read
 * beyond it. */
static bool accepts(arcp_json *json, const char *text, size_t size)
{
    char *copy = malloc(size == 0 ? 1 : size);
    assert_non_null(copy);
    memcpy(copy, text, size);
    arcp_error err = {0};
    const arcp_status status = arcp_json_scan(json, arcp_span_make(copy, size), &limits, &err);
    if (status != ARCP_OK) {
        assert_int_equal(status, ARCP_E_INVALID_REQUEST);
        assert_true(err.offset <= size);
        assert_true(strlen(err.message) > 10);
    }
    free(copy);
    return status == ARCP_OK;
}

static bool model_accepts(const char *text, size_t size)
{
    slow_json *value = slow_json_read(arcp_span_make(text, size), &limits);
    const bool accepted = value != NULL;
    slow_json_free(value);
    return accepted;
}

static void check_alike(arcp_json *json, const char *text, size_t size, size_t *accepted)
{
    const bool want = model_accepts(text, size);
    if (accepts(json, text, size) != want) {
        fail_msg("%s, but the model %s: %.*s", want ? "refused" : "accepted",
                 want ? "accepts" : "refuses", (int)size, text);
    }
    *accepted += want;
}

static void the_text_itself_is_accepted(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    assert_true(accepts(&json, rich, RICH_SIZE));
    assert_true(model_accepts(rich, RICH_SIZE));
    arcp__json_fini(&json);
}

static void no_truncation_is_accepted(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    for (size_t size = 0; size < RICH_SIZE; size++) {
        assert_false(accepts(&json, rich, size));
        assert_false(model_accepts(rich, size));
    }
    arcp__json_fini(&json);
}

static void the_scanners_agree_on_a_text_without_its_beginning(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    size_t accepted = 0;
    for (size_t from = 1; from < RICH_SIZE; from++) {
        check_alike(&json, rich + from, RICH_SIZE - from, &accepted);
    }
    arcp__json_fini(&json);
}

static void the_scanners_agree_on_every_changed_byte(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    char text[sizeof rich];
    memcpy(text, rich, sizeof rich);
    size_t accepted = 0;
    for (size_t i = 0; i < RICH_SIZE; i++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            text[i] = (char)byte;
            check_alike(&json, text, RICH_SIZE, &accepted);
        }
        text[i] = rich[i];
    }
    /* Inside strings and numbers most changes make another good text. */
    assert_true(accepted > RICH_SIZE * 20 && accepted < RICH_SIZE * 200);
    arcp__json_fini(&json);
}

static void the_scanners_agree_on_every_missing_byte(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    char text[sizeof rich];
    size_t accepted = 0;
    for (size_t i = 0; i < RICH_SIZE; i++) {
        memcpy(text, rich, i);
        memcpy(text + i, rich + i + 1, RICH_SIZE - i - 1);
        check_alike(&json, text, RICH_SIZE - 1, &accepted);
    }
    assert_true(accepted > 20);
    arcp__json_fini(&json);
}

static void the_scanners_agree_on_every_added_structural_byte(void **state)
{
    (void)state;
    static const char added[] = "{}[]:,\"\\ \n0123456789-+.eEtfnu/\x01\x80\xc3\xf0";
    arcp_json json = ARCP__JSON_INIT;
    char text[sizeof rich + 1];
    size_t accepted = 0;
    for (size_t i = 0; i <= RICH_SIZE; i++) {
        for (size_t j = 0; j < sizeof added - 1; j++) {
            memcpy(text, rich, i);
            text[i] = added[j];
            memcpy(text + i + 1, rich + i, RICH_SIZE - i);
            check_alike(&json, text, RICH_SIZE + 1, &accepted);
        }
    }
    assert_true(accepted > 100);
    arcp__json_fini(&json);
}

static void the_scanners_agree_on_swapped_bytes(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    char text[sizeof rich];
    memcpy(text, rich, sizeof rich);
    size_t accepted = 0;
    for (size_t a = 0; a < RICH_SIZE; a++) {
        for (size_t b = a + 1; b < RICH_SIZE && b < a + 12; b++) {
            text[a] = rich[b];
            text[b] = rich[a];
            check_alike(&json, text, RICH_SIZE, &accepted);
            text[a] = rich[a];
            text[b] = rich[b];
        }
    }
    arcp__json_fini(&json);
}

static uint64_t random_state = 7;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Short texts of nothing but tokens: about one in a hundred is good. */
static void the_scanners_agree_on_random_sequences_of_tokens(void **state)
{
    (void)state;
    static const char *const tokens[] = {
        "{", "}",  "[",    "]",    ":",     ",",       "\"a\"",        "\"b\"", "\"\\u0061\"", "0",
        "1", "-1", "true", "null", "false", "\"a\":1", "\"\\u0061\":", "1.5",   "1e5",         " ",
    };
    arcp_json json = ARCP__JSON_INIT;
    size_t accepted = 0;
    for (int round = 0; round < 50000; round++) {
        char text[128];
        size_t size = 0;
        for (size_t i = next_random() % 9; i > 0; i--) {
            const char *token = tokens[next_random() % (sizeof tokens / sizeof *tokens)];
            memcpy(text + size, token, strlen(token));
            size += strlen(token);
        }
        check_alike(&json, text, size, &accepted);
    }
    assert_true(accepted > 500);
    arcp__json_fini(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_itself_is_accepted),
        cmocka_unit_test(no_truncation_is_accepted),
        cmocka_unit_test(the_scanners_agree_on_a_text_without_its_beginning),
        cmocka_unit_test(the_scanners_agree_on_every_changed_byte),
        cmocka_unit_test(the_scanners_agree_on_every_missing_byte),
        cmocka_unit_test(the_scanners_agree_on_every_added_structural_byte),
        cmocka_unit_test(the_scanners_agree_on_swapped_bytes),
        cmocka_unit_test(the_scanners_agree_on_random_sequences_of_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
