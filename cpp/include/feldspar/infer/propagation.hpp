// Message passing on one factor graph: messages between factors and variables until they agree.
//
// Sum-product gives approximate marginals and the Bethe estimate of log Z, both exact where the
// factor graph has no cycles; max-product scores the values of each variable by the best state they
// occur in. Schedules:
// - synchronous: all messages are computed from those of the round before. An iteration costs an
//   exponential, a logarithm and a few products for each test of each active feature, four at a
//   time.
// - residual, after Elidan, McGraw and Koller (2006): the variable whose own messages changed most
//   since it last spoke speaks next; its factors pass that on and are heard at once. Needs fewer
//   messages where some parts settle before others, and converges more often; one message costs
//   more, and a factor of k variables sends k (k - 1) in a round. An iteration is as many variables
//   as there are.
// A message moves by (1 - damping) of the way to its new value. The run has converged when no
// message would move by more than `tolerance` (log-ratios of values; for the residual schedule a
// bound on it); else it ends after max_iterations or when the time is up. Weights of any size are
// safe.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/indexed_heap.hpp>
#include <feldspar/base/pack.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/infer/factor_graph.hpp>
#include <feldspar/infer/factor_messages.hpp>
#include <feldspar/infer/factor_neighbours.hpp>
#include <feldspar/infer/literals.hpp>
#include <feldspar/infer/marginals.hpp>
#include <feldspar/infer/pack_sweep.hpp>

namespace feldspar {

enum class Schedule : std::uint8_t { synchronous, residual };

constexpr std::string_view name(Schedule schedule) noexcept {
  return schedule == Schedule::synchronous ? "synchronous" : "residual";
}

// The schedule of that name.
inline Schedule schedule_named(std::string_view wanted) {
  for (const Schedule schedule : {Schedule::synchronous, Schedule::residual})
    if (name(schedule) == wanted) return schedule;
  throw InvalidInput(concat("schedule must be 'synchronous' or 'residual', got '", wanted, "'"));
}

struct BeliefPropagationOptions {
  Schedule schedule = Schedule::synchronous;
  double damping = 0.0;  // share of the old message that is kept
  std::int32_t max_iterations = 1000;
  double tolerance = 1e-6;
  double max_seconds = std::numeric_limits<double>::infinity();

  void check() const {
    require(damping >= 0 && damping < 1, "damping must be at least 0 and below 1, got ", damping);
    require(max_iterations >= 0, "max_iterations must not be negative, got ", max_iterations);
    require(tolerance > 0, "tolerance must be positive, got ", tolerance);
    require(max_seconds > 0, "max_seconds must be positive, got ", max_seconds);
  }
};

// Message passing on one factor graph, of which it keeps a reference. `Logs` is SumOfLogs or
// MaxOfLogs.
template <class Logs>
class Propagation {
 public:
  Propagation(const FactorGraph& graph, const BeliefPropagationOptions& options)
      : graph_(graph),
        options_(options),
        messages_(graph.edge_literals().size(), 0.0),
        table_messages_(graph.n_table_messages(), 0.0),
        literal_sums_(graph.layout().literals().size() + 1, 0.0),
        table_sums_(graph.unary().size(), 0.0),
        totals_(graph.unary().size()),
        odds_(literal_sums_.size(), 0.0),
        buffer_(graph.longest()) {
    refresh_all();
  }
  Propagation(const Propagation&) = delete;  // single_ looks into buffer_
  Propagation& operator=(const Propagation&) = delete;

  RowDiagnostics run(const StopSign& stop) {
    if (graph_.n_factors() == 0) return {RowStatus::converged, 0, 0.0};
    return options_.schedule == Schedule::synchronous ? run_synchronous(stop) : run_residual(stop);
  }

  // For every value of every variable, the sum of all that speaks for it (logarithms), and of every
  // literal the log-odds that follow.
  const std::vector<double>& totals() const noexcept { return totals_; }
  const std::vector<double>& odds() const noexcept { return odds_; }

  // The messages, laid out as the graph's edge_literals and as its tables' messages. Those of an
  // earlier run are a better start than none.
  const std::vector<double>& packed_messages() const noexcept { return messages_; }
  const std::vector<double>& unpacked_messages() const noexcept { return table_messages_; }
  void start_from(std::vector<double> messages, std::vector<double> table_messages);

  // Sum-product only: the normalised totals, and the Bethe estimate of log Z.
  std::vector<double> probabilities() const;
  double bethe_log_partition();

 private:
  using Kind = FactorPack::Kind;

  RowDiagnostics run_synchronous(const StopSign& stop);
  RowDiagnostics run_residual(const StopSign& stop);
  double sweep();
  double speak_single(const FactorPack& pack, std::size_t lane);
  double pass_on(const FactorNeighbours& factors, std::size_t f, Variable teller);
  void hear(const FactorPack& pack, std::size_t lane);
  void answer(const FactorPack& pack, std::size_t lane);
  void answer_table(const TableFactor& table);
  void hear_table(const TableFactor& table, bool plain);
  double move_table_messages(const TableFactor& table);
  double bethe_of_table(const TableFactor& table);
  PackSweep pack_sweep() {
    return {graph_.packs(),
            graph_.edge_literals().data(),
            graph_.coefficients().data(),
            odds_.data(),
            messages_.data(),
            literal_sums_.data(),
            options_.damping,
            buffer_.view<Pack>()};
  }

  std::span<double> values_of(Variable v, std::vector<double>& all) const {
    const auto& offsets = graph_.layout().offsets();
    return {all.data() + offsets[v], offsets[v + 1] - offsets[v]};
  }
  void add_up_tables();
  void refresh(Variable v);
  void refresh_all() {
    for (Variable v = 0; v < graph_.schema().n_variables(); ++v) refresh(v);
  }
  static double combine(std::span<const double> logs);

  const FactorGraph& graph_;
  BeliefPropagationOptions options_;
  std::vector<double> messages_;        // by edge: to the values that pass; the others get 0
  std::vector<double> table_messages_;  // relative to that of a variable's first value
  std::vector<double> literal_sums_;    // of the messages to each; the last is for empty lanes
  std::vector<double> table_sums_;      // of the tables' messages to each value
  std::vector<double> totals_;
  std::vector<double> odds_;  // of each literal, from the totals
  MessageBuffer buffer_;
  const MessageBuffer::View<double> single_ = buffer_.view<double>();
  std::vector<double> incoming_, answers_, rest_, own_;  // of one table
  std::vector<std::size_t> cardinalities_;
  // The residual schedule's notes: what the last factor changed, and what the queue has not heard of.
  std::vector<std::pair<Variable, double>> changes_;
  std::vector<double> unqueued_ = std::vector<double>(graph_.schema().n_variables(), 0.0);
};

// All alternatives together.
template <class Logs>
double Propagation<Logs>::combine(std::span<const double> logs) {
  const double top = *std::ranges::max_element(logs);
  if constexpr (!Logs::kSums) return top;
  double sum = 0;
  for (const double x : logs) sum += std::exp(x - top);
  return top + std::log(sum);
}

// The totals of one variable and the odds of its literals.
template <class Logs>
void Propagation<Logs>::refresh(Variable v) {
  const Literals& literals = graph_.layout().literals();
  const std::size_t offset = graph_.layout().offsets()[v];
  const auto own = values_of(v, totals_);
  for (std::size_t a = 0; a < own.size(); ++a)
    own[a] = graph_.unary()[offset + a] + table_sums_[offset + a];
  if (own.size() == 2) {
    const LiteralId zero = literals.first(v), one = zero + 1;
    own[0] += literal_sums_[zero];
    own[1] += literal_sums_[one];
    odds_[zero] = own[0] - own[1];
    odds_[one] = own[1] - own[0];
    return;
  }
  for (LiteralId l = literals.first(v); l < literals.first(v + 1); ++l)
    for (const Value a : literals.values(l)) own[a] += literal_sums_[l];
  std::vector<double> passing, failing;
  for (LiteralId l = literals.first(v); l < literals.first(v + 1); ++l) {
    passing.clear();
    failing.clear();
    auto next = literals.values(l).begin();
    for (std::size_t a = 0; a < own.size(); ++a) {
      const bool passes = next != literals.values(l).end() && *next == a;
      (passes ? passing : failing).push_back(own[a]);
      if (passes) ++next;
    }
    odds_[l] = combine(passing) - combine(failing);
  }
}

template <class Logs>
void Propagation<Logs>::start_from(std::vector<double> messages,
                                   std::vector<double> table_messages) {
  messages_ = std::move(messages);
  table_messages_ = std::move(table_messages);
  std::ranges::fill(literal_sums_, 0.0);
  for (std::size_t edge = 0; edge < messages_.size(); ++edge)
    literal_sums_[graph_.edge_literals()[edge]] += messages_[edge];
  add_up_tables();
  refresh_all();
}

template <class Logs>
void Propagation<Logs>::add_up_tables() {
  std::ranges::fill(table_sums_, 0.0);
  for (const TableFactor& table : graph_.tables()) {
    std::size_t next = table.first_message;
    for (const Variable v : table.layout->variables)
      for (double& sum : values_of(v, table_sums_)) sum += table_messages_[next++];
  }
}

template <class Logs>
void Propagation<Logs>::hear(const FactorPack& pack, std::size_t lane) {
  for (std::size_t i = 0; i < pack.length; ++i) {
    const std::size_t edge = (pack.first_edge + i) * kPackSize + lane;
    single_.x.set(i, odds_[graph_.edge_literals()[edge]] - messages_[edge]);
  }
}

// The new messages of one factor, from what it heard.
template <class Logs>
void Propagation<Logs>::answer(const FactorPack& pack, std::size_t lane) {
  const double* c = graph_.coefficients().data() + pack.first_coefficient + lane;
  const bool plain = Logs::kSums && pack.kind != Kind::strong_conjunction;
  if (pack.kind == Kind::table) {
    const std::size_t size = std::size_t{1} << pack.length;
    std::array<double, std::size_t{1} << kMaxPackedVariables> entries;
    for (std::size_t e = 0; e < size; ++e) entries[e] = c[(1 + e + (plain ? 0 : size)) * kPackSize];
    const LaneView<double> table(entries.data());
    if (plain)
      table_messages<PlainNumbers>(pack.length, table, single_);
    else
      table_messages<LogNumbers<Logs>>(pack.length, table, single_);
  } else if (plain) {
    conjunction_messages(pack.length, c[kYes * kPackSize], c[kNo * kPackSize],
                         c[kShift * kPackSize], single_);
  } else {
    log_conjunction_messages<Logs>(pack.length, c[kWeight * kPackSize], single_);
  }
}

template <class Logs>
double Propagation<Logs>::speak_single(const FactorPack& pack, std::size_t lane) {
  hear(pack, lane);
  answer(pack, lane);
  double most = 0;
  for (std::size_t i = 0; i < pack.length; ++i) {
    const std::size_t edge = (pack.first_edge + i) * kPackSize + lane;
    const double change = single_.x[i] - messages_[edge];
    messages_[edge] = single_.x[i] - change * options_.damping;
    literal_sums_[graph_.edge_literals()[edge]] += messages_[edge];
    most = std::max(most, std::abs(change));
  }
  return most;
}

// What the variables tell a table, as probabilities or as their logarithms.
template <class Logs>
void Propagation<Logs>::hear_table(const TableFactor& table, bool plain) {
  incoming_.clear();
  cardinalities_.clear();
  for (const Variable v : table.layout->variables) {
    const std::size_t first = incoming_.size();
    for (const double total : values_of(v, totals_)) {
      incoming_.push_back(total - table_messages_[table.first_message + incoming_.size()]);
    }
    const auto own = std::span(incoming_).subspan(first);
    cardinalities_.push_back(own.size());
    const double norm = combine(own);
    for (double& x : own) x = plain ? std::exp(x - norm) : x - norm;
  }
}

template <class Logs>
void Propagation<Logs>::answer_table(const TableFactor& table) {
  const bool plain = Logs::kSums && table.plain;
  hear_table(table, plain);
  answers_.resize(incoming_.size());
  const auto& entries = plain ? graph_.entries() : graph_.log_entries();
  const std::span own(entries.data() + table.first_entry, table.layout->n_entries);
  if (plain) {
    contract_to_each<PlainNumbers>(own, cardinalities_, incoming_, answers_, rest_, own_);
    for (double& x : answers_) x = std::log(x);
  } else {
    contract_to_each<LogNumbers<Logs>>(own, cardinalities_, incoming_, answers_, rest_, own_);
  }
  std::size_t first = 0;
  for (const std::size_t cardinality : cardinalities_) {
    const double base = answers_[first];
    for (std::size_t a = 0; a < cardinality; ++a) answers_[first + a] -= base;
    first += cardinality;
  }
}

// Moves a table's messages to its answers; returns the largest change.
template <class Logs>
double Propagation<Logs>::move_table_messages(const TableFactor& table) {
  double most = 0;
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    double& message = table_messages_[table.first_message + i];
    const double change = answers_[i] - message;
    most = std::max(most, std::abs(change));
    message = answers_[i] - change * options_.damping;
  }
  return most;
}

// All factors speak, all at once; returns the largest change.
template <class Logs>
double Propagation<Logs>::sweep() {
  std::ranges::fill(literal_sums_, 0.0);
  double most = 0;
  if constexpr (Logs::kSums) {
    const PackSweep s = pack_sweep();
    most = run_kernel<SpeakKernel>(simd_level(), &s);
  }
  for (const FactorPack& pack : graph_.packs())
    if (!Logs::kSums || pack.kind == Kind::strong_conjunction)
      for (std::size_t lane = 0; lane < pack.n_factors; ++lane)
        most = std::max(most, speak_single(pack, lane));
  for (const TableFactor& table : graph_.tables()) {
    answer_table(table);
    most = std::max(most, move_table_messages(table));
  }
  add_up_tables();
  refresh_all();
  return most;
}

template <class Logs>
RowDiagnostics Propagation<Logs>::run_synchronous(const StopSign& stop) {
  RowDiagnostics result{RowStatus::max_iterations, 0, std::numeric_limits<double>::infinity()};
  while (result.iterations < options_.max_iterations) {
    stop.throw_if_interrupted();
    if (stop.out_of_time()) {
      result.status = RowStatus::time_limit;
      return result;
    }
    result.residual = sweep();
    ++result.iterations;
    if (result.residual <= options_.tolerance) {
      result.status = RowStatus::converged;
      return result;
    }
  }
  return result;
}

// Lets factor f tell all its variables but `teller` what follows from what that one says now, and
// be heard at once. Notes the changes; returns how far damping kept a message from where it should be.
template <class Logs>
double Propagation<Logs>::pass_on(const FactorNeighbours& factors, std::size_t f, Variable teller) {
  double most = 0;
  if (factors.is_table(f)) {
    const TableFactor& table = factors.table(f);
    answer_table(table);
    std::size_t next = 0;
    for (const Variable v : table.layout->variables) {
      double low = 0, high = 0;
      for (double& sum : values_of(v, table_sums_)) {
        double& message = table_messages_[table.first_message + next];
        const double wanted = v == teller ? 0.0 : answers_[next] - message;
        const double change = wanted * (1 - options_.damping);
        ++next;
        message += change;
        sum += change;
        low = std::min(low, change);
        high = std::max(high, change);
        most = std::max(most, std::abs(wanted));
      }
      changes_.emplace_back(v, high - low);
    }
  } else {
    const FactorPack& pack = factors.pack(f);
    hear(pack, factors.lane(f));
    answer(pack, factors.lane(f));
    for (std::size_t i = 0; i < pack.length; ++i) {
      const std::size_t edge = (pack.first_edge + i) * kPackSize + factors.lane(f);
      const LiteralId literal = graph_.edge_literals()[edge];
      const Variable v = graph_.layout().literals().variable(literal);
      if (v == teller) continue;
      const double wanted = single_.x[i] - messages_[edge];
      const double change = wanted * (1 - options_.damping);
      messages_[edge] += change;
      literal_sums_[literal] += change;
      most = std::max(most, std::abs(wanted));
      changes_.emplace_back(v, std::abs(change));
    }
  }
  return options_.damping * most;
}

// The priority of a variable is how much what it says has changed since it last spoke. No message
// would move by more than the sum of the priorities of its factor's variables.
template <class Logs>
RowDiagnostics Propagation<Logs>::run_residual(const StopSign& stop) {
  const FactorNeighbours factors(graph_);
  const std::size_t n = graph_.schema().n_variables();
  const double most_variables = static_cast<double>(factors.most_variables());
  IndexedHeap queue(n, std::numeric_limits<double>::infinity());
  RowStatus status = RowStatus::max_iterations;
  double spoken = 0;
  const double limit = static_cast<double>(options_.max_iterations) * static_cast<double>(n);
  for (; spoken < limit; ++spoken) {
    stop.throw_if_interrupted();
    if (stop.out_of_time()) {
      status = RowStatus::time_limit;
      break;
    }
    const auto teller = static_cast<Variable>(queue.top());
    if (most_variables * queue.priority(teller) <= options_.tolerance) {
      status = RowStatus::converged;
      break;
    }
    double left = 0;
    for (const std::size_t f : factors.factors_of(teller)) {
      changes_.clear();
      left = std::max(left, pass_on(factors, f, teller));
      for (const auto& [v, change] : changes_) {
        if (change == 0) continue;
        refresh(v);
        unqueued_[v] += change;
      }
    }
    queue.change(teller, left);
    for (const Variable v : factors.neighbours_of(teller))
      if (unqueued_[v] > 0) queue.change(v, queue.priority(v) + std::exchange(unqueued_[v], 0.0));
  }
  const double rounds = std::ceil(spoken / static_cast<double>(n));
  return {status, static_cast<std::int32_t>(rounds), most_variables * queue.priority(queue.top())};
}

template <class Logs>
std::vector<double> Propagation<Logs>::probabilities() const {
  static_assert(Logs::kSums);
  const auto& offsets = graph_.layout().offsets();
  std::vector<double> result = totals_;
  for (Variable v = 0; v < graph_.schema().n_variables(); ++v) {
    const auto own = std::span(result).subspan(offsets[v], offsets[v + 1] - offsets[v]);
    const double norm = combine(own);
    for (double& x : own) x = std::exp(x - norm);
  }
  return result;
}

// sum_v log Z_v + sum_f (log Z_f - sum_{v in f} log Z_fv): for a variable the sum of the exponentials
// of its totals, for a factor and a message their means under what the variables say.
template <class Logs>
double Propagation<Logs>::bethe_log_partition() {
  static_assert(Logs::kSums);
  double result = 0;
  for (Variable v = 0; v < graph_.schema().n_variables(); ++v)
    result += combine(values_of(v, totals_));
  const PackSweep s = pack_sweep();
  result += run_kernel<BetheKernel>(simd_level(), &s);
  for (const FactorPack& pack : graph_.packs()) {
    if (pack.kind != Kind::strong_conjunction) continue;
    for (std::size_t lane = 0; lane < pack.n_factors; ++lane) {
      hear(pack, lane);
      std::vector<double> said;
      for (std::size_t i = 0; i < pack.length; ++i)
        said.push_back(messages_[(pack.first_edge + i) * kPackSize + lane]);
      const double weight =
          graph_.coefficients()[pack.first_coefficient + kWeight * kPackSize + lane];
      result += log_conjunction_bethe(pack.length, weight, single_.x, said);
    }
  }
  for (const TableFactor& table : graph_.tables()) result += bethe_of_table(table);
  return result;
}

template <class Logs>
double Propagation<Logs>::bethe_of_table(const TableFactor& table) {
  hear_table(table, /*plain=*/false);
  const auto first_entry =
      graph_.log_entries().begin() + static_cast<std::ptrdiff_t>(table.first_entry);
  std::vector<double> rest(first_entry,
                           first_entry + static_cast<std::ptrdiff_t>(table.layout->n_entries));
  std::size_t next = 0;
  double messages = 0;
  std::vector<double> products;
  for (const std::size_t cardinality : cardinalities_) {
    const auto own = std::span(incoming_).subspan(next, cardinality);
    products.assign(own.begin(), own.end());
    for (double& x : products) x += table_messages_[table.first_message + next++];
    messages += combine(products);
    contract_first<LogNumbers<Logs>>(rest, own);
  }
  return rest.front() - messages;
}

}  // namespace feldspar
