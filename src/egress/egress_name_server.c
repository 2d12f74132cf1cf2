/* DNS, over UDP and TCP. A response is sent from the address that was asked, whatever that is: all
 * addresses inside lead here. libuv does not tell that address, so datagrams are received and sent
 * by hand. */
#include <errno.h>
#include <unistd.h>

#include <utlist.h>

#include "base/alloc.h"
#include "egress/egress_parts.h"

#define DATAGRAMS_PER_TURN 64
#define LENGTH_BYTES       2 /* before each message over TCP (RFC 1035 section 4.2.2) */

struct arcp__egress_name_server {
    arcp__egress_name_server *prev;
    arcp__egress_name_server *next;
    arcp__egress_job *job;
    uv_poll_t poll;
    int fd;
};

/* The response to one query, and its report: NULL when there is none to send, also when the report
 * has closed the job. `out` is the memory for it. */
static const arcp__egress_dns_answer *answer_query(arcp__egress_job *job, arcp_span query,
                                                   arcp__egress_dns_answer *out)
{
    arcp__egress_dns_respond(job->names, query, out);
    if (out->is_denied) {
        arcp__egress_job_report(job, arcp_span_cstr(out->name), ARCP__EGRESS_NO_PATTERN,
                                "no pattern of the lease can match this name");
    }
    return job->is_closed || out->size == 0 ? NULL : out;
}

/* ---- UDP ---- */

/* Receives a query; false when there is none. */
static bool receive(int fd, struct msghdr *message)
{
    ssize_t size = -1;
    do {
        size = recvmsg(fd, message, MSG_DONTWAIT);
    } while (size < 0 && errno == EINTR);
    if (size >= 0) {
        message->msg_iov->iov_len = (size_t)size;
    }
    return size >= 0;
}

/* Makes the control message that came with a query one that sends from the address that was asked.
 * The interface is left to the routes. */
static void answer_from_there(struct msghdr *message)
{
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL;
         header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_PKTINFO) {
            struct in6_pktinfo info;
            memcpy(&info, CMSG_DATA(header), sizeof info);
            info.ipi6_ifindex = 0;
            memcpy(CMSG_DATA(header), &info, sizeof info);
        } else if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO) {
            struct in_pktinfo info;
            memcpy(&info, CMSG_DATA(header), sizeof info);
            info.ipi_ifindex = 0;
            info.ipi_spec_dst = info.ipi_addr;
            memcpy(CMSG_DATA(header), &info, sizeof info);
        }
    }
}

/* Serves one datagram; false when none is waiting, or when the job is closed. */
static bool serve_datagram(const arcp__egress_name_server *server)
{
    struct sockaddr_storage from;
    char query[ARCP__EGRESS_DNS_MESSAGE_MAX];
    _Alignas(struct cmsghdr) char control[256];
    arcp__egress_dns_answer memory;
    struct iovec bytes = {query, sizeof query};
    struct msghdr message = {.msg_name = &from,
                             .msg_namelen = sizeof from,
                             .msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    arcp__egress_job *job = server->job;
    if (!receive(server->fd, &message)) {
        return false;
    }
    const arcp__egress_dns_answer *answer =
        answer_query(job, arcp_span_make(query, bytes.iov_len), &memory);
    if (answer != NULL) {
        bytes = (struct iovec){memory.bytes, answer->size};
        answer_from_there(&message);
        message.msg_flags = 0;
        (void)sendmsg(server->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL); /* or it is asked again */
    }
    return !job->is_closed;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    const arcp__egress_name_server *server = poll->data;
    for (int i = 0; status == 0 && i < DATAGRAMS_PER_TURN && serve_datagram(server); i++) {
    }
}

static void on_closed(uv_handle_t *poll)
{
    arcp__egress_name_server *server = poll->data;
    arcp__egress_job *job = server->job;
    close(server->fd);
    arcp__free(server);
    arcp__egress_job_unref(job);
}

void arcp__egress_name_server_close(arcp__egress_name_server *server)
{
    DL_DELETE(server->job->name_servers, server);
    uv_close((uv_handle_t *)&server->poll, on_closed);
}

arcp_status arcp__egress_name_server_open(arcp__egress_job *job, int fd, arcp_error *err)
{
    const int on = 1;
    /* One of the two fails, depending on the family. */
    const bool has_four = setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on) == 0;
    const bool has_six = setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on) == 0;
    arcp__egress_name_server *server = arcp__alloc(sizeof *server);
    if (server == NULL) {
        close(fd);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a socket of a sandbox");
    }
    const int result =
        has_four || has_six ? uv_poll_init(job->egress->loop, &server->poll, fd) : -errno;
    if (result != 0) {
        close(fd);
        arcp__free(server);
        return arcp_error_set(err, ARCP_E_IO, "cannot serve DNS: %s", uv_strerror(result));
    }
    server->poll.data = server;
    server->job = job;
    server->fd = fd;
    job->references++;
    DL_APPEND(job->name_servers, server);
    uv_poll_start(&server->poll, UV_READABLE, on_readable);
    return ARCP_OK;
}

/* ---- TCP ---- */

bool arcp__egress_names_step(arcp__egress_connection *c)
{
    const unsigned char *data = (const unsigned char *)c->client.in.data;
    const size_t size = c->client.in.size;
    const size_t query = size < LENGTH_BYTES ? 0 : ((size_t)data[0] << 8 | data[1]);
    arcp__egress_dns_answer memory;
    if (size < LENGTH_BYTES || query > size - LENGTH_BYTES ||
        !arcp__egress_side_has_room(&c->client)) {
        if (c->client.has_ended && arcp__egress_side_is_flushed(&c->client)) {
            arcp__egress_connection_close(c);
            return true;
        }
        return false;
    }
    const arcp__egress_dns_answer *answer =
        answer_query(c->job, arcp_span_make(c->client.in.data + LENGTH_BYTES, query), &memory);
    if (c->stage == ARCP__EGRESS_IS_CLOSED) {
        return true;
    }
    arcp_buf_consume(&c->client.in, LENGTH_BYTES + query);
    if (answer != NULL) {
        const char length[LENGTH_BYTES] = {(char)(answer->size >> 8), (char)(answer->size & 0xff)};
        arcp_buf_append(&c->client.out, arcp_span_make(length, sizeof length));
        arcp_buf_append(&c->client.out, arcp_span_make(answer->bytes, answer->size));
    }
    return true;
}
