/* arcpd.sock in the state directory, for operators of this machine.
 *
 * A peer is who the kernel says it is (SO_PEERCRED), whatever its token. Root may always use the
 * socket. The user that arcpd runs as may use it as long as no agent has run as this user without a
 * sandbox: such an agent is a peer like any other, and would be an operator. The file's mode says
 * which: 0600, or 0000 for root alone. */
#include "arcpd/arcpd.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/local_socket.h"
#include "transport/local_connection.h"

#define CONNECTIONS_MAX 64u
#define RETRY_MS        ((uint64_t)1000)
#define MODE_OF_OWNER   0600u
#define MODE_OF_ROOT    0000u

/* Whether the user is another one than arcpd's. A user that does not exist may be added later. */
static bool is_other_user(const char *name)
{
    const struct passwd *entry = name == NULL ? NULL : getpwnam(name);
    return entry != NULL && entry->pw_uid != geteuid();
}

/* With enforce.min: advisory a host that cannot confine an agent starts it nevertheless. */
static bool is_surely_confined(const arcp__config *config, const arcp__setup_agent *agent)
{
    const bool may_be_free = agent->min == ARCP_ENFORCE_MIN_DEFAULT
                                 ? config->settings.enforce_min == ARCP_ENFORCE_MIN_ADVISORY - 1
                                 : agent->min == ARCP_ENFORCE_MIN_ADVISORY;
    return !config->setup.enforce.is_off && !agent->is_unconfined && !may_be_free;
}

const char *arcp__operator_socket_intruder(const arcp__config *config)
{
    for (size_t i = 0; i < config->setup.agent_count; i++) {
        const arcp__setup_agent *agent = &config->setup.agents[i];
        if (!is_surely_confined(config, agent) && !is_other_user(agent->user)) {
            return agent->name;
        }
    }
    /* Servers of tools run as arcpd's user, and do what agents ask of them. */
    for (size_t i = 0; i < config->setup.tools.server_count; i++) {
        if (config->setup.enforce.is_off || config->setup.tools.servers[i].is_unconfined) {
            return config->setup.tools.servers[i].name;
        }
    }
    return NULL;
}

/* ---- peers ---- */

static bool may_connect(const arcp__operator_socket *at, uid_t uid)
{
    return uid == 0 || (uid == geteuid() && !at->is_for_root);
}

/* The peer reads why before it has sent anything. */
static void refuse(const arcp__operator_socket *at, int fd, const struct ucred *peer)
{
    static const char frame[] =
        "{\"arcp\":\"1.1\",\"id\":\"refused\",\"type\":\"session.error\",\"payload\":{\"code\":"
        "\"PERMISSION_DENIED\",\"message\":\"arcpd.sock is for root only: an agent of this arcpd "
        "runs, or has run, without a sandbox as the same user\",\"retryable\":false}}\n";
    if (peer->uid == geteuid()) {
        (void)!send(fd, frame, sizeof frame - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    arcp__logger_format(at->logger, ARCP_LOG_WARN,
                        "arcpd.sock: refused process %ld of user %lu, which may not use it",
                        (long)peer->pid, (unsigned long)peer->uid);
}

static void on_closed(void *user)
{
    arcp__operator_socket *at = user;
    at->connections--;
}

static void serve(arcp__operator_socket *at, int fd)
{
    struct ucred peer = {.pid = 0, .uid = (uid_t)-1, .gid = (gid_t)-1};
    socklen_t size = sizeof peer;
    char name[64];
    arcp_connection *connection = NULL;
    arcp_error error = {0};
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || !may_connect(at, peer.uid)) {
        refuse(at, fd, &peer);
        (void)close(fd);
        return;
    }
    if (at->connections >= CONNECTIONS_MAX) {
        arcp__logger_format(at->logger, ARCP_LOG_WARN,
                            "arcpd.sock: refused process %ld: it has %u connections already",
                            (long)peer.pid, CONNECTIONS_MAX);
        (void)close(fd);
        return;
    }
    (void)snprintf(name, sizeof name, "unix:uid=%lu,pid=%ld", (unsigned long)peer.uid,
                   (long)peer.pid);
    arcp_stdio_options options = arcp_stdio_options_init();
    options.frame_bytes_max = at->frame_bytes_max;
    arcp_status status =
        arcp__local_connection_new(at->poll.loop, fd, name, &options, &connection, &error);
    if (status != ARCP_OK) {
        (void)close(fd);
    } else {
        arcp_serve_options serve_options = arcp_serve_options_init();
        serve_options.principal = ARCP__LOCAL_OPERATOR;
        serve_options.role = ARCP_ROLE_OPERATOR;
        serve_options.closed = on_closed;
        serve_options.user = at;
        at->connections++;
        status = arcp_runtime_serve(at->runtime, connection, &serve_options, &error);
        at->connections -= status != ARCP_OK;
    }
    if (status != ARCP_OK) {
        arcp__logger_format(at->logger, ARCP_LOG_WARN, "arcpd.sock: %s", error.message);
    }
}

static void on_readable(uv_poll_t *poll, int status, int events);

static void on_retry(uv_timer_t *timer)
{
    arcp__operator_socket *at = timer->data;
    (void)uv_poll_start(&at->poll, UV_READABLE, on_readable);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    arcp__operator_socket *at = poll->data;
    (void)status;
    (void)events;
    const int fd = accept4(at->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        serve(at, fd);
    } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
        /* No descriptors or memory: the peer waits, and the loop must not spin. */
        (void)uv_poll_stop(&at->poll);
        (void)uv_timer_start(&at->retry, on_retry, RETRY_MS, 0);
    }
}

/* ---- who may use it ---- */

static mode_t mode_of(const arcp__operator_socket *at)
{
    return at->is_for_root ? MODE_OF_ROOT : MODE_OF_OWNER;
}

/* Whether the file is still the socket that was made. */
static bool is_ours(const arcp__operator_socket *at)
{
    struct stat about;
    return lstat(at->path, &about) == 0 && S_ISSOCK(about.st_mode) && about.st_ino == at->inode &&
           about.st_dev == at->device;
}

/* Closed once, it stays closed for this user: the agent's processes may outlive a reload. */
static void look_for_intruders(arcp__operator_socket *at, const arcp__config *config)
{
    const char *name = arcp__operator_socket_intruder(config);
    if (name == NULL || at->is_for_root || geteuid() == 0) {
        return;
    }
    at->is_for_root = true;
    arcp__logger_format(
        at->logger, ARCP_LOG_INFO,
        "arcpd.sock is for root only: \"%.80s\" runs as arcpd's user and may not be "
        "confined, and could use it (confine it, or give the agent a user: of its "
        "own, and restart arcpd)",
        name);
}

void arcp__operator_socket_reload(arcp__operator_socket *at, const arcp__config *config)
{
    const bool was_for_root = at->is_for_root;
    if (at->fd < 0) {
        return;
    }
    look_for_intruders(at, config);
    if (at->is_for_root && !was_for_root && is_ours(at)) {
        (void)!chmod(at->path, MODE_OF_ROOT);
    }
}

/* ---- open and close ---- */

void arcp__operator_socket_open(arcp__operator_socket *at, uv_loop_t *loop,
                                const arcp__config *config)
{
    arcp_error error = {0};
    struct stat about = {0};
    at->fd = -1;
    look_for_intruders(at, config);
    arcp_status status = arcp__local_socket_listen(at->path, mode_of(at), &at->fd, &error);
    if (status == ARCP_OK &&
        (lstat(at->path, &about) != 0 || uv_poll_init(loop, &at->poll, at->fd) != 0)) {
        status = arcp_error_set(&error, ARCP_E_IO, "cannot listen on unix:%s", at->path);
        (void)close(at->fd);
    }
    if (status != ARCP_OK) {
        at->fd = -1;
        arcp__logger_format(at->logger, ARCP_LOG_WARN, "operators cannot use arcpd.sock: %s",
                            error.message);
        return;
    }
    at->inode = about.st_ino;
    at->device = about.st_dev;
    (void)uv_timer_init(loop, &at->retry);
    at->poll.data = at->retry.data = at;
    (void)uv_poll_start(&at->poll, UV_READABLE, on_readable);
    uv_unref((uv_handle_t *)&at->poll);
    uv_unref((uv_handle_t *)&at->retry);
}

void arcp__operator_socket_close(arcp__operator_socket *at)
{
    if (at->poll.data == NULL || at->fd < 0) {
        return;
    }
    uv_close((uv_handle_t *)&at->poll, NULL);
    uv_close((uv_handle_t *)&at->retry, NULL);
    if (is_ours(at)) {
        (void)unlink(at->path);
    }
    (void)close(at->fd);
    at->fd = -1;
}
