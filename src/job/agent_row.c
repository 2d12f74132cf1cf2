/* A row of x-vendor.arcpd.agents: the versions of an agent, their room, and how jobs have ended. */
#include "job/job_state.h"

static void write_version(const arcp__agent_version *version, bool is_default,
                          arcp_json_writer *writer)
{
    const arcp__place_agent *places = version->places;
    uint64_t workers = 0;
    for (const arcp__place_offer *offer = places->offers; offer != NULL; offer = offer->next) {
        workers += offer->owner != NULL;
    }
    arcp_json_begin_object(writer);
    arcp__put_cstr(writer, "version", version->version);
    if (is_default) {
        arcp__put_bool(writer, "default", true);
    }
    if (places->max_jobs != 0 && !version->is_remote) {
        arcp__put_u64(writer, "max_jobs", places->max_jobs);
    }
    if (version->is_remote) {
        arcp__put_u64(writer, "workers", workers);
    }
    arcp__put_u64(writer, "running", places->jobs.held + places->jobs.lent);
    arcp__put_u64(writer, "queued", places->waiting);
    arcp_json_end_object(writer);
}

/* The counts since the start; nothing for an agent that the metrics count as "other". */
static void write_ended(const arcp__job_metrics *metrics, const char *name,
                        arcp_json_writer *writer)
{
    size_t i = 0;
    while (i < metrics->agent_count && strcmp(metrics->agents[i].name, name) != 0) {
        i++;
    }
    if (i == metrics->agent_count && i == ARCP__METRIC_AGENTS_MAX) {
        return;
    }
    arcp__put_object(writer, "ended");
    for (int status = ARCP_JOB_SUCCESS; status < ARCP_JOB_STATUS_COUNT; status++) {
        arcp__put_u64(writer, arcp_job_status_name((arcp_job_status)status),
                      i == metrics->agent_count ? 0 : metrics->agents[i].ended[status]);
    }
    arcp_json_end_object(writer);
}

const char *arcp__agent_name_of(const arcp__agent_version *first)
{
    return first->name;
}

void arcp__agent_write_row(const arcp__jobs *jobs, const arcp__agent_version *first, arcp_buf *out)
{
    const arcp__agent_version *chosen = arcp__agent_default_of(first);
    bool is_unconfined = false;
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_cstr(&writer, "name", first->name);
    arcp__put_array(&writer, "versions");
    for (const arcp__agent_version *version = first;
         version != NULL && strcmp(version->name, first->name) == 0; version = version->next) {
        write_version(version, version == chosen, &writer);
        is_unconfined = is_unconfined || version->is_unconfined;
    }
    arcp_json_end_array(&writer);
    if (is_unconfined) {
        arcp__put_bool(&writer, "unconfined", true);
    }
    write_ended(&jobs->metrics, first->name, &writer);
    arcp_json_end_object(&writer);
}
