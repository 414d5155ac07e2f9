// How often each of millions of things came, where a thing is known by its fingerprint.
//
// A fingerprint is the exclusive or of random keys of 96 bits, one for each part of the thing: two
// different things share one with a chance of 2^-96, and somewhere among five million that happens
// with a chance below 2^-52. In exchange nothing of the things themselves has to be kept.
//
// Entries go into buckets by the first bits of their fingerprints, which are then counted one after
// the other in tables that fit the cache. Memory: 16 bytes an entry.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace feldspar {

struct Fingerprint {
  std::array<std::uint32_t, 3> words{};

  constexpr Fingerprint& operator^=(const Fingerprint& other) noexcept {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] ^= other.words[i];
    return *this;
  }
  friend constexpr bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

class Tally {
 public:
  // For about n entries.
  explicit Tally(std::size_t n) : buckets_(kBuckets) {
    for (auto& bucket : buckets_) bucket.reserve(n / kBuckets + n / (8 * kBuckets));
  }

  void add(const Fingerprint& fingerprint, std::uint32_t entry) {
    buckets_[fingerprint.words[0] >> (32 - kBucketBits)].push_back({fingerprint, entry});
  }

  // Calls visit(first, counts) for every fingerprint: its lowest entry, and how many of its entries
  // are below each of the ascending limits, the last of which is above all entries.
  template <class Visit>
  void for_each_thing(std::span<const std::uint64_t> limits, Visit&& visit) const;

 private:
  static constexpr int kBucketBits = 8;
  static constexpr std::size_t kBuckets = std::size_t{1} << kBucketBits;
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  struct Entry {
    Fingerprint fingerprint;
    std::uint32_t number;
  };

  std::vector<std::vector<Entry>> buckets_;
};

template <class Visit>
void Tally::for_each_thing(std::span<const std::uint64_t> limits, Visit&& visit) const {
  std::vector<std::uint32_t> table;   // open addressing: numbers of things
  std::vector<Entry> things;          // with the lowest entry of each
  std::vector<std::uint32_t> counts;  // by thing and limit
  for (const auto& bucket : buckets_) {
    table.assign(std::bit_ceil(2 * bucket.size() + 1), kNone);
    things.clear();
    counts.clear();
    const std::size_t mask = table.size() - 1;
    for (const Entry& entry : bucket) {
      std::size_t slot = entry.fingerprint.words[1] & mask;
      while (table[slot] != kNone && things[table[slot]].fingerprint != entry.fingerprint)
        slot = (slot + 1) & mask;
      if (table[slot] == kNone) {
        table[slot] = static_cast<std::uint32_t>(things.size());
        things.push_back(entry);
        counts.resize(counts.size() + limits.size(), 0);
      }
      Entry& thing = things[table[slot]];
      thing.number = std::min(thing.number, entry.number);
      std::size_t limit = 0;
      while (entry.number >= limits[limit]) ++limit;
      ++counts[table[slot] * limits.size() + limit];
    }
    for (std::size_t i = 0; i < things.size(); ++i) {
      const std::span<std::uint32_t> own(counts.data() + i * limits.size(), limits.size());
      std::partial_sum(own.begin(), own.end(), own.begin());
      visit(things[i].number, std::span<const std::uint32_t>(own));
    }
  }
}

}  // namespace feldspar
