/* The manual page and the shipped configuration name every key of the table with its default, and
 * the manual page names the keys that take a restart. tests/tree/settings.sh checks the same for
 * the runtime's settings. */
#include "arcpd/config.h"

#include <ctype.h>
#include <stdio.h>

#include "support/check.h"

#define MANUAL ARCP_SOURCE_DIR "/man/arcpd.yaml.5.scd"
#define SAMPLE ARCP_SOURCE_DIR "/packaging/arcpd.yaml"

static char *read_file(const char *path)
{
    arcp_buf text = arcp_buf_init();
    char block[4096];
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    for (size_t size = fread(block, 1, sizeof block, file); size != 0;
         size = fread(block, 1, sizeof block, file)) {
        arcp_buf_append(&text, arcp_span_make(block, size));
    }
    assert_int_equal(fclose(file), 0);
    char *all = arcp_buf_take_cstr(&text);
    assert_non_null(all);
    return all;
}

/* ---- walking the rows ---- */

typedef struct table_key {
    const arcp__config_row *row;
    const char *path;    /* credentials.http.issue.url; of an item: agents.name */
    const char *initial; /* as it is printed, without quotes; "" for none, and for items */
    bool in_item;
    bool is_started; /* needs a restart, by itself or with its group */
} table_key;

typedef void (*key_fn)(void *user, const table_key *key);

static void print_initial(const arcp__config_row *row, const void *owner, char *out, size_t size)
{
    arcp_buf text = arcp_buf_init();
    row->type->print(row, owner, &text);
    arcp_span shown = arcp_buf_span(&text);
    if (arcp__config_is_nothing(shown)) {
        shown = arcp_span_first(shown, 0);
    } else if (shown.data[0] == '"') {
        shown = arcp_span_make(shown.data + 1, shown.size - 2);
    }
    (void)snprintf(out, size, "%.*s", (int)shown.size, shown.size == 0 ? "" : shown.data);
    arcp_buf_fini(&text);
}

static void each_key(const arcp__config_fields *fields, const void *owner, const table_key *group,
                     key_fn call, void *user)
{
    for (size_t i = 0; i < fields->count; i++) {
        const arcp__config_row *row = &fields->rows[i];
        char path[128];
        char initial[64] = "";
        (void)snprintf(path, sizeof path, "%s%s%s", group->path, group->path[0] == '\0' ? "" : ".",
                       row->key);
        table_key here = *group;
        here.row = row;
        here.path = path;
        here.initial = initial;
        here.is_started = here.is_started || (row->flags & ARCP__CONFIG_RESTART) != 0;
        if (row->fields == NULL && !here.in_item) {
            print_initial(row, owner, initial, sizeof initial);
        }
        call(user, &here);
        if (row->fields != NULL) {
            each_key(row->fields, here.in_item ? NULL : arcp__config_value(row, owner), &here, call,
                     user);
        } else if (row->item != NULL && row->item->fields != NULL) {
            here.in_item = true;
            each_key(row->item->fields, NULL, &here, call, user);
        }
    }
}

static void each_key_of_the_table(key_fn call, void *user)
{
    const table_key top = {.path = ""};
    arcp__config config;
    arcp__config_init(&config);
    each_key(&arcp__config_top, &config, &top, call, user);
    arcp__config_fini(&config);
}

/* ---- the manual ---- */

/* Whether a text has `*name*`, followed by its default where it has one. */
static bool is_explained(const char *manual, const char *name, const char *initial)
{
    char mark[192];
    (void)snprintf(mark, sizeof mark, "*%s*%s%s", name, initial[0] == '\0' ? "" : ": ", initial);
    for (const char *found = strstr(manual, mark); found != NULL; found = strstr(found + 1, mark)) {
        const char behind = found[strlen(mark)];
        if (initial[0] == '\0' || !(isalnum((unsigned char)behind) || behind == '_')) {
            return true;
        }
    }
    return false;
}

static void check_manual(void *user, const table_key *key)
{
    const bool is_heading = key->row->fields != NULL && !key->row->fields->is_flow;
    if (!is_heading && !is_explained(user, key->path, key->initial) &&
        !is_explained(user, key->row->key, key->initial)) {
        fail_msg("arcpd.yaml(5) has no *%s*%s%s", key->path, key->initial[0] == '\0' ? "" : ": ",
                 key->initial);
    }
}

static void the_manual_has_every_key_with_its_default(void **state)
{
    char *manual = read_file(MANUAL);
    (void)state;
    each_key_of_the_table(check_manual, manual);
    arcp_free(manual);
}

/* ---- keys that need a restart ---- */

typedef struct restarts {
    char named[32][64]; /* in the manual */
    bool is_true[32];
    size_t count;
} restarts;

static bool is_same_or_in(const char *path, const char *group)
{
    const size_t size = strlen(group);
    return strncmp(path, group, size) == 0 && (path[size] == '\0' || path[size] == '.');
}

static void check_restart(void *user, const table_key *key)
{
    restarts *all = user;
    bool is_named = false;
    for (size_t i = 0; i < all->count; i++) {
        const bool names_it = is_same_or_in(key->path, all->named[i]);
        is_named = is_named || names_it;
        all->is_true[i] = all->is_true[i] || (names_it && key->is_started);
    }
    if (is_named != key->is_started && !(is_named && key->row->fields != NULL)) {
        fail_msg("%s: a restart is %s, contrary to arcpd.yaml(5)", key->path,
                 key->is_started ? "needed" : "not needed");
    }
}

static void the_manual_names_the_keys_that_take_a_restart(void **state)
{
    char *manual = read_file(MANUAL);
    restarts all = {.count = 0};
    (void)state;
    const char *paragraph = strstr(manual, "These keys take effect at the next start only:");
    assert_non_null(paragraph);
    char *end = strstr(paragraph, "A warning");
    assert_non_null(end);
    *end = '\0';
    for (char *found = strchr(paragraph, '*'); found != NULL; found = strchr(found, '*')) {
        const size_t size = strcspn(found + 1, "*");
        assert_true(all.count < 32 && size < 64);
        (void)snprintf(all.named[all.count++], 64, "%.*s", (int)size, found + 1);
        found += size + 2;
    }
    each_key_of_the_table(check_restart, &all);
    for (size_t i = 0; i < all.count; i++) {
        /* limits.frame_bytes is a setting, and can be lowered without a restart. */
        if (!all.is_true[i] && strcmp(all.named[i], "limits.frame_bytes") != 0) {
            fail_msg("arcpd.yaml(5) says that %s takes effect at the next start only",
                     all.named[i]);
        }
    }
    arcp_free(manual);
}

/* ---- the shipped configuration ---- */

static bool is_word_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

/* Whether a text has the key, also in a comment, with its default where it has one. */
static void check_sample(void *user, const table_key *key)
{
    const char *sample = user;
    char line[192];
    (void)snprintf(line, sizeof line, "%s%s%s", key->row->key, key->initial[0] == '\0' ? "" : ": ",
                   key->initial);
    for (const char *found = strstr(sample, line); found != NULL; found = strstr(found + 1, line)) {
        if (found > sample && !is_word_byte(found[-1]) && !is_word_byte(found[strlen(line)])) {
            return;
        }
    }
    fail_msg("packaging/arcpd.yaml has no %s (%s)", line, key->path);
}

static void the_shipped_configuration_is_the_defaults(void **state)
{
    char *sample = read_file(SAMPLE);
    arcp__config shipped;
    arcp__config defaults;
    arcp_buf shown = arcp_buf_init();
    arcp_buf expected = arcp_buf_init();
    arcp_error error = {0};
    (void)state;
    each_key_of_the_table(check_sample, sample);
    arcp__config_init(&shipped);
    arcp__config_init(&defaults);
    check_ok(arcp__config_read_text(&shipped, "arcpd.yaml", arcp_span_cstr(sample), &error),
             &error);
    /* Without any arcpd listens there. */
    check_ok(arcp__text_list_add(&defaults.listen, "ws://127.0.0.1:7777/arcp", &error), &error);
    arcp__config_print(&shipped, &shown);
    arcp__config_print(&defaults, &expected);
    assert_int_equal(shown.size, expected.size);
    assert_memory_equal(shown.data, expected.data, shown.size);
    arcp_buf_fini(&shown);
    arcp_buf_fini(&expected);
    arcp__config_fini(&shipped);
    arcp__config_fini(&defaults);
    arcp_free(sample);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_manual_has_every_key_with_its_default),
        cmocka_unit_test(the_manual_names_the_keys_that_take_a_restart),
        cmocka_unit_test(the_shipped_configuration_is_the_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
