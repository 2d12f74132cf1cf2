/* The network of `arcp run`: a server on this machine's loopback is reached as far as the lease
 * says, and what is denied is reported. */
#include "arcp/run_fixture.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- a server of this machine ---- */

#define SLOW_BEGIN "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nbegin\n"

typedef struct host {
    run_fixture *f;
    pthread_t thread;
    int listener;
    char port[16];       /* PORT=NUMBER */
    atomic_int slow_end; /* downloads that the other side has closed */
    int stop[2];         /* a pipe; closed: the server ends */
} host;

/* Answers one request: /slow with a body that never ends, all others with "hello". */
static void answer(host *h, int fd)
{
    char head[8192];
    size_t size = 0;
    ssize_t got = 1;
    while (got > 0 && size < sizeof head - 1 &&
           (size < 4 || memmem(head, size, "\r\n\r\n", 4) == NULL)) {
        got = read(fd, head + size, sizeof head - 1 - size);
        size += got > 0 ? (size_t)got : 0;
    }
    head[size] = '\0';
    if (strncmp(head, "GET /slow", 9) != 0) {
        static const char hello[] = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n";
        (void)!write(fd, hello, sizeof hello - 1);
        return;
    }
    (void)!write(fd, SLOW_BEGIN, sizeof SLOW_BEGIN - 1);
    while (read(fd, head, sizeof head) > 0) {
    }
    h->slow_end++;
}

static void *serve(void *user)
{
    host *h = user;
    struct pollfd waited[] = {{.fd = h->listener, .events = POLLIN},
                              {.fd = h->stop[0], .events = POLLIN}};
    while (poll(waited, 2, -1) > 0 && waited[1].revents == 0) {
        const int fd = accept(h->listener, NULL, NULL);
        if (fd >= 0) {
            answer(h, fd);
            (void)close(fd);
        }
    }
    return NULL;
}

static int set_up(void **state)
{
    static host h;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    void *fixture = NULL;
    assert_int_equal(run_fixture_begin(&fixture), 0);
    h = (host){.f = fixture, .listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_equal(bind(h.listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(h.listener, 8), 0);
    assert_int_equal(getsockname(h.listener, (struct sockaddr *)&at, &size), 0);
    (void)snprintf(h.port, sizeof h.port, "PORT=%d", ntohs(at.sin_port));
    assert_int_equal(pipe(h.stop), 0);
    assert_int_equal(pthread_create(&h.thread, NULL, serve, &h), 0);
    /* get HOST PATH: the response to a request, without a client that CI may not have. */
    run_fixture_write(
        h.f, "project/get",
        "#!/bin/bash\n"
        "exec 3<>\"/dev/tcp/$1/$PORT\" || exit 9\n"
        "printf 'GET %s HTTP/1.1\\r\\nHost: %s:%s\\r\\nConnection: close\\r\\n\\r\\n' "
        "\"$2\" \"$1\" \"$PORT\" >&3\n"
        "sed -u 's/\\r$//' <&3\n");
    run_fixture_write(h.f, "project/get-by-proxy",
                      "#!/bin/bash\n"
                      "place=${HTTP_PROXY##*@} secret=${HTTP_PROXY#http://} host=${1#http://}\n"
                      "exec 3<>\"/dev/tcp/${place%:*}/${place#*:}\" || exit 9\n"
                      "printf 'GET %s HTTP/1.1\\r\\nHost: %s\\r\\nProxy-Authorization: Basic "
                      "%s\\r\\nConnection: close\\r\\n\\r\\n' \"$1\" \"${host%%/*}\" "
                      "\"$(printf %s \"${secret%%@*}\" | base64 -w0)\" >&3\n"
                      "sed -u 's/\\r$//' <&3\n");
    *state = &h;
    return 0;
}

static int tear_down(void **state)
{
    host *h = *state;
    void *fixture = h->f;
    (void)close(h->stop[1]);
    assert_int_equal(pthread_join(h->thread, NULL), 0);
    (void)close(h->stop[0]);
    (void)close(h->listener);
    return run_fixture_end(&fixture);
}

/* Replaces the server's port by $PORT, and the root by $ROOT. */
static void mask(const host *h, const arcp_buf *text, arcp_buf *out)
{
    const char *number = strchr(h->port, '=') + 1;
    const size_t size = strlen(number);
    arcp_buf masked = arcp_buf_init();
    run_fixture_mask(h->f, text, &masked);
    for (size_t i = 0; i < masked.size;) {
        if (masked.size - i >= size && memcmp(masked.data + i, number, size) == 0) {
            arcp_buf_append_cstr(out, "$PORT");
            i += size;
        } else {
            arcp_buf_append_byte(out, masked.data[i++]);
        }
    }
    arcp_buf_fini(&masked);
}

/* ---- what is granted, and what is denied ---- */

typedef struct row {
    const char *name;
    const char *script;
    int status;
    const char *out; /* NULL: not compared; "~TEXT": contains it */
    const char *err; /* compared as `out` is */
} row;

#define RUN       "$ARCP run --env PORT "
#define GET(path) "-- bash get localhost " path
#define HELLO     "HTTP/1.1 200 OK\nContent-Length: 6\n\nhello\n"
#define LOCAL     "http://localhost:$PORT"

static const row rows[] = {
    {"a URL without a path is all of the host", RUN "--fetch " LOCAL " " GET("/f") " | tail -1", 0,
     "hello\n", ""},
    {"so is its pattern", RUN "--fetch \"" LOCAL "/**\" " GET("/f"), 0, NULL, NULL},
    {"a pattern of --grant", RUN "--grant \"net.fetch=" LOCAL "/**\" " GET("/a/b") " | tail -1", 0,
     "hello\n", ""},
    {"a lease",
     RUN "--read . --lease \"{\\\"net.fetch\\\":[\\\"" LOCAL "/**\\\"]}\" " GET("/f") " | tail -1",
     0, "hello\n", ""},
    {"the address of the host",
     RUN "--fetch http://127.0.0.1:$PORT -- bash get 127.0.0.1 /f"
         " | tail -1",
     0, "hello\n", ""},
    {"it is exact", RUN "--min exact --fetch " LOCAL "/f " GET("/f") " | tail -1", 0, "hello\n",
     ""},

    {"another path is denied and suggested", RUN "--fetch " LOCAL "/f " GET("/g") " | grep ^HTTP",
     0, "HTTP/1.1 403 Forbidden\n",
     "denied    net.fetch " LOCAL "/g\narcp run: 1 denied. To allow: --fetch " LOCAL "/g\n"},
    {"the response says why", RUN "--fetch " LOCAL "/f " GET("/g"), 0,
     "~\"code\":\"PERMISSION_DENIED\"", NULL},
    {"a path is quoted for the shell",
     RUN "--fetch " LOCAL "/f " GET("'/g?a=b&c=$(d)'") " | grep ^HTTP", 0, NULL,
     "~To allow: --fetch '" LOCAL "/g?a=b&c=$(d)'\n"},
    {"one with a star is not suggested", RUN "--fetch " LOCAL "/f " GET("'/*'") " | grep ^HTTP", 0,
     NULL, "denied    net.fetch " LOCAL "/*\narcp run: 1 denied.\n"},
    {"each is printed once",
     RUN "--fetch " LOCAL "/f -- sh -c 'for i in 1 2 3; do bash get localhost"
         " /g; done' | grep -c 'HTTP.1.1 403'",
     0, "3\n",
     "denied    net.fetch " LOCAL "/g\narcp run: 1 denied. To allow: --fetch " LOCAL "/g\n"},
    {"several of a host are suggested as one",
     RUN "--fetch " LOCAL "/f -- sh -c 'for i in 1 2 3; do"
         " bash get localhost /$i; done' | grep -c 'HTTP.1.1 403'",
     0, "3\n", "~arcp run: 3 denied. To allow: --fetch " LOCAL "\n"},
    {"--quiet prints none of it", RUN "--quiet --fetch " LOCAL "/f " GET("/g") " | grep ^HTTP", 0,
     "HTTP/1.1 403 Forbidden\n", ""},
    {"https of the host is not http",
     RUN "--fetch https://localhost:$PORT " GET("/f") " | grep ^HTTP", 0,
     "HTTP/1.1 403 Forbidden\n", "~denied    net.fetch " LOCAL "/f\n"},

    {"a name that is not granted is reported",
     "$ARCP run --fetch a.example -- getent hosts "
     "example.com",
     2, "",
     "~denied    net.fetch example.com\narcp run: 1 denied. To allow: "
     "--fetch example.com\n"},
    {"also without any network", "$ARCP run -- getent hosts example.com", 2, "",
     "~denied    net.fetch example.com\narcp run: 1 denied. To allow: --fetch example.com\n"},
    {"one that is granted has an address inside",
     "$ARCP run --fetch a.example -- getent hosts a.example | cut -d. -f1,2", 0, "198.18\n", ""},
    {"its own name is not asked for", "$ARCP run -- getent hosts arcp | grep -c arcp", 0, "1\n",
     ""},
    {"nor is the name of an address", "$ARCP run -- getent hosts 192.0.2.1 2>&1 | grep -c denied",
     1, "0\n", ""},
    {"loopback is the sandbox's own", RUN "-- bash get localhost /f", 9, "", NULL},
    {"the explicit proxy is named", "$ARCP run --fetch a.example -- sh -c 'echo $ARCP_PROXY'", 0,
     "http://127.0.0.1:3128\n", ""},
    {"no other variable is set", "$ARCP run --fetch a.example -- env | grep -ci '_proxy='", 0,
     "1\n", ""},
    {"the proxy serves absolute URLs",
     RUN "--fetch " LOCAL " -- bash -c 'exec 3<>/dev/tcp/127.0.0.1"
         "/3128; printf \"GET " LOCAL "/f HTTP/1.1\\r\\nHost: localhost:$PORT\\r\\nConnection: "
         "close\\r\\n\\r\\n\" >&3; cat <&3' | tail -1",
     0, "hello\n", ""},

    {"--private-host takes the name of a host", "$ARCP run --private-host h:80 -- true", 2, "",
     "~--private-host 'h:80' is not the name of a host"},
    {"and no pattern", "$ARCP run --private-host '*.h' -- true", 2, "",
     "~--private-host '*.h' is not the name of a host"},
    {"nor an empty one", "$ARCP run --private-host '' -- true", 2, "",
     "~is not the name of a host"},
    {"nor other text", "$ARCP run --private-host 'a b' -- true", 2, "",
     "~is not the name of a host"},
    {"a name is accepted", "$ARCP run --fetch git.example --private-host Git.Example -- true", 0,
     "", ""},

    {"a line that is not exact is printed before the start",
     "$ARCP run --fetch https://a.example/v1/x -- true", 0, "",
     "refused   net.fetch https://a.example/v1/x: a path inside TLS can be matched only with `tls: "
     "terminate`\n"},
    {"it is enforced where TLS is terminated",
     "$ARCP run --min exact --tls terminate --fetch https://a.example/v1/x -- sh -c 'cmp -s "
     "/etc/ssl/certs/ca-certificates.crt $SSL_CERT_FILE && cmp -s $NODE_EXTRA_CA_CERTS "
     "/etc/ssl/certs/*[0-9a-f]*.0 2>/dev/null; grep -c BEGIN $NODE_EXTRA_CA_CERTS; "
     "tail -n 12 $REQUESTS_CA_BUNDLE | grep -c BEGIN; test $GIT_SSL_CAINFO = $SSL_CERT_FILE'",
     0, "1\n1\n", ""},
    {"nothing of that is there without need",
     "$ARCP run --tls terminate --fetch https://a.example -- sh -c 'env | grep CERT; ls /dev/arcp'",
     2, "", NULL},
    {"the command cannot change what it trusts",
     "$ARCP run --tls terminate --fetch https://a.example/x -- sh -c 'echo >$SSL_CERT_FILE || "
     "touch /dev/arcp/x || rm -r /dev/arcp || mv /dev/arcp /dev/x'",
     1, "", NULL},
    {"the key stays outside",
     "$ARCP run --tls terminate --fetch https://a.example/x -- sh -c 'cat /dev/arcp/* | grep -c "
     "PRIVATE'",
     1, "0\n", NULL},
    {"--env is stronger",
     "$ARCP run --tls terminate --env SSL_CERT_FILE=/x --fetch https://a.example/x -- sh -c 'echo "
     "$SSL_CERT_FILE'",
     0, "/x\n", ""},
    {"it is trusted where /etc is the host's, too",
     "$ARCP run --tls terminate --read /etc --fetch https://a.example/x -- sh -c 'cat "
     "$SSL_CERT_FILE' | grep -c BEGIN >/dev/null",
     0, "", NULL},
    {"--tls takes two words", "$ARCP run --tls open -- true", 2, "",
     "~--tls: 'open' is not one of tunnel, terminate"},
};

/* At level landlock. */
#define LANDLOCK                                                                                   \
    "arcp run: level landlock: names and sizes of all files can be seen (see `arcp doctor`)\n"
#define BY_PROXY                                                                                   \
    "without namespaces only programs that use the proxy of their environment (HTTPS_PROXY) "      \
    "reach "                                                                                       \
    "it"
/* get-by-proxy URL: the response to a request to the proxy of the environment. */
#define PROXIED(url) "-- bash get-by-proxy " url

static const row landlock_rows[] = {
    {"a line is enforced by a proxy, which is less than exact",
     "$ARCP run --min exact --fetch a.example -- touch $ROOT/ran", 4, "",
     "arcp run: net.fetch https://a.example/** is under: " BY_PROXY
     "; --min exact does not accept that\n"},
    {"what the lease names is reached by the proxy of the environment",
     RUN "--fetch " LOCAL "/f " PROXIED(LOCAL "/f") " | tail -1", 0, "hello\n",
     LANDLOCK "under     net.fetch " LOCAL "/f: " BY_PROXY "\n"},
    {"another path is denied and suggested",
     RUN "--quiet --fetch " LOCAL "/f " PROXIED(LOCAL "/g") " | grep ^HTTP", 0,
     "HTTP/1.1 403 Forbidden\n", ""},
    {"what is asked for is reported without a line", RUN PROXIED(LOCAL "/g") " | grep ^HTTP", 0,
     "HTTP/1.1 403 Forbidden\n",
     LANDLOCK "denied    net.fetch " LOCAL "/g\narcp run: 1 denied. To allow: --fetch " LOCAL
              "/g\n"},
    {"nothing is reached past the proxy", RUN "--fetch " LOCAL " " GET("/f"), 9, "",
     "~denied    connect 127.0.0.1:$PORT (bash)\n"},
    {"the proxy asks for the secret of the environment",
     RUN "--fetch " LOCAL
         " -- bash -c 'HTTP_PROXY=http://arcp:0@${HTTP_PROXY#*@} bash get-by-proxy " LOCAL
         "/f' | grep ^HTTP",
     0, "HTTP/1.1 407 Proxy Authentication Required\n", NULL},
    {"so that another program of this host is not served",
     "mkfifo fifo go; $ARCP run --quiet --write . --fetch http://h.example -- bash -c 'echo "
     "$HTTP_PROXY >fifo; read -r x <go' & read -r proxy <fifo; exec "
     "3<>/dev/tcp/127.0.0.1/${proxy##*:}; "
     "printf 'GET http://h.example/ HTTP/1.1\r\nHost: h.example\r\n\r\n' >&3; read -r line <&3; "
     "echo "
     ">go; wait; rm fifo go; echo \"$line\"",
     0, "HTTP/1.1 407 Proxy Authentication Required\r\n", ""},
    {"the variables of programs name the proxy, and except nothing",
     "NO_PROXY=localhost $ARCP run --quiet --env NO_PROXY --env HTTP_PROXY=http://h:1 -- env | sed "
     "-nE 's,arcp:[0-9a-f]{32}@127.0.0.1:[0-9]+$,SECRET@PROXY,; /PROXY/Ip' | sort",
     0,
     "ALL_PROXY=http://SECRET@PROXY\nARCP_PROXY=http://SECRET@PROXY\nHTTPS_PROXY=http://"
     "SECRET@PROXY\nHTTP_PROXY=http://SECRET@PROXY\nNODE_USE_ENV_PROXY=1\nNO_PROXY=\n"
     "all_proxy=http://SECRET@PROXY\nhttp_proxy=http://SECRET@PROXY\nhttps_proxy=http://"
     "SECRET@PROXY\nno_proxy=\n",
     ""},
    {"where TLS is terminated, variables name the certificates that are trusted",
     "$ARCP run --quiet --tls terminate --fetch https://a.example/x -- sh -c 'grep -c BEGIN "
     "$NODE_EXTRA_CA_CERTS; tail -n 12 $SSL_CERT_FILE | grep -c BEGIN; test $GIT_SSL_CAINFO = "
     "$REQUESTS_CA_BUNDLE && cmp $GIT_SSL_CAINFO $SSL_CERT_FILE'",
     0, "1\n1\n", ""},
    {"without what limits a program to the proxy there is none",
     "ARCP_SANDBOX_WITHOUT=userns,pidfd_getfd $ARCP run --fetch a.example -- env | grep -c PROXY",
     1, "0\n",
     LANDLOCK
     "refused   net.fetch https://a.example/**: without namespaces a network needs Landlock 4 "
     "(Linux 6.7), user notification and pidfd_getfd\n"},
};

static void check_text(const host *h, const arcp_buf *text, const char *want)
{
    arcp_buf masked = arcp_buf_init();
    mask(h, text, &masked);
    const char *got = arcp_buf_cstr(&masked);
    if (want != NULL && want[0] == '~') {
        if (strstr(got, want + 1) == NULL) {
            fail_msg("\"%s\" does not contain \"%s\"", got, want + 1);
        }
    } else if (want != NULL) {
        assert_string_equal(got, want);
    }
    arcp_buf_fini(&masked);
}

static void check_rows(const host *h, const row *tried, size_t count, const char *variable)
{
    const char *const environment[] = {h->port, variable, NULL};
    for (size_t i = 0; i < count; i++) {
        process p;
        print_message("  %s\n", tried[i].name);
        const int status = run_fixture_shell(h->f, &p, tried[i].script, environment);
        if (status != tried[i].status) {
            fail_msg("status %d: %.*s", status, (int)p.err.size, p.err.data);
        }
        check_text(h, &p.out, tried[i].out);
        check_text(h, &p.err, tried[i].err);
        process_fini(&p);
    }
}

static void the_network_is_what_the_lease_says(void **state)
{
    const host *h = *state;
    if (strcmp(h->f->level, "full") != 0) {
        skip();
    }
    check_rows(h, rows, sizeof rows / sizeof rows[0], NULL);
}

static void without_namespaces_it_is_a_proxy(void **state)
{
    const host *h = *state;
    process p;
    /* Landlock of this kernel, and what the broker needs. */
    const int has_it =
        run_fixture_shell(h->f, &p, "$ARCP doctor --json | grep -q '\"proxy\",\"value\":true'",
                          (const char *const[]){NULL});
    process_fini(&p);
    if (has_it != 0) {
        skip();
    }
    check_rows(h, landlock_rows, sizeof landlock_rows / sizeof landlock_rows[0],
               "ARCP_SANDBOX_WITHOUT=userns");
}

/* ---- the end ---- */

/* A download that the server never ends; returns the exit status. */
static int download(const host *h, process *p, const char *options)
{
    char script[512];
    const char *const environment[] = {h->port, NULL};
    (void)snprintf(script, sizeof script,
                   "$ARCP run --env PORT --fetch http://localhost:$PORT %s "
                   "-- bash -c 'trap \"\" TERM; bash get localhost /slow; echo closed; sleep 1000'",
                   options);
    return run_fixture_shell(h->f, p, script, environment);
}

/* The server has seen the end of a download, and serves again. */
static void check_closed(host *h, int ends)
{
    const char *const environment[] = {h->port, NULL};
    process p;
    assert_int_equal(
        run_fixture_shell(h->f, &p, RUN "--fetch " LOCAL " " GET("/f") " | tail -1", environment),
        0);
    check_span(arcp_buf_span(&p.out), "hello\n");
    assert_int_equal(h->slow_end, ends);
    process_fini(&p);
}

static void the_end_of_the_lease_closes_a_download(void **state)
{
    host *h = *state;
    process p;
    if (strcmp(h->f->level, "full") != 0) {
        skip();
    }
    assert_int_equal(download(h, &p, "--expires-in 3s"), 4);
    check_span(arcp_buf_span(&p.err), "arcp run: the lease expired; the command was killed\n");
    process_fini(&p);
    check_closed(h, 1);
}

static void the_end_of_max_runtime_closes_it_at_once(void **state)
{
    host *h = *state;
    process p;
    if (strcmp(h->f->level, "full") != 0) {
        skip();
    }
    /* The command ignores SIGTERM, and lives until SIGKILL: it sees the end of the download. */
    assert_int_equal(download(h, &p, "--max-runtime 3"), 6);
    assert_non_null(memmem(p.out.data, p.out.size, "closed\n", 7));
    process_fini(&p);
    check_closed(h, 2);
}

static void the_end_of_the_command_closes_it(void **state)
{
    host *h = *state;
    const char *const environment[] = {h->port, NULL};
    process p;
    if (strcmp(h->f->level, "full") != 0) {
        skip();
    }
    assert_int_equal(run_fixture_shell(h->f, &p,
                                       RUN "--fetch " LOCAL
                                           " -- bash -c 'read line < <(bash get localhost "
                                           "/slow); echo $line'",
                                       environment),
                     0);
    process_fini(&p);
    check_closed(h, 3);
}

/* ---- the report ---- */

static void the_file_has_the_layer_of_a_denial(void **state)
{
    host *h = *state;
    const char *const environment[] = {h->port, NULL};
    process p;
    if (strcmp(h->f->level, "full") != 0) {
        skip();
    }
    assert_int_equal(run_fixture_shell(h->f, &p,
                                       RUN "--quiet --report ../report --fetch " LOCAL
                                           "/f -- sh -c 'bash get localhost /g; bash get localhost "
                                           "/g' >/dev/null; grep '\"type\":\"denied\"' ../report",
                                       environment),
                     0);
#define DENIED(count)                                                                              \
    "{\"type\":\"denied\",\"record\":{\"denied\":{\"capability\":\"net.fetch\",\"target\":"        \
    "\"http://localhost:$PORT/g\",\"reason\":\"no pattern of the lease matches\",\"layer\":"       \
    "\"egress\",\"count\":" count "}}}\n"
    check_text(h, &p.out, DENIED("1") DENIED("2"));
    process_fini(&p);
}

/* ---- what fails ---- */

static void without_its_listeners_nothing_runs(void **state)
{
    host *h = *state;
    static const char *const steps[] = {"listeners", "routes"};
    if (strcmp(h->f->level, "full") != 0) {
        skip();
    }
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        char variable[64];
        const char *const environment[] = {variable, NULL};
        process p;
        (void)snprintf(variable, sizeof variable, "ARCP_SANDBOX_FAIL=%s", steps[i]);
        print_message("  %s\n", variable);
        assert_int_equal(run_fixture_shell(h->f, &p,
                                           "$ARCP run --fetch a.example --write . -- touch ran",
                                           environment),
                         125);
        assert_false(run_fixture_has(h->f, "project/ran"));
        process_fini(&p);
    }
}

/* An arcp-sandbox that reports a program and has no network for it. */
static void without_its_sockets_the_command_is_killed(void **state)
{
    host *h = *state;
    static const struct {
        const char *record;
        const char *err;
    } cases[] = {
        {"{\\\"running\\\":true}",
         "arcp run: the network of the sandbox: its sockets did not arrive\n"},
        {"{\\\"listeners\\\":1}",
         "arcp run: the network of the sandbox: the number of listeners is not "
         "that of the descriptors\n"},
    };
    if (strcmp(h->f->level, "full") != 0) {
        skip();
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char script[2048];
        process p;
        print_message("  %s\n", cases[i].record);
        (void)snprintf(
            script, sizeof script,
            "mkdir -p ../fake && cp $ARCP ../fake/arcp && printf '%%s\\n' '#!/bin/bash' "
            "'[ \"$1\" = --probe ] && exec %s/bin/arcp-sandbox --probe' 'exec 3>&-' "
            "'printf \"%s\" >&6' 'exec sleep 1000' >../fake/arcp-sandbox && "
            "chmod 755 ../fake/arcp-sandbox && ../fake/arcp run --fetch a.example -- true",
            ARCP_BINARY_DIR, cases[i].record);
        assert_int_equal(run_fixture_shell(h->f, &p, script, NULL), 125);
        check_text(h, &p.err, cases[i].err);
        process_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_network_is_what_the_lease_says),
        cmocka_unit_test(without_namespaces_it_is_a_proxy),
        cmocka_unit_test(the_end_of_the_lease_closes_a_download),
        cmocka_unit_test(the_end_of_max_runtime_closes_it_at_once),
        cmocka_unit_test(the_end_of_the_command_closes_it),
        cmocka_unit_test(the_file_has_the_layer_of_a_denial),
        cmocka_unit_test(without_its_listeners_nothing_runs),
        cmocka_unit_test(without_its_sockets_the_command_is_killed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
