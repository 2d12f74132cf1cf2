#include "credential/credential_state.h"
#include "json/json_put.h"

static const char *const verb_names[] = {[ARCP__PROVISION_ISSUE] = "issue",
                                         [ARCP__PROVISION_ROTATE] = "rotate",
                                         [ARCP__PROVISION_REVOKE] = "revoke",
                                         [ARCP__PROVISION_USAGE] = "usage"};

void arcp__credentials_dump(const arcp__credentials *credentials, arcp__dump *dump)
{
    for (const arcp__credential *credential = credentials->all; credential != NULL;
         credential = credential->hh.next) {
        arcp_json_writer writer;
        if (!arcp__dump_begin(dump, ARCP__DUMP_CREDENTIAL, &writer)) {
            continue;
        }
        arcp__put_cstr(&writer, "alias", credential->alias);
        arcp__put_cstr(&writer, "state", arcp__credential_state_names[credential->state]);
        arcp__put_text(&writer, "provisioner", credential->provisioner);
        arcp__put_cstr(&writer, "job", credential->job_id);
        arcp__put_text(&writer, "principal", credential->principal);
        arcp__put_u64(&writer, "attempts", credential->attempts);
        arcp__put_bool(&writer, "stuck", credential->is_stuck);
        arcp__put_word(&writer, "last_error", credential->last_error);
        arcp__dump_timer(dump, &writer,
                         credential->state == ARCP__CREDENTIAL_LIVE ? "rotation_in_ms"
                                                                    : "attempt_in_ms",
                         &credential->timer);
        arcp__dump_timer(dump, &writer, "usage_in_ms", &credential->usage_timer);
        arcp__dump_begin_waits(&writer);
        if (credential->call_id != 0) {
            arcp__dump_wait(&writer,
                            "the provisioner's answer to %s (it is asked when its batch is "
                            "durable)",
                            verb_names[credential->verb]);
        } else if (credential->state == ARCP__CREDENTIAL_REVOKING && credential->timer.place != 0) {
            arcp__dump_wait(&writer, "the next attempt to revoke it");
        }
        arcp__dump_end(dump, &writer);
    }
}
