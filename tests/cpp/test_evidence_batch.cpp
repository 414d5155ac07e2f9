// infer/evidence_batch.hpp: every row once, with its own weights, on any number of threads.
#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <vector>

#include <feldspar/infer/evidence_batch.hpp>

#include "support/random_networks.hpp"
#include "support/stop_after.hpp"

namespace test_evidence_batch {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

// Notes what each row was given.
struct Recorder {
  struct Workspace {};
  std::vector<double>* sums;
  std::vector<std::atomic<int>>* visits;

  Workspace workspace() const { return {}; }
  void solve(const ConditionedRow& row, Workspace&) const {
    double sum = row.log_constant;
    for (std::size_t j = 0; j < row.weights.size(); ++j)
      sum += row.weights[j] * static_cast<double>(j + 1);
    (*sums)[row.row] = sum;
    ++(*visits)[row.row];
  }
};

struct Batch {
  MarkovNetwork network;
  RandomEvidence evidence;
};

// Patterns of one row, of a few, and one of many.
Batch mixed_batch() {
  Dice dice(5);
  MarkovNetwork network = higher_order_network(dice, binary_schema(8), 60, 4, 1);
  RandomEvidence evidence = random_evidence(dice, network.schema(), 40, 0.5, false);
  const RandomEvidence few = same_pattern(dice, network.schema(), 10, 3, false);
  const RandomEvidence many = same_pattern(dice, network.schema(), 150, 5, false);
  evidence.codes.insert(evidence.codes.end(), many.codes.begin(), many.codes.end());
  evidence.codes.insert(evidence.codes.end(), few.codes.begin(), few.codes.end());
  return {std::move(network), std::move(evidence)};
}

std::vector<double> record(const Batch& batch, const Execution& execution,
                           double max_seconds = 1e9) {
  const std::size_t n_rows = batch.evidence.codes.size() / 8;
  std::vector<double> sums(n_rows, -1);
  std::vector<std::atomic<int>> visits(n_rows);
  const StopSign stop(execution, max_seconds);
  for_each_evidence_row(batch.network, batch.evidence.view(), stop, execution,
                        [&](const Conditioner&) { return Recorder{&sums, &visits}; });
  for (const auto& count : visits) CHECK(count <= 1);
  return sums;
}

}  // namespace

TEST_CASE("rows are grouped by what they hide, in the order they come") {
  const Codes codes{0, -1, 1, -1, -1, 0, 1, -1, -1, 1};
  const auto patterns = rows_by_pattern(2, codes);
  CHECK(patterns == std::vector<std::vector<std::size_t>>{{0, 1, 3}, {2, 4}});
  CHECK(rows_by_pattern(2, {}).empty());
}

TEST_CASE("every row is solved with what its evidence leaves, on any number of threads") {
  const Batch batch = mixed_batch();
  const auto serial = record(batch, {1, nullptr});
  for (std::size_t r = 0; r < serial.size(); ++r) {
    const EvidenceView row = batch.evidence.row(batch.network.schema(), r);
    const Conditioner conditioner(batch.network, row.codes, false);
    Conditioner::Weights weights;
    const std::size_t first = 0;
    conditioner.weigh(row, {&first, 1}, weights);
    double sum = weights.log_constants[0];
    for (std::size_t j = 0; j < weights.weights.size(); ++j)
      sum += weights.weights[j] * static_cast<double>(j + 1);
    CHECK(serial[r] == sum);
  }
  for (const int threads : {2, 3}) CHECK(record(batch, {threads, nullptr}) == serial);
}

TEST_CASE("one pattern of few rows is not forgotten") {
  Batch batch = mixed_batch();
  for (const std::size_t n_rows : {1u, 5u, 40u}) {
    Dice dice(n_rows);
    batch.evidence = same_pattern(dice, batch.network.schema(), n_rows, 3, false);
    for (const double sum : record(batch, {2, nullptr})) CHECK(sum != -1);
  }
}

TEST_CASE("a stop throws") {
  const Batch batch = mixed_batch();
  StopAfter later(20);
  CHECK_THROWS_AS(record(batch, {1, &later}), Interrupted);
  for (const int threads : {1, 2}) {
    StopAfter at_once(0);
    at_once.poll();
    CHECK_THROWS_AS(record(batch, {threads, &at_once}), Interrupted);
  }
}

TEST_CASE("out of time, rows not begun are left alone") {
  const auto sums = record(mixed_batch(), {1, nullptr}, 1e-9);
  for (const double sum : sums) CHECK(sum == -1);
}

TEST_CASE("progress counts rows") {
  struct Reports : Monitor {
    double done = 0, total = 0;
    void report(const Progress& p) override {
      CHECK(p.stage == "inference");
      CHECK(p.done > done);
      done = p.done;
      total = p.total;
    }
  } reports;
  record(mixed_batch(), {1, &reports});
  CHECK(reports.done == 200);
  CHECK(reports.total == 200);
}

}  // namespace test_evidence_batch
