// The other unit; see first.cpp.
#include <all_headers.hpp>

int words_in_second_unit(std::size_t bits) { return static_cast<int>(feldspar::words_for(bits)); }
