/* SPDX-License-Identifier: Apache-2.0
 * A result that was written as JSON, read back into the same structures, so that all reports can
 * be made of it and several can be added. */
#ifndef HTTPDRIVE_STORED_H
#define HTTPDRIVE_STORED_H

#include "json_read.h"
#include "result.h"

struct stored {
    const char *file;
    struct json_document document; /* the texts of plan and result lie in it */
    struct plan plan;
    struct result result;
    char host[128]; /* the machine that drove */
};

/* False when the file is no result of this format; `error` says why. */
bool stored_read(struct stored *s, const char *file, char *error, size_t error_size);
void stored_free(struct stored *s);

/* Adds the parts of one load that several machines sent at the same time. `whole` becomes the plan
 * of all of it; it shares the first part's texts and is not to be freed. False when the parts do
 * not belong together; `error` says why. */
bool stored_merge(struct result *sum, struct plan *whole, const struct stored *parts, size_t count,
                  char *error, size_t error_size);

#endif
