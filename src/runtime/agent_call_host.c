/* Callback agents, the loop's side: starting them, and what the engine decides for them. */
#include "base/alloc.h"
#include "base/clock.h"
#include "runtime/agent_call_state.h"
#include "runtime/agent_threads.h"

void arcp__agent_call_deliver(arcp_runtime *runtime, const arcp__agent_message *message,
                              arcp_time now)
{
    arcp__job *job = message->call->job;
    if (job == NULL) {
        return; /* the job is over and forgotten */
    }
    switch (message->kind) {
    case ARCP__AGENT_SAYS:
        arcp__engine_agent_says(runtime->engine, now, job, &message->said);
        break;
    case ARCP__AGENT_LINE:
        arcp__engine_agent_line(runtime->engine, now, job, message->said.body);
        break;
    case ARCP__AGENT_BYE: {
        /* Without its last word a job has not succeeded, whatever that was. */
        arcp__agent_exit exit = {.code = message->is_lost ? 1 : 0};
        arcp__engine_agent_exited(runtime->engine, now, job, &exit);
        break;
    }
    }
    runtime->is_dirty = true;
}

static void run_blocking(void *user)
{
    arcp_agent_call *call = user;
    call->entry->callback.run(call, call->entry->callback.user);
    arcp__agent_call_bye(call, NULL);
    arcp__agent_call_unref(call);
}

static arcp_agent_call *call_new(arcp_runtime *runtime, arcp__agent_entry *entry, arcp__job *job,
                                 arcp_span start)
{
    arcp_agent_call *call = arcp__alloc(sizeof(*call));
    if (call == NULL) {
        return NULL;
    }
    arcp_json_limits limits = {512, 1000000, SIZE_MAX};
    atomic_init(&call->refs, 1);
    call->runtime = runtime;
    call->entry = entry;
    call->job = job;
    call->port.authority = arcp_authority_ref(arcp__job_authority(job));
    call->port.gates = arcp__engine_gates(runtime->engine);
    arcp_span id = arcp_span_first(arcp__job_id(job), sizeof(call->job_id) - 1);
    memcpy(call->job_id, id.data, id.size);
    call->start_text.secret = true;
    arcp_buf_append(&call->start_text, start);
    if (call->start_text.failed ||
        arcp_json_scan(&call->start, arcp_buf_span(&call->start_text), &limits, NULL) != ARCP_OK) {
        arcp__agent_call_unref(call);
        return NULL;
    }
    call->payload = arcp_json_member(&call->start, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
    return call;
}

static void start(arcp_runtime *runtime, arcp__agent_entry *entry, arcp__job *job, arcp_span line)
{
    arcp_agent_call *call = call_new(runtime, entry, job, line);
    runtime->is_dirty = true;
    if (call == NULL) {
        arcp__engine_agent_started(runtime->engine, arcp__clock_now(), job, ARCP_E_NO_MEMORY,
                                   ARCP_SPAN_LITERAL("out of memory"));
        return;
    }
    arcp__job_set_user(job, call);
    arcp__engine_agent_started(runtime->engine, arcp__clock_now(), job, ARCP_OK,
                               arcp_span_make(NULL, 0));
    arcp__agent_call_ref(call); /* the agent's */
    if (entry->callback.kind == ARCP_AGENT_NON_BLOCKING) {
        entry->callback.run(call, entry->callback.user);
        return;
    }
    if (!arcp__agent_threads_run(runtime->threads, run_blocking, call)) {
        arcp_agent_fail(call, ARCP_E_INTERNAL_ERROR, "no thread can be had for the agent",
                        arcp_span_make(NULL, 0));
        arcp__agent_call_unref(call);
    }
}

static void take_credentials(arcp_agent_call *call, arcp_span line)
{
    arcp_json json = ARCP_JSON_INIT;
    const arcp_json_limits limits = {64, 1000, SIZE_MAX};
    if (arcp_json_scan(&json, line, &limits, NULL) == ARCP_OK) {
        arcp_json_ref payload =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
        arcp_json_ref list = arcp_json_member(&json, payload, ARCP_SPAN_LITERAL("credentials"));
        arcp_secret *fresh = arcp_secret_new(arcp_json_raw(&json, list));
        if (fresh != NULL) {
            arcp__agent_inbox_lock(call->runtime->inbox);
            arcp_secret *old = call->credentials;
            call->credentials = fresh;
            arcp__agent_inbox_unlock(call->runtime->inbox);
            arcp_secret_free(old);
        }
    }
    arcp_json_fini(&json);
}

/* A call that waits for a reply asked for one; credentials are replaced unasked. */
static void take_line(arcp_runtime *runtime, arcp__job *job, arcp_span line)
{
    arcp_agent_call *call = arcp__job_user(job);
    if (call == NULL) {
        return;
    }
    if (arcp_span_starts_with(line, ARCP_SPAN_LITERAL("{\"type\":\"job.credentials\""))) {
        take_credentials(call, line);
        return;
    }
    arcp__agent_inbox_lock(runtime->inbox);
    arcp_buf_clear(&call->reply);
    arcp_buf_append(&call->reply, line);
    call->has_reply = true;
    arcp__agent_inbox_unlock(runtime->inbox);
}

static void cancel(arcp_runtime *runtime, arcp__job *job, arcp_span line)
{
    (void)runtime;
    (void)line;
    arcp_agent_call *call = arcp__job_user(job);
    if (call != NULL) {
        atomic_store(&call->cancelled, true);
        arcp__agent_call_tell(call, call->entry->callback.cancelled);
    }
}

/* A thread cannot be killed: from here on everything the agent tries fails. */
static void kill_agent(arcp_runtime *runtime, arcp__job *job)
{
    arcp_agent_call *call = arcp__job_user(job);
    if (call != NULL) {
        arcp__agent_inbox_lock(runtime->inbox);
        arcp__job_port_end(&call->port);
        atomic_store(&call->cancelled, true);
        arcp__agent_inbox_unlock(runtime->inbox);
    }
}

static void pause_agent(arcp_runtime *runtime, arcp__job *job, bool paused)
{
    arcp_agent_call *call = arcp__job_user(job);
    if (call == NULL) {
        return;
    }
    arcp__agent_inbox_lock(runtime->inbox);
    atomic_store(&call->paused, paused);
    arcp__agent_inbox_unlock(runtime->inbox);
    if (!paused) {
        (void)uv_async_send(&runtime->wake); /* which tells it that there is room, if it asked */
    }
}

static void forget(arcp_runtime *runtime, arcp__job *job)
{
    arcp_agent_call *call = arcp__job_user(job);
    if (call != NULL) {
        kill_agent(runtime, job);
        arcp__job_set_user(job, NULL);
        call->job = NULL;
        arcp__agent_call_unref(call);
    }
}

const arcp__agent_host_ops arcp__agent_callback_host = {
    .start = start,
    .line = take_line,
    .cancel = cancel,
    .kill = kill_agent,
    .pause = pause_agent,
    .forget = forget,
};
