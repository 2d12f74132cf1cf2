#include "arcpd/door.h"

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

void door_init(door *d)
{
    *d = (door){.directory = "/tmp/arcp-door-XXXXXX"};
    assert_non_null(mkdtemp(d->directory));
    (void)snprintf(d->config, sizeof d->config, "%s/arcpd.yaml", d->directory);
    (void)snprintf(d->errors, sizeof d->errors, "%s/errors", d->directory);
}

void door_configure(const door *d, const char *format, ...)
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

/* The read end of its standard output. */
static int spawn(door *d, const char *argument)
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
        (void)execl(ARCP_BINARY_DIR "/bin/arcpd", "arcpd", "--config", d->config, argument,
                    (char *)NULL);
        _exit(127);
    }
    (void)close(out[1]);
    return out[0];
}

void door_start(door *d)
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

int door_refused(door *d, const char *argument)
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

size_t door_said(const door *d, const char *word)
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

void door_reload(const door *d, const char *word)
{
    const size_t before = door_said(d, word);
    assert_int_equal(kill(d->pid, SIGHUP), 0);
    for (int left = PATIENCE_MS; door_said(d, word) == before; left -= 10) {
        assert_true(left > 0);
        (void)poll(NULL, 0, 10);
    }
}

void door_fini(door *d)
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

static size_t write_some(const visitor *w, const char *data, size_t size)
{
    if (w->ssl != NULL) {
        const int written = SSL_write(w->ssl, data, (int)size);
        return written > 0 ? (size_t)written : 0;
    }
    const ssize_t written = send(w->fd, data, size, MSG_NOSIGNAL);
    return written > 0 ? (size_t)written : 0;
}

static void write_all(const visitor *w, const void *data, size_t size)
{
    const char *rest = data;
    while (size > 0) {
        const size_t written = write_some(w, rest, size);
        assert_true(written > 0);
        rest += written;
        size -= written;
    }
}

static bool read_all(const visitor *w, void *data, size_t size)
{
    char *rest = data;
    while (size > 0) {
        const ssize_t got =
            w->ssl != NULL ? SSL_read(w->ssl, rest, (int)size) : recv(w->fd, rest, size, 0);
        if (got <= 0) {
            return false;
        }
        rest += got;
        size -= (size_t)got;
    }
    return true;
}

bool visitor_connect(visitor *w, const door *d, const char *ca, int max_version)
{
    const struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)d->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    *w = (visitor){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_true(w->fd >= 0);
    assert_int_equal(setsockopt(w->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    assert_int_equal(connect(w->fd, (struct sockaddr *)&address, sizeof address), 0);
    if (ca == NULL) {
        return true;
    }
    w->context = SSL_CTX_new(TLS_client_method());
    assert_non_null(w->context);
    /* So that the client offers an old version, and arcpd has to refuse it. */
    SSL_CTX_set_security_level(w->context, 0);
    assert_int_equal(SSL_CTX_set_min_proto_version(w->context, TLS1_VERSION), 1);
    assert_int_equal(SSL_CTX_set_max_proto_version(w->context, max_version), 1);
    assert_int_equal(SSL_CTX_load_verify_file(w->context, ca), 1);
    SSL_CTX_set_verify(w->context, SSL_VERIFY_PEER, NULL);
    w->ssl = SSL_new(w->context);
    assert_non_null(w->ssl);
    assert_int_equal(SSL_set_fd(w->ssl, w->fd), 1);
    return SSL_connect(w->ssl) == 1;
}

long visitor_serial(const visitor *w)
{
    X509 *certificate = SSL_get1_peer_certificate(w->ssl);
    assert_non_null(certificate);
    const long serial = ASN1_INTEGER_get(X509_get0_serialNumber(certificate));
    X509_free(certificate);
    return serial;
}

int visitor_upgrade(visitor *w, const char *host, const char *more)
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
    write_all(w, request, (size_t)length);
    /* The head ends with an empty line; frames may follow it at once. */
    while (size < sizeof head - 1 && (size < 4 || memcmp(head + size - 4, "\r\n\r\n", 4) != 0)) {
        assert_true(read_all(w, head + size, 1));
        size++;
    }
    assert_true(size > 12);
    return (int)strtol(head + 9, NULL, 10);
}

/* The next text frame; fails when a close comes instead. */
static const char *read_frame(visitor *w)
{
    unsigned char head[4];
    assert_true(read_all(w, head, 2));
    size_t size = head[1];
    if (size == 126) {
        assert_true(read_all(w, head + 2, 2));
        size = (size_t)head[2] << 8 | head[3];
    }
    assert_true(size < sizeof w->text && head[0] == 0x81);
    assert_true(read_all(w, w->text, size));
    w->text[size] = '\0';
    return w->text;
}

const char *visitor_ask(visitor *w, const char *frame)
{
    const size_t size = strlen(frame);
    const unsigned char large[8] = {0x81, 0x80 | 126, (unsigned char)(size >> 8),
                                    (unsigned char)size};
    const unsigned char small[6] = {0x81, (unsigned char)(0x80 | size)};
    assert_true(size < 65536);
    /* The mask is four zeros. */
    write_all(w, size > 125 ? large : small, size > 125 ? sizeof large : sizeof small);
    write_all(w, frame, size);
    return read_frame(w);
}

const char *visitor_hello(visitor *w, const char *token)
{
    char frame[4096];
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{"
                   "\"client\":{\"name\":\"visitor\",\"version\":\"1\"},\"auth\":{\"scheme\":"
                   "\"bearer\",\"token\":\"%s\"},\"capabilities\":{\"features\":[]}}}",
                   token);
    return visitor_ask(w, frame);
}

const char *visitor_next(visitor *w)
{
    return read_frame(w);
}

void visitor_close(visitor *w)
{
    SSL_free(w->ssl);
    SSL_CTX_free(w->context);
    if (w->fd >= 0) {
        (void)close(w->fd);
    }
    *w = (visitor){.fd = -1};
}
