#include "transport/command_words.h"

#include <stdint.h>

#include "base/alloc.h"

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

typedef struct word_list {
    char **list; /* NULL: only count */
    char *at;    /* where the next byte of a word goes */
    size_t count;
} word_list;

static void put(word_list *words, char byte)
{
    if (words->list != NULL) {
        *words->at++ = byte;
    }
}

/* Takes a quoted part off *text, which begins behind the quote. False without its end. */
static bool take_quoted(arcp_span *text, char quote, word_list *words)
{
    size_t i = 0;
    for (; i < text->size && text->data[i] != quote; i++) {
        bool escape = quote == '"' && text->data[i] == '\\' && i + 1 < text->size &&
                      strchr("\\\"$`", text->data[i + 1]) != NULL && text->data[i + 1] != '\0';
        i += escape;
        put(words, text->data[i]);
    }
    if (i == text->size) {
        return false;
    }
    *text = arcp_span_from(*text, i + 1);
    return true;
}

/* One pass over the text: counts the words, and writes them when there is a list. */
static const char *split(arcp_span text, word_list *words)
{
    bool in_word = false;
    while (text.size > 0) {
        char byte = text.data[0];
        text = arcp_span_from(text, 1);
        if (is_blank(byte)) {
            if (in_word) {
                put(words, '\0');
            }
            in_word = false;
            continue;
        }
        if (!in_word) {
            in_word = true;
            if (words->list != NULL) {
                words->list[words->count] = words->at;
            }
            words->count++;
        }
        if (byte == '\'' || byte == '"') {
            if (!take_quoted(&text, byte, words)) {
                return "a quote does not end";
            }
        } else if (byte == '\\' && text.size == 0) {
            return "a backslash at the end";
        } else if (byte == '\\') {
            put(words, text.data[0]);
            text = arcp_span_from(text, 1);
        } else {
            put(words, byte);
        }
    }
    if (in_word) {
        put(words, '\0');
    }
    return NULL;
}

arcp_status arcp__command_words(arcp_span text, char ***out, arcp_error *err)
{
    word_list words = {0};
    const char *wrong = split(text, &words);
    if (wrong == NULL && words.count == 0) {
        wrong = "the command is empty";
    }
    if (wrong == NULL && text.size > 0 && memchr(text.data, '\0', text.size) != NULL) {
        wrong = "a NUL byte";
    }
    if (wrong != NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "cannot split the command into words: %s", wrong);
    }
    /* The words need no more room than the text and the last NUL. */
    size_t size = 0;
    if (__builtin_mul_overflow(words.count + 1, sizeof(char *), &size) ||
        __builtin_add_overflow(size, text.size + 1, &size)) {
        return arcp_error_set(err, ARCP_E_USAGE, "the command is too long");
    }
    char **list = arcp__alloc(size);
    if (list == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a command");
    }
    words.list = list;
    words.at = (char *)(list + words.count + 1);
    words.count = 0;
    (void)split(text, &words);
    *out = list;
    return ARCP_OK;
}
