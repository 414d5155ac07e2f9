// objective/pattern_table.hpp: whatever is shared, every row gets back exactly its contexts.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <feldspar/objective/pattern_table.hpp>

#include "support/random_models.hpp"

namespace test_pattern_table {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

using Rows = std::vector<std::size_t>;

struct Family {
  std::string name;
  std::size_t n_rows = 0;
  std::vector<Rows> contexts;  // by context: the rows on which it holds

  std::size_t n_active() const {
    std::size_t n = 0;
    for (const Rows& rows : contexts) n += rows.size();
    return n;
  }
};

Family random_family(Dice& dice, std::string name, std::size_t n_rows, std::size_t n_contexts,
                     double density) {
  Family family{std::move(name), n_rows, std::vector<Rows>(n_contexts)};
  for (Rows& rows : family.contexts)
    for (std::size_t r = 0; r < n_rows; ++r)
      if (dice.chance(density)) rows.push_back(r);
  return family;
}

// The nodes of a binary tree of intervals: nested along a path, exclusive across.
Family tree_family(std::size_t n_rows, std::size_t depth) {
  Family family{"tree", n_rows, {}};
  for (std::size_t level = 0; level <= depth; ++level)
    for (std::size_t node = 0; node < std::size_t{1} << level; ++node) {
      Rows rows;
      const std::size_t first = (n_rows * node) >> level, last = (n_rows * (node + 1)) >> level;
      for (std::size_t r = first; r < last; ++r) rows.push_back(r);
      family.contexts.push_back(rows);
    }
  return family;
}

PatternTable build(const Family& family, double entry_cost = 2.0, std::size_t max_group = 64) {
  PatternTableBuilder builder(family.n_rows, entry_cost, max_group);
  for (std::size_t c = 0; c < family.contexts.size(); ++c) {
    std::vector<Word> words(words_for(family.n_rows), 0);
    for (const std::size_t r : family.contexts[c]) set_bit(words, r);
    builder.add(static_cast<std::uint32_t>(c), words);
  }
  return std::move(builder).finish();
}

// The contexts of each row, read from the table: those along the paths of its entries.
std::vector<std::vector<std::size_t>> expand(const PatternTable& table, std::size_t n_rows) {
  std::vector<std::vector<std::size_t>> contexts(n_rows);
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    for (Entry e = table.entries[i]; e != 0; e = table.parent[e])
      contexts[table.rows[i]].push_back(table.context[e]);
  for (auto& list : contexts) std::ranges::sort(list);
  return contexts;
}

std::vector<std::vector<std::size_t>> by_row(const Family& family) {
  std::vector<std::vector<std::size_t>> contexts(family.n_rows);
  for (std::size_t c = 0; c < family.contexts.size(); ++c)
    for (const std::size_t r : family.contexts[c]) contexts[r].push_back(c);
  return contexts;
}

std::vector<Family> families() {
  Dice dice(1);
  return {random_family(dice, "dense", 1000, 50, 0.5),
          random_family(dice, "sparse", 1000, 80, 0.01),
          random_family(dice, "nowhere", 100, 10, 0.0),
          random_family(dice, "everywhere", 100, 10, 1.0),
          random_family(dice, "one row", 1, 5, 0.5),
          tree_family(300, 6),
          random_family(dice, "no contexts", 10, 0, 0.5)};
}

}  // namespace

TEST_CASE("every row gets back exactly its contexts, each once") {
  for (const Family& family : families())
    for (const double entry_cost : {0.0, 2.0, 1e9})
      for (const std::size_t max_group : {std::size_t{1}, std::size_t{64}, ~std::size_t{0}}) {
        CAPTURE(family.name);
        CAPTURE(entry_cost);
        CAPTURE(max_group);
        CHECK(expand(build(family, entry_cost, max_group), family.n_rows) == by_row(family));
      }
}

TEST_CASE("parents come before children and stay within the group, groups within their limit") {
  for (const Family& family : families()) {
    CAPTURE(family.name);
    const PatternTable table = build(family, 2.0, 20);
    REQUIRE(table.group_end.size() == table.lookup_end.size());
    std::size_t first = 1, lookup = 0;
    for (std::size_t g = 0; g < table.group_end.size(); ++g) {
      CHECK(table.group_end[g] - first <= 20);
      for (std::size_t e = first; e < table.group_end[g]; ++e) {
        CHECK_UNARY(table.parent[e] < e);
        CHECK_UNARY(table.parent[e] == 0 || table.parent[e] >= first);
      }
      std::vector<bool> seen(family.n_rows, false);
      for (; lookup < table.lookup_end[g]; ++lookup) {
        const Entry e = table.entries[lookup];
        CHECK_UNARY(e >= first && e < table.group_end[g]);
        CHECK_UNARY_FALSE(seen[table.rows[lookup]]);  // one lookup a row and group
        seen[table.rows[lookup]] = true;
      }
      first = table.group_end[g];
    }
    CHECK(first == table.n_entries());
    CHECK(lookup == table.rows.size());
    CHECK(table.entries.size() == table.rows.size());
  }
}

TEST_CASE("a whole tree is one lookup a row") {
  const Family tree = tree_family(256, 6);
  const PatternTable table = build(tree, 2.0, ~std::size_t{0});
  CHECK(table.group_end.size() == 1);
  CHECK(table.rows.size() == 256);
  CHECK(table.n_entries() == 1 + tree.contexts.size());
}

TEST_CASE("dense contexts share lookups") {
  Dice dice(2);
  const Family dense = random_family(dice, "dense", 5000, 40, 0.5);
  const PatternTable table = build(dense);
  CHECK(4 * table.rows.size() <= 2 * dense.n_active());
  CHECK(table.n_entries() < dense.n_active() / 20);
}

TEST_CASE("an entry that costs too much is never shared, nor costs more lookups than there are") {
  Dice dice(3);
  const Family dense = random_family(dice, "dense", 500, 20, 0.5);
  const PatternTable table = build(dense, 1e9);
  CHECK(table.rows.size() == dense.n_active());
  CHECK(table.n_entries() == 1 + 20);
}

TEST_CASE("contexts that hold nowhere leave no trace") {
  const Family family{"some", 3, {{}, {1}, {}}};
  const PatternTable table = build(family);
  CHECK(table.n_entries() == 2);
  CHECK(table.context[1] == 1);
  CHECK(table.rows == std::vector<Row>{1});
}

TEST_CASE("rows and entries may be more than 65535") {
  Dice dice(4);
  const Family many = random_family(dice, "many", 100'000, 18, 0.5);
  const PatternTable table = build(many, 0.0, ~std::size_t{0});
  CHECK(table.n_entries() > 65'536);
  CHECK(expand(table, many.n_rows) == by_row(many));
}

}  // namespace test_pattern_table
