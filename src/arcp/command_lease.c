/* `arcp lease check|explain|subset|diff|lint`: inspects leases without a runtime. */
#include <string.h>

#include <arcp/lease_explain.h>
#include <arcp/lease_subset.h>

#include "arcp/command.h"
#include "base/alloc.h"
#include "base/timestamp.h"
#include "cli/cli.h"
#include "json/json_put.h"

/* Larger than what a runtime accepts, so that such leases can be inspected too. */
#define LEASE_BYTES_MAX ((size_t)64 << 20)

typedef struct query {
    arcp__program *program;
    const char *const *words; /* the arguments after the subcommand */
    arcp_span cwd;
    arcp_time now;
    arcp_lease *leases[2];     /* of the first words */
    arcp_authority *authority; /* of the first lease, for check and explain */
    arcp_buf text;             /* the output */
    bool is_yes;               /* the exit status is 0 */
} query;

/* `what` names the argument at fault. */
static int fail(const query *a, const char *what, const arcp_error *err)
{
    const char *why = err->message[0] == '\0' ? arcp_status_text(err->status) : err->message;
    arcp_error failure = {0};
    (void)arcp_error_set(&failure, err->status, "%s: %s", what, why);
    arcp__program_print_error(a->program, &failure);
    arcp__screen_format(&a->program->screen, "arcp lease: %s: %s", what, why);
    return ARCP__EXIT_ERROR;
}

/* No capability is called `lease` or `lease_constraints`. */
arcp_status arcp__lease_load(const char *word, arcp_lease **out, arcp_error *err)
{
    arcp_buf text = arcp_buf_init();
    arcp_json json = ARCP__JSON_INIT;
    arcp_json_limits limits = arcp_json_limits_init();
    arcp_lease_limits lease_limits = arcp_lease_limits_init();
    limits.bytes_max = LEASE_BYTES_MAX;
    lease_limits.bytes_max = LEASE_BYTES_MAX;
    lease_limits.patterns_max = LEASE_BYTES_MAX;
    arcp_status status = arcp__json_argument(word, true, &limits, &text, &json, err);
    if (status == ARCP_OK) {
        arcp_json_ref lease = arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("lease"));
        const arcp_json_ref constraints =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("lease_constraints"));
        if (lease == ARCP_JSON_ABSENT && constraints == ARCP_JSON_ABSENT) {
            lease = ARCP_JSON_ROOT;
        }
        status = arcp_lease_from_json(&json, lease, constraints, &lease_limits, out, err);
    }
    arcp__json_fini(&json);
    arcp_buf_fini(&text);
    return status;
}

/* ---- check, explain ---- */

/* Writes the member `details`, which is JSON, and frees the buffer. */
static void write_details(arcp_json_writer *writer, arcp_buf *details)
{
    arcp__put_raw(writer, "details", arcp_buf_span(details));
    writer->out->failed = writer->out->failed || details->failed;
    arcp_buf_fini(details);
}

static void append_decision(query *a, const arcp_decision *decision)
{
    arcp_buf *out = &a->text;
    if (a->program->is_json) {
        arcp_json_writer writer = arcp__put_begin(out);
        arcp__put_bool(&writer, "allow", decision->allowed);
        if (decision->allowed) {
            arcp__put_string(&writer, "canonical", decision->canonical);
            arcp__put_string(&writer, "pattern", decision->pattern);
        } else {
            arcp_buf details = arcp_buf_init();
            arcp_decision_format_details(a->authority, decision, &details);
            arcp__put_cstr(&writer, "code", arcp_status_name(decision->code));
            write_details(&writer, &details);
        }
        arcp_json_end_object(&writer);
    } else if (decision->allowed) {
        arcp_buf_append_cstr(out, "allowed by ");
        arcp_buf_append(out, decision->capability);
        arcp_buf_append_byte(out, ' ');
        arcp_json_quote(decision->pattern, out);
    } else {
        arcp_buf_append_format(out, "denied: %s: ", arcp_status_name(decision->code));
        arcp_decision_format_message(decision, out);
    }
    arcp_buf_append_byte(out, '\n');
}

static arcp_status check(query *a, arcp_error *err)
{
    arcp_target_scratch *scratch = arcp__alloc(sizeof *scratch);
    arcp_decision decision;
    if (scratch == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    a->is_yes = arcp_authorize(a->authority, a->now, arcp_span_cstr(a->words[1]),
                               arcp_span_cstr(a->words[2]), scratch, &decision);
    append_decision(a, &decision);
    arcp__free(scratch);
    return ARCP_OK;
}

static arcp_status explain(query *a, arcp_error *err)
{
    a->is_yes = arcp_lease_explain(a->authority, a->now, arcp_span_cstr(a->words[1]),
                                   arcp_span_cstr(a->words[2]), a->program->is_json, &a->text);
    return ARCP_OK;
}

/* ---- subset, diff, lint ---- */

/* Appends a text on one line: unchanged if it is printable, else as a JSON string. */
static void append_plain(arcp_span text, arcp_buf *out)
{
    for (size_t i = 0; i < text.size; i++) {
        const unsigned char byte = (unsigned char)text.data[i];
        if (byte <= 0x20 || byte == 0x7f) {
            arcp_json_quote(text, out);
            return;
        }
    }
    arcp_buf_append(out, text);
}

static void append_subset(query *a, const arcp_subset_violation *violation)
{
    arcp_buf *out = &a->text;
    if (a->program->is_json) {
        arcp_json_writer writer = arcp__put_begin(out);
        arcp__put_bool(&writer, "subset", a->is_yes);
        if (!a->is_yes) {
            arcp_buf details = arcp_buf_init();
            arcp_subset_violation_format_details(violation, &details);
            write_details(&writer, &details);
        }
        arcp_json_end_object(&writer);
        arcp_buf_append_byte(out, '\n');
        return;
    }
    arcp_buf_append_cstr(out, a->is_yes ? "subset\n" : "not a subset\n");
    if (!a->is_yes && violation->code != ARCP_DENY_TOO_COMPLEX) {
        arcp_buf_append_cstr(out, "witness: ");
        arcp_buf_append(out, violation->capability);
        arcp_buf_append_byte(out, ' ');
        append_plain(arcp_buf_span(&violation->witness), out);
        arcp_buf_append_byte(out, '\n');
    }
    if (!a->is_yes) {
        arcp_buf_append_format(out, "reason: %s\n", violation->reason);
    }
}

static arcp_status enforce(query *a, arcp_error *err)
{
    return arcp__lease_enforce(a->program, a->leases[0], &a->is_yes, &a->text, err);
}

static arcp_status subset(query *a, arcp_error *err)
{
    arcp_subset_violation violation = arcp_subset_violation_init();
    err->status = arcp_lease_is_subset(a->leases[0], a->leases[1], &a->is_yes, &violation);
    if (err->status == ARCP_OK) {
        append_subset(a, &violation);
    }
    arcp_subset_violation_fini(&violation);
    return err->status;
}

static arcp_status diff(query *a, arcp_error *err)
{
    a->is_yes = true;
    err->status = arcp_lease_diff(a->leases[0], a->leases[1], a->program->is_json, &a->text);
    return err->status;
}

static arcp_status lint(query *a, arcp_error *err)
{
    a->is_yes = true;
    (void)arcp_lease_lint(a->leases[0], a->now, a->program->is_json, &a->text);
    return ARCP_OK;
}

/* ---- the command ---- */

static const struct subcommand {
    const char *name;
    size_t words;
    const char *usage;     /* the error for a wrong number of words */
    const char *leases[2]; /* names of the arguments that are leases; they come first */
    bool is_about_target;
    arcp_status (*run)(query *a, arcp_error *err);
} subcommands[] = {
    {"check", 3, "check takes LEASE CAPABILITY TARGET", {"LEASE"}, true, check},
    {"explain", 3, "explain takes LEASE CAPABILITY TARGET", {"LEASE"}, true, explain},
    {"explain", 1, "explain --enforce takes LEASE", {"LEASE"}, .run = enforce},
    {"subset", 2, "subset takes CHILD PARENT", {"CHILD", "PARENT"}, false, subset},
    {"diff", 2, "diff takes A B", {"A", "B"}, false, diff},
    {"lint", 1, "lint takes LEASE", {"LEASE"}, false, lint},
};
#define SUBCOMMAND_COUNT (sizeof subcommands / sizeof subcommands[0])

/* Loads the leases, runs the subcommand and prints its output; returns the exit status. */
static int run(query *a, const struct subcommand *subcommand)
{
    const char *what = subcommand->name; /* at fault, if anything fails */
    arcp_status status = ARCP_OK;
    arcp_error err = {0};
    int exit_status = ARCP__EXIT_ERROR;
    for (size_t i = 0; i < 2 && subcommand->leases[i] != NULL && status == ARCP_OK; i++) {
        status = arcp__lease_load(a->words[i], &a->leases[i], &err);
        what = status == ARCP_OK ? what : subcommand->leases[i];
    }
    if (status == ARCP_OK && subcommand->is_about_target) {
        arcp_authority_options options = arcp_authority_options_init();
        options.now = a->now;
        options.cwd = a->cwd;
        status = arcp_authority_new(a->leases[0], &options, &a->authority, &err);
        what = status == ARCP_OK ? what : "LEASE";
    }
    if (status == ARCP_OK) {
        status = subcommand->run(a, &err);
    }
    if (status == ARCP_E_USAGE && subcommand->run == enforce) {
        exit_status = arcp__program_usage(a->program, &err);
    } else if (status != ARCP_OK) {
        exit_status = fail(a, what, &err);
    } else if (arcp__program_print_buf(a->program, &a->text)) {
        exit_status =
            a->is_yes ? ARCP__EXIT_SUCCESS : arcp__exit_of_status(ARCP_E_PERMISSION_DENIED);
    }
    arcp_buf_fini(&a->text);
    arcp_authority_unref(a->authority);
    arcp_lease_unref(a->leases[0]);
    arcp_lease_unref(a->leases[1]);
    return exit_status;
}

static arcp_status read_options(const arcp__arguments *arguments, query *a, arcp_error *err)
{
    const char *cwd = arcp__value(arguments, ARCP__OPTION_LEASE_CWD);
    const char *at = arcp__value(arguments, ARCP__OPTION_LEASE_AT);
    arcp__instant instant = {.wall_ns = a->now.wall_ns};
    if (cwd != NULL && cwd[0] != '/') {
        return arcp_error_set(err, ARCP_E_USAGE, "--cwd must be an absolute path: %s", cwd);
    }
    if (at != NULL && arcp__timestamp_parse(arcp_span_cstr(at), &instant, NULL) != ARCP_OK) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--at must be RFC 3339 in UTC, such as 2026-05-13T19:42:13Z: %s", at);
    }
    a->cwd = arcp_span_cstr(cwd);
    a->now.wall_ns = instant.wall_ns;
    return ARCP_OK;
}

int arcp__command_lease(arcp__program *program)
{
    const arcp__arguments *arguments = &program->arguments;
    const char *const *words = arguments->words;
    query a = {.program = program, .words = words + 1, .now = {arcp__now_wall_ns(), 0}};
    arcp_error err = {0};
    size_t row = 0;
    const bool enforces = arcp__has(arguments, ARCP__OPTION_LEASE_ENFORCE);
    while (row < SUBCOMMAND_COUNT && (strcmp(subcommands[row].name, words[0]) != 0 ||
                                      (subcommands[row].run == explain && enforces))) {
        row++;
    }
    if (row == SUBCOMMAND_COUNT) {
        (void)arcp_error_set(&err, ARCP_E_USAGE,
                             "unknown lease command '%s' (expected check, explain, subset, diff, "
                             "lint or learn)",
                             words[0]);
    } else if (subcommands[row].run != enforce &&
               (enforces || arcp__has(arguments, ARCP__OPTION_LEASE_LEVEL) ||
                arcp__has(arguments, ARCP__OPTION_LEASE_TLS) ||
                arcp__has(arguments, ARCP__OPTION_LEASE_AGENT_COMMAND))) {
        (void)arcp_error_set(
            &err, ARCP_E_USAGE,
            "--enforce, --tls, --level and --agent-command are for explain --enforce");
    } else if (arguments->word_count != subcommands[row].words + 1) {
        (void)arcp_error_set(&err, ARCP_E_USAGE, "%s", subcommands[row].usage);
    } else if (subcommands[row].words == 2 && strcmp(words[1], "-") == 0 &&
               strcmp(words[2], "-") == 0) {
        (void)arcp_error_set(&err, ARCP_E_USAGE, "only one lease can be read from standard input");
    } else if (read_options(arguments, &a, &err) == ARCP_OK) {
        return run(&a, &subcommands[row]);
    }
    return arcp__program_usage(program, &err);
}
