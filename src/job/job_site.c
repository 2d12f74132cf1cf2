/* Where a job may run, and what the host there says about it: the agent's own host, or one of the
 * workers that offer the agent. Asked before a job is made, and again when it leaves the queue. */
#include "job/job_state.h"

void arcp__job_site_fini(arcp__job_site *site)
{
    arcp__free(site->cwd);
    arcp__enforcement_free(site->enforcement);
    *site = (arcp__job_site){.cwd = NULL};
}

void arcp__job_set_site(arcp__job *job, arcp__job_site *site)
{
    arcp__job_live *live = job->live;
    arcp__free(live->cwd);
    arcp__enforcement_free(live->enforcement);
    live->cwd = site->cwd;
    live->owns_cwd = site->owns_cwd;
    live->enforcement = site->enforcement;
    live->host = site->host;
    live->place.offer = site->offer;
    *site = (arcp__job_site){.cwd = NULL};
}

/* Makes the path of the agent's working directory: the agent's own, or a fresh one of the job. NULL
 * when there is none. False: out of memory. */
static bool make_cwd(const arcp__jobs *jobs, const arcp__agent_version *agent, const char *job_id,
                     arcp__job_site *site)
{
    const arcp__worker_offer_entry *offered = site->offer == NULL ? NULL : site->offer->owner;
    const arcp_span directory = offered != NULL ? arcp_span_cstr(offered->worker->work)
                                : agent->worker[0] != '\0' && jobs->worker_directory != NULL
                                    ? arcp_span_cstr(jobs->worker_directory)
                                    : jobs->work_directory;
    const bool has_none = offered != NULL ? strcmp(offered->mode, "serve") == 0 : agent->has_no_cwd;
    arcp_buf path = arcp_buf_init();
    const char *own = offered != NULL && offered->cwd != NULL ? offered->cwd : agent->cwd;
    site->owns_cwd = own[0] == '\0' && !has_none && directory.size != 0;
    if (site->owns_cwd) {
        arcp_buf_append(&path, directory);
        arcp_buf_append_byte(&path, '/');
        arcp_buf_append_cstr(&path, job_id);
    } else if (own[0] != '\0') {
        arcp_buf_append_cstr(&path, own);
    } else {
        return true;
    }
    site->cwd = arcp_buf_take_cstr(&path);
    arcp_buf_fini(&path);
    return site->cwd != NULL;
}

arcp_status arcp__job_make_site(arcp__jobs *jobs, const arcp__agent_version *agent,
                                const char *job_id, arcp__place_offer *offer, arcp__job_site *out,
                                arcp_error *err)
{
    const arcp__worker_offer_entry *offered = offer == NULL ? NULL : offer->owner;
    *out = (arcp__job_site){.offer = offer, .host = offered == NULL ? agent->host : offered->host};
    return make_cwd(jobs, agent, job_id, out)
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "out of memory");
}

arcp_status arcp__job_ask_site(arcp__jobs *jobs, const arcp__job_order *order, const char *job_id,
                               arcp_span endpoint, arcp__place_offer *offer, arcp__job_site *out,
                               arcp_buf *details, arcp_error *err)
{
    arcp_status status = arcp__job_make_site(jobs, order->agent, job_id, offer, out, err);
    if (status == ARCP_OK) {
        const arcp__admit_request place = {.host = out->host,
                                           .job_id = arcp_span_cstr(job_id),
                                           .cwd = arcp_span_cstr(out->cwd),
                                           .cwd_is_fresh = out->owns_cwd,
                                           .endpoint = endpoint};
        status = arcp__job_ask_host(jobs, order, &place, &out->enforcement, details, err);
    }
    if (status != ARCP_OK) {
        arcp__job_site_fini(out);
    }
    return status;
}

arcp_status arcp__job_find_site(arcp__jobs *jobs, const arcp__job_order *order, const char *job_id,
                                arcp_span endpoint, arcp__job_site *out, arcp_buf *details,
                                arcp_error *err)
{
    const arcp__place_agent *places = order->agent->places;
    const arcp__place_kind kind = arcp__place_kind_below(order->parent);
    arcp_error first = {.status = ARCP_OK};
    arcp_buf first_details = arcp_buf_init();
    arcp_status status = ARCP_E_AGENT_NOT_AVAILABLE;
    if (!order->agent->is_remote) {
        return arcp__job_ask_site(jobs, order, job_id, endpoint, NULL, out, details, err);
    }
    /* Those with a place come first. The refusal of the best one is that of the order. */
    for (size_t pass = 0; pass < 2; pass++) {
        arcp__place_offer *offer = arcp__place_next_offer(places, kind, pass == 0, NULL);
        for (; offer != NULL && status != ARCP_OK;
             offer = arcp__place_next_offer(places, kind, pass == 0, offer)) {
            if (pass == 0 || !arcp__place_offer_has_room(offer, kind)) {
                const bool is_first = first.status == ARCP_OK;
                status =
                    arcp__job_ask_site(jobs, order, job_id, endpoint, offer, out,
                                       is_first ? &first_details : NULL, is_first ? &first : NULL);
            }
        }
    }
    if (status != ARCP_OK) {
        if (details != NULL) {
            arcp_buf_append(details, arcp_buf_span(&first_details));
        }
        status = arcp_error_copy(err, &first);
    }
    arcp_buf_fini(&first_details);
    return status;
}
