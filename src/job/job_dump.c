#include "job/job_state.h"

static const char *const agent_states[] = {
    [ARCP__AGENT_NONE] = "none",         [ARCP__AGENT_QUEUED] = "queued",
    [ARCP__AGENT_STARTING] = "starting", [ARCP__AGENT_RUNNING] = "running",
    [ARCP__AGENT_EXITED] = "exited",     [ARCP__AGENT_RELEASED] = "released"};

/* The most children that are named, of those whose end a job waits for. */
#define CHILDREN_NAMED_MAX 8u

static void dump_waits(const arcp__jobs *jobs, const arcp__job *job, arcp_json_writer *writer)
{
    const arcp__job_live *live = job->live;
    unsigned named = 0;
    arcp__dump_begin_waits(writer);
    arcp__port_dump_wait(&live->agent_port, writer);
    switch (job->agent_state) {
    case ARCP__AGENT_NONE:
        arcp__dump_wait(writer, "the start of its agent");
        break;
    case ARCP__AGENT_QUEUED:
        arcp__dump_wait(writer, "a place %s: it is number %zu of %zu",
                        live->place.agent->offer != NULL ? "at its agent (max_jobs)"
                                                         : "on a worker that offers its agent",
                        arcp__place_number(&live->place), live->place.agent->waiting);
        break;
    case ARCP__AGENT_STARTING:
        arcp__dump_wait(writer, "its host to start the agent");
        break;
    case ARCP__AGENT_RUNNING:
        arcp__dump_wait(writer,
                        arcp__job_has_ended(job) ? "its agent's exit" : "its agent's next line");
        break;
    case ARCP__AGENT_EXITED:
        arcp__dump_wait(writer, "its host to release the agent");
        break;
    case ARCP__AGENT_RELEASED:
        break;
    }
    if (job->owner_is_behind) {
        arcp__dump_wait(writer, "room in session %s (limits.unsent_bytes): its agent is not read",
                        job->session_id);
    }
    if (job->is_ahead) {
        arcp__dump_wait(writer, "room in its principal's part of the store's queue "
                                "(limits.store_queue_bytes): its agent is not read");
    }
    if (job->paused && jobs->agents_paused) {
        arcp__dump_wait(writer,
                        "room in the store's queue (limits.store_queue_bytes): its agent is "
                        "not read");
    }
    if (live->credential.replacement != NULL) {
        arcp__dump_wait(writer, "a new credential in place of its own");
    }
    for (const arcp__job *child = job->children; child != NULL && named < CHILDREN_NAMED_MAX;
         child = child->next_child) {
        if (child->live != NULL && child->live->wait_reply != NULL) {
            arcp__dump_wait(writer, "the end of its child %s", child->id);
            named++;
        }
    }
}

static void dump_job(const arcp__jobs *jobs, const arcp__job *job, arcp__dump *dump)
{
    arcp_json_writer writer;
    const arcp__job_live *live = job->live;
    if (!arcp__dump_begin(dump, ARCP__DUMP_JOB, &writer)) {
        return;
    }
    arcp__put_cstr(&writer, "id", job->id);
    arcp__put_word(&writer, "agent", job->agent_text);
    arcp__put_cstr(&writer, "principal", job->principal->name);
    arcp__put_cstr(&writer, "session", job->session_id);
    arcp__put_word(&writer, "parent", job->parent_id);
    arcp__put_cstr(&writer, "status", arcp_job_status_name(job->status));
    arcp__put_cstr(&writer, "agent_state", agent_states[job->agent_state]);
    if (arcp__job_is_on_worker(job)) {
        arcp__put_cstr(&writer, "worker", live->numbers->worker);
        arcp__put_word(&writer, "worker_instance", live->numbers->instance);
    }
    arcp__put_bool(&writer, "cancelling", job->cancelling);
    arcp__put_bool(&writer, "killed", job->stop == ARCP__AGENT_STOP_KILLED);
    arcp__put_bool(&writer, "agent_paused", job->paused);
    arcp__put_i64(&writer, "age_ms", (dump->now.wall_ns - job->created_wall_ns) / ARCP_NS_PER_MS);
    arcp__put_u64(&writer, "events", job->stream->next);
    arcp__put_u64(&writer, "event_bytes", job->stream->bytes);
    arcp__put_u64(&writer, "result_bytes", live->result_size);
    arcp__put_u64(&writer, "children", job->live_children);
    arcp__dump_timer(dump, &writer, "max_runtime_in_ms", &live->runtime_timer);
    arcp__dump_timer(dump, &writer, "lease_expiry_in_ms", &live->expiry_timer);
    arcp__dump_timer(dump, &writer, "cancel_grace_in_ms", &live->grace_timer);
    arcp__dump_timer(dump, &writer, "queue_timeout_in_ms", &live->queue_timer);
    dump_waits(jobs, job, &writer);
    arcp__dump_end(dump, &writer);
}

static void dump_admission(const arcp__admission *admission, arcp__dump *dump)
{
    arcp_json_writer writer;
    const arcp__job_order *order = &admission->order;
    if (!arcp__dump_begin(dump, ARCP__DUMP_ADMISSION, &writer)) {
        return;
    }
    arcp__put_cstr(&writer, "job", admission->job_id);
    arcp__put_string(&writer, "agent", order->requested_agent);
    arcp__put_cstr(&writer, "principal", order->principal->name);
    arcp__put_cstr(&writer, "session", order->submitter->session_id);
    if (order->parent != NULL) {
        arcp__put_cstr(&writer, "parent", order->parent->id);
    }
    arcp__dump_begin_waits(&writer);
    arcp__dump_wait(&writer, admission->is_ready ? "its turn behind earlier submits of its session"
                                                 : "a credential");
    arcp__dump_end(dump, &writer);
}

static const char *const worker_states[] = {[ARCP__WORKER_AWAY] = "away",
                                            [ARCP__WORKER_GREETING] = "greeting",
                                            [ARCP__WORKER_JOINED] = "joined"};

static void dump_worker(const arcp__jobs *jobs, size_t index, const arcp__worker_entry *worker,
                        arcp__dump *dump)
{
    arcp_json_writer writer;
    arcp__worker_view view;
    if (!arcp__dump_begin(dump, ARCP__DUMP_WORKER, &writer) ||
        !arcp__worker_get_view(jobs, index, &view)) {
        return;
    }
    arcp__put_cstr(&writer, "name", view.name);
    arcp__put_cstr(&writer, "instance", view.instance);
    arcp__put_cstr(&writer, "state", worker_states[view.state]);
    arcp__put_bool(&writer, "draining", view.is_draining);
    arcp__put_bool(&writer, "busy", view.is_busy);
    arcp__put_i64(&writer, "in_state_ms",
                  (dump->now.wall_ns - view.since_wall_ns) / ARCP_NS_PER_MS);
    arcp__put_u64(&writer, "jobs", view.jobs);
    arcp__put_u64(&writer, "capacity", view.capacity);
    arcp__put_u64(&writer, "agents", view.agents);
    arcp__dump_timer(dump, &writer, "lost_in_ms", &worker->lost_timer);
    arcp__dump_timer(dump, &writer, "busy_until_ms", &worker->busy_timer);
    arcp__dump_begin_waits(&writer);
    if (view.state == ARCP__WORKER_AWAY) {
        arcp__dump_wait(&writer, "its connection");
    } else if (view.is_draining && view.jobs != 0) {
        arcp__dump_wait(&writer, "the end of its %zu jobs", view.jobs);
    }
    arcp__dump_end(dump, &writer);
}

void arcp__jobs_dump(const arcp__jobs *jobs, arcp__dump *dump)
{
    size_t index = 0;
    for (const arcp__worker_entry *worker = jobs->workers; worker != NULL; worker = worker->next) {
        dump_worker(jobs, index++, worker, dump);
    }
    for (const arcp__job *job = jobs->all; job != NULL; job = job->hh.next) {
        if (job->live != NULL) {
            dump_job(jobs, job, dump);
        }
    }
    for (const arcp__admission *admission = jobs->admissions; admission != NULL;
         admission = admission->next) {
        dump_admission(admission, dump);
    }
}
