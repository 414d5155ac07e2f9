// Reads the text form of coded data: one example a line, its codes separated by one character.
//
//   0,2,1          three codes
//   0.2|0,2,1      the same example with weight 0.2
//   0,*,1          the second value is unknown (`?` and `-1` say so too)
//
// Blanks around a code and blank lines at the end are skipped; lines may end in "\n" or "\r\n". So
// row i is line i + 1. A line without a weight weighs 1. Errors name the line and the column, both
// counted from 1. One pass over the text, on the calling thread; a code of a single digit costs a
// few instructions.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <locale>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/types.hpp>

namespace feldspar {

inline constexpr std::int32_t kMissingCode = -1;
// A variable has at most 65535 values, so that their number still fits a Value.
inline constexpr std::int32_t kLargestCode = std::numeric_limits<Value>::max() - 1;

struct DelimitedCodes {
  std::vector<std::int32_t> codes;  // row-major, kMissingCode where unknown
  std::vector<double> weights;      // one per row, or empty when no line had a weight
  std::size_t n_rows = 0;
  std::size_t n_columns = 0;
};

DelimitedCodes parse_integers(std::string_view text, char delimiter);

namespace detail {

inline std::string_view strip_blanks(std::string_view text) noexcept {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// What stood in the file, fit for a message: short, and with unprintable bytes spelled out.
inline std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 20;
  constexpr std::string_view hex = "0123456789abcdef";
  std::string result = "'";
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f)
      result += c;
    else
      result += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
  }
  return result + (text.size() > longest ? "...'" : "'");
}

inline std::optional<double> parse_double(std::string_view text) {
#ifdef __cpp_lib_to_chars
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
#else
  // Some standard libraries cannot read floating point by from_chars; "C" whatever the user's
  // locale.
  std::istringstream stream{std::string(text)};
  stream.imbue(std::locale::classic());
  double number = 0;
  if (!(stream >> number) || !stream.eof()) return std::nullopt;
  return number;
#endif
}

class DelimitedParser {
 public:
  DelimitedParser(std::string_view text, char delimiter) : text_(text), delimiter_(delimiter) {}

  DelimitedCodes parse() {
    // Two characters a code is the common case; a wrong guess only costs a reallocation.
    result_.codes.reserve(text_.size() / 2 + 1);
    std::size_t start = 0;
    const std::size_t last = text_.find_last_not_of(" \t\r\n");
    require(last != std::string_view::npos, "no rows: expected one example a line, got ",
            text_.empty() ? "an empty text" : "only blank lines");
    while (start <= last) {
      const std::size_t newline = std::min(text_.find('\n', start), text_.size());
      ++line_;
      parse_line(strip_blanks(text_.substr(start, newline - start)));
      start = newline + 1;
    }
    return std::move(result_);
  }

 private:
  void parse_line(std::string_view line) {
    require(!line.empty(), "line ", line_, ": expected an example, got a blank line");
    const std::size_t bar = line.find('|');
    if (bar != std::string_view::npos || !result_.weights.empty())
      keep_weight(bar == std::string_view::npos ? 1.0 : parse_weight(line.substr(0, bar)));
    if (bar != std::string_view::npos) line.remove_prefix(bar + 1);
    const std::size_t n_columns = parse_codes(line);
    if (result_.n_rows == 0) result_.n_columns = n_columns;
    require(n_columns == result_.n_columns, "line ", line_, ": expected ", result_.n_columns,
            " values as on line 1, got ", n_columns);
    ++result_.n_rows;
  }

  std::size_t parse_codes(std::string_view line) {
    std::size_t n_columns = 0;
    std::size_t start = 0;
    for (;;) {
      ++n_columns;
      // A digit and a delimiter: nearly all there is in binary data.
      if (start + 1 < line.size() && line[start + 1] == delimiter_ && is_digit(line[start])) {
        result_.codes.push_back(line[start] - '0');
        start += 2;
        continue;
      }
      const std::size_t end = std::min(line.find(delimiter_, start), line.size());
      result_.codes.push_back(parse_code(strip_blanks(line.substr(start, end - start)), n_columns));
      if (end == line.size()) return n_columns;
      start = end + 1;
    }
  }

  std::int32_t parse_code(std::string_view cell, std::size_t column) const {
    if (cell == "*" || cell == "?" || cell == "-1") return kMissingCode;
    std::int32_t code = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), code);
    const bool whole = error == std::errc{} && end == cell.data() + cell.size();
    require(whole && code >= 0 && code <= kLargestCode, "line ", line_, ", column ", column,
            ": expected an integer 0 ... ", kLargestCode, " or '*', got ", quoted(cell));
    return code;
  }

  double parse_weight(std::string_view text) const {
    const std::optional<double> weight = parse_double(strip_blanks(text));
    require(weight && std::isfinite(*weight) && *weight >= 0, "line ", line_,
            ": expected a finite weight >= 0 before '|', got ", quoted(strip_blanks(text)));
    return *weight;
  }

  // The first weight seen makes the lines before it weigh 1.
  void keep_weight(double weight) {
    result_.weights.resize(result_.n_rows, 1.0);
    result_.weights.push_back(weight);
  }

  static bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

  std::string_view text_;
  char delimiter_;
  std::size_t line_ = 0;
  DelimitedCodes result_;
};

}  // namespace detail

inline DelimitedCodes parse_integers(std::string_view text, char delimiter) {
  constexpr std::string_view taken = "0123456789-*?|\r\n";
  require(taken.find(delimiter) == std::string_view::npos,
          "delimiter: expected a character that is ",
          "no part of a code, a weight or a line's end, got ",
          detail::quoted(std::string_view(&delimiter, 1)));
  return detail::DelimitedParser(text, delimiter).parse();
}

}  // namespace feldspar
