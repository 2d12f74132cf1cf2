/* `arcp models --request FILE --answer FILE`: what the answer to a call cost. */
#include <inttypes.h>

#include "arcp/models.h"
#include "base/blank.h"
#include "json/json_put.h"

/* Whether a body is a stream of events: anything but one JSON object. */
static bool is_stream(arcp_span body)
{
    const arcp_span begin = arcp__skip_blanks(body);
    return begin.size == 0 || begin.data[0] != '{';
}

arcp_status arcp__models_answer_read(const arcp__models *models, const arcp__llm_call *call,
                                     const arcp__llm_row *row, const arcp__llm_terms *terms,
                                     const arcp__llm_bound *held, arcp__models_answer *out,
                                     arcp_error *err)
{
    const char *file = arcp__value(&models->program->arguments, ARCP__OPTION_MODELS_ANSWER);
    arcp_buf body = arcp_buf_init();
    arcp__llm_tap tap;
    const arcp_status status = arcp__models_file(file, &body, err);
    if (status == ARCP_OK) {
        out->is_stream = is_stream(arcp_buf_span(&body));
        arcp__llm_tap_init(&tap, call->route, out->is_stream);
        arcp__llm_tap_feed(&tap, arcp_buf_span(&body));
        arcp__llm_tap_end(&tap);
        arcp__llm_settle(row, &call->size, terms, held, &tap, &out->cost);
        out->has_unread = tap.has_unread;
        arcp__llm_tap_fini(&tap);
    }
    arcp_buf_fini(&body);
    return status;
}

void arcp__models_answer_put(const arcp__models_answer *answer, arcp_json_writer *writer)
{
    const arcp__llm_cost *cost = &answer->cost;
    arcp__put_object(writer, "answer");
    arcp__put_bool(writer, "stream", answer->is_stream);
    arcp__put_bool(writer, "reported", cost->is_reported);
    arcp__put_bool(writer, "unread", answer->has_unread);
    arcp__put_u64(writer, "input_tokens", cost->input_tokens);
    arcp__put_u64(writer, "cached_tokens", cost->cached_tokens);
    arcp__put_u64(writer, "output_tokens", cost->output_tokens);
    arcp__models_put_amount(writer, "total", cost->total);
    arcp_json_end_object(writer);
}

void arcp__models_answer_append(const arcp__models_answer *answer, arcp_buf *out)
{
    const arcp__llm_cost *cost = &answer->cost;
    char total[ARCP_DECIMAL_TEXT_MAX];
    (void)arcp_decimal_format(cost->total, total);
    arcp_buf_append_format(out,
                           "answer   %" PRIu64 " tokens of input (%" PRIu64
                           " from a cache), %" PRIu64 " of output\n",
                           cost->input_tokens, cost->cached_tokens, cost->output_tokens);
    arcp_buf_append_format(
        out, "charge   %s%s\n", total,
        cost->is_reported ? "" : ", because the answer does not report all of its usage");
}
