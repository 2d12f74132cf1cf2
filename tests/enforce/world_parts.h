/* The parts of the network world: how it is connected, its names, and what it serves. */
#ifndef ARCP_TESTS_ENFORCE_WORLD_PARTS_H
#define ARCP_TESTS_ENFORCE_WORLD_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* The host's interface, its address, which looks public, and the world's interface. */
#define WORLD_HOST_LINK    "arcp0"
#define WORLD_HOST_ADDRESS "93.184.216.2"
#define WORLD_LINK         "arcp1"
#define WORLD_NAMESERVER   "93.184.216.53"

/* ---- world_link.c: interfaces, addresses, routes of the network namespace of this process. 0 or
 * an errno. ---- */

int world_link_up(const char *name);
/* A pair of interfaces; the second one is in the namespace of the process. */
int world_link_pair(const char *name, const char *other, pid_t process);
int world_link_address(const char *name, int family, const void *address);
/* Everything that has no route of its own leaves by the interface. */
int world_link_default(const char *name, int family);

/* ---- world_names.c: the nameserver ---- */

/* Writes the answer to a query of DNS; 0: it gets none. */
size_t world_names_answer(const unsigned char *query, size_t size, unsigned char out[512]);

/* ---- world_server.c ---- */

/* Opens the sockets of one of the two namespaces, in that of the caller. `with_pages`: not only
 * those of DNS. */
void world_server_open(bool in_world, bool with_pages);
/* Sees all packets that reach the world. */
void world_server_watch(void);
/* Serves until the process is ended. `marks` has two bytes for each number: the bare half and the
 * confined one, set when it has arrived. */
void world_server_run(const char *token, unsigned char *marks);

/* The addresses of the world, each given as text. */
extern const char *const world_addresses[];
extern const size_t world_address_count;

#endif
