// L1-penalised logistic regression of one variable, the target, on the indicators of all the
// others, as an optimization problem: what its solvers share.
//
//   minimise over w, b   loss(m) + l1 |w|_1,     m_k = b_k + X w_k,     l1 = 1 / C,
//
// with the margins m of each channel k (categorical_loss.hpp) and X the 0/1 columns of the data.
// Parameters are one vector, channel after channel: a weight for each column, then the intercept.
// The target's own columns keep their places, with weight and gradient zero, so that X is the same
// for all targets.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include <Eigen/Core>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/data/indicators.hpp>
#include <feldspar/objective/categorical_loss.hpp>
#include <feldspar/objective/column_groups.hpp>
#include <feldspar/optim/owlqn.hpp>
#include <feldspar/optim/result.hpp>

namespace feldspar {

// What the problems of all targets share.
struct L1Design {
  IndicatorColumns columns;
  ColumnGroups groups;         // of all columns
  std::vector<Word> all_rows;  // the intercept's column

  explicit L1Design(const PackedColumns& data)
      : columns(data), groups(data.n_rows()), all_rows(data.n_words()) {
    for (std::size_t c = 0; c < columns.size(); ++c) groups.append(columns.rows(c));
    fill_bits(all_rows, data.n_rows());
  }
};

struct L1Outcome {
  double loss = 0;
  double l1_norm = 0;    // of the penalised parameters
  double violation = 0;  // largest component of the subgradient of loss + l1 |w|, divided by l1
  int iterations = 0;
  Status status = Status::converged;
};

// Margins of all rows and what follows from them, by channel, then row.
struct L1Margins {
  std::vector<double> margins, residuals, probabilities;
  double loss = 0;

  explicit L1Margins(const CategoricalLoss& of)
      : margins(of.n_rows() * of.n_channels(), 0.0),
        residuals(margins.size()),
        probabilities(margins.size()) {}

  void evaluate(const CategoricalLoss& of) {
    loss = of.evaluate(margins, residuals, probabilities);
  }
};

class L1Problem {
 public:
  // `design` must outlive the problem; `codes`, a row each, are the target's values, below
  // `n_values`.
  L1Problem(const L1Design& design, Variable target, std::span<const Value> codes,
            std::span<const double> weights, std::size_t n_values, bool penalize_intercept)
      : design_(&design),
        loss_(codes, weights, n_values),
        own_begin_(design.columns.first(target)),
        own_end_(design.columns.first(target + 1)),
        penalize_intercept_(penalize_intercept) {}

  const L1Design& design() const noexcept { return *design_; }
  const CategoricalLoss& loss() const noexcept { return loss_; }
  std::size_t n_rows() const noexcept { return loss_.n_rows(); }
  std::size_t n_columns() const noexcept { return design_->columns.size(); }
  std::size_t n_channels() const noexcept { return loss_.n_channels(); }
  Eigen::Index dimension() const noexcept {
    return static_cast<Eigen::Index>(n_channels() * (n_columns() + 1));
  }

  Eigen::Index weight(std::size_t channel, std::size_t column) const noexcept {
    return static_cast<Eigen::Index>(channel * (n_columns() + 1) + column);
  }
  Eigen::Index intercept(std::size_t channel) const noexcept {
    return weight(channel, n_columns());
  }
  bool is_penalized(Eigen::Index parameter) const noexcept {
    return penalize_intercept_ ||
           static_cast<std::size_t>(parameter) % (n_columns() + 1) != n_columns();
  }

  std::span<double> channel(std::vector<double>& by_row, std::size_t k) const noexcept {
    return {by_row.data() + k * n_rows(), n_rows()};
  }

  // The best parameters without predictors (where the intercept is penalised: zeros).
  Eigen::VectorXd start() const {
    Eigen::VectorXd x = Eigen::VectorXd::Zero(dimension());
    if (penalize_intercept_) return x;
    const double rest = n_channels() == 1 ? loss_.total_weight() - loss_.observed_weight(0) : 1.0;
    for (std::size_t k = 0; k < n_channels(); ++k)
      x[intercept(k)] = std::log(loss_.observed_weight(k) / rest);
    return x;
  }

  // margins = those at x.
  void set_margins(const Eigen::VectorXd& x, std::vector<double>& margins) const {
    for (std::size_t k = 0; k < n_channels(); ++k) {
      std::ranges::fill(channel(margins, k), x[intercept(k)]);
      design_->groups.add_product({x.data() + weight(k, 0), n_columns()}, channel(margins, k));
    }
  }

  // The derivative of the loss by all parameters.
  void set_gradient(L1Margins& at, Eigen::VectorXd& gradient) const {
    for (std::size_t k = 0; k < n_channels(); ++k) {
      const auto residuals = channel(at.residuals, k);
      gradient[intercept(k)] = std::accumulate(residuals.begin(), residuals.end(), 0.0);
      design_->groups.transpose_product(residuals, {gradient.data() + weight(k, 0), n_columns()});
      for (std::size_t c = own_begin_; c < own_end_; ++c) gradient[weight(k, c)] = 0;
    }
  }

  double l1_norm(const Eigen::VectorXd& x) const {
    double norm = 0;
    for (Eigen::Index i = 0; i < x.size(); ++i)
      if (is_penalized(i)) norm += std::abs(x[i]);
    return norm;
  }

  // Size of the subgradient's component by one parameter.
  double violation(Eigen::Index i, const Eigen::VectorXd& x, const Eigen::VectorXd& gradient,
                   double l1) const {
    return std::abs(pseudo_derivative(x[i], gradient[i], is_penalized(i) ? l1 : 0.0));
  }
  // The largest of all.
  double violation(const Eigen::VectorXd& x, const Eigen::VectorXd& gradient, double l1) const {
    double worst = 0;
    for (Eigen::Index i = 0; i < x.size(); ++i)
      worst = std::max(worst, violation(i, x, gradient, l1));
    return worst;
  }

 private:
  const L1Design* design_;
  CategoricalLoss loss_;
  std::size_t own_begin_, own_end_;  // columns of the target
  bool penalize_intercept_;
};

}  // namespace feldspar
