#include "gateway/tool_counts.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <arcp/time.h>

#include "base/alloc.h"
#include "core/exposition.h"

/* More than a configuration has; those of earlier ones are kept until arcpd exits. */
#define SERVERS_MAX 128
#define NAME_SIZE   33

typedef struct server_counts {
    char name[NAME_SIZE];
    uint64_t outcomes[ARCP__TOOL_OUTCOMES];
} server_counts;

struct arcp__tool_counts {
    pthread_mutex_t lock;
    server_counts servers[SERVERS_MAX];
    size_t server_count;
    uint64_t calls, ns; /* that were sent, and the sum of their times */
};

arcp__tool_counts *arcp__tool_counts_new(void)
{
    arcp__tool_counts *counts = arcp__alloc(sizeof *counts);
    if (counts != NULL) {
        (void)pthread_mutex_init(&counts->lock, NULL);
    }
    return counts;
}

void arcp__tool_counts_free(arcp__tool_counts *counts)
{
    if (counts != NULL) {
        (void)pthread_mutex_destroy(&counts->lock);
        arcp__free(counts);
    }
}

/* Called with the lock held. Without a place for one more, the last one counts for all others. */
static server_counts *server_of(arcp__tool_counts *counts, const char *name)
{
    size_t i = 0;
    while (i < counts->server_count && strcmp(counts->servers[i].name, name) != 0) {
        i++;
    }
    if (i == counts->server_count && i < SERVERS_MAX) {
        counts->server_count++;
        (void)snprintf(counts->servers[i].name, NAME_SIZE, "%s", name);
    }
    return &counts->servers[i < SERVERS_MAX ? i : SERVERS_MAX - 1];
}

void arcp__tool_count(arcp__tool_counts *counts, const char *server, arcp__tool_outcome outcome,
                      int64_t took_ns)
{
    (void)pthread_mutex_lock(&counts->lock);
    server_of(counts, server)->outcomes[outcome]++;
    counts->calls += took_ns >= 0;
    counts->ns += took_ns < 0 ? 0 : (uint64_t)took_ns;
    (void)pthread_mutex_unlock(&counts->lock);
}

void arcp__tool_counts_write(arcp__tool_counts *counts, arcp_buf *out)
{
    static const char *const outcomes[ARCP__TOOL_OUTCOMES] = {"answered", "failed", "refused"};
    const char *calls = arcp__metric_name(ARCP__METRIC_TOOL_CALLS);
    const char *seconds = arcp__metric_name(ARCP__METRIC_TOOL_SECONDS);
    (void)pthread_mutex_lock(&counts->lock);
    arcp__exposition_family(out, ARCP__METRIC_TOOL_CALLS);
    for (size_t i = 0; i < counts->server_count; i++) {
        const server_counts *of = &counts->servers[i];
        for (size_t j = 0; j < ARCP__TOOL_OUTCOMES; j++) {
            const char *const labels[] = {"server", of->name, "outcome", outcomes[j], NULL};
            if (of->outcomes[j] != 0) {
                arcp__exposition_u64(out, calls, labels, of->outcomes[j]);
            }
        }
    }
    arcp__exposition_family(out, ARCP__METRIC_TOOL_SECONDS);
    arcp_buf_append_format(out, "%s_sum %llu.%09llu\n%s_count %llu\n", seconds,
                           (unsigned long long)(counts->ns / ARCP_NS_PER_SEC),
                           (unsigned long long)(counts->ns % ARCP_NS_PER_SEC), seconds,
                           (unsigned long long)counts->calls);
    (void)pthread_mutex_unlock(&counts->lock);
}
