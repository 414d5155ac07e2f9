// How far to go along a descent direction: a step that satisfies the strong Wolfe conditions,
//
//   phi(a) <= phi(0) + c1 a phi'(0)      (sufficient decrease)
//   |phi'(a)| <= c2 |phi'(0)|            (curvature),      0 < c1 < c2 < 1,
//
// where phi(a) is the value at x + a d. Near the optimum the first condition compares numbers that
// differ only by rounding. There the approximate Wolfe condition of Hager and Zhang takes its
// place: phi(a) <= phi(0) + noise and phi'(a) <= (2 c1 - 1) phi'(0), the same thing for a quadratic
// but read off the slopes, which stay accurate when differences of values do not.
//
// The search keeps a bracket [lo, hi] that must hold such a step: at lo the decrease suffices and
// the slope is still steeply negative; at hi one of both fails. (The minimum over the bracket of
// phi(a) - c1 a phi'(0) is such a step.) Without hi it extrapolates, with hi it interpolates, by
// cubics, safeguarded, so that every two trials shrink the bracket. Values that are not finite are
// treated as "too far". Cost: one evaluation per trial, usually one trial.
//
// References: Hager, Zhang: A new conjugate gradient method with guaranteed descent and an
// efficient line search, SIAM J. Optim. 16 (2005), section 4; Nocedal, Wright: Numerical
// Optimization (2006), 3.5.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace feldspar {

// phi at one step.
struct LinePoint {
  double step = 0;
  double value = 0;
  double slope = 0;  // phi'(step)

  bool is_finite() const noexcept { return std::isfinite(value) && std::isfinite(slope); }
};

struct WolfeConditions {
  LinePoint start;             // step 0, a finite value, a negative slope
  double sufficient_decrease;  // c1
  double curvature;            // c2
  double noise;                // absolute rounding error of values

  // Whether the change promised by the slope is too small to be seen in the values.
  bool drowns(double step) const noexcept {
    constexpr double kMargin = 10;
    return -step * start.slope <= kMargin * noise;
  }

  bool decreases(const LinePoint& point) const noexcept {
    if (point.value <= start.value + sufficient_decrease * point.step * start.slope) return true;
    return drowns(point.step) && point.value <= start.value + noise &&
           point.slope <= (2 * sufficient_decrease - 1) * start.slope;
  }

  bool accepts(const LinePoint& point) const noexcept {
    return point.is_finite() && std::abs(point.slope) <= -curvature * start.slope &&
           decreases(point);
  }
};

enum class LineSearchOutcome {
  found,      // the step satisfies the conditions
  decreased,  // it only decreases the value: the trials ran out
  failed,     // no step that decreases the value was found
  stopped,    // the line refused an evaluation
};

struct LineSearchResult {
  LineSearchOutcome outcome = LineSearchOutcome::failed;
  double step = 0;
};

namespace detail {

// The minimiser of the cubic through the values and slopes of two points; NaN if it has none.
inline double cubic_minimiser(const LinePoint& a, const LinePoint& b) noexcept {
  const double width = b.step - a.step;
  const double d1 = a.slope + b.slope - 3 * (b.value - a.value) / width;
  const double d2 = std::copysign(std::sqrt(d1 * d1 - a.slope * b.slope), width);
  return b.step - width * (b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2);
}

// The zero of the slope's linear interpolant: what the cubic becomes when values are not to be
// trusted.
inline double secant_minimiser(const LinePoint& a, const LinePoint& b) noexcept {
  return a.step - a.slope * (b.step - a.step) / (b.slope - a.slope);
}

class Bracket {
 public:
  explicit Bracket(const WolfeConditions& wolfe) : wolfe_(wolfe), lo_(wolfe.start) {}

  const LinePoint& lo() const noexcept { return lo_; }

  // Takes in a trial point that was not accepted.
  void add(const LinePoint& point) noexcept {
    if (!point.is_finite() || !wolfe_.decreases(point) || point.slope >= 0) {
      hi_ = point;
    } else {
      before_lo_ = lo_;
      lo_ = point;
    }
  }

  // No number is left between the ends.
  bool is_exhausted() const noexcept {
    return has_hi() && width() <= 4 * std::numeric_limits<double>::epsilon() * hi_.step;
  }

  double next_step() noexcept { return has_hi() ? interpolate() : extrapolate(); }

 private:
  bool has_hi() const noexcept { return std::isfinite(hi_.step); }
  double width() const noexcept { return hi_.step - lo_.step; }

  double model_minimiser(const LinePoint& a, const LinePoint& b) const noexcept {
    return wolfe_.drowns(b.step) ? secant_minimiser(a, b) : cubic_minimiser(a, b);
  }

  double extrapolate() const noexcept {
    constexpr double kLeast = 2;
    constexpr double kMost = 10;
    const double guess = model_minimiser(before_lo_, lo_);
    // A model without a minimum ahead says: the function goes on falling.
    if (!(guess > lo_.step)) return kMost * lo_.step;
    return std::clamp(guess, kLeast * lo_.step, kMost * lo_.step);
  }

  double interpolate() noexcept {
    constexpr double kEdge = 0.1;
    constexpr double kShrink = 0.66;
    const double previous_width = std::exchange(last_width_, width());
    if (!hi_.is_finite()) return lo_.step + kEdge * width();
    const double middle = lo_.step + 0.5 * width();
    if (width() > kShrink * previous_width) return middle;
    const double guess = model_minimiser(lo_, hi_);
    if (!std::isfinite(guess)) return middle;
    return std::clamp(guess, lo_.step + kEdge * width(), hi_.step - kEdge * width());
  }

  WolfeConditions wolfe_;
  LinePoint lo_;
  LinePoint before_lo_;
  LinePoint hi_{std::numeric_limits<double>::infinity(), 0, 0};  // infinitely far: none yet
  double last_width_ = std::numeric_limits<double>::infinity();
};

}  // namespace detail

// `line(step)` gives std::optional<LinePoint>, nothing when it may not evaluate any more. When the
// outcome is found or decreased, the last call of `line` was at the step returned, so whatever the
// caller computed there is at hand.
template <class Line>
LineSearchResult search_line(Line&& line, const WolfeConditions& wolfe, double first_step,
                             int max_trials) {
  detail::Bracket bracket(wolfe);
  double step = first_step;
  double evaluated = 0;
  for (int trial = 0; trial < max_trials && std::isfinite(step); ++trial) {
    const std::optional<LinePoint> point = line(step);
    if (!point) return {LineSearchOutcome::stopped, 0};
    if (wolfe.accepts(*point)) return {LineSearchOutcome::found, step};
    evaluated = step;
    bracket.add(*point);
    if (bracket.is_exhausted()) break;
    step = bracket.next_step();
  }
  const LinePoint& lo = bracket.lo();
  if (!(lo.value < wolfe.start.value)) return {LineSearchOutcome::failed, 0};
  if (evaluated != lo.step && !line(lo.step)) return {LineSearchOutcome::stopped, 0};
  return {LineSearchOutcome::decreased, lo.step};
}

}  // namespace feldspar
