/* Texts of plans: what is accepted is written again as the same bytes, and all that is asked of a
 * plan has an answer. */
#include <string.h>

#include "sandbox/plan_model.h"

static void ask(const arcp__sandbox_plan *plan)
{
    static const char *const targets[] = {"/", "/srv/a", "/srv/a/.git/config", "/dev/job/x",
                                          "/usr/local/etc/x"};
    arcp__sandbox_paths *paths = NULL;
    require(arcp__sandbox_paths_new(plan, &paths, NULL) == ARCP_OK);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        const arcp_span path = arcp_span_cstr(targets[i]);
        const arcp__sandbox_place place = arcp__sandbox_paths_find(paths, path);
        require((place.lease_rights & ~place.rights) == 0);
        const bool grants = arcp__sandbox_paths_grant(paths, ARCP__CAPABILITY_FS_WRITE, path);
        require(!grants || place.class != ARCP__SANDBOX_CLASS_OWN);
        const bool admits =
            model_admits(plan, ARCP__CAPABILITY_FS_READ, path) ||
            model_admits(plan, ARCP__CAPABILITY_NET_FETCH, ARCP_SPAN_LITERAL("https://h:80/x"));
        require(!admits || plan->refusal == ARCP__SANDBOX_REFUSAL_NONE);
    }
    arcp__sandbox_paths_free(paths);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const arcp_span text = arcp_span_make((const char *)data, size);
    arcp__sandbox_plan *plan = NULL;
    if (arcp__sandbox_plan_decode(text, &plan, NULL) != ARCP_OK) {
        require(plan == NULL);
        return 0;
    }
    arcp_buf again = arcp_buf_init();
    arcp__sandbox_plan_encode(plan, &again);
    require(arcp_span_equal(arcp_buf_span(&again), text));
    arcp_buf_clear(&again);
    arcp__sandbox_report_table(plan, &again);
    arcp__sandbox_report_json(plan, &again);
    require(arcp_buf_status(&again) == ARCP_OK);
    arcp_buf_fini(&again);
    ask(plan);
    arcp__sandbox_plan_free(plan);
    return 0;
}
