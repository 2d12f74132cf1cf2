/* Statuses are one table; descriptions are one clean line (draft §12, errors guide). */
#include "support/check.h"

#include <arcp/buf.h>

typedef struct code_row {
    arcp_status status;
    const char *wire;
    bool retryable_by_default;
    int forced; /* -1: as requested; else the only value that may be sent */
} code_row;

/* The draft's fifteen, §12; which are retryable by default, the errors guide. */
static const code_row codes[] = {
    {ARCP_E_PERMISSION_DENIED, "PERMISSION_DENIED", false, -1},
    {ARCP_E_LEASE_SUBSET_VIOLATION, "LEASE_SUBSET_VIOLATION", false, -1},
    {ARCP_E_JOB_NOT_FOUND, "JOB_NOT_FOUND", false, -1},
    {ARCP_E_DUPLICATE_KEY, "DUPLICATE_KEY", false, -1},
    {ARCP_E_AGENT_NOT_AVAILABLE, "AGENT_NOT_AVAILABLE", false, -1},
    {ARCP_E_AGENT_VERSION_NOT_AVAILABLE, "AGENT_VERSION_NOT_AVAILABLE", false, -1},
    {ARCP_E_CANCELLED, "CANCELLED", false, -1},
    {ARCP_E_TIMEOUT, "TIMEOUT", true, -1},
    {ARCP_E_RESUME_WINDOW_EXPIRED, "RESUME_WINDOW_EXPIRED", false, -1},
    {ARCP_E_HEARTBEAT_LOST, "HEARTBEAT_LOST", true, -1},
    {ARCP_E_LEASE_EXPIRED, "LEASE_EXPIRED", false, false},
    {ARCP_E_BUDGET_EXHAUSTED, "BUDGET_EXHAUSTED", false, false},
    {ARCP_E_INVALID_REQUEST, "INVALID_REQUEST", false, -1},
    {ARCP_E_UNAUTHENTICATED, "UNAUTHENTICATED", false, -1},
    {ARCP_E_INTERNAL_ERROR, "INTERNAL_ERROR", true, true},
};

#define CODES (sizeof codes / sizeof *codes)

static void the_fifteen_codes_have_their_names_on_the_wire(void **state)
{
    (void)state;
    assert_int_equal(CODES, 15);
    for (size_t i = 0; i < CODES; i++) {
        const code_row *row = &codes[i];
        print_message("  %s\n", row->wire);
        assert_string_equal(arcp_status_wire_code(row->status), row->wire);
        assert_string_equal(arcp_status_name(row->status), row->wire);
        assert_int_equal(arcp_status_from_wire(arcp_span_cstr(row->wire)), row->status);
        assert_true(arcp_status_is_wire_code(arcp_span_cstr(row->wire)));
        assert_int_equal(arcp_status_is_retryable_by_default(row->status),
                         row->retryable_by_default);
    }
}

static void retryable_is_as_requested_where_the_draft_leaves_a_choice(void **state)
{
    (void)state;
    for (size_t i = 0; i < CODES; i++) {
        const code_row *row = &codes[i];
        print_message("  %s\n", row->wire);
        assert_int_equal(arcp_status_retryable(row->status, true), row->forced != 0);
        assert_int_equal(arcp_status_retryable(row->status, false), row->forced == 1);
    }
}

static void local_conditions_are_internal_errors_on_the_wire(void **state)
{
    (void)state;
    size_t local = 0;
    for (int status = 1; status < ARCP_STATUS_COUNT; status++) {
        const char *name = arcp_status_name((arcp_status)status);
        if (arcp_status_is_wire_code(arcp_span_cstr(name))) {
            continue;
        }
        print_message("  %s\n", name);
        assert_string_equal(arcp_status_wire_code((arcp_status)status), "INTERNAL_ERROR");
        assert_true(arcp_status_retryable((arcp_status)status, false));
        local++;
    }
    assert_int_equal(local, ARCP_STATUS_COUNT - 1 - CODES);
    assert_null(arcp_status_wire_code(ARCP_OK));
}

static void unknown_codes_count_as_internal_errors(void **state)
{
    (void)state;
    static const char *const unknown[] = {
        "", "OK", "NO_MEMORY", "internal_error", "INTERNAL_ERROR ", "INTERNAL_ERRO", "TEAPOT",
    };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        print_message("  '%s'\n", unknown[i]);
        assert_int_equal(arcp_status_from_wire(arcp_span_cstr(unknown[i])), ARCP_E_INTERNAL_ERROR);
        assert_false(arcp_status_is_wire_code(arcp_span_cstr(unknown[i])));
    }
}

static void every_status_has_a_name_of_its_own_and_a_text(void **state)
{
    (void)state;
    for (int status = 0; status < ARCP_STATUS_COUNT; status++) {
        assert_true(strlen(arcp_status_text((arcp_status)status)) > 3);
        for (int other = 0; other < status; other++) {
            assert_string_not_equal(arcp_status_name((arcp_status)status),
                                    arcp_status_name((arcp_status)other));
        }
    }
    assert_string_equal(arcp_status_name(ARCP_OK), "OK");
    /* Out of range: a corrupted value must not turn into success. */
    assert_string_equal(arcp_status_name((arcp_status)ARCP_STATUS_COUNT), "INTERNAL_ERROR");
}

static void an_error_has_the_message_that_was_set(void **state)
{
    (void)state;
    arcp_error err = {0};
    assert_int_equal(arcp_error_set(&err, ARCP_E_TIMEOUT, "%s ran %d s", "survey", 5),
                     ARCP_E_TIMEOUT);
    assert_int_equal(err.status, ARCP_E_TIMEOUT);
    assert_true(err.retryable);
    assert_true(err.offset == ARCP_NO_OFFSET);
    assert_string_equal(err.message, "survey ran 5 s");
    assert_int_equal(arcp_error_set_at(&err, ARCP_E_INVALID_REQUEST, 17, "no"),
                     ARCP_E_INVALID_REQUEST);
    assert_false(err.retryable);
    assert_int_equal(err.offset, 17);
    assert_string_equal(err.message, "no");
    assert_int_equal(arcp_error_set(NULL, ARCP_E_IO, "nobody asked"), ARCP_E_IO);
    assert_int_equal(arcp_error_set_at(NULL, ARCP_E_IO, 1, "nobody asked"), ARCP_E_IO);
}

static void details_go_into_the_callers_buffer(void **state)
{
    (void)state;
    arcp_buf details = arcp_buf_init();
    arcp_error err = {.details = &details};
    assert_string_equal(arcp_error_details(&err), "");
    (void)arcp_error_set(&err, ARCP_E_DUPLICATE_KEY, "taken");
    arcp_error_set_details(&err, ARCP_SPAN_LITERAL("{\"job_id\":\"j\"}"));
    assert_string_equal(arcp_error_details(&err), "{\"job_id\":\"j\"}");
    assert_int_equal(details.size, strlen("{\"job_id\":\"j\"}"));
    /* The next failure replaces them. */
    memcpy(err.code, "X", 2);
    (void)arcp_error_set(&err, ARCP_E_IO, "gone");
    assert_string_equal(arcp_error_details(&err), "");
    assert_string_equal(err.code, "");
    assert_ptr_equal(err.details, &details);
    /* Without a buffer there are none. */
    arcp_error plain = {0};
    arcp_error_set_details(&plain, ARCP_SPAN_LITERAL("{}"));
    arcp_error_set_details(NULL, ARCP_SPAN_LITERAL("{}"));
    assert_string_equal(arcp_error_details(&plain), "");
    arcp_buf_fini(&details);
}

static void a_copy_keeps_its_own_buffer(void **state)
{
    (void)state;
    arcp_buf details = arcp_buf_init();
    arcp_buf copied = arcp_buf_init();
    arcp_error err = {.details = &details};
    arcp_error copy = {.details = &copied};
    arcp_error plain = {0};
    (void)arcp_error_set_at(&err, ARCP_E_DUPLICATE_KEY, 3, "taken");
    memcpy(err.code, "DUPLICATE_KEY", 14);
    arcp_error_set_details(&err, ARCP_SPAN_LITERAL("{}"));
    assert_int_equal(arcp_error_copy(&copy, &err), ARCP_E_DUPLICATE_KEY);
    assert_int_equal(arcp_error_copy(&plain, &err), ARCP_E_DUPLICATE_KEY);
    assert_int_equal(arcp_error_copy(NULL, &err), ARCP_E_DUPLICATE_KEY);
    assert_int_equal(arcp_error_copy(&err, &err), ARCP_E_DUPLICATE_KEY);
    arcp_buf_fini(&details);
    assert_int_equal(copy.status, ARCP_E_DUPLICATE_KEY);
    assert_int_equal(copy.offset, 3);
    assert_string_equal(copy.code, "DUPLICATE_KEY");
    assert_string_equal(copy.message, "taken");
    assert_string_equal(arcp_error_details(&copy), "{}");
    assert_string_equal(plain.message, "taken");
    assert_null(plain.details);
    /* The details of an earlier failure are removed. */
    (void)arcp_error_set(&plain, ARCP_E_IO, "gone");
    (void)arcp_error_copy(&copy, &plain);
    assert_string_equal(arcp_error_details(&copy), "");
    arcp_buf_fini(&copied);
}

typedef struct message_row {
    const char *name;
    const char *text;
    const char *want;
} message_row;

static const message_row messages[] = {
    {"a line feed cannot start a second log line", "a\nb\r\n", "a?b??"},
    {"a terminal's escape sequence", "\x1b[31mred\x7f", "?[31mred?"},
    {"one that begins with U+009B", "\xc2\x9b\x33\x31mred\xc2\xa0", "??31mred\xc2\xa0"},
    {"text that is turned around",
     "a\xe2\x80\xae"
     "b",
     "a???b"},
    {"text in another language stays", "d\xc3\xbcrfen \xe2\x82\xac", "d\xc3\xbcrfen \xe2\x82\xac"},
    {"a stray byte", "a\xff z", "a? z"},
    {"a character that is cut short", "a\xe2\x82", "a??"},
    {"an encoded surrogate", "\xed\xa0\x80", "???"},
};

static void a_message_is_one_line_of_utf8(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        print_message("  %s\n", messages[i].name);
        arcp_error err = {0};
        (void)arcp_error_set(&err, ARCP_E_IO, "%s", messages[i].text);
        assert_string_equal(err.message, messages[i].want);
    }
}

static void a_long_message_is_cut_between_characters(void **state)
{
    (void)state;
    char text[600];
    for (size_t ascii = 0; ascii < 4; ascii++) {
        memset(text, 'x', ascii);
        for (size_t i = ascii; i + 3 < sizeof text; i += 3) {
            memcpy(text + i, "\xe2\x82\xac", 4);
        }
        arcp_error err = {0};
        (void)arcp_error_set(&err, ARCP_E_IO, "%s", text);
        const size_t size = strlen(err.message);
        assert_true(size <= ARCP_ERROR_MESSAGE_MAX - 1 && size > ARCP_ERROR_MESSAGE_MAX - 4);
        assert_int_equal((size - ascii) % 3, 0);
        assert_memory_equal(err.message, text, size);
    }
}

static void a_message_of_the_greatest_length_is_whole(void **state)
{
    (void)state;
    char text[ARCP_ERROR_MESSAGE_MAX + 1];
    memset(text, 'x', sizeof text);
    text[ARCP_ERROR_MESSAGE_MAX] = '\0';
    arcp_error err = {0};
    (void)arcp_error_set(&err, ARCP_E_IO, "%s", text + 1);
    assert_string_equal(err.message, text + 1);
    (void)arcp_error_set(&err, ARCP_E_IO, "%s", text);
    assert_int_equal(strlen(err.message), ARCP_ERROR_MESSAGE_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fifteen_codes_have_their_names_on_the_wire),
        cmocka_unit_test(retryable_is_as_requested_where_the_draft_leaves_a_choice),
        cmocka_unit_test(local_conditions_are_internal_errors_on_the_wire),
        cmocka_unit_test(unknown_codes_count_as_internal_errors),
        cmocka_unit_test(every_status_has_a_name_of_its_own_and_a_text),
        cmocka_unit_test(an_error_has_the_message_that_was_set),
        cmocka_unit_test(details_go_into_the_callers_buffer),
        cmocka_unit_test(a_copy_keeps_its_own_buffer),
        cmocka_unit_test(a_message_is_one_line_of_utf8),
        cmocka_unit_test(a_long_message_is_cut_between_characters),
        cmocka_unit_test(a_message_of_the_greatest_length_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
