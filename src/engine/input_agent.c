/* The inputs about agents. */
#include "engine/state.h"

void arcp__engine_agent_started(arcp__engine *engine, arcp_time now, arcp__job *job,
                                arcp_status status, arcp_span message)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_AGENT_STARTED, .now = now, .job = job,
                 .numbers = {(uint64_t)status}, .texts = {message});
    if (arcp__engine_begin(engine, now)) {
        arcp__job_agent_started(&engine->jobs, job, status, message);
        arcp__engine_settle(engine);
    }
}

/* Any input from an agent shows that it runs, even when its host, which may be slow or remote,
 * reports the start later. */
static bool begin_agent_input(arcp__engine *engine, arcp_time now, arcp__job *job)
{
    const bool is_alive = arcp__engine_begin(engine, now);
    if (is_alive && job->live != NULL) {
        job->live->last_input_ns = engine->context.now.mono_ns;
    }
    if (is_alive && job->agent_state == ARCP__AGENT_STARTING) {
        arcp__job_agent_started(&engine->jobs, job, ARCP_OK, arcp_span_make(NULL, 0));
    }
    return is_alive;
}

void arcp__engine_agent_line(arcp__engine *engine, arcp_time now, arcp__job *job, uint64_t item,
                             arcp_span text)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_AGENT_LINE, .now = now, .job = job, .numbers = {item},
                 .texts = {text});
    if (begin_agent_input(engine, now, job)) {
        arcp__job_agent_line(&engine->jobs, job, item, text);
        arcp__engine_settle(engine);
    }
}

void arcp__engine_agent_line_too_long(arcp__engine *engine, arcp_time now, arcp__job *job,
                                      uint64_t item)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_AGENT_LINE_TOO_LONG, .now = now, .job = job,
                 .numbers = {item});
    if (begin_agent_input(engine, now, job)) {
        arcp__job_agent_line_too_long(&engine->jobs, job, item);
        arcp__engine_settle(engine);
    }
}

void arcp__engine_agent_log(arcp__engine *engine, arcp_time now, arcp__job *job, uint64_t item,
                            const char *level, arcp_span text)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_AGENT_LOG, .now = now, .job = job, .numbers = {item},
                 .texts = {arcp_span_cstr(level), text});
    if (begin_agent_input(engine, now, job)) {
        arcp__job_agent_log(&engine->jobs, job, item, level, text);
        arcp__engine_settle(engine);
    }
}

void arcp__engine_agent_noted(arcp__engine *engine, arcp_time now, arcp__job *job, uint64_t item)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_AGENT_NOTED, .now = now, .job = job, .numbers = {item});
    if (begin_agent_input(engine, now, job)) {
        arcp__job_agent_noted(&engine->jobs, job, item);
        arcp__engine_settle(engine);
    }
}

void arcp__engine_agent_output(arcp__engine *engine, arcp_time now, arcp__job *job, uint64_t end,
                               arcp_span bytes)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_AGENT_OUTPUT, .now = now, .job = job, .numbers = {end},
                 .texts = {bytes});
    if (begin_agent_input(engine, now, job)) {
        arcp__job_plain_output(&engine->jobs, job, end, bytes);
        arcp__engine_settle(engine);
    }
}

void arcp__engine_agent_error_line(arcp__engine *engine, arcp_time now, arcp__job *job,
                                   uint64_t number, arcp_span text, bool is_shown)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_AGENT_ERROR_LINE, .now = now, .job = job,
                 .numbers = {number, is_shown}, .texts = {text});
    if (begin_agent_input(engine, now, job)) {
        arcp__job_plain_error(&engine->jobs, job, number, text, is_shown);
        arcp__engine_settle(engine);
    }
}

void arcp__engine_agent_stderr(arcp__engine *engine, arcp_time now, arcp__job *job, arcp_span line,
                               bool is_shown)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_AGENT_STDERR, .now = now, .job = job,
                 .numbers = {is_shown}, .texts = {line});
    if (arcp__engine_begin(engine, now)) {
        arcp__job_stderr_add(&engine->jobs, job, line, is_shown);
        arcp__engine_settle(engine);
    }
}

void arcp__engine_agent_message(arcp__engine *engine, arcp_time now, arcp__job *job,
                                const arcp__job_message *message)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_FOREIGN, .now = now, .job = job);
    if (begin_agent_input(engine, now, job)) {
        arcp__job_agent_message(&engine->jobs, job, message);
        arcp__engine_settle(engine);
    }
}

void arcp__engine_agent_denied(arcp__engine *engine, arcp_time now, arcp__job *job, uint64_t item,
                               const arcp__denial *denial)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_AGENT_DENIED, .now = now, .job = job,
                 .numbers = {(uint64_t)denial->layer, (uint64_t)denial->code, denial->pid,
                             denial->count, item},
                 .texts = {denial->capability, denial->target, denial->reason, denial->program});
    if (begin_agent_input(engine, now, job)) {
        arcp__job_agent_denied(&engine->jobs, job, item, denial);
        arcp__engine_settle(engine);
    }
}

void arcp__engine_get_kept(const arcp__engine *engine, arcp__job *job, arcp__job_kept *out)
{
    arcp__job_get_kept(&engine->jobs, job, out);
}

void arcp__engine_agent_exited(arcp__engine *engine, arcp_time now, arcp__job *job,
                               const arcp__agent_exit *end)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_AGENT_EXITED, .now = now, .job = job,
                 .numbers = {end->by_signal, (uint64_t)end->code, end->has_run_out, end->is_shared,
                             end->ended_by},
                 .texts = {end->stderr_tail, end->failed_step, end->failure});
    /* A program whose sandbox could not be made never ran. */
    if (end->failed_step.size != 0 ? arcp__engine_begin(engine, now)
                                   : begin_agent_input(engine, now, job)) {
        arcp__job_agent_exited(&engine->jobs, job, end);
        arcp__engine_settle(engine);
    }
}
