// data/delimited.hpp: hand-made texts, their codes, and the places that errors name.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/data/delimited.hpp>

namespace test_delimited {

using namespace feldspar;

namespace {

using Codes = std::vector<std::int32_t>;
using Weights = std::vector<double>;

std::string error_of(std::string_view text) {
  try {
    parse_integers(text, ',');
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("codes are row-major, whatever ends the lines") {
  for (const std::string_view text : {"0,1,2\n3,4,5\n", "0,1,2\n3,4,5", "0,1,2\r\n3,4,5\r\n",
                                      "0,1,2\n3,4,5\n\n \n", " 0, 1 ,2 \n\t3,4,5\n"}) {
    CAPTURE(text);
    const DelimitedCodes parsed = parse_integers(text, ',');
    CHECK(parsed.n_rows == 2);
    CHECK(parsed.n_columns == 3);
    CHECK(parsed.codes == Codes{0, 1, 2, 3, 4, 5});
    CHECK(parsed.weights.empty());
  }
}

TEST_CASE("codes of many digits up to the largest") {
  CHECK(parse_integers("10,65534,007\n", ',').codes == Codes{10, 65534, 7});
}

TEST_CASE("three spellings of an unknown value") {
  CHECK(parse_integers("*,?,-1,0", ',').codes ==
        Codes{kMissingCode, kMissingCode, kMissingCode, 0});
}

TEST_CASE("one column") {
  const DelimitedCodes parsed = parse_integers("1\n0\n*\n", ',');
  CHECK(parsed.n_columns == 1);
  CHECK(parsed.codes == Codes{1, 0, kMissingCode});
}

TEST_CASE("another delimiter") {
  CHECK(parse_integers("1 0\n0 12\n", ' ').codes == Codes{1, 0, 0, 12});
}

TEST_CASE("weights, and lines without one weigh 1") {
  const DelimitedCodes parsed = parse_integers("1,0\n0.25|0,1\n1,1\n2e1|0,0\n", ',');
  CHECK(parsed.codes == Codes{1, 0, 0, 1, 1, 1, 0, 0});
  CHECK(parsed.weights == Weights{1.0, 0.25, 1.0, 20.0});
  CHECK(parse_integers("0.5 | 1,0", ',').weights == Weights{0.5});
}

TEST_CASE("errors name the line and the column, what was got and what is expected") {
  CHECK(error_of("0,1\n0,x\n") ==
        "line 2, column 2: expected an integer 0 ... 65534 or '*', got 'x'");
  CHECK(error_of("0,1.5\n") ==
        "line 1, column 2: expected an integer 0 ... 65534 or '*', got '1.5'");
  CHECK(error_of("0,1\n0,0\n-2,1\n") ==
        "line 3, column 1: expected an integer 0 ... 65534 or '*', got '-2'");
  CHECK(error_of("65535\n") ==
        "line 1, column 1: expected an integer 0 ... 65534 or '*', got '65535'");
  CHECK(error_of("0,\n") == "line 1, column 2: expected an integer 0 ... 65534 or '*', got ''");
  CHECK(error_of("99999999999\n") ==
        "line 1, column 1: expected an integer 0 ... 65534 or '*', got '99999999999'");
}

TEST_CASE("ragged lines") {
  CHECK(error_of("0,1\n0,1\n0,1,1\n") == "line 3: expected 2 values as on line 1, got 3");
  CHECK(error_of("0,1\n0\n") == "line 2: expected 2 values as on line 1, got 1");
}

TEST_CASE("unusable weights") {
  for (const std::string bad : {"x", "", "-1", "inf", "nan", "1 2"}) {
    CAPTURE(bad);
    CHECK(error_of("1|0\n" + bad + "|1\n") ==
          "line 2: expected a finite weight >= 0 before '|', got '" + bad + "'");
  }
}

TEST_CASE("a blank line between examples, which would shift the rows against the lines") {
  CHECK(error_of("0,1\n\n0,1\n") == "line 2: expected an example, got a blank line");
  CHECK(error_of("\n0,1\n") == "line 1: expected an example, got a blank line");
}

TEST_CASE("texts without rows") {
  CHECK(error_of("") == "no rows: expected one example a line, got an empty text");
  CHECK(error_of("\n \n") == "no rows: expected one example a line, got only blank lines");
}

TEST_CASE("binary junk is quoted short and printable") {
  CHECK(error_of(std::string_view("\x89PNG\0abcdefghijklmnopqrst", 25)) ==
        "line 1, column 1: expected an integer 0 ... 65534 or '*', "
        "got '\\x89PNG\\x00abcdefghijklmno...'");
}

TEST_CASE("delimiters that a code or a weight may hold are refused") {
  for (const char delimiter : {'|', '1', '-', '\n'}) {
    CAPTURE(delimiter);
    CHECK_THROWS_AS(parse_integers("1,0", delimiter), InvalidInput);
  }
}

}  // namespace test_delimited
