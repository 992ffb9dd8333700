/* SPDX-License-Identifier: Apache-2.0
 * The reports. All read the same struct result; none changes it. */
#ifndef HTTPDRIVE_OUTPUT_H
#define HTTPDRIVE_OUTPUT_H

#include "result.h"

void output_text(const struct result *r, FILE *out);
void output_json(const struct result *r, FILE *out);
void output_usage(FILE *out);

/* Name of an errno ("ECONNREFUSED"). */
const char *output_errno_name(int number);
/* The percentiles all reports show; ends with a negative number. */
extern const double output_percentiles[];

#endif
