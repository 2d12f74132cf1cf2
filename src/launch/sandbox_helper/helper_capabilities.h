/* The end of all privileges of this process, for good. */
#ifndef ARCP_LAUNCH_HELPER_CAPABILITIES_H
#define ARCP_LAUNCH_HELPER_CAPABILITIES_H

/* Empties the bounding set, where this process may (it has CAP_SETPCAP), and the ambient,
 * inheritable, permitted and effective sets; sets no_new_privs. Then reads all of them back: 0, or
 * an errno when one is not as it must be (EPERM: the kernel kept a capability). Idempotent; needs
 * no privilege. Of the calling thread only: call it while there is one.
 *
 * no_new_privs is what keeps a program of uid 0 from getting its capabilities back at exec where
 * the bounding set could not be emptied. */
int arcp__helper_capabilities_drop(void);

#endif
