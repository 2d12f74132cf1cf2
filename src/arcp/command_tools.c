/* `arcp tools`: the tools of the MCP servers of the configuration file, as clients of a gateway see
 * them, what they cost, and which a lease allows. Needs no runtime. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <arcp/gate.h>

#include "arcp/command.h"
#include "arcp/run_gateways.h"
#include "arcp/tools.h"
#include "base/alloc.h"
#include "launch/sandbox_host.h"
#include "sandbox/sandbox.h"
#include "json/json_put.h"

typedef struct listing {
    arcp__run run;
    arcp__format format;
    size_t columns; /* of the terminal; 0: standard output is none */
    arcp_lease *lease;
    arcp_authority *authority; /* NULL: no lease was given */
    arcp_time now;
    arcp_target_scratch *scratch;
    size_t tools, allowed, failed; /* the last: servers */
} listing;

/* What the lease says of a tool. */
typedef struct verdict {
    bool is_allowed;
    const char *reason; /* "NO_MATCH"; NULL: it is allowed */
} verdict;

/* ---- a tool ---- */

static const arcp__mcp_price *price_of(const listing *l, const arcp__tools_answer *answer,
                                       const arcp__mcp_tool *tool)
{
    const arcp__tool_server_options *server =
        arcp__tool_config_find(l->run.gateways->tools, arcp_span_cstr(answer->server));
    return arcp__mcp_price_find(server->prices, server->price_count, tool->name);
}

/* Asks as a call would: the gate, and whether the budget pays the price. */
static verdict decide(listing *l, const arcp__mcp_tool *tool, const arcp__mcp_price *price)
{
    arcp_decision decision = {0};
    if (!arcp_authorize(l->authority, l->now, ARCP_SPAN_LITERAL("tool.call"), tool->target,
                        l->scratch, &decision)) {
        return (verdict){.reason = arcp_deny_reason_name(decision.reason)};
    }
    switch (arcp__mcp_price_hold(price, l->authority, tool->target, &decision)) {
    case ARCP__MCP_HOLD_RESERVED:
        (void)arcp__mcp_price_settle(price, l->authority, false, NULL, 0);
        return (verdict){.is_allowed = true};
    case ARCP__MCP_HOLD_NOTHING:
        return (verdict){.is_allowed = true};
    case ARCP__MCP_HOLD_EXHAUSTED:
        return (verdict){.reason = arcp_deny_reason_name(ARCP_DENY_BUDGET)};
    case ARCP__MCP_HOLD_NO_CURRENCY:
        break;
    }
    return (verdict){.reason = "NO_CURRENCY"};
}

static void append_price(const arcp__mcp_price *price, arcp_buf *out)
{
    char amount[ARCP_DECIMAL_TEXT_MAX];
    if (price != NULL) {
        (void)arcp_decimal_format(price->amount, amount);
        arcp_buf_append(out, price->currency);
        arcp_buf_append_byte(out, ':');
        arcp_buf_append_cstr(out, amount);
    }
}

/* The first line of what the server says of the tool. */
static void append_description(const arcp__mcp_tool *tool, arcp_buf *out)
{
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf text = arcp_buf_init();
    arcp_buf room = arcp_buf_init();
    arcp_buf_append_byte(&text, '{');
    arcp_buf_append(&text, tool->members);
    arcp_buf_append_byte(&text, '}');
    if (!text.failed && arcp_json_scan(&json, arcp_buf_span(&text), &limits, NULL) == ARCP_OK) {
        const arcp_json_ref member =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("description"));
        const arcp_span words = arcp_json_is(&json, member, ARCP_JSON_STRING)
                                    ? arcp_json_string(&json, member, &room)
                                    : ARCP_SPAN_LITERAL("");
        size_t size = 0;
        while (size < words.size && words.data[size] != '\n') {
            size++;
        }
        arcp_buf_append(out, arcp_span_first(words, size));
    }
    out->failed = out->failed || text.failed || room.failed;
    arcp__json_fini(&json);
    arcp_buf_fini(&room);
    arcp_buf_fini(&text);
}

/* ---- printing ---- */

typedef enum column { TOOL, NAME, PRICE, LEASE, TEXT, COUNT } column;

static const arcp__column columns[COUNT] = {
    [TOOL] = {"TOOL", 32, 0},  [NAME] = {"NAME FOR CLIENTS", 32, 110}, [PRICE] = {"PRICE", 12, 0},
    [LEASE] = {"LEASE", 7, 0}, [TEXT] = {"DESCRIPTION", 0, 80},
};
static const arcp__table table = {columns, COUNT, 0, 0};

/* A narrow terminal shows whether a tool may be called, and not its price. */
#define NARROW 60u
static const arcp__column narrow_columns[] = {{"TOOL", 31, 0}, {"LEASE", 0, 0}};
static const arcp__table narrow_table = {narrow_columns, 2, 0, 0};

static bool print_row(const listing *l, const arcp__mcp_tool *tool, const verdict *v,
                      const arcp__mcp_price *price)
{
    arcp_buf cost = arcp_buf_init();
    arcp_buf text = arcp_buf_init();
    append_price(price, &cost);
    append_description(tool, &text);
    const char *lease = l->authority == NULL ? "" : v->is_allowed ? "allowed" : "denied";
    const arcp_span cells[COUNT] = {[TOOL] = tool->target,
                                    [NAME] = tool->listed,
                                    [PRICE] = arcp_buf_span(&cost),
                                    [LEASE] = arcp_span_cstr(lease),
                                    [TEXT] = arcp_buf_span(&text)};
    const arcp_span few[] = {cells[TOOL], cells[LEASE]};
    const bool is_narrow = l->columns != 0 && l->columns < NARROW;
    const arcp__table *shown = is_narrow ? &narrow_table : &table;
    const bool is_printed =
        (l->tools != 0 || arcp__print_table_row(l->run.program, shown, l->columns, NULL)) &&
        arcp__print_table_row(l->run.program, shown, l->columns, is_narrow ? few : cells);
    arcp_buf_fini(&cost);
    arcp_buf_fini(&text);
    return is_printed;
}

/* Prints an object as a line of JSON, or as an item in YAML, and frees it. */
static bool print_object(const listing *l, arcp_buf *text)
{
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    if (l->format == ARCP__FORMAT_JSON) {
        return arcp__program_print_buf_line(l->run.program, text);
    }
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf yaml = arcp_buf_init();
    yaml.failed =
        text->failed || arcp_json_scan(&json, arcp_buf_span(text), &limits, NULL) != ARCP_OK;
    arcp__append_yaml(&json, true, &yaml);
    arcp__json_fini(&json);
    arcp_buf_fini(text);
    return arcp__program_print_buf(l->run.program, &yaml);
}

static bool print_tool_object(const listing *l, const arcp__tools_answer *answer,
                              const arcp__mcp_tool *tool, const verdict *v,
                              const arcp__mcp_price *price)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf part = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&text);
    arcp__put_cstr(&writer, "server", answer->server);
    arcp__put_string(&writer, "tool", tool->target);
    arcp__put_string(&writer, "name", tool->listed);
    append_price(price, &part);
    arcp__put_text(&writer, "price", arcp_buf_span(&part));
    if (l->authority != NULL) {
        arcp__put_bool(&writer, "allowed", v->is_allowed);
        arcp__put_word(&writer, "reason", v->reason);
    }
    arcp_buf_clear(&part);
    append_description(tool, &part);
    arcp__put_text(&writer, "description", arcp_buf_span(&part));
    arcp_json_end_object(&writer);
    text.failed = text.failed || part.failed;
    arcp_buf_fini(&part);
    return print_object(l, &text);
}

static bool print_tool(listing *l, const arcp__tools_answer *answer, const arcp__mcp_tool *tool)
{
    const arcp__mcp_price *price = price_of(l, answer, tool);
    const verdict v = l->authority == NULL ? (verdict){0} : decide(l, tool, price);
    bool is_printed = false;
    if (l->format == ARCP__FORMAT_TABLE) {
        is_printed = print_row(l, tool, &v, price);
    } else if (l->format == ARCP__FORMAT_NAME) {
        arcp_buf line = arcp_buf_init();
        arcp__append_safe(&line, tool->target, 512);
        is_printed = arcp__program_print_buf_line(l->run.program, &line);
    } else {
        is_printed = print_tool_object(l, answer, tool, &v, price);
    }
    l->tools++;
    l->allowed += v.is_allowed;
    return is_printed;
}

/* On standard error, and as an object of its own where programs read. */
static bool print_failure(listing *l, const arcp__tools_answer *answer)
{
    arcp_buf text = arcp_buf_init();
    l->failed++;
    arcp__append_safe(&text, arcp_span_cstr(answer->why), sizeof answer->why);
    arcp__program_say(l->run.program, "%s", text.failed ? "out of memory" : arcp_buf_cstr(&text));
    arcp_buf_clear(&text);
    if (l->format == ARCP__FORMAT_TABLE || l->format == ARCP__FORMAT_NAME) {
        arcp_buf_fini(&text);
        return true;
    }
    arcp_json_writer writer = arcp__put_begin(&text);
    arcp__put_cstr(&writer, "server", answer->server);
    arcp__put_cstr(&writer, "error", answer->why);
    arcp_json_end_object(&writer);
    return print_object(l, &text);
}

static void say_sum(listing *l, size_t servers)
{
    arcp__program *program = l->run.program;
    if (program->is_quiet || l->format != ARCP__FORMAT_TABLE || servers == l->failed) {
        return;
    }
    char allowed[64] = "";
    if (l->authority != NULL) {
        (void)snprintf(allowed, sizeof allowed, ", of which the lease allows %zu", l->allowed);
    }
    arcp__program_say(program, "%zu tool%s of %zu server%s%s", l->tools, l->tools == 1 ? "" : "s",
                      servers - l->failed, servers - l->failed == 1 ? "" : "s", allowed);
}

static int print_answers(listing *l, const arcp__tools_answer *answers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const arcp__mcp_toolset *tools = answers[i].tools;
        if (tools == NULL && !print_failure(l, &answers[i])) {
            return ARCP__EXIT_ERROR;
        }
        for (size_t j = 0; tools != NULL && j < arcp__mcp_toolset_count(tools); j++) {
            if (!print_tool(l, &answers[i], arcp__mcp_toolset_at(tools, j))) {
                return ARCP__EXIT_ERROR;
            }
        }
    }
    say_sum(l, count);
    return l->failed == 0 ? ARCP__EXIT_SUCCESS : ARCP__EXIT_ERROR;
}

/* ---- asking ---- */

static int ask_servers(listing *l)
{
    const size_t count = l->run.gateways->used.tools.server_count;
    arcp__tools_answer *answers = arcp__alloc_array(count, sizeof *answers);
    arcp_error err = {0};
    int exit_status = ARCP__EXIT_ERROR;
    int ended_by = 0;
    if (answers == NULL) {
        (void)arcp_error_set(&err, ARCP_E_NO_MEMORY, "out of memory");
        return arcp__program_fail_file(l->run.program, &err);
    }
    if (arcp__tools_ask(&l->run, answers, &ended_by, &err) != ARCP_OK) {
        exit_status = arcp__program_fail_file(l->run.program, &err);
    } else {
        exit_status = ended_by != 0 ? 128 + ended_by : print_answers(l, answers, count);
    }
    for (size_t i = 0; i < count; i++) {
        arcp__mcp_toolset_free(answers[i].tools);
    }
    arcp__free(answers);
    return exit_status;
}

/* ---- the command ---- */

static arcp_status read_lease(listing *l, arcp_error *err)
{
    const char *word = arcp__value(&l->run.program->arguments, ARCP__OPTION_TOOLS_LEASE);
    arcp_authority_options options = arcp_authority_options_init();
    if (word == NULL) {
        return ARCP_OK;
    }
    options.now = l->now;
    l->scratch = arcp__alloc(sizeof *l->scratch);
    if (l->scratch == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    const arcp_status status = arcp__lease_load(word, &l->lease, err);
    return status == ARCP_OK ? arcp_authority_new(l->lease, &options, &l->authority, err) : status;
}

/* Reads the servers, and finds what their sandboxes need of this host, as `arcp run` does. */
static arcp_status prepare(listing *l, arcp_error *err)
{
    arcp__run *run = &l->run;
    const arcp__arguments *arguments = &run->program->arguments;
    arcp_status status =
        arcp__run_gateways_read_tools(run, arguments->words, arguments->word_count, err);
    if (status == ARCP_OK && run->gateways->used.tools.server_count == 0) {
        return arcp_error_set(err, ARCP_E_NOT_FOUND, "%s has no tools.servers (see arcp(1), FILES)",
                              run->gateways->file.path.data);
    }
    if (status == ARCP_OK) {
        status = arcp__run_place(run, err);
    }
    if (status == ARCP_OK) {
        status = arcp__abilities_find(&run->request.abilities, err);
    }
    if (status == ARCP_OK) {
        run->cache = arcp__run_cache(&run->arena, run->home);
        status = run->cache == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                    : arcp__run_own(run, err);
    }
    return status == ARCP_OK ? arcp__run_gateways_make(run, err) : status;
}

int arcp__command_tools(arcp__program *program)
{
    listing l = {.run = {.program = program},
                 .columns = arcp__output_columns(),
                 .now = {arcp__now_wall_ns(), 0}};
    arcp_error err = {0};
    int exit_status = ARCP__EXIT_ERROR;
    if (arcp__format_read(program, ARCP__OPTION_TOOLS_OUTPUT, &l.format, &err) != ARCP_OK) {
        exit_status = arcp__program_usage(program, &err);
    } else if (read_lease(&l, &err) != ARCP_OK) {
        exit_status = arcp__program_fail_file(program, &err);
    } else if (prepare(&l, &err) != ARCP_OK) {
        exit_status = err.status == ARCP_E_USAGE ? arcp__program_usage(program, &err)
                                                 : arcp__program_fail_file(program, &err);
    } else if (arcp__program_open_descriptors()) {
        exit_status = ask_servers(&l);
    }
    for (size_t i = 0; i < ARCP__RUN_TEMPORARY_MAX && l.run.temporary[i] != NULL; i++) {
        arcp__directory_remove(l.run.temporary[i]);
    }
    arcp__run_gateways_free(&l.run);
    arcp__own_paths_fini(&l.run.own);
    arcp__arena_fini(&l.run.arena);
    arcp_authority_unref(l.authority);
    arcp_lease_unref(l.lease);
    arcp__free(l.scratch);
    return exit_status;
}
