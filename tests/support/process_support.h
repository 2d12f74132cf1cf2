/* For tests of processes: waiting for their end, counting descriptors, running a program on a
 * launcher. */
#ifndef ARCP_TESTS_PROCESS_SUPPORT_H
#define ARCP_TESTS_PROCESS_SUPPORT_H

#include <arcp/buf.h>
#include <arcp/sys/launcher.h>

#define PROBE  ARCP_BINARY_DIR "/tests/arcp-process-probe"
#define HELPER ARCP_BINARY_DIR "/bin/arcp-agent-exec"

/* The number of open descriptors of this process. */
size_t open_descriptors(void);

/* Entries of a directory that do not begin with a dot. */
size_t entries_of(const char *path);
/* The path of its only one. */
void only_entry_of(const char *path, char entry[300]);

/* Whether a child of this process is there, running or not waited for. */
bool has_children(void);

/* Waits until a process has ended, which may be a child of another process; fails the test after a
 * minute. */
void wait_for_end(pid_t pid);

/* Starts a process that is hidden from us: its parent has exited, it has a session of its own and
 * no environment. It joins the cgroup of `directory_fd` (-1: none). Returns a descriptor that
 * becomes readable at its end, for wait_for_watched. */
int start_hidden(int directory_fd, pid_t *pid);

/* Opens a process, to wait for its end later; -1 if it has already ended. */
int watch_process(pid_t pid);
/* The same for one of these; closes it. */
void wait_for_watched(int fd);

/* The same for one that a launcher started. */
void wait_for_exit(const arcp_process *process);

/* Reads a descriptor to its end. */
void read_all(int fd, arcp_buf *out);

/* Runs a program to its end with `input` as standard input (nothing when NULL); what it
 * wrote to standard output and standard error is appended, NUL-terminated. */
arcp_status run_program(arcp_launcher *launcher, arcp_launch_spec *spec, arcp_buf *output,
                        arcp_process_exit *end, arcp_error *err);

/* Runs a command in a shell; fails the test if the command fails. */
void run_shell(const char *command);

/* The rest of the line that begins with `prefix`, in a NUL-terminated text; NULL: there is none.
 * Valid until the next call. */
const char *line_after(const arcp_buf *text, const char *prefix);

/* The number that a text begins with. */
pid_t number_in(const char *text);

/* A fresh directory, removed by remove_temporary. */
void make_temporary(char path[64]);
void remove_temporary(const char *path);

#endif
