/* SPDX-License-Identifier: Apache-2.0
 * httpdrive: parse the options, plan, run, report. */
#include "output.h"
#include "plan.h"
#include "run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void show_progress(void *baton, const struct run_progress *p)
{
    char where[32];
    (void)baton;

    if (p->seconds < 0) {
        snprintf(where, sizeof(where), "warm-up");
    } else {
        snprintf(where, sizeof(where), "%5.0f s", p->seconds);
    }
    fprintf(stderr,
            "%s  %8llu requests/s  %6llu failed  %7.2f MB/s  %5llu connections  max %.2f ms\n",
            where, (unsigned long long)p->completed, (unsigned long long)p->failed,
            (double)p->bytes / 1e6, (unsigned long long)p->connections, (double)p->slowest / 1e6);
}

static int fail(int code, const char *message)
{
    fprintf(stderr, "httpdrive: %s\n", message);
    return code;
}

/* Calls a report with its file; "-" is standard output. */
static bool write_file(const struct result *r, const char *path,
                       void (*report)(const struct result *, FILE *))
{
    FILE *out;
    bool fine;

    if (!path)
        return true;
    if (strcmp(path, "-") == 0) {
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

static bool on_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* All the reports that were asked for; the text is left out when another takes its place. */
static bool write_reports(const struct result *r)
{
    const struct options *o = &r->plan->options;
    const struct {
        const char *path;
        void (*report)(const struct result *, FILE *);
    } files[] = {{o->json, output_json},      {o->csv, output_csv},   {o->html, output_html},
                 {o->hgrm, output_hgrm},      {o->hlog, output_hlog}, {o->ab_csv, output_ab_csv},
                 {o->gnuplot, output_gnuplot}};
    bool fine = true, taken = false;

    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        taken = taken || on_stdout(files[i].path);
    if (!taken)
        (o->ab_html ? output_ab_html : o->ab ? output_ab : output_text)(r, stdout);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        fine = write_file(r, files[i].path, files[i].report) && fine;
    return fflush(stdout) == 0 && fine;
}

static int report(const struct result *r)
{
    if (!write_reports(r))
        return EXIT_USAGE;
    if (r->nothing_connected && r->stats.error_kinds && !r->interrupted)
        fprintf(stderr, "httpdrive: HD051: nothing could connect to %s port %u: %s\n",
                r->plan->address_text, r->plan->url.port,
                r->stats.errors[0].number ? strerror(r->stats.errors[0].number)
                                          : outcome_name(r->stats.errors[0].outcome));
    return result_exit_code(r);
}

static int run(const struct options *o)
{
    struct run_observer observer = {show_progress, NULL};
    struct result *r = calloc(1, sizeof(*r));
    struct plan plan;
    char error[512];
    bool watched = o->verbosity || (isatty(STDERR_FILENO) && !o->quiet);
    int code;

    if (!r)
        return fail(EXIT_USAGE, "HD001: out of memory");
    if (!plan_make(&plan, o, error, sizeof(error))) {
        free(r);
        return fail(EXIT_USAGE, error);
    }
    if (run_execute(r, &plan, watched ? &observer : NULL, error, sizeof(error))) {
        code = report(r);
        result_free(r);
    } else {
        code = fail(EXIT_USAGE, error);
    }
    free(r);
    plan_free(&plan);
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
    return run(&o);
}
