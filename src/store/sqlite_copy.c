#include "store/sqlite_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directory.h"
#include "store/sqlite_log.h"
#include "store/sqlite_schema.h"

static arcp_status io_error(const char *path, const char *what, arcp_error *err)
{
    return arcp_error_set(err, errno == EEXIST ? ARCP_E_EXISTS : ARCP_E_IO, "%s: %s: %s", path,
                          what, strerror(errno));
}

static arcp_status make_name(char out[PATH_MAX], const char *path, const char *suffix,
                             arcp_error *err)
{
    int size = snprintf(out, PATH_MAX, "%s%s", path, suffix);
    return size > 0 && size < PATH_MAX
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE, "%.200s...: the name is too long", path);
}

/* SQLite leaves the journal of a transaction that it could not end, on a full disk for example. */
static void remove_copy(const char *copy)
{
    static const char *const suffixes[] = {"", "-journal", "-wal", "-shm"};
    char name[PATH_MAX];
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        if (make_name(name, copy, suffixes[i], NULL) == ARCP_OK) {
            (void)unlink(name);
        }
    }
}

/* ---- one database into another ---- */

static arcp_status check_owner(arcp__sqlite *sqlite, arcp_error *err)
{
    int64_t id = 0;
    arcp_status status = arcp__sqlite_integer(sqlite, "PRAGMA application_id", &id, err);
    if (status == ARCP_OK && id != ARCP__SQLITE_APPLICATION_ID) {
        status = arcp_error_set(err, ARCP_E_USAGE, "%s: not a store (application id %lld)",
                                sqlite->path, (long long)id);
    }
    return status;
}

/* In one read transaction: what is committed meanwhile is not in it. */
static arcp_status copy_pages(arcp__sqlite *from, arcp__sqlite *to, arcp_error *err)
{
    sqlite3_backup *copy = sqlite3_backup_init(to->db, "main", from->db, "main");
    if (copy == NULL) {
        return arcp__sqlite_error(to, sqlite3_errcode(to->db), err);
    }
    int code = sqlite3_backup_step(copy, -1);
    int finished = sqlite3_backup_finish(copy);
    if (code == SQLITE_DONE && finished == SQLITE_OK) {
        return ARCP_OK;
    }
    return arcp__sqlite_error(to, code == SQLITE_DONE ? finished : code, err);
}

/* An empty file for a copy. ARCP_E_EXISTS: it is somebody else's. */
static arcp_status make_empty(const char *path, arcp_error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return io_error(path, "cannot be made", err);
    }
    close(fd);
    return ARCP_OK;
}

/* Into an empty file. */
static arcp_status copy_database(const char *path, const char *to, arcp_error *err)
{
    arcp__sqlite source = {0};
    arcp__sqlite target = {0};
    arcp_status status = arcp__sqlite_open(&source, path, false, "", err);
    if (status == ARCP_OK) {
        status = check_owner(&source, err);
    }
    if (status == ARCP_OK) {
        status = arcp__sqlite_open(&target, to, true, "", err);
    }
    if (status == ARCP_OK) {
        status = copy_pages(&source, &target, err);
    }
    if (status == ARCP_OK) {
        status = arcp__sqlite_exec(&target, "PRAGMA journal_mode = DELETE", err); /* one file */
    }
    arcp__sqlite_close(&target);
    arcp__sqlite_close(&source);
    return status;
}

/* ---- is it whole? ---- */

static void keep_first(void *user, const char *line)
{
    arcp_error *first = user;
    if (first->status == ARCP_OK) {
        (void)arcp_error_set(first, ARCP_E_CORRUPT, "%s", line);
    }
}

static arcp_status check_whole(const char *path, arcp__sqlite_found *out, arcp_error *err)
{
    arcp_error first = {0};
    arcp_status status = arcp__sqlite_check(path, keep_first, &first, out, err);
    if (status == ARCP_OK && out->damages != 0) {
        *err = first;
        return first.status;
    }
    return status;
}

/* ---- backup ---- */

/* SQLite reads a log up to its first damage, without a word. That of an owner who runs grows while
 * it is looked at, and the owner looked when it started. */
static arcp_status check_log_unless_in_use(const char *path, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return io_error(path, "cannot be opened", err);
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        status = arcp__sqlite_log_check(path, err);
    }
    close(fd);
    return status;
}

static arcp_status sync_file(const char *path, arcp_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0) {
        arcp_status status = io_error(path, "cannot be synced", err);
        if (fd >= 0) {
            close(fd);
        }
        return status;
    }
    close(fd);
    return ARCP_OK;
}

static arcp_status make_backup(const char *path, const char *partial, const char *to,
                               arcp__sqlite_found *out, arcp_error *err)
{
    arcp_status status = check_log_unless_in_use(path, err);
    if (status == ARCP_OK) {
        status = copy_database(path, partial, err);
    }
    if (status == ARCP_OK) {
        status = check_whole(partial, out, err);
    }
    if (status == ARCP_OK) {
        status = sync_file(partial, err);
    }
    if (status == ARCP_OK && link(partial, to) != 0) {
        status = io_error(to, "cannot be made", err);
    }
    return status;
}

arcp_status arcp__sqlite_backup(const char *path, const char *to, arcp__sqlite_found *out,
                                arcp_error *err)
{
    char partial[PATH_MAX];
    *out = (arcp__sqlite_found){0};
    arcp_status status = make_name(partial, to, ".partial", err);
    if (status != ARCP_OK) {
        return status;
    }
    if (access(to, F_OK) == 0) {
        return arcp_error_set(err, ARCP_E_EXISTS, "%s is there already: give another name", to);
    }
    status = make_empty(partial, err);
    if (status == ARCP_E_EXISTS) {
        return arcp_error_set(err, ARCP_E_EXISTS,
                              "%s is there: another backup is being made, or one was not finished; "
                              "remove it",
                              partial);
    }
    if (status != ARCP_OK) {
        return status;
    }
    status = make_backup(path, partial, to, out, err);
    remove_copy(partial);
    if (status == ARCP_OK) {
        (void)arcp__directory_sync(to);
    }
    return status;
}

/* ---- restore ---- */

/* The lock of the store that is replaced; -1 when there is none. */
static arcp_status lock_old(const char *path, int *out, arcp_error *err)
{
    char name[PATH_MAX];
    struct stat info;
    *out = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*out < 0 && errno != ENOENT) {
        return io_error(path, "cannot be opened", err);
    }
    if (*out >= 0 && flock(*out, LOCK_EX | LOCK_NB) != 0) {
        return arcp_error_set(err, ARCP_E_EXISTS, "%s: in use by another process; stop it first",
                              path);
    }
    arcp_status status = make_name(name, path, "-wal", err);
    if (status == ARCP_OK && stat(name, &info) == 0 && info.st_size != 0) {
        return arcp_error_set(err, ARCP_E_EXISTS,
                              "%s is in the way: it has the newest commits of the store that is "
                              "there; move both away",
                              name);
    }
    return status;
}

/* What the new store must not have, and the sums of what it has. */
static arcp_status leave_out(arcp__sqlite *sqlite, const arcp__sqlite_restore_options *options,
                             arcp_error *err)
{
    char sql[1024];
    (void)snprintf(sql, sizeof(sql),
                   "BEGIN IMMEDIATE; DELETE FROM \"%s\";"
                   "DELETE FROM runs WHERE id >> 38 IN"
                   " (SELECT id FROM streams WHERE substr(key, 1, length('%s')) = '%s');"
                   "DELETE FROM streams WHERE substr(key, 1, length('%s')) = '%s';",
                   arcp_store_table_name(options->without), options->without_prefix,
                   options->without_prefix, options->without_prefix, options->without_prefix);
    arcp_status status = arcp__sqlite_exec(sqlite, sql, err);
    if (status == ARCP_OK) {
        status = arcp__sqlite_schema_seal_sums(sqlite, err);
    }
    return status == ARCP_OK ? arcp__sqlite_exec(sqlite, "COMMIT", err) : status;
}

/* An older one is brought up to date, and pages that are free are given back. */
static arcp_status prepare(const char *copy, const arcp__sqlite_restore_options *options,
                           arcp_error *err)
{
    arcp__sqlite sqlite = {0};
    arcp_status status = arcp__sqlite_open(&sqlite, copy, true, "", err);
    if (status == ARCP_OK) {
        status = arcp__sqlite_schema_open(&sqlite, err);
    }
    if (status == ARCP_OK) {
        status = leave_out(&sqlite, options, err);
    }
    if (status == ARCP_OK) {
        status = arcp__sqlite_exec(&sqlite,
                                   "PRAGMA auto_vacuum = INCREMENTAL; VACUUM;"
                                   "PRAGMA journal_mode = DELETE",
                                   err);
    }
    arcp__sqlite_close(&sqlite);
    return status;
}

/* Of the store that it replaces, or of the directory. */
static arcp_status give_owner(const char *copy, int old_fd, const char *path, arcp_error *err)
{
    char directory[PATH_MAX];
    struct stat info;
    arcp__directory_of(path, directory);
    if ((old_fd >= 0 ? fstat(old_fd, &info) : stat(directory, &info)) != 0) {
        return io_error(directory, "cannot be looked at", err);
    }
    if (geteuid() == 0 && lchown(copy, info.st_uid, info.st_gid) != 0) {
        return io_error(copy, "cannot be given to its owner", err);
    }
    return ARCP_OK;
}

static bool is_name_of(const char *name, int fd)
{
    struct stat named;
    struct stat opened;
    return lstat(name, &named) == 0 && fstat(fd, &opened) == 0 && named.st_dev == opened.st_dev &&
           named.st_ino == opened.st_ino;
}

/* A second name for the store that is there; a restore that was killed may have made it. */
static arcp_status keep_old(int old_fd, const char *path, arcp_error *err)
{
    char replaced[PATH_MAX];
    arcp_status status = make_name(replaced, path, ".replaced", err);
    if (status == ARCP_OK && link(path, replaced) != 0 &&
        !(errno == EEXIST && is_name_of(replaced, old_fd))) {
        status = io_error(replaced, "the store that is there cannot be kept", err);
    }
    return status;
}

static arcp_status take_place(const char *copy, int old_fd, const char *path, arcp_error *err)
{
    char name[PATH_MAX];
    arcp_status status = old_fd >= 0 ? keep_old(old_fd, path, err) : ARCP_OK;
    /* An empty log and an index. Before the store has its new file: who starts on that makes its
     * own. */
    static const char *const suffixes[] = {"-wal", "-shm"};
    for (size_t i = 0; status == ARCP_OK && i < 2; i++) {
        status = make_name(name, path, suffixes[i], err);
        if (status == ARCP_OK) {
            (void)unlink(name);
        }
    }
    /* Where none was nobody is locked out: one that was made meanwhile stays. */
    if (status == ARCP_OK && (old_fd >= 0 ? rename(copy, path) : link(copy, path)) != 0) {
        status = io_error(path, "cannot be replaced", err);
    }
    if (status == ARCP_OK) {
        (void)arcp__directory_sync(path);
    }
    return status;
}

static arcp_status restore_into(const char *copy, int old_fd,
                                const arcp__sqlite_restore_options *options,
                                arcp__sqlite_found *out, arcp_error *err)
{
    arcp_status status = make_empty(copy, err);
    if (status == ARCP_OK) {
        status = copy_database(options->from, copy, err);
    }
    if (status == ARCP_OK) {
        status = prepare(copy, options, err);
    }
    if (status == ARCP_OK) {
        status = check_whole(copy, out, err);
    }
    if (status == ARCP_OK) {
        status = give_owner(copy, old_fd, options->path, err);
    }
    if (status == ARCP_OK) {
        status = sync_file(copy, err);
    }
    return status == ARCP_OK ? take_place(copy, old_fd, options->path, err) : status;
}

/* A backup of a version without checksums gets them; one with them must match them. */
static arcp_status check_backup(const char *from, arcp__sqlite_found *out, arcp_error *err)
{
    arcp__sqlite sqlite = {0};
    int64_t version = 0;
    arcp_status status = arcp__sqlite_open(&sqlite, from, false, "", err);
    if (status == ARCP_OK) {
        status = check_owner(&sqlite, err);
    }
    if (status == ARCP_OK) {
        status = arcp__sqlite_integer(&sqlite, "PRAGMA user_version", &version, err);
    }
    arcp__sqlite_close(&sqlite);
    return status != ARCP_OK || version == 1 ? status : check_whole(from, out, err);
}

/* Without symbolic links, as SQLite has it: the log stands beside the file. */
static arcp_status resolve(const char *path, char out[PATH_MAX], arcp_error *err)
{
    struct stat info;
    if (realpath(path, out) != NULL) {
        return ARCP_OK;
    }
    return errno == ENOENT && lstat(path, &info) != 0 ? make_name(out, path, "", err)
                                                      : io_error(path, "cannot be resolved", err);
}

arcp_status arcp__sqlite_restore(const arcp__sqlite_restore_options *options,
                                 arcp__sqlite_found *out, arcp_error *err)
{
    char path[PATH_MAX];
    char copy[PATH_MAX];
    int old_fd = -1;
    *out = (arcp__sqlite_found){0};
    arcp_status status = resolve(options->path, path, err);
    arcp__sqlite_restore_options resolved = *options;
    resolved.path = path;
    if (status == ARCP_OK) {
        status = make_name(copy, path, ".restoring", err);
    }
    if (status == ARCP_OK) {
        status = lock_old(path, &old_fd, err);
    }
    if (status == ARCP_OK) {
        status = check_backup(options->from, out, err);
    }
    if (status == ARCP_OK) {
        remove_copy(copy); /* of a restore that was killed */
        status = restore_into(copy, old_fd, &resolved, out, err);
        remove_copy(copy);
    }
    if (old_fd >= 0) {
        close(old_fd);
    }
    return status;
}
