/* Submits on a loop, all sent before the first response. */
#include "scenarios.h"

#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#define SUBMITS 20u

typedef struct submits submits;

/* One submit, and its outcome: the status of the reply if it was refused, else the result. */
typedef struct asked {
    submits *all;
    char input[8];
    bool is_refused; /* expected */
    bool is_over;
    arcp_status status;
    arcp_buf result;
} asked;

struct submits {
    fixture *f;
    uv_loop_t loop;
    uv_timer_t patience;
    asked rows[SUBMITS];
    size_t open;
    bool has_closed;
};

static void end_one(asked *row)
{
    if (!row->is_over) {
        row->is_over = true;
        row->all->open--;
        if (row->all->open == 0) {
            uv_stop(&row->all->loop);
        }
    }
}

static void on_reply(void *user, arcp_client *client, const arcp_reply *reply)
{
    (void)client;
    asked *row = user;
    row->status = reply->status;
    arcp_job_unref(reply->job);
    if (reply->status != ARCP_OK) {
        end_one(row);
    }
}

static void on_event(void *user, arcp_client *client, const arcp_client_event *event)
{
    (void)client;
    submits *all = user;
    if (event->type == ARCP_CLIENT_CLOSED) {
        all->has_closed = true;
        (void)fixture_gap(all->f, "the connection was lost: %s",
                          event->error == NULL ? "closed" : event->error->message);
        uv_stop(&all->loop);
    } else if (event->type == ARCP_CLIENT_JOB_ENDED && arcp_job_user(event->job) != NULL) {
        asked *row = arcp_job_user(event->job);
        arcp_buf_append(&row->result, arcp_job_outcome(event->job)->result);
        end_one(row);
    }
}

static void on_late(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

static bool is_right(fixture *f, const asked *row)
{
    if (row->is_refused) {
        return (row->is_over && row->status == ARCP_E_AGENT_NOT_AVAILABLE) ||
               fixture_gap(f, "submit %s was not refused but gave %s", row->input,
                           arcp_status_text(row->status));
    }
    return arcp_span_equal_cstr(arcp_buf_span(&row->result), row->input) ||
           fixture_gap(f, "submit %s gave %s, %.*s", row->input, arcp_status_text(row->status),
                       TEXT(arcp_buf_span(&row->result)));
}

static bool asks_all(submits *all, arcp_client *client)
{
    bool works = true;
    all->open = SUBMITS;
    for (size_t n = 0; works && n < SUBMITS; n++) {
        asked *row = &all->rows[n];
        *row = (asked){.all = all, .is_refused = n % 5 == 3, .result = arcp_buf_init()};
        (void)snprintf(row->input, sizeof row->input, "\"n%zu\"", n);
        arcp_submit_options options = fixture_submit_options(row->is_refused ? "nobody" : "mirror");
        options.input = arcp_span_cstr(row->input);
        options.user = row;
        works =
            arcp_client_submit_start(client, &options, on_reply, row, &all->f->err) == ARCP_OK ||
            fixture_gap(all->f, "cannot ask: %s", all->f->err.message);
    }
    return works;
}

static bool play_run(fixture *f)
{
    submits all = {.f = f};
    (void)uv_loop_init(&all.loop);
    (void)uv_timer_init(&all.loop, &all.patience);
    (void)uv_timer_start(&all.patience, on_late, DEADLINE_MS, 0);
    arcp_client_options options = fixture_options(f);
    arcp_client *client = NULL;
    bool works = arcp_client_connect_start(&options, &all.loop, on_event, &all, &client, &f->err) ==
                     ARCP_OK ||
                 fixture_gap(f, "cannot open: %s", f->err.message);
    works = works && asks_all(&all, client);
    if (works) {
        (void)uv_run(&all.loop, UV_RUN_DEFAULT);
        works = !all.has_closed;
    }
    for (size_t n = 0; n < SUBMITS; n++) {
        works = works && is_right(f, &all.rows[n]);
        arcp_buf_fini(&all.rows[n].result);
    }
    arcp_client_free(client);
    uv_close((uv_handle_t *)&all.patience, NULL);
    (void)uv_run(&all.loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&all.loop);
    return works;
}

static bool pipelining(fixture *f)
{
    const char *wanted = getenv("INTEROP_RUNS");
    const long runs = wanted == NULL ? 1 : strtol(wanted, NULL, 10);
    bool works = true;
    for (long run = 0; works && run < runs; run++) {
        works = play_run(f);
    }
    return works;
}

const scenario loop_scenarios[] = {{"pipelining", pipelining}, {NULL, NULL}};
