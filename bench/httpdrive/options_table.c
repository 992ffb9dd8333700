/* SPDX-License-Identifier: Apache-2.0
 * All options, in the order of the usage text. Letters are those of ab 2.4, with ab's meaning; what
 * ab does not have is long only. Parser, usage text, completion and a test of the manual read this
 * table: a new option is a field in struct options and a row here. */
#include "options.h"

#define AT(field)  offsetof(struct options, field)
#define SECONDS(n) ((uint64_t)(n) * (uint64_t)NSEC_PER_SEC)
#define HEADING(text)                                \
    {                                                \
        0, NULL, OPTION_IGNORED, 0, 0, 0, NULL, text \
    }
#define FLAG(letter, name, field, help)                        \
    {                                                          \
        letter, name, OPTION_FLAG, AT(field), 0, 0, NULL, help \
    }
#define TEXT(letter, name, field, arg, help)                  \
    {                                                         \
        letter, name, OPTION_TEXT, AT(field), 0, 0, arg, help \
    }
#define LIST(letter, name, field, arg, help)                  \
    {                                                         \
        letter, name, OPTION_LIST, AT(field), 0, 0, arg, help \
    }
#define COUNT(letter, name, field, low, high, arg, help)            \
    {                                                               \
        letter, name, OPTION_COUNT, AT(field), low, high, arg, help \
    }
#define TIME(letter, name, field, low, help)                                          \
    {                                                                                 \
        letter, name, OPTION_TIME, AT(field), low, SECONDS(366 * 86400), "TIME", help \
    }
#define IGNORED(letter, help)                             \
    {                                                     \
        letter, NULL, OPTION_IGNORED, 0, 0, 0, NULL, help \
    }

const struct option_row option_table[] = {
    HEADING("How much"),
    COUNT('n', "requests", requests, 1, UINT64_MAX / 2, "N", "exactly this many requests"),
    TIME('t', "time", duration, 1, "stop after this time (whichever of -n and -t comes first)"),
    COUNT('c', "connections", connections, 1, 1000000, "N", "connections at the same time (1)"),
    COUNT('j', "threads", threads, 1, 1024, "N", "threads (1)"),
    {0, "rate", OPTION_NUMBER, AT(rate), 0, 0, "R", "open loop: R requests a second in all"},
    FLAG(0, "poisson", poisson, "with --rate: random gaps, as independent users make them"),
    COUNT(0, "seed", seed, 0, UINT64_MAX, "N", "seed of everything random (printed)"),
    FLAG(0, "spin", spin, "with --rate: do not sleep between requests"),
    {0, "warmup", OPTION_WARMUP, 0, 0, 0, "TIME|Nr|auto",
     "before measuring: a time, N requests ('1000r'), or until all connections were used"},
    TIME(0, "ramp", ramp, 0, "open the connections over this time"),
    COUNT(0, "per-connection", per_connection, 1, UINT32_MAX, "N",
          "close a connection after N requests"),
    TIME('s', "timeout", timeout, 1000000, "longest time for one request (30s)"),
    TIME(0, "drain", drain, 0, "how long to wait for answers after -t (1s)"),
    HEADING("What is sent"),
    TEXT('m', "method", method, "METHOD", "GET unless there is a body"),
    FLAG('i', "head", head, "send HEAD"),
    LIST('H', "header", headers, "'NAME: VALUE'", "add a header or replace one (repeatable)"),
    LIST('C', "cookie", cookies, "NAME=VALUE", "send a cookie (repeatable)"),
    TEXT('A', "auth", auth, "USER:PASSWORD", "basic authentication"),
    TEXT('p', "post", post_file, "FILE", "POST the content of FILE"),
    TEXT('u', "put", put_file, "FILE", "PUT the content of FILE"),
    TEXT(0, "body", body, "TEXT", "POST this text (or what --method says)"),
    TEXT('T', "content-type", content_type, "TYPE", "Content-Type of the body (text/plain)"),
    TEXT(0, "urls", urls_file, "FILE", "lines of '[WEIGHT] URL-OR-PATH'; '-' is standard input"),
    FLAG('k', "keepalive", keepalive_asked, "reuse connections: what is done anyway"),
    {0, "no-keepalive", OPTION_OFF, AT(keepalive), 0, 0, NULL, "a new connection for each request"},
    FLAG(0, "http1.0", http10, "send HTTP/1.0 requests, as ab does"),
    FLAG(0, "no-resend", resend_never,
         "a request whose reused connection was closed counts as failed"),
    HEADING("How to connect"),
    TEXT('X', "proxy", proxy, "HOST:PORT", "through this proxy"),
    TEXT('P', "proxy-auth", proxy_auth, "USER:PASSWORD", "basic authentication at the proxy"),
    TEXT(0, "unix", unix_path, "PATH", "connect to this UNIX socket"),
    LIST('B', "source", sources, "ADDRESS", "connect from this address (repeatable)"),
    COUNT('b', "window", window, 1, 1 << 30, "BYTES", "size of the socket's buffers"),
    TEXT('f', "tls-protocol", tls_protocol, "NAME", "TLS1, TLS1.1, TLS1.2, TLS1.3 or ALL"),
    TEXT('Z', "tls-ciphers", tls_ciphers, "LIST", "ciphers of TLS up to 1.2 in OpenSSL's syntax"),
    TEXT('E', "tls-certificate", tls_certificate, "FILE", "client certificate and key (PEM)"),
    TEXT(0, "tls-ca", tls_ca, "FILE", "certificates to trust with --tls-verify"),
    TEXT(0, "tls-name", tls_name, "NAME", "server name to ask for (the URL's host)"),
    FLAG('I', "tls-no-name", tls_no_name, "do not send a server name (SNI)"),
    FLAG(0, "tls-verify", tls_verify, "check the server's certificate"),
    FLAG(0, "tls-resume", tls_resume, "resume TLS sessions on new connections"),
    HEADING("How it is judged"),
    LIST(0, "expect", expect, "LIST", "statuses that are no failure (2xx,3xx)"),
    TEXT(0, "verify", verify, "length|first|FILE",
         "each answer has the length or the body of the first one, or the file's content"),
    TEXT(0, "tally", tally, "HEADER", "count the values of this response header"),
    TEXT(0, "server-pid", server_pid, "PID|FILE", "measure CPU and memory of this process tree"),
    COUNT(0, "max-fail", max_fail, 0, UINT64_MAX, "N", "more failures give exit code 1 (0)"),
    TIME(0, "p99-max", p99_max, 1, "a larger p99 gives exit code 5"),
    FLAG(0, "strict", strict, "a result limited by the driver gives exit code 4"),
    HEADING("Several machines"),
    {0, "segment", OPTION_SEGMENT, 0, 0, 0, "I/N|auto",
     "send part I of N of the load (0/4 to 3/4); auto: MPI, Slurm, Kubernetes say which"},
    {0, "start-at", OPTION_NUMBER, AT(start_at), 0, 0, "EPOCH",
     "measure from this time on (seconds since 1970); warm up before"},
    HEADING("httpdrive compare NAME=URL NAME=URL..."),
    COUNT(0, "rounds", rounds, 2, 1000, "N",
          "how often each is measured, in turns; also -r N (12)"),
    HEADING("Report"),
    TEXT(0, "json", json, "FILE", "write everything as JSON ('-' is standard output)"),
    TEXT(0, "csv", csv, "FILE", "write a line for each second"),
    TEXT(0, "html", html, "FILE", "write a page with plots"),
    TEXT(0, "hgrm", hgrm, "FILE", "write the percentiles as an HdrHistogram text"),
    TEXT(0, "hlog", hlog, "FILE", "write an HdrHistogram interval log"),
    TEXT(0, "label", label, "TEXT", "a name for this run"),
    FLAG(0, "ab", ab, "ab's report, and ab's default of a new connection each"),
    TEXT('e', NULL, ab_csv, "FILE", "ab's percentage table as CSV"),
    TEXT('g', NULL, gnuplot, "FILE", "ab's list of all requests, in the order they began"),
    FLAG('w', NULL, ab_html, "ab's HTML table instead of the text"),
    TEXT('x', NULL, html_table, "ATTRIBUTES", "attributes of -w's table"),
    TEXT('y', NULL, html_row, "ATTRIBUTES", "attributes of -w's rows"),
    TEXT('z', NULL, html_cell, "ATTRIBUTES", "attributes of -w's cells"),
    FLAG('q', "quiet", quiet, "no progress"),
    FLAG('d', NULL, no_percentiles, "no percentiles"),
    FLAG('S', NULL, no_confidence, "with --ab: no median and deviation"),
    COUNT('v', "verbosity", verbosity, 0, 4, "LEVEL",
          "1: a line each second; 2: first request and answer"),
    FLAG('l', NULL, variable_length,
         "with --ab: do not print the length; other lengths never fail"),
    IGNORED('r', "go on after socket errors: always done"),
    FLAG('V', "version", version, "print the version"),
    FLAG('h', "help", help, "print this text"),
    {0, NULL, OPTION_IGNORED, 0, 0, 0, NULL, NULL},
};
