#include "sandbox/sandbox_rig.h"

#include "support/check.h"

arcp__sandbox_abilities rig_abilities(void)
{
    arcp__sandbox_abilities abilities;
    for (size_t i = 0; i < ARCP__SANDBOX_ABILITY_COUNT; i++) {
        abilities.values[i] = 1;
    }
    abilities.values[ARCP__SANDBOX_ABILITY_LANDLOCK] = 7;
    abilities.values[ARCP__SANDBOX_ABILITY_EGRESS] = 0;
    return abilities;
}

arcp__sandbox_request rig_request(const arcp_lease *lease)
{
    return (arcp__sandbox_request){.lease = lease,
                                   .cwd = ARCP_SPAN_LITERAL("/home/u/code"),
                                   .home = ARCP_SPAN_LITERAL("/home/u"),
                                   .scratch = ARCP_SPAN_LITERAL("/scratch/1"),
                                   .limits = {.scratch_bytes = 1048576, .pids = 64},
                                   .min = ARCP__SANDBOX_VERDICT_ADVISORY,
                                   .abilities = rig_abilities()};
}

arcp__sandbox_plan *rig_plan(const arcp__sandbox_request *request)
{
    arcp__sandbox_plan *plan = NULL;
    arcp_error err = {0};
    check_ok(arcp__sandbox_plan_new(request, &plan, &err), &err);
    return plan;
}

void rig_without(arcp__sandbox_request *request, const char *names)
{
    assert_true(arcp__sandbox_abilities_remove(&request->abilities, names));
}

arcp_authority *rig_authority(const arcp_lease *lease, arcp_span cwd)
{
    arcp_authority_options options = arcp_authority_options_init();
    options.cwd = cwd;
    arcp_authority *authority = NULL;
    arcp_error err = {0};
    check_ok(arcp_authority_new(lease, &options, &authority, &err), &err);
    return authority;
}

static bool asks(const arcp_authority *authority, const char *capability, arcp_span target)
{
    static arcp_target_scratch scratch;
    const arcp_time now = {0, 0};
    arcp_decision decision;
    return arcp_authorize(authority, now, arcp_span_cstr(capability), target, &scratch, &decision);
}

bool rig_allows(const arcp_authority *authority, arcp_span cwd, arcp__capability capability,
                arcp_span target)
{
    const char *name = arcp__capability_name(capability);
    if (asks(authority, name, target)) {
        return true;
    }
    const size_t skipped = cwd.size == 1 ? 1 : cwd.size + 1;
    return target.size > skipped && arcp_span_starts_with(target, cwd) &&
           target.data[skipped - 1] == '/' &&
           asks(authority, name, arcp_span_from(target, skipped));
}
