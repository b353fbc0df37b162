#include "kusari/framework/functions/rnn/recurrent_layer.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/tests/functions/testing.h"

namespace kusari::recurrent_layer_test {
namespace {

using namespace testing;
using kernels::RecurrentCell;
using kernels::RecurrentLayer;
using Sizes = std::vector<int64_t>;

constexpr RecurrentCell kCells[] = {RecurrentCell::tanh, RecurrentCell::relu, RecurrentCell::lstm, RecurrentCell::gru};

struct Inputs {
  Variable x, h, c, w, b;
  std::vector<Variable> all() const { return c.is_defined() ? std::vector{x, h, w, b, c} : std::vector{x, h, w, b}; }
};

Inputs draw(RecurrentCell cell, int64_t rows, int64_t batch, int64_t units, Dtype dtype) {
  uint64_t seed = 0;
  const int64_t gates = kernels::gates_of(cell);
  const auto drawn = [&](const Shape& shape) { return Variable(uniform(shape, -0.5, 0.5, ++seed).astype(dtype)); };
  return {drawn({rows, gates * units}), drawn({batch, units}),
          cell == RecurrentCell::lstm ? drawn({batch, units}) : Variable(), drawn({gates * units, units}),
          drawn({gates * units})};
}

// The results and the gradients of a sum in which each element counts differently.
template <class Layer>
std::vector<Array> results(Layer layer_function, const RecurrentLayer& layer, const Sizes& sizes, const Inputs& in) {
  const F::RecurrentOutput out = layer_function(layer, sizes, in.x, in.h, in.c, in.w, in.b);
  std::vector<Array> all;
  std::vector<Variable> outputs;
  std::vector<Variable> seeds;
  for (const Variable& y : {out.y, out.hy, out.cy}) {
    if (!y.is_defined()) continue;
    all.push_back(y.array());
    outputs.push_back(y);
    seeds.push_back(Variable(uniform(y.shape(), -1, 1, 99 + outputs.size()).astype(y.dtype()), false));
  }
  const std::vector<Variable> inputs = in.all();
  for (const Variable& g : grad(outputs, inputs, {.grad_outputs = seeds})) all.push_back(g.array());
  return all;
}

}  // namespace

TEST_CASE("states that fade away cost no denormals, and change nothing outside") {
  Inputs in = draw(RecurrentCell::tanh, 2, 1, 40, Dtype::float32);
  if (!in.x.device().is_cpu()) return;  // a matter of that kernel
  for (Variable* v : {&in.x, &in.b}) v->array().fill(0);
  in.h.array().fill(1e-38);
  in.w.array().fill(1e-4);
  const int threads = num_threads();
  std::vector<float> first;
  for (const int n : {1, 2}) {
    set_num_threads(n);
    const auto y = F::recurrent_layer({RecurrentCell::tanh, false}, Sizes{1, 1}, in.x, in.h, in.c, in.w, in.b).y;
    const std::vector<float> values = y.to_vector<float>();
    for (const float value : values) CHECK((value == 0 || std::isnormal(value)));
    if (first.empty()) first = values;
    CHECK(values == first);
  }
  set_num_threads(threads);
  volatile float small = 1e-38f;
  CHECK(small * 0.01f > 0);  // this thread computes as before
}

TEST_CASE("the kernels of recurrent layers compute what steps of functions do") {
  for (const RecurrentCell cell : kCells) {
    for (const bool reversed : {false, true}) {
      for (const int64_t units : {1, 5, 16, 17, 32, 33, 50}) {
        for (const Sizes& sizes : {Sizes{3, 3, 3}, {9, 4, 4, 1}, {2}, {1, 1, 0}, {25, 20}}) {
          CAPTURE(static_cast<int>(cell));
          CAPTURE(reversed);
          CAPTURE(units);
          const int64_t rows = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
          const Inputs in = draw(cell, rows, sizes[0] + 1, units, Dtype::float64);  // one row has no time at all
          const RecurrentLayer layer{cell, reversed};
          const std::vector<Array> got = results(F::recurrent_layer, layer, sizes, in);
          const std::vector<Array> expected = results(F::recurrent_steps, layer, sizes, in);
          REQUIRE(got.size() == expected.size());
          for (size_t i = 0; i < got.size(); ++i) {
            CAPTURE(i);
            check_close(got[i], expected[i].shape(), expected[i].to_vector<double>(), 100);
          }
        }
      }
    }
  }
}

TEST_CASE("recurrent layers in other dtypes") {
  const Sizes sizes{6, 5, 2};
  for (const RecurrentCell cell : kCells) {
    for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::bfloat16}) {
      CAPTURE(static_cast<int>(cell));
      CAPTURE(name(dtype));
      const Inputs narrow = draw(cell, 13, 6, 40, dtype);
      Inputs wide = narrow;
      for (Variable* each : {&wide.x, &wide.h, &wide.c, &wide.w, &wide.b}) {
        if (each->is_defined()) *each = Variable(each->array().astype(Dtype::float64));
      }
      const std::vector<Array> got = results(F::recurrent_layer, {cell, false}, sizes, narrow);
      const std::vector<Array> expected = results(F::recurrent_steps, {cell, false}, sizes, wide);
      for (size_t i = 0; i < got.size(); ++i) {
        CAPTURE(i);
        CHECK(got[i].dtype() == dtype);
        // What a seed loses when it is rounded shows in gradients of many terms.
        check_close(got[i], expected[i].shape(), expected[i].to_vector<double>(), 12);
      }
    }
  }
}

TEST_CASE("recurrent layers give the same bits for any number of threads") {
  const int before = num_threads();
  for (const RecurrentCell cell : kCells) {
    for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16}) {
      const Inputs in = draw(cell, 60, 20, 70, dtype);
      std::vector<std::vector<Array>> runs;
      for (const int threads : {1, 2, 3}) {
        set_num_threads(threads);
        runs.push_back(results(F::recurrent_layer, {cell, true}, {20, 20, 13, 7}, in));
      }
      for (size_t i = 0; i < runs[0].size(); ++i) {
        CHECK(runs[0][i].to_vector<double>() == runs[1][i].to_vector<double>());
        CHECK(runs[0][i].to_vector<double>() == runs[2][i].to_vector<double>());
      }
    }
  }
  set_num_threads(before);
}

TEST_CASE("second gradients of recurrent layers") {
  for (const RecurrentCell cell : {RecurrentCell::tanh, RecurrentCell::lstm, RecurrentCell::gru}) {
    const Inputs in = draw(cell, 5, 3, 3, Dtype::float64);
    check_gradients(
        [&](const Variable& x, const Variable& h, const Variable& w, const Variable& b) {
          const F::RecurrentOutput out = F::recurrent_layer({cell, false}, Sizes{3, 2}, x, h, in.c, w, b);
          return F::sum(out.y * out.y) + F::sum(out.hy * out.hy * out.hy);
        },
        in.x.array(), in.h.array(), in.w.array(), in.b.array());
  }
}

}  // namespace kusari::recurrent_layer_test
