/* A client, an agent and an upstream around an engine, for tests of credentials. */
#ifndef ARCP_TESTS_ENGINE_CREDENTIAL_RIG_H
#define ARCP_TESTS_ENGINE_CREDENTIAL_RIG_H

#include "engine/upstream.h"

#include "support/check.h"

#define FEATURES_ALL                                                                               \
    "\"ack\",\"list_jobs\",\"subscribe\",\"lease_expires_at\",\"cost.budget\",\"model.use\","      \
    "\"provisioned_credentials\",\"progress\",\"result_chunk\",\"agent_versions\","                \
    "\"x-vendor.arcpd.accepted_again\",\"x-vendor.arcpd.view\""

typedef struct fixture {
    engine_rig rig;
    upstream up;
    char frame[8192];
} fixture;

/* The rig is begun, not open. */
int credential_setup(void **state);
int credential_teardown(void **state);
/* Opens the rig; client a sends hello for alice. */
void start(fixture *f);
void start_with(fixture *f, const char *features);
void hello_with(fixture *f, const char *name, const char *principal, const char *features);
/* The next frame or agent's line, "" for none; valid until the next call. */
const char *next(fixture *f, const char *name);
const char *next_line(fixture *f, rig_agent *agent);
void request(fixture *f, const char *name, const char *id, const char *type, const char *payload);
void submit(fixture *f, const char *id, const char *payload);
/* Start, one submit, its agent runs. */
rig_agent *run_one(fixture *f, const char *payload);
void ends(fixture *f, rig_agent *agent);
uint64_t outstanding(fixture *f);
uint64_t stuck(fixture *f);

#define check_has(text, part)                                                                      \
    do {                                                                                           \
        const char *check_has_text = (text);                                                       \
        if (strstr(check_has_text, (part)) == NULL) {                                              \
            fail_msg("%s is not in %s", (part), check_has_text);                                   \
        }                                                                                          \
    } while (0)

#define check_has_not(text, part)                                                                  \
    do {                                                                                           \
        const char *check_has_not_text = (text);                                                   \
        if (strstr(check_has_not_text, (part)) != NULL) {                                          \
            fail_msg("%s is in %s", (part), check_has_not_text);                                   \
        }                                                                                          \
    } while (0)

#endif
