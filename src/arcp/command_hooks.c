/* `arcp hooks`: the notifications that wait for their delivery, and what becomes of them. */
#include <string.h>

#include "arcp/command.h"
#include "arcp/jobs.h"
#include "arcp/operator.h"
#include "json/json_put.h"

typedef enum column { ID, HOOK, EVENT, AGE, STATE, TRIES, JOB, ERROR, COUNT } column;

static const arcp__column columns[COUNT] = {
    [ID] = {"NOTIFICATION", 30, 0}, [HOOK] = {"HOOK", 12, 0},       [EVENT] = {"EVENT", 6, 60},
    [AGE] = {"AGE", 4, 0},          [STATE] = {"STATE", 7, 0},      [TRIES] = {"TRIES", 5, 80},
    [JOB] = {"JOB", 30, 101},       [ERROR] = {"LAST ERROR", 0, 0},
};
static const arcp__table table = {columns, COUNT, 0, 0};
/* An error is a sentence: a terminal shows it below its row, whatever its width. */
static const arcp__table terminal_table = {columns, ERROR, 80, 12};

static const arcp__table *table_of(const arcp__listing *l)
{
    return l->columns == 0 ? &table : &terminal_table;
}

static bool print_error(const arcp__listing *l, const arcp__asked *page, arcp_json_ref row)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_cstr(&text, "  ");
    arcp__asked_append(page, row, "last_error", ARCP_ERROR_MESSAGE_MAX, &text);
    if (l->columns != 0 && text.size > 2) {
        return arcp__program_print_text_line(l->program, &text);
    }
    arcp_buf_fini(&text);
    return true;
}

static bool print_row(const arcp__listing *l, arcp__asked *page, arcp_json_ref row)
{
    arcp_buf age = arcp_buf_init();
    arcp_buf tries = arcp_buf_init();
    uint64_t count = 0;
    bool is_printed = true;
    if (l->count == 0) {
        is_printed = arcp__print_table_row(l->program, table_of(l), l->columns, NULL);
    }
    arcp__append_age(arcp__asked_text(page, row, "at"), l->now_wall_ns, &age);
    (void)arcp__asked_number(page, row, "tries", &count);
    arcp_buf_append_format(&tries, "%llu", (unsigned long long)count);
    const arcp_span cells[COUNT] = {
        [ID] = arcp__asked_text(page, row, "id"),
        [HOOK] = arcp__asked_text(page, row, "hook"),
        [EVENT] = arcp__asked_text(page, row, "event"),
        [AGE] = arcp_buf_span(&age),
        [STATE] = arcp__asked_text(page, row, "state"),
        [TRIES] = arcp_buf_span(&tries),
        [JOB] = arcp__asked_text(page, row, "job_id"),
        [ERROR] = arcp__asked_text(page, row, "last_error"),
    };
    is_printed = is_printed && arcp__print_table_row(l->program, table_of(l), l->columns, cells) &&
                 print_error(l, page, row);
    arcp_buf_fini(&age);
    arcp_buf_fini(&tries);
    return is_printed;
}

static bool on_row(void *user, arcp__asked *page, arcp_json_ref row)
{
    arcp__listing *l = user;
    const bool is_printed = l->format == ARCP__FORMAT_TABLE
                                ? print_row(l, page, row)
                                : arcp__print_asked_row(l->program, l->format, page, row, "id");
    l->count++;
    l->has_failed = !is_printed;
    return is_printed;
}

/* ---- retry and drop ---- */

/* An id may be given by its end, as the table has it on a narrow terminal. */
typedef struct search {
    arcp_span word;
    char found[64];
    uint64_t count;
} search;

static bool on_candidate(void *user, arcp__asked *page, arcp_json_ref row)
{
    search *s = user;
    const arcp_span id = arcp__asked_text(page, row, "id");
    if (id.size < sizeof s->found && arcp_span_ends_with(id, s->word)) {
        memcpy(s->found, id.data, id.size);
        s->found[id.size] = '\0';
        s->count++;
    }
    return true;
}

static int decide(arcp__program *program, arcp_client *client)
{
    const arcp__arguments *arguments = &program->arguments;
    const bool is_retry = strcmp(arguments->words[0], "retry") == 0;
    search s = {.word = arcp_span_cstr(arguments->words[1])};
    arcp_error err = {.details = &program->error_details};
    arcp__asked asked = {.json = ARCP__JSON_INIT};
    arcp_buf payload = arcp_buf_init();
    arcp_status status =
        arcp__ask_pages(client, "hooks", "{", "notifications", on_candidate, &s, &err);
    if (status == ARCP_OK && s.count != 1) {
        status = arcp_error_set(&err, ARCP_E_INVALID_REQUEST,
                                "%s notification has the id '%.64s' (see arcp hooks)",
                                s.count == 0 ? "no" : "more than one", arguments->words[1]);
    }
    if (status == ARCP_OK) {
        arcp_json_writer writer = arcp__put_begin(&payload);
        arcp__put_cstr(&writer, "id", s.found);
        arcp_json_end_object(&writer);
        status = arcp__ask(client, is_retry ? "retry_notification" : "drop_notification",
                           arcp_buf_span(&payload), &asked, &err);
    }
    int exit_status = ARCP__EXIT_SUCCESS;
    if (status != ARCP_OK) {
        exit_status = arcp__program_fail(program, &err);
    } else if (program->is_json) {
        exit_status = arcp__print_asked(program, ARCP__FORMAT_JSON, &asked, ARCP_JSON_ROOT)
                          ? ARCP__EXIT_SUCCESS
                          : ARCP__EXIT_ERROR;
    } else if (!program->is_quiet) {
        arcp__screen_format(&program->screen, "%s %s",
                            is_retry ? "attempted again:" : "removed:", s.found);
    }
    arcp__asked_fini(&asked);
    arcp_buf_fini(&payload);
    return exit_status;
}

/* ---- the command ---- */

static int hooks(arcp__program *program, arcp_client *client, void *user)
{
    arcp__listing *l = user;
    arcp_error err = {.details = &program->error_details};
    if (program->arguments.word_count != 0) {
        return decide(program, client);
    }
    if (arcp__ask_pages(client, "hooks", "{", "notifications", on_row, l, &err) != ARCP_OK) {
        return arcp__program_fail(program, &err);
    }
    if (l->count == 0 && !program->is_quiet) {
        arcp__screen_format(&program->screen, "no notification waits");
    }
    return l->has_failed ? ARCP__EXIT_ERROR : ARCP__EXIT_SUCCESS;
}

static arcp_status check_words(const arcp__arguments *arguments, arcp_error *err)
{
    const char *word = arguments->word_count == 0 ? "" : arguments->words[0];
    if (arguments->word_count != 0 && strcmp(word, "retry") != 0 && strcmp(word, "drop") != 0) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "unknown hooks command '%.64s' (expected retry or drop)", word);
    }
    return arguments->word_count != 1
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE, "hooks %s needs the id of a notification", word);
}

int arcp__command_hooks(arcp__program *program)
{
    return arcp__command_listing(program, ARCP__OPTION_HOOKS_OUTPUT, check_words, hooks);
}
