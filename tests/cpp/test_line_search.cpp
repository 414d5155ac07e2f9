// optim/line_search.hpp on functions of one variable.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include <feldspar/optim/line_search.hpp>

namespace test_line_search {

using namespace feldspar;

namespace {

constexpr double kSufficientDecrease = 1e-4;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A function and its derivative; remembers where it was evaluated.
struct Line {
  std::function<double(double)> value;
  std::function<double(double)> slope;
  int budget = 1000;
  std::vector<double> steps{};

  std::optional<LinePoint> operator()(double step) {
    if (static_cast<int>(steps.size()) >= budget) return std::nullopt;
    steps.push_back(step);
    return LinePoint{step, value(step), slope(step)};
  }

  WolfeConditions conditions(double curvature = 0.9, double noise = 0) const {
    return {{0, value(0), slope(0)}, kSufficientDecrease, curvature, noise};
  }
};

Line parabola(double minimum) {
  return {[=](double a) { return 0.5 * (a - minimum) * (a - minimum); },
          [=](double a) { return a - minimum; }};
}

void check_strong_wolfe(const Line& line, double step, double curvature) {
  CHECK(line.value(step) <= line.value(0) + kSufficientDecrease * step * line.slope(0));
  CHECK(std::abs(line.slope(step)) <= curvature * std::abs(line.slope(0)));
}

}  // namespace

TEST_CASE("the first step is taken when it satisfies the conditions") {
  Line line = parabola(1.2);
  const LineSearchResult result = search_line(line, line.conditions(), 1.0, 20);
  CHECK(result.outcome == LineSearchOutcome::found);
  CHECK(result.step == 1.0);
  CHECK(line.steps.size() == 1);
}

TEST_CASE("steps that are far too long or too short are mended in few trials") {
  // The usual hard cases: a parabola, a function that is flat beyond its minimum, one with a steep
  // wall, and one with many local minima.
  const std::vector<Line> lines{
      parabola(1.0),
      {[](double a) { return -a / (a * a + 2); },
       [](double a) { return (a * a - 2) / ((a * a + 2) * (a * a + 2)); }},
      {[](double a) { return std::exp(a) - 3 * a; }, [](double a) { return std::exp(a) - 3; }},
      {[](double a) { return 0.1 * a * a - a + 0.1 * std::sin(9 * a); },
       [](double a) { return 0.2 * a - 1 + 0.9 * std::cos(9 * a); }},
  };
  for (const Line& original : lines)
    for (const double curvature : {0.9, 0.1})
      for (const double first_step : {1e-6, 1e-3, 1.0, 1e2, 1e5}) {
        CAPTURE(curvature);
        CAPTURE(first_step);
        Line line = original;
        const LineSearchResult result =
            search_line(line, line.conditions(curvature), first_step, 30);
        REQUIRE(result.outcome == LineSearchOutcome::found);
        CHECK(result.step == line.steps.back());
        check_strong_wolfe(line, result.step, curvature);
        CHECK(line.steps.size() <= 16);
      }
}

TEST_CASE("a step into a region without finite values is shortened") {
  for (const double outside : {kInfinity, std::nan("")}) {
    Line line{[=](double a) { return a < 0.5 ? -std::log(0.5 - a) - 10 * a : outside; },
              [=](double a) { return a < 0.5 ? 1 / (0.5 - a) - 10 : outside; }};
    const LineSearchResult result = search_line(line, line.conditions(), 100.0, 30);
    REQUIRE(result.outcome == LineSearchOutcome::found);
    check_strong_wolfe(line, result.step, 0.9);
  }
}

TEST_CASE("a function that is finite only at the start makes the search fail") {
  Line line{[](double a) { return a == 0 ? 1.0 : std::nan(""); }, [](double) { return -1.0; }};
  const LineSearchResult result = search_line(line, line.conditions(), 1.0, 30);
  CHECK(result.outcome == LineSearchOutcome::failed);
  CHECK(line.steps.size() == 30);
}

TEST_CASE("slopes decide when rounding hides the change of the value") {
  // The decrease promised is 1e-18 on a value of 1: every computed difference is 0 or an ulp up.
  const double scale = 1e-9;
  Line line{[=](double a) { return 1.0 + (a > 0 ? 2.2e-16 : 0.0); },
            [=](double a) { return scale * scale * (a - 3.0); }};
  CHECK(search_line(line, line.conditions(), 1.0, 30).outcome == LineSearchOutcome::failed);

  const LineSearchResult result = search_line(line, line.conditions(0.1, 1e-12), 1.0, 30);
  REQUIRE(result.outcome == LineSearchOutcome::found);
  CHECK(result.step == doctest::Approx(3.0).epsilon(0.1));
}

TEST_CASE("noise does not excuse an increase that can be seen") {
  Line line{[](double a) { return 1.0 + a; }, [](double) { return -1.0; }};
  CHECK(search_line(line, line.conditions(0.9, 1e-12), 1.0, 30).outcome ==
        LineSearchOutcome::failed);
}

TEST_CASE("nor does it where the change promised is too small to be seen") {
  // The slopes tell of a minimum at 1; the values jump up by a thousand times the noise.
  Line line{[](double a) { return a > 0 ? 1.0 + 1e-9 : 1.0; },
            [](double a) { return 1e-14 * (a - 1.0); }};
  CHECK(search_line(line, line.conditions(0.9, 1e-12), 1.0, 30).outcome ==
        LineSearchOutcome::failed);
}

TEST_CASE("on an endless slope the lowest point tried is taken") {
  Line line{[](double a) { return -a; }, [](double) { return -1.0; }};
  const LineSearchResult result = search_line(line, line.conditions(), 1.0, 5);
  CHECK(result.outcome == LineSearchOutcome::decreased);
  CHECK(result.step == 1e4);
  CHECK(line.steps.back() == result.step);
}

TEST_CASE("when trials run out inside the bracket its lower end is evaluated last") {
  // Beyond 1.5 nothing is finite; before it the slope never flattens.
  Line line{[](double a) { return a < 1.5 ? -a : kInfinity; }, [](double) { return -1.0; }};
  const LineSearchResult result = search_line(line, line.conditions(), 1.0, 2);
  CHECK(result.outcome == LineSearchOutcome::decreased);
  CHECK(result.step == 1.0);
  CHECK(line.steps.back() == 1.0);
}

TEST_CASE("a line that refuses an evaluation stops the search") {
  Line line = parabola(1.0);
  line.budget = 2;
  CHECK(search_line(line, line.conditions(0.1), 1e-6, 30).outcome == LineSearchOutcome::stopped);
  CHECK(line.steps.size() == 2);
}

}  // namespace test_line_search
