#include "cli/cli.h"

#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

/* Signal handlers take no context argument, so these are global. */
static arcp_client *volatile watched; /* SIGINT interrupts its waits */
static arcp_client *volatile resized; /* SIGWINCH does */
static volatile sig_atomic_t interrupts;
static volatile sig_atomic_t ending; /* the signal that asked the program to end; 0: none */
static volatile sig_atomic_t has_new_size;

static void on_interrupt(int signal_number)
{
    interrupts = interrupts + 1;
    if (watched != NULL) {
        arcp_client_interrupt(watched);
    }
}

static void on_end(int signal_number)
{
    ending = signal_number;
    on_interrupt(signal_number);
}

static void on_resize(int signal_number)
{
    has_new_size = 1;
    if (resized != NULL) {
        arcp_client_interrupt(resized);
    }
}

static void handle(int signal_number, void (*handler)(int), int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    (void)sigemptyset(&action.sa_mask);
    action.sa_handler = handler;
    action.sa_flags = flags;
    (void)sigaction(signal_number, &action, NULL);
}

void arcp__interrupt_watch(arcp_client *client)
{
    watched = client;
    handle(SIGINT, client == NULL ? SIG_DFL : on_interrupt, 0);
}

/* Signals that ask the program to end. */
static const int ends[] = {SIGTERM, SIGHUP};

void arcp__end_watch(arcp_client *client)
{
    arcp__interrupt_watch(client);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct sigaction before;
        if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            handle(ends[i], client == NULL ? SIG_DFL : on_end, (int)SA_RESETHAND);
        }
    }
}

bool arcp__end_is_requested(void)
{
    return ending != 0;
}

void arcp__end_repeat(void)
{
    if (ending != 0) {
        (void)raise(ending);
    }
}

unsigned arcp__interrupt_count(void)
{
    return (unsigned)interrupts;
}

bool arcp__interrupt_pause(int64_t ms)
{
    const int64_t end = arcp__clock_ns(CLOCK_MONOTONIC) + ms * ARCP_NS_PER_MS;
    for (int64_t left = end - arcp__clock_ns(CLOCK_MONOTONIC); left > 0 && interrupts == 0;
         left = end - arcp__clock_ns(CLOCK_MONOTONIC)) {
        const struct timespec pause = {.tv_sec = left / ARCP_NS_PER_SEC,
                                       .tv_nsec = left % ARCP_NS_PER_SEC};
        (void)nanosleep(&pause, NULL); /* a signal ends it */
    }
    return interrupts == 0;
}

void arcp__resize_watch(arcp_client *client)
{
    resized = client;
    handle(SIGWINCH, client == NULL ? SIG_DFL : on_resize, SA_RESTART);
}

bool arcp__resize_take(void)
{
    const bool has_come = has_new_size != 0;
    has_new_size = 0;
    return has_come;
}
