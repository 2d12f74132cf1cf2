/* x-vendor.arcpd.jobs: a page of jobs, newest or oldest first.
 *
 * The jobs of a principal, and all jobs, are in the order of their ids. A request looks at
 * ARCP__VIEW_JOBS_A_TURN of them at most and then waits for the next turn, where it goes on behind
 * the last job that it looked at. */
#include "session/view.h"

#define LIMIT_DEFAULT  100u
#define LIMIT_MAX      500u
#define PAGE_BYTES_MAX 1048576u

/* The page that is being made. */
typedef struct listing {
    arcp__sessions *sessions;
    arcp__view_call *call;
    const arcp__job_filter *filter;
    const arcp__job_list *list;
    bool is_oldest_first;
    uint64_t limit;
    size_t bytes_max;
    arcp_buf out;
    uint64_t shown;
    char last[ARCP__ID_SIZE]; /* the last job shown */
    bool counts;
    uint64_t
        left; /* jobs behind the page: all of them with `counts`, otherwise whether there are */
} listing;

static arcp_status read_request(const arcp__view_jobs *in, listing *page, arcp_error *err)
{
    page->limit = in->limit == 0 ? LIMIT_DEFAULT : in->limit;
    page->is_oldest_first = arcp_span_equal_cstr(in->order, "oldest");
    if (in->order.size != 0 && !page->is_oldest_first &&
        !arcp_span_equal_cstr(in->order, "newest")) {
        const arcp_span shown = arcp_span_first(in->order, 32);
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "payload.order is \"%.*s\", must be newest or oldest",
                              (int)shown.size, shown.data);
    }
    if (page->limit > LIMIT_MAX) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "payload.limit must be from 1 to %u",
                              LIMIT_MAX);
    }
    return arcp__job_cursor_check(in->cursor, err);
}

/* Only a role may ask for other principals. */
static arcp_status check_principal(arcp__sessions *sessions, const arcp__view_call *call,
                                   const arcp__job_filter *filter, arcp_error *err)
{
    const arcp__session *session = call->session;
    if (filter->principal[0] == '\0' || strcmp(filter->principal, session->principal->name) == 0) {
        return ARCP_OK;
    }
    if (session->role == ARCP_ROLE_NONE) {
        (void)arcp_error_set(err, ARCP_E_PERMISSION_DENIED,
                             "payload.filter.principal needs the role viewer or operator");
    }
    if (call->wait == NULL) {
        arcp__view_audit(sessions, call, NULL, arcp_span_cstr(filter->principal), err->status,
                         NULL);
    }
    return err->status;
}

/* Appends the job. False: the page is full. */
static bool show(listing *page, arcp__job *job)
{
    if (page->shown == page->limit || page->left != 0) {
        return false;
    }
    arcp_buf entry = arcp__context_take_buf(page->sessions->context);
    arcp__sessions_write_job(page->sessions, job, &entry);
    const bool fits = page->shown == 0 || page->out.size + 1 + entry.size <= page->bytes_max;
    if (fits) {
        arcp_buf_append(&page->out, page->shown == 0 ? ARCP__NOTHING : ARCP_SPAN_LITERAL(","));
        arcp_buf_append(&page->out, arcp_buf_span(&entry));
        memcpy(page->last, job->id, sizeof page->last);
        page->shown++;
    }
    arcp__context_give_buf(page->sessions->context, &entry);
    return fits;
}

/* Looks at jobs behind the one with the id `from` (empty: from the first on). Returns the last of
 * them if there are more for the next turn, or NULL. */
static const arcp__job *look(listing *page, arcp_span from)
{
    const arcp__job_list *list = page->list;
    size_t at = page->is_oldest_first ? list->first : list->count;
    if (from.size != 0) {
        at = page->is_oldest_first ? arcp__job_list_after(list, from)
                                   : arcp__job_list_from(list, from);
    }
    arcp__job *job = NULL;
    for (size_t looked = 0; page->is_oldest_first ? at < list->count : at > list->first;) {
        if (looked == ARCP__VIEW_JOBS_A_TURN) {
            return job;
        }
        arcp__job *next = list->jobs[page->is_oldest_first ? at : at - 1];
        at = page->is_oldest_first ? at + 1 : at - 1;
        if (next == NULL) {
            continue;
        }
        job = next;
        looked++;
        if (arcp__job_filter_matches(page->filter, job) && !show(page, job)) {
            page->left++;
            if (!page->counts) {
                return NULL;
            }
        }
    }
    return NULL;
}

static void answer(listing *page)
{
    arcp_buf out = arcp_buf_init();
    arcp_buf_append_cstr(&out, "{\"jobs\":[");
    arcp_buf_append(&out, arcp_buf_span(&page->out));
    arcp_buf_append_cstr(&out, "],\"next_cursor\":");
    if (page->left != 0) {
        arcp_json_quote(arcp_span_cstr(page->last), &out);
    } else {
        arcp_buf_append_cstr(&out, "null");
    }
    if (page->counts) {
        arcp_buf_append_format(&out, ",\"left\":%llu", (unsigned long long)page->left);
    }
    arcp_buf_append_byte(&out, '}');
    out.failed = out.failed || page->out.failed;
    arcp__view_answer(page->sessions, page->call, &out);
    arcp_buf_fini(&out);
}

/* Keeps the page for the next turn. */
static void keep(listing *page, const arcp__job *at)
{
    arcp__view_wait *wait = arcp__view_later(page->sessions, page->call);
    if (wait == NULL) {
        arcp_buf_fini(&page->out);
        return;
    }
    wait->out = page->out;
    wait->shown = page->shown;
    wait->left = page->left;
    memcpy(wait->last, page->last, sizeof wait->last);
    memcpy(wait->at, at->id, sizeof wait->at);
}

void arcp__view_jobs_handle(arcp__sessions *sessions, arcp__view_call *call)
{
    arcp__job_filter filter;
    arcp_error error = {0};
    const size_t frame_max = arcp__frame_payload_max(sessions->context) - 128;
    listing page = {.sessions = sessions,
                    .call = call,
                    .filter = &filter,
                    .counts = call->in.jobs.counts,
                    .bytes_max = frame_max < PAGE_BYTES_MAX ? frame_max : PAGE_BYTES_MAX};
    if (read_request(&call->in.jobs, &page, &error) != ARCP_OK ||
        arcp__job_filter_read(sessions->context, &call->in.jobs.filter, &filter, &error) !=
            ARCP_OK ||
        check_principal(sessions, call, &filter, &error) != ARCP_OK) {
        arcp__view_refuse(sessions, call, &error, ARCP__NOTHING);
        arcp__view_wait_free(call->wait);
        return;
    }
    page.list =
        filter.principal[0] == '\0' ? &call->session->principal->jobs : &sessions->jobs->in_order;
    arcp_span from = call->in.jobs.cursor;
    arcp__view_wait *waited = call->wait;
    if (waited != NULL) {
        from = arcp_span_cstr(waited->at);
        page.out = waited->out;
        waited->out = arcp_buf_init();
        page.shown = waited->shown;
        page.left = waited->left;
        memcpy(page.last, waited->last, sizeof page.last);
    }
    const arcp__job *at = look(&page, from);
    if (at != NULL) {
        keep(&page, at);
        return;
    }
    answer(&page);
    arcp_buf_fini(&page.out);
    arcp__view_wait_free(waited);
}
