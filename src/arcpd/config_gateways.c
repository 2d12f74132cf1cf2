/* The keys `gateways` of arcpd.yaml. */
#include "arcpd/config.h"
#include "arcpd/config_rows.h"

/* Bounds, so that no sum of sizes or times overflows. */
#define BYTES_MAX (UINT64_C(1) << 40)
#define MS_MAX    UINT64_C(86400000)

#define KEY(name, kind) ROW(#name, kind, arcp__config, gateways.name)

static const arcp__config_row rows[] = {
    {KEY(listen, text), .otherwise = "127.0.0.1:0", .flags = RESTART},
    {KEY(url, text), .flags = RESTART},
    {KEY(request_bytes, number), .initial = 33554432, .minimum = 1024, .maximum = BYTES_MAX},
    {KEY(buffer_bytes, number), .initial = 268435456, .minimum = 1024, .maximum = BYTES_MAX},
    {KEY(response_bytes, number), .initial = 268435456, .minimum = 1024, .maximum = BYTES_MAX},
    {KEY(calls_per_job, number), .initial = 32, .minimum = 1, .maximum = 65536},
    {KEY(first_byte_ms, number), .initial = 600000, .minimum = 1, .maximum = MS_MAX},
    {KEY(idle_timeout_ms, number), .initial = 300000, .minimum = 1, .maximum = MS_MAX},
    {KEY(hold_wait_ms, number), .initial = 60000, .maximum = MS_MAX},
};

static arcp_status check(arcp__yaml_reader *r, void *owner)
{
    const arcp__config *config = owner;
    return config->gateways.request_bytes <= config->gateways.buffer_bytes
               ? ARCP_OK
               : arcp__yaml_refuse(r, "request_bytes must not be larger than buffer_bytes");
}

const arcp__config_fields arcp__config_gateways = {ROWS(rows), .check = check};
