/* x-vendor.arcpd.stderr: the standard error of a job's agent, as far as it is kept
 * (job/job_stderr.c). */
#include "session/view.h"

#include "base/utf8.h"

#define LINES_DEFAULT 100u
#define LINES_MAX     1000u

/* Lines that are shown. */
typedef struct lines {
    arcp_span text;
    uint64_t first, count; /* the number of the first one, and how many they are */
} lines;

/* The first line of a text, with its line feed. */
static size_t first_size(arcp_span text)
{
    const char *end = memchr(text.data, '\n', text.size);
    return end == NULL ? text.size : (size_t)(end - text.data) + 1;
}

static void drop_first(lines *shown)
{
    shown->text = arcp_span_from(shown->text, first_size(shown->text));
    shown->first++;
    shown->count--;
}

static void drop_last(lines *shown)
{
    size_t size = shown->text.size - 1;
    while (size != 0 && shown->text.data[size - 1] != '\n') {
        size--;
    }
    shown->text = arcp_span_first(shown->text, size);
    shown->count--;
}

/* Leaves the lines that the request asks for and that fit a frame; of one that is larger, a part.
 */
static void select_lines(const arcp__view_call *call, bool is_after, uint64_t after,
                         size_t text_max, lines *shown)
{
    const uint64_t most = call->in.job.lines == 0 ? LINES_DEFAULT : call->in.job.lines;
    while (shown->count != 0 && is_after && shown->first <= after) {
        drop_first(shown);
    }
    while (shown->count > most || (shown->count > 1 && shown->text.size > text_max)) {
        if (is_after) {
            drop_last(shown);
        } else {
            drop_first(shown);
        }
    }
    shown->text = arcp_span_first(shown->text, arcp__utf8_cut(shown->text, text_max));
}

static lines all_lines(const arcp__job *job)
{
    const arcp__stderr *kept = job->facts.errors;
    lines all = {.text = kept == NULL ? ARCP__NOTHING : arcp_buf_span(&kept->text)};
    for (size_t i = 0; i < all.text.size; i++) {
        all.count += all.text.data[i] == '\n';
    }
    all.first = job->facts.error_lines - all.count + 1;
    return all;
}

static arcp_status read_request(const arcp__sessions *sessions, const arcp__view_call *call,
                                uint64_t *after, arcp_error *err)
{
    const arcp__view_job *in = &call->in.job;
    if (in->lines > LINES_MAX) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "payload.lines must be from 1 to %u",
                              LINES_MAX);
    }
    (void)arcp_json_u64(&sessions->context->json, in->after, after);
    return ARCP_OK;
}

void arcp__view_stderr_handle(arcp__sessions *sessions, arcp__view_call *call)
{
    arcp_error error = {0};
    uint64_t after = 0;
    const bool is_after = call->in.job.after != ARCP_JSON_ABSENT;
    if (read_request(sessions, call, &after, &error) != ARCP_OK) {
        arcp__view_refuse(sessions, call, &error, ARCP__NOTHING);
        return;
    }
    const arcp__job *job = arcp__view_find(sessions, call, ARCP_ROLE_VIEWER);
    if (job == NULL) {
        return;
    }
    const arcp__stderr *kept = job->facts.errors;
    if (kept != NULL && !kept->is_shown && call->session->role == ARCP_ROLE_NONE) {
        (void)arcp_error_set(&error, ARCP_E_PERMISSION_DENIED,
                             "only a viewer or operator may read the agent's standard error "
                             "(agents: stderr_in_errors)");
        arcp__view_refuse(sessions, call, &error, ARCP__NOTHING);
        return;
    }
    lines shown = all_lines(job);
    const uint64_t dropped = shown.first - 1;
    select_lines(call, is_after, after, arcp__frame_text_max(sessions->context), &shown);
    arcp_buf out = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&out);
    arcp__put_cstr(&writer, "job_id", job->id);
    arcp__put_cstr(&writer, "status", arcp_job_status_name(job->status));
    arcp__put_string(&writer, "text", shown.text);
    arcp__put_u64(&writer, "first_line", shown.first);
    arcp__put_u64(&writer, "lines", job->facts.error_lines);
    arcp__put_u64(&writer, "dropped_lines", dropped);
    arcp_json_end_object(&writer);
    arcp__view_answer(sessions, call, &out);
    arcp_buf_fini(&out);
}
