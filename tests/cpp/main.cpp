// The one unit that compiles doctest itself; every test_*.cpp includes only its declarations.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
