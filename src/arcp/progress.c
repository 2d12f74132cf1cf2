#include "arcp/command.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/cli.h"

#define BAR_COLUMNS       24
#define SHORT_BAR_COLUMNS 8 /* on a narrow terminal: figures matter more */
#define NARROW            60
#define FRAME_NS          (100 * ARCP_NS_PER_MS)

static arcp__progress_row *find(arcp__progress *progress, arcp_span job)
{
    for (size_t row = 0; row < progress->count; row++) {
        if (arcp_span_equal_cstr(job, progress->rows[row].job)) {
            return &progress->rows[row];
        }
    }
    return NULL;
}

/* Copies as much as fits, with control characters escaped. */
static void set_text(char *out, size_t room, arcp_span text)
{
    arcp_buf safe = arcp_buf_init();
    arcp__append_safe(&safe, text, room);
    const size_t size = arcp__utf8_cut(arcp_buf_span(&safe), room - 1);
    if (size != 0) {
        memcpy(out, safe.data, size);
    }
    out[size] = '\0';
    arcp_buf_fini(&safe);
}

void arcp__progress_add(arcp__progress *progress, arcp_span job, arcp_span label, unsigned depth,
                        int64_t now_ns)
{
    if (progress->count == ARCP__PROGRESS_JOBS_MAX || job.size >= sizeof progress->rows[0].job ||
        find(progress, job) != NULL) {
        return;
    }
    arcp__progress_row *row = &progress->rows[progress->count++];
    *row = (arcp__progress_row){.depth = depth, .since_ns = now_ns};
    memcpy(row->job, job.data, job.size);
    set_text(row->label, sizeof row->label, label);
}

void arcp__progress_remove(arcp__progress *progress, arcp_span job)
{
    arcp__progress_row *row = find(progress, job);
    if (row != NULL) {
        const size_t after = progress->count - 1 - (size_t)(row - progress->rows);
        memmove(row, row + 1, after * sizeof *row);
        progress->count--;
    }
}

/* Only for drawing: a double may round the reported number. */
static double number_of(arcp_span text)
{
    char digits[64];
    if (text.size == 0 || text.size >= sizeof digits) {
        return 0;
    }
    memcpy(digits, text.data, text.size);
    digits[text.size] = '\0';
    const double value = strtod(digits, NULL);
    return value > 0 ? value : 0;
}

/* Not what the job does now. */
static bool is_about_sandbox(arcp_span phase)
{
    return arcp_span_equal_cstr(phase, "enforcement") || arcp_span_equal_cstr(phase, "denied");
}

void arcp__progress_note(arcp__progress *progress, arcp_span job, const arcp_event_body *body)
{
    arcp__progress_row *row = find(progress, job);
    if (row == NULL) {
        return;
    }
    if (body->kind == ARCP_EVENT_STATUS && !row->has_progress &&
        !is_about_sandbox(body->status.phase)) {
        const arcp_status_body *status = &body->status;
        set_text(row->message, sizeof row->message,
                 status->message.size != 0 ? status->message : status->phase);
    }
    if (body->kind != ARCP_EVENT_PROGRESS) {
        return;
    }
    const arcp_progress_body *reported = &body->progress;
    arcp_buf amount = arcp_buf_init();
    row->has_progress = true;
    row->current = number_of(reported->current);
    row->total = number_of(reported->total);
    arcp_buf_append(&amount, reported->current);
    arcp_buf_append_cstr(&amount, reported->total.size != 0 ? "/" : "");
    arcp_buf_append(&amount, reported->total);
    arcp_buf_append_cstr(&amount, reported->units.size != 0 ? " " : "");
    arcp_buf_append(&amount, reported->units);
    set_text(row->amount, sizeof row->amount, arcp_buf_span(&amount));
    set_text(row->message, sizeof row->message, reported->message);
    arcp_buf_fini(&amount);
}

/* ---- drawing ---- */

static void draw_bar(const arcp__progress_row *row, const arcp__screen *screen, arcp_buf *out)
{
    const bool is_utf8 = screen->is_utf8;
    const int columns = screen->columns < NARROW ? SHORT_BAR_COLUMNS : BAR_COLUMNS;
    double part = row->current / row->total;
    part = part > 1 ? 1 : part;
    const int full = (int)(part * columns);
    arcp_buf_append_cstr(out, is_utf8 ? "" : "[");
    for (int column = 0; column < columns; column++) {
        arcp_buf_append_cstr(out, column < full ? (is_utf8 ? "\xe2\x96\x88" : "#")
                                                : (is_utf8 ? "\xe2\x96\x91" : "."));
    }
    arcp_buf_append_cstr(out, is_utf8 ? "" : "]");
    arcp_buf_append_format(out, " %3d%%", (int)(part * 100));
}

static void draw_elapsed(int64_t elapsed_ns, arcp_buf *out)
{
    const long long seconds = elapsed_ns / ARCP_NS_PER_SEC;
    if (seconds >= 3600) {
        arcp_buf_append_format(out, " %lldh%02lldm", seconds / 3600, seconds / 60 % 60);
    } else if (seconds >= 60) {
        arcp_buf_append_format(out, " %lldm%02llds", seconds / 60, seconds % 60);
    } else {
        arcp_buf_append_format(out, " %llds", seconds);
    }
}

static void draw_row(const arcp__progress_row *row, const arcp__screen *screen, int64_t now_ns,
                     arcp_buf *out)
{
    static const char *const plain[] = {"|", "/", "-", "\\"};
    static const char *const fine[] = {
        "\xe2\xa0\x8b", "\xe2\xa0\x99", "\xe2\xa0\xb9", "\xe2\xa0\xb8",
        "\xe2\xa0\xbc", "\xe2\xa0\xb4", "\xe2\xa0\xa6", "\xe2\xa0\xa7",
    };
    const size_t frame = (size_t)(now_ns / FRAME_NS);
    const bool has_bar = row->has_progress && row->total > 0;
    arcp_buf_append_format(out, "%*s", (int)(row->depth < 16 ? row->depth : 16) * 2, "");
    arcp_buf_append_cstr(out, screen->has_color ? "\033[32m" : "");
    if (has_bar) {
        draw_bar(row, screen, out);
    } else {
        arcp_buf_append_cstr(out, screen->is_utf8 ? fine[frame % 8] : plain[frame % 4]);
    }
    arcp_buf_append_cstr(out, screen->has_color ? "\033[0m" : "");
    arcp_buf_append_format(out, " %s%s%s", row->label, row->amount[0] != '\0' ? " " : "",
                           row->amount);
    if (!has_bar) {
        draw_elapsed(now_ns - row->since_ns, out);
    }
    arcp_buf_append_format(out, "%s%s", row->message[0] != '\0' ? "  " : "", row->message);
}

void arcp__progress_draw(const arcp__progress *progress, const arcp__screen *screen, int64_t now_ns,
                         arcp_buf *out)
{
    for (size_t row = 0; row < progress->count; row++) {
        if (row != 0) {
            arcp_buf_append_byte(out, '\n');
        }
        draw_row(&progress->rows[row], screen, now_ns, out);
    }
}
