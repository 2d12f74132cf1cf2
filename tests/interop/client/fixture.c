#include "fixture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void fixture_begin(fixture *f, const char *url, const char *token, const char *scenario)
{
    *f = (fixture){.url = url, .token = token, .scenario = scenario};
    (void)snprintf(f->folder, sizeof f->folder, "/tmp/arcp-interop-XXXXXX");
    if (mkdtemp(f->folder) == NULL) {
        perror("mkdtemp");
        exit(2);
    }
    (void)snprintf(f->gate, sizeof f->gate, "%s/gate", f->folder);
}

void fixture_end(fixture *f)
{
    fixture_open_gate(f); /* lets waiting agents end */
    for (size_t i = 0; i < f->job_count; i++) {
        arcp_job_unref(f->jobs[i]);
    }
    for (size_t i = 0; i < f->client_count; i++) {
        arcp_client_close(f->clients[i]);
        arcp_client_free(f->clients[i]);
    }
    usleep(100000); /* an agent checks for the gate every 10 ms */
    (void)unlink(f->gate);
    (void)rmdir(f->folder);
}

bool fixture_gap(fixture *f, const char *format, ...)
{
    if (f->why[0] == '\0') {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(f->why, sizeof f->why, format, arguments);
        va_end(arguments);
    }
    return false;
}

void fixture_open_gate(const fixture *f)
{
    FILE *file = fopen(f->gate, "w");
    if (file != NULL) {
        (void)fclose(file);
    }
}

/* ---- connections ---- */

arcp_client_options fixture_options(const fixture *f)
{
    arcp_client_options options = arcp_client_options_init();
    options.url = arcp_span_cstr(f->url);
    options.token = arcp_span_cstr(f->token);
    options.client_name = arcp_span_cstr(f->scenario); /* the recorded frames of the peer have it */
    options.connect_timeout_ms = DEADLINE_MS;
    options.request_timeout_ms = DEADLINE_MS;
    options.no_reconnect = true;
    return options;
}

arcp_client *fixture_connect(fixture *f, const arcp_client_options *options)
{
    arcp_client *client = NULL;
    if (arcp_client_connect(options, &client, &f->err) != ARCP_OK) {
        (void)fixture_gap(f, "cannot connect: %s", f->err.message);
        return NULL;
    }
    f->clients[f->client_count++] = client;
    return client;
}

arcp_client *fixture_join(fixture *f)
{
    arcp_client_options options = fixture_options(f);
    return fixture_connect(f, &options);
}

void fixture_cut(fixture *f, arcp_client *client)
{
    for (size_t i = 0; i < f->client_count; i++) {
        if (f->clients[i] == client) {
            f->clients[i] = f->clients[--f->client_count];
        }
    }
    arcp_client_free(client);
}

/* ---- jobs ---- */

arcp_job *fixture_keep(fixture *f, arcp_job *job)
{
    f->jobs[f->job_count++] = job;
    return job;
}

arcp_submit_options fixture_submit_options(const char *agent)
{
    arcp_submit_options options = arcp_submit_options_init();
    options.agent = arcp_span_cstr(agent);
    return options;
}

arcp_job *fixture_submit(fixture *f, arcp_client *client, const arcp_submit_options *options)
{
    arcp_job *job = NULL;
    if (client == NULL) {
        return NULL;
    }
    if (arcp_client_submit(client, options, ARCP_WAIT_DEFAULT, &job, &f->err) != ARCP_OK) {
        (void)fixture_gap(f, "%.*s is refused: %s %s", TEXT(options->agent), f->err.code,
                          f->err.message);
        return NULL;
    }
    return fixture_keep(f, job);
}

arcp_job *fixture_start(fixture *f, arcp_client *client, const char *agent, const char *input)
{
    arcp_submit_options options = fixture_submit_options(agent);
    options.input = arcp_span_cstr(input);
    return fixture_submit(f, client, &options);
}

arcp_job *fixture_start_gated(fixture *f, arcp_client *client)
{
    arcp_buf storage = arcp_buf_init();
    arcp_submit_options options = fixture_submit_options("gated");
    arcp_buf_append_cstr(&storage, "{\"gate\":");
    arcp_json_quote(arcp_span_cstr(f->gate), &storage);
    arcp_buf_append_cstr(&storage, "}");
    options.input = arcp_buf_span(&storage);
    arcp_job *job = fixture_submit(f, client, &options);
    const bool waits = fixture_event(f, job, ARCP_EVENT_PROGRESS) != NULL;
    arcp_buf_fini(&storage);
    return waits ? job : NULL;
}

bool fixture_is_refused(fixture *f, arcp_client *client, const arcp_submit_options *options,
                        arcp_status code)
{
    if (client == NULL) {
        return false;
    }
    arcp_job *job = NULL;
    const arcp_status status =
        arcp_client_submit(client, options, ARCP_WAIT_DEFAULT, &job, &f->err);
    arcp_job_unref(job);
    return status == code || fixture_gap(f, "a submit gave %s, not %s", arcp_status_text(status),
                                         arcp_status_wire_code(code));
}

arcp_job_page *fixture_list(fixture *f, arcp_client *client, const arcp_list_options *options)
{
    arcp_job_page *page = NULL;
    if (arcp_client_list(client, options, ARCP_WAIT_DEFAULT, &page, &f->err) != ARCP_OK) {
        (void)fixture_gap(f, "cannot list: %s", f->err.message);
        return NULL;
    }
    return page;
}

const arcp_event_body *fixture_event(fixture *f, arcp_job *job, arcp_event_kind kind)
{
    while (job != NULL) {
        const arcp_client_event *event = NULL;
        if (arcp_job_next_event(job, DEADLINE_MS, &event, &f->err) != ARCP_OK) {
            (void)fixture_gap(f, "no %s event came", arcp_event_kind_name(kind));
            return NULL;
        }
        if (event->type == ARCP_CLIENT_JOB_ENDED) {
            (void)fixture_gap(f, "the job ended without a %s event", arcp_event_kind_name(kind));
            return NULL;
        }
        if (event->type == ARCP_CLIENT_JOB_EVENT && event->kind == kind) {
            const arcp_event_body *body = arcp_client_event_body(event);
            if (body->kind != kind) {
                (void)fixture_gap(f, "the event has no body");
                return NULL;
            }
            return body;
        }
    }
    return NULL;
}

const arcp_outcome *fixture_outcome(fixture *f, arcp_job *job)
{
    const arcp_outcome *outcome = NULL;
    if (job == NULL) {
        return NULL;
    }
    if (arcp_job_wait(job, DEADLINE_MS, &outcome, &f->err) != ARCP_OK) {
        (void)fixture_gap(f, "the job does not end: %s", f->err.message);
        return NULL;
    }
    return outcome;
}

static bool canonical(arcp_span text, arcp_buf *out)
{
    arcp_json *json = arcp_json_new();
    const bool is_json = json != NULL && arcp_json_scan(json, text, NULL, NULL) == ARCP_OK &&
                         arcp_json_canonical(json, ARCP_JSON_ROOT, out, NULL) == ARCP_OK;
    arcp_json_free(json);
    return is_json;
}

bool fixture_results_in(fixture *f, arcp_job *job, const char *result)
{
    const arcp_outcome *outcome = fixture_outcome(f, job);
    if (outcome == NULL) {
        return false;
    }
    arcp_buf wanted = arcp_buf_init();
    arcp_buf got = arcp_buf_init();
    const bool same = outcome->status == ARCP_OK && canonical(arcp_span_cstr(result), &wanted) &&
                      canonical(outcome->result, &got) &&
                      arcp_span_equal(arcp_buf_span(&wanted), arcp_buf_span(&got));
    arcp_buf_fini(&wanted);
    arcp_buf_fini(&got);
    return same || fixture_gap(f, "the job ended with %.*s", TEXT(outcome->payload));
}

bool fixture_fails_with(fixture *f, arcp_job *job, arcp_status code)
{
    const arcp_outcome *outcome = fixture_outcome(f, job);
    return outcome != NULL && (outcome->status == code ||
                               fixture_gap(f, "the job ended with %.*s", TEXT(outcome->payload)));
}

bool fixture_is_alive(fixture *f, arcp_client *client)
{
    static const char input[] = "{\"alive\":true}";
    return fixture_results_in(f, fixture_start(f, client, "echo", input), input);
}
