#include "engine/credential_rig.h"

#include <arcp/secret.h>

#include "base/alloc.h"

static void begin(fixture *f)
{
    *f = (fixture){.up = {.issuing = UPSTREAM_WELL}};
    rig_begin(&f->rig, NULL);
    upstream_attach(&f->up, &f->rig);
}

int credential_setup(void **state)
{
    fixture *f = arcp__alloc(sizeof *f);
    assert_non_null(f);
    begin(f);
    *state = f;
    return 0;
}

int credential_teardown(void **state)
{
    fixture *f = *state;
    if (f->rig.engine != NULL) {
        rig_stop(&f->rig);
    }
    assert_false(f->up.leaked);
    arcp__free(f);
    return 0;
}

void hello_with(fixture *f, const char *name, const char *principal, const char *features)
{
    char frame[1024];
    rig_client *client = rig_connect(&f->rig, name);
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{\"auth\""
                   ":{\"scheme\":\"bearer\",\"token\":\"t-%s\"},\"capabilities\":{\"features\":[%s]"
                   "}}}",
                   principal, features);
    rig_send(&f->rig, client, frame);
}

static const char *keep(fixture *f, char *text)
{
    (void)snprintf(f->frame, sizeof f->frame, "%s", text == NULL ? "" : text);
    if (text != NULL) {
        arcp_wipe(text, strlen(text));
    }
    arcp_free(text);
    return f->frame;
}

const char *next(fixture *f, const char *name)
{
    return keep(f, rig_take(rig_find(&f->rig, name)));
}

const char *next_line(fixture *f, rig_agent *agent)
{
    return keep(f, rig_agent_take(agent));
}

void start_with(fixture *f, const char *features)
{
    rig_open(&f->rig);
    hello_with(f, "a", "alice", features);
    (void)next(f, "a");
}

void start(fixture *f)
{
    start_with(f, FEATURES_ALL);
}

void request(fixture *f, const char *name, const char *id, const char *type, const char *payload)
{
    char frame[4096];
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"%s\",\"type\":\"%s\",\"payload\":%s}", id, type,
                   payload);
    rig_send(&f->rig, rig_find(&f->rig, name), frame);
}

void submit(fixture *f, const char *id, const char *payload)
{
    request(f, "a", id, "job.submit", payload);
}

uint64_t outstanding(fixture *f)
{
    arcp__engine_stats stats;
    arcp__engine_get_stats(f->rig.engine, &stats);
    return stats.credentials_outstanding;
}

uint64_t stuck(fixture *f)
{
    arcp__engine_stats stats;
    arcp__engine_get_stats(f->rig.engine, &stats);
    return stats.credentials_stuck;
}

void ends(fixture *f, rig_agent *agent)
{
    rig_agent_exits(&f->rig, agent, false, 0);
}

rig_agent *run_one(fixture *f, const char *payload)
{
    start(f);
    submit(f, "1", payload);
    (void)next(f, "a");
    (void)next(f, "a");
    rig_agent *agent = rig_agent_last(&f->rig);
    assert_non_null(agent);
    return agent;
}
