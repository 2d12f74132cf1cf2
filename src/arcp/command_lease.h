/* `arcp lease check|explain|subset|lint|diff`: leases looked at without any runtime. */
#ifndef ARCP_ARCP_COMMAND_LEASE_H
#define ARCP_ARCP_COMMAND_LEASE_H

/* Runs the command line behind `lease` (argv[0] is the first word after it; options such
 * as --json may stand anywhere, also before the subcommand's name). Writes to stdout and stderr and
 * returns the exit status: 0 yes, 1 error (a lease that cannot be read), 2 usage, 4 denied or not a
 * subset. */
int arcp__command_lease(int argc, char **argv);

/* The lines that `arcp --help` prints for it. */
extern const char arcp__command_lease_usage[];

#endif
