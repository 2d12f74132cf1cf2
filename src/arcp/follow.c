#include "arcp/command.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/cli.h"

#define REDRAW_MS  100
#define ACK_MS     250
#define ACK_EVENTS 500

static int64_t now_ns(void)
{
    return arcp__clock_ns(CLOCK_MONOTONIC);
}

/* ---- lines ---- */

static void print_line(arcp__follow *f)
{
    if (!f->program->is_quiet && !f->quiet_until_end) {
        arcp__screen_line(&f->program->screen, arcp_buf_span(&f->line));
    }
    arcp_buf_clear(&f->line);
}

static void print_plain(arcp__follow *f, unsigned depth, const char *word, int color,
                        arcp_span text)
{
    const arcp__line_style style = arcp__program_style(f->program, depth);
    arcp__plain_line(&style, word, color, text, &f->line);
    print_line(f);
}

static unsigned depth_of(const arcp__follow *f, arcp_span id)
{
    for (size_t i = 0; i < f->job_count; i++) {
        if (arcp_span_equal_cstr(id, f->jobs[i].id)) {
            return f->jobs[i].depth;
        }
    }
    return 0;
}

static void remember(arcp__follow *f, arcp_span id, unsigned depth)
{
    if (f->job_count < ARCP__FOLLOW_JOBS_MAX && id.size < sizeof f->jobs[0].id) {
        memcpy(f->jobs[f->job_count].id, id.data, id.size);
        f->jobs[f->job_count].id[id.size] = '\0';
        f->jobs[f->job_count++].depth = depth;
    }
}

static arcp_span label_of(arcp_job *job)
{
    const arcp_span agent = arcp_job_agent(job);
    return agent.size != 0 ? agent : arcp_job_id(job);
}

/* ---- events ---- */

static void on_added(arcp__follow *f, const arcp_client_event *event)
{
    const unsigned depth = depth_of(f, arcp_job_parent_id(event->job)) + 1;
    arcp_buf text = arcp_buf_init();
    remember(f, arcp_job_id(event->job), depth);
    arcp_buf_append(&text, label_of(event->job));
    arcp_buf_append_byte(&text, ' ');
    arcp_buf_append(&text, arcp_job_id(event->job));
    print_plain(f, depth, "child", ARCP__COLOR_BLUE, arcp_buf_span(&text));
    arcp_buf_fini(&text);
    arcp__progress_add(&f->progress, arcp_job_id(event->job), label_of(event->job), depth,
                       now_ns());
}

static void on_event(arcp__follow *f, const arcp_client_event *event)
{
    const bool is_ours = event->job == f->job;
    const arcp_span id = arcp_job_id(event->job);
    f->last_seq = event->event_seq > f->last_seq ? event->event_seq : f->last_seq;
    arcp__closing_note(&f->closing, event, is_ours);
    if (f->program->is_json) {
        if (is_ours && !f->quiet_until_end &&
            !arcp__program_print_line(f->program, arcp_client_event_payload(event))) {
            f->done = true;
            f->exit_status = ARCP__EXIT_ERROR;
        }
        return;
    }
    const arcp__line_style style = arcp__program_style(f->program, depth_of(f, id));
    if (arcp__event_line(&style, event, &f->line)) {
        arcp__progress_note(&f->progress, id, arcp_client_event_body(event));
        if (!f->program->screen.is_terminal || event->kind != ARCP_EVENT_PROGRESS) {
            print_line(f); /* a terminal shows progress as a bar */
        }
    }
    arcp_buf_clear(&f->line);
}

static void on_child_end(arcp__follow *f, const arcp_client_event *event)
{
    const arcp_outcome *outcome = arcp_job_outcome(event->job);
    const unsigned depth = depth_of(f, arcp_job_id(event->job));
    arcp__progress_remove(&f->progress, arcp_job_id(event->job));
    if (outcome->error != NULL) {
        print_plain(f, depth, "ended", ARCP__COLOR_RED, arcp_span_cstr(outcome->error->message));
    } else {
        print_plain(f, depth, "ended", ARCP__COLOR_GREEN,
                    arcp_span_cstr(arcp_job_status_name(outcome->final_status)));
    }
}

/* Only people on a terminal read it: what scripts read stays as it is. */
static void print_closing(arcp__follow *f, const arcp_outcome *outcome)
{
    if (f->has_all_events && f->program->screen.is_terminal && !f->program->is_json) {
        arcp_buf text = arcp_buf_init();
        arcp__closing_append(&f->closing, outcome, &text);
        print_plain(f, 0, "ended", outcome->error != NULL ? ARCP__COLOR_RED : ARCP__COLOR_GREEN,
                    arcp_buf_span(&text));
        arcp_buf_fini(&text);
    }
}

static void on_end(arcp__follow *f, const arcp_client_event *event)
{
    const arcp_outcome *outcome = arcp_job_outcome(event->job);
    arcp__screen_status(&f->program->screen, arcp_span_make(NULL, 0));
    f->done = true;
    f->exit_status = arcp__exit_of_outcome(outcome);
    if (f->program->is_json &&
        !arcp__program_print_line(f->program, arcp_client_event_payload(event))) {
        f->exit_status = ARCP__EXIT_ERROR;
    }
    if (outcome->error != NULL) {
        const bool is_json = f->program->is_json;
        f->program->is_json = false; /* its payload was printed already */
        (void)arcp__program_fail(f->program, outcome->error);
        f->program->is_json = is_json;
    } else if (!arcp__result_writer_finish(f->writer, outcome)) {
        f->exit_status = ARCP__EXIT_ERROR;
    }
    print_closing(f, outcome);
}

static void on_client_event(arcp__follow *f, const arcp_client_event *event)
{
    switch (event->type) {
    case ARCP_CLIENT_DISCONNECTED:
        if (f->file != NULL) {
            arcp__session_file_unlock(f->file);
        }
        print_plain(f, 0, "waiting", ARCP__COLOR_YELLOW, arcp_span_cstr(event->error->message));
        return;
    case ARCP_CLIENT_RESUMED:
        print_plain(f, 0, "resumed", ARCP__COLOR_DIM,
                    ARCP_SPAN_LITERAL("the connection was restored; no events were lost"));
        return;
    case ARCP_CLIENT_JOB_ADDED:
        on_added(f, event);
        return;
    case ARCP_CLIENT_JOB_EVENT:
        on_event(f, event);
        return;
    case ARCP_CLIENT_JOB_ENDED:
        f->last_seq = event->event_seq > f->last_seq ? event->event_seq : f->last_seq;
        if (event->job == f->job) {
            on_end(f, event);
        } else {
            on_child_end(f, event);
        }
        return;
    case ARCP_CLIENT_CLOSED:
        arcp__screen_status(&f->program->screen, arcp_span_make(NULL, 0));
        f->done = true;
        f->exit_status =
            event->error == NULL ? ARCP__EXIT_ERROR : arcp__program_fail(f->program, event->error);
        return;
    case ARCP_CLIENT_CONNECTED:
    case ARCP_CLIENT_NOTICE:
    case ARCP_CLIENT_JOBS_CHANGED:
    case ARCP_CLIENT_FIGURES:
    case ARCP_CLIENT_WATCH_ENDED:
        return;
    }
}

/* ---- between events ---- */

static void redraw(arcp__follow *f)
{
    arcp__screen *screen = &f->program->screen;
    if (!screen->is_terminal || f->program->is_quiet || f->quiet_until_end || f->done) {
        return;
    }
    if (arcp__resize_take()) {
        arcp__screen_measure(screen);
    }
    arcp_buf area = arcp_buf_init();
    arcp__progress_draw(&f->progress, screen, now_ns(), &area);
    arcp__screen_status(screen, arcp_buf_span(&area));
    arcp_buf_fini(&area);
}

/* Acknowledges the events that were printed, but only after their number is in the session file: a
 * resume from the file must not ask for events that were already acknowledged. */
static void acknowledge(arcp__follow *f)
{
    const int64_t now = now_ns();
    const bool due = f->last_seq - f->acked_seq >= ACK_EVENTS ||
                     (f->last_seq != f->acked_seq && now - f->acked_ns >= ACK_MS * ARCP_NS_PER_MS);
    if (f->file == NULL || !due) {
        return;
    }
    f->acked_ns = now;
    f->acked_seq = f->last_seq;
    if (arcp__session_file_set_seq(f->file, f->last_seq, NULL) == ARCP_OK) {
        const arcp_status ignored = arcp_client_ack(f->client, f->last_seq, NULL);
        (void)ignored; /* an ack is only advice */
    }
}

/* The first Ctrl-C requests cancellation of the job, the second detaches from it. */
static void check_interrupts(arcp__follow *f)
{
    const unsigned count = arcp__interrupt_count();
    if (count == f->interrupts_handled) {
        return;
    }
    f->interrupts_handled = count;
    arcp__screen_erase_echo(&f->program->screen);
    if (f->may_cancel && !f->cancel_sent && count == 1) {
        arcp_error err = {0};
        f->cancel_sent = true;
        arcp__screen_format(&f->program->screen,
                            "cancelling the job (press Ctrl-C again to detach)");
        const arcp_status status = arcp_client_cancel(
            f->client, arcp_job_id(f->job), ARCP_SPAN_LITERAL("Ctrl-C"), ARCP_WAIT_DEFAULT, &err);
        /* JOB_NOT_FOUND: the job has just ended, and its end is about to arrive. INTERRUPTED: the
         * wait was interrupted by the same Ctrl-C; the request was sent nevertheless. */
        if (status != ARCP_OK && status != ARCP_E_JOB_NOT_FOUND && status != ARCP_E_INTERRUPTED) {
            arcp__screen_format(&f->program->screen, "not cancelled: %s", err.message);
        }
        if (arcp__interrupt_count() == count) {
            return;
        }
    }
    arcp__screen_erase_echo(&f->program->screen); /* the second came while the first was handled */
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_cstr(&text, "detached; the job continues: arcp watch ");
    arcp__append_safe(&text, arcp_job_id(f->job), 256);
    arcp__screen_line(&f->program->screen, arcp_buf_span(&text));
    arcp_buf_fini(&text);
    f->done = true;
    f->exit_status = ARCP__EXIT_DETACHED;
}

static int64_t wait_ms(const arcp__follow *f)
{
    if (f->program->screen.is_terminal && !f->program->is_quiet) {
        return REDRAW_MS;
    }
    return f->file != NULL && f->last_seq != f->acked_seq ? ACK_MS : ARCP_WAIT_FOREVER;
}

int arcp__follow_run(arcp__follow *f)
{
    arcp_error err = {.details = &f->program->error_details};
    int64_t drawn_ns = 0;
    f->acked_ns = now_ns();
    arcp__resize_watch(f->client);
    remember(f, arcp_job_id(f->job), 0);
    arcp__progress_add(&f->progress, arcp_job_id(f->job), label_of(f->job), 0, now_ns());
    while (!f->done) {
        const arcp_client_event *event = NULL;
        const arcp_status status = arcp_client_next_event(f->client, wait_ms(f), &event, &err);
        if (status == ARCP_OK) {
            on_client_event(f, event);
        } else if (status != ARCP_E_DEADLINE && status != ARCP_E_INTERRUPTED) {
            arcp__screen_status(&f->program->screen, arcp_span_make(NULL, 0));
            f->exit_status = arcp__program_fail(f->program, &err);
            f->done = true;
        }
        if (!f->done) {
            check_interrupts(f);
        }
        acknowledge(f);
        if (now_ns() - drawn_ns >= REDRAW_MS * ARCP_NS_PER_MS) {
            drawn_ns = now_ns();
            redraw(f);
        }
    }
    arcp__resize_watch(NULL);
    arcp__screen_status(&f->program->screen, arcp_span_make(NULL, 0));
    arcp_buf_fini(&f->line);
    return f->exit_status;
}
