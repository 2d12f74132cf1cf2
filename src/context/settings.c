#include "context/settings.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
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
#define ROW_COUNT (sizeof rows / sizeof rows[0])

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
    for (const char *rest = words;; index++) {
        const size_t size = strcspn(rest, "|");
        if (arcp_span_equal(arcp_span_make(rest, size), word)) {
            return index;
        }
        if (rest[size] == '\0') {
            return UINT32_MAX;
        }
        rest += size + 1;
    }
}

void arcp__settings_default(arcp_settings *settings)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const setting_row *row = &rows[i];
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

static size_t word_count(const char *words)
{
    size_t count = 1;
    for (const char *bar = strchr(words, '|'); bar != NULL; bar = strchr(bar + 1, '|')) {
        count++;
    }
    return count;
}

bool arcp__settings_are_valid(const arcp_settings *settings)
{
    for (const setting_row *row = rows; row < rows + ROW_COUNT; row++) {
        const void *member = (const char *)settings + row->offset;
        const uint64_t number = row->words == NULL ? *(const uint64_t *)member : 0;
        if (row->words != NULL ? *(const uint32_t *)member >= word_count(row->words)
                               : number < row->minimum || number > row->maximum) {
            return false;
        }
    }
    return true;
}

/* NULL, and why, for one that does not exist. */
static const setting_row *find(arcp_span group, arcp_span key, arcp_error *err)
{
    for (const setting_row *row = rows; row < rows + ROW_COUNT; row++) {
        if (arcp_span_equal_cstr(group, row->group) && arcp_span_equal_cstr(key, row->key)) {
            return row;
        }
    }
    (void)arcp_error_set(err, ARCP_E_NOT_FOUND, "there is no setting %.*s.%.*s",
                         (int)arcp_span_first(group, 40).size, group.data,
                         (int)arcp_span_first(key, 40).size, key.data);
    return NULL;
}

arcp_status arcp__settings_set(arcp_settings *settings, arcp_span group, arcp_span key,
                               arcp_span value, arcp_error *err)
{
    const setting_row *row = find(group, key, err);
    if (row == NULL) {
        return ARCP_E_NOT_FOUND;
    }
    const arcp_span shown = arcp_span_first(value, 40);
    if (row->words != NULL) {
        const uint32_t choice = word_index(row->words, value);
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

static void format(const arcp_settings *settings, const setting_row *row,
                   char value[ARCP_SETTING_VALUE_MAX])
{
    const void *member = (const char *)settings + row->offset;
    if (row->words == NULL) {
        (void)snprintf(value, ARCP_SETTING_VALUE_MAX, "%" PRIu64, *(const uint64_t *)member);
        return;
    }
    const char *word = row->words;
    for (uint32_t skip = *(const uint32_t *)member; skip > 0; skip--) {
        word += strcspn(word, "|") + 1;
    }
    (void)snprintf(value, ARCP_SETTING_VALUE_MAX, "%.*s", (int)strcspn(word, "|"), word);
}

void arcp__settings_each(const arcp_settings *settings,
                         void (*each)(void *user, const char *group, const char *key,
                                      const char *value, const char *text),
                         void *user)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        char value[ARCP_SETTING_VALUE_MAX];
        format(settings, &rows[i], value);
        each(user, rows[i].group, rows[i].key, value, rows[i].text);
    }
}

/* ---- the object of programs ---- */

arcp_settings *arcp_settings_new(void)
{
    arcp_settings *settings = arcp__alloc(sizeof *settings);
    if (settings != NULL) {
        arcp__settings_default(settings);
    }
    return settings;
}

arcp_settings *arcp_settings_copy(const arcp_settings *settings)
{
    arcp_settings *copy = arcp__alloc(sizeof *copy);
    if (copy != NULL) {
        *copy = *settings;
    }
    return copy;
}

void arcp_settings_free(arcp_settings *settings)
{
    arcp__free(settings);
}

/* "limits.frame_bytes"; without a dot it is all group, and no setting has such a name. */
static void split(const char *name, arcp_span *group, arcp_span *key)
{
    const size_t size = strcspn(name, ".");
    *group = arcp_span_make(name, size);
    *key = arcp_span_cstr(name[size] == '.' ? name + size + 1 : "");
}

arcp_status arcp_settings_set(arcp_settings *settings, const char *name, const char *value,
                              arcp_error *err)
{
    arcp_span group;
    arcp_span key;
    split(name, &group, &key);
    return arcp__settings_set(settings, group, key, arcp_span_cstr(value), err);
}

arcp_status arcp_settings_get(const arcp_settings *settings, const char *name,
                              char value[ARCP_SETTING_VALUE_MAX], arcp_error *err)
{
    arcp_span group;
    arcp_span key;
    split(name, &group, &key);
    const setting_row *row = find(group, key, err);
    if (row == NULL) {
        return ARCP_E_NOT_FOUND;
    }
    format(settings, row, value);
    return ARCP_OK;
}

typedef struct named_each {
    void (*each)(void *user, const char *name, const char *value, const char *text);
    void *user;
} named_each;

static void each_by_name(void *user, const char *group, const char *key, const char *value,
                         const char *text)
{
    const named_each *named = user;
    char name[ARCP_SETTING_VALUE_MAX];
    (void)snprintf(name, sizeof name, "%s.%s", group, key);
    named->each(named->user, name, value, text);
}

void arcp_settings_each(const arcp_settings *settings,
                        void (*each)(void *user, const char *name, const char *value,
                                     const char *text),
                        void *user)
{
    named_each named = {each, user};
    arcp__settings_each(settings, each_by_name, &named);
}
