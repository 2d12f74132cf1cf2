/* What `arcp mcp` records: a line of an audit log for each call, and a few lines on standard error,
 * which MCP clients keep as the log of the server. */
#include <limits.h>
#include <stdio.h>

#include "arcp/mcp.h"
#include "base/clock.h"
#include "base/timestamp.h"
#include "core/audit_event.h"
#include "json/json_put.h"

/* Processes that may write logs with the same name, as with arcpd. */
#define FILES_MAX 16
/* How long a call waits for its line. */
#define RECORD_MS_MAX 1000
#define QUEUE_BYTES   ((size_t)16 * 1024 * 1024)
#define SYNC_MS       1000
/* Texts that a peer chose. */
#define TEXT_MAX    1024
#define DENIALS_MAX 1000
#define DROPS_MAX   20
#define SHOWN_BYTES 120

/* ---- records ---- */

static arcp_json_writer begin_record(arcp_buf *out, arcp__audit_event event, const char *decision,
                                     int64_t wall_ns)
{
    char ts[ARCP__TIMESTAMP_SIZE];
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__timestamp_format(wall_ns, ts);
    arcp__put_string(&writer, "ts", arcp_span_make(ts, sizeof ts));
    arcp__put_cstr(&writer, "event", arcp__audit_event_name(event));
    arcp__put_cstr(&writer, "decision", decision);
    return writer;
}

/* False: it is not in the file. Frees the record. */
static bool end_record(const arcp__mcp *mcp, arcp_json_writer *writer)
{
    arcp_buf *record = writer->out;
    arcp_json_end_object(writer);
    bool is_written = !record->failed && arcp__audit_log_append(mcp->log, arcp_buf_span(record));
    if (is_written) {
        arcp__audit_log_hurry(mcp->log);
        is_written = arcp__audit_log_await(mcp->log, RECORD_MS_MAX);
    }
    arcp_buf_fini(record);
    return is_written;
}

static void put_lease(arcp_json_writer *writer, const arcp_lease *lease)
{
    char hash[ARCP__AUDIT_HASH_SIZE];
    arcp_buf text = arcp_buf_init();
    arcp_lease_format(lease, &text);
    if (arcp_lease_has_expiry(lease)) {
        arcp_lease_format_constraints(lease, &text);
    }
    writer->out->failed = writer->out->failed || text.failed;
    arcp__audit_sha256(arcp_buf_span(&text), hash);
    arcp__put_string(writer, "lease_sha256", arcp_span_make(hash, sizeof hash));
    arcp_buf_fini(&text);
}

/* ---- the log ---- */

static void on_changed(void *user, const char *message)
{
    /* A call that cannot be recorded is refused: end_record waits for its line. */
}

/* FILE, or FILE with a number before its extension. */
static bool numbered(const char *path, int number, char out[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash == NULL ? path : slash, '.');
    const size_t stem = dot == NULL ? strlen(path) : (size_t)(dot - path);
    const int size = number == 1 ? snprintf(out, PATH_MAX, "%s", path)
                                 : snprintf(out, PATH_MAX, "%.*s-%d%s", (int)stem, path, number,
                                            dot == NULL ? "" : dot);
    return size > 0 && size < PATH_MAX;
}

arcp_status arcp__mcp_log_open(arcp__mcp *mcp, arcp_error *err)
{
    const char *path = arcp__value(&mcp->program->arguments, ARCP__OPTION_MCP_LOG);
    const arcp__audit_settings settings = {.sync_ms = SYNC_MS, .queue_bytes = QUEUE_BYTES};
    char name[PATH_MAX];
    arcp_error why = {0};
    arcp_status status = path == NULL ? ARCP_OK : ARCP_E_EXISTS;
    for (int i = 1; status == ARCP_E_EXISTS && i <= FILES_MAX; i++) {
        status = numbered(path, i, name)
                     ? arcp__audit_log_open(name, &settings, on_changed, NULL, &mcp->log, &why)
                     : arcp_error_set(&why, ARCP_E_USAGE, "the name is too long");
    }
    if (status != ARCP_OK) {
        return arcp_error_set(err, status == ARCP_E_NO_MEMORY ? status : ARCP_E_IO, "--log %s: %s",
                              path, why.message);
    }
    if (mcp->log != NULL) {
        arcp_buf record = arcp_buf_init();
        arcp_json_writer writer =
            begin_record(&record, ARCP__AUDIT_POLICY, "applied", arcp__clock_ns(CLOCK_REALTIME));
        arcp__put_cstr(&writer, "rule", "arcp mcp");
        arcp__put_word(&writer, "target", mcp->name);
        put_lease(&writer, mcp->lease);
        if (!end_record(mcp, &writer)) {
            return arcp_error_set(err, ARCP_E_IO, "--log %s: it cannot be written", path);
        }
    }
    return ARCP_OK;
}

void arcp__mcp_log_close(arcp__mcp *mcp)
{
    if (mcp->log != NULL) {
        arcp__audit_log_close(mcp->log, NULL);
        mcp->log = NULL;
    }
}

void arcp__mcp_log_expiry(arcp__mcp *mcp, arcp_time now, size_t cancelled)
{
    if (!mcp->program->is_quiet) {
        arcp__program_say(mcp->program, "the lease has expired; calls that were cancelled: %zu",
                          cancelled);
    }
    if (mcp->log != NULL) {
        arcp_buf record = arcp_buf_init();
        arcp_json_writer writer = begin_record(&record, ARCP__AUDIT_EXPIRY, "ended", now.wall_ns);
        arcp__put_cstr(&writer, "code", arcp_status_wire_code(ARCP_E_LEASE_EXPIRED));
        arcp__put_u64(&writer, "count", cancelled);
        put_lease(&writer, mcp->lease);
        (void)end_record(mcp, &writer); /* it takes authority away: it holds all the same */
    }
}

/* ---- events of the filter ---- */

static void print_denial(arcp__mcp *mcp, const arcp_decision *decision)
{
    arcp_buf line = arcp_buf_init();
    if (mcp->program->is_quiet || mcp->denials_printed >= DENIALS_MAX) {
        return;
    }
    mcp->denials_printed++;
    arcp_buf_append_cstr(&line, "arcp mcp: denied: ");
    arcp__append_safe(&line, decision->capability, SHOWN_BYTES);
    arcp_buf_append_byte(&line, ' ');
    arcp__append_safe(&line, decision->target, SHOWN_BYTES);
    arcp_buf_append_format(
        &line, ": %s%s", arcp_deny_reason_text(decision->reason),
        mcp->denials_printed == DENIALS_MAX ? " (further denials are not printed)" : "");
    arcp__screen_line(&mcp->program->screen, arcp_buf_span(&line));
    arcp_buf_fini(&line);
}

bool arcp__mcp_on_decided(void *user, const arcp_decision *decision)
{
    arcp__mcp *mcp = user;
    if (!decision->allowed) {
        print_denial(mcp, decision);
    }
    if (mcp->log == NULL) {
        return true;
    }
    arcp_buf record = arcp_buf_init();
    arcp_json_writer writer =
        begin_record(&record, ARCP__AUDIT_GATE, decision->allowed ? "allowed" : "denied",
                     arcp__clock_ns(CLOCK_REALTIME));
    if (!decision->allowed) {
        arcp__put_cstr(&writer, "code", arcp_status_wire_code(decision->code));
    }
    arcp__put_cstr(&writer, "rule", "lease");
    if (!decision->allowed) {
        arcp__put_cstr(&writer, "reason", arcp_deny_reason_name(decision->reason));
    }
    arcp__put_string(&writer, "capability", decision->capability);
    arcp__put_string(&writer, "target", arcp_span_first(decision->target, TEXT_MAX));
    arcp__put_text(&writer, "pattern", arcp_span_first(decision->pattern, TEXT_MAX));
    arcp__put_cstr(&writer, "layer", "gateway");
    return end_record(mcp, &writer);
}

void arcp__mcp_on_listed(void *user, size_t shown, size_t hidden)
{
    arcp__mcp *mcp = user;
    if (shown != 0 || hidden == 0 || mcp->has_shown_none || mcp->program->is_quiet) {
        return;
    }
    mcp->has_shown_none = true;
    arcp__program_say(mcp->program,
                      "the lease allows none of the %zu tools that the server lists; "
                      "they are asked as %s%sTOOL",
                      hidden, mcp->name == NULL ? "" : mcp->name, mcp->name == NULL ? "" : ".");
}

void arcp__mcp_on_dropped(void *user, arcp__mcp_side from, const char *why, arcp_span line)
{
    arcp__mcp *mcp = user;
    arcp_buf text = arcp_buf_init();
    if (mcp->program->is_quiet || mcp->drops_printed >= DROPS_MAX) {
        return;
    }
    mcp->drops_printed++;
    arcp_buf_append_format(&text, "arcp mcp: a line of the %s is dropped: %s%s",
                           from == ARCP__MCP_CLIENT ? "client" : "server", why,
                           line.size == 0 ? "" : ": ");
    arcp__append_safe(&text, line, SHOWN_BYTES);
    if (mcp->drops_printed == DROPS_MAX) {
        arcp_buf_append_cstr(&text, " (further lines are not printed)");
    }
    arcp__screen_line(&mcp->program->screen, arcp_buf_span(&text));
    arcp_buf_fini(&text);
}

/* ---- the lease ---- */

void arcp__mcp_report_lease(const arcp__mcp *mcp)
{
    arcp_buf others = arcp_buf_init();
    for (size_t i = 0; i < arcp_lease_capability_count(mcp->lease); i++) {
        const arcp_span name = arcp_lease_capability_name(mcp->lease, i);
        if (!arcp_span_equal_cstr(name, "tool.call")) {
            arcp_buf_append_cstr(&others, others.size == 0 ? "" : ", ");
            arcp_buf_append(&others, name);
        }
    }
    if (others.size != 0 && !mcp->program->is_quiet) {
        arcp__program_say(mcp->program,
                          "of the lease only tool.call and its end are applied, and "
                          "not %s (`arcp run` confines a server)",
                          arcp_buf_cstr(&others));
    }
    arcp_buf_fini(&others);
}
