#include "launch/proc_stat.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <arcp/buf.h>

#define ENVIRON_BYTES_MAX 4194304u

static int open_of(pid_t pid, const char *name)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
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

/* A number behind one space; false when there is none. */
static bool next_number(const char **at, const char *end, uint64_t *out)
{
    uint64_t number = 0;
    const char *digit = *at;
    if (digit == end || *digit != ' ') {
        return false;
    }
    digit++;
    bool is_negative = digit != end && *digit == '-';
    digit += is_negative ? 1 : 0;
    const char *first = digit;
    for (; digit != end && *digit >= '0' && *digit <= '9'; digit++) {
        number = number * 10u + (uint64_t)(*digit - '0');
    }
    *at = digit;
    *out = is_negative ? 0 : number;
    return digit != first;
}

bool arcp__proc_stat_parse(arcp_span text, arcp__proc_stat *out)
{
    /* The second field is the program's name in parentheses, and may itself hold any:
     * the last one of the line closes it. */
    const char *close = text.size == 0 ? NULL : memrchr(text.data, ')', text.size);
    const char *end = text.data + text.size;
    if (close == NULL || end - close < 4 || close[1] != ' ') {
        return false;
    }
    arcp__proc_stat found = {.pid = (pid_t)strtol(text.data, NULL, 10), .state = close[2]};
    const char *at = close + 3;
    uint64_t number = 0;
    for (int field = 4; field <= 22; field++) {
        if (!next_number(&at, end, &number)) {
            return false;
        }
        if (field == 4) {
            found.parent = (pid_t)number;
        } else if (field == 5) {
            found.group = (pid_t)number;
        }
    }
    found.started = number;
    if (found.pid <= 0) {
        return false;
    }
    *out = found;
    return true;
}

bool arcp__proc_stat_read(pid_t pid, arcp__proc_stat *out)
{
    char text[1024];
    int fd = open_of(pid, "stat");
    if (fd < 0) {
        return false;
    }
    ssize_t size = read_some(fd, text, sizeof(text) - 1);
    (void)close(fd);
    if (size <= 0) {
        return false;
    }
    text[size] = '\0';
    return arcp__proc_stat_parse(arcp_span_make(text, (size_t)size), out);
}

void arcp__proc_each(bool (*each)(void *user, const arcp__proc_stat *process), void *user)
{
    DIR *entries = opendir("/proc");
    bool goes_on = entries != NULL;
    while (goes_on) {
        const struct dirent *entry = readdir(entries);
        if (entry == NULL) {
            break;
        }
        arcp__proc_stat found;
        char *rest = NULL;
        long pid = strtol(entry->d_name, &rest, 10);
        if (pid > 0 && *rest == '\0' && arcp__proc_stat_read((pid_t)pid, &found)) {
            goes_on = each(user, &found);
        }
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
}

typedef struct child_filter {
    bool (*each)(void *user, const arcp__proc_stat *process);
    void *user;
    pid_t parent;
} child_filter;

static bool on_any(void *user, const arcp__proc_stat *process)
{
    const child_filter *filter = user;
    return process->parent != filter->parent || filter->each(filter->user, process);
}

void arcp__proc_each_child(bool (*each)(void *user, const arcp__proc_stat *process), void *user)
{
    child_filter filter = {each, user, getpid()};
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)filter.parent);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        arcp__proc_each(on_any, &filter); /* a kernel without this list */
        return;
    }
    char word[16];
    arcp__proc_stat found;
    while (fscanf(file, "%15s", word) == 1) {
        pid_t pid = (pid_t)strtol(word, NULL, 10);
        if (arcp__proc_stat_read(pid, &found) && !on_any(&filter, &found)) {
            break;
        }
    }
    (void)fclose(file);
}

/* ---- environment and directory ---- */

static void read_environ(pid_t pid, arcp_buf *out)
{
    char chunk[4096];
    int fd = open_of(pid, "environ");
    if (fd < 0) {
        return;
    }
    ssize_t size = read_some(fd, chunk, sizeof(chunk));
    while (size > 0 && out->size < ENVIRON_BYTES_MAX) {
        arcp_buf_append(out, arcp_span_make(chunk, (size_t)size));
        size = read_some(fd, chunk, sizeof(chunk));
    }
    (void)close(fd);
}

bool arcp__proc_variable(pid_t pid, const char *name, char *out, size_t size)
{
    arcp_buf text = ARCP_BUF_INIT;
    size_t name_size = strlen(name);
    bool found = false;
    read_environ(pid, &text);
    arcp_span rest = arcp_buf_span(&text);
    while (rest.size != 0 && !found) {
        const char *end = memchr(rest.data, '\0', rest.size);
        arcp_span pair = arcp_span_first(rest, end == NULL ? rest.size : (size_t)(end - rest.data));
        arcp_span value = arcp_span_from(pair, name_size + 1);
        if (pair.size > name_size && pair.data[name_size] == '=' &&
            memcmp(pair.data, name, name_size) == 0 && value.size < size) {
            memcpy(out, value.data, value.size);
            out[value.size] = '\0';
            found = true;
        }
        rest = arcp_span_from(rest, pair.size + 1);
    }
    arcp_buf_fini(&text);
    return found;
}

bool arcp__proc_is_inside(pid_t pid, arcp_span directory)
{
    char path[64];
    char target[4096];
    (void)snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
    ssize_t size = readlink(path, target, sizeof(target));
    arcp_span cwd = arcp_span_make(target, size < 0 ? 0 : (size_t)size);
    return directory.size != 0 && arcp_span_starts_with(cwd, directory) &&
           (cwd.size == directory.size || cwd.data[directory.size] == '/' ||
            cwd.data[directory.size] == ' '); /* " (deleted)" */
}
