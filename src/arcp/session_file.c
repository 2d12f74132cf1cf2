#include "arcp/command.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ulid.h"
#include "cli/cli.h"
#include "core/decode.h"
#include "file/private_file.h"
#include "json/json_put.h"

#define FILE_BYTES_MAX 1048576
#define SUFFIX         ".json"

struct arcp__session_file {
    pthread_mutex_t mutex;
    char *path;  /* the lock file is path + ".lock" */
    int lock_fd; /* -1: we do not hold the lock */
    arcp_buf url;
    arcp_buf session_id;
    arcp_buf token; /* secret */
    uint64_t last_event_seq;
    arcp_buf jobs; /* JSON strings, separated by commas */
    bool kept;     /* the file is on disk */
};

/* The members of the file. `jobs` is written separately. */
typedef struct saved {
    arcp_span url, session_id, resume_token;
    uint64_t last_event_seq;
    arcp_json_ref jobs;
} saved;

static const arcp__member rows[] = {
    {ARCP__MEMBER(saved, url, "url", TEXT), .required = true},
    {ARCP__MEMBER(saved, session_id, "session_id", STRING), .required = true},
    {ARCP__MEMBER(saved, resume_token, "resume_token", STRING), .required = true},
    {ARCP__MEMBER(saved, last_event_seq, "last_event_seq", COUNT), .required = true},
    {ARCP__MEMBER(saved, jobs, "jobs", ARRAY), .required = true},
};
static const arcp__members members = ARCP__MEMBERS(rows);

/* ---- folders ---- */

/* The path of state/sessions/, which is created if it does not exist. */
static char *sessions_directory(arcp_span state)
{
    arcp_buf path = arcp_buf_init();
    arcp_buf_append_format(&path, "%.*s/sessions/", (int)state.size, state.data);
    char *text = arcp_buf_take_cstr(&path);
    /* Every folder of the path, as mkdir -p does; private, because the files are secret. */
    for (char *slash = text == NULL ? NULL : strchr(text + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(text, 0700);
        *slash = '/';
    }
    return text;
}

static void system_random(void *user, void *out, size_t size)
{
    if (getentropy(out, size) != 0) {
        abort();
    }
}

static arcp__session_file *file_at(char *path)
{
    arcp__session_file *file = arcp__alloc(sizeof *file);
    if (file == NULL || path == NULL) {
        arcp__free(file);
        arcp__free(path);
        return NULL;
    }
    (void)pthread_mutex_init(&file->mutex, NULL);
    file->path = path;
    file->lock_fd = -1;
    file->token.secret = true;
    return file;
}

arcp__session_file *arcp__session_file_new(arcp_span directory, arcp_span url)
{
    arcp__ulid_source ids = {.random = system_random};
    char name[ARCP__ULID_SIZE];
    char *folder = sessions_directory(directory);
    if (folder == NULL) {
        return NULL;
    }
    arcp__ulid_next(&ids, arcp__now_wall_ns() / ARCP_NS_PER_MS, name);
    arcp_buf path = arcp_buf_init();
    arcp_buf_append_format(&path, "%s%.*s" SUFFIX, folder, (int)sizeof name, name);
    arcp__free(folder);
    arcp__session_file *file = file_at(arcp_buf_take_cstr(&path));
    if (file != NULL) {
        arcp_buf_append(&file->url, url);
    }
    return file;
}

void arcp__session_file_free(arcp__session_file *file)
{
    if (file == NULL) {
        return;
    }
    arcp__session_file_unlock(file);
    (void)pthread_mutex_destroy(&file->mutex);
    arcp_buf_fini(&file->token);
    arcp_buf_fini(&file->url);
    arcp_buf_fini(&file->session_id);
    arcp_buf_fini(&file->jobs);
    arcp__free(file->path);
    arcp__free(file);
}

/* ---- the lock ---- */

/* False: the path is too long. */
static bool lock_path(const arcp__session_file *file, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s.lock", file->path) < PATH_MAX;
}

bool arcp__session_file_lock(arcp__session_file *file)
{
    char path[PATH_MAX];
    (void)pthread_mutex_lock(&file->mutex);
    if (file->lock_fd < 0 && lock_path(file, path)) {
        const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
            file->lock_fd = fd;
        } else if (fd >= 0) {
            (void)close(fd);
        }
    }
    const bool is_ours = file->lock_fd >= 0;
    (void)pthread_mutex_unlock(&file->mutex);
    return is_ours;
}

void arcp__session_file_unlock(arcp__session_file *file)
{
    (void)pthread_mutex_lock(&file->mutex);
    if (file->lock_fd >= 0) {
        (void)close(file->lock_fd);
        file->lock_fd = -1;
    }
    (void)pthread_mutex_unlock(&file->mutex);
}

/* ---- writing ---- */

static arcp__private_file private_file(const arcp__session_file *file)
{
    return (arcp__private_file){.what = "the session file",
                                .path = file->path,
                                .bytes_max = FILE_BYTES_MAX + 1,
                                .must_be_ours = true};
}

static arcp_status write_file(arcp__session_file *file, arcp_error *err)
{
    if (!file->kept) {
        return ARCP_OK;
    }
    arcp_buf text = arcp_buf_secret_init();
    const arcp__private_file whole = private_file(file);
    const saved row = {arcp_buf_span(&file->url), arcp_buf_span(&file->session_id),
                       arcp_buf_span(&file->token), file->last_event_seq, ARCP_JSON_ABSENT};
    arcp_json_writer writer = arcp__put_begin(&text);
    arcp__encode_row(&writer, &members, &row);
    arcp__put_array(&writer, "jobs");
    if (file->jobs.size != 0) {
        arcp_json_write_raw(&writer, arcp_buf_span(&file->jobs));
    }
    arcp_json_end_array(&writer);
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(&text, '\n');
    /* Not synced: the file is written often, and a crash of the machine ends the command too. */
    const arcp_status status = arcp_buf_status(&text) == ARCP_OK
                                   ? arcp__private_file_replace(&whole, arcp_buf_span(&text), err)
                                   : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    arcp_buf_fini(&text);
    return status;
}

/* The caller holds the mutex. */
static arcp_status take_session(arcp__session_file *file, arcp_span id, arcp_span token,
                                arcp_error *err)
{
    arcp_buf_clear(&file->session_id);
    arcp_buf_clear(&file->token);
    arcp_buf_append(&file->session_id, id);
    arcp_buf_append(&file->token, token);
    return file->session_id.failed || file->token.failed
               ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
               : ARCP_OK;
}

arcp_status arcp__session_file_set_session(arcp__session_file *file,
                                           const arcp_session_state *state, arcp_error *err)
{
    (void)pthread_mutex_lock(&file->mutex);
    arcp_status status = take_session(file, state->session_id, state->resume_token, err);
    if (status == ARCP_OK) {
        status = write_file(file, err);
    }
    (void)pthread_mutex_unlock(&file->mutex);
    return status;
}

arcp_status arcp__session_file_add_job(arcp__session_file *file, arcp_span job, arcp_error *err)
{
    (void)pthread_mutex_lock(&file->mutex);
    if (file->jobs.size != 0) {
        arcp_buf_append_byte(&file->jobs, ',');
    }
    arcp_json_quote(job, &file->jobs);
    file->kept = true;
    const arcp_status status = file->jobs.failed
                                   ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                   : write_file(file, err);
    (void)pthread_mutex_unlock(&file->mutex);
    return status;
}

arcp_status arcp__session_file_set_seq(arcp__session_file *file, uint64_t event_seq,
                                       arcp_error *err)
{
    arcp_status status = ARCP_OK;
    (void)pthread_mutex_lock(&file->mutex);
    if (event_seq > file->last_event_seq) {
        file->last_event_seq = event_seq;
        status = write_file(file, err);
    }
    (void)pthread_mutex_unlock(&file->mutex);
    return status;
}

void arcp__session_file_remove(arcp__session_file *file)
{
    char path[PATH_MAX];
    (void)pthread_mutex_lock(&file->mutex);
    file->kept = false;
    (void)unlink(file->path);
    if (lock_path(file, path)) {
        (void)unlink(path);
    }
    (void)pthread_mutex_unlock(&file->mutex);
}

arcp_session_state arcp__session_file_state(const arcp__session_file *file)
{
    return (arcp_session_state){
        .session_id = arcp_buf_span(&file->session_id),
        .resume_token = arcp_buf_span(&file->token),
        .last_event_seq = file->last_event_seq,
    };
}

/* ---- reading ---- */

static bool names_job(const arcp_json *json, arcp_json_ref jobs, arcp_span job)
{
    arcp_json_ref item = arcp_json_first(json, jobs);
    while (item != ARCP_JSON_ABSENT && !arcp_json_string_equals(json, item, job)) {
        item = arcp_json_next(json, jobs, item);
    }
    return item != ARCP_JSON_ABSENT;
}

/* Reads the file; if `job` is not empty, the file must list the job and have the same URL. False
 * for a file that is not a valid session file. */
static bool load(arcp__session_file *file, arcp_span url, arcp_span job)
{
    const arcp_json_limits limits = {16, 1000, FILE_BYTES_MAX};
    const arcp__private_file whole = private_file(file);
    arcp_buf text = arcp_buf_secret_init();
    arcp_buf room = arcp_buf_secret_init();
    arcp_json json = ARCP__JSON_INIT;
    saved row = {0};
    bool good =
        arcp__private_file_read(&whole, &text, NULL) == ARCP_OK && text.size <= FILE_BYTES_MAX &&
        arcp_json_scan(&json, arcp_buf_span(&text), &limits, NULL) == ARCP_OK &&
        arcp_buf_reserve(&room, text.size) &&
        arcp__decode_row(&json, &room, ARCP_JSON_ROOT, &members, &row) &&
        (job.size == 0 || (names_job(&json, row.jobs, job) && arcp_span_equal(row.url, url))) &&
        take_session(file, row.session_id, row.resume_token, NULL) == ARCP_OK;
    if (good) {
        const arcp_span list = arcp_json_raw(&json, row.jobs);
        file->last_event_seq =
            row.last_event_seq > file->last_event_seq ? row.last_event_seq : file->last_event_seq;
        arcp_buf_clear(&file->url);
        arcp_buf_append(&file->url, row.url);
        arcp_buf_clear(&file->jobs);
        arcp_buf_append(&file->jobs, arcp_span_make(list.data + 1, list.size - 2));
        file->kept = true;
        good = !file->url.failed && !file->jobs.failed;
    }
    arcp__json_fini(&json);
    arcp_buf_fini(&room);
    arcp_buf_fini(&text);
    return good;
}

arcp_status arcp__session_file_reload(arcp__session_file *file, arcp_error *err)
{
    (void)pthread_mutex_lock(&file->mutex);
    const bool good = !file->kept || load(file, arcp_span_make(NULL, 0), arcp_span_make(NULL, 0));
    (void)pthread_mutex_unlock(&file->mutex);
    return good
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_IO, "%s does not exist or is not readable", file->path);
}

/* The next entry named ULID.json or ULID.json.lock. */
static struct dirent *next_session(DIR *entries)
{
    struct dirent *entry = entries == NULL ? NULL : readdir(entries);
    while (entry != NULL &&
           (strlen(entry->d_name) <= ARCP__ULID_SIZE ||
            strncmp(entry->d_name + ARCP__ULID_SIZE, SUFFIX, strlen(SUFFIX)) != 0)) {
        entry = readdir(entries);
    }
    return entry;
}

arcp_status arcp__session_file_find(arcp_span directory, arcp_span url, arcp_span job,
                                    arcp__session_file **out, arcp_error *err)
{
    char *folder = sessions_directory(directory);
    DIR *entries = folder == NULL ? NULL : opendir(folder);
    arcp__session_file *best = NULL;
    struct dirent *entry = next_session(entries);
    for (; entry != NULL; entry = next_session(entries)) {
        if (strlen(entry->d_name) != ARCP__ULID_SIZE + strlen(SUFFIX)) {
            continue;
        }
        arcp_buf path = arcp_buf_init();
        arcp_buf_append_format(&path, "%s%s", folder, entry->d_name);
        arcp__session_file *file = file_at(arcp_buf_take_cstr(&path));
        /* Names are ULIDs: the greatest one is the newest. */
        if (file != NULL && load(file, url, job) &&
            (best == NULL || strcmp(file->path, best->path) > 0)) {
            arcp__session_file_free(best);
            best = file;
            file = NULL;
        }
        arcp__session_file_free(file);
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
    arcp__free(folder);
    *out = best;
    return best != NULL ? ARCP_OK
                        : arcp_error_set(err, ARCP_E_NOT_FOUND,
                                         "no saved session of this machine submitted %.*s",
                                         (int)job.size, job.data);
}

void arcp__session_file_sweep(arcp_span directory, int64_t seconds)
{
    char *folder = sessions_directory(directory);
    DIR *entries = folder == NULL ? NULL : opendir(folder);
    const time_t now = time(NULL);
    struct dirent *entry = next_session(entries);
    for (; entry != NULL; entry = next_session(entries)) {
        struct stat about;
        if (fstatat(dirfd(entries), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
            now - about.st_mtime > seconds) {
            (void)unlinkat(dirfd(entries), entry->d_name, 0);
        }
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
    arcp__free(folder);
}
