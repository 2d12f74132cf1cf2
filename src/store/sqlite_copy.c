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
    const int size = snprintf(out, PATH_MAX, "%s%s", path, suffix);
    return size > 0 && size < PATH_MAX
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE, "%.200s...: the name is too long", path);
}

/* SQLite leaves the journal of a transaction that it could not end, for example on a full disk. */
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

/* ---- copying a database ---- */

static void check_owner(arcp__sqlite *sqlite, arcp_error *err)
{
    const int64_t id = arcp__sqlite_integer(sqlite, "PRAGMA application_id", err);
    if (err->status == ARCP_OK && id != ARCP__SQLITE_APPLICATION_ID) {
        (void)arcp_error_set(err, ARCP_E_USAGE, "%s: not a store (application id %lld)",
                             sqlite->path, (long long)id);
    }
}

/* Creates an empty file for a copy. ARCP_E_EXISTS: it already exists. */
static void make_empty(const char *path, arcp_error *err)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        (void)io_error(path, "cannot be created", err);
        return;
    }
    close(fd);
}

/* Copies into an empty file, in one read transaction: later commits are not included. */
static void copy_database(const char *path, const char *to, arcp_error *err)
{
    arcp__sqlite source = {0};
    arcp__sqlite target = {0};
    arcp__sqlite_open(&source, path, false, "", err);
    check_owner(&source, err);
    if (arcp__sqlite_open(&target, to, true, "", err) == ARCP_OK) {
        int code = SQLITE_OK;
        sqlite3_backup *copy = sqlite3_backup_init(target.db, "main", source.db, "main");
        if (copy == NULL) {
            code = sqlite3_errcode(target.db);
        } else {
            const int stepped = sqlite3_backup_step(copy, -1);
            const int finished = sqlite3_backup_finish(copy);
            code = stepped == SQLITE_DONE ? finished : stepped;
        }
        if (copy == NULL || code != SQLITE_OK) {
            (void)arcp__sqlite_error(&target, code, err);
        }
        /* Otherwise the copied header asks for WAL mode, and reading would create a log beside it.
         */
        arcp__sqlite_exec(&target, "PRAGMA journal_mode = DELETE", err);
    }
    arcp__sqlite_close(&target);
    arcp__sqlite_close(&source);
}

/* ---- checking ---- */

static void keep_first(void *user, const char *line)
{
    arcp_error *first = user;
    if (first->status == ARCP_OK) {
        (void)arcp_error_set(first, ARCP_E_CORRUPT, "%s", line);
    }
}

static void check_whole(const char *path, arcp__sqlite_found *out, arcp_error *err)
{
    arcp_error first = {0};
    if (err->status == ARCP_OK &&
        arcp__sqlite_check(path, keep_first, &first, out, err) == ARCP_OK && out->damages != 0) {
        (void)arcp_error_copy(err, &first);
    }
}

static void sync_file(const char *path, arcp_error *err)
{
    if (err->status != ARCP_OK) {
        return;
    }
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0) {
        (void)io_error(path, "cannot be synced", err);
    }
    if (fd >= 0) {
        close(fd);
    }
}

/* ---- backup ---- */

/* SQLite silently reads a log only up to its first damage, so the log is checked first. If a
 * process has the store open, the log changes while it would be read, and that process has checked
 * it when it started. */
static void check_log_unless_in_use(const char *path, arcp_error *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        (void)io_error(path, "cannot be opened", err);
        return;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        arcp__sqlite_log_check(path, err);
    }
    close(fd);
}

arcp_status arcp__sqlite_backup(const char *path, const char *to, arcp__sqlite_found *out,
                                arcp_error *err)
{
    char partial[PATH_MAX];
    *out = (arcp__sqlite_found){0};
    *err = (arcp_error){0};
    if (make_name(partial, to, ".partial", err) != ARCP_OK) {
        return err->status;
    }
    if (access(to, F_OK) == 0) {
        return arcp_error_set(err, ARCP_E_EXISTS, "%s already exists: give another name", to);
    }
    make_empty(partial, err);
    if (err->status == ARCP_E_EXISTS) {
        return arcp_error_set(
            err, ARCP_E_EXISTS,
            "%s exists: another backup is in progress, or one was interrupted; in "
            "that case remove it",
            partial);
    }
    if (err->status != ARCP_OK) {
        return err->status;
    }
    check_log_unless_in_use(path, err);
    copy_database(path, partial, err);
    check_whole(partial, out, err);
    sync_file(partial, err);
    if (err->status == ARCP_OK && link(partial, to) != 0) {
        (void)io_error(to, "cannot be created", err);
    }
    remove_copy(partial);
    if (err->status == ARCP_OK) {
        (void)arcp__directory_sync(to);
    }
    return err->status;
}

/* ---- restore ---- */

/* Resolves symbolic links, as SQLite does: the log is beside the file, not beside a link. */
static void resolve(const char *path, char out[PATH_MAX], arcp_error *err)
{
    struct stat info;
    if (realpath(path, out) != NULL) {
        return;
    }
    if (errno == ENOENT && lstat(path, &info) != 0) {
        (void)make_name(out, path, "", err);
    } else {
        (void)io_error(path, "cannot be resolved", err);
    }
}

/* Locks the store that is to be replaced and returns its descriptor; -1: there is none. */
static int lock_old(const char *path, arcp_error *err)
{
    char name[PATH_MAX];
    struct stat info;
    if (make_name(name, path, "-wal", err) != ARCP_OK) {
        return -1;
    }
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno != ENOENT) {
        (void)io_error(path, "cannot be opened", err);
    } else if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        (void)arcp_error_set(err, ARCP_E_EXISTS, "%s: in use by another process; stop it first",
                             path);
    } else if (stat(name, &info) == 0 && info.st_size != 0) {
        (void)arcp_error_set(err, ARCP_E_EXISTS,
                             "%s has the newest commits of the existing store; move both files "
                             "away first",
                             name);
    }
    return fd;
}

/* The version of a backup's schema. */
static int64_t get_version(const char *from, arcp_error *err)
{
    arcp__sqlite sqlite = {0};
    arcp__sqlite_open(&sqlite, from, false, "", err);
    check_owner(&sqlite, err);
    const int64_t version = arcp__sqlite_integer(&sqlite, "PRAGMA user_version", err);
    arcp__sqlite_close(&sqlite);
    return version;
}

/* Copies and checks a backup. Of an older schema the copy is migrated and then checked, because
 * damage outlives a migration. */
static void copy_backup(const char *from, const char *copy, arcp__sqlite_found *out,
                        arcp_error *err)
{
    arcp__sqlite sqlite = {0};
    const bool is_older = get_version(from, err) < ARCP__SQLITE_SCHEMA_VERSION;
    if (!is_older) {
        check_whole(from, out, err);
    }
    if (err->status != ARCP_OK) {
        return;
    }
    remove_copy(copy); /* from an interrupted restore */
    make_empty(copy, err);
    copy_database(from, copy, err);
    if (is_older) {
        arcp__sqlite_open(&sqlite, copy, true, "", err);
        arcp__sqlite_schema_open(&sqlite, err);
        arcp__sqlite_exec(&sqlite, "PRAGMA journal_mode = DELETE", err);
        arcp__sqlite_close(&sqlite);
        check_whole(copy, out, err);
    }
}

/* Deletes what the new store must not contain, and frees unused pages. */
static void prepare(const char *copy, const arcp__sqlite_restore_options *options, arcp_error *err)
{
    arcp__sqlite sqlite = {0};
    char sql[1024];
    (void)snprintf(sql, sizeof sql,
                   "BEGIN IMMEDIATE; DELETE FROM \"%s\";"
                   "DELETE FROM runs WHERE id >> 38 IN"
                   " (SELECT id FROM streams WHERE substr(key, 1, length('%s')) = '%s');"
                   "DELETE FROM streams WHERE substr(key, 1, length('%s')) = '%s';",
                   arcp_store_table_name(options->without), options->without_prefix,
                   options->without_prefix, options->without_prefix, options->without_prefix);
    arcp__sqlite_open(&sqlite, copy, true, "", err);
    arcp__sqlite_schema_open(&sqlite, err);
    arcp__sqlite_exec(&sqlite, sql, err);
    arcp__sqlite_schema_seal_sums(&sqlite, err);
    arcp__sqlite_commit(&sqlite, err);
    arcp__sqlite_exec(&sqlite,
                      "PRAGMA auto_vacuum = INCREMENTAL; VACUUM;"
                      "PRAGMA journal_mode = DELETE",
                      err);
    arcp__sqlite_close(&sqlite);
}

/* Gives the copy the owner of the store that it replaces, or of the directory. */
static void set_owner(const char *copy, int old_fd, const char *path, arcp_error *err)
{
    char directory[PATH_MAX];
    struct stat info;
    arcp__directory_of(path, directory);
    if ((old_fd >= 0 ? fstat(old_fd, &info) : stat(directory, &info)) != 0) {
        (void)io_error(directory, "cannot be checked", err);
    } else if (geteuid() == 0 && lchown(copy, info.st_uid, info.st_gid) != 0) {
        (void)io_error(copy, "cannot change the owner", err);
    }
}

/* Links the existing store under a second name, which an interrupted restore may have done before.
 */
static void keep_old(int old_fd, const char *path, arcp_error *err)
{
    char replaced[PATH_MAX];
    struct stat named;
    struct stat opened;
    if (make_name(replaced, path, ".replaced", err) != ARCP_OK || link(path, replaced) == 0) {
        return;
    }
    const int number = errno;
    if (number != EEXIST || lstat(replaced, &named) != 0 || fstat(old_fd, &opened) != 0 ||
        named.st_dev != opened.st_dev || named.st_ino != opened.st_ino) {
        errno = number;
        (void)io_error(replaced, "the existing store cannot be kept under this name", err);
    }
}

static void replace_store(const char *copy, int old_fd, const char *path, arcp_error *err)
{
    char name[PATH_MAX];
    if (old_fd >= 0) {
        keep_old(old_fd, path, err);
    }
    /* Remove the empty log and the index before the new file is in place: a process that opens the
     * new file creates its own. */
    static const char *const suffixes[] = {"-wal", "-shm"};
    for (size_t i = 0; err->status == ARCP_OK && i < 2; i++) {
        if (make_name(name, path, suffixes[i], err) == ARCP_OK) {
            (void)unlink(name);
        }
    }
    /* Without an old store there is no lock, so a store that was created meanwhile must be kept:
     * link fails if it exists. */
    if (err->status == ARCP_OK && (old_fd >= 0 ? rename(copy, path) : link(copy, path)) != 0) {
        (void)io_error(path, "cannot be replaced", err);
    }
    if (err->status == ARCP_OK) {
        (void)arcp__directory_sync(path);
    }
}

arcp_status arcp__sqlite_restore(const arcp__sqlite_restore_options *options,
                                 arcp__sqlite_found *out, arcp_error *err)
{
    char path[PATH_MAX];
    char copy[PATH_MAX];
    *out = (arcp__sqlite_found){0};
    *err = (arcp_error){0};
    resolve(options->path, path, err);
    if (err->status != ARCP_OK || make_name(copy, path, ".restoring", err) != ARCP_OK) {
        return err->status;
    }
    const int old_fd = lock_old(path, err);
    if (err->status == ARCP_OK) {
        copy_backup(options->from, copy, out, err);
        prepare(copy, options, err);
        check_whole(copy, out, err);
        if (err->status == ARCP_OK) {
            set_owner(copy, old_fd, path, err);
        }
        sync_file(copy, err);
        if (err->status == ARCP_OK) {
            replace_store(copy, old_fd, path, err);
        }
        remove_copy(copy);
    }
    if (old_fd >= 0) {
        close(old_fd);
    }
    return err->status;
}
