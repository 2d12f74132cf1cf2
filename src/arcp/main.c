#include "arcp/command.h"

int main(int argc, char **argv)
{
    return arcp__main(argc, argv);
}
