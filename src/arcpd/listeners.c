/* Opens the listeners of `listen`, on new sockets or on those that the service manager passed to
 * arcpd (sd_listen_fds(3)). */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arcpd/arcpd.h"
#include "base/digits.h"
#include "runtime/runtime_worker.h"
#include "transport/url.h"
#include "web/names.h"

#define FIRST_PASSED_FD 3
/* A hello is small, and an unauthenticated peer's first frame is buffered until it is complete. */
#define FIRST_FRAME_BYTES_MAX 65536u

/* How many descriptors were passed to this process; those of another one are not ours. */
static uint64_t count_passed(void)
{
    const char *process = getenv("LISTEN_PID");
    const char *count = getenv("LISTEN_FDS");
    uint64_t pid = 0;
    uint64_t number = 0;
    return process != NULL && count != NULL && arcp__digits_parse(arcp_span_cstr(process), &pid) &&
                   pid == (uint64_t)getpid() && arcp__digits_parse(arcp_span_cstr(count), &number)
               ? number
               : 0;
}

void arcp__passed_sockets_find(arcp__passed_sockets *sockets)
{
    const uint64_t passed = count_passed();
    *sockets = (arcp__passed_sockets){.count = 0};
    for (int fd = FIRST_PASSED_FD; (uint64_t)(fd - FIRST_PASSED_FD) < passed; fd++) {
        /* Not for agents. A descriptor that is not open ends the list: its number is wrong. */
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
            break;
        }
        if (sockets->count == ARCP__PASSED_SOCKETS_MAX) {
            sockets->has_more = true;
            break;
        }
        sockets->fds[sockets->count++] = fd;
    }
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES");
}

/* "a socket at 127.0.0.1:7777", or what it is instead. */
static void describe(int fd, char *out, size_t size)
{
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;
    char where[ARCP__HOST_MAX + 16];
    arcp__authority authority;
    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0 ||
        (address.ss_family != AF_INET && address.ss_family != AF_INET6)) {
        (void)snprintf(out, size, "descriptor %d, which is no TCP socket", fd);
        return;
    }
    arcp__socket_authority(&address, &authority);
    arcp__authority_format(&authority, where, sizeof where);
    (void)snprintf(out, size, "a socket at %s", where);
}

/* Connections to a socket that no listener has would wait for ever. */
static arcp_status check_all_used(const arcp__passed_sockets *sockets, arcp_error *err)
{
    for (size_t i = 0; i < sockets->count; i++) {
        if (sockets->fds[i] >= 0) {
            char what[ARCP__HOST_MAX + 64];
            describe(sockets->fds[i], what, sizeof what);
            return arcp_error_set(err, ARCP_E_USAGE,
                                  "the service manager passed %s: expected the address of a URL of "
                                  "listen",
                                  what);
        }
    }
    return ARCP_OK;
}

static void on_worker(void *user, arcp_connection *connection)
{
    arcp__runtime_serve_worker(user, connection);
}

/* A worker's token, and what its jobs get, must be encrypted on their way. */
static bool takes_workers(const char *text)
{
    arcp__url url;
    arcp_error ignored = {0};
    return arcp__url_parse(arcp_span_cstr(text), &url, &ignored) == ARCP_OK &&
           (url.scheme == ARCP__URL_WSS || arcp__authority_is_loopback(&url.authority));
}

arcp_status arcp__listeners_open(arcp_runtime *runtime, const arcp__config *config,
                                 arcp__passed_sockets *sockets, arcp__dashboards *dashboards,
                                 arcp_buf *ready, arcp_error *err)
{
    arcp_listen_options options = arcp_listen_options_init();
    const char *path = config->workers_path == NULL ? ARCP__WORKERS_PATH : config->workers_path;
    options.certificate_file = config->tls_certificate;
    options.key_file = config->tls_key;
    options.hosts = (const char *const *)config->hosts.items;
    options.host_count = config->hosts.count;
    options.origins = (const char *const *)config->origins.items;
    options.origin_count = config->origins.count;
    options.frame_bytes_max = (size_t)config->settings.limits_frame_bytes;
    options.first_frame_bytes_max = FIRST_FRAME_BYTES_MAX;
    options.binary_subprotocol = ARCP__WORKER_SUBPROTOCOL;
    options.binary_bytes_max = arcp__runtime_worker_bytes_max(runtime);
    options.first_binary_bytes_max = ARCP__WORKER_HELLO_MAX;
    options.binary_accepted = on_worker;
    options.binary_user = runtime;
    options.sockets = sockets->fds;
    options.socket_count = sockets->count;
    arcp_status status = ARCP_OK;
    if (sockets->has_more) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "the service manager passed more than %u sockets (LISTEN_FDS)",
                              ARCP__PASSED_SOCKETS_MAX);
    }
    for (size_t i = 0; status == ARCP_OK && i < config->listen.count; i++) {
        const char *url = config->listen.items[i];
        options.binary_path = takes_workers(url) ? path : NULL;
        status = arcp__dashboards_add(dashboards, config, url, &options, err);
        if (status == ARCP_OK) {
            status = arcp_runtime_listen(runtime, url, &options, &url, err);
        }
        if (status == ARCP_OK) {
            arcp_buf_append_format(ready, " %s", url);
            arcp__dashboards_note(dashboards, config, url);
        }
    }
    return status == ARCP_OK ? check_all_used(sockets, err) : status;
}
