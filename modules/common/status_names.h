/* SPDX-License-Identifier: Apache-2.0
 * The names that scripts use for HTTP statuses: httpd's own, as in its headers. */
#ifndef INTERPOOL_STATUS_NAMES_H
#define INTERPOOL_STATUS_NAMES_H

typedef struct status_name {
    const char *name; /* "HTTP_NOT_FOUND" */
    int status;
} status_name;

/* In the order of their numbers; a row without a name ends them. */
extern const status_name status_names[];

#endif
