/* What an answer reports, as JSON and as a stream of events, however its bytes arrive. */
#include "support/check.h"

#include "llm/llm_answer.h"
#include "support/failing_alloc.h"

#define CHAT       ARCP__LLM_ROUTE_CHAT
#define RESPONSES  ARCP__LLM_ROUTE_RESPONSES
#define EMBEDDINGS ARCP__LLM_ROUTE_EMBEDDINGS
#define MESSAGES   ARCP__LLM_ROUTE_MESSAGES

enum { COMPLETE = 1, UNREAD = 2, NO_INPUT = 4, NO_OUTPUT = 8 };

typedef struct answer_row {
    const char *name;
    arcp__llm_route route;
    bool is_stream;
    const char *body;
    unsigned flags;
    uint64_t input, read, write, write_1h, output, reasoning;
    uint64_t shown;
    uint64_t more_input, more_output;
    const char *tier;
} answer_row;

#define START                                                                                      \
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{"             \
    "\"input_tokens\":10,\"cache_read_input_tokens\":200,\"cache_creation_input_tokens\":30,"      \
    "\"cache_creation\":{\"ephemeral_5m_input_tokens\":20,\"ephemeral_1h_input_tokens\":10},"      \
    "\"output_tokens\":1,\"service_tier\":\"standard\"}}}\n\n"
#define DELTA                                                                                      \
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\","      \
    "\"text\":\"hello\"}}\n\n"
#define END                                                                                        \
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{"       \
    "\"output_tokens\":55}}\n\n"
#define STOP "data: {\"type\":\"message_stop\"}\n\n"

static const answer_row rows[] = {
    {"a chat", CHAT, false,
     "{\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":20,\"prompt_tokens_details\":{"
     "\"cached_tokens\":60,\"cache_write_tokens\":10},\"completion_tokens_details\":{"
     "\"reasoning_tokens\":5}},\"service_tier\":\"priority\"}",
     COMPLETE, 30, 60, 10, 0, 20, 5, 0, 0, 0, "priority"},
    {"more cached tokens than there are", CHAT, false,
     "{\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":2,\"prompt_tokens_details\":{"
     "\"cached_tokens\":60}}}",
     COMPLETE, 0, 60, 0, 0, 2, 0, 0, 0, 0, ""},
    {"zeros are zeros", CHAT, false, "{\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0}}",
     COMPLETE, 0, 0, 0, 0, 0, 0, 0, 0, 0, ""},
    {"a chat without usage", CHAT, false, "{\"choices\":[]}", NO_INPUT | NO_OUTPUT, 0, 0, 0, 0, 0,
     0, 0, 0, 0, ""},
    {"a chat with usage that is null", CHAT, false, "{\"usage\":null}", NO_INPUT | NO_OUTPUT, 0, 0,
     0, 0, 0, 0, 0, 0, 0, ""},
    {"a chat with half of its usage", CHAT, false, "{\"usage\":{\"prompt_tokens\":4}}", NO_OUTPUT,
     4, 0, 0, 0, 0, 0, 0, 0, 0, ""},
    {"usage that is a text", CHAT, false,
     "{\"usage\":{\"prompt_tokens\":\"4\",\"completion_tokens\":-1}}", NO_INPUT | NO_OUTPUT, 0, 0,
     0, 0, 0, 0, 0, 0, 0, ""},
    {"usage that no counter can hold", CHAT, false,
     "{\"usage\":{\"prompt_tokens\":18446744073709551616,\"completion_tokens\":1.5}}",
     NO_INPUT | NO_OUTPUT, 0, 0, 0, 0, 0, 0, 0, 0, 0, ""},
    {"the most that a counter can hold", CHAT, false,
     "{\"usage\":{\"prompt_tokens\":18446744073709551615,\"completion_tokens\":2}}", COMPLETE,
     UINT64_MAX, 0, 0, 0, 2, 0, 0, 0, 0, ""},
    {"an answer that is no JSON", CHAT, false, "<html>", UNREAD | NO_INPUT | NO_OUTPUT, 0, 0, 0, 0,
     0, 0, 0, 0, 0, ""},
    {"an answer that broke off", CHAT, false, "{\"usage\":{\"prompt_tokens\":4,",
     UNREAD | NO_INPUT | NO_OUTPUT, 0, 0, 0, 0, 0, 0, 0, 0, 0, ""},
    {"embeddings", EMBEDDINGS, false, "{\"usage\":{\"prompt_tokens\":8,\"total_tokens\":8}}",
     COMPLETE, 8, 0, 0, 0, 0, 0, 0, 0, 0, ""},
    {"responses", RESPONSES, false,
     "{\"usage\":{\"input_tokens\":100,\"output_tokens\":20,\"input_tokens_details\":{"
     "\"cached_tokens\":60},\"output_tokens_details\":{\"reasoning_tokens\":5}},"
     "\"service_tier\":\"default\"}",
     COMPLETE, 40, 60, 0, 0, 20, 5, 0, 0, 0, "default"},
    {"messages", MESSAGES, false,
     "{\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":200,"
     "\"cache_creation_input_tokens\":30,\"output_tokens\":5}}",
     COMPLETE, 10, 200, 30, 0, 5, 0, 0, 0, 0, ""},
    {"samplings beside the message", MESSAGES, false,
     "{\"usage\":{\"input_tokens\":10,\"output_tokens\":5,\"iterations\":[{\"type\":\"message\","
     "\"input_tokens\":10,\"output_tokens\":5},{\"type\":\"compaction\",\"input_tokens\":1000,"
     "\"cache_read_input_tokens\":7,\"output_tokens\":50},{\"output_tokens\":1}]}}",
     COMPLETE, 10, 0, 0, 0, 5, 0, 0, 1007, 51, ""},
    {"a streamed chat: the last usage wins", CHAT, true,
     "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"hi\"}}],\"usage\":"
     "null}\n\n"
     "data: {\"choices\":[{\"delta\":{\"content\":\"!\"}}],\"usage\":{\"prompt_tokens\":1,"
     "\"completion_tokens\":1}}\n\n"
     "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\n"
     "data: [DONE]\n\n",
     COMPLETE, 9, 0, 0, 0, 3, 0, 7, 0, 0, ""},
    {"a streamed chat without usage", CHAT, true,
     "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"type\":\"function\",\"function\":{"
     "\"arguments\":\"ab\"}}]}}]}\n\ndata: [DONE]\n\n",
     NO_INPUT | NO_OUTPUT, 0, 0, 0, 0, 0, 0, 4, 0, 0, ""},
    {"a stream of responses", RESPONSES, true,
     "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"usage\":null,"
     "\"service_tier\":\"auto\"}}\n\n"
     "data: {\"type\":\"response.output_text.delta\",\"delta\":\"hello\"}\n\n"
     "data: {\"type\":\"response.completed\",\"response\":{\"service_tier\":\"flex\",\"usage\":{"
     "\"input_tokens\":9,\"output_tokens\":3}}}\n\n",
     COMPLETE, 9, 0, 0, 0, 3, 0, 7, 0, 0, "flex"},
    {"a stream of responses that ended early", RESPONSES, true,
     "data: {\"type\":\"response.incomplete\",\"response\":{\"usage\":{\"input_tokens\":9,"
     "\"output_tokens\":3}}}\n\n",
     COMPLETE, 9, 0, 0, 0, 3, 0, 0, 0, 0, ""},
    {"a stream of responses that failed", RESPONSES, true,
     "data: {\"type\":\"response.failed\",\"response\":{\"usage\":{\"input_tokens\":9,"
     "\"output_tokens\":3}}}\n\n",
     COMPLETE, 9, 0, 0, 0, 3, 0, 0, 0, 0, ""},
    {"a stream of messages", MESSAGES, true, START DELTA END STOP, COMPLETE, 10, 200, 20, 10, 55, 0,
     7, 0, 0, "standard"},
    {"a stream of messages that broke off", MESSAGES, true, START DELTA, 0, 10, 200, 20, 10, 1, 0,
     7, 0, 0, "standard"},
    {"a stream of messages without its end", MESSAGES, true, START DELTA END, 0, 10, 200, 20, 10,
     55, 0, 7, 0, 0, "standard"},
    {"an event over several lines, with comments and other fields", CHAT, true,
     ": ping\n\nid: 5\nretry: 10\ndata:{\"usage\":{\"prompt_tokens\":9,\ndata: "
     "\"completion_tokens\":3}}\ndata\n\n",
     COMPLETE, 9, 0, 0, 0, 3, 0, 0, 0, 0, ""},
    {"lines that end with CR", CHAT, true,
     "data: {\"usage\":{\"prompt_tokens\":9,\rdata: \"completion_tokens\":3}}\r\r", COMPLETE, 9, 0,
     0, 0, 3, 0, 0, 0, 0, ""},
    {"lines that end with CR and LF", CHAT, true,
     "data: {\"usage\":{\"prompt_tokens\":9,\r\ndata: \"completion_tokens\":3}}\r\n\r\n", COMPLETE,
     9, 0, 0, 0, 3, 0, 0, 0, 0, ""},
    {"a last event without its empty line", CHAT, true,
     "data: {\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}", COMPLETE, 9, 0, 0, 0, 3, 0,
     0, 0, 0, ""},
    {"an event that is no JSON", CHAT, true,
     "data: oops\n\ndata: {\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\n",
     COMPLETE | UNREAD, 9, 0, 0, 0, 3, 0, 0, 0, 0, ""},
    {"an error instead of an answer", MESSAGES, true,
     "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n",
     NO_INPUT | NO_OUTPUT, 0, 0, 0, 0, 0, 0, 0, 0, 0, ""},
};

/* Feeds the body in pieces of this size. */
static void feed(const answer_row *row, size_t piece, arcp__llm_tap *tap)
{
    arcp_span rest = arcp_span_cstr(row->body);
    arcp__llm_tap_init(tap, row->route, row->is_stream);
    while (rest.size != 0) {
        arcp__llm_tap_feed(tap, arcp_span_first(rest, piece));
        rest = arcp_span_from(rest, piece);
    }
    arcp__llm_tap_end(tap);
}

static void the_usage_of_an_answer_is_read(void **state)
{
    const answer_row *row = *state;
    static const size_t pieces[] = {1, 7, 100000};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        arcp__llm_tap tap;
        feed(row, pieces[i], &tap);
        const arcp__llm_usage *usage = &tap.usage;
        assert_int_equal(tap.is_complete, (row->flags & COMPLETE) != 0);
        assert_int_equal(tap.has_unread, (row->flags & UNREAD) != 0);
        assert_int_equal(usage->input.is_known, (row->flags & NO_INPUT) == 0);
        assert_int_equal(usage->output.is_known, (row->flags & NO_OUTPUT) == 0);
        assert_int_equal(usage->input.tokens, row->input);
        assert_int_equal(usage->cache_read.tokens, row->read);
        assert_int_equal(usage->cache_write.tokens, row->write);
        assert_int_equal(usage->cache_write_1h.tokens, row->write_1h);
        assert_int_equal(usage->output.tokens, row->output);
        assert_int_equal(usage->reasoning.tokens, row->reasoning);
        assert_int_equal(usage->more_input, row->more_input);
        assert_int_equal(usage->more_output, row->more_output);
        assert_int_equal(tap.shown, row->shown);
        assert_string_equal(usage->tier, row->tier);
        arcp__llm_tap_fini(&tap);
    }
}

/* ---- limits ---- */

static const char usage_event[] =
    "data: {\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\n";

/* A stream with a comment, or data, of `size` bytes before its usage. */
static void feed_long(const char *field, size_t size, arcp__llm_tap *tap)
{
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, ' ', size);
    memcpy(text, field, strlen(field));
    arcp__llm_tap_init(tap, CHAT, true);
    arcp__llm_tap_feed(tap, arcp_span_make(text, size / 2));
    arcp__llm_tap_feed(tap, arcp_span_make(text + size / 2, size - size / 2));
    arcp__llm_tap_feed(tap, ARCP_SPAN_LITERAL("\n\n"));
    arcp__llm_tap_feed(tap, arcp_span_cstr(usage_event));
    arcp__llm_tap_end(tap);
    free(text);
}

static void a_line_over_8_mib_is_not_read_and_does_not_disturb_the_next(void **state)
{
    (void)state;
    arcp__llm_tap tap;
    feed_long(":", ARCP__LLM_EVENT_BYTES_MAX, &tap);
    assert_false(tap.has_unread);
    assert_true(tap.is_complete);
    arcp__llm_tap_fini(&tap);
    feed_long("data:{}", ARCP__LLM_EVENT_BYTES_MAX + 1, &tap);
    assert_true(tap.has_unread);
    assert_true(tap.is_complete);
    arcp__llm_tap_fini(&tap);
}

static void data_over_8_mib_in_several_lines_is_not_read(void **state)
{
    (void)state;
    arcp__llm_tap tap;
    const size_t size = ARCP__LLM_EVENT_BYTES_MAX / 2 + 100;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, ' ', size);
    memcpy(text, "data:", 5);
    text[size - 1] = '\n';
    arcp__llm_tap_init(&tap, CHAT, true);
    arcp__llm_tap_feed(&tap, arcp_span_make(text, size));
    assert_false(tap.has_unread);
    arcp__llm_tap_feed(&tap, arcp_span_make(text, size));
    assert_true(tap.has_unread);
    arcp__llm_tap_feed(&tap, ARCP_SPAN_LITERAL("\n"));
    arcp__llm_tap_feed(&tap, arcp_span_cstr(usage_event));
    arcp__llm_tap_end(&tap);
    assert_true(tap.is_complete);
    arcp__llm_tap_fini(&tap);
    free(text);
}

static void a_word_of_the_answer_that_is_too_long_is_cut(void **state)
{
    (void)state;
    arcp__llm_tap tap;
    arcp__llm_tap_init(&tap, CHAT, false);
    arcp__llm_tap_feed(&tap, ARCP_SPAN_LITERAL("{\"service_tier\":\"0123456789012345678901234567"
                                               "890123456789\"}"));
    arcp__llm_tap_end(&tap);
    assert_string_equal(tap.usage.tier, "0123456789012345678901234567890");
    arcp__llm_tap_fini(&tap);
}

/* Whichever allocation fails, what is read is right or noted as not read. */
static void without_memory_an_answer_counts_as_not_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t nth = 1; nth < 10; nth++) {
            arcp__llm_tap tap;
            failing_alloc_arm(nth, FAILING_ALLOC_ALL_AFTER);
            feed(&rows[i], 100000, &tap);
            const bool failed = failing_alloc_disarm();
            assert_true(!failed || tap.has_unread || tap.usage.tier[0] == '\0');
            arcp__llm_tap_fini(&tap);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_over_8_mib_is_not_read_and_does_not_disturb_the_next),
        cmocka_unit_test(data_over_8_mib_in_several_lines_is_not_read),
        cmocka_unit_test(a_word_of_the_answer_that_is_too_long_is_cut),
        cmocka_unit_test(without_memory_an_answer_counts_as_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows(rows, sizeof rows / sizeof *rows, sizeof *rows, the_usage_of_an_answer_is_read);
}
