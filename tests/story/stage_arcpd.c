/* A story on a real arcpd: WebSockets over loopback, agents that are processes, a store on
 * disk, and kill -9 for a restart. Blocking, with one deadline for everything. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "story/story.h"

#include "support/check.h"
#include "support/remove_tree.h"

#include <arcp/buf.h>
#include <arcp/time.h>

#include "base/alloc.h"

#define PEERS_MAX   64
#define TEXTS_MAX   64
#define PATIENCE_MS 60000

/* A client's WebSocket or an agent's socket, and what came on it. */
typedef struct peer {
    char name[64];
    int fd; /* -1: not connected */
    bool is_client;
    bool ended;
    int close_code;
    arcp_buf bytes;
    char *texts[TEXTS_MAX];
    unsigned text_count;
} peer;

typedef struct stage {
    char directory[64];
    char arcpd[512], agent[512];
    pid_t pid;      /* 0: not started yet, what the story sets comes first */
    FILE *config;   /* being written until then */
    char group[64]; /* of the last setting written */
    int port;
    int listener; /* of agents */
    char *audit;  /* the line of its log at hand */
    peer peers[PEERS_MAX];
} stage;

/* ---- arcpd ---- */

static void start_arcpd(stage *s)
{
    int out[2];
    char store[128];
    char socket_path[128];
    char config[128];
    char agents[3][800];
    if (s->config != NULL) {
        assert_int_equal(fclose(s->config), 0);
        s->config = NULL;
    }
    (void)snprintf(config, sizeof(config), "%s/arcpd.yaml", s->directory);
    assert_int_equal(pipe(out), 0);
    (void)snprintf(store, sizeof(store), "sqlite:%s/store.db", s->directory);
    (void)snprintf(socket_path, sizeof(socket_path), "%s/agents", s->directory);
    static const char *const names[] = {"echo", "work@1.0.0", "work@2.0.0"};
    for (int at = 0; at < 3; at++) {
        (void)snprintf(agents[at], sizeof(agents[at]), "%s=%s %s", names[at], s->agent,
                       socket_path);
    }
    s->pid = fork();
    assert_true(s->pid >= 0);
    if (s->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves nothing behind */
        (void)dup2(out[1], STDOUT_FILENO);
        (void)close(out[0]);
        (void)close(out[1]);
        (void)setenv("STATE_DIRECTORY", s->directory, 1);
        (void)execl(s->arcpd, "arcpd", "--config", config, "--listen", "ws://127.0.0.1:0/arcp",
                    "--store", store, "--token", "t-alice=alice", "--token", "t-bob=bob", "--token",
                    "t-carol=carol", "--agent", agents[0], "--agent", agents[1], "--agent",
                    agents[2], "--log-level", "error", (char *)NULL);
        _exit(127);
    }
    (void)close(out[1]);
    char line[512] = {0};
    size_t size = 0;
    while (size < sizeof(line) - 1 && strchr(line, '\n') == NULL) {
        ssize_t got = read(out[0], line + size, sizeof(line) - 1 - size);
        if (got <= 0) {
            fail_msg("arcpd did not get ready: %s", line);
        }
        size += (size_t)got;
    }
    (void)close(out[0]);
    const char *port = strrchr(line, ':');
    assert_non_null(port);
    s->port = (int)strtol(port + 1, NULL, 10);
}

/* Settings of one group stand together in a story: YAML has each key once. */
static void set(void *user, const char *group, const char *key, const char *value)
{
    stage *s = user;
    assert_non_null(s->config);
    if (strcmp(s->group, group) != 0) {
        (void)fprintf(s->config, "%s:\n", group);
        (void)snprintf(s->group, sizeof(s->group), "%s", group);
    }
    (void)fprintf(s->config, "  %s: %s\n", key, value);
}

static void profile(void *user, const char *client, const char *principal, const char *name)
{
    stage *s = user;
    assert_non_null(s->config);
    if (strcmp(s->group, "peer_profiles") != 0) {
        (void)fprintf(s->config, "peer_profiles:\n");
        (void)snprintf(s->group, sizeof(s->group), "peer_profiles");
    }
    (void)fprintf(s->config, "  - {client: \"%s\", principal: \"%s\", profile: %s}\n", client,
                  principal, name);
}

static void policy(void *user, const char *row)
{
    stage *s = user;
    assert_non_null(s->config);
    if (strcmp(s->group, "policy") != 0) {
        (void)fprintf(s->config, "policy:\n");
        (void)snprintf(s->group, sizeof(s->group), "policy");
    }
    (void)fprintf(s->config, "  - %s\n", row); /* JSON is YAML */
}

/* ---- peers ---- */

static peer *find(stage *s, const char *name)
{
    peer *found = NULL;
    for (int at = 0; at < PEERS_MAX; at++) {
        peer *p = &s->peers[at];
        if (p->name[0] == '\0') {
            if (found == NULL) {
                found = p;
            }
        } else if (strcmp(p->name, name) == 0) {
            return p;
        }
    }
    assert_non_null(found);
    (void)snprintf(found->name, sizeof(found->name), "%s", name);
    found->fd = -1;
    return found;
}

static void clear(peer *p)
{
    if (p->fd >= 0) {
        (void)close(p->fd);
    }
    for (unsigned at = 0; at < p->text_count; at++) {
        arcp__free(p->texts[at]);
    }
    arcp_buf_fini(&p->bytes);
    p->fd = -1;
    p->ended = false;
    p->close_code = 0;
    p->text_count = 0;
}

static void keep(peer *p, const char *data, size_t size)
{
    assert_true(p->text_count < TEXTS_MAX);
    p->texts[p->text_count] = arcp__copy_cstr(data, size);
    assert_non_null(p->texts[p->text_count++]);
}

static void cut_lines(peer *p)
{
    char *end = NULL;
    while (p->bytes.size != 0 && (end = memchr(p->bytes.data, '\n', p->bytes.size)) != NULL) {
        size_t size = (size_t)(end - p->bytes.data);
        keep(p, p->bytes.data, size);
        arcp_buf_consume(&p->bytes, size + 1);
    }
}

/* Whole frames of a server: not masked, not fragmented. */
static void cut_frames(peer *p)
{
    for (;;) {
        const unsigned char *at = (const unsigned char *)p->bytes.data;
        size_t head = 2;
        if (p->bytes.size < 2) {
            return;
        }
        size_t size = at[1] & 127u;
        if (size == 126) {
            head = 4;
        } else if (size == 127) {
            head = 10;
        }
        if (p->bytes.size < head) {
            return;
        }
        if (head > 2) {
            size = 0;
            for (size_t byte = 2; byte < head; byte++) {
                size = (size << 8) | at[byte];
            }
        }
        if (p->bytes.size < head + size) {
            return;
        }
        if ((at[0] & 15u) == 1) {
            keep(p, p->bytes.data + head, size);
        } else if ((at[0] & 15u) == 8) {
            p->close_code = size >= 2 ? at[head] * 256 + at[head + 1] : 1005;
        }
        arcp_buf_consume(&p->bytes, head + size);
    }
}

/* Reads what is there; waits for some at most until the deadline. */
static void read_some(peer *p, int wait_ms)
{
    char block[65536];
    struct pollfd poll_one = {.fd = p->fd, .events = POLLIN};
    if (p->fd < 0 || p->ended || poll(&poll_one, 1, wait_ms) <= 0) {
        return;
    }
    ssize_t got = read(p->fd, block, sizeof(block));
    if (got <= 0) {
        p->ended = true;
        if (p->close_code == 0) {
            p->close_code = 1006;
        }
        return;
    }
    arcp_buf_append(&p->bytes, arcp_span_make(block, (size_t)got));
    if (p->is_client) {
        cut_frames(p);
    } else {
        cut_lines(p);
    }
}

static const char *peek_text(peer *p, unsigned index)
{
    for (int left = PATIENCE_MS; index >= p->text_count && !p->ended && left > 0; left -= 100) {
        read_some(p, 100);
    }
    return index < p->text_count ? p->texts[index] : NULL;
}

static void remove_text(peer *p, unsigned index)
{
    arcp__free(p->texts[index]);
    p->text_count--;
    memmove(p->texts + index, p->texts + index + 1, (p->text_count - index) * sizeof(p->texts[0]));
}

static void write_all(int fd, const void *data, size_t size)
{
    const char *at = data;
    while (size > 0) {
        ssize_t written = send(fd, at, size, MSG_NOSIGNAL);
        if (written <= 0) {
            return; /* the peer closed: what it says about that is what counts */
        }
        at += written;
        size -= (size_t)written;
    }
}

/* ---- clients ---- */

static bool is_connected(void *user, const char *client)
{
    peer *p = find(user, client);
    read_some(p, 0);
    return p->fd >= 0 && p->close_code == 0;
}

/* arcpd is started by the first who wants to connect: what the story sets came before. */
static int port_of(stage *s)
{
    if (s->pid == 0) {
        start_arcpd(s);
    }
    return s->port;
}

static void connect_client(void *user, const char *client)
{
    stage *s = user;
    peer *p = find(s, client);
    char request[256];
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port_of(s)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    clear(p);
    p->is_client = true;
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(p->fd, (struct sockaddr *)&address, sizeof(address)), 0);
    (void)snprintf(request, sizeof(request),
                   "GET /arcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\n"
                   "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                   "Sec-WebSocket-Version: 13\r\n\r\n",
                   s->port);
    write_all(p->fd, request, strlen(request));
    /* The answer ends with an empty line; frames may follow it at once. */
    char last[4] = {0};
    while (memcmp(last, "\r\n\r\n", 4) != 0) {
        memmove(last, last + 1, 3);
        assert_int_equal(read(p->fd, last + 3, 1), 1);
    }
}

static void send_frame(void *user, const char *client, const char *frame)
{
    peer *p = find(user, client);
    size_t size = strlen(frame);
    unsigned char head[8] = {0x81};
    size_t used = 2;
    assert_true(size < 65536);
    if (size < 126) {
        head[1] = (unsigned char)(0x80 | size);
    } else {
        head[1] = 0x80 | 126;
        head[2] = (unsigned char)(size >> 8);
        head[3] = (unsigned char)size;
        used = 4;
    }
    write_all(p->fd, head, used + 4); /* the mask is four zeros */
    write_all(p->fd, frame, size);
}

static const char *peek(void *user, const char *client, unsigned index)
{
    return peek_text(find(user, client), index);
}

static void remove_frame(void *user, const char *client, unsigned index)
{
    remove_text(find(user, client), index);
}

static int close_code(void *user, const char *client)
{
    peer *p = find(user, client);
    for (int left = PATIENCE_MS; p->close_code == 0 && left > 0; left -= 100) {
        read_some(p, 100);
    }
    return p->close_code;
}

static void drop(void *user, const char *client)
{
    clear(find(user, client));
}

static void restart(void *user)
{
    stage *s = user;
    assert_int_equal(kill(s->pid, SIGKILL), 0);
    assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
    for (int at = 0; at < PEERS_MAX; at++) {
        clear(&s->peers[at]);
    }
    start_arcpd(s);
}

static void no_clock(void *user, int64_t ns)
{
    (void)user;
    (void)ns;
    fail_msg("a real clock cannot be set");
}

/* What is expected after it is waited for. */
static void later(void *user, int64_t ns)
{
    (void)user;
    assert_true(ns < PATIENCE_MS * ARCP_NS_PER_MS);
}

static int64_t now(void *user)
{
    struct timespec instant;
    (void)user;
    (void)clock_gettime(CLOCK_REALTIME, &instant);
    return (int64_t)instant.tv_sec * ARCP_NS_PER_SEC + instant.tv_nsec;
}

/* The index-th line of the audit log, when it is whole. */
static bool read_audit(stage *s, unsigned index)
{
    char path[128];
    size_t capacity = 0;
    (void)snprintf(path, sizeof(path), "%s/audit.jsonl", s->directory);
    FILE *file = fopen(path, "re");
    ssize_t size = -1;
    free(s->audit);
    s->audit = NULL;
    for (unsigned at = 0; file != NULL && at <= index; at++) {
        size = getline(&s->audit, &capacity, file);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return size > 0 && s->audit[size - 1] == '\n';
}

static const char *audit_peek(void *user, unsigned index)
{
    stage *s = user;
    for (int left = PATIENCE_MS; !read_audit(s, index); left -= 20) {
        if (left <= 0) {
            return NULL;
        }
        (void)poll(NULL, 0, 20);
    }
    return s->audit;
}

/* ---- agents ---- */

/* Accepts agents until the one of this job is there. */
static peer *agent_of(stage *s, const char *job_id)
{
    peer *wanted = find(s, job_id);
    while (wanted->fd < 0) {
        struct pollfd poll_one = {.fd = s->listener, .events = POLLIN};
        char name[64] = {0};
        size_t size = 0;
        if (poll(&poll_one, 1, PATIENCE_MS) <= 0) {
            fail_msg("job %s has no agent", job_id);
        }
        int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
        assert_true(fd >= 0);
        while (size < sizeof(name) - 1 && read(fd, name + size, 1) == 1 && name[size] != '\n') {
            size++;
        }
        name[size] = '\0';
        peer *p = find(s, name);
        clear(p);
        p->is_client = false;
        p->fd = fd;
    }
    return wanted;
}

static void agent_says(void *user, const char *job_id, const char *line)
{
    peer *p = agent_of(user, job_id);
    write_all(p->fd, line, strlen(line));
    write_all(p->fd, "\n", 1);
}

static const char *agent_peek(void *user, const char *job_id, unsigned index)
{
    return peek_text(agent_of(user, job_id), index);
}

static void agent_remove(void *user, const char *job_id, unsigned index)
{
    remove_text(agent_of(user, job_id), index);
}

static void agent_exits(void *user, const char *job_id, int status)
{
    char order[2] = {'\0', (char)('0' + status)};
    write_all(agent_of(user, job_id)->fd, order, sizeof(order));
}

/* Its socket ends with it. */
static bool agent_is_killed(void *user, const char *job_id)
{
    peer *p = agent_of(user, job_id);
    for (int left = PATIENCE_MS; !p->ended && left > 0; left -= 100) {
        read_some(p, 100);
    }
    return p->ended;
}

/* ---- begin and end ---- */

void story_stage_arcpd_begin(story_stage *out, const char *arcpd, const char *agent)
{
    static stage s;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    s = (stage){.directory = "/tmp/arcp-story-XXXXXX"};
    assert_non_null(mkdtemp(s.directory));
    (void)snprintf(s.arcpd, sizeof(s.arcpd), "%s", arcpd);
    (void)snprintf(s.agent, sizeof(s.agent), "%s", agent);
    s.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/agents", s.directory);
    assert_int_equal(bind(s.listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(s.listener, 64), 0);
    for (int at = 0; at < PEERS_MAX; at++) {
        s.peers[at].fd = -1;
    }
    char config[128];
    (void)snprintf(config, sizeof(config), "%s/arcpd.yaml", s.directory);
    s.config = fopen(config, "we");
    assert_non_null(s.config);
    set(&s, "shutdown", "grace_sec", "0"); /* stories may leave jobs running */
    *out = (story_stage){
        .user = &s,
        .set = set,
        .profile = profile,
        .is_connected = is_connected,
        .connect = connect_client,
        .send = send_frame,
        .peek = peek,
        .remove = remove_frame,
        .close_code = close_code,
        .drop = drop,
        .restart = restart,
        .policy = policy,
        .clock = no_clock,
        .set_wall = no_clock,
        .later = later,
        .now = now,
        .audit_peek = audit_peek,
        .agent_says = agent_says,
        .agent_peek = agent_peek,
        .agent_remove = agent_remove,
        .agent_exits = agent_exits,
        .agent_is_killed = agent_is_killed,
    };
}

void story_stage_arcpd_end(story_stage *out)
{
    stage *s = out->user;
    int status = 0;
    for (int at = 0; at < PEERS_MAX; at++) {
        clear(&s->peers[at]);
    }
    assert_true(s->pid > 0);
    assert_int_equal(kill(s->pid, SIGTERM), 0);
    assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    (void)close(s->listener);
    free(s->audit);
    (void)remove_tree(s->directory);
}
