#include "enforce/confined.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "enforce/fixture.h"

#define START     ARCP_BINARY_DIR "/tests/arcp-enforce-start"
#define CONTAINER ARCP_BINARY_DIR "/tests/arcp-enforce-container"
#define ARCP      ARCP_BINARY_DIR "/bin/arcp"

int confined_set_up(void **state)
{
    static confined one;
    static unsigned number;
    one = (confined){.code = -1};
    (void)snprintf(one.dir, sizeof one.dir, ARCP_BINARY_DIR "/tests/confined.%d.%u", (int)getpid(),
                   number++);
    fixture_make(one.dir, getuid(), CONFINED_TOKEN);
    *state = &one;
    return 0;
}

int confined_tear_down(void **state)
{
    const confined *one = *state;
    char command[256];
    (void)snprintf(command, sizeof command, "rm -rf %s", one->dir);
    return system(command); /* NOLINT(cert-env33-c): a path of the build */
}

static void set_environment(const confined *one)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/home", one->dir);
    (void)clearenv();
    (void)setenv("PATH", "/usr/bin:/bin:/usr/sbin:/sbin", 1);
    (void)setenv("HOME", path, 1);
    (void)strcat(path, "/.cache");
    (void)setenv("XDG_CACHE_HOME", path, 1);
    if (one->failing != NULL) {
        (void)setenv("ARCP_SANDBOX_FAIL", one->failing, 1);
    }
    if (one->without != NULL) {
        (void)setenv("ARCP_SANDBOX_WITHOUT", one->without, 1);
    }
}

static pid_t start(const confined *one, const char *const *argv, int output)
{
    char path[256];
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)setpgid(0, 0);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        set_environment(one);
        (void)snprintf(path, sizeof path, "%s/read", one->dir);
        const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (chdir(path) == 0 && dup2(null, 0) == 0 && dup2(output, 1) == 1 &&
            dup2(output, 2) == 2) {
            (void)execv(argv[0], (char *const *)argv); /* NOLINT: execv changes nothing */
        }
        _exit(99);
    }
    return child;
}

pid_t confined_start(const confined *one, const char *script, int output)
{
    char lease[1024];
    const char *argv[14];
    size_t count = 0;
    /* What a late lease cannot have: the program's own HOME, and another port. */
    const char *port = one->is_late ? "" : ":9";
    const char *home = one->is_late ? "write" : "home";
    (void)snprintf(
        lease, sizeof lease,
        "{\"fs.read\":[\"%s/read/**\",\"%s/write/**\",\"%s/*.pattern\"],\"fs.write\":[\"%s/write/"
        "**\",\"%s/%s/**\"],\"net.fetch\":[\"http://localhost%s/**\"]}",
        one->dir, one->dir, one->dir, one->dir, one->dir, home, port);
    if (one->in_container) {
        argv[count++] = CONTAINER;
    }
    argv[count++] = one->by_run ? ARCP : START;
    if (one->by_run) {
        argv[count++] = "run";
    }
    if (one->is_late) {
        argv[count++] = "--late";
        argv[count++] = "yes";
    }
    argv[count++] = "--lease";
    argv[count++] = one->lease == NULL ? lease : one->lease;
    argv[count++] = "--";
    argv[count++] = "/bin/sh";
    argv[count++] = "-c";
    argv[count++] = script;
    argv[count] = NULL;
    return start(one, argv, output);
}

/* Reads to the end of the output, then waits. */
static void finish(confined *one, pid_t child, int ends[2])
{
    size_t size = 0;
    ssize_t got = 0;
    int status = 0;
    (void)close(ends[1]);
    while ((got = read(ends[0], one->output + size, sizeof one->output - 1 - size)) > 0) {
        size += (size_t)got;
    }
    one->output[size] = '\0';
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    one->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void confined_run(confined *one, const char *script)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = confined_start(one, script, ends[1]);
    finish(one, child, ends);
}

void confined_ask(confined *one, const char *const *argv)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = start(one, argv, ends[1]);
    finish(one, child, ends);
}

bool confined_exists(const confined *one, const char *name)
{
    char path[PATH_MAX];
    struct stat about;
    (void)snprintf(path, sizeof path, "%s/%s", one->dir, name);
    return lstat(path, &about) == 0;
}

void confined_remove(const confined *one, const char *name)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", one->dir, name);
    (void)unlink(path);
}
