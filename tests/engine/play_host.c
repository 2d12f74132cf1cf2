/* Hosts that confine the agents of a seed: they admit most jobs, refuse some, and report denials
 * and sandboxes that could not be made. Every plan is released once. */
#include "engine/play.h"

#include "support/check.h"

#include "base/alloc.h"

static void append(arcp__admit_answer *answer, arcp__admit_text text, const char *value)
{
    arcp_buf_append_cstr(&answer->texts[text], value);
}

static void admit(void *user, const arcp__admit_request *request, arcp__admit_answer *answer)
{
    play *p = user;
    if (request->job_id.size == 0 || request->lease == NULL) {
        watch_fail(&p->watch, "a host was asked about no job", "");
    }
    const unsigned choice = play_pick(p, 12);
    if (choice == 0) {
        answer->status = ARCP_E_PERMISSION_DENIED;
        append(answer, ARCP__ADMIT_MESSAGE, "a line is refused");
        append(answer, ARCP__ADMIT_DETAILS, "{\"capability\":\"fs.read\",\"verdict\":\"refused\"}");
        return;
    }
    if (choice == 1) {
        answer->status = ARCP_E_AGENT_NOT_AVAILABLE;
        append(answer, ARCP__ADMIT_DETAILS, "{\"level\":\"none\",\"missing\":[]}");
        return;
    }
    if (choice == 2) {
        append(answer, ARCP__ADMIT_WARNING, "this agent is not confined");
        return;
    }
    answer->is_shown = choice < 8;
    append(answer, ARCP__ADMIT_LEVEL, "full");
    append(answer, ARCP__ADMIT_SUMMARY, "1 exact");
    append(answer, ARCP__ADMIT_LINES, "[{\"verdict\":\"exact\"}]");
    answer->plan = arcp__alloc(1);
    p->plans += answer->plan != NULL ? 1 : 0;
}

static void release(void *user, void *plan)
{
    play *p = user;
    p->plans--; /* twice is found by the sanitizer, and by play_host_check_released */
    arcp__free(plan);
}

void play_host_prepare(void *user, arcp__engine_options *options)
{
    play *p = user;
    if (p->temper.confines) {
        options->hosts = (arcp__agent_hosts){.admit = admit, .release = release, .user = p};
    }
    if (p->temper.purses) {
        options->hosts.settle = play_purse_job_ends;
        options->hosts.user = p;
    }
    if (p->prepare != NULL) {
        p->prepare(p->prepare_user, options); /* a recorder: it gets what is set above */
    }
}

/* ---- what sandboxes report ---- */

static void deny(play *p, const rig_agent *agent)
{
    static const char *const targets[] = {"/etc/shadow", "/srv/b", "https://example.com/",
                                          "/\x1b[2J\xff\n"};
    const arcp__denial denial = {
        .layer = (arcp__denial_layer)play_pick(p, ARCP__DENIAL_LAYER_COUNT),
        .code = play_one_in(p, 4) ? ARCP_E_LEASE_EXPIRED : ARCP_E_PERMISSION_DENIED,
        .capability = arcp_span_cstr(play_one_in(p, 3) ? "net.fetch" : "fs.read"),
        .target = arcp_span_cstr(targets[play_pick(p, 4)]),
        .program = arcp_span_cstr(play_one_in(p, 2) ? "sh" : ""),
        .count = play_pick(p, 5)};
    arcp__engine_agent_denied(p->rig.engine, p->rig.now, agent->job, 0, &denial);
    rig_run(&p->rig);
}

static void fail_set_up(play *p, rig_agent *agent)
{
    const arcp__agent_exit exit = {.code = 125,
                                   .failed_step = ARCP_SPAN_LITERAL("mount"),
                                   .failure = ARCP_SPAN_LITERAL("mount /srv/x: No such file")};
    arcp__engine_agent_exited(p->rig.engine, p->rig.now, agent->job, &exit);
    rig_run(&p->rig);
}

bool play_host_acts(play *p, rig_agent *agent)
{
    if (!p->temper.confines || agent->forgotten || !play_one_in(p, 6)) {
        return false;
    }
    if (agent->starting && play_one_in(p, 2)) {
        fail_set_up(p, agent);
    } else {
        deny(p, agent);
    }
    return true;
}

void play_host_check_released(const play *p)
{
    assert_int_equal(p->plans, 0);
}
