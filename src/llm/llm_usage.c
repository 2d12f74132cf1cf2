/* The usage of an answer, as each API reports it. Members that are absent change nothing, so that
 * the last event that has a member decides; a zero is a zero. */
#include "llm/llm_usage.h"

#include <stdio.h>

#include "base/blank.h"

static arcp_json_ref member(const arcp__llm_tap *tap, arcp_json_ref object, const char *name)
{
    return arcp_json_member(&tap->json, object, arcp_span_cstr(name));
}

static bool read_count(const arcp__llm_tap *tap, arcp_json_ref object, const char *name,
                       arcp__llm_count *out)
{
    uint64_t tokens = 0;
    if (!arcp_json_u64(&tap->json, member(tap, object, name), &tokens)) {
        return false;
    }
    *out = (arcp__llm_count){tokens, true};
    return true;
}

static void read_text(arcp__llm_tap *tap, arcp_json_ref object, const char *name, char *out,
                      size_t size)
{
    const arcp_json_ref ref = member(tap, object, name);
    if (arcp_json_is(&tap->json, ref, ARCP_JSON_STRING)) {
        const arcp_span word = arcp_json_string(&tap->json, ref, &tap->scratch);
        (void)snprintf(out, size, "%.*s", (int)(word.size < size ? word.size : size),
                       word.size == 0 ? "" : word.data);
    }
}

static void read_word(arcp__llm_tap *tap, arcp_json_ref object, const char *name,
                      char out[ARCP__LLM_WORD_SIZE])
{
    read_text(tap, object, name, out, ARCP__LLM_WORD_SIZE);
}

static uint64_t less(uint64_t all, uint64_t part)
{
    return all > part ? all - part : 0;
}

/* ---- OpenAI: cached tokens are parts of the input ---- */

static void read_openai(arcp__llm_tap *tap, arcp_json_ref usage, bool is_responses)
{
    arcp__llm_usage *out = &tap->usage;
    arcp__llm_count input = {0};
    const arcp_json_ref details =
        member(tap, usage, is_responses ? "input_tokens_details" : "prompt_tokens_details");
    const arcp_json_ref output_details =
        member(tap, usage, is_responses ? "output_tokens_details" : "completion_tokens_details");
    if (read_count(tap, usage, is_responses ? "input_tokens" : "prompt_tokens", &input)) {
        out->cache_read = out->cache_write = (arcp__llm_count){0};
        (void)read_count(tap, details, "cached_tokens", &out->cache_read);
        (void)read_count(tap, details, "cache_write_tokens", &out->cache_write);
        out->input = (arcp__llm_count){
            less(less(input.tokens, out->cache_read.tokens), out->cache_write.tokens), true};
    }
    (void)read_count(tap, usage, is_responses ? "output_tokens" : "completion_tokens",
                     &out->output);
    (void)read_count(tap, output_details, "reasoning_tokens", &out->reasoning);
    if (tap->route == ARCP__LLM_ROUTE_EMBEDDINGS && out->input.is_known) {
        out->output.is_known = true;
    }
}

/* The text of a stream's event: all strings in what it adds, except words of the format. */
static void add_shown(arcp__llm_tap *tap, arcp_json_ref delta)
{
    const arcp_json *json = &tap->json;
    if (delta == ARCP_JSON_ABSENT) {
        return;
    }
    bool is_name = false;
    bool skips = false;
    for (arcp_json_ref at = delta; at < json->nodes[delta].next; at++) {
        const bool is_string = arcp_json_is(json, at, ARCP_JSON_STRING);
        /* A name is followed by a colon. */
        const arcp_span next = arcp__skip_blanks(
            arcp_span_from(json->text, (size_t)json->nodes[at].start + json->nodes[at].size));
        is_name = is_string && next.size != 0 && next.data[0] == ':';
        if (is_string && !is_name && !skips) {
            tap->shown =
                arcp__llm_sum(tap->shown, arcp__llm_text_tokens(arcp_json_raw(json, at),
                                                                tap->other_tokens_per_byte));
        }
        skips = is_name && (arcp_json_string_equals(json, at, ARCP_SPAN_LITERAL("type")) ||
                            arcp_json_string_equals(json, at, ARCP_SPAN_LITERAL("role")));
    }
}

static void read_chat(arcp__llm_tap *tap)
{
    const arcp_json_ref usage = member(tap, ARCP_JSON_ROOT, "usage");
    const arcp_json_ref choices = member(tap, ARCP_JSON_ROOT, "choices");
    read_word(tap, ARCP_JSON_ROOT, "service_tier", tap->usage.tier);
    for (arcp_json_ref choice = arcp_json_first(&tap->json, choices); choice != ARCP_JSON_ABSENT;
         choice = arcp_json_next(&tap->json, choices, choice)) {
        add_shown(tap, member(tap, choice, "delta"));
    }
    if (arcp_json_is(&tap->json, usage, ARCP_JSON_OBJECT)) {
        read_openai(tap, usage, false);
        tap->is_complete = tap->usage.input.is_known && tap->usage.output.is_known;
    }
}

static void read_responses(arcp__llm_tap *tap)
{
    arcp_json_ref response = ARCP_JSON_ROOT;
    if (tap->is_stream) {
        const arcp_json_ref type = member(tap, ARCP_JSON_ROOT, "type");
        if (!arcp_json_string_equals(&tap->json, type, ARCP_SPAN_LITERAL("response.completed")) &&
            !arcp_json_string_equals(&tap->json, type, ARCP_SPAN_LITERAL("response.incomplete")) &&
            !arcp_json_string_equals(&tap->json, type, ARCP_SPAN_LITERAL("response.failed"))) {
            add_shown(tap, member(tap, ARCP_JSON_ROOT, "delta"));
            return;
        }
        response = member(tap, ARCP_JSON_ROOT, "response");
    }
    const arcp_json_ref usage = member(tap, response, "usage");
    read_word(tap, response, "service_tier", tap->usage.tier);
    read_text(tap, response, "id", tap->answer_id, sizeof tap->answer_id);
    if (arcp_json_is(&tap->json, usage, ARCP_JSON_OBJECT)) {
        read_openai(tap, usage, true);
        tap->is_complete = tap->usage.input.is_known && tap->usage.output.is_known;
    }
}

/* ---- Anthropic: cached tokens are beside the input ---- */

/* Samplings of other types than `message` are not in the sums of the answer. */
static void read_iterations(arcp__llm_tap *tap, arcp_json_ref list)
{
    static const char *const inputs[] = {"input_tokens", "cache_read_input_tokens",
                                         "cache_creation_input_tokens"};
    arcp__llm_usage *out = &tap->usage;
    if (!arcp_json_is(&tap->json, list, ARCP_JSON_ARRAY)) {
        return;
    }
    out->more_input = out->more_output = 0;
    for (arcp_json_ref at = arcp_json_first(&tap->json, list); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(&tap->json, list, at)) {
        arcp__llm_count count = {0};
        if (arcp_json_string_equals(&tap->json, member(tap, at, "type"),
                                    ARCP_SPAN_LITERAL("message"))) {
            continue;
        }
        for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
            if (read_count(tap, at, inputs[i], &count)) {
                out->more_input = arcp__llm_sum(out->more_input, count.tokens);
            }
        }
        if (read_count(tap, at, "output_tokens", &count)) {
            out->more_output = arcp__llm_sum(out->more_output, count.tokens);
        }
    }
}

static void read_anthropic(arcp__llm_tap *tap, arcp_json_ref usage)
{
    arcp__llm_usage *out = &tap->usage;
    arcp__llm_count created = {0};
    const arcp_json_ref creation = member(tap, usage, "cache_creation");
    (void)read_count(tap, usage, "input_tokens", &out->input);
    (void)read_count(tap, usage, "output_tokens", &out->output);
    (void)read_count(tap, usage, "cache_read_input_tokens", &out->cache_read);
    if (arcp_json_is(&tap->json, creation, ARCP_JSON_OBJECT)) {
        (void)read_count(tap, creation, "ephemeral_1h_input_tokens", &out->cache_write_1h);
        (void)read_count(tap, creation, "ephemeral_5m_input_tokens", &out->cache_write);
    }
    if (read_count(tap, usage, "cache_creation_input_tokens", &created)) {
        out->cache_write =
            (arcp__llm_count){less(created.tokens, out->cache_write_1h.tokens), true};
    }
    read_iterations(tap, member(tap, usage, "iterations"));
    read_word(tap, usage, "service_tier", out->tier);
    read_word(tap, usage, "speed", out->speed);
    read_word(tap, usage, "inference_geo", out->place);
}

static void read_messages(arcp__llm_tap *tap)
{
    const arcp_json_ref type = member(tap, ARCP_JSON_ROOT, "type");
    const arcp__llm_usage *usage = &tap->usage;
    if (!tap->is_stream) {
        read_anthropic(tap, member(tap, ARCP_JSON_ROOT, "usage"));
        tap->is_complete = usage->input.is_known && usage->output.is_known;
    } else if (arcp_json_string_equals(&tap->json, type, ARCP_SPAN_LITERAL("message_start"))) {
        read_anthropic(tap, member(tap, member(tap, ARCP_JSON_ROOT, "message"), "usage"));
    } else if (arcp_json_string_equals(&tap->json, type, ARCP_SPAN_LITERAL("message_delta"))) {
        read_anthropic(tap, member(tap, ARCP_JSON_ROOT, "usage"));
    } else if (arcp_json_string_equals(&tap->json, type, ARCP_SPAN_LITERAL("message_stop"))) {
        tap->is_complete = usage->input.is_known && usage->output.is_known;
    } else {
        add_shown(tap, member(tap, ARCP_JSON_ROOT, "delta"));
    }
}

void arcp__llm_usage_read(arcp__llm_tap *tap)
{
    switch (tap->route) {
    case ARCP__LLM_ROUTE_CHAT:
    case ARCP__LLM_ROUTE_EMBEDDINGS:
        read_chat(tap);
        break;
    case ARCP__LLM_ROUTE_RESPONSES:
        read_responses(tap);
        break;
    case ARCP__LLM_ROUTE_MESSAGES:
        read_messages(tap);
        break;
    case ARCP__LLM_ROUTES:
        break;
    }
}
