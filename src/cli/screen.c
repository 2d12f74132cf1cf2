#include "cli/cli.h"

#include <errno.h>
#include <langinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/utf8.h"

#define ERASE_LINE "\r\033[K"
#define LINE_UP    "\033[A"

/* Kept free behind the status area: the terminal shows Ctrl-C as ^C, which must not wrap. */
#define ECHO_COLUMNS 3

void arcp__screen_measure(arcp__screen *screen)
{
    struct winsize size = {0};
    screen->columns = 80;
    if (screen->is_terminal && ioctl(screen->fd, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) {
        screen->columns = size.ws_col;
    }
}

void arcp__screen_init(arcp__screen *screen, int fd, arcp__when color)
{
    const char *term = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");
    const bool is_dumb = term == NULL || strcmp(term, "dumb") == 0;
    *screen = (arcp__screen){.fd = fd, .is_terminal = isatty(fd) && !is_dumb};
    screen->has_color =
        color == ARCP__WHEN_ALWAYS || (color == ARCP__WHEN_AUTO && screen->is_terminal &&
                                       (no_color == NULL || no_color[0] == '\0'));
    screen->is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    arcp__screen_measure(screen);
}

void arcp__screen_fini(arcp__screen *screen)
{
    arcp__screen_status(screen, arcp_span_make(NULL, 0));
    arcp_buf_fini(&screen->out);
}

/* Ignores errors: there is nowhere to report that standard error cannot be written. */
static void write_out(arcp__screen *screen)
{
    arcp_span left = arcp_buf_span(&screen->out);
    while (left.size != 0) {
        const ssize_t written = write(screen->fd, left.data, left.size);
        if (written > 0) {
            left = arcp_span_from(left, (size_t)written);
        } else if (errno != EINTR) {
            break;
        }
    }
    arcp_buf_clear(&screen->out);
}

static void erase_status(arcp__screen *screen)
{
    for (; screen->status_lines > 1; screen->status_lines--) {
        arcp_buf_append_cstr(&screen->out, ERASE_LINE LINE_UP);
    }
    if (screen->status_lines == 1) {
        arcp_buf_append_cstr(&screen->out, ERASE_LINE);
        screen->status_lines = 0;
    }
}

void arcp__screen_line(arcp__screen *screen, arcp_span text)
{
    erase_status(screen);
    arcp__append_wrapped(&screen->out, text, screen->is_terminal ? screen->columns : 0);
    arcp_buf_append_byte(&screen->out, '\n');
    write_out(screen);
}

void arcp__screen_format(arcp__screen *screen, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    arcp__screen_line(screen, arcp_span_cstr(text));
}

/* Appends at most `columns` columns of a line; escape sequences take no columns. */
static void append_cut(arcp_buf *out, arcp_span line, size_t columns)
{
    while (line.size != 0) {
        size_t width;
        const size_t size = arcp__character_size(line, &width);
        if (width > columns) {
            arcp_buf_append_cstr(out, "\033[0m");
            return;
        }
        columns -= width;
        arcp_buf_append(out, arcp_span_first(line, size));
        line = arcp_span_from(line, size);
    }
}

void arcp__screen_status(arcp__screen *screen, arcp_span text)
{
    if (!screen->is_terminal || screen->status_off) {
        return;
    }
    erase_status(screen);
    while (text.size != 0) {
        const char *line_end = memchr(text.data, '\n', text.size);
        const size_t size = line_end == NULL ? text.size : (size_t)(line_end - text.data);
        if (screen->status_lines++ != 0) {
            arcp_buf_append_byte(&screen->out, '\n');
        }
        append_cut(&screen->out, arcp_span_first(text, size),
                   screen->columns > ECHO_COLUMNS ? screen->columns - ECHO_COLUMNS : 1);
        text = arcp_span_from(text, line_end == NULL ? size : size + 1);
    }
    write_out(screen);
}

void arcp__screen_erase_echo(arcp__screen *screen)
{
    if (!screen->is_terminal || screen->status_off) {
        return;
    }
    erase_status(screen);
    arcp_buf_append_cstr(&screen->out, ERASE_LINE);
    write_out(screen);
}

void arcp__append_safe(arcp_buf *out, arcp_span text, size_t bytes_max)
{
    const bool is_cut = text.size > bytes_max;
    const size_t size = is_cut ? arcp__utf8_cut(text, bytes_max) : text.size;
    for (size_t i = 0; i < size; i++) {
        const unsigned char byte = (unsigned char)text.data[i];
        uint32_t code_point = 0;
        const size_t control =
            arcp__control_size(arcp_span_make(text.data + i, size - i), &code_point);
        if (byte == '\n') {
            arcp_buf_append_cstr(out, "\\n");
        } else if (byte == '\t') {
            arcp_buf_append_byte(out, ' ');
        } else if (control == 1) {
            arcp_buf_append_format(out, "\\x%02x", byte);
        } else if (control != 0) {
            arcp_buf_append_format(out, "\\u%04x", code_point);
            i += control - 1;
        } else {
            arcp_buf_append_byte(out, (char)byte);
        }
    }
    if (is_cut) {
        arcp_buf_append_cstr(out, "...");
    }
}

void arcp__append_column(arcp_buf *out, arcp_span text, size_t columns)
{
    const size_t start = out->size;
    arcp__append_safe(out, text, 80);
    const size_t used = arcp__text_columns(arcp_span_from(arcp_buf_span(out), start));
    arcp_buf_append_format(out, "%*s", used < columns ? (int)(columns - used) + 1 : 1, "");
}

/* Appends the character at `bytes`, escaped if necessary, and returns its size; 0 when the rest of
 * it may still follow. */
static size_t append_shown(arcp_buf *out, const unsigned char *bytes, size_t left, bool is_last)
{
    const size_t size = arcp__utf8_character_size(bytes, left);
    uint32_t code_point = 0;
    const size_t control =
        arcp__control_size(arcp_span_make((const char *)bytes, left), &code_point);
    const bool is_line_end = bytes[0] == '\n' || (bytes[0] == '\r' && left > 1 && bytes[1] == '\n');
    const bool may_grow =
        (bytes[0] == '\r' || (bytes[0] >= 0xc2 && size == 0)) && left < 4 && !is_last;
    if (may_grow && (bytes[0] != '\r' || left == 1)) {
        return 0;
    }
    if (size == 0 || (control == 1 && !is_line_end && bytes[0] != '\t')) {
        arcp_buf_append_format(out, "\\x%02x", bytes[0]);
        return 1;
    }
    if (control > 1) {
        arcp_buf_append_format(out, "\\u%04x", code_point);
        return control;
    }
    arcp_buf_append(out, arcp_span_make((const char *)bytes, size));
    return size;
}

void arcp__append_shown(arcp_buf *out, arcp_span piece, arcp_buf *held, bool is_last)
{
    arcp_buf_append(held, piece);
    arcp_span left = arcp_buf_span(held);
    while (left.size != 0) {
        const size_t size = append_shown(out, (const unsigned char *)left.data, left.size, is_last);
        if (size == 0) {
            break;
        }
        left = arcp_span_from(left, size);
    }
    arcp_buf_consume(held, held->size - left.size);
}
