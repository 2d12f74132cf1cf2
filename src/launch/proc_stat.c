#include "launch/proc_stat.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arcp/buf.h>

#include "base/directory.h"

#define ENVIRON_BYTES_MAX 4194304u

static int open_of(pid_t pid, const char *name)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static ssize_t read_some(int fd, char *to, size_t size)
{
    ssize_t got;
    do {
        got = read(fd, to, size);
    } while (got < 0 && errno == EINTR);
    return got;
}

/* ---- stat ---- */

bool arcp__proc_stat_parse(const char *text, arcp__proc_stat *out)
{
    /* The second field is the program's name in parentheses. It may itself contain parentheses, so
     * the last one of the line closes it. */
    const char *close = strrchr(text, ')');
    if (close == NULL || close[1] != ' ' || close[2] == '\0') {
        return false;
    }
    arcp__proc_stat found = {.pid = (pid_t)strtol(text, NULL, 10), .state = close[2]};
    const char *rest = close + 3;
    long long number = 0;
    for (int field = 4; field <= 22; field++) {
        char *end = NULL;
        number = strtoll(rest, &end, 10);
        if (end == rest) {
            return false;
        }
        rest = end;
        found.parent = field == 4 ? (pid_t)number : found.parent;
        found.group = field == 5 ? (pid_t)number : found.group;
    }
    if (found.pid <= 0) {
        return false;
    }
    found.started = (uint64_t)number;
    *out = found;
    return true;
}

bool arcp__proc_stat_read(pid_t pid, arcp__proc_stat *out)
{
    char text[1024];
    const int fd = open_of(pid, "stat");
    if (fd < 0) {
        return false;
    }
    const ssize_t size = read_some(fd, text, sizeof text - 1);
    (void)close(fd);
    if (size <= 0) {
        return false;
    }
    text[size] = '\0';
    return arcp__proc_stat_parse(text, out);
}

/* ---- usage ---- */

bool arcp__proc_usage_parse(const char *text, long ticks_per_sec, long page_bytes,
                            arcp__proc_usage *out)
{
    /* Fields 14 to 17 are the ticks of the process and of children that it waited for, 24 its pages
     * in memory. */
    const char *rest = strrchr(text, ')');
    if (rest == NULL || rest[1] != ' ' || rest[2] == '\0') {
        return false;
    }
    rest += 3;
    uint64_t ticks = 0;
    long long number = 0;
    for (int field = 4; field <= 24; field++) {
        char *end = NULL;
        number = strtoll(rest, &end, 10);
        if (end == rest) {
            return false;
        }
        rest = end;
        ticks += field >= 14 && field <= 17 && number > 0 ? (uint64_t)number : 0;
    }
    *out = (arcp__proc_usage){ticks * 1000 / (uint64_t)ticks_per_sec,
                              number < 0 ? 0 : (uint64_t)number * (uint64_t)page_bytes};
    return true;
}

static size_t read_text(pid_t pid, const char *name, char *text, size_t size)
{
    const int fd = open_of(pid, name);
    if (fd < 0) {
        return 0;
    }
    const ssize_t got = read_some(fd, text, size - 1);
    (void)close(fd);
    text[got <= 0 ? 0 : got] = '\0';
    return got <= 0 ? 0 : (size_t)got;
}

/* Processes that are summed up at most. */
#define USAGE_PROCESSES_MAX 64u

bool arcp__proc_usage_read(pid_t pid, arcp__proc_usage *out)
{
    pid_t pids[USAGE_PROCESSES_MAX] = {pid};
    size_t count = 1;
    bool found = false;
    *out = (arcp__proc_usage){0};
    for (size_t i = 0; i < count; i++) {
        char text[1024];
        char name[48];
        arcp__proc_usage one;
        if (read_text(pids[i], "stat", text, sizeof text) == 0 ||
            !arcp__proc_usage_parse(text, sysconf(_SC_CLK_TCK), sysconf(_SC_PAGESIZE), &one)) {
            continue; /* it has ended meanwhile */
        }
        found = found || i == 0;
        out->cpu_ms += one.cpu_ms;
        out->memory_bytes += one.memory_bytes;
        (void)snprintf(name, sizeof name, "task/%d/children", (int)pids[i]);
        (void)read_text(pids[i], name, text, sizeof text);
        const char *rest = text;
        char *end = NULL;
        for (long child = strtol(rest, &end, 10); end != rest && count < USAGE_PROCESSES_MAX;
             child = strtol(rest, &end, 10)) {
            pids[count++] = (pid_t)child;
            rest = end;
        }
    }
    return found;
}

/* Calls `each` for the children of `parent`; 0: for all processes. */
static void for_each_process(pid_t parent, arcp__proc_fn each, void *user)
{
    DIR *entries = opendir("/proc");
    if (entries == NULL) {
        return;
    }
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        arcp__proc_stat found;
        char *rest = NULL;
        const long pid = strtol(entry->d_name, &rest, 10);
        if (pid > 0 && *rest == '\0' && arcp__proc_stat_read((pid_t)pid, &found) &&
            (parent == 0 || found.parent == parent)) {
            each(user, &found);
        }
    }
    (void)closedir(entries);
}

void arcp__proc_each(arcp__proc_fn each, void *user)
{
    for_each_process(0, each, user);
}

void arcp__proc_each_child(arcp__proc_fn each, void *user)
{
    const pid_t parent = getpid();
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)parent);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        for_each_process(parent, each, user); /* the kernel does not have this list */
        return;
    }
    char word[16];
    arcp__proc_stat found;
    while (fscanf(file, "%15s", word) == 1) {
        if (arcp__proc_stat_read((pid_t)strtol(word, NULL, 10), &found) && found.parent == parent) {
            each(user, &found);
        }
    }
    (void)fclose(file);
}

/* ---- environment and directory ---- */

bool arcp__proc_variable(pid_t pid, const char *name, char *out, size_t size)
{
    char chunk[4096];
    arcp_buf text = arcp_buf_init();
    const size_t name_size = strlen(name);
    bool found = false;
    const int fd = open_of(pid, "environ");
    ssize_t got = fd < 0 ? 0 : read_some(fd, chunk, sizeof chunk);
    while (got > 0 && text.size < ENVIRON_BYTES_MAX) {
        arcp_buf_append(&text, arcp_span_make(chunk, (size_t)got));
        got = read_some(fd, chunk, sizeof chunk);
    }
    arcp__close(fd);
    arcp_buf_append_byte(&text, '\0');
    for (size_t offset = 0; !text.failed && offset < text.size && !found;
         offset += strlen(text.data + offset) + 1) {
        const char *pair = text.data + offset;
        found = strncmp(pair, name, name_size) == 0 && pair[name_size] == '=' &&
                strlen(pair + name_size + 1) < size;
        if (found) {
            memcpy(out, pair + name_size + 1, strlen(pair + name_size + 1) + 1);
        }
    }
    arcp_buf_fini(&text);
    return found;
}

bool arcp__proc_is_inside(pid_t pid, arcp_span directory)
{
    char path[64];
    char target[4096];
    (void)snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
    const ssize_t size = readlink(path, target, sizeof target);
    const arcp_span cwd = arcp_span_make(target, size < 0 ? 0 : (size_t)size);
    return directory.size != 0 && arcp_span_starts_with(cwd, directory) &&
           (cwd.size == directory.size || cwd.data[directory.size] == '/' ||
            cwd.data[directory.size] == ' '); /* " (deleted)" */
}
