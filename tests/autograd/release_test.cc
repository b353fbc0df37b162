#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"

namespace F = kusari::functions;

namespace kusari {
namespace {

constexpr int64_t kSize = 1 << 16;

/// y = x + 1, which can be had again; counts how often it was.
class Recomputable final : public FunctionNode {
 public:
  explicit Recomputable(int* count) : count_{count} {}
  const char* name() const override { return "recomputable"; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    allow_recompute();
    return {(Variable(in[0]) + 1).array()};
  }
  Variables backward(const Variables& gy) override { return {gy[0]}; }
  Arrays recompute() override {
    ++*count_;
    return {(retained_input(0) + 1).array()};
  }

  int* count_;
};

// kept: bytes in use after backward, while the loss still holds the graph.
std::vector<float> gradient_of_chain(const BackwardOptions& options, int64_t* kept) {
  Variable x(full({kSize}, 0.5, Dtype::float32));
  Variable h = x;
  for (int i = 0; i < 20; ++i) h = F::tanh(h);
  const Variable loss = F::sum(h);
  h = Variable();
  loss.backward(options);
  *kept = memory::statistics().allocated;
  return x.grad().to_vector<float>();
}

TEST_CASE("releasing a graph frees each function's arrays as backward goes") {
  int64_t kept_bytes = 0, released_bytes = 0;
  const std::vector<float> kept = gradient_of_chain({}, &kept_bytes);
  const std::vector<float> released = gradient_of_chain({.release_graph = true}, &released_bytes);
  CHECK(kept == released);
#if !defined(__SANITIZE_ADDRESS__)                      // whose builds do not use the pool that counts
  CHECK(kept_bytes - released_bytes > 18 * kSize * 4);  // of the twenty results that tanh retains
#endif
}

TEST_CASE("a released graph says so when it is used again") {
  Variable x(full({kSize}, 0.5, Dtype::float32));
  const Variable loss = F::sum(F::tanh(x) * F::tanh(x));
  loss.backward({.release_graph = true});
  x.cleargrad();
  CHECK_THROWS_WITH_AS(loss.backward(), doctest::Contains("released"), StateError);
  // Arrays of a few numbers are not worth releasing; the answer is the same.
  Variable few(full({2}, 0.5, Dtype::float32));
  const Variable small = F::sum(F::tanh(few) * F::tanh(few));
  small.backward({.release_graph = true});
  CHECK_THROWS_WITH_AS(small.backward(), doctest::Contains("released"), StateError);
}

TEST_CASE("arrays that a variable names survive the release") {
  Variable x(full({kSize}, 0.5, Dtype::float32));
  const Variable h = F::tanh(x);
  F::sum(h * h).backward({.release_graph = true});
  CHECK(h.array().is_defined());
  CHECK(h.to_vector<float>()[7] == doctest::Approx(std::tanh(0.5)));
}

TEST_CASE("what can be computed again is not kept, and computed once") {
  int count = 0;
  Variable x(full({kSize}, 2, Dtype::float32));
  Variable h = apply<Recomputable>({x}, &count);
  const Variable y = h * h * h;  // retains h twice, and h * h
  detail::VariableNode* const node = h.node();
  CHECK(node->array.is_defined());
  h = Variable();
  CHECK_FALSE(node->array.is_defined());
  CHECK(node->shape() == Shape{kSize});
  const Variable loss = F::sum(y);
  loss.backward({.release_graph = true});
  CHECK(count == 1);
  CHECK(x.grad().to_vector<float>()[0] == 27);  // 3 (x + 1)^2
  CHECK_FALSE(node->array.is_defined());        // its last user has released it
}

TEST_CASE("a chain of recomputed arrays is computed from its beginning") {
  int count = 0;
  Variable x(full({kSize}, 0, Dtype::float32));
  Variable h = x;
  for (int i = 0; i < 5; ++i) h = apply<Recomputable>({h}, &count);
  const Variable loss = F::sum(h * h);
  h = Variable();
  loss.backward({.release_graph = true});
  CHECK(count == 5);
  CHECK(x.grad().to_vector<float>()[0] == 10);
}

}  // namespace
}  // namespace kusari
