/* SPDX-License-Identifier: Apache-2.0
 * The plan of an open loop: when is arrival k due? Pure: the clock is a parameter. The arrivals
 * of one run are dealt to `parts` workers (threads of all machines) round robin, so that the union
 * of all parts is one schedule. */
#ifndef HTTPDRIVE_PACE_H
#define HTTPDRIVE_PACE_H

#include "clock.h"

#include <stdbool.h>
#include <stdint.h>

struct pace {
    double rate;     /* arrivals a second, all parts together */
    bool poisson;    /* exponential gaps instead of equal ones */
    uint64_t parts;  /* how many share the schedule */
    uint64_t part;   /* which of them this is */
    uint64_t limit;  /* arrivals of the whole schedule; 0: no end */
    uint64_t next;   /* how many of this part's arrivals have been taken */
    nsec due;        /* when the next one is due, after the start; NSEC_NEVER past the limit */
    uint64_t random; /* state of the generator */
    double elapsed;  /* Poisson: exact sum of gaps so far, in ns */
};

void pace_init(struct pace *p, double rate, bool poisson, uint64_t part, uint64_t parts,
               uint64_t limit, uint64_t seed);
/* Takes the next arrival: p->due moves to the one after it. */
void pace_take(struct pace *p);
/* Takes all arrivals due before `end` and returns how many they were. */
uint64_t pace_skip(struct pace *p, nsec end);

/* A small generator (splitmix64) for everything that needs reproducible chance. */
uint64_t random_next(uint64_t *state);
/* Uniform in [0, 1). */
double random_unit(uint64_t *state);

#endif
