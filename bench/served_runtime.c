#include "served_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void must(arcp_status status, const arcp_error *error)
{
    if (status != ARCP_OK) {
        (void)fprintf(stderr, "bench: %s\n", error->message);
        exit(1);
    }
}

static void let_in(void *user, arcp_token_request *request)
{
    arcp_token_response response = arcp_token_response_init();
    (void)user;
    response.status = ARCP_OK;
    response.principal = ARCP_SPAN_LITERAL("bench");
    arcp_token_request_respond(request, &response);
}

arcp_runtime *runtime_open(uv_loop_t *loop, const char *store_url, arcp_runtime_options *options)
{
    arcp_error error = {0};
    arcp_runtime *runtime = NULL;
    arcp_token_verifier *verifier = NULL;
    must(arcp_store_open(store_url, &options->store, &error), &error);
    must(arcp_runtime_new(loop, options, &runtime, &error), &error);
    must(arcp_token_verifier_new_callback(let_in, NULL, NULL, &verifier, &error), &error);
    must(arcp_runtime_set_token_verifiers(runtime, &verifier, 1, &error), &error);
    return runtime;
}

void runtime_serve(arcp_runtime *runtime, const char **url)
{
    arcp_error error = {0};
    must(arcp_runtime_listen(runtime, "ws://127.0.0.1:0/arcp", NULL, url, &error), &error);
}

/* ---- on a thread of its own ---- */

static void on_stopped(void *user)
{
    const served_runtime *served = user;
    uv_close((uv_handle_t *)&served->stop, NULL);
    arcp_runtime_free(served->runtime);
}

static void on_stop(uv_async_t *handle)
{
    served_runtime *served = handle->data;
    arcp_runtime_stop(served->runtime, on_stopped, served);
}

static void *run(void *argument)
{
    served_runtime *served = argument;
    const char *url = NULL;
    arcp_settings *settings = arcp_settings_new();
    arcp_error error = {0};
    arcp_runtime_options options = arcp_runtime_options_init();
    (void)uv_loop_init(&served->loop);
    (void)uv_async_init(&served->loop, &served->stop, on_stop);
    served->stop.data = served;
    static const char *const values[][2] = {
        {"shutdown.grace_sec", "0"},           {"jobs.keep_terminal_sec", "1"},
        {"limits.jobs_per_session", "100000"}, {"limits.jobs_per_principal", "100000"},
        {"limits.submits_per_sec", "0"}, /* one principal submits as fast as can be */
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        must(settings == NULL ? ARCP_E_NO_MEMORY
                              : arcp_settings_set(settings, values[i][0], values[i][1], &error),
             &error);
    }
    options.settings = settings;
    options.enforce = served->enforce;
    options.work_directory = served->work_directory;
    served->runtime = runtime_open(&served->loop, served->store_url, &options);
    arcp_settings_free(settings);
    served->add_agents(served);
    runtime_serve(served->runtime, &url);
    served->port = (int)strtol(strrchr(url, ':') + 1, NULL, 10);
    (void)pthread_barrier_wait(&served->ready);
    (void)uv_run(&served->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&served->loop);
    return NULL;
}

void served_runtime_start(served_runtime *served, const char *store_url,
                          void (*add_agents)(served_runtime *served))
{
    served->store_url = store_url;
    served->add_agents = add_agents;
    (void)pthread_barrier_init(&served->ready, NULL, 2);
    (void)pthread_create(&served->thread, NULL, run, served);
    (void)pthread_barrier_wait(&served->ready);
}

void served_runtime_stop(served_runtime *served)
{
    (void)uv_async_send(&served->stop);
    (void)pthread_join(served->thread, NULL);
    (void)pthread_barrier_destroy(&served->ready);
}

void served_store_remove(const char *directory, const char *name)
{
    static const char *const ends[] = {"", "-wal", "-shm", ".lock", "-lock"};
    char path[256];
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s%s", directory, name, ends[i]);
        (void)unlink(path);
    }
}
