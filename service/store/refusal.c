// Lines for the user are made of what other programs said, so they are brought to one line here.
#include "store/refusal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void refusal_flatten(char *text, char separator)
{
    size_t start = strspn(text, " \t\r\n");
    size_t end = strlen(text);
    while (end > start && strchr(" \t\r\n", text[end - 1]) != NULL)
        end--;
    memmove(text, text + start, end - start);
    text[end - start] = '\0';
    for (char *c = text; *c != '\0'; c++) {
        if (*c == '\n')
            *c = separator;
        else if ((unsigned char)*c < 0x20)
            *c = ' ';
    }
}

bool refuse(struct refusal *refusal, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(refusal->text, refusal->size, format, args);
    va_end(args);
    refusal_flatten(refusal->text, ' ');
    return false;
}
