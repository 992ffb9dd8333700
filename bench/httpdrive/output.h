/* SPDX-License-Identifier: Apache-2.0
 * The reports. All read the same struct result; none changes it. */
#ifndef HTTPDRIVE_OUTPUT_H
#define HTTPDRIVE_OUTPUT_H

#include "result.h"

void output_text(const struct result *r, FILE *out);
void output_json(const struct result *r, FILE *out);
/* ab's own forms: the report, its HTML table, the table of percentages, the list of requests. */
void output_ab(const struct result *r, FILE *out);
void output_ab_html(const struct result *r, FILE *out);
void output_ab_csv(const struct result *r, FILE *out);
void output_csv(const struct result *r, FILE *out);
void output_html(const struct result *r, FILE *out);
void output_hgrm(const struct result *r, FILE *out);
void output_hlog(const struct result *r, FILE *out);
void output_gnuplot(const struct result *r, FILE *out);
void output_usage(FILE *out);

/* Name of an errno ("ECONNREFUSED"). */
const char *output_errno_name(int number);
/* page.html as text; made by the build. */
extern const char output_page[];
/* The percentiles all reports show; ends with a negative number. */
extern const double output_percentiles[];

#endif
