/* What people see of a plan. */
#include "base/utf8.h"
#include "sandbox/sandbox_parts.h"
#include "json/json_put.h"

static const char *const mechanism_texts[ARCP__SANDBOX_MECHANISM_COUNT] = {
#define ARCP_SANDBOX_MECHANISM(id, name, text) text,
#include "sandbox/sandbox_mechanism.def"
#undef ARCP_SANDBOX_MECHANISM
};
static const char *const mechanism_names[ARCP__SANDBOX_MECHANISM_COUNT] = {
#define ARCP_SANDBOX_MECHANISM(id, name, text) name,
#include "sandbox/sandbox_mechanism.def"
#undef ARCP_SANDBOX_MECHANISM
};
static const struct {
    const char *name;
    const char *text;
} notes[ARCP__SANDBOX_NOTE_COUNT] = {
#define ARCP_SANDBOX_NOTE(id, name, text) {name, text},
#include "sandbox/sandbox_note.def"
#undef ARCP_SANDBOX_NOTE
};

const char *arcp__sandbox_note_text(arcp__sandbox_note note)
{
    return (unsigned)note < ARCP__SANDBOX_NOTE_COUNT ? notes[note].text : "";
}

static bool is_given(const arcp__sandbox_line *line)
{
    return arcp_span_equal_cstr(line->capability, "base") &&
           line->verdict == ARCP__SANDBOX_VERDICT_EXACT;
}

static bool is_of_lease(const arcp__sandbox_plan *plan, size_t line)
{
    return line < plan->lease_line_count;
}

/* Appends a text with the bytes that are not printable ASCII or valid UTF-8 as \xNN. */
static void put_escaped(arcp_span text, arcp_buf *out)
{
    while (text.size != 0) {
        const unsigned char byte = (unsigned char)text.data[0];
        size_t size = 1;
        if (byte >= 0x80) {
            size = 2;
            while (size <= 4 && size <= text.size &&
                   !arcp__utf8_is_valid(arcp_span_first(text, size))) {
                size++;
            }
            /* U+0080 to U+009F are control characters, too. */
            const bool is_control =
                size == 2 && byte == 0xc2 && text.size > 1 && (unsigned char)text.data[1] < 0xa0;
            if (size > 4 || size > text.size || is_control) {
                size = 0;
            }
        } else if (byte < 0x20 || byte == 0x7f) {
            size = 0;
        }
        if (size == 0) {
            arcp_buf_append_format(out, "\\x%02x", (unsigned)byte);
            size = 1;
        } else {
            arcp_buf_append(out, arcp_span_first(text, size));
        }
        text = arcp_span_from(text, size);
    }
}

/* Characters of a text from `start` on: bytes that do not continue one. */
static size_t count_characters(const arcp_buf *text, size_t start)
{
    size_t count = 0;
    for (size_t i = start; i < text->size; i++) {
        count += ((unsigned char)text->data[i] & 0xc0) != 0x80;
    }
    return count;
}

static void put_how(const arcp__sandbox_line *line, arcp_buf *out)
{
    const char *mechanism = mechanism_texts[line->mechanism];
    const char *note = notes[line->note].text;
    arcp_buf_append_cstr(out, mechanism);
    arcp_buf_append_cstr(out, *mechanism != '\0' && *note != '\0' ? "; " : "");
    arcp_buf_append_cstr(out, note);
}

/* ---- the table ---- */

typedef struct row {
    arcp_span capability;
    arcp_span pattern;
    const char *verdict;
    arcp_span how;
} row;

enum { GAP = 2, PATTERN_WIDTH_MAX = 48, VERDICT_WIDTH = 8, CAPABILITY_WIDTH_MIN = 10 };

typedef struct widths {
    size_t capability;
    size_t pattern;
} widths;

static void pad(arcp_buf *out, size_t start, size_t width)
{
    size_t has = count_characters(out, start);
    do {
        arcp_buf_append_byte(out, ' ');
    } while (++has < width + GAP);
}

static void put_row(const row *line, const widths *to, arcp_buf *out)
{
    size_t start = out->size;
    put_escaped(line->capability, out);
    pad(out, start, to->capability);
    start = out->size;
    put_escaped(line->pattern, out);
    pad(out, start, to->pattern);
    start = out->size;
    arcp_buf_append_cstr(out, line->verdict);
    pad(out, start, VERDICT_WIDTH);
    arcp_buf_append(out, line->how);
    while (out->size > 0 && !out->failed && out->data[out->size - 1] == ' ') {
        out->size--;
    }
    arcp_buf_append_byte(out, '\n');
}

static widths measure(const arcp__sandbox_plan *plan)
{
    widths to = {CAPABILITY_WIDTH_MIN, strlen("pattern")};
    for (size_t i = 0; i < plan->line_count; i++) {
        const arcp__sandbox_line *line = &plan->lines[i];
        if (line->capability.size > to.capability) {
            to.capability = line->capability.size;
        }
        if (line->pattern.size > to.pattern) {
            to.pattern = line->pattern.size;
        }
    }
    to.pattern = to.pattern < PATTERN_WIDTH_MAX ? to.pattern : PATTERN_WIDTH_MAX;
    return to;
}

/* How many lines of the lease have each verdict, and whether the plan runs. */
void arcp__sandbox_report_counts(const arcp__sandbox_plan *plan, arcp_buf *out)
{
    const char *between = "";
    for (unsigned verdict = 0; verdict < ARCP__SANDBOX_VERDICT_COUNT; verdict++) {
        size_t count = 0;
        for (size_t i = 0; i < plan->lease_line_count; i++) {
            count += (unsigned)plan->lines[i].verdict == verdict;
        }
        if (count != 0) {
            arcp_buf_append_format(out, "%s%zu %s", between, count,
                                   arcp__sandbox_verdict_name(verdict));
            between = ", ";
        }
    }
}

static void put_summary(const arcp__sandbox_plan *plan, arcp_buf *out)
{
    arcp_buf_append_format(out, "level %s:%s", arcp__sandbox_level_name(plan->level),
                           plan->lease_line_count == 0 ? " the lease has no lines" : " ");
    arcp__sandbox_report_counts(plan, out);
    arcp_buf_append_format(out, ". enforce.min %s: ", arcp__sandbox_verdict_name(plan->min));
    switch (plan->refusal) {
    case ARCP__SANDBOX_REFUSAL_NONE:
        arcp_buf_append_cstr(out, "runs\n");
        return;
    case ARCP__SANDBOX_REFUSAL_LEVEL:
        arcp_buf_append_cstr(out, "does not run, this host cannot confine programs\n");
        return;
    case ARCP__SANDBOX_REFUSAL_LINE:
    case ARCP__SANDBOX_REFUSAL_COUNT:
        break;
    }
    const arcp__sandbox_line *line = &plan->lines[plan->refused_line];
    arcp_buf_append_cstr(out, "does not run because of ");
    put_escaped(line->capability, out);
    arcp_buf_append_byte(out, ' ');
    put_escaped(line->pattern, out);
    arcp_buf_append_byte(out, '\n');
}

void arcp__sandbox_report_table(const arcp__sandbox_plan *plan, arcp_buf *out)
{
    const widths to = measure(plan);
    const row head = {ARCP_SPAN_LITERAL("capability"), ARCP_SPAN_LITERAL("pattern"), "verdict",
                      ARCP_SPAN_LITERAL("how")};
    arcp_buf how = arcp_buf_init();
    arcp_buf given = arcp_buf_init();
    put_row(&head, &to, out);
    for (size_t i = 0; i < plan->line_count; i++) {
        const arcp__sandbox_line *line = &plan->lines[i];
        if (!is_of_lease(plan, i) && is_given(line)) {
            arcp_buf_append_cstr(&given, given.size == 0 ? "" : " ");
            arcp_buf_append(&given, line->pattern);
            continue;
        }
        arcp_buf_clear(&how);
        put_how(line, &how);
        const row next = {line->capability, line->pattern,
                          arcp__sandbox_verdict_name(line->verdict), arcp_buf_span(&how)};
        put_row(&next, &to, out);
        out->failed = out->failed || how.failed;
    }
    if (given.size != 0) {
        const row base = {ARCP_SPAN_LITERAL("base"), arcp_buf_span(&given), "given",
                          ARCP_SPAN_LITERAL("by the operator")};
        put_row(&base, &to, out);
    }
    put_summary(plan, out);
    out->failed = out->failed || given.failed;
    arcp_buf_fini(&how);
    arcp_buf_fini(&given);
}

/* ---- JSON ---- */

static void put_line(arcp_json_writer *writer, const arcp__sandbox_line *line)
{
    arcp_json_begin_object(writer);
    arcp__put_string(writer, "capability", line->capability);
    arcp__put_string(writer, "pattern", line->pattern);
    arcp__put_cstr(writer, "verdict", arcp__sandbox_verdict_name(line->verdict));
    arcp__put_cstr(writer, "mechanism", mechanism_names[line->mechanism]);
    if (line->note != ARCP__SANDBOX_NOTE_NONE) {
        arcp__put_cstr(writer, "note", notes[line->note].name);
        arcp__put_cstr(writer, "text", notes[line->note].text);
    }
    arcp_json_end_object(writer);
}

void arcp__sandbox_report_json(const arcp__sandbox_plan *plan, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_cstr(&writer, "level", arcp__sandbox_level_name(plan->level));
    arcp__put_cstr(&writer, "min", arcp__sandbox_verdict_name(plan->min));
    arcp__put_bool(&writer, "runs", plan->refusal == ARCP__SANDBOX_REFUSAL_NONE);
    if (plan->refusal == ARCP__SANDBOX_REFUSAL_LINE) {
        arcp__put_u64(&writer, "refused_line", plan->refused_line);
    }
    arcp__put_array(&writer, "lines");
    for (size_t i = 0; i < plan->lease_line_count; i++) {
        put_line(&writer, &plan->lines[i]);
    }
    arcp_json_end_array(&writer);
    static const char *const parts[][2] = {{"base", "base"}, {"limits", "limit"}};
    for (size_t part = 0; part < sizeof parts / sizeof *parts; part++) {
        arcp__put_array(&writer, parts[part][0]);
        for (size_t i = plan->lease_line_count; i < plan->line_count; i++) {
            if (arcp_span_equal_cstr(plan->lines[i].capability, parts[part][1])) {
                put_line(&writer, &plan->lines[i]);
            }
        }
        arcp_json_end_array(&writer);
    }
    arcp_json_end_object(&writer);
}

/* ---- parts ---- */

size_t arcp__sandbox_inexact_count(const arcp__sandbox_plan *plan)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->lease_line_count; i++) {
        count += plan->lines[i].verdict != ARCP__SANDBOX_VERDICT_EXACT;
    }
    return count;
}

void arcp__sandbox_report_lines(const arcp__sandbox_plan *plan, bool only_inexact, arcp_buf *out)
{
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, out);
    arcp_json_begin_array(&writer);
    for (size_t i = 0; i < plan->lease_line_count; i++) {
        if (!only_inexact || plan->lines[i].verdict != ARCP__SANDBOX_VERDICT_EXACT) {
            put_line(&writer, &plan->lines[i]);
        }
    }
    arcp_json_end_array(&writer);
}

void arcp__sandbox_report_base(const arcp__sandbox_plan *plan, arcp_buf *out)
{
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, out);
    arcp_json_begin_array(&writer);
    for (size_t i = plan->lease_line_count; i < plan->line_count; i++) {
        if (arcp_span_equal_cstr(plan->lines[i].capability, "base")) {
            arcp_json_write_string(&writer, plan->lines[i].pattern);
        }
    }
    arcp_json_end_array(&writer);
}
