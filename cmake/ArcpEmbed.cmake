# cmake -D FROM=file -D TO=file.c -D NAME=name -P ArcpEmbed.cmake: a text as a C string.
file(READ ${FROM} hex HEX)
string(REGEX REPLACE "(................................)" "\\1\n" hex ${hex})
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes ${hex})
file(WRITE ${TO} "extern const char ${NAME}[];\nconst char ${NAME}[] = {${bytes}0};\n")
