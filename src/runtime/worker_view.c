/* What operators see of workers, and do with them. */
#include "base/timestamp.h"
#include "runtime/worker_links.h"
#include "json/json_put.h"

static void put_time(arcp_json_writer *writer, const char *name, int64_t wall_ns)
{
    char text[ARCP__TIMESTAMP_SIZE];
    arcp__timestamp_format(wall_ns, text);
    arcp__put_string(writer, name, arcp_span_make(text, sizeof text));
}

static void put_true(arcp_json_writer *writer, const char *name, bool is_true)
{
    if (is_true) {
        arcp__put_bool(writer, name, true);
    }
}

static const char *state_of(const arcp__worker_view *view)
{
    return view->state == ARCP__WORKER_AWAY ? "away" : view->is_draining ? "draining" : "joined";
}

/* One that was drained ends with its last job; until it is lost it might be back from a cut. */
static bool has_ended(const arcp__worker_view *view)
{
    return view->state == ARCP__WORKER_AWAY && view->is_draining && view->jobs == 0;
}

/* The worker's place in the shard. False: that does not know it. */
static bool find_life(const arcp__shard *shard, const arcp__worker_view *life, size_t *index,
                      arcp__worker_view *out)
{
    for (size_t i = 0; arcp__engine_worker_view(shard->engine, i, out); i++) {
        if (strcmp(out->name, life->name) == 0 && strcmp(out->instance, life->instance) == 0) {
            *index = i;
            return true;
        }
    }
    return false;
}

/* Of the agent with this index, which all shards have in the same order. */
static size_t count_jobs(const arcp_runtime *runtime, const arcp__worker_view *life, size_t agent)
{
    size_t jobs = 0;
    for (const arcp__shard *shard = runtime->shards; shard != arcp__shards_end(runtime); shard++) {
        arcp__worker_view there;
        arcp__worker_agent_view found;
        size_t index = 0;
        if (find_life(shard, life, &index, &there) &&
            arcp__engine_worker_agent_view(shard->engine, index, agent, &found)) {
            jobs += found.jobs;
        }
    }
    return jobs;
}

static void write_agents(const arcp_runtime *runtime, const arcp__shard *shard,
                         const arcp__worker_view *life, size_t index, arcp_json_writer *writer)
{
    arcp__worker_agent_view agent;
    arcp__put_array(writer, "agents");
    for (size_t i = 0; arcp__engine_worker_agent_view(shard->engine, index, i, &agent); i++) {
        arcp_json_begin_object(writer);
        arcp__put_cstr(writer, "agent", agent.agent);
        arcp__put_cstr(writer, "mode", agent.mode);
        arcp__put_u64(writer, "jobs", count_jobs(runtime, life, i));
        if (agent.max_jobs != 0) {
            arcp__put_u64(writer, "max_jobs", agent.max_jobs);
        }
        put_true(writer, "hidden", agent.is_hidden);
        put_true(writer, "differs", agent.is_unlike);
        arcp_json_end_object(writer);
    }
    arcp_json_end_array(writer);
}

/* The engine knows the worker; of its link, if it has one, the address is ours. */
static void write_worker(const arcp_runtime *runtime, const arcp__shard *shard,
                         const arcp__worker_view *view, size_t index, arcp_json_writer *writer)
{
    const arcp__worker_links *links = runtime->worker_links;
    const arcp__joined_worker *joined = NULL;
    if (links != NULL) {
        HASH_FIND_STR(links->joined, view->instance, joined);
    }
    arcp_json_begin_object(writer);
    arcp__put_cstr(writer, "name", view->name);
    put_true(writer, "local", strcmp(view->name, ARCP__LOCAL_WORKER) == 0);
    arcp__put_cstr(writer, "state", state_of(view));
    put_time(writer, "since", view->since_wall_ns);
    if (view->is_draining) {
        put_time(writer, "drains_since", view->drains_wall_ns);
    }
    arcp__put_u64(writer, "jobs", view->jobs);
    if (view->capacity != 0) {
        arcp__put_u64(writer, "capacity", view->capacity);
    }
    arcp__put_cstr(writer, "instance", view->instance);
    arcp__put_word(writer, "version", view->version);
    if (view->pid != 0) {
        arcp__put_u64(writer, "pid", view->pid);
    }
    if (joined != NULL && !joined->is_local) {
        arcp__put_cstr(writer, "peer", joined->peer_name);
    }
    write_agents(runtime, shard, view, index, writer);
    arcp_json_end_object(writer);
}

/* Adds the jobs in later shards. False: an earlier one has written the worker. */
static bool take_shards(const arcp_runtime *runtime, const arcp__shard *shard,
                        arcp__worker_view *view)
{
    for (const arcp__shard *other = runtime->shards; other != arcp__shards_end(runtime); other++) {
        arcp__worker_view there;
        size_t index = 0;
        if (other != shard && find_life(other, view, &index, &there)) {
            if (other < shard) {
                return false;
            }
            view->jobs += there.jobs;
        }
    }
    return true;
}

void arcp__runtime_write_workers(const arcp_runtime *runtime, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_array(&writer, "workers");
    for (const arcp__shard *shard = runtime->shards; shard != arcp__shards_end(runtime); shard++) {
        arcp__worker_view view;
        for (size_t i = 0; arcp__engine_worker_view(shard->engine, i, &view); i++) {
            if (take_shards(runtime, shard, &view) && !has_ended(&view)) {
                write_worker(runtime, shard, &view, i, &writer);
            }
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
