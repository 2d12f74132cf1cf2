/* A store in PostgreSQL: its module is loaded when the configuration names one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "arcpd/arcpd.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/ulid.h"

bool arcp__postgres_is_named(const char *url)
{
    return strncmp(url, ARCP__POSTGRES_SCHEME, strlen(ARCP__POSTGRES_SCHEME)) == 0;
}

arcp_status arcp__postgres_load(const arcp__postgres **out, arcp_error *err)
{
    void *module = NULL; /* stays loaded until arcpd exits */
    return arcp__module_open(ARCP__POSTGRES_MODULE, ARCP__POSTGRES_SYMBOL, "store", &module, out,
                             err);
}

static void draw(void *user, void *out, size_t size)
{
    arcp__random(out, size);
}

/* Reads the id in the file, or writes one into an empty file. */
static bool read_or_make(int fd, char home[ARCP__ULID_SIZE + 1])
{
    const ssize_t size = pread(fd, home, ARCP__ULID_SIZE, 0);
    home[ARCP__ULID_SIZE] = '\0';
    if (size == ARCP__ULID_SIZE) {
        return arcp__ulid_is_valid(arcp_span_make(home, ARCP__ULID_SIZE));
    }
    arcp__ulid_source source = {.random = draw};
    arcp__ulid_next(&source, arcp__clock_now().wall_ns / ARCP_NS_PER_MS, home);
    return size == 0 && pwrite(fd, home, ARCP__ULID_SIZE, 0) == ARCP__ULID_SIZE && fsync(fd) == 0;
}

/* The id of the state directory, whose lock proves that an earlier process with this id has ended.
 * The lock is held until this process ends. */
static arcp_status lock_home(const char *directory, char home[ARCP__ULID_SIZE + 1], arcp_error *err)
{
    char path[4096];
    if (!arcp__path_in(directory, "home", path, sizeof path)) {
        return arcp_error_set(err, ARCP_E_USAGE, "the name of the state directory is too long");
    }
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0) {
        const int number = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        return number == EWOULDBLOCK
                   ? arcp_error_set(err, ARCP_E_EXISTS,
                                    "%.3000s: in use by another process; give each arcpd a state "
                                    "directory of its own",
                                    path)
                   : arcp_error_set(err, ARCP_E_IO, "%.3000s: %s", path, strerror(number));
    }
    if (!read_or_make(fd, home)) {
        (void)close(fd);
        return arcp_error_set(err, ARCP_E_IO,
                              "%.3000s: cannot be used: it must be a file with an id that arcpd "
                              "has written",
                              path);
    }
    return ARCP_OK;
}

arcp_status arcp__postgres_open(const char *url, const char *directory, arcp_store **out,
                                arcp_error *err)
{
    const arcp__postgres *postgres = NULL;
    char home[ARCP__ULID_SIZE + 1];
    char node[256] = "";
    arcp__postgres_options options = {.url = url, .node = node, .home = home};
    arcp_status status = arcp__postgres_load(&postgres, err);
    if (status == ARCP_OK && gethostname(node, sizeof node - 1) != 0) {
        status = arcp_error_set(err, ARCP_E_IO, "the host's name is unknown: %s", strerror(errno));
    }
    if (status == ARCP_OK) {
        status = lock_home(directory, home, err);
    }
    return status == ARCP_OK ? postgres->open(&options, out, err) : status;
}

arcp_status arcp__postgres_check_url(const char *url, arcp_error *err)
{
    const arcp__postgres *postgres = NULL;
    const arcp_status status = arcp__postgres_load(&postgres, err);
    return status == ARCP_OK ? postgres->check_url(url, err) : status;
}
