/* What is reported as it happens (x-vendor.arcpd.watch, docs/protocol.md, The view).
 *
 * A watch ends with its connection. So the client keeps what the runtime has agreed to report, and
 * requests it again after a resume, before the requests of the program that wait to be sent. The
 * runtime does not report later what changed meanwhile, so the program gets a `reload`. */
#include "base/alloc.h"
#include "base/options.h"
#include "client/client_session.h"
#include "json/json_put.h"

arcp_status arcp__client_watch_prepare(arcp__client_request *request,
                                       const arcp_watch_options *given, arcp_error *err)
{
    arcp_watch_options options = arcp_watch_options_init();
    request->needs = ARCP_FEATURE_BIT(ARCP_FEATURE_VIEW);
    if (request->kind == ARCP__CLIENT_REQUEST_UNWATCH) {
        arcp_buf_append_cstr(&request->payload, "{}");
        return ARCP_OK;
    }
    const arcp_status status =
        arcp__options_take(&options, given, sizeof options, "arcp_watch_options", err);
    if (status != ARCP_OK) {
        return status;
    }
    if (!options.jobs && !options.figures) {
        return arcp_error_set(err, ARCP_E_USAGE, "a watch needs jobs, figures, or both");
    }
    arcp_json_writer writer = arcp__put_begin(&request->payload);
    arcp__put_array(&writer, "what");
    if (options.jobs) {
        arcp_json_write_cstr(&writer, "jobs");
    }
    if (options.figures) {
        arcp_json_write_cstr(&writer, "figures");
    }
    arcp_json_end_array(&writer);
    if (options.jobs) {
        arcp__put_text(&writer, "principal", options.principal);
        request->principals = arcp__copy_cstr(options.principal.data, options.principal.size);
        request->payload.failed = request->payload.failed || request->principals == NULL;
    }
    arcp_json_end_object(&writer);
    return ARCP_OK;
}

static void forget(arcp__client_session *session)
{
    arcp__free(session->watch.principals);
    session->watch = (arcp__client_watch){.principals = NULL};
}

void arcp__client_watch_answered(arcp__client_session *session, arcp__client_request *request)
{
    arcp__client_watch *watch = &session->watch;
    if (request->kind == ARCP__CLIENT_REQUEST_UNWATCH) {
        forget(session);
        return;
    }
    const arcp_json *json = &session->json;
    const arcp_json_ref what =
        arcp_json_member(json, session->in.payload, ARCP_SPAN_LITERAL("what"));
    for (arcp_json_ref item = arcp_json_first(json, what); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(json, what, item)) {
        watch->jobs = watch->jobs || arcp_json_string_equals(json, item, ARCP_SPAN_LITERAL("jobs"));
        watch->figures =
            watch->figures || arcp_json_string_equals(json, item, ARCP_SPAN_LITERAL("figures"));
    }
    if (request->principals != NULL) {
        arcp__free(watch->principals);
        watch->principals = request->principals;
        request->principals = NULL;
    }
}

void arcp__client_watch_again(arcp__client_session *session)
{
    arcp_watch_options options = arcp_watch_options_init();
    options.jobs = session->watch.jobs;
    options.figures = session->watch.figures;
    options.principal = arcp_span_cstr(session->watch.principals);
    if (!options.jobs && !options.figures) {
        return;
    }
    const arcp__client_request_args args = {.kind = ARCP__CLIENT_REQUEST_WATCH, .watch = &options};
    arcp__client_request *request = arcp__client_request_new(session, &args, NULL);
    if (request == NULL) {
        session->failed = true;
        return;
    }
    request->is_rewatch = true;
    /* The program may have changed its watch meanwhile: that request comes later. */
    DL_DELETE(session->requests, request);
    DL_PREPEND(session->requests, request);
    session->unsent = session->requests;
}

/* Delivers a report, or with an error the end of the watch. */
static void deliver(arcp__client_session *session, arcp_client_event_type type, arcp_span body)
{
    arcp__client_item *item = arcp__client_item_new(type, NULL, body.size);
    if (item == NULL) {
        session->failed = true;
        return;
    }
    item->event.body = arcp__client_item_place(item, body);
    arcp__client_item_queue(session, item);
}

static void end(arcp__client_session *session, const arcp_error *error)
{
    forget(session);
    if (!arcp__client_notify(session, ARCP_CLIENT_WATCH_ENDED, error, 0)) {
        session->failed = true;
    }
}

void arcp__client_watch_is_back(arcp__client_session *session, const arcp_error *error)
{
    if (error != NULL) {
        end(session, error);
    } else if (session->watch.jobs) {
        deliver(session, ARCP_CLIENT_JOBS_CHANGED,
                ARCP_SPAN_LITERAL("{\"jobs\":[],\"reload\":true}"));
    }
}

void arcp__client_watch_report(arcp__client_session *session)
{
    const arcp_span type = session->in.type_text;
    const arcp__client_watch *watch = &session->watch;
    if (watch->jobs && arcp_span_equal_cstr(type, "x-vendor.arcpd.changed")) {
        deliver(session, ARCP_CLIENT_JOBS_CHANGED, session->in.text);
    } else if (watch->figures && arcp_span_equal_cstr(type, "x-vendor.arcpd.figures")) {
        deliver(session, ARCP_CLIENT_FIGURES, session->in.text);
    } else if ((watch->jobs || watch->figures) &&
               arcp_span_equal_cstr(type, "x-vendor.arcpd.lagging")) {
        arcp_error error = {0};
        (void)arcp_error_set(&error, ARCP_E_LIMIT,
                             "the runtime has ended the watch, because 1 MiB waited to be read");
        end(session, &error);
    }
}
