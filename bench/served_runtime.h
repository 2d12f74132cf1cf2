/* Runtimes on loopback for benchmarks: any token is accepted, as one principal. An error ends the
 * program. */
#ifndef ARCP_BENCH_SERVED_RUNTIME_H
#define ARCP_BENCH_SERVED_RUNTIME_H

#include <pthread.h>
#include <uv.h>

#include <arcp/runtime.h>

void must(arcp_status status, const arcp_error *error);

/* On a loop of the caller's; the store is opened for it. */
arcp_runtime *runtime_open(uv_loop_t *loop, const char *store_url, arcp_runtime_options *options);
/* Listens on a port of the system's choice; *url lives with the runtime. */
void runtime_serve(arcp_runtime *runtime, const char **url);

/* A runtime on a thread of its own. */
typedef struct served_runtime {
    arcp_runtime *runtime;
    int port;
    const char *store_url;
    const arcp_enforce_options *enforce;               /* NULL: agents are not confined */
    const char *work_directory;                        /* where they are */
    void (*add_agents)(struct served_runtime *served); /* on its thread, before it serves */
    uv_loop_t loop;
    uv_async_t stop;
    pthread_t thread;
    pthread_barrier_t ready;
} served_runtime;

/* Returns when it serves. */
void served_runtime_start(served_runtime *served, const char *store_url,
                          void (*add_agents)(served_runtime *served));
void served_runtime_stop(served_runtime *served);
/* Removes the files of the store sqlite:DIRECTORY/NAME. */
void served_store_remove(const char *directory, const char *name);

#endif
