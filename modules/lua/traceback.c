/* SPDX-License-Identifier: Apache-2.0
 * Errors as text. See traceback.h.
 *
 * luaL_traceback() would build the text in Lua's memory, of which there may be none left, and an
 * error in a message handler loses the first one. So this builds it in an APR pool, from
 * lua_getinfo() calls that allocate nothing. */
#include "modules/lua/traceback.h"
#include "modules/lua/vm.h"
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

/* Levels shown at the inner and at the outer end of the stack. */
#define INNER_LEVELS 12
#define OUTER_LEVELS 8

/* Most bytes of a message that are kept: about what an entry of the log has room for. A script's
 * may be as large as its memory, and would be copied several times. */
#define MESSAGE_MOST 8192

/* Likewise of a function's name. */
#define NAME_MOST 200

/* For a protected call: the text that the object at index 1 gives of itself. */
static int text_of(lua_State *L)
{
    luaL_tolstring(L, 1, NULL);
    lua_tostring(L, -1); /* a number becomes a string here, where it may fail */
    return 1;
}

/* [-0, +0, -] An error object that is no string. */
static const char *describe_object(lua_State *L, apr_pool_t *p)
{
    const char *kind = luaL_typename(L, 1);
    const char *text = NULL;

    lua_pushcfunction(L, text_of);
    lua_pushvalue(L, 1);
    if (lua_pcall(L, 1, 1, 0) == LUA_OK) {
        text = apr_psprintf(p, "(error object is a %s value: %.*s)", kind, MESSAGE_MOST,
                            lua_tostring(L, -1));
    } else {
        text = apr_psprintf(p, "(error object is a %s value, whose __tostring fails)", kind);
    }
    lua_pop(L, 1);
    return text;
}

static const char *message_of(lua_State *L, apr_pool_t *p)
{
    if (lua_type(L, 1) == LUA_TSTRING) {
        return apr_pstrndup(p, lua_tostring(L, 1), MESSAGE_MOST);
    }
    if (lua_isnil(L, 1)) {
        return "(error object is nil)";
    }
    return lua_checkstack(L, 4) ? describe_object(L, p) : "(error object is no string)";
}

/* The line "file:3: in function 'name'" of one level. */
static const char *level_line(lua_State *L, apr_pool_t *p, lua_Debug *ar)
{
    const char *where;

    lua_getinfo(L, "Sln", ar);
    where = ar->currentline > 0 ? apr_psprintf(p, "%s:%d:", ar->short_src, ar->currentline)
                                : apr_psprintf(p, "%s:", ar->short_src);
    if (ar->name) {
        return apr_psprintf(p, "%s in %s '%.*s'", where, *ar->namewhat ? ar->namewhat : "function",
                            NAME_MOST, ar->name);
    }
    if (*ar->what == 'm') {
        return apr_pstrcat(p, where, " in main chunk", NULL);
    }
    return *ar->what == 'C'
               ? apr_pstrcat(p, where, " in C", NULL)
               : apr_psprintf(p, "%s in function <%s:%d>", where, ar->short_src, ar->linedefined);
}

/* How many levels the stack has; lua_getstack() is linear in the level. */
static int depth(lua_State *L)
{
    lua_Debug ar;
    int low = 1, high = 1;

    while (lua_getstack(L, high, &ar)) {
        low = high;
        high *= 2;
    }
    while (low < high) {
        int middle = (low + high) / 2;
        if (lua_getstack(L, middle, &ar)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return high;
}

/* The stack without the message handler (level 0) and the entry function (the outermost). */
static const char *stack_of(lua_State *L, apr_pool_t *p)
{
    int levels = depth(L) - 1;
    const char *text = NULL;
    lua_Debug ar;

    for (int level = 1; level < levels; level++) {
        const char *line;
        if (level == INNER_LEVELS && levels - level > OUTER_LEVELS) {
            line = apr_psprintf(p, "... %d more levels ...", levels - level - OUTER_LEVELS);
            level = levels - OUTER_LEVELS - 1;
        } else if (lua_getstack(L, level, &ar)) {
            line = level_line(L, p, &ar);
        } else {
            break;
        }
        text = text ? apr_pstrcat(p, text, "\n", line, NULL) : line;
    }
    return text;
}

/* The innermost level that is Lua code: where the script's author has to look. */
static int find_place(lua_State *L, lua_Debug *ar)
{
    for (int level = 1; lua_getstack(L, level, ar); level++) {
        lua_getinfo(L, "Sl", ar);
        if (ar->currentline > 0) {
            return 1;
        }
    }
    return 0;
}

/* Takes "file:3: " off the message: the report says it already. Only the first place in a message
 * counts, and only when it is the place found on the stack; without one on the stack the message is
 * of a syntax error, and nothing else tells the line. */
static void split_place(failure *f, const char *short_src)
{
    const char *colon = f->message;
    char *end = NULL;
    long line = 0;

    for (; (colon = strchr(colon, ':')); colon++) {
        line = strtol(colon + 1, &end, 10);
        if (end > colon + 1 && end[0] == ':' && end[1] == ' ') {
            break;
        }
    }
    if (!colon || (f->line && f->line != line)) {
        return;
    }
    if (!short_src || (strlen(short_src) == (size_t)(colon - f->message) &&
                       strncmp(short_src, f->message, (size_t)(colon - f->message)) == 0)) {
        f->line = (int)line;
        f->message = end + 2;
    }
}

void lp_traceback(lua_State *L, apr_pool_t *p, failure *f)
{
    lua_Debug ar;
    int found = find_place(L, &ar);

    f->message = message_of(L, p);
    if (found) {
        f->script = apr_pstrdup(p, *ar.source == '@' ? ar.source + 1 : ar.short_src);
        f->line = ar.currentline;
    }
    split_place(f, found ? ar.short_src : NULL);
    f->traceback = stack_of(L, p);
}
