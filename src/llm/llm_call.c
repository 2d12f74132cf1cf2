/* Reads the body of a call. */
#include "llm/llm_call.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "llm/llm_reader.h"

#define ANY_TOKENS    512  /* what a provider may add to every call */
#define SCHEMA_TOKENS 4096 /* and to one with a schema of the answer, or with functions */
#define ANSWERS_MAX   128

#define DEFAULT_TIER  (1u << ARCP__LLM_TIER_DEFAULT)
#define FLEX_TIER     (1u << ARCP__LLM_TIER_FLEX)
#define PRIORITY_TIER (1u << ARCP__LLM_TIER_PRIORITY)

static const struct route_row {
    const char *name;
    const char *path;
    arcp__llm_dialect dialect;
} routes[] = {
#define ARCP_LLM_ROUTE(id, name, path, dialect)                                                    \
    [ARCP__LLM_ROUTE_##id] = {name, path, ARCP__LLM_DIALECT_##dialect},
#include "llm/llm_route.def"
#undef ARCP_LLM_ROUTE
};

const char *arcp__llm_route_name(arcp__llm_route route)
{
    return routes[route].name;
}

const char *arcp__llm_route_path(arcp__llm_route route)
{
    return routes[route].path;
}

arcp__llm_dialect arcp__llm_route_dialect(arcp__llm_route route)
{
    return routes[route].dialect;
}

arcp__llm_route arcp__llm_route_of(arcp_span name)
{
    size_t route = 0;
    while (route < ARCP__LLM_ROUTES && !arcp_span_equal_cstr(name, routes[route].name)) {
        route++;
    }
    return (arcp__llm_route)route;
}

arcp__llm_policy arcp__llm_policy_init(arcp__llm_route route)
{
    const bool is_anthropic = routes[route].dialect == ARCP__LLM_DIALECT_ANTHROPIC;
    return (arcp__llm_policy){.route = route, .other_tokens_per_byte = is_anthropic ? 5 : 1};
}

/* ---- for all files of the reader ---- */

bool arcp__llm_refuse(arcp__llm_reader *reader, const char *code, const char *format, ...)
{
    char text[ARCP_ERROR_MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    reader->status = arcp_error_set(reader->err, ARCP_E_INVALID_REQUEST, "%s", text);
    if (reader->err != NULL) {
        (void)snprintf(reader->err->code, sizeof reader->err->code, "%s", code);
    }
    return false;
}

bool arcp__llm_no_memory(arcp__llm_reader *reader)
{
    reader->status = arcp_error_set(reader->err, ARCP_E_NO_MEMORY, "out of memory");
    return false;
}

arcp_json_ref arcp__llm_member(const arcp__llm_reader *reader, arcp_json_ref object,
                               const char *name)
{
    return arcp_json_member(reader->json, object, arcp_span_cstr(name));
}

arcp_span arcp__llm_string(arcp__llm_reader *reader, arcp_json_ref object, const char *name)
{
    return arcp_json_string(reader->json, arcp__llm_member(reader, object, name),
                            &reader->parts->scratch);
}

static bool fits(const char *pattern, arcp_span type)
{
    const size_t size = strlen(pattern);
    return pattern[size - 1] == '*' ? arcp_span_starts_with(type, arcp_span_make(pattern, size - 1))
                                    : arcp_span_equal_cstr(type, pattern);
}

int arcp__llm_kind_of(const arcp__llm_type *rows, size_t count, int scope, arcp_span type,
                      int otherwise)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].scope == scope && fits(rows[i].type, type)) {
            return rows[i].kind;
        }
    }
    return otherwise;
}

/* ---- members: `name` is the node of the name, its value follows ---- */

static bool read_pass(arcp__llm_reader *reader, arcp_json_ref name)
{
    (void)reader;
    (void)name;
    return true;
}

static bool refuse_value(arcp__llm_reader *reader, arcp_json_ref name, const char *wanted)
{
    const arcp_span text = arcp_json_raw(reader->json, name);
    return arcp__llm_refuse(reader, "invalid_request", "%.*s must be %s", ARCP__LLM_SHOWN(text),
                            wanted);
}

static bool read_model(arcp__llm_reader *reader, arcp_json_ref name)
{
    reader->call->model = arcp_json_string(reader->json, name + 1, &reader->parts->scratch);
    return reader->call->model.size != 0 || refuse_value(reader, name, "a name");
}

static bool read_limit(arcp__llm_reader *reader, arcp_json_ref name)
{
    if (reader->call->size.has_limit) {
        return arcp__llm_refuse(reader, "invalid_request",
                                "max_tokens and max_completion_tokens cannot both be given");
    }
    reader->call->size.has_limit = true;
    return arcp_json_u64(reader->json, name + 1, &reader->call->size.limit) ||
           refuse_value(reader, name, "a whole number");
}

static bool read_answers(arcp__llm_reader *reader, arcp_json_ref name)
{
    uint64_t *answers = &reader->call->size.answers;
    return (arcp_json_u64(reader->json, name + 1, answers) && *answers >= 1 &&
            *answers <= ANSWERS_MAX) ||
           refuse_value(reader, name, "a number from 1 to 128");
}

static bool read_bool(arcp__llm_reader *reader, arcp_json_ref name, bool *out)
{
    *out = arcp_json_is(reader->json, name + 1, ARCP_JSON_TRUE);
    return *out || arcp_json_is(reader->json, name + 1, ARCP_JSON_FALSE) ||
           refuse_value(reader, name, "true or false");
}

static bool read_stream(arcp__llm_reader *reader, arcp_json_ref name)
{
    return read_bool(reader, name, &reader->call->streams);
}

static bool read_stream_options(arcp__llm_reader *reader, arcp_json_ref name)
{
    reader->call->wants_usage = arcp_json_is(
        reader->json, arcp__llm_member(reader, name + 1, "include_usage"), ARCP_JSON_TRUE);
    return arcp_json_is(reader->json, name + 1, ARCP_JSON_OBJECT) ||
           refuse_value(reader, name, "an object");
}

static bool read_content(arcp__llm_reader *reader, arcp_json_ref name)
{
    return arcp__llm_read_content(reader, name + 1);
}

static bool read_embedded(arcp__llm_reader *reader, arcp_json_ref name)
{
    return arcp__llm_read_embedded(reader, name + 1);
}

static bool read_tools(arcp__llm_reader *reader, arcp_json_ref name)
{
    return arcp__llm_read_tools(reader, name + 1);
}

static bool read_schema(arcp__llm_reader *reader, arcp_json_ref name)
{
    (void)name;
    reader->call->size.extra += SCHEMA_TOKENS;
    return true;
}

static bool read_functions(arcp__llm_reader *reader, arcp_json_ref name)
{
    if (arcp_json_count(reader->json, name + 1) == 0) {
        return true;
    }
    reader->call->has_tools = true;
    return read_schema(reader, name);
}

static bool read_include(arcp__llm_reader *reader, arcp_json_ref name)
{
    return arcp_json_is(reader->json, name + 1, ARCP_JSON_ARRAY) ||
           refuse_value(reader, name, "a list");
}

/* A cache that is kept longer may be dearer. */
static bool read_cache_options(arcp__llm_reader *reader, arcp_json_ref name)
{
    const arcp_span ttl = arcp__llm_string(reader, name + 1, "ttl");
    if (ttl.size != 0 && !arcp_span_equal_cstr(ttl, "5m")) {
        reader->call->size.has_long_cache = true;
    }
    return true;
}

/* `auto` lets the provider choose. */
static bool read_tier(arcp__llm_reader *reader, arcp_json_ref name)
{
    static const struct {
        const char *name;
        unsigned tiers; /* 0: as if none was named */
        arcp__llm_dialect dialect;
    } tiers[] = {{"auto", 0, ARCP__LLM_DIALECT_OPENAI},
                 {"default", DEFAULT_TIER, ARCP__LLM_DIALECT_OPENAI},
                 {"flex", FLEX_TIER, ARCP__LLM_DIALECT_OPENAI},
                 {"priority", PRIORITY_TIER, ARCP__LLM_DIALECT_OPENAI},
                 {"auto", 0, ARCP__LLM_DIALECT_ANTHROPIC},
                 {"standard_only", DEFAULT_TIER, ARCP__LLM_DIALECT_ANTHROPIC}};
    const arcp_span tier = arcp_json_string(reader->json, name + 1, &reader->parts->scratch);
    for (size_t i = 0; i < sizeof tiers / sizeof tiers[0]; i++) {
        if (tiers[i].dialect == routes[reader->policy->route].dialect &&
            arcp_span_equal_cstr(tier, tiers[i].name)) {
            reader->call->size.tiers = tiers[i].tiers;
            return true;
        }
    }
    return arcp__llm_refuse(reader, "unsupported_parameter",
                            "service_tier \"%.*s\" has no price that is known here",
                            ARCP__LLM_SHOWN(tier));
}

static bool read_modalities(arcp__llm_reader *reader, arcp_json_ref name)
{
    const arcp_json_ref first = arcp_json_first(reader->json, name + 1);
    return (arcp_json_is(reader->json, name + 1, ARCP_JSON_ARRAY) &&
            arcp_json_count(reader->json, name + 1) == 1 &&
            arcp_json_string_equals(reader->json, first, ARCP_SPAN_LITERAL("text"))) ||
           refuse_value(reader, name, "[\"text\"]");
}

/* The earlier answer is a part of the input. */
static bool read_previous(arcp__llm_reader *reader, arcp_json_ref name)
{
    reader->call->previous = arcp_json_string(reader->json, name + 1, &reader->parts->scratch);
    reader->call->size.is_open = true;
    return reader->call->previous.size != 0 || refuse_value(reader, name, "an id");
}

static bool read_background(arcp__llm_reader *reader, arcp_json_ref name)
{
    return arcp_json_is(reader->json, name + 1, ARCP_JSON_FALSE) ||
           refuse_value(reader, name, "false");
}

static bool read_thinking(arcp__llm_reader *reader, arcp_json_ref name)
{
    const arcp_json_ref budget = arcp__llm_member(reader, name + 1, "budget_tokens");
    return arcp_json_is_missing(reader->json, budget) ||
           arcp_json_u64(reader->json, budget, &reader->call->thinking) ||
           arcp__llm_refuse(reader, "invalid_request", "budget_tokens must be a whole number");
}

static bool read_word(arcp__llm_reader *reader, arcp_json_ref name, const char *usual,
                      arcp_span *out)
{
    const arcp_span word = arcp_json_string(reader->json, name + 1, &reader->parts->scratch);
    *out = arcp_span_equal_cstr(word, usual) ? arcp_span_make(NULL, 0) : word;
    return word.size != 0 || refuse_value(reader, name, "a word");
}

static bool read_speed(arcp__llm_reader *reader, arcp_json_ref name)
{
    return read_word(reader, name, "standard", &reader->call->size.speed);
}

static bool read_place(arcp__llm_reader *reader, arcp_json_ref name)
{
    return read_word(reader, name, "global", &reader->call->size.place);
}

/* Edits that remove parts of the input; others make the provider sample again. */
static bool read_edits(arcp__llm_reader *reader, arcp_json_ref name)
{
    const arcp_json *json = reader->json;
    const arcp_json_ref edits = arcp__llm_member(reader, name + 1, "edits");
    for (arcp_json_ref edit = arcp_json_first(json, edits); edit != ARCP_JSON_ABSENT;
         edit = arcp_json_next(json, edits, edit)) {
        const arcp_span type = arcp__llm_string(reader, edit, "type");
        if (!arcp_span_starts_with(type, ARCP_SPAN_LITERAL("clear_"))) {
            return arcp__llm_refuse(reader, "unsupported_parameter",
                                    "context_management: an edit of type \"%.*s\" is not supported",
                                    ARCP__LLM_SHOWN(type));
        }
    }
    for (arcp_json_ref at = arcp_json_first(json, name + 1); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, name + 1, at)) {
        if (!arcp_json_string_equals(json, at, ARCP_SPAN_LITERAL("edits"))) {
            return refuse_value(reader, name, "an object with edits only");
        }
    }
    return (arcp_json_is(json, name + 1, ARCP_JSON_OBJECT) &&
            (arcp_json_is_missing(json, edits) || arcp_json_is(json, edits, ARCP_JSON_ARRAY))) ||
           refuse_value(reader, name, "an object with a list of edits");
}

/* ---- the table ---- */

static const struct member_row {
    arcp__llm_route route;
    const char *name;
    bool (*read)(arcp__llm_reader *reader, arcp_json_ref name);
} members[] = {
#define ARCP_LLM_MEMBER(route, name, rule) {ARCP__LLM_ROUTE_##route, name, read_##rule},
#include "llm/llm_member.def"
#undef ARCP_LLM_MEMBER
};

static bool is_allowed(const arcp__llm_policy *policy, const arcp_json *json, arcp_json_ref name)
{
    bool allowed = policy->allows_any;
    for (size_t i = 0; i < policy->allowed_count && !allowed; i++) {
        allowed = arcp_json_string_equals(json, name, arcp_span_cstr(policy->allowed[i]));
    }
    return allowed;
}

/* A member that is null counts as absent. */
static bool read_member(arcp__llm_reader *reader, arcp_json_ref name)
{
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (members[i].route == reader->policy->route &&
            arcp_json_string_equals(reader->json, name, arcp_span_cstr(members[i].name))) {
            return arcp_json_is_missing(reader->json, name + 1) || members[i].read(reader, name);
        }
    }
    const arcp_span text = arcp_json_raw(reader->json, name);
    return is_allowed(reader->policy, reader->json, name) ||
           arcp__llm_refuse(reader, "unsupported_parameter",
                            "%.*s is not known here and may cost money", ARCP__LLM_SHOWN(text));
}

/* Whether a part of the input asks for a cache that is kept longer: cache_control with a ttl. */
static bool has_long_cache(const arcp_json *json)
{
    for (arcp_json_ref at = 1; at < json->count; at++) {
        if (json->nodes[at - 1].type == ARCP_JSON_STRING &&
            json->nodes[at].type == ARCP_JSON_OBJECT &&
            arcp_json_string_equals(json, at - 1, ARCP_SPAN_LITERAL("cache_control"))) {
            const arcp_json_ref ttl = arcp_json_member(json, at, ARCP_SPAN_LITERAL("ttl"));
            if (!arcp_json_is_missing(json, ttl) &&
                !arcp_json_string_equals(json, ttl, ARCP_SPAN_LITERAL("5m"))) {
                return true;
            }
        }
    }
    return false;
}

/* ---- the body ---- */

static bool read_body(arcp__llm_reader *reader, arcp_span body)
{
    const arcp_json *json = reader->json;
    arcp__llm_size *size = &reader->call->size;
    if (!arcp_json_is(json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        return arcp__llm_refuse(reader, "invalid_request", "the body is not an object");
    }
    for (arcp_json_ref name = arcp_json_first(json, ARCP_JSON_ROOT); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(json, ARCP_JSON_ROOT, name)) {
        if (!read_member(reader, name)) {
            return false;
        }
    }
    if (reader->call->model.size == 0) {
        return arcp__llm_refuse(reader, "invalid_request", "the call names no model");
    }
    if (size->tiers == 0) {
        size->tiers = reader->policy->sets_tier ? DEFAULT_TIER : DEFAULT_TIER | PRIORITY_TIER;
    }
    if (routes[reader->policy->route].dialect == ARCP__LLM_DIALECT_ANTHROPIC &&
        has_long_cache(json)) {
        size->has_long_cache = true;
        size->needs_long_price = true;
    }
    size->text =
        arcp__llm_text_tokens(body, reader->policy->other_tokens_per_byte) - reader->pictures;
    return true;
}

arcp_status arcp__llm_call_read(arcp_span body, const arcp__llm_policy *policy, arcp__llm_call *out,
                                arcp_error *err)
{
    const arcp_json_limits limits = {ARCP__LLM_BODY_DEPTH_MAX, 10000, ARCP__LLM_BODY_BYTES_MAX};
    *out = (arcp__llm_call){.route = policy->route,
                            .size = {.extra = ANY_TOKENS,
                                     .answers = 1,
                                     .is_embedding = policy->route == ARCP__LLM_ROUTE_EMBEDDINGS}};
    struct arcp__llm_call_parts *parts = arcp__alloc(sizeof *parts);
    if (parts == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    out->parts = parts;
    arcp__llm_reader reader = {
        .json = &parts->json, .policy = policy, .call = out, .parts = parts, .err = err};
    reader.status = arcp_json_scan(&parts->json, body, &limits, err);
    if (reader.status == ARCP_E_INVALID_REQUEST) {
        arcp_error why = {0};
        (void)arcp_error_copy(&why, err);
        (void)arcp__llm_refuse(&reader, "invalid_request", "%s", why.message);
    }
    if (reader.status == ARCP_OK) {
        (void)read_body(&reader, body);
    }
    if (parts->scratch.failed) {
        (void)arcp__llm_no_memory(&reader);
    }
    return reader.status;
}

void arcp__llm_call_fini(arcp__llm_call *call)
{
    if (call->parts != NULL) {
        arcp__json_fini(&call->parts->json);
        arcp_buf_fini(&call->parts->scratch);
        arcp__free(call->parts->urls);
        arcp__free(call->parts->removed);
        arcp__free(call->parts);
    }
    *call = (arcp__llm_call){0};
}
