#include "arcp/command.h"

#include <signal.h>
#include <string.h>

/* What signal handlers know: the one place where that cannot be handed over. */
static arcp_client *volatile watched;
static volatile sig_atomic_t interrupts;
static volatile sig_atomic_t resized;

static void on_interrupt(int signal_number)
{
    interrupts = interrupts + 1;
    if (watched != NULL) {
        arcp_client_interrupt(watched);
    }
}

static void on_resize(int signal_number)
{
    resized = 1;
}

void arcp__interrupt_watch(arcp_client *client)
{
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    (void)sigemptyset(&action.sa_mask);
    action.sa_handler = client == NULL ? SIG_DFL : on_interrupt;
    watched = client;
    (void)sigaction(SIGINT, &action, NULL);
    action.sa_handler = client == NULL ? SIG_DFL : on_resize;
    action.sa_flags = SA_RESTART;
    (void)sigaction(SIGWINCH, &action, NULL);
}

unsigned arcp__interrupt_count(void)
{
    return (unsigned)interrupts;
}

bool arcp__interrupt_resized(void)
{
    bool was = resized != 0;
    resized = 0;
    return was;
}
