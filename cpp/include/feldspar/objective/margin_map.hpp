// The linear map from the weights of features to the margins of all variables on all examples, and its
// transpose: the index of a pseudo-likelihood, without what was observed.
//
// Weights are first summed into *slots*, one for each (variable, context, margin); margins come from
// the slots through the wide index, the variables' narrow indexes, or both; what the caller makes of
// them goes the same way back. In either precision: single precision halves the time of the wide
// index, narrow ones compute in double precision whatever their slots are in.
//
// Threads: tasks are tiles of columns (and ranges of rows) of the wide part, and variables of the
// narrow part. Each writes its own slots and sums are added in task order, so the result does not
// depend on the number of threads. NOT FOR TWO CALLERS AT A TIME: it owns its buffers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <numeric>
#include <span>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <feldspar/base/aligned.hpp>
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

// The margins of a variable in a tile of the wide index.
struct MarginColumn {
  Variable variable;
  std::uint32_t lane;  // of the first of them
  std::size_t width;   // how many
};

class MarginMap {
 public:
  MarginMap() = default;
  // Narrow indexes are made of each variable's own data, nullptr where it has none, and the wide index
  // of `data`, which is that of all variables with wide contexts.
  MarginMap(const FeatureSet& features, const ContextTable& table, const IndexPlan& plan,
            const Dataset& data, std::span<const Dataset* const> data_of_variable,
            const Execution& execution);

  std::size_t n_features() const noexcept { return n_features_; }
  std::size_t n_variables() const noexcept { return narrow_.size(); }
  std::size_t n_tiles() const noexcept { return tiles_.size(); }
  std::span<const MarginColumn> tile(std::size_t t) const noexcept { return tiles_[t]; }
  std::size_t width(Variable v) const noexcept { return width_[v]; }  // its margins
  const NarrowIndex& narrow(Variable v) const noexcept { return narrow_[v]; }
  IndexStatistics statistics() const;

  // From weights to margins and, with what the responses make of these, back to `gradient`; returns
  // the sum of the responses. respond_narrow(v, margins) is asked for every variable without wide
  // contexts and has a span of doubles, those of its patterns; respond_tile(t, rows, margins) for all
  // rows of every tile, kLanes `Number`s a row.
  template <class Number, class RespondNarrow, class RespondTile>
  double there_and_back(SimdLevel simd, std::span<const Number> weights, std::span<Number> gradient,
                        const Execution& execution, const RespondNarrow& respond_narrow,
                        const RespondTile& respond_tile);

 private:
  // Buffers of one way there and back.
  template <class Number>
  struct Buffers {
    AlignedVector<Number> u, du;  // by slot; of the wide ones only du, u is made block by block
    // By (tile, row range): derivatives of the wide contexts over the rows of a range but the first,
    // whose are in du at once; and of the biases, kLanes each.
    std::vector<AlignedVector<Number>> partial_du;
    std::vector<Number> bias_du;
    std::vector<Number> copy;  // SlotMap's, of the weights
  };
  template <class Number>
  struct Scratch {
    AlignedVector<Number> margins, table;
    std::thread::id used_by;
  };
  // A stack of scratch, as high as there are threads at work. A thread gets what it had before, if it
  // is there: that is in the cache of its core, and what another core wrote takes long to come.
  template <class Number>
  class ScratchStack {
   public:
    Scratch<Number> take() {
      const std::lock_guard lock(mutex_);
      if (stack_.empty()) return {};
      const auto own =
          std::ranges::find(stack_, std::this_thread::get_id(), &Scratch<Number>::used_by);
      if (own != stack_.end()) std::swap(*own, stack_.back());
      Scratch<Number> scratch = std::move(stack_.back());
      stack_.pop_back();
      return scratch;
    }
    void give_back(Scratch<Number> scratch) {
      scratch.used_by = std::this_thread::get_id();
      const std::lock_guard lock(mutex_);
      stack_.push_back(std::move(scratch));
    }

   private:
    std::mutex mutex_;
    std::vector<Scratch<Number>> stack_;
  };
  template <class Number>
  struct Workspace {
    Buffers<Number> buffers;  // empty before they are needed
    ScratchStack<Number> scratch;
  };

  void build_narrow(const FeatureSet& features, const ContextTable& table,
                    std::span<const Dataset* const> data_of_variable, const Execution& execution);
  void group_tasks();
  static std::vector<Range> cut_rows(std::size_t n_rows, std::size_t n_tiles);

  template <class Number>
  Workspace<Number>& workspace() noexcept {
    return std::get<Workspace<Number>>(workspaces_);
  }
  template <class Number>
  void make_room(Buffers<Number>& buffers) const;
  template <class Number>
  std::span<Number> narrow_slots(Variable v, AlignedVector<Number>& slots) const {
    return std::span(slots).subspan(slots_.narrow(v), narrow_[v].n_contexts() * width_[v]);
  }
  // Margins of a variable's patterns, without its biases.
  template <class Number>
  void narrow_margins(Variable v, std::span<const Number> weights, Buffers<Number>& buffers,
                      Scratch<double>& scratch) const;
  template <class Number, class Respond>
  double run_narrow(Variable v, std::span<const Number> weights, Buffers<Number>& buffers,
                    const Respond& respond);
  template <class Number>
  void expand_narrow_margins(Variable v, std::span<const Number> weights, Buffers<Number>& buffers);
  template <class Number>
  void collect_narrow_gradient(Variable v, Buffers<Number>& buffers);
  template <class Number, class Respond>
  double run_tile(SimdLevel simd, std::size_t t, std::size_t range, std::span<const Number> weights,
                  Buffers<Number>& buffers, const Respond& respond);
  template <class Number>
  void start_margins(std::size_t t, Range rows, const AlignedVector<Number>& u,
                     Number* margins) const;
  template <class Number>
  void finish_margins(std::size_t t, Range rows, const Number* margins,
                      std::span<Number> bias_gradient);
  template <class Number>
  void add_row_ranges(std::size_t t, Buffers<Number>& buffers) const;

  bool has_exchange(Variable v) const noexcept { return !exchange_[v].empty(); }

  std::size_t n_features_, n_contexts_;
  SlotMap slots_;
  std::vector<std::vector<MarginColumn>> tiles_;
  std::vector<Range> row_ranges_;
  WideIndex wide_;
  std::vector<std::size_t> width_;     // by variable
  std::vector<bool> is_wide_;          // by variable
  std::vector<NarrowIndex> narrow_;    // by variable
  std::vector<Variable> narrow_only_;  // variables without wide contexts
  std::vector<Range> narrow_tasks_;    // of them
  std::vector<Variable> mixed_;        // variables with wide and narrow contexts

  std::tuple<Workspace<double>, Workspace<float>> workspaces_;
  // By variable with both wide and narrow contexts: every row's narrow margins, then their
  // derivatives.
  std::vector<std::vector<double>> exchange_;
};

inline MarginMap::MarginMap(const FeatureSet& features, const ContextTable& table,
                            const IndexPlan& plan, const Dataset& data,
                            std::span<const Dataset* const> data_of_variable,
                            const Execution& execution)
    : n_features_(features.size()),
      n_contexts_(table.size()),
      slots_(features, table, plan),
      tiles_(plan.n_tiles),
      row_ranges_(cut_rows(data.n_rows(), plan.n_tiles)),
      wide_(features, table, data, plan.wide_contexts, row_ranges_, execution) {
  const Schema& schema = features.schema();
  for (Variable v = 0; v < schema.n_variables(); ++v) {
    const auto& [tile, lane] = plan.columns[v];
    is_wide_.push_back(plan.columns[v].is_wide());
    width_.push_back(schema.cardinality(v) - 1u);
    if (is_wide_[v]) tiles_[tile].push_back({v, lane, width_[v]});
  }
  build_narrow(features, table, data_of_variable, execution);
  group_tasks();
}

inline void MarginMap::build_narrow(const FeatureSet& features, const ContextTable& table,
                                    std::span<const Dataset* const> data_of_variable,
                                    const Execution& execution) {
  const std::size_t n_variables = data_of_variable.size();
  narrow_.resize(n_variables);
  exchange_.resize(n_variables);
  // The largest first: no thread waits for one begun last, and what building them took up is room for
  // those that follow.
  std::vector<Variable> order(n_variables);
  std::iota(order.begin(), order.end(), Variable{0});
  std::ranges::stable_sort(order, std::greater<>{},
                           [&](Variable v) { return slots_.narrow_contexts(v).size(); });
  parallel_for(n_variables, execution, [&](std::size_t i) {
    const Variable v = order[i];
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
}

// The longest tasks first, so that no thread waits for one begun last; small ones together, so that
// taking a task is little beside doing it.
inline void MarginMap::group_tasks() {
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

// Rows are cut only where there are too few tiles to keep threads busy; never by the number of
// threads.
inline std::vector<Range> MarginMap::cut_rows(std::size_t n_rows, std::size_t n_tiles) {
  constexpr std::size_t kWantedTasks = 4, kMinRows = 1024;
  const std::size_t wanted = (kWantedTasks + n_tiles) / (n_tiles + 1);
  const std::size_t n_ranges = std::clamp<std::size_t>(n_rows / kMinRows, 1, wanted);
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < n_ranges; ++i)
    ranges.push_back({n_rows * i / n_ranges, n_rows * (i + 1) / n_ranges});
  return ranges;
}

template <class Number>
void MarginMap::make_room(Buffers<Number>& buffers) const {
  if (!buffers.u.empty()) return;
  const std::size_t n_ranges = row_ranges_.size();
  buffers.u.resize(slots_.first_wide());
  buffers.du.resize(slots_.n_slots());
  buffers.partial_du.resize(tiles_.size() * n_ranges);
  for (std::size_t i = 0; i < buffers.partial_du.size(); ++i)
    if (i % n_ranges > 0) buffers.partial_du[i].resize(wide_.n_contexts() * kLanes);
  buffers.bias_du.resize(tiles_.size() * n_ranges * kLanes);
}

template <class Number, class RespondNarrow, class RespondTile>
double MarginMap::there_and_back(SimdLevel simd, std::span<const Number> weights,
                                 std::span<Number> gradient, const Execution& execution,
                                 const RespondNarrow& respond_narrow,
                                 const RespondTile& respond_tile) {
  require(weights.size() == n_features_, "weights: got ", weights.size(), " for ", n_features_,
          " features");
  require(gradient.size() == n_features_, "gradient: got room for ", gradient.size(), " of ",
          n_features_, " features");
  Buffers<Number>& buffers = workspace<Number>().buffers;
  make_room(buffers);
  // Narrow slots are filled when their variable's turn comes, wide ones when their block's does.
  slots_.spread(weights, 0, std::span(buffers.u).first(slots_.n_biases()));
  slots_.copy_for_wide(weights, buffers.copy, execution);

  std::vector<double> values(narrow_only_.size(), 0.0);
  parallel_for(narrow_tasks_.size(), execution, [&](std::size_t task) {
    for (std::size_t i = narrow_tasks_[task].first; i < narrow_tasks_[task].last; ++i)
      values[i] = run_narrow(narrow_only_[i], weights, buffers, respond_narrow);
  });
  double value = std::accumulate(values.begin(), values.end(), 0.0);
  parallel_for(mixed_.size(), execution,
               [&](std::size_t i) { expand_narrow_margins(mixed_[i], weights, buffers); });
  const std::size_t n_ranges = row_ranges_.size();
  value += parallel_sum(tiles_.size() * n_ranges, execution, [&](std::size_t i) {
    return run_tile(simd, i / n_ranges, i % n_ranges, weights, buffers, respond_tile);
  });
  for (std::size_t t = 0; t < tiles_.size(); ++t) add_row_ranges(t, buffers);
  parallel_for(mixed_.size(), execution,
               [&](std::size_t i) { collect_narrow_gradient(mixed_[i], buffers); });
  slots_.collect(std::span<const Number>(buffers.du), gradient, execution);
  execution.throw_if_stopped();
  return value;
}

template <class Number>
void MarginMap::narrow_margins(Variable v, std::span<const Number> weights,
                               Buffers<Number>& buffers, Scratch<double>& scratch) const {
  const NarrowIndex& index = narrow_[v];
  const std::span<Number> slots = narrow_slots(v, buffers.u);
  slots_.spread(weights, slots_.narrow(v), slots);
  // One more than there are patterns, as NarrowIndex::gradient wants it.
  scratch.margins.resize((index.n_patterns() + 1) * width_[v]);
  index.margins(std::span<const Number>(slots), width_[v], std::span(scratch.margins),
                scratch.table);
}

// A variable without wide contexts.
template <class Number, class Respond>
double MarginMap::run_narrow(Variable v, std::span<const Number> weights, Buffers<Number>& buffers,
                             const Respond& respond) {
  const std::size_t width = width_[v];
  const NarrowIndex& index = narrow_[v];
  const std::size_t n = index.n_patterns();
  const Number* bias = buffers.u.data() + slots_.bias(v);
  ScratchStack<double>& stack = workspace<double>().scratch;
  Scratch<double> scratch = stack.take();
  narrow_margins(v, weights, buffers, scratch);
  const std::span<double> margins(scratch.margins);
  if (width == 1) {
    for (double& margin : margins.first(n)) margin += bias[0];
  } else {
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t k = 0; k < width; ++k) margins[p * width + k] += bias[k];
  }

  const double value = respond(v, margins.first(n * width));
  Number* bias_gradient = buffers.du.data() + slots_.bias(v);
  if (width == 1) {
    bias_gradient[0] = static_cast<Number>(detail::add_up(margins.data(), n));
  } else {
    std::fill_n(bias_gradient, width, Number{0});
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t k = 0; k < width; ++k)
        bias_gradient[k] += static_cast<Number>(margins[p * width + k]);
  }
  index.gradient(margins, width, narrow_slots(v, buffers.du), scratch.table);
  stack.give_back(std::move(scratch));
  return value;
}

template <class Number>
void MarginMap::expand_narrow_margins(Variable v, std::span<const Number> weights,
                                      Buffers<Number>& buffers) {
  const std::size_t width = width_[v];
  ScratchStack<double>& stack = workspace<double>().scratch;
  Scratch<double> scratch = stack.take();
  narrow_margins(v, weights, buffers, scratch);
  const auto pattern = narrow_[v].pattern_of_row();
  for (std::size_t r = 0; r < pattern.size(); ++r)
    for (std::size_t k = 0; k < width; ++k)
      exchange_[v][r * width + k] = scratch.margins[pattern[r] * width + k];
  stack.give_back(std::move(scratch));
}

template <class Number>
void MarginMap::collect_narrow_gradient(Variable v, Buffers<Number>& buffers) {
  const std::size_t width = width_[v];
  const NarrowIndex& index = narrow_[v];
  ScratchStack<double>& stack = workspace<double>().scratch;
  Scratch<double> scratch = stack.take();
  scratch.margins.assign((index.n_patterns() + 1) * width, 0.0);
  const auto pattern = index.pattern_of_row();
  for (std::size_t r = 0; r < pattern.size(); ++r)
    for (std::size_t k = 0; k < width; ++k)
      scratch.margins[pattern[r] * width + k] += exchange_[v][r * width + k];
  index.gradient(std::span(scratch.margins), width, narrow_slots(v, buffers.du), scratch.table);
  stack.give_back(std::move(scratch));
}

// One tile over one range of rows.
template <class Number, class Respond>
double MarginMap::run_tile(SimdLevel simd, std::size_t t, std::size_t range,
                           std::span<const Number> weights, Buffers<Number>& buffers,
                           const Respond& respond) {
  const Range rows = row_ranges_[range];
  const std::size_t task = t * row_ranges_.size() + range;
  ScratchStack<Number>& stack = workspace<Number>().scratch;
  Scratch<Number> scratch = stack.take();
  scratch.margins.resize(rows.size() * kLanes);
  Number* margins = scratch.margins.data();
  start_margins(t, rows, buffers.u, margins);
  const auto fill = [&](std::size_t context, std::size_t n, Number* u) {
    slots_.spread_wide<Number>(weights, buffers.copy, slots_.tile(t) + context * kLanes,
                               std::span(u, n * kLanes));
  };
  wide_.add_margins(simd, range, fill, margins, scratch.table);
  const double value = respond(t, rows, margins);
  finish_margins(t, rows, margins, std::span(buffers.bias_du).subspan(task * kLanes, kLanes));
  Number* du = range == 0 ? buffers.du.data() + slots_.tile(t) : buffers.partial_du[task].data();
  wide_.gradient<Number>(simd, range, margins, du, scratch.table);
  stack.give_back(std::move(scratch));
  return value;
}

// Biases, plus what narrow indexes have to say.
template <class Number>
void MarginMap::start_margins(std::size_t t, Range rows, const AlignedVector<Number>& u,
                              Number* margins) const {
  Number bias[kLanes] = {};
  for (const auto [v, lane, width] : tiles_[t])
    std::copy_n(u.data() + slots_.bias(v), width, bias + lane);
  for (std::size_t r = 0; r < rows.size(); ++r) std::copy_n(bias, kLanes, margins + r * kLanes);
  for (const auto [v, lane, width] : tiles_[t])
    if (has_exchange(v))
      for (std::size_t r = rows.first; r < rows.last; ++r)
        for (std::size_t k = 0; k < width; ++k)
          margins[(r - rows.first) * kLanes + lane + k] +=
              static_cast<Number>(exchange_[v][r * width + k]);
}

template <class Number>
void MarginMap::finish_margins(std::size_t t, Range rows, const Number* margins,
                               std::span<Number> bias_gradient) {
  std::ranges::fill(bias_gradient, Number{0});
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t k = 0; k < kLanes; ++k) bias_gradient[k] += margins[r * kLanes + k];
  for (const auto [v, lane, width] : tiles_[t])
    if (has_exchange(v))
      for (std::size_t r = rows.first; r < rows.last; ++r)
        for (std::size_t k = 0; k < width; ++k)
          exchange_[v][r * width + k] = margins[(r - rows.first) * kLanes + lane + k];
}

template <class Number>
void MarginMap::add_row_ranges(std::size_t t, Buffers<Number>& buffers) const {
  const std::size_t first = t * row_ranges_.size(), last = first + row_ranges_.size();
  Number* du = buffers.du.data() + slots_.tile(t);
  Number* bias_du = buffers.bias_du.data() + first * kLanes;
  for (std::size_t i = first + 1; i < last; ++i) {
    const AlignedVector<Number>& partial = buffers.partial_du[i];
    for (std::size_t slot = 0; slot < partial.size(); ++slot) du[slot] += partial[slot];
    for (std::size_t k = 0; k < kLanes; ++k) bias_du[k] += buffers.bias_du[i * kLanes + k];
  }
  for (const auto [v, lane, width] : tiles_[t])
    std::copy_n(bias_du + lane, width, buffers.du.data() + slots_.bias(v));
}

inline IndexStatistics MarginMap::statistics() const {
  IndexStatistics s;
  s.n_contexts = n_contexts_;
  s.n_wide_contexts = wide_.n_contexts();
  s.n_wide_lookups = wide_.n_lookups();
  s.n_tiles = tiles_.size();
  s.bytes =
      wide_.bytes() + slots_.bytes() + (slots_.first_wide() + slots_.n_slots()) * sizeof(double);
  for (std::size_t v = 0; v < narrow_.size(); ++v) {
    s.n_wide_variables += is_wide_[v];
    if (narrow_[v].n_patterns() == 0) continue;
    s.n_narrow_patterns += narrow_[v].n_patterns();
    s.n_narrow_lookups += narrow_[v].n_lookups();
    s.bytes += narrow_[v].bytes() + exchange_[v].size() * sizeof(double);
  }
  return s;
}

}  // namespace feldspar
