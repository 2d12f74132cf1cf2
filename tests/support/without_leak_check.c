/* Linked into a program that AddressSanitizer watches and that runs in a sandbox: LeakSanitizer
 * stops its own process with ptrace, which a sandbox does not allow. The sanitizer's library calls
 * it. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
