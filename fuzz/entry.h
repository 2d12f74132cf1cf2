/* The entry for libFuzzer and replay.c; arcp_fuzz includes it before every fuzzer. */
#ifndef ARCP_FUZZ_ENTRY_H
#define ARCP_FUZZ_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Runs one input; returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A condition that must hold for every input; a fuzzer reports an input for which it does not. */
static inline void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

#endif
