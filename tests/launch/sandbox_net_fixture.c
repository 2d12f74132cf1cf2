#include "launch/sandbox_net_fixture.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

const uint16_t net_web[3] = {80, 443, 8080};

static void on_record(void *user, arcp_span record)
{
    net_world *w = user;
    arcp_buf_append(&w->f->records, record);
    arcp_buf_append_byte(&w->f->records, '\n');
}

static void on_listeners(void *user, const int *sockets, size_t count)
{
    net_world *w = user;
    assert_int_equal(w->count, 0);
    w->count = count;
    for (size_t i = 0; i < count; i++) {
        w->listeners[i] = (struct pollfd){.fd = sockets[i], .events = POLLIN};
    }
}

static void on_refused(void *user, const char *reason)
{
    (void)user;
    fail_msg("refused: %s", reason);
}

struct sockaddr_in6 net_local_of(int fd)
{
    struct sockaddr_in6 local;
    socklen_t size = sizeof local;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&local, &size), 0);
    assert_int_equal(local.sin6_family, AF_INET6);
    return local;
}

unsigned net_port_of(int fd)
{
    return ntohs(net_local_of(fd).sin6_port);
}

int net_type_of(int fd)
{
    int type = 0;
    socklen_t size = sizeof type;
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size), 0);
    return type;
}

arcp__launch_control_events net_events(net_world *w)
{
    const arcp__launch_control_events events = {on_record, on_listeners, on_refused, NULL, w};
    return events;
}

arcp_process *net_start(net_world *w, const char *const *argv, int out)
{
    const arcp__launch_control_events events = net_events(w);
    sandbox_fixture *f = w->f;
    int control = -1;
    arcp_buf_clear(&f->records);
    arcp_buf_clear(&f->output);
    f->spec.stdin_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    f->spec.stdout_fd = f->spec.stderr_fd = out;
    arcp_process *process = sandbox_start(f, argv, &control);
    (void)close(f->spec.stdin_fd);
    f->spec.stdin_fd = -1;
    arcp__launch_control_init(&w->control, control, &events);
    return process;
}

void net_finish(net_world *w, arcp_process *process)
{
    sandbox_fixture *f = w->f;
    wait_for_exit(process);
    f->end = arcp_process_exit_init();
    assert_true(process->ops->take_exit(process, &f->end));
    process->ops->free(process);
    while (arcp__launch_control_take(&w->control)) {
    }
    arcp_buf_append_byte(&f->records, '\0');
    for (size_t i = 0; i < w->count; i++) {
        (void)close(w->listeners[i].fd);
    }
    w->count = 0;
}

void net_await_listeners(net_world *w)
{
    while (w->count == 0 && w->control.fd >= 0) {
        struct pollfd waited = {.fd = w->control.fd, .events = POLLIN};
        assert_int_equal(poll(&waited, 1, 60000), 1);
        (void)arcp__launch_control_take(&w->control);
    }
}

void net_use_ports(sandbox_fixture *f, const uint16_t *ports, size_t count)
{
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    if (sandbox_abilities()->values[ARCP__SANDBOX_ABILITY_EGRESS] == 0) {
        (void)fprintf(stderr, "NOT RUN: this host has no network for sandboxes\n");
        skip();
    }
    f->plan.ports = ports;
    f->plan.port_count = count;
}
