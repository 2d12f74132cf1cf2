#include "arcpd/http_get.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

unsigned short http_port(host *place)
{
    static const char before[] = "metrics at http://127.0.0.1:";
    process_await(&place->daemon, true, "/metrics\n");
    arcp_buf_append_byte(&place->daemon.err, '\0');
    const char *found = strstr(place->daemon.err.data, before);
    assert_non_null(found);
    place->daemon.err.size--;
    return (unsigned short)strtoul(found + strlen(before), NULL, 10);
}

int http_connect(unsigned short port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

void http_read_all(int fd, arcp_buf *out)
{
    char bytes[4096];
    for (ssize_t got = read(fd, bytes, sizeof bytes); got > 0;
         got = read(fd, bytes, sizeof bytes)) {
        arcp_buf_append(out, arcp_span_make(bytes, (size_t)got));
    }
    arcp_buf_append_byte(out, '\0');
    close(fd);
}

void http_ask(unsigned short port, const char *request, arcp_buf *out)
{
    const int fd = http_connect(port);
    const size_t size = strlen(request);
    assert_int_equal(send(fd, request, size, MSG_NOSIGNAL), size);
    http_read_all(fd, out);
}
