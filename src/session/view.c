#include "session/view.h"

#define MEMBER(member, text, kind) ARCP__MEMBER(arcp__view_payload, member, text, kind)

static const arcp__member filter_rows[] = {
    {MEMBER(jobs.filter.statuses, "status", STRINGS), .text = "job statuses"},
    {MEMBER(jobs.filter.agent, "agent", STRING), .text = "agent: name or name@version"},
    {MEMBER(jobs.filter.principal, "principal", STRING),
     .text = "with a role: glob of principals, `*` for all (default: the session's own)"},
    {MEMBER(jobs.filter.parent, "parent", STRING), .text = "id of the job that delegated them"},
    {MEMBER(jobs.filter.code, "code", STRING), .text = "code that they failed with"},
    {MEMBER(jobs.filter.text, "text", STRING),
     .text = "part of the id, agent, principal, code or trace id, in any case (at most 256 bytes)"},
    {MEMBER(jobs.filter.created_after, "created_after", STRING),
     .text = "jobs created after this time"},
    {MEMBER(jobs.filter.created_before, "created_before", STRING),
     .text = "jobs created before this time"},
    {MEMBER(jobs.filter.ended_after, "ended_after", STRING), .text = "jobs ended after this time"},
};
static const arcp__members filter_members = ARCP__MEMBERS(filter_rows);
static const arcp__member jobs_rows[] = {
    {ARCP__CHECKED("filter", OBJECT), .parts = &filter_members,
     .text = "which jobs (default: all of the session's principal)"},
    {MEMBER(jobs.order, "order", STRING), .text = "`newest` first (default), or `oldest`"},
    {MEMBER(jobs.limit, "limit", POSITIVE),
     .text = "most rows of the page (default: 100, at most 500)"},
    {MEMBER(jobs.cursor, "cursor", STRING), .text = "`next_cursor` of the page before"},
    {MEMBER(jobs.counts, "count", BOOL), .text = "true: also count the jobs behind the page"},
};

static const arcp__member explain_rows[] = {
    {MEMBER(explain.agent, "agent", STRING), .required = true, .text = "agent, as in `job.submit`"},
    {MEMBER(explain.lease_request, "lease_request", OBJECT), .text = "lease, as in `job.submit`"},
    {MEMBER(explain.lease_constraints, "lease_constraints", OBJECT),
     .text = "constraints, as in `job.submit`"},
};
static const arcp__member schedules_rows[] = {
    {MEMBER(schedules.limit, "limit", POSITIVE),
     .text = "most rows of the page (default: 100, at most 500)"},
    {MEMBER(schedules.cursor, "cursor", STRING), .text = "`next_cursor` of the page before"},
};
static const arcp__member hooks_rows[] = {
    {MEMBER(hooks.limit, "limit", POSITIVE),
     .text = "most rows of the page (default: 100, at most 500)"},
    {MEMBER(hooks.cursor, "cursor", STRING), .text = "`next_cursor` of the page before"},
};
static const arcp__member notification_rows[] = {
    {MEMBER(hooks.id, "id", STRING), .required = true, .text = "the notification"},
};
static const arcp__member agents_rows[] = {
    {MEMBER(agents.limit, "limit", POSITIVE),
     .text = "most rows of the page (default: 100, at most 500)"},
    {MEMBER(agents.cursor, "cursor", STRING), .text = "`next_cursor` of the page before"},
};
static const arcp__member sessions_rows[] = {
    {MEMBER(sessions.principal, "principal", STRING), .text = "glob of principals (default: all)"},
    {MEMBER(sessions.limit, "limit", POSITIVE),
     .text = "most rows of the page (default: 100, at most 500)"},
    {MEMBER(sessions.cursor, "cursor", STRING), .text = "`next_cursor` of the page before"},
};
static const arcp__member end_session_rows[] = {
    {MEMBER(end_session.session_id, "session_id", STRING), .text = "the session to end; or"},
    {MEMBER(end_session.principal, "principal", STRING),
     .text = "the principal whose sessions are ended, all but the one that asks"},
};
static const arcp__member worker_rows[] = {
    {MEMBER(worker, "name", STRING), .required = true, .text = "name of the worker"},
};
static const arcp__member audit_filter_rows[] = {
    {MEMBER(audit.filter[0], "event", STRING), .text = "event of the lines"},
    {MEMBER(audit.filter[1], "decision", STRING), .text = "allowed, denied, or another decision"},
    {MEMBER(audit.filter[2], "principal", STRING), .text = "whose lines"},
    {MEMBER(audit.filter[3], "session_id", STRING), .text = "lines of a session"},
    {MEMBER(audit.filter[4], "job_id", STRING), .text = "lines of a job"},
    {MEMBER(audit.filter[5], "agent", STRING), .text = "lines of an agent"},
};
static const arcp__members audit_filter_members = ARCP__MEMBERS(audit_filter_rows);
static const arcp__member audit_rows[] = {
    {ARCP__CHECKED("filter", OBJECT), .parts = &audit_filter_members,
     .text = "which lines: those whose members are equal to these (default: all)"},
    {MEMBER(audit.before, "before", POSITIVE),
     .text = "lines before this position, `next_before` of the page before"},
    {MEMBER(audit.limit, "limit", POSITIVE),
     .text = "most lines of the page (default: 100, at most 500)"},
};
static const arcp__member watch_rows[] = {
    {MEMBER(watch.what, "what", STRINGS), .required = true,
     .text = "`jobs`, `figures` (with a role), or both: in addition to what is watched already"},
    {MEMBER(watch.principal, "principal", STRING),
     .text = "jobs, with a role: glob of principals, `*` for all (default: the session's own)"},
};
static const arcp__member unwatch_rows[] = {
    {MEMBER(watch.what, "what", STRINGS), .text = "`jobs`, `figures` (default: both)"},
};
static const arcp__member figures_rows[] = {
    {MEMBER(figures_range, "range", STRING),
     .text = "`1h` (default): an hour in seconds; `24h`: a day in minutes"},
};
static const arcp__member job_rows[] = {
    {MEMBER(job.job_id, "job_id", STRING), .required = true,
     .text = "the job: its id, or a beginning or end of it that no other job has"},
};
static const arcp__member events_rows[] = {
    {MEMBER(job.job_id, "job_id", STRING), .required = true, .text = "the job, as in `job`"},
    {MEMBER(job.after, "after", COUNT),
     .text = "the events behind this position, the oldest first"},
    {MEMBER(job.before, "before", COUNT),
     .text = "the last events before this position (default: the last ones)"},
    {MEMBER(job.kinds, "kinds", STRINGS),
     .text = "kinds of events, `job.result`, `job.error` (default: all)"},
    {MEMBER(job.limit, "limit", POSITIVE), .text = "most events (default: 100, at most 500)"},
};
static const arcp__member stderr_rows[] = {
    {MEMBER(job.job_id, "job_id", STRING), .required = true, .text = "the job, as in `job`"},
    {MEMBER(job.lines, "lines", POSITIVE),
     .text = "most lines (default: 100, at most 1000): the last ones, or with `after` the first"},
    {MEMBER(job.after, "after", COUNT), .text = "only lines behind the one with this number"},
};
static const arcp__member end_rows[] = {
    {MEMBER(job.job_id, "job_id", STRING), .required = true, .text = "the job, as in `job`"},
    {MEMBER(job.reason, "reason", STRING),
     .text = "text for the agent, the job's error and the audit log"},
    {MEMBER(job.grace_ms, "grace_ms", COUNT),
     .text = "how long its agent has to exit; 0: it is killed (default and at most: "
             "`jobs.cancel_grace_ms`)"},
};

#define VIEW    ARCP_FEATURE_VIEW
#define OPERATE ARCP_FEATURE_OPERATE
static const arcp__view_row rows[] = {
    {"jobs", VIEW, ARCP_ROLE_NONE, ARCP__MEMBERS(jobs_rows), arcp__view_jobs_handle},
    {"schedules", VIEW, ARCP_ROLE_NONE, ARCP__MEMBERS(schedules_rows), arcp__view_schedules_handle},
    {"hooks", OPERATE, ARCP_ROLE_VIEWER, ARCP__MEMBERS(hooks_rows), arcp__view_hooks_handle},
    {"retry_notification", OPERATE, ARCP_ROLE_OPERATOR, ARCP__MEMBERS(notification_rows),
     arcp__view_retry_handle},
    {"drop_notification", OPERATE, ARCP_ROLE_OPERATOR, ARCP__MEMBERS(notification_rows),
     arcp__view_drop_handle},
    {"agents", OPERATE, ARCP_ROLE_VIEWER, ARCP__MEMBERS(agents_rows), arcp__view_agents_handle},
    {"sessions", OPERATE, ARCP_ROLE_VIEWER, ARCP__MEMBERS(sessions_rows),
     arcp__view_sessions_handle},
    {"end_session", OPERATE, ARCP_ROLE_OPERATOR, ARCP__MEMBERS(end_session_rows),
     arcp__view_end_session_handle},
    {"workers", OPERATE, ARCP_ROLE_VIEWER, {NULL, 0}, arcp__view_workers_handle},
    {"drain", OPERATE, ARCP_ROLE_OPERATOR, ARCP__MEMBERS(worker_rows), arcp__view_workers_handle},
    {"forget", OPERATE, ARCP_ROLE_OPERATOR, ARCP__MEMBERS(worker_rows), arcp__view_workers_handle},
    {"reload", OPERATE, ARCP_ROLE_OPERATOR, {NULL, 0}, arcp__view_reload_handle},
    {"audit", OPERATE, ARCP_ROLE_VIEWER, ARCP__MEMBERS(audit_rows), arcp__view_audit_handle},
    {"job", VIEW, ARCP_ROLE_NONE, ARCP__MEMBERS(job_rows), arcp__view_job_handle},
    {"events", VIEW, ARCP_ROLE_NONE, ARCP__MEMBERS(events_rows), arcp__view_events_handle},
    {"stderr", VIEW, ARCP_ROLE_NONE, ARCP__MEMBERS(stderr_rows), arcp__view_stderr_handle},
    {"end", VIEW, ARCP_ROLE_NONE, ARCP__MEMBERS(end_rows), arcp__view_end_handle},
    {"explain", VIEW, ARCP_ROLE_NONE, ARCP__MEMBERS(explain_rows), arcp__view_explain_handle},
    {"watch", VIEW, ARCP_ROLE_NONE, ARCP__MEMBERS(watch_rows), arcp__view_watch_handle},
    {"unwatch", VIEW, ARCP_ROLE_NONE, ARCP__MEMBERS(unwatch_rows), arcp__view_unwatch_handle},
    {"figures", OPERATE, ARCP_ROLE_VIEWER, ARCP__MEMBERS(figures_rows), arcp__view_figures_handle},
    {"page", VIEW, ARCP_ROLE_NONE, {NULL, 0}, arcp__view_page_handle},
};

const char *arcp__view_request(size_t i, const arcp__members **members)
{
    if (i >= sizeof rows / sizeof rows[0]) {
        return NULL;
    }
    *members = &rows[i].members;
    return rows[i].name;
}

static const arcp__view_row *find_row(arcp_span name)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (arcp_span_equal_cstr(name, rows[i].name)) {
            return &rows[i];
        }
    }
    return NULL;
}

/* Takes one of the session's requests of this second. */
static arcp_status take_token(arcp__sessions *sessions, arcp__session *session, arcp_buf *details,
                              arcp_error *err)
{
    const arcp__token_rate rate = {ARCP__VIEW_REQUESTS_PER_SEC, ARCP__VIEW_REQUESTS_PER_SEC};
    const int64_t now_ns = sessions->context->now.mono_ns;
    const int64_t wait_ns = arcp__token_bucket_wait_ns(&session->view_requests, rate, now_ns);
    if (wait_ns == 0) {
        arcp__token_bucket_take(&session->view_requests, rate, now_ns);
        return ARCP_OK;
    }
    arcp_buf_append_format(details, "{\"retry_after_ms\":%lld}",
                           (long long)((wait_ns + ARCP_NS_PER_MS - 1) / ARCP_NS_PER_MS));
    return arcp_error_set(err, ARCP_E_INTERNAL_ERROR,
                          "more than %u requests " ARCP__VIEW_PREFIX "* in a second",
                          ARCP__VIEW_REQUESTS_PER_SEC);
}

/* Whether the session may send this request. */
static arcp_status check(arcp__sessions *sessions, const arcp__view_call *call,
                         const arcp__envelope *envelope, arcp_buf *details, arcp_error *err)
{
    const arcp__session *session = call->session;
    const arcp__view_row *row = call->row;
    if (envelope->session_id.size != 0 &&
        !arcp_span_equal_cstr(envelope->session_id, session->id)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "the frame's session_id is not this session's");
    }
    if (take_token(sessions, call->session, details, err) != ARCP_OK) {
        return err->status;
    }
    if (session->role < row->role) {
        (void)arcp_error_set(err, ARCP_E_PERMISSION_DENIED,
                             ARCP__VIEW_PREFIX "%s needs the role %s", row->name,
                             arcp__role_name(row->role));
        arcp__view_audit(sessions, call, NULL, ARCP__NOTHING, err->status, NULL);
        return err->status;
    }
    if (!arcp__session_has_feature(session, row->feature)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              ARCP__VIEW_PREFIX
                              "%s needs the feature \"%s\", which was not negotiated",
                              row->name, arcp_feature_name(row->feature));
    }
    return ARCP_OK;
}

static arcp_status read_payload(arcp__sessions *sessions, arcp__view_call *call,
                                arcp_json_ref payload, arcp_error *err)
{
    arcp__decoder decoder = {.json = &sessions->context->json,
                             .scratch = &sessions->context->scratch,
                             .where = "payload"};
    return arcp__decode(&decoder, payload, &call->row->members, &call->in, err);
}

/* A name that has no row is ignored, as other vendors' messages are, unless the session negotiated
 * these requests: then its client waits for a response. */
void arcp__view_receive(arcp__sessions *sessions, arcp__session *session,
                        const arcp__envelope *envelope)
{
    const arcp_span prefix = ARCP_SPAN_LITERAL(ARCP__VIEW_PREFIX);
    const arcp_span type = envelope->type_text;
    if (!arcp_span_starts_with(type, prefix)) {
        return;
    }
    const arcp__view_row unknown = {.name = "request"};
    const arcp__view_row *row = find_row(arcp_span_from(type, prefix.size));
    arcp__view_call call = {.session = session,
                            .row = row == NULL ? &unknown : row,
                            .id = envelope->id,
                            .frame = sessions->context->json.text};
    if (row == NULL && !arcp__session_has_feature(session, ARCP_FEATURE_VIEW)) {
        return;
    }
    session->last_activity_ns = sessions->context->now.mono_ns;
    arcp_buf details = arcp_buf_init();
    arcp_error error = {0};
    if (row == NULL) {
        const arcp_span shown = arcp_span_first(type, 64);
        (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST, "there is no request \"%.*s\"",
                             (int)shown.size, shown.data);
    } else if (check(sessions, &call, envelope, &details, &error) == ARCP_OK) {
        (void)!read_payload(sessions, &call, envelope->payload, &error);
    }
    if (error.status != ARCP_OK) {
        arcp__view_refuse(sessions, &call, &error, arcp__details(&details));
    } else {
        row->handle(sessions, &call);
    }
    arcp_buf_fini(&details);
}

bool arcp__view_call_again(arcp__sessions *sessions, arcp__view_wait *wait, arcp__view_call *call)
{
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    arcp__envelope envelope;
    *call = (arcp__view_call){
        .session = wait->session, .frame = arcp_buf_span(&wait->frame), .wait = wait};
    if (arcp__context_read_frame(sessions->context, call->frame, &limits, &envelope, NULL) !=
        ARCP_OK) { /* it was read before, so only memory can be missing */
        arcp__context_no_memory(sessions->context);
        return false;
    }
    call->id = envelope.id;
    call->row = find_row(arcp_span_from(envelope.type_text, sizeof ARCP__VIEW_PREFIX - 1));
    (void)!read_payload(sessions, call, envelope.payload, NULL);
    return true;
}

/* Goes on with one request. */
void arcp__view_due(arcp__sessions *sessions, arcp__session *session)
{
    arcp__view_wait *wait = arcp__view_ready(session);
    arcp__view_call call;
    if (wait == NULL || !arcp__view_call_again(sessions, wait, &call)) {
        return;
    }
    call.row->handle(sessions, &call);
    if (arcp__view_ready(session) != NULL) {
        arcp__view_arm(sessions, session);
    }
}
