/* SPDX-License-Identifier: Apache-2.0
 * What several reports share: names of errors, and the usage text made from the table of options.
 */
#include "output.h"

#include <string.h>

/* The name is what people search for; the text depends on the language. */
const char *output_errno_name(int number)
{
    const char *name = strerrorname_np(number);

    return name ? name : "unknown error";
}

/* From the table of options, as the parser: what it takes and what is told cannot differ. */
void output_usage(FILE *out)
{
    char left[80];

    fputs("Usage: httpdrive [options] URL\n"
          "       httpdrive compare [options] NAME=URL NAME=URL...\n"
          "       httpdrive compare [options] NAME=FILES NAME=FILES...\n"
          "       httpdrive merge [options] FILE...\n"
          "Loads a web server and reports what it did and how long it took.\n",
          out);
    for (const struct option_row *row = option_table; row->help; row++) {
        int n = 0;
        if (!row->letter && !row->name) {
            fprintf(out, "\n%s:\n", row->help);
            continue;
        }
        if (row->letter)
            n += snprintf(left + n, sizeof(left) - (size_t)n, "-%c%s", row->letter,
                          row->name ? ", " : "");
        else
            n += snprintf(left + n, sizeof(left) - (size_t)n, "    ");
        if (row->name)
            n += snprintf(left + n, sizeof(left) - (size_t)n, "--%s", row->name);
        if (row->argument)
            snprintf(left + n, sizeof(left) - (size_t)n, " %s", row->argument);
        fprintf(out, "  %-34s %s\n", left, row->help);
    }
    fputs(
        "\nTIME is 10, 1.5s, 500ms or 2m; N may end in k, M or G. Exit codes: 0 good, 1 failures,\n"
        "2 usage, 3 nothing connected, 4 driver was the limit (--strict), 5 --p99-max exceeded,\n"
        "130 interrupted.\n",
        out);
}
