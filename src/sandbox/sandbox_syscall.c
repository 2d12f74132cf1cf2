#include "sandbox/sandbox_syscall.h"

typedef struct row {
    const char *name;
    int16_t numbers[ARCP__SANDBOX_MACHINE_COUNT];
} row;

static const row rows[ARCP__SANDBOX_SYSCALL_COUNT] = {
#define ARCP_SANDBOX_SYSCALL(id, name, x86_64, aarch64, rule, trap, monitor)                       \
    {name, {x86_64, aarch64}},
#include "sandbox/sandbox_syscall.def"
#undef ARCP_SANDBOX_SYSCALL
};

arcp__sandbox_syscall arcp__sandbox_syscall_find(arcp__sandbox_machine machine, int number)
{
    int i = 0;
    while (number >= 0 && i < ARCP__SANDBOX_SYSCALL_COUNT && rows[i].numbers[machine] != number) {
        i++;
    }
    return number < 0 ? ARCP__SANDBOX_SYSCALL_COUNT : (arcp__sandbox_syscall)i;
}

int arcp__sandbox_syscall_number(arcp__sandbox_machine machine, arcp__sandbox_syscall call)
{
    return rows[call].numbers[machine];
}

const char *arcp__sandbox_syscall_name(arcp__sandbox_syscall call)
{
    return rows[call].name;
}
