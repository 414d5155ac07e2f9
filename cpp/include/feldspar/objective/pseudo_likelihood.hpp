// The pseudo-log-likelihood of a feature set's weights on a data set, with gradient:
//
//   PLL(w) = sum over rows r and variables v of weight_r * log P_w(X_v = x_rv | the rest of row r)
//
// (a sum, not a mean, and without any prior). The constructor indexes the features once;
// value_and_gradient is then called many times. The weights are first summed into *slots*, one for
// each (variable, context, margin); margins of all examples come from the slots through the wide
// index, the variables' narrow indexes, or both; the derivative goes the same way back.
//
// Threads: tasks are tiles of columns (and blocks of rows) of the wide part, and variables of the
// narrow part. Each writes its own slots and sums are added in task order, so the result does not
// depend on the number of threads. Two evaluations of one PseudoLikelihood at the same time wait
// for each other (it owns its buffers).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/context_table.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/objective/index_plan.hpp>
#include <feldspar/objective/logistic.hpp>
#include <feldspar/objective/narrow_index.hpp>
#include <feldspar/objective/preconditioner.hpp>
#include <feldspar/objective/slot_map.hpp>
#include <feldspar/objective/wide_index.hpp>

namespace feldspar {

// What the index looks like, for benchmarks and reports.
struct IndexStatistics {
  std::size_t n_contexts = 0;
  std::size_t n_wide_contexts = 0;
  std::size_t n_wide_variables = 0;
  std::size_t n_wide_lookups = 0;  // of kLanes numbers, for each tile
  std::size_t n_tiles = 0;
  std::size_t n_narrow_lookups = 0;  // of one margin vector, each there and back
  std::size_t n_narrow_patterns = 0;
  std::size_t bytes = 0;
};

class PseudoLikelihood {
 public:
  // To score with, geometry() is not needed, and half the time of indexing goes into it.
  enum class Use { learning, scoring };

  PseudoLikelihood(const FeatureSet& features, const Dataset& data, const Execution& execution = {},
                   const PlanOptions& options = {}, Use use = Use::learning);

  // For rows with missing entries: the terms of each variable from data of its own, those rows on
  // which it and all variables that it shares features with are known (all else may hold anything).
  // A variable without data (nullptr) has no terms. total_weight() is that of the largest data.
  PseudoLikelihood(const FeatureSet& features, std::span<const Dataset* const> data_of_variable,
                   const Execution& execution = {});

  std::size_t n_features() const noexcept { return n_features_; }
  double total_weight() const noexcept { return total_weight_; }
  std::size_t n_variables() const noexcept { return narrow_.size(); }

  // Returns PLL(weights) and overwrites `gradient`.
  double value_and_gradient(std::span<const double> weights, std::span<double> gradient,
                            const Execution& execution = {});

  // Curvatures and parts of the features, for preconditioning.
  const FeatureGeometry& geometry() const {
    require(geometry_.n_features() == n_features_,
            "the pseudo-likelihood was made for scoring; weights cannot be learned with it");
    return geometry_;
  }

  IndexStatistics statistics() const;

  // Kernels of a chosen instruction set, for tests and benchmarks.
  void use_simd(SimdLevel level) noexcept { simd_ = level; }

 private:
  struct Range {
    std::size_t first, last;
  };
  struct Column {
    Variable variable;
    std::uint32_t lane;  // of the variable's first margin
  };
  struct MultiValued {
    Column column;
    std::vector<Value> codes;  // by row
  };
  struct Tile {
    std::vector<Column> columns;
    std::vector<MultiValued> multi_valued;  // those of the columns with more than two values
    std::vector<std::uint16_t>
        observed;                    // by row: bit k is the value of the binary variable in lane k
    std::vector<double> lane_scale;  // 1 where a lane holds a binary variable
  };
  struct Scratch {
    std::vector<double> margins, table;
  };

  void lay_out(const FeatureSet& features, const ContextTable& table, const IndexPlan& plan);
  void build_narrow(const FeatureSet& features, const ContextTable& table,
                    std::span<const Dataset* const> data_of_variable, const Execution& execution);
  void build_tiles(const Dataset& data, const IndexPlan& plan);
  void cut_rows(std::size_t n_rows);

  double evaluate_narrow_variables(std::span<const double> weights, const Execution& execution);
  void fill_narrow_slots(Variable v, std::span<const double> weights);
  double evaluate_narrow(Variable v, std::span<const double> weights);
  void expand_narrow_margins(Variable v, std::span<const double> weights);
  void collect_narrow_gradient(Variable v);
  double evaluate_tile(std::size_t t, std::size_t block);
  void start_margins(const Tile& tile, Range rows, double* margins) const;
  double observe(const Tile& tile, Range rows, double* margins) const;
  void finish_margins(const Tile& tile, Range rows, const double* margins,
                      std::span<double> bias_gradient);
  void add_row_blocks(std::size_t tile);

  bool has_exchange(Variable v) const noexcept { return !exchange_[v].empty(); }

  // A stack of buffers, as many as there are threads at work.
  Scratch take_scratch() {
    const std::lock_guard lock(scratch_mutex_);
    if (scratch_.empty()) return {};
    Scratch scratch = std::move(scratch_.back());
    scratch_.pop_back();
    return scratch;
  }
  void give_back(Scratch scratch) {
    const std::lock_guard lock(scratch_mutex_);
    scratch_.push_back(std::move(scratch));
  }

  std::size_t n_features_ = 0;
  double total_weight_ = 0;
  std::vector<double> row_weights_;
  FeatureGeometry geometry_;
  SimdLevel simd_ = simd_level();

  SlotMap slots_;
  WideIndex wide_;
  std::vector<Tile> tiles_;
  std::vector<Range> row_blocks_;
  std::vector<NarrowIndex> narrow_;    // by variable
  std::vector<bool> is_wide_;          // by variable
  std::vector<Variable> narrow_only_;  // variables without wide contexts
  std::vector<Range> narrow_tasks_;    // of them
  std::vector<Variable> mixed_;        // variables with wide and narrow contexts
  std::vector<std::size_t> width_;     // margins of each variable
  std::size_t n_contexts_ = 0;

  // Buffers of an evaluation.
  std::vector<double> u_, du_;  // by slot
  // By (tile, row block): derivatives of the wide contexts over the rows of a block but the first,
  // whose are in du_ at once; and of the biases, kLanes each.
  std::vector<std::vector<double>> partial_du_;
  std::vector<double> bias_du_;
  // By variable with both wide and narrow contexts: every row's narrow margins, then their
  // derivatives.
  std::vector<std::vector<double>> exchange_;
  std::mutex evaluation_mutex_;
  std::mutex scratch_mutex_;
  std::vector<Scratch> scratch_;
};

inline PseudoLikelihood::PseudoLikelihood(const FeatureSet& features, const Dataset& data,
                                          const Execution& execution, const PlanOptions& options,
                                          Use use)
    : n_features_(features.size()),
      total_weight_(data.total_weight()),
      row_weights_(data.weights().begin(), data.weights().end()) {
  require(features.schema() == data.schema(),
          "features and data: their variables or numbers of values differ");
  const ContextTable table(features);
  const IndexPlan plan = plan_index(features, table, data, options, execution);
  lay_out(features, table, plan);
  wide_ = WideIndex(features, table, data, plan.wide_contexts, execution);
  build_narrow(features, table, std::vector<const Dataset*>(data.n_variables(), &data), execution);
  build_tiles(data, plan);
  cut_rows(data.n_rows());
  if (use == Use::learning) geometry_ = FeatureGeometry(features, table, data, execution);
}

inline PseudoLikelihood::PseudoLikelihood(const FeatureSet& features,
                                          std::span<const Dataset* const> data_of_variable,
                                          const Execution& execution)
    : n_features_(features.size()) {
  const Schema& schema = features.schema();
  require(data_of_variable.size() == schema.n_variables(), "data: got ", data_of_variable.size(),
          " for ", schema.n_variables(), " variables");
  const Dataset* largest = nullptr;
  for (const Dataset* data : data_of_variable) {
    if (data == nullptr) continue;
    require(schema == data->schema(),
            "features and data: their variables or numbers of values differ");
    if (largest == nullptr || data->total_weight() > largest->total_weight()) largest = data;
  }
  require(largest != nullptr, "data: no variable has any");
  total_weight_ = largest->total_weight();
  const ContextTable table(features);
  // Wide indexes serve many variables on the same rows; here each variable has its own.
  lay_out(features, table,
          plan_index(features, table, *largest, {PlanOptions::Wide::never}, execution));
  build_narrow(features, table, data_of_variable, execution);
  geometry_ = FeatureGeometry(features, table, *largest, execution);
}

inline void PseudoLikelihood::lay_out(const FeatureSet& features, const ContextTable& table,
                                      const IndexPlan& plan) {
  n_contexts_ = table.size();
  slots_ = SlotMap(features, table, plan);
  for (Variable v = 0; v < features.schema().n_variables(); ++v) {
    is_wide_.push_back(plan.columns[v].is_wide());
    width_.push_back(features.schema().cardinality(v) - 1u);
  }
  u_.resize(slots_.n_slots());
  du_.resize(slots_.n_slots());
}

inline void PseudoLikelihood::build_narrow(const FeatureSet& features, const ContextTable& table,
                                           std::span<const Dataset* const> data_of_variable,
                                           const Execution& execution) {
  const std::size_t n_variables = data_of_variable.size();
  narrow_.resize(n_variables);
  exchange_.resize(n_variables);
  parallel_for(n_variables, execution, [&](std::size_t i) {
    const auto v = static_cast<Variable>(i);
    const Dataset* data = data_of_variable[v];
    const auto contexts = slots_.narrow_contexts(v);
    if (data == nullptr || (is_wide_[v] && contexts.empty())) return;
    narrow_[v] = NarrowIndex(features, table, *data, v, contexts, is_wide_[v]);
    if (is_wide_[v]) exchange_[v].resize(data->n_rows() * width_[v]);
  });
  for (Variable v = 0; v < n_variables; ++v) {
    if (has_exchange(v)) mixed_.push_back(v);
    if (!is_wide_[v] && width_[v] > 0 && data_of_variable[v] != nullptr) narrow_only_.push_back(v);
  }
  execution.throw_if_stopped();
  // The longest tasks first, so that no thread waits for one begun last; small ones together, so
  // that taking a task is little beside doing it.
  const auto work = [&](Variable v) { return narrow_[v].n_lookups() + narrow_[v].n_patterns(); };
  std::ranges::stable_sort(narrow_only_, std::greater<>{}, work);
  constexpr std::size_t kWorth = 8192;  // about ten microseconds
  std::size_t begun = kWorth;           // the last task's work so far
  for (std::size_t i = 0; i < narrow_only_.size(); ++i) {
    if (begun >= kWorth) {
      narrow_tasks_.push_back({i, i});
      begun = 0;
    }
    narrow_tasks_.back().last = i + 1;
    begun += work(narrow_only_[i]);
  }
}

inline void PseudoLikelihood::build_tiles(const Dataset& data, const IndexPlan& plan) {
  tiles_.resize(plan.n_tiles);
  for (Tile& tile : tiles_) {
    tile.observed.assign(data.n_rows(), 0);
    tile.lane_scale.assign(kLanes, 0.0);
  }
  for (Variable v = 0; v < data.n_variables(); ++v) {
    if (!is_wide_[v]) continue;
    const auto [t, lane] = plan.columns[v];
    Tile& tile = tiles_[t];
    tile.columns.push_back({v, lane});
    if (width_[v] == 1) {
      tile.lane_scale[lane] = 1.0;
      for_each_bit(data.columns().slice(v, 0), [&](std::size_t r) {
        tile.observed[r] = static_cast<std::uint16_t>(tile.observed[r] | (1u << lane));
      });
    } else {
      tile.multi_valued.push_back({{v, lane}, data.columns().codes(v)});
    }
  }
}

// Rows are cut only where there are too few tiles to keep threads busy; never by the number of
// threads.
inline void PseudoLikelihood::cut_rows(std::size_t n_rows) {
  constexpr std::size_t kWantedTasks = 4, kMinRows = 1024;
  const std::size_t wanted = (kWantedTasks + tiles_.size()) / (tiles_.size() + 1);
  const std::size_t n_blocks = std::clamp<std::size_t>(n_rows / kMinRows, 1, wanted);
  for (std::size_t b = 0; b < n_blocks; ++b)
    row_blocks_.push_back({n_rows * b / n_blocks, n_rows * (b + 1) / n_blocks});
  partial_du_.resize(tiles_.size() * n_blocks);
  for (std::size_t i = 0; i < partial_du_.size(); ++i)
    if (i % n_blocks > 0) partial_du_[i].resize(wide_.n_contexts() * kLanes);
  bias_du_.resize(tiles_.size() * n_blocks * kLanes);
}

inline double PseudoLikelihood::value_and_gradient(std::span<const double> weights,
                                                   std::span<double> gradient,
                                                   const Execution& execution) {
  require(weights.size() == n_features_, "weights: got ", weights.size(), " for ", n_features_,
          " features");
  require(gradient.size() == n_features_, "gradient: got room for ", gradient.size(), " of ",
          n_features_, " features");
  const std::lock_guard evaluation(evaluation_mutex_);
  // The slots that variables share; each fills its own when its turn comes.
  slots_.spread(weights, std::span(u_).first(slots_.first_narrow()), execution);

  double value = evaluate_narrow_variables(weights, execution);
  parallel_for(mixed_.size(), execution,
               [&](std::size_t i) { expand_narrow_margins(mixed_[i], weights); });
  const std::size_t n_blocks = row_blocks_.size();
  value += parallel_sum(tiles_.size() * n_blocks, execution,
                        [&](std::size_t i) { return evaluate_tile(i / n_blocks, i % n_blocks); });
  for (std::size_t t = 0; t < tiles_.size(); ++t) add_row_blocks(t);
  parallel_for(mixed_.size(), execution,
               [&](std::size_t i) { collect_narrow_gradient(mixed_[i]); });
  slots_.collect(du_, gradient, execution);
  execution.throw_if_stopped();
  return value;
}

inline double PseudoLikelihood::evaluate_narrow_variables(std::span<const double> weights,
                                                          const Execution& execution) {
  std::vector<double> values(narrow_only_.size(), 0.0);
  parallel_for(narrow_tasks_.size(), execution, [&](std::size_t task) {
    for (std::size_t i = narrow_tasks_[task].first; i < narrow_tasks_[task].last; ++i)
      values[i] = evaluate_narrow(narrow_only_[i], weights);
  });
  return std::accumulate(values.begin(), values.end(), 0.0);
}

inline void PseudoLikelihood::fill_narrow_slots(Variable v, std::span<const double> weights) {
  const std::size_t first = slots_.narrow(v);
  slots_.spread(weights, u_, first, first + narrow_[v].n_contexts() * width_[v]);
}

// Margins, log-likelihood and slot derivatives of a variable without wide contexts.
inline double PseudoLikelihood::evaluate_narrow(Variable v, std::span<const double> weights) {
  const std::size_t width = width_[v];
  const NarrowIndex& index = narrow_[v];
  fill_narrow_slots(v, weights);
  const std::size_t n = index.n_patterns();
  const std::span<const double> bias(u_.data() + slots_.bias(v), width);
  const std::span<const double> u(u_.data() + slots_.narrow(v), index.n_contexts() * width);
  Scratch scratch = take_scratch();
  scratch.margins.resize((n + 1) * width);
  const std::span<double> margins(scratch.margins);
  index.margins(u, width, margins, scratch.table);

  double* bias_gradient = du_.data() + slots_.bias(v);
  const double value = index.with_value_weights([&](auto value_weights) {
    const auto* counts = value_weights.data();
    if (width == 1) {
      for (std::size_t p = 0; p < n; ++p) margins[p] += bias[0];
      const double sum = logistic_counts(simd_, margins.first(n), counts + n, counts);
      bias_gradient[0] = detail::add_up(margins.data(), n);
      return sum;
    }
    double sum = 0;
    std::fill_n(bias_gradient, width, 0.0);
    for (std::size_t p = 0; p < n; ++p) {
      double* own = &margins[p * width];
      for (std::size_t k = 0; k < width; ++k) own[k] += bias[k];
      sum += softmax_counts(own, width, counts + p * (width + 1));
      for (std::size_t k = 0; k < width; ++k) bias_gradient[k] += own[k];
    }
    return sum;
  });
  index.gradient(margins, width, {du_.data() + slots_.narrow(v), u.size()}, scratch.table);
  give_back(std::move(scratch));
  return value;
}

inline void PseudoLikelihood::expand_narrow_margins(Variable v, std::span<const double> weights) {
  const std::size_t width = width_[v];
  const NarrowIndex& index = narrow_[v];
  fill_narrow_slots(v, weights);
  Scratch scratch = take_scratch();
  scratch.margins.resize(index.n_patterns() * width);
  index.margins({u_.data() + slots_.narrow(v), index.n_contexts() * width}, width, scratch.margins,
                scratch.table);
  const auto pattern = index.pattern_of_row();
  for (std::size_t r = 0; r < pattern.size(); ++r)
    for (std::size_t k = 0; k < width; ++k)
      exchange_[v][r * width + k] = scratch.margins[pattern[r] * width + k];
  give_back(std::move(scratch));
}

inline void PseudoLikelihood::collect_narrow_gradient(Variable v) {
  const std::size_t width = width_[v];
  const NarrowIndex& index = narrow_[v];
  Scratch scratch = take_scratch();
  scratch.margins.assign((index.n_patterns() + 1) * width, 0.0);
  const auto pattern = index.pattern_of_row();
  for (std::size_t r = 0; r < pattern.size(); ++r)
    for (std::size_t k = 0; k < width; ++k)
      scratch.margins[pattern[r] * width + k] += exchange_[v][r * width + k];
  index.gradient(scratch.margins, width,
                 {du_.data() + slots_.narrow(v), index.n_contexts() * width}, scratch.table);
  give_back(std::move(scratch));
}

// One tile over one block of rows.
inline double PseudoLikelihood::evaluate_tile(std::size_t t, std::size_t block) {
  const Tile& tile = tiles_[t];
  const Range rows = row_blocks_[block];
  const std::size_t task = t * row_blocks_.size() + block;
  const std::size_t n = rows.last - rows.first;
  Scratch scratch = take_scratch();
  scratch.margins.resize(n * kLanes);
  double* margins = scratch.margins.data();
  start_margins(tile, rows, margins);
  wide_.add_margins(simd_, u_.data() + slots_.tile(t), rows.first, rows.last, margins,
                    scratch.table);
  const double value = observe(tile, rows, margins);
  finish_margins(tile, rows, margins, {bias_du_.data() + task * kLanes, kLanes});
  double* du = block == 0 ? du_.data() + slots_.tile(t) : partial_du_[task].data();
  wide_.gradient(simd_, margins, rows.first, rows.last, du, scratch.table);
  give_back(std::move(scratch));
  return value;
}

// Biases, plus what narrow indexes have to say.
inline void PseudoLikelihood::start_margins(const Tile& tile, Range rows, double* margins) const {
  double bias[kLanes] = {};
  for (const auto [v, lane] : tile.columns)
    std::copy_n(u_.data() + slots_.bias(v), width_[v], bias + lane);
  for (std::size_t r = 0; r < rows.last - rows.first; ++r)
    std::copy_n(bias, kLanes, margins + r * kLanes);
  for (const auto [v, lane] : tile.columns)
    if (has_exchange(v))
      for (std::size_t r = rows.first; r < rows.last; ++r)
        for (std::size_t k = 0; k < width_[v]; ++k)
          margins[(r - rows.first) * kLanes + lane + k] += exchange_[v][r * width_[v] + k];
}

// Margins become derivatives; returns the log-likelihood.
inline double PseudoLikelihood::observe(const Tile& tile, Range rows, double* margins) const {
  const std::size_t n = rows.last - rows.first;
  double value = 0;
  std::vector<double>
      derivatives;  // of the multi-valued variables, kept from the binary kernel's zeroing
  for (const auto& [column, codes] : tile.multi_valued) {
    const std::size_t width = width_[column.variable];
    for (std::size_t r = 0; r < n; ++r) {
      double* own = margins + r * kLanes + column.lane;
      value += softmax_observed(own, width, codes[rows.first + r], row_weights_[rows.first + r]);
      derivatives.insert(derivatives.end(), own, own + width);
    }
  }
  value += run_kernel<detail::LogisticTileKernel>(simd_, margins, tile.observed.data() + rows.first,
                                                  row_weights_.data() + rows.first,
                                                  tile.lane_scale.data(), n);
  const double* next = derivatives.data();
  for (const auto& [column, codes] : tile.multi_valued)
    for (std::size_t r = 0; r < n; ++r, next += width_[column.variable])
      std::copy_n(next, width_[column.variable], margins + r * kLanes + column.lane);
  return value;
}

inline void PseudoLikelihood::finish_margins(const Tile& tile, Range rows, const double* margins,
                                             std::span<double> bias_gradient) {
  std::ranges::fill(bias_gradient, 0.0);
  for (std::size_t r = 0; r < rows.last - rows.first; ++r)
    for (std::size_t k = 0; k < kLanes; ++k) bias_gradient[k] += margins[r * kLanes + k];
  for (const auto [v, lane] : tile.columns)
    if (has_exchange(v))
      for (std::size_t r = rows.first; r < rows.last; ++r)
        for (std::size_t k = 0; k < width_[v]; ++k)
          exchange_[v][r * width_[v] + k] = margins[(r - rows.first) * kLanes + lane + k];
}

inline void PseudoLikelihood::add_row_blocks(std::size_t t) {
  const std::size_t first = t * row_blocks_.size(), last = first + row_blocks_.size();
  double* du = du_.data() + slots_.tile(t);
  double* bias_du = bias_du_.data() + first * kLanes;
  for (std::size_t i = first + 1; i < last; ++i) {
    for (std::size_t slot = 0; slot < partial_du_[i].size(); ++slot)
      du[slot] += partial_du_[i][slot];
    for (std::size_t k = 0; k < kLanes; ++k) bias_du[k] += bias_du_[i * kLanes + k];
  }
  for (const auto [v, lane] : tiles_[t].columns)
    std::copy_n(bias_du + lane, width_[v], du_.data() + slots_.bias(v));
}

inline IndexStatistics PseudoLikelihood::statistics() const {
  IndexStatistics s;
  s.n_contexts = n_contexts_;
  s.n_wide_contexts = wide_.n_contexts();
  s.n_wide_lookups = wide_.n_lookups();
  s.n_tiles = tiles_.size();
  s.bytes = wide_.bytes() + slots_.bytes() + (u_.size() + du_.size()) * sizeof(double);
  for (std::size_t v = 0; v < narrow_.size(); ++v) {
    s.n_wide_variables += is_wide_[v];
    if (narrow_[v].n_patterns() == 0) continue;
    s.n_narrow_patterns += narrow_[v].n_patterns();
    s.n_narrow_lookups += narrow_[v].n_lookups();
    s.bytes += narrow_[v].bytes() + exchange_[v].size() * sizeof(double);
  }
  for (const Tile& tile : tiles_) s.bytes += tile.observed.size() * sizeof(std::uint16_t);
  return s;
}

}  // namespace feldspar
