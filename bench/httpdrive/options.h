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
    enum command command;      /* the first word, if it is one of these */
    struct text_list operands; /* URL, or what the command works on */
    uint64_t rounds;           /* of a comparison */

    /* what is sent */
    const char *url;          /* of a run: the operand */
    const char *urls_file;    /* --urls; NULL: one URL */
    const char *method;       /* NULL: by what is sent, see plan_method() */
    const char *post_file;    /* -p */
    const char *put_file;     /* -u */
    const char *body;         /* --body: the text itself */
    const char *content_type; /* NULL: text/plain */
    struct text_list headers; /* "NAME: VALUE"; each replaces ours of that name */
    struct text_list cookies; /* "NAME=VALUE", sent in one header */
    const char *auth;         /* "USER:PASSWORD" for the server */
    const char *proxy;        /* "HOST:PORT" or a URL; NULL: none */
    const char *proxy_auth;   /* "USER:PASSWORD" for the proxy */
    const char *unix_path;    /* connect here, whatever host the URL names */
    bool head;                /* -i */
    bool http10;              /* HTTP/1.0 requests, as ab's */
    bool keepalive;           /* on unless --no-keepalive */
    bool keepalive_asked;     /* -k was given */
    bool resend_never;        /* a reused connection that closed is a failure */
    uint64_t per_connection;  /* 0: as many as the server allows */

    /* how much, how fast */
    uint64_t requests;        /* 0: no bound */
    nsec duration;            /* 0: no bound */
    uint64_t connections;     /* of all machines; after plan_make() of this one */
    uint64_t threads;         /* of this machine */
    nsec timeout;             /* for one request, connecting included */
    nsec warmup_time;         /* 0: none, unless one of the next two */
    uint64_t warmup_requests; /* warm up until so many were answered */
    bool warmup_auto;         /* warm up until every connection was used */
    nsec drain;               /* patience with requests in flight after `duration` */
    nsec ramp;                /* time over which the connections are opened */
    double rate;              /* 0: closed loop */
    bool poisson;             /* random gaps instead of equal ones */
    bool spin;                /* do not sleep between due times */
    uint64_t seed;            /* of gaps and of choices among URLs */
    double start_at;          /* seconds since 1970; 0: at once */
    uint64_t segment;         /* this machine's part of the load, of `segments` */
    uint64_t segments;        /* 0: the launcher's environment tells */

    /* how to connect */
    struct text_list sources;    /* addresses to connect from, in turns */
    uint64_t window;             /* socket buffers; 0: the system's */
    const char *tls_protocol;    /* "TLS1.2"; NULL: whatever both know */
    const char *tls_ciphers;     /* OpenSSL's list, up to TLS 1.2 */
    const char *tls_certificate; /* file with ours and its key */
    const char *tls_ca;          /* file with those to trust; NULL: the system's */
    const char *tls_name;        /* instead of the URL's host, for SNI and the check */
    bool tls_verify;             /* off by default, as in ab */
    bool tls_resume;             /* sessions, on new connections */
    bool tls_no_name;            /* no SNI */

    /* how it is judged */
    struct text_list expect; /* statuses that are good; none: 2xx and 3xx */
    const char *verify;      /* "length", "first" or a file */
    const char *tally;       /* header whose values are counted */
    uint64_t max_fail;       /* more give exit code 1 */
    nsec p99_max;            /* 0: no bound */
    bool strict;             /* CLIENT-BOUND gives exit code 4 */
    const char *server_pid;  /* number or file; NULL: not measured */

    /* how it is reported */
    const char *label; /* a name for the run; NULL: none */
    const char *json;  /* files to write; "-": standard output, NULL: none */
    const char *csv;
    const char *html;
    const char *hgrm;
    const char *hlog;
    const char *ab_csv;     /* -e */
    const char *gnuplot;    /* -g */
    bool ab_html;           /* -w */
    const char *html_table; /* -x: attributes of -w's table */
    const char *html_row;   /* -y: of its rows */
    const char *html_cell;  /* -z: of its cells */
    bool ab;                /* ab's report and its default of no keep-alive */
    bool quiet;             /* no progress on standard error */
    bool no_percentiles;    /* -d */
    bool no_confidence;     /* -S */
    bool variable_length;   /* -l */
    uint64_t verbosity;     /* -v, 0 to 4 */
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
