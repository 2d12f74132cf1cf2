/* `arcp show`: what the runtime keeps about one job, from its listing, its descriptor and its
 * events. */
#include <string.h>

#include "arcp/command.h"
#include "arcp/jobs.h"
#include "arcp/operator.h"
#include "json/json_put.h"

#define CHILDREN_MAX  100
#define LABEL_COLUMNS 9

typedef struct shown {
    arcp__program *program;
    arcp_span id;
    arcp__format format;
    arcp__asked view; /* not scanned: the runtime has none */
    bool has_role;
    arcp_buf created_at;
    arcp_buf input; /* JSON; empty: it is not kept */
    bool is_input_cut;
    arcp_buf descriptor;   /* JSON */
    arcp_buf enforcement;  /* body of the event about its sandbox; empty: none */
    arcp_buf children;     /* JSON, the elements of an array */
    size_t child_count;    /* also those beyond CHILDREN_MAX, which are left out */
    arcp_buf denied;       /* "CAPABILITY TARGET" of the last one */
    uint64_t denial_count; /* with a view those of the gate are counted, too */
    arcp_buf progress;
    arcp__closing closing;
    arcp_buf end;     /* the payload of its last message; empty: it runs */
    arcp_buf outcome; /* the same for people, with time and costs */
} shown;

/* ---- what is known ---- */

/* The last operation that was denied. */
static void take_refused(shown *s)
{
    const arcp__asked *view = &s->view;
    const arcp_json_ref list =
        arcp_json_member(&view->json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("refused"));
    (void)arcp__asked_number(view, ARCP_JSON_ROOT, "denials", &s->denial_count);
    for (arcp_json_ref at = arcp_json_first(&view->json, list); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(&view->json, list, at)) {
        arcp_buf_clear(&s->denied);
        arcp__asked_append(view, at, "capability", 256, &s->denied);
        arcp_buf_append_byte(&s->denied, ' ');
        arcp__asked_append(view, at, "target", 1024, &s->denied);
    }
}

/* What only the runtime's view of the job says. */
static arcp_status read_view(shown *s, arcp_client *client, arcp_error *err)
{
    arcp_buf payload = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&payload);
    arcp__put_string(&writer, "job_id", s->id);
    arcp_json_end_object(&writer);
    const arcp_status status = arcp__ask_buf(client, "job", &payload, &s->view, err);
    if (status == ARCP_OK && s->view.json.nodes != NULL) { /* it was scanned */
        const arcp_json *json = &s->view.json;
        const arcp_json_ref input =
            arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("input"));
        const arcp_json_ref truncated =
            arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("truncated"));
        arcp_buf_append(&s->created_at, arcp__asked_text(&s->view, ARCP_JSON_ROOT, "created_at"));
        arcp_buf_append(&s->input, arcp_json_raw(json, input));
        s->is_input_cut = arcp_json_is(json, truncated, ARCP_JSON_TRUE);
        take_refused(s);
    }
    arcp_buf_fini(&payload);
    return status;
}

static bool take_row(void *user, const arcp_job_row *row)
{
    shown *s = user;
    if (!arcp_span_equal(row->job_id, s->id)) {
        return true;
    }
    arcp_buf_append(&s->created_at, row->created_at);
    return false;
}

static bool on_opened(void *user, arcp_job *job)
{
    shown *s = user;
    arcp_buf_append(&s->descriptor, arcp_job_descriptor(job));
    return true;
}

static void append_text_member(const arcp_json *json, const char *name, const char *before,
                               arcp_buf *out)
{
    arcp_buf room = arcp_buf_init();
    const arcp_span text =
        arcp_json_string(json, arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(name)), &room);
    arcp_buf_append_cstr(out, text.size == 0 ? "" : before);
    arcp_buf_append(out, text);
    arcp_buf_fini(&room);
}

static void take_status(shown *s, const arcp_client_event *event, arcp_span phase)
{
    arcp_json json = ARCP__JSON_INIT;
    if (arcp_span_equal_cstr(phase, "enforcement")) {
        arcp_buf_clear(&s->enforcement);
        arcp_buf_append(&s->enforcement, event->body);
    } else if (arcp_span_equal_cstr(phase, "denied")) {
        s->denial_count++;
        if (arcp_json_scan(&json, event->body, NULL, NULL) == ARCP_OK) {
            arcp_buf_clear(&s->denied);
            append_text_member(&json, "capability", "", &s->denied);
            append_text_member(&json, "target", " ", &s->denied);
        }
    }
    arcp__json_fini(&json);
}

static void take_child(shown *s, const arcp_event_body *body)
{
    if (s->child_count++ < CHILDREN_MAX) {
        arcp_buf_append_cstr(&s->children, s->children.size == 0 ? "" : ",");
        arcp_json_writer writer = arcp__put_begin(&s->children);
        arcp__put_string(&writer, "job_id", body->delegate.child_job_id);
        arcp__put_string(&writer, "agent", body->delegate.agent);
        arcp_json_end_object(&writer);
    }
}

static bool on_event(void *user, const arcp_client_event *event)
{
    shown *s = user;
    if (event->type == ARCP_CLIENT_JOB_ENDED) {
        arcp_buf_append(&s->end, arcp_client_event_payload(event));
        arcp__closing_append(&s->closing, arcp_job_outcome(event->job), &s->outcome);
        return true;
    }
    const arcp_event_body *body = arcp_client_event_body(event);
    arcp__closing_note(&s->closing, event, true);
    if (body->kind == ARCP_EVENT_STATUS) {
        take_status(s, event, body->status.phase);
    } else if (body->kind == ARCP_EVENT_DELEGATE) {
        take_child(s, body);
    } else if (body->kind == ARCP_EVENT_PROGRESS) {
        arcp_buf_clear(&s->progress);
        arcp_buf_append(&s->progress, body->progress.current);
        arcp_buf_append_cstr(&s->progress, body->progress.total.size == 0 ? "" : "/");
        arcp_buf_append(&s->progress, body->progress.total);
        arcp_buf_append_cstr(&s->progress, body->progress.units.size == 0 ? "" : " ");
        arcp_buf_append(&s->progress, body->progress.units);
    }
    return true;
}

/* ---- as JSON ---- */

/* Copies members that the object has. */
static void put_members(arcp_json_writer *writer, const arcp_json *json, const char *const *names,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const arcp_json_ref ref = arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(names[i]));
        if (!arcp_json_is_missing(json, ref)) {
            arcp__put_raw(writer, names[i], arcp_json_raw(json, ref));
        }
    }
}

/* One object; `end` has been scanned when the job has ended. */
static void append_json(shown *s, const arcp_json *descriptor, const arcp_json *end, arcp_buf *out)
{
    static const char *const first[] = {"agent"};
    static const char *const owner[] = {"principal"};
    static const char *const last[] = {"parent_job_id", "trace_id", "lease", "lease_constraints",
                                       "budget"};
    static const char *const of_end[] = {"completed_at", "code",    "message",
                                         "retryable",    "details", "result_size"};
    static const char *const of_view[] = {"pid",           "cpu_ms", "memory_bytes",
                                          "silent_for_ms", "uses",   "refused"};
    const bool has_ended = s->end.size != 0;
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_string(&writer, "job_id", s->id);
    put_members(&writer, descriptor, first, 1);
    put_members(&writer, &s->view.json, owner, 1);
    arcp__put_raw(
        &writer, "status",
        has_ended
            ? arcp_json_raw(
                  end, arcp_json_member(end, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("final_status")))
            : arcp_json_raw(descriptor, arcp_json_member(descriptor, ARCP_JSON_ROOT,
                                                         ARCP_SPAN_LITERAL("current_status"))));
    arcp__put_text(&writer, "created_at", arcp_buf_span(&s->created_at));
    arcp__put_word(&writer, "started_at", s->closing.started_at);
    if (has_ended) {
        put_members(&writer, end, of_end, sizeof of_end / sizeof *of_end);
    }
    put_members(&writer, descriptor, last, sizeof last / sizeof *last);
    arcp__put_raw(&writer, "input", arcp_buf_span(&s->input));
    if (s->is_input_cut) {
        arcp__put_bool(&writer, "input_truncated", true);
    }
    arcp__put_raw(&writer, "enforcement", arcp_buf_span(&s->enforcement));
    arcp__put_text(&writer, "progress", arcp_buf_span(&s->progress));
    arcp__put_u64(&writer, "denials", s->denial_count);
    arcp__put_text(&writer, "last_denial", arcp_buf_span(&s->denied));
    put_members(&writer, &s->view.json, of_view, sizeof of_view / sizeof *of_view);
    arcp_buf_append_cstr(out, ",\"children\":[");
    arcp_buf_append(out, arcp_buf_span(&s->children));
    arcp_buf_append_cstr(out, "]");
    arcp_json_end_object(&writer);
}

/* ---- for people ---- */

static void append_line(arcp_buf *out, const char *label, arcp_span text)
{
    if (text.size != 0) {
        arcp__append_cell(out, arcp_span_cstr(label), LABEL_COLUMNS, false);
        arcp__append_safe(out, text, 4096);
        arcp_buf_append_byte(out, '\n');
    }
}

/* " (exact)": how the sandbox of the job enforces a line of its lease; nothing without one. */
static void append_verdict(const arcp_json *enforcement, arcp_span capability, arcp_span pattern,
                           arcp_buf *out)
{
    const arcp_json_ref lines =
        arcp_json_member(enforcement, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("lines"));
    for (arcp_json_ref at = arcp_json_first(enforcement, lines); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(enforcement, lines, at)) {
        arcp_buf room = arcp_buf_init();
        if (arcp_json_string_equals(
                enforcement, arcp_json_member(enforcement, at, ARCP_SPAN_LITERAL("capability")),
                capability) &&
            arcp_json_string_equals(enforcement,
                                    arcp_json_member(enforcement, at, ARCP_SPAN_LITERAL("pattern")),
                                    pattern)) {
            const arcp_span verdict = arcp_json_string(
                enforcement, arcp_json_member(enforcement, at, ARCP_SPAN_LITERAL("verdict")),
                &room);
            arcp_buf_append_cstr(out, " (");
            arcp_buf_append(out, verdict);
            arcp_buf_append_cstr(out, ")");
            arcp_buf_fini(&room);
            return;
        }
        arcp_buf_fini(&room);
    }
}

static void append_lease(const shown *s, const arcp_json *json, arcp_buf *out)
{
    const arcp_json_ref lease = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("lease"));
    arcp_json enforcement = ARCP__JSON_INIT;
    const bool has_verdicts =
        s->enforcement.size != 0 &&
        arcp_json_scan(&enforcement, arcp_buf_span(&s->enforcement), NULL, NULL) == ARCP_OK;
    const char *label = "lease";
    for (arcp_json_ref name = arcp_json_first(json, lease); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(json, lease, name)) {
        arcp_buf room = arcp_buf_init();
        const arcp_span capability = arcp_json_string(json, name, &room);
        for (arcp_json_ref at = arcp_json_first(json, name + 1); at != ARCP_JSON_ABSENT;
             at = arcp_json_next(json, name + 1, at)) {
            arcp_buf line = arcp_buf_init();
            const arcp_span pattern = arcp_json_string(json, at, &room);
            arcp_buf_append(&line, capability);
            arcp_buf_append_byte(&line, ' ');
            arcp_buf_append(&line, pattern);
            if (has_verdicts) {
                append_verdict(&enforcement, capability, pattern, &line);
            }
            append_line(out, label, arcp_buf_span(&line));
            label = "";
            arcp_buf_fini(&line);
        }
        arcp_buf_fini(&room);
    }
    arcp__json_fini(&enforcement);
}

static void append_children(const shown *s, arcp_buf *out)
{
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf text = arcp_buf_init();
    const char *label = "children";
    arcp_buf_append_byte(&text, '[');
    arcp_buf_append(&text, arcp_buf_span(&s->children));
    arcp_buf_append_byte(&text, ']');
    if (arcp_json_scan(&json, arcp_buf_span(&text), NULL, NULL) == ARCP_OK) {
        for (arcp_json_ref at = arcp_json_first(&json, ARCP_JSON_ROOT); at != ARCP_JSON_ABSENT;
             at = arcp_json_next(&json, ARCP_JSON_ROOT, at)) {
            arcp_buf line = arcp_buf_init();
            arcp_buf room = arcp_buf_init();
            arcp_buf_append(
                &line, arcp_json_string(
                           &json, arcp_json_member(&json, at, ARCP_SPAN_LITERAL("job_id")), &room));
            arcp_buf_append_byte(&line, ' ');
            arcp_buf_append(
                &line, arcp_json_string(
                           &json, arcp_json_member(&json, at, ARCP_SPAN_LITERAL("agent")), &room));
            append_line(out, label, arcp_buf_span(&line));
            label = "";
            arcp_buf_fini(&line);
            arcp_buf_fini(&room);
        }
    }
    if (s->child_count > CHILDREN_MAX) {
        arcp_buf_append_format(out, "%*s %zu more\n", LABEL_COLUMNS, "",
                               s->child_count - CHILDREN_MAX);
    }
    arcp_buf_fini(&text);
    arcp__json_fini(&json);
}

/* What helps against an error, by its code. */
static const char *advice_of(arcp_span code, bool retryable)
{
    static const char *const rows[][2] = {
        {"TIMEOUT", "give it more time: arcp submit --timeout"},
        {"LEASE_EXPIRED", "give its lease more time: arcp submit --expires-in"},
        {"BUDGET_EXHAUSTED", "give it a larger budget: arcp submit --budget"},
        {"PERMISSION_DENIED", "grant what it needs: arcp submit --grant"},
        {"LEASE_SUBSET_VIOLATION", "grant the parent what it delegates: arcp submit --grant"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (arcp_span_equal_cstr(code, rows[i][0])) {
            return rows[i][1];
        }
    }
    return retryable ? "the runtime says that another attempt may succeed: arcp submit --retry"
                     : "";
}

static void append_error(const arcp_json *end, arcp_buf *out)
{
    const arcp_json_ref retryable =
        arcp_json_member(end, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("retryable"));
    arcp_buf line = arcp_buf_init();
    arcp_buf code = arcp_buf_init();
    append_text_member(end, "code", "", &code);
    arcp_buf_append(&line, arcp_buf_span(&code));
    append_text_member(end, "message", ": ", &line);
    if (code.size != 0) {
        append_line(out, "error", arcp_buf_span(&line));
        append_line(out, "advice",
                    arcp_span_cstr(advice_of(arcp_buf_span(&code),
                                             arcp_json_is(end, retryable, ARCP_JSON_TRUE))));
    }
    arcp_buf_fini(&line);
    arcp_buf_fini(&code);
}

static void append_expiry(const arcp_json *descriptor, arcp_buf *out)
{
    arcp_buf room = arcp_buf_init();
    const arcp_json_ref constraints =
        arcp_json_member(descriptor, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("lease_constraints"));
    append_line(
        out, "expires",
        arcp_json_string(descriptor,
                         arcp_json_member(descriptor, constraints, ARCP_SPAN_LITERAL("expires_at")),
                         &room));
    arcp_buf_fini(&room);
}

/* What the program of a running job uses: "pid 4711, CPU 0.3s, memory 1544K, silent for 12.0s". */
static void append_program(const shown *s, arcp_buf *out)
{
    uint64_t pid = 0;
    uint64_t amount = 0;
    arcp_buf text = arcp_buf_init();
    if (arcp__asked_number(&s->view, ARCP_JSON_ROOT, "pid", &pid)) {
        arcp_buf_append_format(&text, "pid %llu", (unsigned long long)pid);
    }
    if (arcp__asked_number(&s->view, ARCP_JSON_ROOT, "cpu_ms", &amount)) {
        arcp_buf_append_cstr(&text, text.size == 0 ? "CPU " : ", CPU ");
        arcp__append_ms(amount, &text);
    }
    if (arcp__asked_number(&s->view, ARCP_JSON_ROOT, "memory_bytes", &amount)) {
        arcp_buf_append_cstr(&text, ", memory ");
        arcp__append_bytes(amount, &text);
    }
    if (arcp__asked_number(&s->view, ARCP_JSON_ROOT, "silent_for_ms", &amount)) {
        arcp_buf_append_cstr(&text, text.size == 0 ? "silent for " : ", silent for ");
        arcp__append_ms(amount, &text);
    }
    append_line(out, "program", arcp_buf_span(&text));
    out->failed = out->failed || text.failed;
    arcp_buf_fini(&text);
}

static void append_table(shown *s, const arcp_json *descriptor, const arcp_json *end, arcp_buf *out)
{
    const bool has_ended = s->end.size != 0;
    arcp__job_facts facts;
    arcp_buf text = arcp_buf_init();
    uint64_t place = 0;
    arcp__job_facts_read(descriptor, &facts);
    append_line(out, "job", s->id);
    append_line(out, "agent", facts.agent);
    if (s->has_role) {
        append_line(out, "principal", arcp__asked_text(&s->view, ARCP_JSON_ROOT, "principal"));
    }
    if (!has_ended && arcp__asked_number(&s->view, ARCP_JSON_ROOT, "queue_place", &place)) {
        arcp_buf_append_format(&text, "pending, place %llu in the queue of its agent",
                               (unsigned long long)place);
    }
    append_line(out, "status",
                has_ended        ? arcp_buf_span(&s->outcome)
                : text.size != 0 ? arcp_buf_span(&text)
                                 : arcp_buf_span(&facts.shown_status));
    arcp_buf_clear(&text);
    append_line(out, "created", arcp_buf_span(&s->created_at));
    append_line(out, "started", arcp_span_cstr(s->closing.started_at));
    if (has_ended) {
        append_text_member(end, "completed_at", "", &text);
        append_line(out, "ended", arcp_buf_span(&text));
        append_error(end, out);
    } else {
        append_program(s, out);
    }
    arcp_buf_append_cstr(&s->input, s->is_input_cut ? " (the beginning)" : "");
    append_line(out, "input", arcp_buf_span(&s->input));
    append_line(out, "progress", arcp_buf_span(&s->progress));
    append_line(out, "parent", facts.parent_job_id);
    append_children(s, out);
    append_line(out, "trace", facts.trace_id);
    append_expiry(descriptor, out);
    append_line(out, "spent", arcp_buf_span(&facts.cost));
    append_lease(s, descriptor, out);
    if (s->denial_count != 0) {
        arcp_buf_clear(&text);
        arcp_buf_append_format(&text, "%llu, the last one ", (unsigned long long)s->denial_count);
        arcp_buf_append(&text, arcp_buf_span(&s->denied));
        append_line(out, "denials", arcp_buf_span(&text));
    }
    arcp_buf_fini(&text);
    arcp__job_facts_fini(&facts);
}

static bool print(shown *s)
{
    const arcp_json_limits limits = {64, 10000, UINT32_MAX};
    arcp_json descriptor = ARCP__JSON_INIT;
    arcp_json end = ARCP__JSON_INIT;
    arcp_buf text = arcp_buf_init();
    arcp_buf json = arcp_buf_init();
    const bool is_read =
        arcp_json_scan(&descriptor, arcp_buf_span(&s->descriptor), &limits, NULL) == ARCP_OK &&
        (s->end.size == 0 ||
         arcp_json_scan(&end, arcp_buf_span(&s->end), &limits, NULL) == ARCP_OK);
    if (!is_read) {
        text.failed = true; /* the runtime's JSON was valid: only memory can have run out */
    } else if (s->format == ARCP__FORMAT_NAME) {
        arcp__append_safe(&text, s->id, 256);
        arcp_buf_append_byte(&text, '\n');
    } else if (s->format == ARCP__FORMAT_TABLE) {
        append_table(s, &descriptor, &end, &text);
    } else {
        append_json(s, &descriptor, &end, &json);
    }
    if (is_read && s->format == ARCP__FORMAT_JSON) {
        arcp_buf_append(&text, arcp_buf_span(&json));
        arcp_buf_append_byte(&text, '\n');
    } else if (s->format == ARCP__FORMAT_YAML) {
        json.failed =
            json.failed || arcp_json_scan(&end, arcp_buf_span(&json), &limits, NULL) != ARCP_OK;
        arcp__append_yaml(&end, false, &text);
    }
    text.failed = text.failed || json.failed;
    arcp_buf_fini(&json);
    arcp__json_fini(&descriptor);
    arcp__json_fini(&end);
    return s->format == ARCP__FORMAT_TABLE ? arcp__program_print_text(s->program, &text)
                                           : arcp__program_print_buf(s->program, &text);
}

/* ---- the command ---- */

static int show(arcp__program *program, arcp_client *client, void *user)
{
    shown *s = user;
    arcp_error err = {.details = &program->error_details};
    const arcp_list_options options = arcp_list_options_init();
    arcp_buf id = arcp_buf_init();
    int exit_status = ARCP__EXIT_SUCCESS;
    if (!arcp__job_resolve(program, client, program->arguments.words[0], &id, &exit_status)) {
        arcp_buf_fini(&id);
        return exit_status;
    }
    s->id = arcp_buf_span(&id);
    s->has_role = arcp__sees_all(client);
    const arcp__history history = {
        .client = client, .id = s->id, .opened = on_opened, .event = on_event, .user = s};
    arcp_status status = arcp__history_read(&history, &err);
    if (status == ARCP_OK && arcp__has_view(client)) {
        status = read_view(s, client, &err);
    } else if (status == ARCP_OK &&
               (arcp_client_features(client) & ARCP_FEATURE_BIT(ARCP_FEATURE_LIST_JOBS)) != 0) {
        status = arcp__jobs_each(client, &options, take_row, s, &err);
    }
    if (status != ARCP_OK) {
        exit_status = arcp__program_fail(program, &err);
    } else if (!print(s)) {
        exit_status = ARCP__EXIT_ERROR;
    }
    arcp_buf_fini(&id);
    return exit_status;
}

int arcp__command_show(arcp__program *program)
{
    shown s = {.program = program, .view = {.json = ARCP__JSON_INIT}};
    arcp_error err = {0};
    const int exit_status =
        arcp__format_read(program, ARCP__OPTION_SHOW_OUTPUT, &s.format, &err) == ARCP_OK
            ? arcp__program_request(program, show, &s)
            : arcp__program_usage(program, &err);
    arcp__asked_fini(&s.view);
    arcp_buf *const texts[] = {&s.created_at, &s.descriptor, &s.enforcement, &s.children, &s.denied,
                               &s.progress,   &s.end,        &s.outcome,     &s.input};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        arcp_buf_fini(texts[i]);
    }
    return exit_status;
}
