#include "job/job_facts.h"

#include "base/utf8.h"
#include "core/lease.h"
#include "job/job_state.h"

/* ---- facts ---- */

void arcp__job_facts_fini(arcp__job_facts *facts)
{
    arcp__free(facts->progress);
    arcp__free(facts->costs);
    arcp__free(facts->start);
}

const char *arcp__job_code(const arcp__job *job)
{
    return job->end_code == ARCP_OK || !arcp__job_has_ended(job)
               ? NULL
               : arcp_status_wire_code(job->end_code);
}

/* ---- progress ---- */

/* Keeps the numbers of the last progress event. One whose numbers are very long is not kept. */
void arcp__job_note_progress(arcp__jobs *jobs, arcp__job *job, arcp_span body)
{
    arcp_json json = ARCP__JSON_INIT;
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    static const char *const names[] = {"current", "total"};
    if (arcp_json_scan(&json, body, &limits, NULL) == ARCP_OK) {
        arcp_buf text = arcp__context_take_buf(jobs->context);
        arcp_json_writer writer = arcp__put_begin(&text);
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            const arcp_json_ref ref =
                arcp_json_member(&json, ARCP_JSON_ROOT, arcp_span_cstr(names[i]));
            if (!arcp_json_is_missing(&json, ref)) {
                arcp__put_raw(&writer, names[i], arcp_json_raw(&json, ref));
            }
        }
        arcp_json_end_object(&writer);
        char *copy = text.failed || text.size > 128 ? NULL : arcp__copy_cstr(text.data, text.size);
        if (copy != NULL) {
            arcp__free(job->facts.progress);
            job->facts.progress = copy;
            arcp__job_changed(jobs, job);
        }
        arcp__context_give_buf(jobs->context, &text);
    }
    arcp__json_fini(&json);
}

void arcp__job_facts_write_row(const arcp__job_facts *facts, arcp_json_writer *writer)
{
    const arcp_span start = arcp_span_cstr(facts->start);
    if (start.size <= ARCP__DETAILS_START_MAX) {
        arcp__put_raw(writer, "details", start);
    }
    arcp__put_raw(writer, "progress", arcp_span_cstr(facts->progress));
    if (facts->cost_count == 0) {
        return;
    }
    arcp__put_object(writer, "costs");
    for (size_t i = 0; i < facts->cost_count; i++) {
        char amount[ARCP_DECIMAL_TEXT_MAX];
        (void)arcp_decimal_format(facts->costs[i].amount, amount);
        arcp__put_cstr(writer, facts->costs[i].currency, amount);
    }
    arcp_json_end_object(writer);
}

/* Copies the member's text; NULL if it is absent. False when out of memory. */
static bool copy_member(const arcp_json *json, arcp_json_ref ref, char **out)
{
    if (ref == ARCP_JSON_ABSENT) {
        return true;
    }
    const arcp_span text = arcp_json_raw(json, ref);
    *out = arcp__copy_cstr(text.data, text.size);
    return *out != NULL;
}

bool arcp__job_facts_restore(arcp__jobs *jobs, arcp__job_facts *facts, arcp_json_ref progress,
                             arcp_json_ref costs, arcp_json_ref details)
{
    const arcp_json *json = &jobs->context->json;
    const size_t count = arcp_json_count(json, costs);
    if (!copy_member(json, progress, &facts->progress) ||
        !copy_member(json, details, &facts->start)) {
        return false;
    }
    if (count != 0) {
        facts->costs = arcp__alloc_array(count, sizeof *facts->costs);
        if (facts->costs == NULL) {
            return false;
        }
    }
    for (arcp_json_ref name = arcp_json_first(json, costs); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(json, costs, name)) {
        const arcp_span currency = arcp_json_string(json, name, &jobs->context->scratch);
        arcp__currency_sum *sum = &facts->costs[facts->cost_count];
        if (currency.size != 0 && currency.size < sizeof sum->currency &&
            arcp_decimal_parse(arcp_json_string(json, name + 1, &jobs->context->scratch),
                               &sum->amount, NULL) == ARCP_OK) {
            memcpy(sum->currency, currency.data, currency.size);
            facts->cost_count++;
        }
    }
    return true;
}

/* ---- details ---- */

void arcp__job_details_key(const arcp__job *job, char key[ARCP__DETAILS_KEY_SIZE])
{
    memcpy(key, "d:", 2);
    memcpy(key + 2, job->id, strlen(job->id) + 1);
}

void arcp__job_details_fini(arcp__job_details *details)
{
    for (size_t i = 0; details->refused != NULL && i < ARCP__REFUSED_KEPT; i++) {
        arcp__free(details->refused[i].capability);
        arcp__free(details->refused[i].target);
    }
    arcp__free(details->refused);
}

static void append(arcp__jobs *jobs, arcp__job *job, uint64_t position, arcp_span record)
{
    char key[ARCP__DETAILS_KEY_SIZE];
    arcp__job_details_key(job, key);
    arcp__batch_add(jobs->log, (arcp_store_op){.kind = ARCP_STORE_APPEND,
                                               .position = position,
                                               .key = arcp_span_cstr(key),
                                               .value = record});
    arcp__queued_add(jobs->log, &job->principal->queued, record.size);
    job->facts.has_details = true;
}

/* Writes the start: an input that is too long becomes a string with its beginning. */
static void write_start(const arcp__job_live *live, arcp_json_writer *writer)
{
    const arcp_span input = arcp_span_cstr(live->input);
    const arcp__enforcement *enforcement = live->enforcement;
    if (input.size > ARCP__DETAILS_INPUT_MAX) {
        arcp_json_name(writer, "input");
        arcp_json_write_string(
            writer, arcp_span_first(input, arcp__utf8_cut(input, ARCP__DETAILS_INPUT_MAX)));
        arcp__put_bool(writer, "truncated", true);
    } else {
        arcp__put_raw(writer, "input", input);
    }
    if (enforcement != NULL && enforcement->is_confined) {
        const arcp_buf *texts = enforcement->texts;
        arcp__put_string(writer, "level", arcp_buf_span(&texts[ARCP__ADMIT_LEVEL]));
        arcp__put_raw(writer, "verdicts", arcp_buf_span(&texts[ARCP__ADMIT_LINES]));
    }
}

void arcp__job_details_begin(arcp__jobs *jobs, arcp__job *job)
{
    arcp_buf text = arcp__context_take_buf(jobs->context);
    arcp_json_writer writer = arcp__put_begin(&text);
    write_start(job->live, &writer);
    arcp_json_end_object(&writer);
    job->facts.has_details = false; /* not even of a job that waited before a restart */
    job->facts.start = text.failed ? NULL : arcp__copy_cstr(text.data, text.size);
    if (job->facts.start == NULL) {
        arcp__context_no_memory(jobs->context);
    } else if (text.size > ARCP__DETAILS_START_MAX && jobs->log->options.keeps_rows) {
        append(jobs, job, 0, arcp_buf_span(&text));
    } /* else at the end: a batch for it alone would delay the agent's start */
    arcp__context_give_buf(jobs->context, &text);
}

static char *copy_shown(arcp_span text)
{
    return arcp__copy_cstr(text.data, arcp__utf8_cut(text, ARCP__DETAILS_TARGET_MAX));
}

void arcp__job_note_refused(arcp__jobs *jobs, arcp__job *job, const arcp__denied_note *note)
{
    arcp__job_details *details = &job->live->details;
    job->facts.denials += note->count;
    arcp__job_changed(jobs, job);
    if (jobs->watch != NULL && !arcp__job_has_ended(job)) {
        jobs->watch->denied(jobs->watch->user, job);
    }
    if (note->target.size == 0) {
        return; /* it only counts others */
    }
    if (details->refused == NULL) {
        details->refused = arcp__alloc_array(ARCP__REFUSED_KEPT, sizeof *details->refused);
    }
    char *capability = copy_shown(note->capability);
    char *target = copy_shown(note->target);
    if (details->refused == NULL || capability == NULL || target == NULL) {
        arcp__free(capability);
        arcp__free(target);
        arcp__context_no_memory(jobs->context);
        return;
    }
    arcp__job_refused *at = &details->refused[details->refused_count++ % ARCP__REFUSED_KEPT];
    arcp__free(at->capability);
    arcp__free(at->target);
    *at = (arcp__job_refused){.capability = capability,
                              .target = target,
                              .layer = note->layer,
                              .code = note->code,
                              .at_wall_ns = jobs->context->now.wall_ns};
}

/* The oldest comes first. */
static void write_refused(const arcp__job_details *details, arcp_json_writer *writer)
{
    const uint64_t count = details->refused_count;
    if (count == 0) {
        return;
    }
    arcp__put_array(writer, "refused");
    for (uint64_t i = count > ARCP__REFUSED_KEPT ? count - ARCP__REFUSED_KEPT : 0; i < count; i++) {
        const arcp__job_refused *refused = &details->refused[i % ARCP__REFUSED_KEPT];
        arcp_json_begin_object(writer);
        arcp__put_cstr(writer, "capability", refused->capability);
        arcp__put_cstr(writer, "target", refused->target);
        arcp__put_word(writer, "code", arcp_status_wire_code(refused->code));
        arcp__write_timestamp(writer, "at", refused->at_wall_ns);
        arcp__put_cstr(writer, "layer", refused->layer);
        arcp_json_end_object(writer);
    }
    arcp_json_end_array(writer);
}

/* Writes [[line, count, last_at], ...] of the lines that allowed something. A line is written as
 * `arcp --grant` takes it. Not in a trace: threads ask the gate between the calls that it has. */
static void write_uses(const arcp__jobs *jobs, const arcp__job *job, arcp_json_writer *writer)
{
    const arcp_authority *authority = jobs->is_recorded ? NULL : job->live->authority;
    const arcp_lease *lease = authority == NULL ? NULL : arcp_authority_lease(authority);
    bool any = false;
    for (size_t i = 0; lease != NULL && i < lease->count; i++) {
        const arcp__lease_capability *capability = &lease->capabilities[i];
        for (size_t pattern = 0; pattern < capability->count; pattern++) {
            int64_t last_wall_ns = 0;
            const uint64_t count =
                arcp__authority_uses(authority, capability, pattern, &last_wall_ns);
            char at[ARCP__TIMESTAMP_SIZE];
            if (count == 0) {
                continue;
            }
            if (!any) {
                arcp__put_array(writer, "uses");
                any = true;
            }
            arcp_buf line = arcp_buf_init();
            arcp_buf_append(&line, capability->name);
            arcp_buf_append_byte(&line, '=');
            arcp_buf_append(&line, capability->patterns[pattern]);
            arcp_json_begin_array(writer);
            arcp_json_write_string(writer, arcp_buf_span(&line));
            arcp_json_write_u64(writer, count);
            arcp__timestamp_format(last_wall_ns, at);
            arcp_json_write_string(writer, arcp_span_make(at, sizeof at));
            arcp_json_end_array(writer);
            writer->out->failed = writer->out->failed || line.failed;
            arcp_buf_fini(&line);
        }
    }
    if (any) {
        arcp_json_end_array(writer);
    }
}

void arcp__job_details_end(arcp__jobs *jobs, arcp__job *job)
{
    const arcp_span start = arcp_span_cstr(job->facts.start);
    if (start.size == 0) {
        return; /* its agent was not started */
    }
    const bool is_long = start.size > ARCP__DETAILS_START_MAX;
    if (is_long) {
        if (!job->facts.has_details) {
            append(jobs, job, 0, start);
        }
        arcp__free(job->facts.start);
        job->facts.start = NULL;
    }
    arcp_buf text = arcp__context_take_buf(jobs->context);
    arcp_json_writer writer = arcp__put_begin(&text);
    arcp__job_write_details_end(jobs, job, &writer);
    arcp_json_end_object(&writer);
    arcp__context_check_text(jobs->context, &text);
    if (text.size > 2) {
        append(jobs, job, is_long ? 1 : 0, arcp_buf_span(&text));
    }
    arcp__context_give_buf(jobs->context, &text);
}

void arcp__job_details_drop(arcp__jobs *jobs, const arcp__job *job)
{
    char key[ARCP__DETAILS_KEY_SIZE];
    if (job->facts.has_details && !jobs->context->closing) {
        arcp__job_details_key(job, key);
        arcp__batch_add(jobs->log,
                        (arcp_store_op){.kind = ARCP_STORE_DROP, .key = arcp_span_cstr(key)});
    }
}

void arcp__job_write_details_start(const arcp__job *job, arcp_json_writer *writer)
{
    if (job->facts.start == NULL && job->live->input != NULL) {
        write_start(job->live, writer);
    }
}

void arcp__job_write_details_end(const arcp__jobs *jobs, const arcp__job *job,
                                 arcp_json_writer *writer)
{
    write_uses(jobs, job, writer);
    write_refused(&job->live->details, writer);
}
