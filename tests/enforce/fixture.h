/* What an attempt is made on: a tree of files, a service, and a process, all of the host. */
#ifndef ARCP_TESTS_ENFORCE_FIXTURE_H
#define ARCP_TESTS_ENFORCE_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes the tree below `dir` (which is made too), owned by the user:
 *   read/     granted for reading       write/   granted for reading and writing, a git repository
 *   outside/  not granted               files/   one is granted, two is not
 *   mixed/    as a lease says, mixed/sub likewise          home/  HOME
 * The files that no lease of a usual row grants hold the token. Exits on failure. */
void fixture_make(const char *dir, uid_t user, const char *token);

/* A digest of names, modes, owners, times, attributes and content of the tree. What lies below the
 * writable trees counts only where it is .git, a device or set-user-id. */
uint64_t fixture_digest(const char *dir);

/* The service of a run: processes of the host that listen, as the user. Greets every connection
 * with the token; writes a file at every path that a datagram has. */
typedef struct fixture_service {
    pid_t pid;
    char directory[256]; /* read/ write/ outside/ with stream, seqpacket and datagram in each */
    char beside[64];     /* below /tmp, with stream */
    char abstract[64];
    unsigned port, port6; /* TCP and UDP; port6 0: no IPv6 here */
    int shared_memory, queue, semaphores;
    char message_queue[64];
} fixture_service;

void fixture_service_start(fixture_service *service, const char *root, uid_t user,
                           const char *token);
/* Returns when every datagram that was sent before has been dealt with. */
void fixture_service_settle(const fixture_service *service);
void fixture_service_stop(fixture_service *service);

/* A process with the secret in its environment, arguments, memory, and open as descriptor 5. */
typedef struct fixture_victim {
    pid_t pid;
    char address[32];
} fixture_victim;

/* `bin` has the program arcp-escape. */
void fixture_victim_start(fixture_victim *victim, const char *bin, const char *dir, uid_t user,
                          const char *token);
/* Ends it. Returns whether something else had ended it before. */
bool fixture_victim_stop(const fixture_victim *victim);

/* Becomes the user for good, when this process is root; exits on failure. */
void fixture_become(uid_t user);

#endif
