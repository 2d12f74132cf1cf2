#include "hook/hook_rig.h"

#include <string.h>

#include "support/check.h"

#include "base/alloc.h"

#define HELLO                                                                                      \
    "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{\"auth\":{\"scheme\":" \
    "\"bearer\",\"token\":\"t-alice\"},\"capabilities\":{\"features\":[\"cost.budget\"]}}}"

/* The fixture of a rig is around it. */
static void deliver(engine_rig *rig, const arcp__effect *effect)
{
    hook_rig *h = (hook_rig *)rig;
    const char *end = memchr(effect->text.data, '\n', effect->text.size);
    assert_non_null(end);
    assert_true(h->delivered_count < HOOK_DELIVERED_MAX);
    const size_t name = (size_t)(end - effect->text.data);
    const arcp_span body = arcp_span_from(effect->text, name + 1);
    const size_t at = h->delivered_count++;
    h->delivered[at].number = effect->id;
    (void)snprintf(h->delivered[at].hook, sizeof h->delivered[at].hook, "%.*s", (int)name,
                   effect->text.data);
    h->delivered[at].body = arcp__copy_cstr(body.data, body.size);
    (void)sscanf(h->delivered[at].body, "{\"id\":\"%39[^\"]", h->delivered[at].id);
}

static arcp_status outcome(const hook_rig *h, size_t at)
{
    size_t attempts = 0;
    for (size_t i = 0; i <= at; i++) {
        attempts += strcmp(h->delivered[i].id, h->delivered[at].id) == 0 ? 1 : 0;
    }
    const bool fails =
        h->receiver == HOOK_FAILS || (h->receiver == HOOK_FAILS_TWICE && attempts <= 2);
    return fails ? ARCP_E_IO : ARCP_OK;
}

/* A receiver answers between two steps of the engine's owner. */
static bool answer(engine_rig *rig)
{
    hook_rig *h = (hook_rig *)rig;
    for (size_t i = 0; i < h->delivered_count && h->receiver != HOOK_IS_SILENT; i++) {
        if (!h->delivered[i].is_answered) {
            h->delivered[i].is_answered = true;
            arcp__engine_notified(rig->engine, rig->now, h->delivered[i].number, outcome(h, i),
                                  ARCP_SPAN_LITERAL("it answered 500"));
            return true;
        }
    }
    return false;
}

arcp__hook_options hook_for(const char *name, unsigned events)
{
    return (arcp__hook_options){.name = arcp_span_cstr(name),
                                .target = ARCP_SPAN_LITERAL("https://hooks.example"),
                                .events = events,
                                .budget_left_percent = 10,
                                .stuck_after_sec = 600};
}

void hook_start(hook_rig *h, const arcp__hook_options *hooks, size_t count)
{
    memset(h, 0, sizeof *h);
    rig_begin(&h->rig, NULL);
    h->rig.deliver = deliver;
    h->rig.answer = answer;
    h->rig.hooks = hooks;
    h->rig.hook_count = count;
    rig_open(&h->rig);
}

void hook_stop(hook_rig *h)
{
    rig_stop(&h->rig);
    for (size_t i = 0; i < h->delivered_count; i++) {
        arcp__free(h->delivered[i].body);
    }
}

void hook_answer(hook_rig *h, arcp_status status)
{
    for (size_t i = 0; i < h->delivered_count; i++) {
        if (!h->delivered[i].is_answered) {
            h->delivered[i].is_answered = true;
            arcp__engine_notified(h->rig.engine, h->rig.now, h->delivered[i].number, status,
                                  ARCP_SPAN_LITERAL("it answered 500"));
        }
    }
    rig_run(&h->rig);
}

size_t hook_count(const hook_rig *h, const char *hook, const char *text)
{
    size_t count = 0;
    for (size_t i = 0; i < h->delivered_count; i++) {
        count += strcmp(h->delivered[i].hook, hook) == 0 &&
                         (text == NULL || strstr(h->delivered[i].body, text) != NULL)
                     ? 1
                     : 0;
    }
    return count;
}

rig_agent *hook_submit(hook_rig *h, const char *agent, const char *members)
{
    char frame[512];
    rig_client *client = rig_find(&h->rig, "a");
    if (client == NULL || client->link == NULL) {
        client = rig_connect(&h->rig, "a");
        rig_send(&h->rig, client, HELLO);
    }
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"%zu\",\"type\":\"job.submit\",\"payload\":{"
                   "\"agent\":\"%s\"%s%s}}",
                   h->rig.agent_count, agent, members[0] == '\0' ? "" : ",", members);
    rig_send(&h->rig, client, frame);
    return rig_agent_last(&h->rig);
}

size_t hook_waiting(const hook_rig *h)
{
    arcp__notification_view view = {.id = ""};
    size_t count = 0;
    while (arcp__engine_next_notification(h->rig.engine, view.id, &view)) {
        count++;
    }
    return count;
}
