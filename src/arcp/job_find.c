/* Reads all pages of a listing, and finds the job that a word of the command line names. */
#include "arcp/jobs.h"

#include <string.h>

#include "arcp/operator.h"
#include "base/ulid.h"
#include "json/json_put.h"

#define PAGE_ROWS  1000
#define SHOWN_MAX  4 /* candidates in an error */
#define JOB_PREFIX "job_"

arcp_status arcp__jobs_each(arcp_client *client, const arcp_list_options *options,
                            bool (*each)(void *user, const arcp_job_row *row), void *user,
                            arcp_error *err)
{
    arcp_list_options page_options = *options;
    arcp_buf cursor = arcp_buf_init();
    arcp_status status = ARCP_OK;
    bool has_more = true;
    page_options.limit = PAGE_ROWS;
    while (has_more && status == ARCP_OK) {
        arcp_job_page *page = NULL;
        status = arcp_client_list(client, &page_options, ARCP_WAIT_DEFAULT, &page, err);
        if (status != ARCP_OK) {
            break;
        }
        for (size_t i = 0; i < arcp_job_page_count(page) && has_more; i++) {
            const arcp_job_row row = arcp_job_page_row(page, i);
            has_more = each(user, &row);
        }
        const arcp_span next = arcp_job_page_next_cursor(page);
        has_more = has_more && next.size != 0;
        arcp_buf_clear(&cursor);
        arcp_buf_append(&cursor, next);
        page_options.cursor = arcp_buf_span(&cursor);
        arcp_job_page_free(page);
        if (cursor.failed) { /* without a cursor the listing would start over */
            status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
    }
    arcp_buf_fini(&cursor);
    return status;
}

bool arcp__job_id_is_whole(arcp_span word)
{
    return arcp_span_starts_with(word, ARCP_SPAN_LITERAL(JOB_PREFIX)) &&
           word.size == strlen(JOB_PREFIX) + ARCP__ULID_SIZE &&
           arcp__ulid_is_valid(arcp_span_from(word, strlen(JOB_PREFIX)));
}

typedef struct search {
    arcp_span word;
    bool is_last;  /* the newest job is asked for */
    bool is_exact; /* the word is a whole id */
    size_t found;
    arcp_buf id;    /* of the first one found; with is_last, of the last one */
    arcp_buf names; /* of those found, for an error */
} search;

/* The beginning of an id may be given without "job_". */
static bool is_part_of(arcp_span word, arcp_span id)
{
    return arcp_span_starts_with(id, word) || arcp_span_ends_with(id, word) ||
           (arcp_span_starts_with(id, ARCP_SPAN_LITERAL(JOB_PREFIX)) &&
            arcp_span_starts_with(arcp_span_from(id, strlen(JOB_PREFIX)), word));
}

static bool look_at_id(search *s, arcp_span id)
{
    if (s->is_last || arcp_span_equal(id, s->word)) {
        s->is_exact = !s->is_last;
        s->found = 1;
        arcp_buf_clear(&s->id);
        arcp_buf_append(&s->id, id);
    } else if (is_part_of(s->word, id)) {
        if (s->found == 0) {
            arcp_buf_append(&s->id, id);
        }
        if (s->found < SHOWN_MAX) {
            arcp_buf_append_cstr(&s->names, s->found == 0 ? "" : ", ");
            arcp__append_safe(&s->names, id, 64);
        }
        s->found++;
    }
    return !s->is_exact;
}

static bool look_at(void *user, const arcp_job_row *row)
{
    return look_at_id(user, row->job_id);
}

static bool look_at_asked(void *user, arcp__asked *page, arcp_json_ref row)
{
    search *s = user;
    return look_at_id(s, arcp__asked_text(page, row, "job_id")) && !s->is_last;
}

/* Has the runtime look for the word, for a role also among the jobs of other principals; the newest
 * job is an own one. */
static arcp_status search_view(search *s, arcp_client *client, arcp_error *err)
{
    arcp_buf payload = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&payload);
    arcp__put_object(&writer, "filter");
    if (!s->is_last) {
        arcp__put_text(&writer, "principal", arcp_span_cstr(arcp__sees_all(client) ? "*" : ""));
        arcp__put_text(&writer, "text", s->word);
    }
    arcp_json_end_object(&writer);
    const arcp_status status = payload.failed
                                   ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                   : arcp__ask_pages(client, "jobs", arcp_buf_cstr(&payload),
                                                     "jobs", look_at_asked, s, err);
    arcp_buf_fini(&payload);
    return status;
}

arcp_status arcp__job_find(arcp_client *client, const char *word, arcp_buf *id, arcp_error *err)
{
    search s = {.word = arcp_span_cstr(word), .is_last = strcmp(word, ARCP__JOB_LAST) == 0};
    const arcp_list_options options = arcp_list_options_init();
    arcp_status status = ARCP_OK;
    if (s.word.size == 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "JOB is empty");
    }
    const bool has_view = arcp__has_view(client);
    const bool can_list =
        has_view || (arcp_client_features(client) & ARCP_FEATURE_BIT(ARCP_FEATURE_LIST_JOBS)) != 0;
    if (arcp__job_id_is_whole(s.word) || (!s.is_last && !can_list)) {
        arcp_buf_append(id, s.word);
        return arcp_buf_status(id);
    }
    status = has_view ? search_view(&s, client, err)
                      : arcp__jobs_each(client, &options, look_at, &s, err);
    if (status == ARCP_OK && s.found > 1) {
        status = arcp_error_set(
            err, ARCP_E_USAGE, "'%.64s' is the beginning or end of %zu jobs: %.*s%s", word, s.found,
            (int)s.names.size, s.names.data, s.found > SHOWN_MAX ? ", ..." : "");
    } else if (status == ARCP_OK && s.found == 0 && s.is_last) {
        status = arcp_error_set(err, ARCP_E_JOB_NOT_FOUND, "there is no job");
    } else if (status == ARCP_OK) {
        /* A word that no job has goes to the runtime: that may know jobs that it does not list. */
        arcp_buf_append(id, s.found == 1 ? arcp_buf_span(&s.id) : s.word);
        status = s.id.failed || id->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                           : ARCP_OK;
    }
    arcp_buf_fini(&s.id);
    arcp_buf_fini(&s.names);
    return status;
}

bool arcp__job_resolve(arcp__program *program, arcp_client *client, const char *word, arcp_buf *id,
                       int *exit_status)
{
    arcp_error err = {.details = &program->error_details};
    const arcp_status status = arcp__job_find(client, word, id, &err);
    if (status == ARCP_E_USAGE) {
        *exit_status = arcp__program_usage(program, &err);
    } else if (status != ARCP_OK) {
        *exit_status = arcp__program_fail(program, &err);
    }
    return status == ARCP_OK;
}
