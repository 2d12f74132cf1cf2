/* The stage in memory: the engine, a fake clock, and agents that write the lines of the script. */
#include "engine/confiner.h"
#include "story/engine_rig.h"
#include "story/stage.h"

#include "support/check.h"

#include "base/alloc.h"

static const char *text_at(const rig_text *list, unsigned index)
{
    while (list != NULL && index > 0) {
        list = list->next;
        index--;
    }
    return list == NULL ? NULL : list->text;
}

/* Of what the engine has sent. */
static void remove_first(rig_text **list)
{
    rig_text *first = *list;
    story_check_sent(first->text);
    *list = first->next;
    arcp__free(first);
}

static rig_agent *agent_of(engine_rig *rig, const char *job_id)
{
    rig_agent *agent = rig_agent_of(rig, job_id);
    if (agent == NULL) {
        fail_msg("job %s has no agent", job_id);
    }
    return agent;
}

static void set(void *user, const char *group, const char *key, const char *value)
{
    engine_rig *rig = user;
    arcp_error error = {0};
    check_ok(arcp__settings_set(&rig->settings, arcp_span_cstr(group), arcp_span_cstr(key),
                                arcp_span_cstr(value), &error),
             &error);
    arcp__engine_set_settings(rig->engine, &rig->settings);
}

static void profile(void *user, const char *client, const char *principal, const char *name)
{
    rig_profile(user, client, principal, name);
}

static void policy(void *user, const char *row)
{
    rig_policy(user, row);
}

static void set_max_jobs(void *user, unsigned count, bool refuses)
{
    engine_rig *rig = user;
    rig->max_jobs = count;
    rig->refuses = refuses;
    rig_reload(rig);
}

static void has_echo(void *user, bool has)
{
    engine_rig *rig = user;
    rig->lacks_echo = !has;
    rig_reload(rig);
}

static int64_t now(void *user)
{
    const engine_rig *rig = user;
    return rig->now.wall_ns;
}

static const char *audit_record_at(void *user, const char *name, unsigned index)
{
    (void)name;
    const engine_rig *rig = user;
    return text_at(rig->audit_records, index);
}

static bool is_connected(void *user, const char *client)
{
    return rig_find(user, client)->link != NULL;
}

static bool connect_client(void *user, const char *client)
{
    (void)rig_connect(user, client);
    return true;
}

static bool send_frame(void *user, const char *client, const char *frame)
{
    rig_send(user, rig_find(user, client), frame);
    return true;
}

static const char *frame_at(void *user, const char *client, unsigned index)
{
    return text_at(rig_find(user, client)->frames, index);
}

static void remove_frame(void *user, const char *client, unsigned index)
{
    assert_int_equal(index, 0);
    remove_first(&rig_find(user, client)->frames);
}

static bool await_close(void *user, const char *client, int *code)
{
    *code = rig_find(user, client)->close_code;
    return *code != 0;
}

static void drop(void *user, const char *client)
{
    rig_drop(user, rig_find(user, client));
}

static void restart(void *user)
{
    rig_restart(user);
}

static void hold_store(void *user, bool holds)
{
    engine_rig *rig = user;
    rig->hold_store = holds;
    rig_run(rig);
}

static void forward(void *user, int64_t ns)
{
    rig_clock(user, ns);
}

static void set_wall(void *user, int64_t step_ns)
{
    engine_rig *rig = user;
    rig->now.wall_ns += step_ns;
    rig_run(rig);
}

static void agent_says(void *user, const char *job_id, const char *line)
{
    rig_agent_writes(user, agent_of(user, job_id), line);
}

static const char *agent_line_at(void *user, const char *job_id, unsigned index)
{
    return text_at(agent_of(user, job_id)->lines, index);
}

static void agent_remove(void *user, const char *job_id, unsigned index)
{
    assert_int_equal(index, 0);
    remove_first(&agent_of(user, job_id)->lines);
}

static void agent_exits(void *user, const char *job_id, int status)
{
    rig_agent_exits(user, agent_of(user, job_id), false, status);
}

static bool agent_is_killed(void *user, const char *job_id)
{
    return agent_of(user, job_id)->killed;
}

/* What the hosts of this stage's agents answer. */
static confiner hosts;

static bool host(void *user, const char *answer)
{
    (void)user;
    const size_t plans = hosts.plans;
    hosts = (confiner){.plans = plans};
    if (strcmp(answer, "confines") == 0) {
        confiner_confines(&hosts);
    } else if (strcmp(answer, "refuses") == 0) {
        confiner_refuses(&hosts);
    } else if (strcmp(answer, "is unavailable") == 0) {
        confiner_is_unavailable(&hosts);
    } else {
        return strcmp(answer, "admits") == 0;
    }
    return true;
}

static bool denied(void *user, const char *job_id, const char *layer, const char *capability,
                   const char *target)
{
    engine_rig *rig = user;
    for (int i = 0; i < ARCP__DENIAL_LAYER_COUNT; i++) {
        if (strcmp(layer, arcp__denial_layer_name((arcp__denial_layer)i)) == 0) {
            const arcp__denial denial = {.layer = (arcp__denial_layer)i,
                                         .code = ARCP_E_PERMISSION_DENIED,
                                         .capability = arcp_span_cstr(capability),
                                         .target = arcp_span_cstr(target),
                                         .reason = ARCP_SPAN_LITERAL("NO_MATCH"),
                                         .program = ARCP_SPAN_LITERAL("sh"),
                                         .count = 1};
            arcp__engine_agent_denied(rig->engine, rig->now, agent_of(rig, job_id)->job, 0,
                                      &denial);
            rig_run(rig);
            return true;
        }
    }
    return false;
}

void story_stage_memory_begin(story_stage *stage, bool is_volatile)
{
    static engine_rig rig;
    hosts = (confiner){0};
    rig_begin(&rig, NULL);
    confiner_attach(&hosts, &rig);
    rig_open(&rig);
    rig.is_volatile = is_volatile;
    rig.keep_audit = true;
    *stage = (story_stage){
        .story = {.user = &rig,
                  .clients = {ARCP__STORY_NEXT, frame_at, remove_frame},
                  .is_connected = is_connected,
                  .connect = connect_client,
                  .send = send_frame,
                  .await_close = await_close,
                  .drop = drop,
                  .now = now},
        .agents = {ARCP__STORY_NEXT, agent_line_at, agent_remove},
        .audit = {ARCP__STORY_ANY, audit_record_at, story_keep_text},
        .set = set,
        .profile = profile,
        .restart = restart,
        .hold_store = hold_store,
        .policy = policy,
        .max_jobs = set_max_jobs,
        .has_echo = has_echo,
        .clock = forward,
        .set_wall = set_wall,
        .later = forward,
        .agent_says = agent_says,
        .agent_exits = agent_exits,
        .agent_is_killed = agent_is_killed,
        .host = host,
        .denied = denied,
    };
}

void story_stage_memory_end(story_stage *stage)
{
    rig_stop(stage->story.user);
    assert_int_equal(hosts.plans, 0);
}
