// Everything, for programs that use the library. Inside it each file includes what it needs,
// never this.
#pragma once

#include <feldspar/base/bits.hpp>
#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/hash.hpp>
#include <feldspar/base/indexed_heap.hpp>
#include <feldspar/base/monitor.hpp>
#include <feldspar/base/numeric.hpp>
#include <feldspar/base/pack.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/random.hpp>
#include <feldspar/base/random_lanes.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/base/sliced_lists.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/base/types.hpp>

#include <feldspar/data/counts.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/data/delimited.hpp>
#include <feldspar/data/exact_weights.hpp>
#include <feldspar/data/packed_columns.hpp>
#include <feldspar/data/schema.hpp>

#include <feldspar/feature/conjunctions.hpp>
#include <feldspar/feature/context_table.hpp>
#include <feldspar/feature/feature_lookup.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/feature/flat_conjunctions.hpp>

#include <feldspar/model/conditional_rows.hpp>
#include <feldspar/model/conditional_terms.hpp>
#include <feldspar/model/conditional_trees.hpp>
#include <feldspar/model/conditionals.hpp>
#include <feldspar/model/decision_tree.hpp>
#include <feldspar/model/dependency_conditionals.hpp>
#include <feldspar/model/dependency_network.hpp>
#include <feldspar/model/flat_dependency_network.hpp>
#include <feldspar/model/markov_network.hpp>
#include <feldspar/model/product_distribution.hpp>

#include <feldspar/optim/lbfgs.hpp>
#include <feldspar/optim/lbfgs_memory.hpp>
#include <feldspar/optim/line_search.hpp>
#include <feldspar/optim/minimize.hpp>
#include <feldspar/optim/objective.hpp>
#include <feldspar/optim/options.hpp>
#include <feldspar/optim/owlqn.hpp>
#include <feldspar/optim/result.hpp>
#include <feldspar/optim/run.hpp>

#include <feldspar/objective/index_plan.hpp>
#include <feldspar/objective/logistic.hpp>
#include <feldspar/objective/narrow_index.hpp>
#include <feldspar/objective/pattern_table.hpp>
#include <feldspar/objective/penalized.hpp>
#include <feldspar/objective/preconditioner.hpp>
#include <feldspar/objective/pseudo_likelihood.hpp>
#include <feldspar/objective/slot_map.hpp>
#include <feldspar/objective/wide_index.hpp>

#include <feldspar/infer/annealed_importance.hpp>
#include <feldspar/infer/belief_propagation.hpp>
#include <feldspar/infer/chain_diagnostics.hpp>
#include <feldspar/infer/clique_tree.hpp>
#include <feldspar/infer/condition.hpp>
#include <feldspar/infer/conditional_scores.hpp>
#include <feldspar/infer/conjunction_graph.hpp>
#include <feldspar/infer/dependency_gibbs.hpp>
#include <feldspar/infer/elimination.hpp>
#include <feldspar/infer/enumeration.hpp>
#include <feldspar/infer/evidence.hpp>
#include <feldspar/infer/evidence_batch.hpp>
#include <feldspar/infer/factor_graph.hpp>
#include <feldspar/infer/factor_messages.hpp>
#include <feldspar/infer/factor_neighbours.hpp>
#include <feldspar/infer/gibbs.hpp>
#include <feldspar/infer/hidden_model.hpp>
#include <feldspar/infer/junction_tree.hpp>
#include <feldspar/infer/literals.hpp>
#include <feldspar/infer/marginals.hpp>
#include <feldspar/infer/mcsat.hpp>
#include <feldspar/infer/mean_field.hpp>
#include <feldspar/infer/most_probable.hpp>
#include <feldspar/infer/pack_sweep.hpp>
#include <feldspar/infer/propagation.hpp>
#include <feldspar/infer/sample_sat.hpp>
#include <feldspar/infer/sampled_marginals.hpp>
#include <feldspar/infer/stopping.hpp>
#include <feldspar/infer/table_box.hpp>

#include <feldspar/learn/decision_tree.hpp>
#include <feldspar/learn/dn2mn.hpp>
#include <feldspar/learn/fit_weights.hpp>
#include <feldspar/learn/generate_features.hpp>
#include <feldspar/learn/split_counts.hpp>
#include <feldspar/learn/split_gain.hpp>
#include <feldspar/learn/tree_features.hpp>
