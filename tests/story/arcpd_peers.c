#include "story/arcpd_peers.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/check.h"

#include "base/alloc.h"

#define POLL_MS 100

/* ---- all peers ---- */

void arcpd_peers_begin(arcpd_peers *all, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    *all = (arcpd_peers){.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_int_equal(bind(all->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(all->listener, 64), 0);
    for (int i = 0; i < PEERS_MAX; i++) {
        all->peers[i].wire.fd = -1;
    }
}

void arcpd_peers_drop(arcpd_peers *all)
{
    for (int i = 0; i < PEERS_MAX; i++) {
        peer_drop(&all->peers[i]);
    }
}

void arcpd_peers_end(arcpd_peers *all)
{
    arcpd_peers_drop(all);
    (void)close(all->listener);
}

peer *peer_of(arcpd_peers *all, const char *name)
{
    for (int i = 0; i < PEERS_MAX; i++) {
        peer *p = &all->peers[i];
        if (p->name[0] == '\0') { /* the first unused one */
            (void)snprintf(p->name, sizeof p->name, "%s", name);
        }
        if (strcmp(p->name, name) == 0) {
            return p;
        }
    }
    fail_msg("too many clients and agents: no place for %s", name);
    return NULL;
}

peer *peer_of_job(arcpd_peers *all, const char *job_id)
{
    peer *wanted = peer_of(all, job_id);
    while (wanted->wire.fd < 0) {
        struct pollfd poll_one = {.fd = all->listener, .events = POLLIN};
        char name[64] = {0};
        size_t size = 0;
        if (poll(&poll_one, 1, WIRE_PATIENCE_MS) <= 0) {
            fail_msg("job %s has no agent", job_id);
        }
        const int fd = accept4(all->listener, NULL, NULL, SOCK_CLOEXEC);
        assert_true(fd >= 0);
        while (size < sizeof name - 1 && read(fd, name + size, 1) == 1 && name[size] != '\n') {
            size++;
        }
        name[size] = '\0';
        peer *p = peer_of(all, name);
        peer_drop(p);
        p->speaks_lines = true;
        p->wire = (wire){.fd = fd};
    }
    return wanted;
}

/* ---- one peer ---- */

void peer_connect(peer *p, unsigned short port)
{
    peer_drop(p);
    p->speaks_lines = false;
    if (!wire_try(&p->wire, port)) {
        fail_msg("%s cannot connect", p->name);
    }
}

void peer_drop(peer *p)
{
    wire_close(&p->wire);
    while (p->text_count > 0) {
        arcp__free(p->texts[--p->text_count]);
    }
}

void peer_send(peer *p, const char *text)
{
    if (p->speaks_lines) {
        wire_send_bytes(&p->wire, text, strlen(text));
        wire_send_bytes(&p->wire, "\n", 1);
    } else {
        wire_send(&p->wire, "%s", text);
    }
}

void peer_exit(peer *p, int status)
{
    const char order[2] = {'\0', (char)('0' + status)};
    wire_send_bytes(&p->wire, order, sizeof order);
}

/* Receives the texts that have arrived; waits at most wait_ms for the first. */
static void receive(peer *p, int wait_ms)
{
    arcp_span text;
    (void)wire_fill(&p->wire, wait_ms);
    while (p->speaks_lines ? wire_next_line(&p->wire, &text) : wire_next(&p->wire, &text)) {
        assert_true(p->text_count < PEER_TEXTS_MAX);
        p->texts[p->text_count] = arcp__copy_cstr(text.data, text.size);
        assert_non_null(p->texts[p->text_count++]);
    }
}

const char *peer_text_at(peer *p, unsigned index)
{
    for (int left = WIRE_PATIENCE_MS; index >= p->text_count && !p->wire.ended && left > 0;
         left -= POLL_MS) {
        receive(p, POLL_MS);
    }
    return index < p->text_count ? p->texts[index] : NULL;
}

void peer_remove(peer *p, unsigned index)
{
    arcp__free(p->texts[index]);
    p->text_count--;
    memmove(p->texts + index, p->texts + index + 1, (p->text_count - index) * sizeof p->texts[0]);
}

static int code_of(const peer *p)
{
    return p->wire.close_code == 0 && p->wire.ended ? 1006 : p->wire.close_code;
}

int peer_close_code(peer *p)
{
    receive(p, 0);
    return code_of(p);
}

int peer_await_close(peer *p)
{
    for (int left = WIRE_PATIENCE_MS; code_of(p) == 0 && left > 0; left -= POLL_MS) {
        receive(p, POLL_MS);
    }
    return code_of(p);
}
