/* SPDX-License-Identifier: Apache-2.0
 * Was the driver itself the limit? What the kernel tells of its threads and of the machine, and the
 * CPU and memory of another process tree. Reads /proc only. */
#ifndef HTTPDRIVE_HEALTH_H
#define HTTPDRIVE_HEALTH_H

#include "clock.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct thread_sample {
    nsec wall;  /* monotonic */
    nsec cpu;   /* user and system */
    nsec delay; /* waiting for a CPU; -1 when the kernel does not tell */
};

/* One thread of the driver over its measurement. */
struct thread_health {
    struct thread_sample before, stopped, after; /* stopped: no more requests began */
    uint64_t waits;                              /* epoll_wait calls */
    uint64_t events;                             /* that they brought */
};

/* The whole machine, in clock ticks. */
struct health_sample {
    bool known;
    uint64_t total, idle, steal;
};

void health_thread(struct thread_sample *s);
void health_machine(struct health_sample *s);

/* A process and all its descendants. */
struct tree_sample {
    bool known;
    unsigned processes; /* that live */
    nsec cpu;           /* of those that live, and of the ended children they have waited for */
    uint64_t pss_bytes; /* shared pages in parts; 0: not asked for */
};

/* A number, or the name of a file that holds one. */
bool health_pid(const char *text, pid_t *out, char *error, size_t error_size);
void health_tree(struct tree_sample *s, pid_t root, bool with_memory);

#endif
