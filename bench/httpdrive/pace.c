/* SPDX-License-Identifier: Apache-2.0
 * When arrivals are due; see pace.h. */
#include "pace.h"

#include <math.h>

/* splitmix64: one 64-bit word of state, any seed is a good one, and it passes the usual tests. */
uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The upper 53 bits are all that a double can hold. */
double random_unit(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

/* Arrival k of the whole schedule, without drift: whole seconds and the rest apart, so that a
 * double holds each to better than a nanosecond. */
static nsec constant_due(const struct pace *p, uint64_t k)
{
    double seconds = (double)k / p->rate, whole = floor(seconds);
    double rest = ((double)k - whole * p->rate) / p->rate;

    /* Almost three centuries: beyond what an nsec can say. */
    if (whole > 9e9)
        return NSEC_NEVER;
    return (nsec)whole * NSEC_PER_SEC + (nsec)(rest * 1e9);
}

static void plan_next(struct pace *p)
{
    /* Which arrival of the whole schedule is this part's next one */
    uint64_t k = p->next * p->parts + p->part;

    if (p->limit && k >= p->limit) {
        p->due = NSEC_NEVER;
        return;
    }
    /* Each part makes its own independent arrivals at rate / parts. Together they are again a
     * Poisson process, of the whole rate, without the parts having to agree on anything.
     * 1 - x lies in (0, 1], where the logarithm is finite. */
    if (p->poisson) {
        double gap = -log(1.0 - random_unit(&p->random)) * 1e9 / p->rate * (double)p->parts;
        p->elapsed += gap;
        p->due = p->elapsed < 9e18 ? (nsec)p->elapsed : NSEC_NEVER;
    } else {
        p->due = constant_due(p, k);
    }
}

void pace_init(struct pace *p, double rate, bool poisson, uint64_t part, uint64_t parts,
               uint64_t limit, uint64_t seed)
{
    /* The first number after seeding is thrown away with it: seeds that differ in few bits, as
     * those of neighbouring parts do, would give similar ones. */
    *p = (struct pace){.rate = rate,
                       .poisson = poisson,
                       .parts = parts,
                       .part = part,
                       .limit = limit,
                       .random = seed ^ (part * UINT64_C(0xd1342543de82ef95))};
    random_next(&p->random);
    plan_next(p);
}

void pace_take(struct pace *p)
{
    p->next++;
    plan_next(p);
}

uint64_t pace_skip(struct pace *p, nsec end)
{
    uint64_t skipped = 0;

    while (p->due < end) {
        pace_take(p);
        skipped++;
    }
    return skipped;
}
