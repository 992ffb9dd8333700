/* SPDX-License-Identifier: Apache-2.0
 * What happened in each second of a run: counts, and a sparse histogram of response times that is
 * coarser than the run's (1/128), so that an hour stays small. */
#ifndef HTTPDRIVE_SERIES_H
#define HTTPDRIVE_SERIES_H

#include "clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERIES_BITS    7
#define SERIES_BUCKETS ((40 - SERIES_BITS + 2) << SERIES_BITS)

struct bucket {
    uint32_t index; /* see series_bucket_index() */
    uint32_t count; /* responses */
};

struct second {
    uint64_t completed;     /* requests that ended, whatever their outcome */
    uint64_t failed;        /* of these */
    uint64_t bytes;         /* received */
    uint64_t opened;        /* connections opened */
    uint64_t connections;   /* open at the end of the second */
    int64_t max;            /* longest response, ns */
    struct bucket *buckets; /* by ascending index */
    size_t bucket_count;
};

struct series {
    struct second *seconds;
    size_t count;   /* seconds that have begun */
    size_t room;    /* seconds there is memory for */
    uint32_t *open; /* buckets of the second that is being filled */
    bool lost;      /* no memory was left for some second */
};

bool series_init(struct series *s);
void series_free(struct series *s);
/* The second `index`, made when it is new. NULL without memory. Filling goes forward only. */
struct second *series_second(struct series *s, size_t index);
void series_record(struct series *s, struct second *now, int64_t response);
/* Moves the open buckets into the last second. */
void series_close(struct series *s);
bool series_merge(struct series *into, const struct series *from);

int64_t series_bucket_mid(uint32_t index);
uint32_t series_bucket_index(int64_t value);
/* Nearest rank within one second; 0 when it has no samples. */
int64_t second_percentile(const struct second *s, double percent);

#endif
