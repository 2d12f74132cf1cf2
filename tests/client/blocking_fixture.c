#include "client/blocking_fixture.h"

#include <sched.h>

#include "client/client_driver.h"

void fixture_begin_with(fixture *f, const arcp_client_options *options)
{
    f->details = arcp_buf_init();
    f->err = (arcp_error){.details = &f->details};
    check_ok(arcp_client_connect(options, &f->client, &f->err), &f->err);
}

void fixture_begin(fixture *f)
{
    fake_runtime_init(&f->runtime);
    arcp_client_options options = fake_runtime_options(&f->runtime);
    fixture_begin_with(f, &options);
}

void fixture_end(fixture *f)
{
    arcp_client_free(f->client);
    arcp_buf_fini(&f->details);
    fake_runtime_fini(&f->runtime);
}

arcp_job *fixture_submit(fixture *f, const char *agent, const char *input)
{
    arcp_submit_options options = arcp_submit_options_init();
    arcp_job *job = NULL;
    options.agent = arcp_span_cstr(agent);
    options.input = arcp_span_cstr(input);
    check_ok(arcp_client_submit(f->client, &options, ARCP_WAIT_DEFAULT, &job, &f->err), &f->err);
    return job;
}

void *fixture_interrupt_soon(void *user)
{
    arcp_client *client = user;
    bool waits = false;
    while (!waits) {
        uv_mutex_lock(&client->mutex);
        waits = client->waiting != 0;
        uv_mutex_unlock(&client->mutex);
        sched_yield();
    }
    arcp_client_interrupt(client);
    return NULL;
}
