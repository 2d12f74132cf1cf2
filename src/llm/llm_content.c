/* What the messages of a call consist of. A part is text, which is counted by its bytes; a picture,
 * which is counted by number; or something whose size the body does not show. */
#include <strings.h>

#include "base/alloc.h"
#include "llm/llm_reader.h"

typedef enum part_kind {
    TEXT,
    NESTED,
    OUTPUT,
    IMAGE_URL,
    CHAT_FILE,
    INPUT_IMAGE,
    INPUT_FILE,
    REASONING,
    MORE_TOOLS,
    SOURCE,
    UNKNOWN
} part_kind;

static const arcp__llm_type parts_of_routes[] = {
#define ARCP_LLM_CONTENT(route, type, kind) {ARCP__LLM_ROUTE_##route, type, kind},
#include "llm/llm_content.def"
#undef ARCP_LLM_CONTENT
};

static part_kind kind_of(const arcp__llm_reader *reader, arcp_span type)
{
    return (part_kind)arcp__llm_kind_of(parts_of_routes,
                                        sizeof parts_of_routes / sizeof parts_of_routes[0],
                                        (int)reader->policy->route, type, UNKNOWN);
}

static bool refuse_content(arcp__llm_reader *reader, const char *what)
{
    return arcp__llm_refuse(reader, "unsupported_content", "%s", what);
}

/* ---- pictures and documents ---- */

static bool begins_with(arcp_span text, const char *prefix)
{
    const size_t size = strlen(prefix);
    return text.size >= size && strncasecmp(text.data, prefix, size) == 0;
}

/* The provider would fetch it for the agent: the lease is asked, and the size is not known. */
static bool add_url(arcp__llm_reader *reader, arcp_span url)
{
    struct arcp__llm_call_parts *parts = reader->parts;
    if (reader->call->url_count == ARCP__LLM_URLS_MAX) {
        return refuse_content(reader, "the call has more than 256 URLs");
    }
    arcp_span *urls =
        arcp__make_room(parts->urls, reader->call->url_count, &parts->url_capacity, sizeof *urls);
    if (urls == NULL) {
        return arcp__llm_no_memory(reader);
    }
    urls[reader->call->url_count++] = url;
    parts->urls = urls;
    reader->call->urls = urls;
    reader->call->size.is_open = true;
    return true;
}

/* A picture's bytes in the body do not count as text. */
static void add_picture(arcp__llm_reader *reader, arcp_json_ref data)
{
    reader->call->size.images++;
    if (data != ARCP_JSON_ABSENT) {
        reader->pictures += arcp__llm_text_tokens(arcp_json_raw(reader->json, data),
                                                  reader->policy->other_tokens_per_byte);
    }
}

/* A picture by an URL of its own (data:image/...) or of the web. */
static bool read_picture(arcp__llm_reader *reader, arcp_json_ref ref)
{
    const arcp_span url = arcp_json_string(reader->json, ref, &reader->parts->scratch);
    if (begins_with(url, "data:image/")) {
        add_picture(reader, ref);
        return true;
    }
    if (begins_with(url, "http://") || begins_with(url, "https://")) {
        add_picture(reader, ARCP_JSON_ABSENT);
        return add_url(reader, url);
    }
    return refuse_content(reader, "a picture is neither data:image/ nor an http or https URL");
}

/* A document: its text is made at the provider. */
static bool read_file(arcp__llm_reader *reader, arcp_json_ref data, arcp_json_ref url_ref)
{
    const arcp_span url = arcp_json_string(reader->json, url_ref, &reader->parts->scratch);
    reader->call->size.is_open = true;
    if (arcp_json_is(reader->json, data, ARCP_JSON_STRING) &&
        arcp_json_is_missing(reader->json, url_ref)) {
        return true;
    }
    if (arcp_json_is_missing(reader->json, data) &&
        (begins_with(url, "http://") || begins_with(url, "https://"))) {
        return add_url(reader, url);
    }
    return refuse_content(reader, "a file has neither its data nor an http or https URL");
}

/* Whether the object refers to a file that was uploaded before. */
static bool names_file(const arcp__llm_reader *reader, arcp_json_ref object)
{
    return !arcp_json_is_missing(reader->json, arcp__llm_member(reader, object, "file_id"));
}

/* image or document: {"source": {"type": ..., ...}}. */
static bool read_source(arcp__llm_reader *reader, arcp_json_ref part)
{
    const bool is_image = arcp_span_equal_cstr(arcp__llm_string(reader, part, "type"), "image");
    const arcp_json_ref source = arcp__llm_member(reader, part, "source");
    const arcp_span type = arcp__llm_string(reader, source, "type");
    const arcp_json_ref data = arcp__llm_member(reader, source, "data");
    const arcp_json_ref url = arcp__llm_member(reader, source, "url");
    if (arcp_span_equal_cstr(type, "base64") && is_image &&
        arcp_json_is(reader->json, data, ARCP_JSON_STRING)) {
        add_picture(reader, data);
        return true;
    }
    if (arcp_span_equal_cstr(type, "url") && is_image) {
        const arcp_span text = arcp_json_string(reader->json, url, &reader->parts->scratch);
        return begins_with(text, "data:")
                   ? refuse_content(reader, "a picture by URL must be http or https")
                   : read_picture(reader, url);
    }
    if (arcp_span_equal_cstr(type, "base64") || arcp_span_equal_cstr(type, "url")) {
        return !is_image ? read_file(reader, data, url)
                         : refuse_content(reader, "a picture has no data");
    }
    if (!is_image && arcp_span_equal_cstr(type, "text")) {
        return true;
    }
    if (!is_image && arcp_span_equal_cstr(type, "content")) {
        return arcp__llm_read_content(reader, arcp__llm_member(reader, source, "content"));
    }
    return arcp__llm_refuse(reader, "unsupported_content",
                            "a source of type \"%.*s\" is not supported", ARCP__LLM_SHOWN(type));
}

/* ---- parts ---- */

/* Earlier reasoning: with its content it is text; otherwise the provider adds it. */
static bool read_reasoning(arcp__llm_reader *reader, arcp_json_ref part)
{
    const arcp_json_ref sealed = arcp__llm_member(reader, part, "encrypted_content");
    if (!arcp_json_is(reader->json, sealed, ARCP_JSON_STRING)) {
        reader->call->size.is_open = true;
    }
    return arcp__llm_read_content(reader, arcp__llm_member(reader, part, "content"));
}

/* The result of a tool: a text, parts, or one part. */
static bool read_output(arcp__llm_reader *reader, arcp_json_ref output);

static bool read_file_id(arcp__llm_reader *reader, arcp_json_ref part)
{
    return !names_file(reader, part) ||
           refuse_content(reader, "a file_id refers to a file that is not in the call");
}

/* An object of a list of messages or parts. */
static bool read_part(arcp__llm_reader *reader, arcp_json_ref part)
{
    const arcp_json *json = reader->json;
    const arcp_json_ref type_ref = arcp__llm_member(reader, part, "type");
    const arcp_span type = arcp__llm_string(reader, part, "type");
    if (!arcp_json_is(json, part, ARCP_JSON_OBJECT)) {
        return refuse_content(reader, "a message or a part of one is not an object");
    }
    /* A message has a role, and need not have a type. */
    const bool is_message =
        arcp_json_is_missing(json, type_ref) && arcp__llm_string(reader, part, "role").size != 0;
    switch (is_message ? NESTED : kind_of(reader, type)) {
    case TEXT:
        return true;
    case NESTED:
        if (!arcp_json_is_missing(json, arcp__llm_member(reader, part, "audio"))) {
            return refuse_content(reader, "a message refers to audio");
        }
        return arcp__llm_read_content(reader, arcp__llm_member(reader, part, "content"));
    case OUTPUT:
        return read_output(reader, arcp__llm_member(reader, part, "output"));
    case IMAGE_URL: {
        const arcp_json_ref image = arcp__llm_member(reader, part, "image_url");
        return read_picture(reader, arcp__llm_member(reader, image, "url"));
    }
    case CHAT_FILE: {
        const arcp_json_ref file = arcp__llm_member(reader, part, "file");
        return read_file_id(reader, file) &&
               read_file(reader, arcp__llm_member(reader, file, "file_data"), ARCP_JSON_ABSENT);
    }
    case INPUT_IMAGE:
        return read_file_id(reader, part) &&
               read_picture(reader, arcp__llm_member(reader, part, "image_url"));
    case INPUT_FILE:
        return read_file_id(reader, part) &&
               read_file(reader, arcp__llm_member(reader, part, "file_data"),
                         arcp__llm_member(reader, part, "file_url"));
    case REASONING:
        return read_reasoning(reader, part);
    case MORE_TOOLS:
        return arcp__llm_read_tools(reader, arcp__llm_member(reader, part, "tools"));
    case SOURCE:
        return read_source(reader, part);
    case UNKNOWN:
        break;
    }
    return arcp__llm_refuse(reader, "unsupported_content",
                            "content of type \"%.*s\" is not supported", ARCP__LLM_SHOWN(type));
}

static bool read_output(arcp__llm_reader *reader, arcp_json_ref output)
{
    return arcp_json_is(reader->json, output, ARCP_JSON_OBJECT)
               ? read_part(reader, output)
               : arcp__llm_read_content(reader, output);
}

bool arcp__llm_read_content(arcp__llm_reader *reader, arcp_json_ref content)
{
    const arcp_json *json = reader->json;
    if (arcp_json_is_missing(json, content) || arcp_json_is(json, content, ARCP_JSON_STRING)) {
        return true;
    }
    if (!arcp_json_is(json, content, ARCP_JSON_ARRAY)) {
        return refuse_content(reader, "content is neither a text nor a list");
    }
    bool is_read = true;
    for (arcp_json_ref part = arcp_json_first(json, content); part != ARCP_JSON_ABSENT && is_read;
         part = arcp_json_next(json, content, part)) {
        is_read = read_part(reader, part);
    }
    return is_read;
}

/* ---- embeddings ---- */

static bool is_list_of(const arcp_json *json, arcp_json_ref list, arcp_json_type type)
{
    bool fits = arcp_json_is(json, list, ARCP_JSON_ARRAY);
    for (arcp_json_ref at = arcp_json_first(json, list); at != ARCP_JSON_ABSENT && fits;
         at = arcp_json_next(json, list, at)) {
        fits = arcp_json_is(json, at, type);
    }
    return fits;
}

bool arcp__llm_read_embedded(arcp__llm_reader *reader, arcp_json_ref input)
{
    const arcp_json *json = reader->json;
    bool fits = arcp_json_is(json, input, ARCP_JSON_STRING) ||
                is_list_of(json, input, ARCP_JSON_STRING) ||
                is_list_of(json, input, ARCP_JSON_NUMBER);
    if (!fits && is_list_of(json, input, ARCP_JSON_ARRAY)) {
        fits = true;
        for (arcp_json_ref at = arcp_json_first(json, input); at != ARCP_JSON_ABSENT && fits;
             at = arcp_json_next(json, input, at)) {
            fits = is_list_of(json, at, ARCP_JSON_NUMBER);
        }
    }
    return fits || refuse_content(reader, "input is neither a text, texts, tokens nor lists of "
                                          "tokens");
}
