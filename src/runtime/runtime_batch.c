/* What the engine has to be stored goes to the store in batches. */
#include "base/clock.h"
#include "runtime/runtime_state.h"

bool arcp__runtime_submit_batches(arcp_runtime *runtime)
{
    bool any = false;
    while (runtime->batches_under_way < ARCP__BATCHES_MAX) {
        const arcp_store_batch *batch = arcp__engine_take_batch(runtime->engine);
        if (batch == NULL) {
            break;
        }
        arcp_error error = {0};
        arcp__runtime_log_lines(runtime);
        if (runtime->audit_barrier != NULL) {
            runtime->audit_barrier(runtime->audit_barrier_user, false);
        }
        int64_t submitted_ns = arcp__clock_now().mono_ns;
        arcp_status status = runtime->store->ops->submit(runtime->store, batch, &error);
        any = true;
        if (status != ARCP_OK) {
            arcp__runtime_log(runtime, ARCP_LOG_ERROR, "store: %s", error.message);
            arcp__engine_committed(runtime->engine, arcp__clock_now(), batch->id, status);
            break;
        }
        runtime->submitted_ns[runtime->batches_under_way++] = submitted_ns;
    }
    return any;
}

/* So many changes are worth a commit of their own: fewer take the disk nearly as long. */
#define WORTH_A_COMMIT 64u

bool arcp__runtime_feed_store(arcp_runtime *runtime)
{
    if (arcp__engine_gathered(runtime->engine) < WORTH_A_COMMIT) {
        return false;
    }
    bool polls = runtime->batches_under_way != 0 && !runtime->has_polled;
    if (polls) {
        /* What is committed waits for the audit log and makes work: not again in this round. */
        runtime->has_polled = true;
        (void)runtime->store->ops->poll(runtime->store);
    }
    return (runtime->batches_under_way == 0 && arcp__runtime_submit_batches(runtime)) || polls;
}
