// The coordinate solver of an L1Problem: a proximal Newton method on a working set, along a path of
// penalties, each starting from the solution before it.
//
// One iteration
//  1. models the loss by its gradient and a Hessian (weighted_gram.hpp) among the *active* columns,
//     those with a weight or a gradient near or beyond l1, and minimises the model plus the L1 term
//     by coordinate descent (l1_quadratic.hpp);
//  2. goes there, backtracking until the objective decreases enough;
//  3. keeps the Hessian for the next iteration if the optimality conditions were met much better
//     than before: near a solution it hardly changes, and it is the most expensive part.
//
// Iterations see only a working set of columns. When they are done, the gradient of all columns is
// computed, the largest violators of the optimality conditions join, and it goes on until no column
// at all violates them. Where a gradient of all columns is cheap, the set is all columns.
//
// Cost: an iteration rows * (working set) / 8 or less (column_groups.hpp) and an exponential a row
// and channel; a Hessian at most rows * active^2 / 64, for each pair of values if the target has
// more than two.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/error.hpp>
#include <feldspar/learn/l1_problem.hpp>
#include <feldspar/objective/column_groups.hpp>
#include <feldspar/objective/weighted_gram.hpp>
#include <feldspar/optim/l1_quadratic.hpp>

namespace feldspar {

class L1Newton {
 public:
  // `stop` is asked between iterations; a true answer throws Interrupted.
  L1Newton(const L1Problem& problem, Eigen::VectorXd start, std::function<bool()> stop)
      : problem_(problem),
        stop_(std::move(stop)),
        complete_(problem.design().groups.n_groups() <= kCompleteGroups),
        own_groups_(problem.n_rows()),
        x_(std::move(start)),
        gradient_(problem.dimension()),
        here_(problem.loss()),
        trial_(problem.loss()),
        direction_(here_.margins.size()),
        by_working_(problem.n_columns()) {
    if (complete_) {
      working_.resize(problem.n_columns());
      std::iota(working_.begin(), working_.end(), std::size_t{0});
    } else {
      for (std::size_t c = 0; c < problem.n_columns(); ++c)
        if (has_weight(c)) join(c);
    }
    problem_.set_margins(x_, here_.margins);
    here_.evaluate(problem_.loss());
    problem_.set_gradient(here_, gradient_);
  }

  // Goes on to the solution for l1 = 1 / c: no component of the subgradient is larger than
  // tolerance * l1.
  L1Outcome solve(double c, double tolerance, int max_iterations);

  const Eigen::VectorXd& parameters() const noexcept { return x_; }

 private:
  // Up to so many groups of columns, gradients of all of them cost no more than the rest.
  static constexpr std::size_t kCompleteGroups = 16;
  // A working set that grows, grows by at least so many columns.
  static constexpr std::size_t kLeastGrowth = 32;
  // A first working set is only solved roughly: it will not be the last.
  static constexpr double kRough = 0.03;
  // Columns whose gradient is nearer to l1 than this take part in the model.
  static constexpr double kActive = 0.9;
  // A model is solved to this share of the violation that is to be removed.
  static constexpr double kModelAccuracy = 0.03;
  // A Hessian is kept while it takes the violation down to this share.
  static constexpr double kKeepHessian = 0.25;
  static constexpr int kMaxSweeps = 1000;
  // A new Hessian that leaves more than this share made no progress; after so many of them the run
  // is called stalled.
  static constexpr double kProgress = 0.9;
  static constexpr int kPatience = 10;

  const ColumnGroups& groups() const noexcept {
    return complete_ ? problem_.design().groups : own_groups_;
  }
  bool has_weight(std::size_t column) const;
  void join(std::size_t column);
  double working_violation(double l1) const;
  void set_working_gradient();
  void grow_working_set(double l1);
  Status descend(double l1, double goal, int max_iterations, int& iterations);
  void choose_active(double l1);
  void build_model();
  Eigen::MatrixXd hessian();
  void repair_diagonal(std::span<const double> curvature, Eigen::MatrixXd& gram);
  bool step(double l1, double tolerance);
  void set_direction(const Eigen::VectorXd& change);
  double search(const Eigen::VectorXd& from, const Eigen::VectorXd& to, double slope, double l1);

  const L1Problem& problem_;
  std::function<bool()> stop_;
  bool complete_;                     // the working set is all columns
  std::vector<std::size_t> working_;  // columns, in the order of groups()
  ColumnGroups own_groups_;           // of the working set unless it is complete

  Eigen::VectorXd x_, gradient_;
  L1Margins here_, trial_;
  std::vector<double> direction_;   // change of the margins
  std::vector<double> by_working_;  // scratch: a number for each working column

  std::vector<std::size_t> active_;     // columns of the model
  std::vector<Eigen::Index> modelled_;  // parameters of the model: channels, columns, intercept
  std::optional<L1Quadratic> model_;
  bool exact_ = false;  // Hessians without rounding
};

inline L1Outcome L1Newton::solve(double c, double tolerance, int max_iterations) {
  const double l1 = 1 / c, goal = tolerance * l1;
  L1Outcome outcome;
  bool first = true;
  double worst = problem_.violation(x_, gradient_, l1);
  while (worst > goal && outcome.status == Status::converged) {
    if (!complete_) grow_working_set(l1);
    const double rough = first && !complete_ ? std::max(goal, kRough * l1) : goal;
    outcome.status = descend(l1, rough, max_iterations, outcome.iterations);
    if (!complete_) problem_.set_gradient(here_, gradient_);
    worst = problem_.violation(x_, gradient_, l1);
    first = false;
  }
  outcome.loss = here_.loss;
  outcome.l1_norm = problem_.l1_norm(x_);
  outcome.violation = worst / l1;
  return outcome;
}

inline bool L1Newton::has_weight(std::size_t column) const {
  for (std::size_t k = 0; k < problem_.n_channels(); ++k)
    if (x_[problem_.weight(k, column)] != 0) return true;
  return false;
}

inline void L1Newton::join(std::size_t column) {
  working_.push_back(column);
  own_groups_.append(problem_.design().columns.rows(column));
}

inline double L1Newton::working_violation(double l1) const {
  double worst = 0;
  for (std::size_t k = 0; k < problem_.n_channels(); ++k) {
    worst = std::max(worst, problem_.violation(problem_.intercept(k), x_, gradient_, l1));
    for (const std::size_t c : working_)
      worst = std::max(worst, problem_.violation(problem_.weight(k, c), x_, gradient_, l1));
  }
  return worst;
}

inline void L1Newton::set_working_gradient() {
  if (complete_) return problem_.set_gradient(here_, gradient_);
  for (std::size_t k = 0; k < problem_.n_channels(); ++k) {
    const auto residuals = problem_.channel(here_.residuals, k);
    gradient_[problem_.intercept(k)] = std::accumulate(residuals.begin(), residuals.end(), 0.0);
    groups().transpose_product(residuals, by_working_);
    for (std::size_t i = 0; i < working_.size(); ++i)
      gradient_[problem_.weight(k, working_[i])] = by_working_[i];
  }
}

// The largest violators join, at most as many as there are columns with a weight.
inline void L1Newton::grow_working_set(double l1) {
  std::vector<bool> inside(problem_.n_columns(), false);
  for (const std::size_t c : working_) inside[c] = true;
  const auto n_used = static_cast<std::size_t>((x_.array() != 0).count());
  std::vector<std::pair<double, std::size_t>> outside;  // minus the gradient's size; column
  for (std::size_t c = 0; c < problem_.n_columns(); ++c) {
    if (inside[c]) continue;
    double slope = 0;
    for (std::size_t k = 0; k < problem_.n_channels(); ++k)
      slope = std::max(slope, std::abs(gradient_[problem_.weight(k, c)]));
    if (slope > l1) outside.push_back({-slope, c});
  }
  const std::size_t room = std::min(outside.size(), std::max(kLeastGrowth, n_used));
  std::ranges::partial_sort(outside, outside.begin() + static_cast<std::ptrdiff_t>(room));
  outside.resize(room);
  // Neighbours are likely to depend on each other, and then share patterns.
  std::ranges::sort(outside, {}, &std::pair<double, std::size_t>::second);
  for (const auto& [slope, c] : outside) join(c);
}

inline Status L1Newton::descend(double l1, double goal, int max_iterations, int& iterations) {
  model_.reset();
  exact_ = false;
  int patience = kPatience;
  for (double before = working_violation(l1); before > goal; ++iterations) {
    if (iterations >= max_iterations) return Status::max_iterations;
    if (stop_()) throw Interrupted();
    const bool fresh = !model_;
    if (fresh) {
      choose_active(l1);
      build_model();
    }
    const bool moved = step(l1, std::max(0.3 * goal, kModelAccuracy * before));
    const double after = working_violation(l1);
    if (!moved || after > kKeepHessian * before) {
      model_.reset();
      if (fresh && after > kProgress * before) {
        if (--patience == 0) return Status::stalled;
        exact_ = 2 * patience <= kPatience;  // rounding may be at fault
      }
    }
    before = after;
  }
  return Status::converged;
}

inline void L1Newton::choose_active(double l1) {
  active_.clear();
  for (const std::size_t c : working_)
    for (std::size_t k = 0; k < problem_.n_channels(); ++k) {
      const Eigen::Index i = problem_.weight(k, c);
      if (x_[i] == 0 && std::abs(gradient_[i]) <= kActive * l1) continue;
      active_.push_back(c);
      break;
    }
  modelled_.clear();
  for (std::size_t k = 0; k < problem_.n_channels(); ++k) {
    for (const std::size_t c : active_) modelled_.push_back(problem_.weight(k, c));
    modelled_.push_back(problem_.intercept(k));
  }
}

inline void L1Newton::build_model() {
  std::vector<bool> penalized;
  for (const Eigen::Index i : modelled_) penalized.push_back(problem_.is_penalized(i));
  model_.emplace(hessian(), penalized);
}

// By the modelled parameters. It is put together from pairs of values, which keeps it positive
// semi-definite although the parts are approximate.
inline Eigen::MatrixXd L1Newton::hessian() {
  const std::size_t n_channels = problem_.n_channels();
  const auto size = static_cast<Eigen::Index>(active_.size() + 1);
  const auto n = static_cast<Eigen::Index>(modelled_.size());
  std::vector<std::span<const Word>> columns;
  for (const std::size_t c : active_) columns.push_back(problem_.design().columns.rows(c));
  columns.emplace_back(problem_.design().all_rows);
  std::vector<double> curvature(problem_.n_rows());
  const auto gram_of_pair = [&](std::size_t j, std::size_t k) {
    problem_.loss().pair_curvature(here_.probabilities, j, k, curvature);
    Eigen::MatrixXd gram = weighted_gram(columns, curvature, exact_);
    repair_diagonal(curvature, gram);
    return gram;
  };
  if (n_channels == 1) return gram_of_pair(0, 0);
  Eigen::MatrixXd h = Eigen::MatrixXd::Zero(n, n);
  for (std::size_t j = 0; j < n_channels; ++j)
    for (std::size_t k = j + 1; k < n_channels; ++k) {
      const auto at = static_cast<Eigen::Index>(j) * size, to = static_cast<Eigen::Index>(k) * size;
      const Eigen::MatrixXd gram = gram_of_pair(j, k);
      h.block(at, at, size, size) += gram;
      h.block(to, to, size, size) += gram;
      h.block(at, to, size, size) -= gram;
      h.block(to, at, size, size) -= gram;
    }
  return h;
}

// A column whose rows have hardly any weight can lose all of it in rounding, and then would never
// move; it gets its exact diagonal. Others keep theirs, since columns that depend on each other
// must do so in the rounded matrix too.
inline void L1Newton::repair_diagonal(std::span<const double> curvature, Eigen::MatrixXd& gram) {
  groups().transpose_product(curvature, by_working_);
  std::size_t place = 0;  // active columns are in the order of the working set
  for (std::size_t i = 0; i < active_.size(); ++i, ++place) {
    while (working_[place] != active_[i]) ++place;
    double& diagonal = gram(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(i));
    if (diagonal < 0.5 * by_working_[place]) diagonal = by_working_[place];
  }
}

// Moves to the model's minimiser, or as far towards it as the objective decreases; false if
// nowhere.
inline bool L1Newton::step(double l1, double tolerance) {
  const Eigen::VectorXd from = x_(modelled_), g = gradient_(modelled_);
  Eigen::VectorXd to = from;
  model_->minimize(g, l1, tolerance, kMaxSweeps, to);
  double slope = 0;  // term by term, since the sums nearly cancel
  for (std::size_t i = 0; i < modelled_.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    const double shrunk = std::abs(to[at]) - std::abs(from[at]);
    slope += g[at] * (to[at] - from[at]) + (problem_.is_penalized(modelled_[i]) ? l1 * shrunk : 0);
  }
  set_direction(to - from);
  const double length = search(from, to, slope, l1);
  if (length == 0) return false;
  std::swap(here_, trial_);
  x_(modelled_) = length == 1 ? to : Eigen::VectorXd(from + length * (to - from));
  set_working_gradient();
  return true;
}

inline void L1Newton::set_direction(const Eigen::VectorXd& change) {
  const std::size_t size = active_.size() + 1;
  for (std::size_t k = 0; k < problem_.n_channels(); ++k) {
    const double* own = change.data() + k * size;
    std::size_t next = 0;  // active columns are in the order of the working set
    for (std::size_t i = 0; i < working_.size(); ++i)
      by_working_[i] = next < active_.size() && working_[i] == active_[next] ? own[next++] : 0.0;
    std::ranges::fill(problem_.channel(direction_, k), own[active_.size()]);
    groups().add_product(by_working_, problem_.channel(direction_, k));
  }
}

// The share, 1, 1/2, ..., of the way that decreases the objective enough; 0 if there is none.
// Leaves the margins there in trial_.
inline double L1Newton::search(const Eigen::VectorXd& from, const Eigen::VectorXd& to, double slope,
                               double l1) {
  constexpr double kSufficient = 1e-4, kNoise = 1e-12;
  constexpr int kMaxTrials = 40;
  const auto norm_at = [&](double length) {
    double norm = 0;
    for (std::size_t i = 0; i < modelled_.size(); ++i) {
      const auto at = static_cast<Eigen::Index>(i);
      if (problem_.is_penalized(modelled_[i]))
        norm += std::abs(from[at] + length * (to[at] - from[at]));
    }
    return norm;
  };
  const double before = here_.loss + l1 * norm_at(0), noise = kNoise * before;
  if (!(slope < noise)) return 0;
  double length = 1;
  for (int trial = 0; trial < kMaxTrials; ++trial, length *= 0.5) {
    for (std::size_t i = 0; i < direction_.size(); ++i)
      trial_.margins[i] = here_.margins[i] + length * direction_[i];
    trial_.evaluate(problem_.loss());
    // Where changes of the objective drown in rounding, the model is believed.
    if (trial_.loss + l1 * norm_at(length) <= before + kSufficient * length * slope ||
        std::abs(slope) * length <= noise)
      return length;
  }
  return 0;
}

}  // namespace feldspar
