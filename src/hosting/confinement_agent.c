/* What the registration of an agent says about its sandboxes. */
#include "hosting/confinement.h"

#include <string.h>

#include "base/clock.h"

/* A program that was not found is looked for again when a job is admitted, which must not wait for
 * files: at most once in this time, however many jobs are submitted. A look is some dozens of calls
 * of stat and open. */
#define LOOK_AGAIN_NS ARCP_NS_PER_SEC

static const char *value_of(const arcp__environment *environment, const char *name)
{
    const size_t size = strlen(name);
    for (size_t i = 0; i < environment->count; i++) {
        if (strncmp(environment->pairs[i], name, size) == 0 && environment->pairs[i][size] == '=') {
            return environment->pairs[i] + size + 1;
        }
    }
    return NULL;
}

void arcp__confinement_find_command(arcp__process_agent *agent)
{
    arcp__agent_confinement *confinement = &agent->confinement;
    arcp__environment environment = {0};
    const int64_t now_ns = arcp__clock_ns(CLOCK_MONOTONIC);
    if (confinement->is_found || (confinement->looked_mono_ns != 0 &&
                                  now_ns - confinement->looked_mono_ns < LOOK_AGAIN_NS)) {
        return;
    }
    confinement->looked_mono_ns = now_ns;
    arcp__process_agent_environment(agent, &environment);
    const char *home = value_of(&environment, "HOME");
    const arcp__command_base_query query = {
        .argv = agent->spec.argv,
        .path = value_of(&environment, "PATH"),
        .home = home != NULL && home[0] == '/' ? home : NULL,
        .has_words = true,
    };
    confinement->is_found =
        !environment.failed &&
        arcp__agent_sandbox_find(&confinement->sandbox, &query, NULL) == ARCP_OK;
    arcp__environment_fini(&environment);
}

static bool read_protect(arcp_protect protect, arcp__sandbox_protect *out)
{
    switch (protect) {
    case ARCP_PROTECT_COMMITS:
        *out = ARCP__SANDBOX_PROTECT_COMMITS;
        return true;
    case ARCP_PROTECT_STRICT:
        *out = ARCP__SANDBOX_PROTECT_STRICT;
        return true;
    case ARCP_PROTECT_NONE:
        *out = ARCP__SANDBOX_PROTECT_NONE;
        return true;
    }
    return false;
}

unsigned arcp__confinement_find_limits(const arcp__hosting *hosting, unsigned wanted)
{
    /* The words of the setting enforce.cgroup: auto, off. */
    return hosting->enforce.cgroup != 0 || wanted == 0
               ? 0
               : wanted & arcp__process_table_find_limits(hosting->processes);
}

/* Says so when limits of the agent hold less than they say. */
static void warn_of_limits(const arcp__process_agent *agent, const char *name)
{
    static const struct {
        unsigned limit;
        const char *name;
        arcp__sandbox_note note;
    } rows[] = {{ARCP__SANDBOX_LIMIT_MEMORY, "memory_bytes", ARCP__SANDBOX_NOTE_MEMORY_EACH},
                {ARCP__SANDBOX_LIMIT_CPU, "cpu_percent", ARCP__SANDBOX_NOTE_CPU_OPEN}};
    const arcp__agent_confinement *confinement = &agent->confinement;
    const unsigned wanted = (confinement->memory_bytes != 0 ? ARCP__SANDBOX_LIMIT_MEMORY : 0U) |
                            (confinement->cpu_percent != 0 ? ARCP__SANDBOX_LIMIT_CPU : 0U);
    const unsigned found = arcp__confinement_find_limits(agent->hosting, wanted);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if ((wanted & ~found & rows[i].limit) != 0) {
            arcp__hosting_log(agent->hosting, ARCP__HOSTING_WARN, "agent \"%s\": %s: %s", name,
                              rows[i].name, arcp__sandbox_note_text(rows[i].note));
        }
    }
}

arcp_status arcp__confinement_register(arcp__process_agent *agent, const arcp__agent_row *from,
                                       arcp_error *err)
{
    arcp__agent_confinement *confinement = &agent->confinement;
    arcp_error why = {0};
    confinement->is_on = from->confine;
    confinement->min = from->min;
    confinement->tls = from->tls;
    confinement->pids = from->pids;
    confinement->memory_bytes = from->memory_bytes;
    confinement->cpu_percent = from->cpu_percent;
    if (!read_protect(from->protect, &confinement->protect) ||
        (unsigned)from->min > ARCP_ENFORCE_MIN_ADVISORY ||
        (unsigned)from->tls > ARCP_ENFORCE_TLS_TERMINATE) {
        return arcp_error_set(err, ARCP_E_USAGE, "agent \"%s\": protect, min or tls is unknown",
                              from->name);
    }
    if (!from->confine) {
        return ARCP_OK;
    }
    const char **bases = arcp__confinement_paths(&agent->arena, from->base, &why);
    confinement->sandbox.bases = bases;
    arcp_status status = bases == NULL ? why.status : ARCP_OK;
    if (status == ARCP_OK && agent->cwd != NULL) {
        const char *const cwd[] = {agent->cwd, NULL};
        const char **found = arcp__confinement_paths(&agent->arena, cwd, &why);
        status = found == NULL ? why.status : ARCP_OK;
        confinement->sandbox.request.cwd = arcp_span_cstr(found == NULL ? NULL : found[0]);
    }
    if (status != ARCP_OK) {
        return arcp_error_set(err, status, "agent \"%s\": %s", from->name, why.message);
    }
    arcp__confinement_find_command(agent);
    if (agent->hosting->confinement != NULL) {
        warn_of_limits(agent, from->name);
    }
    return ARCP_OK;
}
