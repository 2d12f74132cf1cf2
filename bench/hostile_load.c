/* A principal or an unauthenticated peer attacks a real arcpd, while another principal, bob, sends
 * pings and runs jobs. At the same time two controls run without arcpd, so that delays by the
 * scheduler of a busy machine can be subtracted: an echo over loopback, and the plain start of the
 * same agent program.
 *
 *   hostile_load [--seconds N] [--rounds N] [--filter TEXT] [--quick]
 *
 * Every attack is run for N seconds (3) in each of N rounds (3); --quick: 0.3 s, once, to see that
 * it works. The attackers are processes of their own, and end with their time. The exit status says
 * whether the measurement succeeded, and does not depend on the figures. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arcpd/daemon.h"
#include "arcpd/wire.h"
#include "hostile_attacks.h"

#define PING_OVER_ECHO_MS 5.0
#define JOB_TIMES         3.0
#define MEMORY_MIB_MAX    384.0 /* 256 of them for leases of ended jobs */
#define SAMPLES_MAX       65536u
#define ATTACKS_MAX       16u
#define PAUSE_US          2000
#define PATIENCE_SEC      30u /* how long a probe waits for a response after the end of the time */

enum { PING, ECHO, JOB, START, PROBES };

/* Milliseconds, of all rounds; shared with the processes that take them. */
typedef struct samples {
    unsigned count;
    double ms[SAMPLES_MAX];
} samples;

typedef struct result {
    samples *of[PROBES];
    double memory_mib; /* at most */
    double cpu_sec, sec;
    bool is_lost; /* bob was refused, or not answered */
} result;

static struct {
    double seconds;
    unsigned rounds;
    const char *filter;
    bool is_quick;
} options = {.seconds = 3, .rounds = 3};

static daemon_state arcpd;
static int64_t deadline_ns;
static result results[ATTACKS_MAX];

/* ---- probes: each a process ---- */

static wire bob_pings, bob_runs;
static int echo_fd = -1;

static void ping(void)
{
    wire_send(&bob_pings, "%s",
              "{\"arcp\":\"1.1\",\"id\":\"p\",\"type\":\"session.ping\",\"payload\":{}}");
    (void)wire_await_type(&bob_pings, "session.pong");
}

static void echo(void)
{
    char bytes[70] = "";
    if (write(echo_fd, bytes, sizeof bytes) != (ssize_t)sizeof bytes ||
        recv(echo_fd, bytes, sizeof bytes, MSG_WAITALL) != (ssize_t)sizeof bytes) {
        daemon_fail("no echo");
    }
}

#define INPUT "{\"events\":1,\"bytes\":10,\"end\":\"result\"}"

static void run_job(void)
{
    static unsigned number;
    wire_send(&bob_runs,
              "{\"arcp\":\"1.1\",\"id\":\"j%u\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
              "\"load\",\"input\":" INPUT "}}",
              number++);
    arcp_span frame = wire_await(&bob_runs);
    while (!wire_is(frame, "job.result")) {
        if (wire_is(frame, "job.error")) {
            daemon_fail("bob's job: %.*s", (int)frame.size, frame.data);
        }
        frame = wire_await(&bob_runs);
    }
}

static void start_agent(void)
{
    static char program[] = ARCP_BINARY_DIR "/tests/arcp-load-agent";
    static const char line[] = "{\"payload\":{\"input\":" INPUT "}}\n";
    char *const argv[] = {program, NULL};
    char *const environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    pid_t pid = 0;
    int status = 1;
    (void)posix_spawn_file_actions_init(&actions);
    if (pipe2(ends, O_CLOEXEC) != 0 || write(ends[1], line, sizeof line - 1) < 0 ||
        posix_spawn_file_actions_adddup2(&actions, ends[0], 0) != 0 ||
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) != 0 ||
        posix_spawn(&pid, program, &actions, NULL, argv, environment) != 0 ||
        waitpid(pid, &status, 0) != pid || status != 0) {
        daemon_fail("%s: %d", program, status);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* A child that is killed when we exit, and in any case after this many seconds. */
static pid_t fork_for(unsigned seconds)
{
    const pid_t pid = fork();
    if (pid < 0) {
        daemon_fail("no process can be had");
    }
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)alarm(seconds);
    }
    return pid;
}

static pid_t probe(void (*once)(void), samples *to)
{
    const pid_t pid = fork_for((unsigned)options.seconds + PATIENCE_SEC);
    if (pid != 0) {
        return pid;
    }
    do {
        const int64_t began_ns = daemon_now_ns();
        once();
        if (to->count < SAMPLES_MAX) {
            to->ms[to->count++] = (double)(daemon_now_ns() - began_ns) / 1e6;
        }
        (void)usleep(PAUSE_US);
    } while (daemon_now_ns() < deadline_ns);
    _exit(0);
}

static pid_t start_echo(void)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof here;
    char bytes[4096];
    int yes = 1;
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    echo_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&here, sizeof here) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&here, &size) != 0 ||
        connect(echo_fd, (struct sockaddr *)&here, sizeof here) != 0) {
        daemon_fail("no loopback");
    }
    const int fd = accept(listener, NULL, NULL);
    (void)close(listener);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    (void)setsockopt(echo_fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const pid_t pid = fork_for((unsigned)options.seconds + PATIENCE_SEC);
    if (pid != 0) {
        (void)close(fd);
        return pid;
    }
    (void)close(echo_fd); /* so that its end is seen */
    for (ssize_t got = read(fd, bytes, sizeof bytes); got > 0;
         got = read(fd, bytes, sizeof bytes)) {
        if (write(fd, bytes, (size_t)got) != got) {
            break;
        }
    }
    _exit(0);
}

/* ---- one attack ---- */

static void watch_memory(result *r)
{
    while (daemon_now_ns() < deadline_ns) {
        const double now = (double)daemon_resident_bytes(&arcpd) / 1048576;
        r->memory_mib = now > r->memory_mib ? now : r->memory_mib;
        (void)usleep(10000);
    }
}

static void end_process(pid_t pid, bool is_killed)
{
    if (is_killed) {
        (void)kill(pid, SIGKILL);
    }
    (void)waitpid(pid, NULL, 0);
}

static pid_t start_attack(const hostile_attack *attack)
{
    if (attack->run == NULL) {
        return 0;
    }
    const pid_t pid = fork_for((unsigned)options.seconds + 1);
    if (pid == 0) {
        attack->run(&arcpd);
        _exit(0);
    }
    return pid;
}

static void open_bob(wire *w)
{
    wire_session session;
    wire_open(w, arcpd.port);
    wire_hello(w, "t-bob", &session);
}

static void measure(const hostile_attack *attack, result *r)
{
    static void (*const once[PROBES])(void) = {ping, echo, run_job, start_agent};
    pid_t pids[PROBES];
    daemon_begin(&arcpd,
                 &(daemon_options){.config = attack->config,
                                   .agents = {"flood=/usr/bin/yes",
                                              "load=" ARCP_BINARY_DIR "/tests/arcp-load-agent"}});
    daemon_start(&arcpd);
    if (attack->prepare != NULL) {
        attack->prepare(&arcpd, options.is_quick);
    }
    open_bob(&bob_pings);
    open_bob(&bob_runs);
    const pid_t echoes = start_echo();
    const int64_t began_ns = daemon_now_ns();
    const uint64_t cpu_ns = daemon_cpu_ns(&arcpd);
    deadline_ns = began_ns + (int64_t)(options.seconds * 1e9);
    const pid_t attacker = start_attack(attack);
    for (unsigned i = 0; i < PROBES; i++) {
        pids[i] = probe(once[i], r->of[i]);
    }
    watch_memory(r);
    r->cpu_sec += (double)(daemon_cpu_ns(&arcpd) - cpu_ns) / 1e9;
    r->sec += (double)(daemon_now_ns() - began_ns) / 1e9;
    for (unsigned i = 0; i < PROBES; i++) {
        int status = 0;
        r->is_lost = waitpid(pids[i], &status, 0) != pids[i] || status != 0 || r->is_lost;
    }
    if (attacker != 0) {
        end_process(attacker, true);
    }
    end_process(echoes, true);
    (void)close(echo_fd);
    wire_close(&bob_pings);
    wire_close(&bob_runs);
    (void)daemon_stop(&arcpd);
    daemon_end(&arcpd);
}

/* ---- results ---- */

static int compare(const void *a, const void *b)
{
    const double *one = a;
    const double *other = b;
    return (*one > *other) - (*one < *other);
}

/* The share `of` of them is not above this. */
static double quantile(const samples *s, double of)
{
    return s->count == 0 ? 0 : s->ms[(size_t)((double)(s->count - 1) * of)];
}

static bool is_job_late(const result *r, double of)
{
    const result *ordinary = &results[0];
    const double lost = quantile(r->of[START], of) - quantile(ordinary->of[START], of);
    const double allowed = JOB_TIMES * quantile(ordinary->of[JOB], of) + (lost > 0 ? lost : 0);
    return quantile(r->of[JOB], of) > allowed;
}

static void print_row(const hostile_attack *attack, const result *r)
{
    for (unsigned i = 0; i < PROBES; i++) {
        if (r->of[i]->count == 0) {
            daemon_fail("%s: nothing was measured", attack->name);
        }
        qsort(r->of[i]->ms, r->of[i]->count, sizeof(double), compare);
    }
    const samples *pings = r->of[PING];
    const samples *echoes = r->of[ECHO];
    const bool is_late = quantile(pings, 0.99) > quantile(echoes, 0.99) + PING_OVER_ECHO_MS;
    const bool is_slow = is_job_late(r, 0.5) || is_job_late(r, 0.99);
    const bool is_large = r->memory_mib > MEMORY_MIB_MAX;
    (void)printf(
        "%-28s %6.2f %7.2f %7.2f  %6.2f %7.2f %7.2f  %6.1f %6.1f  %6.1f %6.1f  %5.0f %4.0f%%"
        "  %s%s%s%s%s\n",
        attack->name, quantile(pings, 0.5), quantile(pings, 0.99), quantile(pings, 1),
        quantile(echoes, 0.5), quantile(echoes, 0.99), quantile(echoes, 1),
        quantile(r->of[JOB], 0.5), quantile(r->of[JOB], 0.99), quantile(r->of[START], 0.5),
        quantile(r->of[START], 0.99), r->memory_mib, 100 * r->cpu_sec / r->sec,
        is_late || is_slow || is_large || r->is_lost ? "missed:" : "held",
        r->is_lost ? " answers" : "", is_late ? " ping" : "", is_slow ? " jobs" : "",
        is_large ? " memory" : "");
}

static void print_head(void)
{
    struct utsname machine;
    (void)uname(&machine);
    (void)printf("arcpd under attack: %u rounds of %.1f s each, %ld cores, %s %s\n"
                 "milliseconds; held: ping within %.0f ms p99 of the echo, jobs (p50, p99) under "
                 "%.0f times those of the first row\nplus what the bare start of their program "
                 "lost, memory under %.0f MiB\n\n",
                 options.rounds, options.seconds, sysconf(_SC_NPROCESSORS_ONLN), machine.sysname,
                 machine.release, PING_OVER_ECHO_MS, JOB_TIMES, MEMORY_MIB_MAX);
    (void)printf("%-28s %6s %7s %7s  %6s %7s %7s  %6s %6s  %6s %6s  %5s %5s\n", "attack", "ping",
                 "p99", "max", "echo", "p99", "max", "job", "p99", "start", "p99", "MiB", "CPU");
}

static bool is_wanted(unsigned index)
{
    return index == 0 || options.filter == NULL ||
           strstr(hostile_attacks[index].name, options.filter) != NULL;
}

static bool read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--quick") == 0) {
            options.is_quick = true;
            options.seconds = 0.3;
            options.rounds = 1;
            continue;
        }
        if (value == NULL) {
            return false;
        }
        if (strcmp(argv[i], "--seconds") == 0) {
            options.seconds = strtod(value, NULL);
        } else if (strcmp(argv[i], "--rounds") == 0) {
            options.rounds = (unsigned)strtoul(value, NULL, 10);
        } else if (strcmp(argv[i], "--filter") == 0) {
            options.filter = value;
        } else {
            return false;
        }
        i++;
    }
    return options.seconds > 0 && options.seconds <= 600 && options.rounds > 0;
}

int main(int argc, char **argv)
{
    if (!read_options(argc, argv)) {
        (void)fputs("usage: hostile_load [--seconds N] [--rounds N] [--filter TEXT] [--quick]\n",
                    stderr);
        return 2;
    }
    samples *all = mmap(NULL, sizeof(samples) * ATTACKS_MAX * PROBES, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || hostile_attack_count > ATTACKS_MAX) {
        daemon_fail("no memory for what is measured");
    }
    for (unsigned i = 0; i < ATTACKS_MAX * PROBES; i++) {
        results[i / PROBES].of[i % PROBES] = &all[i];
    }
    for (unsigned round = 0; round < options.rounds; round++) {
        for (unsigned i = 0; i < hostile_attack_count; i++) {
            if (is_wanted(i)) {
                measure(&hostile_attacks[i], &results[i]);
            }
        }
    }
    print_head();
    for (unsigned i = 0; i < hostile_attack_count; i++) {
        if (is_wanted(i)) {
            print_row(&hostile_attacks[i], &results[i]);
        }
    }
    return 0;
}
