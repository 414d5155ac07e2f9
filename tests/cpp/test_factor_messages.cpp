// infer/factor_messages.hpp against sums and maxima over all states of a factor's variables.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <vector>

#include <feldspar/infer/factor_messages.hpp>
#include <feldspar/infer/pack_sweep.hpp>

#include "support/brute_force.hpp"
#include "support/compare.hpp"
#include "support/random_networks.hpp"
#include "support/simd_levels.hpp"

namespace test_factor_messages {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

// Messages of the factor exp(log_table[state]) over binary variables whose log-odds are x, in the log
// domain by enumeration: log-ratio of value 1 and 0.
std::vector<double> messages_by_enumeration(std::span<const double> log_table,
                                            std::span<const double> x, bool sums) {
  const std::size_t k = x.size();
  std::vector<double> result(k);
  for (std::size_t i = 0; i < k; ++i) {
    std::vector<double> terms[2];
    for (std::size_t state = 0; state < log_table.size(); ++state) {
      double term = log_table[state];
      for (std::size_t j = 0; j < k; ++j)
        if (j != i && (state >> (k - 1 - j) & 1)) term += x[j];
      terms[state >> (k - 1 - i) & 1].push_back(term);
    }
    const auto together = [&](const std::vector<double>& t) {
      return sums ? log_sum_exp(t) : *std::ranges::max_element(t);
    };
    result[i] = together(terms[1]) - together(terms[0]);
  }
  return result;
}

double log_mean(std::span<const double> log_table, std::span<const double> x) {
  std::vector<double> terms, norm;
  for (std::size_t state = 0; state < log_table.size(); ++state) {
    double said = 0;
    for (std::size_t j = 0; j < x.size(); ++j)
      if (state >> (x.size() - 1 - j) & 1) said += x[j];
    norm.push_back(said);
    terms.push_back(said + log_table[state]);
  }
  return log_sum_exp(terms) - log_sum_exp(norm);
}

std::vector<double> conjunction_table(std::size_t k, double weight) {
  std::vector<double> table(std::size_t{1} << k, 0.0);
  table.back() = weight;
  return table;
}

template <class Speak>
std::vector<double> spoken(const std::vector<double>& x, Speak&& speak) {
  MessageBuffer buffer(x.size());
  const auto view = buffer.view<double>();
  for (std::size_t i = 0; i < x.size(); ++i) view.x.set(i, x[i]);
  speak(view);
  std::vector<double> result;
  for (std::size_t i = 0; i < x.size(); ++i) result.push_back(view.x[i]);
  return result;
}

}  // namespace

TEST_CASE("conjunctions answer as sums over all states would, at any strength") {
  Dice dice(1);
  for (const std::size_t k : {2u, 3u, 5u, 9u})
    for (const double size : {0.1, 2.0, 40.0, 450.0})
      for (int round = 0; round < 20; ++round) {
        const double w = dice.between(-size, size);
        const auto x = dice.numbers(k, -size, size);
        const auto expected = messages_by_enumeration(conjunction_table(k, w), x, true);
        const auto plain = spoken(x, [&](const auto& view) {
          conjunction_messages(k, std::exp(std::min(w, 0.0)), std::exp(-std::max(w, 0.0)),
                               std::max(w, 0.0), view);
        });
        const auto logs =
            spoken(x, [&](const auto& view) { log_conjunction_messages<SumOfLogs>(k, w, view); });
        CHECK(distance(plain, expected) < 1e-12);
        CHECK(distance(logs, expected) < 1e-12);
        const auto best =
            spoken(x, [&](const auto& view) { log_conjunction_messages<MaxOfLogs>(k, w, view); });
        CHECK(distance(best, messages_by_enumeration(conjunction_table(k, w), x, false)) < 1e-12);
      }
}

TEST_CASE("in logarithms weights may be of any size") {
  const std::vector<double> x{1500, -900, 700};
  for (const double w : {-5000.0, 5000.0}) {
    const auto said =
        spoken(x, [&](const auto& view) { log_conjunction_messages<SumOfLogs>(3, w, view); });
    CHECK(distance(said, messages_by_enumeration(conjunction_table(3, w), x, true)) < 1e-12);
  }
}

TEST_CASE("tables answer as sums over all states would") {
  Dice dice(2);
  for (const std::size_t k : {2u, 3u, 4u})
    for (const double size : {0.1, 3.0, 200.0})
      for (int round = 0; round < 20; ++round) {
        const auto log_table = dice.numbers(std::size_t{1} << k, -size, 0);
        const auto x = dice.numbers(k, -size, size);
        auto table = log_table;
        for (double& e : table) e = std::exp(e);
        const auto plain = spoken(x, [&](const auto& view) {
          table_messages<PlainNumbers>(k, LaneView<double>(table.data()), view);
        });
        const auto sums = spoken(x, [&](const auto& view) {
          table_messages<LogNumbers<SumOfLogs>>(k, LaneView<double>(log_table.data()), view);
        });
        const auto best = spoken(x, [&](const auto& view) {
          table_messages<LogNumbers<MaxOfLogs>>(k, LaneView<double>(log_table.data()), view);
        });
        const auto expected = messages_by_enumeration(log_table, x, true);
        CHECK(distance(plain, expected) < 1e-12);
        CHECK(distance(sums, expected) < 1e-12);
        CHECK(distance(best, messages_by_enumeration(log_table, x, false)) < 1e-12);
      }
}

TEST_CASE("a factor's part of the Bethe estimate is its mean over those of its messages") {
  Dice dice(3);
  for (const std::size_t k : {2u, 3u, 4u}) {
    auto x = dice.numbers(k, -3, 3), messages = dice.numbers(k, -3, 3);
    double told = 0;
    for (std::size_t i = 0; i < k; ++i)
      told += log_mean(std::vector<double>{0.0, messages[i]}, std::span(x).subspan(i, 1));
    const LaneView<double> said(messages.data()), heard(x.data());
    for (const double w : {-2.5, 0.7, 30.0}) {
      const double expected = log_mean(conjunction_table(k, w), x) - told;
      CHECK(conjunction_bethe(k, std::exp(std::min(w, 0.0)), std::exp(-std::max(w, 0.0)),
                              std::max(w, 0.0), heard,
                              said) == doctest::Approx(expected).epsilon(1e-12));
      CHECK(log_conjunction_bethe(k, w, heard, messages) ==
            doctest::Approx(expected).epsilon(1e-12));
    }
    const auto log_table = dice.numbers(std::size_t{1} << k, -3, 0);
    auto table = log_table;
    for (double& e : table) e = std::exp(e);
    CHECK(table_bethe(k, LaneView<double>(table.data()), 0.25, heard, said) ==
          doctest::Approx(log_mean(log_table, x) - told + 0.25).epsilon(1e-12));
  }
}

TEST_CASE("contractions sum out one variable after the other") {
  Dice dice(4);
  const std::vector<std::size_t> cardinalities{3, 2, 4};
  const auto table = dice.numbers(24, 0.1, 2);
  const auto incoming = dice.numbers(9, 0.1, 1);
  std::vector<double> answers(9), expected(9, 0.0), rest, own;
  contract_to_each<PlainNumbers>(table, cardinalities, incoming, answers, rest, own);
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 2; ++b)
      for (std::size_t c = 0; c < 4; ++c) {
        const double e = table[(a * 2 + b) * 4 + c];
        expected[a] += e * incoming[3 + b] * incoming[5 + c];
        expected[3 + b] += e * incoming[a] * incoming[5 + c];
        expected[5 + c] += e * incoming[a] * incoming[3 + b];
      }
  CHECK(distance(answers, expected) < 1e-14);
  auto log_table = table, log_incoming = incoming;
  for (double& x : log_table) x = std::log(x);
  for (double& x : log_incoming) x = std::log(x);
  contract_to_each<LogNumbers<SumOfLogs>>(log_table, cardinalities, log_incoming, answers, rest,
                                          own);
  for (double& x : answers) x = std::exp(x);
  CHECK(distance(answers, expected) < 1e-14);
}

TEST_CASE("packs, on every instruction set, have the bits of single factors") {
  Dice dice(5);
  const MarkovNetwork network = higher_order_network(dice, binary_schema(6), 60, 5, 3);
  const FactorLayout layout(network.features());
  const FactorGraph graph(layout, network.weights());
  const auto& literals = graph.edge_literals();
  const auto odds = dice.numbers(layout.literals().size() + 1, -4, 4);
  const auto start = dice.numbers(literals.size(), -1, 1);
  std::vector<double> expected(start.size());
  std::set<FactorPack::Kind> kinds;
  for (const FactorPack& pack : graph.packs())
    for (std::size_t lane = 0; lane < kPackSize; ++lane) {
      kinds.insert(pack.kind);
      const double* c = graph.coefficients().data() + pack.first_coefficient + lane;
      const auto edge = [&](std::size_t i) { return (pack.first_edge + i) * kPackSize + lane; };
      std::vector<double> x, table;
      for (std::size_t i = 0; i < pack.length; ++i)
        x.push_back(odds[literals[edge(i)]] - start[edge(i)]);
      for (std::size_t e = 0; e < std::size_t{1} << pack.length; ++e)
        if (pack.kind == FactorPack::Kind::table) table.push_back(c[(1 + e) * kPackSize]);
      const auto said = spoken(x, [&](const auto& view) {
        if (pack.kind == FactorPack::Kind::table)
          table_messages<PlainNumbers>(pack.length, LaneView<double>(table.data()), view);
        else
          conjunction_messages(pack.length, c[kYes * kPackSize], c[kNo * kPackSize],
                               c[kShift * kPackSize], view);
      });
      for (std::size_t i = 0; i < pack.length; ++i)
        expected[edge(i)] = said[i] - (said[i] - start[edge(i)]) * 0.25;
    }
  CHECK(kinds.size() == 2);
  for (const SimdLevel level : simd_levels()) {
    auto messages = start;
    std::vector<double> sums(odds.size(), 0.0);
    MessageBuffer buffer(graph.longest());
    const PackSweep sweep{graph.packs(), literals.data(),    graph.coefficients().data(),
                          odds.data(),   messages.data(),    sums.data(),
                          0.25,          buffer.view<Pack>()};
    run_kernel<SpeakKernel>(level, &sweep);
    CHECK(same_bits(messages, expected));
  }
}

}  // namespace test_factor_messages
