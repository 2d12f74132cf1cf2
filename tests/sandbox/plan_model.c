#include "sandbox/plan_model.h"

#include "base/path.h"
#include "core/glob_pattern.h"
#include "core/url_pattern.h"

/* Whether the lines together grant all of the URL's host and port, so that its TLS stays closed. */
static bool is_whole_host(const arcp__sandbox_plan *plan, arcp_span url)
{
    arcp_buf patterns = arcp_buf_init(); /* of spans */
    for (size_t i = 0; i < plan->lease_line_count; i++) {
        if (arcp_span_equal_cstr(plan->lines[i].capability, "net.fetch")) {
            arcp_buf_append(&patterns, arcp_span_make((const char *)&plan->lines[i].pattern,
                                                      sizeof plan->lines[i].pattern));
        }
    }
    const bool is_whole =
        !patterns.failed &&
        arcp__url_grants_all((const arcp_span *)(const void *)patterns.data,
                             patterns.size / sizeof(arcp_span), arcp__url_origin(url), NULL);
    arcp_buf_fini(&patterns);
    return is_whole;
}

bool model_admits_url(const arcp__sandbox_plan *plan, arcp_span url)
{
    const arcp__url_parts parts = arcp__url_take_apart(url);
    bool is_open = plan->has_proxy;
    for (size_t i = 0; i < plan->port_count; i++) {
        is_open = is_open || plan->ports[i] == parts.port;
    }
    if (!is_open || parts.has_zero) {
        return false;
    }
    for (size_t i = 0; i < plan->lease_line_count; i++) {
        const arcp__sandbox_line *line = &plan->lines[i];
        if (!arcp_span_equal_cstr(line->capability, "net.fetch") ||
            line->mechanism == ARCP__SANDBOX_MECHANISM_NONE ||
            !arcp__glob_matches_alone(ARCP__TARGET_URL, line->pattern, url)) {
            continue;
        }
        const bool is_name = line->mechanism == ARCP__SANDBOX_MECHANISM_NAME;
        const bool is_terminated = line->mechanism == ARCP__SANDBOX_MECHANISM_TERMINATE;
        if ((!is_name && !is_terminated) || parts.kind == ARCP__URL_PLAIN ||
            (parts.kind == ARCP__URL_TLS && (is_terminated || is_whole_host(plan, url)))) {
            return true;
        }
    }
    return false;
}

static bool admits_path(const arcp__sandbox_plan *plan, arcp__capability capability, arcp_span path)
{
    arcp__sandbox_paths *paths = NULL;
    if (arcp__sandbox_paths_new(plan, &paths, NULL) != ARCP_OK || paths == NULL) {
        return false;
    }
    const uint32_t wanted =
        capability == ARCP__CAPABILITY_FS_WRITE ? ARCP__SANDBOX_WRITE : ARCP__SANDBOX_READ;
    const arcp__sandbox_place place = arcp__sandbox_paths_find(paths, path);
    const bool is_fresh = plan->fresh.size != 0 && arcp__path_is_within(path, plan->fresh);
    const bool admits =
        (place.lease_rights & wanted) != 0 ||
        ((plan->has_broker || is_fresh) && arcp__sandbox_paths_grant(paths, capability, path));
    arcp__sandbox_paths_free(paths);
    return admits;
}

bool model_admits(const arcp__sandbox_plan *plan, arcp__capability capability, arcp_span target)
{
    if (plan->refusal != ARCP__SANDBOX_REFUSAL_NONE) {
        return false;
    }
    if (capability == ARCP__CAPABILITY_FS_READ || capability == ARCP__CAPABILITY_FS_WRITE) {
        return admits_path(plan, capability, target);
    }
    return capability == ARCP__CAPABILITY_NET_FETCH && model_admits_url(plan, target);
}
