/* What `arcp bench` prints: a small table, or one JSON object. */
#ifndef ARCP_BENCH_REPORT_H
#define ARCP_BENCH_REPORT_H

#include "bench/load.h"

/* Append the report, without a newline at its end. The samples must be sorted. */
void arcp__bench_table(const arcp__load_options *options, const arcp__load_result *result,
                       arcp_buf *out);
void arcp__bench_json(const arcp__load_options *options, const arcp__load_result *result,
                      arcp_buf *out);

#endif
