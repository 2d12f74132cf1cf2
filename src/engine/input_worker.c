/* The inputs about workers. */
#include "engine/state.h"

arcp_status arcp__engine_set_worker_directory(arcp__engine *engine, arcp_span directory,
                                              arcp_error *err)
{
    char *copy = arcp__copy_cstr(directory.data, directory.size);
    ARCP__RECORD(engine, .kind = ARCP__CALL_SET_WORKER_DIRECTORY, .texts = {directory});
    if (copy == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp__free(engine->jobs.worker_directory);
    engine->jobs.worker_directory = copy;
    return ARCP_OK;
}

bool arcp__engine_worker_joins(arcp__engine *engine, arcp_time now, const arcp__worker_intro *intro)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_WORKER_JOINS, .now = now,
                 .numbers = {intro->pid, intro->capacity, intro->agent_count, intro->allowed_count,
                             intro->drains_ms},
                 .texts = {intro->life.name, intro->life.instance, intro->version, intro->boot_id},
                 .what = intro);
    if (!arcp__engine_begin(engine, now)) {
        return arcp__record_bool(engine, false);
    }
    const bool has_joined = arcp__worker_joins(&engine->jobs, intro);
    arcp__engine_settle(engine);
    return arcp__record_bool(engine, has_joined);
}

arcp__claim_answer arcp__engine_worker_claims(arcp__engine *engine, arcp_time now,
                                              arcp__worker_life life,
                                              const arcp__worker_claim *claim, void *host,
                                              arcp__job **job)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_WORKER_CLAIMS, .now = now,
                 .numbers = {claim->items_first, claim->stored, claim->bytes_first,
                             claim->errors_first, claim->at},
                 .texts = {life.name, claim->job, life.instance});
    arcp__claim_answer answer = ARCP__CLAIM_FORGET;
    if (arcp__engine_begin(engine, now)) {
        answer = arcp__worker_claims(&engine->jobs, life, claim, host, job);
        arcp__engine_settle(engine);
    }
    ARCP__RECORD(engine, .kind = ARCP__CALL_CLAIM,
                 .job = answer == ARCP__CLAIM_FORGET ? NULL : *job, .numbers = {(uint64_t)answer});
    return answer;
}

static void tell(arcp__engine *engine, arcp_time now, arcp__call_kind kind, arcp__worker_life life,
                 void (*act)(arcp__jobs *jobs, arcp__worker_life life))
{
    ARCP__RECORD(engine, .kind = kind, .now = now, .texts = {life.name, life.instance});
    if (arcp__engine_begin(engine, now)) {
        act(&engine->jobs, life);
        arcp__engine_settle(engine);
    }
}

void arcp__engine_worker_ready(arcp__engine *engine, arcp_time now, arcp__worker_life life)
{
    tell(engine, now, ARCP__CALL_WORKER_READY, life, arcp__worker_ready);
}

void arcp__engine_worker_away(arcp__engine *engine, arcp_time now, arcp__worker_life life)
{
    tell(engine, now, ARCP__CALL_WORKER_AWAY, life, arcp__worker_away);
}

void arcp__engine_worker_lost(arcp__engine *engine, arcp_time now, arcp__worker_life life)
{
    tell(engine, now, ARCP__CALL_WORKER_LOST, life, arcp__worker_lost);
}

void arcp__engine_worker_too_old(arcp__engine *engine, arcp_time now, arcp__worker_life life)
{
    tell(engine, now, ARCP__CALL_WORKER_TOO_OLD, life, arcp__worker_too_old);
}

void arcp__engine_worker_drains(arcp__engine *engine, arcp_time now, arcp__worker_life life)
{
    tell(engine, now, ARCP__CALL_WORKER_DRAINS, life, arcp__worker_drains);
}

void arcp__engine_agent_refused(arcp__engine *engine, arcp_time now, arcp__job *job)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_AGENT_REFUSED, .now = now, .job = job);
    if (arcp__engine_begin(engine, now)) {
        arcp__worker_refused_busy(&engine->jobs, job);
        arcp__engine_settle(engine);
    }
}

bool arcp__engine_worker_view(const arcp__engine *engine, size_t index, arcp__worker_view *out)
{
    return arcp__worker_get_view(&engine->jobs, index, out);
}

bool arcp__engine_worker_agent_view(const arcp__engine *engine, size_t index, size_t agent,
                                    arcp__worker_agent_view *out)
{
    return arcp__worker_get_agent_view(&engine->jobs, index, agent, out);
}

void arcp__engine_agent_got(arcp__engine *engine, arcp_time now, arcp__job *job, uint64_t at)
{
    ARCP__RECORD(engine, .kind = ARCP__CALL_AGENT_GOT, .now = now, .job = job, .numbers = {at});
    if (arcp__engine_begin(engine, now)) {
        arcp__worker_has_lines(&engine->jobs, job, at);
    }
}
