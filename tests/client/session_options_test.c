/* Invalid options (src/client/client_session.c). */
#include "client/story.h"

static void invalid_options_are_refused_by_name(void **state)
{
    struct {
        const char *names;
        arcp_client_options options;
    } rows[] = {
        {"struct_size", {.struct_size = 3}}, {"url", DEFAULTS},
        {"resume token", DEFAULTS},          {"ack_events", DEFAULTS},
        {"backoff_first_ms", DEFAULTS},      {"connect_timeout_ms", DEFAULTS},
        {"frame_bytes_max", DEFAULTS},
    };
    for (size_t row = 2; row < sizeof rows / sizeof rows[0]; row++) {
        rows[row].options.url = ARCP_SPAN_LITERAL("ws://x");
    }
    rows[2].options.resume.session_id = ARCP_SPAN_LITERAL("sess_1");
    rows[3].options.ack_events = 0;
    rows[4].options.backoff_first_ms = 0;
    rows[5].options.connect_timeout_ms = 0;
    rows[6].options.frame_bytes_max = 1023;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        arcp__client_session *session = NULL;
        arcp_error err = {0};
        print_message("  %s\n", rows[row].names);
        assert_int_equal(arcp__client_session_new(&rows[row].options, NULL, NULL, &session, &err),
                         ARCP_E_USAGE);
        assert_non_null(strstr(err.message, rows[row].names));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_options_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
