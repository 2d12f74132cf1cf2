#include "http/http_template.h"

#include <arcp/secret.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"

#define FILE_BYTES_MAX 4096u
#define ENV_NAME_MAX   255u
#define PATH_BYTES_MAX 1023u

static const arcp_json_limits body_limits = {32, 1000, 1u << 20};

/* ---- variables ---- */

typedef enum variable_kind {
    VAR_NONE,
    VAR_KEY, /* identifies a credential */
    VAR_TEXT,
    VAR_BUDGET,  /* a number, if it is all of a string in a body */
    VAR_SECONDS, /* a number, if it is all of a string in a body */
    VAR_MODELS   /* a list, if it is all of a string in a body */
} variable_kind;

typedef struct variable {
    const char *name;
    variable_kind kind;
    size_t offset; /* of keys, texts and the budget: the span in a request */
} variable;

#define TEXT(member) offsetof(arcp_provision_request, member)
static const variable variables[] = {
    {"alias", VAR_KEY, TEXT(alias)},
    {"id", VAR_KEY, TEXT(upstream_id)},
    {"value", VAR_KEY, TEXT(value)},
    {"credential_id", VAR_TEXT, TEXT(credential_id)},
    {"job_id", VAR_TEXT, TEXT(job_id)},
    {"principal", VAR_TEXT, TEXT(principal)},
    {"agent", VAR_TEXT, TEXT(agent)},
    {"trace_id", VAR_TEXT, TEXT(trace_id)},
    {"traceparent", VAR_TEXT, TEXT(traceparent)},
    {"expires_at", VAR_TEXT, TEXT(expires_at)},
    {"budget", VAR_BUDGET, TEXT(budget)},
    {"ttl_sec", VAR_SECONDS, 0},
    {"models", VAR_MODELS, 0},
};
static const variable unknown = {"", VAR_NONE, 0};

static arcp_span text_of(const arcp_provision_request *request, const variable *which)
{
    arcp_span text = {NULL, 0};
    if (which->kind == VAR_KEY || which->kind == VAR_TEXT || which->kind == VAR_BUDGET) {
        memcpy(&text, (const char *)request + which->offset, sizeof text);
    }
    return text;
}

static bool is_present(const arcp_provision_request *request, const variable *which)
{
    if (which->kind == VAR_SECONDS) {
        return request->ttl_sec != 0;
    }
    return which->kind == VAR_MODELS ? request->has_models : text_of(request, which).size != 0;
}

/* Appends a value as text, even if it is a number or a list. */
static void append_value(const arcp_provision_request *request, const variable *which,
                         arcp_buf *out)
{
    if (which->kind == VAR_SECONDS) {
        arcp_buf_append_u64(out, request->ttl_sec);
    } else if (which->kind == VAR_MODELS) {
        for (size_t i = 0; i < request->model_count; i++) {
            arcp_buf_append_cstr(out, i == 0 ? "" : ",");
            arcp_buf_append(out, request->models[i]);
        }
    } else {
        arcp_buf_append(out, text_of(request, which));
    }
}

/* ---- parsing ---- */

/* A `{...}` in a text: its begin and end, and its content. */
typedef struct brace {
    size_t begin, end;
    arcp_span name;
    const variable *which;
} brace;

/* Finds the next `{...}` that begins with a lower-case letter; other braces are plain text. */
static bool next_brace(arcp_span text, size_t from, brace *out)
{
    for (size_t i = from; i + 1 < text.size; i++) {
        if (text.data[i] != '{' || text.data[i + 1] < 'a' || text.data[i + 1] > 'z') {
            continue;
        }
        const char *close = memchr(text.data + i, '}', text.size - i);
        if (close == NULL) {
            return false;
        }
        out->begin = i;
        out->end = (size_t)(close - text.data) + 1;
        out->name = arcp_span_make(text.data + i + 1, out->end - i - 2);
        out->which = &unknown;
        for (size_t j = 0; j < sizeof variables / sizeof variables[0]; j++) {
            if (arcp_span_equal_cstr(out->name, variables[j].name)) {
                out->which = &variables[j];
            }
        }
        return true;
    }
    return false;
}

/* ---- the environment and files ---- */

/* Appends the content of a file without line ends at its end. */
static arcp_status append_file(const char *path, arcp_buf *out, arcp_error *err)
{
    char piece[FILE_BYTES_MAX + 1];
    arcp_status status = ARCP_OK;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s: %s", path, strerror(errno));
    }
    (void)setvbuf(file, NULL, _IONBF, 0); /* a buffer of stdio would keep a copy of the secret */
    size_t size = fread(piece, 1, sizeof piece, file);
    const bool is_read = ferror(file) == 0;
    (void)fclose(file);
    if (!is_read || size > FILE_BYTES_MAX) { /* a part of a key is of no use */
        status = arcp_error_set(err, ARCP_E_USAGE, "%s %s", path,
                                is_read ? "has more than 4096 bytes" : "cannot be read");
        size = 0;
    }
    while (size > 0 && (piece[size - 1] == '\n' || piece[size - 1] == '\r')) {
        size--;
    }
    arcp_buf_append(out, arcp_span_make(piece, size));
    arcp_wipe(piece, sizeof piece);
    return status;
}

/* Appends the value of {env:NAME} or {file:PATH}. */
static arcp_status append_value_of(arcp_span name, arcp_buf *out, arcp_error *err)
{
    const bool is_env = arcp_span_starts_with(name, ARCP_SPAN_LITERAL("env:"));
    const arcp_span rest = arcp_span_from(name, is_env ? 4 : 5);
    const size_t size_max = is_env ? ENV_NAME_MAX : PATH_BYTES_MAX;
    char text[PATH_BYTES_MAX + 1];
    if (rest.size > size_max) {
        return arcp_error_set(err, ARCP_E_USAGE, "{%.*s...}: the name must have at most %zu bytes",
                              (int)arcp_span_first(name, 64).size, name.data, size_max);
    }
    (void)snprintf(text, sizeof text, "%.*s", (int)rest.size, rest.size == 0 ? "" : rest.data);
    if (!is_env) {
        return append_file(text, out, err);
    }
    const char *value = getenv(text);
    if (value == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "the environment variable %s is not set", text);
    }
    arcp_buf_append_cstr(out, value);
    return ARCP_OK;
}

static arcp_status append_fixed(arcp_span name, arcp__template_use use, arcp_buf *out,
                                arcp_error *err)
{
    const arcp_span shown = arcp_span_first(name, 200);
    arcp_buf value = arcp_buf_secret_init();
    arcp_buf quoted = arcp_buf_secret_init();
    brace ignored;
    arcp_status status = append_value_of(name, &value, err);
    /* Each request expands the text again, so a value must not contain variables. A control
     * character would end a header or a URL. */
    if (status == ARCP_OK && next_brace(arcp_buf_span(&value), 0, &ignored)) {
        status = arcp_error_set(err, ARCP_E_USAGE, "the value of {%.*s} may not contain {...}",
                                (int)shown.size, shown.data);
    }
    for (size_t i = 0; status == ARCP_OK && use != ARCP__TEMPLATE_BODY && i < value.size; i++) {
        if ((unsigned char)value.data[i] < 0x20 || value.data[i] == 0x7f) {
            status = arcp_error_set(err, ARCP_E_USAGE,
                                    "the value of {%.*s} may not contain control characters",
                                    (int)shown.size, shown.data);
        }
    }
    if (status == ARCP_OK && use == ARCP__TEMPLATE_BODY) {
        arcp_json_quote(arcp_buf_span(&value), &quoted);
        if (quoted.size >= 2) {
            arcp_buf_append(out, arcp_span_make(quoted.data + 1, quoted.size - 2));
        }
    } else if (status == ARCP_OK) {
        arcp_buf_append(out, arcp_buf_span(&value));
    }
    out->failed = out->failed || value.failed || quoted.failed;
    arcp_buf_fini(&value);
    arcp_buf_fini(&quoted);
    return status;
}

arcp_status arcp__template_init(arcp__template *template, const char *text, arcp__template_use use,
                                arcp_error *err)
{
    const arcp_span whole = arcp_span_cstr(text);
    size_t from = 0;
    brace next;
    *template = (arcp__template){.use = use, .is_constant = true, .text = arcp_buf_secret_init()};
    for (; next_brace(whole, from, &next); from = next.end) {
        arcp_status status = ARCP_OK;
        arcp_buf_append(&template->text, arcp_span_make(whole.data + from, next.begin - from));
        if (arcp_span_starts_with(next.name, ARCP_SPAN_LITERAL("env:")) ||
            arcp_span_starts_with(next.name, ARCP_SPAN_LITERAL("file:"))) {
            status = append_fixed(next.name, template->use, &template->text, err);
        } else if (next.which == &unknown) {
            status = arcp_error_set(err, ARCP_E_USAGE, "unknown variable {%.*s}",
                                    (int)arcp_span_first(next.name, 64).size, next.name.data);
        } else {
            template->is_constant = false;
            template->names_key = template->names_key || next.which->kind == VAR_KEY;
            arcp_buf_append(&template->text,
                            arcp_span_make(whole.data + next.begin, next.end - next.begin));
        }
        if (status != ARCP_OK) {
            return status;
        }
    }
    arcp_buf_append(&template->text, arcp_span_from(whole, from));
    if (template->text.failed) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_json json = ARCP__JSON_INIT;
    const bool is_wrong =
        template->use == ARCP__TEMPLATE_BODY &&
        arcp_json_scan(&json, arcp_buf_span(&template->text), &body_limits, NULL) != ARCP_OK;
    arcp__json_fini(&json);
    return is_wrong ? arcp_error_set(err, ARCP_E_USAGE, "the body is not JSON") : ARCP_OK;
}

void arcp__template_fini(arcp__template *template)
{
    arcp_buf_fini(&template->text);
}

/* ---- expanding ---- */

static bool is_unreserved(unsigned char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' || byte == '_' || byte == '~';
}

/* Whether a value is acceptable in its place. With an empty id, a URL such as /keys/{id} would mean
 * all credentials or none, and a 404 would be taken for a revoked credential. A path segment of
 * dots leads upwards, even if it is percent-encoded. */
static bool is_acceptable(arcp__template_use use, const variable *which, arcp_span value)
{
    const bool is_dots = arcp_span_equal_cstr(value, ".") || arcp_span_equal_cstr(value, "..");
    return use == ARCP__TEMPLATE_BODY ||
           ((value.size != 0 || which->kind != VAR_KEY) && (use != ARCP__TEMPLATE_URL || !is_dots));
}

/* Expands the variables of a text, encoded for its use. *names_key is set if one of them identifies
 * a credential. */
static bool expand_text(arcp_span text, arcp__template_use use,
                        const arcp_provision_request *request, bool *names_key, arcp_buf *out)
{
    size_t from = 0;
    bool clean = true;
    brace next;
    for (; next_brace(text, from, &next); from = next.end) {
        arcp_buf value = arcp_buf_secret_init();
        arcp_buf_append(out, arcp_span_make(text.data + from, next.begin - from));
        append_value(request, next.which, &value);
        clean = clean && is_acceptable(use, next.which, arcp_buf_span(&value));
        *names_key = *names_key || (next.which->kind == VAR_KEY && value.size != 0);
        for (size_t i = 0; i < value.size; i++) {
            const unsigned char byte = (unsigned char)value.data[i];
            clean = clean && (use != ARCP__TEMPLATE_HEADER || (byte >= 0x20 && byte != 0x7f));
            if (use == ARCP__TEMPLATE_URL && !is_unreserved(byte)) {
                arcp_buf_append_format(out, "%%%02X", byte);
            } else {
                arcp_buf_append_byte(out, (char)byte);
            }
        }
        clean = clean && !value.failed;
        arcp_buf_fini(&value);
    }
    arcp_buf_append(out, arcp_span_from(text, from));
    return clean && !out->failed;
}

typedef struct body_writer {
    const arcp_json *json;
    const arcp_provision_request *request;
    arcp_json_writer writer;
    arcp_buf scratch; /* the current string */
    bool clean;
    bool names_key;
} body_writer;

static arcp_span string_at(body_writer *writer, arcp_json_ref ref)
{
    arcp_buf_clear(&writer->scratch);
    return arcp_json_string(writer->json, ref, &writer->scratch);
}

/* Whether it is a string with a variable that the request does not have. */
static bool is_omitted(body_writer *writer, arcp_json_ref ref)
{
    brace next = {.end = 0};
    if (!arcp_json_is(writer->json, ref, ARCP_JSON_STRING)) {
        return false;
    }
    const arcp_span text = string_at(writer, ref);
    while (next_brace(text, next.end, &next)) {
        if (!is_present(writer->request, next.which)) {
            return true;
        }
    }
    return false;
}

static void write_string(body_writer *writer, arcp_span text)
{
    brace first;
    const bool is_whole = next_brace(text, 0, &first) && first.begin == 0 && first.end == text.size;
    const variable_kind kind = is_whole ? first.which->kind : VAR_TEXT;
    if (kind == VAR_BUDGET) {
        arcp_json_write_raw(&writer->writer, writer->request->budget);
    } else if (kind == VAR_SECONDS) {
        arcp_json_write_u64(&writer->writer, writer->request->ttl_sec);
    } else if (kind == VAR_MODELS) {
        arcp_json_begin_array(&writer->writer);
        for (size_t i = 0; i < writer->request->model_count; i++) {
            arcp_json_write_string(&writer->writer, writer->request->models[i]);
        }
        arcp_json_end_array(&writer->writer);
    } else {
        arcp_buf value = arcp_buf_secret_init();
        writer->clean =
            expand_text(text, ARCP__TEMPLATE_BODY, writer->request, &writer->names_key, &value) &&
            writer->clean;
        arcp_json_write_string(&writer->writer, arcp_buf_span(&value));
        arcp_buf_fini(&value);
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): the scan has limited the depth to 32 */
static void write_body(body_writer *writer, arcp_json_ref ref)
{
    const arcp_json *json = writer->json;
    const bool is_object = arcp_json_is(json, ref, ARCP_JSON_OBJECT);
    if (is_object || arcp_json_is(json, ref, ARCP_JSON_ARRAY)) {
        if (is_object) {
            arcp_json_begin_object(&writer->writer);
        } else {
            arcp_json_begin_array(&writer->writer);
        }
        for (arcp_json_ref name = arcp_json_first(json, ref); name != ARCP_JSON_ABSENT;
             name = arcp_json_next(json, ref, name)) {
            const arcp_json_ref value = is_object ? name + 1 : name;
            if (is_omitted(writer, value)) {
                continue;
            }
            if (is_object) {
                arcp_json_name_span(&writer->writer, string_at(writer, name));
            }
            write_body(writer, value);
        }
        if (is_object) {
            arcp_json_end_object(&writer->writer);
        } else {
            arcp_json_end_array(&writer->writer);
        }
    } else if (arcp_json_is(json, ref, ARCP_JSON_STRING)) {
        write_string(writer, string_at(writer, ref));
    } else {
        arcp_json_write_raw(&writer->writer, arcp_json_raw(json, ref));
    }
}

bool arcp__template_expand(const arcp__template *template, const arcp_provision_request *request,
                           bool *names_key, arcp_buf *out)
{
    const arcp_span text = arcp_buf_span(&template->text);
    if (template->use != ARCP__TEMPLATE_BODY) {
        return expand_text(text, template->use, request, names_key, out);
    }
    arcp_json json = ARCP__JSON_INIT;
    body_writer writer = {
        .json = &json, .request = request, .scratch = arcp_buf_secret_init(), .clean = true};
    bool done = arcp_json_scan(&json, text, &body_limits, NULL) == ARCP_OK;
    if (done) {
        arcp_json_writer_init(&writer.writer, out);
        write_body(&writer, ARCP_JSON_ROOT);
        done = writer.clean && !out->failed && !writer.scratch.failed;
        *names_key = *names_key || writer.names_key;
    }
    arcp_buf_fini(&writer.scratch);
    arcp__json_fini(&json);
    return done;
}

/* ---- pointers ---- */

arcp_json_ref arcp__json_pointer(const arcp_json *json, const char *pointer)
{
    arcp_json_ref ref = ARCP_JSON_ROOT;
    while (ref != ARCP_JSON_ABSENT && *pointer == '/') {
        char name[256];
        size_t size = 0;
        for (pointer++; *pointer != '\0' && *pointer != '/'; pointer++) {
            char byte = *pointer;
            if (byte == '~' && (pointer[1] == '0' || pointer[1] == '1')) {
                pointer++;
                byte = *pointer == '0' ? '~' : '/';
            }
            if (size < sizeof name) {
                name[size++] = byte;
            }
        }
        const arcp_span token = arcp_span_make(name, size);
        if (!arcp_json_is(json, ref, ARCP_JSON_ARRAY)) {
            ref = arcp_json_member(json, ref, token);
            continue;
        }
        uint64_t index = 0;
        const arcp_json_ref array = ref;
        ref = arcp__digits_parse(token, &index) ? arcp_json_first(json, array) : ARCP_JSON_ABSENT;
        for (; ref != ARCP_JSON_ABSENT && index > 0; index--) {
            ref = arcp_json_next(json, array, ref);
        }
    }
    return *pointer == '\0' ? ref : ARCP_JSON_ABSENT;
}
