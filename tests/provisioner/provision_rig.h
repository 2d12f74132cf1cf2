/* A loop, a provisioner, and its completions. */
#ifndef ARCP_TESTS_PROVISION_RIG_H
#define ARCP_TESTS_PROVISION_RIG_H

#include <uv.h>

#include <arcp/sys/provisioner.h>

typedef enum provision_verb {
    PROVISION_ISSUE,
    PROVISION_REVOKE,
    PROVISION_ROTATE,
    PROVISION_USAGE
} provision_verb;

/* Texts are copies; "" where nothing came. */
typedef struct provision_answer {
    unsigned count; /* answers to this call: must become 1 */
    arcp_provision_outcome outcome;
    arcp_status status;
    char value[128], upstream_id[128], endpoint[128], scheme[32], profile[32], spent[64];
    char message[256];
    uint64_t lifetime_sec;
} provision_answer;

#define PROVISION_ANSWERS_MAX 64

typedef struct provision_rig {
    uv_loop_t loop;
    arcp_provisioner *provisioner;
    provision_answer answers[PROVISION_ANSWERS_MAX]; /* by call id */
    uint64_t next_call;
    bool is_inside; /* a call of ours: no answer may come */
} provision_rig;

void provision_rig_begin(provision_rig *rig);
/* The provisioner that was made on the rig's loop. */
void provision_rig_take(provision_rig *rig, arcp_provisioner *provisioner);
void provision_rig_end(provision_rig *rig);

/* Fills the empty members of `request`, sends it, and returns the call's id. */
uint64_t provision_rig_ask(provision_rig *rig, provision_verb verb, arcp_provision_request request);
/* Runs the loop until the call was answered. */
const provision_answer *provision_rig_answer(provision_rig *rig, uint64_t call_id);
/* Both. */
const provision_answer *provision_rig_call(provision_rig *rig, provision_verb verb,
                                           arcp_provision_request request);

#endif
