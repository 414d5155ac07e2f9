// Hashes of integers, equal on every platform and every run. No result may follow the order of a
// hash table; these only find equal things fast.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace feldspar {

// The finaliser of splitmix64: every input bit reaches every output bit.
constexpr std::uint64_t mix_bits(std::uint64_t x) noexcept {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr std::uint64_t combine_hash(std::uint64_t seed, std::uint64_t value) noexcept {
  return mix_bits(std::rotl(seed, 23) + 0x9e3779b97f4a7c15u + value);
}

template <class T>
constexpr std::uint64_t hash_sequence(std::span<const T> items) noexcept {
  std::uint64_t hash = items.size();
  for (const T item : items) hash = combine_hash(hash, static_cast<std::uint64_t>(item));
  return hash;
}

// Of distinct items whatever their order. Items do not wait for each other as they do in a sequence.
template <class T>
constexpr std::uint64_t hash_set(std::span<const T> items) noexcept {
  std::uint64_t hash = items.size();
  for (const T item : items) hash += mix_bits(static_cast<std::uint64_t>(item) + 1);
  return hash;
}

}  // namespace feldspar
