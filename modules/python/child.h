/* SPDX-License-Identifier: Apache-2.0
 * Python in a child process: its start, what all requests share, its end. */
#ifndef INTERPOOL_PYTHON_CHILD_H
#define INTERPOOL_PYTHON_CHILD_H

#include <httpd.h>

#include "modules/common/report.h"
#include "modules/python/interp.h"

/* This child's row on mod_status's page. Counted with relaxed atomics; what each request changes
 * comes first, on one cache line. */
typedef struct pp_counters {
    apr_uint64_t busy;         /* requests being served */
    apr_uint64_t requests;     /* served, failed ones included */
    apr_uint64_t memory;       /* bytes Python uses */
    apr_uint64_t interpreters; /* made, the main one included */
    apr_uint64_t applications; /* groups */
    apr_uint64_t gil;          /* of the sub-interpreters: 1 = shared, 2 = own, 3 = both */
    apr_uint64_t failures;     /* handlers that raised or returned what they may not */
    apr_uint64_t waits;        /* for an exclusive interpreter */
    apr_uint64_t timeouts;     /* waits that ended without one */
    apr_uint64_t overtime;     /* handlers stopped by PythonTimeLimit */
} pp_counters;

typedef struct pp_child {
    server_rec *server;
    pp_interp *main;       /* NULL: Python could not be started; the log says why */
    pp_counters *counters; /* never NULL */
    int threads;           /* that serve requests at a time */
    int threaded;          /* whether that is more than one */
} pp_child;

/* In post_config: shared memory for the counters. */
apr_status_t pp_child_prepare(apr_pool_t *pconf);
/* Prints the counters for mod_status. */
int pp_child_status(request_rec *r, int flags);

/* In child_init. Starts Python when the configuration names a handler; else the first request
 * whose .htaccess names one does. */
void pp_child_init(apr_pool_t *pchild, server_rec *s);

/* The child, with Python started; NULL when it could not be. */
pp_child *pp_child_started(void);

/* Around a request: `f` is what went wrong. */
void pp_child_begin(void);
void pp_child_finish(const failure *f);

#define pp_count(counter) __atomic_fetch_add(&(counter), 1, __ATOMIC_RELAXED)

#endif
