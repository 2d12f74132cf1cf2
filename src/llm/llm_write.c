/* Writes the body that is sent on: splices in the bytes of the agent. */
#include <stdlib.h>

#include "base/alloc.h"
#include "llm/llm_reader.h"

#define REASONING_FIELD "\"reasoning.encrypted_content\""

typedef struct writer {
    const arcp__llm_call *call;
    const arcp_json *json;
    arcp_buf added;   /* members that are inserted after the opening brace, each with a comma */
    arcp_buf include; /* the changed list of this name */
    arcp_buf options; /* of the stream */
    arcp_buf model;
    struct splice {
        arcp__llm_cut cut;
        arcp_span text;
    } * splices;
    size_t count;
} writer;

static arcp__llm_cut cut_of(const writer *w, arcp_json_ref value)
{
    return (arcp__llm_cut){w->json->nodes[value].start, w->json->nodes[value].size};
}

static void splice(writer *w, arcp__llm_cut cut, arcp_span text)
{
    w->splices[w->count++] = (struct splice){cut, text};
}

static arcp_json_ref find(const writer *w, const char *name)
{
    return arcp_json_member(w->json, ARCP_JSON_ROOT, arcp_span_cstr(name));
}

/* Replaces the value of a member (also null), or adds the member. */
static void set(writer *w, const char *name, arcp_span value)
{
    const arcp_json_ref found = find(w, name);
    if (found != ARCP_JSON_ABSENT) {
        splice(w, cut_of(w, found), value);
        return;
    }
    arcp_buf_append_format(&w->added, "\"%s\":", name);
    arcp_buf_append(&w->added, value);
    arcp_buf_append_byte(&w->added, ',');
}

/* The list `include` with one more field. */
static void add_reasoning(writer *w)
{
    const arcp_json_ref list = find(w, "include");
    for (arcp_json_ref at = arcp_json_first(w->json, list); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(w->json, list, at)) {
        if (arcp_json_string_equals(w->json, at,
                                    ARCP_SPAN_LITERAL("reasoning.encrypted_content"))) {
            return;
        }
    }
    const arcp_span old = arcp_json_raw(w->json, list);
    arcp_buf_append_cstr(&w->include, "[" REASONING_FIELD);
    if (arcp_json_count(w->json, list) != 0) {
        arcp_buf_append_byte(&w->include, ',');
        arcp_buf_append(&w->include, arcp_span_from(old, 1));
    } else {
        arcp_buf_append_byte(&w->include, ']');
    }
    set(w, "include", arcp_buf_span(&w->include));
}

/* stream_options with include_usage: true. */
static void add_usage(writer *w)
{
    const arcp_json_ref object = find(w, "stream_options");
    const arcp_json_ref usage =
        arcp_json_member(w->json, object, ARCP_SPAN_LITERAL("include_usage"));
    if (usage != ARCP_JSON_ABSENT) {
        splice(w, cut_of(w, usage), ARCP_SPAN_LITERAL("true"));
        return;
    }
    arcp_buf_append_cstr(&w->options, "{\"include_usage\":true");
    if (arcp_json_count(w->json, object) != 0) {
        arcp_buf_append_byte(&w->options, ',');
        arcp_buf_append(&w->options, arcp_span_from(arcp_json_raw(w->json, object), 1));
    } else {
        arcp_buf_append_byte(&w->options, '}');
    }
    set(w, "stream_options", arcp_buf_span(&w->options));
}

/* The member that has the limit: that of the agent, or the one of the route. */
static const char *limit_name(const writer *w, const char *field)
{
    static const char *const fields[] = {"max_tokens", "max_completion_tokens",
                                         "max_output_tokens"};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0] && w->call->size.has_limit; i++) {
        if (!arcp_json_is_missing(w->json, find(w, fields[i]))) {
            return fields[i];
        }
    }
    switch (w->call->route) {
    case ARCP__LLM_ROUTE_CHAT:
        return field == NULL ? "max_completion_tokens" : field;
    case ARCP__LLM_ROUTE_RESPONSES:
        return "max_output_tokens";
    case ARCP__LLM_ROUTE_EMBEDDINGS:
    case ARCP__LLM_ROUTE_MESSAGES:
    case ARCP__LLM_ROUTES:
        break;
    }
    return "max_tokens";
}

static int compare_splices(const void *a, const void *b)
{
    const struct splice *left = a;
    const struct splice *right = b;
    return (left->cut.at > right->cut.at) - (left->cut.at < right->cut.at);
}

static void write_spliced(writer *w, arcp_buf *out)
{
    const arcp_span body = w->json->text;
    size_t at = 0;
    qsort(w->splices, w->count, sizeof *w->splices, compare_splices);
    for (size_t i = 0; i < w->count; i++) {
        const struct splice *next = &w->splices[i];
        arcp_buf_append(out, arcp_span_make(body.data + at, next->cut.at - at));
        arcp_buf_append(out, next->text);
        at = next->cut.at + next->cut.size;
    }
    arcp_buf_append(out, arcp_span_from(body, at));
}

static void collect(writer *w, const arcp__llm_change *change, const char *limit)
{
    for (size_t i = 0; i < w->call->removed_count; i++) {
        splice(w, w->call->removed[i], arcp_span_make(NULL, 0));
    }
    if (change->model.size != 0) {
        arcp_json_quote(change->model, &w->model);
        set(w, "model", arcp_buf_span(&w->model));
    }
    if (change->sets_limit && w->call->route != ARCP__LLM_ROUTE_EMBEDDINGS) {
        set(w, limit_name(w, change->limit_field), arcp_span_cstr(limit));
    }
    if (change->asks_usage && w->call->streams && w->call->route == ARCP__LLM_ROUTE_CHAT) {
        add_usage(w);
    }
    if (change->sets_tier) {
        set(w, "service_tier", ARCP_SPAN_LITERAL("\"default\""));
    }
    if (change->forbids_store) {
        set(w, "store", ARCP_SPAN_LITERAL("false"));
    }
    if (change->asks_reasoning && w->call->route == ARCP__LLM_ROUTE_RESPONSES) {
        add_reasoning(w);
    }
    if (w->added.size != 0) {
        splice(w, (arcp__llm_cut){w->json->nodes[0].start + 1u, 0}, arcp_buf_span(&w->added));
    }
}

void arcp__llm_call_write(const arcp__llm_call *call, const arcp__llm_change *change, arcp_buf *out)
{
    writer w = {.call = call, .json = &call->parts->json};
    arcp_buf limit = arcp_buf_init();
    arcp_buf_append_u64(&limit, change->limit);
    /* One for each kind of change, and one for each tool. */
    w.splices = arcp__alloc_array(call->removed_count + 8, sizeof *w.splices);
    const char *text = arcp_buf_cstr(&limit);
    if (w.splices != NULL && text != NULL) {
        collect(&w, change, text);
        write_spliced(&w, out);
    }
    out->failed = out->failed || w.splices == NULL || limit.failed || w.added.failed ||
                  w.include.failed || w.options.failed || w.model.failed;
    arcp__free(w.splices);
    arcp_buf_fini(&w.added);
    arcp_buf_fini(&w.include);
    arcp_buf_fini(&w.options);
    arcp_buf_fini(&w.model);
    arcp_buf_fini(&limit);
}
