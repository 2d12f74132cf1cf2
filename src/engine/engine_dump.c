#include "engine/state.h"

#include "json/json_put.h"

static void dump_engine(const arcp__engine *engine, arcp__dump *dump)
{
    arcp_json_writer writer;
    const arcp__context *context = &engine->context;
    const int64_t deadline = arcp__engine_deadline(engine);
    if (!arcp__dump_begin(dump, ARCP__DUMP_ENGINE, &writer)) {
        return;
    }
    arcp__write_timestamp(&writer, "now", dump->now.wall_ns);
    arcp__put_bool(&writer, "failed", context->failed);
    arcp__put_bool(&writer, "stopping", context->stopping);
    arcp__put_u64(&writer, "sessions", engine->sessions.count);
    arcp__put_u64(&writer, "sessions_connected", engine->sessions.connected_count);
    arcp__put_u64(&writer, "jobs_running", engine->jobs.running);
    arcp__put_u64(&writer, "jobs_kept", HASH_COUNT(engine->jobs.all) - engine->jobs.running);
    arcp__put_u64(&writer, "agents", engine->jobs.live_agents);
    arcp__put_bool(&writer, "agents_not_read", engine->jobs.agents_paused);
    arcp__put_u64(&writer, "idempotency_keys", engine->jobs.key_count);
    arcp__put_u64(&writer, "credentials_stuck", engine->credentials.stuck_count);
    arcp__put_u64(&writer, "undelivered_records",
                  engine->sessions.notification_end - engine->sessions.notification_first);
    arcp__put_u64(&writer, "timers", context->timers.count);
    if (deadline != ARCP_TIME_NEVER) {
        arcp__put_i64(&writer, "next_timer_in_ms", (deadline - dump->now.mono_ns) / ARCP_NS_PER_MS);
    }
    arcp__dump_timer(dump, &writer, "shutdown_in_ms", &engine->shutdown_timer);
    arcp__dump_begin_waits(&writer);
    if (engine->restore != NULL) {
        arcp__dump_wait(&writer, "what the store has of an earlier run");
    }
    if (context->stopping && engine->jobs.running != 0) {
        arcp__dump_wait(&writer, "the end of %zu jobs, or of shutdown.grace_sec",
                        engine->jobs.running);
    }
    arcp__dump_end(dump, &writer);
}

void arcp__engine_write_state(const arcp__engine *engine, arcp_time now, size_t lines_max,
                              arcp_buf *out)
{
    arcp__dump dump = {.out = out, .now = now, .lines_max = lines_max};
    dump_engine(engine, &dump);
    arcp__log_dump(engine->log, &dump);
    arcp__jobs_dump(&engine->jobs, &dump);
    arcp__credentials_dump(&engine->credentials, &dump);
    arcp__sessions_dump(&engine->sessions, &dump);
    arcp__dump_totals(&dump);
}
