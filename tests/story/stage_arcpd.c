/* The stage on a real arcpd: WebSockets over loopback, agents that are processes, a store on disk,
 * and kill -9 for a restart. Blocking; every wait ends after WIRE_PATIENCE_MS. */
#include "story/stage.h"

#include <poll.h>
#include <time.h>

#include "support/check.h"

#include <arcp/buf.h>
#include <arcp/time.h>

#include "arcpd/daemon.h"
#include "story/arcpd_peers.h"

typedef struct stage {
    daemon_state daemon; /* started by the first connect: settings come before it */
    arcp_buf config;     /* collected until then */
    char group[64];      /* of the last setting in `config` */
    char agents[3][800];
    const char *program; /* of the agents */
    char socket_path[128];
    arcpd_peers peers;
    char *audit; /* the current line of the audit log */
} stage;

/* ---- arcpd ---- */

static void start_arcpd(stage *s)
{
    daemon_launch(&s->daemon);
    if (!daemon_await(&s->daemon)) {
        fail_msg("arcpd ended with %d: %s", s->daemon.exit_status, daemon_errors(&s->daemon));
    }
}

/* A script must keep the settings of a group together: YAML allows each key only once. */
static void add_row(stage *s, const char *group)
{
    assert_int_equal(s->daemon.start_count, 0);
    if (strcmp(s->group, group) != 0) {
        arcp_buf_append_format(&s->config, "%s:\n", group);
        (void)snprintf(s->group, sizeof s->group, "%s", group);
    }
}

static void set(void *user, const char *group, const char *key, const char *value)
{
    stage *s = user;
    add_row(s, group);
    arcp_buf_append_format(&s->config, "  %s: %s\n", key, value);
}

static void profile(void *user, const char *client, const char *principal, const char *name)
{
    stage *s = user;
    add_row(s, "peer_profiles");
    arcp_buf_append_format(&s->config, "  - {client: \"%s\", principal: \"%s\", profile: %s}\n",
                           client, principal, name);
}

static void policy(void *user, const char *row)
{
    stage *s = user;
    add_row(s, "policy");
    arcp_buf_append_format(&s->config, "  - %s\n", row); /* JSON is YAML */
}

static void set_max_jobs(void *user, unsigned count, bool refuses)
{
    static const char *const versions[][2] = {{"echo", ""}, {"work", "1.0.0"}, {"work", "2.0.0"}};
    stage *s = user;
    add_row(s, "agents");
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        arcp_buf_append_format(&s->config, "  - {name: %s, command: [%s, %s], max_jobs: %u",
                               versions[i][0], s->program, s->socket_path, count);
        arcp_buf_append_format(&s->config, "%s%s%s}\n", refuses ? ", queue: false" : "",
                               versions[i][1][0] == '\0' ? "" : ", version: ", versions[i][1]);
        s->daemon.options.agents[i] = NULL;
    }
}

static void restart(void *user)
{
    stage *s = user;
    daemon_kill(&s->daemon);
    arcpd_peers_drop(&s->peers);
    start_arcpd(s);
}

static void hold_store(void *user, bool holds)
{
    (void)user;
    (void)holds;
}

/* ---- clients ---- */

static peer *client_of(void *user, const char *client)
{
    stage *s = user;
    return peer_of(&s->peers, client);
}

static bool is_connected(void *user, const char *client)
{
    peer *p = client_of(user, client);
    return p->wire.fd >= 0 && peer_close_code(p) == 0;
}

static bool connect_client(void *user, const char *client)
{
    stage *s = user;
    if (s->daemon.start_count == 0) {
        arcp_buf_append_byte(&s->config, '\0');
        s->daemon.options.config = s->config.data;
        start_arcpd(s);
    }
    peer_connect(client_of(s, client), s->daemon.port);
    return true;
}

static bool send_frame(void *user, const char *client, const char *frame)
{
    peer_send(client_of(user, client), frame);
    return true;
}

static const char *text_at(void *user, const char *client, unsigned index)
{
    return peer_text_at(client_of(user, client), index);
}

static void remove_frame(void *user, const char *client, unsigned index)
{
    peer_remove(client_of(user, client), index);
}

static bool await_close(void *user, const char *client, int *code)
{
    *code = peer_await_close(client_of(user, client));
    return *code != 0;
}

static void drop(void *user, const char *client)
{
    peer_drop(client_of(user, client));
}

/* ---- time and the audit log ---- */

static void no_clock(void *user, int64_t ns)
{
    (void)user;
    (void)ns;
    fail_msg("the clock of a real arcpd cannot be set");
}

/* Real time passes while the next expectation waits. */
static void later(void *user, int64_t ns)
{
    (void)user;
    assert_true(ns < WIRE_PATIENCE_MS * ARCP_NS_PER_MS);
}

static int64_t now(void *user)
{
    struct timespec instant;
    (void)user;
    (void)clock_gettime(CLOCK_REALTIME, &instant);
    return (int64_t)instant.tv_sec * ARCP_NS_PER_SEC + instant.tv_nsec;
}

/* Reads the index-th line of the audit log; false when it is not there completely. */
static bool read_audit(stage *s, unsigned index)
{
    char path[128];
    size_t capacity = 0;
    (void)snprintf(path, sizeof path, "%s/audit.jsonl", s->daemon.directory);
    FILE *file = fopen(path, "re");
    ssize_t size = -1;
    free(s->audit);
    s->audit = NULL;
    for (unsigned i = 0; file != NULL && i <= index; i++) {
        size = getline(&s->audit, &capacity, file);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return size > 0 && s->audit[size - 1] == '\n';
}

static const char *audit_record_at(void *user, const char *name, unsigned index)
{
    stage *s = user;
    (void)name;
    for (int left = WIRE_PATIENCE_MS; !read_audit(s, index); left -= 20) {
        if (left <= 0) {
            return NULL;
        }
        (void)poll(NULL, 0, 20);
    }
    return s->audit;
}

/* ---- agents ---- */

static peer *agent_of(void *user, const char *job_id)
{
    stage *s = user;
    return peer_of_job(&s->peers, job_id);
}

static void agent_says(void *user, const char *job_id, const char *line)
{
    peer_send(agent_of(user, job_id), line);
}

static const char *agent_line_at(void *user, const char *job_id, unsigned index)
{
    return peer_text_at(agent_of(user, job_id), index);
}

static void agent_remove(void *user, const char *job_id, unsigned index)
{
    peer_remove(agent_of(user, job_id), index);
}

static void agent_exits(void *user, const char *job_id, int status)
{
    peer_exit(agent_of(user, job_id), status);
}

/* The agent's socket is closed when the agent exits. */
static bool agent_is_killed(void *user, const char *job_id)
{
    return peer_await_close(agent_of(user, job_id)) != 0;
}

/* ---- begin and end ---- */

void story_stage_arcpd_begin(story_stage *out, const char *arcpd, const char *agent)
{
    static stage s;
    static const char *const names[] = {"echo", "work@1.0.0", "work@2.0.0"};
    s = (stage){.config = arcp_buf_init(), .program = agent};
    daemon_begin(&s.daemon, &(daemon_options){.program = arcpd});
    (void)snprintf(s.socket_path, sizeof s.socket_path, "%s/agents", s.daemon.directory);
    arcpd_peers_begin(&s.peers, s.socket_path);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(s.agents[i], sizeof s.agents[i], "%s=%s %s", names[i], agent, s.socket_path);
        s.daemon.options.agents[i] = s.agents[i];
    }
    set(&s, "enforce", "mode", "off");     /* agents connect to a socket of the test */
    set(&s, "shutdown", "grace_sec", "0"); /* stories may leave jobs running */
    *out = (story_stage){
        .story = {.user = &s,
                  .clients = {ARCP__STORY_ANY, text_at, remove_frame},
                  .is_connected = is_connected,
                  .connect = connect_client,
                  .send = send_frame,
                  .await_close = await_close,
                  .drop = drop,
                  .now = now},
        .agents = {ARCP__STORY_ANY, agent_line_at, agent_remove},
        .audit = {ARCP__STORY_ANY, audit_record_at, story_keep_text},
        .set = set,
        .profile = profile,
        .restart = restart,
        .hold_store = hold_store,
        .policy = policy,
        .max_jobs = set_max_jobs,
        .clock = no_clock,
        .set_wall = no_clock,
        .later = later,
        .agent_says = agent_says,
        .agent_exits = agent_exits,
        .agent_is_killed = agent_is_killed,
    };
}

void story_stage_arcpd_end(story_stage *out)
{
    stage *s = out->story.user;
    arcpd_peers_end(&s->peers);
    assert_true(s->daemon.pid > 0);
    if (daemon_stop(&s->daemon) != 0) {
        fail_msg("arcpd ended with %d: %s", s->daemon.exit_status, daemon_errors(&s->daemon));
    }
    free(s->audit);
    arcp_buf_fini(&s->config);
    daemon_end(&s->daemon);
}
