/* SPDX-License-Identifier: Apache-2.0
 * A run from the threads' start to the added result. */
#ifndef HTTPDRIVE_RUN_H
#define HTTPDRIVE_RUN_H

#include "result.h"

/* What is told while it runs, once a second. */
struct run_progress {
    double seconds;     /* since the measurement began; negative: warming up */
    uint64_t completed; /* since the last call */
    uint64_t failed;
    uint64_t bytes;
    uint64_t connections;
    uint64_t completed_in_all;
    nsec slowest; /* response since the last call */
};

struct run_observer {
    void (*progress)(void *baton, const struct run_progress *p);
    void *baton;
};

/* False when it could not begin; `error` says why. */
bool run_execute(struct result *r, const struct plan *plan, const struct run_observer *observer,
                 char *error, size_t error_size);

#endif
