/* SPDX-License-Identifier: Apache-2.0
 * Works out what the options mean; see plan.h.
 *
 * Everything that can be wrong with the options' contents (a name that does not resolve, a file
 * that is missing, a header with a line end) is found here, before a connection is made, and has a
 * message of its own. What is left can be shared by all threads without a lock, since nobody writes
 * it.
 *
 * Owned by the plan: requests, paths, addresses, the tunnel request, the content of --verify FILE.
 * Borrowed: all texts of the options, which point into argv and live as long as the process. */
#include "plan.h"
#include "request.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Where the caller wants the message */
struct problem {
    char *text;
    size_t size;
};

/* Writes why; always false. */
static bool __attribute__((format(printf, 2, 3)))
refuse(const struct problem *e, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(e->text, e->size, format, arguments);
    va_end(arguments);
    return false;
}

/* -m wins, then what the body's option implies. */
const char *plan_method(const struct plan *p)
{
    const struct options *o = &p->options;

    if (o->head)
        return "HEAD";
    if (o->method)
        return o->method;
    return o->put_file ? "PUT" : o->post_file || o->body ? "POST" : "GET";
}

/* What a method may consist of (RFC 9110, 5.6.2). */
static bool is_token(const char *text)
{
    return *text && !text[strspn(text, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ")];
}

/* Adds the addresses of a host to a list. */
static bool resolve(const char *host, unsigned port, struct address **list, unsigned *count,
                    const struct problem *e)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found;
    char service[16];
    int status;

    snprintf(service, sizeof(service), "%u", port);
    status = getaddrinfo(host, service, &hints, &found);
    if (status)
        return refuse(e, "HD010: the address of '%s' is not known: %s", host,
                      status == EAI_SYSTEM ? strerror(errno) : gai_strerror(status));
    for (struct addrinfo *a = found; a; a = a->ai_next) {
        struct address *grown = realloc(*list, (*count + 1) * sizeof(**list));
        if (!grown) {
            freeaddrinfo(found);
            return refuse(e, "HD001: out of memory");
        }
        *list = grown;
        memset(&grown[*count], 0, sizeof(*grown));
        memcpy(&grown[*count].as, a->ai_addr, a->ai_addrlen);
        grown[(*count)++].length = a->ai_addrlen;
    }
    freeaddrinfo(found);
    return true;
}

/* Then driver and server share their processors, which the report says. */
static bool is_loopback(const struct address *a)
{
    if (a->as.any.sa_family == AF_INET)
        return ntohl(a->as.v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return a->as.any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&a->as.v6.sin6_addr);
}

/* A UNIX socket takes the place of all addresses; the URL's host is sent as the Host header. */
static bool use_socket_path(struct plan *p, const char *path, const struct problem *e)
{
    struct address *a = calloc(1, sizeof(*a));

    if (!a)
        return refuse(e, "HD001: out of memory");
    p->addresses = a;
    p->address_count = 1;
    p->local = true;
    if (strlen(path) >= sizeof(a->as.local.sun_path))
        return refuse(e, "HD011: the path of the UNIX socket is too long: %s", path);
    a->as.local.sun_family = AF_UNIX;
    strcpy(a->as.local.sun_path, path);
    a->length = sizeof(a->as.local);
    snprintf(p->address_text, sizeof(p->address_text), "%s", path);
    return true;
}

/* To the proxy if there is one: the server's name may then be unknown here. */
static bool plan_addresses(struct plan *p, const struct problem *e)
{
    const char *path = p->options.unix_path ? p->options.unix_path : p->url.unix_path;
    const char *host = p->url.host;
    unsigned port = p->url.port;
    struct url proxy;
    char reason[200], name[INET6_ADDRSTRLEN + 20];

    if (*path)
        return use_socket_path(p, path, e);
    if (p->options.proxy) {
        if (!url_parse(&proxy, p->options.proxy, reason, sizeof(reason)))
            return refuse(e, "HD012: proxy '%s': %s", p->options.proxy, reason);
        host = proxy.host;
        port = proxy.port;
    }
    p->connect_port = port;
    if (!resolve(host, port, &p->addresses, &p->address_count, e))
        return false;
    p->local = is_loopback(&p->addresses[0]);
    if (getnameinfo(&p->addresses[0].as.any, p->addresses[0].length, name, sizeof(name), NULL, 0,
                    NI_NUMERICHOST) == 0)
        snprintf(p->address_text, sizeof(p->address_text), "%s", name);
    return true;
}

const char *plan_server_name(const struct plan *p)
{
    unsigned char address[16];

    if (!p->url.tls || p->options.tls_no_name)
        return NULL;
    if (p->options.tls_name)
        return p->options.tls_name;
    /* An address is no server name (RFC 6066, 3). */
    if (p->url.literal_v6 || inet_pton(AF_INET, p->url.host, address) == 1)
        return NULL;
    return p->url.host;
}

void plan_peer(const struct plan *p, char *out, size_t size)
{
    char port[20] = "", more[60] = "";

    if (p->connect_port) /* a UNIX socket has none */
        snprintf(port, sizeof(port), " port %u", p->connect_port);
    if (p->address_count > 1)
        snprintf(more, sizeof(more), " or %u other address%s of that name", p->address_count - 1,
                 p->address_count == 2 ? "" : "es");
    snprintf(out, size, "%s%s%s%s", p->options.proxy && p->connect_port ? "the proxy " : "",
             p->address_text, port, more);
}

/* Each connection takes the next of them; ephemeral ports are counted for each. */
static bool plan_sources(struct plan *p, const struct problem *e)
{
    for (size_t i = 0; i < p->options.sources.count; i++) {
        if (!resolve(p->options.sources.items[i], 0, &p->sources, &p->source_count, e))
            return false;
    }
    return true;
}

/* Names the URL in the message, since a file may hold many. */
static bool parse_url(struct url *u, const char *text, const struct problem *e)
{
    char reason[200];

    return url_parse(u, text, reason, sizeof(reason)) ||
           refuse(e, "HD013: URL '%.200s': %s", text, reason);
}

/* The request's bytes are made once, here; the run only sends them. */
static bool add_target(struct plan *p, const char *path, size_t length, double weight,
                       const struct buffer *body, const struct problem *e)
{
    struct target *grown = realloc(p->targets, (p->target_count + 1) * sizeof(*grown));

    if (!grown)
        return refuse(e, "HD001: out of memory");
    p->targets = grown;
    memset(&grown[p->target_count], 0, sizeof(*grown));
    grown[p->target_count].weight = weight;
    request_make(p, &grown[p->target_count++], path, length, body);
    return true;
}

/* One line of --urls: an optional weight, then a URL of the same server or a path. */
static bool add_line(struct plan *p, char *line, unsigned number, const struct buffer *body,
                     const struct problem *e)
{
    double weight = 1;
    char *rest;
    struct url u;

    line += strspn(line, " \t");
    if (*line != '/' && strcspn(line, " \t") < strlen(line)) {
        weight = strtod(line, &rest);
        if (rest == line || !(weight > 0) || weight > 1e9)
            return refuse(e, "HD014: --urls line %u: '%.60s' does not begin with a weight", number,
                          line);
        line = rest + strspn(rest, " \t");
    }
    line[strcspn(line, " \t")] = '\0';
    if (*line == '/')
        return add_target(p, line, strcspn(line, "#"), weight, body, e);
    if (!parse_url(&u, line, e))
        return false;
    if (!*p->url.host) {
        p->url = u;
        url_authority(&u, p->authority, sizeof(p->authority));
    }
    if (strcasecmp(u.host, p->url.host) || u.port != p->url.port || u.tls != p->url.tls)
        return refuse(e,
                      "HD015: --urls line %u: %.100s is on another server than %s; a run loads one",
                      number, line, p->authority);
    return add_target(p, u.path, u.path_length, weight, body, e);
}

/* From --urls, or the one URL. Weights become shares, added up for a binary search. */
static bool plan_targets(struct plan *p, const struct buffer *body, const struct problem *e)
{
    struct buffer file = {0};
    double sum = 0, all = 0;
    unsigned number = 0;
    bool fine = true;

    if (!p->options.urls_file)
        return add_target(p, p->url.path, p->url.path_length, 1, body, e);
    if (!buffer_read_file(&file, p->options.urls_file))
        return refuse(e, "HD016: --urls %s: %s", p->options.urls_file, strerror(errno));
    for (char *line = file.bytes, *next; fine && line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        number++;
        line[strcspn(line, "\r")] = '\0';
        if (line[strspn(line, " \t")] && *line != '#')
            fine = add_line(p, line, number, body, e);
    }
    free(file.bytes);
    if (fine && p->target_count == 0)
        return refuse(e, "HD016: --urls %s names no URL", p->options.urls_file);
    if (fine && !*p->url.host)
        return refuse(e, "HD016: --urls %s holds only paths: give the server's URL too",
                      p->options.urls_file);
    for (unsigned i = 0; i < p->target_count; i++)
        all += p->targets[i].weight;
    /* A number from 0 to 1 then falls to the first target whose `up_to` is above it. The last one
     * is exactly 1, since both sums are added in the same order. */
    for (unsigned i = 0; i < p->target_count; i++)
        p->targets[i].up_to = (sum += p->targets[i].weight) / all;
    return fine;
}

/* "200,404,3xx" */
static bool plan_expected(struct plan *p, const struct problem *e)
{
    const struct text_list *lists = &p->options.expect;

    for (int code = 200; code < 400 && lists->count == 0; code++)
        p->expected[code] = true;
    for (size_t i = 0; i < lists->count; i++) {
        for (const char *at = lists->items[i]; *at;) {
            size_t n = strcspn(at, ",");
            bool class = n == 3 && strncasecmp(at + 1, "xx", 2) == 0;
            int first = atoi(at), last = first;
            if (class) {
                first *= 100;
                last = first + 99;
            }
            if (n != 3 || (!class && strspn(at, "0123456789") < 3) || first < 100 || first > 999)
                return refuse(e, "HD017: --expect: '%.*s' is neither a status nor like 2xx", (int)n,
                              at);
            for (int code = first; code <= last; code++)
                p->expected[code] = true;
            at += at[n] ? n + 1 : n;
        }
    }
    return true;
}

/* The file is read now, so that its absence does not end a run half-way. */
static bool plan_verify(struct plan *p, const struct problem *e)
{
    const char *what = p->options.verify;
    struct buffer file = {0};

    if (!what)
        return true;
    p->verify_length = strcmp(what, "length") == 0;
    p->verify_first = strcmp(what, "first") == 0;
    if (p->verify_length || p->verify_first)
        return true;
    if (!buffer_read_file(&file, what))
        return refuse(e, "HD018: --verify %s: %s", what, strerror(errno));
    p->verify_body = file.bytes;
    p->verify_size = file.length;
    return true;
}

/* One body for all targets. */
static bool plan_body(struct plan *p, struct buffer *body, bool *have, const struct problem *e)
{
    const struct options *o = &p->options;
    const char *path = o->post_file ? o->post_file : o->put_file;

    *have = path || o->body;
    if (o->body)
        buffer_add(body, o->body, strlen(o->body));
    if (path && !buffer_read_file(body, path))
        return refuse(e, "HD019: body %s: %s", path, strerror(errno));
    return true;
}

/* Headers come from the command line: a line end in one would be another header. */
static bool check_headers(const struct plan *p, const struct problem *e)
{
    const struct options *o = &p->options;

    if (!is_token(plan_method(p)))
        return refuse(e, "HD020: -m: '%s' is no method", o->method);
    for (size_t i = 0; i < o->headers.count; i++) {
        const char *header = o->headers.items[i], *colon = strchr(header, ':');
        if (!colon || colon == header || strpbrk(header, "\r\n"))
            return refuse(e, "HD020: -H: '%.60s' is not 'NAME: VALUE' on one line", header);
    }
    for (size_t i = 0; i < o->cookies.count; i++) {
        if (strpbrk(o->cookies.items[i], "\r\n"))
            return refuse(e, "HD020: -C: a cookie has no line end");
    }
    if (o->content_type && strpbrk(o->content_type, "\r\n"))
        return refuse(e, "HD020: -T: a type has no line end");
    return true;
}

/* May a request be sent twice? (RFC 9110, 9.2.2) */
static bool idempotent(const char *method)
{
    static const char *const safe[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"};

    for (size_t i = 0; i < sizeof(safe) / sizeof(*safe); i++) {
        if (strcmp(method, safe[i]) == 0)
            return true;
    }
    return false;
}

/* Which part of the load is this process's, says the launcher that started it. */
static bool rank_from_environment(struct options *o)
{
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_NTASKS"},
                                           {"JOB_COMPLETION_INDEX", "JOB_COMPLETIONS"}};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const char *rank = getenv(names[i][0]), *size = getenv(names[i][1]);
        if (rank && size && options_count(rank, &o->segment) && options_count(size, &o->segments))
            return o->segments >= 1 && o->segment < o->segments;
    }
    return false;
}

/* This machine's part of n things: parts differ by one at most. */
static uint64_t share(uint64_t n, const struct options *o)
{
    return n / o->segments + (o->segment < n % o->segments);
}

/* With several machines: what this one's part is. The rate stays that of all, and pace.c takes
 * every n-th arrival of it. */
static bool plan_share(struct plan *p, const struct problem *e)
{
    struct options *o = &p->options;

    if (o->segments == 0 && !rank_from_environment(o))
        return refuse(e, "HD021: --segment auto: no rank and size in the environment (Open MPI, "
                         "PMI, Slurm, or JOB_COMPLETION_INDEX with JOB_COMPLETIONS)");
    p->rate = o->rate;
    p->requests = o->requests;
    /* Of an open loop only the connections are shared out: the schedule is one for all, and pace.c
     * deals its arrivals by part. */
    if (o->segments == 1)
        return true;
    if (o->connections < o->segments || (o->requests && o->requests < o->segments))
        return refuse(e,
                      "HD021: --segment: %llu connections or requests are too few for %llu parts",
                      (unsigned long long)o->connections, (unsigned long long)o->segments);
    o->connections = share(o->connections, o);
    if (o->rate == 0)
        p->requests = share(o->requests, o);
    if (o->threads > o->connections)
        o->threads = o->connections;
    return true;
}

/* With --urls the URL, if there is one, names the server and the file holds paths. */
static bool plan_url(struct plan *p, const struct problem *e)
{
    const struct options *o = &p->options;

    if (o->url && !parse_url(&p->url, o->url, e))
        return false;
    if (o->url)
        url_authority(&p->url, p->authority, sizeof(p->authority));
    if (o->proxy && p->url.tls)
        request_make_tunnel(p);
    return true;
}

/* The requests, and what follows from them. */
static bool plan_requests(struct plan *p, const struct problem *e)
{
    struct buffer body = {0};
    bool have_body = false, fine;

    fine = plan_body(p, &body, &have_body, e) && plan_targets(p, have_body ? &body : NULL, e);
    free(body.bytes);
    for (unsigned i = 0; i < p->target_count; i++)
        p->large = p->large || p->targets[i].length > 1200;
    p->head_request = strcmp(plan_method(p), "HEAD") == 0;
    p->may_resend = !p->options.resend_never && idempotent(plan_method(p));
    return fine;
}

/* The first step that fails has told why; what was made until then is freed. */
bool plan_make(struct plan *p, const struct options *o, char *error, size_t error_size)
{
    const struct problem e = {error, error_size};

    memset(p, 0, sizeof(*p));
    p->options = *o;
    if (plan_share(p, &e) && check_headers(p, &e) && plan_url(p, &e) && plan_requests(p, &e) &&
        plan_addresses(p, &e) && plan_sources(p, &e) && plan_expected(p, &e) && plan_verify(p, &e))
        return true;
    plan_free(p);
    return false;
}

void plan_free(struct plan *p)
{
    for (unsigned i = 0; i < p->target_count; i++) {
        free(p->targets[i].bytes);
        free(p->targets[i].path);
    }
    free(p->targets);
    free(p->addresses);
    free(p->sources);
    free(p->tunnel);
    free(p->verify_body);
    memset(p, 0, sizeof(*p));
}
