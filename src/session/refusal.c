/* How refused connections and hellos are logged.
 *
 * A client without a valid token can be refused as often as the network allows, and each refusal
 * would be a line of the log and of the audit log. So for each address and kind of refusal only the
 * first audit.refusals of a minute are logged; the others are counted, and one line at the end of
 * the minute gives their number. The table is bounded; addresses beyond it are counted together. */
#include "session/session_state.h"

#include <stdio.h>

#define ARCP__REFUSED_ROWS_MAX                                                                     \
    (ARCP__REFUSED_ADDRESSES_MAX + 32u) /* and, by kind, those of other addresses */

#define ARCP__REFUSED_ADDRESS_MAX 47u /* bytes; longer addresses are cut */

/* One address and kind of refusal in the current minute. */
typedef struct arcp__refused {
    char address[ARCP__REFUSED_ADDRESS_MAX + 1];
    const char *rule; /* static */
    int code;
    uint64_t written, counted;
    bool is_audited, is_logged;
} arcp__refused;

typedef struct arcp__refusals {
    arcp__refused rows[ARCP__REFUSED_ROWS_MAX];
    size_t count;
} arcp__refusals;

#define WINDOW_SEC 60u

/* The address in "192.0.2.1:5123" or "[2001:db8::1]:5123", without the port, cut to the size of a
 * row. */
static arcp_span address_of(const char *peer)
{
    const arcp_span text = arcp_span_cstr(peer);
    const char *colon = text.size == 0 ? NULL : memrchr(text.data, ':', text.size);
    const size_t size = colon == NULL ? text.size : (size_t)(colon - text.data);
    return arcp_span_first(text,
                           size < ARCP__REFUSED_ADDRESS_MAX ? size : ARCP__REFUSED_ADDRESS_MAX);
}

static arcp__refused *find(arcp__refusals *table, arcp_span address, const char *rule, int code)
{
    for (size_t i = 0; i < table->count; i++) {
        arcp__refused *row = &table->rows[i];
        if (row->code == code && strcmp(row->rule, rule) == 0 &&
            arcp_span_equal_cstr(address, row->address)) {
            return row;
        }
    }
    return NULL;
}

/* The row of the address, or a new one, or (when the table is full) the one of all others. */
static arcp__refused *row_for(arcp__refusals *table, arcp_span address, const char *rule, int code)
{
    arcp__refused *row = find(table, address, rule, code);
    if (row == NULL && table->count >= ARCP__REFUSED_ADDRESSES_MAX) {
        address = ARCP_SPAN_LITERAL("other addresses");
        row = find(table, address, rule, code);
    }
    if (row == NULL && table->count < ARCP__REFUSED_ROWS_MAX) {
        row = &table->rows[table->count++];
        *row = (arcp__refused){.rule = rule, .code = code};
        memcpy(row->address, address.data, address.size);
    }
    return row;
}

bool arcp__refusal_is_written(arcp__sessions *sessions, const arcp__refusal *refusal)
{
    arcp__refusals *table = sessions->refusals;
    if (table == NULL) {
        table = sessions->refusals = arcp__alloc(sizeof *table);
    }
    if (table == NULL) {
        return true; /* better too many lines than too few */
    }
    if (table->count == 0) {
        arcp__context_arm(sessions->context, &sessions->refusal_timer,
                          sessions->timer_kinds.refusals, sessions,
                          arcp__context_after_sec(sessions->context, WINDOW_SEC));
    }
    arcp__refused *row =
        row_for(table, address_of(refusal->peer == NULL ? "an unknown peer" : refusal->peer),
                refusal->rule, refusal->code);
    if (row == NULL) {
        return true; /* more kinds of refusals than the table has rows for */
    }
    row->is_audited = row->is_audited || refusal->is_audited;
    row->is_logged = row->is_logged || refusal->is_logged;
    if (row->written < sessions->context->settings.audit_refusals) {
        row->written++;
        return true;
    }
    row->counted++;
    sessions->metrics.refusals_counted++;
    return false;
}

static void audit(const arcp__sessions *sessions, const char *rule, const char *reason,
                  const char *peer, uint64_t count)
{
    const bool is_worker = strcmp(rule, ARCP__REFUSAL_OF_WORKER) == 0;
    arcp__audit(sessions->log, &(arcp__audit_line){.event = is_worker ? ARCP__AUDIT_WORKER
                                                                      : ARCP__AUDIT_AUTHENTICATION,
                                                   .decision = is_worker ? "refused" : "denied",
                                                   .rule = rule,
                                                   .reason = reason,
                                                   .peer = peer,
                                                   .count = count});
}

static void describe(const char *rule, int code, char *out, size_t size)
{
    if (code == 0) {
        (void)snprintf(out, size, "%s", rule);
    } else {
        (void)snprintf(out, size, "%s %d", rule, code);
    }
}

void arcp__refusals_report(arcp__sessions *sessions)
{
    arcp__refusals *table = sessions->refusals;
    arcp__context_disarm(sessions->context, &sessions->refusal_timer);
    for (size_t i = 0; table != NULL && i < table->count; i++) {
        const arcp__refused *row = &table->rows[i];
        char kind[64];
        if (row->counted == 0) {
            continue;
        }
        describe(row->rule, row->code, kind, sizeof kind);
        if (row->is_logged) {
            arcp__effect_log(sessions->log, ARCP__LOG_INFO, "refused %s (%s): %llu more times",
                             row->address, kind, (unsigned long long)row->counted);
        }
        if (row->is_audited) {
            audit(sessions, row->rule, "as the lines before; counted", row->address, row->counted);
        }
    }
    if (table != NULL) {
        table->count = 0;
    }
}

void arcp__refusal_note(arcp__sessions *sessions, const arcp__refusal *refusal, const char *reason)
{
    arcp__refusal logged = *refusal;
    logged.is_logged = true;
    if (arcp__refusal_is_written(sessions, &logged)) {
        const char *peer = refusal->peer == NULL ? "a peer" : refusal->peer;
        char kind[64];
        describe(refusal->rule, refusal->code, kind, sizeof kind);
        arcp__effect_log(sessions->log, refusal->is_trouble ? ARCP__LOG_WARN : ARCP__LOG_INFO,
                         "refused %s (%s): %s", peer, kind, reason);
        if (refusal->is_audited) {
            audit(sessions, refusal->rule, reason, refusal->peer, 0);
        }
    }
}
