/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_CTYPE_H
#define CMWQ_SHIM_CTYPE_H

#ifndef _CTYPE_H
#define isdigit(c) ((unsigned int)(c) - '0' < 10)
#define isupper(c) ((unsigned int)(c) - 'A' < 26)
#define islower(c) ((unsigned int)(c) - 'a' < 26)
#define isalpha(c) (isupper(c) || islower(c))
#define isalnum(c) (isalpha(c) || isdigit(c))
#define isspace(c) ((c) == ' ' || ((unsigned int)(c) - '\t' < 5))
#define isxdigit(c) (isdigit(c) || (unsigned int)((c) | 32) - 'a' < 6)
#define iscntrl(c) ((unsigned int)(c) < 32 || (c) == 127)
#define isprint(c) ((unsigned int)(c) - 32 < 95)
#define isgraph(c) ((unsigned int)(c) - 33 < 94)
#define ispunct(c) (isgraph(c) && !isalnum(c))
#define tolower(c) (isupper(c) ? (c) + 32 : (c))
#define toupper(c) (islower(c) ? (c) - 32 : (c))
#endif
#define isascii(c) ((unsigned int)(c) < 128)

#endif
