/* The table of rows itself: a row that names no act, or that another one hides, proves nothing. */
#include <stdio.h>
#include <string.h>

#include "enforce/row.h"
#include "support/check.h"

static const struct {
    const char *name;
    size_t arguments;
} acts[] = {
#define ESCAPE_ACT(name, arguments) {#name, arguments},
#include "enforce/programs/acts.def"
#undef ESCAPE_ACT
};

/* How many words follow the first one; words are separated by one space. */
static size_t count_arguments(const char *program)
{
    size_t count = 0;
    for (const char *at = strchr(program, ' '); at != NULL; at = strchr(at + 1, ' ')) {
        count++;
    }
    return count;
}

static bool is_act(const char *program)
{
    const size_t length = strcspn(program, " ");
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
        if (strlen(acts[i].name) == length && strncmp(acts[i].name, program, length) == 0) {
            return acts[i].arguments == count_arguments(program);
        }
    }
    return false;
}

static void every_row_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < escape_row_count; i++) {
        for (size_t j = i + 1; j < escape_row_count; j++) {
            if (strcmp(escape_rows[i].name, escape_rows[j].name) == 0) {
                fail_msg("two rows are named \"%s\"", escape_rows[i].name);
            }
        }
    }
}

static void every_row_names_an_act_with_its_arguments(void **state)
{
    (void)state;
    for (size_t i = 0; i < escape_row_count; i++) {
        const char *program = escape_rows[i].program;
        if (strncmp(program, "sh ", 3) != 0 && !is_act(program)) {
            fail_msg("\"%s\": %s", escape_rows[i].name, program);
        }
    }
}

static void what_must_be_reported_is_a_capability_and_a_target(void **state)
{
    (void)state;
    for (size_t i = 0; i < escape_row_count; i++) {
        const char *report = escape_rows[i].report;
        if (report != NULL && count_arguments(report) != 1) {
            fail_msg("\"%s\" reports \"%s\"", escape_rows[i].name, report);
        }
    }
}

/* Nothing arrives in a world that is not there. */
static void a_proof_by_arrival_needs_the_network_world(void **state)
{
    (void)state;
    for (size_t i = 0; i < escape_row_count; i++) {
        const escape_row *row = &escape_rows[i];
        const bool says_mark = strstr(row->program, "{mark}") != NULL;
        if ((row->proof == ARRIVED || says_mark) && (row->where & WORLD) == 0) {
            fail_msg("\"%s\" does not need the world", row->name);
        }
        if (row->proof == ARRIVED && !says_mark) {
            fail_msg("\"%s\" sends no mark", row->name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_a_name_of_its_own),
        cmocka_unit_test(every_row_names_an_act_with_its_arguments),
        cmocka_unit_test(what_must_be_reported_is_a_capability_and_a_target),
        cmocka_unit_test(a_proof_by_arrival_needs_the_network_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
