#include <string.h>
#include <wchar.h>

#include "base/utf8.h"
#include "cli/cli.h"

size_t arcp__character_size(arcp_span text, size_t *columns)
{
    const unsigned char *bytes = (const unsigned char *)text.data;
    *columns = 1;
    if (bytes[0] == 033) {
        const char *end = memchr(text.data, 'm', text.size);
        *columns = 0;
        return end == NULL ? text.size : (size_t)(end - text.data) + 1;
    }
    const size_t size = arcp__utf8_character_size(bytes, text.size);
    if (size < 2) {
        return 1;
    }
    uint32_t code_point = bytes[0] & (0xffU >> (size + 1));
    for (size_t i = 1; i < size; i++) {
        code_point = (code_point << 6) | (bytes[i] & 0x3fU);
    }
    const int width = wcwidth((wchar_t)code_point);
    *columns = width < 0 ? 1 : (size_t)width; /* less than 0: the locale does not know it */
    return size;
}

size_t arcp__text_columns(arcp_span text)
{
    size_t sum = 0;
    while (text.size != 0) {
        size_t columns;
        text = arcp_span_from(text, arcp__character_size(text, &columns));
        sum += columns;
    }
    return sum;
}

static size_t blanks_of(arcp_span text)
{
    size_t count = 0;
    while (count < text.size && text.data[count] == ' ') {
        count++;
    }
    return count;
}

/* The size of the first word of a text that begins with one. */
static size_t word_of(arcp_span text)
{
    const char *end = text.size == 0 ? NULL : memchr(text.data, ' ', text.size);
    return end == NULL ? text.size : (size_t)(end - text.data);
}

/* The size of what stands before two blanks or more, with these blanks; 0: there is no such place.
 * Labels of lines, and names of options, end there. */
static size_t label_of(arcp_span line)
{
    for (size_t i = blanks_of(line); i + 2 < line.size; i++) {
        if (line.data[i] == ' ' && line.data[i + 1] == ' ') {
            return i + blanks_of(arcp_span_from(line, i));
        }
    }
    return 0;
}

/* The word without a colour behind it ends with a colon, as in "error: text". */
static bool is_prefix(arcp_span word)
{
    const char *escape = memrchr(word.data, 033, word.size);
    const size_t size =
        escape == NULL || escape == word.data ? word.size : (size_t)(escape - word.data);
    return size != 0 && word.data[size - 1] == ':';
}

typedef struct wrapped {
    arcp_buf *out;
    size_t columns;
    size_t indent; /* of the lines below the first one */
    size_t at;     /* the column */
    bool is_begin; /* no word follows the indent, or the label, yet */
} wrapped;

static void break_line(wrapped *w)
{
    arcp_buf_append_format(w->out, "\n%*s", (int)w->indent, "");
    w->at = w->indent;
    w->is_begin = true;
}

/* `before`: blanks in front of the word, unless it begins a line. */
static void append_word(wrapped *w, arcp_span word, size_t before)
{
    const size_t width = arcp__text_columns(word);
    const bool fits = w->at + before + width <= w->columns;
    const bool fits_below = w->indent + width <= w->columns;
    if (!fits && fits_below && !w->is_begin) {
        break_line(w);
    } else if (!w->is_begin) {
        arcp_buf_append_format(w->out, "%*s", (int)before, "");
        w->at += before;
    }
    arcp_buf_append(w->out, word);
    w->at += width;
    w->is_begin = false;
    if (w->at > w->columns) { /* the terminal breaks it */
        w->at = (w->at - 1) % w->columns + 1;
    }
}

static void append_line(arcp_buf *out, arcp_span line, size_t columns)
{
    if (arcp__text_columns(line) <= columns) {
        arcp_buf_append(out, line);
        return;
    }
    const size_t lead = blanks_of(line);
    const size_t label = label_of(line);
    const arcp_span first =
        arcp_span_first(arcp_span_from(line, lead), word_of(arcp_span_from(line, lead)));
    wrapped w = {out, columns, 0, 0, true};
    size_t used = 0;
    if (label != 0) {
        const arcp_span text = arcp_span_from(line, label);
        w.indent = arcp__text_columns(arcp_span_first(line, label));
        const size_t word = arcp__text_columns(arcp_span_first(text, word_of(text)));
        /* A word that would be broken there is whole below the label, if that is narrower. */
        const bool is_broken = w.indent + word > columns && lead + 2 + word <= columns;
        used = label;
        if (w.indent > columns / 2 || is_broken) {
            while (line.data[used - 1] == ' ') {
                used--;
            }
            w.indent = lead + 2;
        }
        arcp_buf_append(out, arcp_span_first(line, used));
        if (used == label) {
            w.at = w.indent;
        } else {
            break_line(&w);
            used = label;
        }
    } else {
        w.indent = is_prefix(first) ? lead + arcp__text_columns(first) + 1 : lead == 0 ? 2 : lead;
        w.indent = w.indent > columns / 2 ? 2 : w.indent;
        arcp_buf_append(out, arcp_span_first(line, lead));
        w.at = lead;
    }
    arcp_span rest = arcp_span_from(line, used + (label == 0 ? lead : 0));
    while (rest.size != 0) {
        const size_t before = blanks_of(rest);
        rest = arcp_span_from(rest, before);
        const size_t size = word_of(rest);
        append_word(&w, arcp_span_first(rest, size), before);
        rest = arcp_span_from(rest, size);
    }
}

void arcp__append_wrapped(arcp_buf *out, arcp_span text, size_t columns)
{
    while (text.size != 0) {
        const char *feed = memchr(text.data, '\n', text.size);
        const size_t size = feed == NULL ? text.size : (size_t)(feed - text.data);
        if (columns == 0) {
            arcp_buf_append(out, arcp_span_first(text, size));
        } else {
            append_line(out, arcp_span_first(text, size), columns);
        }
        if (feed != NULL) {
            arcp_buf_append_byte(out, '\n');
        }
        text = arcp_span_from(text, feed == NULL ? size : size + 1);
    }
}
