/* What `arcp run` prints of a run. Names that the command chose are escaped: a file name must not
 * be able to move the cursor, or to add an option to a suggestion that a user pastes into a shell.
 */
#include "arcp/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arcp/command.h"
#include "base/digits.h"
#include "base/directory.h"
#include "base/utf8.h"
#include "launch/sandbox_record.h"
#include "json/json_put.h"

#define NAME_SHOWN_MAX    512
#define DETAIL_SHOWN_MAX  128
#define FAILURE_SHOWN_MAX 4352 /* with a path of any length */
#define LINES_MAX         100  /* of denials */

/* ---- the file ---- */

arcp_status arcp__run_report_open(arcp__run_report *report, const arcp__run *run, arcp_error *err)
{
    const char *path = arcp__value(&run->program->arguments, ARCP__OPTION_RUN_REPORT);
    *report = (arcp__run_report){.run = run, .file = -1};
    if (path == NULL) {
        return ARCP_OK;
    }
    report->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644);
    return report->file >= 0
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE, "--report %.200s: %s", path, strerror(errno));
}

void arcp__run_report_close(arcp__run_report *report)
{
    arcp__close(report->file);
    arcp_buf_fini(&report->failure);
    arcp__arena_fini(&report->arena);
}

void arcp__run_report_write(arcp__run_report *report, arcp_buf *line)
{
    arcp_buf_append_byte(line, '\n');
    if (report->file >= 0 && !report->is_incomplete &&
        (line->failed || !arcp__write_all(report->file, arcp_buf_span(line)))) {
        report->is_incomplete = true;
        arcp__program_say(report->run->program, "--report: %s",
                          line->failed ? "out of memory" : strerror(errno));
    }
    arcp_buf_fini(line);
}

/* ---- lines ---- */

static void say(const arcp__run_report *report, const char *word, int color, const arcp_buf *text)
{
    arcp__program *program = report->run->program;
    const arcp__line_style style = arcp__program_style(program, 0);
    arcp_buf line = arcp_buf_init();
    if (program->is_quiet) {
        return;
    }
    arcp__plain_line(&style, word, color, arcp_buf_span(text), &line);
    arcp__screen_line(&program->screen, arcp_buf_span(&line));
    arcp_buf_fini(&line);
}

/* Whether a limit was asked for. */
static bool is_asked(const arcp__run *run, const arcp__sandbox_line *line)
{
    return line->note == ARCP__SANDBOX_NOTE_MEMORY_EACH ||
           ((line->note == ARCP__SANDBOX_NOTE_PIDS || line->note == ARCP__SANDBOX_NOTE_PIDS_OPEN) &&
            arcp__value(&run->program->arguments, ARCP__OPTION_RUN_PIDS) != NULL);
}

void arcp__run_report_plan(arcp__run_report *report)
{
    const arcp__sandbox_plan *plan = report->run->plan;
    for (size_t i = 0; i < plan->line_count; i++) {
        const arcp__sandbox_line *row = &plan->lines[i];
        if (row->verdict == ARCP__SANDBOX_VERDICT_EXACT ||
            (i >= plan->lease_line_count && !is_asked(report->run, row))) {
            continue;
        }
        arcp_buf text = arcp_buf_init();
        const char *note = arcp__sandbox_note_text(row->note);
        arcp__append_safe(&text, row->capability, NAME_SHOWN_MAX);
        arcp_buf_append_byte(&text, ' ');
        arcp__append_safe(&text, row->pattern, NAME_SHOWN_MAX);
        arcp_buf_append_format(&text, "%s%s", note[0] == '\0' ? "" : ": ", note);
        say(report, arcp__sandbox_verdict_name(row->verdict),
            row->verdict == ARCP__SANDBOX_VERDICT_REFUSED ? ARCP__COLOR_YELLOW : ARCP__COLOR_DIM,
            &text);
        arcp_buf_fini(&text);
    }
    if (report->file >= 0) {
        arcp_buf line = arcp_buf_init();
        arcp_json_writer writer = arcp__put_begin(&line);
        arcp_buf plan_text = arcp_buf_init();
        arcp__sandbox_report_json(plan, &plan_text);
        arcp__put_cstr(&writer, "type", "plan");
        arcp__put_raw(&writer, "plan", arcp_buf_span(&plan_text));
        arcp_json_end_object(&writer);
        line.failed = line.failed || plan_text.failed;
        arcp_buf_fini(&plan_text);
        arcp__run_report_write(report, &line);
    }
}

/* ---- records ---- */

static arcp__run_denial *find_denial(arcp__run_report *report, arcp_span capability,
                                     arcp_span target)
{
    for (size_t i = 0; i < report->denial_count; i++) {
        arcp__run_denial *known = &report->denials[i];
        if (arcp_span_equal(known->target, target) &&
            arcp_span_equal(known->capability, capability)) {
            return known;
        }
    }
    return NULL;
}

/* Returns NULL for a denial that finds no room. */
static arcp__run_denial *add_denial(arcp__run_report *report, const arcp__run_denial *given)
{
    const arcp__run_denial added = {.capability =
                                        arcp__arena_copy(&report->arena, given->capability),
                                    .target = arcp__arena_copy(&report->arena, given->target),
                                    .reason = arcp__arena_copy(&report->arena, given->reason),
                                    .count = given->count,
                                    .layer = given->layer,
                                    .has_no_option = given->has_no_option};
    if (report->denial_count == ARCP__RUN_DENIALS_MAX || given->target.size == 0 ||
        added.capability.data == NULL || added.target.data == NULL || added.reason.data == NULL) {
        report->more += given->count;
        return NULL;
    }
    report->denials[report->denial_count] = added;
    return &report->denials[report->denial_count++];
}

/* The line of a denial, when it is added. `detail` is the program, or the network's reason. */
static void say_denial(const arcp__run_report *report, const arcp__run_denial *denial,
                       arcp_span detail)
{
    if (report->denial_count > LINES_MAX) {
        if (report->denial_count == LINES_MAX + 1 && !report->run->program->is_quiet) {
            arcp__program_say(report->run->program,
                              "more than %d names were denied; the others are counted", LINES_MAX);
        }
        return;
    }
    arcp_buf text = arcp_buf_init();
    arcp__append_safe(&text, denial->capability, 64);
    arcp_buf_append_byte(&text, ' ');
    arcp__append_safe(&text, denial->target, NAME_SHOWN_MAX);
    if (detail.size != 0) {
        arcp_buf_append_cstr(&text, " (");
        arcp__append_safe(&text, detail, DETAIL_SHOWN_MAX);
        arcp_buf_append_byte(&text, ')');
    }
    say(report, "denied", ARCP__COLOR_YELLOW, &text);
    arcp_buf_fini(&text);
}

static void take_denied(arcp__run_report *report, const arcp_json *json, arcp_json_ref denied)
{
    arcp_buf room[3] = {arcp_buf_init(), arcp_buf_init(), arcp_buf_init()};
    static const char *const names[] = {"capability", "target", "program"};
    arcp_span texts[3];
    arcp__run_denial given = {.count = 1};
    if (!arcp_json_is(json, denied, ARCP_JSON_OBJECT)) {
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        const arcp_json_ref at = arcp_json_member(json, denied, arcp_span_cstr(names[i]));
        texts[i] = arcp_json_is(json, at, ARCP_JSON_STRING) ? arcp_json_string(json, at, &room[i])
                                                            : arcp_span_make(NULL, 0);
    }
    (void)arcp_json_u64(json, arcp_json_member(json, denied, ARCP_SPAN_LITERAL("count")),
                        &given.count);
    given.capability = texts[0];
    given.target = texts[1];
    arcp__run_denial *known = find_denial(report, given.capability, given.target);
    if (known != NULL) {
        known->count = given.count;
    } else {
        known = add_denial(report, &given);
        if (known != NULL) {
            say_denial(report, known, texts[2]);
        }
    }
    for (size_t i = 0; i < 3; i++) {
        arcp_buf_fini(&room[i]);
    }
}

/* Writes a denial of our own layers to the file, as arcp-sandbox writes those of files. */
static void write_denial(arcp__run_report *report, arcp__run_denial *denial)
{
    if (report->file < 0 || denial->written == denial->count) {
        return;
    }
    arcp_buf line = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&line);
    arcp__put_cstr(&writer, "type", "denied");
    arcp_json_name(&writer, "record");
    arcp_json_begin_object(&writer);
    arcp_json_name(&writer, "denied");
    arcp_json_begin_object(&writer);
    arcp__put_string(&writer, "capability", denial->capability);
    arcp__put_string(&writer, "target", denial->target);
    arcp__put_string(&writer, "reason", denial->reason);
    arcp__put_cstr(&writer, "layer", denial->layer);
    arcp__put_u64(&writer, "count", denial->count);
    arcp_json_end_object(&writer);
    arcp_json_end_object(&writer);
    arcp_json_end_object(&writer);
    arcp__run_report_write(report, &line);
    denial->written = denial->count;
}

void arcp__run_report_refusal(arcp__run_report *report, const arcp__run_refusal *refusal)
{
    arcp_buf shown = arcp_buf_init();
    arcp__utf8_append_escaped(&shown, refusal->target);
    arcp__run_denial *known = find_denial(report, refusal->capability, arcp_buf_span(&shown));
    if (known != NULL) {
        known->count++;
    } else {
        const arcp__run_denial given = {.capability = refusal->capability,
                                        .target = arcp_buf_span(&shown),
                                        .reason = arcp_span_cstr(refusal->reason),
                                        .count = 1,
                                        .layer = refusal->layer,
                                        .has_no_option = refusal->has_no_option};
        known = add_denial(report, &given);
        if (known != NULL) {
            say_denial(report, known,
                       refusal->is_lacking ? arcp_span_make(NULL, 0) : known->reason);
            write_denial(report, known);
        }
    }
    arcp_buf_fini(&shown);
}

static void take_failed(arcp__run_report *report, arcp_span record)
{
    arcp_buf message = arcp_buf_init();
    (void)arcp__sandbox_record_failure(record, &message);
    arcp_buf_clear(&report->failure);
    arcp__append_safe(&report->failure, arcp_buf_span(&message), FAILURE_SHOWN_MAX);
    arcp_buf_fini(&message);
}

/* Files that were granted and are not there: they cannot be made either. */
static void take_running(const arcp__run_report *report, const arcp_json *json)
{
    const arcp_json_ref absent =
        arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("absent"));
    if (!arcp_json_is(json, absent, ARCP_JSON_ARRAY)) {
        return;
    }
    for (arcp_json_ref at = arcp_json_first(json, absent); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, absent, at)) {
        const arcp_json_ref path = arcp_json_is(json, at, ARCP_JSON_OBJECT)
                                       ? arcp_json_member(json, at, ARCP_SPAN_LITERAL("path"))
                                       : ARCP_JSON_ABSENT;
        if (!arcp_json_is(json, path, ARCP_JSON_STRING)) {
            continue;
        }
        arcp_buf room = arcp_buf_init();
        arcp_buf text = arcp_buf_init();
        arcp__append_safe(&text, arcp_json_string(json, path, &room), NAME_SHOWN_MAX);
        arcp_buf_append_cstr(&text, ": the lease names a file, and there is none");
        say(report, "absent", ARCP__COLOR_YELLOW, &text);
        arcp_buf_fini(&text);
        arcp_buf_fini(&room);
    }
}

/* What the git of others would use, and the program made. */
static void take_planted(const arcp__run_report *report, const arcp_json *json, arcp_json_ref list)
{
    for (arcp_json_ref at = arcp_json_first(json, list); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, list, at)) {
        arcp_buf room = arcp_buf_init();
        arcp_buf text = arcp_buf_init();
        if (arcp_json_is(json, at, ARCP_JSON_STRING)) {
            arcp__append_safe(&text, arcp_json_string(json, at, &room), NAME_SHOWN_MAX);
            arcp_buf_append_cstr(&text, ": made by the command; git uses it from now on");
            say(report, "planted", ARCP__COLOR_YELLOW, &text);
        }
        arcp_buf_fini(&text);
        arcp_buf_fini(&room);
    }
}

void arcp__run_report_record(arcp__run_report *report, arcp_span record)
{
    arcp_json json = ARCP__JSON_INIT;
    static const char *const types[] = {"running", "denied", "planted", "failed"};
    if (arcp_json_scan(&json, record, NULL, NULL) == ARCP_OK &&
        arcp_json_is(&json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
            const arcp_json_ref at =
                arcp_json_member(&json, ARCP_JSON_ROOT, arcp_span_cstr(types[i]));
            if (at == ARCP_JSON_ABSENT) {
                continue;
            }
            if (i == 0) {
                report->is_running = true;
                take_running(report, &json);
            } else if (i == 1) {
                take_denied(report, &json, at);
            } else if (i == 2) {
                take_planted(report, &json, at);
            } else {
                take_failed(report, record);
            }
            if (report->file >= 0) {
                arcp_buf line = arcp_buf_init();
                arcp_json_writer writer = arcp__put_begin(&line);
                arcp__put_cstr(&writer, "type", types[i]);
                arcp__put_raw(&writer, "record", record);
                arcp_json_end_object(&writer);
                arcp__run_report_write(report, &line);
            }
            break;
        }
    }
    arcp__json_fini(&json);
}

/* ---- the end ---- */

static const char *const ends[] = {
    [ARCP__RUN_EXITED] = "exited",           [ARCP__RUN_SIGNALLED] = "signalled",
    [ARCP__RUN_NOT_STARTED] = "not_started", [ARCP__RUN_EXPIRED] = "expired",
    [ARCP__RUN_TIMED_OUT] = "timed_out",
};

static void write_end(arcp__run_report *report, const arcp__run_result *result, uint64_t denials)
{
    arcp_buf line = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&line);
    arcp__put_cstr(&writer, "type", "end");
    arcp__put_cstr(&writer, "end", ends[result->end]);
    arcp__put_i64(&writer, result->end == ARCP__RUN_SIGNALLED ? "signal" : "exit_status",
                  result->code);
    if (result->has_run_out) {
        arcp__put_cstr(&writer, "limit", "memory");
    }
    arcp__put_text(&writer, "failure", arcp_buf_span(&report->failure));
    arcp__put_u64(&writer, "denied", denials);
    arcp__run_report_put_calls(report, &writer);
    arcp__put_i64(&writer, "runtime_ms", result->runtime_ms);
    arcp_json_end_object(&writer);
    arcp__run_report_write(report, &line);
}

void arcp__run_report_end(arcp__run_report *report, const arcp__run_result *result)
{
    const arcp__run_end end = result->end;
    const arcp__run *run = report->run;
    arcp__screen *screen = &run->program->screen;
    uint64_t denials = report->more;
    for (size_t i = 0; i < report->denial_count; i++) {
        denials += report->denials[i].count;
        if (report->denials[i].layer != NULL) {
            write_denial(report, &report->denials[i]);
        }
    }
    if (report->file >= 0) {
        write_end(report, result, denials);
    }
    if (end == ARCP__RUN_NOT_STARTED) {
        arcp__program_say(run->program, "%.*s", (int)report->failure.size,
                          report->failure.size == 0 ? "" : report->failure.data);
    } else if (end == ARCP__RUN_EXPIRED) {
        arcp__program_say(run->program, "the lease expired; the command was killed");
    } else if (end == ARCP__RUN_TIMED_OUT) {
        arcp__program_say(run->program, "the command was ended after %llu s (--max-runtime)",
                          (unsigned long long)run->max_runtime_sec);
    }
    if (result->has_run_out) {
        arcp__program_say(run->program,
                          "the command needed more than %llu bytes of memory "
                          "(--memory); the kernel killed a process of it",
                          (unsigned long long)run->plan->limits.memory_bytes);
    }
    if (run->program->is_quiet) {
        return;
    }
    arcp__run_report_calls(report);
    if (denials != 0) { /* each name once: a program may ask for one many times */
        arcp_buf text = arcp_buf_init();
        arcp_buf options = arcp_buf_init();
        const uint64_t names = report->denial_count + report->more;
        arcp_buf_append_format(&text, "arcp run: %llu denied.", (unsigned long long)names);
        arcp__run_suggest(report, &options);
        if (options.size != 0) {
            arcp_buf_append_cstr(&text, " To allow:");
            arcp_buf_append(&text, arcp_buf_span(&options));
        }
        arcp__screen_line(screen, arcp_buf_span(&text));
        arcp_buf_fini(&options);
        arcp_buf_fini(&text);
    }
    if (run->kept_back != 0 && end == ARCP__RUN_EXITED && result->code != 0) {
        arcp__program_say(run->program,
                          "%zu variable%s of the environment %s not passed to the "
                          "command; --env NAME passes one",
                          run->kept_back, run->kept_back == 1 ? "" : "s",
                          run->kept_back == 1 ? "was" : "were");
    }
}
