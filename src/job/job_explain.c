/* What a lease would be worth to a job of an agent (x-vendor.arcpd.explain): the lease as the
 * operator's policy leaves it, and the verdict of the agent's host on each of its lines. The same
 * functions decide about a submit, so that the two cannot differ. The submit policy of a program
 * that embeds the runtime is not asked: it decides about jobs. */
#include "job/job_state.h"

static void write_lease(const arcp_lease *lease, arcp_json_writer *writer)
{
    arcp_buf text = arcp_buf_init();
    arcp_lease_format(lease, &text);
    arcp__put_raw(writer, "lease", arcp_buf_span(&text));
    if (arcp_lease_has_expiry(lease)) {
        arcp_buf_clear(&text);
        arcp_lease_format_constraints(lease, &text);
        arcp__put_raw(writer, "lease_constraints", arcp_buf_span(&text));
    }
    writer->out->failed = writer->out->failed || text.failed;
    arcp_buf_fini(&text);
}

static void write_answer(const arcp__admit_answer *answer, arcp_json_writer *writer)
{
    const arcp_buf *texts = answer->texts;
    arcp__put_bool(writer, "runs", answer->status == ARCP_OK);
    if (texts[ARCP__ADMIT_LEVEL].size != 0) {
        arcp__put_string(writer, "level", arcp_buf_span(&texts[ARCP__ADMIT_LEVEL]));
        arcp__put_raw(writer, "lines", arcp_buf_span(&texts[ARCP__ADMIT_LINES]));
    }
    if (answer->status != ARCP_OK) {
        arcp__put_string(writer, "refusal", arcp_buf_span(&texts[ARCP__ADMIT_MESSAGE]));
    }
    for (size_t i = 0; i < ARCP__ADMIT_TEXTS; i++) {
        writer->out->failed = writer->out->failed || texts[i].failed;
    }
}

/* Writes what the host says about the order, whose lease is the effective one. */
static arcp_status explain(arcp__jobs *jobs, const arcp__job_order *order, arcp_json_writer *writer,
                           arcp_error *err)
{
    char id[ARCP__ID_SIZE];
    arcp__admit_answer answer = {.status = ARCP_OK};
    arcp__job_site site;
    arcp__context_make_id(jobs->context, "job_", id);
    arcp__place_offer *offer = /* of the worker that would get the job first */
        order->agent->is_remote
            ? arcp__place_next_offer(order->agent->places, ARCP__PLACE_SUBMITTED, false, NULL)
            : NULL;
    if (arcp__job_make_site(jobs, order->agent, id, offer, &site, err) != ARCP_OK) {
        return err->status;
    }
    const arcp__admit_request place = {.host = site.host,
                                       .job_id = arcp_span_cstr(id),
                                       .cwd = arcp_span_cstr(site.cwd),
                                       .cwd_is_fresh = site.owns_cwd};
    arcp__job_ask_host_only(jobs, order, &place, &answer);
    arcp__put_cstr(writer, "agent", order->agent->text);
    write_lease(order->lease, writer);
    write_answer(&answer, writer);
    arcp__admit_texts_fini(answer.texts);
    arcp__job_site_fini(&site);
    return ARCP_OK;
}

arcp_status arcp__job_explain(arcp__jobs *jobs, arcp__job_order *order, arcp_json_writer *writer,
                              arcp_buf *details, arcp_error *err)
{
    arcp_lease *lease = NULL;
    arcp_buf notes = arcp_buf_init();
    arcp_status status = arcp__job_read_lease(jobs, order, &lease, err);
    if (status != ARCP_OK) {
        return status;
    }
    order->lease = lease;
    order->lease_work.left = jobs->context->settings.limits_lease_steps;
    status = arcp__agent_resolve(jobs, order->requested_agent, &order->agent, err);
    if (status == ARCP_OK) {
        status = arcp__job_check_features(order, err);
    }
    if (status == ARCP_OK) {
        status = arcp__policy_narrow(jobs, order, &notes, details, err);
    }
    if (status == ARCP_OK) {
        status = explain(jobs, order, writer, err);
    }
    arcp_lease_unref(order->lease);
    order->lease = NULL;
    arcp_buf_fini(&notes);
    return status;
}
