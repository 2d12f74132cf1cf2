/* What libFuzzer, or replay.c, calls; included before every fuzzer by arcp_fuzz. */
#ifndef ARCP_FUZZ_ENTRY_H
#define ARCP_FUZZ_ENTRY_H

#include <stddef.h>
#include <stdint.h>

/* Runs one input; returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
