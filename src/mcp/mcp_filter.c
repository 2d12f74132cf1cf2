/* The filter's object, the requests that wait for a response, and the ends: of the lease, and of
 * the server. */
#include "mcp/mcp_parts.h"

#include <stdio.h>

/* ---- the object ---- */

bool arcp__mcp_name_is_valid(arcp_span name)
{
    for (size_t i = 0; i < name.size; i++) {
        const char c = name.data[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) {
            return false;
        }
    }
    return name.size >= 1 && name.size <= ARCP__MCP_NAME_BYTES_MAX;
}

arcp_status arcp__mcp_filter_new(const arcp__mcp_filter_options *options, arcp__mcp_filter **out,
                                 arcp_error *err)
{
    if (options->name.size != 0 && !arcp__mcp_name_is_valid(options->name)) {
        return arcp_error_set(err, ARCP_E_USAGE, "the name of a server has " ARCP__MCP_NAME_RULE);
    }
    arcp__mcp_filter *filter = arcp__alloc(sizeof *filter);
    if (filter == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    filter->authority = arcp_authority_ref(options->authority);
    filter->output = options->output;
    filter->events = options->events;
    if (options->name.size != 0) {
        arcp_buf_append(&filter->prefix, options->name);
        arcp_buf_append_byte(&filter->prefix, '.');
    }
    if (filter->prefix.failed) {
        arcp__mcp_filter_free(filter);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *out = filter;
    return ARCP_OK;
}

void arcp__mcp_filter_free(arcp__mcp_filter *filter)
{
    if (filter == NULL) {
        return;
    }
    while (filter->pending != NULL) {
        arcp__mcp_pending_remove(filter, filter->pending);
    }
    arcp__json_fini(&filter->json);
    arcp_buf_fini(&filter->prefix);
    arcp_buf_fini(&filter->scratch);
    arcp_buf_fini(&filter->target);
    arcp_authority_unref(filter->authority);
    arcp__free(filter);
}

arcp_status arcp__mcp_filter_status(const arcp__mcp_filter *filter, arcp_error *err)
{
    const arcp__mcp_output *output = filter->output;
    return output->to_client.failed || output->to_server.failed || filter->failed
               ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
               : ARCP_OK;
}

arcp_span arcp__mcp_target(arcp__mcp_filter *filter, arcp_span tool)
{
    arcp_buf_clear(&filter->target);
    arcp_buf_append(&filter->target, arcp_buf_span(&filter->prefix));
    arcp_buf_append(&filter->target, tool);
    filter->failed = filter->failed || filter->target.failed;
    return arcp_buf_span(&filter->target);
}

/* ---- requests without a response ---- */

/* Appends the id as it is compared: 1 and "1" differ, "a" and "\u0061" do not. */
static arcp_span key_of(arcp__mcp_filter *filter, arcp_json_ref id, arcp_buf *key)
{
    const bool is_string = arcp_json_is(&filter->json, id, ARCP_JSON_STRING);
    arcp_buf_append_byte(key, is_string ? 's' : 'n');
    if (is_string) {
        arcp_buf text = arcp_buf_init();
        arcp_buf_append(key, arcp_json_string(&filter->json, id, &text));
        key->failed = key->failed || text.failed;
        arcp_buf_fini(&text);
    } else {
        arcp_buf_append(key, arcp_json_raw(&filter->json, id));
    }
    filter->failed = filter->failed || key->failed;
    return arcp_buf_span(key);
}

arcp__mcp_pending *arcp__mcp_pending_find(arcp__mcp_filter *filter, arcp_json_ref id)
{
    arcp__mcp_pending *found = NULL;
    arcp_buf_clear(&filter->scratch);
    const arcp_span key = key_of(filter, id, &filter->scratch);
    HASH_FIND(hh, filter->pending, key.data, key.size, found);
    return found;
}

arcp__mcp_pending *arcp__mcp_pending_find_text(arcp__mcp_filter *filter, arcp_span id)
{
    const arcp_status status =
        id.size == 0 ? ARCP_E_NOT_FOUND : arcp_json_scan(&filter->json, id, NULL, NULL);
    filter->failed = filter->failed || status == ARCP_E_NO_MEMORY;
    return status == ARCP_OK ? arcp__mcp_pending_find(filter, ARCP_JSON_ROOT) : NULL;
}

/* A copy behind what was copied before. */
static arcp_span keep(char **end, arcp_span bytes)
{
    const arcp_span kept = arcp_span_make(*end, bytes.size);
    if (bytes.size != 0) {
        memcpy(*end, bytes.data, bytes.size);
    }
    *end += bytes.size;
    return kept;
}

arcp_status arcp__mcp_pending_add(arcp__mcp_filter *filter, arcp_json_ref id,
                                  arcp__mcp_method method, bool is_modern, arcp_span target)
{
    const arcp_span raw = arcp_json_raw(&filter->json, id);
    arcp_buf_clear(&filter->scratch);
    const arcp_span key = key_of(filter, id, &filter->scratch);
    arcp__mcp_pending *pending =
        filter->scratch.failed ? NULL
                               : arcp__alloc(sizeof *pending + key.size + raw.size + target.size);
    if (pending == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    char *end = pending->key;
    pending->method = method;
    pending->is_modern = is_modern;
    pending->key_size = keep(&end, key).size;
    pending->id = keep(&end, raw);
    pending->target = keep(&end, target);
    HASH_ADD_KEYPTR(hh, filter->pending, pending->key, pending->key_size, pending);
    if (!ARCP__HASH_ADDED(pending)) {
        arcp__free(pending);
        return ARCP_E_NO_MEMORY;
    }
    return ARCP_OK;
}

void arcp__mcp_pending_remove(arcp__mcp_filter *filter, arcp__mcp_pending *pending)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): uthash knows its neighbours */
    HASH_DEL(filter->pending, pending);
    arcp__free(pending);
}

size_t arcp__mcp_filter_pending(const arcp__mcp_filter *filter)
{
    return HASH_COUNT(filter->pending);
}

/* ---- ends ---- */

static void put_cancelled(arcp_buf *out, arcp_span id)
{
    arcp_json_writer writer = arcp__mcp_begin(out, arcp_span_make(NULL, 0));
    arcp__put_cstr(&writer, "method", arcp__mcp_method_name(ARCP__MCP_METHOD_CANCELLED));
    arcp__put_object(&writer, "params");
    arcp__put_raw(&writer, "requestId", id);
    arcp__put_cstr(&writer, "reason", "the lease has expired");
    arcp_json_end_object(&writer);
    arcp__mcp_finish(&writer);
}

arcp_status arcp__mcp_filter_expire(arcp__mcp_filter *filter, arcp_time now, size_t *count,
                                    arcp_error *err)
{
    arcp__mcp_pending *pending;
    arcp__mcp_pending *next;
    arcp_decision decision;
    *count = 0;
    HASH_ITER (hh, filter->pending, pending, next) {
        if (pending->method != ARCP__MCP_METHOD_TOOLS_CALL ||
            arcp__mcp_decide(filter->authority, now, pending->target, &filter->canonical,
                             &decision)) {
            continue;
        }
        arcp__mcp_put_denial(&filter->output->to_client, pending->id, pending->is_modern,
                             filter->authority, &decision);
        put_cancelled(&filter->output->to_server, pending->id);
        arcp__mcp_pending_remove(filter, pending);
        *count += 1;
    }
    return arcp__mcp_filter_status(filter, err);
}

arcp_status arcp__mcp_filter_end(arcp__mcp_filter *filter, const char *why, arcp_error *err)
{
    arcp__mcp_pending *pending;
    arcp__mcp_pending *next;
    (void)snprintf(filter->ended, sizeof filter->ended, "%s", why);
    HASH_ITER (hh, filter->pending, pending, next) {
        arcp__mcp_put_error(&filter->output->to_client, pending->id, ARCP__MCP_CONNECTION_CLOSED,
                            filter->ended);
        arcp__mcp_pending_remove(filter, pending);
    }
    return arcp__mcp_filter_status(filter, err);
}

arcp_status arcp__mcp_filter_skip(arcp__mcp_filter *filter, arcp__mcp_side from, arcp_span id,
                                  arcp_error *err)
{
    arcp_buf *out = &filter->output->to_client;
    if (id.size == 0) {
        filter->events.dropped(filter->events.user, from, "it is longer than 8 MiB", id);
    }
    if (from == ARCP__MCP_CLIENT) {
        arcp__mcp_put_error(out, id, ARCP__MCP_INVALID_REQUEST, "the message is longer than 8 MiB");
        return arcp__mcp_filter_status(filter, err);
    }
    arcp__mcp_pending *pending = arcp__mcp_pending_find_text(filter, id);
    if (pending != NULL) {
        arcp__mcp_put_error(out, pending->id, ARCP__MCP_INTERNAL_ERROR,
                            "the response of the server is longer than 8 MiB");
        arcp__mcp_pending_remove(filter, pending);
    }
    return arcp__mcp_filter_status(filter, err);
}
