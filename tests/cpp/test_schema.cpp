// data/schema.hpp: what it holds and what it refuses.
#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include <feldspar/data/schema.hpp>

namespace test_schema {

using namespace feldspar;

TEST_CASE("a schema tells the cardinalities it was made of") {
  const Schema schema({2, 1, 65535});
  CHECK(schema.n_variables() == 3);
  CHECK(schema.cardinality(0) == 2);
  CHECK(schema.cardinality(1) == 1);
  CHECK(schema.cardinality(2) == 65535);
  CHECK(schema.cardinalities() == std::vector<Value>{2, 1, 65535});
}

TEST_CASE("a schema may be empty") {
  CHECK(Schema().n_variables() == 0);
  CHECK(Schema() == Schema(std::vector<Value>{}));
}

TEST_CASE("schemas are equal when all cardinalities are, in order") {
  CHECK(Schema({2, 3}) == Schema({2, 3}));
  CHECK(Schema({2, 3}) != Schema({3, 2}));
  CHECK(Schema({2, 3}) != Schema({2, 3, 3}));
}

TEST_CASE("a variable without values is refused by its number") {
  CHECK_THROWS_WITH_AS(Schema({2, 0, 0}), "variable 1: cardinality must be at least 1, got 0",
                       InvalidInput);
}

TEST_CASE("value_offsets tells where each variable's values start") {
  CHECK(value_offsets(Schema({2, 1, 5})) == std::vector<std::size_t>{0, 2, 3, 8});
  CHECK(value_offsets(Schema()) == std::vector<std::size_t>{0});
}

}  // namespace test_schema
