/* Standard error as people see it: lines that stay, and on a terminal a status area below them
 * that is redrawn (progress bars, a spinner). In a pipe there are only lines. */
#ifndef ARCP_CLI_SCREEN_H
#define ARCP_CLI_SCREEN_H

#include <arcp/buf.h>

typedef struct arcp__screen {
    int fd;
    bool is_terminal;
    bool has_color;
    bool is_utf8;
    size_t columns;      /* of the terminal */
    size_t status_lines; /* drawn below the cursor's home */
    bool status_off;     /* the area may not be drawn: something else writes there */
    arcp_buf out;        /* scratch */
} arcp__screen;

typedef enum arcp__when { ARCP__WHEN_AUTO, ARCP__WHEN_ALWAYS, ARCP__WHEN_NEVER } arcp__when;

/* Looks at the descriptor, the locale, TERM and NO_COLOR. */
void arcp__screen_init(arcp__screen *screen, int fd, arcp__when color);
void arcp__screen_fini(arcp__screen *screen);
/* The terminal may have another width now. */
void arcp__screen_measure(arcp__screen *screen);

/* Prints a line above the status area. A newline is added. */
void arcp__screen_line(arcp__screen *screen, arcp_span text);
void arcp__screen_format(arcp__screen *screen, const char *format, ...) ARCP_PRINTF(2, 3);

/* Redraws the status area: lines with '\n' between them, cut at the terminal's width. Nothing
 * happens in a pipe. An empty text clears it. */
void arcp__screen_status(arcp__screen *screen, arcp_span text);

/* Erases what the terminal itself has written where the cursor is: the ^C of who pressed it. */
void arcp__screen_erase_echo(arcp__screen *screen);

/* Appends text that came from elsewhere, made harmless: control characters are shown as
 * escapes, so that no event can move the cursor or name the window. At most `bytes_max` of it,
 * then "...". */
void arcp__append_safe(arcp_buf *out, arcp_span text, size_t bytes_max);

/* Appends a piece of a text of many lines that came from elsewhere, as a terminal may see it:
 * line ends and tabs as they are, other control characters, and bytes that are no UTF-8, as
 * escapes. A character may be cut at the piece's end; `held` keeps its beginning. */
void arcp__append_shown(arcp_buf *out, arcp_span piece, arcp_buf *held, bool is_last);

/* How many columns a text without escapes takes, roughly: one per character. */
size_t arcp__text_columns(arcp_span text);

#endif
