/* The player records the engine that it calls (src/record), and compares what it records with the
 * trace, byte by byte: no recorded difference can go unnoticed. Random bytes and other results of
 * the owner's functions are taken from the trace. */
#include "replay/player.h"

#include <string.h>

#include "base/alloc.h"

static void end(arcp__player *p, arcp__replay_end end, size_t offset)
{
    if (!p->is_over) {
        p->is_over = true;
        p->result->end = end;
        p->result->offset = offset;
    }
}

void arcp__player_end_damaged(arcp__player *p, const char *how)
{
    if (!p->is_over) {
        arcp_buf_append_cstr(&p->result->got, how);
    }
    end(p, ARCP__REPLAY_DAMAGED, p->trace.at);
}

void arcp__player_end_foreign(arcp__player *p)
{
    end(p, ARCP__REPLAY_FOREIGN, p->trace.at);
}

/* The next record, which stays the next one; false: it is over. */
static bool next_record(arcp__player *p, arcp_span *record)
{
    arcp__recording ahead = p->trace;
    switch (arcp__recording_next(&ahead, record)) {
    case ARCP__RECORDING_RECORD:
        return true;
    case ARCP__RECORDING_END:
        end(p, ARCP__REPLAY_SAME, p->trace.at);
        break;
    case ARCP__RECORDING_CUT:
        end(p, ARCP__REPLAY_CUT, p->trace.at);
        break;
    case ARCP__RECORDING_DAMAGED:
        arcp__player_end_damaged(p, "a checksum is wrong");
        break;
    }
    return false;
}

/* A call or an outcome of the player's engine: the trace has to have the same. */
static void on_record(void *user, arcp_span bytes)
{
    arcp__player *p = user;
    arcp_span expected;
    arcp__recording given = {.bytes = bytes};
    arcp_span record;
    arcp__recording_call call;
    if (!p->is_begun) {
        p->is_begun = true;
        return;
    }
    if (p->is_over || !next_record(p, &expected) ||
        arcp__recording_next(&given, &record) != ARCP__RECORDING_RECORD) {
        return;
    }
    if (!arcp_span_equal(record, expected)) {
        if (arcp__recording_read_call(expected, &call) && call.kind == ARCP__CALL_FOREIGN) {
            arcp__player_end_foreign(p); /* a host's report in the middle of a call */
            return;
        }
        arcp__recording_describe(expected, &p->result->expected);
        arcp__recording_describe(record, &p->result->got);
        end(p, ARCP__REPLAY_DIFFERS, p->trace.at);
        return;
    }
    p->trace.at += bytes.size;
    if (arcp__recording_read_call(record, &call) && arcp__call_is_input(call.kind)) {
        p->result->calls++;
    } else {
        p->result->outcomes++;
    }
}

/* ---- functions that the engine calls ---- */

static bool next_outcome(arcp__player *p, arcp__call_kind kind, arcp__recording_call *out)
{
    arcp_span record;
    if (p->is_over || !next_record(p, &record) || !arcp__recording_read_call(record, out)) {
        return false;
    }
    if (out->kind == ARCP__CALL_FOREIGN) {
        arcp__player_end_foreign(p);
    }
    return out->kind == kind;
}

/* Behind the end of the trace the call that began is finished with made-up values, no two the
 * same. */
static void draw(void *user, void *out, size_t size)
{
    arcp__player *p = user;
    arcp__recording_call call;
    memset(out, 0, size);
    if (next_outcome(p, ARCP__CALL_RANDOM, &call) && call.texts[0].size == size && size != 0) {
        memcpy(out, call.texts[0].data, size);
    } else {
        p->made_up++;
        memcpy(out, &p->made_up, size < sizeof p->made_up ? size : sizeof p->made_up);
    }
}

static bool copy_outcome(arcp__player *p, arcp__call_kind kind, arcp_buf *out)
{
    arcp__recording_call call;
    if (!next_outcome(p, kind, &call)) {
        return false;
    }
    arcp_buf_append(out, call.texts[0]);
    return call.numbers[0] != 0;
}

static bool seal(void *user, arcp_span alias, arcp_span value, arcp_buf *out)
{
    (void)alias;
    (void)value;
    return copy_outcome(user, ARCP__CALL_SEAL, out);
}

static bool unseal(void *user, arcp_span alias, arcp_span sealed, arcp_buf *out)
{
    (void)alias;
    (void)sealed;
    return copy_outcome(user, ARCP__CALL_UNSEAL, out);
}

static arcp_status translate(void *user, const arcp_upstream_error *error)
{
    arcp__recording_call call;
    (void)error;
    return next_outcome(user, ARCP__CALL_TRANSLATE, &call) ? (arcp_status)call.numbers[0] : ARCP_OK;
}

/* A text that is shown as JSON has to be JSON: a trace may have been edited. */
static bool is_json(arcp_span text)
{
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    const bool is_valid = text.size == 0 || arcp_json_scan(&json, text, &limits, NULL) == ARCP_OK;
    arcp__json_fini(&json);
    return is_valid;
}

/* Without a plan: no host is there that has one. */
static void admit(void *user, const arcp__admit_request *request, arcp__admit_answer *answer)
{
    arcp__player *p = user;
    arcp__recording_call call;
    (void)request;
    if (!next_outcome(p, ARCP__CALL_ADMIT, &call)) {
        return;
    }
    arcp__recording_fields *fields = &call.more;
    answer->status = (arcp_status)arcp__recording_number(fields);
    answer->is_shown = arcp__recording_number(fields) != 0;
    const bool has_failed = arcp__recording_number(fields) != 0;
    for (size_t i = 0; i < ARCP__ADMIT_TEXTS; i++) {
        arcp_buf_append(&answer->texts[i], arcp__recording_text(fields));
    }
    static const arcp__admit_text objects[] = {ARCP__ADMIT_DETAILS, ARCP__ADMIT_LINES,
                                               ARCP__ADMIT_BASE, ARCP__ADMIT_INEXACT};
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++) {
        fields->is_wrong = fields->is_wrong || !is_json(arcp_buf_span(&answer->texts[objects[i]]));
    }
    if (fields->is_wrong || answer->status < 0 || answer->status >= ARCP_STATUS_COUNT) {
        arcp__player_end_damaged(p, "it is no answer of a host");
        answer->status = ARCP_E_INTERNAL_ERROR;
    }
    answer->texts[ARCP__ADMIT_MESSAGE].failed =
        answer->texts[ARCP__ADMIT_MESSAGE].failed || has_failed;
}

static void release(void *user, void *plan)
{
    (void)user;
    (void)plan;
}

void arcp__player_set_functions(arcp__player *p, arcp__engine_options *options, bool has_translate,
                                bool has_admit)
{
    options->hosts = has_admit ? (arcp__agent_hosts){.admit = admit, .release = release, .user = p}
                               : (arcp__agent_hosts){.admit = NULL};
    options->random = draw;
    options->random_user = p;
    options->credentials.translate = has_translate ? translate : NULL;
    options->credentials.seal = seal;
    options->credentials.unseal = unseal;
    options->credentials.user = p;
}

/* ---- the trace's calls ---- */

/* Plays one call. */
static void play_next(arcp__player *p)
{
    arcp_span record;
    arcp__recording_call call;
    const size_t at = p->trace.at;
    if (!next_record(p, &record)) {
        return;
    }
    if (!arcp__recording_read_call(record, &call)) {
        arcp__player_end_damaged(p, "it is no record that this build knows");
    } else if (!arcp__call_is_input(call.kind)) {
        arcp__recording_describe(record, &p->result->expected);
        arcp_buf_append_cstr(&p->result->got, "nothing");
        end(p, ARCP__REPLAY_DIFFERS, at);
    } else {
        const char *broken = arcp__player_broken_rule(p, &call);
        if (broken != NULL) {
            arcp__player_end_damaged(p, broken);
        } else {
            arcp__player_call(p, &call);
        }
    }
    if (!p->is_over && p->trace.at == at) { /* else it would be played again and again */
        arcp__player_end_damaged(p, "the engine cannot be called so");
    }
}

arcp_status arcp__replay(arcp_span trace, bool any_build, arcp__replay_result *out, arcp_error *err)
{
    arcp__player p = {.result = out};
    arcp_span identity;
    *out = (arcp__replay_result){.end = ARCP__REPLAY_SAME};
    arcp_status status = arcp__recording_open(trace, &p.trace, &identity, err);
    if (status == ARCP_OK && !any_build && !arcp_span_equal_cstr(identity, arcp__build_identity)) {
        status = arcp_error_set(
            err, ARCP_E_USAGE,
            "the trace was recorded by build %.*s, this is %s: play it with that "
            "one, or with --any-build",
            (int)arcp_span_first(identity, 64).size, identity.data, arcp__build_identity);
    }
    if (status == ARCP_OK) {
        p.recorder = arcp__recorder_new(on_record, &p, true);
        status = p.recorder == NULL ? ARCP_E_NO_MEMORY : ARCP_OK;
    }
    while (status == ARCP_OK && !p.is_over) {
        play_next(&p);
        status =
            arcp__recorder_has_failed(p.recorder) || p.has_no_memory ? ARCP_E_NO_MEMORY : ARCP_OK;
    }
    if (status == ARCP_E_NO_MEMORY || out->expected.failed || out->got.failed) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    p.is_over = true; /* the end of an engine is not recorded */
    arcp__engine_free(p.engine);
    arcp__recorder_free(p.recorder);
    arcp__free(p.links);
    arcp__arena_fini(&p.arena);
    return status;
}

void arcp__replay_result_fini(arcp__replay_result *result)
{
    arcp_buf_fini(&result->expected);
    arcp_buf_fini(&result->got);
}
