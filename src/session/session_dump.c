#include "session/session_state.h"

static const char *const link_states[] = {[ARCP__LINK_NEW] = "new",
                                          [ARCP__LINK_AUTHENTICATING] = "authenticating",
                                          [ARCP__LINK_LEAVING] = "leaving",
                                          [ARCP__LINK_OPEN] = "open"};
static const char *const session_states[] = {[ARCP__SESSION_AWAY] = "away",
                                             [ARCP__SESSION_CONNECTED] = "connected",
                                             [ARCP__SESSION_LOADING] = "loading"};

/* ---- links ---- */

static void dump_link(const arcp__link *link, arcp__dump *dump)
{
    arcp_json_writer writer;
    if (!arcp__dump_begin(dump, ARCP__DUMP_LINK, &writer)) {
        return;
    }
    arcp__put_word(&writer, "peer", link->peer);
    arcp__put_cstr(&writer, "state", link->port.is_closed ? "closed" : link_states[link->state]);
    if (link->session != NULL) {
        arcp__put_cstr(&writer, "session", link->session->id);
    }
    arcp__put_u64(&writer, "queued_bytes", link->port.queued);
    arcp__put_u64(&writer, "unsent_bytes", link->port.unsent);
    arcp__put_bool(&writer, "paused", link->paused);
    arcp__put_bool(&writer, "input_over", link->input_over);
    arcp__dump_timer(dump, &writer, "hello_timeout_in_ms", &link->hello_timer);
    arcp__dump_timer(dump, &writer, "pause_ends_in_ms", &link->throttle_timer);
    arcp__dump_begin_waits(&writer);
    arcp__port_dump_wait(&link->port, &writer);
    if (link->port.is_closed) {
        arcp__dump_wait(&writer, "the end of its connection");
    } else if (link->state == ARCP__LINK_NEW) {
        arcp__dump_wait(&writer, "session.hello");
    } else if (link->state == ARCP__LINK_AUTHENTICATING) {
        arcp__dump_wait(&writer, "the verification of its token");
    }
    if (link->port.unsent != 0) {
        arcp__dump_wait(&writer, "its peer to read");
    }
    if (link->is_full) {
        arcp__dump_wait(&writer, "room for responses: no frame of it is taken");
    }
    if (link->is_ahead) {
        arcp__dump_wait(&writer, "the store: too many bytes of its principal are queued");
    }
    if (link->is_throttled) {
        arcp__dump_wait(&writer, "the end of its pause: too many frames of its principal were "
                                 "refused or took long");
    }
    arcp__dump_end(dump, &writer);
}

/* ---- sessions ---- */

/* The reason why numbered records are not sent yet. */
static void dump_backlog(const arcp__sessions *sessions, const arcp__session *session,
                         arcp_json_writer *writer)
{
    if (session->durable_seq <= session->sent_seq) {
        arcp__dump_wait(writer, "store batch %llu", (unsigned long long)session->waits_for);
    } else if (sessions->log->committed_id < session->welcome_batch_id) {
        arcp__dump_wait(writer, "store batch %llu", (unsigned long long)session->welcome_batch_id);
    } else if (session->read != NULL) {
        arcp__dump_wait(writer, "a page of events from the store");
    } else {
        arcp__dump_wait(writer, "room in its link: its peer does not read");
    }
}

static void dump_waits(const arcp__sessions *sessions, const arcp__session *session,
                       arcp_json_writer *writer)
{
    arcp__dump_begin_waits(writer);
    switch (session->state) {
    case ARCP__SESSION_LOADING:
        arcp__dump_wait(writer, "its index from the store");
        break;
    case ARCP__SESSION_AWAY:
        arcp__dump_wait(writer, session->window_timer.place != 0
                                    ? "a resume, or the end of session.resume_window_sec"
                                    : "a resume, or the end of its jobs");
        break;
    case ARCP__SESSION_CONNECTED:
        if (session->next_seq > session->sent_seq + 1) {
            dump_backlog(sessions, session, writer);
        } else if (session->waits_for != 0) {
            arcp__dump_wait(writer, "store batch %llu", (unsigned long long)session->waits_for);
        }
        if (session->back_pressured) {
            arcp__dump_wait(writer, "session.ack of its client (session.ack_lag_events)");
        }
        break;
    }
}

static void dump_session(const arcp__sessions *sessions, const arcp__session *session,
                         arcp__dump *dump)
{
    arcp_json_writer writer;
    uint64_t subscriptions = 0;
    if (!arcp__dump_begin(dump, ARCP__DUMP_SESSION, &writer)) {
        return;
    }
    for (const arcp__observation *observation = session->observations; observation != NULL;
         observation = observation->next) {
        subscriptions++;
    }
    arcp__put_cstr(&writer, "id", session->id);
    arcp__put_cstr(&writer, "principal", session->principal->name);
    arcp__put_word(&writer, "client", session->client_name);
    arcp__put_word(&writer, "client_version", session->client_version);
    arcp__put_cstr(&writer, "profile", session->profile->name);
    arcp__put_cstr(&writer, "state", session_states[session->state]);
    arcp__put_u64(&writer, "next_seq", session->next_seq);
    arcp__put_u64(&writer, "durable_seq", session->durable_seq);
    arcp__put_u64(&writer, "sent_seq", session->sent_seq);
    arcp__put_u64(&writer, "acked_seq", session->acked_seq);
    arcp__put_u64(&writer, "kept_from_seq", session->floor_seq + 1);
    arcp__put_u64(&writer, "kept_bytes", session->kept_bytes);
    arcp__put_u64(&writer, "backlog_bytes", session->backlog_bytes);
    arcp__put_u64(&writer, "index_runs", session->run_end - session->run_first);
    arcp__put_u64(&writer, "running_jobs", session->submitter.live_jobs);
    arcp__put_u64(&writer, "subscriptions", subscriptions);
    arcp__put_u64(&writer, "held_submits", session->held_submits);
    arcp__put_u64(&writer, "held_bytes", session->held_bytes);
    arcp__dump_timer(dump, &writer, "heartbeat_in_ms", &session->heartbeat_timer);
    arcp__dump_timer(dump, &writer, "window_in_ms", &session->window_timer);
    dump_waits(sessions, session, &writer);
    arcp__dump_end(dump, &writer);
}

static void dump_request(const arcp__request *request, arcp__dump *dump)
{
    arcp_json_writer writer;
    if (!arcp__dump_begin(dump, ARCP__DUMP_REQUEST, &writer)) {
        return;
    }
    arcp__put_cstr(&writer, "session", request->session->id);
    arcp__put_cstr(&writer, "id", request->id);
    arcp__put_cstr(&writer, "type", arcp_message_type_name(request->type));
    arcp__put_bool(&writer, "answered", request->answered);
    arcp__put_u64(&writer, "held_bytes", request->held.size);
    arcp__dump_begin_waits(&writer);
    if (request->session->submitter.waits_for != NULL && request == request->session->submits) {
        arcp__dump_wait(&writer, "another submit with the same idempotency key");
    } else if (request->held.size != 0 || request != request->session->submits) {
        arcp__dump_wait(&writer, "the answer to the submit before it");
    } else if (request->admission != NULL) {
        arcp__dump_wait(&writer, "a credential for its job");
    } else {
        arcp__dump_wait(&writer, "its answer to be sent");
    }
    arcp__dump_end(dump, &writer);
}

static void dump_subscription(const arcp__observation *observation, arcp__dump *dump)
{
    arcp_json_writer writer;
    const arcp__job *job = observation->observer.job;
    if (!arcp__dump_begin(dump, ARCP__DUMP_SUBSCRIPTION, &writer)) {
        return;
    }
    arcp__put_cstr(&writer, "session", observation->session->id);
    arcp__put_cstr(&writer, "job", job->id);
    arcp__put_bool(&writer, "owner", arcp__observation_is_owner(observation));
    arcp__put_bool(&writer, "live", observation->observer.is_live);
    if (!observation->observer.is_live) {
        arcp__put_u64(&writer, "next_event", observation->next_position);
        arcp__put_u64(&writer, "events", job->stream->next);
    }
    arcp__dump_begin_waits(&writer);
    if (observation->read != NULL) {
        arcp__dump_wait(&writer, "a page of the job's history from the store");
    } else if (observation->observer.is_live && !arcp__job_has_ended(job)) {
        arcp__dump_wait(&writer, "the job's next event");
    }
    arcp__dump_end(dump, &writer);
}

void arcp__sessions_dump(const arcp__sessions *sessions, arcp__dump *dump)
{
    for (const arcp__link *link = sessions->links; link != NULL; link = link->next) {
        dump_link(link, dump);
    }
    for (const arcp__session *session = sessions->all; session != NULL;
         session = session->hh.next) {
        dump_session(sessions, session, dump);
        for (const arcp__request *request = session->submits; request != NULL;
             request = request->next) {
            dump_request(request, dump);
        }
        for (const arcp__observation *of = session->observations; of != NULL; of = of->next) {
            dump_subscription(of, dump);
        }
    }
}
