/* The calls of a trace that report what agents say and how they end, and about workers. */
#include "replay/player.h"

/* The job that a call names; not NULL (arcp__player_agent_call). */
static arcp__job *job_of(const arcp__player *p, const arcp__recording_call *call)
{
    return arcp__recorder_job(p->recorder, call->job);
}

static void agent_started(arcp__player *p, const arcp__recording_call *call)
{
    arcp__job *job = job_of(p, call);
    arcp__engine_agent_started(p->engine, call->now, job, (arcp_status)call->numbers[0],
                               call->texts[0]);
}

static void agent_line(arcp__player *p, const arcp__recording_call *call)
{
    arcp__job *job = job_of(p, call);
    arcp__engine_agent_line(p->engine, call->now, job, call->numbers[0], call->texts[0]);
}

static void agent_line_too_long(arcp__player *p, const arcp__recording_call *call)
{
    arcp__job *job = job_of(p, call);
    arcp__engine_agent_line_too_long(p->engine, call->now, job, call->numbers[0]);
}

static void agent_output(arcp__player *p, const arcp__recording_call *call)
{
    arcp__job *job = job_of(p, call);
    arcp__engine_agent_output(p->engine, call->now, job, call->numbers[0], call->texts[0]);
}

static void agent_log(arcp__player *p, const arcp__recording_call *call)
{
    arcp__job *job = job_of(p, call);
    arcp__engine_agent_log(p->engine, call->now, job, call->numbers[0],
                           arcp__player_keep(p, call->texts[0]), call->texts[1]);
}

static void agent_noted(arcp__player *p, const arcp__recording_call *call)
{
    arcp__job *job = job_of(p, call);
    arcp__engine_agent_noted(p->engine, call->now, job, call->numbers[0]);
}

static void agent_error_line(arcp__player *p, const arcp__recording_call *call)
{
    arcp__job *job = job_of(p, call);
    arcp__engine_agent_error_line(p->engine, call->now, job, call->numbers[0], call->texts[0],
                                  call->numbers[1] != 0);
}

static void agent_stderr(arcp__player *p, const arcp__recording_call *call)
{
    arcp__job *job = job_of(p, call);
    arcp__engine_agent_stderr(p->engine, call->now, job, call->texts[0], call->numbers[0] != 0);
}

static void agent_exited(arcp__player *p, const arcp__recording_call *call)
{
    arcp__job *job = job_of(p, call);
    const arcp__agent_exit exit = {.by_signal = call->numbers[0] != 0,
                                   .code = (int)call->numbers[1],
                                   .stderr_tail = call->texts[0],
                                   .failed_step = call->texts[1],
                                   .failure = call->texts[2],
                                   .has_run_out = call->numbers[2] != 0,
                                   .is_shared = call->numbers[3] != 0,
                                   .ended_by = (arcp__agent_ended_by)call->numbers[4]};
    arcp__engine_agent_exited(p->engine, call->now, job, &exit);
}

static void agent_denied(arcp__player *p, const arcp__recording_call *call)
{
    arcp__job *job = job_of(p, call);
    const arcp__denial denial = {.layer = (arcp__denial_layer)call->numbers[0],
                                 .code = (arcp_status)call->numbers[1],
                                 .pid = call->numbers[2],
                                 .count = call->numbers[3],
                                 .capability = call->texts[0],
                                 .target = call->texts[1],
                                 .reason = call->texts[2],
                                 .program = call->texts[3]};
    arcp__engine_agent_denied(p->engine, call->now, job, call->numbers[4], &denial);
}

static void (*const calls[])(arcp__player *p, const arcp__recording_call *call) = {
    [0] = agent_started,
    [ARCP__CALL_AGENT_LINE - ARCP__CALL_AGENT_STARTED] = agent_line,
    [ARCP__CALL_AGENT_LINE_TOO_LONG - ARCP__CALL_AGENT_STARTED] = agent_line_too_long,
    [ARCP__CALL_AGENT_OUTPUT - ARCP__CALL_AGENT_STARTED] = agent_output,
    [ARCP__CALL_AGENT_LOG - ARCP__CALL_AGENT_STARTED] = agent_log,
    [ARCP__CALL_AGENT_NOTED - ARCP__CALL_AGENT_STARTED] = agent_noted,
    [ARCP__CALL_AGENT_ERROR_LINE - ARCP__CALL_AGENT_STARTED] = agent_error_line,
    [ARCP__CALL_AGENT_STDERR - ARCP__CALL_AGENT_STARTED] = agent_stderr,
    [ARCP__CALL_AGENT_EXITED - ARCP__CALL_AGENT_STARTED] = agent_exited,
    [ARCP__CALL_AGENT_DENIED - ARCP__CALL_AGENT_STARTED] = agent_denied,
};

void arcp__player_agent_call(arcp__player *p, const arcp__recording_call *call)
{
    if (job_of(p, call) == NULL) {
        arcp__player_end_damaged(p, "it names a job that there is not");
    } else {
        calls[call->kind - ARCP__CALL_AGENT_STARTED](p, call);
    }
}

/* ---- workers ---- */

void arcp__player_agent_got(arcp__player *p, const arcp__recording_call *call)
{
    arcp__job *job = arcp__recorder_job(p->recorder, call->job);
    if (job == NULL) {
        arcp__player_end_damaged(p, "it names a job that there is not");
    } else {
        arcp__engine_agent_got(p->engine, call->now, job, call->numbers[0]);
    }
}

void arcp__player_set_worker_directory(arcp__player *p, const arcp__recording_call *call)
{
    const arcp_status status = arcp__engine_set_worker_directory(p->engine, call->texts[0], NULL);
    p->has_no_memory = p->has_no_memory || status != ARCP_OK;
}

static arcp__worker_life life_of(const arcp__recording_call *call)
{
    return (arcp__worker_life){call->texts[0], call->texts[1]};
}

void arcp__player_worker_joins(arcp__player *p, const arcp__recording_call *call)
{
    static arcp__worker_agent agents[ARCP__WORKER_AGENTS_MAX];
    static const char *allowed[ARCP__WORKER_AGENTS_MAX];
    arcp__recording_fields more = call->more;
    arcp__worker_intro intro = {.life = life_of(call),
                                .version = call->texts[2],
                                .boot_id = call->texts[3],
                                .pid = call->numbers[0],
                                .capacity = call->numbers[1],
                                .drains_ms = call->numbers[4],
                                .agents = agents,
                                .allowed = allowed};
    if (call->numbers[2] > ARCP__WORKER_AGENTS_MAX || call->numbers[3] > ARCP__WORKER_AGENTS_MAX) {
        arcp__player_end_damaged(p, "a worker offers too many agents");
        return;
    }
    intro.work = arcp__recording_text(&more);
    for (; intro.agent_count < call->numbers[2]; intro.agent_count++) {
        arcp__worker_agent *agent = &agents[intro.agent_count];
        *agent = (arcp__worker_agent){.host = p};
        agent->name = arcp__recording_text(&more);
        agent->version = arcp__recording_text(&more);
        agent->mode = arcp__recording_text(&more);
        agent->cwd = arcp__recording_text(&more);
        agent->max_jobs = arcp__recording_number(&more);
        const arcp_span hash = arcp__recording_text(&more);
        if (hash.size == sizeof agent->hash) {
            memcpy(agent->hash, hash.data, hash.size);
        }
    }
    for (; intro.allowed_count < call->numbers[3]; intro.allowed_count++) {
        allowed[intro.allowed_count] = arcp__player_keep(p, arcp__recording_text(&more));
    }
    if (arcp__player_is_read(p, &more)) {
        (void)arcp__engine_worker_joins(p->engine, call->now, &intro);
    }
}

void arcp__player_worker_claims(arcp__player *p, const arcp__recording_call *call)
{
    const arcp__worker_life life = {call->texts[0], call->texts[2]};
    const arcp__worker_claim claim = {.items_first = call->numbers[0],
                                      .stored = call->numbers[1],
                                      .bytes_first = call->numbers[2],
                                      .errors_first = call->numbers[3],
                                      .at = call->numbers[4],
                                      .job = call->texts[1]};
    arcp__job *job = NULL;
    (void)arcp__engine_worker_claims(p->engine, call->now, life, &claim, p, &job);
}

void arcp__player_worker_ready(arcp__player *p, const arcp__recording_call *call)
{
    arcp__engine_worker_ready(p->engine, call->now, life_of(call));
}

void arcp__player_worker_away(arcp__player *p, const arcp__recording_call *call)
{
    arcp__engine_worker_away(p->engine, call->now, life_of(call));
}

void arcp__player_worker_lost(arcp__player *p, const arcp__recording_call *call)
{
    arcp__engine_worker_lost(p->engine, call->now, life_of(call));
}

void arcp__player_worker_too_old(arcp__player *p, const arcp__recording_call *call)
{
    arcp__engine_worker_too_old(p->engine, call->now, life_of(call));
}

void arcp__player_worker_drains(arcp__player *p, const arcp__recording_call *call)
{
    arcp__engine_worker_drains(p->engine, call->now, life_of(call));
}

void arcp__player_agent_refused(arcp__player *p, const arcp__recording_call *call)
{
    arcp__job *job = arcp__recorder_job(p->recorder, call->job);
    if (job == NULL) {
        arcp__player_end_damaged(p, "it names a job that there is not");
    } else {
        arcp__engine_agent_refused(p->engine, call->now, job);
    }
}
