/* After a restart: the values of jobs that have gone on, or wait in the queue, are given back to
 * them; everything else that an earlier run left is revoked. */
#include "credential/credential_state.h"
#include "log/log.h"

static void take_back(arcp__credentials *credentials, arcp__credential *credential,
                      arcp__credential_slot *slot)
{
    credential->slot = slot;
    slot->live = credential;
    /* A row of an earlier release has too little to show; its value is not known to be good. */
    const bool is_usable = credential->has_fingerprint && credential->scheme.size != 0 &&
                           arcp__credential_can_unseal(credentials, credential);
    if (!is_usable) {
        arcp__effect_log(credentials->log, ARCP__LOG_WARN,
                         "credential %s of job %s cannot be used after the restart and is replaced",
                         credential->alias, credential->job_id);
        arcp__credential_rotate_at(credentials, credential, credentials->context->now.wall_ns);
    } else if (credential->rotates_wall_ns != 0) {
        arcp__credential_rotate_at(credentials, credential, credential->rotates_wall_ns);
    }
    if (is_usable && credentials->options->can_keep) {
        arcp__credential_call(credentials, credential, ARCP__PROVISION_KEEP);
    } else {
        arcp__credential_plan_usage(credentials, credential);
    }
}

void arcp__credentials_take_back(arcp__credentials *credentials)
{
    const arcp__credential_options *options = credentials->options;
    for (arcp__credential *credential = credentials->all; credential != NULL;
         credential = credential->hh.next) {
        arcp__credential_slot *slot =
            credential->state == ARCP__CREDENTIAL_LIVE && options->terms != NULL &&
                    arcp_span_equal_cstr(credential->provisioner, options->provisioner)
                ? credentials->ops->slot_of(credentials->user, credential->job_id)
                : NULL;
        if (slot != NULL && slot->live == NULL) {
            take_back(credentials, credential, slot);
        }
    }
}

void arcp__credential_kept(arcp__credentials *credentials, arcp__credential *credential,
                           const arcp_provision_result *result)
{
    if (credential->state == ARCP__CREDENTIAL_REVOKING) {
        arcp__credential_call(credentials, credential, ARCP__PROVISION_REVOKE);
        return;
    }
    arcp__credential_plan_usage(credentials, credential);
    if (result->outcome != ARCP_PROVISION_DONE) {
        arcp__credential_rotate_at(credentials, credential, credentials->context->now.wall_ns);
    }
}

/* [arcp:14-14] */
void arcp__credentials_restored(arcp__credentials *credentials)
{
    for (arcp__credential *credential = credentials->all; credential != NULL;
         credential = credential->hh.next) {
        if (credential->state == ARCP__CREDENTIAL_INTENT) {
            credential->requested_wall_ns =
                credentials->context->now.wall_ns; /* it was requested before now */
        }
        if (credential->slot == NULL) {
            arcp__credential_abandon(credentials, credential);
        }
    }
}
