#include "conformance/conformance.h"

#include <string.h>

/* Asks for the job's end, and waits until that was heard: a dropped connection may lose it. */
static void cancel(arcp__talk *t, arcp__talk_peer *who)
{
    arcp__wire_begin(t->wire);
    bool heard = arcp__talk_send(t, who, ARCP_SPAN_LITERAL("job.cancel"),
                                 ARCP_SPAN_LITERAL("{\"job_id\":$job,\"reason\":\"conformance\"}"));
    while (heard && arcp__talk_take(t, who, "job.cancelled")) {
        heard = !arcp__frame_is(&t->json, "job.cancelled") &&
                !arcp__frame_is(&t->json, "job.error") && !arcp__frame_is(&t->json, "job.result") &&
                !arcp__frame_is(&t->json, "session.error");
    }
}

/* Jobs that would run on are cancelled by who submitted them; what comes of it does not count. */
static void clean_up(const arcp__case *played, arcp__talk *t)
{
    arcp__verdict unheard = {0};
    t->verdict = &unheard;
    bool runs_on = strstr(played->needs, "long") != NULL &&
                   arcp__variable_get(&t->variables, ARCP_SPAN_LITERAL("job")) != NULL;
    for (size_t at = 0; at < ARCP__TALK_PEERS; at++) {
        if (runs_on && t->peers[at].end != NULL) {
            cancel(t, &t->peers[at]);
        }
    }
    t->verdict = NULL;
    arcp__verdict_fini(&unheard);
}

static bool play_steps(arcp__talk *t, const char *text)
{
    arcp_span steps = arcp_span_cstr(text);
    bool went_well = true;
    while (went_well && steps.size != 0) {
        size_t at = 0;
        while (at < steps.size && steps.data[at] != '\n') {
            at++;
        }
        went_well = arcp__step_play(t, arcp_span_first(steps, at));
        steps = arcp_span_from(steps, at < steps.size ? at + 1 : at);
    }
    return went_well && (!t->variables.failed || arcp__talk_fail(t, "out of memory"));
}

void arcp__case_play(const arcp__case *played, arcp__wire *wire, const arcp__variables *given,
                     arcp__verdict *verdict, arcp_buf *welcome)
{
    arcp__talk talk;
    *verdict = (arcp__verdict){.section = played->section};
    arcp__talk_init(&talk, wire, verdict);
    for (size_t at = 0; at < given->count; at++) {
        arcp__variable_set(&talk.variables, arcp_span_cstr(given->rows[at].name),
                           arcp_buf_span(&given->rows[at].json));
    }
    verdict->passed = play_steps(&talk, played->steps);
    if (welcome != NULL) {
        arcp_buf_append(welcome, arcp_buf_span(&talk.frame));
    }
    clean_up(played, &talk);
    arcp__talk_fini(&talk);
}
