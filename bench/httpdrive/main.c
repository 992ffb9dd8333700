/* SPDX-License-Identifier: Apache-2.0
 * httpdrive: parse the options, plan, run, report.
 *
 * The flow of a command: the options say what is wanted; a plan is made of them; the engine runs it
 * and returns a result; the reports read the result. No part knows the one before it but through
 * that structure. What goes wrong before there is a result is one line on standard error with a tag
 * (HD005) and exit code 2; afterwards the report is always printed, also of a run that was
 * interrupted. */
#include "compare.h"
#include "output.h"
#include "run.h"
#include "stored.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ab tells about each tenth of the requests, but not of fewer than this many. */
#define AB_STEP_LEAST 100

/* What the observers keep between two seconds. */
struct progress {
    const struct options *options;
    uint64_t shown; /* --ab: of the requests completed, how many have been told */
};

/* A line for each second, on a terminal or with -v. */
static void show_second(void *baton, const struct run_progress *p)
{
    char where[32] = "warm-up";
    (void)baton;

    if (p->seconds >= 0)
        snprintf(where, sizeof(where), "%5.0f s", p->seconds);
    fprintf(stderr,
            "%s  %8llu requests/s  %6llu failed  %7.2f MB/s  %5llu connections  max %.2f ms\n",
            where, (unsigned long long)p->completed, (unsigned long long)p->failed,
            (double)p->bytes / 1e6, (unsigned long long)p->connections, (double)p->slowest / 1e6);
}

/* ab's lines, as far as the second that has passed has reached them. */
static void show_tenths(void *baton, const struct run_progress *p)
{
    struct progress *state = baton;
    uint64_t step = state->options->requests / 10;

    step = step < AB_STEP_LEAST ? AB_STEP_LEAST : step;
    while (state->options->requests > 150 && state->shown + step <= p->completed_in_all) {
        state->shown += step;
        fprintf(stderr, "Completed %llu requests\n", (unsigned long long)state->shown);
    }
}

/* Prints why and returns the exit code. */
static int fail(int code, const char *message)
{
    fprintf(stderr, "httpdrive: %s\n", message);
    return code;
}

static bool on_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* Calls a report with its file; "-" is standard output. */
static bool write_file(const struct result *r, const char *path,
                       void (*report)(const struct result *, FILE *))
{
    FILE *out;
    bool fine;

    if (!path)
        return true;
    if (on_stdout(path)) {
        report(r, stdout);
        return fflush(stdout) == 0;
    }
    out = fopen(path, "w");
    if (out)
        report(r, out);
    fine = out && !ferror(out);
    if (out && fclose(out))
        fine = false;
    if (!fine)
        fprintf(stderr, "httpdrive: HD050: %s: %s\n", path, strerror(errno));
    return fine;
}

/* A report and the file it goes to. */
struct report_file {
    const char *path; /* NULL: not wanted */
    void (*report)(const struct result *, FILE *);
};

#define REPORT_FILES 7

static void list_files(const struct options *o, struct report_file files[REPORT_FILES])
{
    const struct report_file all[REPORT_FILES] = {
        {o->json, output_json},      {o->csv, output_csv},   {o->html, output_html},
        {o->hgrm, output_hgrm},      {o->hlog, output_hlog}, {o->ab_csv, output_ab_csv},
        {o->gnuplot, output_gnuplot}};

    memcpy(files, all, sizeof(all));
}

/* Can the reports be written? Asked before a load that may take an hour, not after it. A pipe is
 * left alone: its reader would take the close for the end of the report. */
static bool check_files(const struct options *o)
{
    struct report_file files[REPORT_FILES];

    list_files(o, files);
    for (size_t i = 0; i < REPORT_FILES; i++) {
        const char *path = files[i].path;
        struct stat info;
        int fd;
        if (!path || on_stdout(path) || (stat(path, &info) == 0 && S_ISFIFO(info.st_mode)))
            continue;
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (fd < 0) {
            fprintf(stderr, "httpdrive: HD050: %s: %s\n", path, strerror(errno));
            return false;
        }
        close(fd);
    }
    return true;
}

/* All the reports that were asked for; the text is left out when another takes its place. */
static bool write_reports(const struct result *r, const struct options *o)
{
    struct report_file files[REPORT_FILES];
    bool fine = true, taken = false;

    list_files(o, files);
    for (size_t i = 0; i < REPORT_FILES; i++)
        taken = taken || on_stdout(files[i].path);
    if (!taken)
        (o->ab_html ? output_ab_html : o->ab ? output_ab : output_text)(r, stdout);
    for (size_t i = 0; i < REPORT_FILES; i++)
        fine = write_file(r, files[i].path, files[i].report) && fine;
    return fflush(stdout) == 0 && fine;
}

/* Everything that was asked for, and the exit code that goes with it. */
static int report(const struct result *r)
{
    char reason[400];

    if (!write_reports(r, &r->plan->options))
        return EXIT_USAGE;
    if (r->nothing_connected && !r->interrupted) {
        result_unconnected(r, reason, sizeof(reason));
        fprintf(stderr, "httpdrive: %s\n", reason);
    }
    return result_exit_code(r);
}

/* -v 2: the first request as it was sent, and the head of the first answer. */
static void show_exchange(const struct plan *p, const struct result *r)
{
    if (p->options.verbosity < 2)
        return;
    fprintf(stderr, "INFO: %s header ==\n---\n%.*s---\n", plan_method(p),
            (int)p->targets[0].head_length, p->targets[0].bytes);
    if (r->have_first)
        fprintf(stderr, "LOG: header received:\nHTTP/1.%u %u\n%s\n", r->first_minor,
                r->first_status, r->head);
}

/* httpdrive URL */
static int run(const struct options *o)
{
    struct progress state = {o, 0};
    struct run_observer observer = {o->ab ? show_tenths : show_second, &state};
    struct result *r = calloc(1, sizeof(*r));
    struct plan plan;
    char error[512];
    /* On a terminal people watch; a file or a pipe gets lines only when it asks for them. */
    bool watched = o->verbosity || (!o->quiet && (o->ab || isatty(STDERR_FILENO)));
    int code;

    if (!r)
        return fail(EXIT_USAGE, "HD001: out of memory");
    if (!plan_make(&plan, o, error, sizeof(error))) {
        free(r);
        return fail(EXIT_USAGE, error);
    }
    if (!check_files(o)) {
        code = EXIT_USAGE;
    } else if (run_execute(r, &plan, watched ? &observer : NULL, error, sizeof(error))) {
        if (o->ab && watched)
            fprintf(stderr, "Finished %llu requests\n",
                    (unsigned long long)stats_completed(&r->stats));
        show_exchange(&plan, r);
        code = report(r);
        result_free(r);
    } else {
        code = fail(EXIT_USAGE, error);
    }
    free(r);
    plan_free(&plan);
    return code;
}

/* Writes the comparison where it was asked for; false when that failed. */
static bool write_comparison(const struct compare_report *r, const struct options *o)
{
    FILE *file = o->json && !on_stdout(o->json) ? fopen(o->json, "w") : stdout;
    bool fine = file != NULL;

    if (fine && o->json)
        compare_json(r, file);
    if (!on_stdout(o->json))
        compare_print(r, stdout);
    if (fine && file != stdout)
        fine = fclose(file) == 0;
    if (!fine)
        fprintf(stderr, "httpdrive: HD050: %s: %s\n", o->json, strerror(errno));
    return fflush(stdout) == 0 && fine;
}

/* httpdrive compare A=... B=... */
static int compare(const struct options *o)
{
    struct compare_report *r = calloc(1, sizeof(*r));
    char error[512];
    int code = EXIT_GOOD;

    if (!r)
        return fail(EXIT_USAGE, "HD001: out of memory");
    if (!check_files(o)) {
        code = EXIT_USAGE;
    } else if (!compare_execute(r, o, o->quiet ? NULL : stderr, error, sizeof(error))) {
        code = fail(EXIT_USAGE, error);
    } else if (!write_comparison(r, o)) {
        code = EXIT_USAGE;
    } else {
        for (size_t k = 0; k < r->side_count; k++)
            code = r->sides[k].failed > o->max_fail ? EXIT_FAILURES : code;
        code = r->interrupted ? EXIT_INTERRUPTED : code;
    }
    compare_free(r);
    free(r);
    return code;
}

/* httpdrive merge FILE... */
static int merge(const struct options *o)
{
    size_t count = o->operands.count, read = 0;
    struct stored *parts = calloc(count, sizeof(*parts));
    struct result *sum = calloc(1, sizeof(*sum));
    static struct plan whole;
    char error[512] = "HD001: out of memory";
    int code = EXIT_USAGE;

    while (parts && sum && read < count &&
           stored_read(&parts[read], o->operands.items[read], error, sizeof(error)))
        read++;
    if (read == count && stored_merge(sum, &whole, parts, count, error, sizeof(error))) {
        /* What the parts were told is in the plan; how to judge and report, on this command line.
         */
        whole.options.max_fail = o->max_fail;
        whole.options.p99_max = o->p99_max;
        whole.options.strict = o->strict;
        code = write_reports(sum, o) ? result_exit_code(sum) : EXIT_USAGE;
    } else {
        fail(code, error);
    }
    if (sum)
        result_free(sum);
    while (read)
        stored_free(&parts[--read]);
    free(parts);
    free(sum);
    return code;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

int main(int argc, char **argv)
{
    static struct options o;
    char error[512];

    signal(SIGPIPE, SIG_IGN);
    options_init(&o);
    o.ab = strcmp(base_name(argv[0]), "ab") == 0; /* linked to that name, it acts so */
    o.seed = (uint64_t)clock_read(CLOCK_REALTIME);
    if (argc < 2) {
        output_usage(stderr);
        return EXIT_USAGE;
    }
    if (!options_parse(&o, argc - 1, (const char *const *)argv + 1, error, sizeof(error))) {
        fprintf(stderr, "httpdrive: HD005: %s\n", error);
        return EXIT_USAGE;
    }
    if (o.help) {
        output_usage(stdout);
        return EXIT_GOOD;
    }
    if (o.version) {
        puts("httpdrive " HTTPDRIVE_VERSION);
        return EXIT_GOOD;
    }
    switch (o.command) {
    case COMMAND_COMPARE:
        return compare(&o);
    case COMMAND_MERGE:
        return merge(&o);
    case COMMAND_RUN:
        break;
    }
    return run(&o);
}
