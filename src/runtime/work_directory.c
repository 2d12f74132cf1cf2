#include "runtime/work_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTE_PREFIX "process-"
#define DEPTH_MAX   256

arcp_status arcp__work_directory_make(const char *path, const char *user, arcp_error *err)
{
    if (mkdir(path, 0700) != 0) {
        return arcp_error_set(err, ARCP_E_IO, "the directory %s cannot be made: %s", path,
                              strerror(errno));
    }
    if (user == NULL) {
        return ARCP_OK;
    }
    char buffer[4096];
    struct passwd entry;
    struct passwd *found = NULL;
    if (getpwnam_r(user, &entry, buffer, sizeof(buffer), &found) != 0 || found == NULL ||
        chown(path, found->pw_uid, found->pw_gid) != 0) {
        (void)rmdir(path);
        return arcp_error_set(err, ARCP_E_IO, "the directory %s cannot be given to user \"%s\"",
                              path, user);
    }
    return ARCP_OK;
}

/* Removes what is in an open directory; takes the descriptor over. */
static void empty(int directory, int depth)
{
    DIR *entries = fdopendir(directory);
    if (entries == NULL) {
        (void)close(directory);
        return;
    }
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        if (unlinkat(directory, entry->d_name, 0) == 0) {
            continue;
        }
        int inner = depth >= DEPTH_MAX ? -1
                                       : openat(directory, entry->d_name,
                                                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner >= 0) {
            empty(inner, depth + 1);
        }
        (void)unlinkat(directory, entry->d_name, AT_REMOVEDIR);
    }
    (void)closedir(entries);
}

void arcp__work_directory_remove(const char *path)
{
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory >= 0) {
        empty(directory, 0);
    }
    (void)rmdir(path);
}

/* ---- notes of processes ---- */

/* When a process started, in ticks since boot: the 22nd field of its stat line, counted
 * behind the name's last parenthesis. 0 when it does not exist. */
static unsigned long long start_time(pid_t pid)
{
    char path[64];
    char line[1024];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    size_t size = fread(line, 1, sizeof(line) - 1, file);
    (void)fclose(file);
    line[size] = '\0';
    char *at = strrchr(line, ')');
    for (int field = 2; at != NULL && field < 22; field++) {
        at = strchr(at + 1, ' ');
    }
    return at == NULL ? 0 : strtoull(at + 1, NULL, 10);
}

static bool boot_id(char out[40])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file == NULL) {
        return false;
    }
    bool read = fgets(out, 40, file) != NULL;
    (void)fclose(file);
    out[strcspn(out, "\n")] = '\0';
    return read;
}

static void note_path(const char *base, pid_t pid, char out[4096])
{
    (void)snprintf(out, 4096, "%s/" NOTE_PREFIX "%d", base, (int)pid);
}

void arcp__process_note(const char *base, pid_t pid)
{
    char path[4096];
    char boot[40];
    note_path(base, pid, path);
    FILE *file = boot_id(boot) ? fopen(path, "we") : NULL;
    if (file != NULL) {
        (void)fprintf(file, "%d %llu %s\n", (int)pid, start_time(pid), boot);
        (void)fclose(file);
    }
}

void arcp__process_forget(const char *base, pid_t pid)
{
    char path[4096];
    note_path(base, pid, path);
    (void)unlink(path);
}

/* True when the note's process was killed. */
static bool sweep_note(const char *base, const char *name)
{
    char path[4096];
    char now[40];
    char line[128];
    (void)snprintf(path, sizeof(path), "%s/%s", base, name);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    bool has_line = fgets(line, sizeof(line), file) != NULL;
    (void)fclose(file);
    char *rest = NULL;
    long pid = has_line ? strtol(line, &rest, 10) : 0;
    unsigned long long started = pid > 1 ? strtoull(rest, &rest, 10) : 0;
    if (started == 0 || !boot_id(now) || strncmp(rest + 1, now, strlen(now)) != 0) {
        return false;
    }
    return start_time((pid_t)pid) == started && kill(-(pid_t)pid, SIGKILL) == 0;
}

unsigned arcp__work_directory_sweep(const char *base)
{
    unsigned killed = 0;
    DIR *entries = opendir(base);
    if (entries == NULL) {
        return 0;
    }
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        if (strncmp(entry->d_name, NOTE_PREFIX, strlen(NOTE_PREFIX)) == 0) {
            killed += sweep_note(base, entry->d_name) ? 1 : 0;
        }
    }
    (void)closedir(entries);
    int directory = open(base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory >= 0) {
        empty(directory, 0);
    }
    return killed;
}
