#include "audit/audit_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/directory.h"
#include "base/timestamp.h"

static arcp_status failed(const arcp__audit_file *file, const char *what, int number,
                          arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_IO, "the audit file %s cannot be %s: %s", file->path, what,
                          strerror(number));
}

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for the audit log");
}

/* ---- writing ---- */

bool arcp__audit_file_add(arcp__audit_file *file, arcp_span record)
{
    const size_t before = file->out.size;
    arcp__audit_chain_append(&file->head, record, &file->out);
    if (file->out.failed) {
        /* Keep the complete lines; the caller counts the lost record. */
        file->out.size = before;
        file->out.failed = false;
        return false;
    }
    return true;
}

/* After a failed sync: puts the lines that may not be on disk before those that are to be written,
 * and truncates the file to the synced part. */
static arcp_status unwrite(arcp__audit_file *file, arcp_error *err)
{
    if (!arcp_buf_reserve(&file->unsynced, file->out.size)) {
        file->unsynced.failed = false;
        return no_memory(err);
    }
    if (ftruncate(file->fd, (off_t)file->synced_size) != 0) {
        return failed(file, "truncated to its synced part", errno, err);
    }
    arcp_buf_append(&file->unsynced, arcp_buf_span(&file->out));
    arcp_buf all = file->unsynced;
    file->unsynced = file->out;
    arcp_buf_clear(&file->unsynced);
    file->out = all;
    file->size = file->synced_size;
    file->written_head = file->synced_head;
    file->must_rewrite = false;
    return ARCP_OK;
}

arcp_status arcp__audit_file_write(arcp__audit_file *file, arcp_error *err)
{
    size_t done = 0;
    arcp_status status = file->must_rewrite ? unwrite(file, err) : ARCP_OK;
    if (status == ARCP_OK && !arcp_buf_reserve(&file->unsynced, file->out.size)) {
        file->unsynced.failed = false;
        status = no_memory(err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    while (done < file->out.size) {
        const ssize_t written = write(file->fd, file->out.data + done, file->out.size - done);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            const int number = written == 0 ? ENOSPC : errno;
            /* Remove partial lines; all of `out` will be written again. */
            if (done > 0 && ftruncate(file->fd, (off_t)file->size) != 0) {
                return failed(file, "truncated to complete lines", errno, err);
            }
            return failed(file, "written", number, err);
        }
        done += (size_t)written;
    }
    file->size += done;
    file->written_head = file->head;
    arcp_buf_append(&file->unsynced, arcp_buf_span(&file->out));
    arcp_buf_clear(&file->out);
    return ARCP_OK;
}

arcp_status arcp__audit_file_sync(arcp__audit_file *file, arcp_error *err)
{
    if ((file->unsynced.size != 0 || file->must_sync) && fdatasync(file->fd) != 0) {
        file->must_rewrite = true;
        file->must_sync = true;
        return failed(file, "synced", errno, err);
    }
    file->must_sync = false;
    file->synced_size = file->size;
    file->synced_head = file->written_head;
    arcp_buf_clear(&file->unsynced);
    return ARCP_OK;
}

arcp_status arcp__audit_file_note(arcp__audit_file *file, const char *decision, const char *members,
                                  arcp_error *err)
{
    char ts[ARCP__TIMESTAMP_SIZE];
    arcp_buf record = arcp_buf_init();
    arcp__timestamp_format(arcp__clock_ns(CLOCK_REALTIME), ts);
    arcp_buf_append_format(&record, "{\"ts\":\"%.*s\",\"event\":\"log\",\"decision\":\"%s\"%s%s}",
                           (int)sizeof ts, ts, decision, members[0] == '\0' ? "" : ",", members);
    const bool added = !record.failed && arcp__audit_file_add(file, arcp_buf_span(&record));
    arcp_buf_fini(&record);
    return added ? arcp__audit_file_write(file, err) : no_memory(err);
}

/* Writes the first line of a file, or of a run, which repeats the hash before it. */
static arcp_status note_opened(arcp__audit_file *file, const char *why, arcp_error *err)
{
    char members[224];
    (void)snprintf(members, sizeof members, "\"reason\":\"%s\",\"previous\":\"%.*s\"", why,
                   ARCP__AUDIT_HASH_SIZE, file->head.hash);
    return arcp__audit_file_note(file, "opened", members, err);
}

/* ---- reading the end of a file ---- */

/* Longer than any line, because texts that peers choose are truncated (src/log/audit.c). */
#define WINDOW_BYTES ((uint64_t)1 << 20)

/* The head of a file's chain, and the remains of an interrupted write. */
typedef struct file_end {
    arcp__audit_head head; /* of the last complete line; initial if there is none */
    uint64_t size;         /* of the file */
    bool is_foreign;       /* it ends with complete lines, none of which belongs to a chain */
    bool is_unended;       /* only the line feed of the last line is missing */
    arcp_buf torn;         /* the bytes after the last complete line of the chain; owned */
} file_end;

static arcp_status read_window(int fd, uint64_t size, arcp_buf *out, arcp_error *err)
{
    uint64_t offset = size > WINDOW_BYTES ? size - WINDOW_BYTES : 0;
    char chunk[16384];
    while (offset < size) {
        const ssize_t got = pread(fd, chunk, sizeof chunk, (off_t)offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return arcp_error_set(err, ARCP_E_IO, "the end of the audit file cannot be read: %s",
                                  got == 0 ? "it has become shorter" : strerror(errno));
        }
        arcp_buf_append(out, arcp_span_make(chunk, (size_t)got));
        offset += (uint64_t)got;
    }
    return out->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

static const char *last_line_feed(arcp_span text)
{
    return text.size == 0 ? NULL : memrchr(text.data, '\n', text.size);
}

/* Finds the last line of the chain. After a power failure, several malformed lines may follow it.
 */
static void read_last_line(arcp_span window, file_end *out)
{
    arcp_span lines = window;
    for (const char *feed = last_line_feed(lines); feed != NULL; feed = last_line_feed(lines)) {
        lines = arcp_span_first(lines, (size_t)(feed - lines.data));
        const char *before = last_line_feed(lines);
        const arcp_span line =
            before == NULL ? lines : arcp_span_from(lines, (size_t)(before - lines.data) + 1);
        arcp__audit_line_view view;
        if (arcp__audit_line_read(line, &view)) {
            out->head.seq = view.seq;
            memcpy(out->head.hash, view.hash.data, sizeof out->head.hash);
            arcp_buf_append(&out->torn, arcp_span_from(window, lines.size + 1));
            return;
        }
    }
    out->is_foreign = last_line_feed(window) != NULL;
    arcp_buf_append(&out->torn, window);
}

/* Reads the end of an open file. The caller frees out->torn, even on failure. */
static arcp_status read_end(int fd, file_end *out, arcp_error *err)
{
    struct stat about;
    arcp_buf window = arcp_buf_init();
    *out = (file_end){.torn = arcp_buf_init()};
    arcp__audit_head_init(&out->head);
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
        return arcp_error_set(err, ARCP_E_IO, "the audit file is not a regular file");
    }
    out->size = (uint64_t)about.st_size;
    arcp_status status = read_window(fd, out->size, &window, err);
    if (status == ARCP_OK) {
        read_last_line(arcp_buf_span(&window), out);
        /* A write that was interrupted right before the line feed has written a complete line. */
        char hash[ARCP__AUDIT_HASH_SIZE];
        arcp__audit_line_view view;
        if (!out->is_foreign && arcp__audit_line_read(arcp_buf_span(&out->torn), &view) &&
            view.seq == out->head.seq + 1) {
            arcp__audit_line_hash(out->head.hash, view.body, hash);
            if (memcmp(hash, view.hash.data, sizeof hash) == 0) {
                out->is_unended = true;
                out->head.seq = view.seq;
                memcpy(out->head.hash, hash, sizeof hash);
                arcp_buf_clear(&out->torn);
            }
        }
        if (out->torn.failed) {
            status = no_memory(err);
        }
    }
    arcp_buf_fini(&window);
    return status;
}

/* The greatest head of the files beside `path` whose names begin with its name and '.' or '-'. It
 * is needed when a rotation was interrupted before the new file was created. */
static void read_siblings(const char *path, arcp__audit_head *out)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const arcp_span name = arcp_span_cstr(slash == NULL ? path : slash + 1);
    arcp__directory_of(path, folder);
    DIR *directory = opendir(folder);
    if (directory == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(directory); entry != NULL;
         entry = readdir(directory)) {
        const arcp_span text = arcp_span_cstr(entry->d_name);
        if (text.size <= name.size + 1 || !arcp_span_starts_with(text, name) ||
            (text.data[name.size] != '.' && text.data[name.size] != '-')) {
            continue;
        }
        const int fd =
            openat(dirfd(directory), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0) {
            continue;
        }
        file_end end;
        if (read_end(fd, &end, NULL) == ARCP_OK && end.head.seq > out->seq) {
            *out = end.head;
        }
        arcp_buf_fini(&end.torn);
        (void)close(fd);
    }
    (void)closedir(directory);
}

/* ---- opening ---- */

static arcp_status open_path(arcp__audit_file *file, int flags, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    file->fd =
        open(file->path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0600);
    if (file->fd < 0) {
        return failed(file, "opened", errno, err);
    }
    if (flock(file->fd, LOCK_EX | LOCK_NB) != 0) {
        status = errno != EWOULDBLOCK
                     ? failed(file, "locked", errno, err)
                     : arcp_error_set(err, ARCP_E_EXISTS,
                                      "another process writes the audit file %s: each process "
                                      "needs its own",
                                      file->path);
    } else if ((flags & O_CREAT) != 0) {
        /* Otherwise a power failure could lose the name of a new or renamed file. */
        const int number = arcp__directory_sync(file->path);
        if (number != 0) {
            status = failed(file, "created durably: its directory cannot be synced", number, err);
        }
    }
    if (status != ARCP_OK) {
        (void)close(file->fd);
        file->fd = -1;
    }
    return status;
}

/* Renames a file that is not an audit log, and creates a new one. */
static arcp_status move_foreign(arcp__audit_file *file, arcp_error *err)
{
    char foreign[4200];
    (void)snprintf(foreign, sizeof foreign, "%s.foreign-%lld", file->path, (long long)time(NULL));
    (void)close(file->fd);
    file->fd = -1;
    if (rename(file->path, foreign) != 0) {
        return failed(file, "renamed", errno, err);
    }
    file->size = 0;
    file->synced_size = 0;
    return open_path(file, O_CREAT | O_EXCL, err);
}

/* Keeps the remains of an interrupted write, ends them with a line feed, and records their size and
 * hash in a line `torn`. */
static arcp_status note_torn(arcp__audit_file *file, arcp_span torn, arcp_error *err)
{
    char hash[ARCP__AUDIT_HASH_SIZE];
    const bool is_ended = torn.data[torn.size - 1] == '\n';
    torn.size -= is_ended ? 1 : 0;
    arcp__audit_sha256(torn, hash);
    if (!is_ended) {
        arcp_buf_append_byte(&file->out, '\n');
    }
    char members[160];
    (void)snprintf(members, sizeof members, "\"torn_bytes\":%zu,\"torn_sha256\":\"%.*s\"",
                   torn.size, (int)sizeof hash, hash);
    return file->out.failed ? no_memory(err) : arcp__audit_file_note(file, "torn", members, err);
}

/* Continues the chain of the open file, or of the files beside it. */
static arcp_status continue_chain(arcp__audit_file *file, arcp_error *err)
{
    file_end end;
    const char *why = "start";
    arcp_status status = read_end(file->fd, &end, err);
    if (status == ARCP_OK && end.size == 0) {
        read_siblings(file->path, &end.head);
    }
    file->head = end.head;
    file->size = end.size;
    file->synced_size = end.size;
    file->written_head = file->head;
    file->synced_head = file->head;
    if (status == ARCP_OK && end.is_foreign) {
        why = "start: a file that is not an audit log was renamed";
        status = move_foreign(file, err);
    } else if (status == ARCP_OK && end.torn.size != 0) {
        status = note_torn(file, arcp_buf_span(&end.torn), err);
    } else if (status == ARCP_OK && end.is_unended) {
        arcp_buf_append_byte(&file->out, '\n');
    }
    arcp_buf_fini(&end.torn);
    return status == ARCP_OK ? note_opened(file, why, err) : status;
}

static void release(arcp__audit_file *file)
{
    if (file->fd >= 0) {
        (void)close(file->fd);
    }
    arcp_buf_fini(&file->out);
    arcp_buf_fini(&file->unsynced);
    arcp__free(file->path);
    *file = (arcp__audit_file){.fd = -1, .out = arcp_buf_init(), .unsynced = arcp_buf_init()};
}

arcp_status arcp__audit_file_open(arcp__audit_file *file, const char *path, arcp_error *err)
{
    *file = (arcp__audit_file){.fd = -1, .out = arcp_buf_init(), .unsynced = arcp_buf_init()};
    file->path = arcp__copy_cstr(path, strlen(path));
    arcp_status status = file->path == NULL ? no_memory(err) : open_path(file, O_CREAT, err);
    if (status == ARCP_OK) {
        status = continue_chain(file, err);
    }
    if (status != ARCP_OK) {
        release(file);
    }
    return status;
}

/* ---- continuing in a new file ---- */

/* Creates a new file under the path. If that fails, the old one stays in use. */
static arcp_status begin(arcp__audit_file *file, const char *why, arcp_error *err)
{
    const int old = file->fd;
    const arcp_status status = open_path(file, O_CREAT | O_EXCL, err);
    if (status != ARCP_OK) {
        file->fd = old;
        return status;
    }
    (void)close(old);
    file->size = 0;
    file->synced_size = 0;
    return note_opened(file, why, err);
}

/* Writes the last line of a file. */
static arcp_status end_file(arcp__audit_file *file, arcp_error *err)
{
    const arcp_status status = arcp__audit_file_note(file, "closed", "", err);
    return status == ARCP_OK ? arcp__audit_file_sync(file, err) : status;
}

static bool was_moved(const arcp__audit_file *file)
{
    struct stat ours;
    struct stat named;
    return fstat(file->fd, &ours) != 0 || lstat(file->path, &named) != 0 ||
           ours.st_ino != named.st_ino || ours.st_dev != named.st_dev;
}

arcp_status arcp__audit_file_rotate(arcp__audit_file *file, arcp_error *err)
{
    char old[4200];
    if (was_moved(file)) {
        return arcp__audit_file_reopen(file, err);
    }
    arcp_status status = end_file(file, err);
    if (status != ARCP_OK) {
        return status;
    }
    (void)snprintf(old, sizeof old, "%s.%012llu", file->path, (unsigned long long)file->head.seq);
    if (rename(file->path, old) != 0) {
        return failed(file, "renamed", errno, err);
    }
    status = begin(file, "rotated", err);
    if (status != ARCP_OK && file->size != 0) {
        (void)rename(old, file->path); /* no new file was created: continue this one */
    }
    return status;
}

arcp_status arcp__audit_file_reopen(arcp__audit_file *file, arcp_error *err)
{
    if (!was_moved(file)) {
        return ARCP_OK;
    }
    const arcp_status status = end_file(file, err);
    return status == ARCP_OK ? begin(file, "moved", err) : status;
}

void arcp__audit_file_close(arcp__audit_file *file)
{
    if (file->fd >= 0) {
        const arcp_status status = arcp__audit_file_write(file, NULL);
        if (status == ARCP_OK && end_file(file, NULL) != ARCP_OK && file->must_rewrite &&
            arcp__audit_file_write(file, NULL) == ARCP_OK) {
            const arcp_status last = arcp__audit_file_sync(file, NULL);
            (void)last; /* there will be no further attempt */
        }
    }
    const arcp__audit_head head = file->written_head;
    release(file);
    file->head = head;
}
