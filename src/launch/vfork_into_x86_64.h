/* vfork that creates the child in a cgroup. libc has no such function, and it cannot be written in
 * C: the child continues in the caller's memory and on its stack, so a C function must not return
 * from the system call. Included by launcher_direct.c only. */
#ifndef ARCP_LAUNCH_VFORK_INTO_X86_64_H
#define ARCP_LAUNCH_VFORK_INTO_X86_64_H

#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define VFORK_INTO_IS_WATCHED 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define VFORK_INTO_IS_WATCHED 1
#endif
#ifdef VFORK_INTO_IS_WATCHED
#include <sanitizer/asan_interface.h>
#define VFORK_INTO_STACK 65536u /* more than the child uses */
#endif

/* The child calls `run`, which must not return, below the caller's frame and its red zone. The
 * caller is suspended until the child has executed a program or exited. Returns the child's pid or
 * a negated errno: ENOSYS if the kernel, or a system call filter, does not support it. */
static inline long vfork_into(int cgroup_fd, void (*run)(void *argument), void *argument)
{
    struct clone_args how = {.flags = CLONE_VM | CLONE_VFORK | CLONE_INTO_CGROUP,
                             .exit_signal = SIGCHLD,
                             .cgroup = (uint64_t)cgroup_fd};
    long result = SYS_clone3;
    __asm__ volatile("syscall\n\t"
                     "testq %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "leaq -256(%%rsp), %%rsp\n\t"
                     "andq $-16, %%rsp\n\t"
                     "movq %[argument], %%rdi\n\t"
                     "call *%[run]\n\t"
                     "ud2\n"
                     "1:"
                     : "+a"(result)
                     : "D"(&how), "S"(sizeof how), [run] "r"(run), [argument] "r"(argument)
                     : "rcx", "r11", "cc", "memory");
#ifdef VFORK_INTO_IS_WATCHED
    /* The child never returned from its frames, so AddressSanitizer still regards the memory
     * between their variables as poisoned. After libc's vfork it clears this itself. */
    __asan_unpoison_memory_region((char *)__builtin_frame_address(0) - VFORK_INTO_STACK,
                                  VFORK_INTO_STACK);
#endif
    return result;
}

#endif
