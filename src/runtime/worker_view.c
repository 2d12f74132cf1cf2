/* What operators see of workers, and do with them. */
#include "base/clock.h"
#include "base/timestamp.h"
#include "runtime/worker_links.h"
#include "json/json_put.h"

static void write_worker(const arcp__joined_worker *worker, arcp_json_writer *writer)
{
    char since[ARCP__TIMESTAMP_SIZE];
    arcp__timestamp_format(worker->since_wall_ns, since);
    arcp_json_begin_object(writer);
    arcp__put_cstr(writer, "name", worker->name);
    arcp__put_cstr(writer, "state", worker->is_draining ? "draining" : "joined");
    arcp__put_string(writer, "since", arcp_span_make(since, sizeof since));
    arcp__put_u64(writer, "jobs", arcp__worker_peer_jobs(worker->peer));
    if (worker->capacity != 0) {
        arcp__put_u64(writer, "capacity", worker->capacity);
    }
    arcp__put_cstr(writer, "instance", worker->instance);
    arcp__put_cstr(writer, "version", worker->version);
    arcp__put_u64(writer, "pid", worker->pid);
    if (!worker->is_local) {
        arcp__put_cstr(writer, "peer", worker->peer_name);
    }
    arcp__put_array(writer, "agents");
    for (size_t i = 0; i < worker->offer_count; i++) {
        arcp_json_write_cstr(writer, worker->offers[i].name);
    }
    arcp_json_end_array(writer);
    arcp_json_end_object(writer);
}

void arcp__runtime_write_workers(const arcp_runtime *runtime, arcp_buf *out)
{
    const arcp__worker_links *links = runtime->worker_links;
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_array(&writer, "workers");
    for (const arcp__joined_worker *worker = links == NULL ? NULL : links->joined; worker != NULL;
         worker = worker->hh.next) {
        if (worker->peer != NULL) {
            write_worker(worker, &writer);
        }
    }
    arcp_json_end_array(&writer);
    arcp_json_end_object(&writer);
}

arcp_status arcp__runtime_drain_worker(arcp_runtime *runtime, arcp_span name, arcp_error *err)
{
    const arcp__worker_links *links = runtime->worker_links;
    arcp__joined_worker *worker = links == NULL ? NULL : arcp__worker_links_named(links, name);
    if (worker == NULL) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "no worker with this name is connected");
    }
    arcp__worker_links_drain(worker);
    return ARCP_OK;
}

arcp_status arcp__runtime_forget_worker(arcp_runtime *runtime, arcp_span name, arcp_error *err)
{
    const arcp__worker_links *links = runtime->worker_links;
    if (links != NULL && arcp__worker_links_named(links, name) != NULL) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "the worker is connected: drain it, or end it");
    }
    arcp__shards_of_worker(runtime, (arcp__worker_life){.name = name}, arcp__engine_worker_lost);
    arcp__runtime_log(runtime, NULL, ARCP_LOG_WARN, "the worker %.*s is forgotten", (int)name.size,
                      name.data);
    return ARCP_OK;
}
