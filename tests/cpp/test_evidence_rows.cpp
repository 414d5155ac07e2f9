// infer/evidence_rows.hpp: who is whose twin, and who stands beside whom.
#include <doctest/doctest.h>

#include <cstddef>
#include <set>
#include <vector>

#include <feldspar/infer/evidence_rows.hpp>

#include "support/random_models.hpp"

namespace test_evidence_rows {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

constexpr std::int32_t u = kUnknown;

}  // namespace

TEST_CASE("equal rows are one, and patterns stay together in the order in which they come") {
  const Codes codes{u, 1, u, 0, u, u, u, 1, u, u, 0, u, 1, u, u};
  const EvidenceRows rows(binary_schema(3), {codes, {}});
  CHECK(rows.n_distinct() == 4);
  CHECK(rows.original(2) == 0);
  CHECK(rows.original(3) == 3);
  REQUIRE(rows.sections().size() == 2);
  CHECK(rows.sections()[0].rows == std::vector<std::size_t>{0, 3});
  CHECK(rows.sections()[1].rows == std::vector<std::size_t>{1, 4});
  CHECK(rows.sections()[0].pattern < rows.sections()[1].pattern);
  CHECK(rows.hash(0) == rows.hash(2));
  CHECK(rows.hash(0) != rows.hash(3));
}

TEST_CASE("soft evidence tells rows apart") {
  const Codes codes{u, u, u, u, u, u};
  std::vector<double> soft(12, 0.0);
  soft[5] = 0.5;
  const EvidenceRows rows(binary_schema(2), {codes, soft});
  CHECK(rows.original(1) == 1);
  CHECK(rows.original(2) == 0);
  CHECK(rows.hash(0) != rows.hash(1));
}

TEST_CASE("sections have at most 64 rows, and all distinct rows are in one") {
  Dice dice(1);
  const Schema schema = random_schema(dice, 9, 2, 3);
  Codes codes = random_codes(dice, schema, 500);
  for (std::size_t i = 0; i < codes.size(); i += 9) codes[i] = kUnknown;
  const EvidenceRows rows(schema, {codes, {}});
  std::set<std::size_t> seen;
  for (const EvidenceRows::Section& section : rows.sections()) {
    CHECK(section.rows.size() <= 64);
    for (const std::size_t r : section.rows) {
      CHECK(rows.original(r) == r);
      CHECK(seen.insert(r).second);
    }
  }
  CHECK(seen.size() == rows.n_distinct());
}

}  // namespace test_evidence_rows
