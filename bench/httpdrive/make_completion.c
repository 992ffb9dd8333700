/* SPDX-License-Identifier: Apache-2.0
 * Prints the completion script for bash. Run while building, so that the script always knows the
 * options of the program beside it. */
#include "options.h"

#include <stdio.h>
#include <string.h>

/* What can be said of an option's value before it is typed. */
enum value {
    VALUE_NONE,  /* the option takes none */
    VALUE_OTHER, /* a number, a name: nobody can guess it */
    VALUE_FILE,
    VALUE_WORDS /* the argument's name holds words to choose from: "length|first|FILE" */
};

static bool is_word(const char *text, size_t n)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyz") >= n;
}

static bool is_file(const char *text, size_t n)
{
    return n == 4 && (memcmp(text, "FILE", n) == 0 || memcmp(text, "PATH", n) == 0);
}

/* What kind of value an argument names; with `print`, its words are printed too. */
static enum value look(const char *argument, bool print)
{
    enum value found = argument ? VALUE_OTHER : VALUE_NONE;

    for (const char *at = argument; at && *at;) {
        size_t n = strcspn(at, "|");
        if (is_word(at, n)) {
            found = VALUE_WORDS;
            if (print)
                printf("%.*s ", (int)n, at);
        } else if (is_file(at, n) && found != VALUE_WORDS) {
            found = VALUE_FILE;
        }
        at += at[n] ? n + 1 : n;
    }
    return found;
}

static void print_names(const struct option_row *row, const char *between)
{
    if (row->letter)
        printf("-%c%s", row->letter, row->name ? between : "");
    if (row->name)
        printf("--%s", row->name);
}

/* One branch for all options whose values are of this kind. */
static void print_branch(enum value kind, const char *action)
{
    /* Patterns of one branch are joined by bars. */
    const char *before = "    ";

    for (const struct option_row *row = option_table; row->help; row++) {
        if (look(row->argument, false) != kind)
            continue;
        fputs(before, stdout);
        print_names(row, "|");
        before = "|";
    }
    printf(")\n        %s ;;\n", action);
}

static void print_words_branches(void)
{
    for (const struct option_row *row = option_table; row->help; row++) {
        if (look(row->argument, false) != VALUE_WORDS)
            continue;
        fputs("    ", stdout);
        print_names(row, "|");
        fputs(")\n        words=\"", stdout);
        look(row->argument, true);
        printf("\"%s ;;\n", strstr(row->argument, "FILE") ? "; files=yes" : "");
    }
}

static void print_options(void)
{
    for (const struct option_row *row = option_table; row->help; row++) {
        /* A heading has no name; a letter stands for itself only where there is no long name. */
        if (row->name) {
            printf("--%s ", row->name);
        } else if (row->letter) {
            printf("-%c ", row->letter);
        }
    }
}

int main(void)
{
    fputs(
        "# bash completion for httpdrive; made from its table of options\n"
        "_httpdrive()\n"
        "{\n"
        "    local current=${COMP_WORDS[COMP_CWORD]} before=$((COMP_CWORD - 1)) words='' files=''\n"
        "    # --json=FILE is three words to bash\n"
        "    if [[ $current == = ]]; then\n"
        "        current=''\n"
        "    elif [[ ${COMP_WORDS[before]} == = ]]; then\n"
        "        before=$((before - 1))\n"
        "    fi\n"
        "    case ${COMP_WORDS[before]} in\n",
        stdout);
    print_branch(VALUE_FILE, "files=yes");
    print_words_branches();
    print_branch(VALUE_OTHER, ":");
    fputs("    *)\n"
          "        if [[ $current == -* ]]; then\n"
          "            words=\"",
          stdout);
    print_options();
    fputs("\"\n"
          "        elif [[ $COMP_CWORD == 1 ]]; then\n"
          "            words='compare merge'\n"
          "        elif [[ ${COMP_WORDS[1]} == merge || ${COMP_WORDS[1]} == compare ]]; then\n"
          "            files=yes\n"
          "        fi ;;\n"
          "    esac\n"
          "    mapfile -t COMPREPLY < <(\n"
          "        compgen -W \"$words\" -- \"$current\"\n"
          "        [[ $files ]] && compgen -f -- \"$current\")\n"
          "    [[ $files ]] && compopt -o filenames\n"
          "}\n"
          "complete -F _httpdrive httpdrive\n",
          stdout);
    return ferror(stdout) || fflush(stdout);
}
