/* The keys of `tools`, and the configuration of the gateway for tools that they make. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "config/config_rows.h"
#include "core/lease_amount.h"
#include "mcp/mcp.h"
#include "mcp/mcp_method.h"
#include "mcp/mcp_rule.h"
#include "setup/setup.h"
#include "json/json.h"

#define MS_MAX UINT64_C(86400000)

/* ---- targets: {TOOL: {CAPABILITY: POINTER}} ---- */

static const char *const asked[] = {"fs.read", "fs.write", "net.fetch"};

typedef struct target_reading {
    arcp__setup_tool_server *server;
    arcp_span tool;
} target_reading;

static void target_fini(arcp__setup_tool_target *target)
{
    arcp__free(target->tool);
    arcp__free(target->capability);
    arcp__free(target->pointer);
}

static arcp_status add_target(arcp__yaml_reader *r, void *user, arcp_span capability)
{
    const target_reading *into = user;
    arcp__setup_tool_server *server = into->server;
    const arcp_span pointer = arcp__yaml_scalar(r->node);
    bool is_known = false;
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        is_known = is_known || arcp_span_equal_cstr(capability, asked[i]);
    }
    if (!is_known) {
        return arcp__yaml_refuse(r, "the capability must be fs.read, fs.write or net.fetch");
    }
    if (r->node->type != YAML_SCALAR_NODE || !arcp__mcp_pointer_is_valid(pointer)) {
        return arcp__yaml_refuse(r, "must be a JSON pointer into the tool's arguments, such as "
                                    "/path");
    }
    arcp__setup_tool_target *grown =
        arcp__realloc_array(server->targets, server->target_count + 1, sizeof *grown);
    if (grown == NULL) {
        return arcp__yaml_no_memory(r);
    }
    server->targets = grown;
    arcp__setup_tool_target target = {.tool = arcp__copy_cstr(into->tool.data, into->tool.size),
                                      .capability =
                                          arcp__copy_cstr(capability.data, capability.size),
                                      .pointer = arcp__copy_cstr(pointer.data, pointer.size)};
    if (target.tool == NULL || target.capability == NULL || target.pointer == NULL) {
        target_fini(&target);
        return arcp__yaml_no_memory(r);
    }
    server->targets[server->target_count++] = target;
    return ARCP_OK;
}

static arcp_status add_targets(arcp__yaml_reader *r, void *user, arcp_span tool)
{
    target_reading into = {user, tool};
    return arcp__yaml_members(r, add_target, &into);
}

static arcp_status targets_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    return arcp__yaml_members(r, add_targets, owner);
}

static void targets_fini(const arcp__config_row *row, void *owner)
{
    arcp__setup_tool_server *server = owner;
    for (size_t i = 0; i < server->target_count; i++) {
        target_fini(&server->targets[i]);
    }
    arcp__free(server->targets);
    server->targets = NULL;
    server->target_count = 0;
}

static void targets_print(const arcp__config_row *row, const void *owner, arcp_buf *out)
{
    const arcp__setup_tool_server *server = owner;
    arcp_buf_append_byte(out, '{');
    for (size_t i = 0; i < server->target_count; i++) {
        const arcp__setup_tool_target *target = &server->targets[i];
        const bool is_first = i == 0 || strcmp(server->targets[i - 1].tool, target->tool) != 0;
        if (is_first) {
            arcp_buf_append_cstr(out, i == 0 ? "" : "}, ");
            arcp_json_quote(arcp_span_cstr(target->tool), out);
            arcp_buf_append_cstr(out, ": {");
        } else {
            arcp_buf_append_cstr(out, ", ");
        }
        arcp_buf_append_format(out, "%s: ", target->capability);
        arcp_json_quote(arcp_span_cstr(target->pointer), out);
    }
    arcp_buf_append_cstr(out, server->target_count == 0 ? "}" : "}}");
}

static const arcp__config_type arcp__config_targets = {
    .fini = targets_fini, .read = targets_read, .print = targets_print};

/* ---- the keys ---- */

static const char *const yes_or_no[] = {"true", "false", NULL};
static const char *const scopes[] = {"job", "shared", NULL};
static const char *const logs[] = {"none", "args", "full", NULL}; /* as arcp__tool_log */
static const char *const changes[] = {"warn", "refuse", NULL};

static arcp_status accept_variable(arcp__yaml_reader *r, const char *name, const char *text)
{
    return name[0] == '\0' || strchr(name, '=') != NULL
               ? arcp__yaml_refuse(r, "a variable needs a name without '='")
               : ARCP_OK;
}

static arcp_status accept_price(arcp__yaml_reader *r, const char *name, const char *text)
{
    arcp__lease_amount ignored;
    arcp_error why = {0};
    if (name[0] == '\0' || strchr(name, '=') != NULL) {
        return arcp__yaml_refuse(r, "a price needs the name of a tool, or a glob");
    }
    return arcp__lease_amount_parse(arcp_span_cstr(text == NULL ? "" : text), &ignored, &why) ==
                   ARCP_OK
               ? ARCP_OK
               : arcp__yaml_refuse(r, "\"%.80s\": must be an amount like USD:0.01",
                                   text == NULL ? "" : text);
}

static arcp_status accept_header(arcp__yaml_reader *r, const char *name, const char *text)
{
    return name[0] == '\0' || strpbrk(name, ": \r\n") != NULL || text == NULL
               ? arcp__yaml_refuse(r, "a header needs a name and a value")
               : ARCP_OK;
}

#define SERVER(name, kind, member) ROW(name, kind, arcp__setup_tool_server, member)
static const arcp__config_row oauth_rows[] = {
    {SERVER("token_url", text, token_url)},
    {SERVER("client_id", text, client_id)},
    {SERVER("client_secret", text, client_secret), .flags = SECRET},
    {SERVER("scope", text, scope)},
};

static const arcp__config_row server_rows[] = {
    {SERVER("name", text, name)},
    {TEXTS("command", arcp__setup_tool_server, command.items, command.count)},
    {SERVER("url", text, url)},
    {PAIRS("headers", arcp__setup_tool_server, headers.items, headers.count, secret),
     .separator = ": ", .accept_pair = accept_header},
    {GROUP("oauth", ROWS(oauth_rows)), .flags = SPARSE},
    {PAIRS("env", arcp__setup_tool_server, env.items, env.count, secret), .flags = NAMES,
     .separator = "=", .accept_pair = accept_variable},
    {SERVER("lease", lease, lease)},
    {SERVER("confine", word, is_unconfined), .words = yes_or_no},
    {SERVER("scope", word, is_shared), .words = scopes},
    {SERVER("resources", flag, has_resources)},
    {SERVER("prompts", flag, has_prompts)},
    {SERVER("timeout_ms", number, timeout_ms), .initial = 60000, .minimum = 1, .maximum = MS_MAX},
    {SERVER("total_ms", number, total_ms), .initial = 600000, .minimum = 1, .maximum = MS_MAX},
    {SERVER("start_ms", number, start_ms), .initial = 20000, .minimum = 1, .maximum = MS_MAX},
    {SERVER("log", word, log), .initial = ARCP__TOOL_LOG_ARGS, .words = logs},
    {PAIRS("prices", arcp__setup_tool_server, prices.items, prices.count, text), .separator = "=",
     .accept_pair = accept_price},
    {SERVER("targets", targets, targets)},
};

static arcp_status check_program(const arcp__yaml_reader *r, const arcp__setup_tool_server *server)
{
    return server->headers.count != 0 || server->token_url != NULL || server->client_id != NULL ||
                   server->client_secret != NULL || server->scope != NULL
               ? arcp__yaml_refuse(r, "headers and oauth are for a server with url")
               : ARCP_OK;
}

static bool is_http(const char *url)
{
    return strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
}

static arcp_status check_url(const arcp__yaml_reader *r, const arcp__setup_tool_server *server)
{
    const size_t keys =
        (server->token_url != NULL) + (server->client_id != NULL) + (server->client_secret != NULL);
    if (!is_http(server->url) || (server->token_url != NULL && !is_http(server->token_url))) {
        return arcp__yaml_refuse(r, "a url must begin with http:// or https://");
    }
    if (server->env.count != 0 || server->lease != NULL || server->is_unconfined) {
        return arcp__yaml_refuse(r, "env, lease and confine are for a server with command");
    }
    return keys != 3 && (keys != 0 || server->scope != NULL)
               ? arcp__yaml_refuse(r, "oauth needs token_url, client_id and client_secret")
               : ARCP_OK;
}

static arcp_status check_server(arcp__yaml_reader *r, void *owner)
{
    const arcp__setup *setup = r->root;
    const arcp__setup_tool_server *server = owner;
    if (server->name == NULL || (server->command.count != 0) == (server->url != NULL)) {
        return arcp__yaml_refuse(r, "needs name, and command (a list of words) or url");
    }
    if (!arcp__mcp_name_is_valid(arcp_span_cstr(server->name))) {
        return arcp__yaml_refuse(r, "\"%.80s\": a name has " ARCP__MCP_NAME_RULE, server->name);
    }
    for (const arcp__setup_tool_server *other = setup->tools.servers; other < server; other++) {
        if (strcmp(other->name, server->name) == 0) {
            return arcp__yaml_refuse(r, "an entry above has the same name");
        }
    }
    if (server->is_unconfined && server->lease != NULL) {
        return arcp__yaml_refuse(r, "a lease has no effect with confine: false");
    }
    return server->url == NULL ? check_program(r, server) : check_url(r, server);
}

static const arcp__config_row server_item = {
    ITEM(arcp__setup_tool_server, ROWS(server_rows), .check = check_server)};

static const arcp__config_row tool_rows[] = {
    {LIST("servers", arcp__setup, tools.servers, tools.server_count, &server_item),
     .maximum = ARCP__TOOL_SERVERS_MAX, .item_name = "servers"},
    {ROW("on_change", word, arcp__setup, tools.refuses_changes), .words = changes},
};
const arcp__config_fields arcp__setup_tools = {ROWS(tool_rows)};

/* ---- the object ---- */

/* The rules of one server, whose texts are borrowed from the configuration. False: out of memory.
 */
static bool make_rules(const arcp__setup_tool_server *from, arcp__tool_server_options *to,
                       arcp__arena *arena)
{
    arcp__mcp_price *prices = arcp__arena_take(arena, (from->prices.count + 1) * sizeof *prices);
    arcp__mcp_target_rule *targets =
        arcp__arena_take(arena, (from->target_count + 1) * sizeof *targets);
    if (prices == NULL || targets == NULL) {
        return false;
    }
    for (size_t i = 0; i < from->prices.count; i++) {
        const char *pair = from->prices.items[i];
        const char *amount = strchr(pair, '=') + 1;
        arcp__lease_amount read = {.entry = 0};
        const arcp_span tools =
            arcp__arena_copy(arena, arcp_span_make(pair, (size_t)(amount - pair) - 1));
        if (tools.data == NULL ||
            arcp__lease_amount_parse(arcp_span_cstr(amount), &read, NULL) != ARCP_OK) {
            return false; /* it was read before */
        }
        prices[i] = (arcp__mcp_price){tools.data, read.currency, read.total};
    }
    for (size_t i = 0; i < from->target_count; i++) {
        targets[i] =
            (arcp__mcp_target_rule){.tools = from->targets[i].tool,
                                    .capability = arcp_span_cstr(from->targets[i].capability),
                                    .pointer = arcp_span_cstr(from->targets[i].pointer)};
    }
    to->prices = prices;
    to->price_count = from->prices.count;
    to->targets = targets;
    to->target_count = from->target_count;
    return true;
}

static bool make_server(const arcp__setup_tool_server *from, bool is_confined,
                        const arcp_lease *nothing, arcp__tool_server_options *to,
                        arcp__arena *arena)
{
    *to = (arcp__tool_server_options){.name = from->name,
                                      .argv = (const char *const *)from->command.items,
                                      .url = from->url,
                                      .headers = (const char *const *)from->headers.items,
                                      .oauth = {.token_url = from->token_url,
                                                .client_id = from->client_id,
                                                .client_secret = from->client_secret,
                                                .scope = from->scope},
                                      .env = (const char *const *)from->env.items,
                                      .offers = (from->has_resources ? ARCP__MCP_RESOURCES : 0U) |
                                                (from->has_prompts ? ARCP__MCP_PROMPTS : 0U),
                                      .is_shared = from->is_shared,
                                      .timeout_ms = (uint32_t)from->timeout_ms,
                                      .total_ms = (uint32_t)from->total_ms,
                                      .start_ms = (uint32_t)from->start_ms,
                                      .log = (arcp__tool_log)from->log};
    arcp_buf identity = arcp_buf_secret_init(); /* secret, so that nothing is masked */
    if (is_confined && !from->is_unconfined && from->url == NULL) {
        to->lease = from->lease == NULL ? nothing : from->lease;
    }
    arcp__config_fields_print(server_item.fields, from, &identity);
    arcp_buf_append_cstr(&identity, to->lease == NULL ? "not confined" : "");
    to->identity = identity.failed ? NULL : arcp__arena_copy(arena, arcp_buf_span(&identity)).data;
    arcp_buf_fini(&identity);
    return to->identity != NULL && make_rules(from, to, arena);
}

/* Reads the secrets of a server once, so that what is missing is known at the start. */
static arcp_status check_secrets(const arcp__setup_tool_server *server, size_t index,
                                 arcp_error *err)
{
    arcp_buf text = arcp_buf_secret_init();
    arcp_status status = ARCP_OK;
    char key[64];
    (void)snprintf(key, sizeof key, "tools.servers[%zu].headers", index);
    for (size_t i = 0; i < server->headers.count && status == ARCP_OK; i++) {
        status = arcp__setup_expand(key, server->headers.items[i], &text, err);
    }
    (void)snprintf(key, sizeof key, "tools.servers[%zu].oauth", index);
    if (status == ARCP_OK && server->client_secret != NULL) {
        status = arcp__setup_expand(key, server->client_secret, &text, err);
    }
    arcp_buf_fini(&text);
    return status;
}

arcp_status arcp__setup_make_tools(const arcp__setup *setup, const arcp__tool_host *host,
                                   const char *work_directory, arcp__tool_config **out,
                                   arcp_error *err)
{
    const arcp__setup_tools_values *tools = &setup->tools;
    arcp__arena arena = {0};
    arcp_lease *nothing = NULL;
    arcp__tool_server_options *servers =
        arcp__arena_take(&arena, (tools->server_count + 1) * sizeof *servers);
    arcp_status status =
        arcp_lease_parse(ARCP_SPAN_LITERAL("{}"), arcp_span_make(NULL, 0), NULL, &nothing, err);
    for (size_t i = 0; i < tools->server_count && status == ARCP_OK; i++) {
        if (servers == NULL ||
            !make_server(&tools->servers[i], host != NULL, nothing, &servers[i], &arena)) {
            status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        } else {
            status = check_secrets(&tools->servers[i], i, err);
        }
    }
    if (status == ARCP_OK) {
        const arcp__tool_options options = {.servers = servers,
                                            .server_count = tools->server_count,
                                            .refuses_changes = tools->refuses_changes,
                                            .work_directory = work_directory,
                                            .host = host,
                                            .expand = arcp__setup_expand};
        status = arcp__tool_config_new(&options, out, err);
    }
    arcp_lease_unref(nothing);
    arcp__arena_fini(&arena);
    return status;
}

void arcp__setup_explain_tools(const arcp__setup *setup, bool confines, arcp_buf *out)
{
    for (size_t i = 0; i < setup->tools.server_count; i++) {
        const arcp__setup_tool_server *server = &setup->tools.servers[i];
        const bool is_confined = confines && !server->is_unconfined;
        if (server->url != NULL) {
            arcp_buf_append_format(out, "%s: %s, at %s\n", server->name,
                                   server->is_shared ? "one session for all jobs"
                                                     : "one session for each job",
                                   server->url);
            continue;
        }
        arcp_buf_append_format(out, "%s: %s, %s%s\n", server->name,
                               server->is_shared ? "one process for all jobs"
                                                 : "one process for each job",
                               is_confined ? "in a sandbox" : "not confined",
                               is_confined && server->lease == NULL ? " that grants nothing" : "");
    }
}
