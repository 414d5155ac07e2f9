// Everything, for programs that use the library. Inside it each file includes what it needs,
// never this.
#pragma once

#include <feldspar/base/bits.hpp>
#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/hash.hpp>
#include <feldspar/base/monitor.hpp>
#include <feldspar/base/numeric.hpp>
#include <feldspar/base/pack.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/base/sliced_lists.hpp>
#include <feldspar/base/types.hpp>

#include <feldspar/data/counts.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/data/delimited.hpp>
#include <feldspar/data/indicators.hpp>
#include <feldspar/data/packed_columns.hpp>
#include <feldspar/data/schema.hpp>

#include <feldspar/feature/conjunctions.hpp>
#include <feldspar/feature/context_table.hpp>
#include <feldspar/feature/feature_lookup.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/feature/flat_conjunctions.hpp>

#include <feldspar/model/conditionals.hpp>
#include <feldspar/model/decision_tree.hpp>
#include <feldspar/model/markov_network.hpp>

#include <feldspar/optim/l1_quadratic.hpp>
#include <feldspar/optim/lbfgs.hpp>
#include <feldspar/optim/lbfgs_memory.hpp>
#include <feldspar/optim/line_search.hpp>
#include <feldspar/optim/minimize.hpp>
#include <feldspar/optim/objective.hpp>
#include <feldspar/optim/options.hpp>
#include <feldspar/optim/owlqn.hpp>
#include <feldspar/optim/result.hpp>
#include <feldspar/optim/run.hpp>

#include <feldspar/objective/categorical_loss.hpp>
#include <feldspar/objective/column_groups.hpp>
#include <feldspar/objective/index_plan.hpp>
#include <feldspar/objective/logistic.hpp>
#include <feldspar/objective/narrow_index.hpp>
#include <feldspar/objective/pattern_table.hpp>
#include <feldspar/objective/penalized.hpp>
#include <feldspar/objective/preconditioner.hpp>
#include <feldspar/objective/pseudo_likelihood.hpp>
#include <feldspar/objective/slot_map.hpp>
#include <feldspar/objective/weighted_gram.hpp>
#include <feldspar/objective/wide_index.hpp>

#include <feldspar/learn/fit_weights.hpp>
#include <feldspar/learn/l1_logistic.hpp>
#include <feldspar/learn/l1_neighborhood.hpp>
#include <feldspar/learn/l1_newton.hpp>
#include <feldspar/learn/l1_owlqn.hpp>
#include <feldspar/learn/l1_path.hpp>
#include <feldspar/learn/l1_problem.hpp>
#include <feldspar/learn/l1_score.hpp>
