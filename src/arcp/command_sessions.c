/* `arcp sessions`: sessions of all principals, and ending them. */
#include <string.h>

#include "arcp/command.h"
#include "arcp/jobs.h"
#include "arcp/operator.h"
#include "json/json_put.h"

/* ---- the table ---- */

typedef enum column { SESSION, AGE, SILENT, JOBS, STATE, ROLE, PEER, PRINCIPAL, COUNT } column;

static const arcp__column columns[COUNT] = {
    [SESSION] = {"SESSION", 31, 0}, [AGE] = {"AGE", 4, 0},
    [SILENT] = {"SILENT", 6, 60},   [JOBS] = {"JOBS", 5, 0},
    [STATE] = {"STATE", 9, 80},     [ROLE] = {"ROLE", 8, 100},
    [PEER] = {"PEER", 24, 120},     [PRINCIPAL] = {"PRINCIPAL", 0, 0},
};
static const arcp__table table = {columns, COUNT, 60, 8};

static bool print_row(arcp__listing *l, arcp__asked *page, arcp_json_ref row)
{
    arcp_buf age = arcp_buf_init();
    arcp_buf silent = arcp_buf_init();
    arcp_buf jobs = arcp_buf_init();
    uint64_t count = 0;
    bool is_printed = true;
    if (l->count == 0) {
        is_printed = arcp__print_table_row(l->program, &table, l->columns, NULL);
    }
    arcp__append_age(arcp__asked_text(page, row, "since"), l->now_wall_ns, &age);
    arcp__append_age(arcp__asked_text(page, row, "last_frame_at"), l->now_wall_ns, &silent);
    (void)arcp__asked_number(page, row, "jobs", &count);
    arcp_buf_append_format(&jobs, "%llu", (unsigned long long)count);
    const arcp_span cells[COUNT] = {
        [SESSION] = arcp__asked_text(page, row, "session_id"),
        [AGE] = arcp_buf_span(&age),
        [SILENT] = arcp_buf_span(&silent),
        [JOBS] = arcp_buf_span(&jobs),
        [STATE] = arcp__asked_text(page, row, "state"),
        [ROLE] = arcp__asked_text(page, row, "role"),
        [PEER] = arcp__asked_text(page, row, "peer"),
        [PRINCIPAL] = arcp__asked_text(page, row, "principal"),
    };
    is_printed = is_printed && arcp__print_table_row(l->program, &table, l->columns, cells);
    arcp_buf_fini(&age);
    arcp_buf_fini(&silent);
    arcp_buf_fini(&jobs);
    return is_printed;
}

static bool on_row(void *user, arcp__asked *page, arcp_json_ref row)
{
    arcp__listing *l = user;
    uint64_t jobs = 0;
    (void)arcp__asked_number(page, row, "jobs", &jobs);
    if (l->format == ARCP__FORMAT_TABLE && jobs == 0 &&
        arcp_span_equal_cstr(arcp__asked_text(page, row, "state"), "closed")) {
        l->left_out++;
        return true;
    }
    const bool is_printed =
        l->format == ARCP__FORMAT_TABLE
            ? print_row(l, page, row)
            : arcp__print_asked_row(l->program, l->format, page, row, "session_id");
    l->count++;
    l->has_failed = !is_printed;
    return is_printed;
}

/* ---- ending ---- */

/* A session id is unique by its beginning or its end, as a job's. */
typedef struct search {
    const char *word;
    size_t word_size;
    char found[64];
    uint64_t count;
} search;

static bool on_candidate(void *user, arcp__asked *page, arcp_json_ref row)
{
    search *s = user;
    const arcp_span id = arcp__asked_text(page, row, "session_id");
    const arcp_span word = arcp_span_make(s->word, s->word_size);
    if (id.size < sizeof s->found &&
        (arcp_span_starts_with(id, word) || arcp_span_ends_with(id, word))) {
        memcpy(s->found, id.data, id.size);
        s->found[id.size] = '\0';
        s->count++;
    }
    return true;
}

static arcp_status find_session(arcp_client *client, const char *word, arcp_buf *payload,
                                arcp_error *err)
{
    search s = {.word = word, .word_size = strlen(word)};
    const arcp_status status =
        arcp__ask_pages(client, "sessions", "{", "sessions", on_candidate, &s, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (s.count != 1) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "%s session has the id '%.64s'",
                              s.count == 0 ? "no" : "more than one", word);
    }
    arcp_json_writer writer = arcp__put_begin(payload);
    arcp__put_cstr(&writer, "session_id", s.found);
    arcp_json_end_object(&writer);
    return ARCP_OK;
}

static int end_sessions(arcp__program *program, arcp_client *client)
{
    const arcp__arguments *arguments = &program->arguments;
    const char *principal = arcp__value(arguments, ARCP__OPTION_SESSIONS_PRINCIPAL);
    arcp_error err = {.details = &program->error_details};
    arcp_buf payload = arcp_buf_init();
    arcp__asked asked = {.json = ARCP__JSON_INIT};
    arcp_status status = ARCP_OK;
    if (principal != NULL) {
        arcp_json_writer writer = arcp__put_begin(&payload);
        arcp__put_cstr(&writer, "principal", principal);
        arcp_json_end_object(&writer);
    } else {
        status = find_session(client, arguments->words[1], &payload, &err);
    }
    if (status == ARCP_OK) {
        status = arcp__ask(client, "end_session", arcp_buf_span(&payload), &asked, &err);
    }
    int exit_status = ARCP__EXIT_SUCCESS;
    uint64_t count = 0;
    if (status != ARCP_OK) {
        exit_status = arcp__program_fail(program, &err);
    } else if (program->is_json) {
        exit_status = arcp__print_asked(program, ARCP__FORMAT_JSON, &asked, ARCP_JSON_ROOT)
                          ? ARCP__EXIT_SUCCESS
                          : ARCP__EXIT_ERROR;
    } else if (!program->is_quiet && arcp__asked_number(&asked, ARCP_JSON_ROOT, "ended", &count)) {
        arcp__screen_format(&program->screen, "ended %llu session%s; the jobs go on",
                            (unsigned long long)count, count == 1 ? "" : "s");
    }
    arcp__asked_fini(&asked);
    arcp_buf_fini(&payload);
    return exit_status;
}

/* ---- the command ---- */

static int sessions(arcp__program *program, arcp_client *client, void *user)
{
    arcp__listing *l = user;
    arcp_error err = {.details = &program->error_details};
    const char *principal = arcp__value(&program->arguments, ARCP__OPTION_SESSIONS_PRINCIPAL);
    if (program->arguments.word_count != 0) {
        return end_sessions(program, client);
    }
    arcp_buf payload = arcp_buf_init();
    arcp_buf_append_byte(&payload, '{');
    if (principal != NULL) {
        arcp_buf_append_cstr(&payload, "\"principal\":");
        arcp_json_quote(arcp_span_cstr(principal), &payload);
    }
    arcp_buf_append_byte(&payload, '\0');
    const arcp_status status =
        payload.failed
            ? arcp_error_set(&err, ARCP_E_NO_MEMORY, "out of memory")
            : arcp__ask_pages(client, "sessions", payload.data, "sessions", on_row, l, &err);
    arcp_buf_fini(&payload);
    if (status != ARCP_OK) {
        return arcp__program_fail(program, &err);
    }
    if (l->count == 0 && !program->is_quiet) {
        arcp__screen_format(&program->screen, "no sessions");
    }
    if (l->left_out != 0 && !program->is_quiet) {
        arcp__screen_format(&program->screen,
                            "%llu closed session%s not shown: -o json has %s until the resume "
                            "window ends",
                            (unsigned long long)l->left_out, l->left_out == 1 ? " is" : "s are",
                            l->left_out == 1 ? "it" : "them");
    }
    return l->has_failed ? ARCP__EXIT_ERROR : ARCP__EXIT_SUCCESS;
}

static arcp_status check_words(const arcp__arguments *arguments, arcp_error *err)
{
    const size_t count = arguments->word_count;
    const bool has_principal = arcp__has(arguments, ARCP__OPTION_SESSIONS_PRINCIPAL);
    if (count != 0 && strcmp(arguments->words[0], "end") != 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "unknown sessions command '%.64s' (expected end)",
                              arguments->words[0]);
    }
    return count == 0 || (count == 2) != has_principal
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE,
                                "sessions end needs either a session or --principal NAME");
}

int arcp__command_sessions(arcp__program *program)
{
    return arcp__command_listing(program, ARCP__OPTION_SESSIONS_OUTPUT, check_words, sessions);
}
