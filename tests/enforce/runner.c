/* Runs the rows of escape.def: each bare, where it must be done, and confined, where it must not
 * be.
 *
 *   enforce-escape MODE[,MODE]... [--bare | --show] [NAME]...
 *
 * MODE says who runs the program, and at which level (table `modes`). Modes are run one after the
 * other and have the same user: the bare half of a row, which depends on nothing else of a mode, is
 * run in the first of them that has the row. --bare: only the bare halves; --show: prints what each
 * program wrote when it was confined.
 * ARCP_ESCAPE_MS: for how many milliseconds a confined program tries to win each race; 300 in the
 * two modes in which `arcp run` confines an ordinary user's program, and 100 in the others, where
 * the same broker runs. ARCP_ESCAPE_STRIDE: of the modes that combine what others have alone, every
 * n-th row only, besides those that no other mode has (default: 1). NAME: a part of the names of
 * the rows to run. Prints a line per row that fails and per row that cannot be run here, then how
 * many there were of each. Exit status 0: no row failed; 77: nothing of the mode can run on this
 * host. */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "enforce/attempt.h"

enum { ORDINARY_USER = 65534, MESSAGE_MAX = 1024, NOT_RUN = 77, RACE_MS = 100, LONG_RACE_MS = 300 };

static const escape_mode modes[] = {
    {.name = "root", .level = FULL},
    {.name = "user", .user = ORDINARY_USER, .by_launcher = true, .level = FULL},
    {.name = "late", .user = ORDINARY_USER, .by_launcher = true, .level = FULL, .is_late = true},
    {.name = "late-landlock",
     .user = ORDINARY_USER,
     .by_launcher = true,
     .level = LANDLOCK,
     .without = "userns",
     .is_late = true,
     .is_combined = true},
    {.name = "nobody", .user = ORDINARY_USER, .level = FULL, .has_long_races = true},
    {.name = "landlock",
     .user = ORDINARY_USER,
     .level = LANDLOCK,
     .without = "userns",
     .has_long_races = true},
    {.name = "landlock-root", .level = LANDLOCK, .without = "userns", .is_combined = true},
    {.name = "container",
     .user = ORDINARY_USER,
     .level = LANDLOCK,
     .is_filtered = true,
     .is_combined = true},
};

typedef enum row_verdict { UNSEEN, PASSED, FAILED, UNABLE, ELSEWHERE } row_verdict;

typedef struct row_result {
    row_verdict verdict;
    char message[MESSAGE_MAX];
    escape_outcome confined;
} row_result;

/* What a row did bare, in this mode or in one before. */
typedef struct bare_half {
    bool is_known;
    escape_outcome outcome;
} bare_half;

static escape_run run;
static row_result *results;    /* one per row, shared with the workers */
static bare_half *bare_halves; /* likewise, and with the runs of other modes */
static atomic_size_t *next;
static bool only_bare, shows;

/* The last line of a text, without what a terminal would act on. */
static void last_line(const char *text, char out[200])
{
    size_t end = strlen(text);
    while (end > 0 && text[end - 1] == '\n') {
        end--;
    }
    size_t begin = end;
    while (begin > 0 && text[begin - 1] != '\n') {
        begin--;
    }
    size_t size = 0;
    for (; begin < end && size < 199; begin++) {
        out[size++] = text[begin] < ' ' ? '?' : text[begin];
    }
    out[size] = '\0';
}

static void conclude(row_result *result, row_verdict verdict, const char *what,
                     const escape_outcome *outcome)
{
    char output[200];
    char errors[200];
    last_line(outcome->output, output);
    last_line(outcome->errors, errors);
    result->verdict = verdict;
    (void)snprintf(result->message, sizeof result->message, "%s (%s %d%s%s%s%s%s%s)", what,
                   outcome->by_signal ? "signal" : "status", outcome->code,
                   output[0] == '\0' ? "" : ", ", output, errors[0] == '\0' ? "" : "; ", errors,
                   outcome->has_changed ? "; a file changed" : "",
                   outcome->has_killed ? "; the victim ended" : "");
}

static bool is_proved(const escape_row *row, const escape_outcome *outcome)
{
    switch (row->proof) {
    case STATUS:
        return !outcome->by_signal && outcome->code == 0;
    case SECRET:
        return outcome->has_secret;
    case CHANGED:
        return outcome->has_changed;
    case KILLED:
        return outcome->has_killed;
    case ARRIVED:
        return outcome->has_arrived;
    }
    return false;
}

/* Whether anything at all came of it, whatever the row wants to see. */
static const char *effect(const escape_outcome *outcome)
{
    return outcome->has_secret      ? "the program got the secret"
           : outcome->has_changed   ? "a file that was not granted changed"
           : outcome->has_killed    ? "the victim was ended"
           : outcome->has_arrived   ? "something arrived in the network world"
           : outcome->has_survived  ? "a process survived"
           : outcome->has_timed_out ? "the program did not end"
                                    : NULL;
}

static bool is_denied(const escape_outcome *outcome)
{
    return !outcome->by_signal && outcome->code == 1 && strstr(outcome->output, "denied: ") != NULL;
}

/* Whether there is something here that reports what the row says. */
static bool can_report(const escape_row *row)
{
    return strncmp(row->report, "net.", 4) == 0 ? run.mode->level == FULL || run.has_proxy
                                                : run.has_broker;
}

static void judge_confined(row_result *result, const escape_row *row)
{
    const escape_outcome *confined = &result->confined;
    const char *seen = effect(confined);
    if (seen != NULL && row->kind != WORKS) {
        conclude(result, FAILED, seen, confined);
    } else if (row->kind == WORKS) {
        conclude(result,
                 is_proved(row, confined) && !confined->has_timed_out && !confined->has_survived
                     ? PASSED
                     : FAILED,
                 "confined it does not work", confined);
    } else if (row->kind == REFUSED) {
        const bool is_refused = !confined->by_signal && confined->code == 125;
        conclude(result, is_refused ? PASSED : FAILED, "it was started", confined);
    } else if (is_proved(row, confined)) {
        conclude(result, FAILED, "confined it was done", confined);
    } else if (row->kind == ENDED) {
        conclude(result, confined->by_signal || confined->code != 0 ? PASSED : FAILED,
                 "confined it was not ended", confined);
    } else if (!is_denied(confined) && (confined->by_signal || confined->code != 0)) {
        conclude(result, FAILED, "confined it was neither done nor denied", confined);
    } else if (row->report != NULL && can_report(row) && !confined->is_reported) {
        conclude(result, FAILED, "the denial was not reported", confined);
    } else {
        result->verdict = PASSED;
    }
}

/* Runs one half in a process of its own, because mounts are made there. */
static bool try_half(const escape_row *row, size_t number, bool confined, escape_outcome *outcome,
                     row_result *result)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        int said = memfd_create("said", MFD_CLOEXEC);
        (void)dup2(said, STDERR_FILENO);
        escape_try(&run, row, number, confined, outcome);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        conclude(result, FAILED,
                 confined ? "the attempt could not be made confined"
                          : "the attempt could not be made bare",
                 outcome);
        return false;
    }
    return true;
}

/* Whether the kernel does not have what the act needs, so that it fails bare, too. */
static bool is_lacking(const escape_outcome *bare)
{
    static const int numbers[] = {ENOSYS, EOPNOTSUPP, EAFNOSUPPORT, EPROTONOSUPPORT,
                                  ESOCKTNOSUPPORT};
    char wanted[128];
    bool found = !bare->by_signal && bare->code == NOT_RUN;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        (void)snprintf(wanted, sizeof wanted, "denied: %s\n", strerror(numbers[i]));
        found = found || strstr(bare->output, wanted) != NULL;
    }
    return found;
}

static bool try_bare(const escape_row *row, size_t number, row_result *result)
{
    bare_half *bare = &bare_halves[number];
    bare->is_known = bare->is_known || try_half(row, number, false, &bare->outcome, result);
    return bare->is_known;
}

static bool belongs(const escape_row *row)
{
    const escape_mode *mode = run.mode;
    const unsigned levels = row->where & (FULL | LANDLOCK);
    return (levels == 0 || (levels & mode->level) != 0) &&
           ((row->where & BY_RUN) == 0 || !mode->by_launcher) &&
           ((row->where & NOT_LATE) == 0 || !mode->is_late) &&
           ((row->where & LATE) == 0 || mode->is_late) &&
           ((row->where & AS_ROOT) == 0 || mode->user == 0) &&
           ((row->where & NOT_ROOT) == 0 || mode->user != 0);
}

/* Whether this run leaves the row out: each combined mode takes others. */
static bool is_left_out(size_t number)
{
    const unsigned where = escape_rows[number].where;
    const bool is_only_here = (where & LANDLOCK) != 0 && (where & (LATE | AS_ROOT)) != 0;
    return run.mode->is_combined && !is_only_here &&
           (number + (size_t)(run.mode - modes)) % run.stride != 0;
}

static void run_row(size_t number)
{
    const escape_row *row = &escape_rows[number];
    row_result *result = &results[number];
    const escape_outcome *bare = &bare_halves[number].outcome;
    if (!belongs(row)) {
        result->verdict = ELSEWHERE;
    } else if ((row->where & BROKER) != 0 && !run.has_broker && !only_bare) {
        result->verdict = UNABLE;
        (void)snprintf(result->message, sizeof result->message, "there is no broker");
    } else if ((row->where & PROXY) != 0 && !run.has_proxy && !only_bare) {
        result->verdict = UNABLE;
        (void)snprintf(result->message, sizeof result->message, "there is no proxy");
    } else if ((row->where & ROOT_SETS) != 0 && !run.is_root) {
        result->verdict = UNABLE;
        (void)snprintf(result->message, sizeof result->message, "only root can prepare it");
    } else if ((row->where & WORLD) != 0 && run.world.pid == 0) {
        result->verdict = UNABLE;
        (void)snprintf(result->message, sizeof result->message, "there is no network world");
    } else if (try_bare(row, number, result)) {
        if (is_lacking(bare)) {
            char why[200];
            last_line(bare->output, why);
            result->verdict = UNABLE;
            (void)snprintf(result->message, sizeof result->message, "%s", why);
        } else if (!is_proved(row, bare)) {
            conclude(result, FAILED, "it is not done bare, so the row proves nothing", bare);
        } else if (only_bare) {
            result->verdict = PASSED;
        } else if (try_half(row, number, true, &result->confined, result)) {
            judge_confined(result, row);
        }
    }
}

static void work(int argc, char **argv)
{
    for (;;) {
        const size_t number = atomic_fetch_add(next, 1);
        bool wanted = argc == 0;
        if (number >= escape_row_count) {
            return;
        }
        for (int i = 0; i < argc; i++) {
            wanted = wanted || strstr(escape_rows[number].name, argv[i]) != NULL;
        }
        if (wanted && !is_left_out(number)) {
            run_row(number);
        } else {
            results[number].verdict = ELSEWHERE;
        }
    }
}

static int report(void)
{
    size_t counts[ELSEWHERE + 1] = {0};
    for (size_t i = 0; i < escape_row_count; i++) {
        const row_result *result = &results[i];
        counts[result->verdict]++;
        if (shows && (result->verdict == PASSED || result->verdict == FAILED)) {
            const escape_outcome *confined = &result->confined;
            (void)printf("%s: %s %d\n%s%s", escape_rows[i].name,
                         confined->by_signal ? "signal" : "status", confined->code,
                         confined->output, confined->errors);
        }
        if (result->verdict == FAILED || result->verdict == UNSEEN) {
            (void)printf("FAILED   %s: %s\n", escape_rows[i].name,
                         result->verdict == UNSEEN ? "its worker ended" : result->message);
        } else if (result->verdict == UNABLE) {
            (void)printf("not run  %s: %s\n", escape_rows[i].name, result->message);
        }
    }
    const size_t failed = counts[FAILED] + counts[UNSEEN];
    (void)printf("%s%s: %zu rows hold, %zu failed, %zu not run here, %zu others\n", run.mode->name,
                 only_bare ? " (bare halves only)" : "", counts[PASSED], failed, counts[UNABLE],
                 counts[ELSEWHERE]);
    return failed == 0 && counts[PASSED] != 0 ? 0 : 1;
}

/* What the host can do, in the words of the program that does it. */
static bool has_ability(const char *name)
{
    char command[1024];
    char text[4096] = "";
    char wanted[64];
    (void)snprintf(command, sizeof command, "ARCP_SANDBOX_WITHOUT=%s %s%s %s/arcp-sandbox --probe",
                   run.mode->without == NULL ? "" : run.mode->without,
                   run.mode->is_filtered ? run.tests : "",
                   run.mode->is_filtered ? "/arcp-enforce-container" : "", run.programs);
    (void)snprintf(wanted, sizeof wanted, "\"%s\":0", name);
    FILE *probe = popen(command, "re"); /* NOLINT(cert-env33-c): paths of the build */
    const size_t got = probe == NULL ? 0 : fread(text, 1, sizeof text - 1, probe);
    text[got] = '\0';
    if (probe == NULL || pclose(probe) != 0 || strstr(text, "\"userns\"") == NULL) {
        errx(1, "arcp-sandbox --probe fails: %s", text);
    }
    char compact[4096];
    size_t size = 0;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at != ' ') {
            compact[size++] = *at;
        }
    }
    compact[size] = '\0';
    return strstr(compact, wanted) == NULL;
}

/* Whether this host has the level of the mode: 0, or the exit status. CI must have each of them. */
static int check_level(void)
{
    static const char *const needed[] = {"userns", "mount", "netns", "landlock", "seccomp"};
    const size_t first = run.mode->level == FULL ? 0 : 3;
    for (size_t i = first; i < sizeof needed / sizeof needed[0]; i++) {
        if (!has_ability(needed[i])) {
            (void)printf("%s: not run, this host has no %s\n", run.mode->name, needed[i]);
            return getenv("CI") == NULL ? NOT_RUN : 1;
        }
    }
    return 0;
}

/* A place of this process's own: nothing of it is left, however the run ends. Its name is no other
 * run's: through the root of a process of another run, the same path would lead to the file of that
 * run. */
static void make_root(void)
{
    if (run.is_root &&
        (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
         mount("arcp-enforce", "/srv", "tmpfs", 0, "mode=755") != 0)) {
        err(1, "a file system for the rows");
    }
    (void)snprintf(run.root, sizeof run.root, "%s/enforce.XXXXXX",
                   run.is_root ? "/srv" : run.tests);
    if (mkdtemp(run.root) == NULL || chmod(run.root, 0755) != 0) {
        err(1, "%s", run.root);
    }
    char path[512];
    (void)snprintf(path, sizeof path, "%s/cache", run.root);
    (void)snprintf(run.bin, sizeof run.bin, "%s/bin", run.root);
    if (mkdir(run.bin, 0755) != 0 || mkdir(path, 0700) != 0 ||
        (run.is_root && (chown(path, run.mode->user, run.mode->user) != 0 ||
                         chown(run.bin, run.mode->user, run.mode->user) != 0))) {
        err(1, "%s", run.root);
    }
    (void)snprintf(path, sizeof path, "cp %s/arcp-escape %s/", run.tests, run.bin);
    if (system(path) != 0) { /* NOLINT(cert-env33-c): paths of the build */
        errx(1, "cannot copy the programs");
    }
    (void)snprintf(path, sizeof path, "%s/common", run.root);
    fixture_make(path, run.mode->user, run.token);
}

static void remove_root(void)
{
    static const char *const places[] = {"/tmp", "/dev/shm", "/run"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "%s/arcp-escape-%d", places[i], (int)run.service.pid);
        (void)unlink(path);
    }
    char command[256];
    (void)snprintf(command, sizeof command, "rm -rf --one-file-system %s", run.root);
    if (system(command) != 0) { /* NOLINT(cert-env33-c): a path of the build */
        warnx("%s is left", run.root);
    }
}

static void work_in_parallel(int argc, char **argv)
{
    enum { WORKERS_MAX = 32 };
    pid_t workers[WORKERS_MAX];
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int count = cores < 1 ? 2 : cores * 2 > WORKERS_MAX ? WORKERS_MAX : (int)cores * 2;
    for (int i = 0; i < count; i++) {
        workers[i] = fork();
        if (workers[i] == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            work(argc, argv);
            _exit(0);
        }
    }
    for (int i = 0; i < count; i++) {
        (void)waitpid(workers[i], NULL, 0);
    }
}

static const escape_mode *mode_of(const char *name)
{
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(modes[i].name, name) == 0) {
            return &modes[i];
        }
    }
    errx(2, "unknown mode \"%s\"", name);
}

/* The modes of a list with commas, which have one user. */
static size_t read_modes(char *names, const escape_mode *out[sizeof modes / sizeof modes[0]])
{
    size_t count = 0;
    char *rest = NULL;
    for (char *name = strtok_r(names, ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest)) {
        if (count == sizeof modes / sizeof modes[0]) {
            errx(2, "too many modes");
        }
        out[count++] = mode_of(name);
        if (out[count - 1]->user != out[0]->user) {
            errx(2, "%s and %s have different users", out[0]->name, name);
        }
    }
    return count;
}

static void make_token(void)
{
    unsigned char bytes[8];
    size_t size = (size_t)snprintf(run.token, sizeof run.token, "secret-");
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        err(1, "getrandom");
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        size += (size_t)snprintf(run.token + size, sizeof run.token - size, "%02x", bytes[i]);
    }
}

static void *share(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        err(1, "mmap");
    }
    return memory;
}

/* Runs the rows in `run.mode`: the exit status. */
static int run_mode(int argc, char **argv)
{
    if (!run.is_root && strcmp(run.mode->name, "nobody") != 0 &&
        strcmp(run.mode->name, "landlock") != 0) {
        (void)printf("%s: not run, only root can start it\n", run.mode->name);
        return NOT_RUN;
    }
    const int lacks = only_bare ? 0 : check_level();
    if (lacks != 0) {
        return lacks;
    }
    const char *race_ms = getenv("ARCP_ESCAPE_MS");
    run.race_ms = race_ms != NULL            ? (unsigned)strtoul(race_ms, NULL, 10)
                  : run.mode->has_long_races ? LONG_RACE_MS
                                             : RACE_MS;
    const char *stride = getenv("ARCP_ESCAPE_STRIDE");
    run.stride = stride != NULL ? strtoul(stride, NULL, 10) : 1;
    if (run.stride == 0) {
        errx(2, "ARCP_ESCAPE_STRIDE must be at least 1");
    }
    run.has_broker = !only_bare && has_ability("broker");
    run.has_proxy = !only_bare && run.mode->level == LANDLOCK && has_ability("proxy") &&
                    has_ability("notify") && has_ability("pidfd_getfd") && has_ability("vm_read");
    make_token();
    make_root();
    if (run.is_root) {
        const world_options options = {.directory = run.root, .token = run.token};
        (void)world_start(&run.world, &options);
    }
    fixture_service_start(&run.service, run.root, run.mode->user, run.token);
    results = share(escape_row_count * sizeof *results);
    next = share(sizeof *next);
    work_in_parallel(argc, argv);
    fixture_service_stop(&run.service);
    world_stop(&run.world);
    remove_root();
    return report();
}

/* Runs a mode in a process of its own, which has its own mounts: the exit status. */
static int start_mode(int argc, char **argv)
{
    int status = 0;
    (void)fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        exit(run_mode(argc, argv));
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        err(1, "%s", run.mode->name);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        errx(2, "usage: enforce-escape MODE[,MODE]... [--bare | --show] [NAME]...");
    }
    run.is_root = geteuid() == 0;
    run.programs = ARCP_BINARY_DIR "/bin";
    run.tests = ARCP_BINARY_DIR "/tests";
    only_bare = argc > 2 && strcmp(argv[2], "--bare") == 0;
    shows = argc > 2 && strcmp(argv[2], "--show") == 0;
    bare_halves = share(escape_row_count * sizeof *bare_halves);
    const int first = only_bare || shows ? 3 : 2;
    const escape_mode *wanted[sizeof modes / sizeof modes[0]];
    const size_t count = read_modes(argv[1], wanted);
    int failed = 0;
    int status = NOT_RUN;
    for (size_t i = 0; i < count; i++) {
        run.mode = wanted[i];
        const int one = start_mode(argc - first, argv + first);
        failed = one != 0 && one != NOT_RUN ? one : failed;
        status = one == 0 ? 0 : status;
    }
    return failed != 0 ? failed : status;
}
