/* Callback agents, the loop's side: starts them and passes on what the engine decides. */
#include "base/alloc.h"
#include "runtime/agent_call.h"

static void start(arcp_runtime *runtime, arcp__agent_entry *entry, arcp__job *job, arcp_span line)
{
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    arcp_agent_call *call = arcp__alloc(sizeof *call);
    bool is_made = call != NULL;
    if (call != NULL) {
        atomic_init(&call->refs, 1);
        call->runtime = runtime;
        call->entry = entry;
        call->job = job;
        call->port.authority = arcp_authority_ref(job->live->authority);
        call->port.gates = arcp__engine_gates(arcp__engine_of(job));
        memcpy(call->job_id, job->id, sizeof job->id);
        call->start_text.secret = true;
        arcp_buf_append(&call->start_text, line);
        is_made = !call->start_text.failed &&
                  arcp_json_scan(&call->start, arcp_buf_span(&call->start_text), &limits, NULL) ==
                      ARCP_OK;
    }
    if (!is_made) {
        arcp__agent_call_unref(call);
        arcp__engine_agent_started(arcp__engine_of(job), arcp__input_of(job), job, ARCP_E_NO_MEMORY,
                                   ARCP_SPAN_LITERAL("out of memory"));
        return;
    }
    call->payload = arcp_json_member(&call->start, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
    job->live->user = call;
    arcp__engine_agent_started(arcp__engine_of(job), arcp__input_of(job), job, ARCP_OK,
                               arcp_span_make(NULL, 0));
    arcp__agent_call_ref(call); /* for the agent */
    if (entry->callback.kind == ARCP_AGENT_NON_BLOCKING) {
        entry->callback.run(call, entry->callback.user);
    } else if (!arcp__agent_threads_run(call)) {
        arcp_agent_fail(call, ARCP_E_INTERNAL_ERROR, "cannot create a thread for the agent",
                        arcp_span_make(NULL, 0));
        arcp__agent_call_unref(call);
    }
}

/* Every line is the reply that the call waits for, except job.credentials, which replaces the
 * credentials at any time. */
static void take_line(void *agent, uint64_t at, uint64_t item, arcp_span line)
{
    arcp_agent_call *call = agent;
    arcp__agent_inbox *inbox = &call->runtime->inbox;
    if (!arcp_span_starts_with(line, ARCP_SPAN_LITERAL("{\"type\":\"job.credentials\""))) {
        arcp__agent_inbox_lock(inbox);
        arcp_buf_clear(&call->reply);
        arcp_buf_append(&call->reply, line);
        call->has_reply = true;
        arcp__agent_inbox_unlock(inbox);
        return;
    }
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = {64, 1000, SIZE_MAX};
    if (arcp_json_scan(&json, line, &limits, NULL) == ARCP_OK) {
        const arcp_json_ref payload =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
        const arcp_json_ref list =
            arcp_json_member(&json, payload, ARCP_SPAN_LITERAL("credentials"));
        arcp_secret *fresh = arcp_secret_new(arcp_json_raw(&json, list));
        arcp_secret *old = fresh;
        if (fresh != NULL) {
            arcp__agent_inbox_lock(inbox);
            old = call->credentials;
            call->credentials = fresh;
            arcp__agent_inbox_unlock(inbox);
        }
        arcp_secret_free(old);
    }
    arcp__json_fini(&json);
}

static void cancel(void *agent, uint64_t at, uint64_t item, arcp_span line)
{
    arcp_agent_call *call = agent;
    const arcp_agent *callback = &call->entry->callback;
    atomic_store(&call->cancelled, true);
    if (callback->cancelled != NULL && !atomic_load(&call->is_done)) {
        callback->cancelled(call, callback->user);
    }
}

/* A thread cannot be killed. Instead, all calls of the agent fail from now on. */
static void kill_agent(void *agent, bool at_once)
{
    arcp_agent_call *call = agent;
    (void)at_once;
    arcp__agent_inbox_lock(&call->runtime->inbox);
    arcp__job_port_end(&call->port);
    atomic_store(&call->cancelled, true);
    arcp__agent_inbox_unlock(&call->runtime->inbox);
}

static void pause_agent(void *agent, bool paused)
{
    arcp_agent_call *call = agent;
    arcp__agent_inbox_lock(&call->runtime->inbox);
    atomic_store(&call->paused, paused);
    arcp__agent_inbox_unlock(&call->runtime->inbox);
    if (!paused) {
        (void)uv_async_send(&call->runtime->wake); /* calls `drained` if it awaits room */
    }
}

static void forget(void *agent)
{
    arcp_agent_call *call = agent;
    kill_agent(call, true);
    call->job->live->user = NULL;
    call->job = NULL;
    arcp__agent_call_unref(call);
}

const arcp__agent_host_ops arcp__agent_callback_host = {
    .start = start,
    .line = take_line,
    .cancel = cancel,
    .kill = kill_agent,
    .pause = pause_agent,
    .forget = forget,
};
