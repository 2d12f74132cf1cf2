#include "sandbox/sandbox_syscall.h"

static const int16_t numbers[ARCP__SANDBOX_SYSCALL_COUNT][ARCP__SANDBOX_MACHINE_COUNT] = {
#define ARCP_SANDBOX_SYSCALL(id, name, x86_64, aarch64, rule, trap, monitor) {x86_64, aarch64},
#include "sandbox/sandbox_syscall.def"
#undef ARCP_SANDBOX_SYSCALL
};

arcp__sandbox_syscall arcp__sandbox_syscall_find(arcp__sandbox_machine machine, int number)
{
    int i = 0;
    while (number >= 0 && i < ARCP__SANDBOX_SYSCALL_COUNT && numbers[i][machine] != number) {
        i++;
    }
    return number < 0 ? ARCP__SANDBOX_SYSCALL_COUNT : (arcp__sandbox_syscall)i;
}
