/* Denials: each capability and target once, with a count. A program can cause any number of them,
 * so there is a limit to those that are kept, and the control descriptor is never waited for. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "broker/broker_parts.h"
#include "json/json_put.h"

enum { COMM_BYTES = 16, WAIT_MS = 500 /* for the reader, when the program has ended */ };

typedef struct denial {
    char *key; /* owned: capability, NUL, target */
    size_t key_size;
    char program[COMM_BYTES];
    pid_t pid;
    uint64_t count;
    uint64_t reported; /* the count that the reader knows */
    UT_hash_handle hh;
} denial;

struct arcp__broker_denials {
    pthread_mutex_t lock;
    denial *table;
    size_t count;
    uint64_t others; /* denials that are not in the table */
    int control;
};

arcp__broker_denials *arcp__broker_denials_new(int control)
{
    arcp__broker_denials *denials = arcp__alloc(sizeof *denials);
    if (denials != NULL) {
        (void)pthread_mutex_init(&denials->lock, NULL);
        denials->control = control;
    }
    return denials;
}

static void put_escaped(arcp_json_writer *writer, const char *name, arcp_span text)
{
    arcp_buf plain = arcp_buf_init();
    arcp__utf8_append_escaped(&plain, text);
    arcp__put_string(writer, name, arcp_buf_span(&plain));
    arcp_buf_fini(&plain);
}

/* `wait_ms`: how long the reader may take to make room. */
static void report(const arcp__broker_denials *denials, const char *capability, arcp_span target,
                   denial *one, int wait_ms)
{
    if (denials->control < 0) {
        return;
    }
    arcp_buf text = arcp_buf_init();
    arcp_json_writer record = arcp__put_begin(&text);
    arcp_json_name(&record, "denied");
    arcp_json_begin_object(&record);
    arcp__put_cstr(&record, "capability", capability);
    put_escaped(&record, "target", target);
    if (one->pid != 0) {
        put_escaped(&record, "program", arcp_span_cstr(one->program));
        arcp__put_i64(&record, "pid", one->pid);
    }
    arcp__put_u64(&record, "count", one->count);
    arcp_json_end_object(&record);
    arcp_json_end_object(&record);
    struct pollfd writable = {.fd = denials->control, .events = POLLOUT};
    if (wait_ms != 0) {
        (void)poll(&writable, 1, wait_ms);
    }
    if (arcp_buf_status(&text) == ARCP_OK &&
        send(denials->control, text.data, text.size, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
        one->reported = one->count;
    }
    arcp_buf_fini(&text);
}

static void read_program(denial *one)
{
    char name[64];
    (void)snprintf(name, sizeof name, "/proc/%d/comm", (int)one->pid);
    FILE *file = fopen(name, "re");
    if (file == NULL) {
        return;
    }
    const size_t size = fread(one->program, 1, sizeof one->program - 1, file);
    (void)fclose(file);
    one->program[size > 0 && one->program[size - 1] == '\n' ? size - 1 : size] = '\0';
}

/* NULL: there are too many, or no memory. */
static denial *add(arcp__broker_denials *denials, const char *key, size_t key_size, pid_t pid)
{
    if (denials->count == ARCP__BROKER_DENIALS_MAX) {
        return NULL;
    }
    denial *one = arcp__alloc(sizeof *one);
    if (one == NULL) {
        return NULL;
    }
    one->key = arcp__copy_cstr(key, key_size);
    one->key_size = key_size;
    one->pid = pid;
    if (one->key != NULL) {
        HASH_ADD_KEYPTR(hh, denials->table, one->key, one->key_size, one);
    }
    if (one->key == NULL || !ARCP__HASH_ADDED(one)) {
        arcp__free(one->key);
        arcp__free(one);
        return NULL;
    }
    denials->count++;
    read_program(one);
    return one;
}

void arcp__broker_denials_add(arcp__broker_denials *denials, const char *capability,
                              arcp_span target, pid_t pid)
{
    arcp_buf key = arcp_buf_init();
    arcp_buf_append(&key, arcp_span_make(capability, strlen(capability) + 1));
    arcp_buf_append(&key, target);
    (void)pthread_mutex_lock(&denials->lock);
    denial *one = NULL;
    if (arcp_buf_status(&key) == ARCP_OK) {
        HASH_FIND(hh, denials->table, key.data, key.size, one);
        if (one == NULL) {
            one = add(denials, key.data, key.size, pid);
        }
    }
    if (one == NULL) {
        denials->others++;
    } else if (++one->count == 1) {
        report(denials, capability, target, one, 0);
    }
    (void)pthread_mutex_unlock(&denials->lock);
    arcp_buf_fini(&key);
}

void arcp__broker_denials_flush(arcp__broker_denials *denials)
{
    (void)pthread_mutex_lock(&denials->lock);
    bool is_read = true; /* once the reader was too slow it is not waited for any more */
    denial *one;
    denial *next;
    HASH_ITER (hh, denials->table, one, next) {
        if (one->reported != one->count) {
            const arcp_span key = arcp_span_make(one->key, one->key_size);
            report(denials, one->key, arcp_span_from(key, strlen(one->key) + 1), one,
                   is_read ? WAIT_MS : 0);
            is_read = one->reported == one->count;
        }
    }
    if (denials->others != 0) {
        denial rest = {.count = denials->others};
        report(denials, "", arcp_span_make(NULL, 0), &rest, is_read ? WAIT_MS : 0);
    }
    (void)pthread_mutex_unlock(&denials->lock);
}

static void forget_all(arcp__broker_denials *denials)
{
    denial *one;
    denial *next;
    HASH_ITER (hh, denials->table, one, next) {
        HASH_DEL(denials->table, one);
        arcp__free(one->key);
        arcp__free(one);
    }
    denials->count = 0;
    denials->others = 0;
}

void arcp__broker_denials_clear(arcp__broker_denials *denials)
{
    (void)pthread_mutex_lock(&denials->lock);
    forget_all(denials);
    (void)pthread_mutex_unlock(&denials->lock);
}

void arcp__broker_denials_free(arcp__broker_denials *denials)
{
    if (denials == NULL) {
        return;
    }
    arcp__broker_denials_flush(denials);
    forget_all(denials);
    (void)pthread_mutex_destroy(&denials->lock);
    arcp__free(denials);
}
