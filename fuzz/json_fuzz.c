/* JSON against a second, independent parser (tests/support/slow_json.h): both accept the same
 * texts; a text that is written again has the same value; canonical forms are equal exactly when
 * the values are.
 *
 * An input with a NUL byte, which no JSON has, is two texts that are compared as well. */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "support/slow_json.h"
#include "json/json.h"

/* The slow parser's check of names is quadratic. */
#define INPUT_MAX 8192

static const arcp_json_limits limits = {16, 200, INPUT_MAX};

/* Scans a text that must be valid. */
static void rescan(arcp_json *json, const arcp_buf *text)
{
    const arcp_json_limits wide = {16, 200, SIZE_MAX};
    require(arcp_buf_status(text) == ARCP_OK);
    require(arcp_json_scan(json, arcp_buf_span(text), &wide, NULL) == ARCP_OK);
}

static void check_same_meaning(const slow_json *model, const arcp_buf *text)
{
    const arcp_json_limits wide = {16, 200, SIZE_MAX};
    slow_json *again = slow_json_read(arcp_buf_span(text), &wide);
    require(again != NULL);
    require(slow_json_is_huge(model) || slow_json_equal(model, again));
    slow_json_free(again);
}

static void check_compact(const arcp_json *json, const slow_json *model)
{
    arcp_buf once = arcp_buf_init();
    arcp_buf twice = arcp_buf_init();
    arcp_json again = ARCP__JSON_INIT;
    arcp_json_compact(json, ARCP_JSON_ROOT, &once);
    rescan(&again, &once);
    require(!again.has_space && again.count == json->count);
    arcp_json_compact(&again, ARCP_JSON_ROOT, &twice);
    require(arcp_span_equal(arcp_buf_span(&once), arcp_buf_span(&twice)));
    check_same_meaning(model, &once);
    arcp__json_fini(&again);
    arcp_buf_fini(&once);
    arcp_buf_fini(&twice);
}

/* The caller frees the buffer. */
static arcp_buf canonical(const arcp_json *json)
{
    arcp_buf form = arcp_buf_init();
    require(arcp_json_canonical(json, ARCP_JSON_ROOT, &form, NULL) == ARCP_OK);
    return form;
}

static void check_canonical(const arcp_json *json, const slow_json *model)
{
    arcp_buf once = canonical(json);
    /* Each number may become longer by an exponent, never by its zeros. */
    require(once.size <= json->text.size * 6 + (size_t)json->count * 12);
    arcp_json again = ARCP__JSON_INIT;
    rescan(&again, &once);
    arcp_buf twice = canonical(&again);
    require(arcp_span_equal(arcp_buf_span(&once), arcp_buf_span(&twice)));
    check_same_meaning(model, &once);
    arcp__json_fini(&again);
    arcp_buf_fini(&once);
    arcp_buf_fini(&twice);
}

/* A string, unescaped and quoted, is the string it was. */
static void check_string(const arcp_json *json, arcp_json_ref ref)
{
    arcp_buf scratch = arcp_buf_init();
    arcp_buf quoted = arcp_buf_init();
    arcp_buf back = arcp_buf_init();
    const arcp_span text = arcp_json_string(json, ref, &scratch);
    require(arcp_buf_status(&scratch) == ARCP_OK && arcp__utf8_is_valid(text));
    require(arcp_json_string_equals(json, ref, text));
    require(text.size == 0 ||
            !arcp_json_string_equals(json, ref, arcp_span_first(text, text.size - 1)));
    arcp_json_quote(text, &quoted);
    arcp_json again = ARCP__JSON_INIT;
    rescan(&again, &quoted);
    require(arcp_span_equal(arcp_json_string(&again, ARCP_JSON_ROOT, &back), text));
    arcp__json_fini(&again);
    arcp_buf_fini(&scratch);
    arcp_buf_fini(&quoted);
    arcp_buf_fini(&back);
}

/* Against the canonical form, which is whole and small when it has digits only and at most
 * 19 of them, zeros of the exponent included. */
static void check_number(const arcp_json *json, arcp_json_ref ref)
{
    arcp_buf form = arcp_buf_init();
    require(arcp_json_canonical(json, ref, &form, NULL) == ARCP_OK);
    arcp_buf_append_byte(&form, '\0');
    char *behind = NULL;
    const size_t digits = strspn(form.data, "0123456789");
    uint64_t want = strtoull(form.data, &behind, 10);
    uint64_t zeros = *behind == 'e' && behind[1] != '-' && strlen(behind) < 4
                         ? strtoull(behind + 1, NULL, 10)
                         : 0;
    const bool whole = digits > 0 && strstr(form.data, "e-") == NULL && strlen(behind) < 4;
    uint64_t got = 0;
    const bool is_u64 = arcp_json_u64(json, ref, &got);
    if (whole && digits + zeros <= 19) {
        for (; zeros > 0; zeros--) {
            want *= 10;
        }
        require(is_u64 && got == want);
    } else if (!whole || digits + zeros > 20) {
        require(!is_u64);
    }
    arcp_buf_fini(&form);
}

static size_t check_tree(const arcp_json *json, arcp_json_ref ref)
{
    size_t nodes = 1;
    const bool is_object = arcp_json_is(json, ref, ARCP_JSON_OBJECT);
    if (arcp_json_is(json, ref, ARCP_JSON_STRING)) {
        check_string(json, ref);
    } else if (arcp_json_is(json, ref, ARCP_JSON_NUMBER)) {
        check_number(json, ref);
    }
    size_t count = 0;
    for (arcp_json_ref item = arcp_json_first(json, ref); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(json, ref, item)) {
        count++;
        if (is_object) {
            check_string(json, item);
            arcp_buf scratch = arcp_buf_init();
            const arcp_span name = arcp_json_string(json, item, &scratch);
            require(arcp_json_member(json, ref, name) == item + 1);
            arcp_buf_fini(&scratch);
        }
        nodes += is_object ? 1 + check_tree(json, item + 1) : check_tree(json, item);
    }
    require(count == arcp_json_count(json, ref));
    return nodes;
}

/* NULL when both refuse the text. The caller frees both. */
static slow_json *check_scan(arcp_json *json, arcp_span text)
{
    arcp_error err = {0};
    const arcp_status status = arcp_json_scan(json, text, &limits, &err);
    slow_json *model = slow_json_read(text, &limits);
    require((status == ARCP_OK) == (model != NULL));
    if (model == NULL) {
        require(status == ARCP_E_INVALID_REQUEST && err.offset <= text.size && json->count == 0);
        require(err.message[0] != '\0');
    }
    return model;
}

static void check_pair(arcp_span left, arcp_span right)
{
    arcp_json a = ARCP__JSON_INIT;
    arcp_json b = ARCP__JSON_INIT;
    slow_json *model_a = check_scan(&a, left);
    slow_json *model_b = check_scan(&b, right);
    if (model_a != NULL && model_b != NULL && !slow_json_is_huge(model_a) &&
        !slow_json_is_huge(model_b)) {
        arcp_buf form_a = canonical(&a);
        arcp_buf form_b = canonical(&b);
        require(slow_json_equal(model_a, model_b) ==
                arcp_span_equal(arcp_buf_span(&form_a), arcp_buf_span(&form_b)));
        arcp_buf_fini(&form_a);
        arcp_buf_fini(&form_b);
    }
    slow_json_free(model_a);
    slow_json_free(model_b);
    arcp__json_fini(&a);
    arcp__json_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_MAX) {
        return 0;
    }
    const arcp_span text = arcp_span_make((const char *)data, size);
    arcp_json json = ARCP__JSON_INIT;
    slow_json *model = check_scan(&json, text);
    if (model != NULL) {
        require(check_tree(&json, ARCP_JSON_ROOT) == json.count);
        check_compact(&json, model);
        check_canonical(&json, model);
        slow_json_free(model);
    }
    /* Any text can be quoted. */
    arcp_buf quoted = arcp_buf_init();
    arcp_json_quote(text, &quoted);
    rescan(&json, &quoted);
    require(!arcp__utf8_is_valid(text) || arcp_json_string_equals(&json, ARCP_JSON_ROOT, text));
    arcp_buf_fini(&quoted);
    arcp__json_fini(&json);
    const char *nul = size == 0 ? NULL : memchr(data, '\0', size);
    if (nul != NULL) {
        const size_t first = (size_t)(nul - text.data);
        check_pair(arcp_span_first(text, first), arcp_span_from(text, first + 1));
    }
    return 0;
}
