#include <arcp/settings.h>

#include <inttypes.h>
#include <stdio.h>

#include "base/digits.h"

#define MEMORY_REPLAY_BYTES    67108864u
#define MEMORY_KEEP_BYTES      268435456u
#define MEMORY_PRINCIPAL_BYTES 1073741824u

typedef struct setting_row {
    const char *group;
    const char *key;
    const char *words; /* NULL: a number */
    const char *initial_word;
    uint64_t initial;
    uint64_t minimum;
    uint64_t maximum;
    size_t offset;
    const char *text;
} setting_row;

static const setting_row rows[] = {
#define ARCP_SETTING_NUMBER(group, key, initial, minimum, maximum, text)                           \
    {#group, #key, NULL, NULL, initial, minimum, maximum, offsetof(arcp_settings, group##_##key),  \
     text},
#define ARCP_SETTING_CHOICE(group, key, initial, words, text)                                      \
    {#group, #key, words, initial, 0, 0, 0, offsetof(arcp_settings, group##_##key), text},
#include <arcp/settings.def>
#undef ARCP_SETTING_NUMBER
#undef ARCP_SETTING_CHOICE
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static uint64_t *number_of(arcp_settings *settings, const setting_row *row)
{
    return (uint64_t *)(void *)((char *)settings + row->offset);
}

static uint32_t *choice_of(arcp_settings *settings, const setting_row *row)
{
    return (uint32_t *)(void *)((char *)settings + row->offset);
}

/* The index of `word` in "a|b|c", or UINT32_MAX. */
static uint32_t word_index(const char *words, arcp_span word)
{
    uint32_t index = 0;
    for (const char *at = words;; index++) {
        size_t size = strcspn(at, "|");
        if (arcp_span_equal(arcp_span_make(at, size), word)) {
            return index;
        }
        if (at[size] == '\0') {
            return UINT32_MAX;
        }
        at += size + 1;
    }
}

void arcp_settings_default(arcp_settings *settings)
{
    for (size_t at = 0; at < ROW_COUNT; at++) {
        const setting_row *row = &rows[at];
        if (row->words == NULL) {
            *number_of(settings, row) = row->initial;
        } else {
            *choice_of(settings, row) = word_index(row->words, arcp_span_cstr(row->initial_word));
        }
    }
}

static void lower(uint64_t *value, uint64_t most)
{
    *value = *value > most ? most : *value;
}

void arcp_settings_fit_memory(arcp_settings *settings)
{
    lower(&settings->limits_replay_bytes, MEMORY_REPLAY_BYTES);
    lower(&settings->jobs_keep_terminal_bytes, MEMORY_KEEP_BYTES);
    if (settings->limits_principal_bytes == 0) { /* no limit */
        settings->limits_principal_bytes = MEMORY_PRINCIPAL_BYTES;
    }
    lower(&settings->limits_principal_bytes, MEMORY_PRINCIPAL_BYTES);
}

arcp_status arcp_settings_set(arcp_settings *settings, arcp_span group, arcp_span key,
                              arcp_span value, arcp_error *err)
{
    const setting_row *row = rows;
    while (row < rows + ROW_COUNT &&
           (!arcp_span_equal_cstr(group, row->group) || !arcp_span_equal_cstr(key, row->key))) {
        row++;
    }
    if (row == rows + ROW_COUNT) {
        return arcp_error_set(err, ARCP_E_NOT_FOUND, "there is no setting %.*s.%.*s",
                              (int)arcp_span_first(group, 40).size, group.data,
                              (int)arcp_span_first(key, 40).size, key.data);
    }
    arcp_span shown = arcp_span_first(value, 40);
    if (row->words != NULL) {
        uint32_t choice = word_index(row->words, value);
        if (choice == UINT32_MAX) {
            return arcp_error_set(err, ARCP_E_USAGE, "%s.%s is \"%.*s\", must be one of %s",
                                  row->group, row->key, (int)shown.size, shown.data, row->words);
        }
        *choice_of(settings, row) = choice;
        return ARCP_OK;
    }
    uint64_t number = 0;
    if (!arcp__digits_parse(value, &number) || number < row->minimum || number > row->maximum) {
        return arcp_error_set(
            err, ARCP_E_USAGE,
            "%s.%s is \"%.*s\", must be a whole number from %" PRIu64 " to %" PRIu64, row->group,
            row->key, (int)shown.size, shown.data, row->minimum, row->maximum);
    }
    *number_of(settings, row) = number;
    return ARCP_OK;
}

void arcp_settings_each(const arcp_settings *settings,
                        void (*each)(void *user, const char *group, const char *key,
                                     const char *value, const char *text),
                        void *user)
{
    arcp_settings copy = *settings;
    for (size_t at = 0; at < ROW_COUNT; at++) {
        const setting_row *row = &rows[at];
        char value[64];
        if (row->words == NULL) {
            (void)snprintf(value, sizeof(value), "%" PRIu64, *number_of(&copy, row));
        } else {
            const char *word = row->words;
            for (uint32_t skip = *choice_of(&copy, row); skip > 0; skip--) {
                word += strcspn(word, "|") + 1;
            }
            (void)snprintf(value, sizeof(value), "%.*s", (int)strcspn(word, "|"), word);
        }
        each(user, row->group, row->key, value, row->text);
    }
}
