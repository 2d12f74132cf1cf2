/* What the sandbox of a job's agent denied: each distinct operation gets an event and an audit
 * line, as far as the limits go; all are counted.
 *
 * A program may try a million names, so only hashes of the operations are kept, and only so many.
 * What has no event or no line of its own is summarised: in the last event before the job's
 * terminal record, and in an audit line when the agent has exited. */
#include "job/job_state.h"

#include "base/utf8.h"

#define TARGET_MAX  4096u /* bytes of a target in an event */
#define PROGRAM_MAX 64u
#define REASON_MAX  128u
#define WORD_MAX    64u

static const char *const layer_names[ARCP__DENIAL_LAYER_COUNT] = {
#define ARCP_DENIAL_LAYER(id, name) [ARCP__DENIAL_##id] = (name),
    ARCP__DENIAL_LAYERS(ARCP_DENIAL_LAYER)
#undef ARCP_DENIAL_LAYER
};

const char *arcp__denial_layer_name(arcp__denial_layer layer)
{
    return layer_names[layer];
}

/* ---- texts that a program chose ---- */

/* Appends at most `size` bytes of the text, with control characters, characters that change how
 * text is shown, and bytes that are not UTF-8 as \xNN. */
static arcp_span append_shown(arcp_buf *out, arcp_span text, size_t size)
{
    const size_t begin = out->size;
    text = arcp_span_first(text, size);
    while (text.size != 0) {
        uint32_t code_point = 0;
        const size_t control = arcp__control_size(text, &code_point);
        const size_t character =
            arcp__utf8_character_size((const unsigned char *)text.data, text.size);
        size_t taken = control != 0 ? control : character;
        if (control == 0 && character != 0) {
            arcp_buf_append(out, arcp_span_first(text, taken));
        } else {
            taken = taken == 0 ? 1 : taken;
            for (size_t i = 0; i < taken; i++) {
                arcp_buf_append_format(out, "\\x%02x", (unsigned)(unsigned char)text.data[i]);
            }
        }
        text = arcp_span_from(text, taken);
    }
    return out->size == begin ? arcp_span_make(NULL, 0) : arcp_span_from(arcp_buf_span(out), begin);
}

/* A denial with texts that may be shown; they are in `room`. */
static arcp__denial make_shown(arcp__jobs *jobs, const arcp__denial *denial, arcp_buf *room)
{
    arcp__denial shown = *denial;
    struct {
        arcp_span *text;
        size_t max;
    } const texts[] = {{&shown.capability, WORD_MAX},
                       {&shown.target, TARGET_MAX},
                       {&shown.reason, REASON_MAX},
                       {&shown.program, PROGRAM_MAX}};
    size_t size = 0;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        size += texts[i].text->size;
    }
    (void)arcp_buf_reserve(room, 4 * size); /* so that no text moves */
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        *texts[i].text = append_shown(room, *texts[i].text, texts[i].max);
    }
    arcp__context_check_text(jobs->context, room);
    shown.count = denial->count == 0 ? 1 : denial->count;
    return shown;
}

/* ---- which are new ---- */

/* Whether the job was not denied this before; *index is its place. Beyond ARCP__DENIALS_KEPT
 * operations none is new. */
static bool is_new(arcp__jobs *jobs, arcp__denials *denials, const arcp__denial *denial,
                   size_t *index)
{
    arcp_buf key = arcp__context_take_buf(jobs->context);
    arcp_buf_append(&key, denial->capability);
    arcp_buf_append_byte(&key, '\n');
    arcp_buf_append(&key, denial->target);
    arcp__context_check_text(jobs->context, &key);
    const uint64_t hash = arcp__hash_bytes(key.data, key.size);
    arcp__context_give_buf(jobs->context, &key);
    if (denials->hashes == NULL) {
        denials->hashes = arcp__alloc_array(ARCP__DENIALS_KEPT, sizeof *denials->hashes);
        if (denials->hashes == NULL) {
            arcp__context_no_memory(jobs->context);
            return false;
        }
    }
    size_t i = 0;
    while (i < denials->count && denials->hashes[i] != hash) {
        i++;
    }
    if (i < denials->count || denials->count == ARCP__DENIALS_KEPT) {
        return false;
    }
    denials->hashes[denials->count++] = hash;
    *index = i;
    return true;
}

/* ---- records ---- */

static void emit(arcp__jobs *jobs, arcp__job *job, const arcp__denial *denial)
{
    arcp_buf body = arcp__context_take_buf(jobs->context);
    arcp_buf message = arcp__context_take_buf(jobs->context);
    arcp_buf_append(&message, denial->capability);
    arcp_buf_append_byte(&message, ' ');
    arcp_buf_append(&message, denial->target);
    arcp_json_writer writer = arcp__put_begin(&body);
    arcp__put_cstr(&writer, "phase", "denied");
    arcp__put_string(&writer, "message", arcp_buf_span(&message));
    arcp__put_string(&writer, "capability", denial->capability);
    arcp__put_string(&writer, "target", denial->target);
    arcp__put_word(&writer, "code", arcp_status_wire_code(denial->code));
    if (denial->reason.size != 0) {
        arcp__put_string(&writer, "reason", denial->reason);
    }
    arcp__put_cstr(&writer, "layer", arcp__denial_layer_name(denial->layer));
    if (denial->program.size != 0) {
        arcp__put_string(&writer, "program", denial->program);
    }
    if (denial->pid != 0) {
        arcp__put_u64(&writer, "pid", denial->pid);
    }
    arcp__put_u64(&writer, "count", denial->count);
    arcp_json_end_object(&writer);
    arcp__context_check_text(jobs->context, &message);
    arcp__context_check_text(jobs->context, &body);
    arcp__job_emit_event(jobs, job, ARCP_FEATURE_NONE, ARCP_SPAN_LITERAL("status"),
                         arcp_buf_span(&body));
    arcp__context_give_buf(jobs->context, &message);
    arcp__context_give_buf(jobs->context, &body);
}

static void audit(arcp__jobs *jobs, const arcp__job *job, const arcp__denial *denial)
{
    arcp__audit(jobs->log,
                &(arcp__audit_line){
                    .event = ARCP__AUDIT_GATE,
                    .decision = "denied",
                    .who = arcp__job_who(job),
                    .count = denial->count > 1 ? denial->count : 0,
                    .code = denial->code,
                    .rule = "lease",
                    .capability = denial->capability,
                    .target = denial->target,
                    .more = {{"reason", denial->reason},
                             {"layer", arcp_span_cstr(arcp__denial_layer_name(denial->layer))},
                             {"program", denial->program}}});
}

static void take_denial(arcp__jobs *jobs, arcp__job *job, const arcp__denial *denial)
{
    if (job->principal == NULL) {
        return; /* removed: no line about it follows */
    }
    arcp__denials *denials = &job->live->denials;
    arcp_buf room = arcp_buf_init();
    const arcp__denial shown = make_shown(jobs, denial, &room);
    const arcp__capability capability = arcp__capability_from_name(shown.capability);
    size_t index = 0;
    jobs->metrics.denial_count += shown.count;
    jobs->metrics.denials[shown.code][capability] += shown.count;
    jobs->metrics.enforced[shown.layer][capability] += shown.count;
    const bool is_first = shown.target.size != 0 && is_new(jobs, denials, &shown, &index);
    if (is_first) {
        audit(jobs, job, &shown);
    } else {
        denials->unaudited += shown.count;
    }
    arcp__job_note_refused(jobs, job,
                           &(arcp__denied_note){.capability = shown.capability,
                                                .target = shown.target,
                                                .layer = arcp__denial_layer_name(shown.layer),
                                                .code = shown.code,
                                                .count = shown.count});
    if (!arcp__job_has_ended(job)) {
        if (is_first && index < jobs->context->settings.enforce_denials_per_job) {
            emit(jobs, job, &shown);
        } else {
            denials->without_event += shown.count;
        }
    }
    arcp_buf_fini(&room);
}

void arcp__job_agent_denied(arcp__jobs *jobs, arcp__job *job, uint64_t item,
                            const arcp__denial *denial)
{
    if (arcp__item_begin(jobs, job, item) == ARCP__ITEM_ACTS) {
        take_denial(jobs, job, denial);
        arcp__item_end(jobs, job, item);
    }
}

/* ---- summaries ---- */

void arcp__denials_emit_rest(arcp__jobs *jobs, arcp__job *job)
{
    arcp__denials *denials = &job->live->denials;
    if (denials->without_event == 0) {
        return;
    }
    arcp_buf body = arcp__context_take_buf(jobs->context);
    arcp_buf_append_format(
        &body, "{\"phase\":\"denied\",\"message\":\"%llu more denials\",\"count\":%llu}",
        (unsigned long long)denials->without_event, (unsigned long long)denials->without_event);
    arcp__context_check_text(jobs->context, &body);
    denials->without_event = 0; /* once, even if the job cannot end yet */
    arcp__job_emit_event(jobs, job, ARCP_FEATURE_NONE, ARCP_SPAN_LITERAL("status"),
                         arcp_buf_span(&body));
    arcp__context_give_buf(jobs->context, &body);
}
