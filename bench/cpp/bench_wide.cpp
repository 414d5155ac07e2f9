// Where the time of a wide index goes: one value and gradient of all triples with support 10, step by
// step, beside what the machine could do. Entries: numbers touched, of all tiles; bytes: the same as
// doubles, those that are read and written again counted twice. "Memory" is here a table of the size
// of a full block, which the second-level cache holds: no lookup can be faster than reading it.
#include <feldspar/objective/pseudo_likelihood.hpp>

#include "measure.hpp"
#include "shapes.hpp"

using namespace feldspar;
using namespace feldspar::bench;

namespace {

constexpr std::size_t kTableNumbers = 2048 * kLanes;  // of a full block: 256 KiB

struct ReadKernel {
  FELDSPAR_ALWAYS_INLINE double operator()(const double* from, std::size_t n) const noexcept {
    auto sums = detail::LaneRow<double>::load(from);
    for (std::size_t i = kLanes; i < n; i += kLanes) sums.add(from + i);
    double lanes[kLanes];
    sums.store(lanes);
    return lanes[0];
  }
};

// Bytes per second that one core reads from its second-level cache.
double measure_table_bandwidth() {
  const std::vector<double> table(kTableNumbers, 1.0);
  double sink = 0;
  const double seconds =
      time_call([&] { sink += run_kernel<ReadKernel>(simd_level(), table.data(), table.size()); });
  if (sink < 0) std::puts("");  // keeps the sum alive
  return static_cast<double>(table.size() * sizeof(double)) / seconds;
}

void measure_steps(const std::string& name, const Dataset& data, double bandwidth) {
  const FeatureSet features = enumerate_conjunctions(data, {3, 10, 3});
  const ContextTable contexts(features);
  const IndexPlan plan = plan_index(features, contexts, data, {PlanOptions::Wide::always});
  const Range all_rows{0, data.n_rows()};
  const WideIndex index(features, contexts, data, plan.wide_contexts, {&all_rows, 1});
  const SlotMap slots(features, contexts, plan);
  const Execution execution{1, nullptr};
  const SimdLevel simd = simd_level();
  const std::size_t n_rows = data.n_rows();
  std::vector<double> weights(features.size(), 0.01), copy;
  AlignedVector<double> u(slots.n_slots()), du(slots.n_slots());
  AlignedVector<double> margins(n_rows * kLanes), table(kTableNumbers + 64 * kLanes);

  // `doubles`: how many numbers one tile reads and writes in this step.
  const auto show = [&](const char* step, double seconds, std::size_t doubles) {
    const auto tiles = static_cast<double>(plan.n_tiles);
    const double numbers = static_cast<double>(doubles) * tiles;
    report(name + ", triples (" + std::to_string(features.size()) + "), " + step, seconds * tiles,
           numbers, numbers * sizeof(double), bandwidth);
  };
  const auto time_blocks = [&](auto&& work) {
    return time_call([&] {
      for (const WideBlock& block : index.blocks()) work(&block);
    });
  };
  const std::size_t entries = index.n_entries() * kLanes, lookups = index.n_lookups() * kLanes;
  const double* const_margins = margins.data();
  show("tabulate patterns", time_blocks([&](const WideBlock* block) {
         run_kernel<detail::TabulateKernel>(
             simd, block, u.data() + slots.tile(0) + block->first_context * kLanes, table.data());
       }),
       3 * entries);
  show("look up rows", time_blocks([&](const WideBlock* block) {
         run_kernel<detail::SumListsKernel>(simd, &block->lookups[0].by_row, table.data(),
                                            margins.data(), std::true_type{});
       }),
       lookups);
  if (!index.blocks().empty() && !index.blocks()[0].lookups[0].by_entry.empty())
    show("sum up derivatives", time_blocks([&](const WideBlock* block) {
           run_kernel<detail::SumListsKernel>(simd, &block->lookups[0].by_entry, const_margins,
                                              table.data(), std::false_type{});
         }),
         lookups);
  show("spread derivatives", time_blocks([&](const WideBlock* block) {
         std::fill_n(table.data(), block->n_entries() * kLanes, 0.0);
         run_kernel<detail::SpreadListsKernel>(simd, &block->lookups[0].by_row, const_margins,
                                               table.data());
       }),
       2 * lookups);
  show("collect patterns", time_blocks([&](const WideBlock* block) {
         run_kernel<detail::CollectKernel>(
             simd, block, table.data(), du.data() + slots.tile(0) + block->first_context * kLanes);
       }),
       5 * entries);
  const std::size_t slots_of_tile = plan.wide_contexts.size() * kLanes;
  const auto tiles = static_cast<double>(plan.n_tiles);
  slots.copy_for_wide<double>(weights, copy);
  show("weights to slots", time_call([&] {
         slots.spread_wide<double>(weights, copy, slots.tile(0),
                                   std::span(u).subspan(slots.tile(0), slots_of_tile));
       }),
       2 * slots_of_tile);
  show("slots to gradient",
       time_call([&] { slots.collect<double>(du, weights, execution); }) / tiles, slots_of_tile);
}

}  // namespace

int main(int argc, char** argv) {
  const double bandwidth = measure_table_bandwidth();
  std::printf("a table of 256 KiB: %.1f GB/s on one core\n", bandwidth / 1e9);
  if (argc == 1)
    measure_steps("1.6k x 180", make_data({"1.6k x 180", 1600, 180, 0.25, 40}), bandwidth);
  else
    for (const auto& [name, data] : workloads(argc, argv)) measure_steps(name, data, bandwidth);
}
