/* The agent of stories on a real arcpd: relays its standard input and output to the test, over the
 * unix socket that its first argument names. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int copy(int from, int to)
{
    char bytes[65536];
    const ssize_t size = read(from, bytes, sizeof bytes);
    for (ssize_t offset = 0; offset < size;) {
        const ssize_t written = write(to, bytes + offset, (size_t)(size - offset));
        if (written <= 0) {
            return 0;
        }
        offset += written;
    }
    return size > 0;
}

int main(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *job_id = getenv("ARCP_JOB_ID");
    const int test = socket(AF_UNIX, SOCK_STREAM, 0);
    if (argc < 2 || job_id == NULL || test < 0) {
        return 64;
    }
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", argv[1]);
    if (connect(test, (struct sockaddr *)&address, sizeof address) != 0) {
        return 65;
    }
    (void)dprintf(test, "%s\n", job_id);
    struct pollfd polls[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                              {.fd = test, .events = POLLIN}};
    for (;;) {
        (void)poll(polls, 2, -1);
        if ((polls[0].revents & (POLLIN | POLLHUP)) != 0 && !copy(STDIN_FILENO, test)) {
            polls[0].fd = -1;
        }
        if ((polls[1].revents & POLLIN) != 0) {
            char status = 0;
            /* A zero byte and a digit: exit with this status. */
            if (recv(test, &status, 1, MSG_PEEK) == 1 && status == '\0') {
                char order[2] = {0};
                (void)recv(test, order, sizeof order, MSG_WAITALL);
                return order[1] - '0';
            }
            if (!copy(test, STDOUT_FILENO)) {
                return 66;
            }
        } else if ((polls[1].revents & POLLHUP) != 0) {
            return 66;
        }
    }
}
