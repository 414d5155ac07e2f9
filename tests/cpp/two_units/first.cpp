// One of two units that include every header. They link only if no header defines a function or a
// variable that is not inline.
#include <all_headers.hpp>

int words_in_second_unit(std::size_t bits);

int main() {
  // The same inline function, seen from both units, must be one function.
  const int here = static_cast<int>(feldspar::words_for(65));
  return here == words_in_second_unit(65) ? 0 : 1;
}
