/* SPDX-License-Identifier: Apache-2.0
 * What the scripts in handlers answer, written in C: the floor that no interpreter can go below.
 * SetHandler c-hello, c-mptest or c-page chooses. Built for measurements only, never installed. */
#include <httpd.h>
#include <http_config.h>
#include <http_protocol.h>

extern module AP_MODULE_DECLARE_DATA benchhandler_module;

static int send_hello(request_rec *r)
{
    ap_set_content_type(r, "text/plain");
    ap_rputs("Hello World!", r);
    return OK;
}

/* 2^100 fits no type that printf knows: its digits are printed in two halves. */
static int send_mptest(request_rec *r)
{
    static const apr_uint64_t ten_to_15 = APR_UINT64_C(1000000000000000);
    __extension__ unsigned __int128 number = (unsigned __int128)1 << 100;
    apr_uint64_t high = (apr_uint64_t)(number / ten_to_15);
    apr_uint64_t low = (apr_uint64_t)(number % ten_to_15);

    ap_set_content_type(r, "text/plain");
    ap_rprintf(r, "Hello World!%" APR_UINT64_T_FMT "%015" APR_UINT64_T_FMT, high, low);
    return OK;
}

static int send_page(request_rec *r)
{
    ap_set_content_type(r, "text/html");
    ap_rputs("<!DOCTYPE html>\n<html lang=\"en\">\n"
             "<head><meta charset=\"utf-8\"><title>Squares and cubes</title></head>\n"
             "<body>\n<h1>Squares and cubes to 151</h1>\n<table>\n",
             r);
    for (int i = 1; i <= 151; i++)
        ap_rprintf(r, "<tr><td>%d</td><td>%d</td><td>%d</td></tr>\n", i, i * i, i * i * i);
    ap_rputs("</table>\n</body>\n</html>\n", r);
    return OK;
}

static int benchhandler(request_rec *r)
{
    if (!r->handler || strncmp(r->handler, "c-", 2))
        return DECLINED;
    if (!strcmp(r->handler, "c-hello"))
        return send_hello(r);
    if (!strcmp(r->handler, "c-mptest"))
        return send_mptest(r);
    if (!strcmp(r->handler, "c-page"))
        return send_page(r);
    return DECLINED;
}

static void register_hooks(apr_pool_t *pool)
{
    (void)pool;
    ap_hook_handler(benchhandler, NULL, NULL, APR_HOOK_MIDDLE);
}

AP_DECLARE_MODULE(benchhandler) = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, register_hooks, AP_MODULE_FLAG_NONE};
