// How a step of a search ended.
#pragma once

#include <string_view>

namespace feldspar {

enum class SearchStatus { advanced, finished, time_limit, interrupted };

constexpr std::string_view name(SearchStatus status) noexcept {
  switch (status) {
    case SearchStatus::advanced:
      return "advanced";
    case SearchStatus::finished:
      return "finished";
    case SearchStatus::time_limit:
      return "time_limit";
    case SearchStatus::interrupted:
      return "interrupted";
  }
  return "";
}

}  // namespace feldspar
