#include "arcpd/arcpd_process.h"

#include "support/check.h"
#include "support/remove_tree.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 20000

void arcpd_init(arcpd_process *d)
{
    *d = (arcpd_process){.directory = "/tmp/arcpd-process-XXXXXX"};
    assert_non_null(mkdtemp(d->directory));
    (void)snprintf(d->config, sizeof d->config, "%s/arcpd.yaml", d->directory);
    (void)snprintf(d->errors, sizeof d->errors, "%s/errors", d->directory);
}

void arcpd_configure(const arcpd_process *d, const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    assert_true(size >= 0 && (size_t)size < sizeof text);
    FILE *file = fopen(d->config, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* In the child: the descriptors from 3 on, and what says so. */
static void pass_sockets(const arcpd_process *d)
{
    char number[16];
    for (int i = 0; i < d->passed_count; i++) {
        (void)dup2(d->passed[i], 3 + i);
    }
    (void)snprintf(number, sizeof number, "%d", (int)getpid());
    (void)setenv("LISTEN_PID", number, 0);
    (void)snprintf(number, sizeof number, "%d", d->passed_count);
    (void)setenv("LISTEN_FDS", number, 1);
}

/* The read end of its standard output. */
static int spawn(arcpd_process *d, const char *argument)
{
    int out[2];
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    d->pid = fork();
    assert_true(d->pid >= 0);
    if (d->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* so that a failed test leaves no process */
        const int errors = open(d->errors, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        (void)dup2(out[1], STDOUT_FILENO);
        (void)dup2(errors, STDERR_FILENO);
        (void)setenv("STATE_DIRECTORY", d->directory, 1);
        if (d->passed_count != 0) {
            pass_sockets(d);
        }
        (void)execl(ARCP_BINARY_DIR "/bin/arcpd", "arcpd", "--config", d->config, argument,
                    (char *)NULL);
        _exit(127);
    }
    (void)close(out[1]);
    return out[0];
}

void arcpd_start(arcpd_process *d)
{
    char line[512] = {0};
    size_t size = 0;
    const int out = spawn(d, NULL);
    while (size < sizeof line - 1 && strchr(line, '\n') == NULL) {
        const ssize_t got = read(out, line + size, sizeof line - 1 - size);
        if (got <= 0) {
            fail_msg("arcpd did not get ready: %s", line);
        }
        size += (size_t)got;
    }
    (void)close(out);
    const char *port = strrchr(line, ':');
    assert_non_null(port);
    d->port = (int)strtol(port + 1, NULL, 10);
}

int arcpd_start_refused(arcpd_process *d, const char *argument)
{
    int status = 0;
    char line[512];
    const int out = spawn(d, argument);
    struct pollfd ended = {.fd = out, .events = POLLIN};
    assert_int_equal(poll(&ended, 1, PATIENCE_MS), 1);
    const ssize_t got = read(out, line, sizeof line);
    if (got != 0) {
        fail_msg("arcpd did not refuse: %.*s", (int)(got > 0 ? got : 0), line);
    }
    assert_int_equal(waitpid(d->pid, &status, 0), d->pid);
    (void)close(out);
    d->pid = 0;
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

size_t arcpd_log_count(const arcpd_process *d, const char *word)
{
    static char text[262144];
    FILE *file = fopen(d->errors, "re");
    assert_non_null(file);
    const size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    (void)fclose(file);
    size_t count = 0;
    for (const char *found = strstr(text, word); found != NULL; found = strstr(found + 1, word)) {
        count++;
    }
    return count;
}

void arcpd_reload(const arcpd_process *d, const char *word)
{
    const size_t before = arcpd_log_count(d, word);
    assert_int_equal(kill(d->pid, SIGHUP), 0);
    for (int left = PATIENCE_MS; arcpd_log_count(d, word) == before; left -= 10) {
        assert_true(left > 0);
        (void)poll(NULL, 0, 10);
    }
}

void arcpd_fini(arcpd_process *d)
{
    if (d->pid > 0) {
        int status = 0;
        assert_int_equal(kill(d->pid, SIGTERM), 0);
        assert_int_equal(waitpid(d->pid, &status, 0), d->pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    (void)remove_tree(d->directory);
}

/* ---- clients ---- */

static size_t write_some(const blocking_client *c, const char *data, size_t size)
{
    if (c->ssl != NULL) {
        const int written = SSL_write(c->ssl, data, (int)size);
        return written > 0 ? (size_t)written : 0;
    }
    const ssize_t written = send(c->fd, data, size, MSG_NOSIGNAL);
    return written > 0 ? (size_t)written : 0;
}

static void write_all(const blocking_client *c, const void *data, size_t size)
{
    const char *rest = data;
    while (size > 0) {
        const size_t written = write_some(c, rest, size);
        assert_true(written > 0);
        rest += written;
        size -= written;
    }
}

static bool read_all(const blocking_client *c, void *data, size_t size)
{
    char *rest = data;
    while (size > 0) {
        const ssize_t got =
            c->ssl != NULL ? SSL_read(c->ssl, rest, (int)size) : recv(c->fd, rest, size, 0);
        if (got <= 0) {
            return false;
        }
        rest += got;
        size -= (size_t)got;
    }
    return true;
}

bool client_connect(blocking_client *c, const arcpd_process *d, const char *ca, int max_version)
{
    const struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)d->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    *c = (blocking_client){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_true(c->fd >= 0);
    assert_int_equal(setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    assert_int_equal(connect(c->fd, (struct sockaddr *)&address, sizeof address), 0);
    if (ca == NULL) {
        return true;
    }
    c->context = SSL_CTX_new(TLS_client_method());
    assert_non_null(c->context);
    /* So that the client offers an old version, and arcpd has to refuse it. */
    SSL_CTX_set_security_level(c->context, 0);
    assert_int_equal(SSL_CTX_set_min_proto_version(c->context, TLS1_VERSION), 1);
    assert_int_equal(SSL_CTX_set_max_proto_version(c->context, max_version), 1);
    assert_int_equal(SSL_CTX_load_verify_file(c->context, ca), 1);
    SSL_CTX_set_verify(c->context, SSL_VERIFY_PEER, NULL);
    c->ssl = SSL_new(c->context);
    assert_non_null(c->ssl);
    assert_int_equal(SSL_set_fd(c->ssl, c->fd), 1);
    return SSL_connect(c->ssl) == 1;
}

long client_serial(const blocking_client *c)
{
    X509 *certificate = SSL_get1_peer_certificate(c->ssl);
    assert_non_null(certificate);
    const long serial = ASN1_INTEGER_get(X509_get0_serialNumber(certificate));
    X509_free(certificate);
    return serial;
}

int client_upgrade(blocking_client *c, const char *host, const char *more)
{
    char request[512];
    char head[1024] = {0};
    size_t size = 0;
    const int length =
        snprintf(request, sizeof request,
                 "GET /arcp HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\n"
                 "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                 "Sec-WebSocket-Version: 13\r\n%s\r\n",
                 host, more);
    write_all(c, request, (size_t)length);
    /* The head ends with an empty line; frames may follow it at once. */
    while (size < sizeof head - 1 && (size < 4 || memcmp(head + size - 4, "\r\n\r\n", 4) != 0)) {
        assert_true(read_all(c, head + size, 1));
        size++;
    }
    assert_true(size > 12);
    return (int)strtol(head + 9, NULL, 10);
}

/* The next text frame; fails when a close comes instead. */
static const char *read_frame(blocking_client *c)
{
    unsigned char head[4];
    assert_true(read_all(c, head, 2));
    size_t size = head[1];
    if (size == 126) {
        assert_true(read_all(c, head + 2, 2));
        size = (size_t)head[2] << 8 | head[3];
    }
    assert_true(size < sizeof c->text && head[0] == 0x81);
    assert_true(read_all(c, c->text, size));
    c->text[size] = '\0';
    return c->text;
}

const char *client_request(blocking_client *c, const char *frame)
{
    const size_t size = strlen(frame);
    const unsigned char large[8] = {0x81, 0x80 | 126, (unsigned char)(size >> 8),
                                    (unsigned char)size};
    const unsigned char small[6] = {0x81, (unsigned char)(0x80 | size)};
    assert_true(size < 65536);
    /* The mask is four zeros. */
    write_all(c, size > 125 ? large : small, size > 125 ? sizeof large : sizeof small);
    write_all(c, frame, size);
    return read_frame(c);
}

const char *client_hello(blocking_client *c, const char *token)
{
    char frame[4096];
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{"
                   "\"client\":{\"name\":\"test\",\"version\":\"1\"},\"auth\":{\"scheme\":"
                   "\"bearer\",\"token\":\"%s\"},\"capabilities\":{\"features\":[]}}}",
                   token);
    return client_request(c, frame);
}

const char *client_next(blocking_client *c)
{
    return read_frame(c);
}

void client_close(blocking_client *c)
{
    SSL_free(c->ssl);
    SSL_CTX_free(c->context);
    if (c->fd >= 0) {
        (void)close(c->fd);
    }
    *c = (blocking_client){.fd = -1};
}
