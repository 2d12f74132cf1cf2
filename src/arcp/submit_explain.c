/* `arcp submit AGENT --explain`: what the runtime would grant to a job, and how it would enforce
 * each line of its lease. The dashboard's form shows the same. */
#include <string.h>

#include <arcp/lease.h>

#include "arcp/command.h"
#include "arcp/operator.h"
#include "json/json_put.h"

#define PATTERN_WIDTH_MAX 48u /* of the column; a longer pattern is printed whole */

typedef struct explanation {
    arcp__program *program;
    const char *agent;
    arcp_span lease, constraints; /* as requested; empty: none */
    arcp_json requested;          /* the lease, in the form that the runtime's answer has */
    arcp_buf requested_text;
    arcp__asked answer;
    bool runs;
    size_t widths[3]; /* of capability, pattern, verdict */
} explanation;

typedef struct row {
    arcp_span cells[4]; /* capability, pattern, verdict, how */
} row;

/* ---- rows ---- */

/* A string without its quotes, with its escapes. */
static arcp_span text_of(const arcp_json *json, arcp_json_ref string)
{
    const arcp_span raw = arcp_json_raw(json, string);
    return raw.size < 2 ? raw : arcp_span_first(arcp_span_from(raw, 1), raw.size - 2);
}

/* Whether the lease, an object of `json`, has the line. */
static bool has_line(const arcp_json *json, arcp_json_ref lease, arcp_span capability,
                     arcp_span pattern)
{
    const arcp_json_ref patterns = arcp_json_member(json, lease, capability);
    for (arcp_json_ref item = arcp_json_first(json, patterns); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(json, patterns, item)) {
        if (arcp_span_equal(text_of(json, item), pattern)) {
            return true;
        }
    }
    return false;
}

/* The element of the answer's `lines` that has the verdict on this line of the lease. Absent: the
 * verdict is exact, because for a lease of more than 100 lines the answer omits exact ones. */
static arcp_json_ref find_verdict(const arcp__asked *answer, arcp_span capability,
                                  arcp_span pattern)
{
    const arcp_json *json = &answer->json;
    const arcp_json_ref lines = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("lines"));
    for (arcp_json_ref line = arcp_json_first(json, lines); line != ARCP_JSON_ABSENT;
         line = arcp_json_next(json, lines, line)) {
        if (arcp_span_equal(arcp__asked_text(answer, line, "pattern"), pattern) &&
            arcp_span_equal(arcp__asked_text(answer, line, "capability"), capability)) {
            return line;
        }
    }
    return ARCP_JSON_ABSENT;
}

static row granted_row(const explanation *e, arcp_span capability, arcp_span pattern)
{
    const arcp__asked *answer = &e->answer;
    row shown = {{capability, pattern, ARCP_SPAN_LITERAL("exact"), ARCP_SPAN_LITERAL("")}};
    if (arcp_span_equal_cstr(capability, "cost.budget")) {
        shown.cells[3] = ARCP_SPAN_LITERAL("limits what the job may spend");
    } else if (arcp__asked_text(answer, ARCP_JSON_ROOT, "level").size == 0) {
        shown.cells[2] = e->runs ? ARCP_SPAN_LITERAL("advisory") : ARCP_SPAN_LITERAL("refused");
        shown.cells[3] = e->runs ? ARCP_SPAN_LITERAL("the agent runs without a sandbox")
                                 : ARCP_SPAN_LITERAL("there is no sandbox for the agent");
    } else {
        const arcp_json_ref line = find_verdict(answer, capability, pattern);
        if (line != ARCP_JSON_ABSENT) {
            shown.cells[2] = arcp__asked_text(answer, line, "verdict");
            shown.cells[3] = arcp__asked_text(answer, line, "text");
        }
    }
    return shown;
}

/* Calls `each` for each line of a lease. False: `each` has returned false. */
static bool each_line(explanation *e, const arcp_json *json, arcp_json_ref lease,
                      bool (*each)(explanation *e, arcp_span capability, arcp_span pattern))
{
    for (arcp_json_ref member = arcp_json_first(json, lease); member != ARCP_JSON_ABSENT;
         member = arcp_json_next(json, lease, member)) {
        const arcp_json_ref patterns = member + 1;
        for (arcp_json_ref item = arcp_json_first(json, patterns); item != ARCP_JSON_ABSENT;
             item = arcp_json_next(json, patterns, item)) {
            if (!each(e, text_of(json, member), text_of(json, item))) {
                return false;
            }
        }
    }
    return true;
}

static arcp_json_ref granted_lease(const explanation *e)
{
    return arcp_json_member(&e->answer.json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("lease"));
}

/* ---- the table ---- */

static bool measure(explanation *e, arcp_span capability, arcp_span pattern)
{
    const row shown = granted_row(e, capability, pattern);
    for (size_t i = 0; i < 3; i++) {
        const size_t size = shown.cells[i].size;
        e->widths[i] = size > e->widths[i] ? size : e->widths[i];
    }
    return true;
}

static bool print_row(const explanation *e, const row *shown)
{
    const size_t count = shown->cells[3].size == 0 ? 3 : 4;
    arcp_buf line = arcp_buf_init();
    for (size_t i = 0; i < count; i++) {
        const arcp_span cell = shown->cells[i];
        const size_t width = i == 3 || cell.size > e->widths[i] ? cell.size : e->widths[i];
        arcp__append_cell(&line, cell, width, i + 1 == count);
    }
    return arcp__program_print_buf_line(e->program, &line);
}

static bool print_granted(explanation *e, arcp_span capability, arcp_span pattern)
{
    const row shown = granted_row(e, capability, pattern);
    return print_row(e, &shown);
}

static bool print_removed(explanation *e, arcp_span capability, arcp_span pattern)
{
    const row shown = {{capability, pattern, ARCP_SPAN_LITERAL("removed"),
                        ARCP_SPAN_LITERAL("the operator's policy does not grant it")}};
    return has_line(&e->answer.json, granted_lease(e), capability, pattern) || print_row(e, &shown);
}

static bool print_summary(const explanation *e)
{
    const arcp__asked *answer = &e->answer;
    const arcp_span level = arcp__asked_text(answer, ARCP_JSON_ROOT, "level");
    arcp_buf line = arcp_buf_init();
    arcp__asked_append(answer, ARCP_JSON_ROOT, "agent", 256, &line);
    if (!e->runs) {
        arcp_buf_append_cstr(&line, " would be refused: ");
        arcp__asked_append(answer, ARCP_JSON_ROOT, "refusal", 1024, &line);
    } else if (level.size == 0) {
        arcp_buf_append_cstr(&line, " would run without a sandbox: the lease decides only what the "
                                    "agent asks about");
    } else {
        arcp_buf_append_cstr(&line, " would run in a sandbox of level ");
        arcp__append_safe(&line, level, 32);
    }
    return arcp__program_print_buf_line(e->program, &line);
}

static bool print_table(explanation *e)
{
    const row titles = {{ARCP_SPAN_LITERAL("CAPABILITY"), ARCP_SPAN_LITERAL("PATTERN"),
                         ARCP_SPAN_LITERAL("VERDICT"), ARCP_SPAN_LITERAL("HOW")}};
    const arcp_json *answer = &e->answer.json;
    const bool has_lines = e->lease.size != 0;
    for (size_t i = 0; i < 3; i++) {
        e->widths[i] = titles.cells[i].size;
    }
    (void)each_line(e, answer, granted_lease(e), measure);
    (void)each_line(e, &e->requested, ARCP_JSON_ROOT, measure);
    e->widths[1] = e->widths[1] < PATTERN_WIDTH_MAX ? e->widths[1] : PATTERN_WIDTH_MAX;
    return (!has_lines || print_row(e, &titles)) &&
           each_line(e, answer, granted_lease(e), print_granted) &&
           each_line(e, &e->requested, ARCP_JSON_ROOT, print_removed) && print_summary(e);
}

/* ---- the request ---- */

/* The runtime writes the effective lease as libarcp does: written so as well, lines can be
 * compared. */
static arcp_status format_requested(explanation *e, arcp_error *err)
{
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    arcp_lease_limits lease_limits = arcp_lease_limits_init();
    lease_limits.patterns_max = SIZE_MAX;
    lease_limits.bytes_max = SIZE_MAX;
    arcp_lease *lease = NULL;
    const arcp_span text = e->lease.size == 0 ? ARCP_SPAN_LITERAL("{}") : e->lease;
    arcp_status status =
        arcp_lease_parse(text, arcp_span_make(NULL, 0), &lease_limits, &lease, err);
    if (status == ARCP_OK) {
        arcp_lease_format(lease, &e->requested_text);
        status =
            e->requested_text.failed
                ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                : arcp_json_scan(&e->requested, arcp_buf_span(&e->requested_text), &limits, err);
    }
    arcp_lease_unref(lease);
    return status;
}

static void write_request(const explanation *e, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_cstr(&writer, "agent", e->agent);
    arcp__put_raw(&writer, "lease_request", e->lease);
    arcp__put_raw(&writer, "lease_constraints", e->constraints);
    arcp_json_end_object(&writer);
}

static int ask(arcp__program *program, arcp_client *client, void *user)
{
    explanation *e = user;
    arcp_error err = {.details = &program->error_details};
    arcp_buf request = arcp_buf_init();
    write_request(e, &request);
    arcp_status status = arcp__ask_buf(client, "explain", &request, &e->answer, &err);
    arcp_buf_fini(&request);
    if (status == ARCP_OK) {
        status = format_requested(e, &err);
    }
    if (status != ARCP_OK) {
        return arcp__program_fail(program, &err);
    }
    const arcp_json *json = &e->answer.json;
    e->runs = arcp_json_is(json, arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("runs")),
                           ARCP_JSON_TRUE);
    const bool is_printed =
        program->is_json ? arcp__print_asked(program, ARCP__FORMAT_JSON, &e->answer, ARCP_JSON_ROOT)
                         : print_table(e);
    return !is_printed ? ARCP__EXIT_ERROR
           : e->runs   ? ARCP__EXIT_SUCCESS
                       : arcp__exit_of_status(ARCP_E_PERMISSION_DENIED);
}

int arcp__submit_explain(arcp__program *program, arcp_span lease, arcp_span constraints)
{
    explanation e = {.program = program,
                     .agent = program->arguments.words[0],
                     .lease = lease,
                     .constraints = constraints,
                     .requested = ARCP__JSON_INIT,
                     .answer = {.json = ARCP__JSON_INIT}};
    const int exit_status = arcp__program_request(program, ask, &e);
    arcp__asked_fini(&e.answer);
    arcp__json_fini(&e.requested);
    arcp_buf_fini(&e.requested_text);
    return exit_status;
}
