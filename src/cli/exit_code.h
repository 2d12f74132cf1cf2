/* The exit status for how things ended. */
#ifndef ARCP_CLI_EXIT_CODE_H
#define ARCP_CLI_EXIT_CODE_H

#include <arcp/client.h>

enum {
    ARCP__EXIT_SUCCESS = 0,
    ARCP__EXIT_ERROR = 1,
    ARCP__EXIT_USAGE = 2,
    ARCP__EXIT_NOT_CONNECTED = 3,
    ARCP__EXIT_LEFT = 130 /* as a shell has it for a program that SIGINT ended */
};

int arcp__exit_of_status(arcp_status status);

/* A job's: its failure's, else its final status's. A job that succeeded and whose result could
 * not be had whole is an error. */
int arcp__exit_of_outcome(const arcp_outcome *outcome);

/* For a job of which only the status is known. */
int arcp__exit_of_job_status(arcp_job_status status);

#endif
