#include "engine/confiner.h"

#include <stdio.h>

#include "base/alloc.h"

static void copy(char *to, size_t size, arcp_span text)
{
    (void)snprintf(to, size, "%.*s", (int)text.size, text.size == 0 ? "" : text.data);
}

static void admit(void *user, const arcp__admit_request *request, arcp__admit_answer *answer)
{
    confiner *c = user;
    arcp_buf lease = arcp_buf_init();
    c->asked++;
    copy(c->job_id, sizeof c->job_id, request->job_id);
    copy(c->agent, sizeof c->agent, request->agent);
    copy(c->cwd, sizeof c->cwd, request->cwd);
    copy(c->endpoint, sizeof c->endpoint, request->endpoint);
    c->cwd_is_fresh = request->cwd_is_fresh;
    arcp_lease_format(request->lease, &lease);
    copy(c->lease, sizeof c->lease, arcp_buf_span(&lease));
    arcp_buf_fini(&lease);
    answer->status = c->status;
    answer->is_shown = c->is_shown;
    for (size_t i = 0; i < ARCP__ADMIT_TEXTS; i++) {
        if (c->texts[i] != NULL) {
            arcp_buf_append_cstr(&answer->texts[i], c->texts[i]);
        }
    }
    if (c->status == ARCP_OK && !c->has_no_plan) {
        answer->plan = arcp__alloc(1); /* NULL when out of memory: then there is nothing to free */
        c->plans += answer->plan != NULL;
        c->last_plan = answer->plan;
    }
}

static void release(void *user, void *plan)
{
    confiner *c = user;
    c->plans--;
    c->released++;
    arcp__free(plan);
}

static const char *enforcement(void *user)
{
    const confiner *c = user;
    return c->status == ARCP_E_AGENT_NOT_AVAILABLE ? "none" : c->texts[ARCP__ADMIT_LEVEL];
}

static void prepare(void *user, arcp__engine_options *options)
{
    options->hosts = (arcp__agent_hosts){
        .admit = admit, .release = release, .enforcement = enforcement, .user = user};
}

void confiner_attach(confiner *c, engine_rig *rig)
{
    rig->prepare = prepare;
    rig->prepare_user = c;
}

void confiner_confines(confiner *c)
{
    c->status = ARCP_OK;
    c->is_shown = true;
    c->texts[ARCP__ADMIT_LEVEL] = "full";
    c->texts[ARCP__ADMIT_SUMMARY] = "2 exact, 1 refused";
    c->texts[ARCP__ADMIT_SHA256] = "0123456789abcdef";
    c->texts[ARCP__ADMIT_LINES] =
        "[{\"capability\":\"net.fetch\",\"pattern\":\"https://x/v1/*\",\"verdict\":\"refused\"}]";
    c->texts[ARCP__ADMIT_BASE] = "[\"/usr\"]";
    c->texts[ARCP__ADMIT_INEXACT] = "[{\"pattern\":\"https://x/v1/*\",\"verdict\":\"refused\"}]";
}

void confiner_refuses(confiner *c)
{
    c->status = ARCP_E_PERMISSION_DENIED;
    c->texts[ARCP__ADMIT_MESSAGE] = "fs.read /proc/** is refused, enforce.min is exact";
    c->texts[ARCP__ADMIT_DETAILS] =
        "{\"capability\":\"fs.read\",\"pattern\":\"/proc/**\",\"verdict\":\"refused\","
        "\"note\":\"the sandbox has its own\",\"min\":\"exact\"}";
}

void confiner_is_unavailable(confiner *c)
{
    c->status = ARCP_E_AGENT_NOT_AVAILABLE;
    c->texts[ARCP__ADMIT_MESSAGE] = "this machine cannot confine agents";
    c->texts[ARCP__ADMIT_DETAILS] = "{\"level\":\"none\",\"missing\":[\"userns\"]}";
}
