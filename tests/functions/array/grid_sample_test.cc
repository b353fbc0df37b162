#include "kusari/framework/functions/array/grid_sample.h"

#include <limits>
#include <vector>

#include "kusari/framework/functions/array/stack.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using Values = std::vector<double>;
using Mode = F::GridSampleMode;
using Padding = F::GridSamplePadding;

/// Twelve numbers, again and again.
Array sampled_input(const Shape& shape) {
  const Values numbers = {1, -2, 4, 0.5, 3, -1, 2, 7, 0, 5, -3, 6};
  Values values(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = numbers[i % numbers.size()];
  return array(values, shape, test_device());
}

struct Grid {
  Shape shape;
  Values values;
};
const Grid image_grid = {{1, 2, 3, 2}, {-1, -1, 0.25, -0.5, 1.1, 0.3, -0.6, 0.75, 0, 0, 2.3, -1.6}};
const Grid volume_grid = {{1, 1, 2, 2, 3}, {-1, -1, -1, 0.25, -0.5, 0.6, 1.2, 0.3, -0.9, 0.1, 0.2, 1.4}};

struct GridCase {
  Shape x;
  const Grid& grid;
  F::GridSampleOptions options;
  Shape y;
  Values values;
};

// From torch.nn.functional.grid_sample of PyTorch 2.15.0, in float64.
const GridCase kGridCases[] = {
    // clang-format off
    {{1, 1, 3, 4}, image_grid, {.mode = Mode::bilinear, .padding = Padding::zeros}, {1, 1, 2, 3},
     {0.25, 3.5, 1.965, 1.3125, 0.5, 0}},
    {{1, 1, 3, 4}, image_grid, {.mode = Mode::bilinear, .padding = Padding::zeros, .align_corners = true}, {1, 1, 2, 3},
     {1, 2.4375, 5.695, 2.4, 0.5, 0}},
    {{1, 1, 3, 4}, image_grid, {.mode = Mode::bilinear, .padding = Padding::border}, {1, 1, 2, 3},
     {1, 3.5, 6.55, 1.5, 0.5, 0.5}},
    {{1, 1, 3, 4}, image_grid, {.mode = Mode::bilinear, .padding = Padding::border, .align_corners = true}, {1, 1, 2, 3},
     {1, 2.4375, 6.7, 2.4, 0.5, 0.5}},
    {{1, 1, 3, 4}, image_grid, {.mode = Mode::bilinear, .padding = Padding::reflection}, {1, 1, 2, 3},
     {1, 3.5, 6.55, 1.5, 0.5, -1.26}},
    {{1, 1, 3, 4}, image_grid, {.mode = Mode::bilinear, .padding = Padding::reflection, .align_corners = true}, {1, 1, 2, 3},
     {1, 2.4375, 5.77, 2.4, 0.5, -1.19}},
    {{1, 1, 3, 4}, image_grid, {.mode = Mode::nearest, .padding = Padding::zeros}, {1, 1, 2, 3},
     {1, 4, 0, 0, 2, 0}},
    {{1, 1, 3, 4}, image_grid, {.mode = Mode::nearest, .padding = Padding::zeros, .align_corners = true}, {1, 1, 2, 3},
     {1, 4, 7, 5, 2, 0}},
    {{1, 1, 3, 4}, image_grid, {.mode = Mode::nearest, .padding = Padding::border}, {1, 1, 2, 3},
     {1, 4, 7, 0, 2, 0.5}},
    {{1, 1, 3, 4}, image_grid, {.mode = Mode::nearest, .padding = Padding::border, .align_corners = true}, {1, 1, 2, 3},
     {1, 4, 7, 5, 2, 0.5}},
    {{1, 1, 3, 4}, image_grid, {.mode = Mode::nearest, .padding = Padding::reflection}, {1, 1, 2, 3},
     {1, 4, 7, 0, 2, -2}},
    {{1, 1, 3, 4}, image_grid, {.mode = Mode::nearest, .padding = Padding::reflection, .align_corners = true}, {1, 1, 2, 3},
     {1, 4, 7, 5, 2, -1}},
    {{1, 1, 3, 4}, image_grid, {.mode = Mode::bicubic, .padding = Padding::zeros}, {1, 1, 2, 3},
     {0.2880859375, 4.14453125, 2.55081027, 1.566202148, -0.34375, 0}},
    {{1, 1, 3, 4}, image_grid, {.mode = Mode::bicubic, .padding = Padding::zeros, .align_corners = true}, {1, 1, 2, 3},
     {1, 3.156211853, 7.34308552, 3.614671875, -0.34375, 0.0004880625}},
    {{1, 1, 3, 4}, image_grid, {.mode = Mode::bicubic, .padding = Padding::border}, {1, 1, 2, 3},
     {1.084960938, 3.72265625, 7.58093084, 1.775207153, -0.34375, 0.5}},
    {{1, 1, 3, 4}, image_grid, {.mode = Mode::bicubic, .padding = Padding::border, .align_corners = true}, {1, 1, 2, 3},
     {1, 2.819320679, 8.010911816, 3.1468125, -0.34375, 0.032}},
    {{1, 1, 3, 4}, image_grid, {.mode = Mode::bicubic, .padding = Padding::reflection}, {1, 1, 2, 3},
     {1.15234375, 3.72265625, 8.423576758, 1.775522461, -0.34375, -2.054949}},
    {{1, 1, 3, 4}, image_grid, {.mode = Mode::bicubic, .padding = Padding::reflection, .align_corners = true}, {1, 1, 2, 3},
     {1, 3.035591125, 7.041106059, 3.257625, -0.34375, -2.042983062}},
    {{1, 2, 2, 3, 2}, volume_grid, {.mode = Mode::bilinear, .padding = Padding::zeros}, {1, 2, 1, 2, 2},
     {0.125, 4.725, -0.0315, 0.282, 0.125, 4.725, -0.0315, 0.282}},
    {{1, 2, 2, 3, 2}, volume_grid, {.mode = Mode::bilinear, .padding = Padding::border}, {1, 2, 1, 2, 2},
     {1, 5.25, -0.175, 2.82, 1, 5.25, -0.175, 2.82}},
    {{1, 2, 2, 3, 2}, volume_grid, {.mode = Mode::bilinear, .padding = Padding::reflection}, {1, 2, 1, 2, 2},
     {1, 5.25, -0.175, 2.82, 1, 5.25, -0.175, 2.82}},
    {{1, 2, 2, 3, 2}, volume_grid, {.mode = Mode::nearest, .padding = Padding::zeros}, {1, 2, 1, 2, 2},
     {1, 7, 0, 0, 1, 7, 0, 0}},
    {{1, 2, 2, 3, 2}, volume_grid, {.mode = Mode::nearest, .padding = Padding::border}, {1, 2, 1, 2, 2},
     {1, 7, 0.5, 5, 1, 7, 0.5, 5}},
    {{1, 2, 2, 3, 2}, volume_grid, {.mode = Mode::nearest, .padding = Padding::reflection}, {1, 2, 1, 2, 2},
     {1, 7, 0.5, 5, 1, 7, 0.5, 5}},
    {{1, 2, 2, 3, 2}, volume_grid, {.mode = Mode::bilinear, .padding = Padding::reflection, .align_corners = true}, {1, 2, 1, 2, 2},
     {1, 3.39375, 0.62825, 2.436, 1, 3.39375, 0.62825, 2.436}},
    // clang-format on
};

TEST_CASE("grid_sample gives what PyTorch gives") {
  for (size_t i = 0; i < std::size(kGridCases); ++i) {
    CAPTURE(i);
    const GridCase& c = kGridCases[i];
    const Array x = sampled_input(c.x), grid = array(c.grid.values, c.grid.shape, test_device());
    check_close(F::grid_sample(x, grid, c.options), c.y, c.values, 1e5);  // the numbers above have ten digits
    if (c.options.mode == Mode::nearest) continue;  // the grid's rounding may choose another element
    const Variable single = F::grid_sample(x.astype(Dtype::float32), grid.astype(Dtype::float32), c.options);
    CHECK(single.dtype() == Dtype::float32);
    check_close(single, c.y, c.values, 20);
    const Variable half = F::grid_sample(x.astype(Dtype::float16), grid.astype(Dtype::float32), c.options);
    CHECK(half.dtype() == Dtype::float16);
    check_close(half, c.y, c.values, 2);
  }
}

TEST_CASE("grid_sample: derivatives by x and grid") {
  // No place is where a slope changes.
  const Array image = array<double>({-0.71, -0.83, 0.27, -0.44, 0.93, 0.31, -0.59, 0.77}, {1, 2, 2, 2}, test_device());
  const Array volume = array<double>({-0.71, -0.83, 0.27, -0.44, 0.93, 0.31}, {1, 1, 1, 2, 3}, test_device());
  const Array line = array<double>({-0.71, 0.27, 0.93, 1.37}, {2, 2, 1}, test_device());
  for (const Padding padding : {Padding::zeros, Padding::border, Padding::reflection}) {
    for (const Mode mode : {Mode::bilinear, Mode::bicubic}) {
      for (const bool align_corners : {false, true}) {
        const F::GridSampleOptions options{mode, padding, align_corners};
        const auto sample = [&](const Variable& x, const Variable& grid) { return F::grid_sample(x, grid, options); };
        check_gradients(sample, uniform({1, 2, 3, 4}, -1, 1), image);
        check_gradients(sample, uniform({2, 3, 5}, -1, 1), line);
        if (mode == Mode::bilinear) check_gradients(sample, uniform({1, 2, 2, 3, 4}, -1, 1), volume);
      }
    }
    const auto nearest = [&](const Variable& x) {
      return F::grid_sample(x, image, {.mode = Mode::nearest, .padding = padding});
    };
    check_gradients(nearest, uniform({1, 2, 3, 4}, -1, 1));
  }
}

TEST_CASE("grid_sample: a grid of the pixels' middles gives the image") {
  const Array x = uniform({2, 3, 4, 5}, -1, 1);
  Values values;
  for (int n = 0; n < 2; ++n) {
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 5; ++j) values.push_back((2 * j + 1) / 5.0 - 1), values.push_back((2 * i + 1) / 4.0 - 1);
    }
  }
  const Array grid = array(values, {2, 4, 5, 2}, test_device());
  for (const Mode mode : {Mode::bilinear, Mode::nearest, Mode::bicubic}) {
    for (const Padding padding : {Padding::zeros, Padding::border, Padding::reflection}) {
      check_close(F::grid_sample(x, grid, {.mode = mode, .padding = padding}), x.shape(), x.to_vector<double>(), 20);
    }
  }
  CHECK(F::grid_sample(x, zeros({2, 0, 5, 2}, Dtype::float64, test_device())).shape() == Shape{2, 3, 0, 5});
}

TEST_CASE("grid_sample: places that are infinite, too large or no numbers") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const Array x = array<float>({1, 2, 3, 4, 5}, {1, 1, 1, 5}, test_device());
  const Array grid = array<double>({3e38, 0, -3e38, 0, inf, 0, -inf, 0, nan, 0}, {1, 1, 5, 2}, test_device());
  for (const Mode mode : {Mode::bilinear, Mode::nearest, Mode::bicubic}) {
    const auto sample = [&](Padding padding, int64_t count) {
      return F::grid_sample(x, grid.astype(Dtype::float32).slice(2, 0, count), {.mode = mode, .padding = padding});
    };
    check_close(sample(Padding::border, 5), {1, 1, 1, 5}, {5, 1, 5, 1, 1}, 20);
    check_close(sample(Padding::zeros, 4), {1, 1, 1, 4}, {0, 0, 0, 0}, 20);
    // PyTorch has these at the first element too.
    if (mode != Mode::bicubic) check_close(sample(Padding::reflection, 5), {1, 1, 1, 5}, {1, 1, 1, 1, 1}, 20);
  }
}

TEST_CASE("grid_sample says what does not fit") {
  const auto x = zeros({2, 3, 4, 5});
  CHECK_THROWS_WITH_AS(F::grid_sample(x, zeros({2, 4, 5, 3})),
                       "F::grid_sample: x has shape (2, 3, 4, 5) and grid has shape (2, 4, 5, 3): they must be (N, C, "
                       "in...), with one to three spatial axes, and (N, out..., axes)",
                       TypeError);
  CHECK_THROWS_AS(F::grid_sample(x, zeros({1, 4, 5, 2})), TypeError);
  CHECK_THROWS_AS(F::grid_sample(zeros({2, 3}), zeros({2, 0})), TypeError);
  CHECK_THROWS_WITH_AS(F::grid_sample(zeros({2, 3, 0, 5}), zeros({2, 4, 5, 2})),
                       "F::grid_sample: x has shape (2, 3, 0, 5): no spatial axis may be empty", TypeError);
  CHECK_THROWS_WITH_AS(F::grid_sample(int_ones({2, 3, 4, 5}), zeros({2, 4, 5, 2})),
                       "F::grid_sample: x has dtype int64: x.dtype must be floating", TypeError);
}

}  // namespace
}  // namespace kusari
