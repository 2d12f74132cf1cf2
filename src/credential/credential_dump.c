#include "credential/credential_state.h"
#include "json/json_put.h"

static const char *const verb_names[] = {[ARCP__PROVISION_ISSUE] = "issue",
                                         [ARCP__PROVISION_ROTATE] = "rotate",
                                         [ARCP__PROVISION_REVOKE] = "revoke",
                                         [ARCP__PROVISION_USAGE] = "usage"};

void arcp__credentials_dump(const arcp__credentials *credentials, arcp__dump *dump)
{
    for (const arcp__credential *at = credentials->all; at != NULL; at = at->hh.next) {
        arcp_json_writer writer;
        if (!arcp__dump_begin(dump, ARCP__DUMP_CREDENTIAL, &writer)) {
            continue;
        }
        arcp__put_cstr(&writer, "alias", at->alias);
        arcp__put_cstr(&writer, "state", arcp__credential_state_names[at->state]);
        arcp__put_text(&writer, "provisioner", at->provisioner);
        arcp__put_cstr(&writer, "job", at->job_id);
        arcp__put_text(&writer, "principal", at->principal);
        arcp__put_u64(&writer, "attempts", at->attempts);
        arcp__put_bool(&writer, "stuck", at->is_stuck);
        arcp__put_word(&writer, "last_error", at->last_error);
        arcp__dump_timer(dump, &writer,
                         at->state == ARCP__CREDENTIAL_LIVE ? "rotation_in_ms" : "attempt_in_ms",
                         &at->timer);
        arcp__dump_timer(dump, &writer, "usage_in_ms", &at->usage_timer);
        arcp__dump_begin_waits(&writer);
        if (at->call_id != 0) {
            arcp__dump_wait(&writer,
                            "the provisioner's answer to %s (it is asked when its batch is "
                            "durable)",
                            verb_names[at->verb]);
        } else if (at->state == ARCP__CREDENTIAL_REVOKING && at->timer.place != 0) {
            arcp__dump_wait(&writer, "the next attempt to revoke it");
        }
        arcp__dump_end(dump, &writer);
    }
}
