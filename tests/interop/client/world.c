#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void world_begin(world *w, const char *url, const char *token, const char *scenario)
{
    *w = (world){.url = url, .token = token, .scenario = scenario};
    (void)snprintf(w->folder, sizeof w->folder, "/tmp/arcp-interop-XXXXXX");
    if (mkdtemp(w->folder) == NULL) {
        perror("mkdtemp");
        exit(2);
    }
    (void)snprintf(w->gate, sizeof w->gate, "%s/gate", w->folder);
}

void world_end(world *w)
{
    world_open_gate(w); /* lets waiting agents end */
    for (size_t i = 0; i < w->job_count; i++) {
        arcp_job_unref(w->jobs[i]);
    }
    for (size_t i = 0; i < w->client_count; i++) {
        arcp_client_close(w->clients[i]);
        arcp_client_free(w->clients[i]);
    }
    usleep(100000); /* an agent checks for the gate every 10 ms */
    (void)unlink(w->gate);
    (void)rmdir(w->folder);
}

bool world_gap(world *w, const char *format, ...)
{
    if (w->why[0] == '\0') {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(w->why, sizeof w->why, format, arguments);
        va_end(arguments);
    }
    return false;
}

void world_open_gate(const world *w)
{
    FILE *file = fopen(w->gate, "w");
    if (file != NULL) {
        (void)fclose(file);
    }
}

/* ---- connections ---- */

arcp_client_options world_options(const world *w)
{
    arcp_client_options options = arcp_client_options_init();
    options.url = arcp_span_cstr(w->url);
    options.token = arcp_span_cstr(w->token);
    options.client_name = arcp_span_cstr(w->scenario); /* the recorded frames of the peer have it */
    options.connect_timeout_ms = DEADLINE_MS;
    options.request_timeout_ms = DEADLINE_MS;
    options.no_reconnect = true;
    return options;
}

arcp_client *world_connect(world *w, const arcp_client_options *options)
{
    arcp_client *client = NULL;
    if (arcp_client_connect(options, &client, &w->err) != ARCP_OK) {
        (void)world_gap(w, "cannot connect: %s", w->err.message);
        return NULL;
    }
    w->clients[w->client_count++] = client;
    return client;
}

arcp_client *world_join(world *w)
{
    arcp_client_options options = world_options(w);
    return world_connect(w, &options);
}

void world_cut(world *w, arcp_client *client)
{
    for (size_t i = 0; i < w->client_count; i++) {
        if (w->clients[i] == client) {
            w->clients[i] = w->clients[--w->client_count];
        }
    }
    arcp_client_free(client);
}

/* ---- jobs ---- */

arcp_job *world_keep(world *w, arcp_job *job)
{
    w->jobs[w->job_count++] = job;
    return job;
}

arcp_submit_options world_ask(const char *agent)
{
    arcp_submit_options options = arcp_submit_options_init();
    options.agent = arcp_span_cstr(agent);
    return options;
}

arcp_job *world_submit(world *w, arcp_client *client, const arcp_submit_options *options)
{
    arcp_job *job = NULL;
    if (client == NULL) {
        return NULL;
    }
    if (arcp_client_submit(client, options, ARCP_WAIT_DEFAULT, &job, &w->err) != ARCP_OK) {
        (void)world_gap(w, "%.*s is refused: %s %s", TEXT(options->agent), w->err.code,
                        w->err.message);
        return NULL;
    }
    return world_keep(w, job);
}

arcp_job *world_start(world *w, arcp_client *client, const char *agent, const char *input)
{
    arcp_submit_options options = world_ask(agent);
    options.input = arcp_span_cstr(input);
    return world_submit(w, client, &options);
}

arcp_job *world_start_gated(world *w, arcp_client *client)
{
    arcp_buf storage = arcp_buf_init();
    arcp_submit_options options = world_ask("gated");
    arcp_buf_append_cstr(&storage, "{\"gate\":");
    arcp_json_quote(arcp_span_cstr(w->gate), &storage);
    arcp_buf_append_cstr(&storage, "}");
    options.input = arcp_buf_span(&storage);
    arcp_job *job = world_submit(w, client, &options);
    const bool waits = world_event(w, job, ARCP_EVENT_PROGRESS) != NULL;
    arcp_buf_fini(&storage);
    return waits ? job : NULL;
}

bool world_is_refused(world *w, arcp_client *client, const arcp_submit_options *options,
                      arcp_status code)
{
    if (client == NULL) {
        return false;
    }
    arcp_job *job = NULL;
    const arcp_status status =
        arcp_client_submit(client, options, ARCP_WAIT_DEFAULT, &job, &w->err);
    arcp_job_unref(job);
    return status == code || world_gap(w, "a submit gave %s, not %s", arcp_status_text(status),
                                       arcp_status_wire_code(code));
}

arcp_job_page *world_list(world *w, arcp_client *client, const arcp_list_options *options)
{
    arcp_job_page *page = NULL;
    if (arcp_client_list(client, options, ARCP_WAIT_DEFAULT, &page, &w->err) != ARCP_OK) {
        (void)world_gap(w, "cannot list: %s", w->err.message);
        return NULL;
    }
    return page;
}

const arcp_event_body *world_event(world *w, arcp_job *job, arcp_event_kind kind)
{
    while (job != NULL) {
        const arcp_client_event *event = NULL;
        if (arcp_job_next_event(job, DEADLINE_MS, &event, &w->err) != ARCP_OK) {
            (void)world_gap(w, "no %s event came", arcp_event_kind_name(kind));
            return NULL;
        }
        if (event->type == ARCP_CLIENT_JOB_ENDED) {
            (void)world_gap(w, "the job ended without a %s event", arcp_event_kind_name(kind));
            return NULL;
        }
        if (event->type == ARCP_CLIENT_JOB_EVENT && event->kind == kind) {
            const arcp_event_body *body = arcp_client_event_body(event);
            if (body->kind != kind) {
                (void)world_gap(w, "the event has no body");
                return NULL;
            }
            return body;
        }
    }
    return NULL;
}

const arcp_outcome *world_outcome(world *w, arcp_job *job)
{
    const arcp_outcome *outcome = NULL;
    if (job == NULL) {
        return NULL;
    }
    if (arcp_job_wait(job, DEADLINE_MS, &outcome, &w->err) != ARCP_OK) {
        (void)world_gap(w, "the job does not end: %s", w->err.message);
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

bool world_results_in(world *w, arcp_job *job, const char *result)
{
    const arcp_outcome *outcome = world_outcome(w, job);
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
    return same || world_gap(w, "the job ended with %.*s", TEXT(outcome->payload));
}

bool world_fails_with(world *w, arcp_job *job, arcp_status code)
{
    const arcp_outcome *outcome = world_outcome(w, job);
    return outcome != NULL && (outcome->status == code ||
                               world_gap(w, "the job ended with %.*s", TEXT(outcome->payload)));
}

bool world_is_alive(world *w, arcp_client *client)
{
    static const char input[] = "{\"alive\":true}";
    return world_results_in(w, world_start(w, client, "echo", input), input);
}
