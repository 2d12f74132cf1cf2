/* x-vendor.arcpd.watch, unwatch and figures, and what is sent to sessions that watch. */
#include "session/figures.h"
#include "session/view.h"
#include "session/watch.h"

#include "core/name_glob.h"

#define ROWS_MAX            200u
#define UNSENT_MAX          1048576u /* then a watch ends */
#define PUSH_BYTES_MAX      1048576u
#define PRINCIPAL_BYTES_MAX 256u /* ARCP_PRINCIPAL_BYTES_MAX */

/* ---- pushes ---- */

static void push(arcp__sessions *sessions, arcp__session *session, const char *type,
                 arcp_buf *payload, bool durable)
{
    char id[ARCP__ID_SIZE];
    arcp__context_make_id(sessions->context, "msg_", id);
    arcp_buf frame = arcp__session_frame(session, type, arcp_span_cstr(id), payload);
    arcp__session_send(sessions, session, &frame, durable);
}

/* Ends the watch of a peer that does not read what it is sent. */
static bool is_lagging(arcp__sessions *sessions, arcp__watch *watch)
{
    arcp__session *session = watch->session;
    const arcp__port *port = &session->link->port;
    if (port->queued + port->unsent <= UNSENT_MAX) {
        return false;
    }
    arcp_buf payload = arcp_buf_init();
    arcp_buf_append_cstr(&payload, "{}");
    arcp__watch_end(sessions, session);
    push(sessions, session, ARCP__VIEW_PREFIX "lagging", &payload, false);
    return true;
}

static bool sees(const arcp__watch *watch, const arcp__principal *principal)
{
    return arcp__name_glob_matches(watch->principals, arcp_span_cstr(principal->name));
}

/* The changed jobs of a push. */
typedef struct changed {
    arcp__sessions *sessions;
    arcp_buf out;
    size_t bytes_max;
    size_t count;
    bool has_more;
} changed;

static void show_jobs(changed *shown, const arcp__principal *principal, uint64_t seen)
{
    for (arcp__job *job = arcp__marked_job(principal, NULL); job != NULL && job->mark.number > seen;
         job = arcp__marked_job(principal, job)) {
        arcp_buf row = arcp__context_take_buf(shown->sessions->context);
        shown->has_more = shown->count == ROWS_MAX;
        if (!shown->has_more) {
            arcp__sessions_write_job(shown->sessions, job, &row);
            shown->has_more = shown->out.size + row.size + 1 > shown->bytes_max;
        }
        if (!shown->has_more) {
            arcp_buf_append(&shown->out,
                            shown->count == 0 ? ARCP__NOTHING : ARCP_SPAN_LITERAL(","));
            arcp_buf_append(&shown->out, arcp_buf_span(&row));
            shown->count++;
        }
        arcp__context_give_buf(shown->sessions->context, &row);
        if (shown->has_more) {
            return;
        }
    }
}

static void push_jobs(arcp__sessions *sessions, arcp__watch *watch)
{
    arcp__session *session = watch->session;
    arcp__jobs *jobs = sessions->jobs;
    const size_t frame_max = arcp__frame_payload_max(sessions->context) - 128;
    changed found = {.sessions = sessions,
                     .bytes_max = frame_max < PUSH_BYTES_MAX ? frame_max : PUSH_BYTES_MAX};
    arcp_buf_append_cstr(&found.out, "{\"jobs\":[");
    if (watch->principals == NULL) {
        show_jobs(&found, session->principal, watch->seen);
    }
    for (arcp__principal *principal = arcp__marked_principal(jobs, NULL);
         watch->principals != NULL && principal != NULL && principal->marks.number > watch->seen &&
         !found.has_more;
         principal = arcp__marked_principal(jobs, principal)) {
        if (sees(watch, principal)) {
            show_jobs(&found, principal, watch->seen);
        }
    }
    arcp_buf_append_cstr(&found.out, found.has_more ? "],\"reload\":true}" : "]}");
    watch->seen = jobs->marks.number;
    arcp__watch_sleep(sessions, watch);
    if (found.count != 0 || found.has_more) {
        watch->pushed_ns = sessions->context->now.mono_ns;
        push(sessions, session, ARCP__VIEW_PREFIX "changed", &found.out, true);
    } else {
        arcp_buf_fini(&found.out);
    }
}

static void arm_figures(arcp__sessions *sessions, arcp__watch *watch)
{
    const int64_t second = sessions->context->now.mono_ns / ARCP_NS_PER_SEC;
    arcp__context_arm(sessions->context, &watch->figures_timer, sessions->timer_kinds.session,
                      watch->session, (second + 1) * ARCP_NS_PER_SEC);
}

bool arcp__watch_due(arcp__sessions *sessions, arcp__session *session, const arcp__timer *timer)
{
    arcp__watch *watch = session->watch;
    if (watch == NULL || (timer != &watch->jobs_timer && timer != &watch->figures_timer)) {
        return false;
    }
    if (is_lagging(sessions, watch)) {
        return true;
    }
    if (timer == &watch->jobs_timer) {
        push_jobs(sessions, watch);
    } else {
        arcp_buf payload = arcp_buf_init();
        arcp__figures_write_last(sessions, &payload);
        push(sessions, session, ARCP__VIEW_PREFIX "figures", &payload, false);
        arm_figures(sessions, watch);
    }
    return true;
}

/* ---- requests ---- */

static bool names(arcp__sessions *sessions, arcp_json_ref what, const char *name)
{
    const arcp_json *json = &sessions->context->json;
    for (arcp_json_ref item = arcp_json_first(json, what); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(json, what, item)) {
        if (arcp_span_equal_cstr(arcp_json_string(json, item, &sessions->context->scratch), name)) {
            return true;
        }
    }
    return false;
}

/* Reads `what`, which has at least one of the two names and nothing else. */
static arcp_status read_what(arcp__sessions *sessions, const arcp__view_watch *in, bool *jobs,
                             bool *figures, arcp_error *err)
{
    const arcp_json *json = &sessions->context->json;
    *jobs = names(sessions, in->what, "jobs");
    *figures = names(sessions, in->what, "figures");
    if (arcp_json_count(json, in->what) != (size_t)*jobs + *figures || !(*jobs || *figures)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "payload.what must have jobs, figures, or both");
    }
    return ARCP_OK;
}

static arcp_status check_watch(arcp__sessions *sessions, const arcp__view_call *call, bool figures,
                               arcp_error *err)
{
    const arcp__session *session = call->session;
    const arcp_span glob = call->in.watch.principal;
    const bool sees_others =
        glob.size != 0 && !arcp_span_equal_cstr(glob, session->principal->name);
    if (glob.size > PRINCIPAL_BYTES_MAX) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "payload.principal has more than %u bytes", PRINCIPAL_BYTES_MAX);
    }
    if (session->role == ARCP_ROLE_NONE && (figures || sees_others)) {
        (void)arcp_error_set(err, ARCP_E_PERMISSION_DENIED, "%s needs the role viewer or operator",
                             figures ? "to watch figures" : "payload.principal");
    }
    if (figures || sees_others) {
        arcp__view_audit(sessions, call, NULL, glob, err->status, NULL);
    }
    return err->status;
}

static void answer(arcp__sessions *sessions, const arcp__view_call *call)
{
    const arcp__watch *watch = call->session->watch;
    arcp_buf out = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&out);
    arcp__put_array(&writer, "what");
    if (watch != NULL && watch->jobs) {
        arcp_json_write_cstr(&writer, "jobs");
    }
    if (watch != NULL && watch->figures) {
        arcp_json_write_cstr(&writer, "figures");
    }
    arcp_json_end_array(&writer);
    arcp_json_end_object(&writer);
    arcp__view_answer(sessions, call, &out);
    arcp_buf_fini(&out);
}

void arcp__view_watch_handle(arcp__sessions *sessions, arcp__view_call *call)
{
    arcp__session *session = call->session;
    arcp_error error = {0};
    bool jobs = false;
    bool figures = false;
    if (read_what(sessions, &call->in.watch, &jobs, &figures, &error) != ARCP_OK ||
        check_watch(sessions, call, figures, &error) != ARCP_OK) {
        arcp__view_refuse(sessions, call, &error, ARCP__NOTHING);
        return;
    }
    if (session->watch == NULL) {
        session->watch = arcp__alloc(sizeof *session->watch);
        if (session->watch == NULL) {
            arcp__context_no_memory(sessions->context);
            return;
        }
        session->watch->session = session;
    }
    if (jobs) {
        arcp__watch_jobs(sessions, session->watch, call->in.watch.principal);
    }
    if (figures && !session->watch->figures) {
        session->watch->figures = true;
        arm_figures(sessions, session->watch);
    }
    answer(sessions, call);
}

void arcp__view_unwatch_handle(arcp__sessions *sessions, arcp__view_call *call)
{
    arcp__session *session = call->session;
    arcp_error error = {0};
    bool jobs = true;
    bool figures = true;
    if (call->in.watch.what != ARCP_JSON_ABSENT &&
        read_what(sessions, &call->in.watch, &jobs, &figures, &error) != ARCP_OK) {
        arcp__view_refuse(sessions, call, &error, ARCP__NOTHING);
        return;
    }
    if (session->watch != NULL && jobs) {
        arcp__watch_end_jobs(sessions, session->watch);
    }
    if (session->watch != NULL && figures) {
        arcp__watch_end_figures(sessions, session->watch);
    }
    arcp__watch_free_if_over(session);
    answer(sessions, call);
}

void arcp__view_figures_handle(arcp__sessions *sessions, arcp__view_call *call)
{
    const arcp_span range = call->in.figures_range;
    const size_t frame_max = arcp__frame_payload_max(sessions->context) - 128;
    const bool is_day = arcp_span_equal_cstr(range, "24h");
    if (range.size != 0 && !is_day && !arcp_span_equal_cstr(range, "1h")) {
        arcp_error error = {0};
        (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST, "payload.range must be 1h or 24h");
        arcp__view_refuse(sessions, call, &error, ARCP__NOTHING);
        return;
    }
    arcp__view_audit(sessions, call, NULL, ARCP__NOTHING, ARCP_OK, NULL);
    arcp_buf out = arcp_buf_init();
    arcp__figures_write(sessions, is_day ? ARCP__FIGURES_DAY : ARCP__FIGURES_HOUR,
                        frame_max < PUSH_BYTES_MAX ? frame_max : PUSH_BYTES_MAX, &out);
    arcp__view_answer(sessions, call, &out);
    arcp_buf_fini(&out);
}
