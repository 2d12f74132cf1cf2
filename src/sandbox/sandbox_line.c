/* The lines of a report: those of the lease in its order, then what the operator gave. */
#include "core/lease.h"
#include "core/target.h"
#include "sandbox/sandbox_parts.h"

static void add(arcp__sandbox_compile *compile, arcp_span capability, arcp_span pattern,
                arcp__sandbox_line verdict)
{
    verdict.capability = capability;
    verdict.pattern = pattern;
    arcp__sandbox_add_line(compile, &verdict);
}

/* Whether calls of models reach no model but by the gateway: a host of net.fetch may be one. */
static bool has_only_model_gateway(const arcp__sandbox_request *request)
{
    bool has_hosts = false;
    for (size_t i = 0; i < arcp_lease_capability_count(request->lease); i++) {
        has_hosts = has_hosts ||
                    arcp__capability_from_name(arcp_lease_capability_name(request->lease, i)) ==
                        ARCP__CAPABILITY_NET_FETCH;
    }
    return request->has_model_gateway && !has_hosts;
}

/* A call that only a gateway can make, which asks the gate about each. */
static arcp__sandbox_line judge_call(bool has_gateway)
{
    return has_gateway ? (arcp__sandbox_line){.mechanism = ARCP__SANDBOX_MECHANISM_GATEWAY}
                       : (arcp__sandbox_line){.verdict = ARCP__SANDBOX_VERDICT_ADVISORY,
                                              .mechanism = ARCP__SANDBOX_MECHANISM_GATE,
                                              .note = ARCP__SANDBOX_NOTE_ONLY_ASKED};
}

static arcp__sandbox_line judge_budget(const arcp__sandbox_request *request)
{
    const bool is_counted = has_only_model_gateway(request);
    arcp__sandbox_line line = judge_call(is_counted);
    const bool is_kept = request->outlasts_budget;
    if (is_counted) {
        line.note = is_kept ? ARCP__SANDBOX_NOTE_ONLY_MODELS_KEPT : ARCP__SANDBOX_NOTE_ONLY_MODELS;
    } else if (is_kept) {
        line.note = ARCP__SANDBOX_NOTE_ONLY_ASKED_KEPT;
    }
    return line;
}

/* What needs no knowledge of other lines. */
static arcp__sandbox_line judge_kind(const arcp__sandbox_request *request,
                                     arcp__capability capability)
{
    arcp__sandbox_line line = {.verdict = ARCP__SANDBOX_VERDICT_ADVISORY,
                               .mechanism = ARCP__SANDBOX_MECHANISM_GATE};
    switch (capability) {
    case ARCP__CAPABILITY_AGENT_DELEGATE:
        line.verdict = ARCP__SANDBOX_VERDICT_EXACT;
        line.mechanism = ARCP__SANDBOX_MECHANISM_RUNTIME;
        break;
    case ARCP__CAPABILITY_TOOL_CALL:
        return judge_call(request->has_tool_gateway);
    case ARCP__CAPABILITY_MODEL_USE:
        return judge_call(has_only_model_gateway(request));
    case ARCP__CAPABILITY_COST_BUDGET:
        return judge_budget(request);
    case ARCP__CAPABILITY_VENDOR:
        line.note = ARCP__SANDBOX_NOTE_VENDOR;
        break;
    case ARCP__CAPABILITY_FS_READ: /* judged when all places are known, unless it is shared */
    case ARCP__CAPABILITY_FS_WRITE:
    case ARCP__CAPABILITY_NET_FETCH:
        line.note = ARCP__SANDBOX_NOTE_SHARED;
        break;
    case ARCP__CAPABILITY_UNKNOWN:
    case ARCP__CAPABILITY_COUNT:
        break;
    }
    return line;
}

#define CREDENTIAL ARCP_SPAN_LITERAL("credential")

/* The line of the host and port of the job's credential. What has no canonical form, another scheme
 * or a star, which would be a wildcard, is no line: nothing is granted. */
static void read_endpoint(arcp__sandbox_compile *compile)
{
    const arcp_span endpoint = compile->request->endpoint;
    arcp_target_scratch scratch;
    arcp_span url = {NULL, 0};
    if (endpoint.size == 0 || memchr(endpoint.data, '*', endpoint.size) != NULL ||
        arcp__target_canonicalise(ARCP__CAPABILITY_NET_FETCH, (arcp_span){NULL, 0}, endpoint,
                                  &scratch, &url) != ARCP_DENY_NONE ||
        (!arcp_span_starts_with(url, ARCP_SPAN_LITERAL("http://")) &&
         !arcp_span_starts_with(url, ARCP_SPAN_LITERAL("https://")))) {
        return;
    }
    arcp_buf text = arcp_buf_init();
    arcp_buf_append(&text, arcp__url_origin(url));
    arcp_buf_append_cstr(&text, "/**");
    const arcp_span pattern = arcp__arena_copy(&compile->arena, arcp_buf_span(&text));
    compile->has_failed = compile->has_failed || text.failed || pattern.data == NULL;
    arcp_buf_fini(&text);
    if (!compile->has_failed) {
        add(compile, CREDENTIAL, pattern, (arcp__sandbox_line){.mechanism = 0});
        arcp__sandbox_read_url(compile, pattern);
    }
}

arcp_span arcp__sandbox_credential(const arcp__sandbox_plan *plan)
{
    for (size_t i = 0; i < plan->lease_line_count; i++) {
        const arcp__sandbox_line *line = &plan->lines[i];
        if (arcp_span_equal(line->capability, CREDENTIAL) &&
            line->verdict != ARCP__SANDBOX_VERDICT_REFUSED) {
            return line->pattern;
        }
    }
    return arcp_span_make(NULL, 0);
}

void arcp__sandbox_read_lines(arcp__sandbox_compile *compile)
{
    const arcp_lease *lease = compile->request->lease;
    for (size_t i = 0; i < arcp_lease_capability_count(lease); i++) {
        const arcp_span name = arcp_lease_capability_name(lease, i);
        const arcp__capability capability = arcp__capability_from_name(name);
        for (size_t j = 0; j < arcp_lease_pattern_count(lease, i); j++) {
            const arcp_span pattern = arcp_lease_pattern(lease, i, j);
            const uint32_t line = (uint32_t)compile->line_count;
            add(compile, name, pattern, judge_kind(compile->request, capability));
            if (compile->request->is_shared) {
                continue; /* nothing of the lease is made */
            }
            if (capability == ARCP__CAPABILITY_FS_READ || capability == ARCP__CAPABILITY_FS_WRITE) {
                arcp__sandbox_read_wish(compile, capability, pattern, line);
            } else if (capability == ARCP__CAPABILITY_NET_FETCH) {
                arcp__sandbox_read_url(compile, pattern);
            }
        }
    }
    if (arcp_lease_has_expiry(lease)) {
        add(compile, ARCP_SPAN_LITERAL("expires_at"), lease->expires_text,
            (arcp__sandbox_line){.mechanism = ARCP__SANDBOX_MECHANISM_RUNTIME});
    }
    if (!compile->request->is_shared) {
        read_endpoint(compile);
    }
    compile->draft.lease_line_count = compile->line_count;
}

/* ---- what the operator gave ---- */

static arcp__sandbox_line judge_base(const arcp__sandbox_compile *compile, arcp_span base)
{
    arcp__sandbox_line line = {.mechanism = ARCP__SANDBOX_MECHANISM_OPERATOR};
    for (size_t i = 0; i < compile->spot_count; i++) {
        const arcp__sandbox_spot *spot = &compile->spots[i];
        if (arcp_span_equal(spot->path, base) && (spot->now.is_own || spot->is_refused)) {
            line.verdict = ARCP__SANDBOX_VERDICT_REFUSED;
            line.mechanism = ARCP__SANDBOX_MECHANISM_NONE;
            line.note =
                spot->now.is_own ? ARCP__SANDBOX_NOTE_OWN : ARCP__SANDBOX_NOTE_OWN_WITHOUT_VIEW;
        } else if (arcp_span_equal(spot->path, base) && spot->holds_own_file) {
            line.note = ARCP__SANDBOX_NOTE_OWN_FILE_IN_BASE;
        }
    }
    if (arcp__sandbox_is_system(base)) {
        line.verdict = ARCP__SANDBOX_VERDICT_REFUSED;
        line.mechanism = ARCP__SANDBOX_MECHANISM_NONE;
        line.note = ARCP__SANDBOX_NOTE_SYSTEM;
    }
    return line;
}

static void add_limit(arcp__sandbox_compile *compile, const char *name, uint64_t value,
                      arcp__sandbox_note note)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_format(&text, "%s ", name);
    arcp_buf_append_u64(&text, value);
    const arcp_span copy = arcp__arena_copy(&compile->arena, arcp_buf_span(&text));
    compile->has_failed = compile->has_failed || text.failed || copy.data == NULL;
    arcp_buf_fini(&text);
    add(compile, ARCP_SPAN_LITERAL("limit"), copy,
        (arcp__sandbox_line){.verdict = note == ARCP__SANDBOX_NOTE_NONE
                                            ? ARCP__SANDBOX_VERDICT_EXACT
                                            : ARCP__SANDBOX_VERDICT_ADVISORY,
                             .mechanism = ARCP__SANDBOX_MECHANISM_OPERATOR,
                             .note = note});
}

static void add_limits_of_cgroups(arcp__sandbox_compile *compile)
{
    const arcp__sandbox_request *request = compile->request;
    const arcp__sandbox_limits *limits = &request->limits;
    const bool is_full = compile->draft.level == ARCP__SANDBOX_LEVEL_FULL;
    if (limits->memory_bytes != 0) {
        add_limit(compile, "memory_bytes", limits->memory_bytes,
                  (limits->by_cgroup & ARCP__SANDBOX_LIMIT_MEMORY) != 0
                      ? ARCP__SANDBOX_NOTE_NONE
                      : ARCP__SANDBOX_NOTE_MEMORY_EACH);
    }
    if (limits->cpu_percent != 0) {
        add_limit(compile, "cpu_percent", limits->cpu_percent,
                  (limits->by_cgroup & ARCP__SANDBOX_LIMIT_CPU) != 0 ? ARCP__SANDBOX_NOTE_NONE
                                                                     : ARCP__SANDBOX_NOTE_CPU_OPEN);
    }
    if (limits->pids != 0) {
        const bool is_sure =
            (is_full && request->abilities.values[ARCP__SANDBOX_ABILITY_PID_MAX] != 0) ||
            (limits->by_cgroup & ARCP__SANDBOX_LIMIT_PIDS) != 0;
        add_limit(compile, "pids", limits->pids,
                  is_sure   ? ARCP__SANDBOX_NOTE_NONE
                  : is_full ? ARCP__SANDBOX_NOTE_PIDS
                            : ARCP__SANDBOX_NOTE_PIDS_OPEN);
    }
}

static void add_given(arcp__sandbox_compile *compile)
{
    const arcp__sandbox_request *request = compile->request;
    const bool is_full = compile->draft.level == ARCP__SANDBOX_LEVEL_FULL;
    if (compile->draft.level == ARCP__SANDBOX_LEVEL_NONE) {
        return;
    }
    add(compile, ARCP_SPAN_LITERAL("base"), ARCP_SPAN_LITERAL("/usr"),
        (arcp__sandbox_line){.mechanism = ARCP__SANDBOX_MECHANISM_OPERATOR});
    for (size_t i = 0; i < request->base_count; i++) {
        add(compile, ARCP_SPAN_LITERAL("base"), request->bases[i],
            judge_base(compile, request->bases[i]));
    }
    if (request->limits.scratch_bytes != 0) {
        add_limit(compile, "scratch_bytes", request->limits.scratch_bytes,
                  is_full ? ARCP__SANDBOX_NOTE_NONE : ARCP__SANDBOX_NOTE_SCRATCH);
    }
    add_limits_of_cgroups(compile);
}

void arcp__sandbox_judge_lines(arcp__sandbox_compile *compile)
{
    for (size_t i = 0; i < compile->wish_count; i++) {
        arcp__sandbox_judge_wish(compile, &compile->wishes[i]);
    }
    for (uint32_t i = 0; i < compile->draft.lease_line_count && !compile->request->is_shared; i++) {
        const arcp_span capability = compile->lines[i].capability;
        if (arcp_span_equal_cstr(capability, "net.fetch") ||
            arcp_span_equal(capability, CREDENTIAL)) {
            arcp__sandbox_judge_url(compile, i);
        }
    }
    add_given(compile);
}
