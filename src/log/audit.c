/* Audit lines: one JSON object per audited decision. The writer of the audit log (src/audit) adds
 * the line's place in the chain. */
#include "log/log_state.h"

#include "base/hex.h"
#include "json/json_put.h"

/* Texts that a peer chose are cut, so that a line's size is bounded. */
#define TEXT_MAX   1024u
#define LINE_BYTES 512u /* enough for most lines */

static void write_text(arcp_json_writer *writer, const char *name, arcp_span text)
{
    if (text.size != 0) {
        arcp__put_string(writer, name, arcp_span_first(text, TEXT_MAX));
    }
}

/* SHA-256 of the lease as job.accepted shows it, then of its constraints if it has any. */
static void write_lease(arcp__log *log, arcp_json_writer *writer, const char *name,
                        const arcp_lease *lease)
{
    uint8_t hash[32];
    char hex[2 * sizeof hash];
    arcp_buf text = arcp_buf_init();
    if (lease == NULL) {
        return;
    }
    arcp_lease_format(lease, &text);
    if (arcp_lease_has_expiry(lease)) {
        arcp_lease_format_constraints(lease, &text);
    }
    writer->out->failed = writer->out->failed || text.failed;
    arcp__context_sha256(log->context, arcp_buf_span(&text), hash);
    arcp__hex_format(hash, sizeof hash, hex);
    write_text(writer, name, arcp_span_make(hex, sizeof hex));
    arcp_buf_fini(&text);
}

void arcp__audit(arcp__log *log, const arcp__audit_line *line)
{
    if (log->options.has_no_lines) {
        return;
    }
    arcp_buf text = arcp_buf_init();
    (void)arcp_buf_reserve(&text, LINE_BYTES);
    arcp_json_writer writer = arcp__put_begin(&text);
    arcp__write_timestamp(&writer, "ts", log->context->now.wall_ns);
    write_text(&writer, "event", arcp_span_cstr(arcp__audit_event_name(line->event)));
    write_text(&writer, "decision", arcp_span_cstr(line->decision));
    write_text(&writer, "principal", arcp_span_cstr(line->who.principal));
    write_text(&writer, "session_id", arcp_span_cstr(line->who.session_id));
    write_text(&writer, "job_id", arcp_span_cstr(line->who.job_id));
    write_text(&writer, "parent_job_id", arcp_span_cstr(line->who.parent_job_id));
    write_text(&writer, "agent", arcp_span_cstr(line->who.agent));
    write_text(&writer, "trace_id", arcp_span_cstr(line->who.trace_id));
    write_text(&writer, "code",
               arcp_span_cstr(line->code == ARCP_OK ? NULL : arcp_status_wire_code(line->code)));
    write_text(&writer, "rule", arcp_span_cstr(line->rule));
    write_text(&writer, "peer", arcp_span_cstr(line->peer));
    if (line->count != 0) {
        arcp__put_u64(&writer, "count", line->count);
    }
    write_text(&writer, "reason", arcp_span_cstr(line->reason));
    write_text(&writer, "capability", line->capability);
    write_text(&writer, "target", line->target);
    write_text(&writer, "pattern", line->pattern);
    write_lease(log, &writer, "lease_sha256", line->lease);
    write_lease(log, &writer, "parent_lease_sha256", line->parent_lease);
    for (size_t i = 0; i < sizeof line->more / sizeof line->more[0]; i++) {
        if (line->more[i].name != NULL) {
            write_text(&writer, line->more[i].name, line->more[i].value);
        }
    }
    if (line->dropped.size != 0) {
        arcp__put_raw(&writer, "dropped", line->dropped);
    }
    if (line->lines.size != 0) {
        arcp__put_raw(&writer, "lines", line->lines);
    }
    arcp_json_end_object(&writer);
    arcp__effect_push(log, NULL,
                      &(arcp__effect){.kind = ARCP__EFFECT_LOG, .level = ARCP__LOG_AUDIT}, &text,
                      false);
}

/* ---- an audit log that cannot be written ---- */

void arcp__audit_update_gates(arcp__log *log)
{
    const arcp_settings *settings = &log->context->settings;
    const bool must_record = settings->audit_on_failure == ARCP__AUDIT_DENY;
    atomic_store(&log->gates.must_record, must_record);
    atomic_store(&log->gates.are_closed, log->audit_failing && must_record);
    atomic_store(&log->gates.grants_are_logged, settings->audit_grants == ARCP__CHOICE_TRUE);
}

void arcp__audit_set_failing(arcp__log *log, bool failing)
{
    log->audit_failing = failing;
    arcp__audit_update_gates(log);
}

arcp_status arcp__audit_check(const arcp__log *log, arcp_error *err)
{
    return arcp__job_gates_check(&log->gates, err);
}
