/* The whole of `arcp`, callable: main() does nothing else. */
#ifndef ARCP_ARCP_MAIN_H
#define ARCP_ARCP_MAIN_H

/* Returns the exit status. argv may be changed (a token in it is overwritten). */
int arcp__main(int argc, char **argv);

#endif
