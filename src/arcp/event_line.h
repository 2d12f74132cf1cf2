/* One readable line per event. */
#ifndef ARCP_ARCP_EVENT_LINE_H
#define ARCP_ARCP_EVENT_LINE_H

#include <arcp/client.h>

typedef struct arcp__line_style {
    bool has_color;
    bool has_times; /* begin with the event's time */
    unsigned depth; /* of delegation: two spaces each */
} arcp__line_style;

/* Appends the line for an event of a job, without newline. `view` is reused from call to call.
 * False (and nothing) for events that have none: result chunks. */
bool arcp__event_line(const arcp__line_style *style, const arcp_client_event *event,
                      arcp_event_view *view, arcp_buf *out);

/* The line for something that is no event of a job: a word of at most nine letters, then the
 * text. `color` is an SGR number, 0: none. */
void arcp__plain_line(const arcp__line_style *style, const char *word, int color, arcp_span text,
                      arcp_buf *out);

enum {
    ARCP__COLOR_NONE = 0,
    ARCP__COLOR_DIM = 2,
    ARCP__COLOR_RED = 31,
    ARCP__COLOR_GREEN = 32,
    ARCP__COLOR_YELLOW = 33,
    ARCP__COLOR_BLUE = 34,
    ARCP__COLOR_MAGENTA = 35,
    ARCP__COLOR_CYAN = 36
};

#endif
