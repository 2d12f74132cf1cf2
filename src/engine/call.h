/* The calls of an engine's owner, and their outcomes, for a recorder (src/record). It gets a call
 * before the call is carried out, so that it also has the last one before a crash. */
#ifndef ARCP_ENGINE_CALL_H
#define ARCP_ENGINE_CALL_H

#include <arcp/span.h>
#include <arcp/time.h>

struct arcp__link;
struct arcp__job;

typedef enum arcp__call_kind {
#define ARCP_CALL(id, name, more) ARCP__CALL_##id,
#include "engine/call.def"
#undef ARCP_CALL
    ARCP__CALL_COUNT
} arcp__call_kind;

#define ARCP__CALL_NUMBERS 5

/* Members that a kind does not have are zero. Everything is borrowed for the call of the
 * recorder. */
typedef struct arcp__call {
    arcp__call_kind kind;
    arcp_time now;
    struct arcp__link *link;
    struct arcp__job *job;
    uint64_t numbers[ARCP__CALL_NUMBERS];
    arcp_span texts[4];
    /* For BEGIN arcp__engine_options, SET_SETTINGS arcp_settings, ADD_POLICY arcp__policy,
     * SET_SCHEDULES arcp__schedule_options (numbers[0] is their number), SET_HOOKS
     * arcp__hook_options (likewise), CONNECT
     * arcp__link_options, WORKER_JOINS arcp__worker_intro, READ_DONE the records (numbers[3] is
     * their number), PROVISIONED arcp_provision_result, REQUEST arcp_provision_request, BATCH
     * arcp_store_batch or NULL, EFFECT arcp__effect, ADMIT arcp__admit_answer. */
    const void *what;
} arcp__call;

typedef void (*arcp__record_fn)(void *user, const arcp__call *call);

#endif
