#include "enforce/attempt.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "enforce/input.h"

enum { WORDS_MAX = 64, TEXT_MAX = 4096, PATIENCE_MS = 60000, SURVIVAL_MS = 3000, WIN_MS = 10000 };

static const char usual_lease[] =
    "{'fs.read': ['@/read/**', '@/write/**', '@/files/one'], 'fs.write': ['@/write/**']}";

typedef struct attempt {
    const escape_run *run;
    const escape_row *row;
    bool confined;
    char dir[192];
    char mark[WORLD_MARK_SIZE]; /* "mark-17c" */
    fixture_victim victim;
    char *words[WORDS_MAX + 1];
    size_t word_count;
    char text[16 * TEXT_MAX]; /* of the words */
    size_t text_size;
} attempt;

/* The value of the placeholder that the text begins with, and its length; NULL: it begins with
 * none. */
static const char *placeholder(const attempt *try, const char *text, size_t *length)
{
    static char number[16];
    const fixture_service *service = &try->run->service;
    const struct {
        const char *name, *value;
        unsigned number;
    } all[] = {
        {"@", try->dir, 0},
        {"{bin}", try->run->bin, 0},
        {"{host}", service->directory, 0},
        {"{beside}", service->beside, 0},
        {"{abstract}", service->abstract, 0},
        {"{queue}", service->message_queue, 0},
        {"{token}", try->run->token, 0},
        {"{mark}", try->mark, 0},
        {"{tag}", try->mark + strlen("mark-"), 0},
        {"{address}", try->victim.address, 0},
        {"{victim}", NULL, (unsigned)try->victim.pid},
        {"{port}", NULL, service->port},
        {"{port6}", NULL, service->port6},
        {"{key}", NULL, (unsigned)service->pid},
        {"{uid}", NULL, (unsigned)try->run->mode->user},
        {"{ms}", NULL, try->run->race_ms},
        {"{race}", NULL, try->confined ? try->run->race_ms : WIN_MS},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strncmp(text, all[i].name, strlen(all[i].name)) == 0) {
            *length = strlen(all[i].name);
            (void)snprintf(number, sizeof number, "%u", all[i].number);
            return all[i].value == NULL ? number : all[i].value;
        }
    }
    return NULL;
}

/* Replaces placeholders; ' becomes " when `is_json`. The result lives as long as the attempt. */
static char *expand(attempt *try, const char *text, bool is_json)
{
    char *begin = try->text + try->text_size;
    char *end = try->text + sizeof try->text - 1;
    char *out = begin;
    while (*text != '\0') {
        size_t length = 1;
        const char *value = placeholder(try, text, &length);
        const char plain[2] = {is_json && *text == '\'' ? '"' : *text, '\0'};
        const char *piece = value == NULL ? plain : value;
        if (out + strlen(piece) >= end) {
            errx(1, "the texts of \"%s\" are too long", try->row->name);
        }
        out = stpcpy(out, piece);
        text += length;
    }
    try->text_size += (size_t)(out + 1 - begin);
    return begin;
}

static void add_word(attempt *try, const char *word)
{
    if (try->word_count == WORDS_MAX) {
        errx(1, "\"%s\" has too many words", try->row->name);
    }
    try->words[try->word_count++] = expand(try, word, false);
}

/* Words are separated by one space. */
static void add_words(attempt *try, const char *text)
{
    char copy[TEXT_MAX];
    char *rest = NULL;
    (void)snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        add_word(try, word);
    }
}

static void add_program(attempt *try)
{
    const char *program = try->row->program;
    if (strncmp(program, "sh ", 3) == 0) {
        char text[TEXT_MAX];
        (void)snprintf(
            text, sizeof text,
            "( %s\n) || { [ $? != 77 ] || exit 77; echo 'denied: by the command'; exit 1; }",
            program + 3);
        add_words(try, "/bin/sh -c");
        add_word(try, text);
    } else {
        add_words(try, "{bin}/arcp-escape");
        add_words(try, program);
    }
}

static void add_confinement(attempt *try)
{
    const escape_run *run = try->run;
    const escape_row *row = try->row;
    char path[512];
    if (run->mode->is_filtered) {
        (void)snprintf(path, sizeof path, "%s/arcp-enforce-container", run->tests);
        add_word(try, path);
    }
    (void)snprintf(path, sizeof path, run->mode->by_launcher ? "%s/arcp-enforce-start" : "%s/arcp",
                   run->mode->by_launcher ? run->tests : run->programs);
    add_word(try, path);
    add_words(try, run->mode->by_launcher ? "--user nobody" : "run");
    if (run->mode->is_late) {
        add_words(try, "--late yes");
    }
    if (row->lease != NULL || row->options == NULL) {
        add_word(try, "--lease");
        try->words[try->word_count++] =
            expand(try, row->lease == NULL ? usual_lease : row->lease, true);
    }
    if (row->options != NULL) {
        add_words(try, row->options);
    }
    add_words(try, "--base {bin}"); /* commands of the shell start it, too */
    add_word(try, "--");
}

/* Whether the row is about HOME: it has a HOME in its own tree then. The other rows share one,
 * because the directory that is /etc inside, with some 800 files, is prepared for each HOME (passwd
 * names it). */
static bool is_about_home(const escape_row *row)
{
    const char *const texts[] = {row->program, row->lease,  row->options,
                                 row->setup,   row->during, row->cwd};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i] != NULL && (strstr(texts[i], "@/home") != NULL || strchr(texts[i], '~'))) {
            return true;
        }
    }
    return false;
}

static void set_environment(const attempt *try)
{
    char value[512];
    if (is_about_home(try->row)) {
        (void)snprintf(value, sizeof value, "%s/home", try->dir);
    } else {
        (void)snprintf(value, sizeof value, "%s/common/home", try->run->root);
    }
    if (clearenv() != 0 || setenv("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", 1) != 0 ||
        setenv("HOME", value, 1) != 0 || setenv("LC_ALL", "C.UTF-8", 1) != 0) {
        err(1, "setenv");
    }
    (void)snprintf(value, sizeof value, "%s/cache", try->run->root);
    (void)setenv("XDG_CACHE_HOME", value, 1);
    if (try->run->mode->without != NULL) {
        (void)setenv("ARCP_SANDBOX_WITHOUT", try->run->mode->without, 1);
    }
}

/* Runs a row's commands on the host; ends the attempt when they fail. */
static void run_on_host(attempt *try, const char *commands)
{
    int status = 0;
    const char *text = expand(try, commands, false);
    const pid_t child = fork();
    if (child == 0) {
        if ((try->row->where & ROOT_SETS) == 0) {
            fixture_become(try->run->mode->user);
        }
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
        (void)execl("/bin/sh", "sh", "-ec", text, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        errx(1, "these commands fail: %s", text);
    }
}

static void start(attempt *try, int in, int out, int errors)
{
    const escape_mode *mode = try->run->mode;
    char cwd[512];
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (try->confined) {
        add_confinement(try);
    } else {
        /* A parent of the same user, as there is one inside. */
        add_words(try, "/bin/sh -c");
        static char text[] = "\"$@\"; exit $?"; /* no placeholder */
        try->words[try->word_count++] = text;
        add_word(try, "sh");
    }
    add_program(try);
    (void)snprintf(cwd, sizeof cwd, "%s", try->row->cwd == NULL ? "@/read" : try->row->cwd);
    const char *place = expand(try, cwd, false);
    set_environment(try);
    if (!(try->confined && mode->by_launcher)) {
        fixture_become(mode->user);
    }
    (void)prctl(PR_SET_DUMPABLE, 1);
    if (chdir(place) != 0 || dup2(in, 0) != 0 || dup2(out, 1) != 1 || dup2(errors, 2) != 2) {
        _exit(99);
    }
    /* A descriptor that a careless starter leaves open: of the secret. */
    (void)snprintf(cwd, sizeof cwd, "%s/outside/secret", try->dir);
    const int secret = open(cwd, O_RDONLY | O_CLOEXEC);
    (void)dup2(secret, 9);
    (void)fcntl(9, F_SETFD, 0); /* when it has this number already */
    try->words[try->word_count] = NULL;
    (void)execv(try->words[0], try->words);
    _exit(99);
}

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads the program's output to its end; true: there was none in time. `in` is closed after the
 * first line and `during`. */
static bool follow(attempt *try, int out, int *in, int exit_fd, escape_outcome *outcome)
{
    size_t size = 0;
    int64_t deadline = now_ms() + PATIENCE_MS;
    bool has_exited = false;
    for (;;) {
        const int64_t left = deadline - now_ms();
        struct pollfd polls[2] = {{.fd = out, .events = POLLIN},
                                  {.fd = has_exited ? -1 : exit_fd, .events = POLLIN}};
        if (left <= 0 || poll(polls, 2, (int)left) <= 0) {
            outcome->has_timed_out = !has_exited;
            outcome->has_survived = has_exited; /* something has standard output open */
            return true;
        }
        if (polls[0].revents != 0) {
            char chunk[4096];
            const ssize_t got = read(out, chunk, sizeof chunk);
            if (got <= 0) {
                return false;
            }
            const size_t room = OUTPUT_MAX - 1 - size;
            const size_t taken = (size_t)got < room ? (size_t)got : room;
            for (size_t i = 0; i < taken; i++) {
                outcome->output[size + i] = chunk[i] == '\0' ? '\n' : chunk[i];
            }
            size += taken;
            if (*in >= 0 && strchr(outcome->output, '\n') != NULL) {
                run_on_host(try, try->row->during);
                (void)close(*in);
                *in = -1;
            }
        } else if (polls[1].revents != 0) {
            has_exited = true;
            deadline = now_ms() + SURVIVAL_MS;
        }
    }
}

static void observe(attempt *try, pid_t child, int *in, int out, escape_outcome *outcome)
{
    int status = 0;
    const int exit_fd = (int)syscall_pidfd_open(child);
    const bool is_late = follow(try, out, in, exit_fd, outcome);
    if (is_late) {
        (void)kill(-child, SIGKILL);
    }
    (void)waitpid(child, &status, 0);
    /* What is left of the group, when output has ended before the program. */
    (void)kill(-child, SIGKILL);
    (void)close(exit_fd);
    outcome->by_signal = WIFSIGNALED(status);
    outcome->code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

/* Whether the denial was reported: by `arcp run` as a line, by the sandbox itself as a record. */
static bool is_reported(attempt *try, const escape_outcome *outcome)
{
    char line[1024];
    const char *report = try->row->report;
    const char *target = strchr(report, ' ') + 1;
    (void)snprintf(line, sizeof line,
                   try->run->mode->by_launcher ? "\"capability\":\"%.*s\",\"target\":\"%s\""
                                               : "denied    %.*s %s",
                   (int)(target - report - 1), report, expand(try, target, false));
    return strstr(outcome->errors, line) != NULL;
}

static void take_errors(int fd, escape_outcome *out)
{
    const ssize_t got = pread(fd, out->errors, OUTPUT_MAX - 1, 0);
    out->errors[got < 0 ? 0 : got] = '\0';
}

/* Runs the program and sees what it did. */
static void run_program(attempt *try, escape_outcome *out)
{
    int ends[2];
    int input[2] = {-1, -1};
    /* `arcp run` and the program write to it at the same time. The position of a memory file has no
     * lock, so that without O_APPEND a text can overwrite the other one. */
    const int errors = memfd_create("errors", MFD_CLOEXEC);
    const uint64_t before = fixture_digest(try->dir);
    int in = try->row->during != NULL
                 ? -1
                 : escape_input_open(try->row->input, try->dir, &try->run->service);
    if (errors < 0 || fcntl(errors, F_SETFL, O_APPEND) != 0 || pipe2(ends, O_CLOEXEC) != 0 ||
        (in < 0 && pipe2(input, O_CLOEXEC) != 0)) {
        err(1, "pipe2");
    }
    in = in < 0 ? input[0] : in;
    const pid_t child = fork();
    if (child == 0) {
        start(try, in, ends[1], errors);
    }
    (void)close(ends[1]);
    (void)close(in);
    if (child < 0) {
        err(1, "fork");
    }
    observe(try, child, &input[1], ends[0], out);
    (void)close(ends[0]);
    take_errors(errors, out);
    (void)close(errors);
    fixture_service_settle(&try->run->service);
    /* What the host itself did during the run is no effect of the program. */
    out->has_changed = try->row->during == NULL && fixture_digest(try->dir) != before;
    out->has_secret = strstr(out->output, try->run->token) != NULL;
    out->is_reported = try->row->report != NULL && is_reported(try, out);
}

static void remove_tree(const char *dir)
{
    const pid_t child = fork();
    if (child == 0) {
        (void)execl("/bin/rm", "rm", "-rf", "--one-file-system", dir, (char *)NULL);
        _exit(127);
    }
    (void)waitpid(child, NULL, 0);
}

void escape_try(const escape_run *run, const escape_row *row, size_t number, bool confined,
                escape_outcome *out)
{
    static attempt try;
    const bool has_victim = strstr(row->program, "{victim}") != NULL;
    try = (attempt){.run = run, .row = row, .confined = confined};
    (void)snprintf(try.dir, sizeof try.dir, "%s/%zu%c", run->root, number, confined ? 'c' : 'b');
    world_mark(number, confined, try.mark);
    if (run->is_root &&
        (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)) {
        err(1, "a mount namespace for the attempt");
    }
    fixture_make(try.dir, run->mode->user, run->token);
    if (has_victim) {
        fixture_victim_start(&try.victim, run->bin, try.dir, run->mode->user, run->token);
    }
    if (row->setup != NULL) {
        run_on_host(&try, row->setup);
    }
    run_program(&try, out);
    out->has_arrived = (row->where & WORLD) != 0 && world_has_heard(&run->world, number, confined);
    out->has_killed = has_victim && fixture_victim_stop(&try.victim);
    remove_tree(try.dir);
}
