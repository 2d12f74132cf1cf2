/* Getters of the handles arcp_client and arcp_job. */
#include "base/alloc.h"
#include "client/client_driver.h"
#include "client/client_job.h"
#include "core/decode.h"

arcp_feature_set arcp_client_features(arcp_client *client)
{
    arcp__client_lock(client);
    const arcp_feature_set features = client->session->features;
    arcp__client_unlock(client);
    return features;
}

arcp_status arcp_client_session_state(arcp_client *client, arcp_buf *storage,
                                      arcp_session_state *out, arcp_error *err)
{
    arcp__client_lock(client);
    const arcp_span id = arcp_buf_span(&client->session->id);
    const arcp_span token = arcp__client_session_resume_token(client->session);
    arcp_status status = ARCP_OK;
    arcp_buf_clear(storage);
    storage->secret = true;
    const bool exists = id.size != 0 && token.size != 0;
    if (exists) {
        arcp_buf_append(storage, id);
        arcp_buf_append_byte(storage, '\0');
        arcp_buf_append(storage, token);
        arcp_buf_append_byte(storage, '\0');
    }
    if (!exists) {
        status = arcp_error_set(err, ARCP_E_NOT_FOUND, "there is no session to resume");
    } else if (storage->failed) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    } else {
        out->session_id = arcp_span_make(storage->data, id.size);
        out->resume_token = arcp_span_make(storage->data + id.size + 1, token.size);
        out->last_event_seq = client->session->handed_seq;
    }
    arcp__client_unlock(client);
    return status;
}

arcp_status arcp_client_welcome(arcp_client *client, arcp_buf *out, arcp_error *err)
{
    arcp__client_lock(client);
    const arcp_span welcome = arcp_buf_span(&client->session->welcome);
    arcp_buf_append(out, welcome);
    arcp__client_unlock(client);
    if (welcome.size == 0) {
        return arcp_error_set(err, ARCP_E_NOT_FOUND, "no welcome has been received yet");
    }
    return arcp_buf_status(out) == ARCP_OK ? ARCP_OK
                                           : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

/* ---- agents ---- */

typedef struct agent {
    arcp_agent_row row;
    arcp_json_ref versions;
} agent;

static const arcp__member agent_rows[] = {
    {ARCP__MEMBER(agent, row.name, "name", LOOSE)},
    {ARCP__MEMBER(agent, row.default_version, "default", LOOSE)},
    {ARCP__MEMBER(agent, versions, "versions", ARRAY)},
    {ARCP__MEMBER(agent, row.is_unconfined, "x-vendor.arcpd.unconfined", BOOL)},
};
static const arcp__members agent_members = ARCP__MEMBERS(agent_rows);

/* `versions` is large enough for any agent. Agents are objects, or plain names. */
static void show_agents(const arcp_json *json, arcp_buf *scratch, arcp_buf *texts,
                        arcp_span *versions, void (*each)(void *user, const arcp_agent_row *agent),
                        void *user)
{
    const arcp_json_ref capabilities =
        arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("capabilities"));
    const arcp_json_ref list = arcp_json_member(json, capabilities, ARCP_SPAN_LITERAL("agents"));
    if (!arcp_json_is(json, list, ARCP_JSON_ARRAY)) {
        return;
    }
    for (arcp_json_ref item = arcp_json_first(json, list); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(json, list, item)) {
        agent in = {.row = {.name = arcp_json_string(json, item, scratch), .versions = versions}};
        (void)!arcp__decode_row(json, scratch, item, &agent_members, &in);
        for (arcp_json_ref version = arcp_json_first(json, in.versions);
             version != ARCP_JSON_ABSENT; version = arcp_json_next(json, in.versions, version)) {
            if (arcp_json_is(json, version, ARCP_JSON_STRING)) {
                versions[in.row.version_count++] =
                    arcp__client_append_text(texts, arcp_json_string(json, version, scratch));
            }
        }
        in.row.name = arcp__client_append_text(texts, in.row.name);
        in.row.default_version = arcp__client_append_text(texts, in.row.default_version);
        if (in.row.name.size != 0) {
            each(user, &in.row);
        }
    }
}

arcp_status arcp_client_agents(arcp_client *client,
                               void (*each)(void *user, const arcp_agent_row *agent), void *user,
                               arcp_error *err)
{
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = ARCP__CLIENT_JSON_LIMITS;
    arcp_buf welcome = arcp_buf_init();
    arcp_buf scratch = arcp_buf_init();
    arcp_buf texts = arcp_buf_init();
    arcp_span *versions = NULL;
    arcp_status status = arcp_client_welcome(client, &welcome, err);
    /* Enough for all strings, so that no read fails. */
    if (status == ARCP_OK && arcp_buf_reserve(&scratch, welcome.size) &&
        arcp_json_scan(&json, arcp_buf_span(&welcome), &limits, NULL) == ARCP_OK) {
        /* A NUL behind each of them: a value has at least one byte, an agent's default none. */
        if (arcp_buf_reserve(&texts, 2 * welcome.size)) {
            versions = arcp__alloc_array(json.count, sizeof *versions);
        }
    }
    if (versions != NULL) {
        show_agents(&json, &scratch, &texts, versions, each, user);
    } else if (status == ARCP_OK) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp__free(versions);
    arcp_buf_fini(&welcome);
    arcp_buf_fini(&scratch);
    arcp_buf_fini(&texts);
    arcp__json_fini(&json);
    return status;
}

/* ---- jobs ---- */

arcp_job *arcp_job_ref(arcp_job *job)
{
    arcp__client_job_hold_handle(job);
    return job;
}

void arcp_job_unref(arcp_job *job)
{
    if (job == NULL) {
        return;
    }
    arcp_client *client = job->owner; /* NULL: it was freed */
    arcp__client_lock(client);
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
    arcp__client_unlock(client);
}

static arcp_span read_locked(const arcp_job *job, const arcp_span *what)
{
    arcp_client *client = job->owner; /* NULL: it was freed */
    arcp__client_lock(client);
    const arcp_span text = *what;
    arcp__client_unlock(client);
    return text;
}

arcp_span arcp_job_id(const arcp_job *job)
{
    return job->id;
}

arcp_span arcp_job_agent(const arcp_job *job)
{
    return read_locked(job, &job->agent);
}

arcp_span arcp_job_lease(const arcp_job *job)
{
    return read_locked(job, &job->lease);
}

arcp_span arcp_job_constraints(const arcp_job *job)
{
    return read_locked(job, &job->constraints);
}

arcp_span arcp_job_trace_id(const arcp_job *job)
{
    return read_locked(job, &job->trace_id);
}

arcp_span arcp_job_parent_id(const arcp_job *job)
{
    return read_locked(job, &job->parent_id);
}

arcp_span arcp_job_delegate_id(const arcp_job *job)
{
    return read_locked(job, &job->delegate_id);
}

arcp_span arcp_job_descriptor(const arcp_job *job)
{
    return read_locked(job, &job->descriptor);
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
    arcp_client *client = job->owner; /* NULL: it was freed */
    arcp__client_lock(client);
    const arcp_job_status status = job->status;
    arcp__client_unlock(client);
    return status;
}

const arcp_outcome *arcp_job_outcome(arcp_job *job)
{
    return atomic_load(&job->over) ? &job->outcome : NULL;
}

bool arcp_job_budget_at(arcp_job *job, size_t index, arcp_job_budget *out)
{
    arcp_client *client = job->owner; /* NULL: it was freed */
    arcp__client_lock(client);
    const bool exists = index < job->budget_count;
    if (exists) {
        *out = job->budgets[index];
    }
    arcp__client_unlock(client);
    return exists;
}

/* [arcp:9.8.2-14] [arcp:9.8.2-15] */
size_t arcp_job_take_credentials(arcp_job *job,
                                 void (*each)(void *user, const arcp_credential *credential),
                                 void *user)
{
    arcp_client *client = job->owner; /* NULL: it was freed */
    arcp__client_lock(client);
    arcp_secret *kept = job->credentials;
    job->credentials = NULL;
    arcp__client_unlock(client);
    const size_t count = kept == NULL ? 0 : arcp__client_credentials_for_each(kept, each, user);
    arcp_secret_free(kept);
    return count;
}
