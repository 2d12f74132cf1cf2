/* The door of a runtime with several shards (door/door.h): links whose peer is authenticated go to
 * its shard. */
#include "runtime/runtime_state.h"

/* `by` NULL: the shard knows the token. */
static void pass(arcp_runtime *runtime, uint64_t auth_id, arcp__shard *shard,
                 const arcp__authentication *by)
{
    arcp__shard *door = arcp__front_of(runtime);
    const arcp_time now = arcp__input_now(door);
    arcp__handover what;
    if (!arcp__engine_hand_over(door->engine, now, auth_id, &what)) {
        return; /* its connection was closed meanwhile */
    }
    arcp__runtime_link *link = what.user;
    arcp__link *fresh = NULL;
    arcp__shard_touch(shard);
    link->is_refused = !arcp__door_pass(door->engine, shard->engine, now, &what, by, &fresh);
    if (fresh == NULL) {
        link->connection->ops->close(link->connection, ARCP_CLOSE_INTERNAL,
                                     "the runtime ran out of memory");
        return;
    }
    link->link = fresh;
    link->shard = shard;
    if (link->is_refused) {
        link->connection->ops->pause(link->connection);
    } else {
        arcp__runtime_link_resume(link);
    }
}

void arcp__runtime_authenticated(arcp_runtime *runtime, uint64_t auth_id,
                                 const arcp__authentication *result)
{
    arcp__shard *front = arcp__front_of(runtime);
    arcp__authentication answer = *result;
    if (runtime->has_door && answer.is_anonymous) {
        /* A principal of one session has no shard in which others could find it. */
        answer = (arcp__authentication){.status = ARCP_E_UNAUTHENTICATED};
    }
    if (runtime->has_door && answer.status == ARCP_OK && answer.principal.size != 0) {
        pass(runtime, auth_id, arcp__shard_of_principal(runtime, answer.principal), &answer);
    } else {
        arcp__engine_authenticated(front->engine, arcp__input_now(front), auth_id, &answer);
    }
}

bool arcp__runtime_authenticate_page(arcp_runtime *runtime, const arcp__effect *effect)
{
    const uint64_t auth_id = effect->id;
    if (!runtime->has_door || !arcp__page_is_bearer(effect->text)) {
        return false;
    }
    for (arcp__shard *shard = runtime->shards; shard != arcp__shards_end(runtime); shard++) {
        if (arcp__engine_knows_page(shard->engine, effect->text)) {
            pass(runtime, auth_id, shard, NULL);
            return true;
        }
    }
    const arcp__authentication unknown = {
        .status = ARCP_E_UNAUTHENTICATED,
        .page = arcp__page_is_code(effect->text) ? ARCP__PAGE_CODE : ARCP__PAGE_KEY};
    arcp__runtime_authenticated(runtime, auth_id, &unknown);
    return true;
}
