/* One job as one call, from connecting to its result. */
#include "client/client_driver.h"

/* Appends the job's result, with a NUL behind it. */
static arcp_status take_result(const arcp_outcome *outcome, arcp_buf *result, arcp_error *err)
{
    if (outcome->status != ARCP_OK) {
        return arcp_error_copy(err, outcome->error);
    }
    if (result == NULL) {
        return ARCP_OK;
    }
    arcp_buf_append(result, outcome->result_id.size != 0 ? outcome->bytes : outcome->result);
    (void)arcp_buf_cstr(result);
    return result->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for the result")
                          : ARCP_OK;
}

arcp_status arcp_client_run_with(const arcp_client_options *options,
                                 const arcp_submit_options *submit, int64_t timeout_ms,
                                 arcp_buf *result, arcp_error *err)
{
    arcp_client *client = NULL;
    arcp_job *job = NULL;
    const arcp_outcome *outcome = NULL;
    arcp_status status = arcp_client_connect(options, &client, err);
    if (status != ARCP_OK) {
        return status;
    }
    status = arcp_client_submit(client, submit, ARCP_WAIT_DEFAULT, &job, err);
    if (status == ARCP_OK) {
        status = arcp_job_wait(job, timeout_ms, &outcome, err);
    }
    if (status == ARCP_OK) {
        status = take_result(outcome, result, err);
    } else if (status == ARCP_E_DEADLINE && job != NULL) {
        /* The caller has no handle with which to cancel it. If the job has just ended, the runtime
         * refuses the cancellation. */
        (void)!arcp_client_cancel(client, arcp_job_id(job), ARCP_SPAN_LITERAL("timeout"),
                                  ARCP_WAIT_DEFAULT, NULL);
        (void)arcp_error_set(err, ARCP_E_DEADLINE,
                             "job %s did not end within %lld ms and was cancelled",
                             arcp_job_id(job).data, (long long)timeout_ms);
    }
    arcp_job_unref(job);
    arcp_client_close(client);
    arcp_client_free(client);
    return status;
}

arcp_status arcp_client_run(const char *url, const char *token, const char *agent,
                            const char *input, arcp_buf *result, arcp_error *err)
{
    arcp_client_options options = arcp_client_options_init();
    arcp_submit_options submit = arcp_submit_options_init();
    options.url = arcp_span_cstr(url);
    options.token = arcp_span_cstr(token);
    submit.agent = arcp_span_cstr(agent);
    submit.input = arcp_span_cstr(input);
    return arcp_client_run_with(&options, &submit, ARCP_WAIT_FOREVER, result, err);
}
