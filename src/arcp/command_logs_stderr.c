/* `arcp logs --stderr`: the standard error of the job's agent, as far as the runtime keeps it. */
#include "arcp/command.h"
#include "arcp/operator.h"
#include "json/json_put.h"

#define PAGE_LINES 1000
/* The runtime does not report lines of standard error: it is asked for them so often. */
#define LOOK_MS 500

typedef struct errors {
    arcp__program *program;
    arcp_client *client;
    arcp_span id;
    uint64_t after; /* the number of the last line that was printed or skipped */
    uint64_t lines; /* that the agent has written */
    bool has_ended;
} errors;

static arcp_status ask(const errors *e, uint64_t after, uint64_t lines, arcp__asked *out,
                       arcp_error *err)
{
    arcp_buf payload = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&payload);
    arcp__put_string(&writer, "job_id", e->id);
    arcp__put_u64(&writer, "lines", lines);
    arcp__put_u64(&writer, "after", after);
    arcp_json_end_object(&writer);
    const arcp_status status = arcp__ask_buf(e->client, "stderr", &payload, out, err);
    arcp_buf_fini(&payload);
    return status;
}

static bool print_line(const errors *e, uint64_t number, arcp_span text)
{
    arcp_buf line = arcp_buf_init();
    if (e->program->is_json) {
        arcp_json_writer writer = arcp__put_begin(&line);
        arcp__put_string(&writer, "job_id", e->id);
        arcp__put_u64(&writer, "line", number);
        arcp__put_string(&writer, "text", text);
        arcp_json_end_object(&writer);
        return arcp__program_print_buf_line(e->program, &line);
    }
    return arcp__program_print_line(e->program, text);
}

/* Prints what came behind the last line, and says how many lines are missing before it. */
static bool print_page(errors *e, const arcp__asked *page)
{
    arcp_buf room = arcp_buf_init();
    uint64_t first = 1;
    bool is_printed = true;
    arcp_span text = arcp_json_string(
        &page->json, arcp_json_member(&page->json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("text")),
        &room);
    (void)arcp__asked_number(page, ARCP_JSON_ROOT, "first_line", &first);
    (void)arcp__asked_number(page, ARCP_JSON_ROOT, "lines", &e->lines);
    const uint64_t missing = first > e->after + 1 ? first - e->after - 1 : 0;
    if (missing != 0 && !e->program->is_quiet) {
        arcp__program_say(e->program,
                          "%llu line%s not kept: of an agent that runs the last 64 KiB are, of one "
                          "that has exited the last 4 KiB",
                          (unsigned long long)missing, missing == 1 ? " is" : "s are");
    }
    e->after += missing;
    while (text.size != 0 && is_printed) {
        const char *end = memchr(text.data, '\n', text.size);
        const size_t size = end == NULL ? text.size : (size_t)(end - text.data);
        is_printed = print_line(e, ++e->after, arcp_span_first(text, size));
        text = arcp_span_from(text, end == NULL ? size : size + 1);
    }
    arcp_buf_fini(&room);
    return is_printed;
}

/* Prints what there is. False: standard output is closed, or an error. */
static bool print_new(errors *e, int *exit_status)
{
    arcp_error err = {.details = &e->program->error_details};
    bool goes_on = true;
    do {
        arcp__asked page;
        const uint64_t before = e->after;
        if (ask(e, e->after, PAGE_LINES, &page, &err) != ARCP_OK) {
            *exit_status = arcp__program_fail(e->program, &err);
            goes_on = false;
        } else {
            const arcp_job_status status =
                arcp_job_status_from_wire(arcp__asked_text(&page, ARCP_JSON_ROOT, "status"));
            goes_on = print_page(e, &page);
            /* What was written between two looks at a job that had ended is the rest. */
            e->has_ended = arcp_job_status_is_terminal(status);
            *exit_status = goes_on ? *exit_status : ARCP__EXIT_ERROR;
            if (e->after == before) {
                arcp__asked_fini(&page);
                return goes_on;
            }
        }
        arcp__asked_fini(&page);
    } while (goes_on && e->after < e->lines);
    return goes_on;
}

/* The agent may write after its job has ended, until it exits: two looks without a new line. */
static bool follow(errors *e, int *exit_status)
{
    unsigned quiet_looks = 0;
    while (quiet_looks < 2) {
        const uint64_t before = e->after;
        const arcp_client_event *event = NULL;
        arcp_error err = {.details = &e->program->error_details};
        const arcp_status status = arcp_client_next_event(e->client, LOOK_MS, &event, &err);
        if (status == ARCP_OK) {
            continue; /* nothing that is printed */
        }
        if (status != ARCP_E_DEADLINE) {
            *exit_status = arcp__program_fail(e->program, &err);
            return false;
        }
        if (!print_new(e, exit_status)) {
            return false;
        }
        quiet_looks = e->has_ended && e->after == before ? quiet_looks + 1 : 0;
    }
    return true;
}

int arcp__logs_stderr(arcp__program *program, arcp_client *client, arcp_span id, bool follows,
                      const uint64_t *tail)
{
    errors e = {.program = program, .client = client, .id = id};
    arcp_error err = {.details = &program->error_details};
    int exit_status = ARCP__EXIT_SUCCESS;
    if (tail != NULL) {
        arcp__asked last;
        const arcp_status status = ask(&e, 0, 1, &last, &err);
        if (status == ARCP_OK) {
            (void)arcp__asked_number(&last, ARCP_JSON_ROOT, "lines", &e.lines);
            e.after = e.lines > *tail ? e.lines - *tail : 0;
        }
        arcp__asked_fini(&last);
        if (status != ARCP_OK) {
            return arcp__program_fail(program, &err);
        }
    }
    if (print_new(&e, &exit_status) && follows && !e.has_ended) {
        (void)follow(&e, &exit_status);
    }
    if (exit_status == ARCP__EXIT_SUCCESS && e.lines == 0 && !program->is_quiet) {
        arcp__program_say(program,
                          "no standard error is kept: the agent has written none, or arcpd "
                          "was started again since");
    }
    return exit_status;
}
