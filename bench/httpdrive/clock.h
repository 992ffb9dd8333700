/* SPDX-License-Identifier: Apache-2.0
 * The one clock of the driver: monotonic nanoseconds. */
#ifndef HTTPDRIVE_CLOCK_H
#define HTTPDRIVE_CLOCK_H

#include <stdint.h>
#include <time.h>

typedef int64_t nsec;

#define NSEC_PER_SEC  INT64_C(1000000000)
#define NSEC_PER_MSEC INT64_C(1000000)
#define NSEC_PER_USEC INT64_C(1000)
#define NSEC_NEVER    INT64_MAX

static inline nsec clock_read(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (nsec)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static inline nsec clock_now(void)
{
    return clock_read(CLOCK_MONOTONIC);
}

#endif
