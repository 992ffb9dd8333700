/* SPDX-License-Identifier: Apache-2.0
 * The command line of a run as plain values. Parsing is pure: it reads no file, opens nothing and
 * prints nothing. The table in options_table.c is the only list of options: the parser, the usage
 * text and the shell completion come from it. */
#ifndef HTTPDRIVE_OPTIONS_H
#define HTTPDRIVE_OPTIONS_H

#include "clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTPDRIVE_VERSION "0.1.0"

#define OPTIONS_LIST_MAX  64

struct text_list {
    const char *items[OPTIONS_LIST_MAX];
    size_t count;
};

enum command {
    COMMAND_RUN,     /* httpdrive [options] URL */
    COMMAND_COMPARE, /* httpdrive compare [options] NAME=URL-OR-FILES ... */
    COMMAND_MERGE    /* httpdrive merge [options] FILE ... */
};

struct options {
    enum command command;
    struct text_list operands;
    uint64_t rounds; /* of a comparison */

    /* what is sent */
    const char *url; /* of a run: the operand */
    const char *urls_file;
    const char *method;
    const char *post_file;
    const char *put_file;
    const char *body;
    const char *content_type;
    struct text_list headers;
    struct text_list cookies;
    const char *auth;
    const char *proxy;
    const char *proxy_auth;
    const char *unix_path;
    bool head;
    bool http10;
    bool keepalive;       /* on unless --no-keepalive */
    bool keepalive_asked; /* -k was given */
    bool resend_never;
    uint64_t per_connection; /* 0: as many as the server allows */

    /* how much, how fast */
    uint64_t requests; /* 0: no bound */
    nsec duration;     /* 0: no bound */
    uint64_t connections;
    uint64_t threads;
    nsec timeout;
    nsec warmup_time;
    uint64_t warmup_requests;
    bool warmup_auto;
    nsec drain;
    nsec ramp;
    double rate; /* 0: closed loop */
    bool poisson;
    bool spin;
    uint64_t seed;
    double start_at;  /* seconds since 1970; 0: at once */
    uint64_t segment; /* this machine's part of the load, of `segments` */
    uint64_t segments;

    /* how to connect */
    struct text_list sources;
    uint64_t window; /* socket buffers; 0: the system's */
    const char *tls_protocol;
    const char *tls_ciphers;
    const char *tls_certificate;
    const char *tls_ca;
    const char *tls_name;
    bool tls_verify;
    bool tls_resume;
    bool tls_no_name;

    /* how it is judged */
    struct text_list expect;
    const char *verify;
    const char *tally;
    uint64_t max_fail;
    nsec p99_max;
    bool strict;
    const char *server_pid;

    /* how it is reported */
    const char *label;
    const char *json;
    const char *csv;
    const char *html;
    const char *hgrm;
    const char *hlog;
    const char *ab_csv;  /* -e */
    const char *gnuplot; /* -g */
    bool ab_html;        /* -w */
    const char *html_table;
    const char *html_row;
    const char *html_cell;
    bool ab;
    bool quiet;
    bool no_percentiles;  /* -d */
    bool no_confidence;   /* -S */
    bool variable_length; /* -l */
    uint64_t verbosity;
    bool help;
    bool version;
};

enum option_kind {
    OPTION_FLAG,   /* sets a bool */
    OPTION_OFF,    /* clears a bool */
    OPTION_COUNT,  /* uint64_t with K, M, G */
    OPTION_NUMBER, /* double */
    OPTION_TIME,   /* nsec; a bare number means seconds */
    OPTION_TEXT,
    OPTION_LIST,
    OPTION_WARMUP,  /* a time, a count of requests or "auto" */
    OPTION_SEGMENT, /* "i/n" or "auto" */
    OPTION_IGNORED, /* accepted as ab accepts it; nothing to do */
    OPTION_REFUSED  /* named in ab, and why it is not done is the help text */
};

/* One option. */
struct option_row {
    char letter;      /* 0: none */
    const char *name; /* long name, or NULL */
    enum option_kind kind;
    size_t offset;        /* of the value within struct options */
    uint64_t low, high;   /* OPTION_COUNT: range; OPTION_TIME: in ns */
    const char *argument; /* its name in the usage, NULL when there is none */
    const char *help;
};

/* Ends with a row whose help is NULL. A row with neither letter nor name is a heading. */
extern const struct option_row option_table[];

void options_init(struct options *o);
/* True when the command line makes sense; otherwise `error` says what is wrong with which option.
 * `arguments` has to live as long as `o`. */
bool options_parse(struct options *o, int count, const char *const *arguments, char *error,
                   size_t error_size);
/* "500ms", "2", "1.5s", "3m", "1h": also used for values that are no options. */
bool options_time(const char *text, nsec *out);
/* "8", "64k", "1.5M". */
bool options_count(const char *text, uint64_t *out);

#endif
