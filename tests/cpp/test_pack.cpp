// base/pack.hpp lane by lane against doubles.
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include <feldspar/base/pack.hpp>

#include "support/compare.hpp"

namespace test_pack {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

using Lanes = std::array<double, kPackSize>;
using Words = std::array<std::uint64_t, kPackSize>;

const Lanes kLeft{1.5, -2.0, 0.0, 1e300};
const Lanes kRight{-0.25, -2.0, -0.0, 3.0};

Lanes lanes_of(const Pack& pack) {
  Lanes lanes;
  store_pack(lanes.data(), pack);
  return lanes;
}

Words words_of(const PackBits& bits) { return std::bit_cast<Words>(bits); }

template <class Function>
Lanes lane_by_lane(Function function) {
  Lanes result;
  for (std::size_t i = 0; i < kPackSize; ++i) result[i] = function(kLeft[i], kRight[i]);
  return result;
}

}  // namespace

TEST_CASE("what is loaded is what is stored, from any address") {
  std::array<double, kPackSize + 1> memory{9, 1, 2, 3, 4};
  const Pack pack = load_pack(memory.data() + 1);
  CHECK(lanes_of(pack) == Lanes{1, 2, 3, 4});
  store_pack(memory.data(), pack);
  CHECK(memory == std::array<double, kPackSize + 1>{1, 2, 3, 4, 4});
}

TEST_CASE("numbers of single precision are loaded and stored") {
  std::array<float, kPackSize + 1> memory{9, 1.5f, -2, 0.1f, 4};
  const Pack pack = load_pack(memory.data() + 1);
  CHECK(lanes_of(pack) == Lanes{1.5, -2, 0.1f, 4});
  store_pack(memory.data(), pack * broadcast(0.1));
  CHECK(memory == std::array<float, kPackSize + 1>{static_cast<float>(0.1 * 1.5), -0.2f,
                                                   static_cast<float>(0.1 * 0.1f), 0.4f, 4});
}

TEST_CASE("words are loaded, stored, added and intersected lane by lane") {
  const Words left{1, ~std::uint64_t{0}, 12, 0x00ff00ff}, right{2, 1, 10, 0x0ff00ff0};
  const PackBits a = load_bits(left.data()), b = load_bits(right.data());
  CHECK(words_of(a + b) == Words{3, 0, 22, 0x10ef10ef});
  CHECK(words_of(a & b) == Words{0, 1, 8, 0x00f000f0});
  PackBits sum = a;
  sum += b;
  Words stored{};
  store_bits(stored.data(), sum);
  CHECK(stored == words_of(a + b));
}

TEST_CASE("one formula loads and stores single numbers and packs") {
  std::array<double, kPackSize> memory{};
  CHECK(load<double>(kLeft.data() + 1) == kLeft[1]);
  CHECK(lanes_of(load<Pack>(kLeft.data())) == kLeft);
  store(memory.data(), load_pack(kRight.data()));
  CHECK(memory == kRight);
  store(memory.data() + 2, 5.0);
  CHECK(memory[2] == 5.0);
}

TEST_CASE("arithmetic works lane by lane") {
  const Pack a = load_pack(kLeft.data()), b = load_pack(kRight.data());
  CHECK(same_bits(lanes_of(a + b), lane_by_lane([](double x, double y) { return x + y; })));
  CHECK(same_bits(lanes_of(a - b), lane_by_lane([](double x, double y) { return x - y; })));
  CHECK(same_bits(lanes_of(a * b), lane_by_lane([](double x, double y) { return x * y; })));
  CHECK(same_bits(lanes_of(b / a), lane_by_lane([](double x, double y) { return y / x; })));
  CHECK(same_bits(lanes_of(2.0 * a), lane_by_lane([](double x, double) { return 2.0 * x; })));
  CHECK(same_bits(lanes_of(a - 1.0), lane_by_lane([](double x, double) { return x - 1.0; })));
  CHECK(same_bits(lanes_of(1.0 / b), lane_by_lane([](double, double y) { return 1.0 / y; })));
  Pack sum = a;
  sum += b;
  CHECK(same_bits(lanes_of(sum), lanes_of(a + b)));
  Pack product = a;
  product *= b;
  CHECK(same_bits(lanes_of(product), lanes_of(a * b)));
}

TEST_CASE("select takes each lane from where the mask says") {
  const Pack a = load_pack(kLeft.data()), b = load_pack(kRight.data());
  CHECK(same_bits(lanes_of(select(a < b, a, b)),
                  lane_by_lane([](double x, double y) { return x < y ? x : y; })));
  CHECK(same_bits(lanes_of(select(a > 0.0, a, b)),
                  lane_by_lane([](double x, double y) { return x > 0.0 ? x : y; })));
  CHECK(select(true, 1.0, 2.0) == 1.0);
  CHECK(select(false, 1.0, 2.0) == 2.0);
}

TEST_CASE("a comparison with NaN is false in its lane only") {
  const Lanes with_nan{1.0, std::numeric_limits<double>::quiet_NaN(), 3.0, -1.0};
  const Pack chosen = select(load_pack(with_nan.data()) > 0.0, broadcast(1.0), broadcast(0.0));
  CHECK(lanes_of(chosen) == Lanes{1, 0, 1, 0});
}

TEST_CASE("bits go out and come back") {
  const Pack a = load_pack(kLeft.data());
  const Words words = words_of(bits_of(a));
  for (std::size_t i = 0; i < kPackSize; ++i) {
    CHECK(words[i] == std::bit_cast<std::uint64_t>(kLeft[i]));
    CHECK(bits_of(kLeft[i]) == words[i]);
    CHECK(from_bits(words[i]) == kLeft[i]);
  }
  CHECK(same_bits(lanes_of(from_bits(bits_of(a))), kLeft));
}

TEST_CASE("bit arithmetic works lane by lane") {
  const PackBits places{0, 1, 2, 3};
  CHECK(words_of(broadcast_bits(0b1010) >> places) == Words{0b1010, 0b101, 0b10, 0b1});
  CHECK(words_of(places << 63) == Words{0, std::uint64_t{1} << 63, 0, std::uint64_t{1} << 63});
  CHECK(words_of(places + std::uint64_t{5}) == Words{5, 6, 7, 8});
  CHECK(words_of(places ^ broadcast_bits(1)) == Words{1, 0, 3, 2});
  CHECK(words_of(places & std::uint64_t{2}) == Words{0, 0, 2, 2});
  CHECK(words_of(places | std::uint64_t{4}) == Words{4, 5, 6, 7});
  CHECK(words_of(places >> 1) == Words{0, 0, 1, 1});
}

TEST_CASE("a constant is the number itself or the number in every lane") {
  CHECK(constant<double>(2.5) == 2.5);
  CHECK(lanes_of(constant<Pack>(2.5)) == Lanes{2.5, 2.5, 2.5, 2.5});
  CHECK(lanes_of(broadcast(-1.0)) == Lanes{-1, -1, -1, -1});
}

}  // namespace test_pack
