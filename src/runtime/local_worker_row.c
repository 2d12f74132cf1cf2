/* What the worker of this machine gets to host agents and their jobs. */
#include "hosting/agent_row.h"
#include "runtime/local_worker.h"
#include "runtime/worker_host_job.h"

/* The body of one message. */
#define LIST_BYTES_MAX ARCP__WORKER_BODY_MAX

bool arcp__local_worker_takes(const arcp_runtime *runtime, const arcp__process_agent *agent)
{
    return runtime->worker != NULL && agent->hosting != NULL;
}

arcp_span arcp__worker_of(const arcp_runtime *runtime, const arcp__agent_entry *entry)
{
    return arcp__local_worker_takes(runtime, &entry->process) ? arcp__local_worker_name
                                                              : arcp_span_make(NULL, 0);
}

static void write_host(const arcp__hosting *hosting, arcp_buf *out)
{
    arcp__hosting_write(hosting, arcp__hosting_options(hosting), out);
}

arcp_status arcp__local_worker_register(const arcp__agent_row *row, arcp__agent_entry *entry,
                                        arcp_error *err)
{
    arcp__environment environment = {0};
    entry->row = arcp_buf_secret_init();
    arcp__process_agent_environment(&entry->process, &environment);
    arcp_status status = arcp__agent_row_write(row, &environment, &entry->row, err);
    if (status == ARCP_OK) {
        arcp_buf host = arcp_buf_init();
        write_host(entry->process.hosting, &host);
        status = host.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                             : arcp__start_row_check(arcp_buf_span(&entry->row),
                                                     arcp_buf_span(&host), &environment, err);
        arcp_buf_fini(&host);
    }
    arcp__environment_fini(&environment);
    return status;
}

static arcp_status write_row(const arcp_runtime *runtime, const arcp__agent_entry *entry,
                             const arcp__start_row *of_job, arcp_buf *out, arcp_error *err)
{
    arcp__start_row row = *of_job;
    arcp_buf host = arcp_buf_init();
    write_host(&runtime->hosting, &host);
    row.agent = arcp_buf_span(&entry->row);
    row.host = arcp_buf_span(&host);
    const arcp_status status = host.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                           : arcp__start_row_write(&row, out, err);
    arcp_buf_fini(&host);
    return status;
}

arcp_status arcp__local_worker_write_row(const arcp_runtime *runtime, const arcp__job *job,
                                         arcp_buf *out, arcp_error *err)
{
    const arcp__agent_entry *entry = job->live->host;
    const arcp__enforcement *enforcement = job->live->enforcement;
    arcp__environment environment = {0};
    if (entry->row.size == 0) {
        return arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "the agent is not registered any more");
    }
    if (enforcement != NULL && enforcement->is_confined &&
        !arcp__process_agent_is_confined(&entry->process)) {
        return arcp_error_set(err, ARCP_E_INTERNAL_ERROR,
                              "the job was accepted for a sandbox, and agents have none any more");
    }
    arcp__worker_host_environment(&entry->process, job, &environment);
    const arcp__start_row row = {.env = (const char *const *)environment.pairs,
                                 .cwd = arcp_span_cstr(job->live->cwd),
                                 .owns_cwd = job->live->owns_cwd,
                                 .endpoint = arcp__credential_endpoint(&job->live->credential)};
    const arcp_status status = environment.failed
                                   ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                   : write_row(runtime, entry, &row, out, err);
    arcp__environment_fini(&environment);
    return status;
}

void arcp__local_worker_list_agents(arcp_runtime *runtime)
{
    const arcp__joined_worker *worker =
        runtime->worker == NULL
            ? NULL
            : arcp__worker_links_named(runtime->worker_links, arcp__local_worker_name);
    const arcp__start_row none = {.env = NULL};
    const arcp__agent_entry *entry = NULL;
    arcp_buf rows = arcp_buf_secret_init();
    if (worker == NULL || worker->is_draining) {
        return;
    }
    LL_FOREACH (runtime->agents, entry) {
        const size_t before = rows.size;
        arcp_error error = {0};
        if (!entry->is_offered || entry->row.size == 0) {
            continue;
        }
        const arcp_status status = write_row(runtime, entry, &none, &rows, &error);
        arcp_buf_append_byte(&rows, '\n');
        if (status != ARCP_OK || rows.size > LIST_BYTES_MAX) {
            rows.size = before; /* its jobs bring the row */
            arcp__runtime_log(
                runtime, NULL, ARCP_LOG_WARN,
                "agent \"%s\": the worker starts no process of it before a job comes: "
                "%s",
                entry->name, status == ARCP_OK ? "there are too many agents" : error.message);
        }
    }
    if (!rows.failed) {
        arcp__worker_link_send(worker->link, &(arcp__worker_message){.kind = ARCP__WORKER_WARM,
                                                                     .body = arcp_buf_span(&rows)});
    }
    arcp_buf_fini(&rows);
}
