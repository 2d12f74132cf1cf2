/* The status area: one line per job that is under way, a bar where there is a total, a spinner
 * where there is none. */
#ifndef ARCP_ARCP_PROGRESS_H
#define ARCP_ARCP_PROGRESS_H

#include <arcp/client.h>

/* More jobs than this at once are not drawn. */
#define ARCP__PROGRESS_JOBS_MAX 16
#define ARCP__PROGRESS_TEXT_MAX 96

typedef struct arcp__progress_row {
    char job[64];
    char label[48];
    unsigned depth;
    bool has_progress;
    double current;
    double total;                         /* 0: none */
    char amount[ARCP__PROGRESS_TEXT_MAX]; /* "47/120 files" */
    char message[ARCP__PROGRESS_TEXT_MAX];
    int64_t since_ns; /* when the job was first seen */
} arcp__progress_row;

typedef struct arcp__progress {
    arcp__progress_row rows[ARCP__PROGRESS_JOBS_MAX];
    size_t count;
} arcp__progress;

/* A job began; `label` is what people know it by. */
void arcp__progress_add(arcp__progress *progress, arcp_span job, arcp_span label, unsigned depth,
                        int64_t now_ns);
void arcp__progress_remove(arcp__progress *progress, arcp_span job);

/* Takes an event of kind progress, status or log (whose message is shown meanwhile). */
void arcp__progress_note(arcp__progress *progress, arcp_span job, const arcp_event_view *view);

/* Appends the area's text, a line per job. */
void arcp__progress_draw(const arcp__progress *progress, int64_t now_ns, bool is_utf8,
                         bool has_color, arcp_buf *out);

#endif
