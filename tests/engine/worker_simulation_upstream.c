/* The provisioner of a simulation: children get a credential, so that delegations wait for it, and
 * its values are short-lived, so that they are rotated. Whatever is killed when, each value that is
 * valid has a row in the runtime, and the value of each job that goes on is valid. */
#include "support/check.h"

#include <stdio.h>

#include "credential/credential_state.h"
#include "engine/worker_simulation.h"

#define LIFETIME_SEC 8 /* of a value; it is replaced after six */

static simulated_value *find(simulation *s, const char *alias)
{
    for (size_t i = 0; i < s->value_count; i++) {
        if (strcmp(s->values[i].alias, alias) == 0) {
            return &s->values[i];
        }
    }
    return NULL;
}

/* The request has reached the upstream. */
static void process(simulation *s, const simulated_call *call)
{
    simulated_value *value = find(s, call->alias);
    if (call->verb == ARCP__PROVISION_REVOKE) {
        if (value != NULL) {
            value->is_valid = false;
        }
        return;
    }
    simulation_expect(s, value == NULL, "a value is requested twice under one alias");
    assert_true(s->value_count < sizeof s->values / sizeof s->values[0]);
    value = &s->values[s->value_count++];
    *value = (simulated_value){.is_valid = true};
    memcpy(value->alias, call->alias, sizeof value->alias);
}

static void provision(engine_rig *rig, uint64_t call_id)
{
    simulation *s = rig->upstream;
    arcp_provision_request request;
    assert_true(s->call_count < sizeof s->calls / sizeof s->calls[0]);
    simulated_call *call = &s->calls[s->call_count++];
    call->id = call_id;
    call->verb = arcp__engine_provision_request(s->rig.engine, call_id, &request);
    (void)snprintf(call->alias, sizeof call->alias, "%.*s", (int)request.alias.size,
                   request.alias.data);
    arcp__engine_provision_sent(s->rig.engine);
}

bool simulation_answer_call(simulation *s)
{
    if (s->call_count == 0) {
        return false;
    }
    const size_t at = simulation_draw(s, s->call_count);
    const simulated_call call = s->calls[at];
    arcp_provision_result result = arcp_provision_result_init();
    s->calls[at] = s->calls[--s->call_count];
    result.call_id = call.id;
    result.outcome = ARCP_PROVISION_DONE;
    process(s, &call);
    if (call.verb == ARCP__PROVISION_ISSUE || call.verb == ARCP__PROVISION_ROTATE) {
        result.value = arcp_span_cstr(call.alias); /* each has another one */
        result.endpoint = ARCP_SPAN_LITERAL("https://gateway.example/v1");
        result.lifetime_sec = LIFETIME_SEC;
    }
    arcp__engine_provisioned(s->rig.engine, s->rig.now, &result);
    return true;
}

void simulation_crash_upstream(simulation *s)
{
    for (size_t i = 0; i < s->call_count; i++) {
        if (simulation_draw(s, 2) == 0) { /* it arrives, and its result is lost */
            process(s, &s->calls[i]);
        }
    }
    s->call_count = 0;
}

/* The older store does not know the values that are newer, and those that it knows may be dead. */
void simulation_forget_values(simulation *s)
{
    for (size_t i = 0; i < s->value_count; i++) {
        s->values[i].is_forgotten = true;
    }
}

void simulation_check_upstream(simulation *s)
{
    const arcp__credentials *credentials = &s->rig.engine->credentials;
    for (size_t i = 0; i < s->value_count; i++) {
        const simulated_value *value = &s->values[i];
        simulation_expect(s,
                          !value->is_valid || value->is_forgotten ||
                              arcp__credential_find(credentials, value->alias) != NULL,
                          "a value is valid that no row names");
    }
    for (const arcp__job *job = s->rig.engine->jobs.all; job != NULL; job = job->hh.next) {
        const arcp__credential *live = arcp__job_has_ended(job) ? NULL : job->live->credential.live;
        const simulated_value *value = live == NULL ? NULL : find(s, live->alias);
        simulation_expect(s,
                          live == NULL || value == NULL || value->is_forgotten || value->is_valid,
                          "a job that goes on has a value that is dead");
    }
}

static bool seal(void *user, arcp_span alias, arcp_span value, arcp_buf *out)
{
    (void)user;
    (void)alias;
    arcp_buf_append(out, value);
    return true;
}

void simulation_attach_upstream(simulation *s)
{
    static const char *const agents[] = {"work", "chore"};
    static arcp_provisioner_terms terms;
    terms = arcp_provisioner_terms_init();
    terms.agents = agents;
    terms.agent_count = 2;
    s->rig.upstream = s;
    s->rig.provision = provision;
    s->rig.credentials = (arcp__credential_options){
        .provisioner = "p", .terms = &terms, .seal = seal, .unseal = seal, .user = s};
}
