// Message passing on the packs of a factor graph: four factors at a time, by instruction set.
#pragma once

#include <cstddef>
#include <span>

#include <feldspar/base/pack.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/infer/factor_graph.hpp>
#include <feldspar/infer/factor_messages.hpp>
#include <feldspar/infer/literals.hpp>

namespace feldspar {

// What the kernels below read and write.
struct PackSweep {
  std::span<const FactorPack> packs;
  const LiteralId* literals;
  const double* coefficients;
  const double* odds;  // of each literal, all factors considered
  double* messages;    // a number for each edge, laid out as the literals
  double* sums;        // of the new messages to each literal
  double damping;
  MessageBuffer::View<Pack> scratch;
};

FELDSPAR_ALWAYS_INLINE Pack gather_lanes(const double* from, const LiteralId* ids) noexcept {
  double lanes[kPackSize];
  for (std::size_t lane = 0; lane < kPackSize; ++lane) lanes[lane] = from[ids[lane]];
  return load_pack(lanes);
}

// The log-odds that the variables tell the pack's factors: without their own messages.
FELDSPAR_ALWAYS_INLINE void hear_pack(const PackSweep& s, const FactorPack& pack) noexcept {
  for (std::size_t i = 0; i < pack.length; ++i) {
    const std::size_t edge = (pack.first_edge + i) * kPackSize;
    s.scratch.x.set(i, gather_lanes(s.odds, s.literals + edge) - load_pack(s.messages + edge));
  }
}

// All packs but the strong ones speak once; returns the largest change.
struct SpeakKernel {
  FELDSPAR_ALWAYS_INLINE double operator()(const PackSweep* sweep) const noexcept {
    const PackSweep& s = *sweep;
    Pack most = broadcast(0.0);
    for (const FactorPack& pack : s.packs) {
      if (pack.kind == FactorPack::Kind::strong_conjunction) continue;
      const double* c = s.coefficients + pack.first_coefficient;
      hear_pack(s, pack);
      if (pack.kind == FactorPack::Kind::conjunction) {
        conjunction_messages(pack.length, load_pack(c + kYes * kPackSize),
                             load_pack(c + kNo * kPackSize), load_pack(c + kShift * kPackSize),
                             s.scratch);
      } else {
        speak_table(s, pack, c);
      }
      for (std::size_t i = 0; i < pack.length; ++i) most = send(s, pack.first_edge + i, i, most);
    }
    double result = 0;
    double lanes[kPackSize];
    store_pack(lanes, most);
    for (const double x : lanes) result = x > result ? x : result;
    return result;
  }

 private:
  // With the length a constant, the loops over the entries unroll.
  FELDSPAR_ALWAYS_INLINE static void speak_table(const PackSweep& s, const FactorPack& pack,
                                                 const double* c) noexcept {
    const LaneView<Pack> entries(c + kPackSize);
    if (pack.length == 2)
      table_messages<PlainNumbers>(2, entries, s.scratch);
    else if (pack.length == 3)
      table_messages<PlainNumbers>(3, entries, s.scratch);
    else
      table_messages<PlainNumbers>(4, entries, s.scratch);
  }

  FELDSPAR_ALWAYS_INLINE static Pack send(const PackSweep& s, std::size_t edge, std::size_t i,
                                          Pack most) noexcept {
    double* place = s.messages + edge * kPackSize;
    const Pack old = load_pack(place), change = s.scratch.x[i] - old;
    const Pack size = select(change > 0.0, change, broadcast(0.0) - change);
    const Pack damped = s.scratch.x[i] - change * s.damping;
    store_pack(place, damped);
    for (std::size_t lane = 0; lane < kPackSize; ++lane)
      s.sums[s.literals[edge * kPackSize + lane]] += place[lane];
    return select(size > most, size, most);
  }
};

// The sum of the packs' parts of the Bethe estimate, the strong ones left out.
struct BetheKernel {
  FELDSPAR_ALWAYS_INLINE double operator()(const PackSweep* sweep) const noexcept {
    const PackSweep& s = *sweep;
    double result = 0;
    for (const FactorPack& pack : s.packs) {
      if (pack.kind == FactorPack::Kind::strong_conjunction) continue;
      const double* c = s.coefficients + pack.first_coefficient;
      hear_pack(s, pack);
      const LaneView<Pack> said(s.messages + pack.first_edge * kPackSize);
      Pack part;
      if (pack.kind == FactorPack::Kind::conjunction) {
        part = conjunction_bethe(pack.length, load_pack(c + kYes * kPackSize),
                                 load_pack(c + kNo * kPackSize), load_pack(c + kShift * kPackSize),
                                 LaneView<Pack>(s.scratch.x), said);
      } else {
        part = table_bethe(pack.length, LaneView<Pack>(c + kPackSize), load_pack(c),
                           LaneView<Pack>(s.scratch.x), said);
      }
      double lanes[kPackSize];
      store_pack(lanes, part);
      for (std::size_t lane = 0; lane < pack.n_factors; ++lane) result += lanes[lane];
    }
    return result;
  }
};

}  // namespace feldspar
