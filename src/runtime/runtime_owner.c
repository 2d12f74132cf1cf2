#include "runtime/runtime_owner.h"

#include "base/clock.h"
#include "runtime/runtime_state.h"

void arcp__runtime_set_owner(arcp_runtime *runtime, arcp__runtime_asked_fn asked, void *user)
{
    runtime->asked = asked;
    runtime->asked_user = user;
}

void arcp__runtime_set_local_operator(arcp_runtime *runtime, const char *principal)
{
    runtime->local_operator = principal;
}

void arcp__shard_ask_owner(arcp__shard *shard, const arcp__effect *effect)
{
    arcp_runtime *runtime = shard->runtime;
    const uint64_t id = arcp__shard_outer_id(shard, effect->id);
    if (runtime->asked != NULL) {
        runtime->asked(runtime->asked_user, id, effect->text);
        return;
    }
    arcp__runtime_answer(runtime, id, ARCP_E_INVALID_REQUEST,
                         ARCP_SPAN_LITERAL("this runtime is a part of a program that does not "
                                           "offer this request"));
}

void arcp__runtime_answer(arcp_runtime *runtime, uint64_t id, arcp_status status, arcp_span text)
{
    arcp__shard *shard = arcp__shard_of_id(runtime, id);
    arcp__engine_owner_answered(shard->engine, arcp__input_now(shard), arcp__inner_id(runtime, id),
                                status, text);
    (void)uv_async_send(&runtime->wake);
}

static void check_page_keys(arcp__shard *shard)
{
    arcp_runtime *runtime = shard->runtime;
    const arcp__origin transport = arcp__origin_of_transport();
    const arcp__page_key *next = NULL;
    for (const arcp__page_key *key = arcp__engine_page_key_next(shard->engine, NULL); key != NULL;
         key = next) {
        arcp__page_key_facts facts;
        next = arcp__engine_page_key_next(shard->engine, key);
        arcp__page_key_look(key, &facts);
        const bool is_valid = arcp__origin_equals(facts.origin, &transport)
                                  ? runtime->local_operator != NULL &&
                                        strcmp(facts.principal, runtime->local_operator) == 0
                                  : arcp__authenticator_knows(runtime->authenticator, facts.origin,
                                                              facts.principal, facts.role);
        if (!is_valid || facts.is_restored) {
            arcp__engine_page_key_checked(shard->engine, arcp__input_now(shard), facts.hash,
                                          is_valid);
        }
    }
}

void arcp__runtime_check_page_keys(arcp_runtime *runtime)
{
    for (arcp__shard *shard = runtime->shards; shard != arcp__shards_end(runtime); shard++) {
        check_page_keys(shard);
    }
}
