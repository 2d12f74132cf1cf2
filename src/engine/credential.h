/* What the files about upstream values (credential_*.c) offer, by file. Private to src/engine. */
#ifndef ARCP_ENGINE_CREDENTIAL_H
#define ARCP_ENGINE_CREDENTIAL_H

#include "engine/state.h"

/* A session, as far as it decides what it sees. */
typedef struct arcp__credential_viewer {
    const arcp__principal *principal;
    bool is_anonymous;
    bool has_feature;     /* it negotiated provisioned_credentials */
    bool is_connected;    /* it has a link */
    bool link_is_private; /* which nobody else reads */
} arcp__credential_viewer;

/* ---- credential_ask.c: who gets one, and how it is asked for ---- */
typedef struct arcp__credential_wish {
    const char *job_id;
    const char *principal;
    const char *trace_id;
    arcp_span agent_name; /* without a version */
    arcp_span traceparent;
    const arcp_lease *lease;
    arcp_budget *budget; /* of the job, in its tree; NULL: it has none */
} arcp__credential_wish;
/* Whether such a job of this session is to get a value (§9.8; docs/protocol.md, Authority). */
bool arcp__credential_is_wanted(const arcp__engine *engine, const arcp__credential_viewer *viewer,
                                const arcp__credential_wish *wish);
/* Writes the intent down and asks when it is durable. NULL when out of memory. */
arcp__credential *arcp__credential_ask(arcp__engine *engine, const arcp__credential_wish *wish,
                                       arcp__admission *admission);
/* What the upstream's cap is to be, as text: the least that remains in the job's tree; ""
 * without a budget in the cap's currency. False: there is nothing left to spend. */
bool arcp__credential_budget(const arcp__engine *engine, const arcp_budget *budget,
                             char out[ARCP_DECIMAL_TEXT_MAX]);
/* An intent with its limits, not yet written down. NULL when out of memory. */
arcp__credential *arcp__credential_intend(arcp__engine *engine, const arcp__credential_wish *wish,
                                          const char *id, uint32_t generation);

/* ---- credential.c: the life of one upstream value ---- */
/* Nobody needs it any more: it is revoked, at once or when its issue was answered. */
void arcp__credential_abandon(arcp__engine *engine, arcp__credential *credential);
/* The job begins with it; the job ended. */
void arcp__credential_give(arcp__credential *credential, arcp__job *job);
void arcp__credential_job_ended(arcp__engine *engine, arcp__job *job);
void arcp__credential_due(arcp__engine *engine, arcp__credential *credential);
/* The provisioner answered a call; one that is not under way is ignored. */
void arcp__credential_answered(arcp__engine *engine, const arcp_provision_result *result);
/* Revocations that nobody would come back to (memory was short) are begun again. */
void arcp__credential_sweep(arcp__engine *engine);
void arcp__credential_free_all(arcp__engine *engine);

/* ---- credential_usage.c: what the upstream says was spent ---- */
void arcp__credential_usage_due(arcp__engine *engine, arcp__credential *credential);
void arcp__credential_measured(arcp__engine *engine, arcp__credential *credential,
                               const arcp_provision_result *result);
/* What the agent reported by itself is not charged a second time. */
void arcp__credential_note_spend(arcp__engine *engine, arcp__job *job, arcp_span currency,
                                 arcp_decimal amount);
/* An agent's error that is the upstream's: the code it has here, ARCP_OK when it stays. */
arcp_status arcp__credential_translate(const arcp__engine *engine, const arcp__job *job,
                                       const arcp_json *json, arcp_json_ref error);

/* ---- credential_row.c ---- */
void arcp__credential_store(arcp__engine *engine, const arcp__credential *credential);
arcp_status arcp__credential_restore(arcp__engine *engine, const arcp_json *row, arcp_span key,
                                     arcp_error *err);
/* After a restart: everything that an earlier run left is revoked. */
void arcp__credential_restored(arcp__engine *engine);

/* ---- credential_call.c ---- */
/* The name that an upstream is given: the id, for generations after the first "id.N". */
void arcp__credential_alias(const char *id, uint32_t generation,
                            char out[ARCP__CREDENTIAL_ALIAS_SIZE]);
/* NULL: none has this alias. */
arcp__credential *arcp__credential_find(const arcp__engine *engine, const char *alias);
/* Makes an empty one and lists it under its alias, which no other has; NULL when out of memory. */
arcp__credential *arcp__credential_new(arcp__engine *engine, const char *id, uint32_t generation);
void arcp__credential_free(arcp__engine *engine, arcp__credential *credential);
bool arcp__credential_call(arcp__engine *engine, arcp__credential *credential,
                           arcp__provision_verb verb);
void arcp__credential_audit(arcp__engine *engine, const arcp__credential *credential,
                            const char *action, const char *why);

/* ---- credential_show.c: who sees a value ---- */
/* Whether a hello over this link may negotiate the feature. */
bool arcp__credentials_are_offered(const arcp__engine *engine, bool is_anonymous,
                                   bool link_is_private);
bool arcp__credentials_are_shown(const arcp__engine *engine, const arcp__credential_viewer *viewer,
                                 const arcp__job *job);
/* The member `credentials`, when the job has any: the writer's buffer becomes secret. */
void arcp__credentials_write(arcp__engine *engine, const arcp__job *job, arcp_json_writer *writer);
/* Adds them, when they are shown, to an answer whose payload is its last member: it becomes
 * secret. */
void arcp__credentials_reveal(arcp__engine *engine, const arcp__credential_viewer *viewer,
                              arcp_span job_id, arcp_buf *frame);
void arcp__credential_emit_rotated(arcp__engine *engine, arcp__job *job);
/* The record of a rotation with the value in it, appended to `out`, which is secret; false: it is
 * shown as it is. */
bool arcp__credential_reveal_rotated(arcp__engine *engine, const arcp__credential_viewer *viewer,
                                     arcp_span record, arcp_buf *out);

#endif
