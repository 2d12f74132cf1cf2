/* What the writer and the reader of traces agree on. Private to src/record. */
#ifndef ARCP_RECORD_FORMAT_H
#define ARCP_RECORD_FORMAT_H

#define ARCP__RECORDING_MAGIC     "ARCPTRACE 1 "
#define ARCP__RECORDING_LINE_MAX  256u
#define ARCP__RECORDING_HEAD_SIZE 12u

#endif
