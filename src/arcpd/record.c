/* --record: writes the trace of the engine's calls to a file, up to --record-bytes. */
#include "arcpd/arcpd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A trace of an earlier run is renamed, not overwritten: it may be the one of a crash. */
arcp_status arcp__record_open(arcp__record *record, const arcp__arguments *arguments,
                              arcp__logger *logger, arcp_error *err)
{
    const char *path = arguments->record_path;
    char old[4096];
    record->fd = -1;
    record->path = path;
    record->bytes_remaining = arguments->record_bytes;
    record->logger = logger;
    if (path == NULL) {
        return ARCP_OK;
    }
    if (snprintf(old, sizeof old, "%s.old", path) >= (int)sizeof old) {
        return arcp_error_set(err, ARCP_E_USAGE, "--record: the path is too long");
    }
    if (rename(path, old) != 0 && errno != ENOENT) {
        return arcp_error_set(err, ARCP_E_USAGE, "--record: %s cannot be renamed to %s.old: %s",
                              path, path, strerror(errno));
    }
    record->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (record->fd < 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "--record: %s cannot be made: %s", path,
                              strerror(errno));
    }
    arcp__logger_format(
        logger, ARCP_LOG_WARN,
        "--record: %s gets everything that clients, agents and upstreams send, with "
        "tokens and credentials",
        path);
    return ARCP_OK;
}

static void stop(arcp__record *record, const char *why)
{
    (void)close(record->fd);
    record->fd = -1;
    arcp__logger_format(record->logger, ARCP_LOG_WARN, "--record: %s ends here: %s", record->path,
                        why);
}

void arcp__record_write(void *user, arcp_span bytes)
{
    arcp__record *record = user;
    if (record->fd < 0) {
        return;
    }
    if (bytes.size > record->bytes_remaining) {
        stop(record, "it has as many bytes as --record-bytes allows");
        return;
    }
    record->bytes_remaining -= bytes.size;
    while (bytes.size != 0) {
        const ssize_t written = write(record->fd, bytes.data, bytes.size);
        if (written < 0 && errno != EINTR) {
            stop(record, strerror(errno));
            return;
        }
        bytes = arcp_span_from(bytes, written < 0 ? 0 : (size_t)written);
    }
}

void arcp__record_close(arcp__record *record)
{
    if (record->path != NULL && record->fd >= 0) {
        (void)close(record->fd);
    }
}
