/* A runtime that leaves jobs to its worker, and whose store reports the end of one of them after it
 * has said bye: nothing is sent to the worker any more. */
#include "runtime/runtime_rig.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include "support/check.h"

#include <arcp/sys/store.h>

#include "engine/engine.h"
#include "runtime/runtime_state.h"
#include "runtime/runtime_worker.h"
#include "stream/local_socket.h"
#include "worker/worker_frame.h"
#include "worker/worker_place.h"

#define INSTANCE "life"
#define HELLO                                                                                      \
    "{\"type\":\"hello\",\"v\":[1,1],\"version\":\"1\",\"name\":\"local\",\"instance\":"           \
    "\"" INSTANCE "\",\"boot_id\":\"b\"}\n"

typedef struct leaving {
    runtime_rig rig;
    arcp_store_ops ops;
    bool is_held; /* the store reports nothing */
    bool (*poll)(arcp_store *store);
    int lock, fd; /* of the worker */
    arcp_buf got; /* by the worker */
    const char *awaited;
} leaving;

static leaving l;

static bool poll_held(arcp_store *store)
{
    return !l.is_held && l.poll(store);
}

static arcp_store *open_store(void)
{
    arcp_store *store = NULL;
    arcp_error error = {0};
    check_ok(arcp_store_open_memory(&store, &error), &error);
    l.ops = *store->ops;
    l.ops.durable = true;
    l.poll = l.ops.poll;
    l.ops.poll = poll_held;
    store->ops = &l.ops;
    return store;
}

/* ---- the worker ---- */

static void connect_worker(void)
{
    char path[PATH_MAX];
    const char *store = l.rig.runtime->store_id;
    assert_true(arcp__worker_lock_path(l.rig.directory, store, INSTANCE, path));
    l.lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(l.lock, LOCK_EX), 0);
    assert_true(arcp__worker_socket_path(l.rig.directory, store, path));
    assert_int_equal(arcp__local_socket_connect(path, &l.fd, NULL), ARCP_OK);
}

static void worker_says(const char *format, ...) ARCP_PRINTF(1, 2);
static void worker_says(const char *format, ...)
{
    char frame[512];
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(frame + ARCP__WORKER_PREFIX, sizeof frame - ARCP__WORKER_PREFIX,
                               format, arguments);
    va_end(arguments);
    for (unsigned i = 0; i < ARCP__WORKER_PREFIX; i++) {
        frame[i] = (char)(unsigned char)((unsigned)size >> (24 - 8 * i));
    }
    assert_int_equal(write(l.fd, frame, (size_t)size + ARCP__WORKER_PREFIX),
                     size + (int)ARCP__WORKER_PREFIX);
}

static bool has_come(void *user)
{
    char bytes[4096];
    for (ssize_t size = read(l.fd, bytes, sizeof bytes); size > 0;
         size = read(l.fd, bytes, sizeof bytes)) {
        arcp_buf_append(&l.got, arcp_span_make(bytes, (size_t)size));
    }
    return l.got.size != 0 && memmem(l.got.data, l.got.size, l.awaited, strlen(l.awaited)) != NULL;
}

static void worker_awaits(const char *type)
{
    l.awaited = type;
    runtime_rig_until(&l.rig, has_come, NULL);
}

/* ---- the runtime ---- */

static void on_stopped(void *user)
{
    l.rig.stopped = true;
}

static bool has_stopped(void *user)
{
    return l.rig.stopped;
}

static bool no_job_runs(void *user)
{
    arcp__engine_stats stats;
    arcp__engine_get_stats(l.rig.runtime->shards->engine, &stats);
    return stats.jobs_running == 0;
}

static void open_leaving(void)
{
    arcp_runtime_options options = arcp_runtime_options_init();
    arcp_error error = {0};
    l = (leaving){.fd = -1, .lock = -1};
    runtime_rig_begin(&l.rig);
    options.store = open_store();
    runtime_rig_open(&l.rig, &options);
    const arcp__local_worker_options worker = {.state = l.rig.directory, .work = l.rig.directory};
    check_ok(arcp__runtime_open_local_worker(l.rig.runtime, &worker, &error), &error);
    runtime_rig_register_sh(&l.rig, "a", "true", NULL);
    connect_worker();
    worker_says(HELLO);
    worker_awaits("\"welcome\"");
}

static void a_job_that_ends_for_the_store_after_bye_is_not_forgotten_there(void **state)
{
    (void)state;
    open_leaving();
    runtime_rig_submit(&l.rig, "a", "");
    worker_awaits("\"start\"");
    const char *job = l.rig.job_id;
    worker_says("{\"type\":\"started\",\"job\":\"%s\",\"pid\":5}\n", job);
    (void)runtime_rig_wait(&l.rig, "\"running\"");
    l.is_held = true;
    worker_says("{\"type\":\"items\",\"job\":\"%s\",\"first\":1,\"count\":1,\"what\":\"lines\"}\n"
                "{\"type\":\"job.result\",\"payload\":{\"result\":1}}\n",
                job);
    worker_says("{\"type\":\"exited\",\"job\":\"%s\",\"items\":1,\"is_known\":true,\"code\":0,"
                "\"why\":\"itself\"}\n",
                job);
    runtime_rig_until(&l.rig, no_job_runs, NULL);
    arcp__runtime_stop_keeping_jobs(l.rig.runtime, on_stopped, NULL);
    worker_awaits("\"bye\"");
    l.is_held = false; /* its end is durable, and its agent is forgotten */
    (void)uv_async_send(&l.rig.runtime->wake);
    runtime_rig_until(&l.rig, has_stopped, NULL);
    l.awaited = "\"forget\"";
    assert_false(has_come(NULL));
    (void)close(l.fd);
    (void)close(l.lock);
    arcp_buf_fini(&l.got);
    runtime_rig_stop(&l.rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_ends_for_the_store_after_bye_is_not_forgotten_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
