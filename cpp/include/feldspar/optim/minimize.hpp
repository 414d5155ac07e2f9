// The solver for the job: OWL-QN when some coordinate has an L1 penalty, else L-BFGS.
#pragma once

#include <Eigen/Core>

#include <feldspar/base/execution.hpp>
#include <feldspar/optim/lbfgs.hpp>
#include <feldspar/optim/objective.hpp>
#include <feldspar/optim/options.hpp>
#include <feldspar/optim/owlqn.hpp>
#include <feldspar/optim/result.hpp>

namespace feldspar {

// Minimises objective(x) + sum_i l1[i] |x[i]|; see minimize_owlqn and minimize_lbfgs.
template <SmoothObjective Objective>
OptimizeResult minimize(Objective& objective, const Eigen::VectorXd& x0, const Eigen::VectorXd& l1,
                        const OptimizeOptions& options = {}, const Execution& execution = {},
                        const Eigen::VectorXd& inverse_diagonal = {}) {
  check_l1(l1, objective.dimension());
  if ((l1.array() > 0).any())
    return minimize_owlqn(objective, x0, l1, options, execution, inverse_diagonal);
  return minimize_lbfgs(objective, x0, options, execution, inverse_diagonal);
}

}  // namespace feldspar
