/* The arrays of a compilation, which grow. */
#include "base/alloc.h"
#include "sandbox/sandbox_parts.h"

/* Room for one more element, or NULL. */
#define NEXT(compile, array, count, capacity)                                                      \
    (make_next((compile), (void **)&(compile)->array, (compile)->count, &(compile)->capacity,      \
               sizeof *(compile)->array)                                                           \
         ? &(compile)->array[(compile)->count++]                                                   \
         : NULL)

static bool make_next(arcp__sandbox_compile *compile, void **array, size_t count, size_t *capacity,
                      size_t size)
{
    void *grown = arcp__make_room(*array, count, capacity, size);
    if (grown == NULL) {
        compile->has_failed = true;
        return false;
    }
    *array = grown;
    return true;
}

void arcp__sandbox_add_line(arcp__sandbox_compile *compile, const arcp__sandbox_line *line)
{
    arcp__sandbox_line *next = NEXT(compile, lines, line_count, line_capacity);
    if (next != NULL) {
        *next = *line;
    }
}

void arcp__sandbox_add_wish(arcp__sandbox_compile *compile, const arcp__sandbox_wish *wish)
{
    arcp__sandbox_wish *next = NEXT(compile, wishes, wish_count, wish_capacity);
    if (next != NULL) {
        *next = *wish;
    }
}

void arcp__sandbox_add_mount(arcp__sandbox_compile *compile, arcp__sandbox_mount_kind kind,
                             arcp_span source, arcp_span target, bool is_writable)
{
    arcp__sandbox_mount *next = NEXT(compile, mounts, mount_count, mount_capacity);
    if (next != NULL) {
        *next = (arcp__sandbox_mount){kind, source, target, is_writable};
    }
}

void arcp__sandbox_add_rule(arcp__sandbox_compile *compile, arcp_span path, uint32_t rights,
                            arcp__sandbox_class class)
{
    arcp__sandbox_rule *next = rights == 0 ? NULL : NEXT(compile, rules, rule_count, rule_capacity);
    if (next != NULL) {
        *next = (arcp__sandbox_rule){path, rights, false, class};
    }
}

void arcp__sandbox_add_spot(arcp__sandbox_compile *compile, arcp_span path, uint32_t flags,
                            uint32_t wish)
{
    arcp__sandbox_spot *next = NEXT(compile, spots, spot_count, spot_capacity);
    if (next != NULL) {
        *next = (arcp__sandbox_spot){.path = path, .flags = flags, .wish = wish};
    }
}

bool arcp__sandbox_add_port(arcp__sandbox_compile *compile, uint16_t port)
{
    size_t at = 0;
    if (port == ARCP__SANDBOX_PORT_DNS || port == ARCP__SANDBOX_PORT_PROXY) {
        return false;
    }
    while (at < compile->port_count && compile->ports[at] < port) {
        at++;
    }
    if (at < compile->port_count && compile->ports[at] == port) {
        return true;
    }
    if (compile->port_count == ARCP__SANDBOX_PORTS_MAX) {
        return false;
    }
    if (NEXT(compile, ports, port_count, port_capacity) != NULL) {
        memmove(compile->ports + at + 1, compile->ports + at,
                (compile->port_count - 1 - at) * sizeof *compile->ports);
        compile->ports[at] = port;
    }
    return true;
}

void arcp__sandbox_add_pattern(arcp__sandbox_compile *compile, arcp__capability capability,
                               arcp_span pattern)
{
    arcp_span *next = capability == ARCP__CAPABILITY_FS_WRITE
                          ? NEXT(compile, writes, write_count, write_capacity)
                          : NEXT(compile, reads, read_count, read_capacity);
    if (next != NULL) {
        *next = pattern;
    }
}

void arcp__sandbox_add_host(arcp__sandbox_compile *compile, arcp_span pattern)
{
    arcp_span *next = NEXT(compile, hosts, host_count, host_capacity);
    if (next != NULL) {
        *next = pattern;
    }
}

void arcp__sandbox_compile_fini(arcp__sandbox_compile *compile)
{
    arcp__free(compile->hosts);
    arcp__free(compile->lines);
    arcp__free(compile->wishes);
    arcp__free(compile->spots);
    arcp__free(compile->mounts);
    arcp__free(compile->rules);
    arcp__free(compile->reads);
    arcp__free(compile->writes);
    arcp__free(compile->ports);
    arcp__arena_fini(&compile->arena);
}
