#include "conformance/conformance.h"

#include "cli/cli.h"
#include "json/json_put.h"

#define FRAME_SHOWN_MAX 2000

/* ---- secrets ---- */

/* Appends the frame without white space and with its secrets replaced. */
static void append_hidden(arcp_buf *out, arcp_span frame)
{
    static const char *const secrets[] = {"\"resume_token\":\"", "\"token\":\"", "\"value\":\""};
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf compact = arcp_buf_init();
    arcp_error err = {0};
    if (arcp__wire_scan(&json, frame, &err) == ARCP_OK) {
        arcp_json_compact(&json, ARCP_JSON_ROOT, &compact);
        frame = arcp_buf_span(&compact);
    }
    size_t i = 0;
    while (i < frame.size) {
        size_t begins = 0; /* size of the name and opening quote of a secret that starts here */
        for (size_t row = 0; row < sizeof secrets / sizeof secrets[0] && begins == 0; row++) {
            const arcp_span name = arcp_span_cstr(secrets[row]);
            begins = arcp_span_starts_with(arcp_span_from(frame, i), name) ? name.size : 0;
        }
        if (begins == 0) {
            arcp_buf_append_byte(out, frame.data[i++]);
            continue;
        }
        arcp_buf_append(out, arcp_span_make(frame.data + i, begins));
        arcp_buf_append_cstr(out, "***");
        i += begins;
        while (i < frame.size && frame.data[i] != '"') {
            i += frame.data[i] == '\\' ? 2 : 1;
        }
    }
    arcp__json_fini(&json);
    arcp_buf_fini(&compact);
}

/* ---- lines ---- */

/* The runtime behaves otherwise than the case expects, where the draft leaves this open. */
static bool differs(const arcp__verdict *verdict)
{
    return !verdict->passed && verdict->left_open.size != 0;
}

void arcp__tally_add(arcp__tally *tally, const arcp__verdict *verdict)
{
    tally->passed += verdict->passed;
    tally->differ += differs(verdict);
    tally->failed += !verdict->passed && !differs(verdict);
}

static const char *word_for(const arcp__verdict *verdict, const char *skipped)
{
    if (skipped != NULL) {
        return "skip";
    }
    if (differs(verdict)) {
        return "differs";
    }
    return verdict->passed ? "pass" : "fail";
}

static void report_json(const arcp__case *played, const arcp__verdict *verdict, const char *skipped,
                        arcp_span frame, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_cstr(&writer, "result", word_for(verdict, skipped));
    arcp__put_string(&writer, "section", skipped == NULL ? verdict->section : played->section);
    arcp__put_string(&writer, "case", played->title);
    if (skipped != NULL) {
        arcp__put_cstr(&writer, "why", skipped);
    } else if (!verdict->passed) {
        arcp__put_string(&writer, "why", arcp_buf_span(&verdict->why));
        arcp_json_name(&writer, "frame");
        if (frame.size == 0) {
            arcp_json_write_null(&writer);
        } else {
            arcp_json_write_string(&writer, frame);
        }
        if (verdict->left_open.size != 0) {
            arcp__put_string(&writer, "left_open", arcp_buf_span(&verdict->left_open));
        }
    }
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(out, '\n');
}

static void report_text(const arcp__case *played, const arcp__verdict *verdict, const char *skipped,
                        arcp_span frame, arcp_buf *out)
{
    const arcp_span section = skipped == NULL ? verdict->section : played->section;
    arcp_buf_append_format(out, "%s  %-4.*s  %.*s", word_for(verdict, skipped), (int)section.size,
                           section.data, (int)played->title.size, played->title.data);
    if (skipped != NULL) {
        arcp_buf_append_format(out, " (%s)", skipped);
    } else if (!verdict->passed) {
        arcp_buf_append_cstr(out, "\n            ");
        arcp__append_safe(out, arcp_buf_span(&verdict->why), FRAME_SHOWN_MAX);
        if (frame.size != 0) {
            arcp_buf_append_cstr(out, "\n            ");
            arcp__append_safe(out, frame, FRAME_SHOWN_MAX);
        }
        if (verdict->left_open.size != 0) {
            arcp_buf_append_format(out, "\n            (the draft leaves open %.*s)",
                                   (int)verdict->left_open.size, verdict->left_open.data);
        }
    }
    arcp_buf_append_byte(out, '\n');
}

void arcp__conformance_report(const arcp__case *played, const arcp__verdict *verdict,
                              const char *skipped, bool is_json, arcp_buf *out)
{
    arcp_buf frame = arcp_buf_init();
    if (skipped == NULL) {
        append_hidden(&frame, arcp_buf_span(&verdict->frame));
    }
    if (is_json) {
        report_json(played, verdict, skipped, arcp_buf_span(&frame), out);
    } else {
        report_text(played, verdict, skipped, arcp_buf_span(&frame), out);
    }
    arcp_buf_fini(&frame);
}

void arcp__conformance_summary(const arcp__tally *tally, arcp_span runtime, bool is_json,
                               arcp_buf *out)
{
    if (!is_json) {
        arcp__append_safe(out, runtime, FRAME_SHOWN_MAX);
        arcp_buf_append_format(out, ": %u passed, %u failed, %u differ, %u skipped\n",
                               tally->passed, tally->failed, tally->differ, tally->skipped);
        return;
    }
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_string(&writer, "runtime", runtime);
    arcp__put_u64(&writer, "passed", tally->passed);
    arcp__put_u64(&writer, "failed", tally->failed);
    arcp__put_u64(&writer, "differ", tally->differ);
    arcp__put_u64(&writer, "skipped", tally->skipped);
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(out, '\n');
}
