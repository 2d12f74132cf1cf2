/* The clients and the agents of the rig. */
#include "story/engine_rig.h"

#include "base/alloc.h"
#include "support/check.h"

/* ---- clients ---- */

rig_client *rig_find(engine_rig *rig, const char *name)
{
    for (size_t i = 0; i < RIG_CLIENTS_MAX; i++) {
        rig_client *client = &rig->clients[i];
        if (client->name[0] == '\0') {
            (void)snprintf(client->name, sizeof client->name, "%s", name);
        }
        if (strcmp(client->name, name) == 0) {
            return client;
        }
    }
    fail_msg("too many clients");
    return NULL;
}

rig_client *rig_connect(engine_rig *rig, const char *name)
{
    rig_client *client = rig_find(rig, name);
    rig_text_clear(&client->frames);
    rig_text_clear(&client->waiting);
    client->close_code = 0;
    client->unsent = 0;
    client->slow = client->paused = client->is_admitted = false;
    arcp__link_options options = rig->link;
    options.user = client;
    client->link = arcp__engine_connect(rig->engine, rig->now, &options);
    if (client->link == NULL && rig->recover != NULL) {
        rig->recover(rig->on_effect_user);
        client->link = arcp__engine_connect(rig->engine, rig->now, &options);
    }
    assert_non_null(client->link);
    return client;
}

void rig_receive(engine_rig *rig, rig_client *client, const char *frame)
{
    assert_non_null(client->link);
    if (client->paused) {
        rig_text_push(&client->waiting, &client->last_waiting, arcp_span_cstr(frame));
        return;
    }
    client->paused =
        !arcp__engine_receive(rig->engine, rig->now, client->link, arcp_span_cstr(frame));
}

void rig_send(engine_rig *rig, rig_client *client, const char *frame)
{
    if (!rig->is_dead) {
        rig_receive(rig, client, frame);
        rig_run(rig);
    }
}

void rig_resume(engine_rig *rig, rig_client *client)
{
    client->paused = false;
    while (!client->paused && client->link != NULL && client->waiting != NULL) {
        char *frame = rig_text_take(&client->waiting);
        rig_receive(rig, client, frame);
        arcp__free(frame);
    }
}

void rig_input_over(engine_rig *rig, rig_client *client)
{
    arcp__engine_input_over(rig->engine, rig->now, client->link);
    rig_run(rig);
}

void rig_drop(engine_rig *rig, rig_client *client)
{
    arcp__link *link = client->link;
    client->link = NULL;
    if (link != NULL) {
        arcp__engine_disconnect(rig->engine, rig->now, link);
    }
    rig_text_clear(&client->frames);
    rig_text_clear(&client->waiting);
    rig_run(rig);
}

char *rig_take(rig_client *client)
{
    return rig_text_take(&client->frames);
}

void rig_drained(engine_rig *rig, rig_client *client, const char *frame)
{
    if (client->slow && client->link != NULL) {
        const size_t size = strlen(frame);
        client->unsent -= size < client->unsent ? size : client->unsent;
        arcp__engine_drained(rig->engine, rig->now, client->link, client->unsent);
        rig_run(rig);
    }
}

char *rig_read(engine_rig *rig, rig_client *client)
{
    char *frame = rig_text_take(&client->frames);
    if (frame != NULL) {
        rig_drained(rig, client, frame);
    }
    return frame;
}

/* ---- agents ---- */

rig_agent *rig_agent_of(engine_rig *rig, const char *job_id)
{
    for (size_t i = rig->agent_count; i > 0; i--) {
        if (strcmp(rig->agents[i - 1].job_id, job_id) == 0) {
            return &rig->agents[i - 1];
        }
    }
    return NULL;
}

rig_agent *rig_agent_last(engine_rig *rig)
{
    for (size_t i = rig->agent_count; i > 0; i--) {
        if (!rig->agents[i - 1].forgotten) {
            return &rig->agents[i - 1];
        }
    }
    return NULL;
}

void rig_agent_started(engine_rig *rig, rig_agent *agent)
{
    if (agent->starting && !agent->forgotten) {
        agent->starting = false;
        arcp__engine_agent_started(rig->engine, rig->now, agent->job,
                                   rig->fail_start ? ARCP_E_IO : ARCP_OK,
                                   ARCP_SPAN_LITERAL("no such file"));
    }
    rig_run(rig);
}

void rig_agent_writes(engine_rig *rig, rig_agent *agent, const char *line)
{
    if (!agent->forgotten && !rig->is_dead) {
        arcp__engine_agent_line(rig->engine, rig->now, agent->job, 0, arcp_span_cstr(line));
    }
    rig_run(rig);
}

char *rig_agent_take(rig_agent *agent)
{
    return rig_text_take(&agent->lines);
}

void rig_agent_exits(engine_rig *rig, rig_agent *agent, bool by_signal, int code)
{
    arcp__agent_exit exit = {.by_signal = by_signal, .code = code};
    if (!agent->forgotten) {
        arcp__engine_agent_exited(rig->engine, rig->now, agent->job, &exit);
    }
    rig_run(rig);
}
