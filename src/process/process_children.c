#include "process/process_children.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/hash.h"

typedef struct child {
    UT_hash_handle hh;
    pid_t pid;
} child;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static child *children;
static size_t starting;
/* Children that could not be noted: without memory for them nothing is reaped any more. */
static size_t unknown;

void arcp__children_begin(void)
{
    (void)pthread_mutex_lock(&lock);
    starting++;
    (void)pthread_mutex_unlock(&lock);
}

void arcp__children_add(pid_t pid)
{
    child *added = pid > 0 ? arcp__alloc(sizeof *added) : NULL;
    (void)pthread_mutex_lock(&lock);
    starting--;
    if (added != NULL) {
        added->pid = pid;
        HASH_ADD(hh, children, pid, sizeof added->pid, added);
    }
    const bool is_noted = added != NULL && ARCP__HASH_ADDED(added);
    unknown += pid > 0 && !is_noted;
    (void)pthread_mutex_unlock(&lock);
    if (!is_noted) {
        arcp__free(added);
    }
}

void arcp__children_remove(pid_t pid)
{
    child *found = NULL;
    (void)pthread_mutex_lock(&lock);
    HASH_FIND(hh, children, &pid, sizeof pid, found);
    if (found != NULL) {
        HASH_DEL(children, found);
    } else if (pid > 0) {
        unknown--;
    }
    (void)pthread_mutex_unlock(&lock);
    arcp__free(found);
}

bool arcp__children_may_have(pid_t pid)
{
    const child *found = NULL;
    (void)pthread_mutex_lock(&lock);
    HASH_FIND(hh, children, &pid, sizeof pid, found);
    const bool may_have = found != NULL || starting != 0 || unknown != 0;
    (void)pthread_mutex_unlock(&lock);
    return may_have;
}
