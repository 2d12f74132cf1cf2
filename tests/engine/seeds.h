/* The seeds that a program with random plays runs. */
#ifndef ARCP_TESTS_ENGINE_SEEDS_H
#define ARCP_TESTS_ENGINE_SEEDS_H

#include <stdint.h>
#include <stdlib.h>

typedef struct seed_range {
    uint64_t first, count;
    uint64_t soak_sec; /* not 0: runs this long, with as many seeds as it takes */
} seed_range;

/* PROGRAM [SEEDS [FIRST]], else `count` from 1 on; ARCP_SIMULATION_SECONDS=n, where the program
 * supports it, runs this long, and ARCP_SIMULATION_SEED=n runs that one only. */
static inline seed_range seeds_of(int argc, char **argv, uint64_t count)
{
    const char *seconds = getenv("ARCP_SIMULATION_SECONDS");
    const char *one = getenv("ARCP_SIMULATION_SEED");
    if (one != NULL) {
        return (seed_range){.first = strtoull(one, NULL, 10), .count = 1};
    }
    return (seed_range){.first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1,
                        .count = argc > 1 ? strtoull(argv[1], NULL, 10) : count,
                        .soak_sec = seconds == NULL ? 0 : strtoull(seconds, NULL, 10)};
}

#endif
