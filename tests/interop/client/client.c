/* libarcp-client through the scenarios of tests/interop.
 *
 *   interop-client URL TOKEN SCENARIO...
 *
 * Prints for each scenario one line of JSON: its name, whether it works, and if not why. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "world.h"

/* ---- sessions ---- */

static void note_greet(void *user, const arcp_agent_row *agent)
{
    bool *found = user;
    *found = *found || (arcp_span_equal_cstr(agent->name, "greet") &&
                        arcp_span_equal_cstr(agent->default_version, "2.0.0"));
}

static bool hello(world *w)
{
    arcp_client *client = world_join(w);
    if (client == NULL) {
        return false;
    }
    bool found = false;
    if ((arcp_client_features(client) & ARCP_FEATURE_BIT(ARCP_FEATURE_SUBSCRIBE)) == 0) {
        return world_gap(w, "subscribe was not negotiated");
    }
    if (arcp_client_agents(client, note_greet, &found, &w->failure.error) != ARCP_OK || !found) {
        return world_gap(w, "the inventory of agents has no default version");
    }
    arcp_client_options options = world_options(w);
    if (arcp_span_starts_with(options.url, ARCP_SPAN_LITERAL("stdio:"))) {
        return true; /* who starts a runtime is trusted by it */
    }
    options.token = ARCP_SPAN_LITERAL("wrong");
    arcp_client *stranger = NULL;
    arcp_status status = arcp_client_connect(&options, &stranger, &w->failure);
    arcp_client_free(stranger);
    return status == ARCP_E_UNAUTHENTICATED ||
           world_gap(w, "a wrong token gave %s", w->failure.error.message);
}

static bool ack(world *w)
{
    arcp_client_options options = world_options(w);
    options.manual_ack = true;
    arcp_client *client = world_connect(w, &options);
    arcp_buf storage = ARCP_BUF_INIT;
    arcp_submit_options submit = ARCP_SUBMIT_OPTIONS_INIT;
    submit.agent = ARCP_SPAN_LITERAL("gated");
    submit.input = world_gate_input(w, &storage);
    arcp_job *job = client == NULL ? NULL : world_submit(w, client, &submit);
    arcp_event_view view = ARCP_EVENT_VIEW_INIT;
    bool works = job != NULL && world_event(w, job, ARCP_EVENT_PROGRESS, &view);
    if (works && arcp_client_ack(client, 1, &w->failure.error) != ARCP_OK) {
        works = world_gap(w, "cannot acknowledge: %s", w->failure.error.message);
    }
    world_open_gate(w);
    arcp_event_view_fini(&view);
    arcp_buf_fini(&storage);
    return works && world_results_in(w, job, "\"open\"") && world_is_alive(w, client);
}

static bool heartbeat(world *w)
{
    arcp_client *client = world_join(w); /* one that does not come back by itself */
    if (client == NULL) {
        return false;
    }
    usleep(2500000); /* the interval is 1 s */
    if (arcp_client_ping(client, DEADLINE_MS, NULL, &w->failure) != ARCP_OK) {
        return world_gap(w, "no pong: %s", w->failure.error.message);
    }
    return world_is_alive(w, client);
}

static bool close_session(world *w)
{
    arcp_client *client = world_join(w);
    arcp_client *other = client == NULL ? NULL : world_join(w);
    arcp_buf storage = ARCP_BUF_INIT;
    arcp_submit_options submit = ARCP_SUBMIT_OPTIONS_INIT;
    submit.agent = ARCP_SPAN_LITERAL("gated");
    submit.input = world_gate_input(w, &storage);
    arcp_job *job = other == NULL ? NULL : world_submit(w, client, &submit);
    arcp_event_view view = ARCP_EVENT_VIEW_INIT;
    bool works = job != NULL && world_event(w, job, ARCP_EVENT_PROGRESS, &view);
    arcp_event_view_fini(&view);
    arcp_buf_fini(&storage);
    if (!works) {
        return false;
    }
    arcp_client_close(client);
    world_open_gate(w);
    arcp_list_options list = ARCP_LIST_OPTIONS_INIT;
    list.agent = ARCP_SPAN_LITERAL("gated");
    list.statuses = UINT32_C(1) << ARCP_JOB_SUCCESS;
    for (int tries = 0; tries < DEADLINE_MS / 20; tries++) {
        arcp_job_page *page = NULL;
        if (arcp_client_list(other, &list, ARCP_WAIT_DEFAULT, &page, &w->failure) != ARCP_OK) {
            return world_gap(w, "cannot list: %s", w->failure.error.message);
        }
        bool ended = false;
        for (size_t at = 0; at < arcp_job_page_count(page); at++) {
            ended = ended || arcp_span_equal(arcp_job_page_row(page, at).job_id, arcp_job_id(job));
        }
        arcp_job_page_free(page);
        if (ended) {
            return true;
        }
        usleep(20000);
    }
    return world_gap(w, "the job did not end well after its session was closed");
}

/* ---- jobs ---- */

static bool submit(world *w)
{
    static const char lease[] = "{\"fs.read\":[\"/srv/**\"]}";
    arcp_client *client = world_join(w);
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    options.agent = ARCP_SPAN_LITERAL("echo");
    options.lease = arcp_span_cstr(lease);
    arcp_job *job = client == NULL ? NULL : world_submit(w, client, &options);
    if (job == NULL) {
        return false;
    }
    if (!arcp_span_equal_cstr(arcp_job_agent(job), "echo") ||
        !arcp_span_equal_cstr(arcp_job_lease(job), lease)) {
        return world_gap(w, "accepted as %.*s", TEXT(arcp_job_descriptor(job)));
    }
    return world_outcome(w, job) != NULL;
}

static bool events(world *w)
{
    static const char wanted[] = " log thought tool_call tool_result status metric progress"
                                 " artifact_ref x-vendor.acme.note";
    arcp_client *client = world_join(w);
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    options.agent = ARCP_SPAN_LITERAL("kinds");
    options.lease = ARCP_SPAN_LITERAL("{\"tool.call\":[\"*\"]}");
    arcp_job *job = client == NULL ? NULL : world_submit(w, client, &options);
    if (job == NULL) {
        return false;
    }
    arcp_buf kinds = ARCP_BUF_INIT;
    arcp_event_view view = ARCP_EVENT_VIEW_INIT;
    const arcp_client_event *event = NULL;
    bool bodies = true;
    while (arcp_job_next_event(job, DEADLINE_MS, &event, &w->failure) == ARCP_OK &&
           event->type != ARCP_CLIENT_JOB_ENDED) {
        bodies = bodies && arcp_event_view_read(&view, event, &w->failure.error) == ARCP_OK;
        if (arcp_span_equal_cstr(view.phase, "running")) {
            continue;
        }
        arcp_buf_append_byte(&kinds, ' ');
        arcp_buf_append(&kinds, event->kind_text);
        if (event->kind == ARCP_EVENT_TOOL_CALL) {
            bodies = bodies && arcp_span_equal_cstr(view.tool, "search");
        } else if (event->kind == ARCP_EVENT_METRIC) {
            bodies = bodies && strtod(view.value.data, NULL) == 12.0;
        }
    }
    bool works = bodies && arcp_span_equal_cstr(arcp_buf_span(&kinds), wanted);
    if (!works) {
        (void)world_gap(w, "the events were%.*s", TEXT(arcp_buf_span(&kinds)));
    }
    arcp_event_view_fini(&view);
    arcp_buf_fini(&kinds);
    return works;
}

static bool result(world *w)
{
    static const char value[] = "{\"text\":\"gr\xc3\xbc\xc3\x9f"
                                "e \xf0\x9f\x98\x80\\n\","
                                "\"nested\":[1,-2.5,null,{\"deep\":[true]}]}";
    arcp_client *client = world_join(w);
    arcp_job *job = client == NULL ? NULL : world_start(w, client, "echo", value);
    return job != NULL && world_results_in(w, job, value);
}

static bool error(world *w)
{
    arcp_client *client = world_join(w);
    arcp_job *job = client == NULL ? NULL : world_start(w, client, "fails", "{}");
    return job != NULL && world_fails_with(w, job, ARCP_E_INVALID_REQUEST) &&
           world_is_alive(w, client);
}

static bool refusal(world *w)
{
    arcp_client *client = world_join(w);
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    options.agent = ARCP_SPAN_LITERAL("nobody");
    return client != NULL && world_is_refused(w, client, &options, ARCP_E_AGENT_NOT_AVAILABLE) &&
           world_is_alive(w, client);
}

/* Whether the job ended as `status`, whichever message says so. */
static bool ends_as(world *w, arcp_job *job, arcp_job_status status)
{
    const arcp_outcome *outcome = world_outcome(w, job);
    return outcome != NULL && (outcome->final_status == status ||
                               world_gap(w, "the job ended with %.*s", TEXT(outcome->payload)));
}

static bool cancel(world *w)
{
    arcp_client *client = world_join(w);
    arcp_job *job = client == NULL ? NULL : world_start(w, client, "waits", "{}");
    arcp_event_view view = ARCP_EVENT_VIEW_INIT;
    bool works = job != NULL;
    while (works && !arcp_span_equal_cstr(view.phase, "waiting")) {
        works = world_event(w, job, ARCP_EVENT_STATUS, &view);
    }
    arcp_event_view_fini(&view);
    if (works && arcp_client_cancel(client, arcp_job_id(job), ARCP_SPAN_LITERAL("enough"),
                                    DEADLINE_MS, &w->failure) != ARCP_OK) {
        return world_gap(w, "the cancel is not answered: %s", w->failure.error.message);
    }
    return works && ends_as(w, job, ARCP_JOB_CANCELLED) && world_is_alive(w, client);
}

static bool deadline(world *w)
{
    arcp_client *client = world_join(w);
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    options.agent = ARCP_SPAN_LITERAL("waits");
    options.max_runtime_sec = 1;
    arcp_job *job = client == NULL ? NULL : world_submit(w, client, &options);
    return job != NULL && ends_as(w, job, ARCP_JOB_TIMED_OUT) && world_is_alive(w, client);
}

static bool idempotency(world *w)
{
    arcp_client *client = world_join(w);
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    options.agent = ARCP_SPAN_LITERAL("echo");
    options.input = ARCP_SPAN_LITERAL("{\"n\":1}");
    options.idempotency_key = arcp_span_cstr(w->folder); /* a name of its own */
    arcp_job *one = client == NULL ? NULL : world_submit(w, client, &options);
    if (one == NULL || !world_results_in(w, one, "{\"n\":1}")) {
        return false;
    }
    arcp_job *again = world_submit(w, client, &options);
    if (again == NULL || !world_results_in(w, again, "{\"n\":1}")) {
        return false;
    }
    if (!arcp_span_equal(arcp_job_id(one), arcp_job_id(again))) {
        return world_gap(w, "another job was started");
    }
    options.input = ARCP_SPAN_LITERAL("{\"n\":2}");
    return world_is_refused(w, client, &options, ARCP_E_DUPLICATE_KEY) && world_is_alive(w, client);
}

static bool chunks(world *w)
{
    static const char whole[] = "one two \xff three";
    arcp_client *client = world_join(w);
    arcp_job *job = client == NULL ? NULL : world_start(w, client, "chunks", "{}");
    const arcp_outcome *outcome = job == NULL ? NULL : world_outcome(w, job);
    return outcome != NULL &&
           (arcp_span_equal(outcome->bytes, arcp_span_make(whole, sizeof(whole) - 1)) ||
            world_gap(w, "%llu bytes came: %.*s", (unsigned long long)outcome->streamed_bytes,
                      TEXT(outcome->payload)));
}

static bool versions(world *w)
{
    arcp_client *client = world_join(w);
    arcp_job *plain = client == NULL ? NULL : world_start(w, client, "greet", "{}");
    arcp_job *old = plain == NULL ? NULL : world_start(w, client, "greet@1.0.0", "{}");
    if (old == NULL || !world_results_in(w, plain, "\"hello from 2.0.0\"") ||
        !world_results_in(w, old, "\"hello from 1.0.0\"")) {
        return false;
    }
    if (!arcp_span_equal_cstr(arcp_job_agent(plain), "greet@2.0.0")) {
        return world_gap(w, "greet was accepted as %.*s", TEXT(arcp_job_agent(plain)));
    }
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    options.agent = ARCP_SPAN_LITERAL("greet@9.0.0");
    return world_is_refused(w, client, &options, ARCP_E_AGENT_VERSION_NOT_AVAILABLE);
}

static bool trace(world *w)
{
    static const char traceparent[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    arcp_client *client = world_join(w);
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    options.agent = ARCP_SPAN_LITERAL("echo");
    options.traceparent = arcp_span_cstr(traceparent);
    arcp_job *job = client == NULL ? NULL : world_submit(w, client, &options);
    arcp_span wanted = arcp_span_first(arcp_span_from(options.traceparent, 3), 32);
    return job != NULL && (arcp_span_equal(arcp_job_trace_id(job), wanted) ||
                           world_gap(w, "the trace became %.*s", TEXT(arcp_job_trace_id(job))));
}

/* ---- looking at jobs ---- */

static bool list(world *w)
{
    arcp_client *client = world_join(w);
    for (int at = 0; at < 3; at++) {
        arcp_job *job = client == NULL ? NULL : world_start(w, client, "echo", "{}");
        if (job == NULL || world_outcome(w, job) == NULL) {
            return false;
        }
    }
    size_t seen[3] = {0, 0, 0};
    arcp_buf cursor = ARCP_BUF_INIT;
    arcp_list_options options = ARCP_LIST_OPTIONS_INIT;
    options.agent = ARCP_SPAN_LITERAL("echo");
    options.limit = 2;
    do {
        arcp_job_page *page = NULL;
        options.cursor = arcp_buf_span(&cursor);
        if (arcp_client_list(client, &options, ARCP_WAIT_DEFAULT, &page, &w->failure) != ARCP_OK) {
            arcp_buf_fini(&cursor);
            return world_gap(w, "cannot list: %s", w->failure.error.message);
        }
        for (size_t at = 0; at < arcp_job_page_count(page); at++) {
            arcp_job_row row = arcp_job_page_row(page, at);
            for (size_t job = 0; job < 3; job++) {
                seen[job] += row.status == ARCP_JOB_SUCCESS &&
                             arcp_span_equal(row.job_id, arcp_job_id(w->jobs[job]));
            }
        }
        arcp_buf_clear(&cursor);
        arcp_buf_append(&cursor, arcp_job_page_next_cursor(page));
        arcp_job_page_free(page);
    } while (cursor.size != 0);
    arcp_buf_fini(&cursor);
    return (seen[0] == 1 && seen[1] == 1 && seen[2] == 1) ||
           world_gap(w, "three jobs are listed %zu, %zu and %zu times", seen[0], seen[1], seen[2]);
}

/* A job that has said something and waits; its client in *owner. */
static arcp_job *start_gated(world *w, arcp_client **owner)
{
    arcp_buf storage = ARCP_BUF_INIT;
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    arcp_event_view view = ARCP_EVENT_VIEW_INIT;
    options.agent = ARCP_SPAN_LITERAL("gated");
    options.input = world_gate_input(w, &storage);
    *owner = world_join(w);
    arcp_job *job = *owner == NULL ? NULL : world_submit(w, *owner, &options);
    if (job != NULL && !world_event(w, job, ARCP_EVENT_PROGRESS, &view)) {
        job = NULL;
    }
    arcp_event_view_fini(&view);
    arcp_buf_fini(&storage);
    return job;
}

static bool observe(world *w, bool history)
{
    arcp_client *owner = NULL;
    arcp_job *job = start_gated(w, &owner);
    arcp_client *observer = job == NULL ? NULL : world_join(w);
    if (observer == NULL) {
        return false;
    }
    arcp_subscribe_options options = ARCP_SUBSCRIBE_OPTIONS_INIT;
    options.job_id = arcp_job_id(job);
    options.history = history;
    arcp_job *seen = NULL;
    if (arcp_client_subscribe(observer, &options, ARCP_WAIT_DEFAULT, &seen, &w->failure) !=
        ARCP_OK) {
        return world_gap(w, "cannot subscribe: %s", w->failure.error.message);
    }
    (void)world_keep(w, seen);
    arcp_event_view view = ARCP_EVENT_VIEW_INIT;
    bool works = true;
    for (int next = history ? 1 : 2; works && next <= 3; next++) {
        if (next == 2) {
            world_open_gate(w);
        }
        works = world_event(w, seen, ARCP_EVENT_PROGRESS, &view);
        if (works && view.current.data[0] != '0' + next) {
            works = world_gap(w, "event %.*s came, %d was next", TEXT(view.current), next);
        }
    }
    arcp_event_view_fini(&view);
    return works && world_results_in(w, seen, "\"open\"") && world_is_alive(w, observer);
}

static bool subscribe(world *w)
{
    return observe(w, false);
}

static bool history(world *w)
{
    return observe(w, true);
}

/* ---- coming back ---- */

/* Reads events until the numbers `from` to `to` have come, each once and in order. */
static bool reads_numbers(world *w, arcp_client *client, uint64_t from, uint64_t to)
{
    while (from <= to) {
        const arcp_client_event *event = NULL;
        if (arcp_client_next_event(client, DEADLINE_MS, &event, &w->failure) != ARCP_OK) {
            return world_gap(w, "the next event does not come: %s", w->failure.error.message);
        }
        if (event->event_seq != 0 && event->event_seq != from++) {
            return world_gap(w, "event %llu came, %llu was next",
                             (unsigned long long)event->event_seq, (unsigned long long)from - 1);
        }
    }
    return true;
}

/* Cuts the connection of a job that has sent its first events, and takes the session up again:
 * as it was, or as if nothing had come yet. */
static bool come_back(world *w, bool from_start)
{
    arcp_client *client = NULL;
    arcp_job *job = start_gated(w, &client);
    arcp_buf storage = ARCP_BUF_INIT;
    arcp_client_options options = world_options(w);
    options.observe_all = true;
    if (job == NULL || arcp_client_session_state(client, &storage, &options.resume,
                                                 &w->failure.error) != ARCP_OK) {
        arcp_buf_fini(&storage);
        return world_gap(w, "there is no session to come back to");
    }
    uint64_t seen = options.resume.last_event_seq;
    if (from_start) {
        options.resume.last_event_seq = 0;
    }
    world_cut(w, client);
    if (!from_start) {
        world_open_gate(w);
    }
    client = world_connect(w, &options);
    arcp_buf_fini(&storage);
    if (client == NULL) {
        return false;
    }
    /* Two more pieces of progress, and the result. */
    return from_start ? reads_numbers(w, client, 1, seen)
                      : reads_numbers(w, client, seen + 1, seen + 3);
}

static bool resume(world *w)
{
    return come_back(w, false);
}

static bool replay(world *w)
{
    return come_back(w, true);
}

/* ---- authority ---- */

static bool budget(world *w)
{
    arcp_client *client = world_join(w);
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    options.agent = ARCP_SPAN_LITERAL("spends");
    options.lease = ARCP_SPAN_LITERAL("{\"tool.call\":[\"*\"],\"cost.budget\":[\"USD:1.00\"]}");
    arcp_job *job = client == NULL ? NULL : world_submit(w, client, &options);
    if (job == NULL || !world_fails_with(w, job, ARCP_E_BUDGET_EXHAUSTED)) {
        return false;
    }
    arcp_job_budget counter;
    if (!arcp_job_budget_at(job, 0, &counter) || strtod(counter.initial, NULL) != 1.0) {
        return world_gap(w, "accepted with %.*s", TEXT(arcp_job_descriptor(job)));
    }
    return fabs(strtod(counter.remaining, NULL) + 0.2) < 1e-9 ||
           world_gap(w, "what remained was reported as %s", counter.remaining);
}

static bool expiry(world *w)
{
    char constraints[80];
    struct timespec now;
    struct tm utc;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    time_t soon = now.tv_sec + 1;
    (void)gmtime_r(&soon, &utc);
    size_t size =
        strftime(constraints, sizeof(constraints), "{\"expires_at\":\"%Y-%m-%dT%H:%M:%S.", &utc);
    (void)snprintf(constraints + size, sizeof(constraints) - size, "%03ldZ\"}",
                   now.tv_nsec / 1000000);
    arcp_client *client = world_join(w);
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    options.agent = ARCP_SPAN_LITERAL("waits");
    options.constraints = arcp_span_cstr(constraints);
    arcp_job *job = client == NULL ? NULL : world_submit(w, client, &options);
    return job != NULL && world_fails_with(w, job, ARCP_E_LEASE_EXPIRED) &&
           world_is_alive(w, client);
}

static bool delegation(world *w)
{
    arcp_client *client = world_join(w);
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    options.agent = ARCP_SPAN_LITERAL("delegates");
    options.input = ARCP_SPAN_LITERAL("{\"n\":1}");
    options.lease = ARCP_SPAN_LITERAL("{\"agent.delegate\":[\"*\"]}");
    arcp_job *job = client == NULL ? NULL : world_submit(w, client, &options);
    /* Another submit, while the parent starts its child: each gets its own answer. */
    arcp_job *other = job == NULL ? NULL : world_start(w, client, "echo", "{\"n\":2}");
    arcp_event_view view = ARCP_EVENT_VIEW_INIT;
    bool works = other != NULL && world_event(w, job, ARCP_EVENT_DELEGATE, &view);
    if (works && (view.child_job_id.size == 0 || !arcp_span_equal_cstr(view.agent, "echo"))) {
        works = world_gap(w, "the delegate event names no child");
    }
    arcp_event_view_fini(&view);
    return works && world_results_in(w, job, "{\"n\":1}") &&
           world_results_in(w, other, "{\"n\":2}");
}

static void note_credential(void *user, const arcp_credential *credential)
{
    bool *whole = user;
    *whole = credential->value.size != 0 && credential->endpoint.size != 0;
}

static bool credentials(world *w)
{
    arcp_client *client = world_join(w);
    arcp_submit_options options = ARCP_SUBMIT_OPTIONS_INIT;
    options.agent = ARCP_SPAN_LITERAL("greet");
    options.lease = ARCP_SPAN_LITERAL("{\"model.use\":[\"fast/*\"]}");
    arcp_job *job = client == NULL ? NULL : world_submit(w, client, &options);
    bool whole = false;
    if (job == NULL) {
        return false;
    }
    size_t count = arcp_job_take_credentials(job, note_credential, &whole);
    return (count == 1 && whole) || world_gap(w, "%zu credentials came", count);
}

static const struct {
    const char *name;
    bool (*play)(world *w);
} scenarios[] = {
    {"hello", hello},
    {"submit", submit},
    {"events", events},
    {"result", result},
    {"error", error},
    {"refusal", refusal},
    {"cancel", cancel},
    {"deadline", deadline},
    {"list", list},
    {"subscribe", subscribe},
    {"history", history},
    {"resume", resume},
    {"replay", replay},
    {"ack", ack},
    {"heartbeat", heartbeat},
    {"idempotency", idempotency},
    {"budget", budget},
    {"expiry", expiry},
    {"delegation", delegation},
    {"chunks", chunks},
    {"versions", versions},
    {"credentials", credentials},
    {"trace", trace},
    {"close", close_session},
};

static void play(const char *url, const char *token, const char *name)
{
    world w;
    bool works = false;
    world_begin(&w, url, token, name);
    size_t count = sizeof(scenarios) / sizeof(scenarios[0]);
    for (size_t at = 0; at < count; at++) {
        if (strcmp(scenarios[at].name, name) == 0) {
            works = scenarios[at].play(&w);
        }
    }
    if (!works) {
        (void)world_gap(&w, "there is no such scenario");
    }
    arcp_buf line = ARCP_BUF_INIT;
    arcp_buf_append_format(&line, "{\"scenario\":\"%s\",\"works\":%s", name,
                           works ? "true" : "false");
    if (!works) {
        arcp_buf_append_cstr(&line, ",\"why\":");
        arcp_json_quote(arcp_span_cstr(w.why), &line);
    }
    printf("%.*s}\n", TEXT(arcp_buf_span(&line)));
    (void)fflush(stdout);
    arcp_buf_fini(&line);
    world_end(&w);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        (void)fprintf(stderr, "usage: %s URL TOKEN SCENARIO...\n", argv[0]);
        return 2;
    }
    for (int at = 3; at < argc; at++) {
        play(argv[1], argv[2], argv[at]);
    }
    return 0;
}
