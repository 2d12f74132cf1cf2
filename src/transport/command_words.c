#include "transport/command_words.h"

#include "base/alloc.h"
#include "base/blank.h"

/* Takes a quoted part from *text, which begins after the opening quote. False when the closing
 * quote is missing. */
static bool take_quoted(arcp_span *text, char quote, char **out)
{
    size_t i = 0;
    for (; i < text->size && text->data[i] != quote; i++) {
        const bool is_escape = quote == '"' && text->data[i] == '\\' && i + 1 < text->size &&
                               strchr("\\\"$`", text->data[i + 1]) != NULL;
        i += is_escape;
        *(*out)++ = text->data[i];
    }
    if (i == text->size) {
        return false;
    }
    *text = arcp_span_from(*text, i + 1);
    return true;
}

/* Returns NULL, or what is wrong with the text. */
static const char *split(arcp_span text, char **words, char *out)
{
    bool in_word = false;
    while (text.size > 0) {
        const char byte = text.data[0];
        text = arcp_span_from(text, 1);
        if (arcp__is_blank(byte)) {
            if (in_word) {
                *out++ = '\0';
            }
            in_word = false;
            continue;
        }
        if (!in_word) {
            in_word = true;
            *words++ = out;
        }
        if (byte == '\'' || byte == '"') {
            if (!take_quoted(&text, byte, &out)) {
                return "a quote is not closed";
            }
        } else if (byte == '\\' && text.size == 0) {
            return "a backslash at the end";
        } else if (byte == '\\') {
            *out++ = text.data[0];
            text = arcp_span_from(text, 1);
        } else {
            *out++ = byte;
        }
    }
    return NULL;
}

arcp_status arcp__command_words(arcp_span text, char ***out, arcp_error *err)
{
    if (text.size > 0 && memchr(text.data, '\0', text.size) != NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "cannot split the command into words: a NUL byte");
    }
    /* Every word but the last is followed by a blank, so there are at most word_count_max words,
     * and with their NULs they fit into the size of the text plus one. The block is zeroed, which
     * terminates the list and the last word. */
    const size_t word_count_max = text.size / 2 + 1;
    char **list = arcp__alloc((word_count_max + 1) * sizeof(char *) + text.size + 1);
    if (list == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a command");
    }
    const char *wrong = split(text, list, (char *)(list + word_count_max + 1));
    if (wrong == NULL && list[0] == NULL) {
        wrong = "the command is empty";
    }
    if (wrong != NULL) {
        arcp__free(list);
        return arcp_error_set(err, ARCP_E_USAGE, "cannot split the command into words: %s", wrong);
    }
    *out = list;
    return ARCP_OK;
}
