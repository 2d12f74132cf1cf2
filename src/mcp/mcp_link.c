#include "mcp/mcp_link.h"

#include <inttypes.h>
#include <stdio.h>

#include "mcp/mcp_parts.h"

#define FIRST_REVISION "2025-11-25"

/* With `initialize`; a server may answer with an earlier version than the one that it was asked. */
static const char *const revisions[] = {FIRST_REVISION, "2025-06-18", "2025-03-26", "2024-11-05"};

typedef struct pending {
    UT_hash_handle hh;
    uint64_t id;
    void *call;
    bool wants_progress;
} pending;

struct arcp__mcp_link {
    arcp__mcp_link_state state;
    arcp_span server; /* in `name` */
    arcp_buf name;
    arcp_buf *out;
    arcp__mcp_link_events events;
    arcp_json json; /* of the line that is being taken */
    pending *calls;
    uint64_t last_id;
    uint64_t own_id; /* of the request of the link itself that has no response yet; 0: none */
    arcp__mcp_toolset *list; /* while it is read */
    char version[ARCP__MCP_VERSION_MAX];
    unsigned offers;
    bool is_stale, is_behind;
    bool failed; /* out of memory */
};

/* ---- the object ---- */

static arcp_status status_of(arcp__mcp_link *link, arcp_error *err)
{
    link->failed = link->failed || link->out->failed;
    return link->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

arcp__mcp_link_state arcp__mcp_link_state_of(const arcp__mcp_link *link)
{
    return link->state;
}

unsigned arcp__mcp_link_offers(const arcp__mcp_link *link)
{
    return link->offers;
}

const char *arcp__mcp_link_version(const arcp__mcp_link *link)
{
    return link->version;
}

size_t arcp__mcp_link_pending(const arcp__mcp_link *link)
{
    return HASH_COUNT(link->calls);
}

bool arcp__mcp_link_is_stale(const arcp__mcp_link *link)
{
    return link->is_stale;
}

void arcp__mcp_link_set_behind(arcp__mcp_link *link, bool is_behind)
{
    link->is_behind = is_behind;
}

bool arcp__mcp_link_is_modern(const arcp__mcp_link *link)
{
    return link->state == ARCP__MCP_LINK_DISCOVERING ||
           strcmp(link->version, ARCP__MCP_MODERN) == 0;
}

static void drop(const arcp__mcp_link *link, const char *why, arcp_span line)
{
    link->events.dropped(link->events.user, why, line);
}

/* ---- calls without a response ---- */

static pending *find_call(const arcp__mcp_link *link, uint64_t id)
{
    pending *found = NULL;
    HASH_FIND(hh, link->calls, &id, sizeof id, found);
    return found;
}

/* Returns the owner's pointer. */
static void *remove_call(arcp__mcp_link *link, pending *p)
{
    void *call = p->call;
    HASH_DEL(link->calls, p);
    arcp__free(p);
    return call;
}

void arcp__mcp_link_end(arcp__mcp_link *link, const char *why)
{
    link->state = ARCP__MCP_LINK_ENDED;
    link->own_id = 0;
    while (link->calls != NULL) {
        void *call = remove_call(link, link->calls);
        link->events.failed(link->events.user, call, why);
    }
}

static void fail_link(arcp__mcp_link *link, const char *why)
{
    arcp__mcp_link_end(link, why);
    link->events.broken(link->events.user, why);
}

/* ---- requests ---- */

static arcp_json_writer begin_request(arcp__mcp_link *link, uint64_t id, const char *method)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRIu64, id);
    arcp_json_writer writer = arcp__mcp_begin(link->out, arcp_span_cstr(text));
    arcp__put_cstr(&writer, "method", method);
    arcp__put_object(&writer, "params");
    return writer;
}

/* The member _meta, if it has anything, and the end of the message. */
static void finish_request(const arcp__mcp_link *link, arcp_json_writer *writer, uint64_t token)
{
    if (arcp__mcp_link_is_modern(link) || token != 0) {
        arcp__put_object(writer, "_meta");
        if (token != 0) {
            arcp__put_u64(writer, "progressToken", token);
        }
        if (arcp__mcp_link_is_modern(link)) {
            arcp__put_cstr(writer, ARCP__MCP_META_VERSION, ARCP__MCP_MODERN);
            arcp_json_name(writer, ARCP__MCP_META_CLIENT);
            arcp__mcp_write_identity(writer);
            arcp__put_raw(writer, ARCP__MCP_META_CAPABILITIES, ARCP_SPAN_LITERAL("{}"));
        }
        arcp_json_end_object(writer);
    }
    arcp_json_end_object(writer);
    arcp__mcp_finish(writer);
}

static uint64_t next_own_id(arcp__mcp_link *link)
{
    link->own_id = ++link->last_id;
    return link->own_id;
}

static void send_initialize(arcp__mcp_link *link)
{
    arcp_json_writer writer =
        begin_request(link, next_own_id(link), arcp__mcp_method_name(ARCP__MCP_METHOD_INITIALIZE));
    arcp__put_cstr(&writer, "protocolVersion", FIRST_REVISION);
    arcp__put_raw(&writer, "capabilities", ARCP_SPAN_LITERAL("{}"));
    arcp_json_name(&writer, "clientInfo");
    arcp__mcp_write_identity(&writer);
    finish_request(link, &writer, 0);
}

static void send_discover(arcp__mcp_link *link)
{
    link->state = ARCP__MCP_LINK_DISCOVERING;
    arcp_json_writer writer =
        begin_request(link, next_own_id(link), arcp__mcp_method_name(ARCP__MCP_METHOD_DISCOVER));
    finish_request(link, &writer, 0);
}

/* `cursor` is a string of the message that is being taken, or ARCP_JSON_ABSENT. */
static void send_list(arcp__mcp_link *link, arcp_json_ref cursor)
{
    arcp_json_writer writer =
        begin_request(link, next_own_id(link), arcp__mcp_method_name(ARCP__MCP_METHOD_TOOLS_LIST));
    arcp__mcp_put(&writer, "cursor", &link->json, cursor);
    finish_request(link, &writer, 0);
}

static void begin_list(arcp__mcp_link *link)
{
    if (arcp__mcp_toolset_new(link->server, &link->list, NULL) != ARCP_OK) {
        link->failed = true; /* the name was checked */
        return;
    }
    link->is_stale = false;
    send_list(link, ARCP_JSON_ABSENT);
}

arcp_status arcp__mcp_link_new(arcp_span server, arcp_buf *out, const arcp__mcp_link_events *events,
                               arcp__mcp_link **out_link, arcp_error *err)
{
    if (!arcp__mcp_name_is_valid(server)) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "the name of a server has 1 to 32 of a-z, 0-9 and -");
    }
    arcp__mcp_link *link = arcp__alloc(sizeof *link);
    if (link == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_buf_append(&link->name, server);
    link->failed = link->name.failed;
    link->server = arcp_buf_span(&link->name);
    link->out = out;
    link->events = *events;
    send_initialize(link);
    const arcp_status status = status_of(link, err);
    if (status != ARCP_OK) {
        arcp__mcp_link_free(link);
        return status;
    }
    *out_link = link;
    return ARCP_OK;
}

void arcp__mcp_link_free(arcp__mcp_link *link)
{
    if (link == NULL) {
        return;
    }
    while (link->calls != NULL) {
        (void)remove_call(link, link->calls);
    }
    arcp__mcp_toolset_free(link->list);
    arcp__json_fini(&link->json);
    arcp_buf_fini(&link->name);
    arcp__free(link);
}

arcp_status arcp__mcp_link_list(arcp__mcp_link *link, arcp_error *err)
{
    if (link->state == ARCP__MCP_LINK_READY && link->list == NULL) {
        begin_list(link);
    }
    return status_of(link, err);
}

arcp_status arcp__mcp_link_send(arcp__mcp_link *link, const arcp__mcp_link_call *call, uint64_t *id,
                                arcp_error *err)
{
    if (link->state != ARCP__MCP_LINK_READY) {
        return arcp_error_set(err, ARCP_E_CLOSED, "the server is not ready");
    }
    if (HASH_COUNT(link->calls) >= ARCP__MCP_LINK_CALLS_MAX) {
        return arcp_error_set(err, ARCP_E_LIMIT, "%d calls of the server have no response yet",
                              ARCP__MCP_LINK_CALLS_MAX);
    }
    pending *p = arcp__alloc(sizeof *p);
    if (p == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    p->id = ++link->last_id;
    p->call = call->call;
    p->wants_progress = call->wants_progress;
    HASH_ADD(hh, link->calls, id, sizeof p->id, p);
    if (!ARCP__HASH_ADDED(p)) {
        arcp__free(p);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *id = p->id;
    const char *method =
        call->method != NULL ? call->method : arcp__mcp_method_name(ARCP__MCP_METHOD_TOOLS_CALL);
    arcp_json_writer writer = begin_request(link, p->id, method);
    if (call->method == NULL) {
        arcp__put_string(&writer, "name", call->tool);
        arcp__put_raw(&writer, "arguments", call->arguments);
    } else if (call->params.size != 0) {
        arcp_json_write_raw(&writer, call->params); /* as one value: a comma follows it */
    }
    finish_request(link, &writer, call->wants_progress ? p->id : 0);
    return status_of(link, err);
}

arcp_status arcp__mcp_link_cancel(arcp__mcp_link *link, uint64_t id, const char *reason,
                                  arcp_error *err)
{
    pending *p = find_call(link, id);
    if (p == NULL) {
        return ARCP_OK;
    }
    (void)remove_call(link, p);
    arcp_json_writer writer = arcp__mcp_begin(link->out, arcp_span_make(NULL, 0));
    arcp__put_cstr(&writer, "method", arcp__mcp_method_name(ARCP__MCP_METHOD_CANCELLED));
    arcp__put_object(&writer, "params");
    arcp__put_u64(&writer, "requestId", id);
    arcp__put_cstr(&writer, "reason", reason);
    finish_request(link, &writer, 0);
    return status_of(link, err);
}

/* ---- responses to the link's own requests ---- */

static void read_offers(arcp__mcp_link *link, arcp_json_ref result)
{
    static const char *const names[] = {"resources", "prompts", "completions"};
    const arcp_json *json = &link->json;
    const arcp_json_ref capabilities =
        arcp_json_member(json, result, ARCP_SPAN_LITERAL("capabilities"));
    link->offers = 0;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        const arcp_json_ref offer = arcp_json_member(json, capabilities, arcp_span_cstr(names[i]));
        link->offers |= arcp_json_is(json, offer, ARCP_JSON_OBJECT) ? 1U << i : 0;
    }
}

/* Why the server's greeting is not accepted; NULL: it is, and the version is known. */
static const char *read_greeting(arcp__mcp_link *link, arcp_json_ref result)
{
    const arcp_json *json = &link->json;
    const arcp_json_ref version =
        arcp_json_member(json, result, ARCP_SPAN_LITERAL("protocolVersion"));
    for (size_t i = 0; i < sizeof revisions / sizeof revisions[0]; i++) {
        if (arcp_json_is(json, version, ARCP_JSON_STRING) &&
            arcp_json_string_equals(json, version, arcp_span_cstr(revisions[i]))) {
            (void)snprintf(link->version, sizeof link->version, "%s", revisions[i]);
            return NULL;
        }
    }
    return "the server speaks a version of the protocol that is not known";
}

static const char *read_discovery(arcp__mcp_link *link, arcp_json_ref result)
{
    const arcp_json *json = &link->json;
    const arcp_json_ref versions =
        arcp_json_member(json, result, ARCP_SPAN_LITERAL("supportedVersions"));
    for (arcp_json_ref at = arcp_json_first(json, versions); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, versions, at)) {
        if (arcp_json_is(json, versions, ARCP_JSON_ARRAY) &&
            arcp_json_is(json, at, ARCP_JSON_STRING) &&
            arcp_json_string_equals(json, at, ARCP_SPAN_LITERAL(ARCP__MCP_MODERN))) {
            (void)snprintf(link->version, sizeof link->version, "%s", ARCP__MCP_MODERN);
            return NULL;
        }
    }
    return "the server speaks neither a version with initialize nor 2026-07-28";
}

static void take_greeting(arcp__mcp_link *link, const arcp__mcp_message *message)
{
    const bool was_greeting = link->state == ARCP__MCP_LINK_GREETING;
    const char *why = NULL;
    if (message->kind == ARCP__MCP_ERROR) {
        if (was_greeting) {
            send_discover(link);
            return;
        }
        why = "the server refuses to begin";
    } else {
        why = was_greeting ? read_greeting(link, message->outcome)
                           : read_discovery(link, message->outcome);
    }
    if (why != NULL) {
        fail_link(link, why);
        return;
    }
    link->state = ARCP__MCP_LINK_READY;
    read_offers(link, message->outcome);
    if (was_greeting) {
        arcp_json_writer writer = arcp__mcp_begin(link->out, arcp_span_make(NULL, 0));
        arcp__put_cstr(&writer, "method", arcp__mcp_method_name(ARCP__MCP_METHOD_INITIALIZED));
        arcp__mcp_finish(&writer);
    }
    begin_list(link);
}

static void fail_list(arcp__mcp_link *link, const char *why)
{
    arcp__mcp_toolset_free(link->list);
    link->list = NULL;
    link->events.listed(link->events.user, NULL, why);
}

static void take_page(arcp__mcp_link *link, const arcp__mcp_message *message)
{
    arcp_json_ref cursor = ARCP_JSON_ABSENT;
    arcp_error err = {0};
    if (message->kind == ARCP__MCP_ERROR) {
        fail_list(link, "the server refuses to list its tools");
        return;
    }
    arcp_status status =
        arcp__mcp_toolset_add(link->list, &link->json, message->outcome, &cursor, &err);
    if (status == ARCP_OK && cursor != ARCP_JSON_ABSENT) {
        send_list(link, cursor);
        return;
    }
    if (status == ARCP_OK) {
        status = arcp__mcp_toolset_seal(link->list, &err);
    }
    link->failed = link->failed || status == ARCP_E_NO_MEMORY;
    if (status != ARCP_OK) {
        fail_list(link, err.message);
        return;
    }
    arcp__mcp_toolset *list = link->list;
    link->list = NULL;
    link->events.listed(link->events.user, list, NULL);
}

/* ---- lines ---- */

static void take_response(arcp__mcp_link *link, const arcp__mcp_message *message, arcp_span line)
{
    uint64_t id = 0;
    const bool is_number = arcp_json_is(&link->json, message->id, ARCP_JSON_NUMBER) &&
                           arcp_json_u64(&link->json, message->id, &id);
    pending *p = is_number ? find_call(link, id) : NULL;
    if (p != NULL) {
        link->events.answered(link->events.user, remove_call(link, p), &link->json,
                              message->outcome, message->kind == ARCP__MCP_ERROR);
    } else if (!is_number || id == 0 || id != link->own_id) {
        drop(link, "it is a response to no request that waits for one", line);
    } else {
        link->own_id = 0;
        if (link->state == ARCP__MCP_LINK_READY) {
            take_page(link, message);
        } else {
            take_greeting(link, message);
        }
    }
}

static void take_progress(arcp__mcp_link *link, const arcp__mcp_message *message, arcp_span line)
{
    uint64_t token = 0;
    const arcp_json_ref value =
        arcp_json_member(&link->json, message->params, ARCP_SPAN_LITERAL("progressToken"));
    const pending *p = arcp_json_is(&link->json, value, ARCP_JSON_NUMBER) &&
                               arcp_json_u64(&link->json, value, &token)
                           ? find_call(link, token)
                           : NULL;
    if (p == NULL || !p->wants_progress) {
        drop(link, "it is the progress of no call", line);
        return;
    }
    link->events.progress(link->events.user, p->call, &link->json, message->params);
}

static void take_notification(arcp__mcp_link *link, const arcp__mcp_message *message,
                              arcp_span line)
{
    if (message->known == ARCP__MCP_METHOD_PROGRESS) {
        take_progress(link, message, line);
    } else if (message->known == ARCP__MCP_METHOD_TOOLS_CHANGED) {
        link->is_stale = true;
    } else if (message->known != ARCP__MCP_METHOD_MESSAGE) {
        drop(link, "this notification is not passed on", line);
    }
}

/* A response that cannot be read: the request that waits for it must not wait for ever. */
static void fail_response(arcp__mcp_link *link, arcp_span id, const char *why)
{
    uint64_t number = 0;
    const arcp_status status =
        id.size == 0 ? ARCP_E_NOT_FOUND : arcp_json_scan(&link->json, id, NULL, NULL);
    link->failed = link->failed || status == ARCP_E_NO_MEMORY;
    if (status != ARCP_OK || !arcp_json_is(&link->json, ARCP_JSON_ROOT, ARCP_JSON_NUMBER) ||
        !arcp_json_u64(&link->json, ARCP_JSON_ROOT, &number)) {
        return;
    }
    pending *p = find_call(link, number);
    if (p != NULL) {
        link->events.failed(link->events.user, remove_call(link, p), why);
    } else if (number != 0 && number == link->own_id) {
        link->own_id = 0;
        if (link->state == ARCP__MCP_LINK_READY) {
            fail_list(link, why);
        } else {
            fail_link(link, why);
        }
    }
}

static void take_faulty(arcp__mcp_link *link, arcp_span line, const arcp__mcp_fault *fault)
{
    char why[ARCP_ERROR_MESSAGE_MAX];
    arcp__mcp_skim skim = {0};
    arcp__mcp_skim_feed(&skim, line);
    drop(link, fault->text, line);
    (void)snprintf(why, sizeof why, "the response of the server cannot be read: %.400s",
                   fault->text);
    fail_response(link, arcp__mcp_skim_id(&skim), why);
}

arcp_status arcp__mcp_link_take(arcp__mcp_link *link, arcp_span line, arcp_error *err)
{
    arcp__mcp_message message;
    arcp__mcp_fault fault;
    if (link->state == ARCP__MCP_LINK_ENDED) {
        return ARCP_OK;
    }
    const arcp_status status =
        arcp__mcp_message_read(&link->json, ARCP__MCP_SERVER, line, &message, &fault);
    if (status == ARCP_E_NO_MEMORY) {
        link->failed = true;
    } else if (status != ARCP_OK) {
        take_faulty(link, line, &fault);
    } else if (message.kind == ARCP__MCP_REQUEST && link->is_behind) {
        drop(link, "it is a request, and the server does not read responses", line);
    } else if (message.kind == ARCP__MCP_REQUEST) {
        arcp__mcp_put_reply(link->out, &link->json, &message);
    } else if (message.kind == ARCP__MCP_NOTIFICATION) {
        take_notification(link, &message, line);
    } else {
        take_response(link, &message, line);
    }
    return status_of(link, err);
}

arcp_status arcp__mcp_link_skip(arcp__mcp_link *link, arcp_span id, arcp_error *err)
{
    if (link->state != ARCP__MCP_LINK_ENDED) {
        drop(link, "it is longer than 8 MiB", arcp_span_make(NULL, 0));
        fail_response(link, id, "the response of the server is longer than 8 MiB");
    }
    return status_of(link, err);
}
