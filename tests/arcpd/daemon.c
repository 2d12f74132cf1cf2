#include "arcpd/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/remove_tree.h"

#define READY_MS 60000 /* enough for a slow machine */

void daemon_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fputs("FAILED: ", stderr);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
    va_end(arguments);
    (void)fflush(NULL);
    _exit(1); /* the daemon gets SIGKILL when we exit */
}

int64_t daemon_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void daemon_begin(daemon_state *d, const daemon_options *options)
{
    *d = (daemon_state){.directory = "/tmp/arcp-daemon-XXXXXX", .out = -1};
    if (options != NULL) {
        d->options = *options;
    }
    if (mkdtemp(d->directory) == NULL) {
        daemon_fail("no directory: %s", strerror(errno));
    }
    const bool is_file = d->options.store == NULL || strncmp(d->options.store, "postgres:", 9) != 0;
    (void)snprintf(d->store, sizeof d->store, "%s/%s", d->directory, is_file ? "arcp.db" : "home");
}

/* ---- the child ---- */

static void limit(__rlimit_resource_t resource, rlim_t value)
{
    struct rlimit both;
    if (value == 0) {
        return;
    }
    const int failed = getrlimit(resource, &both);
    both.rlim_cur = value;
    if (resource == RLIMIT_NOFILE) {
        both.rlim_max = value; /* arcpd raises its limit to the hard one */
    }
    if (failed != 0 || setrlimit(resource, &both) != 0) {
        (void)fprintf(stderr, "setrlimit: %s\n", strerror(errno));
        _exit(126);
    }
}

static void set_environment(const char *pair)
{
    char name[64];
    const char *equals = pair == NULL ? NULL : strchr(pair, '=');
    if (equals != NULL && (size_t)(equals - pair) < sizeof name) {
        memcpy(name, pair, (size_t)(equals - pair));
        name[equals - pair] = '\0';
        (void)setenv(name, equals + 1, 1);
    }
}

static void run(const daemon_state *d, int out)
{
    char config[96];
    char errors[96];
    const char *const *agents = d->options.agents;
    static const char *const load[] = {"load=" ARCP_BINARY_DIR "/tests/arcp-load-agent", NULL};
    const char *words[28] = {d->options.program != NULL ? d->options.program
                                                        : ARCP_BINARY_DIR "/bin/arcpd",
                             "--listen",
                             "ws://127.0.0.1:0/arcp",
                             "--token",
                             "t-alice=alice",
                             "--token",
                             "t-bob=bob",
                             "--token",
                             "t-carol=carol",
                             "--enforce",
                             "off"};
    size_t count = 11;
    (void)snprintf(config, sizeof config, "%s/arcpd.yaml", d->directory);
    (void)snprintf(errors, sizeof errors, "%s/errors", d->directory);
    agents = agents[0] != NULL ? agents : load;
    for (size_t i = 0; agents[i] != NULL; i++) {
        words[count++] = "--agent";
        words[count++] = agents[i];
    }
    if (d->options.config != NULL) {
        words[count++] = "--config";
        words[count++] = config;
    }
    if (d->options.store != NULL) {
        words[count++] = "--store";
        words[count++] = d->options.store;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves nothing behind */
    const int err = open(errors, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(err, STDERR_FILENO);
    (void)unsetenv("XDG_STATE_HOME");
    (void)setenv("STATE_DIRECTORY", d->directory, 1);
    set_environment(d->options.environment);
    if (d->options.preload != NULL) {
        (void)setenv("LD_PRELOAD", d->options.preload, 1);
    }
    limit(RLIMIT_FSIZE, d->options.file_bytes_max);
    limit(RLIMIT_NOFILE, d->options.open_files);
    /* The pointers are not written through. */
    (void)execv(words[0], (char *const *)(const void *)words);
    _exit(127);
}

/* ---- start and end ---- */

static void take_end(daemon_state *d)
{
    int status = 0;
    if (waitpid(d->pid, &status, 0) != d->pid) {
        daemon_fail("waitpid: %s", strerror(errno));
    }
    d->pid = 0;
    if (d->out >= 0) {
        (void)close(d->out);
        d->out = -1;
    }
    d->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void write_config(const daemon_state *d)
{
    char path[96];
    if (d->options.config == NULL) {
        return;
    }
    (void)snprintf(path, sizeof path, "%s/arcpd.yaml", d->directory);
    FILE *file = fopen(path, "we");
    if (file == NULL || fputs(d->options.config, file) < 0 || fclose(file) != 0) {
        daemon_fail("%s: %s", path, strerror(errno));
    }
}

void daemon_launch(daemon_state *d)
{
    int out[2];
    write_config(d);
    if (pipe2(out, O_CLOEXEC) != 0) {
        daemon_fail("pipe: %s", strerror(errno));
    }
    d->began_ns = daemon_now_ns();
    d->start_count++;
    d->out = out[0];
    d->pid = fork();
    if (d->pid < 0) {
        daemon_fail("fork: %s", strerror(errno));
    }
    if (d->pid == 0) {
        run(d, out[1]);
    }
    (void)close(out[1]);
}

/* Its first line of output; false when there is none. */
static bool read_line(const daemon_state *d, char line[256])
{
    size_t size = 0;
    memset(line, 0, 256);
    while (strchr(line, '\n') == NULL) {
        struct pollfd one = {.fd = d->out, .events = POLLIN};
        if (poll(&one, 1, READY_MS) <= 0 || size == 255) {
            daemon_fail("arcpd did not get ready");
        }
        const ssize_t got = read(d->out, line + size, 255 - size);
        if (got <= 0) {
            return false;
        }
        size += (size_t)got;
    }
    return true;
}

bool daemon_await(daemon_state *d)
{
    char line[256];
    if (!read_line(d, line)) {
        take_end(d);
        return false;
    }
    d->ready_ns = daemon_now_ns() - d->began_ns;
    const char *port = strrchr(line, ':');
    if (strncmp(line, "arcpd: ready ws://", 18) != 0 || port == NULL) {
        daemon_fail("arcpd said: %s", line);
    }
    d->port = (unsigned short)strtoul(port + 1, NULL, 10);
    (void)close(d->out);
    d->out = -1;
    return true;
}

void daemon_start(daemon_state *d)
{
    daemon_launch(d);
    if (!daemon_await(d)) {
        char *errors = daemon_errors(d);
        daemon_fail("arcpd ended with %d: %s", d->exit_status, errors);
    }
}

/* A child between fork and exec still holds the store's lock. */
static void await_lock(const daemon_state *d)
{
    const int store = open(d->store, O_RDONLY | O_CLOEXEC);
    if (store >= 0) {
        if (flock(store, LOCK_EX) != 0) {
            daemon_fail("flock: %s", strerror(errno));
        }
        (void)close(store);
    }
}

void daemon_kill(daemon_state *d)
{
    if (kill(d->pid, SIGKILL) != 0) {
        daemon_fail("kill: %s", strerror(errno));
    }
    take_end(d);
    await_lock(d);
}

int daemon_stop_by(daemon_state *d, int signal_number)
{
    if (kill(d->pid, signal_number) != 0) {
        daemon_fail("kill: %s", strerror(errno));
    }
    take_end(d);
    return d->exit_status;
}

int daemon_stop(daemon_state *d)
{
    return daemon_stop_by(d, SIGTERM);
}

char *daemon_errors(const daemon_state *d)
{
    char path[96];
    struct stat about;
    (void)snprintf(path, sizeof path, "%s/errors", d->directory);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &about) != 0) {
        daemon_fail("%s: %s", path, strerror(errno));
    }
    char *text = calloc(1, (size_t)about.st_size + 1);
    if (text == NULL || read(file, text, (size_t)about.st_size) != about.st_size) {
        daemon_fail("%s: %s", path, strerror(errno));
    }
    (void)close(file);
    return text;
}

void daemon_end(daemon_state *d)
{
    if (d->pid != 0) {
        daemon_kill(d);
    }
    (void)remove_tree(d->directory);
}

/* ---- resource usage ---- */

uint64_t daemon_resident_bytes(const daemon_state *d)
{
    char path[64];
    char line[128] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/statm", (int)d->pid);
    FILE *file = fopen(path, "re");
    const char *second = NULL;
    if (file != NULL && fgets(line, sizeof line, file) != NULL) {
        second = strchr(line, ' ');
    }
    if (second == NULL) {
        daemon_fail("%s: %s", path, strerror(errno));
    }
    (void)fclose(file);
    return strtoull(second, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t daemon_cpu_ns(const daemon_state *d)
{
    struct timespec used;
    clockid_t clock;
    if (clock_getcpuclockid(d->pid, &clock) != 0 || clock_gettime(clock, &used) != 0) {
        daemon_fail("the CPU clock of %d: %s", (int)d->pid, strerror(errno));
    }
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}
