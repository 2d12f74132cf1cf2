/* An interpreter of classic BPF, as far as filters of system calls use it. */
#ifndef ARCP_TESTS_BPF_RUN_H
#define ARCP_TESTS_BPF_RUN_H

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "support/check.h"

typedef struct bpf_outcome {
    uint32_t value;
    size_t steps;
} bpf_outcome;

static inline bpf_outcome bpf_run(const struct sock_filter *code, size_t count,
                                  const struct seccomp_data *data)
{
    uint32_t accumulator = 0;
    size_t at = 0;
    for (size_t steps = 1;; steps++) {
        assert_true(at < count);
        const struct sock_filter now = code[at++];
        switch (now.code) {
        case BPF_LD | BPF_W | BPF_ABS:
            assert_true(now.k % 4 == 0 && now.k < sizeof *data);
            memcpy(&accumulator, (const char *)data + now.k, sizeof accumulator);
            break;
        case BPF_ALU | BPF_AND | BPF_K:
            accumulator &= now.k;
            break;
        case BPF_JMP | BPF_JA:
            at += now.k;
            break;
        case BPF_JMP | BPF_JEQ | BPF_K:
            at += accumulator == now.k ? now.jt : now.jf;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            at += accumulator >= now.k ? now.jt : now.jf;
            break;
        case BPF_JMP | BPF_JSET | BPF_K:
            at += (accumulator & now.k) != 0 ? now.jt : now.jf;
            break;
        case BPF_RET | BPF_K:
            return (bpf_outcome){.value = now.k, .steps = steps};
        default:
            fail_msg("instruction %x", now.code);
        }
    }
}

#endif
