/* What the handles tell. */
#include "base/alloc.h"
#include "client/client_driver.h"
#include "client/client_job.h"

arcp_feature_set arcp_client_features(arcp_client *client)
{
    arcp__client_lock(client);
    arcp_feature_set features = client->session->features;
    arcp__client_unlock(client);
    return features;
}

arcp_status arcp_client_session_state(arcp_client *client, arcp_buf *storage,
                                      arcp_session_state *out, arcp_error *err)
{
    arcp__client_lock(client);
    arcp_span id = arcp_buf_span(&client->session->id);
    arcp_span token = arcp__client_session_resume_token(client->session);
    arcp_status status = ARCP_OK;
    arcp_buf_clear(storage);
    storage->secret = true;
    if (id.size == 0 || token.size == 0) {
        status = arcp_error_set(err, ARCP_E_NOT_FOUND, "there is no session to resume");
    } else {
        arcp_buf_append(storage, id);
        arcp_buf_append(storage, token);
        status = arcp_buf_status(storage);
    }
    if (status == ARCP_OK) {
        out->session_id = arcp_span_make(storage->data, id.size);
        out->resume_token = arcp_span_make(storage->data + id.size, token.size);
        out->last_event_seq = client->session->handed_seq;
    } else if (status == ARCP_E_NO_MEMORY) {
        (void)arcp_error_set(err, status, "out of memory");
    }
    arcp__client_unlock(client);
    return status;
}

arcp_status arcp_client_welcome(arcp_client *client, arcp_buf *out, arcp_error *err)
{
    arcp__client_lock(client);
    arcp_span welcome = arcp_buf_span(&client->session->welcome);
    arcp_buf_append(out, welcome);
    arcp__client_unlock(client);
    if (welcome.size == 0) {
        return arcp_error_set(err, ARCP_E_NOT_FOUND, "there was no welcome yet");
    }
    return arcp_buf_status(out) == ARCP_OK ? ARCP_OK
                                           : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

/* ---- agents ---- */

/* Room for the versions of one agent; grows. */
typedef struct version_list {
    arcp_span *spans;
    size_t capacity;
} version_list;

static bool read_versions(const arcp_json *json, arcp_json_ref list, arcp_buf *scratch,
                          version_list *room, arcp_agent_row *agent)
{
    size_t count = arcp_json_is(json, list, ARCP_JSON_ARRAY) ? arcp_json_count(json, list) : 0;
    if (count > room->capacity) {
        arcp_span *grown = arcp__realloc_array(room->spans, count, sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        room->spans = grown;
        room->capacity = count;
    }
    agent->versions = room->spans;
    agent->version_count = 0;
    for (arcp_json_ref at = count == 0 ? ARCP_JSON_ABSENT : arcp_json_first(json, list);
         at != ARCP_JSON_ABSENT; at = arcp_json_next(json, list, at)) {
        if (arcp_json_is(json, at, ARCP_JSON_STRING)) {
            room->spans[agent->version_count++] = arcp_json_string(json, at, scratch);
        }
    }
    return true;
}

/* Agents are objects, or names alone. */
static bool read_agent(const arcp_json *json, arcp_json_ref ref, arcp_buf *scratch,
                       version_list *room, arcp_agent_row *agent)
{
    *agent = (arcp_agent_row){.name = arcp_json_string(json, ref, scratch)};
    if (arcp_json_is(json, ref, ARCP_JSON_OBJECT)) {
        agent->name =
            arcp_json_string(json, arcp_json_member(json, ref, ARCP_SPAN_LITERAL("name")), scratch);
        agent->default_version = arcp_json_string(
            json, arcp_json_member(json, ref, ARCP_SPAN_LITERAL("default")), scratch);
    }
    return read_versions(json, arcp_json_member(json, ref, ARCP_SPAN_LITERAL("versions")), scratch,
                         room, agent);
}

static arcp_status each_agent(arcp_span welcome,
                              void (*each)(void *user, const arcp_agent_row *agent), void *user)
{
    arcp_json json = ARCP_JSON_INIT;
    const arcp_json_limits limits = {64, 10000, UINT32_MAX};
    arcp_buf scratch = ARCP_BUF_INIT;
    version_list room = {NULL, 0};
    arcp_status status = ARCP_E_NO_MEMORY;
    /* Room for all strings, so that no read fails. */
    if (arcp_buf_reserve(&scratch, welcome.size) &&
        arcp_json_scan(&json, welcome, &limits, NULL) == ARCP_OK) {
        arcp_json_ref capabilities =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("capabilities"));
        arcp_json_ref list = arcp_json_member(&json, capabilities, ARCP_SPAN_LITERAL("agents"));
        arcp_json_ref at = arcp_json_is(&json, list, ARCP_JSON_ARRAY) ? arcp_json_first(&json, list)
                                                                      : ARCP_JSON_ABSENT;
        status = ARCP_OK;
        for (; at != ARCP_JSON_ABSENT && status == ARCP_OK; at = arcp_json_next(&json, list, at)) {
            arcp_agent_row agent;
            if (!read_agent(&json, at, &scratch, &room, &agent)) {
                status = ARCP_E_NO_MEMORY;
            } else if (agent.name.size != 0) {
                each(user, &agent);
            }
        }
    }
    arcp__free(room.spans);
    arcp_buf_fini(&scratch);
    arcp_json_fini(&json);
    return status;
}

arcp_status arcp_client_agents(arcp_client *client,
                               void (*each)(void *user, const arcp_agent_row *agent), void *user,
                               arcp_error *err)
{
    arcp_buf welcome = ARCP_BUF_INIT;
    arcp_status status = arcp_client_welcome(client, &welcome, err);
    if (status == ARCP_OK) {
        status = each_agent(arcp_buf_span(&welcome), each, user);
        if (status != ARCP_OK) {
            (void)arcp_error_set(err, status, "out of memory");
        }
    }
    arcp_buf_fini(&welcome);
    return status;
}

/* ---- jobs ---- */

static arcp_client *lock_job(const arcp_job *job)
{
    arcp_client *client = job->owner;
    if (client != NULL) {
        arcp__client_lock(client);
    }
    return client;
}

static void unlock_job(arcp_client *client)
{
    if (client != NULL) {
        arcp__client_unlock(client);
    }
}

arcp_job *arcp_job_ref(arcp_job *job)
{
    arcp__client_job_hold_handle(job);
    return job;
}

void arcp_job_release(arcp_job *job)
{
    if (job == NULL) {
        return;
    }
    arcp_client *client = lock_job(job);
    arcp__client_job_hold(job);
    arcp__client_job_drop_handle(job);
    if (atomic_load(&job->handles) == 0) {
        arcp__client_item_free(job->current);
        job->current = NULL;
        if (client != NULL && client->has_thread && !client->given->observe_all) {
            arcp__client_drop_unread(client, job);
        }
        arcp__client_session_reap(job);
    }
    arcp__client_job_drop(job);
    unlock_job(client);
}

static arcp_span tell(const arcp_job *job, const arcp_span *what)
{
    arcp_client *client = lock_job(job);
    arcp_span text = *what;
    unlock_job(client);
    return text;
}

arcp_span arcp_job_id(const arcp_job *job)
{
    return job->id;
}

arcp_span arcp_job_agent(const arcp_job *job)
{
    return tell(job, &job->agent);
}

arcp_span arcp_job_lease(const arcp_job *job)
{
    return tell(job, &job->lease);
}

arcp_span arcp_job_constraints(const arcp_job *job)
{
    return tell(job, &job->constraints);
}

arcp_span arcp_job_trace_id(const arcp_job *job)
{
    return tell(job, &job->trace_id);
}

arcp_span arcp_job_parent_id(const arcp_job *job)
{
    return tell(job, &job->parent_id);
}

arcp_span arcp_job_delegate_id(const arcp_job *job)
{
    return tell(job, &job->delegate_id);
}

arcp_span arcp_job_descriptor(const arcp_job *job)
{
    return tell(job, &job->descriptor);
}

void *arcp_job_user(const arcp_job *job)
{
    return job->user;
}

void arcp_job_set_user(arcp_job *job, void *user)
{
    job->user = user;
}

arcp_job_status arcp_job_current_status(arcp_job *job)
{
    arcp_client *client = lock_job(job);
    arcp_job_status status = job->status;
    unlock_job(client);
    return status;
}

const arcp_outcome *arcp_job_outcome(arcp_job *job)
{
    return atomic_load(&job->over) ? &job->outcome : NULL;
}

bool arcp_job_budget_at(arcp_job *job, size_t index, arcp_job_budget *out)
{
    arcp_client *client = lock_job(job);
    bool exists = index < job->budget_count;
    if (exists) {
        *out = job->budgets[index];
    }
    unlock_job(client);
    return exists;
}

/* [arcp:9.8.2-14] [arcp:9.8.2-15] */
size_t arcp_job_take_credentials(arcp_job *job,
                                 void (*visit)(void *user, const arcp_credential *credential),
                                 void *user)
{
    arcp_client *client = lock_job(job);
    arcp_secret *kept = job->credentials;
    job->credentials = NULL;
    unlock_job(client);
    size_t count = kept == NULL ? 0 : arcp__client_credentials_visit(kept, visit, user);
    arcp_secret_free(kept);
    return count;
}
