/* `arcp status`: one screen about a runtime. What the principal may not see is left out. */
#include <stdio.h>

#include "arcp/command.h"
#include "arcp/operator.h"
#include "json/json_put.h"

#define WORKER_FIGURES 5u

typedef struct status {
    arcp__program *program;
    arcp__format format;
    uint64_t connected, away, running, pending;
    bool sees_sessions, sees_jobs, sees_figures, sees_audit;
    bool store_fails;
    char enforcement[16]; /* "full"; empty: unknown */
    bool has_workers;
    uint64_t workers[WORKER_FIGURES]; /* in the order of worker_figures */
    bool has_audit, audit_fails;      /* of a runtime with an audit log */
    uint64_t audit_seq, audit_lost;
} status;

static const char *const worker_figures[WORKER_FIGURES] = {"joined", "away", "draining", "jobs",
                                                           "capacity"};

static bool on_session(void *user, arcp__asked *page, arcp_json_ref row)
{
    status *s = user;
    const arcp_span state = arcp__asked_text(page, row, "state");
    s->away += arcp_span_equal_cstr(state, "away");
    s->connected += arcp_span_equal_cstr(state, "connected");
    return true;
}

static bool on_job(void *user, arcp__asked *page, arcp_json_ref row)
{
    status *s = user;
    const bool runs = arcp_span_equal_cstr(arcp__asked_text(page, row, "status"), "running");
    s->running += runs;
    s->pending += !runs;
    return true;
}

/* Of all principals for a role, else of the own one. */
static arcp_status read_jobs(status *s, arcp_client *client, arcp_error *err)
{
    return arcp__ask_pages(
        client, "jobs",
        s->sees_sessions ? "{\"filter\":{\"status\":[\"running\",\"pending\"],\"principal\":\"*\"}"
                         : "{\"filter\":{\"status\":[\"running\",\"pending\"]}",
        "jobs", on_job, s, err);
}

/* Of the figures only what there is now; those of minutes are a short response. */
static arcp_status read_figures(status *s, arcp_client *client, arcp_error *err)
{
    arcp__asked asked;
    const arcp_status got =
        arcp__ask(client, "figures", ARCP_SPAN_LITERAL("{\"range\":\"24h\"}"), &asked, err);
    if (got == ARCP_OK) {
        const arcp_json_ref failing =
            arcp_json_member(&asked.json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("store_failing"));
        arcp_buf level = arcp_buf_init();
        s->store_fails = arcp_json_is(&asked.json, failing, ARCP_JSON_TRUE);
        arcp__asked_append(&asked, ARCP_JSON_ROOT, "enforcement", sizeof s->enforcement - 1,
                           &level);
        (void)snprintf(s->enforcement, sizeof s->enforcement, "%.*s", (int)level.size,
                       level.size == 0 ? "" : level.data);
        arcp_buf_fini(&level);
        const arcp_json_ref workers =
            arcp_json_member(&asked.json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("workers"));
        s->has_workers = arcp_json_is(&asked.json, workers, ARCP_JSON_OBJECT);
        for (size_t i = 0; s->has_workers && i < WORKER_FIGURES; i++) {
            (void)arcp__asked_number(&asked, workers, worker_figures[i], &s->workers[i]);
        }
    }
    arcp__asked_fini(&asked);
    return got;
}

static arcp_status read_audit(status *s, arcp_client *client, arcp_error *err)
{
    arcp__asked asked;
    const arcp_status got =
        arcp__ask(client, "audit", ARCP_SPAN_LITERAL("{\"limit\":1}"), &asked, err);
    if (got == ARCP_OK) {
        const arcp_json_ref chain =
            arcp_json_member(&asked.json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("chain"));
        const arcp_json_ref failing =
            arcp_json_member(&asked.json, chain, ARCP_SPAN_LITERAL("failing"));
        s->has_audit = arcp_json_is(&asked.json, chain, ARCP_JSON_OBJECT);
        s->audit_fails = arcp_json_is(&asked.json, failing, ARCP_JSON_TRUE);
        (void)arcp__asked_number(&asked, chain, "seq", &s->audit_seq);
        (void)arcp__asked_number(&asked, chain, "lost", &s->audit_lost);
    }
    arcp__asked_fini(&asked);
    return got;
}

/* False: it could not be read, and the principal may see it. */
static bool is_read(arcp_status got, bool *sees)
{
    *sees = got == ARCP_OK;
    return got == ARCP_OK || got == ARCP_E_PERMISSION_DENIED || got == ARCP_E_INVALID_REQUEST;
}

static bool is_healthy(const status *s)
{
    return !s->store_fails && !s->audit_fails && s->audit_lost == 0;
}

/* ---- printing ---- */

static void append_table(const status *s, arcp_client *client, arcp_buf *out)
{
    arcp_buf_append_cstr(out, "runtime   ");
    arcp__runtime_name(client, out);
    arcp_buf_append_cstr(out, " at ");
    arcp__append_safe(out, arcp_span_cstr(s->program->target.url), 512);
    arcp_buf_append_format(out, "\nhealthy   %s\n", is_healthy(s) ? "yes" : "no");
    if (s->sees_jobs) {
        arcp_buf_append_format(out, "jobs      %llu running, %llu pending%s\n",
                               (unsigned long long)s->running, (unsigned long long)s->pending,
                               s->sees_sessions ? "" : " (of this principal)");
    }
    if (s->sees_sessions) {
        arcp_buf_append_format(out, "sessions  %llu connected, %llu away\n",
                               (unsigned long long)s->connected, (unsigned long long)s->away);
    }
    if (s->has_workers) {
        const unsigned long long places[] = {s->workers[3], s->workers[4]};
        arcp_buf_append_format(out, "workers   %llu connected, %llu away, %llu draining",
                               (unsigned long long)s->workers[0], (unsigned long long)s->workers[1],
                               (unsigned long long)s->workers[2]);
        if (places[1] != 0) {
            arcp_buf_append_format(out, "; %llu of %llu places taken", places[0], places[1]);
        }
        arcp_buf_append_byte(out, '\n');
    }
    if (s->enforcement[0] != '\0') {
        arcp_buf_append_format(out, "sandboxes %s\n", s->enforcement);
    }
    if (s->sees_figures) {
        arcp_buf_append_format(out, "store     %s\n",
                               s->store_fails ? "cannot be written" : "written");
    }
    if (s->sees_audit && !s->has_audit) {
        arcp_buf_append_cstr(out, "audit     off\n");
    } else if (s->sees_audit) {
        arcp_buf_append_format(out, "audit     %llu lines, %s", (unsigned long long)s->audit_seq,
                               s->audit_fails ? "cannot be written" : "written");
        if (s->audit_lost != 0) {
            arcp_buf_append_format(out, ", %llu lost", (unsigned long long)s->audit_lost);
        }
        arcp_buf_append_byte(out, '\n');
    }
}

static void append_json(const status *s, arcp_client *client, arcp_buf *out)
{
    arcp_buf name = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__runtime_name(client, &name);
    arcp__put_string(&writer, "runtime", arcp_buf_span(&name));
    arcp__put_cstr(&writer, "url", s->program->target.url);
    arcp__put_bool(&writer, "healthy", is_healthy(s));
    if (s->sees_jobs) {
        arcp__put_object(&writer, "jobs");
        arcp__put_u64(&writer, "running", s->running);
        arcp__put_u64(&writer, "pending", s->pending);
        arcp_json_end_object(&writer);
    }
    if (s->sees_sessions) {
        arcp__put_object(&writer, "sessions");
        arcp__put_u64(&writer, "connected", s->connected);
        arcp__put_u64(&writer, "away", s->away);
        arcp_json_end_object(&writer);
    }
    if (s->has_workers) {
        arcp__put_object(&writer, "workers");
        for (size_t i = 0; i < WORKER_FIGURES; i++) {
            arcp__put_u64(&writer, worker_figures[i], s->workers[i]);
        }
        arcp_json_end_object(&writer);
    }
    arcp__put_word(&writer, "enforcement", s->enforcement[0] == '\0' ? NULL : s->enforcement);
    if (s->sees_figures) {
        arcp__put_object(&writer, "store");
        arcp__put_bool(&writer, "failing", s->store_fails);
        arcp_json_end_object(&writer);
    }
    if (s->sees_audit && s->has_audit) {
        arcp__put_object(&writer, "audit");
        arcp__put_u64(&writer, "seq", s->audit_seq);
        arcp__put_bool(&writer, "failing", s->audit_fails);
        arcp__put_u64(&writer, "lost", s->audit_lost);
        arcp_json_end_object(&writer);
    }
    arcp_json_end_object(&writer);
    out->failed = out->failed || name.failed;
    arcp_buf_fini(&name);
}

static bool print(const status *s, arcp_client *client)
{
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf text = arcp_buf_init();
    arcp_buf yaml = arcp_buf_init();
    if (s->format == ARCP__FORMAT_TABLE) {
        append_table(s, client, &text);
        return arcp__program_print_text(s->program, &text);
    }
    if (s->format == ARCP__FORMAT_NAME) {
        arcp__runtime_name(client, &text);
        return arcp__program_print_buf_line(s->program, &text);
    }
    append_json(s, client, &text);
    if (s->format == ARCP__FORMAT_JSON) {
        return arcp__program_print_buf_line(s->program, &text);
    }
    yaml.failed = arcp_json_scan(&json, arcp_buf_span(&text), &limits, NULL) != ARCP_OK;
    arcp__append_yaml(&json, false, &yaml);
    arcp__json_fini(&json);
    arcp_buf_fini(&text);
    return arcp__program_print_buf(s->program, &yaml);
}

static int ask_all(arcp__program *program, arcp_client *client, void *user)
{
    status *s = user;
    arcp_error err = {.details = &program->error_details};
    const bool is_complete =
        is_read(arcp__ask_pages(client, "sessions", "{", "sessions", on_session, s, &err),
                &s->sees_sessions) &&
        is_read(read_jobs(s, client, &err), &s->sees_jobs) &&
        (!s->sees_sessions || (is_read(read_figures(s, client, &err), &s->sees_figures) &&
                               is_read(read_audit(s, client, &err), &s->sees_audit)));
    if (!is_complete) {
        return arcp__program_fail(program, &err);
    }
    return print(s, client) && is_healthy(s) ? ARCP__EXIT_SUCCESS : ARCP__EXIT_ERROR;
}

int arcp__command_status(arcp__program *program)
{
    status s = {.program = program};
    arcp_error err = {0};
    return arcp__format_read(program, ARCP__OPTION_STATUS_OUTPUT, &s.format, &err) == ARCP_OK
               ? arcp__program_request(program, ask_all, &s)
               : arcp__program_usage(program, &err);
}
