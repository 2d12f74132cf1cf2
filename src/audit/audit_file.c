#include "audit/audit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit_end.h"
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
    size_t before = file->out.size;
    arcp__audit_chain_append(&file->head, record, &file->out);
    if (file->out.failed) {
        /* Whole lines stay; the line that does not fit is the caller's to count. */
        file->out.size = before;
        file->out.failed = false;
        return false;
    }
    return true;
}

/* After a sync that failed: what the disk may not have is put before what is to be written. */
static arcp_status take_back(arcp__audit_file *file, arcp_error *err)
{
    if (!arcp_buf_reserve(&file->unsynced, file->out.size)) {
        file->unsynced.failed = false;
        return no_memory(err);
    }
    if (ftruncate(file->fd, (off_t)file->synced_size) != 0) {
        return failed(file, "cut back to what was synced", errno, err);
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
    arcp_status status = file->must_rewrite ? take_back(file, err) : ARCP_OK;
    if (status == ARCP_OK && !arcp_buf_reserve(&file->unsynced, file->out.size)) {
        file->unsynced.failed = false;
        status = no_memory(err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    while (done < file->out.size) {
        ssize_t written = write(file->fd, file->out.data + done, file->out.size - done);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            int number = written == 0 ? ENOSPC : errno;
            /* Half a line must not stay: what was added is written again as a whole. */
            if (done > 0 && ftruncate(file->fd, (off_t)file->size) != 0) {
                return failed(file, "cut back to whole lines", errno, err);
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

arcp_status arcp__audit_file_note(arcp__audit_file *file, const char *decision, arcp_span members,
                                  arcp_error *err)
{
    char ts[ARCP__TIMESTAMP_SIZE];
    arcp_buf record = ARCP_BUF_INIT;
    arcp__timestamp_format(arcp__clock_ns(CLOCK_REALTIME), ts);
    arcp_buf_append_format(&record, "{\"ts\":\"%.*s\",\"event\":\"log\",\"decision\":\"%s\"",
                           (int)sizeof(ts), ts, decision);
    if (members.size != 0) {
        arcp_buf_append_byte(&record, ',');
        arcp_buf_append(&record, members);
    }
    arcp_buf_append_byte(&record, '}');
    bool added = !record.failed && arcp__audit_file_add(file, arcp_buf_span(&record));
    arcp_buf_fini(&record);
    return added ? arcp__audit_file_write(file, err) : no_memory(err);
}

/* The first line of a file, or of a run: repeats the hash it follows. */
static arcp_status note_opened(arcp__audit_file *file, const char *why, arcp_error *err)
{
    arcp_buf members = ARCP_BUF_INIT;
    arcp_buf_append_format(&members, "\"reason\":\"%s\",\"previous\":\"%.*s\"", why,
                           ARCP__AUDIT_HASH_SIZE, file->head.hash);
    arcp_status status = members.failed
                             ? no_memory(err)
                             : arcp__audit_file_note(file, "opened", arcp_buf_span(&members), err);
    arcp_buf_fini(&members);
    return status;
}

/* ---- opening ---- */

/* So that a power failure does not take the name of a file that was made or renamed. */
static arcp_status sync_directory(const arcp__audit_file *file, arcp_error *err)
{
    const int number = arcp__directory_sync(file->path);
    return number == 0 ? ARCP_OK
                       : failed(file, "kept: its directory cannot be synced", number, err);
}

static arcp_status open_path(arcp__audit_file *file, int flags, arcp_error *err)
{
    file->fd =
        open(file->path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0600);
    if (file->fd < 0) {
        return failed(file, "opened", errno, err);
    }
    if (flock(file->fd, LOCK_EX | LOCK_NB) != 0) {
        int number = errno;
        (void)close(file->fd);
        file->fd = -1;
        return number == EWOULDBLOCK
                   ? arcp_error_set(err, ARCP_E_EXISTS,
                                    "another process writes the audit file %s: give each its own",
                                    file->path)
                   : failed(file, "locked", number, err);
    }
    arcp_status status = (flags & O_CREAT) != 0 ? sync_directory(file, err) : ARCP_OK;
    if (status != ARCP_OK) {
        (void)close(file->fd);
        file->fd = -1;
    }
    return status;
}

/* Something else than a log of ours: it is kept, under another name. */
static arcp_status set_aside(arcp__audit_file *file, arcp_error *err)
{
    char aside[4200];
    (void)snprintf(aside, sizeof(aside), "%s.foreign-%lld", file->path, (long long)time(NULL));
    (void)close(file->fd);
    file->fd = -1;
    if (rename(file->path, aside) != 0) {
        return failed(file, "set aside", errno, err);
    }
    file->size = 0;
    file->synced_size = 0;
    return open_path(file, O_CREAT | O_EXCL, err);
}

/* What a run that was killed left at the end: ended with a line feed, kept, and noted by size and
 * hash. */
static arcp_status note_torn(arcp__audit_file *file, arcp_span torn, arcp_error *err)
{
    char hash[ARCP__AUDIT_HASH_SIZE];
    arcp_buf members = ARCP_BUF_INIT;
    bool is_ended = torn.data[torn.size - 1] == '\n';
    torn.size -= is_ended ? 1 : 0;
    arcp__audit_sha256(torn, hash);
    arcp_buf_append_format(&members, "\"torn_bytes\":%zu,\"torn_sha256\":\"%.*s\"", torn.size,
                           (int)sizeof(hash), hash);
    if (!is_ended) {
        arcp_buf_append_byte(&file->out, '\n');
    }
    arcp_status status = members.failed || file->out.failed
                             ? no_memory(err)
                             : arcp__audit_file_note(file, "torn", arcp_buf_span(&members), err);
    arcp_buf_fini(&members);
    return status;
}

static arcp_status take_up(arcp__audit_file *file, arcp_error *err)
{
    arcp__audit_end end;
    const char *why = "start";
    arcp_status status = arcp__audit_end_read(file->fd, &end, err);
    file->head = end.head;
    file->size = end.size;
    file->synced_size = end.size;
    if (status == ARCP_OK && end.size == 0 && !end.is_foreign) {
        arcp__audit_end_of_siblings(file->path, &file->head);
    }
    file->written_head = file->head;
    file->synced_head = file->head;
    if (status == ARCP_OK && end.is_foreign) {
        why = "start: what stood here is no audit log and was set aside";
        status = set_aside(file, err);
    } else if (status == ARCP_OK && end.torn.size != 0) {
        status = note_torn(file, arcp_buf_span(&end.torn), err);
    } else if (status == ARCP_OK && end.is_unended) {
        arcp_buf_append_byte(&file->out, '\n');
    }
    arcp__audit_end_fini(&end);
    return status == ARCP_OK ? note_opened(file, why, err) : status;
}

static void forget(arcp__audit_file *file)
{
    arcp_buf_fini(&file->out);
    arcp_buf_fini(&file->unsynced);
    arcp__free(file->path);
    *file = (arcp__audit_file){.fd = -1, .out = ARCP_BUF_INIT, .unsynced = ARCP_BUF_INIT};
}

arcp_status arcp__audit_file_open(arcp__audit_file *file, const char *path, arcp_error *err)
{
    *file = (arcp__audit_file){.fd = -1, .out = ARCP_BUF_INIT, .unsynced = ARCP_BUF_INIT};
    arcp__audit_head_init(&file->head);
    file->path = arcp__copy_cstr(path, strlen(path));
    arcp_status status = file->path == NULL ? no_memory(err) : open_path(file, O_CREAT, err);
    if (status == ARCP_OK) {
        status = take_up(file, err);
    }
    if (status != ARCP_OK) {
        if (file->fd >= 0) {
            (void)close(file->fd);
        }
        forget(file);
    }
    return status;
}

/* ---- going on in another file ---- */

/* Opens a new file under the path; the old one stays in use when that fails. */
static arcp_status begin(arcp__audit_file *file, const char *why, arcp_error *err)
{
    int old = file->fd;
    arcp_status status = open_path(file, O_CREAT | O_EXCL, err);
    if (status != ARCP_OK) {
        file->fd = old;
        return status;
    }
    (void)close(old);
    file->size = 0;
    file->synced_size = 0;
    return note_opened(file, why, err);
}

/* Ends the old file: what follows stands in another one. */
static arcp_status end_file(arcp__audit_file *file, arcp_error *err)
{
    arcp_status status = arcp__audit_file_note(file, "closed", arcp_span_make(NULL, 0), err);
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
    (void)snprintf(old, sizeof(old), "%s.%012llu", file->path, (unsigned long long)file->head.seq);
    if (rename(file->path, old) != 0) {
        return failed(file, "renamed", errno, err);
    }
    status = begin(file, "rotated", err);
    if (status != ARCP_OK && file->size != 0) {
        (void)rename(old, file->path); /* no new file was made: this one goes on */
    }
    return status;
}

arcp_status arcp__audit_file_reopen(arcp__audit_file *file, arcp_error *err)
{
    if (!was_moved(file)) {
        return ARCP_OK;
    }
    arcp_status status = end_file(file, err);
    return status == ARCP_OK ? begin(file, "moved", err) : status;
}

void arcp__audit_file_close(arcp__audit_file *file)
{
    if (file->fd >= 0) {
        arcp_status status = arcp__audit_file_write(file, NULL);
        if (status == ARCP_OK && end_file(file, NULL) != ARCP_OK && file->must_rewrite &&
            arcp__audit_file_write(file, NULL) == ARCP_OK) {
            arcp_status last = arcp__audit_file_sync(file, NULL);
            (void)last; /* there is no later try */
        }
        (void)close(file->fd);
    }
    const arcp__audit_head head = file->written_head;
    forget(file);
    file->head = head;
}
