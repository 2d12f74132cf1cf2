/* Programs that are started before their lease is known: warm processes.
 *
 * Such a program is started with what every program needs, with an empty lease and a broker. When
 * its job comes the broker gets the lease, and serves all of it: no mount and no rule can be added
 * to a sandbox from outside. A plan is late if that changes nothing else inside. */
#include <stdlib.h>

#include "base/alloc.h"
#include "sandbox/sandbox_parts.h"

/* ---- whether a lease can come late ---- */

static bool meets(arcp_span path, arcp_span place)
{
    return arcp__path_is_within(path, place) || arcp__path_is_within(place, path);
}

/* Whether a directory or file that the lease names would be mounted over something that the sandbox
 * has there already: a private place, its /etc, or what the base hides. */
static bool is_taken(const arcp__sandbox_compile *compile, arcp_span path)
{
    static const char *const privates[] = ARCP__SANDBOX_PRIVATE_PLACES;
    const arcp__sandbox_plan *draft = &compile->draft;
    bool found = meets(path, draft->home) || meets(path, draft->tmp) ||
                 meets(path, ARCP_SPAN_LITERAL("/etc"));
    size_t count = 0;
    const arcp__sandbox_base_row *rows = arcp__sandbox_base_rows(&count);
    for (size_t i = 0; i < sizeof privates / sizeof *privates; i++) {
        found = found || meets(path, arcp_span_cstr(privates[i]));
    }
    for (size_t i = 0; i < count; i++) {
        found = found || (rows[i].kind == ARCP__SANDBOX_BASE_HIDDEN &&
                          meets(path, arcp_span_cstr(rows[i].path)));
    }
    return found;
}

static bool can_come_late(const arcp__sandbox_compile *compile, const arcp__sandbox_wish *wish)
{
    const arcp__sandbox_request *request = compile->request;
    const arcp_span fresh = compile->draft.fresh;
    if ((wish->kind != ARCP__SANDBOX_WISH_TREE && wish->kind != ARCP__SANDBOX_WISH_FILE) ||
        (fresh.size != 0 && arcp__path_is_within(wish->path, fresh))) {
        return true;
    }
    const bool is_of_base =
        wish->capability == ARCP__CAPABILITY_FS_WRITE &&
        arcp__path_is_within_any(wish->path, request->bases, request->base_count);
    return !is_of_base && !is_taken(compile, wish->path);
}

bool arcp__sandbox_can_be_late(const arcp__sandbox_compile *compile)
{
    bool can = compile->draft.has_broker && compile->draft.level != ARCP__SANDBOX_LEVEL_NONE;
    for (size_t i = 0; i < compile->wish_count; i++) {
        can = can && can_come_late(compile, &compile->wishes[i]);
    }
    for (size_t i = 0; i < compile->port_count; i++) {
        can = can && (compile->ports[i] == ARCP__URL_PORT_HTTP ||
                      compile->ports[i] == ARCP__URL_PORT_HTTPS);
    }
    for (size_t i = 0; i < compile->line_count; i++) { /* its authority would come too late */
        can = can && compile->lines[i].mechanism != ARCP__SANDBOX_MECHANISM_TERMINATE;
    }
    return can;
}

/* ---- plans ---- */

static arcp_status pack(const arcp__sandbox_plan *draft, arcp__sandbox_plan **out, arcp_error *err)
{
    *out = arcp__sandbox_plan_pack(draft);
    return *out == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

arcp_status arcp__sandbox_plan_before_lease(const arcp__sandbox_plan *plan,
                                            arcp__sandbox_plan **out, arcp_error *err)
{
    arcp__sandbox_plan draft = *plan;
    draft.lines += plan->lease_line_count;
    draft.line_count -= plan->lease_line_count;
    draft.lease_line_count = 0;
    draft.read_count = 0;
    draft.write_count = 0;
    return pack(&draft, out, err);
}

static bool are_equal(const arcp_span *a, size_t a_count, const arcp_span *b, size_t b_count)
{
    bool equal = a_count == b_count;
    for (size_t i = 0; equal && i < a_count; i++) {
        equal = arcp_span_equal(a[i], b[i]);
    }
    return equal;
}

/* What the operator gave: bases and limits. */
static bool has_same_given(const arcp__sandbox_plan *a, const arcp__sandbox_plan *b)
{
    const size_t count = a->line_count - a->lease_line_count;
    bool equal = count == b->line_count - b->lease_line_count;
    for (size_t i = 0; equal && i < count; i++) {
        const arcp__sandbox_line *left = &a->lines[a->lease_line_count + i];
        const arcp__sandbox_line *right = &b->lines[b->lease_line_count + i];
        equal = arcp_span_equal(left->capability, right->capability) &&
                arcp_span_equal(left->pattern, right->pattern) && left->verdict == right->verdict;
    }
    return equal;
}

static bool has_same_limits(const arcp__sandbox_limits *a, const arcp__sandbox_limits *b)
{
    return a->scratch_bytes == b->scratch_bytes && a->memory_bytes == b->memory_bytes &&
           a->cpu_percent == b->cpu_percent && a->pids == b->pids && a->by_cgroup == b->by_cgroup;
}

/* Directories that were made for one program have names of their own. */
static bool has_same_view(const arcp__sandbox_plan *a, const arcp__sandbox_plan *b)
{
    bool equal = a->mount_count == b->mount_count && a->rule_count == b->rule_count;
    for (size_t i = 0; equal && i < a->mount_count; i++) {
        equal = a->mounts[i].kind == b->mounts[i].kind &&
                a->mounts[i].is_writable == b->mounts[i].is_writable &&
                arcp_span_equal(a->mounts[i].target, b->mounts[i].target);
    }
    size_t privates[2] = {0, 0};
    const arcp__sandbox_plan *const plans[2] = {a, b};
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < plans[k]->rule_count; i++) {
            privates[k] += plans[k]->rules[i].class == ARCP__SANDBOX_CLASS_PRIVATE;
        }
    }
    return equal && privates[0] == privates[1];
}

bool arcp__sandbox_plan_takes(const arcp__sandbox_plan *waiting, const arcp__sandbox_plan *plan)
{
    const bool has_same_cwd =
        waiting->fresh.size != 0 ? plan->fresh.size != 0 : arcp_span_equal(waiting->cwd, plan->cwd);
    return waiting->is_late && plan->is_late && plan->refusal == ARCP__SANDBOX_REFUSAL_NONE &&
           waiting->origin == plan->origin && waiting->level == plan->level &&
           memcmp(&waiting->abilities, &plan->abilities, sizeof plan->abilities) == 0 &&
           waiting->lease_line_count == 0 && waiting->read_count == 0 &&
           waiting->write_count == 0 &&
           are_equal(waiting->own, waiting->own_count, plan->own, plan->own_count) &&
           are_equal(waiting->own_files, waiting->own_file_count, plan->own_files,
                     plan->own_file_count) &&
           waiting->port_count == plan->port_count &&
           (plan->port_count == 0 ||
            memcmp(waiting->ports, plan->ports, plan->port_count * sizeof *plan->ports) == 0) &&
           waiting->has_proxy == plan->has_proxy && waiting->has_broker == plan->has_broker &&
           waiting->hides == plan->hides && waiting->is_silent == plan->is_silent &&
           waiting->protect == plan->protect && waiting->has_terminal == plan->has_terminal &&
           has_same_limits(&waiting->limits, &plan->limits) && has_same_given(waiting, plan) &&
           has_same_view(waiting, plan) && has_same_cwd;
}

arcp_status arcp__sandbox_plan_with_lease(const arcp__sandbox_plan *waiting,
                                          const arcp__sandbox_plan *plan, arcp__sandbox_plan **out,
                                          arcp_error *err)
{
    arcp__sandbox_plan draft = *waiting;
    arcp__sandbox_rule *rules = arcp__alloc_array(waiting->rule_count + 1, sizeof *rules);
    if (rules == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < waiting->rule_count; i++) {
        rules[i] = waiting->rules[i];
        if (waiting->fresh.size != 0 && arcp_span_equal(rules[i].path, waiting->fresh)) {
            rules[i].path = plan->fresh; /* renamed */
        }
    }
    if (waiting->rule_count != 0) {
        qsort(rules, waiting->rule_count, sizeof *rules, arcp__sandbox_compare_rules);
    }
    draft.rules = rules;
    draft.lines = plan->lines;
    draft.line_count = plan->line_count;
    draft.lease_line_count = plan->lease_line_count;
    draft.reads = plan->reads;
    draft.read_count = plan->read_count;
    draft.writes = plan->writes;
    draft.write_count = plan->write_count;
    draft.cwd = plan->cwd;
    draft.fresh = plan->fresh;
    const arcp_status status = pack(&draft, out, err);
    arcp__free(rules);
    return status;
}
